/* shape/bits.h: bitmaps: bytes, the least significant bit first, which begin at any bit of any address.
 * Plain C, seen by the API, by both backends and by the kernels.
 *
 * No byte is read or written that has none of the bits. Where a bitmap is written, the bits before its
 * first one, in the same byte, stay as they are; those behind its last one, in the same byte, become 0. So
 * a byte is read before it is written only where a bitmap begins inside it. */
#ifndef COHORT_SHAPE_BITS_H
#define COHORT_SHAPE_BITS_H

#include "cohort/device/lane.h"

/* Bytes that n bits from bit `first` (0 to 7) of a byte on lie in. */
CO_INLINE co_u64 bits_bytes(co_u64 first, co_u64 n)
{
    return n ? n / 8 + (first + n % 8 + 7) / 8 : 0;
}

/* Up to 32 bits from bit `at` on, the first one lowest. */
CO_INLINE co_u32 bits_get(const co_u8 *bits, co_u64 at, co_u32 count)
{
    const co_u8 *from = bits + at / 8;
    const co_u32 shift = (co_u32)(at & 7);
    co_u64 word = 0;
    for (co_u32 k = 0; 8 * k < shift + count; k++)
        word |= (co_u64)co_read8(from + k) << 8 * k;
    return (co_u32)(word >> shift & ((1ull << count) - 1));
}

/* The same, written: the lowest `count` bits of `word`. */
CO_INLINE void bits_put(co_u8 *bits, co_u64 at, co_u32 count, co_u32 word)
{
    co_u8 *to = bits + at / 8;
    const co_u32 shift = (co_u32)(at & 7);
    const co_u64 all = ((co_u64)word & ((1ull << count) - 1)) << shift;
    for (co_u32 k = 0; 8 * k < shift + count; k++) {
        co_u32 byte = (co_u32)(all >> 8 * k) & 0xff;
        if (!k && shift)
            byte |= co_read8(to) & ((1u << shift) - 1);
        co_write8(to + k, (co_u8)byte);
    }
}

/* ---- bitmaps aligned to words, of n bits that begin at the first -------------------------------------- */

/* Bits base to base + 31, a multiple of 32, as far as there are any. */
CO_INLINE co_u32 bits_word(const co_u32 *bits, co_u64 base, co_u64 n)
{
    return n - base >= 32 ? co_read32(bits + base / 32)
                          : bits_get((const co_u8 *)bits, base, (co_u32)(n - base));
}

CO_INLINE void bits_put_word(co_u32 *bits, co_u64 base, co_u64 n, co_u32 word)
{
    if (n - base >= 32)
        co_write32(bits + base / 32, word);
    else
        bits_put((co_u8 *)bits, base, (co_u32)(n - base), word);
}

#endif
