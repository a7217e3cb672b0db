/* set.cu: working sets (shape/set.h): a warp a chunk. Blocks are read and written as words of 32 bits; no two
 * warps of a launch have the same one. */
#include "sets_operand.h"
#include "shape/bits.h"
#include "shape/set.h"

/* ---- changes ------------------------------------------------------------------------------------------- */

CO_INLINE struct sets_op set_piece_op(const struct set_piece *p)
{
    struct sets_op o = {(const void *)co_read64((const co_u64 *)(const void *)&p->at), co_read32(&p->kind),
                        co_read32(&p->entries), 0};
    return o;
}

/* An array's members one by one: how many came in, less those that went, in 32 bits. */
CO_INLINE co_u32 set_change_each(co_u32 *bits, co_u32 kind, const struct sets_op *o)
{
    co_u32 more = 0;
    for (co_u32 i = co_lane(); i < o->entries; i += 32) {
        co_u32 v = sets_op_entry(o, i), bit = 1u << v % 32;
        if (kind == SET_ADD)
            more += co_or32(bits + v / 32, bit) & bit ? 0 : 1;
        else if (kind == SET_REMOVE)
            more -= co_and32(bits + v / 32, ~bit) & bit ? 1 : 0;
        else
            more += co_xor32(bits + v / 32, bit) & bit ? 0u - 1 : 1;
    }
    return (co_u32)co_warp_sum(more);
}

/* A whole bitmap: both are gone through once. The members afterwards. */
CO_INLINE co_u32 set_change_bitmap(co_u32 *bits, co_u32 op, co_u32 fill, const struct sets_op *o)
{
    const co_u32 *with = (const co_u32 *)o->at;
    co_u32 card = 0;
    SETS_EACH_TURN(j)
    {
        co_u32 w = j * 32 + co_lane(), old = fill == SET_ONES ? ~0u : 0;
        if (fill == SET_AS_IS)
            old = co_load32(bits + w);
        old = sets_bits_word(op, old, co_read32(with + w));
        co_store32(bits + w, old);
        card += co_ones32(old);
    }
    return (co_u32)co_warp_sum(card);
}

CO_INLINE void set_change_piece(const struct set_work *s, struct set_piece *p, co_u32 block)
{
    struct sets_op o = set_piece_op(p);
    co_u32 *bits = s->blocks + (co_u64)block * CO_CHUNK_WORDS, fill = co_read32(&p->fill), after;
    co_u32 op = s->kind == SET_ADD ? SETS_OR : s->kind == SET_REMOVE ? SETS_ANDNOT : SETS_XOR;
    co_u64 digest;
    if (fill != SET_AS_IS && o.kind != CO_CHUNK_BITMAP)
        sets_bits_fill(bits, fill == SET_ONES ? ~0u : 0);
    if (sets_op_is_array(&o)) {
        after = co_read32(&p->before) + set_change_each(bits, s->kind, &o);
    } else if (o.kind == CO_CHUNK_BITMAP) {
        after = set_change_bitmap(bits, op, fill, &o);
    } else {
        sets_bits_apply(bits, op, &o);
        after = sets_bits_card(bits, &digest);
    }
    if (co_lane() == 0)
        co_write32(&p->after, after);
}

CO_KERNEL(set_work, struct set_work)
{
    SETS_EACH_WARP(i, args->items)
    {
        co_u32 block = co_read32(&args->piece[i].block);
        if (block != SET_NONE)
            set_change_piece(args, args->piece + i, block);
    }
}

/* ---- into a collection --------------------------------------------------------------------------------- */

CO_INLINE struct sets_words set_words_of(const struct set_chunks *s, co_u64 c)
{
    struct sets_words w = {(const co_u32 *)co_read64(s->words + c), CO_CHUNK_WORDS, ~0u};
    return w;
}

CO_KERNEL(set_measure, struct set_chunks)
{
    SETS_EACH_WARP(c, args->items)
    {
        struct sets_words w = set_words_of(args, c);
        co_u32 card = CO_CHUNK_IDS, runs = 1;
        co_u64 digest = ~0ull;
        if (w.at)
            card = sets_warp_words_measure(&w, &runs, &digest);
        if (co_lane() == 0) {
            co_write64(args->cards + c, card);
            co_write64(args->places + c, sets_place(card, runs));
            co_write64(args->digests + c, digest);
        }
    }
}

CO_KERNEL(set_write, struct set_chunks)
{
    SETS_EACH_WARP(c, args->items)
    {
        co_u64 place = co_read64(args->places + c);
        co_u32 kind = co_place_kind(place), entries = co_place_entries(place);
        struct sets_words w = set_words_of(args, c);
        struct sets_out o = {(char *)args->pool + co_place_unit(place) * CO_PLACE_UNIT_BYTES, 0, entries, 0,
                             2};
        if (kind == CO_CHUNK_FULL)
            continue;
        if (kind == CO_CHUNK_BITMAP) {
            SETS_EACH_TURN(j)
            co_write32((co_u32 *)o.to + j * 32 + co_lane(), sets_word_of(&w, j * 32 + co_lane()));
            continue;
        }
        if (kind == CO_CHUNK_ARRAY)
            sets_warp_words_members(&w, &o);
        else
            sets_warp_words_runs(&w, (co_u16 *)o.to, entries);
        sets_warp_pad((co_u16 *)o.to, kind == CO_CHUNK_ARRAY ? entries : 2 * entries);
    }
}

/* ---- lookups ------------------------------------------------------------------------------------------- */

CO_KERNEL(set_look, struct set_look)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        int hit =
            i < args->n && co_set_contains(&args->view, sets_number(args->values, i, (int)args->view.wide));
        co_u32 word = co_ballot(CO_FULL_WARP, hit);
        if (co_lane() == 0)
            bits_put_word(args->hit, base, args->n, word);
    }
}
