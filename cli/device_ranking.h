/* Counted keys put in order on the device where the map is, and brought to the host part by part. */
#ifndef COHORT_CLI_DEVICE_RANKING_H
#define COHORT_CLI_DEVICE_RANKING_H

#include "output.h"
#include "ranking.h"

typedef struct device_ranking device_ranking;

/* Takes all pairs out of `*map` and destroys it (*map becomes NULL); on failure the map is as it was. */
cohort_status device_ranking_take(device_ranking **out, cohort_context *context, cohort_map **map);

/* Puts them in the order of ranking.h; keys have `key_bits` bits at most. On failure they are in any
 * order. */
cohort_status device_ranking_sort(device_ranking *ranking, unsigned key_bits);

uint64_t device_ranking_size(const device_ranking *ranking);

/* All pairs as they are, in the host's memory. */
cohort_status device_ranking_copy(device_ranking *ranking, uint64_t *keys, uint64_t *counts);

/* Writes the first `top` lines of counts from `min` on to `output`; fills in `out->n`, and out->spectrum if
 * `spectrum`. */
int device_ranking_write(device_ranking *ranking, output *output, unsigned k, uint64_t min, uint64_t top,
                         int spectrum, unsigned threads, struct ranking *out, fault *fault);

void device_ranking_free(device_ranking *ranking); /* NULL is allowed */

#endif
