/* map_avx512.c: the map's loops for x86-64 with AVX-512: eight hashes at a time, stores under a mask, and
 * searches in registers where the table is in the cache. */
#include "map.h"

#if CPU_VECTORS
#    include <immintrin.h>
#    if defined(__clang__)
#        pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,bmi,bmi2,popcnt"))), \
                                     apply_to = function)
#    else
#        pragma GCC target("avx512f,avx512dq,avx512vl,bmi,bmi2,popcnt,prefer-vector-width=512")
#    endif
#    define CPU_LEVEL 512
#    define CPU_LOOPS cpu_map_avx512
#    include "cpu/map_loops.h"
#    if defined(__clang__)
#        pragma clang attribute pop
#    endif
#endif
