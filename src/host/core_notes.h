/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the notes of a core say about its memory: which ranges map files
 * (NT_FILE), and where the vDSO lies (NT_AUXV). Program headers say neither.
 *
 * A program header per VMA and an NT_FILE entry per file mapping is what Linux
 * writes, but other writers merge neighbours, so an entry is looked up by
 * address, and a segment that spans several is cut at their ends by the caller.
 *
 *	core_notes_init(&notes, mem);
 *	err = core_notes_read(&notes, &file, offset, filesz, &sink);
 *	map = core_notes_find(&notes, addr);
 *	core_notes_free(&notes);
 *
 * Memory is bounded by CORE_FILE_NOTE_MAX (the kernel's own limit is 4 MiB),
 * time by CORE_NOTES_MAX notes. Locking: none, one thread.
 */
#ifndef SP_CORE_NOTES_H
#define SP_CORE_NOTES_H

#include "core_file.h"
#include "mem.h"

#define CORE_NOTES_MAX (UINT64_C(1) << 20)
#define CORE_FILE_NOTE_MAX (UINT64_C(64) << 20)

struct core_mapping {
	uint64_t start, end;
	uint64_t pgoff;
	const char *name; /* inside core_notes.text */
};

struct core_notes {
	struct mem *mem;
	char *text; /* the NT_FILE note, and a final NUL */
	size_t text_bytes;
	struct core_mapping *maps; /* ascending, without overlap */
	size_t nr_maps;
	uint64_t vdso; /* its address, or 0 */
	uint64_t nr_notes;
	bool file_seen, auxv_seen;
};

void core_notes_init(struct core_notes *notes, struct mem *mem);
/*
 * Adds the notes of one note segment. What lies past the end of the file is
 * cut off, not an error; a note that contradicts itself is.
 */
int core_notes_read(struct core_notes *notes, const struct core_file *file,
		    uint64_t offset, uint64_t size, struct image_sink *sink)
	SP_MUST_CHECK;
/* The first mapping that ends after `addr`, or NULL. */
const struct core_mapping *core_notes_find(const struct core_notes *notes,
					   uint64_t addr);
void core_notes_free(struct core_notes *notes);

#endif
