/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command's JSON as a program would read it: which keys there are, what types they have, and the figures that the
 * published table gives for them. Names of keys are an interface: the lists below are all there are.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <json-c/json.h>

static const char *required(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail_msg("%s is not set", name);
	return value;
}

/* Runs the command and parses what it prints. */
static struct json_object *command(const char *arguments, int expected_status)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *root = NULL;
	char line[1024], buf[4096];
	FILE *pipe;
	size_t n;
	int status;

	assert_in_range(snprintf(line, sizeof(line), "'%s' %s", required("SAMEPAGE"), arguments), 1, sizeof(line) - 1);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	while ((n = fread(buf, 1, sizeof(buf), pipe)) > 0) {
		struct json_object *object = json_tokener_parse_ex(tokener, buf, (int)n);

		if (object)
			root = object;
		else
			assert_int_equal(json_tokener_get_error(tokener), json_tokener_continue);
	}
	status = pclose(pipe);
	json_tokener_free(tokener);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected_status);
	assert_non_null(root);
	return root;
}

static struct json_object *run(const char *options, const char *scenario, int expected_status)
{
	char arguments[512];

	assert_in_range(snprintf(arguments, sizeof(arguments), "run --json %s '%s/scenarios/%s.scn'", options,
				 required("SP_SOURCE"), scenario), 1, sizeof(arguments) - 1);
	return command(arguments, expected_status);
}

static struct json_object *get(struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(o, key, &value))
		fail_msg("no key \"%s\" in %s", key, json_object_to_json_string(o));
	if (!json_object_is_type(value, type))
		fail_msg("\"%s\" is of another type: %s", key, json_object_to_json_string(value));
	return value;
}

static uint64_t number(struct json_object *o, const char *key)
{
	return json_object_get_uint64(get(o, key, json_type_int));
}

static const char *text(struct json_object *o, const char *key)
{
	return json_object_get_string(get(o, key, json_type_string));
}

static double ratio(struct json_object *o)
{
	return json_object_get_double(get(o, "ratio_to_full", json_type_double));
}

/* Ends of the lists are NULL. */
static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

/* The keys of o are those of both lists. */
static void assert_keys(struct json_object *o, const char *const *always, const char *const *also)
{
	unsigned int nr = 0;

	json_object_object_foreach(o, key, value) {
		(void)value;
		if (!is_one_of(key, always) && !is_one_of(key, also))
			fail_msg("a key that nobody knows: \"%s\"", key);
		nr++;
	}
	for (const char *const *list = always; list; list = list == always ? also : NULL)
		for (unsigned int i = 0; list[i]; i++, nr--)
			if (!json_object_object_get_ex(o, list[i], NULL))
				fail_msg("no key \"%s\"", list[i]);
	assert_int_equal(nr, 0);
}

static struct json_object *strategy(struct json_object *o, const char *name)
{
	struct json_object *list = get(o, "strategies", json_type_array);

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);

		if (!strcmp(text(entry, "strategy"), name))
			return entry;
	}
	fail_msg("no strategy %s", name);
	return NULL;
}

static void assert_loop(struct json_object *o, uint64_t iterations, uint64_t out_of_range, uint64_t mismatch)
{
	assert_int_equal(number(o, "nr_iteration_total"), iterations);
	assert_int_equal(number(o, "skip_addr_out_of_range"), out_of_range);
	assert_int_equal(number(o, "skip_mm_mismatch"), mismatch);
}

static const char *const strategies[] = { "full", "address", "retry", "index", "direct", NULL };
static const char *const nothing[] = { NULL };

/* ---- samepage run ----------------------------------------------------------------- */

static const char *const scenario_keys[] = {
	"scenario", "title", "seed", "exit_status", "nr_operations", "expectations", "strategies", NULL
};
static const char *const expectation_keys[] = { "line", "text", "checked", "failed", NULL };
static const char *const result_keys[] = {
	"strategy", "verdict", "nr_iteration_total", "skip_addr_out_of_range", "skip_mm_mismatch", "reached",
	"reachable", "nr_walks", "nr_fallback", "missed", "linux_missed", "orphan_entries", "expectations_checked",
	"expectations_failed", "pass0", "pass1", "misses", "failures", NULL
};
static const char *const result_times[] = {
	"hold_ns_max", "hold_ns_sum", "walk_ns_max", "walk_ns_sum", "ratio_to_full", "duration_ns", NULL
};
static const char *const pass_keys[] = {
	"nr_loops", "nr_iteration_total", "skip_addr_out_of_range", "skip_mm_mismatch", "nr_iteration_sum",
	"skip_addr_out_of_range_sum", "skip_mm_mismatch_sum", "nr_rmap_one", NULL
};
static const char *const pass_times[] = { "hold_ns_max", "hold_ns_sum", NULL };
static const char *const miss_keys[] = {
	"line", "operation", "page", "vma", "vma_pgoff", "linear_index", "linux_misses", NULL
};

static void assert_times(struct json_object *o)
{
	uint64_t max = number(o, "hold_ns_max");

	assert_in_range(max, 1, UINT64_MAX);
	assert_in_range(number(o, "hold_ns_sum"), max, UINT64_MAX);
	assert_in_range(number(o, "walk_ns_max"), max, UINT64_MAX);
	assert_in_range(number(o, "walk_ns_sum"), number(o, "walk_ns_max"), UINT64_MAX);
	assert_true(ratio(o) > 0 && isfinite(ratio(o)));
	assert_in_range(number(o, "duration_ns"), number(o, "walk_ns_sum"), UINT64_MAX);
}

static void keys_of_a_run(void **state)
{
	struct json_object *root = run("", "mremap-move", 0), *scenario, *list;

	(void)state;
	assert_true(json_object_is_type(root, json_type_array));
	assert_int_equal(json_object_array_length(root), 1);
	scenario = json_object_array_get_idx(root, 0);
	assert_keys(scenario, scenario_keys, nothing);
	assert_non_null(strstr(text(scenario, "scenario"), "/mremap-move.scn"));
	assert_true(*text(scenario, "title"));
	assert_int_equal(number(scenario, "seed"), 0);
	assert_int_equal(number(scenario, "exit_status"), 0);
	assert_int_equal(number(scenario, "nr_operations"), 10);
	list = get(scenario, "expectations", json_type_array);
	assert_int_equal(json_object_array_length(list), 9);
	for (size_t i = 0; i < 9; i++) {
		struct json_object *e = json_object_array_get_idx(list, i);

		assert_keys(e, expectation_keys, nothing);
		assert_int_equal(number(e, "checked"), 1);
		assert_int_equal(number(e, "failed"), 0);
		assert_memory_equal(text(e, "text"), "expect ", 7);
	}
	list = get(scenario, "strategies", json_type_array);
	assert_int_equal(json_object_array_length(list), 5);
	for (size_t i = 0; i < 5; i++) {
		struct json_object *result = json_object_array_get_idx(list, i);

		assert_string_equal(text(result, "strategy"), strategies[i]);
		assert_keys(result, result_keys, result_times);
		assert_keys(get(result, "pass0", json_type_object), pass_keys, pass_times);
		assert_keys(get(result, "pass1", json_type_object), pass_keys, pass_times);
		assert_times(result);
	}
	assert_true(ratio(strategy(scenario, "full")) == 1);
	json_object_put(root);
}

static void figures_of_a_run(void **state)
{
	struct json_object *root = run("", "mremap-move", 0), *scenario = json_object_array_get_idx(root, 0), *o, *miss;

	(void)state;
	o = strategy(scenario, "full");
	assert_string_equal(text(o, "verdict"), "held");
	assert_loop(o, 2, 1, 0);
	assert_int_equal(number(o, "reached"), 6);
	assert_int_equal(number(o, "reachable"), 6);
	assert_int_equal(json_object_array_length(get(o, "misses", json_type_array)), 0);
	o = strategy(scenario, "direct");
	assert_loop(o, 1, 0, 0);
	assert_int_equal(number(o, "reached"), number(o, "reachable"));

	o = strategy(scenario, "address");
	assert_string_equal(text(o, "verdict"), "broken as declared");
	assert_loop(o, 1, 0, 0);
	assert_int_equal(number(o, "missed"), 2);
	assert_int_equal(number(o, "reached") + 2, number(o, "reachable"));
	miss = json_object_array_get_idx(get(o, "misses", json_type_array), 0);
	assert_keys(miss, miss_keys, nothing);
	assert_int_equal(number(miss, "line"), 39);
	assert_string_equal(text(miss, "operation"), "walk");
	assert_string_equal(text(miss, "page"), "a:x[2] (0x200000002000)");
	assert_string_equal(text(miss, "vma"), "0x200000002000-0x200000003000");
	assert_int_equal(number(miss, "vma_pgoff"), 0x200000001);
	assert_int_equal(number(miss, "linear_index"), 0x200000001);
	assert_false(json_object_get_boolean(get(miss, "linux_misses", json_type_boolean)));
	assert_int_equal(json_object_array_length(get(o, "failures", json_type_array)), 2);
	assert_int_equal(number(strategy(scenario, "retry"), "orphan_entries"), 1);
	json_object_put(root);
}

/* Anywhere below o. */
static void assert_no_times(struct json_object *o)
{
	if (json_object_is_type(o, json_type_array))
		for (size_t i = 0; i < json_object_array_length(o); i++)
			assert_no_times(json_object_array_get_idx(o, i));
	if (!json_object_is_type(o, json_type_object))
		return;
	json_object_object_foreach(o, key, value) {
		assert_null(strstr(key, "_ns"));
		assert_string_not_equal(key, "ratio_to_full");
		assert_no_times(value);
	}
}

static void no_timing(void **state)
{
	struct json_object *root = run("--no-timing", "mremap-move", 0);

	(void)state;
	assert_no_times(root);
	assert_keys(strategy(json_object_array_get_idx(root, 0), "full"), result_keys, nothing);
	json_object_put(root);
}

/* There is nothing to compare with when full does not run. */
static void one_strategy(void **state)
{
	struct json_object *root = run("--strategy index --seed 5", "mremap-move", 0);
	struct json_object *scenario = json_object_array_get_idx(root, 0);

	(void)state;
	assert_int_equal(number(scenario, "seed"), 5);
	assert_int_equal(json_object_array_length(get(scenario, "strategies", json_type_array)), 1);
	assert_false(json_object_object_get_ex(strategy(scenario, "index"), "ratio_to_full", NULL));
	json_object_put(root);
}

static void linux_misses(void **state)
{
	struct json_object *root = run("--strategy full", "v03-child-only-unreachable", 0);
	struct json_object *o = strategy(json_object_array_get_idx(root, 0), "full"), *miss;

	(void)state;
	assert_int_equal(number(o, "missed"), 0);
	assert_int_equal(number(o, "linux_missed"), number(o, "reachable") - number(o, "reached"));
	assert_in_range(number(o, "linux_missed"), 1, 1000);
	miss = json_object_array_get_idx(get(o, "misses", json_type_array), 0);
	assert_true(json_object_get_boolean(get(miss, "linux_misses", json_type_boolean)));
	json_object_put(root);
}

/* Two files, of which one fails: both are there, and the exit status is the worse. */
static void failure(void **state)
{
	static const char lines[] = "process a\na: map x 1\nexpect present a:x\n";
	char path[] = "/tmp/samepage-json-XXXXXX", arguments[512];
	int fd = mkstemp(path);
	struct json_object *root, *scenario, *o;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, lines, sizeof(lines) - 1), sizeof(lines) - 1);
	close(fd);
	snprintf(arguments, sizeof(arguments), "run --json --strategy direct '%s' '%s/scenarios/34-migrate.scn'", path,
		 required("SP_SOURCE"));
	root = command(arguments, 1);
	unlink(path);
	assert_int_equal(json_object_array_length(root), 2);
	scenario = json_object_array_get_idx(root, 0);
	assert_string_equal(text(scenario, "scenario"), path);
	assert_string_equal(text(scenario, "title"), "");
	assert_int_equal(number(scenario, "exit_status"), 1);
	o = strategy(scenario, "direct");
	assert_string_equal(text(o, "verdict"), "failed");
	assert_int_equal(number(o, "expectations_checked"), 1);
	assert_int_equal(number(o, "expectations_failed"), 1);
	o = json_object_array_get_idx(get(o, "failures", json_type_array), 0);
	assert_non_null(strstr(json_object_get_string(o), ":3: expected present a:x; a:x[0] (0x200000000000) is absent"));
	scenario = json_object_array_get_idx(root, 1);
	assert_int_equal(number(scenario, "exit_status"), 0);
	json_object_put(root);
}

/* ---- samepage bench ---------------------------------------------------------------- */

static const char *const bench_keys[] = { "vmas", "forks", "merged_pairs", "repeats", "build_ns", "strategies", NULL };
static const char *const row_keys[] = {
	"strategy", "nr_iteration_total", "skip_addr_out_of_range", "skip_mm_mismatch", "hold_ns_max", "hold_ns_sum",
	"walk_ns_mean", "ratio_to_full", "reached", "reachable", "pass1", NULL
};
static const char *const row_pass_keys[] = {
	"nr_iteration_total", "skip_addr_out_of_range", "skip_mm_mismatch", "hold_ns_max", "hold_ns_sum", NULL
};
static const char *const grown[] = { "walk_ns_mean_scaled", "walk_growth", NULL };

static struct json_object *bench_rmap(const char *options, uint64_t forks)
{
	char arguments[128];
	struct json_object *root;

	snprintf(arguments, sizeof(arguments), "bench rmap --json --vmas 64 %s", options);
	root = command(arguments, 0);
	assert_int_equal(number(root, "vmas"), 64);
	assert_int_equal(number(root, "forks"), forks);
	assert_int_equal(number(root, "merged_pairs"), 16);
	assert_in_range(number(root, "build_ns"), 1, UINT64_MAX);
	for (unsigned int i = 0; strategies[i]; i++) {
		struct json_object *row = strategy(root, strategies[i]);

		assert_keys(get(row, "pass1", json_type_object), row_pass_keys, nothing);
		assert_in_range(number(row, "hold_ns_max"), 1, UINT64_MAX);
		assert_in_range(number(row, "hold_ns_sum"), number(row, "hold_ns_max"), UINT64_MAX);
		assert_true(ratio(row) > 0 && isfinite(ratio(row)));
		/* No range has moved: nobody misses anything. */
		assert_in_range(number(row, "reachable"), 1, UINT64_MAX);
		assert_int_equal(number(row, "reached"), number(row, "reachable"));
	}
	assert_true(ratio(strategy(root, "full")) == 1);
	return root;
}

static void bench_without_forks(void **state)
{
	struct json_object *root = bench_rmap("--scale 1", 0);

	(void)state;
	assert_keys(root, bench_keys, nothing);
	for (unsigned int i = 0; strategies[i]; i++)
		assert_keys(strategy(root, strategies[i]), row_keys, nothing);
	assert_loop(strategy(root, "full"), 64, 63, 0);
	assert_loop(strategy(root, "address"), 1, 0, 0);
	assert_loop(strategy(root, "index"), 1, 0, 0);
	assert_loop(strategy(root, "direct"), 1, 0, 0);
	json_object_put(root);
}

static void bench_with_forks(void **state)
{
	struct json_object *root = bench_rmap("--scale 1 --forks 2", 2);

	(void)state;
	assert_loop(strategy(root, "index"), 3, 0, 2);
	assert_loop(strategy(root, "direct"), 1, 0, 0);
	/* The forks are what pass 1 is for. */
	assert_loop(get(strategy(root, "index"), "pass1", json_type_object), 3, 0, 1);
	assert_loop(get(strategy(root, "direct"), "pass1", json_type_object), 3, 0, 1);
	/* Every VMA of three processes; of those at the address, two belong to forks. */
	assert_loop(strategy(root, "full"), 192, 189, 2);
	json_object_put(root);
}

static void bench_scaled(void **state)
{
	static const char *const scaled[] = { "vmas_scaled", NULL };
	struct json_object *root = bench_rmap("--scale 2", 0);

	(void)state;
	assert_keys(root, bench_keys, scaled);
	assert_int_equal(number(root, "vmas_scaled"), 128);
	assert_keys(strategy(root, "full"), row_keys, nothing);
	assert_keys(strategy(root, "index"), row_keys, grown);
	assert_keys(strategy(root, "direct"), row_keys, grown);
	assert_in_range(number(strategy(root, "index"), "walk_ns_mean_scaled"), 1, UINT64_MAX);
	json_object_put(root);
}

static void bench_merge(void **state)
{
	static const char *const keys[] = { "nr_pages", "unique_percent", "engine", "host_skipped", NULL };
	static const char *const engine_keys[] = {
		"wall_ns", "cpu_ns", "passes", "pages_scanned", "pages_shared", "pages_sharing", "pages_per_second",
		"metadata_bytes_per_page", NULL
	};
	struct json_object *root = command("bench merge --json --size 1M --unique 25 --no-host", 0), *engine;

	(void)state;
	assert_keys(root, keys, nothing);
	assert_int_equal(number(root, "nr_pages"), 256);
	assert_int_equal(number(root, "unique_percent"), 25);
	assert_string_equal(text(root, "host_skipped"), "--no-host was given");
	engine = get(root, "engine", json_type_object);
	assert_keys(engine, engine_keys, nothing);
	assert_int_equal(number(engine, "pages_shared"), 24);
	assert_int_equal(number(engine, "pages_sharing"), 168);
	assert_int_equal(number(engine, "pages_scanned"), 256 * number(engine, "passes"));
	assert_true(json_object_get_double(get(engine, "pages_per_second", json_type_double)) > 0);
	json_object_put(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_a_run),
		cmocka_unit_test(figures_of_a_run),
		cmocka_unit_test(no_timing),
		cmocka_unit_test(one_strategy),
		cmocka_unit_test(linux_misses),
		cmocka_unit_test(failure),
		cmocka_unit_test(bench_without_forks),
		cmocka_unit_test(bench_with_forks),
		cmocka_unit_test(bench_scaled),
		cmocka_unit_test(bench_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
