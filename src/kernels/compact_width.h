/* compact_width.h: compaction of keys of one width. Read by compact.cu once for each; the parameter is that of chunk_width.h. */
#include "chunk_width.h"

/* Bits of the lane's entries: EACH a chunk, entry k of chunk c is bit c * EACH + k. */
#define COMPACT_BIT(c, k) ((c)*EACH + (k))

/* Which of the lane's entries there are. */
CO_INLINE co_u32 NAME(compact_valid)(const struct compact_step *s, co_u64 first, int whole)
{
    co_u32 bits = 0;
    CO_EACH_ITEM (c, COMPACT_CHUNKS) {
        CO_EACH_ITEM (k, EACH) {
            if (first + c * 32 * EACH + k - s->lead < s->n)
                bits |= 1u << COMPACT_BIT(c, k);
        }
    }
    return whole ? (1u << COMPACT_CHUNKS * EACH) - 1 : bits;
}

/* Those of them that are kept, of the kinds that compare keys. */
CO_INLINE co_u32 NAME(compact_compare)(const struct split_fn *f, WORD v[][EACH])
{
    co_u32 bits = 0, masked = f->kind == SPLIT_MASKED;
    WORD least = (WORD)f->a, most = (WORD)f->b;
    CO_EACH_ITEM (c, COMPACT_CHUNKS) {
        CO_EACH_ITEM (k, EACH) {
            WORD key = v[c][k];
            int keep = masked ? (key & least) == most : key >= least && key <= most;
            bits |= (co_u32)keep << COMPACT_BIT(c, k);
        }
    }
    return bits;
}

/* Of a bitmap: a chunk's entries lie in one word of it, or in two. */
CO_INLINE co_u32 NAME(compact_where)(const struct compact_step *s, co_u64 first, co_u32 valid)
{
    co_u32 bits = 0;
    CO_EACH_ITEM (c, COMPACT_CHUNKS) {
        co_u64 i = first + c * 32 * EACH - s->lead; /* far beyond n for what lies before the array */
        CO_EACH_ITEM (k, EACH) {
            if (valid >> COMPACT_BIT(c, k) & 1)
                bits |= (co_read32(s->where + (i + k) / 32) >> ((i + k) & 31) & 1) << COMPACT_BIT(c, k);
        }
    }
    return bits;
}

/* Of the other kinds, key by key, in a loop: keys are read anew, entry by entry as they were the first time. */
CO_INLINE co_u32 NAME(compact_ids)(const struct compact_step *s, co_u64 first, co_u32 valid)
{
    co_u32 bits = 0;
    co_u64 bad = ~0ull;
    for (co_u32 rest = valid; rest; rest &= rest - 1) {
        co_u32 j = co_ones32((rest & (0u - rest)) - 1);
        co_u64 i = first + j / EACH * (32 * EACH) + j % EACH - s->lead;
        co_u32 id = split_id(&s->fn, READ((const WORD *)s->keys + i), i, WIDE);
        if (id == SPLIT_BAD && split_has_table(&s->fn))
            bad = i < bad ? i : bad;
        else
            bits |= (co_u32)(id != 0) << j;
    }
    if (bad != ~0ull)
        co_min64(s->first_bad, bad);
    return bits;
}

CO_INLINE co_u32 NAME(compact_kept)(const struct compact_step *s, co_u64 first, co_u32 valid, WORD v[][EACH])
{
    if (s->fn.kind == SPLIT_BETWEEN || s->fn.kind == SPLIT_MASKED)
        return NAME(compact_compare)(&s->fn, v) & valid;
    return s->fn.kind ? NAME(compact_ids)(s, first, valid) : NAME(compact_where)(s, first, valid);
}

/* ---- places ---------------------------------------------------------------------------------------------------------- */

/* The kept entries of the warp before the lane's own, of each chunk: a byte each. Returns those of all lanes. */
CO_INLINE co_u32 NAME(compact_lanes)(co_u32 kept, co_u32 *before)
{
    co_u32 own = 0, sum;
    CO_EACH_ITEM (c, COMPACT_CHUNKS)
        own |= co_ones32(kept >> COMPACT_BIT(c, 0) & ((1u << EACH) - 1)) << 8 * c;
    sum = own;
    for (co_u32 d = 1; d < 32; d <<= 1) {
        co_u32 other = co_shuffle32(CO_FULL_WARP, sum, co_lane() - d);
        sum += co_lane() >= d ? other : 0;
    }
    *before = sum - own;
    return co_shuffle32(CO_FULL_WARP, sum, 31);
}

/* A tile as one lane of its block has it: entries, and whose they are. */
struct NAME(compact_lane) {
    struct compact_part part;
    WORD v[COMPACT_CHUNKS][EACH];
};

CO_INLINE co_u64 NAME(compact_first)(co_u32 tile)
{
    return ((co_u64)tile * (co_threads() / 32) + co_warp()) * (COMPACT_CHUNKS * 32 * EACH) + co_lane() * EACH;
}

CO_INLINE void NAME(compact_fetch)(const struct compact_step *s, co_u32 tile, co_u128 *raw)
{
    co_u64 first = NAME(compact_first)(tile);
    struct compact_tile t = compact_tile_of(s, tile, co_threads() * COMPACT_CHUNKS * EACH);
    CO_EACH_ITEM (c, COMPACT_CHUNKS)
        raw[c] = NAME(chunk_read)((const WORD *)s->keys, s->keys ? s->n : 0, s->lead, first + c * 32 * EACH,
                                  t.whole && s->vectors);
}

/* Which of the lane's entries are kept, and how many of the warp's. */
CO_INLINE void NAME(compact_decide)(const struct compact_step *s, struct NAME(compact_lane) * l,
                                    const co_u128 *raw)
{
    struct compact_part *p = &l->part;
    co_u64 first = NAME(compact_first)(p->tile);
    struct compact_tile t = compact_tile_of(s, p->tile, co_threads() * COMPACT_CHUNKS * EACH);
    CO_EACH_ITEM (c, COMPACT_CHUNKS)
        NAME(chunk_entries)(raw[c], l->v[c]);
    p->valid = NAME(compact_valid)(s, first, t.whole);
    p->bits = NAME(compact_kept)(s, first, p->valid, l->v);
    p->all = NAME(compact_lanes)(p->bits, &p->lanes);
}

/* Puts the lane's entries where they belong in the tile: the kept ones from 0, the others from `kept` on. */
CO_INLINE void NAME(compact_place)(const struct compact_step *s, const struct NAME(compact_lane) * l,
                                   WORD *stage, co_u16 *order)
{
    const struct compact_part *p = &l->part;
    struct compact_tile t = compact_tile_of(s, p->tile, co_threads() * COMPACT_CHUNKS * EACH);
    co_u32 at = p->warp, local = (co_warp() * COMPACT_CHUNKS * 32 + co_lane()) * EACH;
    CO_EACH_ITEM (c, COMPACT_CHUNKS) {
        co_u32 rank = at + (p->lanes >> 8 * c & 255);
        CO_EACH_ITEM (k, EACH) {
            co_u32 bit = COMPACT_BIT(c, k), place = local + c * 32 * EACH + k, keep = p->bits >> bit & 1;
            co_u32 to = keep ? rank : p->kept + (place - t.skip) - rank;
            if (p->valid >> bit & (keep | s->others)) {
                WRITE(stage + to, l->v[c][k]);
                if (s->ordered)
                    co_write16(order + to, (co_u16)place);
            }
            rank += keep;
        }
        at += p->all >> 8 * c & 255;
    }
}

/* Writes places [from, to) of the tile's keys, side by side. */
CO_INLINE void NAME(compact_write)(WORD *out, const WORD *stage, co_u32 from, co_u32 to)
{
    for (co_u32 p = from + co_thread(); p < to; p += co_threads())
        WRITE(out + (p - from), READ(stage + p));
}

CO_KERNEL_BOUND(NAME(compact), struct compact_step, COMPACT_THREADS, COMPACT_BLOCKS)
{
    CO_SHARED(WORD, stage, COMPACT_THREADS * COMPACT_CHUNKS * EACH);
    CO_SHARED(co_u32, warps, COMPACT_THREADS / 32);
    CO_SHARED(co_u64, before, 1);
    CO_SHARED(co_u32, ticket, 1);
    CO_SHARED_DYNAMIC(co_u16, order);
    struct NAME(compact_lane) l;
    co_u128 raw[COMPACT_CHUNKS];
    l.part = compact_no_part(compact_take(args, ticket));
    NAME(compact_fetch)(args, l.part.tile, raw);
    NAME(compact_decide)(args, &l, raw);
    compact_share(&l.part, warps);
    co_block_sync();
    compact_tell(args, &l.part, warps);
    NAME(compact_place)(args, &l, stage, order);
    compact_learn(args, &l.part, before);
    co_block_sync();
    struct compact_tile t = compact_tile_of(args, l.part.tile, co_threads() * COMPACT_CHUNKS * EACH);
    co_u64 kept = co_read64(before);
    if (args->kept)
        NAME(compact_write)((WORD *)args->kept + kept, stage, 0, l.part.kept);
    if (args->rejected)
        NAME(compact_write)((WORD *)args->rejected + (t.index - kept), stage, l.part.kept, t.entries);
    compact_rest(args, &t, l.part.kept, kept, order);
}

#undef COMPACT_BIT
#include "chunk_end.h"
