/* cuda/context.c: a context on a GPU: the device, streams, memory, time. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "batch.h"

/* ---- streams and waiting ------------------------------------------------------------------------------- */

static cohort_status is_capturing(cohort_context *context, cuda_stream stream, int *capturing)
{
    struct gpu *g = gpu_of(context);
    *capturing = 0;
    return gpu_check(context, g->driver->stream_is_capturing(stream, capturing), "cuStreamIsCapturing");
}

static cohort_status switch_stream(cohort_context *context, cuda_stream to)
{
    struct gpu *g = gpu_of(context);
    int from_captures, to_captures;
    cohort_status status = is_capturing(context, g->stream, &from_captures);
    if (!status)
        status = is_capturing(context, to, &to_captures);
    if (status)
        return status;
    if (from_captures || to_captures)
        return context_fail(context, COHORT_UNSUPPORTED,
                            "stream: a stream that is being captured cannot be changed from or to");
    cuda_result r = g->driver->event_record(g->order, g->stream);
    if (r == CUDA_OK)
        r = g->driver->stream_wait_event(to, g->order, 0);
    if (r == CUDA_OK)
        g->stream = to;
    return gpu_check(context, r, "stream");
}

static cohort_status cuda_context_set_stream(cohort_context *context, void *stream)
{
    struct gpu *g = gpu_of(context);
    cuda_stream to = stream == COHORT_STREAM_OWN ? g->own : (cuda_stream)stream;
    if (to == g->stream)
        return COHORT_OK;
    cohort_status status = gpu_enter(context);
    return status ? status : gpu_leave(context, switch_stream(context, to));
}

static void *cuda_context_stream(cohort_context *context)
{
    return (void *)gpu_of(context)->stream;
}

/* With the device current. */
static cohort_status synchronize(cohort_context *context)
{
    struct gpu *g = gpu_of(context);
    return gpu_check(context, g->driver->stream_synchronize(g->stream), "cuStreamSynchronize");
}

static cohort_status cuda_context_wait(cohort_context *context)
{
    cohort_status status = gpu_enter(context);
    return status ? status : gpu_leave(context, synchronize(context));
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* The driver knows what it has given out; an address that it does not know is pageable memory of the host. */
static enum memory_kind kind_of(const struct gpu *g, const void *memory)
{
    cuda_pointer p = (uintptr_t)memory;
    uint32_t type = 0, managed = 0;
    int32_t ordinal = -1;
    if (g->driver->pointer_attribute(&type, CUDA_POINTER_MEMORY_TYPE, p) != CUDA_OK)
        return MEMORY_HOST;
    if (g->driver->pointer_attribute(&managed, CUDA_POINTER_IS_MANAGED, p) == CUDA_OK && managed)
        return MEMORY_DEVICE;
    if (type == CUDA_MEMORY_HOST)
        return MEMORY_HOST;
    if (type != CUDA_MEMORY_DEVICE)
        return MEMORY_BAD;
    if (g->driver->pointer_attribute(&ordinal, CUDA_POINTER_DEVICE_ORDINAL, p) != CUDA_OK)
        return MEMORY_BAD;
    return ordinal == g->device ? MEMORY_DEVICE : MEMORY_BAD;
}

static enum memory_kind cuda_context_memory_kind(cohort_context *context, const void *memory)
{
    if (gpu_enter(context))
        return MEMORY_BAD;
    enum memory_kind kind = kind_of(gpu_of(context), memory);
    gpu_leave(context, COHORT_OK);
    return kind;
}

static void *cuda_context_alloc(cohort_context *context, uint64_t bytes)
{
    cuda_pointer p = 0;
    if (gpu_enter(context))
        return NULL;
    if (gpu_of(context)->driver->mem_alloc(&p, bytes) != CUDA_OK)
        p = 0;
    gpu_leave(context, COHORT_OK);
    return (void *)(uintptr_t)p;
}

static void cuda_context_free(cohort_context *context, void *memory, uint64_t bytes)
{
    struct gpu *g = gpu_of(context);
    (void)bytes;
    if (gpu_enter(context))
        return;
    g->driver->stream_synchronize(g->stream); /* cuMemFree promises to wait for no stream */
    g->driver->mem_free((uintptr_t)memory);
    gpu_leave(context, COHORT_OK);
}

/* Pageable memory goes through pinned buffers, copied by several threads, where it is worth the while. */
static int goes_through_buffers(const struct gpu *g, const void *host, uint64_t bytes)
{
    uint32_t type;
    return bytes >= 4 * g->tuning->least_chunk &&
           g->driver->pointer_attribute(&type, CUDA_POINTER_MEMORY_TYPE, (uintptr_t)host) != CUDA_OK;
}

static cohort_status copy(cohort_context *context, void *to, const void *from, uint64_t bytes)
{
    struct gpu *g = gpu_of(context);
    int to_host = kind_of(g, to) == MEMORY_HOST, from_host = kind_of(g, from) == MEMORY_HOST;
    if (to_host && from_host) { /* what is enqueued may still write `from` */
        cohort_status status = synchronize(context);
        if (!status)
            memcpy(to, from, bytes);
        return status;
    }
    void *host = to_host ? to : from_host ? (void *)(uintptr_t)from : NULL;
    if (host && goes_through_buffers(g, host, bytes)) {
        cohort_status status = gpu_stream_copy(context, to_host ? (void *)(uintptr_t)from : to, host, bytes,
                                               to_host ? STREAM_OUT : STREAM_IN);
        if (status != COHORT_NO_MEMORY) /* without buffers it is slower, and that is all */
            return status;
    }
    cuda_result r = g->driver->memcpy_async((uintptr_t)to, (uintptr_t)from, bytes, g->stream);
    if (r == CUDA_OK && (to_host || from_host))
        r = g->driver->stream_synchronize(g->stream);
    return gpu_check(context, r, "cuMemcpyAsync");
}

static cohort_status cuda_context_copy(cohort_context *context, void *to, const void *from, uint64_t bytes)
{
    cohort_status status = bytes ? gpu_enter(context) : COHORT_OK;
    return status || !bytes ? status : gpu_leave(context, copy(context, to, from, bytes));
}

static cohort_status fill(cohort_context *context, void *memory, int byte, uint64_t bytes)
{
    struct gpu *g = gpu_of(context);
    if (kind_of(g, memory) == MEMORY_HOST) {
        cohort_status status = synchronize(context);
        if (!status)
            memset(memory, byte, bytes);
        return status;
    }
    cuda_result r = g->driver->memset_d8_async((uintptr_t)memory, (unsigned char)byte, bytes, g->stream);
    return gpu_check(context, r, "cuMemsetD8Async");
}

static cohort_status cuda_context_fill(cohort_context *context, void *memory, int byte, uint64_t bytes)
{
    cohort_status status = bytes ? gpu_enter(context) : COHORT_OK;
    return status || !bytes ? status : gpu_leave(context, fill(context, memory, byte, bytes));
}

/* ---- time ---------------------------------------------------------------------------------------------- */

struct timer {
    cuda_event start, stop;
};

static cohort_status cuda_context_timer_create(cohort_context *context, void **out)
{
    const struct cuda_driver *driver = gpu_of(context)->driver;
    struct timer *t = calloc(1, sizeof *t);
    if (!t)
        return context_fail(context, COHORT_NO_MEMORY, "a timer: no memory");
    cohort_status status = gpu_enter(context);
    if (status) {
        free(t);
        return status;
    }
    cuda_result r = driver->event_create(&t->start, CUDA_EVENT_TIMING);
    if (r == CUDA_OK) {
        r = driver->event_create(&t->stop, CUDA_EVENT_TIMING);
        if (r != CUDA_OK)
            driver->event_destroy(t->start);
    }
    if (r == CUDA_OK)
        *out = t;
    else
        free(t);
    return gpu_leave(context, gpu_check(context, r, "cuEventCreate"));
}

static void cuda_context_timer_destroy(cohort_context *context, void *timer)
{
    const struct cuda_driver *driver = gpu_of(context)->driver;
    struct timer *t = timer;
    if (!gpu_enter(context)) {
        driver->event_destroy(t->start);
        driver->event_destroy(t->stop);
        gpu_leave(context, COHORT_OK);
    }
    free(t);
}

static cohort_status cuda_context_timer_start(cohort_context *context, void *timer)
{
    struct gpu *g = gpu_of(context);
    struct timer *t = timer;
    cohort_status status = gpu_enter(context);
    if (status)
        return status;
    return gpu_leave(context,
                     gpu_check(context, g->driver->event_record(t->start, g->stream), "cuEventRecord"));
}

static cohort_status cuda_context_timer_stop(cohort_context *context, void *timer, double *seconds)
{
    struct gpu *g = gpu_of(context);
    struct timer *t = timer;
    float milliseconds = 0;
    cohort_status status = gpu_enter(context);
    if (status)
        return status;
    cuda_result r = g->driver->event_record(t->stop, g->stream);
    if (r == CUDA_OK)
        r = g->driver->event_synchronize(t->stop);
    if (r == CUDA_OK)
        r = g->driver->event_elapsed_ms(&milliseconds, t->start, t->stop);
    *seconds = milliseconds / 1e3;
    return gpu_leave(context, gpu_check(context, r, "timer"));
}

/* ---- opening and closing ------------------------------------------------------------------------------- */

static cohort_status cuda_context_info(cohort_context *context, cohort_context_info *info)
{
    struct gpu *g = gpu_of(context);
    size_t available = 0, total = 0;
    cohort_status status = gpu_enter(context);
    if (status)
        return status;
    status = gpu_check(context, g->driver->memory_info(&available, &total), "cuMemGetInfo");
    info->backend = context->backend->name;
    info->device = g->name;
    info->threads = g->multiprocessors;
    info->memory_bytes = g->memory_bytes;
    info->memory_free = available;
    info->architecture = g->architecture;
    info->l2_bytes = g->l2_bytes;
    return gpu_leave(context, status);
}

static void release(struct gpu *g)
{
    cuda_context popped;
    if (g->primary && g->driver->context_push(g->primary) == CUDA_OK) {
        if (g->own) /* else `stream` is none yet */
            g->driver->stream_synchronize(g->stream);
        gpu_stream_free(g);
        gpu_users_free(g);
        gpu_modules_unload(&g->modules, g->driver);
        map_forget(g);
        if (g->published)
            g->driver->mem_free((uintptr_t)g->published);
        if (g->order)
            g->driver->event_destroy(g->order);
        if (g->own)
            g->driver->stream_destroy(g->own);
        g->driver->context_pop(&popped);
    }
    if (g->primary)
        g->driver->primary_release(g->device);
    free(g);
}

static void cuda_context_close(cohort_context *context)
{
    release(gpu_of(context));
    context->device = NULL;
}

const struct context_backend cuda_context_backend = {
    .inherit = cuda_context_inherit,
    .close = cuda_context_close,
    .info = cuda_context_info,
    .set_stream = cuda_context_set_stream,
    .stream = cuda_context_stream,
    .wait = cuda_context_wait,
    .memory_kind = cuda_context_memory_kind,
    .alloc = cuda_context_alloc,
    .free = cuda_context_free,
    .copy = cuda_context_copy,
    .fill = cuda_context_fill,
    .timer_create = cuda_context_timer_create,
    .timer_destroy = cuda_context_timer_destroy,
    .timer_start = cuda_context_timer_start,
    .timer_stop = cuda_context_timer_stop,
};

#define TABLE(structure) .structure = &cuda_##structure##_backend,
static const struct backend cuda_backend = {
    .name = "cuda", .own_memory = MEMORY_DEVICE, .compiles = 1, BACKEND_STRUCTURES(TABLE)};

static cuda_result attribute(struct gpu *g, int which, unsigned *value)
{
    int v = 0;
    cuda_result r = g->driver->device_attribute(&v, which, g->device);
    *value = (unsigned)v;
    return r;
}

/* Graphs have such launches since the driver of CUDA 12.3. */
#define OVERLAPS_SINCE 12030

static cuda_result inquire(struct gpu *g)
{
    unsigned major = 0, minor = 0, l2 = 0;
    int version = 0;
    size_t memory = 0;
    cuda_result r = g->driver->device_get(&g->device, g->ordinal);
    if (r == CUDA_OK)
        r = g->driver->device_name(g->name, sizeof g->name, g->device);
    if (r == CUDA_OK)
        r = attribute(g, CUDA_ATTRIBUTE_MAJOR, &major);
    if (r == CUDA_OK)
        r = attribute(g, CUDA_ATTRIBUTE_MINOR, &minor);
    if (r == CUDA_OK)
        r = attribute(g, CUDA_ATTRIBUTE_MULTIPROCESSORS, &g->multiprocessors);
    if (r == CUDA_OK)
        r = attribute(g, CUDA_ATTRIBUTE_L2_BYTES, &l2);
    if (r == CUDA_OK)
        r = attribute(g, CUDA_ATTRIBUTE_MAX_SHARED_OPT_IN, &g->shared_most);
    if (r == CUDA_OK)
        r = g->driver->device_total_memory(&memory, g->device);
    if (r == CUDA_OK)
        r = g->driver->driver_version(&version);
    g->architecture = major * 10 + minor;
    g->overlaps = g->architecture >= 90 && version >= OVERLAPS_SINCE && g->driver->launch_kernel_ex;
    g->l2_bytes = l2;
    g->memory_bytes = memory;
    return r;
}

/* Streams of its own do not wait for the legacy default stream, nor it for them. */
static cuda_result begin(struct gpu *g, void *stream)
{
    cuda_context popped;
    cuda_result r = g->driver->primary_retain(&g->primary, g->device);
    if (r != CUDA_OK) {
        g->primary = NULL;
        return r;
    }
    r = g->driver->context_push(g->primary);
    if (r != CUDA_OK)
        return r;
    r = g->driver->stream_create(&g->own, CUDA_STREAM_NON_BLOCKING);
    if (r == CUDA_OK)
        r = g->driver->event_create(&g->order, CUDA_EVENT_NO_TIMING);
    g->stream = stream == COHORT_STREAM_OWN ? g->own : (cuda_stream)stream;
    g->driver->context_pop(&popped);
    return r;
}

cohort_status cuda_backend_open(cohort_context *context, const cohort_context_options *options,
                                const char *device)
{
    const char *why = NULL, *name = NULL;
    int ordinal = 0;
    const struct cuda_driver *driver = cuda_driver_for(device, &ordinal, &why);
    if (!driver)
        return context_fail(NULL, COHORT_NO_DEVICE, "device \"%s\": %s", device, why);
    struct gpu *g = calloc(1, sizeof *g);
    if (!g)
        return context_fail(NULL, COHORT_NO_MEMORY, "device \"%s\": no memory for its context", device);
    g->driver = driver;
    g->ordinal = ordinal;
    cuda_result r = driver->init(0);
    if (r == CUDA_OK)
        r = inquire(g);
    if (r == CUDA_OK && !(g->tuning = gpu_tuning_for(driver, g->architecture))) {
        context_fail(NULL, COHORT_NO_DEVICE, "device \"%s\": %s is of architecture sm_%u; sm_80 is the least",
                     device, g->name, g->architecture);
        release(g);
        return COHORT_NO_DEVICE;
    }
    if (r == CUDA_OK && !map_tuning_for(driver, g->architecture, &g->maps)) {
        context_fail(NULL, COHORT_RANGE,
                     "COHORT_MAP_TUNING is \"%s\"; it must be threads (32 to 256, whole warps) and blocks of "
                     "lookups, of changes, and 0 or 1, such as 256,128,256,128,0",
                     getenv("COHORT_MAP_TUNING"));
        release(g);
        return COHORT_RANGE;
    }
    if (r == CUDA_OK)
        r = begin(g, options->stream);
    if (r != CUDA_OK) {
        driver->error_name(r, &name);
        release(g);
        return context_fail(NULL, COHORT_NO_DEVICE, "device \"%s\": the driver reports %s (%d)", device,
                            name ? name : "unknown error", r);
    }
    context->backend = &cuda_backend;
    context->device = g;
    return COHORT_OK;
}
