/* split_tile.h: how a block puts a tile of entries in order of their buckets, stably, and writes it out.
 *
 * A tile is `items` rows of 32 entries a warp: entry j * 32 + lane of a warp is the lane's j-th, so every column is read in whole
 * lines, whatever it is aligned to. What a bucket's number comes from, keys or ids, is the first column. The steps:
 *
 *   count     each warp its entries by bucket, in counters of its own in shared memory
 *   scan      over the warps' counters of a bucket, and over the buckets: where in the tile each warp's entries of each bucket go.
 *             Up to 256 buckets a counter is a word, else half of one
 *   rank      row by row: the lanes that have an entry of the same bucket are found by votes, one a bit; counter and rank among them are
 *             the entry's place, where it is put at once, and the last of them moves the counter on
 *   write     place by place, side by side: the number, computed again, says where its bucket's entries go; out it goes
 *
 * So only the entries themselves are kept in registers over the scan, and none over the rank. Two columns of 4 bytes go together, as words
 * of 8. Of other columns the places are kept, two in a register, and the numbers that the write finds: each column is put to the same
 * places, and written as the first. The next column's loads are under way meanwhile. A block has one tile: one that fetches its next
 * tile while it writes one was slower, since the loads of what comes wait with the stores.
 *
 * Left out. What lies behind the end of a tile that is not whole counts as an entry of the last bucket: so it comes to lie behind all
 * others, and is not written. An entry that has no bucket (SPLIT_LOOSE) gets no place.
 *
 * Where a bucket's entries go in the output comes from a table of spans and what the tiles before in the span have told, from all
 * tiles before, or from places taken (see shape/split_step.h); nothing else differs.
 *
 * A pass of sort (sort_width.h) is the same in its steps and shares none of this text: its numbers are keys turned over in registers, with
 * 256 digits always, one column a width, and a plan in device memory that says where the arrays are. Each text is shorter than one that
 * would be both.
 *
 * Shapes are literals where these functions are used: loops over items are spelled out, and arrays are registers. */
#ifndef COHORT_KERNELS_SPLIT_TILE_H
#define COHORT_KERNELS_SPLIT_TILE_H

#include "kernels/look_back.h"
#include "kernels/split_gather.h"
#include "kernels/split_together.h"

/* ---- count ------------------------------------------------------------------------------------------------------------- */

/* Has the lane's j-th entry a bucket? */
CO_INLINE int split_belongs(const struct split_room *r, co_u32 number, co_u32 j, struct split_shape shape)
{
    return shape.form != SPLIT_LOOSE || (number != SPLIT_BAD && split_mine(shape) + j * 32 < r->count);
}

/* A counter that is half of a word. Additions to one address go one by one, so those lanes that have the bucket of the first lane leave
 * them to it. By a full warp. */
CO_INLINE void split_count_half(const struct split_room *r, co_u32 b)
{
    co_u32 first = co_shuffle32(CO_FULL_WARP, b, 0), same = co_ballot(CO_FULL_WARP, b == first);
    co_u32 entries = b != first ? 1 : co_lane() ? 0 : co_ones32(same);
    if (b != SPLIT_BAD && entries)
        co_add32(r->mine + b / 2, entries << b % 2 * 16);
}

/* Of up to 4 buckets numbers that take more than two instructions are found once, and kept from the count to the rank, 16 a word. */
CO_INLINE int split_keeps(struct split_shape shape)
{
    return shape.bits == 2 && shape.form != SPLIT_FIELD;
}

CO_INLINE void split_count_tile(const struct split_step *s, const struct split_room *r,
                                const struct split_values *v, co_u32 *kept, struct split_shape shape)
{
    co_warp_recast(r->mine, r->stride * 4);
    for (co_u32 i = co_lane(); i < r->stride; i += 32)
        co_write32(r->mine + i, 0);
    co_warp_sync(CO_FULL_WARP);
    CO_EACH_ITEM (j, shape.items) {
        co_u32 b = split_number_of(&s->number, split_value(v, j, shape), shape.form, r->wide);
        int belongs = split_belongs(r, b, j, shape);
        if (split_keeps(shape))
            kept[j / 16] = co_anew32(j % 16 ? kept[j / 16] | b << j % 16 * 2 : b);
        if (split_halves(shape))
            split_count_half(r, belongs ? b : SPLIT_BAD);
        else if (belongs)
            co_add32(r->mine + b, 1);
        if (shape.role == SPLIT_LEAVES)
            co_add32(r->next + split_number_of(&s->runs.number, split_value(v, j, shape), shape.form, 0), 1);
    }
}

/* Before the block counts numbers of the next digit. */
CO_INLINE void split_clear_next(const struct split_step *s, const struct split_room *r,
                                struct split_shape shape)
{
    for (co_u32 b = co_thread(); b < s->runs.buckets; b += shape.threads)
        co_write32(r->next + b, 0);
    co_block_sync();
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

/* Entries with number b, less what fills up the last tile. */
CO_INLINE co_u32 split_there(const struct split_step *s, const struct split_room *r,
                             const struct split_number *number, co_u32 b, co_u32 entries,
                             struct split_shape shape)
{
    if (shape.form != SPLIT_LOOSE && b == split_number_of(number, s->last_key, shape.form, r->wide))
        entries -= shape.items * shape.threads - r->count;
    return entries;
}

/* Tells the tiles after this one how many entries of the buckets of a word there are. */
CO_INLINE void split_tell(const struct split_step *s, const struct split_room *r, co_u32 word, co_u32 sum,
                          struct split_shape shape)
{
    co_u32 b = split_halves(shape) ? 2 * word : word;
    co_u64 at = (co_u64)r->tile * s->buckets + b;
    if (shape.columns == SPLIT_IN_TURN)
        look_back_tell_short((co_u32 *)(void *)s->before, at, r->tile, sum);
    else
        look_back_tell(s->before, at, r->tile, split_halves(shape) ? sum & 0xffff : sum, 0, 0);
    if (split_halves(shape) && b + 1 < s->buckets)
        look_back_tell(s->before, at + 1, r->tile, sum >> 16, 0, 0);
}

/* The same in a short span. */
CO_INLINE co_u32 *split_told(const struct split_step *s, const struct split_room *r, co_u32 word,
                             struct split_shape shape)
{
    return s->told + (co_u64)r->tile * split_words_of(s->buckets, shape.bits) + word;
}

/* A word's counters become places; it begins at `next`. */
CO_INLINE void split_scan_word(const struct split_room *r, co_u32 word, co_u32 next, struct split_shape shape)
{
    co_u32 low = 0, place = next;
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
CO_INLINE co_u32 split_scan(const struct split_step *s, const struct split_room *r, struct split_shape shape)
{
    co_u32 words = split_words_of(s->buckets, shape.bits), groups = (words + 31) / 32;
    split_meet(r);
    for (co_u32 g = co_warp(); g < groups; g += shape.threads / 32) {
        co_u32 word = g * 32 + co_lane(), sum = 0;
        if (word < words) {
            CO_EACH_ITEM (w, shape.threads / 32)
                sum += co_read32(r->all + w * r->stride + word);
            if (shape.whole == 2)
                split_tell_all(s, r->tile, word, split_there(s, r, &s->number, word, sum, shape));
            else if (s->way == SPLIT_BY_LOOK_BACK)
                split_tell(s, r, word, sum, shape);
            else if (s->way == SPLIT_BY_SPANS && s->tiles > 1)
                co_store32(split_told(s, r, word, shape), sum | SPLIT_TOLD);
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

/* ---- rank -------------------------------------------------------------------------------------------------------------- */

CO_INLINE void split_put(const struct split_room *r, co_u32 place, co_u64 v, co_u32 bytes)
{
    if (bytes == 8)
        co_write64((co_u64 *)(void *)r->stage + place, v);
    else
        co_write32((co_u32 *)(void *)r->stage + place, (co_u32)v);
}

CO_INLINE co_u64 split_get(const struct split_room *r, co_u32 place, co_u32 bytes)
{
    return bytes == 8 ? co_read64((const co_u64 *)(const void *)r->stage + place)
                      : co_read32((const co_u32 *)(const void *)r->stage + place);
}

CO_INLINE co_u32 split_counter(const co_u32 *counters, co_u32 b, struct split_shape shape)
{
    return split_halves(shape) ? co_read16((const co_u16 *)(const void *)counters + b)
                               : co_read32(counters + b);
}

CO_INLINE void split_set_counter(co_u32 *counters, co_u32 b, co_u32 v, struct split_shape shape)
{
    if (split_halves(shape))
        co_write16((co_u16 *)(void *)counters + b, (co_u16)v);
    else
        co_write32(counters + b, v);
}

/* Place j of the lane's, where columns follow: two a word, `two` the last; IN_TURN in shared memory. */
CO_INLINE void split_keep_place(co_u32 *places, co_u32 *two, co_u32 j, co_u32 place, struct split_shape shape)
{
    *two = j % 2 ? *two | place << 16 : place;
    if (shape.columns == SPLIT_COLUMNS)
        places[j / 2] = *two;
    else if (shape.columns == SPLIT_IN_TURN && (j % 2 || j + 1 == shape.items))
        co_write32(places + j / 2 * shape.threads, *two);
}

/* Puts the first column in order. */
CO_INLINE void split_rank(const struct split_step *s, const struct split_room *r,
                          const struct split_values *v, const co_u32 *kept, co_u32 *places,
                          struct split_shape shape)
{
    co_u32 before = (1u << co_lane()) - 1, two = 0;
    CO_EACH_ITEM (j, shape.items) {
        co_u64 value = split_value_anew(v, j, shape);
        co_u32 b = split_keeps(shape) ? co_anew32(kept[j / 16]) >> j % 16 * 2 & 3
                                      : split_number_of(&s->number, value, shape.form, r->wide);
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

/* ---- where it goes ----------------------------------------------------------------------------------------------------- */

/* Where in the tile bucket b ends, once all warps have ranked. */
CO_INLINE co_u32 split_end(const struct split_room *r, co_u32 b, struct split_shape shape)
{
    return split_counter(r->all + (shape.threads / 32 - 1) * r->stride, b, shape);
}

/* Places that nobody else gets. What is not there, of the last tile, needs none. */
CO_INLINE co_u64 split_reserve(const struct split_step *s, const struct split_room *r, co_u32 b,
                               co_u32 entries, struct split_shape shape)
{
    entries = split_there(s, r, &s->number, b, entries, shape);
    return entries ? co_add64(s->before + b, entries) : 0;
}

CO_INLINE void split_start(const struct split_room *r, co_u32 b, co_u64 table, co_u32 before,
                           struct split_shape shape)
{
    co_u32 begin = b ? split_end(r, b - 1, shape) : 0;
    co_write64(r->starts + b, table + before - begin);
}

CO_INLINE co_u64 split_look_back(const struct split_step *s, const struct split_room *r, co_u32 b,
                                 co_u32 entries, struct split_shape shape)
{
    return shape.columns == SPLIT_IN_TURN
               ? look_back_lane_short((co_u32 *)(void *)s->before, r->tile, s->buckets, b, entries)
               : look_back_lane(s->before, r->tile, s->buckets, b, entries, 0);
}

CO_INLINE void split_learn(const struct split_step *s, const struct split_room *r, struct split_shape shape)
{
    for (co_u32 b = co_thread(); b < s->buckets; b += shape.threads) {
        co_u32 begin = b ? split_end(r, b - 1, shape) : 0, entries = split_end(r, b, shape) - begin;
        co_u64 before = s->way == SPLIT_BY_LOOK_BACK ? split_look_back(s, r, b, entries, shape)
                                                     : split_reserve(s, r, b, entries, shape);
        co_write64(r->starts + b, co_read64(s->table + b) + before - begin);
    }
}

/* The entries of a word's buckets in the tiles before this one in its span; `high` of the second, where a word is of two. */
CO_INLINE void split_span_before(const struct split_step *s, const struct split_room *r, co_u32 word,
                                 co_u32 *low, co_u32 *high, struct split_shape shape)
{
    co_u32 words = split_words_of(s->buckets, shape.bits), told[SPLIT_TILES_MOST - 1];
    co_u32 back = r->tile % s->tiles;
    const co_u32 *at = split_told(s, r, word, shape);
    CO_EACH_ITEM (i, SPLIT_TILES_MOST - 1)
        told[i] = i < back ? co_load32(at - (i + 1ull) * words) : SPLIT_TOLD;
    *low = *high = 0;
    CO_EACH_ITEM (i, SPLIT_TILES_MOST - 1) {
        while (!(told[i] & SPLIT_TOLD)) {
            co_pause();
            told[i] = co_load32(at - (i + 1ull) * words);
        }
        *low += split_halves(shape) ? told[i] & 0xffff : told[i] & ~SPLIT_TOLD;
        *high += (told[i] & ~SPLIT_TOLD) >> 16;
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

/* There is no other tile: places are places in the output, and the ends of buckets the split's offsets. What stands for entries that
 * are not there is behind all others. */
CO_INLINE void split_learn_itself(const struct split_step *s, const struct split_room *r,
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
CO_INLINE void split_learn_together(const struct split_step *s, const struct split_room *r,
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

CO_INLINE void split_learn_in_span(const struct split_step *s, const struct split_room *r,
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
CO_INLINE void split_leave_runs(const struct split_step *s, const struct split_room *r,
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

/* ---- write ------------------------------------------------------------------------------------------------------------- */

/* `bytes`: as of split_load_as. */
CO_INLINE void split_store(const struct split_part *part, co_u64 to, co_u64 v, co_u32 bytes)
{
    co_u8 *out = (co_u8 *)part->out;
    if (bytes == 1 || (!bytes && part->bytes == 1))
        co_write8(out + to, (co_u8)v);
    else if (bytes == 2 || !bytes)
        co_write16((co_u16 *)(void *)(out + to * 2), (co_u16)v);
    else if (bytes == 4)
        co_write32((co_u32 *)(void *)(out + to * 4), (co_u32)v);
    else
        co_write64((co_u64 *)(void *)(out + to * part->stride), v);
}

CO_INLINE void split_write_twins(const struct split_step *s, const struct split_room *r, co_u32 many,
                                 struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = j * shape.threads + co_thread();
        co_u64 v = split_get(r, place, 8);
        co_u32 b = split_number_of(&s->number, v, shape.form, 0);
        if (place < many) {
            co_u64 to = co_read64(r->starts + b) + place;
            if (s->part->out)
                split_store(s->part, to, (co_u32)v, 4);
            split_store(s->part + 1, to, v >> 32, 4);
        }
    }
}

/* A tile that stays where it is. */
CO_INLINE void split_write_tile(const struct split_step *s, const struct split_room *r,
                                struct split_shape shape)
{
    co_u64 first = (co_u64)r->tile * (shape.items * shape.threads);
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = j * shape.threads + co_thread();
        co_u64 v = split_get(r, place, shape.widest);
        if (place < r->count) {
            split_store(s->part, first + place, v, 4);
            if (shape.columns == SPLIT_TWINS)
                split_store(s->part + 1, first + place, v >> 32, 4);
        }
    }
}

#define SPLIT_ENDLESS 0x7fffffff

/* Into up to 4 buckets: a lane's places rise, and seldom come to the next bucket. */
CO_INLINE void split_write_few(const struct split_step *s, const struct split_room *r, co_u32 many,
                               struct split_shape shape)
{
    const co_u32 *mine = (const co_u32 *)(const void *)r->stage + co_thread();
    co_u32 *out = (co_u32 *)s->part->out + co_thread(), *to = out + co_read64(r->starts), b = 0;
    int there = (int)(many - co_thread()), left = (int)(split_end(r, 0, shape) - co_thread());
    CO_EACH_ITEM (j, shape.items) {
        const int row = (int)(j * shape.threads);
        while (row >= left) {
            b++;
            left = b < s->buckets ? (int)(split_end(r, b, shape) - co_thread()) : SPLIT_ENDLESS;
            to = b < s->buckets ? out + co_read64(r->starts + b) : to;
        }
        if (row < there)
            co_write32(to + row, co_read32(mine + row));
    }
}

/* A whole tile of keys. The lane's part of an address is added once: what is left takes two instructions a place. */
CO_INLINE void split_write_whole(const struct split_step *s, const struct split_room *r,
                                 struct split_shape shape)
{
    co_u32 *out = (co_u32 *)s->part->out + co_anew32(co_thread());
    CO_EACH_ITEM (j, shape.items) {
        co_u32 v = (co_u32)split_get(r, j * shape.threads + co_thread(), 4);
        co_u32 b = split_number_of(&s->number, v, shape.form, 0);
        co_write32(out + co_read64(r->starts + b) + j * shape.threads, v);
    }
}

/* Numbers are kept four or two a word. */
CO_INLINE co_u32 split_kept_bits(struct split_shape shape)
{
    return shape.bits > 8 ? 16 : 8;
}

CO_INLINE void split_write_first(const struct split_step *s, const struct split_room *r, co_u32 *numbers,
                                 co_u32 many, co_u32 bytes, struct split_shape shape)
{
    co_u32 each = 32 / split_kept_bits(shape);
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = j * shape.threads + co_thread(), b = 0;
        if (shape.form != SPLIT_LOOSE || place < many) {
            co_u64 v = split_get(r, place, shape.widest);
            b = split_number_of(&s->number, v, shape.form, r->wide);
            if (place < many && (bytes || s->part->out))
                split_store(s->part, co_read64(r->starts + b) + place, v, bytes);
        }
        if (shape.columns)
            numbers[j / each] = j % each ? numbers[j / each] | b << j % each * split_kept_bits(shape) : b;
    }
}

CO_INLINE void split_write_as(const struct split_room *r, const struct split_part *part,
                              const co_u32 *numbers, co_u32 many, co_u32 bytes, struct split_shape shape)
{
    co_u32 each = 32 / split_kept_bits(shape), mask = (1u << split_kept_bits(shape)) - 1;
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = j * shape.threads + co_thread();
        co_u32 b = co_anew32(numbers[j / each]) >> j % each * split_kept_bits(shape) & mask;
        if (place < many)
            split_store(part, co_read64(r->starts + b) + place, split_get(r, place, bytes), bytes);
    }
}

CO_INLINE void split_write(const struct split_room *r, const struct split_part *part, const co_u32 *numbers,
                           co_u32 many, struct split_shape shape)
{
    if (part->bytes == 4)
        split_write_as(r, part, numbers, many, 4, shape);
    else if (shape.widest == 8 && part->bytes == 8)
        split_write_as(r, part, numbers, many, 8, shape);
    else
        split_write_as(r, part, numbers, many, 0, shape);
}

/* ---- columns ----------------------------------------------------------------------------------------------------------- */

CO_INLINE void split_arrange(const struct split_room *r, const struct split_values *v, const co_u32 *places,
                             co_u32 bytes, struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        co_u32 two = co_anew32(places[j / 2]), place = j % 2 ? two >> 16 : two & 0xffff;
        if (shape.form != SPLIT_LOOSE || place != SPLIT_NO_PLACE)
            split_put(r, place, split_value(v, j, shape), bytes);
    }
}

/* All columns but the first; v: the next one's entries, under way. */
CO_INLINE void split_columns(const struct split_step *s, const struct split_room *r, struct split_values *v,
                             const co_u32 *places, const co_u32 *numbers, co_u32 many,
                             struct split_shape shape)
{
    for (co_u32 p = 1; p < s->parts; p++) {
        const struct split_part *part = s->part + p;
        split_meet(r);
        if (shape.widest == 8 && part->bytes == 8)
            split_arrange(r, v, places, 8, shape);
        else
            split_arrange(r, v, places, 4, shape);
        co_block_sync();
        if (p + 1 < s->parts)
            split_load(r, part + 1, (co_u64)r->tile * (shape.items * shape.threads), 0, v, shape);
        split_write(r, part, numbers, many, shape);
    }
}

/* ---- a tile ------------------------------------------------------------------------------------------------------------ */

/* What comes in first. */
CO_INLINE void split_fetch(const struct split_step *s, struct split_room *r, co_u64 n, co_u32 tile,
                           struct split_values *v, struct split_shape shape)
{
    const co_u32 size = shape.items * shape.threads;
    co_u64 first = (co_u64)tile * size;
    r->count = n - first < size ? (co_u32)(n - first) : size;
    if (shape.role == SPLIT_GATHERS)
        split_gather(s, r, v, shape);
    else
        split_load(r, s->part, first, s->last_key, v, shape);
}

/* Counts, ranks, and learns where the entries go; how many there are. */
CO_INLINE co_u32 split_order(const struct split_step *s, const struct split_room *r,
                             const struct split_values *v, co_u32 *places, struct split_shape shape)
{
    co_u32 kept[SPLIT_ITEMS_MOST / 16];
    if (shape.role == SPLIT_LEAVES)
        split_clear_next(s, r, shape);
    split_count_tile(s, r, v, kept, shape);
    co_u32 many = split_scan(s, r, shape);
    split_rank(s, r, v, kept, places, shape);
    co_block_sync();
    if (shape.role == SPLIT_LEAVES) {
        split_leave_runs(s, r, shape);
        return r->count;
    }
    if (shape.whole == 2)
        split_learn_together(s, r, shape);
    else if (shape.whole)
        split_learn_itself(s, r, shape);
    else if (shape.role == SPLIT_WHOLE && s->way == SPLIT_BY_SPANS)
        split_learn_in_span(s, r, shape);
    else
        split_learn(s, r, shape);
    co_block_sync();
    return shape.form == SPLIT_LOOSE ? many : r->count;
}

/* Of more than 64 buckets (and of pairs) a text of its own for whole tiles is no faster. */
CO_INLINE void split_write_keys(const struct split_step *s, const struct split_room *r, co_u32 many,
                                struct split_shape shape)
{
    if (!s->part->out)
        return;
    if (shape.bits == 2)
        split_write_few(s, r, many, shape);
    else if (shape.bits <= 6 && many == shape.items * shape.threads)
        split_write_whole(s, r, shape);
    else
        split_write_first(s, r, 0, many, 4, shape);
}

CO_INLINE void split_write_all(const struct split_step *s, const struct split_room *r, struct split_values *v,
                               const co_u32 *places, co_u32 many, struct split_shape shape)
{
    co_u32 numbers[SPLIT_ITEMS_MOST / 2];
    if (shape.columns == SPLIT_COLUMNS && s->parts > 1)
        split_load(r, s->part + 1, (co_u64)r->tile * (shape.items * shape.threads), 0, v, shape);
    if (shape.role == SPLIT_LEAVES)
        split_write_tile(s, r, shape);
    else if (shape.columns == SPLIT_TWINS)
        split_write_twins(s, r, many, shape);
    else if (shape.columns == SPLIT_ALONE)
        split_write_keys(s, r, many, shape);
    else if (shape.widest == 8 && s->part->out && s->part->bytes == 8)
        split_write_first(s, r, numbers, many, 8, shape);
    else if (s->part->out && s->part->bytes == 4)
        split_write_first(s, r, numbers, many, 4, shape);
    else if (shape.columns)
        split_write_first(s, r, numbers, many, 0, shape);
    if (shape.columns == SPLIT_COLUMNS)
        split_columns(s, r, v, places, numbers, many, shape);
}

CO_INLINE void split_tile(const struct split_step *s, struct split_room *r, co_u64 n, co_u32 tile,
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
