/* SPDX-License-Identifier: GPL-2.0-only */
/* What an ELF file needs beside itself; see elf_needs.h. */
#include "elf_needs.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct file {
	const char *data;
	size_t bytes;
};

/* The part of the file, or NULL when the file does not reach that far. */
static const void *part(const struct file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset ? f->data + offset : NULL;
}

static bool read_header(const struct file *f, Elf64_Ehdr *header)
{
	const void *at = part(f, 0, sizeof(*header));

	if (!at)
		return false;
	memcpy(header, at, sizeof(*header));
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
}

static bool read_section(const struct file *f, const Elf64_Ehdr *header, unsigned int i,
			 Elf64_Shdr *section)
{
	const void *at = part(f, header->e_shoff + (uint64_t)i * sizeof(*section), sizeof(*section));

	if (!at || header->e_shentsize != sizeof(*section))
		return false;
	memcpy(section, at, sizeof(*section));
	return true;
}

/* The section of that name, or NULL. */
static const char *find_section(const struct file *f, const char *name, uint64_t *bytes)
{
	Elf64_Shdr names, section;
	Elf64_Ehdr header;

	if (!read_header(f, &header) || !read_section(f, &header, header.e_shstrndx, &names) ||
	    !part(f, names.sh_offset, names.sh_size))
		return NULL;
	for (unsigned int i = 0; i < header.e_shnum; i++) {
		size_t length = strlen(name) + 1;

		if (!read_section(f, &header, i, &section) || section.sh_name > names.sh_size ||
		    length > names.sh_size - section.sh_name ||
		    memcmp(f->data + names.sh_offset + section.sh_name, name, length) != 0)
			continue;
		*bytes = section.sh_size;
		return part(f, section.sh_offset, section.sh_size);
	}
	return NULL;
}

int elf_module_depends(const void *data, size_t bytes, char *depends, size_t depends_bytes)
{
	static const char key[] = "depends=";
	const struct file f = {data, bytes};
	const char *info;
	uint64_t left;

	info = find_section(&f, ".modinfo", &left);
	if (!info)
		return -ENOEXEC;
	while (left) {
		size_t length = strnlen(info, left);

		if (length >= sizeof(key) - 1 && !memcmp(info, key, sizeof(key) - 1)) {
			int n = snprintf(depends, depends_bytes, "%.*s",
					 (int)(length - (sizeof(key) - 1)), info + sizeof(key) - 1);

			return (size_t)n < depends_bytes ? 0 : -ENOEXEC;
		}
		info += MIN(length + 1, left);
		left -= MIN(length + 1, left);
	}
	/* Built without dependencies, some modules do not even say so. */
	*depends = 0;
	return 0;
}

int elf_interpreter(const void *data, size_t bytes, char *path, size_t path_bytes)
{
	const struct file f = {data, bytes};
	Elf64_Ehdr header;

	if (!read_header(&f, &header))
		return -ENOEXEC;
	*path = 0;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		const void *at = part(&f, header.e_phoff + (uint64_t)i * sizeof(Elf64_Phdr),
				      sizeof(Elf64_Phdr));
		const char *name;
		Elf64_Phdr segment;

		if (!at || header.e_phentsize != sizeof(segment))
			return -ENOEXEC;
		memcpy(&segment, at, sizeof(segment));
		if (segment.p_type != PT_INTERP)
			continue;
		name = part(&f, segment.p_offset, segment.p_filesz);
		if (!name || !segment.p_filesz || name[segment.p_filesz - 1] ||
		    segment.p_filesz > path_bytes)
			return -ENOEXEC;
		memcpy(path, name, segment.p_filesz);
		return 0;
	}
	return 0;
}
