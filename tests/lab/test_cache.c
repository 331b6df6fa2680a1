/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels on disk: what is kept is found again, and what was damaged is found out. */
#include "lab_fixture.h"

#include <errno.h>
#include <sys/stat.h>

static void keep(struct lab_fixture *f)
{
	struct cached_kernel k = {.name = "6.1", .release = "6.1.0-1-test"};

	strcpy(k.package.name, "linux-image-test");
	strcpy(k.package.version, "6.1.7-1");
	assert_int_equal(cache_lock(&f->lab), 0);
	assert_int_equal(cache_begin(&f->lab, &k), 0);
	strcpy(k.image.name, "vmlinuz");
	strcpy(k.config.name, "config");
	strcpy(k.modules[0].name, "zsmalloc.ko");
	strcpy(k.modules[1].name, "zram.ko");
	k.nr_modules = 2;
	assert_int_equal(cache_write(&f->lab, &k, &k.image, "kernel", 6), 0);
	assert_int_equal(cache_write(&f->lab, &k, &k.config, "CONFIG_KSM=y\n", 13), 0);
	assert_int_equal(cache_write(&f->lab, &k, &k.modules[0], "first", 5), 0);
	assert_int_equal(cache_write(&f->lab, &k, &k.modules[1], "", 0), 0);
	assert_int_equal(cache_commit(&f->lab, &k), 0);
	cache_unlock(&f->lab);
}

static void path_of(const struct lab_fixture *f, const char *name, char path[256])
{
	snprintf(path, 256, "%s/kernels/6.1/%s", f->dir, name);
}

static void test_kept(void **state)
{
	struct lab_fixture *f = *state;
	struct cached_kernel k;

	assert_int_equal(cache_load(&f->lab, "6.1", &k), -ENOENT);
	keep(f);
	assert_int_equal(cache_load(&f->lab, "6.1", &k), 0);
	assert_string_equal(k.release, "6.1.0-1-test");
	assert_string_equal(k.package.name, "linux-image-test");
	assert_string_equal(k.package.version, "6.1.7-1");
	assert_string_equal(k.image.name, "vmlinuz");
	assert_int_equal(k.image.bytes, 6);
	/* In the order of loading. */
	assert_int_equal(k.nr_modules, 2);
	assert_string_equal(k.modules[0].name, "zsmalloc.ko");
	assert_string_equal(k.modules[1].name, "zram.ko");
	/* Again, in the place of what is there. */
	keep(f);
	assert_int_equal(cache_load(&f->lab, "6.1", &k), 0);
	assert_int_equal(cache_load(&f->lab, "6.12", &k), -ENOENT);
}

static void test_damaged(void **state)
{
	static const char *const names[] = {"vmlinuz", "config", "zsmalloc.ko", "zram.ko"};
	struct lab_fixture *f = *state;
	struct cached_kernel k;
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		keep(f);
		path_of(f, names[i], path);
		put_text(path, "Kernel");
		assert_int_equal(cache_load(&f->lab, "6.1", &k), -EUCLEAN);
		assert_non_null(strstr(f->lab.msg, names[i]));
		assert_int_equal(unlink(path), 0);
		assert_int_equal(cache_load(&f->lab, "6.1", &k), -EUCLEAN);
	}
}

static void test_manifest(void **state)
{
	static const char *const bad[] = {
		"",
		"nonsense\n",
		"samepage-kernel 1\n",
		"samepage-kernel 2\nrelease x\n",
		"samepage-kernel 1\nrelease x\nimage ../../x 6 00\n",
		"samepage-kernel 1\nrelease x\npackage a b\nimage vmlinuz six 00\n",
		"samepage-kernel 1\nrelease x\nwhat vmlinuz 6 00\n"};
	struct lab_fixture *f = *state;
	struct cached_kernel k;
	char path[256];

	keep(f);
	path_of(f, "manifest", path);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put_text(path, bad[i]);
		assert_int_equal(cache_load(&f->lab, "6.1", &k), -EUCLEAN);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cache_load(&f->lab, "6.1", &k), -EUCLEAN);
}

static void test_places(void **state)
{
	struct lab_fixture *f = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/file", f->dir);
	put_text(path, "");
	assert_int_equal(setenv("SAMEPAGE_CACHE", path, 1), 0);
	assert_int_equal(cache_open(&f->lab), -ENOTDIR);
	assert_int_equal(setenv("SAMEPAGE_CACHE", "", 1), 0);
	assert_int_equal(setenv("XDG_CACHE_HOME", f->dir, 1), 0);
	assert_int_equal(cache_open(&f->lab), 0);
	snprintf(path, sizeof(path), "%s/samepage", f->dir);
	assert_string_equal(f->lab.dir, path);
	assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
	assert_int_equal(setenv("HOME", f->dir, 1), 0);
	assert_int_equal(cache_open(&f->lab), 0);
	snprintf(path, sizeof(path), "%s/.cache/samepage", f->dir);
	assert_string_equal(f->lab.dir, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_kept),
		LAB_TEST(test_damaged),
		LAB_TEST(test_manifest),
		LAB_TEST(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
