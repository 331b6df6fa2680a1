/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What stands behind the handles of samepage.h: one simulated machine, its processes, what is held.
 *
 * Only machine/ includes this, and check/, whose oracles look inside; everything else above uses the
 * public header. Locks: none of its own. The public contract is one thread for each machine; the
 * locks below are taken by the layers that own them.
 */
#ifndef SP_MACHINE_H
#define SP_MACHINE_H

#include "ksm.h"
#include "migrate.h"
#include "offline.h"
#include "reclaim.h"
#include "samepage.h"

struct sp_file {
	struct cds_list_head link; /* machine->files */
	struct file *file;	   /* holds a reference */
};

struct sp_process {
	struct cds_list_head link; /* machine->processes, in order of creation */
	struct sp_machine *machine;
	struct mm *mm; /* NULL after exit */
	uint32_t id;
};

struct sp_machine {
	struct vm vm;
	struct cds_list_head processes, files;
	uint32_t *holds; /* pfn by handle, PFN_NONE once dropped */
	uint64_t nr_holds;
	uint32_t nr_movable_nodes; /* the last ones */
	sp_trace_fn trace;
	void *trace_arg;
};

/* Releases holds[i], which is not PFN_NONE. */
void hold_drop(struct sp_machine *m, uint64_t i);

#endif
