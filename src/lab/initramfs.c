/* SPDX-License-Identifier: GPL-2.0-only */
/* What a guest is given; see initramfs.h. */
#include "initramfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpio.h"
#include "elf_needs.h"
#include "tool.h"

struct build {
	struct lab *lab;
	struct cpio cpio;
};

static int told(struct build *b, int err)
{
	/* What writing the archive failed on has no message yet. */
	if (err && b->cpio.err == err)
		return lab_fail(b->lab, err, "%s: the guest's image cannot be written: %s",
				b->lab->dir, strerror(-err));
	return err;
}

static int read_whole(struct build *b, const char *path, struct text *data)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return lab_fail(b->lab, -errno, "%s: %s", path, strerror(errno));
	err = text_read(data, fd);
	close(fd);
	return err ? lab_fail(b->lab, err, "%s: %s", path, strerror(-err)) : 0;
}

static int add_file(struct build *b, const char *host_path, const char *guest_path,
		    unsigned int mode)
{
	struct text data;
	int err;

	if (cpio_has(&b->cpio, guest_path))
		return 0;
	text_init(&data, b->lab->mem);
	err = read_whole(b, host_path, &data);
	if (!err)
		err = told(b, cpio_file(&b->cpio, guest_path, mode, data.data, data.bytes));
	text_destroy(&data);
	return err;
}

/* The loader's list: "\tlibc.so.6 => /lib/.../libc.so.6 (0x...)", one library a line. */
static int add_libraries(struct build *b, const char *loader, const char *program)
{
	char place[PATH_MAX];
	const char *const argv[] = {loader, "--list", place, NULL};
	struct text out;
	char *at, *line;
	int err;

	/* A loader takes a name alone for a library. */
	snprintf(place, sizeof(place), "%s%s", strchr(program, '/') ? "" : "./", program);
	text_init(&out, b->lab->mem);
	err = tool_run(b->lab, argv, NULL, &out);
	at = out.data;
	while (!err && (line = next_line(&at))) {
		char name[256], path[1024], guest[512];

		if (sscanf(line, " %255s => %1023s", name, path) != 2 || path[0] != '/')
			continue;
		if (strchr(name, '/'))
			snprintf(guest, sizeof(guest), "%s", name);
		else
			snprintf(guest, sizeof(guest), "/lib/%s", name);
		err = add_file(b, path, guest, 0755);
	}
	text_destroy(&out);
	return err;
}

static int add_program(struct build *b, const char *host_path, const char *guest_path)
{
	char loader[PATH_MAX];
	struct text data;
	int err;

	text_init(&data, b->lab->mem);
	err = read_whole(b, host_path, &data);
	if (!err && elf_interpreter(data.data, data.bytes, loader, sizeof(loader)))
		err = lab_fail(b->lab, -ENOEXEC, "%s: not a 64-bit program", host_path);
	if (!err && !cpio_has(&b->cpio, guest_path))
		err = told(b, cpio_file(&b->cpio, guest_path, 0755, data.data, data.bytes));
	text_destroy(&data);
	if (err || !*loader)
		return err;
	err = add_file(b, loader, loader, 0755);
	return err ? err : add_libraries(b, loader, host_path);
}

static int add_modules(struct build *b, const struct cached_kernel *kernel)
{
	char path[PATH_MAX + 64], guest[128];
	struct text list;
	int err = 0;

	text_init(&list, b->lab->mem);
	for (unsigned int i = 0; i < kernel->nr_modules && !err; i++) {
		snprintf(path, sizeof(path), "%s/%s", kernel->dir, kernel->modules[i].name);
		snprintf(guest, sizeof(guest), GUEST_DIR "/%s", kernel->modules[i].name);
		err = add_file(b, path, guest, 0644);
		if (!err && text_printf(&list, "%s\n", kernel->modules[i].name))
			err = lab_fail(b->lab, -ENOMEM, "out of memory");
	}
	if (!err)
		err = told(b, cpio_file(&b->cpio, GUEST_MODULES, 0644, list.data, list.bytes));
	text_destroy(&list);
	return err;
}

static int add_args(struct build *b, const char *const *argv)
{
	struct text args;
	int err = 0;

	text_init(&args, b->lab->mem);
	for (; argv && *argv && !err; argv++)
		err = text_add(&args, *argv, strlen(*argv) + 1);
	if (err)
		err = lab_fail(b->lab, err, "out of memory");
	else
		err = told(b, cpio_file(&b->cpio, GUEST_ARGS, 0644, args.data, args.bytes));
	text_destroy(&args);
	return err;
}

/* A shell, and what a person looks around with; what is not installed is done without. */
static int add_shell(struct build *b)
{
	static const char *const tools[] = {
		"busybox", "cat",  "ls",   "ps",   "dmesg", "mount", "grep", "sed", "head", "tail",
		"sleep",   "kill", "free", "find", "wc",    "sort",  "cp",   "rm",  "mkdir"};
	char path[PATH_MAX], guest[PATH_MAX];
	int err;

	err = tool_require(b->lab, "sh", "dash", path, sizeof(path));
	if (!err)
		err = add_program(b, path, "/bin/sh");
	for (unsigned int i = 0; i < ARRAY_SIZE(tools) && !err; i++) {
		if (tool_find(tools[i], path, sizeof(path)))
			continue;
		snprintf(guest, sizeof(guest), "/bin/%s", tools[i]);
		err = add_program(b, path, guest);
	}
	return err;
}

static int fill(struct build *b, const struct initramfs_spec *spec)
{
	/* The kernel opens the console for its first process before anything is mounted. */
	static const char *const dirs[] = {"/dev", "/proc", "/sys", "/tmp", GUEST_WORK};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int err = 0;

	if (n < 0)
		return lab_fail(b->lab, -errno, "/proc/self/exe: %s", strerror(errno));
	self[n] = 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(dirs) && !err; i++)
		err = told(b, cpio_dir(&b->cpio, dirs[i]));
	if (!err)
		err = told(b, cpio_char_device(&b->cpio, "/dev/console", 5, 1));
	if (!err)
		err = told(b, cpio_char_device(&b->cpio, "/dev/null", 1, 3));
	if (!err)
		err = add_program(b, self, GUEST_COMMAND);
	if (!err)
		err = add_modules(b, spec->kernel);
	if (!err)
		err = add_args(b, spec->argv);
	if (!err && spec->shell)
		err = add_shell(b);
	for (unsigned int i = 0; i < spec->nr_files && !err; i++)
		err = spec->files[i].program ?
			      add_program(b, spec->files[i].host_path, spec->files[i].guest_path) :
			      add_file(b, spec->files[i].host_path, spec->files[i].guest_path, 0644);
	if (!err)
		err = told(b, cpio_end(&b->cpio));
	return err;
}

static int open_nameless(struct lab *lab)
{
	char path[PATH_MAX];
	int fd = open(lab->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	snprintf(path, sizeof(path), "%s/initramfs-XXXXXX", lab->dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

int initramfs_build(struct lab *lab, const struct initramfs_spec *spec, int *ret)
{
	struct build b = {.lab = lab};
	int err;

	*ret = open_nameless(lab);
	if (*ret < 0)
		return lab_fail(lab, -errno, "%s: the guest's image cannot be written: %s",
				lab->dir, strerror(errno));
	cpio_init(&b.cpio, lab->mem, *ret);
	err = fill(&b, spec);
	cpio_destroy(&b.cpio);
	if (err) {
		close(*ret);
		*ret = -1;
	}
	return err;
}

/* Does it stay below the directory that it starts from, step by step? */
static bool stays_below(const char *path)
{
	if (path[0] == '/')
		return false;
	for (const char *at = path; *at; at += *at == '/') {
		size_t length = strcspn(at, "/");

		if (!length || (length <= 2 && !strncmp(at, "..", length)))
			return false;
		at += length;
	}
	return true;
}

void initramfs_place(const char *host_path, unsigned int nr, struct initramfs_file *file,
		     char *name, size_t bytes)
{
	const char *slash = strrchr(host_path, '/');
	const char *below = host_path;

	while (!strncmp(below, "./", 2))
		below += 2;
	file->host_path = host_path;
	file->program = false;
	if (stays_below(below)) {
		snprintf(name, bytes, "%s", host_path);
		snprintf(file->guest_path, sizeof(file->guest_path), GUEST_WORK "/%s", below);
	} else {
		snprintf(name, bytes, "%u/%s", nr, slash ? slash + 1 : host_path);
		snprintf(file->guest_path, sizeof(file->guest_path), GUEST_WORK "/%s", name);
	}
}
