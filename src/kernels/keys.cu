/* keys.cu: rows of key columns as words, and tables that number them. A lane a row, or a warp on 256.
 *
 * A table is open addressing with linear probing. A round of rows goes over it in launches, so that each
 * finds done what it builds on. First every row looks its word up; an empty slot is claimed by
 * compare-and-swap of the key, and the slot's row lowered to the least that had it. Whatever lane claimed it,
 * the least row of a key is its first. Then rows say whether they are first rows of slots that have no id:
 * bits, counted by 256 rows, summed up by a scan. So each first row knows how many are before it, which is
 * its key's number, and writes it to the slot, from where in the end all rows take it. */
#include "cohort/device/hash.h"
#include "keys_value.h"

CO_KERNEL(keys_words, struct keys_words_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        if (i >= args->n)
            continue;
        co_u32 own, state = 0;
        co_u64 value = keys_value(&args->column, i, &own), word = 0;
        if (!args->first) {
            word = co_read64(args->words + i);
            state = co_read8(args->states + i);
        }
        if (args->how == KEYS_ALONE) {
            word = value;
            state = own;
        } else if (args->how == KEYS_SKIP) {
            state = own ? (co_u32)KEYS_NONE : state;
        } else {
            co_u64 code = value - args->base;
            if (own == KEYS_NONE || (!own && code > args->span))
                state = KEYS_NONE;
            word |= (own == KEYS_NULL ? 0 : code + 1) << args->shift;
        }
        co_write64(args->words + i, word);
        if (args->states)
            co_write8(args->states + i, (co_u8)state);
    }
}

CO_KERNEL(keys_range, struct keys_range_step)
{
    co_u64 low = ~0ull, high = 0, any = 0;
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u32 state = KEYS_NONE;
        co_u64 value = i < args->n ? keys_value(&args->column, i, &state) ^ args->turn : 0;
        if (state)
            continue;
        low = value < low ? value : low;
        high = value > high ? value : high;
        any = 1;
    }
    low = co_warp_min(low);
    high = co_warp_max(high);
    any = co_warp_max(any);
    if (co_lane() || !any)
        return;
    co_min64(&args->found->low, low);
    co_max64(&args->found->high, high);
    co_max64(&args->found->any, any);
}

/* ---- slots --------------------------------------------------------------------------------------------- */

CO_INLINE co_u64 keys_begin(co_u64 word, co_u64 seed, co_u64 capacity)
{
    return (co_hash(word, seed) >> 32) * capacity >> 32;
}

CO_INLINE co_u64 keys_next(co_u64 slot, co_u64 capacity)
{
    return slot + 1 < capacity ? slot + 1 : 0;
}

/* The slot of a word, which is claimed if it has none. There are always empty ones. */
CO_INLINE co_u64 keys_claim(struct keys_cell *cell, co_u64 capacity, co_u64 seed, co_u64 word)
{
    if (word == KEYS_EMPTY)
        return capacity + 1;
    for (co_u64 at = keys_begin(word, seed, capacity);; at = keys_next(at, capacity)) {
        co_u64 key = co_load64(&cell[at].key);
        if (key == KEYS_EMPTY)
            key = co_cas64(&cell[at].key, KEYS_EMPTY, word);
        if (key == KEYS_EMPTY || key == word)
            return at;
    }
}

CO_INLINE co_u32 keys_state_of(const struct keys_round *r, co_u64 i)
{
    return r->states ? co_read8(r->states + i) : (co_u32)KEYS_VALUE;
}

CO_KERNEL(keys_claim_rows, struct keys_round)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        if (i >= args->n)
            continue;
        co_u32 state = keys_state_of(args, i);
        if (state == KEYS_NONE) {
            co_write32(args->ids + i, KEYS_NO_ID);
            continue;
        }
        co_u64 at = state == KEYS_NULL
                        ? args->capacity
                        : keys_claim(args->cell, args->capacity, args->seed, co_read64(args->words + i));
        if (co_load32(&args->cell[at].row) > i)
            co_min32(&args->cell[at].row, (co_u32)i);
        co_write32(args->ids + i, (co_u32)at);
    }
}

/* A warp on a bite of rows. */
#define KEYS_EACH_BITE(b, n)                                                \
    for (co_u64 b = ((co_u64)co_block() * co_threads() + co_thread()) / 32, \
                bites_ = ((n) + KEYS_BITE - 1) / KEYS_BITE;                 \
         b < bites_; b += (co_u64)co_blocks() * (co_threads() / 32))

CO_KERNEL(keys_first_rows, struct keys_round)
{
    KEYS_EACH_BITE(b, args->n)
    {
        co_u32 count = 0;
        for (co_u32 k = 0; k < KEYS_BITE / 32; k++) {
            co_u64 i = b * KEYS_BITE + k * 32 + co_lane();
            co_u32 at = i < args->n ? co_read32(args->ids + i) : KEYS_NO_ID;
            int is_first = at != KEYS_NO_ID && co_read32(&args->cell[at].row) == i &&
                           co_read32(&args->cell[at].id) == KEYS_NO_ID;
            co_u32 bits = co_ballot(CO_FULL_WARP, is_first);
            if (co_lane() == 0)
                co_write32(args->bits + b * (KEYS_BITE / 32) + k, bits);
            count += co_ones32(bits);
        }
        if (co_lane() == 0)
            co_write64(args->before + b, count);
    }
}

CO_KERNEL(keys_number_rows, struct keys_round)
{
    KEYS_EACH_BITE(b, args->n)
    {
        co_u64 before = co_read64(args->before + b);
        for (co_u32 k = 0; k < KEYS_BITE / 32; k++) {
            co_u64 i = b * KEYS_BITE + k * 32 + co_lane();
            co_u32 bits = co_read32(args->bits + b * (KEYS_BITE / 32) + k);
            co_u64 number = before + co_ones32(bits & ((1u << co_lane()) - 1));
            before += co_ones32(bits);
            if (!(bits >> co_lane() & 1))
                continue;
            co_write32(&args->cell[co_read32(args->ids + i)].id, (co_u32)(args->count + number));
            if (args->first)
                co_write64(args->first + number, args->begin + i);
        }
    }
}

CO_KERNEL(keys_give_ids, struct keys_round)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u32 at = i < args->n ? co_read32(args->ids + i) : KEYS_NO_ID;
        if (at != KEYS_NO_ID)
            co_write32(args->ids + i, co_read32(&args->cell[at].id));
    }
}

CO_INLINE co_u32 keys_find_word(const struct keys_round *r, co_u64 word)
{
    if (word == KEYS_EMPTY)
        return co_read32(&r->cell[r->capacity + 1].id);
    for (co_u64 at = keys_begin(word, r->seed, r->capacity);; at = keys_next(at, r->capacity)) {
        co_u64 key = co_read64(&r->cell[at].key);
        if (key == word)
            return co_read32(&r->cell[at].id);
        if (key == KEYS_EMPTY)
            return KEYS_NO_ID;
    }
}

/* An id of a round that was broken off is none. */
CO_INLINE co_u32 keys_known(const struct keys_round *r, co_u32 id)
{
    return id < r->count ? id : KEYS_NO_ID;
}

CO_KERNEL(keys_find_rows, struct keys_round)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        if (i >= args->n)
            continue;
        co_u32 state = keys_state_of(args, i);
        co_u32 id = state == KEYS_NONE   ? KEYS_NO_ID
                    : state == KEYS_NULL ? co_read32(&args->cell[args->capacity].id)
                                         : keys_find_word(args, co_read64(args->words + i));
        co_write32(args->ids + i, keys_known(args, id));
    }
}

CO_KERNEL(keys_rehash, struct keys_rehash_step)
{
    const co_u64 cells = args->from_capacity + KEYS_ODD;
    CO_EACH_WARP (base, cells) {
        co_u64 i = base + co_lane();
        if (i >= cells)
            continue;
        co_u64 at = args->to_capacity + i - args->from_capacity;
        co_u32 id = co_read32(&args->from[i].id);
        if (id >= args->count)
            continue;
        if (i < args->from_capacity)
            at = keys_claim(args->to, args->to_capacity, args->seed, co_read64(&args->from[i].key));
        co_write32(&args->to[at].id, id);
    }
}

CO_KERNEL(keys_list, struct keys_list_step)
{
    const co_u64 cells = args->capacity + KEYS_ODD;
    CO_EACH_WARP (base, cells) {
        co_u64 i = base + co_lane();
        co_u32 id = i < cells ? co_read32(&args->cell[i].id) : KEYS_NO_ID;
        if (id >= args->count)
            continue;
        co_write64(args->words + id, i < args->capacity    ? co_read64(&args->cell[i].key)
                                     : i == args->capacity ? 0
                                                           : KEYS_EMPTY);
    }
}

CO_KERNEL(keys_unpack, struct keys_unpack_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u64 code = i < args->n ? co_read64(args->words + i) >> args->shift & args->mask : 0;
        co_u32 valid = co_ballot(CO_FULL_WARP, code != 0);
        if (i < args->n)
            co_write64(args->value + i, code ? code - 1 + args->base : 0);
        if (co_lane() == 0)
            co_write32(args->valid + base / 32, valid);
    }
}

/* ---- what is told of ids ------------------------------------------------------------------------------- */

CO_KERNEL(keys_tell_rows, struct keys_tell_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        if (i >= args->n)
            continue;
        co_u32 id = co_read32(args->ids + i);
        co_u64 row = id == KEYS_NO_ID ? ~0ull : co_read64(args->rows + id);
        if (args->bytes == 4)
            co_write32((co_u32 *)args->at + i, (co_u32)row);
        else
            co_write64((co_u64 *)args->at + i, row);
    }
}

/* A lane a byte. */
CO_KERNEL(keys_tell_bits, struct keys_tell_step)
{
    const co_u64 bytes = (args->n + 7) / 8;
    CO_EACH_WARP (base, bytes) {
        co_u64 b = base + co_lane(), end = args->n < 8 * b + 8 ? args->n : 8 * b + 8;
        co_u32 byte = 0;
        if (b >= bytes)
            continue;
        for (co_u64 i = 8 * b; i < end; i++)
            byte |= (co_u32)(co_read32(args->ids + i) != KEYS_NO_ID) << (i & 7);
        co_write8(args->bits + b, (co_u8)byte);
    }
}

/* ---- rows by ids --------------------------------------------------------------------------------------- */

CO_KERNEL(keys_count, struct keys_count_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u32 id = i < args->n ? co_read32(args->ids + i) : KEYS_NO_ID;
        if (id != KEYS_NO_ID)
            co_add64(args->counts + id, 1);
    }
}

/* A block's counts go to the others' at its end. */
CO_KERNEL(keys_count_few, struct keys_count_step)
{
    CO_SHARED_DYNAMIC(co_u32, own);
    const co_u32 places = args->places, all = (co_u32)args->groups * places;
    for (co_u32 k = co_thread(); k < all; k += co_threads())
        co_write32(own + k, 0);
    co_block_sync();
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u32 id = i < args->n ? co_read32(args->ids + i) : KEYS_NO_ID;
        if (id != KEYS_NO_ID)
            co_add32(own + id * places + (co_lane() & (places - 1)), 1);
    }
    co_block_sync();
    for (co_u32 id = co_thread(); id < args->groups; id += co_threads()) {
        co_u64 count = 0;
        for (co_u32 k = 0; k < places; k++)
            count += co_read32(own + id * places + k);
        if (count)
            co_add64(args->counts + id, count);
    }
}

/* ---- order --------------------------------------------------------------------------------------------- */

CO_KERNEL(keys_ranks, struct keys_rank_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u32 state;
        if (i >= args->n)
            continue;
        co_u64 word = keys_value(&args->column, args->order ? co_read32(args->order + i) : i, &state);
        co_write64(args->words + i, state ? 0 : keys_rank_of(args->kind, args->bytes, word));
        if (args->nulls)
            co_write32(args->nulls + i, state != KEYS_VALUE);
    }
}

/* ---- values of dictionaries ---------------------------------------------------------------------------- */

CO_KERNEL(keys_decode, struct keys_decode_step)
{
    co_u64 nulls = 0;
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane(), word = 0;
        co_u32 state = KEYS_NULL;
        int active = i < args->n;
        if (active)
            word = keys_value(&args->column, i, &state);
        keys_put(args->to, args->width, args->validity, base, active, !state, state ? 0 : word);
        nulls += active && state;
    }
    nulls = co_warp_sum(nulls);
    if (co_lane() == 0 && nulls)
        co_add64(args->nulls, nulls);
}
