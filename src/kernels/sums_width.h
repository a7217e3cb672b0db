/* sums_width.h: sums of one width. Read by sums.cu once for each; the parameter is that of chunk_width.h. */
#include "chunk_width.h"

/* The sum over this lane and those before it. */
CO_INLINE WORD NAME(prefix_lanes)(WORD v)
{
    for (co_u32 d = 1; d < 32; d <<= 1) {
        WORD other = SHUFFLE(CO_FULL_WARP, v, co_lane() - d);
        v += co_lane() >= d ? other : 0;
    }
    return v;
}

/* A tile as one lane of its block has it. */
struct NAME(prefix_tile) {
    co_u32 tile; /* its number; s->tiles: none */
    WORD v[SUMS_CHUNKS][EACH];
};

/* The place of the lane's first entry; its chunks lie 32 * EACH apart. */
CO_INLINE co_u64 NAME(prefix_first)(co_u32 tile)
{
    return ((co_u64)tile * (co_threads() / 32) + co_warp()) * (SUMS_CHUNKS * 32 * EACH) + co_lane() * EACH;
}

/* Are all places of the tile entries of the array? */
CO_INLINE int NAME(prefix_whole)(const struct prefix_step *s, co_u32 tile)
{
    co_u64 places = (co_u64)co_threads() * SUMS_CHUNKS * EACH, begin = tile * places;
    return begin >= s->lead && begin + places <= s->lead + s->n;
}

/* The lane's part on its way into registers. */
CO_INLINE void NAME(prefix_fetch)(const struct prefix_step *s, co_u32 tile, co_u128 *raw)
{
    co_u64 first = NAME(prefix_first)(tile);
    int whole = NAME(prefix_whole)(s, tile);
    CO_EACH_ITEM (c, SUMS_CHUNKS)
        raw[c] = NAME(chunk_read)((const WORD *)s->in, s->n, s->lead, first + c * 32 * EACH, whole);
}

/* Each entry becomes the sum of the warp's up to and including it. Returns the warp's sum. */
CO_INLINE WORD NAME(prefix_warp)(struct NAME(prefix_tile) * t, const co_u128 *raw)
{
    WORD warp = 0;
    CO_EACH_ITEM (c, SUMS_CHUNKS) {
        NAME(chunk_entries)(raw[c], t->v[c]);
        CO_EACH_ITEM (k, EACH - 1)
            t->v[c][k + 1] += t->v[c][k];
        WORD lane = t->v[c][EACH - 1], lanes = NAME(prefix_lanes)(lane);
        CO_EACH_ITEM (k, EACH)
            t->v[c][k] += warp + lanes - lane;
        warp += SHUFFLE(CO_FULL_WARP, lanes, 31);
    }
    return warp;
}

/* Writes them, `before` added. Exclusive sums are those of the entry before: the lane's own, or that of the
 * lane before, or of the chunk before. */
CO_INLINE void NAME(prefix_write)(const struct prefix_step *s, const struct NAME(prefix_tile) * t,
                                  WORD before)
{
    WORD chunk = 0;
    co_u64 first = NAME(prefix_first)(t->tile);
    int whole = s->vectors && NAME(prefix_whole)(s, t->tile);
    CO_EACH_ITEM (c, SUMS_CHUNKS) {
        WORD out[EACH], last = t->v[c][EACH - 1], lane = SHUFFLE(CO_FULL_WARP, last, co_lane() - 1);
        out[0] = before + (s->inclusive ? t->v[c][0] : co_lane() ? lane : chunk);
        CO_EACH_ITEM (k, EACH - 1)
            out[k + 1] = before + (s->inclusive ? t->v[c][k + 1] : t->v[c][k]);
        chunk = SHUFFLE(CO_FULL_WARP, last, 31);
        NAME(chunk_write)
        ((WORD *)s->out, s->n, s->lead, first + c * 32 * EACH, whole, out);
    }
}

/* The first warp publishes the tile's sum; `sums` become what is before each warp in the tile. */
CO_INLINE co_u64 NAME(prefix_publish)(const struct prefix_step *s, co_u64 tile, co_u64 *sums)
{
    co_u64 own = co_lane() < co_threads() / 32 ? co_read64(sums + co_lane()) : 0;
    co_u64 warps = co_warp_before(own), all = co_shuffle64(CO_FULL_WARP, warps + own, 31);
    all = WIDE ? all : (co_u32)all;
    if (s->tickets && co_lane() == 0)
        look_back_publish(s->words, tile, tile, all, 0, WIDE);
    if (co_lane() < co_threads() / 32)
        co_write64(sums + co_lane(), warps);
    return all;
}

/* What the first warp does between the barriers: publishes the sum of `next`, resolves what is before
 * `done`. */
CO_INLINE void NAME(prefix_talk)(const struct prefix_step *s, const struct NAME(prefix_tile) * done,
                                 co_u64 *own, const struct NAME(prefix_tile) * next, co_u64 *sums,
                                 co_u64 *before)
{
    co_u64 published = *own;
    if (next->tile < s->tiles)
        *own = NAME(prefix_publish)(s, next->tile, sums);
    if (done->tile >= s->tiles)
        return;
    co_u64 sum = s->tickets ? look_back_warp(s->words, done->tile, published, 0, WIDE) : 0;
    if (co_lane() == 0)
        co_write64(before, sum);
}

/* A block's work on its tiles overlaps: while one is on its way in, the sum of the one before is published;
 * and of the one before that what is before it is resolved, which others have had time to publish, and it is
 * written. */
CO_KERNEL_BOUND(NAME(sums_prefix), struct prefix_step, 256, SUMS_BLOCKS)
{
    CO_SHARED(co_u64, sums, 2 * SUMS_WARPS); /* of two tiles */
    CO_SHARED(co_u64, before, 1);
    CO_SHARED(co_u32, tickets, 2);
    struct NAME(prefix_tile) done, next;
    co_u128 raw[SUMS_CHUNKS];
    co_u64 own = 0, warp = 0;
    sums_first_tickets(args, tickets);
    CO_EACH_ITEM (c, SUMS_CHUNKS) {
        raw[c] = co_make128(0, 0);
        NAME(chunk_entries)(raw[c], next.v[c]);
    }
    done = next;
    done.tile = (co_u32)args->tiles;
    next.tile = co_read32(tickets + 1);
    if (next.tile < args->tiles)
        NAME(prefix_fetch)(args, next.tile, raw);
    for (co_u32 turn = 0; next.tile < args->tiles || done.tile < args->tiles; turn ^= 1) {
        co_u64 *mine = sums + turn * SUMS_WARPS;
        WORD sum = next.tile < args->tiles ? NAME(prefix_warp)(&next, raw) : 0;
        if (co_lane() == 0)
            co_write64(mine + co_warp(), sum);
        co_block_sync();
        co_u32 later = co_read32(tickets + turn);
        if (later < args->tiles)
            NAME(prefix_fetch)(args, later, raw);
        if (co_warp() == 0)
            NAME(prefix_talk)(args, &done, &own, &next, mine, before);
        if (co_thread() == 0)
            co_write32(tickets + (turn ^ 1), sums_ticket(args));
        co_block_sync();
        if (done.tile < args->tiles)
            NAME(prefix_write)(args, &done, (WORD)(co_read64(before) + warp));
        warp = co_read64(mine + co_warp());
        done = next;
        next.tile = later;
    }
}

/* What the entries of a chunk come to with `most`. all: all of them are there. */
CO_INLINE co_u64 NAME(reduce_chunk)(const struct reduce_step *s, co_u64 most, co_u128 raw, co_u64 place,
                                    int all)
{
    WORD v[EACH];
    NAME(chunk_entries)(raw, v);
    CO_EACH_ITEM (k, EACH) {
        if (all || place + k - s->lead < s->n)
            most = reduce_two(s->op, most, REDUCE_ENTRY(s->op, s->kind, v[k]));
    }
    return most;
}

CO_KERNEL_BOUND(NAME(sums_reduce), struct reduce_step, 256, REDUCE_AT_ONCE)
{
    CO_SHARED(co_u64, warps, SUMS_WARPS);
    const co_u64 turn = (co_u64)co_threads() * REDUCE_CHUNKS * EACH, places = args->lead + args->n;
    co_u64 most = reduce_none(args->op);
    for (co_u64 begin = co_block() * turn; begin < places; begin += co_blocks() * turn) {
        co_u128 raw[REDUCE_CHUNKS];
        co_u64 first = begin + co_thread() * EACH;
        int whole = begin >= args->lead && begin + turn <= places;
        CO_EACH_ITEM (c, REDUCE_CHUNKS)
            raw[c] = NAME(chunk_read)((const WORD *)args->in, args->n, args->lead,
                                      first + c * co_threads() * EACH, whole);
        CO_EACH_ITEM (c, REDUCE_CHUNKS)
            most = NAME(reduce_chunk)(args, most, raw[c], first + c * co_threads() * EACH, whole);
    }
    reduce_block(args, most, warps);
}

#include "chunk_end.h"
