/* split_tile.h: how a block puts a tile of entries in order of their buckets, stably, and writes it out.
 *
 * A tile is `items` rows of 32 entries a warp: entry j * 32 + lane of a warp is the lane's j-th, so every
 * column is read in whole lines, whatever it is aligned to. What a bucket's number comes from, keys or ids,
 * is the first column. The steps:
 *
 *   count     each warp its entries by bucket, in counters of its own in shared memory
 *   scan      over the warps' counters of a bucket, and over the buckets: where in the tile each warp's
 *             entries of each bucket go. Up to 256 buckets a counter is a word, else half of one
 *   rank      row by row: the lanes that have an entry of the same bucket are found by votes, one a bit;
 *             counter and rank among them are the entry's place, where it is put at once, and the first of
 *             them moves the counter on
 *   write     place by place, side by side: the number, computed again, says where its bucket's entries go;
 *             out it goes (split_write.h, which has the columns that follow, too)
 *
 * So only the entries themselves are kept in registers over the scan, and none over the rank. A block has one
 * tile: one that loads its next tile while it writes one was slower, since the loads of what comes wait with
 * the stores. Where the copy engine fetches tiles, blocks go on from one to the next (split_fetched.h).
 *
 * Left out. What lies behind the end of a tile that is not whole counts as an entry of the last bucket: so it
 * comes to lie behind all others, and is not written. An entry that has no bucket (SPLIT_LOOSE) gets no
 * place.
 *
 * Where a bucket's entries go in the output comes from a table of spans and what the tiles before in the span
 * have published, from all tiles before, or from places taken (see shape/split_step.h); nothing else differs.
 *
 * A pass of sort (sort_width.h) is the same in its steps and shares none of this text: its numbers are keys
 * turned over in registers, with 256 digits always, one column a width, and a plan in device memory that says
 * where the arrays are. Each text is shorter than one that would be both.
 *
 * Shapes are literals where these functions are used: loops over items are spelled out, and arrays are
 * registers. */
#ifndef COHORT_KERNELS_SPLIT_TILE_H
#define COHORT_KERNELS_SPLIT_TILE_H

#include "kernels/look_back.h"
#include "kernels/runs_write.h"
#include "kernels/split_gather.h"
#include "kernels/split_together.h"
#include "kernels/split_write.h"

/* ---- count --------------------------------------------------------------------------------------------- */

/* Has the lane's j-th entry a bucket? */
CO_INLINE int split_belongs(const struct split_tile *r, co_u32 number, co_u32 j, struct split_shape shape)
{
    return shape.form != SPLIT_LOOSE || (number != SPLIT_BAD && split_mine(r, shape) + j * 32 < r->count);
}

/* A counter that is half of a word. Additions to one address go one by one, so those lanes that have the
 * bucket of the first lane leave them to it. By a full warp. */
CO_INLINE void split_count_half(const struct split_tile *r, co_u32 b)
{
    co_u32 first = co_shuffle32(CO_FULL_WARP, b, 0), same = co_ballot(CO_FULL_WARP, b == first);
    co_u32 entries = b != first ? 1 : co_lane() ? 0 : co_ones32(same);
    if (b != SPLIT_BAD && entries)
        co_add32(r->mine + b / 2, entries << b % 2 * 16);
}

/* Numbers that take more than two instructions are found once, and kept from the count to the rank, where a
 * lane has registers for that: of up to 4 buckets 16 a word, of what is fetched 4. The bits of each; 0: they
 * are found again. */
CO_INLINE co_u32 split_keeps(struct split_shape shape)
{
    return shape.form == SPLIT_FIELD ? 0 : shape.loading == SPLIT_FETCHED ? 8 : shape.bits == 2 ? 2 : 0;
}

CO_INLINE void split_keep(co_u32 *kept, co_u32 j, co_u32 b, struct split_shape shape)
{
    const co_u32 bits = split_keeps(shape);
    if (bits && shape.form != SPLIT_LEFT)
        kept[j * bits / 32] = co_anew32(j * bits % 32 ? kept[j * bits / 32] | b << j * bits % 32 : b);
}

/* The number of the lane's j-th entry once more. */
CO_INLINE co_u32 split_number_again(const struct split_step *s, const struct split_tile *r, co_u64 value,
                                    const co_u32 *kept, co_u32 j, struct split_shape shape)
{
    const co_u32 bits = split_keeps(shape);
    return bits ? co_anew32(kept[j * bits / 32]) >> j * bits % 32 & ((1u << bits) - 1)
                : split_number_of(&s->number, value, shape.form, r->wide);
}

/* Of PAGED there is no last key, but a last number. */
CO_INLINE co_u32 split_last_number(const struct split_step *s, const struct split_tile *r,
                                   const struct split_number *number, struct split_shape shape)
{
    return shape.form == SPLIT_PAGED ? (co_u32)s->last_key
                                     : split_number_of(number, s->last_key, shape.form, r->wide);
}

/* The number of the lane's j-th entry, when it is counted. */
CO_INLINE co_u32 split_number_first(const struct split_step *s, const struct split_tile *r,
                                    const struct split_values *v, const co_u32 *kept, co_u32 j,
                                    struct split_shape shape)
{
    if (shape.form == SPLIT_LEFT)
        return split_number_again(s, r, 0, kept, j, shape);
    if (shape.form == SPLIT_PAGED && split_mine(r, shape) + j * 32 >= r->count)
        return (co_u32)s->last_key;
    return split_number_of(&s->number, split_value(v, j, shape), shape.form, r->wide);
}

CO_INLINE void split_count_tile(const struct split_step *s, const struct split_tile *r,
                                const struct split_values *v, co_u32 *kept, struct split_shape shape)
{
    co_warp_recast(r->mine, r->stride * 4);
    for (co_u32 i = co_lane(); i < r->stride; i += 32)
        co_write32(r->mine + i, 0);
    co_warp_sync(CO_FULL_WARP);
    CO_EACH_ITEM (j, shape.items) {
        if (split_no_row(r, j, shape))
            break;
        co_u32 b = split_number_first(s, r, v, kept, j, shape);
        int belongs = split_belongs(r, b, j, shape);
        split_keep(kept, j, b, shape);
        if (split_halves(shape))
            split_count_half(r, belongs ? b : SPLIT_BAD);
        else if (belongs)
            co_add32(r->mine + b, 1);
        if (shape.way == SPLIT_IN_TILES)
            co_add32(r->next + split_number_of(&s->runs.number, split_value(v, j, shape), shape.form, 0), 1);
    }
}

/* Before the block counts numbers of the next digit. */
CO_INLINE void split_clear_next(const struct split_step *s, const struct split_tile *r,
                                struct split_shape shape)
{
    for (co_u32 b = co_thread(); b < s->runs.buckets; b += shape.threads)
        co_write32(r->next + b, 0);
    co_block_sync();
}

/* ---- scan ---------------------------------------------------------------------------------------------- */

CO_INLINE co_u32 split_warp_sum_to(co_u32 v)
{
    for (co_u32 d = 1; d < 32; d <<= 1) {
        co_u32 other = co_shuffle32(CO_FULL_WARP, v, co_lane() - d);
        v += co_lane() >= d ? other : 0;
    }
    return v;
}

/* Entries with number b, less what fills up the last tile. */
CO_INLINE co_u32 split_there(const struct split_step *s, const struct split_tile *r,
                             const struct split_number *number, co_u32 b, co_u32 entries,
                             struct split_shape shape)
{
    if (shape.form != SPLIT_LOOSE && b == split_last_number(s, r, number, shape))
        entries -= split_rows(r, shape) * shape.threads - r->count;
    return entries;
}

/* Tells the tiles after this one how many entries of the buckets of a word there are. */
CO_INLINE void split_publish(const struct split_step *s, const struct split_tile *r, co_u32 word, co_u32 sum,
                             struct split_shape shape)
{
    co_u32 b = split_halves(shape) ? 2 * word : word;
    co_u64 at = (co_u64)r->tile * s->buckets + b;
    if (shape.loading == SPLIT_TWO_PHASE)
        look_back_publish_short((co_u32 *)(void *)s->before, at, r->tile, sum);
    else
        look_back_publish(s->before, at, r->tile, split_halves(shape) ? sum & 0xffff : sum, 0, 0);
    if (split_halves(shape) && b + 1 < s->buckets)
        look_back_publish(s->before, at + 1, r->tile, sum >> 16, 0, 0);
}

/* The same in a short span. */
CO_INLINE co_u32 *split_published(const struct split_step *s, const struct split_tile *r, co_u32 word,
                                  struct split_shape shape)
{
    return s->published + (co_u64)r->tile * split_words_of(s->buckets, shape.bits) + word;
}

/* A word's counters become places; it begins at `next`, which FETCHED keeps. */
CO_INLINE void split_scan_word(const struct split_tile *r, co_u32 word, co_u32 next, struct split_shape shape)
{
    co_u32 low = 0, place = next;
    if (shape.loading == SPLIT_FETCHED) {
        co_write32(r->begins + word, next);
        place += runs_pad(word);
    }
    if (split_halves(shape)) {
        CO_EACH_ITEM (w, shape.threads / 32)
            low += co_read32(r->all + w * r->stride + word) & 0xffff;
        place = next | (next + low) << 16;
    }
    CO_EACH_ITEM (w, shape.threads / 32) {
        co_u32 many = co_read32(r->all + w * r->stride + word);
        co_write32(r->all + w * r->stride + word, place);
        place += many;
    }
}

/* Counts become places; how many entries have one. A warp has 32 words at a time, a group. */
CO_INLINE co_u32 split_scan(const struct split_step *s, const struct split_tile *r, struct split_shape shape)
{
    co_u32 words = split_words_of(s->buckets, shape.bits), groups = (words + 31) / 32;
    split_meet(r);
    for (co_u32 g = co_warp(); g < groups; g += shape.threads / 32) {
        co_u32 word = g * 32 + co_lane(), sum = 0;
        if (word < words) {
            CO_EACH_ITEM (w, shape.threads / 32)
                sum += co_read32(r->all + w * r->stride + word);
            if (split_is_together(shape))
                split_publish_sum(s, r, word, split_there(s, r, &s->number, word, sum, shape), shape);
            else if (s->way == SPLIT_BY_LOOK_BACK)
                split_publish(s, r, word, sum, shape);
            else if (s->way == SPLIT_BY_SPANS && s->tiles > 1)
                co_store32(split_published(s, r, word, shape), sum | SPLIT_PUBLISHED);
        }
        co_u32 entries = split_halves(shape) ? (sum & 0xffff) + (sum >> 16) : sum;
        co_u32 to = split_warp_sum_to(entries);
        if (word < words)
            co_write32(r->begins + word, to - entries);
        if (co_lane() == 31)
            co_write32(r->groups + g, to);
    }
    co_block_sync();
    co_u32 group = co_lane() < groups ? co_read32(r->groups + co_lane()) : 0, to = split_warp_sum_to(group);
    for (co_u32 g = co_warp(); g < groups; g += shape.threads / 32) {
        co_u32 word = g * 32 + co_lane(), before = co_shuffle32(CO_FULL_WARP, to - group, g);
        if (word < words)
            split_scan_word(r, word, before + co_read32(r->begins + word), shape);
    }
    split_meet(r);
    return co_shuffle32(CO_FULL_WARP, to, 31);
}

/* ---- rank ---------------------------------------------------------------------------------------------- */

/* Place j of the lane's, where columns follow: two a word, `two` the last; TWO_PHASE in shared memory. */
CO_INLINE void split_keep_place(co_u32 *places, co_u32 *two, co_u32 j, co_u32 place, struct split_shape shape)
{
    *two = j % 2 ? *two | place << 16 : place;
    if (split_has_columns(shape) || (shape.payload == SPLIT_PAIRS && shape.loading == SPLIT_FETCHED))
        places[j / 2] = *two;
    else if (shape.loading == SPLIT_TWO_PHASE && (j % 2 || j + 1 == shape.items))
        co_write32(places + j / 2 * shape.threads, *two);
}

/* Puts the first column in order. */
CO_INLINE void split_rank(const struct split_step *s, const struct split_tile *r,
                          const struct split_values *v, const co_u32 *kept, co_u32 *places,
                          struct split_shape shape)
{
    co_u32 before = (1u << co_lane()) - 1, two = 0;
    CO_EACH_ITEM (j, shape.items) {
        if (split_no_row(r, j, shape))
            break;
        co_u64 value = split_value_anew(v, j, shape);
        co_u32 b = split_number_again(s, r, value, kept, j, shape);
        co_u32 same = co_match_bits(b, shape.bits), next = 0;
        int belongs = split_belongs(r, b, j, shape);
        if (shape.form == SPLIT_LOOSE)
            same &= co_ballot(CO_FULL_WARP, belongs);
        if (belongs)
            next = split_counter(r->mine, b, shape);
        co_u32 lower = same & before, place = next + co_ones32(lower);
        co_warp_sync(CO_FULL_WARP);
        if (belongs && !lower)
            split_set_counter(r->mine, b, next + co_ones32(same), shape);
        co_warp_sync(CO_FULL_WARP);
        if (belongs)
            split_put(r, place, value, shape.widest);
        split_keep_place(places, &two, j, belongs ? place : SPLIT_NO_PLACE, shape);
    }
}

/* ---- where it goes ------------------------------------------------------------------------------------- */

/* Places that nobody else gets. What is not there, of the last tile, needs none. */
CO_INLINE co_u64 split_reserve(const struct split_step *s, const struct split_tile *r, co_u32 b,
                               co_u32 entries, struct split_shape shape)
{
    entries = split_there(s, r, &s->number, b, entries, shape);
    return entries ? co_add64(s->before + b, entries) : 0;
}

CO_INLINE void split_start(const struct split_tile *r, co_u32 b, co_u64 table, co_u32 before,
                           struct split_shape shape)
{
    co_u32 begin = b ? split_end(r, b - 1, shape) : 0;
    co_write64(r->starts + b, table + before - begin);
}

CO_INLINE co_u64 split_look_back(const struct split_step *s, const struct split_tile *r, co_u32 b,
                                 co_u32 entries, struct split_shape shape)
{
    return shape.loading == SPLIT_TWO_PHASE
               ? look_back_lane_short((co_u32 *)(void *)s->before, r->tile, s->buckets, b, entries)
               : look_back_lane(s->before, r->tile, s->buckets, b, entries, 0);
}

CO_INLINE void split_resolve(const struct split_step *s, const struct split_tile *r, struct split_shape shape)
{
    for (co_u32 b = co_thread(); b < s->buckets; b += shape.threads) {
        co_u32 begin = b ? split_end(r, b - 1, shape) : 0, entries = split_end(r, b, shape) - begin;
        co_u64 before = s->way == SPLIT_BY_LOOK_BACK ? split_look_back(s, r, b, entries, shape)
                                                     : split_reserve(s, r, b, entries, shape);
        co_write64(r->starts + b, co_read64(s->table + b) + before - begin);
    }
}

/* The entries of a word's buckets in the tiles before this one in its span; `high` of the second, where a
 * word is of two. */
CO_INLINE void split_span_before(const struct split_step *s, const struct split_tile *r, co_u32 word,
                                 co_u32 *low, co_u32 *high, struct split_shape shape)
{
    co_u32 words = split_words_of(s->buckets, shape.bits), published[SPLIT_TILES_MOST - 1];
    co_u32 back = r->tile % s->tiles;
    const co_u32 *at = split_published(s, r, word, shape);
    CO_EACH_ITEM (i, SPLIT_TILES_MOST - 1)
        published[i] = i < back ? co_load32(at - (i + 1ull) * words) : SPLIT_PUBLISHED;
    *low = *high = 0;
    CO_EACH_ITEM (i, SPLIT_TILES_MOST - 1) {
        while (!(published[i] & SPLIT_PUBLISHED)) {
            co_pause();
            published[i] = co_load32(at - (i + 1ull) * words);
        }
        *low += split_halves(shape) ? published[i] & 0xffff : published[i] & ~SPLIT_PUBLISHED;
        *high += (published[i] & ~SPLIT_PUBLISHED) >> 16;
    }
}

/* There were no bad ones among n entries. */
CO_INLINE void split_all_good(const struct split_step *s, co_u64 n)
{
    co_write64(&s->counts->taken, n);
    co_write64(&s->counts->hits, 0);
    co_write64(&s->counts->added, n);
    co_write64(&s->counts->failed, 0);
    co_write64(&s->counts->first_failed, ~0ull);
}

/* There is no other tile: places are places in the output, and the ends of buckets the split's offsets. What
 * stands for entries that are not there is behind all others. */
CO_INLINE void split_resolve_alone(const struct split_step *s, const struct split_tile *r,
                                   struct split_shape shape)
{
    for (co_u32 b = co_thread(); b <= s->buckets; b += shape.threads) {
        co_u32 begin = b ? split_end(r, b - 1, shape) : 0;
        if (s->offsets)
            co_write64(s->offsets + b, begin < r->count ? begin : r->count);
        if (b < s->buckets)
            co_write64(r->starts + b, 0);
    }
    if (!s->counts || co_thread())
        return;
    split_all_good(s, r->count);
}

/* All tiles are at work: sums over them, and over those before this one. A warp sums up what buckets have. */
CO_INLINE void split_resolve_together(const struct split_step *s, const struct split_tile *r,
                                      struct split_shape shape)
{
    co_u32 sum = 0;
    split_sum_all(s, r, shape);
    if (co_warp())
        return;
    for (co_u32 base = 0; base < s->buckets; base += 32) {
        co_u32 b = base + co_lane(), own = b < s->buckets ? co_load32(r->begins + b) : 0;
        co_u32 to = split_warp_sum_to(own), first = sum + to - own;
        if (b < s->buckets) {
            if (shape.way == SPLIT_SPANS_TOGETHER)
                co_write64(r->starts + b, first + (co_u64)co_load32(r->all + b));
            else
                split_start(r, b, first, co_load32(r->all + b), shape);
            if (s->offsets && r->tile == 0)
                co_write64(s->offsets + b, first);
        }
        sum += co_shuffle32(CO_FULL_WARP, to, 31);
    }
    if (r->tile || co_lane())
        return;
    if (s->offsets)
        co_write64(s->offsets + s->buckets, sum);
    if (s->counts)
        split_all_good(s, sum);
}

CO_INLINE void split_resolve_in_span(const struct split_step *s, const struct split_tile *r,
                                     struct split_shape shape)
{
    co_u32 span = r->tile / s->tiles;
    for (co_u32 w = co_thread(); w < split_words_of(s->buckets, shape.bits); w += shape.threads) {
        co_u32 b = split_halves(shape) ? 2 * w : w, low, high;
        int two = split_halves(shape) && b + 1 < s->buckets;
        co_u64 first = co_read64(s->table + b * s->spans + span),
               second = two ? co_read64(s->table + (b + 1) * s->spans + span) : 0;
        split_span_before(s, r, w, &low, &high, shape);
        split_start(r, b, first, low, shape);
        if (two)
            split_start(r, b + 1, second, high, shape);
    }
}

/* The tile's runs, and its numbers of the next digit. */
CO_INLINE void split_leave_runs(const struct split_step *s, const struct split_tile *r,
                                struct split_shape shape)
{
    co_u64 first = (co_u64)r->tile * (shape.items * shape.threads);
    for (co_u32 b = co_thread(); b < s->buckets; b += shape.threads) {
        co_u32 begin = b ? split_end(r, b - 1, shape) : 0, entries = split_end(r, b, shape) - begin;
        co_u64 run = b * s->spans + r->tile;
        entries = split_there(s, r, &s->number, b, entries, shape);
        co_write64(s->table + run, entries ? SPLIT_RUN + entries : 0);
        co_write32(s->runs.left + run, (co_u32)first + begin);
    }
    for (co_u32 b = co_thread(); b < s->runs.buckets; b += shape.threads) {
        co_u32 entries = split_there(s, r, &s->runs.number, b, co_load32(r->next + b), shape);
        if (entries)
            co_add64(s->runs.next + b, entries);
        co_write64(s->before + (co_u64)r->tile * s->runs.buckets + b, 0);
    }
    if (r->tile == 0 && co_thread() == 0)
        co_write64(s->table + s->buckets * s->spans, 0);
}

/* ---- a tile -------------------------------------------------------------------------------------------- */

/* What comes in first. */
CO_INLINE void split_fetch(const struct split_step *s, struct split_tile *r, co_u64 n, co_u32 tile,
                           struct split_values *v, struct split_shape shape)
{
    const co_u32 size = shape.items * shape.threads;
    co_u64 first = (co_u64)tile * size;
    r->count = n - first < size ? (co_u32)(n - first) : size;
    if (shape.loading == SPLIT_GATHERED)
        split_gather(s, r, v, shape);
    else
        split_load(r, s->part, first, s->last_key, v, shape);
}

/* Counts, ranks, and resolves where the entries go; how many there are. */
CO_INLINE co_u32 split_order(const struct split_step *s, const struct split_tile *r,
                             const struct split_values *v, co_u32 *places, struct split_shape shape)
{
    co_u32 kept[SPLIT_KEPT_WORDS];
    if (shape.way == SPLIT_IN_TILES)
        split_clear_next(s, r, shape);
    split_count_tile(s, r, v, kept, shape);
    co_u32 many = split_scan(s, r, shape);
    split_rank(s, r, v, kept, places, shape);
    co_block_sync();
    if (shape.way == SPLIT_IN_TILES) {
        split_leave_runs(s, r, shape);
        return r->count;
    }
    if (shape.way == SPLIT_TOGETHER)
        split_resolve_together(s, r, shape);
    else if (shape.way == SPLIT_ALONE)
        split_resolve_alone(s, r, shape);
    else if (shape.loading != SPLIT_GATHERED && s->way == SPLIT_BY_SPANS)
        split_resolve_in_span(s, r, shape);
    else
        split_resolve(s, r, shape);
    co_block_sync();
    return shape.form == SPLIT_LOOSE ? many : r->count;
}

CO_INLINE void split_do_tile(const struct split_step *s, struct split_tile *r, co_u64 n, co_u32 tile,
                             struct split_shape shape)
{
    co_u32 places[SPLIT_ITEMS_MOST / 2];
    struct split_values v;
    r->tile = tile;
    split_fetch(s, r, n, tile, &v, shape);
    co_u32 many = split_order(s, r, &v, places, shape);
    split_write_all(s, r, &v, places, many, shape);
}

#endif
