/* split_pass.c: one stable pass of multisplit or of radix sort over all the context's threads: its memory,
 * and counting.
 *
 * The entries are cut into parts, contiguous runs of which each is one thread's. First every part counts its
 * entries of each bucket, and the counts are scanned: now each part knows where its first entry of each
 * bucket goes. Then the parts are taken once more, and every array is moved (split_move.c).
 *
 * Both times the bucket numbers of a chunk are made first, and while a chunk is worked on the next one is
 * asked for. Counting goes in four lanes with counts of their own, lest equal buckets in a row wait for each
 * other, four bucket numbers a load; of not too many buckets, which are rarely equal, two entries are counted
 * by one addition, to the count of the two buckets together. Where vectors can count few buckets they do
 * (split_planes.c). */
#include "split.h"

#include <string.h>

#define GROUP      16u /* entries between two requests to the memory */
#define LANES      4u
#define TWO_LEAST  8u  /* buckets from which on, */
#define TWO_MOST   64u /* and up to which two entries are counted at once */
#define LINE       64u
#define PARTS_EACH 16u /* parts a thread, */
#define PARTS_FEW  4u  /* or so few, */
#define PART_MANY \
    1024u /* if that makes them of so many entries of each bucket, whose first and last lines are dear; */
#define PART_LEAST     32768u /* of so many entries and, */
#define PART_BUCKET    64u    /* so many of each bucket, at least, */
#define PART_MOST      (1ull << 31)
#define PART_TOLD      (1ull << 23)
#define COUNT_UP_GRAIN 65536u

/* A worker's own memory while it counts. */
struct own {
    co_u16 *digits;
    co_u32 *counts; /* LANES rows, or a row a bucket, */
    co_u64 *sums;   /* or what vectors count */
};

static co_u64 least(co_u64 a, co_u64 b)
{
    return a < b ? a : b;
}

static int counts_two(const struct cpu_pass *p)
{
    return p->buckets >= TWO_LEAST && p->buckets <= TWO_MOST;
}

static co_u32 count_rows(const struct cpu_pass *p)
{
    return counts_two(p) ? p->buckets + 1 : LANES;
}

static void own_arena(const struct cpu_pass *p, struct arena *arena, struct own *own)
{
    own->digits = arena_take(arena, 2 * CPU_CHUNK);
    own->counts = arena_take(arena, 4ull * count_rows(p) * p->stride);
    own->sums = arena_take(arena, 8 * CPU_PLANES_MOST);
}

/* One thread has one part; somebody who is told can end its work between parts of PART_TOLD entries. */
static co_u32 parts_of(cohort_context *context, const struct cpu_pass *p, co_u64 threads)
{
    const co_u64 most = p->what && context->progress.call ? PART_TOLD : PART_MOST;
    co_u64 parts = least(threads * PARTS_EACH, p->n / (PART_LEAST + PART_MANY * p->buckets));
    parts = threads == 1 ? 1 : parts > threads * PARTS_FEW ? parts : threads * PARTS_FEW;
    parts = least(parts, p->n / (PART_LEAST + PART_BUCKET * p->buckets));
    co_u64 few = p->n / most + 1;
    return (co_u32)(parts > few ? parts : few);
}

void cpu_pass_arena(cohort_context *context, struct cpu_pass *p, struct arena *arena)
{
    co_u64 threads = cpu_device(context)->threads;
    struct arena piece = {.memory = NULL};
    struct own own;
    p->level = cpu_device(context)->level;
    p->stride = (p->buckets + 1 + 15) / 16 * 16;
    p->parts = parts_of(context, p, threads);
    p->planes = cpu_planes_fit(p);
    p->starts = arena_take(arena, (co_u64)p->parts * p->stride * 8);
    p->firsts = arena_take(arena, (co_u64)p->parts * 8);
    own_arena(p, &piece, &own);
    p->each = cpu_move_bytes(p);
    p->each = p->each > piece.used ? p->each : piece.used;
    p->scratch = arena_take(arena, p->each * (p->parts > 1 ? threads : 1));
}

/* ---- counting ------------------------------------------------------------------------------------------ */

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
    co_u32 *r1 = row + p->stride, *r2 = r1 + p->stride, *r3 = r2 + p->stride;
    const co_u32 whole = count / (2 * GROUP) * (2 * GROUP);
    for (co_u32 i = 0; i < whole; i += 2 * GROUP) {
        for (co_u32 line = 0; line < 2 * GROUP * bytes; line += LINE)
            __builtin_prefetch(ahead + (size_t)i * bytes + line, 0, 2);
#pragma GCC unroll 8
        for (co_u32 k = 0; k < 2 * GROUP; k += LANES) {
            co_u64 four;
            memcpy(&four, digits + i + k, 8);
            row[four & 0xffff]++;
            r1[four >> 16 & 0xffff]++;
            r2[four >> 32 & 0xffff]++;
            r3[four >> 48]++;
        }
    }
    for (co_u32 i = whole; i < count; i++)
        row[digits[i]]++;
}

/* row[x * stride + y]: how often an x stood before a y. A last one without a partner is counted before a
 * 0. */
static void count_two_chunk(const struct cpu_pass *p, const co_u16 *restrict digits, co_u32 count,
                            co_u32 *restrict row, const char *ahead, co_u32 bytes)
{
    const co_u32 stride = p->stride, whole = count / (2 * GROUP) * (2 * GROUP);
    for (co_u32 i = 0; i < whole; i += 2 * GROUP) {
        for (co_u32 line = 0; line < 2 * GROUP * bytes; line += LINE)
            __builtin_prefetch(ahead + (size_t)i * bytes + line, 0, 2);
#pragma GCC unroll 16
        for (co_u32 k = 0; k < 2 * GROUP; k += 2)
            row[digits[i + k] * stride + digits[i + k + 1]]++;
    }
    for (co_u32 i = whole; i < count; i += 2)
        row[digits[i] * stride + (i + 1 < count ? digits[i + 1] : 0)]++;
}

/* The first entry of a part that has no bucket; there is one. */
static co_u64 first_bad(const struct cpu_pass *p, co_u64 i, co_u64 end, co_u16 *own)
{
    for (;;) {
        co_u32 count = (co_u32)least(end - i, CPU_CHUNK);
        const co_u16 *digits = cpu_chunk_digits(p, i, count, own);
        for (co_u32 k = 0; k < count; k++)
            if (digits[k] >= p->buckets)
                return i + k;
        i += count;
    }
}

/* From the rows to a part's counts. */
static void add_rows(const struct cpu_pass *p, const co_u32 *row, co_u64 *sums)
{
    co_u32 rows = count_rows(p);
    memset(sums, 0, 8ull * p->stride);
    for (co_u32 r = 0; r < rows; r++)
        for (co_u32 b = 0; b <= p->buckets; b++) {
            co_u32 times = row[(co_u64)r * p->stride + b];
            sums[b] += times;
            if (counts_two(p))
                sums[r] += times;
        }
}

/* From what vectors have counted of so many entries to a part's counts. */
static void take_sums(const struct cpu_pass *p, const co_u64 *made, co_u64 entries, co_u64 *sums)
{
    memset(sums, 0, 8ull * p->stride);
    sums[p->buckets] = entries;
    for (co_u32 b = 0; b < p->buckets; b++) {
        sums[b] = made[b];
        sums[p->buckets] -= made[b];
    }
}

static void count_part(const struct cpu_pass *p, co_u64 part, const struct own *own)
{
    co_u64 *sums = p->starts + part * p->stride, begin = cpu_part_begin(p, part),
           end = cpu_part_begin(p, part + 1);
    co_u32 *row = own->counts, bytes, count;
    memset(row, 0, 4ull * count_rows(p) * p->stride);
    memset(own->sums, 0, 8 * CPU_PLANES_MOST);
    for (co_u64 i = begin; i < end; i += count) {
        count = (co_u32)least(end - i, CPU_CHUNK);
        if (p->make)
            p->make(p->arg, i, i + count);
        const co_u16 *digits = cpu_chunk_digits(p, i, count, own->digits);
        const char *ahead = read_ahead(p, i + CPU_CHUNK, &bytes);
        if (p->planes)
            cpu_planes_count(p, digits, count, ahead, bytes, own->sums);
        else if (counts_two(p))
            count_two_chunk(p, digits, count, row, ahead, bytes);
        else
            count_chunk(p, digits, count, row, ahead, bytes);
    }
    if (p->planes) {
        take_sums(p, own->sums, end - begin, sums);
    } else {
        add_rows(p, row, sums);
        sums[0] -= counts_two(p) ? (end - begin) % 2 : 0;
    }
    p->firsts[part] = sums[p->buckets] ? first_bad(p, begin, end, own->digits) : ~0ull;
}

static void count_parts(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct cpu_pass *p = arg;
    struct arena arena = {.memory = cpu_pass_scratch(p, worker)};
    struct own own;
    own_arena(p, &arena, &own);
    for (co_u64 part = begin; part < end; part++)
        count_part(p, part, &own);
}

/* From counts to where each part's entries go, row by row: a bucket's counts lie far apart. */
static void scan_starts(struct cpu_pass *p)
{
    const co_u32 symbols = p->buckets + 1;
    co_u64 *restrict next = p->offsets, sum = 0;
    memset(next, 0, 8ull * symbols);
    for (co_u32 part = 0; part < p->parts; part++)
        for (co_u32 b = 0; b < symbols; b++)
            next[b] += p->starts[(co_u64)part * p->stride + b];
    for (co_u32 b = 0; b < symbols; b++) {
        co_u64 count = next[b];
        next[b] = sum;
        sum += count;
    }
    for (co_u32 part = 0; part < p->parts; part++)
        for (co_u32 b = 0; b < symbols; b++) {
            co_u64 *start = p->starts + (co_u64)part * p->stride + b, count = *start;
            *start = next[b];
            next[b] += count;
        }
    /* Now each bucket's is where it ends and the one after begins. */
    memmove(next + 1, next, 8ull * p->buckets);
    next[0] = 0;
    p->bad = p->n - next[p->buckets];
    p->first_bad = ~0ull;
    for (co_u32 part = p->parts; p->bad && part--;)
        p->first_bad = p->firsts[part] == ~0ull ? p->first_bad : p->firsts[part];
}

cohort_status cpu_pass_count(cohort_context *context, struct cpu_pass *p)
{
    cohort_status s = cpu_parallel_told(context, p->what, p->parts, 1, count_parts, p);
    if (!s)
        scan_starts(p);
    return s;
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

void cpu_pass_arrays(struct cpu_pass *p, const void *keys, void *keys_out, co_u32 key_bytes,
                     const struct batch_column *column, co_u32 columns, void *permutation,
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
            context_copy(context, array->out, array->in, p->n * array->bytes);
        else
            cpu_parallel(context, p->n, COUNT_UP_GRAIN, count_up, &c);
    }
}
