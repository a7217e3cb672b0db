/* test_group_hostile.c: what is no part of a group-by, and leaves the object as it was: objects that were
 * asked for something else, and partial results that are not what cohort_group_partial makes; each is refused
 * by its column and by what is wrong in it. */
#include "groups.h"

#define ROWS 3

/* ---- partial results ----------------------------------------------------------------------------------- */

/* Column 0 is the key. */
enum { SUM = 1, LEAST, DISTINCT, DISTINCT_TEXTS, COLUMNS };

static const cohort_aggregate wanted[] = {{COHORT_AGGREGATE_SUM, 0, "f", NULL},
                                          {COHORT_AGGREGATE_MIN, 0, "w", NULL},
                                          {COHORT_AGGREGATE_NUNIQUE, 0, "f", NULL},
                                          {COHORT_AGGREGATE_NUNIQUE, 0, "u", NULL}};

/* A copy of a buffer, in the place of it, until the end. */
struct spoilt {
    struct ArrowSchema schema;
    struct ArrowArray array;
    char *copy;
};

static char *change(struct test *t, struct spoilt *s, int column, int buffer, uint64_t bytes)
{
    const void **at = &s->array.children[column]->buffers[buffer];
    s->copy = malloc(bytes);
    REQUIRE(t, s->copy);
    memcpy(s->copy, *at, bytes);
    *at = s->copy;
    return s->copy;
}

/* The offsets of a column of binaries. */
static int64_t *change_offsets(struct test *t, struct spoilt *s, int column)
{
    return (int64_t *)(void *)change(t, s, column, 1, (ROWS + 1) * 8);
}

/* The length that is told of the first text of the last group: `more` than the bytes that are behind it. */
static void change_length(struct test *t, struct spoilt *s, uint64_t more)
{
    const int64_t *offset = s->array.children[DISTINCT_TEXTS]->buffers[1];
    char *bytes = change(t, s, DISTINCT_TEXTS, 2, (uint64_t)offset[ROWS]);
    const uint64_t length = (uint64_t)(offset[ROWS] - offset[ROWS - 1]) - 8 + more;
    memcpy(bytes + offset[ROWS - 1], &length, sizeof length);
}

static const char *spoil(struct test *t, struct spoilt *s, int what)
{
    static const uint8_t valid = 5;
    uint32_t *state;
    switch (what) {
    case 0:
        s->schema.children[SUM]->name = "mean|g|f";
        return "the aggregate is another one";
    case 1:
        s->schema.children[SUM]->name = "sum|g|ff";
        return "column is another one";
    case 2:
        s->schema.children[SUM]->name = "sum|f";
        return "column is another one";
    case 3:
        s->schema.children[SUM]->name = "sum|gg|f";
        return "no such type";
    case 4:
        s->schema.children[0]->name = "other";
        return "the key is another one";
    case 5:
        s->schema.children[COLUMNS - 1]->release(s->schema.children[--s->schema.n_children]);
        s->array.children[COLUMNS - 1]->release(s->array.children[--s->array.n_children]);
        return "4 columns; 5 are due";
    case 6:
        s->array.children[SUM]->buffers[0] = &valid;
        s->array.children[SUM]->null_count = 1;
        return "not its states";
    case 7: /* a place that there is not */
        state = (uint32_t *)(void *)change(t, s, SUM, 1, ROWS * 64);
        state[2 * 16 + 12] = 67;
        return "not its states";
    case 8: /* a kind of value that there is not */
        state = (uint32_t *)(void *)change(t, s, SUM, 1, ROWS * 64);
        state[13] = 8;
        return "not its states";
    case 9:
        s->schema.children[SUM]->format = "w:32";
        return "not its states";
    case 10:
        change_offsets(t, s, LEAST)[1]++;
        return "not its values";
    case 11:
        s->schema.children[LEAST]->format = "U";
        return "not its values";
    case 12:
        change_offsets(t, s, DISTINCT)[ROWS]--;
        return "end in the middle";
    case 13:
        s->array.children[DISTINCT]->buffers[0] = &valid;
        s->array.children[DISTINCT]->null_count = 1;
        return "not its distinct values";
    case 14: /* one byte more than there is in the group */
        change_length(t, s, 1);
        return "end in the middle";
    case 15: /* bytes are left that tell no length */
        change_length(t, s, 0ull - 1);
        return "end in the middle";
    case 16: /* behind it the next one would begin before it */
        change_length(t, s, 0ull - 30);
        return "end in the middle";
    default:
        return NULL;
    }
}

static cohort_frame *rows(struct test *t, struct model *m)
{
    static const double f[ROWS] = {1.5, 1e300, -2};
    static const char *const text[ROWS] = {"one", "two", "a third one"};
    const struct model_plan plan = {.rows = ROWS, .distinct = 1};
    model_open(m, ROWS, 4);
    model_fill(t, m, 0, "key", "l", &plan);
    model_fill(t, m, 1, "f", "g", &plan);
    model_fill(t, m, 2, "w", "w:3", &plan);
    model_fill(t, m, 3, "u", "u", &plan);
    for (int64_t i = 0; i < ROWS; i++) {
        m->column[0].cell[i] = (struct cell){model_bytes(m, &i, 8), 8};
        m->column[1].cell[i] = (struct cell){model_bytes(m, &f[i], 8), 8};
        m->column[3].cell[i] = (struct cell){model_bytes(m, text[i], strlen(text[i])), strlen(text[i])};
    }
    return model_frame(t, m, t->context);
}

/* 0: there is no such case. */
static int refused(struct test *t, cohort_frame *partial, int what)
{
    struct spoilt s = {.copy = NULL};
    cohort_frame *frame = NULL, *out = NULL;
    cohort_group *g = simple(t, t->context, 4, wanted, 1);
    OK(t, cohort_frame_export(partial, &s.schema, &s.array));
    const char *word = spoil(t, &s, what);
    OK(t, cohort_frame_import(t->context, &s.schema, &s.array, &frame));
    if (word) {
        FAILS(t, t->context, cohort_group_merge_partial(g, frame), COHORT_CORRUPT, word, "partial result");
        EQUAL(t, cohort_group_count(g), 0);
        FAILS(t, t->context, cohort_group_finish(g, 0, &out), COHORT_RANGE, "no frame was added", NULL);
    }
    OK(t, cohort_group_merge_partial(g, partial));
    if (word)
        FAILS(t, t->context, cohort_group_merge_partial(g, frame), COHORT_CORRUPT, word, "partial result");
    OK(t, cohort_group_finish(g, 0, &out));
    EQUAL(t, cohort_frame_rows(out), ROWS);
    cohort_frame_release(out);
    cohort_frame_release(frame);
    cohort_group_destroy(g);
    free(s.copy);
    return word != NULL;
}

static void partials(struct test *t)
{
    struct model m;
    cohort_frame *frame = rows(t, &m), *partial = NULL;
    cohort_group *g = simple(t, t->context, 4, wanted, 1);
    int what = 0;
    OK(t, cohort_group_add(g, frame));
    OK(t, cohort_group_partial(g, &partial));
    while (refused(t, partial, what))
        what++;
    EQUAL(t, what, 17);
    cohort_group_destroy(g);
    cohort_frame_release(frame);
    cohort_frame_release(partial);
    model_close(&m);
    EQUAL(t, model_alive, 0);
}

/* The types in a first partial result that is refused are forgotten. */
static void types(struct test *t)
{
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL},
                                         {COHORT_AGGREGATE_COUNT, 0, "v", NULL}};
    const uint32_t key[2] = {1, 2};
    const double real[2] = {3, 4};
    const int32_t whole[2] = {3, 4};
    cohort_frame *reals = two_columns(t, t->context, 2, key, COHORT_F64, real), *partial = NULL,
                 *spoilt = NULL;
    cohort_frame *wholes = two_columns(t, t->context, 2, key, COHORT_I32, whole), *out = NULL;
    cohort_group *g = simple(t, t->context, 2, a, 0), *from = simple(t, t->context, 2, a, 0);
    struct ArrowSchema schema;
    struct ArrowArray array;
    OK(t, cohort_group_add(from, reals));
    OK(t, cohort_group_partial(from, &partial));
    OK(t, cohort_frame_export(partial, &schema, &array));
    schema.children[2]->name = "count|g|x";
    OK(t, cohort_frame_import(t->context, &schema, &array, &spoilt));
    FAILS(t, t->context, cohort_group_merge_partial(g, spoilt), COHORT_CORRUPT, "count|g|x", NULL);
    OK(t, cohort_group_add(g, wholes));
    FAILS(t, t->context, cohort_group_merge_partial(g, partial), COHORT_RANGE, "'v'", "before it was int32");
    OK(t, cohort_group_finish(g, 0, &out));
    EQUAL(t, cohort_frame_rows(out), 2);
    cohort_group_destroy(g);
    cohort_group_destroy(from);
    cohort_frame_release(reals);
    cohort_frame_release(wholes);
    cohort_frame_release(partial);
    cohort_frame_release(spoilt);
    cohort_frame_release(out);
}

/* ---- other objects ------------------------------------------------------------------------------------- */

static cohort_group *asked(struct test *t, const char *key, const uint8_t *nulls_equal, uint32_t aggregates,
                           const cohort_aggregate *a, uint32_t reproducible)
{
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_group *g = NULL;
    o.keys = 1;
    o.key = &key;
    o.nulls_equal = nulls_equal;
    o.aggregates = aggregates;
    o.aggregate = a;
    o.reproducible = reproducible;
    OK(t, cohort_group_create(t->context, &o, &g));
    return g;
}

/* Each differs in one thing from the first, and the second is like it. */
static void others(struct test *t)
{
    static const uint8_t no = 0, yes = 1;
    static const cohort_aggregate a[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL},
                                         {COHORT_AGGREGATE_ROWS, 0, NULL, NULL}},
                                  named[] = {{COHORT_AGGREGATE_SUM, 0, "v", "x"},
                                             {COHORT_AGGREGATE_ROWS, 0, NULL, "y"}},
                                  mean[] = {{COHORT_AGGREGATE_MEAN, 0, "v", NULL},
                                            {COHORT_AGGREGATE_ROWS, 0, NULL, NULL}},
                                  other[] = {{COHORT_AGGREGATE_SUM, 0, "key", NULL},
                                             {COHORT_AGGREGATE_ROWS, 0, NULL, NULL}};
    const uint32_t key[2] = {1, 2};
    const double v[2] = {3, 4};
    cohort_frame *frame = two_columns(t, t->context, 2, key, COHORT_F64, v), *out = NULL;
    cohort_group *g[] = {asked(t, "key", NULL, 2, a, 0),     asked(t, "key", &yes, 2, named, 0),
                         asked(t, "key", NULL, 1, a, 0),     asked(t, "key", &no, 2, a, 0),
                         asked(t, "key", NULL, 2, a, 1),     asked(t, "key", NULL, 2, mean, 0),
                         asked(t, "key", NULL, 2, other, 0), asked(t, "v", NULL, 2, a, 0)};
    const size_t count = sizeof g / sizeof *g;
    double got[2];
    for (size_t i = 0; i < count; i++) {
        OK(t, cohort_group_merge(g[i], g[i])); /* nothing was added to it */
        OK(t, cohort_group_add(g[i], frame));
    }
    OK(t, cohort_group_merge(g[0], g[1]));
    for (size_t i = 2; i < count; i++) {
        FAILS(t, t->context, cohort_group_merge(g[0], g[i]), COHORT_RANGE,
              "other keys, aggregates or options", NULL);
        FAILS(t, t->context, cohort_group_merge(g[i], g[0]), COHORT_RANGE,
              "other keys, aggregates or options", NULL);
    }
    OK(t, cohort_group_finish(g[0], 0, &out));
    column_at(t, out, 1, 8, got);
    CHECK(t, got[0] == 6 && got[1] == 8);
    for (size_t i = 0; i < count; i++)
        cohort_group_destroy(g[i]);
    cohort_frame_release(frame);
    cohort_frame_release(out);
}

const struct test_case test_cases[] = {
    {"partials", partials, TEST_ON_CPU}, {"types", types, 0}, {"others", others, 0}, {NULL, NULL, 0}};
