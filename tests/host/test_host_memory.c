/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that goes offline, on a directory of plain files that stands for sysfs: which nodes are taken,
 * and that they are offline again however this program ends. What a kernel does is tried in guests
 * (scenarios/offline-*.scn).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host_memory.h"

struct fixture {
	char dir[64];
	struct mem mem;
	char msg[512];
};

static void put(const struct fixture *f, const char *name, const char *value)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(value, file);
	assert_int_equal(fclose(file), 0);
}

static void make_dir(const struct fixture *f, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

/* Its first line. */
static const char *state_of(const struct fixture *f, unsigned int block)
{
	static char line[64];
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory/memory%u/state", f->dir, block);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static int setup(void **state)
{
	static const char *const dirs[] = {
		"node", "memory", "node/node0", "node/node1", "node/node2", "memory/memory0",
		"memory/memory8", "memory/memory9", "memory/memory30", "node/node0/memory0",
		"node/node1/memory9", "node/node1/memory30", "node/node2/memory8",
	};
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	mem_init(&f.mem);
	snprintf(f.dir, sizeof(f.dir), "%s/samepage-memory-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
	assert_non_null(mkdtemp(f.dir));
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		make_dir(&f, dirs[i]);
	put(&f, "node/has_memory", "0-1,3\n");
	put(&f, "memory/memory0/state", "online\n");
	put(&f, "memory/memory9/state", "offline\n");
	put(&f, "memory/memory30/state", "offline\n");
	put(&f, "memory/memory8/state", "going-offline\n");
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", f->dir);
	return system(command);
}

static void counts_nodes(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(host_memory_nodes(f->dir), 2);
	put(f, "node/has_memory", "0\n");
	assert_int_equal(host_memory_nodes(f->dir), 1);
	put(f, "node/has_memory", "0-2,3-4,7\n");
	assert_int_equal(host_memory_nodes(f->dir), 5);
	put(f, "node/has_memory", "\n");
	assert_int_equal(host_memory_nodes(f->dir), 1);
	assert_int_equal(host_memory_nodes("/nowhere"), 1);
}

static void takes_no_memory_in_use(void **state)
{
	static const uint32_t nodes[] = { 0, 2, 3 };
	struct fixture *f = *state;
	struct host_memory *memory;

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(host_memory_open(&f->mem, f->dir, nodes[i], &memory, f->msg,
						  sizeof(f->msg)), -EINVAL);
		assert_non_null(strstr(f->msg, "is none whose memory is all offline"));
	}
	put(f, "memory/memory9/state", "online\n");
	assert_int_equal(host_memory_open(&f->mem, f->dir, 1, &memory, f->msg, sizeof(f->msg)), -EINVAL);
	assert_string_equal(state_of(f, 0), "online");
	assert_string_equal(state_of(f, 9), "online");
	assert_string_equal(state_of(f, 30), "offline");
}

static void goes_and_comes(void **state)
{
	struct fixture *f = *state;
	struct host_memory *memory;

	assert_int_equal(host_memory_open(&f->mem, f->dir, 1, &memory, f->msg, sizeof(f->msg)), 0);
	assert_string_equal(state_of(f, 9), "online_movable");
	assert_string_equal(state_of(f, 30), "online_movable");
	assert_int_equal(host_memory_online(memory), -EINVAL);
	assert_int_equal(host_memory_offline(memory), 0);
	assert_string_equal(state_of(f, 9), "offline");
	assert_string_equal(state_of(f, 30), "offline");
	assert_int_equal(host_memory_offline(memory), -EINVAL);
	assert_int_equal(host_memory_online(memory), 0);
	assert_string_equal(state_of(f, 30), "online_movable");
	assert_int_equal(host_memory_close(memory, f->msg, sizeof(f->msg)), 0);
	assert_string_equal(state_of(f, 9), "offline");
	assert_string_equal(state_of(f, 30), "offline");
	assert_int_equal(host_memory_close(NULL, f->msg, sizeof(f->msg)), 0);
}

static void is_put_back_after_a_kill(void **state)
{
	const struct timespec nap = { 0, 10000000L };
	struct fixture *f = *state;
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct host_memory *memory;

		if (host_memory_open(&f->mem, f->dir, 1, &memory, f->msg, sizeof(f->msg)) ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_string_equal(state_of(f, 9), "online_movable");
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (unsigned int i = 0; i < 1000 && strcmp(state_of(f, 30), "offline"); i++)
		nanosleep(&nap, NULL);
	assert_string_equal(state_of(f, 9), "offline");
	assert_string_equal(state_of(f, 30), "offline");
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(takes_no_memory_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(goes_and_comes, setup, teardown),
		cmocka_unit_test_setup_teardown(is_put_back_after_a_kill, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
