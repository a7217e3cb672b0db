/* cpu/keys_hash.h: what hashes of several words and of bytes are made with. */
#ifndef COHORT_CPU_KEYS_HASH_H
#define COHORT_CPU_KEYS_HASH_H

#include "keys.h"

/* A test build has few: keys collide, and only the comparison of their bytes tells them apart. */
#ifndef KEYS_HASH_BITS
#    define KEYS_HASH_BITS ~0ull
#endif

__extension__ typedef unsigned __int128 keys_product;

/* A product of 128 bits, whose halves are folded. */
static inline uint64_t keys_fold(uint64_t a, uint64_t b)
{
    keys_product p = (keys_product)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

#endif
