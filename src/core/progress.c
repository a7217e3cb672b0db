/* progress.c: the caller is told how far long work is, four times a second at most. */
#include "core/context.h"

#include <time.h>

#define PERIOD 250000000ull /* nanoseconds */

cohort_status context_progress(cohort_context *context, const char *what, uint64_t done, uint64_t total)
{
    struct timespec t;
    if (!context->progress.call)
        return COHORT_OK;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
    int end = total && done == total;
    if (context->told && now - context->told < PERIOD && !(end && context->telling))
        return COHORT_OK;
    context->told = now;
    context->telling = !end;
    if (!context->progress.call(context->progress.user, what, done, total) || end)
        return COHORT_OK;
    context->told = context->telling = 0;
    return context_fail(context, COHORT_CANCELLED,
                        "%s: ended by the caller's progress function, %llu of %llu done", what,
                        (unsigned long long)done, (unsigned long long)total);
}
