/* kernels/map_report.h: what the lanes of a batch report: counts of outcomes, bits of bitmaps, the first
 * entry that failed. The same for every layout. Included by map.cu, map_sums.cu and lines.cu after the
 * shape of theirs. */
#ifndef KERNELS_MAP_REPORT_H
#define KERNELS_MAP_REPORT_H

#include "shape/bits.h"

CO_INLINE co_u32 map_bits(co_u32 word)
{
    word -= (word >> 1) & 0x55555555u;
    word = (word & 0x33333333u) + ((word >> 2) & 0x33333333u);
    return (((word + (word >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}

/* Adds a full warp's sum to a counter. A vote first: where a warp has few entries, sums of nothing would
 * cost more than they do. */
CO_INLINE void map_add_warp(co_u64 *to, co_u64 v)
{
    if (!co_any(CO_FULL_WARP, v != 0))
        return;
    v = co_warp_sum(v);
    if (co_lane() == 0 && v)
        co_add64(to, v);
}

/* What a lane has done to a table of pages. */
CO_INLINE void map_flush_warp(const cohort_map_view *m, const co_map_tally *tally)
{
    map_add_warp(&co_map_counters_here(m)->taken, tally->taken);
    map_add_warp(&co_map_counters_here(m)->erased, (co_u64)(long long)(int)tally->erased);
}

/* ---- what a lane has to report ------------------------------------------------------------------------- */

struct map_report {
    co_u64 first_full, first_bad;
    co_u32 taken, hits, added, failed;
};

CO_INLINE struct map_report map_report_begin(void)
{
    struct map_report r;
    r.first_full = r.first_bad = ~0ull;
    r.taken = r.hits = r.added = r.failed = 0;
    return r;
}

CO_INLINE int map_takes_part(const struct map_batch *b, co_u64 base, co_u64 i)
{
    if (i >= b->n)
        return 0;
    return b->where ? bits_word(b->where, base, b->n) >> co_lane() & 1 : 1;
}

/* One warp's 32 outcomes: their words of the bitmaps, the lane's counts. */
CO_INLINE void map_report_warp(const struct map_batch *b, co_u32 step, co_u64 base, int active, int outcome,
                               struct map_report *r)
{
    if (step == MAP_STEP_GET)
        return;
    int hit = active && outcome == CO_MAP_HIT, failed = active && outcome >= CO_MAP_FULL;
    if (b->hit) {
        co_u32 word = co_ballot(CO_FULL_WARP, hit);
        if (co_lane() == 0)
            bits_put_word(b->hit, base, b->n, b->join ? bits_word(b->hit, base, b->n) | word : word);
    }
    if (b->failed) {
        co_u32 word = co_ballot(CO_FULL_WARP, failed);
        if (co_lane() == 0)
            bits_put_word(b->failed, base, b->n, word);
    }
    r->taken += active ? 1 : 0;
    r->hits += hit ? 1 : 0;
    r->added += active && outcome == CO_MAP_NEW ? 1 : 0;
    if (failed) {
        co_u64 i = b->first_index + base + co_lane();
        if (outcome == CO_MAP_BAD)
            r->first_bad = i < r->first_bad ? i : r->first_bad;
        else
            r->first_full = i < r->first_full ? i : r->first_full;
        r->failed++;
    }
}

CO_INLINE void map_report_end(const struct map_batch *b, const struct map_report *r)
{
    if (b->counts) {
        map_add_warp(&b->counts->taken, r->taken);
        map_add_warp(&b->counts->hits, r->hits);
        map_add_warp(&b->counts->added, r->added);
        map_add_warp(&b->counts->failed, r->failed);
    }
    if (!co_any(CO_FULL_WARP, r->failed != 0))
        return;
    co_u64 full = co_warp_min(r->first_full), bad = co_warp_min(r->first_bad);
    if (co_lane() == 0 && full != ~0ull)
        co_min64(&b->deferred->first_full, full);
    if (co_lane() == 0 && bad != ~0ull)
        co_min64(&b->deferred->first_bad, bad);
    if (co_lane() == 0 && b->counts)
        co_min64(&b->counts->first_failed, bad < full ? bad : full);
}

#endif
