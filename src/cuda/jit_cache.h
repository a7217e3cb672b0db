/* jit_cache.h: compiled programs on disk: $XDG_CACHE_HOME/cohort, or ~/.cache/cohort. What goes wrong there
 * is not told: then there is no such file. */
#ifndef COHORT_CUDA_JIT_CACHE_H
#define COHORT_CUDA_JIT_CACHE_H

#include "jit.h"

/* `key` is all that the image depends on. 1: it is there. */
int jit_cache_read(const char *key, struct jit_image *image);
void jit_cache_write(const char *key, const struct jit_image *image);

/* A hash of a text, in 32 hexadecimal digits. */
void jit_hash(const char *text, char digits[33]);

#endif
