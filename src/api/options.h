/* options.h: checks that every call of the API begins with. */
#ifndef COHORT_API_OPTIONS_H
#define COHORT_API_OPTIONS_H

#include "api/call.h"
#include "backend/context.h"

/* Reads an option struct of the caller's, whose first member is `size_t size`, into `copy`, `known` bytes
 * that are what this library knows of it. `name` is the argument's, `size` what the caller put there, `least`
 * the size in version 1 of the library. What an older caller's struct lacks is zero in the copy; a newer
 * caller's is accepted if what this library does not know is zero. copy->size is `known`. COHORT_NULL if
 * `given` is NULL, else COHORT_BAD_STRUCT. context may be NULL. */
cohort_status options_check(cohort_context *context, const char *name, const void *given, size_t size,
                            size_t known, size_t least, void *copy);

/* The way back, for structs that a call fills: all that the caller's has room for, but its size. */
void options_return(void *given, size_t size, size_t known, const void *copy);

/* Whether the context can use this memory, and which kind it is; COHORT_NULL, COHORT_BAD_POINTER. */
cohort_status pointer_check(cohort_context *context, const char *name, const void *pointer,
                            enum memory_kind *kind);

/* alloc.c: frees what cohort_alloc gave out and nobody freed. */
void owned_destroy(cohort_context *context);

#endif
