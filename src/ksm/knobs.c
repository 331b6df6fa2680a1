/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writable files of /sys/kernel/mm/ksm (K31, K35, K40a, K41), and merge_old_ptes, an
 * experiment of ours.
 *
 * Values are parsed as the kernel's kstrto*() do: decimal, perhaps with a '+', perhaps with one
 * newline at the end, nothing else. Most knobs answer -EINVAL whatever is wrong;
 * merge_across_nodes and max_page_sharing pass on the parser's -ERANGE.
 *
 * One table; reading, listing and the man page come from it.
 *
 * Locks: those that touch trees take thread_mutex, which no batch then holds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ksm_internal.h"

/* The number, or -EINVAL, -ERANGE. */
static int parse_unsigned(const char *value, uint64_t max, uint64_t *ret)
{
	uint64_t number = 0;
	bool overflow = false;

	if (*value == '+')
		value++;
	if (*value < '0' || *value > '9')
		return -EINVAL;
	for (; *value >= '0' && *value <= '9'; value++) {
		overflow |= __builtin_mul_overflow(number, UINT64_C(10), &number);
		overflow |= __builtin_add_overflow(number, (uint64_t)(*value - '0'), &number);
	}
	/* The kernel stops at the first digit too many, whatever follows. */
	if (overflow)
		return -ERANGE;
	if (*value == '\n')
		value++;
	if (*value)
		return -EINVAL;
	if (number > max)
		return -ERANGE;
	*ret = number;
	return 0;
}

static int parse_int(const char *value, int64_t *ret)
{
	bool negative = *value == '-';
	uint64_t number;
	int err;

	if (negative && value[1] == '+')
		return -EINVAL;
	err = parse_unsigned(value + negative, negative ? UINT64_C(1) << 31 : INT32_MAX, &number);
	if (!err)
		*ret = negative ? -(int64_t)number : (int64_t)number;
	return err;
}

/* As kstrtobool(): the first letter decides, "on" and "off" by the second. */
static int parse_bool(const char *value, uint64_t *ret)
{
	char c = *value;

	if (c == 'o' || c == 'O') {
		c = value[1];
		if (!c || !strchr("nNfF", c))
			return -EINVAL;
		c = strchr("nN", c) ? '1' : '0';
	}
	if (c && strchr("yYtT1", c))
		*ret = 1;
	else if (c && strchr("nNfF0", c))
		*ret = 0;
	else
		return -EINVAL;
	return 0;
}

static bool streq(const char *value, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(value, word, n) && (!value[n] || (value[n] == '\n' && !value[n + 1]));
}

static int set_uint(struct ksm *ksm, const char *value, uint64_t *knob)
{
	(void)ksm;
	return parse_unsigned(value, UINT32_MAX, knob) ? -EINVAL : 0;
}

static int set_ulong(struct ksm *ksm, const char *value, uint64_t *knob)
{
	(void)ksm;
	return parse_unsigned(value, UINT64_MAX, knob) ? -EINVAL : 0;
}

static int set_bool(struct ksm *ksm, const char *value, uint64_t *knob)
{
	(void)ksm;
	return parse_bool(value, knob);
}

static int set_positive(struct ksm *ksm, const char *value, uint64_t *knob)
{
	uint64_t number;

	(void)ksm;
	if (parse_unsigned(value, UINT64_MAX, &number) || !number)
		return -EINVAL;
	*knob = number;
	return 0;
}

/* Parsed as long, kept as int. */
static int set_max_cpu(struct ksm *ksm, const char *value, uint64_t *knob)
{
	uint64_t number;

	(void)ksm;
	if (parse_unsigned(value, UINT64_MAX, &number))
		return -EINVAL;
	*knob = (uint32_t)number;
	return 0;
}

static int set_pages_to_scan(struct ksm *ksm, const char *value, uint64_t *knob)
{
	return ksm->knobs.advisor_mode ? -EINVAL : set_uint(ksm, value, knob);
}

static int set_sleep(struct ksm *ksm, const char *value, uint64_t *knob)
{
	uint64_t before = *knob;
	int err = set_uint(ksm, value, knob);

	/* A new value ends the sleep that is under way. */
	if (!err && *knob != before)
		ksm->wake_ns = ksm->vm->clock.now_ns;
	return err;
}

static int set_advisor_mode(struct ksm *ksm, const char *value, uint64_t *knob)
{
	uint64_t before = *knob;

	if (streq(value, "scan-time"))
		*knob = 1;
	else if (streq(value, "none"))
		*knob = 0;
	else
		return -EINVAL;
	if (*knob != before)
		advisor_set_defaults(ksm);
	return 0;
}

static int set_run(struct ksm *ksm, const char *value, uint64_t *knob)
{
	uint64_t run;
	int err = 0;

	if (parse_unsigned(value, UINT32_MAX, &run) || run > KSM_RUN_UNMERGE)
		return -EINVAL;
	mutex_acquire(&ksm->thread_mutex);
	if (*knob != run) {
		*knob = run;
		if (run == KSM_RUN_UNMERGE) {
			err = unmerge_all(ksm);
			if (err)
				*knob = KSM_RUN_STOP;
		}
	}
	mutex_release(&ksm->thread_mutex);
	return err;
}

/* These two need a world without KSM pages. */
static int change_empty(struct ksm *ksm, uint64_t *knob, uint64_t number)
{
	int err = 0;

	mutex_acquire(&ksm->thread_mutex);
	if (*knob != number) {
		if (ksm->count.pages_shared || nodes_remove_all(ksm))
			err = -EBUSY;
		else
			*knob = number;
	}
	mutex_release(&ksm->thread_mutex);
	return err;
}

static int set_merge_across_nodes(struct ksm *ksm, const char *value, uint64_t *knob)
{
	uint64_t number;
	int err = parse_unsigned(value, UINT64_MAX, &number);

	if (err)
		return err;
	return number > 1 ? -EINVAL : change_empty(ksm, knob, number);
}

static int set_max_page_sharing(struct ksm *ksm, const char *value, uint64_t *knob)
{
	int64_t number;
	int err = parse_int(value, &number);

	if (err)
		return err;
	/* A KSM page begins with two mappings. */
	return number < 2 ? -EINVAL : change_empty(ksm, knob, (uint64_t)number);
}

/* In the order in which the kernel lists them. */
#define KSM_KNOBS(X)                                    \
	X(sleep_millisecs, set_sleep)                   \
	X(pages_to_scan, set_pages_to_scan)             \
	X(run, set_run)                                 \
	X(merge_across_nodes, set_merge_across_nodes)   \
	X(max_page_sharing, set_max_page_sharing)       \
	X(stable_node_chains_prune_millisecs, set_uint) \
	X(use_zero_pages, set_bool)                     \
	X(smart_scan, set_bool)                         \
	X(advisor_mode, set_advisor_mode)               \
	X(advisor_max_cpu, set_max_cpu)                 \
	X(advisor_min_pages_to_scan, set_ulong)         \
	X(advisor_max_pages_to_scan, set_ulong)         \
	X(advisor_target_scan_time, set_positive)       \
	X(merge_old_ptes, set_bool)

struct knob {
	const char *name;
	size_t offset; /* of the uint64_t in struct ksm_knobs */
	int (*set)(struct ksm *ksm, const char *value, uint64_t *knob);
};

static const struct knob knob_table[] = {
#define X(name, set) { #name, offsetof(struct ksm_knobs, name), set },
	KSM_KNOBS(X)
#undef X
};

static const struct knob *find_knob(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(knob_table); i++) {
		if (!strcmp(knob_table[i].name, name))
			return &knob_table[i];
	}
	return NULL;
}

static uint64_t *knob_value(struct ksm *ksm, const struct knob *knob)
{
	return (uint64_t *)((char *)&ksm->knobs + knob->offset);
}

int ksm_knob_set(struct vm *vm, const char *name, const char *value)
{
	const struct knob *knob = find_knob(name);
	struct ksm *ksm = ksm_of(vm);

	if (!knob)
		return ksm_counter_get(vm, name, &(int64_t){ 0 }) ? -ENOENT : -EACCES;
	ksm_call_begin(ksm);
	return knob->set(ksm, value, knob_value(ksm, knob));
}

int ksm_knob_get(const struct vm *vm, const char *name, char *buf, size_t size)
{
	const struct knob *knob = find_knob(name);
	struct ksm *ksm = ksm_of(vm);
	int len;

	if (!knob)
		return -ENOENT;
	if (knob->set == set_advisor_mode)
		len = snprintf(buf, size, "%s",
			       ksm->knobs.advisor_mode ? "none [scan-time]" : "[none] scan-time");
	else
		len = snprintf(buf, size, "%" PRIu64, *knob_value(ksm, knob));
	return len < 0 || (size_t)len >= size ? -ENOSPC : 0;
}

const char *ksm_knob_name(unsigned int i)
{
	return i < ARRAY_SIZE(knob_table) ? knob_table[i].name : NULL;
}
