/* core/pool.h: workspace that is used again. Blocks come from core/take.h in powers of two and sixteenths
 * between them, go back to the pool when done with, and to the system only by pool_trim. A context is used by
 * one thread, and its work is ordered by one stream, so a block given back may be handed out while work that
 * used it is still under way: whatever uses it next comes later in the stream. */
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

void pool_give(cohort_context *context, void *memory); /* NULL is allowed */
void pool_drop(cohort_context *context, void *memory); /* to the system at once. NULL is allowed. Waits */
void pool_trim(cohort_context *context);               /* idle blocks go back. Waits */
void pool_destroy(cohort_context *context);            /* all blocks go back, busy or not. Waits */
int pool_idle(const cohort_context *context);          /* is a block idle? */

/* The parts of pool_take (core/take.h): the size of the block for so many bytes, 0 if there is none so large;
 * an idle block that serves, or NULL; room for one more, 0 if there is no memory; and a new block, busy. */
uint64_t pool_size(uint64_t bytes);
void *pool_find(cohort_context *context, uint64_t size);
void *pool_find_close(cohort_context *context, uint64_t size); /* for pool_take_close */
int pool_room(cohort_context *context);
void pool_put(cohort_context *context, void *memory, uint64_t size);

#endif
