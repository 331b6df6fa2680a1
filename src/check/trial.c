/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Steps on a machine, and on the model beside it; see trial.h.
 *
 * The model follows what a call is documented to do, and looks at the machine only for what is no
 * question of merging: which VMA flags a page has (MADV_DONTFORK, mlock), and what a call that failed
 * half way had already done. Where that could not be told, because several mappings were to be moved
 * on a machine of few frames or VMAs, the step is not taken.
 */
#include "trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "machine_region.h"
#include "windows.h"

#define CONTENT_BYTES 8

static uint64_t bytes_value(uint8_t byte)
{
	return byte * UINT64_C(0x0101010101010101);
}

uint64_t trial_untouched_value(const struct trial *t, const struct model_page *page)
{
	return page->file ? t->file_values[page->pgoff] : 0;
}

uint64_t trial_address(const struct trial *t, unsigned int process, unsigned int page)
{
	return t->processes[process].base + page * SP_PAGE_SIZE;
}

/* ---- Machines ----------------------------------------------------------------------- */

/* What pages of the file hold: the same function of seed and page as in the machine. */
static int file_values_init(struct trial *t)
{
	struct content_store store;
	struct mem mem;
	int err = 0;

	mem_init(&mem);
	content_store_init(&store, &mem, CONTENT_BYTES);
	for (unsigned int i = 0; i < FILE_PAGES && !err; i++) {
		content_t content = CONTENT_ZERO;

		err = content_random(&store, &content, FILE_SEED, i);
		if (err)
			break;
		t->file_values[i] = content_prefix(content);
		content_free(&store, content);
	}
	content_store_destroy(&store);
	return err;
}

int trial_create(struct trial **ret)
{
	struct trial *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	err = region_create(MACHINE_REGION_BYTES, &t->region);
	if (!err)
		err = file_values_init(t);
	if (err) {
		trial_destroy(t);
		return err;
	}
	*ret = t;
	return 0;
}

void trial_destroy(struct trial *t)
{
	if (!t)
		return;
	region_destroy(t->region);
	free(t);
}

int trial_start(struct trial *t, const struct shape *shape, enum sp_strategy strategy)
{
	struct sp_config config;
	int err;

	region_reset(t->region);
	t->machine = NULL;
	t->shape = *shape;
	t->strategy = strategy;
	t->file = NULL;
	t->nr_windows = 0;
	for (unsigned int i = 0; i < MAX_PROCESSES; i++)
		t->processes[i].p = NULL;
	memset(t->holds, 0, sizeof(t->holds));
	sp_config_init(&config);
	config.strategy = strategy;
	config.nr_nodes = shape->nr_nodes;
	config.nr_frames = shape->nr_frames;
	config.nr_swap_slots = shape->nr_swap_slots;
	if (shape->nr_maps)
		config.max_map_count = shape->nr_maps;
	config.content_bytes = CONTENT_BYTES;
	err = machine_create_in(t->region, &config, &t->machine);
	if (!err)
		err = sp_knob_set(t->machine, "run", "2");
	if (!err)
		err = sp_knob_set(t->machine, "run", "1");
	return err;
}

/* ---- Steps -------------------------------------------------------------------------- */

struct call {
	struct trial *t;
	const struct step *step;
	struct trial_process *process; /* NULL: none of that name runs */
	uint64_t addr, length;
	struct model_page *pages; /* the step's first */
	int64_t result;
};

static struct mm *mm_of(const struct trial_process *p)
{
	return p->p->mm;
}

static void pages_clear(struct model_page *pages, unsigned int nr)
{
	memset(pages, 0, nr * sizeof(*pages));
}

/* Takes out of the model what a call that failed has unmapped all the same. */
static void forget_unmapped(struct call *c)
{
	struct trial_process *p = c->process;

	for (unsigned int i = 0; i < c->t->shape.nr_pages; i++)
		if (p->pages[i].mapped && !vma_lookup(mm_of(p), p->base + i * SP_PAGE_SIZE))
			pages_clear(&p->pages[i], 1);
}

static bool is_merged(const struct mm *mm, uint64_t addr)
{
	pte_t pte = vm_pte(mm, addr);

	return pte_present(pte) && !pte_is_zero_page(pte) &&
	       frame_is_ksm(frame_of_pfn(&mm->vm->frames, pte_value(pte)));
}

static void note_swapped(struct trial *t)
{
	for (unsigned int i = 0; i < MAX_PROCESSES; i++) {
		struct trial_process *p = &t->processes[i];

		for (unsigned int j = 0; p->p && j < t->shape.nr_pages; j++)
			if (pte_is_swap(vm_pte(mm_of(p), p->base + j * SP_PAGE_SIZE)))
				p->pages[j].past |= PAST_SWAPPED;
	}
}

/* It may have been copied, or have come back from swap as a page like any other. */
static void forget_merged(const struct mm *mm, uint64_t addr, struct model_page *page)
{
	if (!(page->past & PAST_OF_MERGED) || !pte_present(vm_pte(mm, addr)) || is_merged(mm, addr))
		return;
	if (page->past & PAST_SWAPPED)
		page->past |= PAST_REJOINED;
	page->past &= (uint8_t)~PAST_OF_MERGED;
}

static void note_accessed(struct call *c)
{
	for (unsigned int i = 0; i < c->step->nr; i++)
		forget_merged(mm_of(c->process), c->addr + i * SP_PAGE_SIZE, &c->pages[i]);
}

static bool do_process(struct call *c)
{
	struct trial *t = c->t;
	struct trial_process *p = &t->processes[c->step->process];

	if (p->p)
		return false;
	c->result = sp_process_create(t->machine, &p->p);
	if (c->result) {
		p->p = NULL;
		return true;
	}
	p->base = window_address(t->nr_windows++, t->shape.nr_pages);
	pages_clear(p->pages, MAX_PAGES);
	return true;
}

static bool do_fork(struct call *c)
{
	struct trial_process *parent = c->process;
	struct trial_process *child = &c->t->processes[c->step->to];

	if (child->p)
		return false;
	c->result = sp_process_fork(parent->p, &child->p);
	if (c->result) {
		child->p = NULL;
		return true;
	}
	child->base = parent->base;
	for (unsigned int i = 0; i < c->t->shape.nr_pages; i++) {
		struct model_page *from = &parent->pages[i], *to = &child->pages[i];
		uint64_t addr = parent->base + i * SP_PAGE_SIZE;
		const struct vma *vma;

		forget_merged(mm_of(parent), addr, from);
		*to = *from;
		if (!from->mapped)
			continue;
		vma = vma_lookup(mm_of(parent), addr);
		if (vma && vma->flags & VM_DONTCOPY) {
			pages_clear(to, 1);
		} else if (vma && vma->flags & VM_WIPEONFORK) {
			to->value = 0;
			to->past = 0;
		} else if (is_merged(mm_of(parent), addr)) {
			to->past |= PAST_INHERITED;
		} else {
			from->past |= PAST_SHARED;
			to->past |= PAST_FORKED;
		}
	}
	return true;
}

static bool do_exit(struct call *c)
{
	c->result = sp_process_exit(c->process->p);
	c->process->p = NULL;
	return true;
}

static bool do_map(struct call *c)
{
	const struct step *s = c->step;
	struct trial *t = c->t;
	bool file = s->kind == STEP_MAP_FILE;

	if (file && s->arg + s->nr > FILE_PAGES)
		return false;
	if (file && !t->file) {
		c->result = sp_file_create(t->machine, FILE_PAGES, FILE_SEED, &t->file);
		if (c->result) {
			t->file = NULL;
			return true;
		}
	}
	c->result = sp_mmap(c->process->p, c->addr, c->length, SP_PROT_READ | SP_PROT_WRITE,
			    SP_MAP_PRIVATE | SP_MAP_FIXED, file ? t->file : NULL, file ? s->arg : 0,
			    NULL);
	if (c->result) {
		forget_unmapped(c);
		return true;
	}
	for (unsigned int i = 0; i < s->nr; i++) {
		struct model_page *page = &c->pages[i];

		*page = (struct model_page){
			.mapped = true,
			.readable = true,
			.writable = true,
			.file = file,
			.pgoff = file ? (uint8_t)(s->arg + i) : 0,
		};
		page->value = trial_untouched_value(t, page);
	}
	return true;
}

static bool do_munmap(struct call *c)
{
	c->result = sp_munmap(c->process->p, c->addr, c->length);
	if (c->result)
		forget_unmapped(c);
	else
		pages_clear(c->pages, c->step->nr);
	return true;
}

/* The page behind `last` in the same mapping, as a longer mapping makes it. */
static struct model_page page_behind(const struct trial *t, const struct model_page *last)
{
	struct model_page page = *last;

	page.past = 0;
	if (page.file)
		page.pgoff++;
	page.value = trial_untouched_value(t, &page);
	return page;
}

/* A longer mapping must not reach behind the file's end, where every access is SIGBUS. */
static bool grows_beyond_file(const struct call *c, unsigned int nr, unsigned int grown)
{
	const struct model_page *last = &c->pages[nr - 1];

	return grown > nr && last->mapped && last->file && last->pgoff + grown - nr >= FILE_PAGES;
}

static bool is_one_mapping(const struct call *c)
{
	const struct vma *vma = vma_lookup(mm_of(c->process), c->addr);

	return vma && vma->end - c->addr >= c->length;
}

/* Of several mappings each is moved by itself: what lies where a gap of theirs would come stays (M2). */
static bool do_mremap(struct call *c)
{
	const struct step *s = c->step;
	struct trial_process *p = c->process;
	bool keep = s->kind == STEP_MREMAP_KEEP;
	int flags = SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED | (keep ? SP_MREMAP_DONTUNMAP : 0);
	struct model_page moved[MAX_PAGES];

	if (!s->arg || s->to + s->arg > c->t->shape.nr_pages || grows_beyond_file(c, s->nr, s->arg))
		return false;
	if (shape_is_limited(&c->t->shape) && !is_one_mapping(c))
		return false;
	c->result = sp_mremap(p->p, c->addr, c->length, s->arg * SP_PAGE_SIZE, flags,
			      p->base + s->to * SP_PAGE_SIZE, NULL);
	if (c->result) {
		forget_unmapped(c);
		return true;
	}
	memcpy(moved, c->pages, s->nr * sizeof(*moved));
	for (unsigned int i = 0; i < s->nr; i++) {
		if (keep && c->pages[i].mapped) {
			c->pages[i].value = trial_untouched_value(c->t, &c->pages[i]);
			c->pages[i].past = 0;
		} else {
			pages_clear(&c->pages[i], 1);
		}
	}
	for (unsigned int i = 0; i < s->arg; i++) {
		struct model_page *to = &p->pages[s->to + i];

		if (i >= s->nr) {
			*to = page_behind(c->t, to - 1);
		} else if (moved[i].mapped) {
			*to = moved[i];
			if (is_merged(mm_of(p), p->base + (s->to + i) * SP_PAGE_SIZE))
				to->past |= PAST_MOVED;
		}
	}
	return true;
}

static bool do_resize(struct call *c)
{
	const struct step *s = c->step;

	if (!s->arg || s->first + s->arg > c->t->shape.nr_pages ||
	    grows_beyond_file(c, s->nr, s->arg))
		return false;
	c->result = sp_mremap(c->process->p, c->addr, c->length, s->arg * SP_PAGE_SIZE, 0, 0, NULL);
	if (c->result) {
		forget_unmapped(c);
		return true;
	}
	for (unsigned int i = s->arg; i < s->nr; i++)
		pages_clear(&c->pages[i], 1);
	for (unsigned int i = s->nr; i < s->arg; i++)
		c->pages[i] = page_behind(c->t, &c->pages[i - 1]);
	return true;
}

/* Done up to a VMA that could not be split. */
static void note_protection(struct call *c)
{
	for (unsigned int i = 0; i < c->step->nr; i++) {
		const struct vma *vma =
			vma_lookup(mm_of(c->process), c->addr + i * SP_PAGE_SIZE);

		c->pages[i].readable = vma && vma->flags & VM_READ;
		c->pages[i].writable = vma && vma->flags & VM_WRITE;
	}
}

static bool do_mprotect(struct call *c)
{
	uint8_t prot = c->step->arg;

	c->result = sp_mprotect(c->process->p, c->addr, c->length, prot);
	if (c->result && shape_is_limited(&c->t->shape)) {
		note_protection(c);
		return true;
	}
	/* Done up to the first hole. */
	for (unsigned int i = 0; i < c->step->nr && c->pages[i].mapped; i++) {
		c->pages[i].readable = prot & SP_PROT_READ;
		c->pages[i].writable = prot & SP_PROT_WRITE;
	}
	return true;
}

/* MADV_DONTNEED goes on over holes, and stops at locked memory. */
static void model_discard(struct call *c)
{
	for (unsigned int i = 0; i < c->step->nr; i++) {
		struct model_page *page = &c->pages[i];
		const struct vma *vma;

		if (!page->mapped)
			continue;
		vma = vma_lookup(mm_of(c->process), c->addr + i * SP_PAGE_SIZE);
		if (vma && vma->flags & VM_LOCKED)
			return;
		page->value = trial_untouched_value(c->t, page);
		page->past = 0;
	}
}

/* Before it is given: what is mergeable and swapped out is not looked at (K32). */
static void note_advice(const struct trial_process *p, struct model_page *pages, unsigned int nr,
			bool mergeable)
{
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t addr = p->base + (uint64_t)(&pages[i] - p->pages) * SP_PAGE_SIZE;
		const struct vma *vma;

		pages[i].mergeable = mergeable;
		if (mergeable || !pte_is_swap(vm_pte(mm_of(p), addr)))
			continue;
		vma = vma_lookup(mm_of(p), addr);
		if (vma && vma->flags & VM_MERGEABLE)
			pages[i].past |= PAST_UNMERGED;
	}
}

static bool do_madvise(struct call *c)
{
	if (c->step->arg == SP_MADV_MERGEABLE || c->step->arg == SP_MADV_UNMERGEABLE)
		note_advice(c->process, c->pages, c->step->nr, c->step->arg == SP_MADV_MERGEABLE);
	c->result = sp_madvise(c->process->p, c->addr, c->length, c->step->arg);
	switch (c->step->arg) {
	case SP_MADV_DONTNEED:
		model_discard(c);
		break;
	case SP_MADV_PAGEOUT:
		note_swapped(c->t);
		break;
	}
	return true;
}

static bool do_mlock(struct call *c)
{
	if (c->step->kind == STEP_MLOCK)
		c->result = sp_mlock(c->process->p, c->addr, c->length);
	else
		c->result = sp_munlock(c->process->p, c->addr, c->length);
	return true;
}

static bool do_merge_any(struct call *c)
{
	note_advice(c->process, c->process->pages, c->t->shape.nr_pages, c->step->arg);
	c->result = sp_prctl_set_memory_merge(c->process->p, c->step->arg, 0, 0, 0);
	return true;
}

/* Page by page, which is what sp_fill() does, to know how far it came when memory runs out. */
static bool do_fill(struct call *c)
{
	for (unsigned int i = 0; i < c->step->nr && !c->result; i++) {
		struct model_page *page = &c->pages[i];

		c->result = sp_fill(c->process->p, c->addr + i * SP_PAGE_SIZE, SP_PAGE_SIZE,
				    c->step->arg);
		if (c->result == -ENOMEM || !page->mapped || !page->writable)
			continue;
		page->value = bytes_value(c->step->arg);
		page->past = 0;
	}
	return true;
}

/* The other bytes are of whatever page the store copies. */
static bool do_write(struct call *c)
{
	const uint64_t first = UINT64_C(0xff) << 56;

	c->result = sp_write(c->process->p, c->addr, &c->step->arg, 1);
	if (c->result == -ENOMEM || !c->pages->mapped || !c->pages->writable)
		return true;
	c->pages->value = (c->pages->value & ~first) | (uint64_t)c->step->arg << 56;
	c->pages->past = 0;
	return true;
}

static bool do_touch(struct call *c)
{
	c->result = sp_touch(c->process->p, c->addr, c->length);
	note_accessed(c);
	return true;
}

static bool do_swapout(struct call *c)
{
	int first = 0;
	int64_t evicted = 0;

	for (unsigned int i = 0; i < c->step->nr; i++) {
		int ret = sp_swap_out(c->process->p, c->addr + i * SP_PAGE_SIZE);

		if (ret < 0 && !first)
			first = ret;
		evicted += MAX(ret, 0);
	}
	c->result = first ? first : evicted;
	note_swapped(c->t);
	return true;
}

static bool do_migrate(struct call *c)
{
	int err = sp_migrate(c->process->p, c->addr, -1, c->step->arg == MIGRATE_ALL);

	c->result = err ? err : 1;
	return true;
}

static bool do_hold(struct call *c)
{
	uint64_t *hold = &c->t->holds[c->step->to];

	if (*hold)
		return false;
	c->result = sp_hold(c->process->p, c->addr, hold);
	if (c->result)
		*hold = 0;
	note_accessed(c);
	return true;
}

static bool do_drop(struct call *c)
{
	uint64_t *hold = &c->t->holds[c->step->to];

	if (!*hold)
		return false;
	c->result = sp_drop(c->t->machine, *hold);
	*hold = 0;
	return true;
}

static bool do_reclaim(struct call *c)
{
	c->result = sp_reclaim(c->t->machine, c->step->arg, c->step->to);
	note_swapped(c->t);
	return true;
}

static bool do_compact(struct call *c)
{
	uint64_t moved = 0;
	int err = sp_compact(c->t->machine, &moved, NULL);

	c->result = err ? err : (int64_t)moved;
	return true;
}

static bool do_scan(struct call *c)
{
	if (c->step->kind == STEP_SCAN)
		c->result = sp_ksm_scan(c->t->machine, c->step->arg);
	else
		c->result = sp_ksm_scan_pages(c->t->machine, c->step->arg);
	return true;
}

static bool do_knob(struct call *c)
{
	const struct step_knob *knob = &step_knobs[c->step->arg];

	c->result = sp_knob_set(c->t->machine, knob->name, knob->value);
	return true;
}

/* False: the step means nothing here. */
static bool (*const do_fns[NR_STEP_KINDS])(struct call *c) = {
	[STEP_PROCESS] = do_process,
	[STEP_FORK] = do_fork,
	[STEP_EXIT] = do_exit,
	[STEP_MAP] = do_map,
	[STEP_MAP_FILE] = do_map,
	[STEP_MUNMAP] = do_munmap,
	[STEP_MREMAP] = do_mremap,
	[STEP_MREMAP_KEEP] = do_mremap,
	[STEP_RESIZE] = do_resize,
	[STEP_MPROTECT] = do_mprotect,
	[STEP_MADVISE] = do_madvise,
	[STEP_MLOCK] = do_mlock,
	[STEP_MUNLOCK] = do_mlock,
	[STEP_MERGE_ANY] = do_merge_any,
	[STEP_FILL] = do_fill,
	[STEP_WRITE] = do_write,
	[STEP_TOUCH] = do_touch,
	[STEP_SWAPOUT] = do_swapout,
	[STEP_MIGRATE] = do_migrate,
	[STEP_HOLD] = do_hold,
	[STEP_DROP] = do_drop,
	[STEP_RECLAIM] = do_reclaim,
	[STEP_COMPACT] = do_compact,
	[STEP_SCAN] = do_scan,
	[STEP_SCAN_PAGES] = do_scan,
	[STEP_KNOB] = do_knob,
};

enum trial_outcome trial_step(struct trial *t, const struct step *step, int64_t *result)
{
	struct trial_process *p = &t->processes[step->process];
	struct call c = {.t = t, .step = step, .process = p};

	*result = 0;
	if (step->kind != STEP_PROCESS && step_has_process(step->kind) && !p->p)
		return TRIAL_SKIPPED;
	if (step_has_range(step->kind)) {
		if (!step->nr || step->first + step->nr > t->shape.nr_pages)
			return TRIAL_SKIPPED;
		c.addr = p->base + step->first * SP_PAGE_SIZE;
		c.length = step->nr * SP_PAGE_SIZE;
		c.pages = &p->pages[step->first];
	}
	if (!do_fns[step->kind](&c))
		return TRIAL_SKIPPED;
	*result = c.result;
	return c.result < 0 ? TRIAL_ERRNO : TRIAL_DONE;
}
