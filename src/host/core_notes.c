/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NT_FILE and NT_AUXV of a core; see core_notes.h.
 *
 * Layout of NT_FILE, in 64-bit words: the number of entries, the unit of file
 * offsets in bytes, then start, end and offset of every entry; then the names
 * as strings in the same order.
 */
#include "core_notes.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define NOTE_HEADER_BYTES (sizeof(Elf64_Nhdr) + 8) /* with "CORE\0" padded */

static uint64_t pad4(uint64_t bytes)
{
	return (bytes + 3) & ~UINT64_C(3);
}

static uint64_t word_at(const char *text, size_t index)
{
	uint64_t word;

	memcpy(&word, text + index * sizeof(word), sizeof(word));
	return word;
}

void core_notes_init(struct core_notes *notes, struct mem *mem)
{
	*notes = (struct core_notes){ .mem = mem };
}

void core_notes_free(struct core_notes *notes)
{
	mem_free(notes->mem, notes->text, notes->text_bytes);
	mem_free(notes->mem, notes->maps, notes->nr_maps * sizeof(*notes->maps));
	core_notes_init(notes, notes->mem);
}

/* Fills maps[i]; false when the entry cannot be true. */
static bool parse_mapping(struct core_notes *notes, size_t i, uint64_t unit)
{
	struct core_mapping *map = &notes->maps[i];
	uint64_t offset_bytes;

	map->start = word_at(notes->text, 2 + 3 * i);
	map->end = word_at(notes->text, 2 + 3 * i + 1);
	if (__builtin_mul_overflow(word_at(notes->text, 2 + 3 * i + 2), unit,
				   &offset_bytes))
		return false;
	map->pgoff = offset_bytes >> PAGE_SHIFT;
	return map->start < map->end && page_aligned(map->start) &&
	       page_aligned(map->end) && page_aligned(offset_bytes) &&
	       (i == 0 || map->start >= notes->maps[i - 1].end);
}

static int parse_file_note(struct core_notes *notes, const char *file_name,
			   uint64_t size, struct image_sink *sink)
{
	uint64_t nr, unit;
	const char *name, *text_end = notes->text + size;

	if (size < 16)
		return image_sink_fail(sink, -EINVAL,
			"%s: note NT_FILE has %llu bytes; its header alone has 16",
			file_name, (unsigned long long)size);
	nr = word_at(notes->text, 0);
	unit = word_at(notes->text, 1);
	if (nr > (size - 16) / 24)
		return image_sink_fail(sink, -EINVAL,
			"%s: note NT_FILE claims %llu mappings in %llu bytes",
			file_name, (unsigned long long)nr,
			(unsigned long long)size);
	if (!nr)
		return 0;
	notes->maps = mem_alloc(notes->mem, nr * sizeof(*notes->maps));
	if (!notes->maps)
		return image_sink_fail(sink, -ENOMEM,
			"%s: out of memory for %llu file mappings", file_name,
			(unsigned long long)nr);
	notes->nr_maps = nr;
	name = notes->text + 16 + nr * 24;
	for (size_t i = 0; i < nr; i++) {
		if (!parse_mapping(notes, i, unit))
			return image_sink_fail(sink, -EINVAL,
				"%s: note NT_FILE: mapping %zu is empty, unaligned or not above the one before",
				file_name, i);
		if (name >= text_end)
			return image_sink_fail(sink, -EINVAL,
				"%s: note NT_FILE: %zu names for %llu mappings",
				file_name, i, (unsigned long long)nr);
		notes->maps[i].name = name;
		name += strlen(name) + 1;
	}
	return 0;
}

static int fail_read(const struct core_file *file, int err,
		     struct image_sink *sink)
{
	return image_sink_fail(sink, err, "%s: notes: %s", file->name,
			       strerror(-err));
}

static int read_file_note(struct core_notes *notes, const struct core_file *file,
			  uint64_t offset, uint64_t size, struct image_sink *sink)
{
	size_t got;
	int err;

	notes->file_seen = true;
	if (size > CORE_FILE_NOTE_MAX)
		return image_sink_fail(sink, -EFBIG,
			"%s: note NT_FILE has %llu bytes; at most %llu are read",
			file->name, (unsigned long long)size,
			(unsigned long long)CORE_FILE_NOTE_MAX);
	notes->text = mem_alloc(notes->mem, size + 1);
	if (!notes->text)
		return image_sink_fail(sink, -ENOMEM,
			"%s: out of memory for note NT_FILE of %llu bytes",
			file->name, (unsigned long long)size);
	notes->text_bytes = size + 1;
	err = core_file_read(file, offset, notes->text, size, &got);
	if (err)
		return fail_read(file, err, sink);
	notes->text[got] = '\0';
	return parse_file_note(notes, file->name, got, sink);
}

static int read_auxv_note(struct core_notes *notes, const struct core_file *file,
			  uint64_t offset, uint64_t size,
			  struct image_sink *sink)
{
	uint64_t words[128]; /* Linux writes about 20 pairs */
	size_t got;
	int err;

	notes->auxv_seen = true;
	err = core_file_read(file, offset, words,
			     MIN(size, (uint64_t)sizeof(words)), &got);
	if (err)
		return fail_read(file, err, sink);
	for (size_t i = 0; i + 1 < got / sizeof(words[0]); i += 2) {
		if (words[i] == AT_NULL)
			break;
		if (words[i] == AT_SYSINFO_EHDR)
			notes->vdso = words[i + 1];
	}
	return 0;
}

int core_notes_read(struct core_notes *notes, const struct core_file *file,
		    uint64_t offset, uint64_t size, struct image_sink *sink)
{
	uint64_t end = MIN(offset + size, file->size);
	int err = 0;

	while (!err && offset < end && end - offset >= sizeof(Elf64_Nhdr) &&
	       !(notes->file_seen && notes->auxv_seen)) {
		char header[NOTE_HEADER_BYTES] = { 0 };
		Elf64_Nhdr nhdr;
		uint64_t desc;
		size_t got;

		if (++notes->nr_notes > CORE_NOTES_MAX)
			return image_sink_fail(sink, -EFBIG,
				"%s: more than %llu notes without NT_FILE and NT_AUXV among them",
				file->name, (unsigned long long)CORE_NOTES_MAX);
		err = core_file_read(file, offset, header, sizeof(header), &got);
		if (err)
			return fail_read(file, err, sink);
		if (got < sizeof(nhdr))
			break;
		memcpy(&nhdr, header, sizeof(nhdr));
		desc = offset + sizeof(nhdr) + pad4(nhdr.n_namesz);
		offset = desc + pad4(nhdr.n_descsz);
		if (desc + nhdr.n_descsz > end)
			break; /* cut: what follows in the file is cut, too */
		if (nhdr.n_namesz != 5 ||
		    memcmp(header + sizeof(nhdr), "CORE", 5) != 0)
			continue;
		if (nhdr.n_type == NT_FILE && !notes->file_seen)
			err = read_file_note(notes, file, desc, nhdr.n_descsz, sink);
		else if (nhdr.n_type == NT_AUXV && !notes->auxv_seen)
			err = read_auxv_note(notes, file, desc, nhdr.n_descsz, sink);
	}
	return err;
}

const struct core_mapping *core_notes_find(const struct core_notes *notes,
					   uint64_t addr)
{
	size_t low = 0, high = notes->nr_maps;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (notes->maps[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low < notes->nr_maps ? &notes->maps[low] : NULL;
}
