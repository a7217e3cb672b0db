/* table_inputs.h: the rows of `bench table`, after the shapes of db-benchmark (H2O's, now DuckDB's), made
 * anew: every value is a function of its row, so that peers (bench/peers/peer_tables.py) make the same tables
 * in their own forms.
 *
 * Groups: id1, id2, id4, id5 of K values, id3, id6 of N / K; id1 to id3 are strings. v1 is 1 to 5, v2 1 to
 * 15, v3 up to 100 with six decimals. Joins: x of N rows against tables of N / 10^6, N / 10^3 and N rows (10
 * at least), whose keys are unique; nine tenths of the keys of either side are on both. id1 to id3 are
 * integers, id4 to id6 the same as strings.
 *
 * A value of 0 is null. Numbers of strings are what stands behind "id". */
#ifndef COHORT_BENCH_TABLE_INPUTS_H
#define COHORT_BENCH_TABLE_INPUTS_H

#include "keys.h"

typedef struct table_shape {
    uint64_t n, k;
    int sorted, nulls, utf8;
} table_shape;

/* Word `stream` of row i, and whether one of twenty of them is to be null. */
BENCH_INLINE uint64_t table_hash(uint64_t i, uint64_t stream)
{
    return bench_mix_64(i * 32 + stream + 108);
}

BENCH_INLINE int table_is_null(uint64_t i, uint64_t stream)
{
    return table_hash(i, stream + 16) % 20 == 0;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* How many values id`id` has: 1 to 6. */
BENCH_INLINE uint64_t table_values(const table_shape *s, unsigned id)
{
    uint64_t many = s->n / s->k ? s->n / s->k : 1;
    return id == 3 || id == 6 ? many : s->k;
}

/* Rows in the order of id1, id2, id3. */
BENCH_INLINE uint64_t table_sorted_id(const table_shape *s, uint64_t i, unsigned id)
{
    uint64_t k = s->k, each = s->n / k / k ? s->n / k / k : 1, pair = i / each, j = i % each;
    uint64_t many = table_values(s, 3);
    pair = pair < k * k ? pair : k * k - 1;
    if (id == 1)
        return pair / k + 1;
    if (id == 2)
        return pair % k + 1;
    return (j * many + table_hash(i, 3) % many) / each % many + 1;
}

BENCH_INLINE uint64_t table_id(const table_shape *s, uint64_t i, unsigned id)
{
    uint64_t value =
        s->sorted && id <= 3 ? table_sorted_id(s, i, id) : table_hash(i, id) % table_values(s, id) + 1;
    return s->nulls && table_is_null(value, id) ? 0 : value;
}

/* v1 and v2 as they are, v3 times 10^6; one more than that, 0 being null. */
BENCH_INLINE uint64_t table_value(const table_shape *s, uint64_t i, unsigned v)
{
    static const uint64_t range[] = {0, 5, 15, 100000000};
    if (s->nulls && table_is_null(i, 6 + v))
        return 0;
    return table_hash(i, 6 + v) % range[v] + (v < 3) + 1;
}

/* ---- joins --------------------------------------------------------------------------------------------- */

BENCH_INLINE uint64_t table_size(const table_shape *s, unsigned id)
{
    uint64_t n = id == 1 ? s->n / 1000000 : id == 2 ? s->n / 1000 : s->n;
    return n < 10 ? 10 : n / 10 * 10;
}

/* A permutation of [0, n), of four rounds over as many bits as it takes, again until what comes is below
 * n. */
BENCH_INLINE uint64_t table_shuffled(uint64_t i, uint64_t n, uint64_t stream)
{
    unsigned half = 1;
    while (n > UINT64_C(1) << 2 * half)
        half++;
    uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t next = left ^ (table_hash(right, stream + round) & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}

/* Key number e of the n of a side: of eleven keys nine are on both. */
BENCH_INLINE uint64_t table_key(uint64_t e, int right)
{
    return e / 10 * 11 + (right && e % 10 == 9 ? 10 : e % 10) + 1;
}

/* Column id`id` of x. */
BENCH_INLINE uint64_t table_left(const table_shape *s, uint64_t i, unsigned id)
{
    uint64_t n = table_size(s, id), rows = table_size(s, 3);
    uint64_t e = s->sorted ? (uint64_t)((bench_wide)i * n / rows) : table_hash(i, id) % n;
    if (id == 3)
        e = s->sorted ? i : table_shuffled(i, n, 0);
    return s->nulls && table_is_null(i, id) ? 0 : table_key(e, 0);
}

/* Column id`id` of the table whose own key is id`own`. */
BENCH_INLINE uint64_t table_right(const table_shape *s, uint64_t i, unsigned id, unsigned own)
{
    uint64_t e = id != own   ? table_hash(i + (UINT64_C(1) << 40), id) % table_size(s, id)
                 : s->sorted ? i
                             : table_shuffled(i, table_size(s, own), 4);
    return s->nulls && table_is_null(i, 8 + id) ? 0 : table_key(e, 1);
}

/* v1 of x, v2 of the others. */
BENCH_INLINE uint64_t table_join_value(const table_shape *s, uint64_t i, unsigned v)
{
    return s->nulls && table_is_null(i, 12 + v) ? 0 : table_hash(i, 12 + v) % 100000000 + 1;
}

#endif
