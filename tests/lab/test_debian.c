/* SPDX-License-Identifier: GPL-2.0-only */
/* Versions as dpkg orders them, and which packages hold a kernel. */
#include "lab_fixture.h"

#include <errno.h>

#include "debian.h"

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

/* Each is older than the one after it; asked of dpkg --compare-versions. */
static void test_versions(void **state)
{
	static const char *const rising[] = {"1.0~rc1-1",
					     "1.0~rc2-1",
					     "1.0-1~bpo12+1",
					     "1.0-1",
					     "1.0-1+b1",
					     "1.0-2",
					     "1.0-10",
					     "1.0a-1",
					     "1.0+deb12-1",
					     "1.0+deb12.1-1",
					     "1.0.0-1",
					     "1.9-1",
					     "1.10-1",
					     "6.1.0-47",
					     "6.1.0-50",
					     "6.12.9-1",
					     "6.12.43+deb12-1",
					     "6.12.90+deb12-1",
					     "6.12.90+deb12.1-1",
					     "6.12.95+deb12-1",
					     "1:0.1-1",
					     "2:0.1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rising); i++)
		for (size_t j = 0; j < ARRAY_SIZE(rising); j++)
			assert_int_equal(sign(debian_version_compare(rising[i], rising[j])),
					 (i > j) - (i < j));
	assert_int_equal(debian_version_compare("1.0", "1.0-0"), 0);
	assert_int_equal(debian_version_compare("0:1.01", "1.1"), 0);
}

static void test_newest(void **state)
{
	const struct known_kernel *k = kernel_by_name("6.12");
	char release[128];

	(void)state;
	assert_non_null(k);
	assert_null(kernel_by_name("6"));
	assert_int_equal(debian_newest(k,
				       "linux-image-6.12.9+deb12-cloud-amd64\n"
				       "linux-image-6.12.90+deb12.1-cloud-amd64\n"
				       "linux-image-6.12.90+deb12-cloud-amd64\n"
				       "linux-image-6.12.95+deb12-cloud-amd64-unsigned\n"
				       "linux-image-6.12.95+deb12-amd64\n"
				       "linux-image-6.13.1-cloud-amd64\n"
				       "linux-headers-6.12.99-cloud-amd64\n",
				       release, sizeof(release)),
			 0);
	assert_string_equal(release, "6.12.90+deb12.1-cloud-amd64");
	/* 6.12 is not 6.1. */
	assert_int_equal(debian_newest(kernel_by_name("6.1"), "linux-image-6.12.9-cloud-amd64\n",
				       release, sizeof(release)),
			 -ENOENT);
	assert_int_equal(debian_newest(k, "", release, sizeof(release)), -ENOENT);
	assert_int_equal(debian_newest(k, "linux-image-6.12.9-cloud-amd64", release, 8), -EINVAL);
}

static void test_packages(void **state)
{
	static const char shell[] =
		"Package: linux-image-7.2.13+deb14-cloud-amd64\n"
		"Version: 7.2.13-1\n"
		"Depends: dracut | linux-initramfs-tool, linux-base-7.2.13+deb14-cloud-amd64 (= "
		"7.2.13-1), linux-binary-7.2.13+deb14-cloud-amd64 (= 7.2.13-1), kmod (= 3)\n"
		"Description: text\n"
		" Depends: linux-modules-7.2.13+deb14-cloud-amd64 (= 1)\n";
	static const char whole[] = "Package: linux-image-x\nVersion: 1:2-3\n\nPackage: other\n"
				    "Depends: linux-base-x (= 1)\n";
	struct debian_package p[DEBIAN_PACKAGES_MAX];

	(void)state;
	assert_int_equal(debian_packages(shell, "7.2.13+deb14-cloud-amd64", p), 3);
	assert_string_equal(p[0].name, "linux-image-7.2.13+deb14-cloud-amd64");
	assert_string_equal(p[0].version, "7.2.13-1");
	assert_string_equal(p[1].name, "linux-base-7.2.13+deb14-cloud-amd64");
	assert_string_equal(p[2].name, "linux-binary-7.2.13+deb14-cloud-amd64");
	assert_string_equal(p[2].version, "7.2.13-1");
	assert_int_equal(debian_packages(whole, "x", p), 1);
	assert_string_equal(p[0].version, "1:2-3");
	assert_int_equal(debian_packages("", "x", p), -EINVAL);
	assert_int_equal(debian_packages("Package: a\n", "x", p), -EINVAL);
}

static void test_archive(void **state)
{
	char uri[128];

	(void)state;
	assert_int_equal(debian_archive("Other|main|http://o.example/debian/\n"
					"Debian-Security|main|http://d.example/debian-security/\n"
					"Debian|contrib|http://c.example/debian/\n"
					"Debian|main|http://d.example/debian/\n",
					uri, sizeof(uri)),
			 0);
	assert_string_equal(uri, "http://d.example/debian");
	/* Lists that were never fetched have no label. */
	assert_int_equal(debian_archive("$(LABEL)|main|http://d.example/debian-security/\n"
					"$(LABEL)|main|http://d.example/debian/\n",
					uri, sizeof(uri)),
			 0);
	assert_string_equal(uri, "http://d.example/debian");
	assert_int_equal(debian_archive("Ubuntu|main|http://u.example/ubuntu/\n", uri, sizeof(uri)),
			 -ENOENT);
	assert_int_equal(debian_archive("", uri, sizeof(uri)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_newest),
		cmocka_unit_test(test_packages),
		cmocka_unit_test(test_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
