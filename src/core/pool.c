/* pool.c: workspace that is used again. What the pool lacks is taken by take.c.
 *
 * A request is rounded up to a power of two or one of the fifteen steps between it and the next, so that
 * requests of much the same size share blocks and at most a sixteenth is wasted. It takes the smallest idle
 * block that holds it and is not more than twice as large (small blocks: up to 64 KiB), so that a small
 * request does not tie up a large block.
 *
 * A table takes no more than it asks for: its size is stated to callers. It shares a block of at most a
 * sixteenth more. An idle one that is up to a sixteenth too small goes to the system, for the new one takes
 * its place; else tables that become larger with each call would leave all their blocks behind. */
#include "backend/context.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_BLOCK 1024ull
#define SMALL_BLOCK 65536ull

uint64_t pool_size(uint64_t bytes)
{
    if (bytes <= LEAST_BLOCK)
        return LEAST_BLOCK;
    uint64_t step = (1ull << (63 - __builtin_clzll(bytes - 1))) / 16;
    step = step < MEMORY_ALIGNMENT ? MEMORY_ALIGNMENT : step;
    uint64_t rest = bytes % step;
    if (!rest)
        return bytes;
    return bytes > UINT64_MAX - step ? 0 : bytes - rest + step;
}

static struct pool_block *best_idle(struct pool *pool, uint64_t bytes, uint64_t most)
{
    struct pool_block *best = NULL;
    for (size_t i = 0; i < pool->count && !(best && best->bytes == bytes); i++) {
        struct pool_block *b = &pool->blocks[i];
        if (!b->busy && b->bytes >= bytes && b->bytes <= most && (!best || b->bytes < best->bytes))
            best = b;
    }
    return best;
}

int pool_room(cohort_context *context)
{
    struct pool *pool = &context->pool;
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

void *pool_find(cohort_context *context, uint64_t size)
{
    uint64_t most = size < SMALL_BLOCK / 2 ? SMALL_BLOCK : size > UINT64_MAX / 2 ? UINT64_MAX : 2 * size;
    struct pool_block *block = best_idle(&context->pool, size, most);
    if (!block)
        return NULL;
    block->busy = 1;
    return block->memory;
}

static void drop(cohort_context *context, struct pool_block *block)
{
    struct pool *pool = &context->pool;
    context_wait(context);
    pool->bytes -= block->bytes;
    context_release(context, block->memory, block->bytes);
    *block = pool->blocks[--pool->count];
}

void *pool_find_close(cohort_context *context, uint64_t size)
{
    struct pool *pool = &context->pool;
    struct pool_block *block = best_idle(pool, size, size + size / 16);
    if (block) {
        block->busy = 1;
        return block->memory;
    }
    block = best_idle(pool, size - size / 16, size);
    if (block)
        drop(context, block);
    return NULL;
}

void pool_drop(cohort_context *context, void *memory)
{
    if (!memory)
        return;
    struct pool *pool = &context->pool;
    for (size_t i = 0; i < pool->count; i++)
        if (pool->blocks[i].memory == memory) {
            drop(context, &pool->blocks[i]);
            return;
        }
}

void pool_put(cohort_context *context, void *memory, uint64_t size)
{
    struct pool *pool = &context->pool;
    pool->blocks[pool->count++] = (struct pool_block){memory, size, 1};
    pool->bytes += size;
}

void pool_give(cohort_context *context, void *memory)
{
    if (!memory) /* what was never opened has no context either */
        return;
    struct pool *pool = &context->pool;
    for (size_t i = 0; i < pool->count; i++)
        if (pool->blocks[i].memory == memory) {
            pool->blocks[i].busy = 0;
            return;
        }
}

int pool_idle(const cohort_context *context)
{
    const struct pool *pool = &context->pool;
    for (size_t i = 0; i < pool->count; i++)
        if (!pool->blocks[i].busy)
            return 1;
    return 0;
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
