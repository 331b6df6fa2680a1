/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols of a scenario (ast.h): one hashed table for each kind, numbered in
 * order of appearance; and the names that the machine gives to counters,
 * knobs and process figures, which a scenario's own names must not hide.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"

/* Counters of the language itself; every backend knows them. */
static const char *const own_counters[] = { "orphan_entries", "now_ms" };

/* Words that a name would make unreadable or ambiguous. */
static const char *const reserved[] = {
#define X(upper, word, flags, usage) word,
	SCENARIO_OPS(X)
#undef X
#define X(upper, word) word,
	SCENARIO_PAGE_FUNCTIONS(X)
	SCENARIO_PAGE_TESTS(X)
#undef X
	"all", "at", "align", "as", "calls", "content", "different", "errno", "fallbacks",
	"from", "in", "iterations", "knob", "loops", "noreplace", "noreserve", "of", "pass",
	"prot", "random", "reachable", "reached", "result", "resize", "rounds", "same", "seed",
	"shared", "skipped", "to", "unknown",
};

const char *reserved_word(unsigned int i)
{
	return i < ARRAY_SIZE(reserved) ? reserved[i] : NULL;
}

const char *symbol_kind_text(enum symbol_kind kind)
{
	static const char *const texts[NR_SYMBOL_KINDS] = {
		"a process", "a window", "a file", "a held page", "a variable",
	};

	return texts[kind];
}

void symbol_format(const struct symbol *symbol, int64_t index, char *buf, size_t size)
{
	if (symbol->indexed)
		snprintf(buf, size, "%.*s%" PRId64, (int)MIN(symbol->length, 40u), symbol->text,
			 index);
	else
		snprintf(buf, size, "%.*s", (int)MIN(symbol->length, 60u), symbol->text);
}

static uint32_t hash_of(const char *text, uint32_t length, bool indexed)
{
	uint32_t hash = 2166136261u ^ indexed;

	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return hash;
}

/* The slot that holds the symbol, or the free one where it belongs. */
static uint32_t *slot_of(const struct symbol_table *table, const char *text, uint32_t length,
			 bool indexed)
{
	uint32_t mask = table->nr_slots - 1;

	for (uint32_t i = hash_of(text, length, indexed) & mask;; i = (i + 1) & mask) {
		const struct symbol *symbol;

		if (!table->slots[i])
			return &table->slots[i];
		symbol = &table->list[table->slots[i] - 1];
		if (symbol->length == length && symbol->indexed == indexed &&
		    !memcmp(symbol->text, text, length))
			return &table->slots[i];
	}
}

uint32_t symbol_find(const struct scenario *scenario, enum symbol_kind kind, const char *text,
		     uint32_t length, bool indexed)
{
	const struct symbol_table *table = &scenario->symbols[kind];

	return table->nr ? *slot_of(table, text, length, indexed) - 1 : UINT32_MAX;
}

static int table_grow(struct mem *mem, struct symbol_table *table)
{
	uint32_t room = MAX(table->room * 2, 16u);
	struct symbol_table bigger = { .nr = table->nr, .room = room, .nr_slots = room * 2 };

	bigger.slots = mem_alloc(mem, bigger.nr_slots * sizeof(*bigger.slots));
	bigger.list = mem_alloc(mem, room * sizeof(*bigger.list));
	if (!bigger.slots || !bigger.list) {
		mem_free(mem, bigger.slots, bigger.nr_slots * sizeof(*bigger.slots));
		mem_free(mem, bigger.list, room * sizeof(*bigger.list));
		return -ENOMEM;
	}
	if (table->nr)
		memcpy(bigger.list, table->list, table->nr * sizeof(*bigger.list));
	for (uint32_t i = 0; i < bigger.nr; i++) {
		const struct symbol *symbol = &bigger.list[i];

		*slot_of(&bigger, symbol->text, symbol->length, symbol->indexed) = i + 1;
	}
	mem_free(mem, table->slots, table->nr_slots * sizeof(*table->slots));
	mem_free(mem, table->list, table->room * sizeof(*table->list));
	*table = bigger;
	return 0;
}

void symbol_tables_destroy(struct scenario *scenario)
{
	for (int kind = 0; kind < NR_SYMBOL_KINDS; kind++) {
		struct symbol_table *table = &scenario->symbols[kind];

		mem_free(&scenario->mem, table->slots, table->nr_slots * sizeof(*table->slots));
		mem_free(&scenario->mem, table->list, table->room * sizeof(*table->list));
	}
}

int symbol_intern(struct parser *p, enum symbol_kind kind, const char *text, uint32_t length,
		  bool indexed, uint32_t *ret)
{
	struct symbol_table *table = &p->scenario->symbols[kind];
	uint32_t *slot;

	if (table->nr == table->room) {
		int err = table_grow(&p->scenario->mem, table);

		if (err)
			return err;
	}
	slot = slot_of(table, text, length, indexed);
	if (!*slot) {
		struct symbol *symbol = &table->list[table->nr];

		symbol->text = arena_text(p->arena, text, length);
		if (!symbol->text)
			return -ENOMEM;
		symbol->length = length;
		symbol->indexed = indexed;
		symbol->defined_line = 0;
		*slot = ++table->nr;
	}
	*ret = *slot - 1;
	return 0;
}

int symbol_define(struct parser *p, enum symbol_kind kind, const struct name_ref *ref)
{
	struct symbol *symbol = &p->scenario->symbols[kind].list[ref->symbol];

	for (size_t i = 0; i < ARRAY_SIZE(reserved) && !symbol->indexed; i++)
		if (strlen(reserved[i]) == symbol->length &&
		    !memcmp(reserved[i], symbol->text, symbol->length))
			return parse_fail(p, ref->pos,
					  "\"%s\" is a word of the language and cannot name %s",
					  symbol->text, symbol_kind_text(kind));
	if (kind == SYMBOL_VARIABLE && counter_find(symbol->text, symbol->length))
		return parse_fail(p, ref->pos,
				  "\"%s\" is a counter of the machine and cannot name a variable",
				  symbol->text);
	for (int other = 0; other < NR_SYMBOL_KINDS; other++) {
		uint32_t nr;
		const struct symbol *o;

		if (other == (int)kind)
			continue;
		nr = symbol_find(p->scenario, other, symbol->text, symbol->length,
				 symbol->indexed);
		if (nr == UINT32_MAX)
			continue;
		o = &p->scenario->symbols[other].list[nr];
		if (o->defined_line)
			return parse_fail(p, ref->pos,
					  "\"%s%s\" is %s already (line %u): give %s another name",
					  symbol->text, symbol->indexed ? "{}" : "",
					  symbol_kind_text(other), o->defined_line,
					  symbol_kind_text(kind));
	}
	if (!symbol->defined_line)
		symbol->defined_line = p->line_nr;
	return 0;
}

static const char *stat_find(int kind, const char *text, uint32_t length)
{
	const char *name;

	for (unsigned int i = 0; (name = sp_stat_name(kind, i)); i++)
		if (strlen(name) == length && !memcmp(name, text, length))
			return name;
	return NULL;
}

const char *counter_find(const char *text, uint32_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_counters); i++)
		if (strlen(own_counters[i]) == length && !memcmp(own_counters[i], text, length))
			return own_counters[i];
	return stat_find(0, text, length);
}

const char *process_stat_find(const char *text, uint32_t length)
{
	return stat_find(1, text, length);
}

const char *knob_find(const char *text, uint32_t length)
{
	return stat_find(2, text, length);
}
