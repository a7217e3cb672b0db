/* ended.h: work that the caller's progress function ends: at each of the first eight times it is told, then
 * at an eighth of the times that are later, until one comes to its end. After each the objects are what they
 * were, and the same call again is right. */
#ifndef COHORT_TEST_ENDED_H
#define COHORT_TEST_ENDED_H

#include "test.h"

#include "core/context.h"

#define ENDED_MOST 4096

struct ending {
    struct test *t;
    cohort_context *context;
    uint64_t threads, calls, stop; /* stop: 0: never */
    int reached;
};

/* As if a long time had gone by since the last time. */
static inline int ending_tell(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct ending *e = user;
    (void)what, (void)done, (void)total;
    e->context->told = 0;
    e->reached |= ++e->calls == e->stop;
    return e->calls == e->stop;
}

/* A context of `threads` whose work `e` can end. */
static inline void ending_open(struct ending *e, struct test *t, uint64_t threads)
{
    cohort_context_options options = test_context_options(t);
    *e = (struct ending){.t = t, .threads = threads};
    options.progress = (cohort_progress){ending_tell, e};
    options.threads = threads;
    OK(t, cohort_context_create(&options, &e->context));
}

/* What is in between is not ended, and does not count: until ending_go with what ending_pause gave. */
static inline uint64_t ending_pause(struct ending *e)
{
    uint64_t stop = e->stop;
    e->stop = 0;
    return stop;
}

static inline void ending_go(struct ending *e, uint64_t stop)
{
    e->calls = 0;
    e->stop = stop;
}

/* Ends `work` at times that it tells, until it tells no more, and lets it go to its end after each. A
 * pass that is done when it tells is not ended: the work goes on. With one thread there must be a time to end
 * it at; with several the others may do all before the caller looks. */
static inline void end_everywhere(struct ending *e, void *world, cohort_status (*work)(void *world))
{
    struct test *t = e->t;
    uint64_t ends = 0, stop = 0;
    do {
        stop += 1 + stop / 8;
        e->calls = 0;
        e->reached = 0;
        e->stop = stop;
        e->context->told = 0;
        cohort_status s = work(world);
        REQUIREF(t, s == COHORT_OK || s == COHORT_CANCELLED, "%s", cohort_status_name(s));
        ends += s != COHORT_OK;
        e->stop = 0;
        if (s)
            OK(t, work(world));
    } while (e->reached && stop < ENDED_MOST);
    CHECKF(t, (ends || e->threads > 1) && stop < ENDED_MOST, "ended %llu times", (unsigned long long)ends);
}

#endif
