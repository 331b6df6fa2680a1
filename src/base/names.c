/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of errno names; see names.h. */
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"

static const struct {
	const char *name;
	int value;
} errnos[] = {
#define E(name) { #name, name }
	E(EPERM),  E(ENOENT), E(ESRCH),	 E(EINTR),  E(EIO),	E(EBADF),
	E(EAGAIN), E(ENOMEM), E(EACCES), E(EFAULT), E(EBUSY),	E(EEXIST),
	E(ENODEV), E(EINVAL), E(ENOSPC), E(ERANGE), E(ENOSYS), E(EOVERFLOW),
	E(EUCLEAN), E(EOPNOTSUPP), E(EDEADLK), E(ETIME), E(EHWPOISON),
	E(ENODATA), E(ENOTDIR), E(EISDIR), E(EFBIG), E(ELOOP), E(ENAMETOOLONG),
	E(ENODATA), E(EISDIR), E(ENOTDIR), E(EFBIG), E(ECHILD), E(ENOTTY), E(ETIMEDOUT),
#undef E
};

const char *errno_name(int err)
{
	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++)
		if (errnos[i].value == abs(err))
			return errnos[i].name;
	return "E?";
}

int errno_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++)
		if (!strcmp(errnos[i].name, name))
			return errnos[i].value;
	return 0;
}
