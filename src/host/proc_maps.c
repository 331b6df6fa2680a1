/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of /proc/PID/maps:
 *
 *	start-end rwxp offset major:minor inode      name
 *
 * with hexadecimal numbers (the inode is decimal), the offset in bytes, and a
 * name that may hold blanks. Numbers are taken apart by hand: sscanf's %lx
 * accepts signs and overflow in silence.
 */
#include "proc_maps.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "image_sink.h"
#include "samepage.h"

#define ROOM_BYTES_MIN ((size_t)64 << 10)

int proc_maps_read(struct proc_maps *maps, struct mem *mem, int fd)
{
	int err = 0;

	*maps = (struct proc_maps){ .mem = mem };
	for (;;) {
		ssize_t n;

		if (maps->text_bytes == maps->room_bytes) {
			size_t room = MAX(maps->room_bytes * 2, ROOM_BYTES_MIN);
			char *text = mem_realloc(mem, maps->text,
						 maps->room_bytes, room);

			if (!text) {
				err = -ENOMEM;
				break;
			}
			maps->text = text;
			maps->room_bytes = room;
		}
		n = read(fd, maps->text + maps->text_bytes,
			 maps->room_bytes - maps->text_bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err = n < 0 ? -errno : 0;
			break;
		}
		for (ssize_t i = 0; i < n; i++)
			maps->nr_lines += maps->text[maps->text_bytes + (size_t)i] == '\n';
		maps->text_bytes += (size_t)n;
	}
	if (err)
		proc_maps_free(maps);
	return err;
}

void proc_maps_free(struct proc_maps *maps)
{
	mem_free(maps->mem, maps->text, maps->room_bytes);
	*maps = (struct proc_maps){ .mem = maps->mem };
}

bool proc_maps_next(struct proc_maps *maps, struct image_vma *ret)
{
	const char *line = maps->text + maps->pos;
	const char *newline;

	if (maps->pos >= maps->text_bytes)
		return false;
	newline = memchr(line, '\n', maps->text_bytes - maps->pos);
	if (!newline)
		return false;
	maps->pos += (size_t)(newline - line) + 1;
	return proc_maps_parse(line, (size_t)(newline - line), ret);
}

struct cursor {
	const char *pos, *end;
};

static bool take_number(struct cursor *c, unsigned base, uint64_t *ret)
{
	const char *start = c->pos;

	*ret = 0;
	while (c->pos < c->end) {
		unsigned digit;
		char ch = *c->pos;

		if (ch >= '0' && ch <= '9')
			digit = (unsigned)(ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			digit = (unsigned)(ch - 'a') + 10;
		else
			break;
		if (digit >= base || __builtin_mul_overflow(*ret, base, ret) ||
		    __builtin_add_overflow(*ret, digit, ret))
			return false;
		c->pos++;
	}
	return c->pos > start;
}

static bool take_char(struct cursor *c, char ch)
{
	if (c->pos == c->end || *c->pos != ch)
		return false;
	c->pos++;
	return true;
}

/* "rwxp" */
static bool take_perms(struct cursor *c, struct image_vma *vma)
{
	static const struct {
		char set;
		unsigned prot;
	} perms[] = {
		{ 'r', SP_PROT_READ }, { 'w', SP_PROT_WRITE }, { 'x', SP_PROT_EXEC },
	};

	for (size_t i = 0; i < ARRAY_SIZE(perms); i++) {
		if (take_char(c, perms[i].set))
			vma->prot |= perms[i].prot;
		else if (!take_char(c, '-'))
			return false;
	}
	vma->shared = take_char(c, 's');
	return vma->shared || take_char(c, 'p');
}

bool proc_maps_parse(const char *line, size_t len, struct image_vma *ret)
{
	struct cursor c = { line, line + len };
	uint64_t offset_bytes, major, minor, inode;

	*ret = (struct image_vma){ 0 };
	if (!take_number(&c, 16, &ret->start) || !take_char(&c, '-') ||
	    !take_number(&c, 16, &ret->end) || !take_char(&c, ' ') ||
	    !take_perms(&c, ret) || !take_char(&c, ' ') ||
	    !take_number(&c, 16, &offset_bytes) || !take_char(&c, ' ') ||
	    !take_number(&c, 16, &major) || !take_char(&c, ':') ||
	    !take_number(&c, 16, &minor) || !take_char(&c, ' ') ||
	    !take_number(&c, 10, &inode))
		return false;
	while (take_char(&c, ' '))
		;
	image_vma_set_name(ret, c.pos, (size_t)(c.end - c.pos));
	ret->file_backed = inode != 0 &&
			   (ret->shared || !image_name_is_zero_device(ret->name));
	ret->pgoff = ret->file_backed ? offset_bytes >> PAGE_SHIFT : 0;
	return ret->start < ret->end && page_aligned(ret->start) &&
	       page_aligned(ret->end);
}
