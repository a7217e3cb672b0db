/* test_map_errors.c: what bad input gets: a status of its own, a message that names the argument and its
 * value, and every object as it was. */
#include <math.h>

#include "shape/lines.h"
#include "subject.h"

#include "cohort/device/map.h"

#define N 40

/* A map with something in it, and arrays of N entries to call it with. */
struct stage {
    struct test *t;
    struct subject s;
    struct column *keys, *values, *results, *ops, *bits, *more_bits, *counts;
    void *k, *v, *r, *o, *b, *b2, *c; /* what a call is given */
};

static struct stage stage_new(struct test *t, int fixed)
{
    cohort_map_options options = subject_options(t);
    options.fixed = (uint32_t)fixed;
    options.capacity = 300;
    struct stage g = {.t = t, .s = subject_new(t, &options)};
    subject_fill(&g.s, 0, 100);
    g.keys = column_new(t, N + 1, key_bytes(t->width));
    g.values = column_new(t, N + 1, value_bytes(t->width) ? value_bytes(t->width) : 4);
    g.results = column_new(t, N + 1, g.values->width);
    g.ops = column_new(t, N + 1, 1);
    g.bits = column_new(t, bitmap_words(N) + 1, 4);
    g.more_bits = column_new(t, bitmap_words(N) + 1, 4);
    g.counts = column_new(t, 6, 8);
    for (uint64_t i = 0; i <= N; i++) {
        column_put(g.keys, i, 90 + i);
        column_put(g.values, i, i * i);
        column_put(g.ops, i, COHORT_OP_INSERT);
    }
    g.k = column_send(g.keys);
    g.v = value_bytes(t->width) ? column_send(g.values) : NULL;
    g.r = value_bytes(t->width) ? column_send(g.results) : NULL;
    g.o = column_send(g.ops);
    g.b = column_send(g.bits);
    g.b2 = column_send(g.more_bits);
    g.c = column_send(g.counts);
    return g;
}

/* After all those failures: nothing is deferred, and the map holds what it held. */
static void stage_end(struct stage *g)
{
    OK(g->t, cohort_wait(g->t->context));
    subject_observe(&g->s);
    subject_check_table(&g->s);
    subject_step(&g->s, TRIAL_ASSIGN, 0, COHORT_WINNER_ANY, 50, RANDOM, 60);
    subject_free(&g->s);
}

/* The call on the stage's context must fail so. */
#define BAD(call, status, word, value) FAILS(t, t->context, call, status, word, value)

static const char *text_of(uint64_t n)
{
    static char text[8][24];
    static unsigned turn;
    char *at = text[turn++ % 8];
    snprintf(at, 24, "%llu", (unsigned long long)n);
    return at;
}

static const char *text_of_pointer(const void *p)
{
    static char text[8][24];
    static unsigned turn;
    char *at = text[turn++ % 8];
    snprintf(at, 24, "%p", p);
    return at;
}

/* ---- NULL ---------------------------------------------------------------------------------------------- */

static void null_arrays(struct test *t)
{
    struct stage g = stage_new(t, (int)test_below(t, 2));
    cohort_map *map = g.s.map;
    const char *n = text_of(N);
    BAD(cohort_map_insert(map, N, NULL, g.v, NULL), COHORT_NULL, "keys", n);
    BAD(cohort_map_assign(map, N, NULL, g.v, NULL), COHORT_NULL, "keys", n);
    BAD(cohort_map_find(map, N, NULL, g.r, NULL, NULL), COHORT_NULL, "keys", n);
    BAD(cohort_map_contains(map, N, NULL, g.b, NULL), COHORT_NULL, "keys", n);
    BAD(cohort_map_contains(map, N, g.k, NULL, NULL), COHORT_NULL, "hit", n);
    BAD(cohort_map_insert_and_find(map, N, NULL, g.v, NULL), COHORT_NULL, "keys", n);
    BAD(cohort_map_erase(map, N, NULL, NULL), COHORT_NULL, "keys", n);
    BAD(cohort_map_run(map, N, g.o, NULL, g.v, g.r, NULL), COHORT_NULL, "keys", n);
    BAD(cohort_map_run(map, N, NULL, g.k, g.v, g.r, NULL), COHORT_NULL, "ops", n);
    if (g.v) {
        BAD(cohort_map_insert(map, N, g.k, NULL, NULL), COHORT_NULL, "values", n);
        BAD(cohort_map_assign(map, N, g.k, NULL, NULL), COHORT_NULL, "values", n);
        BAD(cohort_map_find(map, N, g.k, NULL, NULL, NULL), COHORT_NULL, "values", n);
        BAD(cohort_map_insert_and_find(map, N, g.k, NULL, NULL), COHORT_NULL, "values", n);
        BAD(cohort_map_apply(map, COHORT_OP_ADD, N, g.k, NULL, NULL), COHORT_NULL, "operands", n);
        BAD(cohort_map_apply(map, COHORT_OP_COUNT, N, NULL, NULL, NULL), COHORT_NULL, "keys", n);
    }
    BAD(cohort_map_export(map, 1000, NULL, g.v, &(uint64_t){0}), COHORT_NULL, "keys", NULL);
    BAD(cohort_map_export(map, 1000, g.k, g.v, NULL), COHORT_NULL, "count", NULL);
    stage_end(&g);
}

static void null_objects(struct test *t)
{
    struct stage g = stage_new(t, 0);
    cohort_map *map = g.s.map, *made = map;
    uint64_t n;
    cohort_map_options options = subject_options(t);
    FAILS(t, NULL, cohort_map_create(NULL, &options, &made), COHORT_NULL, "context", NULL);
    CHECK(t, !made);
    made = map;
    BAD(cohort_map_create(t->context, NULL, &made), COHORT_NULL, "options", NULL);
    CHECK(t, !made);
    BAD(cohort_map_create(t->context, &options, NULL), COHORT_NULL, "out", NULL);
    BAD(cohort_map_size(map, NULL), COHORT_NULL, "size", NULL);
    BAD(cohort_map_clone(map, NULL), COHORT_NULL, "out", NULL);
    BAD(cohort_map_merge(map, NULL, COHORT_OP_INSERT), COHORT_NULL, "from", NULL);
    BAD(cohort_map_get_stats(map, NULL), COHORT_NULL, "stats", NULL);
    BAD(cohort_map_get_options(map, NULL), COHORT_NULL, "options", NULL);
    BAD(cohort_map_get_view(map, NULL), COHORT_NULL, "view", NULL);
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    cohort_map_view view;
    const cohort_status calls[] = {cohort_map_size(NULL, &n),
                                   cohort_map_clear(NULL),
                                   cohort_map_reserve(NULL, 1),
                                   cohort_map_rehash(NULL, 1),
                                   cohort_map_clone(NULL, &made),
                                   cohort_map_merge(NULL, map, COHORT_OP_INSERT),
                                   cohort_map_insert(NULL, N, g.k, g.v, NULL),
                                   cohort_map_assign(NULL, N, g.k, g.v, NULL),
                                   cohort_map_apply(NULL, COHORT_OP_ADD, N, g.k, g.v, NULL),
                                   cohort_map_find(NULL, N, g.k, g.r, NULL, NULL),
                                   cohort_map_contains(NULL, N, g.k, g.b, NULL),
                                   cohort_map_insert_and_find(NULL, N, g.k, g.v, NULL),
                                   cohort_map_erase(NULL, N, g.k, NULL),
                                   cohort_map_run(NULL, N, g.o, g.k, g.v, g.r, NULL),
                                   cohort_map_export(NULL, N, g.k, g.v, &n),
                                   cohort_map_get_stats(NULL, &stats),
                                   cohort_map_get_options(NULL, &options),
                                   cohort_map_get_view(NULL, &view)};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        CHECKF(t, calls[i] == COHORT_NULL, "call %u with a NULL map gives %s", i,
               cohort_status_name(calls[i]));
    FAILS(t, NULL, cohort_map_clear(NULL), COHORT_NULL, "map", NULL);
    cohort_map_destroy(NULL);
    stage_end(&g);
}

/* No entries: NULL is welcome everywhere. */
static void nothing_to_do(struct test *t)
{
    struct stage g = stage_new(t, 0);
    cohort_map *map = g.s.map;
    OK(t, cohort_map_insert(map, 0, NULL, NULL, NULL));
    OK(t, cohort_map_assign(map, 0, NULL, NULL, NULL));
    OK(t, cohort_map_find(map, 0, NULL, NULL, NULL, NULL));
    OK(t, cohort_map_contains(map, 0, NULL, NULL, NULL));
    OK(t, cohort_map_insert_and_find(map, 0, NULL, NULL, NULL));
    OK(t, cohort_map_erase(map, 0, NULL, NULL));
    OK(t, cohort_map_run(map, 0, NULL, NULL, NULL, NULL, NULL));
    if (g.v)
        OK(t, cohort_map_apply(map, COHORT_OP_ADD, 0, NULL, NULL, NULL));
    stage_end(&g);
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static void sizes_too_large(struct test *t)
{
    struct stage g = stage_new(t, (int)test_below(t, 2));
    cohort_map *map = g.s.map;
    const uint64_t huge[] = {UINT64_MAX, UINT64_MAX / 4 + 1, UINT64_MAX / 8 + 2};
    for (int i = 0; i < 3; i++) {
        const char *n = text_of(huge[i]);
        if (huge[i] <= UINT64_MAX / key_bytes(t->width))
            continue; /* such a product fits: the array is merely not there */
        BAD(cohort_map_insert(map, huge[i], g.k, g.v, NULL), COHORT_OVERFLOW, "n", n);
        BAD(cohort_map_assign(map, huge[i], g.k, g.v, NULL), COHORT_OVERFLOW, "n", n);
        BAD(cohort_map_find(map, huge[i], g.k, g.r, NULL, NULL), COHORT_OVERFLOW, "n", n);
        BAD(cohort_map_contains(map, huge[i], g.k, g.b, NULL), COHORT_OVERFLOW, "n", n);
        BAD(cohort_map_insert_and_find(map, huge[i], g.k, g.v, NULL), COHORT_OVERFLOW, "n", n);
        BAD(cohort_map_erase(map, huge[i], g.k, NULL), COHORT_OVERFLOW, "n", n);
        BAD(cohort_map_run(map, huge[i], g.o, g.k, g.v, g.r, NULL), COHORT_OVERFLOW, "n", n);
        if (g.v)
            BAD(cohort_map_apply(map, COHORT_OP_ADD, huge[i], g.k, g.v, NULL), COHORT_OVERFLOW, "n", n);
    }
    void *view_before;
    cohort_map_view view;
    OK(t, cohort_map_get_view(map, &view));
    view_before = view.slots;
    CHECK(t, cohort_map_rehash(map, UINT64_MAX) == COHORT_OVERFLOW);
    CHECK(t, strstr(cohort_message(t->context), text_of(UINT64_MAX)));
    cohort_status status = cohort_map_rehash(map, UINT64_C(1) << 50);
    CHECKF(t, status == COHORT_NO_MEMORY || status == COHORT_OVERFLOW, "%s", cohort_status_name(status));
    CHECK(t, cohort_map_reserve(map, UINT64_C(1) << 50) == (g.s.fixed ? COHORT_UNSUPPORTED : status));
    CHECK(t, cohort_map_reserve(map, UINT64_MAX) == (g.s.fixed ? COHORT_UNSUPPORTED : COHORT_OVERFLOW));
    const uint64_t pages = 65536 / map_slot_bytes((co_u32)t->width),
                   homes = lines_home_slots((co_u32)t->width),
                   most = UINT64_C(0xffffffff) * (t->layout ? homes : pages); /* slots of a table */
    BAD(cohort_map_rehash(map, most + 1), COHORT_OVERFLOW, "capacity", text_of(most));
    OK(t, cohort_map_get_view(map, &view));
    CHECK(t, view.slots == view_before);
    stage_end(&g);
}

/* cohort_map_create with one option wrong. */
static void create_fails(struct test *t, const cohort_map_options *options, cohort_status status,
                         const char *word, const char *value)
{
    cohort_map *made = (cohort_map *)t;
    BAD(cohort_map_create(t->context, options, &made), status, word, value);
    CHECK(t, !made);
}

static void bad_options(struct test *t)
{
    cohort_map_options options = subject_options(t), good = options;
    options.capacity = 0;
    create_fails(t, &options, COHORT_RANGE, "capacity", "0");
    options.capacity = UINT64_MAX;
    create_fails(t, &options, COHORT_OVERFLOW, "capacity", text_of(UINT64_MAX));
    options.capacity = UINT64_C(1) << 42;
    create_fails(t, &options, COHORT_NO_MEMORY, NULL, NULL);
    options = good;
    const double loads[] = {-0.1, 1.001, 1e300, -1e300};
    for (int i = 0; i < 4; i++) {
        char text[32];
        snprintf(text, sizeof text, "%g", loads[i]);
        options.max_load = loads[i];
        create_fails(t, &options, COHORT_RANGE, "max_load", text);
    }
    options.max_load = (double)NAN;
    create_fails(t, &options, COHORT_RANGE, "max_load", "nan");
    options = good;
    for (int width = -1; width < 10; width++) {
        options.width = (cohort_width)width;
        if (width < 1 || width > 6)
            create_fails(t, &options, COHORT_UNSUPPORTED, "width",
                         width < 0 ? "-1" : text_of((uint64_t)width));
    }
    options.width = COHORT_WIDTH_128_64;
    options.layout = COHORT_LAYOUT_PAGES;
    create_fails(t, &options, COHORT_UNSUPPORTED, "width is 6", "COHORT_LAYOUT_LINES");
    options = good;
    options.probe = (cohort_probe)2;
    create_fails(t, &options, COHORT_RANGE, "probe", "2");
    options = good;
    const uint32_t groups[] = {3, 5, 31, 33, 64, UINT32_MAX};
    options.width = COHORT_WIDTH_32_32;
    options.probe = COHORT_PROBE_LINEAR;
    for (int i = 0; i < 6; i++) {
        options.group = groups[i];
        create_fails(t, &options, COHORT_RANGE, "group", text_of(groups[i]));
    }
    options.group = 4;
    options.probe = COHORT_PROBE_DOUBLE;
    create_fails(t, &options, COHORT_UNSUPPORTED, "group", "4");
    options.probe = COHORT_PROBE_LINEAR;
    options.width = COHORT_WIDTH_64_64;
    create_fails(t, &options, COHORT_UNSUPPORTED, "group", "4");
    options = good;
    options.fixed = 2;
    create_fails(t, &options, COHORT_RANGE, "fixed", "2");
}

static void bad_enumerators(struct test *t)
{
    struct stage g = stage_new(t, (int)test_below(t, 2));
    cohort_map *map = g.s.map, *other;
    cohort_batch batch = COHORT_BATCH_INIT;
    OK(t, cohort_map_clone(map, &other));
    batch.winner = (cohort_winner)3;
    BAD(cohort_map_insert(map, N, g.k, g.v, &batch), COHORT_RANGE, "winner", "3");
    BAD(cohort_map_assign(map, N, g.k, g.v, &batch), COHORT_RANGE, "winner", "3");
    BAD(cohort_map_insert_and_find(map, N, g.k, g.v, &batch), COHORT_RANGE, "winner", "3");
    for (int winner = COHORT_WINNER_FIRST; winner <= COHORT_WINNER_LAST; winner++) {
        batch.winner = (cohort_winner)winner;
        BAD(cohort_map_find(map, N, g.k, g.v, NULL, &batch), COHORT_UNSUPPORTED, "winner",
            winner == 1 ? "1" : "2");
        BAD(cohort_map_contains(map, N, g.k, g.b, &batch), COHORT_UNSUPPORTED, "winner",
            winner == 1 ? "1" : "2");
        BAD(cohort_map_erase(map, N, g.k, &batch), COHORT_UNSUPPORTED, "winner", winner == 1 ? "1" : "2");
        BAD(cohort_map_run(map, N, g.o, g.k, g.v, NULL, &batch), COHORT_UNSUPPORTED, "winner",
            winner == 1 ? "1" : "2");
        if (g.v)
            BAD(cohort_map_apply(map, COHORT_OP_ADD, N, g.k, g.v, &batch), COHORT_UNSUPPORTED, "winner",
                winner == 1 ? "1" : "2");
    }
    batch.winner = COHORT_WINNER_ANY;
    batch.one_by_one = 2;
    BAD(cohort_map_insert(map, N, g.k, g.v, &batch), COHORT_RANGE, "one_by_one", "2");
    const int ops[] = {
        COHORT_OP_FIND, COHORT_OP_INSERT, COHORT_OP_ASSIGN, COHORT_OP_ERASE, COHORT_OP_COUNT + 1, -1, 1000};
    for (int i = 0; i < 7; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", ops[i]);
        BAD(cohort_map_apply(map, (cohort_op)ops[i], N, g.k, g.v, NULL), COHORT_RANGE, "op", text);
        if (ops[i] != COHORT_OP_INSERT && ops[i] != COHORT_OP_ASSIGN)
            BAD(cohort_map_merge(map, other, (cohort_op)ops[i]), COHORT_RANGE, "rule", text);
    }
    BAD(cohort_map_merge(map, other, COHORT_OP_COUNT), COHORT_RANGE, "rule", "10");
    if (!g.v)
        BAD(cohort_map_merge(map, other, COHORT_OP_ADD), COHORT_RANGE, "rule", "4");
    BAD(cohort_map_merge(map, map, COHORT_OP_INSERT), COHORT_RANGE, "from", NULL);
    cohort_map_destroy(other);
    if (!g.v) {
        STATUS(t, cohort_map_apply(map, COHORT_OP_ADD, N, g.k, NULL, NULL), COHORT_UNSUPPORTED);
        CHECK(t, strstr(cohort_message(t->context), "width"));
    }
    stage_end(&g);
}

/* ---- structs ------------------------------------------------------------------------------------------- */

/* An option struct of this library, followed by what a newer one might have. */
#define LARGER(type)      \
    struct {              \
        type known;       \
        uint64_t more[4]; \
    }

static void option_structs(struct test *t)
{
    struct stage g = stage_new(t, 0);
    cohort_map *map = g.s.map, *made;
    LARGER(cohort_map_options) o = {subject_options(t), {0}};
    const size_t small[] = {0, 1, 8, offsetof(cohort_map_options, layout) - 1};
    for (int i = 0; i < 4; i++) {
        o.known.size = small[i];
        create_fails(t, &o.known, COHORT_BAD_STRUCT, "options", text_of(small[i]));
        BAD(cohort_map_get_options(map, &o.known), COHORT_BAD_STRUCT, "options", text_of(small[i]));
    }
    o.known.size = sizeof o;
    OK(t, cohort_map_create(t->context, &o.known, &made));
    cohort_map_destroy(made);
    o.more[2] = 1;
    create_fails(t, &o.known, COHORT_BAD_STRUCT, "options", text_of(sizeof o));

    LARGER(cohort_batch) b = {COHORT_BATCH_INIT, {0}};
    for (int i = 0; i < 3; i++) {
        b.known.size = small[i];
        BAD(cohort_map_insert(map, N, g.k, g.v, &b.known), COHORT_BAD_STRUCT, "batch", text_of(small[i]));
        BAD(cohort_map_find(map, N, g.k, g.r, NULL, &b.known), COHORT_BAD_STRUCT, "batch", text_of(small[i]));
        BAD(cohort_map_contains(map, N, g.k, g.b, &b.known), COHORT_BAD_STRUCT, "batch", text_of(small[i]));
        BAD(cohort_map_erase(map, N, g.k, &b.known), COHORT_BAD_STRUCT, "batch", text_of(small[i]));
        BAD(cohort_map_run(map, N, g.o, g.k, g.v, g.r, &b.known), COHORT_BAD_STRUCT, "batch",
            text_of(small[i]));
    }
    b.known.size = sizeof b;
    b.more[0] = 7;
    BAD(cohort_map_insert(map, N, g.k, g.v, &b.known), COHORT_BAD_STRUCT, "batch", text_of(sizeof b));
    b.more[0] = 0;
    OK(t, cohort_map_find(map, N, g.k, g.r, NULL, &b.known));

    LARGER(cohort_map_stats) s = {COHORT_MAP_STATS_INIT, {0}};
    s.known.size = 12;
    BAD(cohort_map_get_stats(map, &s.known), COHORT_BAD_STRUCT, "stats", "12");
    s.known.size = sizeof s;
    OK(t, cohort_map_get_stats(map, &s.known));
    EQUAL(t, s.known.pairs, 100);
    EQUAL(t, s.known.size, sizeof s);
    stage_end(&g);
}

/* ---- pointers ------------------------------------------------------------------------------------------ */

static void misaligned(struct test *t)
{
    struct stage g = stage_new(t, (int)test_below(t, 2));
    cohort_map *map = g.s.map;
    char *k = (char *)g.k + 1, *v = g.v ? (char *)g.v + 2 : NULL, *c = (char *)g.c + 4;
    cohort_batch batch = COHORT_BATCH_INIT;
    BAD(cohort_map_insert(map, N, k, g.v, NULL), COHORT_BAD_POINTER, "keys", text_of_pointer(k));
    BAD(cohort_map_erase(map, N, k, NULL), COHORT_BAD_POINTER, "keys", text_of_pointer(k));
    if (v) {
        BAD(cohort_map_insert(map, N, g.k, v, NULL), COHORT_BAD_POINTER, "values", text_of_pointer(v));
        BAD(cohort_map_find(map, N, g.k, v, NULL, NULL), COHORT_BAD_POINTER, "values", text_of_pointer(v));
        BAD(cohort_map_run(map, N, g.o, g.k, g.v, v, NULL), COHORT_BAD_POINTER, "results",
            text_of_pointer(v));
    }
    batch.counts = (cohort_counts *)(void *)c;
    BAD(cohort_map_insert(map, N, g.k, g.v, &batch), COHORT_BAD_POINTER, "counts", text_of_pointer(c));
    stage_end(&g);
}

static void arrays_at_odds(struct test *t)
{
    struct stage g = stage_new(t, 0);
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.hit = g.b2;
    BAD(cohort_map_contains(g.s.map, N, g.k, g.b, &batch), COHORT_RANGE, "hit", text_of_pointer(g.b));
    if (g.v)
        BAD(cohort_map_run(g.s.map, N, g.o, g.k, g.v, g.v, NULL), COHORT_RANGE, "results", NULL);
    stage_end(&g);
}

/* Host and device memory in one call. */
static void mixed_memory(struct test *t)
{
    if (t->kind == TEST_CPU)
        test_skip(t, "there is host memory only");
    struct stage g = stage_new(t, (int)test_below(t, 2));
    cohort_map *map = g.s.map;
    cohort_batch batch = COHORT_BATCH_INIT;
    uint64_t host[N + 1] = {0};
    t->memory = TEST_DEVICE;
    struct column *keys = column_new(t, N, key_bytes(t->width));
    void *k = column_send(keys);
    if (g.v) {
        BAD(cohort_map_insert(map, N, k, host, NULL), COHORT_BAD_POINTER, "values", text_of_pointer(host));
        BAD(cohort_map_find(map, N, k, host, NULL, NULL), COHORT_BAD_POINTER, "values",
            text_of_pointer(host));
    }
    BAD(cohort_map_contains(map, N, host, k, NULL), COHORT_BAD_POINTER, "hit", text_of_pointer(k));
    batch.counts = (cohort_counts *)(void *)host;
    BAD(cohort_map_erase(map, N, k, &batch), COHORT_BAD_POINTER, "counts", text_of_pointer(host));
    stage_end(&g);
}

/* ---- no memory ----------------------------------------------------------------------------------------- */

/* None at all, so that a growing map has no bitmap for what finds no slot: nothing goes in, all entries that
 * take part are named, and no bit of `hit` stays what it was. */
static void no_memory_for_a_part(struct test *t)
{
    enum { MANY = 9600 }; /* more than are named at a time */
    static uint64_t keys[MANY], values[MANY];
    uint32_t where[MANY / 32], hit[MANY / 32], none[MANY / 32] = {0};
    cohort_map_options options = subject_options(t);
    struct subject s = subject_new(t, &options);
    uint64_t size = 1, chosen = 0;
    for (uint64_t i = 0; i < MANY; i++)
        keys[i] = values[i] = test_random(t);
    for (uint64_t i = 0; i < MANY / 32; i++) {
        where[i] = i ? (uint32_t)test_random(t) : 1u << 7;
        chosen += (uint64_t)__builtin_popcount(where[i]);
    }
    for (int all = 0; all < 2; all++) {
        cohort_counts counts = COHORT_COUNTS_INIT;
        cohort_batch batch = COHORT_BATCH_INIT;
        const uint64_t n = all ? MANY - 7 : MANY;
        memset(hit, 0xff, sizeof hit);
        batch.counts = &counts;
        batch.where = all ? NULL : (const uint8_t *)where;
        batch.hit = all ? NULL : (uint8_t *)hit;
        OK(t, cohort_trim(t->context));
        t->ledger.limit = t->ledger.bytes;
        STATUS(t, cohort_map_insert(s.map, n, keys, value_bytes(t->width) ? values : NULL, &batch),
               COHORT_NO_MEMORY);
        t->ledger.limit = 0;
        EQUAL(t, counts.taken, all ? n : chosen);
        EQUAL(t, counts.failed, counts.taken);
        EQUAL(t, counts.first_failed, all ? 0 : 7);
        CHECK(t, all || !memcmp(hit, none, sizeof hit));
        OK(t, cohort_map_size(s.map, &size));
        EQUAL(t, size, 0);
    }
    subject_free(&s);
}

/* ---- objects of others --------------------------------------------------------------------------------- */

static void other_context(struct test *t)
{
    struct stage g = stage_new(t, 0);
    cohort_context *other;
    cohort_context_options options = test_context_options(t);
    cohort_map_options map_options = subject_options(t);
    cohort_map *theirs;
    REQUIRE(t, !cohort_context_create(&options, &other));
    REQUIRE(t, !cohort_map_create(other, &map_options, &theirs));
    BAD(cohort_map_merge(g.s.map, theirs, COHORT_OP_INSERT), COHORT_OTHER_CONTEXT, "from", NULL);
    cohort_map_destroy(theirs);
    cohort_context_destroy(other);
    map_options.width = t->width == COHORT_WIDTH_32_0 ? COHORT_WIDTH_64_0 : COHORT_WIDTH_32_0;
    OK(t, cohort_map_create(t->context, &map_options, &theirs));
    BAD(cohort_map_merge(g.s.map, theirs, COHORT_OP_INSERT), COHORT_RANGE, "width", NULL);
    cohort_map_destroy(theirs);
    stage_end(&g);
}

#define ALL (TEST_EACH_WIDTH | TEST_EACH_MEMORY | TEST_EACH_LAYOUT)
const struct test_case test_cases[] = {{"null_arrays", null_arrays, ALL},
                                       {"null_objects", null_objects, TEST_EACH_WIDTH},
                                       {"nothing_to_do", nothing_to_do, ALL},
                                       {"sizes_too_large", sizes_too_large, ALL},
                                       {"bad_options", bad_options, TEST_EACH_WIDTH},
                                       {"bad_enumerators", bad_enumerators, ALL},
                                       {"option_structs", option_structs, ALL},
                                       {"misaligned", misaligned, ALL},
                                       {"arrays_at_odds", arrays_at_odds, ALL},
                                       {"mixed_memory", mixed_memory, TEST_EACH_WIDTH},
                                       {"no_memory_for_a_part", no_memory_for_a_part,
                                        TEST_EACH_WIDTH | TEST_EACH_LAYOUT | TEST_COUNTED | TEST_ON_CPU},
                                       {"other_context", other_context, TEST_EACH_WIDTH},
                                       {NULL, NULL, 0}};
