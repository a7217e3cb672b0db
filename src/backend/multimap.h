/* backend/multimap.h: what a backend does for multimaps. */
#ifndef COHORT_BACKEND_MULTIMAP_H
#define COHORT_BACKEND_MULTIMAP_H

#include "backend/context.h"
#include "shape/multimap.h"

struct multimap_backend {
    /* `memory` is the kind of keys, where, results, hit, row_queries, row_values and row_matched; and of
     * sizes where there are no starts. HOST on a device that is not the host: streams these columns through,
     * and waits. All else is the context's memory. */
    cohort_status (*step)(cohort_context *, const struct multimap_step *, enum multimap_step_kind,
                          enum memory_kind memory);
};

#endif
