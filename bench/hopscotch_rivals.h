/* hopscotch_rivals.h: tables that are built once and then read: linear and quadratic probing, and cuckoo
 * hashing. They are what the paper on GLHT compares with. Keys and values have 32 bits, values are never
 * 0, keys are distinct. */
#ifndef COHORT_BENCH_HOPSCOTCH_RIVALS_H
#define COHORT_BENCH_HOPSCOTCH_RIVALS_H

#include <stdint.h>

typedef enum rival_kind { RIVAL_LINEAR, RIVAL_QUADRATIC, RIVAL_CUCKOO, RIVALS } rival_kind;
extern const char *const rival_names[RIVALS];

typedef struct rival {
    rival_kind kind;
    unsigned log; /* of the number of slots */
    unsigned threads;
    uint64_t seed;
    uint64_t *slot; /* key in the upper half, value in the lower; 0: empty */
} rival;

/* 0: no memory. */
int rival_make(rival *r, rival_kind kind, unsigned log, unsigned threads);
void rival_free(rival *r);
/* Into an empty table. 0: some pair found no place: once more with another seed. */
int rival_build(rival *r, uint64_t n, const uint32_t *keys, const uint32_t *values);
void rival_clear(rival *r);
/* results[i] = the value of keys[i], 0 if it is absent. */
void rival_retrieve(const rival *r, uint64_t n, const uint32_t *keys, uint32_t *results);

#endif
