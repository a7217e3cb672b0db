/* look_back.h: what lies before a tile, resolved from the tiles before it while they are still at work.
 * Decoupled look-back: D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled
 * Look-back", NVIDIA NVR-2016-002; for many sums at a time: A. Adinets and D. Merrill, "Onesweep", 2022.
 * docs/look-back.md has the protocol and why it ends.
 *
 * A tile has one word for each of its sums. It says nothing at first, then the tile's own sum (PARTIAL), then
 * the sum of all tiles up to this one (TOTAL). Sum and state are one word, stored and loaded whole: whoever
 * sees the state has the sum, so no fence is needed. Who wants to know what is before a tile goes back word
 * by word, adds up partial sums, and ends at a total.
 *
 * Rounds. The same words serve several launches one after the other without being cleared: round r knows the
 * states 2r + 1 and 2r + 2, and takes what earlier rounds left for nothing. They are cleared before round 0.
 *
 * Tickets. A block takes the number of its tile from a counter. So a tile that waits does so for tiles that
 * some running block has, in whatever order blocks begin, and however few run at once. */
#ifndef COHORT_KERNELS_LOOK_BACK_H
#define COHORT_KERNELS_LOOK_BACK_H

#include "cohort/device/lane.h"

#define LOOK_BACK_STATE_BITS     8
#define LOOK_BACK_PARTIAL(round) (2u * (round) + 1u)
#define LOOK_BACK_TOTAL(round)   (2u * (round) + 2u)

/* The number of a tile that nobody else has. By one lane. */
CO_INLINE co_u32 look_back_ticket(co_u32 *tickets)
{
    return co_add32(tickets, 1);
}

/* ---- words: sums of 56 bits in 8 bytes, or (wide) of 64 bits in 16 ------------------------------------- */

struct look_back {
    co_u64 sum;
    co_u32 state;
};

CO_INLINE struct look_back look_back_load(const void *words, co_u64 i, int wide)
{
    struct look_back b;
    if (wide) {
        co_u128 word = co_load128((const co_u128 *)words + i);
        b.sum = word.lo;
        b.state = (co_u32)word.hi;
    } else {
        co_u64 word = co_load64((const co_u64 *)words + i);
        b.sum = word >> LOOK_BACK_STATE_BITS;
        b.state = (co_u32)word & ((1u << LOOK_BACK_STATE_BITS) - 1);
    }
    return b;
}

CO_INLINE void look_back_store(void *words, co_u64 i, co_u64 sum, co_u32 state, int wide)
{
    if (wide)
        co_store128((co_u128 *)words + i, co_make128(sum, state));
    else
        co_store64((co_u64 *)words + i, sum << LOOK_BACK_STATE_BITS | state);
}

/* Says what the tile's own sum is: as early as can be, since others wait for it. Place i of the words is the
 * sum's own, of this tile. Tile 0 has said all there is to say. */
CO_INLINE void look_back_publish(void *words, co_u64 i, co_u64 tile, co_u64 own, co_u32 round, int wide)
{
    look_back_store(words, i, own, tile ? LOOK_BACK_PARTIAL(round) : LOOK_BACK_TOTAL(round), wide);
}

/* ---- one sum a tile: a warp looks at many words at a time ---------------------------------------------- */

#ifdef COHORT_SIM
#    define LOOK_BACK_WINDOW 2 /* words a lane */
#else
#    define LOOK_BACK_WINDOW 1
#endif

/* The words of the tiles before `end`, backwards, lane by lane. Before the first tile there is a total of
 * 0. */
CO_INLINE void look_back_window(const void *words, co_u64 end, co_u32 round, int wide, struct look_back *b)
{
    CO_EACH_ITEM (k, LOOK_BACK_WINDOW) {
        co_u32 at = k * 32 + co_lane();
        b[k].sum = 0;
        b[k].state = LOOK_BACK_TOTAL(round);
        if (at < end)
            b[k] = look_back_load(words, end - 1 - at, wide);
    }
}

/* The sum over all tiles before this one, whose own has been published. By a full warp. */
CO_INLINE co_u64 look_back_warp(void *words, co_u64 tile, co_u64 own, co_u32 round, int wide)
{
    co_u64 before = 0, end = tile;
    co_u32 done = tile == 0;
    while (!done) {
        struct look_back b[LOOK_BACK_WINDOW];
        co_u32 silent = 0, some = 0;
        look_back_window(words, end, round, wide, b);
        CO_EACH_ITEM (k, LOOK_BACK_WINDOW) {
            if (!done && !silent) { /* up to a total, as far as tiles have published */
                silent = co_ballot(CO_FULL_WARP, b[k].state < LOOK_BACK_PARTIAL(round));
                co_u32 total = co_ballot(CO_FULL_WARP, b[k].state == LOOK_BACK_TOTAL(round));
                co_u32 published = silent ? (silent & (0u - silent)) - 1 : ~0u;
                co_u32 first = total & (0u - total), used = published & (total ? first | (first - 1) : ~0u);
                before += used >> co_lane() & 1 ? b[k].sum : 0;
                end -= co_ones32(used);
                done = used & first;
                some |= used;
            }
        }
        if (!some)
            co_pause();
    }
    before = co_warp_sum(before);
    if (tile && co_lane() == 0)
        look_back_store(words, tile, before + own, LOOK_BACK_TOTAL(round), wide);
    return before;
}

/* ---- many sums a tile: each lane goes back by itself, LOOK_BACK_EACH words at a time ------------------- */

#ifdef COHORT_SIM
#    define LOOK_BACK_EACH 2
#else
#    define LOOK_BACK_EACH 4
#endif

/* The same for sum `i` of `sums`, which lies at word tile * sums + i. Without branches but for the loop: many
 * lanes do it. */
CO_INLINE co_u64 look_back_lane(co_u64 *words, co_u64 tile, co_u32 sums, co_u32 i, co_u64 own, co_u32 round)
{
    co_u64 before = 0, end = tile;
    while (end) {
        struct look_back b[LOOK_BACK_EACH];
        co_u32 used = 0, live = 1, total = 0;
        CO_EACH_ITEM (j, LOOK_BACK_EACH)
            b[j] = look_back_load(words, (j < end ? end - 1 - j : 0) * sums + i, 0);
        CO_EACH_ITEM (j, LOOK_BACK_EACH) {
            live = b[j].state >= LOOK_BACK_PARTIAL(round) ? live : 0;
            before += live ? b[j].sum : 0;
            used += live;
            total |= live && b[j].state == LOOK_BACK_TOTAL(round);
            live = total ? 0 : live;
        }
        end = total ? 0 : end - used;
        if (!used)
            co_pause();
    }
    if (tile)
        look_back_store(words, tile * sums + i, before + own, LOOK_BACK_TOTAL(round), 0);
    return before;
}

/* ---- the same with words of 32 bits, where no sum reaches 2^30: half the traffic. They have no rounds -- */

enum { LOOK_BACK_SHORT_PARTIAL = 1, LOOK_BACK_SHORT_TOTAL = 2 };

CO_INLINE void look_back_publish_short(co_u32 *words, co_u64 i, co_u64 tile, co_u32 own)
{
    co_store32(words + i, own << 2 | (tile ? LOOK_BACK_SHORT_PARTIAL : LOOK_BACK_SHORT_TOTAL));
}

CO_INLINE co_u32 look_back_lane_short(co_u32 *words, co_u64 tile, co_u32 sums, co_u32 i, co_u32 own)
{
    co_u32 before = 0;
    co_u64 end = tile;
    while (end) {
        co_u32 word[LOOK_BACK_EACH], used = 0, live = 1, total = 0;
        CO_EACH_ITEM (j, LOOK_BACK_EACH)
            word[j] = co_load32(words + ((j < end ? end - 1 - j : 0) * sums + i));
        CO_EACH_ITEM (j, LOOK_BACK_EACH) {
            live = word[j] & 3 ? live : 0;
            before += live ? word[j] >> 2 : 0;
            used += live;
            total |= live & word[j] >> 1;
            live = total ? 0 : live;
        }
        end = total ? 0 : end - used;
        if (!used)
            co_pause();
    }
    if (tile)
        co_store32(words + (tile * sums + i), (before + own) << 2 | LOOK_BACK_SHORT_TOTAL);
    return before;
}

#endif
