/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of events and its one formatter; see event.h. */
#include "event.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct event_table event_table[NR_EVENTS] = {
#define X(name, args) { #name, args },
	SP_EVENTS(X)
#undef X
};

char *event_format(char *buf, size_t size, enum event_id id, const uint64_t *args)
{
	const char *name = event_table[id].args;
	size_t at = (size_t)snprintf(buf, size, "%s:", event_table[id].name);

	for (int i = 0; *name && at < size; i++) {
		size_t len = strcspn(name, " ");
		bool hex = *name == '*';
		int n;

		if (hex)
			n = snprintf(buf + at, size - at, " %.*s=0x%" PRIx64,
				     (int)(len - 1), name + 1, args[i]);
		else
			n = snprintf(buf + at, size - at, " %.*s=%" PRId64,
				     (int)len, name, (int64_t)args[i]);
		at += (size_t)n;
		name += len;
		name += strspn(name, " ");
	}
	return buf;
}
