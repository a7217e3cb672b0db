/* pool.c: workspace that is used again, over the system's memory or the caller's allocator.
 *
 * A request is rounded up to a power of two or one of the fifteen steps between it and the next, so that requests of much
 * the same size share blocks and at most a sixteenth is wasted. It takes the smallest idle block that holds it and is
 * not more than twice as large (small blocks: up to 64 KiB), so that a small request does not tie up a large block. */
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT   256ull
#define LEAST_BLOCK 1024ull
#define SMALL_BLOCK 65536ull

/* ---- spans: memory straight from the system ---------------------------------------------------------------------- */

static void *system_alloc(cohort_context *context, uint64_t bytes)
{
    const cohort_allocator *a = &context->allocator;
    if (bytes > SIZE_MAX)
        return NULL;
    return a->alloc ? a->alloc(a->user, (size_t)bytes) : context->backend->alloc(context, bytes);
}

/* A caller's free may be one that hands the memory to somebody else at once. */
static void system_free(cohort_context *context, void *memory, uint64_t bytes)
{
    const cohort_allocator *a = &context->allocator;
    if (!a->alloc) {
        context->backend->free(context, memory, bytes);
        return;
    }
    context->backend->wait(context);
    a->free(a->user, memory, (size_t)bytes);
}

static uint64_t misaligned(const void *memory)
{
    return (uintptr_t)memory % ALIGNMENT;
}

/* The caller's allocator promises less alignment than is due: where that shows, a larger piece is asked for. */
static int span_try(cohort_context *context, uint64_t bytes, struct span *span)
{
    uint64_t given_bytes = bytes;
    void *given = system_alloc(context, bytes);
    if (given && misaligned(given) && bytes <= UINT64_MAX - ALIGNMENT) {
        system_free(context, given, bytes);
        given_bytes = bytes + ALIGNMENT;
        given = system_alloc(context, given_bytes);
    }
    if (!given)
        return 0;
    span->given = given;
    span->given_bytes = given_bytes;
    span->memory = (char *)given + (misaligned(given) ? ALIGNMENT - misaligned(given) : 0);
    span->bytes = bytes;
    return 1;
}

static int idle_blocks(const struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        if (!pool->blocks[i].busy)
            return 1;
    return 0;
}

cohort_status span_take(cohort_context *context, uint64_t bytes, struct span *out)
{
    int done = span_try(context, bytes, out);
    if (!done && idle_blocks(&context->pool)) {
        pool_trim(context);
        done = span_try(context, bytes, out);
    }
    if (!done)
        return context_fail(context, COHORT_NO_MEMORY, "no memory on the %s context: %llu bytes asked for",
                            context->backend->name, (unsigned long long)bytes);
    enum memory_kind kind = context->backend->memory_kind(context, out->memory);
    if (context->allocator.alloc && kind != context->backend->own_memory) {
        context_fail(context, COHORT_BAD_POINTER,
                     "options->alloc.alloc returned %p, which is not memory of the %s device", out->given,
                     context->backend->name);
        system_free(context, out->given, out->given_bytes);
        return COHORT_BAD_POINTER;
    }
    return COHORT_OK;
}

void span_give(cohort_context *context, const struct span *span)
{
    system_free(context, span->given, span->given_bytes);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* 0 if the rounded size does not fit. */
static uint64_t rounded(uint64_t bytes)
{
    if (bytes <= LEAST_BLOCK)
        return LEAST_BLOCK;
    uint64_t step = (1ull << (63 - __builtin_clzll(bytes - 1))) / 16;
    step = step < ALIGNMENT ? ALIGNMENT : step;
    uint64_t rest = bytes % step;
    if (!rest)
        return bytes;
    return bytes > UINT64_MAX - step ? 0 : bytes - rest + step;
}

static struct pool_block *best_idle(struct pool *pool, uint64_t bytes)
{
    struct pool_block *best = NULL;
    uint64_t most = bytes < SMALL_BLOCK / 2 ? SMALL_BLOCK : bytes > UINT64_MAX / 2 ? UINT64_MAX : 2 * bytes;
    for (size_t i = 0; i < pool->count; i++) {
        struct pool_block *b = &pool->blocks[i];
        if (!b->busy && b->span.bytes >= bytes && b->span.bytes <= most &&
            (!best || b->span.bytes < best->span.bytes))
            best = b;
    }
    return best;
}

static int make_room(struct pool *pool)
{
    if (pool->count < pool->room)
        return 1;
    size_t room = pool->room ? 2 * pool->room : 16;
    struct pool_block *blocks = realloc(pool->blocks, room * sizeof *blocks);
    if (!blocks)
        return 0;
    pool->blocks = blocks;
    pool->room = room;
    return 1;
}

cohort_status pool_take(cohort_context *context, uint64_t bytes, void **out)
{
    struct pool *pool = &context->pool;
    uint64_t size = rounded(bytes);
    struct pool_block *block = size ? best_idle(pool, size) : NULL;
    *out = NULL;
    if (!block) {
        struct span span;
        if (!size || !make_room(pool))
            return context_fail(context, COHORT_NO_MEMORY, "no memory for workspace of %llu bytes",
                                (unsigned long long)bytes);
        cohort_status status = span_take(context, size, &span);
        if (status)
            return status;
        block = &pool->blocks[pool->count++]; /* only now: span_take may have trimmed the pool */
        block->span = span;
        pool->bytes += span.bytes;
    }
    block->busy = 1;
    *out = block->span.memory;
    return COHORT_OK;
}

void pool_give(cohort_context *context, void *memory)
{
    struct pool *pool = &context->pool;
    for (size_t i = 0; memory && i < pool->count; i++)
        if (pool->blocks[i].span.memory == memory)
            pool->blocks[i].busy = 0;
}

static void give_back(cohort_context *context, int busy_too)
{
    struct pool *pool = &context->pool;
    size_t kept = 0;
    context->backend->wait(context);
    for (size_t i = 0; i < pool->count; i++) {
        struct pool_block block = pool->blocks[i];
        if (block.busy && !busy_too) {
            pool->blocks[kept++] = block;
            continue;
        }
        pool->bytes -= block.span.bytes;
        span_give(context, &block.span);
    }
    pool->count = kept;
}

void pool_trim(cohort_context *context)
{
    give_back(context, 0);
}

void pool_destroy(cohort_context *context)
{
    give_back(context, 1);
    free(context->pool.blocks);
    memset(&context->pool, 0, sizeof context->pool);
}
