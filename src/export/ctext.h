/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * C text that grows. A failure to grow is remembered, so that whoever writes
 * asks once, at the end; what is written after it is lost.
 *
 * Also what must be known of C's lexis to write it safely: how text becomes a
 * comment or a string, which words may not name a variable, and where in a text
 * the identifiers are.
 *
 *	ctext_init(&t, mem);
 *	ctext_put(&t, "%s + %d", name, 4);
 *	if (!t.err)
 *		fwrite(ctext_string(&t), 1, t.bytes, f);
 *	ctext_destroy(&t);
 *
 * Locking: none; one thread.
 */
#ifndef SP_CTEXT_H
#define SP_CTEXT_H

#include "mem.h"

struct ctext {
	struct mem *mem;
	char *data;     /* ends with a NUL that does not count; NULL while there is nothing */
	size_t bytes, room;
	int err;        /* 0, or -ENOMEM */
};

void ctext_init(struct ctext *t, struct mem *mem);
void ctext_destroy(struct ctext *t);
void ctext_clear(struct ctext *t);
const char *ctext_string(const struct ctext *t); /* never NULL */
void ctext_add(struct ctext *t, const char *data, size_t bytes);
void ctext_put(struct ctext *t, const char *fmt, ...) SP_PRINTF(2, 3);
/* As a string literal, with its quotes. */
void ctext_put_literal(struct ctext *t, const char *data, size_t bytes);
/* As part of a comment: without what would end it, or begin another. */
void ctext_put_comment(struct ctext *t, const char *data, size_t bytes);
/*
 * As one statement, declaration or condition with so many tabs in front: lines that would be longer
 * than 100 columns are broken behind a comma or before an operator.
 */
void ctext_put_code(struct ctext *t, unsigned int depth, const char *code);

/*
 * The next identifier that is none of a member, in a comment or in a literal; its length, and *at behind
 * it. 0 at the end.
 */
size_t ctext_next_identifier(const char **at, const char *end, const char **ret);
/* A word of C, a macro of the headers that a reproducer includes, or one of the implementation's. */
bool ctext_is_taken(const char *name, size_t length);

#endif
