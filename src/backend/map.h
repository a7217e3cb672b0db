/* backend/map.h: what a backend does for maps. */
#ifndef COHORT_BACKEND_MAP_H
#define COHORT_BACKEND_MAP_H

#include "core/arena.h"
#include "backend/context.h"
#include "shape/map.h"

/* A batch of which entries of equal keys become one before they go to the map. What comes out are entries
 * for a map, which combine by the same operation, or by ADD where that was COUNT: what the tables held
 * when they were emptied, and entries that found no room in one, as they were. */
struct combine {
    co_u32 width, op; /* a cohort_width with values; ADD to COUNT */
    co_u64 n;         /* the batch, in the context's own memory: */
    const void *keys;
    const void *values;  /* of COUNT: not looked at */
    const co_u32 *where; /* may be NULL */
    void *out_keys, *out_values;
    co_u64 out;  /* entries there */
    co_u64 room; /* and how many there may be; set by lay_out */
    void *state; /* the backend's */
};

struct combine_ways {
    /* Lays out the work, in pieces of the arena. */
    void (*lay_out)(cohort_context *, struct combine *, struct arena *);
    /* Whether it pays for the entries from `begin` on, as a sample of them tells. Then there are tables for
     * them, empty. */
    int (*pays)(cohort_context *, struct combine *, co_u64 begin);
    /* Combines entries begin .. end - 1, no more than `room` - `out`; begin is a multiple of 32. */
    void (*entries)(cohort_context *, struct combine *, co_u64 begin, co_u64 end);
    /* Whether tables can be larger, which they are when all have been emptied. */
    int (*larger)(cohort_context *, struct combine *);
    /* Empties tables, as many as there is room for, of which there is half at least. 1: there are more. */
    int (*empty)(cohort_context *, struct combine *);
};

struct map_backend {
    /* 1: batch and pages heed the rank of an INSERT or ASSIGN; 0: the steps CLAIM and SETTLE do */
    int keeps_order;
    int (*offers)(cohort_context *, co_u32 width, co_u32 group);
    int (*runs)(cohort_context *, co_u32 width); /* offers the step RUN, too; NULL: with every width */
    /* One batch. `memory` is the kind of keys, values, results, ops, where, hit, failed, and of
     * batch->counts. HOST on a device that is not the host: streams the columns through, waits, and leaves
     * the counts in batch->counts on the host; everything else is the context's memory. */
    cohort_status (*batch)(cohort_context *, const struct map_batch *, enum memory_kind memory);
    /* A batch of FIND, INSERT or ASSIGN in the context's own memory by whole pages. Asked, it takes nothing
     * if that is not offered for this batch, or would not pay; then it may not be called. fresh: the map is
     * known to be empty. */
    cohort_status (*pages)(cohort_context *, const struct map_batch *, int fresh, struct arena *);
    cohort_status (*sweep)(cohort_context *, const struct map_sweep *, enum map_sweep_kind);
    /* For entries of ADD to COUNT with equal keys, in the context's own memory, which is the host's; NULL: it
     * does nothing for those. */
    const struct combine_ways *combine;
};

/* Does this device do cohort_map_run on maps of this width and layout? */
static inline int map_backend_runs(cohort_context *context, const struct map_backend *backend, co_u32 width)
{
    return backend->offers(context, width, 0) && (!backend->runs || backend->runs(context, width));
}

#endif
