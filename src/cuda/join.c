/* cuda/join.c: there are no kernels for joins yet: the API brings columns to the host, where another
 * context works on them. */
#include "backend/join.h"

static cohort_status none(cohort_context *context)
{
    return context_fail(context, COHORT_UNSUPPORTED, "joins are worked on in the host's memory");
}

static cohort_status cuda_join_dense(cohort_context *context, const struct keys_column *column, uint64_t n,
                                     const struct join_range *range, uint32_t *groups)
{
    (void)column, (void)n, (void)range, (void)groups;
    return none(context);
}

static cohort_status cuda_join_single(cohort_context *context, const uint32_t *groups,
                                      struct join_index *index)
{
    (void)groups, (void)index;
    return none(context);
}

static cohort_status cuda_join_group(cohort_context *context, const uint32_t *groups,
                                     struct join_index *index)
{
    (void)groups, (void)index;
    return none(context);
}

static cohort_status cuda_join_count(cohort_context *context, struct join_probe *p)
{
    (void)p;
    return none(context);
}

static cohort_status cuda_join_pairs(cohort_context *context, const struct join_page *page)
{
    (void)page;
    return none(context);
}

static cohort_status cuda_join_rest(cohort_context *context, struct join_rest *rest)
{
    (void)rest;
    return none(context);
}

static cohort_status cuda_join_rest_rows(cohort_context *context, const struct join_rest *rest,
                                         uint64_t first, uint64_t count, uint32_t bytes, void *rows)
{
    (void)rest, (void)first, (void)count, (void)bytes, (void)rows;
    return none(context);
}

const struct join_backend cuda_join_backend = {
    .dense = cuda_join_dense,
    .single = cuda_join_single,
    .group = cuda_join_group,
    .count = cuda_join_count,
    .pairs = cuda_join_pairs,
    .rest = cuda_join_rest,
    .rest_rows = cuda_join_rest_rows,
};
