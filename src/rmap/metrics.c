/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums and maxima of R5's metrics; see metrics.h. */
#include "metrics.h"

static void raise(uint64_t *max, uint64_t value)
{
	if (value > *max)
		*max = value;
}

static void add_loop(struct sp_loop_metrics *m, const struct walk_loop *loop)
{
	m->nr_loops++;
	m->nr_iteration_total += loop->iterations;
	raise(&m->nr_iteration_max, loop->iterations);
	m->skip_addr_out_of_range += loop->out_of_range;
	raise(&m->skip_addr_out_of_range_max, loop->out_of_range);
	m->skip_mm_mismatch += loop->mm_mismatch;
	raise(&m->skip_mm_mismatch_max, loop->mm_mismatch);
	m->skip_invalid_vma += loop->invalid;
	m->nr_rmap_one += loop->calls;
	m->hold_ns_sum += loop->hold_ns;
	raise(&m->hold_ns_max, loop->hold_ns);
}

void walk_metrics_add_loop(struct sp_walk_metrics *m, unsigned int pass,
			   const struct walk_loop *loop)
{
	add_loop(&m->all, loop);
	add_loop(&m->pass[pass], loop);
}

void walk_metrics_add_walk(struct sp_walk_metrics *m, uint64_t walk_ns)
{
	m->nr_walks++;
	m->walk_ns_sum += walk_ns;
	raise(&m->walk_ns_max, walk_ns);
}

static void fold_loops(struct sp_loop_metrics *m, const struct sp_loop_metrics *part)
{
	m->nr_loops += part->nr_loops;
	m->nr_iteration_total += part->nr_iteration_total;
	raise(&m->nr_iteration_max, part->nr_iteration_max);
	m->skip_addr_out_of_range += part->skip_addr_out_of_range;
	raise(&m->skip_addr_out_of_range_max, part->skip_addr_out_of_range_max);
	m->skip_mm_mismatch += part->skip_mm_mismatch;
	raise(&m->skip_mm_mismatch_max, part->skip_mm_mismatch_max);
	m->skip_invalid_vma += part->skip_invalid_vma;
	m->nr_rmap_one += part->nr_rmap_one;
	m->hold_ns_sum += part->hold_ns_sum;
	raise(&m->hold_ns_max, part->hold_ns_max);
}

void walk_metrics_fold(struct sp_walk_metrics *m, const struct sp_walk_metrics *part)
{
	fold_loops(&m->all, &part->all);
	for (unsigned int i = 0; i < ARRAY_SIZE(m->pass); i++)
		fold_loops(&m->pass[i], &part->pass[i]);
	m->nr_walks += part->nr_walks;
	m->nr_fallback += part->nr_fallback;
	m->walk_ns_sum += part->walk_ns_sum;
	raise(&m->walk_ns_max, part->walk_ns_max);
	m->reached += part->reached;
	m->reachable += part->reachable;
}
