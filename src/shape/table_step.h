/* shape/table_step.h: what the kernels of columns are told. Plain C, seen by the CUDA backend and by the
 * kernels. */
#ifndef COHORT_SHAPE_TABLE_STEP_H
#define COHORT_SHAPE_TABLE_STEP_H

#include "table.h"

/* Found by a kernel: `count` added to, `first` lowered. */
struct table_found {
    co_u64 count, first;
};

/* NULLS: the zeros among the bits of a piece's validity. CHECK: the first row whose index is not below
 * `values`. */
struct table_look {
    const co_u8 *validity;
    co_u64 validity_bit;
    co_u64 rows;
    const void *index;
    co_u32 index_bytes;
    co_u32 reserved;
    co_u64 values;
    struct table_found *found;
};

/* Bits of `from`; NULL: all are as those of `fill`. */
struct table_bits {
    co_u32 *to;
    co_u64 to_bit;
    const co_u8 *from;
    co_u64 from_bit;
    co_u64 n;
    co_u32 fill;
    co_u32 reserved;
};

struct table_rebase {
    void *to;
    const void *from;
    co_u32 to_bytes, from_bytes;
    co_u64 add;
    co_u64 n;
};

/* Rows by their numbers; a warp's 32 of the result have a word of `validity` (and of `to`, of bits). */
struct table_fetch {
    const void *numbers; /* NULL: each row */
    co_u32 number_bytes;
    co_u32 bytes; /* of an element; 0: bits */
    co_u64 n;
    co_u64 rows; /* of the column */
    const void *from;
    co_u64 from_bit;
    const co_u8 *validity;
    co_u64 validity_bit;
    void *to;
    co_u32 *to_validity;       /* NULL: row number ~0 is as bad as any other that is none */
    struct table_found *found; /* count: rows that are null; first: the first entry that is no row */
};

#endif
