/* test_multimap_aside.c: small inserts, which wait aside until somebody looks: each call as the first one
 * that looks, more of them than there is room for, and memory that ends when they come in. Against the sorted
 * list of all pairs. */
#include "pairs.h"

#include <cohort/device/multimap.h>
#include <unistd.h>

static const cohort_width widths[] = {COHORT_WIDTH_32_32, COHORT_WIDTH_64_32, COHORT_WIDTH_64_64};

/* ---- each call looks first ----------------------------------------------------------------------------- */

enum look { SIZE, COUNT, FIND, RETRIEVE, EXPORT, VIEW, READER, SAVE, SAVE_TABLE, LEFT, RIGHT, INSERT, LOOKS };

static void path_of(char path[300])
{
    snprintf(path, 300, "%.200s/cohort-aside-%ld", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
             (long)getpid());
}

/* What a file of it holds. */
static void look_by_file(struct test *t, cohort_multimap *m, const struct data *d, int table)
{
    cohort_multimap *loaded = NULL;
    char path[300];
    path_of(path);
    OK(t, table ? cohort_multimap_save_table(m, path) : cohort_multimap_save(m, path));
    OK(t, table ? cohort_multimap_map(t->context, path, &loaded)
                : cohort_multimap_load(t->context, path, &loaded));
    check_lookups(t, loaded, d, 60);
    cohort_multimap_destroy(loaded);
    remove(path);
}

static void look_by_reader(struct test *t, cohort_multimap *m, const struct data *d)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *own = t->context, *other = NULL;
    cohort_multimap *reader = NULL;
    OK(t, cohort_context_create(&options, &other));
    OK(t, cohort_multimap_reader(m, other, &reader));
    struct column *mark = t->columns;
    t->context = other;
    check_lookups(t, reader, d, 60);
    column_drop(t, mark);
    cohort_multimap_destroy(reader);
    cohort_context_destroy(other);
    t->context = own;
}

/* Put together with an empty one. */
static void look_by_union(struct test *t, cohort_multimap *m, const struct data *d, int left)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *none = NULL, *both = NULL;
    options.width = d->width;
    OK(t, cohort_multimap_build(t->context, &options, 0, NULL, NULL, NULL, &none));
    OK(t, cohort_multimap_union(left ? m : none, left ? none : m, &both));
    check_lookups(t, both, d, 60);
    cohort_multimap_destroy(both);
    cohort_multimap_destroy(none);
}

static void look_first(struct test *t, cohort_multimap *m, struct data *d, enum look look)
{
    cohort_multimap_view view;
    switch (look) {
    case SIZE:
        check_sizes(t, m, d);
        break;
    case COUNT:
        check_count(t, m, d, queries_of(t, d, 60));
        break;
    case FIND:
        check_find(t, m, d, queries_of(t, d, 60));
        break;
    case RETRIEVE:
        check_retrieve(t, m, d, queries_of(t, d, 60), 0);
        break;
    case EXPORT:
        check_export(t, m, d);
        break;
    case VIEW:
        OK(t, cohort_multimap_get_view(m, &view));
        CHECK(t, view.levels > 0);
        break;
    case READER:
        look_by_reader(t, m, d);
        break;
    case SAVE:
    case SAVE_TABLE:
        look_by_file(t, m, d, look == SAVE_TABLE);
        break;
    case LEFT:
    case RIGHT:
        look_by_union(t, m, d, look == LEFT);
        break;
    default: /* as many as are no small insert */
        add(t, m, d, 700, FEW, 100);
    }
}

static void first_look(struct test *t, cohort_width width, uint64_t n, enum look look)
{
    struct column *mark = t->columns;
    struct data d = data_new(t, width, n, n % 2 ? SEQUENTIAL : RANDOM, 1 + n);
    cohort_multimap *m = build_of(t, &d);
    for (int i = 0; i < 3; i++)
        add(t, m, &d, test_below(t, 40), i ? RANDOM : FEW, 1 + n);
    look_first(t, m, &d, look);
    add(t, m, &d, 1, RANDOM, 10);
    check_lookups(t, m, &d, 60);
    check_all(t, m, &d, 60);
    cohort_multimap_destroy(m);
    free(d.pairs);
    column_drop(t, mark);
}

static void first_looks(struct test *t)
{
    static const uint64_t sizes[] = {0, 1, 75, 900};
    for (int look = 0; look < LOOKS; look++)
        for (unsigned w = 0; w < 3; w++)
            first_look(t, widths[w], sizes[(look + w) % 4], (enum look)look);
}

/* ---- many ---------------------------------------------------------------------------------------------- */

/* More than there is room for, in batches up to the largest that waits and one more. */
static void many(struct test *t)
{
    static const uint64_t sizes[] = {256, 257, 100, 256, 1, 255, 256, 256, 31, 256, 0, 256, 256};
    for (unsigned w = 0; w < 3; w++) {
        struct column *mark = t->columns;
        struct data d = data_new(t, widths[w], 40, RANDOM, 30);
        cohort_multimap *m = build_of(t, &d);
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
            add(t, m, &d, sizes[i], i % 2 ? RANDOM : SKEWED, 300);
        check_sizes(t, m, &d);
        check_all(t, m, &d, 60);
        cohort_multimap_destroy(m);
        free(d.pairs);
        column_drop(t, mark);
    }
}

/* What waits ends with the multimap, and stays where an insert is refused. */
static void refused(struct test *t)
{
    for (int looked = 0; looked < 2; looked++) {
        struct column *mark = t->columns;
        struct data d = data_new(t, COHORT_WIDTH_64_64, 10, RANDOM, 30);
        cohort_multimap *m = build_of(t, &d);
        uint64_t pair = 1;
        add(t, m, &d, 20, RANDOM, 30);
        FAILS(t, t->context, cohort_multimap_insert(m, 1, &pair, NULL, NULL), COHORT_NULL, "values", NULL);
        FAILS(t, t->context, cohort_multimap_insert(m, 1, (char *)&pair + 1, &pair, NULL), COHORT_BAD_POINTER,
              "keys", NULL);
        if (looked)
            check_all(t, m, &d, 30);
        cohort_multimap_destroy(m);
        free(d.pairs);
        column_drop(t, mark);
    }
}

/* Memory ends while a call brings them in: it fails, and nothing is lost. */
static void no_memory(struct test *t)
{
    uint64_t keys[600], counts[600];
    int whole = 0, failed = 0;
    for (uint64_t i = 0; i < 600; i++)
        keys[i] = test_mix(i % 550);
    for (uint64_t step = 1, bytes = 0; !whole && bytes < 1u << 24; step += 1 + step / 3) {
        struct ledger ledger = {0};
        cohort_context_options options = test_context_options(t);
        cohort_multimap_options how = COHORT_MULTIMAP_OPTIONS_INIT;
        cohort_context *context = NULL;
        cohort_multimap *m = NULL;
        uint64_t known = 0, values = 0;
        options.alloc = test_allocator(t, &ledger);
        REQUIRE(t, !cohort_context_create(&options, &context));
        REQUIRE(t, !cohort_multimap_build(context, &how, 500, keys, keys, NULL, &m));
        REQUIRE(t, !cohort_multimap_insert(m, 100, keys + 500, keys + 500, NULL));
        ledger.limit = ledger.bytes + (bytes = step * 256);
        cohort_status s = cohort_multimap_size(m, &known, &values);
        ledger.limit = 0;
        CHECK(t, s == COHORT_OK || s == COHORT_NO_MEMORY);
        REQUIRE(t, !cohort_multimap_size(m, &known, &values));
        EQUAL(t, values, 600);
        EQUAL(t, known, 550);
        REQUIRE(t, !cohort_multimap_count(m, 600, keys, counts));
        for (uint64_t i = 0; i < 550; i++)
            EQUAL(t, counts[i], 1u + (i < 50));
        failed += s != COHORT_OK;
        whole = !s;
        cohort_multimap_destroy(m);
        cohort_context_destroy(context);
        test_ledger_check(t, &ledger);
    }
    CHECK(t, whole && failed);
}

const struct test_case test_cases[] = {
    {"first_looks", first_looks, TEST_EACH_MEMORY},
    {"many", many, TEST_EACH_MEMORY},
    {"refused", refused, 0},
    {"no_memory", no_memory, TEST_ON_CPU},
    {NULL, NULL, 0},
};
