/* cpu/set_leaves.h: an operation on two working sets, on the host's threads. */
#ifndef COHORT_CPU_SET_LEAVES_H
#define COHORT_CPU_SET_LEAVES_H

#include "cpu.h"
#include "shape/set_pool.h"

/* 0: there are too few blocks or nodes, or there is no memory; nothing has been done. */
int set_leaves(cohort_context *, const struct set_two *);

#endif
