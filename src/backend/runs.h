/* backend/runs.h: what a backend does for runs of equal keys, besides a compaction. n is not 0. */
#ifndef COHORT_BACKEND_RUNS_H
#define COHORT_BACKEND_RUNS_H

#include "backend/context.h"
#include "shape/runs.h"

struct runs_backend {
    cohort_status (*begins)(cohort_context *, const struct runs_begins *, co_u32 key_bytes);
    cohort_status (*lengths)(cohort_context *, const struct runs_lengths *);
};

#endif
