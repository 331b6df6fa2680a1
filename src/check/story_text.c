/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A story as text: a head for people, in comments, then the file; see story_seen.h.
 *
 * The head names the page, its VMA and the offset that was asked for, since that is what an
 * argument about a walk is about, and has a table of what each strategy makes of the page, with a
 * legend, since not every reader knows what EUCLEAN stands for. What the lines expect is what was
 * seen; strategies that saw the same share a line.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "story_seen.h"

#define COLUMNS 79

/* ---- The head ------------------------------------------------------------------------ */

/* A paragraph of comment, broken between words. */
static void SP_PRINTF(2, 3) paragraph(FILE *to, const char *fmt, ...)
{
	char text[1024];
	size_t column = 0;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *rest = text, *word; (word = strtok_r(NULL, " ", &rest));) {
		size_t length = strlen(word);

		if (column && column + 1 + length > COLUMNS) {
			fputc('\n', to);
			column = 0;
		}
		column += (size_t)fprintf(to, "%s %s", column ? "" : "#", word);
	}
	fputc('\n', to);
}

static char page_process(const struct story *story)
{
	return (char)('a' + story->failure.process);
}

static void write_title(FILE *to, const struct story *story)
{
	const struct cause *cause = &story->failure.cause;
	const char *strategy = sp_strategy_name(story->origin->strategy);
	const char *name = cause_name(cause);

	switch ((enum failure_kind)cause->kind) {
	case FAILURE_MISS:
		if (story->origin->strategy == SP_STRATEGY_FULL)
			paragraph(to, "Linux's own walk does not reach a merged page (%s)", name);
		else
			paragraph(to, "The walk of %s does not reach a merged page (%s)", strategy,
				  name);
		break;
	case FAILURE_ORPHAN:
		paragraph(to, "Migration under %s leaves an entry behind (%s)", strategy, name);
		break;
	case FAILURE_PINNED:
		paragraph(to, "A page cannot be unmapped under %s (%s)", strategy, name);
		break;
	case FAILURE_CONTENT:
		paragraph(to, "A page does not hold what was written, under %s (%s)", strategy,
			  name);
		break;
	case FAILURE_RECOUNT:
		paragraph(to, "Structures do not agree with each other, under %s (%s)", strategy,
			  name);
		break;
	case FAILURE_RESULT:
	case NR_FAILURE_KINDS:
		paragraph(to, "An operation returns what it must not, under %s (%s)", strategy,
			  name);
		break;
	}
}

static void write_place(FILE *to, const struct story *story)
{
	const struct failure *f = &story->failure;
	const struct sp_page_info *info = &story->info;
	char asked[128] = "";

	if (f->cause.kind == FAILURE_RECOUNT || f->cause.kind == FAILURE_RESULT)
		return;
	/* The whole-tree walk asks for everything, but not everywhere. */
	if (f->cause.kind == FAILURE_MISS && f->asked != f->linear_index &&
	    story->origin->strategy != SP_STRATEGY_FULL)
		snprintf(asked, sizeof(asked), " The walk asks for 0x%" PRIx64 ".", f->asked);
	else if (f->cause.kind == FAILURE_MISS)
		snprintf(asked, sizeof(asked), " No rmap_item of the page leads to this mapping.");
	fputs("#\n", to);
	paragraph(to,
		  "The page is %c:x[%u], at 0x%" PRIx64 ". Its VMA is 0x%" PRIx64 "-0x%" PRIx64
		  " with pgoff 0x%" PRIx64 ", so its linear index is 0x%" PRIx64 ".%s",
		  page_process(story), f->page, story->address, info->vma_start, info->vma_end,
		  info->vma_pgoff, info->linear_index, asked);
}

static void write_cause(FILE *to, const struct story *story)
{
	char text[512], first;

	cause_text(&story->failure.cause, text, sizeof(text));
	if (!*text)
		return;
	first = (char)toupper((unsigned char)*text);
	fputs("#\n", to);
	paragraph(to, "%c%s.", first, text + 1);
}

static bool has_table(const struct story *story)
{
	return *story->outcomes[SP_STRATEGY_FULL].walk;
}

#define NR_COLUMNS 4

struct column {
	const char *head;
	int width;
	size_t offset; /* of the word in an outcome */
};

static const struct column columns[NR_COLUMNS] = {
	{"walk", 8, offsetof(struct story_outcome, walk)},
	{"migrate", 9, offsetof(struct story_outcome, migrate)},
	{"swapout", 9, offsetof(struct story_outcome, swapout)},
	{"read", 9, offsetof(struct story_outcome, read)},
};

/* Where the failing operation is the migration, the walk comes after it. */
static const struct column *column(const struct story *story, unsigned int i)
{
	bool migrates = step_migrates(story->sequence->steps[story->sequence->nr - 1].kind);

	return &columns[migrates && i < 2 ? 1 - i : i];
}

static const char *word(const struct story *story, int strategy, const struct column *column)
{
	if (strategy < 0)
		return column->head;
	return (const char *)&story->outcomes[strategy] + column->offset;
}

static bool has_word(const struct story *story, const char *text)
{
	for (int i = 0; i < SP_NR_STRATEGIES; i++)
		for (unsigned int c = 0; c < NR_COLUMNS; c++)
			if (!strcmp(word(story, i, &columns[c]), text))
				return true;
	return false;
}

/* What the words mean that do not speak for themselves. */
static void write_legend(FILE *to, const struct story *story)
{
	static const struct {
		const char *word, *meaning;
	} words[] = {
		{"EBUSY", "EBUSY: it is still mapped, and stays. "},
		{"EUCLEAN", "EUCLEAN: it moves, and leaves migration entries behind. "},
		{"EDEADLK", "EDEADLK: one of them is met, and would be waited for without end. "},
		{"EFAULT", "EFAULT: no page is there any more. "},
		{"in part", "In part: some of its mappings are swapped out, others are not. "},
	};
	char text[512] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++)
		if (has_word(story, words[i].word))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
						 words[i].meaning);
	if (!used)
		return;
	fputs("#\n", to);
	paragraph(to, "%s", text);
}

/* What each strategy makes of the page; a column that no strategy has a word for is left out. */
static void write_table(FILE *to, const struct story *story)
{
	bool used[NR_COLUMNS] = {false};

	if (!has_table(story))
		return;
	for (int i = 0; i < SP_NR_STRATEGIES; i++)
		for (unsigned int c = 0; c < NR_COLUMNS; c++)
			used[c] |= *word(story, i, column(story, c)) != '\0';
	fputs("#\n", to);
	paragraph(to, "What becomes of it, one operation after the other:");
	for (int i = -1; i < SP_NR_STRATEGIES; i++) {
		char row[96];
		int n = snprintf(row, sizeof(row), "#   %-9s", i < 0 ? "" : sp_strategy_name(i));

		for (unsigned int c = 0; c < NR_COLUMNS; c++)
			if (used[c])
				n += snprintf(row + n, sizeof(row) - (size_t)n, "%-*s",
					      column(story, c)->width,
					      word(story, i, column(story, c)));
		while (row[n - 1] == ' ')
			n--;
		fprintf(to, "%s%.*s\n", i < 0 ? "#\n" : "", n, row);
	}
	write_legend(to, story);
}

static void write_origin(FILE *to, const struct story *story)
{
	const struct story_origin *origin = story->origin;
	const char *facts = cause_facts(&story->failure.cause);
	char how[96], number[48] = "", depth[24] = "";

	if (*facts) {
		fputs("#\n", to);
		paragraph(to, "Facts %s of docs/facts.md.", facts);
	}
	snprintf(how, sizeof(how), "--exhaustive");
	if (origin->is_random) {
		snprintf(how, sizeof(how), "--seed %" PRIu64, origin->seed);
		snprintf(number, sizeof(number), " (sequence %" PRIu64 ")", origin->sequence);
	}
	if (origin->depth)
		snprintf(depth, sizeof(depth), " --depth %u", origin->depth);
	fputs("#\n", to);
	paragraph(to,
		  "Found by samepage check --strategy %s %s%s%s, shrunk from %u operations to %u.",
		  sp_strategy_name(origin->strategy), how, depth, number, origin->nr_steps_before,
		  story->sequence->nr);
}

/* ---- Declarations ------------------------------------------------------------------------ */

/*
 * Why this strategy fails here; its own cause may be another one than that which was searched for,
 * and what it misses another page.
 */
static void write_reason(FILE *to, const struct story *story, enum sp_strategy strategy,
			 const char *missed)
{
	const struct story_outcome *outcome = &story->outcomes[strategy];
	const struct cause *cause = NULL;
	uint64_t nr = outcome->nr_orphans;
	char text[64];

	if (strategy == story->origin->strategy)
		cause = &story->failure.cause;
	else if (outcome->verdict.nr)
		cause = &outcome->verdict.failures[0].cause;
	if (nr)
		snprintf(text, sizeof(text), "leaves %" PRIu64 " migration entr%s behind", nr,
			 nr == 1 ? "y" : "ies");
	else if (outcome->misses)
		snprintf(text, sizeof(text), "reaches %s", outcome->walk);
	else
		snprintf(text, sizeof(text), "%s", *missed ? missed : "an expectation fails");
	if (cause)
		fprintf(to, " \"%s (%s)\"\n", text, cause_name(cause));
	else
		fprintf(to, " \"%s\"\n", text);
}

static void write_declarations(FILE *to, const struct story *story)
{
	const struct sequence *s = story->sequence;
	bool any = story->linux_misses, file = false;
	char machine[64];

	fputc('\n', to);
	if (any) {
		fputs("broken linux", to);
		write_reason(to, story, SP_STRATEGY_FULL, story->linux_missed);
	}
	for (unsigned int i = 0; i < SP_NR_STRATEGIES; i++) {
		if (!story->outcomes[i].broken)
			continue;
		fprintf(to, "broken %s", sp_strategy_name(i));
		write_reason(to, story, i, story->outcomes[i].missed);
		any = true;
	}
	if (any)
		fputc('\n', to);
	for (unsigned int i = 0; i < s->nr; i++)
		file |= s->steps[i].kind == STEP_MAP_FILE;
	if (shape_print(&s->shape, machine, sizeof(machine))[0])
		fprintf(to, "%s\n", machine);
	if (file)
		fprintf(to, "file f %u seed %u\n", FILE_PAGES, FILE_SEED);
	if (machine[0] || file)
		fputc('\n', to);
}

/* ---- Operations ---------------------------------------------------------------------------- */

static void write_expects(FILE *to, const struct story_line *line)
{
	for (unsigned int which = 0; which < EXPECTS_PER_LINE; which++) {
		const char(*texts)[sizeof(line->expects[0][0])] = line->expects[which];
		unsigned int done = 0;

		for (unsigned int i = 0; i < SP_NR_STRATEGIES; i++) {
			unsigned int same = 0;

			if (!*texts[i] || done & 1u << i)
				continue;
			for (unsigned int k = i; k < SP_NR_STRATEGIES; k++)
				if (!strcmp(texts[i], texts[k]))
					same |= 1u << k;
			done |= same;
			if (same != (1u << SP_NR_STRATEGIES) - 1) {
				fputs("under", to);
				for (unsigned int k = i; k < SP_NR_STRATEGIES; k++)
					if (same & 1u << k)
						fprintf(to, " %s", sp_strategy_name(k));
				fputs(": ", to);
			}
			fprintf(to, "expect %s\n", texts[i]);
		}
	}
}

/*
 * The map that gives a process's window its name, if that is the first use of it: the index of
 * its line, or 0. Windows get their addresses in the order in which they are named, which is that
 * of the processes.
 */
static unsigned int naming_map(const struct story *story, unsigned int at)
{
	unsigned int name = story->lines[at].step.process;

	for (unsigned int i = at + 1; i < story->nr_steps; i++) {
		const struct step *step = &story->lines[i].step;

		if (step->kind == STEP_PROCESS)
			return 0;
		if (!step_has_process(step->kind) || step->process != name ||
		    step->kind == STEP_MERGE_ANY)
			continue;
		if ((step->kind == STEP_MAP || step->kind == STEP_MAP_FILE) && step->first == 0 &&
		    step->nr == story->sequence->shape.nr_pages)
			return i;
		return 0;
	}
	return 0;
}

static bool evicts_later(const struct story *story, unsigned int at)
{
	for (unsigned int i = at + 1; i < story->nr_steps; i++) {
		const struct step *step = &story->lines[i].step;

		if (step->kind == STEP_SWAPOUT || step->kind == STEP_RECLAIM ||
		    (step->kind == STEP_MADVISE && step->arg == SP_MADV_PAGEOUT))
			return true;
	}
	return false;
}

/* In front of the last step of the sequence. */
static void write_turn(FILE *to, const struct story *story)
{
	const char *strategy = sp_strategy_name(story->origin->strategy);
	char p = page_process(story);
	unsigned int page = story->failure.page;

	fputc('\n', to);
	switch ((enum failure_kind)story->failure.cause.kind) {
	case FAILURE_MISS:
		if (story->missed_before)
			fprintf(to,
				"# %c:x[%u] is missed before this too, for another cause; "
				"from here on for this one.\n",
				p, page);
		else if (story->origin->strategy == SP_STRATEGY_FULL)
			fprintf(to,
				"# After this, not even the whole-tree walk reaches %c:x[%u].\n", p,
				page);
		else
			fprintf(to, "# After this, %s does not reach %c:x[%u].\n", strategy, p,
				page);
		break;
	case FAILURE_ORPHAN:
		fprintf(to, "# Under %s, %c:x[%u] stays a migration entry.\n", strategy, p, page);
		break;
	case FAILURE_PINNED:
		fprintf(to, "# Under %s, %c:x[%u] cannot be unmapped.\n", strategy, p, page);
		break;
	case FAILURE_CONTENT:
		fprintf(to, "# Under %s, %c:x[%u] then does not hold what was written.\n", strategy,
			p, page);
		break;
	default:
		fprintf(to, "# This fails under %s.\n", strategy);
		break;
	}
}

static void write_content(FILE *to, const struct story *story)
{
	const struct failure *f = &story->failure;
	uint8_t bytes[8];

	memcpy(bytes, &f->should_hold, sizeof(bytes));
	if (f->cause.kind == FAILURE_CONTENT && !memcmp(bytes, bytes + 1, sizeof(bytes) - 1))
		fprintf(to, "expect content %c:x[%u] 0x%02x\n", page_process(story), f->page,
			bytes[0]);
}

static void write_line(FILE *to, const struct story *story, unsigned int i, const bool *names)
{
	const struct story_line *line = &story->lines[i];
	const struct step *step = &line->step;
	unsigned int nr_pages = story->sequence->shape.nr_pages;
	char text[128];

	if (i && step->kind == STEP_PROCESS && !line->walk)
		fputc('\n', to);
	if (i + 1 == story->nr_steps)
		write_turn(to, story);
	else if (i == story->nr_steps)
		fputc('\n', to);
	else if (step->kind == STEP_HOLD && i < story->nr_steps && evicts_later(story, i))
		fputs("# A reference, such as a pipe's, keeps the page in the swap cache.\n", to);
	if (line->walk)
		fprintf(to, "walk %c:x[%u]\n", page_process(story), story->failure.page);
	else if (names[i] && step->kind == STEP_MAP)
		fprintf(to, "%c: map x %u\n", 'a' + step->process, nr_pages);
	else if (names[i])
		fprintf(to, "%c: map x %u file f at %u\n", 'a' + step->process, nr_pages,
			step->arg);
	else
		fprintf(to, "%s\n", step_print(step, &story->sequence->shape, text, sizeof(text)));
	write_expects(to, line);
	if (i + 1 == story->nr_steps)
		write_content(to, story);
}

static void write_operations(FILE *to, const struct story *story)
{
	bool names[MAX_STORY_LINES] = {false};

	for (unsigned int i = 0; i < story->nr_lines; i++) {
		const struct step *step = &story->lines[i].step;
		unsigned int map;

		write_line(to, story, i, names);
		if (story->lines[i].walk || step->kind != STEP_PROCESS)
			continue;
		map = naming_map(story, i);
		if (map)
			names[map] = true;
		else
			fprintf(to, "%c: window x %u\n", 'a' + step->process,
				story->sequence->shape.nr_pages);
	}
}

char *story_text(const struct story *story)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	bool failed;

	if (!to)
		return NULL;
	write_title(to, story);
	write_place(to, story);
	write_cause(to, story);
	write_table(to, story);
	write_origin(to, story);
	write_declarations(to, story);
	write_operations(to, story);
	failed = ferror(to);
	failed |= fclose(to);
	if (!failed)
		return text;
	free(text);
	return NULL;
}
