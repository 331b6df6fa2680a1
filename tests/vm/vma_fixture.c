/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine, and a stand-in for KSM's say in madvise; see vma_fixture.h. */
#include "vma_fixture.h"

static int ksm_madvise(struct vma *vma, uint64_t start, uint64_t end, bool mergeable,
		       uint64_t *flags)
{
	struct fixture *f = vma->mm->vm->ksm;

	assert_true(start >= vma->start && end <= vma->end && start <= end);
	if (!mergeable)
		f->nr_unmergeable++;
	if (f->ksm_error)
		return f->ksm_error;
	if (vma->flags & (VM_SHARED | VM_MAYSHARE))
		return 0;
	*flags = mergeable ? *flags | VM_MERGEABLE : *flags & ~(uint64_t)VM_MERGEABLE;
	return 0;
}

static void madvise_pageout(struct vma *vma, uint64_t addr, struct frame *frame)
{
	struct fixture *f = vma->mm->vm->ksm;

	assert_true(frame_is_anon(frame) && frame->mapcount == 1);
	assert_true(addr >= vma->start && addr < vma->end);
	f->nr_pageout++;
}

int setup(void **state)
{
	struct vm_config config = { .max_map_count = 65530, .thp = THP_NEVER };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(vm_init(&f->vm, &config, 1, 0, 0, CONTENT_BYTES), 0);
	f->vm.ksm = f;
	f->vm.hooks.ksm_madvise = ksm_madvise;
	f->vm.hooks.madvise_pageout = madvise_pageout;
	assert_int_equal(mm_create(&f->vm, &f->mm), 0);
	*state = f;
	return 0;
}

void validate(struct fixture *f)
{
	struct report report;
	struct mm *mm;

	report_init(&report);
	cds_list_for_each_entry(mm, &f->vm.mms, link) {
		mm_validate_vmas(mm, &report);
		mm_validate_pages(mm, &report);
	}
	anon_vma_validate_all(&f->vm, &report);
	assert_int_equal(vm_recount(&f->vm, &report), 0);
	if (report.nr_findings)
		fail_msg("%s", report.text);
	rank_assert_none_held();
}

int teardown(void **state)
{
	struct fixture *f = *state;

	f->vm.mem.fail_at = 0;
	validate(f);
	while (!cds_list_empty(&f->vm.mms))
		mm_exit(cds_list_first_entry(&f->vm.mms, struct mm, link));
	validate(f);
	while (!cds_list_empty(&f->vm.files))
		file_put(cds_list_first_entry(&f->vm.files, struct file, link));
	assert_int_equal(f->vm.frames.nr_used, 0);
	assert_int_equal(f->vm.anon_vma_pool.nr_used, 0);
	vm_destroy(&f->vm);
	assert_int_equal(f->vm.mem.nr_live, 0);
	free(f);
	return 0;
}

int map_how(struct fixture *f, unsigned int page, unsigned int nr, int prot, int flags,
	    struct file *file, uint64_t pgoff)
{
	uint64_t addr = 0;
	int err = vm_mmap(f->mm, AT(page), LEN(nr), prot, flags, file, pgoff, &addr);

	if (!err && (flags & (SP_MAP_FIXED | SP_MAP_FIXED_NOREPLACE)))
		assert_int_equal(addr, AT(page));
	return err;
}

void map(struct fixture *f, unsigned int page, unsigned int nr, int prot)
{
	assert_int_equal(map_how(f, page, nr, prot, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0), 0);
}

int unmap(struct fixture *f, unsigned int page, unsigned int nr)
{
	return vm_munmap(f->mm, AT(page), LEN(nr));
}

int protect(struct fixture *f, unsigned int page, unsigned int nr, int prot)
{
	return vm_mprotect(f->mm, AT(page), LEN(nr), prot);
}

int advise(struct fixture *f, unsigned int page, unsigned int nr, int advice)
{
	return vm_madvise(f->mm, AT(page), LEN(nr), advice);
}

int lock(struct fixture *f, unsigned int page, unsigned int nr, bool on)
{
	return vm_mlock(f->mm, AT(page), LEN(nr), on);
}

int move(struct fixture *f, unsigned int page, unsigned int nr, unsigned int to, int flags)
{
	uint64_t addr = 0;
	int err = vm_mremap(f->mm, AT(page), LEN(nr), LEN(nr),
			    SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED | flags, AT(to), &addr);

	if (!err)
		assert_int_equal(addr, AT(to));
	return err;
}

void store(struct mm *mm, unsigned int page, uint32_t value)
{
	struct frame *frame;

	assert_int_equal(vm_access(mm, AT(page), true, &frame), 0);
	assert_int_equal(frame_write(&mm->vm->frames, frame, 0, &value, sizeof(value)), 0);
}

uint32_t load(struct mm *mm, unsigned int page)
{
	struct frame *frame;
	uint32_t value;

	assert_int_equal(vm_access(mm, AT(page), false, &frame), 0);
	content_read(&mm->vm->frames.content, frame->content, 0, &value, sizeof(value));
	return value;
}

struct vma *vma_at(struct mm *mm, unsigned int page)
{
	struct vma *vma = vma_lookup(mm, AT(page));

	assert_non_null(vma);
	return vma;
}

struct frame *frame_at(struct mm *mm, unsigned int page)
{
	pte_t pte = vm_pte(mm, AT(page));

	return pte_present(pte) && !pte_is_zero_page(pte)
		       ? frame_of_pfn(&mm->vm->frames, pte_value(pte))
		       : NULL;
}

const char *layout(struct mm *mm, char *buf, size_t size)
{
	static const struct {
		uint64_t flag;
		char letter;
	} letters[] = {
		{ VM_READ, 'r' },	{ VM_WRITE, 'w' },     { VM_EXEC, 'x' },
		{ VM_SHARED, 's' },	{ VM_MERGEABLE, 'm' }, { VM_DONTCOPY, 'd' },
		{ VM_LOCKED, 'l' },	{ VM_HUGEPAGE, 'h' },  { VM_NOHUGEPAGE, 'n' },
		{ VM_WIPEONFORK, 'W' },
	};
	size_t used = 0;
	struct vma *vma;

	buf[0] = '\0';
	for_each_vma(vma, mm) {
		uint64_t page = (vma->start - BASE) >> PAGE_SHIFT;
		uint64_t usual = vma->file ? page : vma->start >> PAGE_SHIFT;
		bool charged = vma->flags & VM_ACCOUNT,
		     writable = (vma->flags & (VM_WRITE | VM_SHARED)) == VM_WRITE;

		used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64 "-%" PRIu64 " ",
					 used ? " " : "", page, (vma->end - BASE) >> PAGE_SHIFT);
		for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
			if (vma->flags & letters[i].flag)
				buf[used++] = letters[i].letter;
		if (vma->file)
			buf[used++] = 'f';
		if (charged != writable)
			buf[used++] = 'a';
		if (buf[used - 1] == ' ')
			buf[used++] = '-';
		buf[used] = '\0';
		if (vma->pgoff != usual)
			used += (size_t)snprintf(buf + used, size - used, "@%" PRIu64,
						 vma->file ? vma->pgoff
							   : vma->pgoff - (BASE >> PAGE_SHIFT));
	}
	return buf;
}
