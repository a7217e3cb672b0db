/* cpu/sort_few.h: sorting keys of which few are distinct (sort_few.c). */
#ifndef COHORT_CPU_SORT_FEW_H
#define COHORT_CPU_SORT_FEW_H

#include "backend/sort.h"

/* Sorts by counting, if nothing but whole keys is wanted, there are many, and some of them tell that few are
 * distinct. `room` has as many bytes as the keys. 1: *status is how that went. 0: nothing was done, also if
 * there turned out to be more distinct ones than some told. */
int cpu_sort_few(cohort_context *, const struct sort *, void *room, cohort_status *status);

#endif
