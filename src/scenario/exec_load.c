/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes from real memory: builds a simulated process out of what a reader
 * of src/host tells, VMA by VMA and page by page.
 *
 * A VMA is mapped writable, filled, and gets its own protection when its last
 * page is there. What is known is written, what was swapped with known
 * contents starts out in swap. What is not known stays untouched, so that it
 * never passes for a zero page, and is counted and remembered (unknown.h).
 *
 * A file mapping maps a made-up file of the same length, whose contents are
 * seeded with its name: ksmd does not look at them, and no page that the
 * program wrote depends on them.
 *
 * Two neighbouring VMAs that the machine can merge become one, where the real
 * ones were kept apart by something that the source does not tell (another
 * anon_vma); the load report has both counts.
 *
 * The VMAs are the windows vma0, vma1, ... in order of address; the heap and the stack
 * are also the windows heap and stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "elf_core.h"
#include "exec.h"
#include "names.h"
#include "parse.h"
#include "proc_image.h"

/* Of a made-up file: the machine keeps a word for each page of a file. */
#define MAX_FILE_PAGES (UINT64_C(1) << 24)

struct loaded_file {
	struct loaded_file *next;
	struct backend_file *handle;
	uint64_t nr_pages;
	char name[IMAGE_NAME_BYTES];
};

struct loader {
	struct exec *x;
	const struct stmt *stmt;
	struct process *p;
	struct loaded_file *files;
	uint64_t nr_vmas;
	bool open;              /* a VMA that is being filled */
	struct image_vma vma;
	int world_err;          /* an error of the interpreter, not of the backend */
};

static int seed_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return (int)(hash & INT32_MAX) | 1;
}

static int loaded_file(struct loader *l, const struct image_vma *vma, struct loaded_file **ret)
{
	struct world *w = &l->x->world;
	uint64_t nr_pages = vma->pgoff + (vma->end - vma->start) / PAGE_SIZE;
	struct loaded_file *file;
	int err;

	for (file = l->files; file; file = file->next)
		if (file->nr_pages >= nr_pages && !strcmp(file->name, vma->name)) {
			*ret = file;
			return 0;
		}
	if (vma->pgoff > MAX_FILE_PAGES || nr_pages > MAX_FILE_PAGES) {
		snprintf(l->x->note, sizeof(l->x->note), "%s is mapped at page %" PRIu64 " of the file: at most %" PRIu64 " are simulated",
			 vma->name, vma->pgoff, MAX_FILE_PAGES);
		return -EFBIG;
	}
	file = mem_alloc(w->mem, sizeof(*file));
	if (!file) {
		l->world_err = -ENOMEM;
		return -ENOMEM;
	}
	err = w->ops->file_create(w->backend, nr_pages, exec_seed(l->x, seed_of(vma->name)), &file->handle);
	if (err) {
		mem_free(w->mem, file, sizeof(*file));
		return err;
	}
	file->nr_pages = nr_pages;
	memcpy(file->name, vma->name, sizeof(file->name));
	file->next = l->files;
	l->files = file;
	*ret = file;
	return 0;
}

/* All pages of the open VMA are there. */
static int close_vma(struct loader *l)
{
	const unsigned int while_filled = SP_PROT_READ | SP_PROT_WRITE;

	if (!l->open)
		return 0;
	l->open = false;
	if (l->vma.prot == while_filled)
		return 0;
	return l->x->world.ops->mprotect(l->p->handle, l->vma.start, l->vma.end - l->vma.start,
					 (int)l->vma.prot);
}

static int name_vma(struct loader *l, const char *name, int64_t index)
{
	struct world *w = &l->x->world;
	struct expr member = { .op = EXPR_CONST, .value = index };
	struct name_ref ref = { .index = index < 0 ? NULL : &member };

	ref.symbol = symbol_find(w->scenario, SYMBOL_WINDOW, name, (uint32_t)strlen(name), index >= 0);
	if (ref.symbol == UINT32_MAX || index > 999999)
		return 0; /* nobody asks for it */
	l->world_err = world_window_at(w, l->stmt, l->p, &ref, l->vma.start,
				       (l->vma.end - l->vma.start) / PAGE_SIZE);
	return l->world_err;
}

static int load_vma(void *arg, const struct image_vma *vma)
{
	struct loader *l = arg;
	struct world *w = &l->x->world;
	struct loaded_file *file = NULL;
	int err = close_vma(l);

	if (!err && vma->file_backed)
		err = loaded_file(l, vma, &file);
	if (err)
		return err;
	err = w->ops->mmap(l->p->handle, vma->start, vma->end - vma->start, SP_PROT_READ | SP_PROT_WRITE,
			   (vma->shared ? SP_MAP_SHARED : SP_MAP_PRIVATE) | SP_MAP_FIXED_NOREPLACE |
			   SP_MAP_NORESERVE, file ? file->handle : NULL, file ? vma->pgoff : 0);
	if (err == -ENOMEM && l->nr_vmas + 1 >= w->scenario->machine.max_map_count)
		snprintf(l->x->note, sizeof(l->x->note), "more than %u mappings: `machine map_limit N` allows more",
			 w->scenario->machine.max_map_count);
	if (err)
		return err;
	l->open = true;
	l->vma = *vma;
	err = name_vma(l, "vma", (int64_t)l->nr_vmas++);
	if (!err && !strcmp(vma->name, "[heap]"))
		err = name_vma(l, "heap", -1);
	if (!err && !strcmp(vma->name, "[stack]"))
		err = name_vma(l, "stack", -1);
	return err;
}

static int load_page(void *arg, uint64_t addr, enum image_page_state state, const void *contents)
{
	struct loader *l = arg;
	const struct backend_ops *ops = l->x->world.ops;

	if (state == IMAGE_PAGE_SWAPPED)
		return ops->load_swapped(l->p->handle, addr, contents);
	return ops->write(l->p->handle, addr, contents, PAGE_SIZE);
}

static int load_run(void *arg, uint64_t addr, uint64_t nr_pages, enum image_page_state state)
{
	struct loader *l = arg;
	const struct backend_ops *ops = l->x->world.ops;
	int err = 0;

	if (state == IMAGE_PAGE_UNTOUCHED || state == IMAGE_PAGE_FILE)
		return 0;
	if (state == IMAGE_PAGE_SWAPPED)
		for (uint64_t i = 0; !err && i < nr_pages; i++)
			err = ops->load_swapped(l->p->handle, addr + i * PAGE_SIZE, NULL);
	if (!err) {
		l->world_err = unknown_add(&l->p->unknown, l->x->world.mem, addr, addr + nr_pages * PAGE_SIZE);
		err = l->world_err;
	}
	return err;
}

static const struct image_ops image_ops = { load_vma, load_page, load_run };

/* A relative path is relative to the scenario. */
static void core_path(const struct exec *x, const struct stmt *s, char *buf, size_t size)
{
	const char *scenario = x->world.scenario->path;
	const char *slash = strrchr(scenario, '/');

	if (s->word[0] == '/' || !slash)
		snprintf(buf, size, "%s", s->word);
	else
		snprintf(buf, size, "%.*s/%s", (int)(slash - scenario), scenario, s->word);
}

static int note_load(struct loader *l, const char *source, const struct image_report *report)
{
	struct exec *x = l->x;
	struct scenario_result *result = x->result;
	struct place all = { .process = l->p, .all = true };
	struct scenario_load *loads, *load;
	int64_t nr_vmas;
	int err = world_count_vmas(&x->world, &all, &nr_vmas);

	if (err)
		return err;
	loads = mem_realloc(x->world.mem, result->loads, result->nr_loads * sizeof(*loads),
			    (result->nr_loads + 1) * sizeof(*loads));
	if (!loads) {
		l->world_err = -ENOMEM;
		return -ENOMEM;
	}
	result->loads = loads;
	load = &loads[result->nr_loads++];
	load->line = l->stmt->line;
	snprintf(load->process, sizeof(load->process), "%s", l->p->name);
	snprintf(load->source, sizeof(load->source), "%.150s", source);
	load->report = *report;
	load->nr_vmas = (uint64_t)nr_vmas;
	load->nr_unknown_pages = unknown_pages(&l->p->unknown, 0, UINT64_MAX);
	result->nr_unknown_pages += load->nr_unknown_pages;
	return 0;
}

int exec_load(struct exec *x, const struct stmt *s, struct process *p, struct outcome *out)
{
	struct world *w = &x->world;
	struct loader l = { .x = x, .stmt = s, .p = p };
	struct image_report report = { 0 };
	char source[160], path[4096 + 256], message[320] = "";
	int64_t pid;
	int err = exec_value(x, s, s->value[0], "a process number", 1, INT32_MAX, 0, &pid);

	if (err)
		return err;
	if (s->options & OPTION_FROM_CORE) {
		core_path(x, s, path, sizeof(path));
		snprintf(source, sizeof(source), "core %.140s", s->word);
		err = elf_core_read(w->mem, path, &image_ops, &l, &report, message, sizeof(message));
	} else {
		snprintf(source, sizeof(source), "pid %" PRId64, pid);
		err = proc_image_read(w->mem, (pid_t)pid, 0, &image_ops, &l, &report, message, sizeof(message));
	}
	if (!err)
		err = close_vma(&l);
	if (!err)
		err = note_load(&l, source, &report);
	while (l.files) {
		struct loaded_file *file = l.files;

		l.files = file->next;
		mem_free(w->mem, file, sizeof(*file));
	}
	if (l.world_err)
		return l.world_err;
	if (!err)
		return 0;
	if (!x->note[0] && message[0])
		snprintf(x->note, sizeof(x->note), "%s", message);
	else if (!x->note[0])
		snprintf(x->note, sizeof(x->note), "%s does not fit into the machine: %s", source, errno_name(err));
	/* Half a process is none. */
	out->err = err;
	err = w->ops->exit(p->handle);
	world_process_exit(w, s, p);
	return err == -ENOMEM ? err : 0;
}

int exec_load_dry(struct exec *x, const struct stmt *s)
{
	int64_t pid;

	return exec_value(x, s, s->value[0], "a process number", 1, INT32_MAX, 1, &pid);
}
