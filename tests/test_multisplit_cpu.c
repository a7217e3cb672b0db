/* test_multisplit_cpu.c: the forms of the CPU's multisplit for each kind of processor. Contexts here ask by COHORT_CPU for every one
 * that this processor can do. */
#include <stdlib.h>

#include "split.h"

static const char *const levels[] = {"plain", "avx2", "avx512"};

static void each_level(struct test *t, void (*run)(struct test *, unsigned level))
{
    cohort_context_options options = test_context_options(t);
    for (unsigned i = 0; i < 3; i++)
        for (options.threads = 1; options.threads <= 3; options.threads += 2) {
            setenv("COHORT_CPU", levels[i], 1);
            cohort_status status = cohort_context_create(&t->context, &options);
            unsetenv("COHORT_CPU");
            REQUIREF(t, !status, "cohort_context_create: %s", cohort_message(NULL));
            run(t, i);
            column_drop(t, NULL);
            cohort_context_destroy(t->context);
            t->context = NULL;
        }
}

/* One array, of keys or of indices, or two: into so many buckets that each way to move them ends or begins there. */
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

/* Buckets that are bits of the keys: keys alone, beside a column of their width or another one, and columns alone. In short each level has
 * a third of the longest ones, and all levels together have all. */
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

#define ALONE (TEST_ON_CPU | TEST_NO_CONTEXT)
const struct test_case test_cases[] = {{"few", levels_of_few, ALONE},
                                       {"much", levels_of_much, ALONE},
                                       {"bits", levels_of_bits, ALONE},
                                       {NULL, NULL, 0}};
