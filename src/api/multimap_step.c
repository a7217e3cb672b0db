/* multimap_step.c: what building, queries and export of multimaps stand on. */
#include "api/multimap.h"

#include <string.h>

#include "backend/sums.h"

struct multimap_step multimap_step_of(const cohort_multimap *m)
{
    struct multimap_step s;
    memset(&s, 0, sizeof s);
    s.index = m->view;
    s.levels = 1;
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

cohort_status multimap_each(const cohort_multimap *m, const cohort_multimap *end,
                            const struct multimap_step *step, enum multimap_step_kind kind,
                            enum memory_kind memory)
{
    struct multimap_step s = *step;
    cohort_status status = COHORT_OK;
    s.levels = multimap_levels(m, end);
    for (const cohort_multimap *level = m; level != end && !status; level = level->next, s.level++) {
        s.index = level->view;
        s.ends = level->ends;
        s.runs = level->runs;
        s.has_fallback = step->has_fallback && s.level + 1 == s.levels;
        status = m->context->backend->multimap->step(m->context, &s, kind, memory);
    }
    return status;
}

co_u32 multimap_levels(const cohort_multimap *m, const cohort_multimap *end)
{
    co_u32 levels = 0;
    for (; m != end; m = m->next)
        levels++;
    return levels;
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

/* Which slots hold a key is noted, these notes are summed up, and each slot's key goes to the place that the
 * sum before it says. */
cohort_status multimap_all(cohort_multimap *m, void *keys, uint64_t *offsets, void *values)
{
    cohort_context *context = m->context;
    struct multimap_step step = multimap_step_of(m);
    void *flags;
    cohort_status status = pool_take(context, m->slots * sizeof *step.flags, &flags);
    if (status)
        return status;
    step.n = m->slots;
    step.flags = flags;
    step.export_keys = keys;
    step.export_offsets = (co_u64 *)offsets;
    step.export_values = values;
    status = multimap_do(m, &step, MULTIMAP_FLAGS);
    if (!status)
        status = multimap_scan(context, step.flags, m->slots);
    if (!status)
        status = multimap_do(m, &step, MULTIMAP_KEYS);
    if (!status && offsets)
        status = context_copy(context, offsets + m->keys, &m->values, sizeof m->values);
    pool_give(context, flags);
    return status;
}
