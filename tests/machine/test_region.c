/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines in a region: the same operations give the same results as in a machine of its own, after
 * a reset and after going back to a snapshot too; a region that is too small is out of memory and
 * leaves a valid machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine_region.h"
#include "model_seed.h"

#define BASE	     UINT64_C(0x200000000000)
#define RW	     (SP_PROT_READ | SP_PROT_WRITE)
#define NR_PAGES     8
#define NR_PROCESSES 3
#define ROUNDS	     60
#define STEPS	     60

struct world {
	struct sp_machine *m;
	struct sp_process *p[NR_PROCESSES];
	unsigned int nr;
	struct random r;
	uint64_t digest; /* of everything that was returned */
};

static void note(struct world *w, int64_t value)
{
	w->digest = (w->digest ^ (uint64_t)value) * UINT64_C(0x100000001b3);
}

static void valid(struct world *w)
{
	char text[4096] = "";

	if (sp_validate(w->m, text, sizeof(text)))
		fail_msg("%s", text);
}

/* A process for the next steps, of those there are. */
static int start(struct world *w, struct region *region, uint64_t seed)
{
	struct sp_config config;
	int err;

	sp_config_init(&config);
	config.content_bytes = 8;
	memset(w, 0, sizeof(*w));
	w->r.state = seed;
	if (region)
		err = machine_create_in(region, &config, &w->m);
	else
		err = sp_machine_create(&config, &w->m);
	if (err)
		return err;
	err = sp_process_create(w->m, &w->p[0]);
	if (err)
		return err;
	w->nr = 1;
	assert_int_equal(sp_knob_set(w->m, "run", "1"), 0);
	assert_int_equal(sp_knob_set(w->m, "smart_scan", "0"), 0);
	return 0;
}

static void fork_or_exit(struct world *w, struct sp_process *p, unsigned int which)
{
	struct sp_process *child;
	int err;

	if (w->nr < NR_PROCESSES) {
		err = sp_process_fork(p, &child);
		if (!err)
			w->p[w->nr++] = child;
	} else {
		err = sp_process_exit(w->p[which]);
		w->p[which] = w->p[--w->nr];
	}
	note(w, err);
}

static void step(struct world *w)
{
	struct sp_process *p = w->p[random_below(&w->r, w->nr)];
	uint32_t from = random_below(&w->r, NR_PAGES);
	uint64_t pages = 1 + random_below(&w->r, MIN(3u, NR_PAGES - from));
	uint64_t addr = BASE + from * SP_PAGE_SIZE, length = pages * SP_PAGE_SIZE;
	uint64_t to = BASE + random_below(&w->r, NR_PAGES) * SP_PAGE_SIZE;
	uint32_t which = random_below(&w->r, NR_PROCESSES);

	switch (random_below(&w->r, 12)) {
	case 0:
		note(w, sp_mmap(p, addr, length, RW, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0, NULL));
		break;
	case 1:
		note(w, sp_munmap(p, addr, length));
		break;
	case 2:
		note(w, sp_mremap(p, addr, length, length,
				  SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED |
					  (which ? 0 : SP_MREMAP_DONTUNMAP),
				  to, NULL));
		break;
	case 3:
		note(w, sp_madvise(p, addr, length, SP_MADV_MERGEABLE));
		break;
	case 4:
		note(w, sp_madvise(p, addr, length,
				   which ? SP_MADV_UNMERGEABLE : SP_MADV_WIPEONFORK));
		break;
	case 5:
		note(w, sp_fill(p, addr, length, (uint8_t)which));
		break;
	case 6:
		note(w, sp_write(p, addr + 2, "ab", 2));
		break;
	case 7:
	case 8:
		note(w, sp_ksm_scan(w->m, 1 + which));
		break;
	case 9:
		note(w, sp_migrate(p, addr, -1, true));
		break;
	case 10:
		note(w, sp_swap_out(p, addr));
		break;
	case 11:
		fork_or_exit(w, p, which % w->nr);
		break;
	}
}

/* What the machine looks like from outside. */
static void observe(struct world *w)
{
	for (unsigned int i = 0; i < w->nr; i++) {
		for (unsigned int k = 0; k < NR_PAGES; k++) {
			struct sp_page_info info;

			assert_int_equal(sp_page_info(w->p[i], BASE + k * SP_PAGE_SIZE, &info), 0);
			note(w, info.state);
			note(w, info.ksm);
			note(w, (int64_t)info.pfn);
			note(w, (int64_t)info.linear_index);
			note(w, (int64_t)info.mapcount);
		}
	}
}

static void steps(struct world *w, unsigned int nr)
{
	while (nr--)
		step(w);
	observe(w);
}

static void test_same_as_outside(void **state)
{
	struct random r = model_seed("region");
	struct region *region;

	(void)state;
	assert_int_equal(region_create(MACHINE_REGION_BYTES, &region), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct world inside, outside;
		uint64_t seed = random_next(&r);

		assert_int_equal(start(&inside, region, seed), 0);
		assert_int_equal(start(&outside, NULL, seed), 0);
		steps(&inside, STEPS);
		steps(&outside, STEPS);
		assert_int_equal(inside.digest, outside.digest);
		valid(&inside);
		valid(&outside);
		sp_machine_destroy(outside.m);
		/* Both ways of getting rid of it. */
		if (i % 2)
			sp_machine_destroy(inside.m);
		region_reset(region);
	}
	region_destroy(region);
}

static void test_rewind(void **state)
{
	struct random r = model_seed("region rewind");
	struct region *region;
	void *buf = malloc(MACHINE_REGION_BYTES);

	(void)state;
	assert_non_null(buf);
	assert_int_equal(region_create(MACHINE_REGION_BYTES, &region), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct world w, saved;
		uint64_t digest;

		assert_int_equal(start(&w, region, random_next(&r)), 0);
		steps(&w, random_below(&r, STEPS));
		if (REGION_USES_MALLOC) {
			assert_int_equal(region_save(region, buf), -EOPNOTSUPP);
			region_reset(region);
			continue;
		}
		assert_true(region_save_bytes(region) <= MACHINE_REGION_BYTES);
		assert_int_equal(region_save(region, buf), 0);
		saved = w;
		steps(&w, STEPS);
		digest = w.digest;
		for (int k = 0; k < 3; k++) {
			/* Other steps in between, and then the same again. */
			w.r.state = random_next(&r);
			steps(&w, STEPS);
			assert_int_equal(region_restore(region, buf), 0);
			w = saved;
			valid(&w);
			steps(&w, STEPS);
			assert_int_equal(w.digest, digest);
			valid(&w);
		}
		region_reset(region);
	}
	region_destroy(region);
	free(buf);
}

static void test_full_region(void **state)
{
	struct random r = model_seed("region full");
	unsigned int created = 0;

	(void)state;
	for (size_t bytes = REGION_BYTES_MIN; bytes < 128 << 10; bytes += 4096) {
		struct region *region;
		struct world w;
		int err;

		assert_int_equal(region_create(bytes, &region), 0);
		err = start(&w, region, random_next(&r));
		assert_true(!err || err == -ENOMEM);
		if (!err) {
			for (unsigned int i = 0; i < 5; i++) {
				steps(&w, STEPS);
				valid(&w);
			}
			created++;
		}
		region_destroy(region);
	}
	assert_true(created);
}

static void test_no_readers(void **state)
{
	struct sp_config config;
	struct sp_machine *m;
	struct region *region;

	(void)state;
	sp_config_init(&config);
	config.concurrent_readers = true;
	assert_int_equal(region_create(MACHINE_REGION_BYTES, &region), 0);
	assert_int_equal(machine_create_in(region, &config, &m), -EINVAL);
	region_destroy(region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_outside),
		cmocka_unit_test(test_rewind),
		cmocka_unit_test(test_full_region),
		cmocka_unit_test(test_no_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
