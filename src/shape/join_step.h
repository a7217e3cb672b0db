/* shape/join_step.h: what the kernels of joins are told. Plain C, seen by the API, by both backends and by
 * the kernels. */
#ifndef COHORT_SHAPE_JOIN_STEP_H
#define COHORT_SHAPE_JOIN_STEP_H

#include "keys_step.h"
#include "table_step.h"

#define JOIN_NONE  0xffffffffu /* no group, no row */
#define JOIN_BLOCK 256u        /* left rows that are counted together */
#define JOIN_SPAN  4096u       /* right rows that are counted together in finish; a multiple of 64 */
#define JOIN_CHUNK 256u        /* pairs of a page that a warp writes at a time */

/* What comes of a left row besides its matches. */
enum join_rule { JOIN_INNER, JOIN_OUTER, JOIN_SEMI, JOIN_ANTI };

struct join_dense_step {
    struct keys_look column;
    co_u64 n;
    co_u64 low, span;
    co_u32 null;
    co_u32 reserved;
    co_u32 *groups;
};

/* SINGLE: row[g] of each group; found->count: groups that came again. */
struct join_single_step {
    const co_u32 *groups;
    co_u32 *row;
    co_u64 n;
    struct table_found *found;
};

/* STARTS: where each of the groups begins in `sorted`, and the end. AGAIN: found->first is the least of `row`
 * whose group is also that of the row before. */
struct join_group_step {
    const co_u32 *sorted, *row;
    co_u64 n;
    co_u64 groups;
    co_u32 *start;
    struct table_found *found;
};

/* found->first: the first of n rows whose group has another first row. */
struct join_repeated_step {
    const co_u32 *groups;
    const co_u64 *first;
    co_u64 n;
    struct table_found *found;
};

/* The index as kernels see it. */
struct join_look {
    co_u32 *start, *row;
    co_u32 *met;
    co_u32 unique;
    co_u32 reserved;
};

struct join_count_step {
    struct join_look index;
    co_u32 rule;
    co_u32 marks;
    co_u64 n;
    co_u32 *at;
    co_u64 *before; /* pairs of each block */
};

struct join_pairs_step {
    struct join_look index;
    co_u32 rule;
    co_u32 bytes;
    co_u64 n;
    const co_u32 *at;
    const co_u64 *before;
    co_u64 first, count;
    void *left, *right;
};

/* MET: the rows of groups that were met. SPANS: how many rows of each span were not. ROWS: these rows. */
struct join_rest_step {
    struct join_look index;
    co_u64 rows, groups;
    co_u32 *met; /* by row, of whole spans */
    co_u64 *before;
    co_u64 first, count;
    co_u32 bytes;
    co_u32 reserved;
    void *to;
};

#endif
