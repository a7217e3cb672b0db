/* cpu/set_lines_512.h: two bitmaps put together in some of their lines, with AVX-512; a part of the files
 * that sets_network.h names. */
#ifndef COHORT_CPU_SET_LINES_512_H
#define COHORT_CPU_SET_LINES_512_H

#include "sets_network.h"

AVX512 static inline struct set_line_sums set_lines_any(co_u64 *to, const co_u64 *a, const co_u64 *b,
                                                        co_u32 op, const struct set_lines *lines)
{
    struct set_line_sums sums = {0, 0, {{0, 0}}};
    __m512i before = _mm512_setzero_si512(), after = before;
    for (co_u32 half = 0; half < 2; half++) {
        for (co_u64 left = lines->of[half]; left; left &= left - 1) {
            const co_u32 line = (co_u32)__builtin_ctzll(left), at = half * 512 + line * 8;
            const __m512i x = _mm512_loadu_si512(a + at), y = _mm512_loadu_si512(b + at);
            const __m512i w = op == SETS_AND      ? _mm512_and_si512(x, y)
                              : op == SETS_OR     ? _mm512_or_si512(x, y)
                              : op == SETS_ANDNOT ? _mm512_andnot_si512(y, x)
                                                  : _mm512_xor_si512(x, y);
            _mm512_storeu_si512(to + at, w);
            sums.some.of[half] |= (co_u64)(_mm512_test_epi64_mask(w, w) != 0) << line;
            if (op != SETS_AND)
                before = _mm512_add_epi64(before, sets_ones(x));
            after = _mm512_add_epi64(after, sets_ones(w));
        }
    }
    sums.before = (co_u32)_mm512_reduce_add_epi64(before);
    sums.after = (co_u32)_mm512_reduce_add_epi64(after);
    return sums;
}

AVX512 static struct set_line_sums set_lines_512(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op,
                                                 const struct set_lines *lines)
{
    switch (op) {
    case SETS_AND:
        return set_lines_any(to, a, b, SETS_AND, lines);
    case SETS_OR:
        return set_lines_any(to, a, b, SETS_OR, lines);
    case SETS_ANDNOT:
        return set_lines_any(to, a, b, SETS_ANDNOT, lines);
    default:
        return set_lines_any(to, a, b, SETS_XOR, lines);
    }
}

#endif
