/* cpu/sets_vector.h: the inner loops of sets: arrays against arrays, bitmaps against bitmaps, plain and
 * with AVX-512. */
#ifndef COHORT_CPU_SETS_VECTOR_H
#define COHORT_CPU_SETS_VECTOR_H

#include "sets.h"

#define SETS_VECTOR_ROOM 64u /* numbers that may be written behind an array that `members` or `merge` makes */

struct sets_vectors {
    /* Those of a that are in b (keep 1) or not (0): their number, and in order to `to`, which may be a, or
     * NULL. Both arrays ascend. Costs a turn for each of a, and one for each 32 of b. */
    co_u32 (*filter)(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to);
    /* to = a op b, op by enum sets_op_kind; to may be a, or NULL: only what it comes to, the runs left
     * out. */
    struct sets_measure (*words)(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op);
    /* The members of a bitmap with this digest as an array; their number. */
    co_u32 (*members)(const co_u64 *words, co_u64 digest, co_u16 *to);
    /* a OR b, or XOR, of two arrays, neither empty, to `to`, which has room for both; how many. */
    co_u32 (*merge)(co_u32 op, const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, co_u16 *to);
    co_u64 (*digest)(const co_u16 *a, co_u32 n); /* of an array */
    /* words = words op the array's members; op is not AND. */
    void (*change)(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n);
};

const struct sets_vectors *sets_vectors_of(enum cpu_level level);

/* Members of two chunks of the directory in common. */
co_u32 sets_chunks_meet(const struct sets_vectors *, const struct sets_chunk *a, const struct sets_chunk *b);

/* Of two sets. */
co_u64 sets_meet(const struct sets_vectors *, const cohort_sets_view *v, const struct co_sets_set *a,
                 const cohort_sets_view *w, const struct co_sets_set *b);

#endif
