/* cuda/context_inherit.c: a GPU context in a process that got it by a fork. CUDA does not work there: the
 * context can be freed, and nothing else. Its driver becomes a table whose functions do nothing, so the
 * ordinary ways of freeing give back this process's memory alone. */
#include "device.h"
#include "batch.h"

static cuda_result leave_event(cuda_event event)
{
    (void)event;
    return CUDA_OK;
}
static cuda_result leave_stream(cuda_stream stream)
{
    (void)stream;
    return CUDA_OK;
}
static cuda_result leave_context(cuda_context context)
{
    (void)context;
    return CUDA_OK;
}
static cuda_result leave_popped(cuda_context *context)
{
    *context = NULL;
    return CUDA_OK;
}
static cuda_result leave_memory(cuda_pointer memory)
{
    (void)memory;
    return CUDA_OK;
}
static cuda_result leave_pinned(void *memory)
{
    (void)memory;
    return CUDA_OK;
}
static cuda_result leave_module(cuda_module module)
{
    (void)module;
    return CUDA_OK;
}
static cuda_result leave_device(cuda_device device)
{
    (void)device;
    return CUDA_OK;
}

/* In place of the driver: all that freeing a context calls. */
static const struct cuda_driver left_behind = {
    .name = "forked",
    .primary_release = leave_device,
    .context_push = leave_context,
    .context_pop = leave_popped,
    .mem_free = leave_memory,
    .mem_free_host = leave_pinned,
    .stream_destroy = leave_stream,
    .stream_synchronize = leave_stream,
    .event_destroy = leave_event,
    .module_unload = leave_module,
};

/* The driver does not work in a forked process, and is not asked. */
cohort_status cuda_context_inherit(cohort_context *context)
{
    struct gpu *g = gpu_of(context);
    g->driver = &left_behind;
    gpu_stream_forget_team(g);
    return context_fail(
        context, COHORT_UNSUPPORTED,
        "this process was forked: a context on a GPU works in the process that made it alone");
}
