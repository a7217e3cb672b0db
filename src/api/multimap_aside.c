/* multimap_aside.c: small inserts. A level that is built for a few pairs costs far more than the pairs do. So
 * these are put aside in host memory until there is no more room, or a call looks at the multimap. Then they
 * come in by one insert (multimap_levels.c). */
#include "api/multimap.h"

#include <stdlib.h>
#include <string.h>

#include "core/zeroed.h"

#define ASIDE_MOST 1024u /* pairs */
#define ASIDE_EACH 256u  /* more at a time are a level at once */

/* Keys and values of the multimap's widths, one behind the other. */
struct multimap_aside {
    uint64_t n;
    co_u64 keys[ASIDE_MOST], values[ASIDE_MOST];
};

/* Column `to` gets the entries of `from` that are chosen, from entry `at` on; the entry behind the last. */
static uint64_t append(void *to, uint64_t at, const void *from, uint64_t n, const uint8_t *where,
                       uint64_t bytes)
{
    char *out = to;
    const char *in = from;
    if (!where) {
        memcpy(out + at * bytes, in, n * bytes);
        return at + n;
    }
    for (uint64_t i = 0; i < n; i++)
        if (where[i / 8] >> i % 8 & 1)
            memcpy(out + at++ * bytes, in + i * bytes, bytes);
    return at;
}

int multimap_put_aside(cohort_multimap *m, uint64_t n, const void *keys, const void *values,
                       const uint8_t *where)
{
    if (n > ASIDE_EACH || (m->aside && m->aside->n + n > ASIDE_MOST))
        return 0;
    if (!m->aside && !(m->aside = zeroed(1, sizeof *m->aside)))
        return 0;
    struct multimap_aside *a = m->aside;
    append(a->keys, a->n, keys, n, where, map_key_bytes(m->view.width));
    a->n = append(a->values, a->n, values, n, where, map_value_bytes((co_u32)m->options.width));
    return 1;
}

cohort_status multimap_aside_pairs(const cohort_multimap *m, struct multimap_pairs *pairs, void **workspace)
{
    const struct multimap_aside *a = m->aside;
    const uint64_t key_bytes = (a->n * map_key_bytes(m->view.width) + 7) & ~7ull;
    const uint64_t value_bytes = a->n * map_value_bytes((co_u32)m->options.width);
    *pairs = (struct multimap_pairs){a->n, a->keys, a->values, NULL, NULL};
    *workspace = NULL;
    if (m->context->backend->own_memory == MEMORY_HOST)
        return COHORT_OK;
    cohort_status status = pool_take(m->context, key_bytes + value_bytes, workspace);
    pairs->keys = *workspace;
    pairs->values = (char *)*workspace + key_bytes;
    if (!status)
        status = context_copy(m->context, *workspace, a->keys, a->n * map_key_bytes(m->view.width));
    if (!status)
        status = context_copy(m->context, (char *)*workspace + key_bytes, a->values, value_bytes);
    return status;
}

uint64_t multimap_aside_n(const cohort_multimap *m)
{
    return m->aside ? m->aside->n : 0;
}

void multimap_aside_clear(cohort_multimap *m)
{
    if (m->aside)
        m->aside->n = 0;
}
