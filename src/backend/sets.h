/* backend/sets.h: what a backend does for collections of sets. Arguments are checked, arrays are in the
 * context's memory. Entries do not wait. */
#ifndef COHORT_BACKEND_SETS_H
#define COHORT_BACKEND_SETS_H

#include "backend/context.h"
#include "core/arena.h"
#include "shape/sets.h"
#include "shape/sets_ask.h"
#include "shape/sets_index.h"

struct sets_backend {
    /* Making them: shape/sets.h. */
    cohort_status (*step)(cohort_context *, const struct sets_step *, enum sets_step_kind);
    /* Writing them out, and looking into them: shape/sets_ask.h. */
    cohort_status (*take)(cohort_context *, const struct sets_take *, enum sets_take_kind);
    cohort_status (*look)(cohort_context *, const struct sets_look *);
    /* Answers rows. With `found` it is called twice, and waits. */
    cohort_status (*query)(cohort_context *, const struct sets_query *, struct arena *);
    /* Making a collection's index, and asking which sets contain values: shape/sets_index.h. `pieces` and
     * `sums` are the backend's. */
    cohort_status (*index)(cohort_context *, const struct sets_index_step *, enum sets_index_kind);
    cohort_status (*containing)(cohort_context *, const struct sets_containing *, struct arena *);
};

#endif
