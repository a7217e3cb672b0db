/* sums_loop.h: the rival of sums by key on a CPU: a plain loop over one table. */
#ifndef BENCH_SUMS_LOOP_H
#define BENCH_SUMS_LOOP_H

#include <stdint.h>

/* A table of slots, a power of two, by linear probing: a key and its sum side by side. */
typedef struct sums_loop {
    void *slot;
    uint64_t slots, pairs;
    unsigned shift, bytes; /* of a hash; of a key and of a value: 4 or 8 */
    uint64_t odd;          /* the sum of the key that marks an empty slot, */
    int is_odd_there;      /* if it has come */
} sums_loop;

/* For so many keys, at half load at most. 0: no memory for it. */
int sums_loop_make(sums_loop *l, uint64_t keys, unsigned bytes);
void sums_loop_free(sums_loop *l);
void sums_loop_clear(sums_loop *l);

/* Adds n values, or 1 for each key where `values` is NULL. */
void sums_loop_add(sums_loop *l, uint64_t n, const void *keys, const void *values);

#endif
