/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes and their system calls: handles to mms, and argument checks that
 * belong to no layer below. A process that has exited keeps its handle; every call on it says
 * -ESRCH.
 */
#include <errno.h>

#include "machine.h"

static int process_add(struct sp_machine *m, struct sp_process **ret)
{
	struct sp_process *p = mem_alloc(&m->vm.mem, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->machine = m;
	*ret = p;
	return 0;
}

static void process_ready(struct sp_process *p, struct mm *mm, struct sp_process **ret)
{
	p->mm = mm;
	p->id = mm->id;
	cds_list_add_tail(&p->link, &p->machine->processes);
	*ret = p;
}

SP_API int sp_process_create(struct sp_machine *m, struct sp_process **ret)
{
	struct sp_process *p;
	struct mm *mm;
	int err = process_add(m, &p);

	if (err)
		return err;
	err = mm_create(&m->vm, &mm);
	if (err) {
		mem_free(&m->vm.mem, p, sizeof(*p));
		return err;
	}
	process_ready(p, mm, ret);
	return 0;
}

SP_API int sp_process_fork(struct sp_process *parent, struct sp_process **ret)
{
	struct sp_machine *m = parent->machine;
	struct sp_process *p;
	struct mm *mm;
	int err;

	if (!parent->mm)
		return -ESRCH;
	err = process_add(m, &p);
	if (err)
		return err;
	err = mm_fork(parent->mm, &mm);
	if (err) {
		mem_free(&m->vm.mem, p, sizeof(*p));
		return err;
	}
	event_emit(&m->vm.events, EV_fork, parent->mm->id, mm->id);
	process_ready(p, mm, ret);
	return 0;
}

SP_API int sp_process_exit(struct sp_process *p)
{
	if (!p->mm)
		return -ESRCH;
	event_emit(&p->machine->vm.events, EV_exit, p->id);
	mm_exit(p->mm);
	p->mm = NULL;
	return 0;
}

SP_API bool sp_process_exited(const struct sp_process *p)
{
	return !p->mm;
}

SP_API uint32_t sp_process_id(const struct sp_process *p)
{
	return p->id;
}

SP_API int sp_file_create(struct sp_machine *m, uint64_t nr_pages, uint64_t seed,
			  struct sp_file **ret)
{
	struct sp_file *f = mem_alloc(&m->vm.mem, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	err = file_create(&m->vm, nr_pages, seed, false, &f->file);
	if (err) {
		mem_free(&m->vm.mem, f, sizeof(*f));
		return err;
	}
	cds_list_add_tail(&f->link, &m->files);
	*ret = f;
	return 0;
}

SP_API int sp_mmap(struct sp_process *p, uint64_t addr, uint64_t length, int prot, int flags,
		   struct sp_file *file, uint64_t pgoff, uint64_t *ret)
{
	uint64_t at;
	int err;

	if (!p->mm)
		return -ESRCH;
	err = vm_mmap(p->mm, addr, length, prot, flags, file ? file->file : NULL, pgoff, &at);
	if (!err && ret)
		*ret = at;
	return err;
}

SP_API int sp_munmap(struct sp_process *p, uint64_t addr, uint64_t length)
{
	return p->mm ? vm_munmap(p->mm, addr, length) : -ESRCH;
}

SP_API int sp_mprotect(struct sp_process *p, uint64_t addr, uint64_t length, int prot)
{
	return p->mm ? vm_mprotect(p->mm, addr, length, prot) : -ESRCH;
}

SP_API int sp_mremap(struct sp_process *p, uint64_t addr, uint64_t old_length, uint64_t new_length,
		     int flags, uint64_t new_addr, uint64_t *ret)
{
	uint64_t at;
	int err;

	if (!p->mm)
		return -ESRCH;
	err = vm_mremap(p->mm, addr, old_length, new_length, flags, new_addr, &at);
	if (!err && ret)
		*ret = at;
	return err;
}

SP_API int sp_madvise(struct sp_process *p, uint64_t addr, uint64_t length, enum sp_advice advice)
{
	if (!p->mm)
		return -ESRCH;
	/* It is about frames, which the system calls know nothing of. */
	if (advice == SP_MADV_SOFT_OFFLINE)
		return vm_soft_offline(p->mm, addr, length);
	return vm_madvise(p->mm, addr, length, advice);
}

SP_API int sp_mlock(struct sp_process *p, uint64_t addr, uint64_t length)
{
	return p->mm ? vm_mlock(p->mm, addr, length, true) : -ESRCH;
}

SP_API int sp_munlock(struct sp_process *p, uint64_t addr, uint64_t length)
{
	return p->mm ? vm_mlock(p->mm, addr, length, false) : -ESRCH;
}

SP_API int sp_prctl_set_memory_merge(struct sp_process *p, unsigned long arg2, unsigned long arg3,
				     unsigned long arg4, unsigned long arg5)
{
	return p->mm ? ksm_set_memory_merge(p->mm, arg2, arg3, arg4, arg5) : -ESRCH;
}

SP_API int sp_prctl_get_memory_merge(struct sp_process *p, unsigned long arg2, unsigned long arg3,
				     unsigned long arg4, unsigned long arg5)
{
	return p->mm ? ksm_get_memory_merge(p->mm, arg2, arg3, arg4, arg5) : -ESRCH;
}
