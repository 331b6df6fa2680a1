/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What came of guests, for people and for programs. A guest that is done is told by what its command
 * said; one that is not by the kernel's last words.
 */
#include <string.h>

#include "cmd_vm.h"
#include "json.h"

#define EXCERPT_LINES 30

int vm_exit_status(const struct qemu *guest)
{
	if (guest->end == GUEST_unfit)
		return EXIT_USAGE;
	if (guest->end != GUEST_done || guest->exit_status < 0 || guest->nr_complaints ||
	    guest->out_of_memory)
		return EXIT_GUEST;
	return guest->exit_status;
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

void vm_print_people(const struct qemu *guest, bool first)
{
	const char *name = guest->kernel->name;
	char before[80];

	if (!first)
		putchar('\n');
	printf("== %s: Linux %s", name, *guest->release ? guest->release : guest->kernel->release);
	if (guest->booted_ns)
		printf(", booted in %.1f s", seconds(guest, guest->booted_ns));
	putchar('\n');
	print_lines(stdout, "note: ", text_string(&guest->notes), guest->notes.bytes);
	fwrite(text_string(&guest->output), 1, guest->output.bytes, stdout);
	fflush(stdout);
	snprintf(before, sizeof(before), "%s: ", name);
	print_lines(stderr, before, text_string(&guest->errors), guest->errors.bytes);
	if (guest->end != GUEST_done) {
		printf("== %s: the guest %s%s: %s\n", name, guest->end == GUEST_unfit ? "is " : "",
		       guest_end_name(guest->end), guest->why);
		if (guest->end != GUEST_unfit)
			print_console(guest);
		return;
	}
	if (guest->exit_status < 0)
		printf("== %s: the command was killed by signal %d", name, -guest->exit_status);
	else
		printf("== %s: exit status %d", name, guest->exit_status);
	printf(", %.1f s in all\n", seconds(guest, guest->end_ns));
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

static struct json_object *guest_json(const struct qemu *guest)
{
	struct json_object *o = json_object_new_object();
	struct json_object *console = json_object_new_array();
	struct console_part parts[2];
	unsigned int nr = 0;

	json_add_text(o, "kernel", guest->kernel->name);
	json_add_text(o, "release", *guest->release ? guest->release : guest->kernel->release);
	json_add_text(o, "end", guest_end_name(guest->end));
	json_add_text(o, "why", guest->why);
	json_object_object_add(o, "exit_status", json_object_new_int(vm_exit_status(guest)));
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

void vm_print_json(const struct vm_report *report)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < report->nr; i++)
		json_object_array_add(list, guest_json(&report->guests[i]));
	puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	json_object_put(list);
}
