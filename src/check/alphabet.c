/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The alphabet of the exhaustive search; see alphabet.h.
 *
 * The order of steps is that in which equally short findings are preferred, so what needs least
 * explanation comes first.
 */
#include "alphabet.h"

#include <string.h>

#include "bits.h"

struct list {
	struct step *steps;
	unsigned int nr;
};

static void add(struct list *list, struct step step)
{
	list->steps[list->nr++] = step;
}

static void add_for_page(struct list *list, uint8_t process, uint8_t page)
{
	static const struct {
		uint8_t kind, arg;
	} common[] = {
		{STEP_MAP, 0},
		{STEP_MUNMAP, 0},
		{STEP_FILL, ALPHABET_BYTE},
		{STEP_TOUCH, 0},
		{STEP_MADVISE, SP_MADV_MERGEABLE},
		{STEP_MADVISE, SP_MADV_UNMERGEABLE},
		{STEP_MADVISE, SP_MADV_DONTNEED},
		{STEP_MADVISE, SP_MADV_DONTFORK},
		{STEP_MADVISE, SP_MADV_DOFORK},
		{STEP_MPROTECT, SP_PROT_READ},
		{STEP_MPROTECT, SP_PROT_READ | SP_PROT_WRITE},
		{STEP_SWAPOUT, 0},
		{STEP_MIGRATE, MIGRATE_ALL},
		{STEP_HOLD, 0},
	};
	struct step s = {.process = process, .first = page, .nr = 1};

	for (size_t i = 0; i < ARRAY_SIZE(common); i++) {
		s.kind = common[i].kind;
		s.arg = common[i].arg;
		add(list, s);
	}
	s.kind = STEP_MAP_FILE;
	s.arg = page;
	add(list, s);
	s.arg = 1;
	for (s.to = 0; s.to < ALPHABET_PAGES; s.to++) {
		if (s.to == page)
			continue;
		s.kind = STEP_MREMAP;
		add(list, s);
		s.kind = STEP_MREMAP_KEEP;
		add(list, s);
	}
}

static void add_for_process(struct list *list, uint8_t process)
{
	static const uint8_t advices[] = {SP_MADV_MERGEABLE, SP_MADV_UNMERGEABLE, SP_MADV_DONTFORK};

	add(list, (struct step){STEP_FORK, .process = process, .to = !process});
	add(list, (struct step){STEP_EXIT, .process = process});
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
		add(list, (struct step){STEP_MADVISE, .process = process, .nr = ALPHABET_PAGES,
					.arg = advices[i]});
	for (uint8_t page = 0; page < ALPHABET_PAGES; page++)
		add_for_page(list, process, page);
}

unsigned int alphabet_steps(struct step steps[ALPHABET_MAX])
{
	struct list list = {.steps = steps};

	add(&list, (struct step){STEP_SCAN, .arg = 1});
	add(&list, (struct step){STEP_SCAN, .arg = 2});
	for (uint8_t process = 0; process < 2; process++)
		add_for_process(&list, process);
	add(&list, (struct step){STEP_DROP, .to = 0});
	return list.nr;
}

/* ---- Steps that change nothing ---- */

/* One page of a running process. */
struct spot {
	const struct trial *t;
	const struct trial_process *process;
	const struct model_page *page;
	const struct vma *vma;
	pte_t pte;
	const struct frame *frame; /* anonymous and present, or NULL */
};

static void spot_find(struct spot *s, const struct trial *t, unsigned int process, unsigned int page)
{
	uint64_t addr = trial_address(t, process, page);
	struct frame *frame;

	*s = (struct spot){.t = t, .process = &t->processes[process]};
	s->page = &s->process->pages[page];
	s->vma = vma_lookup(s->process->p->mm, addr);
	if (!s->vma)
		return;
	s->pte = vm_pte(s->process->p->mm, addr);
	if (!pte_present(s->pte) || pte_is_zero_page(s->pte))
		return;
	frame = frame_of_pfn(&t->machine->vm.frames, pte_value(s->pte));
	if (frame_is_anon(frame))
		s->frame = frame;
}

static bool holds_byte(const struct spot *s, uint8_t byte)
{
	const pte_t written = PTE_WRITE | PTE_DIRTY | PTE_YOUNG;

	return s->frame && (s->pte & written) == written && !s->page->past &&
	       content_is_uniform(s->frame->content) && content_byte(s->frame->content) == byte;
}

static bool advice_is_idle(const struct spot *s, uint8_t advice)
{
	uint64_t flags = s->vma->flags;

	switch (advice) {
	case SP_MADV_MERGEABLE:
		return flags & VM_MERGEABLE;
	case SP_MADV_UNMERGEABLE:
		return !(flags & VM_MERGEABLE);
	case SP_MADV_DONTNEED:
		return !s->pte && !s->page->past;
	case SP_MADV_DONTFORK:
		return flags & VM_DONTCOPY;
	case SP_MADV_DOFORK:
		return !(flags & VM_DONTCOPY);
	default:
		return false;
	}
}

static bool prot_is_idle(const struct spot *s, uint8_t prot)
{
	uint64_t flags = (prot & SP_PROT_READ ? VM_READ : 0) | (prot & SP_PROT_WRITE ? VM_WRITE : 0);

	return (s->vma->flags & VM_ACCESS_FLAGS) == flags;
}

/* Already there, or nothing that could go there? */
static bool swapout_is_idle(const struct spot *s)
{
	if (pte_is_swap(s->pte))
		return true;
	return !s->frame && !pte_is_migration(s->pte);
}

/* Both are about the frame, whoever maps it. */
static bool named_before(const struct spot *s, const struct step *step)
{
	for (unsigned int i = 0; i <= step->process; i++) {
		unsigned int end = i < step->process ? ALPHABET_PAGES : step->first;

		for (unsigned int j = 0; s->t->processes[i].p && j < end; j++) {
			struct spot before;

			spot_find(&before, s->t, i, j);
			if (before.frame == s->frame)
				return true;
		}
	}
	return false;
}

static bool page_step_is_idle(const struct spot *s, const struct step *step)
{
	if (!s->vma)
		return step->kind != STEP_MAP && step->kind != STEP_MAP_FILE;
	switch (step->kind) {
	case STEP_FILL:
		return !(s->vma->flags & VM_WRITE) || holds_byte(s, step->arg);
	case STEP_TOUCH:
		return pte_present(s->pte) && (s->pte & PTE_YOUNG);
	case STEP_MADVISE:
		return advice_is_idle(s, step->arg);
	case STEP_MPROTECT:
		return prot_is_idle(s, step->arg);
	case STEP_SWAPOUT:
		return swapout_is_idle(s);
	case STEP_MIGRATE:
		return !pte_is_migration(s->pte) && (!s->frame || named_before(s, step));
	case STEP_HOLD:
		return !s->frame || named_before(s, step);
	default:
		return false;
	}
}

bool alphabet_is_idle(const struct trial *t, const struct step *step)
{
	struct spot spot;

	if (step->kind == STEP_SCAN)
		return !ksm_should_run(&t->machine->vm);
	if (step->kind == STEP_DROP)
		return !t->holds[step->to];
	if (step_has_process(step->kind) && !t->processes[step->process].p)
		return true;
	if (step->kind == STEP_FORK)
		return t->processes[step->to].p;
	if (step->kind == STEP_HOLD && t->holds[step->to])
		return true;
	if (!step_has_range(step->kind) || step->nr != 1)
		return false;
	spot_find(&spot, t, step->process, step->first);
	return page_step_is_idle(&spot, step);
}

/* ---- Starts ---- */

static const struct {
	const char *name;
	bool file, scanned;
	unsigned int level;
} starts[] = {
	{"merged", false, true, 0},
	{"filled", false, false, 1},
	{"file", true, true, 1},
};

const char *alphabet_start_name(unsigned int i)
{
	return i < ARRAY_SIZE(starts) ? starts[i].name : NULL;
}

unsigned int alphabet_start_level(unsigned int i)
{
	return starts[i].level;
}

void alphabet_start(unsigned int i, struct sequence *s)
{
	struct step window = {.nr = ALPHABET_PAGES};

	s->shape = (struct shape){.nr_pages = ALPHABET_PAGES, .nr_nodes = 1};
	s->nr = 0;
	/* The first of step_knobs is smart_scan 0. */
	sequence_add(s, (struct step){STEP_KNOB, .arg = 0});
	sequence_add(s, (struct step){.kind = STEP_PROCESS});
	window.kind = starts[i].file ? STEP_MAP_FILE : STEP_MAP;
	sequence_add(s, window);
	window.kind = STEP_MADVISE;
	window.arg = SP_MADV_MERGEABLE;
	sequence_add(s, window);
	window.kind = STEP_FILL;
	window.arg = ALPHABET_BYTE;
	sequence_add(s, window);
	if (starts[i].scanned)
		sequence_add(s, (struct step){STEP_SCAN, .arg = 2});
}
