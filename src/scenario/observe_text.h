/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Observations as lines, so that they can leave a guest one by one: each as what has changed since
 * the one before. Whoever reads them has the whole ones again.
 *
 *	@ 3 12 full a: fill x 7		operation, line, full or brief, text
 *	= a:x[0] present anon f1 0x07	a key that is new or has another value
 *	- b:x[0]			one that is gone
 *	;				the end of this observation
 *
 * A guest that dies leaves the last one without its end; it is not read. After a brief one,
 * changes are counted from the last full one.
 *
 *	observe_writer_init(&w, &mem, stdout);
 *	err = observe_write(&w, o);	// as an observer
 *	observe_writer_destroy(&w);
 *
 *	observe_reader_init(&r, &mem, text);
 *	while ((err = observe_read(&r)) > 0)
 *		... r.now
 *	r.at				// the first line that belongs to no observation
 *	observe_reader_destroy(&r);
 *
 * Locking: none; one thread.
 */
#ifndef SP_OBSERVE_TEXT_H
#define SP_OBSERVE_TEXT_H

#include <stdio.h>

#include "observe.h"

struct observe_writer {
	FILE *out;
	struct observation last; /* full */
};

void observe_writer_init(struct observe_writer *w, struct mem *mem, FILE *out);
void observe_writer_destroy(struct observe_writer *w);
/* Flushed: what is written when the machine dies has left it. */
int observe_write(struct observe_writer *w, const struct observation *o) SP_MUST_CHECK;

struct observe_reader {
	char *at;                      /* of the text, which reading cuts */
	const struct observation *now; /* the last one that was read */
	struct observation full, brief;
};

/* The text must live as long as the reader, and may be changed. */
void observe_reader_init(struct observe_reader *r, struct mem *mem, char *text);
void observe_reader_destroy(struct observe_reader *r);
/* 1 and r->now; 0 when no whole observation comes next; -EPROTO, -ENOMEM. */
int observe_read(struct observe_reader *r) SP_MUST_CHECK;

#endif
