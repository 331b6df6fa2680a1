/* SPDX-License-Identifier: GPL-2.0-only */
/* What a guest says: whole, whatever pieces it comes in; and what is no message is refused. */
#include "lab_fixture.h"

#include <errno.h>

#include "channel.h"

struct heard {
	unsigned int nr;
	char kinds[64];
	struct text all;
};

static void hear(void *arg, enum channel_kind kind, const char *data, size_t bytes)
{
	struct heard *h = arg;

	h->kinds[h->nr++] = (char)kind;
	assert_int_equal(text_add(&h->all, data, bytes), 0);
}

static void test_pieces(void **state)
{
	static const char said[] = "B 5\n6.1.0O 0\nO 6\nX 1\n2\nE 3\nabcX 2\n-9";
	struct lab_fixture *f = *state;

	for (size_t piece = 1; piece < sizeof(said); piece++) {
		struct heard h = {0};
		struct channel c;

		text_init(&h.all, &f->mem);
		channel_init(&c, &f->mem, hear, &h);
		for (size_t at = 0; at < sizeof(said) - 1; at += piece)
			assert_int_equal(
				channel_feed(&c, said + at, MIN(piece, sizeof(said) - 1 - at)), 0);
		assert_int_equal(h.nr, 5);
		assert_memory_equal(h.kinds, "BOOEX", 5);
		assert_string_equal(h.all.data, "6.1.0X 1\n2\nabc-9");
		channel_destroy(&c);
		text_destroy(&h.all);
	}
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"Q 1\n1", "O1\n", "O \n", "O -1\n", "O 1x", "O 65537\n", "O 99999999999999999999\n",
		"hello"};
	struct lab_fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct heard h = {0};
		struct channel c;

		text_init(&h.all, &f->mem);
		channel_init(&c, &f->mem, hear, &h);
		assert_int_equal(channel_feed(&c, bad[i], strlen(bad[i])), -EPROTO);
		assert_int_equal(h.nr, 0);
		channel_destroy(&c);
	}
}

static void test_written(void **state)
{
	struct lab_fixture *f = *state;
	size_t bytes = CHANNEL_MESSAGE_MAX + 10;
	char *data = malloc(bytes);
	struct heard h = {0};
	struct text wire;
	struct channel c;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/wire", f->dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	memset(data, 'O', bytes);
	assert_int_equal(channel_write(fd, CHANNEL_OUTPUT, data, bytes), 0);
	assert_int_equal(channel_write(fd, CHANNEL_EXIT, "0", 1), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	text_init(&wire, &f->mem);
	assert_int_equal(text_read(&wire, fd), 0);
	text_init(&h.all, &f->mem);
	channel_init(&c, &f->mem, hear, &h);
	assert_int_equal(channel_feed(&c, wire.data, wire.bytes), 0);
	assert_int_equal(h.nr, 3);
	assert_memory_equal(h.kinds, "OOX", 3);
	assert_int_equal(h.all.bytes, bytes + 1);
	channel_destroy(&c);
	text_destroy(&h.all);
	text_destroy(&wire);
	free(data);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_pieces),
		LAB_TEST(test_refused),
		LAB_TEST(test_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
