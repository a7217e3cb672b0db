/* pool.c: workspace that is used again, over the system's memory or the caller's allocator.
 *
 * A request is rounded up to a power of two or one of the fifteen steps between it and the next, so that requests of much
 * the same size share blocks and at most a sixteenth is wasted. It takes the smallest idle block that holds it and is
 * not more than twice as large (small blocks: up to 64 KiB), so that a small request does not tie up a large block. */
#include "backend/context.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT   256ull
#define LEAST_BLOCK 1024ull
#define SMALL_BLOCK 65536ull

/* ---- the system's memory, or the caller's allocator's -------------------------------------------------------------- */

/* A piece of the caller's allocator that was not aligned as is due, and the aligned part of it that is used. */
struct shifted {
    void *memory; /* first: the order of the tree */
    void *given;
};

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
    return (x > y) - (x < y);
}

static uint64_t misaligned(const void *memory)
{
    return (uintptr_t)memory % ALIGNMENT;
}

/* The caller's allocator promises less alignment than is due: where that shows, a larger piece is asked for. */
static void *shift(cohort_context *context, uint64_t bytes)
{
    const cohort_allocator *a = &context->allocator;
    struct shifted *s = malloc(sizeof *s);
    void *given = s && bytes <= SIZE_MAX - ALIGNMENT ? a->alloc(a->user, (size_t)(bytes + ALIGNMENT)) : NULL;
    if (!given) {
        free(s);
        return NULL;
    }
    s->given = given;
    s->memory = (char *)given + ALIGNMENT - misaligned(given);
    if (tsearch(s, &context->shifted, by_address))
        return s->memory;
    a->free(a->user, given, (size_t)(bytes + ALIGNMENT));
    free(s);
    return NULL;
}

static void *system_try(cohort_context *context, uint64_t bytes)
{
    const cohort_allocator *a = &context->allocator;
    if (bytes > SIZE_MAX)
        return NULL;
    if (!a->alloc)
        return context->backend->context->alloc(context, bytes);
    void *memory = a->alloc(a->user, (size_t)bytes);
    if (!memory || !misaligned(memory))
        return memory;
    a->free(a->user, memory, (size_t)bytes);
    return shift(context, bytes);
}

/* A barred context is of a device that is not to be touched: memory of it stays with the process that was forked. */
static void give_to_caller(cohort_context *context, void *memory, uint64_t bytes)
{
    if (context->origin != CONTEXT_BARRED)
        context->allocator.free(context->allocator.user, memory, (size_t)bytes);
}

/* A caller's free may be one that hands the memory to somebody else at once, so it waits. */
void context_release(cohort_context *context, void *memory, uint64_t bytes)
{
    if (!memory)
        return;
    if (!context->allocator.alloc) {
        context->backend->context->free(context, memory, bytes);
        return;
    }
    context_wait(context);
    struct shifted **node = tfind(&memory, &context->shifted, by_address), *shifted = node ? *node : NULL;
    if (!shifted) {
        give_to_caller(context, memory, bytes);
        return;
    }
    tdelete(&memory, &context->shifted, by_address);
    give_to_caller(context, shifted->given, bytes + ALIGNMENT);
    free(shifted);
}

static int idle_blocks(const struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        if (!pool->blocks[i].busy)
            return 1;
    return 0;
}

cohort_status system_take(cohort_context *context, uint64_t bytes, void **out)
{
    void *memory = system_try(context, bytes);
    *out = NULL;
    if (!memory && (loans_trim(context) || idle_blocks(&context->pool))) {
        pool_trim(context);
        memory = system_try(context, bytes);
    }
    if (!memory)
        return context_fail(context, COHORT_NO_MEMORY, "the %s context has no memory of %llu bytes",
                            context->backend->name, (unsigned long long)bytes);
    if (context->allocator.alloc && context_memory_kind(context, memory) != context->backend->own_memory) {
        context_fail(context, COHORT_BAD_POINTER,
                     "options->alloc.alloc returned %p, which is not memory of the %s device", memory,
                     context->backend->name);
        context_release(context, memory, bytes);
        return COHORT_BAD_POINTER;
    }
    *out = memory;
    return COHORT_OK;
}

void *context_alloc(cohort_context *context, uint64_t bytes)
{
    void *memory;
    return system_take(context, bytes, &memory) ? NULL : memory;
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
        if (!b->busy && b->bytes >= bytes && b->bytes <= most && (!best || b->bytes < best->bytes))
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
        void *memory;
        if (!size || !make_room(pool))
            return context_fail(context, COHORT_NO_MEMORY, "no memory for workspace of %llu bytes",
                                (unsigned long long)bytes);
        cohort_status status = system_take(context, size, &memory);
        if (status)
            return status;
        block = &pool->blocks[pool->count++]; /* only now: system_take may have trimmed the pool */
        block->memory = memory;
        block->bytes = size;
        pool->bytes += size;
    }
    block->busy = 1;
    *out = block->memory;
    return COHORT_OK;
}

void pool_give(cohort_context *context, void *memory)
{
    struct pool *pool = &context->pool;
    for (size_t i = 0; memory && i < pool->count; i++)
        if (pool->blocks[i].memory == memory)
            pool->blocks[i].busy = 0;
}

static void give_back(cohort_context *context, int busy_too)
{
    struct pool *pool = &context->pool;
    size_t kept = 0;
    context_wait(context);
    for (size_t i = 0; i < pool->count; i++) {
        struct pool_block block = pool->blocks[i];
        if (block.busy && !busy_too) {
            pool->blocks[kept++] = block;
            continue;
        }
        pool->bytes -= block.bytes;
        context_release(context, block.memory, block.bytes);
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
