/* set.cu: working sets (shape/set.h). A lane goes through the directory for a piece (shape/set_pool.h); a
 * warp works on its block. Blocks that are changed are read and written as words of 32 bits; no two warps of
 * a launch have the same one. */
#include "sets_operand.h"
#include "shape/bits.h"
#include "shape/set_pool.h"

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

/* What an array has not goes out: its members are put down in shared memory first. */
CO_INLINE co_u32 set_keep_array(co_u32 *bits, co_u32 fill, co_u32 *shared, const struct sets_op *o)
{
    co_u32 card = 0;
    co_warp_sync(CO_FULL_WARP);
    sets_bits_fill(shared, 0);
    sets_bits_apply(shared, SETS_OR, o);
    SETS_EACH_TURN(j)
    {
        co_u32 w = j * 32 + co_lane(), old = fill == SET_ONES ? ~0u : co_load32(bits + w);
        old &= co_load32(shared + w);
        co_store32(bits + w, old);
        card += co_ones32(old);
    }
    return (co_u32)co_warp_sum(card);
}

/* No members are left. The block of a flat set stays where it is, others go back. */
CO_INLINE void set_keep_nothing(const struct set_work *s, co_u32 *bits)
{
    if (s->flat)
        sets_bits_fill(bits, 0);
}

CO_INLINE co_u32 set_sets_op(co_u32 kind)
{
    return kind == SET_ADD      ? SETS_OR
           : kind == SET_REMOVE ? SETS_ANDNOT
           : kind == SET_FLIP   ? SETS_XOR
                                : SETS_AND;
}

/* The members afterwards. */
CO_INLINE co_u32 set_change_block(const struct set_work *s, const struct set_piece *p, co_u32 *bits,
                                  co_u32 *shared)
{
    struct sets_op o = set_piece_op(p);
    co_u32 fill = co_read32(&p->fill), op = set_sets_op(s->kind);
    co_u64 digest;
    if (o.kind == SET_CHUNK_NOTHING) {
        set_keep_nothing(s, bits);
        return 0;
    }
    if (o.kind == CO_CHUNK_BITMAP)
        return set_change_bitmap(bits, op, fill, &o);
    if (s->kind == SET_KEEP && sets_op_is_array(&o))
        return set_keep_array(bits, fill, shared, &o);
    if (fill != SET_AS_IS)
        sets_bits_fill(bits, fill == SET_ONES ? ~0u : 0);
    if (sets_op_is_array(&o))
        return co_read32(&p->before) + set_change_each(bits, s->kind, &o);
    sets_bits_apply(bits, op, &o);
    return sets_bits_card(bits, &digest);
}

/* shared: a bitmap, of KEEP. */
CO_INLINE void set_change_pieces(const struct set_work *s, co_u32 *shared)
{
    if (set_refused(s))
        return;
    SETS_EACH_WARP(i, set_pieces(s))
    {
        struct set_piece *p = s->piece + i;
        co_u32 block = co_read32(&p->block);
        if (block == SET_NONE)
            continue;
        co_u32 after = set_change_block(s, p, s->blocks + (co_u64)block * CO_CHUNK_WORDS, shared);
        if (co_lane() == 0)
            co_write32(&p->after, after);
    }
}

CO_KERNEL(set_work, struct set_work)
{
    set_change_pieces(args, 0);
}

CO_KERNEL(set_keep, struct set_work)
{
    CO_SHARED_DYNAMIC(co_u32, room);
    set_change_pieces(args, room + (co_u64)co_warp() * CO_CHUNK_WORDS);
}

/* ---- two into a third ---------------------------------------------------------------------------------- */

/* A bitmap, or where turned is ~0 all that it has not, to another place: how many bits that gives. */
CO_INLINE co_u32 set_put_bitmap(const co_u128 *from, co_u64 turned, co_u128 *to)
{
    co_u32 card = 0;
    for (co_u32 base = 0; base < CO_CHUNK_WORDS / 4; base += 128) {
        co_u128 v[4];
        CO_EACH_ITEM (j, 4)
            v[j] = co_read128(from + base + j * 32 + co_lane());
        CO_EACH_ITEM (j, 4) {
            v[j] = co_make128(v[j].lo ^ turned, v[j].hi ^ turned);
            card += co_ones64(v[j].lo) + co_ones64(v[j].hi);
            co_write128(to + base + j * 32 + co_lane(), v[j]);
        }
    }
    return (co_u32)co_warp_sum(card);
}

/* The block of a piece becomes its chunk, or what comes of that and the second one, whatever was in it: the
 * members afterwards. Full is the chunk of a flat set alone, and the second one where the first is turned. */
CO_INLINE co_u32 set_meet_block(const struct set_piece *p, const struct set_second *next, co_u32 *bits)
{
    struct sets_op first = set_piece_op(p),
                   second = {(const void *)co_read64((const co_u64 *)(const void *)&next->at),
                             co_read32(&next->kind), co_read32(&next->entries), 0};
    co_u32 change = co_read32(&next->change);
    co_u128 *to = (co_u128 *)(void *)bits;
    if (first.kind == CO_CHUNK_FULL) {
        sets_bits_fill(bits, ~0u);
        return CO_CHUNK_IDS;
    }
    if (!change || second.kind == CO_CHUNK_FULL)
        return set_put_bitmap((const co_u128 *)first.at, change ? ~0ull : 0, to);
    return sets_two_bitmaps(set_sets_op(change), &first, &second, to);
}

/* ADD to a set without members, of chunks of working sets. */
CO_KERNEL(set_meet, struct set_work)
{
    if (set_refused(args))
        return;
    SETS_EACH_WARP(i, set_pieces(args))
    {
        struct set_piece *p = args->piece + i;
        co_u32 block = co_read32(&p->block);
        if (block == SET_NONE)
            continue;
        co_u32 after = set_meet_block(p, args->second + i, args->blocks + (co_u64)block * CO_CHUNK_WORDS);
        if (co_lane() == 0)
            co_write32(&p->after, after);
    }
}

/* ---- the directory and the pool ------------------------------------------------------------------------ */

CO_KERNEL(set_step, struct set_work)
{
    co_u64 *to = set_sums_of(args), n = set_pieces(args);
    if (set_refused(args))
        return;
    CO_EACH_WARP (base, n) {
        struct set_sums sums = {{0, 0, 0}};
        if (base + co_lane() < n)
            sums = set_piece_step(args, base + co_lane());
        for (co_u32 k = 0; to && k < 3; k++) {
            co_u64 sum = co_warp_sum(sums.v[k]);
            if (co_lane() == 0 && sum)
                co_add64(to + k, sum);
        }
    }
}

/* Of a flat set. */
CO_KERNEL(set_wipe, struct set_work)
{
    SETS_EACH_WARP(block, args->items)
    {
        if (set_wipes(args, block))
            sets_bits_fill(args->blocks + block * CO_CHUNK_WORDS, 0);
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
