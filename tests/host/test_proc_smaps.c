/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is read of a running process's mappings and pages, on texts and words
 * recorded from kernels, and on this very process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_page.h"
#include "proc_smaps.h"
#include "proc_text.h"
#include "samepage.h"

#define WINDOW UINT64_C(0x200000000000)

/* ---- smaps ------------------------------------------------------------------------ */

static int add_text(struct smaps *list, const char *text, uint64_t start, uint64_t end)
{
	int err = 0;

	while (*text && !err && !list->ended) {
		size_t length = strcspn(text, "\n");

		err = smaps_add_line(list, text, length, start, end);
		text += length + (text[length] == '\n');
	}
	return err;
}

static const char recorded[] =
	"00400000-00500000 r-xp 00000000 fe:00 1234                       /bin/true\n"
	"Size:               1024 kB\n"
	"KSM:                   0 kB\n"
	"VmFlags: rd ex mr mw me mg lo \n"
	"200000000000-200000010000 rw-p 00000000 00:00 0 \n"
	"Size:                 64 kB\n"
	"Rss:                  64 kB\n"
	"Anonymous:            64 kB\n"
	"KSM:                  12 kB\n"
	"THPeligible:           0\n"
	"VmFlags: rd wr mr mw me ac sd mg \n"
	"200000021000-200000025000 r--p 00020000 00:01 7          /memfd:samepage-1 (deleted)\n"
	"Size:                 16 kB\n"
	"VmFlags: rd mr mw me lo dc \n"
	"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                  [stack]\n"
	"VmFlags: rd wr mr mw me gd ac mg \n";

static void test_smaps(void **state)
{
	struct mem mem;
	struct smaps list = { .mem = &mem };

	(void)state;
	mem_init(&mem);
	assert_int_equal(add_text(&list, recorded, WINDOW, UINT64_C(0x540000000000)), 0);
	assert_true(list.ended);
	assert_int_equal(list.nr, 2);
	assert_int_equal(list.vmas[0].map.start, WINDOW);
	assert_int_equal(list.vmas[0].map.prot, SP_PROT_READ | SP_PROT_WRITE);
	assert_true(list.vmas[0].mergeable);
	assert_false(list.vmas[0].locked);
	assert_false(list.vmas[0].dontfork);
	assert_true(list.vmas[0].has_ksm_bytes);
	assert_int_equal(list.vmas[0].ksm_bytes, 3 * PAGE_SIZE);
	assert_false(list.vmas[1].mergeable);
	assert_true(list.vmas[1].locked);
	assert_true(list.vmas[1].dontfork);
	assert_false(list.vmas[1].has_ksm_bytes);
	assert_true(list.vmas[1].map.file_backed);
	assert_int_equal(list.vmas[1].map.pgoff, 32);
	smaps_free(&list);
	assert_int_equal(mem.nr_live, 0);
}

static void test_smaps_wrong(void **state)
{
	struct mem mem;
	struct smaps list = { .mem = &mem };

	(void)state;
	mem_init(&mem);
	assert_int_equal(add_text(&list, "VmFlags: rd\n", 0, UINT64_MAX), -EINVAL);
	assert_int_equal(list.nr, 0);
	mem.fail_at = mem.nr_allocs + 1;
	assert_int_equal(add_text(&list, recorded, WINDOW, UINT64_MAX), -ENOMEM);
	smaps_free(&list);
}

static void test_own_mappings(void **state)
{
	size_t bytes = 3 * PAGE_SIZE;
	struct mem mem;
	struct smaps list;
	char *at = mmap((void *)WINDOW, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	(void)state;
	assert_ptr_equal(at, (void *)WINDOW);
	assert_int_equal(madvise(at, PAGE_SIZE, MADV_DONTFORK), 0);
	mem_init(&mem);
	for (int with_flags = 0; with_flags < 2; with_flags++) {
		assert_int_equal(smaps_read(&list, &mem, getpid(), with_flags, WINDOW, WINDOW + bytes), 0);
		assert_int_equal(list.nr, 2);
		assert_int_equal(list.vmas[1].map.start, WINDOW + PAGE_SIZE);
		assert_int_equal(list.vmas[0].dontfork, with_flags);
		assert_false(list.vmas[1].dontfork);
		smaps_free(&list);
	}
	munmap(at, bytes);
	assert_int_equal(smaps_read(&list, &mem, getpid(), true, WINDOW, WINDOW + bytes), 0);
	assert_int_equal(list.nr, 0);
	smaps_free(&list);
	assert_int_equal(mem.nr_live, 0);
}

/* ---- pagemap, kpageflags ---------------------------------------------------------------- */

static void test_entries(void **state)
{
	static const struct {
		uint64_t entry;
		enum host_page_kind kind;
		bool anon;
		uint64_t pfn;
	} cases[] = {
		{ 0, HOST_PAGE_NONE, false, 0 },
		/* present, soft-dirty, mapped once */
		{ UINT64_C(0x8180000000024735), HOST_PAGE_PRESENT, true, 0x24735 },
		/* present, of a file */
		{ UINT64_C(0xa080000000011111), HOST_PAGE_PRESENT, false, 0x11111 },
		/* swap area 0, offset 5 */
		{ UINT64_C(0x40000000000000a0), HOST_PAGE_SWAPPED, false, 0 },
		/* a migration entry: type 29 */
		{ UINT64_C(0x400000000048e6bd), HOST_PAGE_MIGRATION, false, 0 },
		/* a guard: swapped, but no page */
		{ UINT64_C(0x440000000000009f), HOST_PAGE_NONE, false, 0 },
	};
	struct host_page page;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		host_page_of_entry(cases[i].entry, &page);
		assert_int_equal(page.kind, cases[i].kind);
		assert_int_equal(page.anon, cases[i].anon);
		assert_int_equal(page.pfn, cases[i].pfn);
	}
	host_page_of_entry(UINT64_C(0x8180000000024735), &page);
	host_page_add_flags(UINT64_C(1) << 21 | 1 << 5 | 1 << 12, &page);
	assert_true(page.ksm && page.anon && !page.zero && !page.huge);
	host_page_add_flags(UINT64_C(1) << 24, &page);
	assert_true(page.zero && !page.ksm && !page.anon);
	host_page_add_flags(UINT64_C(1) << 22, &page);
	assert_true(page.huge);
}

/* ---- Lines of names and values ------------------------------------------------------------- */

static void test_values(void **state)
{
	static const char text[] = "ksm_rmap_items 7\nksm_zero_pages 0\nksm_process_profit -512\n"
				   "ksm_merge_any: no\nksm_mergeable: yes\nbroken: word";
	int64_t value;

	(void)state;
	assert_int_equal(proc_text_find(text, "ksm_rmap_items", &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(proc_text_find(text, "ksm_process_profit", &value), 0);
	assert_int_equal(value, -512);
	assert_int_equal(proc_text_find(text, "ksm_merge_any", &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(proc_text_find(text, "ksm_mergeable", &value), 0);
	assert_int_equal(value, 1);
	/* A name that begins so is another. */
	assert_int_equal(proc_text_find(text, "ksm_merge", &value), -ENOENT);
	assert_int_equal(proc_text_find(text, "rmap_items", &value), -ENOENT);
	assert_int_equal(proc_text_find(text, "broken", &value), -EINVAL);
	assert_int_equal(proc_text_value("/proc/no/such", &value), -ENOENT);
}

static void test_long_text(void **state)
{
	char buf[8];

	(void)state;
	assert_int_equal(proc_text_read("/proc/self/status", buf, sizeof(buf)), -EFBIG);
	/* The kernel adds a newline to the one that was written; one is cut off. */
	assert_int_equal(proc_text_write("/proc/self/comm", "abc"), 0);
	assert_int_equal(proc_text_read("/proc/self/comm", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "abc\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_smaps),
		cmocka_unit_test(test_smaps_wrong),
		cmocka_unit_test(test_own_mappings),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_long_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
