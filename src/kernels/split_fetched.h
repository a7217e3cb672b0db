/* split_fetched.h: keys of 4 bytes, alone or with a payload of 4, into up to 256 buckets, so many that every
 * multiprocessor has many tiles: as split_tile.h and split_pairs.h, by one large block a multiprocessor, that
 * goes on from tile to tile. Each column has a stage of its own in shared memory. It is fetched there whole
 * by the copy engine (co_bulk_ask), put in order where it is, by way of registers, and written:
 *
 *   keys      are asked for when the keys before are written; then they are in registers while their places
 *             are found
 *   payload   is asked for when the payload before is written, and is on its way while keys are ranked and
 *             written
 *   numbers   of buckets, where the launch before has left them behind (SPLIT_LEFT), are asked for with the
 *             keys, to where counters are. Others are found from the keys when these are counted; what takes
 *             more than two instructions is then kept in registers, pages of a map too (SPLIT_PAGED), of both
 *             splits by digits of the page's number, of which the second looks back
 *
 * Keys alone come to the second stage, and are put in order in the first: so the next tile's are asked for as
 * soon as these are in registers.
 *
 * So nobody waits for loads, which would queue behind stores, and tiles are as long as shared memory is
 * large: long runs.
 *
 * Runs lie padded in the stage (runs_write.h). A run goes out by one warp, line by line of the output; one
 * that is much longer than others by all.
 *
 * Blocks take tiles one after the other, each one ahead. What tiles that lie side by side write is then
 * written at nearly the same time, so that the sectors that they share meet in L2; with tiles given out
 * beforehand blocks drift apart, and the same kernel took 1.3 times as long. A tile waits for those before
 * it, in its span or all: blocks do theirs in rising order, so the lowest that is not done waits for none.
 *
 * What is not whole lines of a tile, or not aligned to 16 bytes, is loaded as elsewhere. */
#ifndef COHORT_KERNELS_SPLIT_FETCHED_H
#define COHORT_KERNELS_SPLIT_FETCHED_H

#include "kernels/runs_write.h"
#include "kernels/split_pairs.h"

/* A column of a block: where it comes to, where it is put in order, and how many copies have been waited
 * for. */
struct split_fetch {
    const struct split_part *part;
    co_u32 *comes, *stage;
    co_u64 *arrived;
    co_u32 turn;
};

CO_INLINE struct split_fetch split_fetch_of(const struct split_step *s, co_u8 *memory, co_u32 column,
                                            struct split_shape shape)
{
    struct split_layout l = split_layout_of(shape);
    co_u32 bytes = shape.items * shape.threads * 4 + split_pads(shape.bits),
           is_alone = shape.payload == SPLIT_KEYS;
    struct split_fetch f;
    f.part = s->part + column;
    f.stage = (co_u32 *)(void *)(memory + (column ? split_second(l) : 0));
    f.comes = is_alone ? (co_u32 *)(void *)(memory + split_second(l)) : f.stage;
    f.arrived = (co_u64 *)(void *)(memory + split_second(l) + bytes) + column;
    f.turn = 0;
    return f;
}

/* ---- come in ------------------------------------------------------------------------------------------- */

/* Does the copy engine fetch the column of this tile? */
CO_INLINE int split_is_fetched(const struct split_fetch *f, co_u64 n, co_u32 tile, struct split_shape shape)
{
    return f->part->in && !((co_u64)f->part->in & 15) && (tile + 1ull) * shape.items * shape.threads <= n;
}

CO_INLINE void split_ask(const struct split_fetch *f, co_u64 n, co_u32 tile, struct split_shape shape)
{
    const co_u32 size = shape.items * shape.threads;
    if (co_thread() == 0 && split_is_fetched(f, n, tile, shape))
        co_bulk_ask(f->arrived, f->comes, (const co_u32 *)f->part->in + (co_u64)tile * size, size * 4);
}

CO_INLINE void split_receive(const struct split_step *s, const struct split_tile *r, struct split_fetch *f,
                             co_u64 n, co_u32 *v, struct split_shape shape)
{
    co_u64 first = (co_u64)r->tile * (shape.items * shape.threads);
    if (split_is_fetched(f, n, r->tile, shape)) {
        co_bulk_wait(f->arrived, f->turn++);
        CO_EACH_ITEM (j, shape.items)
            v[j] = co_read32(f->comes + split_mine(r, shape) + j * 32);
    } else if (f->part->in) {
        split_pairs_load(r, f->part->in, first, f->part == s->part ? (co_u32)s->last_key : 0, v, shape);
    } else {
        split_pairs_indices(r, first, v, shape);
    }
}

/* Numbers that the count has left behind come to where counters are, which nobody needs from the rank on
 * until the next tile is counted. */
CO_INLINE struct split_fetch split_fetch_numbers(const struct split_tile *r,
                                                 const struct split_fetch *payload)
{
    struct split_fetch f = {0, r->all, 0, payload->arrived + 1, 0};
    return f;
}

CO_INLINE int split_is_left(co_u64 n, co_u32 tile, struct split_shape shape)
{
    return shape.form == SPLIT_LEFT && (tile + 1ull) * shape.items * shape.threads <= n;
}

CO_INLINE void split_ask_numbers(const struct split_step *s, const struct split_fetch *f, co_u64 n,
                                 co_u32 tile, struct split_shape shape)
{
    const co_u32 size = shape.items * shape.threads;
    if (co_thread() == 0 && split_is_left(n, tile, shape))
        co_bulk_ask(f->arrived, f->comes, (const co_u8 *)s->ids_out + (co_u64)tile * size, size);
}

CO_INLINE void split_receive_numbers(const struct split_step *s, const struct split_tile *r,
                                     struct split_fetch *f, co_u64 n, co_u32 *kept, struct split_shape shape)
{
    const co_u32 mine = split_mine(r, shape);
    const co_u8 *from = (const co_u8 *)(const void *)r->all + mine;
    const co_u8 *left = (const co_u8 *)s->ids_out + (co_u64)r->tile * (shape.items * shape.threads) + mine;
    if (shape.form != SPLIT_LEFT)
        return;
    int is_whole = split_is_left(n, r->tile, shape);
    if (shape.payload == SPLIT_KEYS)
        co_block_sync(); /* for the block has not met since they were asked for */
    if (is_whole)
        co_bulk_wait(f->arrived, f->turn++);
    split_meet(r);
    CO_EACH_ITEM (j, shape.items) {
        co_u32 b = (co_u32)s->last_key;
        if (is_whole)
            b = co_read8(from + j * 32);
        else if (mine + j * 32 < r->count)
            b = co_read8(left + j * 32);
        kept[j / 4] = j % 4 ? kept[j / 4] | b << j % 4 * 8 : b;
    }
    split_meet(r);
}

/* ---- where it goes ------------------------------------------------------------------------------------- */

/* What the tile is going to read of the table. */
CO_INLINE void split_prefetch(const struct split_step *s, const struct split_tile *r,
                              struct split_shape shape)
{
    co_u64 columns = split_columns_of(s), span = s->way == SPLIT_BY_SPANS ? r->tile / s->tiles : 0;
    for (co_u32 b = co_thread(); b < s->buckets; b += shape.threads)
        co_prefetch(s->table + b * columns + span);
}

/* The entries of a bucket in the tiles before this one in its span, which are few. */
CO_INLINE co_u32 split_few_before(const struct split_step *s, const struct split_tile *r, co_u32 b,
                                  struct split_shape shape)
{
    co_u32 before = 0;
    for (co_u32 back = r->tile % s->tiles; back; back--) {
        const co_u32 *at = split_published(s, r, b, shape) - (co_u64)back * s->buckets;
        co_u32 published = co_load32(at);
        while (!(published & SPLIT_PUBLISHED)) {
            co_pause();
            published = co_load32(at);
        }
        before += published & ~SPLIT_PUBLISHED;
    }
    return before;
}

/* Where the tile's entries of a bucket go. */
CO_INLINE co_u64 split_first_of(const struct split_step *s, const struct split_tile *r, co_u32 b,
                                co_u32 entries, struct split_shape shape)
{
    if (s->way == SPLIT_BY_SPANS)
        return co_read64(s->table + b * s->spans + r->tile / s->tiles) + split_few_before(s, r, b, shape);
    return co_read64(s->table + b) + (s->way == SPLIT_BY_LOOK_BACK ? split_look_back(s, r, b, entries, shape)
                                                                   : split_reserve(s, r, b, entries, shape));
}

CO_INLINE co_u128 *split_runs(const struct split_tile *r, struct split_shape shape)
{
    co_u32 at = split_runs_begin(split_layout_of(shape));
    return (co_u128 *)(void *)(r->stage + at);
}

/* Where runs go. By full warps, some of them: the others rank meanwhile. The loop asks the warp's first lane,
 * so that the compiler sees warps stay whole: ptxas 13.0 for sm_100 runs out of predicates else. */
CO_INLINE void split_resolve_runs(const struct split_step *s, const struct split_tile *r,
                                  struct split_shape shape)
{
    for (co_u32 b = co_thread(); co_shuffle32(CO_FULL_WARP, b, 0) < 1u << shape.bits; b += shape.threads) {
        co_u32 begin = 0, end = 0;
        co_u64 start = 0;
        if (b < s->buckets) {
            begin = co_read32(r->begins + b);
            end = b + 1 < s->buckets ? co_read32(r->begins + b + 1) : shape.items * shape.threads;
            start = split_first_of(s, r, b, end - begin, shape);
        }
        runs_publish(split_runs(r, shape), r->groups, b, start, begin, end, runs_pad(b), r->count,
                     runs_lead(s->part->out ? s->part->out : s->part[1].out));
    }
}

/* ---- go out -------------------------------------------------------------------------------------------- */

CO_INLINE void split_write_runs(const struct split_step *s, const struct split_tile *r,
                                const struct split_fetch *f, struct split_shape shape)
{
    struct runs runs = {
        f->stage, (co_u32 *)f->part->out, split_runs(r, shape), r->groups, s->buckets, r->count, 1};
    if (runs.to)
        runs_write(&runs, shape.threads);
}

CO_INLINE void split_arrange_fetched(const struct split_fetch *f, const co_u32 *v, const co_u32 *places,
                                     struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        co_u32 two = co_anew32(places[j / 2]);
        co_write32(f->stage + (j % 2 ? two >> 16 : two & 0xffff), v[j]);
    }
}

/* ---- a block ------------------------------------------------------------------------------------------- */

/* One tile of keys alone; the number of the block's next. */
CO_INLINE co_u32 split_fetched_alone(const struct split_step *s, struct split_tile *r,
                                     struct split_fetch *keys, struct split_fetch *numbers, co_u64 n,
                                     struct split_shape shape)
{
    const co_u32 size = shape.items * shape.threads;
    co_u64 left = n - (co_u64)r->tile * size;
    co_u32 kept[SPLIT_KEPT_WORDS];
    struct split_values v;
    r->count = left < size ? (co_u32)left : size;
    if (co_thread() == 0)
        co_write32(r->ticket, look_back_ticket(s->tickets));
    split_prefetch(s, r, shape);
    split_receive(s, r, keys, n, v.low, shape);
    split_receive_numbers(s, r, numbers, n, kept, shape);
    split_count_tile(s, r, &v, kept, shape);
    co_bulk_leave();
    split_scan(s, r, shape);
    co_u32 next = co_read32(r->ticket);
    split_ask(keys, n, next, shape);
    split_resolve_runs(s, r, shape);
    co_warp_sync(CO_FULL_WARP); /* those that waited and the others of their warp */
    split_rank(s, r, &v, kept, 0, shape);
    co_bulk_leave();
    co_block_sync();
    split_ask_numbers(s, numbers, n, next, shape);
    split_write_runs(s, r, keys, shape);
    return next;
}

/* One tile of pairs; the number of the block's next. */
CO_INLINE co_u32 split_fetched_pairs(const struct split_step *s, struct split_tile *r,
                                     struct split_fetch *keys, struct split_fetch *payload,
                                     struct split_fetch *numbers, co_u64 n, struct split_shape shape)
{
    const co_u32 size = shape.items * shape.threads;
    co_u64 left = n - (co_u64)r->tile * size;
    co_u32 places[SPLIT_ITEMS_MOST / 2], kept[SPLIT_KEPT_WORDS], next = 0;
    struct split_values v;
    r->count = left < size ? (co_u32)left : size;
    split_prefetch(s, r, shape);
    split_receive(s, r, keys, n, v.low, shape);
    split_receive_numbers(s, r, numbers, n, kept, shape);
    split_count_tile(s, r, &v, kept, shape);
    split_scan(s, r, shape);
    split_ask(payload, n, r->tile, shape);
    if (co_thread() == 0)
        next = look_back_ticket(s->tickets);
    split_resolve_runs(s, r, shape);
    co_warp_sync(CO_FULL_WARP); /* those that waited and the others of their warp */
    split_rank(s, r, &v, kept, places, shape);
    if (co_thread() == 0)
        co_write32(r->ticket, next);
    co_block_sync();
    next = co_read32(r->ticket);
    split_write_runs(s, r, keys, shape);
    split_receive(s, r, payload, n, v.low, shape);
    co_bulk_leave();
    co_block_sync();
    split_ask(keys, n, next, shape);
    split_ask_numbers(s, numbers, n, next, shape);
    split_arrange_fetched(payload, v.low, places, shape);
    co_block_sync();
    split_write_runs(s, r, payload, shape);
    co_bulk_leave();
    return next;
}

CO_INLINE void split_fetched(const struct split_step *s, struct split_tile *r, co_u64 n,
                             struct split_shape shape)
{
    const co_u32 size = shape.items * shape.threads;
    co_u32 stop = (co_u32)((n + size - 1) / size);
    r->mine = (co_u32 *)co_kept(r->mine); /* then a counter's address is one instruction */
    struct split_fetch keys = split_fetch_of(s, r->stage, 0, shape),
                       payload = split_fetch_of(s, r->stage, 1, shape),
                       numbers = split_fetch_numbers(r, &payload);
    if (co_thread() == 0) {
        co_bulk_begin(keys.arrived);
        co_bulk_begin(payload.arrived);
        co_bulk_begin(numbers.arrived);
        co_write32(r->ticket, look_back_ticket(s->tickets));
    }
    co_block_sync();
    r->tile = co_read32(r->ticket);
    split_ask(&keys, n, r->tile, shape);
    split_ask_numbers(s, &numbers, n, r->tile, shape);
    co_block_sync();
    while (r->tile < stop)
        r->tile = shape.payload == SPLIT_KEYS
                      ? split_fetched_alone(s, r, &keys, &numbers, n, shape)
                      : split_fetched_pairs(s, r, &keys, &payload, &numbers, n, shape);
}

#endif
