/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that do the same work while their caller looks on; see crew.h. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "crew.h"

#define TICK_NS 100000000L

struct crew {
	void (*work)(void *arg, unsigned int index);
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t done;
	unsigned int nr_running; /* Protected by lock. */
};

struct member {
	struct crew *crew;
	unsigned int index;
	pthread_t thread;
};

static void *member_work(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;

	c->work(c->arg, m->index);
	pthread_mutex_lock(&c->lock);
	if (!--c->nr_running)
		pthread_cond_signal(&c->done);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static void look_on(struct crew *c, void (*tick)(void *arg))
{
	pthread_mutex_lock(&c->lock);
	while (c->nr_running) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_NS;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_nsec -= 1000000000L;
			until.tv_sec++;
		}
		if (!pthread_cond_timedwait(&c->done, &c->lock, &until))
			continue;
		pthread_mutex_unlock(&c->lock);
		tick(c->arg);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
}

void crew_run(unsigned int nr, void (*work)(void *arg, unsigned int index), void (*tick)(void *arg),
	      void *arg)
{
	struct crew c = {.work = work, .arg = arg, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct member *members = calloc(nr, sizeof(*members));
	unsigned int nr_started = 0;
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c.done, &attr);
	pthread_condattr_destroy(&attr);
	while (members && nr_started < nr) {
		struct member *m = &members[nr_started];

		*m = (struct member){.crew = &c, .index = nr_started};
		pthread_mutex_lock(&c.lock);
		c.nr_running++;
		pthread_mutex_unlock(&c.lock);
		if (pthread_create(&m->thread, NULL, member_work, m)) {
			pthread_mutex_lock(&c.lock);
			c.nr_running--;
			pthread_mutex_unlock(&c.lock);
			break;
		}
		nr_started++;
	}
	if (nr_started)
		look_on(&c, tick);
	else
		work(arg, 0);
	for (unsigned int i = 0; i < nr_started; i++)
		pthread_join(members[i].thread, NULL);
	free(members);
	pthread_cond_destroy(&c.done);
	pthread_mutex_destroy(&c.lock);
}
