/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Smart scan (K15, K16): a page that did not merge in its first passes is left out of more and
 * more of the later ones, up to eight of nine.
 *
 * A page that is left out leaves its tree too: it is not compared with others in this pass, and
 * counts as volatile. KSM pages are never left out: they cost nothing, and must be seen to keep
 * their rmap_items.
 */
#include "ksm_internal.h"

/* How many passes to leave out now, by the number of scans that the page has been through. */
static uint8_t passes_to_skip(uint8_t age)
{
	if (age <= 3)
		return 1;
	if (age <= 5)
		return 2;
	return age <= 8 ? 4 : 8;
}

bool smart_skip(struct ksm *ksm, const struct frame *frame, struct ksm_rmap_item *item)
{
	uint8_t age = item->age;

	if (!ksm->knobs.smart_scan || frame_is_ksm(frame))
		return false;
	if (age != UINT8_MAX)
		item->age++;
	if (age < 3)
		return false;
	if (!item->remaining_skips) {
		item->remaining_skips = passes_to_skip(age);
		return false;
	}
	ksm->count.pages_skipped++;
	item->remaining_skips--;
	item_remove_from_tree(ksm, item);
	return true;
}
