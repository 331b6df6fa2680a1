/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random processes against a simple oracle: an array of numbers for each. Whatever ksmd, fork,
 * swap, migration and advice do to the pages behind them, a process reads what it wrote, and
 * everything recounts.
 */
#include "ksm_fixture.h"

#define NR_PROCESSES 6
#define NR_PAGES 24
#define NR_CONTENTS 5
#define ROUNDS 600

struct process {
	struct mm *mm; /* NULL: none */
	uint64_t addr;
	uint64_t number[NR_PAGES];
	bool mapped[NR_PAGES];
};

struct model {
	struct fixture f;
	struct random r;
	struct process p[NR_PROCESSES];
	struct frame *held;
};

static uint32_t below(struct model *m, uint32_t n)
{
	return random_below(&m->r, n);
}

static void check(struct process *p)
{
	for (uint32_t i = 0; i < NR_PAGES; i++) {
		if (p->mapped[i])
			assert_int_equal(number_at(p->mm, PG(p->addr, i)), p->number[i]);
	}
}

static void start(struct model *m, struct process *p)
{
	p->mm = new_mm(&m->f);
	p->addr = map(p->mm, NR_PAGES);
	if (below(m, 4))
		advise(p->mm, p->addr, NR_PAGES, SP_MADV_MERGEABLE);
	else
		assert_int_equal(ksm_set_memory_merge(p->mm, 1, 0, 0, 0), 0);
	memset(p->number, 0, sizeof(p->number));
	memset(p->mapped, 1, sizeof(p->mapped));
}

static void write_page(struct model *m, struct process *p, uint32_t i)
{
	if (!p->mapped[i])
		return;
	p->number[i] = below(m, NR_CONTENTS);
	put(p->mm, PG(p->addr, i), p->number[i]);
}

static void toggle_knob(struct model *m)
{
	static const struct {
		const char *name, *value;
	} choices[] = {
		{ "use_zero_pages", "1" },
		{ "use_zero_pages", "0" },
		{ "smart_scan", "1" },
		{ "smart_scan", "0" },
		{ "run", "2" },
		{ "run", "1" },
		{ "max_page_sharing", "3" },
		{ "max_page_sharing", "2" },
		{ "merge_across_nodes", "0" },
		{ "merge_across_nodes", "1" },
		{ "stable_node_chains_prune_millisecs", "0" },
		{ "stable_node_chains_prune_millisecs", "50" },
	};
	uint32_t i = below(m, ARRAY_SIZE(choices));
	int err = ksm_knob_set(&m->f.vm, choices[i].name, choices[i].value);

	assert_true(err == 0 || err == -EBUSY);
}

static void advise_some(struct model *m, struct process *p, uint32_t from, uint32_t nr)
{
	static const int advice[] = { SP_MADV_MERGEABLE, SP_MADV_MERGEABLE, SP_MADV_UNMERGEABLE,
				      SP_MADV_DONTFORK, SP_MADV_DOFORK };
	int err = vm_madvise(p->mm, PG(p->addr, from), nr * PAGE_SIZE,
			     advice[below(m, ARRAY_SIZE(advice))]);

	assert_true(err == 0 || err == -ENOMEM); /* a hole */
}

static void discard(struct process *p, uint32_t from, uint32_t nr)
{
	int err = vm_madvise(p->mm, PG(p->addr, from), nr * PAGE_SIZE, SP_MADV_DONTNEED);

	assert_true(err == 0 || err == -ENOMEM);
	for (uint32_t i = from; i < from + nr; i++)
		p->number[i] = 0;
}

static void fork_into(struct process *p, struct process *child)
{
	*child = *p;
	child->mm = fork_mm(p->mm);
	for (uint32_t i = 0; i < NR_PAGES; i++)
		child->mapped[i] = vma_lookup(child->mm, PG(child->addr, i)) != NULL;
}

static void hold_one(struct model *m, struct process *p, uint32_t i)
{
	pte_t pte = vm_pte(p->mm, PG(p->addr, i));

	if (m->held) {
		drop(&m->f, m->held);
		m->held = NULL;
	} else if (pte_present(pte) && !pte_is_zero_page(pte)) {
		m->held = frame_at(p->mm, PG(p->addr, i));
		hold(m->held);
	}
}

static void step(struct model *m)
{
	struct process *p = &m->p[below(m, NR_PROCESSES)], *other = &m->p[below(m, NR_PROCESSES)];
	uint32_t i = below(m, NR_PAGES), nr = 1 + below(m, NR_PAGES - i);

	if (!p->mm) {
		if (!below(m, 3))
			start(m, p);
		return;
	}
	switch (below(m, 16)) {
	case 0:
	case 1:
	case 2:
		for (uint32_t k = i; k < i + nr; k++)
			write_page(m, p, k);
		break;
	case 3:
		write_page(m, p, i);
		break;
	case 4:
	case 5:
	case 6:
		(void)!ksm_scan_passes(&m->f.vm, 1 + below(m, 3));
		break;
	case 7:
	case 8:
		ksm_do_scan(&m->f.vm, 1 + below(m, 40));
		break;
	case 9:
		if (!other->mm)
			fork_into(p, other);
		break;
	case 10:
		mm_exit(p->mm);
		p->mm = NULL;
		break;
	case 11:
		advise_some(m, p, i, nr);
		break;
	case 12:
		discard(p, i, nr);
		break;
	case 13:
		if (p->mapped[i])
			assert_true(vm_swap_out(p->mm, PG(p->addr, i)) >= -EFAULT);
		break;
	case 14:
		(void)!vm_move_page(p->mm, PG(p->addr, i), (int)below(m, 2), true);
		break;
	case 15:
		if (below(m, 2))
			toggle_knob(m);
		else if (below(m, 3))
			hold_one(m, p, i);
		else if (below(m, 4) == 0) {
			unmap(p->mm, PG(p->addr, i), 1);
			p->mapped[i] = false;
		} else
			ksm_run_for_ms(&m->f.vm, below(m, 100));
		break;
	}
}

static void processes_read_what_they_wrote(void **state)
{
	static struct model m;
	const struct setup setup = { .nr_nodes = 2 };

	(void)state;
	memset(&m, 0, sizeof(m));
	m.r = model_seed();
	fixture_setup(&m.f, &setup);
	knob(&m.f, "max_page_sharing", "3");
	for (int round = 0; round < ROUNDS; round++) {
		step(&m);
		fixture_validate(&m.f);
		if (round % 16)
			continue;
		for (int i = 0; i < NR_PROCESSES; i++) {
			if (m.p[i].mm)
				check(&m.p[i]);
		}
	}
	if (m.held)
		drop(&m.f, m.held);
	fixture_teardown(&m.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_read_what_they_wrote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
