/* cuda/runs.c: runs of equal keys: the launches. */
#include "backend/runs.h"

#include "device.h"

static cohort_status cuda_runs_begins(cohort_context *context, const struct runs_begins *step,
                                      co_u32 key_bytes)
{
    const uint64_t lanes = (step->n + RUNS_WORDS - 1) / RUNS_WORDS;
    return gpu_launch(context, key_bytes == 8 ? "runs_begins_64" : "runs_begins_32", lanes, step);
}

static cohort_status cuda_runs_lengths(cohort_context *context, const struct runs_lengths *step)
{
    return gpu_launch(context, "runs_lengths", step->n, step);
}

const struct runs_backend cuda_runs_backend = {
    .begins = cuda_runs_begins,
    .lengths = cuda_runs_lengths,
};
