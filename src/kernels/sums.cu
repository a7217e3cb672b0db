/* sums.cu: prefix sums in one pass, and reductions.
 *
 * Prefix. A block takes tile after tile. Each warp reads its part, 16 bytes a lane and chunk, and sums up in
 * registers: entry by entry in a lane, lane by lane by shuffles, chunk by chunk. The warps' sums meet in
 * shared memory; the first warp publishes the tile's sum, and later resolves what is before the tile
 * (look_back.h); all add it and write. So each entry is read once and written once.
 *
 * Reduce. Lanes take some chunks of 16 bytes at a time, all on their way at once; warps and blocks add up, a
 * block does one atomic. */
#include "look_back.h"
#include "shape/sums.h"

#ifdef COHORT_SIM
#    define SUMS_CHUNKS   SUMS_CHUNKS_SIM
#    define REDUCE_CHUNKS REDUCE_CHUNKS_SIM
#else
#    define SUMS_CHUNKS   SUMS_CHUNKS_GPU
#    define REDUCE_CHUNKS REDUCE_CHUNKS_GPU
#endif
#define SUMS_BLOCKS    3 /* a multiprocessor: of prefix sums, */
#define REDUCE_AT_ONCE 4 /* and of reductions, at a time */

CO_INLINE co_u32 sums_ticket(const struct prefix_step *s)
{
    return s->tickets ? look_back_ticket(s->tickets) : (co_u32)s->tiles;
}

/* Of the first tile, and of the one after it. */
CO_INLINE void sums_first_tickets(const struct prefix_step *s, co_u32 *tickets)
{
    if (co_thread() == 0) {
        co_write32(tickets + 1, s->tickets ? sums_ticket(s) : 0);
        co_write32(tickets, sums_ticket(s));
    }
    co_block_sync();
}

CO_INLINE co_u64 reduce_none(co_u32 op)
{
    return op == REDUCE_MIN ? ~0ull : 0;
}

CO_INLINE co_u64 reduce_two(co_u32 op, co_u64 a, co_u64 b)
{
    if (op == REDUCE_ADD)
        return a + b;
    return (op == REDUCE_MIN) == (a < b) ? a : b;
}

CO_INLINE co_u64 reduce_warp(co_u32 op, co_u64 v)
{
    for (co_u32 d = 16; d; d >>= 1)
        v = reduce_two(op, v, co_shuffle64(CO_FULL_WARP, v, co_lane() ^ d));
    return v;
}

/* The block's result goes to that of all. */
CO_INLINE void reduce_block(const struct reduce_step *s, co_u64 v, co_u64 *warps)
{
    v = reduce_warp(s->op, v);
    if (co_lane() == 0)
        co_write64(warps + co_warp(), v);
    co_block_sync();
    if (co_warp())
        return;
    v = reduce_warp(s->op, co_lane() < co_threads() / 32 ? co_read64(warps + co_lane()) : reduce_none(s->op));
    if (co_lane())
        return;
    if (s->op == REDUCE_ADD)
        co_add64(s->out, v);
    else if (s->op == REDUCE_MIN)
        co_min64(s->out, v);
    else
        co_max64(s->out, v);
}

/* Of signed numbers and floats the key becomes the number that it stands for. One thread. */
CO_KERNEL(sums_reduce_result, struct reduce_step)
{
    co_write64(args->out, reduce_result(args->kind, args->wide, co_read64(args->out)));
}

#define WIDE         0
#define REDUCE_ENTRY reduce_entry32
#include "sums_width.h"
#undef REDUCE_ENTRY
#define WIDE         1
#define REDUCE_ENTRY reduce_entry64
#include "sums_width.h"
