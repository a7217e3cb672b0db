/* cpu/stream.c: copies past the caches. Who copies more than they hold would else read every line that is
 * written, and drive out what they hold. */
#include "cpu.h"

#include <string.h>

#if defined(__x86_64__)
#    include <emmintrin.h>
#endif

#define LINE 64u

void cpu_stream_lines(void *to, const void *from, uint64_t bytes)
{
#if defined(__x86_64__)
    for (uint64_t i = 0; i < bytes; i += LINE) {
        const __m128i *source = (const __m128i *)(const void *)((const char *)from + i);
        __m128i *target = (__m128i *)(void *)((char *)to + i);
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1),
                      c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
#else
    memcpy(to, from, bytes);
#endif
    cpu_stream_end();
}

void cpu_stream_end(void)
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}
