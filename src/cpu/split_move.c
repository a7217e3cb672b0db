/* split_move.c: the second half of a pass of split_pass.c: every array's entries go to their buckets.
 *
 * An entry goes into a small buffer of its bucket, in cache; a full one is written out in whole cache lines,
 * past the caches unless all that is written is small. (Software write-combining: Balkesen et al.,
 * "Main-Memory Hash Joins on Multi-Core CPUs", ICDE 2013.) A buffer's first slot is the line in which the
 * part's first entry of the bucket lies, or one before it, so that whole lines are written at the lines'
 * addresses, whatever the alignment of the output. Only of the part's first and last line of a bucket, which
 * other buckets or parts may share, its own entries alone are written, by plain stores.
 *
 * What binds is one store a cycle to different lines, an entry's and its counter's, a mispredicted branch a
 * full buffer, and stores that find the next line of a buffer only in the second cache. So where many lines
 * are being filled the place of a bucket's next entry is asked for with each entry. Two arrays of one width
 * go through one buffer, an entry of the one beside that of the other, and are taken apart when it is written
 * (they need the same alignment). Where the lines being filled leave little of the first cache, buckets that
 * are bits of the keys are taken from these as they are moved, not from numbers made a chunk at a time. And
 * of few buckets there are no counters: sixteen entries are compared with each bucket's number, those of the
 * bucket stored side by side behind the ones before (AVX-512). One array into some more buckets is
 * split_tiles.c's. */
#include "split.h"

#include <string.h>

#if defined(__x86_64__)
#    include <immintrin.h>
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,popcnt")))
#    define BMI2   __attribute__((target("bmi2"))) /* shifts by what is in any register */
#else
#    define BMI2
#endif

#define GROUP 16u /* entries between two requests to the memory */
#define LINE  64u
#define BUFFERED \
    262144u /* bytes of all buckets' buffers: in the second cache, those lines that are filled in the first */
#define LINES_MOST  8u           /* of a buffer, whether it is of one array or of two; */
#define LINES_4     16u          /* of one array of 4 bytes, where there is no other */
#define LINES_FEW   64u          /* lines being filled that leave much of the first cache: up to there */
#define SOON        512u         /* keys, where they give the buckets, are asked for so many bytes ahead */
#define FEW         4u           /* buckets that are told by comparing */
#define FEW_LINES   16u          /* of their buffers, */
#define FEW_SPARE   GROUP        /* and entries behind, which one store may reach */
#define CACHED_MOST (4ull << 20) /* bytes of output that are written through the caches */
#define NOINLINE    __attribute__((noinline))

/* Where the entries of every bucket go, of one array or of two that share their buffers; rows of `buckets` +
 * 1. */
struct way {
    const struct cpu_array *array;
    co_u32 arrays, bytes; /* bytes of an entry of one array */
    co_u32 entries, row;  /* of a bucket's buffer; and to the next one */
    co_u32 whole, pitch;  /* bytes: a buffer's of one array; to the next buffer, of all */
    int many;             /* lines are being filled: more than LINES_FEW */
    co_u32 *next;         /* the next entry, in all buckets' buffers */
    co_u32 *head;         /* entries at the front of the buffer that are another part's or bucket's */
    char **to[2];         /* where the buffer will be written; NULL: nowhere */
    char *buffer;
    struct cpu_bits bits; /* the buckets, where they need not be made: of keys that are the first array */
    /* Writes entries begin to end of a buffer, whole lines. */
    void (*lines)(const struct way *, co_u32 bucket, co_u32 begin, co_u32 end);
    void (*few)(const struct way *, const co_u16 *digits, co_u32 count, const char *in, co_u32 buckets);
};

/* A worker's own memory. */
struct own {
    co_u16 *digits;
    co_u64 *numbers[2]; /* a chunk of a permutation */
    struct way way[CPU_ARRAYS_MOST];
    co_u32 ways;
};

/* Whether an array is moved by comparing: then alone. */
static int is_few(const struct cpu_pass *p, co_u32 bytes)
{
    return p->level == CPU_AVX512 && p->buckets <= FEW && (bytes == 4 || bytes == 8);
}

static int together(const struct cpu_pass *p, co_u32 a)
{
    const struct cpu_array *x = &p->array[a], *y = x + 1;
    return a + 1 < p->arrays && x->bytes == y->bytes && (x->bytes == 4 || x->bytes == 8) &&
           !is_few(p, x->bytes) && !(((uintptr_t)x->out | (uintptr_t)y->out) % LINE);
}

static co_u32 lines_of(const struct cpu_pass *p)
{
    co_u32 lines = p->arrays > 1 ? LINES_MOST / 2 : p->array[0].bytes == 4 ? LINES_4 : LINES_MOST;
    while (lines > 1 && lines * LINE * p->buckets * p->arrays > BUFFERED)
        lines /= 2;
    return p->buckets <= FEW ? FEW_LINES : lines;
}

/* The same memory whichever arrays share their buffers: that is not known before their outputs are. */
static void own_arena(const struct cpu_pass *p, struct arena *arena, struct own *own)
{
    const co_u64 row = p->stride;
    const co_u32 lines = lines_of(p);
    own->digits = arena_take(arena, 2 * CPU_CHUNK);
    own->numbers[0] = arena_take(arena, 8 * CPU_CHUNK);
    own->numbers[1] = arena_take(arena, 8 * CPU_CHUNK);
    own->ways = 0;
    for (co_u32 a = 0, shared = 0; a < p->arrays; a++) {
        struct way *way = &own->way[own->ways - shared];
        char **to = arena_take(arena, sizeof *to * row);
        co_u32 *next = arena_take(arena, 4 * row), *head = arena_take(arena, 4 * row);
        if (shared) {
            way->arrays = 2;
            way->to[1] = to;
            shared = 0;
            continue;
        }
        *way = (struct way){.array = &p->array[a], .arrays = 1, .bytes = p->array[a].bytes, .to = {to, NULL}};
        way->next = next;
        way->head = head;
        way->entries = way->row = lines * LINE / way->bytes;
        way->row += is_few(p, way->bytes) ? FEW_SPARE : 0;
        way->whole = way->entries * way->bytes;
        own->ways++;
        shared = arena->memory && together(p, a);
    }
    for (co_u32 w = 0; w < own->ways; w++) {
        struct way *way = &own->way[w];
        way->pitch = way->row * way->bytes * way->arrays;
        way->buffer = arena_take(arena, way->pitch * row);
    }
}

co_u64 cpu_move_bytes(const struct cpu_pass *p)
{
    struct arena arena = {.memory = NULL};
    struct own own;
    own_arena(p, &arena, &own);
    co_u64 tiles = cpu_tiles_bytes(p);
    return tiles > arena.used ? tiles : arena.used;
}

/* ---- full buffers -------------------------------------------------------------------------------------- */

/* Entries begin to end of a bucket's buffer, of which no line need be whole. */
static void write_some(const struct way *way, co_u32 bucket, co_u32 begin, co_u32 end)
{
    const co_u32 bytes = way->bytes;
    const char *from = way->buffer + (size_t)bucket * way->pitch;
    if (way->arrays == 1) {
        memcpy(way->to[0][bucket] + (size_t)begin * bytes, from + (size_t)begin * bytes,
               (size_t)(end - begin) * bytes);
        return;
    }
    for (co_u32 i = begin; i < end; i++)
        for (co_u32 k = 0; k < 2; k++)
            if (bytes == 4)
                memcpy(way->to[k][bucket] + (size_t)i * 4, from + ((size_t)i * 2 + k) * 4, 4);
            else
                memcpy(way->to[k][bucket] + (size_t)i * 8, from + ((size_t)i * 2 + k) * 8, 8);
}

/* The first buffer of a bucket, of which only what is behind `begin` is ours, or the last one, of which only
 * what is before `end` is there: whole lines as from any other buffer. */
static NOINLINE void write_part(const struct way *way, co_u32 bucket, co_u32 begin, co_u32 end)
{
    const co_u32 line = LINE / way->bytes, first = (begin + line - 1) / line * line, last = end / line * line;
    if (first >= last) {
        write_some(way, bucket, begin, end);
        return;
    }
    write_some(way, bucket, begin, first);
    way->lines(way, bucket, first, last);
    write_some(way, bucket, last, end);
}

/* A bucket's buffer is full: it goes out. */
static NOINLINE void empty(const struct way *way, co_u32 bucket)
{
    way->next[bucket] = bucket * way->row;
    __builtin_prefetch(way->buffer + (size_t)bucket * way->pitch);
    if (__builtin_expect(!way->to[0][bucket], 0))
        return;
    if (__builtin_expect(!way->head[bucket], 1))
        way->lines(way, bucket, 0, way->entries);
    else
        write_part(way, bucket, way->head[bucket], way->entries);
    way->head[bucket] = 0;
    for (co_u32 k = 0; k < way->arrays; k++)
        way->to[k][bucket] += way->whole;
}

/* `line` writes a line of one array, `pair` a line of each of two. */
CO_INLINE void write_lines(const struct way *way, co_u32 bucket, co_u32 begin, co_u32 end,
                           void line(char *to, const char *from),
                           void pair(char *x, char *y, const char *from, co_u32 bytes))
{
    const co_u32 bytes = way->bytes, arrays = way->arrays;
    const char *from = way->buffer + (size_t)bucket * way->pitch + (size_t)begin * bytes * arrays;
    char *x = way->to[0][bucket] + (size_t)begin * bytes;
    const char *const stop = x + (size_t)(end - begin) * bytes;
    if (arrays == 1) {
        for (; x < stop; x += LINE, from += LINE)
            line(x, from);
        return;
    }
    for (char *y = way->to[1][bucket] + (size_t)begin * bytes; x < stop;
         x += LINE, y += LINE, from += 2 * LINE)
        pair(x, y, from, bytes);
}

CO_INLINE void line_cached(char *to, const char *from)
{
    memcpy(to, from, LINE);
}

CO_INLINE void pair_cached(char *x, char *y, const char *from, co_u32 bytes)
{
    for (co_u32 i = 0; bytes == 4 && i < LINE; i += 4) {
        memcpy(x + i, from + 2 * i, 4);
        memcpy(y + i, from + 2 * i + 4, 4);
    }
    for (co_u32 i = 0; bytes == 8 && i < LINE; i += 8) {
        memcpy(x + i, from + 2 * i, 8);
        memcpy(y + i, from + 2 * i + 8, 8);
    }
}

/* What will be written next is asked for. */
static void lines_cached(const struct way *way, co_u32 bucket, co_u32 begin, co_u32 end)
{
    write_lines(way, bucket, begin, end, line_cached, pair_cached);
    for (co_u32 k = 0; k < way->arrays; k++)
        for (co_u32 i = begin * way->bytes; i < end * way->bytes; i += LINE)
            __builtin_prefetch(way->to[k][bucket] + way->whole + i, 1);
}

#if defined(__x86_64__)
CO_INLINE void line_sse2(char *to, const char *from)
{
    for (co_u32 i = 0; i < LINE; i += 16)
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_load_si128((const __m128i *)(const void *)(from + i)));
}

CO_INLINE void pair_sse2(char *x, char *y, const char *from, co_u32 bytes)
{
    for (co_u32 i = 0; i < LINE; i += 16) {
        __m128i a = _mm_load_si128((const __m128i *)(const void *)(from + 2 * i));
        __m128i b = _mm_load_si128((const __m128i *)(const void *)(from + 2 * i + 16));
        if (bytes == 4) {
            a = _mm_shuffle_epi32(a, 0xd8);
            b = _mm_shuffle_epi32(b, 0xd8);
        }
        _mm_stream_si128((__m128i *)(void *)(x + i), _mm_unpacklo_epi64(a, b));
        _mm_stream_si128((__m128i *)(void *)(y + i), _mm_unpackhi_epi64(a, b));
    }
}

AVX512 static inline void line_avx512(char *to, const char *from)
{
    _mm512_stream_si512((void *)to, _mm512_load_si512((const void *)from));
}

AVX512 static inline void pair_avx512(char *x, char *y, const char *from, co_u32 bytes)
{
    const __m512i a = _mm512_load_si512((const void *)from),
                  b = _mm512_load_si512((const void *)(from + LINE));
    if (bytes == 4) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        _mm512_stream_si512((void *)x, _mm512_permutex2var_epi32(a, even, b));
        _mm512_stream_si512((void *)y, _mm512_permutex2var_epi32(a, odd, b));
    } else {
        const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        const __m512i odd = _mm512_add_epi64(even, _mm512_set1_epi64(1));
        _mm512_stream_si512((void *)x, _mm512_permutex2var_epi64(a, even, b));
        _mm512_stream_si512((void *)y, _mm512_permutex2var_epi64(a, odd, b));
    }
}

static void lines_sse2(const struct way *way, co_u32 bucket, co_u32 begin, co_u32 end)
{
    write_lines(way, bucket, begin, end, line_sse2, pair_sse2);
}

AVX512 static void lines_avx512(const struct way *way, co_u32 bucket, co_u32 begin, co_u32 end)
{
    write_lines(way, bucket, begin, end, line_avx512, pair_avx512);
}
#else
#    define lines_sse2   lines_cached
#    define lines_avx512 lines_cached
#endif

/* ---- few buckets --------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* Sixteen entries of 4 bytes or eight of 8, those whose bit is set, side by side to where the bucket's next
 * one goes. */
AVX512 CO_INLINE co_u32 few_put(char *to, const char *in, co_u32 bits, co_u32 bytes)
{
    __m512i entries = _mm512_loadu_si512((const void *)in);
    _mm512_storeu_si512((void *)to, bytes == 4 ? _mm512_maskz_compress_epi32((__mmask16)bits, entries)
                                               : _mm512_maskz_compress_epi64((__mmask8)bits, entries));
    return (co_u32)__builtin_popcount(bits);
}

/* The buffer is full, and what is behind it begins the next one: how much that is. */
AVX512 static NOINLINE co_u32 few_empty(const struct way *way, co_u32 bucket, co_u32 at)
{
    char *buffer = way->buffer + (size_t)bucket * way->pitch;
    empty(way, bucket);
    for (co_u32 i = 0; i < FEW_SPARE * way->bytes; i += LINE)
        _mm512_store_si512((void *)(buffer + i), _mm512_load_si512((const void *)(buffer + way->whole + i)));
    return at - way->entries;
}

/* Buckets 0 to most - 1 of a chunk; those that are none of the pass's have no place to go, or no entries. */
AVX512 CO_INLINE void few_chunk(const struct way *way, const co_u16 *digits, co_u32 count, const char *in,
                                co_u32 bytes, const co_u32 most)
{
    const co_u32 entries = way->entries;
    co_u32 at[FEW];
    char *const buffer = way->buffer, last[GROUP * 8];
    for (co_u32 b = 0; b < most; b++)
        at[b] = way->next[b];
    for (co_u32 i = 0; i < count; i += GROUP, in += (size_t)GROUP * bytes) {
        co_u32 some = 0xffffu;
        if (__builtin_expect(count - i < GROUP, 0)) {
            some = (1u << (count - i)) - 1;
            in = memcpy(last, in, (size_t)(count - i) * bytes);
        } else {
            for (co_u32 line = 0; line < GROUP * bytes; line += LINE)
                __builtin_prefetch(in + (size_t)CPU_CHUNK * bytes + line, 0, 2);
        }
        __m256i d = _mm256_maskz_loadu_epi16((__mmask16)some, digits + i);
#    pragma GCC unroll 8
        for (co_u32 b = 0; b < most; b++) {
            co_u32 bits = _mm256_mask_cmpeq_epi16_mask((__mmask16)some, d, _mm256_set1_epi16((short)b));
            char *to = buffer + b * way->pitch;
            if (bytes == 4) {
                at[b] += few_put(to + (size_t)at[b] * 4, in, bits, 4);
            } else {
                at[b] += few_put(to + (size_t)at[b] * 8, in, bits & 0xff, 8);
                at[b] += few_put(to + (size_t)at[b] * 8, in + LINE, bits >> 8, 8);
            }
            if (__builtin_expect(at[b] >= entries, 0))
                at[b] = few_empty(way, b, at[b]);
        }
    }
    for (co_u32 b = 0; b < most; b++)
        way->next[b] = at[b];
}

AVX512 static void few_4(const struct way *way, const co_u16 *digits, co_u32 count, const char *in,
                         co_u32 buckets)
{
    if (buckets <= 2)
        few_chunk(way, digits, count, in, 4, 2);
    else
        few_chunk(way, digits, count, in, 4, 4);
}

AVX512 static void few_8(const struct way *way, const co_u16 *digits, co_u32 count, const char *in,
                         co_u32 buckets)
{
    if (buckets <= 2)
        few_chunk(way, digits, count, in, 8, 2);
    else
        few_chunk(way, digits, count, in, 8, 4);
}
#else
#    define few_4 NULL
#    define few_8 NULL
#endif

/* ---- many buckets -------------------------------------------------------------------------------------- */

/* Entry k of each of two arrays of 4 bytes, by one store. */
CO_INLINE void put_pair(char *restrict to, const char *restrict x, const char *restrict y, co_u32 k)
{
    co_u32 pair[2];
    memcpy(&pair[0], x + (size_t)k * 4, 4);
    memcpy(&pair[1], y + (size_t)k * 4, 4);
    const co_u64 both = pair[0] | (co_u64)pair[1] << 32;
    memcpy(to, &both, 8);
}

/* Entries into their buckets' buffers; `mask`: where a buffer ends. With `bits` there are no digits. With
 * `many` a bucket's next place is asked for: it may be in another line, which has time until then to come
 * into the first cache. */
CO_INLINE void put(const struct way *way, co_u32 *restrict next, char *restrict buffer, co_u32 mask,
                   const co_u16 *restrict digits, co_u32 count, const char *restrict x,
                   const char *restrict y, co_u32 bytes, co_u32 arrays, int bits, int many)
{
    const co_u32 shift = way->bits.shift, most = way->bits.mask;
#pragma GCC unroll 16
    for (co_u32 k = 0; k < count; k++) {
        co_u32 digit = bits ? cpu_bits_at(x, k, bytes, shift, most) : digits[k], at = next[digit];
        if (arrays > 1 && bytes == 4) {
            put_pair(buffer + (size_t)at * 8, x, y, k);
        } else {
            memcpy(buffer + (size_t)at * bytes * arrays, x + (size_t)k * bytes, bytes);
            if (arrays > 1)
                memcpy(buffer + (size_t)at * bytes * arrays + bytes, y + (size_t)k * bytes, bytes);
        }
        next[digit] = ++at;
        if (many)
            __builtin_prefetch(buffer + (size_t)at * bytes * arrays);
        if (__builtin_expect(!(at & mask), 0))
            empty(way, digit);
    }
}

CO_INLINE void put_all(const struct way *way, const co_u16 *digits, co_u32 count, const char *x,
                       const char *y, co_u32 bytes, co_u32 arrays, int bits, int many)
{
    const co_u32 mask = way->entries - 1, step = GROUP * bytes;
    for (; count >= GROUP; count -= GROUP, x += step, y += step) {
        for (co_u32 line = 0; line < step; line += LINE) {
            __builtin_prefetch(x + (size_t)CPU_CHUNK * bytes + line, 0, 2);
            if (arrays > 1)
                __builtin_prefetch(y + (size_t)CPU_CHUNK * bytes + line, 0, 2);
            if (bits)
                __builtin_prefetch(x + SOON + line, 0, 3);
        }
        put(way, way->next, way->buffer, mask, digits, GROUP, x, y, bytes, arrays, bits, many);
        if (!bits)
            digits += GROUP;
    }
    for (co_u32 k = 0; k < count; k++, x += bytes, y += bytes)
        put(way, way->next, way->buffer, mask, bits ? NULL : digits + k, 1, x, y, bytes, arrays, bits, many);
}

CO_INLINE void scatter(const struct way *way, const co_u16 *digits, co_u32 count, const char *x,
                       const char *y, co_u32 bytes, co_u32 arrays)
{
    if (way->many)
        put_all(way, digits, count, x, y, bytes, arrays, 0, 1);
    else
        put_all(way, digits, count, x, y, bytes, arrays, 0, 0);
}

/* With bits there are many lines. */
BMI2 static NOINLINE void scatter_bits(const struct way *way, co_u32 count, const char *x, const char *y)
{
    if (way->bytes == 4 && way->arrays > 1)
        put_all(way, NULL, count, x, y, 4, 2, 1, 1);
    else if (way->bytes == 4)
        put_all(way, NULL, count, x, y, 4, 1, 1, 1);
    else if (way->arrays > 1)
        put_all(way, NULL, count, x, y, 8, 2, 1, 1);
    else
        put_all(way, NULL, count, x, y, 8, 1, 1, 1);
}

/* ---- parts --------------------------------------------------------------------------------------------- */

static void scatter_way(const struct cpu_pass *p, const struct own *own, const struct way *way,
                        const co_u16 *digits, co_u64 i, co_u32 count)
{
    const char *x = cpu_chunk_of(p, way->array, i, count, own->numbers[0]), *y = x;
    if (way->few) {
        way->few(way, digits, count, x, p->buckets);
        return;
    }
    if (way->arrays > 1)
        y = cpu_chunk_of(p, way->array + 1, i, count, own->numbers[1]);
    if (way->bits.keys) {
        scatter_bits(way, count, x, y);
        return;
    }
    switch (way->bytes * way->arrays) {
    case 1:
        scatter(way, digits, count, x, y, 1, 1);
        break;
    case 2:
        scatter(way, digits, count, x, y, 2, 1);
        break;
    case 4:
        scatter(way, digits, count, x, y, 4, 1);
        break;
    case 8:
        if (way->arrays > 1)
            scatter(way, digits, count, x, y, 4, 2);
        else
            scatter(way, digits, count, x, y, 8, 1);
        break;
    default:
        if (way->arrays > 1)
            scatter(way, digits, count, x, y, 8, 2);
        else
            scatter(way, digits, count, x, y, 16, 1);
    }
}

/* Buckets begin in different lines of their buffers: the lines that are being filled are to lie in different
 * places of the first cache. */
static void begin_way(const struct cpu_pass *p, co_u64 part, struct way *way)
{
    const co_u64 *starts = p->starts + part * p->stride;
    const co_u32 bytes = way->bytes, line = LINE / bytes;
    way->lines = !p->streaming ? lines_cached : p->level == CPU_AVX512 ? lines_avx512 : lines_sse2;
    way->many = p->buckets * way->arrays > LINES_FEW;
    way->few = !is_few(p, bytes) ? NULL : bytes == 4 ? few_4 : few_8;
    for (co_u32 b = 0; b < p->buckets; b++) {
        char *at = (char *)way->array->out + starts[b] * bytes;
        co_u32 head = (co_u32)((uintptr_t)at % LINE) / bytes + b * line % way->entries;
        for (co_u32 k = 0; k < way->arrays; k++)
            way->to[k][b] = (char *)way->array[k].out + (starts[b] - head) * bytes;
        way->head[b] = head;
        way->next[b] = (way->few ? 0 : b * way->row) + head;
    }
    for (co_u32 b = p->buckets; b < p->stride; b++) {
        way->to[0][b] = NULL;
        way->head[b] = 0;
        way->next[b] = way->few ? 0 : b * way->row;
    }
}

static void end_way(const struct cpu_pass *p, const struct way *way)
{
    for (co_u32 b = 0; b < p->buckets; b++)
        write_part(way, b, way->head[b], way->next[b] - (way->few ? 0 : b * way->row));
}

/* Whether no buckets need be made: all goes one way, and they are bits of its first array. */
static int takes_bits(const struct cpu_pass *p, struct own *own)
{
    struct way *way = own->way;
    way->bits = cpu_pass_bits(p);
    if (p->level != CPU_AVX512 || !way->many || own->ways > 1 || way->array->in != way->bits.keys ||
        way->bytes != way->bits.bytes)
        way->bits.keys = NULL;
    return way->bits.keys != NULL;
}

static void move_part(const struct cpu_pass *p, co_u64 part, struct own *own)
{
    co_u64 end = cpu_part_begin(p, part + 1);
    co_u32 count;
    for (co_u32 w = 0; w < own->ways; w++)
        begin_way(p, part, &own->way[w]);
    const int bits = takes_bits(p, own);
    for (co_u64 i = cpu_part_begin(p, part); i < end; i += count) {
        count = end - i < CPU_CHUNK ? (co_u32)(end - i) : CPU_CHUNK;
        const co_u16 *digits = bits ? NULL : cpu_chunk_digits(p, i, count, own->digits);
        for (co_u32 w = 0; w < own->ways; w++)
            scatter_way(p, own, &own->way[w], digits, i, count);
    }
    for (co_u32 w = 0; w < own->ways; w++)
        end_way(p, &own->way[w]);
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

static void move_parts(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct cpu_pass *p = arg;
    struct arena arena = {.memory = cpu_pass_scratch(p, worker)};
    struct own own;
    own_arena(p, &arena, &own);
    for (co_u64 part = begin; part < end; part++)
        if (p->tiles)
            cpu_tiles_move(p, part, arena.memory);
        else
            move_part(p, part, &own);
}

cohort_status cpu_pass_move(cohort_context *context, struct cpu_pass *p)
{
    co_u64 all = 0;
    for (co_u32 a = 0; a < p->arrays; a++)
        all += p->n * p->array[a].bytes;
    p->streaming = all > CACHED_MOST;
    p->tiles = cpu_tiles_fit(p);
    return p->arrays && p->n ? cpu_parallel_told(context, p->what, p->parts, 1, move_parts, p) : COHORT_OK;
}
