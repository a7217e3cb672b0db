/* join.cu: right rows by groups, pairs of matches, and rows that were not met.
 *
 * Groups come from a sort (cuda/join.c); here it is found where each begins. Pairs are counted by blocks of
 * 256 left rows. A page is written by warps, each of which has 256 pairs of it, however unlike the rows are:
 * it finds the block of its first pair by a search of the sums, counts 32 rows at a time, and each lane finds
 * the row of its pair among them. A block without pairs that are wanted costs one more search, not a walk. */
#include "keys_value.h"
#include "shape/join_step.h"
#include "shape/search.h"

/* ---- right rows by groups ------------------------------------------------------------------------------ */

CO_KERNEL(join_dense, struct join_dense_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        if (i >= args->n)
            continue;
        co_u32 state;
        co_u64 place = keys_value(&args->column, i, &state) - args->low;
        co_u32 group = place <= args->span ? (co_u32)place : JOIN_NONE;
        if (state)
            group = state == KEYS_NULL ? args->null : JOIN_NONE;
        co_write32(args->groups + i, group);
    }
}

CO_KERNEL(join_single, struct join_single_step)
{
    int again = 0;
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u32 group = i < args->n ? co_read32(args->groups + i) : JOIN_NONE;
        if (group != JOIN_NONE && co_cas32(args->row + group, JOIN_NONE, (co_u32)i) != JOIN_NONE)
            again = 1;
    }
    if (co_any(CO_FULL_WARP, again) && co_lane() == 0)
        co_add64(&args->found->count, 1);
}

/* The first of n groups in order that is not below `group`. */
CO_INLINE co_u64 join_begin_of(const co_u32 *sorted, co_u64 n, co_u64 group)
{
    co_u64 low = 0;
    while (n) {
        co_u64 half = n / 2;
        if (co_read32(sorted + low + half) < group) {
            low += half + 1;
            n -= half + 1;
        } else
            n = half;
    }
    return low;
}

CO_KERNEL(join_starts, struct join_group_step)
{
    const co_u64 starts = args->groups + 1;
    CO_EACH_WARP (base, starts) {
        co_u64 g = base + co_lane();
        if (g < starts)
            co_write32(args->start + g, (co_u32)join_begin_of(args->sorted, args->n, g));
    }
}

CO_KERNEL(join_again, struct join_group_step)
{
    co_u64 first = ~0ull;
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        if (i >= args->n || !i)
            continue;
        co_u32 group = co_read32(args->sorted + i);
        if (group == JOIN_NONE || group != co_read32(args->sorted + i - 1))
            continue;
        co_u64 row = co_read32(args->row + i);
        first = row < first ? row : first;
    }
    first = co_warp_min(first);
    if (co_lane() == 0 && ~first)
        co_min64(&args->found->first, first);
}

CO_KERNEL(join_repeated, struct join_repeated_step)
{
    co_u64 first = ~0ull;
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u32 group = i < args->n ? co_read32(args->groups + i) : JOIN_NONE;
        if (group != JOIN_NONE && co_read64(args->first + group) != i && i < first)
            first = i;
    }
    first = co_warp_min(first);
    if (co_lane() == 0 && ~first)
        co_min64(&args->found->first, first);
}

/* ---- left rows ----------------------------------------------------------------------------------------- */

/* How many right rows `at` stands for. */
CO_INLINE co_u64 join_length(const struct join_look *x, co_u32 at)
{
    if (at == JOIN_NONE)
        return 0;
    return x->unique ? 1 : co_read32(x->start + at + 1) - co_read32(x->start + at);
}

/* How many pairs come of a left row that has `length` matches. */
CO_INLINE co_u64 join_pairs_of(co_u32 rule, co_u64 length)
{
    return rule == JOIN_INNER   ? length
           : rule == JOIN_OUTER ? length + !length
           : rule == JOIN_SEMI  ? length != 0
                                : !length;
}

CO_INLINE void join_mark(co_u32 *met, co_u32 at)
{
    const co_u32 bit = 1u << (at & 31);
    if (!(co_load32(met + at / 32) & bit))
        co_or32(met + at / 32, bit);
}

/* Warps on units of so many rows. */
#define JOIN_EACH(b, units)                                                              \
    for (co_u64 b = ((co_u64)co_block() * co_threads() + co_thread()) / 32; b < (units); \
         b += (co_u64)co_blocks() * (co_threads() / 32))

CO_KERNEL(join_count, struct join_count_step)
{
    const struct join_look *x = &args->index;
    JOIN_EACH(b, (args->n + JOIN_BLOCK - 1) / JOIN_BLOCK)
    {
        co_u64 sum = 0;
        for (co_u32 k = 0; k < JOIN_BLOCK / 32; k++) {
            co_u64 i = b * JOIN_BLOCK + k * 32 + co_lane();
            if (i >= args->n)
                continue;
            co_u32 at = co_read32(args->at + i);
            if (x->unique && x->row && at != JOIN_NONE) {
                at = co_read32(x->row + at);
                co_write32(args->at + i, at);
            }
            co_u64 length = join_length(x, at);
            sum += join_pairs_of(args->rule, length);
            if (args->marks && length)
                join_mark(x->met, at);
        }
        sum = co_warp_sum(sum);
        if (co_lane() == 0)
            co_write64(args->before + b, sum);
    }
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

/* The block of pair `wanted`, which lies behind block `block`: often the next one. */
CO_INLINE co_u64 join_block_after(const co_u64 *before, co_u64 n, co_u64 block, co_u64 wanted)
{
    return co_read64(before + block + 2) > wanted ? block + 1 : run_at(before, 0, n, wanted);
}

CO_INLINE void join_put(void *rows, co_u32 bytes, co_u64 i, co_u64 row)
{
    if (!rows)
        return;
    if (bytes == 4)
        co_write32((co_u32 *)rows + i, (co_u32)row);
    else
        co_write64((co_u64 *)rows + i, row);
}

/* 32 left rows, a lane each: what stands there, its matches, its pairs, and those of the lanes before. */
struct join_rows {
    co_u64 row; /* of lane 0 */
    co_u32 at;
    co_u64 length, before, sum;
};

CO_INLINE struct join_rows join_rows_of(const struct join_pairs_step *s, co_u64 row)
{
    struct join_rows r;
    co_u64 i = row + co_lane(), pairs = 0;
    r.row = row;
    r.at = i < s->n ? co_read32(s->at + i) : JOIN_NONE;
    r.length = join_length(&s->index, r.at);
    if (i < s->n)
        pairs = join_pairs_of(s->rule, r.length);
    r.before = co_warp_before(pairs);
    r.sum = co_shuffle64(CO_FULL_WARP, r.before + pairs, 31);
    return r;
}

/* The lane of the last row whose pairs begin at `pair` or before. */
CO_INLINE co_u32 join_lane_of(const struct join_rows *r, co_u64 pair)
{
    co_u32 lane = 0;
    for (co_u32 d = 16; d; d >>= 1)
        if (co_shuffle64(CO_FULL_WARP, r->before, lane + d) <= pair)
            lane += d;
    return lane;
}

/* Pairs [from, from + count) of the rows, to places `to` and on. */
CO_INLINE void join_write(const struct join_pairs_step *s, const struct join_rows *r, co_u64 from,
                          co_u64 count, co_u64 to)
{
    const struct join_look *x = &s->index;
    for (co_u64 base = 0; base < count; base += 32) {
        co_u64 j = base + co_lane(), right = ~0ull;
        co_u32 lane = join_lane_of(r, from + j);
        co_u32 at = co_shuffle32(CO_FULL_WARP, r->at, lane);
        co_u64 length = co_shuffle64(CO_FULL_WARP, r->length, lane);
        co_u64 k = from + j - co_shuffle64(CO_FULL_WARP, r->before, lane);
        if (j >= count)
            continue;
        if (length && s->right)
            right = x->unique ? at : co_read32(x->row + co_read32(x->start + at) + k);
        join_put(s->left, s->bytes, to + j, r->row + lane);
        join_put(s->right, s->bytes, to + j, right);
    }
}

/* What a block has of the pairs from `wanted` on, at most `most`: how many were written. */
CO_INLINE co_u64 join_write_block(const struct join_pairs_step *s, co_u64 block, co_u64 wanted, co_u64 most,
                                  co_u64 to)
{
    co_u64 skip = wanted - co_read64(s->before + block), done = 0;
    for (co_u32 k = 0; k < JOIN_BLOCK / 32 && done < most; k++) {
        struct join_rows r = join_rows_of(s, block * JOIN_BLOCK + k * 32);
        co_u64 count = r.sum > skip ? r.sum - skip : 0;
        count = count < most - done ? count : most - done;
        join_write(s, &r, skip, count, to + done);
        done += count;
        skip = skip > r.sum ? skip - r.sum : 0;
    }
    return done;
}

CO_KERNEL(join_pairs, struct join_pairs_step)
{
    const co_u64 blocks = (args->n + JOIN_BLOCK - 1) / JOIN_BLOCK;
    JOIN_EACH(c, (args->count + JOIN_CHUNK - 1) / JOIN_CHUNK)
    {
        co_u64 to = c * JOIN_CHUNK, end = args->count - to < JOIN_CHUNK ? args->count : to + JOIN_CHUNK;
        co_u64 block = run_at(args->before, 0, blocks, args->first + to);
        for (;;) {
            to += join_write_block(args, block, args->first + to, end - to, to);
            if (to >= end)
                break;
            block = join_block_after(args->before, blocks, block, args->first + to);
        }
    }
}

/* ---- right rows that were not met ---------------------------------------------------------------------- */

/* A lane a row, in the order of groups. */
CO_KERNEL(join_rest_met, struct join_rest_step)
{
    const struct join_look *x = &args->index;
    const co_u64 n = co_read32(x->start + args->groups);
    CO_EACH_WARP (base, n) {
        co_u64 i = base + co_lane(), low = 0, high = args->groups; /* start[low] <= i < start[high] */
        if (i >= n)
            continue;
        while (high - low > 1) {
            co_u64 middle = low + (high - low) / 2;
            if (co_read32(x->start + middle) <= i)
                low = middle;
            else
                high = middle;
        }
        if (co_read32(x->met + low / 32) >> (low & 31) & 1)
            join_mark(args->met, co_read32(x->row + i));
    }
}

/* The rows that were not met among the 32 of a word. */
CO_INLINE co_u32 join_unmet(const struct join_rest_step *s, co_u64 word)
{
    if (word * 32 >= s->rows)
        return 0;
    co_u64 left = s->rows - word * 32;
    co_u32 bits = ~co_read32(s->met + word);
    return left < 32 ? bits & ((1u << left) - 1) : bits;
}

CO_KERNEL(join_rest_spans, struct join_rest_step)
{
    JOIN_EACH(b, (args->rows + JOIN_SPAN - 1) / JOIN_SPAN)
    {
        co_u64 sum = 0;
        for (co_u32 k = co_lane(); k < JOIN_SPAN / 32; k += 32)
            sum += co_ones32(join_unmet(args, b * (JOIN_SPAN / 32) + k));
        sum = co_warp_sum(sum);
        if (co_lane() == 0)
            co_write64(args->before + b, sum);
    }
}

/* As of a block of left rows. */
CO_INLINE co_u64 join_write_span(const struct join_rest_step *s, co_u64 span, co_u64 wanted, co_u64 most,
                                 co_u64 to)
{
    co_u64 skip = wanted - co_read64(s->before + span), seen = 0; /* that many, of which the page has some */
    for (co_u32 k = 0; k < JOIN_SPAN / 32 && seen < skip + most; k += 32) {
        co_u64 word = span * (JOIN_SPAN / 32) + k + co_lane();
        co_u32 bits = join_unmet(s, word);
        co_u64 count = co_ones32(bits), place = seen + co_warp_before(count);
        seen = co_shuffle64(CO_FULL_WARP, place + count, 31);
        for (; bits; bits &= bits - 1, place++)
            if (place >= skip && place < skip + most)
                join_put(s->to, s->bytes, to + place - skip, word * 32 + co_first32(bits));
    }
    return seen < skip + most ? seen - skip : most;
}

CO_KERNEL(join_rest_rows, struct join_rest_step)
{
    const co_u64 spans = (args->rows + JOIN_SPAN - 1) / JOIN_SPAN;
    JOIN_EACH(c, (args->count + JOIN_CHUNK - 1) / JOIN_CHUNK)
    {
        co_u64 to = c * JOIN_CHUNK, end = args->count - to < JOIN_CHUNK ? args->count : to + JOIN_CHUNK;
        co_u64 span = run_at(args->before, 0, spans, args->first + to);
        for (;;) {
            to += join_write_span(args, span, args->first + to, end - to, to);
            if (to >= end)
                break;
            span = join_block_after(args->before, spans, span, args->first + to);
        }
    }
}
