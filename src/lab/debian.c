/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels in Debian's packages; see debian.h. */
#include "debian.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct known_kernel known_kernels[] = {
	{"6.1", "bookworm", "linux-image-6.1.", "-cloud-amd64"},
	{"6.12", "bookworm-backports", "linux-image-6.12.", "-cloud-amd64"},
	{"7.2", "sid", "linux-image-7.2.", "-cloud-amd64"},
	{0},
};

const struct known_kernel *kernel_by_name(const char *name)
{
	for (const struct known_kernel *k = known_kernels; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

/* "~" sorts before the end, letters after it, everything else after letters. */
static int order(char c)
{
	if (isalpha((unsigned char)c))
		return c;
	if (c == '~')
		return -1;
	return !c || isdigit((unsigned char)c) ? 0 : c + 256;
}

/* The text up to `a_end` against that up to `b_end`: words and numbers in turn. */
static int compare_parts(const char *a, const char *a_end, const char *b, const char *b_end)
{
	while (a < a_end || b < b_end) {
		int digits = 0;

		while ((a < a_end && !isdigit((unsigned char)*a)) ||
		       (b < b_end && !isdigit((unsigned char)*b))) {
			int x = a < a_end ? order(*a) : 0, y = b < b_end ? order(*b) : 0;

			if (x != y)
				return x - y;
			a += a < a_end;
			b += b < b_end;
		}
		while (a < a_end && *a == '0')
			a++;
		while (b < b_end && *b == '0')
			b++;
		while (a < a_end && b < b_end && isdigit((unsigned char)*a) &&
		       isdigit((unsigned char)*b)) {
			if (!digits)
				digits = *a - *b;
			a++;
			b++;
		}
		if (a < a_end && isdigit((unsigned char)*a))
			return 1;
		if (b < b_end && isdigit((unsigned char)*b))
			return -1;
		if (digits)
			return digits;
	}
	return 0;
}

int debian_version_compare(const char *a, const char *b)
{
	const char *versions[] = {a, b}, *dashes[2];
	unsigned long epochs[2] = {0, 0};
	int result;

	for (int i = 0; i < 2; i++) {
		const char *colon = strchr(versions[i], ':');

		for (const char *c = versions[i]; colon && c < colon; c++)
			epochs[i] = epochs[i] * 10 + (unsigned long)(*c - '0');
		if (colon)
			versions[i] = colon + 1;
		dashes[i] = strrchr(versions[i], '-');
		if (!dashes[i])
			dashes[i] = versions[i] + strlen(versions[i]);
	}
	if (epochs[0] != epochs[1])
		return epochs[0] < epochs[1] ? -1 : 1;
	result = compare_parts(versions[0], dashes[0], versions[1], dashes[1]);
	if (result)
		return result;
	/* No revision is an empty one. */
	return compare_parts(dashes[0] + (*dashes[0] == '-'), dashes[0] + strlen(dashes[0]),
			     dashes[1] + (*dashes[1] == '-'), dashes[1] + strlen(dashes[1]));
}

#define IMAGE "linux-image-"

int debian_newest(const struct known_kernel *kernel, const char *names, char *release, size_t bytes)
{
	size_t prefix = strlen(kernel->prefix), suffix = strlen(kernel->suffix);
	char best[128] = "";

	for (const char *line = names; *line;) {
		size_t length = strcspn(line, "\n");
		char version[128];

		if (length > prefix + suffix && length < sizeof(version) &&
		    !strncmp(line, kernel->prefix, prefix) &&
		    !strncmp(line + length - suffix, kernel->suffix, suffix)) {
			snprintf(version, sizeof(version), "%.*s",
				 (int)(length - suffix - strlen(IMAGE)), line + strlen(IMAGE));
			if (!*best || debian_version_compare(version, best) > 0)
				memcpy(best, version, sizeof(best));
		}
		line += length + (line[length] == '\n');
	}
	if (!*best)
		return -ENOENT;
	return (size_t)snprintf(release, bytes, "%s%s", best, kernel->suffix) < bytes ? 0 : -EINVAL;
}

/* The value of a field of the stanza, up to the end of its line; NULL when it is not there. */
static const char *field(const char *stanza, const char *name, size_t *length)
{
	size_t name_length = strlen(name);

	for (const char *line = stanza; *line && *line != '\n';) {
		size_t n = strcspn(line, "\n");

		if (!strncmp(line, name, name_length) && line[name_length] == ':') {
			const char *value = line + name_length + 1;

			value += strspn(value, " ");
			*length = (size_t)(line + n - value);
			return value;
		}
		line += n + (line[n] == '\n');
	}
	return NULL;
}

static bool copy_word(char *to, size_t bytes, const char *from, size_t length)
{
	return (size_t)snprintf(to, bytes, "%.*s", (int)length, from) < bytes;
}

int debian_packages(const char *stanza, const char *release,
		    struct debian_package packages[DEBIAN_PACKAGES_MAX])
{
	size_t name_length, version_length, rest = 0;
	const char *name = field(stanza, "Package", &name_length);
	const char *version = field(stanza, "Version", &version_length);
	const char *depends = field(stanza, "Depends", &rest);
	int nr = 1;

	if (!name || !version ||
	    !copy_word(packages[0].name, sizeof(packages[0].name), name, name_length) ||
	    !copy_word(packages[0].version, sizeof(packages[0].version), version, version_length))
		return -EINVAL;
	while (depends && rest) {
		const char *comma = memchr(depends, ',', rest);
		size_t length = comma ? (size_t)(comma - depends) : rest;
		char one[256], word[128], exact[128];
		size_t at;

		if (!copy_word(one, sizeof(one), depends, length))
			one[0] = 0;
		depends += length + (comma != NULL);
		rest -= length + (comma != NULL);
		if (sscanf(one, " %127s (= %127[^)])", word, exact) != 2 ||
		    strncmp(word, "linux-", 6) != 0)
			continue;
		at = strlen(word) - MIN(strlen(word), strlen(release));
		if (strcmp(word + at, release) != 0)
			continue;
		if (nr == DEBIAN_PACKAGES_MAX)
			return -EINVAL;
		memcpy(packages[nr].name, word, sizeof(word));
		memcpy(packages[nr].version, exact, sizeof(exact));
		nr++;
	}
	return nr;
}

int debian_archive(const char *targets, char *uri, size_t bytes)
{
	/* Where the lists were never fetched apt knows no label, but how the archive's address ends. */
	for (int by_label = 1; by_label >= 0; by_label--) {
		for (const char *line = targets; *line;) {
			size_t length = strcspn(line, "\n");
			char label[64], component[64], address[512];
			char one[768];
			size_t end;

			if (copy_word(one, sizeof(one), line, length) &&
			    sscanf(one, "%63[^|]|%63[^|]|%511s", label, component, address) == 3 &&
			    !strcmp(component, "main")) {
				end = strlen(address);
				while (end && address[end - 1] == '/')
					address[--end] = 0;
				if (by_label ? !strcmp(label, "Debian")
					     : end > 7 && !strcmp(address + end - 7, "/debian"))
					return copy_word(uri, bytes, address, end) ? 0 : -EINVAL;
			}
			line += length + (line[length] == '\n');
		}
	}
	return -ENOENT;
}
