/* test_cap.c: joins, groups and numbers of keys in a context with a bound on its memory (`memory_bytes`),
 * from too little for anything to enough for all, up to twice as much each time. Each call ends right, or
 * says COHORT_NO_MEMORY with what there was before still there: the object goes on, the context works, and
 * all memory comes back. */
#include "groups.h"
#include "joins.h"

/* ---- a bounded context --------------------------------------------------------------------------------- */

struct bound {
    struct test *test;
    cohort_context *context;
    struct ledger ledger;
    uint64_t bytes;
    int refused; /* a call was */
};

/* Whether there is a context. */
static int bound_open(struct test *t, struct bound *b, uint64_t bytes)
{
    cohort_context_options options = test_context_options(t);
    *b = (struct bound){.test = t, .bytes = bytes};
    options.alloc = test_allocator(t, &b->ledger);
    options.memory_bytes = bytes;
    options.threads = 2;
    cohort_status s = cohort_context_create(&options, &b->context);
    REQUIREF(t, !s || s == COHORT_NO_MEMORY, "%llu bytes: %s", (unsigned long long)bytes,
             cohort_message(NULL));
    b->refused = s != COHORT_OK;
    t->context = b->context;
    return !s;
}

static void bound_close(struct bound *b)
{
    struct test *t = b->test;
    CHECKF(t, b->ledger.most_bytes <= b->bytes, "%llu bytes of %llu",
           (unsigned long long)b->ledger.most_bytes, (unsigned long long)b->bytes);
    cohort_context_destroy(b->context);
    t->context = NULL;
    test_ledger_check(t, &b->ledger);
}

/* Whether the call did what it was to do; if not, there was no memory, and it says so. */
static int done(struct bound *b, cohort_status s)
{
    struct test *t = b->test;
    REQUIREF(t, !s || s == COHORT_NO_MEMORY, "%llu bytes: %s: %s", (unsigned long long)b->bytes,
             cohort_status_name(s), cohort_message(b->context));
    CHECKF(t, !s || strstr(cohort_message(b->context), "memory"), "%s", cohort_message(b->context));
    b->refused |= s != COHORT_OK;
    return !s;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

/* Key k as one of three columns: so they do not fit into 64 bits, and the words of all are held. */
enum { COLUMNS = 3 };

static cohort_frame *wide_frame(struct bound *b, uint64_t n, const uint64_t *key, uint32_t columns)
{
    static const char *const names[COLUMNS] = {"a", "b", "c"};
    cohort_array array[COLUMNS];
    cohort_frame *frame = NULL;
    for (uint32_t c = 0; c < columns; c++) {
        uint64_t *words = malloc((n + 1) * 8);
        if (!words)
            abort();
        for (uint64_t i = 0; i < n; i++)
            words[i] = test_mix(key[i] + c * 1000003u);
        array[c] = (cohort_array){names[c], COHORT_U64, 0, words, NULL};
    }
    done(b, cohort_frame_create(b->context, n, columns, array, &frame));
    for (uint32_t c = 0; c < columns; c++)
        free((void *)(uintptr_t)array[c].values);
    return frame;
}

static uint64_t *keys_of(struct test *t, uint64_t n, uint64_t distinct)
{
    uint64_t *key = malloc((n + 1) * 8);
    if (!key)
        abort();
    for (uint64_t i = 0; i < n; i++)
        key[i] = test_below(t, distinct);
    return key;
}

/* ---- joins --------------------------------------------------------------------------------------------- */

struct sides {
    uint64_t n, distinct;
    const uint64_t *left, *right;
    struct pairs due; /* of an inner join */
};

static void sides_open(struct test *t, struct sides *s, uint64_t n, uint64_t distinct)
{
    struct known k;
    *s = (struct sides){n, distinct, keys_of(t, n, distinct), keys_of(t, n, distinct), {0}};
    known_open(&k, n, s->right, distinct);
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t at = k.start[s->left[i]]; at < k.start[s->left[i] + 1]; at++)
            pairs_add(&s->due, i, k.row[at]);
    known_close(&k);
}

static void sides_close(struct sides *s)
{
    free((void *)(uintptr_t)s->left);
    free((void *)(uintptr_t)s->right);
    pairs_free(&s->due);
}

/* All pairs of a probe. If there is no memory for it, the join is as it was. */
static int probe(struct bound *b, cohort_join *join, cohort_frame *left, const struct sides *s)
{
    struct test *t = b->test;
    cohort_matches *m = NULL;
    const int good = done(b, cohort_join_probe(join, left, NULL, &m));
    CHECK(t, good == (m != NULL));
    if (good && t->kind == TEST_CPU) /* pages take no memory there */
        pairs_check(t, join, m, &s->due, s->due.count / 2 + 1, 8, 3);
    else if (good)
        EQUAL(t, cohort_join_size(m), s->due.count);
    cohort_matches_destroy(m);
    return good;
}

/* A small join first, then a large one beside it; then the small one must do again what it has done. */
static void join_within(struct bound *b, const struct sides *small, const struct sides *large,
                        uint32_t columns)
{
    cohort_join *one = NULL, *two = NULL;
    cohort_frame *right = wide_frame(b, small->n, small->right, columns),
                 *left = wide_frame(b, small->n, small->left, columns), *more = NULL, *many = NULL;
    int good = left && right && done(b, cohort_join_build(right, NULL, &one)) && probe(b, one, left, small);
    if (good) {
        many = wide_frame(b, large->n, large->right, columns);
        more = wide_frame(b, large->n, large->left, columns);
        if (many && more) {
            CHECK(b->test, done(b, cohort_join_build(many, NULL, &two)) == (two != NULL));
            if (two)
                probe(b, two, more, large);
        }
        cohort_join_destroy(two);
        cohort_frame_release(many);
        cohort_frame_release(more);
        const int refused = b->refused;
        CHECKF(b->test, probe(b, one, left, small), "%llu bytes: what was done is refused now",
               (unsigned long long)b->bytes);
        b->refused = refused;
    }
    cohort_join_destroy(one);
    cohort_frame_release(left);
    cohort_frame_release(right);
}

static void joins(struct test *t)
{
    const uint64_t n = test_size(t, test_scale(t, 20000, 60000, 200000), 3000);
    struct sides small, large;
    sides_open(t, &small, 50, 20);
    for (int how = 0; how < 4; how++) {
        uint64_t bytes = 4096;
        int refused = 1, seen = 0;
        sides_open(t, &large, n, how & 1 ? n : n / 20);
        for (; refused; bytes *= 2) {
            struct bound b;
            REQUIRE(t, bytes <= 1ull << 34);
            if (bound_open(t, &b, bytes)) {
                join_within(&b, &small, &large, how & 2 ? COLUMNS : 1);
                bound_close(&b);
            }
            refused = b.refused;
            seen += refused;
        }
        CHECK(t, seen > 3);
        sides_close(&large);
    }
    sides_close(&small);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* Rows of groups: what they are to give. */
struct rows {
    uint64_t n, distinct;
    uint32_t *key;
    int64_t *v;
};

static void rows_open(struct test *t, struct rows *r, uint64_t n, uint64_t distinct)
{
    *r = (struct rows){n, distinct, malloc(n * 4), malloc(n * 8)};
    if (!r->key || !r->v)
        abort();
    for (uint64_t i = 0; i < n; i++) {
        r->key[i] = (uint32_t)test_below(t, distinct);
        r->v[i] = (int64_t)test_below(t, 50);
    }
}

static void rows_close(struct rows *r)
{
    free(r->key);
    free(r->v);
}

/* Groups, rows, sum, distinct values: in the order of first rows, of the first `parts` parts. */
static uint64_t *rows_walk(const struct rows *r, int parts, uint64_t *groups)
{
    const uint64_t distinct = r[0].distinct > r[parts - 1].distinct ? r[0].distinct : r[parts - 1].distinct;
    uint64_t *due = calloc(4 * distinct, 8), *place = malloc(distinct * 8);
    uint8_t *met = calloc(distinct * 50, 1);
    if (!due || !place || !met)
        abort();
    memset(place, 0xff, distinct * 8);
    *groups = 0;
    for (int p = 0; p < parts; p++)
        for (uint64_t i = 0; i < r[p].n; i++) {
            const uint64_t k = r[p].key[i], value = (uint64_t)r[p].v[i];
            if (place[k] == ~0ull)
                place[k] = (*groups)++;
            uint64_t *d = due + 4 * place[k];
            d[0] = k;
            d[1]++;
            d[2] += value;
            d[3] += !met[k * 50 + value];
            met[k * 50 + value] = 1;
        }
    free(place);
    free(met);
    return due;
}

static void check_groups(struct bound *b, cohort_group *g, const struct rows *r, int parts)
{
    struct test *t = b->test;
    cohort_frame *out = NULL;
    uint64_t groups, *due = rows_walk(r, parts, &groups);
    EQUAL(t, cohort_group_count(g), groups);
    if (done(b, cohort_group_finish(g, 0, &out))) {
        uint64_t *got = calloc(groups + 1, 8);
        if (!got)
            abort();
        for (uint32_t c = 1; c < (cohort_frame_columns(out) == 4 ? 4u : 3u); c++) {
            column_at(t, out, c, 8, got);
            for (uint64_t i = 0; i < groups; i++)
                REQUIREF(t, got[i] == due[4 * i + c], "%llu bytes: column %u of group %llu: %llu, not %llu",
                         (unsigned long long)b->bytes, c, (unsigned long long)i, (unsigned long long)got[i],
                         (unsigned long long)due[4 * i + c]);
        }
        free(got);
    }
    cohort_frame_release(out);
    free(due);
}

/* By a frame, by another object, or by a partial result. */
static int give(struct bound *b, cohort_group *g, cohort_group *other, cohort_frame *frame, int way)
{
    cohort_frame *partial = NULL;
    if (!way)
        return done(b, cohort_group_add(g, frame));
    if (!done(b, cohort_group_add(other, frame)))
        return 0;
    if (way == 1)
        return done(b, cohort_group_merge(g, other));
    const int good =
        done(b, cohort_group_partial(other, &partial)) && done(b, cohort_group_merge_partial(g, partial));
    cohort_frame_release(partial);
    return good;
}

/* The object goes on: with rows of keys that a call before them, which was refused, had too. */
static void go_on(struct bound *b, cohort_group *g, const struct rows *few, const struct rows *many)
{
    const uint64_t n = 200, from = many->n - n;
    const struct rows r[2] = {*few, {n, many->distinct, many->key + from, many->v + from}};
    const cohort_array arrays[2] = {{"key", COHORT_U32, 0, r[1].key, NULL},
                                    {"v", COHORT_I64, 0, r[1].v, NULL}};
    cohort_frame *frame = NULL;
    const int good =
        done(b, cohort_frame_create(b->context, n, 2, arrays, &frame)) && done(b, cohort_group_add(g, frame));
    cohort_frame_release(frame);
    check_groups(b, g, r, good ? 2 : 1);
}

/* Few groups, and then many, by `way`; if these are refused, the object has the few. */
static void group_within(struct bound *b, const struct rows *r, int way, uint32_t aggregates)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_ROWS, 0, NULL, NULL},
                                         {COHORT_AGGREGATE_SUM, 0, "v", NULL},
                                         {COHORT_AGGREGATE_NUNIQUE, 0, "v", NULL}};
    static const char *const key[] = {"key"};
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_group *g = NULL, *other = NULL;
    cohort_frame *few = NULL, *many = NULL;
    cohort_array arrays[2] = {{"key", COHORT_U32, 0, r[0].key, NULL}, {"v", COHORT_I64, 0, r[0].v, NULL}};
    o.keys = 1;
    o.key = key;
    o.aggregates = aggregates;
    o.aggregate = a;
    int good = done(b, cohort_group_create(b->context, &o, &g)) &&
               done(b, cohort_group_create(b->context, &o, &other)) &&
               done(b, cohort_frame_create(b->context, r[0].n, 2, arrays, &few)) &&
               done(b, cohort_group_add(g, few));
    cohort_frame_release(few);
    if (good) {
        check_groups(b, g, r, 1);
        arrays[0].values = r[1].key;
        arrays[1].values = r[1].v;
        good = done(b, cohort_frame_create(b->context, r[1].n, 2, arrays, &many)) &&
               give(b, g, other, many, way);
        cohort_group_destroy(other);
        other = NULL;
        cohort_frame_release(many);
        check_groups(b, g, r, good ? 2 : 1);
        if (!good)
            go_on(b, g, &r[0], &r[1]);
    }
    cohort_group_destroy(other);
    cohort_group_destroy(g);
}

static void groups(struct test *t)
{
    const uint64_t n = test_size(t, test_scale(t, 20000, 60000, 200000), 3000);
    struct rows r[2];
    rows_open(t, &r[0], 300, 40);
    for (int how = 0; how < 6; how++) {
        int refused = 1, seen = 0;
        rows_open(t, &r[1], n, how % 4 < 2 ? n / 2 : 500);
        /* Each bound makes a context, which takes long on a GPU. */
        for (uint64_t bytes = 4096; refused; bytes += t->kind == TEST_CUDA ? bytes : bytes / 4) {
            struct bound b;
            REQUIRE(t, bytes <= 1ull << 34);
            if (bound_open(t, &b, bytes)) {
                group_within(&b, r, how / 2, how & 1 ? 2 : 3);
                bound_close(&b);
            }
            refused = b.refused;
            seen += refused;
        }
        CHECK(t, seen > 3);
        rows_close(&r[1]);
    }
    rows_close(&r[0]);
}

/* ---- numbers of keys ----------------------------------------------------------------------------------- */

/* ids are the numbers of keys in the order of their first rows. */
static void check_ids(struct bound *b, uint64_t n, const uint64_t *key, uint64_t distinct,
                      const uint32_t *ids)
{
    uint64_t *place = malloc(distinct * 8), count = 0;
    if (!place)
        abort();
    memset(place, 0xff, distinct * 8);
    for (uint64_t i = 0; i < n; i++) {
        if (place[key[i]] == ~0ull)
            place[key[i]] = count++;
        REQUIREF(b->test, ids[i] == place[key[i]], "%llu bytes: row %llu has id %u, not %llu",
                 (unsigned long long)b->bytes, (unsigned long long)i, ids[i],
                 (unsigned long long)place[key[i]]);
    }
    free(place);
}

static void ids_within(struct bound *b, uint64_t n, const uint64_t *key, uint64_t distinct, uint32_t columns)
{
    cohort_frame *frame = wide_frame(b, n, key, columns), *values = NULL;
    cohort_factor *factor = NULL;
    uint32_t *ids = malloc(n * 4);
    if (!ids)
        abort();
    if (frame && done(b, cohort_factorize(frame, NULL, ids, &values)))
        check_ids(b, n, key, distinct, ids);
    CHECK(b->test, !values == (b->refused != 0));
    cohort_frame_release(values);
    /* The keys of some rows may be in; the call done again has the same ids. */
    if (frame && done(b, cohort_factor_create(b->context, columns, NULL, &factor)))
        for (int turn = 0; turn < 2; turn++)
            if (done(b, cohort_factor_add(factor, frame, ids)))
                check_ids(b, n, key, distinct, ids);
    cohort_factor_destroy(factor);
    cohort_frame_release(frame);
    free(ids);
}

static void numbers(struct test *t)
{
    const uint64_t n = test_size(t, test_scale(t, 50000, 300000, 700000), 3000);
    for (int how = 0; how < 4; how++) {
        const uint64_t distinct = how & 1 ? n : 100;
        uint64_t *key = keys_of(t, n, distinct);
        int refused = 1, seen = 0;
        for (uint64_t bytes = 4096; refused; bytes *= 2) {
            struct bound b;
            REQUIRE(t, bytes <= 1ull << 34);
            if (bound_open(t, &b, bytes)) {
                ids_within(&b, n, key, distinct, how & 2 ? COLUMNS : 1);
                bound_close(&b);
            }
            refused = b.refused;
            seen += refused;
        }
        CHECK(t, seen > 3);
        free(key);
    }
}

const struct test_case test_cases[] = {{"joins", joins, TEST_NO_CONTEXT},
                                       {"groups", groups, TEST_NO_CONTEXT},
                                       {"numbers of keys", numbers, TEST_NO_CONTEXT},
                                       {NULL, NULL, 0}};
