/* SPDX-License-Identifier: GPL-2.0-only */
/* What a scenario says about itself, for those who run it or report on it; see scenario.h. */
#include <string.h>

#include "ast.h"

const char *scenario_path(const struct scenario *sc)
{
	return sc->path;
}

const char *scenario_title(const struct scenario *sc)
{
	return sc->title;
}

bool scenario_is_broken(const struct scenario *sc, enum sp_strategy strategy, const char **why)
{
	if (why)
		*why = sc->why[strategy];
	return sc->broken & (1u << strategy);
}

bool scenario_linux_misses(const struct scenario *sc, const char **why)
{
	if (why)
		*why = sc->why_linux;
	return sc->broken_linux;
}

const struct scenario_need *scenario_lacks(const struct scenario *sc, uint32_t version)
{
	for (const struct scenario_need *need = sc->needs; need; need = need->next)
		if (!linux_range_has(&need->kernels, version))
			return need;
	return NULL;
}

const struct scenario_need *scenario_kills(const struct scenario *sc, uint32_t version)
{
	return sc->kills && linux_range_has(&sc->kills->kernels, version) ? sc->kills : NULL;
}

bool scenario_is_deadly(const struct scenario *sc)
{
	return sc->kills;
}

const struct scenario_difference *scenario_differences(const struct scenario *sc)
{
	return sc->differences;
}

bool scenario_differs(const struct scenario *sc, uint32_t version, const char **why)
{
	for (const struct scenario_difference *d = sc->differences; d; d = d->next)
		if (linux_range_has(&d->kernels, version)) {
			if (why)
				*why = d->why;
			return true;
		}
	if (why)
		*why = "";
	return false;
}

/* The whole, or what stands after a '.', ':' or blank. */
static bool key_is(const char *key, const char *text)
{
	size_t length = strlen(key), part = strlen(text);

	if (part > length || strcmp(key + length - part, text))
		return false;
	return part == length || strchr(".: ", key[length - part - 1]);
}

bool scenario_difference_covers(const struct scenario_difference *d, uint32_t version, const char *key)
{
	if (!linux_range_has(&d->kernels, version))
		return false;
	for (const struct scenario_key *k = d->keys; k; k = k->next)
		if (key_is(key, k->text))
			return true;
	return !d->keys;
}
