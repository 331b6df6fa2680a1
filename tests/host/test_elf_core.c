/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ELF core reader: layouts that a core writer of the tests' own makes, the
 * core that this kernel writes, cuts at every byte, and headers that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_writer.h"
#include "elf_core.h"
#include "image_check.h"
#include "samepage.h"

/* ---- What a read delivered ---- */

#define LOG_MAX 64

struct told {
	struct image_check check;
	struct image_report report;
	struct mem mem;
	char msg[512];
	int err;

	struct image_vma vmas[LOG_MAX];
	size_t nr_vmas;
	/* Contents must be what fill() wrote; set by tests that use fill(). */
	bool check_contents;
	uint64_t nr_wrong;
	/* A string looked for in the contents. */
	const char *needle;
	uint64_t nr_found;
	int stop_with; /* returned by the next page() or run() */
};

static uint64_t pattern(uint64_t addr)
{
	return addr * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

static int told_vma(void *arg, const struct image_vma *vma)
{
	struct told *told = arg;

	if (told->nr_vmas < LOG_MAX)
		told->vmas[told->nr_vmas] = *vma;
	told->nr_vmas++;
	return 0;
}

static int told_page(void *arg, uint64_t addr, enum image_page_state state,
		     const void *contents)
{
	struct told *told = arg;
	const uint64_t *words = contents;

	(void)state;
	for (size_t i = 0; told->check_contents && i < PAGE_SIZE / 8; i++)
		told->nr_wrong += words[i] != pattern(addr + i * 8);
	if (told->needle &&
	    memmem(contents, PAGE_SIZE, told->needle, strlen(told->needle)))
		told->nr_found++;
	return told->stop_with;
}

static int told_run(void *arg, uint64_t addr, uint64_t nr_pages,
		    enum image_page_state state)
{
	struct told *told = arg;

	(void)addr;
	(void)nr_pages;
	(void)state;
	return told->stop_with;
}

static const struct image_ops told_ops = { told_vma, told_page, told_run };

static void told_begin(struct told *told)
{
	mem_init(&told->mem);
	told->check = (struct image_check){ .inner = &told_ops, .inner_arg = told };
	told->nr_vmas = told->nr_wrong = told->nr_found = 0;
}

static void told_end(struct told *told)
{
	image_check_finish(&told->check, told->err, &told->report);
	if (told->check.violation)
		fail_msg("%s", told->check.violation);
	assert_int_equal(told->mem.nr_live, 0);
	assert_int_equal(told->mem.live_bytes, 0);
	if (told->err && !told->stop_with)
		assert_string_not_equal(told->msg, "");
	else
		assert_string_equal(told->msg, "");
}

static int read_path(struct told *told, const char *path)
{
	told_begin(told);
	told->err = elf_core_read(&told->mem, path, &image_check_ops, &told->check,
				  &told->report, told->msg, sizeof(told->msg));
	told_end(told);
	return told->err;
}

static int read_buffer(struct told *told, const void *data, size_t size)
{
	/* A block of exactly this size: a sanitizer sees any read past it. */
	char *exact = malloc(size ? size : 1);

	assert_non_null(exact);
	memcpy(exact, data, size);
	told_begin(told);
	told->err = elf_core_read_buffer(&told->mem, exact, size, &image_check_ops,
					 &told->check, &told->report, told->msg,
					 sizeof(told->msg));
	free(exact);
	told_end(told);
	return told->err;
}

static void assert_told(const struct told *told, uint64_t present,
			uint64_t untouched, uint64_t file, uint64_t unknown)
{
	assert_int_equal(told->report.nr_pages[IMAGE_PAGE_PRESENT], present);
	assert_int_equal(told->report.nr_pages[IMAGE_PAGE_UNTOUCHED], untouched);
	assert_int_equal(told->report.nr_pages[IMAGE_PAGE_FILE], file);
	assert_int_equal(told->report.nr_pages[IMAGE_PAGE_UNKNOWN], unknown);
	assert_int_equal(told->report.nr_pages[IMAGE_PAGE_SWAPPED], 0);
}

static void assert_message(const struct told *told, const char *part)
{
	if (!strstr(told->msg, part))
		fail_msg("message \"%s\" lacks \"%s\"", told->msg, part);
}

/* ---- Files ---- */

struct fixture {
	char dir[128];
	char path[192]; /* of the core */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	snprintf(f->dir, sizeof(f->dir), "%s/samepage-core-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/core", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	DIR *dir = opendir(f->dir);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(f->dir);
	free(f);
	return 0;
}

/* Every page has contents that follow from its address. */
static int fill(void *arg, size_t segment, uint64_t page, void *buf)
{
	const struct core_layout *layout = arg;
	uint64_t addr = layout->segments[segment].vaddr + page * PAGE_SIZE;
	uint64_t *words = buf;

	for (size_t i = 0; i < PAGE_SIZE / 8; i++)
		words[i] = pattern(addr + i * 8);
	return 1;
}

static void write_core(const struct fixture *f, const struct core_layout *layout)
{
	assert_int_equal(core_write(f->path, layout, fill, (void *)layout), 0);
}

static char *load(const struct fixture *f, size_t *size)
{
	struct stat st;
	FILE *file = fopen(f->path, "rb");
	char *data;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	*size = (size_t)st.st_size;
	data = malloc(*size);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *size, file), *size);
	fclose(file);
	return data;
}

#define RW (PROT_READ | PROT_WRITE)

static const struct core_segment two_segments[] = {
	{ 0x10000000, 3, 3, RW },
	{ 0x10008000, 4, 1, PROT_READ | PROT_EXEC },
};
static const struct core_layout two = { two_segments, 2, NULL, 0, 0 };

/* ---- Layouts ---- */

static void test_contents_and_permissions(void **state)
{
	struct told told = { .check_contents = true };

	write_core(*state, &two);
	assert_int_equal(read_path(&told, ((struct fixture *)*state)->path), 0);
	assert_int_equal(told.nr_vmas, 2);
	assert_int_equal(told.vmas[0].start, 0x10000000);
	assert_int_equal(told.vmas[0].end, 0x10003000);
	assert_int_equal(told.vmas[0].prot, SP_PROT_READ | SP_PROT_WRITE);
	assert_int_equal(told.vmas[1].prot, SP_PROT_READ | SP_PROT_EXEC);
	assert_false(told.vmas[0].shared || told.vmas[0].file_backed);
	/* What was filtered out is unknown, not zero. */
	assert_told(&told, 4, 0, 0, 3);
	assert_int_equal(told.nr_wrong, 0);
	assert_int_equal(told.report.read_bytes, 4 * PAGE_SIZE);
	assert_false(told.report.truncated);
}

static int fill_first_page_only(void *arg, size_t segment, uint64_t page, void *buf)
{
	return page == 0 ? fill(arg, segment, page, buf) : 0;
}

static bool has_holes(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t hole;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	hole = lseek(fd, 0, SEEK_HOLE);
	close(fd);
	return hole >= 0 && hole < st.st_size;
}

static void test_holes_are_untouched_pages(void **state)
{
	static const struct core_segment segments[] = {
		{ 0x10000000, 40, 40, RW },
		{ 0x20000000, 40, 40, RW },
		{ 0x30000000, 40, 40, RW },
	};
	static const struct core_file_map files[] = {
		{ 0x20000000, 0x20028000, 0, "/usr/lib/private.so" },
		{ 0x30000000, 0x30028000, 0, "/dev/shm/segment" },
	};
	static const struct core_layout layout = { segments, 3, files, 2, 0 };
	const char *path = ((struct fixture *)*state)->path;
	struct told told = { .check_contents = true };

	assert_int_equal(core_write(path, &layout, fill_first_page_only,
				    (void *)&layout), 0);
	if (!has_holes(path))
		skip();
	assert_int_equal(read_path(&told, path), 0);
	/* A private file mapping has a file's page there, not zeroes. */
	assert_told(&told, 2, 39, 40, 39);
	assert_int_equal(told.nr_wrong, 0);
}

static void test_file_note(void **state)
{
	static const struct core_segment segments[] = {
		{ 0x10000000, 4, 1, PROT_READ },   /* a library: header page */
		{ 0x10004000, 2, 2, RW },          /* its data */
		{ 0x10006000, 1, 1, RW },          /* its bss */
		{ 0x20000000, 6, 6, RW },          /* neighbours, merged by a writer */
		{ 0x30000000, 2, 0, RW },          /* a device */
		{ 0x40000000, 2, 2, RW },          /* private /dev/zero */
		{ 0x50000000, 2, 2, RW },          /* shared anonymous */
		{ 0x7ffff7fc8000, 2, 2, PROT_READ | PROT_EXEC },
		{ 0xffffffffff600000, 1, 0, PROT_EXEC },
	};
	static const struct core_file_map files[] = {
		{ 0x10000000, 0x10004000, 0, "/usr/lib/libx.so" },
		{ 0x10004000, 0x10006000, 3, "/usr/lib/libx.so" },
		{ 0x20001000, 0x20003000, 7, "/usr/share/a b" },
		{ 0x20003000, 0x20004000, 9, "/usr/share/c" },
		{ 0x30000000, 0x30002000, 0, "/dev/mem" },
		{ 0x40000000, 0x40002000, 0, "/dev/zero" },
		{ 0x50000000, 0x50002000, 0, "/dev/zero (deleted)" },
	};
	static const struct core_layout layout = {
		segments, 9, files, 7, 0x7ffff7fc8000,
	};
	static const struct image_vma expected[] = {
		{ 0x10000000, 0x10004000, 1, false, true, 0, "/usr/lib/libx.so" },
		{ 0x10004000, 0x10006000, 3, false, true, 3, "/usr/lib/libx.so" },
		{ 0x10006000, 0x10007000, 3, false, false, 0, "" },
		{ 0x20000000, 0x20001000, 3, false, false, 0, "" },
		{ 0x20001000, 0x20003000, 3, false, true, 7, "/usr/share/a b" },
		{ 0x20003000, 0x20004000, 3, false, true, 9, "/usr/share/c" },
		{ 0x20004000, 0x20006000, 3, false, false, 0, "" },
		{ 0x40000000, 0x40002000, 3, false, false, 0, "/dev/zero" },
		{ 0x50000000, 0x50002000, 3, true, true, 0, "/dev/zero (deleted)" },
	};
	struct told told = { .check_contents = true };

	write_core(*state, &layout);
	assert_int_equal(read_path(&told, ((struct fixture *)*state)->path), 0);
	assert_int_equal(told.nr_vmas, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(told.vmas[i].start, expected[i].start);
		assert_int_equal(told.vmas[i].end, expected[i].end);
		assert_int_equal(told.vmas[i].prot, expected[i].prot);
		assert_int_equal(told.vmas[i].shared, expected[i].shared);
		assert_int_equal(told.vmas[i].file_backed, expected[i].file_backed);
		assert_int_equal(told.vmas[i].pgoff, expected[i].pgoff);
		assert_string_equal(told.vmas[i].name, expected[i].name);
	}
	assert_int_equal(told.report.nr_vmas_skipped, 3);
	assert_int_equal(told.nr_wrong, 0);
	assert_told(&told, 2 + 1 + 6 + 2, 0, 1 + 2, 3);
}

static void test_long_names_are_cut(void **state)
{
	static const struct core_segment segments[] = { { 0x10000000, 1, 1, RW } };
	char name[1000];
	const struct core_file_map files[] = { { 0x10000000, 0x10001000, 0, name } };
	const struct core_layout layout = { segments, 1, files, 1, 0 };
	struct told told = { 0 };

	memset(name, 'n', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	write_core(*state, &layout);
	assert_int_equal(read_path(&told, ((struct fixture *)*state)->path), 0);
	assert_int_equal(strlen(told.vmas[0].name), IMAGE_NAME_BYTES - 1);
	assert_memory_equal(told.vmas[0].name, name, IMAGE_NAME_BYTES - 1);
}

#define NR_MANY 70000

static void test_more_segments_than_a_header_can_count(void **state)
{
	struct fixture *f = *state;
	struct core_segment *segments = calloc(NR_MANY, sizeof(*segments));
	const struct core_layout layout = { segments, NR_MANY, NULL, 0, 0 };
	struct told told = { .check_contents = true };
	uint64_t contents;

	assert_non_null(segments);
	for (uint64_t i = 0; i < NR_MANY; i++)
		segments[i] = (struct core_segment){
			0x10000000 + i * 2 * PAGE_SIZE, 1, i == NR_MANY - 1, RW,
		};
	write_core(f, &layout);
	assert_int_equal(read_path(&told, f->path), 0);
	assert_int_equal(told.nr_vmas, NR_MANY);
	assert_told(&told, 1, 0, 0, NR_MANY - 1);
	assert_int_equal(told.nr_wrong, 0);
	assert_false(told.report.truncated);

	/* Cut before section header 0: the count follows from the notes. */
	contents = core_contents_offset(&layout);
	assert_int_equal(truncate(f->path, (off_t)contents), 0);
	assert_int_equal(read_path(&told, f->path), 0);
	assert_int_equal(told.nr_vmas, NR_MANY);
	assert_told(&told, 0, 0, 0, NR_MANY);
	assert_true(told.report.truncated);

	assert_int_equal(truncate(f->path, 100000), 0);
	assert_int_equal(read_path(&told, f->path), -EINVAL);
	assert_message(&told, "cut after 100000 bytes, inside the 70001 program headers");
	/* Nothing to conclude it from. */
	assert_int_equal(truncate(f->path, 100), 0);
	assert_int_equal(read_path(&told, f->path), -EINVAL);
	assert_message(&told, "is cut off");
	free(segments);
}

/* ---- Cuts ---- */

static void test_cut_at_every_byte(void **state)
{
	static const struct core_file_map files[] = {
		{ 0x10000000, 0x10003000, 0, "/usr/lib/libx.so" },
	};
	static const struct core_layout layout = {
		two_segments, 2, files, 1, 0x7ffff7fc8000,
	};
	uint64_t notes = core_notes_offset(&layout);
	uint64_t contents = core_contents_offset(&layout);
	struct told told = { .check_contents = true };
	size_t size;
	char *data;

	write_core(*state, &layout);
	data = load(*state, &size);
	assert_int_equal(size, contents + 4 * PAGE_SIZE);
	for (size_t cut = 0; cut <= size; cut++) {
		uint64_t nr_whole = cut > contents ? (cut - contents) / PAGE_SIZE : 0;

		/* In the contents, the bytes around page boundaries suffice. */
		if (cut > contents + 1 && (cut + 1) % PAGE_SIZE > 2)
			continue;
		read_buffer(&told, data, cut);
		if (cut < notes) {
			assert_int_equal(told.err, -EINVAL);
			assert_int_equal(told.nr_vmas, 0);
			assert_message(&told, cut == 0 ? "empty file" :
				       cut < SELFMAG ? "" :
				       cut < sizeof(Elf64_Ehdr) ?
				       "inside the ELF header" :
				       "inside the 3 program headers");
			continue;
		}
		assert_int_equal(told.err, 0);
		assert_int_equal(told.report.truncated, cut < size);
		assert_int_equal(told.nr_vmas, 2);
		assert_told(&told, nr_whole, 0, 0, 7 - nr_whole);
		assert_int_equal(told.nr_wrong, 0);
	}
	free(data);
}

/* ---- Headers that lie ---- */

#define EHDR(field) offsetof(Elf64_Ehdr, field), sizeof(((Elf64_Ehdr *)0)->field)
/* Of the two load segments; the note's header is the first. */
#define LOAD(i, field) \
	sizeof(Elf64_Ehdr) + ((i) + 1) * sizeof(Elf64_Phdr) + \
	offsetof(Elf64_Phdr, field), sizeof(((Elf64_Phdr *)0)->field)

static void test_wrong_headers(void **state)
{
	static const struct {
		size_t offset, size;
		uint64_t value;
		int err;
		const char *part;
	} cases[] = {
		{ 0, 4, 0x464c457e, -EINVAL, "not an ELF file" },
		{ 0, 2, 0x8b1f, -EINVAL, "gzip" },
		{ 0, 4, 0xfd2fb528, -EINVAL, "zstd" },
		{ EI_CLASS, 1, ELFCLASS32, -EINVAL, "32-bit" },
		{ EI_CLASS, 1, 9, -EINVAL, "broken" },
		{ EI_DATA, 1, ELFDATA2MSB, -EINVAL, "big-endian" },
		{ EHDR(e_type), ET_EXEC, -EINVAL, "ET_EXEC" },
		{ EHDR(e_type), ET_DYN, -EINVAL, "ET_DYN" },
		{ EHDR(e_type), ET_REL, -EINVAL, "ET_REL" },
		{ EHDR(e_type), 77, -EINVAL, "another type" },
		{ EHDR(e_phentsize), 32, -EINVAL, "program headers of 32 bytes" },
		{ EHDR(e_phnum), 0, -EINVAL, "no program headers" },
		{ EHDR(e_phnum), 1, -EINVAL, "no segment of memory" },
		{ EHDR(e_phnum), 60000, -EINVAL, "inside the 60000 program headers" },
		{ EHDR(e_phoff), UINT64_MAX - 8, -EINVAL, "program headers at byte" },
		{ LOAD(0, p_vaddr), 0x10000001, -EINVAL, "not aligned" },
		{ LOAD(0, p_memsz), 0x3001, -EINVAL, "not aligned" },
		{ LOAD(0, p_memsz), 0x2000, -EINVAL, "more bytes in the file" },
		{ LOAD(0, p_memsz), 0x9000, -EINVAL, "segment 2" },
		{ LOAD(1, p_vaddr), 0x10002000, -EINVAL, "overlaps or precedes" },
		{ LOAD(1, p_vaddr), 0x1000, -EINVAL, "overlaps or precedes" },
		{ LOAD(1, p_memsz), UINT64_MAX - 0xfff, -EINVAL, "wraps around" },
		{ LOAD(1, p_memsz), UINT64_C(1) << 47, -EINVAL, "crosses the end" },
		{ LOAD(1, p_offset), UINT64_MAX, -EINVAL, "no file offset" },
		{ LOAD(1, p_offset), INT64_MAX, -EINVAL, "no file offset" },
		/* All three pages of the first, and the fourth of its own. */
		{ LOAD(1, p_offset), 0, 0, "" },
		{ LOAD(1, p_memsz), UINT64_C(1) << 46, 0, "" },
		{ LOAD(1, p_memsz), 0, 0, "" },
	};
	struct told told = { 0 };
	size_t size;
	char *data;

	write_core(*state, &two);
	data = load(*state, &size);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char saved[8];

		memcpy(saved, data + cases[i].offset, cases[i].size);
		memcpy(data + cases[i].offset, &cases[i].value, cases[i].size);
		read_buffer(&told, data, size);
		memcpy(data + cases[i].offset, saved, cases[i].size);
		if (told.err != cases[i].err)
			fail_msg("case %zu: %d: %s", i, told.err, told.msg);
		assert_message(&told, cases[i].part);
		if (told.err)
			assert_int_equal(told.nr_vmas, 0);
	}
	free(data);
}

static void test_segments_may_not_share_bytes(void **state)
{
	static const struct core_segment segments[] = {
		{ 0x10000000, 3, 3, RW }, { 0x10008000, 3, 3, RW },
		{ 0x10010000, 3, 3, RW },
	};
	static const struct core_layout layout = { segments, 3, NULL, 0, 0 };
	struct told told = { 0 };
	const uint64_t zero = 0;
	size_t size;
	char *data;

	write_core(*state, &layout);
	data = load(*state, &size);
	/* Time would be segments times bytes: a small file, a long read. */
	for (unsigned i = 0; i < 3; i++) {
		const struct { size_t offset, size; } at = { LOAD(i, p_offset) };

		memcpy(data + at.offset, &zero, at.size);
	}
	assert_int_equal(read_buffer(&told, data, 3 * PAGE_SIZE), -EINVAL);
	assert_message(&told, "shares its bytes");
	free(data);
}

static void test_wrong_file_notes(void **state)
{
	static const struct core_file_map files[] = {
		{ 0x10000000, 0x10003000, 0, "/a" },
		{ 0x10008000, 0x10009000, 0, "/b" },
	};
	static const struct core_layout layout = { two_segments, 2, files, 2, 0 };
	static const struct {
		size_t word; /* of NT_FILE's contents */
		uint64_t value;
		int err;
		const char *part;
	} cases[] = {
		{ 0, 3, -EINVAL, "claims 3 mappings" },
		{ 0, UINT64_MAX, -EINVAL, "claims" },
		{ 0, 0, 0, "" },
		{ 1, UINT64_MAX, 0, "" }, /* times offset 0 */
		{ 2, 0x10000800, -EINVAL, "mapping 0" },
		{ 3, 0x10000000, -EINVAL, "mapping 0" },
		{ 4, UINT64_MAX, -EINVAL, "mapping 0" },
		{ 5, 0x10002000, -EINVAL, "mapping 1" },
		{ 8, 0x6161616161616161, -EINVAL, "1 names for 2 mappings" },
	};
	uint64_t start = core_notes_offset(&layout) + sizeof(Elf64_Nhdr) + 8 + 42 * 8 +
			 sizeof(Elf64_Nhdr) + 8;
	struct told told = { 0 };
	size_t size;
	char *data;

	write_core(*state, &layout);
	data = load(*state, &size);
	assert_memory_equal(data + start, "\2\0\0\0\0\0\0\0", 8);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char saved[8];

		memcpy(saved, data + start + cases[i].word * 8, 8);
		memcpy(data + start + cases[i].word * 8, &cases[i].value, 8);
		read_buffer(&told, data, size);
		memcpy(data + start + cases[i].word * 8, saved, 8);
		if (told.err != cases[i].err)
			fail_msg("case %zu: %d: %s", i, told.err, told.msg);
		assert_message(&told, cases[i].part);
	}
	free(data);
}

/* ---- Things that are not cores ---- */

static void test_not_a_core(void **state)
{
	struct fixture *f = *state;
	struct told told = { 0 };
	FILE *file;

	assert_int_equal(read_path(&told, f->path), -ENOENT);
	assert_message(&told, f->path);
	assert_int_equal(read_path(&told, f->dir), -EISDIR);
	assert_message(&told, "a directory");
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(read_path(&told, f->path), -EINVAL);
	assert_message(&told, "a pipe");
	assert_int_equal(read_path(&told, "/dev/null"), -EINVAL);
	assert_message(&told, "a device");
	assert_int_equal(unlink(f->path), 0);
	file = fopen(f->path, "w");
	assert_non_null(file);
	assert_int_equal(read_path(&told, f->path), -EINVAL);
	assert_message(&told, "empty file");
	fputs("process a\na: map x 3\n", file);
	fclose(file);
	assert_int_equal(read_path(&told, f->path), -EINVAL);
	assert_message(&told, "not an ELF file");
	assert_int_equal(read_path(&told, "/proc/self/exe"), -EINVAL);
	assert_message(&told, "a core (ET_CORE) is expected");
}

/* ---- Failures on the way ---- */

static void test_a_callback_ends_the_reading(void **state)
{
	struct told told = { .stop_with = -ECANCELED };

	write_core(*state, &two);
	assert_int_equal(read_path(&told, ((struct fixture *)*state)->path),
			 -ECANCELED);
	assert_int_equal(told.nr_vmas, 1);
	assert_told(&told, 1, 0, 0, 0);
}

static void test_every_allocation_may_fail(void **state)
{
	static const struct core_file_map files[] = {
		{ 0x10000000, 0x10003000, 0, "/usr/lib/libx.so" },
	};
	static const struct core_layout layout = { two_segments, 2, files, 1, 0 };
	struct told told = { 0 };
	uint64_t nr_failures = 0;

	write_core(*state, &layout);
	do {
		told_begin(&told);
		told.mem.fail_at = ++nr_failures;
		told.err = elf_core_read(&told.mem, ((struct fixture *)*state)->path,
					 &image_check_ops, &told.check,
					 &told.report, told.msg, sizeof(told.msg));
		told_end(&told);
		assert_true(told.err == (told.mem.nr_failed ? -ENOMEM : 0));
		assert_int_equal(told.nr_vmas, told.err ? 0 : 2);
	} while (told.err);
	/* Headers, slice, note, mappings: each failed once. */
	assert_int_equal(nr_failures, 5);
}

/* ---- Real programs ---- */

static void make_kernel_core(const struct fixture *f)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
		char *const env[] = { "MARKER=samepage-core-marker-4711", NULL };

		if (chdir(f->dir) || setrlimit(RLIMIT_CORE, &limit))
			_exit(1);
		execle("/bin/sh", "sh", "-c", "kill -SEGV $$", (char *)NULL, env);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Where core_pattern sends it elsewhere, there is nothing to test. */
static void find_kernel_core(struct fixture *f)
{
	DIR *dir = opendir(f->dir);
	struct dirent *entry;

	assert_non_null(dir);
	f->path[0] = '\0';
	while ((entry = readdir(dir))) {
		if (entry->d_type == DT_REG)
			snprintf(f->path, sizeof(f->path), "%s/%.40s", f->dir,
				 entry->d_name);
	}
	closedir(dir);
}

static void assert_is_a_program(const struct told *told)
{
	bool has_libc = false;

	for (size_t i = 0; i < told->nr_vmas && i < LOG_MAX; i++)
		has_libc |= told->vmas[i].file_backed &&
			    strstr(told->vmas[i].name, "/libc") != NULL;
	assert_true(has_libc);
	assert_true(told->nr_found > 0);
	/* [vdso] at the least. */
	assert_true(told->report.nr_vmas_skipped > 0);
	assert_true(told->report.nr_pages[IMAGE_PAGE_PRESENT] > 10);
	/* The code was filtered out. */
	assert_true(told->report.nr_pages[IMAGE_PAGE_UNKNOWN] > 100);
	assert_false(told->report.truncated);
}

static void test_core_of_this_kernel(void **state)
{
	struct fixture *f = *state;
	struct told told = { .needle = "samepage-core-marker-4711" };

	make_kernel_core(f);
	find_kernel_core(f);
	if (!f->path[0])
		skip();
	assert_int_equal(read_path(&told, f->path), 0);
	assert_is_a_program(&told);
	if (has_holes(f->path))
		assert_true(told.report.nr_pages[IMAGE_PAGE_UNTOUCHED] > 0);
}

static void test_core_of_a_running_program(void **state)
{
	struct fixture *f = *state;
	struct told told = { .needle = "samepage-core-marker-4712" };
	pid_t pid = fork();
	int err;

	assert_true(pid >= 0);
	if (pid == 0) {
		char *const env[] = { "MARKER=samepage-core-marker-4712", NULL };

		execle("/bin/sleep", "sleep", "1000", (char *)NULL, env);
		_exit(1);
	}
	assert_int_equal(core_wait_until_asleep(pid), 0);
	err = core_write_pid(f->path, pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (err == -EACCES || err == -EPERM)
		skip();
	assert_int_equal(err, 0);
	assert_int_equal(read_path(&told, f->path), 0);
	assert_is_a_program(&told);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_contents_and_permissions),
		CASE(test_holes_are_untouched_pages),
		CASE(test_file_note),
		CASE(test_long_names_are_cut),
		CASE(test_more_segments_than_a_header_can_count),
		CASE(test_cut_at_every_byte),
		CASE(test_wrong_headers),
		CASE(test_segments_may_not_share_bytes),
		CASE(test_wrong_file_notes),
		CASE(test_not_a_core),
		CASE(test_a_callback_ends_the_reading),
		CASE(test_every_allocation_may_fail),
		CASE(test_core_of_this_kernel),
		CASE(test_core_of_a_running_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
