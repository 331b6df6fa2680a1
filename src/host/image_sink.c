/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Telling, counting and wording for the readers of real memory; see
 * image_sink.h.
 */
#include "image_sink.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void image_sink_init(struct image_sink *sink, const struct image_ops *ops,
		     void *arg, struct image_report *report, char *msg,
		     size_t msg_bytes)
{
	*sink = (struct image_sink){
		.ops = ops,
		.arg = arg,
		.report = report,
		.msg = msg,
		.msg_bytes = msg_bytes,
	};
	memset(report, 0, sizeof(*report));
	if (msg_bytes)
		msg[0] = '\0';
}

int image_sink_vma(struct image_sink *sink, const struct image_vma *vma)
{
	sink->report->nr_vmas++;
	return sink->ops->vma(sink->arg, vma);
}

int image_sink_pages(struct image_sink *sink, uint64_t addr, uint64_t nr_pages,
		     enum image_page_state state, const void *contents)
{
	const char *page = contents;

	for (uint64_t i = 0; i < nr_pages; i++) {
		int err;

		sink->report->nr_pages[state]++;
		err = sink->ops->page(sink->arg, addr + i * PAGE_SIZE, state,
				      page + i * PAGE_SIZE);
		if (err)
			return err;
	}
	return 0;
}

int image_sink_run(struct image_sink *sink, uint64_t addr, uint64_t nr_pages,
		   enum image_page_state state)
{
	if (!nr_pages)
		return 0;
	sink->report->nr_pages[state] += nr_pages;
	return sink->ops->run(sink->arg, addr, nr_pages, state);
}

int image_sink_fail(struct image_sink *sink, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (sink->msg_bytes)
		vsnprintf(sink->msg, sink->msg_bytes, fmt, args);
	va_end(args);
	return err;
}

void image_vma_set_name(struct image_vma *vma, const char *name, size_t len)
{
	if (len >= sizeof(vma->name))
		len = sizeof(vma->name) - 1;
	memcpy(vma->name, name, len);
	vma->name[len] = '\0';
}

static bool starts_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

bool image_name_is_zero_device(const char *name)
{
	return starts_with(name, "/dev/zero");
}

bool image_name_is_special(const char *name)
{
	static const char *const prefixes[] = {
		"[vdso]", "[vvar", "[vsyscall]", "[uprobes]", "anon_inode:",
		"/anon_hugepage", "/dmabuf:", "/sys/", "/proc/",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (starts_with(name, prefixes[i]))
			return true;
	}
	return starts_with(name, "/dev/") && !starts_with(name, "/dev/shm/") &&
	       !image_name_is_zero_device(name);
}
