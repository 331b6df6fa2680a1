/* SPDX-License-Identifier: GPL-2.0-only */
/* What each operation changed; see steps.h. */
#include "steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"

#define LINE_COLUMNS 100
#define INDENT	     "        "
/* Words of a page: "present ksm f1 n0 0x77" */
#define PAGE_WORDS 5

void steps_init(struct steps *steps, enum steps_form form, FILE *lines)
{
	*steps = (struct steps){.form = form};
	mem_init(&steps->mem);
	observation_init(&steps->last, &steps->mem);
	observe_writer_init(&steps->writer, &steps->mem, lines);
	if (form == STEPS_JSON)
		steps->list = json_object_new_array();
}

void steps_destroy(struct steps *steps)
{
	observation_destroy(&steps->last);
	observe_writer_destroy(&steps->writer);
	json_object_put(steps->list);
	steps->list = NULL;
}

/* One page's key, "a:x[2]", as its parts. */
struct page_key {
	const char *name; /* "a:x[", length bytes of it */
	size_t length;
	uint64_t page;
};

/* False for another key. */
static bool page_key_of(const char *key, struct page_key *ret)
{
	const char *bracket = strchr(key, '[');

	*ret = (struct page_key){key, 0, 0};
	if (!bracket || !strchr(key, ':'))
		return false;
	*ret = (struct page_key){key, (size_t)(bracket - key) + 1, strtoull(bracket + 1, NULL, 10)};
	return true;
}

/* ---- Pages ---- */

struct page_words {
	unsigned int nr;
	const char *at[PAGE_WORDS];
	int length[PAGE_WORDS];
	unsigned int frame; /* 0: in none */
};

static void page_words_of(const char *value, struct page_words *ret)
{
	*ret = (struct page_words){0};
	while (*value && ret->nr < PAGE_WORDS) {
		size_t length = strcspn(value, " ");

		ret->at[ret->nr] = value;
		ret->length[ret->nr++] = (int)length;
		value += length + (value[length] == ' ');
	}
	if (ret->nr > 2 && ret->at[2][0] == 'f')
		ret->frame = (unsigned int)strtoul(ret->at[2] + 1, NULL, 10);
}

static bool same_word(const struct page_words *a, const struct page_words *b, unsigned int i)
{
	return a->length[i] == b->length[i] && !memcmp(a->at[i], b->at[i], (size_t)a->length[i]);
}

/* But for the frame's number. */
static bool same_words(const struct page_words *a, const struct page_words *b)
{
	if (a->nr != b->nr || !a->frame != !b->frame)
		return false;
	for (unsigned int i = 0; i < a->nr; i++)
		if (!(a->frame && i == 2) && !same_word(a, b, i))
			return false;
	return true;
}

/* The key that has this frame first, which stands for all that have it. */
static const char *frame_owner(const struct observation *o, unsigned int frame)
{
	struct page_words words;
	struct page_key page;

	for (uint32_t i = 0; i < o->nr; i++) {
		if (!page_key_of(observation_key(o, i), &page))
			continue;
		page_words_of(observation_value(o, i), &words);
		if (words.frame == frame)
			return observation_key(o, i);
	}
	return "";
}

static bool page_changed(const struct steps *steps, const struct observation *o, const char *before,
			 const char *after)
{
	struct page_words old, new;

	page_words_of(before, &old);
	page_words_of(after, &new);
	if (!same_words(&old, &new))
		return true;
	return new.frame && strcmp(frame_owner(&steps->last, old.frame), frame_owner(o, new.frame)) != 0;
}

/* ---- Changes ---- */

struct change {
	const char *key, *before, *after; /* before: NULL when it is new */
};

struct changes {
	struct change *list;
	unsigned int nr;
};

/* What a process or a page begins with says nothing. */
static bool is_dull(const char *value)
{
	static const char *const dull[] = {"0", "?", "-", "absent", "unmapped", "running"};

	for (size_t i = 0; i < ARRAY_SIZE(dull); i++)
		if (!strcmp(value, dull[i]))
			return true;
	return false;
}

static bool find_changes(const struct steps *steps, const struct observation *o,
			 struct changes *changes)
{
	struct observation_difference d;
	struct page_key page;
	uint32_t at = 0;

	changes->nr = 0;
	changes->list = calloc(o->nr + 1, sizeof(*changes->list));
	if (!changes->list)
		return false;
	while (observation_changed(&steps->last, o, &at, &d)) {
		if (!strcmp(d.key, "outcome") || (!d.a && is_dull(d.b)))
			continue;
		if (d.a && page_key_of(d.key, &page) && !page_changed(steps, o, d.a, d.b))
			continue;
		changes->list[changes->nr++] = (struct change){d.key, d.a, d.b};
	}
	return true;
}

static bool is_page(const struct change *c)
{
	struct page_key page;

	return page_key_of(c->key, &page);
}

/* Figures of one process stand together, and so do counters, which have no process. */
static size_t owner_length(const char *key)
{
	const char *dot = strchr(key, '.');

	return dot ? (size_t)(dot - key) : 0;
}

/* ---- For people ---- */

static unsigned int print_figures(const struct changes *changes, unsigned int from)
{
	const struct change *c = &changes->list[from];
	size_t owner = owner_length(c->key), column = 0;
	unsigned int i;

	for (i = from; i < changes->nr; i++) {
		char text[8192];
		int length;

		c = &changes->list[i];
		if (is_page(c) || owner_length(c->key) != owner ||
		    strncmp(c->key, changes->list[from].key, owner) != 0)
			break;
		length = c->before && strcmp(c->before, "-") != 0 ? snprintf(text, sizeof(text), "%s %s -> %s", c->key, c->before, c->after) :
				     snprintf(text, sizeof(text), "%s %s", c->key, c->after);
		if (column && column + (size_t)length + 2 > LINE_COLUMNS - strlen(INDENT)) {
			putchar('\n');
			column = 0;
		}
		printf("%s%s", column ? ", " : INDENT, text);
		column += (size_t)length + 2;
	}
	putchar('\n');
	return i;
}

static bool alike(const struct change *first, const struct change *last, const struct change *next,
		  int *frame_step)
{
	struct page_words a, b, before_a, before_b;
	struct page_key key, next_key, first_key;

	if (!page_key_of(last->key, &key) || !page_key_of(next->key, &next_key) ||
	    !page_key_of(first->key, &first_key))
		return false;
	if (key.length != next_key.length || strncmp(key.name, next_key.name, key.length) != 0 ||
	    next_key.page != key.page + 1 || !first->before != !next->before)
		return false;
	page_words_of(last->after, &a);
	page_words_of(next->after, &b);
	if (!same_words(&a, &b))
		return false;
	if (first->before) {
		page_words_of(first->before, &before_a);
		page_words_of(next->before, &before_b);
		if (!same_words(&before_a, &before_b))
			return false;
	}
	if (a.frame) {
		int step = (int)b.frame - (int)a.frame;

		if (step < 0 || step > 1 || (key.page > first_key.page && step != *frame_step))
			return false;
		*frame_step = step;
	}
	return true;
}

/* Of what it was, only what is not the same any more, and never the frame's number. */
static void print_before(const struct page_words *old, const struct page_words *new)
{
	bool same_content = old->frame && new->frame && same_word(old, new, old->nr - 1);

	for (unsigned int i = 0; i < old->nr; i++)
		if (!(old->frame && i == 2) && !(same_content && i == old->nr - 1))
			printf(" %.*s", old->length[i], old->at[i]);
	fputs(" ->", stdout);
}

static unsigned int print_pages(const struct changes *changes, unsigned int from)
{
	const struct change *first = &changes->list[from];
	struct page_words old, new, last;
	unsigned int to = from;
	struct page_key key;
	int step = 0;

	while (to + 1 < changes->nr && alike(first, &changes->list[to], &changes->list[to + 1], &step))
		to++;
	(void)page_key_of(first->key, &key);
	page_words_of(first->after, &new);
	page_words_of(changes->list[to].after, &last);
	printf(INDENT "%.*s%" PRIu64, (int)key.length, key.name, key.page);
	if (to > from)
		printf("..%" PRIu64, key.page + (to - from));
	putchar(']');
	if (first->before) {
		page_words_of(first->before, &old);
		print_before(&old, &new);
	}
	for (unsigned int i = 0; i < new.nr; i++) {
		printf(" %.*s", new.length[i], new.at[i]);
		if (i == 2 && new.frame && last.frame != new.frame)
			printf("..%u", last.frame);
	}
	putchar('\n');
	return to + 1;
}

static bool print_step(const struct steps *steps, const struct observation *o)
{
	const char *outcome = observation_find(o, "outcome");
	struct changes changes;

	progress_line("%s", "");
	printf("  %4u  %s", o->line, observation_text(o));
	if (outcome && strcmp(outcome, "0") != 0)
		printf("   => %s", strncmp(outcome, "0 ", 2) ? outcome : outcome + 2);
	putchar('\n');
	if (o->brief)
		return true;
	if (!find_changes(steps, o, &changes))
		return false;
	for (unsigned int i = 0; i < changes.nr;)
		i = is_page(&changes.list[i]) ? print_pages(&changes, i) : print_figures(&changes, i);
	free(changes.list);
	fflush(stdout);
	return true;
}

/* ---- For programs ---- */

static void add_json(struct steps *steps, const struct observation *o)
{
	struct json_object *step = json_object_new_object(), *list = json_object_new_object();
	struct observation_difference d;
	uint32_t at = 0;

	json_add_number(step, "operation", o->operation);
	json_add_number(step, "line", o->line);
	json_add_text(step, "text", observation_text(o));
	json_add_text(step, "outcome", observation_find(o, "outcome"));
	while (!o->brief && observation_changed(&steps->last, o, &at, &d)) {
		struct json_object *pair;

		if (!strcmp(d.key, "outcome"))
			continue;
		pair = json_object_new_array_ext(2);
		json_object_array_add(pair, d.a ? json_object_new_string(d.a) : NULL);
		json_object_array_add(pair, json_object_new_string(d.b));
		json_object_object_add(list, d.key, pair);
	}
	json_object_object_add(step, "changes", list);
	json_object_array_add(steps->list, step);
}

bool steps_observe(void *arg, const struct observation *o)
{
	struct steps *steps = arg;
	bool good = true;

	switch (steps->form) {
	case STEPS_LINES:
		steps->err = observe_write(&steps->writer, o);
		return steps->err;
	case STEPS_JSON:
		add_json(steps, o);
		break;
	case STEPS_PEOPLE:
		good = print_step(steps, o);
		break;
	case STEPS_NONE:
		return false;
	}
	if (good && (o->brief || !observation_copy(&steps->last, o)))
		return false;
	steps->err = -ENOMEM;
	return true;
}
