/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Expressions, evaluated. In the dry run whatever only a machine knows is
 * unsure and counts as 0; whoever uses a value asks w->unsure before judging
 * it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "assertion.h"
#include "names.h"
#include "value.h"
#include "world.h"

/* What a backend said when asked for a figure. */
static int answer(struct world *w, const struct stmt *s, const struct expr *e, const char *what,
		  int err)
{
	if (err >= 0)
		return 0;
	if (err == BACKEND_CANNOT) {
		w->cannot = true;
		return 0;
	}
	return world_fail(w, s, e->pos, "%s cannot be read: %s", what, errno_name(err));
}

int world_count_vmas(const struct world *w, const struct place *place, int64_t *ret)
{
	uint64_t addr = place->all ? 0 : place->addr;
	uint64_t end = place->all ? UINT64_MAX : addr + place->nr_pages * PAGE_SIZE;
	struct sp_vma_info vma;
	int err;

	*ret = 0;
	while (addr < end) {
		err = w->ops->vma_find(place->process->handle, addr, &vma);
		if (err == -ENOENT || (!err && vma.start >= end))
			break;
		if (err)
			return err;
		++*ret;
		addr = vma.end;
	}
	return 0;
}

static int page_value(struct world *w, const struct stmt *s, const struct expr *e, int64_t *ret)
{
	struct sp_page_info info = { 0 };
	struct place place;
	int err = world_place(w, s, e->range, &place);

	*ret = 0;
	if (err)
		return err;
	if (e->function == PAGE_PAGES && !place.unsure) {
		*ret = (int64_t)place.nr_pages;
		if (place.all)
			return world_fail(w, s, e->pos, "the pages of all are not counted: name a window");
		return 0;
	}
	if (e->function != PAGE_VMAS && !place.unsure && place.nr_pages != 1)
		return world_fail(w, s, e->range->pos, "\"%s\" has %" PRIu64 " pages: name one, such as %s[0]",
				  e->range->text, place.nr_pages, e->range->text);
	if (world_is_dry(w)) {
		w->unsure = true;
		return 0;
	}
	if (e->function == PAGE_VMAS)
		return answer(w, s, e, e->range->text, world_count_vmas(w, &place, ret));
	err = w->ops->page_info(place.process->handle, place.addr, &info);
	if (err < 0)
		return answer(w, s, e, e->range->text, err);
	if ((e->function == PAGE_REFCOUNT && w->ops->blind & BACKEND_BLIND_REFCOUNT) ||
	    (e->function == PAGE_INDEX && info.linear_index == BACKEND_INDEX_UNKNOWN)) {
		w->cannot = true;
		return 0;
	}
	switch (e->function) {
	case PAGE_PFN:
		*ret = info.state == SP_PAGE_PRESENT ? (int64_t)info.pfn : -1;
		break;
	case PAGE_MAPCOUNT:
		*ret = info.mapcount;
		break;
	case PAGE_REFCOUNT:
		*ret = info.refcount;
		break;
	case PAGE_NODE:
		*ret = info.state == SP_PAGE_PRESENT ? (int64_t)info.nid : -1;
		break;
	case PAGE_INDEX:
		*ret = (int64_t)info.linear_index;
		break;
	default:
		SP_BUG("not a function of one page");
	}
	return 0;
}

int world_value(struct world *w, const struct stmt *s, const struct expr *e, int64_t *ret)
{
	const struct variable *variable;
	struct process *process;
	char text[128];
	int64_t a, b = 0;
	int err;

	switch (e->op) {
	case EXPR_CONST:
		*ret = e->value;
		return 0;
	case EXPR_VARIABLE:
		variable = &w->variables[e->variable];
		*ret = variable->value;
		w->unsure |= variable->unsure;
		w->cannot |= variable->cannot;
		if (!variable->set)
			return world_fail(w, s, e->pos, "\"%s\" has no value: the loop that sets it had no round",
					  w->scenario->symbols[SYMBOL_VARIABLE].list[e->variable].text);
		return 0;
	case EXPR_COUNTER:
		*ret = 0;
		if (world_is_dry(w)) {
			w->unsure = true;
			return 0;
		}
		return answer(w, s, e, e->counter, w->ops->counter_get(w->backend, e->counter, ret));
	case EXPR_PROCESS_STAT:
		*ret = 0;
		err = world_process(w, s, &e->process, true, &process);
		if (err)
			return err;
		if (world_is_dry(w)) {
			w->unsure = true;
			return 0;
		}
		return answer(w, s, e, e->stat, w->ops->process_stat(process->handle, e->stat, ret));
	case EXPR_PAGE:
		return page_value(w, s, e, ret);
	default:
		break;
	}
	*ret = 0;
	err = world_value(w, s, e->a, &a);
	if (!err && e->op != EXPR_NEGATE && !w->cannot)
		err = world_value(w, s, e->b, &b);
	if (err || w->unsure || w->cannot)
		return err;
	if (value_apply(e->op, a, b, ret, text, sizeof(text)))
		return world_fail(w, s, e->pos, "%s", text);
	return 0;
}

int world_value_in(struct world *w, const struct stmt *s, const struct expr *e, const char *what,
		   int64_t least, int64_t most, int64_t *ret)
{
	int err = world_value(w, s, e, ret);

	if (err)
		return err;
	if (w->unsure || w->cannot) {
		*ret = least;
		return 0;
	}
	if (*ret < least || *ret > most)
		return world_fail(w, s, e->pos, "%s is %" PRId64 "..%" PRId64 ", not %" PRId64, what, least,
				  most, *ret);
	return 0;
}
