/* shape/sets_chunk.h: one chunk in the host's memory: between bitmaps, arrays and runs. Plain C for the host,
 * seen by the API and the CPU backend. */
#ifndef COHORT_SHAPE_SETS_CHUNK_H
#define COHORT_SHAPE_SETS_CHUNK_H

#include "sets.h"

enum {
    SETS_CHUNK_LIST32 = 4,
    SETS_CHUNK_LIST64 = 5
}; /* kinds: an array that is part of a list, of whole members */

/* A chunk, or what of a list lies in one. */
struct sets_chunk {
    const void *at; /* 16-bit numbers, or words of a bitmap; runs: pairs of numbers */
    co_u32 kind, entries, card;
    co_u64 digest;
};

/* A bitmap of a chunk that is worked on: 64-bit words. */
#define SETS_CHUNK_WORDS 1024u

/* Chunk `at` of the directory. */
CO_INLINE struct sets_chunk sets_chunk_of(const cohort_sets_view *v, co_u64 at)
{
    struct sets_chunk c;
    co_u64 place = v->places[at];
    c.at = co_place_at(v, place);
    c.kind = co_place_kind(place);
    c.entries = co_place_entries(place);
    c.card = v->cards[at] + 1u;
    c.digest = v->digests[at];
    return c;
}

/* A bitmap's members, runs, and digest. */
struct sets_measure {
    co_u32 card, runs;
    co_u64 digest;
};

/* Entry i of an array or part of a list. */
CO_INLINE co_u16 sets_chunk_entry(const struct sets_chunk *c, co_u32 i)
{
    return c->kind == CO_CHUNK_ARRAY      ? ((const co_u16 *)c->at)[i]
           : c->kind == SETS_CHUNK_LIST32 ? (co_u16)((const co_u32 *)c->at)[i]
                                          : (co_u16)((const co_u64 *)c->at)[i];
}

/* An array, or part of a list: every entry is a member. */
CO_INLINE int sets_chunk_is_array(const struct sets_chunk *c)
{
    return c->kind == CO_CHUNK_ARRAY || c->kind >= SETS_CHUNK_LIST32;
}

/* What a bitmap holds. */
CO_INLINE struct sets_measure sets_bitmap_measure(const co_u64 *words)
{
    struct sets_measure m = {0, 0, 0};
    co_u64 carry = 0; /* the bit before this word */
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++) {
        co_u64 w = words[i];
        m.card += (co_u32)__builtin_popcountll(w);
        m.runs += (co_u32)__builtin_popcountll(w & ~(w << 1 | carry));
        m.digest |= (co_u64)(w != 0) << i / 16;
        carry = w >> 63;
    }
    return m;
}

/* Writes a bitmap's members as an array; their number. No more than `room`. */
CO_INLINE co_u32 sets_bitmap_array(const co_u64 *words, co_u16 *to, co_u32 room)
{
    co_u32 n = 0;
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++)
        for (co_u64 w = words[i]; w && n < room; w &= w - 1)
            to[n++] = (co_u16)(i * 64 + (co_u32)__builtin_ctzll(w));
    return n;
}

/* The first number from `from` on whose bit is `bit`; 65,536 if there is none. */
CO_INLINE co_u32 sets_find_bit(const co_u64 *words, co_u32 from, int bit)
{
    co_u64 turn = bit ? 0 : ~0ull;
    for (co_u32 i = from / 64; i < SETS_CHUNK_WORDS; i++) {
        co_u64 w = words[i] ^ turn;
        if (i == from / 64)
            w &= ~0ull << from % 64;
        if (w)
            return i * 64 + (co_u32)__builtin_ctzll(w);
    }
    return CO_CHUNK_IDS;
}

/* Writes a bitmap's runs; their number. No more than `room`. */
CO_INLINE co_u32 sets_bitmap_runs(const co_u64 *words, co_u16 *to, co_u32 room)
{
    co_u32 n = 0;
    for (co_u32 end = 0; n < room; n++) {
        co_u32 first = end < CO_CHUNK_IDS ? sets_find_bit(words, end, 1) : CO_CHUNK_IDS;
        if (first == CO_CHUNK_IDS)
            break;
        end = sets_find_bit(words, first, 0);
        to[2 * n] = (co_u16)first;
        to[2 * n + 1] = (co_u16)(end - 1 - first);
    }
    return n;
}

/* Sets bits from the first to the last, both below 65,536. */
CO_INLINE void sets_bitmap_set(co_u64 *words, co_u32 first, co_u32 last)
{
    co_u64 low = ~0ull << first % 64, high = ~0ull >> (63 - last % 64);
    if (first / 64 == last / 64) {
        words[first / 64] |= low & high;
        return;
    }
    words[first / 64] |= low;
    for (co_u32 i = first / 64 + 1; i < last / 64; i++)
        words[i] = ~0ull;
    words[last / 64] |= high;
}

/* The chunk as a bitmap. */
CO_INLINE void sets_chunk_bitmap(const struct sets_chunk *c, co_u64 *words)
{
    const co_u16 *at = c->at;
    if (c->kind == CO_CHUNK_BITMAP) {
        __builtin_memcpy(words, at, CO_CHUNK_BYTES);
        return;
    }
    __builtin_memset(words, c->kind == CO_CHUNK_FULL ? 0xff : 0, CO_CHUNK_BYTES);
    for (co_u32 i = 0; sets_chunk_is_array(c) && i < c->entries; i++) {
        co_u16 v = sets_chunk_entry(c, i);
        words[v / 64] |= 1ull << v % 64;
    }
    for (co_u32 i = 0; c->kind == CO_CHUNK_RUNS && i < c->entries; i++)
        sets_bitmap_set(words, at[2 * i], co_chunk_run_last(at, i));
}

/* Its members, ascending, as an array with room for 65,536; their number. */
CO_INLINE co_u32 sets_chunk_members(const struct sets_chunk *c, co_u16 *to)
{
    const co_u16 *at = c->at;
    co_u32 n = 0;
    switch (c->kind) {
    case CO_CHUNK_ARRAY:
        __builtin_memcpy(to, at, c->entries * sizeof *to);
        return c->entries;
    case CO_CHUNK_BITMAP:
        return sets_bitmap_array(c->at, to, CO_CHUNK_IDS);
    case CO_CHUNK_RUNS:
        for (co_u32 i = 0; i < c->entries; i++)
            for (co_u32 v = at[2 * i], last = co_chunk_run_last(at, i); v <= last && n < CO_CHUNK_IDS; v++)
                to[n++] = (co_u16)v;
        return n;
    case CO_CHUNK_FULL:
        for (; n < CO_CHUNK_IDS; n++)
            to[n] = (co_u16)n;
        return n;
    default:
        for (; n < c->entries; n++)
            to[n] = sets_chunk_entry(c, n);
        return n;
    }
}

CO_INLINE int sets_chunk_contains(const struct sets_chunk *c, co_u32 v)
{
    co_u32 low = 0, high = c->entries;
    switch (c->kind) {
    case CO_CHUNK_BITMAP:
        return (int)(((const co_u64 *)c->at)[v / 64] >> v % 64 & 1);
    case CO_CHUNK_RUNS:
        low = co_chunk_runs_to(c->at, c->entries, v);
        return low && co_chunk_run_last(c->at, low - 1) >= v;
    case CO_CHUNK_FULL:
        return 1;
    default:
        while (low < high) {
            co_u32 middle = (low + high) / 2;
            if (sets_chunk_entry(c, middle) < v)
                low = middle + 1;
            else
                high = middle;
        }
        return low < c->entries && sets_chunk_entry(c, low) == v;
    }
}

/* Numbers behind an array or runs, up to a whole unit. */
CO_INLINE void sets_pad(co_u16 *at, co_u32 numbers)
{
    for (; numbers % 8; numbers++)
        at[numbers] = at[numbers - 1];
}

/* The digest of numbers from the first to the last. */
CO_INLINE co_u64 sets_digest_between(co_u32 first, co_u32 last)
{
    return (2ull << (last >> 10)) - (1ull << (first >> 10));
}

/* The digest of eight members that ascend: if the first and the last are in the same 1,024 or in two side by
 * side, so are all between, and two bits tell of the eight. */
CO_INLINE co_u64 sets_eight_digest(const co_u16 *at)
{
    co_u32 first = at[0] >> 10, last = at[7] >> 10;
    co_u64 digest = 1ull << first | 1ull << last;
    for (co_u32 k = 1; last > first + 1 && k < 7; k++)
        digest |= 1ull << (at[k] >> 10);
    return digest;
}

/* The digest of an array: likewise of 32 at a time, where members lie close together. */
CO_INLINE co_u64 sets_array_digest(const co_u16 *at, co_u32 n)
{
    co_u64 digest = 0;
    co_u32 i = 0;
    for (; i + 32 <= n; i += 32) {
        co_u32 first = at[i] >> 10, last = at[i + 31] >> 10;
        digest |= 1ull << first | 1ull << last;
        for (co_u32 k = 0; last > first + 1 && k < 32; k += 8)
            digest |= sets_eight_digest(at + i + k);
    }
    for (; i + 8 <= n; i += 8)
        digest |= sets_eight_digest(at + i);
    for (; i < n; i++)
        digest |= 1ull << (at[i] >> 10);
    return digest;
}

/* The digest of runs: few go beyond two 1,024s side by side. */
CO_INLINE co_u64 sets_runs_digest(const co_u16 *at, co_u32 n)
{
    co_u64 digest = 0;
    for (co_u32 i = 0; i < n; i++) {
        co_u32 first = at[2 * i], last = co_chunk_run_last(at, i);
        digest |= 1ull << (first >> 10) | 1ull << (last >> 10);
        if ((last >> 10) > (first >> 10) + 1)
            digest |= sets_digest_between(first, last);
    }
    return digest;
}

CO_INLINE co_u64 sets_bitmap_digest(const co_u64 *words)
{
    co_u64 digest = 0;
    for (co_u32 i = 0; i < 64; i++) {
        co_u64 some = 0;
        for (co_u32 k = 0; k < 16; k++)
            some |= words[16 * i + k];
        digest |= (co_u64)(some != 0) << i;
    }
    return digest;
}

CO_INLINE co_u64 sets_chunk_digest(const struct sets_chunk *c)
{
    const co_u16 *at = (const co_u16 *)c->at;
    co_u64 digest = 0;
    if (c->kind == CO_CHUNK_FULL)
        return ~0ull;
    if (c->kind == CO_CHUNK_ARRAY)
        return sets_array_digest(at, c->entries);
    if (c->kind == CO_CHUNK_BITMAP)
        return sets_bitmap_digest((const co_u64 *)c->at);
    if (c->kind == CO_CHUNK_RUNS)
        return sets_runs_digest(at, c->entries);
    for (co_u32 i = 0; i < c->entries; i++)
        digest |= 1ull << (sets_chunk_entry(c, i) >> 10);
    return digest;
}

/* How many runs of members the chunk has. */
CO_INLINE co_u32 sets_chunk_count_runs(const struct sets_chunk *c)
{
    co_u32 runs = 1;
    if (c->kind == CO_CHUNK_BITMAP)
        return sets_bitmap_measure((const co_u64 *)c->at).runs;
    if (c->kind == CO_CHUNK_RUNS)
        return c->entries;
    for (co_u32 i = 1; c->kind != CO_CHUNK_FULL && i < c->entries; i++)
        runs += sets_chunk_entry(c, i) != sets_chunk_entry(c, i - 1) + 1;
    return runs;
}

#endif
