/* SPDX-License-Identifier: GPL-2.0-only */
/* The alphabet as text, and sequences as lists; see step.h. */
#include "step.h"

#include <stdio.h>
#include <string.h>

#include "bits.h"

const struct step_knob step_knobs[] = {
	{"smart_scan", "0"},
	{"smart_scan", "1"},
	{"max_page_sharing", "2"},
	{"max_page_sharing", "3"},
	{"max_page_sharing", "256"},
	{"use_zero_pages", "0"},
	{"use_zero_pages", "1"},
	{"merge_across_nodes", "0"},
	{"merge_across_nodes", "1"},
	{"merge_old_ptes", "1"},
	{"stable_node_chains_prune_millisecs", "0"},
	{"run", "0"},
	{"run", "1"},
	{"run", "2"},
};
const unsigned int nr_step_knobs = ARRAY_SIZE(step_knobs);

bool step_has_process(enum step_kind kind)
{
	switch (kind) {
	case STEP_DROP:
	case STEP_RECLAIM:
	case STEP_COMPACT:
	case STEP_SCAN:
	case STEP_SCAN_PAGES:
	case STEP_KNOB:
		return false;
	default:
		return true;
	}
}

bool step_has_range(enum step_kind kind)
{
	switch (kind) {
	case STEP_PROCESS:
	case STEP_FORK:
	case STEP_EXIT:
	case STEP_MERGE_ANY:
		return false;
	default:
		return step_has_process(kind);
	}
}

const char *step_advice_name(uint8_t advice)
{
	switch (advice) {
	case SP_MADV_DONTNEED:
		return "dontneed";
	case SP_MADV_DONTFORK:
		return "dontfork";
	case SP_MADV_DOFORK:
		return "dofork";
	case SP_MADV_MERGEABLE:
		return "mergeable";
	case SP_MADV_UNMERGEABLE:
		return "unmergeable";
	case SP_MADV_WIPEONFORK:
		return "wipeonfork";
	case SP_MADV_KEEPONFORK:
		return "keeponfork";
	case SP_MADV_COLD:
		return "cold";
	case SP_MADV_PAGEOUT:
		return "pageout";
	default:
		return "?";
	}
}

const char *step_prot_name(uint8_t prot)
{
	switch (prot) {
	case SP_PROT_NONE:
		return "none";
	case SP_PROT_READ:
		return "r";
	case SP_PROT_READ | SP_PROT_WRITE:
		return "rw";
	default:
		return "?";
	}
}

static const char *range_text(char *buf, size_t size, const struct shape *shape, unsigned int first,
			      unsigned int nr)
{
	if (first == 0 && nr == shape->nr_pages)
		snprintf(buf, size, "x");
	else if (nr == 1)
		snprintf(buf, size, "x[%u]", first);
	else
		snprintf(buf, size, "x[%u..%u]", first, first + nr - 1);
	return buf;
}

char *shape_print(const struct shape *shape, char *buf, size_t size)
{
	const struct {
		const char *name;
		unsigned int value, usual;
	} words[] = {
		{"nodes", shape->nr_nodes, 1},
		{"frames", shape->nr_frames, 0},
		{"swap", shape->nr_swap_slots, 0},
		{"map_limit", shape->nr_maps, 0},
	};
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].value != words[i].usual)
			used += (size_t)snprintf(buf + used, size - used, "%s %s %u",
						 used ? "" : "machine", words[i].name,
						 words[i].value);
	return buf;
}

char *step_print(const struct step *s, const struct shape *shape, char *buf, size_t size)
{
	char from[16], to[16];
	char p = (char)('a' + s->process);

	range_text(from, sizeof(from), shape, s->first, s->nr);
	switch ((enum step_kind)s->kind) {
	case STEP_PROCESS:
		snprintf(buf, size, "process %c", p);
		break;
	case STEP_FORK:
		snprintf(buf, size, "%c: fork %c", p, 'a' + s->to);
		break;
	case STEP_EXIT:
		snprintf(buf, size, "%c: exit", p);
		break;
	case STEP_MAP:
		snprintf(buf, size, "%c: map %s", p, from);
		break;
	case STEP_MAP_FILE:
		snprintf(buf, size, "%c: map %s file f at %u", p, from, s->arg);
		break;
	case STEP_MUNMAP:
		snprintf(buf, size, "%c: munmap %s", p, from);
		break;
	case STEP_MREMAP:
	case STEP_MREMAP_KEEP:
		snprintf(buf, size, "%c: mremap %s -> %s%s", p, from,
			 range_text(to, sizeof(to), shape, s->to, s->arg),
			 s->kind == STEP_MREMAP_KEEP ? " dontunmap" : "");
		break;
	case STEP_RESIZE:
		snprintf(buf, size, "%c: mremap %s resize %u", p, from, s->arg);
		break;
	case STEP_MPROTECT:
		snprintf(buf, size, "%c: mprotect %s %s", p, from, step_prot_name(s->arg));
		break;
	case STEP_MADVISE:
		snprintf(buf, size, "%c: madvise %s %s", p, from, step_advice_name(s->arg));
		break;
	case STEP_MLOCK:
		snprintf(buf, size, "%c: mlock %s", p, from);
		break;
	case STEP_MUNLOCK:
		snprintf(buf, size, "%c: munlock %s", p, from);
		break;
	case STEP_MERGE_ANY:
		snprintf(buf, size, "%c: prctl merge-any %u", p, s->arg);
		break;
	case STEP_FILL:
		snprintf(buf, size, "%c: fill %s 0x%02x", p, from, s->arg);
		break;
	case STEP_WRITE:
		snprintf(buf, size, "%c: write %s 0x%02x", p, from, s->arg);
		break;
	case STEP_TOUCH:
		snprintf(buf, size, "%c: touch %s", p, from);
		break;
	case STEP_SWAPOUT:
		snprintf(buf, size, "%c: swapout %s", p, from);
		break;
	case STEP_MIGRATE:
		snprintf(buf, size, "%c: migrate %s%s", p, from,
			 s->arg == MIGRATE_ALL ? "" : " move");
		break;
	case STEP_HOLD:
		snprintf(buf, size, "%c: hold %s as pipe%u", p, from, s->to);
		break;
	case STEP_DROP:
		snprintf(buf, size, "drop pipe%u", s->to);
		break;
	case STEP_RECLAIM:
		snprintf(buf, size, "reclaim %u rounds %u", s->arg, s->to);
		break;
	case STEP_COMPACT:
		snprintf(buf, size, "compact");
		break;
	case STEP_SCAN:
		snprintf(buf, size, "scan %u", s->arg);
		break;
	case STEP_SCAN_PAGES:
		snprintf(buf, size, "scan pages %u", s->arg);
		break;
	case STEP_KNOB:
		snprintf(buf, size, "set %s %s", step_knobs[s->arg].name, step_knobs[s->arg].value);
		break;
	case NR_STEP_KINDS:
		buf[0] = '\0';
		break;
	}
	return buf;
}

bool sequence_add(struct sequence *s, struct step step)
{
	if (s->nr == MAX_STEPS)
		return false;
	s->steps[s->nr++] = step;
	return true;
}

void sequence_remove(struct sequence *s, unsigned int at, unsigned int nr)
{
	memmove(&s->steps[at], &s->steps[at + nr], (s->nr - at - nr) * sizeof(s->steps[0]));
	s->nr = (uint16_t)(s->nr - nr);
}
