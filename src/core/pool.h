/* core/pool.h: workspace that is used again. Blocks come from the backend's allocator (or the caller's) in powers of two and
 * sixteenths between them, go back to the pool when done with, and to the system only by pool_trim. A context is used by one
 * thread, and its work is ordered by one stream, so a block given back may be handed out while work that used it is
 * still under way: whatever uses it next comes later in the stream. */
#ifndef COHORT_POOL_H
#define COHORT_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "cohort/context.h"

struct pool_block {
    void *memory;
    uint64_t bytes;
    int busy;
};

struct pool {
    struct pool_block *blocks;
    size_t count, room;
    uint64_t bytes; /* of all blocks */
};

/* At least `bytes` of the context's memory, aligned to 256. COHORT_NO_MEMORY leaves a message. */
cohort_status pool_take(cohort_context *context, uint64_t bytes, void **out);
void pool_give(cohort_context *context, void *memory); /* NULL is allowed */
void pool_trim(cohort_context *context);               /* idle blocks go back. Waits */
void pool_destroy(cohort_context *context);            /* all blocks go back, busy or not. Waits */

/* context_alloc with a status and a message: past the pool, `bytes` aligned to 256 from the system or the caller's allocator.
 * If there is none, idle blocks of the pool go back and it is tried again. */
cohort_status system_take(cohort_context *context, uint64_t bytes, void **out);

#endif
