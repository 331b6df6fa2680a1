/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random system calls, scans, reclaim and migration on a small machine, against a model that knows
 * nothing of merging, swapping or sharing: for each process, an array of pages with a permission
 * and eight bytes.
 *
 * After every operation sp_validate() recounts the machine, and now and then every page of every
 * process is compared. Runs under `full` and `direct`, which lose nothing (where `full` misses what
 * Linux misses, pages stay where they are). Small limits make rare paths common: tiny sharing
 * limits, two nodes, three values to write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model_seed.h"
#include "random.h"
#include "samepage.h"

#define BASE	      UINT64_C(0x200000000000)
#define PAGES	      12
#define MAX_PROCESSES 5
#define OPERATIONS    3000
#define FILE_SEED     7

struct page {
	bool mapped, readable, writable;
	bool file; /* private mapping of the file, at its own page offset */
	uint32_t pgoff;
	uint64_t value;
};

struct process {
	struct sp_process *p;
	struct page pages[PAGES];
};

struct world {
	struct sp_machine *m;
	struct sp_file *file;
	uint64_t file_values[PAGES];
	struct process processes[MAX_PROCESSES];
	unsigned int nr;
	uint64_t holds[4];
	struct random random;
	uint64_t step;
	const char *op;
	uint64_t seed;
	enum sp_strategy strategy;
};

#define CHECK(w, cond)                                                                             \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail_msg("%s: seed %" PRIu64 ", strategy %s, step %" PRIu64 ": %s", #cond, \
				 (w)->seed, sp_strategy_name((w)->strategy), (w)->step, (w)->op);  \
	} while (0)

static uint64_t addr_of(unsigned int page)
{
	return BASE + page * SP_PAGE_SIZE;
}

static unsigned int below(struct world *w, unsigned int n)
{
	return random_below(&w->random, n);
}

static struct process *some_process(struct world *w)
{
	return &w->processes[below(w, w->nr)];
}

/* A random range of pages that are all mapped; false when the first choice is not. */
static bool mapped_range(struct world *w, const struct process *p, unsigned int *first,
			 unsigned int *n)
{
	*first = below(w, PAGES);
	*n = 1 + below(w, MIN(4u, PAGES - *first));
	for (unsigned int i = *first; i < *first + *n; i++)
		if (!p->pages[i].mapped)
			return false;
	return true;
}

static void check_page(struct world *w, struct process *p, unsigned int i)
{
	uint64_t value = 0;
	int err = sp_read(p->p, addr_of(i), &value, sizeof(value));

	if (!p->pages[i].readable) {
		CHECK(w, err == -EFAULT);
		return;
	}
	CHECK(w, err == 0);
	if (value != p->pages[i].value)
		fail_msg("seed %" PRIu64 ", strategy %s, step %" PRIu64
			 " (%s): process %u page %u holds %" PRIx64 ", must hold %" PRIx64,
			 w->seed, sp_strategy_name(w->strategy), w->step, w->op,
			 sp_process_id(p->p), i, value, p->pages[i].value);
}

static void check_all(struct world *w)
{
	for (unsigned int i = 0; i < w->nr; i++)
		for (unsigned int j = 0; j < PAGES; j++)
			check_page(w, &w->processes[i], j);
}

static void op_map(struct world *w)
{
	struct process *p = some_process(w);
	unsigned int first = below(w, PAGES), n = 1 + below(w, PAGES - first);
	bool file = below(w, 4) == 0;
	uint32_t pgoff = file ? below(w, PAGES - n + 1) : 0;
	int err = sp_mmap(p->p, addr_of(first), n * SP_PAGE_SIZE, SP_PROT_READ | SP_PROT_WRITE,
			  SP_MAP_PRIVATE | SP_MAP_FIXED, file ? w->file : NULL, pgoff, NULL);

	CHECK(w, err == 0);
	for (unsigned int i = 0; i < n; i++)
		p->pages[first + i] = (struct page){
			.mapped = true,
			.readable = true,
			.writable = true,
			.file = file,
			.pgoff = pgoff + i,
			.value = file ? w->file_values[pgoff + i] : 0,
		};
}

static void op_unmap(struct world *w)
{
	struct process *p = some_process(w);
	unsigned int first = below(w, PAGES), n = 1 + below(w, MIN(3u, PAGES - first));

	CHECK(w, sp_munmap(p->p, addr_of(first), n * SP_PAGE_SIZE) == 0);
	memset(&p->pages[first], 0, n * sizeof(p->pages[0]));
}

static void op_write(struct world *w)
{
	struct process *p = some_process(w);
	unsigned int first = below(w, PAGES), n = 1 + below(w, MIN(4u, PAGES - first));
	uint64_t value = below(w, 3);

	for (unsigned int i = first; i < first + n; i++) {
		int err = sp_write(p->p, addr_of(i), &value, sizeof(value));

		CHECK(w, err == (p->pages[i].writable ? 0 : -EFAULT));
		if (!err)
			p->pages[i].value = value;
	}
}

static void op_read(struct world *w)
{
	check_page(w, some_process(w), below(w, PAGES));
}

static void op_fork(struct world *w)
{
	struct process *parent = some_process(w);
	struct process *child;

	if (w->nr == MAX_PROCESSES)
		return;
	child = &w->processes[w->nr];
	CHECK(w, sp_process_fork(parent->p, &child->p) == 0);
	memcpy(child->pages, parent->pages, sizeof(child->pages));
	for (unsigned int i = 0; i < PAGES; i++) {
		struct sp_vma_info vma;

		/* MADV_DONTFORK leaves a hole. */
		if (child->pages[i].mapped && !sp_vma_find(parent->p, addr_of(i), &vma) &&
		    vma.dontfork)
			memset(&child->pages[i], 0, sizeof(child->pages[i]));
	}
	w->nr++;
}

static void op_exit(struct world *w)
{
	unsigned int i = below(w, w->nr);

	if (w->nr == 1)
		return;
	CHECK(w, sp_process_exit(w->processes[i].p) == 0);
	w->processes[i] = w->processes[--w->nr];
}

static void op_mprotect(struct world *w)
{
	static const int prots[] = {SP_PROT_READ | SP_PROT_WRITE, SP_PROT_READ, SP_PROT_NONE};
	struct process *p = some_process(w);
	int prot = prots[below(w, 3)];
	unsigned int first, n;

	if (!mapped_range(w, p, &first, &n))
		return;
	CHECK(w, sp_mprotect(p->p, addr_of(first), n * SP_PAGE_SIZE, prot) == 0);
	for (unsigned int i = first; i < first + n; i++) {
		p->pages[i].readable = prot & SP_PROT_READ;
		p->pages[i].writable = prot & SP_PROT_WRITE;
	}
}

static void op_madvise(struct world *w)
{
	static const enum sp_advice advices[] = {
		SP_MADV_MERGEABLE,   SP_MADV_MERGEABLE, SP_MADV_MERGEABLE,
		SP_MADV_UNMERGEABLE, SP_MADV_DONTFORK,	SP_MADV_DOFORK,
		SP_MADV_DONTNEED,    SP_MADV_PAGEOUT,	SP_MADV_COLD,
	};
	struct process *p = some_process(w);
	enum sp_advice advice = advices[below(w, ARRAY_SIZE(advices))];
	unsigned int first, n;

	if (!mapped_range(w, p, &first, &n))
		return;
	CHECK(w, sp_madvise(p->p, addr_of(first), n * SP_PAGE_SIZE, advice) == 0);
	if (advice != SP_MADV_DONTNEED)
		return;
	for (unsigned int i = first; i < first + n; i++)
		p->pages[i].value = p->pages[i].file ? w->file_values[p->pages[i].pgoff] : 0;
}

static void op_mremap(struct world *w)
{
	struct process *p = some_process(w);
	bool keep = below(w, 4) == 0;
	int flags = SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED | (keep ? SP_MREMAP_DONTUNMAP : 0);
	struct page moved[PAGES];
	unsigned int first, n, to;
	int err;

	if (!mapped_range(w, p, &first, &n))
		return;
	to = below(w, PAGES - n + 1);
	if (to < first + n && first < to + n)
		return;
	err = sp_mremap(p->p, addr_of(first), n * SP_PAGE_SIZE, n * SP_PAGE_SIZE, flags,
			addr_of(to), NULL);
	/* DONTUNMAP of several VMAs at once is an error that may leave the target unmapped. */
	if (err == -EFAULT || err == -EINVAL) {
		for (unsigned int i = to; i < to + n; i++) {
			struct sp_page_info info;

			CHECK(w, sp_page_info(p->p, addr_of(i), &info) == 0);
			if (!info.vma_end)
				memset(&p->pages[i], 0, sizeof(p->pages[i]));
		}
		return;
	}
	CHECK(w, err == 0);
	memcpy(moved, &p->pages[first], n * sizeof(*moved));
	memcpy(&p->pages[to], moved, n * sizeof(*moved));
	for (unsigned int i = first; i < first + n; i++) {
		if (keep)
			p->pages[i].value =
				p->pages[i].file ? w->file_values[p->pages[i].pgoff] : 0;
		else
			memset(&p->pages[i], 0, sizeof(p->pages[i]));
	}
}

static void op_mlock(struct world *w)
{
	struct process *p = some_process(w);
	unsigned int first, n;

	if (!mapped_range(w, p, &first, &n))
		return;
	for (unsigned int i = first; i < first + n; i++)
		if (!p->pages[i].readable)
			return;
	CHECK(w, sp_mlock(p->p, addr_of(first), n * SP_PAGE_SIZE) == 0);
	CHECK(w, sp_munlock(p->p, addr_of(first), n * SP_PAGE_SIZE) == 0);
}

static void op_scan(struct world *w)
{
	int err = sp_ksm_scan(w->m, 1 + below(w, 2));

	CHECK(w, err == 0 || err == -EAGAIN);
}

static void op_scan_pages(struct world *w)
{
	int err = sp_ksm_scan_pages(w->m, 1 + below(w, 5));

	CHECK(w, err == 0 || err == -EAGAIN);
}

static void op_knob(struct world *w)
{
	static const char *const settings[][2] = {
		{"run", "2"},
		{"run", "1"},
		{"use_zero_pages", "0"},
		{"use_zero_pages", "1"},
		{"smart_scan", "0"},
		{"smart_scan", "1"},
		{"max_page_sharing", "2"},
		{"max_page_sharing", "3"},
		{"max_page_sharing", "256"},
		{"merge_across_nodes", "0"},
		{"merge_across_nodes", "1"},
		{"stable_node_chains_prune_millisecs", "0"},
	};
	const char *const *setting = settings[below(w, ARRAY_SIZE(settings))];
	int err = sp_knob_set(w->m, setting[0], setting[1]);

	CHECK(w, err == 0 || err == -EBUSY);
	if (!strcmp(setting[0], "run"))
		CHECK(w, sp_knob_set(w->m, "run", "1") == 0);
}

static void op_swap_out(struct world *w)
{
	struct process *p = some_process(w);
	int err = sp_swap_out(p->p, addr_of(below(w, PAGES)));

	CHECK(w, err == 0 || err == 1 || err == -EFAULT);
}

static void op_reclaim(struct world *w)
{
	CHECK(w, sp_reclaim(w->m, 1 + below(w, 6), 1 + below(w, 3)) >= 0);
}

static void op_migrate(struct world *w)
{
	struct process *p = some_process(w);
	int err = sp_migrate(p->p, addr_of(below(w, PAGES)), below(w, 3) - 1, below(w, 4) != 0);

	CHECK(w, err == 0 || err == -EFAULT || err == -ENOENT || err == -EACCES || err == -EBUSY ||
			 err == -EOPNOTSUPP);
}

static void op_compact(struct world *w)
{
	CHECK(w, sp_compact(w->m, NULL, NULL) == 0);
}

static void op_hold(struct world *w)
{
	struct process *p = some_process(w);
	uint64_t *hold = &w->holds[below(w, ARRAY_SIZE(w->holds))];

	if (*hold) {
		CHECK(w, sp_drop(w->m, *hold) == 0);
		*hold = 0;
	} else {
		int err = sp_hold(p->p, addr_of(below(w, PAGES)), hold);

		CHECK(w, err == 0 || err == -EFAULT);
	}
}

static void walk_page(struct world *w, struct process *p, unsigned int i)
{
	struct sp_walk_result result;
	int err = sp_walk(p->p, addr_of(i), &result);

	CHECK(w, err == 0 || err == -EFAULT);
	if (err)
		return;
	CHECK(w, result.reached >= result.reached_full);
	if (!result.ksm)
		CHECK(w, result.reached == result.reachable);
}

static void op_walk(struct world *w)
{
	walk_page(w, some_process(w), below(w, PAGES));
}

static void walk_all(struct world *w)
{
	for (unsigned int i = 0; i < w->nr; i++)
		for (unsigned int j = 0; j < PAGES; j++)
			walk_page(w, &w->processes[i], j);
}

static const struct {
	const char *name;
	void (*run)(struct world *w);
	unsigned int weight;
} operations[] = {
	{"map", op_map, 4},	      {"unmap", op_unmap, 2},
	{"write", op_write, 14},      {"read", op_read, 8},
	{"fork", op_fork, 3},	      {"exit", op_exit, 2},
	{"mprotect", op_mprotect, 3}, {"madvise", op_madvise, 12},
	{"mremap", op_mremap, 8},     {"mlock", op_mlock, 1},
	{"scan", op_scan, 10},	      {"scan_pages", op_scan_pages, 4},
	{"knob", op_knob, 3},	      {"swap_out", op_swap_out, 5},
	{"reclaim", op_reclaim, 3},   {"migrate", op_migrate, 6},
	{"compact", op_compact, 1},   {"hold", op_hold, 3},
	{"walk", op_walk, 4},
};

static void step(struct world *w)
{
	unsigned int total = 0, pick;
	char report[4096];

	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		total += operations[i].weight;
	pick = below(w, total);
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		if (pick < operations[i].weight) {
			w->op = operations[i].name;
			operations[i].run(w);
			break;
		}
		pick -= operations[i].weight;
	}
	if (sp_validate(w->m, report, sizeof(report)))
		fail_msg("seed %" PRIu64 ", strategy %s, step %" PRIu64 " (%s): %s", w->seed,
			 sp_strategy_name(w->strategy), w->step, w->op, report);
	CHECK(w, sp_orphan_entries(w->m) == 0);
}

/* Rare paths, by the counters that only they move. */
static struct {
	const char *counter;
	int64_t seen;
} paths[] = {
	{"cow_ksm", 0},		  {"ksm_swpin_copy", 0}, {"pswpin", 0},	       {"pswpout", 0},
	{"pgmigrate_success", 0}, {"pgmigrate_fail", 0}, {"pages_skipped", 0}, {"pages_scanned", 0},
};

static void run_model(enum sp_strategy strategy, uint64_t seed)
{
	struct world w = {.random = {seed}, .seed = seed, .strategy = strategy, .op = "setup"};
	struct sp_config config;
	struct sp_process *reader;

	sp_config_init(&config);
	config.strategy = strategy;
	config.content_bytes = 8;
	config.nr_nodes = 2;
	CHECK(&w, sp_machine_create(&config, &w.m) == 0);
	CHECK(&w, sp_file_create(w.m, PAGES, FILE_SEED, &w.file) == 0);
	CHECK(&w, sp_process_create(w.m, &reader) == 0);
	CHECK(&w, sp_mmap(reader, BASE, PAGES * SP_PAGE_SIZE, SP_PROT_READ,
			  SP_MAP_PRIVATE | SP_MAP_FIXED, w.file, 0, NULL) == 0);
	for (unsigned int i = 0; i < PAGES; i++)
		CHECK(&w, sp_read(reader, addr_of(i), &w.file_values[i],
				  sizeof(w.file_values[i])) == 0);
	CHECK(&w, sp_process_exit(reader) == 0);
	CHECK(&w, sp_process_create(w.m, &w.processes[0].p) == 0);
	w.nr = 1;
	CHECK(&w, sp_knob_set(w.m, "run", "1") == 0);
	CHECK(&w, sp_knob_set(w.m, "max_page_sharing", "3") == 0);
	for (w.step = 0; w.step < OPERATIONS; w.step++) {
		step(&w);
		if (w.step % 4 == 0)
			walk_all(&w);
		if (w.step % 64 == 0)
			check_all(&w);
	}
	check_all(&w);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int64_t value = 0;

		CHECK(&w, sp_counter_get(w.m, paths[i].counter, &value) == 0);
		paths[i].seen += value;
	}
	sp_machine_destroy(w.m);
}

/* A run that never swaps or merges would pass, and show nothing. */
static void check_paths(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (paths[i].seen <= 0)
			fail_msg("no run counted any %s: the operations are too tame",
				 paths[i].counter);
		paths[i].seen = 0;
	}
}

static void test_full(void **state)
{
	uint64_t seed = model_seed("machine model, full").state;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		run_model(SP_STRATEGY_FULL, seed + i);
	check_paths();
}

static void test_direct(void **state)
{
	uint64_t seed = model_seed("machine model, direct").state;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		run_model(SP_STRATEGY_DIRECT, seed + i);
	check_paths();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_direct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
