/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dry run: what can be known of a file without a machine. It is the
 * interpreter itself that checks (exec.h), so what is refused here and what is
 * refused while running is one set of rules.
 */
#include <errno.h>

#include "exec.h"
#include "parse.h"

int check_scenario(struct scenario *scenario, struct diagnose *diagnose)
{
	struct exec x = { .weight = 1 };
	int err = world_init(&x.world, scenario, &scenario->mem);

	if (err)
		return err;
	x.world.diagnose = diagnose;
	err = exec_block(&x, scenario->first);
	world_destroy(&x.world);
	return err == WORLD_ERROR ? -EINVAL : err;
}
