/* shape/sort.h: what the kernels of a sort are told. Plain C, seen by the CUDA backend and by the kernels.
 *
 * Arrays go through passes together, a digit of the first of them a pass: from where they came (`in`) or one
 * of two places (`out`, `other`) to another of the two. A plan, made on the device, says which passes are
 * needed at all, and where each takes the arrays from and to, so that the last leaves them in `out`. */
#ifndef COHORT_SHAPE_SORT_H
#define COHORT_SHAPE_SORT_H

#include "cohort/device/lane.h"

#define SORT_DIGIT_BITS 8u
#define SORT_DIGITS     256u
#define SORT_COUNTED    8u  /* passes whose digits are counted at a time, at most */
#define SORT_PASSES     12u /* at most: 8 of keys, 4 of segments */
#define SORT_ARRAYS     19u /* keys, columns, permutation, segments */

/* The passes: of numbers of 4 and 8 bytes alone, of 4 with one column of 4, of either with any columns; of
 * few and of fewest numbers of 4, alone and with one column of 4, and so of many. */
enum sort_kind {
    SORT_KEYS_32,
    SORT_KEYS_64,
    SORT_PAIR_32,
    SORT_COLUMNS_32,
    SORT_COLUMNS_64,
    SORT_FEW_32,
    SORT_FEW_PAIR_32,
    SORT_FEWEST_32,
    SORT_FEWEST_PAIR_32,
    SORT_FAR_32,
    SORT_FAR_PAIR_32,
    SORT_KINDS
};

/* Entries a lane, threads of a block, and blocks a multiprocessor. */
#define SORT_ITEMS_32_GPU         32u
#define SORT_ITEMS_64_GPU         16u
#define SORT_ITEMS_PAIR_GPU       30u
#define SORT_ITEMS_COLUMNS_32_GPU 18u
#define SORT_ITEMS_COLUMNS_64_GPU 16u
#define SORT_ITEMS_FEW_GPU        16u
#define SORT_ITEMS_FEWEST_GPU     12u
#define SORT_ITEMS_FAR_GPU        32u
#define SORT_ITEMS_SIM            5u /* one more than fill words of two places and of four digits */
#define SORT_THREADS_GPU          384u
#define SORT_THREADS_PAIR_GPU     512u
#define SORT_THREADS_FEW_GPU      512u
#define SORT_THREADS_FEWEST_GPU   384u
#define SORT_THREADS_FAR_GPU      768u
#define SORT_THREADS_SIM          64u
#define SORT_BLOCKS               3
#define SORT_BLOCKS_PAIR          2
#define SORT_BLOCKS_FEW           2

/* Of a count: chunks of 16 bytes that a lane asks for at a time, turns that a block takes at least, and
 * blocks a multiprocessor, at most. */
#define SORT_CHUNKS 2u
#define SORT_TURNS  2u
#define SORT_COUNTS 16u

enum { SORT_IN = 0, SORT_OUT = 1, SORT_OTHER = 2 };

struct sort_array {
    const void *in; /* NULL: the entries' numbers */
    void *out, *other;
    co_u32 bytes;
    co_u32 reserved;
};

/* One pass, as the device has planned it. */
struct sort_plan {
    co_u32 active; /* 0: its digit is the same for all */
    co_u32 from, to;
    co_u32 turn;        /* how many before it do something */
    co_u32 first, last; /* of the passes over keys: keys become unsigned numbers, or what they were */
};

/* Of many: pads of a stage's runs (kernels/runs_write.h), a multiple of 128 bytes; words of runs, and which
 * are long; what says that copies have come; and the plan. */
#define SORT_FAR_PADS 288u
#define SORT_FAR_BYTES                                                          \
    (2 * SORT_FAR_PADS * 4 + SORT_DIGITS * 16 + SORT_DIGITS / 32 * 4 + 4 + 16 + \
     (co_u32)sizeof(struct sort_plan))

/* What the bits of a key mean. The 32-bit ones come first. */
enum { SORT_U32 = 1, SORT_I32 = 2, SORT_F32 = 3, SORT_U64 = 4, SORT_I64 = 5, SORT_F64 = 6 };

struct sort_step {
    co_u64 n;
    co_u32 arrays;
    co_u32 order, descending; /* of keys, a SORT_.. of above */
    co_u32 by_keys;           /* array 0 is the keys */
    co_u32 shift, mask;       /* the digit: number >> shift & mask */
    co_u32 shift_again;       /* the same: what is read twice need not be kept in registers */
    co_u32 round;             /* of the look-back */
    const struct sort_plan *plan;
    const co_u64 *base; /* where each digit's entries begin in the output */
    co_u64 *words;      /* of the look-back: of 64 bits, */
    co_u64 half;        /* or, if not 0, two times so many of 32 bits */
    co_u32 *tickets;
    struct sort_array array[SORT_ARRAYS];
};

struct sort_count_step {
    const void *keys;
    co_u64 n, lead;
    co_u32 order, descending, by_keys;
    co_u32 passes, shift[SORT_COUNTED], mask[SORT_COUNTED];
    co_u64 *bins; /* [pass][digit], cleared */
};

struct sort_plan_step {
    co_u64 n;
    co_u32 passes, key_passes;
    co_u64 *bins; /* become the digits' begins */
    struct sort_plan *plan;
};

struct sort_segments_step {
    co_u64 n, segments;
    const co_u64 *offsets;
    co_u32 *numbers; /* out: the segment of each entry */
};

#endif
