/* cuda/group.c: there are no kernels for groups yet: the API brings columns to the host, where another
 * context works on them, and never comes here. */
#include "backend/group.h"

static void cuda_group_fold(cohort_context *context, const struct group_batch *b)
{
    (void)context, (void)b;
}

static void cuda_group_merge(cohort_context *context, uint32_t state, void *to, const void *from,
                             const uint32_t *ids, uint64_t n)
{
    (void)context, (void)state, (void)to, (void)from, (void)ids, (void)n;
}

static void cuda_group_values(cohort_context *context, struct group_values *v)
{
    (void)context, (void)v;
}

const struct group_backend cuda_group_backend = {
    .fold = cuda_group_fold,
    .merge = cuda_group_merge,
    .values = cuda_group_values,
};
