/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bringing into the cache what ksmd is about to need.
 *
 * A page costs ksmd little work and many cache misses: its frame, the first line of its
 * contents, its rmap_item, and the lower half of a descent in each tree, where every step is a
 * miss that the next one waits for. Misses of different pages do not depend on each other, so a
 * window of pages is taken at a time and their misses are made together: first all frames, then
 * all contents, then all descents in step, one level of all pages after the other.
 *
 * Nothing here decides anything. Descents compare first bytes only, and those that items had
 * when they were looked at last; where that leads nowhere, or to the wrong place, scan.c finds
 * its way all the same. Only reads happen, of objects that live until the call returns.
 *
 * Pages that ksmd will not look up are left out: KSM pages, and pages whose checksum was never
 * taken.
 *
 * Locks: thread_mutex, and mmap_lock of the scanned mm for read.
 */
#include "ksm_internal.h"

#define WINDOW 32u
/* With fewer pages, or entries of a tree, all is in the cache anyway. */
#define MIN_ENTRIES 1024

struct window {
	const struct frame *frame[WINDOW];
	uint64_t prefix[WINDOW];
	uint32_t nid[WINDOW];
	unsigned int nr;
};

/* The frames of the next candidates; returns the address behind the last. */
static uint64_t collect(const struct mm *mm, uint64_t addr, struct window *w)
{
	bool huge;
	pte_t pte;

	w->nr = 0;
	while (w->nr < WINDOW && page_table_next(&mm->pt, &addr, TASK_SIZE, &pte, &huge)) {
		addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
		if (huge || !pte_present(pte) || pte_is_zero_page(pte))
			continue;
		w->frame[w->nr] = frame_of_pfn(&mm->vm->frames, pte_value(pte));
		__builtin_prefetch(w->frame[w->nr]);
		w->nr++;
	}
	return w->nr ? addr : TASK_SIZE;
}

/* Leaves those that will be looked up, and touches their contents. */
static void select_searched(const struct ksm *ksm, struct window *w)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < w->nr; i++) {
		const struct frame *frame = w->frame[i];

		if (frame_is_ksm(frame))
			continue;
		if (!content_is_uniform(frame->content))
			__builtin_prefetch((const void *)frame->content);
		if (!(frame->flags & FRAME_SUM_VALID))
			continue;
		w->frame[nr] = frame;
		w->nid[nr] = tree_of(ksm, frame);
		nr++;
	}
	w->nr = nr;
	for (unsigned int i = 0; i < nr; i++)
		w->prefix[i] = content_prefix(w->frame[i]->content);
}

static inline uint64_t stable_prefix(const struct rb_node *rb)
{
	return container_of(rb, struct ksm_stable_node, node)->prefix;
}

static inline uint64_t unstable_prefix(const struct rb_node *rb)
{
	return container_of(rb, struct ksm_rmap_item, node)->prefix;
}

/* The prefix may lie on the line before that of the links. */
static inline void prefetch_entry(const struct rb_node *rb, bool stable)
{
	__builtin_prefetch(&rb->right);
	if (stable)
		__builtin_prefetch(&container_of(rb, struct ksm_stable_node, node)->prefix);
	else
		__builtin_prefetch(&container_of(rb, struct ksm_rmap_item, node)->prefix);
}

static inline void descend_together(const struct rb_root *trees, const struct window *w,
				    bool stable)
{
	const struct rb_node *at[WINDOW];
	unsigned int active[WINDOW], nr = 0;

	for (unsigned int i = 0; i < w->nr; i++) {
		at[i] = trees[w->nid[i]].node;
		if (at[i])
			active[nr++] = i;
	}
	while (nr) {
		unsigned int left = 0;

		for (unsigned int k = 0; k < nr; k++) {
			unsigned int i = active[k];
			uint64_t prefix = stable ? stable_prefix(at[i]) : unstable_prefix(at[i]);

			if (prefix == w->prefix[i])
				continue;
			at[i] = w->prefix[i] < prefix ? at[i]->left : at[i]->right;
			if (!at[i])
				continue;
			prefetch_entry(at[i], stable);
			active[left++] = i;
		}
		nr = left;
	}
}

uint64_t lookahead(const struct ksm *ksm, const struct mm *mm, uint64_t addr)
{
	struct window w;

	if (mm->rss_anon < MIN_ENTRIES)
		return TASK_SIZE;
	addr = collect(mm, addr, &w);
	select_searched(ksm, &w);
	if (ksm->count.pages_shared >= MIN_ENTRIES)
		descend_together(ksm->stable_tree, &w, true);
	if (ksm->count.pages_unshared >= MIN_ENTRIES)
		descend_together(ksm->unstable_tree, &w, false);
	return addr;
}
