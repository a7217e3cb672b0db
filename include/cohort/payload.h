/* cohort/payload.h: what goes along with keys, and what the calls on arrays share: splits, compactions,
 * histograms, sorts.
 *
 * Shapes. Keys are as the header of the call says, payloads of 1, 2, 4, 8 or 16 bytes an entry, all aligned
 * to their size; n may be 0 and may exceed 2^32. Arrays lie in host or in device memory, all of one call in
 * the same kind; `offsets`, `bins`, `total`, `counts`, `segment_offsets` and `segment_kept` may lie in
 * either, whatever the arrays are in.
 *
 * In and out. An output may be the very input it comes from (that costs workspace of its size and a copy);
 * any other overlap is COHORT_RANGE. (Outputs of a compaction, whose length is not known beforehand, count as
 * one entry there.)
 *
 * Workspace comes from the context's pool, or is the caller's: `workspace` with `workspace_bytes`, aligned to
 * 256, in the context's memory, at least as many bytes as the ..._workspace function answers for the same
 * descriptor (else COHORT_RANGE, which names both). Calls with host pointers on a GPU take memory for the
 * arrays from the pool besides.
 *
 * Waiting. With all pointers in device memory nothing waits, and the call can be captured in a CUDA graph
 * once one like it (options and n) has run. A pointer to host memory, `offsets` and such included, makes the
 * call wait.
 *
 * Threads. One context is used by one thread at a time. */
#ifndef COHORT_PAYLOAD_H
#define COHORT_PAYLOAD_H

#include "context.h"
#include "type.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COHORT_PAYLOADS_MOST 16u

/* An array that goes along with the keys: `bytes` an entry. */
typedef struct cohort_payload {
    const void *in;
    void *out;
    /* 1, 2, 4, 8 or 16 */
    uint32_t bytes;
    /* 0 */
    uint32_t reserved;
} cohort_payload;

#define COHORT_PAYLOAD_INIT \
    {                       \
        NULL, NULL, 0, 0    \
    }

#ifdef __cplusplus
}
#endif
#endif
