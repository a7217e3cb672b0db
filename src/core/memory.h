/* memory.h: the context's memory, from the system or from the caller's allocator, within the bound that the
 * caller has set. */
#ifndef COHORT_MEMORY_H
#define COHORT_MEMORY_H

#include <stdint.h>

#include "cohort/context.h"

struct memory {
    uint64_t held; /* bytes that were given and have not come back */
    uint64_t most; /* the bound, or UINT64_MAX */
};

/* What every piece is aligned to, and what the caller's allocator is told. */
#define MEMORY_ALIGNMENT 256ull

/* `bytes` that are not initialised. NULL: the bound, the system or the allocator says no; no message. */
void *memory_try(cohort_context *context, uint64_t bytes);

/* NULL is allowed. Waits if the memory is a caller's allocator's: that may hand it to somebody else at
 * once. */
void context_release(cohort_context *context, void *memory, uint64_t bytes);

#endif
