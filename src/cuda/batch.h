/* cuda/batch.h: columns of a batch in host memory, streamed through the device. */
#ifndef COHORT_CUDA_BATCH_H
#define COHORT_CUDA_BATCH_H

#include "device.h"

enum { STREAM_IN = 1, STREAM_OUT = 2 };

/* One array of the caller's. With both directions, what the kernels leave alone comes back as it was. */
struct stream_column {
    void *host;    /* NULL: a column that is absent */
    unsigned bits; /* of an entry: 1 (a bitmap, aligned to words of 32) or a multiple of 8 */
    unsigned flow; /* STREAM_IN, STREAM_OUT, or both */
};

/* Enqueues the work on the `n` entries from entry `first` on (a multiple of 32), whose columns lie at
 * columns[], on the context's stream; columns that are absent are NULL there. */
typedef cohort_status (*stream_launch)(cohort_context *context, void *user, uint64_t first, uint64_t n,
                                       void *const *columns);

/* The caller's array; NULL is allowed. */
static inline struct stream_column stream_column(const void *host, unsigned bits, unsigned flow)
{
    return (struct stream_column){(void *)(uintptr_t)host, bits, flow};
}

#define STREAM_COLUMNS 8

/* Streams n entries of `columns` (at most STREAM_COLUMNS) through the device, and waits. */
cohort_status gpu_stream(cohort_context *context, uint64_t n, const struct stream_column *columns,
                         unsigned count, stream_launch launch, void *user);

/* Copies between pageable memory of the host and the device in the same manner: STREAM_IN to the device,
 * STREAM_OUT from it. Waits. */
cohort_status gpu_stream_copy(cohort_context *context, void *device, void *host, uint64_t bytes,
                              unsigned flow);

/* Frees what gpu_stream has kept. The device must be current and idle. */
void gpu_stream_free(struct gpu *g);

/* Frees the threads' part alone, whose threads a fork left behind. */
void gpu_stream_forget_team(struct gpu *g);

#endif
