/* cohort/multisplit.h: partition of keys into buckets.
 *
 * Multisplit (Ashkiani, Davidson, Meyer, Owens: "GPU Multisplit", PPoPP 2016) puts keys, with any payloads,
 * in order of a bucket that a function of the key names: 1 to 65,536 buckets, contiguous, in order, each with
 * its keys in input order (stable) or, when asked, in any. Keys are uint32_t or uint64_t. Arrays, workspace
 * and waiting: cohort/payload.h.
 *
 * Bad ids. Ids from m on (of IDS, TABLE, BITS, USER) are left out: their entries are written nowhere,
 * offsets[m] is the number of entries written, `counts` has the number of bad ones and the first of them; the
 * status is COHORT_RANGE, at once from a call that waits, at cohort_wait else. A compaction puts an entry
 * whose key a TABLE does not hold among the rejected, and is COHORT_RANGE likewise. */
#ifndef COHORT_MULTISPLIT_H
#define COHORT_MULTISPLIT_H

#include "fn.h"
#include "map.h" /* cohort_counts */
#include "payload.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COHORT_BUCKETS_MOST 65536u
/* Segments times buckets, at most. */
#define COHORT_SEGMENT_BUCKETS_MOST (1u << 22)

/* How it is done. All give the same answer, apart from the order inside buckets of those that are unordered.
 * A method that cannot do what is asked is COHORT_UNSUPPORTED. A CPU takes every name, with any m, and does
 * the same for all. */
typedef enum cohort_split_method {
    /* the best of a tuned table */
    COHORT_SPLIT_AUTO = 0,
    /* a warp's histogram by ballots; each lane stores its key itself; m <= 256 */
    COHORT_SPLIT_DIRECT = 1,
    /* the same, keys put in order within a warp before they are stored; m <= 256 */
    COHORT_SPLIT_WARP = 2,
    /* put in order within a block's tile; m <= 2,048 */
    COHORT_SPLIT_BLOCK = 3,
    /* the same after one histogram, tiles resolving what is before by look-back; m <= 256 */
    COHORT_SPLIT_LOOK_BACK = 4,
    /* the same, tiles reserving their ranges by atomic adds: only if `unordered`; m <= 2,048 */
    COHORT_SPLIT_RESERVED = 5,
    /* two stable splits by halves of the id: any m */
    COHORT_SPLIT_DIGITS = 6
} cohort_split_method;

typedef struct cohort_multisplit_desc {
    /* sizeof(cohort_multisplit_desc) */
    size_t size;
    uint64_t n;
    /* of the keys: COHORT_U32 or COHORT_U64 */
    cohort_type type;
    /* m, 1 to COHORT_BUCKETS_MOST */
    uint32_t buckets;
    const cohort_fn *fn;
    const void *keys;
    /* NULL: keys are not written */
    void *keys_out;
    /* 0 to COHORT_PAYLOADS_MOST */
    uint32_t payloads;
    /* 1: any order within a bucket */
    uint32_t unordered;
    const cohort_payload *payload;
    /* permutation[j] = the index in the input of the j-th entry of the output; NULL: not wanted */
    void *permutation;
    /* 4 (n <= 2^32) or 8; 0: 4 */
    uint32_t permutation_bytes;
    cohort_split_method method;
    /* rank[i] = where in the output the i-th entry of the input is, the inverse of the permutation; all ones
     * of an entry that is left out; NULL: not wanted */
    void *rank;
    /* 4 (n < 2^32) or 8; 0: 4 */
    uint32_t rank_bytes;
    /* 0 */
    uint32_t reserved;
    /* Each segment is split by itself, and segments stay in order; 0: one segment, all n entries */
    uint64_t segments;
    /* segments + 1 entries that do not fall, the first 0, the last n */
    const uint64_t *segment_offsets;
    /* out: m + 1 entries; bucket b is [offsets[b], offsets[b + 1]) of the outputs; NULL: not wanted. With
     * segments: segments * m + 1 entries; bucket b of segment s is the one with number s * m + b */
    uint64_t *offsets;
    /* out: taken = n, hits = 0, added = entries written, failed, first_failed; NULL: not wanted */
    cohort_counts *counts;
    /* NULL: of the pool */
    void *workspace;
    uint64_t workspace_bytes;
} cohort_multisplit_desc;

#define COHORT_MULTISPLIT_INIT                                                                   \
    {                                                                                            \
        sizeof(cohort_multisplit_desc), 0, COHORT_U32, 0, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, \
            COHORT_SPLIT_AUTO, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 0                          \
    }

/* Splits. Costs, with 4-byte keys: the keys are read twice and written once (12 bytes), 8-byte pairs 20; m
 * above 2,048 twice that. Segments are a part of the bucket's number: one more pass writes 4 bytes an entry
 * beforehand, and what is said of m above is true of segments * m. Ranks cost a permutation and a write of
 * each rank at a random place. Workspace: 4 bytes an entry for segments, and the permutation for ranks, if it
 * is not asked for. COHORT_RANGE: buckets, type, payloads, their bytes, overlap, a kind or a method that is
 * none, n above 2^32 with a 4-byte permutation, splitters that are not sorted (found where they lie in host
 * memory), their count not m - 1; n of 2^32 or more with 4-byte ranks; segment offsets that fall, do not
 * begin with 0 or do not end with n (found where they lie in host memory). COHORT_UNSUPPORTED: the method;
 * segments * m above COHORT_SEGMENT_BUCKETS_MOST; USER without host function or without source, NVRTC not
 * found; a source that does not compile is COHORT_RANGE with the compiler's log in the message. */
COHORT_API cohort_status cohort_multisplit(cohort_context *context, const cohort_multisplit_desc *desc);
COHORT_API cohort_status cohort_multisplit_workspace(cohort_context *context,
                                                     const cohort_multisplit_desc *desc, uint64_t *bytes);

/* The whole log of the compiler for the last source that did not compile on this context ("" if there is
 * none). */
COHORT_API const char *cohort_fn_log(const cohort_context *context);

#ifdef __cplusplus
}
#endif
#endif
