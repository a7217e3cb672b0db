/* cohort/histogram.h: how many keys fall into each bucket. Arrays, workspace and waiting: cohort/payload.h;
 * bad ids: cohort/multisplit.h. */
#ifndef COHORT_HISTOGRAM_H
#define COHORT_HISTOGRAM_H

#include "fn.h"
#include "map.h"        /* cohort_counts */
#include "multisplit.h" /* COHORT_BUCKETS_MOST */
#include "payload.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cohort_histogram_desc {
    /* sizeof(cohort_histogram_desc) */
    size_t size;
    uint64_t n;
    /* of the keys: COHORT_U32 or COHORT_U64 */
    cohort_type type;
    /* m, 1 to COHORT_BUCKETS_MOST */
    uint32_t buckets;
    const cohort_fn *fn;
    const void *keys;
    /* out: m counts */
    uint64_t *bins;
    /* out, as of a multisplit; NULL: not wanted */
    cohort_counts *counts;
    void *workspace;
    uint64_t workspace_bytes;
} cohort_histogram_desc;

#define COHORT_HISTOGRAM_INIT                                                            \
    {                                                                                    \
        sizeof(cohort_histogram_desc), 0, COHORT_U32, 0, NULL, NULL, NULL, NULL, NULL, 0 \
    }

/* bins[b] = the number of keys in bucket b. Costs one read of the keys. */
COHORT_API cohort_status cohort_histogram(cohort_context *context, const cohort_histogram_desc *desc);
COHORT_API cohort_status cohort_histogram_workspace(cohort_context *context,
                                                    const cohort_histogram_desc *desc, uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
