/* test_keys_wide.c: keys of so many bits that they do not fit into a word: numbers by first rows, for 2 to 60
 * and for the most columns there may be; keys that differ in one column alone, or by a null in the place of
 * a zero; ranges that are narrow at first; keys that are not known. */
#include <stdlib.h>
#include <string.h>

#include "test.h"

#define MOST 4096u

/* Keys that collide take a time that grows with the square of their number. */
#ifdef KEYS_HASH_BITS
#    define SHARE 100
#else
#    define SHARE 1
#endif

/* Keys by number, four of each kind: one; the same but for the top bit of the last column; with a null in
 * one column; with a zero there. `narrow` of them come before: their columns are all the same small
 * number. */
struct keys {
    uint32_t columns;
    uint64_t narrow;
    uint8_t nulls_equal[MOST];
};

static const struct {
    cohort_type type;
    uint32_t bytes;
} types[] = {{COHORT_U64, 8}, {COHORT_I64, 8}, {COHORT_I32, 4}, {COHORT_U16, 2}, {COHORT_U8, 1}};

static uint32_t type_of(uint32_t c)
{
    return c < 2 ? c : (c * 7 + 1) % 5;
}

static uint32_t odd_column(const struct keys *k, uint64_t key)
{
    return (uint32_t)(key / 4 % k->columns);
}

static int is_null(const struct keys *k, uint64_t key, uint32_t c)
{
    return key >= k->narrow && key % 4 == 2 && odd_column(k, key) == c;
}

static uint64_t word_of(const struct keys *k, uint64_t key, uint32_t c)
{
    if (key < k->narrow)
        return key % 100 + 1;
    if (key % 4 == 3 && odd_column(k, key) == c)
        return 0;
    uint64_t top = 1ull << (8 * types[type_of(c)].bytes - 1);
    return (test_mix(key / 4 * MOST + c) | 1) ^ (key % 4 == 1 && c + 1 == k->columns ? top : 0);
}

static int is_a_key(const struct keys *k, const uint8_t *nulls_equal, uint64_t key)
{
    return !nulls_equal || key < k->narrow || key % 4 != 2 || nulls_equal[odd_column(k, key)];
}

static cohort_frame *frame_of(struct test *t, cohort_context *context, const struct keys *k,
                              const uint64_t *key, uint64_t n)
{
    cohort_array *array = calloc(k->columns, sizeof *array);
    cohort_frame *frame = NULL;
    char(*name)[16] = calloc(k->columns, sizeof *name);
    if (!array || !name)
        abort();
    for (uint32_t c = 0; c < k->columns; c++) {
        const uint32_t bytes = types[type_of(c)].bytes;
        char *values = calloc(n + 1, bytes);
        uint8_t *valid = calloc(n / 8 + 1, 1);
        if (!values || !valid)
            abort();
        for (uint64_t i = 0; i < n; i++) {
            uint64_t word = is_null(k, key[i], c) ? i : word_of(k, key[i], c);
            memcpy(values + i * bytes, &word, bytes);
            valid[i / 8] |= (uint8_t)(!is_null(k, key[i], c) << (i & 7));
        }
        snprintf(name[c], sizeof name[c], "k%u", c);
        array[c] = (cohort_array){name[c], types[type_of(c)].type, 0, values, valid};
    }
    OK(t, cohort_frame_create(context, n, k->columns, array, &frame));
    for (uint32_t c = 0; c < k->columns; c++) {
        free((void *)(uintptr_t)array[c].values);
        free((void *)(uintptr_t)array[c].validity);
    }
    free(array);
    free(name);
    return frame;
}

/* Adds or finds rows of `keys`; id: of each key, COHORT_NO_ID for those that were not added yet. */
static void check(struct test *t, cohort_factor *factor, const struct keys *k, const uint8_t *nulls_equal,
                  cohort_context *context, const uint64_t *key, uint64_t n, uint32_t *id, uint64_t *count,
                  int adds)
{
    cohort_frame *frame = frame_of(t, context, k, key, n);
    uint32_t *ids = malloc(n * 4 + 4);
    if (!ids)
        abort();
    OK(t, adds ? cohort_factor_add(factor, frame, ids) : cohort_factor_find(factor, frame, ids));
    for (uint64_t i = 0; i < n; i++) {
        uint32_t *due = &id[key[i]];
        if (adds && *due == COHORT_NO_ID && is_a_key(k, nulls_equal, key[i]))
            *due = (uint32_t)(*count)++;
        REQUIREF(t, ids[i] == *due, "%u columns, %s, row %llu, key %llu: id %u, not %u", k->columns,
                 adds ? "add" : "find", (unsigned long long)i, (unsigned long long)key[i], ids[i], *due);
    }
    EQUAL(t, cohort_factor_count(factor), *count);
    cohort_frame_release(frame);
    free(ids);
}

static void numbers(struct test *t, cohort_context *context, uint32_t columns, uint64_t n, uint64_t distinct)
{
    struct keys k = {.columns = columns, .narrow = test_below(t, 2) ? 5 + test_below(t, 20) : 0};
    const uint64_t all = k.narrow + distinct + 1;
    const uint8_t *nulls_equal = test_below(t, 3) ? k.nulls_equal : NULL;
    uint64_t *key = malloc((n + 50) * 8), count = 0;
    uint32_t *id = malloc(all * 4);
    cohort_factor *factor = NULL;
    if (!key || !id)
        abort();
    memset(id, 0xff, all * 4);
    for (uint32_t c = 0; c < columns; c++)
        k.nulls_equal[c] = test_below(t, 2) != 0;
    OK(t, cohort_factor_create(context, columns, nulls_equal, &factor));
    for (int step = 0; step < 5; step++) {
        /* The narrow ones; half of the others; all found, of which half are not known; all; and again. */
        const uint64_t from = step == 1 ? k.narrow : 0;
        const uint64_t most = step == 0 ? k.narrow : step == 1 ? distinct / 2 + 1 : all;
        const uint64_t rows = !most ? 0 : step == 0 ? 50 : n - test_below(t, n / 3 + 1);
        for (uint64_t i = 0; i < rows; i++)
            key[i] = from + test_below(t, most - (step == 1 ? 0 : from));
        check(t, factor, &k, nulls_equal, context, key, rows, id, &count, step != 2 && step != 4);
    }
    cohort_factor_destroy(factor);
    free(key);
    free(id);
}

static void wide(struct test *t)
{
    static const uint32_t columns[] = {2, 3, 4, 5, 9, 60, 65, 200};
    /* A row of so many words in a kernel is slow where the GPU is simulated, and takes much memory there. */
    const uint64_t share = SHARE * (t->kind == TEST_SIM ? 40 : 1);
    const uint64_t words = test_scale(t, 300000, 1200000, 3000000) / share;
    for (int threads = 1; threads <= 3; threads += 2)
        for (int i = 0; i < 8; i++) {
            if (!test_drawn(t, (uint64_t)(i + threads / 2), 4))
                continue;
            cohort_context_options options = test_context_options(t);
            cohort_context *context = NULL;
            options.threads = (uint64_t)threads;
            OK(t, cohort_context_create(&options, &context));
            const uint64_t n = words / columns[i] + 20;
            numbers(t, context, columns[i], n, 4);
            numbers(t, context, columns[i], n, 1 + test_below(t, n / 4 + 1));
            numbers(t, context, columns[i], n, 4 * n);
            cohort_context_destroy(context);
        }
}

/* As many columns as there may be. */
static void widest(struct test *t)
{
    const uint64_t rows = t->kind == TEST_SIM ? 45 : 300;
    if (!test_drawn(t, 0, 3))
        return;
    numbers(t, t->context, MOST, rows, rows / 3);
}

/* All rows of many have keys of their own, or nearly all. */
static void fresh(struct test *t)
{
    const uint64_t n = test_size(t, 1500000, 200000) / SHARE;
    numbers(t, t->context, 3, n, 15 * n);
}

const struct test_case test_cases[] = {
    {"wide", wide, 0}, {"widest", widest, 0}, {"fresh", fresh, TEST_ON_CPU}, {NULL, NULL, 0}};
