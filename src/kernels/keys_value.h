/* keys_value.h: a row of a key column as a word, and words as a column. Included by keys.cu, join.cu and
 * group.cu. */
#ifndef COHORT_KERNELS_KEYS_VALUE_H
#define COHORT_KERNELS_KEYS_VALUE_H

#include "shape/keys_step.h"

/* Bytes of any number, 1 to 8, that are no number. */
CO_INLINE co_u64 keys_raw(const co_u8 *from, co_u32 bytes)
{
    co_u64 word = 0;
    for (co_u32 k = 0; k < bytes; k++)
        word |= (co_u64)co_read8(from + k) << 8 * k;
    return word;
}

CO_INLINE co_u64 keys_bytes(const struct keys_look *c, co_u64 i)
{
    if (c->bytes == 8)
        return co_read64((const co_u64 *)c->data + i);
    if (c->bytes == 4)
        return co_read32((const co_u32 *)c->data + i);
    if (c->bytes == 2)
        return co_read16((const co_u16 *)c->data + i);
    return co_read8((const co_u8 *)c->data + i);
}

CO_INLINE co_u64 keys_extended(co_u64 word, co_u32 bytes)
{
    const co_u32 above = 64 - 8 * bytes;
    const co_u64 sign = 1ull << (63 - above);
    return (word ^ sign) - sign;
}

/* Exponent all ones and a fraction: a NaN. Only the sign: a zero. */
CO_INLINE co_u64 keys_real(co_u64 word, co_u32 bytes)
{
    const co_u64 sign = 1ull << (8 * bytes - 1), size = word & (sign - 1);
    const co_u64 infinity = bytes == 2 ? 0x7c00 : bytes == 4 ? 0x7f800000u : 0x7ff0000000000000ull;
    const co_u64 nan = bytes == 2 ? 0x7e00 : bytes == 4 ? 0x7fc00000u : 0x7ff8000000000000ull;
    return size > infinity ? nan : size ? word : 0;
}

CO_INLINE co_u64 keys_plain(const struct keys_look *c, co_u64 i)
{
    if (c->kind == KEYS_BITS)
        return (co_u64)table_bit((const co_u8 *)c->data, c->data_bit + i);
    if (c->kind == KEYS_RAW)
        return keys_raw((const co_u8 *)c->data + i * c->bytes, c->bytes);
    co_u64 word = keys_bytes(c, i);
    return c->kind == KEYS_SIGNED  ? keys_extended(word, c->bytes)
           : c->kind == KEYS_FLOAT ? keys_real(word, c->bytes)
                                   : word;
}

/* The word of row i (from c->begin on) and its state, a KEYS_.. Of what is no value the word is 0. */
CO_INLINE co_u64 keys_value(const struct keys_look *c, co_u64 i, co_u32 *state)
{
    i += c->begin;
    *state = c->validity && !table_bit(c->validity, c->validity_bit + i) ? c->null : (co_u32)KEYS_VALUE;
    if (*state)
        return 0;
    co_u64 word = keys_plain(c, i);
    if (c->kind == KEYS_IDS && word == KEYS_NO_ID)
        *state = KEYS_NONE;
    if (c->kind != KEYS_DICTIONARY)
        return word;
    *state = co_read8(c->states + word);
    if (*state)
        *state = *state == KEYS_NULL ? c->null : (co_u32)KEYS_NONE;
    return co_read64(c->words + word);
}

/* The warp together: words of rows base to base + 31 as elements of `width` bytes, 0: bits; and their bits of
 * validity. */
CO_INLINE void keys_put(void *to, co_u32 width, co_u32 *validity, co_u64 base, int active, int valid,
                        co_u64 word)
{
    const co_u64 i = base + co_lane();
    const co_u32 there = co_ballot(CO_FULL_WARP, valid), bits = co_ballot(CO_FULL_WARP, word & 1);
    if (co_lane() == 0)
        co_write32(validity + base / 32, there);
    if (co_lane() == 0 && !width)
        co_write32((co_u32 *)to + base / 32, bits);
    if (!active)
        return;
    if (width == 8)
        co_write64((co_u64 *)to + i, word);
    else if (width == 4)
        co_write32((co_u32 *)to + i, (co_u32)word);
    else if (width == 2)
        co_write16((co_u16 *)to + i, (co_u16)word);
    else
        for (co_u32 k = 0; k < width; k++)
            co_write8((co_u8 *)to + i * width + k, (co_u8)(word >> 8 * k));
}

#endif
