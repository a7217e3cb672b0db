/* cohort/compact.h: the entries that a function or a bitmap picks, in order. Arrays, workspace and waiting:
 * cohort/payload.h. */
#ifndef COHORT_COMPACT_H
#define COHORT_COMPACT_H

#include "fn.h"
#include "payload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps entries whose function is not 0, in input order; the others go, in input order, to `rejected` where
 * that is wanted. */
typedef struct cohort_compact_desc {
    /* sizeof(cohort_compact_desc) */
    size_t size;
    uint64_t n;
    /* of the keys: COHORT_U32 or COHORT_U64 */
    cohort_type type;
    uint32_t payloads;
    /* any kind but HASH, MODULO, RANGES, DELTA, which need a number of buckets; NULL: `where` */
    const cohort_fn *fn;
    /* a bitmap in fn's place, as in cohort/map.h: kept where the bit is 1; NULL: fn. One that is not at a
     * multiple of 4 bytes and 32 bits takes workspace for a copy */
    const uint8_t *where;
    /* the bit of entry 0 */
    uint64_t where_offset;
    const void *keys;
    /* room for as many as are kept (n always do); NULL: not wanted */
    void *kept;
    /* NULL: not wanted */
    void *rejected;
    /* `out` gets the kept entries, and may be NULL; NULL with payloads = 0 */
    const cohort_payload *payload;
    /* one a payload, each may be NULL; NULL: none is wanted */
    void *const *payload_rejected;
    /* 0: one. Else entries [segment_offsets[s], segment_offsets[s + 1]) are segment s; the offsets cover
     * [0, n) and do not fall (checked where they lie in host memory). */
    uint64_t segments;
    const uint64_t *segment_offsets;
    /* out: segments + 1 offsets into `kept`: where each segment's kept entries begin; NULL: not wanted */
    uint64_t *segment_kept;
    /* out: how many were kept; NULL: not wanted */
    uint64_t *total;
    void *workspace;
    uint64_t workspace_bytes;
} cohort_compact_desc;

#define COHORT_COMPACT_INIT                                                                                  \
    {                                                                                                        \
        sizeof(cohort_compact_desc), 0, COHORT_U32, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, \
            NULL, NULL, NULL, 0                                                                              \
    }

/* Costs one read and one write: single pass, tiles resolving what is before by look-back. */
COHORT_API cohort_status cohort_compact(cohort_context *context, const cohort_compact_desc *desc);
COHORT_API cohort_status cohort_compact_workspace(cohort_context *context, const cohort_compact_desc *desc,
                                                  uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
