/* backend/map.h: what a backend does for maps. */
#ifndef COHORT_BACKEND_MAP_H
#define COHORT_BACKEND_MAP_H

#include "core/arena.h"
#include "backend/context.h"
#include "shape/map.h"

struct combine_backend;

struct map_backend {
    int keeps_order; /* 1: batch and pages heed the rank of an INSERT or ASSIGN; 0: the steps CLAIM and SETTLE do */
    int (*offers)(cohort_context *, co_u32 width, co_u32 group);
    /* One batch. `memory` is the kind of keys, values, results, ops, where, hit, failed, and of batch->counts. HOST on a
     * device that is not the host: streams the columns through, waits, and leaves the counts in batch->counts on the
     * host; everything else is the context's memory. */
    cohort_status (*batch)(cohort_context *, const struct map_batch *, enum memory_kind memory);
    /* A batch of FIND, INSERT or ASSIGN in the context's own memory by whole pages. Asked, it takes nothing if that is not offered for this
     * batch, or would not pay; then it may not be called. fresh: the map is known to be empty. */
    cohort_status (*pages)(cohort_context *, const struct map_batch *, int fresh, struct arena *);
    cohort_status (*sweep)(cohort_context *, const struct map_sweep *, enum map_sweep_kind);
    /* For entries of ADD to COUNT with equal keys, in the context's own memory, which is the host's; NULL: it does nothing for those. */
    const struct combine_backend *combine;
};

#endif
