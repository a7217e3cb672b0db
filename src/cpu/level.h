/* cpu/level.h: which vector instructions may be used. */
#ifndef COHORT_CPU_LEVEL_H
#define COHORT_CPU_LEVEL_H

/* The thread sanitizer would not understand that vector loads of buckets are only hints. */
#if defined(__SANITIZE_THREAD__)
#    define CPU_VECTORS 0
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define CPU_VECTORS 0
#    endif
#endif
#if !defined(CPU_VECTORS) && defined(__x86_64__) && defined(__GNUC__)
#    define CPU_VECTORS 1
#endif

/* Of a function whose loops the compiler is to make vectors of 512 bits of. */
#if defined(__clang__)
#    define CPU_LOOPS_512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#else
#    define CPU_LOOPS_512 \
        __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")))
#endif

enum cpu_level { CPU_PLAIN, CPU_AVX2, CPU_AVX512 };

/* What this processor has, or less if COHORT_CPU in the environment asks for less: plain, avx2 or avx512. 0:
 * it asks for something else. */
int cpu_level_find(enum cpu_level *level);

#endif
