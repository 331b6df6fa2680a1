/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to the machine as a whole: processes and files come and go,
 * knobs change, ksmd and reclaim work, walks are made; see exec.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exec.h"

/* Passes that until-stable makes at most when the file does not say. */
#define STABLE_PASSES 1000

/* What one `run` may last: 34 years. The machine's clock has 584. */
#define MAX_RUN_MS (INT64_C(1) << 40)

/* ---- Processes and files ---------------------------------------------------------- */

static int exec_file(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	struct file_slot *file = &w->files[s->target.symbol];
	int64_t pages, seed;
	int err = exec_value(x, s, s->value[0], "the number of pages", 1, (int64_t)SCENARIO_MAX_PAGES, 0, &pages);

	if (!err)
		err = exec_value(x, s, s->value[1], "a seed", INT64_MIN, INT64_MAX, 0, &seed);
	if (!err && file->line)
		err = world_fail(w, s, s->target.pos, "there is such a file already (line %u)", file->line);
	if (err)
		return err;
	if (world_is_dry(w)) {
		file->line = exec_must_fail(s) ? 0 : s->line;
		return EXEC_DRY;
	}
	out->err = w->ops->file_create(w->backend, (uint64_t)pages, exec_seed(x, seed), &file->handle);
	if (!out->err) {
		file->line = s->line;
		file->nr_pages = (uint64_t)pages;
	}
	return 0;
}

static int exec_process(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	struct backend_process *handle = NULL;
	struct process *p;
	int err = world_process_may_start(w, s, &s->target);

	if (err)
		return err;
	if (world_is_dry(w)) {
		if (exec_must_fail(s))
			return EXEC_DRY;
		err = world_process_start(w, s, &s->target, NULL, NULL, &p);
		if (!err && p && s->options & (OPTION_FROM_CORE | OPTION_FROM_PID)) {
			p->unsure = true;
			err = exec_load_dry(x, s);
		}
		return err ? err : EXEC_DRY;
	}
	out->err = w->ops->process_create(w->backend, &handle);
	if (out->err)
		return 0;
	err = world_process_start(w, s, &s->target, handle, NULL, &p);
	if (!err && s->options & (OPTION_FROM_CORE | OPTION_FROM_PID))
		err = exec_load(x, s, p, out);
	return err;
}

static int exec_fork(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	struct backend_process *handle = NULL;
	struct process *parent, *child;
	int err = world_process(w, s, &s->process, false, &parent);

	if (!err)
		err = world_process_may_start(w, s, &s->target);
	if (err)
		return err;
	if (world_is_dry(w)) {
		if (exec_must_fail(s))
			return EXEC_DRY;
		err = world_process_start(w, s, &s->target, NULL, parent, &child);
		if (!err && child)
			child->unsure = !parent || parent->unsure;
		return err ? err : EXEC_DRY;
	}
	out->err = w->ops->fork(parent->handle, &handle);
	return out->err ? 0 : world_process_start(w, s, &s->target, handle, parent, &child);
}

static int exec_exit(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	struct process *p;
	int err = world_process(w, s, &s->process, false, &p);

	if (err)
		return err;
	if (!world_is_dry(w)) {
		out->err = w->ops->exit(p->handle);
		if (out->err)
			return 0;
	} else if (exec_must_fail(s)) {
		return EXEC_DRY;
	}
	world_process_exit(w, s, p);
	return 0;
}

/* ---- ksmd ---------------------------------------------------------------------------- */

static int exec_set(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	char number[24];
	int64_t value;
	int err = exec_value(x, s, s->value[0], "a knob", INT64_MIN, INT64_MAX, 0, &value);

	if (err || world_is_dry(w))
		return err ? err : EXEC_DRY;
	snprintf(number, sizeof(number), "%" PRId64, value);
	out->err = w->ops->knob_set(w->backend, s->word, s->value[0] ? number : s->word2);
	return 0;
}

static int exec_scan(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	int64_t value;
	int err = exec_value(x, s, s->value[0],
			     s->options & OPTION_PAGES ? "the number of pages" : "the number of passes", 1,
			     INT64_C(1) << 40, STABLE_PASSES, &value);

	if (err || world_is_dry(w))
		return err ? err : EXEC_DRY;
	if (s->options & OPTION_UNTIL) {
		out->result = w->ops->scan_until_stable(w->backend, (uint64_t)value);
		if (out->result < 0) {
			out->err = (int)out->result;
			out->result = 0;
		}
	} else if (s->options & OPTION_PAGES) {
		out->err = w->ops->scan_pages(w->backend, (uint64_t)value);
	} else {
		out->err = w->ops->scan(w->backend, (uint64_t)value);
	}
	return 0;
}

static int exec_run(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	int64_t time;
	int err = exec_value(x, s, s->value[0], "the time", 0, MAX_RUN_MS / s->number, 0, &time);

	if (err || world_is_dry(w))
		return err ? err : EXEC_DRY;
	out->err = w->ops->run_for_ms(w->backend, (uint64_t)(time * s->number));
	return 0;
}

/* ---- Reclaim, compaction, offline, references, walks ------------------------------------------------ */

static void take_count(struct outcome *out, int64_t count)
{
	out->err = count < 0 ? (int)count : 0;
	out->result = MAX(count, INT64_C(0));
}

static int exec_reclaim(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	int64_t pages, rounds;
	int err = exec_value(x, s, s->value[0], "the number of pages", 1, INT64_MAX, 0, &pages);

	if (!err)
		err = exec_value(x, s, s->value[1], "the number of rounds", 1, 1000000, 1, &rounds);
	if (err || world_is_dry(w))
		return err ? err : EXEC_DRY;
	take_count(out, w->ops->reclaim(w->backend, (uint64_t)pages, (unsigned int)rounds));
	return 0;
}

static int exec_compact(struct exec *x, const struct stmt *s, struct outcome *out)
{
	(void)s;
	if (world_is_dry(&x->world))
		return EXEC_DRY;
	take_count(out, x->world.ops->compact(x->world.backend));
	return 0;
}

static int exec_node(struct exec *x, const struct stmt *s, struct outcome *out)
{
	const struct sp_config *machine = &x->world.scenario->machine;
	const struct backend_ops *ops = x->world.ops;
	int64_t node;
	int err = exec_value(x, s, s->value[0], "a node", 0, 63, -1, &node);

	if (!err && node >= 0 && (node >= (int64_t)machine->nr_nodes ||
				  node < (int64_t)(machine->nr_nodes - machine->nr_movable_nodes)))
		err = world_fail(&x->world, s, s->value[0]->pos,
				 "node %" PRId64 " cannot go offline: of %u nodes, the last %u can; `machine nodes N movable N` says so",
				 node, machine->nr_nodes, machine->nr_movable_nodes);
	if (err || world_is_dry(&x->world))
		return err ? err : EXEC_DRY;
	if (s->op == OP_OFFLINE)
		out->err = ops->offline(x->world.backend, (unsigned int)node);
	else
		out->err = ops->online(x->world.backend, (unsigned int)node);
	return 0;
}

static int exec_drop(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	struct hold_slot *slot;
	int err = world_hold(w, s, &s->target, &slot);

	if (err)
		return err;
	if (!world_is_dry(w)) {
		out->err = w->ops->drop(w->backend, slot->handle);
		if (out->err)
			return 0;
	}
	if (slot)
		slot->line = 0;
	return 0;
}

static int exec_walk(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct scenario_result *result = x->result;
	struct scenario_walk *walk;
	struct place place;
	int err = exec_page(x, s, s->range, &place);

	if (err)
		return err;
	x->walked = false;
	out->err = x->world.ops->walk(place.process->handle, place.addr, &x->walk);
	x->walk_cannot = out->err == BACKEND_CANNOT;
	if (out->err)
		return 0;
	x->walked = true;
	exec_note_walk(x, s->line, "walk", &x->walk);
	result->nr_walks++;
	if (result->nr_walks_listed == SCENARIO_MAX_WALKS)
		return 0;
	walk = &result->walks[result->nr_walks_listed++];
	walk->line = s->line;
	world_address_text(&x->world, place.process, place.addr, walk->page, sizeof(walk->page));
	walk->result = x->walk;
	return 0;
}

const exec_fn exec_machine_fns[NR_OPS] = {
	[OP_FILE] = exec_file,
	[OP_PROCESS] = exec_process,
	[OP_FORK] = exec_fork,
	[OP_EXIT] = exec_exit,
	[OP_SET] = exec_set,
	[OP_SCAN] = exec_scan,
	[OP_RUN] = exec_run,
	[OP_RECLAIM] = exec_reclaim,
	[OP_COMPACT] = exec_compact,
	[OP_OFFLINE] = exec_node,
	[OP_ONLINE] = exec_node,
	[OP_DROP] = exec_drop,
	[OP_WALK] = exec_walk,
};
