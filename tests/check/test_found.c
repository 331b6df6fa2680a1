/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of what was found against lists that are sorted whole: sums, lowest numbers and order are
 * the same however the sequences were dealt out to workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "found.h"
#include "model_seed.h"
#include "random.h"

#define NR_CAUSES    40
#define NR_SEQUENCES 3000
#define NR_WORKERS   3

/* What no rule names, features tell apart: most of these are different. */
static struct cause nth_cause(unsigned int n)
{
	return cause_of(FAILURE_MISS, SP_STRATEGY_FULL, (uint16_t)n);
}

/* Of which causes each sequence fails. */
struct model {
	unsigned int nr_causes;
	struct cause causes[NR_CAUSES];
	bool fails[NR_SEQUENCES][NR_CAUSES];
};

static struct model *make_model(struct random *r)
{
	struct model *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	for (unsigned int i = 0; i < NR_CAUSES; i++) {
		struct cause cause = nth_cause(i);
		bool known = false;

		for (unsigned int k = 0; k < m->nr_causes; k++)
			known |= cause_equal(&cause, &m->causes[k]);
		if (!known)
			m->causes[m->nr_causes++] = cause;
	}
	assert_true(m->nr_causes > NR_CAUSES / 2);
	for (unsigned int c = 0; c < m->nr_causes; c++)
		for (unsigned int n = 1 + random_below(r, 60); n > 0; n--)
			m->fails[random_below(r, NR_SEQUENCES)][c] = true;
	return m;
}

static void deal_out(const struct model *m, struct random *r, struct found_table *sum)
{
	struct found_table tables[NR_WORKERS] = {0};

	for (unsigned int n = 0; n < NR_SEQUENCES; n++) {
		struct found_table *table = &tables[random_below(r, NR_WORKERS)];

		for (unsigned int c = 0; c < m->nr_causes; c++) {
			unsigned int before = table->nr;
			bool new;

			if (!m->fails[n][c])
				continue;
			assert_int_equal(found_add(table, &m->causes[c], n, &new), 0);
			assert_int_equal(new, table->nr > before);
			if (new)
				found_at(table, &m->causes[c], 1000 + n);
		}
	}
	for (unsigned int i = 0; i < NR_WORKERS; i++) {
		assert_int_equal(found_merge(sum, &tables[i]), 0);
		found_destroy(&tables[i]);
	}
	found_sort(sum);
}

static void check_entry(const struct model *m, const struct found *f)
{
	unsigned int nr = 0, first = 0;

	for (unsigned int c = 0; c < m->nr_causes; c++) {
		if (!cause_equal(&f->cause, &m->causes[c]))
			continue;
		for (unsigned int n = 0; n < NR_SEQUENCES; n++) {
			if (!m->fails[n][c])
				continue;
			if (!nr)
				first = n;
			if (nr < FOUND_KEPT)
				assert_int_equal(f->lowest[nr], n);
			nr++;
		}
	}
	assert_int_equal(f->nr, nr);
	assert_int_equal(f->first_ns, 1000 + first);
	for (unsigned int k = nr; k < FOUND_KEPT; k++)
		assert_true(f->lowest[k] == FOUND_NONE);
}

static void test_sums(void **state)
{
	struct random r = model_seed("found");

	(void)state;
	for (unsigned int round = 0; round < 20; round++) {
		struct model *m = make_model(&r);
		struct found_table a = {0}, b = {0};

		deal_out(m, &r, &a);
		deal_out(m, &r, &b);
		assert_int_equal(a.nr, m->nr_causes);
		assert_int_equal(b.nr, a.nr);
		for (unsigned int i = 0; i < a.nr; i++) {
			check_entry(m, &a.list[i]);
			assert_true(cause_equal(&a.list[i].cause, &b.list[i].cause));
			if (!i)
				continue;
			assert_true(a.list[i - 1].nr >= a.list[i].nr);
			if (a.list[i - 1].nr == a.list[i].nr)
				assert_true(a.list[i - 1].lowest[0] <= a.list[i].lowest[0]);
		}
		found_destroy(&a);
		found_destroy(&b);
		free(m);
	}
}

static void test_keep_only(void **state)
{
	struct cause a = cause_of(FAILURE_CONTENT, SP_STRATEGY_FULL, 0);
	struct cause b = cause_of(FAILURE_RECOUNT, SP_STRATEGY_FULL, 0);
	struct found_table table = {0};
	bool new;

	(void)state;
	assert_int_equal(found_add(&table, &a, 9, &new), 0);
	assert_int_equal(found_add(&table, &a, 5, &new), 0);
	assert_int_equal(found_add(&table, &b, 7, &new), 0);
	found_keep_only(&table, 5);
	assert_int_equal(table.nr, 1);
	assert_true(cause_equal(&table.list[0].cause, &a));
	assert_int_equal(table.list[0].nr, 1);
	assert_int_equal(table.list[0].lowest[0], 5);
	assert_true(table.list[0].lowest[1] == FOUND_NONE);
	found_destroy(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_keep_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
