/* cpu/map_loops.h: the map's loops on the host's threads. Included by map_plain.c, map_avx2.c and
 * map_avx512.c, which say by CPU_LEVEL (0, 2, 512) for which processors the compiler makes them, and by
 * CPU_LOOPS what the table of them is called.
 *
 * Here is what the widths have in common; the loops are map_width.h, how a thread looks at a bucket is
 * map_bucket.h. */
#include <string.h>

#include "map.h"

/* So far ahead a batch's own memory is asked for. */
#define CPU_GROUPS_AHEAD 16

/* Tables up to this size are not asked for in advance: they are in a core's own cache. */
#define CPU_NEAR (512u << 10)

/* Entries that are looked for in one of them before those that are left are looked for again. */
#define CPU_NEAR_SPAN 1024u

/* The words of a table are read in halves here and there, whatever they were written as. */
typedef co_u32 __attribute__((may_alias)) cpu_u32;
typedef co_u64 __attribute__((may_alias)) cpu_u64;

/* Beside the outcomes CO_MAP_...: this bucket does not settle it. */
#define CPU_GO_ON 5

/* Where a walk ends that goes through four slots, by what is seen of them, two bits each: 16 times the slot,
 * and 1 if it holds the key. 256 further on: it begins at the third of them and goes round. */
#if CPU_LEVEL >= 2
#    define CPU_TURNED(any, turn)          (((any) >> 4 * (turn) | (any) << 4 * (turn)) & 255)
#    define CPU_FIRST(any)                 ((any)&3 ? 0 : (any)&12 ? 1 : (any)&48 ? 2 : 3)
#    define CPU_PLACE_OF(any, first, turn) (((first) + 2 * (turn)) % 4 * 16 + ((any) >> 2 * (first)&1))
#    define CPU_PLACE(any, turn)           CPU_PLACE_OF(CPU_TURNED(any, turn), CPU_FIRST(CPU_TURNED(any, turn)), turn)
#    define CPU_PLACES_4(any, turn) \
        CPU_PLACE(any, turn), CPU_PLACE(any + 1, turn), CPU_PLACE(any + 2, turn), CPU_PLACE(any + 3, turn)
#    define CPU_PLACES_16(any, turn)                                                       \
        CPU_PLACES_4(any, turn), CPU_PLACES_4(any + 4, turn), CPU_PLACES_4(any + 8, turn), \
            CPU_PLACES_4(any + 12, turn)
#    define CPU_PLACES_64(any, turn)                                                            \
        CPU_PLACES_16(any, turn), CPU_PLACES_16(any + 16, turn), CPU_PLACES_16(any + 32, turn), \
            CPU_PLACES_16(any + 48, turn)
#    define CPU_PLACES(turn) \
        CPU_PLACES_64(0, turn), CPU_PLACES_64(64, turn), CPU_PLACES_64(128, turn), CPU_PLACES_64(192, turn)
static const CO_ALIGN(64) co_u8 cpu_places[512] = {CPU_PLACES(0), CPU_PLACES(1)};
#endif

/* By which loop a batch is done. */
enum { CPU_FIND, CPU_PUT, CPU_TAKE, CPU_OTHER };

/* What is seen of an entry's slots: bits of matches, and of empty slots. */
#if CPU_LEVEL >= 512
typedef co_u32 cpu_sight;
#else
typedef unsigned char cpu_sight;
#endif

/* Where the walks of a group begin, in bytes of the table, and what tells by how much they go on. */
struct cpu_starts {
    co_u64 home[CPU_GROUP], hash[CPU_GROUP];
};

/* Entries that are left over, round and round: which, their next bucket, their steps, how many buckets they
 * have seen. */
#define CPU_LATER 128u /* whole groups, a power of two, above three of them */
struct cpu_list {
    co_u32 head, tail; /* modulo CPU_LATER */
    co_u64 entry[CPU_LATER], bucket[CPU_LATER], step[CPU_LATER], seen[CPU_LATER];
};

/* A span of a batch under way: where each looks, and who is left; there may be a group behind those. */
struct cpu_near {
    CO_ALIGN(64) co_u32 home[CPU_NEAR_SPAN];
    CO_ALIGN(64) co_u32 list[CPU_NEAR_SPAN + CPU_GROUP];
};

/* A group: where it is, its keys, those of it that take part, where it and the next one look; then who was
 * there, and who is not settled. */
struct cpu_group {
    co_u64 base;
    const void *keys;
    const struct cpu_starts *now, *ahead;
    co_u32 part, hits, left;
    int side; /* one of the keys is none of the buckets' */
};

/* A range of a batch under way. */
struct cpu_range {
    const struct map_batch *b;
    co_u64 end;
    int kind;
    int alone;                                             /* CPU_TOGETHER, _ALONE or _OWNER */
    int near;                                              /* the table is in a core's own cache */
    int pairs;                                             /* buckets are looked at two at a time */
    int back;                                              /* from the last entry to the first */
    void (*group)(struct cpu_range *, struct cpu_group *); /* the first look of one */
    struct cpu_soon *soon;                                 /* may be NULL */
    struct cpu_report *report;
    co_u64 within;  /* the bits of an offset that are inside a page */
    unsigned shift; /* a page has 1 << shift buckets */
    co_u64 stretch; /* of a walk, in buckets, less 1 */
    co_u64 far;     /* buckets from home on from which the filter knows a key; ~0: there is none */
    co_u64 ask;     /* buckets seen from which on MAP(leave) looks there, or has it fetched */
    struct cpu_list list;
};

#if CPU_LEVEL >= 512
/* co_hash of eight keys. */
CO_INLINE __m512i cpu_hash(__m512i keys, __m512i seed)
{
    __m512i h = _mm512_xor_si512(keys, seed);
    h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 30)),
                           _mm512_set1_epi64((long long)0xbf58476d1ce4e5b9ull));
    h = _mm512_mullo_epi64(_mm512_xor_si512(h, _mm512_srli_epi64(h, 27)),
                           _mm512_set1_epi64((long long)0x94d049bb133111ebull));
    return _mm512_xor_si512(h, _mm512_srli_epi64(h, 31));
}

/* The first buckets of the pages that eight hashes choose. */
CO_INLINE __m512i cpu_page(__m512i hash, __m512i pages, __m128i shift)
{
    return _mm512_sll_epi64(_mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(hash, 32), pages), 32),
                            shift);
}
#endif

/* homes of a group, by its hashes. A product of halves is one instruction, which the compiler does not
 * see. */
CO_INLINE void cpu_homes(struct cpu_starts *restrict starts, co_u32 pages, co_u64 mask, unsigned shift)
{
#if CPU_LEVEL >= 512
    const __m512i many = _mm512_set1_epi64((long long)pages), inside = _mm512_set1_epi64((long long)mask);
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    for (int i = 0; i < CPU_GROUP; i += 8) {
        __m512i h = _mm512_loadu_si512(starts->hash + i),
                at = _mm512_add_epi64(cpu_page(h, many, by), _mm512_and_si512(h, inside));
        _mm512_storeu_si512(starts->home + i, _mm512_slli_epi64(at, 5));
    }
#elif CPU_LEVEL >= 2
    const __m256i many = _mm256_set1_epi64x((long long)pages), inside = _mm256_set1_epi64x((long long)mask);
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    for (int i = 0; i < CPU_GROUP; i += 4) {
        __m256i h = _mm256_loadu_si256((const __m256i *)(const void *)(starts->hash + i)),
                page = _mm256_srli_epi64(_mm256_mul_epu32(_mm256_srli_epi64(h, 32), many), 32);
        page = _mm256_add_epi64(_mm256_sll_epi64(page, by), _mm256_and_si256(h, inside));
        _mm256_storeu_si256((__m256i *)(void *)(starts->home + i), _mm256_slli_epi64(page, 5));
    }
#else
    for (int i = 0; i < CPU_GROUP; i++) {
        co_u64 h = starts->hash[i], page = (co_u64)(co_u32)(h >> 32) * pages >> 32;
        starts->home[i] = ((page << shift) + (h & mask)) * MAP_BUCKET_BYTES;
    }
#endif
}

/* The bucket after those that a walk has seen in a page, of which `bucket` is the last (see co_walk_on). */
CO_INLINE co_u64 cpu_next(co_u64 within, co_u64 bucket, co_u64 step, co_u64 seen)
{
    co_u64 partner = seen * MAP_BUCKET_BYTES & ~step & MAP_BUCKET_BYTES,
           next = (bucket & ~within) | ((bucket + step) & within);
    return partner ? bucket ^ partner : next;
}

/* A group's share of what will be worked on next, into the second cache. */
CO_INLINE void cpu_ask(struct cpu_soon *s)
{
    const char *end = (co_u64)(s->end - s->at) > s->lines * CPU_LINE ? s->at + s->lines * CPU_LINE : s->end;
    for (; s->at < end; s->at += CPU_LINE)
        __builtin_prefetch(s->at, 0, 2);
}

/* Bits that are set: whole words are the rule, and not every processor has an instruction for it. */
CO_INLINE co_u64 cpu_bits(co_u32 word)
{
    return word == ~0u ? 32 : word ? (co_u64)__builtin_popcount(word) : 0;
}

/* Bit k: sight k has one of these bits. */
CO_INLINE co_u32 cpu_any_of(const cpu_sight sights[CPU_GROUP], cpu_sight these)
{
    co_u32 bits = 0;
#if CPU_LEVEL >= 512
    for (int i = 0; i < CPU_GROUP; i += 16)
        bits |= (co_u32)_mm512_test_epi32_mask(_mm512_loadu_si512(sights + i), _mm512_set1_epi32((int)these))
                << i;
#elif CPU_LEVEL >= 2
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)sights),
            of = _mm256_and_si256(v, _mm256_set1_epi8((char)these));
    bits = ~(co_u32)_mm256_movemask_epi8(_mm256_cmpeq_epi8(of, _mm256_setzero_si256()));
#elif CPU_VECTORS
    for (int i = 0; i < CPU_GROUP; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(sights + i));
        v = _mm_and_si128(v, _mm_set1_epi8((char)these));
        bits |= (co_u32)(~_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())) & 0xffff) << i;
    }
#else
    for (int i = 0; i < CPU_GROUP; i++)
        bits |= (co_u32)((sights[i] & these) != 0) << i;
#endif
    return bits;
}

/* Copies those of CPU_GROUP values whose bit is set. */
CO_INLINE void cpu_put_32(co_u32 *to, const co_u32 *values, co_u32 bits)
{
#if CPU_LEVEL >= 512
    for (int i = 0; i < CPU_GROUP; i += 16, bits >>= 16)
        _mm512_mask_storeu_epi32(to + i, (__mmask16)bits, _mm512_loadu_si512(values + i));
#elif CPU_LEVEL >= 2
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for (int i = 0; i < CPU_GROUP; i += 8, bits >>= 8) {
        __m256i mask = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit);
        _mm256_maskstore_epi32((int *)to + i, mask,
                               _mm256_loadu_si256((const __m256i *)(const void *)(values + i)));
    }
#else
    for (; bits; bits &= bits - 1)
        to[__builtin_ctz(bits)] = values[__builtin_ctz(bits)];
#endif
}

CO_INLINE void cpu_put_64(co_u64 *to, const co_u64 *values, co_u32 bits)
{
#if CPU_LEVEL >= 512
    for (int i = 0; i < CPU_GROUP; i += 8, bits >>= 8)
        _mm512_mask_storeu_epi64(to + i, (__mmask8)bits, _mm512_loadu_si512(values + i));
#elif CPU_LEVEL >= 2
    const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
    for (int i = 0; i < CPU_GROUP; i += 4, bits >>= 4) {
        __m256i mask = _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits), bit), bit);
        _mm256_maskstore_epi64((long long *)to + i, mask,
                               _mm256_loadu_si256((const __m256i *)(const void *)(values + i)));
    }
#else
    for (; bits; bits &= bits - 1)
        to[__builtin_ctz(bits)] = values[__builtin_ctz(bits)];
#endif
}

/* Bit k: home k is one of `bytes` from `first` on. */
CO_INLINE co_u32 cpu_inside(const struct cpu_starts *starts, co_u64 first, co_u64 bytes)
{
    co_u32 bits = 0;
#if CPU_LEVEL >= 512
    const __m512i from = _mm512_set1_epi64((long long)first), many = _mm512_set1_epi64((long long)bytes);
    for (int i = 0; i < CPU_GROUP; i += 8) {
        __m512i home = _mm512_loadu_si512(starts->home + i);
        bits |= (co_u32)_mm512_cmplt_epu64_mask(_mm512_sub_epi64(home, from), many) << i;
    }
#else
    for (int i = 0; i < CPU_GROUP; i++)
        bits |= (co_u32)(starts->home[i] - first < bytes) << i;
#endif
    return bits;
}

/* Those of CPU_GROUP values, or of the numbers from `first` on, whose bit is set, side by side; as many as
 * these are may be written behind them. */
CO_INLINE void cpu_take_32(co_u32 *to, const co_u32 *values, co_u32 bits)
{
#if CPU_LEVEL >= 512
    for (int i = 0; i < CPU_GROUP; i += 16, bits >>= 16) {
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(
                                    (__mmask16)bits, _mm512_maskz_loadu_epi32((__mmask16)bits, values + i)));
        to += __builtin_popcount(bits & 0xffff);
    }
#else
    for (; bits; bits &= bits - 1)
        *to++ = values[__builtin_ctz(bits)];
#endif
}

CO_INLINE void cpu_take_64(co_u64 *to, const co_u64 *values, co_u32 bits)
{
#if CPU_LEVEL >= 512
    for (int i = 0; i < CPU_GROUP; i += 8, bits >>= 8) {
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(
                                    (__mmask8)bits, _mm512_maskz_loadu_epi64((__mmask8)bits, values + i)));
        to += __builtin_popcount(bits & 0xff);
    }
#else
    for (; bits; bits &= bits - 1)
        *to++ = values[__builtin_ctz(bits)];
#endif
}

CO_INLINE void cpu_take_indices(co_u32 *to, co_u32 first, co_u32 bits)
{
#if CPU_LEVEL >= 512
    const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int i = 0; i < CPU_GROUP; i += 16, bits >>= 16) {
        __m512i numbers = _mm512_add_epi32(count, _mm512_set1_epi32((int)first + i));
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)bits, numbers));
        to += __builtin_popcount(bits & 0xffff);
    }
#else
    for (; bits; bits &= bits - 1)
        *to++ = first + (co_u32)__builtin_ctz(bits);
#endif
}

/* ---- what is reported ---------------------------------------------------------------------------------- */

static void cpu_report_failure(struct cpu_report *r, co_u64 index, int outcome)
{
    co_u64 *first = outcome == CO_MAP_BAD ? &r->first_bad : &r->first_full;
    *first = index < *first ? index : *first;
    r->failed++;
}

/* A group's words of the bitmaps. `add`: to what is there. */
CO_INLINE void cpu_report_words(const struct map_batch *b, co_u64 base, co_u32 hit, int add)
{
    if (b->hit)
        b->hit[base / 32] = b->join || add ? b->hit[base / 32] | hit : hit;
    if (b->failed && !add)
        b->failed[base / 32] = 0;
}

static void cpu_add_probes(struct map_probes *to, const struct map_probes *from)
{
    co_add64(&to->keys, from->keys);
    co_add64(&to->buckets, from->buckets);
    co_add64(&to->slots, from->slots);
    co_max64(&to->most_buckets, from->most_buckets);
    co_max64(&to->most_slots, from->most_slots);
    for (int i = 0; i < MAP_PROBE_BINS; i++)
        co_add64(&to->histogram[i], from->histogram[i]);
}

#define CO_MAP_FILE "cpu/map_width.h"
#include "cohort/device/map_instances.h"

const struct cpu_map_loops CPU_LOOPS = {
    {NULL, co_map32_0_batch, co_map32_32_batch, co_map64_0_batch, co_map64_32_batch, co_map64_64_batch},
    {NULL, co_map32_0_sweep, co_map32_32_sweep, co_map64_0_sweep, co_map64_32_sweep, co_map64_64_sweep},
    {NULL, co_map32_0_ranges, co_map32_32_ranges, co_map64_0_ranges, co_map64_32_ranges, co_map64_64_ranges},
    {NULL, co_map32_0_share, co_map32_32_share, co_map64_0_share, co_map64_32_share, co_map64_64_share}};
