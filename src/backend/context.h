/* backend/context.h: what a backend does for a context: device state, memory, waiting, time. */
#ifndef COHORT_BACKEND_CONTEXT_H
#define COHORT_BACKEND_CONTEXT_H

#include "backend/backend.h"

struct context_backend {
    /* In a process that got the context by a fork, before any other entry: makes it usable here, or fails
     * with COHORT_UNSUPPORTED, each time, and sees to it that wait, free, timer_destroy and close touch
     * nothing but this process's memory. */
    cohort_status (*inherit)(cohort_context *);
    void (*close)(cohort_context *); /* waits; frees context->device */
    cohort_status (*info)(cohort_context *, cohort_context_info *);
    cohort_status (*set_stream)(cohort_context *, void *stream); /* or COHORT_STREAM_OWN */
    void *(*stream)(cohort_context *);       /* that work is enqueued on now; NULL where there are none */
    cohort_status (*wait)(cohort_context *); /* for the device alone: the API reads the deferred failures */
    /* HOST: memory that only the host uses (pinned too); DEVICE: what kernels may be given; BAD: neither
     * here. */
    enum memory_kind (*memory_kind)(cohort_context *, const void *);
    void *(*alloc)(cohort_context *, uint64_t bytes); /* the system's; NULL: none. Aligned to 256. May wait */
    void (*free)(cohort_context *, void *,
                 uint64_t bytes); /* waits for the stream where the system needs it */
    cohort_status (*copy)(cohort_context *, void *to, const void *from,
                          uint64_t bytes); /* any kinds; waits if a side is host */
    cohort_status (*fill)(cohort_context *, void *, int byte, uint64_t bytes);
    cohort_status (*timer_create)(cohort_context *, void **timer);
    void (*timer_destroy)(cohort_context *, void *timer);
    cohort_status (*timer_start)(cohort_context *, void *timer);
    cohort_status (*timer_stop)(cohort_context *, void *timer, double *seconds); /* waits */
};

/* What everybody asks for all the time, by a shorter name. */

static inline cohort_status context_wait(cohort_context *context)
{
    return context->backend->context->wait(context);
}

static inline void *context_stream(cohort_context *context)
{
    return context->backend->context->stream(context);
}

static inline enum memory_kind context_memory_kind(cohort_context *context, const void *memory)
{
    return context->backend->context->memory_kind(context, memory);
}

static inline cohort_status context_copy(cohort_context *context, void *to, const void *from, uint64_t bytes)
{
    return context->backend->context->copy(context, to, from, bytes);
}

static inline cohort_status context_fill(cohort_context *context, void *memory, int byte, uint64_t bytes)
{
    return context->backend->context->fill(context, memory, byte, bytes);
}

#endif
