/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The running kernel's work on pages: migration, swap, compaction, references;
 * see kernel.h.
 *
 * MIGRATION is move_pages(2) to another node. On a kernel with one node it has
 * nowhere to go, and nothing else moves a page of one's choice.
 *
 * SWAP-OUT of a page that is mapped once is MADV_PAGEOUT. One that is mapped
 * more often (M5) goes when its control group is reclaimed, in several rounds (W1). That
 * cannot be aimed, so everything else is mlocked meanwhile, on fault: what is
 * in memory stays, what is not stays out. This splits VMAs for a moment, and they
 * join again. More pages than SPARED_MAX are not spared.
 *
 * Every process that is no fork has a group of its own, with all that are forked from it; a merged page
 * is in the group of whoever had it first, so the process's own is tried first, then the others. The page
 * tables say what went.
 *
 * A REFERENCE is a page in a pipe, put there by vmsplice(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "proc_text.h"

/* What the headers of programs do not always have. */
#define MOVE_OWN 2
#define MOVE_ALL 4
/* What a status says that the kernel did not write. */
#define NOT_TOLD (-9999)

/* A page that must first become inactive takes two. */
#define ROUNDS_MAX 8
/* Later ones are waited for: something else may have the page. */
#define HASTY_ROUNDS 4
#define PAUSE_NS 20000000L
/* The least that a kernel looks at. */
#define ROUND_PAGES 32
/* How many changes of its figures a kernel leaves unreckoned, for each processor. */
#define UPDATES_EACH 65
#define SPARED_MAX UINT64_C(65536)
#define CACHED_ROUNDS 3
#define MLOCK_ON_FAULT 1

/* ---- What there is ----------------------------------------------------------------- */

static bool any_swap(void)
{
	char text[4096];
	const char *line;

	/* A line of headings, then one for each area. */
	if (proc_text_read("/proc/swaps", text, sizeof(text)))
		return false;
	line = strchr(text, '\n');
	return line && line[1];
}

/* Version 2, with the memory controller handed down. */
static void find_cgroup(struct kernel_session *b)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char path[192], text[512];

	b->cgroup[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/cgroup.controllers", places[i]);
		if (proc_text_read(path, text, sizeof(text)) || !strstr(text, "memory"))
			continue;
		snprintf(path, sizeof(path), "%s/cgroup.subtree_control", places[i]);
		if (proc_text_write(path, "+memory"))
			continue;
		snprintf(b->cgroup, sizeof(b->cgroup), "%s", places[i]);
		return;
	}
}

void kernel_work_find(struct kernel_session *session)
{
	session->nr_nodes = host_memory_nodes(NULL);
	session->has_swap = any_swap();
	if (session->has_swap)
		find_cgroup(session);
}

/* ---- Groups ---------------------------------------------------------------------------- */

static void group_path(const struct kernel_session *session, uint32_t id, const char *file,
		       char path[256])
{
	snprintf(path, 256, "%s/samepage-%d-%u%s", session->cgroup, session->owner, id, file);
}

static void cgroup_path(const struct backend_process *p, const char *file, char path[256])
{
	group_path(p->backend->session, p->cgroup_id, file, path);
}

/* Groups are kept for other scenarios' processes: they are what takes longest to make. */
void kernel_work_adopt(struct backend_process *p)
{
	struct kernel_session *session = p->backend->session;
	char path[256], pid[16];

	if (!session->cgroup[0])
		return;
	p->cgroup_id = p->id;
	for (; session->nr_groups < p->id; session->nr_groups++) {
		group_path(session, session->nr_groups + 1, "", path);
		if (!mkdir(path, 0755) || errno == EEXIST)
			continue;
		p->cgroup_id = 0;
		return;
	}
	cgroup_path(p, "/cgroup.procs", path);
	snprintf(pid, sizeof(pid), "%d", p->agent->pid);
	if (proc_text_write(path, pid))
		p->cgroup_id = 0;
}

void kernel_work_allow_swap(struct kernel_session *session, bool allow)
{
	char path[256];

	for (uint32_t id = 1; id <= session->nr_groups; id++) {
		group_path(session, id, "/memory.swap.max", path);
		/* Where it cannot be said, a page may be swapped; the scenario will show it. */
		if (proc_text_write(path, allow ? "max" : "0"))
			return;
	}
}

/* When all processes are gone. That of one that hangs stays, which does no harm. */
void kernel_work_forget(struct kernel_session *session)
{
	char path[256];

	for (; session->nr_groups; session->nr_groups--) {
		group_path(session, session->nr_groups, "", path);
		(void)rmdir(path);
	}
}

static int can_reclaim(struct backend *b)
{
	if (!b->has_swap)
		return kernel_cannot(b, "there is no swap");
	if (!b->cgroup[0])
		return kernel_cannot(b, "no control groups of version 2 with a memory controller");
	return 0;
}

/* A process of the group that still obeys; NULL: none. */
static struct backend_process *member_of(const struct backend_process *leader)
{
	for (struct backend_process *p = leader->backend->processes; p; p = p->next)
		if (p->cgroup_id == leader->cgroup_id && p->agent && !p->agent->hung)
			return p;
	return NULL;
}

/*
 * Whether a group's active pages are to become inactive goes by how long its
 * lists were at the last reckoning. That comes when somebody asks for the
 * figures and enough has changed since: more than 64 times for each
 * processor. (On 6.1 also by a timer, which an idle processor does not
 * keep.) So enough is changed: pages are made and given back.
 */
static void catch_up(const struct backend_process *p)
{
	const struct backend_process *member = member_of(p);
	const uint64_t bytes = (uint64_t)(UPDATES_EACH * (sysconf(_SC_NPROCESSORS_ONLN) + 1)) * PAGE_SIZE;
	const uint64_t args[6] = {
		0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, (uint64_t)-1, 0,
	};
	char path[256], text[8192];
	int64_t addr = member ? agent_syscall(member->agent, SYS_mmap, args) : -ESRCH;

	if (addr > 0) {
		const uint64_t given[6] = { (uint64_t)addr, bytes };

		/* What stays is a mapping outside of all windows. */
		if (agent_syscall(member->agent, SYS_munmap, given))
			return;
	}
	cgroup_path(p, "/memory.stat", path);
	if (proc_text_read(path, text, sizeof(text)))
		return;
}

/* Reclaims from one group; that less was taken than asked for is no error. */
static int reclaim_group(struct backend_process *p, uint64_t nr_pages)
{
	char path[256], bytes[32];
	int err;

	if (!p->cgroup_id)
		return 0;
	cgroup_path(p, "/memory.reclaim", path);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)(nr_pages * PAGE_SIZE));
	err = proc_text_write(path, bytes);
	kernel_did(p->backend);
	if (err == -ENOENT)
		return kernel_cannot(p->backend, "this kernel has no memory.reclaim");
	return err == -EAGAIN ? 0 : err;
}

/* ---- Swap --------------------------------------------------------------------------------- */

static int page_at(struct backend_process *p, uint64_t addr, struct host_page *ret)
{
	if (!p->agent)
		return -ESRCH;
	return host_page_read(&p->backend->pages, p->pagemap_fd, addr & PAGE_MASK, ret);
}

/* ---- Sparing the others --------------------------------------------------------------------- */

struct sparing {
	uint64_t pfn;          /* not this one */
	long number;           /* mlock2 or munlock */
	uint64_t nr_left;
};

/* A stretch of pages that are in memory, and none of them the target. */
static bool is_spared(struct backend_process *p, uint64_t addr, const struct sparing *sparing)
{
	struct host_page page;

	return !page_at(p, addr, &page) && page.kind == HOST_PAGE_PRESENT && !page.zero &&
	       page.pfn != sparing->pfn;
}

static void spare_stretch(struct backend_process *p, uint64_t addr, uint64_t end,
			  const struct sparing *sparing)
{
	const uint64_t args[6] = { addr, end - addr, MLOCK_ON_FAULT };

	/* What cannot be spared may go too: the page tables say so. */
	if (agent_syscall(p->agent, sparing->number, args))
		return;
}

static void spare_vma(struct backend_process *p, const struct smaps_vma *vma, struct sparing *sparing)
{
	uint64_t start = 0;

	/* What the scenario locked stays as it is. */
	if (vma->locked)
		return;
	for (uint64_t addr = vma->map.start; addr < vma->map.end && sparing->nr_left; addr += PAGE_SIZE) {
		bool spared = is_spared(p, addr, sparing);

		sparing->nr_left--;
		if (spared && !start)
			start = addr;
		if (!spared && start) {
			spare_stretch(p, start, addr, sparing);
			start = 0;
		}
	}
	if (start)
		spare_stretch(p, start, vma->map.end, sparing);
}

/* The mappings are those from before: what is locked now is not known to be. */
static void spare_others(struct backend *b, struct sparing *sparing)
{
	for (struct backend_process *p = b->processes; p; p = p->next) {
		const struct smaps_vma *vma;

		if (!p->agent || p->agent->hung)
			continue;
		if (kernel_vma_at(p, 0, true, &vma) || !vma)
			continue;
		for (size_t i = 0; i < p->vmas.nr; i++)
			spare_vma(p, &p->vmas.vmas[i], sparing);
	}
}

/* Pages in the swap cache, mapped ones too. */
static int swap_cached(struct backend *b, int64_t *ret)
{
	char text[4096];
	int err = kept_read(&b->session->files, "/proc/meminfo", text, sizeof(text));

	if (!err)
		err = proc_text_find(text, "SwapCached", ret);
	*ret /= (int64_t)(PAGE_SIZE >> 10);
	return err;
}

/* ---- Swapping out ----------------------------------------------------------------------------- */

/* The group of the process itself first: as often as not, the page is there. */
static int reclaim_all(struct backend_process *p)
{
	int err = reclaim_group(p, ROUND_PAGES);

	for (struct backend_process *q = p->backend->processes; !err && q; q = q->next)
		if (q->cgroup_id != p->cgroup_id && q->cgroup_id == q->id)
			err = reclaim_group(q, ROUND_PAGES);
	return err;
}

/* Between two rounds. */
static void catch_up_all(struct backend *b)
{
	for (struct backend_process *p = b->processes; p; p = p->next)
		if (p->cgroup_id == p->id)
			catch_up(p);
}

/*
 * Of all that move_pages(2) does first, this is wanted: it takes the references that batches of
 * new pages hold, so that ksmd can write-protect those (V18).
 */
void kernel_work_drain(void)
{
	static const char own = 1;
	void *page = (void *)((uintptr_t)&own & PAGE_MASK);
	int node = 0, status;

	(void)syscall(SYS_move_pages, 0, 1L, &page, &node, &status, MOVE_OWN);
}

/*
 * Pages that are new, or no longer locked, wait in batches of each processor
 * until somebody needs them on a list. To move a page to where it is empties
 * the batches, and nothing else.
 */
static void settle(struct backend_process *p, uint64_t addr)
{
	void *page = (void *)(addr & PAGE_MASK);
	int node = NOT_TOLD, status;

	if (!syscall(SYS_move_pages, p->agent->pid, 1L, &page, NULL, &node, 0) && node >= 0)
		(void)syscall(SYS_move_pages, p->agent->pid, 1L, &page, &node, &status, MOVE_OWN);
}

/*
 * A page that several page tables call young is made active by the first round,
 * and becomes inactive again when the kernel thinks that it has too few of those.
 */
static void make_old(struct backend *b)
{
	char path[64];

	for (struct backend_process *p = b->processes; p; p = p->next) {
		if (!p->agent || p->agent->hung)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/clear_refs", p->agent->pid);
		/* It takes more rounds otherwise. */
		if (proc_text_write(path, "1"))
			continue;
	}
}

/*
 * What left every page table, but not memory, is met by that reclaim, too: all of it goes, so that it
 * depends on nothing how much does. What a pipe holds stays, however often it is tried.
 */
static int drop_cached(struct backend_process *p)
{
	int64_t nr_left, before;
	int err = swap_cached(p->backend, &nr_left);

	before = nr_left + 1;
	while (!err && nr_left && nr_left < before) {
		before = nr_left;
		for (unsigned int i = 0; !err && i < CACHED_ROUNDS; i++)
			err = reclaim_all(p);
		if (!err)
			err = swap_cached(p->backend, &nr_left);
	}
	return err;
}

static int swap_out_shared(struct backend_process *p, uint64_t addr, struct host_page *page)
{
	struct backend *b = p->backend;
	const struct timespec pause = { 0, PAUSE_NS };
	struct sparing sparing = { page->pfn, SYS_mlock2, SPARED_MAX };
	int err = 0;

	spare_others(b, &sparing);
	settle(p, addr);
	make_old(b);
	for (unsigned int i = 0; !err && i < ROUNDS_MAX && page->kind == HOST_PAGE_PRESENT; i++) {
		if (i)
			catch_up_all(b);
		if (i >= HASTY_ROUNDS)
			nanosleep(&pause, NULL);
		err = reclaim_all(p);
		if (!err)
			err = page_at(p, addr, page);
	}
	if (!err)
		err = drop_cached(p);
	sparing.number = SYS_munlock;
	sparing.nr_left = SPARED_MAX;
	spare_others(b, &sparing);
	b->generation++;
	return err;
}

static int swap_out_own(struct backend_process *p, uint64_t addr, struct host_page *page)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < ROUNDS_MAX && page->kind == HOST_PAGE_PRESENT; i++) {
		err = kernel_madvise(p, addr & PAGE_MASK, PAGE_SIZE, SP_MADV_PAGEOUT);
		/* Locked memory stays. */
		if (err == -EINVAL)
			return 0;
		if (!err)
			err = page_at(p, addr, page);
	}
	return err;
}

int kernel_swap_out(struct backend_process *p, uint64_t addr)
{
	struct host_page page;
	int err = page_at(p, addr, &page);

	kernel_did(p->backend);
	if (err)
		return err;
	if (page.kind == HOST_PAGE_MIGRATION)
		return -EDEADLK;
	if (page.kind == HOST_PAGE_NONE || (page.kind == HOST_PAGE_PRESENT && (page.zero || !page.anon)))
		return -EFAULT;
	err = can_reclaim(p->backend);
	if (err || page.kind == HOST_PAGE_SWAPPED)
		return err ? err : 1;
	if (!err)
		settle(p, addr);
	if (!err && page.mapcount > 1)
		err = swap_out_shared(p, addr, &page);
	else if (!err)
		err = swap_out_own(p, addr, &page);
	return err ? err : page.kind != HOST_PAGE_PRESENT;
}

int64_t kernel_reclaim(struct backend *b, uint64_t nr_pages, unsigned int rounds)
{
	int64_t before = 0, after = 0;
	int err = can_reclaim(b);

	if (!err)
		err = kernel_counter_get(b, "pswpout", &before);
	for (unsigned int i = 0; !err && i < rounds; i++)
		for (struct backend_process *p = b->processes; !err && p; p = p->next)
			if (p->cgroup_id == p->id) {
				if (i)
					catch_up(p);
				err = reclaim_group(p, nr_pages);
			}
	if (!err)
		err = kernel_counter_get(b, "pswpout", &after);
	return err ? err : after - before;
}

/* ---- Migration ---------------------------------------------------------------------------------- */

int kernel_migrate(struct backend_process *p, uint64_t addr, int node, bool all)
{
	void *page = (void *)(addr & PAGE_MASK);
	int status = NOT_TOLD;
	int now = NOT_TOLD;
	long nr_left;

	kernel_did(p->backend);
	if (!p->agent)
		return -ESRCH;
	if (p->backend->nr_nodes < 2 && node != 0)
		return kernel_cannot(p->backend, "this kernel has one node: move_pages(2) has nowhere to move to");
	if (syscall(SYS_move_pages, p->agent->pid, 1L, &page, NULL, &now, 0))
		return -errno;
	if (now < 0)
		return now;
	if (node < 0)
		node = kernel_next_node(p->backend, now);
	nr_left = syscall(SYS_move_pages, p->agent->pid, 1L, &page, &node, &status, all ? MOVE_ALL : MOVE_OWN);
	if (nr_left < 0)
		return -errno;
	/* A page that no attempt could unmap is only counted. */
	if (nr_left || status == NOT_TOLD)
		return -EBUSY;
	return status < 0 ? status : status == node ? 0 : -EBUSY;
}

int64_t kernel_compact(struct backend *b)
{
	int64_t before = 0, after = 0;
	int err = kernel_counter_get(b, "pgmigrate_success", &before);

	if (!err)
		err = proc_text_write("/proc/sys/vm/compact_memory", "1");
	kernel_did(b);
	if (err == -ENOENT)
		return kernel_cannot(b, "this kernel has no compaction (CONFIG_COMPACTION)");
	if (!err)
		err = kernel_counter_get(b, "pgmigrate_success", &after);
	return err ? err : after - before;
}

/* ---- References --------------------------------------------------------------------------------- */

int kernel_hold(struct backend_process *p, uint64_t addr, uint64_t *handle)
{
	struct host_page page;
	int fd, err = page_at(p, addr, &page);

	kernel_did(p->backend);
	if (err)
		return err;
	if (page.kind != HOST_PAGE_PRESENT || page.zero || !page.anon)
		return -EFAULT;
	err = agent_splice(p->agent, addr & PAGE_MASK, &fd);
	if (!err)
		*handle = (uint64_t)fd;
	return err;
}

int kernel_drop(struct backend *b, uint64_t handle)
{
	kernel_did(b);
	return close((int)handle) ? -errno : 0;
}
