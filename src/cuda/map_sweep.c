/* cuda/map_sweep.c: walks over all slots of a table; and growth, page by page from the old table
 * (kernels/map_build.cu). */
#include <string.h>

#include "map.h"

static int goes_by_pages(cohort_context *context, const struct map_sweep *s)
{
    return s->fresh && s->op == CO_OP_INSERT && s->view.pages > 1 &&
           s->into.pages >= gpu_of(context)->tuning->build_pages;
}

/* Builds every page of `into` from the old ones; opens the gate for what is left out. */
static cohort_status build_pages(cohort_context *context, const struct map_sweep *s, co_u64 *gate)
{
    struct map_build b;
    memset(&b, 0, sizeof b);
    b.view = s->into;
    b.from = s->view;
    b.fresh = 1;
    b.gate = gate;
    cohort_status status = context_fill(context, gate, 0, sizeof *gate);
    return status ? status : map_launch_pages(context, "split", &b.view, MAP_BUILD_BYTES, &b);
}

/* Page by page, and what that leaves out pair by pair. */
static cohort_status absorb_pages(cohort_context *context, const struct map_sweep *sweep)
{
    struct map_sweep s = *sweep;
    void *gate;
    cohort_status status = pool_take(context, sizeof(co_u64), &gate);
    if (status)
        return status;
    s.gate = gate;
    status = build_pages(context, &s, gate);
    if (!status)
        status = map_launch(context, "absorb", &s.view, s.slots, &s);
    pool_give(context, gate);
    return status;
}

cohort_status cuda_map_sweep(cohort_context *context, const struct map_sweep *s, enum map_sweep_kind kind)
{
    static const char *const kinds[] = {"export", "absorb", "stats", "mark"};
    if (kind == MAP_SWEEP_ABSORB && goes_by_pages(context, s))
        return absorb_pages(context, s);
    const uint64_t each = kind == MAP_SWEEP_EXPORT ? MAP_EXPORT_BYTES / map_slot_bytes(s->view.width) : 1;
    return map_launch(context, kinds[kind], &s->view, (s->slots + each - 1) / each, s);
}
