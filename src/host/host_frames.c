/* SPDX-License-Identifier: GPL-2.0-only */
/* Contents of frames; see host_frames.h. */
#include "host_frames.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	ssize_t n;

	do {
		n = pread(fd, buf, size, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -ENOEXEC;
}

static int read_segments(struct host_frames *frames)
{
	Elf64_Ehdr head;
	int err = read_at(frames->fd, &head, sizeof(head), 0);

	if (err)
		return err;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	for (unsigned int i = 0; i < head.e_phnum && frames->nr < HOST_FRAMES_MAX_SEGMENTS; i++) {
		Elf64_Phdr segment;

		err = read_at(frames->fd, &segment, sizeof(segment), head.e_phoff + i * sizeof(segment));
		if (err)
			return err;
		/* What is no memory has no physical address. */
		if (segment.p_type != PT_LOAD || segment.p_paddr == UINT64_MAX)
			continue;
		frames->segments[frames->nr].start = segment.p_paddr;
		frames->segments[frames->nr].end = segment.p_paddr + segment.p_memsz;
		frames->segments[frames->nr++].offset = segment.p_offset;
	}
	return frames->nr ? 0 : -ENOEXEC;
}

int host_frames_open(struct host_frames *frames)
{
	int err;

	frames->nr = 0;
	frames->fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (frames->fd < 0)
		return -errno;
	err = read_segments(frames);
	if (err)
		host_frames_close(frames);
	return err;
}

void host_frames_close(struct host_frames *frames)
{
	if (frames->fd >= 0)
		close(frames->fd);
	frames->fd = -1;
}

static bool find(const struct host_frames *frames, uint64_t addr, uint64_t length, uint64_t *offset)
{
	for (unsigned int i = 0; i < frames->nr; i++) {
		if (addr < frames->segments[i].start || addr + length > frames->segments[i].end)
			continue;
		*offset = frames->segments[i].offset + addr - frames->segments[i].start;
		return true;
	}
	return false;
}

int host_frames_read(struct host_frames *frames, uint64_t pfn, void *buf, uint64_t offset,
		     uint64_t length)
{
	uint64_t addr = pfn * PAGE_SIZE + offset, at;

	if (!find(frames, addr, length, &at)) {
		host_frames_close(frames);
		if (host_frames_open(frames) || !find(frames, addr, length, &at))
			return -ENODATA;
	}
	return read_at(frames->fd, buf, length, at) ? -ENODATA : 0;
}
