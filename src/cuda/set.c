/* cuda/set.c: working sets on a GPU: the table of entries. A warp has a chunk. */
#include "backend/set.h"

#include "device.h"

static cohort_status cuda_set_work(cohort_context *context, const struct set_work *work)
{
    return gpu_launch_warps(context, "set_work", work->items, 0, work);
}

static cohort_status cuda_set_measure(cohort_context *context, const struct set_chunks *chunks)
{
    return gpu_launch_warps(context, "set_measure", chunks->items, 0, chunks);
}

static cohort_status cuda_set_write(cohort_context *context, const struct set_chunks *chunks)
{
    return gpu_launch_warps(context, "set_write", chunks->items, 0, chunks);
}

static cohort_status cuda_set_look(cohort_context *context, const struct set_look *look)
{
    return gpu_launch(context, "set_look", look->n, look);
}

const struct set_backend cuda_set_backend = {
    .work = cuda_set_work,
    .measure = cuda_set_measure,
    .write = cuda_set_write,
    .look = cuda_set_look,
};
