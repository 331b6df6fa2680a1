/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a guest says to its host, over a serial port of its own, apart from the kernel's messages:
 *
 *	KIND LENGTH\n and LENGTH bytes
 *
 * where KIND is one of the letters below. The end is a message too, so that a guest that dies is told
 * from one that is done. What is no message is a broken guest, and ends the reading.
 *
 *	guest:	channel_write(fd, CHANNEL_OUTPUT, data, bytes)
 *	host:	channel_init(&channel, &mem, on_message, vm);
 *		err = channel_feed(&channel, data, bytes);	// whatever comes in one read
 *
 * Locks: none; one thread uses a channel.
 */
#ifndef SP_CHANNEL_H
#define SP_CHANNEL_H

#include "lab.h"

enum channel_kind {
	CHANNEL_BOOTED = 'B', /* init runs; the kernel's release */
	CHANNEL_NOTE = 'N',   /* what this kernel lacks, and is done without */
	CHANNEL_UNFIT = 'U',  /* why nothing can run on it; the end */
	CHANNEL_OUTPUT = 'O', /* the command's standard output */
	CHANNEL_ERROR = 'E',  /* and standard error */
	CHANNEL_EXIT = 'X',   /* its exit status in decimal, or -SIGNAL; the end */
};

#define CHANNEL_MESSAGE_MAX ((size_t)64 << 10)

struct channel {
	void (*message)(void *arg, enum channel_kind kind, const char *data, size_t bytes);
	void *arg;
	struct text pending;
};

void channel_init(struct channel *channel, struct mem *mem,
		  void (*message)(void *arg, enum channel_kind kind, const char *data,
				  size_t bytes),
		  void *arg);
void channel_destroy(struct channel *channel);
/* -EPROTO: not a message. */
int channel_feed(struct channel *channel, const void *data, size_t bytes) SP_MUST_CHECK;

/* Split where it is longer than a message may be. */
int channel_write(int fd, enum channel_kind kind, const void *data, size_t bytes) SP_MUST_CHECK;

#endif
