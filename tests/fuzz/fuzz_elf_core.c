/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any bytes given as a core must be refused with a message, or told in keeping
 * with the contract of memory_image.h; nothing may be left allocated. The
 * corpus, tests/fuzz/corpus/elf_core/, was begun by make_elf_core_corpus.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "elf_core.h"
#include "image_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_elf_core: %s\n", what);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_check check = { 0 };
	struct image_report report;
	struct mem mem;
	char msg[256];
	int err;

	mem_init(&mem);
	err = elf_core_read_buffer(&mem, data, size, &image_check_ops, &check,
				   &report, msg, sizeof(msg));
	image_check_finish(&check, err, &report);
	require(!check.violation, check.violation);
	require(err <= 0 && (err == 0) == (msg[0] == '\0'),
		"an error without a message, or the reverse");
	require(report.read_bytes <= size, "more contents than bytes");
	require(!mem.nr_live, "memory left allocated");
	return 0;
}
