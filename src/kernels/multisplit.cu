/* multisplit.cu: the kernels of a multisplit: count, and put in place.
 *
 * Count. By spans a block counts a span's entries by bucket in shared memory, and writes a column of the
 * table (histograms); else all blocks add what they counted to one column (count). Where a bucket function is
 * costly the ids are left behind, as bytes or 16-bit words, for the next launch to read.
 *
 * Place. A block puts a tile in order (split_tile.h; one of pairs for many buckets, split_pairs.h) and writes
 * it in runs. Tiles are taken one after the other, so what is written at a time lies side by side in each
 * bucket, and the sectors that two tiles share meet in L2.
 *
 * Digits, for many buckets: one count for all digits of the ids, then a split by look-back a digit, the
 * lowest first (split_digits.h). Or no count: runs in tiles, which a second split gathers
 * (split_gather.h). */
#include "kernels/split_digits.h"
#include "kernels/split_fetched.h"
#include "kernels/split_outcome.h"

/* ---- count --------------------------------------------------------------------------------------------- */

/* What a block counts in its shared memory: words, halves of words, or words for each digit of ids. */
enum split_bins { SPLIT_BINS_WORDS, SPLIT_BINS_HALVES, SPLIT_BINS_DIGITS };

/* Where the bins are halves of words: a half that comes to 2^15 gives that to the bins in memory. The block
 * meets before it adds more than 2^15 entries, so no half comes to 2^16. */
CO_INLINE void split_histogram_half(const struct split_step *s, co_u32 *bins, co_u32 b)
{
    co_u32 shift = b % 2 * 16;
    if (b == s->buckets) {
        co_store32(bins + (s->buckets + 1) / 2, 1);
        return;
    }
    if ((co_add32(bins + b / 2, 1u << shift) >> shift & 0xffff) == 0x7fff) {
        co_add32(bins + b / 2, 0u - (0x8000u << shift));
        co_add64(s->table + b, 0x8000);
    }
}

/* Each digit of the id by itself; one more bin tells of bad ids. */
CO_INLINE void split_histogram_digits(const struct split_step *s, co_u32 *bins, co_u32 id)
{
    if (id == s->buckets)
        co_store32(bins + s->digits.many * SPLIT_DIGIT_BINS, 1);
    else
        CO_EACH_ITEM (d, SPLIT_DIGITS_MOST)
            if (d < s->digits.many)
                co_add32(bins + d * SPLIT_DIGIT_BINS + (id >> s->digits.shift[d] & s->digits.mask[d]), 1);
}

/* Ids become numbers; bad ones that of the buckets, which has a bin of its own. */
CO_INLINE void split_histogram_ids(const struct split_step *s, co_u32 *bins, co_u32 *ids, co_u32 n,
                                   enum split_bins kind)
{
    CO_EACH_ITEM (j, n) {
        ids[j] = ids[j] < s->fn.buckets ? ids[j] >> s->shift & s->mask : s->buckets;
        if (kind == SPLIT_BINS_HALVES)
            split_histogram_half(s, bins, ids[j]);
        else if (kind == SPLIT_BINS_DIGITS)
            split_histogram_digits(s, bins, ids[j]);
        else
            co_add32(bins + ids[j], 1);
    }
}

CO_INLINE void split_leave_id(const struct split_step *s, co_u64 i, co_u32 id)
{
    if (s->ids_bytes == 1)
        co_write8((co_u8 *)s->ids_out + i, (co_u8)id);
    else if (s->ids_bytes == 2)
        co_write16((co_u16 *)s->ids_out + i, (co_u16)id);
    else
        co_write32((co_u32 *)s->ids_out + i, id);
}

/* The ids of the entries of one 16-byte piece. */
CO_INLINE void split_leave_ids(const struct split_step *s, co_u64 piece, const co_u32 *ids, co_u32 n)
{
    co_u64 bytes = 0, words = 0;
    CO_EACH_ITEM (j, n) {
        bytes |= (co_u64)ids[j] << 8 * j;
        words |= (co_u64)ids[j] << 16 * j;
    }
    if (n == 4 && s->ids_bytes == 4)
        co_write128((co_u128 *)s->ids_out + piece,
                    co_make128(ids[0] | (co_u64)ids[1] << 32, ids[n / 2] | (co_u64)ids[n - 1] << 32));
    else if (s->ids_bytes == 4)
        co_write64((co_u64 *)s->ids_out + piece, ids[0] | (co_u64)ids[1] << 32);
    else if (n == 4 && s->ids_bytes == 1)
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

CO_INLINE void split_histogram_pieces(const struct split_step *s, co_u32 *bins, co_u64 piece, co_u32 width,
                                      enum split_bins kind)
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
        split_histogram_ids(s, bins, ids, each, kind);
        if (width >= 4 && s->ids_out)
            split_leave_ids(s, piece + k * co_threads(), ids, each);
    }
}

/* Whole batches of pieces, then what is left, or all where the column is not aligned, entry by entry. */
CO_INLINE void split_histogram_span(const struct split_step *s, co_u32 *bins, co_u64 first, co_u64 end,
                                    co_u32 width, enum split_bins kind)
{
    co_u64 batch = (co_u64)co_threads() * SPLIT_COUNT_AT_ONCE * 16 / width;
    if (((co_u64)s->part[0].in & 15) == 0)
        for (; first + batch <= end; first += batch)
            split_histogram_pieces(s, bins, first * width / 16 + co_thread(), width, kind);
    for (co_u64 i = first + co_thread(); i < end; i += co_threads()) {
        co_u32 id = split_entry_id(s, i, width);
        split_histogram_ids(s, bins, &id, 1, kind);
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

/* And one more. */
CO_INLINE void split_clear_bins(co_u32 *bins, co_u32 many)
{
    for (co_u32 b = co_thread(); b <= many; b += co_threads())
        co_write32(bins + b, 0);
    co_block_sync();
}

/* What the span's tiles are going to publish. */
CO_INLINE void split_clear_published(const struct split_step *s, co_u64 span)
{
    co_u64 words = (co_u64)s->tiles * s->published_words;
    for (co_u64 i = co_thread(); i < words; i += co_threads())
        co_write32(s->published + span * words + i, 0);
}

CO_INLINE void split_histograms(const struct split_step *s, co_u32 *bins, co_u32 width)
{
    co_u64 n = split_entries(s);
    for (co_u64 span = co_block(); span < s->spans; span += co_blocks()) {
        co_u64 first = span * s->span, end = first + s->span < n ? first + s->span : n;
        if (s->published)
            split_clear_published(s, span);
        split_clear_bins(bins, s->buckets);
        split_histogram_span(s, bins, first, end, width, SPLIT_BINS_WORDS);
        co_block_sync();
        for (co_u32 b = co_thread(); b < s->buckets; b += co_threads())
            co_write64(s->table + b * s->spans + span, co_load32(bins + b));
        if (co_load32(bins + s->buckets))
            split_find_bad(s, first, end, width);
        co_block_sync();
    }
}

CO_KERNEL(multisplit_histograms_8, struct split_step)
{
    CO_SHARED_DYNAMIC(co_u32, bins);
    split_histograms(args, bins, 1);
}
CO_KERNEL(multisplit_histograms_16, struct split_step)
{
    CO_SHARED_DYNAMIC(co_u32, bins);
    split_histograms(args, bins, 2);
}
CO_KERNEL(multisplit_histograms_32, struct split_step)
{
    CO_SHARED_DYNAMIC(co_u32, bins);
    split_histograms(args, bins, 4);
}
CO_KERNEL(multisplit_histograms_64, struct split_step)
{
    CO_SHARED_DYNAMIC(co_u32, bins);
    split_histograms(args, bins, 8);
}

/* ---- counts alone -------------------------------------------------------------------------------------- */

/* The last block that is through sums the bins up, where the step says so: bin b becomes the sum of those
 * before, and there is one more. */
CO_INLINE void split_sum_up(const struct split_step *s, co_u32 *last)
{
    co_u64 sum = 0;
    co_block_sync();
    if (co_thread() == 0) {
        co_fence();
        co_write32(last, co_add32(s->done, 1) + 1 == co_blocks());
        co_fence();
    }
    co_block_sync();
    if (!co_read32(last) || co_warp())
        return;
    for (co_u32 base = 0; base <= s->buckets; base += 32) {
        co_u32 b = base + co_lane();
        co_u64 own = b < s->buckets ? co_load64(s->table + b) : 0, to = split_sum_to(own);
        if (b <= s->buckets)
            co_write64(s->table + b, sum + to - own);
        sum += co_shuffle64(CO_FULL_WARP, to, 31);
    }
}

/* A block counts its span, and adds what it has to the bins. `kind`: words, or digits. */
CO_INLINE void split_count(const struct split_step *s, co_u32 *bins, co_u32 width, enum split_bins kind)
{
    co_u32 many = kind == SPLIT_BINS_DIGITS ? s->digits.many * SPLIT_DIGIT_BINS : s->buckets;
    co_u64 n = split_entries(s), first = co_block() * s->span,
           end = first + s->span < n ? first + s->span : n;
    if (first >= end)
        return;
    split_clear_bins(bins, many);
    split_histogram_span(s, bins, first, end, width, kind);
    co_block_sync();
    for (co_u32 b = co_thread(); b < many; b += co_threads()) {
        co_u32 entries = co_load32(bins + b);
        if (entries)
            co_add64(s->table + b, entries);
    }
    if (co_load32(bins + many))
        split_find_bad(s, first, end, width);
}

#define SPLIT_HALVES_AT_ONCE 32768u

/* The same where bins are halves, two a word, and then a word that tells of bad ids. */
CO_INLINE void split_count_halves(const struct split_step *s, co_u32 *bins, co_u32 width)
{
    co_u64 n = split_entries(s), first = co_block() * s->span,
           end = first + s->span < n ? first + s->span : n;
    co_u64 words = (s->buckets + 1) / 2;
    if (first >= end)
        return;
    for (co_u32 w = co_thread(); w <= words; w += co_threads())
        co_write32(bins + w, 0);
    co_block_sync();
    for (co_u64 from = first; from < end; from += SPLIT_HALVES_AT_ONCE) {
        co_u64 to = end - from < SPLIT_HALVES_AT_ONCE ? end : from + SPLIT_HALVES_AT_ONCE;
        split_histogram_span(s, bins, from, to, width, SPLIT_BINS_HALVES);
        co_block_sync();
    }
    for (co_u32 w = co_thread(); w < words; w += co_threads()) {
        co_u32 two = co_load32(bins + w);
        if (two & 0xffff)
            co_add64(s->table + 2 * w, two & 0xffff);
        if (two >> 16)
            co_add64(s->table + 2 * w + 1, two >> 16);
    }
    if (co_load32(bins + words))
        split_find_bad(s, first, end, width);
}

/* The same where bins fit in no shared memory: each entry by itself. No ids are left behind. */
CO_INLINE void split_count_far(const struct split_step *s, co_u32 width)
{
    co_u64 n = split_entries(s), first = co_block() * s->span,
           end = first + s->span < n ? first + s->span : n;
    for (co_u64 i = first + co_thread(); i < end; i += co_threads()) {
        co_u32 id = split_entry_id(s, i, width);
        if (id < s->buckets)
            co_add64(s->table + id, 1);
        else
            co_min64(s->first_bad, i);
    }
}

#define SPLIT_SOURCE(bits)                                                                \
    CO_KERNEL(multisplit_count_##bits, struct split_step)                                 \
    {                                                                                     \
        CO_SHARED_DYNAMIC(co_u32, bins);                                                  \
        split_count(args, bins, bits / 8, SPLIT_BINS_WORDS);                              \
        if (args->done)                                                                   \
            split_sum_up(args, bins);                                                     \
    }                                                                                     \
    CO_KERNEL(multisplit_digits_##bits, struct split_step)                                \
    {                                                                                     \
        CO_SHARED_DYNAMIC(co_u32, bins);                                                  \
        split_count(args, bins, bits / 8, SPLIT_BINS_DIGITS);                             \
    }                                                                                     \
    CO_KERNEL_BOUND(multisplit_halves_##bits, struct split_step, SPLIT_HALVES_THREADS, 1) \
    {                                                                                     \
        CO_SHARED_DYNAMIC(co_u32, bins);                                                  \
        split_count_halves(args, bins, bits / 8);                                         \
    }                                                                                     \
    CO_KERNEL(multisplit_far_##bits, struct split_step)                                   \
    {                                                                                     \
        split_count_far(args, bits / 8);                                                  \
    }                                                                                     \
    CO_KERNEL(multisplit_offsets_##bits, struct split_step)                               \
    {                                                                                     \
        split_search_offsets(args, bits / 8);                                             \
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
    for (co_u64 b = co_thread(); b < args->buckets; b += co_threads())
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

/* ---- place --------------------------------------------------------------------------------------------- */

/* The number of the block's tile. */
CO_INLINE co_u32 split_tile_of_block(const struct split_step *s, const struct split_tile *r)
{
    if (!split_is_ticketed(s))
        return co_block();
    if (co_thread() == 0)
        co_write32(r->ticket, look_back_ticket(s->tickets));
    co_block_sync();
    return co_read32(r->ticket);
}

CO_INLINE void split_place(const struct split_step *s, co_u8 *memory, struct split_shape shape)
{
    const co_u32 size = shape.items * shape.threads;
    struct split_tile r = split_tile_of(s, memory, shape);
    co_u64 n = split_entries(s);
    if (shape.way != SPLIT_IN_TILES && co_block() == 0)
        split_outcome(s);
    if (shape.loading == SPLIT_FETCHED) {
        split_fetched(s, &r, n, shape);
        return;
    }
    co_u32 stop = (co_u32)((n + size - 1) / size), tile = split_tile_of_block(s, &r);
    if (tile < stop && shape.loading == SPLIT_TWO_PHASE)
        split_pairs(s, &r, n, tile, shape);
    else if (tile < stop)
        split_do_tile(s, &r, n, tile, shape);
}

#define SPLIT_KERNEL(form, way, payload, loading, bits, items, threads, blocks)                       \
    CO_KERNEL_BOUND(multisplit_##way##_##payload##_##loading##_##bits##_##items##x##threads##_##form, \
                    struct split_step, threads, blocks)                                               \
    {                                                                                                 \
        struct split_shape shape = SPLIT_SHAPE(form, way, payload, loading, bits, items, threads);    \
        CO_SHARED_DYNAMIC(co_u8, memory);                                                             \
        split_place(args, memory, shape);                                                             \
    }
#define SPLIT_KERNELS(way, payload, loading, bits, items, threads, blocks, forms, architecture) \
    SPLIT_FORMS_##forms(SPLIT_KERNEL, way, payload, loading, bits, items, threads, blocks)

SPLIT_TABLE_INSTANCES(SPLIT_KERNELS)

/* ---- segments and ranks -------------------------------------------------------------------------------- */

CO_INLINE void split_number_segments(const struct split_segments_step *s, int wide)
{
    CO_EACH_WARP (base, s->n) {
        co_u64 i = base + co_lane(), low = 0, high = s->segments;
        if (i >= s->n)
            continue;
        while (high - low > 1) { /* the last segment that begins at i or before */
            co_u64 middle = low + (high - low) / 2;
            if (co_read64(s->offsets + middle) <= i)
                low = middle;
            else
                high = middle;
        }
        co_u64 key = wide ? co_read64((const co_u64 *)s->keys + i) : co_read32((const co_u32 *)s->keys + i);
        co_u32 id = split_id(&s->fn, key, i, wide);
        co_write32(s->ids + i, id < s->fn.buckets ? (co_u32)low * s->fn.buckets + id : ~0u);
    }
}

CO_KERNEL(multisplit_segments_32, struct split_segments_step)
{
    split_number_segments(args, 0);
}
CO_KERNEL(multisplit_segments_64, struct split_segments_step)
{
    split_number_segments(args, 1);
}

CO_KERNEL(multisplit_rank, struct split_rank_step)
{
    co_u64 written = args->written ? co_read64(args->written) : args->n;
    CO_EACH_WARP (base, written) {
        co_u64 j = base + co_lane();
        if (j >= written)
            continue;
        co_u64 i = args->permutation_bytes == 8 ? co_read64((const co_u64 *)args->permutation + j)
                                                : co_read32((const co_u32 *)args->permutation + j);
        if (args->rank_bytes == 8)
            co_write64((co_u64 *)args->rank + i, j);
        else
            co_write32((co_u32 *)args->rank + i, (co_u32)j);
    }
}
