/* context.c: making, asking and ending contexts, waiting, time. */
#include "backend/lines.h"
#include "options.h"
#include "shape/set.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MOST 1024

struct cohort_timer {
    cohort_context *context;
    void *timer; /* the backend's */
    int started;
};

/* ---- making and ending --------------------------------------------------------------------------------- */

static cohort_status check_options(const cohort_context_options *options, cohort_context_options *copy)
{
    static const cohort_context_options defaults = COHORT_CONTEXT_OPTIONS_INIT;
    *copy = defaults;
    if (!options)
        return COHORT_OK;
    cohort_status status = options_check(NULL, "options", options, options->size, sizeof *copy,
                                         sizeof(cohort_context_options), copy);
    if (status)
        return status;
    if (copy->threads > THREADS_MOST)
        return context_fail(NULL, COHORT_RANGE, "options->threads is %llu: at most %d",
                            (unsigned long long)copy->threads, THREADS_MOST);
    if (!copy->alloc.alloc != !copy->alloc.free)
        return context_fail(NULL, COHORT_NULL, "options->alloc.%s is NULL and the other is not",
                            copy->alloc.alloc ? "free" : "alloc");
    return COHORT_OK;
}

/* A usable GPU, else the CPU. */
static cohort_status open_any(cohort_context *context, const cohort_context_options *options)
{
    cohort_status status = cuda_backend_open(context, options, "cuda");
    if (status != COHORT_NO_DEVICE)
        return status;
    context->backend = NULL;
    context->device = NULL;
    return cpu_backend_open(context, options);
}

/* COHORT_DEVICE decides what is meant where the caller leaves it open. */
static cohort_status open_backend(cohort_context *context, const cohort_context_options *options)
{
    const char *device = options->device, *named = NULL;
    if (!device || !strcmp(device, "auto")) {
        device = named = getenv("COHORT_DEVICE");
        if (!device || !*device || !strcmp(device, "auto"))
            return open_any(context, options);
    }
    if (!*device)
        return context_fail(NULL, COHORT_NO_DEVICE, "options->device is \"\": no device has this name");
    cohort_status status = strcmp(device, "cpu") ? cuda_backend_open(context, options, device)
                                                 : cpu_backend_open(context, options);
    if (status && named)
        context_fail(NULL, status, "COHORT_DEVICE: %s", cohort_message(NULL));
    return status;
}

static cohort_status make_outcome(cohort_context *context)
{
    void *memory;
    cohort_status status = pool_take(context, sizeof(struct outcome), &memory);
    if (status)
        return status;
    context->outcome = memory;
    status = context_fill(context, memory, 0, sizeof(struct outcome));
    if (!status)
        status = context_fill(context, &context->outcome->deferred, 0xff,
                              sizeof(struct outcome) - offsetof(struct outcome, deferred));
    return status;
}

static void end(cohort_context *context)
{
    context_wait(context);
    cohort_context_destroy(context->helper);
    context->helper = NULL;
    if (loans_lends(context)) /* what is released later must not meet a stream that is gone */
        context->backend->context->set_stream(context, COHORT_STREAM_OWN);
    owned_destroy(context);
    pool_destroy(context);
    loans_close(context);
}

cohort_status cohort_context_create(const cohort_context_options *options, cohort_context **out)
{
    cohort_context_options copy;
    if (!out)
        return context_fail(NULL, COHORT_NULL, "out is NULL");
    *out = NULL;
    cohort_status status = check_options(options, &copy);
    if (status)
        return status;
    cohort_context *context = calloc(1, sizeof *context);
    if (!context)
        return context_fail(NULL, COHORT_NO_MEMORY, "no memory for a context");
    context->allocator = copy.alloc;
    context->memory.most = copy.memory_bytes ? copy.memory_bytes : UINT64_MAX;
    context->progress = copy.progress;
    loans_open(context);
    status = open_backend(context, &copy);
    if (status) {
        pthread_mutex_destroy(&context->loans.mutex);
        free(context);
        return status;
    }
    status = make_outcome(context);
    if (status)
        context_fail(NULL, status, "%s", context->message);
    else
        status = call_register(context);
    if (status)
        end(context);
    else
        *out = context;
    return status;
}

void cohort_context_destroy(cohort_context *context)
{
    if (!context || !call_begin_to_end(context))
        return;
    call_unregister(context);
    end(context);
}

/* ---- asking -------------------------------------------------------------------------------------------- */

/* Which maps there are on the context's device. */
static void maps_of(cohort_context *context, cohort_context_info *info)
{
    const struct map_backend *pages = context->backend->map, *lines = &context->backend->lines->map;
    for (co_u32 w = COHORT_WIDTH_32_0; w <= COHORT_WIDTH_128_64; w++) {
        info->map_widths |= (uint64_t)(pages->offers(context, w, 0) != 0) << w;
        info->map_run_widths |= (uint64_t)(map_backend_runs(context, pages, w) != 0) << w;
        info->lines_widths |= (uint64_t)(lines->offers(context, w, 0) != 0) << w;
    }
}

cohort_status cohort_context_get_info(cohort_context *context, cohort_context_info *info)
{
    CALL(context);
    cohort_context_info copy;
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    cohort_status status = options_check(context, "info", info, info ? info->size : 0, sizeof copy,
                                         sizeof(cohort_context_info), &copy);
    if (!status)
        status = context->backend->context->info(context, &copy);
    if (status)
        return status;
    copy.map_widths = copy.map_run_widths = copy.lines_widths = 0;
    maps_of(context, &copy);
    copy.pool_bytes = context->pool.bytes + loans_idle_bytes(context);
    copy.memory_held = context->memory.held;
    if (copy.memory_free > context->memory.most - context->memory.held)
        copy.memory_free = context->memory.most - context->memory.held;
    options_return(info, info->size, sizeof copy, &copy);
    return COHORT_OK;
}

cohort_status cohort_device_count(uint64_t *count)
{
    if (!count)
        return context_fail(NULL, COHORT_NULL, "count is NULL");
    *count = cuda_backend_count();
    return COHORT_OK;
}

/* ---- streams and waiting ------------------------------------------------------------------------------- */

cohort_status cohort_set_stream(cohort_context *context, void *stream)
{
    CALL(context);
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    return context->backend->context->set_stream(context, stream);
}

/* An update of a working set that changed nothing, by its set_verdict. */
static cohort_status refused_update(cohort_context *context, uint64_t verdict)
{
    static const char update[] = "an update of a working set since the last cohort_wait changed nothing: ";
    if (verdict == SET_BEYOND)
        return context_fail(context, COHORT_RANGE, "%sa member of its source is not below the set's limit",
                            update);
    return context_fail(context, COHORT_FULL, "%sits source needs more %s than the set has left", update,
                        verdict == SET_NO_BLOCKS ? "blocks" : "nodes of the directory");
}

/* Failures that were put down by work that nobody waited for. */
static cohort_status deferred_failure(cohort_context *context)
{
    struct outcome all;
    struct batch_deferred seen;
    const size_t at = offsetof(struct outcome, deferred);
    cohort_status status =
        context_copy(context, (char *)&all + at, (char *)context->outcome + at, sizeof all - at);
    if (status)
        return status;
    seen = all.deferred;
    if (seen.first_bad == UINT64_MAX && seen.first_full == UINT64_MAX && all.ids.first_bad == UINT64_MAX &&
        all.ids.first_full == UINT64_MAX)
        return COHORT_OK;
    status = context_fill(context, (char *)context->outcome + at, 0xff, sizeof all - at);
    if (status)
        return status;
    if (all.ids.first_bad != UINT64_MAX)
        return context_fail(
            context, COHORT_RANGE,
            "entry %llu of a multisplit, histogram, compaction or look at sets since the last cohort_wait "
            "is the first whose id, or set, is out of range",
            (unsigned long long)all.ids.first_bad);
    if (all.ids.first_full != UINT64_MAX)
        return refused_update(context, all.ids.first_full);
    if (seen.first_bad != UINT64_MAX)
        return context_fail(
            context, COHORT_RANGE,
            "ops[%llu] of a batch since the last cohort_wait is the first that is no operation of its map",
            (unsigned long long)seen.first_bad);
    return context_fail(
        context, COHORT_FULL,
        "a map of fixed capacity is full: entry %llu of a batch since the last cohort_wait is the "
        "first that found no slot",
        (unsigned long long)seen.first_full);
}

cohort_status cohort_wait(cohort_context *context)
{
    CALL(context);
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    cohort_status status = context_wait(context);
    return status ? status : deferred_failure(context);
}

/* ---- time --------------------------------------------------------------------------------------------- */

cohort_status cohort_timer_create(cohort_context *context, cohort_timer **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    if (!out)
        return context_fail(context, COHORT_NULL, "out is NULL");
    cohort_timer *timer = calloc(1, sizeof *timer);
    if (!timer)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a timer");
    timer->context = context;
    cohort_status status = context->backend->context->timer_create(context, &timer->timer);
    if (status) {
        free(timer);
        return status;
    }
    *out = timer;
    return COHORT_OK;
}

void cohort_timer_destroy(cohort_timer *timer)
{
    if (!timer)
        return;
    CALL_TO_END(timer->context);
    timer->context->backend->context->timer_destroy(timer->context, timer->timer);
    free(timer);
}

cohort_status cohort_timer_start(cohort_timer *timer)
{
    CALL_ON(timer);
    if (!timer)
        return context_fail(NULL, COHORT_NULL, "timer is NULL");
    cohort_status status = timer->context->backend->context->timer_start(timer->context, timer->timer);
    timer->started = status == COHORT_OK;
    return status;
}

cohort_status cohort_timer_stop(cohort_timer *timer, double *seconds)
{
    CALL_ON(timer);
    if (!timer)
        return context_fail(NULL, COHORT_NULL, "timer is NULL");
    if (!seconds)
        return context_fail(timer->context, COHORT_NULL, "seconds is NULL");
    if (!timer->started)
        return context_fail(timer->context, COHORT_RANGE, "timer has not been started");
    return timer->context->backend->context->timer_stop(timer->context, timer->timer, seconds);
}
