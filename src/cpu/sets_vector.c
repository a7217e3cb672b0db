/* cpu/sets_vector.c: which inner loops of sets a processor gets (sets_vector.h). */
#include "sets_vector.h"

const struct sets_vectors *sets_vectors_of(enum cpu_level level)
{
#if CPU_VECTORS
    if (level == CPU_AVX512 && __builtin_cpu_supports("avx512vpopcntdq") &&
        __builtin_cpu_supports("avx512vbmi2"))
        return sets_avx512();
    if (level == CPU_AVX512)
        return sets_avx512_bw();
    if (level == CPU_AVX2)
        return sets_avx2();
#endif
    (void)level;
    return sets_plain();
}
