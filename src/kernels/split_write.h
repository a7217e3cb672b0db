/* split_write.h: how a tile that is in order (split_tile.h) is written: the first column from the stage,
 * place by place, each place to where its bucket's entries go; then the other columns, one after the other
 * through the same stage.
 *
 * Two columns of 4 bytes are in the stage together, as words of 8. Of other columns the rank has kept the
 * places, two in a register, and the first one's write keeps the numbers that it finds: each column is put to
 * the same places and written by the same numbers. The next column's loads are under way meanwhile. */
#ifndef COHORT_KERNELS_SPLIT_WRITE_H
#define COHORT_KERNELS_SPLIT_WRITE_H

#include "kernels/split_load.h"

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

CO_INLINE void split_write_packed(const struct split_step *s, const struct split_tile *r, co_u32 many,
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
CO_INLINE void split_write_tile(const struct split_step *s, const struct split_tile *r,
                                struct split_shape shape)
{
    co_u64 first = (co_u64)r->tile * (shape.items * shape.threads);
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = j * shape.threads + co_thread();
        co_u64 v = split_get(r, place, shape.widest);
        if (place < r->count) {
            split_store(s->part, first + place, v, 4);
            if (shape.payload == SPLIT_PAIRS)
                split_store(s->part + 1, first + place, v >> 32, 4);
        }
    }
}

#define SPLIT_ENDLESS 0x7fffffff

/* Into up to 4 buckets: a lane's places rise, and seldom come to the next bucket. */
CO_INLINE void split_write_few(const struct split_step *s, const struct split_tile *r, co_u32 many,
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

/* A whole tile of keys. The lane's part of an address is added once: what is left takes two instructions a
 * place. */
CO_INLINE void split_write_whole(const struct split_step *s, const struct split_tile *r,
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

CO_INLINE void split_write_first(const struct split_step *s, const struct split_tile *r, co_u32 *numbers,
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
        if (shape.payload != SPLIT_KEYS)
            numbers[j / each] = j % each ? numbers[j / each] | b << j % each * split_kept_bits(shape) : b;
    }
}

CO_INLINE void split_write_as(const struct split_tile *r, const struct split_part *part,
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

CO_INLINE void split_write(const struct split_tile *r, const struct split_part *part, const co_u32 *numbers,
                           co_u32 many, struct split_shape shape)
{
    if (part->bytes == 4)
        split_write_as(r, part, numbers, many, 4, shape);
    else if (shape.widest == 8 && part->bytes == 8)
        split_write_as(r, part, numbers, many, 8, shape);
    else
        split_write_as(r, part, numbers, many, 0, shape);
}

/* ---- columns ------------------------------------------------------------------------------------------- */

CO_INLINE void split_arrange(const struct split_tile *r, const struct split_values *v, const co_u32 *places,
                             co_u32 bytes, struct split_shape shape)
{
    CO_EACH_ITEM (j, shape.items) {
        co_u32 two = co_anew32(places[j / 2]), place = j % 2 ? two >> 16 : two & 0xffff;
        if (shape.form != SPLIT_LOOSE || place != SPLIT_NO_PLACE)
            split_put(r, place, split_value(v, j, shape), bytes);
    }
}

/* All columns but the first; v: the next one's entries, under way. */
CO_INLINE void split_columns(const struct split_step *s, const struct split_tile *r, struct split_values *v,
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

/* ---- all that goes out --------------------------------------------------------------------------------- */

/* Of more than 64 buckets (and of pairs) a text of its own for whole tiles is no faster. */
CO_INLINE void split_write_keys(const struct split_step *s, const struct split_tile *r, co_u32 many,
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

CO_INLINE void split_write_all(const struct split_step *s, const struct split_tile *r, struct split_values *v,
                               const co_u32 *places, co_u32 many, struct split_shape shape)
{
    co_u32 numbers[SPLIT_ITEMS_MOST / 2];
    if (split_has_columns(shape) && s->parts > 1)
        split_load(r, s->part + 1, (co_u64)r->tile * (shape.items * shape.threads), 0, v, shape);
    if (shape.way == SPLIT_IN_TILES)
        split_write_tile(s, r, shape);
    else if (shape.payload == SPLIT_PAIRS)
        split_write_packed(s, r, many, shape);
    else if (shape.payload == SPLIT_KEYS)
        split_write_keys(s, r, many, shape);
    else if (shape.widest == 8 && s->part->out && s->part->bytes == 8)
        split_write_first(s, r, numbers, many, 8, shape);
    else if (s->part->out && s->part->bytes == 4)
        split_write_first(s, r, numbers, many, 4, shape);
    else
        split_write_first(s, r, numbers, many, 0, shape);
    if (split_has_columns(shape))
        split_columns(s, r, v, places, numbers, many, shape);
}

#endif
