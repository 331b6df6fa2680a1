/* SPDX-License-Identifier: GPL-2.0-only */
/* ksmd among the threads of /proc; see ksmd_thread.h. */
#include "ksmd_thread.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc_text.h"

static bool is_ksmd(const char *pid)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	if (proc_text_read(path, text, sizeof(text)) || strcmp(text, "ksmd"))
		return false;
	/* A user's program may have this name; only a kernel thread has no exe. */
	snprintf(path, sizeof(path), "/proc/%.20s/exe", pid);
	return readlink(path, text, sizeof(text)) < 0;
}

pid_t ksmd_find(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid = 0;

	while (proc && !pid && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]) && is_ksmd(entry->d_name))
			pid = atoi(entry->d_name);
	if (proc)
		closedir(proc);
	return pid;
}
