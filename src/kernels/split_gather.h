/* split_gather.h: tiles whose entries lie in runs that a first split has left in its tiles
 * (shape/split_step.h).
 *
 * A tile of the second split is some runs, one after the other, the first and the last perhaps in part. In
 * the place where entries will be staged the block writes where each begins in the tile and where it lies. A
 * lane looks up the run of its first entry, and goes on to the next run when a row is beyond. So all loads of
 * a tile are under way at once, as if it lay in one piece. Where there are more runs than fit, which takes
 * short ones, it is done by parts.
 *
 * What is known of runs was written long before, and the entries that go by leave nothing of it in the cache:
 * a tile asks for what one some hundred tiles on is going to read. */
#ifndef COHORT_KERNELS_SPLIT_GATHER_H
#define COHORT_KERNELS_SPLIT_GATHER_H

#include "kernels/split_load.h"

/* Runs that fit, and one more. */
CO_INLINE co_u32 split_runs_most(struct split_shape shape)
{
    return shape.items * shape.threads * shape.widest / 8;
}

/* From `run` on so many: [run] where it begins in the tile, and one more; [most + run] where that is. */
CO_INLINE void split_look_up(const struct split_step *s, const struct split_tile *r, co_u32 run, co_u32 many,
                             struct split_shape shape)
{
    co_u32 *begins = (co_u32 *)(void *)r->stage, *at = begins + split_runs_most(shape);
    co_u32 first = r->tile * (shape.items * shape.threads);
    for (co_u32 k = co_thread(); k <= many; k += shape.threads) {
        co_u32 begin = co_read32(s->runs.begins + run + k), in_tile = begin > first ? begin - first : 0;
        co_write32(begins + k, in_tile < r->count ? in_tile : r->count);
        if (k < many)
            co_write32(at + k, co_read32(s->runs.at + run + k) + (begin < first ? first - begin : 0));
    }
    co_block_sync();
}

/* The run that a place is in. */
CO_INLINE co_u32 split_run_of(const struct split_tile *r, co_u32 many, co_u32 place)
{
    const co_u32 *begins = (const co_u32 *)(const void *)r->stage;
    co_u32 run = 0, above = many;
    while (above - run > 1) {
        co_u32 middle = run + (above - run) / 2;
        if (co_read32(begins + middle) <= place)
            run = middle;
        else
            above = middle;
    }
    return run;
}

CO_INLINE void split_gather_entry(const struct split_step *s, struct split_values *v, co_u32 j, co_u32 at,
                                  struct split_shape shape)
{
    v->low[j] = co_read_stream32((const co_u32 *)s->part[0].in + at);
    if (shape.payload == SPLIT_PAIRS)
        v->high[j] = co_read_stream32((const co_u32 *)s->part[1].in + at);
}

/* The lane's rows, each entry of which is in one of these runs. */
CO_INLINE void split_gather_rows(const struct split_step *s, const struct split_tile *r, co_u32 many,
                                 struct split_values *v, struct split_shape shape)
{
    const co_u32 *begins = (const co_u32 *)(const void *)r->stage, *at = begins + split_runs_most(shape);
    co_u32 mine = split_mine(r, shape), run = split_run_of(r, many, mine);
    co_u32 from = co_read32(at + run) + mine - co_read32(begins + run); /* modulo 2^32 */
    int end = (int)(co_read32(begins + run + 1) - mine);
    CO_EACH_ITEM (j, shape.items) {
        const int row = 32 * (int)j;
        while (row >= end) {
            run++;
            from = co_read32(at + run) - (co_u32)end;
            end = (int)(co_read32(begins + run + 1) - mine);
        }
        split_gather_entry(s, v, j, from + (co_u32)row, shape);
    }
}

/* Those that are. */
CO_INLINE void split_gather_some(const struct split_step *s, const struct split_tile *r, co_u32 many,
                                 struct split_values *v, struct split_shape shape)
{
    const co_u32 *begins = (const co_u32 *)(const void *)r->stage, *at = begins + split_runs_most(shape);
    CO_EACH_ITEM (j, shape.items) {
        co_u32 place = split_mine(r, shape) + 32 * j;
        if (place >= co_read32(begins) && place < co_read32(begins + many)) {
            co_u32 run = split_run_of(r, many, place);
            split_gather_entry(s, v, j, co_read32(at + run) + place - co_read32(begins + run), shape);
        }
    }
}

#define SPLIT_TILES_AHEAD 128 /* which begin some microseconds later */

/* The first run of the tile so many on, or that in which the last one ends. */
CO_INLINE const co_u32 *split_first_ahead(const struct split_step *s, const struct split_tile *r,
                                          co_u32 ahead)
{
    co_u32 tiles = (co_u32)s->spans;
    return s->runs.first + (r->tile + ahead < tiles ? r->tile + ahead : tiles);
}

/* By a warp: has the list of the tile that begins in `run` and has as many runs as this one fetched, and the
 * place of a later tile's. */
CO_INLINE void split_ask_ahead(const struct split_step *s, const struct split_tile *r, co_u32 run,
                               co_u32 many)
{
    if (co_lane() == 0)
        co_prefetch(split_first_ahead(s, r, 2 * SPLIT_TILES_AHEAD));
    for (co_u32 k = 8 * co_lane(); k < many + 8 && run + k < s->runs.runs; k += 8 * 32) {
        co_prefetch(s->runs.begins + run + k);
        co_prefetch(s->runs.at + run + k);
    }
}

CO_INLINE void split_gather(const struct split_step *s, const struct split_tile *r, struct split_values *v,
                            struct split_shape shape)
{
    const co_u32 most = split_runs_most(shape) - 1;
    co_u32 run = co_read32(s->runs.first + r->tile), last = co_read32(s->runs.first + r->tile + 1);
    co_u32 later = co_read32(split_first_ahead(s, r, SPLIT_TILES_AHEAD));
    if (r->count == shape.items * shape.threads && last - run < most) {
        split_look_up(s, r, run, last - run + 1, shape);
        if (co_warp() == shape.threads / 32 - 1)
            split_ask_ahead(s, r, later, last - run + 1);
        split_gather_rows(s, r, last - run + 1, v, shape);
        return;
    }
    CO_EACH_ITEM (j, shape.items)
        split_set(v, j, s->last_key, shape);
    while (run <= last) {
        co_u32 many = last - run < most ? last - run + 1 : most;
        split_look_up(s, r, run, many, shape);
        split_gather_some(s, r, many, v, shape);
        co_block_sync();
        run += many;
    }
}

#endif
