/* cuda/sets_containing.c: which sets contain values, on a GPU (shape/sets_index.h): the pieces are counted,
 * the counts summed up, what was found is told, and then written; four launches at most, and no word from the
 * host in between. */
#include "sets.h"

#define WARPS_EACH 64u  /* pieces that a multiprocessor should have, so that few values are work for all */
#define PIECE      256u /* entries of the index that a piece should have at least */

static uint64_t pieces_for(cohort_context *context, const struct sets_containing *q)
{
    uint64_t wanted = (uint64_t)gpu_of(context)->multiprocessors * WARPS_EACH;
    uint64_t most = (q->index.chunks.n + q->index.listed.n) / PIECE + 1;
    uint64_t pieces = q->n && q->n < wanted ? wanted / q->n : 1;
    return pieces < most ? pieces : most;
}

cohort_status cuda_sets_containing(cohort_context *context, const struct sets_containing *asked,
                                   struct arena *arena)
{
    struct sets_containing q = *asked;
    q.pieces = pieces_for(context, &q);
    const uint64_t items = q.n * q.pieces;
    q.sums = arena_take(arena, (items + 1) * sizeof *q.sums);
    void *workspace = arena_take(arena, gpu_scan_bytes(context, items + 1));
    if (arena->asks)
        return COHORT_OK;
    cohort_status status = context_fill(context, q.sums + items, 0, sizeof *q.sums);
    if (!status)
        status = gpu_launch_warps(context, "sets_containing_count", items, 0, &q);
    if (!status)
        status = gpu_scan(context, q.sums, items + 1, workspace);
    if (!status && (q.counts || q.offsets || q.total))
        status = gpu_launch(context, "sets_containing_tell", q.n + 1, &q);
    if (!status && q.sets && q.capacity)
        status = gpu_launch_warps(context, "sets_containing_write", items, 0, &q);
    return status;
}
