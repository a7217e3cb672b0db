/* group_words.h: the words of a group's state, and what lanes do to them. Included by group.cu and
 * group_merge.cu. */
#ifndef COHORT_KERNELS_GROUP_WORDS_H
#define COHORT_KERNELS_GROUP_WORDS_H

#include "shape/group_step.h"

/* States are those of shape/group.h. EXACT has low[3], high[3], top and special in one word, count. */
#define GROUP_EXACT_TOP   ((GROUP_BINS + GROUP_BINS) * 2)
#define GROUP_EXACT_COUNT (GROUP_BINS + GROUP_BINS + 1)

/* MOMENTS has shift, sum, squares, count; WIDE three words of its sum, count. */
#define GROUP_MOMENTS_COUNT 3
#define GROUP_WIDE_COUNT    3

/* A sum of 128 bits, of which `above` is the high word of what is added. */
CO_INLINE void group_add128(co_u64 *low, co_u64 *high, co_u64 word, co_u64 above)
{
    co_u64 old = co_add64(low, word);
    above += old + word < old;
    if (above)
        co_add64(high, above);
}

/* The same of 192 bits, in three words. */
CO_INLINE void group_add192(co_u64 *sum, co_u64 low, co_u64 high, co_u64 top)
{
    const co_u64 old = co_add64(sum, low), carry = old + low < old;
    high += carry;
    top += high < carry;
    if (high) {
        const co_u64 before = co_add64(sum + 1, high);
        top += before + high < before;
    }
    if (top)
        co_add64(sum + 2, top);
}

CO_INLINE void group_raise64(co_u64 *at, co_u64 word)
{
    if (co_load64(at) < word)
        co_max64(at, word);
}

CO_INLINE void group_mark64(co_u64 *at, co_u64 bits)
{
    if ((co_load64(at) & bits) != bits)
        co_or64(at, bits);
}

CO_INLINE co_u64 *group_at(void *states, co_u32 state, co_u64 group)
{
    return (co_u64 *)states + group * (group_state_bytes(state) / 8);
}

CO_INLINE co_u32 group_of(const co_u32 *ids, co_u64 n, co_u64 i)
{
    return i < n ? co_read32(ids + i) : KEYS_NO_ID;
}

#endif
