/* sort_far.h: a pass over numbers of 4 bytes alone, or with one column of 4, of so many entries that every
 * multiprocessor has many tiles: as sort_width.h and sort_pair.h, by one large block a multiprocessor, which
 * goes on from tile to tile. Numbers and column have a stage of their own in shared memory. Each is fetched
 * there whole by the copy engine (co_bulk_ask), put in order where it is, by way of registers, and written:
 *
 *   numbers   are asked for when the numbers before are written; then they are in registers while they are
 *             ranked
 *   column    is asked for when the column before is written, and is on its way while numbers are ranked and
 *             written
 *
 * Numbers alone come to the second stage, and are put in order in the first: so the next tile's are asked for
 * as soon as these are in registers.
 *
 * Some warps resolve what is before the tile while others rank. Runs of equal digits lie padded in the stage,
 * and go out line by line (runs_write.h). Why blocks take tiles one after the other, each one ahead, and why
 * none waits for ever: split_fetched.h, where multisplit does the same.
 *
 * What is not a whole tile, or not aligned to 16 bytes, is loaded as elsewhere. Read by sort.cu. */

/* What a block keeps from tile to tile. */
struct sort_far {
    co_u32 *stages[2]; /* where numbers, and the column, are put in order, */
    co_u32 *comes[2];  /* and where they come to */
    co_u64 *arrived;   /* the same */
    co_u32 turns[2];   /* copies of each that have been waited for */
    co_u128 *runs;     /* [digit]: where its entries come from and go */
    co_u32 *longs;     /* which runs are long, a bit each */
};

CO_INLINE int sort_is_fetched(const struct sort_step *s, const struct sort_tile *r, co_u32 array, co_u32 tile)
{
    const void *from = sort_from(s, array);
    return from && !((co_u64)from & 15) && (tile + 1ull) * r->size <= s->n;
}

CO_INLINE void sort_ask(const struct sort_step *s, const struct sort_tile *r, const struct sort_far *f,
                        co_u32 array, co_u32 tile)
{
    if (co_thread() == 0 && sort_is_fetched(s, r, array, tile))
        co_bulk_ask(f->arrived + array, f->comes[array],
                    (const co_u32 *)sort_from(s, array) + (co_u64)tile * r->size, r->size * 4);
}

/* The lane's entries. */
CO_INLINE void sort_receive(const struct sort_step *s, const struct sort_tile *r, struct sort_far *f,
                            co_u32 array, co_u32 *v, co_u32 items)
{
    if (sort_is_fetched(s, r, array, r->tile)) {
        co_bulk_wait(f->arrived + array, f->turns[array]++);
        CO_EACH_ITEM (j, items)
            v[j] = co_read32(f->comes[array] + co_warp() * 32 * items + co_lane() + j * 32);
        if (array == 0)
            sort_first_32(s, r, v, items);
    } else if (array == 0) {
        sort_fetch_32(s, r, (const co_u32 *)sort_from(s, 0), v, items);
    } else {
        sort_cells_32(r, (const co_u8 *)sort_from(s, 1), 4, 4, v, 0, items, items);
    }
}

/* Do numbers become other keys here, which are not those numbers? */
CO_INLINE int sort_is_turned(const struct sort_step *s)
{
    return s->by_keys && co_read32(&s->plan->last) &&
           (s->order == SORT_I32 || s->order == SORT_F32 || s->descending);
}

/* A lane a digit: what is before the tile, so where its entries go. Pads that sort_last is going to read are
 * written. */
CO_INLINE void sort_resolve_runs(const struct sort_step *s, const struct sort_tile *r,
                                 const struct sort_far *f)
{
    for (co_u32 d = co_thread(); d < SORT_DIGITS; d += r->threads) {
        co_u32 begin = co_read32(r->begins + d), end = begin + co_read32(r->sums + d);
        co_u64 start = co_read64(s->base + d) + sort_before(s, r, d);
        for (co_u32 pad = d ? runs_pad(d - 1) : 0; sort_is_turned(s) && pad < runs_pad(d); pad++)
            co_write32(f->stages[0] + begin + pad, 0);
        runs_publish(f->runs, f->longs, d, start, begin, end, runs_pad(d), r->count,
                     runs_lead(sort_to(s, 0)));
    }
}

CO_INLINE void sort_write_runs(const struct sort_step *s, const struct sort_tile *r, const struct sort_far *f,
                               co_u32 array)
{
    struct runs runs = {
        f->stages[array], (co_u32 *)sort_to(s, array), f->runs, f->longs, SORT_DIGITS, r->count, 1};
    runs_write(&runs, r->threads);
}

/* Numbers become keys again, where they lie in order, and pads something. */
CO_INLINE void sort_last(const struct sort_step *s, const struct sort_far *f, co_u32 threads, co_u32 items)
{
    co_u32 *at = f->stages[0] + co_thread();
    if (!sort_is_turned(s))
        return;
    CO_EACH_ITEM (j, items)
        co_write32(at + j * threads, sort_key_32(s->order, s->descending, co_read32(at + j * threads)));
    for (co_u32 i = co_thread(); i < runs_pad(SORT_DIGITS - 1); i += threads) {
        co_u32 *last = f->stages[0] + items * threads + i;
        co_write32(last, sort_key_32(s->order, s->descending, co_read32(last)));
    }
    co_block_sync();
}

/* The number of the block's next tile. */
CO_INLINE co_u32 sort_far_tile(const struct sort_step *s, struct sort_tile *r, struct sort_far *f,
                               co_u32 tile, co_u32 items, int pair)
{
    co_u32 v[SORT_ITEMS_MOST], places[(SORT_ITEMS_MOST + 1) / 2];
    sort_take_tile(s, r, tile);
    sort_clear_counters(r);
    if (co_thread() == 0)
        co_write32(r->ticket, look_back_ticket(s->tickets));
    sort_receive(s, r, f, 0, v, items);
    co_warp_sync(CO_FULL_WARP);
    sort_count_tile_32(s, r, v, items);
    if (!pair)
        co_bulk_leave();
    sort_scan(s, r, 1);
    co_u32 next = co_read32(r->ticket);
    sort_ask(s, r, f, pair, pair ? tile : next);
    sort_resolve_runs(s, r, f);
    co_warp_sync(CO_FULL_WARP);
    sort_rank_32(s, r, v, pair ? places : 0, 0, items);
    co_block_sync();
    sort_last(s, f, r->threads, items);
    sort_write_runs(s, r, f, 0);
    if (!pair)
        return next;
    sort_receive(s, r, f, 1, v, items);
    co_bulk_leave();
    co_block_sync();
    sort_ask(s, r, f, 0, next);
    CO_EACH_ITEM (j, items) {
        co_u32 two = co_anew32(places[j / 2]);
        co_write32(f->stages[1] + (j % 2 ? two >> 16 : two & 0xffff), v[j]);
    }
    co_block_sync();
    sort_write_runs(s, r, f, 1);
    co_bulk_leave();
    return next;
}

/* By one lane: the plan is then read from shared memory, and not for each tile from where it was made. */
CO_INLINE void sort_keep_plan(const struct sort_plan *from, struct sort_plan *to)
{
    co_write32(&to->active, co_read32(&from->active));
    co_write32(&to->from, co_read32(&from->from));
    co_write32(&to->to, co_read32(&from->to));
    co_write32(&to->turn, co_read32(&from->turn));
    co_write32(&to->first, co_read32(&from->first));
    co_write32(&to->last, co_read32(&from->last));
}

CO_INLINE void sort_far_block(const struct sort_step *given, co_u8 *memory, co_u32 threads, co_u32 items,
                              int pair)
{
    struct sort_step kept = *given, *s = &kept;
    struct sort_tile r;
    struct sort_far f;
    if (!co_read32(&given->plan->active))
        return;
    f.runs = (co_u128 *)(void *)memory;
    memory += SORT_DIGITS * sizeof *f.runs;
    sort_lay_out(&r, memory, threads, items, 8, SORT_FAR_PADS, 0);
    f.stages[0] = (co_u32 *)(void *)memory;
    f.stages[1] = f.comes[1] = f.stages[0] + (r.size + SORT_FAR_PADS);
    f.comes[0] = f.stages[!pair];
    f.turns[0] = f.turns[1] = 0;
    f.longs = r.ticket + 1;
    f.arrived = (co_u64 *)(void *)(f.longs + SORT_DIGITS / 32 + 1);
    struct sort_plan *plan = (struct sort_plan *)(void *)(f.arrived + 2);
    kept.plan = plan;
    if (co_thread() == 0) {
        sort_keep_plan(given->plan, plan);
        co_bulk_begin(f.arrived);
        co_bulk_begin(f.arrived + 1);
        co_write32(r.ticket, look_back_ticket(s->tickets));
    }
    co_block_sync();
    co_u32 tile = co_read32(r.ticket);
    sort_ask(s, &r, &f, 0, tile);
    co_block_sync();
    while ((co_u64)tile * r.size < s->n)
        tile = sort_far_tile(s, &r, &f, tile, items, pair);
}

CO_KERNEL_BOUND(sort_far_32, struct sort_step, SORT_THREADS_FAR, 1)
{
    CO_SHARED_DYNAMIC(co_u8, memory);
    sort_far_block(args, memory, SORT_THREADS_FAR, SORT_ITEMS_OF(SORT_ITEMS_FAR), 0);
}

CO_KERNEL_BOUND(sort_far_pair_32, struct sort_step, SORT_THREADS_FAR, 1)
{
    CO_SHARED_DYNAMIC(co_u8, memory);
    sort_far_block(args, memory, SORT_THREADS_FAR, SORT_ITEMS_OF(SORT_ITEMS_FAR), 1);
}
