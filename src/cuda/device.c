/* device.c: the driver's errors as statuses, the current context, and the launch of a kernel by name. */
#include "device.h"

/* Bytes of shared memory that any block may have, which is 48 KiB, less what a kernel names itself. */
#define SHARED_ALWAYS 32768u

cohort_status gpu_check(cohort_context *context, cuda_result result, const char *doing)
{
    if (result == CUDA_OK)
        return COHORT_OK;
    const char *name = NULL;
    if (gpu_of(context)->driver->error_name(result, &name) != CUDA_OK || !name)
        name = "unknown error";
    cohort_status status = result == CUDA_OUT_OF_MEMORY ? COHORT_NO_MEMORY : COHORT_DEVICE_ERROR;
    return context_fail(context, status, "%s: the driver reports %s (%d)", doing, name, result);
}

cohort_status gpu_enter(cohort_context *context)
{
    struct gpu *g = gpu_of(context);
    return gpu_check(context, g->driver->context_push(g->primary), "cuCtxPushCurrent");
}

cohort_status gpu_leave(cohort_context *context, cohort_status status)
{
    cuda_context popped;
    gpu_of(context)->driver->context_pop(&popped);
    return status;
}

int gpu_capturing(cohort_context *context)
{
    struct gpu *g = gpu_of(context);
    int status = 0;
    if (gpu_enter(context))
        return 1;
    int unknown = g->driver->stream_is_capturing(g->stream, &status) != CUDA_OK;
    gpu_leave(context, COHORT_OK);
    return unknown || status;
}

/* How a kernel begins. EARLY, where the GPU can: its blocks come while the last of the kernel before it end,
 * and wait for those by themselves (CO_AFTER in device/lane_cuda.h). A multiprocessor is never empty then,
 * and keeps the share of the first cache that the kernel before it left: what lives by that cache, as walks
 * in tables do, begins AFTER it. */
enum start { EARLY, AFTER };

static cuda_result begin(const struct gpu *g, cuda_function function, enum start start, unsigned blocks,
                         unsigned block, unsigned shared_bytes, void **parameters)
{
    struct cuda_launch_attribute early = {.id = CUDA_LAUNCH_PROGRAMMATIC, .value.on = 1};
    struct cuda_launch l = {{blocks, 1, 1}, {block, 1, 1}, shared_bytes, g->stream, &early, 1};
    if (g->overlaps && start == EARLY)
        return g->driver->launch_kernel_ex(&l, function, parameters, NULL);
    return g->driver->launch_kernel(function, blocks, 1, 1, block, 1, 1, shared_bytes, g->stream, parameters,
                                    NULL);
}

/* With the device current. */
static cohort_status launch(cohort_context *context, const char *kernel, enum start start, unsigned blocks,
                            unsigned block, unsigned shared_bytes, const void *args)
{
    struct gpu *g = gpu_of(context);
    cuda_function function = NULL;
    cuda_result r = gpu_function(&g->modules, g->driver, kernel, &function);
    if (r == CUDA_NOT_FOUND)
        return context_fail(context, COHORT_UNSUPPORTED, "this libcohort has no kernel %s", kernel);
    if (r == CUDA_OK && shared_bytes > SHARED_ALWAYS)
        r = g->driver->function_set_attribute(function, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)shared_bytes);
    if (r == CUDA_OK) {
        void *parameters[1] = {(void *)args};
        r = begin(g, function, start, blocks, block, shared_bytes, parameters);
    }
    return gpu_check(context, r, kernel);
}

/* A thread for each item, or `blocks` blocks a multiprocessor. */
static cohort_status launch_items(cohort_context *context, const char *kernel, enum start start,
                                  uint64_t items, unsigned block, unsigned blocks, const void *args)
{
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * blocks;
    uint64_t all = items / block + (items % block != 0);
    if (!items)
        return COHORT_OK;
    most = most < INT32_MAX ? most : INT32_MAX; /* blocks of a grid */
    cohort_status status = gpu_enter(context);
    if (!status)
        status = gpu_leave(
            context, launch(context, kernel, start, (unsigned)(all < most ? all : most), block, 0, args));
    return status;
}

cohort_status gpu_launch_grid(cohort_context *context, const char *kernel, unsigned blocks, unsigned block,
                              unsigned shared_bytes, const void *args)
{
    cohort_status status = gpu_enter(context);
    if (!status)
        status = gpu_leave(context, launch(context, kernel, EARLY, blocks, block, shared_bytes, args));
    return status;
}

cohort_status gpu_launch_walks(cohort_context *context, const char *kernel, uint64_t items, unsigned block,
                               unsigned blocks, const void *args)
{
    return launch_items(context, kernel, AFTER, items, block, blocks, args);
}

cohort_status gpu_launch(cohort_context *context, const char *kernel, uint64_t items, const void *args)
{
    const struct gpu_tuning *tuning = gpu_of(context)->tuning;
    return launch_items(context, kernel, EARLY, items, tuning->block, tuning->blocks, args);
}

cohort_status gpu_launch_warps(cohort_context *context, const char *kernel, uint64_t items,
                               unsigned shared_bytes, const void *args)
{
    const struct gpu *g = gpu_of(context);
    unsigned warps = g->tuning->block / 32;
    uint64_t blocks = items / warps + (items % warps != 0);
    uint64_t most = (uint64_t)g->multiprocessors * g->tuning->blocks;
    if (!items)
        return COHORT_OK;
    return gpu_launch_grid(context, kernel, (unsigned)(blocks < most ? blocks : most), g->tuning->block,
                           warps * shared_bytes, args);
}
