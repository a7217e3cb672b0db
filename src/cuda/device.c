/* device.c: the driver's errors as statuses, the current context, and the launch of a kernel by name. */
#include "device.h"

#define SHARED_ALWAYS 49152u /* bytes of shared memory that any block may have */

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

/* Where the GPU can, a kernel's blocks come while the last of the kernel before it end; they wait for those by themselves (CO_AFTER in
 * device/lane_cuda.h). */
static cuda_result begin(const struct gpu *g, cuda_function function, unsigned blocks, unsigned block,
                         unsigned shared_bytes, void **parameters)
{
    struct cuda_launch_attribute early = {.id = CUDA_LAUNCH_PROGRAMMATIC, .value.on = 1};
    struct cuda_launch l = {{blocks, 1, 1}, {block, 1, 1}, shared_bytes, g->stream, &early, 1};
    if (g->overlaps)
        return g->driver->launch_kernel_ex(&l, function, parameters, NULL);
    return g->driver->launch_kernel(function, blocks, 1, 1, block, 1, 1, shared_bytes, g->stream, parameters,
                                    NULL);
}

/* With the device current. */
static cohort_status launch(cohort_context *context, const char *kernel, unsigned blocks, unsigned block,
                            unsigned shared_bytes, const void *args)
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
        r = begin(g, function, blocks, block, shared_bytes, parameters);
    }
    return gpu_check(context, r, kernel);
}

cohort_status gpu_launch_grid(cohort_context *context, const char *kernel, unsigned blocks, unsigned block,
                              unsigned shared_bytes, const void *args)
{
    cohort_status status = gpu_enter(context);
    if (status)
        return status;
    return gpu_leave(context, launch(context, kernel, blocks, block, shared_bytes, args));
}

cohort_status gpu_launch_tuned(cohort_context *context, const char *kernel, uint64_t items, unsigned block,
                               unsigned blocks, const void *args)
{
    uint64_t most = (uint64_t)gpu_of(context)->multiprocessors * blocks;
    if (!items)
        return COHORT_OK;
    uint64_t all = items / block + (items % block != 0);
    most = most < INT32_MAX ? most : INT32_MAX; /* blocks of a grid */
    return gpu_launch_grid(context, kernel, (unsigned)(all < most ? all : most), block, 0, args);
}

cohort_status gpu_launch(cohort_context *context, const char *kernel, uint64_t items, const void *args)
{
    const struct gpu_tuning *tuning = gpu_of(context)->tuning;
    return gpu_launch_tuned(context, kernel, items, tuning->block, tuning->blocks, args);
}
