/* sort_pair.h: a pass over numbers of 4 bytes with one column of 4: as sort_width.h, but numbers and column
 * go through a stage of 4 bytes an entry in two phases, as in split_pairs.h. A stage of the same size holds
 * twice as many entries as one for both, so runs are longer:
 *
 *   count, scan, rank   of the numbers; where each went is left in shared memory, two places a word
 *   resolve             where they go in the output; then the column is asked for, into the registers that
 *                       held numbers
 *   write numbers       the column is on its way; the digit of each place is left where counters were, four a
 *                       word
 *   write column        put to the same places, and written by the same digits
 *
 * Read by sort.cu. Each lane reads its own words of places and of digits again, without conflicts. */

CO_INLINE void sort_pair_arrange(const struct sort_tile *r, const co_u32 *places, const co_u32 *v,
                                 co_u32 items)
{
    co_u32 two = 0;
    CO_EACH_ITEM (j, items) {
        two = j % 2 ? two >> 16 : co_read32(places + j / 2 * r->threads);
        co_write32((co_u32 *)(void *)r->stage + (two & 0xffff), v[j]);
    }
}

CO_INLINE void sort_pair_write(const struct sort_tile *r, co_u32 *to, const co_u32 *digits, co_u32 items)
{
    co_u32 four = 0;
    to += co_anew32(co_thread());
    CO_EACH_ITEM (j, items) {
        co_u32 place = j * r->threads + co_thread();
        four = j % 4 ? four >> 8 : co_read32(digits + j / 4 * r->threads);
        if (place < r->count)
            co_write32(to + co_read64(r->starts + (four & 0xff)) + j * r->threads,
                       co_read32((const co_u32 *)(const void *)r->stage + place));
    }
}

CO_INLINE void sort_pair_tile(const struct sort_step *s, co_u8 *memory, co_u32 threads, co_u32 items)
{
    co_u32 v[SORT_ITEMS_MOST];
    struct sort_tile r;
    if (!co_read32(&s->plan->active))
        return;
    sort_begin(s, &r, memory, threads, items, 4, 1);
    co_u32 *places = r.places + co_thread(), *digits = r.counters + co_thread();
    sort_fetch_32(s, &r, (const co_u32 *)sort_from(s, 0), v, items);
    sort_count_tile_32(s, &r, v, items);
    sort_scan(s, &r, 0);
    sort_rank_32(s, &r, v, places, threads, items);
    sort_resolve(s, &r);
    sort_cells_32(&r, (const co_u8 *)sort_from(s, 1), 4, 4, v, 0, items, items);
    sort_write_32(s, &r, digits, items);
    co_block_sync();
    sort_pair_arrange(&r, places, v, items);
    co_block_sync();
    sort_pair_write(&r, (co_u32 *)sort_to(s, 1), digits, items);
}
