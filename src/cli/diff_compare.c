/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Engine and kernels side by side, one operation at a time; see diff.h.
 *
 * A kernel's side may end before the engine's: it cannot do something, or its guest died. Then
 * what it said until there is compared, and the others go on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "names.h"
#include "observe_text.h"
#include "steps.h"

const char *diff_verdict_name(enum diff_verdict verdict)
{
	static const char *const names[] = {
		[DIFF_SAME] = "same",	    [DIFF_DECLARED] = "as declared", [DIFF_DIFFERS] = "differs",
		[DIFF_LACKS] = "not for it", [DIFF_SKIPPED] = "skipped",      [DIFF_DIED] = "died",
		[DIFF_LOST] = "not run",
	};

	return names[verdict];
}

int diff_exit_status(const struct diff_side *side)
{
	int status = side->nr_differing ? EXIT_NOT_HELD : EXIT_HELD;

	switch (side->verdict) {
	case DIFF_DIFFERS:
		return EXIT_NOT_HELD;
	case DIFF_SKIPPED:
		return status ? status : EXIT_SKIPPED;
	case DIFF_DIED:
	case DIFF_LOST:
		return EXIT_GUEST;
	default:
		return EXIT_HELD;
	}
}

/* ---- The engine ---- */

static char *failures_text(const struct scenario_result *r)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < r->nr_failures_listed; i++)
		fprintf(out, "! %s\n", r->failures[i].text);
	return fclose(out) ? NULL : text;
}

static bool on_progress(void *arg, const struct scenario_progress *progress)
{
	progress_line("diff: engine: %s: line %u", (const char *)arg, progress->line);
	return interrupted();
}

bool diff_run_engine(struct diff_file *file)
{
	struct diff_side *side = &file->sides[0];
	struct scenario_options options;
	struct scenario_result *result;
	struct steps steps;
	size_t size;
	FILE *out = open_memstream(&side->text, &size);
	int err;

	if (!out)
		return false;
	steps_init(&steps, STEPS_LINES, out);
	scenario_options_init(&options);
	options.observe = steps_observe;
	options.observe_arg = &steps;
	options.no_audit = true;
	options.progress = on_progress;
	options.progress_arg = (void *)(uintptr_t)file->path;
	err = scenario_run(file->scenario, &options, &result);
	if (!err)
		err = steps.err;
	steps_destroy(&steps);
	if (fclose(out) && !err)
		err = -ENOMEM;
	progress_line("%s", "");
	if (err)
		return false;
	side->lines = side->text;
	side->ended = side->settled = true;
	side->status = scenario_verdict_exit_status(result->verdict);
	side->failures = failures_text(result);
	side->end = strdup(*result->error ? result->error : scenario_verdict_text(result->verdict));
	scenario_result_destroy(result);
	return side->failures && side->end;
}

/* ---- A kernel ---- */

/* Behind the lines that begin with one of these letters, where the text ends or another one begins. */
static char *skip_lines(char *at, const char *letters)
{
	while (*at && strchr(letters, *at)) {
		char *newline = strchr(at, '\n');

		at = newline ? newline + 1 : at + strlen(at);
	}
	return at;
}

void diff_take_text(struct diff_side *side)
{
	char *failures = skip_lines(side->text, "@=-;");
	char *end = skip_lines(failures, "!");
	char *newline = strchr(end, '\n');

	side->lines = side->text;
	if (*end == '.' && newline) {
		*newline = '\0';
		side->ended = true;
		side->status = atoi(end + 2);
		side->end = end + 2 + strspn(end + 2, "0123456789 ");
	}
	if (*failures == '!')
		side->failures = strndup(failures, (size_t)(end - failures));
	*end = '\0';
	*failures = '\0';
}

/* ---- Side by side ---- */

/* All sides at the same operation, and at the one before. */
struct reading {
	struct diff *diff;
	struct diff_file *file;
	struct mem mem;
	struct observe_reader readers[DIFF_SIDES];
	struct observation before[DIFF_SIDES];
	bool reads[DIFF_SIDES];
	bool failed; /* out of memory */
};

static const char *declaration(const struct reading *r, unsigned int side, const char *key)
{
	for (const struct scenario_difference *d = scenario_differences(r->file->scenario); d; d = d->next)
		if (scenario_difference_covers(d, r->diff->versions[side], key))
			return d->why ? d->why : "";
	return NULL;
}

static bool equal_or_both_absent(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_news(const struct reading *r, unsigned int side,
		    const struct observation_difference *d)
{
	return !r->before[side].nr ||
	       !equal_or_both_absent(observation_find(&r->before[0], d->key), d->a) ||
	       !equal_or_both_absent(observation_find(&r->before[side], d->key), d->b);
}

static struct diff_row *row_of(struct diff_operation *op, const char *key)
{
	struct diff_row *rows;

	for (unsigned int i = 0; i < op->nr_rows; i++)
		if (!strcmp(op->rows[i].key, key))
			return &op->rows[i];
	rows = realloc(op->rows, (op->nr_rows + 1) * sizeof(*rows));
	if (!rows)
		return NULL;
	op->rows = rows;
	rows += op->nr_rows;
	*rows = (struct diff_row){.key = strdup(key)};
	if (!rows->key)
		return NULL;
	op->nr_rows++;
	return rows;
}

static bool note(struct reading *r, struct diff_operation *op, unsigned int side, const char *key)
{
	struct diff_row *row = row_of(op, key);

	if (!row)
		return false;
	row->differs[side] = true;
	row->declared[side] = declaration(r, side, key);
	return true;
}

/* The differences of one side that are new. */
static bool compare_side(struct reading *r, struct diff_operation *op, unsigned int side)
{
	struct diff_side *s = &r->file->sides[side];
	const struct observation *engine = r->readers[0].now, *kernel = r->readers[side].now;
	struct observation_difference d;
	bool differing = false;
	uint32_t at = 0;

	s->nr_operations++;
	/* What they do depends on values (`let`), and those differed. */
	if (engine->line != kernel->line || strcmp(observation_text(engine), observation_text(kernel)) != 0) {
		r->reads[side] = false;
		s->nr_differing++;
		s->verdict = s->verdict == DIFF_SAME ? DIFF_DIFFERS : s->verdict;
		return note(r, op, side, "operation");
	}
	while (observation_differs(engine, kernel, &at, &d)) {
		if (!is_news(r, side, &d))
			continue;
		if (!note(r, op, side, d.key))
			return false;
		row_of(op, d.key)->news[side] = true;
		differing |= !row_of(op, d.key)->declared[side];
		if (!differing && !*s->why)
			snprintf(s->why, sizeof(s->why), "%s", row_of(op, d.key)->declared[side]);
		if (s->verdict == DIFF_SAME)
			s->verdict = DIFF_DECLARED;
	}
	if (!differing)
		return true;
	s->nr_differing++;
	if (s->verdict <= DIFF_DIFFERS)
		s->verdict = DIFF_DIFFERS;
	return true;
}

/* Every side's value of every key that differs on one of them. */
static bool take_values(struct reading *r, struct diff_operation *op)
{
	for (unsigned int i = 0; i < op->nr_rows; i++) {
		struct diff_row *row = &op->rows[i];
		bool text = !strcmp(row->key, "operation");

		for (unsigned int side = 0; side < r->diff->nr_sides; side++) {
			const struct observation *now = r->readers[side].now;
			const char *value = !now ? NULL :
					    text ? observation_text(now) : observation_find(now, row->key);

			if (!value || (!r->reads[side] && !text))
				continue;
			row->values[side] = strdup(value);
			if (!row->values[side])
				return false;
		}
	}
	return true;
}

static void free_operation(struct diff_operation *op, unsigned int nr_sides)
{
	for (unsigned int i = 0; i < op->nr_rows; i++) {
		free(op->rows[i].key);
		for (unsigned int side = 0; side < nr_sides; side++)
			free(op->rows[i].values[side]);
	}
	free(op->rows);
	free(op->text);
	free(op);
}

static bool compare_operation(struct reading *r)
{
	const struct observation *engine = r->readers[0].now;
	struct diff_operation *op = calloc(1, sizeof(*op));
	bool good = op != NULL;

	if (!op)
		return false;
	for (unsigned int side = 1; good && side < r->diff->nr_sides; side++)
		if (r->reads[side])
			good = compare_side(r, op, side);
	good = good && take_values(r, op);
	op->operation = engine->operation;
	op->line = engine->line;
	op->text = good ? strdup(observation_text(engine)) : NULL;
	if (!op->text || !op->nr_rows) {
		good = good && op->text;
		free_operation(op, r->diff->nr_sides);
		return good;
	}
	*r->file->last = op;
	r->file->last = &op->next;
	return true;
}

/* The next operation of every side; false when the engine has none left. */
static bool read_sides(struct reading *r)
{
	for (unsigned int side = 0; side < r->diff->nr_sides; side++) {
		struct observe_reader *reader = &r->readers[side];
		int ret;

		if (!r->reads[side])
			continue;
		if (reader->now && !reader->now->brief && observation_copy(&r->before[side], reader->now)) {
			r->failed = true;
			return false;
		}
		ret = observe_read(reader);
		r->reads[side] = ret > 0;
		r->failed |= ret == -ENOMEM;
	}
	return r->reads[0] && !r->failed;
}

/* How a side that did not come to the file's end, or failed, is told. */
static void judge_end(struct reading *r, unsigned int side)
{
	struct diff_side *s = &r->file->sides[side];
	const struct diff_side *engine = &r->file->sides[0];

	if (!s->ended)
		return;
	if (s->status == EXIT_SKIPPED || s->status == EXIT_USAGE) {
		bool differs = s->verdict == DIFF_DIFFERS;

		if (s->status == engine->status)
			return;
		s->verdict = differs ? DIFF_DIFFERS : DIFF_SKIPPED;
		snprintf(s->why, sizeof(s->why), "%s", s->end);
	} else if (s->status == EXIT_NOT_HELD && engine->status == EXIT_HELD && s->verdict == DIFF_SAME) {
		/* An expectation on what is not observed. */
		s->verdict = DIFF_DIFFERS;
		snprintf(s->why, sizeof(s->why), "an expectation does not hold there");
	}
}

bool diff_compare(struct diff *diff, struct diff_file *file)
{
	struct reading r = {.diff = diff, .file = file};

	file->last = &file->first;
	mem_init(&r.mem);
	for (unsigned int side = 0; side < diff->nr_sides; side++) {
		observe_reader_init(&r.readers[side], &r.mem, file->sides[side].lines);
		observation_init(&r.before[side], &r.mem);
		r.reads[side] = file->sides[side].lines;
	}
	while (read_sides(&r))
		if (!compare_operation(&r)) {
			r.failed = true;
			break;
		}
	for (unsigned int side = 1; side < diff->nr_sides; side++)
		judge_end(&r, side);
	for (unsigned int side = 0; side < diff->nr_sides; side++) {
		observe_reader_destroy(&r.readers[side]);
		observation_destroy(&r.before[side]);
	}
	return !r.failed;
}

void diff_file_destroy(struct diff_file *file, unsigned int nr_sides)
{
	while (file->first) {
		struct diff_operation *op = file->first;

		file->first = op->next;
		free_operation(op, nr_sides);
	}
	scenario_destroy(file->scenario);
	for (unsigned int side = 0; side < nr_sides; side++) {
		free(file->sides[side].text);
		free(file->sides[side].failures);
	}
	free(file->sides[0].end);
}
