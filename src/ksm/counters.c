/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The read-only files of /sys/kernel/mm/ksm (K39, K40a): one table of names and what they show.
 *
 * pages_volatile and general_profit are computed; the rest is counted where it happens.
 *
 * Locks: none; read between calls.
 */
#include <errno.h>
#include <string.h>

#include "ksm_internal.h"

static int64_t pages_volatile(const struct ksm_counters *c)
{
	int64_t rest = c->rmap_items - c->pages_shared - c->pages_sharing - c->pages_unshared;

	return MAX(rest, 0);
}

static int64_t general_profit(const struct ksm_counters *c)
{
	return (c->pages_sharing + c->ksm_zero_pages) * (int64_t)PAGE_SIZE -
	       c->rmap_items * KSM_ITEM_BYTES;
}

/* In the order in which the kernel lists them. */
#define KSM_COUNTERS(X)                                \
	X(pages_scanned, c->pages_scanned)             \
	X(pages_shared, c->pages_shared)               \
	X(pages_sharing, c->pages_sharing)             \
	X(pages_unshared, c->pages_unshared)           \
	X(pages_volatile, pages_volatile(c))           \
	X(pages_skipped, c->pages_skipped)             \
	X(ksm_zero_pages, c->ksm_zero_pages)           \
	X(full_scans, (int64_t)ksm->scan.seqnr)        \
	X(stable_node_chains, c->stable_node_chains)   \
	X(stable_node_dups, c->stable_node_dups)       \
	X(general_profit, general_profit(c))

int ksm_counter_get(const struct vm *vm, const char *name, int64_t *ret)
{
	const struct ksm *ksm = ksm_of(vm);
	const struct ksm_counters *c = &ksm->count;

#define X(counter, value)              \
	if (!strcmp(name, #counter)) { \
		*ret = (value);        \
		return 0;              \
	}
	KSM_COUNTERS(X)
#undef X
	return -ENOENT;
}

const char *ksm_counter_name(unsigned int i)
{
	static const char *const names[] = {
#define X(counter, value) #counter,
		KSM_COUNTERS(X)
#undef X
	};

	return i < ARRAY_SIZE(names) ? names[i] : NULL;
}
