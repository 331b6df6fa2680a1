/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guests: one QEMU process each, in software emulation, with two processors, two memory nodes, and a third
 * that is a DIMM of its own, which Linux finds as one that was added and leaves offline.
 *
 * A guest ends in one of these ways, and each is a result:
 *
 *	done	the command ended and its exit status came over the channel
 *	unfit	the first process found that this kernel cannot serve, and why
 *	died	the machine went off without either: a panic, which any oops and any soft lockup is
 *		made into
 *	hung	the time limit passed
 *	killed	somebody ended QEMU, or Linux did for want of memory: nothing is known of the guest
 *
 * What the kernel says on its console is kept, its end at least, and its complaints (oops, BUG,
 * WARNING, hung task) are counted: a guest that is done may have them too.
 *
 * No QEMU outlives this process: it is killed by qemu_destroy(), and by Linux when this process dies.
 *
 * Emulation hides what only hardware does, such as IBT; and QEMU 7.2 mishandles cmpxchg16b, which guests
 * are therefore not offered.
 *
 *	err = qemu_start(lab, &vm, &spec);
 *	while (qemu_watch(vms, nr, 200)) ...
 *	vm.end, vm.exit_status, vm.output ...
 *	qemu_destroy(&vm);
 *
 * Locking: none; the main thread starts guests (tool.h).
 */
#ifndef SP_QEMU_H
#define SP_QEMU_H

#include <sys/types.h>

#include "cache.h"
#include "channel.h"

#define GUEST_END_KINDS(X) X(running) X(done) X(unfit) X(died) X(hung) X(killed)
enum guest_end {
#define GUEST_END_ENUM(name) GUEST_##name,
	GUEST_END_KINDS(GUEST_END_ENUM)
#undef GUEST_END_ENUM
};
const char *guest_end_name(enum guest_end end);

struct qemu_spec {
	const struct cached_kernel *kernel;
	int initramfs; /* its descriptor; may be closed after qemu_start() */
	uint64_t limit_ns;
	const char *append; /* more words for the kernel's command line, up to 512 bytes; or NULL */
	/*
	 * A shell: what it writes goes to standard output, what it reads comes from `input`. booted_ns is
	 * set when it starts; input that comes earlier may be lost.
	 */
	bool shell;
	int input;
};

struct qemu {
	const struct cached_kernel *kernel;
	struct mem *mem;
	pid_t pid;
	int console_fd, channel_fd; /* -1: ended */
	struct channel channel;

	enum guest_end end;
	bool out_of_memory; /* of ours: something the guest said is missing */
	int exit_status;    /* when done: of the command, or -SIGNAL */
	char why[512];	    /* when unfit: what it lacks; else, unless done: what is known */
	char release[128];  /* that the guest says; "" when it did not get so far */
	uint64_t start_ns, booted_ns, end_ns, limit_ns;
	struct text output, errors, notes, console;
	uint64_t nr_complaints; /* lines of the console that are one */
};

/* QEMU, or a message that names its package. */
int qemu_require(struct lab *lab, char *path, size_t bytes) SP_MUST_CHECK;
int qemu_start(struct lab *lab, struct qemu *vm, const struct qemu_spec *spec) SP_MUST_CHECK;
/* Listens to all of them for a while. The number that still run. */
unsigned int qemu_watch(struct qemu *const *vms, unsigned int nr, int timeout_ms);
void qemu_destroy(struct qemu *vm);

/* Is this line of a kernel's console one that no healthy kernel writes? */
bool console_complains(const char *line, size_t length);
/*
 * The parts of the console that say most, at most `lines` of them each: the first complaint, with a few
 * lines before it, and the end where that is not the same. Their number, 0 to 2.
 */
struct console_part {
	const char *text;
	size_t bytes;
};
unsigned int console_excerpt(const char *console, unsigned int lines, struct console_part parts[2]);

#endif
