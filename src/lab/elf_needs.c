/* SPDX-License-Identifier: GPL-2.0-only */
/* What an ELF file needs beside itself; see elf_needs.h. */
#include "elf_needs.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NOTE_PVH_ENTRY 18 /* of the owner "Xen" */

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
	const void *at =
		part(f, header->e_shoff + (uint64_t)i * sizeof(*section), sizeof(*section));

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

static bool read_segment(const struct file *f, const Elf64_Ehdr *header, unsigned int i,
			 Elf64_Phdr *segment)
{
	const void *at =
		part(f, header->e_phoff + (uint64_t)i * sizeof(*segment), sizeof(*segment));

	if (!at || header->e_phentsize != sizeof(*segment))
		return false;
	memcpy(segment, at, sizeof(*segment));
	return true;
}

/* The note that gives the entry, among those of one segment. */
static bool has_pvh_note(const char *at, uint64_t left)
{
	Elf64_Nhdr note;

	while (left >= sizeof(note)) {
		uint64_t name, all;

		memcpy(&note, at, sizeof(note));
		name = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
		all = sizeof(note) + name + (((uint64_t)note.n_descsz + 3) & ~UINT64_C(3));
		if (all > left)
			return false;
		if (note.n_type == NOTE_PVH_ENTRY && note.n_namesz == 4 &&
		    !memcmp(at + sizeof(note), "Xen", 4))
			return true;
		at += all;
		left -= all;
	}
	return false;
}

bool elf_starts_by_pvh(const void *data, size_t bytes)
{
	const struct file f = {data, bytes};
	Elf64_Phdr segment;
	Elf64_Ehdr header;

	if (!read_header(&f, &header))
		return false;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		const char *notes;

		if (!read_segment(&f, &header, i, &segment))
			return false;
		notes = part(&f, segment.p_offset, segment.p_filesz);
		if (segment.p_type == PT_NOTE && notes && has_pvh_note(notes, segment.p_filesz))
			return true;
	}
	return false;
}

int elf_interpreter(const void *data, size_t bytes, char *path, size_t path_bytes)
{
	const struct file f = {data, bytes};
	Elf64_Ehdr header;

	if (!read_header(&f, &header))
		return -ENOEXEC;
	*path = 0;
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		const char *name;
		Elf64_Phdr segment;

		if (!read_segment(&f, &header, i, &segment))
			return -ENOEXEC;
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
