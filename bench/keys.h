/* keys.h: the keys of every measurement, ours and the peers', so that all work on the same.
 *
 * A key is a bijection of its index (the finalisers of MurmurHash3), so keys are distinct and look random,
 * and indices from n on give keys that are not in a table of the first n. Queries visit the keys in another
 * order than inserts did. */
#ifndef COHORT_BENCH_KEYS_H
#define COHORT_BENCH_KEYS_H

#include <stdint.h>

#ifndef BENCH_INLINE /* peers' programs that make their keys elsewhere say how functions get there */
#    define BENCH_INLINE static inline
#endif

__extension__ typedef unsigned __int128 bench_wide;

BENCH_INLINE uint64_t bench_mix_64(uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

BENCH_INLINE uint32_t bench_mix_32(uint32_t h)
{
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h ^ (h >> 16);
}

/* The key of index i, of 4 or 8 bytes, or the low word of one of 16; distinct below 2^32 indices where it has
 * 4. */
BENCH_INLINE uint64_t bench_key(uint64_t i, unsigned key_bytes)
{
    uint64_t x = i + 0x51ed270b;
    return key_bytes == 4 ? bench_mix_32((uint32_t)x) : bench_mix_64(x);
}

/* A key of 16 bytes has that of 8 as its low word, and this one as its high word. */
BENCH_INLINE uint64_t bench_key_high(uint64_t i)
{
    return bench_mix_64(i + 0x3c6ef372);
}

/* The value that goes in with the key of index i: never zero. */
BENCH_INLINE uint64_t bench_value(uint64_t i)
{
    return (i * 0x9e3779b97f4a7c15ull) | 1;
}

/* An odd step near the golden section of n that shares no factor with it. */
BENCH_INLINE uint64_t bench_step(uint64_t n)
{
    uint64_t step = (uint64_t)((double)n * 0.6180339887) | 1;
    for (;; step += 2) {
        uint64_t a = n, b = step % n;
        while (b) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return step;
    }
}

/* Entry i of a visit of all n in another order; step is bench_step(n). */
BENCH_INLINE uint64_t bench_other(uint64_t i, uint64_t n, uint64_t step)
{
    return (uint64_t)(((bench_wide)i * step + n / 3) % n);
}

#endif
