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
	size_t nr_heard; /* bytes of output */
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

/* The line at *at, cut out; NULL when no whole one is left. */
static char *take_line(char **at)
{
	char *line = *at, *newline = line ? strchr(line, '\n') : NULL;

	if (!newline)
		return NULL;
	*newline = '\0';
	*at = newline + 1;
	return line;
}

static bool is_step(char first)
{
	return first && strchr("@=-;", first);
}

/*
 * One file's part: steps, failures ("! TEXT"), the end (". STATUS TEXT"). The text is taken as it
 * is, so that the steps are cut off by a NUL where they end.
 */
static void take_file(struct diff_side *side, char **at)
{
	char *end;

	side->begun = true;
	side->lines = *at;
	while (is_step(**at)) {
		char *newline = strchr(*at, '\n');

		/* Half a line is no step, and nothing follows it. */
		*at = newline ? newline + 1 : *at + strlen(*at);
	}
	end = *at;
	if (*end == '!') {
		side->failures = end + 2;
		while (*end == '!') {
			char *newline = strchr(end, '\n');

			if (!newline)
				return;
			end = newline + 1;
		}
		*at = end;
	}
	if (*end == '.' && (end = take_line(at))) {
		side->ended = true;
		side->status = atoi(end + 2);
		side->end = strchr(end + 2, ' ');
		side->end = side->end ? side->end + 1 : end + 1;
		*end = '\0';
	}
	/* Failures end where the end began; steps, where the failures did. */
	if (side->failures)
		side->failures[-2] = '\0';
}

/* Which of its files have begun, and what it said of each. */
static void take_output(struct diff *diff, struct diff_guest *g)
{
	char *at = g->vm.output.data;

	g->nr_begun = 0;
	while (at && *at && g->nr_begun < g->nr_files) {
		if (*at != '#') {
			if (!take_line(&at))
				break;
			continue;
		}
		if (!take_line(&at))
			break;
		take_file(&diff->files[g->files[g->nr_begun++]].sides[g->side], &at);
	}
	for (unsigned int i = 0; i < g->nr_files; i++) {
		struct diff_side *side = &diff->files[g->files[i]].sides[g->side];

		side->guest = &g->vm;
		side->verdict = DIFF_SAME;
		if (side->ended)
			continue;
		side->verdict = i < g->nr_begun ? DIFF_DIED : DIFF_LOST;
		if (g->vm.end == GUEST_done)
			snprintf(side->why, sizeof(side->why), "samepage ended in the guest (status %d)%s%.400s",
				 g->vm.exit_status, g->vm.errors.bytes ? ": " : "",
				 text_string(&g->vm.errors));
		else
			snprintf(side->why, sizeof(side->why), "the guest %s%s: %.400s",
				 g->vm.end == GUEST_unfit ? "is " : "", guest_end_name(g->vm.end), g->vm.why);
		side->why[strcspn(side->why, "\n")] = '\0';
	}
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

/* How many of its files it has begun, for those who wait. */
static unsigned int count_begun(const struct diff_guest *g)
{
	const char *at = text_string(&g->vm.output);
	unsigned int nr = *at == '#';

	while ((at = strstr(at, "\n# "))) {
		at++;
		nr++;
	}
	return nr;
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
				       at ? "; " : "", diff->kernels.list[g->side - 1].name, count_begun(g),
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
	if (old && old->vm.end != GUEST_done && old->vm.end != GUEST_unfit && old->nr_begun)
		from = old->files[old->nr_begun - 1] + 1;
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

int diff_run_guests(struct diff *diff, struct lab *lab)
{
	struct diff_guest *running[GUESTS_AT_ONCE] = {NULL};
	unsigned int side = 1;
	int err = 0;

	while (!err) {
		struct qemu *vms[GUESTS_AT_ONCE] = {NULL};
		bool any = false;

		for (unsigned int i = 0; !err && i < GUESTS_AT_ONCE; i++) {
			if (running[i] && running[i]->vm.pid)
				continue;
			if (running[i])
				take_output(diff, running[i]);
			err = next_guest(diff, lab, &running[i], &side);
		}
		for (unsigned int i = 0; i < GUESTS_AT_ONCE; i++) {
			vms[i] = running[i] ? &running[i]->vm : NULL;
			any |= vms[i] != NULL;
		}
		if (err || !any)
			break;
		(void)qemu_watch(vms, GUESTS_AT_ONCE, 100);
		for (unsigned int i = 0; i < GUESTS_AT_ONCE; i++)
			if (running[i])
				extend(diff, running[i]);
		show(diff, running);
		if (interrupted())
			err = -EINTR;
	}
	progress_line("%s", "");
	return err;
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
