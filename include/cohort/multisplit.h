/* cohort/multisplit.h: partition of keys into buckets, and what stands on it: compaction, histogram, sort, sums.
 *
 * Multisplit (Ashkiani, Davidson, Meyer, Owens: "GPU Multisplit", PPoPP 2016) puts keys, with any payload columns, in order of a
 * bucket that a function of the key names: 1 to 65,536 buckets, contiguous, in order, each with its keys in input order
 * (stable) or, when asked, in any.
 *
 * Shapes. Keys are uint32_t or uint64_t, payload columns of 1, 2, 4, 8 or 16 bytes an entry, all aligned to their size; n may be
 * 0 and may exceed 2^32. Arrays lie in host or in device memory, all of one call in the same kind; `offsets`, `bins`, `total`,
 * `counts`, `segment_offsets` and `segment_kept` may lie in either, whatever the arrays are in.
 *
 * In and out. An output may be the very input it comes from (that costs workspace of its size and a copy); any other overlap is
 * COHORT_RANGE. (Outputs of a compaction, whose length is not known beforehand, count as one entry there.)
 *
 * Workspace comes from the context's pool, or is the caller's: `workspace` with `workspace_bytes`, aligned to 256, in the
 * context's memory, at least as many bytes as the ..._workspace function answers for the same descriptor (else
 * COHORT_RANGE, which names both). Calls with host pointers on a GPU take memory for the arrays from the pool besides.
 *
 * Waiting. With all pointers in device memory nothing waits, and the call can be captured in a CUDA graph once one like it
 * (options and n) has run. A pointer to host memory, `offsets` and such included, makes the call wait.
 *
 * Bad ids. Ids from m on (of IDS, TABLE, BITS, USER) are left out: their entries are written nowhere, offsets[m] is the number of
 * entries written, `counts` has the number of bad ones and the first of them; the status is COHORT_RANGE, at once from a call
 * that waits, at cohort_wait else. A compaction puts an entry whose key a TABLE does not hold among the rejected, and is
 * COHORT_RANGE likewise. */
#ifndef COHORT_MULTISPLIT_H
#define COHORT_MULTISPLIT_H

#include "fn.h"
#include "map.h" /* cohort_counts */

#ifdef __cplusplus
extern "C" {
#endif

#define COHORT_BUCKETS_MOST 65536u
#define COHORT_COLUMNS_MOST 16u

/* One payload column: `bytes` an entry. */
typedef struct cohort_column {
    const void *in;
    void *out;
    uint32_t bytes; /* 1, 2, 4, 8 or 16 */
} cohort_column;

/* How it is done. All give the same answer, apart from the order inside buckets of those that are unordered. A method that
 * cannot do what is asked is COHORT_UNSUPPORTED. A CPU takes every name, with any m, and does the same for all. */
typedef enum cohort_split_method {
    COHORT_SPLIT_AUTO = 0,   /* the best of a tuned table */
    COHORT_SPLIT_DIRECT = 1, /* a warp's histogram by ballots; each lane stores its key itself; m <= 256 */
    COHORT_SPLIT_WARP = 2,   /* the same, keys put in order within a warp before they are stored; m <= 256 */
    COHORT_SPLIT_BLOCK = 3,  /* put in order within a block's tile; m <= 2,048 */
    COHORT_SPLIT_LOOK_BACK =
        4, /* the same after one histogram, tiles resolving what is before by look-back; m <= 256 */
    COHORT_SPLIT_RESERVED =
        5, /* the same, tiles reserving their ranges by atomic adds: only if `unordered`; m <= 2,048 */
    COHORT_SPLIT_DIGITS = 6 /* two stable splits by halves of the id: any m */
} cohort_split_method;

typedef struct cohort_multisplit_desc {
    size_t size; /* sizeof(cohort_multisplit_desc) */
    uint64_t n;
    uint32_t key_bytes; /* 4 or 8 */
    uint32_t buckets;   /* m, 1 to COHORT_BUCKETS_MOST */
    cohort_fn fn;
    const void *keys;
    void *keys_out;     /* NULL: keys are not written */
    uint32_t columns;   /* 0 to COHORT_COLUMNS_MOST */
    uint32_t unordered; /* 1: any order within a bucket */
    const cohort_column *column;
    /* permutation[j] = the index in the input of the j-th entry of the output; NULL: not wanted */
    void *permutation;
    uint32_t permutation_bytes; /* 4 (n <= 2^32) or 8; 0: 4 */
    cohort_split_method method;
    /* out: m + 1 entries; bucket b is [offsets[b], offsets[b + 1]) of the outputs; NULL: not wanted */
    uint64_t *offsets;
    /* out: taken = n, hits = 0, added = entries written, failed, first_failed; NULL: not wanted */
    cohort_counts *counts;
    void *workspace; /* NULL: of the pool */
    uint64_t workspace_bytes;
} cohort_multisplit_desc;

#define COHORT_MULTISPLIT_INIT                                                                    \
    {                                                                                             \
        sizeof(cohort_multisplit_desc), 0, 4, 0, COHORT_FN_INIT, NULL, NULL, 0, 0, NULL, NULL, 0, \
            COHORT_SPLIT_AUTO, NULL, NULL, NULL, 0                                                \
    }

/* Splits. Costs, with 4-byte keys: the keys are read twice and written once (12 bytes), 8-byte pairs 20; m above 2,048 twice
 * that. COHORT_RANGE: buckets, key_bytes, columns, column bytes, overlap, a kind or a method that is none, n above
 * 2^32 with a 4-byte permutation, splitters that are not sorted (found where they lie in host memory), their count not m - 1.
 * COHORT_UNSUPPORTED: the method; USER without host function or without source, NVRTC not found; a source that does not
 * compile is COHORT_RANGE with the compiler's log in the message. */
COHORT_API cohort_status cohort_multisplit(cohort_context *context, const cohort_multisplit_desc *desc);
COHORT_API cohort_status cohort_multisplit_workspace(cohort_context *context,
                                                     const cohort_multisplit_desc *desc, uint64_t *bytes);

/* The whole log of the compiler for the last source that did not compile on this context ("" if there is none). */
COHORT_API const char *cohort_fn_log(const cohort_context *context);

/* ---- compaction ---------------------------------------------------------------------------------------------- */

/* Keeps entries whose function is not 0, in input order; the others go, in input order, to `rejected` where that is wanted. */
typedef struct cohort_compact_desc {
    size_t size; /* sizeof(cohort_compact_desc) */
    uint64_t n;
    uint32_t key_bytes;
    uint32_t columns;
    cohort_fn fn;          /* any kind but HASH, MODULO, RANGES, DELTA, which need a number of buckets */
    const uint32_t *where; /* a bitmap in fn's place: kept where the bit is 1 (fn.kind 0); NULL: fn */
    const void *keys;
    void *kept;                   /* room for as many as are kept (n always do); NULL: not wanted */
    void *rejected;               /* NULL: not wanted */
    const cohort_column *column;  /* `out` gets the kept entries, and may be NULL; NULL with columns = 0 */
    void *const *column_rejected; /* one a column, each may be NULL; NULL: none is wanted */
    /* 0: one. Else entries [segment_offsets[s], segment_offsets[s + 1]) are segment s; the offsets cover
     * [0, n) and do not fall (checked where they lie in host memory). */
    uint64_t segments;
    const uint64_t *segment_offsets;
    /* out: segments + 1 offsets into `kept`: where each segment's kept entries begin; NULL: not wanted */
    uint64_t *segment_kept;
    uint64_t *total; /* out: how many were kept; NULL: not wanted */
    void *workspace;
    uint64_t workspace_bytes;
} cohort_compact_desc;

#define COHORT_COMPACT_INIT                                                                                \
    {                                                                                                      \
        sizeof(cohort_compact_desc), 0, 4, 0, COHORT_FN_INIT, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, \
            NULL, NULL, NULL, 0                                                                            \
    }

/* Costs one read and one write: single pass, tiles resolving what is before by look-back. */
COHORT_API cohort_status cohort_compact(cohort_context *context, const cohort_compact_desc *desc);
COHORT_API cohort_status cohort_compact_workspace(cohort_context *context, const cohort_compact_desc *desc,
                                                  uint64_t *bytes);

/* ---- histogram ----------------------------------------------------------------------------------------------- */

typedef struct cohort_histogram_desc {
    size_t size; /* sizeof(cohort_histogram_desc) */
    uint64_t n;
    uint32_t key_bytes;
    uint32_t buckets; /* m, 1 to COHORT_BUCKETS_MOST */
    cohort_fn fn;
    const void *keys;
    uint64_t *bins;        /* out: m counts */
    cohort_counts *counts; /* out, as of a multisplit; NULL: not wanted */
    void *workspace;
    uint64_t workspace_bytes;
} cohort_histogram_desc;

#define COHORT_HISTOGRAM_INIT                                                             \
    {                                                                                     \
        sizeof(cohort_histogram_desc), 0, 4, 0, COHORT_FN_INIT, NULL, NULL, NULL, NULL, 0 \
    }

/* bins[b] = the number of keys in bucket b. Costs one read of the keys. */
COHORT_API cohort_status cohort_histogram(cohort_context *context, const cohort_histogram_desc *desc);
COHORT_API cohort_status cohort_histogram_workspace(cohort_context *context,
                                                    const cohort_histogram_desc *desc, uint64_t *bytes);

/* ---- sort ---------------------------------------------------------------------------------------------------- */

/* What the bits of a key mean. Floats are in IEEE 754's total order: -NaN, -inf .. -0, +0 .. inf, NaN. */
typedef enum cohort_order {
    COHORT_ORDER_U32 = 1,
    COHORT_ORDER_I32 = 2,
    COHORT_ORDER_F32 = 3,
    COHORT_ORDER_U64 = 4,
    COHORT_ORDER_I64 = 5,
    COHORT_ORDER_F64 = 6
} cohort_order;

typedef struct cohort_sort_desc {
    size_t size; /* sizeof(cohort_sort_desc) */
    uint64_t n;
    cohort_order order;
    uint32_t descending; /* 1: greatest first; equal keys keep their input order either way */
    /* Only bits [low_bit, high_bit) of the key, as the order maps it to an unsigned number, are compared;
     * high_bit 0: the key's width. */
    uint32_t low_bit;
    uint32_t high_bit;
    const void *keys;
    void *keys_out;
    uint32_t columns;
    uint32_t permutation_bytes; /* 4 (n <= 2^32) or 8; 0: 4 */
    const cohort_column *column;
    void *permutation;               /* as of multisplit; NULL: not wanted */
    uint64_t segments;               /* 0: one. Else each segment is sorted by itself, */
    const uint64_t *segment_offsets; /* as of compact */
    void *workspace;
    uint64_t workspace_bytes;
} cohort_sort_desc;

#define COHORT_SORT_INIT                                                                                     \
    {                                                                                                        \
        sizeof(cohort_sort_desc), 0, COHORT_ORDER_U32, 0, 0, 0, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL, \
            0                                                                                                \
    }

/* Least-significant-digit radix sort (Adinets and Merrill, "Onesweep"): stable; one read for the histograms of all digits, then
 * one read and write a digit of 8 bits. Workspace: the arrays once more. COHORT_UNSUPPORTED: 2^32 segments or more, on a GPU. */
COHORT_API cohort_status cohort_sort(cohort_context *context, const cohort_sort_desc *desc);
COHORT_API cohort_status cohort_sort_workspace(cohort_context *context, const cohort_sort_desc *desc,
                                               uint64_t *bytes);

/* ---- sums ---------------------------------------------------------------------------------------------------- */

/* out[i] = the sum of in[0 .. i) (inclusive: of in[0 .. i]), modulo 2^32 or 2^64 as `bytes` (4 or 8) an entry says. `out` may be
 * `in`. Decoupled look-back (Merrill and Garland): one read and one write. Waits with host pointers only. */
COHORT_API cohort_status cohort_scan(cohort_context *context, uint64_t n, uint32_t bytes, const void *in,
                                     void *out, int inclusive);

/* *out = the sum, the least or the greatest (COHORT_OP_ADD, _MIN, _MAX; unsigned) of n numbers of `bytes` (4 or 8); the sum as
 * uint64_t. Of no numbers: 0, UINT64_MAX, 0. `out` in host memory makes the call wait. */
COHORT_API cohort_status cohort_reduce(cohort_context *context, cohort_op op, uint64_t n, uint32_t bytes,
                                       const void *in, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
