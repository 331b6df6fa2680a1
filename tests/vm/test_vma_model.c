/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random system calls against a model that knows pages, not VMAs: for each page whether it
 * is mapped, its flags, file, offset, and the word it holds.
 *
 * After each call: every page of the process is as the model has it; results are the
 * model's; anonymous pages can be found through their anon_vma; and VMAs are as few as
 * Linux would have them: at each boundary next to a page that the call mapped, moved or
 * changed, the two VMAs differ in something that keeps VMAs apart (A9). Boundaries that a
 * call did not touch may have become superfluous: Linux does not look for those.
 */
#include "vma_fixture.h"

#include <time.h>

#include "random.h"

#define NR_PAGES 48u
#define NR_ROUNDS 20
#define NR_CALLS 600

struct page {
	bool mapped, touched; /* touched: by this call */
	uint64_t flags, pgoff;
	struct file *file; /* the named one; shared anonymous memory is not in the model */
	uint32_t value;
};

struct model {
	struct fixture *f;
	struct random random;
	struct file *file;
	struct page pages[NR_PAGES];
};

static unsigned int below(struct model *m, unsigned int n)
{
	return random_below(&m->random, n);
}

static void pick(struct model *m, unsigned int *page, unsigned int *nr)
{
	*page = below(m, NR_PAGES);
	*nr = 1 + below(m, MIN(NR_PAGES - *page, 10));
}

static int any_prot(struct model *m)
{
	static const int prots[] = { SP_PROT_NONE, PROT_R, PROT_RW, PROT_RW, PROT_RW };

	return prots[below(m, ARRAY_SIZE(prots))];
}

static bool has_anon_vma(struct model *m, unsigned int page)
{
	return vma_at(m->f->mm, page)->anon_vma;
}

/* ---- The calls ---- */

static void map_pages(struct model *m, unsigned int page, unsigned int nr, int prot, bool of_file,
		      bool noreserve, bool noreplace)
{
	int how = SP_MAP_PRIVATE | SP_MAP_FIXED;
	uint64_t flags = vm_access_flags(prot) | VM_MAYWRITE | (noreserve ? VM_NORESERVE : 0);
	bool taken = false;

	if ((flags & VM_WRITE) && !noreserve)
		flags |= VM_ACCOUNT;
	for (unsigned int i = page; i < page + nr; i++)
		taken |= m->pages[i].mapped;
	if (noreplace)
		how = SP_MAP_PRIVATE | SP_MAP_FIXED_NOREPLACE;
	assert_int_equal(map_how(m->f, page, nr, prot, how | (noreserve ? SP_MAP_NORESERVE : 0),
				 of_file ? m->file : NULL, page + 3),
			 noreplace && taken ? -EEXIST : 0);
	if (noreplace && taken)
		return;
	for (unsigned int i = page; i < page + nr; i++)
		m->pages[i] = (struct page){
			.mapped = true,
			.touched = true,
			.flags = flags,
			.pgoff = of_file ? i + 3 : AT(i) >> PAGE_SHIFT,
			.file = of_file ? m->file : NULL,
		};
}

static void do_mmap(struct model *m)
{
	unsigned int page, nr;

	pick(m, &page, &nr);
	map_pages(m, page, nr, any_prot(m), !below(m, 4), !below(m, 8), !below(m, 4));
}

/* Fills a hole with anonymous memory like that below it: where two anon_vmas may meet. */
static void do_fill(struct model *m)
{
	unsigned int page = below(m, NR_PAGES), nr = 1;
	uint64_t like;

	if (m->pages[page].mapped)
		return;
	while (page && !m->pages[page - 1].mapped)
		page--;
	while (page + nr < NR_PAGES && !m->pages[page + nr].mapped)
		nr++;
	like = page ? m->pages[page - 1].flags : VM_READ | VM_WRITE;
	map_pages(m, page, nr,
		  (like & VM_READ ? SP_PROT_READ : 0) | (like & VM_WRITE ? SP_PROT_WRITE : 0),
		  false, like & VM_NORESERVE, true);
}

static void do_munmap(struct model *m)
{
	unsigned int page, nr;

	pick(m, &page, &nr);
	assert_int_equal(unmap(m->f, page, nr), 0);
	for (unsigned int i = page; i < page + nr; i++)
		m->pages[i] = (struct page){ 0 };
}

static void set_flags(struct page *page, uint64_t flags)
{
	page->touched |= page->flags != flags;
	page->flags = flags;
}

static void do_mprotect(struct model *m)
{
	unsigned int page, nr;
	int prot = any_prot(m), err = 0;
	bool had_anon_vma[NR_PAGES];

	pick(m, &page, &nr);
	/*
	 * Merging along the way gives anon_vmas to VMAs that the call has not come to yet:
	 * none, since it merges with a VMA that has the new flags already, and that one it
	 * skips.
	 */
	for (unsigned int i = page; i < page + nr; i++)
		had_anon_vma[i] = m->pages[i].mapped && has_anon_vma(m, i);
	for (unsigned int i = page; i < page + nr && !err; i++) {
		struct page *p = &m->pages[i];
		uint64_t flags = (p->flags & ~VM_ACCESS_FLAGS) | vm_access_flags(prot);

		if (!p->mapped) {
			err = -ENOMEM;
			break;
		}
		if (flags == p->flags)
			continue;
		if (flags & VM_WRITE) {
			if (!(p->flags & (VM_ACCOUNT | VM_WRITE | VM_NORESERVE)))
				flags |= VM_ACCOUNT;
		} else if (!p->file && !had_anon_vma[i]) {
			flags &= ~(uint64_t)VM_ACCOUNT;
		}
		set_flags(p, flags);
	}
	assert_int_equal(protect(m->f, page, nr, prot), err);
}

static void do_madvise(struct model *m)
{
	static const struct {
		int advice;
		uint64_t set, clear;
	} advices[] = {
		{ SP_MADV_MERGEABLE, VM_MERGEABLE, 0 },
		{ SP_MADV_UNMERGEABLE, 0, VM_MERGEABLE },
		{ SP_MADV_DONTFORK, VM_DONTCOPY, 0 },
		{ SP_MADV_DOFORK, 0, VM_DONTCOPY },
		{ SP_MADV_HUGEPAGE, VM_HUGEPAGE, VM_NOHUGEPAGE },
		{ SP_MADV_NOHUGEPAGE, VM_NOHUGEPAGE, VM_HUGEPAGE },
	};
	unsigned int page, nr, which = below(m, ARRAY_SIZE(advices));
	int err = 0;

	pick(m, &page, &nr);
	for (unsigned int i = page; i < page + nr; i++) {
		if (m->pages[i].mapped)
			set_flags(&m->pages[i],
				  (m->pages[i].flags & ~advices[which].clear) | advices[which].set);
		else
			err = -ENOMEM;
	}
	assert_int_equal(advise(m->f, page, nr, advices[which].advice), err);
}

static void do_dontneed(struct model *m)
{
	unsigned int page, nr;
	int err = 0;

	pick(m, &page, &nr);
	for (unsigned int i = page; i < page + nr && err != -EINVAL; i++) {
		if (!m->pages[i].mapped)
			err = -ENOMEM;
		else if (m->pages[i].flags & VM_LOCKED)
			err = -EINVAL;
		else
			m->pages[i].value = 0;
	}
	assert_int_equal(advise(m->f, page, nr, SP_MADV_DONTNEED), err);
}

static void do_mlock(struct model *m)
{
	unsigned int page, nr;
	bool on = below(m, 2);
	int err = 0;

	pick(m, &page, &nr);
	for (unsigned int i = page; i < page + nr; i++) {
		struct page *p = &m->pages[i];

		if (!p->mapped) {
			err = -ENOMEM;
			break;
		}
		set_flags(p, on ? p->flags | VM_LOCKED : p->flags & ~(uint64_t)VM_LOCKED);
	}
	/* Not populated where that is forbidden, which is found out after all VMAs were locked. */
	for (unsigned int i = page; i < page + nr && on && !err; i++)
		if (!(m->pages[i].flags & VM_ACCESS_FLAGS))
			err = -ENOMEM;
	assert_int_equal(lock(m->f, page, nr, on), err);
}

/* Several VMAs, gaps kept. */
static void do_move(struct model *m)
{
	struct page moved[NR_PAGES];
	unsigned int page, nr, to;
	bool keep = !below(m, 4);

	pick(m, &page, &nr);
	to = below(m, NR_PAGES - nr + 1);
	if (to < page + nr && page < to + nr) {
		assert_int_equal(move(m->f, page, nr, to, 0), -EINVAL);
		return;
	}
	if (!m->pages[page].mapped) {
		assert_int_equal(move(m->f, page, nr, to, 0), -EFAULT);
		return;
	}
	for (unsigned int i = page; i < page + nr; i++) {
		moved[i] = m->pages[i];
		moved[i].touched = true;
		if (!moved[i].mapped)
			continue;
		/*
		 * With DONTUNMAP, whether the kept pages are re-based depends on the VMA;
		 * the model leaves that case out.
		 */
		if (keep && !moved[i].file)
			keep = false;
	}
	for (unsigned int i = page; i < page + nr; i++)
		if (moved[i].mapped && !moved[i].file && !has_anon_vma(m, i))
			moved[i].pgoff = AT(to + i - page) >> PAGE_SHIFT;
	assert_int_equal(move(m->f, page, nr, to, keep ? SP_MREMAP_DONTUNMAP : 0), 0);
	for (unsigned int i = page; i < page + nr; i++) {
		if (moved[i].mapped)
			m->pages[to + i - page] = moved[i];
		if (!keep) {
			m->pages[i] = (struct page){ 0 };
		} else if (m->pages[i].mapped) {
			m->pages[i].value = 0;
			m->pages[i].flags &= ~(uint64_t)VM_LOCKED;
		}
	}
}

/* In place: shrinks by unmapping, grows if nothing is there. */
static void do_resize(struct model *m)
{
	unsigned int page, nr, new_nr;
	struct vma *vma;
	uint64_t vma_end;
	int err;

	pick(m, &page, &nr);
	new_nr = 1 + below(m, MIN(NR_PAGES - page, 12));
	err = vm_mremap(m->f->mm, AT(page), LEN(nr), LEN(new_nr), 0, 0, NULL);
	if (!m->pages[page].mapped) {
		assert_int_equal(err, -EFAULT);
		return;
	}
	if (new_nr <= nr) {
		assert_int_equal(err, 0);
		for (unsigned int i = page + new_nr; i < page + nr; i++)
			m->pages[i] = (struct page){ 0 };
		return;
	}
	/*
	 * Where the VMA ends decides between EFAULT, ENOMEM and success; a failed call has
	 * not changed it.
	 */
	vma = vma_at(m->f->mm, page);
	vma_end = (vma->end - BASE) >> PAGE_SHIFT;
	if (err) {
		bool room = vma_end == page + nr;

		for (unsigned int i = page + nr; i < page + new_nr; i++)
			room &= !m->pages[i].mapped;
		assert_int_equal(err, vma_end < page + nr ? -EFAULT : -ENOMEM);
		assert_false(room);
		return;
	}
	assert_true(vma_end >= page + new_nr);
	for (unsigned int i = page + nr; i < page + new_nr; i++) {
		assert_false(m->pages[i].mapped);
		m->pages[i] = m->pages[page + nr - 1];
		m->pages[i].pgoff = m->pages[i - 1].pgoff + 1;
		m->pages[i].value = 0;
		m->pages[i].touched = true;
	}
}

static void do_access(struct model *m)
{
	unsigned int page = below(m, NR_PAGES);
	struct page *p = &m->pages[page];

	if (!(p->flags & VM_READ) || p->file)
		return;
	assert_int_equal(load(m->f->mm, page), p->value);
	if (p->flags & VM_WRITE) {
		p->value = (uint32_t)random_next(&m->random);
		store(m->f->mm, page, p->value);
	}
}

/* Writing makes an anonymous page of a file's: the model does not follow its contents. */
static void do_write_file(struct model *m)
{
	unsigned int page = below(m, NR_PAGES);

	if (m->pages[page].file && (m->pages[page].flags & VM_WRITE) &&
	    (m->pages[page].flags & VM_READ))
		store(m->f->mm, page, 1);
}

/* ---- The comparison ---- */

static bool singular(const struct vma *vma)
{
	return vma->anon_vma_chain.next == vma->anon_vma_chain.prev;
}

static bool could_be_one(const struct vma *a, const struct vma *b)
{
	if (a->end != b->start || a->flags != b->flags || a->file != b->file ||
	    b->pgoff != a->pgoff + vma_pages(a))
		return false;
	if (a->anon_vma && b->anon_vma)
		return a->anon_vma == b->anon_vma;
	return (!a->anon_vma || singular(a)) && (!b->anon_vma || singular(b));
}

/*
 * Could a walk find the page's entry? Its anon_vma is one of the VMA's, and the index is
 * that of the address (A7).
 */
static bool reachable(const struct vma *vma, uint64_t addr)
{
	const struct frame *frame = frame_at(vma->mm, (unsigned int)((addr - BASE) >> PAGE_SHIFT));
	const struct anon_vma_chain *avc;

	if (!frame || !frame_is_anon(frame))
		return true;
	cds_list_for_each_entry(avc, &vma->anon_vma_chain, same_vma)
		if (avc->anon_vma == frame_mapping(frame))
			return frame->index == vma_linear_index(vma, addr);
	return false;
}

static void compare(struct model *m, const char *call)
{
	struct mm *mm = m->f->mm;
	struct vma *vma, *last = NULL;

	for (unsigned int i = 0; i < NR_PAGES; i++) {
		const struct page *p = &m->pages[i];

		vma = vma_lookup(mm, AT(i));
		if (!vma != !p->mapped)
			fail_msg("%s: page %u is %s", call, i, vma ? "mapped" : "not mapped");
		if (!vma)
			continue;
		if (vma->flags != p->flags || vma->file != p->file ||
		    vma_linear_index(vma, AT(i)) != p->pgoff)
			fail_msg("%s: page %u: flags %#" PRIx64 " %#" PRIx64 ", offset %#" PRIx64
				 " %#" PRIx64,
				 call, i, vma->flags, p->flags, vma_linear_index(vma, AT(i)),
				 p->pgoff);
		if (!reachable(vma, AT(i)))
			fail_msg("%s: page %u cannot be reached through its anon_vma", call, i);
	}
	for_each_vma(vma, mm) {
		unsigned int page = (unsigned int)((vma->start - BASE) >> PAGE_SHIFT);

		if (last && could_be_one(last, vma) &&
		    (m->pages[page - 1].touched || m->pages[page].touched))
			fail_msg("%s: superfluous boundary at page %u", call, page);
		last = vma;
	}
	for (unsigned int i = 0; i < NR_PAGES; i++)
		m->pages[i].touched = false;
}

static const struct {
	const char *name;
	void (*fn)(struct model *m);
	unsigned int weight;
} calls[] = {
	{ "mmap", do_mmap, 20 },	 { "munmap", do_munmap, 8 },
	{ "mprotect", do_mprotect, 12 }, { "madvise", do_madvise, 14 },
	{ "dontneed", do_dontneed, 3 },	 { "mlock", do_mlock, 4 },
	{ "move", do_move, 14 },	 { "resize", do_resize, 10 },
	{ "access", do_access, 20 },	 { "fill", do_fill, 8 },
	{ "write", do_write_file, 3 },
};

static void one_call(struct model *m)
{
	unsigned int total = 0, at;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		total += calls[i].weight;
	at = below(m, total);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (at < calls[i].weight) {
			calls[i].fn(m);
			compare(m, calls[i].name);
			return;
		}
		at -= calls[i].weight;
	}
}

static void test_model(void **state)
{
	const char *env = getenv("SP_SEED");
	uint64_t seed = env ? strtoull(env, NULL, 0) : (uint64_t)time(NULL);

	(void)state;
	print_message("SP_SEED=%" PRIu64 "\n", seed);
	for (unsigned int round = 0; round < NR_ROUNDS; round++) {
		struct model m = { .random = { .state = seed + round } };
		void *fresh;

		setup(&fresh);
		m.f = fresh;
		assert_int_equal(file_create(&m.f->vm, 2 * NR_PAGES, 0, false, &m.file), 0);
		for (int i = 0; i < NR_CALLS; i++) {
			one_call(&m);
			if (i % 16 == 0)
				validate(m.f);
		}
		teardown(&fresh);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
