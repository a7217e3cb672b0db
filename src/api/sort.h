/* api/sort.h: a sort as a part of another call. */
#ifndef COHORT_API_SORT_H
#define COHORT_API_SORT_H

#include "cohort/sort.h"

/* cohort_sort, whose failures speak in the name `call`. */
cohort_status sort_for(cohort_context *context, const char *call, const cohort_sort_desc *desc);

#endif
