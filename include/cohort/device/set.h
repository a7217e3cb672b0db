/* cohort/device/set.h: sets inside kernels: looking into a collection, or into a working set, by single
 * lanes.
 *
 * Get a view from cohort_sets_get_view, pass it to a kernel by value, and ask:
 *
 *     if (co_sets_contains(&view, set, id)) ...
 *     co_u64 below = co_sets_rank(&view, set, id);
 *
 * The same text works in the host's threads on a CPU context's collection. A collection does not change, so
 * nothing here needs an order. A set number that is none is taken for an empty set.
 *
 * How a collection lies in memory (docs/set.md). A set has one word. A small set's word tells where its
 * members lie as a plain ascending list, and how many they are. A large set's word tells its record: which
 * chunks of the directory are its own. The directory has an entry for each chunk, in separate arrays: the key
 * (the members' bits from 16 on), the cardinality less one, the place of the entries, how many members lie
 * before the chunk, and a digest, whose bit b says that there are members from 1,024 b on. Entries lie in the
 * pool, in units of 16 bytes: a sorted array of 16-bit numbers; or a bitmap; or runs, each a start and a
 * length less one. Where a set's keys lie close together, it has an index too: a pair of words for 64 keys
 * each, their presence bits and how many of the set's chunks come before. */
#ifndef COHORT_DEVICE_SET_H
#define COHORT_DEVICE_SET_H

#include "lane.h"

#define CO_SETS_VIEW_VERSION 1u

#define CO_CHUNK_BITS  16u
#define CO_CHUNK_IDS   65536u
#define CO_CHUNK_BYTES 8192u /* of a bitmap */
#define CO_CHUNK_WORDS 2048u /* of 32 bits */
#define CO_SETS_NONE   (~0ull)

enum { CO_CHUNK_ARRAY = 0, CO_CHUNK_BITMAP = 1, CO_CHUNK_RUNS = 2, CO_CHUNK_FULL = 3 };

/* A place: the kind, the entries of an array or the runs, and the first unit of 16 bytes in the pool. */
#define CO_PLACE_ENTRIES    2
#define CO_PLACE_UNIT       19
#define CO_PLACE_UNIT_BYTES 16u

/* A set's word: the number of its record; or of a list the first entry, and how many. */
#define CO_SETS_LARGE      (1ull << 63)
#define CO_SETS_LIST_COUNT 48
#define CO_SETS_LIST_MOST  32767u

/* The record of a set with chunks. */
struct co_sets_large {
    co_u64 first, chunks; /* in the directory */
    co_u64 index, words;  /* pairs of the index, for keys from 64 * base on; words 0: there is none */
    co_u64 base;
};

typedef struct cohort_sets_view {
    co_u32 version; /* CO_SETS_VIEW_VERSION */
    co_u32 wide;    /* 1: members of 64 bits, keys of 64; 0: members of 32, keys of 16 */
    co_u64 sets, chunks, bytes;
    const co_u64 *words;
    const struct co_sets_large *large;
    const co_u64 *index;
    const void *keys;
    const co_u16 *cards;
    const co_u64 *places;
    const co_u64 *before; /* chunks + 1 */
    const co_u64 *digests;
    const void *lists;
    const void *pool;
} cohort_sets_view;

/* ---- small things -------------------------------------------------------------------------------------- */

/* The number of the lowest bit that is 1; there is one. */
CO_INLINE co_u32 co_low64(co_u64 v)
{
    return co_ones64((v & (0 - v)) - 1);
}

CO_INLINE co_u64 co_sets_key(const cohort_sets_view *v, co_u64 chunk)
{
    return v->wide ? co_read64((const co_u64 *)v->keys + chunk) : co_read16((const co_u16 *)v->keys + chunk);
}

CO_INLINE co_u64 co_sets_listed(const cohort_sets_view *v, co_u64 entry)
{
    return v->wide ? co_read64((const co_u64 *)v->lists + entry)
                   : co_read32((const co_u32 *)v->lists + entry);
}

CO_INLINE co_u32 co_place_kind(co_u64 place)
{
    return (co_u32)place & 3u;
}
CO_INLINE co_u32 co_place_entries(co_u64 place)
{
    return (co_u32)(place >> CO_PLACE_ENTRIES) & ((1u << (CO_PLACE_UNIT - CO_PLACE_ENTRIES)) - 1);
}
CO_INLINE co_u64 co_place_unit(co_u64 place)
{
    return place >> CO_PLACE_UNIT;
}
CO_INLINE co_u64 co_place_make(co_u32 kind, co_u32 entries, co_u64 unit)
{
    return kind | (co_u64)entries << CO_PLACE_ENTRIES | unit << CO_PLACE_UNIT;
}
CO_INLINE const co_u16 *co_place_at(const cohort_sets_view *v, co_u64 place)
{
    return (const co_u16 *)((const char *)v->pool + co_place_unit(place) * CO_PLACE_UNIT_BYTES);
}

/* Units that a chunk takes. */
CO_INLINE co_u32 co_place_units(co_u32 kind, co_u32 entries)
{
    return kind == CO_CHUNK_ARRAY    ? (entries + 7) / 8
           : kind == CO_CHUNK_RUNS   ? (entries + 3) / 4
           : kind == CO_CHUNK_BITMAP ? CO_CHUNK_BYTES / CO_PLACE_UNIT_BYTES
                                     : 0;
}

/* ---- a set opened -------------------------------------------------------------------------------------- */

/* A list has entries [first, first + n), else chunks. A set that is none has a list of none. */
struct co_sets_set {
    co_u64 first, n;
    co_u64 index, words, base;
    co_u32 large;
};

CO_INLINE struct co_sets_set co_sets_open(const cohort_sets_view *v, co_u64 set)
{
    struct co_sets_set s;
    co_u64 word = set < v->sets ? co_read64(v->words + set) : 0;
    s.large = (co_u32)(word >> 63);
    s.index = s.words = s.base = 0;
    if (!s.large) {
        s.first = word & ((1ull << CO_SETS_LIST_COUNT) - 1);
        s.n = word >> CO_SETS_LIST_COUNT;
        return s;
    }
    const struct co_sets_large *r = v->large + (word & ~CO_SETS_LARGE);
    s.first = co_read64(&r->first);
    s.n = co_read64(&r->chunks);
    s.index = co_read64(&r->index);
    s.words = co_read64(&r->words);
    s.base = co_read64(&r->base);
    return s;
}

CO_INLINE co_u64 co_sets_size(const cohort_sets_view *v, const struct co_sets_set *s)
{
    return s->large ? co_read64(v->before + s->first + s->n) - co_read64(v->before + s->first) : s->n;
}

/* How many of the set's chunks have a key below this one; *present: the next one has it. */
CO_INLINE co_u64 co_sets_lower(const cohort_sets_view *v, const struct co_sets_set *s, co_u64 key,
                               co_u32 *present)
{
    co_u64 low = 0, high = s->n, word = (key >> 6) - s->base;
    *present = 0;
    if (s->words) {
        if (key >> 6 < s->base)
            return 0;
        if (word >= s->words)
            return s->n;
        const co_u64 *pair = v->index + 2 * (s->index + word);
        co_u64 bits = co_read64(pair);
        *present = (co_u32)(bits >> (key & 63)) & 1;
        return co_read64(pair + 1) + co_ones64(bits & ((1ull << (key & 63)) - 1));
    }
    while (low < high) {
        co_u64 middle = low + (high - low) / 2, k = co_sets_key(v, s->first + middle);
        if (k < key)
            low = middle + 1;
        else
            high = middle;
        *present |= k == key;
    }
    return low;
}

/* The place in the directory of the set's chunk with this key, or CO_SETS_NONE. */
CO_INLINE co_u64 co_sets_chunk(const cohort_sets_view *v, const struct co_sets_set *s, co_u64 key)
{
    co_u32 present;
    co_u64 lower = co_sets_lower(v, s, key, &present);
    return present ? s->first + lower : CO_SETS_NONE;
}

/* How many of the list's members are below. */
CO_INLINE co_u64 co_sets_list_lower(const cohort_sets_view *v, const struct co_sets_set *s, co_u64 id)
{
    co_u64 low = 0, high = s->n;
    while (low < high) {
        co_u64 middle = low + (high - low) / 2;
        if (co_sets_listed(v, s->first + middle) < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- inside a chunk ------------------------------------------------------------------------------------ */

/* How many entries of the array are below. Numbers that lie evenly stand near where the number's share of
 * 2^16 says: the search begins there, goes on in steps that double, and halves what lies between. So it reads
 * one or two sectors of most arrays, and of none more than twice what halving alone would. */
CO_INLINE co_u32 co_chunk_array_lower(const co_u16 *at, co_u32 entries, co_u32 low16)
{
    co_u32 low = 0, high = entries, guess = entries * low16 >> CO_CHUNK_BITS, step = 8;
    if (!entries)
        return 0;
    guess = guess < entries ? guess : entries - 1;
    if (co_read16(at + guess) < low16) {
        low = guess + 1;
        for (; low + step < entries && co_read16(at + low + step) < low16; step *= 2)
            low += step + 1;
        high = low + step < entries ? low + step : entries;
    } else {
        high = guess;
        for (; high > step && co_read16(at + high - step - 1) >= low16; step *= 2)
            high -= step + 1;
        low = high > step ? high - step : 0;
    }
    while (low < high) {
        co_u32 middle = (low + high) / 2;
        if (co_read16(at + middle) < low16)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How many runs begin at the number or below. */
CO_INLINE co_u32 co_chunk_runs_to(const co_u16 *at, co_u32 runs, co_u32 low16)
{
    co_u32 low = 0, high = runs;
    while (low < high) {
        co_u32 middle = (low + high) / 2;
        if (co_read16(at + 2 * middle) <= low16)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last number of a run; of bytes that are not what they should be, none beyond the chunk. */
CO_INLINE co_u32 co_chunk_run_last(const co_u16 *at, co_u32 run)
{
    co_u32 last = (co_u32)co_read16(at + 2 * run) + co_read16(at + 2 * run + 1);
    return last < CO_CHUNK_IDS ? last : CO_CHUNK_IDS - 1;
}

CO_INLINE int co_chunk_contains(const cohort_sets_view *v, co_u64 place, co_u32 low16)
{
    const co_u16 *at = co_place_at(v, place);
    co_u32 entries = co_place_entries(place), i;
    switch (co_place_kind(place)) {
    case CO_CHUNK_ARRAY:
        i = co_chunk_array_lower(at, entries, low16);
        return i < entries && co_read16(at + i) == low16;
    case CO_CHUNK_BITMAP:
        return (int)(co_read32((const co_u32 *)(const void *)at + low16 / 32) >> (low16 % 32) & 1);
    case CO_CHUNK_RUNS:
        i = co_chunk_runs_to(at, entries, low16);
        return i && co_chunk_run_last(at, i - 1) >= low16;
    default:
        return 1;
    }
}

/* Members of the chunk below the number, which may be 65,536. */
CO_INLINE co_u32 co_chunk_rank(const cohort_sets_view *v, co_u64 place, co_u32 low16)
{
    const co_u16 *at = co_place_at(v, place);
    co_u32 entries = co_place_entries(place), sum = 0, word;
    switch (co_place_kind(place)) {
    case CO_CHUNK_ARRAY:
        return co_chunk_array_lower(at, entries, low16);
    case CO_CHUNK_BITMAP:
        for (word = 0; word < low16 / 32; word++)
            sum += co_ones32(co_read32((const co_u32 *)(const void *)at + word));
        if (low16 % 32)
            sum += co_ones32(co_read32((const co_u32 *)(const void *)at + word) & ((1u << low16 % 32) - 1));
        return sum;
    case CO_CHUNK_RUNS:
        for (co_u32 i = 0; i < entries; i++) {
            co_u32 start = co_read16(at + 2 * i), end = co_chunk_run_last(at, i) + 1;
            if (start >= low16)
                break;
            sum += (end < low16 ? end : low16) - start;
        }
        return sum;
    default:
        return low16;
    }
}

/* The member of that rank; there is one. */
CO_INLINE co_u32 co_chunk_select(const cohort_sets_view *v, co_u64 place, co_u32 rank)
{
    const co_u16 *at = co_place_at(v, place);
    co_u32 entries = co_place_entries(place), left = rank;
    switch (co_place_kind(place)) {
    case CO_CHUNK_ARRAY:
        return co_read16(at + (rank < entries ? rank : entries - 1));
    case CO_CHUNK_BITMAP:
        for (co_u32 word = 0; word < CO_CHUNK_WORDS; word++) {
            co_u32 bits = co_read32((const co_u32 *)(const void *)at + word), ones = co_ones32(bits);
            if (left >= ones) {
                left -= ones;
                continue;
            }
            for (; left; left--)
                bits &= bits - 1;
            return word * 32 + co_low64(bits);
        }
        return CO_CHUNK_IDS - 1;
    case CO_CHUNK_RUNS:
        for (co_u32 i = 0; i < entries; i++) {
            co_u32 start = co_read16(at + 2 * i), n = co_chunk_run_last(at, i) + 1 - start;
            if (left < n)
                return start + left;
            left -= n;
        }
        return CO_CHUNK_IDS - 1;
    default:
        return rank;
    }
}

/* ---- a set's members ----------------------------------------------------------------------------------- */

/* An id with more bits than members have is none. */
CO_INLINE int co_sets_contains(const cohort_sets_view *v, co_u64 set, co_u64 id)
{
    struct co_sets_set s = co_sets_open(v, set);
    if (!s.large) {
        co_u64 i = co_sets_list_lower(v, &s, id);
        return i < s.n && co_sets_listed(v, s.first + i) == id;
    }
    co_u64 chunk = co_sets_chunk(v, &s, id >> CO_CHUNK_BITS);
    return chunk != CO_SETS_NONE &&
           co_chunk_contains(v, co_read64(v->places + chunk), (co_u32)id & (CO_CHUNK_IDS - 1));
}

/* Members below id. */
CO_INLINE co_u64 co_sets_rank(const cohort_sets_view *v, co_u64 set, co_u64 id)
{
    struct co_sets_set s = co_sets_open(v, set);
    co_u32 present;
    if (!s.large)
        return co_sets_list_lower(v, &s, id);
    co_u64 chunk = s.first + co_sets_lower(v, &s, id >> CO_CHUNK_BITS, &present);
    co_u64 before = co_read64(v->before + chunk) - co_read64(v->before + s.first);
    if (present)
        before += co_chunk_rank(v, co_read64(v->places + chunk), (co_u32)id & (CO_CHUNK_IDS - 1));
    return before;
}

/* The member with `rank` members below it: 1 if there is one. */
CO_INLINE int co_sets_select(const cohort_sets_view *v, co_u64 set, co_u64 rank, co_u64 *id)
{
    struct co_sets_set s = co_sets_open(v, set);
    if (rank >= co_sets_size(v, &s))
        return 0;
    if (!s.large) {
        *id = co_sets_listed(v, s.first + rank);
        return 1;
    }
    co_u64 low = 0, high = s.n, due = rank + co_read64(v->before + s.first);
    while (high - low > 1) { /* the last chunk with no more members before it */
        co_u64 middle = low + (high - low) / 2;
        if (co_read64(v->before + s.first + middle) <= due)
            low = middle;
        else
            high = middle;
    }
    co_u64 chunk = s.first + low;
    co_u32 left = (co_u32)(due - co_read64(v->before + chunk));
    *id = co_sets_key(v, chunk) << CO_CHUNK_BITS | co_chunk_select(v, co_read64(v->places + chunk), left);
    return 1;
}

/* The least member that is not below id: 1 if there is one. */
CO_INLINE int co_sets_next(const cohort_sets_view *v, co_u64 set, co_u64 id, co_u64 *next)
{
    return co_sets_select(v, set, co_sets_rank(v, set, id), next);
}

/* ---- a working set ------------------------------------------------------------------------------------- */

#define CO_SET_VIEW_VERSION 1u
#define CO_SET_DIGIT_BITS   6u

/* A node of the directory, which is a tree over the chunks' keys, 6 bits a level. In a leaf bit i of the
 * two planes tells of one chunk: it has members; it has all. A chunk in between has a block and a
 * cardinality. In the nodes above, bit i of `some` says that there is a child. */
struct co_set_node {
    co_u64 some, full;
    co_u32 child[64]; /* a node; in a leaf a block */
    co_u32 card[64];  /* leaves: members of the chunk */
};

/* Valid as long as cohort_set_get_view says. A lookup while a change is under way is not defined. */
typedef struct cohort_set_view {
    co_u32 version; /* CO_SET_VIEW_VERSION */
    co_u32 wide;    /* 1: members of 64 bits */
    co_u32 levels;  /* of the directory, 1 or more */
    co_u32 flat;    /* 1: `blocks` is one bitmap of all members, absent and full chunks too */
    co_u64 limit;   /* members are below; 0: 2^64 */
    const struct co_set_node *nodes; /* number 0 is the root */
    const co_u32 *blocks;            /* CO_CHUNK_WORDS each */
} cohort_set_view;

CO_INLINE int co_set_contains(const cohort_set_view *v, co_u64 id)
{
    const struct co_set_node *node = v->nodes;
    co_u32 shift = CO_CHUNK_BITS + CO_SET_DIGIT_BITS * (v->levels - 1), digit;
    if (v->limit && id >= v->limit)
        return 0;
    for (;; shift -= CO_SET_DIGIT_BITS) {
        digit = (co_u32)(id >> shift) & 63;
        if (!(co_read64(&node->some) >> digit & 1))
            return 0;
        if (shift == CO_CHUNK_BITS)
            break;
        node = v->nodes + co_read32(&node->child[digit]);
    }
    if (co_read64(&node->full) >> digit & 1)
        return 1;
    co_u64 word =
        (co_u64)co_read32(&node->child[digit]) * CO_CHUNK_WORDS + ((co_u32)id & (CO_CHUNK_IDS - 1)) / 32;
    return (int)(co_read32(v->blocks + word) >> (id & 31) & 1);
}

#endif
