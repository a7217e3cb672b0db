/* cpu/sets_sweep.h: two short chunks put together as they are, without a bitmap. */
#ifndef COHORT_CPU_SETS_SWEEP_H
#define COHORT_CPU_SETS_SWEEP_H

#include "sets_vector.h"

/* As `sweep` of struct sets_vectors, from run to run. */
struct sets_measure sets_sweep_plain(co_u32 op, const struct sets_chunk *a, const struct sets_chunk *b,
                                     co_u16 *to);

#endif
