/* split_load.h: what a block holds of a tile, in registers and in shared memory, and how it is loaded. Shapes
 * are literals where these functions are used: loops over items are spelled out, and arrays are registers. */
#ifndef COHORT_KERNELS_SPLIT_LOAD_H
#define COHORT_KERNELS_SPLIT_LOAD_H

#include "kernels/split_ids.h"

#define SPLIT_ITEMS_MOST 36
#define SPLIT_KEPT_WORDS (SPLIT_ITEMS_MOST / 4) /* of numbers that are kept */
#define SPLIT_NO_PLACE   0xffffu

/* What an instance of the kernels is compiled for (shape/split_instances.h). */
struct split_shape {
    co_u32 way, payload, loading, form;
    co_u32 bits;           /* of a bucket's number, at most */
    co_u32 items, threads; /* rows of a warp; lanes of a block */
    co_u32 widest;         /* bytes of an entry, at most: 4 or 8 */
};

/* That of a row of the list. */
#define SPLIT_SHAPE(form, way, payload, loading, bits, items, threads)                                     \
    {                                                                                                      \
        SPLIT_WAY_##way, SPLIT_PAYLOAD_##payload, SPLIT_LOADING_##loading, SPLIT_FORM_##form, bits, items, \
            threads, SPLIT_WIDEST(SPLIT_PAYLOAD_##payload, SPLIT_LOADING_##loading)                        \
    }

/* Does a block publish to all others what it has, before any of them writes? */
CO_INLINE int split_is_together(struct split_shape shape)
{
    return shape.way == SPLIT_TOGETHER || shape.way == SPLIT_SPANS_TOGETHER;
}

/* Do any columns follow the first, one after the other? */
CO_INLINE int split_has_columns(struct split_shape shape)
{
    return shape.payload == SPLIT_COLUMNS_4 || shape.payload == SPLIT_COLUMNS_8;
}

/* A lane's entries of one column. `high` where the shape is wide; else it is never there. */
struct split_values {
    co_u32 low[SPLIT_ITEMS_MOST], high[SPLIT_ITEMS_MOST];
};

CO_INLINE co_u64 split_value(const struct split_values *v, co_u32 j, struct split_shape shape)
{
    return shape.widest == 8 ? v->low[j] | (co_u64)v->high[j] << 32 : v->low[j];
}

/* The same, not known to be what the count saw: else its numbers would be kept. */
CO_INLINE co_u64 split_value_anew(const struct split_values *v, co_u32 j, struct split_shape shape)
{
    return shape.widest == 8 ? co_anew32(v->low[j]) | (co_u64)co_anew32(v->high[j]) << 32
                             : co_anew32(v->low[j]);
}

CO_INLINE void split_set(struct split_values *v, co_u32 j, co_u64 value, struct split_shape shape)
{
    v->low[j] = (co_u32)value;
    if (shape.widest == 8)
        v->high[j] = (co_u32)(value >> 32);
}

/* A block's shared memory, and its tile. */
struct split_tile {
    co_u8 *stage;   /* the tile's entries of one column, in order */
    co_u32 *all;    /* the warps' counters */
    co_u32 *mine;   /* those of this lane's warp */
    co_u32 *begins; /* [word of counters]: its entries' place in its group of 32 words */
    co_u32 *groups; /* [group]: its entries */
    co_u64 *starts; /* [bucket]: where its entries of the tile go, less their places in the tile */
    co_u32 *next;   /* [number of the next digit]: entries, where runs are left; TWO_PHASE, places */
    co_u32 stride;  /* words of a warp's counters */
    co_u32 recast;  /* bytes of stage and counters */
    co_u32 *ticket; /* the number of the next tile */
    co_u32 rows;    /* of a warp; SPANS_TOGETHER: no more than the shape's */
    co_u32 tile;    /* its number among all */
    co_u32 count;   /* entries that there are */
    int wide;       /* the first column has entries of 8 bytes */
};

CO_INLINE int split_halves(struct split_shape shape)
{
    return shape.bits > SPLIT_WORD_BITS;
}

CO_INLINE struct split_layout split_layout_of(struct split_shape shape)
{
    return split_layout(shape.bits, shape.items, shape.threads, shape.widest,
                        shape.loading == SPLIT_FETCHED ? split_pads(shape.bits) : 0);
}

CO_INLINE struct split_tile split_tile_of(const struct split_step *s, co_u8 *memory, struct split_shape shape)
{
    struct split_layout l = split_layout_of(shape);
    struct split_tile r;
    r.stage = memory;
    r.all = (co_u32 *)(void *)(memory + l.counters);
    r.mine = r.all + co_warp() * l.stride;
    r.begins = (co_u32 *)(void *)(memory + l.begins);
    r.groups = (co_u32 *)(void *)(memory + l.groups);
    r.ticket = (co_u32 *)(void *)(memory + l.ticket);
    r.starts = (co_u64 *)(void *)(memory + l.starts);
    r.next = (co_u32 *)(void *)(memory + l.end);
    r.stride = l.stride;
    r.recast = l.begins;
    r.rows = shape.items;
    r.wide = shape.payload == SPLIT_COLUMNS_8 && s->part[0].bytes == 8;
    return r;
}

/* The block meets; stage and counters may then be used with other widths. */
CO_INLINE void split_meet(const struct split_tile *r)
{
    co_block_recast(r->stage, r->recast);
}

CO_INLINE void split_put(const struct split_tile *r, co_u32 place, co_u64 v, co_u32 bytes)
{
    if (bytes == 8)
        co_write64((co_u64 *)(void *)r->stage + place, v);
    else
        co_write32((co_u32 *)(void *)r->stage + place, (co_u32)v);
}

CO_INLINE co_u64 split_get(const struct split_tile *r, co_u32 place, co_u32 bytes)
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

/* Where in the tile bucket b ends, once all warps have ranked. */
CO_INLINE co_u32 split_end(const struct split_tile *r, co_u32 b, struct split_shape shape)
{
    return split_counter(r->all + (shape.threads / 32 - 1) * r->stride, b, shape);
}

/* Of a tile, where the shape does not tell. */
CO_INLINE co_u32 split_rows(const struct split_tile *r, struct split_shape shape)
{
    return shape.way == SPLIT_SPANS_TOGETHER ? r->rows : shape.items;
}

/* Has the tile no row j? Then it has none of the rows behind it. */
CO_INLINE int split_no_row(const struct split_tile *r, co_u32 j, struct split_shape shape)
{
    return shape.way == SPLIT_SPANS_TOGETHER && j % SPLIT_ROWS_STEP == 0 && j >= r->rows;
}

/* The tile's entry that is the first of this lane's; the others follow at distances of 32. */
CO_INLINE co_u32 split_mine(const struct split_tile *r, struct split_shape shape)
{
    return co_warp() * 32 * split_rows(r, shape) + co_lane();
}

/* ---- load ---------------------------------------------------------------------------------------------- */

CO_INLINE co_u64 split_read(const co_u8 *p, co_u32 bytes)
{
    return bytes == 1   ? co_read_stream8(p)
           : bytes == 2 ? co_read_stream16((const co_u16 *)(const void *)p)
           : bytes == 4 ? co_read_stream32((const co_u32 *)(const void *)p)
                        : co_read_stream64((const co_u64 *)(const void *)p);
}

CO_INLINE co_u64 split_read_as(const co_u8 *p, co_u32 bytes, co_u32 each)
{
    if (bytes)
        return split_read(p, bytes);
    return each == 1 ? split_read(p, 1) : split_read(p, 2);
}

/* `bytes` is a literal, or 0 for the rare ones, 1 and 2. Of keys alone a whole tile's load is a text of its
 * own. */
CO_INLINE void split_load_as(const struct split_tile *r, const struct split_part *part, co_u64 first,
                             co_u64 none, struct split_values *v, co_u32 bytes, struct split_shape shape)
{
    co_u32 mine = split_mine(r, shape), stride = bytes == 4 ? 4 : bytes == 8 ? part->stride : part->bytes;
    const co_u8 *at = (const co_u8 *)part->in + (first + mine) * stride;
    co_u32 each = bytes ? bytes : part->bytes;
    if (shape.payload == SPLIT_KEYS && r->count == shape.items * shape.threads) {
        CO_EACH_ITEM (j, shape.items)
            split_set(v, j, split_read_as(at + j * 32 * stride, bytes, each), shape);
    } else {
        CO_EACH_ITEM (j, shape.items)
            split_set(v, j,
                      mine + j * 32 < r->count ? split_read_as(at + j * 32 * stride, bytes, each) : none,
                      shape);
    }
}

CO_INLINE void split_load_packed(const struct split_tile *r, const struct split_part *part, co_u64 first,
                                 co_u64 none, struct split_values *v, struct split_shape shape)
{
    co_u32 mine = split_mine(r, shape);
    const co_u32 *low = (const co_u32 *)part[0].in + first + mine;
    const co_u32 *high = (const co_u32 *)part[1].in + first + mine;
    if (!part[1].in) {
        CO_EACH_ITEM (j, shape.items) {
            v->low[j] = mine + j * 32 < r->count ? co_read_stream32(low + j * 32) : (co_u32)none;
            v->high[j] = (co_u32)first + mine + j * 32;
        }
    } else if (r->count == shape.items * shape.threads) {
        CO_EACH_ITEM (j, shape.items)
            v->low[j] = co_read_stream32(low + j * 32);
        CO_EACH_ITEM (j, shape.items)
            v->high[j] = co_read_stream32(high + j * 32);
    } else {
        CO_EACH_ITEM (j, shape.items) {
            int there = mine + j * 32 < r->count;
            v->low[j] = there ? co_read_stream32(low + j * 32) : (co_u32)none;
            v->high[j] = there ? co_read_stream32(high + j * 32) : 0;
        }
    }
}

CO_INLINE void split_load(const struct split_tile *r, const struct split_part *part, co_u64 first,
                          co_u64 none, struct split_values *v, struct split_shape shape)
{
    if (shape.payload == SPLIT_PAIRS)
        split_load_packed(r, part, first, none, v, shape);
    else if (shape.payload == SPLIT_KEYS)
        split_load_as(r, part, first, none, v, shape.widest, shape);
    else if (!part->in)
        CO_EACH_ITEM (j, shape.items)
            split_set(v, j, first + split_mine(r, shape) + j * 32, shape);
    else if (part->bytes == 4)
        split_load_as(r, part, first, none, v, 4, shape);
    else if (shape.widest == 8 && part->bytes == 8)
        split_load_as(r, part, first, none, v, 8, shape);
    else
        split_load_as(r, part, first, none, v, 0, shape);
}

#endif
