/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums and maxima of R5's metrics; see metrics.h. */
#include "metrics.h"

static void raise(uint64_t *max, uint64_t value)
{
	if (value > *max)
		*max = value;
}

void walk_metrics_add_loop(struct sp_walk_metrics *m, unsigned int pass,
			   const struct walk_loop *loop)
{
	struct sp_pass_metrics *p = &m->pass[pass];

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

	p->nr_loops++;
	p->nr_iteration_total += loop->iterations;
	raise(&p->nr_iteration_max, loop->iterations);
	p->skip_addr_out_of_range += loop->out_of_range;
	raise(&p->skip_addr_out_of_range_max, loop->out_of_range);
	p->skip_mm_mismatch += loop->mm_mismatch;
	raise(&p->skip_mm_mismatch_max, loop->mm_mismatch);
	p->skip_invalid_vma += loop->invalid;
	p->nr_rmap_one += loop->calls;
	p->hold_ns_sum += loop->hold_ns;
	raise(&p->hold_ns_max, loop->hold_ns);
}

void walk_metrics_add_walk(struct sp_walk_metrics *m, uint64_t walk_ns)
{
	m->nr_walks++;
	m->walk_ns_sum += walk_ns;
	raise(&m->walk_ns_max, walk_ns);
}

void walk_metrics_fold(struct sp_walk_metrics *m, const struct sp_walk_metrics *part)
{
	m->nr_walks += part->nr_walks;
	m->nr_loops += part->nr_loops;
	m->nr_iteration_total += part->nr_iteration_total;
	raise(&m->nr_iteration_max, part->nr_iteration_max);
	m->skip_addr_out_of_range += part->skip_addr_out_of_range;
	raise(&m->skip_addr_out_of_range_max, part->skip_addr_out_of_range_max);
	m->skip_mm_mismatch += part->skip_mm_mismatch;
	raise(&m->skip_mm_mismatch_max, part->skip_mm_mismatch_max);
	m->skip_invalid_vma += part->skip_invalid_vma;
	m->nr_rmap_one += part->nr_rmap_one;
	m->nr_fallback += part->nr_fallback;
	m->hold_ns_sum += part->hold_ns_sum;
	raise(&m->hold_ns_max, part->hold_ns_max);
	m->walk_ns_sum += part->walk_ns_sum;
	raise(&m->walk_ns_max, part->walk_ns_max);
	m->reached += part->reached;
	m->reachable += part->reachable;
	m->reached_full += part->reached_full;
	for (unsigned int i = 0; i < ARRAY_SIZE(m->pass); i++) {
		struct sp_pass_metrics *a = &m->pass[i];
		const struct sp_pass_metrics *b = &part->pass[i];

		a->nr_loops += b->nr_loops;
		a->nr_iteration_total += b->nr_iteration_total;
		raise(&a->nr_iteration_max, b->nr_iteration_max);
		a->skip_addr_out_of_range += b->skip_addr_out_of_range;
		raise(&a->skip_addr_out_of_range_max, b->skip_addr_out_of_range_max);
		a->skip_mm_mismatch += b->skip_mm_mismatch;
		raise(&a->skip_mm_mismatch_max, b->skip_mm_mismatch_max);
		a->skip_invalid_vma += b->skip_invalid_vma;
		a->nr_rmap_one += b->nr_rmap_one;
		a->hold_ns_sum += b->hold_ns_sum;
		raise(&a->hold_ns_max, b->hold_ns_max);
	}
}
