/* backend/set.h: what a backend does for a working set, whose directory, pool and blocks are in the context's
 * memory. Entries do not wait. */
#ifndef COHORT_BACKEND_SET_H
#define COHORT_BACKEND_SET_H

#include "backend/context.h"
#include "shape/set.h"

struct set_backend {
    /* The step that work->phase says. */
    cohort_status (*step)(cohort_context *, const struct set_work *work);
    cohort_status (*measure)(cohort_context *, const struct set_chunks *);
    cohort_status (*write)(cohort_context *, const struct set_chunks *);
    cohort_status (*look)(cohort_context *, const struct set_look *);
    /* 0: nothing has been done. Of a GPU always; of a CPU there are too few blocks or nodes, or no memory. */
    int (*two)(cohort_context *, const struct set_two *);
};

#endif
