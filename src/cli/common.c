/* SPDX-License-Identifier: GPL-2.0-only */
/* What the subcommands share: the dispatcher, numbers, messages, progress; see cli.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"
#include "clock.h"
#include "suggest.h"

void complain(const char *fmt, ...)
{
	va_list ap;

	progress_line("%s", "");
	fputs("samepage: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void list_commands(const struct command *table, const char *program, FILE *out)
{
	fprintf(out, "Usage: %s COMMAND [OPTION...]\n\n", program);
	for (; table->name; table++)
		fprintf(out, "  %-8s %s\n", table->name, table->summary);
	fprintf(out, "\n'%s COMMAND --help' tells more.\n", program);
}

int dispatch(const struct command *table, const char *program, const char *what, int argc,
	     char **argv)
{
	struct suggestion near;
	char full[64];

	if (argc < 2) {
		list_commands(table, program, stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "help")) {
		list_commands(table, program, stdout);
		return EXIT_HELD;
	}
	suggest_init(&near, argv[1], strlen(argv[1]));
	for (const struct command *c = table; c->name; c++) {
		suggest_consider(&near, c->name);
		if (strcmp(c->name, argv[1]))
			continue;
		snprintf(full, sizeof(full), "%s %s", program, c->name);
		argv[1] = full;
		return c->run(argc - 1, argv + 1);
	}
	if (near.best)
		complain("%s: no such %s; did you mean '%s'?", argv[1], what, near.best);
	else
		complain("%s: no such %s; '%s --help' lists them", argv[1], what, program);
	return EXIT_USAGE;
}

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

static bool to_number(const char *text, uint64_t *ret, const char **rest)
{
	char *end;

	errno = 0;
	if (*text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, &end, 0);
	*rest = end;
	return !errno;
}

bool parse_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *rest;

	if (to_number(text, ret, &rest) && !*rest && *ret >= min && *ret <= max)
		return true;
	complain("%s %s: must be a whole number from %" PRIu64 " to %" PRIu64, option, text, min,
		 max);
	return false;
}

bool parse_size(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
	static const char units[] = "KMGT";
	const char *rest, *unit;
	uint64_t value;

	if (to_number(text, &value, &rest)) {
		unsigned int shift = 0;

		unit = *rest ? strchr(units, *rest & ~0x20) : NULL;
		if (unit) {
			shift = 10 * (unsigned int)(unit - units + 1);
			rest++;
		}
		if (!*rest && value <= UINT64_MAX >> shift && value << shift >= min &&
		    value << shift <= max) {
			*ret = value << shift;
			return true;
		}
	}
	complain("%s %s: must be a size from %" PRIu64 "K to %" PRIu64 "G, such as 512M or 1G",
		 option, text, min >> 10, max >> 30);
	return false;
}

/* "1500 ms" has no shorter form, "60 s" has. */
static const char *format_duration(char *buf, size_t size, uint64_t ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"h", NS_PER_S * 3600}, {"m", NS_PER_S * 60}, {"s", NS_PER_S}};

	for (unsigned int i = 0; i < ARRAY_SIZE(units); i++) {
		if (ns < units[i].ns || ns % units[i].ns)
			continue;
		snprintf(buf, size, "%" PRIu64 "%s", ns / units[i].ns, units[i].unit);
		return buf;
	}
	snprintf(buf, size, "%" PRIu64 "ms", ns / NS_PER_MS);
	return buf;
}

static uint64_t unit_ns(const char *unit)
{
	if (!*unit || !strcmp(unit, "s"))
		return NS_PER_S;
	if (!strcmp(unit, "ms"))
		return NS_PER_MS;
	if (!strcmp(unit, "m") || !strcmp(unit, "min"))
		return 60 * NS_PER_S;
	return strcmp(unit, "h") ? 0 : 3600 * NS_PER_S;
}

bool parse_duration(const char *option, const char *text, uint64_t min_ns, uint64_t max_ns,
		    uint64_t *ret)
{
	char min[32], max[32];
	const char *unit;
	uint64_t value;

	if (to_number(text, &value, &unit) && unit_ns(unit) && value <= max_ns / unit_ns(unit) &&
	    value * unit_ns(unit) >= min_ns) {
		*ret = value * unit_ns(unit);
		return true;
	}
	complain("%s %s: must be a time from %s to %s, such as 500ms, 10s or 2m", option, text,
		 format_duration(min, sizeof(min), min_ns),
		 format_duration(max, sizeof(max), max_ns));
	return false;
}

bool choose_strategies(const char *text, bool *chosen)
{
	struct suggestion near;
	char names[128] = "all";
	enum sp_strategy s;

	if (!strcmp(text, "all")) {
		for (unsigned int i = 0; i < SP_NR_STRATEGIES; i++)
			chosen[i] = true;
		return true;
	}
	if (!sp_strategy_by_name(text, &s)) {
		chosen[s] = true;
		return true;
	}
	suggest_init(&near, text, strlen(text));
	for (unsigned int i = 0; i < SP_NR_STRATEGIES; i++) {
		suggest_consider(&near, sp_strategy_name(i));
		strcat(strcat(names, ", "), sp_strategy_name(i));
	}
	if (near.best)
		complain("--strategy %s: did you mean '%s'? It must be one of %s", text, near.best,
			 names);
	else
		complain("--strategy %s: must be one of %s", text, names);
	return false;
}

bool flush_output(const char **why)
{
	static int first;

	errno = 0;
	if (fflush(stdout) && !first)
		first = errno;
	*why = first ? strerror(first) : "an earlier write failed";
	return !ferror(stdout);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT_MEMORY 0 /* their shadow counts as data */
#else
#define LIMIT_MEMORY 1
#endif

void limit_memory(void)
{
	struct rlimit limit;
	uint64_t kib, bytes;
	char line[128];
	FILE *f;

	if (!LIMIT_MEMORY || getrlimit(RLIMIT_DATA, &limit))
		return;
	f = fopen("/proc/meminfo", "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) != 1)
			continue;
		bytes = MAX(kib * 1024 / 4 * 3, UINT64_C(1) << 30);
		limit.rlim_cur = MIN(limit.rlim_cur, MIN(limit.rlim_max, bytes));
		(void)setrlimit(RLIMIT_DATA, &limit);
		break;
	}
	fclose(f);
}

void progress_line(const char *fmt, ...)
{
	static uint64_t last_ns;
	static bool shown;
	uint64_t now;
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	now = clock_measure_ns();
	va_start(ap, fmt);
	if (!strcmp(fmt, "%s") && !*va_arg(ap, const char *)) {
		if (shown)
			fputs("\r\033[K", stderr);
		shown = false;
	} else if (now - last_ns > 100000000) {
		last_ns = now;
		shown = true;
		fputs("\r\033[K", stderr);
		va_end(ap);
		va_start(ap, fmt);
		vfprintf(stderr, fmt, ap);
	}
	va_end(ap);
	fflush(stderr);
}

const char *format_ns(char *buf, size_t size, uint64_t ns)
{
	double v = (double)ns;

	if (ns < 1000)
		snprintf(buf, size, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		snprintf(buf, size, "%.*f us", v < 1e5 ? 2 : 0, v / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, size, "%.*f ms", v < 1e8 ? 2 : 0, v / 1e6);
	else
		snprintf(buf, size, "%.2f s", v / 1e9);
	return buf;
}

const char *format_count(char *buf, size_t size, uint64_t n)
{
	char digits[24];
	size_t nr, at = 0;

	nr = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	for (size_t i = 0; i < nr && at + 2 < size; i++) {
		if (i && (nr - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
	return buf;
}
