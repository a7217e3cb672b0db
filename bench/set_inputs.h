/* set_inputs.h: the made sets of `bench set`, ours and the peers', so that all work on the same. C and
 * C++. */
#ifndef COHORT_BENCH_SET_INPUTS_H
#define COHORT_BENCH_SET_INPUTS_H

#include "keys.h"

enum { SET_CHUNKS_SKEWED = 512, SET_LARGE = 4096 };
enum { SET_MANY = 100000, SET_MANY_EACH = 1000, SET_MANY_UNIVERSE = 1 << 24 };
enum { SET_SMALL = 10000, SET_SMALL_MOST = 200, SET_SMALL_BATCH = 100000 };
enum { SET_TINY_MOST = 4, SET_TINY_UNIVERSE = 1 << 26, SET_TINY_ASKED = 1000 };
enum { SET_VALUES_REAL = 4000, SET_VALUES_SMALL = 400, SET_VALUES_TINY = 8 };
enum { SET_VALUES_SMALL_MANY = 10000, SET_VALUES_TINY_MANY = 100000 };
#define SET_WORKING_LIMIT (UINT64_C(1) << 28) /* members of working sets are below */
enum { SET_UNIVERSE = 10000000, SET_DENSITIES = 7 };

/* One of so many. */
static const uint64_t set_densities_each[SET_DENSITIES] = {2, 10, 100, 1000, 10000, 100000, 1000000};

/* The sizes of what is made: bits of dense sets; members of the set that is looked into, and lookups;
 * unsorted integers; tiny sets; integers of a working set. */
typedef struct set_sizes {
    uint64_t dense_bits, looked_into, lookups, unsorted, tiny, working;
} set_sizes;

static inline set_sizes set_sizes_of(int quick)
{
    set_sizes s;
    s.dense_bits = UINT64_C(1) << (quick ? 28 : 32);
    s.looked_into = quick ? 1000000 : 10000000;
    s.lookups = quick ? 1000000 : 10000000;
    s.unsorted = quick ? 10000000 : 100000000;
    s.tiny = quick ? 100000 : 1925630;
    s.working = quick ? 1000000 : 10000000;
    return s;
}

/* 64 bits of dense set number `set`, half of them 1. */
BENCH_INLINE uint64_t set_dense_word(uint64_t set, uint64_t word)
{
    return bench_mix_64(word * 2 + set + 0x1234567);
}

/* `count` members of a chunk, ascending: one in each of as many equal parts, or drawn, every value alike. */
BENCH_INLINE void set_chunk_members(int drawn, uint64_t set, uint64_t chunk, uint64_t count, uint32_t *to)
{
    uint64_t each = 65536 / count, seed = set << 50 ^ chunk << 20;
    if (!drawn)
        for (uint64_t i = 0; i < count; i++)
            to[i] = (uint32_t)(chunk << 16 | (i * each + bench_mix_64(seed ^ i) % each));
    for (uint64_t value = 0, i = 0; drawn && i < count; value++)
        if ((bench_mix_64(~seed ^ value) >> 32) * (65536 - value) >> 32 < count - i)
            to[i++] = (uint32_t)(chunk << 16 | value);
}

/* Whether a lookup's value is a member: every second is. */
BENCH_INLINE uint32_t set_lookup(uint64_t i, uint64_t n, uint64_t step)
{
    return (uint32_t)bench_key(bench_other(i % n, n, step) + (i & 1 ? n : 0), 4);
}

/* A value that is asked for in dense sets. */
BENCH_INLINE uint64_t set_dense_lookup(uint64_t i, uint64_t bits)
{
    return bench_mix_64(i + 0x77777) % bits;
}

/* Member i of one of many sets, ascending; the set and the value of a lookup, every second a hit. */
BENCH_INLINE uint32_t set_many_member(uint64_t set, uint64_t i)
{
    uint64_t each = SET_MANY_UNIVERSE / SET_MANY_EACH;
    return (uint32_t)(i * each + bench_mix_64(set << 20 ^ i) % each);
}
BENCH_INLINE uint64_t set_many_which(uint64_t i)
{
    return bench_mix_64(i) % SET_MANY;
}
BENCH_INLINE uint32_t set_many_lookup(uint64_t i)
{
    uint64_t draw = bench_mix_64(~i);
    return i & 1 ? (uint32_t)(draw % SET_MANY_UNIVERSE)
                 : set_many_member(set_many_which(i), draw % SET_MANY_EACH);
}

/* A small set, ascending: 1 to SET_SMALL_MOST members below 2^20. How many. */
static inline uint64_t set_small_fill(uint64_t set, uint32_t *to)
{
    uint64_t n = 1 + bench_mix_64(set) % SET_SMALL_MOST, each = (1 << 20) / n;
    for (uint64_t i = 0; i < n; i++)
        to[i] = (uint32_t)(i * each + bench_mix_64(set << 32 ^ i) % each);
    return n;
}

/* A tiny set, in no order: 1 to SET_TINY_MOST members, 2.3 on average. How many. */
static inline uint64_t set_tiny_fill(uint64_t set, uint32_t *to)
{
    static const uint8_t sizes[10] = {1, 1, 2, 2, 2, 2, 2, 3, 4, 4};
    uint64_t n = sizes[bench_mix_64(set) % 10];
    for (uint64_t i = 0; i < n; i++)
        to[i] = (uint32_t)(bench_mix_64(set << 8 ^ i ^ UINT64_C(1) << 60) % SET_TINY_UNIVERSE);
    return n;
}

/* A value of which it is asked which sets contain it, below `most`; of real sets the number of a member. */
BENCH_INLINE uint64_t set_asked_value(uint64_t i, uint64_t most)
{
    return bench_mix_64(i ^ UINT64_C(1) << 61) % most;
}

/* Integer i of working set 0 or 1, in no order. */
BENCH_INLINE uint64_t set_working_member(uint64_t set, uint64_t i)
{
    return bench_mix_64(i ^ (set + 1) << 56) % SET_WORKING_LIMIT;
}

/* Operand i of a batch: two a row. */
BENCH_INLINE uint64_t set_small_operand(uint64_t i)
{
    return bench_mix_64(i * 3 + 1) % SET_SMALL;
}

/* Member i of set 0 or 1, ascending: one in each piece of `each`. */
BENCH_INLINE uint32_t set_even_member(uint64_t set, uint64_t each, uint64_t i)
{
    return (uint32_t)(i * each + bench_mix_64(set << 40 ^ i) % each);
}

#endif
