/* backend/set.h: what a backend does for a working set: work on blocks, all in the context's memory. The
 * directory is the API's (api/set.h). Entries do not wait. */
#ifndef COHORT_BACKEND_SET_H
#define COHORT_BACKEND_SET_H

#include "backend/context.h"
#include "shape/set.h"

struct set_backend {
    cohort_status (*work)(cohort_context *, const struct set_work *);
    cohort_status (*measure)(cohort_context *, const struct set_chunks *);
    cohort_status (*write)(cohort_context *, const struct set_chunks *);
    cohort_status (*look)(cohort_context *, const struct set_look *);
};

#endif
