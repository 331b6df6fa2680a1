/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frame allocator: order, nodes, limits, huge pages; random allocation against
 * a list of what should be in use; and every allocation failure.
 */
#include "frame_test.h"

#include <errno.h>

#include "frame.h"

static void assert_valid(const struct frames *frames)
{
	const char *wrong = frames_validate(frames);

	if (wrong)
		fail_msg("frames: %s", wrong);
}

static void init(struct frames *frames, struct mem *mem, uint32_t nr_nodes, uint64_t limit)
{
	mem_init(mem);
	assert_int_equal(frames_init(frames, mem, nr_nodes, limit, 4096), 0);
	assert_valid(frames);
}

static void destroy(struct frames *frames, struct mem *mem)
{
	frames_destroy(frames);
	assert_int_equal(mem->nr_live, 0);
	assert_int_equal(mem->live_bytes, 0);
}

static void test_zero_page(void **state)
{
	struct frames frames;
	struct mem mem;

	(void)state;
	init(&frames, &mem, 1, 0);
	assert_ptr_equal(frames.zero, frame_of_pfn(&frames, 0));
	assert_int_equal(frame_pfn(&frames, frames.zero), 0);
	assert_true(frames.zero->flags & FRAME_ZERO);
	assert_int_equal(frames.nr_used, 0);
	assert_int_equal(frame_checksum(&frames, frames.zero), 0x32d8bbdb);
	destroy(&frames, &mem);
}

static void test_fresh_frame(void **state)
{
	struct frames frames;
	struct frame *frame;
	struct mem mem;

	(void)state;
	init(&frames, &mem, 1, 0);
	/* A second life must not remember the first. */
	for (int life = 0; life < 2; life++) {
		frame = frame_alloc(&frames, 0);
		assert_non_null(frame);
		assert_int_equal(frame_pfn(&frames, frame), 1);
		assert_int_equal(frame->refcount, 1);
		assert_int_equal(frame->mapcount, 0);
		assert_int_equal(frame->flags, 0);
		assert_int_equal(frame->mapping, 0);
		assert_int_equal(frame->index, 0);
		assert_int_equal(frame->nr_holds, 0);
		assert_int_equal(frame->nid, 0);
		assert_int_equal(frame->content, CONTENT_ZERO);

		frame->mapping = 0x1000 | MAPPING_KSM;
		frame->index = 77;
		frame->flags |= FRAME_DIRTY | FRAME_ACTIVE | FRAME_UNKNOWN;
		assert_int_equal(frame_write(&frames, frame, 1, "abc", 3), 0);
		frame_get(frame);
		frame_put(&frames, frame);
		assert_true(frame_is_ksm(frame));
		frame_put(&frames, frame);
		/* K3: this is how a stable node learns of it. */
		assert_int_equal(frame->mapping, 0);
		assert_int_equal(frames.content.buffers.nr_used, 0);
		assert_valid(&frames);
	}
	destroy(&frames, &mem);
}

static void test_retired_and_offline(void **state)
{
	struct frame *frame, *other;
	struct frames frames;
	struct mem mem;

	(void)state;
	init(&frames, &mem, 3, 2);
	frame = frame_alloc(&frames, 2);
	assert_non_null(frame);
	assert_int_equal(frame_write(&frames, frame, 1, "abc", 3), 0);
	frame_retire(&frames, frame);
	assert_int_equal(frames.content.buffers.nr_used, 0);
	assert_int_equal(frames.nr_used, 1);
	assert_valid(&frames);
	/* It counts as one of the node's two. */
	other = frame_alloc(&frames, 2);
	assert_int_equal(other->nid, 2);
	assert_ptr_not_equal(other, frame);
	assert_int_equal(frames_next_node(&frames, 1), 2);
	frame_put(&frames, other);
	frames_set_offline(&frames, 2, true);
	assert_valid(&frames);
	assert_int_equal(frames_next_node(&frames, 1), 0);
	frame = frame_alloc(&frames, 2);
	assert_int_equal(frame->nid, 0);
	frame_put(&frames, frame);
	assert_null(frame_alloc_huge(&frames, 2));
	frames_set_offline(&frames, 0, true);
	assert_int_equal(frames_next_node(&frames, 1), 1);
	frames_set_offline(&frames, 1, true);
	assert_int_equal(frames_next_node(&frames, 1), -1);
	assert_null(frame_alloc(&frames, -1));
	frames_set_offline(&frames, 2, false);
	assert_ptr_equal(frame_alloc(&frames, -1), other);
	frames_set_offline(&frames, 2, true);
	assert_string_equal(frames_validate(&frames), "a node that is offline has frames in use");
	frames_set_offline(&frames, 2, false);
	assert_valid(&frames);
	destroy(&frames, &mem);
}

static void test_last_freed_is_first_used(void **state)
{
	struct frame *frame[4];
	struct frames frames;
	struct mem mem;

	(void)state;
	init(&frames, &mem, 2, 0);
	for (uint32_t i = 0; i < 4; i++) {
		frame[i] = frame_alloc(&frames, (int)(i % 2));
		assert_non_null(frame[i]);
		assert_int_equal(frame_pfn(&frames, frame[i]), i + 1);
		assert_int_equal(frame[i]->nid, i % 2);
	}
	frame_put(&frames, frame[0]);
	frame_put(&frames, frame[1]);
	frame_put(&frames, frame[2]);
	assert_ptr_equal(frame_alloc(&frames, 0), frame[2]);
	assert_ptr_equal(frame_alloc(&frames, 0), frame[0]);
	/* Node 1's own free frame is not node 0's to take. */
	assert_int_equal(frame_pfn(&frames, frame_alloc(&frames, -1)), 5);
	assert_ptr_equal(frame_alloc(&frames, 1), frame[1]);
	assert_valid(&frames);
	destroy(&frames, &mem);
}

static void test_full_node_falls_back(void **state)
{
	static const int wanted[] = { 1, 1, 1, 1, -1, 2 }, got[] = { 1, 1, 2, 2, 0, 0 };
	struct frame *frame[6];
	struct frames frames;
	struct mem mem;

	(void)state;
	init(&frames, &mem, 3, 2);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		frame[i] = frame_alloc(&frames, wanted[i]);
		assert_non_null(frame[i]);
		assert_int_equal(frame[i]->nid, got[i]);
	}
	for (int nid = -1; nid < 3; nid++)
		assert_null(frame_alloc(&frames, nid));
	assert_null(frame_alloc_huge(&frames, 0));
	assert_valid(&frames);
	frame_put(&frames, frame[2]);
	assert_ptr_equal(frame_alloc(&frames, 0), frame[2]);
	destroy(&frames, &mem);
}

static void test_pfns_are_pointers_for_ever(void **state)
{
	/* More than a block of each extent size, the largest twice. */
	uint32_t nr = 300 * FRAME_BLOCK;
	struct frame **frame = malloc(nr * sizeof(*frame));
	struct frames frames;
	struct mem mem;

	(void)state;
	assert_non_null(frame);
	init(&frames, &mem, 1, 0);
	for (uint32_t i = 0; i < nr; i++) {
		frame[i] = frame_alloc(&frames, 0);
		assert_non_null(frame[i]);
	}
	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(frame_pfn(&frames, frame[i]), i + 1);
		assert_ptr_equal(frame_of_pfn(&frames, i + 1), frame[i]);
	}
	/* The metadata of a large machine is what the frames need, and a tenth. */
	assert_true(mem.live_bytes < nr * sizeof(struct frame) * 11 / 10 + ((uint64_t)2 << 20));
	assert_valid(&frames);
	destroy(&frames, &mem);
	free(frame);
}

static void test_small_machine_is_small(void **state)
{
	struct frames frames;
	struct mem mem;

	(void)state;
	init(&frames, &mem, 1, 0);
	for (int i = 0; i < 100; i++)
		assert_non_null(frame_alloc(&frames, 0));
	assert_true(mem.live_bytes <= 32 << 10);
	assert_int_equal(mem.nr_live, 2);
	destroy(&frames, &mem);
}

static void assert_huge(const struct frames *frames, const struct frame *head, uint32_t nid)
{
	assert_int_equal(frame_pfn(frames, head) % HPAGE_PMD_NR, 0);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		assert_ptr_equal(frame_of_pfn(frames, frame_pfn(frames, head) + i), head + i);
		assert_int_equal(head[i].flags, i ? FRAME_TAIL : FRAME_HEAD);
		assert_int_equal(head[i].refcount, 1);
		assert_int_equal(head[i].nid, nid);
	}
}

static void test_huge_page(void **state)
{
	struct frame *small, *head, *again;
	struct frames frames;
	struct mem mem;

	(void)state;
	init(&frames, &mem, 2, 0);
	small = frame_alloc(&frames, 0);
	head = frame_alloc_huge(&frames, 0);
	assert_non_null(small);
	assert_non_null(head);
	assert_int_equal(frame_pfn(&frames, head), HPAGE_PMD_NR);
	assert_huge(&frames, head, 0);
	assert_int_equal(frames.nr_used, HPAGE_PMD_NR + 1);
	assert_valid(&frames);
	/* What alignment skipped is not lost. */
	assert_int_equal(frame_pfn(&frames, frame_alloc(&frames, 0)), 2);

	frame_split_huge(&frames, head + 100);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		assert_int_equal(head[i].flags, 0);
	/* One piece left in use, and the range cannot be huge again. */
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		if (i != 300)
			frame_put(&frames, head + i);
	}
	again = frame_alloc_huge(&frames, 0);
	assert_int_equal(frame_pfn(&frames, again), 2 * HPAGE_PMD_NR);
	assert_valid(&frames);
	/* The last piece gone, it can, for the other node too. */
	frame_put(&frames, head + 300);
	assert_valid(&frames);
	assert_ptr_equal(frame_alloc_huge(&frames, 1), head);
	assert_huge(&frames, head, 1);
	assert_valid(&frames);
	destroy(&frames, &mem);
}

static void test_huge_page_takes_over_the_last_range(void **state)
{
	struct frames frames;
	struct frame *last;
	struct mem mem;

	(void)state;
	init(&frames, &mem, 1, 0);
	for (uint32_t i = 1; i < HPAGE_PMD_NR; i++)
		assert_non_null(frame_alloc(&frames, 0));
	/* The only frame of its range, and free again: the range is as good as new. */
	last = frame_alloc(&frames, 0);
	assert_int_equal(frame_pfn(&frames, last), HPAGE_PMD_NR);
	frame_put(&frames, last);
	assert_ptr_equal(frame_alloc_huge(&frames, 0), last);
	assert_int_equal(frames.nr_frames, 2 * HPAGE_PMD_NR);
	assert_valid(&frames);
	destroy(&frames, &mem);
}

static void test_checksum_follows_writes(void **state)
{
	struct frame *a, *b;
	struct frames frames;
	uint8_t page[4096];
	struct mem mem;
	uint32_t sum;

	(void)state;
	init(&frames, &mem, 1, 0);
	a = frame_alloc(&frames, 0);
	b = frame_alloc(&frames, 0);
	assert_int_equal(frame_checksum(&frames, a), 0x32d8bbdb);
	memset(page, 0x77, sizeof(page));
	a->flags |= FRAME_UNKNOWN;
	assert_int_equal(frame_write(&frames, a, 1, page, 4095), 0);
	assert_false(a->flags & FRAME_SUM_VALID);
	assert_true(a->flags & FRAME_UNKNOWN);
	sum = frame_checksum(&frames, a);
	assert_int_not_equal(sum, 0x32d8bbdb);

	/* A copy brings checksum and ignorance along. */
	assert_int_equal(frame_copy_content(&frames, b, a), 0);
	assert_true(b->flags & FRAME_SUM_VALID);
	assert_true(b->flags & FRAME_UNKNOWN);
	assert_int_equal(b->checksum, sum);
	assert_int_equal(frame_compare(&frames, a, b), 0);

	assert_int_equal(frame_write(&frames, a, 0, page, 4096), 0);
	assert_false(a->flags & FRAME_UNKNOWN);
	assert_int_equal(frame_checksum(&frames, a), 0xb01071aa);
	assert_int_equal(frame_checksum(&frames, b), sum);
	assert_true(frame_compare(&frames, a, b) > 0);

	frame_set_content(&frames, b, content_uniform(0xcf));
	assert_int_equal(frame_checksum(&frames, b), 0xced8678f);
	assert_false(b->flags & FRAME_UNKNOWN);
	assert_int_equal(frames.content.buffers.nr_used, 0);
	destroy(&frames, &mem);
}

static void test_lock(void **state)
{
	struct frames frames;
	struct frame *frame;
	struct mem mem;

	(void)state;
	init(&frames, &mem, 1, 0);
	frame = frame_alloc(&frames, 0);
	frame_lock(frame);
	assert_false(frame_trylock(frame));
	frame_unlock(frame);
	assert_true(frame_trylock(frame));
	frame_unlock(frame);
	assert_int_equal(frame->flags, 0);
	destroy(&frames, &mem);
}

/* What is in use, as the test believes. */
struct model {
	struct frames frames;
	struct frame *used[4096];
	uint32_t nr_used, per_node[3];
	uint64_t stamp;       /* each used frame's index is a different one */
};

static void model_add(struct model *m, struct frame *frame)
{
	frame->index = ++m->stamp;
	m->used[m->nr_used++] = frame;
	m->per_node[frame->nid]++;
}

static void model_put(struct model *m, uint32_t i)
{
	struct frame *frame = m->used[i];

	m->per_node[frame->nid]--;
	frame_put(&m->frames, frame);
	m->used[i] = m->used[--m->nr_used];
}

static bool node_has_room(const struct model *m, uint32_t count)
{
	for (int nid = 0; nid < 3; nid++) {
		if (m->per_node[nid] + count <= m->frames.limit_per_node)
			return true;
	}
	return false;
}

static void model_check(const struct model *m)
{
	bool *seen = calloc(m->frames.nr_frames, sizeof(*seen));

	assert_non_null(seen);
	assert_valid(&m->frames);
	assert_int_equal(m->frames.nr_used, m->nr_used);
	for (uint32_t i = 0; i < m->nr_used; i++) {
		uint32_t pfn = frame_pfn(&m->frames, m->used[i]);

		assert_ptr_equal(frame_of_pfn(&m->frames, pfn), m->used[i]);
		assert_false(seen[pfn]);
		seen[pfn] = true;
		assert_int_equal(m->used[i]->refcount, 1);
		assert_in_range(m->used[i]->index, 1, m->stamp);
	}
	free(seen);
	for (int nid = 0; nid < 3; nid++)
		assert_int_equal(m->frames.node[nid].nr_used, m->per_node[nid]);
}

/* A 2 MiB range of existing pfns of which none is in use; the last may be partial. */
static bool some_range_is_free(const struct model *m)
{
	uint32_t nr = (m->frames.nr_frames + HPAGE_PMD_NR - 1) / HPAGE_PMD_NR, free_ranges = nr;
	bool *taken = calloc(nr, sizeof(*taken));

	assert_non_null(taken);
	for (uint32_t i = 0; i <= m->nr_used; i++) {
		/* The zero page is in use, too. */
		uint32_t pfn = i < m->nr_used ? frame_pfn(&m->frames, m->used[i]) : 0;

		free_ranges -= !taken[pfn / HPAGE_PMD_NR];
		taken[pfn / HPAGE_PMD_NR] = true;
	}
	free(taken);
	return free_ranges > 0;
}

static void model_add_huge(struct model *m, int nid)
{
	bool was_free = some_range_is_free(m);
	uint32_t nr_frames = (m->frames.nr_frames + HPAGE_PMD_NR - 1) & ~(HPAGE_PMD_NR - 1);
	struct frame *head = frame_alloc_huge(&m->frames, nid);

	assert_int_equal(head != NULL, node_has_room(m, HPAGE_PMD_NR));
	if (!head)
		return;
	/* New pfns only where no old ones would do. */
	assert_int_equal(m->frames.nr_frames, nr_frames + (was_free ? 0 : HPAGE_PMD_NR));
	assert_huge(&m->frames, head, head->nid);
	frame_split_huge(&m->frames, head);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		model_add(m, head + i);
}

static void test_model(void **state)
{
	struct random r = test_random();
	struct model *m = calloc(1, sizeof(*m));
	struct mem mem;

	(void)state;
	assert_non_null(m);
	init(&m->frames, &mem, 3, 1300);
	for (int step = 0; step < 4000; step++) {
		int nid = (int)random_below(&r, 4) - 1;
		struct frame *frame;
		uint32_t range;

		switch (random_below(&r, 4)) {
		case 0:
			for (uint32_t n = random_below(&r, 40); n; n--) {
				frame = frame_alloc(&m->frames, nid);
				assert_int_equal(frame != NULL, node_has_room(m, 1));
				if (frame)
					model_add(m, frame);
			}
			break;
		case 1:
			if (!random_below(&r, 8))
				model_add_huge(m, nid);
			break;
		case 2:
			for (uint32_t n = random_below(&r, 60); n && m->nr_used; n--)
				model_put(m, random_below(&r, m->nr_used));
			break;
		case 3: /* a whole range, so that blocks do become empty */
			if (random_below(&r, 4))
				break;
			range = random_below(&r, m->frames.nr_frames / HPAGE_PMD_NR + 1);
			for (uint32_t i = m->nr_used; i-- > 0;) {
				if (frame_pfn(&m->frames, m->used[i]) / HPAGE_PMD_NR == range)
					model_put(m, i);
			}
			break;
		}
		if (step % 16 == 0)
			model_check(m);
	}
	model_check(m);
	while (m->nr_used)
		model_put(m, m->nr_used - 1);
	model_check(m);
	destroy(&m->frames, &mem);
	free(m);
}

static bool failing_body(struct mem *mem)
{
	struct frame *small[600] = { NULL }, *head;
	struct frames frames;
	bool failed = false;

	int err = frames_init(&frames, mem, 2, 0, 4096);

	if (err) {
		assert_int_equal(err, -ENOMEM);
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(small); i++) {
		small[i] = frame_alloc(&frames, (int)(i % 2));
		failed |= !small[i];
	}
	assert_valid(&frames);
	head = frame_alloc_huge(&frames, 0);
	failed |= !head;
	assert_valid(&frames);
	for (size_t i = 0; i < 3; i++) {
		content_t before;

		if (!small[i])
			continue;
		before = small[i]->content;
		err = frame_write(&frames, small[i], 8, "text", 4);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(small[i]->content, before);
			failed = true;
		}
	}
	if (small[3] && small[0]) {
		err = frame_copy_content(&frames, small[3], small[0]);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(small[3]->content, CONTENT_ZERO);
			failed = true;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(small) / 2; i++) {
		if (small[i])
			frame_put(&frames, small[i]);
	}
	assert_valid(&frames);
	/* The rest, contents included, is frames_destroy()'s. */
	frames_destroy(&frames);
	return failed;
}

static void test_allocation_failures(void **state)
{
	(void)state;
	sweep_allocation_failures(failing_body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero_page),
		cmocka_unit_test(test_fresh_frame),
		cmocka_unit_test(test_retired_and_offline),
		cmocka_unit_test(test_last_freed_is_first_used),
		cmocka_unit_test(test_full_node_falls_back),
		cmocka_unit_test(test_pfns_are_pointers_for_ever),
		cmocka_unit_test(test_small_machine_is_small),
		cmocka_unit_test(test_huge_page),
		cmocka_unit_test(test_huge_page_takes_over_the_last_range),
		cmocka_unit_test(test_checksum_follows_writes),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
