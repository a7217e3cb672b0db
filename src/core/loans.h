/* loans.h: memory of results, which outlives calls and contexts.
 *
 * What a call returns as a frame, or hands to somebody else as an Arrow array, may be released by any thread,
 * long after the context is gone. So such memory is lent in buffers that know their context, and a context
 * that is destroyed while buffers are out stays behind, closed, until the last one comes back. What comes
 * back is kept to be lent again, since fresh pages cost more than what is written to them; only the context's
 * own thread asks the allocator and gives back to it, while there is one. */
#ifndef COHORT_LOANS_H
#define COHORT_LOANS_H

#include <pthread.h>
#include <stdint.h>

#include "cohort/context.h"

/* What keeps memory alive: counted, released by any thread. */
struct holder {
    unsigned count;
    void (*end)(struct holder *);
};

static inline struct holder *holder_retain(struct holder *h)
{
    __atomic_add_fetch(&h->count, 1, __ATOMIC_RELAXED);
    return h;
}

static inline void holder_release(struct holder *h)
{
    if (h && __atomic_sub_fetch(&h->count, 1, __ATOMIC_ACQ_REL) == 0)
        h->end(h);
}

/* Memory of the context's, with one reference for who asked. */
struct buffer {
    struct holder holder;
    cohort_context *context;
    void *memory;
    uint64_t bytes; /* as asked for; `room` is what there is */
    uint64_t room;
    struct buffer *next;
};

struct loans {
    pthread_mutex_t mutex;
    struct buffer *idle; /* that came back, the last one first */
    uint64_t idle_bytes;
    uint64_t out; /* buffers that are lent */
    uint64_t out_bytes, most_bytes;
    int closed;
};

void loans_open(cohort_context *context);

/* In a process that got the context by a fork: a lock that another thread held is nobody's here. */
void loans_inherit(cohort_context *context);

/* The parts of loan_take (core/take.h): the size of the buffer for so many bytes; an idle buffer that serves,
 * lent, or NULL, and then what has been idle for too long is gone; and a new one, lent. */
uint64_t loans_size(uint64_t bytes);
struct buffer *loans_find(cohort_context *context, uint64_t room);
void loans_put(cohort_context *context, struct buffer *buffer);

/* Gives idle buffers back to the system. By the context's thread. Tells how many bytes. */
uint64_t loans_trim(cohort_context *context);

uint64_t loans_idle_bytes(cohort_context *context);
int loans_lends(cohort_context *context); /* is a buffer out? */

/* The context goes: idle buffers go back, and the context is closed and freed, now or when the last buffer
 * that is lent comes back. */
void loans_close(cohort_context *context);

#endif
