/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scenarios on kernels: which guest runs which files, and what it said of each; see diff.h.
 *
 * One guest runs all files, one after the other. When it dies or falls silent, the file that it
 * was at is told so, and another guest goes on with the next one: a kernel that dies of one file
 * says nothing about the others. A guest that does not even come to its first file is not
 * followed by another.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "diff.h"
#include "initramfs.h"

#define GUESTS_AT_ONCE 2

/* A guest, and the files that it was given, by their numbers. */
struct diff_guest {
	struct diff_guest *next;
	struct qemu vm;
	unsigned int side;
	unsigned int *files, nr_files, nr_begun;
	size_t nr_heard;     /* bytes of output, when it was last given more time */
	size_t nr_read;      /* bytes of whole lines that were read */
	size_t begin;        /* where the text of the last file that has begun is */
	bool in_file;        /* it has not ended */
};

/* ---- Starting ---- */

struct image {
	struct initramfs_file *files;
	char (*names)[PATH_MAX];
	const char **argv;
	unsigned int nr;
};

static void image_free(struct image *image)
{
	free(image->files);
	free(image->names);
	free(image->argv);
}

static bool image_make(struct image *image, const struct diff *diff, const struct diff_guest *g)
{
	static const char *const words[] = {"samepage", "run", "--on", "kernel", "--steps=lines", "--"};

	*image = (struct image){.files = calloc(g->nr_files, sizeof(*image->files)),
				.names = calloc(g->nr_files, sizeof(*image->names)),
				.argv = calloc(g->nr_files + ARRAY_SIZE(words) + 1, sizeof(*image->argv))};
	if (!image->files || !image->names || !image->argv)
		return false;
	memcpy(image->argv, words, sizeof(words));
	for (unsigned int i = 0; i < g->nr_files; i++) {
		initramfs_place(diff->files[g->files[i]].path, i, &image->files[i], image->names[i],
				sizeof(*image->names));
		image->argv[ARRAY_SIZE(words) + i] = image->names[i];
	}
	return true;
}

static int boot(struct lab *lab, const struct diff *diff, struct diff_guest *g)
{
	const struct cached_kernel *kernel = &diff->kernels.list[g->side - 1];
	struct qemu_spec spec = {.kernel = kernel, .limit_ns = diff->silence_ns, .append = diff->append};
	struct initramfs_spec initramfs = {.kernel = kernel, .nr_files = g->nr_files};
	struct image image;
	int err = image_make(&image, diff, g) ? 0 : lab_fail(lab, -ENOMEM, "out of memory");

	initramfs.argv = image.argv;
	initramfs.files = image.files;
	if (!err)
		err = initramfs_build(lab, &initramfs, &spec.initramfs);
	image_free(&image);
	if (err)
		return err;
	err = qemu_start(lab, &g->vm, &spec);
	close(spec.initramfs);
	return err;
}

/* With the files from `from` on that are for this kernel. NULL, and no error, when there are none. */
static struct diff_guest *add_guest(struct diff *diff, unsigned int side, unsigned int from)
{
	struct diff_guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->side = side;
	g->files = calloc(diff->nr_files, sizeof(*g->files));
	if (!g->files) {
		free(g);
		return NULL;
	}
	for (unsigned int i = from; i < diff->nr_files; i++)
		if (diff->files[i].sides[side].verdict != DIFF_LACKS)
			g->files[g->nr_files++] = i;
	g->next = diff->guests;
	diff->guests = g;
	return g;
}

/* ---- What it said ---- */

/* Behind the newline of the line at `at`; NULL when it has none yet. */
static const char *line_end(const char *at)
{
	const char *newline = strchr(at, '\n');

	return newline ? newline + 1 : NULL;
}

static struct diff_side *side_of(struct diff *diff, const struct diff_guest *g, unsigned int i)
{
	return &diff->files[g->files[i]].sides[g->side];
}

static bool take_file(struct diff *diff, struct diff_guest *g, const char *from, size_t bytes)
{
	struct diff_side *side = side_of(diff, g, g->nr_begun - 1);

	side->text = strndup(from, bytes);
	if (!side->text)
		return false;
	side->guest = &g->vm;
	diff_take_text(side);
	return true;
}

/* What it said since the last time: beginnings ("# FILE"), and files that have ended (". ..."). */
static bool take_output(struct diff *diff, struct diff_guest *g)
{
	const char *text = text_string(&g->vm.output), *at = text + g->nr_read, *end;

	for (; (end = line_end(at)); at = end) {
		if (*at == '#' && g->nr_begun < g->nr_files) {
			g->nr_begun++;
			g->begin = (size_t)(end - text);
			g->in_file = true;
		} else if (*at == '.' && g->in_file) {
			if (!take_file(diff, g, text + g->begin, (size_t)(end - text) - g->begin))
				return false;
			side_of(diff, g, g->nr_begun - 1)->settled = true;
			g->in_file = false;
		}
	}
	g->nr_read = (size_t)(at - text);
	return true;
}

static void tell_end(struct diff_side *side, struct qemu *vm, enum diff_verdict verdict)
{
	side->verdict = verdict;
	side->settled = true;
	side->guest = vm;
	if (vm->end == GUEST_done)
		snprintf(side->why, sizeof(side->why), "samepage ended in the guest (status %d)%s%.400s",
			 vm->exit_status, vm->errors.bytes ? ": " : "", text_string(&vm->errors));
	else
		snprintf(side->why, sizeof(side->why), "the guest %s%s: %.400s",
			 vm->end == GUEST_unfit ? "is " : "", guest_end_name(vm->end), vm->why);
	side->why[strcspn(side->why, "\n")] = '\0';
}

/* Another guest can go on where this one ended. */
static bool is_followed(const struct diff_guest *g)
{
	return g->nr_begun && g->nr_begun < g->nr_files && g->vm.end != GUEST_unfit;
}

/* It is gone. The file that it was at is told, and those after it if nobody will run them. */
static bool take_end(struct diff *diff, struct diff_guest *g)
{
	if (!take_output(diff, g))
		return false;
	if (g->in_file) {
		if (!take_file(diff, g, text_string(&g->vm.output) + g->begin, g->vm.output.bytes - g->begin))
			return false;
		tell_end(side_of(diff, g, g->nr_begun - 1), &g->vm, DIFF_DIED);
	}
	for (unsigned int i = g->nr_begun; i < g->nr_files && !is_followed(g); i++)
		tell_end(side_of(diff, g, i), &g->vm, DIFF_LOST);
	return true;
}

/* ---- All of them ---- */

/* A guest may take as long as it likes, if it says something from time to time. */
static void extend(const struct diff *diff, struct diff_guest *g)
{
	if (g->vm.output.bytes == g->nr_heard)
		return;
	g->nr_heard = g->vm.output.bytes;
	g->vm.limit_ns = clock_measure_ns() - g->vm.start_ns + diff->silence_ns;
}

static void show(const struct diff *diff, struct diff_guest *const *running)
{
	char text[256] = "";
	size_t at = 0;

	for (unsigned int i = 0; i < GUESTS_AT_ONCE; i++) {
		const struct diff_guest *g = running[i];

		if (!g || at >= sizeof(text))
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s: %u of %u files, %.0f s",
				       at ? "; " : "", diff->kernels.list[g->side - 1].name, g->nr_begun,
				       g->nr_files, (double)(clock_measure_ns() - g->vm.start_ns) / 1e9);
	}
	progress_line("diff: %s", text);
}

/* The next guest for a slot: this kernel's next one, or the next kernel's first. */
static int next_guest(struct diff *diff, struct lab *lab, struct diff_guest **slot, unsigned int *side)
{
	struct diff_guest *old = *slot;
	unsigned int from = diff->nr_files;

	*slot = NULL;
	if (old && is_followed(old))
		from = old->files[old->nr_begun];
	for (;;) {
		if (from < diff->nr_files) {
			struct diff_guest *g = add_guest(diff, old->side, from);

			if (!g)
				return lab_fail(lab, -ENOMEM, "out of memory");
			if (g->nr_files) {
				*slot = g;
				return boot(lab, diff, g);
			}
		}
		if (*side == diff->nr_sides)
			return 0;
		old = add_guest(diff, (*side)++, 0);
		if (!old)
			return lab_fail(lab, -ENOMEM, "out of memory");
		if (!old->nr_files) {
			from = diff->nr_files;
			continue;
		}
		*slot = old;
		return boot(lab, diff, old);
	}
}

/* Files of which nothing more will come, in their order. */
static bool report_settled(struct diff *diff, bool (*report)(struct diff *, struct diff_file *))
{
	for (; diff->nr_reported < diff->nr_files; diff->nr_reported++) {
		struct diff_file *file = &diff->files[diff->nr_reported];

		for (unsigned int side = 1; side < diff->nr_sides; side++)
			if (!file->sides[side].settled)
				return true;
		progress_line("%s", "");
		if (!report(diff, file))
			return false;
	}
	return true;
}

/* One slot: what came of its guest, and another one when that has ended. */
static int look_after(struct diff *diff, struct lab *lab, struct diff_guest **slot, unsigned int *side)
{
	struct diff_guest *g = *slot;

	if (g && g->vm.pid) {
		extend(diff, g);
		return take_output(diff, g) ? 0 : lab_fail(lab, -ENOMEM, "out of memory");
	}
	if (g && !take_end(diff, g))
		return lab_fail(lab, -ENOMEM, "out of memory");
	return next_guest(diff, lab, slot, side);
}

int diff_run_guests(struct diff *diff, struct lab *lab, bool (*report)(struct diff *, struct diff_file *))
{
	struct diff_guest *running[GUESTS_AT_ONCE] = {NULL};
	unsigned int side = 1;

	for (;;) {
		struct qemu *vms[GUESTS_AT_ONCE] = {NULL};
		bool any = false;

		for (unsigned int i = 0; i < GUESTS_AT_ONCE; i++) {
			int err = look_after(diff, lab, &running[i], &side);

			if (err)
				return err;
			vms[i] = running[i] ? &running[i]->vm : NULL;
			any |= vms[i] != NULL;
		}
		if (!report_settled(diff, report))
			return lab_fail(lab, -ENOMEM, "out of memory");
		if (!any)
			break;
		show(diff, running);
		(void)qemu_watch(vms, GUESTS_AT_ONCE, 100);
		if (interrupted())
			return -EINTR;
	}
	progress_line("%s", "");
	return 0;
}

void diff_guests_destroy(struct diff *diff)
{
	while (diff->guests) {
		struct diff_guest *g = diff->guests;

		diff->guests = g->next;
		if (g->vm.mem)
			qemu_destroy(&g->vm);
		free(g->files);
		free(g);
	}
}

void diff_each_bad_guest(const struct diff *diff, void (*fn)(const struct qemu *guest))
{
	for (const struct diff_guest *g = diff->guests; g; g = g->next)
		if (g->vm.mem && (g->vm.nr_complaints || g->vm.out_of_memory ||
				  (g->vm.end != GUEST_done && g->vm.end != GUEST_running)))
			fn(&g->vm);
}
