/* team.c: memcpy by several threads. Each helper sleeps on a semaphore of its own until it has a piece,
 * and posts the common one when it is done. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PIECE ((size_t)256 * 1024) /* below that, waking a helper costs more than it saves */

struct helper {
    struct copy_team *team;
    pthread_t thread;
    sem_t begin;
    char *to; /* NULL: go home */
    const char *from;
    size_t bytes;
};

struct copy_team {
    sem_t done;
    unsigned helpers;
    struct helper helper[];
};

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

static void *help(void *arg)
{
    struct helper *h = arg;
    for (;;) {
        await(&h->begin);
        if (!h->to)
            return NULL;
        memcpy(h->to, h->from, h->bytes);
        sem_post(&h->team->done);
    }
}

static unsigned cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return CPU_SETSIZE; /* more than the mask can tell */
    return (unsigned)CPU_COUNT(&set);
}

/* The signals of the process are for its own threads. */
static int start(struct helper *h)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&h->thread, NULL, help, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !error;
}

struct copy_team *copy_team_create(unsigned threads)
{
    unsigned most = cores(), helpers = (threads < most ? threads : most) - 1;
    struct copy_team *team =
        threads > 1 && most > 1 ? calloc(1, sizeof *team + helpers * sizeof *team->helper) : NULL;
    if (!team)
        return NULL;
    sem_init(&team->done, 0, 0);
    for (unsigned i = 0; i < helpers; i++) {
        struct helper *h = &team->helper[i];
        h->team = team;
        sem_init(&h->begin, 0, 0);
        if (!start(h)) {
            sem_destroy(&h->begin);
            break;
        }
        team->helpers++;
    }
    return team;
}

void copy_team_destroy(struct copy_team *team)
{
    if (!team)
        return;
    for (unsigned i = 0; i < team->helpers; i++) {
        struct helper *h = &team->helper[i];
        h->to = NULL;
        sem_post(&h->begin);
        pthread_join(h->thread, NULL);
        sem_destroy(&h->begin);
    }
    sem_destroy(&team->done);
    free(team);
}

void copy_team_forget(struct copy_team *team)
{
    free(team);
}

void copy_team_copy(struct copy_team *team, void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;
    unsigned helpers = team ? team->helpers : 0, posted = 0;
    size_t piece = (bytes / (helpers + 1) + 63) & ~(size_t)63;
    if (piece < LEAST_PIECE)
        piece = LEAST_PIECE;
    while (posted < helpers && bytes > piece) {
        struct helper *h = &team->helper[posted++];
        h->to = t;
        h->from = f;
        h->bytes = piece;
        sem_post(&h->begin);
        t += piece;
        f += piece;
        bytes -= piece;
    }
    memcpy(t, f, bytes);
    while (posted--)
        await(&team->done);
}
