/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations: what the file says about itself before anything happens. The
 * machine that it wants (`machine`), the strategies that must fail on it
 * (`broken`), the kernels that can run it (`needs`), and those whose
 * observables are not the engine's (`differs`); see parse.h.
 *
 * Here are also the two phrases that declarations share with `under`: names of
 * strategies, and versions of Linux.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "parse.h"
#include "suggest.h"

/* ---- Phrases ------------------------------------------------------------------- */

int parse_strategies(struct parser *p, uint32_t *strategies, bool *with_linux)
{
	uint32_t length;
	char buf[FOUND_BYTES];

	*strategies = 0;
	while ((length = peek_word(p))) {
		struct suggestion s;
		int i;

		suggest_init(&s, p->line + p->pos, length);
		for (i = 0; i < SP_NR_STRATEGIES; i++) {
			if (accept_word(p, sp_strategy_name(i))) {
				*strategies |= 1u << i;
				break;
			}
			suggest_consider(&s, sp_strategy_name(i));
		}
		if (i < SP_NR_STRATEGIES)
			continue;
		if (word_is(p, length, "linux")) {
			if (!with_linux)
				break; /* a version follows, which is the caller's */
			*with_linux = accept_word(p, "linux");
			continue;
		}
		return parse_fail(p, p->pos, "unknown strategy %s; did you mean \"%s\"?",
				  found(p, buf, sizeof(buf)), s.best ? s.best : "full");
	}
	return 0;
}

/* MAJOR.MINOR: no number of the language, which has integers alone. */
static int parse_version(struct parser *p, uint32_t *ret)
{
	const char *text = p->line + p->pos;
	uint32_t length = 0;
	char version[LINUX_VERSION_BYTES] = "";
	char buf[FOUND_BYTES];
	uint32_t dots = 0;

	while (p->pos + length < p->length && (isdigit((unsigned char)text[length]) || text[length] == '.'))
		dots += text[length++] == '.';
	if (length < sizeof(version))
		memcpy(version, text, length);
	if (dots != 1 || linux_version_of_release(version, ret) || text[length - 1] == '.')
		return parse_fail(p, p->pos, "expected a version of Linux such as 6.12, found %s",
				  length ? "another number" : found(p, buf, sizeof(buf)));
	p->pos += length;
	skip_blanks(p);
	return 0;
}

int parse_linux_range(struct parser *p, struct linux_range *ret)
{
	uint32_t start = p->pos;
	enum compare compare;
	char buf[FOUND_BYTES];

	*ret = LINUX_RANGE_ALL;
	if (!accept_compare(p, &compare))
		return parse_fail(p, p->pos, "expected a comparison (< <= == >= >) and a version, such as `linux >= 6.7`, found %s",
				  found(p, buf, sizeof(buf)));
	do {
		struct linux_range one = LINUX_RANGE_ALL;
		uint32_t version;
		int err;

		if (compare == COMPARE_NE)
			return parse_fail(p, start, "a range of versions has no hole: < <= == >= or >");
		err = parse_version(p, &version);
		if (err)
			return err;
		if (compare == COMPARE_EQ || compare == COMPARE_GE)
			one.first = version;
		else if (compare == COMPARE_GT)
			one.first = version + 1;
		if (compare == COMPARE_EQ || compare == COMPARE_LE)
			one.last = version;
		else if (compare == COMPARE_LT)
			one.last = version - 1;
		ret->first = MAX(ret->first, one.first);
		ret->last = MIN(ret->last, one.last);
	} while (accept_compare(p, &compare));
	if (ret->first > ret->last)
		return parse_fail(p, start, "no version of Linux is that");
	return 0;
}

/* In quotes, or the line's comment; "" if there is neither. */
static int parse_reason(struct parser *p, const char **ret)
{
	*ret = "";
	if (!at_end(p) && p->line[p->pos] == '"')
		return parse_quoted(p, "a reason", ret);
	if (!p->comment_length)
		return 0;
	*ret = arena_text(p->arena, p->comment, p->comment_length);
	return *ret ? 0 : -ENOMEM;
}

/* ---- Strategies ------------------------------------------------------------------ */

int parse_broken(struct parser *p)
{
	struct scenario *sc = p->scenario;
	uint32_t start = p->pos;
	uint32_t strategies;
	const char *why = "";
	bool with_linux = false;
	int err = parse_strategies(p, &strategies, &with_linux);

	if (err)
		return err;
	if (!strategies && !with_linux)
		return parse_fail(p, start, "expected the strategies that fail here; usage: %s",
				  op_table[OP_BROKEN].usage);
	err = parse_reason(p, &why);
	if (err)
		return err;
	for (int i = 0; i < SP_NR_STRATEGIES; i++)
		if (strategies & (1u << i))
			sc->why[i] = why;
	sc->broken |= strategies;
	if (with_linux) {
		sc->broken_linux = true;
		sc->why_linux = why;
	}
	return finish_line(p, op_table[OP_BROKEN].usage);
}

/* ---- Versions -------------------------------------------------------------------- */

/* `linux OP VERSION...` of a declaration about the whole file. */
static int parse_about_linux(struct parser *p, enum op op, struct linux_range *ret)
{
	char buf[FOUND_BYTES];

	if (p->scenario->first)
		return parse_fail(p, p->stmt->pos, "`%s` is about the whole file: it stands before the first operation",
				  op_table[op].word);
	if (!accept_word(p, "linux"))
		return parse_fail(p, p->pos, "expected linux and a version, found %s; usage: %s",
				  found(p, buf, sizeof(buf)), op_table[op].usage);
	if (op == OP_KILLS && (at_end(p) || p->line[p->pos] == '"')) {
		*ret = LINUX_RANGE_ALL;
		return 0;
	}
	return parse_linux_range(p, ret);
}

static int parse_why(struct parser *p, enum op op, const char **ret)
{
	uint32_t start = p->pos;
	int err = parse_reason(p, ret);

	if (!err)
		err = finish_line(p, op_table[op].usage);
	if (!err && !**ret)
		err = parse_fail(p, start, "why? usage: %s", op_table[op].usage);
	return err;
}

int parse_needs(struct parser *p)
{
	struct scenario *sc = p->scenario;
	struct scenario_need *need = arena_alloc(p->arena, sizeof(*need));
	struct scenario_need **tail = &sc->needs;
	uint32_t start = p->pos;
	char engine[LINUX_VERSION_BYTES];
	int err;

	if (!need)
		return -ENOMEM;
	err = parse_about_linux(p, OP_NEEDS, &need->kernels);
	if (err)
		return err;
	linux_version_format(LINUX_VERSION_ENGINE, engine, sizeof(engine));
	if (!linux_range_has(&need->kernels, LINUX_VERSION_ENGINE))
		return parse_fail(p, start, "the engine counts as Linux %s, which this leaves out", engine);
	need->line = p->line_nr;
	need->text = p->stmt->text;
	err = parse_why(p, OP_NEEDS, &need->why);
	if (err)
		return err;
	while (*tail)
		tail = &(*tail)->next;
	*tail = need;
	return 0;
}

int parse_kills(struct parser *p)
{
	struct scenario *sc = p->scenario;
	struct scenario_need *kills = arena_alloc(p->arena, sizeof(*kills));
	int err;

	if (!kills)
		return -ENOMEM;
	if (sc->kills)
		return parse_fail(p, p->stmt->pos, "line %u has said that already", sc->kills->line);
	err = parse_about_linux(p, OP_KILLS, &kills->kernels);
	if (err)
		return err;
	kills->line = p->line_nr;
	kills->text = p->stmt->text;
	err = parse_why(p, OP_KILLS, &kills->why);
	if (!err)
		sc->kills = kills;
	return err;
}

static int parse_key(struct parser *p, struct scenario_difference *d)
{
	struct scenario_key *key = arena_alloc(p->arena, sizeof(*key));
	struct scenario_key **tail = &d->keys;
	int err;

	if (!key)
		return -ENOMEM;
	err = parse_raw_word(p, "an observable", &key->text);
	if (err)
		return err;
	while (*tail)
		tail = &(*tail)->next;
	*tail = key;
	return 0;
}

int parse_differs(struct parser *p)
{
	struct scenario_difference *d = arena_alloc(p->arena, sizeof(*d));
	struct scenario_difference **tail = &p->scenario->differences;
	int err;

	if (!d)
		return -ENOMEM;
	d->line = p->line_nr;
	err = parse_about_linux(p, OP_DIFFERS, &d->kernels);
	while (!err && !at_end(p) && p->line[p->pos] != '"')
		err = parse_key(p, d);
	if (!err)
		err = parse_why(p, OP_DIFFERS, &d->why);
	if (err)
		return err;
	while (*tail)
		tail = &(*tail)->next;
	*tail = d;
	return 0;
}

/* ---- The machine ------------------------------------------------------------------- */

static int parse_machine_number(struct parser *p, int64_t least, int64_t most, int64_t *ret)
{
	uint32_t start = p->pos;
	struct expr *e;
	int err = parse_primary(p, &e);

	if (err)
		return err;
	if (e->op != EXPR_CONST)
		return parse_fail(p, start, "the machine is described with numbers alone");
	if (e->value < least || e->value > most)
		return parse_fail(p, start, "%" PRId64 " is not in %" PRId64 "..%" PRId64, e->value,
				  least, most);
	*ret = e->value;
	return 0;
}

int parse_machine(struct parser *p)
{
	struct sp_config *config = &p->scenario->machine;
	uint32_t start = p->pos;
	char buf[FOUND_BYTES];
	int err = 0;

	if (p->machine_made)
		return parse_fail(p, p->stmt->pos, "the machine must be described before the first process and file");
	while (!err && !at_end(p)) {
		int64_t value = 0;

		if (accept_word(p, "nodes")) {
			err = parse_machine_number(p, 1, 64, &value);
			config->nr_nodes = (uint32_t)value;
		} else if (accept_word(p, "movable")) {
			err = parse_machine_number(p, 0, 63, &value);
			config->nr_movable_nodes = (uint32_t)value;
		} else if (accept_word(p, "map_limit")) {
			err = parse_machine_number(p, 1, INT32_MAX, &value);
			config->max_map_count = (uint32_t)value;
		} else if (accept_word(p, "frames")) {
			err = parse_machine_number(p, 1, INT64_C(1) << 40, &value);
			config->nr_frames = (uint64_t)value;
		} else if (accept_word(p, "swap")) {
			err = parse_machine_number(p, 1, INT64_C(1) << 40, &value);
			config->nr_swap_slots = (uint64_t)value;
		} else if (accept_word(p, "thp")) {
			if (accept_word(p, "never"))
				config->thp = SP_THP_NEVER;
			else if (accept_word(p, "madvise"))
				config->thp = SP_THP_MADVISE;
			else if (accept_word(p, "always"))
				config->thp = SP_THP_ALWAYS;
			else
				err = parse_fail(p, p->pos, "expected never, madvise or always, found %s",
						 found(p, buf, sizeof(buf)));
		} else {
			err = parse_fail(p, p->pos, "expected nodes, movable, map_limit, frames, swap or thp, found %s",
					 found(p, buf, sizeof(buf)));
		}
	}
	if (!err && p->pos == start)
		err = parse_fail(p, p->pos, "usage: %s", op_table[OP_MACHINE].usage);
	if (!err && config->nr_movable_nodes >= config->nr_nodes)
		err = parse_fail(p, start, "movable %u, of nodes %u: the kernel needs one for itself",
				 config->nr_movable_nodes, config->nr_nodes);
	return err;
}
