/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Expectations on what pages contain and which frames they are in; see exec.h.
 * Nothing is faulted in by looking.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "names.h"

/* ---- Contents ----------------------------------------------------------------------- */

/* What a read would give: an untouched page of anonymous memory reads as zero. */
static int contents(struct exec *x, struct process *p, uint64_t addr, uint8_t *page)
{
	const struct backend_ops *ops = x->world.ops;
	struct sp_page_info info;
	struct sp_vma_info vma;
	int err = ops->peek(p->handle, addr, page, PAGE_SIZE);

	if (err != -ENODATA || ops->vma_find(p->handle, addr, &vma) || vma.start > addr || vma.file ||
	    ops->page_info(p->handle, addr, &info) < 0 || info.state != SP_PAGE_NONE)
		return err;
	memset(page, 0, PAGE_SIZE);
	return 0;
}

/* The first byte in which they differ, or PAGE_SIZE. */
static uint32_t first_difference(const uint8_t *a, const uint8_t *b)
{
	uint32_t i = 0;

	while (i < PAGE_SIZE && a[i] == b[i])
		i++;
	return i;
}

/* Compares one page. 1: it is as expected, 0: it is not, and that has been told. */
static int compare_page(struct exec *x, const struct stmt *s, const struct place *place, uint64_t i,
			const struct place *other, int64_t value)
{
	struct world *w = &x->world;
	struct process *p = place->process;
	uint64_t addr = place->addr + i * PAGE_SIZE;
	uint64_t there_addr = 0;
	bool unknown = unknown_pages(&p->unknown, addr, addr + PAGE_SIZE);
	uint8_t is[PAGE_SIZE], expected[PAGE_SIZE];
	char where[96], there[96] = "";
	uint32_t at;
	int err;

	if (s->content == CONTENT_UNKNOWN || unknown) {
		if (s->content == CONTENT_UNKNOWN && unknown)
			return 1;
		world_address_text(w, p, addr, where, sizeof(where));
		exec_failure(x, s, s->pos, "the contents of %s are %s", where, unknown ? "unknown" : "known");
		return 0;
	}
	err = contents(x, p, addr, is);
	if (!err && s->content == CONTENT_RANDOM)
		err = w->ops->random_page(w->backend, exec_seed(x, value), i, expected);
	else if (!err && s->content == CONTENT_SAME_AS) {
		there_addr = other->addr + i * PAGE_SIZE;
		if (unknown_pages(&other->process->unknown, there_addr, there_addr + PAGE_SIZE)) {
			world_address_text(w, other->process, there_addr, there, sizeof(there));
			exec_failure(x, s, s->pos, "the contents of %s are unknown", there);
			return 0;
		}
		err = contents(x, other->process, there_addr, expected);
	} else if (!err) {
		memset(expected, (int)value, sizeof(expected));
	}
	if (err == BACKEND_CANNOT)
		return err;
	if (err) {
		world_address_text(w, p, addr, where, sizeof(where));
		exec_failure(x, s, s->pos, "%s has no contents to compare: %s", where, errno_name(err));
		return 0;
	}
	at = first_difference(is, expected);
	if (at == PAGE_SIZE)
		return 1;
	world_address_text(w, p, addr, where, sizeof(where));
	if (s->content == CONTENT_SAME_AS)
		world_address_text(w, other->process, there_addr, there, sizeof(there));
	exec_failure(x, s, s->pos, "byte %u of %s is 0x%02x, expected 0x%02x%s%s", at, where, is[at],
		     expected[at], *there ? " as in " : "", there);
	return 0;
}

static int compare_lengths(struct exec *x, const struct stmt *s, const struct place *a,
			   const struct place *b)
{
	if (a->unsure || b->unsure || a->nr_pages == b->nr_pages)
		return 0;
	return world_fail(&x->world, s, s->range2->pos, "%s has %" PRIu64 " pages and %s has %" PRIu64 ": they cannot be compared page by page",
			  s->range->text, a->nr_pages, s->range2->text, b->nr_pages);
}

/* Both places; EXEC_DRY in the dry run. */
static int two_places(struct exec *x, const struct stmt *s, struct place *a, struct place *b)
{
	struct world *w = &x->world;
	int err = world_place(w, s, s->range, a);

	memset(b, 0, sizeof(*b));
	if (!err && s->range2) {
		err = world_place(w, s, s->range2, b);
		if (!err)
			err = compare_lengths(x, s, a, b);
	}
	if (err)
		return err;
	if (w->cannot)
		return EXEC_CANNOT;
	return world_is_dry(w) ? EXEC_DRY : 0;
}

int exec_expect_content(struct exec *x, const struct stmt *s)
{
	struct place place, other;
	int64_t value = 0;
	int ret = 1;
	int err = 0;

	if (s->value[0] && s->content == CONTENT_BYTE)
		err = exec_value(x, s, s->value[0], "a byte", 0, 255, 0, &value);
	else
		err = exec_value(x, s, s->value[0], "a seed", INT64_MIN, INT64_MAX, 0, &value);
	if (!err)
		err = two_places(x, s, &place, &other);
	if (err)
		return err;
	for (uint64_t i = 0; ret == 1 && i < place.nr_pages; i++)
		ret = compare_page(x, s, &place, i, &other, value);
	if (ret == BACKEND_CANNOT)
		return EXEC_CANNOT;
	exec_checked(x, s, ret == 1);
	return 0;
}

/* ---- Frames --------------------------------------------------------------------------- */

/* There is one zero page, whatever its number. */
#define ZERO_PAGE_PFN (UINT64_MAX - 1)

/* 0 and *pfn; 1 when there is no frame, which has been told. */
static int frame_of(struct exec *x, const struct stmt *s, const struct place *place, uint64_t i,
		    uint64_t *pfn)
{
	uint64_t addr = place->addr + i * PAGE_SIZE;
	struct sp_page_info info;
	char where[96];
	int err = x->world.ops->page_info(place->process->handle, addr, &info);

	if (err == BACKEND_CANNOT)
		return EXEC_CANNOT;
	if (err == BACKEND_KSM_UNKNOWN)
		err = 0;
	if (!err && info.state == SP_PAGE_PRESENT) {
		*pfn = info.pfn;
		return 0;
	}
	if (!err && info.state == SP_PAGE_ZERO) {
		*pfn = ZERO_PAGE_PFN;
		return 0;
	}
	world_address_text(&x->world, place->process, addr, where, sizeof(where));
	exec_failure(x, s, s->pos, "%s is in no frame%s", where,
		     err ? "" : info.state == SP_PAGE_SWAPPED ? ": it is swapped" : "");
	return 1;
}

static void tell_frames(struct exec *x, const struct stmt *s, const struct place *a, uint64_t i,
			uint64_t pfn, const struct place *b, uint64_t j, uint64_t other)
{
	char left[96], right[96];

	world_address_text(&x->world, a->process, a->addr + i * PAGE_SIZE, left, sizeof(left));
	world_address_text(&x->world, b->process, b->addr + j * PAGE_SIZE, right, sizeof(right));
	if (pfn == other)
		exec_failure(x, s, s->pos, "%s and %s are both in frame %" PRIu64, left, right, pfn);
	else
		exec_failure(x, s, s->pos, "%s is in frame %" PRIu64 ", %s in %" PRIu64, left, pfn, right,
			     other);
}

struct numbered_frame {
	uint64_t pfn, page;
};

static int by_frame(const void *a, const void *b)
{
	const struct numbered_frame *left = a, *right = b;

	if (left->pfn != right->pfn)
		return left->pfn < right->pfn ? -1 : 1;
	return left->page < right->page ? -1 : 1;
}

/* Every page of one range in a frame of its own. */
static int all_different(struct exec *x, const struct stmt *s, const struct place *place, bool *held)
{
	struct mem *mem = x->world.mem;
	size_t bytes = place->nr_pages * sizeof(struct numbered_frame);
	struct numbered_frame *frames = mem_alloc(mem, bytes);
	int err = 0;

	if (!frames)
		return -ENOMEM;
	for (uint64_t i = 0; !err && i < place->nr_pages; i++) {
		frames[i].page = i;
		err = frame_of(x, s, place, i, &frames[i].pfn);
	}
	*held = !err;
	if (!err)
		qsort(frames, place->nr_pages, sizeof(*frames), by_frame);
	for (uint64_t i = 1; *held && i < place->nr_pages; i++) {
		if (frames[i].pfn != frames[i - 1].pfn)
			continue;
		*held = false;
		tell_frames(x, s, place, frames[i - 1].page, frames[i].pfn, place, frames[i].page,
			    frames[i].pfn);
	}
	mem_free(mem, frames, bytes);
	return err < 0 ? err : 0;
}

/* Page by page with another range, or every page with the first. */
static int compare_frames(struct exec *x, const struct stmt *s, const struct place *place,
			  const struct place *other, bool *held)
{
	bool wanted = s->form == EXPECT_SAME;

	*held = true;
	for (uint64_t i = 0; *held && i < place->nr_pages; i++) {
		uint64_t j = other == place ? 0 : i;
		uint64_t left, right;
		int err = frame_of(x, s, place, i, &left);

		if (!err)
			err = frame_of(x, s, other, j, &right);
		if (err < 0)
			return err;
		*held = !err && (left == right) == wanted;
		if (!err && !*held)
			tell_frames(x, s, place, i, left, other, j, right);
	}
	return 0;
}

int exec_expect_frames(struct exec *x, const struct stmt *s)
{
	struct place place, other;
	bool held;
	int err = two_places(x, s, &place, &other);

	if (err)
		return err;
	if (s->form == EXPECT_DIFFERENT && !s->range2)
		err = all_different(x, s, &place, &held);
	else
		err = compare_frames(x, s, &place, s->range2 ? &other : &place, &held);
	if (!err)
		exec_checked(x, s, held);
	return err;
}
