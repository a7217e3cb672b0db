/* compact_width.h: compaction of keys of one width. Read by compact.cu once for each; the parameter is that
 * of chunk_width.h. */
#include "chunk_width.h"

/* Bits of the lane's entries: EACH a chunk, entry k of chunk c is bit c * EACH + k. */
#define COMPACT_BIT(c, k) ((c)*EACH + (k))

/* Which of the lane's entries there are. */
CO_INLINE co_u32 NAME(compact_valid)(const struct compact_step *s, co_u64 first, int whole)
{
    co_u32 bits = 0;
    if (whole)
        return ~0u >> (32 - COMPACT_CHUNKS * EACH);
    CO_EACH_ITEM (c, COMPACT_CHUNKS) {
        CO_EACH_ITEM (k, EACH) {
            if (first + c * 32 * EACH + k - s->lead < s->n)
                bits |= 1u << COMPACT_BIT(c, k);
        }
    }
    return bits;
}

/* Those of them that are kept, of the kinds that compare keys. */
CO_INLINE co_u32 NAME(compact_compare)(const struct split_fn *f, WORD v[][EACH])
{
    co_u32 bits = 0;
    WORD a = (WORD)f->a, b = (WORD)f->b, range = b - a;
    if (f->kind == SPLIT_MASKED)
        CO_EACH_ITEM (c, COMPACT_CHUNKS)
            CO_EACH_ITEM (k, EACH)
                bits |= (v[c][k] & a) == b ? 1u << COMPACT_BIT(c, k) : 0;
    else if (a <= b)
        CO_EACH_ITEM (c, COMPACT_CHUNKS)
            CO_EACH_ITEM (k, EACH)
                bits |= (WORD)(v[c][k] - a) <= range ? 1u << COMPACT_BIT(c, k) : 0;
    return bits;
}

/* Of runs: entries that differ from the one before them, which another lane may have; of a warp's first entry
 * it is read. */
CO_INLINE co_u32 NAME(compact_changes)(const struct compact_step *s, co_u64 first, WORD v[][EACH])
{
    const co_u64 i = first - s->lead;
    const int reads = !co_lane() && i && i < s->n;
    const co_u32 neighbour = (co_lane() - 1) & 31;
    WORD before = reads ? READ((const WORD *)s->keys + i - 1) : 0;
    co_u32 bits = 0;
    CO_EACH_ITEM (c, COMPACT_CHUNKS) {
        const WORD last = SHUFFLE(CO_FULL_WARP, v[c][EACH - 1], neighbour);
        before = co_lane() ? last : before;
        CO_EACH_ITEM (k, EACH) {
            if (v[c][k] != before || first + c * 32 * EACH + k == s->lead)
                bits |= 1u << COMPACT_BIT(c, k);
            before = v[c][k];
        }
        before = last; /* of lane 0: the chunk's last entry */
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
                bits |= bits_get((const co_u8 *)s->where, i + k, 1) << COMPACT_BIT(c, k);
        }
    }
    return bits;
}

/* Of the other kinds, key by key, in a loop: keys are read anew, entry by entry as they were the first
 * time. */
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
    if (s->fn.kind == SPLIT_CHANGES)
        return NAME(compact_changes)(s, first, v) & valid;
    return s->fn.kind ? NAME(compact_ids)(s, first, valid) : NAME(compact_where)(s, first, valid);
}

/* ---- places -------------------------------------------------------------------------------------------- */

/* The kept entries of the warp before the lane's own, of each chunk: a byte each. Returns those of all
 * lanes. */
CO_INLINE co_u64 NAME(compact_lanes)(co_u32 kept, co_u64 *before)
{
    co_u64 own = 0, sum;
    CO_EACH_ITEM (c, COMPACT_CHUNKS)
        own |= (co_u64)co_ones32(kept >> COMPACT_BIT(c, 0) & ((1u << EACH) - 1)) << 8 * c;
    sum = own;
    for (co_u32 d = 1; d < 32; d <<= 1) {
        co_u64 other = co_shuffle64(CO_FULL_WARP, sum, co_lane() - d);
        sum += co_lane() >= d ? other : 0;
    }
    *before = sum - own;
    return co_shuffle64(CO_FULL_WARP, sum, 31);
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

/* Puts the lane's entries where they belong in the tile: the kept ones from 0, the others from `kept` on.
 * `order` remembers which came where; NULL: it is not wanted. */
CO_INLINE void NAME(compact_place)(const struct compact_step *s, const struct NAME(compact_lane) * l,
                                   WORD *stage, co_u16 *order)
{
    const struct compact_part *p = &l->part;
    struct compact_tile t = compact_tile_of(s, p->tile, co_threads() * COMPACT_CHUNKS * EACH);
    co_u32 at = p->warp, local = (co_warp() * COMPACT_CHUNKS * 32 + co_lane()) * EACH;
    CO_EACH_ITEM (c, COMPACT_CHUNKS) {
        co_u32 rank = at + (co_u32)(p->lanes >> 8 * c & 255);
        CO_EACH_ITEM (k, EACH) {
            co_u32 bit = COMPACT_BIT(c, k), place = local + c * 32 * EACH + k, keep = p->bits >> bit & 1;
            co_u32 to = keep ? rank : p->kept + (place - t.skip) - rank;
            if (p->valid >> bit & (keep | s->others)) {
                WRITE(stage + to, l->v[c][k]);
                if (order)
                    co_write16(order + to, (co_u16)place);
            }
            rank += keep;
        }
        at += (co_u32)(p->all >> 8 * c & 255);
    }
}

/* The same of kept keys alone. */
CO_INLINE void NAME(compact_place_kept)(const struct NAME(compact_lane) * l, WORD *stage)
{
    const struct compact_part *p = &l->part;
    co_u32 at = p->warp;
    CO_EACH_ITEM (c, COMPACT_CHUNKS) {
        WORD *to = stage + (at + (co_u32)(p->lanes >> 8 * c & 255));
        CO_EACH_ITEM (k, EACH) {
            if (p->bits >> COMPACT_BIT(c, k) & 1)
                WRITE(to++, l->v[c][k]);
        }
        at += (co_u32)(p->all >> 8 * c & 255);
    }
}

/* Writes places [from, to) of the tile's keys, side by side: each warp one whole line of 128 bytes after the
 * other. */
CO_INLINE void NAME(compact_write)(WORD *out, const WORD *stage, co_u32 from, co_u32 to)
{
    co_u32 skip = (co_u32)((co_u64)out % 128 / sizeof(WORD));
    for (co_u32 p = co_thread(); p < to - from + skip; p += co_threads()) {
        if (p >= skip)
            WRITE(out + (p - skip), READ(stage + from + (p - skip)));
    }
}

/* Writes the keys that the tile has in shared memory, of which `before` kept ones come before it. */
CO_INLINE void NAME(compact_out)(const struct compact_step *s, const struct compact_part *p,
                                 const struct compact_tile *t, const WORD *stage, co_u64 before)
{
    if (s->kept)
        NAME(compact_write)((WORD *)s->kept + before, stage, 0, p->kept);
    if (s->rejected)
        NAME(compact_write)((WORD *)s->rejected + (t->index - before), stage, p->kept, t->entries);
}

/* ---- a block ------------------------------------------------------------------------------------------- */

/* The block's first tile, or `tiles`: on its way into registers. */
CO_INLINE void NAME(compact_begin)(const struct compact_step *s, struct NAME(compact_lane) * l, co_u128 *raw,
                                   co_u32 *ticket)
{
    if (co_thread() == 0)
        co_write32(ticket, compact_ticket(s, 0));
    co_block_sync();
    l->part.tile = co_read32(ticket);
    l->part.valid = l->part.bits = l->part.warp = l->part.kept = 0;
    l->part.lanes = l->part.all = 0;
    CO_EACH_ITEM (c, COMPACT_CHUNKS) {
        raw[c] = co_make128(0, 0);
        NAME(chunk_entries)(raw[c], l->v[c]);
    }
    if (l->part.tile < s->tiles)
        NAME(compact_fetch)(s, l->part.tile, raw);
    co_block_sync();
}

/* Keys alone. A block's work on its tiles overlaps: while one is on its way in, the count of the one before
 * is published and its entries go to shared memory; and of the one before that what is before it is resolved,
 * which others have had time to publish, and it is written. */
CO_KERNEL_BOUND(NAME(compact), struct compact_step, COMPACT_THREADS, COMPACT_BLOCKS)
{
    CO_SHARED(co_u32, warps, COMPACT_THREADS / 32);
    CO_SHARED(co_u64, before, 1);
    CO_SHARED(co_u32, ticket, 1);
    CO_SHARED_DYNAMIC(co_u8, memory); /* two tiles' keys */
    const co_u32 places = co_threads() * COMPACT_CHUNKS * EACH, tiles = (co_u32)args->tiles;
    WORD *stage = (WORD *)(void *)memory;
    struct NAME(compact_lane) next;
    struct compact_part done;
    co_u128 raw[COMPACT_CHUNKS];
    NAME(compact_begin)(args, &next, raw, ticket);
    done = next.part;
    done.tile = tiles;
    for (co_u32 turn = 0; next.part.tile < tiles || done.tile < tiles; turn ^= places) {
        co_u32 later = co_thread() == 0 ? compact_ticket(args, 1) : 0;
        if (next.part.tile < tiles) {
            NAME(compact_decide)(args, &next, raw);
            compact_share(&next.part, warps);
        }
        if (co_thread() == 0)
            co_write32(ticket, later);
        co_block_sync();
        if (next.part.tile < tiles) {
            compact_publish(args, &next.part, warps);
            if (args->others)
                NAME(compact_place)(args, &next, stage + turn, 0);
            else
                NAME(compact_place_kept)(&next, stage + turn);
        }
        later = co_read32(ticket);
        if (later < tiles)
            NAME(compact_fetch)(args, later, raw);
        if (done.tile < tiles)
            compact_resolve(args, &done, before);
        co_block_sync();
        if (done.tile < tiles) {
            struct compact_tile t = compact_tile_of(args, done.tile, places);
            NAME(compact_out)(args, &done, &t, stage + (turn ^ places), co_read64(before));
        }
        done = next.part;
        next.part.tile = later;
    }
}

/* With the order of entries, which takes the memory of a second tile: each is written before the next one is
 * published. */
CO_KERNEL_BOUND(NAME(compact_ordered), struct compact_step, COMPACT_THREADS, COMPACT_BLOCKS_ORDERED)
{
    CO_SHARED(co_u32, warps, COMPACT_THREADS / 32);
    CO_SHARED(co_u64, before, 1);
    CO_SHARED(co_u32, ticket, 1);
    CO_SHARED_DYNAMIC(co_u8, memory);
    const co_u32 places = co_threads() * COMPACT_CHUNKS * EACH;
    WORD *stage = (WORD *)(void *)memory;
    co_u16 *order = (co_u16 *)(void *)(stage + places);
    struct NAME(compact_lane) l;
    co_u128 raw[COMPACT_CHUNKS];
    NAME(compact_begin)(args, &l, raw, ticket);
    while (l.part.tile < args->tiles) {
        co_u32 later = co_thread() == 0 ? compact_ticket(args, 1) : 0;
        NAME(compact_decide)(args, &l, raw);
        compact_share(&l.part, warps);
        if (co_thread() == 0)
            co_write32(ticket, later);
        co_block_sync();
        compact_publish(args, &l.part, warps);
        NAME(compact_place)(args, &l, stage, order);
        later = co_read32(ticket);
        if (later < args->tiles)
            NAME(compact_fetch)(args, later, raw);
        compact_resolve(args, &l.part, before);
        co_block_sync();
        struct compact_tile t = compact_tile_of(args, l.part.tile, places);
        NAME(compact_out)(args, &l.part, &t, stage, co_read64(before));
        compact_rest(args, &t, l.part.kept, co_read64(before), order);
        l.part.tile = later;
    }
}

#undef COMPACT_BIT
#include "chunk_end.h"
