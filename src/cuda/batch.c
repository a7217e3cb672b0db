/* cuda/batch.c: columns of a batch in host memory, streamed through the device.
 *
 * The entries are cut into chunks. A chunk has a slot: a stretch of pinned memory and a stretch of device
 * memory, laid out alike. Three slots are in use in turn, so that while the kernels work on one chunk the
 * next comes in and the last goes out:
 *
 *   caller's memory -> pinned   (this thread)   -> device   (copy-in stream)   -> kernels (context's stream)
 *     -> pinned (copy-out stream) -> caller's memory (this thread, when the slot is due again, or at the end)
 *
 * Each arrow is ordered after the one before it by an event. Memory of the caller's that is pinned already
 * is copied directly. Device memory comes from the pool and goes back to it; the copy-in stream begins
 * after what was on the context's stream before, which may still use it. Pinned memory, streams and events
 * are kept. */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "shape/bits.h"
#include "team.h"

#define SLOTS 3
#define ALIGN 256ull

struct slot {
    cuda_event arrived, computed,
        left; /* the chunk's data is on the device; its kernels are done; its results are out */
};

struct gpu_stream {
    cuda_stream in, out;
    cuda_event begin;
    struct slot slot[SLOTS];
    void *pinned;
    uint64_t pinned_bytes;
    struct copy_team *team;
};

/* One call. */
struct run {
    cohort_context *context;
    struct gpu *g;
    struct gpu_stream *s;
    const struct stream_column *columns;
    unsigned count, slots;
    uint64_t n, chunk, slot_bytes;
    uint64_t offset[STREAM_COLUMNS]; /* of a column in its slot */
    int direct[STREAM_COLUMNS];      /* it is pinned already */
    int bounces;                     /* some are not */
    char *device, *pinned;
};

/* ---- what is kept -------------------------------------------------------------------------------------- */

static cuda_result make_events(const struct cuda_driver *driver, struct gpu_stream *s)
{
    cuda_result r = driver->event_create(&s->begin, CUDA_EVENT_NO_TIMING);
    for (unsigned i = 0; i < SLOTS && r == CUDA_OK; i++) {
        cuda_event *events[] = {&s->slot[i].arrived, &s->slot[i].computed, &s->slot[i].left};
        for (unsigned j = 0; j < 3 && r == CUDA_OK; j++)
            r = driver->event_create(events[j], CUDA_EVENT_NO_TIMING);
    }
    return r;
}

void gpu_stream_forget_team(struct gpu *g)
{
    if (!g->streaming)
        return;
    copy_team_forget(g->streaming->team);
    g->streaming->team = NULL;
}

void gpu_stream_free(struct gpu *g)
{
    const struct cuda_driver *driver = g->driver;
    struct gpu_stream *s = g->streaming;
    if (!s)
        return;
    for (unsigned i = 0; i < SLOTS; i++) {
        cuda_event events[] = {s->slot[i].arrived, s->slot[i].computed, s->slot[i].left};
        for (unsigned j = 0; j < 3; j++)
            if (events[j])
                driver->event_destroy(events[j]);
    }
    if (s->begin)
        driver->event_destroy(s->begin);
    if (s->in)
        driver->stream_destroy(s->in);
    if (s->out)
        driver->stream_destroy(s->out);
    if (s->pinned)
        driver->mem_free_host(s->pinned);
    copy_team_destroy(s->team);
    free(s);
    g->streaming = NULL;
}

static cohort_status make(cohort_context *context)
{
    struct gpu *g = gpu_of(context);
    if (g->streaming)
        return COHORT_OK;
    struct gpu_stream *s = g->streaming = calloc(1, sizeof *s);
    if (!s)
        return context_fail(context, COHORT_NO_MEMORY, "host memory cannot be streamed: no memory");
    cuda_result r = g->driver->stream_create(&s->in, CUDA_STREAM_NON_BLOCKING);
    if (r == CUDA_OK)
        r = g->driver->stream_create(&s->out, CUDA_STREAM_NON_BLOCKING);
    if (r == CUDA_OK)
        r = make_events(g->driver, s);
    if (r != CUDA_OK)
        gpu_stream_free(g);
    else
        s->team = copy_team_create(g->tuning->copy_threads);
    return gpu_check(context, r, "streaming of host memory");
}

static cohort_status pin(struct run *run)
{
    struct gpu_stream *s = run->s;
    const struct cuda_driver *driver = run->g->driver;
    uint64_t due = run->slot_bytes * run->slots;
    if (run->bounces && s->pinned_bytes < due) {
        uint64_t bytes = 1 << 16;
        while (bytes < due)
            bytes *= 2;
        if (s->pinned)
            driver->mem_free_host(s->pinned);
        s->pinned = NULL;
        s->pinned_bytes = 0;
        cuda_result r = driver->mem_host_alloc(&s->pinned, bytes, 1);
        if (r != CUDA_OK)
            return gpu_check(run->context, r, "pinned memory for streaming");
        s->pinned_bytes = bytes;
    }
    run->pinned = s->pinned;
    return COHORT_OK;
}

/* ---- the plan of a call -------------------------------------------------------------------------------- */

static uint64_t column_bytes(const struct stream_column *c, uint64_t n)
{
    return c->bits == 1 ? bits_bytes(0, n) : n * (c->bits / 8);
}

static int is_pinned(const struct gpu *g, const void *memory)
{
    uint32_t type = 0;
    cuda_result r = g->driver->pointer_attribute(&type, CUDA_POINTER_MEMORY_TYPE, (uintptr_t)memory);
    return r == CUDA_OK && type == CUDA_MEMORY_HOST;
}

/* Chunks as large as the tuning says; smaller where that gives fewer than four, so that copies and kernels
 * overlap. */
static uint64_t chunk_of(const struct gpu_tuning *tuning, uint64_t n, uint64_t bits)
{
    uint64_t bytes = (n / 8 + 1) * bits / 4;
    if (bytes > tuning->chunk_bytes)
        bytes = tuning->chunk_bytes;
    if (bytes < tuning->least_chunk)
        bytes = tuning->least_chunk;
    uint64_t chunk = bytes * 8 / bits & ~31ull;
    return chunk ? chunk : 32;
}

static void plan(struct run *run)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < run->count; i++) {
        const struct stream_column *c = &run->columns[i];
        if (!c->host)
            continue;
        bits += c->bits;
        run->direct[i] = is_pinned(run->g, c->host) &&
                         is_pinned(run->g, (const char *)c->host + column_bytes(c, run->n) - 1);
        run->bounces |= !run->direct[i];
    }
    run->chunk = chunk_of(run->g->tuning, run->n, bits);
    if (run->chunk >= run->n)
        run->chunk = run->n;
    uint64_t chunks = run->n / run->chunk + (run->n % run->chunk != 0);
    run->slots = chunks < SLOTS ? (unsigned)chunks : SLOTS;
    for (unsigned i = 0; i < run->count; i++) {
        run->offset[i] = run->slot_bytes;
        if (run->columns[i].host)
            run->slot_bytes += (column_bytes(&run->columns[i], run->chunk) + ALIGN - 1) & ~(ALIGN - 1);
    }
}

/* ---- one chunk ----------------------------------------------------------------------------------------- */

static uint64_t first_of(const struct run *run, uint64_t k)
{
    return k * run->chunk;
}

static uint64_t entries_of(const struct run *run, uint64_t k)
{
    uint64_t rest = run->n - first_of(run, k);
    return rest < run->chunk ? rest : run->chunk;
}

static char *caller_at(const struct run *run, unsigned i, uint64_t k)
{
    return (char *)run->columns[i].host + column_bytes(&run->columns[i], first_of(run, k));
}

static uint64_t slot_at(const struct run *run, unsigned i, uint64_t k)
{
    return k % run->slots * run->slot_bytes + run->offset[i];
}

/* The columns of one direction, between the device and the host's side of it. */
static cuda_result transfer(struct run *run, uint64_t k, unsigned flow)
{
    cuda_result r = CUDA_OK;
    for (unsigned i = 0; i < run->count && r == CUDA_OK; i++) {
        const struct stream_column *c = &run->columns[i];
        if (!c->host || !(c->flow & flow))
            continue;
        uint64_t bytes = column_bytes(c, entries_of(run, k));
        char *caller = caller_at(run, i, k),
             *pinned = run->direct[i] ? caller : run->pinned + slot_at(run, i, k);
        cuda_pointer host = (uintptr_t)pinned, device = (uintptr_t)(run->device + slot_at(run, i, k));
        if (flow == STREAM_IN && !run->direct[i])
            copy_team_copy(run->s->team, pinned, caller, bytes);
        if (flow == STREAM_IN)
            r = run->g->driver->memcpy_async(device, host, bytes, run->s->in);
        else
            r = run->g->driver->memcpy_async(host, device, bytes, run->s->out);
    }
    return r;
}

/* Chunk k goes in, gets its kernels, and its results are on their way. Its slot is free. */
static cohort_status feed(struct run *run, uint64_t k, stream_launch launch, void *user)
{
    const struct cuda_driver *driver = run->g->driver;
    struct slot *slot = &run->s->slot[k % run->slots];
    void *columns[STREAM_COLUMNS];
    for (unsigned i = 0; i < run->count; i++)
        columns[i] = run->columns[i].host ? run->device + slot_at(run, i, k) : NULL;
    cuda_result r = transfer(run, k, STREAM_IN);
    if (r == CUDA_OK)
        r = driver->event_record(slot->arrived, run->s->in);
    if (r == CUDA_OK)
        r = driver->stream_wait_event(run->g->stream, slot->arrived, 0);
    cohort_status status = gpu_check(run->context, r, "copy to the device");
    if (!status)
        status = launch(run->context, user, first_of(run, k), entries_of(run, k), columns);
    if (status)
        return status;
    r = driver->event_record(slot->computed, run->g->stream);
    if (r == CUDA_OK)
        r = driver->stream_wait_event(run->s->out, slot->computed, 0);
    if (r == CUDA_OK)
        r = transfer(run, k, STREAM_OUT);
    if (r == CUDA_OK)
        r = driver->event_record(slot->left, run->s->out);
    return gpu_check(run->context, r, "copy from the device");
}

/* Waits for chunk k, and brings its results home. Its slot is free then. */
static cohort_status drain(struct run *run, uint64_t k)
{
    cuda_result r = run->g->driver->event_synchronize(run->s->slot[k % run->slots].left);
    for (unsigned i = 0; i < run->count && r == CUDA_OK; i++) {
        const struct stream_column *c = &run->columns[i];
        if (c->host && (c->flow & STREAM_OUT) && !run->direct[i])
            copy_team_copy(run->s->team, caller_at(run, i, k), run->pinned + slot_at(run, i, k),
                           column_bytes(c, entries_of(run, k)));
    }
    return gpu_check(run->context, r, "work on host memory");
}

/* ---- all chunks ---------------------------------------------------------------------------------------- */

static cohort_status all_chunks(struct run *run, stream_launch launch, void *user)
{
    uint64_t chunks = run->n / run->chunk + (run->n % run->chunk != 0);
    cohort_status status = COHORT_OK;
    for (uint64_t k = 0; k < chunks + run->slots && !status; k++) {
        if (k >= run->slots)
            status = drain(run, k - run->slots);
        if (k < chunks && !status)
            status = feed(run, k, launch, user);
    }
    if (status) { /* nothing may still write to memory that is given back */
        run->g->driver->stream_synchronize(run->s->in);
        run->g->driver->stream_synchronize(run->g->stream);
        run->g->driver->stream_synchronize(run->s->out);
    }
    return status;
}

static cohort_status stream(struct run *run, stream_launch launch, void *user)
{
    const struct cuda_driver *driver = run->g->driver;
    void *device = NULL;
    plan(run);
    cohort_status status = pin(run);
    if (!status)
        status = pool_take(run->context, run->slot_bytes * run->slots, &device);
    if (status)
        return status;
    run->device = device;
    cuda_result r = driver->event_record(run->s->begin, run->g->stream);
    if (r == CUDA_OK)
        r = driver->stream_wait_event(run->s->in, run->s->begin, 0);
    status = gpu_check(run->context, r, "streaming of host memory");
    if (!status)
        status = all_chunks(run, launch, user);
    pool_give(run->context, device);
    return status;
}

/* With the device current. */
static cohort_status begin(struct run *run)
{
    struct gpu *g = run->g;
    int capturing = 0;
    cohort_status status =
        gpu_check(run->context, g->driver->stream_is_capturing(g->stream, &capturing), "stream");
    if (!status && capturing)
        status = context_fail(run->context, COHORT_UNSUPPORTED,
                              "host memory: the context's stream is being captured, and such calls wait");
    if (!status)
        status = make(run->context);
    run->s = g->streaming;
    return status;
}

cohort_status gpu_stream(cohort_context *context, uint64_t n, const struct stream_column *columns,
                         unsigned count, stream_launch launch, void *user)
{
    struct run run = {.context = context, .g = gpu_of(context), .columns = columns, .count = count, .n = n};
    cohort_status status = n ? gpu_enter(context) : COHORT_OK;
    if (status || !n)
        return status;
    status = begin(&run);
    if (!status)
        status = stream(&run, launch, user);
    return gpu_leave(context, status);
}

/* ---- copies -------------------------------------------------------------------------------------------- */

struct stream_copy {
    char *device;
    unsigned flow;
};

/* A chunk goes between its slot and its place, which costs little beside the link. */
static cohort_status copy_chunk(cohort_context *context, void *user, uint64_t first, uint64_t n,
                                void *const *columns)
{
    const struct stream_copy *c = user;
    struct gpu *g = gpu_of(context);
    cuda_pointer place = (uintptr_t)(c->device + first), slot = (uintptr_t)columns[0];
    int in = c->flow == STREAM_IN;
    return gpu_check(context, g->driver->memcpy_async(in ? place : slot, in ? slot : place, n, g->stream),
                     "cuMemcpyAsync");
}

cohort_status gpu_stream_copy(cohort_context *context, void *device, void *host, uint64_t bytes,
                              unsigned flow)
{
    const struct stream_column column = {host, 8, flow};
    struct stream_copy copy = {device, flow};
    return gpu_stream(context, bytes, &column, 1, copy_chunk, &copy);
}
