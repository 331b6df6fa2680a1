/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines that live in a region (region.h): for whoever makes, discards and rewinds them by the
 * million. Internal; the public way is sp_machine_create().
 *
 * Nothing of such a machine lies outside: the handles, the account, frames, tables and trees are
 * all in the region, its locks need no destroying, and what audits and validation allocate they
 * free before they return. So
 *
 *	region_reset()			discards it, processes and all, in no time
 *	region_save(), _restore()	take it back to where it was; its handles are then those that
 *					were valid at the save
 *
 * and sp_machine_destroy() is right too, but never needed. A full region is out of memory: an
 * operation says -ENOMEM, and the machine is as valid as after any such failure.
 *
 * It differs from others in what it measures: walks read no clock, so the times in its walk
 * metrics are 0.
 *
 *	err = region_create(MACHINE_REGION_BYTES, &region);
 *	for (;;) {
 *		err = machine_create_in(region, &config, &m);
 *		... sp_process_create(m, &p), ...
 *		region_reset(region);
 *	}
 *	region_destroy(region);
 *
 * Between operations only: a region is saved and restored while no operation runs. Several machines
 * may share a region, and its fate.
 */
#ifndef SP_MACHINE_REGION_H
#define SP_MACHINE_REGION_H

#include "region.h"
#include "samepage.h"

/* Enough for a few processes with a few hundred pages. */
#define MACHINE_REGION_BYTES ((size_t)1 << 20)

/* As sp_machine_create(); also -EINVAL for concurrent_readers, which a reset could not wait for. */
int machine_create_in(struct region *region, const struct sp_config *config,
		      struct sp_machine **ret) SP_MUST_CHECK;

#endif
