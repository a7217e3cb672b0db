/* sort_column.h: the columns that a sort takes along, by cells of one width: what a column has of an entry,
 * in shared memory. Columns of up to 4 bytes have cells of 4, others of 8. Read by sort.cu once for each.
 * Parameter: WIDE, 1 for cells of 8 bytes. */
#if WIDE
#    define NAME(name)  name##_64
#    define CELL        co_u64
#    define CELL_BYTES  8
#    define CELL_STREAM co_read_stream64
#    define CELL_READ   co_read64
#    define CELL_WRITE  co_write64
#else
#    define NAME(name)  name##_32
#    define CELL        co_u32
#    define CELL_BYTES  4
#    define CELL_STREAM co_read_stream32
#    define CELL_READ   co_read32
#    define CELL_WRITE  co_write32
#endif

/* The cells of `many` rows of the lane's from row `begin` on. From nowhere come the entries' numbers. */
CO_INLINE void NAME(sort_cells)(const struct sort_tile *r, const co_u8 *from, co_u32 bytes, co_u32 stride,
                                CELL *v, co_u32 begin, co_u32 many, co_u32 items)
{
    co_u32 mine = (co_warp() * items + begin) * 32 + co_lane();
    int whole = r->count == r->size;
    CO_EACH_ITEM (j, many)
        v[j] = (CELL)(r->first + mine + j * 32);
    if (!from)
        return;
    from += (r->first + mine) * stride;
    if (bytes == CELL_BYTES && whole)
        CO_EACH_ITEM (j, many)
            v[j] = CELL_STREAM((const CELL *)(const void *)(from + j * 32 * stride));
    else if (bytes == CELL_BYTES)
        CO_EACH_ITEM (j, many)
            v[j] = mine + j * 32 < r->count
                       ? CELL_STREAM((const CELL *)(const void *)(from + j * 32 * stride))
                       : 0;
    else if (bytes == 2)
        CO_EACH_ITEM (j, many)
            v[j] =
                mine + j * 32 < r->count ? co_read_stream16((const co_u16 *)(const void *)from + j * 32) : 0;
    else
        CO_EACH_ITEM (j, many)
            v[j] = mine + j * 32 < r->count ? co_read_stream8(from + j * 32) : 0;
}

/* To the places that the keys got. */
CO_INLINE void NAME(sort_arrange)(const struct sort_tile *r, const co_u32 *places, const CELL *v,
                                  co_u32 begin, co_u32 many)
{
    CO_EACH_ITEM (j, many) {
        co_u32 i = begin + j, place = i % 2 ? places[i / 2] >> 16 : places[i / 2] & 0xffff;
        CELL_WRITE((CELL *)(void *)r->stage + place, v[j]);
    }
}

/* Where the keys went. */
CO_INLINE void NAME(sort_spread)(const struct sort_tile *r, const co_u32 *digits, co_u8 *to, co_u32 bytes,
                                 co_u32 stride, co_u32 items)
{
    CO_EACH_ITEM (j, items) {
        co_u32 place = j * r->threads + co_thread(), digit = digits[j / 4] >> j % 4 * 8 & 255;
        CELL v = CELL_READ((const CELL *)(const void *)r->stage + place);
        co_u8 *at = to + (co_read64(r->starts + digit) + place) * stride;
        if (place >= r->count)
            continue;
        if (bytes == 1)
            co_write8(at, (co_u8)v);
        else if (bytes == 2)
            co_write16((co_u16 *)(void *)at, (co_u16)v);
        else
            CELL_WRITE((CELL *)(void *)at, v);
    }
}

/* Half of the cells at a time, so that they fit in the registers. */
CO_INLINE void NAME(sort_carry)(const struct sort_tile *r, const co_u8 *from, co_u8 *to, co_u32 bytes,
                                co_u32 stride, const co_u32 *places, const co_u32 *digits, co_u32 items)
{
    CELL v[SORT_ITEMS_MOST / 2];
    NAME(sort_cells)(r, from, bytes, stride, v, 0, items / 2, items);
    co_block_recast(r->stage, r->stage_bytes);
    NAME(sort_arrange)(r, places, v, 0, items / 2);
    NAME(sort_cells)(r, from, bytes, stride, v, items / 2, items - items / 2, items);
    NAME(sort_arrange)(r, places, v, items / 2, items - items / 2);
    co_block_sync();
    NAME(sort_spread)(r, digits, to, bytes, stride, items);
}

#undef NAME
#undef CELL
#undef CELL_BYTES
#undef CELL_STREAM
#undef CELL_READ
#undef CELL_WRITE
#undef WIDE
