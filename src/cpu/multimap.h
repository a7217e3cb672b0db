/* cpu/multimap.h: what the files of the CPU's multimaps share. */
#ifndef COHORT_CPU_MULTIMAP_H
#define COHORT_CPU_MULTIMAP_H

#include "backend/multimap.h"

/* multimap_single.c: what to do with a range of a step's entries, rows or slots if the multimap is single;
 * NULL for steps of which a single one has no need, or which are the same. */
extern void (*const cpu_multimap_single[MULTIMAP_STEPS])(const struct multimap_step *, co_u64 begin,
                                                         co_u64 end);

#endif
