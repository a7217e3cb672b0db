/* test_table_memory.c: how much memory numbers of keys and groups take, by the context's allocator, against
 * what keys.h and group.h state. (Joins: test_join_calls.c.) */
#include "flat.h"
#include "groups.h"

/* ---- keys ---------------------------------------------------------------------------------------------- */

struct kind {
    const char *name;
    uint32_t columns, bytes;
    uint64_t step; /* 1 and more: integers so far apart; 0: words that lie anywhere */
    int is_text;
};

static const struct kind kinds[] = {
    {"close together", 1, 8, 4, 0}, {"words", 1, 8, 0, 0},       {"half words", 1, 4, 0, 0},
    {"two words", 2, 8, 0, 0},      {"three words", 3, 8, 0, 0}, {"five half words", 5, 4, 0, 0},
    {"eight words", 8, 8, 0, 0},    {"texts of 8", 1, 8, 0, 1},  {"texts of 16", 1, 16, 0, 1},
    {"texts of 40", 1, 40, 0, 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* How keys come: each once, in turn, in turn and few; few for a long time and then each once. The first three
 * tell at the beginning how many there are. */
enum { ONCE, TWICE, OFTEN, LATE, ORDERS };
static const char *const orders[ORDERS] = {"once", "twice", "often", "late"};

static uint64_t key_at(uint64_t n, int order, uint64_t i)
{
    if (order == LATE)
        return i < n / 10 ? i % 100 : i;
    return i % (order == ONCE ? n : order == TWICE ? n / 2 : n / 20);
}

static uint64_t distinct_of(uint64_t n, int order)
{
    return order == LATE ? n - n / 10 + 100 : order == ONCE ? n : order == TWICE ? n / 2 : n / 20;
}

/* Of a row, or of a distinct one. */
static uint64_t own_bytes(const struct kind *k)
{
    return (uint64_t)k->bytes * k->columns;
}

#define ROUND (6u << 20)

/* What cohort_factor_add takes at most. */
static uint64_t add_claim(const struct kind *k, uint64_t n, int order)
{
    const uint64_t bits = own_bytes(k) * 8;
    uint64_t each = bits <= 64 ? 34 : 40 + (bits + k->columns + 63) / 64 * 8;
    if (k->is_text)
        each = 48 + own_bytes(k) * 5 / 2;
    return each * n * (order == LATE ? 3 : 2) / 2 + ROUND;
}

/* What else is taken where many rows seem to bring a key each, whose first rows are wanted. */
static uint64_t many_claim(const struct kind *k, uint64_t n)
{
    return n >= 1u << 20 && !k->is_text && own_bytes(k) <= 8 ? 16 * n : 0;
}

/* ---- measuring ----------------------------------------------------------------------------------------- */

struct meter {
    struct test *test;
    cohort_context *context;
    struct ledger ledger;
    uint64_t before;
};

/* threads: 0 for as many as a test has. */
static void meter_open(struct test *t, struct meter *m, unsigned threads)
{
    cohort_context_options options = test_context_options(t);
    *m = (struct meter){.test = t};
    options.threads = threads ? threads : options.threads;
    options.alloc = test_allocator(t, &m->ledger);
    OK(t, cohort_context_create(&options, &m->context));
}

static void meter_close(struct meter *m)
{
    cohort_context_destroy(m->context);
    test_ledger_check(m->test, &m->ledger);
}

/* From now on, with no workspace kept. */
static void meter_begin(struct meter *m)
{
    struct test *t = m->test;
    OK(t, cohort_trim(m->context));
    m->before = m->ledger.bytes;
    m->ledger.most_bytes = m->ledger.bytes;
}

/* Since then at most `claim` bytes were there at a time. */
static void meter_check(struct meter *m, uint64_t claim, const char *call, const char *what, uint64_t n,
                        const char *order)
{
    const uint64_t most = m->ledger.most_bytes - m->before;
    CHECKF(m->test, most <= claim, "%s, %s, %llu rows, %s: %llu bytes of %llu", call, what,
           (unsigned long long)n, order, (unsigned long long)most, (unsigned long long)claim);
}

static struct flat flat_open(struct meter *m, const struct kind *k, uint64_t n, int order)
{
    struct flat f;
    uint64_t *key = malloc((n + 1) * 8);
    if (!key)
        abort();
    for (uint64_t i = 0; i < n; i++)
        key[i] = key_at(n, order, i);
    if (k->is_text)
        flat_texts(m->test, m->context, n, key, k->bytes, &f);
    else
        flat_words(m->test, m->context, n, key, k->columns, k->bytes, k->step, &f);
    free(key);
    return f;
}

/* ---- numbers of keys ----------------------------------------------------------------------------------- */

static void factor_within(struct meter *m, const struct kind *k, cohort_frame *frame, uint64_t n, int order,
                          uint32_t *ids)
{
    struct test *t = m->test;
    const uint64_t claim = add_claim(k, n, order);
    cohort_factor *f = NULL;
    OK(t, cohort_factor_create(m->context, k->columns, NULL, &f));
    meter_begin(m);
    OK(t, cohort_factor_add(f, frame, ids));
    EQUAL(t, cohort_factor_count(f), distinct_of(n, order));
    meter_check(m, claim, "add", k->name, n, orders[order]);
    OK(t, cohort_factor_find(f, frame, ids));
    meter_check(m, claim + 12 * n, "find", k->name, n, orders[order]);
    cohort_factor_destroy(f);
}

static void columns_within(struct meter *m, const struct kind *k, cohort_frame *frame, uint64_t n, int order,
                           uint32_t *ids)
{
    struct test *t = m->test;
    const uint64_t d = distinct_of(n, order), own = k->is_text ? 16 : own_bytes(k); /* texts become views */
    const uint64_t claim = add_claim(k, n, order) + d * (own + 16) + many_claim(k, n);
    cohort_frame *out = NULL;
    meter_begin(m);
    OK(t, cohort_factorize(frame, NULL, ids, &out));
    cohort_frame_release(out);
    meter_check(m, claim, "factorize", k->name, n, orders[order]);
    for (int counted = 0; counted < 2; counted++)
        for (uint32_t flags = 0; flags <= COHORT_SORTED; flags++) {
            uint64_t more = counted ? 8 * d : 0;
            more += 4 * n + (counted || flags ? d * (72 + 2 * own_bytes(k)) : 0);
            meter_begin(m);
            OK(t, (counted ? cohort_value_counts : cohort_unique)(frame, flags, &out));
            cohort_frame_release(out);
            meter_check(m, claim + more, counted ? "value_counts" : "unique", k->name, n, orders[order]);
        }
    meter_begin(m);
    OK(t, cohort_index_in(frame, frame, NULL, 4, ids));
    meter_check(m, add_claim(k, n, order) + 8 * d + 12 * n, "index_in", k->name, n, orders[order]);
    meter_begin(m);
    OK(t, cohort_is_in(frame, frame, NULL, (uint8_t *)ids));
    meter_check(m, add_claim(k, n, order) + 8 * d + 12 * n, "is_in", k->name, n, orders[order]);
}

static void keys(struct test *t)
{
    const uint64_t n = test_scale(t, 300000, 960000, 480000);
    uint32_t *ids = malloc(n * 4);
    if (!ids)
        abort();
    for (int i = 0; i < KINDS; i++)
        for (int order = 0, only = (int)test_below(t, ORDERS); order < ORDERS; order++) {
            struct meter m;
            if (!t->ci && order != only)
                continue;
            meter_open(t, &m, 0);
            struct flat f = flat_open(&m, &kinds[i], n, order);
            factor_within(&m, &kinds[i], f.frame, n, order, ids);
            columns_within(&m, &kinds[i], f.frame, n, order, ids);
            flat_close(&f);
            meter_close(&m);
        }
    free(ids);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* An aggregate of integers, of floats, or of texts of 16 bytes. */
struct state {
    cohort_aggregate_op op;
    char type; /* i, f, t; e: floats, reproducible */
    uint32_t bytes;
};

static const struct state states[] = {
    {COHORT_AGGREGATE_ROWS, 'i', 8},   {COHORT_AGGREGATE_COUNT, 'i', 8}, {COHORT_AGGREGATE_ANY, 'i', 8},
    {COHORT_AGGREGATE_SUM, 'i', 24},   {COHORT_AGGREGATE_MEAN, 'i', 24}, {COHORT_AGGREGATE_SUM, 'f', 16},
    {COHORT_AGGREGATE_SUM, 'e', 64},   {COHORT_AGGREGATE_VAR, 'f', 32},  {COHORT_AGGREGATE_MIN, 'i', 16},
    {COHORT_AGGREGATE_FIRST, 'i', 16}, {COHORT_AGGREGATE_MAX, 't', 56},  {COHORT_AGGREGATE_LAST, 't', 56},
    {COHORT_AGGREGATE_NUNIQUE, 'i', 0}};
enum { STATES = sizeof states / sizeof *states };

/* Rows of keys that are words, and of values. */
static cohort_frame *rows_open(struct meter *m, const struct state *s, uint64_t n, int order,
                               struct flat f[2])
{
    struct test *t = m->test;
    cohort_frame *out = NULL;
    uint64_t *key = malloc((n + 1) * 8);
    const char *const names[] = {"v"};
    const uint32_t first = 0;
    cohort_frame *values = NULL;
    if (!key)
        abort();
    f[0] = flat_open(m, &kinds[1], n, order);
    for (uint64_t i = 0; i < n; i++)
        key[i] = i % 3001;
    if (s->type == 't')
        flat_texts(t, m->context, n, key, 16, &f[1]);
    else
        flat_words(t, m->context, n, key, 1, 8, 1, &f[1]);
    free(key);
    OK(t, cohort_frame_select(f[1].frame, 1, &first, names, &values));
    if (s->type == 'f' || s->type == 'e') { /* the same bytes as floats */
        cohort_frame_release(values);
        double *v = malloc(n * 8);
        if (!v)
            abort();
        for (uint64_t i = 0; i < n; i++)
            v[i] = (double)(i % 3001);
        cohort_array array = {"v", COHORT_F64, 0, v, NULL};
        OK(t, cohort_frame_create(m->context, n, 1, &array, &values));
        free(v);
    }
    OK(t, cohort_frame_beside(f[0].frame, values, NULL, &out));
    cohort_frame_release(values);
    return out;
}

/* What group.h says of the first add. Distinct values of groups are keys of a group's number and a word. */
static uint64_t group_claim(const struct state *s, uint64_t n, int order)
{
    const uint64_t d = distinct_of(n, order);
    uint64_t claim = add_claim(&kinds[1], n, order) + many_claim(&kinds[1], n) + 4 * n + d * (16 + s->bytes);
    if (s->op == COHORT_AGGREGATE_NUNIQUE)
        claim += 62 * n * (order == LATE ? 3 : 2) / 2 + ROUND + (8 + 12 + 8) * n;
    return claim + (s->type == 't' ? 4 * n : 0) + 65536;
}

static void group_within(struct meter *m, const struct state *s, uint64_t n, int order)
{
    static const char *const key[] = {"a"};
    struct test *t = m->test;
    struct flat f[2];
    cohort_aggregate a = {s->op, 0, s->op == COHORT_AGGREGATE_ROWS ? NULL : "v", NULL};
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_group *g = NULL;
    char name[40];
    cohort_frame *frame = rows_open(m, s, n, order, f);
    snprintf(name, sizeof name, "aggregate %d of %c", (int)s->op, s->type);
    o.keys = 1;
    o.key = key;
    o.aggregates = 1;
    o.aggregate = &a;
    o.reproducible = s->type == 'e';
    OK(t, cohort_group_create(m->context, &o, &g));
    meter_begin(m);
    const uint64_t before = m->before;
    OK(t, cohort_group_add(g, frame));
    EQUAL(t, cohort_group_count(g), distinct_of(n, order));
    meter_check(m, group_claim(s, n, order), "group", name, n, orders[order]);
    /* The same rows again bring no group; they are numbered once more. */
    meter_begin(m);
    m->before = before;
    OK(t, cohort_group_add(g, frame));
    meter_check(m, group_claim(s, n, order) + (34 * n + ROUND) * (s->op == COHORT_AGGREGATE_NUNIQUE ? 2 : 1),
                "group, again", name, n, orders[order]);
    cohort_group_destroy(g);
    cohort_frame_release(frame);
    flat_close(&f[0]);
    flat_close(&f[1]);
}

/* Two threads, whose records are within the rest of the claim: `records` has what many take. */
static void groups(struct test *t)
{
    const uint64_t n = test_scale(t, 300000, 960000, 480000);
    for (int i = 0; i < STATES; i++)
        for (int order = 0, only = (int)test_below(t, ORDERS); order < ORDERS; order++) {
            struct meter m;
            if (!t->ci && order != only)
                continue;
            meter_open(t, &m, 2);
            group_within(&m, &states[i], n, order);
            meter_close(&m);
        }
}

/* With less memory than a call took that had enough the ids are the same: rows are numbered in smaller steps
 * where there is no memory for all of them at once. */
static void tight(struct meter *m, cohort_frame *frame, uint64_t n, const uint32_t *due, uint32_t *ids)
{
    struct test *t = m->test;
    cohort_frame *out = NULL;
    meter_begin(m);
    OK(t, cohort_factorize(frame, NULL, ids, &out));
    cohort_frame_release(out);
    const uint64_t most = m->ledger.most_bytes;
    meter_begin(m);
    m->ledger.limit = most - 10 * n;
    memset(ids, 0xff, n * 4);
    OK(t, cohort_factorize(frame, NULL, ids, &out));
    m->ledger.limit = 0;
    CHECK(t, m->ledger.most_bytes <= most - 10 * n);
    CHECK(t, !memcmp(ids, due, n * 4));
    cohort_frame_release(out);
}

/* So many rows that they are numbered by parts of the table, if their keys seem to come once. */
static void many(struct test *t)
{
    const uint64_t n = (1u << 20) + 200000;
    const int order = (int)test_below(t, LATE);
    uint32_t *ids = malloc(n * 4), *due = malloc(n * 4);
    struct meter m;
    if (!ids || !due)
        abort();
    for (uint64_t i = 0; i < n; i++) /* keys come in turn */
        due[i] = (uint32_t)(i % distinct_of(n, order));
    meter_open(t, &m, 0);
    struct flat f = flat_open(&m, &kinds[1], n, order);
    factor_within(&m, &kinds[1], f.frame, n, order, ids);
    columns_within(&m, &kinds[1], f.frame, n, order, ids);
    tight(&m, f.frame, n, due, ids);
    flat_close(&f);
    meter_close(&m);
    meter_open(t, &m, 2);
    group_within(&m, &states[test_below(t, 2)], n, order);
    meter_close(&m);
    free(ids);
    free(due);
}

/* Aggregates and many threads: their records of groups are as many as rows at most, 8 bytes and the
 * aggregates' bytes each, and at least 64. */
static void records_of(struct test *t, uint32_t aggregates)
{
    enum { AGGREGATES = 8 };
    static const uint64_t rows_a_group[] = {3, 9, 20, 1000};
    static const char *const key = "a";
    const uint64_t n = 200000;
    cohort_aggregate a[AGGREGATES];
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    char name[AGGREGATES][4];
    uint32_t *k = malloc(n * 4);
    double *v = malloc(n * 8);
    REQUIRE(t, k && v);
    o.keys = 1, o.aggregates = aggregates;
    o.key = &key, o.aggregate = a;
    for (int i = 0; i < 4; i++) {
        const uint64_t groups = n / rows_a_group[i], claim = 34 * n * 3 / 2 + ROUND + 4 * n + 65536;
        cohort_array array[1 + AGGREGATES] = {{"a", COHORT_U32, 0, k, NULL}};
        struct meter m = {.test = t};
        cohort_context_options options = test_context_options(t);
        cohort_frame *frame = NULL;
        cohort_group *g = NULL;
        for (uint64_t row = 0; row < n; row++) {
            k[row] = (uint32_t)(row % groups);
            v[row] = (double)row;
        }
        for (int c = 0; c < AGGREGATES; c++) {
            snprintf(name[c], sizeof name[c], "v%d", c);
            a[c] = (cohort_aggregate){COHORT_AGGREGATE_VAR, 0, name[c], NULL};
            array[1 + c] = (cohort_array){name[c], COHORT_F64, 0, v, NULL};
        }
        options.alloc = test_allocator(t, &m.ledger);
        options.threads = 32;
        OK(t, cohort_context_create(&options, &m.context));
        OK(t, cohort_frame_create(m.context, n, 1 + AGGREGATES, array, &frame));
        OK(t, cohort_group_create(m.context, &o, &g));
        meter_begin(&m);
        OK(t, cohort_group_add(g, frame));
        const uint64_t record = aggregates > 1 ? 8 + 32 * aggregates : 64;
        meter_check(&m, claim + groups * (16 + 32 * aggregates) + n * record, "group", "variances", n,
                    aggregates > 1 ? "several" : "one");
        cohort_group_destroy(g);
        cohort_frame_release(frame);
        meter_close(&m);
    }
    free(k), free(v);
}

static void records(struct test *t)
{
    records_of(t, 1);
    records_of(t, 8);
}

/* The same groups again and again: what they need is there from the time before. */
static void kept_within(struct meter *m, const struct state *s, cohort_frame *frame)
{
    static const char *const key[] = {"a"};
    struct test *t = m->test;
    cohort_aggregate a = {s->op, 0, s->op == COHORT_AGGREGATE_ROWS ? NULL : "v", NULL};
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    uint64_t calls = 0;
    o.keys = 1;
    o.key = key;
    o.aggregates = 1;
    o.aggregate = &a;
    o.reproducible = s->type == 'e';
    for (int time = 0; time < 4; time++) {
        cohort_group *g = NULL;
        cohort_frame *out = NULL;
        calls = m->ledger.calls;
        OK(t, cohort_group_create(m->context, &o, &g));
        OK(t, cohort_group_add(g, frame));
        OK(t, cohort_group_finish(g, 0, &out));
        cohort_group_destroy(g);
        cohort_frame_release(out);
    }
    CHECKF(t, m->ledger.calls == calls, "aggregate %d of %c: %llu calls of the allocator", (int)s->op,
           s->type, (unsigned long long)(m->ledger.calls - calls));
}

static void kept(struct test *t)
{
    for (int i = 0; i < STATES; i++) {
        struct meter m;
        struct flat f[2];
        meter_open(t, &m, 0);
        cohort_frame *frame = rows_open(&m, &states[i], 40000, ONCE, f);
        kept_within(&m, &states[i], frame);
        cohort_frame_release(frame);
        flat_close(&f[0]);
        flat_close(&f[1]);
        meter_close(&m);
    }
}

const struct test_case test_cases[] = {
    {"keys", keys, TEST_ON_CPU | TEST_NO_CONTEXT},       {"kept", kept, TEST_ON_CPU | TEST_NO_CONTEXT},
    {"groups", groups, TEST_ON_CPU | TEST_NO_CONTEXT},   {"many", many, TEST_ON_CPU | TEST_NO_CONTEXT},
    {"records", records, TEST_ON_CPU | TEST_NO_CONTEXT}, {NULL, NULL, 0}};
