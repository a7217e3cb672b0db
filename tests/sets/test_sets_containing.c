/* test_sets_containing.c: which sets contain values, against a look at every set by itself. */
#include <pthread.h>
#include <unistd.h>

#include "sets.h"

/* What is asked of a collection, and what is due: in how many sets each value is, and which they are. */
struct asked {
    struct plains p;
    cohort_sets *sets;
    uint64_t n, total;
    struct column *values;
    uint64_t *offsets, *due;
};

static void due_of(struct asked *a)
{
    uint64_t room = 64;
    a->offsets = malloc((a->n + 1) * sizeof *a->offsets);
    a->due = malloc(room * sizeof *a->due);
    a->total = 0;
    for (uint64_t i = 0; i < a->n; i++) {
        if (!a->due || !a->offsets)
            abort();
        a->offsets[i] = a->total;
        for (uint64_t s = 0; s < a->p.n; s++) {
            if (!plain_has(&a->p.at[s], column_get(a->values, i)))
                continue;
            if (a->total == room)
                a->due = realloc(a->due, (room *= 2) * sizeof *a->due);
            if (!a->due)
                abort();
            a->due[a->total++] = s;
        }
    }
    if (!a->offsets)
        abort();
    a->offsets[a->n] = a->total;
}

static void asked_end(struct asked *a)
{
    cohort_sets_destroy(a->sets);
    plains_free(&a->p);
    free(a->offsets);
    free(a->due);
    column_drop(a->values->test, NULL);
}

/* A value near a member of some set, an edge, or one of any kind. */
static uint64_t some_value(struct test *t, const struct plains *p)
{
    uint64_t most = p->wide ? UINT64_MAX : UINT32_MAX;
    const struct plain *s = p->n ? &p->at[test_below(t, p->n)] : NULL;
    if (!s || !s->n || !test_below(t, 6))
        return test_below(t, 3) ? test_random(t) & most : test_below(t, 2) ? 0 : most;
    return (s->at[test_below(t, s->n)] + (test_below(t, 2) ? 0 : test_below(t, 3) - 1)) & most;
}

static void draw_values(struct test *t, struct asked *a, uint64_t n)
{
    a->n = n;
    a->values = column_new(t, n, a->p.wide ? 8 : 4);
    for (uint64_t i = 0; i < n; i++)
        column_put(a->values, i,
                   i && !test_below(t, 5) ? column_get(a->values, test_below(t, i)) : some_value(t, &a->p));
    due_of(a);
}

/* ---- one call ------------------------------------------------------------------------------------------ */

struct want {
    int counts, offsets, total, sets;
    uint64_t first, capacity;
};

#define BLANK 0x5c5c5c5c5c5c5c5cu

static void judge_page(struct test *t, const struct asked *a, const struct want *w, struct column *sets)
{
    uint64_t written = a->total > w->first ? a->total - w->first : 0;
    written = written < w->capacity ? written : w->capacity;
    column_fetch(sets);
    for (uint64_t i = 0; i < written; i++)
        REQUIREF(t, column_get(sets, i) == a->due[w->first + i], "entry %llu is set %llu, not %llu",
                 (unsigned long long)(w->first + i), (unsigned long long)column_get(sets, i),
                 (unsigned long long)a->due[w->first + i]);
    for (uint64_t i = written; i < w->capacity; i++)
        REQUIREF(t, column_get(sets, i) == BLANK, "entry %llu, of none, is written", (unsigned long long)i);
}

static void ask(struct test *t, const struct asked *a, const struct want *w)
{
    cohort_sets_containing_desc d = COHORT_SETS_CONTAINING_INIT;
    struct column *mark = t->columns;
    struct column *counts = w->counts ? column_new(t, a->n, 8) : NULL;
    struct column *offsets = w->offsets ? column_new(t, a->n + 1, 8) : NULL;
    struct column *sets = w->sets ? column_new(t, w->capacity, 8) : NULL;
    struct column *total =
        w->total
            ? column_new_in(t, t->memory == TEST_DEVICE && test_below(t, 2) ? TEST_DEVICE : TEST_HOST, 1, 8)
            : NULL;
    if (sets)
        memset(sets->data, 0x5c, w->capacity * 8);
    d.n = a->n;
    d.values = column_send(a->values);
    d.first = w->first;
    d.capacity = w->capacity;
    d.counts = column_pointer(counts);
    d.offsets = column_pointer(offsets);
    d.total = column_pointer(total);
    d.sets = column_pointer(sets);
    OK(t, cohort_sets_containing(a->sets, &d));
    OK(t, cohort_wait(t->context));
    for (int i = 0; i < 3; i++)
        if ((struct column *[]){counts, offsets, total}[i])
            column_fetch((struct column *[]){counts, offsets, total}[i]);
    for (uint64_t i = 0; i < a->n; i++) {
        uint64_t due = a->offsets[i + 1] - a->offsets[i];
        if (counts)
            REQUIREF(t, column_get(counts, i) == due, "value %llu is in %llu sets, not %llu",
                     (unsigned long long)column_get(a->values, i), (unsigned long long)column_get(counts, i),
                     (unsigned long long)due);
        if (offsets)
            EQUAL(t, column_get(offsets, i), a->offsets[i]);
    }
    if (offsets)
        EQUAL(t, column_get(offsets, a->n), a->total);
    if (total)
        EQUAL(t, column_get(total, 0), a->total);
    if (sets)
        judge_page(t, a, w, sets);
    column_drop(t, mark);
}

/* All in one call, counts alone, and a page of any size from anywhere. */
static void ask_all(struct test *t, const struct asked *a)
{
    const struct want all = {1, 1, 1, 1, 0, a->total + test_below(t, 3)}, counts = {.counts = 1};
    struct want some = {(int)test_below(t, 2),      (int)test_below(t, 2), (int)test_below(t, 2), 1, 0,
                        test_below(t, a->total + 2)};
    some.first = test_below(t, a->total + 3);
    if (!test_below(t, 8))
        some.first = UINT64_MAX - test_below(t, 3);
    ask(t, a, &counts);
    ask(t, a, &some);
    ask(t, a, &all);
}

/* ---- collections of all kinds -------------------------------------------------------------------------- */

static void any_sets(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 3, test_size(t, 24, 4), test_size(t, 120, 12)); round++) {
        struct asked a = {.p = plains_draw(t, test_below(t, test_size(t, 80, 30)), (int)test_below(t, 2))};
        a.sets = sets_of(t, &a.p, 0);
        draw_values(t, &a, test_below(t, test_size(t, 1500, 70)));
        ask_all(t, &a);
        asked_end(&a);
    }
}

/* Hundreds of sets of few members, which many have in common, and sets with chunks between them. */
static struct plains draw_tiny(struct test *t, uint64_t n, int wide)
{
    struct plains p = plains_new(n, wide);
    uint64_t base = wide ? test_random(t) : test_random(t) & UINT32_MAX,
             most = wide ? UINT64_MAX : UINT32_MAX;
    for (uint64_t s = 0; s < n; s++) {
        uint64_t at[20], m = test_below(t, 9) ? test_below(t, 4) : 20;
        for (uint64_t i = 0; i < m; i++) /* 20 side by side have chunks */
            at[i] = (base + (m == 20 ? i * (1 + s % 3) : test_below(t, 40))) & most;
        p.at[s] = plain_of(at, m);
    }
    return p;
}

static void tiny_sets(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 2, test_size(t, 12, 3), test_size(t, 60, 8)); round++) {
        struct asked a = {.p = draw_tiny(t, test_size(t, 900, 90), (int)test_below(t, 2))};
        a.sets = sets_of(t, &a.p, 0);
        draw_values(t, &a, test_below(t, test_size(t, 300, 40)));
        ask_all(t, &a);
        asked_end(&a);
    }
}

/* Few values, of which each is work for all: every third set has chunks, or none has, or all have. The first
 * value is the first of its 1,024. */
static void few_values(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 3, 6, 15); round++) {
        uint64_t n = test_size(t, 15000, 400), kind = round % 3;
        struct asked a = {.p = plains_new(n, (int)test_below(t, 2))};
        for (uint64_t s = 0; s < n; s++) {
            uint64_t at[18], large = kind == 0 ? s % 3 == 1 : kind == 1,
                             m = large ? 18 : 1 + test_below(t, 2);
            for (uint64_t i = 0; i < m; i++)
                at[i] = 66560 + i * (1 + test_below(t, 3));
            a.p.at[s] = plain_of(at, m);
        }
        a.sets = sets_of(t, &a.p, 0);
        draw_values(t, &a, 1 + test_below(t, 3));
        column_put(a.values, 0, 66560);
        free(a.offsets);
        free(a.due);
        due_of(&a);
        ask_all(t, &a);
        asked_end(&a);
    }
}

/* Sets with chunks that have the values all, and lists that stand behind some of them: a warp takes 32
 * chunks at a time. */
static void lists_between(struct test *t)
{
    static const uint64_t behind[] = {0, 1, 15, 30, 31, 32, 61, 62, 63, 69};
    enum { LARGE = 70, LISTS = sizeof behind / sizeof behind[0] };
    struct asked a = {.p = plains_new(LARGE + LISTS, (int)test_below(t, 2))};
    uint64_t at[18], s = 0, k = 0;
    for (uint64_t i = 0; i < 18; i++)
        at[i] = 66560 + i;
    for (uint64_t large = 0; large < LARGE; large++) {
        a.p.at[s++] = plain_of(at, 18);
        if (k < LISTS && behind[k] == large) {
            a.p.at[s++] = plain_of(at, 2);
            k++;
        }
    }
    a.sets = sets_of(t, &a.p, 0);
    draw_values(t, &a, 3);
    for (uint64_t i = 0; i < 3; i++)
        column_put(a.values, i, at[i]);
    free(a.offsets);
    free(a.due);
    due_of(&a);
    ask_all(t, &a);
    asked_end(&a);
}

/* Nothing asked, no sets, sets without members, the least and the greatest of 64 bits. */
static void edges(struct test *t)
{
    static const uint64_t ends[] = {0, 1, 65535, 65536, UINT64_MAX - 65536, UINT64_MAX - 1, UINT64_MAX};
    for (int kind = 0; kind < 6; kind++) {
        struct asked a = {.p = plains_new((uint64_t)kind, kind > 3)};
        for (uint64_t s = 0; s < a.p.n; s++) {
            uint64_t n = kind < 3 ? 0 : 1 + s;
            a.p.at[s] = plain_of(kind > 3 ? ends + 7 - n : ends, n);
            if (kind == 5 && s == 2) { /* a set with chunks at both ends */
                plain_free(&a.p.at[s]);
                a.p.at[s] = plain_draw(t, SHAPE_FULL, 1);
            }
        }
        a.sets = sets_of(t, &a.p, 0);
        for (uint64_t n = 0; n < 3; n++) {
            draw_values(t, &a, n ? 7 * n : 0);
            for (uint64_t i = 0; i < a.n && kind > 3; i++)
                column_put(a.values, i, ends[i % 7]);
            free(a.offsets);
            free(a.due);
            due_of(&a);
            ask_all(t, &a);
            free(a.offsets);
            free(a.due);
            a.offsets = a.due = NULL;
        }
        asked_end(&a);
    }
}

/* ---- the index ----------------------------------------------------------------------------------------- */

static uint64_t bytes_of(struct test *t, const cohort_sets *sets)
{
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    OK(t, cohort_sets_get_info(sets, &info));
    return info.bytes;
}

/* It is counted, is made once, and goes with the collection, which the case's ledger sees. */
static void index_is_counted(struct test *t)
{
    struct asked a = {.p = plains_draw(t, 40, 0)};
    cohort_sets_containing_desc d = COHORT_SETS_CONTAINING_INIT;
    a.sets = sets_of(t, &a.p, 0);
    draw_values(t, &a, 20);
    uint64_t before = bytes_of(t, a.sets);
    OK(t, cohort_sets_containing(a.sets, &d)); /* of no values: the index alone */
    uint64_t after = bytes_of(t, a.sets);
    CHECK(t, after > before);
    ask_all(t, &a);
    EQUAL(t, bytes_of(t, a.sets), after);
    asked_end(&a);
}

/* Of a collection that is mapped, and of one that was loaded. */
static void of_files(struct test *t)
{
    char path[64];
    struct asked a = {.p = plains_draw(t, 30, (int)test_below(t, 2))};
    cohort_sets *built = sets_of(t, &a.p, 0);
    snprintf(path, sizeof path, "/tmp/cohort-containing-%ld", (long)getpid());
    OK(t, cohort_sets_save(built, path));
    draw_values(t, &a, test_size(t, 300, 40));
    for (int mapped = 0; mapped < 2; mapped++) {
        OK(t, mapped ? cohort_sets_map(t->context, path, 0, &a.sets)
                     : cohort_sets_load(t->context, path, &a.sets));
        ask_all(t, &a);
        cohort_sets_destroy(a.sets);
    }
    unlink(path);
    a.sets = built;
    asked_end(&a);
}

/* Threads that take turns on one context: whoever comes first makes the index, and all find it whole. */
struct turns {
    const struct asked *a;
    pthread_mutex_t lock;
    unsigned failed;
};

static void *take_turns(void *arg)
{
    struct turns *k = arg;
    const struct asked *a = k->a;
    uint64_t *counts = malloc((a->n + 1) * sizeof *counts);
    for (int i = 0; i < 20 && counts; i++) {
        cohort_sets_containing_desc d = COHORT_SETS_CONTAINING_INIT;
        d.n = a->n;
        d.values = a->values->data;
        d.counts = counts;
        pthread_mutex_lock(&k->lock);
        k->failed += cohort_sets_containing(a->sets, &d) != COHORT_OK;
        for (uint64_t v = 0; v < a->n; v++)
            k->failed += counts[v] != a->offsets[v + 1] - a->offsets[v];
        pthread_mutex_unlock(&k->lock);
    }
    free(counts);
    return NULL;
}

static void threads_take_turns(struct test *t)
{
    struct asked a = {.p = plains_draw(t, 60, 0)};
    pthread_t thread[4];
    a.sets = sets_of(t, &a.p, 0);
    draw_values(t, &a, 200);
    struct turns k = {&a, PTHREAD_MUTEX_INITIALIZER, 0};
    for (int i = 0; i < 4; i++)
        REQUIRE(t, !pthread_create(&thread[i], NULL, take_turns, &k));
    for (int i = 0; i < 4; i++)
        REQUIRE(t, !pthread_join(thread[i], NULL));
    EQUAL(t, k.failed, 0);
    asked_end(&a);
}

/* ---- wrong arguments ----------------------------------------------------------------------------------- */

static void wrong_arguments(struct test *t)
{
    struct asked a = {.p = plains_draw(t, 10, 0)};
    cohort_sets_containing_desc d = COHORT_SETS_CONTAINING_INIT, bad;
    a.sets = sets_of(t, &a.p, 0);
    draw_values(t, &a, 10);
    uint64_t counts[16], before = bytes_of(t, a.sets);
    d.n = a.n;
    d.values = a.values->data;
    d.counts = counts;
    FAILS(t, NULL, cohort_sets_containing(NULL, &d), COHORT_NULL, "sets is NULL", NULL);
    FAILS(t, t->context, cohort_sets_containing(a.sets, NULL), COHORT_NULL, "desc is NULL", NULL);
    bad = d;
    bad.size = 3;
    STATUS(t, cohort_sets_containing(a.sets, &bad), COHORT_BAD_STRUCT);
    bad = d;
    bad.values = NULL;
    FAILS(t, t->context, cohort_sets_containing(a.sets, &bad), COHORT_NULL, "desc.values", "10");
    bad = d;
    bad.n = UINT64_MAX / 2;
    STATUS(t, cohort_sets_containing(a.sets, &bad), COHORT_OVERFLOW);
    bad = d;
    bad.sets = counts;
    bad.counts = NULL;
    bad.capacity = UINT64_MAX / 8;
    FAILS(t, t->context, cohort_sets_containing(a.sets, &bad), COHORT_OVERFLOW, "desc.capacity", NULL);
    bad = d;
    bad.counts = (uint64_t *)(void *)((char *)counts + 4);
    FAILS(t, t->context, cohort_sets_containing(a.sets, &bad), COHORT_BAD_POINTER, "desc.counts", "8");
    bad = d;
    bad.offsets = counts + 3;
    STATUS(t, cohort_sets_containing(a.sets, &bad), COHORT_RANGE); /* into counts */
    EQUAL(t, bytes_of(t, a.sets), before);                         /* none of them has made the index */
    asked_end(&a);
}

const struct test_case test_cases[] = {
    {"any_sets", any_sets, TEST_EACH_MEMORY},
    {"tiny_sets", tiny_sets, TEST_EACH_MEMORY},
    {"few_values", few_values, TEST_EACH_MEMORY},
    {"lists_between", lists_between, TEST_EACH_MEMORY},
    {"edges", edges, TEST_EACH_MEMORY},
    {"index_is_counted", index_is_counted, TEST_COUNTED},
    {"of_files", of_files, 0},
    {"threads_take_turns", threads_take_turns, TEST_ON_CPU},
    {"wrong_arguments", wrong_arguments, 0},
    {NULL, NULL, 0},
};
