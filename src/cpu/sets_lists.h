/* cpu/sets_lists.h: pairs of lists of members of 32 bits, with AVX-512. */
#ifndef COHORT_CPU_SETS_LISTS_H
#define COHORT_CPU_SETS_LISTS_H

#include "sets_vector.h"

/* As `lists` and `pairs` of struct sets_vectors. */
co_u64 sets_lists_512(const co_u32 *a, co_u64 n, const co_u32 *b, co_u64 m, int keep, co_u32 *to);
co_u64 sets_pairs_512(const struct sets_vectors *vectors, const struct sets_query *q, co_u64 begin,
                      co_u64 end);

#endif
