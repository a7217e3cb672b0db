/* backend/sums.h: what a backend does for prefix sums and reductions of numbers of 4 or 8 bytes. */
#ifndef COHORT_BACKEND_SUMS_H
#define COHORT_BACKEND_SUMS_H

#include "core/arena.h"
#include "backend/context.h"
#include "shape/sums.h"

/* out[i] = in[0] + .. + in[i - 1], and in[i] too if inclusive; out may be in. */
struct scan {
    co_u64 n;
    co_u32 bytes;
    co_u32 inclusive;
    const void *in;
    void *out;
};

struct reduce {
    co_u64 n;
    co_u32 bytes;
    co_u32 op;   /* ADD, MIN or MAX */
    co_u32 kind; /* of numbers, a REDUCE_.. of shape/sums.h */
    const void *in;
    co_u64 *out; /* gets what reduce_result makes of it */
};

struct sums_backend {
    cohort_status (*scan)(cohort_context *, const struct scan *, struct arena *);
    cohort_status (*reduce)(cohort_context *, const struct reduce *, struct arena *);
};

#endif
