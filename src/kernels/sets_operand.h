/* sets_operand.h: an operand's chunk of one key, and what a warp does with it: asking for a number,
 * putting it into a bitmap in shared memory, and two bitmaps into a third.
 *
 * In a launch the pool's arrays and runs are read as numbers of 16 bits, its bitmaps 16 bytes at a time. */
#ifndef COHORT_KERNELS_SETS_OPERAND_H
#define COHORT_KERNELS_SETS_OPERAND_H

#include "sets_warp.h"

enum { SETS_OP_LIST32 = 4, SETS_OP_LIST64 = 5, SETS_OP_NONE = 7 };

struct sets_op {
    const void *at;
    co_u32 kind, entries, card;
};

CO_INLINE int sets_op_is_array(const struct sets_op *o)
{
    return o->kind == CO_CHUNK_ARRAY || o->kind == SETS_OP_LIST32 || o->kind == SETS_OP_LIST64;
}

/* The chunk of set `number` with this key, by one lane. */
CO_INLINE struct sets_op sets_op_find(const struct sets_query *q, co_u64 number, co_u64 key)
{
    struct sets_op o = {0, SETS_OP_NONE, 0, 0};
    co_u32 c = 0;
    while (c + 1 < q->collections && number >= q->first[c + 1])
        c++;
    const cohort_sets_view *v = &q->view[c];
    struct co_sets_set s = co_sets_open(v, number - q->first[c]);
    if (!s.large) {
        co_u64 from = co_sets_list_lower(v, &s, key << CO_CHUNK_BITS);
        co_u64 to = co_sets_list_lower(v, &s, (key << CO_CHUNK_BITS) + (CO_CHUNK_IDS - 1));
        if (to < s.n && co_sets_listed(v, s.first + to) == (key << CO_CHUNK_BITS) + (CO_CHUNK_IDS - 1))
            to++;
        if (from == to)
            return o;
        o.at = (const char *)v->lists + (s.first + from) * (v->wide ? 8 : 4);
        o.kind = v->wide ? SETS_OP_LIST64 : SETS_OP_LIST32;
        o.entries = o.card = (co_u32)(to - from);
        return o;
    }
    co_u64 chunk = co_sets_chunk(v, &s, key);
    if (chunk == CO_SETS_NONE)
        return o;
    co_u64 place = co_read64(v->places + chunk);
    o.at = co_place_at(v, place);
    o.kind = co_place_kind(place);
    o.entries = co_place_entries(place);
    o.card = (co_u32)co_read16(v->cards + chunk) + 1;
    return o;
}

/* The operand of another lane, for all. */
CO_INLINE struct sets_op sets_op_from(const struct sets_op *mine, co_u32 lane)
{
    struct sets_op o;
    o.at = (const void *)co_shuffle64(CO_FULL_WARP, (co_u64)mine->at, lane);
    o.kind = co_shuffle32(CO_FULL_WARP, mine->kind, lane);
    o.entries = co_shuffle32(CO_FULL_WARP, mine->entries, lane);
    o.card = co_shuffle32(CO_FULL_WARP, mine->card, lane);
    return o;
}

/* Entry i of an array or part of a list: its lower 16 bits. */
CO_INLINE co_u32 sets_op_entry(const struct sets_op *o, co_u32 i)
{
    return o->kind == CO_CHUNK_ARRAY   ? co_read16((const co_u16 *)o->at + i)
           : o->kind == SETS_OP_LIST32 ? co_read32((const co_u32 *)o->at + i) & (CO_CHUNK_IDS - 1)
                                       : (co_u32)co_read64((const co_u64 *)o->at + i) & (CO_CHUNK_IDS - 1);
}

/* How many entries of an array or part of a list are below. */
CO_INLINE co_u32 sets_op_lower(const struct sets_op *o, co_u32 low16)
{
    co_u32 low = 0, high = o->entries;
    if (o->kind == CO_CHUNK_ARRAY)
        return co_chunk_array_lower((const co_u16 *)o->at, o->entries, low16);
    while (low < high) {
        co_u32 middle = (low + high) / 2;
        if (sets_op_entry(o, middle) < low16)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Bits 64 * i to 64 * i + 63 of a bitmap. */
CO_INLINE co_u64 sets_op_bits(const struct sets_op *o, co_u32 i)
{
    co_u128 v = co_read128((const co_u128 *)o->at + i / 2);
    return i % 2 ? v.hi : v.lo;
}

CO_INLINE int sets_op_contains(const struct sets_op *o, co_u32 low16)
{
    co_u32 i;
    switch (o->kind) {
    case CO_CHUNK_BITMAP:
        return (int)(sets_op_bits(o, low16 / 64) >> low16 % 64 & 1);
    case CO_CHUNK_RUNS:
        i = co_chunk_runs_to((const co_u16 *)o->at, o->entries, low16);
        return i && co_chunk_run_last((const co_u16 *)o->at, i - 1) >= low16;
    case CO_CHUNK_FULL:
        return 1;
    case SETS_OP_NONE:
        return 0;
    default:
        i = sets_op_lower(o, low16);
        return i < o->entries && sets_op_entry(o, i) == low16;
    }
}

/* ---- into a bitmap: 2,048 words, by a warp that meets before and after and has them to itself ---- */

CO_INLINE void sets_bits_change(co_u32 *bits, co_u32 word, co_u32 op, co_u32 mask)
{
    if (op == SETS_OR)
        co_or32(bits + word, mask);
    else if (op == SETS_XOR)
        co_xor32(bits + word, mask);
    else
        co_and32(bits + word, ~mask);
}

/* Numbers from the first to the last, by one lane; nothing where the first is above. */
CO_INLINE void sets_bits_range(co_u32 *bits, co_u32 op, co_u32 first, co_u32 last)
{
    for (co_u32 w = first / 32; first <= last && w <= last / 32; w++) {
        co_u32 mask = w == first / 32 ? ~0u << first % 32 : ~0u;
        mask &= w == last / 32 ? ~0u >> (31 - last % 32) : ~0u;
        sets_bits_change(bits, w, op, mask);
    }
}

CO_INLINE void sets_bits_fill(co_u32 *bits, co_u32 v)
{
    for (co_u32 w = co_lane(); w < CO_CHUNK_WORDS; w += 32)
        co_store32(bits + w, v);
    co_warp_sync(CO_FULL_WARP);
}

CO_INLINE co_u32 sets_bits_word(co_u32 op, co_u32 old, co_u32 v)
{
    return op == SETS_AND ? old & v : op == SETS_OR ? old | v : op == SETS_ANDNOT ? old & ~v : old ^ v;
}

CO_INLINE void sets_bits_bitmap(co_u32 *bits, co_u32 op, const struct sets_op *o)
{
    for (co_u32 u = co_lane(); u < CO_CHUNK_WORDS / 4; u += 32) {
        co_u128 v = co_read128((const co_u128 *)o->at + u);
        co_u32 *to = bits + 4 * u;
        co_store32(to, sets_bits_word(op, co_load32(to), (co_u32)v.lo));
        co_store32(to + 1, sets_bits_word(op, co_load32(to + 1), (co_u32)(v.lo >> 32)));
        co_store32(to + 2, sets_bits_word(op, co_load32(to + 2), (co_u32)v.hi));
        co_store32(to + 3, sets_bits_word(op, co_load32(to + 3), (co_u32)(v.hi >> 32)));
    }
}

/* bits = bits op the operand. Of AND the operand is no array. */
CO_INLINE void sets_bits_apply(co_u32 *bits, co_u32 op, const struct sets_op *o)
{
    const co_u16 *at = (const co_u16 *)o->at;
    if (o->kind == CO_CHUNK_BITMAP) {
        sets_bits_bitmap(bits, op, o);
    } else if (o->kind == CO_CHUNK_RUNS && op == SETS_AND) { /* what lies between runs goes */
        for (co_u32 r = co_lane(); r <= o->entries; r += 32) {
            co_u32 first = r ? co_chunk_run_last(at, r - 1) + 1 : 0;
            co_u32 end = r < o->entries ? co_read16(at + 2 * r) : CO_CHUNK_IDS;
            if (first < end)
                sets_bits_range(bits, SETS_ANDNOT, first, end - 1);
        }
    } else if (o->kind == CO_CHUNK_RUNS) {
        for (co_u32 r = co_lane(); r < o->entries; r += 32)
            sets_bits_range(bits, op, co_read16(at + 2 * r), co_chunk_run_last(at, r));
    } else if (o->kind == CO_CHUNK_FULL) {
        for (co_u32 w = co_lane(); w < CO_CHUNK_WORDS; w += 32)
            co_store32(bits + w, sets_bits_word(op, co_load32(bits + w), ~0u));
    } else if (o->kind != SETS_OP_NONE) {
        for (co_u32 i = co_lane(); i < o->entries; i += 32) {
            co_u32 v = sets_op_entry(o, i);
            sets_bits_change(bits, v / 32, op, 1u << v % 32);
        }
    }
    co_warp_sync(CO_FULL_WARP);
}

CO_INLINE co_u32 sets_bits_card(const co_u32 *bits, co_u64 *digest)
{
    co_u32 card = 0;
    co_u64 all = 0;
    SETS_EACH_TURN(j)
    {
        co_u32 word = co_load32(bits + j * 32 + co_lane());
        card += co_ones32(word);
        all |= co_any(CO_FULL_WARP, word != 0) ? 1ull << j : 0;
    }
    *digest = all;
    return (co_u32)co_warp_sum(card);
}

/* ---- two bitmaps into a third -------------------------------------------------------------------------- */

CO_INLINE co_u64 sets_bits_word64(co_u32 op, co_u64 old, co_u64 v)
{
    return op == SETS_AND ? old & v : op == SETS_OR ? old | v : op == SETS_ANDNOT ? old & ~v : old ^ v;
}

/* Two bitmaps, put together: how many bits that gives. They are read straight from memory, and go to `to`
 * unless it is NULL; lane l has words l, l + 32, ... */
CO_INLINE co_u32 sets_two_bitmaps(co_u32 op, const struct sets_op *a, const struct sets_op *b, co_u128 *to)
{
    const co_u128 *x = (const co_u128 *)a->at, *y = (const co_u128 *)b->at;
    co_u32 card = 0;
    for (co_u32 base = 0; base < CO_CHUNK_WORDS / 4; base += 128) {
        co_u128 v[4], w[4];
        CO_EACH_ITEM (j, 4) {
            v[j] = co_read128(x + base + j * 32 + co_lane());
            w[j] = co_read128(y + base + j * 32 + co_lane());
        }
        CO_EACH_ITEM (j, 4) {
            v[j].lo = sets_bits_word64(op, v[j].lo, w[j].lo);
            v[j].hi = sets_bits_word64(op, v[j].hi, w[j].hi);
            card += co_ones64(v[j].lo) + co_ones64(v[j].hi);
            if (to)
                co_write128(to + base + j * 32 + co_lane(), v[j]);
        }
    }
    return (co_u32)co_warp_sum(card);
}

#endif
