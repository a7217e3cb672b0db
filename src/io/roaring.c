/* roaring.c: Roaring's portable format. Little-endian, nothing aligned.
 *
 * 32 bit. A cookie of 4 bytes: 12346, and then the number of containers in 4 bytes, at most 65,536; or in its
 * low half 12347, in its high half the number less one, and then a bit for each container that says whether
 * it has runs. Then for each container its key and its cardinality less one, 2 bytes each. Then for each the
 * place of its entries, counted from the cookie, 4 bytes; with cookie 12347 and fewer than four containers
 * there are none. Then the entries. Runs: their number, 2 bytes, and for each its start and its length less
 * one, 2 bytes each. Else, up to 4,096 members, the members, 2 bytes each; beyond that a bitmap of 8,192
 * bytes.
 *
 * 64 bit. The number of parts, 8 bytes; of each the high half of its members, 4 bytes, and a blob of 32 bits.
 *
 * A reader believes nothing: places are as they must be, keys, members and runs rise, runs do not touch, a
 * bitmap has as many bits as is said, and more than 4,096. The cardinality told of runs is wrong in files
 * that exist, and is not looked at. */
#include "io/roaring.h"

#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#    include <immintrin.h>
#    define AVX2   __attribute__((target("avx2,popcnt")))
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq")))
#endif

#define COOKIE_PLAIN  12346u
#define COOKIE_RUNS   12347u
#define PLACES_FROM   4u /* containers, from which on there are places with COOKIE_RUNS too */
#define ARRAY_MOST    4096u
#define BITMAP_BYTES  8192u
#define CONTAINER_IDS 65536u

struct reader {
    cohort_context *context;
    const char *name;
    uint64_t number;
    const unsigned char *bytes;
    uint64_t n, at;
    struct roaring_list *list;
};

static uint32_t get16(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const unsigned char *p)
{
    return get16(p) | get16(p + 2) << 16;
}

static uint64_t get64(const unsigned char *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static cohort_status corrupt(const struct reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static cohort_status corrupt(const struct reader *r, const char *format, ...)
{
    char what[160];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return context_fail(r->context, COHORT_CORRUPT, "%s %llu: byte %llu: %s", r->name,
                        (unsigned long long)r->number, (unsigned long long)r->at, what);
}

/* Are there so many bytes more? */
static cohort_status want(const struct reader *r, uint64_t bytes, const char *what)
{
    if (r->n - r->at >= bytes)
        return COHORT_OK;
    return context_fail(r->context, COHORT_TRUNCATED,
                        "%s %llu: byte %llu: %llu bytes of %s are due, %llu are left", r->name,
                        (unsigned long long)r->number, (unsigned long long)r->at, (unsigned long long)bytes,
                        what, (unsigned long long)(r->n - r->at));
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* The head of a blob of 32 bits. */
struct head {
    uint32_t count;
    const unsigned char *runs;   /* a bit a container, or NULL */
    const unsigned char *keys;   /* pairs of key and cardinality less one */
    const unsigned char *places; /* or NULL */
    uint64_t begin;              /* where the cookie is */
};

static cohort_status read_head(struct reader *r, struct head *h)
{
    memset(h, 0, sizeof *h);
    cohort_status status = want(r, 4, "a cookie");
    if (status)
        return status;
    uint32_t cookie = get32(r->bytes + r->at);
    h->begin = r->at;
    if (cookie == COOKIE_PLAIN) {
        status = want(r, 8, "a cookie and a number of containers");
        if (status)
            return status;
        h->count = get32(r->bytes + r->at + 4);
        if (h->count > CONTAINER_IDS)
            return corrupt(r, "%u containers; there are at most %u", h->count, CONTAINER_IDS);
        r->at += 8;
    } else if ((cookie & 0xffff) == COOKIE_RUNS) {
        h->count = (cookie >> 16) + 1;
        r->at += 4;
        status = want(r, (h->count + 7) / 8, "flags of runs");
        if (status)
            return status;
        h->runs = r->bytes + r->at;
        r->at += (h->count + 7) / 8;
    } else {
        return corrupt(r, "the cookie is %u, neither %u nor %u", cookie, COOKIE_PLAIN, COOKIE_RUNS);
    }
    status = want(r, 4ull * h->count, "keys and cardinalities");
    if (status)
        return status;
    h->keys = r->bytes + r->at;
    r->at += 4ull * h->count;
    if (h->runs && h->count < PLACES_FROM)
        return COHORT_OK;
    status = want(r, 4ull * h->count, "places");
    if (status)
        return status;
    h->places = r->bytes + r->at;
    r->at += 4ull * h->count;
    return COHORT_OK;
}

/* The bits of three words as two: of each place the sum's low bit and its high bit. */
static uint64_t add_words(uint64_t *low, uint64_t a, uint64_t b)
{
    uint64_t some = *low ^ a, high = (*low & a) | (some & b);
    *low = some ^ b;
    return high;
}

/* A bitmap's ones. Eight words are added up place by place first, so that one in eight is counted (Harley and
 * Seal). */
static uint32_t ones_of(const unsigned char *p)
{
    uint64_t one = 0, two = 0, four = 0;
    uint32_t eights = 0;
    for (uint32_t i = 0; i < BITMAP_BYTES; i += 64) {
        uint64_t w[8];
        memcpy(w, p + i, sizeof w);
        uint64_t a = add_words(&one, w[0], w[1]), b = add_words(&one, w[2], w[3]);
        uint64_t c = add_words(&one, w[4], w[5]), d = add_words(&one, w[6], w[7]);
        uint64_t e = add_words(&two, a, b), f = add_words(&two, c, d);
        eights += (uint32_t)__builtin_popcountll(add_words(&four, e, f));
    }
    return 8 * eights + 4 * (uint32_t)__builtin_popcountll(four) + 2 * (uint32_t)__builtin_popcountll(two) +
           (uint32_t)__builtin_popcountll(one);
}

typedef uint16_t numbers __attribute__((vector_size(32)));

/* Does an array not rise somewhere? 16 members at once beside the 16 before them, which lie one member off;
 * the last few one by one. Bytes may begin at any address. */
static inline __attribute__((always_inline)) int falls_in(const unsigned char *p, uint32_t n)
{
    numbers before, v, any = {0};
    uint16_t lanes[16], falls = 0;
    size_t i = 1;
    for (; i + 16 <= n; i += 16) {
        memcpy(&before, p + 2 * i - 2, sizeof before);
        memcpy(&v, p + 2 * i, sizeof v);
        any |= (numbers)(v <= before);
    }
    memcpy(lanes, &any, sizeof lanes);
    for (int lane = 0; lane < 16; lane++)
        falls |= lanes[lane];
    for (; i < n; i++)
        falls |= get16(p + 2 * i) <= get16(p + 2 * i - 2);
    return falls != 0;
}

static int falls_plain(const unsigned char *p, uint32_t n)
{
    return falls_in(p, n);
}

/* The same two questions where the processor counts ones itself, and compares 16 numbers at once. */
#ifdef AVX2
AVX2 static int falls_avx2(const unsigned char *p, uint32_t n)
{
    return falls_in(p, n);
}

AVX2 static uint32_t ones_avx2(const unsigned char *p)
{
    uint64_t ones = 0;
    for (uint32_t i = 0; i < BITMAP_BYTES; i += 8) {
        uint64_t w;
        memcpy(&w, p + i, 8);
        ones += (uint64_t)__builtin_popcountll(w);
    }
    return (uint32_t)ones;
}
#endif

/* Arrays and bitmaps are found here and judged later, when they are read for good (roaring_judge). */
static cohort_status read_array(struct reader *r, struct roaring_container *c)
{
    cohort_status status = want(r, 2ull * c->card, "an array");
    if (status)
        return status;
    c->kind = ROARING_ARRAY;
    c->entries = c->card;
    c->at = r->bytes + r->at;
    r->at += 2ull * c->card;
    return COHORT_OK;
}

static cohort_status read_bitmap(struct reader *r, struct roaring_container *c)
{
    cohort_status status = want(r, BITMAP_BYTES, "a bitmap");
    if (status)
        return status;
    c->kind = ROARING_BITMAP;
    c->entries = 0;
    c->at = r->bytes + r->at;
    r->at += BITMAP_BYTES;
    return COHORT_OK;
}

int roaring_vectors(void)
{
#ifdef AVX512
    const char *asked = getenv("COHORT_CPU");
    if (!asked || !strcmp(asked, "avx512"))
        return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vpopcntdq");
#endif
    return 0;
}

#ifdef AVX512
/* How many members these runs have; 0: something is wrong with them. Sixteen at a time, each beside the end
 * of the one before. */
AVX512 static uint32_t runs_avx512(const unsigned char *p, uint32_t runs)
{
    const __m512i greatest = _mm512_set1_epi32(CONTAINER_IDS - 1), one = _mm512_set1_epi32(1);
    __m512i ends = _mm512_set1_epi32(-2), lengths = _mm512_setzero_si512();
    __mmask16 wrong = 0;
    for (uint32_t i = 0; i < runs; i += 16) {
        __mmask16 there = runs - i < 16 ? (__mmask16)((1u << (runs - i)) - 1) : 0xffff;
        __m512i v = _mm512_maskz_loadu_epi32(there, p + 4 * i);
        __m512i start = _mm512_and_si512(v, greatest), length = _mm512_srli_epi32(v, 16);
        __m512i end = _mm512_add_epi32(start, length), before = _mm512_alignr_epi32(end, ends, 15);
        wrong |= _mm512_mask_cmple_epi32_mask(there, start, _mm512_add_epi32(before, one)) |
                 _mm512_cmpgt_epi32_mask(end, greatest);
        lengths = _mm512_add_epi32(lengths, length);
        ends = end;
    }
    return wrong ? 0 : runs + (uint32_t)_mm512_reduce_add_epi32(lengths);
}
#endif

/* How many members the runs from here on have, if they rise and do not touch. */
static cohort_status judge_runs(const struct reader *r, uint32_t runs, uint32_t *members)
{
    const unsigned char *p = r->bytes + r->at;
    uint32_t card = 0, next = 0; /* next: the least start that is allowed */
#ifdef AVX512
    *members = r->list->vectors ? runs_avx512(p, runs) : 0;
    if (*members)
        return COHORT_OK;
#endif
    for (uint32_t i = 0; i < runs; i++) {
        uint32_t start = get16(p + 4 * i), length = get16(p + 4 * i + 2) + 1;
        if (start < next || start + length > CONTAINER_IDS)
            return corrupt(r, "run %u begins at %u and has %u members: it %s", i, start, length,
                           start < next ? "touches the one before" : "goes beyond the container");
        card += length;
        next = start + length + 1;
    }
    *members = card;
    return COHORT_OK;
}

static cohort_status read_runs(struct reader *r, struct roaring_container *c)
{
    cohort_status status = want(r, 2, "a number of runs");
    if (status)
        return status;
    uint32_t runs = get16(r->bytes + r->at);
    if (!runs)
        return corrupt(r, "a container of 0 runs");
    r->at += 2;
    status = want(r, 4ull * runs, "runs");
    if (!status)
        status = judge_runs(r, runs, &c->card);
    if (status)
        return status;
    c->kind = ROARING_RUNS;
    c->entries = runs;
    c->at = r->bytes + r->at;
    r->at += 4ull * runs;
    return COHORT_OK;
}

static cohort_status make_room(const struct reader *r, uint64_t more)
{
    struct roaring_list *list = r->list;
    if (list->room - list->count >= more)
        return COHORT_OK;
    if (list->fixed)
        return corrupt(r, "has more containers than it had before: the bytes change");
    uint64_t room = list->room * 2 > list->count + more ? list->room * 2 : list->count + more;
    struct roaring_container *at =
        room <= SIZE_MAX / sizeof *at ? realloc(list->at, room * sizeof *at) : NULL;
    if (!at)
        return context_fail(r->context, COHORT_NO_MEMORY, "%s %llu: no memory for %llu containers", r->name,
                            (unsigned long long)r->number, (unsigned long long)room);
    list->at = at;
    list->room = room;
    return COHORT_OK;
}

/* A blob of 32 bits, whose members have these bits above. */
static cohort_status read_part(struct reader *r, uint64_t high)
{
    struct head h;
    cohort_status status = read_head(r, &h);
    if (!status)
        status = make_room(r, h.count);
    for (uint32_t i = 0; i < h.count && !status; i++) {
        struct roaring_container *c = &r->list->at[r->list->count];
        uint32_t key = get16(h.keys + 4 * i);
        if (i && key <= get16(h.keys + 4 * i - 4))
            return corrupt(r, "container %u has the key %u, which does not rise", i, key);
        if (h.places && get32(h.places + 4 * i) != r->at - h.begin)
            return corrupt(r, "container %u is told to be at %u, and is at %llu", i, get32(h.places + 4 * i),
                           (unsigned long long)(r->at - h.begin));
        c->key = high << 16 | key;
        c->card = get16(h.keys + 4 * i + 2) + 1;
        status = h.runs && h.runs[i / 8] >> i % 8 & 1 ? read_runs(r, c)
                 : c->card <= ARRAY_MOST              ? read_array(r, c)
                                                      : read_bitmap(r, c);
        r->list->count += !status;
    }
    return status;
}

static cohort_status read_parts(struct reader *r)
{
    cohort_status status = want(r, 8, "a number of parts");
    uint64_t parts = status ? 0 : get64(r->bytes + r->at), last = 0;
    if (!status && parts > 1ull << 32)
        return corrupt(r, "%llu parts; there are at most 2^32", (unsigned long long)parts);
    r->at += status ? 0 : 8;
    for (uint64_t i = 0; i < parts && !status; i++) {
        status = want(r, 4, "the high half of members");
        if (status)
            return status;
        uint64_t high = get32(r->bytes + r->at);
        if (i && high <= last)
            return corrupt(r, "part %llu has the high half %llu, which does not rise", (unsigned long long)i,
                           (unsigned long long)high);
        r->at += 4;
        last = high;
        status = read_part(r, high);
    }
    return status;
}

cohort_status roaring_read(cohort_context *context, const char *name, uint64_t number, const void *bytes,
                           uint64_t n, int wide, struct roaring_list *list)
{
    struct reader r = {context, name, number, bytes, n, 0, list};
    cohort_status status = wide ? read_parts(&r) : read_part(&r, 0);
    if (!status && r.at != n)
        return corrupt(&r, "%llu bytes behind the end", (unsigned long long)(n - r.at));
    return status;
}

uint64_t roaring_containers(const void *bytes, uint64_t n)
{
    const unsigned char *p = bytes;
    uint32_t cookie = n < 4 ? 0 : get32(p);
    uint64_t count = cookie == COOKIE_PLAIN && n >= 8   ? get32(p + 4)
                     : (cookie & 0xffff) == COOKIE_RUNS ? (cookie >> 16) + 1
                                                        : 0;
    return count <= CONTAINER_IDS && count <= n / 4 ? count : 0; /* else it is refused */
}

static int falls(const unsigned char *p, uint32_t n)
{
    if (n < 2)
        return 0;
#ifdef AVX2
    if (n > 16 && __builtin_cpu_supports("avx2"))
        return falls_avx2(p, n);
#endif
    return falls_plain(p, n);
}

static uint32_t ones(const unsigned char *p)
{
#ifdef AVX2
    if (__builtin_cpu_supports("avx2"))
        return ones_avx2(p);
#endif
    return ones_of(p);
}

cohort_status roaring_judge(cohort_context *context, const char *name, uint64_t number, const void *bytes,
                            const struct roaring_container *c)
{
    int rises = c->kind != ROARING_ARRAY || !falls(c->at, c->entries);
    uint32_t card = c->kind == ROARING_BITMAP ? ones(c->at) : c->card;
    if (rises && card == c->card)
        return COHORT_OK;
    const unsigned char *begin = bytes;
    const struct reader r = {context, name, number, begin, 0, (uint64_t)(c->at - begin), NULL};
    return rises ? corrupt(&r, "a bitmap of %u members, and %u are told", card, c->card)
                 : corrupt(&r, "an array whose members do not rise");
}

/* ---- writing ------------------------------------------------------------------------------------------- */

enum roaring_kind roaring_choose(uint32_t card, uint32_t runs)
{
    uint32_t other = card <= ARRAY_MOST ? 2 * card : BITMAP_BYTES;
    return 2 + 4 * runs < other ? ROARING_RUNS : card <= ARRAY_MOST ? ROARING_ARRAY : ROARING_BITMAP;
}

static uint32_t entry_bytes(const struct roaring_container *c)
{
    return c->kind == ROARING_ARRAY  ? 2 * c->card
           : c->kind == ROARING_RUNS ? 2 + 4 * c->entries
                                     : BITMAP_BYTES;
}

/* Of the containers from `first` on, those with the same high bits. */
static uint64_t part_end(const struct roaring_container *c, uint64_t first, uint64_t count)
{
    uint64_t end = first;
    while (end < count && c[end].key >> 16 == c[first].key >> 16)
        end++;
    return end;
}

static int has_runs(const struct roaring_container *c, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (c[i].kind == ROARING_RUNS)
            return 1;
    return 0;
}

static uint64_t head_bytes(uint64_t count, int runs)
{
    return (runs ? 4 + (count + 7) / 8 : 8) + 4 * count + (!runs || count >= PLACES_FROM ? 4 * count : 0);
}

static uint64_t part_bytes(const struct roaring_container *c, uint64_t count)
{
    uint64_t bytes = head_bytes(count, has_runs(c, count));
    for (uint64_t i = 0; i < count; i++)
        bytes += entry_bytes(&c[i]);
    return bytes;
}

uint64_t roaring_bytes(const struct roaring_container *c, uint64_t count, int wide)
{
    uint64_t bytes = 8;
    if (!wide)
        return part_bytes(c, count);
    for (uint64_t i = 0, end; i < count; i = end) {
        end = part_end(c, i, count);
        bytes += 4 + part_bytes(c + i, end - i);
    }
    return bytes;
}

static unsigned char *put(unsigned char *to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *to++ = (unsigned char)(v >> 8 * i);
    return to;
}

/* Containers [first, end), and `fill` is told their numbers. */
static unsigned char *write_part(const struct roaring_container *c, uint64_t first, uint64_t end,
                                 unsigned char *to, void (*fill)(void *, uint64_t, unsigned char *),
                                 void *user)
{
    uint64_t count = end - first;
    /* Of an empty set there are no containers, and c may be NULL. */
    int runs = count && has_runs(c + first, count);
    uint64_t place = head_bytes(count, runs);
    to = runs ? put(to, COOKIE_RUNS | (count - 1) << 16, 4) : put(put(to, COOKIE_PLAIN, 4), count, 4);
    for (uint64_t i = first; runs && i < end; i += 8) {
        unsigned flags = 0;
        for (uint64_t j = i; j < end && j < i + 8; j++)
            flags |= (unsigned)(c[j].kind == ROARING_RUNS) << (j - i);
        to = put(to, flags, 1);
    }
    for (uint64_t i = first; i < end; i++)
        to = put(put(to, c[i].key & 0xffff, 2), c[i].card - 1, 2);
    for (uint64_t i = first; i < end && (!runs || count >= PLACES_FROM); i++) {
        to = put(to, place, 4);
        place += entry_bytes(&c[i]);
    }
    for (uint64_t i = first; i < end; i++) {
        unsigned char *at = c[i].kind == ROARING_RUNS ? put(to, c[i].entries, 2) : to;
        fill(user, i, at);
        to += entry_bytes(&c[i]);
    }
    return to;
}

void roaring_write(const struct roaring_container *c, uint64_t count, int wide, unsigned char *to,
                   void (*fill)(void *user, uint64_t i, unsigned char *at), void *user)
{
    uint64_t parts = 0;
    if (!wide) {
        write_part(c, 0, count, to, fill, user);
        return;
    }
    for (uint64_t i = 0; i < count; i = part_end(c, i, count))
        parts++;
    to = put(to, parts, 8);
    for (uint64_t i = 0, end; i < count; i = end) {
        end = part_end(c, i, count);
        to = put(to, c[i].key >> 16, 4);
        to = write_part(c, i, end, to, fill, user);
    }
}
