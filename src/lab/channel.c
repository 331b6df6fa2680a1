/* SPDX-License-Identifier: GPL-2.0-only */
/* What a guest says to its host; see channel.h. */
#include "channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HEADER_MAX 16

void channel_init(struct channel *channel, struct mem *mem,
		  void (*message)(void *arg, enum channel_kind kind, const char *data,
				  size_t bytes),
		  void *arg)
{
	*channel = (struct channel){.message = message, .arg = arg};
	text_init(&channel->pending, mem);
}

void channel_destroy(struct channel *channel)
{
	text_destroy(&channel->pending);
}

/* The header's bytes, 0 while it is incomplete, -EPROTO. */
static int parse_header(const char *data, size_t bytes, size_t *length)
{
	size_t at = 2;

	if (bytes && !strchr("BNUOEX", data[0]))
		return -EPROTO;
	if (bytes > 1 && data[1] != ' ')
		return -EPROTO;
	*length = 0;
	for (; at < bytes && data[at] >= '0' && data[at] <= '9'; at++) {
		*length = *length * 10 + (size_t)(data[at] - '0');
		if (at == HEADER_MAX || *length > CHANNEL_MESSAGE_MAX)
			return -EPROTO;
	}
	if (at >= bytes)
		return 0;
	return data[at] == '\n' && at > 2 ? (int)at + 1 : -EPROTO;
}

int channel_feed(struct channel *channel, const void *data, size_t bytes)
{
	struct text *pending = &channel->pending;
	int err = text_add(pending, data, bytes);
	size_t used = 0;

	while (!err && used < pending->bytes) {
		const char *at = pending->data + used;
		size_t length;
		int head = parse_header(at, pending->bytes - used, &length);

		if (head < 0)
			err = head;
		if (head <= 0 || length > pending->bytes - used - (size_t)head)
			break;
		channel->message(channel->arg, (enum channel_kind) * at, at + head, length);
		used += (size_t)head + length;
	}
	text_drop(pending, used);
	return err;
}

int channel_write(int fd, enum channel_kind kind, const void *data, size_t bytes)
{
	const char *at = data;
	char head[HEADER_MAX];
	int err;

	do {
		size_t part = MIN(bytes, CHANNEL_MESSAGE_MAX);
		int n = snprintf(head, sizeof(head), "%c %zu\n", kind, part);

		err = write_all(fd, head, (size_t)n);
		if (!err)
			err = write_all(fd, at, part);
		at += part;
		bytes -= part;
	} while (!err && bytes);
	return err;
}
