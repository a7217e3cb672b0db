/* scan.h: exclusive sums of 64-bit words, in place. Reduce, then scan: one launch sums each tile, the sums are scanned the
 * same way (the host does that, level by level), and one launch scans each tile from its sum on. A block takes a tile
 * at a time, a warp SCAN_EACH rows of 32 words in a row, so that every access is whole lines. */
#ifndef COHORT_KERNELS_SCAN_H
#define COHORT_KERNELS_SCAN_H

#include "shape/multimap.h"

/* This lane's words of a tile: word j lies 32 * j beyond the first. 0 beyond the end. */
CO_INLINE co_u64 scan_first(co_u64 tile)
{
    return tile * ((co_u64)co_threads() * SCAN_EACH) + (co_u64)co_warp() * (32 * SCAN_EACH) + co_lane();
}

CO_INLINE co_u64 scan_read(const struct scan_step *s, co_u64 tile, co_u64 *words)
{
    co_u64 first = scan_first(tile), sum = 0;
    for (co_u32 j = 0; j < SCAN_EACH; j++) {
        words[j] = first + 32 * j < s->n ? co_read64(s->a + first + 32 * j) : 0;
        sum += words[j];
    }
    return sum;
}

/* All warps' sums of a tile, in the block's shared memory. */
CO_INLINE void scan_share(co_u64 *shared, co_u64 lane_sum)
{
    co_u64 sum = co_warp_sum(lane_sum);
    if (co_lane() == 0)
        co_write64(shared + co_warp(), sum);
    co_block_sync();
}

CO_INLINE co_u64 scan_warps_before(const co_u64 *shared, co_u32 warps)
{
    co_u64 sum = 0;
    for (co_u32 w = 0; w < warps; w++)
        sum += co_read64(shared + w);
    return sum;
}

/* Each word of this lane's, and 31 lanes' beside it, becomes the sum of what comes before it. */
CO_INLINE void scan_write(const struct scan_step *s, co_u64 tile, const co_u64 *words, co_u64 before)
{
    co_u64 first = scan_first(tile);
    for (co_u32 j = 0; j < SCAN_EACH; j++) {
        co_u64 sum = co_warp_before(words[j]);
        if (first + 32 * j < s->n)
            co_write64(s->a + first + 32 * j, before + sum);
        before += co_shuffle64(CO_FULL_WARP, sum + words[j], 31);
    }
}

CO_KERNEL(scan_sums, struct scan_step)
{
    CO_SHARED(co_u64, warps, SCAN_WARPS);
    for (co_u64 tile = co_block(); tile < args->tiles; tile += co_blocks()) {
        co_u64 words[SCAN_EACH];
        scan_share(warps, scan_read(args, tile, words));
        if (co_thread() == 0)
            co_write64(args->sums + tile, scan_warps_before(warps, co_threads() / 32));
        co_block_sync();
    }
}

CO_KERNEL(scan_tiles, struct scan_step)
{
    CO_SHARED(co_u64, warps, SCAN_WARPS);
    for (co_u64 tile = co_block(); tile < args->tiles; tile += co_blocks()) {
        co_u64 words[SCAN_EACH];
        scan_share(warps, scan_read(args, tile, words));
        co_u64 before = scan_warps_before(warps, co_warp()) + (args->sums ? co_read64(args->sums + tile) : 0);
        scan_write(args, tile, words, before);
        co_block_sync();
    }
}

#endif
