/* test_multimap_levels.c: multimaps that are inserted into, against the sorted list of all pairs: batches
 * that grow, shrink, repeat keys of others or bring none; their files, merges and exports; memory that ends;
 * and lookups by the device header. */
#include "cuda/device.h"
#include "pairs.h"
#include "view.h"

#include <unistd.h>

static const cohort_width widths[] = {COHORT_WIDTH_32_32, COHORT_WIDTH_64_32, COHORT_WIDTH_64_64};

/* ---- batches ------------------------------------------------------------------------------------------- */

static unsigned levels_of(struct test *t, cohort_multimap *m)
{
    cohort_multimap_view view;
    OK(t, cohort_multimap_get_view(m, &view));
    EQUAL(t, view.version, CO_MULTIMAP_VIEW_VERSION);
    for (unsigned i = 0; i + 1 < view.levels; i++)
        CHECK(t, view.level[i].ends != view.level[i + 1].ends);
    return view.levels;
}

/* Batches of these sizes, and all lookups after each. Returns how many levels there were. */
static unsigned batches(struct test *t, cohort_width width, const uint64_t *sizes, unsigned count,
                        enum pattern pattern)
{
    struct column *mark = t->columns;
    struct data d = data_new(t, width, sizes[0], pattern, 1 + sizes[0] / 2);
    cohort_multimap *m = build_of(t, &d);
    for (unsigned i = 1; i < count; i++) {
        add(t, m, &d, sizes[i], i % 3 ? pattern : RANDOM, 1 + sizes[0] / 2);
        check_lookups(t, m, &d, 60);
    }
    const unsigned levels = levels_of(t, m);
    check_lookups(t, m, &d, 60);
    check_all(t, m, &d, 60);
    EQUAL(t, levels_of(t, m), 1);
    cohort_multimap_destroy(m);
    free(d.pairs);
    column_drop(t, mark);
    return levels;
}

/* Mostly even where some of a batch are left out the next one has less than half its pairs. */
static void shrinking(struct test *t)
{
    static const uint64_t sizes[] = {8000, 1800, 400, 1, 0};
    unsigned levels = 0;
    for (unsigned w = 0; w < 3; w++) {
        levels += batches(t, widths[w], sizes, 5, RANDOM);
        levels += batches(t, widths[w], sizes, 3, FEW);
        levels += batches(t, widths[w], sizes, 5, EDGES);
    }
    CHECK(t, levels > 9 + 4);
}

static void growing(struct test *t)
{
    static const uint64_t sizes[] = {0, 1, 40, 300, 1500, 5000};
    for (unsigned w = 0; w < 3; w++)
        batches(t, widths[w], sizes, 6, w ? SKEWED : SEQUENTIAL);
}

static void equal_batches(struct test *t)
{
    uint64_t sizes[12];
    for (unsigned i = 0; i < 12; i++)
        sizes[i] = 300;
    batches(t, widths[test_below(t, 3)], sizes, 12, RANDOM);
}

/* ---- how many levels there are ------------------------------------------------------------------------- */

/* Distinct keys, which on a CPU make a single multimap; then halves. */
static void levels(struct test *t)
{
    uint64_t n = 8192, at = 0, total = 0, known = 0, values = 0;
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = NULL;
    struct column *keys = column_new(t, 4 * n, 8);
    for (uint64_t i = 0; i < 4 * n; i++)
        column_put(keys, i, test_mix(i));
    char *all = column_send(keys);
    OK(t, cohort_multimap_build(t->context, &options, n, all, all, NULL, &m));
    for (unsigned due = 2; n > 512; due++) {
        at += n;
        total += n;
        n /= 2;
        OK(t, cohort_multimap_insert(m, n, all + at * 8, all + at * 8, NULL));
        OK(t, cohort_multimap_size(m, &known, &values));
        EQUAL(t, known, total + n);
        EQUAL(t, values, total + n);
        EQUAL(t, levels_of(t, m), due);
    }
    OK(t,
       cohort_multimap_insert(m, 4096, all, all, NULL)); /* as many as all but the first level: known keys */
    OK(t, cohort_multimap_size(m, &known, &values));
    EQUAL(t, known, total + n);
    EQUAL(t, values, total + n + 4096);
    EQUAL(t, levels_of(t, m), 1);
    cohort_multimap_destroy(m);
}

/* A level of less than so many values is taken into what comes next; one of as many stays. */
static void least_level(struct test *t)
{
    const uint64_t least = t->context->backend->own_memory == MEMORY_HOST ? 64 : 256, n = 8192;
    const struct {
        uint64_t n;
        unsigned levels;
    } step[] = {{least - 1, 2}, {1, 2}, {1, 3}, {least / 2 - 1, 3}, {1, 2}};
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = NULL;
    uint64_t total = n, known = 0, values = 0;
    struct column *keys = column_new(t, 2 * n, 8);
    for (uint64_t i = 0; i < 2 * n; i++)
        column_put(keys, i, test_mix(i));
    char *all = column_send(keys);
    OK(t, cohort_multimap_build(t->context, &options, n, all, all, NULL, &m));
    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        OK(t, cohort_multimap_insert(m, step[i].n, all + total * 8, all + total * 8, NULL));
        total += step[i].n;
        OK(t, cohort_multimap_size(m, &known, &values));
        EQUAL(t, known, total);
        EQUAL(t, values, total);
        EQUAL(t, levels_of(t, m), step[i].levels);
    }
    cohort_multimap_destroy(m);
}

/* ---- files, merges ------------------------------------------------------------------------------------- */

static void elsewhere(struct test *t)
{
    for (unsigned w = 0; w < 3; w++) {
        struct column *mark = t->columns;
        struct data a = data_new(t, widths[w], 1500, RANDOM, 700), b = data_new(t, widths[w], 1000, FEW, 40);
        cohort_multimap *x = build_of(t, &a), *y = build_of(t, &b), *z = NULL, *loaded = NULL;
        char path[300];
        add(t, x, &a, 600, SKEWED, 400);
        add(t, y, &b, 300, RANDOM, 400);
        struct data both = joined(t, &a, &b);
        OK(t, cohort_multimap_union(x, y, &z));
        check_all(t, z, &both, 30);
        snprintf(path, sizeof path, "%.200s/cohort-levels-%ld-%u",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (long)getpid(), w);
        OK(t, cohort_multimap_save(x, path));
        OK(t, cohort_multimap_load(t->context, path, &loaded));
        check_all(t, loaded, &a, 30);
        check_all(t, x, &a, 30);
        cohort_multimap_destroy(x);
        cohort_multimap_destroy(y);
        cohort_multimap_destroy(z);
        cohort_multimap_destroy(loaded);
        remove(path);
        free(a.pairs);
        free(b.pairs);
        free(both.pairs);
        column_drop(t, mark);
    }
}

/* ---- the device header --------------------------------------------------------------------------------- */

static void *room(struct test *t, uint64_t bytes)
{
    void *memory = NULL;
    OK(t, cohort_alloc(t->context, bytes, &memory));
    OK(t, cohort_fill(t->context, memory, 0x5a, bytes));
    return memory;
}

static void look_by_view(struct test *t, cohort_multimap *m, const struct data *d)
{
    struct column *q = queries_of(t, d, 300);
    const uint64_t n = q->count, width = key_bytes(d->width);
    struct view_args args = {.n = n};
    uint64_t counts[300], sums[300];
    void *keys = room(t, n * width);
    OK(t, cohort_multimap_get_view(m, &args.view));
    EQUAL(t, args.view.width, d->width);
    OK(t, cohort_copy(t->context, keys, q->data, n * width));
    args.keys = keys;
    args.counts = room(t, n * 8);
    args.sums = room(t, n * 8);
    for (uint64_t i = 0; t->kind == TEST_CPU && i < n; i++)
        view_look(&args, i);
    if (t->kind != TEST_CPU)
        OK(t, gpu_launch_grid(t->context, "multimap_view", (unsigned)(n + 63) / 64, 64, 0, &args));
    OK(t, cohort_copy(t->context, counts, args.counts, n * 8));
    OK(t, cohort_copy(t->context, sums, args.sums, n * 8));
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t key = column_get(q, i);
        uint64_t sum = 0;
        for (uint64_t k = 0; k < d->count; k++)
            sum += d->pairs[k].key == key ? d->pairs[k].value : 0;
        EQUAL(t, counts[i], 2 * run_length(d, key));
        EQUAL(t, sums[i], sum);
        REQUIRE(t, !t->failures);
    }
    OK(t, cohort_free(t->context, keys));
    OK(t, cohort_free(t->context, args.counts));
    OK(t, cohort_free(t->context, args.sums));
}

static void views(struct test *t)
{
    for (unsigned w = 0; w < 3; w++)
        for (unsigned distinct = 0; distinct < 2; distinct++) {
            struct column *mark = t->columns;
            struct data d = data_new(t, widths[w], 900, distinct ? SEQUENTIAL : SKEWED, 200);
            cohort_multimap *m = build_of(t, &d);
            look_by_view(t, m, &d);
            check_all(t, m, &d, 20);
            add(t, m, &d, 400, FEW, 30);
            add(t, m, &d, 100, EDGES, 30);
            look_by_view(t, m, &d);
            cohort_multimap_destroy(m);
            free(d.pairs);
            column_drop(t, mark);
        }
}

/* ---- readers ------------------------------------------------------------------------------------------- */

/* A reader on a context of its own sees all levels, and refuses a batch, also when it was exported. */
static void readers(struct test *t)
{
    for (unsigned w = 0; w < 3; w++) {
        cohort_context_options options = test_context_options(t);
        cohort_context *own = t->context, *other = NULL;
        cohort_multimap *reader = NULL;
        struct column *mark = t->columns;
        struct data d = data_new(t, widths[w], 3000, RANDOM, 900);
        cohort_multimap *m = build_of(t, &d);
        add(t, m, &d, 700, FEW, 40);
        add(t, m, &d, 200, EDGES, 40);
        const unsigned levels = levels_of(t, m);
        OK(t, cohort_context_create(&options, &other));
        OK(t, cohort_multimap_reader(m, other, &reader));
        struct column *between = t->columns;
        t->context = other;
        EQUAL(t, levels_of(t, reader), levels);
        check_lookups(t, reader, &d, 200);
        uint64_t key = 1;
        FAILS(t, other, cohort_multimap_insert(reader, 1, &key, &key, NULL), COHORT_UNSUPPORTED, "reader",
              NULL);
        /* that gives it a table of its own */
        OK(t, cohort_multimap_export(reader, NULL, NULL, NULL));
        EQUAL(t, levels_of(t, reader), 1);
        FAILS(t, other, cohort_multimap_insert(reader, 1, &key, &key, NULL), COHORT_UNSUPPORTED, "reader",
              NULL);
        check_lookups(t, reader, &d, 100);
        column_drop(t, between);
        cohort_multimap_destroy(reader);
        cohort_context_destroy(other);
        t->context = own;
        CHECK(t, levels > 1);
        check_lookups(t, m, &d, 60);
        cohort_multimap_destroy(m);
        free(d.pairs);
        column_drop(t, mark);
    }
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void refuses(struct test *t)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = NULL;
    cohort_multimap_view view;
    uint64_t keys[4] = {1, 2, 3, 2};
    OK(t, cohort_multimap_build(t->context, &options, 4, keys, keys, NULL, &m));
    FAILS(t, NULL, cohort_multimap_insert(NULL, 1, keys, keys, NULL), COHORT_NULL, "multimap", NULL);
    FAILS(t, t->context, cohort_multimap_insert(m, 1, NULL, keys, NULL), COHORT_NULL, "keys", NULL);
    FAILS(t, t->context, cohort_multimap_insert(m, 1, keys, NULL, NULL), COHORT_NULL, "values", NULL);
    FAILS(t, t->context, cohort_multimap_insert(m, 1, (char *)keys + 1, keys, NULL), COHORT_BAD_POINTER,
          "keys", NULL);
    FAILS(t, t->context, cohort_multimap_get_view(m, NULL), COHORT_NULL, "view", NULL);
    FAILS(t, NULL, cohort_multimap_get_view(NULL, &view), COHORT_NULL, "multimap", NULL);
    OK(t, cohort_multimap_insert(m, 0, NULL, NULL, NULL));
    uint64_t values = 0;
    OK(t, cohort_multimap_size(m, NULL, &values));
    EQUAL(t, values, 4);
    cohort_multimap_destroy(m);
}

/* Memory ends at some place of an insert: the multimap has all of the batch or nothing. */
static void no_memory(struct test *t)
{
    uint64_t keys[3000], counts[3000];
    int whole = 0;
    for (uint64_t i = 0; i < 3000; i++)
        keys[i] = test_mix(i % 2100);
    for (uint64_t step = 1, bytes = 0; !whole && bytes < 1u << 24; step += 1 + step / 3) {
        struct ledger ledger = {0};
        cohort_context_options options = test_context_options(t);
        cohort_multimap_options how = COHORT_MULTIMAP_OPTIONS_INIT;
        cohort_context *context = NULL;
        cohort_multimap *m = NULL;
        uint64_t known = 0, values = 0;
        options.alloc = test_allocator(t, &ledger);
        REQUIRE(t, !cohort_context_create(&options, &context));
        REQUIRE(t, !cohort_multimap_build(context, &how, 2000, keys, keys, NULL, &m));
        ledger.limit = ledger.bytes + (bytes = step * 256);
        cohort_status s = cohort_multimap_insert(m, 1000, keys + 2000, keys + 2000, NULL);
        ledger.limit = 0;
        CHECK(t, s == COHORT_OK || s == COHORT_NO_MEMORY);
        REQUIRE(t, !cohort_multimap_size(m, &known, &values));
        EQUAL(t, values, s ? 2000 : 3000);
        EQUAL(t, known, s ? 2000 : 2100);
        REQUIRE(t, !cohort_multimap_count(m, 3000, keys, counts));
        for (uint64_t i = 0; i < 2100; i++)
            EQUAL(t, counts[i], s ? i < 2000 : 1u + (i < 900));
        whole = !s;
        cohort_multimap_destroy(m);
        cohort_context_destroy(context);
        test_ledger_check(t, &ledger);
    }
    CHECK(t, whole);
}

const struct test_case test_cases[] = {
    {"shrinking", shrinking, TEST_EACH_MEMORY},
    {"growing", growing, TEST_EACH_MEMORY},
    {"equal_batches", equal_batches, TEST_EACH_MEMORY},
    {"levels", levels, TEST_EACH_MEMORY},
    {"least_level", least_level, TEST_EACH_MEMORY},
    {"elsewhere", elsewhere, TEST_EACH_MEMORY},
    {"views", views, 0},
    {"readers", readers, 0},
    {"refuses", refuses, 0},
    {"no_memory", no_memory, TEST_ON_CPU},
    {NULL, NULL, 0},
};
