/* shape/multimap.h: what one step of a multimap's work hands to the code that does it. Plain C, seen by the API, by both
 * backends and by the kernels.
 *
 * A multimap is a set of its keys (a map of width 32/0 or 64/0, the index), an array `ends` of slots + 1 words, and the values.
 * The values of the key in slot s lie in values[ends[s] .. ends[s + 1]); ends[0] is 0. While it is built, ends[s + 1] first
 * counts the values of slot s (COUNT), then holds where they start (an exclusive scan), and rises to where they end as they
 * are put in their places (PLACE). */
#ifndef COHORT_SHAPE_MULTIMAP_H
#define COHORT_SHAPE_MULTIMAP_H

#include "map.h"

#define MULTIMAP_ABSENT (~0ull)

enum multimap_step_kind {
    MULTIMAP_COUNT = 0, /* keys, where -> ends[slot + 1] += 1 */
    MULTIMAP_PLACE = 1, /* keys, values, where -> values into their runs */
    MULTIMAP_FIND = 2,  /* keys, where, fallback -> results, hit, counts */
    MULTIMAP_SIZES = 3, /* keys -> starts[i] (MULTIMAP_ABSENT if the key is), sizes[i] (1 for absent keys if outer) */
    MULTIMAP_ROWS = 4,  /* starts, sizes scanned to n + 1 offsets -> rows [first, first + rows) */
    MULTIMAP_FLAGS = 5, /* flags[slot] = 1 where a key is */
    MULTIMAP_KEYS = 6   /* flags scanned -> export_keys, export_offsets */
};

struct multimap_step {
    cohort_map_view index;
    co_u32 value_bytes; /* 4 or 8 */
    co_u32 outer;
    co_u64 n;           /* entries; slots for FLAGS and KEYS */
    const void *keys;
    const void *values; /* PLACE: the caller's */
    const co_u32 *where;
    co_u64 *ends;
    void *runs;         /* the multimap's values */
    co_u64 fallback;
    co_u32 has_fallback;
    co_u32 reserved;
    void *results;
    co_u32 *hit;
    struct map_counts *counts;
    co_u64 *starts;
    co_u64 *sizes;      /* SIZES: n + 1 words, the last 0, so that a scan of them all gives the total */
    co_u64 first, rows;
    co_u64 *row_queries;
    void *row_values;
    co_u32 *row_matched;
    co_u64 *flags;
    void *export_keys;
    co_u64 *export_offsets;
};

#endif
