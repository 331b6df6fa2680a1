/* SPDX-License-Identifier: GPL-2.0-only */
/* What all parts of the lab share; see lab.h. */
#include "lab.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROOM_MIN ((size_t)4096)

void lab_init(struct lab *lab, struct mem *mem)
{
	*lab = (struct lab){.mem = mem, .dir_fd = -1};
}

void lab_destroy(struct lab *lab)
{
	if (lab->dir_fd >= 0)
		close(lab->dir_fd);
	lab->dir_fd = -1;
}

int lab_fail(struct lab *lab, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(lab->msg, sizeof(lab->msg), fmt, ap);
	va_end(ap);
	return err;
}

bool lab_stopped(const struct lab *lab)
{
	return lab->stop && lab->stop();
}

void lab_progress(const struct lab *lab, const char *fmt, ...)
{
	char what[256];
	va_list ap;

	if (!lab->progress)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	lab->progress(what);
}

void text_init(struct text *text, struct mem *mem)
{
	*text = (struct text){.mem = mem};
}

void text_destroy(struct text *text)
{
	mem_free(text->mem, text->data, text->room);
	text_init(text, text->mem);
}

/* Room for this many bytes more, and the NUL. */
static int make_room(struct text *text, size_t bytes)
{
	size_t room = MAX(text->room, ROOM_MIN);
	char *data;

	if (bytes > SIZE_MAX / 4 - text->bytes)
		return -ENOMEM;
	while (room <= text->bytes + bytes)
		room *= 2;
	if (room == text->room)
		return 0;
	data = mem_realloc(text->mem, text->data, text->room, room);
	if (!data)
		return -ENOMEM;
	text->data = data;
	text->room = room;
	return 0;
}

int text_add(struct text *text, const void *data, size_t bytes)
{
	int err = make_room(text, bytes);

	if (err)
		return err;
	memcpy(text->data + text->bytes, data, bytes);
	text->bytes += bytes;
	text->data[text->bytes] = 0;
	return 0;
}

int text_printf(struct text *text, const char *fmt, ...)
{
	va_list ap, again;
	int n, err;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	err = n < 0 ? -EINVAL : make_room(text, (size_t)n);
	if (!err) {
		vsnprintf(text->data + text->bytes, (size_t)n + 1, fmt, again);
		text->bytes += (size_t)n;
	}
	va_end(again);
	return err;
}

void text_drop(struct text *text, size_t bytes)
{
	if (!bytes)
		return;
	memmove(text->data, text->data + bytes, text->bytes - bytes + 1);
	text->bytes -= bytes;
}

int text_read(struct text *text, int fd)
{
	for (;;) {
		int err = make_room(text, ROOM_MIN);
		ssize_t n;

		if (err)
			return err;
		n = read(fd, text->data + text->bytes, text->room - text->bytes - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text->bytes += (size_t)n;
		text->data[text->bytes] = 0;
		if (!n)
			return 0;
	}
}

char *next_line(char **at)
{
	char *line = *at, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end = 0;
	*at = end ? end + 1 : line + strlen(line);
	return line;
}

int write_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}
