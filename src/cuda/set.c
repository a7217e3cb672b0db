/* cuda/set.c: working sets on a GPU: the table of entries. A lane has a piece of a change in the directory, a
 * warp its chunk. */
#include "backend/set.h"

#include "device.h"

static cohort_status cuda_set_step(cohort_context *context, const struct set_work *work)
{
    const int keeps = work->kind == SET_KEEP;
    if (work->phase == SET_WORK && work->second)
        return gpu_launch_warps(context, "set_meet", work->items, 0, work);
    if (work->phase == SET_WORK)
        return gpu_launch_warps(context, keeps ? "set_keep" : "set_work", work->items,
                                keeps ? CO_CHUNK_BYTES : 0, work);
    if (work->phase == SET_WIPE)
        return gpu_launch_warps(context, "set_wipe", work->items, 0, work);
    return gpu_launch(context, "set_step", work->items, work);
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

/* Answers go by pieces, or by collections. */
static int cuda_set_two(cohort_context *context, const struct set_two *two)
{
    (void)context;
    (void)two;
    return 0;
}

const struct set_backend cuda_set_backend = {
    .step = cuda_set_step,
    .measure = cuda_set_measure,
    .write = cuda_set_write,
    .look = cuda_set_look,
    .two = cuda_set_two,
};
