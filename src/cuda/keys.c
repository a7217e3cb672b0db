/* cuda/keys.c: there are no kernels for keys yet: the API brings columns to the host, where another context
 * works on them. */
#include "backend/keys.h"

static cohort_status none(cohort_context *context)
{
    return context_fail(context, COHORT_UNSUPPORTED, "keys are worked on in the host's memory");
}

static cohort_status cuda_keys_range(cohort_context *context, const struct keys_column *column, uint64_t n,
                                     struct keys_range *out)
{
    (void)column, (void)n, (void)out;
    return none(context);
}

static cohort_status cuda_keys_add(cohort_context *context, struct keys_table *t, struct keys_batch *b)
{
    (void)t, (void)b;
    return none(context);
}

static cohort_status cuda_keys_find(cohort_context *context, const struct keys_table *t, struct keys_batch *b)
{
    (void)t, (void)b;
    return none(context);
}

static cohort_status cuda_keys_load(cohort_context *context, const struct keys_column *column, uint64_t n,
                                    uint64_t *words, uint8_t *states)
{
    (void)column, (void)n, (void)words, (void)states;
    return none(context);
}

static cohort_status cuda_keys_list(cohort_context *context, const struct keys_table *t, uint64_t *words)
{
    (void)t, (void)words;
    return none(context);
}

static cohort_status cuda_keys_rows(cohort_context *context, const uint32_t *ids, uint64_t n,
                                    const uint64_t *rows, uint32_t bytes, void *at)
{
    (void)ids, (void)n, (void)rows, (void)bytes, (void)at;
    return none(context);
}

static cohort_status cuda_keys_count(cohort_context *context, const uint32_t *ids, uint64_t n,
                                     uint64_t groups, uint64_t *counts)
{
    (void)ids, (void)n, (void)groups, (void)counts;
    return none(context);
}

static cohort_status cuda_keys_members(cohort_context *context, const struct keys_members *ask)
{
    (void)ask;
    return none(context);
}

static void cuda_keys_drop(cohort_context *context, struct keys_table *t)
{
    (void)context, (void)t;
}

const struct keys_backend cuda_keys_backend = {
    .range = cuda_keys_range,
    .add = cuda_keys_add,
    .find = cuda_keys_find,
    .load = cuda_keys_load,
    .list = cuda_keys_list,
    .rows = cuda_keys_rows,
    .count = cuda_keys_count,
    .members = cuda_keys_members,
    .drop = cuda_keys_drop,
};
