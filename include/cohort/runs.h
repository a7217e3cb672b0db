/* cohort/runs.h: runs of equal keys: the key of each, where it begins, and how long it is. Of sorted keys
 * that are the distinct keys and how often each is there. Arrays, workspace and waiting: cohort/payload.h. */
#ifndef COHORT_RUNS_H
#define COHORT_RUNS_H

#include "payload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A run is a longest row of entries that follow each other and have the same key, compared as bits. Runs have
 * numbers in the order of the array. */
typedef struct cohort_runs_desc {
    /* sizeof(cohort_runs_desc) */
    size_t size;
    uint64_t n;
    /* of the keys: COHORT_U32 or COHORT_U64 */
    cohort_type type;
    /* 0 */
    uint32_t reserved;
    const void *keys;
    /* out, each with room for as many as there are runs (n always do); NULL: not wanted. The key of each run,
     * which may be written over `keys`; */
    void *distinct;
    /* the index of its first entry; */
    uint64_t *starts;
    /* the number of its entries */
    uint64_t *lengths;
    /* out: how many runs there are; in host or device memory, whatever the arrays are in; NULL: not wanted */
    uint64_t *total;
    /* NULL: of the pool */
    void *workspace;
    uint64_t workspace_bytes;
} cohort_runs_desc;

#define COHORT_RUNS_INIT                                                                  \
    {                                                                                     \
        sizeof(cohort_runs_desc), 0, COHORT_U32, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0 \
    }

/* Finds the runs: a compaction that keeps each key that differs from the one before it. Costs one read of the
 * keys and one write of each output, as cohort/compact.h; lengths one read of the starts more. Workspace: 8
 * bytes an entry where lengths are wanted without starts; on a CPU a bit an entry. O(n). COHORT_RANGE: a type
 * that is none, `reserved` not 0, arrays that overlap. COHORT_UNSUPPORTED: other types. */
COHORT_API cohort_status cohort_runs(cohort_context *context, const cohort_runs_desc *desc);
COHORT_API cohort_status cohort_runs_workspace(cohort_context *context, const cohort_runs_desc *desc,
                                               uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
