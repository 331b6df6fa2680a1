/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks of what vma.c, vma_merge.c and anon_vma.c keep true.
 *
 * mm_validate_vmas()		one mm: the range tree against its VMAs, and each VMA by itself
 * anon_vma_validate_all()	the machine: interval trees against chains, and the counts that
 *				decide what a fork may reuse (A6)
 *
 * To find every anon_vma once without a set of those seen: an anon_vma is checked when the
 * AVC that is first in its tree is met. Anon_vmas whose tree is empty, kept alive by an
 * rmap_item, are ksm/'s to check.
 *
 * num_children is recounted through the tree: whoever has a VMA linked to the child has it
 * linked to the parent too, so all children are found in the chains of the VMAs in the
 * parent's tree.
 *
 * Locks: mmap_lock for read, or none where nobody else works on the machine.
 */
#include "vma.h"

static void check_vma(const struct vma *vma, struct report *report)
{
	const uint64_t shared = VM_SHARED | VM_MAYSHARE;
	const struct anon_vma_chain *avc;
	bool active = false;

	REPORT_UNLESS(report,
		      vma->start < vma->end && page_aligned(vma->start) && page_aligned(vma->end) &&
			      vma->end <= TASK_SIZE,
		      "vma %#lx-%#lx: bounds", vma->start, vma->end);
	REPORT_UNLESS(report, vma_last_pgoff(vma) >= vma->pgoff, "vma %#lx: page offsets wrap",
		      vma->start);
	REPORT_UNLESS(report, !(vma->flags & shared) || (vma->flags & shared) == shared,
		      "vma %#lx: shared and not", vma->start);
	REPORT_UNLESS(report, !(vma->flags & VM_SHARED) || vma->file,
		      "vma %#lx: shared without a file", vma->start);
	REPORT_UNLESS(report, !(vma->flags & VM_SHARED) || !vma->anon_vma,
		      "vma %#lx: shared with an anon_vma", vma->start);
	REPORT_UNLESS(report,
		      (vma->flags & (VM_HUGEPAGE | VM_NOHUGEPAGE)) != (VM_HUGEPAGE | VM_NOHUGEPAGE),
		      "vma %#lx: huge pages wanted and not", vma->start);
	REPORT_UNLESS(report,
		      !(vma->flags & VM_ACCOUNT) || !(vma->flags & (VM_SHARED | VM_NORESERVE)),
		      "vma %#lx: charged though shared or not reserved", vma->start);
	cds_list_for_each_entry(avc, &vma->anon_vma_chain, same_vma) {
		REPORT_UNLESS(report, avc->vma == vma, "vma %#lx: its chain has another's link",
			      vma->start);
		REPORT_UNLESS(report, vma->anon_vma && avc->anon_vma->root == vma->anon_vma->root,
			      "vma %#lx: anon_vmas of two families", vma->start);
		REPORT_UNLESS(report,
			      avc->node.start == vma->pgoff &&
				      avc->node.last == vma_last_pgoff(vma),
			      "vma %#lx: key %#lx-%#lx, pgoff %#lx", vma->start, avc->node.start,
			      avc->node.last, vma->pgoff);
		active |= avc->anon_vma == vma->anon_vma;
	}
	REPORT_UNLESS(report, active == !!vma->anon_vma, "vma %#lx: not linked to its own anon_vma",
		      vma->start);
}

void mm_validate_vmas(struct mm *mm, struct report *report)
{
	const char *wrong = range_tree_validate(&mm->vmas);
	struct range_entry e;
	uint64_t nr = 0;

	REPORT_UNLESS(report, !wrong, "mm %u: %s", mm->id, wrong);
	for (uint64_t addr = 0; range_tree_find_above(&mm->vmas, addr, &e); addr = e.end) {
		const struct vma *vma = e.object;

		nr++;
		REPORT_UNLESS(report, vma->mm == mm && vma->start == e.start && vma->end == e.end,
			      "mm %u: the tree has %#lx-%#lx where the vma is %#lx-%#lx", mm->id,
			      e.start, e.end, vma->start, vma->end);
		check_vma(vma, report);
	}
	REPORT_UNLESS(report, nr == mm->map_count, "mm %u: map_count %u, %lu vmas", mm->id,
		      mm->map_count, nr);
}

static const struct anon_vma_chain *first_of(const struct anon_vma *anon_vma)
{
	return avc_of_node(interval_first(&anon_vma->tree, 0, UINT64_MAX));
}

/* Children of the anon_vma that are first met in this VMA. */
static uint32_t count_children(const struct anon_vma *anon_vma, const struct vma *vma)
{
	const struct anon_vma_chain *avc;
	uint32_t nr = 0;

	cds_list_for_each_entry(avc, &vma->anon_vma_chain, same_vma)
		if (avc->anon_vma->parent == anon_vma && first_of(avc->anon_vma) == avc)
			nr++;
	return nr;
}

/* Returns the number of AVCs in its tree. */
static uint64_t check_anon_vma(const struct anon_vma *anon_vma, struct report *report)
{
	uint64_t nr, counted = 0;
	uint32_t active = 0, children = 0;
	const char *wrong = interval_validate(&anon_vma->tree, &nr);

	REPORT_UNLESS(report, !wrong, "anon_vma %u: %s", anon_vma->id, wrong);
	for (struct interval_node *node = interval_first(&anon_vma->tree, 0, UINT64_MAX); node;
	     node = interval_next(node, 0, UINT64_MAX)) {
		const struct anon_vma_chain *avc = avc_of_node(node);

		counted++;
		REPORT_UNLESS(report, avc->anon_vma == anon_vma,
			      "anon_vma %u: its tree has another's link", anon_vma->id);
		REPORT_UNLESS(report, anon_vma->forked || avc->vma->mm == first_of(anon_vma)->vma->mm,
			      "anon_vma %u: VMAs of two mms, but never forked", anon_vma->id);
		active += avc->vma->anon_vma == anon_vma;
		children += count_children(anon_vma, avc->vma);
	}
	REPORT_UNLESS(report, counted == nr, "anon_vma %u: %lu links met, %lu in the tree",
		      anon_vma->id, counted, nr);
	REPORT_UNLESS(report, active == anon_vma->num_active_vmas,
		      "anon_vma %u: num_active_vmas %u, counted %u", anon_vma->id,
		      anon_vma->num_active_vmas, active);
	REPORT_UNLESS(report, children == anon_vma->num_children,
		      "anon_vma %u: num_children %u, counted %u", anon_vma->id,
		      anon_vma->num_children, children);
	REPORT_UNLESS(report, anon_vma->refcount >= 1, "anon_vma %u: no reference", anon_vma->id);
	REPORT_UNLESS(report, anon_vma->root->root == anon_vma->root,
		      "anon_vma %u: the root has a root", anon_vma->id);
	return counted;
}

void anon_vma_validate_all(struct vm *vm, struct report *report)
{
	const struct anon_vma_chain *avc;
	uint64_t in_chains = 0, in_trees = 0;
	const struct vma *vma;
	struct mm *mm;

	cds_list_for_each_entry(mm, &vm->mms, link) {
		for_each_vma(vma, mm) {
			cds_list_for_each_entry(avc, &vma->anon_vma_chain, same_vma) {
				in_chains++;
				if (interval_tree_empty(&avc->anon_vma->tree))
					report_add(report,
						   "anon_vma %u: linked, with an empty tree",
						   avc->anon_vma->id);
				else if (first_of(avc->anon_vma) == avc)
					in_trees += check_anon_vma(avc->anon_vma, report);
			}
		}
	}
	REPORT_UNLESS(report, in_chains == in_trees, "%lu links in chains, %lu in trees", in_chains,
		      in_trees);
	REPORT_UNLESS(report, vm->avc_pool.nr_used == in_chains,
		      "%lu links allocated, %lu in chains", vm->avc_pool.nr_used, in_chains);
}
