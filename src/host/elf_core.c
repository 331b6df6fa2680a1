/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ELF cores; what is read and how it is judged stands in elf_core.h.
 *
 * The program headers are walked twice, a batch at a time: first to check all
 * of them and to collect the notes, so that a wrong core is refused before the
 * visitor has built half a process from it, then to tell the memory. The file
 * may change in between; check_load() is part of the walk, so the second walk
 * trusts nothing that it did not check itself.
 */
#include "elf_core.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "core_file.h"
#include "core_notes.h"
#include "samepage.h"

#define PHDR_BATCH 512
#define SLICE_BYTES (UINT64_C(256) << 10)
/* Linux allows at most INT_MAX mappings and 65,530 unless told otherwise. */
#define NR_SEGMENTS_MAX (UINT64_C(1) << 24)

struct reader {
	struct core_file file;
	struct mem *mem;
	struct image_sink sink;
	struct core_notes notes;
	Elf64_Ehdr ehdr;
	uint64_t nr_phdrs;
	Elf64_Phdr *batch; /* PHDR_BATCH of them */
	char *slice;       /* SLICE_BYTES */

	/* State of one walk over the program headers: */
	uint64_t index;     /* of the header at hand */
	uint64_t prev_end;  /* of the load segments so far */
	uint64_t claimed;   /* bytes of contents of the load segments so far */
};

#define U(x) ((unsigned long long)(x))

static int fail_read(struct reader *r, int err, const char *what)
{
	return image_sink_fail(&r->sink, err, "%s: %s: %s", r->file.name, what,
			       strerror(-err));
}

/* What a file is that is not ELF, where a guess helps. */
static const char *other_format(const unsigned char *magic)
{
	if (memcmp(magic, "\x1f\x8b", 2) == 0)
		return "gzip data; decompress it first (gunzip)";
	if (memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0)
		return "zstd data; decompress it first (unzstd)";
	if (memcmp(magic, "\xfd" "7zX", 4) == 0)
		return "xz data; decompress it first (unxz)";
	if (memcmp(magic, "\x04\x22\x4d\x18", 4) == 0)
		return "lz4 data; decompress it first (unlz4)";
	return "not an ELF file; a 64-bit ELF core is expected";
}

static const char *other_type(unsigned type)
{
	switch (type) {
	case ET_EXEC:
		return "an executable (ET_EXEC)";
	case ET_DYN:
		return "a shared object or executable (ET_DYN)";
	case ET_REL:
		return "an object file (ET_REL)";
	default:
		return "an ELF file of another type";
	}
}

static int read_ehdr(struct reader *r)
{
	const unsigned char *ident = r->ehdr.e_ident;
	size_t got;
	int err;

	err = core_file_read(&r->file, 0, &r->ehdr, sizeof(r->ehdr), &got);
	if (err)
		return fail_read(r, err, "ELF header");
	if (!got)
		return image_sink_fail(&r->sink, -EINVAL,
			"%s: empty file; a 64-bit ELF core is expected",
			r->file.name);
	if (memcmp(ident, ELFMAG, MIN(got, (size_t)SELFMAG)) != 0)
		return image_sink_fail(&r->sink, -EINVAL, "%s: %s", r->file.name,
				       other_format(ident));
	if (got > EI_CLASS && ident[EI_CLASS] != ELFCLASS64)
		return image_sink_fail(&r->sink, -EINVAL,
			"%s: a %s ELF file; only 64-bit cores are read",
			r->file.name,
			ident[EI_CLASS] == ELFCLASS32 ? "32-bit" : "broken");
	if (got > EI_DATA && ident[EI_DATA] != ELFDATA2LSB)
		return image_sink_fail(&r->sink, -EINVAL,
			"%s: a %s ELF file; only little-endian cores are read",
			r->file.name,
			ident[EI_DATA] == ELFDATA2MSB ? "big-endian" : "broken");
	if (got < sizeof(r->ehdr))
		return image_sink_fail(&r->sink, -EINVAL,
			"%s: cut after %zu bytes, inside the ELF header of %zu",
			r->file.name, got, sizeof(r->ehdr));
	if (r->ehdr.e_type != ET_CORE)
		return image_sink_fail(&r->sink, -EINVAL,
			"%s: %s; a core (ET_CORE) is expected", r->file.name,
			other_type(r->ehdr.e_type));
	if (r->ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return image_sink_fail(&r->sink, -EINVAL,
			"%s: program headers of %u bytes; those of a 64-bit core have %zu",
			r->file.name, r->ehdr.e_phentsize, sizeof(Elf64_Phdr));
	return 0;
}

/*
 * Linux writes the note segment's header first and its bytes right behind the
 * table, so the table's size is known even where its length was cut off.
 */
static uint64_t conclude_nr_phdrs(const struct reader *r)
{
	uint64_t phoff = r->ehdr.e_phoff;
	Elf64_Phdr first;
	size_t got;

	if (core_file_read(&r->file, phoff, &first, sizeof(first), &got) ||
	    got < sizeof(first) || first.p_type != PT_NOTE ||
	    first.p_offset < phoff ||
	    (first.p_offset - phoff) % sizeof(first) != 0)
		return 0;
	return (first.p_offset - phoff) / sizeof(first);
}

static int count_phdrs(struct reader *r)
{
	Elf64_Shdr shdr;
	size_t got = 0;
	int err;

	r->nr_phdrs = r->ehdr.e_phnum;
	if (r->nr_phdrs == PN_XNUM) {
		err = core_file_read(&r->file, r->ehdr.e_shoff, &shdr,
				     sizeof(shdr), &got);
		if (err)
			return fail_read(r, err, "section header 0");
		if (r->ehdr.e_shoff && got == sizeof(shdr)) {
			r->nr_phdrs = shdr.sh_info;
		} else {
			r->sink.report->truncated = true;
			r->nr_phdrs = conclude_nr_phdrs(r);
		}
		if (r->nr_phdrs < PN_XNUM)
			return image_sink_fail(&r->sink, -EINVAL,
				"%s: more than 65,534 segments (PN_XNUM), but section header 0 at byte %llu, which holds their number, %s",
				r->file.name, U(r->ehdr.e_shoff),
				got == sizeof(shdr) ? "says fewer" : "is cut off");
	}
	if (!r->nr_phdrs)
		return image_sink_fail(&r->sink, -EINVAL,
				       "%s: no program headers, so no memory",
				       r->file.name);
	if (r->nr_phdrs > NR_SEGMENTS_MAX)
		return image_sink_fail(&r->sink, -EFBIG,
				       "%s: %llu segments; at most %llu are read",
				       r->file.name, U(r->nr_phdrs),
				       U(NR_SEGMENTS_MAX));
	if (r->ehdr.e_phoff > r->file.size ||
	    (r->file.size - r->ehdr.e_phoff) / sizeof(Elf64_Phdr) < r->nr_phdrs)
		return image_sink_fail(&r->sink, -EINVAL,
			"%s: cut after %llu bytes, inside the %llu program headers at byte %llu",
			r->file.name, U(r->file.size), U(r->nr_phdrs),
			U(r->ehdr.e_phoff));
	return 0;
}

/* Bytes of the segment's contents that the file really has. */
static uint64_t available(const struct reader *r, const Elf64_Phdr *phdr)
{
	if (phdr->p_offset >= r->file.size)
		return 0;
	return MIN(phdr->p_filesz, r->file.size - phdr->p_offset);
}

static int fail_load(struct reader *r, const Elf64_Phdr *phdr, const char *why)
{
	return image_sink_fail(&r->sink, -EINVAL,
		"%s: segment %llu (address 0x%llx, memory 0x%llx, file 0x%llx bytes at 0x%llx) %s",
		r->file.name, U(r->index), U(phdr->p_vaddr), U(phdr->p_memsz),
		U(phdr->p_filesz), U(phdr->p_offset), why);
}

static int check_load(struct reader *r, const Elf64_Phdr *phdr)
{
	uint64_t end, file_end;

	if (__builtin_add_overflow(phdr->p_vaddr, phdr->p_memsz, &end))
		return fail_load(r, phdr, "wraps around the end of the address space");
	if (__builtin_add_overflow(phdr->p_offset, phdr->p_filesz, &file_end) ||
	    file_end > INT64_MAX)
		return fail_load(r, phdr, "lies where no file offset reaches");
	if (!page_aligned(phdr->p_vaddr) || !page_aligned(phdr->p_memsz))
		return fail_load(r, phdr, "is not aligned to pages of 4096 bytes");
	if (phdr->p_filesz > phdr->p_memsz)
		return fail_load(r, phdr, "has more bytes in the file than in memory");
	if (phdr->p_vaddr < r->prev_end)
		return fail_load(r, phdr, "overlaps or precedes the segment before it");
	if (phdr->p_vaddr < TASK_SIZE && end > TASK_SIZE)
		return fail_load(r, phdr, "crosses the end of user address space");
	r->prev_end = end;
	/* Bounds the time: no byte of the file is told twice. */
	r->claimed += available(r, phdr);
	if (r->claimed > r->file.size)
		return fail_load(r, phdr, "shares its bytes in the file with others");
	return 0;
}

typedef int (*phdr_fn)(struct reader *r, const Elf64_Phdr *phdr);

static int walk_phdrs(struct reader *r, phdr_fn fn)
{
	r->prev_end = 0;
	r->claimed = 0;
	for (r->index = 0; r->index < r->nr_phdrs; r->index++) {
		size_t i = r->index % PHDR_BATCH;
		int err;

		if (i == 0) {
			size_t want = MIN(r->nr_phdrs - r->index, PHDR_BATCH) *
				      sizeof(*r->batch);
			size_t got;

			err = core_file_read(&r->file,
				r->ehdr.e_phoff + r->index * sizeof(*r->batch),
				r->batch, want, &got);
			if (!err && got < want)
				err = -EIO;
			if (err)
				return fail_read(r, err, "program headers");
		}
		if (r->batch[i].p_type == PT_LOAD && r->batch[i].p_memsz) {
			err = check_load(r, &r->batch[i]);
			if (err)
				return err;
		}
		err = fn(r, &r->batch[i]);
		if (err)
			return err;
	}
	return 0;
}

static int collect_notes(struct reader *r, const Elf64_Phdr *phdr)
{
	if (phdr->p_type != PT_NOTE)
		return 0;
	if (phdr->p_offset > INT64_MAX || phdr->p_filesz > INT64_MAX)
		return fail_load(r, phdr, "lies where no file offset reaches");
	if (available(r, phdr) < phdr->p_filesz)
		r->sink.report->truncated = true;
	return core_notes_read(&r->notes, &r->file, phdr->p_offset,
			       phdr->p_filesz, &r->sink);
}

/* The state of a page that the file leaves out. */
static enum image_page_state hole_state(const struct image_vma *vma)
{
	if (vma->shared)
		return IMAGE_PAGE_FILE;
	return vma->file_backed ? IMAGE_PAGE_UNKNOWN : IMAGE_PAGE_UNTOUCHED;
}

static int tell_data(struct reader *r, uint64_t addr, uint64_t offset,
		     uint64_t nr_pages, enum image_page_state state)
{
	while (nr_pages) {
		uint64_t nr = MIN(nr_pages, SLICE_BYTES / PAGE_SIZE);
		size_t got;
		int err;

		err = core_file_read(&r->file, offset, r->slice, nr * PAGE_SIZE, &got);
		if (err)
			return fail_read(r, err, "contents");
		r->sink.report->read_bytes += got;
		err = image_sink_pages(&r->sink, addr, got / PAGE_SIZE, state,
				       r->slice);
		if (err)
			return err;
		if (got < nr * PAGE_SIZE) { /* became shorter under our eyes */
			r->sink.report->truncated = true;
			return image_sink_run(&r->sink,
				addr + got / PAGE_SIZE * PAGE_SIZE,
				nr_pages - got / PAGE_SIZE, IMAGE_PAGE_UNKNOWN);
		}
		addr += nr * PAGE_SIZE;
		offset += nr * PAGE_SIZE;
		nr_pages -= nr;
	}
	return 0;
}

/* `nr_pages` whole pages at `offset` of the file, some of them holes. */
static int tell_contents(struct reader *r, const struct image_vma *vma,
			 uint64_t addr, uint64_t offset, uint64_t nr_pages,
			 enum image_page_state state)
{
	uint64_t end = offset + nr_pages * PAGE_SIZE;

	while (offset < end) {
		uint64_t data_start, data_end, nr;
		int err;

		core_file_data(&r->file, offset, end, &data_start, &data_end);
		nr = (data_start - offset) / PAGE_SIZE;
		err = image_sink_run(&r->sink, addr, nr, hole_state(vma));
		if (err)
			return err;
		addr += nr * PAGE_SIZE;
		offset += nr * PAGE_SIZE;
		if (offset == end)
			break;
		/* A page that is partly data is data. */
		nr = (data_end - offset + PAGE_SIZE - 1) / PAGE_SIZE;
		err = tell_data(r, addr, offset, nr, state);
		if (err)
			return err;
		addr += nr * PAGE_SIZE;
		offset += nr * PAGE_SIZE;
	}
	return 0;
}

static bool name_is_shared(const char *name)
{
	static const char *const prefixes[] = {
		"/dev/zero (deleted)", "/dev/shm/", "/memfd:", "/SYSV",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static void describe(struct image_vma *vma, const Elf64_Phdr *phdr,
		     const struct core_mapping *map)
{
	vma->prot = (phdr->p_flags & PF_R ? SP_PROT_READ : 0) |
		    (phdr->p_flags & PF_W ? SP_PROT_WRITE : 0) |
		    (phdr->p_flags & PF_X ? SP_PROT_EXEC : 0);
	if (!map)
		return;
	image_vma_set_name(vma, map->name, strlen(map->name));
	vma->shared = name_is_shared(map->name);
	vma->file_backed = vma->shared || !image_name_is_zero_device(map->name);
	if (vma->file_backed)
		vma->pgoff = map->pgoff + ((vma->start - map->start) >> PAGE_SHIFT);
}

/* Tells the part [start, end) of a segment, which is one VMA. */
static int tell_vma(struct reader *r, const Elf64_Phdr *phdr, uint64_t start,
		    uint64_t end, const struct core_mapping *map)
{
	struct image_vma vma = { .start = start, .end = end };
	enum image_page_state state = IMAGE_PAGE_PRESENT;
	uint64_t skip = start - phdr->p_vaddr; /* bytes before this part */
	uint64_t known = available(r, phdr) & PAGE_MASK;
	int err;

	describe(&vma, phdr, map);
	if (image_name_is_special(vma.name)) {
		r->sink.report->nr_vmas_skipped++;
		return 0;
	}
	if (vma.shared || (vma.file_backed && skip == 0 &&
			   phdr->p_filesz == PAGE_SIZE && phdr->p_memsz > PAGE_SIZE))
		state = IMAGE_PAGE_FILE;
	known = known > skip ? MIN(known - skip, end - start) : 0;
	err = image_sink_vma(&r->sink, &vma);
	if (err)
		return err;
	err = tell_contents(r, &vma, start, phdr->p_offset + skip,
			    known / PAGE_SIZE, state);
	if (err)
		return err;
	return image_sink_run(&r->sink, start + known,
			      (end - start - known) / PAGE_SIZE,
			      IMAGE_PAGE_UNKNOWN);
}

static int tell_load(struct reader *r, const Elf64_Phdr *phdr)
{
	uint64_t pos = phdr->p_vaddr;
	uint64_t end = phdr->p_vaddr + phdr->p_memsz;

	if (phdr->p_type != PT_LOAD)
		return 0;
	if (available(r, phdr) < phdr->p_filesz)
		r->sink.report->truncated = true;
	if (pos >= TASK_SIZE || pos == end ||
	    (r->notes.vdso >= pos && r->notes.vdso < end)) {
		r->sink.report->nr_vmas_skipped++;
		return 0;
	}
	while (pos < end) {
		const struct core_mapping *map = core_notes_find(&r->notes, pos);
		uint64_t part_end = end;
		int err;

		if (map && map->start > pos) {
			part_end = MIN(end, map->start);
			map = NULL;
		} else if (map) {
			part_end = MIN(end, map->end);
		}
		err = tell_vma(r, phdr, pos, part_end, map);
		if (err)
			return err;
		pos = part_end;
	}
	return 0;
}

static int read_image(struct reader *r)
{
	int err;

	err = read_ehdr(r);
	if (!err)
		err = count_phdrs(r);
	if (err)
		return err;
	r->batch = mem_alloc(r->mem, PHDR_BATCH * sizeof(*r->batch));
	r->slice = mem_alloc(r->mem, SLICE_BYTES);
	if (!r->batch || !r->slice)
		return image_sink_fail(&r->sink, -ENOMEM,
				       "%s: out of memory for reading slices",
				       r->file.name);
	err = walk_phdrs(r, collect_notes);
	if (err)
		return err;
	if (!r->claimed && !r->prev_end)
		return image_sink_fail(&r->sink, -EINVAL,
				       "%s: no segment of memory (PT_LOAD) among %llu",
				       r->file.name, U(r->nr_phdrs));
	err = walk_phdrs(r, tell_load);
	if (!err && !r->sink.report->nr_vmas)
		return image_sink_fail(&r->sink, -EINVAL,
			"%s: none of its %llu segments is memory of a user process",
			r->file.name, U(r->nr_phdrs));
	return err;
}

static int read_and_free(struct reader *r)
{
	int err;

	core_notes_init(&r->notes, r->mem);
	err = read_image(r);
	core_notes_free(&r->notes);
	mem_free(r->mem, r->batch, PHDR_BATCH * sizeof(*r->batch));
	mem_free(r->mem, r->slice, SLICE_BYTES);
	core_file_close(&r->file);
	return err;
}

int elf_core_read(struct mem *mem, const char *path, const struct image_ops *ops,
		  void *arg, struct image_report *report, char *msg,
		  size_t msg_bytes)
{
	struct reader r = { .mem = mem };
	int err;

	image_sink_init(&r.sink, ops, arg, report, msg, msg_bytes);
	err = core_file_open(&r.file, path, &r.sink);
	return err ? err : read_and_free(&r);
}

int elf_core_read_buffer(struct mem *mem, const void *data, size_t size,
			 const struct image_ops *ops, void *arg,
			 struct image_report *report, char *msg,
			 size_t msg_bytes)
{
	struct reader r = { .mem = mem };

	image_sink_init(&r.sink, ops, arg, report, msg, msg_bytes);
	core_file_open_buffer(&r.file, data, size);
	return read_and_free(&r);
}
