/* shape/limits.h: what a kernel that measures a limit is given, and the order in which it visits a table.
 * Plain C. */
#ifndef COHORT_SHAPE_LIMITS_H
#define COHORT_SHAPE_LIMITS_H

#include "cohort/device/lane.h"

#define LIMITS_AT_ONCE 4u /* words that a lane of a copy has under way */

/* The two words between which the compare-and-swaps change the table, back and forth. */
#define LIMITS_WORD(turn) ((turn)&1 ? 0xa5a5a5a5a5a5a5a5ull : 0x5a5a5a5a5a5a5a5aull)

struct limits_step {
    void *table;
    const void *from; /* of a copy */
    co_u64 items;     /* of the table: 16-byte words of a copy; else sectors or words, a power of two */
    co_u64 accesses;  /* a power of two, at least a block's threads */
    co_u64 turn;      /* what was done before: which of the two words is expected */
    co_u64 *sink;     /* keeps the compiler from leaving the reads out */
    co_u32 shift;     /* half of the bits of `items`, rounded up */
    co_u32 reserved;
};

/* A permutation of 0 .. items - 1 without visible order. */
CO_INLINE co_u64 limits_place(const struct limits_step *s, co_u64 i)
{
    co_u64 mask = s->items - 1, x = i;
    for (int round = 0; round < 3; round++) {
        x = (x * 0x9e3779b97f4a7c15ull + 0x94d049bb133111ebull) & mask;
        x ^= x >> s->shift;
    }
    return x;
}

#endif
