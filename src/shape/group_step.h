/* shape/group_step.h: what the kernels of groups are told. Plain C, seen by the CUDA backend and by kernels.
 *
 * In a GPU's memory the word of a MIN is turned, all bits: so the greatest is kept of either, and 0 is less
 * than all. */
#ifndef COHORT_SHAPE_GROUP_STEP_H
#define COHORT_SHAPE_GROUP_STEP_H

#include "shape/group_value.h"
#include "shape/table_step.h"

/* Rows into the states of their groups. `best` is by group, and 0 before: of FIRST and LAST the row, turned
 * or counted from 1, so that the greatest is kept; of EXACT the highest digit; of MOMENTS the first row,
 * turned, whose value is the shift of a group that has none. */
struct group_fold_step {
    struct keys_look column;
    const co_u32 *ids;
    co_u64 n, groups;
    co_u32 state, rows; /* rows: nulls count too, and there is no column */
    void *states;
    co_u64 *best;
    co_u32 places;  /* in shared memory, a group */
    co_u32 decimal; /* the column has integers of 16 bytes, and `column` tells their nulls alone */
    int scale;      /* of these: digits behind the point */
    co_u32 reserved;
};

/* States into states: state i of `from` goes to ids[i]. */
struct group_merge_step {
    const co_u32 *ids;
    co_u64 n, groups;
    co_u32 state, reserved;
    co_u64 *to;
    const co_u64 *from;
    co_u64 *best;
};

/* States as they are known elsewhere; and the first that cannot be such a one. */
struct group_out_step {
    const co_u64 *from;
    co_u64 *to;
    co_u64 n;
    co_u32 state, reserved;
    struct table_found *found;
};

struct group_values_step {
    struct group_told told;
    const co_u64 *states;
    co_u64 n;
    co_u32 width, reserved; /* 0: a bit */
    void *to;
    co_u32 *validity;
    struct table_found *found; /* nulls; the first overflow */
};

/* Words of 4 bytes that a place of a group has in a block's table, and before them words of 8. */
CO_INLINE co_u32 group_few_halves(const struct keys_look *c, co_u32 state)
{
    switch (state) {
    case GROUP_COUNT:
        return 1; /* count */
    case GROUP_SUM:
        return c->bytes == 8 ? 5 : 3; /* count, a sum of two words; of 8 bytes a sum of each half */
    case GROUP_WIDE:
        return 9; /* count, a sum of two words of each quarter */
    case GROUP_EXACT:
        return 8; /* count, special, three bins of two words */
    case GROUP_FIRST:
    case GROUP_LAST:
        return 0;
    default:
        return 1; /* FLOATS, MOMENTS: count; MIN, MAX: whether there is any */
    }
}

CO_INLINE co_u32 group_few_words(co_u32 state)
{
    if (state == GROUP_MOMENTS)
        return 2; /* sum, squares */
    return state == GROUP_COUNT || state == GROUP_SUM || state == GROUP_WIDE || state == GROUP_EXACT ? 0 : 1;
}

#endif
