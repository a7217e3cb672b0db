/* multisplit.cu: the kernels of a multisplit by blocks: count the spans, and put them in their places.
 *
 * Count: a block counts a span's entries by bucket in shared memory, and writes a column of the table. Where a bucket function
 * is costly it also leaves the ids behind, as bytes or 16-bit words, for the second launch to read.
 *
 * Place: a block goes through its spans tile by tile. In shared memory it keeps where the span's next entry of each bucket goes; a
 * tile is put in order (split_tile.h) and written in runs, which continue those of the tile before, so that the sectors that
 * two tiles share meet in L2. */
#include "kernels/split_tile.h"

/* ---- count ------------------------------------------------------------------------------------------------------------- */

CO_INLINE void split_tally_one(const struct split_step *s, co_u32 *bins, co_u32 id, co_u64 i)
{
    if (id < s->fn.buckets)
        co_add32(bins + id, 1);
    else
        co_min64(s->first_bad, i);
}

CO_INLINE void split_leave_id(const struct split_step *s, co_u64 i, co_u32 id)
{
    co_u32 kept = id < s->fn.buckets ? id : SPLIT_BAD;
    if (s->ids_bytes == 1)
        co_write8((co_u8 *)s->ids_out + i, (co_u8)kept);
    else
        co_write16((co_u16 *)s->ids_out + i, (co_u16)kept);
}

/* The ids of the entries of one 16-byte piece. */
CO_INLINE void split_leave_ids(const struct split_step *s, co_u64 piece, const co_u32 *ids, co_u32 n)
{
    co_u64 bytes = 0, words = 0;
    CO_EACH_ITEM (j, n) {
        co_u32 kept = ids[j] < s->fn.buckets ? ids[j] : SPLIT_BAD;
        bytes |= (co_u64)(kept & 0xff) << 8 * j;
        words |= (co_u64)(kept & 0xffff) << 16 * j;
    }
    if (n == 4 && s->ids_bytes == 1)
        co_write32((co_u32 *)s->ids_out + piece, (co_u32)bytes);
    else if (n == 4)
        co_write64((co_u64 *)s->ids_out + piece, words);
    else if (s->ids_bytes == 1)
        co_write16((co_u16 *)s->ids_out + piece, (co_u16)bytes);
    else
        co_write32((co_u32 *)s->ids_out + piece, (co_u32)words);
}

CO_INLINE co_u64 split_piece_key(co_u128 v, co_u32 j, co_u32 width)
{
    co_u64 half = j * width < 8 ? v.lo : v.hi;
    return width == 8 ? half : half >> j * width % 8 * 8 & ((1ull << width % 8 * 8) - 1);
}

CO_INLINE void split_tally_pieces(const struct split_step *s, co_u32 *bins, co_u64 piece, co_u32 width)
{
    const co_u32 each = 16 / width;
    co_u128 v[SPLIT_COUNT_AT_ONCE];
    CO_EACH_ITEM (k, SPLIT_COUNT_AT_ONCE)
        v[k] = co_read128((const co_u128 *)s->source + piece + k * co_threads());
    CO_EACH_ITEM (k, SPLIT_COUNT_AT_ONCE) {
        co_u64 keys[16], at = piece + k * co_threads();
        co_u32 ids[16];
        CO_EACH_ITEM (j, each)
            keys[j] = split_piece_key(v[k], j, width);
        if (width < 4)
            CO_EACH_ITEM (j, each)
                ids[j] = (co_u32)keys[j];
        else
            split_ids(s, keys, ids, each, width == 8, 1);
        CO_EACH_ITEM (j, each)
            split_tally_one(s, bins, ids[j], at * each + j);
        if (width >= 4 && s->ids_out)
            split_leave_ids(s, at, ids, each);
    }
}

CO_INLINE void split_tally_entry(const struct split_step *s, co_u32 *bins, co_u64 i, co_u32 width)
{
    co_u64 key = width == 1   ? co_read8((const co_u8 *)s->source + i)
                 : width == 2 ? co_read16((const co_u16 *)s->source + i)
                 : width == 4 ? co_read32((const co_u32 *)s->source + i)
                              : co_read64((const co_u64 *)s->source + i);
    co_u32 id = (co_u32)key;
    if (width >= 4)
        split_ids(s, &key, &id, 1, width == 8, 1);
    split_tally_one(s, bins, id, i);
    if (width >= 4 && s->ids_out)
        split_leave_id(s, i, id);
}

/* Whole batches of pieces, then what is left, or all where the column is not aligned, entry by entry. */
CO_INLINE void split_tally_span(const struct split_step *s, co_u32 *bins, co_u64 first, co_u64 end,
                                co_u32 width)
{
    co_u64 batch = (co_u64)co_threads() * SPLIT_COUNT_AT_ONCE * 16 / width;
    if (((co_u64)s->source & 15) == 0)
        for (; first + batch <= end; first += batch)
            split_tally_pieces(s, bins, first * width / 16 + co_thread(), width);
    for (co_u64 i = first + co_thread(); i < end; i += co_threads())
        split_tally_entry(s, bins, i, width);
}

CO_INLINE void split_tally(const struct split_step *s, co_u32 *bins, co_u32 width)
{
    for (co_u64 span = co_block(); span < s->spans; span += co_blocks()) {
        co_u64 first = span * s->span, end = first + s->span < s->n ? first + s->span : s->n;
        for (co_u32 b = co_thread(); b < s->fn.buckets; b += co_threads())
            co_write32(bins + b, 0);
        co_block_sync();
        split_tally_span(s, bins, first, end, width);
        co_block_sync();
        for (co_u32 b = co_thread(); b < s->fn.buckets; b += co_threads())
            co_write64(s->table + b * s->spans + span, co_load32(bins + b));
        co_block_sync();
    }
}

CO_KERNEL(multisplit_tally_8, struct split_step)
{
    CO_SHARED_DYNAMIC(co_u32, bins);
    split_tally(args, bins, 1);
}
CO_KERNEL(multisplit_tally_16, struct split_step)
{
    CO_SHARED_DYNAMIC(co_u32, bins);
    split_tally(args, bins, 2);
}
CO_KERNEL(multisplit_tally_32, struct split_step)
{
    CO_SHARED_DYNAMIC(co_u32, bins);
    split_tally(args, bins, 4);
}
CO_KERNEL(multisplit_tally_64, struct split_step)
{
    CO_SHARED_DYNAMIC(co_u32, bins);
    split_tally(args, bins, 8);
}

/* ---- place ------------------------------------------------------------------------------------------------------------- */

/* Columns pass through shared memory one after the other, the source of the ids first. What comes next is always on its way into
 * registers. */
struct split_walk {
    co_u64 span, first, end; /* the tile: of which span, from which entry, and where the span ends */
    co_u32 count;            /* of the tile */
    int fetched;             /* what comes next is in registers */
};

CO_INLINE co_u64 split_span_end(const struct split_step *s, co_u64 span)
{
    return (span + 1) * s->span < s->n ? (span + 1) * s->span : s->n;
}

CO_INLINE void split_ready(struct split_walk *w, co_u128 *next, const void *from, co_u32 width, co_u64 first,
                           co_u32 count, struct split_shape shape)
{
    w->fetched = count == shape.items * shape.threads && ((co_u64)from & 15) == 0;
    if (w->fetched)
        split_fetch(next, from, first, width, shape);
}

/* The first tile's, or the one's after that which `w` is at. */
CO_INLINE void split_ready_tile(const struct split_step *s, struct split_walk *w, co_u128 *next, co_u64 first,
                                co_u64 end, struct split_shape shape)
{
    co_u64 tile = (co_u64)shape.items * shape.threads;
    if (first >= end) { /* the block's next span */
        co_u64 span = w->span + co_blocks();
        w->fetched = 0;
        if (span >= s->spans)
            return;
        first = span * s->span;
        end = split_span_end(s, span);
    }
    split_ready(w, next, s->source, s->source_bytes, first, (co_u32)(end - first < tile ? end - first : tile),
                shape);
}

CO_INLINE void split_bring(const struct split_room *r, const struct split_walk *w, const co_u128 *next,
                           const void *from, co_u32 width, struct split_shape shape)
{
    if (w->fetched)
        split_put(r, next, width, shape);
    else
        split_put_slowly(r, from, w->first, w->count, width, shape);
    split_meet(r);
}

/* The tile's words, in order; how many. */
CO_INLINE co_u32 split_sort_tile(const struct split_step *s, struct split_room *r, co_u32 count,
                                 co_u32 rounds, struct split_shape shape)
{
    co_u32 ids[SPLIT_ITEMS_MOST], numbers[SPLIT_ITEMS_MOST], kept = 0;
    split_take_tile(r, s, ids, count, shape);
    CO_EACH_ITEM (j, shape.items)
        numbers[j] = co_thread() * shape.items + j;
    CO_EACH_ITEM (round, rounds) {
        co_u32 shift = round ? s->low_bits : 0;
        co_u32 mask = rounds == 2 && !round ? (1u << s->low_bits) - 1 : 0xffff;
        if (round)
            split_again(r, ids, numbers, kept, shape);
        split_round(r, round ? split_high_digits(s) : split_low_digits(s));
        split_clear(r);
        split_count(r, ids, s->fn.buckets, shift, mask, shape);
        split_sum(r);
        kept = split_scan(r, shape);
        split_spread(r);
        split_place(r, ids, shift, mask, shape);
        if (rounds == 1)
            split_advance(r, s->fn.buckets, shape);
        split_arrange(r, ids, numbers, shape);
    }
    if (rounds == 2) {
        split_advance_runs(r, kept, shape);
        co_block_sync();
    }
    return kept;
}

/* Does column c still have to go through `raw`? It may be there as the source, or be too wide. */
CO_INLINE int split_is_staged(const struct split_step *s, co_u32 c)
{
    const struct split_column *column = s->column + c;
    return column->bytes <= s->raw_bytes && (column->in != s->source || column->bytes != s->source_bytes);
}

CO_INLINE co_u32 split_next_staged(const struct split_step *s, co_u32 c)
{
    while (c < s->columns && !split_is_staged(s, c))
        c++;
    return c;
}

CO_INLINE void split_ready_next(const struct split_step *s, struct split_walk *w, co_u128 *next, co_u32 c,
                                struct split_shape shape)
{
    if (c < s->columns)
        split_ready(w, next, s->column[c].in, s->column[c].bytes, w->first, w->count, shape);
    else
        split_ready_tile(s, w, next, w->first + w->count, w->end, shape);
}

CO_INLINE void split_tile(const struct split_step *s, struct split_room *r, struct split_walk *w,
                          co_u128 *next, co_u32 rounds, struct split_shape shape)
{
    co_u32 staged = split_next_staged(s, 0);
    split_bring(r, w, next, s->source, s->source_bytes, shape);
    split_ready_next(s, w, next, staged, shape);
    co_u32 kept = split_sort_tile(s, r, w->count, rounds, shape);
    if (s->permutation && s->permutation_bytes == 4)
        split_write(r, s->permutation, 0, w->first, kept, 0, shape);
    else if (s->permutation)
        split_write(r, s->permutation, 0, w->first, kept, 3, shape);
    for (co_u32 c = 0; c < s->columns; c++)
        if (!split_is_staged(s, c))
            split_write_column(r, s->column + c, w->first, kept, shape);
    while (staged < s->columns) {
        const struct split_column *c = s->column + staged;
        split_meet(r);
        split_bring(r, w, next, c->in, c->bytes, shape);
        staged = split_next_staged(s, staged + 1);
        split_ready_next(s, w, next, staged, shape);
        split_write_column(r, c, w->first, kept, shape);
    }
    split_meet(r);
}

CO_INLINE void split_outcome(const struct split_step *s)
{
    co_u64 kept = co_read64(s->table + s->fn.buckets * s->spans);
    if (s->offsets)
        for (co_u64 b = co_thread(); b <= s->fn.buckets; b += co_threads())
            co_write64(s->offsets + b, co_read64(s->table + b * s->spans));
    if (co_thread())
        return;
    co_u64 bad = kept < s->n ? co_read64(s->first_bad) : ~0ull;
    if (kept < s->n)
        co_min64(&s->deferred->first_bad, bad);
    if (!s->counts)
        return;
    co_write64(&s->counts->taken, s->n);
    co_write64(&s->counts->hits, 0);
    co_write64(&s->counts->added, kept);
    co_write64(&s->counts->failed, s->n - kept);
    co_write64(&s->counts->first_failed, bad);
}

CO_INLINE void split_place_spans(const struct split_step *s, co_u8 *memory, co_u32 rounds,
                                 struct split_shape shape)
{
    struct split_room r = split_room_of(s, memory, shape);
    struct split_walk w;
    co_u128 next[SPLIT_FETCHES];
    if (co_block() == 0)
        split_outcome(s);
    w.span = (co_u64)co_block() - co_blocks();
    split_ready_tile(s, &w, next, 0, 0, shape);
    for (w.span = co_block(); w.span < s->spans; w.span += co_blocks()) {
        for (co_u32 b = co_thread(); b < s->fn.buckets; b += shape.threads)
            co_write64(r.next + b, co_read64(s->table + b * s->spans + w.span));
        w.end = split_span_end(s, w.span);
        for (w.first = w.span * s->span; w.first < w.end; w.first += shape.items * shape.threads) {
            w.count = w.end - w.first < shape.items * shape.threads ? (co_u32)(w.end - w.first)
                                                                    : shape.items * shape.threads;
            split_tile(s, &r, &w, next, rounds, shape);
        }
    }
}

/* The instances: items a lane, lanes a block, bytes of the widest column in shared memory; rounds; blocks a multiprocessor. */
#define SPLIT_PLACE(items, threads, widest, rounds, blocks)                                                 \
    CO_KERNEL_BOUND(multisplit_place_##items##x##threads##_##widest##_##rounds, struct split_step, threads, \
                    blocks)                                                                                 \
    {                                                                                                       \
        struct split_shape shape = {items, threads, widest};                                                \
        CO_SHARED_DYNAMIC(co_u8, memory);                                                                   \
        split_place_spans(args, memory, rounds, shape);                                                     \
    }

SPLIT_PLACE(7, 64, 8, 1, 1)
SPLIT_PLACE(7, 64, 8, 2, 1)
SPLIT_PLACE(15, 256, 4, 1, 4)
SPLIT_PLACE(31, 256, 4, 1, 2)
SPLIT_PLACE(63, 64, 4, 1, 4)
SPLIT_PLACE(63, 256, 4, 2, 1)
