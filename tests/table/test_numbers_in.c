/* test_numbers_in.c: which plain numbers are among others, and where these have them first: close together or
 * far apart, few or more than a cache holds, words of all ones, NaNs and zeros of several bits; few of them
 * against many, either way. */
#include "core/context.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    cohort_type type;
    unsigned bytes;
    int is_float;
} types[] = {{COHORT_U8, 1, 0},  {COHORT_U32, 4, 0}, {COHORT_I32, 4, 0}, {COHORT_U64, 8, 0},
             {COHORT_I64, 8, 0}, {COHORT_F32, 4, 1}, {COHORT_F64, 8, 1}};
enum { TYPES = sizeof types / sizeof *types };

enum spread { CLOSE, APART, CLUSTERS, SPREADS };

/* ---- the oracle ---------------------------------------------------------------------------------------- */

/* All NaNs are one, and so are both zeros. */
static uint64_t canonical(unsigned type, uint64_t bits)
{
    uint64_t sign = 1ull << (8 * types[type].bytes - 1), size = bits & (sign - 1);
    uint64_t infinity = types[type].bytes == 4 ? 0x7f800000u : 0x7ffull << 52;
    if (!types[type].is_float)
        return bits;
    return size > infinity ? infinity + 1 : size ? bits : 0;
}

struct entry {
    uint64_t word, row;
};

static int by_word(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static struct entry *ordered(struct test *t, unsigned type, const struct column *values)
{
    struct entry *e = malloc((values->count + 1) * sizeof *e);
    REQUIRE(t, e);
    for (uint64_t i = 0; i < values->count; i++)
        e[i] = (struct entry){canonical(type, column_get(values, i)), i};
    qsort(e, values->count, sizeof *e, by_word);
    return e;
}

/* The first row with the word, or all ones. */
static uint64_t first_row(const struct entry *e, uint64_t m, uint64_t word)
{
    uint64_t low = 0, high = m;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (e[middle].word < word)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m && e[low].word == word ? e[low].row : ~0ull;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static uint64_t special(struct test *t, unsigned type)
{
    const uint64_t ones = types[type].bytes == 8 ? ~0ull : (1ull << 8 * types[type].bytes) - 1;
    const uint64_t sign = ones / 2 + 1;
    const uint64_t of[] = {0, 1, ones, ones - 1, sign, sign - 1, sign + 1};
    return of[test_below(t, sizeof of / sizeof *of)];
}

static uint64_t number(struct test *t, unsigned type, enum spread spread, uint64_t distinct)
{
    uint64_t i = test_below(t, distinct), mixed = (i + 1) * 0x9e3779b97f4a7c15ull;
    if (test_below(t, 40) == 0)
        return special(t, type);
    return spread == CLOSE ? i + 7 : spread == APART ? mixed : i % 64 + (mixed >> 50 << 40);
}

static void fill(struct test *t, struct column *c, unsigned type, enum spread spread, uint64_t distinct,
                 int specials)
{
    for (uint64_t i = 0; i < c->count; i++) {
        uint64_t x = number(t, type, spread, distinct);
        column_put(c, i, specials || spread != CLOSE ? x : test_below(t, distinct) + 7);
    }
}

static cohort_frame *frame_of(struct test *t, struct column *c, unsigned type)
{
    cohort_array array = {"a", types[type].type, 0, column_send(c), NULL};
    cohort_frame *frame = NULL;
    OK(t, cohort_frame_create(t->context, c->count, 1, &array, &frame));
    return frame;
}

/* ---- cases --------------------------------------------------------------------------------------------- */

/* Both calls against the oracle. */
static void judge(struct test *t, unsigned type, struct column *values, struct column *keys, unsigned bytes)
{
    const uint64_t m = values->count, n = keys->count;
    struct column *rows = column_new(t, n, bytes), *bits = column_new(t, (n + 7) / 8, 1);
    struct entry *e = ordered(t, type, values);
    cohort_frame *of = frame_of(t, keys, type), *among = frame_of(t, values, type);
    OK(t, cohort_index_in(of, among, NULL, bytes, column_send(rows)));
    OK(t, cohort_is_in(of, among, NULL, column_send(bits)));
    column_fetch(rows);
    column_fetch(bits);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t due = first_row(e, m, canonical(type, column_get(keys, i)));
        REQUIREF(t, column_get(rows, i) == (bytes == 4 ? (uint32_t)due : due),
                 "row %llu is 0x%llx, not 0x%llx: type %u, %llu of %llu", (unsigned long long)i,
                 (unsigned long long)column_get(rows, i), (unsigned long long)due, type,
                 (unsigned long long)n, (unsigned long long)m);
        EQUAL(t, column_get(bits, i / 8) >> (i & 7) & 1, due != ~0ull);
    }
    CHECK(t, !t->context->helper); /* on a GPU nothing was brought to the host */
    free(e);
    cohort_frame_release(of);
    cohort_frame_release(among);
}

static void look(struct test *t, unsigned type, enum spread spread, uint64_t m, uint64_t n, uint64_t distinct,
                 unsigned bytes)
{
    struct column *values = column_new(t, m, types[type].bytes), *keys = column_new(t, n, types[type].bytes);
    fill(t, values, type, spread, distinct, test_below(t, 2) == 0);
    fill(t, keys, type, spread, distinct + distinct / 2 + 1, 1);
    judge(t, type, values, keys, bytes);
    column_drop(t, NULL);
}

static void sizes(struct test *t)
{
    const uint64_t m[] = {0, 1, 5, 300, 4097}, n[] = {0, 1, 7, 255, 256, 257, 20000};
    for (unsigned i = 0; i < sizeof m / sizeof *m; i++)
        for (unsigned k = 0; k < sizeof n / sizeof *n; k++)
            for (enum spread spread = CLOSE; spread < SPREADS; spread++)
                look(t, (unsigned)test_below(t, TYPES), spread, m[i], test_size(t, n[k], 600),
                     1 + test_below(t, 2 * m[i] + 2), test_below(t, 2) ? 4 : 8);
}

static void each_type(struct test *t)
{
    for (unsigned type = 0; type < TYPES; type++)
        for (enum spread spread = CLOSE; spread < SPREADS; spread++)
            look(t, type, spread, test_size(t, 3000, 200), test_size(t, 9000, 500), 1 + test_below(t, 4000),
                 type % 2 ? 4 : 8);
}

/* Behind a filter: most keys pass it, or few. */
static void large(struct test *t)
{
    const uint64_t m = test_size(t, t->quick ? 70000 : 300000, 900), n = test_size(t, 100000, 900);
    look(t, 4, APART, m, n, m, 8);
    look(t, 3, APART, m, n, 20 * m, 4);
    look(t, 6, APART, m, n, 50, 8);
    look(t, 2, CLOSE, m, n, m, 8);
}

/* Few values, many keys: nearly none is there, some are, all are. Then a thread finds that its filter lets
 * them pass. As many as a near table takes, and one more. */
static void few_values(struct test *t)
{
    const uint64_t m[] = {1, 33, 2000, 32768, 32769}, n = test_size(t, t->quick ? 20000 : 70000, 900);
    for (unsigned i = 0; i < sizeof m / sizeof *m; i++)
        for (unsigned times = 1; times <= 1000; times *= 10)
            look(t, 2 + (unsigned)test_below(t, TYPES - 2), test_below(t, 3) ? APART : CLUSTERS,
                 test_size(t, m[i], 300), n, times * m[i], test_below(t, 2) ? 4 : 8);
}

/* A key of all ones, which looks like an empty slot: among few values or not, where most keys are there, and
 * the filter goes, and where nearly none is. */
static void ones(struct test *t)
{
    const uint64_t rounds = test_size(t, 48, 12);
    for (uint64_t round = 0; round < rounds; round++) {
        const uint64_t m = test_size(t, 16000, 300), n = test_size(t, 16500, 900);
        struct column *values = column_new(t, m, 8), *keys = column_new(t, n, 8);
        for (uint64_t i = 0; i < m; i++)
            column_put(values, i, (i + 1 + 50000 * round) * 0x9e3779b97f4a7c15ull);
        if (round & 1)
            column_put(values, test_below(t, m), UINT64_MAX);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t other = (i + m + 1 + 50000 * round) * 0x9e3779b97f4a7c15ull;
            uint64_t x = round & 2 ? column_get(values, test_below(t, m)) : other;
            column_put(keys, i, test_below(t, 10) ? x : UINT64_MAX);
        }
        judge(t, round & 4 ? 3 : 4, values, keys, 8);
        column_drop(t, NULL);
    }
}

/* Values of every kind: m of them, of `distinct`, with copies. */
static struct column *many_values(struct test *t, unsigned type, uint64_t m, uint64_t distinct)
{
    struct column *values = column_new(t, m, types[type].bytes);
    fill(t, values, type, APART, distinct, 1);
    return values;
}

/* Few keys, or few distinct ones, among many values: some are there, none is, all are. */
static void few_keys(struct test *t)
{
    const uint64_t m = test_size(t, t->quick ? 66000 : 200000, 700), n[] = {0, 1, 255, 8192, 8193, 50000};
    for (unsigned i = 0; i < sizeof n / sizeof *n; i++)
        for (unsigned present = 0; present < 3; present++) {
            const unsigned type = present == 0 && i % 2 ? 6 : i % 2 ? 3 + (unsigned)test_below(t, 2) : 2;
            const uint64_t count = test_size(t, n[i], 600), distinct = 1 + test_below(t, 3000);
            struct column *values = many_values(t, type, m, m / 2 + 1);
            struct column *keys = column_new(t, count, types[type].bytes);
            fill(t, keys, type, APART, distinct, 1);
            for (uint64_t k = 0; k < count && present != 1; k++) {
                uint64_t at = test_below(t, distinct) * 7 % m;
                column_put(keys, k, present == 2 || k % 2 ? column_get(values, at) : UINT64_MAX - k % 40);
            }
            judge(t, type, values, keys, i % 3 ? 8 : 4);
            column_drop(t, NULL);
        }
}

/* Keys of which one in twenty is like no other: more are distinct than the first look lets hope for; and as
 * many distinct ones as go without a first look. */
static void more_keys(struct test *t)
{
    const uint64_t m = test_size(t, t->quick ? 66000 : 200000, 700), n = test_size(t, 120000, 900);
    for (unsigned type = 3; type < 5; type++) {
        struct column *values = many_values(t, type, m, m);
        struct column *keys = column_new(t, n, 8), *all = column_new(t, n < 8192 ? n : 8192, 8);
        for (uint64_t i = 0; i < n; i++)
            column_put(keys, i, (test_below(t, 20) ? test_below(t, 10) : i + 11) * 0x9e3779b97f4a7c15ull);
        for (uint64_t i = 0; i < all->count; i++)
            column_put(all, i, i * 0x9e3779b97f4a7c15ull);
        judge(t, type, values, keys, 8);
        judge(t, type, values, all, 4);
        column_drop(t, NULL);
    }
}

const struct test_case test_cases[] = {
    {"sizes", sizes, TEST_EACH_MEMORY},         {"each_type", each_type, TEST_EACH_MEMORY},
    {"large", large, TEST_EACH_MEMORY},         {"few_values", few_values, TEST_EACH_MEMORY},
    {"ones", ones, TEST_EACH_MEMORY},           {"few_keys", few_keys, TEST_EACH_MEMORY},
    {"more_keys", more_keys, TEST_EACH_MEMORY}, {NULL, NULL, 0}};
