/* test_join_calls.c: joins whose calls are refused: shapes that rows break, what is no argument, memory that
 * ends; and how much memory a join takes. */
#include "flat.h"
#include "model.h"

/* ---- shapes -------------------------------------------------------------------------------------------- */

static void shapes(struct test *t)
{
    uint64_t once[] = {5, 6, 7, 8}, twice[] = {9, 6, 7, 6, 7};
    cohort_frame *one = keys_frame(t, t->context, 4, once), *two = keys_frame(t, t->context, 5, twice);
    for (int shape = 0; shape < 4; shape++)
        for (int sides = 0; sides < 4; sides++) {
            cohort_join *join = NULL;
            cohort_matches *m = NULL;
            cohort_join_probe_options o = COHORT_JOIN_PROBE_OPTIONS_INIT;
            int left_bad = sides & 1 && (shape == COHORT_JOIN_ONE_TO_ONE || shape == COHORT_JOIN_ONE_TO_MANY);
            int right_bad =
                sides & 2 && (shape == COHORT_JOIN_ONE_TO_ONE || shape == COHORT_JOIN_MANY_TO_ONE);
            o.validate = (cohort_join_shape)shape;
            OK(t, cohort_join_build(sides & 2 ? two : one, NULL, &join));
            cohort_status s = cohort_join_probe(join, sides & 1 ? two : one, &o, &m);
            EQUAL(t, s, left_bad || right_bad ? COHORT_RANGE : COHORT_OK);
            EQUAL(t, m != NULL, s == COHORT_OK);
            EQUAL(t, o.repeated_right[0], right_bad ? 1 : COHORT_NO_ROW);
            EQUAL(t, o.repeated_right[1], right_bad ? 3 : COHORT_NO_ROW);
            EQUAL(t, o.repeated_left[1], left_bad && !right_bad ? 3 : COHORT_NO_ROW);
            if (s)
                CHECK(t, strstr(cohort_message(t->context), "rows 1 and 3") != NULL);
            cohort_matches_destroy(m);
            cohort_join_destroy(join);
        }
    cohort_frame_release(one);
    cohort_frame_release(two);
}

/* Two nulls that equal nothing break no shape; two that are values do. */
static void shapes_of_nulls(struct test *t)
{
    uint64_t values[] = {1, 0, 2, 0};
    uint8_t valid = 5, equal = 1;
    cohort_array array = {"key", COHORT_U64, 0, values, &valid};
    cohort_frame *frame = NULL;
    OK(t, cohort_frame_create(t->context, 4, 1, &array, &frame));
    for (int nulls_equal = 0; nulls_equal < 2; nulls_equal++) {
        cohort_join *join = NULL;
        cohort_matches *m = NULL;
        cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
        cohort_join_probe_options o = COHORT_JOIN_PROBE_OPTIONS_INIT;
        options.nulls_equal = nulls_equal ? &equal : NULL;
        OK(t, cohort_join_build(frame, &options, &join));
        o.validate = COHORT_JOIN_ONE_TO_ONE;
        EQUAL(t, cohort_join_probe(join, frame, &o, &m), nulls_equal ? COHORT_RANGE : COHORT_OK);
        EQUAL(t, cohort_join_size(m), nulls_equal ? 0 : 2);
        cohort_matches_destroy(m);
        cohort_join_destroy(join);
    }
    cohort_frame_release(frame);
}

/* The same of two columns, of which one has nulls that are values: for either side. */
static void shapes_of_some_nulls(struct test *t)
{
    const uint64_t same[] = {1, 1}, other[] = {3, 4};
    const uint8_t none = 0;
    for (int which = 0; which < 2; which++)
        for (int side = 0; side < 2; side++)
            for (int equal = 0; equal < 2; equal++) {
                const cohort_array null = {"null", COHORT_U64, 0, same, &none};
                const cohort_array twice[] = {{"a", COHORT_U64, 0, same, NULL},
                                              {"b", COHORT_U64, 0, same, NULL}},
                                   once[] = {{"a", COHORT_U64, 0, other, NULL},
                                             {"b", COHORT_U64, 0, other, NULL}};
                cohort_array bad[] = {twice[0], twice[1]};
                uint8_t nulls_equal[2] = {(uint8_t)(which ^ equal), (uint8_t)(which ^ equal ^ 1)};
                cohort_frame *frame[2] = {NULL, NULL};
                cohort_join *join = NULL;
                cohort_matches *m = NULL;
                cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
                cohort_join_probe_options o = COHORT_JOIN_PROBE_OPTIONS_INIT;
                bad[which] = null;
                options.nulls_equal = nulls_equal;
                o.validate = COHORT_JOIN_ONE_TO_ONE;
                OK(t, cohort_frame_create(t->context, 2, 2, bad, &frame[side]));
                OK(t, cohort_frame_create(t->context, 2, 2, once, &frame[!side]));
                OK(t, cohort_join_build(frame[1], &options, &join));
                EQUAL(t, cohort_join_probe(join, frame[0], &o, &m),
                      nulls_equal[which] ? COHORT_RANGE : COHORT_OK);
                EQUAL(t, (side ? o.repeated_right : o.repeated_left)[1],
                      nulls_equal[which] ? 1 : COHORT_NO_ROW);
                cohort_matches_destroy(m);
                cohort_join_destroy(join);
                cohort_frame_release(frame[0]);
                cohort_frame_release(frame[1]);
            }
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void refuses(struct test *t)
{
    cohort_context *on = t->context;
    uint32_t values[3] = {3, 1, 3};
    uint64_t wide[3] = {3, 1, 3}, rows[16];
    cohort_array one = {"a", COHORT_U32, 0, values, NULL}, other = {"b", COHORT_U64, 0, wide, NULL};
    float real[3] = {1, 2, 3};
    cohort_array floats = {"c", COHORT_F32, 0, real, NULL};
    cohort_frame *a = NULL, *b = NULL, *c = NULL, *none = NULL, *some = NULL, *made = NULL;
    cohort_join *join = NULL, *no_join = NULL;
    cohort_matches *m = NULL, *no_matches = NULL;
    cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
    cohort_join_probe_options probe = COHORT_JOIN_PROBE_OPTIONS_INIT;
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    OK(t, cohort_frame_create(on, 3, 1, &one, &a));
    OK(t, cohort_frame_create(on, 3, 1, &other, &b));
    OK(t, cohort_frame_create(on, 3, 1, &floats, &c));
    OK(t, cohort_frame_create(on, 3, 0, NULL, &none));
    FAILS(t, on, cohort_join_build(none, NULL, &join), COHORT_RANGE, "columns", "0");
    FAILS(t, NULL, cohort_join_build(NULL, NULL, &join), COHORT_NULL, "right", NULL);
    FAILS(t, on, cohort_join_build(a, NULL, NULL), COHORT_NULL, "out", NULL);
    options.method = (cohort_join_method)77;
    FAILS(t, on, cohort_join_build(a, &options, &join), COHORT_RANGE, "method", "77");
    options.method = COHORT_JOIN_AUTO;
    options.method = COHORT_JOIN_DENSE;
    FAILS(t, on, cohort_join_build(c, &options, &join), COHORT_UNSUPPORTED, "DENSE", "1");
    options.method = COHORT_JOIN_AUTO;
    options.size = 3;
    FAILS(t, on, cohort_join_build(a, &options, &join), COHORT_BAD_STRUCT, "size", "3");
    OK(t, cohort_join_build(a, NULL, &join));
    FAILS(t, on, cohort_join_probe(join, b, NULL, &no_matches), COHORT_RANGE, "'b'", "uint64");
    FAILS(t, on, cohort_join_probe(join, none, NULL, &no_matches), COHORT_RANGE, "left", "0");
    FAILS(t, on, cohort_join_probe(NULL, a, NULL, &no_matches), COHORT_NULL, "join", NULL);
    FAILS(t, NULL, cohort_join_probe(join, NULL, NULL, &no_matches), COHORT_NULL, "left", NULL);
    probe.kind = (cohort_join_kind)6;
    FAILS(t, on, cohort_join_probe(join, a, &probe, &no_matches), COHORT_RANGE, "kind", "6");
    probe.kind = COHORT_JOIN_INNER;
    probe.validate = (cohort_join_shape)9;
    FAILS(t, on, cohort_join_probe(join, a, &probe, &no_matches), COHORT_RANGE, "validate", "9");
    OK(t, cohort_join_probe(join, a, NULL, &m));
    page.capacity = 16;
    page.left = rows;
    page.bytes = 5;
    FAILS(t, on, cohort_join_pairs(m, &page), COHORT_RANGE, "bytes", "5");
    page.bytes = 8;
    FAILS(t, on, cohort_join_pairs(m, NULL), COHORT_NULL, "page", NULL);
    FAILS(t, NULL, cohort_join_pairs(NULL, &page), COHORT_NULL, "matches", NULL);
    FAILS(t, NULL, cohort_join_finish(NULL, &page), COHORT_NULL, "join", NULL);
    page.left = (char *)rows + 1;
    FAILS(t, on, cohort_join_pairs(m, &page), COHORT_BAD_POINTER, "page.left", NULL);
    page.left = rows;
    page.first = 1000;
    OK(t, cohort_join_pairs(m, &page));
    EQUAL(t, page.written, 0);
    EQUAL(t, page.total, 5);
    FAILS(t, NULL, cohort_join_frame(NULL, 0, 1, a, a, NULL, &made), COHORT_NULL, "matches", NULL);
    FAILS(t, on, cohort_join_frame(m, 0, 1, a, a, NULL, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, on, cohort_join_frame(m, 0, 1, NULL, NULL, NULL, &made), COHORT_NULL, "left", "right");
    OK(t, cohort_frame_slice(a, 0, 2, &some));
    FAILS(t, on, cohort_join_frame(m, 0, 1, some, a, NULL, &made), COHORT_RANGE, "left", "2");
    FAILS(t, on, cohort_join_frame(m, 0, 1, a, some, NULL, &made), COHORT_RANGE, "right", "2");
    cohort_frame_release(some);
    cohort_context_options options_there = test_context_options(t);
    cohort_context *there = NULL;
    OK(t, cohort_context_create(&options_there, &there));
    OK(t, cohort_frame_create(there, 3, 1, &one, &some));
    FAILS(t, on, cohort_join_frame(m, 0, 1, some, a, NULL, &made), COHORT_OTHER_CONTEXT, "left", NULL);
    FAILS(t, on, cohort_join_frame(m, 0, 1, a, some, NULL, &made), COHORT_OTHER_CONTEXT, "right", NULL);
    cohort_frame_release(some);
    cohort_context_destroy(there);
    CHECK(t, !made);
    cohort_matches_destroy(m);
    cohort_matches_destroy(NULL);
    cohort_join_destroy(join);
    cohort_join_destroy(no_join);
    EQUAL(t, cohort_join_size(NULL), 0);
    cohort_frame_release(a);
    cohort_frame_release(b);
    cohort_frame_release(c);
    cohort_frame_release(none);
}

/* An allocation fails at the k-th place: the join is there or it is not. */
static void no_memory(struct test *t)
{
    uint64_t keys[3000];
    for (uint64_t i = 0; i < 3000; i++)
        keys[i] = test_mix(i % 1100);
    for (uint64_t limit = 1, whole = 0; !whole; limit += 1 + limit / 6) {
        struct ledger ledger = {.limit = limit};
        cohort_context_options options = test_context_options(t);
        cohort_context *context = NULL;
        cohort_frame *own = NULL, *made = NULL;
        cohort_join *join = NULL;
        cohort_matches *m = NULL;
        cohort_join_page page = COHORT_JOIN_PAGE_INIT;
        cohort_array array = {"key", COHORT_U64, 0, keys, NULL};
        options.alloc = test_allocator(t, &ledger);
        if (!cohort_context_create(&options, &context)) {
            cohort_status s = cohort_frame_create(context, 3000, 1, &array, &own);
            if (!s)
                s = cohort_join_build(own, NULL, &join);
            CHECK(t, !s == (join != NULL));
            if (!s)
                s = cohort_join_probe(join, own, NULL, &m);
            if (!s)
                s = cohort_join_frame(m, 5, 9000, own, own, NULL, &made);
            CHECK(t, !(made && s) && (s || cohort_frame_rows(made) == 8395));
            cohort_frame_release(made);
            if (!s)
                s = cohort_join_finish(join, &page);
            CHECK(t, s == COHORT_OK || s == COHORT_NO_MEMORY);
            whole = s == COHORT_OK;
            CHECK(t, s || (page.total == 3000 && cohort_join_size(m) == 800 * 9 + 300 * 4));
            cohort_matches_destroy(m);
            cohort_join_destroy(join);
            cohort_frame_release(own);
            cohort_context_destroy(context);
        }
        test_ledger_check(t, &ledger);
    }
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Sides of a join: keys of `columns` columns, each of `bytes` bytes, in an order without sense; a right key
 * is there `times` times, and every left row has one. */
struct sides {
    const char *name;
    uint64_t step; /* 1 and more: integers so far apart; 0: words that lie anywhere */
    uint32_t bytes, columns, times;
    uint32_t left;  /* in 8 right rows */
    uint32_t claim; /* bytes a right row, of join.h */
    int bound;      /* is it within 2 x (key bytes + 8) a row of both? */
    int is_text;
};

static struct flat side_open(struct test *t, cohort_context *context, const struct sides *s, uint64_t n,
                             uint64_t distinct)
{
    struct flat side;
    uint64_t *key = malloc((n + 1) * 8);
    if (!key)
        abort();
    for (uint64_t i = 0; i < n; i++)
        key[i] = i % distinct;
    if (s->is_text)
        flat_texts(t, context, n, key, s->bytes, &side);
    else
        flat_words(t, context, n, key, s->columns, s->bytes, s->step, &side);
    free(key);
    return side;
}

struct taken {
    uint64_t build, probe; /* the most that was there at a time, besides the keys themselves */
};

static struct taken memory_of(struct test *t, const struct sides *s, uint64_t left, uint64_t right)
{
    struct ledger ledger = {0};
    struct taken taken;
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL;
    cohort_join *join = NULL;
    cohort_matches *m = NULL;
    options.alloc = test_allocator(t, &ledger);
    OK(t, cohort_context_create(&options, &context));
    struct flat a = side_open(t, context, s, left, right / s->times);
    struct flat b = side_open(t, context, s, right, right / s->times);
    const uint64_t before = ledger.bytes;
    ledger.most_bytes = 0;
    REQUIREF(t, !cohort_join_build(b.frame, NULL, &join), "%s", cohort_message(context));
    taken.build = ledger.most_bytes - before;
    ledger.most_bytes = ledger.bytes;
    REQUIREF(t, !cohort_join_probe(join, a.frame, NULL, &m), "%s", cohort_message(context));
    taken.probe = ledger.most_bytes - before;
    EQUAL(t, cohort_join_size(m), left * s->times);
    cohort_matches_destroy(m);
    cohort_join_destroy(join);
    flat_close(&a);
    flat_close(&b);
    cohort_context_destroy(context);
    test_ledger_check(t, &ledger);
    return taken;
}

/* Bytes a left row, of join.h: of keys of up to 64 bits that are looked up by parts, or not. */
static uint64_t bytes_of_left(const struct sides *s)
{
    return !s->step && !s->is_text && s->bytes * s->columns <= 8 ? 16 : 4;
}

/* What join.h says; the bytes that do not depend on the rows are those of a round of keys. */
static void memory(struct test *t)
{
    static const struct sides sides[] = {{"close together", 4, 8, 1, 1, 8, 25, 1, 0},
                                         {"close together, few left", 4, 8, 1, 1, 1, 25, 1, 0},
                                         {"words", 0, 8, 1, 1, 8, 34, 1, 0},
                                         {"words, few left", 0, 8, 1, 1, 1, 34, 1, 0},
                                         {"half words", 0, 4, 1, 1, 8, 34, 1, 0},
                                         {"words twice", 0, 8, 1, 2, 8, 34, 1, 0},
                                         {"words ten times", 0, 8, 1, 10, 8, 34, 1, 0},
                                         {"half words twice", 0, 4, 1, 2, 8, 34, 1, 0},
                                         {"two half words", 0, 4, 2, 1, 8, 34, 1, 0},
                                         {"two words", 0, 8, 2, 1, 8, 62, 1, 0},
                                         {"two words twice", 0, 8, 2, 2, 8, 62, 1, 0},
                                         {"three words", 0, 8, 3, 1, 8, 70, 1, 0},
                                         {"three words ten times", 0, 8, 3, 10, 8, 70, 1, 0},
                                         {"three half words", 0, 4, 3, 1, 8, 54, 1, 0},
                                         {"five half words", 0, 4, 5, 1, 8, 62, 1, 0},
                                         {"eight words", 0, 8, 8, 1, 8, 110, 1, 0},
                                         {"texts of 8", 0, 8, 1, 1, 8, 68, 1, 1},
                                         {"texts of 16", 0, 16, 1, 1, 8, 88, 1, 1},
                                         {"texts of 40", 0, 40, 1, 1, 8, 148, 1, 1},
                                         {"texts of 12 twice", 0, 12, 1, 2, 8, 78, 1, 1}};
    const uint64_t round = 6u << 20;
    for (uint64_t n = 480000; n < test_scale(t, 2000000, 5000000, 6000000); n *= 3)
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
            const struct sides *s = &sides[i];
            if (!test_drawn(t, i, 3))
                continue;
            const uint64_t right = n / 80 * 80, left = right / 8 * s->left;
            const struct taken taken = memory_of(t, s, left, right);
            const uint64_t most = taken.build > taken.probe ? taken.build : taken.probe;
            CHECKF(t, most <= s->claim * right + bytes_of_left(s) * left + round,
                   "%s, %llu right rows: %llu bytes to build, %llu to probe", s->name,
                   (unsigned long long)right, (unsigned long long)taken.build,
                   (unsigned long long)taken.probe);
            CHECK(t, !s->bound || most <= 2 * (s->bytes * s->columns + 8) * (left + right) + round);
        }
}

const struct test_case test_cases[] = {{"shapes", shapes, 0},
                                       {"shapes_of_nulls", shapes_of_nulls, 0},
                                       {"shapes_of_some_nulls", shapes_of_some_nulls, 0},
                                       {"refuses", refuses, 0},
                                       {"no_memory", no_memory, TEST_ON_CPU},
                                       {"memory", memory, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {NULL, NULL, 0}};
