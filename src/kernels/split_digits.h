/* split_digits.h: splits by digits of ids, beside the count and the place kernel: where each digit's entries
 * begin, and offsets.
 *
 * Bases. One count serves all passes: of whole ids where they are few, else of each digit by itself. One
 * block sums up. Of whole ids the sums are the offsets; they hold the bases of the last digit, which is the
 * high one, and the first digit's bins are sums over the ids that have it. Bins of digits lie one digit after
 * the other, and each digit's come to the number of entries: so one sum over all of them is the bases, but
 * for the entries of the digits before.
 *
 * Runs. Where no count was made but the first split has left runs in its tiles (split_gather.h): which of
 * them a tile of the second begins in.
 *
 * Offsets, where digits were counted or nothing, are searched in the output, which is in order of whole
 * ids. */
#ifndef COHORT_KERNELS_SPLIT_DIGITS_H
#define COHORT_KERNELS_SPLIT_DIGITS_H

#include "kernels/split_ids.h"

#define SPLIT_WARPS_MOST 32

CO_INLINE co_u64 split_sum_to(co_u64 v)
{
    for (co_u32 d = 1; d < 32; d <<= 1) {
        co_u64 other = co_shuffle64(CO_FULL_WARP, v, co_lane() - d);
        v += co_lane() >= d ? other : 0;
    }
    return v;
}

/* By the block: sums[i] = in[0] + .. + in[i - 1], also for i = n. A lane has some in a row. */
CO_INLINE void split_sums(const co_u64 *in, co_u32 n, co_u64 *sums, co_u64 *warps)
{
    co_u32 each = (n + co_threads() - 1) / co_threads(), first = co_thread() * each;
    co_u32 end = first + each < n ? first + each : n;
    co_u64 own = 0;
    for (co_u32 i = first; i < end; i++)
        own += co_read64(in + i);
    co_u64 to = split_sum_to(own), next = to - own;
    if (co_lane() == 31)
        co_write64(warps + co_warp(), to);
    co_block_sync();
    for (co_u32 w = 0; w < co_warp(); w++)
        next += co_read64(warps + w);
    for (co_u32 i = first; i < end; i++) {
        co_write64(sums + i, next);
        next += co_read64(in + i);
    }
    if (co_thread() + 1 == co_threads())
        co_write64(sums + n, next);
    co_block_sync();
}

/* Two digits, from whole ids. The lanes are a multiple of the low digit's bins, so each lane's ids have one
 * low digit. */
CO_INLINE void split_bases_of_ids(const struct split_bases_step *s, co_u64 *low, co_u64 *warps)
{
    co_u64 sum = 0;
    split_sums(s->bins, s->whole, s->sums, warps);
    for (co_u32 h = co_thread(); h <= s->buckets[1]; h += co_threads()) {
        co_u32 id = h << s->digits.shift[1];
        co_write64(s->bases[1] + h, co_read64(s->sums + (id < s->whole ? id : s->whole)));
    }
    for (co_u32 b = co_thread(); b < s->buckets[0]; b += co_threads())
        co_write64(low + b, 0);
    for (co_u32 id = co_thread(); id < s->whole; id += co_threads())
        sum += co_read64(s->bins + id);
    co_block_sync();
    co_add64(low + (co_thread() & s->digits.mask[0]), sum);
    co_block_sync();
    split_sums(low, s->buckets[0], s->bases[0], warps);
}

CO_INLINE void split_bases_of_digits(const struct split_bases_step *s, co_u64 *warps)
{
    split_sums(s->bins, s->digits.many * SPLIT_DIGIT_BINS, s->sums, warps);
    for (co_u32 d = 0; d < s->digits.many; d++) {
        co_u64 *sums = s->sums + d * SPLIT_DIGIT_BINS, before = co_read64(sums);
        for (co_u32 b = co_thread(); b <= s->buckets[d]; b += co_threads())
            co_write64(s->bases[d] + b, co_read64(sums + b) - before);
    }
}

CO_KERNEL(multisplit_bases, struct split_bases_step)
{
    CO_SHARED(co_u64, warps, SPLIT_WARPS_MOST);
    CO_SHARED(co_u64, low, SPLIT_DIGIT_BINS);
    if (args->whole)
        split_bases_of_ids(args, low, warps);
    else
        split_bases_of_digits(args, warps);
}

/* Lengths have been summed up. A list of the runs that are not empty; which of them each tile of the second
 * split begins in, the one that the last of them ends in; and where that split's buckets begin. */
CO_KERNEL(multisplit_runs, struct split_runs_step)
{
    CO_SHARED(co_u64, warps, SPLIT_WARPS_MOST);
    const struct split_runs *runs = &args->runs;
    co_u32 size = runs->size, tiles = (co_u32)((args->n + size - 1) / size);
    if (co_block() == 0)
        split_sums(runs->next, runs->buckets, runs->bases, warps);
    CO_EACH_WARP (base, runs->runs) {
        co_u64 run = base + co_lane();
        if (run >= runs->runs)
            continue;
        co_u64 here = co_read64(runs->sums + run), next = co_read64(runs->sums + run + 1);
        co_u32 begin = (co_u32)here, end = (co_u32)next, listed = (co_u32)(here / SPLIT_RUN);
        if (begin == end)
            continue;
        co_write32(runs->begins + listed, begin);
        co_write32(runs->at + listed, co_read32(runs->left + run));
        for (co_u64 t = (begin + size - 1ull) / size; t * size < end; t++)
            co_write32(runs->first + t, listed);
        if (end == args->n) {
            co_write32(runs->begins + listed + 1, end);
            co_write32(runs->first + tiles, listed);
        }
    }
}

/* Where each bucket begins among the entries, which are in order of their ids: the first whose id is not
 * below the bucket. A lane a bucket: of many buckets. */
CO_INLINE void split_search_by_lanes(const struct split_step *s, co_u64 n, co_u32 width)
{
    CO_EACH_WARP (base, s->buckets + 1ull) {
        co_u64 b = base + co_lane(), low = 0, high = n;
        if (b > s->buckets)
            continue;
        while (low < high) {
            co_u64 middle = low + (high - low) / 2;
            if (split_entry_id(s, middle, width) < b)
                low = middle + 1;
            else
                high = middle;
        }
        co_write64(s->offsets + b, low);
    }
}

/* A warp a bucket: of few, which so wait for a fifth of the loads. */
CO_INLINE void split_search_by_warps(const struct split_step *s, co_u64 n, co_u32 width)
{
    CO_EACH_WARP (base, (s->buckets + 1ull) * 32) {
        co_u64 b = base / 32, low = 0, high = n;
        while (low < high) {
            co_u64 each = (high - low + 31) / 32, at = low + (co_lane() + 1) * each - 1;
            co_u32 below = co_ones32(co_ballot(CO_FULL_WARP, at < high && split_entry_id(s, at, width) < b));
            low += below * each;
            high = low + each - 1 < high ? low + each - 1 : high;
            low = low < high ? low : high;
        }
        if (co_lane() == 0)
            co_write64(s->offsets + b, low);
    }
}

CO_INLINE void split_search_offsets(const struct split_step *s, co_u32 width)
{
    if (split_search_lanes(s->buckets) == 32)
        split_search_by_warps(s, split_entries(s), width);
    else
        split_search_by_lanes(s, split_entries(s), width);
}

#endif
