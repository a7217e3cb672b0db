/* cpu/keys_grow.c: arrays of keys that become longer. */
#include "keys.h"

cohort_status keys_no_memory(cohort_context *context, uint64_t bytes)
{
    return context_fail(context, COHORT_NO_MEMORY, "no memory for %llu bytes of keys",
                        (unsigned long long)bytes);
}

cohort_status keys_reserve(cohort_context *context, void *memory, uint64_t *room, uint64_t used,
                           uint64_t wanted, uint64_t width)
{
    void *old, *made = NULL;
    memcpy(&old, memory, sizeof old);
    if (wanted > INT64_MAX / width || pool_take_close(context, wanted * width, &made))
        return keys_no_memory(context, wanted * width);
    if (used)
        memcpy(made, old, used * width);
    pool_drop(context, old);
    memcpy(memory, &made, sizeof made);
    *room = wanted;
    return COHORT_OK;
}

cohort_status keys_grow(cohort_context *context, void *memory, uint64_t *room, uint64_t used, uint64_t need,
                        uint64_t width)
{
    return need <= *room ? COHORT_OK : keys_reserve(context, memory, room, used, need + need / 2 + 64, width);
}
