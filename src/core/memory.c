/* memory.c: the system's memory, or the caller's allocator's. What is held is counted, and never exceeds the
 * caller's bound. */
#include "core/memory.h"

#include "backend/context.h"

void *memory_try(cohort_context *context, uint64_t bytes)
{
    const cohort_allocator *a = &context->allocator;
    struct memory *m = &context->memory;
    if (bytes > SIZE_MAX || bytes > m->most - m->held)
        return NULL;
    void *memory = a->alloc ? a->alloc(a->user, (size_t)bytes, MEMORY_ALIGNMENT, context_stream(context))
                            : context->backend->context->alloc(context, bytes);
    m->held += memory ? bytes : 0;
    return memory;
}

/* A barred context is of a device that is not to be touched: memory of it stays with the process that was
 * forked. */
static void give_to_caller(cohort_context *context, void *memory, uint64_t bytes)
{
    const cohort_allocator *a = &context->allocator;
    context_wait(context);
    if (context->origin != CONTEXT_BARRED)
        a->free(a->user, memory, (size_t)bytes, MEMORY_ALIGNMENT, context_stream(context));
}

void context_release(cohort_context *context, void *memory, uint64_t bytes)
{
    if (!memory)
        return;
    context->memory.held -= bytes;
    if (context->allocator.alloc)
        give_to_caller(context, memory, bytes);
    else
        context->backend->context->free(context, memory, bytes);
}
