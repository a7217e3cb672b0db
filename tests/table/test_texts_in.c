/* test_texts_in.c: which strings are among others, and where these have them first: few strings or just too
 * many for rows to be looked up in a layout of their own, rows just enough for that or just too few; strings
 * of all lengths around its bounds, which begin alike, end alike or are filled up with zeros; every layout,
 * with and without nulls on either side, in chunks, for several threads, with vectors and without. */
#include "core/context.h"
#include "cpu/cpu.h"
#include "model.h"

/* Strings that collide take a time that grows with the square of their number. */
#ifdef KEYS_HASH_BITS
#    define MANY 200u
#else
#    define MANY 16384u /* strings that have a layout of their own, at most */
#endif
#define ROWS_EACH 8u /* rows a string that it takes */

/* Fewer of them are long than short, or there would be no layout of their own. */
static const uint32_t lengths[] = {0,  1,  3,  4,  7,  8,  11,  12,  13,  16,
                                   20, 31, 32, 33, 34, 64, 255, 256, 288, 2000};
#define LENGTHS (sizeof lengths / sizeof *lengths)
#define KINDS   5u

/* ---- strings ------------------------------------------------------------------------------------------- */

/* String i of each length, in KINDS: zeros, letters with zeros between them, and these with another byte at
 * the end, in the middle, behind the first 32. */
static uint32_t patterned(uint64_t i, char *to)
{
    const uint32_t length = lengths[i / KINDS % LENGTHS], kind = i % KINDS;
    for (uint32_t k = 0; k < length; k++)
        to[k] = kind && k % 5 ? (char)('a' + k % 23) : 0;
    if (kind == 2 && length)
        to[length - 1] ^= 1;
    if (kind == 3 && length)
        to[length / 2] ^= (char)0x80;
    if (kind == 4 && length > 32)
        to[32] ^= 4;
    return length;
}

/* Digits, as many as the number tells. */
static uint32_t digits(uint64_t i, char *to)
{
    return (uint32_t)sprintf(to, "%0*llu", 1 + (int)(i % 29), (unsigned long long)i);
}

/* A long string, which differs from most of the others behind the first 32 bytes alone; or digits, for where
 * most are long there is no layout of their own. */
static uint32_t late(uint64_t i, char *to)
{
    if (i % 5 < 3)
        return digits(i, to);
    return (uint32_t)sprintf(to, "https://example.org/a/long/path/to/%s%llu", i % 7 ? "" : "another/",
                             (unsigned long long)i);
}

typedef uint32_t make(uint64_t i, char *to);

/* A column of n strings below `distinct`, `first` added to their numbers; a row in `nulls` is null; 0: none
 * is. */
static void strings(struct test *t, struct model *m, const char *format, make *of, uint64_t n, uint64_t first,
                    uint64_t distinct, uint32_t nulls)
{
    static char text[4096];
    model_open(m, n, 1);
    strcpy(m->column[0].name, "a");
    strcpy(m->column[0].format, format);
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t length = of(first + test_below(t, distinct), text);
        struct cell cell = {model_bytes(m, text, length), length};
        m->column[0].cell[i] = nulls && !test_below(t, nulls) ? (struct cell){NULL, 0} : cell;
    }
}

/* ---- the oracle ---------------------------------------------------------------------------------------- */

struct entry {
    struct cell cell;
    uint64_t row;
};

static int by_cell(struct cell a, struct cell b)
{
    const int nulls = !a.bytes - !b.bytes;
    if (nulls || !a.bytes)
        return nulls;
    if (a.length != b.length)
        return a.length < b.length ? -1 : 1;
    return memcmp(a.bytes, b.bytes, a.length);
}

static int by_entry(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const int order = by_cell(x->cell, y->cell);
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

static struct entry *ordered(struct test *t, const struct model *values)
{
    struct entry *e = malloc((values->rows + 1) * sizeof *e);
    REQUIRE(t, e);
    for (uint64_t i = 0; i < values->rows; i++)
        e[i] = (struct entry){values->column[0].cell[i], i};
    qsort(e, values->rows, sizeof *e, by_entry);
    return e;
}

/* The first row with the value, or all ones. */
static uint64_t first_row(const struct entry *e, uint64_t m, struct cell cell, int nulls_equal)
{
    uint64_t low = 0, high = m;
    if (!cell.bytes && !nulls_equal)
        return ~0ull;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (by_cell(e[middle].cell, cell) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m && !by_cell(e[low].cell, cell) ? e[low].row : ~0ull;
}

/* ---- cases --------------------------------------------------------------------------------------------- */

/* Both calls against the oracle. */
static void judge(struct test *t, cohort_context *context, const struct model *values,
                  const struct model *keys)
{
    const uint64_t m = values->rows, n = keys->rows;
    const uint8_t equal = test_below(t, 2) != 0, *nulls_equal = equal && test_below(t, 2) ? NULL : &equal;
    uint32_t *rows = malloc(n * 4 + 4);
    uint8_t *bits = malloc(n / 8 + 1);
    struct entry *e = ordered(t, values);
    cohort_frame *of = model_frame(t, keys, context), *among = model_frame(t, values, context);
    REQUIRE(t, rows && bits);
    OK(t, cohort_index_in(of, among, nulls_equal, 4, rows));
    OK(t, cohort_is_in(of, among, nulls_equal, bits));
    for (uint64_t i = 0; i < n; i++) {
        const struct cell cell = keys->column[0].cell[i];
        const uint64_t due = first_row(e, m, cell, equal);
        REQUIREF(t, rows[i] == (uint32_t)due, "row %llu of %llu, of %llu bytes, is 0x%x, not 0x%x, of %llu",
                 (unsigned long long)i, (unsigned long long)n, (unsigned long long)cell.length, rows[i],
                 (uint32_t)due, (unsigned long long)m);
        REQUIREF(t, (bits[i / 8] >> (i & 7) & 1) == (due != ~0ull), "bit %llu of %llu, of %llu bytes",
                 (unsigned long long)i, (unsigned long long)n, (unsigned long long)cell.length);
    }
    CHECK(t, !(n % 8) || !(bits[n / 8] >> n % 8)); /* the last byte's other bits are zero */
    free(e);
    free(rows);
    free(bits);
    cohort_frame_release(of);
    cohort_frame_release(among);
}

static const char *format_of(struct test *t)
{
    static const char *const formats[] = {"u", "U", "vu", "z", "Z", "vz"};
    return formats[test_below(t, sizeof formats / sizeof *formats)];
}

/* Keys below `others` more than the m values' `distinct`. */
static void look(struct test *t, cohort_context *context, make *of, uint64_t m, uint64_t distinct, uint64_t n,
                 uint64_t others, uint32_t nulls)
{
    const char *format = format_of(t);
    struct model values, keys;
    const uint64_t first = test_below(t, 1000);
    strings(t, &values, format, of, m, first, distinct, nulls ? 4 * nulls : 0);
    strings(t, &keys, model_another_layout(t, format), of, n, first, distinct + others, nulls);
    judge(t, context, &values, &keys);
    model_close(&values);
    model_close(&keys);
}

/* A context of so many threads, with vectors or without. */
static cohort_context *context_of(struct test *t, uint32_t threads, int plain)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL;
    options.threads = threads;
    OK(t, cohort_context_create(&options, &context));
    if (plain)
        cpu_device(context)->level = CPU_PLAIN;
    return context;
}

static void patterns(struct test *t)
{
    static const uint32_t threads[] = {1, 2, 5};
    const uint64_t m[] = {0, 1, 2, 64, 150};
    for (uint32_t i = 0; i < 12; i++) {
        cohort_context *context = context_of(t, threads[i % 3], i % 4 == 3);
        for (uint32_t k = 0; k < sizeof m / sizeof *m; k++) {
            look(t, context, patterned, m[k], KINDS * LENGTHS, ROWS_EACH * m[k] + test_below(t, 3), 1, 0);
            look(t, context, patterned, m[k], KINDS * LENGTHS, 1500 + test_below(t, 300), 1, i % 2 ? 5 : 300);
        }
        cohort_context_destroy(context);
    }
}

/* Each value but one, which they begin behind: keys that differ little from the others are not among them. */
static void but_one(struct test *t)
{
    struct model values, keys;
    for (uint64_t without = 0; without < KINDS * LENGTHS; without++) {
        static char text[4096];
        const char *format = format_of(t);
        cohort_context *context = context_of(t, 1, without % 5 == 4);
        strings(t, &values, format, patterned, KINDS * LENGTHS - 1, 0, 1, 0);
        strings(t, &keys, model_another_layout(t, format), patterned, 1000, 0, KINDS * LENGTHS, 0);
        for (uint64_t i = 0; i < values.rows; i++) {
            const uint32_t length = patterned((without + 1 + i) % (KINDS * LENGTHS), text);
            values.column[0].cell[i] = (struct cell){model_bytes(&values, text, length), length};
        }
        judge(t, context, &values, &keys);
        model_close(&values);
        model_close(&keys);
        cohort_context_destroy(context);
    }
}

/* Null among the values, and no empty string; or the other way round; or both. */
static void empty(struct test *t)
{
    for (unsigned i = 0; i < 16; i++) {
        const char *format = format_of(t);
        cohort_context *context = context_of(t, 1 + i % 2, i % 8 == 7);
        struct model values, keys;
        strings(t, &values, format, digits, 5, 1, 20, 0);
        strings(t, &keys, model_another_layout(t, format), digits, 800, 1, 20, 4);
        if (i & 1)
            values.column[0].cell[test_below(t, 3)] = (struct cell){NULL, 0};
        if (i & 2)
            values.column[0].cell[4] = (struct cell){model_bytes(&values, "", 0), 0};
        for (uint64_t k = 0; k < keys.rows; k += 3)
            keys.column[0].cell[k] = (struct cell){model_bytes(&keys, "", 0), 0};
        judge(t, context, &values, &keys);
        model_close(&values);
        model_close(&keys);
        cohort_context_destroy(context);
    }
}

/* As many values and rows as a layout of its own takes, one more and one less; nearly none of the keys is
 * there, some are, all are. */
static void bounds(struct test *t)
{
    const uint64_t m[] = {63, 64, 65, 1000, MANY, MANY + 1};
    cohort_context *context = context_of(t, 2, 0);
    for (uint32_t i = 0; i < sizeof m / sizeof *m; i++)
        for (uint32_t k = 0; k < 3; k++) {
            const uint64_t count = m[i] < MANY ? m[i] : MANY + m[i] % 2;
            struct model values, keys;
            static char text[4096];
            strings(t, &values, "u", digits, count, 0, 1, 0);
            for (uint64_t v = 0; v < count; v++) { /* each once */
                const uint32_t length = digits(v * 3, text);
                values.column[0].cell[v] = (struct cell){model_bytes(&values, text, length), length};
            }
            strings(t, &keys, model_another_layout(t, "u"), digits, ROWS_EACH * count - (i + k) % 2, 0,
                    k == 0   ? 300 * count
                    : k == 1 ? 3 * count
                             : 1,
                    0);
            judge(t, context, &values, &keys);
            model_close(&values);
            model_close(&keys);
        }
    cohort_context_destroy(context);
}

static void long_ones(struct test *t)
{
    const uint64_t m = test_scale(t, 100, 700, 3000);
    for (uint32_t i = 0; i < 4; i++) {
        cohort_context *context = context_of(t, 1 + i, i == 3);
        look(t, context, late, m, m, ROWS_EACH * m + 300, i % 2 ? m : m / 20, i % 2 ? 40 : 0);
        cohort_context_destroy(context);
    }
}

const struct test_case test_cases[] = {{"patterns", patterns, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {"but_one", but_one, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {"empty", empty, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {"bounds", bounds, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {"long_ones", long_ones, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {NULL, NULL, 0}};
