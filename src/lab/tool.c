/* SPDX-License-Identifier: GPL-2.0-only */
/* Other programs; see tool.h. */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define USUAL_PLACES "/usr/local/bin:/usr/bin:/bin"
#define POLL_MS	     200
#define PATIENCE_MS  1000 /* with a program that is asked to end */

static bool find_in(const char *places, const char *name, char *path, size_t bytes)
{
	while (places && *places) {
		size_t length = strcspn(places, ":");

		if (length &&
		    (size_t)snprintf(path, bytes, "%.*s/%s", (int)length, places, name) < bytes &&
		    !access(path, X_OK))
			return true;
		places += length + (places[length] == ':');
	}
	return false;
}

int tool_find(const char *name, char *path, size_t bytes)
{
	const char *places = getenv("PATH");

	return find_in(places ? places : USUAL_PLACES, name, path, bytes) ? 0 : -ENOENT;
}

int tool_require(struct lab *lab, const char *name, const char *package, char *path, size_t bytes)
{
	if (!tool_find(name, path, bytes))
		return 0;
	return lab_fail(lab, -ENOENT, "%s is not installed; Debian has it in the package %s", name,
			package);
}

static bool is_kept(const struct tool_files *files, int fd)
{
	for (const int *keep = files->keep; keep && *keep >= 0; keep++)
		if (*keep == fd)
			return true;
	return false;
}

/* What is not kept is closed by exec; standard files are put into place last. */
static bool place_files(const struct tool_files *files)
{
	const int wanted[] = {files->in, files->out, files->err};
	int null = open("/dev/null", O_RDWR), copies[3];

	if (null < 0)
		return false;
	for (int fd = 3; fd < 256; fd++)
		(void)fcntl(fd, F_SETFD, is_kept(files, fd) ? 0 : FD_CLOEXEC);
	/* A wanted file may be one of 0, 1 and 2 itself. */
	for (int i = 0; i < 3; i++) {
		copies[i] = fcntl(wanted[i] < 0 ? null : wanted[i], F_DUPFD_CLOEXEC, 3);
		if (copies[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(copies[i], i) < 0)
			return false;
	return true;
}

/* In the child. What fails here is told as the shell would, by status 127. */
static void become(const char *path, const char *const argv[], const char *dir,
		   const struct tool_files *files, bool apart, pid_t parent)
{
	sigset_t none;

	/* The parent may have died before it could be watched. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (apart)
		(void)setpgid(0, 0);
	if (dir && chdir(dir))
		_exit(127);
	if (!place_files(files) || setenv("LC_ALL", "C.UTF-8", 1))
		_exit(127);
	execv(path, (char *const *)(uintptr_t)argv);
	_exit(127);
}

int tool_start(struct lab *lab, const char *const argv[], const char *dir,
	       const struct tool_files *files, bool apart, pid_t *ret)
{
	pid_t parent = getpid();
	char path[PATH_MAX];

	if (strchr(argv[0], '/'))
		snprintf(path, sizeof(path), "%s", argv[0]);
	else if (tool_find(argv[0], path, sizeof(path)))
		return lab_fail(lab, -ENOENT, "%s is not installed", argv[0]);
	fflush(stdout);
	*ret = fork();
	if (*ret < 0)
		return lab_fail(lab, -errno, "%s: cannot be started: %s", argv[0], strerror(errno));
	if (!*ret)
		become(path, argv, dir, files, apart, parent);
	return 0;
}

/* A program's name as people know it. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The last line that says something; but of apt, which ends with advice, the first error. */
static void last_words(const char *said, char *last, size_t bytes)
{
	*last = 0;
	for (const char *line = said; *line;) {
		size_t length = strcspn(line, "\n"), shown = length;

		while (shown && line[shown - 1] == '\r')
			shown--;
		if (!strncmp(line, "E: ", 3) && shown > 3) {
			snprintf(last, bytes, "%.*s", (int)shown - 3, line + 3);
			return;
		}
		if (shown)
			snprintf(last, bytes, "%.*s", (int)shown, line);
		line += length + (line[length] == '\n');
	}
}

/* Until both streams have ended. */
static int listen_to(struct lab *lab, struct pollfd *files, struct text *const *texts,
		     const struct tool_ears *ears)
{
	while (files[0].fd >= 0 || files[1].fd >= 0) {
		int n = poll(files, 2, POLL_MS);

		if (lab_stopped(lab))
			return lab_fail(lab, -EINTR, "interrupted");
		for (int i = 0; i < 2 && n > 0; i++) {
			char data[8192];
			ssize_t got;

			if (files[i].fd < 0 || !files[i].revents)
				continue;
			got = read(files[i].fd, data, sizeof(data));
			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				files[i].fd = -1;
			else if (texts[i] && text_add(texts[i], data, (size_t)got))
				return lab_fail(lab, -ENOMEM, "out of memory");
			if (got > 0 && !i && ears->heard)
				ears->heard(ears->arg, texts[0]);
		}
	}
	return 0;
}

/* What it started too; it may not be apart yet itself. A make that is killed leaves half a file. */
static void end_all(pid_t pid)
{
	siginfo_t info = {0};

	kill(-pid, SIGTERM);
	kill(pid, SIGTERM);
	for (int ms = 0; ms < PATIENCE_MS; ms += 10) {
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid)
			break;
		usleep(10000);
	}
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
}

int tool_hear(struct lab *lab, const char *const argv[], const char *dir,
	      const struct tool_ears *ears)
{
	int out_pipe[2], err_pipe[2], status = 0, err;
	struct text own, *said = ears->err ? ears->err : &own, *texts[] = {ears->out, said};
	struct pollfd files[2];
	pid_t pid;

	if (pipe2(out_pipe, O_CLOEXEC))
		return lab_fail(lab, -errno, "no pipe: %s", strerror(errno));
	if (pipe2(err_pipe, O_CLOEXEC)) {
		err = lab_fail(lab, -errno, "no pipe: %s", strerror(errno));
		close(out_pipe[0]);
		close(out_pipe[1]);
		return err;
	}
	text_init(&own, lab->mem);
	err = tool_start(lab, argv, dir, &(struct tool_files){-1, out_pipe[1], err_pipe[1], NULL},
			 true, &pid);
	close(out_pipe[1]);
	close(err_pipe[1]);
	if (!err) {
		files[0] = (struct pollfd){out_pipe[0], POLLIN, 0};
		files[1] = (struct pollfd){err_pipe[0], POLLIN, 0};
		err = listen_to(lab, files, texts, ears);
		if (err)
			end_all(pid);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (!err && status) {
			char last[512];

			last_words(text_string(said), last, sizeof(last));
			err = lab_fail(lab, -EIO, "%s failed%s%s", base_name(argv[0]),
				       *last ? ": " : "", last);
		}
	}
	close(out_pipe[0]);
	close(err_pipe[0]);
	text_destroy(&own);
	return err;
}

int tool_run(struct lab *lab, const char *const argv[], const char *dir, struct text *out)
{
	return tool_hear(lab, argv, dir, &(struct tool_ears){.out = out});
}
