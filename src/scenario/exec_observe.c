/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fills an observation (observe.h) after an operation: counters, processes, VMAs, pages; see
 * exec.h.
 *
 * Which keys there are, and in which order, is a function of the scenario and of what its
 * operations returned, never of the backend: so two lists that are equal are equal entry by entry.
 *
 * Contents are asked for once a frame, not once a page: most pages of interest are merged.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "names.h"

static const char *const counters[] = {
	"pages_shared", "pages_sharing", "pages_unshared", "pages_volatile",
	"ksm_zero_pages", "stable_node_chains", "stable_node_dups", "pages_scanned",
	"pages_skipped", "full_scans", "general_profit", "cow_ksm", "ksm_swpin_copy",
};

static const char *const process_stats[] = {
	"vmas", "ksm_merging_pages", "ksm_rmap_items", "ksm_zero_pages", "rss_anon", "swap",
};

/* Twice as many as there are pages: a hash table that is never full. */
#define NR_FRAME_SLOTS (2 * OBSERVE_MAX_PAGES)

struct seen_frame {
	uint64_t pfn;
	uint64_t round;      /* the operation that it was seen after; another: the slot is free */
	uint32_t number, nid;
	char content[12];
};

struct seen_window {
	const struct window *window;
	uint32_t symbol, member;
};

struct observer {
	struct observation now;
	struct seen_frame frames[NR_FRAME_SLOTS];
	uint32_t nr_frames;
	struct process *processes[OBSERVE_MAX_PROCESSES];
	unsigned int nr_processes;
	struct seen_window windows[OBSERVE_MAX_PAGES];
	unsigned int nr_windows;
	struct sp_vma_info vmas[OBSERVE_MAX_VMAS];
	unsigned int nr_vmas;
	struct backend_page pages[OBSERVE_MAX_PAGES];
	bool too_many_pages, too_many_vmas;
};

int exec_observe_init(struct exec *x)
{
	if (!x->options->observe)
		return 0;
	x->observer = mem_alloc(x->world.mem, sizeof(*x->observer));
	if (!x->observer)
		return -ENOMEM;
	observation_init(&x->observer->now, x->world.mem);
	return 0;
}

void exec_observe_finish(struct exec *x)
{
	if (!x->observer)
		return;
	observation_destroy(&x->observer->now);
	mem_free(x->world.mem, x->observer, sizeof(*x->observer));
	x->observer = NULL;
}

/* ---- Figures ------------------------------------------------------------------------- */

static int add_outcome(struct observer *o, const struct outcome *out)
{
	char text[48];

	if (out->err == BACKEND_CANNOT)
		snprintf(text, sizeof(text), "?");
	else if (out->err < 0)
		snprintf(text, sizeof(text), "%s", errno_name(out->err));
	else if (out->result)
		snprintf(text, sizeof(text), "0 %" PRId64, out->result);
	else
		snprintf(text, sizeof(text), "0");
	return observation_add(&o->now, "outcome", text);
}

/* err is of the question: BACKEND_CANNOT, or an errno that is an answer too. */
static int add_figure(struct observer *o, const char *key, int err, int64_t value)
{
	char text[24];

	if (err == BACKEND_CANNOT)
		return observation_add(&o->now, key, "?");
	if (err)
		return observation_add(&o->now, key, errno_name(err));
	snprintf(text, sizeof(text), "%" PRId64, value);
	return observation_add(&o->now, key, text);
}

static int add_counters(struct exec *x)
{
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(counters); i++) {
		int64_t value = 0;
		int answer = x->world.ops->counter_get(x->world.backend, counters[i], &value);

		err = add_figure(x->observer, counters[i], answer, value);
	}
	return err;
}

static int add_process_stats(struct exec *x, const struct process *p)
{
	char key[128];
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(process_stats); i++) {
		int64_t value = 0;
		int answer = x->world.ops->process_stat(p->handle, process_stats[i], &value);

		snprintf(key, sizeof(key), "%s.%s", p->name, process_stats[i]);
		err = add_figure(x->observer, key, answer, value);
	}
	return err;
}

/* ---- Which processes and windows -------------------------------------------------------- */

static int by_creation(const void *a, const void *b)
{
	const struct process *const *left = a, *const *right = b;

	return (*left)->number < (*right)->number ? -1 : 1;
}

/* Whoever has a name at present. Too many: none. */
static void find_processes(struct exec *x)
{
	const struct world *w = &x->world;
	struct observer *o = x->observer;

	o->nr_processes = 0;
	for (uint32_t i = 0; i < w->scenario->symbols[SYMBOL_PROCESS].nr; i++) {
		const struct process_slot *slots = w->processes[i].members;

		for (uint32_t member = 0; member < w->processes[i].nr; member++) {
			if (!slots[member].line)
				continue;
			if (o->nr_processes == OBSERVE_MAX_PROCESSES) {
				o->nr_processes = 0;
				return;
			}
			o->processes[o->nr_processes++] = slots[member].process;
		}
	}
	qsort(o->processes, o->nr_processes, sizeof(o->processes[0]), by_creation);
}

static uint64_t count_window_pages(const struct window_table *table, unsigned int *nr_windows)
{
	uint64_t nr = 0;

	*nr_windows = 0;
	for (uint32_t i = 0; table && i < table->nr; i++) {
		const struct window *members = table->families[i].members;

		for (uint32_t member = 0; member < table->families[i].nr; member++) {
			nr += members[member].line ? members[member].nr_pages : 0;
			*nr_windows += members[member].line != 0;
		}
	}
	return nr;
}

static bool too_many_pages(const struct observer *o)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; i < o->nr_processes; i++) {
		unsigned int nr_windows;

		nr += count_window_pages(o->processes[i]->windows, &nr_windows);
		if (nr > OBSERVE_MAX_PAGES || nr_windows > OBSERVE_MAX_PAGES)
			return true;
	}
	return false;
}

/* In the order of the lines that named them; addresses may be the backend's. */
static int by_line(const void *a, const void *b)
{
	const struct seen_window *left = a, *right = b;

	if (left->window->line != right->window->line)
		return left->window->line < right->window->line ? -1 : 1;
	if (left->symbol != right->symbol)
		return left->symbol < right->symbol ? -1 : 1;
	return left->member < right->member ? -1 : 1;
}

static void find_windows(struct observer *o, const struct window_table *table)
{
	o->nr_windows = 0;
	for (uint32_t i = 0; table && i < table->nr; i++) {
		const struct window *members = table->families[i].members;

		for (uint32_t member = 0; member < table->families[i].nr; member++)
			if (members[member].line)
				o->windows[o->nr_windows++] = (struct seen_window){ &members[member], i, member };
	}
	qsort(o->windows, o->nr_windows, sizeof(o->windows[0]), by_line);
}

/* Those that reach into a window, in order of their addresses. */
static int find_vmas(struct exec *x, const struct process *p)
{
	struct observer *o = x->observer;
	uint64_t first = UINT64_MAX, end = 0, addr;

	o->nr_vmas = 0;
	o->too_many_vmas = false;
	for (unsigned int i = 0; i < o->nr_windows; i++) {
		const struct window *window = o->windows[i].window;

		first = MIN(first, window->addr);
		end = MAX(end, window->addr + window->nr_pages * PAGE_SIZE);
	}
	for (addr = first; addr < end;) {
		struct sp_vma_info vma;
		int err = x->world.ops->vma_find(p->handle, addr, &vma);

		if (err == -ENOENT || (!err && vma.start >= end))
			break;
		if (err)
			return err;
		if (o->nr_vmas == OBSERVE_MAX_VMAS) {
			o->too_many_vmas = true;
			break;
		}
		o->vmas[o->nr_vmas++] = vma;
		addr = vma.end;
	}
	return 0;
}

static const struct sp_vma_info *vma_at(const struct observer *o, uint64_t addr)
{
	for (unsigned int i = 0; i < o->nr_vmas; i++)
		if (addr >= o->vmas[i].start && addr < o->vmas[i].end)
			return &o->vmas[i];
	return NULL;
}

static void window_name(const struct exec *x, const struct seen_window *seen, char *buf, size_t size)
{
	symbol_format(&x->world.scenario->symbols[SYMBOL_WINDOW].list[seen->symbol], seen->member, buf, size);
}

/* ---- VMAs ---------------------------------------------------------------------------------- */

static void vma_flags(const struct sp_vma_info *vma, char flags[12])
{
	unsigned int nr = 0;

	if (vma->prot & SP_PROT_READ)
		flags[nr++] = 'r';
	if (vma->prot & SP_PROT_WRITE)
		flags[nr++] = 'w';
	if (vma->prot & SP_PROT_EXEC)
		flags[nr++] = 'x';
	if (!nr)
		flags[nr++] = '-';
	if (vma->mergeable)
		flags[nr++] = 'm';
	if (vma->locked)
		flags[nr++] = 'l';
	if (vma->shared)
		flags[nr++] = 's';
	if (vma->dontfork)
		flags[nr++] = 'd';
	flags[nr] = '\0';
}

static int add_map(struct exec *x, const struct process *p)
{
	struct observer *o = x->observer;
	char key[96], text[OBSERVE_MAX_VMAS * 128];
	size_t at = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < o->nr_windows; i++) {
		const struct window *window = o->windows[i].window;
		uint64_t window_end = window->addr + window->nr_pages * PAGE_SIZE;
		char name[80], flags[12];

		window_name(x, &o->windows[i], name, sizeof(name));
		for (unsigned int v = 0; v < o->nr_vmas; v++) {
			uint64_t start = MAX(o->vmas[v].start, window->addr);
			uint64_t end = MIN(o->vmas[v].end, window_end);

			if (start >= end)
				continue;
			/* Windows may name the same addresses: then there are more than VMAs. */
			if (at + 128 >= sizeof(text))
				return 0;
			vma_flags(&o->vmas[v], flags);
			at += (size_t)snprintf(text + at, sizeof(text) - at,
					       "%s%.64s[%" PRIu64 "..%" PRIu64 "]:%s", at ? " " : "", name,
					       (start - window->addr) / PAGE_SIZE,
					       (end - window->addr) / PAGE_SIZE - 1, flags);
		}
	}
	snprintf(key, sizeof(key), "%s.map", p->name);
	return observation_add(&o->now, key, at ? text : "-");
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static struct seen_frame *frame_slot(struct observer *o, uint64_t pfn, uint64_t round)
{
	uint64_t slot = pfn * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (;; slot++) {
		struct seen_frame *frame = &o->frames[slot % NR_FRAME_SLOTS];

		if (frame->round != round || frame->pfn == pfn)
			return frame;
	}
}

static void content_text(const uint8_t *page, char text[12])
{
	uint64_t word, hash = 0;

	if (!memcmp(page, page + 1, PAGE_SIZE - 1)) {
		snprintf(text, 12, "0x%02x", page[0]);
		return;
	}
	for (size_t i = 0; i < PAGE_SIZE; i += sizeof(word)) {
		memcpy(&word, page + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	snprintf(text, 12, "#%08" PRIx32, (uint32_t)hash);
}

static void take_content(struct exec *x, const struct process *p, uint64_t addr, char text[12])
{
	uint8_t page[PAGE_SIZE];
	int err;

	if (unknown_pages(&p->unknown, addr, addr + PAGE_SIZE)) {
		snprintf(text, 12, "unknown");
		return;
	}
	err = x->world.ops->peek(p->handle, addr, page, PAGE_SIZE);
	/* The page is there: who cannot read it does not show it. */
	if (err)
		snprintf(text, 12, "?");
	else
		content_text(page, text);
}

static bool with_nodes(const struct exec *x)
{
	return x->world.scenario->machine.nr_nodes > 1;
}

static void present_text(struct exec *x, const struct process *p, uint64_t addr,
			 const struct backend_page *page, char *buf, size_t size)
{
	struct observer *o = x->observer;
	uint64_t round = o->now.operation;
	struct seen_frame *frame = frame_slot(o, page->pfn, round);
	char node[16] = "";

	if (frame->round != round) {
		*frame = (struct seen_frame){ .pfn = page->pfn, .round = round, .number = ++o->nr_frames,
					       .nid = BACKEND_NODE_UNKNOWN };
		take_content(x, p, addr, frame->content);
	}
	/* Whichever mapping tells it, it is the frame's. */
	if (page->nid != BACKEND_NODE_UNKNOWN)
		frame->nid = page->nid;
	if (with_nodes(x) && frame->nid == BACKEND_NODE_UNKNOWN)
		snprintf(node, sizeof(node), "? ");
	else if (with_nodes(x))
		snprintf(node, sizeof(node), "n%u ", frame->nid);
	snprintf(buf, size, "present %s f%u %s%s",
		 page->ksm_unknown ? "?" : page->ksm ? "ksm" : page->anon ? "anon" : "file", frame->number,
		 node, frame->content);
}

static void page_text(struct exec *x, const struct process *p, uint64_t addr,
		      const struct backend_page *page, char *buf, size_t size)
{
	static const char *const states[] = {
		[SP_PAGE_NONE] = "absent", [SP_PAGE_SWAPPED] = "swapped", [SP_PAGE_ZERO] = "zero",
		[SP_PAGE_MIGRATION] = "migration",
	};

	if (!x->observer->too_many_vmas && !vma_at(x->observer, addr))
		snprintf(buf, size, "unmapped");
	else if (page->state == SP_PAGE_PRESENT)
		present_text(x, p, addr, page, buf, size);
	else
		snprintf(buf, size, "%s", states[page->state]);
}

/* Where the backend has no way that is cheaper. */
static int look_one_by_one(const struct backend_ops *ops, struct backend_process *handle, uint64_t addr,
			   uint64_t nr_pages, struct backend_page *ret)
{
	for (uint64_t i = 0; i < nr_pages; i++) {
		struct sp_page_info info;
		int err = ops->page_info(handle, addr + i * PAGE_SIZE, &info);

		if (err < 0)
			return err;
		ret[i] = (struct backend_page){
			.state = info.state,
			.anon = info.anon,
			.ksm = info.ksm,
			.ksm_unknown = err == BACKEND_KSM_UNKNOWN,
			.nid = info.nid,
			.pfn = info.pfn,
		};
	}
	return 0;
}

static int add_pages(struct exec *x, const struct process *p, const struct seen_window *seen)
{
	const struct backend_ops *ops = x->world.ops;
	const struct window *window = seen->window;
	struct backend_page *pages = x->observer->pages;
	char name[80], key[192], text[64];
	int answer, err = 0;

	answer = ops->look ? ops->look(p->handle, window->addr, window->nr_pages, with_nodes(x), pages) :
			     look_one_by_one(ops, p->handle, window->addr, window->nr_pages, pages);
	if (answer == -ENOMEM)
		return answer;
	window_name(x, seen, name, sizeof(name));
	for (uint64_t i = 0; !err && i < window->nr_pages; i++) {
		snprintf(key, sizeof(key), "%s:%s[%" PRIu64 "]", p->name, name, i);
		if (answer)
			snprintf(text, sizeof(text), "%s", answer == BACKEND_CANNOT ? "?" : errno_name(answer));
		else
			page_text(x, p, window->addr + i * PAGE_SIZE, &pages[i], text, sizeof(text));
		err = observation_add(&x->observer->now, key, text);
	}
	return err;
}

/* ---- All of it ---------------------------------------------------------------------------------- */

static int add_process(struct exec *x, const struct process *p)
{
	struct observer *o = x->observer;
	int err = observation_add(&o->now, p->name, p->exited ? "exited" : "running");

	if (err || p->exited)
		return err;
	err = add_process_stats(x, p);
	if (err || o->too_many_pages)
		return err;
	find_windows(o, p->windows);
	err = find_vmas(x, p);
	/* The process is gone although the scenario did not end it. */
	if (err && err != -ENOMEM)
		return observation_set(&o->now, p->name, errno_name(err));
	if (!err && !o->too_many_vmas)
		err = add_map(x, p);
	for (unsigned int i = 0; !err && i < o->nr_windows; i++)
		err = add_pages(x, p, &o->windows[i]);
	return err;
}

static int observe_all(struct exec *x)
{
	struct observer *o = x->observer;
	int err = add_counters(x);

	find_processes(x);
	o->too_many_pages = too_many_pages(o);
	o->nr_frames = 0;
	for (unsigned int i = 0; !err && i < o->nr_processes; i++)
		err = add_process(x, o->processes[i]);
	return err;
}

int exec_observe(struct exec *x, const struct stmt *s, const struct outcome *out)
{
	struct observer *o = x->observer;
	int err;

	if (!o)
		return 0;
	err = observation_begin(&o->now, x->result->nr_operations, s->line, s->text);
	if (!err)
		err = add_outcome(o, out);
	if (err)
		return err;
	o->now.brief = s->has_process && o->now.operation > OBSERVE_MAX_OPERATIONS;
	if (!o->now.brief)
		err = observe_all(x);
	if (err)
		return err;
	return x->options->observe(x->options->observe_arg, &o->now) ? EXEC_STOP : 0;
}
