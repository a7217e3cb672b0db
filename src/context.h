/* context.h: what a context is inside, and how a call fails. Seen by the API and by both backends. */
#ifndef COHORT_CONTEXT_INTERNAL_H
#define COHORT_CONTEXT_INTERNAL_H

#include "cohort/context.h"
#include "pool.h"
#include "shape/map.h"

struct backend;

struct cohort_context {
    const struct backend *backend;
    void *device;               /* the backend's own state */
    cohort_allocator allocator; /* all zero: the backend's */
    cohort_progress progress;
    struct pool pool;
    struct outcome *outcome;    /* in the context's memory: see below */
    struct owned *owned;        /* what cohort_alloc gave out */
    char message[512];
};

/* What the context's work leaves to be asked for: the counts of a call that waits, and the deferred failures. */
struct outcome {
    struct map_counts counts;
    struct map_deferred deferred;
};

/* Writes the message and returns the status. context may be NULL: the thread's message. */
cohort_status context_fail(cohort_context *context, cohort_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tells the caller's progress callback, if there is one. */
void context_progress(cohort_context *context, const char *what, uint64_t done, uint64_t total);

#endif
