/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage bench rmap: the published before-and-after table, in one run.
 *
 * One mapping of N pages is written, so that it has one anon_vma, and split into N VMAs by
 * mprotect() of every second page: N VMAs on one anon_vma. PAIRS pairs of its pages hold equal
 * contents and are merged; F children are forked and not scanned. Then every merged page is
 * migrated under each strategy: two walks each, one that ends when the page is unmapped and one
 * that cannot know when to end. The first page only warms up.
 *
 * A row shows the maxima of one loop (one rmap_item) in pass 0, which visits the owner's VMA, as
 * published; pass 1, which looks for forks, has rows of its own. Time is the longest hold of the
 * anon_vma lock in any loop. Every figure is the median of REPEATS runs, and a ratio is the median
 * of the ratios within one run. The pages of other runs and strategies are not shared: each machine
 * is new.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "clock.h"
#include "json.h"
#include "names.h"

#define REPEATS 5
#define PAIRS	16
#define BASE	UINT64_C(0x200000000000)

struct options {
	uint64_t vmas, forks, scale;
	bool json;
};

struct sample {
	struct sp_walk_metrics metrics;
	uint64_t build_ns; /* mapping, splitting and merging */
	uint64_t metadata_bytes;
};

struct row {
	enum sp_strategy strategy;
	struct sample samples[REPEATS];
	uint64_t hold_ns_pass[2];
	uint64_t hold_ns_max, hold_ns_sum, walk_ns; /* medians; walk: mean of a run */
	double ratio;				    /* full's hold over this one's */
	uint64_t reached, reachable;
};

static const char *failed_step;

#define STEP(name, call)              \
	do {                          \
		failed_step = (name); \
		err = (call);         \
		if (err < 0)          \
			goto out;     \
	} while (0)

/* Contents need only be equal in pairs and different elsewhere. */
static int write_page(struct sp_process *p, uint64_t page, uint64_t vmas)
{
	uint64_t half = vmas / 2;
	uint64_t value = page >= half && page - half < PAIRS ? page - half : page;

	value = value + 1;
	return sp_write(p, BASE + page * SP_PAGE_SIZE, &value, sizeof(value));
}

static int build(struct sp_machine *m, const struct options *o, uint64_t vmas,
		 struct sp_process **ret)
{
	const int rw = SP_PROT_READ | SP_PROT_WRITE;
	struct sp_process *p;
	int err;

	STEP("process", sp_process_create(m, &p));
	STEP("mmap", sp_mmap(p, BASE, vmas * SP_PAGE_SIZE, rw, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL,
			     0, NULL));
	STEP("madvise mergeable", sp_madvise(p, BASE, vmas * SP_PAGE_SIZE, SP_MADV_MERGEABLE));
	for (uint64_t i = 0; i < vmas; i++)
		STEP("write", write_page(p, i, vmas));
	for (uint64_t i = 1; i < vmas; i += 2)
		STEP("mprotect",
		     sp_mprotect(p, BASE + i * SP_PAGE_SIZE, SP_PAGE_SIZE, SP_PROT_READ));
	STEP("run", sp_knob_set(m, "run", "1"));
	STEP("pages_to_scan", sp_knob_set(m, "pages_to_scan", "1000000"));
	STEP("scan", sp_ksm_scan(m, 2));
	for (uint64_t i = 0; i < o->forks; i++) {
		struct sp_process *child;

		STEP("fork", sp_process_fork(p, &child));
	}
	*ret = p;
out:
	return err;
}

static int measure(const struct options *o, uint64_t vmas, enum sp_strategy strategy,
		   struct sample *sample)
{
	struct sp_memory_usage usage;
	struct sp_machine *m = NULL;
	struct sp_config config;
	struct sp_process *p;
	uint64_t begin = clock_measure_ns();
	int64_t shared;
	int err;

	sp_config_init(&config);
	config.strategy = strategy;
	config.max_map_count = (uint32_t)(vmas + 1000);
	config.content_bytes = 64;
	STEP("machine", sp_machine_create(&config, &m));
	STEP("build", build(m, o, vmas, &p));
	sample->build_ns = clock_measure_ns() - begin;
	STEP("pages_shared", sp_counter_get(m, "pages_shared", &shared));
	failed_step = "merging: not every pair was merged";
	if (shared != PAIRS) {
		err = -EUCLEAN;
		goto out;
	}
	/* The first walk of a process pays for paging its code in. */
	STEP("migrate", sp_migrate(p, BASE, -1, true));
	sp_walk_metrics_reset(m);
	for (uint64_t i = 1; i < PAIRS; i++)
		STEP("migrate", sp_migrate(p, BASE + i * SP_PAGE_SIZE, -1, true));
	sp_walk_metrics_get(m, &sample->metrics);
	sp_memory_usage(m, &usage);
	sample->metadata_bytes = usage.metadata_bytes;
	err = 0;
out:
	sp_machine_destroy(m);
	return err;
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t median(uint64_t *values)
{
	qsort(values, REPEATS, sizeof(*values), compare_u64);
	return values[REPEATS / 2];
}

static void summarize(struct row *row, const struct row *full)
{
	uint64_t hold[REPEATS], sum[REPEATS], walk[REPEATS], ratio[REPEATS], pass[2][REPEATS];

	for (unsigned int i = 0; i < REPEATS; i++) {
		const struct sp_walk_metrics *m = &row->samples[i].metrics;

		hold[i] = m->all.hold_ns_max;
		pass[0][i] = m->pass[0].hold_ns_max;
		pass[1][i] = m->pass[1].hold_ns_max;
		sum[i] = m->all.hold_ns_sum;
		walk[i] = m->walk_ns_sum / MAX(m->nr_walks, UINT64_C(1));
		ratio[i] = full->samples[i].metrics.all.hold_ns_max * 1000 /
			   MAX(m->all.hold_ns_max, UINT64_C(1));
	}
	row->hold_ns_max = median(hold);
	row->hold_ns_pass[0] = median(pass[0]);
	row->hold_ns_pass[1] = median(pass[1]);
	row->hold_ns_sum = median(sum);
	row->walk_ns = median(walk);
	row->ratio = (double)median(ratio) / 1000;
	row->reached = row->samples[0].metrics.reached;
	row->reachable = row->samples[0].metrics.reachable;
}

/* Runs interleave the strategies, so that a slow moment of the host hits all of them. */
static int measure_all(const struct options *o, uint64_t vmas, bool narrow_only, struct row *rows)
{
	for (unsigned int r = 0; r < REPEATS; r++) {
		for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
			int err;

			rows[s].strategy = s;
			if (narrow_only && s != SP_STRATEGY_INDEX && s != SP_STRATEGY_DIRECT)
				continue;
			progress_line("bench rmap: %" PRIu64 " VMAs, run %u of %u, %s", vmas, r + 1,
				      REPEATS, sp_strategy_name(s));
			err = measure(o, vmas, s, &rows[s].samples[r]);
			if (err) {
				complain("bench rmap: %s: %s (%" PRIu64 " VMAs, strategy %s)",
					 failed_step, errno_name(err), vmas, sp_strategy_name(s));
				return err;
			}
		}
	}
	progress_line("%s", "");
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		summarize(&rows[s], &rows[SP_STRATEGY_FULL]);
	return 0;
}

static void print_pass(const struct row *row, unsigned int pass)
{
	const struct sp_loop_metrics *p = &row->samples[0].metrics.pass[pass];
	char hold[32], walk[32];

	printf("%-8s %4u %10s %18" PRIu64 " %22" PRIu64 " %16" PRIu64,
	       pass ? "" : sp_strategy_name(row->strategy), pass,
	       format_ns(hold, sizeof(hold), row->hold_ns_pass[pass]), p->nr_iteration_max,
	       p->skip_addr_out_of_range_max, p->skip_mm_mismatch_max);
	if (!pass)
		printf(" %10s %7.0f", format_ns(walk, sizeof(walk), row->walk_ns), row->ratio);
	putchar('\n');
}

static void print_people(const struct options *o, const struct row *rows, const struct row *large)
{
	uint64_t build[REPEATS];
	char text[32];

	printf("%" PRIu64 " VMAs on one anon_vma, %d merged pairs, %" PRIu64
	       " unscanned forks; every merged page "
	       "migrated.\nMaxima of one loop (one rmap_item); ratio: full's longest hold over this one's; medians "
	       "of %d runs.\n\n",
	       o->vmas, PAIRS, o->forks, REPEATS);
	printf("%-8s %4s %10s %18s %22s %16s %10s %7s\n", "strategy", "pass", "lock hold",
	       "Nr_iteration_total", "Skip_addr_out_of_range", "Skip_mm_mismatch", "mean walk", "ratio");
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		print_pass(&rows[s], 0);
		print_pass(&rows[s], 1);
	}
	for (unsigned int r = 0; r < REPEATS; r++)
		build[r] = rows[SP_STRATEGY_FULL].samples[r].build_ns;
	printf("\nPTEs reached: ");
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		printf("%s%s %" PRIu64 "/%" PRIu64, s ? ", " : "", sp_strategy_name(s),
		       rows[s].reached, rows[s].reachable);
	printf("\nBuilding, splitting and merging took %s.\n",
	       format_ns(text, sizeof(text), median(build)));
	if (!large)
		return;
	printf("Mean walk from %" PRIu64 " to %" PRIu64 " VMAs:", o->vmas, o->vmas * o->scale);
	for (unsigned int s = SP_STRATEGY_INDEX; s <= SP_STRATEGY_DIRECT; s++) {
		char a[32], b[32];

		printf("%s %s %s to %s (x%.2f)", s == SP_STRATEGY_INDEX ? "" : ",",
		       sp_strategy_name(s), format_ns(a, sizeof(a), rows[s].walk_ns),
		       format_ns(b, sizeof(b), large[s].walk_ns),
		       (double)large[s].walk_ns / (double)MAX(rows[s].walk_ns, UINT64_C(1)));
	}
	printf(".\n");
}

static struct json_object *json_pass(const struct sp_loop_metrics *p)
{
	struct json_object *o = json_object_new_object();

	json_add_number(o, "nr_iteration_total", p->nr_iteration_max);
	json_add_number(o, "skip_addr_out_of_range", p->skip_addr_out_of_range_max);
	json_add_number(o, "skip_mm_mismatch", p->skip_mm_mismatch_max);
	json_add_number(o, "hold_ns_max", p->hold_ns_max);
	json_add_number(o, "hold_ns_sum", p->hold_ns_sum);
	return o;
}

static struct json_object *json_row(const struct row *row, const struct row *large)
{
	const struct sp_walk_metrics *m = &row->samples[0].metrics;
	struct json_object *o = json_object_new_object();

	json_add_text(o, "strategy", sp_strategy_name(row->strategy));
	json_add_number(o, "nr_iteration_total", m->pass[0].nr_iteration_max);
	json_add_number(o, "skip_addr_out_of_range", m->pass[0].skip_addr_out_of_range_max);
	json_add_number(o, "skip_mm_mismatch", m->pass[0].skip_mm_mismatch_max);
	json_add_number(o, "hold_ns_max", row->hold_ns_max);
	json_add_number(o, "hold_ns_sum", row->hold_ns_sum);
	json_add_number(o, "walk_ns_mean", row->walk_ns);
	json_add_double(o, "ratio_to_full", row->ratio);
	json_add_number(o, "reached", row->reached);
	json_add_number(o, "reachable", row->reachable);
	json_object_object_add(o, "pass1", json_pass(&m->pass[1]));
	if (large && large->walk_ns) {
		json_add_number(o, "walk_ns_mean_scaled", large->walk_ns);
		json_add_double(o, "walk_growth",
				(double)large->walk_ns / (double)MAX(row->walk_ns, UINT64_C(1)));
	}
	return o;
}

static void print_json(const struct options *o, const struct row *rows, const struct row *large)
{
	struct json_object *root = json_object_new_object(), *list = json_object_new_array();
	uint64_t build[REPEATS];

	for (unsigned int r = 0; r < REPEATS; r++)
		build[r] = rows[SP_STRATEGY_FULL].samples[r].build_ns;
	json_add_number(root, "vmas", o->vmas);
	json_add_number(root, "forks", o->forks);
	json_add_number(root, "merged_pairs", PAIRS);
	json_add_number(root, "repeats", REPEATS);
	json_add_number(root, "build_ns", median(build));
	if (large)
		json_add_number(root, "vmas_scaled", o->vmas * o->scale);
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		json_object_array_add(list, json_row(&rows[s], large ? &large[s] : NULL));
	json_object_object_add(root, "strategies", list);
	puts(json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY));
	json_object_put(root);
}

enum { KEY_VMAS = 256, KEY_FORKS, KEY_SCALE, KEY_JSON };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_VMAS:
		return parse_number("--vmas", arg, 2 * PAIRS, 4000000, &o->vmas) ? 0 : EINVAL;
	case KEY_FORKS:
		return parse_number("--forks", arg, 0, 1000, &o->forks) ? 0 : EINVAL;
	case KEY_SCALE:
		return parse_number("--scale", arg, 1, 100, &o->scale) ? 0 : EINVAL;
	case KEY_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		complain("bench rmap: unexpected argument '%s'; it takes options only", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int bench_rmap(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"vmas", KEY_VMAS, "N", 0,
		 "VMAs on one anon_vma (default 22169, the published case)", 0},
		{"forks", KEY_FORKS, "F", 0, "children that are not scanned (default 0)", 0},
		{"scale", KEY_SCALE, "X", 0,
		 "also measure index and direct at X times the VMAs (default 10; 1: do not)", 0},
		{"json", KEY_JSON, NULL, 0, "print JSON", 0},
		{0},
	};
	static const struct argp argp = {
		list,
		parse,
		NULL,
		"Migrates merged pages of a process whose N VMAs share one anon_vma, under every "
		"walk strategy."
		"\vExamples:\n"
		"  samepage bench rmap\n"
		"  samepage bench rmap --vmas 22169 --forks 2\n"
		"  samepage bench rmap --json | jq '.strategies[].ratio_to_full'\n\n"
		"Exit status: 0 measured, 2 wrong option or out of memory.",
		NULL,
		NULL,
		NULL};
	struct options o = {.vmas = 22169, .forks = 0, .scale = 10};
	struct row *rows, *large = NULL;
	int status = EXIT_USAGE;

	if (!parse_options(&argp, argc, argv, &o))
		return EXIT_USAGE;
	if (o.vmas * o.scale > 8000000) {
		complain("bench rmap: --vmas times --scale must not exceed 8000000");
		return EXIT_USAGE;
	}
	rows = calloc(2 * SP_NR_STRATEGIES, sizeof(*rows));
	if (!rows) {
		complain("bench rmap: out of memory");
		return EXIT_USAGE;
	}
	if (measure_all(&o, o.vmas, false, rows))
		goto out;
	if (o.scale > 1) {
		large = rows + SP_NR_STRATEGIES;
		if (measure_all(&o, o.vmas * o.scale, true, large))
			goto out;
	}
	if (o.json)
		print_json(&o, rows, large);
	else
		print_people(&o, rows, large);
	status = EXIT_HELD;
out:
	free(rows);
	return status;
}
