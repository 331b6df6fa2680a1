/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * anon_vma: from an anonymous page back to the VMAs that may map it (A1-A6).
 *
 * A page names one anon_vma; the anon_vma has an interval tree of
 * anon_vma_chains (AVCs), each linking it to one VMA. Fork gives the child's VMA an AVC to
 * each of the parent's anon_vmas, plus an anon_vma of its own for pages written
 * later. All anon_vmas of one family share the root's lock.
 *
 * Keys: an AVC is keyed by [vma->pgoff, vma_last_pgoff(vma)] inclusive (A2). Before those of a VMA
 * change, its AVCs leave the trees (anon_vma_interval_remove), and return after.
 *
 * Reference counts (A1): refcount holds the number of AVC trees that are not empty (as one
 * reference), child anon_vmas through `root` (the root only), and rmap_items (ksm).
 * num_children counts anon_vmas whose parent this is, a root counting itself;
 * num_active_vmas counts VMAs whose vma->anon_vma it is.
 *
 * Locks: root->rwsem protects the trees, parent and num_children of the family.
 */
#ifndef SP_ANON_VMA_H
#define SP_ANON_VMA_H

#include "interval_tree.h"
#include "mm.h"

struct anon_vma {
	struct anon_vma *root;
	struct anon_vma *parent;        /* itself for a root */
	struct vm *vm;
	struct rwsem rwsem;             /* the root's is used */
	uint32_t refcount;
	uint32_t num_children;
	uint32_t num_active_vmas;
	/* A fork has linked another mm's VMA, once: written under root->rwsem for write, never cleared. */
	bool forked;
	uint32_t id;                    /* in order of creation, from 1 */
	struct interval_tree tree;      /* avc->node */
};

struct anon_vma_chain {
	struct interval_node node;      /* in anon_vma->tree */
	struct vma *vma;
	struct anon_vma *anon_vma;
	struct cds_list_head same_vma;  /* vma->anon_vma_chain */
};

static inline struct anon_vma_chain *avc_of_node(struct interval_node *node)
{
	return container_of(node, struct anon_vma_chain, node);
}

/* Gives the VMA an anon_vma if it has none: a neighbour's (A4), else a new root. mmap_lock
 * held for read or write. 0 or -ENOMEM. */
int anon_vma_prepare(struct vma *vma) SP_MUST_CHECK;
/* dst (no AVCs, freshly copied from src) gets AVCs to all of src's anon_vmas and src's active
 * one (A5). mmap_lock for write. 0 or -ENOMEM, dst then without any. */
int anon_vma_clone(struct vma *dst, struct vma *src) SP_MUST_CHECK;
/* The same for a fork, with the reuse rule and a new anon_vma (A6). 0 or -ENOMEM. */
int anon_vma_fork(struct vma *child, struct vma *parent) SP_MUST_CHECK;
/* Removes all AVCs of the VMA; vma->anon_vma becomes NULL (A5a). */
void anon_vma_unlink(struct vma *vma);

/* Around a change of start, end or pgoff: the caller holds the lock for write. */
void anon_vma_interval_remove(struct vma *vma);
void anon_vma_interval_insert(struct vma *vma);

/*
 * Recounts num_active_vmas and num_children of every anon_vma that a VMA of the machine is
 * linked to, and checks trees and keys. No lock held.
 */
void anon_vma_validate_all(struct vm *vm, struct report *report);

/*
 * Whether the VMA is of the family of an anon_vma to which an unmapped frame once belonged,
 * and which may be freed by now: it is compared, not looked into. As good as comparing
 * roots, because every VMA that can have an entry for a page of its family has an AVC to
 * the page's anon_vma (A6).
 */
static inline bool vma_linked_to(const struct vma *vma, const struct anon_vma *anon_vma)
{
	const struct anon_vma_chain *avc;

	cds_list_for_each_entry(avc, &vma->anon_vma_chain, same_vma)
		if (avc->anon_vma == anon_vma)
			return true;
	return false;
}

void anon_vma_get(struct anon_vma *anon_vma);
void anon_vma_put(struct anon_vma *anon_vma);

static inline void anon_vma_lock_read(struct anon_vma *anon_vma)
{
	rwsem_read_lock(&anon_vma->root->rwsem);
}
static inline bool anon_vma_trylock_read(struct anon_vma *anon_vma)
{
	return rwsem_read_trylock(&anon_vma->root->rwsem);
}
static inline void anon_vma_unlock_read(struct anon_vma *anon_vma)
{
	rwsem_read_unlock(&anon_vma->root->rwsem);
}
static inline void anon_vma_lock_write(struct anon_vma *anon_vma)
{
	rwsem_write_lock(&anon_vma->root->rwsem);
}
static inline void anon_vma_unlock_write(struct anon_vma *anon_vma)
{
	rwsem_write_unlock(&anon_vma->root->rwsem);
}

#endif
