/* map.cu: the map's kernels. One lane an entry; device/map.h is the protocol, shape/map_entry.h what a batch does to one entry;
 * here is how a grid walks a batch and what a warp reports of it. */
#include "shape/map.h"

CO_INLINE co_u32 map_bits(co_u32 word)
{
    word -= (word >> 1) & 0x55555555u;
    word = (word & 0x33333333u) + ((word >> 2) & 0x33333333u);
    return (((word + (word >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}

/* Adds a full warp's sum to a counter. */
CO_INLINE void map_add_warp(co_u64 *to, co_u64 v)
{
    v = co_warp_sum(v);
    if (co_lane() == 0 && v)
        co_add64(to, v);
}

/* ---- sums of a block ------------------------------------------------------------------------------------------------- */

/* A block adds up in shared memory and then adds once to each counter: all the grid's warps at one address would be slower
 * than what they count. */
enum { SUM_TAKEN, SUM_ERASED, SUM_PART, SUM_HITS, SUM_ADDED, SUM_FAILED, SUMS };

CO_INLINE void map_sums_begin(co_u64 *sums)
{
    if (co_thread() < SUMS)
        co_store64(&sums[co_thread()], 0);
    co_block_sync();
}

CO_INLINE void map_sums_add(co_u64 *sums, co_u32 which, co_u64 v)
{
    map_add_warp(&sums[which], v);
}

CO_INLINE void map_sums_tally(co_u64 *sums, const co_map_tally *tally)
{
    map_sums_add(sums, SUM_TAKEN, tally->taken);
    map_sums_add(sums, SUM_ERASED, (co_u64)(long long)(int)tally->erased);
}

/* counts may be NULL. */
CO_INLINE void map_sums_end(const co_u64 *sums, struct co_map_counters *counters, struct map_counts *counts)
{
    co_block_sync();
    co_u32 k = co_thread();
    co_u64 v = k < SUMS ? co_load64(&sums[k]) : 0;
    if (!v || (k >= SUM_PART && !counts))
        return;
    if (k < SUM_PART)
        co_add64(k == SUM_TAKEN ? &counters->taken : &counters->erased, v);
    else /* taken, hits, added, failed are the first four words */
        co_add64((co_u64 *)counts + (k - SUM_PART), v);
}

/* ---- what a lane has to report ------------------------------------------------------------------------------------- */

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
    return b->where ? co_read32(b->where + base / 32) >> co_lane() & 1 : 1;
}

/* One warp's 32 outcomes: their words of the bitmaps, the lane's counts. A claim says nothing: its settling will. */
CO_INLINE void map_report_warp(const struct map_batch *b, co_u32 step, co_u64 base, int active, int outcome,
                               struct map_report *r)
{
    if (step == MAP_STEP_CLAIM || step == MAP_STEP_GET)
        return;
    int hit = active && outcome == CO_MAP_HIT, failed = active && outcome >= CO_MAP_FULL;
    if (b->hit) {
        co_u32 word = co_ballot(CO_FULL_WARP, hit);
        if (co_lane() == 0)
            co_write32(b->hit + base / 32, b->join ? co_read32(b->hit + base / 32) | word : word);
    }
    if (b->failed) {
        co_u32 word = co_ballot(CO_FULL_WARP, failed);
        if (co_lane() == 0)
            co_write32(b->failed + base / 32, word);
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

/* What the warp has to report goes into the block's sums; where it failed first, to its place at once. */
CO_INLINE void map_report_end(const struct map_batch *b, const struct map_report *r, co_u64 *sums)
{
    co_u64 full = co_warp_min(r->first_full), bad = co_warp_min(r->first_bad);
    if (co_lane() == 0 && full != ~0ull)
        co_min64(&b->deferred->first_full, full);
    if (co_lane() == 0 && bad != ~0ull)
        co_min64(&b->deferred->first_bad, bad);
    if (!b->counts)
        return;
    map_sums_add(sums, SUM_PART, r->taken);
    map_sums_add(sums, SUM_HITS, r->hits);
    map_sums_add(sums, SUM_ADDED, r->added);
    map_sums_add(sums, SUM_FAILED, r->failed);
    full = bad < full ? bad : full;
    if (co_lane() == 0 && full != ~0ull)
        co_min64(&b->counts->first_failed, full);
}

/* ---- the instances -------------------------------------------------------------------------------------------------- */

#define CO_MAP_FILE "kernels/map_width.h"
#include "cohort/device/map_instances.h"

#include "map_group.h"
