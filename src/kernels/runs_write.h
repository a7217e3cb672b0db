/* runs_write.h: how a block writes runs of entries of 4 bytes that lie side by side in its shared memory,
 * each to a place of its own: a run goes out by one warp, line by line of the output, so that no store lies
 * in two lines or two runs. A run that is much longer than others is written by all warps, when they have
 * done theirs.
 *
 * Runs are short, and warps few: what counts is how many instructions a run takes. So what is the same for
 * all lanes is found by one (a lane a run, runs_publish), and left as one word of 16 bytes; and a warp's
 * stores lie literals apart, from the begin of the run's first line on.
 *
 * Pads. Entries come to their runs one a lane. Rising keys are in 32 runs then, each as long as the others:
 * where runs lie side by side, and their length is a multiple of 32, all lanes write to one bank of shared
 * memory. So runs may be padded: some words stay free before each, as many as spread runs that are any power
 * of two apart over the banks. */
#ifndef COHORT_KERNELS_RUNS_WRITE_H
#define COHORT_KERNELS_RUNS_WRITE_H

#include "cohort/device/lane.h"

/* Entries of a run from which on all warps write it; and lines of 32 entries that a warp has in hand. */
#ifdef COHORT_SIM
#    define RUNS_LONG  40u
#    define RUNS_LINES 2u
#else
#    define RUNS_LONG  2048u
#    define RUNS_LINES 5u
#endif

struct runs {
    const co_u32 *from;  /* the entries, in shared memory */
    co_u32 *to;          /* the whole output */
    const co_u128 *runs; /* [run]: what runs_publish left */
    const co_u32 *longs; /* which are long, a bit each */
    co_u32 many, count;  /* runs; entries */
    co_u32 is_padded;
};

/* Of a run, from where its first line begins in the output on: that place, also in shared memory, and the
 * run's own begin and end. Places may lie before the arrays. */
struct run {
    co_u64 line;
    co_u32 from, begin, end;
};

/* Words that stay free before a run of those that are padded, and all of them. */
CO_INLINE co_u32 runs_pad(co_u32 run)
{
    return run + run / 16;
}

/* Entries before the output in its first line. */
CO_INLINE co_u32 runs_lead(const void *to)
{
    return (co_u32)(co_u64)to / 4 % 32;
}

/* The entries [begin, end) go to `start` of the output: the lane's run, of the 32 of a full warp. From
 * `count` on there are none. They lie `pad` words further on. Of a long run the word has no end: it ends
 * where the next one begins, less pads. */
CO_INLINE void runs_publish(co_u128 *runs, co_u32 *longs, co_u32 run, co_u64 start, co_u32 begin, co_u32 end,
                            co_u32 pad, co_u32 count, co_u32 lead)
{
    begin = begin < count ? begin : count;
    end = end < count ? end : count;
    co_u32 before = ((co_u32)start + lead) % 32, is_long = end - begin > RUNS_LONG,
           all_long = co_ballot(CO_FULL_WARP, is_long);
    co_u32 bounds = before | (is_long ? 0 : before + (end - begin)) << 16;
    co_write128(runs + run, co_make128(start - before, (begin + pad - before) | (co_u64)bounds << 32));
    if (co_lane() == 0)
        co_write32(longs + run / 32, all_long);
}

CO_INLINE struct run runs_read(const struct runs *r, co_u32 run)
{
    co_u128 word = co_read128(r->runs + run);
    struct run one = {word.lo, (co_u32)word.hi, (co_u32)(word.hi >> 32) & 0xffff, (co_u32)(word.hi >> 48)};
    return one;
}

/* RUNS_LINES lines of a run: the `turn`-th such. */
CO_INLINE void runs_write_lines(const struct runs *r, const struct run *one, co_u32 turn, int is_first)
{
    co_u32 first = turn * (RUNS_LINES * 32), end = one->end - first;
    co_u32 *to = r->to + co_lane() + (long long)one->line + first;
    CO_EACH_ITEM (k, RUNS_LINES)
        if (co_lane() + k * 32 < end && (k || !is_first || co_lane() >= one->begin))
            co_write32(to + k * 32, co_read32(r->from + (one->from + co_lane() + first + k * 32)));
}

/* From the `turn`-th on, but not the first, each `step`-th. */
CO_INLINE void runs_write_more(const struct runs *r, const struct run *one, co_u32 turn, co_u32 step)
{
    CO_ROLLED
    for (; turn * (RUNS_LINES * 32) < one->end; turn += step)
        runs_write_lines(r, one, turn, 0);
}

CO_INLINE void runs_write_long(const struct runs *r, co_u32 run, co_u32 warps)
{
    struct run one = runs_read(r, run), next;
    co_u32 end = r->count + (r->is_padded ? runs_pad(run) : 0);
    if (run + 1 < r->many) {
        next = runs_read(r, run + 1);
        end = next.from + next.begin - (r->is_padded ? runs_pad(run + 1) - runs_pad(run) : 0);
    }
    one.end = end - one.from;
    if (co_warp() == 0)
        runs_write_lines(r, &one, 0, 1);
    runs_write_more(r, &one, co_warp() ? co_warp() : warps, warps);
}

CO_INLINE void runs_write(const struct runs *r, co_u32 threads)
{
    const co_u32 warps = threads / 32, groups = (r->many + 31) / 32;
    CO_ROLLED
    for (co_u32 run = co_warp(); run < r->many; run += warps) {
        struct run one = runs_read(r, run);
        runs_write_lines(r, &one, 0, 1);
        runs_write_more(r, &one, 1, 1);
    }
    co_u32 longs = co_lane() < groups ? co_read32(r->longs + co_lane()) : 0;
    for (co_u32 some = co_ballot(CO_FULL_WARP, longs != 0); some; some &= some - 1) {
        co_u32 g = co_ones32((some & (0u - some)) - 1);
        for (co_u32 left = co_shuffle32(CO_FULL_WARP, longs, g); left; left &= left - 1)
            runs_write_long(r, g * 32 + co_ones32((left & (0u - left)) - 1), warps);
    }
}

#endif
