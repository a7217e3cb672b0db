/* multimap_step.c: what building, queries and export of multimaps stand on. */
#include "api/multimap.h"

#include <string.h>

#include "backend/sums.h"

struct multimap_step multimap_step_of(const cohort_multimap *m)
{
    struct multimap_step s;
    memset(&s, 0, sizeof s);
    s.index = m->view;
    s.value_bytes = map_value_bytes((co_u32)m->options.width);
    s.ends = m->ends;
    s.runs = m->runs;
    return s;
}

cohort_status multimap_do(const cohort_multimap *m, const struct multimap_step *step,
                          enum multimap_step_kind kind)
{
    return m->context->backend->multimap->step(m->context, step, kind, m->context->backend->own_memory);
}

cohort_status multimap_scan(cohort_context *context, co_u64 *a, uint64_t n)
{
    const struct sums_backend *sums = context->backend->sums;
    const struct scan scan = {.n = n, .bytes = sizeof *a, .in = a, .out = a};
    struct arena arena = {.asks = 1};
    void *memory = NULL;
    cohort_status status = sums->scan(context, &scan, &arena);
    if (!status && arena.used)
        status = pool_take(context, arena.used, &memory);
    arena = (struct arena){.memory = memory};
    if (!status)
        status = sums->scan(context, &scan, &arena);
    pool_give(context, memory);
    return status;
}
