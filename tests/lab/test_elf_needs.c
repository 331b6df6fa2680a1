/* SPDX-License-Identifier: GPL-2.0-only */
/* What ELF files need: of a module and a kernel made here, of this very program, and of damaged ones. */
#include "lab_fixture.h"

#include <elf.h>
#include <errno.h>

#include "elf_needs.h"

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
	char names[32], info[96];
	Elf64_Nhdr note;
	char owner[4];
	uint64_t entry;
};

static void make(struct image *i)
{
	static const char info[] = "license=GPL\0depends=zsmalloc,lz4_compress\0name=zram";
	static const char names[] = "\0.shstrtab\0.modinfo";

	memset(i, 0, sizeof(*i));
	memcpy(i->header.e_ident, ELFMAG, SELFMAG);
	i->header.e_ident[EI_CLASS] = ELFCLASS64;
	i->header.e_ident[EI_DATA] = ELFDATA2LSB;
	i->header.e_phoff = offsetof(struct image, segment);
	i->header.e_phentsize = sizeof(i->segment);
	i->header.e_phnum = 1;
	i->header.e_shoff = offsetof(struct image, sections);
	i->header.e_shentsize = sizeof(i->sections[0]);
	i->header.e_shnum = 3;
	i->header.e_shstrndx = 1;
	i->sections[1] = (Elf64_Shdr){.sh_name = 1,
				      .sh_offset = offsetof(struct image, names),
				      .sh_size = sizeof(i->names)};
	i->sections[2] = (Elf64_Shdr){
		.sh_name = 11, .sh_offset = offsetof(struct image, info), .sh_size = sizeof(info)};
	memcpy(i->names, names, sizeof(names));
	memcpy(i->info, info, sizeof(info));
	i->segment = (Elf64_Phdr){.p_type = PT_NOTE,
				  .p_offset = offsetof(struct image, note),
				  .p_filesz = sizeof(i->note) + 4 + 8};
	i->note = (Elf64_Nhdr){4, 8, 18};
	memcpy(i->owner, "Xen", 4);
}

static void test_module(void **state)
{
	char depends[64], small[8];
	struct image i;

	(void)state;
	make(&i);
	assert_int_equal(elf_module_depends(&i, sizeof(i), depends, sizeof(depends)), 0);
	assert_string_equal(depends, "zsmalloc,lz4_compress");
	assert_int_equal(elf_module_depends(&i, sizeof(i), small, sizeof(small)), -ENOEXEC);
	memcpy(i.info + 12, "x", 1);
	assert_int_equal(elf_module_depends(&i, sizeof(i), depends, sizeof(depends)), 0);
	assert_string_equal(depends, "");
	i.names[12] = 'M';
	assert_int_equal(elf_module_depends(&i, sizeof(i), depends, sizeof(depends)), -ENOEXEC);
}

static void test_kernel(void **state)
{
	struct image i;

	(void)state;
	make(&i);
	assert_true(elf_starts_by_pvh(&i, sizeof(i)));
	i.note.n_type = 17;
	assert_false(elf_starts_by_pvh(&i, sizeof(i)));
	make(&i);
	i.segment.p_type = PT_LOAD;
	assert_false(elf_starts_by_pvh(&i, sizeof(i)));
	make(&i);
	i.note.n_descsz = 0xfffffff0;
	assert_false(elf_starts_by_pvh(&i, sizeof(i)));
}

/* Cut anywhere, and each byte turned over: an answer, and no access outside the file. */
static void test_damaged(void **state)
{
	char out[64];
	struct image i;

	(void)state;
	make(&i);
	for (size_t n = 0; n < sizeof(i); n++) {
		char *copy = malloc(n ? n : 1);

		memcpy(copy, &i, n);
		if (n <= offsetof(struct image, names)) {
			assert_int_equal(elf_module_depends(copy, n, out, sizeof(out)), -ENOEXEC);
			assert_false(elf_starts_by_pvh(copy, n));
		} else {
			(void)!elf_module_depends(copy, n, out, sizeof(out));
			(void)elf_starts_by_pvh(copy, n);
		}
		(void)!elf_interpreter(copy, n, out, sizeof(out));
		free(copy);
	}
	for (size_t n = 0; n < sizeof(i); n++) {
		char *copy = malloc(sizeof(i));

		memcpy(copy, &i, sizeof(i));
		copy[n] = (char)~copy[n];
		(void)!elf_module_depends(copy, sizeof(i), out, sizeof(out));
		(void)elf_starts_by_pvh(copy, sizeof(i));
		(void)!elf_interpreter(copy, sizeof(i), out, sizeof(out));
		free(copy);
	}
}

static void test_program(void **state)
{
	struct lab_fixture *f = *state;
	int fd = open("/proc/self/exe", O_RDONLY);
	char loader[256];
	struct text self;

	text_init(&self, &f->mem);
	assert_int_equal(text_read(&self, fd), 0);
	assert_int_equal(elf_interpreter(self.data, self.bytes, loader, sizeof(loader)), 0);
	assert_int_equal(access(loader, X_OK), 0);
	assert_int_equal(elf_interpreter("#!/bin/sh\n", 10, loader, sizeof(loader)), -ENOEXEC);
	text_destroy(&self);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_module),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_damaged),
		LAB_TEST(test_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
