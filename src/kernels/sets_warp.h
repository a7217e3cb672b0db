/* sets_warp.h: one chunk, by a whole warp: from arrays, bitmaps and runs to members, ranges and bits. */
#ifndef COHORT_KERNELS_SETS_WARP_H
#define COHORT_KERNELS_SETS_WARP_H

#include "shape/sets_ask.h"

/* Walks [0, n), a warp for each. */
#define SETS_EACH_WARP(i, n)                                                       \
    for (co_u64 i = (co_u64)co_block() * (co_threads() / 32) + co_warp(); i < (n); \
         i += (co_u64)co_blocks() * (co_threads() / 32))

/* Walks [0, n), a lane for each. */
#define SETS_EACH_LANE(i, n)                                                  \
    for (co_u64 i = (co_u64)co_block() * co_threads() + co_thread(); i < (n); \
         i += (co_u64)co_blocks() * co_threads())

CO_INLINE co_u64 sets_warp_unite64(co_u64 v)
{
    return co_unite32((co_u32)v) | (co_u64)co_unite32((co_u32)(v >> 32)) << 32;
}

/* The lanes before this one. */
CO_INLINE co_u32 sets_lanes_before(void)
{
    return (1u << co_lane()) - 1;
}

/* ---- where members go ---------------------------------------------------------------------------------- */

/* Numbers of 16, 32 or 64 bits from place `at` on, no more than `room`; key: what lies above the lower 16
 * bits. */
struct sets_out {
    void *to;
    co_u64 at, room, key;
    co_u32 bytes;
};

CO_INLINE void sets_put(void *to, co_u64 i, co_u64 v, co_u32 bytes)
{
    if (bytes == 8)
        co_write64((co_u64 *)to + i, v);
    else if (bytes == 4)
        co_write32((co_u32 *)to + i, (co_u32)v);
    else
        co_write16((co_u16 *)to + i, (co_u16)v);
}

CO_INLINE void sets_out_put(const struct sets_out *o, co_u32 i, co_u32 low)
{
    if (i < o->room)
        sets_put(o->to, o->at + i, o->key << CO_CHUNK_BITS | low, o->bytes);
}

/* Numbers behind the entries of an array or of runs, up to a whole unit: zeros. */
CO_INLINE void sets_warp_pad(co_u16 *at, co_u32 numbers)
{
    co_u32 i = numbers + co_lane();
    if (i < ((numbers + 7) & ~7u))
        co_write16(at + i, 0);
}

/* ---- words of a bitmap --------------------------------------------------------------------------------- */

/* 2,048 words of 32 bits, of which so many are there, the last of them with a mask. */
struct sets_words {
    const co_u32 *at;
    co_u32 words, mask;
};

CO_INLINE co_u32 sets_word_of(const struct sets_words *w, co_u32 i)
{
    co_u32 v = i < w->words ? co_read32(w->at + i) : 0;
    return i + 1 == w->words ? v & w->mask : v;
}

/* Words are gone through 32 at a time: a bit of the digest each turn. */
#define SETS_EACH_TURN(j) CO_ROLLED for (co_u32 j = 0; j < CO_CHUNK_WORDS / 32; j++)

CO_INLINE co_u32 sets_warp_words_members(const struct sets_words *w, const struct sets_out *o)
{
    co_u32 n = 0;
    SETS_EACH_TURN(j)
    {
        co_u32 word = sets_word_of(w, j * 32 + co_lane()), ones = co_ones32(word);
        co_u32 at = n + (co_u32)co_warp_before(ones);
        for (co_u32 rest = word; rest; rest &= rest - 1)
            sets_out_put(o, at++, (j * 32 + co_lane()) * 32 + co_ones32((rest & (0u - rest)) - 1));
        n += (co_u32)co_warp_sum(ones);
    }
    return n;
}

/* The bits where runs begin, and those where they end, of this lane's word; `last`: the bit before the warp's
 * words, `next`: the one behind them. */
CO_INLINE co_u32 sets_warp_begins(co_u32 word, co_u32 last)
{
    co_u32 before = co_shuffle32(CO_FULL_WARP, word, co_lane() - 1) >> 31;
    return word & ~(word << 1 | (co_lane() ? before : last));
}
CO_INLINE co_u32 sets_warp_ends(co_u32 word, co_u32 next)
{
    co_u32 after = co_shuffle32(CO_FULL_WARP, word, co_lane() + 1) & 1;
    return word & ~(word >> 1 | (co_lane() < 31 ? after : next) << 31);
}

/* Members; *runs: of them; and the digest. */
CO_INLINE co_u32 sets_warp_words_measure(const struct sets_words *w, co_u32 *runs, co_u64 *digest)
{
    co_u32 card = 0, begun = 0, last = 0;
    co_u64 all = 0;
    SETS_EACH_TURN(j)
    {
        co_u32 word = sets_word_of(w, j * 32 + co_lane());
        card += co_ones32(word);
        begun += co_ones32(sets_warp_begins(word, last));
        last = co_shuffle32(CO_FULL_WARP, word, 31) >> 31;
        all |= co_any(CO_FULL_WARP, word != 0) ? 1ull << j : 0;
    }
    *runs = (co_u32)co_warp_sum(begun);
    *digest = all;
    return (co_u32)co_warp_sum(card);
}

/* Runs as pairs of a start and the last number become those of a start and a length less one. */
CO_INLINE void sets_warp_runs_end(co_u16 *to, co_u32 runs)
{
    co_warp_sync(CO_FULL_WARP);
    for (co_u32 r = co_lane(); r < runs; r += 32) {
        co_u16 *pair = to + 2 * r;
        co_write16(pair + 1, (co_u16)(co_read16(pair + 1) - co_read16(pair)));
    }
}

/* The runs of a bitmap that has so many. */
CO_INLINE void sets_warp_words_runs(const struct sets_words *w, co_u16 *to, co_u32 runs)
{
    co_u32 begun = 0, last = 0, word = sets_word_of(w, co_lane());
    SETS_EACH_TURN(j)
    {
        co_u32 following = j + 1 < CO_CHUNK_WORDS / 32 ? sets_word_of(w, (j + 1) * 32 + co_lane()) : 0;
        co_u32 next = co_shuffle32(CO_FULL_WARP, following, 0) & 1;
        co_u32 begins = sets_warp_begins(word, last), ends = sets_warp_ends(word, next);
        co_u32 own = co_ones32(begins), before = begun + (co_u32)co_warp_before(own);
        co_u32 at = (j * 32 + co_lane()) * 32, k = before;
        for (co_u32 rest = begins; rest; rest &= rest - 1)
            co_write16(to + 2 * k++, (co_u16)(at + co_ones32((rest & (0u - rest)) - 1)));
        for (co_u32 rest = ends; rest; rest &= rest - 1) {
            co_u32 bit = rest & (0u - rest);
            k = before + co_ones32(begins & (bit | (bit - 1))) - 1;
            co_write16(to + 2 * k + 1, (co_u16)(at + co_ones32(bit - 1)));
        }
        begun += (co_u32)co_warp_sum(own);
        last = co_shuffle32(CO_FULL_WARP, word, 31) >> 31;
        word = following;
    }
    sets_warp_runs_end(to, runs);
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* Firsts and lasts of ranges, from place `at` on, no more than up to `room`. Either may be NULL. */
struct sets_ranges_out {
    void *firsts, *lasts, *groups;
    co_u64 at, room, key, group;
    co_u32 bytes, group_bytes;
};

CO_INLINE void sets_range_first(const struct sets_ranges_out *o, co_u64 k, co_u32 low)
{
    if (!o->firsts && !o->groups)
        return;
    if (o->at + k >= o->room)
        return;
    if (o->firsts)
        sets_put(o->firsts, o->at + k, o->key << CO_CHUNK_BITS | low, o->bytes);
    if (o->groups)
        sets_put(o->groups, o->at + k, o->group, o->group_bytes);
}

/* k may be ~0: the last range that began before. */
CO_INLINE void sets_range_last(const struct sets_ranges_out *o, co_u64 k, co_u32 low)
{
    if (o->lasts && o->at + k < o->room)
        sets_put(o->lasts, o->at + k, o->key << CO_CHUNK_BITS | low, o->bytes);
}

/* Ranges of a bitmap: how many begin; `from`, `on`: the chunk before and the next go on with this one's. */
CO_INLINE co_u32 sets_warp_words_ranges(const struct sets_words *w, int from, int on,
                                        const struct sets_ranges_out *o)
{
    co_u32 begun = 0, last = from ? 1 : 0;
    co_u32 word = sets_word_of(w, co_lane());
    SETS_EACH_TURN(j)
    {
        co_u32 following = j + 1 < CO_CHUNK_WORDS / 32 ? sets_word_of(w, (j + 1) * 32 + co_lane())
                           : on                        ? 1
                                                       : 0;
        co_u32 next = co_shuffle32(CO_FULL_WARP, following, 0) & 1;
        co_u32 begins = sets_warp_begins(word, last), ends = sets_warp_ends(word, next);
        co_u32 own = co_ones32(begins), before = begun + (co_u32)co_warp_before(own),
               at = (j * 32 + co_lane()) * 32;
        for (co_u32 rest = begins, k = before; rest; rest &= rest - 1, k++)
            sets_range_first(o, k, at + co_ones32((rest & (0u - rest)) - 1));
        for (co_u32 rest = ends; rest; rest &= rest - 1) {
            co_u32 bit = rest & (0u - rest), to = co_ones32(begins & (bit | (bit - 1)));
            sets_range_last(o, (co_u64)before + to - 1, at + co_ones32(bit - 1));
        }
        begun += (co_u32)co_warp_sum(own);
        last = co_shuffle32(CO_FULL_WARP, word, 31) >> 31;
        word = following;
    }
    return begun;
}

/* ---- chunks -------------------------------------------------------------------------------------------- */

struct sets_warp_chunk {
    const co_u16 *at;
    co_u32 kind, entries;
};

CO_INLINE struct sets_warp_chunk sets_warp_chunk_of(const void *pool, co_u64 place)
{
    struct sets_warp_chunk c;
    c.at = (const co_u16 *)((const char *)pool + co_place_unit(place) * CO_PLACE_UNIT_BYTES);
    c.kind = co_place_kind(place);
    c.entries = co_place_entries(place);
    return c;
}

CO_INLINE struct sets_words sets_warp_chunk_words(const struct sets_warp_chunk *c)
{
    struct sets_words w;
    w.at = (const co_u32 *)(const void *)c->at;
    w.words = CO_CHUNK_WORDS;
    w.mask = ~0u;
    return w;
}

/* The members of runs: 32 runs at a time, and of these 32 members at a time, each lane finding whose its own
 * is. */
CO_INLINE co_u32 sets_warp_runs_members(const struct sets_warp_chunk *c, const struct sets_out *o)
{
    co_u32 n = 0;
    for (co_u32 base = 0; base < c->entries; base += 32) {
        co_u32 r = base + co_lane(), start = 0, length = 0;
        if (r < c->entries) {
            start = co_read16(c->at + 2 * r);
            length = co_chunk_run_last(c->at, r) + 1 - start;
        }
        co_u32 before = (co_u32)co_warp_before(length), all = (co_u32)co_warp_sum(length);
        for (co_u32 first = 0; first < all; first += 32) {
            co_u32 i = first + co_lane(), run = 0;
            for (co_u32 half = 16; half; half >>= 1)
                run += co_shuffle32(CO_FULL_WARP, before, run + half) <= i ? half : 0;
            co_u32 own = co_shuffle32(CO_FULL_WARP, start, run),
                   from = co_shuffle32(CO_FULL_WARP, before, run);
            if (i < all)
                sets_out_put(o, n + i, own + (i - from));
        }
        n += all;
    }
    return n;
}

/* All members; their number. */
CO_INLINE co_u32 sets_warp_members(const struct sets_warp_chunk *c, const struct sets_out *o)
{
    if (c->kind == CO_CHUNK_BITMAP) {
        struct sets_words w = sets_warp_chunk_words(c);
        return sets_warp_words_members(&w, o);
    }
    if (c->kind == CO_CHUNK_RUNS)
        return sets_warp_runs_members(c, o);
    co_u32 n = c->kind == CO_CHUNK_FULL ? CO_CHUNK_IDS : c->entries;
    for (co_u32 i = co_lane(); i < n; i += 32)
        sets_out_put(o, i, c->kind == CO_CHUNK_FULL ? i : co_read16(c->at + i));
    return n;
}

#endif
