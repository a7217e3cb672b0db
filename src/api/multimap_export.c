/* multimap_export.c: all of a multimap as arrays. */
#include "api/batch.h"
#include "api/map.h"
#include "api/multimap.h"

static cohort_status export_level(cohort_multimap *m, const char *call, void *keys, uint64_t *offsets,
                                  void *values)
{
    const unsigned maybe = BATCH_OUT | BATCH_OPTIONAL;
    void *own_keys, *own_values;
    uint64_t *own_offsets;
    struct batch b;
    const uint64_t value_bytes = map_value_bytes((co_u32)m->options.width);
    batch_open(&b, m->context, call);
    batch_array(&b, "keys", maybe, keys, m->keys, map_key_bytes(m->view.width), &own_keys);
    batch_array(&b, "offsets", maybe, offsets, m->keys + 1, sizeof *offsets, &own_offsets);
    batch_array(&b, "values", maybe, values, m->values, value_bytes, &own_values);
    cohort_status status = batch_check_memory(&b);
    if (status)
        return status;
    if (keys || offsets || (m->single && values)) {
        status = batch_begin(&b);
        if (!status)
            status = multimap_all(m, own_keys, own_offsets, own_values);
        status = batch_end(&b, status, NULL);
    }
    if (!status && values && m->values && !m->single)
        status = context_copy(m->context, values, m->runs, m->values * value_bytes);
    return status ? status : context_wait(m->context);
}

/* Several levels become one first. */
cohort_status cohort_multimap_export(cohort_multimap *m, void *keys, uint64_t *offsets, void *values)
{
    CALL_ON(m);
    static const char call[] = "cohort_multimap_export";
    if (!m)
        return context_fail(NULL, COHORT_NULL, "%s: multimap is NULL", call);
    cohort_status status = multimap_bring_in(m, call);
    if (!status)
        status = multimap_fold(m, call);
    return status ? status : export_level(m, call, keys, offsets, values);
}
