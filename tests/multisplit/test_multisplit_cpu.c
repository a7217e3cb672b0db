/* test_multisplit_cpu.c: the forms of the CPU's multisplit for each kind of processor, and more entries than
 * 32 bits count. Contexts here ask by COHORT_CPU for every form that this processor can do. */
#define _GNU_SOURCE /* memfd_create */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "split.h"

static const char *const levels[] = {"plain", "avx2", "avx512"};

static void each_level(struct test *t, void (*run)(struct test *, unsigned level))
{
    cohort_context_options options = test_context_options(t);
    for (unsigned i = 0; i < 3; i++)
        for (options.threads = 1; options.threads <= 3; options.threads += 2) {
            setenv("COHORT_CPU", levels[i], 1);
            cohort_status status = cohort_context_create(&options, &t->context);
            unsetenv("COHORT_CPU");
            REQUIREF(t, !status, "cohort_context_create: %s", cohort_message(NULL));
            run(t, i);
            column_drop(t, NULL);
            cohort_context_destroy(t->context);
            t->context = NULL;
        }
}

/* One array, of keys or of indices, or two: into so many buckets that each way to move them ends or begins
 * there. */
static void few(struct test *t, unsigned level)
{
    static const uint64_t buckets[] = {1, 2, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 128, 300};
    static const uint64_t sizes[] = {0, 1, 16, 2047, 2048, 2049, 70001};
    static const cohort_fn_kind kinds[] = {COHORT_FN_MODULO, COHORT_FN_RANGES, COHORT_FN_IDS8,
                                           COHORT_FN_IDS16};
    (void)level;
    for (int m = 0; m < 17; m++)
        for (int n = 0; n < 7; n++) {
            struct split_plan p = split_plan(sizes[n] + (n == 6 ? test_below(t, 5000) : 0), buckets[m]);
            p.kind = kinds[test_below(t, p.m > 255 ? 2 : 4)];
            p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
            p.bad_ids = p.kind >= COHORT_FN_IDS8 && test_below(t, 2);
            p.key_bytes = test_below(t, 4) ? 4 : 8;
            p.keys_out = test_below(t, 3) != 0;
            p.permutation_bytes = p.keys_out && test_below(t, 3) ? 0 : 4;
            split_do(t, &p);
        }
}

static void levels_of_few(struct test *t)
{
    each_level(t, few);
}

/* So much that it is written past the caches. */
static void much(struct test *t, unsigned level)
{
    static const uint64_t buckets[] = {3, 6, 13, 32, 100};
    (void)level;
    for (int m = 0; m < 5; m++) {
        struct split_plan p = split_plan(1100003 + test_below(t, 100), buckets[m]);
        p.kind = COHORT_FN_MODULO;
        p.pattern = test_below(t, 2) ? KEYS_RANDOM : KEYS_SKEWED;
        split_do(t, &p);
    }
}

static void levels_of_much(struct test *t)
{
    each_level(t, much);
}

/* Buckets that are bits of the keys: keys alone, beside a column of their width or another one, and columns
 * alone. In short each level has a third of the longest ones, and all levels together have all. */
static void bits(struct test *t, unsigned level)
{
    static const uint64_t buckets[] = {16, 32, 64, 128, 256, 2048}, sizes[] = {17, 2049, 70001, 400009};
    for (int m = 0; m < 6; m++)
        for (int n = 0; n < 4; n++)
            for (unsigned form = 0; form < 6; form++) {
                if (t->quick && n == 3 && (form + (unsigned)m + level) % 3)
                    continue;
                struct split_plan p = split_plan(sizes[n] + test_below(t, 20), buckets[m]);
                p.kind = COHORT_FN_BITS;
                p.pattern = test_below(t, 4) ? KEYS_RANDOM : KEYS_SKEWED;
                p.key_bytes = form & 1 ? 8 : 4;
                p.columns = form >= 2;
                p.width[0] = (unsigned char)(test_below(t, 4) ? p.key_bytes : 12 - p.key_bytes);
                p.keys_out = form < 4;
                split_do(t, &p);
            }
}

static void levels_of_bits(struct test *t)
{
    each_level(t, bits);
}

/* ---- more entries than 32 bits count ------------------------------------------------------------------- */

#define FAR_N  ((1ull << 32) + 5)
#define PERIOD (64ull << 20)

/* Room for so many bytes, of which each PERIOD is the same memory, but for what is behind the last whole
 * one. */
static char *repeated(struct test *t, uint64_t bytes)
{
    int file = memfd_create("repeated", MFD_CLOEXEC);
    char *room = mmap(NULL, bytes + PERIOD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t at = 0;
    REQUIRE(t, file >= 0 && !ftruncate(file, PERIOD + 4096) && room != MAP_FAILED);
    for (; at + PERIOD <= bytes; at += PERIOD)
        REQUIRE(t, mmap(room + at, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) !=
                       MAP_FAILED);
    REQUIRE(t, mmap(room + at, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, PERIOD) !=
                   MAP_FAILED);
    close(file);
    return room;
}

/* Keys have their top bit from entry 2^32 on: the second bucket, or none. What is behind the first bucket
 * lies in memory of its own. */
static void far_split(struct test *t, const uint32_t *keys)
{
    char *in = repeated(t, FAR_N), *out = repeated(t, FAR_N);
    uint64_t offsets[3];
    cohort_payload column = {in, out, 1, 0};
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    for (int i = 0; i < 5; i++)
        in[(1ull << 32) + i] = (char)('a' + i);
    d.n = FAR_N;
    d.buckets = 2;
    const cohort_fn fn = cohort_fn_bits(31, 1);
    d.fn = &fn;
    d.keys = keys;
    d.payloads = 1;
    d.payload = &column;
    d.offsets = offsets;
    OK(t, cohort_multisplit(t->context, &d));
    EQUAL(t, offsets[1], 1ull << 32);
    EQUAL(t, offsets[2], FAR_N);
    CHECK(t, !memcmp(out + (1ull << 32), "abcde", 5));
    munmap(in, FAR_N + PERIOD);
    munmap(out, FAR_N + PERIOD);
}

static void far_histogram(struct test *t, const uint32_t *keys)
{
    cohort_histogram_desc h = COHORT_HISTOGRAM_INIT;
    cohort_counts counts;
    uint64_t bins[2];
    h.n = FAR_N;
    h.buckets = 2;
    const cohort_fn fn = cohort_fn_bits(30, 2);
    h.fn = &fn;
    h.keys = keys;
    h.bins = bins;
    h.counts = &counts;
    FAILS(t, t->context, cohort_histogram(t->context, &h), COHORT_RANGE, "histogram", "entry 4294967296 ");
    EQUAL(t, bins[0], 1ull << 32);
    EQUAL(t, bins[1], 0);
    EQUAL(t, counts.failed, 5);
    EQUAL(t, counts.first_failed, 1ull << 32);
}

static void beyond_32_bits(struct test *t)
{
    uint32_t *keys = (uint32_t *)(void *)repeated(t, FAR_N * 4);
    for (uint64_t i = 0; i < PERIOD / 4; i++)
        keys[i] = (uint32_t)(i * 2654435761u) >> 2;
    for (uint32_t i = 0; i < 5; i++)
        keys[(1ull << 32) + i] = 0x80000000u + i;
    far_histogram(t, keys);
    far_split(t, keys);
    munmap(keys, FAR_N * 4 + PERIOD);
}

#define ALONE (TEST_ON_CPU | TEST_NO_CONTEXT)
const struct test_case test_cases[] = {{"few", levels_of_few, ALONE},
                                       {"much", levels_of_much, ALONE},
                                       {"bits", levels_of_bits, ALONE},
                                       {"beyond_32_bits", beyond_32_bits, TEST_ON_CPU | TEST_SLOW},
                                       {NULL, NULL, 0}};
