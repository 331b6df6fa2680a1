/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each operation of a run changed, of what is to be seen (observe.h): printed for people
 * while it happens, collected as JSON, or written as lines for another samepage.
 *
 *	steps_init(&steps, STEPS_PEOPLE, stdout);
 *	options.observe = steps_observe;
 *	options.observe_arg = &steps;
 *	err = scenario_run(...);
 *	steps_destroy(&steps);
 *
 * For people, pages that changed alike are one line, and a frame's number is a change only when
 * another page has that frame as well, or no longer has.
 *
 * Locks: none; one thread.
 */
#ifndef SP_STEPS_H
#define SP_STEPS_H

#include <json-c/json.h>

#include "observe_text.h"

enum steps_form { STEPS_NONE, STEPS_PEOPLE, STEPS_JSON, STEPS_LINES };

struct steps {
	enum steps_form form;
	struct mem mem;
	struct observation last;
	struct observe_writer writer;
	struct json_object *list; /* the caller's to put, if it takes it */
	int err;                  /* why the observer ended the run; 0 */
};

/* Lines go to `lines`, whose end is the caller's. */
void steps_init(struct steps *steps, enum steps_form form, FILE *lines);
void steps_destroy(struct steps *steps);
bool steps_observe(void *arg, const struct observation *o);

#endif
