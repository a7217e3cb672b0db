/* cuda/keys.h: what the CUDA backend's files of keys share. */
#ifndef COHORT_CUDA_KEYS_H
#define COHORT_CUDA_KEYS_H

#include <string.h>

#include "backend/keys.h"

/* A column, which lies in the context's memory, as kernels see it. */
struct keys_look gpu_keys_look(const struct keys_column *);

#endif
