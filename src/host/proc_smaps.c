/* SPDX-License-Identifier: GPL-2.0-only */
/* Mappings with flags; see proc_smaps.h. */
#include "proc_smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc_maps.h"

#define CHUNK_BYTES ((size_t)64 << 10)
#define ROOM_MIN 32

static int add_vma(struct smaps *list, const struct image_vma *map)
{
	if (list->nr == list->room) {
		size_t room = MAX(list->room * 2, (size_t)ROOM_MIN);
		struct smaps_vma *vmas = mem_realloc(list->mem, list->vmas,
						     list->room * sizeof(*vmas),
						     room * sizeof(*vmas));

		if (!vmas)
			return -ENOMEM;
		list->vmas = vmas;
		list->room = room;
	}
	list->vmas[list->nr++] = (struct smaps_vma){ .map = *map };
	return 0;
}

/* "rd wr mr mw me ac mg": pairs of letters. */
static bool has_flag(const char *line, size_t length, const char *flag)
{
	for (size_t i = 0; i + 2 <= length; i++)
		if (line[i] == flag[0] && line[i + 1] == flag[1] && (!i || line[i - 1] == ' ') &&
		    (i + 2 == length || line[i + 2] == ' '))
			return true;
	return false;
}

static bool starts_with(const char *line, size_t length, const char *word)
{
	return length >= strlen(word) && !strncmp(line, word, strlen(word));
}

int smaps_add_line(struct smaps *list, const char *line, size_t length, uint64_t start,
		   uint64_t end)
{
	struct smaps_vma *last = list->nr ? &list->vmas[list->nr - 1] : NULL;
	struct image_vma map;

	if (proc_maps_parse(line, length, &map)) {
		/* The lines that follow one that is not listed are told from its own. */
		if (last && last->map.end <= start)
			list->nr--;
		if (map.start >= end) {
			list->ended = true;
			return 0;
		}
		return add_vma(list, &map);
	}
	if (!last)
		return -EINVAL;
	if (starts_with(line, length, "VmFlags:")) {
		line += strlen("VmFlags:");
		length -= strlen("VmFlags:");
		last->mergeable = has_flag(line, length, "mg");
		last->locked = has_flag(line, length, "lo");
		last->dontfork = has_flag(line, length, "dc");
	} else if (starts_with(line, length, "KSM:")) {
		last->has_ksm_bytes = true;
		last->ksm_bytes = strtoull(line + strlen("KSM:"), NULL, 10) << 10;
	}
	return 0;
}

static int read_all(struct smaps *list, int fd, char *buf, uint64_t start, uint64_t end)
{
	size_t used = 0;

	while (!list->ended) {
		ssize_t n = read(fd, buf + used, CHUNK_BYTES - used);
		char *line = buf, *newline;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : used ? -EINVAL : 0;
		used += (size_t)n;
		while (!list->ended && (newline = memchr(line, '\n', used - (size_t)(line - buf)))) {
			int err;

			*newline = '\0';
			err = smaps_add_line(list, line, (size_t)(newline - line), start, end);
			if (err)
				return err;
			line = newline + 1;
		}
		used -= (size_t)(line - buf);
		if (used == CHUNK_BYTES)
			return -EINVAL;
		memmove(buf, line, used);
	}
	return 0;
}

int smaps_read(struct smaps *list, struct mem *mem, pid_t pid, bool with_flags, uint64_t start,
	       uint64_t end)
{
	char path[64];
	char *buf;
	int fd, err;

	*list = (struct smaps){ .mem = mem };
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, with_flags ? "smaps" : "maps");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	buf = mem_alloc(mem, CHUNK_BYTES);
	err = buf ? read_all(list, fd, buf, start, end) : -ENOMEM;
	mem_free(mem, buf, CHUNK_BYTES);
	close(fd);
	if (!err && list->nr && list->vmas[list->nr - 1].map.end <= start)
		list->nr--;
	if (err)
		smaps_free(list);
	return err;
}

void smaps_free(struct smaps *list)
{
	mem_free(list->mem, list->vmas, list->room * sizeof(*list->vmas));
	*list = (struct smaps){ .mem = list->mem };
}
