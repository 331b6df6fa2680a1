/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage vm shell: a shell in a guest, on this terminal.
 *
 * What the guest writes goes to the terminal by itself. What is typed passes through here: a serial
 * port throws away what comes before the kernel has opened it, so it is kept until the guest says
 * that its shell starts. Where the input ends, that is what the shell is told, as a terminal would,
 * by ^D.
 *
 * The terminal is raw meanwhile, so that ^C is the guest's, and as it was afterwards.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cmd_vm.h"
#include "initramfs.h"

#define END_OF_INPUT "\004"

/* What was typed, and what the guest has not taken yet. */
struct keyboard {
	int pipe; /* to the guest */
	bool ended, end_told;
	size_t bytes;
	char typed[4096];
};

static void read_keys(struct keyboard *k)
{
	ssize_t n = read(STDIN_FILENO, k->typed + k->bytes, sizeof(k->typed) - k->bytes);

	if (n > 0)
		k->bytes += (size_t)n;
	else if (!n || errno != EINTR)
		k->ended = true;
}

static void pass_keys(struct keyboard *k)
{
	ssize_t n;

	if (!k->bytes && k->ended && !k->end_told) {
		memcpy(k->typed, END_OF_INPUT, 1);
		k->bytes = 1;
		k->end_told = true;
	}
	if (!k->bytes)
		return;
	n = write(k->pipe, k->typed, k->bytes);
	if (n <= 0)
		return;
	k->bytes -= (size_t)n;
	memmove(k->typed, k->typed + n, k->bytes);
}

/* Until there is a key, room for one, or a word of the guest's. */
static void wait_for_any(const struct keyboard *k, const struct qemu *guest)
{
	bool wants = k->bytes || (k->ended && !k->end_told);
	struct pollfd files[] = {
		{.fd = !k->ended && k->bytes < sizeof(k->typed) ? STDIN_FILENO : -1,
		 .events = POLLIN},
		{.fd = guest->booted_ns && wants ? k->pipe : -1, .events = POLLOUT},
		{.fd = guest->channel_fd, .events = POLLIN},
	};

	(void)poll(files, ARRAY_SIZE(files), 500);
}

static bool has_input(void)
{
	struct pollfd file = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&file, 1, 0) > 0;
}

/* Notes are told once, before the shell's first word. */
static void tell_notes(const struct qemu *guest)
{
	const char *line = text_string(&guest->notes);

	while (*line) {
		size_t length = strcspn(line, "\n");

		fprintf(stderr, "note: %.*s\r\n", (int)length, line);
		line += length + (line[length] == '\n');
	}
}

static void serve(struct qemu *guest, int pipe)
{
	struct keyboard keys = {.pipe = pipe};
	struct qemu *guests[] = {guest};

	while (guest->pid) {
		bool booted = guest->booted_ns;

		wait_for_any(&keys, guest);
		if (!keys.ended && keys.bytes < sizeof(keys.typed) && has_input())
			read_keys(&keys);
		(void)qemu_watch(guests, 1, 0);
		if (guest->booted_ns && !booted)
			tell_notes(guest);
		if (guest->booted_ns)
			pass_keys(&keys);
	}
}

static bool make_raw(struct termios *before)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, before))
		return false;
	raw = *before;
	cfmakeraw(&raw);
	/* What others of this terminal write stays readable. */
	raw.c_oflag |= OPOST;
	return !tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static int run_shell(struct lab *lab, const struct cached_kernel *kernel)
{
	struct initramfs_spec image = {.kernel = kernel, .shell = true};
	struct qemu_spec spec = {.kernel = kernel, .limit_ns = UINT64_MAX, .shell = true};
	struct termios before;
	struct qemu guest;
	int pipes[2], err;
	bool terminal;

	if (pipe2(pipes, O_CLOEXEC)) {
		complain("vm: no pipe: %s", strerror(errno));
		return EXIT_USAGE;
	}
	(void)fcntl(pipes[1], F_SETFL, O_NONBLOCK);
	err = initramfs_build(lab, &image, &spec.initramfs);
	if (!err) {
		spec.input = pipes[0];
		err = qemu_start(lab, &guest, &spec);
		close(spec.initramfs);
	}
	close(pipes[0]);
	if (err) {
		close(pipes[1]);
		complain("vm: %s", lab->msg);
		return EXIT_USAGE;
	}
	terminal = make_raw(&before);
	serve(&guest, pipes[1]);
	if (terminal)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	close(pipes[1]);
	if (guest.end != GUEST_done)
		complain("vm: %s: the guest's end: %s: %s", kernel->name, guest_end_name(guest.end),
			 guest.why);
	err = guest.end == GUEST_done				   ? EXIT_HELD
	      : guest.end == GUEST_died || guest.end == GUEST_hung ? EXIT_GUEST
								   : EXIT_USAGE;
	qemu_destroy(&guest);
	return err;
}

enum { KEY_KERNEL = 256 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **word = state->input;

	switch (key) {
	case KEY_KERNEL:
		*word = arg;
		if (!strcmp(arg, "all")) {
			complain("vm shell: --kernel all: a shell is on one kernel");
			return EINVAL;
		}
		return vm_check_kernel_word(arg) ? 0 : EINVAL;
	case ARGP_KEY_ARG:
		complain("vm shell: %s: takes no files", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int vm_shell(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"kernel", KEY_KERNEL, "KERNEL", 0,
		 "6.1, 6.12, 7.2, one that was built, or a path (default 7.2)", 0},
		{0}};
	static const struct argp argp = {
		list,
		parse,
		"",
		"A shell in a guest, with samepage and a few tools of this system. Its end "
		"switches "
		"the guest off."
		"\vWhat is typed before the shell is there, it gets when it is. Commands may come "
		"from a "
		"pipe:\n"
		"  echo 'grep . /sys/kernel/mm/ksm/*' | samepage vm shell --kernel 6.1\n\n"
		"Exit status: 0 the shell ended; 2 wrong option, no QEMU, no kernel, an unfit one; "
		"4 the "
		"guest died.",
		NULL,
		NULL,
		NULL};
	static struct vm_kernels kernels;
	const char *word = "7.2";
	char path[PATH_MAX];
	struct lab lab;
	struct mem mem;
	int status = 0;

	if (!parse_options(&argp, argc, argv, &word) || !vm_open_lab(&lab, &mem))
		return EXIT_USAGE;
	if (qemu_require(&lab, path, sizeof(path))) {
		complain("vm: %s", lab.msg);
		status = EXIT_USAGE;
	}
	if (!status)
		status = vm_add_kernels(&lab, &kernels, word);
	if (!status)
		status = run_shell(&lab, &kernels.list[0]);
	lab_destroy(&lab);
	return status;
}
