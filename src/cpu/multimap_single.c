/* cpu/multimap_single.c: steps on a multimap whose keys are distinct, which is a map of keys and values. The
 * lookup is the map's own. */
#include "multimap.h"

#include <string.h>

/* Whether the lookup has found the key of query q. */
CO_INLINE co_u32 found(const struct multimap_step *s, co_u64 q)
{
    return s->found[q / 32] >> q % 32 & 1;
}

static void sizes_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    for (co_u64 i = begin; i < end; i++)
        s->sizes[i] = found(s, i) ? 1 : s->outer;
}

/* The next query from `q` on that has a row. */
CO_INLINE co_u64 with_row(const struct multimap_step *s, co_u64 q)
{
    while (!s->outer && !found(s, q))
        q++;
    return q;
}

/* A row a query that has one; rows begin at a multiple of 32. */
CO_INLINE void put_rows(const struct multimap_step *s, co_u64 begin, co_u64 end, int wide)
{
    co_u64 q = run_at(s->sizes, 0, s->n, s->first + begin);
    for (co_u64 i = begin; i < end; i++, q++) {
        q = with_row(s, q);
        multimap_single_row(s, i, q, wide);
        if (s->row_matched)
            s->row_matched[i / 32] |= found(s, q) << i % 32;
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

static void flags_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    const int wide_key = map_key_bytes(s->index.width) == 8, wide_value = s->value_bytes == 8;
    co_u64 key, value;
    for (co_u64 slot = begin; slot < end; slot++)
        s->flags[slot] = multimap_pair(s, slot, &key, &value, wide_key, wide_value) ? 1 : 0;
}

static void keys_range(const struct multimap_step *s, co_u64 begin, co_u64 end)
{
    const int wide_key = map_key_bytes(s->index.width) == 8, wide_value = s->value_bytes == 8;
    for (co_u64 slot = begin; slot < end; slot++)
        multimap_export_pair(s, slot, wide_key, wide_value);
}

void (*const cpu_multimap_single[MULTIMAP_STEPS])(const struct multimap_step *, co_u64, co_u64) = {
    [MULTIMAP_SIZES] = sizes_range,
    [MULTIMAP_ROWS] = rows_range,
    [MULTIMAP_FLAGS] = flags_range,
    [MULTIMAP_KEYS] = keys_range,
};
