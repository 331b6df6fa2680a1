/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels of one's own: what must be there before anything starts, and what a configuration lacks.
 * Builds themselves, with a make that takes no time, are in tests/cli/vm-bad-input.sh.
 */
#include "lab_fixture.h"

#include <errno.h>
#include <sys/stat.h>

#include "kernel_build.h"
#include "kernel_source.h"

static void test_names(void **state)
{
	const struct build_spec specs[] = {
		{.debug = false}, {.debug = true}, {.source = "x"}, {.source = "x", .debug = true}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		assert_string_equal(built_name(&specs[i]), built_names[i]);
		assert_true(is_built_name(built_names[i]));
	}
	assert_null(built_names[ARRAY_SIZE(specs)]);
	assert_false(is_built_name("6.1"));
	assert_false(is_built_name(""));
}

static void test_unmet(void **state)
{
	static const char wanted[] =
		"# CONFIG_A is a comment\nCONFIG_A=y\nCONFIG_B=y\n\nCONFIG_C=64";
	char list[64];

	(void)state;
	config_unmet(wanted, "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=64\n", list, sizeof(list));
	assert_string_equal(list, "");
	/* The first line, a line that begins alike, another value, an option that is off. */
	config_unmet(wanted, "CONFIG_A=y\nCONFIG_B=yes\nCONFIG_C=6\n", list, sizeof(list));
	assert_string_equal(list, "CONFIG_B CONFIG_C");
	config_unmet(wanted, "# CONFIG_A is not set\nXCONFIG_B=y\nCONFIG_C=64\n", list,
		     sizeof(list));
	assert_string_equal(list, "CONFIG_A CONFIG_B");
	config_unmet(wanted, "", list, sizeof(list));
	assert_string_equal(list, "CONFIG_A CONFIG_B CONFIG_C");
	config_unmet(wanted, "", list, 12);
	assert_string_equal(list, "CONFIG_A");
	config_unmet("", "", list, sizeof(list));
	assert_string_equal(list, "");
}

/* A file below the directory, with the directories that it needs. */
static void plant(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	put_text(path, text);
}

static void test_trees(void **state)
{
	static const char *const parts[] = {"Makefile", "Kconfig", "mm/ksm.c", "arch/x86/Makefile"};
	struct lab_fixture *f = *state;
	char tree[128], missing[64];
	struct build_spec spec = {.source = tree};

	snprintf(tree, sizeof(tree), "%s/none", f->dir);
	assert_int_equal(build_require(&f->lab, &spec), -ENOENT);
	snprintf(tree, sizeof(tree), "%s/tree", f->dir);
	assert_int_equal(mkdir(tree, 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		assert_int_equal(build_require(&f->lab, &spec), -EINVAL);
		snprintf(missing, sizeof(missing), "no %s", parts[i]);
		assert_non_null(strstr(f->lab.msg, missing));
		plant(tree, parts[i], "");
	}
	plant(tree, "include/config/auto.conf", "");
	assert_int_equal(build_require(&f->lab, &spec), -EBUSY);
	assert_non_null(strstr(f->lab.msg, "mrproper"));
}

/* All that is missing in one line, and the packages that have it. */
static void test_tools(void **state)
{
	struct lab_fixture *f = *state;
	const struct build_spec spec = {.debug = false};
	char bin[128];

	snprintf(bin, sizeof(bin), "%s/bin", f->dir);
	assert_int_equal(mkdir(bin, 0755), 0);
	plant(bin, "make", "#!/bin/sh\n");
	plant(bin, "gcc", "#!/bin/sh\nexit 1\n");
	plant(bin, "flex", "#!/bin/sh\n");
	assert_int_equal(setenv("PATH", bin, 1), 0);
	assert_int_equal(build_require(&f->lab, &spec), -ENOENT);
	assert_string_equal(
		f->lab.msg,
		"to build a kernel, missing: ld bison m4 bc perl gzip tar xz libelf.h; with "
		"Debian: apt-get install binutils bison m4 bc perl gzip tar xz-utils libelf-dev");
}

static void test_source(void **state)
{
	struct lab_fixture *f = *state;
	struct kernel_source source;
	char tree[PATH_MAX];

	assert_false(kernel_source_is_here(&f->lab, &source));
	/* Half of it is nothing. */
	plant(f->dir, "source/7.2/linux/Makefile", "");
	assert_false(kernel_source_is_here(&f->lab, &source));
	plant(f->dir, "source/7.2/version", "7.2.13-1\n");
	assert_true(kernel_source_is_here(&f->lab, &source));
	assert_string_equal(source.package.name, "linux-source-7.2");
	assert_string_equal(source.package.version, "7.2.13-1");
	snprintf(tree, sizeof(tree), "%s/source/7.2/linux", f->lab.dir);
	assert_string_equal(source.tree, tree);
	/* And then no archive is asked. */
	assert_int_equal(setenv("PATH", f->dir, 1), 0);
	assert_int_equal(kernel_source(&f->lab, &source), 0);
}

/* apt, dpkg-deb and tar, as far as they are asked. */
static void test_fetched(void **state)
{
	struct lab_fixture *f = *state;
	struct kernel_source source;
	char bin[128], path[PATH_MAX + 16];

	snprintf(bin, sizeof(bin), "%s/bin", f->dir);
	assert_int_equal(mkdir(bin, 0755), 0);
	plant(bin, "apt-get",
	      "#!/bin/bash\ncase $* in\n"
	      "*indextargets*) echo 'Debian|main|http://archive.invalid/debian/' ;;\n"
	      "*download*) echo \"${!#}\" > a.deb ;;\nesac\n");
	plant(bin, "apt-cache",
	      "#!/bin/bash\nprintf 'Package: %s\\nVersion: 7.2.99-1\\nDepends: xz-utils\\n' "
	      "\"${!#}\"\n");
	plant(bin, "dpkg-deb",
	      "#!/bin/bash\nmkdir -p \"$3/usr/src\"; cp \"$2\" "
	      "\"$3/usr/src/linux-source-7.2.tar.xz\"\n");
	plant(bin, "tar", "#!/bin/bash\ncp \"$2\" Makefile\n");
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", bin);
	assert_int_equal(setenv("PATH", path, 1), 0);
	assert_int_equal(kernel_source(&f->lab, &source), 0);
	assert_string_equal(source.package.version, "7.2.99-1");
	snprintf(path, sizeof(path), "%s/Makefile", source.tree);
	assert_int_equal(access(path, R_OK), 0);
	assert_true(kernel_source_is_here(&f->lab, &source));
	snprintf(path, sizeof(path), "%s/source/7.2.new", f->dir);
	assert_int_not_equal(access(path, F_OK), 0);

	/* One that breaks off leaves nothing that could be taken for a source. */
	snprintf(path, sizeof(path), "%s/source/7.2", f->dir);
	remove_tree(path);
	plant(bin, "tar", "#!/bin/bash\necho x > Makefile; echo 'tar: truncated' >&2; exit 2\n");
	assert_int_equal(kernel_source(&f->lab, &source), -EIO);
	assert_string_equal(f->lab.msg,
			    "linux-source-7.2 cannot be fetched: tar failed: tar: truncated");
	assert_false(kernel_source_is_here(&f->lab, &source));
	snprintf(path, sizeof(path), "%s/source/7.2.new", f->dir);
	assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_names), LAB_TEST(test_unmet),  LAB_TEST(test_trees),
		LAB_TEST(test_tools), LAB_TEST(test_source), LAB_TEST(test_fetched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
