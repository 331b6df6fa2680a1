/* SPDX-License-Identifier: GPL-2.0-only */
/* Names and what they stand for; see world.h. */
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "suggest.h"

static uint32_t nr_symbols(const struct world *w, enum symbol_kind kind)
{
	return w->scenario->symbols[kind].nr;
}

int world_init(struct world *w, const struct scenario *scenario, struct mem *mem)
{
	memset(w, 0, sizeof(*w));
	w->scenario = scenario;
	w->mem = mem;
	w->next_addr = WINDOWS_START;
	w->max_pages = SCENARIO_MAX_PAGES;
	w->processes = mem_alloc(mem, (nr_symbols(w, SYMBOL_PROCESS) + 1) * sizeof(*w->processes));
	w->holds = mem_alloc(mem, (nr_symbols(w, SYMBOL_HOLD) + 1) * sizeof(*w->holds));
	w->files = mem_alloc(mem, (nr_symbols(w, SYMBOL_FILE) + 1) * sizeof(*w->files));
	w->variables = mem_alloc(mem, (nr_symbols(w, SYMBOL_VARIABLE) + 1) * sizeof(*w->variables));
	if (w->processes && w->holds && w->files && w->variables)
		return 0;
	world_destroy(w);
	return -ENOMEM;
}

static void windows_put(struct world *w, struct window_table *table)
{
	if (!table || --table->nr_users)
		return;
	for (uint32_t i = 0; i < table->nr; i++)
		mem_free(w->mem, table->families[i].members,
			 table->families[i].nr * sizeof(struct window));
	mem_free(w->mem, table, sizeof(*table) + table->nr * sizeof(table->families[0]));
}

static void families_destroy(struct world *w, struct family *families, uint32_t nr,
			     size_t member_bytes)
{
	for (uint32_t i = 0; families && i < nr; i++)
		mem_free(w->mem, families[i].members, families[i].nr * member_bytes);
	mem_free(w->mem, families, (nr + 1) * sizeof(*families));
}

void world_destroy(struct world *w)
{
	while (w->all) {
		struct process *p = w->all;

		w->all = p->next;
		windows_put(w, p->windows);
		unknown_destroy(&p->unknown, w->mem);
		mem_free(w->mem, p, sizeof(*p));
	}
	families_destroy(w, w->processes, nr_symbols(w, SYMBOL_PROCESS),
			 sizeof(struct process_slot));
	families_destroy(w, w->holds, nr_symbols(w, SYMBOL_HOLD), sizeof(struct hold_slot));
	mem_free(w->mem, w->files, (nr_symbols(w, SYMBOL_FILE) + 1) * sizeof(*w->files));
	mem_free(w->mem, w->variables,
		 (nr_symbols(w, SYMBOL_VARIABLE) + 1) * sizeof(*w->variables));
	w->processes = NULL;
	w->holds = NULL;
	w->files = NULL;
	w->variables = NULL;
}

int world_fail(struct world *w, const struct stmt *s, uint32_t pos, const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	if (w->diagnose) {
		diagnose_add_va(w->diagnose, s->line, pos + 1, fmt, ap);
	} else {
		vsnprintf(text, sizeof(text), fmt, ap);
		snprintf(w->error, w->error_bytes, "%.256s:%u:%u: %s", w->scenario->path, s->line,
			 pos + 1, text);
	}
	va_end(ap);
	return WORLD_ERROR;
}

/* ---- Families -------------------------------------------------------------------- */

static void name_text(const struct world *w, enum symbol_kind kind, const struct name_ref *ref,
		      uint32_t member, char *buf, size_t size)
{
	symbol_format(&w->scenario->symbols[kind].list[ref->symbol], member, buf, size);
}

/* Which member ref names. Dry and not known: 0, with w->unsure set. */
static int member_of(struct world *w, const struct stmt *s, const struct name_ref *ref,
		     uint32_t *ret)
{
	int64_t value = 0;
	int err = 0;

	if (ref->index)
		err = world_value_in(w, s, ref->index, "the index of a name", 0, 999999, &value);
	*ret = (uint32_t)value;
	return err;
}

static void *family_member(const struct family *f, uint32_t member, size_t member_bytes)
{
	return member < f->nr ? (char *)f->members + member * member_bytes : NULL;
}

/* Between a sampled loop's first round and its last, any member may have come or gone. */
static bool family_may_have(const struct world *w, const struct family *f, uint32_t member)
{
	return f->unsure &&
	       (w->sampled || (member >= f->unsure_first && member <= f->unsure_last));
}

/* The dry run left out what made or ended members between these. */
static void family_doubt(struct family *f, uint32_t first, uint32_t last)
{
	f->unsure_first = f->unsure ? MIN(f->unsure_first, first) : first;
	f->unsure_last = f->unsure ? MAX(f->unsure_last, last) : last;
	f->unsure = true;
}

static int family_grow(struct world *w, struct family *f, uint32_t member, size_t member_bytes)
{
	uint32_t nr = MAX(member + 1, MIN(f->nr * 2, 1000000u));
	void *members;

	if (member < f->nr)
		return 0;
	if (!f->nr && !member)
		nr = 1;
	members = mem_realloc(w->mem, f->members, f->nr * member_bytes, nr * member_bytes);
	if (!members)
		return -ENOMEM;
	f->members = members;
	f->nr = nr;
	return 0;
}

/* "; did you mean "b"?" among the names of this kind, or nothing. */
static const char *near_name(const struct world *w, enum symbol_kind kind, const char *name,
			     char *buf, size_t size)
{
	const struct symbol_table *table = &w->scenario->symbols[kind];
	struct suggestion s;

	suggest_init(&s, name, strlen(name));
	for (uint32_t i = 0; i < table->nr; i++)
		if (table->list[i].defined_line && !table->list[i].indexed &&
		    strcmp(table->list[i].text, name))
			suggest_consider(&s, table->list[i].text);
	buf[0] = '\0';
	if (s.best)
		snprintf(buf, size, "; did you mean \"%s\"?", s.best);
	return buf;
}

/* ---- Processes --------------------------------------------------------------------- */

int world_process(struct world *w, const struct stmt *s, const struct name_ref *ref,
		  bool exited_too, struct process **ret)
{
	struct family *f = &w->processes[ref->symbol];
	bool unsure = w->unsure;
	struct process_slot *slot;
	char name[80], near[96];
	uint32_t member;
	int err;

	*ret = NULL;
	w->unsure = false;
	err = member_of(w, s, ref, &member);
	if (err)
		return err;
	if (w->unsure)
		return 0;
	w->unsure = unsure;
	slot = family_member(f, member, sizeof(*slot));
	if (family_may_have(w, f, member) && (!slot || !slot->line || slot->process->exited)) {
		w->unsure = true;
		return 0;
	}
	if (slot && slot->line && (exited_too || !slot->process->exited)) {
		*ret = slot->process;
		return 0;
	}
	name_text(w, SYMBOL_PROCESS, ref, member, name, sizeof(name));
	if (!slot || !slot->line)
		return world_fail(w, s, ref->pos, "there is no process \"%s\" here%s", name,
				  near_name(w, SYMBOL_PROCESS, name, near, sizeof(near)));
	return world_fail(w, s, ref->pos, "process \"%s\" has exited (line %u)", name,
			  slot->process->exited_line);
}

int world_process_may_start(struct world *w, const struct stmt *s, const struct name_ref *ref)
{
	struct process_slot *slot;
	char name[80];
	uint32_t member;
	int err = member_of(w, s, ref, &member);

	if (err || w->unsure)
		return err;
	slot = family_member(&w->processes[ref->symbol], member, sizeof(*slot));
	if (!slot || !slot->line || slot->process->exited ||
	    family_may_have(w, &w->processes[ref->symbol], member))
		return 0;
	name_text(w, SYMBOL_PROCESS, ref, member, name, sizeof(name));
	return world_fail(w, s, ref->pos,
			  "there is a process \"%s\" already (line %u), and it has not exited",
			  name, slot->line);
}

int world_process_start(struct world *w, const struct stmt *s, const struct name_ref *ref,
			struct backend_process *handle, const struct process *parent,
			struct process **ret)
{
	struct family *f = &w->processes[ref->symbol];
	struct process_slot *slot;
	struct process *p;
	uint32_t member;
	int err = member_of(w, s, ref, &member);

	*ret = NULL;
	if (err)
		return err;
	if (w->unsure) {
		family_doubt(f, 0, UINT32_MAX);
		return 0;
	}
	err = family_grow(w, f, member, sizeof(*slot));
	if (err)
		return err;
	p = mem_alloc(w->mem, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->handle = handle;
	name_text(w, SYMBOL_PROCESS, ref, member, p->name, sizeof(p->name));
	if (parent) {
		err = unknown_copy(&p->unknown, w->mem, &parent->unknown);
		if (err) {
			mem_free(w->mem, p, sizeof(*p));
			return err;
		}
		p->windows = parent->windows;
		if (p->windows)
			p->windows->nr_users++;
	}
	p->number = w->all ? w->all->number + 1 : 1;
	p->next = w->all;
	w->all = p;
	slot = family_member(f, member, sizeof(*slot));
	slot->line = s->line;
	slot->process = p;
	if (w->sampled && ref->index)
		family_doubt(f, member, member);
	*ret = p;
	return 0;
}

void world_process_exit(struct world *w, const struct stmt *s, struct process *p)
{
	/* Which of c{i} exited in the rounds left out? Any. */
	if (w->sampled && s->process.index)
		family_doubt(&w->processes[s->process.symbol], 0, UINT32_MAX);
	if (!p)
		return;
	p->exited = true;
	p->exited_line = s->line;
	unknown_destroy(&p->unknown, w->mem);
	windows_put(w, p->windows);
	p->windows = NULL;
}

struct process *world_process_by_id(const struct world *w, uint32_t id)
{
	for (struct process *p = w->all; p; p = p->next)
		if (w->ops->process_id(p->handle) == id)
			return p;
	return NULL;
}

/* ---- Windows -------------------------------------------------------------------------- */

static struct window *find_window(const struct process *p, uint32_t symbol, uint32_t member)
{
	struct window *window;

	if (!p->windows)
		return NULL;
	window = family_member(&p->windows->families[symbol], member, sizeof(*window));
	return window && window->line ? window : NULL;
}

/* A table that p alone uses. */
static int own_table(struct world *w, struct process *p)
{
	struct window_table *old = p->windows;
	struct window_table *table;
	uint32_t nr = nr_symbols(w, SYMBOL_WINDOW);

	if (old && old->nr_users == 1)
		return 0;
	table = mem_alloc(w->mem, sizeof(*table) + nr * sizeof(table->families[0]));
	if (!table)
		return -ENOMEM;
	table->nr_users = 1;
	table->nr = nr;
	for (uint32_t i = 0; old && i < nr; i++) {
		struct family *f = &table->families[i];

		*f = old->families[i];
		f->members = NULL;
		if (!f->nr)
			continue;
		f->members = mem_alloc(w->mem, f->nr * sizeof(struct window));
		if (!f->members) {
			f->nr = 0;
			windows_put(w, table);
			return -ENOMEM;
		}
		memcpy(f->members, old->families[i].members, f->nr * sizeof(struct window));
	}
	windows_put(w, old);
	p->windows = table;
	return 0;
}

static int name_window(struct world *w, const struct stmt *s, struct process *p,
		       const struct name_ref *ref, const struct window *window,
		       struct window **ret)
{
	struct family *f;
	struct window *slot;
	char name[80];
	uint32_t member;
	int err = member_of(w, s, ref, &member);

	*ret = NULL;
	if (err || !p)
		return err;
	err = own_table(w, p);
	if (err)
		return err;
	f = &p->windows->families[ref->symbol];
	if (w->unsure && ref->index) {
		family_doubt(f, 0, UINT32_MAX);
		return 0;
	}
	slot = find_window(p, ref->symbol, member);
	if (slot) {
		if (family_may_have(w, f, member))
			return 0;
		name_text(w, SYMBOL_WINDOW, ref, member, name, sizeof(name));
		return world_fail(w, s, ref->pos,
				  "\"%s\" is a window of %s already (line %u): another name, or map %s[...] to map inside it",
				  name, p->name, slot->line, name);
	}
	err = family_grow(w, f, member, sizeof(*slot));
	if (err)
		return err;
	slot = family_member(f, member, sizeof(*slot));
	*slot = *window;
	if (w->sampled && ref->index)
		family_doubt(f, member, member);
	*ret = slot;
	return 0;
}

int world_window(struct world *w, const struct stmt *s, struct process *p,
		 const struct name_ref *ref, uint64_t nr_pages, bool huge_align,
		 struct window **ret)
{
	struct window window = { .line = s->line, .unsure = w->unsure, .nr_pages = nr_pages };
	uint64_t start = w->next_addr;
	int err;

	if (nr_pages > w->max_pages - w->nr_pages)
		return world_fail(w, s, ref->pos,
				  "the windows of a scenario have at most %" PRIu64
				  " pages together: %" PRIu64 " are left", w->max_pages,
				  w->max_pages - w->nr_pages);
	if (huge_align)
		start = (start + HPAGE_PMD_SIZE - 1) & HPAGE_PMD_MASK;
	if (start >= WINDOWS_END || nr_pages + GUARD_PAGES > (WINDOWS_END - start) / PAGE_SIZE)
		return world_fail(w, s, ref->pos, "no address space is left for another window");
	window.addr = start;
	err = name_window(w, s, p, ref, &window, ret);
	if (err)
		return err;
	w->nr_pages += nr_pages;
	w->next_addr = start + (nr_pages + GUARD_PAGES) * PAGE_SIZE;
	return 0;
}

int world_window_at(struct world *w, const struct stmt *s, struct process *p,
		    const struct name_ref *ref, uint64_t addr, uint64_t nr_pages)
{
	const struct window window = {
		.line = s->line, .unsure = w->unsure, .addr = addr, .nr_pages = nr_pages,
	};
	struct window *ret;

	return name_window(w, s, p, ref, &window, &ret);
}

/* No window of p is called that: says so, and what may have been meant. */
static int no_window(struct world *w, const struct stmt *s, const struct range *range,
		     const struct process *p, uint32_t member)
{
	const struct symbol *symbol = &w->scenario->symbols[SYMBOL_WINDOW].list[range->window.symbol];
	char name[80], near[96];

	name_text(w, SYMBOL_WINDOW, &range->window, member, name, sizeof(name));
	for (int kind = 0; kind < NR_SYMBOL_KINDS; kind++) {
		const struct symbol_table *table = &w->scenario->symbols[kind];

		for (uint32_t i = 0; i < table->nr && kind != SYMBOL_WINDOW && !symbol->indexed; i++)
			if (table->list[i].defined_line && !strcmp(table->list[i].text, symbol->text))
				return world_fail(w, s, range->window.pos,
						  "\"%s\" is no window of %s, but the name of something else (line %u)",
						  name, p->name, table->list[i].defined_line);
	}
	return world_fail(w, s, range->window.pos, "%s has no window \"%s\"%s", p->name, name,
			  near_name(w, SYMBOL_WINDOW, name, near, sizeof(near)));
}

/* The window that a range names; NULL with w->unsure set when it may exist. */
static int range_window(struct world *w, const struct stmt *s, const struct range *range,
			const struct process *p, struct window **ret)
{
	uint32_t member;
	int err = member_of(w, s, &range->window, &member);

	*ret = NULL;
	if (err || w->unsure)
		return err;
	*ret = find_window(p, range->window.symbol, member);
	if (*ret)
		return 0;
	if (!p->unsure &&
	    !(p->windows && family_may_have(w, &p->windows->families[range->window.symbol], member)))
		return no_window(w, s, range, p, member);
	w->unsure = true;
	return 0;
}

static int outside(struct world *w, const struct stmt *s, const struct range *range, uint32_t pos,
		   int64_t page, uint64_t nr_pages)
{
	const char *bracket = strchr(range->text, '[');
	int length = bracket ? (int)(bracket - range->text) : (int)strlen(range->text);

	if (!nr_pages)
		return world_fail(w, s, pos, "page %" PRId64 " is too far from %.*s", page, length,
				  range->text);
	return world_fail(w, s, pos, "page %" PRId64 " is outside %.*s, which has the pages 0..%" PRIu64,
			  page, length, range->text, nr_pages - 1);
}

/* First and last page of the range in a window of nr_pages (0: without an end). */
static int range_pages(struct world *w, const struct stmt *s, const struct range *range,
		       uint64_t nr_pages, uint64_t *first, uint64_t *count)
{
	int64_t limit = nr_pages ? (int64_t)nr_pages : INT64_C(1) << 34;
	int64_t a = 0, b;
	int err;

	*first = 0;
	*count = nr_pages ? nr_pages : 1;
	if (!range->first)
		return 0;
	err = world_value(w, s, range->first, &a);
	b = a;
	if (!err && range->last)
		err = world_value(w, s, range->last, &b);
	if (err || w->unsure || w->cannot)
		return err;
	if (range->open)
		b = limit - 1;
	if (a < 0 || a >= limit)
		return outside(w, s, range, range->first->pos, a, nr_pages);
	if (b < a)
		return world_fail(w, s, range->first->pos,
				  "the last page, %" PRId64 ", lies before the first, %" PRId64, b, a);
	if (b >= limit)
		return outside(w, s, range, range->last->pos, b, nr_pages);
	*first = (uint64_t)a;
	*count = (uint64_t)(b - a) + 1;
	return 0;
}

int world_place(struct world *w, const struct stmt *s, const struct range *range,
		struct place *ret)
{
	bool unsure = w->unsure;
	uint64_t first, base = 0, nr_pages = 0;
	int64_t value = 0;
	int err;

	memset(ret, 0, sizeof(*ret));
	w->unsure = false;
	err = world_process(w, s, &range->process, false, &ret->process);
	if (err)
		return err;
	ret->all = range->kind == RANGE_ALL;
	if (ret->process && range->kind == RANGE_WINDOW) {
		struct window *window;

		err = range_window(w, s, range, ret->process, &window);
		if (err)
			return err;
		if (window) {
			base = window->addr;
			nr_pages = window->nr_pages;
			w->unsure |= window->unsure;
		}
	} else if (range->kind == RANGE_ADDRESS) {
		err = world_value_in(w, s, range->address, "an address", 0, (INT64_C(1) << 47) - 1, &value);
		if (!err && !w->unsure && value % (int64_t)PAGE_SIZE)
			err = world_fail(w, s, range->address->pos, "an address is a multiple of 4096; add +OFFSET for others");
		if (err)
			return err;
		base = (uint64_t)value;
	}
	if (!w->unsure && !ret->all) {
		err = range_pages(w, s, range, nr_pages, &first, &ret->nr_pages);
		if (err)
			return err;
		ret->addr = base + first * PAGE_SIZE;
	}
	value = 0;
	if (range->offset)
		err = world_value_in(w, s, range->offset, "an offset", 0, INT64_C(1) << 47, &value);
	ret->addr += (uint64_t)value;
	ret->unsure = w->unsure;
	w->unsure |= unsure;
	return err;
}

void world_address_text(const struct world *w, const struct process *p, uint64_t addr, char *buf,
			size_t size)
{
	const struct symbol_table *symbols = &w->scenario->symbols[SYMBOL_WINDOW];
	const struct window *best = NULL;
	char name[80] = "";

	for (uint32_t i = 0; p->windows && i < p->windows->nr; i++) {
		const struct family *f = &p->windows->families[i];

		for (uint32_t member = 0; member < f->nr; member++) {
			const struct window *window = family_member(f, member, sizeof(*window));

			if (!window->line || addr < window->addr ||
			    addr >= window->addr + window->nr_pages * PAGE_SIZE ||
			    (best && best->nr_pages <= window->nr_pages))
				continue;
			best = window;
			symbol_format(&symbols->list[i], member, name, sizeof(name));
		}
	}
	if (best)
		snprintf(buf, size, "%.60s:%.60s[%" PRIu64 "] (0x%" PRIx64 ")", p->name, name,
			 (addr - best->addr) / PAGE_SIZE, addr);
	else
		snprintf(buf, size, "%.60s (0x%" PRIx64 ")", p->name, addr);
}

/* ---- Files, held pages ------------------------------------------------------------------ */

int world_file(struct world *w, const struct stmt *s, const struct name_ref *ref,
	       struct file_slot **ret)
{
	const struct symbol *symbol = &w->scenario->symbols[SYMBOL_FILE].list[ref->symbol];
	char near[96];

	*ret = &w->files[ref->symbol];
	if ((*ret)->line)
		return 0;
	return world_fail(w, s, ref->pos, "there is no file \"%s\" here%s", symbol->text,
			  near_name(w, SYMBOL_FILE, symbol->text, near, sizeof(near)));
}

int world_hold_new(struct world *w, const struct stmt *s, const struct name_ref *ref,
		   struct hold_slot **ret)
{
	struct family *f = &w->holds[ref->symbol];
	struct hold_slot *slot;
	char name[80];
	uint32_t member;
	int err = member_of(w, s, ref, &member);

	*ret = NULL;
	if (err)
		return err;
	if (w->unsure && ref->index) {
		family_doubt(f, 0, UINT32_MAX);
		return 0;
	}
	err = family_grow(w, f, member, sizeof(*slot));
	if (err)
		return err;
	slot = family_member(f, member, sizeof(*slot));
	if (slot->line && !family_may_have(w, f, member)) {
		name_text(w, SYMBOL_HOLD, ref, member, name, sizeof(name));
		return world_fail(w, s, ref->pos, "\"%s\" holds a page already (line %u): drop it first", name,
				  slot->line);
	}
	if (w->sampled && ref->index)
		family_doubt(f, 0, UINT32_MAX);
	*ret = slot;
	return 0;
}

int world_hold(struct world *w, const struct stmt *s, const struct name_ref *ref,
	       struct hold_slot **ret)
{
	struct family *f = &w->holds[ref->symbol];
	char name[80], near[96];
	uint32_t member;
	int err = member_of(w, s, ref, &member);

	*ret = NULL;
	if (err || w->unsure)
		return err;
	*ret = family_member(f, member, sizeof(**ret));
	if (*ret && (*ret)->line)
		return 0;
	*ret = NULL;
	if (family_may_have(w, f, member))
		return 0;
	name_text(w, SYMBOL_HOLD, ref, member, name, sizeof(name));
	return world_fail(w, s, ref->pos, "nothing is held as \"%s\" here%s", name,
			  near_name(w, SYMBOL_HOLD, name, near, sizeof(near)));
}
