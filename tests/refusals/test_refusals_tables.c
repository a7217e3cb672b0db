/* test_refusals_tables.c: as test_refusals.c, groups, joins and keys of frames. A group whose call was
 * refused goes on from where it was: what was added to it before is there, once, and the call can be done
 * again. */
#include "refuse.h"

#define ROWS   400
#define KEYS   90 /* of a frame, of which the next one has a third */
#define FRAMES 3
#define GROUPS (FRAMES * KEYS)

struct tables {
    cohort_frame *frame[FRAMES]; /* of the same columns, other keys */
    cohort_group *group, *other;
    cohort_join *join;
    cohort_matches *matches;
    cohort_factor *factor;
    cohort_frame *partial, *out;
    cohort_join_page page;
    uint32_t ids[ROWS];
    uint8_t bits[ROWS / 8];
};

/* The second frame is a short one: keys and pairs of groups are in two pieces then. */
static uint64_t rows_of(uint64_t f)
{
    return f == 1 ? 40 : ROWS;
}

/* Row i of frame f. */
static uint32_t key(uint64_t f, uint64_t i)
{
    return (uint32_t)(i * 7 % KEYS + 60 * f);
}

static int64_t value(uint64_t f, uint64_t i)
{
    return (int64_t)(1000 * f + i) - 300;
}

static cohort_frame *frame_of(struct test *t, uint64_t f)
{
    uint32_t keys[ROWS];
    int64_t values[ROWS];
    const cohort_array arrays[] = {{"k", COHORT_U32, 0, keys, NULL}, {"v", COHORT_I64, 0, values, NULL}};
    cohort_frame *frame = NULL;
    for (uint64_t i = 0; i < rows_of(f); i++) {
        keys[i] = key(f, i);
        values[i] = value(f, i);
    }
    OK(t, cohort_frame_create(t->context, rows_of(f), 2, arrays, &frame));
    return frame;
}

static cohort_frame *keys_of(struct test *t, cohort_frame *frame)
{
    static const char *const names[] = {"k"};
    cohort_frame *keys = NULL;
    OK(t, cohort_frame_pick(frame, 1, names, &keys));
    return keys;
}

static void end_tables(struct test *t, struct scene *s)
{
    struct tables *x = s->own;
    (void)t;
    cohort_matches_destroy(x->matches);
    cohort_join_destroy(x->join);
    cohort_factor_destroy(x->factor);
    cohort_group_destroy(x->group);
    cohort_group_destroy(x->other);
    cohort_frame_release(x->partial);
    cohort_frame_release(x->out);
    for (int i = 0; i < FRAMES; i++)
        cohort_frame_release(x->frame[i]);
    free(x);
}

/* One column of a frame of results, of 4 or 8 bytes. */
static void read_column(struct test *t, cohort_frame *frame, uint32_t column, uint64_t bytes, uint64_t *to)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    OK(t, cohort_frame_export(frame, &schema, &array));
    const struct ArrowArray *a = array.children[column];
    for (uint64_t i = 0; i < (uint64_t)array.length; i++) {
        to[i] = 0;
        memcpy(&to[i], (const char *)a->buffers[1] + ((uint64_t)a->offset + i) * bytes, bytes);
    }
    schema.release(&schema);
    array.release(&array);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

enum { ADD, MERGE, PARTIAL, MERGE_PARTIAL, FINISH };

static cohort_group *group_of(struct test *t)
{
    static const char *const names[] = {"k"};
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL},
                                         {COHORT_AGGREGATE_ROWS, 0, NULL, NULL},
                                         {COHORT_AGGREGATE_NUNIQUE, 0, "v", NULL}};
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_group *group = NULL;
    o.keys = 1;
    o.key = names;
    o.aggregates = 3;
    o.aggregate = a;
    OK(t, cohort_group_create(t->context, &o, &group));
    return group;
}

/* Frames 0 and 1 are in the group; frame 2 is to come, by itself or as a group or a part. */
static void begin_group(struct test *t, struct scene *s)
{
    struct tables *x = s->own = calloc(1, sizeof *x);
    REQUIRE(t, x);
    for (uint64_t f = 0; f < FRAMES; f++)
        x->frame[f] = frame_of(t, f);
    x->group = group_of(t);
    OK(t, cohort_group_add(x->group, x->frame[0]));
    OK(t, cohort_group_add(x->group, x->frame[1]));
    x->other = group_of(t);
    OK(t, cohort_group_add(x->other, x->frame[2]));
    if (refuse_deed->what == MERGE_PARTIAL)
        OK(t, cohort_group_partial(x->other, &x->partial));
}

static cohort_status act_group(struct test *t, struct scene *s)
{
    struct tables *x = s->own;
    (void)t;
    switch (refuse_deed->what) {
    case ADD:
        return cohort_group_add(x->group, x->frame[2]);
    case MERGE:
        return cohort_group_merge(x->group, x->other);
    case PARTIAL:
        return cohort_group_partial(x->group, &x->partial);
    case MERGE_PARTIAL:
        return cohort_group_merge_partial(x->group, x->partial);
    default:
        return cohort_group_finish(x->group, 0, &x->out);
    }
}

/* The sums and counts of so many frames. */
static void check_sums(struct test *t, cohort_frame *out, uint64_t frames)
{
    int64_t sums[GROUPS] = {0};
    uint64_t rows[GROUPS] = {0}, got[4][GROUPS], n = 0;
    for (uint64_t f = 0; f < frames; f++)
        for (uint64_t i = 0; i < rows_of(f); i++) {
            sums[key(f, i)] += value(f, i);
            n += !rows[key(f, i)]++;
        }
    REQUIRE(t, cohort_frame_rows(out) == n);
    for (uint32_t c = 0; c < 4; c++)
        read_column(t, out, c, c ? 8 : 4, got[c]);
    for (uint64_t g = 0; g < n; g++) {
        uint64_t k = got[0][g];
        REQUIREF(t,
                 k < GROUPS && (int64_t)got[1][g] == sums[k] && got[2][g] == rows[k] && got[3][g] == rows[k],
                 "group %llu: %lld of %llu rows, %llu distinct", (unsigned long long)k, (long long)got[1][g],
                 (unsigned long long)got[2][g], (unsigned long long)got[3][g]);
        rows[k] = UINT64_MAX; /* comes once */
    }
}

static void check_group(struct test *t, struct scene *s, cohort_status status)
{
    struct tables *x = s->own;
    const int what = refuse_deed->what, takes = what == ADD || what == MERGE || what == MERGE_PARTIAL;
    cohort_frame *out = NULL;
    CHECK(t, (what == PARTIAL && !status) == (x->partial != NULL) || what == MERGE_PARTIAL);
    CHECK(t, (what == FINISH && !status) == (x->out != NULL));
    if (x->out)
        check_sums(t, x->out, 2);
    OK(t, cohort_group_finish(x->group, 0, &out));
    check_sums(t, out, takes && !status ? 3 : 2);
    cohort_frame_release(out);
}

#define GROUP(what)                                                  \
    {                                                                \
#        what, begin_group, act_group, check_group, end_tables, what \
    }

static void groups(struct test *t)
{
    static const struct deed deeds[] = {GROUP(ADD), GROUP(MERGE), GROUP(PARTIAL), GROUP(MERGE_PARTIAL),
                                        GROUP(FINISH)};
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (refuse_takes(t, i, 1))
            refuse_each(t, &deeds[i]);
}

/* ---- joins and keys ------------------------------------------------------------------------------------ */

enum { BUILD, PROBE, FULL, FINISH_JOIN, FACTOR, FACTORIZE, UNIQUE, IS_IN, FIRST_ADD };

/* Frame 1 against frame 0, whose rows that have no pair are told by cohort_join_finish. */
static cohort_status probe_full(struct tables *x)
{
    cohort_join_probe_options o = COHORT_JOIN_PROBE_OPTIONS_INIT;
    o.kind = COHORT_JOIN_FULL;
    return cohort_join_probe(x->join, x->frame[1], &o, &x->matches);
}

static void begin_keys(struct test *t, struct scene *s)
{
    struct tables *x = s->own = calloc(1, sizeof *x);
    REQUIRE(t, x);
    for (uint64_t f = 0; f < 2; f++) {
        cohort_frame *whole = frame_of(t, f);
        x->frame[f] = refuse_deed->what == FIRST_ADD ? cohort_frame_retain(whole) : keys_of(t, whole);
        cohort_frame_release(whole);
    }
    if (refuse_deed->what >= PROBE && refuse_deed->what <= FINISH_JOIN)
        OK(t, cohort_join_build(x->frame[0], NULL, &x->join));
    if (refuse_deed->what == FINISH_JOIN)
        OK(t, probe_full(x));
    if (refuse_deed->what == FIRST_ADD)
        OK(t, cohort_factor_create(t->context, 2, NULL, &x->factor));
    if (refuse_deed->what == FACTOR) {
        OK(t, cohort_factor_create(t->context, 1, NULL, &x->factor));
        OK(t, cohort_factor_add(x->factor, x->frame[0], x->ids));
    }
}

static cohort_status act_keys(struct test *t, struct scene *s)
{
    struct tables *x = s->own;
    (void)t;
    switch (refuse_deed->what) {
    case BUILD:
        return cohort_join_build(x->frame[0], NULL, &x->join);
    case PROBE:
        return cohort_join_probe(x->join, x->frame[1], NULL, &x->matches);
    case FULL:
        return probe_full(x);
    case FINISH_JOIN:
        x->page = (cohort_join_page)COHORT_JOIN_PAGE_INIT;
        return cohort_join_finish(x->join, &x->page);
    case FACTOR:
        return cohort_factor_add(x->factor, x->frame[1], x->ids);
    case FIRST_ADD:
        return cohort_factor_add(x->factor, x->frame[0], x->ids);
    case FACTORIZE:
        return cohort_factorize(x->frame[0], NULL, x->ids, &x->out);
    case UNIQUE:
        return cohort_unique(x->frame[0], 0, &x->out);
    default:
        return cohort_is_in(x->frame[0], x->frame[1], NULL, x->bits);
    }
}

/* Ids go by the order of first rows. */
static void check_ids(struct test *t, const struct tables *x, uint64_t frame)
{
    uint32_t id[GROUPS] = {0}, ids = 0; /* 1 and more: known */
    for (uint64_t f = 0; f <= frame; f++)
        for (uint64_t i = 0; i < rows_of(f); i++)
            if (!id[key(f, i)])
                id[key(f, i)] = ++ids;
    for (uint64_t i = 0; i < rows_of(frame); i++)
        REQUIREF(t, x->ids[i] + 1 == id[key(frame, i)], "row %llu has id %u", (unsigned long long)i,
                 x->ids[i]);
}

/* A row of frame 1 meets all rows of frame 0 that have its key. */
static uint64_t pairs_due(void)
{
    uint64_t n[GROUPS] = {0}, pairs = 0;
    for (uint64_t i = 0; i < ROWS; i++)
        n[key(0, i)]++;
    for (uint64_t i = 0; i < rows_of(1); i++)
        pairs += n[key(1, i)];
    return pairs;
}

/* Rows of frame 0 whose keys frame 1 has not. */
static uint64_t rest_due(void)
{
    uint64_t n = 0;
    for (uint64_t i = 0, is_met; i < ROWS; i++, n += !is_met) {
        is_met = 0;
        for (uint64_t j = 0; j < rows_of(1); j++)
            is_met |= key(1, j) == key(0, i);
    }
    return n;
}

/* Of the join, after a call that failed, too: what a probe that has no matches met is not met. */
static void check_rest(struct test *t, struct tables *x, cohort_status status)
{
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    const int is_met = x->matches != NULL;
    if (refuse_deed->what == FINISH_JOIN && !status)
        EQUAL(t, x->page.total, rest_due());
    OK(t, cohort_join_finish(x->join, &page));
    EQUAL(t, page.total, is_met ? rest_due() : ROWS);
}

/* The first add fixes the types of all columns, or, where it failed early, of none. */
static void check_types(struct test *t, struct tables *x)
{
    static const char *const columns[2][2] = {{"k", "k"}, {"v", "v"}};
    cohort_status s[2];
    for (int i = 0; i < 2; i++) {
        cohort_frame *twice = NULL;
        OK(t, cohort_frame_pick(x->frame[0], 2, columns[i], &twice));
        s[i] = cohort_factor_find(x->factor, twice, x->ids);
        cohort_frame_release(twice);
    }
    CHECKF(t, s[0] == s[1] && (!s[0] || s[0] == COHORT_RANGE), "%s and %s", cohort_status_name(s[0]),
           cohort_status_name(s[1]));
}

static void check_keys(struct test *t, struct scene *s, cohort_status status)
{
    struct tables *x = s->own;
    const int what = refuse_deed->what;
    uint64_t got[GROUPS];
    const int probes = what == PROBE || what == FULL, finishes = what == FINISH_JOIN;
    CHECK(t, ((what == BUILD && !status) || probes || finishes) == (x->join != NULL));
    CHECK(t, ((probes && !status) || finishes) == (x->matches != NULL));
    CHECK(t, ((what == FACTORIZE || what == UNIQUE) && !status) == (x->out != NULL));
    if (what == FULL || finishes)
        check_rest(t, x, status);
    if (what == FIRST_ADD)
        check_types(t, x);
    if (status)
        return;
    if (what == PROBE)
        EQUAL(t, cohort_join_size(x->matches), pairs_due());
    if (what == FACTOR || what == FACTORIZE)
        check_ids(t, x, what == FACTOR);
    if (x->out) {
        REQUIRE(t, cohort_frame_rows(x->out) == KEYS);
        read_column(t, x->out, 0, 4, got);
        for (uint64_t i = 0; i < KEYS; i++)
            EQUAL(t, got[i], key(0, i));
    }
    for (uint64_t i = 0; i < ROWS && what == IS_IN; i++) {
        int is_in = 0;
        for (uint64_t j = 0; j < rows_of(1); j++)
            is_in |= key(1, j) == key(0, i);
        EQUAL(t, x->bits[i / 8] >> i % 8 & 1, is_in);
    }
}

#define KEYS_DEED(what)                                           \
    {                                                             \
#        what, begin_keys, act_keys, check_keys, end_tables, what \
    }

static void keys(struct test *t)
{
    static const struct deed deeds[] = {KEYS_DEED(BUILD),  KEYS_DEED(PROBE),  KEYS_DEED(FINISH_JOIN),
                                        KEYS_DEED(FULL),   KEYS_DEED(FACTOR), KEYS_DEED(FACTORIZE),
                                        KEYS_DEED(UNIQUE), KEYS_DEED(IS_IN),  KEYS_DEED(FIRST_ADD)};
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (refuse_takes(t, i, 1))
            refuse_each(t, &deeds[i]);
}

const struct test_case test_cases[] = {
    {"groups", groups, TEST_NO_CONTEXT},
    {"keys", keys, TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
