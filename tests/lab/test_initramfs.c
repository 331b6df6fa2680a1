/* SPDX-License-Identifier: GPL-2.0-only */
/* A guest's image: what is in it, where files go, and a disk that is full. */
#include "lab_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "initramfs.h"

static void test_places(void **state)
{
	static const struct {
		const char *host, *name, *guest;
	} places[] = {
		{"a.scn", "a.scn", "/work/a.scn"},
		{"d/e/a.scn", "d/e/a.scn", "/work/d/e/a.scn"},
		{"./d/a.scn", "./d/a.scn", "/work/d/a.scn"},
		{"..a/b..scn", "..a/b..scn", "/work/..a/b..scn"},
		{"/abs/a.scn", "7/a.scn", "/work/7/a.scn"},
		{"../a.scn", "7/a.scn", "/work/7/a.scn"},
		{"d/../../a.scn", "7/a.scn", "/work/7/a.scn"},
		{"d//a.scn", "7/a.scn", "/work/7/a.scn"},
	};
	char name[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct initramfs_file file;

		initramfs_place(places[i].host, 7, &file, name, sizeof(name));
		assert_string_equal(file.host_path, places[i].host);
		assert_string_equal(name, places[i].name);
		assert_string_equal(file.guest_path, places[i].guest);
	}
}

static bool contains(const struct text *archive, const char *what, size_t bytes)
{
	return memmem(archive->data, archive->bytes, what, bytes) != NULL;
}

static void test_contents(void **state)
{
	static const char *const argv[] = {"samepage", "run", "x.scn", NULL};
	struct lab_fixture *f = *state;
	static struct cached_kernel kernel;
	struct initramfs_file file;
	struct initramfs_spec spec = {
		.kernel = &kernel, .argv = argv, .files = &file, .nr_files = 1};
	char name[PATH_MAX], path[128];
	struct text archive;
	int fd;

	snprintf(path, sizeof(path), "%s/x.scn", f->dir);
	put_text(path, "a scenario of a test");
	initramfs_place(path, 0, &file, name, sizeof(name));
	snprintf(kernel.dir, sizeof(kernel.dir), "%s", f->dir);
	snprintf(kernel.modules[0].name, sizeof(kernel.modules[0].name), "zram.ko");
	kernel.nr_modules = 1;
	snprintf(path, sizeof(path), "%s/zram.ko", f->dir);
	put_text(path, "a module of a test");
	assert_int_equal(initramfs_build(&f->lab, &spec, &fd), 0);
	text_init(&archive, &f->mem);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(text_read(&archive, fd), 0);
	assert_true(contains(&archive, "samepage\0run\0x.scn\0", 19));
	assert_true(contains(&archive, "a scenario of a test", 20));
	assert_true(contains(&archive, "a module of a test", 18));
	assert_true(contains(&archive, "lib/libcmocka.so.0", 19));
	assert_true(contains(&archive, "dev/console", 12));
	text_destroy(&archive);
	close(fd);
	/* A file that went away after it was parsed. */
	file.host_path = "/nonexistent/x.scn";
	assert_int_equal(initramfs_build(&f->lab, &spec, &fd), -ENOENT);
	assert_non_null(strstr(f->lab.msg, "/nonexistent/x.scn"));
}

static void test_full_disk(void **state)
{
	struct lab_fixture *f = *state;
	static struct cached_kernel kernel;
	struct initramfs_spec spec = {.kernel = &kernel};
	struct rlimit before, small;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 4096;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(initramfs_build(&f->lab, &spec, &fd), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(f->lab.msg, "cannot be written"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		LAB_TEST(test_contents),
		LAB_TEST(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
