/* sort_width.h: sorting by arrays of one width. Read by sort.cu once for each; the parameter is that of
 * chunk_width.h, and SORT_ITEMS and SORT_ITEMS_COLUMNS. */
#include "chunk_width.h"

/* Floats: all bits of negative ones are turned over, of others the sign. */
CO_INLINE WORD NAME(sort_number)(co_u32 order, co_u32 descending, WORD key)
{
    const WORD sign = (WORD)1 << (WIDTH - 1);
    if (order == SORT_I32 || order == SORT_I64)
        key ^= sign;
    if (order == SORT_F32 || order == SORT_F64)
        key ^= key & sign ? (WORD) ~(WORD)0 : sign;
    return descending ? (WORD)~key : key;
}

CO_INLINE WORD NAME(sort_key)(co_u32 order, co_u32 descending, WORD number)
{
    const WORD sign = (WORD)1 << (WIDTH - 1);
    WORD key = descending ? (WORD)~number : number;
    if (order == SORT_I32 || order == SORT_I64)
        key ^= sign;
    if (order == SORT_F32 || order == SORT_F64)
        key ^= key & sign ? sign : (WORD) ~(WORD)0;
    return key;
}

CO_INLINE co_u32 NAME(sort_digit)(WORD number, co_u32 shift, co_u32 mask)
{
    return (co_u32)(number >> shift) & mask;
}

/* ---- how many entries have each digit, of all passes --------------------------------------------------- */

/* A digit of each pass of a chunk's entries. all: all of them are there. */
CO_INLINE void NAME(sort_count_chunk)(const struct sort_count_step *s, co_u32 *bins, co_u128 raw,
                                      co_u64 place, int all)
{
    WORD v[EACH];
    NAME(chunk_entries)(raw, v);
    CO_EACH_ITEM (k, EACH) {
        if (s->by_keys)
            v[k] = NAME(sort_number)(s->order, s->descending, v[k]);
    }
    for (co_u32 p = 0; p < s->passes; p++) {
        CO_EACH_ITEM (k, EACH) {
            if (all || place + k - s->lead < s->n)
                co_add32(bins + p * SORT_DIGITS + NAME(sort_digit)(v[k], s->shift[p], s->mask[p]), 1);
        }
    }
}

CO_KERNEL(NAME(sort_count), struct sort_count_step)
{
    CO_SHARED(co_u32, bins, SORT_COUNTED * SORT_DIGITS);
    const co_u64 turn = (co_u64)co_threads() * SORT_CHUNKS * EACH, places = args->lead + args->n;
    for (co_u32 b = co_thread(); b < args->passes * SORT_DIGITS; b += co_threads())
        co_write32(bins + b, 0);
    co_block_sync();
    for (co_u64 begin = co_block() * turn; begin < places; begin += co_blocks() * turn) {
        co_u128 raw[SORT_CHUNKS];
        co_u64 first = begin + co_thread() * EACH;
        int whole = begin >= args->lead && begin + turn <= places;
        CO_EACH_ITEM (c, SORT_CHUNKS)
            raw[c] = NAME(chunk_read)((const WORD *)args->keys, args->n, args->lead,
                                      first + c * co_threads() * EACH, whole);
        CO_EACH_ITEM (c, SORT_CHUNKS)
            NAME(sort_count_chunk)(args, bins, raw[c], first + c * co_threads() * EACH, whole);
    }
    co_block_sync();
    for (co_u32 b = co_thread(); b < args->passes * SORT_DIGITS; b += co_threads()) {
        co_u32 many = co_read32(bins + b);
        if (many)
            co_add64(args->bins + b, many);
    }
}

/* ---- a pass -------------------------------------------------------------------------------------------- */

/* What comes from the user's array becomes numbers, and stays behind where there is nothing. */
CO_INLINE void NAME(sort_first)(const struct sort_step *s, const struct sort_tile *r, WORD *v, co_u32 items)
{
    if (!s->by_keys || !co_read32(&s->plan->first))
        return;
    CO_EACH_ITEM (j, items) {
        WORD number = NAME(sort_number)(s->order, s->descending, v[j]);
        v[j] = co_warp() * 32 * items + co_lane() + j * 32 < r->count ? number : (WORD) ~(WORD)0;
    }
}

/* The lane's numbers: a row of 32 after the other of the warp's stretch. Behind the array there are only
 * ones, which stay behind. */
CO_INLINE void NAME(sort_fetch)(const struct sort_step *s, const struct sort_tile *r, const WORD *from,
                                WORD *v, co_u32 items)
{
    const WORD *at = from + r->first + co_warp() * 32 * items + co_lane();
    if (r->count == r->size) {
        CO_EACH_ITEM (j, items)
            v[j] = READ_STREAM(at + j * 32);
    } else {
        CO_EACH_ITEM (j, items) {
            v[j] = (WORD) ~(WORD)0;
            if (co_warp() * 32 * items + co_lane() + j * 32 < r->count)
                v[j] = READ_STREAM(at + j * 32);
        }
    }
    NAME(sort_first)(s, r, v, items);
}

CO_INLINE void NAME(sort_count_tile)(const struct sort_step *s, const struct sort_tile *r, const WORD *v,
                                     co_u32 items)
{
    CO_EACH_ITEM (j, items)
        co_add32(sort_counter(r, NAME(sort_digit)(v[j], s->shift, s->mask)), 1);
}

/* Two places a word: in registers, or with `step` in shared memory, so many words from one to the next. */
CO_INLINE void NAME(sort_keep_place)(co_u32 *places, co_u32 step, co_u32 *two, co_u32 j, co_u32 place,
                                     co_u32 items)
{
    *two = j % 2 ? *two | place << 16 : place;
    if (!step)
        places[j / 2] = *two;
    else if (j % 2 || j + 1 == items)
        co_write32(places + j / 2 * step, *two);
}

/* Counters hold where the warp's next entry of a digit goes in the tile. Lanes with the same digit are found
 * by votes; the first of them moves the counter on. The numbers go to their places; `places` keeps them, if
 * there are columns. */
CO_INLINE void NAME(sort_rank)(const struct sort_step *s, const struct sort_tile *r, const WORD *v,
                               co_u32 *places, co_u32 step, co_u32 items)
{
    co_u32 before = (1u << co_lane()) - 1, two = 0;
    CO_EACH_ITEM (j, items) {
        co_u32 digit = NAME(sort_digit)(v[j], s->shift_again, s->mask);
        co_u32 same = co_match_bits(digit, SORT_DIGIT_BITS);
        co_u32 next = co_read32(sort_counter(r, digit)), lower = same & before;
        co_u32 place = next + co_ones32(lower);
        co_warp_sync(CO_FULL_WARP);
        if (!lower)
            co_write32(sort_counter(r, digit), next + co_ones32(same));
        co_warp_sync(CO_FULL_WARP);
        WRITE((WORD *)(void *)r->stage + place, v[j]);
        if (places)
            NAME(sort_keep_place)(places, step, &two, j, place, items);
    }
}

/* Place by place, side by side. last, whole: literals, of most tiles. The lane's part of an address is added
 * once: what is left takes two instructions a place. Of a pair `digits` keeps the digits of the places, four
 * a word. */
CO_INLINE void NAME(sort_write_as)(const struct sort_step *s, const struct sort_tile *r, co_u32 *digits,
                                   co_u32 items, int last, int whole)
{
    WORD *to = (WORD *)sort_to(s, 0) + co_anew32(co_thread());
    co_u32 four = 0;
    CO_EACH_ITEM (j, items) {
        co_u32 place = j * r->threads + co_thread();
        WORD number = READ((const WORD *)(const void *)r->stage + place);
        co_u32 digit = NAME(sort_digit)(number, s->shift, s->mask);
        co_u64 start = co_read64(r->starts + digit);
        four = j % 4 ? four | digit << j % 4 * 8 : digit;
        if (digits && (j % 4 == 3 || j + 1 == items))
            co_write32(digits + j / 4 * r->threads, four);
        if (last)
            number = NAME(sort_key)(s->order, s->descending, number);
        if (!whole && place >= r->count)
            continue;
        WRITE(to + start + j * r->threads, number);
    }
}

CO_INLINE void NAME(sort_write)(const struct sort_step *s, const struct sort_tile *r, co_u32 *digits,
                                co_u32 items)
{
    co_u32 last = s->by_keys && co_read32(&s->plan->last);
    if (r->count < r->size)
        NAME(sort_write_as)(s, r, digits, items, last, 0);
    else if (last)
        NAME(sort_write_as)(s, r, digits, items, 1, 1);
    else
        NAME(sort_write_as)(s, r, digits, items, 0, 1);
}

/* With any columns: `digits` keeps the digits of the places, four a word. */
CO_INLINE void NAME(sort_write_first)(const struct sort_step *s, const struct sort_tile *r, WORD *to,
                                      co_u32 *digits, co_u32 items)
{
    co_u32 last = s->by_keys && co_read32(&s->plan->last);
    CO_EACH_ITEM (j, items) {
        co_u32 place = j * r->threads + co_thread();
        WORD number = READ((const WORD *)(const void *)r->stage + place);
        co_u32 digit = NAME(sort_digit)(number, s->shift, s->mask);
        if (last)
            number = NAME(sort_key)(s->order, s->descending, number);
        if (place < r->count)
            WRITE(to + (co_read64(r->starts + digit) + place), number);
        digits[j / 4] = j % 4 ? digits[j / 4] | digit << j % 4 * 8 : digit;
    }
}

CO_INLINE void NAME(sort_tile)(const struct sort_step *s, co_u8 *memory, co_u32 threads, co_u32 items,
                               co_u32 wide, int columns)
{
    co_u32 places[(SORT_ITEMS_MOST + 1) / 2], digits[(SORT_ITEMS_MOST + 3) / 4];
    WORD v[SORT_ITEMS_MOST];
    struct sort_tile r;
    if (!co_read32(&s->plan->active))
        return;
    sort_begin(s, &r, memory, threads, items, wide, 0);
    NAME(sort_fetch)(s, &r, (const WORD *)sort_from(s, 0), v, items);
    NAME(sort_count_tile)(s, &r, v, items);
    sort_scan(s, &r, 0);
    NAME(sort_rank)(s, &r, v, columns ? places : 0, 0, items);
    sort_resolve(s, &r);
    if (columns)
        NAME(sort_write_first)(s, &r, (WORD *)sort_to(s, 0), digits, items);
    else
        NAME(sort_write)(s, &r, 0, items);
    for (co_u32 a = 1; columns && a < s->arrays; a++)
        sort_column(s, &r, a, places, digits, items);
}

CO_KERNEL_BOUND(NAME(sort_pass), struct sort_step, SORT_THREADS, SORT_BLOCKS)
{
    CO_SHARED_DYNAMIC(co_u8, memory);
    NAME(sort_tile)(args, memory, SORT_THREADS, SORT_ITEMS, EACH == 2 ? 8 : 4, 0);
}

CO_KERNEL_BOUND(NAME(sort_columns), struct sort_step, SORT_THREADS, SORT_BLOCKS)
{
    CO_SHARED_DYNAMIC(co_u8, memory);
    NAME(sort_tile)(args, memory, SORT_THREADS, SORT_ITEMS_COLUMNS, 8, 1);
}

#undef READ_STREAM
#undef SORT_ITEMS
#undef SORT_ITEMS_COLUMNS
#include "chunk_end.h"
