/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * anon_vma chains: preparing, cloning, forking, unlinking (A1-A6).
 *
 * Why there is more than one anon_vma per family: if a child's VMA only joined the parent's
 * anon_vma, a page that the child alone has written would be looked for in every sibling.
 * So each fork adds an anon_vma for what is written afterwards, and the child keeps links
 * (AVCs) to the older ones for what it still shares. Chains would then grow by one with
 * every generation of forks, hence the reuse rule (A6): an ancestor's anon_vma that nobody
 * uses any more, and from which at most one child descends, serves the grandchild.
 *
 *	      vma                      vma (child)
 *	       | same_vma               | same_vma
 *	      avc                      avc ------ avc
 *	       | node                   | node     | node
 *	  anon_vma A  <- tree of A ->---+     anon_vma B (parent A, root A)
 *
 * Order. Chains are lists with the newest AVC first, except that cloning reverses them, as
 * in Linux 7.2: which of several unused anon_vmas a fork finds first depends on it. Within
 * a tree, AVCs of equal start stay in the order of insertion (A2).
 *
 * Lifetime. An anon_vma lives as long as its tree is not empty or an rmap_item refers to
 * it. A child holds its root, because the lock is there. `parent` is looked at only while
 * the tree is not empty; the parent's tree is not empty then either, since whoever is
 * linked to the child is linked to the parent.
 *
 * Locks: mmap_lock of the VMA's mm for the chain and vma->anon_vma (read is enough in
 * anon_vma_prepare(), one thread at a time); the root's rwsem, taken here, for trees and
 * counts.
 *
 * What it does not do: changing a linked VMA's bounds. vma.c and vma_merge.c do, between
 * anon_vma_interval_remove() and anon_vma_interval_insert().
 */
#include "anon_vma.h"

#include <errno.h>

static struct anon_vma *anon_vma_alloc(struct vm *vm)
{
	struct anon_vma *anon_vma = pool_alloc(&vm->anon_vma_pool);

	if (!anon_vma)
		return NULL;
	anon_vma->vm = vm;
	anon_vma->refcount = 1;
	anon_vma->root = anon_vma;
	anon_vma->parent = anon_vma;
	rwsem_init(&anon_vma->rwsem, RANK_anon_vma, vm->config.region != NULL);
	return anon_vma;
}

static void anon_vma_free(struct anon_vma *anon_vma)
{
	SP_ASSERT(interval_tree_empty(&anon_vma->tree));
	rwsem_destroy(&anon_vma->rwsem);
	pool_free(&anon_vma->vm->anon_vma_pool, anon_vma);
}

void anon_vma_get(struct anon_vma *anon_vma)
{
	SP_ASSERT(anon_vma->refcount > 0);
	anon_vma->refcount++;
}

void anon_vma_put(struct anon_vma *anon_vma)
{
	struct anon_vma *root = anon_vma->root;

	SP_ASSERT(anon_vma->refcount > 0);
	if (--anon_vma->refcount)
		return;
	anon_vma_free(anon_vma);
	if (root != anon_vma && !--root->refcount)
		anon_vma_free(root);
}

static struct anon_vma_chain *avc_alloc(struct vm *vm)
{
	struct anon_vma_chain *avc;

	if (cds_list_empty(&vm->spare_avcs))
		return pool_alloc(&vm->avc_pool);
	avc = cds_list_first_entry(&vm->spare_avcs, struct anon_vma_chain, same_vma);
	cds_list_del(&avc->same_vma);
	return avc;
}

static void avc_assign(struct vma *vma, struct anon_vma_chain *avc, struct anon_vma *anon_vma)
{
	avc->vma = vma;
	avc->anon_vma = anon_vma;
	cds_list_add(&avc->same_vma, &vma->anon_vma_chain);
}

static void avc_insert(struct anon_vma_chain *avc)
{
	avc->node.start = avc->vma->pgoff;
	avc->node.last = vma_last_pgoff(avc->vma);
	interval_insert(&avc->anon_vma->tree, &avc->node);
}

static void avc_remove(struct anon_vma_chain *avc)
{
	/* A2: nobody changed the VMA behind the tree's back. */
	SP_ASSERT(avc->node.start == avc->vma->pgoff && avc->node.last == vma_last_pgoff(avc->vma));
	interval_remove(&avc->anon_vma->tree, &avc->node);
}

void anon_vma_interval_remove(struct vma *vma)
{
	struct anon_vma_chain *avc;

	SP_ASSERT(!vma->anon_vma || rwsem_held(&vma->anon_vma->root->rwsem));
	cds_list_for_each_entry(avc, &vma->anon_vma_chain, same_vma)
		avc_remove(avc);
}

void anon_vma_interval_insert(struct vma *vma)
{
	struct anon_vma_chain *avc;

	SP_ASSERT(!vma->anon_vma || rwsem_held(&vma->anon_vma->root->rwsem));
	cds_list_for_each_entry(avc, &vma->anon_vma_chain, same_vma)
		avc_insert(avc);
}

/* ---- Preparing (A3, A4) ---- */

static bool chain_is_singular(const struct vma *vma)
{
	const struct cds_list_head *chain = &vma->anon_vma_chain;

	return chain->next != chain && chain->next == chain->prev;
}

/*
 * Could one anon_vma serve both? They touch, and differ in nothing but what mprotect()
 * changes: sharing now lets them merge later.
 */
static bool could_share(const struct vma *below, const struct vma *above)
{
	return below->end == above->start && below->file == above->file &&
	       !((below->flags ^ above->flags) & ~VM_ACCESS_FLAGS) &&
	       above->pgoff == below->pgoff + vma_pages(below);
}

static struct anon_vma *donated_by(const struct vma *donor, const struct vma *below,
				   const struct vma *above)
{
	if (could_share(below, above) && donor->anon_vma && chain_is_singular(donor))
		return donor->anon_vma;
	return NULL;
}

static struct anon_vma *find_neighbours_anon_vma(const struct vma *vma)
{
	struct anon_vma *anon_vma = NULL;
	struct range_entry e;

	if (range_tree_find(&vma->mm->vmas, vma->end, &e))
		anon_vma = donated_by(e.object, vma, e.object);
	if (!anon_vma && range_tree_find_below(&vma->mm->vmas, vma->start, &e))
		anon_vma = donated_by(e.object, e.object, vma);
	return anon_vma;
}

int anon_vma_prepare(struct vma *vma)
{
	struct vm *vm = vma->mm->vm;
	struct anon_vma *anon_vma;
	struct anon_vma_chain *avc;

	SP_ASSERT(rwsem_held(&vma->mm->mmap_lock));
	if (vma->anon_vma)
		return 0;
	avc = avc_alloc(vm);
	if (!avc)
		return -ENOMEM;
	anon_vma = find_neighbours_anon_vma(vma);
	if (!anon_vma) {
		anon_vma = anon_vma_alloc(vm);
		if (!anon_vma) {
			pool_free(&vm->avc_pool, avc);
			return -ENOMEM;
		}
		anon_vma->id = ++vm->nr_anon_vmas_created;
		anon_vma->num_children = 1; /* a root is its own parent */
	}

	anon_vma_lock_write(anon_vma);
	vma->anon_vma = anon_vma;
	avc_assign(vma, avc, anon_vma);
	avc_insert(avc);
	anon_vma->num_active_vmas++;
	anon_vma_unlock_write(anon_vma);
	return 0;
}

/* ---- Cloning (A5, A6) ---- */

/* Gives dst one AVC, in no tree yet, for each of src's anon_vmas. On failure dst has none. */
static int clone_chain(struct vma *dst, struct vma *src)
{
	struct vm *vm = src->mm->vm;
	struct anon_vma_chain *avc, *from, *tmp;

	SP_ASSERT(cds_list_empty(&dst->anon_vma_chain));
	cds_list_for_each_entry(from, &src->anon_vma_chain, same_vma) {
		avc = avc_alloc(vm);
		if (!avc)
			goto undo;
		avc_assign(dst, avc, from->anon_vma);
	}
	return 0;
undo:
	cds_list_for_each_entry_safe(avc, tmp, &dst->anon_vma_chain, same_vma) {
		cds_list_del(&avc->same_vma);
		pool_free(&vm->avc_pool, avc);
	}
	return -ENOMEM;
}

int anon_vma_clone(struct vma *dst, struct vma *src)
{
	struct anon_vma_chain *avc;
	int err;

	SP_ASSERT(dst->mm == src->mm && rwsem_held(&src->mm->mmap_lock));
	SP_ASSERT(!dst->anon_vma);
	if (!src->anon_vma)
		return 0;
	err = clone_chain(dst, src);
	if (err)
		return err;
	dst->anon_vma = src->anon_vma;
	anon_vma_lock_write(src->anon_vma);
	cds_list_for_each_entry_reverse(avc, &dst->anon_vma_chain, same_vma)
		avc_insert(avc);
	dst->anon_vma->num_active_vmas++;
	anon_vma_unlock_write(src->anon_vma);
	return 0;
}

static bool reusable(const struct anon_vma *anon_vma)
{
	return !anon_vma->num_active_vmas && anon_vma->num_children <= 1;
}

int anon_vma_fork(struct vma *child, struct vma *parent)
{
	struct vm *vm = parent->mm->vm;
	struct anon_vma *own;
	struct anon_vma_chain *avc, *own_avc;
	int err;

	SP_ASSERT(rwsem_held(&parent->mm->mmap_lock));
	SP_ASSERT(!child->anon_vma);
	if (!parent->anon_vma)
		return 0;
	own = anon_vma_alloc(vm);
	if (!own)
		return -ENOMEM;
	own_avc = avc_alloc(vm);
	err = own_avc ? clone_chain(child, parent) : -ENOMEM;
	if (err) {
		if (own_avc)
			pool_free(&vm->avc_pool, own_avc);
		anon_vma_free(own);
		return err;
	}

	anon_vma_lock_write(parent->anon_vma);
	cds_list_for_each_entry_reverse(avc, &child->anon_vma_chain, same_vma) {
		avc_insert(avc);
		avc->anon_vma->forked = true;
		if (!child->anon_vma && reusable(avc->anon_vma)) {
			child->anon_vma = avc->anon_vma;
			child->anon_vma->num_active_vmas++;
		}
	}
	if (!child->anon_vma) {
		own->id = ++vm->nr_anon_vmas_created;
		own->root = parent->anon_vma->root;
		own->parent = parent->anon_vma;
		own->num_active_vmas = 1;
		anon_vma_get(own->root);
		own->parent->num_children++;
		child->anon_vma = own;
		avc_assign(child, own_avc, own);
		avc_insert(own_avc);
		own = NULL;
	}
	anon_vma_unlock_write(parent->anon_vma);
	if (own) {
		pool_free(&vm->avc_pool, own_avc);
		anon_vma_free(own);
	}
	return 0;
}

/* ---- Unlinking (A5a) ---- */

void anon_vma_unlink(struct vma *vma)
{
	struct vm *vm = vma->mm->vm;
	struct anon_vma *active = vma->anon_vma;
	struct anon_vma_chain *avc, *tmp;

	if (!active) {
		SP_ASSERT(cds_list_empty(&vma->anon_vma_chain));
		return;
	}
	anon_vma_lock_write(active);
	cds_list_for_each_entry_safe(avc, tmp, &vma->anon_vma_chain, same_vma) {
		avc_remove(avc);
		/*
		 * AVCs of trees now empty stay for the second loop: the lock may be in one
		 * of them.
		 */
		if (interval_tree_empty(&avc->anon_vma->tree)) {
			avc->anon_vma->parent->num_children--;
			continue;
		}
		cds_list_del(&avc->same_vma);
		pool_free(&vm->avc_pool, avc);
	}
	active->num_active_vmas--;
	vma->anon_vma = NULL;
	anon_vma_unlock_write(active);

	cds_list_for_each_entry_safe(avc, tmp, &vma->anon_vma_chain, same_vma) {
		SP_ASSERT(!avc->anon_vma->num_children && !avc->anon_vma->num_active_vmas);
		anon_vma_put(avc->anon_vma);
		cds_list_del(&avc->same_vma);
		pool_free(&vm->avc_pool, avc);
	}
}
