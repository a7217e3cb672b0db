/* take.c: taking memory, for tables, workspace and results. The only place that knows of all who keep
 * some. */
#include "core/take.h"

#include <stdlib.h>

#include "backend/context.h"

static void *try_again(cohort_context *context, uint64_t bytes)
{
    void *memory = memory_try(context, bytes);
    if (!memory && (loans_trim(context) || pool_idle(context))) {
        pool_trim(context);
        memory = memory_try(context, bytes);
    }
    return memory;
}

static cohort_status no_memory(cohort_context *context, uint64_t bytes)
{
    const struct memory *m = &context->memory;
    if (bytes > m->most - m->held)
        return context_fail(context, COHORT_NO_MEMORY,
                            "no memory of %llu bytes: options->memory_bytes is %llu, of which %llu are held",
                            (unsigned long long)bytes, (unsigned long long)m->most,
                            (unsigned long long)m->held);
    return context_fail(context, COHORT_NO_MEMORY, "the %s context has no memory of %llu bytes",
                        context->backend->name, (unsigned long long)bytes);
}

/* What the caller's allocator gave: is it what it was asked for? */
static cohort_status check(cohort_context *context, const void *memory)
{
    if ((uintptr_t)memory % MEMORY_ALIGNMENT)
        return context_fail(context, COHORT_BAD_POINTER,
                            "options->alloc.alloc returned %p, which is not aligned to %llu bytes", memory,
                            MEMORY_ALIGNMENT);
    if (context_memory_kind(context, memory) != context->backend->own_memory)
        return context_fail(context, COHORT_BAD_POINTER,
                            "options->alloc.alloc returned %p, which is not memory of the %s device", memory,
                            context->backend->name);
    return COHORT_OK;
}

cohort_status system_take(cohort_context *context, uint64_t bytes, void **out)
{
    void *memory = try_again(context, bytes);
    *out = NULL;
    if (!memory)
        return no_memory(context, bytes);
    cohort_status status = context->allocator.alloc ? check(context, memory) : COHORT_OK;
    if (status)
        context_release(context, memory, bytes);
    else
        *out = memory;
    return status;
}

void *context_alloc(cohort_context *context, uint64_t bytes)
{
    void *memory;
    return system_take(context, bytes, &memory) ? NULL : memory;
}

/* *out: what the pool had, or NULL. size 0: there is none so large. */
static cohort_status take_block(cohort_context *context, uint64_t bytes, uint64_t size, void **out)
{
    if (*out)
        return COHORT_OK;
    if (!size || !pool_room(context))
        return context_fail(context, COHORT_NO_MEMORY, "no memory for workspace of %llu bytes",
                            (unsigned long long)bytes);
    cohort_status status = system_take(context, size, out);
    if (!status)
        pool_put(context, *out, size);
    return status;
}

cohort_status pool_take(cohort_context *context, uint64_t bytes, void **out)
{
    uint64_t size = pool_size(bytes);
    *out = size ? pool_find(context, size) : NULL;
    return take_block(context, bytes, size, out);
}

cohort_status pool_take_close(cohort_context *context, uint64_t bytes, void **out)
{
    uint64_t rest = bytes % MEMORY_ALIGNMENT, size = bytes - rest + (rest || !bytes ? MEMORY_ALIGNMENT : 0);
    size = size < bytes ? 0 : size;
    *out = size ? pool_find_close(context, size) : NULL;
    return take_block(context, bytes, size, out);
}

static cohort_status make_buffer(cohort_context *context, uint64_t room, struct buffer **out)
{
    struct buffer *b = calloc(1, sizeof *b);
    if (!b)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for a buffer's record");
    cohort_status status = system_take(context, room, &b->memory);
    if (status) {
        free(b);
        return status;
    }
    b->room = room;
    loans_put(context, b);
    *out = b;
    return COHORT_OK;
}

cohort_status loan_take(cohort_context *context, uint64_t bytes, struct buffer **out)
{
    uint64_t room = loans_size(bytes);
    *out = loans_find(context, room);
    cohort_status status = *out ? COHORT_OK : make_buffer(context, room, out);
    if (status)
        return status;
    (*out)->bytes = bytes;
    (*out)->holder.count = 1;
    return COHORT_OK;
}
