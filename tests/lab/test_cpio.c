/* SPDX-License-Identifier: GPL-2.0-only */
/* The archive, read back by a parser of the format that shares nothing with its writer. */
#include "lab_fixture.h"

#include <errno.h>
#include <sys/stat.h>

#include "cpio.h"

struct member {
	char name[256];
	unsigned long ino, mode, links, size, major, minor;
	const char *data;
};

static unsigned long hex(const char *at)
{
	char digits[9] = {0};
	char *end;
	unsigned long value;

	memcpy(digits, at, 8);
	value = strtoul(digits, &end, 16);
	assert_int_equal(*end, 0);
	return value;
}

/* The member at *at, which is moved behind it. */
static struct member next(const struct text *archive, size_t *at)
{
	const char *head = archive->data + *at;
	struct member m = {{0}, 0, 0, 0, 0, 0, 0, NULL};
	size_t name;

	assert_true(*at + 110 <= archive->bytes);
	assert_int_equal(*at % 4, 0);
	assert_memory_equal(head, "070701", 6);
	m.ino = hex(head + 6);
	m.mode = hex(head + 14);
	assert_int_equal(hex(head + 22), 0);
	assert_int_equal(hex(head + 30), 0);
	m.links = hex(head + 38);
	assert_int_equal(hex(head + 46), 0);
	m.size = hex(head + 54);
	m.major = hex(head + 78);
	m.minor = hex(head + 86);
	name = hex(head + 94);
	assert_true(name && name <= sizeof(m.name));
	memcpy(m.name, head + 110, name);
	assert_int_equal(m.name[name - 1], 0);
	*at = (*at + 110 + name + 3) & ~(size_t)3;
	m.data = archive->data + *at;
	*at = (*at + m.size + 3) & ~(size_t)3;
	assert_true(*at <= archive->bytes);
	return m;
}

static void read_back(struct lab_fixture *f, int fd, struct text *archive)
{
	text_init(archive, &f->mem);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(text_read(archive, fd), 0);
}

static int scratch(const struct lab_fixture *f)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/archive", f->dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	return fd;
}

static void test_members(void **state)
{
	static const struct {
		const char *name;
		unsigned long mode;
		const char *data;
	} expected[] = {
		{"bin", S_IFDIR | 0755, ""},   {"bin/a", S_IFREG | 0755, "12345"},
		{"bin/b", S_IFREG | 0644, ""}, {"x", S_IFDIR | 0755, ""},
		{"x/yy", S_IFDIR | 0755, ""},  {"x/yy/zzz", S_IFREG | 0600, "abcd"},
		{"dev", S_IFDIR | 0755, ""},   {"dev/console", S_IFCHR | 0600, ""},
	};
	struct lab_fixture *f = *state;
	struct text archive;
	struct member m;
	struct cpio c;
	size_t at = 0;
	int fd = scratch(f);

	cpio_init(&c, &f->mem, fd);
	assert_int_equal(cpio_file(&c, "/bin/a", 0755, "12345", 5), 0);
	assert_int_equal(cpio_file(&c, "/bin/b", 0644, NULL, 0), 0);
	assert_int_equal(cpio_file(&c, "/x/yy/zzz", 0600, "abcd", 4), 0);
	assert_int_equal(cpio_dir(&c, "/dev"), 0);
	assert_int_equal(cpio_dir(&c, "/dev"), 0);
	assert_int_equal(cpio_char_device(&c, "/dev/console", 5, 1), 0);
	assert_true(cpio_has(&c, "/x/yy"));
	assert_false(cpio_has(&c, "/x/y"));
	assert_int_equal(cpio_end(&c), 0);
	cpio_destroy(&c);
	read_back(f, fd, &archive);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		m = next(&archive, &at);
		assert_string_equal(m.name, expected[i].name);
		assert_int_equal(m.mode, expected[i].mode);
		/* Linux takes members of one number for one file. */
		assert_int_equal(m.ino, i + 1);
		assert_int_equal(m.links, 1);
		assert_int_equal(m.size, strlen(expected[i].data));
		assert_memory_equal(m.data, expected[i].data, m.size);
	}
	assert_int_equal(m.major, 5);
	assert_int_equal(m.minor, 1);
	m = next(&archive, &at);
	assert_string_equal(m.name, "TRAILER!!!");
	assert_int_equal(at, archive.bytes);
	text_destroy(&archive);
	close(fd);
}

static void test_refused(void **state)
{
	struct lab_fixture *f = *state;
	struct cpio c;
	int fd = scratch(f);

	cpio_init(&c, &f->mem, fd);
	assert_int_equal(cpio_file(&c, "relative", 0644, "", 0), -EINVAL);
	/* Errors are final. */
	assert_int_equal(cpio_file(&c, "/absolute", 0644, "", 0), -EINVAL);
	assert_int_equal(cpio_end(&c), -EINVAL);
	cpio_destroy(&c);
	cpio_init(&c, &f->mem, fd);
	assert_int_equal(cpio_file(&c, "/twice", 0644, "", 0), 0);
	assert_int_equal(cpio_file(&c, "/twice", 0644, "", 0), -EINVAL);
	cpio_destroy(&c);
	close(fd);
}

static void test_full_disk(void **state)
{
	struct lab_fixture *f = *state;
	struct cpio c;
	int fd = open("/dev/full", O_WRONLY);

	assert_true(fd >= 0);
	cpio_init(&c, &f->mem, fd);
	assert_int_equal(cpio_file(&c, "/a", 0644, "x", 1), -ENOSPC);
	assert_int_equal(cpio_end(&c), -ENOSPC);
	cpio_destroy(&c);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_members),
		LAB_TEST(test_refused),
		LAB_TEST(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
