/* test_keys.c: rows of keys as numbers: factors, distinct keys in and out of order, counts, members; every
 * type, null rule, layout, chunking; ranges that widen from batch to batch; types that are of one kind. */
#include "model.h"

#define ROUNDS 60

static void suit_device(const struct test *t, struct model *m)
{
    for (uint32_t i = 0; t->kind != TEST_CPU && i < m->columns; i++)
        if (strchr("uUzZv", m->column[i].format[0]) && !m->column[i].index[0])
            strcpy(m->column[i].index, "i");
}

/* ---- the oracle: keys one by one ----------------------------------------------------------------------- */

static int same_keys(const struct model *a, uint64_t i, const struct model *b, uint64_t j)
{
    for (uint32_t c = 0; c < a->columns; c++)
        if (!cell_same(a->column[c].format, a->column[c].cell[i], b->column[c].cell[j]))
            return 0;
    return 1;
}

static int has_bad_null(const struct model *m, uint64_t row, const uint8_t *nulls_equal)
{
    for (uint32_t c = 0; c < m->columns; c++)
        if (nulls_equal && !nulls_equal[c] && !m->column[c].cell[row].bytes)
            return 1;
    return 0;
}

/* Distinct keys, as (model, row). */
struct known {
    uint64_t count, room;
    struct {
        const struct model *model;
        uint64_t row;
    } * key;
};

static uint32_t known_find(const struct known *k, const struct model *m, uint64_t row,
                           const uint8_t *nulls_equal)
{
    if (has_bad_null(m, row, nulls_equal))
        return COHORT_NO_ID;
    for (uint64_t i = 0; i < k->count; i++)
        if (same_keys(m, row, k->key[i].model, k->key[i].row))
            return (uint32_t)i;
    return COHORT_NO_ID;
}

static uint32_t known_add(struct known *k, const struct model *m, uint64_t row, const uint8_t *nulls_equal)
{
    uint32_t id = known_find(k, m, row, nulls_equal);
    if (id != COHORT_NO_ID || has_bad_null(m, row, nulls_equal))
        return id;
    if (k->count == k->room) {
        k->room = 2 * k->room + 16;
        k->key = realloc(k->key, k->room * sizeof *k->key);
        if (!k->key)
            abort();
    }
    k->key[k->count].model = m;
    k->key[k->count].row = row;
    return (uint32_t)k->count++;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

#define BATCHES 4

static int is_text(const char *format)
{
    return !model_is_word(format);
}

/* Batches of the same types, each with values of its own and in layouts of its own. */
struct batches {
    uint32_t count, columns;
    struct model model[BATCHES];
    cohort_frame *frame[BATCHES];
    uint8_t nulls_equal[64];
};

/* text: the first column is of strings, or of values wider than 8 bytes; in the first batch it is none of
 * dictionaries, in the second it is one, and there are nulls. */
static void batches_open(struct test *t, struct batches *b, uint32_t columns, uint64_t rows,
                         uint64_t distinct, int text)
{
    const char *format[64];
    uint64_t types = 0;
    while (model_formats[types])
        types++;
    b->count = BATCHES;
    b->columns = columns;
    for (uint32_t c = 0; c < columns; c++) {
        do
            format[c] = model_formats[test_below(t, types)];
        while (text && !c && !is_text(format[c]));
        b->nulls_equal[c] = test_below(t, 2) != 0;
    }
    for (uint32_t i = 0; i < BATCHES; i++) {
        struct model_plan plan = {.rows = test_below(t, rows), .dictionaries = 1};
        plan.nulls = test_below(t, 2) ? (uint32_t)test_below(t, 30) : 0;
        if (text && i < 2) {
            plan.dictionaries = i ? 2 : 0;
            plan.nulls = 30;
        }
        plan.wild = i >= test_below(t, BATCHES); /* ranges widen */
        plan.distinct = 1 + test_below(t, distinct);
        model_open(&b->model[i], plan.rows, columns);
        for (uint32_t c = 0; c < columns; c++) {
            char name[16];
            snprintf(name, sizeof name, "k%u", c);
            model_fill(t, &b->model[i], c, name, model_another_layout(t, format[c]), &plan);
        }
        suit_device(t, &b->model[i]);
        b->frame[i] = model_frame(t, &b->model[i], t->context);
    }
}

static void batches_close(struct batches *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        cohort_frame_release(b->frame[i]);
        model_close(&b->model[i]);
    }
}

static uint32_t *ids_of(struct column *c)
{
    return c->data;
}

/* ---- factors ------------------------------------------------------------------------------------------- */

struct checked {
    cohort_factor *factor;
    struct known known;
    const uint8_t *nulls_equal;
    uint32_t calls;
};

static void check_batch(struct test *t, struct checked *c, struct batches *b, uint32_t at, int finds)
{
    const struct model *m = &b->model[at];
    struct column *ids = column_new(t, m->rows, 4);
    cohort_status s = finds ? cohort_factor_find(c->factor, b->frame[at], column_send(ids))
                            : cohort_factor_add(c->factor, b->frame[at], column_send(ids));
    OK(t, s);
    column_fetch(ids);
    for (uint64_t row = 0; row < m->rows; row++) {
        uint32_t due = finds ? known_find(&c->known, m, row, c->nulls_equal)
                             : known_add(&c->known, m, row, c->nulls_equal);
        REQUIREF(t, ids_of(ids)[row] == due, "call %u, row %llu (%s, %u columns): id %u, not %u", c->calls,
                 (unsigned long long)row, m->column[0].format, m->columns, ids_of(ids)[row], due);
    }
    EQUAL(t, cohort_factor_count(c->factor), c->known.count);
    c->calls++;
}

/* Adds and finds by turns. Of a lone column all batches are found after the first add, whether they are
 * dictionaries or not. */
static void check_factor(struct test *t, struct batches *b, const uint8_t *nulls_equal)
{
    struct checked c = {.nulls_equal = nulls_equal};
    OK(t, cohort_factor_create(t->context, b->columns, nulls_equal, &c.factor));
    for (uint32_t i = 0; i < 2 * b->count; i++) {
        check_batch(t, &c, b, i % b->count, i & 1);
        for (uint32_t k = 0; !i && b->columns == 1 && k < b->count; k++)
            check_batch(t, &c, b, k, 1);
    }
    cohort_factor_destroy(c.factor);
    free(c.known.key);
}

static void factors(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, ROUNDS, 3 * ROUNDS, 10 * ROUNDS); round++) {
        struct batches b;
        const int alone = round % 4 == 1;
        uint32_t columns = round % 10 == 9 ? 60 : alone ? 1 : 1 + (uint32_t)test_below(t, 5);
        batches_open(t, &b, columns, round % 7 ? 150 : 900, 40, alone);
        check_factor(t, &b, round & 1 ? b.nulls_equal : NULL);
        batches_close(&b);
        column_drop(t, NULL);
    }
    EQUAL(t, model_alive, 0);
}

/* Many rows of dictionaries with few values: what these may be is the range of the rows. */
static void long_dictionaries(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 40, 80, 200); round++) {
        static const char *const formats[] = {"u", "l", "S", "U"};
        struct batches b = {.count = 2, .columns = 1 + (uint32_t)test_below(t, 2)};
        for (uint32_t i = 0; i < b.count; i++) {
            struct model_plan plan = {.rows = 2000 + test_below(t, 2000), .dictionaries = 2};
            plan.distinct = 1 + test_below(t, 12);
            plan.nulls = test_below(t, 2) ? 10 : 0;
            model_open(&b.model[i], plan.rows, b.columns);
            for (uint32_t c = 0; c < b.columns; c++)
                model_fill(t, &b.model[i], c, c ? "b" : "a",
                           model_another_layout(t, formats[(round + c) % 4]), &plan);
            b.frame[i] = model_frame(t, &b.model[i], t->context);
        }
        check_factor(t, &b, NULL);
        batches_close(&b);
        column_drop(t, NULL);
    }
    EQUAL(t, model_alive, 0);
}

/* ---- distinct keys ------------------------------------------------------------------------------------- */

static int compare_rows(const struct model *m, uint64_t i, uint64_t j)
{
    for (uint32_t c = 0; c < m->columns; c++) {
        int order = cell_order(m->column[c].format, m->column[c].cell[i], m->column[c].cell[j]);
        if (order)
            return order;
    }
    return 0;
}

static void check_distinct(struct test *t, const struct model *m, cohort_frame *frame, uint32_t flags)
{
    cohort_frame *unique = NULL, *counts = NULL;
    struct known known = {0};
    struct model u, v;
    uint64_t sum = 0, last = ~0ull;
    for (uint64_t i = 0; i < m->rows; i++)
        known_add(&known, m, i, NULL);
    OK(t, cohort_unique(frame, flags, &unique));
    OK(t, cohort_value_counts(frame, flags, &counts));
    model_of_frame(t, &u, unique);
    model_of_frame(t, &v, counts);
    EQUAL(t, u.rows, known.count);
    EQUAL(t, v.rows, known.count);
    for (uint64_t i = 0; i < u.rows; i++) {
        uint64_t count = 0, own = 0;
        CHECK(t, flags ? !i || compare_rows(&u, i - 1, i) < 0 : same_keys(&u, i, m, known.key[i].row));
        memcpy(&count, v.column[m->columns].cell[i].bytes, 8);
        v.columns--;
        for (uint64_t row = 0; row < m->rows; row++)
            own += (uint64_t)same_keys(&v, i, m, row);
        CHECK(t, flags ? same_keys(&u, i, &v, i) : count <= last);
        v.columns++;
        EQUAL(t, count, own);
        last = count;
        sum += count;
    }
    EQUAL(t, sum, m->rows);
    cohort_frame_release(unique);
    cohort_frame_release(counts);
    model_close(&u);
    model_close(&v);
    free(known.key);
}

static void distinct(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, ROUNDS, 2 * ROUNDS, 10 * ROUNDS); round++) {
        struct model m;
        struct model_plan plan = {
            .rows = test_below(t, 200), .distinct = 1 + test_below(t, 20), .nulls = 20, .wild = 1};
        plan.dictionaries = test_below(t, 8) ? 1 : 3;
        model_random(t, &m, 1 + (uint32_t)test_below(t, 3), &plan);
        suit_device(t, &m);
        cohort_frame *frame = model_frame(t, &m, t->context);
        check_distinct(t, &m, frame, round & 1 ? COHORT_SORTED : 0);
        cohort_frame_release(frame);
        model_close(&m);
    }
    EQUAL(t, model_alive, 0);
}

/* Nulls of the first column are one, whatever lies in their places; the second column decides. */
static void null_order(struct test *t)
{
    const uint32_t a[] = {9, 8, 1, 7}, b[] = {1, 2, 4, 3}, due[] = {2, 0, 1, 3};
    const uint8_t valid[] = {1u << 2};
    cohort_array arrays[] = {{"a", COHORT_U32, 0, a, valid}, {"b", COHORT_U32, 0, b, NULL}};
    cohort_frame *frame = NULL, *sorted = NULL;
    struct column *rows = column_new(t, 4, 4);
    OK(t, cohort_frame_create(t->context, 4, 2, arrays, &frame));
    OK(t, cohort_unique(frame, COHORT_SORTED, &sorted));
    OK(t, cohort_index_in(sorted, frame, NULL, 4, column_send(rows)));
    column_fetch(rows);
    CHECK(t, !memcmp(rows->data, due, sizeof due));
    cohort_frame_release(frame);
    cohort_frame_release(sorted);
    column_drop(t, NULL);
}

/* ---- members ------------------------------------------------------------------------------------------- */

static void members(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, ROUNDS, 2 * ROUNDS, 10 * ROUNDS); round++) {
        struct batches b;
        struct known known = {0};
        uint32_t bytes = round & 1 ? 4 : 8;
        batches_open(t, &b, 1 + (uint32_t)test_below(t, 4), 200, 30, round % 3 == 0);
        const struct model *m = &b.model[0], *values = &b.model[1];
        const uint8_t *nulls_equal = round & 2 ? b.nulls_equal : NULL;
        struct column *rows = column_new(t, m->rows, bytes), *bits = column_new(t, (m->rows + 7) / 8, 1);
        OK(t, cohort_index_in(b.frame[0], b.frame[1], nulls_equal, bytes, column_send(rows)));
        OK(t, cohort_is_in(b.frame[0], b.frame[1], nulls_equal, column_send(bits)));
        column_fetch(rows);
        column_fetch(bits);
        for (uint64_t i = 0; i < values->rows; i++)
            known_add(&known, values, i, nulls_equal);
        for (uint64_t i = 0; i < m->rows; i++) {
            uint32_t id = known_find(&known, m, i, nulls_equal);
            uint64_t none = bytes == 4 ? UINT32_MAX : UINT64_MAX;
            EQUAL(t, column_get(rows, i), id == COHORT_NO_ID ? none : known.key[id].row);
            EQUAL(t, column_get(bits, i / 8) >> (i & 7) & 1, id != COHORT_NO_ID);
        }
        free(known.key);
        batches_close(&b);
        column_drop(t, NULL);
    }
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void refuses(struct test *t)
{
    cohort_context *on = t->context;
    uint32_t values[3] = {3, 1, 3}, ids[3];
    uint64_t wide[3] = {3, 1, 3};
    cohort_array one = {"a", COHORT_U32, 0, values, NULL}, other = {"b", COHORT_U64, 0, wide, NULL};
    cohort_frame *a = NULL, *b = NULL, *none = NULL, *out = NULL;
    cohort_factor *factor = NULL;
    OK(t, cohort_frame_create(on, 3, 1, &one, &a));
    OK(t, cohort_frame_create(on, 3, 1, &other, &b));
    OK(t, cohort_frame_create(on, 3, 0, NULL, &none));
    FAILS(t, on, cohort_factor_create(on, 0, NULL, &factor), COHORT_RANGE, "columns", "0");
    FAILS(t, on, cohort_factor_create(on, 1, NULL, NULL), COHORT_NULL, "out", NULL);
    OK(t, cohort_factor_create(on, 1, NULL, &factor));
    OK(t, cohort_factor_add(factor, a, NULL));
    EQUAL(t, cohort_factor_count(factor), 2);
    FAILS(t, on, cohort_factor_add(factor, b, ids), COHORT_RANGE, "'b'", "uint64");
    FAILS(t, on, cohort_factor_find(factor, none, ids), COHORT_RANGE, "keys", "0");
    FAILS(t, on, cohort_factor_find(factor, a, NULL), COHORT_NULL, "ids", NULL);
    FAILS(t, on, cohort_factor_find(factor, NULL, ids), COHORT_NULL, "keys", NULL);
    FAILS(t, on, cohort_unique(a, 2, &out), COHORT_RANGE, "flags", "2");
    FAILS(t, on, cohort_unique(none, 0, &out), COHORT_RANGE, "columns", "0");
    FAILS(t, on, cohort_index_in(a, a, NULL, 3, ids), COHORT_RANGE, "bytes", "3");
    FAILS(t, on, cohort_index_in(a, b, NULL, 4, ids), COHORT_RANGE, "column 0", "uint64");
    FAILS(t, on, cohort_is_in(a, NULL, NULL, (uint8_t *)ids), COHORT_NULL, "values", NULL);
    cohort_factor_destroy(factor);
    cohort_factor_destroy(NULL);
    EQUAL(t, cohort_factor_count(NULL), 0);
    cohort_frame_release(a);
    cohort_frame_release(b);
    cohort_frame_release(none);
}

/* An allocation fails at the k-th place: what was added before is still known by its number. */
static void no_memory_of(struct test *t, uint32_t columns)
{
    for (uint64_t limit = 1;; limit += 1 + limit / 4) {
        struct ledger ledger = {.limit = limit};
        cohort_context_options options = test_context_options(t);
        cohort_context *context = NULL;
        cohort_frame *frame = NULL;
        cohort_factor *factor = NULL;
        struct model m;
        struct model_plan plan = {.rows = 2000, .distinct = 900, .nulls = 10, .wild = 1};
        uint32_t *ids = calloc(plan.rows, 4), *again = calloc(plan.rows, 4);
        int whole = 0;
        options.alloc = test_allocator(t, &ledger);
        if (!cohort_context_create(&options, &context)) {
            model_open(&m, plan.rows, columns);
            model_fill(t, &m, 0, "a", "vu", &plan);
            if (columns > 1)
                model_fill(t, &m, 1, "b", "l", &plan);
            frame = model_frame(t, &m, t->context);
            cohort_status s = cohort_factor_create(context, columns, NULL, &factor);
            if (!s)
                s = cohort_factor_add(factor, frame, ids);
            CHECK(t, s == COHORT_OK || s == COHORT_NO_MEMORY);
            whole = s == COHORT_OK && !cohort_factor_add(factor, frame, again);
            CHECK(t, !whole || !memcmp(ids, again, plan.rows * 4));
            cohort_frame_release(frame);
            cohort_factor_destroy(factor);
            cohort_context_destroy(context);
            model_close(&m);
        }
        free(ids);
        free(again);
        test_ledger_check(t, &ledger);
        if (whole)
            return;
    }
}

static void no_memory(struct test *t)
{
    no_memory_of(t, 1);
    no_memory_of(t, 2);
}

/* ---- types --------------------------------------------------------------------------------------------- */

/* One row of a type of at most 16 bytes. */
static cohort_frame *of_type(struct test *t, const char *format)
{
    static const uint64_t bytes[2] = {5, 0};
    uint64_t key = 0;
    cohort_frame *made = keys_frame(t, t->context, 1, &key), *frame = NULL;
    struct ArrowSchema schema;
    struct ArrowArray array;
    OK(t, cohort_frame_export(made, &schema, &array));
    cohort_frame_release(made);
    schema.children[0]->format = format;
    array.children[0]->buffers[1] = bytes;
    OK(t, cohort_frame_import(t->context, &schema, &array, &frame));
    return frame;
}

/* Which types are of one kind, either way round, for lookups of plain numbers and for joins. */
static void types_agree(struct test *t)
{
    static const struct {
        const char *a, *b;
        int agree;
    } pairs[] = {{"l", "l", 1},
                 {"l", "L", 0},
                 {"l", "tsu:", 0},
                 {"l", "tDu", 0},
                 {"tDu", "tDs", 0},
                 {"tsu:", "tsu:", 1},
                 {"tsu:", "tsu:UTC", 0},
                 {"tsu:UTC", "tsu:Europe/Paris", 1},
                 {"tsu:UTC", "tsn:UTC", 0},
                 {"tsm:", "tdm", 0},
                 {"i", "tdD", 0},
                 {"d:10,2", "d:38,2", 1},
                 {"d:10,2", "d:10,3", 0},
                 {"d:9,-2,128", "d:10,-2", 1},
                 {"d:9,-2", "d:9,2", 0},
                 {"w:16", "d:10,2", 0},
                 {"w:8", "w:7", 0},
                 {"w:8", "l", 0},
                 {"f", "i", 0},
                 {"b", "C", 0}};
    for (size_t i = 0; i < 2 * (sizeof pairs / sizeof *pairs); i++) {
        const char *a = i & 1 ? pairs[i / 2].a : pairs[i / 2].b, *b = i & 1 ? pairs[i / 2].b : pairs[i / 2].a;
        cohort_frame *left = of_type(t, a), *right = of_type(t, b);
        const cohort_status due = pairs[i / 2].agree ? COHORT_OK : COHORT_RANGE;
        cohort_factor *factor = NULL;
        uint32_t row = 7, id = 7;
        CHECKF(t, cohort_index_in(left, right, NULL, 4, &row) == due, "%s among %s", a, b);
        CHECKF(t, due || row == 0, "%s among %s: row %u", a, b, row);
        OK(t, cohort_factor_create(t->context, 1, NULL, &factor));
        OK(t, cohort_factor_add(factor, right, &id));
        CHECKF(t, cohort_factor_add(factor, left, &id) == due && !id, "%s behind %s", a, b);
        cohort_factor_destroy(factor);
        cohort_frame_release(left);
        cohort_frame_release(right);
    }
}

/* A refusal has the types by their names. */
static void types_named(struct test *t)
{
    static const char *const names[][2] = {{"b", "bool"},
                                           {"C", "uint8"},
                                           {"f", "float32"},
                                           {"tdD", "date"},
                                           {"ttu", "time[us]"},
                                           {"tDs", "duration[s]"},
                                           {"tsm:", "timestamp[ms]"},
                                           {"tss:UTC", "timestamp[s, UTC]"},
                                           {"d:10,-2,128", "decimal(10, -2)"},
                                           {"w:7", "binary(7)"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cohort_frame *frame = of_type(t, names[i][0]), *plain = of_type(t, "l");
        char due[100];
        uint32_t row;
        snprintf(due, sizeof due, "is of type %s; the other side's is of type int64", names[i][1]);
        FAILS(t, t->context, cohort_index_in(frame, plain, NULL, 4, &row), COHORT_RANGE, due, NULL);
        cohort_frame_release(frame);
        cohort_frame_release(plain);
    }
}

const struct test_case test_cases[] = {
    {"factors", factors, TEST_EACH_MEMORY},
    {"long", long_dictionaries, TEST_ON_CPU},
    {"distinct", distinct, 0},
    {"null_order", null_order, 0},
    {"members", members, TEST_EACH_MEMORY},
    {"refuses", refuses, 0},
    {"no_memory", no_memory, TEST_ON_CPU},
    {"types agree", types_agree, 0},
    {"types named", types_named, 0},
    {NULL, NULL, 0},
};
