/* reader.c: may a context read an object of another one? */
#include "api/reader.h"

cohort_status reader_need(const char *call, const char *name, const void *object, cohort_context *context,
                          const void *out)
{
    if (object && context && out)
        return COHORT_OK;
    return context_fail(context, COHORT_NULL, "%s: %s is NULL", call,
                        !object    ? name
                        : !context ? "context"
                                   : "out");
}

/* For the work on the other context, which a fork may have made useless. */
static cohort_status wait_for(cohort_context *context, cohort_context *other, const char *call)
{
    cohort_status s = call_begin(other);
    if (s)
        s = context_fail(context, s, "%s: what it is to read: %s", call, cohort_message(other));
    else
        s = context_wait(other);
    call_end(other);
    return s;
}

cohort_status reader_check(cohort_context *context, cohort_context *other, const void *memory,
                           const char *call)
{
    if (other->backend != context->backend ||
        (memory && context_memory_kind(context, memory) != context->backend->own_memory))
        return context_fail(context, COHORT_UNSUPPORTED,
                            "%s: context is on another device than what it is to read", call);
    return wait_for(context, other, call);
}
