/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of errno values: scenarios expect errors by name, and messages show
 * them by name, because "-16" tells a reader nothing.
 */
#ifndef SP_NAMES_H
#define SP_NAMES_H

/* "EBUSY" for 16 or -16; "E?" for a value that is not in the table. */
const char *errno_name(int err);
/* 16 for "EBUSY"; 0 when the name is not known. */
int errno_by_name(const char *name);

#endif
