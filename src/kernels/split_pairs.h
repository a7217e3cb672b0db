/* split_pairs.h: a tile of pairs of 4 + 4 bytes, into more than 64 buckets: as split_tile.h, but keys and
 * payload go through the stage in two phases, in 4 bytes an entry. A stage of the same size holds twice as
 * many entries, so runs are longer, and a lane has few registers in use, since keys are gone from them when
 * the payload comes:
 *
 *   count, scan, rank   of the keys; where each went is left in shared memory, two places a word
 *   resolve             where they go in the output; then the payload is asked for, and is on its way while
 *                       keys are written
 *   write keys          the number of each place's bucket is left where counters were, four a word
 *   write payload       put to the same places, and written by the same numbers
 *
 * Asked for before the block looks back, the payload is in the way of what that reads. Places and numbers in
 * registers, as columns have them, spill: each lane reads its own words again, without conflicts. */
#ifndef COHORT_KERNELS_SPLIT_PAIRS_H
#define COHORT_KERNELS_SPLIT_PAIRS_H

#include "kernels/split_tile.h"

/* This lane's words of places, and of numbers. */
CO_INLINE co_u32 *split_pairs_places(const struct split_tile *r)
{
    return r->next + co_thread();
}

CO_INLINE co_u32 *split_pairs_numbers(const struct split_tile *r)
{
    return r->all + co_thread();
}

CO_INLINE void split_pairs_load(const struct split_tile *r, const void *in, co_u64 first, co_u32 none,
                                co_u32 *v, struct split_shape shape)
{
    co_u32 mine = split_mine(r, shape);
    const co_u32 *at = (const co_u32 *)in + first + mine;
    if (r->count == split_rows(r, shape) * shape.threads) {
        CO_EACH_ITEM (j, shape.items) {
            if (split_no_row(r, j, shape))
                break;
            v[j] = co_read_stream32(at + j * 32);
        }
    } else {
        CO_EACH_ITEM (j, shape.items) {
            if (split_no_row(r, j, shape))
                break;
            v[j] = mine + j * 32 < r->count ? co_read_stream32(at + j * 32) : none;
        }
    }
}

/* Places in the input, as a payload that is not read from anywhere. */
CO_INLINE void split_pairs_indices(const struct split_tile *r, co_u64 first, co_u32 *v,
                                   struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items)
        v[j] = (co_u32)first + split_mine(r, shape) + j * 32;
}

CO_INLINE void split_pairs_load_payload(const struct split_step *s, const struct split_tile *r, co_u64 first,
                                        co_u32 *v, struct split_shape shape)
{
    if (s->part[1].in)
        split_pairs_load(r, s->part[1].in, first, 0, v, shape);
    else
        split_pairs_indices(r, first, v, shape);
}

CO_INLINE void split_pairs_write_keys(const struct split_step *s, const struct split_tile *r,
                                      struct split_shape shape)
{
    co_u32 *out = (co_u32 *)s->part->out + co_anew32(co_thread()), *numbers = split_pairs_numbers(r);
    co_u32 many = s->part->out ? r->count : 0, four = 0;
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = j * shape.threads + co_thread(), v = (co_u32)split_get(r, place, 4);
        co_u32 b = split_number_of(&s->number, v, shape.form, 0);
        if (place < many)
            co_write32(out + co_read64(r->starts + b) + j * shape.threads, v);
        four = j % 4 ? four | b << j % 4 * 8 : b;
        if (j % 4 == 3 || j + 1 == shape.items)
            co_write32(numbers + j / 4 * shape.threads, four);
    }
}

CO_INLINE void split_pairs_arrange(const struct split_tile *r, const co_u32 *v, struct split_shape shape)
{
    const co_u32 *places = split_pairs_places(r);
    co_u32 two = 0;
    CO_EACH_ITEM (j, shape.items) {
        if (split_no_row(r, j, shape))
            break;
        two = j % 2 ? two >> 16 : co_read32(places + j / 2 * shape.threads);
        split_put(r, two & 0xffff, v[j], 4);
    }
}

CO_INLINE void split_pairs_write_payload(const struct split_step *s, const struct split_tile *r,
                                         struct split_shape shape)
{
    const co_u32 *numbers = split_pairs_numbers(r);
    co_u32 *out = (co_u32 *)s->part[1].out + co_anew32(co_thread()), four = 0;
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = j * shape.threads + co_thread();
        four = j % 4 ? four >> 8 : co_read32(numbers + j / 4 * shape.threads);
        if (place < r->count)
            co_write32(out + co_read64(r->starts + (four & 0xff)) + j * shape.threads,
                       (co_u32)split_get(r, place, 4));
    }
}

CO_INLINE void split_pairs(const struct split_step *s, struct split_tile *r, co_u64 n, co_u32 tile,
                           struct split_shape shape)
{
    const co_u32 size = shape.items * shape.threads;
    co_u64 first = (co_u64)tile * size;
    struct split_values v;
    r->tile = tile;
    r->count = n - first < size ? (co_u32)(n - first) : size;
    split_pairs_load(r, s->part->in, first, (co_u32)s->last_key, v.low, shape);
    split_count_tile(s, r, &v, 0, shape);
    split_scan(s, r, shape);
    split_rank(s, r, &v, 0, split_pairs_places(r), shape);
    co_block_sync();
    if (s->way == SPLIT_BY_SPANS)
        split_resolve_in_span(s, r, shape);
    else
        split_resolve(s, r, shape);
    split_pairs_load_payload(s, r, first, v.low, shape);
    co_block_sync();
    split_pairs_write_keys(s, r, shape);
    co_block_sync();
    split_pairs_arrange(r, v.low, shape);
    co_block_sync();
    split_pairs_write_payload(s, r, shape);
}

#endif
