/* cuda/keys.h: what the CUDA backend's files of keys share. */
#ifndef COHORT_CUDA_KEYS_H
#define COHORT_CUDA_KEYS_H

#include <string.h>

#include "backend/keys.h"
#include "device.h"

/* A column, which lies in the context's memory, as kernels see it. */
struct keys_look gpu_keys_look(const struct keys_column *);

/* Rows of few groups are put together by blocks in shared memory: by how many, of tuning->block threads; 0:
 * that does not pay. */
unsigned gpu_few_blocks(const struct gpu *, uint64_t rows, uint64_t groups);

/* In how many places each group has its sums there, a power of two, where one place of all takes `bytes`, at
 * most tuning->group_bytes. */
co_u32 gpu_few_places(const struct gpu *, uint64_t bytes);

#endif
