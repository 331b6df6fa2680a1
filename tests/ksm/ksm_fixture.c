/* SPDX-License-Identifier: GPL-2.0-only */
/* A machine with KSM and helpers to drive it; see ksm_fixture.h. */
#include "ksm_fixture.h"

#include "rmap_validate.h"

void fixture_setup(struct fixture *f, const struct setup *setup)
{
	static const struct setup defaults;
	struct vm_config config = { .max_map_count = 65530, .thp = THP_NEVER };

	if (!setup)
		setup = &defaults;
	config.thp = setup->thp;
	memset(f, 0, sizeof(*f));
	assert_int_equal(vm_init(&f->vm, &config, MAX(setup->nr_nodes, 1u), setup->frames_per_node,
				 0, setup->content_bytes ? setup->content_bytes : 64),
			 0);
	assert_int_equal(rmap_init(&f->vm), 0);
	assert_int_equal(ksm_init(&f->vm), 0);
	knob(f, "run", "1");
}

/* Pages that were copied on swap-in and that nobody needs any more: reclaim would find them. */
static void empty_swap_cache(struct vm *vm)
{
	for (uint32_t pfn = 1; pfn < vm->frames.nr_frames; pfn++) {
		struct frame *frame = frame_of_pfn(&vm->frames, pfn);

		if (!(frame->flags & FRAME_SWAPCACHE))
			continue;
		frame_get(frame);
		frame_lock(frame);
		swap_cache_remove(&vm->swap, frame);
		frame_unlock(frame);
		frame_put(&vm->frames, frame);
	}
}

void fixture_teardown(struct fixture *f)
{
	struct mm *mm, *next;

	fixture_validate(f);
	cds_list_for_each_entry_safe(mm, next, &f->vm.mms, link) {
		if (mm->users)
			mm_exit(mm);
	}
	fixture_validate(f);
	while (!cds_list_empty(&f->vm.files))
		file_put(cds_list_first_entry(&f->vm.files, struct file, link));
	empty_swap_cache(&f->vm);
	ksm_destroy(&f->vm);
	rmap_destroy(&f->vm);
	assert_int_equal(f->vm.frames.nr_used, 0);
	assert_int_equal(f->vm.swap.nr_used, 0);
	vm_destroy(&f->vm);
	assert_int_equal(f->vm.mem.nr_live, 0);
	assert_int_equal(f->vm.mem.live_bytes, 0);
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
	ksm_validate(&f->vm, &report);
	rmap_validate(&f->vm, &report);
	if (report.nr_findings)
		fail_msg("%s", report.text);
	wrong = swap_validate(&f->vm.swap);
	if (wrong)
		fail_msg("swap: %s", wrong);
	wrong = frames_validate(&f->vm.frames);
	if (wrong)
		fail_msg("frames: %s", wrong);
}

int setup_default(void **state)
{
	static struct fixture f;

	fixture_setup(&f, NULL);
	*state = &f;
	return 0;
}

int teardown_default(void **state)
{
	fixture_teardown(*state);
	return 0;
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

/* A hole before and behind each mapping, so that none merges with its neighbours. */
uint64_t map(struct mm *mm, uint64_t nr_pages)
{
	uint64_t addr;

	assert_int_equal(vm_mmap(mm, 0, PG(0, nr_pages + 2), RW, SP_MAP_PRIVATE, NULL, 0, &addr),
			 0);
	unmap(mm, addr, 1);
	unmap(mm, PG(addr, nr_pages + 1), 1);
	return PG(addr, 1);
}

uint64_t map_mergeable(struct mm *mm, uint64_t nr_pages, int byte)
{
	uint64_t addr = map(mm, nr_pages);

	advise(mm, addr, nr_pages, SP_MADV_MERGEABLE);
	if (byte >= 0)
		fill(mm, addr, nr_pages, (uint8_t)byte);
	return addr;
}

void unmap(struct mm *mm, uint64_t addr, uint64_t nr_pages)
{
	assert_int_equal(vm_munmap(mm, addr, nr_pages * PAGE_SIZE), 0);
}

void advise(struct mm *mm, uint64_t addr, uint64_t nr_pages, int advice)
{
	assert_int_equal(vm_madvise(mm, addr, nr_pages * PAGE_SIZE, advice), 0);
}

void fill(struct mm *mm, uint64_t addr, uint64_t nr_pages, uint8_t byte)
{
	struct frame *frame;

	for (uint64_t i = 0; i < nr_pages; i++) {
		assert_int_equal(vm_access(mm, PG(addr, i), true, &frame), 0);
		frame_set_content(&mm->vm->frames, frame, content_uniform(byte));
	}
}

int try_put(struct mm *mm, uint64_t addr, uint64_t number)
{
	uint8_t page[CONTENT_BYTES_MAX] = { 0 };
	struct frame *frame;
	int err = vm_access(mm, addr, true, &frame);

	memcpy(page, &number, sizeof(number));
	return err ? err
		   : frame_write(&mm->vm->frames, frame, 0, page, mm->vm->frames.content.bytes);
}

void put(struct mm *mm, uint64_t addr, uint64_t number)
{
	assert_int_equal(try_put(mm, addr, number), 0);
}

static void load(struct mm *mm, uint64_t addr, void *buf, uint32_t length)
{
	struct frame *frame;

	assert_int_equal(vm_access(mm, addr, false, &frame), 0);
	content_read(&mm->vm->frames.content, frame->content, 0, buf, length);
}

uint8_t byte_at(struct mm *mm, uint64_t addr)
{
	uint8_t byte;

	load(mm, addr, &byte, sizeof(byte));
	return byte;
}

uint64_t number_at(struct mm *mm, uint64_t addr)
{
	uint64_t number;

	load(mm, addr, &number, sizeof(number));
	return number;
}

uint32_t pfn_at(struct mm *mm, uint64_t addr)
{
	pte_t pte = vm_pte(mm, addr);

	assert_true(pte_present(pte));
	return pte_value(pte);
}

struct frame *frame_at(struct mm *mm, uint64_t addr)
{
	return frame_of_pfn(&mm->vm->frames, pfn_at(mm, addr));
}

bool ksm_at(struct mm *mm, uint64_t addr)
{
	pte_t pte = vm_pte(mm, addr);

	return pte_present(pte) && (pte_is_ksm_zero(pte) || frame_is_ksm(frame_at(mm, addr)));
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

void scan(struct fixture *f, uint64_t passes)
{
	assert_int_equal(ksm_scan_passes(&f->vm, passes), 0);
	fixture_validate(f);
}

void knob(struct fixture *f, const char *name, const char *value)
{
	assert_int_equal(ksm_knob_set(&f->vm, name, value), 0);
}

int64_t counter(struct fixture *f, const char *name)
{
	int64_t value;

	assert_int_equal(ksm_counter_get(&f->vm, name, &value), 0);
	return value;
}

int64_t stat_of(struct mm *mm, const char *name)
{
	int64_t value;

	assert_int_equal(ksm_mm_stat_get(mm, name, &value), 0);
	return value;
}

struct random model_seed(void)
{
	const char *text = getenv("SP_SEED");
	struct random r = { text ? strtoull(text, NULL, 0) : clock_measure_ns() };

	fprintf(stderr, "SP_SEED=%" PRIu64 "\n", r.state);
	return r;
}
