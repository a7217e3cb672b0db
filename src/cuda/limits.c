/* limits.c: what this GPU can do at most, measured: the kernels of limits.cu, the driver's own copy, and
 * the link to the host.
 *
 * Each figure is the median of several runs, by the device's clock, after one that does not count. The
 * table holds random words, which no compression makes smaller, and is a power of two in size, so that it
 * is visited by a permutation. */
#include "backend/limits.h"
#include "device.h"

#include <stdlib.h>

#include "shape/limits.h"

#define RUNS        5
#define BLOCK_BYTES 65536ull /* random words that are repeated over the table */

struct limit_run {
    cohort_context *context;
    void *timer;
    char *table, *second; /* both of `bytes` */
    uint64_t bytes, link_bytes;
    struct limits_step step;
    const char *kernel;
    void *host[2]; /* pinned */
    cuda_stream out;
    cuda_event forth, back;
};

typedef cohort_status (*limit_work)(struct limit_run *);

/* ---- timing -------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* amount / the median of the times that `work` takes. */
static cohort_status measure(struct limit_run *run, limit_work work, double amount, double *rate)
{
    const struct backend *backend = run->context->backend;
    double seconds[RUNS + 1];
    for (int i = 0; i <= RUNS; i++) {
        cohort_status status = backend->context->timer_start(run->context, run->timer);
        if (!status)
            status = work(run);
        if (!status)
            status = backend->context->timer_stop(run->context, run->timer, &seconds[i]);
        if (status)
            return status;
    }
    qsort(seconds + 1, RUNS, sizeof *seconds, by_size);
    double median = seconds[1 + RUNS / 2];
    *rate = median > 0 ? amount / median : 0;
    return COHORT_OK;
}

/* ---- the device's memory ------------------------------------------------------------------------------- */

static cohort_status copy_by_kernel(struct limit_run *run)
{
    return gpu_launch(run->context, "limits_copy", run->step.items / LIMITS_AT_ONCE, &run->step);
}

static cohort_status copy_by_driver(struct limit_run *run)
{
    return context_copy(run->context, run->second, run->table, run->step.items * 16);
}

static cohort_status access_table(struct limit_run *run)
{
    unsigned block = gpu_of(run->context)->tuning->block;
    cohort_status status = gpu_launch_grid(run->context, run->kernel, (unsigned)(run->step.accesses / block),
                                           block, 0, &run->step);
    run->step.turn += run->step.accesses > run->step.items ? run->step.accesses / run->step.items : 1;
    return status;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The better of the two copies. */
static cohort_status copy_limit(struct limit_run *run, double *rate)
{
    double by_driver = 0;
    run->step.table = run->second;
    run->step.from = run->table;
    run->step.items = least(run->bytes / 16, gpu_of(run->context)->tuning->limit_accesses);
    double bytes = 2.0 * 16 * (double)run->step.items;
    cohort_status status = measure(run, copy_by_kernel, bytes, rate);
    if (!status)
        status = measure(run, copy_by_driver, bytes, &by_driver);
    if (by_driver > *rate)
        *rate = by_driver;
    return status;
}

/* Accesses of `width` bytes to a table of `bytes`, by a kernel: round the table a whole number of times,
 * or through a part of it once. */
static cohort_status access_limit(struct limit_run *run, const char *kernel, uint64_t bytes, uint64_t width,
                                  double *rate)
{
    uint64_t accesses = gpu_of(run->context)->tuning->limit_accesses, bits = 0;
    while (bytes / width >> bits > 1)
        bits++;
    run->kernel = kernel;
    run->step.table = run->table;
    run->step.items = bytes / width;
    run->step.accesses = accesses;
    run->step.turn = 0;
    run->step.shift = (co_u32)(bits + 1) / 2;
    return measure(run, access_table, (double)accesses, rate);
}

static cohort_status cas_limit(struct limit_run *run, uint64_t bytes, double *rate)
{
    int byte = (int)(LIMITS_WORD(0) & 0xff);
    cohort_status status = context_fill(run->context, run->table, byte, bytes);
    return status ? status : access_limit(run, "limits_cas_8", bytes, 8, rate);
}

/* The greatest power of two that is at most n (> 0). */
static uint64_t floor_power(uint64_t n)
{
    uint64_t p = 1;
    while (p <= n / 2)
        p *= 2;
    return p;
}

static cohort_status memory_limits(struct limit_run *run, cohort_limits *l)
{
    uint64_t cached = floor_power(gpu_of(run->context)->l2_bytes / 2);
    cached = least(cached, run->bytes);
    l->cached_reads_32 = l->cached_cas_8 = 0;
    cohort_status status = copy_limit(run, &l->copy_bytes);
    if (!status)
        status = access_limit(run, "limits_read_32", run->bytes, 32, &l->random_reads_32);
    if (!status)
        status = access_limit(run, "limits_read_8", run->bytes, 8, &l->random_reads_8);
    if (!status && cached >= BLOCK_BYTES)
        status = access_limit(run, "limits_read_32", cached, 32, &l->cached_reads_32);
    if (!status)
        status = cas_limit(run, run->bytes, &l->random_cas_8);
    if (!status && cached >= BLOCK_BYTES)
        status = cas_limit(run, cached, &l->cached_cas_8);
    return status;
}

/* ---- the link to the host ------------------------------------------------------------------------------ */

static cohort_status to_device(struct limit_run *run)
{
    struct gpu *g = gpu_of(run->context);
    cuda_result r =
        g->driver->memcpy_async((uintptr_t)run->table, (uintptr_t)run->host[0], run->link_bytes, g->stream);
    return gpu_check(run->context, r, "copy to the device");
}

static cohort_status from_device(struct limit_run *run)
{
    struct gpu *g = gpu_of(run->context);
    cuda_result r =
        g->driver->memcpy_async((uintptr_t)run->host[1], (uintptr_t)run->second, run->link_bytes, g->stream);
    return gpu_check(run->context, r, "copy from the device");
}

static cohort_status both_ways(struct limit_run *run)
{
    struct gpu *g = gpu_of(run->context);
    const struct cuda_driver *d = g->driver;
    cuda_result r = d->event_record(run->forth, g->stream);
    if (r == CUDA_OK)
        r = d->stream_wait_event(run->out, run->forth, 0);
    if (r == CUDA_OK)
        r = d->memcpy_async((uintptr_t)run->host[1], (uintptr_t)run->second, run->link_bytes, run->out);
    if (r == CUDA_OK)
        r = d->memcpy_async((uintptr_t)run->table, (uintptr_t)run->host[0], run->link_bytes, g->stream);
    if (r == CUDA_OK)
        r = d->event_record(run->back, run->out);
    if (r == CUDA_OK)
        r = d->stream_wait_event(g->stream, run->back, 0);
    return gpu_check(run->context, r, "copies both ways");
}

static cohort_status link_limits(struct limit_run *run, cohort_limits *l)
{
    double bytes = (double)run->link_bytes;
    cohort_status status = measure(run, to_device, bytes, &l->link_to_device);
    if (!status)
        status = measure(run, from_device, bytes, &l->link_from_device);
    if (!status)
        status = measure(run, both_ways, 2 * bytes, &l->link_both);
    return status;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

/* Random words at the table's beginning, then copies that double them. */
static cohort_status fill_table(struct limit_run *run)
{
    uint64_t *words = run->host[0], x = 0x9e3779b97f4a7c15ull;
    for (uint64_t i = 0; i < BLOCK_BYTES / 8; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* Marsaglia's xorshift */
        words[i] = x;
    }
    cohort_status status = context_copy(run->context, run->table, words, BLOCK_BYTES);
    for (uint64_t done = BLOCK_BYTES; done < run->bytes && !status; done *= 2)
        status = context_copy(run->context, run->table + done, run->table, least(done, run->bytes - done));
    if (!status)
        status = context_copy(run->context, run->second, run->table, run->bytes);
    if (!status)
        status = context_copy(run->context, run->host[0], run->table, run->link_bytes);
    return status;
}

/* Pinned memory, and what two directions at once need. The device is current. */
static cohort_status prepare_link(struct limit_run *run)
{
    const struct cuda_driver *d = gpu_of(run->context)->driver;
    cuda_result r = d->mem_host_alloc(&run->host[0], run->link_bytes, 1);
    if (r == CUDA_OK)
        r = d->mem_host_alloc(&run->host[1], run->link_bytes, 1);
    if (r == CUDA_OK)
        r = d->stream_create(&run->out, CUDA_STREAM_NON_BLOCKING);
    if (r == CUDA_OK)
        r = d->event_create(&run->forth, CUDA_EVENT_NO_TIMING);
    if (r == CUDA_OK)
        r = d->event_create(&run->back, CUDA_EVENT_NO_TIMING);
    return gpu_check(run->context, r, "pinned memory for the host link");
}

/* After the work is done; frees what there is. */
static void end_link(struct limit_run *run)
{
    const struct cuda_driver *d = gpu_of(run->context)->driver;
    for (int i = 0; i < 2; i++)
        if (run->host[i])
            d->mem_free_host(run->host[i]);
    if (run->out)
        d->stream_destroy(run->out);
    if (run->forth)
        d->event_destroy(run->forth);
    if (run->back)
        d->event_destroy(run->back);
}

static cohort_status limits_with_timer(struct limit_run *run, cohort_limits *l)
{
    cohort_status status = prepare_link(run);
    if (!status)
        status = run->context->backend->context->timer_create(run->context, &run->timer);
    if (!status)
        status = fill_table(run);
    if (!status)
        status = link_limits(run, l);
    if (!status)
        status = memory_limits(run, l);
    context_wait(run->context);
    if (run->timer)
        run->context->backend->context->timer_destroy(run->context, run->timer);
    end_link(run);
    return status;
}

static cohort_status cuda_limits_measure(cohort_context *context, cohort_limits *l)
{
    struct limit_run run = {.context = context, .bytes = floor_power(l->table_bytes)};
    void *memory = NULL;
    run.link_bytes = least(gpu_of(context)->tuning->link_bytes, run.bytes);
    cohort_status status = pool_take(context, 2 * run.bytes + sizeof *run.step.sink, &memory);
    if (status)
        return status;
    run.table = memory;
    run.second = run.table + run.bytes;
    run.step.sink = (co_u64 *)(void *)(run.second + run.bytes);
    l->table_bytes = run.bytes;
    status = gpu_enter(context);
    if (!status)
        status = gpu_leave(context, limits_with_timer(&run, l));
    pool_give(context, memory);
    pool_trim(context);
    return status;
}

const struct limits_backend cuda_limits_backend = {
    .measure = cuda_limits_measure,
};
