/* cpu/group_pick.c: those rows of a block whose groups are in a range. */
#include "group.h"

static void pick_plain(struct group_picked *p, const uint32_t *ids, uint32_t count, uint32_t low,
                       uint32_t span, uint32_t lane_bits)
{
    const uint32_t lanes = (1u << lane_bits) - 1;
    uint32_t most = 0, least = ~0u, n = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = ids[i] - low;
        most = from > most ? from : most;
        least = from < least ? from : least;
    }
    p->whole = most < span;
    p->count = p->whole ? count : 0;
    for (uint32_t i = 0; p->whole && i < count; i++)
        p->group[i] = ids[i] << lane_bits | (i & lanes);
    if (p->whole || least >= span)
        return;
    for (uint32_t i = 0; i < count; i++) {
        p->group[n] = ids[i] << lane_bits | (i & lanes);
        p->at[n] = (uint8_t)i;
        n += ids[i] - low < span;
    }
    p->count = n;
}

#if CPU_VECTORS
#    include <immintrin.h>
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,popcnt")))

AVX512 static void pick_512(struct group_picked *p, const uint32_t *ids, uint32_t count, uint32_t low,
                            uint32_t span, uint32_t lane_bits)
{
    const __m512i first = _mm512_set1_epi32((int)low), spans = _mm512_set1_epi32((int)span),
                  lanes = _mm512_set1_epi32((1 << lane_bits) - 1);
    const __m128i shift = _mm_cvtsi32_si128((int)lane_bits);
    __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i += 16) {
        const __mmask16 rows = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
        const __m512i id = _mm512_maskz_loadu_epi32(rows, ids + i);
        const __mmask16 in = _mm512_mask_cmplt_epu32_mask(rows, _mm512_sub_epi32(id, first), spans);
        const __m512i group = _mm512_or_si512(_mm512_sll_epi32(id, shift), _mm512_and_si512(at, lanes));
        _mm512_storeu_si512(p->group + n, _mm512_maskz_compress_epi32(in, group));
        _mm_storeu_si128((__m128i *)(void *)(p->at + n),
                         _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32(in, at)));
        n += (uint32_t)__builtin_popcount(in);
        at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
    }
    p->count = n;
    p->whole = n == count;
}
#else
#    define pick_512 pick_plain
#endif

void group_pick(struct group_picked *p, enum cpu_level level, const uint32_t *ids, uint32_t count,
                uint32_t low, uint32_t span, uint32_t lane_bits)
{
    (level >= CPU_AVX512 ? pick_512 : pick_plain)(p, ids, count, low, span, lane_bits);
}
