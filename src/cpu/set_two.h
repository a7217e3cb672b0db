/* cpu/set_two.h: an operation on two working sets, on the host's threads. */
#ifndef COHORT_CPU_SET_TWO_H
#define COHORT_CPU_SET_TWO_H

#include "cpu.h"
#include "shape/set_pool.h"

/* 0: there are too few blocks or nodes, or there is no memory; nothing has been done. */
int cpu_set_two(cohort_context *, const struct set_two *);

#endif
