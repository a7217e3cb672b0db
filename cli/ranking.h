/* Counted keys in the order of the output, and how many keys occur how often. */
#ifndef COHORT_CLI_RANKING_H
#define COHORT_CLI_RANKING_H

#include "cli.h"

/* keys[first .. first + n) occur `count` times each. */
typedef struct ranking_run {
    uint64_t count;
    size_t first, n;
} ranking_run;

/* `number` keys occur `times` times. */
typedef struct spectrum_entry {
    uint64_t times, number;
} spectrum_entry;

typedef struct ranking {
    uint64_t *keys; /* by falling count, then rising key */
    size_t n;
    ranking_run *runs; /* by falling count */
    size_t runs_n;
    spectrum_entry *spectrum; /* of all keys, also those that were dropped; by rising `times` */
    size_t spectrum_n;
} ranking;

/* Ranks n keys that are distinct, keeping those that occur at least `min` times and of these the first `top`.
 * Takes `keys` and `counts` (malloc'd, may be NULL if n is 0), also on failure. */
int ranking_make(ranking *out, uint64_t *keys, uint64_t *counts, size_t n, uint64_t min, uint64_t top,
                 unsigned threads, fault *fault);

void ranking_free(ranking *ranking);

#endif
