/* cpu/sets_sweep.h: two short chunks put together as they are, without a bitmap. */
#ifndef COHORT_CPU_SETS_SWEEP_H
#define COHORT_CPU_SETS_SWEEP_H

#include "sets_combine.h"

#define SETS_SWEEP_MOST 256u /* entries of both */

/* a op b, of arrays and runs: runs to `to`, with room for as many as there are entries and one more; how
 * many. */
co_u32 sets_sweep(co_u32 op, const struct sets_chunk *a, const struct sets_chunk *b, co_u16 *to,
                  co_u32 *card);

#endif
