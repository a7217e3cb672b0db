/* cuda/map.c: which maps a GPU offers, and the table of what it does for them. */
#include "map.h"

static int cuda_map_offers(cohort_context *context, co_u32 width, co_u32 group)
{
    (void)context;
    if (width == 0 || width > COHORT_WIDTH_64_64)
        return 0;
    if (group <= 1)
        return 1;
    return width == COHORT_WIDTH_32_32 && group <= 32 && (group & (group - 1)) == 0;
}

/* Operations of all kinds at once need a pair to change in one compare-and-swap. */
static int cuda_map_runs(cohort_context *context, co_u32 width)
{
    return !map_has_halves(gpu_of(context), width);
}

const struct map_backend cuda_map_backend = {
    .offers = cuda_map_offers,
    .runs = cuda_map_runs,
    .batch = cuda_map_batch,
    .pages = cuda_map_pages,
    .sweep = cuda_map_sweep,
};
