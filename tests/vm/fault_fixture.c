/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine, and the stand-ins for rmap/ and ksm/; see fault_fixture.h. */
#include "fault_fixture.h"

/* What the mapping of every KSM page of the stand-in points to. */
static uint64_t stable_node;

static struct fixture *fixture_of(struct vm *vm)
{
	return vm->ksm;
}

/* W3, as ksm/ answers it. */
static struct frame *might_need_to_copy(struct frame *frame, struct vma *vma, uint64_t addr)
{
	struct vm *vm = vma->mm->vm;
	struct fixture *f = fixture_of(vm);
	struct frame *copy;

	if (frame_is_ksm(frame)) {
		if (!f->unmerging)
			return frame;
	} else if (!frame_is_anon(frame)) {
		return frame;
	} else if (frame->index == vma_linear_index(vma, addr) &&
		   vma_linked_to(vma, frame_mapping(frame))) {
		return frame;
	}
	copy = f->copy_fails ? NULL : frame_alloc(&vm->frames, -1);
	if (!copy)
		return NULL;
	if (frame_copy_content(&vm->frames, copy, frame)) {
		frame_put(&vm->frames, copy);
		return NULL;
	}
	frame_lock(copy);
	f->nr_copies++;
	return copy;
}

static int ksm_fork(struct mm *child, struct mm *parent)
{
	if (parent->flags & MMF_VM_MERGEABLE) {
		child->flags |= MMF_VM_MERGEABLE;
		fixture_of(parent->vm)->zero_pages += child->ksm_zero_pages;
	}
	return 0;
}

static void zero_page_gone(struct mm *mm)
{
	mm->ksm_zero_pages--;
	fixture_of(mm->vm)->zero_pages--;
}

static void orphan_entry_met(struct mm *mm, uint64_t addr, pte_t pte)
{
	assert_true(pte_is_migration(pte));
	assert_true(page_aligned(addr));
	fixture_of(mm->vm)->nr_orphans_met++;
}

void fixture_setup(struct fixture *f)
{
	struct vm_config config = { .max_map_count = 65530, .thp = THP_NEVER };

	memset(f, 0, sizeof(*f));
	assert_int_equal(vm_init(&f->vm, &config, 1, 0, 0, CONTENT_BYTES), 0);
	f->vm.ksm = f;
	f->vm.hooks.ksm_might_need_to_copy = might_need_to_copy;
	f->vm.hooks.ksm_fork = ksm_fork;
	f->vm.hooks.ksm_zero_page_gone = zero_page_gone;
	f->vm.hooks.orphan_entry_met = orphan_entry_met;
}

/* As reclaim would, frees what is left in the swap cache of pages that everybody has
 * got a copy of (W3). */
static void reclaim_unmapped(struct fixture *f)
{
	for (uint32_t slot = 0; slot < f->vm.swap.nr_slots; slot++) {
		struct frame *frame;

		if (!f->vm.swap.slots[slot].used || swap_count(&f->vm.swap, slot))
			continue;
		frame = swap_cache_find(&f->vm.swap, slot);
		if (!frame || frame->refcount != 1)
			continue;
		frame_get(frame);
		frame_lock(frame);
		swap_cache_remove(&f->vm.swap, frame);
		frame_unlock(frame);
		frame_put(&f->vm.frames, frame);
	}
}

void fixture_teardown(struct fixture *f)
{
	fixture_validate(f);
	while (!cds_list_empty(&f->vm.mms))
		mm_exit(cds_list_first_entry(&f->vm.mms, struct mm, link));
	reclaim_unmapped(f);
	fixture_validate(f);
	while (!cds_list_empty(&f->vm.files))
		file_put(cds_list_first_entry(&f->vm.files, struct file, link));
	assert_int_equal(f->vm.frames.nr_used, 0);
	assert_int_equal(f->vm.swap.nr_used, 0);
	vm_destroy(&f->vm);
	assert_int_equal(f->vm.mem.nr_live, 0);
	assert_int_equal(f->vm.mem.live_bytes, 0);
}

struct fixture *setup_one(struct mm **mm)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fixture_setup(f);
	*mm = new_mm(f);
	return f;
}

void teardown(struct fixture *f)
{
	fixture_teardown(f);
	free(f);
}

void fixture_validate(struct fixture *f)
{
	struct report report;
	const char *wrong;
	struct mm *mm;

	rank_assert_none_held();
	report_init(&report);
	cds_list_for_each_entry(mm, &f->vm.mms, link) {
		mm_validate_vmas(mm, &report);
		mm_validate_pages(mm, &report);
	}
	anon_vma_validate_all(&f->vm, &report);
	assert_int_equal(vm_recount(&f->vm, &report), 0);
	if (report.nr_findings)
		fail_msg("%s", report.text);
	wrong = swap_validate(&f->vm.swap);
	if (wrong)
		fail_msg("swap: %s", wrong);
	wrong = frames_validate(&f->vm.frames);
	if (wrong)
		fail_msg("frames: %s", wrong);
}

struct mm *new_mm(struct fixture *f)
{
	struct mm *mm;

	assert_int_equal(mm_create(&f->vm, &mm), 0);
	return mm;
}

struct mm *fork_mm(struct mm *parent)
{
	struct mm *child;

	assert_int_equal(mm_fork(parent, &child), 0);
	return child;
}

struct vma *map_pages(struct mm *mm, uint64_t addr, uint64_t nr_pages, uint64_t flags,
		      struct file *file, uint64_t pgoff)
{
	struct vma *vma;

	if (!file)
		pgoff = addr >> PAGE_SHIFT;
	rwsem_write_lock(&mm->mmap_lock);
	assert_int_equal(range_tree_reserve(&mm->vmas, 1), 0);
	vma = vma_alloc(mm, addr, addr + nr_pages * PAGE_SIZE, pgoff, flags, file);
	assert_non_null(vma);
	vma_link(vma);
	rwsem_write_unlock(&mm->mmap_lock);
	return vma;
}

int store(struct mm *mm, uint64_t addr, uint32_t value)
{
	struct frame *frame;
	int err = vm_access(mm, addr, true, &frame);

	return err ? err : frame_write(&mm->vm->frames, frame, 0, &value, sizeof(value));
}

int load(struct mm *mm, uint64_t addr, uint32_t *value)
{
	struct frame *frame;
	int err = vm_access(mm, addr, false, &frame);

	if (!err)
		*value = frame_word(mm->vm, frame);
	return err;
}

void poke(struct mm *mm, uint64_t addr, uint32_t value)
{
	assert_int_equal(store(mm, addr, value), 0);
}

uint32_t peek(struct mm *mm, uint64_t addr)
{
	uint32_t value = 0;

	assert_int_equal(load(mm, addr, &value), 0);
	return value;
}

uint32_t frame_word(const struct vm *vm, const struct frame *frame)
{
	uint32_t value;

	content_read(&vm->frames.content, frame->content, 0, &value, sizeof(value));
	return value;
}

int fault(struct mm *mm, uint64_t addr, unsigned int flags)
{
	struct vma *vma;
	int err;

	rwsem_read_lock(&mm->mmap_lock);
	vma = vma_lookup(mm, addr);
	assert_non_null(vma);
	err = handle_fault(vma, addr, flags);
	rwsem_read_unlock(&mm->mmap_lock);
	return err;
}

int zap(struct mm *mm, uint64_t addr, uint64_t nr_pages)
{
	struct vma *vma;
	int err;

	rwsem_read_lock(&mm->mmap_lock);
	vma = vma_lookup(mm, addr);
	assert_non_null(vma);
	err = zap_range(vma, addr, addr + nr_pages * PAGE_SIZE);
	rwsem_read_unlock(&mm->mmap_lock);
	return err;
}

struct frame *frame_at(struct mm *mm, uint64_t addr)
{
	pte_t pte = vm_pte(mm, addr);

	assert_true(pte_present(pte));
	assert_false(pte_is_zero_page(pte));
	return frame_of_pfn(&mm->vm->frames, pte_value(pte));
}

void hold(struct frame *frame)
{
	frame_get(frame);
	frame->nr_holds++;
}

void drop(struct fixture *f, struct frame *frame)
{
	frame->nr_holds--;
	frame_put(&f->vm.frames, frame);
}

/* Takes every mapping of the frame away and puts an entry in its place. */
static void replace_mappings(struct fixture *f, struct frame *frame, pte_t entry, pte_t keep)
{
	bool was_exclusive = frame->flags & FRAME_EXCLUSIVE;
	struct mm *mm;

	frame->flags &= (uint16_t)~FRAME_EXCLUSIVE;
	cds_list_for_each_entry(mm, &f->vm.mms, link) {
		uint64_t addr = 0;
		pte_t pte;
		bool huge;

		for (; page_table_next(&mm->pt, &addr, TASK_SIZE, &pte, &huge);
		     addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE) {
			if (huge || !pte_present(pte) || pte_value(pte) != frame->pfn)
				continue;
			page_table_set(&mm->pt, addr,
				       entry | (pte & keep) | (was_exclusive ? PTE_EXCLUSIVE : 0));
			if (pte_is_swap(entry)) {
				swap_dup(&f->vm.swap, pte_value(entry));
				mm->rss_swap++;
			}
			frame_remove_map(frame, vma_lookup(mm, addr));
			frame_put(&f->vm.frames, frame);
		}
	}
	assert_int_equal(frame->mapcount, 0);
}

uint32_t swap_out(struct fixture *f, struct frame *frame, bool keep_cached)
{
	uint32_t slot;

	frame_get(frame);
	frame_lock(frame);
	if (!(frame->flags & FRAME_SWAPCACHE))
		assert_int_equal(swap_cache_add(&f->vm.swap, frame), 0);
	slot = frame->swap;
	replace_mappings(f, frame, pte_make(slot, PTE_SWAP), 0);
	assert_int_equal(swap_write(&f->vm.swap, frame), 0);
	if (!keep_cached && frame->refcount == 2)
		swap_cache_remove(&f->vm.swap, frame);
	frame_unlock(frame);
	frame_put(&f->vm.frames, frame);
	return slot;
}

void make_migrating(struct fixture *f, struct frame *frame)
{
	hold(frame);
	replace_mappings(f, frame, pte_make(frame->pfn, PTE_MIGRATION),
			 PTE_WRITE | PTE_DIRTY | PTE_YOUNG);
}

void make_ksm(struct fixture *f, struct mm *mm, uint64_t addr)
{
	struct frame *frame = frame_at(mm, addr);

	(void)f;
	assert_int_equal(frame->mapcount, 1);
	frame->flags &= (uint16_t)~FRAME_EXCLUSIVE;
	frame->mapping = (uintptr_t)&stable_node | MAPPING_KSM;
	page_table_set(&mm->pt, addr, vm_pte(mm, addr) & ~(PTE_WRITE | PTE_DIRTY));
}

/* The page at addr gives way to an entry. */
static void replace_page(struct fixture *f, struct mm *mm, uint64_t addr, pte_t pte)
{
	struct frame *frame = frame_at(mm, addr);

	page_table_set(&mm->pt, addr, pte);
	frame_remove_map(frame, vma_lookup(mm, addr));
	/* It may be in the swap cache. */
	if ((frame->flags & FRAME_SWAPCACHE) && !frame->mapcount &&
	    !swap_count(&f->vm.swap, frame->swap)) {
		frame_lock(frame);
		swap_cache_remove(&f->vm.swap, frame);
		frame_unlock(frame);
	}
	frame_put(&f->vm.frames, frame);
}

void merge_into(struct fixture *f, struct mm *mm, uint64_t addr, struct frame *kframe)
{
	assert_true(frame_is_ksm(kframe));
	frame_get(kframe);
	frame_add_map(kframe, vma_lookup(mm, addr));
	replace_page(f, mm, addr, pte_make(kframe->pfn, PTE_PRESENT | PTE_YOUNG));
}

void make_ksm_zero(struct fixture *f, struct mm *mm, uint64_t addr)
{
	replace_page(f, mm, addr, pte_make(0, PTE_PRESENT | PTE_SPECIAL | PTE_DIRTY | PTE_YOUNG));
	mm->flags |= MMF_VM_MERGEABLE;
	mm->ksm_zero_pages++;
	f->zero_pages++;
}

struct random test_random(void)
{
	const char *text = getenv("SP_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);

	print_message("SP_SEED=%" PRIu64 "\n", seed);
	return (struct random){ .state = seed };
}
