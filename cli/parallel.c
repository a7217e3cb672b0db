/* Threads are started anew each time: the tool does this a few dozen times, for milliseconds of work and
 * more. */
#define _XOPEN_SOURCE 700

#include <pthread.h>

#include "parallel.h"

#define SHARES_MAX 64

struct job {
    void (*work)(void *user, unsigned share, unsigned shares);
    void *user;
    unsigned share, shares;
};

static void *job_run(void *argument)
{
    struct job *job = argument;
    job->work(job->user, job->share, job->shares);
    return NULL;
}

void parallel_run(unsigned shares, void (*work)(void *user, unsigned share, unsigned shares), void *user)
{
    struct job jobs[SHARES_MAX];
    pthread_t threads[SHARES_MAX];
    int started[SHARES_MAX] = {0};
    shares = shares < 1 ? 1 : shares > SHARES_MAX ? SHARES_MAX : shares;
    for (unsigned i = 0; i < shares; i++)
        jobs[i] = (struct job){work, user, i, shares};
    for (unsigned i = 1; i < shares; i++)
        started[i] = !pthread_create(&threads[i], NULL, job_run, &jobs[i]);
    job_run(&jobs[0]);
    for (unsigned i = 1; i < shares; i++) {
        if (started[i])
            pthread_join(threads[i], NULL);
        else
            job_run(&jobs[i]);
    }
}

size_t parallel_first(size_t n, unsigned share, unsigned shares)
{
    return n / shares * share + (share < n % shares ? share : n % shares);
}
