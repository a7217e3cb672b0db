/* cuda/set.c: working sets on a GPU: there are no kernels for them yet. The API keeps such sets with the
 * context's helper (api/staged.h), so none of these is called. */
#include "backend/set.h"

static cohort_status none(cohort_context *context)
{
    return context_fail(context, COHORT_UNSUPPORTED, "a GPU has no kernels for working sets yet");
}

static cohort_status cuda_set_change(cohort_context *context, const struct set_change *change)
{
    (void)change;
    return none(context);
}

static void cuda_set_clear(cohort_context *context, struct set_state *state)
{
    (void)context;
    (void)state;
}

static cohort_status cuda_set_gather(cohort_context *context, const struct set_gather *gather)
{
    (void)gather;
    return none(context);
}

static cohort_status cuda_set_look(cohort_context *context, const struct set_look *look)
{
    (void)look;
    return none(context);
}

const struct set_backend cuda_set_backend = {
    .change = cuda_set_change,
    .clear = cuda_set_clear,
    .gather = cuda_set_gather,
    .look = cuda_set_look,
};
