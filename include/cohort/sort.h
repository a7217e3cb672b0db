/* cohort/sort.h: stable radix sort of numbers, whole or by segments, with payloads. Arrays, workspace and
 * waiting: cohort/payload.h. */
#ifndef COHORT_SORT_H
#define COHORT_SORT_H

#include "payload.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cohort_sort_desc {
    /* sizeof(cohort_sort_desc) */
    size_t size;
    uint64_t n;
    /* of the keys: COHORT_U32, _I32, _F32, _U64, _I64 or _F64. Floats are in IEEE 754's total order: -NaN,
     * -inf .. -0, +0 .. inf, NaN. */
    cohort_type type;
    /* 1: greatest first; equal keys keep their input order either way */
    uint32_t descending;
    /* Only bits [low_bit, high_bit) of the key, as the type maps it to an unsigned number, are compared;
     * high_bit 0: the key's width. */
    uint32_t low_bit;
    uint32_t high_bit;
    const void *keys;
    /* NULL: not wanted; then payloads or a permutation must be */
    void *keys_out;
    uint32_t payloads;
    /* 4 (n <= 2^32) or 8; 0: 4 */
    uint32_t permutation_bytes;
    const cohort_payload *payload;
    /* as of multisplit; NULL: not wanted */
    void *permutation;
    /* 0: one. Else each segment is sorted by itself, */
    uint64_t segments;
    /* as of compact */
    const uint64_t *segment_offsets;
    void *workspace;
    uint64_t workspace_bytes;
} cohort_sort_desc;

#define COHORT_SORT_INIT                                                                                 \
    {                                                                                                    \
        sizeof(cohort_sort_desc), 0, COHORT_U32, 0, 0, 0, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL, 0 \
    }

/* Least-significant-digit radix sort (Adinets and Merrill, "Onesweep"): stable; one read for the histograms
 * of all digits, then one read and write a digit of 8 bits. Workspace: the arrays once more, and the keys
 * twice if keys_out is NULL. COHORT_RANGE: a type that is none; COHORT_NULL: keys_out is NULL and nothing
 * else is wanted; COHORT_UNSUPPORTED: a type of 1 or 2 bytes; 2^32 segments or more, on a GPU. */
COHORT_API cohort_status cohort_sort(cohort_context *context, const cohort_sort_desc *desc);
COHORT_API cohort_status cohort_sort_workspace(cohort_context *context, const cohort_sort_desc *desc,
                                               uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
