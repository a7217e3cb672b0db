/* split_tile.h: how a block puts a tile of entries in order of their buckets, stably, in shared memory, and writes it out.
 *
 * A tile is `items` rows of 32 entries a warp: entry j * 32 + lane of a warp is the lane's j-th, so every column is read in whole
 * lines, whatever it is aligned to. The steps:
 *
 *   load      a column's entries into registers, well before they are needed
 *   rank      row by row: which lanes have an entry of my bucket (a vote a bit), how many before me; the warp's counter of
 *             the bucket says how many in the rows before. A tile's counters are 16 bits a warp and bucket
 *   scan      over the warps' counters of a bucket, and over the buckets: counters become places. Buckets that have entries are
 *             numbered; a bit a place marks where one begins
 *   place     counter + rank is the entry's place in the tile
 *   arrange   the value goes to its place in shared memory
 *   write     place by place, side by side: how many buckets begin up to here says whose place it is; out it goes
 *
 * Then arrange and write again for every further column. An entry whose id is `buckets` or more, and what lies beyond the end of a
 * tile that is not whole, is left out: it is counted as a bucket of its own that goes nowhere.
 *
 * Shapes are literals where these functions are used: loops over items are spelled out, and arrays are registers. `loose` too: 1 where
 * something may be left out. */
#ifndef COHORT_KERNELS_SPLIT_TILE_H
#define COHORT_KERNELS_SPLIT_TILE_H

#include "kernels/split_ids.h"

#define SPLIT_ITEMS_MOST 32

/* What an instance of the kernels is compiled for. */
struct split_shape {
    co_u32 items, threads; /* rows of a warp; lanes of a block */
    co_u32 widest;         /* bytes of an entry, at most: 4 or 8 */
    co_u32 bits;           /* of a bucket's number, at most */
};

/* A lane's values of one column. `high` where the shape is wide; else it is never there. */
struct split_values {
    co_u32 low[SPLIT_ITEMS_MOST], high[SPLIT_ITEMS_MOST];
};

CO_INLINE co_u64 split_value(const struct split_values *v, co_u32 j, struct split_shape shape)
{
    return shape.widest == 8 ? v->low[j] | (co_u64)v->high[j] << 32 : v->low[j];
}

CO_INLINE void split_set(struct split_values *v, co_u32 j, co_u64 value, struct split_shape shape)
{
    v->low[j] = (co_u32)value;
    if (shape.widest == 8)
        v->high[j] = (co_u32)(value >> 32);
}

/* A block's shared memory. */
struct split_room {
    void *slots;      /* a tile's values of one column, in order */
    co_u16 *counters; /* of this lane's warp, a bucket each; and one of what is left out, number 2 * rows */
    co_u32 *all;      /* the counters of all warps, two a word, `stride` words a warp */
    co_u32 *starts;   /* [bucket]: where it begins in the tile | how many entries << 16 */
    co_u16 *numbers;  /* [bucket]: its number among those that have entries */
    co_u32 *sums;     /* [warp]: of the scan */
    co_u32 *marks;    /* [32 places][2]: a bit for each at which a bucket begins; how many begin before */
    co_u64 *next;     /* [bucket]: where its next entry goes in the output */
    co_u64 *delta;    /* [number]: the same less its place in the tile */
    co_u32 buckets, rows, stride;
    co_u32 recast; /* bytes of slots, counters and marks */
};

CO_INLINE struct split_room split_room_of(const struct split_step *s, co_u8 *memory, struct split_shape shape)
{
    struct split_layout l = split_layout(s->fn.buckets, shape.items, shape.threads, shape.widest);
    struct split_room r;
    r.slots = memory;
    r.all = (co_u32 *)(memory + l.counters);
    r.marks = (co_u32 *)(memory + l.marks);
    r.numbers = (co_u16 *)(memory + l.numbers);
    r.recast = l.starts;
    r.starts = (co_u32 *)(memory + l.starts);
    r.sums = (co_u32 *)(memory + l.sums);
    r.next = (co_u64 *)(memory + l.next);
    r.delta = (co_u64 *)(memory + l.delta);
    r.buckets = s->fn.buckets;
    r.rows = split_rows(s->fn.buckets);
    r.stride = split_counter_words(s->fn.buckets);
    r.counters = (co_u16 *)(r.all + co_warp() * r.stride);
    return r;
}

/* ---- load -------------------------------------------------------------------------------------------------------------- */

/* The tile's entry that is the first of this lane's; the others follow at distances of 32. */
CO_INLINE co_u32 split_first(struct split_shape shape)
{
    return co_warp() * 32 * shape.items + co_lane();
}

CO_INLINE co_u64 split_read(const void *p, co_u32 bytes)
{
    return bytes == 1   ? co_read_stream8((const co_u8 *)p)
           : bytes == 2 ? co_read_stream16((const co_u16 *)p)
           : bytes == 4 ? co_read_stream32((const co_u32 *)p)
                        : co_read_stream64((const co_u64 *)p);
}

CO_INLINE void split_load_as(struct split_values *v, const struct split_part *part, co_u64 first,
                             co_u32 count, co_u32 bytes, int loose, struct split_shape shape)
{
    co_u32 mine = split_first(shape);
    const co_u8 *at = (const co_u8 *)part->in + (first + mine) * (bytes == 8 ? part->stride : bytes);
    co_u32 row = bytes == 8 ? 32 * part->stride : 32 * bytes;
    CO_EACH_ITEM (j, shape.items) {
        co_u64 value = 0;
        if (!loose || mine + j * 32 < count)
            value = split_read(at + j * row, bytes);
        split_set(v, j, value, shape);
    }
}

CO_INLINE void split_load(struct split_values *v, const struct split_part *part, co_u64 first, co_u32 count,
                          int loose, struct split_shape shape)
{
    if (!part->in)
        CO_EACH_ITEM (j, shape.items)
            split_set(v, j, first + split_first(shape) + j * 32, shape);
    else if (part->bytes == 4)
        split_load_as(v, part, first, count, 4, loose, shape);
    else if (part->bytes == 1)
        split_load_as(v, part, first, count, 1, loose, shape);
    else if (part->bytes == 2)
        split_load_as(v, part, first, count, 2, loose, shape);
    else if (shape.widest == 8)
        split_load_as(v, part, first, count, 8, loose, shape);
}

/* ---- rank -------------------------------------------------------------------------------------------------------------- */

/* Each warp its own counters, before it ranks. */
CO_INLINE void split_clear(const struct split_room *r)
{
    co_u128 *counters = (co_u128 *)r->counters;
    for (co_u32 i = co_lane(); i < r->stride / 4; i += 32)
        co_write128(counters + i, co_make128(0, 0));
    co_warp_recast(counters, r->stride * 4);
}

/* ids[j] becomes id | rank in the warp << 16. */
CO_INLINE void split_rank(const struct split_room *r, co_u32 *ids, int loose, struct split_shape shape)
{
    co_u32 after = 0xfffffffeu << co_lane(), before = (1u << co_lane()) - 1;
    CO_EACH_ITEM (j, shape.items) {
        co_u32 id = loose && ids[j] >= r->buckets ? r->rows * 2 : ids[j];
        co_u32 same = co_match_bits(id, shape.bits + (loose ? 1 : 0));
        co_u32 rank = co_read16(r->counters + id) + co_ones32(same & before);
        co_warp_sync(CO_FULL_WARP);
        if (!(same & after))
            co_write16(r->counters + id, (co_u16)(rank + 1));
        co_warp_sync(CO_FULL_WARP);
        ids[j] = id | rank << 16;
    }
}

/* ---- scan -------------------------------------------------------------------------------------------------------------- */

CO_INLINE co_u32 split_warp_sum_to(co_u32 v)
{
    for (co_u32 d = 1; d < 32; d <<= 1) {
        co_u32 other = co_shuffle32(CO_FULL_WARP, v, co_lane() - d);
        v += co_lane() >= d ? other : 0;
    }
    return v;
}

/* The sum over the lanes of the block before this one; *all: over the block. The block meets. */
CO_INLINE co_u32 split_block_before(const struct split_room *r, co_u32 v, co_u32 *all,
                                    struct split_shape shape)
{
    co_u32 to = split_warp_sum_to(v), before = to - v;
    if (co_lane() == 31)
        co_write32(r->sums + co_warp(), to);
    co_block_sync();
    *all = 0;
    CO_EACH_ITEM (w, shape.threads / 32) {
        co_u32 sum = co_read32(r->sums + w);
        before += w < co_warp() ? sum : 0;
        *all += sum;
    }
    return before;
}

/* Bucket `b`, the number-th that has entries, begins at `start`. The next mark's count is that of the last bucket that begins
 * before it. */
CO_INLINE void split_mark(const struct split_room *r, co_u32 b, co_u32 start, co_u32 entries, co_u32 number,
                          struct split_shape shape)
{
    co_write32(r->starts + b, start | entries << 16);
    if (!entries)
        return;
    co_write16(r->numbers + b, (co_u16)number);
    co_or32(r->marks + start / 32 * 2, 1u << start % 32);
    for (co_u32 v = start / 32 + 1; v <= (start + entries) / 32 && v < shape.items * shape.threads / 32; v++)
        co_write32(r->marks + v * 2 + 1, number + 1);
}

/* Two buckets, a word of counters, at a time: no true sum passes 16 bits. Counters become places; the number of entries that are not
 * left out. The block meets before and after. */
CO_INLINE co_u32 split_scan(const struct split_room *r, struct split_shape shape)
{
    co_u32 each = (r->rows + shape.threads - 1) / shape.threads, row = co_thread() * each, all, sum = 0;
    co_u32 end = row + each < r->rows ? row + each : r->rows;
    co_block_recast(r->slots, r->recast);
    for (co_u32 v = co_thread(); v < shape.items * shape.threads / 16; v += shape.threads)
        co_write32(r->marks + v, 0);
    for (co_u32 i = row; i < end; i++) {
        co_u32 two = 0;
        CO_EACH_ITEM (w, shape.threads / 32)
            two += co_read32(r->all + w * r->stride + i);
        sum += (two & 0xffff) + (two >> 16) + (((two & 0xffff ? 1u : 0u) + (two >> 16 ? 1u : 0u)) << 16);
    }
    co_u32 before = split_block_before(r, sum, &all, shape); /* entries | buckets that have some << 16 */
    for (; row < end; row++) {
        co_u32 two = 0, start = before & 0xffff, number = before >> 16;
        CO_EACH_ITEM (w, shape.threads / 32)
            two += co_read32(r->all + w * r->stride + row);
        co_u32 low = two & 0xffff, high = two >> 16, place = start | (start + low) << 16;
        CO_EACH_ITEM (w, shape.threads / 32) {
            co_u32 counters = co_read32(r->all + w * r->stride + row);
            co_write32(r->all + w * r->stride + row, place);
            place += counters;
        }
        split_mark(r, 2 * row, start, low, number, shape);
        number += low ? 1 : 0;
        split_mark(r, 2 * row + 1, start + low, high, number, shape);
        number += high ? 1 : 0;
        before = (start + low + high) | number << 16;
    }
    co_block_recast(r->slots, r->recast);
    return all & 0xffff;
}

/* Where the tile's runs go, and where those of the next tile will. */
CO_INLINE void split_advance(const struct split_room *r, struct split_shape shape)
{
    for (co_u32 b = co_thread(); b < r->buckets; b += shape.threads) {
        co_u32 start = co_read32(r->starts + b);
        if (start >> 16) {
            co_u64 next = co_read64(r->next + b);
            co_write64(r->delta + co_read16(r->numbers + b), next - (start & 0xffff));
            co_write64(r->next + b, next + (start >> 16));
        }
    }
}

/* ids[j], id | rank << 16, becomes id | place << 16. */
CO_INLINE void split_place(const struct split_room *r, co_u32 *ids, struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items)
        ids[j] += (co_u32)co_read16(r->counters + (ids[j] & 0xffff)) << 16;
}

/* ---- arrange ----------------------------------------------------------------------------------------------------------- */

/* Values of up to 4 bytes lie in words, those of 8 in double words. */
CO_INLINE void split_arrange(const struct split_room *r, const co_u32 *ids, const struct split_values *v,
                             co_u32 bytes, int loose, struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items)
        if (!loose || (ids[j] & 0xffff) < r->buckets) {
            if (shape.widest == 8 && bytes == 8)
                co_write64((co_u64 *)r->slots + (ids[j] >> 16), split_value(v, j, shape));
            else
                co_write32((co_u32 *)r->slots + (ids[j] >> 16), v->low[j]);
        }
}

/* ---- write ------------------------------------------------------------------------------------------------------------- */

CO_INLINE co_u64 split_slot(const struct split_room *r, co_u32 place, co_u32 bytes, struct split_shape shape)
{
    if (shape.widest == 8 && bytes == 8)
        return co_read64((const co_u64 *)r->slots + place);
    return co_read32((const co_u32 *)r->slots + place);
}

CO_INLINE void split_store(const struct split_part *part, co_u64 to, co_u64 v, co_u32 bytes)
{
    co_u8 *out = (co_u8 *)part->out;
    if (bytes == 1)
        co_write8(out + to, (co_u8)v);
    else if (bytes == 2)
        co_write16((co_u16 *)(out + to * 2), (co_u16)v);
    else if (bytes == 4)
        co_write32((co_u32 *)(out + to * 4), (co_u32)v);
    else
        co_write64((co_u64 *)(out + to * part->stride), v);
}

CO_INLINE void split_write_as(const struct split_room *r, const struct split_part *part, co_u32 kept,
                              co_u32 bytes, int loose, struct split_shape shape)
{
    co_u32 upto = (2u << co_lane()) - 1;
    CO_EACH_ITEM (i, shape.items) {
        co_u32 place = i * shape.threads + co_thread();
        co_u64 mark = co_read64((const co_u64 *)r->marks + i * (shape.threads / 32) + co_warp());
        co_u32 number = (co_u32)(mark >> 32) + co_ones32((co_u32)mark & upto) - 1;
        if (!loose || place < kept)
            split_store(part, co_read64(r->delta + number) + place, split_slot(r, place, bytes, shape),
                        bytes);
    }
}

CO_INLINE void split_write(const struct split_room *r, const struct split_part *part, co_u32 kept, int loose,
                           struct split_shape shape)
{
    if (part->bytes == 4)
        split_write_as(r, part, kept, 4, loose, shape);
    else if (part->bytes == 1)
        split_write_as(r, part, kept, 1, loose, shape);
    else if (part->bytes == 2)
        split_write_as(r, part, kept, 2, loose, shape);
    else if (shape.widest == 8)
        split_write_as(r, part, kept, 8, loose, shape);
}

#endif
