/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pages of this very process, as the running kernel shows them: entries, rows of them, and the
 * contents of frames. Skipped where the kernel shows no frame numbers, or no frames.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "host_frames.h"
#include "host_page.h"

#define NR_PAGES 1200

static struct host_pages pages;
static struct host_frames frames;
static int pagemap = -1;
static uint8_t *memory;

static int setup(void **state)
{
	char msg[256];

	(void)state;
	frames.fd = -1;
	memory = mmap(NULL, NR_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise(memory, NR_PAGES * PAGE_SIZE, MADV_NOHUGEPAGE))
		return -1;
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (pagemap >= 0 && host_pages_open(&pages, msg, sizeof(msg))) {
		print_message("%s\n", msg);
		close(pagemap);
		pagemap = -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (pagemap >= 0) {
		host_pages_close(&pages);
		close(pagemap);
	}
	host_frames_close(&frames);
	munmap(memory, NR_PAGES * PAGE_SIZE);
	return 0;
}

static uint64_t address(unsigned int i)
{
	return (uintptr_t)memory + i * PAGE_SIZE;
}

/* A row says of each page what is said of it alone. */
static void test_row(void **state)
{
	static struct host_page row[NR_PAGES];
	volatile uint8_t seen;

	(void)state;
	if (pagemap < 0)
		skip();
	for (unsigned int i = 0; i < NR_PAGES; i += 3)
		memory[i * PAGE_SIZE] = (uint8_t)i | 1;
	for (unsigned int i = 1; i < NR_PAGES; i += 3)
		seen = memory[i * PAGE_SIZE];
	(void)seen;
	assert_int_equal(host_page_read_row(&pages, pagemap, address(0), NR_PAGES, row), 0);
	for (unsigned int i = 0; i < NR_PAGES; i++) {
		struct host_page one;

		assert_int_equal(host_page_read(&pages, pagemap, address(i), &one), 0);
		assert_int_equal(row[i].kind, one.kind);
		assert_int_equal(row[i].pfn, one.pfn);
		assert_int_equal(row[i].anon, one.anon);
		assert_int_equal(row[i].zero, one.zero);
		assert_int_equal(row[i].kind, i % 3 == 2 ? HOST_PAGE_NONE : HOST_PAGE_PRESENT);
		assert_int_equal(row[i].zero, i % 3 == 1);
		assert_int_equal(row[i].anon, i % 3 == 0);
	}
}

static void test_frames(void **state)
{
	uint8_t buf[PAGE_SIZE];
	struct host_page page;

	(void)state;
	if (pagemap < 0 || host_frames_open(&frames)) {
		print_message("no frames are shown\n");
		skip();
	}
	for (unsigned int i = 0; i < PAGE_SIZE; i++)
		memory[i] = (uint8_t)(i * 7 + (i >> 8));
	assert_int_equal(host_page_read_entry(pagemap, address(0), &page), 0);
	assert_int_equal(host_frames_read(&frames, page.pfn, buf, 0, PAGE_SIZE), 0);
	assert_memory_equal(buf, memory, PAGE_SIZE);
	assert_int_equal(host_frames_read(&frames, page.pfn, buf, 100, 50), 0);
	assert_memory_equal(buf, memory + 100, 50);
	/* Not that its process may read it: */
	assert_int_equal(mprotect(memory, PAGE_SIZE, PROT_NONE), 0);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(host_frames_read(&frames, page.pfn, buf, 0, PAGE_SIZE), 0);
	assert_int_equal(buf[1], 7);
	assert_int_equal(mprotect(memory, PAGE_SIZE, PROT_READ | PROT_WRITE), 0);
}

static void test_no_such_frame(void **state)
{
	uint8_t buf[PAGE_SIZE];

	(void)state;
	if (host_frames_open(&frames))
		skip();
	assert_int_equal(host_frames_read(&frames, UINT64_C(1) << 40, buf, 0, PAGE_SIZE), -ENODATA);
	/* What it looked for in vain has not made it forget the others. */
	assert_true(frames.fd >= 0 && frames.nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_row, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_such_frame, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
