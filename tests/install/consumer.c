/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program of someone else's: sees only the installed header and library,
 * found through pkg-config (scripts/check-install). It does what the header's
 * opening example does, and checks what that promises: four equal pages become
 * one, and a write takes one of them out again.
 */
#include <samepage.h>

#include <inttypes.h>
#include <stdio.h>

#define ADDR UINT64_C(0x700000000000)
#define LENGTH (4 * SP_PAGE_SIZE)

static int merge_and_break(struct sp_machine *m, int64_t *merged, int64_t *left)
{
	struct sp_process *p;
	const char byte = 1;
	int err = sp_process_create(m, &p);

	if (!err)
		err = sp_mmap(p, ADDR, LENGTH, SP_PROT_READ | SP_PROT_WRITE,
			      SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0, NULL);
	if (!err)
		err = sp_madvise(p, ADDR, LENGTH, SP_MADV_MERGEABLE);
	if (!err)
		err = sp_fill(p, ADDR, LENGTH, 0x77);
	if (!err)
		err = sp_knob_set(m, "run", "1");
	if (!err)
		err = sp_ksm_scan(m, 2);
	if (!err)
		err = sp_counter_get(m, "pages_sharing", merged);
	if (!err)
		err = sp_write(p, ADDR, &byte, 1);
	/* The counter drops when ksmd next meets the broken page, not before. */
	if (!err)
		err = sp_ksm_scan(m, 2);
	if (!err)
		err = sp_counter_get(m, "pages_sharing", left);
	return err;
}

int main(void)
{
	struct sp_machine *m;
	char findings[512] = "";
	int64_t merged = -1;
	int64_t left = -1;
	int err = sp_machine_create(NULL, &m);

	if (err) {
		fprintf(stderr, "consumer: no machine: %d\n", err);
		return 1;
	}
	err = merge_and_break(m, &merged, &left);
	if (!err)
		err = sp_validate(m, findings, sizeof(findings));
	sp_machine_destroy(m);
	if (err || merged != 3 || left != 2) {
		fprintf(stderr, "consumer: error %d, pages_sharing %" PRId64
			" (expected 3), then %" PRId64 " (expected 2)\n%s",
			err, merged, left, findings);
		return 1;
	}
	return 0;
}
