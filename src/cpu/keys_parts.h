/* cpu/keys_parts.h: rows in order of the parts of a table: runs of slots that stay in a nearer cache.
 *
 * Rows are cut into a range a thread. Each range counts its rows by part; then a part's ranges stand one
 * after the other, so a part's rows keep their order. */
#ifndef COHORT_CPU_KEYS_PARTS_H
#define COHORT_CPU_KEYS_PARTS_H

#include "keys.h"

#define PART_SLOTS 14u /* a part has at least 2^14 slots, */
#define MOST_PARTS 11u /* and a table 2^11 parts */

struct keys_parts {
    uint32_t shift; /* of a slot's number: its part */
    uint64_t parts, ranges, rows;
    uint64_t each; /* rows of a range, a multiple of KEYS_BLOCK */
};

static inline struct keys_parts keys_parts_of(cohort_context *context, const struct keys_table *t,
                                              uint64_t rows)
{
    const uint32_t bits = 64 - (uint32_t)__builtin_clzll(t->capacity - 1);
    struct keys_parts p = {.rows = rows, .ranges = cpu_device(context)->threads};
    p.shift = bits > PART_SLOTS + MOST_PARTS ? bits - MOST_PARTS : PART_SLOTS;
    p.parts = ((t->capacity - 1) >> p.shift) + 1;
    p.each = (rows / p.ranges / KEYS_BLOCK + 1) * KEYS_BLOCK;
    return p;
}

static inline void keys_parts_range(const struct keys_parts *p, uint64_t range, uint64_t *begin,
                                    uint64_t *end)
{
    *begin = range * p->each < p->rows ? range * p->each : p->rows;
    *end = p->rows - *begin < p->each ? p->rows : *begin + p->each;
}

/* Counts by range and part, of `parts` parts, become places. */
static inline void keys_parts_place(uint64_t *next, uint64_t ranges, uint64_t parts)
{
    uint64_t sum = 0;
    for (uint64_t part = 0; part < parts; part++)
        for (uint64_t range = 0; range < ranges; range++) {
            uint64_t *at = &next[range * parts + part], count = *at;
            *at = sum;
            sum += count;
        }
}

#endif
