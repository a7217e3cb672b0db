/* test_keys_rows.c: many rows of one column of numbers, for one thread or several: ids are those of first
 * rows, where keys are few and some come late, and where nearly every row has a key of its own. */
#include "model.h"

static uint32_t *ids_of(struct column *c)
{
    return c->data;
}

/* Many rows: the ids are those of first rows, whatever the threads do. */
static void many(struct test *t)
{
    const uint64_t n = test_size(t, 700000, 5000);
    for (uint64_t distinct = 1; distinct <= 4 * n; distinct *= 23) {
        uint64_t *key = malloc(n * 8), *seen = malloc(4 * n * 8), next = 0;
        char *text = malloc(n * 8);
        struct column *ids = column_new(t, n, 4);
        if (!key || !seen || !text)
            abort();
        memset(seen, 0xff, 4 * n * 8);
        for (uint64_t i = 0; i < n; i++)
            key[i] = test_mix(test_below(t, distinct));
        cohort_array array = {"key", COHORT_U64, 0, key, NULL};
        cohort_frame *frame = NULL, *values = NULL;
        OK(t, cohort_frame_create(t->context, n, 1, &array, &frame));
        OK(t, cohort_factorize(frame, NULL, column_send(ids), &values));
        column_fetch(ids);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t id = ids_of(ids)[i];
            REQUIREF(t, id <= next, "row %llu has id %llu; %llu keys were seen", (unsigned long long)i,
                     (unsigned long long)id, (unsigned long long)next);
            next += id == next;
            if (seen[id] == ~0ull)
                seen[id] = key[i];
            REQUIREF(t, seen[id] == key[i], "row %llu: id %llu has another key", (unsigned long long)i,
                     (unsigned long long)id);
        }
        EQUAL(t, cohort_frame_rows(values), next);
        cohort_frame_release(frame);
        cohort_frame_release(values);
        free(key);
        free(seen);
        free(text);
        column_drop(t, NULL);
    }
}

/* ---- few keys, of which some come late ----------------------------------------------------------------- */

/* Rows of keys that are known by their numbers, and of nulls, which have the number `keys`. */
struct few {
    uint64_t n, keys;
    uint64_t *number, *word;
    uint32_t *narrow;
    uint8_t *valid; /* bits */
    uint32_t *id;   /* of numbers; COHORT_NO_ID: not yet */
    uint64_t *first, distinct;
};

static void *room(uint64_t bytes)
{
    void *memory = calloc(bytes + 8, 1);
    if (!memory)
        abort();
    return memory;
}

static void few_open(struct few *f, uint64_t n, uint64_t keys)
{
    *f = (struct few){.n = n, .keys = keys};
    f->number = room(n * 8);
    f->word = room(n * 8);
    f->narrow = room(n * 4);
    f->valid = room(n / 8);
    f->id = room((keys + 1) * 4);
    f->first = room((keys + 1) * 8);
}

/* The first half of the keys is there from the first row on, the others come one by one, and null at
 * the end. The word of the key `zero` is 0. */
static void few_fill(struct test *t, struct few *f, uint64_t n, uint64_t keys, uint64_t zero, int is_sorted,
                     int nulls)
{
    few_open(f, n, keys);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t half = (keys + 1) / 2, late = i < n / 2 ? 0 : (keys - half) * (i - n / 2) / (n / 4);
        uint64_t k = is_sorted ? keys * i / n : test_below(t, half + late < keys ? half + late : keys);
        if (nulls && i > n / 4 * 3 && !test_below(t, 5))
            k = keys;
        f->number[i] = k;
        f->word[i] = k == zero ? 0 : test_mix(k + 1);
        f->narrow[i] = k == zero ? 0 : (uint32_t)(k + 1) * 2654435761u;
        if (k < keys)
            f->valid[i / 8] |= (uint8_t)(1u << (i & 7));
    }
}

/* Ids by the numbers' first rows. */
static void few_number(struct few *f, int nulls_equal)
{
    f->distinct = 0;
    for (uint64_t k = 0; k <= f->keys; k++)
        f->id[k] = COHORT_NO_ID;
    for (uint64_t i = 0; i < f->n; i++) {
        uint64_t k = f->number[i];
        if (f->id[k] != COHORT_NO_ID || (k == f->keys && !nulls_equal))
            continue;
        f->first[f->distinct] = i;
        f->id[k] = (uint32_t)f->distinct++;
    }
}

static void few_check(struct test *t, cohort_context *context, struct few *f, int is_narrow, int nulls,
                      uint8_t nulls_equal)
{
    cohort_array array = {"key", is_narrow ? COHORT_U32 : COHORT_I64, 0,
                          is_narrow ? (void *)f->narrow : (void *)f->word, nulls ? f->valid : NULL};
    cohort_frame *frame = NULL, *values = NULL;
    struct column *ids = column_new(t, f->n, 4), *rows;
    few_number(f, nulls_equal);
    OK(t, cohort_frame_create(context, f->n, 1, &array, &frame));
    OK(t, cohort_factorize(frame, &nulls_equal, column_send(ids), &values));
    column_fetch(ids);
    for (uint64_t i = 0; i < f->n; i++)
        REQUIREF(t, ids_of(ids)[i] == f->id[f->number[i]], "row %llu: id %u in place of %u",
                 (unsigned long long)i, ids_of(ids)[i], f->id[f->number[i]]);
    REQUIREF(t, cohort_frame_rows(values) == f->distinct, "%llu values in place of %llu",
             (unsigned long long)cohort_frame_rows(values), (unsigned long long)f->distinct);
    rows = column_new(t, f->distinct, 8);
    OK(t, cohort_index_in(values, frame, &nulls_equal, 8, column_send(rows)));
    column_fetch(rows);
    CHECK(t, !memcmp(rows->data, f->first, f->distinct * 8));
    cohort_frame_release(frame);
    cohort_frame_release(values);
    column_drop(t, NULL);
}

static void few_close(struct few *f)
{
    free(f->number);
    free(f->word);
    free(f->narrow);
    free(f->valid);
    free(f->id);
    free(f->first);
}

static void few(struct test *t)
{
    static const uint64_t keys[] = {1, 40, 3000, 9000};
    cohort_context_options options = test_context_options(t);
    cohort_context *alone = NULL;
    options.threads = 1;
    OK(t, cohort_context_create(&options, &alone));
    for (int i = 0; i < 8; i++) {
        if (!test_drawn(t, (uint64_t)i, test_size(t, 4, 1)))
            continue;
        struct few f;
        int is_late = i == 2, nulls = is_late || test_below(t, 2);
        uint64_t many = keys[i / 2], zero = is_late ? many - 1 : test_below(t, many);
        cohort_context *context = test_below(t, 2) ? alone : t->context;
        few_fill(t, &f, test_size(t, 2200000, 7000) - test_below(t, 3000), many, zero, i % 2, nulls);
        few_check(t, context, &f, 0, nulls, 1);
        if (nulls)
            few_check(t, context, &f, 0, 1, 0);
        few_check(t, context, &f, 1, nulls, 1);
        few_close(&f);
    }
    cohort_context_destroy(alone);
}

/* ---- a key of its own for nearly every row ------------------------------------------------------------- */

/* Nearly every row has a key of its own, so that the table is filled by its parts: some rows may have one of
 * those before them, and some may be null. */
static void fresh_fill(struct test *t, struct few *f, uint64_t n, int repeats, int nulls)
{
    few_open(f, n, n);
    for (uint64_t i = 0, next = 0; i < n; i++) {
        uint64_t k = repeats && next && !test_below(t, 20) ? test_below(t, next) : next++;
        if (nulls && i > n / 20 && !test_below(t, 50))
            k = n;
        f->number[i] = k;
        f->word[i] = k == 1000 ? 0 : test_mix(k + 1);
        f->narrow[i] = (uint32_t)(k + 1) * 2654435761u;
        if (k < n)
            f->valid[i / 8] |= (uint8_t)(1u << (i & 7));
    }
}

/* The table of a factor has each key where it is found again. */
static void fresh_find(struct test *t, cohort_context *context, const struct few *f)
{
    cohort_array array = {"key", COHORT_I64, 0, f->word, NULL};
    cohort_frame *frame = NULL;
    cohort_factor *factor = NULL;
    struct column *ids = column_new(t, f->n, 4);
    OK(t, cohort_frame_create(context, f->n, 1, &array, &frame));
    OK(t, cohort_factor_create(context, 1, NULL, &factor));
    OK(t, cohort_factor_add(factor, frame, NULL));
    OK(t, cohort_factor_find(factor, frame, column_send(ids)));
    column_fetch(ids);
    for (uint64_t i = 0; i < f->n; i++)
        REQUIREF(t, ids_of(ids)[i] == f->id[f->number[i]], "row %llu has the id %u", (unsigned long long)i,
                 ids_of(ids)[i]);
    cohort_factor_destroy(factor);
    cohort_frame_release(frame);
    column_drop(t, NULL);
}

static void fresh(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *alone = NULL;
    options.threads = 1;
    OK(t, cohort_context_create(&options, &alone));
    for (int i = 0; i < 4; i++) {
        struct few f;
        int nulls = i != 1;
        fresh_fill(t, &f, 1500000 - test_below(t, 3000), i < 3, nulls && i < 3);
        few_check(t, i == 2 ? alone : t->context, &f, i == 1, nulls, 1);
        if (i == 0)
            few_check(t, t->context, &f, 0, 1, 0);
        if (i == 3)
            fresh_find(t, t->context, &f);
        few_close(&f);
    }
    cohort_context_destroy(alone);
}

const struct test_case test_cases[] = {
    {"many", many, 0},
    {"few", few, 0},
    {"fresh", fresh, TEST_ON_CPU},
    {NULL, NULL, 0},
};
