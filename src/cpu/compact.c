/* cpu/compact.c: compaction on the host's threads.
 *
 * First a bitmap of what is kept is made (or is the caller's `where`), with the number of ones of every block
 * of 4,096 entries; their sums say where each block's kept and rejected entries go. Then every block lists
 * the places of its ones and of its zeros, without a branch an entry, and each array is gathered along these
 * lists. A segment's first kept entry is the number of ones before it: its block's sum and a count of
 * bits. */
#include "backend/compact.h"
#include "shape/bits.h"
#include "split.h"

#include <string.h>

#define BLOCK         4096u
#define WORDS         (BLOCK / 32)
#define GRAIN         4u /* blocks that a thread takes at a time */
#define SEGMENT_GRAIN 4096u
#define LENGTHS_GRAIN 8192u

struct wide {
    co_u64 lo, hi;
};

struct job {
    const struct compact *c;
    struct cpu_ids ids;
    const co_u32 *bits;
    co_u32 *made;     /* the same where it is ours */
    co_u64 *before;   /* a block's kept entries, then those before it; one more at the end */
    co_u64 first_bad; /* atomic minimum */
};

static co_u64 blocks_of(co_u64 n)
{
    return n / BLOCK + (n % BLOCK != 0);
}

static co_u32 count_of(const struct job *j, co_u64 block)
{
    co_u64 left = j->c->n - block * BLOCK;
    return left < BLOCK ? (co_u32)left : BLOCK;
}

/* Word w of the bitmap, zeros beyond n. */
static co_u32 word_at(const struct job *j, co_u64 w)
{
    return bits_word(j->bits, w * 32, j->c->n);
}

static void find_bad(struct job *j, const co_u32 *ids, co_u32 n, co_u64 first)
{
    for (co_u32 i = 0; i < n; i++)
        if (ids[i] == SPLIT_BAD) {
            co_min64(&j->first_bad, first + i);
            return;
        }
}

/* Up to 32 entries from `first` on that differ from the one before them. */
#define CHANGES(T)                                                       \
    static co_u32 changes_##T(const T *keys, co_u64 first, co_u32 count) \
    {                                                                    \
        const T *key = keys + first;                                     \
        co_u32 word = !first || key[0] != key[-1];                       \
        for (co_u32 b = 1; b < count; b++)                               \
            word |= (co_u32)(key[b] != key[b - 1]) << b;                 \
        return word;                                                     \
    }
CHANGES(co_u32)
CHANGES(co_u64)

static void make_changes(struct job *j, co_u64 block)
{
    const struct compact *c = j->c;
    const co_u32 count = count_of(j, block);
    for (co_u32 i = 0; i < count; i += 32) {
        const co_u64 first = block * BLOCK + i;
        const co_u32 n = count - i < 32 ? count - i : 32;
        j->made[first / 32] =
            c->key_bytes == 8 ? changes_co_u64(c->keys, first, n) : changes_co_u32(c->keys, first, n);
    }
}

/* The bitmap of a block. */
static void make_bits(struct job *j, co_u64 block)
{
    int table = j->ids.fn->kind == SPLIT_TABLE8 || j->ids.fn->kind == SPLIT_TABLE16;
    co_u32 ids[CPU_IDS], count = count_of(j, block), n;
    for (co_u32 i = 0; i < count; i += n) {
        n = count - i < CPU_IDS ? count - i : CPU_IDS;
        cpu_ids(&j->ids, block * BLOCK + i, n, ids);
        if (table)
            find_bad(j, ids, n, block * BLOCK + i);
        for (co_u32 k = 0; table && k < n; k++)
            ids[k] = ids[k] == SPLIT_BAD ? 0 : ids[k];
        for (co_u32 k = n; k % 32; k++)
            ids[k] = 0;
        for (co_u32 k = 0; k < n; k += 32) {
            co_u32 word = 0;
            for (co_u32 b = 0; b < 32; b++)
                word |= (co_u32)(ids[k + b] != 0) << b;
            j->made[block * WORDS + (i + k) / 32] = word;
        }
    }
}

static void count_blocks(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct job *j = arg;
    (void)worker;
    for (co_u64 block = begin; block < end; block++) {
        co_u64 ones = 0, words = (count_of(j, block) + 31) / 32;
        if (j->made && j->c->fn.kind == SPLIT_CHANGES)
            make_changes(j, block);
        else if (j->made)
            make_bits(j, block);
        for (co_u64 w = block * WORDS; w < block * WORDS + words; w++)
            ones += (co_u64)__builtin_popcount(word_at(j, w));
        j->before[block] = ones;
    }
}

/* One word for thousands of entries. */
static void scan_blocks(struct job *j, co_u64 blocks)
{
    co_u64 sum = 0;
    for (co_u64 block = 0; block < blocks; block++) {
        co_u64 ones = j->before[block];
        j->before[block] = sum;
        sum += ones;
    }
    j->before[blocks] = sum;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* The places of a block's ones, or of its zeros; returns how many. `places` has room for one more. */
static co_u32 list(const struct job *j, co_u64 block, co_u32 turn, co_u16 *restrict places)
{
    co_u32 count = count_of(j, block), n = 0;
    for (co_u32 i = 0; i < count; i += 32) {
        co_u32 word = word_at(j, block * WORDS + i / 32) ^ turn, many = count - i < 32 ? count - i : 32;
        for (co_u32 b = 0; b < many; b++) {
            places[n] = (co_u16)(i + b);
            n += word >> b & 1;
        }
    }
    return n;
}

#define GATHER(T)                                               \
    do {                                                        \
        const T *restrict t_in = (const T *)(const void *)from; \
        T *restrict t_out = (T *)to;                            \
        for (co_u32 i = 0; i < n; i++)                          \
            t_out[i] = t_in[places[i]];                         \
    } while (0)

static void gather(const void *in, void *out, co_u32 bytes, co_u64 first, co_u64 at, const co_u16 *places,
                   co_u32 n)
{
    void *to = (char *)out + at * bytes;
    if (!out)
        return;
    if (!in) {
        for (co_u32 i = 0; i < n; i++)
            ((co_u64 *)to)[i] = first + places[i];
        return;
    }
    const char *from = (const char *)in + first * bytes;
    switch (bytes) {
    case 1:
        GATHER(co_u8);
        break;
    case 2:
        GATHER(co_u16);
        break;
    case 4:
        GATHER(co_u32);
        break;
    case 8:
        GATHER(co_u64);
        break;
    default:
        GATHER(struct wide);
    }
}

static void write_blocks(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *j = arg;
    const struct compact *c = j->c;
    co_u16 places[BLOCK + 1];
    int keeps = c->kept != NULL, rejects = c->rejected != NULL;
    (void)worker;
    for (co_u32 k = 0; k < c->columns; k++) {
        keeps |= c->column[k].out != NULL;
        rejects |= c->column_rejected[k] != NULL;
    }
    for (co_u64 block = begin; block < end; block++) {
        co_u64 first = block * BLOCK, at = j->before[block];
        co_u32 n = keeps ? list(j, block, 0, places) : 0;
        if (n)
            gather(c->keys, c->kept, c->key_bytes, first, at, places, n);
        for (co_u32 k = 0; n && k < c->columns; k++)
            gather(c->column[k].in, c->column[k].out, c->column[k].bytes, first, at, places, n);
        n = rejects ? list(j, block, ~0u, places) : 0;
        if (n)
            gather(c->keys, c->rejected, c->key_bytes, first, first - at, places, n);
        for (co_u32 k = 0; n && k < c->columns; k++)
            gather(c->column[k].in, c->column_rejected[k], c->column[k].bytes, first, first - at, places, n);
    }
}

static co_u64 kept_before(const struct job *j, co_u64 i)
{
    co_u64 sum = j->before[i / BLOCK], w = i / BLOCK * WORDS;
    for (; w < i / 32; w++)
        sum += (co_u64)__builtin_popcount(j->bits[w]);
    return i % 32 ? sum + (co_u64)__builtin_popcount(word_at(j, w) & ((1u << i % 32) - 1)) : sum;
}

static void place_segments(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *j = arg;
    (void)worker;
    for (co_u64 s = begin; s < end; s++)
        j->c->segment_kept[s] = kept_before(j, j->c->segment_offsets[s]);
}

static cohort_status cpu_compact_run(cohort_context *context, const struct compact *c, struct arena *arena)
{
    struct job j = {.c = c,
                    .ids = {&c->fn, &c->source, c->keys, c->key_bytes, cpu_device(context)->level},
                    .first_bad = ~0ull};
    co_u64 blocks = blocks_of(c->n);
    j.before = arena_take(arena, 8 * (blocks + 1));
    if (c->fn.kind)
        j.made = arena_take(arena, blocks * WORDS * 4);
    if (arena->asks)
        return COHORT_OK;
    j.bits = j.made ? j.made : c->where;
    cohort_status status = cpu_parallel_told(context, "compact", blocks, GRAIN, count_blocks, &j);
    if (status)
        return status;
    scan_blocks(&j, blocks);
    status = cpu_parallel_told(context, "compact", blocks, GRAIN, write_blocks, &j);
    if (status)
        return status;
    if (c->total)
        *c->total = j.before[blocks];
    if (c->segment_kept)
        cpu_parallel(context, c->segments + 1, SEGMENT_GRAIN, place_segments, &j);
    if (j.first_bad != ~0ull)
        co_min64(&c->deferred->first_bad, j.first_bad);
    return COHORT_OK;
}

static void write_lengths(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct compact_lengths *s = arg;
    (void)worker;
    for (co_u64 i = begin; i < end; i++)
        s->lengths[i] = compact_length(s, *s->total, i);
}

static cohort_status cpu_compact_lengths(cohort_context *context, const struct compact_lengths *step)
{
    struct compact_lengths s = *step;
    cpu_parallel(context, *s.total, LENGTHS_GRAIN, write_lengths, &s);
    return COHORT_OK;
}

const struct compact_backend cpu_compact_backend = {
    .run = cpu_compact_run,
    .lengths = cpu_compact_lengths,
};
