/* SPDX-License-Identifier: GPL-2.0-only */
/* Versions of Linux; see linux_version.h. */
#include "linux_version.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

static int take_number(const char **text, uint32_t *ret)
{
	uint32_t value = 0;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	for (; isdigit((unsigned char)**text); (*text)++) {
		value = value * 10 + (uint32_t)(**text - '0');
		if (value > LINUX_VERSION_LAST_PART)
			return -EINVAL;
	}
	*ret = value;
	return 0;
}

int linux_version_of_release(const char *release, uint32_t *ret)
{
	uint32_t major, minor;
	int err = take_number(&release, &major);

	if (err || *release++ != '.')
		return -EINVAL;
	err = take_number(&release, &minor);
	if (err)
		return err;
	*ret = LINUX_VERSION(major, minor);
	return 0;
}

int linux_version_running(uint32_t *ret)
{
	struct utsname name;

	if (uname(&name))
		return -errno;
	return linux_version_of_release(name.release, ret);
}

void linux_version_format(uint32_t version, char *buf, size_t size)
{
	snprintf(buf, size, "%u.%u", version >> 16, version & LINUX_VERSION_LAST_PART);
}
