/* split_tile.h: how a block puts a tile of entries in order of their buckets, stably, in shared memory, and writes it out.
 *
 * A tile is `items` entries a lane; lane t of the block owns entries t * items to (t + 1) * items. `items` is odd, so that
 * lanes that go through their entries side by side never meet in a bank. The steps:
 *
 *   fetch, put  a column comes in by 16-byte reads, into registers while the work before is done, and then lies in `raw` as
 *               it lay in memory
 *   count       each lane counts its entries by bucket, in order, in counters of its own: 16 bits each, two buckets a word, the
 *               32 lanes of a warp side by side. The old count is the entry's rank among the lane's own of its bucket
 *   sum, scan   a lane adds up a row of counters (two buckets of a warp); every warp adds up all warps' sums: where in
 *               the tile each bucket begins, and the warp's part of it
 *   spread      the counters become the place of the lane's first entry of the bucket
 *   arrange     counter + rank is the entry's place; there goes a word: bucket | number of the entry << 16
 *   write       place by place, side by side: the word, the entry's value from `raw`, out it goes
 *
 * There is no vote and no atomic in it, and no step takes longer for some keys than for others, but for the banks that
 * places at random share. Entries whose id is `buckets` or more are left out.
 *
 * Shapes and widths are literals where these functions are used: loops over items are spelled out, and
 * arrays are registers. */
#ifndef COHORT_KERNELS_SPLIT_TILE_H
#define COHORT_KERNELS_SPLIT_TILE_H

#include "kernels/split_ids.h"

#define SPLIT_ITEMS_MOST 63

/* What an instance of the kernels is compiled for. */
struct split_shape {
    co_u32 items, threads; /* of a lane; of a block */
    co_u32 widest;         /* bytes an entry of what passes through `raw`, at most; items * widest <= 256 */
};

#define SPLIT_FETCHES 16 /* of 16 bytes a lane, at most */

CO_INLINE co_u32 split_fetches(struct split_shape shape)
{
    return (shape.items * shape.widest + 15) / 16;
}

/* A block's shared memory. */
struct split_room {
    co_u8 *raw;    /* a tile's values of one column; 16-byte aligned, as are the next two */
    co_u32 *words; /* the entries in order: bucket | number << 16; lies where the counters of all warps lay */
    co_u16 *counters; /* of this lane's warp: [row][lane][2] */
    co_u32 *sums;     /* [warp][row], two 16-bit sums each */
    co_u32 *bases;    /* [warp][row]: where the warp's first entries of the two buckets go */
    co_u32 *starts;   /* [bucket]: where it begins in the tile | how many entries << 16 */
    co_u64 *next;     /* [bucket]: where its next entry goes in the output */
    co_u64 *delta;    /* [bucket]: the same less its place in the tile */
    co_u32 shared;    /* bytes of raw and words */
    co_u32 rows;      /* of counters: half as many as digits, rounded up */
};

CO_INLINE struct split_room split_room_of(const struct split_step *s, co_u8 *memory, struct split_shape shape)
{
    struct split_layout l = split_layout(s, shape.items, shape.threads);
    struct split_room r;
    r.raw = memory;
    r.words = (co_u32 *)(memory + l.words);
    r.sums = (co_u32 *)(memory + l.sums);
    r.bases = (co_u32 *)(memory + l.bases);
    r.starts = (co_u32 *)(memory + l.starts);
    r.next = (co_u64 *)(memory + l.next);
    r.delta = (co_u64 *)(memory + l.delta);
    r.shared = l.sums;
    r.counters = 0;
    r.rows = 0;
    return r;
}

/* A round that sorts by so many digits. */
CO_INLINE void split_round(struct split_room *r, co_u32 digits)
{
    r->rows = split_rows(digits);
    r->counters = (co_u16 *)(r->words + co_warp() * r->rows * 32);
}

/* The block meets, and takes raw and words up again with other widths. */
CO_INLINE void split_meet(const struct split_room *r)
{
    co_block_recast(r->raw, r->shared);
}

/* ---- a column comes in ------------------------------------------------------------------------------------------------- */

/* For whole tiles of columns that are aligned to 16 bytes. */
CO_INLINE void split_fetch(co_u128 *next, const void *from, co_u64 first, co_u32 width,
                           struct split_shape shape)
{
    const co_u128 *at = (const co_u128 *)((const co_u8 *)from + first * width) + co_thread();
    co_u32 pieces = shape.items * shape.threads / 16 * width;
    CO_EACH_ITEM (g, split_fetches(shape))
        if (g * shape.threads + co_thread() < pieces)
            next[g] = co_read_stream128(at + g * shape.threads);
}

CO_INLINE void split_put(const struct split_room *r, const co_u128 *next, co_u32 width,
                         struct split_shape shape)
{
    co_u128 *to = (co_u128 *)r->raw + co_thread();
    co_u32 pieces = shape.items * shape.threads / 16 * width;
    CO_EACH_ITEM (g, split_fetches(shape))
        if (g * shape.threads + co_thread() < pieces)
            co_write128(to + g * shape.threads, next[g]);
}

/* For all others: entry by entry. */
CO_INLINE void split_put_slowly(const struct split_room *r, const void *from, co_u64 first, co_u32 count,
                                co_u32 width, struct split_shape shape)
{
    for (co_u32 e = co_thread(); e < count; e += shape.threads)
        switch (width) {
        case 1:
            co_write8(r->raw + e, co_read_stream8((const co_u8 *)from + first + e));
            break;
        case 2:
            co_write16((co_u16 *)r->raw + e, co_read_stream16((const co_u16 *)from + first + e));
            break;
        case 4:
            co_write32((co_u32 *)r->raw + e, co_read_stream32((const co_u32 *)from + first + e));
            break;
        default:
            co_write64((co_u64 *)r->raw + e, co_read_stream64((const co_u64 *)from + first + e));
        }
}

/* ---- what buckets this lane's entries are of --------------------------------------------------------------------------- */

/* `width` and `wide` are literals; so is `mine`, how many entries the lane has, in a whole tile. */
CO_INLINE void split_take(const struct split_room *r, const struct split_step *s, co_u32 *ids, co_u32 mine,
                          co_u32 width, struct split_shape shape)
{
    co_u64 keys[SPLIT_ITEMS_MOST];
    co_u32 first = co_thread() * shape.items;
    CO_EACH_ITEM (j, shape.items) {
        keys[j] = 0;
        if (j < mine)
            keys[j] = width == 1   ? co_read8(r->raw + first + j)
                      : width == 2 ? co_read16((co_u16 *)r->raw + first + j)
                      : width == 4 ? co_read32((co_u32 *)r->raw + first + j)
                                   : co_read64((co_u64 *)r->raw + first + j);
    }
    if (width < 4)
        CO_EACH_ITEM (j, shape.items)
            ids[j] = (co_u32)keys[j];
    else
        split_ids(s, keys, ids, shape.items, width == 8, 0);
    CO_EACH_ITEM (j, shape.items)
        ids[j] = j < mine ? ids[j] : SPLIT_BAD;
}

CO_INLINE void split_take_any(const struct split_room *r, const struct split_step *s, co_u32 *ids,
                              co_u32 mine, struct split_shape shape)
{
    if (s->source_bytes == 4)
        split_take(r, s, ids, mine, 4, shape);
    else if (s->source_bytes == 1)
        split_take(r, s, ids, mine, 1, shape);
    else if (s->source_bytes == 2)
        split_take(r, s, ids, mine, 2, shape);
    else if (shape.widest >= 8)
        split_take(r, s, ids, mine, 8, shape);
}

CO_INLINE void split_take_tile(const struct split_room *r, const struct split_step *s, co_u32 *ids,
                               co_u32 count, struct split_shape shape)
{
    co_u32 first = co_thread() * shape.items, mine = count > first ? count - first : 0;
    if (count == shape.items * shape.threads)
        split_take_any(r, s, ids, shape.items, shape);
    else
        split_take_any(r, s, ids, mine, shape);
}

/* ---- count ------------------------------------------------------------------------------------------------------------- */

/* Each warp by itself. */
CO_INLINE void split_clear(const struct split_room *r)
{
    co_u128 *counters = (co_u128 *)r->counters;
    for (co_u32 i = co_lane(); i < r->rows * 8; i += 32)
        co_write128(counters + i, co_make128(0, 0));
    co_warp_recast(counters, r->rows * 128);
}

/* Where this lane counts a digit. */
CO_INLINE co_u32 split_counter(co_u32 digit)
{
    return (digit >> 1) * 64 + co_lane() * 2 + (digit & 1);
}

/* Counts the digits (id >> shift) & mask. ids[j] becomes id | rank << 16, or SPLIT_BAD. */
CO_INLINE void split_count(const struct split_room *r, co_u32 *ids, co_u32 buckets, co_u32 shift, co_u32 mask,
                           struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        if (ids[j] < buckets) {
            co_u16 *counter = r->counters + split_counter(ids[j] >> shift & mask);
            co_u32 rank = co_read16(counter);
            co_write16(counter, (co_u16)(rank + 1));
            ids[j] |= rank << 16;
        } else
            ids[j] = SPLIT_BAD;
    }
}

/* ---- sum, scan, spread ------------------------------------------------------------------------------------------------- */

/* A row's 32 words are read in eight pieces, each lane beginning with another one: no two lanes meet in a bank. */
CO_INLINE co_u32 split_piece(co_u32 i)
{
    return (i + co_lane()) & 7;
}

CO_INLINE co_u32 split_piece_sum(co_u128 v)
{
    return (co_u32)v.lo + (co_u32)(v.lo >> 32) + (co_u32)v.hi + (co_u32)(v.hi >> 32);
}

CO_INLINE void split_sum(const struct split_room *r)
{
    co_warp_recast(r->counters, r->rows * 128);
    for (co_u32 row = co_lane(); row < r->rows; row += 32) {
        const co_u128 *pieces = (const co_u128 *)r->counters + row * 8;
        co_u32 sum = 0;
        CO_EACH_ITEM (i, 8)
            sum += split_piece_sum(co_read128(pieces + split_piece(i)));
        co_write32(r->sums + co_warp() * r->rows + row, sum);
    }
    co_block_sync();
}

CO_INLINE co_u32 split_warp_before(co_u32 v)
{
    co_u32 sum = v;
    for (co_u32 d = 1; d < 32; d <<= 1) {
        co_u32 other = co_shuffle32(CO_FULL_WARP, sum, co_lane() - d);
        sum += co_lane() >= d ? other : 0;
    }
    return sum - v;
}

/* Every warp does the whole, and writes its part of the starts. The number of entries that are not left out. */
CO_INLINE co_u32 split_scan(const struct split_room *r, struct split_shape shape)
{
    co_u32 warps = shape.threads / 32, each = (r->rows + 31) / 32, first = co_lane() * each, sum = 0;
    co_u32 end = first + each < r->rows ? first + each : r->rows;
    for (co_u32 row = first; row < end; row++)
        for (co_u32 w = 0; w < warps; w++) {
            co_u32 v = co_read32(r->sums + w * r->rows + row);
            sum += (v & 0xffff) + (v >> 16);
        }
    co_u32 before = split_warp_before(sum);
    for (co_u32 row = first; row < end; row++) {
        co_u32 mine = 0, all = 0;
        for (co_u32 w = 0; w < warps; w++) {
            co_u32 v = co_read32(r->sums + w * r->rows + row);
            mine += w < co_warp() ? v : 0;
            all += v;
        }
        co_u32 low = all & 0xffff, high = all >> 16;
        co_write32(r->bases + co_warp() * r->rows + row, mine + (before | (before + low) << 16));
        if (row % warps == co_warp()) {
            co_write32(r->starts + 2 * row, before | low << 16);
            co_write32(r->starts + 2 * row + 1, (before + low) | high << 16);
        }
        before += low + high;
    }
    co_warp_sync(CO_FULL_WARP);
    return co_shuffle32(CO_FULL_WARP, before, 31);
}

/* Where the rotation of the pieces begins anew, the sum starts again at 0: what comes after it in the row has been summed
 * before. In all arithmetic the two halves stay apart: no true value passes 16 bits. */
CO_INLINE void split_spread(const struct split_room *r)
{
    for (co_u32 row = co_lane(); row < r->rows; row += 32) {
        co_u128 *pieces = (co_u128 *)r->counters + row * 8;
        co_u128 v[8];
        co_u32 sum = 0, begin = 0, base = co_read32(r->bases + co_warp() * r->rows + row);
        CO_EACH_ITEM (i, 8) {
            v[i] = co_read128(pieces + split_piece(i));
            begin = split_piece(i) == 0 ? sum : begin; /* the sum before piece 0 */
            sum += split_piece_sum(v[i]);
        }
        co_u32 before = base + sum - begin; /* of the first piece read, were it not piece 0 */
        CO_EACH_ITEM (i, 8) {
            before = split_piece(i) == 0 ? base : before;
            co_u32 a = before, b = a + (co_u32)v[i].lo, c = b + (co_u32)(v[i].lo >> 32),
                   d = c + (co_u32)v[i].hi;
            before = d + (co_u32)(v[i].hi >> 32);
            co_write128(pieces + split_piece(i), co_make128(a | (co_u64)b << 32, c | (co_u64)d << 32));
        }
    }
    co_warp_recast(r->counters, r->rows * 128);
}

/* ---- arrange ----------------------------------------------------------------------------------------------------------- */

/* ids[j], id | rank << 16, becomes id | place << 16. Then the block meets: the counters have been used. */
CO_INLINE void split_place(const struct split_room *r, co_u32 *ids, co_u32 shift, co_u32 mask,
                           struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items)
        if (ids[j] != SPLIT_BAD) {
            co_u32 id = ids[j] & 0xffff;
            co_u32 first = co_read16(r->counters + split_counter(id >> shift & mask));
            ids[j] = id | ((ids[j] >> 16) + first) << 16;
        }
    split_meet(r);
}

/* Entry j of this lane's goes to its place. The block meets. */
CO_INLINE void split_arrange(const struct split_room *r, const co_u32 *ids, const co_u32 *numbers,
                             struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items)
        if (ids[j] != SPLIT_BAD)
            co_write32(r->words + (ids[j] >> 16), (ids[j] & 0xffff) | numbers[j] << 16);
    co_block_sync();
}

/* What lies at this lane's places; the block meets, and the counters may be cleared. */
CO_INLINE void split_again(const struct split_room *r, co_u32 *ids, co_u32 *numbers, co_u32 kept,
                           struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = co_thread() * shape.items + j;
        co_u32 word = place < kept ? co_read32(r->words + place) : SPLIT_BAD;
        ids[j] = place < kept ? word & 0xffff : SPLIT_BAD;
        numbers[j] = word >> 16;
    }
    split_meet(r);
}

/* After a place, before an arrange: where the tile's runs go, and where the next tile's will. */
CO_INLINE void split_advance(const struct split_room *r, co_u32 buckets, struct split_shape shape)
{
    for (co_u32 b = co_thread(); b < buckets; b += shape.threads) {
        co_u32 start = co_read32(r->starts + b);
        co_u64 next = co_read64(r->next + b);
        co_write64(r->delta + b, next - (start & 0xffff));
        co_write64(r->next + b, next + (start >> 16));
    }
}

/* The same after the last arrange of two, where no scan has seen whole buckets: a run begins where the word before is of
 * another bucket. */
CO_INLINE void split_advance_runs(const struct split_room *r, co_u32 kept, struct split_shape shape)
{
    for (co_u32 place = co_thread(); place < kept; place += shape.threads) {
        co_u32 id = co_read32(r->words + place) & 0xffff;
        if (place == 0 || (co_read32(r->words + place - 1) & 0xffff) != id)
            co_write64(r->delta + id, co_read64(r->next + id) - place);
    }
    co_block_sync();
    for (co_u32 place = co_thread(); place < kept; place += shape.threads) {
        co_u32 id = co_read32(r->words + place) & 0xffff;
        if (place + 1 == kept || (co_read32(r->words + place + 1) & 0xffff) != id)
            co_write64(r->next + id, co_read64(r->delta + id) + place + 1);
    }
}

/* ---- write ------------------------------------------------------------------------------------------------------------- */

/* `kind`, a literal: the width of a column that lies in `raw`; 0 and 3: a permutation of 4 and of 8 bytes an entry; 16: a column
 * that is read where it is, a tile's part of it being in the caches. */
CO_INLINE void split_write_one(const struct split_room *r, void *out, const void *in, co_u64 first,
                               co_u32 place, co_u32 kind)
{
    co_u32 word = co_read32(r->words + place), number = word >> 16;
    co_u64 to = co_read64(r->delta + (word & 0xffff)) + place;
    if (kind == 4)
        co_write32((co_u32 *)out + to, co_read32((const co_u32 *)r->raw + number));
    else if (kind == 8)
        co_write64((co_u64 *)out + to, co_read64((const co_u64 *)r->raw + number));
    else if (kind == 1)
        co_write8((co_u8 *)out + to, co_read8(r->raw + number));
    else if (kind == 2)
        co_write16((co_u16 *)out + to, co_read16((const co_u16 *)r->raw + number));
    else if (kind == 0)
        co_write32((co_u32 *)out + to, (co_u32)(first + number));
    else if (kind == 3)
        co_write64((co_u64 *)out + to, first + number);
    else
        co_write128((co_u128 *)out + to, co_read128((const co_u128 *)in + first + number));
}

CO_INLINE void split_write(const struct split_room *r, void *out, const void *in, co_u64 first, co_u32 kept,
                           co_u32 kind, struct split_shape shape)
{
    if (kept == shape.items * shape.threads)
        CO_EACH_ITEM (i, shape.items)
            split_write_one(r, out, in, first, i * shape.threads + co_thread(), kind);
    else
        for (co_u32 place = co_thread(); place < kept; place += shape.threads)
            split_write_one(r, out, in, first, place, kind);
}

CO_INLINE void split_write_column(const struct split_room *r, const struct split_column *c, co_u64 first,
                                  co_u32 kept, struct split_shape shape)
{
    switch (c->bytes) {
    case 1:
        split_write(r, c->out, c->in, first, kept, 1, shape);
        break;
    case 2:
        split_write(r, c->out, c->in, first, kept, 2, shape);
        break;
    case 4:
        split_write(r, c->out, c->in, first, kept, 4, shape);
        break;
    case 8:
        split_write(r, c->out, c->in, first, kept, 8, shape);
        break;
    default:
        split_write(r, c->out, c->in, first, kept, 16, shape);
    }
}

#endif
