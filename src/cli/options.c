/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options of a subcommand: argp describes and parses them, but what argp says of a wrong one takes
 * two lines, names no near one, and does not say what the option's value would be. So the words are
 * checked first, against argp's own list; what passes is what getopt_long() takes.
 */
#include <argp.h>
#include <string.h>

#include "cli.h"
#include "suggest.h"

static const char *what_of(char **argv)
{
	const char *blank = strchr(argv[0], ' ');

	return blank ? blank + 1 : argv[0];
}

/* The option that is written exactly so, else the only one that starts so. */
static const struct argp_option *find(const struct argp_option *list, const char *name,
				      size_t length)
{
	const struct argp_option *found = NULL;

	for (const struct argp_option *o = list; o->name; o++) {
		if (strncmp(o->name, name, length) != 0)
			continue;
		if (!o->name[length])
			return o;
		if (found)
			return NULL;
		found = o;
	}
	return found;
}

/* "-o" and "-oVALUE", but not "-output", which is a mistake. */
static const struct argp_option *find_short(const struct argp_option *list, const char *word,
					    size_t length)
{
	for (const struct argp_option *o = list; o->name; o++)
		if (strlen(o->name) == length - 1 && !strncmp(o->name, word + 1, length - 1))
			return NULL;
	for (const struct argp_option *o = list; o->name; o++)
		if (o->key == word[1] && (o->arg || !word[2]))
			return o;
	return NULL;
}

static void complain_unknown(const struct argp_option *list, char **argv, const char *word,
			     size_t length)
{
	size_t dashes = strspn(word, "-");
	struct suggestion near;

	suggest_init(&near, word + dashes, length - dashes);
	for (const struct argp_option *o = list; o->name; o++)
		suggest_consider(&near, o->name);
	if (near.best)
		complain("%s: %.*s: no such option; did you mean '--%s'?", what_of(argv),
			 (int)length, word, near.best);
	else
		complain("%s: %.*s: no such option; '%s --help' lists them", what_of(argv),
			 (int)length, word, argv[0]);
}

/* *skip: the next word is this one's value. */
static bool check_word(const struct argp_option *list, char **argv, const char *word,
		       const char *next, bool *skip)
{
	static const struct argp_option help[] = {{.name = "help"}, {.name = "usage"}, {0}};
	size_t length = strcspn(word, "=");
	const struct argp_option *o = NULL;

	if (!strcmp(word, "-?"))
		return true;
	if (word[1] == '-') {
		o = find(list, word + 2, length - 2);
		if (!o)
			o = find(help, word + 2, length - 2);
	}
	if (word[1] != '-' && (o = find_short(list, word, length))) {
		*skip = o->arg && !word[2];
		if (*skip && !next)
			complain("%s: %s: needs a value: %s %s", what_of(argv), word, word, o->arg);
		return !*skip || next;
	}
	if (!o) {
		complain_unknown(list, argv, word, length);
		return false;
	}
	if (!o->arg && word[length]) {
		complain("%s: %s: --%s takes no value", what_of(argv), word, o->name);
		return false;
	}
	*skip = o->arg && !word[length];
	if (*skip && !next) {
		complain("%s: --%s: needs a value: --%s %s", what_of(argv), o->name, o->name,
			 o->arg);
		return false;
	}
	return true;
}

bool parse_options(const struct argp *argp, int argc, char **argv, void *input)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		bool skip = false;

		/* "-" alone is a word like any other. */
		if (argv[i][0] != '-' || !argv[i][1])
			continue;
		if (!check_word(argp->options, argv, argv[i], argv[i + 1], &skip))
			return false;
		i += skip;
	}
	argp_err_exit_status = EXIT_USAGE;
	return !argp_parse(argp, argc, argv, 0, NULL, input);
}
