/* test_join.c: joins against loops over both tables: every kind, type, null rule, layout, chunking; pages
 * of every size; keys that come once, often, or always; and probes by several threads at once. */
#include <pthread.h>

#include "joins.h"

#define ROUNDS 50

static const char *const kinds[] = {"inner", "left", "right", "full", "semi", "anti"};

static void suit_device(const struct test *t, struct model *m)
{
    for (uint32_t i = 0; t->kind != TEST_CPU && i < m->columns; i++)
        if (strchr("uUzZv", m->column[i].format[0]) && !m->column[i].index[0])
            strcpy(m->column[i].index, "i");
}

/* ---- tables -------------------------------------------------------------------------------------------- */

struct sides {
    struct model left, right;
    cohort_frame *left_frame, *right_frame;
    uint8_t nulls_equal[64];
};

static void sides_fill(struct test *t, struct model *m, uint32_t columns, const char *const *format,
                       struct model_plan plan)
{
    plan.rows = test_below(t, plan.rows + 1);
    plan.nulls = test_below(t, 2) ? (uint32_t)test_below(t, 40) : 0;
    plan.distinct = 1 + test_below(t, plan.distinct);
    model_open(m, plan.rows, columns);
    for (uint32_t c = 0; c < columns; c++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", c);
        model_fill(t, m, c, name, model_another_layout(t, format[c]), &plan);
    }
    suit_device(t, m);
}

static void sides_open(struct test *t, struct sides *s, uint32_t columns, uint64_t rows, uint64_t distinct)
{
    const char *format[64];
    uint64_t types = 0;
    struct model_plan plan = {.rows = rows, .distinct = distinct, .dictionaries = 1};
    while (model_formats[types])
        types++;
    plan.wild = (int)test_below(t, 2);
    for (uint32_t c = 0; c < columns; c++) {
        format[c] = model_formats[test_below(t, types)];
        s->nulls_equal[c] = test_below(t, 2) != 0;
    }
    sides_fill(t, &s->left, columns, format, plan);
    sides_fill(t, &s->right, columns, format, plan);
    if (columns > 9) /* rows of so many columns would hardly ever meet */
        model_repeat(t, &s->left, &s->right, columns);
    s->left_frame = model_frame(t, &s->left, t->context);
    s->right_frame = model_frame(t, &s->right, t->context);
}

static void sides_close(struct sides *s)
{
    cohort_frame_release(s->left_frame);
    cohort_frame_release(s->right_frame);
    model_close(&s->left);
    model_close(&s->right);
}

/* ---- every kind ---------------------------------------------------------------------------------------- */

static uint64_t check_kind(struct test *t, cohort_join *join, struct sides *s, const uint8_t *nulls_equal,
                           int kind, uint8_t *met)
{
    cohort_matches *m = NULL;
    cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
    options.kind = (cohort_join_kind)kind;
    struct pairs due = pairs_naive(&s->left, &s->right, nulls_equal, kind, met), rest;
    OK(t, cohort_join_probe(join, s->left_frame, kind || test_below(t, 2) ? &options : NULL, &m));
    REQUIREF(t, cohort_join_size(m) == due.count, "%s join: %llu pairs, not %llu", kinds[kind],
             (unsigned long long)cohort_join_size(m), (unsigned long long)due.count);
    pairs_check(t, join, m, &due, due.count + 1, 8, 3);
    pairs_check(t, join, m, &due, 1 + test_below(t, due.count + 1), test_below(t, 2) ? 4 : 8,
                (int)test_below(t, 4));
    if (due.count < 400)
        pairs_check(t, join, m, &due, 1 + test_below(t, 4), 4, 3);
    rest = pairs_naive_rest(s->right.rows, met);
    pairs_check(t, join, NULL, &rest, 1 + test_below(t, rest.count + 1), test_below(t, 2) ? 4 : 8, 3);
    cohort_matches_destroy(m);
    uint64_t count = due.count;
    pairs_free(&due);
    pairs_free(&rest);
    return count;
}

static void every_kind(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, ROUNDS, 3 * ROUNDS, 10 * ROUNDS); round++) {
        struct sides s;
        uint32_t columns = round % 10 == 9 ? 60 : 1 + (uint32_t)(test_below(t, 2) ? 0 : test_below(t, 4));
        sides_open(t, &s, columns, round % 5 ? 60 : 700, round % 3 ? 20 : 600);
        const uint8_t *nulls_equal = round & 1 ? s.nulls_equal : NULL;
        uint8_t *met = calloc(s.right.rows + 1, 1);
        cohort_join *join = NULL;
        cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
        uint64_t count[6];
        options.nulls_equal = nulls_equal;
        options.method = any_method(t);
        OK(t, cohort_join_build(s.right_frame, nulls_equal || test_below(t, 2) ? &options : NULL, &join));
        EQUAL(t, cohort_join_is_resident(join), t->kind == TEST_CPU || model_stays(&s.right));
        for (int kind = 5; kind >= 0; kind--)
            count[kind] = check_kind(t, join, &s, nulls_equal, kind, met);
        EQUAL(t, count[COHORT_JOIN_LEFT], count[COHORT_JOIN_INNER] + count[COHORT_JOIN_ANTI]);
        EQUAL(t, s.left.rows, count[COHORT_JOIN_SEMI] + count[COHORT_JOIN_ANTI]);
        cohort_join_destroy(join);
        sides_close(&s);
        free(met);
    }
    EQUAL(t, model_alive, 0);
}

/* ---- many rows, by the arithmetic of their keys -------------------------------------------------------- */

static void check_many(struct test *t, uint64_t n, uint64_t distinct, int how)
{
    uint64_t *left = malloc(n * 8), *right = malloc(n * 8), *made = malloc(n * 8);
    struct pairs due = {0};
    struct known k;
    cohort_join *join = NULL;
    cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
    cohort_matches *m = NULL;
    options.method = any_method(t);
    if (!left || !right || !made)
        abort();
    for (uint64_t i = 0; i < n; i++) {
        left[i] = test_below(t, distinct + distinct / 8 + 1);
        right[i] = distinct > n ? i * 7 % distinct : test_below(t, distinct);
    }
    known_open(&k, n, right, distinct + distinct / 8 + 1);
    for (uint64_t i = 0; i < n && due.count < 8 * n; i++)
        for (uint64_t at = k.start[left[i]]; at < k.start[left[i] + 1]; at++)
            pairs_add(&due, i, k.row[at]);
    for (uint64_t i = 0; i < n; i++)
        made[i] = spread(right[i], how);
    cohort_frame *frame = keys_frame(t, t->context, n, made);
    OK(t, cohort_join_build(frame, &options, &join));
    cohort_frame_release(frame);
    for (uint64_t i = 0; i < n; i++)
        made[i] = spread(left[i], how);
    frame = keys_frame(t, t->context, n, made);
    OK(t, cohort_join_probe(join, frame, NULL, &m));
    cohort_frame_release(frame);
    uint64_t total = 0;
    for (uint64_t i = 0; i < n; i++)
        total += k.start[left[i] + 1] - k.start[left[i]];
    EQUAL(t, cohort_join_size(m), total);
    if (total == due.count)
        pairs_check(t, join, m, &due, due.count / 3 + 1, 4, 3);
    cohort_matches_destroy(m);
    cohort_join_destroy(join);
    pairs_free(&due);
    known_close(&k);
    free(left);
    free(right);
    free(made);
}

static void many(struct test *t)
{
    const uint64_t n = test_size(t, test_scale(t, 100000, 400000, 700000), 4000);
    for (int how = 0; how < 3; how++)
        for (uint64_t distinct = 10; distinct <= 40 * n; distinct *= 17)
            check_many(t, n, distinct, how);
}

/* Right keys of which each is there once, one of them null, and left keys of which some are there, some are
 * not, and some are null: due[i] is the right row of left row i. Some of the left rows have the number whose
 * place on the right is null. */
struct lookups {
    uint64_t n, m;
    uint64_t *right, *left, *due, *to[2];
    uint8_t *right_valid, *left_valid;
};

static void lookups_open(struct test *t, struct lookups *l, uint64_t n, uint8_t nulls_equal)
{
    l->n = 1 + n - test_below(t, 1000);
    l->m = test_size(t, 400000, 9000) - test_below(t, 1000);
    l->right = malloc(l->n * 8);
    l->left = malloc(4 * l->m * 8);
    l->right_valid = malloc(l->n / 8 + 1);
    l->left_valid = malloc(l->m / 8 + 1);
    if (!l->right || !l->left || !l->right_valid || !l->left_valid)
        abort();
    l->due = l->left + l->m;
    l->to[0] = l->due + l->m;
    l->to[1] = l->to[0] + l->m;
    const uint64_t null = test_below(t, l->n);
    memset(l->right_valid, 0xff, l->n / 8 + 1);
    memset(l->left_valid, 0xff, l->m / 8 + 1);
    l->right_valid[null / 8] &= (uint8_t) ~(1u << (null & 7));
    for (uint64_t i = 0; i < l->n; i++)
        l->right[i] = test_mix(i + 1);
    for (uint64_t i = 0; i < l->m; i++) {
        const uint64_t k = test_below(t, 50) ? test_below(t, l->n + l->n / 4) : null;
        l->left[i] = test_mix(k + 1);
        l->due[i] = k < l->n && k != null ? k : UINT64_MAX;
        if (!test_below(t, 7)) {
            l->left_valid[i / 8] &= (uint8_t) ~(1u << (i & 7));
            l->due[i] = nulls_equal ? null : UINT64_MAX;
        }
    }
}

/* All methods, with any number of threads; few right keys, so that left ones are looked up in steps, and
 * many, so that their table has parts. */
static void each_method(struct test *t)
{
    for (int i = 0; i < 6; i++) {
        const uint8_t nulls_equal = (uint8_t)(i & 1);
        struct lookups l;
        cohort_context_options own = test_context_options(t);
        cohort_context *context = NULL;
        cohort_frame *right = NULL, *left = NULL;
        cohort_join *join = NULL;
        cohort_matches *m = NULL;
        cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
        cohort_join_probe_options probe = COHORT_JOIN_PROBE_OPTIONS_INIT;
        cohort_join_page page = COHORT_JOIN_PAGE_INIT;
        lookups_open(t, &l, i < 4 ? test_size(t, 250000, 5000) : 3000, nulls_equal);
        const cohort_array r = {"k", COHORT_U64, 0, l.right, l.right_valid};
        const cohort_array k = {"k", COHORT_U64, 0, l.left, l.left_valid};
        own.threads = 1 + test_below(t, 5);
        OK(t, cohort_context_create(&own, &context));
        OK(t, cohort_frame_create(context, l.n, 1, &r, &right));
        OK(t, cohort_frame_create(context, l.m, 1, &k, &left));
        options.method = i < 2 ? COHORT_JOIN_FACTOR : COHORT_JOIN_PARTITIONED;
        options.nulls_equal = &nulls_equal;
        probe.kind = COHORT_JOIN_LEFT;
        OK(t, cohort_join_build(right, &options, &join));
        OK(t, cohort_join_probe(join, left, &probe, &m));
        page.capacity = l.m;
        page.bytes = 8;
        page.left = l.to[0];
        page.right = l.to[1];
        OK(t, cohort_join_pairs(m, &page));
        EQUAL(t, page.written, l.m);
        for (uint64_t row = 0; row < l.m; row++)
            REQUIREF(t, l.to[0][row] == row && l.to[1][row] == l.due[row], "method %d, left row %llu of %llu",
                     (int)options.method, (unsigned long long)row, (unsigned long long)l.m);
        cohort_matches_destroy(m);
        cohort_join_destroy(join);
        cohort_frame_release(left);
        cohort_frame_release(right);
        cohort_context_destroy(context);
        free(l.right);
        free(l.left);
        free(l.right_valid);
        free(l.left_valid);
    }
}

/* ---- rows as frames ------------------------------------------------------------------------------------ */

/* What gathers make of an outer join's pairs has the same keys on both sides, or nulls on one. */
static void gathered(struct test *t)
{
    for (int round = 0; round < 10; round++) {
        struct sides s;
        struct model a, b;
        cohort_join *join = NULL;
        cohort_matches *m = NULL;
        cohort_frame *left = NULL, *right = NULL;
        cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
        cohort_join_page page = COHORT_JOIN_PAGE_INIT;
        sides_open(t, &s, 2, 100, 10);
        options.kind = COHORT_JOIN_LEFT;
        OK(t, cohort_join_build(s.right_frame, NULL, &join));
        OK(t, cohort_join_probe(join, s.left_frame, &options, &m));
        page.bytes = round & 1 ? 4 : 8;
        page.capacity = cohort_join_size(m);
        struct column *l = column_new(t, page.capacity, page.bytes);
        struct column *r = column_new(t, page.capacity, page.bytes);
        page.left = column_send(l);
        page.right = column_send(r);
        OK(t, cohort_join_pairs(m, &page));
        OK(t, cohort_gather(s.left_frame, page.written, page.bytes, page.left, &left));
        OK(t, cohort_gather(s.right_frame, page.written, page.bytes, page.right, &right));
        model_of_frame(t, &a, left);
        model_of_frame(t, &b, right);
        EQUAL(t, a.rows, page.capacity);
        column_fetch(r);
        for (uint64_t i = 0; i < a.rows; i++) {
            int none = column_get(r, i) == (page.bytes == 4 ? UINT32_MAX : UINT64_MAX);
            REQUIRE(t, none ? !b.column[0].cell[i].bytes && !b.column[1].cell[i].bytes
                            : rows_match(&a, i, &b, i, NULL));
        }
        cohort_frame_release(left);
        cohort_frame_release(right);
        model_close(&a);
        model_close(&b);
        cohort_matches_destroy(m);
        cohort_join_destroy(join);
        sides_close(&s);
        column_drop(t, NULL);
    }
}

/* Pairs first .. first + n as a frame by their row numbers; with: 1, the left side's columns, 2, the right
 * one's, 3, both's. */
static cohort_frame *frame_by_pages(struct test *t, const struct sides *s, cohort_matches *m, uint64_t first,
                                    uint64_t n, int with)
{
    cohort_frame *left = NULL, *right = NULL, *both = NULL;
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    page.bytes = test_below(t, 2) ? 4 : 8;
    page.first = first;
    page.capacity = n;
    struct column *l = column_new(t, n, page.bytes), *r = column_new(t, n, page.bytes);
    page.left = column_send(l);
    page.right = column_send(r);
    OK(t, cohort_join_pairs(m, &page));
    OK(t, cohort_gather(s->left_frame, page.written, page.bytes, page.left, &left));
    OK(t, cohort_gather(s->right_frame, page.written, page.bytes, page.right, &right));
    if (with == 3)
        OK(t, cohort_frame_beside(left, right, "_there", &both));
    else
        both = cohort_frame_retain(with == 1 ? left : right);
    cohort_frame_release(left);
    cohort_frame_release(right);
    column_drop(t, NULL);
    return both;
}

/* Pairs as frames are what row numbers, gathers and frames side by side make. */
static void frames(struct test *t)
{
    for (int round = 0; round < 24; round++) {
        struct sides s;
        cohort_join *join = NULL;
        cohort_matches *m = NULL;
        cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
        sides_open(t, &s, 1 + (uint32_t)test_below(t, 2), 100, round & 1 ? 10 : 400);
        options.kind = (cohort_join_kind)(round % 6);
        OK(t, cohort_join_build(s.right_frame, NULL, &join));
        OK(t, cohort_join_probe(join, s.left_frame, &options, &m));
        const uint64_t total = cohort_join_size(m);
        for (int k = 0; k < 4; k++) {
            const uint64_t first = k ? test_below(t, total + 2) : 0, n = k ? test_below(t, total + 2) : total;
            const int with = 1 + (int)test_below(t, 3);
            struct model due, got;
            cohort_frame *made = NULL, *paged = frame_by_pages(t, &s, m, first, n, with);
            OK(t, cohort_join_frame(m, first, k == 1 ? INT64_MAX / 64 : n, with & 1 ? s.left_frame : NULL,
                                    with & 2 ? s.right_frame : NULL, "_there", &made));
            cohort_frame *as_many = NULL;
            OK(t, cohort_frame_slice(made, 0, cohort_frame_rows(paged), &as_many));
            EQUAL(t, cohort_frame_rows(made),
                  first > total                 ? 0
                  : k == 1 || n > total - first ? total - first
                                                : n);
            model_of_frame(t, &due, paged);
            model_of_frame(t, &got, as_many);
            model_same(t, &due, &got);
            model_close(&due);
            model_close(&got);
            cohort_frame_release(as_many);
            cohort_frame_release(made);
            cohort_frame_release(paged);
        }
        cohort_matches_destroy(m);
        cohort_join_destroy(join);
        sides_close(&s);
    }
}

/* ---- threads ------------------------------------------------------------------------------------------- */

struct prober {
    pthread_t thread;
    struct test *test;
    cohort_join *join;
    const uint64_t *keys;
    uint64_t n, hits, bad;
};

/* Probes a half of the keys from a context of its own; key k is in right row k / 2 if it is even. */
static void *prober_main(void *arg)
{
    struct prober *p = arg;
    cohort_context_options context_options = test_context_options(p->test);
    cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
    cohort_context *context = NULL;
    options.kind = COHORT_JOIN_RIGHT;
    p->bad = cohort_context_create(&context_options, &context) != COHORT_OK;
    for (int round = 0; !p->bad && round < 5; round++) {
        cohort_array array = {"key", COHORT_U64, 0, p->keys, NULL};
        cohort_join_page page = COHORT_JOIN_PAGE_INIT;
        cohort_frame *frame = NULL;
        cohort_matches *m = NULL;
        uint64_t *left = malloc(p->n * 8), *right = malloc(p->n * 8);
        p->bad = !left || !right || cohort_frame_create(context, p->n, 1, &array, &frame) ||
                 cohort_join_probe(p->join, frame, &options, &m);
        page.left = left;
        page.right = right;
        page.capacity = p->n;
        p->bad = p->bad || cohort_join_pairs(m, &page);
        for (uint64_t i = 0; !p->bad && i < page.written; i++)
            p->bad += p->keys[left[i]] != 2 * right[i];
        p->hits = page.written;
        cohort_matches_destroy(m);
        cohort_frame_release(frame);
        free(left);
        free(right);
    }
    cohort_context_destroy(context);
    return NULL;
}

#define PROBERS 3

static void threads(struct test *t)
{
    const uint64_t n = test_size(t, 30000, 3000);
    uint64_t *keys = malloc(PROBERS * n * 8), met = 0;
    struct prober prober[PROBERS];
    cohort_join *join = NULL;
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    if (!keys)
        abort();
    for (uint64_t i = 0; i < PROBERS * n; i++)
        keys[i] = 2 * i;
    cohort_frame *frame = keys_frame(t, t->context, PROBERS * n, keys);
    OK(t, cohort_join_build(frame, NULL, &join));
    cohort_frame_release(frame);
    for (uint64_t i = 0; i < PROBERS * n; i++)
        keys[i] = i % 3 ? 2 * i : 2 * i + 1;
    for (int i = 0; i < PROBERS; i++) {
        prober[i] = (struct prober){.test = t, .join = join, .keys = keys + (uint64_t)i * n, .n = n};
        REQUIRE(t, !pthread_create(&prober[i].thread, NULL, prober_main, &prober[i]));
    }
    for (int i = 0; i < PROBERS; i++) {
        pthread_join(prober[i].thread, NULL);
        EQUAL(t, prober[i].bad, 0);
        met += prober[i].hits;
    }
    OK(t, cohort_join_finish(join, &page));
    EQUAL(t, met, 2 * n);
    EQUAL(t, page.total, PROBERS * n - met);
    cohort_join_destroy(join);
    free(keys);
}

/* ---- rows of a large table in an order without sense --------------------------------------------------- */

struct scattered {
    uint64_t rows, n;
    uint64_t *a;
    uint32_t *b, *d;
    double *c;
    uint8_t *valid; /* of d */
};

static void scattered_open(struct test *t, struct scattered *s)
{
    *s = (struct scattered){.rows = (1u << 20) + test_below(t, 5000)};
    s->n = s->rows / 2 + test_below(t, s->rows);
    s->a = malloc(s->rows * 8), s->b = malloc(s->rows * 4), s->c = malloc(s->rows * 8);
    s->d = malloc(s->rows * 4), s->valid = calloc(s->rows / 8 + 1, 1);
    if (!s->a || !s->b || !s->c || !s->d || !s->valid)
        abort();
    for (uint64_t i = 0; i < s->rows; i++) {
        s->a[i] = test_mix(i);
        s->b[i] = (uint32_t)test_mix(i + 1);
        s->c[i] = (double)i;
        s->d[i] = (uint32_t)test_mix(i + 2);
        s->valid[i / 8] |= (uint8_t)((test_mix(i) % 9 != 0) << (i & 7));
    }
}

static void scattered_close(struct scattered *s)
{
    free(s->a), free(s->b), free(s->c), free(s->d), free(s->valid);
}

/* Row i of what came out, against the row that it is to be; one beyond all: nulls. */
static int scattered_same(const struct scattered *s, const struct ArrowArray *out, uint64_t i, uint64_t row)
{
    for (int64_t c = 0; c < 4; c++) {
        const uint8_t *bits = out->children[c]->buffers[0];
        int there = !bits || bits[i / 8] >> (i & 7) & 1;
        if (there != (row < s->rows && (c < 3 || s->valid[row / 8] >> (row & 7) & 1)))
            return 0;
    }
    return row >= s->rows || (((const uint64_t *)out->children[0]->buffers[1])[i] == s->a[row] &&
                              ((const uint32_t *)out->children[1]->buffers[1])[i] == s->b[row] &&
                              ((const double *)out->children[2]->buffers[1])[i] == s->c[row] &&
                              ((const uint32_t *)out->children[3]->buffers[1])[i] == s->d[row]);
}

static void scattered(struct test *t)
{
    for (int round = 0; round < 4; round++) {
        struct scattered s;
        scattered_open(t, &s);
        cohort_array arrays[] = {{"a", COHORT_U64, 0, s.a, NULL},
                                 {"b", COHORT_U32, 0, s.b, NULL},
                                 {"c", COHORT_F64, 0, s.c, NULL},
                                 {"d", COHORT_U32, 0, s.d, s.valid}};
        cohort_frame *frame = NULL, *made = NULL;
        struct ArrowSchema schema;
        struct ArrowArray out;
        struct column *rows = column_new(t, s.n, round & 1 ? 4 : 8);
        for (uint64_t i = 0; i < s.n; i++)
            column_put(rows, i, round > 1 && !test_below(t, 40) ? UINT64_MAX : test_below(t, s.rows));
        OK(t, cohort_frame_create(t->context, s.rows, 4, arrays, &frame));
        OK(t, cohort_gather(frame, s.n, round & 1 ? 4 : 8, column_send(rows), &made));
        OK(t, cohort_frame_export(made, &schema, &out));
        for (uint64_t i = 0; i < s.n; i++)
            REQUIREF(t, scattered_same(&s, &out, i, column_get(rows, i)), "entry %llu of %llu",
                     (unsigned long long)i, (unsigned long long)s.n);
        schema.release(&schema);
        out.release(&out);
        cohort_frame_release(made);
        column_put(rows, s.n - 5, s.rows);
        FAILS(t, t->context, cohort_gather(frame, s.n, round & 1 ? 4 : 8, column_send(rows), &made),
              COHORT_RANGE, "rows[", NULL);
        cohort_frame_release(frame);
        scattered_close(&s);
        column_drop(t, NULL);
    }
}

const struct test_case test_cases[] = {{"every_kind", every_kind, TEST_EACH_MEMORY},
                                       {"many", many, 0},
                                       {"each_method", each_method, 0},
                                       {"gathered", gathered, TEST_EACH_MEMORY},
                                       {"frames", frames, TEST_EACH_MEMORY},
                                       {"scattered", scattered, TEST_ON_CPU},
                                       {"threads", threads, TEST_ON_CPU},
                                       {NULL, NULL, 0}};
