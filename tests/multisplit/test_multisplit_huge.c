/* test_multisplit_huge.c: splits, histograms, compactions and sorts of more entries than 32 bits count, on a
 * GPU. */
#include "split.h"

#define HUGE_N ((1ull << 32) + 5)
#define STEP   0x01010101u /* key i is (i + 1) * STEP mod 2^32 */
#define WINDOW (1ull << 20)

static uint32_t huge_key(uint64_t i)
{
    return (uint32_t)(i + 1) * STEP;
}

static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

/* How many of the keys are below `bound`: each 32-bit number once, and those of the last five entries once
 * more. */
static uint64_t huge_below(uint64_t bound)
{
    uint64_t count = bound;
    for (uint64_t i = 1ull << 32; i < HUGE_N; i++)
        count += huge_key(i) < bound;
    return count;
}

static void *huge_alloc(struct test *t, uint64_t bytes)
{
    void *p;
    OK(t, cohort_alloc(t->context, bytes, &p));
    return p;
}

/* Entry i of the input follows entry `before` among those in this bucket, which the bits from `shift` on
 * name. */
static int follows(uint64_t before, uint64_t i, unsigned shift, uint32_t bucket)
{
    for (uint64_t between = before + 1; between < i; between++)
        if (huge_key(between) >> shift == bucket)
            return 0;
    return i > before && huge_key(i) >> shift == bucket;
}

/* Places [at, at + WINDOW) of a split by the top bit, with the permutation: that entry, in its order. */
static void check_split_window(struct test *t, const char *keys, const char *permutation, uint64_t at,
                               uint64_t zeros)
{
    uint32_t *k = malloc(WINDOW * 4);
    uint64_t *p = malloc(WINDOW * 8);
    REQUIRE(t, k && p);
    OK(t, cohort_copy(t->context, k, keys + at * 4, WINDOW * 4));
    OK(t, cohort_copy(t->context, p, permutation + at * 8, WINDOW * 8));
    for (uint64_t j = 0; j < WINDOW; j++) {
        uint32_t top = at + j >= zeros;
        REQUIREF(t, p[j] < HUGE_N && k[j] == huge_key(p[j]) && k[j] >> 31 == top, "place %llu has entry %llu",
                 (unsigned long long)(at + j), (unsigned long long)p[j]);
        if (j && (at + j != zeros))
            REQUIREF(t, follows(p[j - 1], p[j], 31, top), "place %llu has entry %llu, behind %llu",
                     (unsigned long long)(at + j), (unsigned long long)p[j], (unsigned long long)p[j - 1]);
    }
    free(k);
    free(p);
}

static void huge_split(struct test *t, const void *keys)
{
    char *out = huge_alloc(t, HUGE_N * 4), *permutation = huge_alloc(t, HUGE_N * 8);
    uint64_t offsets[3], zeros = huge_below(1ull << 31), first;
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    d.n = HUGE_N;
    d.buckets = 2;
    const cohort_fn fn = cohort_fn_bits(31, 1);
    d.fn = &fn;
    d.keys = keys;
    d.keys_out = out;
    d.permutation = permutation;
    d.permutation_bytes = 8;
    d.offsets = offsets;
    OK(t, cohort_multisplit(t->context, &d));
    EQUAL(t, offsets[0], 0);
    EQUAL(t, offsets[1], zeros);
    EQUAL(t, offsets[2], HUGE_N);
    OK(t, cohort_copy(t->context, &first, permutation, 8));
    EQUAL(t, first, 0);
    const uint64_t windows[] = {0, zeros - WINDOW / 2, HUGE_N - WINDOW, test_below(t, zeros - WINDOW),
                                zeros + test_below(t, HUGE_N - zeros - WINDOW)};
    for (int i = 0; i < 5; i++)
        check_split_window(t, out, permutation, windows[i], zeros);
    OK(t, cohort_free(t->context, permutation));
    OK(t, cohort_free(t->context, out));
}

/* A split into many buckets, by the highest bits of the low halves of keys of 4 or 8 bytes. */
struct parted {
    unsigned bits, key_bytes;
    int unordered;
    uint64_t *offsets;
    char *keys, *values; /* the outputs; values are what keys would be one entry before, or NULL */
};

static uint64_t loaded(const char *p, unsigned bytes)
{
    uint64_t x = 0;
    memcpy(&x, p, bytes); /* the host is little endian, as the GPU is */
    return x;
}

/* Whose key this is; of 4 bytes the first five entries' are the last five's too, which come `behind`
 * another. */
static uint64_t index_of(const struct parted *out, const char *key, uint64_t behind)
{
    uint64_t i = loaded(key, out->key_bytes);
    if (out->key_bytes == 8)
        return i * inverse(0x0101010101010101ull) - 1;
    i = (uint32_t)(i * inverse(STEP) - 1);
    return i < HUGE_N - (1ull << 32) && behind && behind > i ? i + (1ull << 32) : i;
}

/* Places [at, at + count): entries of the right buckets with their own values, in the order they had. */
static void check_parted_window(struct test *t, const struct parted *out, uint64_t at, uint64_t count)
{
    unsigned shift = 32 - out->bits, width = out->key_bytes;
    char *k = malloc(count * width), *v = malloc(count * 4);
    uint64_t before = 0, bucket = 0;
    REQUIRE(t, k && v);
    OK(t, cohort_copy(t->context, k, out->keys + at * width, count * width));
    if (out->values)
        OK(t, cohort_copy(t->context, v, out->values + at * 4, count * 4));
    for (uint64_t j = 0; j < count; j++) {
        int first = !j;
        for (; at + j >= out->offsets[bucket + 1]; bucket++)
            first = 1;
        uint64_t i = index_of(out, k + j * width, first ? 0 : before);
        REQUIREF(t, i < HUGE_N && huge_key(i) >> shift == bucket, "place %llu has entry %llu",
                 (unsigned long long)(at + j), (unsigned long long)i);
        if (out->values)
            EQUAL(t, loaded(v + j * 4, 4), huge_key(i) - STEP);
        if (!first && !out->unordered)
            REQUIREF(t, follows(before, i, shift, (uint32_t)bucket), "place %llu has entry %llu, behind %llu",
                     (unsigned long long)(at + j), (unsigned long long)i, (unsigned long long)before);
        before = i;
    }
    free(k);
    free(v);
}

static void huge_parted(struct test *t, const void *keys, const void *values, struct parted out)
{
    uint64_t buckets = 1ull << out.bits, window = WINDOW >> out.bits / 2;
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    cohort_payload column = {values, NULL, 4, 0};
    out.offsets = malloc((buckets + 1) * sizeof *out.offsets);
    REQUIRE(t, out.offsets);
    out.keys = huge_alloc(t, HUGE_N * out.key_bytes);
    out.values = values ? huge_alloc(t, HUGE_N * 4) : NULL;
    column.out = out.values;
    d.n = HUGE_N;
    d.buckets = (uint32_t)buckets;
    const cohort_fn fn = cohort_fn_bits(32 - out.bits, out.bits);
    d.fn = &fn;
    d.type = out.key_bytes == 8 ? COHORT_U64 : COHORT_U32;
    d.unordered = (uint32_t)out.unordered;
    d.keys = keys;
    d.keys_out = out.keys;
    d.payload = &column;
    d.payloads = values != NULL;
    d.offsets = out.offsets;
    OK(t, cohort_multisplit(t->context, &d));
    for (uint64_t b = 0; b <= buckets; b++)
        EQUAL(t, out.offsets[b], huge_below(b << (32 - out.bits)));
    const uint64_t windows[] = {0, (1ull << 32) - window / 2, HUGE_N - window,
                                test_below(t, HUGE_N - window)};
    for (int i = 0; i < 4; i++)
        check_parted_window(t, &out, windows[i] < HUGE_N - window ? windows[i] : HUGE_N - window, window);
    if (values)
        OK(t, cohort_free(t->context, out.values));
    OK(t, cohort_free(t->context, out.keys));
    OK(t, cohort_trim(t->context));
    free(out.offsets);
}

static void huge_histogram(struct test *t, const void *keys)
{
    uint64_t bins[256];
    cohort_histogram_desc h = COHORT_HISTOGRAM_INIT;
    h.n = HUGE_N;
    h.buckets = 256;
    const cohort_fn fn = cohort_fn_bits(24, 8);
    h.fn = &fn;
    h.keys = keys;
    h.bins = bins;
    OK(t, cohort_histogram(t->context, &h));
    for (uint64_t b = 0; b < 256; b++)
        EQUAL(t, bins[b], huge_below((b + 1) << 24) - huge_below(b << 24));
}

/* Kept and rejected entries begin and end with the right ones, and there are as many as there should be. */
static void huge_compact(struct test *t, const void *keys)
{
    char *kept = huge_alloc(t, HUGE_N * 4), *rejected = huge_alloc(t, HUGE_N * 4);
    uint64_t total, zeros = huge_below(1ull << 31);
    uint32_t some[1024];
    cohort_compact_desc k = COHORT_COMPACT_INIT;
    k.n = HUGE_N;
    const cohort_fn fn = cohort_fn_masked(1u << 31, 0);
    k.fn = &fn;
    k.keys = keys;
    k.kept = kept;
    k.rejected = rejected;
    k.total = &total;
    OK(t, cohort_compact(t->context, &k));
    EQUAL(t, total, zeros);
    for (uint32_t top = 0; top <= 1; top++) {
        const char *out = top ? rejected : kept;
        uint64_t from = 0, back = HUGE_N - 1, count = top ? HUGE_N - zeros : zeros;
        OK(t, cohort_copy(t->context, some, out, sizeof some));
        for (int j = 0; j < 1024; j++, from++) {
            while (huge_key(from) >> 31 != top)
                from++;
            EQUAL(t, some[j], huge_key(from));
        }
        OK(t, cohort_copy(t->context, some, out + (count - 1024) * 4, sizeof some));
        for (int j = 1023; j >= 0; j--, back--) {
            while (huge_key(back) >> 31 != top)
                back--;
            EQUAL(t, some[j], huge_key(back));
        }
    }
    OK(t, cohort_free(t->context, rejected));
    OK(t, cohort_free(t->context, kept));
}

static void huge_sort(struct test *t, const void *keys)
{
    char *out = huge_alloc(t, HUGE_N * 4);
    uint32_t *k = malloc(WINDOW * 4);
    REQUIRE(t, k);
    cohort_sort_desc s = COHORT_SORT_INIT;
    s.n = HUGE_N;
    s.keys = keys;
    s.keys_out = out;
    OK(t, cohort_sort(t->context, &s));
    const uint64_t windows[] = {0, HUGE_N - WINDOW, (uint64_t)huge_key(1ull << 32),
                                test_below(t, HUGE_N - WINDOW)};
    for (int i = 0; i < 4; i++) {
        uint64_t at = windows[i] > HUGE_N - WINDOW ? HUGE_N - WINDOW : windows[i];
        OK(t, cohort_copy(t->context, k, out + at * 4, WINDOW * 4));
        for (uint64_t j = 0; j < WINDOW; j++)
            REQUIREF(t, huge_below(k[j]) <= at + j && at + j < huge_below((uint64_t)k[j] + 1),
                     "place %llu has 0x%x", (unsigned long long)(at + j), k[j]);
    }
    free(k);
    OK(t, cohort_free(t->context, out));
}

/* The keys, made by a sum over ones in each byte. */
static void *huge_keys(struct test *t)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    uint64_t greatest = 0;
    uint32_t last[5];
    OK(t, cohort_context_get_info(t->context, &info));
    if (info.memory_free < 100ull << 30)
        test_skip(t, "needs 100 GiB of free memory, and there are %llu",
                  (unsigned long long)info.memory_free >> 30);
    CHECK(t, (uint32_t)(inverse(STEP) * STEP) == 1); /* so each key is there once in 2^32 */
    void *keys = huge_alloc(t, HUGE_N * 4);
    OK(t, cohort_fill(t->context, keys, 1, HUGE_N * 4));
    OK(t, cohort_scan(t->context, HUGE_N, COHORT_U32, 1, keys, keys));
    OK(t, cohort_copy(t->context, last, (char *)keys + (HUGE_N - 5) * 4, sizeof last));
    for (uint64_t i = 0; i < 5; i++)
        EQUAL(t, last[i], huge_key(HUGE_N - 5 + i));
    OK(t, cohort_reduce(t->context, COHORT_OP_MAX, HUGE_N, COHORT_U32, keys, &greatest));
    EQUAL(t, greatest, UINT32_MAX);
    return keys;
}

static void beyond_32_bits(struct test *t)
{
    static void (*const works[])(struct test *, const void *) = {huge_compact, huge_sort, huge_histogram,
                                                                 huge_split};
    void *keys = huge_keys(t);
    for (int i = 0; i < 4; i++) {
        works[i](t, keys);
        OK(t, cohort_trim(t->context));
    }
    OK(t, cohort_free(t->context, keys));
}

/* Into 256 buckets and, by two digits, 2,048; pairs, and keys of 8 bytes. */
static void many_buckets(struct test *t)
{
    static const struct parted cases[] = {{8, 4, 0, NULL, NULL, NULL},
                                          {11, 4, 0, NULL, NULL, NULL},
                                          {8, 4, 1, NULL, NULL, NULL},
                                          {11, 8, 0, NULL, NULL, NULL}};
    void *keys = huge_keys(t), *values = huge_alloc(t, HUGE_N * 4), *wide;
    OK(t, cohort_fill(t->context, values, 1, HUGE_N * 4));
    OK(t, cohort_scan(t->context, HUGE_N, COHORT_U32, 0, values, values));
    for (int i = 0; i < 3; i++)
        huge_parted(t, keys, values, cases[i]);
    OK(t, cohort_free(t->context, values));
    OK(t, cohort_free(t->context, keys));
    wide = huge_alloc(t, HUGE_N * 8);
    OK(t, cohort_fill(t->context, wide, 1, HUGE_N * 8));
    OK(t, cohort_scan(t->context, HUGE_N, COHORT_U64, 1, wide, wide));
    huge_parted(t, wide, NULL, cases[3]);
    OK(t, cohort_free(t->context, wide));
}

const struct test_case test_cases[] = {
    {"beyond_32_bits", beyond_32_bits, TEST_ON_CUDA | TEST_SLOW},
    {"many_buckets", many_buckets, TEST_ON_CUDA | TEST_SLOW},
    {NULL, NULL, 0},
};
