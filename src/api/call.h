/* call.h: what every public function begins with. A context knows which calls are under way on it, and
 * whether this process is the one that it was made in. */
#ifndef COHORT_API_CALL_H
#define COHORT_API_CALL_H

#include "core/context.h"

/* In a function that returns a status: a call on `context` begins here and ends where the function returns.
 * Returns COHORT_UNSUPPORTED if the context is a copy, made by a fork, that cannot be used. `context` may be
 * NULL. */
#define CALL(context)                                                                \
    __attribute__((cleanup(call_leave))) cohort_context *const calling_ = (context); \
    do {                                                                             \
        cohort_status begun_ = call_begin(calling_);                                 \
        if (begun_)                                                                  \
            return begun_;                                                           \
    } while (0)

#define CALL_ON(object) CALL((object) ? (object)->context : NULL) /* which may be NULL, too */

/* The same in a function that ends an object of the context, which may be done to more of such copies. */
#define CALL_TO_END(context)                                                         \
    __attribute__((cleanup(call_leave))) cohort_context *const calling_ = (context); \
    do {                                                                             \
        if (!call_begin_to_end(calling_))                                            \
            return;                                                                  \
    } while (0)

cohort_status call_begin(cohort_context *context);
int call_begin_to_end(cohort_context *context); /* 0: what belongs to the context is left as it is */
void call_end(cohort_context *context);

static inline void call_leave(cohort_context *const *context)
{
    call_end(*context);
}

/* From the first to the last of a context's life. COHORT_NO_MEMORY, with a message on the thread. */
cohort_status call_register(cohort_context *context);
void call_unregister(cohort_context *context);

#endif
