/* SPDX-License-Identifier: GPL-2.0-only */
/* The bounded report of the validators; see report.h. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>

void report_init(struct report *report)
{
	report->nr_findings = 0;
	report->used = 0;
	report->text[0] = '\0';
}

void report_add(struct report *report, const char *fmt, ...)
{
	size_t room = sizeof(report->text) - report->used;
	va_list ap;
	int n;

	report->nr_findings++;
	if (room < 128)
		return;
	va_start(ap, fmt);
	n = vsnprintf(report->text + report->used, room - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	report->used += MIN((size_t)n, room - 2);
	report->text[report->used++] = '\n';
	report->text[report->used] = '\0';
}
