/* cpu/join.h: what the files of joins share. */
#ifndef COHORT_CPU_JOIN_H
#define COHORT_CPU_JOIN_H

#include "backend/join.h"

cohort_status cpu_join_dense(cohort_context *, const struct keys_column *, uint64_t n,
                             const struct join_range *, uint32_t *groups);

#endif
