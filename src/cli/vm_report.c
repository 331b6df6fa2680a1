/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What came of guests, for people and for programs. A guest that is done is told by what its command
 * said; one that is not by the kernel's last words.
 */
#include <string.h>

#include "json.h"
#include "vm_unit.h"

#define EXCERPT_LINES 30

/* It came so far that what killed it is the file. */
static bool died_of_it(const struct vm_guest *guest)
{
	return guest->deadly && guest->vm.end == GUEST_died && guest->vm.booted_ns &&
	       guest->vm.nr_complaints;
}

static int command_status(const struct qemu *guest)
{
	/* Neither says anything about the files. */
	if (guest->end == GUEST_unfit || guest->end == GUEST_killed)
		return EXIT_USAGE;
	if (guest->end != GUEST_done || guest->exit_status < 0 || guest->nr_complaints ||
	    guest->out_of_memory)
		return EXIT_GUEST;
	return guest->exit_status;
}

int vm_exit_status(const struct vm_guest *guest)
{
	int status = command_status(&guest->vm);

	if (died_of_it(guest))
		return EXIT_HELD;
	return guest->deadly && status == EXIT_HELD ? EXIT_NOT_HELD : status;
}

static double seconds(const struct qemu *guest, uint64_t until_ns)
{
	return (double)(until_ns - guest->start_ns) / 1e9;
}

/* Each line behind a bar, so that the kernel's words are told from ours. */
static void print_lines(FILE *out, const char *before, const char *text, size_t bytes)
{
	while (bytes) {
		const char *newline = memchr(text, '\n', bytes);
		size_t length = newline ? (size_t)(newline - text) : bytes;
		size_t shown = length && text[length - 1] == '\r' ? length - 1 : length;

		fprintf(out, "%s%.*s\n", before, (int)shown, text);
		text += length + (newline != NULL);
		bytes -= length + (newline != NULL);
	}
}

static void print_console(const struct qemu *guest)
{
	struct console_part parts[2];
	unsigned int nr = console_excerpt(text_string(&guest->console), EXCERPT_LINES, parts);

	if (!nr)
		puts("  its console said nothing");
	for (unsigned int i = 0; i < nr; i++) {
		if (i && parts[0].text + parts[0].bytes != parts[1].text)
			puts("  ...");
		print_lines(stdout, "  | ", parts[i].text, parts[i].bytes);
	}
}

static void print_end(const struct vm_guest *g)
{
	const struct qemu *guest = &g->vm;
	const char *name = guest->kernel->name;

	if (died_of_it(g)) {
		printf("== %s: the guest died, as %s declares\n", name, g->deadly);
		print_console(guest);
	} else if (guest->end != GUEST_done) {
		printf("== %s: the guest %s%s: %s\n", name, guest->end == GUEST_unfit ? "is " : guest->end == GUEST_killed ? "was " : "",
		       guest_end_name(guest->end), guest->why);
		if (guest->end != GUEST_unfit && guest->end != GUEST_killed)
			print_console(guest);
	} else if (g->deadly && guest->exit_status == EXIT_HELD) {
		printf("== %s: %s says that this kernel dies of it (kills linux), and it lives\n", name,
		       g->deadly);
	} else if (guest->exit_status < 0) {
		printf("== %s: the command was killed by signal %d, %.1f s in all\n", name,
		       -guest->exit_status, seconds(guest, guest->end_ns));
	} else {
		printf("== %s: exit status %d, %.1f s in all\n", name, guest->exit_status,
		       seconds(guest, guest->end_ns));
	}
}

void vm_print_people(const struct vm_guest *g, bool first)
{
	const struct qemu *guest = &g->vm;
	const char *name = guest->kernel->name;
	char before[80];

	if (!first)
		putchar('\n');
	printf("== %s: Linux %s", name, *guest->release ? guest->release : guest->kernel->release);
	if (guest->booted_ns)
		printf(", booted in %.1f s", seconds(guest, guest->booted_ns));
	if (g->part)
		printf(", part %u of %u", g->part, g->nr_parts);
	putchar('\n');
	print_lines(stdout, "note: ", text_string(&guest->notes), guest->notes.bytes);
	fwrite(text_string(&guest->output), 1, guest->output.bytes, stdout);
	fflush(stdout);
	snprintf(before, sizeof(before), "%s: ", name);
	print_lines(stderr, before, text_string(&guest->errors), guest->errors.bytes);
	print_end(g);
	if (guest->end != GUEST_done)
		return;
	if (guest->out_of_memory)
		printf("== %s: out of memory here: some of its output is missing\n", name);
	if (guest->nr_complaints) {
		printf("== %s: its kernel complained:\n", name);
		print_console(guest);
	}
}

static struct json_object *text_or_json(const struct text *text)
{
	struct json_object *o = text->bytes ? json_tokener_parse(text->data) : NULL;

	return o ? o : json_object_new_string_len(text_string(text), (int)text->bytes);
}

static void add_lines(struct json_object *list, const char *text, size_t bytes)
{
	while (bytes) {
		const char *newline = memchr(text, '\n', bytes);
		size_t length = newline ? (size_t)(newline - text) : bytes;
		size_t shown = length && text[length - 1] == '\r' ? length - 1 : length;

		json_object_array_add(list, json_object_new_string_len(text, (int)shown));
		text += length + (newline != NULL);
		bytes -= length + (newline != NULL);
	}
}

static struct json_object *lines_json(const struct text *text)
{
	struct json_object *list = json_object_new_array();

	add_lines(list, text_string(text), text->bytes);
	return list;
}

static struct json_object *guest_json(const struct vm_guest *g)
{
	const struct qemu *guest = &g->vm;
	struct json_object *o = json_object_new_object();
	struct json_object *console = json_object_new_array();
	struct console_part parts[2];
	unsigned int nr = 0;

	json_add_text(o, "kernel", guest->kernel->name);
	json_add_text(o, "release", *guest->release ? guest->release : guest->kernel->release);
	json_add_text(o, "end", guest_end_name(guest->end));
	json_add_text(o, "why", guest->why);
	if (g->part) {
		json_add_number(o, "part", g->part);
		json_add_number(o, "nr_parts", g->nr_parts);
	}
	if (g->deadly)
		json_add_text(o, "kills", g->deadly);
	json_object_object_add(o, "exit_status", json_object_new_int(vm_exit_status(g)));
	if (guest->booted_ns)
		json_add_number(o, "boot_ns", guest->booted_ns - guest->start_ns);
	json_add_number(o, "duration_ns", guest->end_ns - guest->start_ns);
	json_add_number(o, "nr_complaints", guest->nr_complaints);
	json_object_object_add(o, "notes", lines_json(&guest->notes));
	json_object_object_add(o, "report", text_or_json(&guest->output));
	json_object_object_add(o, "errors", lines_json(&guest->errors));
	if (guest->end != GUEST_done || guest->nr_complaints)
		nr = console_excerpt(text_string(&guest->console), EXCERPT_LINES, parts);
	for (unsigned int i = 0; i < nr; i++)
		add_lines(console, parts[i].text, parts[i].bytes);
	json_object_object_add(o, "console", console);
	return o;
}

void vm_print_json(const struct vm_units *units)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < units->nr; i++)
		json_object_array_add(list, guest_json(&units->list[i].guest));
	puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	json_object_put(list);
}
