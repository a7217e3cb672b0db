/* split_spans.h: splits of 4-byte keys, alone or with a payload of 4, in one launch of blocks that are all at
 * work at a time and publish to each other what they have (split_together.h), where a block has a span: some
 * tiles side by side. It counts the keys of all, publishes the sums, and when it has resolved where its
 * entries begin, it orders and writes tile after tile, and waits for nobody any more. So the keys of all its
 * tiles but the first are read twice, the second time from the L2 for the most part.
 *
 * A tile has as many rows as make spans even, up to the shape's. Keys and payload go through the stage in two
 * phases, as in split_pairs.h; runs go out line by line (runs_write.h), by the lines of the keys' output: a
 * payload's that begins elsewhere in a line is as right, and its stores may lie in two lines. The payload is
 * brought to the L2 while keys are put in order.
 *
 * Of pairs into up to 32 buckets a block's shared memory is less than 196 KiB: where a multiprocessor must
 * give all of it, the launch behind has little of the first cache, and shortest paths were slower than
 * without. */
#ifndef COHORT_KERNELS_SPLIT_SPANS_H
#define COHORT_KERNELS_SPLIT_SPANS_H

#include "kernels/runs_write.h"
#include "kernels/split_pairs.h"

#define SPLIT_AHEAD 16 /* keys that a lane has under way when it counts those of later tiles */

CO_INLINE struct split_tile split_span_tile_of(const struct split_step *s, co_u8 *memory,
                                               struct split_shape shape)
{
    struct split_tile r = split_tile_of(s, memory, shape);
    r.next = (co_u32 *)(void *)(memory + split_span_places(shape.bits, shape.items, shape.threads));
    r.rows = s->rows;
    return r;
}

CO_INLINE co_u128 *split_span_words(const struct split_tile *r, struct split_shape shape)
{
    return (co_u128 *)(void *)(r->stage + split_span_runs(shape.bits, shape.items, shape.threads));
}

/* ---- the tiles to come --------------------------------------------------------------------------------- */

/* starts[b] = the entries of bucket b in [first, end). */
CO_INLINE void split_count_ahead(const struct split_step *s, const struct split_tile *r, co_u64 first,
                                 co_u64 end, struct split_shape shape)
{
    const co_u32 *keys = (const co_u32 *)s->part[0].in;
    for (co_u32 i = co_lane(); i < r->stride; i += 32)
        co_write32(r->mine + i, 0);
    co_warp_sync(CO_FULL_WARP);
    for (co_u64 at = first + co_thread(); at < end; at += SPLIT_AHEAD * shape.threads) {
        co_u32 v[SPLIT_AHEAD];
        CO_EACH_ITEM (j, SPLIT_AHEAD)
            v[j] = at + j * shape.threads < end ? co_read32(keys + at + j * shape.threads) : 0;
        CO_EACH_ITEM (j, SPLIT_AHEAD)
            if (at + j * shape.threads < end)
                co_add32(r->mine + split_number_of(&s->number, v[j], shape.form, 0), 1);
    }
    co_block_sync();
    for (co_u32 b = co_thread(); b < s->buckets; b += shape.threads) {
        co_u32 sum = 0;
        CO_EACH_ITEM (w, shape.threads / 32)
            sum += co_load32(r->all + w * r->stride + b);
        co_write64(r->starts + b, sum);
    }
    co_block_sync();
}

/* What a tile will read of a column is brought to the L2. */
CO_INLINE void split_prefetch_column(const struct split_step *s, co_u32 column, co_u64 n, co_u32 tile,
                                     struct split_shape shape)
{
    const co_u32 size = s->rows * shape.threads;
    co_u64 first = (co_u64)tile * size;
    if (co_thread() == 0 && s->part[column].in)
        co_bulk_prefetch((const co_u32 *)s->part[column].in + first,
                         4 * (n - first < size ? (co_u32)(n - first) : size));
}

/* ---- a tile -------------------------------------------------------------------------------------------- */

/* The tile's runs, as words; and where the next tile's begin. By full warps. */
CO_INLINE void split_publish_runs(const struct split_step *s, const struct split_tile *r,
                                  struct split_shape shape)
{
    for (co_u32 b = co_thread(); co_shuffle32(CO_FULL_WARP, b, 0) < 1u << shape.bits; b += shape.threads) {
        co_u32 begin = 0, end = 0;
        co_u64 start = 0;
        if (b < s->buckets) {
            begin = b ? split_end(r, b - 1, shape) : 0;
            end = split_end(r, b, shape);
            start = co_read64(r->starts + b);
            co_write64(r->starts + b, start + (end - begin));
        }
        runs_publish(split_span_words(r, shape), r->groups, b, start, begin, end, 0, r->count,
                     runs_lead(s->part->out ? s->part->out : s->part[1].out));
    }
}

CO_INLINE void split_span_write(const struct split_step *s, const struct split_tile *r, co_u32 column,
                                struct split_shape shape)
{
    struct runs runs = {(co_u32 *)(void *)r->stage,
                        (co_u32 *)s->part[column].out,
                        split_span_words(r, shape),
                        r->groups,
                        s->buckets,
                        r->count,
                        0};
    if (runs.to)
        runs_write(&runs, shape.threads);
}

/* The first tile of a span resolves where what the block has of each bucket begins. */
CO_INLINE void split_span_tile(const struct split_step *s, struct split_tile *r, co_u64 n, co_u32 tile,
                               struct split_shape shape)
{
    const co_u32 size = s->rows * shape.threads, pairs = shape.payload == SPLIT_PAIRS;
    co_u64 first = (co_u64)tile * size;
    struct split_values v;
    r->tile = tile;
    r->count = n - first < size ? (co_u32)(n - first) : size;
    split_pairs_load(r, s->part->in, first, (co_u32)s->last_key, v.low, shape);
    if (pairs)
        split_prefetch_column(s, 1, n, tile, shape);
    split_count_tile(s, r, &v, 0, shape);
    split_scan(s, r, shape);
    split_rank(s, r, &v, 0, split_pairs_places(r), shape);
    co_block_sync();
    if (tile % s->tiles == 0) {
        split_resolve_together(s, r, shape);
        co_block_sync();
    }
    split_publish_runs(s, r, shape);
    if (pairs) {
        split_pairs_load_payload(s, r, first, v.low, shape);
        co_block_sync();
        split_span_write(s, r, 0, shape);
        co_block_sync();
        split_pairs_arrange(r, v.low, shape);
    }
    co_block_sync();
    split_span_write(s, r, pairs, shape);
}

/* ---- a block ------------------------------------------------------------------------------------------- */

CO_INLINE void split_span(const struct split_step *s, struct split_tile *r, co_u64 n,
                          struct split_shape shape)
{
    const co_u64 size = s->rows * shape.threads;
    co_u32 tile = (co_u32)co_block() * s->tiles, stop = tile + s->tiles,
           all = (co_u32)((n + size - 1) / size);
    stop = stop < all ? stop : all;
    if (s->tiles > 1) {
        split_prefetch_column(s, 0, n, tile, shape);
        split_count_ahead(s, r, (tile + 1) * size, stop * size < n ? stop * size : n, shape);
    }
    do
        split_span_tile(s, r, n, tile, shape);
    while (++tile < stop);
}

#endif
