/* shape/multimap.h: what one step of a multimap's work hands to the code that does it, and what a step does
 * to one entry. Plain C, seen by the API, by both backends and by the kernels.
 *
 * A multimap is a set of its keys (a map of width 32/0 or 64/0, the index), an array `ends` of slots + 2
 * words, and the values. The values of the key in slot s lie in runs[ends[s] .. ends[s + 1]); ends[0] is 0,
 * and the last word, which belongs to no slot, is the number of values. While it is built, ends[s + 1] first
 * counts the values of slot s (COUNT), then holds where they start (an exclusive scan of all words but the
 * first), and rises to where they end as they are put in their places (PLACE). A key with ten thousand values
 * costs no more a value than one with a single value: nothing walks over its run.
 *
 * Where all keys are distinct there are neither runs nor `ends`: the index is a map of the keys with their
 * values (a single multimap).
 *
 * A multimap that was inserted into is a row of such levels, none of them single, and a lookup goes through
 * all, a step a level. FIND leaves alone what an earlier level has answered, which `hit` tells. SIZES gives
 * each query a word for each level, side by side, so that ROWS finds the rows of query q and level l as those
 * of entry q * levels + l, and OFFSETS takes the queries' own out of them.
 *
 * How many distinct keys there will be is estimated first (SKETCH), so that the index is made at its size: a
 * hash of each key names one of 4,096 registers, by 12 of its bits; the first bit that is set in the next 32
 * tells how rare such a hash is, and is set in the register. The rarest of each register are what HyperLogLog
 * (Flajolet, Fusy, Gandouet and Meunier, 2007) counts by; it errs by 1.6 %. */
#ifndef COHORT_SHAPE_MULTIMAP_H
#define COHORT_SHAPE_MULTIMAP_H

#include "cohort/device/multimap.h"
#include "map.h"
#include "search.h"

#define MULTIMAP_ABSENT   (~0ull)
#define MULTIMAP_LEVELS   CO_MULTIMAP_LEVELS
#define MULTIMAP_NOT_KEPT (~0u)
#define MULTIMAP_TILE     2048u /* rows that a block of a GPU takes at a time: a multiple of its lanes */

enum multimap_step_kind {
    MULTIMAP_COUNT = 0, /* keys, where -> ends[slot + 1] += 1; kept */
    MULTIMAP_PLACE = 1, /* keys or kept, values, where -> values into their runs */
    MULTIMAP_FIND = 2,  /* keys, where, fallback -> results, hit, counts */
    MULTIMAP_SIZES =
        /* keys -> starts[i] (MULTIMAP_ABSENT if the key is), sizes[i] (of absent keys: 1 if outer, else 0);
         * without starts the later levels add to sizes[i] */
    3,
    MULTIMAP_ROWS = 4,   /* starts, sizes scanned to n + 1 offsets -> rows [first, first + rows) */
    MULTIMAP_FLAGS = 5,  /* flags[slot] = 1 where a key is, else 0 */
    MULTIMAP_KEYS = 6,   /* flags scanned -> export_keys, export_offsets */
    MULTIMAP_EXPAND = 7, /* export_keys[i] = the key whose run value i is in; `rows` of them */
    MULTIMAP_SKETCH = 8, /* keys, where -> sketch */
    MULTIMAP_OFFSETS = 9 /* offsets[i] = sizes[i * levels], n of them */
};
#define MULTIMAP_STEPS 10

#define SKETCH_SEED      0x5ce7c4ull /* not the index's: keys that fall together there do not here */
#define SKETCH_BITS      12u
#define SKETCH_REGISTERS (1u << SKETCH_BITS)

struct multimap_step {
    cohort_map_view index;
    co_u32 value_bytes; /* 4 or 8 */
    co_u32 outer;
    co_u32 level, levels; /* which of how many, 1 at least */
    co_u64 n;             /* entries; slots for FLAGS, KEYS and EXPAND; of ROWS n * levels */
    const void *keys;
    const void *values; /* PLACE: the caller's */
    const co_u32 *where;
    co_u64 *ends;
    void *runs;                              /* the multimap's values */
    const void *level_runs[MULTIMAP_LEVELS]; /* ROWS of several levels: theirs */
    co_u64 *offsets;
    /* The slot of each entry that COUNT has sought, so that PLACE need not; MULTIMAP_NOT_KEPT where it has
     * none. May be NULL. */
    co_u32 *kept;
    co_u32 *sketch; /* SKETCH_REGISTERS words */
    co_u64 fallback;
    co_u32 has_fallback;
    co_u32 alone; /* nobody else works at the same step */
    void *results;
    co_u32 *hit;
    struct batch_counts *counts; /* added to; may be NULL */
    co_u64 *starts;
    co_u64 *sizes; /* n * levels + 1 words; SIZES writes all but the last */
    co_u64 first, rows;
    co_u64 *row_queries;
    void *row_values;
    co_u32 *row_matched;
    co_u64 *flags;
    void *export_keys;
    co_u64 *export_offsets;
    /* Of a single multimap, by a lookup before SIZES and ROWS: which queries' keys are there, and, for ROWS,
     * the values to answer, those of absent keys included, in `starts`, value_bytes each. KEYS writes the
     * values, too. */
    const co_u32 *found;
    void *export_values;
};

CO_INLINE int multimap_is_single(const struct multimap_step *s)
{
    return map_value_bytes(s->index.width) != 0;
}

/* ---- one entry ----------------------------------------------------------------------------------------- */

/* `wide` says that keys (or values) have 8 bytes, not 4. Callers pass constants. */

CO_INLINE co_u64 multimap_get(const void *from, co_u64 i, int wide)
{
    return wide ? co_read64((const co_u64 *)from + i) : co_read32((const co_u32 *)from + i);
}

CO_INLINE void multimap_put(void *to, co_u64 i, co_u64 v, int wide)
{
    if (wide)
        co_write64((co_u64 *)to + i, v);
    else
        co_write32((co_u32 *)to + i, (co_u32)v);
}

/* The slot of entry i's key, or MULTIMAP_ABSENT. */
CO_INLINE co_u64 multimap_slot(const struct multimap_step *s, co_u64 i, int wide)
{
    return wide ? co_multimap64_slot(&s->index, multimap_get(s->keys, i, 1))
                : co_multimap32_slot(&s->index, (co_u32)multimap_get(s->keys, i, 0));
}

/* SKETCH, for entry i. Most registers soon have the bit of what comes, and are only read. */
CO_INLINE void multimap_sketch(const struct multimap_step *s, co_u32 *sketch, co_u64 i, int wide)
{
    co_u64 hash = co_hash(multimap_get(s->keys, i, wide), SKETCH_SEED);
    co_u32 *of = sketch + (hash & (SKETCH_REGISTERS - 1));
    co_u32 bits = (co_u32)(hash >> SKETCH_BITS) | 1u << 31, bit = bits & (0u - bits);
    if (!(co_load32(of) & bit))
        co_or32(of, bit);
}

/* The slot of entry i's key, as COUNT has kept it. */
CO_INLINE co_u64 multimap_kept(const struct multimap_step *s, co_u64 i)
{
    co_u32 slot = co_read32(s->kept + i);
    return slot == MULTIMAP_NOT_KEPT ? MULTIMAP_ABSENT : slot;
}

CO_INLINE void multimap_keep(const struct multimap_step *s, co_u64 i, co_u64 slot)
{
    if (s->kept)
        co_write32(s->kept + i, (co_u32)slot);
}

/* The key in a slot: 1 if there is one. */
CO_INLINE int multimap_key(const struct multimap_step *s, co_u64 slot, co_u64 *key, int wide)
{
    if (wide) {
        co_u64 none;
        return co_map64_0_pair(&s->index, slot, key, &none);
    }
    co_u32 narrow, none;
    int live = co_map32_0_pair(&s->index, slot, &narrow, &none);
    *key = narrow;
    return live;
}

/* Is the key of query i, which this level has not, in none of the levels before? */
CO_INLINE int multimap_in_none(const struct multimap_step *s, co_u64 i)
{
    for (co_u32 level = 0; level < s->level; level++)
        if (co_read64(s->starts + i * s->levels + level) != MULTIMAP_ABSENT)
            return 0;
    return 1;
}

/* SIZES, for entry i. The row of a key that is in no level is the last level's. */
CO_INLINE void multimap_size(const struct multimap_step *s, co_u64 i, co_u64 slot)
{
    const int absent = slot == MULTIMAP_ABSENT;
    const co_u64 start = absent ? MULTIMAP_ABSENT : co_read64(s->ends + slot);
    co_u64 size = absent ? 0 : co_read64(s->ends + slot + 1) - start;
    if (!s->starts) {
        co_write64(s->sizes + i, size + (s->level ? co_read64(s->sizes + i) : 0));
        return;
    }
    if (absent && s->outer && s->level + 1 == s->levels && multimap_in_none(s, i))
        size = 1;
    co_write64(s->starts + i * s->levels + s->level, start);
    co_write64(s->sizes + i * s->levels + s->level, size);
}

/* The query that entry q of ROWS is of, and the values of its level. */
CO_INLINE co_u64 multimap_query(const struct multimap_step *s, co_u64 q)
{
    return s->levels > 1 ? q / s->levels : q;
}

CO_INLINE const void *multimap_runs(const struct multimap_step *s, co_u64 q)
{
    return s->levels > 1 ? s->level_runs[q % s->levels] : s->runs;
}

/* ROWS, for row i of those asked for, which is one of entry q: 1 if it is a value of the multimap. */
CO_INLINE int multimap_row(const struct multimap_step *s, co_u64 i, co_u64 q, int wide)
{
    co_u64 start = co_read64(s->starts + q);
    int matched = start != MULTIMAP_ABSENT;
    if (s->row_queries)
        co_write64(s->row_queries + i, multimap_query(s, q));
    if (s->row_values) {
        co_u64 at = start + (s->first + i - co_read64(s->sizes + q));
        multimap_put(s->row_values, i, matched ? multimap_get(multimap_runs(s, q), at, wide) : s->fallback,
                     wide);
    }
    return matched;
}

/* KEYS, for a slot. */
CO_INLINE void multimap_export(const struct multimap_step *s, co_u64 slot, int wide)
{
    co_u64 key;
    if (!multimap_key(s, slot, &key, wide))
        return;
    co_u64 at = co_read64(s->flags + slot);
    if (s->export_keys)
        multimap_put(s->export_keys, at, key, wide);
    if (s->export_offsets)
        co_write64(s->export_offsets + at, co_read64(s->ends + slot));
}

/* ---- one entry of a single multimap -------------------------------------------------------------------- */

/* Row i of those asked for, which is query q's. The values lie in the place of `starts`, where the lookup has
 * put them: they are read in the order of the queries, and not from the table again. */
CO_INLINE void multimap_single_row(const struct multimap_step *s, co_u64 i, co_u64 q, int wide)
{
    if (s->row_queries)
        co_write64(s->row_queries + i, q);
    if (s->row_values)
        multimap_put(s->row_values, i, multimap_get(s->starts, q, wide), wide);
}

/* The pair in a slot: 1 if there is one. Of four bytes a key and eight a value there are none. */
CO_INLINE int multimap_pair(const struct multimap_step *s, co_u64 slot, co_u64 *key, co_u64 *value,
                            int wide_key, int wide_value)
{
    co_u32 narrow = 0, few = 0;
    int live;
    if (wide_value)
        return co_map64_64_pair(&s->index, slot, key, value);
    if (wide_key) {
        live = co_map64_32_pair(&s->index, slot, key, &narrow);
    } else {
        live = co_map32_32_pair(&s->index, slot, &few, &narrow);
        *key = few;
    }
    *value = narrow;
    return live;
}

/* KEYS, for a slot. */
CO_INLINE void multimap_export_pair(const struct multimap_step *s, co_u64 slot, int wide_key, int wide_value)
{
    co_u64 key, value;
    if (!multimap_pair(s, slot, &key, &value, wide_key, wide_value))
        return;
    const co_u64 at = co_read64(s->flags + slot);
    if (s->export_keys)
        multimap_put(s->export_keys, at, key, wide_key);
    if (s->export_values)
        multimap_put(s->export_values, at, value, wide_value);
    if (s->export_offsets)
        co_write64(s->export_offsets + at, at);
}

#endif
