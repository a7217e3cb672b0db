/* cohort/device/map.h: the map inside kernels: find, contains, insert, assign, apply, erase, by single lanes.
 *
 * Get a view from cohort_map_get_view, pass it to a kernel by value, and mix the operations in any order:
 *
 *     co_map_tally tally = {0, 0};
 *     co_u64 value;
 *     if (co_map64_64_find(&view, key, &value) == CO_MAP_HIT) ...
 *     if (co_map64_64_insert(&view, key, value, &tally) == CO_MAP_FULL) ...
 *     co_map_flush(&view, &tally);          // once, at the end of the kernel: keeps cohort_map_size right
 *
 * The same text works in the host's threads on a CPU context's map.
 *
 * Order. The operations on one key are linearizable. They are relaxed: to publish other memory through a map,
 * use co_fence() before the insert and after the find that hits. Capacity is fixed inside a kernel: an insert
 * can answer CO_MAP_FULL. A view is void once a host call has rehashed the map (cohort/map.h says which do);
 * one whose `version` is not CO_MAP_VIEW_VERSION was made by another version of the library.
 *
 * On a GPU before sm_90 the widths 64_32 and 64_64 offer find and contains, while no host call changes the
 * map; what changes a map answers CO_MAP_BAD there. Maps with COHORT_LAYOUT_LINES (cohort/device/lines.h)
 * offer all of it from sm_80 on.
 *
 * The algorithm (docs/map-protocol.md has the proof). A slot goes empty -> key -> erased, each step by one
 * compare-and-swap on the whole slot, and never back. A key's walk visits slots in an order that depends on
 * nothing but the key, and an insert takes the first slot of that walk which is empty at the moment of its
 * compare-and-swap, having seen every slot before it taken by something else. Since no slot becomes empty
 * again, the key can be nowhere further on; so a key is live in one slot at most, and the first empty slot
 * proves absence. The two keys whose patterns mark empty and erased live in two side slots after the table,
 * whose key field says 0 when live; those are reused. Where slots may become few a filter tells of keys that
 * are nowhere far from home (map_far.h). */
#ifndef COHORT_DEVICE_MAP_H
#define COHORT_DEVICE_MAP_H

#include "hash.h"

#define CO_MAP_VIEW_VERSION 4u

/* What is known of the pairs without a walk; on a line of its own. Additions to one address wait for each
 * other, so tables of some size have several, and their sums count. */
struct CO_ALIGN(128) co_map_counters {
    co_u64 taken;  /* slots that are not empty */
    co_u64 erased; /* of those, slots whose key was erased */

    /* of LINES alone (cohort/device/lines.h): keys moved to make room, moved into their own home, looks that
     * were repeated */
    co_u64 displaced, pulled, retried;
};

typedef struct cohort_map_view {
    co_u32 version; /* CO_MAP_VIEW_VERSION */
    co_u32 width;   /* a cohort_width */
    void *slots;    /* pages x (mask + 1) buckets of 32 bytes, then two side slots; aligned to 128 */
    struct co_map_counters *counters; /* co_map_spread of them */
    co_u64 seed;
    co_u32 pages;
    co_u32 mask;   /* buckets of a page - 1 */
    co_u32 reach;  /* pages that a key may lie in, from its own on */
    co_u32 linear; /* 1: linear probing */
    co_u32 far;    /* buckets from home on from which `filter` knows a key (map_far.h); 0: there is none */
    co_u32 reserved;
    co_u64 *filter; /* co_map_far_words of each page */
} cohort_map_view;

/* Slots taken and erased by one lane since the last flush. */
typedef struct co_map_tally {
    co_u32 taken, erased;
} co_map_tally;

enum {
    CO_MAP_MISS = 0, /* the key was not in */
    CO_MAP_HIT = 1,  /* it was */
    CO_MAP_NEW = 2,  /* it was not, and now is */
    CO_MAP_FULL = 3, /* it was not, and there is no slot for it */
    CO_MAP_BAD = 4   /* the operation is none, or not offered on this device */
};

/* How a seek goes: past other lanes' changes, with the right to put the key in, or through a map that nobody
 * changes; or with that right in a launch in which nobody erases, so that it may look at what was there
 * earlier in the launch. */
enum { CO_SEEK = 0, CO_SEEK_INSERT = 1, CO_SEEK_QUIET = 2, CO_SEEK_PUT = 3 };

/* Operations of apply, the same numbers as cohort_op. */
enum {
    CO_OP_FIND = 0,
    CO_OP_INSERT = 1,
    CO_OP_ASSIGN = 2,
    CO_OP_ERASE = 3,
    CO_OP_ADD = 4,
    CO_OP_MIN = 5,
    CO_OP_MAX = 6,
    CO_OP_OR = 7,
    CO_OP_AND = 8,
    CO_OP_EXCHANGE = 9,
    CO_OP_COUNT = 10,
    CO_OPS = 11
};

CO_INLINE co_u64 co_map_buckets(const cohort_map_view *m)
{
    return (co_u64)m->pages * ((co_u64)m->mask + 1);
}

CO_INLINE co_u64 co_map_walk_bucket(const cohort_map_view *m, const struct co_walk *w)
{
    return (co_u64)w->page * (m->mask + 1) + w->bucket;
}

#include "map_far.h"

/* How many counters a table has: a power of two. */
#define CO_MAP_SPREAD         128u
#define CO_MAP_SPREAD_BUCKETS (1ull << 14)

CO_INLINE co_u32 co_map_spread(const cohort_map_view *m)
{
    return co_map_buckets(m) < CO_MAP_SPREAD_BUCKETS ? 1 : CO_MAP_SPREAD;
}

/* The counters that this lane adds to. */
CO_INLINE struct co_map_counters *co_map_counters_here(const cohort_map_view *m)
{
#if defined(CO_HAS_WARPS)
    return m->counters + (co_block() & (co_map_spread(m) - 1));
#else
    return m->counters;
#endif
}

/* Adds what the lane has tallied to the map's counters. The erased tally may be negative (a side slot
 * reused). */
CO_INLINE void co_map_flush(const cohort_map_view *m, co_map_tally *tally)
{
    if (tally->taken)
        co_add64(&co_map_counters_here(m)->taken, tally->taken);
    if (tally->erased)
        co_add64(&co_map_counters_here(m)->erased, (co_u64)(long long)(int)tally->erased);
    tally->taken = tally->erased = 0;
}

/* ---- pairs of 128 bits --------------------------------------------------------------------------------- */
/* Where no compare-and-swap is as wide (before sm_90) they are read and changed by halves, key and value:
 * whoever has changed the key's half sets the value's. So in a launch that puts keys in no value may be read
 * (docs/map-protocol.md, "Pairs in halves"). */

CO_INLINE co_sector128 co_pairs_of(const co_u64 *words)
{
    co_sector128 s;
    s.w[0] = co_make128(words[0], words[1]);
    s.w[1] = co_make128(words[2], words[3]);
    return s;
}

CO_INLINE co_u128 co_load_pair(const co_u128 *p)
{
    return co_has_cas128() ? co_load128(p) : co_make128(co_load64(&p->lo), co_load64(&p->hi));
}

CO_INLINE co_sector128 co_load_pairs(const void *p)
{
    if (co_has_cas128())
        return co_load_sector128(p);
    const co_sector64 words = co_load_sector64(p);
    return co_pairs_of(words.w);
}

CO_INLINE co_sector128 co_glance_pairs(const void *p)
{
    if (co_has_cas128())
        return co_glance_sector128(p);
    const co_sector64 words = co_glance_sector64(p);
    return co_pairs_of(words.w);
}

/* From `expected` to `desired`, whose keys differ: what was there, with the same key only if it is changed
 * now. */
CO_INLINE co_u128 co_swap_pair(co_u128 *p, co_u128 expected, co_u128 desired)
{
    if (co_has_cas128())
        return co_cas128(p, expected, desired);
    co_u64 seen = co_cas64(&p->lo, expected.lo, desired.lo);
    if (seen != expected.lo)
        return co_make128(seen, 0);
    if (desired.hi != expected.hi)
        co_store64(&p->hi, desired.hi);
    return expected;
}

#define CO_MAP_FILE "map_width.h"
#include "map_instances.h"

#endif
