/* split_pass.c: one stable pass of multisplit or of radix sort over all the context's threads.
 *
 * The entries are cut into parts, contiguous runs of which each is one thread's. First every part counts its entries of each bucket,
 * and the counts are scanned: now each part knows where its first entry of each bucket goes. Then the parts are taken once more, and
 * every array is moved. An entry goes into a small buffer of its bucket, in cache; a full one is written out in whole cache
 * lines, past the caches where the arrays are larger than these. (Software write-combining: Balkesen et al., "Main-Memory Hash
 * Joins on Multi-Core CPUs", ICDE 2013.) A buffer's first slot is the line in which the part's first entry of the bucket lies, so that
 * all but the first and the last write are whole lines at the lines' addresses, whatever the alignment of the output.
 *
 * Both times the bucket numbers of a chunk are made first, and while a chunk is worked on the next one is asked for. Counting goes
 * in four lanes with counts of their own, lest equal buckets in a row wait for each other. */
#include "split.h"

#include <string.h>

#if defined(__x86_64__)
#    include <emmintrin.h>
#endif

#define CHUNK 2048u /* entries whose buckets are made at a time */
#define GROUP 16u   /* entries between two requests to the memory */
#define LANES 4u
#define LINE  64u
#define BUFFERED \
    32768u /* bytes of all buckets' buffers that fit in the first cache beside what else is used */
#define LINES_MOST     4u
#define PARTS_EACH     4u     /* parts a thread, */
#define PART_LEAST     32768u /* of so many entries and, */
#define PART_BUCKET    64u    /* so many of each bucket, at least, */
#define PART_MOST      (1ull << 31)
#define COUNT_UP_GRAIN 65536u
#define CACHED_LEAST   (4ull << 20)

/* Where one array's entries of every bucket go; a row of `buckets` + 1. */
struct lane_out {
    co_u32 *next; /* the slot of the next entry, in all buckets' buffers */
    co_u32 *head; /* slots at the front of the buffer that are another part's or bucket's */
    char **to;    /* where the buffer will be written; NULL: nowhere */
    char *buffer;
};

/* A worker's own memory. */
struct own {
    co_u16 *digits;
    co_u64 *numbers; /* a chunk of a permutation */
    co_u32 *counts;  /* LANES rows */
    struct lane_out out[CPU_ARRAYS_MOST];
};

static co_u64 least(co_u64 a, co_u64 b)
{
    return a < b ? a : b;
}

/* Slots of a bucket's buffer of an array. */
static co_u32 slots(const struct cpu_pass *p, co_u32 bytes)
{
    return p->lines * LINE / bytes;
}

static void own_room(const struct cpu_pass *p, struct cpu_room *room, struct own *own)
{
    co_u64 row = p->stride;
    own->digits = cpu_room_take(room, 2 * CHUNK);
    own->numbers = cpu_room_take(room, 8 * CHUNK);
    own->counts = cpu_room_take(room, 4 * LANES * row);
    for (co_u32 a = 0; a < p->arrays; a++) {
        own->out[a].next = cpu_room_take(room, 4 * row);
        own->out[a].head = cpu_room_take(room, 4 * row);
        own->out[a].to = cpu_room_take(room, sizeof(char *) * row);
        own->out[a].buffer = cpu_room_take(room, p->lines * LINE * row);
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
    for (co_u32 i = 0; i < count * bytes; i += LINE)
        __builtin_prefetch(ahead + i, 0, 2);
    for (co_u32 i = 0; i < each; i++) {
        row[digits[i]]++;
        r1[digits[each + i]]++;
        r2[digits[2 * each + i]]++;
        r3[digits[3 * each + i]]++;
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

CO_INLINE void write_lines(char *to, const char *from, co_u32 bytes, int streaming)
{
#if defined(__x86_64__)
    for (co_u32 i = 0; streaming && i < bytes; i += LINE) {
        __m128i a = _mm_load_si128((const __m128i *)(const void *)(from + i));
        __m128i b = _mm_load_si128((const __m128i *)(const void *)(from + i + 16));
        __m128i c = _mm_load_si128((const __m128i *)(const void *)(from + i + 32));
        __m128i d = _mm_load_si128((const __m128i *)(const void *)(from + i + 48));
        _mm_stream_si128((__m128i *)(void *)(to + i), a);
        _mm_stream_si128((__m128i *)(void *)(to + i + 16), b);
        _mm_stream_si128((__m128i *)(void *)(to + i + 32), c);
        _mm_stream_si128((__m128i *)(void *)(to + i + 48), d);
    }
    if (streaming)
        return;
#endif
    for (co_u32 i = 0; i < bytes; i += LINE)
        memcpy(to + i, from + i, LINE);
}

/* A bucket's buffer is full. */
CO_INLINE void empty(const struct lane_out *out, co_u32 bucket, co_u32 first, co_u32 many, co_u32 bytes,
                     int streaming)
{
    char *to = out->to[bucket];
    const char *from = out->buffer + (size_t)first * bytes;
    co_u32 head = out->head[bucket];
    out->next[bucket] = first;
    if (!to)
        return;
    out->to[bucket] = to + (size_t)many * bytes;
    out->head[bucket] = 0;
    if (head)
        memcpy(to + (size_t)head * bytes, from + (size_t)head * bytes, (size_t)(many - head) * bytes);
    else
        write_lines(to, from, many * bytes, streaming);
}

/* An entry into its bucket's buffer. */
CO_INLINE void put(const struct lane_out *out, co_u32 *restrict next, char *restrict buffer, co_u32 bucket,
                   const char *restrict entry, co_u32 many, co_u32 bytes, int streaming)
{
    co_u32 slot = next[bucket];
    memcpy(buffer + (size_t)slot * bytes, entry, bytes);
    next[bucket] = ++slot;
    if (__builtin_expect(!(slot & (many - 1)), 0))
        empty(out, bucket, slot - many, many, bytes, streaming);
}

/* A chunk of an array into the buffers. */
CO_INLINE void scatter(const struct lane_out *out, const co_u16 *restrict digits, co_u32 count,
                       const char *restrict in, co_u32 many, co_u32 bytes, int streaming)
{
    co_u32 *restrict next = out->next, i = 0;
    char *restrict buffer = out->buffer;
    for (; i + GROUP <= count; i += GROUP) {
        const char *entry = in + (size_t)i * bytes;
        for (co_u32 line = 0; line < GROUP * bytes; line += LINE)
            __builtin_prefetch(entry + (size_t)CHUNK * bytes + line, 0, 2);
        for (co_u32 k = 0; k < GROUP; k++)
            put(out, next, buffer, digits[i + k], entry + (size_t)k * bytes, many, bytes, streaming);
    }
    for (; i < count; i++)
        put(out, next, buffer, digits[i], in + (size_t)i * bytes, many, bytes, streaming);
}

CO_INLINE void scatter_bytes(const struct cpu_pass *p, const struct lane_out *out, const co_u16 *digits,
                             co_u32 count, const char *in, co_u32 bytes)
{
    if (p->streaming)
        scatter(out, digits, count, in, slots(p, bytes), bytes, 1);
    else
        scatter(out, digits, count, in, slots(p, bytes), bytes, 0);
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
    const struct lane_out *out = &own->out[a];
    const char *in = array->in ? (const char *)array->in + i * array->bytes
                               : count_on(p->first + i, count, array->bytes, own->numbers);
    switch (array->bytes) {
    case 1:
        scatter_bytes(p, out, digits, count, in, 1);
        break;
    case 2:
        scatter_bytes(p, out, digits, count, in, 2);
        break;
    case 4:
        scatter_bytes(p, out, digits, count, in, 4);
        break;
    case 8:
        scatter_bytes(p, out, digits, count, in, 8);
        break;
    default:
        scatter_bytes(p, out, digits, count, in, 16);
    }
}

static void begin_array(const struct cpu_pass *p, co_u64 part, const struct cpu_array *array,
                        const struct lane_out *out)
{
    const co_u64 *starts = p->starts + part * p->stride;
    co_u32 many = slots(p, array->bytes);
    for (co_u32 b = 0; b < p->buckets; b++) {
        char *at = (char *)array->out + starts[b] * array->bytes;
        co_u32 before = (co_u32)((uintptr_t)at % LINE);
        out->to[b] = at - before;
        out->head[b] = before / array->bytes;
        out->next[b] = b * many + out->head[b];
    }
    out->to[p->buckets] = NULL;
    out->next[p->buckets] = p->buckets * many;
}

static void end_array(const struct cpu_pass *p, const struct cpu_array *array, const struct lane_out *out)
{
    co_u32 many = slots(p, array->bytes), bytes = array->bytes;
    for (co_u32 b = 0; b < p->buckets; b++) {
        size_t head = out->head[b], tail = out->next[b] - b * many;
        memcpy(out->to[b] + head * bytes, out->buffer + (b * (size_t)many + head) * bytes,
               (tail - head) * bytes);
    }
}

static void move_part(const struct cpu_pass *p, co_u64 part, const struct own *own)
{
    co_u64 end = part_begin(p, part + 1);
    co_u32 count;
    for (co_u32 a = 0; a < p->arrays; a++)
        begin_array(p, part, &p->array[a], &own->out[a]);
    for (co_u64 i = part_begin(p, part); i < end; i += count) {
        const co_u16 *digits = chunk_digits(p, i, count = chunk_count(i, end), own->digits);
        for (co_u32 a = 0; a < p->arrays; a++)
            scatter_array(p, own, a, digits, i, count);
    }
    for (co_u32 a = 0; a < p->arrays; a++)
        end_array(p, &p->array[a], &own->out[a]);
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
    co_u64 all = 0, cache = cpu_device(context)->cache_bytes;
    for (co_u32 a = 0; a < p->arrays; a++)
        all += p->n * p->array[a].bytes;
    p->streaming = all > CACHED_LEAST && 2 * all > cache;
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
