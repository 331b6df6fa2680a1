/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random operations on a few processes, compared with plain arrays of what each page
 * must contain. The arrays know nothing of sharing: a fork copies them. Whatever the
 * engine shares, copies, swaps, merges or splits, each load must give the word that
 * was stored last, and every counter must add up.
 *
 * Then the same with allocations failing now and then: an operation that reports
 * -ENOMEM has changed no contents.
 */
#include "fault_fixture.h"

#include "samepage.h"

#define MAX_MMS 5
#define NR_SMALL 20u                     /* anonymous pages */
#define NR_FILE 8u                       /* a private file mapping */
#define NR_SHARED 6u                     /* shared memory */
#define NR_HUGE (2 * HPAGE_PMD_NR)       /* anonymous, huge pages allowed */
#define NR_HUGE_SEEN 24u                 /* of which only these are touched */
#define NR_PAGES (NR_SMALL + NR_FILE + NR_SHARED + NR_HUGE_SEEN)
#define ADDR_FILE PAGE(64)
#define ADDR_SHARED PAGE(128)
#define ADDR_HUGE (BASE + (UINT64_C(1) << 30))
#define NR_STEPS 3000

struct process {
	struct mm *mm; /* NULL: none */
	bool mapped[NR_PAGES];
	uint32_t word[NR_PAGES]; /* of shared memory: see model.shared */
};

struct model {
	struct fixture f;
	struct random random;
	struct file *file, *shm;
	uint32_t on_disk[NR_FILE];
	uint32_t shared[NR_SHARED];
	struct process process[MAX_MMS];
	bool failing;
	uint64_t nr_enomem;
};

enum area { AREA_SMALL, AREA_FILE, AREA_SHARED, AREA_HUGE };

static enum area area_of(uint32_t page, uint32_t *within)
{
	*within = page;
	if (*within < NR_SMALL)
		return AREA_SMALL;
	*within -= NR_SMALL;
	if (*within < NR_FILE)
		return AREA_FILE;
	*within -= NR_FILE;
	if (*within < NR_SHARED)
		return AREA_SHARED;
	*within -= NR_SHARED;
	return AREA_HUGE;
}

static uint64_t address_of(uint32_t page)
{
	uint32_t n;

	switch (area_of(page, &n)) {
	case AREA_SMALL:
		return PAGE(n);
	case AREA_FILE:
		return ADDR_FILE + n * PAGE_SIZE;
	case AREA_SHARED:
		return ADDR_SHARED + n * PAGE_SIZE;
	default:
		/* Spread over both huge pages, some at their ends. */
		return ADDR_HUGE + n * (NR_HUGE - 1) / (NR_HUGE_SEEN - 1) * PAGE_SIZE;
	}
}

static uint32_t *word_of(struct model *m, struct process *p, uint32_t page)
{
	uint32_t n;

	return area_of(page, &n) == AREA_SHARED ? &m->shared[n] : &p->word[page];
}

/* What a page reads as that was never written, or given up. */
static uint32_t fresh_word(const struct model *m, const struct process *p, uint32_t page)
{
	uint32_t n;
	enum area area = area_of(page, &n);

	(void)p;
	return area == AREA_FILE ? m->on_disk[n] : area == AREA_SHARED ? m->shared[n] : 0;
}

static struct process *random_process(struct model *m)
{
	for (;;) {
		struct process *p = &m->process[random_below(&m->random, MAX_MMS)];

		if (p->mm)
			return p;
	}
}

/* An error must be one that was asked for. */
static bool failed(struct model *m, int err)
{
	if (!err)
		return false;
	if (err != -ENOMEM || !m->failing)
		fail_msg("an operation returned %d", err);
	m->nr_enomem++;
	return true;
}


static void new_process(struct model *m, struct process *p)
{
	p->mm = new_mm(&m->f);
	map_pages(p->mm, BASE, NR_SMALL, RW | VM_MERGEABLE, NULL, 0);
	map_pages(p->mm, ADDR_FILE, NR_FILE, RW, m->file, 0);
	map_pages(p->mm, ADDR_SHARED, NR_SHARED, RW_SHARED, m->shm, 0);
	map_pages(p->mm, ADDR_HUGE, NR_HUGE, RW | VM_HUGEPAGE, NULL, 0);
	for (uint32_t page = 0; page < NR_PAGES; page++) {
		p->mapped[page] = true;
		p->word[page] = fresh_word(m, p, page);
	}
}

static void check_page(struct model *m, struct process *p, uint32_t page)
{
	uint32_t value, expected = *word_of(m, p, page);
	int err = load(p->mm, address_of(page), &value);

	if (!p->mapped[page]) {
		assert_int_equal(err, -EFAULT);
		return;
	}
	if (!failed(m, err) && value != expected)
		fail_msg("mm %u, page %u: %u instead of %u", p->mm->id, page, value, expected);
}

static void op_store(struct model *m, struct process *p, uint32_t page)
{
	/* Few values, so that pages become equal. */
	uint32_t value = random_below(&m->random, 4);
	int err;

	err = store(p->mm, address_of(page), value);
	if (!p->mapped[page])
		assert_int_equal(err, -EFAULT);
	else if (!failed(m, err))
		*word_of(m, p, page) = value;
}

static void op_fork(struct model *m, struct process *p)
{
	for (int i = 0; i < MAX_MMS; i++) {
		struct process *child = &m->process[i];
		struct mm *mm;

		if (child->mm)
			continue;
		if (failed(m, mm_fork(p->mm, &mm)))
			return;
		*child = *p;
		child->mm = mm;
		return;
	}
}

static void op_exit(struct model *m, struct process *p)
{
	unsigned int others = 0;

	for (int i = 0; i < MAX_MMS; i++)
		others += m->process[i].mm && &m->process[i] != p;
	if (!others)
		return;
	mm_exit(p->mm);
	p->mm = NULL;
}

static void op_dontneed(struct model *m, struct process *p, uint32_t page)
{
	uint32_t n;

	if (!p->mapped[page])
		return;
	/* For huge ones a whole half, now and then. */
	if (area_of(page, &n) == AREA_HUGE && random_below(&m->random, 3) == 0) {
		uint64_t start = address_of(page) & HPAGE_PMD_MASK;

		if (vma_lookup(p->mm, start) != vma_lookup(p->mm, start + HPAGE_PMD_SIZE - 1))
			return;
		if (!vma_lookup(p->mm, start) || failed(m, zap(p->mm, start, HPAGE_PMD_NR)))
			return;
		for (uint32_t i = 0; i < NR_PAGES; i++)
			if ((address_of(i) & HPAGE_PMD_MASK) == start && p->mapped[i])
				*word_of(m, p, i) = fresh_word(m, p, i);
		return;
	}
	if (!failed(m, zap(p->mm, address_of(page), 1)))
		*word_of(m, p, page) = fresh_word(m, p, page);
}

static void op_unmap(struct model *m, struct process *p, uint32_t page)
{
	if (!p->mapped[page] || failed(m, vm_munmap(p->mm, address_of(page), PAGE_SIZE)))
		return;
	p->mapped[page] = false;
}

static void op_map(struct model *m, struct process *p, uint32_t page)
{
	uint32_t n;
	enum area area = area_of(page, &n);
	struct file *file = area == AREA_FILE ? m->file : area == AREA_SHARED ? m->shm : NULL;
	int flags = SP_MAP_FIXED | (area == AREA_SHARED ? SP_MAP_SHARED : SP_MAP_PRIVATE);

	if (failed(m, vm_mmap(p->mm, address_of(page), PAGE_SIZE, SP_PROT_READ | SP_PROT_WRITE, flags,
			      file, file ? n : 0, NULL)))
		return;
	p->mapped[page] = true;
	*word_of(m, p, page) = fresh_word(m, p, page);
}

/* A small anonymous page that is mapped here, or NULL. */
static struct frame *anon_frame(struct process *p, uint32_t page)
{
	pte_t pte = vm_pte(p->mm, address_of(page));
	struct frame *frame;

	if (!pte_present(pte) || pte_is_zero_page(pte) || (pte & PTE_HUGE))
		return NULL;
	frame = frame_of_pfn(&p->mm->vm->frames, pte_value(pte));
	return frame_is_anon(frame) ? frame : NULL;
}

static bool any_huge_mapping(struct model *m, const struct frame *frame)
{
	struct mm *mm;

	cds_list_for_each_entry(mm, &m->f.vm.mms, link)
		for (uint64_t half = 0; half < 2; half++) {
			pte_t pte = vm_pte(mm, ADDR_HUGE + half * HPAGE_PMD_SIZE);

			if ((pte & PTE_HUGE) && frame->pfn - pte_value(pte) < HPAGE_PMD_NR)
				return true;
		}
	return false;
}

static void op_swap_out(struct model *m, struct process *p, uint32_t page)
{
	struct frame *frame = anon_frame(p, page);
	uint64_t fail_at = m->f.vm.mem.fail_at;

	if (!frame || any_huge_mapping(m, frame))
		return;
	/* The stand-in for reclaim is not under test. */
	m->f.vm.mem.fail_at = 0;
	swap_out(&m->f, frame, random_below(&m->random, 2));
	m->f.vm.mem.fail_at = fail_at;
}

/* One page gives way to an equal one, which becomes a KSM page, or to the zero page. */
static void merge_pair(struct model *m, struct process *a, uint32_t page_a, struct process *b,
		       uint32_t page_b)
{
	struct frame *fa = anon_frame(a, page_a), *fb = anon_frame(b, page_b);

	if (!fb || fa == fb || frame_is_ksm(fb) || frame_compare(&m->f.vm.frames, fa, fb))
		return;
	if (!frame_compare(&m->f.vm.frames, fb, m->f.vm.frames.zero) && random_below(&m->random, 2)) {
		make_ksm_zero(&m->f, b->mm, address_of(page_b));
		return;
	}
	if (!frame_is_ksm(fa))
		make_ksm(&m->f, a->mm, address_of(page_a));
	merge_into(&m->f, b->mm, address_of(page_b), fa);
}

/* Merges all that equals one page, as ksmd would; one in four escapes. */
static void op_merge(struct model *m, struct process *p, uint32_t page)
{
	struct frame *frame;

	page %= NR_SMALL;
	frame = anon_frame(p, page);
	if (!frame || (!frame_is_ksm(frame) && frame->mapcount != 1))
		return;
	for (int i = 0; i < MAX_MMS; i++)
		for (uint32_t other = 0; m->process[i].mm && other < NR_SMALL; other++)
			if (random_below(&m->random, 4))
				merge_pair(m, p, page, &m->process[i], other);
}

static void op_unshare(struct model *m, struct process *p, uint32_t page)
{
	if (p->mapped[page])
		(void)failed(m, fault(p->mm, address_of(page), FAULT_UNSHARE | FAULT_REMOTE));
}

static void step(struct model *m)
{
	struct process *p = random_process(m);
	uint32_t page = random_below(&m->random, NR_PAGES);

	switch (random_below(&m->random, 32)) {
	case 0:
		op_fork(m, p);
		break;
	case 1:
		if (random_below(&m->random, 2))
			op_exit(m, p);
		break;
	case 2:
		op_unmap(m, p, page);
		break;
	case 3 ... 4:
		op_map(m, p, page);
		break;
	case 5 ... 6:
		op_dontneed(m, p, page);
		break;
	case 7 ... 11:
		op_swap_out(m, p, page);
		break;
	case 12:
		op_merge(m, p, page);
		break;
	case 13 ... 14:
		op_unshare(m, p, page);
		break;
	case 15:
		(void)failed(m, split_huge_mapping(p->mm, address_of(page)));
		break;
	case 16 ... 24:
		check_page(m, p, page);
		break;
	default:
		op_store(m, p, page);
		break;
	}
}

static void model_setup(struct model *m, uint64_t seed)
{
	memset(m, 0, sizeof(*m));
	m->random.state = seed;
	fixture_setup(&m->f);
	m->f.vm.config.thp = THP_MADVISE;
	assert_int_equal(file_create(&m->f.vm, NR_FILE, 77, false, &m->file), 0);
	assert_int_equal(file_create(&m->f.vm, NR_SHARED, 0, true, &m->shm), 0);
	for (uint32_t i = 0; i < NR_FILE; i++) {
		struct frame *frame;

		assert_int_equal(file_page(m->file, i, &frame), 0);
		m->on_disk[i] = frame_word(&m->f.vm, frame);
	}
	new_process(m, &m->process[0]);
}

static void check_everything(struct model *m)
{
	for (int i = 0; i < MAX_MMS; i++)
		for (uint32_t page = 0; m->process[i].mm && page < NR_PAGES; page++)
			check_page(m, &m->process[i], page);
	fixture_validate(&m->f);
}

static void test_contents(void **state)
{
	struct random seeds = test_random();
	struct model *m = malloc(sizeof(*m));
	struct vmstat sum = { 0 };
	uint64_t nr_copies = 0;

	(void)state;
	assert_non_null(m);
	for (int round = 0; round < 4; round++) {
		model_setup(m, random_next(&seeds));
		for (int i = 0; i < NR_STEPS; i++) {
			step(m);
			if (i % 16 == 0)
				fixture_validate(&m->f);
		}
		check_everything(m);
#define X(name) sum.name += m->f.vm.stat.name;
		SP_VMSTATS(X)
#undef X
		nr_copies += m->f.nr_copies;
		fixture_teardown(&m->f);
	}
	/* Each of these ways must have been taken. */
	assert_true(sum.cow_ksm && sum.pswpin && nr_copies);
	assert_true(sum.thp_fault_alloc && sum.thp_split_pmd);
	free(m);
}

static void test_contents_with_failing_allocations(void **state)
{
	struct random seeds = test_random();
	struct model *m = malloc(sizeof(*m));

	(void)state;
	assert_non_null(m);
	model_setup(m, random_next(&seeds));
	m->failing = true;
	for (int i = 0; i < NR_STEPS; i++) {
		m->f.vm.mem.fail_at = m->f.vm.mem.nr_allocs + 1 + random_below(&m->random, 6);
		step(m);
		if (i % 16 == 0)
			fixture_validate(&m->f);
	}
	m->f.vm.mem.fail_at = 0;
	m->failing = false;
	check_everything(m);
	assert_true(m->nr_enomem > 20);
	fixture_teardown(&m->f);
	free(m);
}

/* A short life with each of its allocations failing in turn. */
static void short_life(struct model *m)
{
	struct process *p = &m->process[0];
	const uint32_t huge = NR_PAGES - 1, file = NR_SMALL, shared = NR_SMALL + NR_FILE;

	for (uint32_t page = 0; page < 4; page++)
		op_store(m, p, page);
	op_store(m, p, file);
	op_store(m, p, shared);
	op_store(m, p, huge);
	op_swap_out(m, p, 0);
	op_fork(m, p);
	check_page(m, p, 0);
	for (int i = 0; i < 2; i++)
		if (m->process[i].mm)
			for (uint32_t page = 0; page < NR_PAGES; page += 3)
				op_store(m, &m->process[i], page);
	op_swap_out(m, p, 1);
	op_unmap(m, p, 2);
	op_map(m, p, 2);
	op_dontneed(m, p, huge);
	op_store(m, p, 1);
	op_exit(m, p);
}

static void test_every_failing_allocation(void **state)
{
	struct model *m = malloc(sizeof(*m));
	uint64_t nr_failures = 0;

	(void)state;
	assert_non_null(m);
	for (uint64_t nth = 1;; nth++) {
		uint64_t nr_failed;

		model_setup(m, 1);
		m->failing = true;
		m->f.vm.mem.fail_at = m->f.vm.mem.nr_allocs + nth;
		short_life(m);
		nr_failed = m->f.vm.mem.nr_failed;
		nr_failures += m->nr_enomem;
		m->f.vm.mem.fail_at = 0;
		m->failing = false;
		check_everything(m);
		fixture_teardown(&m->f);
		if (!nr_failed)
			break;
	}
assert_true(nr_failures > 20);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_contents_with_failing_allocations),
		cmocka_unit_test(test_every_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
