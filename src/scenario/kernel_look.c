/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What processes on the running kernel have: pages, mappings, contents, and
 * figures of KSM; see kernel.h.
 *
 * The mappings of a process are read once and kept until a call may have
 * changed them; their flags, which cost a walk of the page tables, only when
 * somebody asks for them. Mappings that the agent had before the scenario's first are no
 * part of the scenario.
 *
 * Nothing is changed by looking. That is why contents are read by frame (host_frames.h)
 * where that can be, and why those of a swapped page are not shown: to read
 * them is to swap it in. A page of a private file mapping that has no entry is
 * read from the file.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"
#include "proc_text.h"
#include "windows.h"

#define FEW_VMAS 64

/* ---- Mappings -------------------------------------------------------------------- */

static int read_vmas(struct backend_process *p, bool with_flags)
{
	struct backend *b = p->backend;
	int err;

	if (!p->agent)
		return -ESRCH;
	if (p->seen == b->generation + p->generation && (p->with_flags || !with_flags))
		return 0;
	/* Of few mappings, flags cost less than to read all of it twice. */
	with_flags |= p->vmas.nr < FEW_VMAS;
	smaps_free(&p->vmas);
	p->seen = 0;
	err = smaps_read(&p->vmas, &b->mem, p->agent->pid, with_flags, WINDOWS_START, WINDOWS_END);
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	p->seen = b->generation + p->generation;
	p->with_flags = with_flags;
	return 0;
}

int kernel_vma_at(struct backend_process *p, uint64_t addr, bool with_flags,
		  const struct smaps_vma **ret)
{
	size_t low = 0, high;
	int err = read_vmas(p, with_flags);

	*ret = NULL;
	if (err)
		return err;
	high = p->vmas.nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->vmas.vmas[middle].map.end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < p->vmas.nr)
		*ret = &p->vmas.vmas[low];
	return 0;
}

int kernel_vma_find(struct backend_process *p, uint64_t addr, struct sp_vma_info *ret)
{
	const struct smaps_vma *vma;
	int err = kernel_vma_at(p, addr, true, &vma);

	if (err)
		return err;
	if (!vma)
		return -ENOENT;
	*ret = (struct sp_vma_info){
		.start = vma->map.start,
		.end = vma->map.end,
		.pgoff = vma->map.file_backed ? vma->map.pgoff : 0,
		.prot = (int)vma->map.prot,
		.shared = vma->map.shared,
		.file = vma->map.file_backed && !vma->map.shared,
		.mergeable = vma->mergeable,
		.locked = vma->locked,
		.dontfork = vma->dontfork,
	};
	return 0;
}

/* ---- Pages ------------------------------------------------------------------------- */

static int node_of(struct backend_process *p, uint64_t addr, uint32_t *ret)
{
	void *page = (void *)addr;
	int status = 0;

	*ret = 0;
	if (p->backend->nr_nodes < 2)
		return 0;
	if (syscall(SYS_move_pages, p->agent->pid, 1L, &page, NULL, &status, 0))
		return -errno;
	/* The zero page is on no node that it could leave. */
	*ret = status < 0 ? 0 : (uint32_t)status;
	return 0;
}

/* Looked at together. */
#define COUNT_PAGES 256
#define LOOK_PAGES 256

static uint64_t count_pages(struct backend_process *p, const struct image_vma *map, bool (*counts)(const struct host_page *))
{
	struct host_page row[COUNT_PAGES];
	uint64_t nr = 0;

	for (uint64_t addr = map->start; addr < map->end; addr += COUNT_PAGES * PAGE_SIZE) {
		uint64_t nr_pages = MIN((map->end - addr) / PAGE_SIZE, (uint64_t)COUNT_PAGES);

		if (host_page_read_row(&p->backend->pages, p->pagemap_fd, addr, nr_pages, row))
			continue;
		for (uint64_t i = 0; i < nr_pages; i++)
			nr += counts(&row[i]);
	}
	return nr;
}

static bool is_anon(const struct host_page *page)
{
	return page->kind == HOST_PAGE_PRESENT && page->anon;
}

static bool is_file(const struct host_page *page)
{
	return page->kind == HOST_PAGE_PRESENT && !page->anon && !page->zero;
}

static bool is_swapped(const struct host_page *page)
{
	return page->kind == HOST_PAGE_SWAPPED;
}

static bool is_orphan(const struct host_page *page)
{
	return page->kind == HOST_PAGE_MIGRATION;
}

/*
 * Where the frame's flags say "of KSM" of every anonymous page (V15): the
 * mapping counts its pages of KSM, which decides unless it has both kinds.
 */
static int ksm_by_count(struct backend_process *p, const struct smaps_vma *vma, bool *ksm)
{
	uint64_t nr = vma && vma->has_ksm_bytes ? vma->ksm_bytes / PAGE_SIZE : 0;

	*ksm = nr;
	if (!vma || !vma->has_ksm_bytes)
		return BACKEND_KSM_UNKNOWN;
	return !nr || nr == count_pages(p, &vma->map, is_anon) ? 0 : BACKEND_KSM_UNKNOWN;
}

static enum sp_page_state state_of(const struct host_page *page)
{
	switch (page->kind) {
	case HOST_PAGE_PRESENT:
		return page->zero ? SP_PAGE_ZERO : SP_PAGE_PRESENT;
	case HOST_PAGE_SWAPPED:
		return SP_PAGE_SWAPPED;
	case HOST_PAGE_MIGRATION:
		return SP_PAGE_MIGRATION;
	case HOST_PAGE_NONE:
		break;
	}
	return SP_PAGE_NONE;
}

int kernel_page_info(struct backend_process *p, uint64_t addr, struct sp_page_info *ret)
{
	const struct host_pages *pages = &p->backend->pages;
	const struct smaps_vma *vma;
	struct host_page page;
	int err;

	addr &= PAGE_MASK;
	if (!p->agent)
		return -ESRCH;
	err = host_page_read(pages, p->pagemap_fd, addr, &page);
	if (!err)
		err = kernel_vma_at(p, addr, pages->ksm_bit_lies, &vma);
	if (err)
		return err;
	if (vma && vma->map.start > addr)
		vma = NULL;
	*ret = (struct sp_page_info){
		.state = state_of(&page),
		.ksm = page.ksm,
		.anon = page.anon,
		.huge = page.huge,
		.pfn = page.pfn,
		.mapcount = page.mapcount,
		.linear_index = BACKEND_INDEX_UNKNOWN,
	};
	if (vma) {
		ret->vma_start = vma->map.start;
		ret->vma_end = vma->map.end;
		if (vma->map.file_backed)
			ret->linear_index = vma->map.pgoff + (addr - vma->map.start) / PAGE_SIZE;
	}
	if (page.kind != HOST_PAGE_PRESENT)
		return 0;
	err = node_of(p, addr, &ret->nid);
	if (err || !pages->ksm_bit_lies)
		return err;
	ret->ksm = false;
	return page.anon ? ksm_by_count(p, vma, &ret->ksm) : 0;
}

/* The nodes of all pages in one call. 6.1 does not tell that of a page under PROT_NONE. */
static int take_nodes(struct backend_process *p, uint64_t addr, unsigned int nr, struct backend_page *ret)
{
	void *addresses[LOOK_PAGES];
	int status[LOOK_PAGES];

	if (p->backend->nr_nodes < 2)
		return 0;
	for (unsigned int i = 0; i < nr; i++)
		addresses[i] = (void *)(addr + i * PAGE_SIZE);
	if (syscall(SYS_move_pages, p->agent->pid, (long)nr, addresses, NULL, status, 0))
		return -errno;
	for (unsigned int i = 0; i < nr; i++)
		if (ret[i].state == SP_PAGE_PRESENT)
			ret[i].nid = status[i] < 0 ? BACKEND_NODE_UNKNOWN : (uint32_t)status[i];
	return 0;
}

/* The mapping's count decides for all of its pages, so it is asked once for each mapping. */
static int take_ksm_by_count(struct backend_process *p, uint64_t addr, unsigned int nr,
			     struct backend_page *ret)
{
	const struct smaps_vma *vma = NULL;
	bool ksm = false, asked = false;
	int unknown = 0;

	for (unsigned int i = 0; i < nr; i++, addr += PAGE_SIZE) {
		bool needed = ret[i].state == SP_PAGE_PRESENT && ret[i].anon;
		int err;

		ret[i].ksm = false;
		if (!needed)
			continue;
		if (!vma || addr < vma->map.start || addr >= vma->map.end) {
			err = kernel_vma_at(p, addr, true, &vma);
			if (err)
				return err;
			if (vma && vma->map.start > addr)
				vma = NULL;
			asked = false;
		}
		if (!asked)
			unknown = ksm_by_count(p, vma, &ksm);
		asked = vma;
		ret[i].ksm = ksm;
		ret[i].ksm_unknown = unknown;
	}
	return 0;
}

static int look_row(struct backend_process *p, uint64_t addr, unsigned int nr, bool with_nodes,
		    struct backend_page *ret)
{
	struct backend *b = p->backend;
	struct host_page row[LOOK_PAGES];
	int err = host_page_read_row(&b->pages, p->pagemap_fd, addr, nr, row);

	if (err)
		return err;
	for (unsigned int i = 0; i < nr; i++)
		ret[i] = (struct backend_page){
			.state = state_of(&row[i]),
			.anon = row[i].anon,
			.ksm = row[i].ksm,
			.pfn = row[i].pfn,
		};
	if (with_nodes)
		err = take_nodes(p, addr, nr, ret);
	return err || !b->pages.ksm_bit_lies ? err : take_ksm_by_count(p, addr, nr, ret);
}

int kernel_look(struct backend_process *p, uint64_t addr, uint64_t nr_pages, bool with_nodes,
		struct backend_page *ret)
{
	int err = p->agent ? 0 : -ESRCH;

	for (uint64_t done = 0; !err && done < nr_pages; done += LOOK_PAGES)
		err = look_row(p, addr + done * PAGE_SIZE, (unsigned int)MIN(nr_pages - done, (uint64_t)LOOK_PAGES),
			       with_nodes, ret + done);
	return err;
}

/* ---- Contents ------------------------------------------------------------------------- */

static int read_file_page(struct backend *b, const struct smaps_vma *vma, uint64_t addr, void *buf,
			  uint64_t length)
{
	for (const struct backend_file *file = b->files; file; file = file->next) {
		uint64_t at = vma->map.pgoff * PAGE_SIZE + addr - vma->map.start;
		const char *name = strstr(vma->map.name, file->name);
		size_t end = strlen(file->name);

		if (!name || (name[end] && name[end] != ' '))
			continue;
		return pread(file->fd, buf, length, (off_t)at) == (ssize_t)length ? 0 : -ENODATA;
	}
	return -ENODATA;
}

static int peek_page(struct backend_process *p, uint64_t addr, void *buf, uint64_t length)
{
	struct backend *b = p->backend;
	const struct smaps_vma *vma;
	struct host_page page;
	int err = host_page_read_entry(p->pagemap_fd, addr & PAGE_MASK, &page);

	if (!err)
		err = kernel_vma_at(p, addr, false, &vma);
	if (err)
		return err;
	if (!vma || vma->map.start > addr)
		return -ENODATA;
	switch (page.kind) {
	case HOST_PAGE_PRESENT:
		break;
	case HOST_PAGE_NONE:
		if (!vma->map.file_backed)
			return -ENODATA;
		if (!vma->map.shared)
			return read_file_page(b, vma, addr, buf, length);
		break;
	default:
		return kernel_cannot(b, "to look at a swapped page would swap it in");
	}
	if (page.kind == HOST_PAGE_PRESENT && b->session->frames.fd >= 0 &&
	    !host_frames_read(&b->session->frames, page.pfn, buf, addr & ~PAGE_MASK, length))
		return 0;
	return pread(p->mem_fd, buf, length, (off_t)addr) == (ssize_t)length ? 0 : -ENODATA;
}

int kernel_peek(struct backend_process *p, uint64_t addr, void *buf, uint64_t length)
{
	int err = p->agent ? 0 : -ESRCH;

	for (uint64_t done = 0; !err && done < length;) {
		uint64_t here = addr + done;
		uint64_t part = MIN(length - done, PAGE_SIZE - (here & ~PAGE_MASK));

		err = peek_page(p, here, (char *)buf + done, part);
		done += part;
	}
	return err;
}

/* ---- Figures of a process ----------------------------------------------------------------- */

static int count_all(struct backend_process *p, bool (*counts)(const struct host_page *), int64_t *ret)
{
	int err = read_vmas(p, false);

	*ret = 0;
	for (size_t i = 0; !err && i < p->vmas.nr; i++)
		*ret += (int64_t)count_pages(p, &p->vmas.vmas[i].map, counts);
	return err;
}

static int any_mergeable(struct backend_process *p, int64_t *ret)
{
	int err = read_vmas(p, true);

	*ret = 0;
	for (size_t i = 0; !err && i < p->vmas.nr; i++)
		*ret |= p->vmas.vmas[i].mergeable;
	return err;
}

static int ksm_stat(struct backend_process *p, const char *name, int64_t *ret)
{
	char path[64];
	int err = 0;

	if (p->stat_moment != p->backend->moment) {
		snprintf(path, sizeof(path), "/proc/%d/ksm_stat", p->agent->pid);
		err = proc_text_read(path, p->stat, sizeof(p->stat));
		p->stat_moment = err ? 0 : p->backend->moment;
	}
	if (!err)
		err = proc_text_find(p->stat, name, ret);
	if (err != -ENOENT)
		return err;
	/* Older kernels have this in a file of its own, and others not at all. */
	if (!strcmp(name, "ksm_merging_pages")) {
		snprintf(path, sizeof(path), "/proc/%d/ksm_merging_pages", p->agent->pid);
		return proc_text_value(path, ret);
	}
	return kernel_cannot(p->backend, "this kernel's /proc/PID/ksm_stat has no %s", name);
}

int kernel_process_stat(const struct backend_process *const_p, const char *name, int64_t *ret)
{
	/* What is kept of a process's mappings is no part of its state. */
	struct backend_process *p = (struct backend_process *)(uintptr_t)const_p;
	bool (*counts)(const struct host_page *) = NULL;
	int64_t more = 0;
	int err;

	if (!strcmp(name, "exited")) {
		*ret = !p->agent;
		return 0;
	}
	if (!p->agent)
		return -ESRCH;
	if (!strcmp(name, "vmas")) {
		err = read_vmas(p, false);
		*ret = (int64_t)p->vmas.nr;
		return err;
	}
	if (!strcmp(name, "rss")) {
		err = count_all(p, is_anon, ret);
		if (!err)
			err = count_all(p, is_file, &more);
		*ret += more;
		return err;
	}
	if (!strcmp(name, "rss_anon"))
		counts = is_anon;
	else if (!strcmp(name, "rss_file"))
		counts = is_file;
	else if (!strcmp(name, "swap"))
		counts = is_swapped;
	else if (!strcmp(name, "orphan_entries"))
		counts = is_orphan;
	if (counts)
		return count_all(p, counts, ret);
	if (!strcmp(name, "ksm_mergeable"))
		return any_mergeable(p, ret);
	if (!strcmp(name, "ksm_merge_any") && p->backend->has_merge_any) {
		const unsigned long none[4] = { 0 };
		int any = kernel_prctl_get(p, none);

		*ret = any;
		return any < 0 ? any : 0;
	}
	return ksm_stat(p, name, ret);
}
