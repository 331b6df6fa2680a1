/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules that name causes; see cause.h.
 *
 * A rule applies to some strategies, wants some features and refuses others; the first that fits
 * names the cause. Each wants what its explanation speaks of, so that what merely looks like it falls
 * through to `other`. The strategies that ask by address or by a stored index have rules of their
 * own; what Linux's own walk misses is told first.
 */
#include "cause.h"

#include <stdio.h>
#include <string.h>

#include "bits.h"

#define ALL	   ((1u << SP_NR_STRATEGIES) - 1)
#define BY_ADDRESS (1u << SP_STRATEGY_ADDRESS)
#define RETRY	   (1u << SP_STRATEGY_RETRY)
#define BY_INDEX   (1u << SP_STRATEGY_INDEX)
#define ORPHAN	   (1u << FAILURE_ORPHAN)

struct rule {
	const char *name;
	unsigned int strategies;
	unsigned int kinds; /* 0: all */
	uint32_t wants, refuses;
	uint32_t wants_one_of; /* 0: nothing more */
	const char *text, *facts;
};

static const struct rule rules[] = {
	/* What Linux misses as well. */
	{
		.name = "unmerged",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_NOT_MERGEABLE | FEATURE_SWAPPED | FEATURE_UNMERGED,
		.refuses = FEATURE_OWN_ITEM,
		.text = "MADV_UNMERGEABLE leaves swap entries alone; swapped in again they map the "
			"merged page, in memory that has no items any more",
		.facts = "V4, W4, K32",
	},
	{
		.name = "swapped-foreign",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_OWN_ITEM | FEATURE_OTHER_ANON_VMA | FEATURE_SWAPPED,
		.text = "swapped in at an address whose item belongs to another anon_vma, and ksmd "
			"keeps that item",
		.facts = "V6, R6 (d), K17",
	},
	{
		.name = "swapped-fresh",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_SWAPPED,
		.refuses = FEATURE_OWN_ITEM | FEATURE_NOT_MERGEABLE,
		.text = "swapped in where no item leads; missed until ksmd scans it",
		.facts = "V6, R6 (d), W3",
	},
	{
		.name = "no-node",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_NO_NODE,
		.wants_one_of = FEATURE_SHARED | FEATURE_FORKED | FEATURE_INHERITED,
		.text = "ksmd made it a merged page, could not merge the second one with it, and took that back "
			"in the scanned process only; shared by fork, it stays merged here, without a node",
		.facts = "S11, K26, K27",
	},
	{
		.name = "moved-foreign",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_OWN_ITEM | FEATURE_OTHER_ANON_VMA | FEATURE_MOVED,
		.text = "mremap unshares merged pages in mergeable memory only; this one was moved as it is, "
			"to an address whose item belongs to another anon_vma",
		.facts = "S10, M1, K27, K17",
	},
	{
		.name = "moved-fresh",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_MOVED,
		.refuses = FEATURE_OWN_ITEM,
		.text = "mremap unshares merged pages in mergeable memory only; this one was moved as it is, "
			"to where no item leads",
		.facts = "S10, M1, K27",
	},
	{
		.name = "parent",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_NOT_MERGEABLE | FEATURE_SHARED,
		.refuses = FEATURE_OWN_ITEM | FEATURE_MOVED,
		.text = "shared by fork when a relative's scan merged it; the only items are the "
			"relative's, and this memory is never scanned",
		.facts = "V3, K27, R6 (b)",
	},
	{
		.name = "child",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_NOT_MERGEABLE,
		.wants_one_of = FEATURE_FORKED | FEATURE_INHERITED,
		.refuses = FEATURE_OWN_ITEM | FEATURE_SHARED | FEATURE_MOVED,
		.text = "mapped through fork, where no relative's item leads, in memory that is never "
			"scanned",
		.facts = "R6 (b), R6 (c), K27",
	},
	{
		.name = "fork-unscanned",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_INHERITED,
		.refuses = FEATURE_OWN_ITEM | FEATURE_NOT_MERGEABLE | FEATURE_SWAPPED | FEATURE_MOVED |
			   FEATURE_OFF_LIST,
		.text = "merged when it was forked, and the parent's item that led to it is gone; missed "
			"until ksmd scans this process",
		.facts = "R6 (c), R2, M4",
	},
	{
		.name = "upgraded-unscanned",
		.strategies = ALL,
		.wants = FEATURE_LINUX,
		.wants_one_of = FEATURE_SHARED | FEATURE_FORKED,
		.refuses = FEATURE_OWN_ITEM | FEATURE_NOT_MERGEABLE | FEATURE_SWAPPED | FEATURE_MOVED |
			   FEATURE_INHERITED,
		.text = "shared by fork when a relative's scan merged it; no item leads to it until ksmd "
			"scans this process",
		.facts = "K27, R6 (b)",
	},
	{
		.name = "rejoined",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_REJOINED,
		.refuses = FEATURE_OWN_ITEM | FEATURE_SWAPPED | FEATURE_MOVED | FEATURE_SHARED |
			   FEATURE_FORKED | FEATURE_INHERITED | FEATURE_WRONG_TREE,
		.text = "came back from swap as a page that is not merged, shared with another mapping, "
			"and was merged there",
		.facts = "S14, W3, K27",
	},
	{
		.name = "wrong-tree",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_OFF_LIST | FEATURE_WRONG_TREE,
		.refuses = FEATURE_OWN_ITEM | FEATURE_NOT_MERGEABLE | FEATURE_SWAPPED | FEATURE_MOVED,
		.text = "its stable node met an equal one in another NUMA node's tree; that merge fails, and "
			"the item leaves the stable node's list while the page stays merged",
		.facts = "K30a",
	},
	{
		.name = "full-node",
		.strategies = ALL,
		.wants = FEATURE_LINUX | FEATURE_OFF_LIST,
		.refuses = FEATURE_OWN_ITEM | FEATURE_NOT_MERGEABLE | FEATURE_SWAPPED | FEATURE_MOVED |
			   FEATURE_WRONG_TREE,
		.text = "its stable node, full (max_page_sharing) or without items, went into another NUMA "
			"node's tree; the item that was scanned is off its list until ksmd's next visit",
		.facts = "S12, K30a, K21",
	},
	/* By address, and for the rest by the number of mappings. */
	{
		.name = "file",
		.strategies = RETRY,
		.kinds = ORPHAN,
		.wants = FEATURE_FILE,
		.text = "a private file mapping is keyed by the offset in the file, not by the address; "
			"while migration entries are restored the mapcount does not count what is missing",
		.facts = "V2, S2, S4",
	},
	{
		.name = "moved",
		.strategies = RETRY,
		.kinds = ORPHAN,
		.wants = FEATURE_MOVED_VMA,
		.text = "its VMA was moved by mremap and keeps the pgoff of where it came from; "
			"while migration entries are restored the mapcount does not count what is missing",
		.facts = "V2, S2, S4",
	},
	{
		.name = "file",
		.strategies = RETRY,
		.wants = FEATURE_FILE,
		.refuses = FEATURE_LINUX,
		.text = "a private file mapping is keyed by the offset in the file, not by the address; "
			"another mapping, met twice, was counted in its place",
		.facts = "S4, R2, S2",
	},
	{
		.name = "moved",
		.strategies = RETRY,
		.wants = FEATURE_MOVED_VMA,
		.refuses = FEATURE_LINUX,
		.text = "its VMA was moved by mremap and keeps the pgoff of where it came from; "
			"another mapping, met twice, was counted in its place",
		.facts = "S4, R2, S2",
	},
	/* By address alone. */
	{
		.name = "file",
		.strategies = BY_ADDRESS,
		.wants = FEATURE_FILE,
		.refuses = FEATURE_LINUX,
		.text = "a private file mapping is keyed by the offset in the file, not by the address",
		.facts = "S2, V1",
	},
	{
		.name = "moved",
		.strategies = BY_ADDRESS,
		.wants = FEATURE_MOVED_VMA,
		.refuses = FEATURE_LINUX,
		.text = "its VMA was moved by mremap and keeps the pgoff of where it came from",
		.facts = "S2, S3, A8",
	},
	/* By the index that an item had when it was made. */
	{
		.name = "swapped-elsewhere",
		.strategies = BY_INDEX,
		.wants = FEATURE_OWN_ITEM | FEATURE_OTHER_INDEX | FEATURE_SWAPPED,
		.refuses = FEATURE_LINUX,
		.text = "swapped in at an address whose item was made for another index, and ksmd "
			"keeps that item",
		.facts = "S5, V6, K17",
	},
	{
		.name = "swapped-forked",
		.strategies = BY_INDEX,
		.wants = FEATURE_RELATIVE_ITEM | FEATURE_OTHER_INDEX | FEATURE_SWAPPED,
		.refuses = FEATURE_LINUX | FEATURE_OWN_ITEM,
		.text = "swapped in, and reached only by a relative's item at its address, which was "
			"made for another index",
		.facts = "S9, S5, V6",
	},
	{
		.name = "moved-plain",
		.strategies = BY_INDEX,
		.wants = FEATURE_OTHER_INDEX | FEATURE_MOVED,
		.wants_one_of = FEATURE_OWN_ITEM | FEATURE_RELATIVE_ITEM,
		.refuses = FEATURE_LINUX | FEATURE_SWAPPED,
		.text = "mremap unshares merged pages in mergeable memory only; this one was moved as it is, "
			"to an address whose item was made for another index",
		.facts = "S6, M1, K27, K17",
	},
	{
		.name = "remade",
		.strategies = BY_INDEX,
		.wants = FEATURE_RELATIVE_ITEM | FEATURE_OTHER_INDEX | FEATURE_INHERITED,
		.refuses = FEATURE_LINUX | FEATURE_OWN_ITEM | FEATURE_SWAPPED | FEATURE_MOVED,
		.text = "merged when it was forked, and reached by a relative's item, which was made "
			"again for another index",
		.facts = "S8, R2, M4",
	},
	{
		.name = "upgraded",
		.strategies = BY_INDEX,
		.wants = FEATURE_RELATIVE_ITEM | FEATURE_OTHER_INDEX,
		.wants_one_of = FEATURE_SHARED | FEATURE_FORKED,
		.refuses = FEATURE_LINUX | FEATURE_OWN_ITEM | FEATURE_SWAPPED | FEATURE_MOVED |
			   FEATURE_INHERITED,
		.text = "shared by fork when a relative's scan merged it, at an address where the "
			"relative has a page of another index",
		.facts = "S7, K27",
	},
};

/* Past the rules: a cause that is its kind, and one that nothing explains. */
enum { NAME_KIND = ARRAY_SIZE(rules), NAME_OTHER };

static const struct {
	const char *name, *text;
} kinds[NR_FAILURE_KINDS] = {
	[FAILURE_MISS] = {"miss", "a walk did not reach a mapping"},
	[FAILURE_ORPHAN] = {"orphan", "migration left an entry behind"},
	[FAILURE_PINNED] = {"pinned", "could not be unmapped"},
	[FAILURE_CONTENT] = {"content", "a page does not hold what was written to it"},
	[FAILURE_RECOUNT] = {"recount", "counters, references or trees are not what they count"},
	[FAILURE_RESULT] = {"result", "a step returned what it must not"},
};

static const char *const feature_names[] = {
	"own item",	 "relative's item", "item off list",	    "other anon_vma", "other index",
	"moved mapping", "file",	    "not mergeable", "forked",	      "shared by fork",
	"swapped",	 "moved",	    "unmerged",	    "Linux misses it",
	"wrong tree",	 "forked merged",   "no node",	    "back from swap",
};

static bool fits(const struct rule *rule, enum failure_kind kind, enum sp_strategy strategy,
		 uint32_t features)
{
	return rule->strategies & 1u << strategy && (!rule->kinds || rule->kinds & 1u << kind) &&
	       (features & rule->wants) == rule->wants &&
	       !(features & rule->refuses) &&
	       (!rule->wants_one_of || features & rule->wants_one_of);
}

struct cause cause_of(enum failure_kind kind, enum sp_strategy strategy, uint32_t features)
{
	struct cause cause = {.kind = kind, .name = NAME_OTHER, .features = features};

	if (kind >= FAILURE_CONTENT) {
		cause.name = NAME_KIND;
		cause.features = 0;
		return cause;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(rules); i++) {
		if (fits(&rules[i], kind, strategy, features)) {
			cause.name = (uint8_t)i;
			break;
		}
	}
	return cause;
}

bool cause_equal(const struct cause *a, const struct cause *b)
{
	return a->kind == b->kind && !strcmp(cause_name(a), cause_name(b)) &&
	       (a->name != NAME_OTHER || a->features == b->features);
}

const char *cause_name(const struct cause *cause)
{
	if (cause->name < ARRAY_SIZE(rules))
		return rules[cause->name].name;
	return cause->name == NAME_KIND ? kinds[cause->kind].name : "other";
}

const char *failure_kind_name(enum failure_kind kind)
{
	return kinds[kind].name;
}

const char *cause_facts(const struct cause *cause)
{
	return cause->name < ARRAY_SIZE(rules) ? rules[cause->name].facts : "";
}

const char *cause_text(const struct cause *cause, char *buf, size_t size)
{
	const char *between = ": ";
	size_t used;

	if (cause->name != NAME_OTHER) {
		snprintf(buf, size, "%s",
			 cause->name == NAME_KIND ? kinds[cause->kind].text : rules[cause->name].text);
		return buf;
	}
	snprintf(buf, size, "not a known cause");
	for (unsigned int i = 0; i < ARRAY_SIZE(feature_names); i++) {
		if (!(cause->features & 1u << i))
			continue;
		used = strlen(buf);
		snprintf(buf + used, size - used, "%s%s", between, feature_names[i]);
		between = ", ";
	}
	return buf;
}
