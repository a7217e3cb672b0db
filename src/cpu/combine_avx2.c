/* combine_avx2.c: the loops of combine.c for x86-64 with AVX2 (2013 and later). */
#include "combine.h"

#if CPU_VECTORS
#    include <immintrin.h>
#    if defined(__clang__)
#        pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#    else
#        pragma GCC target("avx2,bmi,bmi2,popcnt")
#    endif
#    define CPU_LEVEL   2
#    define CPU_COMBINE cpu_combine_avx2
#    include "combine_loops.h"
#    if defined(__clang__)
#        pragma clang attribute pop
#    endif
#endif
