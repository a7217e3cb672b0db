/* cohort/device/multimap.h: lookups in multimaps inside kernels, by single lanes.
 *
 * Get a view from cohort_multimap_get_view, and pass it to a kernel by value. A multimap that was inserted
 * into has several levels, each with a run of the key's values or none:
 *
 *     for (co_u32 level = 0; level < view.levels; level++) {
 *         struct co_multimap_run run = co_multimap64_run(&view, level, key);
 *         for (co_u64 i = run.first; i < run.first + run.count; i++)
 *             sum += co_multimap_value32(&view, level, i);
 *     }
 *
 * The name has the bits of the key (32, 64) and of the value (32, 64); those of another width than the
 * multimap's answer as if the key were absent. The same text works in the host's threads on a CPU context's
 * multimap. Nothing here writes, so lookups go on beside each other and beside host calls that look up. A
 * view is void once the multimap is inserted into or destroyed, or exported or saved after an insert.
 *
 * How it lies in memory: docs/multimap.md. */
#ifndef COHORT_DEVICE_MULTIMAP_H
#define COHORT_DEVICE_MULTIMAP_H

#include "map.h"

#define CO_MULTIMAP_VIEW_VERSION 1u
#define CO_MULTIMAP_LEVELS       16u

typedef struct cohort_multimap_level {
    cohort_map_view index; /* the set of its keys */
    const co_u64 *ends;    /* the values of the key in slot s lie in runs[ends[s] .. ends[s + 1]) */
    const void *runs;
} cohort_multimap_level;

typedef struct cohort_multimap_view {
    co_u32 version; /* CO_MULTIMAP_VIEW_VERSION */
    co_u32 width;   /* a cohort_width */
    co_u32 levels;  /* 1 at least */
    co_u32 reserved;
    cohort_multimap_level level[CO_MULTIMAP_LEVELS];
} cohort_multimap_view;

/* The values of a key in one level: `count` of them, from place `first` on. */
struct co_multimap_run {
    co_u64 first, count;
};

#define CO_MULTIMAP_ABSENT (~(co_u64)0)

/* The slot of a key in a level's index, or CO_MULTIMAP_ABSENT. */
CO_INLINE co_u64 co_multimap32_slot(const cohort_map_view *index, co_u32 key)
{
    struct co_map32_0_place at;
    return co_map32_0_seek(index, key, CO_SEEK, 0, &at) == CO_MAP_HIT ? at.slot : CO_MULTIMAP_ABSENT;
}

CO_INLINE co_u64 co_multimap64_slot(const cohort_map_view *index, co_u64 key)
{
    struct co_map64_0_place at;
    return co_map64_0_seek(index, key, CO_SEEK, 0, &at) == CO_MAP_HIT ? at.slot : CO_MULTIMAP_ABSENT;
}

CO_INLINE struct co_multimap_run co_multimap_run_at(const cohort_multimap_level *level, co_u64 slot)
{
    struct co_multimap_run run = {0, 0};
    if (slot == CO_MULTIMAP_ABSENT)
        return run;
    run.first = co_read64(level->ends + slot);
    run.count = co_read64(level->ends + slot + 1) - run.first;
    return run;
}

/* Keys of 32 bits: a width of 32/32. */
CO_INLINE struct co_multimap_run co_multimap32_run(const cohort_multimap_view *v, co_u32 level, co_u32 key)
{
    struct co_multimap_run none = {0, 0};
    if (v->width != 2)
        return none;
    return co_multimap_run_at(&v->level[level], co_multimap32_slot(&v->level[level].index, key));
}

/* Keys of 64 bits: 64/32 and 64/64. */
CO_INLINE struct co_multimap_run co_multimap64_run(const cohort_multimap_view *v, co_u32 level, co_u64 key)
{
    struct co_multimap_run none = {0, 0};
    if (v->width != 4 && v->width != 5)
        return none;
    return co_multimap_run_at(&v->level[level], co_multimap64_slot(&v->level[level].index, key));
}

/* Value i of a level, which is one of a run: of 32/32 and 64/32; */
CO_INLINE co_u32 co_multimap_value32(const cohort_multimap_view *v, co_u32 level, co_u64 i)
{
    return co_read32((const co_u32 *)v->level[level].runs + i);
}

/* of 64/64. */
CO_INLINE co_u64 co_multimap_value64(const cohort_multimap_view *v, co_u32 level, co_u64 i)
{
    return co_read64((const co_u64 *)v->level[level].runs + i);
}

/* How many values a key has, in all levels. */
CO_INLINE co_u64 co_multimap32_count(const cohort_multimap_view *v, co_u32 key)
{
    co_u64 count = 0;
    for (co_u32 level = 0; level < v->levels; level++)
        count += co_multimap32_run(v, level, key).count;
    return count;
}

CO_INLINE co_u64 co_multimap64_count(const cohort_multimap_view *v, co_u64 key)
{
    co_u64 count = 0;
    for (co_u32 level = 0; level < v->levels; level++)
        count += co_multimap64_run(v, level, key).count;
    return count;
}

#endif
