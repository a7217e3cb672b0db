/* stream.h: columns of host memory, streamed through the device. */
#ifndef COHORT_CUDA_STREAM_H
#define COHORT_CUDA_STREAM_H

#include "device.h"

enum { STREAM_IN = 1, STREAM_OUT = 2 };

/* One array of the caller's. With both directions, what the kernels leave alone comes back as it was. */
struct stream_column {
    void *host;    /* NULL: a column that is absent */
    unsigned bits; /* of an entry: 1 (a bitmap, in whole words of 32) or a multiple of 8 */
    unsigned flow; /* STREAM_IN, STREAM_OUT, or both */
};

/* Enqueues the work on the `n` entries from entry `first` on (a multiple of 32), whose columns lie at
 * columns[], on the context's stream; columns that are absent are NULL there. */
typedef cohort_status (*stream_launch)(cohort_context *context, void *user, uint64_t first, uint64_t n,
                                       void *const *columns);

#define STREAM_COLUMNS 8

/* Streams n entries of `columns` (at most STREAM_COLUMNS) through the device, and waits. The device must
 * be current. */
cohort_status gpu_stream(cohort_context *context, uint64_t n, const struct stream_column *columns,
                         unsigned count, stream_launch launch, void *user);

/* Copies between pageable memory of the host and the device in the same manner: STREAM_IN to the device, STREAM_OUT from it. Waits.
 * The device must be current. */
cohort_status gpu_stream_copy(cohort_context *context, void *device, void *host, uint64_t bytes,
                              unsigned flow);

/* Frees what gpu_stream has kept. The device must be current and idle. */
void gpu_stream_free(struct gpu *g);

#endif
