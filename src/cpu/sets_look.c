/* cpu/sets_look.c: questions to collections, by the host's threads. */
#include "sets.h"

#define GRAIN 1024 /* questions that a thread takes at a time, a multiple of 32 */

static void look_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sets_look *q = arg;
    (void)worker;
    for (co_u64 base = begin; base < end; base += 32) {
        co_u32 word = 0;
        for (co_u64 i = base; i < end && i < base + 32; i++)
            word |= (co_u32)sets_look_one(q, i) << (i - base);
        if (q->hit)
            q->hit[base / 32] = word;
    }
}

cohort_status cpu_sets_look(cohort_context *context, const struct sets_look *look)
{
    struct sets_look q = *look;
    cpu_parallel(context, q.n, GRAIN, look_range, &q);
    return COHORT_OK;
}
