/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage bench merge: ksmd's rate over the same contents, in the engine and in the host kernel.
 *
 * SIZE bytes of pages: --unique per cent of them random and unique, the others in groups of GROUP
 * equal pages, all spread over the region by a permutation. What is measured is ksmd alone: from
 * its start to the end of the scan that merged the last page, not the filling. Both sides get the
 * same pages, the same smart_scan, use_zero_pages and max_page_sharing, and a batch that is a whole
 * pass.
 *
 * The host's knobs are put back by host_ksm's guard, whatever becomes of this process.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "cli.h"
#include "clock.h"
#include "host_merge.h"
#include "json.h"
#include "names.h"
#include "random.h"

#define BASE	   UINT64_C(0x200000000000)
#define GROUP	   8
#define MAX_PASSES 10

struct options {
	uint64_t bytes, unique;
	bool json, no_host;
};

struct work {
	uint64_t nr_pages, nr_unique;
};

struct engine_result {
	uint64_t wall_ns, cpu_ns;
	uint64_t nr_passes;
	int64_t pages_scanned, pages_shared, pages_sharing;
	struct sp_memory_usage usage;
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/*
 * Which contents page `index` has: an odd multiplier permutes the indexes of a power of two;
 * indexes beyond nr_pages are walked on until one falls inside, so it is a permutation of [0,
 * nr_pages) too.
 */
static uint64_t contents_of(const struct work *w, uint64_t index)
{
	uint64_t mask = 1;

	while (mask < w->nr_pages)
		mask <<= 1;
	mask--;
	do
		index = (index * UINT64_C(0x9e3779b1) + 0x7f4a7c15) & mask;
	while (index >= w->nr_pages);
	return index < w->nr_unique ? index : w->nr_unique + (index - w->nr_unique) / GROUP;
}

static int fill(void *arg, uint64_t index, void *page)
{
	const struct work *w = arg;
	struct random random = {contents_of(w, index) * UINT64_C(0xd1342543de82ef95) + 1};
	uint64_t *words = page;

	for (unsigned int i = 0; i < SP_PAGE_SIZE / sizeof(*words); i++)
		words[i] = random_next(&random);
	return stopped ? -EINTR : 0;
}

static int host_progress(void *arg, const struct host_merge_result *so_far)
{
	(void)arg;
	progress_line("bench merge: host: %" PRIu64 " scans, %" PRIu64 " pages scanned, %" PRIu64
		      " sharing",
		      so_far->nr_full_scans, so_far->pages_scanned, so_far->pages_sharing);
	return stopped ? -EINTR : 0;
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Whole passes until one changes nothing; the time is that up to the last one that did. */
static int engine_scan(struct sp_machine *m, struct engine_result *r)
{
	uint64_t begin = clock_measure_ns(), cpu_begin = thread_cpu_ns();
	int64_t sharing = 0;

	for (uint64_t pass = 1; pass <= MAX_PASSES; pass++) {
		int64_t now = 0;
		int err;

		progress_line("bench merge: engine: pass %" PRIu64, pass);
		err = sp_ksm_scan(m, 1);
		if (!err)
			err = sp_counter_get(m, "pages_sharing", &now);
		if (err)
			return err;
		if (stopped)
			return -EINTR;
		if (pass > 2 && now == sharing)
			break;
		if (now != sharing || pass == 1) {
			r->wall_ns = clock_measure_ns() - begin;
			r->cpu_ns = thread_cpu_ns() - cpu_begin;
			r->nr_passes = pass;
			err = sp_counter_get(m, "pages_scanned", &r->pages_scanned);
			if (!err)
				err = sp_counter_get(m, "pages_shared", &r->pages_shared);
			if (err)
				return err;
		}
		sharing = now;
	}
	r->pages_sharing = sharing;
	return 0;
}

static int engine_run(const struct work *w, const char *smart_scan, const char *max_page_sharing,
		      const char *use_zero_pages, struct engine_result *r)
{
	static uint64_t page[SP_PAGE_SIZE / sizeof(uint64_t)];
	const int rw = SP_PROT_READ | SP_PROT_WRITE;
	struct sp_machine *m;
	struct sp_process *p;
	int err = sp_machine_create(NULL, &m);

	if (err)
		return err;
	err = sp_process_create(m, &p);
	if (!err)
		err = sp_mmap(p, BASE, w->nr_pages * SP_PAGE_SIZE, rw,
			      SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0, NULL);
	for (uint64_t i = 0; !err && i < w->nr_pages; i++) {
		if (i % 4096 == 0)
			progress_line("bench merge: engine: filling, %" PRIu64 " of %" PRIu64
				      " pages",
				      i, w->nr_pages);
		err = fill((void *)w, i, page);
		if (!err)
			err = sp_write(p, BASE + i * SP_PAGE_SIZE, page, SP_PAGE_SIZE);
	}
	if (!err)
		err = sp_madvise(p, BASE, w->nr_pages * SP_PAGE_SIZE, SP_MADV_MERGEABLE);
	if (!err)
		err = sp_knob_set(m, "pages_to_scan", "1000000000");
	if (!err && smart_scan)
		err = sp_knob_set(m, "smart_scan", smart_scan);
	if (!err && max_page_sharing)
		err = sp_knob_set(m, "max_page_sharing", max_page_sharing);
	if (!err && use_zero_pages)
		err = sp_knob_set(m, "use_zero_pages", use_zero_pages);
	if (!err)
		err = sp_knob_set(m, "run", "1");
	/* Before the first scan every page has a frame, after it every one an rmap_item as well. */
	if (!err)
		err = engine_scan(m, r);
	if (!err)
		sp_memory_usage(m, &r->usage);
	sp_machine_destroy(m);
	return err;
}

struct report {
	struct options o;
	struct work work;
	struct engine_result engine;
	bool host_ran;
	struct host_merge_result host;
	char skipped[256]; /* why the host did not run */
};

static double per_second(uint64_t pages, uint64_t ns)
{
	return (double)pages * 1e9 / (double)MAX(ns, UINT64_C(1));
}

static double metadata_per_page(const struct report *r)
{
	return (double)r->engine.usage.metadata_bytes / (double)r->work.nr_pages;
}

static void print_people(const struct report *r)
{
	const struct engine_result *e = &r->engine;
	char wall[32], cpu[32];

	printf("%" PRIu64 " pages (%" PRIu64 " MiB), %" PRIu64
	       " %% unique, the others in groups of %d.\n\n",
	       r->work.nr_pages, r->o.bytes >> 20, r->o.unique, GROUP);
	printf("%-8s %9s %9s %7s %14s %9s %9s\n", "", "time", "CPU", "passes", "pages/s", "shared",
	       "sharing");
	printf("%-8s %9s %9s %7" PRIu64 " %14.0f %9" PRId64 " %9" PRId64 "\n", "engine",
	       format_ns(wall, sizeof(wall), e->wall_ns), format_ns(cpu, sizeof(cpu), e->cpu_ns),
	       e->nr_passes, per_second(r->work.nr_pages, e->wall_ns), e->pages_shared,
	       e->pages_sharing);
	if (r->host_ran) {
		printf("%-8s %9s %9s %7" PRIu64 " %14.0f %9" PRIu64 " %9" PRIu64 "\n", "host",
		       format_ns(wall, sizeof(wall), r->host.wall_ns),
		       r->host.ksmd_cpu_ns ? format_ns(cpu, sizeof(cpu), r->host.ksmd_cpu_ns) : "-",
		       r->host.nr_full_scans, per_second(r->work.nr_pages, r->host.wall_ns),
		       r->host.pages_shared, r->host.pages_sharing);
		printf("\nThe engine is %.2f times as fast as the host's ksmd.\n",
		       (double)r->host.wall_ns / (double)MAX(e->wall_ns, UINT64_C(1)));
		if (r->host.others)
			printf("Other mergeable memory was scanned along on the host.\n");
	} else {
		printf("\nThe host kernel was left out: %s.\n", r->skipped);
	}
	printf("Engine metadata: %.1f bytes a page (%" PRIu64 " rmap_items, %" PRIu64
	       " stable nodes).\n",
	       metadata_per_page(r), e->usage.nr_rmap_items, e->usage.nr_stable_nodes);
}

static void print_json(const struct report *r)
{
	struct json_object *root = json_object_new_object();
	struct json_object *engine = json_object_new_object();
	struct json_object *host;

	json_add_number(root, "nr_pages", r->work.nr_pages);
	json_add_number(root, "unique_percent", r->o.unique);
	json_add_number(engine, "wall_ns", r->engine.wall_ns);
	json_add_number(engine, "cpu_ns", r->engine.cpu_ns);
	json_add_number(engine, "passes", r->engine.nr_passes);
	json_add_number(engine, "pages_scanned", (uint64_t)r->engine.pages_scanned);
	json_add_number(engine, "pages_shared", (uint64_t)r->engine.pages_shared);
	json_add_number(engine, "pages_sharing", (uint64_t)r->engine.pages_sharing);
	json_add_double(engine, "pages_per_second",
			per_second(r->work.nr_pages, r->engine.wall_ns));
	json_add_double(engine, "metadata_bytes_per_page", metadata_per_page(r));
	json_object_object_add(root, "engine", engine);
	if (r->host_ran) {
		host = json_object_new_object();
		json_add_number(host, "wall_ns", r->host.wall_ns);
		json_add_number(host, "cpu_ns", r->host.ksmd_cpu_ns);
		json_add_number(host, "passes", r->host.nr_full_scans);
		json_add_number(host, "pages_scanned", r->host.pages_scanned);
		json_add_number(host, "pages_shared", r->host.pages_shared);
		json_add_number(host, "pages_sharing", r->host.pages_sharing);
		json_add_double(host, "pages_per_second",
				per_second(r->work.nr_pages, r->host.wall_ns));
		json_object_object_add(root, "host", host);
		json_add_double(root, "ratio_to_host",
				(double)r->host.wall_ns /
					(double)MAX(r->engine.wall_ns, UINT64_C(1)));
	} else {
		json_add_text(root, "host_skipped", r->skipped);
	}
	puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY));
	json_object_put(root);
}

static const char *found(struct host_ksm *ksm, enum host_ksm_knob knob)
{
	return ksm ? host_ksm_found(ksm, knob) : NULL;
}

static int measure(struct report *r)
{
	struct host_ksm *ksm = NULL;
	struct mem mem;
	char msg[256];
	int err;

	mem_init(&mem);
	if (r->o.no_host)
		snprintf(r->skipped, sizeof(r->skipped), "--no-host was given");
	else if (host_ksm_open(&mem, NULL, &ksm, r->skipped, sizeof(r->skipped)))
		ksm = NULL;
	err = engine_run(&r->work, found(ksm, HOST_KSM_smart_scan),
			 found(ksm, HOST_KSM_max_page_sharing), found(ksm, HOST_KSM_use_zero_pages),
			 &r->engine);
	if (err)
		complain("bench merge: engine: %s", errno_name(err));
	if (!err && ksm) {
		struct host_merge_job job = {
			.nr_pages = r->work.nr_pages,
			.fill = fill,
			.progress = host_progress,
			.arg = &r->work,
		};

		err = host_ksm_merge_rate(ksm, &job, &r->host, msg, sizeof(msg));
		r->host_ran = !err;
		if (err == -EINTR)
			snprintf(msg, sizeof(msg), "interrupted");
		if (err)
			complain("bench merge: host: %s", msg);
	}
	progress_line("%s", "");
	if (ksm && host_ksm_close(ksm, msg, sizeof(msg))) {
		complain("bench merge: %s", msg);
		err = -EIO;
	}
	return err;
}

enum { KEY_SIZE = 256, KEY_UNIQUE, KEY_NO_HOST, KEY_JSON };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_SIZE:
		return parse_size("--size", arg, 64 << 10, UINT64_C(64) << 30, &o->bytes) ? 0
											  : EINVAL;
	case KEY_UNIQUE:
		return parse_number("--unique", arg, 0, 100, &o->unique) ? 0 : EINVAL;
	case KEY_NO_HOST:
		o->no_host = true;
		return 0;
	case KEY_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		complain("bench merge: unexpected argument '%s'; it takes options only", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int bench_merge(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"size", KEY_SIZE, "SIZE", 0, "memory to merge (default 1G)", 0},
		{"unique", KEY_UNIQUE, "PERCENT", 0, "pages that have no equal (default 50)", 0},
		{"no-host", KEY_NO_HOST, NULL, 0, "leave the host kernel alone", 0},
		{"json", KEY_JSON, NULL, 0, "print JSON", 0},
		{0},
	};
	static const struct argp argp = {
		list,
		parse,
		NULL,
		"Lets ksmd merge the same contents in the engine and in the host kernel."
		"\vExamples:\n"
		"  samepage bench merge\n"
		"  samepage bench merge --size 256M --unique 90\n\n"
		"The host part needs root; every knob is put back as it was found.\n"
		"Exit status: 0 measured, 2 wrong option, out of memory, or interrupted.",
		NULL,
		NULL,
		NULL};
	struct sigaction action = {.sa_handler = on_signal};
	struct report r = {.o = {.bytes = UINT64_C(1) << 30, .unique = 50}};

	if (!parse_options(&argp, argc, argv, &r.o))
		return EXIT_USAGE;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	r.work.nr_pages = r.o.bytes / SP_PAGE_SIZE;
	r.work.nr_unique = r.work.nr_pages * r.o.unique / 100;
	if (measure(&r))
		return EXIT_USAGE;
	if (r.o.json)
		print_json(&r);
	else
		print_people(&r);
	return EXIT_HELD;
}
