/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small files of /proc and /sys that are read and written again and again: each is opened once, and
 * read from its start every time, which is how these files say what is.
 *
 *	struct kept_files files = {0};
 *
 *	err = kept_read(&files, path, buf, sizeof(buf));
 *	err = kept_value(&files, path, &value);
 *	err = kept_write(&files, path, "1");
 *	kept_files_close(&files);
 *
 * Results are those of proc_text.h. What does not fit in the table is opened each time. A file
 * whose process is gone goes on saying so: who follows processes does not keep their files
 * here.
 *
 * Locks: none; one thread.
 */
#ifndef SP_KEPT_FILE_H
#define SP_KEPT_FILE_H

#include "proc_text.h"

#define KEPT_FILES_MAX 48

struct kept_file {
	char path[96];
	int fd;
	bool writable;
};

struct kept_files {
	struct kept_file list[KEPT_FILES_MAX];
	unsigned int nr;
};

int kept_read(struct kept_files *files, const char *path, char *buf, size_t size) SP_MUST_CHECK;
int kept_value(struct kept_files *files, const char *path, int64_t *ret) SP_MUST_CHECK;
int kept_write(struct kept_files *files, const char *path, const char *value) SP_MUST_CHECK;
void kept_files_close(struct kept_files *files);

#endif
