/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Feeds every file of a fuzz target's kept corpus to the target, without
 * libFuzzer: the regression half of fuzzing, which needs no clang and so runs
 * under every compiler and sanitizer that the tests run under.
 *
 *	replay_scenario tests/fuzz/corpus/scenario
 *
 * Inputs are taken in the order of their names, each from a heap block of
 * exactly its size, so that an address sanitizer sees a read past its end. A
 * directory without files is an error: a test that ran nothing must not pass.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);
	FILE *file = fopen(path, "rb");
	int err = -EIO;

	if (data && file && fread(data, 1, size, file) == size) {
		err = 0;
		LLVMFuzzerTestOneInput(data, size);
	}
	if (file)
		fclose(file);
	free(data);
	return err;
}

static int replay_directory(const char *dir)
{
	struct dirent **entries;
	int nr_entries = scandir(dir, &entries, NULL, alphasort);
	int nr_replayed = 0;
	int nr_failed = 0;

	if (nr_entries < 0) {
		fprintf(stderr, "%s: %s\n", dir, strerror(errno));
		return EXIT_FAILURE;
	}
	for (int i = 0; i < nr_entries; i++) {
		char path[4096];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		free(entries[i]);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		/* Before the call: a crash must have named its input. */
		printf("replay %s\n", path);
		fflush(stdout);
		if (replay_file(path, (size_t)st.st_size)) {
			fprintf(stderr, "%s: cannot be read\n", path);
			nr_failed++;
		}
		nr_replayed++;
	}
	free(entries);
	if (!nr_replayed)
		fprintf(stderr, "%s: no inputs\n", dir);
	return nr_replayed && !nr_failed ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return EXIT_FAILURE;
	}
	return replay_directory(argv[1]);
}
