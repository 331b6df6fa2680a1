/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A writer of ELF cores; see core_writer.h.
 */
#include "core_writer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u

/* ---- A note segment that grows ---- */

struct bytes {
	char *data;
	size_t len, room;
};

static void put(struct bytes *bytes, const void *data, size_t len)
{
	if (bytes->len + len > bytes->room) {
		bytes->room = (bytes->len + len) * 2;
		bytes->data = realloc(bytes->data, bytes->room);
		if (!bytes->data)
			abort();
	}
	memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

static void put_word(struct bytes *bytes, uint64_t word)
{
	put(bytes, &word, sizeof(word));
}

static void put_note(struct bytes *bytes, uint32_t type, const struct bytes *desc)
{
	const Elf64_Nhdr nhdr = {
		.n_namesz = 5,
		.n_descsz = (uint32_t)desc->len,
		.n_type = type,
	};

	put(bytes, &nhdr, sizeof(nhdr));
	put(bytes, "CORE\0\0\0", 8);
	put(bytes, desc->data, desc->len);
	put(bytes, "\0\0\0", -desc->len & 3);
}

static struct bytes make_notes(const struct core_layout *layout)
{
	struct bytes notes = { 0 };
	struct bytes desc = { 0 };

	/* Registers: no reader of memory looks at them. */
	for (int i = 0; i < 42; i++)
		put_word(&desc, 0);
	put_note(&notes, NT_PRSTATUS, &desc);
	if (layout->vdso) {
		desc.len = 0;
		put_word(&desc, AT_PAGESZ);
		put_word(&desc, PAGE);
		put_word(&desc, AT_SYSINFO_EHDR);
		put_word(&desc, layout->vdso);
		put_word(&desc, AT_NULL);
		put_word(&desc, 0);
		put_note(&notes, NT_AUXV, &desc);
	}
	if (layout->nr_files) {
		desc.len = 0;
		put_word(&desc, layout->nr_files);
		put_word(&desc, PAGE);
		for (size_t i = 0; i < layout->nr_files; i++) {
			put_word(&desc, layout->files[i].start);
			put_word(&desc, layout->files[i].end);
			put_word(&desc, layout->files[i].pgoff);
		}
		for (size_t i = 0; i < layout->nr_files; i++)
			put(&desc, layout->files[i].name,
			    strlen(layout->files[i].name) + 1);
		put_note(&notes, NT_FILE, &desc);
	}
	free(desc.data);
	return notes;
}

uint64_t core_notes_offset(const struct core_layout *layout)
{
	return sizeof(Elf64_Ehdr) + (layout->nr_segments + 1) * sizeof(Elf64_Phdr);
}

static uint64_t contents_offset(const struct core_layout *layout,
				const struct bytes *notes)
{
	return (core_notes_offset(layout) + notes->len + PAGE - 1) & -(uint64_t)PAGE;
}

uint64_t core_contents_offset(const struct core_layout *layout)
{
	struct bytes notes = make_notes(layout);
	uint64_t offset = contents_offset(layout, &notes);

	free(notes.data);
	return offset;
}

/* ---- The file ---- */

static void put_headers(struct bytes *file, const struct core_layout *layout,
			const struct bytes *notes, uint64_t *end)
{
	size_t nr = layout->nr_segments + 1;
	uint64_t offset = contents_offset(layout, notes);
	Elf64_Phdr phdr = {
		.p_type = PT_NOTE,
		.p_offset = core_notes_offset(layout),
		.p_filesz = notes->len,
	};
	Elf64_Ehdr ehdr = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(phdr),
		.e_phnum = nr >= PN_XNUM ? PN_XNUM : (Elf64_Half)nr,
	};

	*end = offset;
	for (size_t i = 0; i < layout->nr_segments; i++)
		*end += layout->segments[i].nr_dumped_pages * PAGE;
	if (nr >= PN_XNUM) {
		ehdr.e_shoff = *end;
		ehdr.e_shnum = 1;
		ehdr.e_shentsize = sizeof(Elf64_Shdr);
	}
	put(file, &ehdr, sizeof(ehdr));
	put(file, &phdr, sizeof(phdr));
	for (size_t i = 0; i < layout->nr_segments; i++) {
		const struct core_segment *segment = &layout->segments[i];

		phdr = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = (segment->prot & PROT_READ ? PF_R : 0) |
				   (segment->prot & PROT_WRITE ? PF_W : 0) |
				   (segment->prot & PROT_EXEC ? PF_X : 0),
			.p_offset = offset,
			.p_vaddr = segment->vaddr,
			.p_filesz = segment->nr_dumped_pages * PAGE,
			.p_memsz = segment->nr_pages * PAGE,
			.p_align = PAGE,
		};
		offset += phdr.p_filesz;
		put(file, &phdr, sizeof(phdr));
	}
	put(file, notes->data, notes->len);
}

static int write_at(int fd, const void *buf, size_t len, uint64_t offset)
{
	ssize_t n = pwrite(fd, buf, len, (off_t)offset);

	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -ENOSPC;
}

static int write_contents(int fd, const struct core_layout *layout,
			  uint64_t offset, core_page_fn fill, void *arg)
{
	char page[PAGE];

	for (size_t i = 0; i < layout->nr_segments; i++) {
		for (uint64_t j = 0; j < layout->segments[i].nr_dumped_pages; j++) {
			int ret = fill(arg, i, j, page);

			if (ret > 0)
				ret = write_at(fd, page, PAGE, offset);
			if (ret < 0)
				return ret;
			offset += PAGE;
		}
	}
	return 0;
}

int core_write(const char *path, const struct core_layout *layout,
	       core_page_fn fill, void *arg)
{
	struct bytes notes = make_notes(layout);
	struct bytes headers = { 0 };
	Elf64_Shdr shdr = { .sh_info = (uint32_t)layout->nr_segments + 1 };
	uint64_t end;
	int fd, err;

	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		free(notes.data);
		return -errno;
	}
	put_headers(&headers, layout, &notes, &end);
	err = write_at(fd, headers.data, headers.len, 0);
	if (!err && ftruncate(fd, (off_t)end))
		err = -errno;
	if (!err)
		err = write_contents(fd, layout, contents_offset(layout, &notes),
				     fill, arg);
	if (!err && layout->nr_segments + 1 >= PN_XNUM)
		err = write_at(fd, &shdr, sizeof(shdr), end);
	free(headers.data);
	free(notes.data);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* ---- A running process ---- */

#define MAPPED_MAX 4096

struct mapped {
	struct core_segment segments[MAPPED_MAX];
	struct core_file_map files[MAPPED_MAX];
	struct core_layout layout;
	int mem_fd, pagemap_fd;
};

static uint64_t pagemap_entry(const struct mapped *m, uint64_t addr)
{
	uint64_t entry = 0;

	if (pread(m->pagemap_fd, &entry, sizeof(entry),
		  (off_t)(addr / PAGE * sizeof(entry))) != (ssize_t)sizeof(entry))
		return 0;
	return entry;
}

static bool entry_is_anon(uint64_t entry)
{
	bool swapped = entry >> 62 & 1;
	bool present = entry >> 63;
	bool file = entry >> 61 & 1;

	return swapped || (present && !file);
}

static bool any_anon(const struct mapped *m, uint64_t start, uint64_t end)
{
	for (uint64_t addr = start; addr < end; addr += PAGE) {
		if (entry_is_anon(pagemap_entry(m, addr)))
			return true;
	}
	return false;
}

/* How much of a mapping Linux dumps by default. */
static uint64_t dumped_pages(const struct mapped *m, uint64_t start, uint64_t end,
			     bool file, bool shared, uint64_t pgoff)
{
	char magic[4];

	if (!file || (!shared && any_anon(m, start, end)))
		return (end - start) / PAGE;
	if (!pgoff && pread(m->mem_fd, magic, 4, (off_t)start) == 4 &&
	    memcmp(magic, ELFMAG, 4) == 0)
		return 1;
	return 0;
}

static int add_line(struct mapped *m, const char *line)
{
	unsigned long long start, end, offset;
	unsigned long inode;
	char perms[5], name[4096] = "";
	struct core_segment *segment = &m->segments[m->layout.nr_segments];

	if (sscanf(line, "%llx-%llx %4s %llx %*x:%*x %lu %4095[^\n]", &start, &end,
		   perms, &offset, &inode, name) < 5)
		return -EINVAL;
	if (strncmp(name, "[vvar", 5) == 0)
		return 0;
	if (m->layout.nr_segments == MAPPED_MAX)
		return -E2BIG;
	if (strcmp(name, "[vdso]") == 0)
		m->layout.vdso = start;
	*segment = (struct core_segment){
		.vaddr = start,
		.nr_pages = (end - start) / PAGE,
		.nr_dumped_pages = dumped_pages(m, start, end, inode != 0,
						perms[3] == 's', offset / PAGE),
		.prot = (perms[0] == 'r' ? PROT_READ : 0) |
			(perms[1] == 'w' ? PROT_WRITE : 0) |
			(perms[2] == 'x' ? PROT_EXEC : 0),
	};
	/* Linux dumps this one, but nobody can read it from outside. */
	if (strcmp(name, "[vsyscall]") == 0)
		segment->nr_dumped_pages = 0;
	m->layout.nr_segments++;
	if (inode) {
		m->files[m->layout.nr_files++] = (struct core_file_map){
			start, end, offset / PAGE, strdup(name),
		};
	}
	return 0;
}

static int read_mappings(struct mapped *m, pid_t pid)
{
	char path[64], line[8192];
	FILE *maps;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (!err && fgets(line, sizeof(line), maps))
		err = add_line(m, line);
	fclose(maps);
	if (!err && !m->layout.nr_segments)
		err = -ESRCH;
	return err;
}

static int fill_from_process(void *arg, size_t segment, uint64_t page, void *buf)
{
	const struct mapped *m = arg;
	uint64_t addr = m->segments[segment].vaddr + page * PAGE;
	uint64_t entry = pagemap_entry(m, addr);

	/* Linux leaves a hole where there is no page. */
	if (!(entry >> 62) && addr != m->layout.vdso) {
		bool file = false;

		for (size_t i = 0; i < m->layout.nr_files && !file; i++)
			file = addr >= m->files[i].start && addr < m->files[i].end;
		if (!file)
			return 0;
	}
	return pread(m->mem_fd, buf, PAGE, (off_t)addr) == (ssize_t)PAGE;
}

int core_write_pid(const char *path, pid_t pid)
{
	struct mapped *m = calloc(1, sizeof(*m));
	char name[64];
	int err;

	if (!m)
		return -ENOMEM;
	m->layout.segments = m->segments;
	m->layout.files = m->files;
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	m->mem_fd = open(name, O_RDONLY | O_CLOEXEC);
	err = m->mem_fd < 0 ? -errno : 0;
	snprintf(name, sizeof(name), "/proc/%d/pagemap", pid);
	m->pagemap_fd = open(name, O_RDONLY | O_CLOEXEC);
	if (!err && m->pagemap_fd < 0)
		err = -errno;
	if (!err)
		err = read_mappings(m, pid);
	if (!err)
		err = core_write(path, &m->layout, fill_from_process, m);
	for (size_t i = 0; i < m->layout.nr_files; i++)
		free((char *)m->files[i].name);
	if (m->mem_fd >= 0)
		close(m->mem_fd);
	if (m->pagemap_fd >= 0)
		close(m->pagemap_fd);
	free(m);
	return err;
}

#define WAIT_STEP_MS 20
#define WAIT_MS 10000

static char state_of(pid_t pid)
{
	char path[64], text[512] = "";
	char *pos;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	pos = strrchr(text, ')');
	return pos && pos[1] ? pos[2] : 0;
}

int core_wait_until_asleep(pid_t pid)
{
	int nr_seen = 0;

	for (int ms = 0; ms < WAIT_MS; ms += WAIT_STEP_MS) {
		const struct timespec step = { 0, WAIT_STEP_MS * 1000000L };
		char state = state_of(pid);

		if (!state || state == 'Z')
			return -ESRCH;
		/* Loading sleeps, too, but never for long. */
		nr_seen = state == 'S' ? nr_seen + 1 : 0;
		if (nr_seen == 5)
			return 0;
		nanosleep(&step, NULL);
	}
	return -ETIMEDOUT;
}
