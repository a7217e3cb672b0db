/* cuda/fn.c: the ids of functions that no kernel of a split computes: the user's own, and membership in a
 * set. They are written to workspace first. */
#include "device.h"
#include "shape/sets_ask.h"

static cohort_status member_ids(cohort_context *context, const cohort_sets_view *sets, uint64_t set,
                                uint64_t n, const void *keys, uint32_t key_bytes, co_u32 *ids)
{
    struct sets_member_ids step = {*sets, set, n, keys, ids, key_bytes};
    return n ? gpu_launch(context, "sets_member_ids", n, &step) : COHORT_OK;
}

cohort_status cuda_fn_make_ids(cohort_context *context, struct split_fn *fn,
                               const struct split_source *source, uint64_t n, const void *keys,
                               uint32_t key_bytes, struct arena *arena)
{
    if (!split_is_made(fn))
        return COHORT_OK;
    const struct split_fn made = *fn;
    co_u32 *ids = arena_take(arena, (n ? n : 1) * sizeof *ids);
    fn->kind = SPLIT_IDS32;
    fn->data = ids;
    if (arena->asks)
        return COHORT_OK;
    return source->sets ? member_ids(context, source->sets, made.a, n, keys, key_bytes, ids)
                        : gpu_user_ids(context, &made, source->user, n, keys, key_bytes, ids);
}
