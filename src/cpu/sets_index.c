/* cpu/sets_index.c: the steps by which a collection's index is made (shape/sets_index.h). */
#include "sets.h"

#define GRAIN 256u /* sets, or spans, that a thread takes at a time */

static void own_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sets_index_step *s = arg;
    (void)worker;
    for (co_u64 number = begin; number < end; number++) {
        struct co_sets_set set = co_sets_open(&s->view, number);
        for (co_u64 i = 0; i < set.n; i++)
            sets_index_own(s, &set, number, i);
    }
}

static void spans_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct sets_index_step *s = arg;
    (void)worker;
    for (co_u64 i = begin; i < end; i++)
        sets_index_span(s, i);
}

cohort_status cpu_sets_index(cohort_context *context, const struct sets_index_step *step,
                             enum sets_index_kind kind)
{
    struct sets_index_step s = *step;
    cpu_parallel(context, s.items, GRAIN, kind == SETS_INDEX_OWNERS ? own_range : spans_range, &s);
    return COHORT_OK;
}
