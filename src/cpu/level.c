/* cpu/level.c: see level.h. */
#include "level.h"

#include <stdlib.h>
#include <string.h>

#if CPU_VECTORS
static enum cpu_level found(void)
{
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
        return CPU_AVX512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? CPU_AVX2 : CPU_PLAIN;
}
#else
static enum cpu_level found(void)
{
    return CPU_PLAIN;
}
#endif

int cpu_level_find(enum cpu_level *level)
{
    static const char *const names[] = {"plain", "avx2", "avx512"};
    const char *asked = getenv("COHORT_CPU");
    *level = found();
    if (!asked)
        return 1;
    for (int i = CPU_PLAIN; i <= CPU_AVX512; i++)
        if (!strcmp(asked, names[i])) {
            *level = i < (int)*level ? (enum cpu_level)i : *level;
            return 1;
        }
    return 0;
}
