/* cpu/keys_vector.h: hashes of eight words at a time. */
#ifndef COHORT_CPU_KEYS_VECTOR_H
#define COHORT_CPU_KEYS_VECTOR_H

#include "keys.h"

#if CPU_VECTORS
#    include <immintrin.h>
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2")))

/* keys_hash of eight. */
AVX512 static inline __m512i keys_hash_8(const struct keys_seed *s, __m512i words)
{
    const __m512i first = _mm512_set1_epi64((long long)s->word[0]);
    const __m512i second = _mm512_set1_epi64((long long)s->word[1]);
    __m512i h = _mm512_mullo_epi64(_mm512_xor_si512(words, _mm512_srli_epi64(words, 32)), first);
    h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 32)), second);
    return _mm512_xor_si512(h, _mm512_srli_epi64(h, 32));
}
#endif

#endif
