/* multisplit.cu: the kernels of a multisplit by blocks: count the spans, and put them in their places.
 *
 * Count: a block counts a span's entries by bucket in shared memory, and writes a column of the table. Where a bucket function
 * is costly it also leaves the ids behind, as bytes or 16-bit words, for the second launch to read.
 *
 * Place: a block goes through its spans tile by tile. In shared memory it keeps where the span's next entry of each bucket goes; a
 * tile is put in order (split_tile.h) and written in runs, which continue those of the tile before, so that the sectors that
 * two tiles share meet in L2. */
#include "kernels/split_outcome.h"
#include "kernels/split_tile.h"

/* ---- count ------------------------------------------------------------------------------------------------------------- */

/* Bad ids become the number of buckets, which has a bin of its own. */
CO_INLINE void split_tally_ids(const struct split_step *s, co_u32 *bins, co_u32 *ids, co_u32 n)
{
    CO_EACH_ITEM (j, n) {
        ids[j] = ids[j] < s->fn.buckets ? ids[j] : s->fn.buckets;
        co_add32(bins + ids[j], 1);
    }
}

CO_INLINE void split_leave_id(const struct split_step *s, co_u64 i, co_u32 id)
{
    if (s->ids_bytes == 1)
        co_write8((co_u8 *)s->ids_out + i, (co_u8)id);
    else
        co_write16((co_u16 *)s->ids_out + i, (co_u16)id);
}

/* The ids of the entries of one 16-byte piece. */
CO_INLINE void split_leave_ids(const struct split_step *s, co_u64 piece, const co_u32 *ids, co_u32 n)
{
    co_u64 bytes = 0, words = 0;
    CO_EACH_ITEM (j, n) {
        bytes |= (co_u64)ids[j] << 8 * j;
        words |= (co_u64)ids[j] << 16 * j;
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
        v[k] = co_read128((const co_u128 *)s->part[0].in + piece + k * co_threads());
    CO_EACH_ITEM (k, SPLIT_COUNT_AT_ONCE) {
        co_u64 keys[16];
        co_u32 ids[16];
        CO_EACH_ITEM (j, each)
            keys[j] = split_piece_key(v[k], j, width);
        if (width < 4)
            CO_EACH_ITEM (j, each)
                ids[j] = (co_u32)keys[j];
        else
            split_ids(s, keys, ids, each, width == 8);
        split_tally_ids(s, bins, ids, each);
        if (width >= 4 && s->ids_out)
            split_leave_ids(s, piece + k * co_threads(), ids, each);
    }
}

CO_INLINE co_u32 split_entry_id(const struct split_step *s, co_u64 i, co_u32 width)
{
    co_u64 key = width == 1   ? co_read8((const co_u8 *)s->part[0].in + i)
                 : width == 2 ? co_read16((const co_u16 *)s->part[0].in + i)
                 : width == 4 ? co_read32((const co_u32 *)s->part[0].in + i)
                              : co_read64((const co_u64 *)s->part[0].in + i);
    co_u32 id = (co_u32)key;
    if (width >= 4)
        split_ids(s, &key, &id, 1, width == 8);
    return id;
}

/* Whole batches of pieces, then what is left, or all where the column is not aligned, entry by entry. */
CO_INLINE void split_tally_span(const struct split_step *s, co_u32 *bins, co_u64 first, co_u64 end,
                                co_u32 width)
{
    co_u64 batch = (co_u64)co_threads() * SPLIT_COUNT_AT_ONCE * 16 / width;
    if (((co_u64)s->part[0].in & 15) == 0)
        for (; first + batch <= end; first += batch)
            split_tally_pieces(s, bins, first * width / 16 + co_thread(), width);
    for (co_u64 i = first + co_thread(); i < end; i += co_threads()) {
        co_u32 id = split_entry_id(s, i, width);
        split_tally_ids(s, bins, &id, 1);
        if (width >= 4 && s->ids_out)
            split_leave_id(s, i, id);
    }
}

/* The span has a bad id: which is the first? */
CO_INLINE void split_find_bad(const struct split_step *s, co_u64 first, co_u64 end, co_u32 width)
{
    for (co_u64 i = first + co_thread(); i < end; i += co_threads())
        if (split_entry_id(s, i, width) >= s->fn.buckets) {
            co_min64(s->first_bad, i);
            return;
        }
}

CO_INLINE void split_tally(const struct split_step *s, co_u32 *bins, co_u32 width)
{
    for (co_u64 span = co_block(); span < s->spans; span += co_blocks()) {
        co_u64 first = span * s->span, end = first + s->span < s->n ? first + s->span : s->n;
        for (co_u32 b = co_thread(); b <= s->fn.buckets; b += co_threads())
            co_write32(bins + b, 0);
        co_block_sync();
        split_tally_span(s, bins, first, end, width);
        co_block_sync();
        for (co_u32 b = co_thread(); b < s->fn.buckets; b += co_threads())
            co_write64(s->table + b * s->spans + span, co_load32(bins + b));
        if (co_load32(bins + s->fn.buckets))
            split_find_bad(s, first, end, width);
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

/* ---- counts alone, and digits ------------------------------------------------------------------------------------------ */

/* Bins beyond shared memory: each entry by itself. */
CO_INLINE void split_count_far(const struct split_step *s, co_u64 first, co_u64 end, co_u32 width)
{
    for (co_u64 i = first + co_thread(); i < end; i += co_threads()) {
        co_u32 id = split_entry_id(s, i, width);
        if (id < s->fn.buckets)
            co_add64(s->table + id, 1);
        else
            co_min64(s->first_bad, i);
    }
}

/* A block counts its span, and adds what it has to the bins. */
CO_INLINE void split_count(const struct split_step *s, co_u32 *bins, co_u32 width)
{
    co_u64 first = co_block() * s->span, end = first + s->span < s->n ? first + s->span : s->n;
    if (first >= end)
        return;
    if (!s->in_shared) {
        split_count_far(s, first, end, width);
        return;
    }
    for (co_u32 b = co_thread(); b <= s->fn.buckets; b += co_threads())
        co_write32(bins + b, 0);
    co_block_sync();
    split_tally_span(s, bins, first, end, width);
    co_block_sync();
    for (co_u32 b = co_thread(); b < s->fn.buckets; b += co_threads()) {
        co_u32 entries = co_load32(bins + b);
        if (entries)
            co_add64(s->table + b, entries);
    }
    if (co_load32(bins + s->fn.buckets))
        split_find_bad(s, first, end, width);
}

/* The low and the high halves of the ids; of bad ones numbers that are no digit. */
CO_INLINE void split_digits(const struct split_step *s, co_u32 width)
{
    CO_EACH_WARP (base, s->n) {
        co_u64 i = base + co_lane();
        if (i >= s->n)
            continue;
        co_u32 id = split_entry_id(s, i, width);
        int bad = id >= s->fn.buckets;
        co_write16((co_u16 *)s->ids_out + i, (co_u16)(bad ? 0xffff : id & 255));
        co_write16(s->high_out + i, (co_u16)(bad ? 0xffff : id >> 8));
    }
}

#define SPLIT_SOURCE(bits)                                 \
    CO_KERNEL(multisplit_count_##bits, struct split_step)  \
    {                                                      \
        CO_SHARED_DYNAMIC(co_u32, bins);                   \
        split_count(args, bins, bits / 8);                 \
    }                                                      \
    CO_KERNEL(multisplit_digits_##bits, struct split_step) \
    {                                                      \
        split_digits(args, bits / 8);                      \
    }

SPLIT_SOURCE(8)
SPLIT_SOURCE(16)
SPLIT_SOURCE(32)
SPLIT_SOURCE(64)

/* How a count went: a block sums up its bins. */
CO_KERNEL(multisplit_count_outcome, struct split_step)
{
    CO_SHARED(co_u64, kept, 1);
    co_u64 sum = 0;
    if (co_thread() == 0)
        co_store64(kept, 0);
    co_block_sync();
    for (co_u64 b = co_thread(); b < args->fn.buckets; b += co_threads())
        sum += co_read64(args->table + b);
    co_add64(kept, sum);
    co_block_sync();
    if (co_thread())
        return;
    co_u64 bad = args->n - co_load64(kept), first = bad ? co_read64(args->first_bad) : ~0ull;
    if (bad)
        co_min64(&args->deferred->first_bad, first);
    if (!args->counts)
        return;
    co_write64(&args->counts->taken, args->n);
    co_write64(&args->counts->hits, 0);
    co_write64(&args->counts->added, args->n - bad);
    co_write64(&args->counts->failed, bad);
    co_write64(&args->counts->first_failed, first);
}

/* ---- place ------------------------------------------------------------------------------------------------------------- */

/* Where a block is in its walk over spans and their tiles. */
struct split_walk {
    co_u64 span, first, end; /* the tile's span, the tile's first entry, where the span ends */
};

CO_INLINE co_u64 split_span_end(const struct split_step *s, co_u64 span)
{
    return (span + 1) * s->span < s->n ? (span + 1) * s->span : s->n;
}

CO_INLINE void split_enter_span(const struct split_step *s, struct split_walk *w, co_u64 span)
{
    w->span = span;
    w->first = span * s->span;
    w->end = span < s->spans ? split_span_end(s, span) : 0;
}

/* The next tile; first = end = 0 beyond the last. */
CO_INLINE void split_step_on(const struct split_step *s, struct split_walk *w, struct split_shape shape)
{
    w->first += shape.items * shape.threads;
    if (w->first >= w->end)
        split_enter_span(s, w, w->span + co_blocks());
}

CO_INLINE co_u32 split_tile_count(const struct split_walk *w, struct split_shape shape)
{
    co_u64 left = w->first < w->end ? w->end - w->first : 0;
    return left < shape.items * shape.threads ? (co_u32)left : shape.items * shape.threads;
}

/* What is loaded next: part `p` of this tile, or the source of the one after. */
CO_INLINE void split_load_next(const struct split_step *s, struct split_values *v, const struct split_walk *w,
                               co_u32 p, struct split_shape shape)
{
    struct split_walk at = *w;
    if (p == s->parts) {
        split_step_on(s, &at, shape);
        p = 0;
    }
    co_u32 count = split_tile_count(&at, shape);
    if (count == shape.items * shape.threads)
        split_load(v, s->part + p, at.first, count, 0, shape);
    else
        split_load(v, s->part + p, at.first, count, 1, shape);
}

CO_INLINE void split_find_ids(const struct split_step *s, const struct split_values *v, co_u32 *ids,
                              struct split_shape shape)
{
    co_u64 keys[SPLIT_ITEMS_MOST];
    CO_EACH_ITEM (j, shape.items)
        keys[j] = split_value(v, j, shape);
    if (shape.widest == 8 && s->part[0].bytes == 8)
        split_easy_ids(s, keys, ids, shape.items, 1);
    else
        split_easy_ids(s, keys, ids, shape.items, 0);
}

/* v: the source's values, loaded; afterwards those of the next tile's. */
CO_INLINE void split_tile(const struct split_step *s, const struct split_room *r, const struct split_walk *w,
                          struct split_values *v, co_u32 count, int loose, struct split_shape shape)
{
    co_u32 ids[SPLIT_ITEMS_MOST];
    split_clear(r);
    split_find_ids(s, v, ids, shape);
    if (loose)
        CO_EACH_ITEM (j, shape.items)
            ids[j] = split_first(shape) + j * 32 < count ? ids[j] : SPLIT_BAD;
    split_rank(r, ids, loose, shape);
    co_u32 kept = split_scan(r, shape);
    split_place(r, ids, shape);
    split_advance(r, shape);
    for (co_u32 p = 0; p < s->parts; p++) {
        const struct split_part *part = s->part + p;
        if (p)
            co_block_recast(r->slots, shape.items * shape.threads * shape.widest);
        if (part->out)
            split_arrange(r, ids, v, part->bytes, loose, shape);
        co_block_sync();
        split_load_next(s, v, w, p + 1, shape);
        if (part->out)
            split_write(r, part, kept, loose, shape);
    }
}

CO_INLINE void split_place_spans(const struct split_step *s, co_u8 *memory, struct split_shape shape)
{
    struct split_room r = split_room_of(s, memory, shape);
    struct split_walk w;
    struct split_values v;
    co_u64 span = ~0ull;
    if (co_block() == 0)
        split_outcome(s);
    split_enter_span(s, &w, co_block());
    co_u32 count = split_tile_count(&w, shape);
    split_load(&v, s->part, w.first, count, 1, shape);
    for (; count; count = split_tile_count(&w, shape)) {
        if (w.span != span)
            for (co_u32 b = co_thread(); b < r.buckets; b += shape.threads)
                co_write64(r.next + b, co_read64(s->table + b * s->spans + w.span));
        span = w.span;
        if (count == shape.items * shape.threads && !s->can_fail)
            split_tile(s, &r, &w, &v, count, 0, shape);
        else
            split_tile(s, &r, &w, &v, count, 1, shape);
        split_step_on(s, &w, shape);
    }
}

/* The instances: bytes of the widest column, bits of a bucket's number, items, threads of a block, blocks a multiprocessor. */
#define SPLIT_PLACE(widest, bits, items, threads, blocks)                                                 \
    CO_KERNEL_BOUND(multisplit_place_##widest##_##bits##_##items##x##threads, struct split_step, threads, \
                    blocks)                                                                               \
    {                                                                                                     \
        struct split_shape shape = {items, threads, widest, bits};                                        \
        CO_SHARED_DYNAMIC(co_u8, memory);                                                                 \
        split_place_spans(args, memory, shape);                                                           \
    }

#if defined(COHORT_SIM)
SPLIT_PLACE(8, 11, 3, 64, 1)
#else
SPLIT_PLACE(4, 5, 16, 256, 3)
SPLIT_PLACE(4, 8, 16, 256, 3)
SPLIT_PLACE(4, 11, 16, 512, 1)
SPLIT_PLACE(8, 8, 16, 256, 2)
SPLIT_PLACE(8, 11, 16, 512, 1)
#endif
