/* SPDX-License-Identifier: GPL-2.0-only */
/* Sequences compared in guests; see on_guests.h. */
#include "on_guests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "initramfs.h"
#include "qemu.h"

/* So long that a boot does not weigh much, so short that guests end together. */
#define BATCH_MAX 2000
#define BATCH_MIN 50
/* Batches that any number of guests shares evenly enough. */
#define BATCHES 16
#define NS_PER_S UINT64_C(1000000000)
/* Nothing was heard for so long: longer than the backend's own patience with a process. */
#define SILENCE_NS (180 * NS_PER_S)
#define BOOT_NS	   (120 * NS_PER_S)
#define CONSOLE_LINES 25
/* Guests that end before their first sequence; one that has compared some counts anew. */
#define STARTS_MAX 3

struct range {
	uint64_t first, end;
};

struct slot {
	struct qemu vm;
	bool used;
	struct range range;
	uint64_t at;	/* the sequence it is at, or the next one */
	bool inside;	/* it has begun */
	bool shrinking; /* was compared, differs, and is being shrunk */
	bool unfit;	/* said that it cannot compare ... */
	bool again;	/* ... and is to be tried once more at `at` */
	bool any;	/* has compared something */
	uint64_t heard_ns;
};

struct on_guests {
	struct lab *lab;
	const struct on_guests_options *o;
	struct compared *report;
	struct slot slots[ON_GUESTS_JOBS_MAX];
	struct range again[ON_GUESTS_JOBS_MAX]; /* what guests that ended left; nr_again of them */
	unsigned int nr_again;
	uint64_t next, batch;
	uint64_t begin_ns;
	uint64_t tried_twice; /* a sequence number + 1 */
	unsigned int nr_failed_starts;
	bool stop;
};

/* ---- Starting ------------------------------------------------------------------------- */

static bool take_range(struct on_guests *g, struct range *ret)
{
	const struct on_guests_options *o = g->o;

	if (g->nr_again) {
		*ret = g->again[--g->nr_again];
		return true;
	}
	if (o->nr && g->next >= o->nr)
		return false;
	ret->first = g->next;
	ret->end = g->next + g->batch;
	if (o->nr)
		ret->end = MIN(ret->end, o->nr);
	g->next = ret->end;
	return true;
}

static int boot(struct on_guests *g, struct slot *slot)
{
	char seed[24], first[24], runs[24], depth[16], tries[16];
	const char *const argv[] = {"samepage", "check",   "--on",   "kernel",	"--here",
				    "--events", "--seed",  seed,     "--first-sequence", first,
				    "--runs",	runs,	   "--depth", depth,	"--tries",
				    tries,	NULL};
	struct initramfs_spec image = {.kernel = g->o->kernel, .argv = argv};
	struct qemu_spec spec = {.kernel = g->o->kernel, .limit_ns = UINT64_MAX};
	int err;

	snprintf(seed, sizeof(seed), "%" PRIu64, g->o->seed);
	snprintf(first, sizeof(first), "%" PRIu64, slot->range.first);
	snprintf(runs, sizeof(runs), "%" PRIu64, slot->range.end - slot->range.first);
	snprintf(depth, sizeof(depth), "%u", g->o->depth);
	snprintf(tries, sizeof(tries), "%u", g->o->nr_tries);
	err = initramfs_build(g->lab, &image, &spec.initramfs);
	if (err)
		return err;
	err = qemu_start(g->lab, &slot->vm, &spec);
	close(spec.initramfs);
	if (err)
		return err;
	g->report->nr_boots++;
	slot->used = true;
	slot->at = slot->range.first;
	slot->inside = slot->shrinking = slot->unfit = slot->again = slot->any = false;
	slot->heard_ns = clock_measure_ns();
	return 0;
}

static int fill_slots(struct on_guests *g)
{
	for (unsigned int i = 0; i < g->o->nr_jobs && !g->stop; i++) {
		struct slot *slot = &g->slots[i];
		int err;

		if (slot->used || !take_range(g, &slot->range))
			continue;
		err = boot(g, slot);
		if (err)
			return err;
	}
	return 0;
}

/* ---- Listening ---------------------------------------------------------------------------- */

static int on_event(struct on_guests *g, struct slot *slot, const struct on_kernel_event *e)
{
	slot->at = e->number;
	switch (e->kind) {
	case 's':
		slot->inside = true;
		break;
	case 'd':
		g->nr_failed_starts = 0;
		slot->inside = false;
		slot->any = true;
		slot->at++;
		break;
	case 'l':
		slot->at++;
		break;
	case 'f':
		slot->shrinking = g->o->nr_tries;
		slot->at++;
		break;
	case 'm':
		slot->shrinking = false;
		slot->at++;
		break;
	case 't':
		slot->shrinking = true;
		slot->at++;
		break;
	case 'c':
		slot->unfit = true;
		/* What was being shrunk has been compared. */
		if (slot->shrinking) {
			slot->at++;
			return 0;
		}
		/* It is tried again, and counts then. */
		slot->again = slot->any && g->tried_twice != e->number + 1;
		if (slot->again)
			return 0;
		break;
	default:
		break;
	}
	return compared_add(g->report, e);
}

/* The lines that are complete. */
static int listen_to(struct on_guests *g, struct slot *slot)
{
	struct text *output = &slot->vm.output;
	size_t used = 0;
	char *newline;
	int err = 0;

	while (!err && used < output->bytes &&
	       (newline = memchr(output->data + used, '\n', output->bytes - used))) {
		struct on_kernel_event e;

		*newline = '\0';
		if (event_parse(output->data + used, &e))
			err = on_event(g, slot, &e);
		used = (size_t)(newline - output->data) + 1;
		slot->heard_ns = clock_measure_ns();
	}
	text_drop(output, used);
	return err;
}

/* ---- Ends ----------------------------------------------------------------------------------- */

static char *console_text(const struct qemu *vm)
{
	struct console_part parts[2];
	unsigned int nr = console_excerpt(text_string(&vm->console), CONSOLE_LINES, parts);
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	for (unsigned int i = 0; i < nr; i++) {
		for (size_t at = 0; at < parts[i].bytes; at++)
			if (parts[i].text[at] != '\r')
				fputc(parts[i].text[at], to);
		fputc('\n', to);
	}
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* As it was made, since it cannot be tried here. */
static char *sequence_text(const struct on_guests *g, uint64_t number)
{
	struct kernel_text text = {0};
	struct sequence s;
	struct trial *t;

	if (trial_create(&t))
		return NULL;
	if (kernel_sequence_make(t, g->o->seed, number, g->o->depth, &s) ||
	    kernel_sequence_tell(t, &s, "", &text))
		text.text = NULL;
	trial_destroy(t);
	return text.text;
}

static int note_end(struct on_guests *g, const struct slot *slot, uint64_t sequence,
		    const char *how)
{
	struct compared_end *end;
	int err = compared_add_end(g->report, sequence, &end);

	if (err)
		return err;
	end->how = how;
	if (slot->vm.end == GUEST_done)
		snprintf(end->why, sizeof(end->why), "the command was killed by signal %d",
			 -slot->vm.exit_status);
	else
		snprintf(end->why, sizeof(end->why), "%.255s", slot->vm.why);
	end->console = console_text(&slot->vm);
	end->text = sequence_text(g, sequence);
	g->stop |= g->report->nr_ends >= ON_GUESTS_ENDS_MAX;
	return end->console && end->text ? 0 : -ENOMEM;
}

/* NULL: it goes on, or has done its work. */
static const char *bad_end(const struct slot *slot, uint64_t now)
{
	const struct qemu *vm = &slot->vm;

	if (vm->nr_complaints)
		return vm->end == GUEST_died ? "died" : "complained";
	if (vm->pid)
		return now - slot->heard_ns > (vm->booted_ns ? SILENCE_NS : BOOT_NS) ? "hung" : NULL;
	if (vm->end == GUEST_done && vm->exit_status >= 0)
		return NULL;
	return vm->end == GUEST_hung ? "hung" : "died";
}

static void leave(struct on_guests *g, struct slot *slot, uint64_t first)
{
	if (first < slot->range.end && g->nr_again < ARRAY_SIZE(g->again))
		g->again[g->nr_again++] = (struct range){first, slot->range.end};
	qemu_destroy(&slot->vm);
	slot->used = false;
}

/*
 * Before the first sequence: it is not a sequence that it died of. What a host without time does to
 * a boot, it may not do to the next one.
 */
static int fail_to_start(struct on_guests *g, struct slot *slot, const char *how)
{
	char *console;

	if (slot->vm.end == GUEST_unfit)
		return lab_fail(g->lab, -ENODEV, "%s: %s", g->o->kernel->name, slot->vm.why);
	if (++g->nr_failed_starts < STARTS_MAX) {
		leave(g, slot, slot->range.first);
		return 0;
	}
	console = console_text(&slot->vm);
	(void)lab_fail(g->lab, -EIO, "%s: the guest %s before it came to its work%s%.300s%s%.200s\n%.400s",
		       g->o->kernel->name, how, *slot->vm.why ? ": " : "", slot->vm.why,
		       slot->vm.errors.bytes ? ": " : "", text_string(&slot->vm.errors),
		       console ? console : "");
	free(console);
	return -EIO;
}

static int close_slot(struct on_guests *g, struct slot *slot, const char *how)
{
	uint64_t at = slot->at;
	int err;

	if (how) {
		if (!slot->inside && !slot->any && !slot->shrinking)
			return fail_to_start(g, slot, how);
		/* While it shrank one, or between two, it was the last one's doing. */
		if (!slot->inside)
			at--;
		err = note_end(g, slot, at, how);
		leave(g, slot, at + 1);
		return err;
	}
	if (slot->unfit) {
		/* A guest that never could will not the next time either. */
		g->stop |= !slot->any && g->tried_twice != at + 1;
		if (slot->again)
			g->tried_twice = at + 1;
		leave(g, slot, slot->again || slot->shrinking ? at : at + 1);
		return 0;
	}
	if (at < slot->range.end) {
		snprintf(slot->vm.why, sizeof(slot->vm.why), "its command, with status %d",
			 slot->vm.exit_status);
		return fail_to_start(g, slot, "ended");
	}
	leave(g, slot, slot->range.end);
	return 0;
}

/* ---- All of it -------------------------------------------------------------------------------- */

static unsigned int watch(struct on_guests *g)
{
	struct qemu *vms[ON_GUESTS_JOBS_MAX];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < g->o->nr_jobs; i++)
		if (g->slots[i].used)
			vms[nr++] = &g->slots[i].vm;
	if (nr)
		(void)qemu_watch(vms, nr, 100);
	return nr;
}

static void show(const struct on_guests *g)
{
	const struct on_guests_options *o = g->o;
	struct on_guests_progress p = {.report = g->report,
				       .elapsed_ns = clock_measure_ns() - g->begin_ns};
	double by_time = o->time_ns ? (double)p.elapsed_ns / (double)o->time_ns : 0;
	double by_number = o->nr ? (double)g->report->nr_sequences / (double)o->nr : 0;

	for (unsigned int i = 0; i < o->nr_jobs; i++) {
		const struct slot *slot = &g->slots[i];

		p.nr_running += slot->used;
		p.nr_booting += slot->used && !slot->vm.booted_ns;
		p.nr_shrinking += slot->used && slot->shrinking;
	}
	p.fraction = MIN(MAX(by_time, by_number), 1.0);
	if (o->progress)
		o->progress(o->progress_arg, &p);
}

static int look_after(struct on_guests *g)
{
	for (unsigned int i = 0; i < g->o->nr_jobs; i++) {
		struct slot *slot = &g->slots[i];
		const char *how;
		int err;

		if (!slot->used)
			continue;
		if (!*g->report->release && *slot->vm.release)
			snprintf(g->report->release, sizeof(g->report->release), "%s", slot->vm.release);
		err = listen_to(g, slot);
		if (err)
			return err;
		how = bad_end(slot, clock_measure_ns());
		if (!how && slot->vm.pid)
			continue;
		err = close_slot(g, slot, how);
		if (err)
			return err;
	}
	return 0;
}

int on_guests_run(struct lab *lab, const struct on_guests_options *o, struct compared *report)
{
	struct on_guests *g = calloc(1, sizeof(*g));
	int err = 0;

	if (!g)
		return lab_fail(lab, -ENOMEM, "out of memory");
	g->lab = lab;
	g->o = o;
	g->report = report;
	g->begin_ns = clock_measure_ns();
	g->batch = o->nr ? MIN(MAX((o->nr + BATCHES - 1) / BATCHES, (uint64_t)BATCH_MIN),
			       (uint64_t)BATCH_MAX)
			 : BATCH_MAX;
	while (!err && !g->stop) {
		report->interrupted = lab_stopped(lab);
		report->out_of_time = o->time_ns && clock_measure_ns() - g->begin_ns >= o->time_ns;
		if (report->interrupted || report->out_of_time)
			break;
		err = fill_slots(g);
		if (err || !watch(g))
			break;
		err = look_after(g);
		show(g);
	}
	for (unsigned int i = 0; i < o->nr_jobs; i++)
		if (g->slots[i].used)
			qemu_destroy(&g->slots[i].vm);
	report->elapsed_ns = clock_measure_ns() - g->begin_ns;
	compared_sort(report);
	if (err == -ENOMEM)
		(void)lab_fail(lab, err, "out of memory");
	free(g);
	return err;
}
