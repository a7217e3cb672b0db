/* sets_answer.h: one chunk of a row's answer, by a warp.
 *
 * The answer is one of these: none; an operand's chunk as it is; some entries of one operand's array, by a
 * bit for each (where that operand bounds the answer: AND, and the first of ANDNOT); or a bitmap in the
 * warp's shared memory. At least k of n are counted by planes: plane p has bit p of every member's count, and
 * an operand is added to all counts of a word by carrying from plane to plane. */
#ifndef COHORT_KERNELS_SETS_ANSWER_H
#define COHORT_KERNELS_SETS_ANSWER_H

#include "sets_operand.h"

enum { SETS_ANSWER_NONE, SETS_ANSWER_PASSED, SETS_ANSWER_ENTRIES, SETS_ANSWER_BITS };

struct sets_answer {
    co_u32 form;
    co_u32 card;
    co_u32 wide;       /* BITS: the bitmap is written as words of 128 bits, and nobody has met since */
    struct sets_op op; /* PASSED, ENTRIES */
};

/* A row's operands, a group of 32 at a time: lane l has operand 32 * group + l. */
struct sets_row {
    const struct sets_query *q;
    co_u64 row, n, key;
    co_u64 group;
    struct sets_op mine;
};

CO_INLINE void sets_row_group(struct sets_row *r, co_u64 group)
{
    co_u64 k = group * 32 + co_lane();
    struct sets_op none = {0, SETS_OP_NONE, 0, 0};
    r->group = group;
    r->mine = k < r->n ? sets_op_find(r->q, sets_row_member(r->q, r->row, k), r->key) : none;
}

/* The group, unless it is the one at hand. */
CO_INLINE void sets_row_turn(struct sets_row *r, co_u64 group)
{
    if (r->group != group)
        sets_row_group(r, group);
}

#define SETS_EACH_GROUP(g, r) for (co_u64 g = 0; g * 32 < (r)->n; g++)

/* ---- what there is ------------------------------------------------------------------------------------- */

struct sets_survey {
    co_u64 present, full; /* operands that have the key; whose chunk is full */
    co_u64 first,
        /* the first that has it; the shortest array that has it: operand numbers, ~0 if there is none */
        driver;
};

CO_INLINE struct sets_survey sets_row_survey(struct sets_row *r)
{
    struct sets_survey s = {0, 0, ~0ull, ~0ull};
    co_u64 best = ~0ull;
    SETS_EACH_GROUP(g, r)
    {
        sets_row_turn(r, g);
        co_u32 found = co_ballot(CO_FULL_WARP, r->mine.kind != SETS_OP_NONE);
        s.present += co_ones32(found);
        s.full += co_ones32(co_ballot(CO_FULL_WARP, r->mine.kind == CO_CHUNK_FULL));
        if (found && s.first == ~0ull)
            s.first = g * 32 + co_ones32((found & (0u - found)) - 1);
        co_u64 length = sets_op_is_array(&r->mine) ? (co_u64)r->mine.entries << 32 | co_lane() : ~0ull;
        length = co_warp_min(length);
        if (length >> 32 < best >> 32) {
            best = length;
            s.driver = g * 32 + (co_u32)length;
        }
    }
    return s;
}

CO_INLINE struct sets_op sets_row_op(struct sets_row *r, co_u64 k)
{
    sets_row_turn(r, k / 32);
    return sets_op_from(&r->mine, (co_u32)k % 32);
}

/* ---- entries of one operand ---------------------------------------------------------------------------- */

/* Keeps of the driver's entries those that are in all others (keep 1) or in none (0): kept[i / 32] bit i %
 * 32. Their number. */
CO_INLINE co_u32 sets_entries_kept(struct sets_row *r, co_u64 driver, int keep, co_u32 *kept,
                                   struct sets_op *out)
{
    struct sets_op d = sets_row_op(r, driver);
    co_u32 words = (d.entries + 31) / 32, left = d.entries;
    *out = d;
    for (co_u32 w = co_lane(); w < words; w += 32)
        co_store32(kept + w, w == d.entries / 32 ? (1u << d.entries % 32) - 1 : ~0u);
    co_warp_sync(CO_FULL_WARP);
    SETS_EACH_GROUP(g, r)
    {
        sets_row_turn(r, g);
        for (co_u32 k = 0; k < 32 && g * 32 + k < r->n && left; k++) {
            struct sets_op o = sets_op_from(&r->mine, k);
            if (g * 32 + k == driver || (keep && o.kind == CO_CHUNK_FULL) ||
                (!keep && o.kind == SETS_OP_NONE))
                continue;
            left = 0;
            for (co_u32 w = 0; w < words; w++) {
                co_u32 old = co_load32(kept + w);
                int in = old >> co_lane() & 1;
                in = in && sets_op_contains(&o, sets_op_entry(&d, w * 32 + co_lane())) == keep;
                co_u32 now = co_ballot(CO_FULL_WARP, in);
                left += co_ones32(now);
                co_warp_sync(CO_FULL_WARP); // all have read the word
                if (co_lane() == 0)
                    co_store32(kept + w, now);
            }
            co_warp_sync(CO_FULL_WARP);
        }
    }
    return left;
}

/* ---- bits ---------------------------------------------------------------------------------------------- */

/* All operands into the bitmap, one after the other. */
CO_INLINE void sets_row_bits(struct sets_row *r, co_u32 op, co_u32 *bits)
{
    sets_bits_fill(bits, op == SETS_AND ? ~0u : 0);
    SETS_EACH_GROUP(g, r)
    {
        sets_row_turn(r, g);
        for (co_u32 k = 0; k < 32 && g * 32 + k < r->n; k++) {
            struct sets_op o = sets_op_from(&r->mine, k);
            sets_bits_apply(bits, op == SETS_ANDNOT && !g && !k ? SETS_OR : op, &o);
        }
    }
}

/* ---- counts by planes ---------------------------------------------------------------------------------- */

/* What of the operand lies in words [first, first + n) of the chunk, into `part`. */
CO_INLINE void sets_part_load(co_u32 *part, co_u32 first, co_u32 n, const struct sets_op *o)
{
    const co_u16 *at = (const co_u16 *)o->at;
    co_u32 low = first * 32, high = (first + n) * 32; /* members */
    for (co_u32 w = co_lane(); w < n; w += 32) {
        co_u32 v = o->kind == CO_CHUNK_FULL ? ~0u : 0;
        if (o->kind == CO_CHUNK_BITMAP)
            v = (co_u32)(sets_op_bits(o, (first + w) / 2) >> 32 * (w % 2));
        co_store32(part + w, v);
    }
    co_warp_sync(CO_FULL_WARP);
    if (sets_op_is_array(o)) {
        co_u32 end = high < CO_CHUNK_IDS ? sets_op_lower(o, high) : o->entries;
        for (co_u32 i = sets_op_lower(o, low) + co_lane(); i < end; i += 32) {
            co_u32 v = sets_op_entry(o, i) - low;
            co_or32(part + v / 32, 1u << v % 32);
        }
    } else if (o->kind == CO_CHUNK_RUNS) {
        for (co_u32 r = co_lane(); r < o->entries; r += 32) {
            co_u32 from = co_read16(at + 2 * r), last = co_chunk_run_last(at, r);
            from = from < low ? low : from;
            last = last >= high ? high - 1 : last;
            if (from <= last)
                sets_bits_range(part, SETS_OR, from - low, last - low);
        }
    }
    co_warp_sync(CO_FULL_WARP);
}

/* bits = numbers that are in `least` operands or more; planes: as much shared memory again. */
CO_INLINE void sets_row_at_least(struct sets_row *r, co_u64 least, co_u32 *bits, co_u32 *planes)
{
    co_u32 count = 0; /* planes */
    while (r->n >> count)
        count++;
    co_u32 part = 1024; /* words at a time, in each plane and once more */
    while (part * (count + 1) > CO_CHUNK_WORDS)
        part /= 2;
    for (co_u32 first = 0; first < CO_CHUNK_WORDS; first += part) {
        co_u32 *own = planes + count * part;
        for (co_u32 w = co_lane(); w < count * part; w += 32)
            co_store32(planes + w, 0);
        co_warp_sync(CO_FULL_WARP);
        SETS_EACH_GROUP(g, r)
        {
            sets_row_turn(r, g);
            for (co_u32 k = 0; k < 32 && g * 32 + k < r->n; k++) {
                struct sets_op o = sets_op_from(&r->mine, k);
                if (o.kind == SETS_OP_NONE)
                    continue;
                sets_part_load(own, first, part, &o);
                for (co_u32 w = co_lane(); w < part; w += 32) {
                    co_u32 carry = co_load32(own + w);
                    for (co_u32 p = 0; p < count && carry; p++) {
                        co_u32 old = co_load32(planes + p * part + w);
                        co_store32(planes + p * part + w, old ^ carry);
                        carry &= old;
                    }
                }
                co_warp_sync(CO_FULL_WARP);
            }
        }
        for (co_u32 w = co_lane(); w < part; w += 32) {
            co_u32 more = 0, same = ~0u;
            for (co_u32 p = count; p--;) {
                co_u32 v = co_load32(planes + p * part + w);
                more |= least >> p & 1 ? 0 : same & v;
                same &= least >> p & 1 ? v : ~v;
            }
            co_store32(bits + first + w, least >> count ? 0 : more | same);
        }
        co_warp_sync(CO_FULL_WARP);
    }
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

CO_INLINE struct sets_answer sets_no_answer(void)
{
    struct sets_answer a = {SETS_ANSWER_NONE, 0, 0, {0, SETS_OP_NONE, 0, 0}};
    return a;
}

/* Of a row of two bitmaps. count: its number of members is all that is wanted. */
CO_INLINE struct sets_answer sets_of_two_bitmaps(co_u32 op, const struct sets_op *x, const struct sets_op *y,
                                                 co_u32 *bits, int count)
{
    struct sets_answer a = sets_no_answer();
    if (!count)
        co_warp_recast(bits, CO_CHUNK_BYTES);
    a.card = sets_two_bitmaps(op, x, y, count ? 0 : (co_u128 *)(void *)bits);
    a.form = a.card ? SETS_ANSWER_BITS : SETS_ANSWER_NONE;
    a.wide = !count;
    return a;
}

/* Makes the bitmap one of words of 32 bits again, which all lanes may read. */
CO_INLINE void sets_answer_narrow(struct sets_answer *a, co_u32 *bits)
{
    if (a->wide)
        co_warp_recast(bits, CO_CHUNK_BYTES);
    a->wide = 0;
}

CO_INLINE struct sets_answer sets_passed(const struct sets_op *o)
{
    struct sets_answer a = sets_no_answer();
    a.form = SETS_ANSWER_PASSED;
    a.card = o->card;
    a.op = *o;
    return a;
}

CO_INLINE struct sets_answer sets_of_entries(struct sets_row *r, co_u64 driver, int keep, co_u32 *bits)
{
    struct sets_answer a = sets_no_answer();
    a.card = sets_entries_kept(r, driver, keep, bits, &a.op);
    a.form = a.card ? SETS_ANSWER_ENTRIES : SETS_ANSWER_NONE;
    return a;
}

CO_INLINE struct sets_answer sets_of_bits(co_u32 *bits)
{
    struct sets_answer a = sets_no_answer();
    co_u64 digest;
    a.card = sets_bits_card(bits, &digest);
    a.form = a.card ? SETS_ANSWER_BITS : SETS_ANSWER_NONE;
    return a;
}

CO_INLINE struct sets_answer sets_and(struct sets_row *r, const struct sets_survey *s, co_u32 *bits,
                                      int count)
{
    if (s->present < r->n)
        return sets_no_answer();
    if (s->driver != ~0ull)
        return sets_of_entries(r, s->driver, 1, bits);
    if (s->full + 1 >= r->n) { /* all but one are full, or all */
        struct sets_op o = sets_row_op(r, 0);
        for (co_u64 k = 1; k < r->n && o.kind == CO_CHUNK_FULL; k++)
            o = sets_row_op(r, k);
        return sets_passed(&o);
    }
    if (r->n == 2) {
        struct sets_op x = sets_row_op(r, 0), y = sets_row_op(r, 1);
        if (x.kind == CO_CHUNK_BITMAP && y.kind == CO_CHUNK_BITMAP)
            return sets_of_two_bitmaps(SETS_AND, &x, &y, bits, count);
    }
    sets_row_bits(r, SETS_AND, bits);
    return sets_of_bits(bits);
}

/* Of two operands that both have the key what their common members tell of the others' numbers. */
CO_INLINE struct sets_answer sets_count_two(struct sets_row *r, const struct sets_survey *s, co_u32 op,
                                            co_u32 *bits)
{
    struct sets_op x = sets_row_op(r, 0), y = sets_row_op(r, 1);
    struct sets_answer a = sets_and(r, s, bits, 1);
    co_u32 both = a.card;
    a.card = op == SETS_OR    ? x.card + y.card - both
             : op == SETS_XOR ? x.card + y.card - 2 * both
                              : x.card - both;
    a.form = a.card ? SETS_ANSWER_BITS : SETS_ANSWER_NONE;
    return a;
}

/* The answer of the row at its key. count: its number of members is all that is wanted. */
CO_INLINE struct sets_answer sets_row_answer(struct sets_row *r, co_u32 *bits, int count)
{
    struct sets_survey s = sets_row_survey(r);
    co_u32 op = r->q->op;
    co_u64 least = r->q->least;
    if (!s.present)
        return sets_no_answer();
    if (op == SETS_AT_LEAST) {
        if (s.present < least)
            return sets_no_answer();
        op = least == 1 ? SETS_OR : op;
    }
    if (op == SETS_AND)
        return sets_and(r, &s, bits, count);
    struct sets_op first = sets_row_op(r, s.first);
    if (op == SETS_ANDNOT && s.first)
        return sets_no_answer();
    if (s.present == 1 && op != SETS_AT_LEAST)
        return sets_passed(&first);
    if (op == SETS_OR && s.full) {
        first.kind = CO_CHUNK_FULL;
        first.card = CO_CHUNK_IDS;
        return sets_passed(&first);
    }
    if (op == SETS_ANDNOT && s.full > (first.kind == CO_CHUNK_FULL ? 1 : 0))
        return sets_no_answer();
    if (count && r->n == 2 && op != SETS_AT_LEAST)
        return sets_count_two(r, &s, op, bits);
    if (op == SETS_ANDNOT && sets_op_is_array(&first))
        return sets_of_entries(r, 0, 0, bits);
    if (r->n == 2 && op != SETS_AT_LEAST) {
        struct sets_op x = sets_row_op(r, 0), y = sets_row_op(r, 1);
        if (x.kind == CO_CHUNK_BITMAP && y.kind == CO_CHUNK_BITMAP)
            return sets_of_two_bitmaps(op, &x, &y, bits, 0);
    }
    if (op == SETS_AT_LEAST)
        sets_row_at_least(r, least, bits, bits + CO_CHUNK_WORDS);
    else
        sets_row_bits(r, op, bits);
    return sets_of_bits(bits);
}

#endif
