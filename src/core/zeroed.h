/* zeroed.h: blocks of zeros of the host's memory. What a call on a few rows takes is mostly such: lists of
 * columns, records of what it makes. */
#ifndef COHORT_ZEROED_H
#define COHORT_ZEROED_H

#include <stdlib.h>
#include <string.h>

/* The most bytes of a block that malloc has at hand where one was freed. */
#define ZEROED_AT_HAND 1024u

/* As calloc, which does not look where a thread keeps the blocks that it freed (glibc's before 2.41): of a
 * small block that is most of the cost. To be freed by free. */
static inline void *zeroed(size_t count, size_t size)
{
    if (size && count > ZEROED_AT_HAND / size)
        return calloc(count, size);
    void *memory = malloc(count * size);
    __asm__("" : "+r"(memory)); /* or compilers make a calloc of both */
    return memory ? memset(memory, 0, count * size) : NULL;
}

#endif
