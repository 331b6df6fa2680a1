/* SPDX-License-Identifier: GPL-2.0-only */
/* samepage diff's JSON; samepage-diff(1) lists its keys. */
#include "diff.h"

#include <string.h>

#include "json.h"

static void add_text_or_null(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value ? json_object_new_string(value) : NULL);
}

static struct json_object *row_json(const struct diff_operation *op, const struct diff_row *row,
				    unsigned int side)
{
	struct json_object *o = json_object_new_object();

	json_add_number(o, "operation", op->operation);
	json_add_number(o, "line", op->line);
	json_add_text(o, "text", op->text);
	json_add_text(o, "key", row->key);
	add_text_or_null(o, "engine", row->values[0]);
	add_text_or_null(o, "kernel", row->values[side]);
	add_text_or_null(o, "declared", row->declared[side]);
	return o;
}

static struct json_object *failures_json(const char *text)
{
	struct json_object *list = json_object_new_array();

	while (text && *text == '!') {
		size_t length = strcspn(text, "\n");

		json_object_array_add(list, json_object_new_string_len(text + 2, (int)length - 2));
		text += length + (text[length] == '\n');
	}
	return list;
}

static struct json_object *side_json(const struct diff *diff, const struct diff_file *file,
				     unsigned int side)
{
	const struct diff_side *s = &file->sides[side];
	const struct cached_kernel *kernel = &diff->kernels.list[side - 1];
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	json_add_text(o, "kernel", kernel->name);
	json_add_text(o, "release", s->guest && *s->guest->release ? s->guest->release : kernel->release);
	json_add_text(o, "verdict", diff_verdict_name(s->verdict));
	json_add_text(o, "why", s->why);
	json_add_number(o, "nr_operations", s->nr_operations);
	for (const struct diff_operation *op = file->first; op; op = op->next)
		for (unsigned int i = 0; i < op->nr_rows; i++)
			if (op->rows[i].differs[side])
				json_object_array_add(list, row_json(op, &op->rows[i], side));
	json_object_object_add(o, "differences", list);
	json_object_object_add(o, "failures", failures_json(s->failures));
	return o;
}

void diff_print_json(const struct diff *diff)
{
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < diff->nr_files; i++) {
		struct json_object *o = json_object_new_object(), *kernels = json_object_new_array();

		json_add_text(o, "scenario", diff->files[i].path);
		for (unsigned int side = 1; side < diff->nr_sides; side++)
			json_object_array_add(kernels, side_json(diff, &diff->files[i], side));
		json_object_object_add(o, "kernels", kernels);
		json_object_array_add(list, o);
	}
	puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	json_object_put(list);
}
