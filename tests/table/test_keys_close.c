/* test_keys_close.c: integer keys whose values lie close together, which a CPU numbers by a table by word, in
 * rounds: of one to three columns, of every width, with nulls; keys that come late; several adds; one thread
 * and many; with the vectors that the processor has and with none. */
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "backend/context.h"
#include "backend/keys.h"

#define COLUMNS 3

static const struct {
    cohort_type type;
    unsigned bytes;
    int is_signed;
} types[] = {{COHORT_U8, 1, 0},  {COHORT_I8, 1, 1},  {COHORT_U16, 2, 0}, {COHORT_I16, 2, 1},
             {COHORT_U32, 4, 0}, {COHORT_I32, 4, 1}, {COHORT_U64, 8, 0}, {COHORT_I64, 8, 1}};

/* A column has `values` values from `low` on, `step` apart, and perhaps null, which is the value number
 * `values`. */
struct close_column {
    unsigned type;
    uint64_t values, low, step;
    int nulls;
    void *data;
    uint8_t *valid;
};

struct close {
    uint64_t n;
    uint32_t columns;
    uint8_t nulls_equal[COLUMNS];
    struct close_column column[COLUMNS];
    uint64_t *key; /* of each row: the values' numbers, packed */
    uint64_t keys; /* that there can be */
    uint32_t *id;  /* due */
    uint64_t count;
};

static void *room(uint64_t bytes)
{
    void *memory = calloc(bytes + 8, 1);
    if (!memory)
        abort();
    return memory;
}

/* At most so many keys can be; is_full: they are, nearly. */
static void close_open(struct test *t, struct close *c, uint64_t n, uint32_t columns, uint64_t most,
                       int is_full)
{
    *c = (struct close){.n = n, .columns = columns, .keys = 1};
    for (uint32_t i = 0; i < columns; i++) {
        struct close_column *x = &c->column[i];
        x->type = (unsigned)(is_full ? 4 + test_below(t, 4) : test_below(t, sizeof types / sizeof *types));
        const unsigned bytes = types[x->type].bytes;
        const uint64_t all = bytes == 1 ? 256 : bytes == 2 ? 65536 : most;
        x->values = 1 + test_below(t, all < most / c->keys ? all : most / c->keys);
        x->values = is_full && !i ? most : x->values;
        x->step = 1;
        x->low = bytes == 1   ? test_below(t, 257 - x->values)
                 : bytes == 2 ? test_below(t, 65537 - (x->values < 65536 ? x->values : 65536))
                 : bytes == 4 ? test_below(t, (1ull << 32) - x->values)
                              : test_random(t);
        x->nulls = test_below(t, 2) != 0;
        x->data = room(n * 8);
        x->valid = room(n / 8 + 1);
        c->nulls_equal[i] = test_below(t, 2) != 0;
        c->keys *= x->values + 1;
    }
    c->key = room(n * 8);
    c->id = room(c->keys * 4);
    memset(c->id, 0xff, c->keys * 4);
}

static void close_end(struct close *c)
{
    for (uint32_t i = 0; i < c->columns; i++) {
        free(c->column[i].data);
        free(c->column[i].valid);
    }
    free(c->key);
    free(c->id);
}

/* A value's bits: those of a signed column begin below zero. */
static uint64_t value_of(const struct close_column *x, uint64_t number)
{
    const unsigned bits = 8 * types[x->type].bytes;
    const uint64_t turn = types[x->type].is_signed ? 1ull << (bits - 1) : 0;
    return x->low + number * x->step + turn;
}

/* Row `row` has the value number `number`, or null. */
static void put(struct test *t, struct close *c, uint32_t i, uint64_t row, uint64_t number, int is_null)
{
    struct close_column *x = &c->column[i];
    const uint64_t value = is_null ? test_random(t) : value_of(x, number), bytes = types[x->type].bytes;
    memcpy((char *)x->data + row * bytes, &value, bytes);
    x->valid[row / 8] &= (uint8_t) ~(1u << (row & 7));
    x->valid[row / 8] |= (uint8_t)((unsigned)!is_null << (row & 7));
    c->key[row] = c->key[row] * (x->values + 1) + (is_null ? x->values : number);
}

/* Rows until `late` have the lower half of each column's values alone; others come now and then. */
static void close_fill(struct test *t, struct close *c, uint64_t late)
{
    memset(c->key, 0, c->n * 8);
    for (uint32_t i = 0; i < c->columns; i++) {
        const struct close_column *x = &c->column[i];
        for (uint64_t row = 0; row < c->n; row++) {
            const int is_late = row >= late && !test_below(t, 50);
            const uint64_t number = test_below(t, is_late ? x->values : (x->values + 1) / 2);
            put(t, c, i, row, number, x->nulls && row >= late / 2 && !test_below(t, 40));
        }
    }
}

static int is_a_key(const struct close *c, uint64_t key)
{
    for (uint32_t i = c->columns; i-- > 0; key /= c->column[i].values + 1)
        if (key % (c->column[i].values + 1) == c->column[i].values && !c->nulls_equal[i])
            return 0;
    return 1;
}

/* The values of a frame are its first rows, in their order. */
static void close_values(struct test *t, const struct close *c, cohort_frame *frame, const uint32_t *ids)
{
    cohort_frame *values = NULL;
    uint64_t next = 0;
    uint32_t *own = room(c->n * 4), *at = room(c->n * 4);
    OK(t, cohort_factorize(frame, c->nulls_equal, own, &values));
    CHECK(t, !memcmp(own, ids, c->n * 4));
    OK(t, cohort_index_in(values, frame, c->nulls_equal, 4, at));
    for (uint64_t row = 0; row < c->n; row++)
        if (ids[row] == next) {
            REQUIREF(t, at[next] == row, "key %llu of row %llu is that of row %u", (unsigned long long)next,
                     (unsigned long long)row, at[next]);
            next++;
        }
    EQUAL(t, cohort_frame_rows(values), next);
    cohort_frame_release(values);
    free(own);
    free(at);
}

/* Adds the rows, or only looks them up. */
static void close_add(struct test *t, struct close *c, cohort_context *context, cohort_factor *factor,
                      int finds)
{
    static const char *const names[COLUMNS] = {"a", "b", "c"};
    cohort_array array[COLUMNS];
    cohort_frame *frame = NULL;
    const int is_first = !c->count;
    uint32_t *ids = room(c->n * 4);
    for (uint32_t i = 0; i < c->columns; i++)
        array[i] = (cohort_array){names[i], types[c->column[i].type].type, 0, c->column[i].data,
                                  c->column[i].nulls ? c->column[i].valid : NULL};
    OK(t, cohort_frame_create(context, c->n, c->columns, array, &frame));
    OK(t, finds ? cohort_factor_find(factor, frame, ids) : cohort_factor_add(factor, frame, ids));
    for (uint64_t row = 0; row < c->n; row++) {
        uint32_t *due = &c->id[c->key[row]];
        if (!finds && *due == COHORT_NO_ID && is_a_key(c, c->key[row]))
            *due = (uint32_t)c->count++;
        REQUIREF(t, ids[row] == *due, "%u columns, row %llu of %llu, key %llu of %llu: id %u, not %u",
                 c->columns, (unsigned long long)row, (unsigned long long)c->n,
                 (unsigned long long)c->key[row], (unsigned long long)c->keys, ids[row], *due);
    }
    EQUAL(t, cohort_factor_count(factor), c->count);
    if (is_first)
        close_values(t, c, frame, ids);
    cohort_frame_release(frame);
    free(ids);
}

/* Which rows bring new keys decides the rounds: all at first; some in the middle; some at the very end. */
static void two_calls(struct test *t, struct close *c, cohort_context *context)
{
    const uint64_t n = c->n, late[] = {0, n / 2, n < 20 ? 0 : n - 20};
    cohort_factor *factor = NULL;
    OK(t, cohort_factor_create(context, c->columns, c->nulls_equal, &factor));
    const uint64_t from = late[test_below(t, 3)];
    close_fill(t, c, from);
    close_add(t, c, context, factor, 0);
    close_fill(t, c, test_below(t, 2) ? n : 0);
    close_add(t, c, context, factor, 0);
    cohort_factor_destroy(factor);
}

static void numbers(struct test *t, cohort_context *context, uint64_t n, uint64_t most, int is_full)
{
    struct close c;
    close_open(t, &c, n, is_full ? 1 : 1 + (uint32_t)test_below(t, COLUMNS), most, is_full);
    two_calls(t, &c, context);
    close_end(&c);
}

static cohort_context *context_of(struct test *t, unsigned threads, int is_plain)
{
    const char *asked = getenv("COHORT_CPU");
    char level[8] = "";
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL;
    options.threads = threads;
    snprintf(level, sizeof level, "%s", asked ? asked : "");
    if (is_plain)
        setenv("COHORT_CPU", "plain", 1);
    OK(t, cohort_context_create(&options, &context));
    if (asked)
        setenv("COHORT_CPU", level, 1);
    else
        unsetenv("COHORT_CPU");
    return context;
}

static void close_keys(struct test *t)
{
    static const unsigned threads[] = {1, 2, 5, 17};
    for (uint64_t round = 0; round < test_scale(t, 32, 48, 160); round++) {
        const int is_full = round % 4 == 1; /* so many places that both threads have some */
        const unsigned n_threads = is_full ? 2 : threads[test_below(t, 4)];
        cohort_context *context = context_of(t, n_threads, !test_below(t, 3));
        const uint64_t n = is_full ? 300000 : 1 + test_below(t, round % 4 ? 400000 : 70000);
        numbers(t, context, n, is_full ? n / 2 : 1 + test_below(t, 3000), is_full);
        cohort_context_destroy(context);
    }
}

/* A column of each type, whose values lie on both sides of the middle of what the type has: that of a signed
 * one is zero. */
static void close_types(struct test *t)
{
    const unsigned all = sizeof types / sizeof *types;
    for (unsigned i = 0; i < 2 * all; i++) {
        const unsigned type = i % all;
        struct close c;
        cohort_context *context = context_of(t, 1 + type % 2, 0);
        close_open(t, &c, 3000 + test_below(t, 9000), 1, 200, 1);
        c.column[0].type = type;
        c.column[0].nulls = i < all;
        c.column[0].low = (1ull << (8 * types[type].bytes - 1)) - 100;
        two_calls(t, &c, context);
        close_end(&c);
        cohort_context_destroy(context);
    }
}

/* ---- what a factor does not know ----------------------------------------------------------------------- */

#define SOME 80

/* All columns have values number `from` to `to`. */
static void known_fill(struct test *t, struct close *c, uint64_t from, uint64_t to)
{
    memset(c->key, 0, c->n * 8);
    for (uint32_t i = 0; i < c->columns; i++)
        for (uint64_t row = 0; row < c->n; row++)
            put(t, c, i, row, from + test_below(t, to - from), c->column[i].nulls && !test_below(t, 20));
}

/* Three columns in one word, the last one's values so far apart that there is no table by word. The factor
 * has seen some values in the middle: those below and above are no keys until they are added. */
static void close_unknown(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 16, 32, 64); round++) {
        struct close c;
        cohort_factor *factor = NULL;
        cohort_context *context = context_of(t, 1 + (unsigned)(round % 2), round % 4 == 3);
        close_open(t, &c, 500 + test_below(t, 4000), 3, 1, 0);
        free(c.id);
        c.keys = (SOME + 1) * (SOME + 1) * (SOME + 1);
        for (uint32_t i = 0; i < 3; i++) {
            struct close_column *x = &c.column[i];
            x->type = (unsigned)(i == 0 ? round % 8 : i == 1 ? test_below(t, 8) : 6 + round % 2);
            x->values = SOME;
            x->low = (1ull << (8 * types[x->type].bytes - 1)) - test_below(t, SOME);
            x->step = i < 2 ? 1 : 1ull << 33;
        }
        c.id = room(c.keys * 4);
        memset(c.id, 0xff, c.keys * 4);
        OK(t, cohort_factor_create(context, 3, c.nulls_equal, &factor));
        known_fill(t, &c, 30, 33 + test_below(t, 10));
        close_add(t, &c, context, factor, 0);
        known_fill(t, &c, 0, SOME);
        close_add(t, &c, context, factor, 1);
        close_add(t, &c, context, factor, 0);
        close_add(t, &c, context, factor, 1);
        cohort_factor_destroy(factor);
        close_end(&c);
        cohort_context_destroy(context);
    }
}

/* ---- strings by their indices -------------------------------------------------------------------------- */

/* Two columns of a dictionary that has each value once: its indices are numbers of the values. */
#define VALUES 8

static void let_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void let_array(struct ArrowArray *a)
{
    a->release = NULL;
}

/* One at a time. */
static cohort_frame *strings(struct test *t, uint64_t n, uint32_t *const index[2], uint8_t *const valid[2])
{
    static const int32_t offsets[VALUES + 1] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const void *heap[3], *buffers[2][2], *none[1];
    static struct ArrowSchema text, own[2], *fields[2] = {&own[0], &own[1]};
    static struct ArrowArray value, column[2], *children[2] = {&column[0], &column[1]};
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = 2, .children = fields, .release = let_schema};
    struct ArrowArray array = {.length = (int64_t)n,
                               .n_buffers = 1,
                               .buffers = none,
                               .n_children = 2,
                               .children = children,
                               .release = let_array};
    cohort_frame *frame = NULL;
    heap[1] = offsets;
    heap[2] = "abcdefgh";
    text = (struct ArrowSchema){.format = "u", .name = "", .release = let_schema};
    value = (struct ArrowArray){.length = VALUES, .n_buffers = 3, .buffers = heap, .release = let_array};
    for (int i = 0; i < 2; i++) {
        buffers[i][0] = valid[i];
        buffers[i][1] = index[i];
        own[i] = (struct ArrowSchema){.format = "I",
                                      .name = i ? "b" : "a",
                                      .flags = ARROW_FLAG_NULLABLE,
                                      .dictionary = &text,
                                      .release = let_schema};
        column[i] = (struct ArrowArray){.length = (int64_t)n,
                                        .null_count = -1,
                                        .n_buffers = 2,
                                        .buffers = buffers[i],
                                        .dictionary = &value,
                                        .release = let_array};
    }
    OK(t, cohort_frame_import(t->context, &schema, &array, &frame));
    return frame;
}

/* In two calls: by indices, and then by the numbers of another dictionary's values. */
static void close_strings(struct test *t)
{
    const uint64_t n = VALUES * 64 + test_below(t, 9000);
    uint32_t *index[2], *ids = room(n * 4), due[VALUES + 1][VALUES + 1];
    uint8_t *valid[2];
    uint32_t count = 0;
    cohort_factor *factor = NULL;
    OK(t, cohort_factor_create(t->context, 2, NULL, &factor));
    memset(due, 0xff, sizeof due);
    for (int call = 0; call < 2; call++) {
        for (int c = 0; c < 2; c++) {
            index[c] = room(n * 4);
            valid[c] = room(n / 8 + 1);
            for (uint64_t i = 0; i < n; i++) {
                index[c][i] = (uint32_t)test_below(t, call ? VALUES - 2 : VALUES);
                valid[c][i / 8] |= (uint8_t)(!!test_below(t, 9) << (i & 7));
            }
        }
        cohort_frame *frame = strings(t, n, index, valid);
        OK(t, cohort_factor_add(factor, frame, ids));
        for (uint64_t i = 0; i < n; i++) {
            const uint32_t a = valid[0][i / 8] >> (i & 7) & 1 ? index[0][i] : VALUES;
            const uint32_t b = valid[1][i / 8] >> (i & 7) & 1 ? index[1][i] : VALUES;
            count += due[a][b] == COHORT_NO_ID;
            due[a][b] = due[a][b] == COHORT_NO_ID ? count - 1 : due[a][b];
            REQUIREF(t, ids[i] == due[a][b], "call %d, row %llu: id %u, not %u", call, (unsigned long long)i,
                     ids[i], due[a][b]);
        }
        cohort_frame_release(frame);
        for (int c = 0; c < 2; c++)
            free(index[c]), free(valid[c]);
    }
    cohort_factor_destroy(factor);
    free(ids);
}

/* ---- numbers by their indices -------------------------------------------------------------------------- */

/* What is in dictionaries: near to each other, but for the ends. */
#define NUMBERS 9
static const int32_t number_of[NUMBERS] = {INT32_MIN, -5, -1, 0, 1, 7, 90, 1000, INT32_MAX};

/* A column of a dictionary that has values twice, null values and values of no row. */
struct indexed {
    uint32_t values; /* of the dictionary */
    int32_t value[2 * NUMBERS];
    uint32_t number[2 * NUMBERS]; /* NUMBERS: null */
    uint8_t is_there[8];
    uint8_t *index, *valid;
};

static void indexed_fill(struct test *t, struct indexed *x, uint64_t n, uint32_t low, uint32_t high)
{
    memset(x, 0, sizeof *x);
    x->values = 1 + (uint32_t)test_below(t, 2 * NUMBERS);
    const uint32_t used = 1 + (uint32_t)test_below(t, x->values);
    for (uint32_t i = 0; i < x->values; i++) {
        const int is_there = test_below(t, 6) != 0;
        const uint32_t number = low + (uint32_t)test_below(t, high - low);
        x->value[i] = number_of[number];
        x->number[i] = is_there ? number : NUMBERS;
        x->is_there[i / 8] |= (uint8_t)(is_there << (i & 7));
    }
    x->index = room(n);
    x->valid = room(n / 8 + 1);
    for (uint64_t i = 0; i < n; i++) {
        const int is_valid = test_below(t, 30) != 0;
        x->index[i] = (uint8_t)test_below(t, is_valid ? used : 256);
        x->valid[i / 8] |= (uint8_t)(is_valid << (i & 7));
    }
}

static uint32_t indexed_at(const struct indexed *x, uint64_t row)
{
    return x->valid[row / 8] >> (row & 7) & 1 ? x->number[x->index[row]] : NUMBERS;
}

/* One at a time. */
static cohort_frame *indexed_frame(struct test *t, uint64_t n, uint32_t columns, const struct indexed *x)
{
    static const void *held[COLUMNS][2], *buffers[COLUMNS][2], *none[1];
    static struct ArrowSchema number[COLUMNS], own[COLUMNS], *fields[COLUMNS];
    static struct ArrowArray value[COLUMNS], column[COLUMNS], *children[COLUMNS];
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = columns, .children = fields, .release = let_schema};
    struct ArrowArray array = {.length = (int64_t)n,
                               .n_buffers = 1,
                               .buffers = none,
                               .n_children = columns,
                               .children = children,
                               .release = let_array};
    cohort_frame *frame = NULL;
    for (uint32_t c = 0; c < columns; c++) {
        held[c][0] = x[c].is_there, held[c][1] = x[c].value;
        buffers[c][0] = x[c].valid, buffers[c][1] = x[c].index;
        number[c] = (struct ArrowSchema){
            .format = "i", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = let_schema};
        value[c] = (struct ArrowArray){.length = x[c].values,
                                       .null_count = -1,
                                       .n_buffers = 2,
                                       .buffers = held[c],
                                       .release = let_array};
        own[c] = (struct ArrowSchema){.format = "C",
                                      .name = c ? "b" : "a",
                                      .flags = ARROW_FLAG_NULLABLE,
                                      .dictionary = &number[c],
                                      .release = let_schema};
        column[c] = (struct ArrowArray){.length = (int64_t)n,
                                        .null_count = -1,
                                        .n_buffers = 2,
                                        .buffers = buffers[c],
                                        .dictionary = &value[c],
                                        .release = let_array};
        fields[c] = &own[c];
        children[c] = &column[c];
    }
    OK(t, cohort_frame_import(t->context, &schema, &array, &frame));
    return frame;
}

/* Several calls, whose dictionaries have more and more of the values. */
static void indexed_keys(struct test *t, uint32_t columns)
{
    uint32_t due[NUMBERS + 1][NUMBERS + 1], count = 0;
    uint8_t nulls_equal[2] = {(uint8_t)test_below(t, 2), (uint8_t)test_below(t, 2)};
    cohort_factor *factor = NULL;
    OK(t, cohort_factor_create(t->context, columns, nulls_equal, &factor));
    memset(due, 0xff, sizeof due);
    for (uint32_t call = 0; call < 4; call++) {
        const uint64_t n = call == 2 ? test_below(t, 40) : 64 * NUMBERS + test_below(t, 9000);
        const uint32_t low = test_below(t, 2) ? 3 - call : 0, high = 4 + call < 7 ? 4 + call : NUMBERS;
        struct indexed x[2] = {{0}};
        uint32_t *ids = room(n * 4);
        for (uint32_t c = 0; c < columns; c++)
            indexed_fill(t, &x[c], n, low, high);
        cohort_frame *frame = indexed_frame(t, n, columns, x);
        OK(t, cohort_factor_add(factor, frame, ids));
        for (uint64_t i = 0; i < n; i++) {
            const uint32_t a = indexed_at(&x[0], i), b = columns > 1 ? indexed_at(&x[1], i) : 0;
            const int is_key = (a < NUMBERS || nulls_equal[0]) && (b < NUMBERS || nulls_equal[1]);
            if (is_key && due[a][b] == COHORT_NO_ID)
                due[a][b] = count++;
            REQUIREF(t, ids[i] == (is_key ? due[a][b] : COHORT_NO_ID),
                     "%u columns, call %u, row %llu of %llu: id %u, not %u", columns, call,
                     (unsigned long long)i, (unsigned long long)n, ids[i], is_key ? due[a][b] : COHORT_NO_ID);
        }
        EQUAL(t, cohort_factor_count(factor), count);
        cohort_frame_release(frame);
        for (uint32_t c = 0; c < columns; c++)
            free(x[c].index), free(x[c].valid);
        free(ids);
    }
    cohort_factor_destroy(factor);
}

static void close_indices(struct test *t)
{
    static const unsigned threads[] = {1, 2, 5, 17};
    for (uint64_t round = 0; round < test_scale(t, 32, 48, 160); round++) {
        t->context = context_of(t, threads[test_below(t, 4)], !test_below(t, 3));
        indexed_keys(t, 1 + round % 2);
        cohort_context_destroy(t->context);
        t->context = NULL;
    }
}

/* Rows that are null alone tell nothing of the words that come: these have a table by word all the same. */
static void close_behind_nulls(struct test *t)
{
    uint64_t values[1000];
    uint32_t ids[1000];
    uint8_t valid[125];
    struct keys_table table;
    struct keys_column column = {.kind = KEYS_UNSIGNED, .bytes = 8, .fill = 8};
    const struct keys_words words = {1, &column, NULL, NULL, NULL, 0, NULL};
    struct keys_batch b = {.n = 1000, .words = &words, .ids = ids, .passing = 1};
    const struct keys_backend *keys = t->context->backend->keys;
    keys_table_open(&table);
    column.data = values;
    column.validity = valid;
    for (uint32_t step = 0; step < 3; step++) {
        memset(valid, step ? 0xf0 : 0, sizeof valid);
        for (uint64_t i = 0; i < 1000; i++)
            values[i] = (5ull << 40) + i % 100;
        OK(t, keys->add(t->context, &table, &b));
        for (uint64_t i = 0; i < 1000; i++)
            EQUAL(t, ids[i] == 0, !step || i % 8 < 4);
        EQUAL(t, table.count, step ? 101 : 1);
        CHECK(t, table.direct != NULL);
    }
    pool_give(t->context, b.first);
    keys->drop(t->context, &table);
}

const struct test_case test_cases[] = {{"close", close_keys, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {"types", close_types, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {"unknown", close_unknown, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {"strings", close_strings, 0},
                                       {"indices", close_indices, TEST_NO_CONTEXT},
                                       {"behind nulls", close_behind_nulls, TEST_ON_CPU},
                                       {NULL, NULL, 0}};
