/* test_join_words.c: joins by numbers, which on a GPU never leave its memory: columns of every such type, one
 * and several; sizes about the blocks and spans that rows are counted by; keys that hardly ever match; memory
 * that is refused at each allocation in turn; and who may probe. */
#include "joins.h"

/* ---- every kind ---------------------------------------------------------------------------------------- */

/* Probes with all kinds, FULL last, and reads what comes out and what is left over. */
static void check_kinds(struct test *t, cohort_join *join, const struct model *left,
                        const struct model *right, cohort_frame *frame, const uint8_t *nulls_equal)
{
    static const int kinds[] = {COHORT_JOIN_INNER, COHORT_JOIN_ANTI,  COHORT_JOIN_SEMI,
                                COHORT_JOIN_LEFT,  COHORT_JOIN_RIGHT, COHORT_JOIN_FULL};
    uint8_t *met = calloc(right->rows + 1, 1);
    for (int k = 0; k < 6; k++) {
        cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
        cohort_matches *m = NULL;
        options.kind = (cohort_join_kind)kinds[k];
        struct pairs due = pairs_naive(left, right, nulls_equal, kinds[k], met);
        struct pairs rest = pairs_naive_rest(right->rows, met);
        OK(t, cohort_join_probe(join, frame, &options, &m));
        EQUAL(t, cohort_join_size(m), due.count);
        pairs_check(t, join, m, &due, 1 + test_below(t, due.count + 1), 4, (int)test_below(t, 4));
        pairs_check(t, join, m, &due, due.count + 1, 8, 3);
        pairs_check(t, join, NULL, &rest, 1 + test_below(t, rest.count + 1), test_below(t, 2) ? 4 : 8, 3);
        cohort_matches_destroy(m);
        pairs_free(&due);
        pairs_free(&rest);
    }
    free(met);
}

/* ---- every type ---------------------------------------------------------------------------------------- */

static const char *draw_word(struct test *t)
{
    uint64_t types = 0;
    while (model_formats[types])
        types++;
    for (;;) {
        const char *format = model_formats[test_below(t, types)];
        if (model_is_word(format))
            return format;
    }
}

static void fill(struct test *t, struct model *m, uint32_t columns, const char *const *format,
                 struct model_plan plan)
{
    plan.rows = test_below(t, plan.rows + 1);
    plan.nulls = test_below(t, 3) ? (uint32_t)test_below(t, 40) : 0;
    model_open(m, plan.rows, columns);
    for (uint32_t c = 0; c < columns; c++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", c);
        model_fill(t, m, c, name, format[c], &plan);
    }
}

static void join_models(struct test *t, uint32_t columns, const char *const *format, struct model_plan plan)
{
    struct model left, right;
    uint8_t nulls_equal[8];
    cohort_join *join = NULL;
    cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
    for (uint32_t c = 0; c < columns; c++)
        nulls_equal[c] = test_below(t, 2) != 0;
    options.nulls_equal = test_below(t, 3) ? nulls_equal : NULL;
    options.method = any_method(t);
    fill(t, &left, columns, format, plan);
    fill(t, &right, columns, format, plan);
    cohort_frame *a = model_frame(t, &left, t->context), *b = model_frame(t, &right, t->context);
    OK(t, cohort_join_build(b, &options, &join));
    CHECK(t, cohort_join_is_resident(join));
    check_kinds(t, join, &left, &right, a, options.nulls_equal);
    cohort_join_destroy(join);
    cohort_frame_release(a);
    cohort_frame_release(b);
    model_close(&left);
    model_close(&right);
}

static void every_type(struct test *t)
{
    for (uint64_t i = 0; model_formats[i]; i++)
        for (int wild = 0; wild < 2 && model_is_word(model_formats[i]); wild++) {
            struct model_plan plan = {.rows = 90, .distinct = 1 + test_below(t, 40), .wild = wild};
            plan.dictionaries = (int)test_below(t, 3);
            join_models(t, 1, &model_formats[i], plan);
        }
}

static void several_columns(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 12, 40, 150); round++) {
        struct model_plan plan = {.rows = round % 4 ? 60 : 400, .distinct = 1 + test_below(t, 20)};
        const char *format[8];
        uint32_t columns = 2 + (uint32_t)test_below(t, round % 5 ? 3 : 7);
        plan.wild = round % 3 == 0; /* then 64 bits are often too few */
        plan.dictionaries = (int)test_below(t, 2);
        for (uint32_t c = 0; c < columns; c++)
            format[c] = draw_word(t);
        join_models(t, columns, format, plan);
    }
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

static cohort_frame *frame_of(struct test *t, uint64_t n, const uint64_t *keys, int how)
{
    uint64_t *made = malloc(n * 8 + 8);
    if (!made)
        abort();
    for (uint64_t i = 0; i < n; i++)
        made[i] = spread(keys[i], how);
    cohort_frame *frame = keys_frame(t, t->context, n, made);
    free(made);
    return frame;
}

/* What a full join of keys is to give: pairs, and right rows that are left over. */
static struct pairs full_of(const uint64_t *left, uint64_t n, const struct known *k, uint8_t *met)
{
    struct pairs due = {0};
    for (uint64_t i = 0; i < n; i++) {
        if (k->start[left[i]] == k->start[left[i] + 1])
            pairs_add(&due, i, COHORT_NO_ROW);
        for (uint64_t at = k->start[left[i]]; at < k->start[left[i] + 1]; at++) {
            pairs_add(&due, i, k->row[at]);
            met[k->row[at]] = 1;
        }
    }
    return due;
}

/* Only those that have both rows, or the first of each left row, or those that have none. */
static struct pairs some_of(const struct pairs *full, int kind)
{
    struct pairs some = {0};
    for (uint64_t i = 0; i < full->count; i++) {
        int has = full->right[i] != COHORT_NO_ROW, is_first = !i || full->left[i] != full->left[i - 1];
        if (kind == COHORT_JOIN_FULL || (kind == COHORT_JOIN_INNER && has) ||
            (kind == COHORT_JOIN_SEMI && has && is_first) || (kind == COHORT_JOIN_ANTI && !has))
            pairs_add(&some, full->left[i], full->right[i]);
    }
    return some;
}

static void check_pairs(struct test *t, cohort_join *join, cohort_frame *frame, const struct pairs *full)
{
    static const int kinds[] = {COHORT_JOIN_INNER, COHORT_JOIN_SEMI, COHORT_JOIN_ANTI, COHORT_JOIN_FULL};
    for (int k = 0; k < 4; k++) {
        cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
        cohort_matches *m = NULL;
        struct pairs due = some_of(full, kinds[k]);
        options.kind = (cohort_join_kind)kinds[k];
        OK(t, cohort_join_probe(join, frame, &options, &m));
        EQUAL(t, cohort_join_size(m), due.count);
        pairs_check(t, join, m, &due, due.count / 3 + 1, k & 1 ? 4 : 8, 3);
        cohort_matches_destroy(m);
        pairs_free(&due);
    }
}

/* share: of 100 left rows so many have a key of the right side's. */
static void check_size(struct test *t, uint64_t left, uint64_t right, uint64_t distinct, uint32_t share,
                       int how)
{
    uint64_t *a = malloc(left * 8 + 8), *b = malloc(right * 8 + 8), all = 2 * distinct + 1;
    uint8_t *met = calloc(right + 1, 1);
    cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
    cohort_join *join = NULL;
    struct known k;
    if (!a || !b || !met)
        abort();
    for (uint64_t i = 0; i < left; i++)
        a[i] = test_below(t, 100) < share ? test_below(t, distinct) : distinct + test_below(t, distinct);
    for (uint64_t i = 0; i < right; i++)
        b[i] = i < distinct ? (i * 7919 + 5) % distinct : test_below(t, distinct);
    known_open(&k, right, b, all);
    struct pairs due = full_of(a, left, &k, met), rest = pairs_naive_rest(right, met);
    cohort_frame *l = frame_of(t, left, a, how), *r = frame_of(t, right, b, how);
    options.method = how ? any_method(t) : COHORT_JOIN_AUTO;
    OK(t, cohort_join_build(r, &options, &join));
    CHECK(t, cohort_join_is_resident(join));
    check_pairs(t, join, l, &due);
    pairs_check(t, join, NULL, &rest, rest.count / 3 + 1, 8, 3);
    cohort_join_destroy(join);
    cohort_frame_release(l);
    cohort_frame_release(r);
    pairs_free(&due);
    pairs_free(&rest);
    known_close(&k);
    free(a);
    free(b);
    free(met);
}

static void sizes(struct test *t)
{
    static const uint64_t rows[] = {0, 1, 31, 33, 255, 256, 257, 1025, 4095, 4096, 4097, 8193, 9000};
    const uint64_t many = test_scale(t, 11, 13, 13);
    for (uint64_t i = 0; i < many; i++)
        for (int how = 0; how < 3; how++) {
            if (!test_drawn(t, i + (unsigned)how, test_size(t, 1, 3)))
                continue;
            uint64_t n = rows[i], other = rows[test_below(t, many)];
            check_size(t, other, n, n ? n : 1, 50, how);               /* each key once */
            check_size(t, n, other, 1 + other / 2, how ? 2 : 90, how); /* some twice */
            if (n < 5000)
                check_size(t, n / 16, n, 1 + n / 64, 90, how); /* runs */
        }
}

/* Few of very many rows match, and few of them are left over. */
static void seldom(struct test *t)
{
    const uint64_t n = test_size(t, 300000, 10000);
    for (int how = 0; how < 2; how++) {
        check_size(t, n, n, n, 0, how);
        check_size(t, n, 40, 40, 1, how);
        check_size(t, 4 * n, n, n, 99, how);
    }
}

/* ---- rows that must not repeat ------------------------------------------------------------------------- */

/* The first row whose key was there before, and where it was first. */
static void repeated_in(uint64_t n, const uint64_t *keys, uint64_t out[2])
{
    out[0] = out[1] = COHORT_NO_ROW;
    for (uint64_t i = 0; i < n && out[1] == COHORT_NO_ROW; i++)
        for (uint64_t j = 0; j < i && out[1] == COHORT_NO_ROW; j++)
            if (keys[i] == keys[j])
                out[0] = j, out[1] = i;
}

static void repeated(struct test *t)
{
    enum { N = 400 };
    uint64_t keys[N], due[2];
    for (uint64_t round = 0; round < test_scale(t, 20, 40, 100); round++) {
        cohort_join_probe_options o = COHORT_JOIN_PROBE_OPTIONS_INIT;
        cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
        cohort_join *join = NULL;
        cohort_matches *m = NULL;
        uint64_t distinct = round % 4 ? 4 + test_below(t, 20 * N) : UINT64_MAX;
        for (uint64_t i = 0; i < N; i++)
            keys[i] = test_below(t, distinct);
        repeated_in(N, keys, due);
        cohort_frame *frame = frame_of(t, N, keys, (int)(round & 1));
        options.method = any_method(t);
        OK(t, cohort_join_build(frame, &options, &join));
        o.validate = COHORT_JOIN_ONE_TO_MANY;
        EQUAL(t, cohort_join_probe(join, frame, &o, &m), ~due[0] ? COHORT_RANGE : COHORT_OK);
        CHECK(t, o.repeated_left[0] == due[0] && o.repeated_left[1] == due[1]);
        cohort_matches_destroy(m);
        o.validate = COHORT_JOIN_MANY_TO_ONE;
        EQUAL(t, cohort_join_probe(join, frame, &o, &m), ~due[0] ? COHORT_RANGE : COHORT_OK);
        CHECK(t, o.repeated_right[0] == due[0] && o.repeated_right[1] == due[1]);
        cohort_matches_destroy(m);
        cohort_join_destroy(join);
        cohort_frame_release(frame);
    }
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* An allocator that refuses one call. */
struct refuser {
    cohort_allocator inner;
    uint64_t calls, refused;
};

static void *refuser_alloc(void *user, size_t bytes, size_t alignment, void *stream)
{
    struct refuser *r = user;
    return ++r->calls == r->refused ? NULL : r->inner.alloc(r->inner.user, bytes, alignment, stream);
}

static void refuser_free(void *user, void *memory, size_t bytes, size_t alignment, void *stream)
{
    struct refuser *r = user;
    r->inner.free(r->inner.user, memory, bytes, alignment, stream);
}

/* A join from the frame to the last page. */
static cohort_status whole_join(cohort_context *context, uint64_t n, const cohort_array *columns,
                                uint32_t count, const cohort_join_options *options, uint64_t *pairs)
{
    cohort_frame *frame = NULL;
    cohort_join *join = NULL;
    cohort_matches *m = NULL;
    cohort_join_probe_options probe = COHORT_JOIN_PROBE_OPTIONS_INIT;
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    uint64_t *left = malloc(n * 80), *right = malloc(n * 80);
    probe.kind = COHORT_JOIN_FULL;
    page.left = left;
    page.right = right;
    page.capacity = n * 10;
    cohort_status s = cohort_frame_create(context, n, count, columns, &frame);
    if (!s)
        s = cohort_join_build(frame, options, &join);
    if (!s)
        s = cohort_join_probe(join, frame, &probe, &m);
    *pairs = cohort_join_size(m);
    if (!s)
        s = cohort_join_pairs(m, &page);
    if (!s)
        s = cohort_join_finish(join, &page);
    cohort_matches_destroy(m);
    cohort_join_destroy(join);
    cohort_frame_release(frame);
    free(left);
    free(right);
    return s;
}

static void refuse_each(struct test *t, const cohort_array *columns, uint32_t count, uint64_t n, uint64_t due,
                        const cohort_join_options *options)
{
    for (uint64_t k = 1, whole = 0; !whole; k++) {
        struct ledger ledger = {0};
        struct refuser refuser = {test_allocator(t, &ledger), 0, k};
        cohort_context_options o = test_context_options(t);
        cohort_context *context = NULL;
        uint64_t pairs = 0;
        o.alloc = (cohort_allocator){refuser_alloc, refuser_free, &refuser};
        if (!cohort_context_create(&o, &context)) {
            cohort_status s = whole_join(context, n, columns, count, options, &pairs);
            CHECKF(t, s == COHORT_OK || s == COHORT_NO_MEMORY, "allocation %llu refused: %s",
                   (unsigned long long)k, cohort_message(context));
            CHECK(t, s || pairs == due);
            whole = !s && refuser.calls < k;
            cohort_context_destroy(context);
        }
        test_ledger_check(t, &ledger);
    }
}

static void refused(struct test *t)
{
    enum { N = 600 };
    uint64_t far[N], close[N];
    uint32_t half[N];
    uint8_t valid[N / 8];
    cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
    for (uint64_t i = 0; i < N; i++) {
        far[i] = test_mix(i % 200);
        close[i] = i % 200;
        half[i] = (uint32_t)(i % 200) * 1000;
    }
    memset(valid, 0xff, sizeof valid);
    valid[0] = 0xfe;
    const cohort_array one[] = {{"a", COHORT_U64, 0, far, NULL}};
    const cohort_array near[] = {{"a", COHORT_U64, 0, close, valid}};
    const cohort_array two[] = {{"a", COHORT_U32, 0, half, valid}, {"b", COHORT_U64, 0, close, NULL}};
    refuse_each(t, one, 1, N, 3 * N, &options);
    refuse_each(t, near, 1, N, 3 * N - 4, &options);
    options.method = COHORT_JOIN_FACTOR;
    refuse_each(t, two, 2, N, 3 * N - 4, &options);
}

/* ---- contexts ------------------------------------------------------------------------------------------ */

/* Another context of the GPU probes the join; one that is elsewhere is told so. */
static void contexts(struct test *t)
{
    uint64_t keys[100];
    cohort_context_options here = test_context_options(t), elsewhere = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context *other = NULL, *cpu = NULL;
    cohort_join *join = NULL;
    cohort_matches *m = NULL;
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    for (uint64_t i = 0; i < 100; i++)
        keys[i] = test_mix(i);
    elsewhere.device = "cpu";
    OK(t, cohort_context_create(&here, &other));
    OK(t, cohort_context_create(&elsewhere, &cpu));
    cohort_frame *right = keys_frame(t, t->context, 100, keys), *left = keys_frame(t, other, 60, keys),
                 *host = keys_frame(t, cpu, 60, keys);
    OK(t, cohort_join_build(right, NULL, &join));
    OK(t, cohort_join_probe(join, left, NULL, &m));
    EQUAL(t, cohort_join_size(m), 60);
    cohort_matches_destroy(m);
    m = NULL;
    if (t->kind == TEST_CPU) {
        OK(t, cohort_join_probe(join, host, NULL, &m));
        EQUAL(t, cohort_join_size(m), 60);
    } else {
        FAILS(t, cpu, cohort_join_probe(join, host, NULL, &m), COHORT_UNSUPPORTED, "GPU", "left");
    }
    cohort_matches_destroy(m);
    OK(t, cohort_join_finish(join, &page));
    EQUAL(t, page.total, 100);
    cohort_join_destroy(join);
    EQUAL(t, cohort_join_is_resident(NULL), 0);
    cohort_frame_release(left);
    cohort_frame_release(right);
    cohort_frame_release(host);
    cohort_context_destroy(other);
    cohort_context_destroy(cpu);
}

const struct test_case test_cases[] = {{"every_type", every_type, TEST_EACH_MEMORY},
                                       {"several_columns", several_columns, TEST_EACH_MEMORY},
                                       {"sizes", sizes, 0},
                                       {"seldom", seldom, TEST_SLOW},
                                       {"repeated", repeated, 0},
                                       {"refused", refused, TEST_NO_CONTEXT},
                                       {"contexts", contexts, 0},
                                       {NULL, NULL, 0}};
