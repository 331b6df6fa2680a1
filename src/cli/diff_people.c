/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage diff's report for people: one line for a file in which nothing differs; else the first
 * operation after which each kernel differs, with all that differs there, side by side.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

#define MAX_ROWS     12
#define MAX_FAILURES 4
#define CONSOLE_LINES 30
/* Wider values stand below each other. */
#define MAX_COLUMNS 110

/* ---- Pages that differ alike ---- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* "a:x[" and 3 of "a:x[3]"; false for what is no page. */
static bool page_of(const char *key, size_t *length, uint64_t *page)
{
	const char *bracket = strchr(key, '[');

	*length = bracket ? (size_t)(bracket - key) + 1 : 0;
	*page = bracket ? strtoull(bracket + 1, NULL, 10) : 0;
	return bracket && strchr(key, ':');
}

static bool rows_alike(const struct diff *diff, const struct diff_row *a, const struct diff_row *b)
{
	uint64_t page, next;
	size_t length, other;

	if (!page_of(a->key, &length, &page) || !page_of(b->key, &other, &next) || length != other ||
	    strncmp(a->key, b->key, length) != 0 || next != page + 1)
		return false;
	for (unsigned int side = 0; side < diff->nr_sides; side++)
		if (!same_text(a->values[side], b->values[side]))
			return false;
	return true;
}

/* Rows from..to - 1 are one line, and this is what it is called. */
static unsigned int group(const struct diff *diff, const struct diff_operation *op, unsigned int from,
			  char *name, size_t size)
{
	unsigned int to = from + 1;
	uint64_t page;
	size_t length;

	while (to < op->nr_rows && rows_alike(diff, &op->rows[to - 1], &op->rows[to]))
		to++;
	if (to == from + 1 || !page_of(op->rows[from].key, &length, &page))
		snprintf(name, size, "%s", op->rows[from].key);
	else
		snprintf(name, size, "%.*s%" PRIu64 "..%" PRIu64 "]", (int)length, op->rows[from].key, page,
			 page + (to - from - 1));
	return to;
}

/* ---- Side by side ---- */

static const char *side_name(const struct diff *diff, unsigned int side)
{
	return side ? diff->kernels.list[side - 1].name : "engine";
}

static const char *value_text(const struct diff_row *row, unsigned int side)
{
	return row->values[side] ? row->values[side] : "-";
}

struct layout {
	size_t name, column[DIFF_SIDES];
	bool below;
};

static void measure(const struct diff *diff, const struct diff_operation *op, struct layout *l)
{
	size_t sum;

	*l = (struct layout){0};
	for (unsigned int side = 0; side < diff->nr_sides; side++)
		l->column[side] = strlen(side_name(diff, side)) + 2;
	for (unsigned int i = 0; i < op->nr_rows; i++) {
		l->name = MAX(l->name, strlen(op->rows[i].key) + 4);
		for (unsigned int side = 0; side < diff->nr_sides; side++)
			l->column[side] = MAX(l->column[side], strlen(value_text(&op->rows[i], side)) + 3);
	}
	sum = l->name + 4;
	for (unsigned int side = 0; side < diff->nr_sides; side++)
		sum += l->column[side];
	l->below = sum > MAX_COLUMNS;
}

/* '!' differs, '=' differs as declared. */
static char mark(const struct diff_row *row, unsigned int side)
{
	if (!row->differs[side])
		return ' ';
	return row->declared[side] ? '=' : '!';
}

static void print_row(const struct diff *diff, const struct layout *l, const struct diff_row *row,
		      const char *name, bool first)
{
	printf("  %c %-*s", first ? '>' : ' ', l->below ? 0 : (int)l->name, name);
	if (l->below)
		putchar('\n');
	for (unsigned int side = 0; side < diff->nr_sides; side++) {
		const char marks[] = {' ', mark(row, side), '\0'};
		char text[64];

		if (l->below) {
			printf("      %-8s %c %s\n", side_name(diff, side), mark(row, side),
			       value_text(row, side));
			continue;
		}
		snprintf(text, sizeof(text), "%s%s", value_text(row, side), marks[1] == ' ' ? "" : marks);
		printf("%-*s", side + 1 == diff->nr_sides ? 0 : (int)l->column[side], text);
	}
	if (!l->below)
		putchar('\n');
}

static void print_operation(const struct diff *diff, const struct diff_file *file,
			    const struct diff_operation *op)
{
	unsigned int shown = 0;
	struct layout l;

	measure(diff, op, &l);
	printf("%s:%" PRIu32 ": %s\n", file->path, op->line, op->text);
	if (!l.below) {
		printf("    %-*s", (int)l.name, "");
		for (unsigned int side = 0; side < diff->nr_sides; side++)
			printf("%-*s", side + 1 == diff->nr_sides ? 0 : (int)l.column[side],
			       side_name(diff, side));
		putchar('\n');
	}
	for (unsigned int i = 0; i < op->nr_rows; shown++) {
		char name[256];
		unsigned int from = i;

		if (shown == MAX_ROWS) {
			printf("    and %u more\n", op->nr_rows - i);
			break;
		}
		i = group(diff, op, i, name, sizeof(name));
		print_row(diff, &l, &op->rows[from], name, !shown);
	}
}

/* ---- One file ---- */

static bool is_first_of(const struct diff_operation *op, unsigned int side, bool declared)
{
	for (unsigned int i = 0; i < op->nr_rows; i++)
		if (op->rows[i].differs[side] && !op->rows[i].declared[side] == !declared)
			return true;
	return false;
}

/* Each kernel's first operation that differs, each operation once; or all of them. */
static void print_operations(const struct diff *diff, const struct diff_file *file)
{
	bool seen[DIFF_SIDES] = {false};
	unsigned int hidden = 0;

	for (const struct diff_operation *op = file->first; op; op = op->next) {
		bool any = diff->all, undeclared = false;

		for (unsigned int side = 1; side < diff->nr_sides; side++) {
			bool here = is_first_of(op, side, false);

			any |= here && !seen[side];
			undeclared |= here;
			seen[side] |= here;
		}
		if (any)
			print_operation(diff, file, op);
		else
			hidden += undeclared;
	}
	if (hidden)
		printf("  and after %u more operation%s (--all)\n", hidden, hidden == 1 ? "" : "s");
}

/* "same on 6.1, 7.2" for all kernels of one verdict. */
static void print_verdict(const struct diff *diff, const struct diff_file *file, enum diff_verdict verdict,
			  bool *first)
{
	unsigned int nr = 0;

	for (unsigned int side = 1; side < diff->nr_sides; side++) {
		if (file->sides[side].verdict != verdict)
			continue;
		if (!nr++)
			printf("%s%s on ", *first ? "" : "; ", diff_verdict_name(verdict));
		else
			fputs(", ", stdout);
		fputs(side_name(diff, side), stdout);
	}
	*first &= !nr;
}

static void print_failures(const char *text)
{
	unsigned int shown = 0;

	while (text && *text == '!' && shown++ < MAX_FAILURES) {
		size_t length = strcspn(text, "\n");

		printf("    %.*s\n", (int)length - 2, text + 2);
		text += length + (text[length] == '\n');
	}
}

static void print_whys(const struct diff *diff, const struct diff_file *file)
{
	for (unsigned int side = 1; side < diff->nr_sides; side++) {
		const struct diff_side *s = &file->sides[side];

		if (!*s->why || s->verdict == DIFF_SAME || (s->verdict == DIFF_DIFFERS && s->nr_differing))
			continue;
		printf("  %s: %s%s\n", side_name(diff, side), s->why,
		       s->verdict == DIFF_DIED ? "; until then, see above" : "");
		if (s->verdict == DIFF_DIFFERS)
			print_failures(s->failures);
	}
}

void diff_print_people(const struct diff *diff, const struct diff_file *file)
{
	static const enum diff_verdict order[] = {DIFF_DIFFERS, DIFF_DIED, DIFF_LOST, DIFF_SKIPPED,
						  DIFF_LACKS, DIFF_DECLARED, DIFF_SAME};
	bool first = true;
	uint64_t most = 0;

	printf("%s: ", file->path);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		print_verdict(diff, file, order[i], &first);
	for (unsigned int side = 1; side < diff->nr_sides; side++)
		most = MAX(most, file->sides[side].nr_operations);
	if (most)
		printf(" (%" PRIu64 " operation%s)", most, most == 1 ? "" : "s");
	putchar('\n');
	print_operations(diff, file);
	print_whys(diff, file);
	fflush(stdout);
}

void diff_print_guest(const struct qemu *guest)
{
	struct console_part parts[2];
	unsigned int nr = console_excerpt(text_string(&guest->console), CONSOLE_LINES, parts);

	printf("== %s: ", guest->kernel->name);
	if (guest->end != GUEST_done)
		printf("the guest %s%s: %s\n", guest->end == GUEST_unfit ? "is " : "", guest_end_name(guest->end),
		       guest->why);
	else if (guest->out_of_memory)
		puts("out of memory here: some of its output is missing");
	else
		puts("its kernel complained:");
	for (unsigned int i = 0; i < nr; i++) {
		const char *at = parts[i].text, *end = at + parts[i].bytes;

		if (i && parts[0].text + parts[0].bytes != parts[1].text)
			puts("  ...");
		while (at < end) {
			size_t length = strcspn(at, "\r\n");

			printf("  | %.*s\n", (int)MIN(length, (size_t)(end - at)), at);
			at += length;
			at += strspn(at, "\r");
			at += *at == '\n';
		}
	}
}
