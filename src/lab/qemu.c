/* SPDX-License-Identifier: GPL-2.0-only */
/* Guests; see qemu.h. */
#include "qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "tool.h"

#define QEMU	     "qemu-system-x86_64"
#define QEMU_PACKAGE "qemu-system-x86"
/* A guest that talks without end is cut short, not its host. */
#define CONSOLE_MAX ((size_t)1 << 20)
#define OUTPUT_MAX  ((size_t)64 << 20)
#define WORDS_MAX   64
/* What a boot spends its time on in emulation, and no scenario has a use for: a third of it. */
#define FASTER                                                                               \
	"lpj=8000000 tsc=reliable no_timer_check mitigations=off cryptomgr.notests audit=0 " \
	"apparmor=0"
/* A processor that its host has no time for looks locked up: that is believed after 60 s, not 20. */
#define PATIENCE     "watchdog_thresh=30"
#define LINES_BEFORE 4 /* a complaint: what led to it */

const char *guest_end_name(enum guest_end end)
{
	static const char *const names[] = {
#define GUEST_END_NAME(name) #name,
		GUEST_END_KINDS(GUEST_END_NAME)
#undef GUEST_END_NAME
	};

	return names[end];
}

int qemu_require(struct lab *lab, char *path, size_t bytes)
{
	return tool_require(lab, QEMU, QEMU_PACKAGE, path, bytes);
}

bool console_complains(const char *line, size_t length)
{
	static const char *const complaints[] = {"BUG: ",
						 "kernel BUG at ",
						 "WARNING: ",
						 "Oops: ",
						 "Kernel panic - not syncing",
						 "general protection fault",
						 "blocked for more than",
						 "soft lockup",
						 "Bad page state",
						 "unable to handle",
						 "refcount_t: ",
						 "Bad rss-counter state"};

	for (unsigned int i = 0; i < ARRAY_SIZE(complaints); i++)
		if (memmem(line, length, complaints[i], strlen(complaints[i])))
			return true;
	return false;
}

static const char *line_back(const char *console, const char *at, unsigned int lines)
{
	while (at > console && lines) {
		at--;
		if (at == console || at[-1] == '\n')
			lines--;
	}
	return at;
}

static const char *line_on(const char *at, unsigned int lines)
{
	for (; *at && lines; lines--) {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return at;
}

unsigned int console_excerpt(const char *console, unsigned int lines, struct console_part parts[2])
{
	const char *end = console + strlen(console), *tail = line_back(console, end, lines);
	const char *complaint = NULL, *after;
	unsigned int nr = 0;

	for (const char *line = console; *line && !complaint; line = line_on(line, 1))
		if (console_complains(line, strcspn(line, "\n")))
			complaint = line_back(console, line, LINES_BEFORE);
	if (complaint && complaint < tail) {
		after = line_on(complaint, lines);
		after = MIN(after, tail);
		parts[nr++] = (struct console_part){complaint, (size_t)(after - complaint)};
	}
	if (tail < end)
		parts[nr++] = (struct console_part){tail, (size_t)(end - tail)};
	return nr;
}

static void on_message(void *arg, enum channel_kind kind, const char *data, size_t bytes)
{
	struct qemu *vm = arg;
	struct text *text = NULL;

	/* After the end, nothing counts. */
	if (vm->end != GUEST_running)
		return;
	switch (kind) {
	case CHANNEL_BOOTED:
		vm->booted_ns = clock_measure_ns();
		snprintf(vm->release, sizeof(vm->release), "%.*s", (int)bytes, data);
		break;
	case CHANNEL_NOTE:
		text = &vm->notes;
		break;
	case CHANNEL_OUTPUT:
		text = &vm->output;
		break;
	case CHANNEL_ERROR:
		text = &vm->errors;
		break;
	case CHANNEL_UNFIT:
		vm->end = GUEST_unfit;
		snprintf(vm->why, sizeof(vm->why), "%.*s", (int)bytes, data);
		break;
	case CHANNEL_EXIT:
		vm->end = GUEST_done;
		vm->exit_status = atoi(data);
		break;
	}
	if (!text || text->bytes > OUTPUT_MAX)
		return;
	if (text_add(text, data, bytes) || (kind == CHANNEL_NOTE && text_add(text, "\n", 1)))
		vm->out_of_memory = true;
}

static void on_console(struct qemu *vm, const char *data, size_t bytes)
{
	struct text *console = &vm->console;
	size_t old = console->bytes;
	const char *line;

	if (text_add(console, data, bytes)) {
		vm->out_of_memory = true;
		return;
	}
	/* A NUL would end the text for those who read it. */
	for (size_t i = old; i < console->bytes; i++)
		if (!console->data[i])
			console->data[i] = '?';
	while (old && console->data[old - 1] != '\n')
		old--;
	for (line = console->data + old; (data = strchr(line, '\n')); line = data + 1)
		vm->nr_complaints += console_complains(line, (size_t)(data - line));
	if (console->bytes > CONSOLE_MAX)
		text_drop(console, CONSOLE_MAX / 2);
}

/* Everything that the two pipes hold. */
static void listen_to(struct qemu *vm)
{
	int *const fds[] = {&vm->console_fd, &vm->channel_fd};
	char data[16384];

	for (unsigned int i = 0; i < 2; i++) {
		ssize_t n;

		while (*fds[i] >= 0 && (n = read(*fds[i], data, sizeof(data))) != -1) {
			if (n > 0 && !i)
				on_console(vm, data, (size_t)n);
			if (n > 0 && i && channel_feed(&vm->channel, data, (size_t)n)) {
				vm->end = GUEST_died;
				snprintf(vm->why, sizeof(vm->why), "its channel broke");
			}
			if (!n || vm->end == GUEST_died) {
				close(*fds[i]);
				*fds[i] = -1;
			}
		}
	}
}

/* QEMU takes most signals for a wish, ends well, and says last who wished it: NULL, or that. */
static const char *who_ended_it(const struct qemu *vm)
{
	static const char said[] = QEMU ": terminating on ";
	const char *console = text_string(&vm->console), *at;

	at = line_back(console, console + vm->console.bytes, 1);
	/* The guest may have been in the middle of a line. */
	at = strstr(at, said);
	return at ? at + strlen(said) : NULL;
}

static void reap(struct qemu *vm, bool killed)
{
	const char *who;
	int status = 0;

	if (killed)
		kill(vm->pid, SIGKILL);
	while (waitpid(vm->pid, &status, 0) < 0 && errno == EINTR)
		;
	vm->pid = 0;
	vm->end_ns = clock_measure_ns();
	if (vm->end != GUEST_running)
		return;
	who = who_ended_it(vm);
	vm->end = WIFSIGNALED(status) || who ? GUEST_killed : GUEST_died;
	if (WIFSIGNALED(status))
		snprintf(vm->why, sizeof(vm->why), "QEMU by signal %d%s", WTERMSIG(status),
			 WTERMSIG(status) == SIGKILL ? ", by somebody or for want of memory" : "");
	else if (who)
		/* "signal 15 from pid 1234 (kill)" */
		snprintf(vm->why, sizeof(vm->why), "QEMU by %.*s", (int)strcspn(who, "\r\n"), who);
	else if (WEXITSTATUS(status))
		/* It was not started right: what it says is all that is on the console. */
		snprintf(vm->why, sizeof(vm->why), "QEMU failed with status %d",
			 WEXITSTATUS(status));
	else
		snprintf(vm->why, sizeof(vm->why), "%s",
			 vm->booted_ns ? "the kernel died while the command ran"
				       : "the kernel died before its first process ran");
}

static void look_after(struct qemu *vm)
{
	uint64_t now = clock_measure_ns();

	if (vm->end == GUEST_running && now - vm->start_ns > vm->limit_ns) {
		vm->end = GUEST_hung;
		snprintf(vm->why, sizeof(vm->why), "%s within %.0f s",
			 vm->booted_ns ? "the command did not end"
				       : "the kernel did not reach its first process",
			 (double)vm->limit_ns / 1e9);
	}
	/* Without streams QEMU is gone, or will be. */
	if (vm->end != GUEST_running)
		reap(vm, true);
	else if (vm->console_fd < 0 && vm->channel_fd < 0)
		reap(vm, false);
}

unsigned int qemu_watch(struct qemu *const *vms, unsigned int nr, int timeout_ms)
{
	struct pollfd files[2 * 8];
	unsigned int nr_files = 0, running = 0;

	for (unsigned int i = 0; i < nr && nr_files + 2 <= ARRAY_SIZE(files); i++) {
		if (!vms[i] || !vms[i]->pid)
			continue;
		files[nr_files++] = (struct pollfd){vms[i]->console_fd, POLLIN, 0};
		files[nr_files++] = (struct pollfd){vms[i]->channel_fd, POLLIN, 0};
	}
	(void)poll(files, nr_files, timeout_ms);
	for (unsigned int i = 0; i < nr; i++) {
		if (!vms[i] || !vms[i]->pid)
			continue;
		listen_to(vms[i]);
		look_after(vms[i]);
		running += vms[i]->pid != 0;
	}
	return running;
}

/* QEMU's words. Files are given by descriptor: nothing of a guest has a name. */
struct words {
	const char *argv[WORDS_MAX];
	unsigned int nr;
	char kernel[PATH_MAX + 64], initrd[64], append[1024], console[64], channel[64];
};

static void add_words(struct words *w, const char *const *words)
{
	while (*words && w->nr < WORDS_MAX - 1)
		w->argv[w->nr++] = *words++;
	w->argv[w->nr] = NULL;
}

static void set_words(struct words *w, const char *qemu, const struct qemu_spec *spec, int console,
		      int channel)
{
	const char *const machine[] = {qemu,
				       "-nodefaults",
				       "-no-user-config",
				       "-display",
				       "none",
				       "-no-reboot",
				       /* The host's KSM is not to look at a guest. */
				       "-machine",
				       "pc,mem-merge=off",
				       "-accel",
				       "tcg,thread=multi",
				       "-cpu",
				       "max,-cx16",
				       "-smp",
				       "2,sockets=2",
				       "-m",
				       "1024,slots=1,maxmem=2G",
				       "-object",
				       "memory-backend-ram,id=memory0,size=512M",
				       "-object",
				       "memory-backend-ram,id=memory1,size=512M",
				       "-numa",
				       "node,nodeid=0,cpus=0,memdev=memory0",
				       "-numa",
				       "node,nodeid=1,cpus=1,memdev=memory1",
				       /* Of a node that has no other memory, so that all of it can go. */
				       "-numa",
				       "node,nodeid=2",
				       "-object",
				       "memory-backend-ram,id=dimm,size=128M",
				       "-device",
				       "pc-dimm,memdev=dimm,node=2",
				       "-kernel",
				       w->kernel,
				       "-initrd",
				       w->initrd,
				       "-append",
				       w->append,
				       NULL};
	const char *const batch[] = {"-chardev",	w->console,	   "-serial",
				     "chardev:console", "-chardev",	   w->channel,
				     "-serial",		"chardev:channel", NULL};
	const char *const shell[] = {"-chardev",	"stdio,id=console,signal=off",
				     "-serial",		"chardev:console",
				     "-chardev",	w->channel,
				     "-serial",		"chardev:channel",
				     NULL};

	snprintf(w->kernel, sizeof(w->kernel), "%s/%s", spec->kernel->dir,
		 spec->kernel->image.name);
	snprintf(w->initrd, sizeof(w->initrd), "/proc/self/fd/%d", spec->initramfs);
	snprintf(w->append, sizeof(w->append),
		 "rdinit=" GUEST_COMMAND " console=ttyS0 loglevel=%d oops=panic panic=-1 "
		 "softlockup_panic=1 " PATIENCE " nokaslr damon_stat.enabled=N memhp_default_state=offline " FASTER
		 " LD_LIBRARY_PATH=/lib %s -- vm-init %s",
		 spec->shell ? 4 : 7, spec->append ? spec->append : "", spec->shell ? "shell" : "run");
	snprintf(w->console, sizeof(w->console), "file,id=console,path=/proc/self/fd/%d", console);
	snprintf(w->channel, sizeof(w->channel), "file,id=channel,path=/proc/self/fd/%d", channel);
	add_words(w, machine);
	add_words(w, spec->shell ? shell : batch);
}

static int start_qemu(struct lab *lab, struct qemu *vm, const struct qemu_spec *spec, int console,
		      int channel)
{
	const int keep[] = {spec->initramfs, console, channel, -1};
	const int keep_shell[] = {spec->initramfs, channel, -1};
	struct tool_files files = {-1, -1, console, keep};
	struct words words = {.nr = 0};
	char qemu[PATH_MAX];
	int err;

	err = qemu_require(lab, qemu, sizeof(qemu));
	if (err)
		return err;
	set_words(&words, qemu, spec, console, channel);
	if (spec->shell)
		files = (struct tool_files){spec->input, STDOUT_FILENO, STDERR_FILENO, keep_shell};
	return tool_start(lab, words.argv, NULL, &files, true, &vm->pid);
}

int qemu_start(struct lab *lab, struct qemu *vm, const struct qemu_spec *spec)
{
	int console[2] = {-1, -1}, channel[2] = {-1, -1}, err = 0;

	*vm = (struct qemu){.kernel = spec->kernel,
			    .mem = lab->mem,
			    .console_fd = -1,
			    .channel_fd = -1,
			    .limit_ns = spec->limit_ns};
	channel_init(&vm->channel, lab->mem, on_message, vm);
	text_init(&vm->output, lab->mem);
	text_init(&vm->errors, lab->mem);
	text_init(&vm->notes, lab->mem);
	text_init(&vm->console, lab->mem);
	vm->start_ns = clock_measure_ns();
	if ((!spec->shell && pipe2(console, O_CLOEXEC | O_NONBLOCK)) ||
	    pipe2(channel, O_CLOEXEC | O_NONBLOCK))
		err = lab_fail(lab, -errno, "no pipe: %s", strerror(errno));
	if (!err)
		err = start_qemu(lab, vm, spec, console[1], channel[1]);
	vm->console_fd = console[0];
	vm->channel_fd = channel[0];
	if (console[1] >= 0)
		close(console[1]);
	if (channel[1] >= 0)
		close(channel[1]);
	if (err)
		qemu_destroy(vm);
	return err;
}

void qemu_destroy(struct qemu *vm)
{
	if (vm->pid > 0)
		reap(vm, true);
	if (vm->console_fd >= 0)
		close(vm->console_fd);
	if (vm->channel_fd >= 0)
		close(vm->channel_fd);
	vm->console_fd = vm->channel_fd = -1;
	channel_destroy(&vm->channel);
	text_destroy(&vm->output);
	text_destroy(&vm->errors);
	text_destroy(&vm->notes);
	text_destroy(&vm->console);
}
