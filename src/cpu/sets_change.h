/* cpu/sets_change.h: members of an array put into a bitmap, or taken from it. */
#ifndef COHORT_CPU_SETS_CHANGE_H
#define COHORT_CPU_SETS_CHANGE_H

#include "sets_vector.h"

CO_INLINE void change_one(co_u64 *words, co_u32 op, co_u32 v)
{
    co_u64 bit = 1ull << v % 64, *word = words + v / 64;
    *word = op == SETS_OR ? *word | bit : op == SETS_XOR ? *word ^ bit : *word & ~bit;
}

/* From eight places of the array on at a time: members side by side often share a word, and each would wait
 * for what the one before it has written. */
CO_INLINE void change_any(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n)
{
    const co_u32 part = n / 8;
    for (co_u32 i = 0; i < part; i++)
        for (co_u32 k = 0; k < 8; k++)
            change_one(words, op, a[k * part + i]);
    for (co_u32 i = 8 * part; i < n; i++)
        change_one(words, op, a[i]);
}

CO_INLINE void sets_change(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n)
{
    if (op == SETS_OR)
        change_any(words, SETS_OR, a, n);
    else if (op == SETS_XOR)
        change_any(words, SETS_XOR, a, n);
    else
        change_any(words, SETS_ANDNOT, a, n);
}

#endif
