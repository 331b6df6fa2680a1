/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel files, made here: their release, configuration and modules; and files that are no kernels. */
#include "lab_fixture.h"

#include <errno.h>
#include <sys/stat.h>

#include "kernel_image.h"

static const char good_config[] =
	"# a comment\nCONFIG_KSM=y\nCONFIG_BLK_DEV_INITRD=y\nCONFIG_DEVTMPFS=y\n"
	"CONFIG_SERIAL_8250_CONSOLE=y\nCONFIG_PROC_FS=y\nCONFIG_SYSFS=y\nCONFIG_BINFMT_ELF=y\n";

/* One sector of setup after the first; nothing is packed in it. */
static void put_kernel(const char *path, const char *version)
{
	char image[2048] = {0};

	image[0x1f1] = 1;
	memcpy(image + 0x1fe, "\x55\xaa", 2);
	memcpy(image + 0x202, "HdrS", 4);
	image[0x20f] = 1; /* 0x100 after 0x200 */
	snprintf(image + 0x300, 256, "%s", version);
	put_file(path, image, sizeof(image));
}

static void test_path(void **state)
{
	struct lab_fixture *f = *state;
	struct cached_kernel k;
	char path[128];

	snprintf(path, sizeof(path), "%s/vmlinuz", f->dir);
	put_kernel(path, "6.9.1-own (me@here) #1 SMP");
	assert_int_equal(kernel_from_path(&f->lab, path, &k), 0);
	assert_string_equal(k.release, "6.9.1-own");
	assert_string_equal(k.name, path);
	assert_string_equal(k.config.name, "");
	assert_int_equal(k.nr_modules, 0);
	assert_int_equal(kernel_check_config(&f->lab, &k), 0);
	/* With its configuration beside it. */
	snprintf(path, sizeof(path), "%s/config-6.9.1-own", f->dir);
	put_text(path, good_config);
	snprintf(path, sizeof(path), "%s/vmlinuz", f->dir);
	assert_int_equal(kernel_from_path(&f->lab, path, &k), 0);
	assert_string_equal(k.config.name, "config");
	assert_int_equal(kernel_check_config(&f->lab, &k), 0);
	snprintf(path, sizeof(path), "%s/config-6.9.1-own", f->dir);
	put_text(path, good_config + strlen("# a comment\nCONFIG_KSM=y\n"));
	snprintf(path, sizeof(path), "%s/vmlinuz", f->dir);
	assert_int_equal(kernel_from_path(&f->lab, path, &k), 0);
	assert_int_equal(kernel_check_config(&f->lab, &k), -ENOTSUP);
	assert_non_null(strstr(f->lab.msg, "CONFIG_KSM=y"));
}

static void test_none(void **state)
{
	struct lab_fixture *f = *state;
	struct cached_kernel k;
	char path[128];

	snprintf(path, sizeof(path), "%s/none", f->dir);
	assert_int_equal(kernel_from_path(&f->lab, path, &k), -ENOENT);
	put_text(path, "#!/bin/sh\n");
	assert_int_equal(kernel_from_path(&f->lab, path, &k), -ENOEXEC);
	assert_non_null(strstr(f->lab.msg, "not a kernel"));
	put_kernel(path, "x");
	assert_int_equal(truncate(path, 0x204), 0);
	assert_int_equal(kernel_from_path(&f->lab, path, &k), -ENOEXEC);
	assert_int_equal(kernel_from_path(&f->lab, f->dir, &k), -ENOEXEC);
}

static void test_config(void **state)
{
	(void)state;
	assert_null(config_lacks(good_config));
	assert_string_equal(config_lacks(""), "CONFIG_KSM=y");
	/* Neither a module nor a longer name will do. */
	assert_string_equal(config_lacks("CONFIG_KSM=m\n# CONFIG_KSM=y\nCONFIG_KSM=yes\n"),
			    "CONFIG_KSM=y");
}

/* What is called a module but is none is found out before a guest is. */
static void test_modules(void **state)
{
	struct lab_fixture *f = *state;
	struct cached_kernel k = {.name = "x"};
	char path[128];

	assert_int_equal(cache_begin(&f->lab, &k), 0);
	snprintf(path, sizeof(path), "%s/modules", f->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(kernel_add_modules(&f->lab, path, &k), 0);
	assert_int_equal(k.nr_modules, 0);
	snprintf(path, sizeof(path), "%s/modules/zram.ko", f->dir);
	put_text(path, "not a module");
	snprintf(path, sizeof(path), "%s/modules", f->dir);
	assert_int_equal(kernel_add_modules(&f->lab, path, &k), -EUCLEAN);
	assert_int_equal(k.nr_modules, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_path),
		LAB_TEST(test_none),
		cmocka_unit_test(test_config),
		LAB_TEST(test_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
