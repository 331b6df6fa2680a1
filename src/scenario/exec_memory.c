/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a process does: system calls on its memory, and accesses to it. Each
 * also keeps the process's list of unknown contents right; see exec.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "exec.h"

/* ---- Values and places -------------------------------------------------------- */

int exec_value(struct exec *x, const struct stmt *s, const struct expr *e, const char *what,
	       int64_t least, int64_t most, int64_t absent, int64_t *ret)
{
	int err;

	*ret = absent;
	if (!e)
		return 0;
	err = world_value_in(&x->world, s, e, what, least, most, ret);
	return !err && x->world.cannot ? EXEC_CANNOT : err;
}

int exec_place(struct exec *x, const struct stmt *s, const struct range *range, struct place *ret)
{
	int err = world_place(&x->world, s, range, ret);

	if (err)
		return err;
	if (x->world.cannot)
		return EXEC_CANNOT;
	return world_is_dry(&x->world) ? EXEC_DRY : 0;
}

int exec_page(struct exec *x, const struct stmt *s, const struct range *range, struct place *ret)
{
	struct world *w = &x->world;
	int err = world_place(w, s, range, ret);

	if (err)
		return err;
	if (w->cannot)
		return EXEC_CANNOT;
	if (!ret->unsure && ret->nr_pages != 1)
		return world_fail(w, s, range->pos, "\"%s\" has %" PRIu64 " pages: name one, such as %s[0]",
				  range->text, ret->nr_pages, range->text);
	return world_is_dry(w) ? EXEC_DRY : 0;
}

int exec_spans(struct exec *x, const struct stmt *s, const struct place *place, exec_span_fn fn,
	       struct outcome *out)
{
	struct process *p = place->process;
	struct sp_vma_info vma;
	uint64_t addr = 0;
	int err = 0;

	if (!place->all)
		return fn(x, s, p, place->addr, place->nr_pages * PAGE_SIZE, out);
	while (!err && !out->err) {
		out->err = x->world.ops->vma_find(p->handle, addr, &vma);
		if (out->err == -ENOENT) {
			out->err = 0;
			break;
		}
		if (out->err)
			break;
		addr = vma.end;
		err = fn(x, s, p, vma.start, vma.end - vma.start, out);
	}
	return err;
}

/* The contents of [addr, addr + length) are known from here on. */
static int now_known(struct exec *x, struct process *p, uint64_t addr, uint64_t length)
{
	return p->unknown.nr ? unknown_remove(&p->unknown, x->world.mem, addr, addr + length) : 0;
}

/* ---- map, munmap, mremap --------------------------------------------------------- */

static int exec_map(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	bool new_window = s->options & OPTION_NEW_WINDOW;
	int flags = s->options & OPTION_SHARED ? SP_MAP_SHARED : SP_MAP_PRIVATE;
	struct file_slot *file = NULL;
	struct process *p;
	struct place place = { 0 };
	int64_t pages = 0, pgoff;
	int err = exec_value(x, s, s->value[1], "the page of a file", 0, INT64_C(1) << 51, 0, &pgoff);

	if (!err && s->options & OPTION_HAS_FILE)
		err = world_file(w, s, &s->file, &file);
	if (!err && new_window) {
		struct window *window;

		err = world_process(w, s, &s->process, false, &p);
		if (!err)
			err = exec_value(x, s, s->value[0], "the number of pages", 1,
					 (int64_t)SCENARIO_MAX_PAGES, 1, &pages);
		if (!err)
			err = world_window(w, s, p, &s->target, (uint64_t)pages,
					   s->options & OPTION_HUGE_ALIGN, &window);
		if (err || world_is_dry(w))
			return err ? err : EXEC_DRY;
		place = (struct place){ .process = p, .addr = window->addr, .nr_pages = window->nr_pages };
	} else if (!err) {
		err = exec_place(x, s, s->range, &place);
	}
	if (err)
		return err;
	flags |= s->options & OPTION_NOREPLACE ? SP_MAP_FIXED_NOREPLACE : SP_MAP_FIXED;
	flags |= s->options & OPTION_NORESERVE ? SP_MAP_NORESERVE : 0;
	out->err = w->ops->mmap(place.process->handle, place.addr, place.nr_pages * PAGE_SIZE, s->number,
				flags, file ? file->handle : NULL, (uint64_t)pgoff);
	return out->err ? 0 : now_known(x, place.process, place.addr, place.nr_pages * PAGE_SIZE);
}

static int exec_window(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	struct window *window;
	struct process *p;
	int64_t pages;
	int err = world_process(w, s, &s->process, false, &p);

	(void)out;
	if (!err)
		err = exec_value(x, s, s->value[0], "the number of pages", 1, (int64_t)SCENARIO_MAX_PAGES, 1,
				 &pages);
	return err ? err : world_window(w, s, p, &s->target, (uint64_t)pages,
					s->options & OPTION_HUGE_ALIGN, &window);
}

static int munmap_span(struct exec *x, const struct stmt *s, struct process *p, uint64_t addr,
		       uint64_t length, struct outcome *out)
{
	(void)s;
	out->err = x->world.ops->munmap(p->handle, addr, length);
	return out->err ? 0 : now_known(x, p, addr, length);
}

static int exec_munmap(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct place place;
	int err = exec_place(x, s, s->range, &place);

	return err ? err : exec_spans(x, s, &place, munmap_span, out);
}

static int exec_mremap(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	bool resize = s->options & OPTION_RESIZE;
	struct place from, to = { 0 };
	int64_t old_bytes, new_bytes;
	uint64_t addr;
	int err;

	if (resize)
		err = exec_value(x, s, s->value[1], "the number of pages", 1, (int64_t)SCENARIO_MAX_PAGES, 1,
				 &new_bytes);
	else
		err = exec_value(x, s, s->value[1], "a length", 0, INT64_MAX, -1, &new_bytes);
	if (!err)
		err = exec_value(x, s, s->value[0], "a length", 0, INT64_MAX, -1, &old_bytes);
	if (!err)
		err = world_place(w, s, s->range, &from);
	if (!err && s->options & OPTION_TO)
		err = world_place(w, s, s->range2, &to);
	if (err)
		return err;
	if (w->cannot)
		return EXEC_CANNOT;
	if (world_is_dry(w)) {
		if (s->options & OPTION_TARGET && !exec_must_fail(s))
			err = world_window_at(w, s, from.process, &s->target, 0, (uint64_t)new_bytes);
		return err ? err : EXEC_DRY;
	}
	if (resize)
		new_bytes *= (int64_t)PAGE_SIZE;
	if (old_bytes < 0)
		old_bytes = (int64_t)(from.nr_pages * PAGE_SIZE);
	if (new_bytes < 0)
		new_bytes = (int64_t)((s->options & OPTION_TO && s->number & SP_MREMAP_FIXED ? to : from).nr_pages *
				      PAGE_SIZE);
	out->err = w->ops->mremap(from.process->handle, from.addr, (uint64_t)old_bytes, (uint64_t)new_bytes,
				  s->number, to.addr, &addr);
	if (out->err)
		return 0;
	if (s->options & OPTION_TARGET)
		err = world_window_at(w, s, from.process, &s->target, addr, (uint64_t)new_bytes / PAGE_SIZE);
	if (!err && from.process->unknown.nr && addr != from.addr)
		err = unknown_move(&from.process->unknown, w->mem, from.addr, addr,
				   (uint64_t)MIN(old_bytes, new_bytes));
	return err;
}

/* ---- mprotect, madvise, mlock, prctl --------------------------------------------- */

static int syscall_span(struct exec *x, const struct stmt *s, struct process *p, uint64_t addr,
			uint64_t length, struct outcome *out)
{
	const struct backend_ops *ops = x->world.ops;

	switch (s->op) {
	case OP_MPROTECT:
		out->err = ops->mprotect(p->handle, addr, length, s->number);
		break;
	case OP_MLOCK:
		out->err = ops->mlock(p->handle, addr, length);
		break;
	case OP_MUNLOCK:
		out->err = ops->munlock(p->handle, addr, length);
		break;
	default:
		out->err = ops->madvise(p->handle, addr, length, s->number);
		if (!out->err && s->number == SP_MADV_DONTNEED)
			return now_known(x, p, addr, length);
		break;
	}
	return 0;
}

static int exec_syscall(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct place place;
	int err = exec_place(x, s, s->range, &place);

	return err ? err : exec_spans(x, s, &place, syscall_span, out);
}

static int exec_prctl(struct exec *x, const struct stmt *s, struct outcome *out)
{
	const struct backend_ops *ops = x->world.ops;
	unsigned long args[4] = { 0 };
	struct process *p;
	int err = world_process(&x->world, s, &s->process, false, &p);

	for (uint32_t i = 0; !err && i < s->nr_list; i++) {
		int64_t value;

		err = exec_value(x, s, s->list[i], "an argument", INT64_MIN, INT64_MAX, 0, &value);
		args[i] = (unsigned long)value;
	}
	if (err || world_is_dry(&x->world))
		return err ? err : EXEC_DRY;
	out->err = s->options & OPTION_GET ? ops->prctl_get(p->handle, args) : ops->prctl_set(p->handle, args);
	if (out->err > 0) {
		out->result = out->err;
		out->err = 0;
	}
	return 0;
}

/* ---- Accesses ------------------------------------------------------------------------ */

static int exec_fill(struct exec *x, const struct stmt *s, struct outcome *out)
{
	const struct backend_ops *ops = x->world.ops;
	bool random = s->options & OPTION_RANDOM;
	struct place place;
	int64_t value;
	int err = exec_value(x, s, s->value[0], random ? "a seed" : "a byte", random ? INT64_MIN : 0,
			     random ? INT64_MAX : 255, 0, &value);

	if (!err)
		err = exec_place(x, s, s->range, &place);
	if (err)
		return err;
	if (random)
		out->err = ops->fill_random(place.process->handle, place.addr, place.nr_pages * PAGE_SIZE,
					    exec_seed(x, value));
	else
		out->err = ops->fill(place.process->handle, place.addr, place.nr_pages * PAGE_SIZE,
				     (uint8_t)value);
	return out->err ? 0 : now_known(x, place.process, place.addr, place.nr_pages * PAGE_SIZE);
}

static int exec_write(struct exec *x, const struct stmt *s, struct outcome *out)
{
	uint8_t bytes[SCENARIO_MAX_LINE_BYTES / 2];
	struct place place;
	int err = 0;

	for (uint32_t i = 0; !err && i < s->nr_list; i++) {
		int64_t value;

		err = exec_value(x, s, s->list[i], "a byte", 0, 255, 0, &value);
		bytes[i] = (uint8_t)value;
	}
	if (!err)
		err = exec_place(x, s, s->range, &place);
	if (err)
		return err;
	if (unknown_pages(&place.process->unknown, place.addr & PAGE_MASK,
			  (place.addr + s->nr_list + PAGE_SIZE - 1) & PAGE_MASK))
		return world_fail(&x->world, s, s->range->pos,
				  "the rest of this page is unknown, and so would be the page: fill it whole");
	out->err = x->world.ops->write(place.process->handle, place.addr, bytes, s->nr_list);
	return 0;
}

static int access_span(struct exec *x, const struct stmt *s, struct process *p, uint64_t addr,
		       uint64_t length, struct outcome *out)
{
	uint8_t page[4096];

	if (p->unknown.nr)
		x->result->nr_unknown_read += unknown_pages(&p->unknown, addr, addr + length);
	if (s->op != OP_READ) {
		out->err = x->world.ops->touch(p->handle, addr, length);
		return 0;
	}
	for (uint64_t done = 0; !out->err && done < length; done += sizeof(page))
		out->err = x->world.ops->read(p->handle, addr + done, page, sizeof(page));
	return 0;
}

static int exec_access(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct place place;
	int err = exec_place(x, s, s->range, &place);

	return err ? err : exec_spans(x, s, &place, access_span, out);
}

/* ---- Kernel work on the pages of a process --------------------------------------------- */

/* Of every page; the first error is the operation's, as move_pages(2) goes on after one. Of `all`,
 * pages where there is nothing to work on are no error. */
static int work_pages(struct exec *x, const struct stmt *s, struct process *p, uint64_t addr,
		      uint64_t length, bool all, struct outcome *out)
{
	const struct backend_ops *ops = x->world.ops;
	int64_t node;
	int err = exec_value(x, s, s->value[0], "a node", 0, 63, -1, &node);
	int first = 0;

	if (err)
		return err;
	for (uint64_t done = 0; done < length; done += PAGE_SIZE) {
		int ret;

		if (s->op == OP_SWAPOUT)
			ret = ops->swap_out(p->handle, addr + done);
		else
			ret = ops->migrate(p->handle, addr + done, (int)node,
					   !(s->options & OPTION_MOVE_ONLY));
		if (all && (ret == -EFAULT || ret == -ENOENT || ret == -EOPNOTSUPP))
			continue;
		if (ret < 0 && !first)
			first = ret;
		if (ret >= 0)
			out->result += s->op == OP_SWAPOUT ? ret : 1;
		if (ret == BACKEND_CANNOT)
			break;
	}
	out->err = first;
	return 0;
}

static int work_range(struct exec *x, const struct stmt *s, struct process *p, uint64_t addr,
		      uint64_t length, struct outcome *out)
{
	return work_pages(x, s, p, addr, length, false, out);
}

static int work_vma(struct exec *x, const struct stmt *s, struct process *p, uint64_t addr,
		    uint64_t length, struct outcome *out)
{
	return work_pages(x, s, p, addr, length, true, out);
}

static int exec_work(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct place place;
	int64_t node;
	int err = exec_value(x, s, s->value[0], "a node", 0, 63, -1, &node);

	if (!err && node >= (int64_t)x->world.scenario->machine.nr_nodes)
		err = world_fail(&x->world, s, s->value[0]->pos,
				 "the machine has %u nodes, counted from 0; `machine nodes N` makes more",
				 x->world.scenario->machine.nr_nodes);
	if (!err)
		err = exec_place(x, s, s->range, &place);
	return err ? err : exec_spans(x, s, &place, place.all ? work_vma : work_range, out);
}

static int exec_hold(struct exec *x, const struct stmt *s, struct outcome *out)
{
	struct world *w = &x->world;
	struct hold_slot *slot;
	struct place place;
	int err = world_hold_new(w, s, &s->target, &slot);

	if (!err)
		err = exec_page(x, s, s->range, &place);
	if (err == EXEC_DRY && slot && !exec_must_fail(s))
		slot->line = s->line;
	if (err)
		return err;
	out->err = w->ops->hold(place.process->handle, place.addr, &slot->handle);
	if (!out->err)
		slot->line = s->line;
	return 0;
}

const exec_fn exec_memory_fns[NR_OPS] = {
	[OP_MAP] = exec_map,
	[OP_WINDOW] = exec_window,
	[OP_MUNMAP] = exec_munmap,
	[OP_MREMAP] = exec_mremap,
	[OP_MPROTECT] = exec_syscall,
	[OP_MADVISE] = exec_syscall,
	[OP_MLOCK] = exec_syscall,
	[OP_MUNLOCK] = exec_syscall,
	[OP_PRCTL] = exec_prctl,
	[OP_FILL] = exec_fill,
	[OP_WRITE] = exec_write,
	[OP_READ] = exec_access,
	[OP_TOUCH] = exec_access,
	[OP_SWAPIN] = exec_access,
	[OP_SWAPOUT] = exec_work,
	[OP_MIGRATE] = exec_work,
	[OP_HOLD] = exec_hold,
};
