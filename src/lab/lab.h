/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lab: real kernels in virtual machines, for scenarios that a running system should not be put
 * through, and for kernels that it does not run.
 *
 *   lab.c		what all parts share: messages, growing texts
 *   tool.c		other programs: found, run, listened to, never left behind
 *   debian.c		which packages hold which kernel: versions and package indexes
 *   cache.c		kernels on disk, checked by their checksums
 *   archive.c		a suite of the Debian archive, read by apt
 *   fetch.c		kernels from there into the cache
 *   kernel_image.c	what a kernel file says of itself, and its modules
 *   kernel_unpack.c	what is packed in it
 *   kernel_source.c	a kernel's source, from the archive
 *   kernel_build.c	kernels of our own making, of that source or of another
 *   elf_needs.c	what a module or a program needs beside itself
 *   cpio.c		the archive format of an initramfs
 *   initramfs.c	what a guest is given: the command, its libraries, modules, scenarios
 *   guest.c		the guest's first process
 *   channel.c		what the guest says to the host over a serial port
 *   qemu.c		the machine: started, watched, ended
 *
 * Nothing here needs root, and nothing is installed.
 *
 *	lab_init(&lab, &mem);
 *	err = cache_open(&lab);
 *	err = fetch_kernel(&lab, kernel_by_name("6.12"), false, &cached);
 *	err = initramfs_build(&lab, &spec, &fd);
 *	err = qemu_start(&vm, ...); while (qemu_watch(...)) ...
 *	if (err) complain("%s", lab.msg);
 *	lab_destroy(&lab);
 *
 * Every function that can fail returns -errno after saying why in lab->msg, one line.
 * Locking: none; one thread. Between processes, cache.c has a lock.
 */
#ifndef SP_LAB_H
#define SP_LAB_H

#include <limits.h>

#include "mem.h"

/* Where things lie inside a guest; init is told by the kernel's command line. */
#define GUEST_COMMAND "/bin/samepage"
#define GUEST_DIR     "/lab"
#define GUEST_MODULES GUEST_DIR "/modules"   /* file names in the order of loading */
#define GUEST_ARGS    GUEST_DIR "/arguments" /* of the command, each ended by a NUL */
#define GUEST_WORK    "/work"		     /* where the command runs */

struct lab {
	struct mem *mem;
	char dir[PATH_MAX / 2]; /* the cache; "" until cache_open() */
	int dir_fd;		/* holds the lock while it is held */
	char msg[1024];
	/* Both may be NULL. A stop is asked for a few times a second while something is waited for. */
	bool (*stop)(void);
	void (*progress)(const char *what);
};

void lab_init(struct lab *lab, struct mem *mem);
void lab_destroy(struct lab *lab);
/* Says why in lab->msg and returns err. */
int lab_fail(struct lab *lab, int err, const char *fmt, ...) SP_PRINTF(3, 4);
bool lab_stopped(const struct lab *lab);
void lab_progress(const struct lab *lab, const char *fmt, ...) SP_PRINTF(2, 3);

/* Bytes that grow; data[bytes] is a NUL that does not count. data is NULL while there are none. */
struct text {
	struct mem *mem;
	char *data;
	size_t bytes, room;
};

void text_init(struct text *text, struct mem *mem);
void text_destroy(struct text *text);
int text_add(struct text *text, const void *data, size_t bytes) SP_MUST_CHECK;
int text_printf(struct text *text, const char *fmt, ...) SP_PRINTF(2, 3) SP_MUST_CHECK;
/* Forgets the first bytes. */
void text_drop(struct text *text, size_t bytes);
/* Reads to the end of the file. */
int text_read(struct text *text, int fd) SP_MUST_CHECK;
/* "" rather than NULL. */
static inline const char *text_string(const struct text *text)
{
	return text->data ? text->data : "";
}

/*
 * Takes the next line, without its newline, out of a NUL-ended text, which it cuts: *at starts as the
 * text. NULL after the last one.
 */
char *next_line(char **at);

/* Writes all of it, whatever interrupts it. */
int write_all(int fd, const void *data, size_t bytes) SP_MUST_CHECK;

#endif
