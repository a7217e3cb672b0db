/* inputs.h: keys for multisplits and sorts, ours and the peers', so that all work on the same.
 *
 * What decides is a key's upper 32 bits: m buckets are the ranges of ceil(2^32 / m) of them, which are the
 * topmost bits where m is a power of two. A key of 8 bytes has random lower bits. Inputs:
 *
 *   uniform   random and, with 4 bytes, distinct keys
 *   skewed    nine keys of ten in one bucket, at random places, the rest uniform
 *   binomial  the bucket is the number of heads in m - 1 throws of a coin
 *   equal     one key
 *   sorted    rising keys, spread over all that there are
 *
 * Patterns are small numbers as tables have them. Their bucket is the key modulo m: the lowest bits where m
 * is a power of two.
 *
 *   ascending, descending         0 to n - 1, and back
 *   stride-16, stride-256         the multiples of 16, of 256
 *   values-100, values-1000000    at random one of so many
 *   cycle-1000                    0 to 999, again and again
 *   steps-64                      each number 64 times, one after the other
 *   nearly-sorted                 ascending, but one of 100 is at random below n */
#ifndef COHORT_BENCH_INPUTS_H
#define COHORT_BENCH_INPUTS_H

#include <math.h>

#include "keys.h"

typedef enum bench_input {
    INPUT_UNIFORM,
    INPUT_SKEWED,
    INPUT_BINOMIAL,
    INPUT_EQUAL,
    INPUT_SORTED,
    INPUT_ASCENDING, /* from here on patterns */
    INPUT_DESCENDING,
    INPUT_STRIDE_16,
    INPUT_STRIDE_256,
    INPUT_VALUES_100,
    INPUT_VALUES_1000000,
    INPUT_CYCLE_1000,
    INPUT_STEPS_64,
    INPUT_NEARLY_SORTED,
    INPUTS
} bench_input;

#define BENCH_PATTERNS \
    "ascending,descending,stride-16,stride-256,values-100,values-1000000,cycle-1000,steps-64,nearly-sorted"
static const char *const bench_input_names[INPUTS] = {
    "uniform",   "skewed",     "binomial",   "equal",          "sorted",     "ascending", "descending",
    "stride-16", "stride-256", "values-100", "values-1000000", "cycle-1000", "steps-64",  "nearly-sorted"};

enum { BENCH_LAW = 65536 };

typedef struct bench_keys {
    bench_input input;
    unsigned key_bytes; /* 4 or 8 */
    uint64_t n, buckets;
    const uint16_t *law; /* BINOMIAL: a bucket for each 16-bit number; bench_binomial makes it */
} bench_keys;

/* Upper halves of keys in one bucket. */
BENCH_INLINE uint64_t bench_range(uint64_t buckets)
{
    return ((UINT64_C(1) << 32) + buckets - 1) / buckets;
}

BENCH_INLINE uint32_t bench_bucket(uint64_t key, unsigned key_bytes, uint64_t buckets)
{
    return (uint32_t)((key_bytes == 8 ? key >> 32 : key) / bench_range(buckets));
}

BENCH_INLINE int bench_is_pattern(bench_input input)
{
    return input >= INPUT_ASCENDING;
}

BENCH_INLINE uint32_t bench_keys_bucket(const bench_keys *k, uint64_t key)
{
    return bench_is_pattern(k->input) ? (uint32_t)(key % k->buckets)
                                      : bench_bucket(key, k->key_bytes, k->buckets);
}

BENCH_INLINE uint64_t bench_pattern_key(const bench_keys *k, uint64_t i, uint64_t random)
{
    switch (k->input) {
    case INPUT_DESCENDING:
        return k->n - 1 - i;
    case INPUT_STRIDE_16:
        return i * 16;
    case INPUT_STRIDE_256:
        return i * 256;
    case INPUT_VALUES_100:
        return random % 100;
    case INPUT_VALUES_1000000:
        return random % 1000000;
    case INPUT_CYCLE_1000:
        return i % 1000;
    case INPUT_STEPS_64:
        return i / 64;
    case INPUT_NEARLY_SORTED:
        return random % 100 ? i : (random >> 16) % k->n;
    default:
        return i;
    }
}

BENCH_INLINE uint64_t bench_input_key(const bench_keys *k, uint64_t i)
{
    uint64_t random = bench_mix_64(i + 0x2545f491), upper, range;
    if (bench_is_pattern(k->input)) {
        upper = bench_pattern_key(k, i, random);
        return k->key_bytes == 8 ? upper : (uint32_t)upper;
    }
    switch (k->input) {
    case INPUT_UNIFORM:
        return bench_key(i, k->key_bytes);
    case INPUT_SKEWED:
        upper = random % 10 ? 0x5a5a5a00 | random >> 56 : random >> 32;
        break;
    case INPUT_BINOMIAL:
        range = bench_range(k->buckets);
        upper = k->law[random & (BENCH_LAW - 1)] * range + (random >> 32) % range;
        upper = upper < UINT32_MAX ? upper : UINT32_MAX; /* the last bucket may be a narrow one */
        break;
    case INPUT_EQUAL:
        return k->key_bytes == 8 ? 0x5a5a5a5a5a5a5a5a : 0x5a5a5a5a;
    default:
        upper = (uint64_t)(((bench_wide)i << 32) / k->n);
        return k->key_bytes == 8 ? (uint64_t)(((bench_wide)i << 64) / k->n) : upper;
    }
    return k->key_bytes == 8 ? upper << 32 | (bench_mix_32((uint32_t)i) & UINT32_MAX) : upper;
}

/* The binomial distribution of m - 1 throws, by its inverse at BENCH_LAW places. */
static inline void bench_binomial(uint16_t law[BENCH_LAW], uint64_t buckets)
{
    double throws = (double)buckets - 1, below = 0, here = exp(-throws * log(2)), b = 0;
    double whole = lgamma(throws + 1) - throws * log(2);
    for (int i = 0; i < BENCH_LAW; i++) {
        while (below + here < (i + 0.5) / (double)BENCH_LAW && b < throws) {
            below += here;
            b++;
            here = exp(whole - lgamma(b + 1) - lgamma(throws - b + 1));
        }
        law[i] = (uint16_t)b;
    }
}

#endif
