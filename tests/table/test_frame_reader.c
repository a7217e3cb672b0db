/* test_frame_reader.c: frames that are read by way of contexts other than their own: the same values,
 * whatever ends first, and by several threads at once. */
#include <pthread.h>

#include "model.h"

static cohort_context *own_context(struct test *t, struct ledger *ledger)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL;
    options.alloc = test_allocator(t, ledger);
    OK(t, cohort_context_create(&options, &context));
    return context;
}

/* A GPU has strings as dictionaries alone. */
static void random_model(struct test *t, struct model *m, uint64_t rows)
{
    const struct model_plan plan = {
        .rows = rows, .distinct = 1 + test_below(t, 40), .nulls = 20, .wild = 1, .dictionaries = 1};
    model_random(t, m, 1 + (uint32_t)test_below(t, 5), &plan);
    for (uint32_t i = 0; t->kind != TEST_CPU && i < m->columns; i++)
        if (strchr("uUzZv", m->column[i].format[0]) && !m->column[i].index[0])
            strcpy(m->column[i].index, "i");
}

static void same_as(struct test *t, const struct model *m, cohort_frame *frame)
{
    struct model back;
    model_of_frame(t, &back, frame);
    model_same(t, m, &back);
    model_close(&back);
}

/* Memory that the frame's own context lent, as results have, and memory that an array brought. The frame and
 * its context end before the reader does, or behind it. */
static void outlives(struct test *t)
{
    for (int round = 0; round < 24; round++) {
        struct ledger first = {0}, second = {0};
        struct model m;
        cohort_context *owner = own_context(t, &first), *other = own_context(t, &second);
        const uint64_t rows = 1 + test_below(t, 300);
        const int is_made = round & 1, ends_first = round & 2;
        uint64_t *order = malloc(rows * 8);
        cohort_frame *made = NULL, *reader = NULL, *again = NULL;
        random_model(t, &m, rows);
        cohort_frame *frame = model_frame(t, &m, owner);
        for (uint64_t i = 0; order && i < rows; i++)
            order[i] = i;
        REQUIREF(t, order && (!is_made || !cohort_gather(frame, rows, 8, order, &made)), "%s",
                 cohort_message(owner));
        OK(t, cohort_frame_reader(is_made ? made : frame, other, &reader));
        cohort_frame_release(frame);
        cohort_frame_release(made);
        if (ends_first)
            cohort_context_destroy(owner);
        EQUAL(t, cohort_frame_rows(reader), rows);
        same_as(t, &m, reader);
        REQUIREF(t, !cohort_gather(reader, rows, 8, order, &again), "%s", cohort_message(other));
        same_as(t, &m, again);
        cohort_frame_release(again);
        if (ends_first)
            cohort_frame_release(reader);
        cohort_context_destroy(other);
        if (!ends_first) {
            cohort_frame_release(reader);
            cohort_context_destroy(owner);
        }
        free(order);
        model_close(&m);
        test_ledger_check(t, &first);
        test_ledger_check(t, &second);
        EQUAL(t, model_alive, 0);
    }
}

/* ---- threads ------------------------------------------------------------------------------------------- */

#define READERS 4

struct reading {
    struct test *test;
    const cohort_frame *frame;
    const uint64_t *rows; /* n of them, in an order of the thread's own */
    uint64_t n, keys;
    pthread_t thread;
    int bad;
};

/* Is row i of the frame i % keys, and 3 i? */
static int is_right(cohort_frame *frame, const struct reading *r)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (cohort_frame_export(frame, &schema, &array))
        return 0;
    const uint64_t *key = array.children[0]->buffers[1], *value = array.children[1]->buffers[1];
    int right = array.length == (int64_t)r->n;
    for (uint64_t i = 0; right && i < r->n; i++)
        right = key[i] == r->rows[i] % r->keys && value[i] == 3 * r->rows[i];
    schema.release(&schema);
    array.release(&array);
    return right;
}

static void *reading_main(void *arg)
{
    struct reading *r = arg;
    cohort_context_options options = test_context_options(r->test);
    cohort_context *context = NULL;
    uint32_t *ids = malloc(r->n * 4);
    const uint32_t key = 0;
    r->bad = !ids || cohort_context_create(&options, &context);
    for (int round = 0; !r->bad && round < 5; round++) {
        cohort_frame *reader = NULL, *made = NULL, *keys = NULL;
        r->bad = cohort_frame_reader(r->frame, context, &reader) ||
                 cohort_gather(reader, r->n, 8, r->rows, &made) ||
                 cohort_frame_select(reader, 1, &key, NULL, &keys) ||
                 cohort_factorize(keys, NULL, ids, NULL) || !is_right(made, r);
        for (uint64_t i = 0; !r->bad && i < r->n; i++)
            r->bad = ids[i] != i % r->keys;
        cohort_frame_release(reader);
        cohort_frame_release(made);
        cohort_frame_release(keys);
    }
    cohort_context_destroy(context);
    free(ids);
    return NULL;
}

/* While the frame's own context works, too. */
static void threads(struct test *t)
{
    const uint64_t n = test_size(t, 40000, 3000), keys = n / 3;
    uint64_t *key = malloc(2 * n * 8), *rows = malloc(READERS * n * 8), *value = key + n;
    struct reading reading[READERS];
    cohort_frame *frame = NULL;
    if (!key || !rows)
        abort();
    for (uint64_t i = 0; i < n; i++) {
        key[i] = i % keys;
        value[i] = 3 * i;
    }
    const cohort_array arrays[] = {{"key", COHORT_U64, 0, key, NULL}, {"value", COHORT_U64, 0, value, NULL}};
    OK(t, cohort_frame_create(t->context, n, 2, arrays, &frame));
    for (int k = 0; k < READERS; k++) {
        for (uint64_t i = 0; i < n; i++)
            rows[(uint64_t)k * n + i] = (i * 7 + (uint64_t)k) % n;
        reading[k] = (struct reading){t, frame, rows + (uint64_t)k * n, n, keys, 0, 0};
        REQUIRE(t, !pthread_create(&reading[k].thread, NULL, reading_main, &reading[k]));
    }
    for (int round = 0; t->kind == TEST_CPU && round < 5; round++) {
        cohort_frame *made = NULL;
        OK(t, cohort_gather(frame, n, 8, reading[0].rows, &made));
        CHECK(t, is_right(made, &reading[0]));
        cohort_frame_release(made);
    }
    for (int k = 0; k < READERS; k++) {
        pthread_join(reading[k].thread, NULL);
        EQUAL(t, reading[k].bad, 0);
    }
    cohort_frame_release(frame);
    free(key);
    free(rows);
}

/* ---- threads, and strings ------------------------------------------------------------------------------ */

/* Ids of the rows of one column, and of the same rows the other way round. */
static int number_both(cohort_frame *frame, uint32_t column, uint64_t n, uint32_t *ids)
{
    uint64_t *turned = malloc(n * 8);
    cohort_frame *keys = NULL, *made = NULL;
    for (uint64_t i = 0; turned && i < n; i++)
        turned[i] = n - 1 - i;
    int bad = !turned || cohort_frame_select(frame, 1, &column, NULL, &keys) ||
              cohort_factorize(keys, NULL, ids, NULL) || cohort_gather(keys, n, 8, turned, &made) ||
              cohort_factorize(made, NULL, ids + n, NULL);
    cohort_frame_release(keys);
    cohort_frame_release(made);
    free(turned);
    return bad;
}

struct numbering {
    struct test *test;
    cohort_frame *frame;
    const uint32_t *due; /* of both columns */
    uint64_t n;
    pthread_t thread;
    int bad;
};

static void *numbering_main(void *arg)
{
    struct numbering *r = arg;
    cohort_context_options options = test_context_options(r->test);
    cohort_context *context = NULL;
    cohort_frame *reader = NULL;
    uint32_t *ids = malloc(r->n * 8);
    r->bad =
        !ids || cohort_context_create(&options, &context) || cohort_frame_reader(r->frame, context, &reader);
    for (uint32_t c = 0; !r->bad && c < 2; c++)
        r->bad = number_both(reader, c, r->n, ids) || memcmp(ids, r->due + 2 * c * r->n, r->n * 8) != 0;
    cohort_frame_release(reader);
    cohort_context_destroy(context);
    free(ids);
    return NULL;
}

/* Strings, whose heaps the results share, and a dictionary, of which the first that makes keys of it finds
 * out, and notes in the column, whether a value comes twice. */
static void strings(struct test *t)
{
    for (int round = 0; round < 6; round++) {
        struct model m;
        struct numbering numbering[READERS];
        const struct model_plan plan = {
            .rows = test_size(t, 20000, 2000), .distinct = 1 + test_below(t, 300), .nulls = 10, .wild = 1};
        uint32_t *due = malloc(4 * plan.rows * 4);
        model_open(&m, plan.rows, 2);
        model_fill(t, &m, 0, "text", "u", &plan);
        model_fill(t, &m, 1, "code", "u", &plan);
        strcpy(m.column[1].index, "i");
        cohort_frame *own = model_frame(t, &m, t->context), *frame = model_frame(t, &m, t->context);
        for (uint32_t c = 0; c < 2; c++)
            REQUIRE(t, due && !number_both(own, c, plan.rows, due + 2 * c * plan.rows));
        cohort_frame_release(own);
        for (int k = 0; k < READERS; k++) {
            numbering[k] = (struct numbering){t, frame, due, plan.rows, 0, 0};
            REQUIRE(t, !pthread_create(&numbering[k].thread, NULL, numbering_main, &numbering[k]));
        }
        for (int k = 0; k < READERS; k++) {
            pthread_join(numbering[k].thread, NULL);
            EQUAL(t, numbering[k].bad, 0);
        }
        cohort_frame_release(frame);
        model_close(&m);
        free(due);
        EQUAL(t, model_alive, 0);
    }
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void refuses(struct test *t)
{
    const uint64_t one = 1;
    const cohort_array array = {"a", COHORT_U64, 0, &one, NULL};
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context *cpu = NULL;
    cohort_frame *frame = NULL, *reader = NULL;
    options.device = "cpu";
    OK(t, cohort_context_create(&options, &cpu));
    OK(t, cohort_frame_create(t->context, 1, 1, &array, &frame));
    FAILS(t, NULL, cohort_frame_reader(frame, NULL, &reader), COHORT_NULL, "context", NULL);
    FAILS(t, cpu, cohort_frame_reader(NULL, cpu, &reader), COHORT_NULL, "frame", NULL);
    FAILS(t, cpu, cohort_frame_reader(frame, cpu, NULL), COHORT_NULL, "out", NULL);
    reader = frame;
    if (t->kind != TEST_CPU)
        FAILS(t, cpu, cohort_frame_reader(frame, cpu, &reader), COHORT_UNSUPPORTED, "device", NULL);
    else
        OK(t, cohort_frame_reader(frame, cpu, &reader));
    CHECK(t, reader != frame && !reader == (t->kind != TEST_CPU));
    cohort_frame_release(reader);
    cohort_frame_release(frame);
    cohort_context_destroy(cpu);
}

const struct test_case test_cases[] = {{"outlives", outlives, TEST_NO_CONTEXT},
                                       {"threads", threads, TEST_ON_CPU},
                                       {"strings", strings, TEST_ON_CPU},
                                       {"refuses", refuses, 0},
                                       {NULL, NULL, 0}};
