/* core/context.h: what a context is inside, and how a call fails. Seen by the API and by both backends. */
#ifndef COHORT_CONTEXT_INTERNAL_H
#define COHORT_CONTEXT_INTERNAL_H

#include "cohort/context.h"
#include "core/loans.h"
#include "core/memory.h"
#include "core/pool.h"
#include "core/take.h"
#include "shape/batch.h"

struct backend;

#define MESSAGE_BYTES 512

/* Whose a context is: fork copies it into another process. */
enum context_origin {
    CONTEXT_OURS,      /* this process's: made here, or taken over */
    CONTEXT_INHERITED, /* a copy that no call was under way on; nobody has asked the backend about it yet */
    CONTEXT_BARRED,    /* a copy that the backend refuses: it can be destroyed, and that is all */
    CONTEXT_LOST       /* a copy that a call was under way on: it may be half changed, and is left as it is */
};

/* Of `calls`: what a call adds when it begins; it takes 1 back when it ends. The bits below are how many are
 * under way. */
#define CONTEXT_CALL ((1ull << 24) + 1)

struct cohort_context {
    const struct backend *backend;
    void *device;               /* the backend's own state */
    cohort_allocator allocator; /* all zero: the backend's */
    cohort_progress progress;
    struct memory memory;
    struct pool pool;
    struct loans loans;
    struct outcome *outcome; /* in the context's memory: see below */
    void *owned;             /* what cohort_alloc gave out: a tree (tsearch) */
    char *log; /* of the compiler, of the last function of the user's that it refused; malloc, or NULL */
    cohort_context *helper; /* on the CPU: does what the device has no kernels for (api/staged.c); or NULL */
    uint64_t told;          /* when progress was told last, in nanoseconds */
    int telling;            /* the end of this work is still to be told */
    char message[MESSAGE_BYTES];
    /* api/call.c: */
    enum context_origin origin;
    uint64_t calls;                  /* atomic: CONTEXT_CALL for each that began, less 1 for each ended */
    unsigned forked;                 /* calls under way when the last fork began; some are inside others */
    cohort_context *next, *previous; /* the contexts of this process */
};

/* What the context's work leaves to be asked for. Made with everything 0 but the first_... of `deferred`,
 * which are ~0. */
struct outcome {
    struct batch_counts counts; /* of a call that waits; reset before each use, as are the next two */
    struct batch_deferred now;
    co_u64 cursor;
    struct batch_deferred deferred; /* of calls that do not wait, until cohort_wait; */
    struct batch_deferred ids; /* first_bad of functions of keys; first_full: verdicts on sets' updates */
};

/* Writes the message and returns the status. context may be NULL: the thread's message. */
cohort_status context_fail(cohort_context *context, cohort_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Around what a call tries first and may do in another way: the message from before comes back. */
void context_keep_message(const cohort_context *context, char kept[MESSAGE_BYTES]);
void context_give_message_back(cohort_context *context, const char kept[MESSAGE_BYTES]);

/* In a message, for "%llu %s": "1 row", "2 rows". */
#define COUNTED(n, one, many) (unsigned long long)(n), (n) == 1 ? (one) : (many)

/* Tells the caller's progress callback, if there is one and the last time was not just now. done == total
 * ends the work. COHORT_CANCELLED: the caller wants the call to end, whose work is not done. */
cohort_status context_progress(cohort_context *context, const char *what, uint64_t done, uint64_t total);

#endif
