/* split_tiles.c: the second half of a pass of split_pass.c where buckets are few (64 at most) and the
 * processor has AVX-512 with counts of bits: entries are put in order a chunk at a time, in cache, without a
 * counter in memory.
 *
 * Sixteen entries get their ranks at once, their numbers among the chunk's entries of their buckets. A test
 * of each bit of the bucket numbers gives sixteen bits, one an entry; lane b of a vector takes for every bit
 * those that are as in b and so has the entries of bucket b as a mask. An entry's rank is what its bucket has
 * counted so far, and the ones of its bucket's mask below the entry's own. (Ashkiani, Davidson, Meyer, Owens,
 * "GPU Multisplit", PPoPP 2016, find a warp's ranks by the same ballots.)
 *
 * With the chunk's counts every bucket gets whole lines of a tile, behind what the chunk before has left of a
 * line; an entry goes to its bucket's place + its rank, one store an entry; then the whole lines are written
 * out, past the caches. The stores of the one and the vectors of the other bind, so the next chunk is ranked
 * in the same loop as this one is scattered.
 *
 * This is for one array of 4 bytes into 5 to 32 buckets: into fewer, comparing costs less, and into more, and
 * of several or wider arrays, the buffers of split_move.c do. */
#include "split.h"

#include <string.h>

#if defined(__x86_64__)
#    include <immintrin.h>
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512cd,avx512dq,avx512vpopcntdq")))

#    define GROUP    16u
#    define LINE     64u
#    define LEAST    5u  /* buckets, */
#    define MOST     32u /* those that are dropped counted as one */
#    define BYTES    4u  /* of an entry */
#    define ENTRIES  (LINE / BYTES)
#    define PAGE     4096u
#    define APART    1024u /* bytes in a page between arrays that are read and written side by side */
#    define NOINLINE __attribute__((noinline))

/* A worker's own memory. */
struct own {
    const struct cpu_array *array;
    co_u16 *digits[2];
    co_u64 *numbers; /* a chunk of a permutation */
    char *work;      /* ranks and places, where they do not meet the input in the low bits of addresses */
    co_u32 *ranks, *places;
    co_u32 *counts, *next_counts,
        *base; /* of a bucket: entries of a chunk, the first one's place in the tile */
    co_u32 *tile;
    co_u32 *left;  /* a line a bucket, that is not full yet, */
    co_u32 *count; /* its entries, */
    co_u32 *head;  /* those at its front that are another part's or bucket's, */
    co_u32 **to;   /* and where it goes */
};

static void own_arena(const struct cpu_pass *p, struct arena *arena, struct own *own)
{
    own->array = p->array;
    own->digits[0] = arena_take(arena, 2 * CPU_CHUNK);
    own->digits[1] = arena_take(arena, 2 * CPU_CHUNK);
    own->numbers = arena_take(arena, 8 * CPU_CHUNK);
    own->work = arena_take(arena, 8 * CPU_CHUNK + APART + PAGE);
    own->counts = arena_take(arena, 4 * MOST);
    own->next_counts = arena_take(arena, 4 * MOST);
    own->base = arena_take(arena, 4 * MOST);
    own->tile = arena_take(arena, BYTES * CPU_CHUNK + 2 * MOST * LINE);
    own->left = arena_take(arena, MOST * LINE);
    own->count = arena_take(arena, 4 * MOST);
    own->head = arena_take(arena, 4 * MOST);
    own->to = arena_take(arena, MOST * sizeof *own->to);
}

static int is_tiled(const struct cpu_pass *p)
{
    return p->level == CPU_AVX512 && p->buckets >= LEAST && p->buckets <= MOST && p->arrays == 1 &&
           p->array[0].bytes == BYTES;
}

co_u64 cpu_tiles_bytes(const struct cpu_pass *p)
{
    struct arena arena = {.memory = NULL};
    struct own own;
    if (is_tiled(p))
        own_arena(p, &arena, &own);
    return arena.used;
}

static co_u32 symbols(const struct cpu_pass *p)
{
    return p->buckets + (p->bad > 0);
}

int cpu_tiles_fit(const struct cpu_pass *p)
{
    return is_tiled(p) && symbols(p) <= MOST && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vpopcntdq");
}

/* ---- ranks --------------------------------------------------------------------------------------------- */

/* What the buckets have counted, and constants; `bits` of a bucket number, in `banks` of sixteen. */
struct counter {
    __m512i count[2], below, clear[4];
};

CO_INLINE co_u32 banks_of(co_u32 bits)
{
    return bits <= 4 ? 1 : 2;
}

AVX512 CO_INLINE void counter_begin(struct counter *c)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i one = _mm512_set1_epi32(1);
    c->below = _mm512_sub_epi32(_mm512_sllv_epi32(one, lane), one);
    c->count[0] = c->count[1] = _mm512_setzero_si512();
    for (unsigned b = 0; b < 4; b++) {
        c->clear[b] = _mm512_sub_epi32(_mm512_and_epi32(_mm512_srli_epi32(lane, b), one), one);
    }
}

/* Lane i: number d[i] of the table. */
AVX512 CO_INLINE __m512i look_up(const __m512i *table, __m512i d, co_u32 bits)
{
    return bits <= 4 ? _mm512_permutexvar_epi32(d, table[0])
                     : _mm512_permutex2var_epi32(table[0], d, table[1]);
}

/* In every lane: which entries have bit b set. */
AVX512 CO_INLINE __m512i ballot(__m512i d, co_u32 b)
{
    return _mm512_broadcastmw_epi32(_mm512_test_epi32_mask(d, _mm512_set1_epi32((int)(1u << b))));
}

/* Lane b of a bank: which of `some` entries are of bucket b. */
AVX512 CO_INLINE void entries_of(const struct counter *c, __m512i d, co_u32 some, co_u32 bits, __m512i *of)
{
    of[0] = _mm512_set1_epi32((int)some);
#    pragma GCC unroll 4
    for (co_u32 b = 0; b < (bits < 4 ? bits : 4);
         b++) /* 0x60: the first, and what of the others is not alike */
        of[0] = _mm512_ternarylogic_epi32(of[0], ballot(d, b), c->clear[b], 0x60);
    if (bits == 5) {
        __m512i set = ballot(d, 4);
        of[1] = _mm512_and_si512(set, of[0]);
        of[0] = _mm512_andnot_si512(set, of[0]);
    }
}

AVX512 CO_INLINE void rank_group(struct counter *c, const co_u16 *digits, co_u32 some, co_u32 bits,
                                 co_u32 *ranks)
{
    const co_u32 banks = banks_of(bits);
    __m512i of[2], d = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16((__mmask16)some, digits));
    entries_of(c, d, some, bits, of);
    __m512i same = _mm512_and_si512(look_up(of, d, bits), c->below);
    _mm512_store_si512(ranks, _mm512_add_epi32(look_up(c->count, d, bits), _mm512_popcnt_epi32(same)));
#    pragma GCC unroll 2
    for (co_u32 bank = 0; bank < banks; bank++)
        c->count[bank] = _mm512_add_epi32(c->count[bank], _mm512_popcnt_epi32(of[bank]));
}

/* Entries to their places. */
CO_INLINE void scatter(co_u32 *restrict tile, const co_u32 *restrict places, const co_u32 *restrict in,
                       co_u32 count)
{
#    pragma GCC unroll 16
    for (co_u32 k = 0; k < count; k++)
        tile[places[k]] = in[k];
}

/* The ranks of a chunk, while another one, not smaller, is scattered; that one may be of no entries. */
AVX512 CO_INLINE void rank_chunk(const struct own *own, const co_u16 *digits, co_u32 count, const co_u32 *in,
                                 co_u32 in_count, co_u32 bits)
{
    struct counter c;
    co_u32 k = 0;
    counter_begin(&c);
    for (; k + GROUP <= count; k += GROUP) {
        rank_group(&c, digits + k, 0xffff, bits, own->ranks + k);
        if (!in_count)
            continue;
        __builtin_prefetch(in + 2 * CPU_CHUNK + k, 0, 2);
        scatter(own->tile, own->places + k, in + k, GROUP);
    }
    if (k < count)
        rank_group(&c, digits + k, (1u << (count - k)) - 1, bits, own->ranks + k);
    if (k < in_count)
        scatter(own->tile, own->places + k, in + k, in_count - k);
    for (co_u32 bank = 0; bank < banks_of(bits); bank++)
        _mm512_store_si512(own->next_counts + GROUP * bank, c.count[bank]);
}

/* From ranks to places. */
AVX512 CO_INLINE void place_chunk(const struct own *own, const co_u16 *digits, co_u32 count, co_u32 bits)
{
    __m512i base[2];
    for (co_u32 bank = 0; bank < banks_of(bits); bank++)
        base[bank] = _mm512_load_si512(own->base + GROUP * bank);
    for (co_u32 k = 0; k < count; k += GROUP) {
        co_u32 some = count - k < GROUP ? (1u << (count - k)) - 1 : 0xffff;
        __m512i d = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16((__mmask16)some, digits + k));
        _mm512_store_si512(own->places + k,
                           _mm512_add_epi32(_mm512_load_si512(own->ranks + k), look_up(base, d, bits)));
    }
}

/* By the bits of a bucket number. */
struct forms {
    void (*rank)(const struct own *own, const co_u16 *digits, co_u32 count, const co_u32 *in,
                 co_u32 in_count);
    void (*place)(const struct own *own, const co_u16 *digits, co_u32 count);
};

#    define FORMS(bits)                                                                                     \
        AVX512 static NOINLINE void rank_##bits(const struct own *own, const co_u16 *digits, co_u32 count,  \
                                                const co_u32 *in, co_u32 in_count)                          \
        {                                                                                                   \
            rank_chunk(own, digits, count, in, in_count, bits);                                             \
        }                                                                                                   \
        AVX512 static NOINLINE void place_##bits(const struct own *own, const co_u16 *digits, co_u32 count) \
        {                                                                                                   \
            place_chunk(own, digits, count, bits);                                                          \
        }                                                                                                   \
        static const struct forms forms_##bits = {rank_##bits, place_##bits};
FORMS(3)
FORMS(4)
FORMS(5)

static const struct forms *forms_of(const struct cpu_pass *p)
{
    return symbols(p) <= 8 ? &forms_3 : symbols(p) <= 16 ? &forms_4 : &forms_5;
}

/* ---- the tile ------------------------------------------------------------------------------------------ */

/* Every bucket's place in the tile, and what is left of it before. */
AVX512 static void lay_out(const struct cpu_pass *p, const struct own *own)
{
    co_u32 at = 0;
    for (co_u32 b = 0; b < symbols(p); b++) {
        _mm512_store_si512(own->tile + at, _mm512_load_si512(own->left + b * ENTRIES));
        own->base[b] = at + own->count[b];
        at += (own->count[b] + own->counts[b]) / ENTRIES * ENTRIES + ENTRIES;
    }
}

/* Entries of a line at a place that may hold others' as well. */
static NOINLINE void write_some(co_u32 *to, const co_u32 *line, co_u32 begin, co_u32 end)
{
    for (co_u32 i = begin; i < end; i++)
        to[i] = line[i];
}

/* Whole lines go out, the rest is left for the next chunk. */
AVX512 CO_INLINE void write_lines(const struct cpu_pass *p, const struct own *own, int streaming)
{
    for (co_u32 b = 0; b < p->buckets; b++) {
        co_u32 all = own->count[b] + own->counts[b], *to = own->to[b];
        const co_u32 *from = own->tile + own->base[b] - own->count[b], *end = from + all / ENTRIES * ENTRIES;
        own->to[b] += end - from;
        own->count[b] = all % ENTRIES;
        if (__builtin_expect(from < end && own->head[b], 0)) {
            write_some(to, from, own->head[b], ENTRIES);
            own->head[b] = 0;
            to += ENTRIES;
            from += ENTRIES;
        }
        for (; from < end; from += ENTRIES, to += ENTRIES)
            if (streaming)
                _mm512_stream_si512((void *)to, _mm512_load_si512(from));
            else
                _mm512_store_si512(to, _mm512_load_si512(from));
        _mm512_store_si512(own->left + b * ENTRIES, _mm512_load_si512(end));
    }
}

AVX512 static void write_tile(const struct cpu_pass *p, const struct own *own)
{
    if (p->streaming)
        write_lines(p, own, 1);
    else
        write_lines(p, own, 0);
}

/* ---- parts --------------------------------------------------------------------------------------------- */

/* A load that follows a store to the same place of another page waits for it. */
static void begin_work(struct own *own)
{
    uintptr_t in = (uintptr_t)own->array->in + APART;
    char *work = own->work + (in - (uintptr_t)own->work) % PAGE / LINE * LINE;
    own->ranks = (co_u32 *)(void *)work;
    own->places = own->ranks + CPU_CHUNK + APART / 4;
}

static void begin_part(const struct cpu_pass *p, co_u64 part, struct own *own)
{
    const co_u64 *starts = p->starts + part * p->stride;
    begin_work(own);
    memset(own->count, 0, 4 * MOST);
    for (co_u32 b = 0; b < p->buckets; b++) {
        co_u32 *at = (co_u32 *)own->array->out + starts[b];
        own->head[b] = own->count[b] = (co_u32)((uintptr_t)at % LINE) / BYTES;
        own->to[b] = at - own->head[b];
    }
}

static co_u32 chunk_at(co_u64 i, co_u64 end)
{
    return end - i < CPU_CHUNK ? (co_u32)(end - i) : CPU_CHUNK;
}

void cpu_tiles_move(const struct cpu_pass *p, co_u64 part, char *scratch)
{
    const struct forms *forms = forms_of(p);
    co_u64 i = cpu_part_begin(p, part), end = cpu_part_begin(p, part + 1);
    co_u32 count = chunk_at(i, end), turn = 0;
    struct arena arena = {.memory = scratch};
    struct own own;
    own_arena(p, &arena, &own);
    begin_part(p, part, &own);
    const co_u16 *digits = cpu_chunk_digits(p, i, count, own.digits[turn]);
    forms->rank(&own, digits, count, NULL, 0);
    while (count) {
        const co_u32 *in = (const void *)cpu_chunk_of(p, own.array, i, count, own.numbers);
        co_u32 next = chunk_at(i + count, end), *counts = own.counts;
        own.counts = own.next_counts;
        own.next_counts = counts;
        lay_out(p, &own);
        forms->place(&own, digits, count);
        if (next)
            digits = cpu_chunk_digits(p, i + count, next, own.digits[turn ^= 1]);
        forms->rank(&own, digits, next, in, count);
        write_tile(p, &own);
        i += count;
        count = next;
    }
    for (co_u32 b = 0; b < p->buckets; b++)
        write_some(own.to[b], own.left + b * ENTRIES, own.head[b], own.count[b]);
    _mm_sfence();
}
#else
co_u64 cpu_tiles_bytes(const struct cpu_pass *p)
{
    (void)p;
    return 0;
}

int cpu_tiles_fit(const struct cpu_pass *p)
{
    (void)p;
    return 0;
}

void cpu_tiles_move(const struct cpu_pass *p, co_u64 part, char *scratch)
{
    (void)p;
    (void)part;
    (void)scratch;
}
#endif
