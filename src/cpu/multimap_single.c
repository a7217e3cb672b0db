/* cpu/multimap_single.c: steps on a multimap whose keys are distinct, which is a map of keys and values.
 *
 * The lookup is the map's own. It has left a bit a query, `found`, and the values, in the place of `starts`: so a row's value is read where
 * the queries lie, in their order, and not from the table again. */
#include "multimap.h"

#include <string.h>

static void sizes_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    for (co_u64 i = begin; i < end; i++)
        s->sizes[i] = s->found[i / 32] >> i % 32 & 1 ? 1 : s->outer;
}

/* The next query from `q` on that has a row. */
CO_INLINE co_u64 with_row(const struct multimap_step *s, co_u64 q)
{
    while (!s->outer && !(s->found[q / 32] >> q % 32 & 1))
        q++;
    return q;
}

/* A row a query that has one; rows begin at a multiple of 32. */
CO_INLINE void put_rows(const struct multimap_step *s, co_u64 begin, co_u64 end, int wide)
{
    co_u64 q = run_at(s->sizes, 0, s->n, s->first + begin);
    for (co_u64 i = begin; i < end; i++, q++) {
        q = with_row(s, q);
        if (s->row_queries)
            s->row_queries[i] = q;
        if (s->row_values)
            multimap_put(s->row_values, i, multimap_get(s->starts, q, wide), wide);
        if (s->row_matched)
            s->row_matched[i / 32] |= (s->found[q / 32] >> q % 32 & 1) << i % 32;
    }
}

static void rows_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    if (s->row_matched)
        memset(s->row_matched + begin / 32, 0, ((end + 31) / 32 - begin / 32) * 4);
    if (s->value_bytes == 8)
        put_rows(s, begin, end, 1);
    else
        put_rows(s, begin, end, 0);
}

/* The pair in a slot: 1 if there is one. */
static int pair_in(const struct multimap_step *s, co_u64 slot, co_u64 *key, co_u64 *value)
{
    if (s->index.width == COHORT_WIDTH_64_64)
        return co_map64_64_pair(&s->index, slot, key, value);
    if (s->index.width == COHORT_WIDTH_64_32) {
        co_u32 narrow = 0;
        int live = co_map64_32_pair(&s->index, slot, key, &narrow);
        *value = narrow;
        return live;
    }
    co_u32 narrow = 0, few = 0;
    int live = co_map32_32_pair(&s->index, slot, &few, &narrow);
    *key = few;
    *value = narrow;
    return live;
}

static void flags_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    co_u64 key, value;
    for (co_u64 slot = begin; slot < end; slot++)
        s->flags[slot] = pair_in(s, slot, &key, &value) ? 1 : 0;
}

static void keys_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    const int wide = map_key_bytes(s->index.width) == 8;
    co_u64 key, value;
    for (co_u64 slot = begin; slot < end; slot++) {
        if (!pair_in(s, slot, &key, &value))
            continue;
        const co_u64 at = s->flags[slot];
        if (s->export_keys)
            multimap_put(s->export_keys, at, key, wide);
        if (s->export_values)
            multimap_put(s->export_values, at, value, s->value_bytes == 8);
        if (s->export_offsets)
            s->export_offsets[at] = at;
    }
}

void (*const cpu_multimap_single[MULTIMAP_STEPS])(const struct multimap_step *, co_u64, co_u64) = {
    [MULTIMAP_SIZES] = sizes_range,
    [MULTIMAP_ROWS] = rows_range,
    [MULTIMAP_FLAGS] = flags_range,
    [MULTIMAP_KEYS] = keys_range,
};
