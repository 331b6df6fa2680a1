/* SPDX-License-Identifier: GPL-2.0-only */
/* Observations as lists of texts: made, copied, compared; see observe.h. */
#include "observe.h"

#include <errno.h>
#include <string.h>

#define FIRST_ROOM 64
#define FIRST_WORD_ROOM 2048
/* No list of texts of a machine comes near this. */
#define WORD_ROOM_MAX (1u << 28)

void observation_init(struct observation *o, struct mem *mem)
{
	*o = (struct observation){ .mem = mem };
}

void observation_destroy(struct observation *o)
{
	mem_free(o->mem, o->list, o->room * sizeof(*o->list));
	mem_free(o->mem, o->words, o->word_room);
	observation_init(o, o->mem);
}

/* ---- Making ------------------------------------------------------------------------- */

static int make_word_room(struct observation *o, size_t bytes)
{
	uint32_t room = o->word_room ? o->word_room : FIRST_WORD_ROOM;
	char *words;

	if (bytes >= WORD_ROOM_MAX - o->nr_word_bytes)
		return -ENOMEM;
	while (room < o->nr_word_bytes + bytes)
		room *= 2;
	if (room == o->word_room)
		return 0;
	words = mem_realloc(o->mem, o->words, o->word_room, room);
	if (!words)
		return -ENOMEM;
	o->words = words;
	o->word_room = room;
	return 0;
}

static int make_room(struct observation *o, uint32_t nr)
{
	uint32_t room = o->room ? o->room : FIRST_ROOM;
	struct observed *list;

	while (room < nr)
		room *= 2;
	if (room == o->room)
		return 0;
	list = mem_realloc(o->mem, o->list, o->room * sizeof(*list), room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	o->list = list;
	o->room = room;
	return 0;
}

static int add_word(struct observation *o, const char *word, uint32_t *ret)
{
	size_t bytes = strlen(word) + 1;
	int err = make_word_room(o, bytes);

	if (err)
		return err;
	memcpy(o->words + o->nr_word_bytes, word, bytes);
	*ret = o->nr_word_bytes;
	o->nr_word_bytes += (uint32_t)bytes;
	return 0;
}

int observation_begin(struct observation *o, uint64_t operation, uint32_t line, const char *text)
{
	o->operation = operation;
	o->line = line;
	o->brief = false;
	o->nr = 0;
	o->nr_word_bytes = 0;
	return add_word(o, text, &o->text);
}

/* Texts that were replaced stay where they are; from time to time, only the others are kept. */
static int drop_old_words(struct observation *o)
{
	struct observation fresh;
	int err;

	observation_init(&fresh, o->mem);
	err = observation_begin(&fresh, o->operation, o->line, "");
	for (uint32_t i = 0; !err && i < o->nr; i++)
		err = observation_add(&fresh, observation_key(o, i), observation_value(o, i));
	if (err) {
		observation_destroy(&fresh);
		return err;
	}
	fresh.live_bytes = fresh.nr_word_bytes;
	observation_destroy(o);
	*o = fresh;
	return 0;
}

int observation_go_on(struct observation *o, uint64_t operation, uint32_t line, const char *text)
{
	int err = o->nr_word_bytes > 4 * o->live_bytes + FIRST_WORD_ROOM ? drop_old_words(o) : 0;

	if (err)
		return err;
	o->operation = operation;
	o->line = line;
	return add_word(o, text, &o->text);
}

int observation_add(struct observation *o, const char *key, const char *value)
{
	struct observed observed;
	int err = make_room(o, o->nr + 1);

	if (!err)
		err = add_word(o, key, &observed.key);
	if (!err)
		err = add_word(o, value, &observed.value);
	if (!err)
		o->list[o->nr++] = observed;
	return err;
}

static bool find(const struct observation *o, const char *key, uint32_t *ret)
{
	for (uint32_t i = 0; i < o->nr; i++) {
		if (strcmp(observation_key(o, i), key))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

int observation_set(struct observation *o, const char *key, const char *value)
{
	uint32_t i, at;
	int err;

	if (!find(o, key, &i))
		return observation_add(o, key, value);
	if (strlen(value) <= strlen(observation_value(o, i))) {
		memcpy(o->words + o->list[i].value, value, strlen(value) + 1);
		return 0;
	}
	err = add_word(o, value, &at);
	if (!err)
		o->list[i].value = at;
	return err;
}

void observation_remove(struct observation *o, const char *key)
{
	uint32_t i;

	if (!find(o, key, &i))
		return;
	o->nr--;
	memmove(&o->list[i], &o->list[i + 1], (o->nr - i) * sizeof(o->list[0]));
}

int observation_copy(struct observation *to, const struct observation *from)
{
	int err;

	to->nr = 0;
	to->nr_word_bytes = 0;
	err = make_room(to, from->nr);
	if (!err)
		err = make_word_room(to, from->nr_word_bytes);
	if (err)
		return err;
	if (from->nr)
		memcpy(to->list, from->list, from->nr * sizeof(*to->list));
	if (from->nr_word_bytes)
		memcpy(to->words, from->words, from->nr_word_bytes);
	to->operation = from->operation;
	to->line = from->line;
	to->brief = from->brief;
	to->text = from->text;
	to->nr = from->nr;
	to->nr_word_bytes = from->nr_word_bytes;
	return 0;
}

const char *observation_find(const struct observation *o, const char *key)
{
	uint32_t i;

	return find(o, key, &i) ? observation_value(o, i) : NULL;
}

/* ---- Comparing ------------------------------------------------------------------------ */

static bool is_unknown(const char *word, size_t length)
{
	return length == 1 && *word == '?';
}

bool observed_agree(const char *a, const char *b)
{
	if (!strcmp(a, b) || !strcmp(a, "?") || !strcmp(b, "?"))
		return true;
	for (;;) {
		size_t na = strcspn(a, " "), nb = strcspn(b, " ");

		if (!is_unknown(a, na) && !is_unknown(b, nb) && (na != nb || memcmp(a, b, na)))
			return false;
		if (!a[na] || !b[nb])
			return !a[na] && !b[nb];
		a += na + 1;
		b += nb + 1;
	}
}

/* The value of a key that most likely stands at the same place in both. */
static const char *find_near(const struct observation *o, const char *key, uint32_t near)
{
	if (near < o->nr && !strcmp(observation_key(o, near), key))
		return observation_value(o, near);
	return observation_find(o, key);
}

bool observation_differs(const struct observation *a, const struct observation *b, uint32_t *at,
			 struct observation_difference *ret)
{
	bool whole = !a->brief && !b->brief;

	while (*at < a->nr) {
		uint32_t i = (*at)++;

		*ret = (struct observation_difference){ observation_key(a, i), observation_value(a, i), NULL };
		ret->b = find_near(b, ret->key, i);
		if (ret->b ? !observed_agree(ret->a, ret->b) : whole)
			return true;
	}
	while (whole && *at - a->nr < b->nr) {
		uint32_t i = (*at)++ - a->nr;

		*ret = (struct observation_difference){ observation_key(b, i), NULL, observation_value(b, i) };
		if (!find_near(a, ret->key, i))
			return true;
	}
	return false;
}

bool observation_changed(const struct observation *before, const struct observation *after,
			 uint32_t *at, struct observation_difference *ret)
{
	while (*at < after->nr) {
		uint32_t i = (*at)++;

		ret->key = observation_key(after, i);
		ret->b = observation_value(after, i);
		ret->a = find_near(before, ret->key, i);
		if (!ret->a || strcmp(ret->a, ret->b))
			return true;
	}
	return false;
}
