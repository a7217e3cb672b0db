/* cpu/keys_grow.c: arrays of keys that become longer. */
#include "keys.h"

cohort_status keys_no_memory(cohort_context *context, uint64_t bytes)
{
    return context_fail(context, COHORT_NO_MEMORY, "no memory for %llu bytes of keys",
                        (unsigned long long)bytes);
}

cohort_status keys_grow(cohort_context *context, void *memory, uint64_t *room, uint64_t used, uint64_t need,
                        uint64_t width)
{
    void *old, *made;
    if (need <= *room)
        return COHORT_OK;
    uint64_t more = need + need / 2 + 64;
    memcpy(&old, memory, sizeof old);
    if (more > INT64_MAX / width || !(made = context_alloc(context, more * width)))
        return keys_no_memory(context, more * width);
    if (used)
        memcpy(made, old, used * width);
    if (old)
        context_release(context, old, *room * width);
    memcpy(memory, &made, sizeof made);
    *room = more;
    return COHORT_OK;
}
