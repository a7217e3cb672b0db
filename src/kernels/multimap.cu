/* multimap.cu: the multimap's kernels. shape/multimap.h says how a multimap lies in memory and what is done
 * to one entry; here is how a grid walks entries, slots and rows.
 *
 * Many entries of one key. In COUNT and PLACE the lanes of a warp whose keys share a slot add up first and
 * one of them goes to memory for all, so that a key that everybody has costs one atomic a warp.
 *
 * Rows. The result of a retrieval is cut into tiles of rows, whoever they belong to: one lane finds the query
 * of the tile's first row by binary search over the offsets, another that of its last, and each lane that of
 * its rows between the two. So a query with a million values and a million queries with one cost the same. Of
 * a single multimap a query has one row or none, and lanes take queries. */
#include "shape/bits.h"
#include "shape/multimap.h"

/* ---- lanes of one slot --------------------------------------------------------------------------------- */

CO_INLINE co_u32 multimap_bits(co_u32 word)
{
    word -= (word >> 1) & 0x55555555u;
    word = (word & 0x33333333u) + ((word >> 2) & 0x33333333u);
    return (((word + (word >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}

CO_INLINE int multimap_takes_part(const struct multimap_step *s, co_u64 base)
{
    if (base + co_lane() >= s->n)
        return 0;
    return s->where ? bits_word(s->where, base, s->n) >> co_lane() & 1 : 1;
}

/* Adds to ends[slot + 1] for each lane that has a slot; this lane's share of the places taken. */
CO_INLINE co_u64 multimap_take_places(const struct multimap_step *s, co_u64 slot)
{
    co_u32 same = co_match64(CO_FULL_WARP, slot), first = multimap_bits((same & (0u - same)) - 1);
    co_u64 at = 0;
    if (slot != MULTIMAP_ABSENT && co_lane() == first)
        at = co_add64(s->ends + slot + 1, multimap_bits(same));
    return co_shuffle64(CO_FULL_WARP, at, first) + multimap_bits(same & ((1u << co_lane()) - 1));
}

CO_INLINE void multimap_count(const struct multimap_step *s, int wide_key)
{
    CO_EACH_WARP (base, s->n) {
        co_u64 slot = MULTIMAP_ABSENT;
        if (multimap_takes_part(s, base))
            slot = multimap_slot(s, base + co_lane(), wide_key);
        if (base + co_lane() < s->n)
            multimap_keep(s, base + co_lane(), slot);
        multimap_take_places(s, slot);
    }
}

/* A block has a sketch of its own, in shared memory, which it adds to that of all at the end. */
CO_INLINE void multimap_sketch_all(const struct multimap_step *s, co_u32 *own, int wide_key)
{
    for (co_u32 i = co_thread(); i < SKETCH_REGISTERS; i += co_threads())
        co_write32(own + i, 0);
    co_block_sync();
    CO_EACH_WARP (base, s->n) {
        if (multimap_takes_part(s, base))
            multimap_sketch(s, own, base + co_lane(), wide_key);
    }
    co_block_sync();
    for (co_u32 i = co_thread(); i < SKETCH_REGISTERS; i += co_threads()) {
        co_u32 bits = co_read32(own + i);
        if (bits & ~co_load32(s->sketch + i))
            co_or32(s->sketch + i, bits);
    }
}

CO_INLINE void multimap_place(const struct multimap_step *s, int wide_key, int wide_value)
{
    CO_EACH_WARP (base, s->n) {
        co_u64 i = base + co_lane(), slot = MULTIMAP_ABSENT;
        if (multimap_takes_part(s, base))
            slot = s->kept ? multimap_kept(s, i) : multimap_slot(s, i, wide_key);
        co_u64 at = multimap_take_places(s, slot);
        if (slot != MULTIMAP_ABSENT)
            multimap_put(s->runs, at, multimap_get(s->values, i, wide_value), wide_value);
    }
}

/* ---- queries ------------------------------------------------------------------------------------------- */

CO_INLINE void multimap_find(const struct multimap_step *s, int wide_key, int wide_value)
{
    co_u64 taken = 0, hits = 0;
    CO_EACH_WARP (base, s->n) {
        co_u64 i = base + co_lane(), slot = MULTIMAP_ABSENT;
        const co_u32 earlier = s->level && s->hit ? bits_word(s->hit, base, s->n) : 0;
        int active = multimap_takes_part(s, base) && !(earlier >> co_lane() & 1);
        if (active)
            slot = multimap_slot(s, i, wide_key);
        if (slot != MULTIMAP_ABSENT)
            multimap_put(s->results, i, multimap_get(s->runs, co_read64(s->ends + slot), wide_value),
                         wide_value);
        else if (active && s->has_fallback)
            multimap_put(s->results, i, s->fallback, wide_value);
        co_u32 found = co_ballot(CO_FULL_WARP, slot != MULTIMAP_ABSENT);
        if (s->hit && co_lane() == 0)
            bits_put_word(s->hit, base, s->n, found | earlier);
        taken += active && !s->level ? 1 : 0;
        hits += slot != MULTIMAP_ABSENT ? 1 : 0;
    }
    if (!s->counts)
        return;
    taken = co_warp_sum(taken);
    hits = co_warp_sum(hits);
    if (co_lane() == 0 && (taken || hits)) {
        co_add64(&s->counts->taken, taken);
        co_add64(&s->counts->hits, hits);
    }
}

CO_INLINE void multimap_sizes(const struct multimap_step *s, int wide_key)
{
    CO_EACH_WARP (base, s->n) {
        co_u64 i = base + co_lane();
        if (i < s->n)
            multimap_size(s, i, multimap_slot(s, i, wide_key));
    }
}

CO_INLINE void multimap_offsets_all(const struct multimap_step *s)
{
    CO_EACH_WARP (base, s->n) {
        const co_u64 i = base + co_lane();
        if (i < s->n)
            co_write64(s->offsets + i, co_read64(s->sizes + i * s->levels));
    }
}

/* The runs that the first and the last of a tile's rows are in, in the block's shared memory. */
CO_INLINE void multimap_tile_runs(const co_u64 *offsets, co_u64 runs, co_u64 first, co_u64 rows,
                                  co_u64 *shared)
{
    if (co_thread() < 2) {
        co_u64 row = co_thread() == 0 ? first : first + rows - 1;
        co_write64(shared + co_thread(), run_at(offsets, 0, runs, row));
    }
    co_block_sync();
}

/* `rows` and the tile's first row count from the first row asked for. */
CO_INLINE co_u64 multimap_tile_rows(co_u64 rows, co_u64 tile)
{
    co_u64 left = rows - tile * MULTIMAP_TILE;
    return left < MULTIMAP_TILE ? left : MULTIMAP_TILE;
}

CO_INLINE void multimap_rows(const struct multimap_step *s, co_u64 *shared, int wide_value)
{
    for (co_u64 tile = co_block(); tile * MULTIMAP_TILE < s->rows; tile += co_blocks()) {
        co_u64 first = tile * MULTIMAP_TILE, rows = multimap_tile_rows(s->rows, tile);
        multimap_tile_runs(s->sizes, s->n, s->first + first, rows, shared);
        co_u64 low = co_read64(shared), high = co_read64(shared + 1) + 1;
        for (co_u32 j = co_thread(); j - co_lane() < rows; j += co_threads()) {
            int matched = 0;
            if (j < rows)
                matched =
                    multimap_row(s, first + j, run_at(s->sizes, low, high, s->first + first + j), wide_value);
            co_u32 word = co_ballot(CO_FULL_WARP, matched);
            if (s->row_matched && co_lane() == 0)
                bits_put_word(s->row_matched, first + j, s->rows, word);
        }
        co_block_sync();
    }
}

/* ---- slots --------------------------------------------------------------------------------------------- */

CO_INLINE void multimap_flags(const struct multimap_step *s, int wide_key)
{
    CO_EACH_WARP (base, s->n) {
        co_u64 slot = base + co_lane(), key;
        if (slot < s->n)
            co_write64(s->flags + slot, multimap_key(s, slot, &key, wide_key) ? 1 : 0);
    }
}

CO_INLINE void multimap_keys(const struct multimap_step *s, int wide_key)
{
    CO_EACH_WARP (base, s->n) {
        if (base + co_lane() < s->n)
            multimap_export(s, base + co_lane(), wide_key);
    }
}

CO_INLINE void multimap_expand(const struct multimap_step *s, co_u64 *shared, int wide_key)
{
    for (co_u64 tile = co_block(); tile * MULTIMAP_TILE < s->rows; tile += co_blocks()) {
        co_u64 first = tile * MULTIMAP_TILE, rows = multimap_tile_rows(s->rows, tile);
        multimap_tile_runs(s->ends, s->n, first, rows, shared);
        co_u64 low = co_read64(shared), high = co_read64(shared + 1) + 1;
        for (co_u32 j = co_thread(); j < rows; j += co_threads()) {
            co_u64 key;
            multimap_key(s, run_at(s->ends, low, high, first + j), &key, wide_key);
            multimap_put(s->export_keys, first + j, key, wide_key);
        }
        co_block_sync();
    }
}

/* ---- a single multimap --------------------------------------------------------------------------------- */

/* Whether the lookup has found the key of query q: it has written the bytes that hold a query's bit. */
CO_INLINE co_u32 multimap_found(const struct multimap_step *s, co_u64 q)
{
    return bits_word(s->found, q & ~31ull, s->n) >> q % 32 & 1;
}

CO_INLINE void multimap_single_sizes_all(const struct multimap_step *s)
{
    CO_EACH_WARP (base, s->n) {
        const co_u64 i = base + co_lane();
        if (i < s->n)
            co_write64(s->sizes + i, multimap_found(s, i) ? 1 : s->outer);
    }
}

/* A query has one row or none, so lanes take queries, from that of the first row asked for to that of the
 * last, and nothing is sought for a row. With `outer` row i is query i's. */
CO_INLINE void multimap_single_rows(const struct multimap_step *s, co_u64 *shared, int wide_value)
{
    multimap_tile_runs(s->sizes, s->n, s->first, s->rows, shared);
    const co_u64 low = co_read64(shared), count = co_read64(shared + 1) + 1 - low;
    CO_EACH_WARP (base, count) {
        const co_u64 q = low + base + co_lane();
        if (base + co_lane() < count && (s->outer || multimap_found(s, q))) {
            const co_u64 row = co_read64(s->sizes + q) - s->first;
            if (row < s->rows)
                multimap_single_row(s, row, q, wide_value);
        }
    }
    if (!s->row_matched)
        return;
    CO_EACH_WARP (base, s->rows) {
        const co_u64 i = base + co_lane();
        const int matched = i < s->rows && (!s->outer || multimap_found(s, s->first + i));
        const co_u32 word = co_ballot(CO_FULL_WARP, matched);
        if (co_lane() == 0)
            bits_put_word(s->row_matched, base, s->rows, word);
    }
}

CO_INLINE void multimap_single_flags(const struct multimap_step *s, int wide_key, int wide_value)
{
    CO_EACH_WARP (base, s->n) {
        co_u64 slot = base + co_lane(), key, value;
        if (slot < s->n)
            co_write64(s->flags + slot, multimap_pair(s, slot, &key, &value, wide_key, wide_value) ? 1 : 0);
    }
}

CO_INLINE void multimap_single_keys(const struct multimap_step *s, int wide_key, int wide_value)
{
    CO_EACH_WARP (base, s->n) {
        if (base + co_lane() < s->n)
            multimap_export_pair(s, base + co_lane(), wide_key, wide_value);
    }
}

/* ---- the instances: bits of the key, of the value, or of both ------------------------------------------ */

CO_KERNEL(multimap_count_32, struct multimap_step)
{
    multimap_count(args, 0);
}
CO_KERNEL(multimap_count_64, struct multimap_step)
{
    multimap_count(args, 1);
}

CO_KERNEL(multimap_sketch_32, struct multimap_step)
{
    CO_SHARED(co_u32, own, SKETCH_REGISTERS);
    multimap_sketch_all(args, own, 0);
}
CO_KERNEL(multimap_sketch_64, struct multimap_step)
{
    CO_SHARED(co_u32, own, SKETCH_REGISTERS);
    multimap_sketch_all(args, own, 1);
}

CO_KERNEL(multimap_place_32_32, struct multimap_step)
{
    multimap_place(args, 0, 0);
}
CO_KERNEL(multimap_place_64_32, struct multimap_step)
{
    multimap_place(args, 1, 0);
}
CO_KERNEL(multimap_place_64_64, struct multimap_step)
{
    multimap_place(args, 1, 1);
}

CO_KERNEL(multimap_find_32_32, struct multimap_step)
{
    multimap_find(args, 0, 0);
}
CO_KERNEL(multimap_find_64_32, struct multimap_step)
{
    multimap_find(args, 1, 0);
}
CO_KERNEL(multimap_find_64_64, struct multimap_step)
{
    multimap_find(args, 1, 1);
}

CO_KERNEL(multimap_sizes_32, struct multimap_step)
{
    multimap_sizes(args, 0);
}
CO_KERNEL(multimap_sizes_64, struct multimap_step)
{
    multimap_sizes(args, 1);
}

CO_KERNEL(multimap_offsets, struct multimap_step)
{
    multimap_offsets_all(args);
}

CO_KERNEL(multimap_rows_32, struct multimap_step)
{
    CO_SHARED(co_u64, runs, 2);
    multimap_rows(args, runs, 0);
}

CO_KERNEL(multimap_rows_64, struct multimap_step)
{
    CO_SHARED(co_u64, runs, 2);
    multimap_rows(args, runs, 1);
}

CO_KERNEL(multimap_flags_32, struct multimap_step)
{
    multimap_flags(args, 0);
}
CO_KERNEL(multimap_flags_64, struct multimap_step)
{
    multimap_flags(args, 1);
}

CO_KERNEL(multimap_keys_32, struct multimap_step)
{
    multimap_keys(args, 0);
}
CO_KERNEL(multimap_keys_64, struct multimap_step)
{
    multimap_keys(args, 1);
}

CO_KERNEL(multimap_expand_32, struct multimap_step)
{
    CO_SHARED(co_u64, runs, 2);
    multimap_expand(args, runs, 0);
}

CO_KERNEL(multimap_expand_64, struct multimap_step)
{
    CO_SHARED(co_u64, runs, 2);
    multimap_expand(args, runs, 1);
}

CO_KERNEL(multimap_single_sizes, struct multimap_step)
{
    multimap_single_sizes_all(args);
}

CO_KERNEL(multimap_single_rows_32, struct multimap_step)
{
    CO_SHARED(co_u64, runs, 2);
    multimap_single_rows(args, runs, 0);
}
CO_KERNEL(multimap_single_rows_64, struct multimap_step)
{
    CO_SHARED(co_u64, runs, 2);
    multimap_single_rows(args, runs, 1);
}

CO_KERNEL(multimap_single_flags_32_32, struct multimap_step)
{
    multimap_single_flags(args, 0, 0);
}
CO_KERNEL(multimap_single_flags_64_32, struct multimap_step)
{
    multimap_single_flags(args, 1, 0);
}
CO_KERNEL(multimap_single_flags_64_64, struct multimap_step)
{
    multimap_single_flags(args, 1, 1);
}

CO_KERNEL(multimap_single_keys_32_32, struct multimap_step)
{
    multimap_single_keys(args, 0, 0);
}
CO_KERNEL(multimap_single_keys_64_32, struct multimap_step)
{
    multimap_single_keys(args, 1, 0);
}
CO_KERNEL(multimap_single_keys_64_64, struct multimap_step)
{
    multimap_single_keys(args, 1, 1);
}
