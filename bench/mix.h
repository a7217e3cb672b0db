/* mix.h: streams of mixed operations on a range of keys, ours and the peers', and the check of what was
 * answered.
 *
 * A key of even index is in before the stream begins, one of odd index is not. Operation i has its kind
 * and its key by chance, the key uniformly or by Zipf's law. With as many inserts as erases half of the
 * range is in at every time.
 *
 * The check holds for every order in which the operations may have been done: of each key, what was in
 * before, the inserts that were new and the erases that hit tell what is in at the end; a find that hits
 * answers the key's own value; and a key that nobody puts in or takes out is found always or never. */
#ifndef COHORT_BENCH_MIX_H
#define COHORT_BENCH_MIX_H

#include <stdlib.h>

#include "zipf.h"

enum { MIX_FIND, MIX_INSERT, MIX_ERASE };

typedef enum mix_keys { MIX_ALL, MIX_THERE, MIX_ABSENT } mix_keys; /* of the range; those in; those not in */

typedef struct mix {
    uint64_t n, range;        /* operations, and keys, an even number */
    uint32_t inserts, erases; /* percent; the rest finds */
    mix_keys keys;
    double exponent; /* 0: uniform */
    bench_zipf zipf;
    const uint32_t *drawn; /* mix_index of each operation, which by Zipf's law costs much; NULL: not kept */
} mix;

static inline mix mix_make(uint64_t n, uint64_t range, double exponent)
{
    mix m = {n, range, 0, 0, MIX_ALL, exponent, {0, 0, 0, 0}, NULL};
    if (exponent > 0)
        m.zipf = bench_zipf_make(range, exponent);
    return m;
}

BENCH_INLINE int mix_is_in(uint64_t index)
{
    return !(index & 1);
}

static inline uint64_t mix_index(const mix *m, uint64_t i)
{
    if (m->drawn)
        return m->drawn[i];
    uint64_t at = m->exponent > 0 ? bench_zipf_rank(&m->zipf, i)
                                  : (uint64_t)(((bench_wide)bench_mix_64(i + 0x6a09e667) * m->range) >> 64);
    return m->keys == MIX_ALL ? at : m->keys == MIX_THERE ? at & ~UINT64_C(1) : at | 1;
}

static inline int mix_op(const mix *m, uint64_t i)
{
    uint32_t at = (uint32_t)(bench_mix_64(i + 0xbb67ae85) % 100);
    return at < m->inserts ? MIX_INSERT : at < m->inserts + m->erases ? MIX_ERASE : MIX_FIND;
}

/* What a stream has done to one key. */
typedef struct mix_key {
    int32_t balance; /* 1: it is in */
    uint8_t put, taken;
} mix_key;

typedef struct mix_answers {
    const uint8_t *hit;   /* bit i: the key was in just before operation i */
    const void *values;   /* of a find that hits; of value_bytes */
    const uint8_t *after; /* bit k: the key of index k is in at the end */
    uint64_t size;        /* keys in at the end */
    unsigned value_bytes;
} mix_answers;

static inline int mix_bit(const uint8_t *bits, uint64_t i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

/* Is the value of find i that of its key? */
static inline int mix_value_right(const mix_answers *a, uint64_t i, uint64_t index)
{
    if (a->value_bytes == 4)
        return ((const uint32_t *)a->values)[i] == (uint32_t)bench_value(index);
    return ((const uint64_t *)a->values)[i] == bench_value(index);
}

static inline const char *mix_check_with(const mix *m, const mix_answers *a, mix_key *keys)
{
    uint64_t in = 0;
    for (uint64_t i = 0; i < m->n; i++) {
        const int op = mix_op(m, i), hit = mix_bit(a->hit, i);
        const uint64_t index = mix_index(m, i);
        keys[index].balance += (op == MIX_INSERT && !hit) - (op == MIX_ERASE && hit);
        keys[index].put |= op == MIX_INSERT;
        keys[index].taken |= op == MIX_ERASE;
        if (op == MIX_FIND && hit && !mix_value_right(a, i, index))
            return "a find answered the value of another key";
    }
    for (uint64_t i = 0; i < m->n; i++) {
        const uint64_t index = mix_index(m, i);
        if (mix_op(m, i) != MIX_FIND)
            continue;
        if (mix_bit(a->hit, i) ? !mix_is_in(index) && !keys[index].put
                               : mix_is_in(index) && !keys[index].taken)
            return "a find missed a key that is in, or hit one that is not";
    }
    for (uint64_t k = 0; k < m->range; k++) {
        if (keys[k].balance + mix_is_in(k) != mix_bit(a->after, k))
            return "what is in at the end is not what the inserts and erases told";
        in += (uint64_t)mix_bit(a->after, k);
    }
    return in == a->size ? NULL : "the size is not the number of keys";
}

/* NULL, or what is wrong. */
static inline const char *mix_check(const mix *m, const mix_answers *a)
{
    mix_key *keys = (mix_key *)calloc(m->range, sizeof *keys);
    const char *wrong = keys ? mix_check_with(m, a, keys) : "no memory to check it";
    free(keys);
    return wrong;
}

#endif
