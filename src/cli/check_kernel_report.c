/* SPDX-License-Identifier: GPL-2.0-only */
/* What came of samepage check --on kernel; see check_kernel.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check_kernel.h"
#include "json.h"

/* ---- Scenarios ------------------------------------------------------------------------ */

static void print_origin(FILE *to, const struct check_kernel_report *r, uint64_t sequence)
{
	const struct check_options *o = r->options;

	fprintf(to, "# Found by samepage check --on kernel %s%s --seed %" PRIu64,
		o->here ? "--here" : "--kernel ", o->here ? "" : r->kernel, o->search.seed);
	if (o->search.depth != ON_KERNEL_DEPTH)
		fprintf(to, " --depth %u", o->search.depth);
	fprintf(to, ", sequence %" PRIu64, sequence);
}

static char *closed(FILE *to, char **text)
{
	bool failed = ferror(to);

	failed |= fclose(to);
	if (!failed)
		return *text;
	free(*text);
	return NULL;
}

static const char *kernel_text(const struct check_kernel_report *r)
{
	return *r->compared.release ? r->compared.release : r->kernel;
}

char *check_kernel_scenario(const struct check_kernel_report *r, const struct compared_finding *f)
{
	const struct versus_difference *d = &f->difference;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	fprintf(to, "# Engine and kernel differ: %s\n#\n", f->group);
	fprintf(to, "# After `%s`, %s is\n#\n", d->operation, d->key);
	fprintf(to, "#   %-8s %s\n#   %-8s %s\n#\n", "engine", d->engine, "kernel", d->other);
	fprintf(to, "# on Linux %s.", kernel_text(r));
	if (d->nr_more)
		fprintf(to, " %u more observable%s differ%s.", d->nr_more, d->nr_more == 1 ? "" : "s",
			d->nr_more == 1 ? "s" : "");
	fputs("\n#\n", to);
	print_origin(to, r, f->sequence);
	fprintf(to, ", shrunk from %u operations to %u.\n\n%s", f->nr_before, f->nr_after, f->text);
	return closed(to, &text);
}

char *check_kernel_end_scenario(const struct check_kernel_report *r, const struct compared_end *e)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	fprintf(to, "# The guest %s\n#\n# on Linux %s.\n#\n", e->how, kernel_text(r));
	print_origin(to, r, e->sequence);
	fprintf(to, ".\n\n%s", e->text);
	return closed(to, &text);
}

/* ---- For people -------------------------------------------------------------------------- */

static void print_counts(const struct check_kernel_report *r)
{
	const struct compared *c = &r->compared;
	double seconds = (double)c->elapsed_ns / 1e9;
	char sequences[32], operations[32];

	printf("%s: %s sequences, %s operations compared", kernel_text(r),
	       format_count(sequences, sizeof(sequences), c->nr_sequences),
	       format_count(operations, sizeof(operations), c->nr_operations));
	if (!r->options->no_timing)
		printf(" in %.0f s (%.0f ms each)", seconds,
		       c->nr_sequences ? 1e3 * seconds / (double)c->nr_sequences : 0.0);
	printf(", seed %" PRIu64 "\n", r->options->search.seed);
	for (unsigned int i = 0; i < NR_EXPLANATIONS; i++)
		if (c->nr_explained[i])
			printf("explained: %" PRIu64 " (%s)\n", c->nr_explained[i], explanation_fact(i));
}

static void print_indented(const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		printf("%s%.*s\n", length ? "    " : "", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

static void print_scenario(char *text)
{
	putchar('\n');
	print_indented(text ? text : "(out of memory)");
	free(text);
}

static void print_findings(const struct check_kernel_report *r)
{
	const struct compared *c = &r->compared;

	for (unsigned int i = 0; i < c->nr_findings; i++) {
		const struct compared_finding *f = &c->findings[i];
		const struct versus_difference *d = &f->difference;

		printf("\n%s: %" PRIu64 " sequence%s, first %" PRIu64 "\n", f->group, f->nr_found,
		       f->nr_found == 1 ? "" : "s", f->lowest);
		if (!f->text)
			continue;
		printf("  after `%s`, %s: engine %s, kernel %s\n", d->operation, d->key, d->engine,
		       d->other);
		if (r->files)
			printf("  %s\n", r->files[i]);
		else
			print_scenario(check_kernel_scenario(r, f));
	}
}

static void print_ends(const struct check_kernel_report *r)
{
	const struct compared *c = &r->compared;

	for (unsigned int i = 0; i < c->nr_ends; i++) {
		const struct compared_end *e = &c->ends[i];

		printf("\nthe guest %s at sequence %" PRIu64 "%s%s\n", e->how, e->sequence,
		       *e->why ? ": " : "", e->why);
		print_indented(e->console ? e->console : "");
		if (r->files)
			printf("  %s\n", r->files[c->nr_findings + i]);
		else
			print_scenario(check_kernel_end_scenario(r, e));
	}
}

void check_kernel_print_people(const struct check_kernel_report *r)
{
	const struct compared *c = &r->compared;

	print_counts(r);
	if (c->nr_cut)
		printf("%" PRIu64 " sequence%s compared in part: %s\n", c->nr_cut,
		       c->nr_cut == 1 ? "" : "s", c->why_cut);
	if (c->nr_skipped)
		printf("%u sequence%s could not be compared: %s\n", c->nr_skipped,
		       c->nr_skipped == 1 ? "" : "s", c->why_skipped);
	print_findings(r);
	print_ends(r);
	if (!c->nr_findings && !c->nr_ends && c->nr_sequences)
		puts("no unexplained difference");
}

/* ---- For programs --------------------------------------------------------------------------- */

static struct json_object *finding_json(const struct check_kernel_report *r, unsigned int i)
{
	const struct compared_finding *f = &r->compared.findings[i];
	const struct versus_difference *d = &f->difference;
	struct json_object *o = json_object_new_object();
	char *text;

	json_add_text(o, "group", f->group);
	json_add_number(o, "found", f->nr_found);
	json_add_number(o, "first_sequence", f->lowest);
	if (!f->text)
		return o;
	json_add_number(o, "sequence", f->sequence);
	json_add_text(o, "operation", d->operation);
	json_add_text(o, "key", d->key);
	json_add_text(o, "engine", d->engine);
	json_add_text(o, "kernel", d->other);
	json_add_number(o, "more", d->nr_more);
	json_add_number(o, "operations_before", f->nr_before);
	json_add_number(o, "operations", f->nr_after);
	if (r->files)
		json_add_text(o, "file", r->files[i]);
	text = check_kernel_scenario(r, f);
	if (text)
		json_add_text(o, "scenario", text);
	free(text);
	return o;
}

static struct json_object *end_json(const struct check_kernel_report *r, unsigned int i)
{
	const struct compared_end *e = &r->compared.ends[i];
	struct json_object *o = json_object_new_object();

	json_add_number(o, "sequence", e->sequence);
	json_add_text(o, "how", e->how);
	json_add_text(o, "why", e->why);
	json_add_text(o, "console", e->console ? e->console : "");
	json_add_text(o, "scenario", e->text ? e->text : "");
	if (r->files)
		json_add_text(o, "file", r->files[r->compared.nr_findings + i]);
	return o;
}

void check_kernel_print_json(const struct check_kernel_report *r)
{
	const struct compared *c = &r->compared;
	struct json_object *o = json_object_new_object(), *explained = json_object_new_array();
	struct json_object *findings = json_object_new_array(), *ends = json_object_new_array();

	json_add_text(o, "kernel", r->kernel);
	json_add_text(o, "release", c->release);
	json_add_number(o, "seed", r->options->search.seed);
	json_add_number(o, "depth", r->options->search.depth);
	json_add_number(o, "sequences", c->nr_sequences);
	json_add_number(o, "operations", c->nr_operations);
	json_add_number(o, "differ", c->nr_differ);
	json_add_number(o, "cut", c->nr_cut);
	json_add_text(o, "why_cut", c->why_cut);
	json_add_number(o, "not_compared", c->nr_skipped);
	json_add_text(o, "why_not", c->why_skipped);
	json_object_object_add(o, "interrupted", json_object_new_boolean(c->interrupted));
	if (!r->options->no_timing)
		json_add_double(o, "seconds", (double)c->elapsed_ns / 1e9);
	for (unsigned int i = 0; i < NR_EXPLANATIONS; i++) {
		struct json_object *entry = json_object_new_object();

		json_add_text(entry, "fact", explanation_fact(i));
		json_add_number(entry, "count", c->nr_explained[i]);
		json_object_array_add(explained, entry);
	}
	for (unsigned int i = 0; i < c->nr_findings; i++)
		json_object_array_add(findings, finding_json(r, i));
	for (unsigned int i = 0; i < c->nr_ends; i++)
		json_object_array_add(ends, end_json(r, i));
	json_object_object_add(o, "explained", explained);
	json_object_object_add(o, "findings", findings);
	json_object_object_add(o, "ends", ends);
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
						       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}
