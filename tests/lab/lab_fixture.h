/* SPDX-License-Identifier: GPL-2.0-only */
/* What tests of the lab share: a lab whose cache is a directory of the test's own. */
#ifndef SP_LAB_FIXTURE_H
#define SP_LAB_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"

struct lab_fixture {
	struct mem mem;
	struct lab lab;
	char dir[64];
};

static inline int lab_setup(void **state)
{
	struct lab_fixture *f = calloc(1, sizeof(*f));

	mem_init(&f->mem);
	lab_init(&f->lab, &f->mem);
	strcpy(f->dir, "/tmp/samepage-lab-XXXXXX");
	if (!mkdtemp(f->dir) || setenv("SAMEPAGE_CACHE", f->dir, 1))
		return -1;
	*state = f;
	return cache_open(&f->lab);
}

/* Nothing may be left of what was allocated. */
static inline int lab_teardown(void **state)
{
	struct lab_fixture *f = *state;
	int left = f->mem.nr_live != 0;

	lab_destroy(&f->lab);
	remove_tree(f->dir);
	free(f);
	return left;
}

/* A file below the fixture's directory, or at an absolute path. */
static inline void put_file(const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, data, bytes), 0);
	close(fd);
}

static inline void put_text(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

#define LAB_TEST(test) cmocka_unit_test_setup_teardown(test, lab_setup, lab_teardown)

#endif
