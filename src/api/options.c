/* options.c: option structs of callers older and newer than the library, and pointers. */
#include "options.h"

#include <inttypes.h>
#include <string.h>

/* A struct that claims to be larger than this is taken for an uninitialised one: reading its tail could leave
 * its memory. */
#define STRUCT_MOST 4096

cohort_status options_check(cohort_context *context, const char *name, const void *given, size_t size,
                            size_t known, size_t least, void *copy)
{
    const unsigned char *bytes = given;
    if (!given)
        return context_fail(context, COHORT_NULL, "%s is NULL", name);
    if (size < least)
        return context_fail(context, COHORT_BAD_STRUCT, "%s->size is %zu: the struct has at least %zu bytes",
                            name, size, least);
    if (size > STRUCT_MOST)
        return context_fail(context, COHORT_BAD_STRUCT,
                            "%s->size is %zu: no such struct has more than %d bytes", name, size,
                            STRUCT_MOST);
    for (size_t i = known; i < size; i++)
        if (bytes[i])
            return context_fail(
                context, COHORT_BAD_STRUCT,
                "%s->size is %zu: this library knows %zu bytes of it, and byte %zu is not zero", name, size,
                known, i);
    memset(copy, 0, known);
    memcpy(copy, given, size < known ? size : known);
    memcpy(copy, &known, sizeof known);
    return COHORT_OK;
}

void options_return(void *given, size_t size, size_t known, const void *copy)
{
    size_t end = size < known ? size : known;
    if (end > sizeof(size_t))
        memcpy((char *)given + sizeof(size_t), (const char *)copy + sizeof(size_t), end - sizeof(size_t));
}

cohort_status pointer_check(cohort_context *context, const char *name, const void *pointer,
                            enum memory_kind *kind)
{
    if (!pointer)
        return context_fail(context, COHORT_NULL, "%s is NULL", name);
    *kind = context_memory_kind(context, pointer);
    if (*kind == MEMORY_BAD || (*kind == MEMORY_DEVICE && context->backend->own_memory == MEMORY_HOST))
        return context_fail(context, COHORT_BAD_POINTER, "%s is %p: memory that this %s context cannot use",
                            name, pointer, context->backend->name);
    return COHORT_OK;
}
