/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Swap slots: the life of one, then random operations against a list of what each
 * slot should be, then every allocation failure.
 */
#include "frame_test.h"

#include <errno.h>

#include "swap.h"

struct fixture {
	struct mem mem;
	struct frames frames;
	struct swap swap;
};

static void setup(struct fixture *f, uint64_t limit)
{
	mem_init(&f->mem);
	assert_int_equal(frames_init(&f->frames, &f->mem, 1, 0, 64), 0);
	swap_init(&f->swap, &f->mem, &f->frames, limit);
}

static void teardown(struct fixture *f)
{
	swap_destroy(&f->swap);
	frames_destroy(&f->frames);
	assert_int_equal(f->mem.nr_live, 0);
	assert_int_equal(f->mem.live_bytes, 0);
}

static void assert_valid(const struct swap *swap)
{
	const char *wrong = swap_validate(swap);

	if (wrong)
		fail_msg("swap: %s", wrong);
	wrong = frames_validate(swap->frames);
	if (wrong)
		fail_msg("frames: %s", wrong);
}

/* A frame whose first four bytes are `value`. */
static struct frame *make_frame(struct frames *frames, uint32_t value)
{
	struct frame *frame = frame_alloc(frames, 0);

	assert_non_null(frame);
	assert_int_equal(frame_write(frames, frame, 0, &value, sizeof(value)), 0);
	return frame;
}

static uint32_t frame_value(const struct frames *frames, const struct frame *frame)
{
	uint32_t value;

	content_read(&frames->content, frame->content, 0, &value, sizeof(value));
	return value;
}

static void test_out_and_in(void **state)
{
	struct frame *frame, *back;
	struct fixture f;
	uint32_t slot;

	(void)state;
	setup(&f, 0);
	frame = make_frame(&f.frames, 1234);
	frame->flags |= FRAME_UNKNOWN;
	frame_lock(frame);
	assert_int_equal(swap_cache_add(&f.swap, frame), 0);
	slot = frame->swap;
	assert_int_equal(frame->refcount, 2);
	assert_true(frame->flags & FRAME_SWAPCACHE);
	assert_ptr_equal(swap_cache_find(&f.swap, slot), frame);
	assert_valid(&f.swap);
	swap_dup(&f.swap, slot);
	swap_dup(&f.swap, slot);
	assert_int_equal(swap_count(&f.swap, slot), 2);
	assert_int_equal(swap_write(&f.swap, frame), 0);
	swap_cache_remove(&f.swap, frame);
	assert_int_equal(frame->refcount, 1);
	assert_false(frame->flags & FRAME_SWAPCACHE);
	frame_unlock(frame);
	frame_put(&f.frames, frame);
	assert_null(swap_cache_find(&f.swap, slot));
	assert_valid(&f.swap);

	back = frame_alloc(&f.frames, 0);
	frame_lock(back);
	assert_int_equal(swap_read(&f.swap, slot, back), 0);
	swap_cache_insert(&f.swap, slot, back);
	assert_int_equal(frame_value(&f.frames, back), 1234);
	assert_true(back->flags & FRAME_UNKNOWN);
	swap_drop(&f.swap, slot);
	swap_drop(&f.swap, slot);
	/* The cached frame alone keeps the slot. */
	assert_int_equal(f.swap.nr_used, 1);
	assert_valid(&f.swap);
	swap_cache_remove(&f.swap, back);
	frame_unlock(back);
	assert_int_equal(f.swap.nr_used, 0);
	assert_valid(&f.swap);
	/* The slot's own copy went with it: what is left is the frame's. */
	assert_int_equal(f.frames.content.buffers.nr_used, 1);
	frame_put(&f.frames, back);
	teardown(&f);
}

static void test_last_entry_frees_the_slot(void **state)
{
	struct fixture f;
	uint32_t slot, again;

	(void)state;
	setup(&f, 0);
	assert_int_equal(swap_alloc_loaded(&f.swap, content_uniform(9), true, &slot), 0);
	/* Neither entry nor frame: a leak, if it stayed like that. */
	assert_non_null(swap_validate(&f.swap));
	swap_dup(&f.swap, slot);
	assert_valid(&f.swap);
	swap_drop(&f.swap, slot);
	assert_int_equal(f.swap.nr_used, 0);
	assert_valid(&f.swap);
	assert_int_equal(swap_alloc_loaded(&f.swap, content_uniform(9), false, &again), 0);
	assert_int_equal(again, slot);
	assert_false(f.swap.slots[again].unknown);
	teardown(&f);
}

static void test_rewrite_replaces(void **state)
{
	struct frame *frame, *other;
	struct fixture f;
	uint32_t slot;

	(void)state;
	setup(&f, 0);
	frame = make_frame(&f.frames, 1);
	other = frame_alloc(&f.frames, 0);
	frame_lock(frame);
	assert_int_equal(swap_cache_add(&f.swap, frame), 0);
	slot = frame->swap;
	swap_dup(&f.swap, slot);
	assert_int_equal(swap_write(&f.swap, frame), 0);
	assert_int_equal(frame_write(&f.frames, frame, 0, "\2\0\0", 4), 0);
	assert_int_equal(swap_read(&f.swap, slot, other), 0);
	assert_int_equal(frame_value(&f.frames, other), 1);
	assert_int_equal(swap_write(&f.swap, frame), 0);
	assert_int_equal(swap_read(&f.swap, slot, other), 0);
	assert_int_equal(frame_value(&f.frames, other), 2);
	assert_int_equal(f.frames.content.buffers.nr_used, 3);
	swap_cache_remove(&f.swap, frame);
	frame_unlock(frame);
	teardown(&f);
}

static void test_limit(void **state)
{
	struct fixture f;
	struct frame *frame;
	uint32_t slot[3];

	(void)state;
	setup(&f, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(swap_alloc_loaded(&f.swap, CONTENT_ZERO, false, &slot[i]), 0);
		swap_dup(&f.swap, slot[i]);
	}
	assert_int_equal(swap_alloc_loaded(&f.swap, CONTENT_ZERO, false, &slot[2]), -ENOSPC);
	frame = frame_alloc(&f.frames, 0);
	frame_lock(frame);
	assert_int_equal(swap_cache_add(&f.swap, frame), -ENOSPC);
	assert_int_equal(frame->refcount, 1);
	assert_false(frame->flags & FRAME_SWAPCACHE);
	swap_drop(&f.swap, slot[0]);
	assert_int_equal(swap_cache_add(&f.swap, frame), 0);
	assert_int_equal(frame->swap, slot[0]);
	frame_unlock(frame);
	teardown(&f);
}

#define NR_SLOTS 64u

/* What the test believes of the slots that it uses; `live` is packed. */
struct model {
	struct fixture f;
	struct {
		uint32_t slot, count, value, written;
		struct frame *frame; /* cached; the test holds one reference, too */
		bool is_written;
	} live[NR_SLOTS];
	uint32_t nr_live, next_value;
};

static void model_forget_if_free(struct model *m, uint32_t i)
{
	if (!m->live[i].count && !m->live[i].frame)
		m->live[i] = m->live[--m->nr_live];
}

static void model_step(struct model *m, struct random *r)
{
	uint32_t op = random_below(r, 8), i;
	struct frames *frames = &m->f.frames;
	struct swap *swap = &m->f.swap;
	struct frame *frame;

	if (op < 2 && m->nr_live < NR_SLOTS) {
		i = m->nr_live++;
		memset(&m->live[i], 0, sizeof(m->live[i]));
		m->live[i].value = ++m->next_value;
		frame = make_frame(frames, m->next_value);
		if (op == 0) {
			frame_lock(frame);
			assert_int_equal(swap_cache_add(swap, frame), 0);
			frame_unlock(frame);
			m->live[i].frame = frame;
			m->live[i].slot = frame->swap;
			return;
		}
		/* Takes over what the frame had. */
		assert_int_equal(swap_alloc_loaded(swap, frame->content, false,
						   &m->live[i].slot), 0);
		frame->content = CONTENT_ZERO;
		frame_put(frames, frame);
		swap_dup(swap, m->live[i].slot);
		m->live[i].count = 1;
		m->live[i].is_written = true;
		m->live[i].written = m->next_value;
		return;
	}
	if (!m->nr_live)
		return;
	i = random_below(r, m->nr_live);
	frame = m->live[i].frame;
	switch (op) {
	case 2:
	case 3:
		swap_dup(swap, m->live[i].slot);
		m->live[i].count++;
		break;
	case 4:
		if (!m->live[i].count)
			break;
		swap_drop(swap, m->live[i].slot);
		m->live[i].count--;
		model_forget_if_free(m, i);
		break;
	case 5:
		if (!frame)
			break;
		m->live[i].value = ++m->next_value;
		assert_int_equal(frame_write(frames, frame, 0, &m->next_value, 4), 0);
		if (random_below(r, 2)) {
			assert_int_equal(swap_write(swap, frame), 0);
			m->live[i].is_written = true;
			m->live[i].written = m->next_value;
		}
		break;
	case 6: /* out of the cache */
		if (!frame || (m->live[i].count && !m->live[i].is_written))
			break;
		frame_lock(frame);
		swap_cache_remove(swap, frame);
		frame_unlock(frame);
		assert_int_equal(frame_value(frames, frame), m->live[i].value);
		frame_put(frames, frame);
		m->live[i].frame = NULL;
		model_forget_if_free(m, i);
		break;
	case 7: /* back in */
		if (frame)
			break;
		frame = frame_alloc(frames, 0);
		assert_non_null(frame);
		assert_int_equal(swap_read(swap, m->live[i].slot, frame), 0);
		frame_lock(frame);
		swap_cache_insert(swap, m->live[i].slot, frame);
		frame_unlock(frame);
		m->live[i].frame = frame;
		m->live[i].value = m->live[i].written;
		break;
	}
}

static void model_check(const struct model *m)
{
	uint32_t nr_cached = 0;

	assert_valid(&m->f.swap);
	assert_int_equal(m->f.swap.nr_used, m->nr_live);
	for (uint32_t i = 0; i < m->nr_live; i++) {
		const struct frame *frame = m->live[i].frame;

		assert_int_equal(swap_count(&m->f.swap, m->live[i].slot), m->live[i].count);
		assert_ptr_equal(swap_cache_find(&m->f.swap, m->live[i].slot), frame);
		if (frame) {
			nr_cached++;
			assert_int_equal(frame->refcount, 2);
			assert_int_equal(frame->swap, m->live[i].slot);
			assert_int_equal(frame_value(&m->f.frames, frame), m->live[i].value);
		}
		for (uint32_t j = 0; j < i; j++)
			assert_int_not_equal(m->live[i].slot, m->live[j].slot);
	}
	assert_int_equal(m->f.frames.nr_used, nr_cached);
}

static void test_model(void **state)
{
	struct random r = test_random();
	struct model *m = calloc(1, sizeof(*m));

	(void)state;
	assert_non_null(m);
	setup(&m->f, 0);
	for (int step = 0; step < 20000; step++) {
		model_step(m, &r);
		if (step % 8 == 0)
			model_check(m);
	}
	/* The array grew by what was needed at once, not by what passed through. */
	assert_true(m->f.swap.nr_slots <= NR_SLOTS);
	teardown(&m->f);
	free(m);
}

static bool failing_body(struct mem *mem)
{
	struct frames frames;
	bool failed = false;
	struct swap swap;

	if (frames_init(&frames, mem, 1, 0, 64))
		return true;
	swap_init(&swap, mem, &frames, 0);
	for (int i = 0; i < 20; i++) {
		struct frame *frame = frame_alloc(&frames, 0), *back;
		uint32_t slot;

		if (!frame || frame_write(&frames, frame, 0, "text", 4)) {
			failed = true;
			if (frame)
				frame_put(&frames, frame);
			continue;
		}
		frame_lock(frame);
		if (swap_cache_add(&swap, frame)) {
			failed = true;
			assert_int_equal(frame->refcount, 1);
			goto next;
		}
		slot = frame->swap;
		swap_dup(&swap, slot);
		if (swap_write(&swap, frame)) {
			failed = true;
			assert_false(swap.slots[slot].written);
			swap_drop(&swap, slot);
			swap_cache_remove(&swap, frame);
			goto next;
		}
		swap_cache_remove(&swap, frame);
		back = frame_alloc(&frames, 0);
		if (!back) {
			failed = true;
			goto next;
		}
		if (swap_read(&swap, slot, back)) {
			failed = true;
			assert_int_equal(back->content, CONTENT_ZERO);
		} else {
			assert_int_equal(frame_compare(&frames, frame, back), 0);
		}
		frame_put(&frames, back);
next:
		frame_unlock(frame);
		frame_put(&frames, frame);
		assert_valid(&swap);
	}
	/* Nobody swapped back in: the slots' contents are swap_destroy()'s. */
	swap_destroy(&swap);
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
		cmocka_unit_test(test_out_and_in),
		cmocka_unit_test(test_last_entry_frees_the_slot),
		cmocka_unit_test(test_rewrite_replaces),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
