/* alloc.c: the context's memory in the caller's hands: cohort_alloc, cohort_free, cohort_copy,
 * cohort_fill. */
#include "options.h"

#include <search.h>
#include <stdlib.h>

/* What cohort_alloc gave out: a tree by address, so that cohort_free knows the size, and a stranger's
 * pointer. */
struct owned {
    void *memory; /* first: the order of the tree */
    uint64_t bytes;
};

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
    return (x > y) - (x < y);
}

cohort_status cohort_alloc(cohort_context *context, uint64_t bytes, void **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    if (!out)
        return context_fail(context, COHORT_NULL, "out is NULL");
    if (!bytes)
        return context_fail(context, COHORT_RANGE, "bytes is 0");
    struct owned *owned = malloc(sizeof *owned);
    if (!owned)
        return context_fail(context, COHORT_NO_MEMORY, "no memory to keep track of %llu bytes",
                            (unsigned long long)bytes);
    cohort_status status = system_take(context, bytes, &owned->memory);
    if (status) {
        free(owned);
        return status;
    }
    owned->bytes = bytes;
    if (!tsearch(owned, &context->owned, by_address)) {
        context_release(context, owned->memory, bytes);
        free(owned);
        return context_fail(context, COHORT_NO_MEMORY, "no memory to keep track of %llu bytes",
                            (unsigned long long)bytes);
    }
    *out = owned->memory;
    return COHORT_OK;
}

static void release(cohort_context *context, struct owned *owned)
{
    tdelete(owned, &context->owned, by_address);
    context_release(context, owned->memory, owned->bytes);
    free(owned);
}

cohort_status cohort_free(cohort_context *context, void *memory)
{
    CALL(context);
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    if (!memory)
        return COHORT_OK;
    struct owned **node = tfind(&memory, &context->owned, by_address);
    if (!node)
        return context_fail(
            context, COHORT_BAD_POINTER,
            "memory is %p, which cohort_alloc did not give out on this context, or which has been freed",
            memory);
    release(context, *node);
    return COHORT_OK;
}

void owned_destroy(cohort_context *context)
{
    while (context->owned) /* a tree's root points to a node, whose first member is the element */
        release(context, **(struct owned ***)&context->owned);
}

static cohort_status check_range(cohort_context *context, const char *name, const void *memory,
                                 uint64_t bytes)
{
    enum memory_kind kind;
    if (bytes > UINTPTR_MAX - (uintptr_t)memory)
        return context_fail(context, COHORT_OVERFLOW,
                            "%s is %p and bytes is %llu: the end does not fit in 64 bits", name, memory,
                            (unsigned long long)bytes);
    return pointer_check(context, name, memory, &kind);
}

cohort_status cohort_copy(cohort_context *context, void *to, const void *from, uint64_t bytes)
{
    CALL(context);
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    if (!bytes)
        return COHORT_OK;
    cohort_status status = check_range(context, "to", to, bytes);
    if (!status)
        status = check_range(context, "from", from, bytes);
    if (status)
        return status;
    uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;
    if ((a > b ? a - b : b - a) < bytes)
        return context_fail(context, COHORT_RANGE, "to is %p, from is %p and bytes is %llu: the two overlap",
                            to, from, (unsigned long long)bytes);
    return context_copy(context, to, from, bytes);
}

cohort_status cohort_fill(cohort_context *context, void *memory, int byte, uint64_t bytes)
{
    CALL(context);
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    if (!bytes)
        return COHORT_OK;
    cohort_status status = check_range(context, "memory", memory, bytes);
    return status ? status : context_fill(context, memory, byte, bytes);
}

cohort_status cohort_trim(cohort_context *context)
{
    CALL(context);
    if (!context)
        return context_fail(NULL, COHORT_NULL, "context is NULL");
    loans_trim(context);
    pool_trim(context);
    return COHORT_OK;
}
