/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an exhaustive search is made of: the machines it starts from, and the steps that it tries in
 * every order.
 *
 * The machine has one window of ALPHABET_PAGES pages and up to two processes, a and one forked from it (or
 * from that, after a's exit). smart_scan is 0, so that a scan looks at every page.
 *
 * Starts: a has a window that is mergeable and filled with one byte, which is
 *
 *	merged		anonymous, and was scanned twice: one KSM page
 *	filled		anonymous, not scanned yet; uses up one step of the depth
 *	file		a private file mapping, scanned twice; uses up one step as well
 *
 * Steps, for each running process and each single page x[i] of the window:
 *
 *	map x[i]			mremap x[i] -> x[j], j != i
 *	map x[i] file f at i		mremap x[i] -> x[j] dontunmap
 *	munmap x[i]			mprotect x[i] r, rw
 *	madvise x[i] mergeable, unmergeable, dontneed, dontfork, dofork
 *	fill x[i] with the byte of the start
 *	touch x[i]			swapout x[i]
 *	migrate x[i] (all)		hold x[i] as pipe0, if it is free
 *
 * of the whole window: madvise x mergeable, unmergeable, dontfork, which also joins what single pages
 * split; and fork (while one process runs), exit, drop pipe0, scan 1, scan 2.
 *
 * Not among them: what can be said of several pages by as many steps (munmap, mprotect, fill ... of
 * longer ranges); other contents; mlock, wipeonfork, prctl, in-place resize, knobs, two nodes, processes
 * of their own; reclaim and compact, which work in the order of frame numbers (state.h).
 */
#ifndef SP_ALPHABET_H
#define SP_ALPHABET_H

#include "trial.h"

#define ALPHABET_PAGES 3u
#define ALPHABET_BYTE  0x11
#define ALPHABET_MAX   192u

/* Returns how many: no more than a byte can number. */
unsigned int alphabet_steps(struct step list[ALPHABET_MAX]);

/*
 * Would the step leave the trial as it is, and return what says so: an error before anything is done, advice
 * that was given before, a look at what is there? Or, for migrate and hold, is it about a page that an
 * earlier step of the list is about too? Then it need not be tried.
 */
bool alphabet_is_idle(const struct trial *t, const struct step *step);

/* "merged", "filled", "file"; NULL past the end. */
const char *alphabet_start_name(unsigned int i);
/* How many steps of a sequence's depth starting there uses up: 0 or 1. */
unsigned int alphabet_start_level(unsigned int i);
/* Its steps, in an empty sequence. */
void alphabet_start(unsigned int i, struct sequence *s);

#endif
