/* backend/set.h: what a backend does for a working set. Arguments are checked, arrays are in the context's
 * memory. */
#ifndef COHORT_BACKEND_SET_H
#define COHORT_BACKEND_SET_H

#include "backend/context.h"
#include "core/arena.h"
#include "shape/set.h"

struct set_backend {
    /* COHORT_RANGE, COHORT_FULL, COHORT_NO_MEMORY: nothing is changed then. Waits. */
    cohort_status (*change)(cohort_context *, const struct set_change *);
    void (*clear)(cohort_context *, struct set_state *);
    /* Called twice, as a query whose answer is a collection. Waits. */
    cohort_status (*gather)(cohort_context *, const struct set_gather *);
    cohort_status (*look)(cohort_context *, const struct set_look *);
};

#endif
