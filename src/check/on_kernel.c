/* SPDX-License-Identifier: GPL-2.0-only */
/* Sequences compared on the running kernel, one after the other; see on_kernel.h. */
#include "on_kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_session.h"
#include "shrink.h"

/* Kinds of differences that one kernel has are few; beyond, they are counted, not shrunk. */
#define MAX_GROUPS 64

struct on_kernel {
	const struct on_kernel_options *o;
	struct versus *v;
	char groups[MAX_GROUPS][sizeof(((struct versus_difference *)0)->group)];
	unsigned int nr_groups;
	bool stop;

	/* While one is shrunk: */
	uint64_t number;
	unsigned int nr_tries;
	const char *group;
	bool failed; /* the kernel can no longer be compared */
	struct versus_outcome outcome;
};

static void tell(struct on_kernel *k, const struct on_kernel_event *e)
{
	k->stop |= k->o->event(k->o->event_arg, e);
}

/* New to this run? */
static bool note_group(struct on_kernel *k, const char *group)
{
	for (unsigned int i = 0; i < k->nr_groups; i++)
		if (!strcmp(k->groups[i], group))
			return false;
	if (k->nr_groups == MAX_GROUPS)
		return false;
	snprintf(k->groups[k->nr_groups++], sizeof(k->groups[0]), "%s", group);
	return true;
}

static bool must_stop(void *arg)
{
	struct on_kernel *k = arg;

	return k->stop || k->failed || k->nr_tries >= k->o->nr_tries;
}

/* Does it still differ in the same way? 1 and the last step that counts, 0, or -ENOMEM. */
static int still_differs(void *arg, struct sequence *candidate, unsigned int *last)
{
	struct on_kernel *k = arg;
	struct versus_outcome out;
	struct on_kernel_event e = {.kind = 't', .number = k->number};
	int err;

	if (!kernel_sequence_is_fair(candidate))
		return 0;
	e.nr_tries = ++k->nr_tries;
	tell(k, &e);
	err = versus_run(k->v, candidate, &out);
	if (err)
		return err;
	if (out.kind == VERSUS_CANNOT) {
		e.kind = 'c';
		e.text = out.message;
		tell(k, &e);
		k->failed = true;
	}
	if (out.kind != VERSUS_DIFFERS || strcmp(out.difference.group, k->group) != 0)
		return 0;
	*last = out.difference.step;
	return 1;
}

static int tell_difference(struct on_kernel *k, struct sequence *s, unsigned int nr_before,
			   const struct versus_difference *d)
{
	struct on_kernel_event e = {.kind = 'm', .number = k->number, .difference = *d,
				    .nr_before = nr_before, .nr_after = s->nr};
	struct kernel_text text;
	int err = kernel_sequence_tell(versus_trial(k->v), s, "", &text);

	if (err)
		return err;
	e.text = text.text;
	tell(k, &e);
	free(text.text);
	return 0;
}

static int shrink_and_tell(struct on_kernel *k, struct sequence *s,
			   const struct versus_difference *first)
{
	struct versus_difference d = *first;
	unsigned int nr_before = s->nr;
	struct versus_outcome out;
	int err;

	sequence_remove(s, d.step + 1, s->nr - d.step - 1);
	k->group = first->group;
	k->nr_tries = 0;
	err = shrink_by(versus_trial(k->v), s, still_differs, k, must_stop, k);
	/* It does not do it again: that is told too. */
	if (err == -EINVAL || err == -EINTR)
		err = 0;
	if (err)
		return err;
	if (!k->failed && !k->stop) {
		err = versus_run(k->v, s, &out);
		if (err)
			return err;
		if (out.kind == VERSUS_DIFFERS)
			d = out.difference;
	}
	return tell_difference(k, s, nr_before, &d);
}

static int run_one(struct on_kernel *k, uint64_t number)
{
	struct on_kernel_event e = {.kind = 's', .number = number};
	struct sequence s;
	int err;

	tell(k, &e);
	k->number = number;
	err = kernel_sequence_make(versus_trial(k->v), k->o->seed, number, k->o->depth, &s);
	if (!err)
		err = versus_run(k->v, &s, &k->outcome);
	if (err)
		return err;
	if (k->outcome.kind == VERSUS_CANNOT || k->outcome.kind == VERSUS_INVALID) {
		e.kind = 'c';
		e.text = k->outcome.message;
		tell(k, &e);
		k->failed = true;
		return 0;
	}
	e.kind = 'd';
	e.nr_operations = k->outcome.nr_operations;
	memcpy(e.nr_explained, k->outcome.nr_explained, sizeof(e.nr_explained));
	tell(k, &e);
	if (k->outcome.lacks) {
		e.kind = 'l';
		e.text = k->outcome.message;
		tell(k, &e);
	}
	if (k->outcome.kind == VERSUS_AGREES)
		return 0;
	e.kind = 'f';
	e.difference = k->outcome.difference;
	tell(k, &e);
	if (note_group(k, e.difference.group))
		return shrink_and_tell(k, &s, &e.difference);
	return 0;
}

static int run_all(struct on_kernel *k)
{
	int err = 0;

	for (uint64_t i = 0; !err && !k->stop && !k->failed && i < k->o->nr; i++)
		err = run_one(k, k->o->first + i);
	return err;
}

int on_kernel_run(const struct on_kernel_options *o)
{
	struct on_kernel *k = calloc(1, sizeof(*k));
	struct kernel_session *session = NULL;
	char why[256] = "";
	int err;

	if (!k)
		return -ENOMEM;
	k->o = o;
	/* Before this process grows. */
	err = kernel_session_open(&session, why, sizeof(why));
	if (err == BACKEND_CANNOT) {
		tell(k, &(struct on_kernel_event){.kind = 'c', .number = o->first, .text = why});
		free(k);
		return 0;
	}
	if (!err)
		err = versus_create(&kernel_backend, session, &k->v);
	if (!err)
		err = run_all(k);
	versus_destroy(k->v);
	/* What could not be put back is told like what could not be compared. */
	if (kernel_session_close(session, why, sizeof(why)))
		tell(k, &(struct on_kernel_event){.kind = 'c', .number = o->first, .text = why});
	free(k);
	return err;
}
