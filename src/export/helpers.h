/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The helpers of a reproducer, of which it gets only those that it uses.
 *
 * They are C (repro_*.c.in), built into the command as text. Lines that begin
 * with two slashes and a sign are not C, and steer what becomes of the rest:
 *
 *	//@ NAME...	a section begins; it is used when one of its names is.
 *			Without names it always is
 *	//% NAME	here stands a part that the exporter makes
 *	//! NAME...	names that sections use of others, so that no variable may have them
 *	CODE	//?NAME	a line that is left out unless the name is used
 *
 * A name is used when it stands, as an identifier, in the scenario's code or in
 * a section that is used; or when the exporter says so. Thus no list of what
 * needs what can become wrong.
 *
 * Locking: none; one thread.
 */
#ifndef SP_HELPERS_H
#define SP_HELPERS_H

#include "ctext.h"

#define HELPERS_PARTS(X) \
	X(head)          \
	X(windows)       \
	X(next_window)   \
	X(bases)         \
	X(scenario)      \
	X(needs)         \
	X(map_limit)     \
	X(first_movable)

struct helpers_parts {
#define HELPERS_PART(name) const char *name;
	HELPERS_PARTS(HELPERS_PART)
#undef HELPERS_PART
};

struct helper_key {
	const char *text;
	size_t length;
	bool used;
};

struct helpers {
	struct mem *mem;
	struct helper_key *keys;
	size_t nr, room;
};

int helpers_init(struct helpers *h, struct mem *mem) SP_MUST_CHECK;
void helpers_destroy(struct helpers *h);
/* One of the names above has this text. */
bool helpers_has(const struct helpers *h, const char *name, size_t length);
/* It is used, whatever stands in the code. */
void helpers_use(struct helpers *h, const char *name);
bool helpers_is_used(const struct helpers *h, const char *name);
void helpers_write(struct helpers *h, const struct helpers_parts *parts, struct ctext *out);

#endif
