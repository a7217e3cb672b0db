/* split_pass.c: one stable pass of multisplit or of radix sort over all the context's threads.
 *
 * The entries are cut into parts, contiguous runs of which each is one thread's. First every part counts its entries of each bucket,
 * and the counts are scanned: now each part knows where its first entry of each bucket goes. Then the parts are taken once more, and
 * every array is moved. An entry goes into a small buffer of its bucket, in cache; a full one is written out in whole cache
 * lines, past the caches unless all that is written is small. (Software write-combining: Balkesen et al., "Main-Memory Hash
 * Joins on Multi-Core CPUs", ICDE 2013.) A buffer's first slot is the line in which the part's first entry of the bucket lies, so that
 * all but the first and the last write are whole lines at the lines' addresses, whatever the alignment of the output.
 *
 * Both times the bucket numbers of a chunk are made first, and while a chunk is worked on the next one is asked for. Counting goes
 * in four lanes with counts of their own, lest equal buckets in a row wait for each other. */
#include "split.h"

#include <string.h>

#if defined(__x86_64__)
#    include <immintrin.h>
#    define AVX512 __attribute__((target("avx512f")))
#endif

#define CHUNK 2048u /* entries whose buckets are made at a time */
#define GROUP 16u   /* entries between two requests to the memory */
#define LANES 4u
#define LINE  64u
#define BUFFERED \
    32768u /* bytes of all buckets' buffers that fit in the first cache beside what else is used */
#define LINES_MOST     4u
#define PARTS_EACH     16u    /* parts a thread, */
#define PART_LEAST     32768u /* of so many entries and, */
#define PART_BUCKET    64u    /* so many of each bucket, at least, */
#define PART_MOST      (1ull << 31)
#define COUNT_UP_GRAIN 65536u
#define CACHED_MOST    (4ull << 20) /* bytes of output that are written through the caches */
#define NOINLINE       __attribute__((noinline))

/* Where one array's entries of every bucket go; rows of `buckets` + 1. */
struct way {
    co_u32 *next; /* byte of the next entry, in all buckets' buffers */
    co_u32 *head; /* bytes at the front of the buffer that are another part's or bucket's */
    char **to;    /* where the buffer will be written; NULL: nowhere */
    char *buffer;
    co_u32 bytes; /* of a bucket's buffer */
    void (*empty)(const struct way *, co_u32 bucket);
};

/* A worker's own memory. */
struct own {
    co_u16 *digits;
    co_u64 *numbers; /* a chunk of a permutation */
    co_u32 *counts;  /* LANES rows */
    struct way way[CPU_ARRAYS_MOST];
};

static co_u64 least(co_u64 a, co_u64 b)
{
    return a < b ? a : b;
}

static void own_room(const struct cpu_pass *p, struct cpu_room *room, struct own *own)
{
    co_u64 row = p->stride;
    own->digits = cpu_room_take(room, 2 * CHUNK);
    own->numbers = cpu_room_take(room, 8 * CHUNK);
    own->counts = cpu_room_take(room, 4 * LANES * row);
    for (co_u32 a = 0; a < p->arrays; a++) {
        struct way *way = &own->way[a];
        way->bytes = p->lines * LINE;
        way->next = cpu_room_take(room, 4 * row);
        way->head = cpu_room_take(room, 4 * row);
        way->to = cpu_room_take(room, sizeof(char *) * row);
        way->buffer = cpu_room_take(room, way->bytes * row);
    }
}

static void own_of(const struct cpu_pass *p, unsigned worker, struct own *own)
{
    struct cpu_room room = {p->scratch + (p->parts > 1 ? worker : 0) * p->each, 0};
    own_room(p, &room, own);
}

static co_u32 parts_of(const struct cpu_pass *p, co_u64 threads)
{
    co_u64 parts =
        least(threads > 1 ? threads * PARTS_EACH : 1, p->n / (PART_LEAST + PART_BUCKET * p->buckets));
    co_u64 few = p->n / PART_MOST + 1;
    return (co_u32)(parts > few ? parts : few);
}

void cpu_pass_room(cohort_context *context, struct cpu_pass *p, struct cpu_room *room)
{
    co_u64 threads = cpu_device(context)->threads;
    struct cpu_room piece = {NULL, 0};
    struct own own;
    p->stride = (p->buckets + 1 + 15) / 16 * 16;
    p->lines = BUFFERED / (LINE * p->buckets * (p->arrays ? p->arrays : 1));
    p->lines = p->lines < 2 ? 1 : p->lines < LINES_MOST ? 2 : LINES_MOST;
    p->parts = parts_of(p, threads);
    p->starts = cpu_room_take(room, (co_u64)p->parts * p->stride * 8);
    p->firsts = cpu_room_take(room, (co_u64)p->parts * 8);
    own_room(p, &piece, &own);
    p->each = piece.bytes;
    p->scratch = cpu_room_take(room, p->each * (p->parts > 1 ? threads : 1));
}

static co_u64 part_begin(const struct cpu_pass *p, co_u64 part)
{
    co_u64 each = p->n / p->parts / CHUNK * CHUNK;
    return part < p->parts ? each * part : p->n;
}

static co_u32 chunk_count(co_u64 i, co_u64 end)
{
    return (co_u32)least(end - i, CHUNK);
}

static const co_u16 *chunk_digits(const struct cpu_pass *p, co_u64 i, co_u32 count, co_u16 *room)
{
    if (p->source == CPU_FROM_KEPT)
        return p->kept + i;
    cpu_pass_digits(p, i, count, room);
    return room;
}

/* ---- counting ------------------------------------------------------------------------------------------------------- */

/* What the bucket numbers are made from: that is asked for while a chunk is counted. */
static const char *read_ahead(const struct cpu_pass *p, co_u64 i, co_u32 *bytes)
{
    co_u32 kind = p->source == CPU_FROM_FN ? p->ids.fn->kind : 0;
    *bytes = kind == SPLIT_IDS8 ? 1 : kind == SPLIT_IDS16 ? 2 : kind == SPLIT_IDS32 ? 4 : p->ids.key_bytes;
    if (p->source == CPU_FROM_KEPT)
        return (const char *)(p->kept + i);
    return (const char *)(kind >= SPLIT_IDS8 ? p->ids.fn->data : p->ids.keys) + i * *bytes;
}

static void count_chunk(const struct cpu_pass *p, const co_u16 *restrict digits, co_u32 count,
                        co_u32 *restrict row, const char *ahead, co_u32 bytes)
{
    co_u32 *r1 = row + p->stride, *r2 = r1 + p->stride, *r3 = r2 + p->stride, each = count / LANES;
    for (co_u32 i = 0, end; i < each; i = end) {
        for (co_u32 line = 0; line < GROUP * LANES * bytes; line += LINE)
            __builtin_prefetch(ahead + (size_t)i * LANES * bytes + line, 0, 2);
        end = each - i < GROUP ? each : i + GROUP;
        for (; i < end; i++) {
            row[digits[i]]++;
            r1[digits[each + i]]++;
            r2[digits[2 * each + i]]++;
            r3[digits[3 * each + i]]++;
        }
    }
    for (co_u32 i = LANES * each; i < count; i++)
        row[digits[i]]++;
}

static co_u64 first_bad(const struct cpu_pass *p, const co_u16 *digits, co_u64 first)
{
    while (*digits < p->buckets) {
        digits++;
        first++;
    }
    return first;
}

static void count_part(const struct cpu_pass *p, co_u64 part, const struct own *own)
{
    co_u64 *sums = p->starts + part * p->stride, first = ~0ull, end = part_begin(p, part + 1);
    co_u32 *row = own->counts, stride = p->stride, bytes, count;
    memset(row, 0, 4ull * LANES * stride);
    for (co_u64 i = part_begin(p, part); i < end; i += count) {
        const co_u16 *digits = chunk_digits(p, i, count = chunk_count(i, end), own->digits);
        const char *ahead = read_ahead(p, i + CHUNK, &bytes);
        const co_u32 *bad = row + p->buckets;
        count_chunk(p, digits, count, row, ahead, bytes);
        if (first == ~0ull && (bad[0] | bad[stride] | bad[2 * stride] | bad[3 * stride]))
            first = first_bad(p, digits, i);
    }
    for (co_u32 b = 0; b <= p->buckets; b++)
        sums[b] = (co_u64)row[b] + row[b + stride] + row[b + 2 * stride] + row[b + 3 * stride];
    p->firsts[part] = first;
}

static void count_parts(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct cpu_pass *p = arg;
    struct own own;
    own_of(p, worker, &own);
    for (co_u64 part = begin; part < end; part++)
        count_part(p, part, &own);
}

/* From counts to where each part's entries go. */
static void scan_starts(struct cpu_pass *p)
{
    co_u64 sum = 0;
    for (co_u32 b = 0; b <= p->buckets; b++) {
        p->offsets[b] = sum;
        for (co_u32 part = 0; part < p->parts; part++) {
            co_u64 *start = p->starts + (co_u64)part * p->stride + b, count = *start;
            *start = sum;
            sum += count;
        }
    }
    p->bad = p->n - p->offsets[p->buckets];
    p->first_bad = ~0ull;
    for (co_u32 part = p->parts; p->bad && part--;)
        p->first_bad = p->firsts[part] == ~0ull ? p->first_bad : p->firsts[part];
}

void cpu_pass_count(cohort_context *context, struct cpu_pass *p)
{
    cpu_parallel(context, p->parts, 1, count_parts, p);
    scan_starts(p);
}

/* ---- moving --------------------------------------------------------------------------------------------------------- */

/* A bucket's buffer is full: it goes out. `line` writes a line. */
CO_INLINE void empty(const struct way *way, co_u32 bucket, void line(char *to, const char *from))
{
    char *to = way->to[bucket];
    co_u32 first = bucket * way->bytes, head = way->head[bucket];
    const char *from = way->buffer + first;
    way->next[bucket] = first;
    if (!to)
        return;
    way->to[bucket] = to + way->bytes;
    way->head[bucket] = 0;
    if (head)
        memcpy(to + head, from + head, way->bytes - head);
    else
        for (co_u32 i = 0; i < way->bytes; i += LINE)
            line(to + i, from + i);
}

CO_INLINE void line_cached(char *to, const char *from)
{
    memcpy(to, from, LINE);
}

/* What will be written next is asked for. */
static NOINLINE void empty_cached(const struct way *way, co_u32 bucket)
{
    empty(way, bucket, line_cached);
    for (co_u32 i = 0; way->to[bucket] && i < way->bytes; i += LINE)
        __builtin_prefetch(way->to[bucket] + i, 1);
}

#if defined(__x86_64__)
CO_INLINE void line_sse2(char *to, const char *from)
{
    __m128i a = _mm_load_si128((const __m128i *)(const void *)from);
    __m128i b = _mm_load_si128((const __m128i *)(const void *)(from + 16));
    __m128i c = _mm_load_si128((const __m128i *)(const void *)(from + 32));
    __m128i d = _mm_load_si128((const __m128i *)(const void *)(from + 48));
    _mm_stream_si128((__m128i *)(void *)to, a);
    _mm_stream_si128((__m128i *)(void *)(to + 16), b);
    _mm_stream_si128((__m128i *)(void *)(to + 32), c);
    _mm_stream_si128((__m128i *)(void *)(to + 48), d);
}

AVX512 static inline void line_avx512(char *to, const char *from)
{
    _mm512_stream_si512((void *)to, _mm512_load_si512((const void *)from));
}

static NOINLINE void empty_sse2(const struct way *way, co_u32 bucket)
{
    empty(way, bucket, line_sse2);
}

AVX512 static NOINLINE void empty_avx512(const struct way *way, co_u32 bucket)
{
    empty(way, bucket, line_avx512);
}

static void (*empty_streaming(void))(const struct way *, co_u32)
{
    return __builtin_cpu_supports("avx512f") ? empty_avx512 : empty_sse2;
}
#else
static void (*empty_streaming(void))(const struct way *, co_u32)
{
    return empty_cached;
}
#endif

/* An entry into its bucket's buffer; `end` is where that of byte 0 of all buffers would end. */
CO_INLINE void put(const struct way *way, co_u32 *restrict next, char *restrict end,
                   const co_u16 *restrict digit, const char *restrict entry, co_u32 mask, co_u32 bytes)
{
    co_u32 at = next[*digit] + bytes;
    memcpy(end + at - bytes, entry, bytes);
    next[*digit] = at;
    if (__builtin_expect(!(at & mask), 0))
        way->empty(way, *digit);
}

/* A chunk of an array into the buffers. */
CO_INLINE void scatter(const struct way *way, const co_u16 *restrict digits, co_u32 count,
                       const char *restrict in, co_u32 bytes)
{
    co_u32 *restrict next = way->next, mask = way->bytes - 1, groups = count / GROUP;
    char *restrict buffer = way->buffer;
    for (; groups; groups--, digits += GROUP, in += (size_t)GROUP * bytes) {
        for (co_u32 line = 0; line < GROUP * bytes; line += LINE)
            __builtin_prefetch(in + (size_t)CHUNK * bytes + line, 0, 2);
#pragma GCC unroll 16
        for (co_u32 k = 0; k < GROUP; k++)
            put(way, next, buffer, digits + k, in + (size_t)k * bytes, mask, bytes);
    }
    for (co_u32 k = 0; k < count % GROUP; k++)
        put(way, next, buffer, digits + k, in + (size_t)k * bytes, mask, bytes);
}

static const char *count_on(co_u64 first, co_u32 count, co_u32 bytes, co_u64 *numbers)
{
    co_u32 *narrow = (co_u32 *)(void *)numbers;
    for (co_u32 i = 0; i < count && bytes == 4; i++)
        narrow[i] = (co_u32)(first + i);
    for (co_u32 i = 0; i < count && bytes == 8; i++)
        numbers[i] = first + i;
    return (const char *)numbers;
}

static void scatter_array(const struct cpu_pass *p, const struct own *own, co_u32 a, const co_u16 *digits,
                          co_u64 i, co_u32 count)
{
    const struct cpu_array *array = &p->array[a];
    const struct way *way = &own->way[a];
    const char *in = array->in ? (const char *)array->in + i * array->bytes
                               : count_on(p->first + i, count, array->bytes, own->numbers);
    switch (array->bytes) {
    case 1:
        scatter(way, digits, count, in, 1);
        break;
    case 2:
        scatter(way, digits, count, in, 2);
        break;
    case 4:
        scatter(way, digits, count, in, 4);
        break;
    case 8:
        scatter(way, digits, count, in, 8);
        break;
    default:
        scatter(way, digits, count, in, 16);
    }
}

static void begin_array(const struct cpu_pass *p, co_u64 part, const struct cpu_array *array, struct way *way)
{
    const co_u64 *starts = p->starts + part * p->stride;
    way->empty = p->streaming ? empty_streaming() : empty_cached;
    for (co_u32 b = 0; b < p->buckets; b++) {
        char *at = (char *)array->out + starts[b] * array->bytes;
        way->head[b] = (co_u32)((uintptr_t)at % LINE);
        way->to[b] = at - way->head[b];
        way->next[b] = b * way->bytes + way->head[b];
    }
    way->to[p->buckets] = NULL;
    way->head[p->buckets] = 0;
    way->next[p->buckets] = p->buckets * way->bytes;
}

static void end_array(const struct cpu_pass *p, const struct way *way)
{
    for (co_u32 b = 0; b < p->buckets; b++) {
        co_u32 first = b * way->bytes + way->head[b];
        memcpy(way->to[b] + way->head[b], way->buffer + first, way->next[b] - first);
    }
}

static void move_part(const struct cpu_pass *p, co_u64 part, struct own *own)
{
    co_u64 end = part_begin(p, part + 1);
    co_u32 count;
    for (co_u32 a = 0; a < p->arrays; a++)
        begin_array(p, part, &p->array[a], &own->way[a]);
    for (co_u64 i = part_begin(p, part); i < end; i += count) {
        const co_u16 *digits = chunk_digits(p, i, count = chunk_count(i, end), own->digits);
        for (co_u32 a = 0; a < p->arrays; a++)
            scatter_array(p, own, a, digits, i, count);
    }
    for (co_u32 a = 0; a < p->arrays; a++)
        end_array(p, &own->way[a]);
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

static void move_parts(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct cpu_pass *p = arg;
    struct own own;
    own_of(p, worker, &own);
    for (co_u64 part = begin; part < end; part++)
        move_part(p, part, &own);
}

void cpu_pass_move(cohort_context *context, struct cpu_pass *p)
{
    co_u64 all = 0;
    for (co_u32 a = 0; a < p->arrays; a++)
        all += p->n * p->array[a].bytes;
    p->streaming = all > CACHED_MOST;
    if (p->arrays && p->n)
        cpu_parallel(context, p->parts, 1, move_parts, p);
}

/* ---- arrays --------------------------------------------------------------------------------------------------------- */

void cpu_pass_arrays(struct cpu_pass *p, const void *keys, void *keys_out, co_u32 key_bytes,
                     const struct split_column *column, co_u32 columns, void *permutation,
                     co_u32 permutation_bytes)
{
    p->arrays = 0;
    if (keys_out)
        p->array[p->arrays++] = (struct cpu_array){keys, keys_out, key_bytes};
    for (co_u32 c = 0; c < columns; c++)
        if (column[c].out)
            p->array[p->arrays++] = (struct cpu_array){column[c].in, column[c].out, column[c].bytes};
    if (permutation)
        p->array[p->arrays++] = (struct cpu_array){NULL, permutation, permutation_bytes};
}

struct counting_up {
    const struct cpu_array *array;
    co_u64 first;
};

static void count_up(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct counting_up *c = arg;
    (void)worker;
    for (co_u64 i = begin; i < end && c->array->bytes == 4; i++)
        ((co_u32 *)c->array->out)[i] = (co_u32)(c->first + i);
    for (co_u64 i = begin; i < end && c->array->bytes == 8; i++)
        ((co_u64 *)c->array->out)[i] = c->first + i;
}

void cpu_pass_copy(cohort_context *context, const struct cpu_pass *p)
{
    for (co_u32 a = 0; a < p->arrays; a++) {
        const struct cpu_array *array = &p->array[a];
        struct counting_up c = {array, p->first};
        if (array->in)
            context->backend->copy(context, array->out, array->in, p->n * array->bytes);
        else
            cpu_parallel(context, p->n, COUNT_UP_GRAIN, count_up, &c);
    }
}
