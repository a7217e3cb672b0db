/* sort.cu: least-significant-digit radix sort, a digit of 8 bits a pass: A. Adinets and D. Merrill,
 * "Onesweep", 2022.
 *
 * Count. One read of the keys counts the digits of all passes.
 *
 * Plan. One block sums the counts up: where each digit's entries begin. A pass whose digit is the same for
 * all entries does nothing, and the others take the arrays from place to place so that the last leaves them
 * in the output.
 *
 * Pass. A block takes a tile. Each warp counts its entries by digit in counters of its own; all warps'
 * counts, summed up, say where in the tile each warp's entries of each digit go, and are published to the
 * tiles after (look_back.h). Then each warp ranks its entries row by row, and puts them in order in shared
 * memory; a lane a digit resolves what is before the tile; and the tile is written in runs of equal digits.
 * Columns follow: each is put in order in shared memory by the places that the keys got, and written as they
 * were. Of one column of 4 bytes beside numbers of 4, sort_pair.h has the steps: what the keys got is kept in
 * shared memory, so that the column is in the keys' registers, and on its way while they are written. Few
 * entries have smaller tiles, so that every multiprocessor gets some; many have blocks that go on from tile
 * to tile (sort_far.h).
 *
 * Segments. Each entry gets the number of its segment, as a column; after the passes over keys there are
 * passes over that. */
#include "look_back.h"
#include "runs_write.h"
#include "shape/sort.h"

#ifdef COHORT_SIM
#    define SORT_THREADS        SORT_THREADS_SIM
#    define SORT_THREADS_PAIR   SORT_THREADS_SIM
#    define SORT_THREADS_FEW    SORT_THREADS_SIM
#    define SORT_THREADS_FEWEST SORT_THREADS_SIM
#    define SORT_THREADS_FAR    SORT_THREADS_SIM
#    define SORT_ITEMS_OF(x)    SORT_ITEMS_SIM
#else
#    define SORT_THREADS        SORT_THREADS_GPU
#    define SORT_THREADS_PAIR   SORT_THREADS_PAIR_GPU
#    define SORT_THREADS_FEW    SORT_THREADS_FEW_GPU
#    define SORT_THREADS_FEWEST SORT_THREADS_FEWEST_GPU
#    define SORT_THREADS_FAR    SORT_THREADS_FAR_GPU
#    define SORT_ITEMS_OF(x)    x##_GPU
#endif
#define SORT_ITEMS_MOST 32

/* A block's shared memory, and its tile. */
struct sort_tile {
    co_u8 *stage;          /* the tile's entries of one array, in order */
    co_u32 *places;        /* of a pair: where each entry is in the tile, two a word */
    co_u64 *starts;        /* [digit]: where its entries go in the output, less where they are in the tile */
    co_u32 *counters;      /* [warp][digit], */
    co_u32 mine;           /* and where the warp's are, in bytes from `stage` on */
    co_u32 *sums, *begins; /* [digit]: how many, and where in the tile they begin */
    co_u32 *groups;        /* the sums of 32 digits each */
    co_u32 *ticket;
    co_u32 stage_bytes, threads;
    co_u32 tile, size, count; /* places, and entries that there are */
    co_u64 first;
};

/* The warp's counter of a digit. In bytes it is one instruction. */
CO_INLINE co_u32 *sort_counter(const struct sort_tile *r, co_u32 digit)
{
    return (co_u32 *)(void *)(r->stage + (r->mine + digit * 4));
}

/* With so many words more an entry of the stage as are `pads`. */
CO_INLINE void sort_lay_out(struct sort_tile *r, co_u8 *memory, co_u32 threads, co_u32 items, co_u32 wide,
                            co_u32 pads, int pair)
{
    r->threads = threads;
    r->size = threads * items;
    r->stage = memory;
    r->stage_bytes = (r->size + pads) * wide;
    r->places = (co_u32 *)(void *)(memory + r->stage_bytes);
    r->starts = (co_u64 *)(void *)(r->places + (pair ? (items + 1) / 2 * threads : 0));
    r->counters = (co_u32 *)(void *)(r->starts + SORT_DIGITS);
    r->mine = (co_u32)((co_u8 *)(void *)r->counters - memory) + co_warp() * (SORT_DIGITS * 4);
    r->sums = r->counters + threads / 32 * SORT_DIGITS;
    r->begins = r->sums + SORT_DIGITS;
    r->groups = r->begins + SORT_DIGITS;
    r->ticket = r->groups + SORT_DIGITS / 32;
}

/* By a full warp. */
CO_INLINE void sort_clear_counters(const struct sort_tile *r)
{
    for (co_u32 d = co_lane(); d < SORT_DIGITS; d += 32)
        co_write32(sort_counter(r, d), 0);
}

CO_INLINE void sort_take_tile(const struct sort_step *s, struct sort_tile *r, co_u32 tile)
{
    r->tile = tile;
    r->first = (co_u64)tile * r->size;
    r->count = s->n - r->first < r->size ? (co_u32)(s->n - r->first) : r->size;
}

CO_INLINE void sort_begin(const struct sort_step *s, struct sort_tile *r, co_u8 *memory, co_u32 threads,
                          co_u32 items, co_u32 wide, int pair)
{
    sort_lay_out(r, memory, threads, items, wide, 0, pair);
    sort_clear_counters(r);
    if (co_thread() == 0)
        co_write32(r->ticket, look_back_ticket(s->tickets));
    co_block_sync();
    sort_take_tile(s, r, co_read32(r->ticket));
}

CO_INLINE const void *sort_from(const struct sort_step *s, co_u32 a)
{
    co_u32 from = co_read32(&s->plan->from);
    return from == SORT_IN ? s->array[a].in : from == SORT_OUT ? s->array[a].out : s->array[a].other;
}

CO_INLINE void *sort_to(const struct sort_step *s, co_u32 a)
{
    return co_read32(&s->plan->to) == SORT_OUT ? s->array[a].out : s->array[a].other;
}

/* Where the words of 32 bits of a digit of the tile are: passes that do something take two places in turn. */
CO_INLINE co_u32 *sort_words(const struct sort_step *s, co_u32 later)
{
    return (co_u32 *)(void *)s->words + ((co_read32(&s->plan->turn) + later) & 1) * s->half;
}

/* Who publishes a word clears the one of the pass that follows: what is there is of the pass before, and done
 * with. */
CO_INLINE void sort_publish(const struct sort_step *s, const struct sort_tile *r, co_u32 digit, co_u32 sum)
{
    co_u64 i = (co_u64)r->tile * SORT_DIGITS + digit;
    if (s->half) {
        look_back_publish_short(sort_words(s, 0), i, r->tile, sum);
        co_store32(sort_words(s, 1) + i, 0);
    } else
        look_back_publish(s->words, i, r->tile, sum, s->round, 0);
}

CO_INLINE co_u64 sort_before(const struct sort_step *s, const struct sort_tile *r, co_u32 digit)
{
    co_u32 own = co_read32(r->sums + digit);
    return s->half ? look_back_lane_short(sort_words(s, 0), r->tile, SORT_DIGITS, digit, own)
                   : look_back_lane(s->words, r->tile, SORT_DIGITS, digit, own, s->round);
}

/* From counts of warps to where in the tile each warp's entries of each digit go; is_padded: with the pads of
 * runs_write.h. */
CO_INLINE void sort_scan(const struct sort_step *s, const struct sort_tile *r, int is_padded)
{
    co_u32 warps = r->threads / 32;
    co_block_sync();
    for (co_u32 g = co_warp(); g < SORT_DIGITS / 32; g += warps) {
        co_u32 digit = g * 32 + co_lane(), sum = 0;
        CO_EACH_ITEM (w, warps)
            sum += co_read32(r->counters + w * SORT_DIGITS + digit);
        sort_publish(s, r, digit, sum);
        co_u32 to = sum;
        for (co_u32 d = 1; d < 32; d <<= 1) {
            co_u32 other = co_shuffle32(CO_FULL_WARP, to, co_lane() - d);
            to += co_lane() >= d ? other : 0;
        }
        co_write32(r->sums + digit, sum);
        co_write32(r->begins + digit, to - sum);
        if (co_lane() == 31)
            co_write32(r->groups + g, to);
    }
    co_block_sync();
    for (co_u32 g = co_warp(); g < SORT_DIGITS / 32; g += warps) {
        co_u32 digit = g * 32 + co_lane(), next = co_read32(r->begins + digit);
        CO_EACH_ITEM (i, SORT_DIGITS / 32)
            next += i < g ? co_read32(r->groups + i) : 0;
        co_write32(r->begins + digit, next);
        next += is_padded ? runs_pad(digit) : 0;
        CO_EACH_ITEM (w, warps) {
            co_u32 many = co_read32(r->counters + w * SORT_DIGITS + digit);
            co_write32(r->counters + w * SORT_DIGITS + digit, next);
            next += many;
        }
    }
    co_block_sync();
}

/* A lane a digit: what is before the tile, so where its entries go. */
CO_INLINE void sort_resolve_digits(const struct sort_step *s, const struct sort_tile *r)
{
    for (co_u32 d = co_thread(); d < SORT_DIGITS; d += r->threads) {
        co_u64 begin = co_read64(s->base + d) - co_read32(r->begins + d);
        co_write64(r->starts + d, begin + sort_before(s, r, d));
    }
}

CO_INLINE void sort_resolve(const struct sort_step *s, const struct sort_tile *r)
{
    sort_resolve_digits(s, r);
    co_block_sync();
}

/* ---- columns ------------------------------------------------------------------------------------------- */

#define WIDE 0
#include "sort_column.h"
#define WIDE 1
#include "sort_column.h"

CO_INLINE void sort_column(const struct sort_step *s, const struct sort_tile *r, co_u32 a,
                           const co_u32 *places, const co_u32 *digits, co_u32 items)
{
    const co_u8 *from = (const co_u8 *)sort_from(s, a);
    co_u8 *to = (co_u8 *)sort_to(s, a);
    co_u32 bytes = s->array[a].bytes;
    if (bytes <= 4)
        sort_carry_32(r, from, to, bytes, bytes, places, digits, items);
    for (co_u32 half = 0; bytes > 4 && half < bytes; half += 8)
        sort_carry_64(r, from ? from + half : 0, to + half, 8, bytes, places, digits, items);
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

/* Counts become begins. Whether the digit is the same for all. By a full warp. */
CO_INLINE int sort_sum_up(const struct sort_plan_step *s, co_u64 *bins)
{
    co_u64 before = 0;
    co_u32 same = 0;
    for (co_u32 g = 0; g < SORT_DIGITS / 32; g++) {
        co_u64 many = co_read64(bins + g * 32 + co_lane()), lanes = co_warp_before(many);
        same |= co_ballot(CO_FULL_WARP, many == s->n);
        co_write64(bins + g * 32 + co_lane(), before + lanes);
        before += co_shuffle64(CO_FULL_WARP, lanes + many, 31);
    }
    return same != 0;
}

CO_KERNEL(sort_plan, struct sort_plan_step)
{
    CO_SHARED(co_u32, needed, SORT_PASSES);
    for (co_u32 p = co_warp(); p < args->passes; p += co_threads() / 32) {
        int same = sort_sum_up(args, args->bins + p * SORT_DIGITS);
        if (co_lane() == 0)
            co_write32(needed + p, !same);
    }
    co_block_sync();
    if (co_thread())
        return;
    co_u32 left = 0, keys = 0, from = SORT_IN, key = 0, turn = 0;
    for (co_u32 p = 0; p < args->passes; p++) {
        left += co_read32(needed + p);
        keys += p < args->key_passes ? co_read32(needed + p) : 0;
    }
    for (co_u32 p = 0; p < args->passes; p++) {
        struct sort_plan *plan = args->plan + p;
        co_u32 active =
            co_read32(needed + p) || (!left && p + 1 == args->passes && from == SORT_IN); /* a copy */
        co_u32 to = left % 2 || !left ? SORT_OUT : SORT_OTHER, by_keys = active && p < args->key_passes;
        co_write32(&plan->active, active);
        co_write32(&plan->from, from);
        co_write32(&plan->to, to);
        co_write32(&plan->turn, turn);
        co_write32(&plan->first, by_keys && key == 0);
        co_write32(&plan->last, by_keys && key + 1 >= keys);
        key += by_keys;
        turn += active;
        if (active) {
            from = to;
            left -= left ? 1 : 0;
        }
    }
}

/* ---- segments ------------------------------------------------------------------------------------------ */

CO_KERNEL(sort_segments, struct sort_segments_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane(), low = 0, high = args->segments;
        if (i >= args->n)
            continue;
        while (high - low > 1) { /* the last segment that begins at i or before */
            co_u64 middle = low + (high - low) / 2;
            if (co_read64(args->offsets + middle) <= i)
                low = middle;
            else
                high = middle;
        }
        co_write32(args->numbers + i, (co_u32)low);
    }
}

#define WIDE               0
#define READ_STREAM        co_read_stream32
#define SORT_ITEMS         SORT_ITEMS_OF(SORT_ITEMS_32)
#define SORT_ITEMS_COLUMNS SORT_ITEMS_OF(SORT_ITEMS_COLUMNS_32)
#include "sort_width.h"
#include "sort_pair.h"
#include "sort_far.h"

CO_KERNEL_BOUND(sort_pair_32, struct sort_step, SORT_THREADS_PAIR, SORT_BLOCKS_PAIR)
{
    CO_SHARED_DYNAMIC(co_u8, memory);
    sort_pair_tile(args, memory, SORT_THREADS_PAIR, SORT_ITEMS_OF(SORT_ITEMS_PAIR));
}

/* Of few entries: smaller tiles, so that all multiprocessors have some. */
#define SORT_SMALL(name, threads, items)                                               \
    CO_KERNEL_BOUND(sort_##name##_32, struct sort_step, threads, SORT_BLOCKS_FEW)      \
    {                                                                                  \
        CO_SHARED_DYNAMIC(co_u8, memory);                                              \
        sort_tile_32(args, memory, threads, items, 4, 0);                              \
    }                                                                                  \
    CO_KERNEL_BOUND(sort_##name##_pair_32, struct sort_step, threads, SORT_BLOCKS_FEW) \
    {                                                                                  \
        CO_SHARED_DYNAMIC(co_u8, memory);                                              \
        sort_pair_tile(args, memory, threads, items);                                  \
    }

SORT_SMALL(few, SORT_THREADS_FEW, SORT_ITEMS_OF(SORT_ITEMS_FEW))
SORT_SMALL(fewest, SORT_THREADS_FEWEST, SORT_ITEMS_OF(SORT_ITEMS_FEWEST))

#define WIDE               1
#define READ_STREAM        co_read_stream64
#define SORT_ITEMS         SORT_ITEMS_OF(SORT_ITEMS_64)
#define SORT_ITEMS_COLUMNS SORT_ITEMS_OF(SORT_ITEMS_COLUMNS_64)
#include "sort_width.h"
