/* test_numbers_in.c: which plain numbers are among others, and where these have them first: close together or
 * far apart, few or more than a cache holds, words of all ones, NaNs and zeros of several bits. */
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

static void look(struct test *t, unsigned type, enum spread spread, uint64_t m, uint64_t n, uint64_t distinct,
                 unsigned bytes)
{
    struct column *values = column_new(t, m, types[type].bytes), *keys = column_new(t, n, types[type].bytes);
    struct column *rows = column_new(t, n, bytes), *bits = column_new(t, (n + 7) / 8, 1);
    fill(t, values, type, spread, distinct, test_below(t, 2) == 0);
    fill(t, keys, type, spread, distinct + distinct / 2 + 1, 1);
    struct entry *e = ordered(t, type, values);
    cohort_frame *of = frame_of(t, keys, type), *among = frame_of(t, values, type);
    OK(t, cohort_index_in(of, among, NULL, bytes, column_send(rows)));
    OK(t, cohort_is_in(of, among, NULL, column_send(bits)));
    column_fetch(rows);
    column_fetch(bits);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t due = first_row(e, m, canonical(type, column_get(keys, i)));
        REQUIREF(t, column_get(rows, i) == (bytes == 4 ? (uint32_t)due : due),
                 "row %llu is 0x%llx, not 0x%llx: type %u, spread %d, %llu of %llu, %llu distinct",
                 (unsigned long long)i, (unsigned long long)column_get(rows, i), (unsigned long long)due,
                 type, (int)spread, (unsigned long long)n, (unsigned long long)m,
                 (unsigned long long)distinct);
        EQUAL(t, column_get(bits, i / 8) >> (i & 7) & 1, due != ~0ull);
    }
    CHECK(t, !t->context->helper); /* on a GPU nothing was brought to the host */
    free(e);
    cohort_frame_release(of);
    cohort_frame_release(among);
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

const struct test_case test_cases[] = {{"sizes", sizes, TEST_EACH_MEMORY},
                                       {"each_type", each_type, TEST_EACH_MEMORY},
                                       {"large", large, TEST_EACH_MEMORY},
                                       {NULL, NULL, 0}};
