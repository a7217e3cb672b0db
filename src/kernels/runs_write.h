/* runs_write.h: how a block writes runs of entries of 4 bytes that lie side by side in its shared memory, each to a place of its own: a run
 * goes out by one warp, line by line of the output, so that no store lies in two lines or two runs. A run that is much longer than others
 * is written by all warps, when they have done theirs. */
#ifndef COHORT_KERNELS_RUNS_WRITE_H
#define COHORT_KERNELS_RUNS_WRITE_H

#include "cohort/device/lane.h"

/* Entries of a run from which on all warps write it. */
#ifdef COHORT_SIM
#    define RUNS_LONG 40u
#else
#    define RUNS_LONG 2048u
#endif
#define RUNS_LINES 4 /* of 32 entries, that a warp has in hand */

struct runs {
    const co_u32 *from;   /* the entries, in shared memory */
    co_u32 *to;           /* the whole output */
    const co_u32 *begins; /* [run]: where in `from`; runs end where the next one begins, */
    const co_u64 *starts; /* [run]: where in `to`, less that */
    const co_u32 *longs;  /* which are long, a bit each */
    co_u32 many, count;   /* runs; entries that there are, which what lies behind them is not */
};

/* RUNS_LINES lines at a time, from the `first` such on, each `step`-th. */
CO_INLINE void runs_write_one(const struct runs *r, co_u32 run, co_u32 first, co_u32 step)
{
    co_u32 begin = co_read32(r->begins + run),
           end = run + 1 < r->many ? co_read32(r->begins + run + 1) : r->count;
    co_u32 many = (end < r->count ? end : r->count) - (begin < r->count ? begin : r->count), v[RUNS_LINES];
    co_u32 *to = r->to + (co_read64(r->starts + run) + begin);
    co_u32 before = (co_u32)((co_u64)to / 4 % 32);
    for (co_u32 line = first * RUNS_LINES * 32; line < many + before; line += step * RUNS_LINES * 32) {
        co_u32 i = line + co_lane() - before; /* of what is before the run, beyond its end too */
        CO_EACH_ITEM (k, RUNS_LINES)
            v[k] = i + k * 32 < many ? co_read32(r->from + begin + (i + k * 32)) : 0;
        CO_EACH_ITEM (k, RUNS_LINES)
            if (i + k * 32 < many)
                co_write32(to + (i + k * 32), v[k]);
    }
}

CO_INLINE void runs_write(const struct runs *r, co_u32 threads)
{
    const co_u32 warps = threads / 32, groups = (r->many + 31) / 32;
    for (co_u32 run = co_warp(); run < r->many; run += warps)
        if (!(co_read32(r->longs + run / 32) >> run % 32 & 1))
            runs_write_one(r, run, 0, 1);
    co_u32 longs = co_lane() < groups ? co_read32(r->longs + co_lane()) : 0;
    for (co_u32 some = co_ballot(CO_FULL_WARP, longs != 0); some; some &= some - 1) {
        co_u32 g = co_ones32((some & (0u - some)) - 1);
        for (co_u32 left = co_shuffle32(CO_FULL_WARP, longs, g); left; left &= left - 1)
            runs_write_one(r, g * 32 + co_ones32((left & (0u - left)) - 1), co_warp(), warps);
    }
}

#endif
