/* shape/table.h: how a column lies in memory. Plain C, seen by the API, by both backends and by the kernels.
 *
 * A column is pieces one after the other. Where elements have whole bytes, `data` points to the piece's first
 * element; bitmaps have the number of their first bit beside them, as a bit has no address. */
#ifndef COHORT_SHAPE_TABLE_H
#define COHORT_SHAPE_TABLE_H

#include "cohort/device/lane.h"

enum table_layout {
    TABLE_BITS = 0,       /* bool: `data` is a bitmap from bit `data_bit` on */
    TABLE_FIXED = 1,      /* elements of `bytes` bytes */
    TABLE_OFFSETS_32 = 2, /* rows + 1 offsets of 4 bytes, whose bytes are `heap` */
    TABLE_OFFSETS_64 = 3,
    TABLE_VIEWS = 4 /* views of 16 bytes, into heaps or whole in themselves */
};

enum table_number {
    TABLE_UNSIGNED = 0,
    TABLE_SIGNED = 1, /* decimals of 16 bytes too */
    TABLE_FLOAT = 2,
    TABLE_BYTES = 3 /* no number */
};

struct table_type {
    co_u32 layout;
    co_u32 number;
    co_u32 bytes; /* of an element; strings: 0 */
    co_u32 sums;  /* 1: sums and means make sense: integers, floats, bool, decimals */
};

struct table_column;

struct table_piece {
    co_u64 first; /* the column's row that is row 0 of the piece */
    co_u64 rows;
    co_u64 nulls;
    const co_u8 *validity; /* NULL: no row is null */
    co_u64 validity_bit;
    const void *data;
    co_u64 data_bit;
    const void *offsets;
    const void **heaps; /* VIEWS: a list in the host's memory; else NULL, and the one heap is `data` */
    co_u64 *heap_bytes;
    co_u32 heap_count;
    co_u32 reserved;
    const struct table_column *dictionary; /* data: indices of `bytes` bytes; else NULL */
};

/* A view as Arrow has it: up to 12 bytes lie in it, of longer strings the first four. */
#define TABLE_VIEW_INLINE 12u
struct table_view {
    co_u32 length;
    co_u8 prefix[4];
    co_u32 heap;
    co_u32 offset;
};

CO_INLINE int table_bit(const co_u8 *bits, co_u64 i)
{
    return co_read8(bits + i / 8) >> (i & 7) & 1;
}

CO_INLINE int table_is_valid(const struct table_piece *p, co_u64 row)
{
    return !p->validity || table_bit(p->validity, p->validity_bit + row);
}

#endif
