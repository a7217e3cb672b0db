/* test_frame.c: frames from Arrow and back: every type, chunk, offset and layout; views of frames; gathers;
 * plain arrays; memory that ends. */
#include "model.h"

#include <sys/mman.h>

#define FRAMES 60

static void check_alive(struct test *t)
{
    EQUAL(t, model_alive, 0);
}

/* A GPU has strings as dictionaries alone. */
static int is_string(const struct model_column *c)
{
    return strchr("uUzZv", c->format[0]) != NULL && !c->index[0];
}

static void suit_device(const struct test *t, struct model *m)
{
    for (uint32_t i = 0; t->kind != TEST_CPU && i < m->columns; i++)
        if (is_string(&m->column[i]))
            strcpy(m->column[i].index, "i");
}

static void random_model(struct test *t, struct model *m, uint64_t most, uint32_t columns)
{
    struct model_plan plan = {.rows = test_below(t, most), .distinct = 1 + test_below(t, 40), .wild = 1};
    plan.nulls = test_below(t, 2) ? (uint32_t)test_below(t, 101) : 0;
    plan.dictionaries = 1;
    model_random(t, m, columns, &plan);
    suit_device(t, m);
}

/* ---- there and back ------------------------------------------------------------------------------------ */

static void round_trip(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, FRAMES, 4 * FRAMES, 10 * FRAMES); round++) {
        struct model m, back;
        random_model(t, &m, round % 7 ? 300 : 3000, (uint32_t)test_below(t, 6));
        cohort_frame *frame = model_frame(t, &m, t->context);
        EQUAL(t, cohort_frame_rows(frame), m.rows);
        EQUAL(t, cohort_frame_columns(frame), m.columns);
        model_of_frame(t, &back, frame);
        model_same(t, &m, &back);
        cohort_frame_release(frame);
        model_close(&back);
        model_close(&m);
    }
    check_alive(t);
}

/* Every type by itself, without chance. */
static void every_type(struct test *t)
{
    for (const char *const *format = model_formats; *format; format++)
        for (int dictionary = 0; dictionary < 2; dictionary++) {
            struct model m, back;
            struct model_plan plan = {.rows = 200, .distinct = 30, .nulls = 20, .wild = 1};
            plan.dictionaries = 2 * dictionary;
            model_open(&m, plan.rows, 1);
            model_fill(t, &m, 0, "only", *format, &plan);
            if (t->kind != TEST_CPU && is_string(&m.column[0])) {
                model_close(&m);
                continue;
            }
            cohort_frame *frame = model_frame(t, &m, t->context);
            cohort_column_info info = COHORT_COLUMN_INFO_INIT;
            OK(t, cohort_frame_get_column(frame, 0, &info));
            CHECKF(t, !strcmp(info.format, *format) && !strcmp(info.name, "only"), "format %s", info.format);
            EQUAL(t, info.dictionary, dictionary);
            model_of_frame(t, &back, frame);
            model_same(t, &m, &back);
            model_close(&back);
            model_close(&m);
            cohort_frame_release(frame);
        }
    check_alive(t);
}

/* Chunks go out as they came in. */
static void streams(struct test *t)
{
    for (uint64_t round = 0; round < FRAMES; round++) {
        struct model m, back;
        struct ArrowArrayStream stream;
        cohort_frame *again = NULL;
        random_model(t, &m, 400, (uint32_t)test_below(t, 6));
        cohort_frame *frame = model_frame(t, &m, t->context);
        OK(t, cohort_frame_export_stream(frame, &stream));
        cohort_frame_release(frame);
        OK(t, cohort_frame_import_stream(t->context, &stream, &again));
        CHECK(t, !stream.release);
        model_of_frame(t, &back, again);
        model_same(t, &m, &back);
        cohort_frame_release(again);
        model_close(&back);
        model_close(&m);
    }
    check_alive(t);
}

static void plain_arrays(struct test *t)
{
    const float prices[] = {1.5f, 2.5f, -1};
    const uint8_t valid[] = {5};
    const cohort_array arrays[] = {{"price", COHORT_F32, 0, prices, valid},
                                   {NULL, COHORT_U8, 0, "abc", NULL}};
    cohort_frame *frame = NULL;
    struct model m;
    OK(t, cohort_frame_create(t->context, 3, 2, arrays, &frame));
    model_of_frame(t, &m, frame);
    CHECK(t, !m.column[0].cell[1].bytes && m.column[1].cell[2].bytes[0] == 'c');
    CHECK(t, !memcmp(m.column[0].cell[2].bytes, &prices[2], 4));
    cohort_frame_release(frame);
    model_close(&m);
    cohort_array wrong = arrays[0];
    wrong.type = (cohort_type)99;
    FAILS(t, t->context, cohort_frame_create(t->context, 3, 1, &wrong, &frame), COHORT_RANGE, "type", "99");
    wrong = arrays[0];
    wrong.values = NULL;
    FAILS(t, t->context, cohort_frame_create(t->context, 3, 1, &wrong, &frame), COHORT_NULL, "values", NULL);
    OK(t, cohort_frame_create(t->context, 0, 1, &wrong, &frame));
    cohort_frame_release(frame);
    FAILS(t, NULL, cohort_frame_create(NULL, 3, 1, arrays, &frame), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_frame_create(t->context, 3, 1, NULL, &frame), COHORT_NULL, "array", NULL);
    FAILS(t, t->context, cohort_frame_create(t->context, 3, 1, arrays, NULL), COHORT_NULL, "out", NULL);
}

/* ---- frames of frames ---------------------------------------------------------------------------------- */

static void slice_model(struct model *to, const struct model *from, uint64_t first, uint64_t rows)
{
    model_open(to, rows, from->columns);
    for (uint32_t c = 0; c < from->columns; c++) {
        memcpy(to->column[c].name, from->column[c].name, sizeof to->column[c].name);
        for (uint64_t i = 0; i < rows; i++)
            to->column[c].cell[i] = from->column[c].cell[first + i];
    }
}

static void slices(struct test *t)
{
    for (uint64_t round = 0; round < 2 * FRAMES; round++) {
        struct model m, part, back;
        random_model(t, &m, 300, (uint32_t)test_below(t, 6));
        cohort_frame *frame = model_frame(t, &m, t->context), *slice = NULL;
        uint64_t first = test_below(t, m.rows + 1), rows = test_below(t, m.rows - first + 1);
        OK(t, cohort_frame_slice(frame, first, rows, &slice));
        cohort_frame_release(frame);
        slice_model(&part, &m, first, rows);
        model_of_frame(t, &back, slice);
        model_same(t, &part, &back);
        cohort_frame_release(slice);
        model_close(&back);
        model_close(&part);
        model_close(&m);
    }
    check_alive(t);
}

/* One row is one row, in messages too. */
static void slice_refuses(struct test *t)
{
    const int64_t values[] = {1, 2};
    const cohort_array array = {"a", COHORT_I64, 0, values, NULL};
    for (uint64_t rows = 1; rows <= 2; rows++) {
        cohort_frame *frame = NULL, *slice = NULL;
        OK(t, cohort_frame_create(t->context, rows, 1, &array, &frame));
        FAILS(t, t->context, cohort_frame_slice(frame, rows, 1, &slice), COHORT_RANGE, "rows is 1;", NULL);
        const char *said = strrchr(cohort_message(t->context), ';');
        CHECK(t, said && !strcmp(said, rows > 1 ? "; the frame has 2 rows" : "; the frame has 1 row"));
        cohort_frame_release(frame);
    }
}

static void selections(struct test *t)
{
    struct model m, back;
    struct model_plan plan = {.rows = 50, .distinct = 9, .nulls = 10};
    const char *const formats[] = {"l", "d:9,2", "b"};
    const uint32_t columns[] = {2, 0, 2};
    const char *const names[] = {"x", NULL, "y"}, *const picked[] = {"b", "a"};
    cohort_frame *some = NULL, *both = NULL, *pick = NULL;
    cohort_column_info info = COHORT_COLUMN_INFO_INIT;
    uint32_t at = 0;
    model_open(&m, 50, 3);
    for (uint32_t i = 0; i < 3; i++)
        model_fill(t, &m, i, (const char[2]){(char)('a' + i), 0}, formats[i], &plan);
    cohort_frame *frame = model_frame(t, &m, t->context);
    OK(t, cohort_frame_select(frame, 3, columns, names, &some));
    OK(t, cohort_frame_pick(frame, 2, picked, &pick));
    OK(t, cohort_frame_beside(frame, pick, NULL, &both));
    EQUAL(t, cohort_frame_columns(some), 3);
    OK(t, cohort_frame_get_column(some, 1, &info));
    CHECK(t, !strcmp(info.name, "a") && !strcmp(info.format, "l"));
    OK(t, cohort_frame_find(some, "y", &at));
    EQUAL(t, at, 2);
    OK(t, cohort_frame_find(both, "b_right", &at));
    EQUAL(t, at, 3);
    FAILS(t, t->context, cohort_frame_find(both, "none", &at), COHORT_RANGE, "none", NULL);
    model_of_frame(t, &back, both);
    for (uint64_t i = 0; i < 50; i++)
        CHECK(t, cell_same("l", back.column[4].cell[i], m.column[0].cell[i]));
    cohort_frame_release(some);
    cohort_frame_release(both);
    cohort_frame_release(pick);
    cohort_frame_release(cohort_frame_retain(frame));
    cohort_frame_release(frame);
    model_close(&back);
    model_close(&m);
    check_alive(t);
}

/* Each name that the left frame has, in whatever place, gets the suffix. */
static void names_beside(struct test *t)
{
    static const uint8_t v[1];
    static const char *const names[] = {"x", "y", "z", "", "x"};
    static const char *const due[2][5] = {{"x_right", "y_right", "z_right", "_right", "x_right"},
                                          {"x'", "y'", "z'", "'", "x'"}};
    for (uint32_t left = 1; left < 5; left++)
        for (int suffix = 0; suffix < 2; suffix++) {
            cohort_array a[5];
            cohort_frame *some = NULL, *all = NULL, *made = NULL;
            for (uint32_t i = 0; i < 5; i++)
                a[i] = (cohort_array){names[i], COHORT_U8, 0, v, NULL};
            OK(t, cohort_frame_create(t->context, 1, left, a, &some));
            OK(t, cohort_frame_create(t->context, 1, 5, a, &all));
            OK(t, cohort_frame_beside(some, all, suffix ? "'" : NULL, &made));
            EQUAL(t, cohort_frame_columns(made), left + 5);
            for (uint32_t i = 0; i < left + 5; i++) {
                cohort_column_info info = COHORT_COLUMN_INFO_INIT;
                const uint32_t k = i < left ? i : i - left;
                OK(t, cohort_frame_get_column(made, i, &info));
                CHECK(t, !strcmp(info.name, i < left || (k >= left && k < 4) ? names[k] : due[suffix][k]));
            }
            cohort_frame_release(some);
            cohort_frame_release(all);
            cohort_frame_release(made);
        }
}

/* ---- gathers ------------------------------------------------------------------------------------------- */

static void gathered_model(struct model *to, const struct model *from, uint64_t n, const struct column *rows)
{
    model_open(to, n, from->columns);
    for (uint32_t c = 0; c < from->columns; c++)
        for (uint64_t i = 0; i < n; i++) {
            uint64_t row = column_get(rows, i);
            if (row < from->rows)
                to->column[c].cell[i] = from->column[c].cell[row];
        }
}

static void gathers(struct test *t)
{
    for (uint64_t round = 0; round < 2 * FRAMES; round++) {
        struct model m, part, back;
        /* sixteen columns are fetched together */
        random_model(t, &m, 300, (uint32_t)test_below(t, round % 10 ? 6 : 50));
        uint32_t bytes = test_below(t, 2) ? 4 : 8;
        uint64_t n = test_below(t, round % 5 ? 300 : 4000), outer = test_below(t, 3);
        struct column *rows = column_new(t, n, bytes);
        for (uint64_t i = 0; i < n; i++)
            column_put(rows, i,
                       !m.rows || (outer && test_below(t, 10) == 0) ? UINT64_MAX : test_below(t, m.rows));
        cohort_frame *frame = model_frame(t, &m, t->context), *made = NULL;
        OK(t, cohort_gather(frame, n, bytes, column_send(rows), &made));
        cohort_frame_release(frame);
        gathered_model(&part, &m, n, rows);
        model_of_frame(t, &back, made);
        model_same(t, &part, &back);
        cohort_frame_release(made);
        model_close(&back);
        model_close(&part);
        model_close(&m);
        column_drop(t, NULL);
    }
    check_alive(t);
}

/* Strings of up to 2^31 - 1 bytes, which begin anywhere: their views lie in their buffers, whose sizes are
 * told. */
static void gather_long(struct test *t)
{
    const int64_t at[] = {0, (1ll << 30) - 10, (1ll << 30) - 10 + 1600000000, (1ll << 32) - 1,
                          (3ll << 31) - 2};
    const uint32_t rows[] = {3, 1, 0, 2};
    const uint64_t bytes = 7ull << 30; /* that nobody reads but for the first ones of each string */
    void *heap = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const void *buffers[] = {NULL, at, heap};
    struct ArrowSchema schema = {.format = "U", .name = "u", .release = model_let_go_schema};
    struct ArrowArray array = {
        .length = 4, .n_buffers = 3, .buffers = buffers, .release = model_let_go_array};
    cohort_frame *frame = NULL, *made = NULL, *back = NULL;
    REQUIRE(t, heap != MAP_FAILED);
    OK(t, cohort_frame_import(t->context, &schema, &array, &frame));
    OK(t, cohort_gather(frame, 4, 4, rows, &made));
    OK(t, cohort_frame_export(made, &schema, &array));
    const struct ArrowArray *a = array.children[0];
    const int64_t *sizes = a->buffers[a->n_buffers - 1];
    for (int i = 0; i < 4; i++) {
        int32_t view[4];
        memcpy(view, (const char *)a->buffers[1] + 16 * i, sizeof view);
        EQUAL(t, view[0], at[rows[i] + 1] - at[rows[i]]);
        REQUIRE(t, view[2] >= 0 && view[2] < a->n_buffers - 3);
        CHECK(t, (const char *)a->buffers[2 + view[2]] + view[3] == (const char *)heap + at[rows[i]]);
        CHECK(t, (int64_t)view[3] + view[0] <= sizes[view[2]]);
        CHECK(t, (const char *)a->buffers[2 + view[2]] + sizes[view[2]] <= (const char *)heap + at[4]);
    }
    OK(t, cohort_frame_import(t->context, &schema, &array, &back));
    cohort_frame_release(back);
    cohort_frame_release(made);
    cohort_frame_release(frame);
    munmap(heap, bytes);
}

static void gather_refuses(struct test *t)
{
    const int64_t values[] = {1, 2, 3};
    const cohort_array array = {"a", COHORT_I64, 0, values, NULL};
    struct column *rows = column_new(t, 3, 4);
    cohort_frame *frame = NULL, *made = NULL;
    OK(t, cohort_frame_create(t->context, 3, 1, &array, &frame));
    for (uint64_t i = 0; i < 3; i++)
        column_put(rows, i, i == 1 ? 3 : 0);
    FAILS(t, t->context, cohort_gather(frame, 3, 4, column_send(rows), &made), COHORT_RANGE, "rows[1]", "3");
    CHECK(t, !made);
    FAILS(t, t->context, cohort_gather(frame, 3, 5, column_send(rows), &made), COHORT_RANGE, "bytes", "5");
    FAILS(t, t->context, cohort_gather(frame, 3, 4, NULL, &made), COHORT_NULL, "rows", NULL);
    FAILS(t, NULL, cohort_gather(NULL, 3, 4, column_send(rows), &made), COHORT_NULL, "frame", NULL);
    cohort_frame_release(frame);
}

/* All ones is no row where there are as many, either. */
static void gathers_of_many(struct test *t)
{
    const uint64_t n = (1ull << 32) + 64, last = UINT32_MAX;
    struct ArrowSchema schema;
    struct ArrowArray out;
    uint8_t *bits = mmap(NULL, n / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cohort_frame *one = NULL, *frame = NULL;
    REQUIRE(t, bits != MAP_FAILED);
    const cohort_array array = {"a", COHORT_U8, 0, bits, NULL};
    bits[last / 8] = 0xc0;
    OK(t, cohort_frame_create(t->context, 1, 1, &array, &one));
    OK(t, cohort_frame_export(one, &schema, &out));
    cohort_frame_release(one);
    schema.children[0]->format = "b";
    out.length = out.children[0]->length = (int64_t)n;
    out.children[0]->buffers[1] = bits;
    OK(t, cohort_frame_import(t->context, &schema, &out, &frame));
    const uint32_t narrow[3] = {last - 1, last, 0};
    const uint64_t wide[3] = {last, UINT64_MAX, 0};
    for (uint32_t bytes = 4; bytes <= 8; bytes += 4) {
        cohort_frame *made = NULL;
        OK(t, cohort_gather(frame, 3, bytes, bytes == 4 ? (const void *)narrow : wide, &made));
        OK(t, cohort_frame_export(made, &schema, &out));
        const uint8_t *const *got = (const uint8_t *const *)out.children[0]->buffers;
        CHECK(t, got[0] && (got[0][0] & 7) == 5 && (got[1][0] & 5) == 1);
        schema.release(&schema);
        out.release(&out);
        cohort_frame_release(made);
    }
    cohort_frame_release(frame);
    munmap(bits, n / 8);
}

/* ---- devices ------------------------------------------------------------------------------------------- */

/* From one context to another of the same device, in its memory, with an event to wait for. */
static void devices(struct test *t)
{
    struct model m, back;
    struct model_plan plan = {.rows = 100, .distinct = 9, .nulls = 10, .wild = 1};
    cohort_context_options options = test_context_options(t);
    cohort_context *other = NULL;
    struct ArrowSchema schema;
    struct ArrowDeviceArray array;
    cohort_frame *again = NULL, *moved = NULL;
    struct ledger ledger = {0};
    uint64_t rows[40];
    options.alloc = test_allocator(t, &ledger);
    OK(t, cohort_context_create(&options, &other));
    model_open(&m, 100, 3);
    model_fill(t, &m, 0, "a", "l", &plan);
    model_fill(t, &m, 1, "b", "b", &plan);
    model_fill(t, &m, 2, "c", "d:9,2", &plan);
    cohort_frame *frame = model_frame(t, &m, other);
    for (uint64_t i = 0; i < 40; i++)
        rows[i] = i * 2;
    REQUIRE(t, !cohort_gather(frame, 40, 8, rows, &moved));
    REQUIRE(t, !cohort_frame_export_device(moved, &schema, &array));
    EQUAL(t, array.device_type, t->kind == TEST_CPU ? ARROW_DEVICE_CPU : ARROW_DEVICE_CUDA);
    CHECK(t, (array.sync_event != NULL) == (t->kind != TEST_CPU));
    cohort_frame_release(frame);
    cohort_frame_release(moved);
    cohort_context_destroy(other);
    if (t->kind != TEST_CPU) {
        array.device_id += 1;
        FAILS(t, t->context, cohort_frame_import_device(t->context, &schema, &array, &again),
              COHORT_BAD_POINTER, "device_id", NULL);
        array.device_id -= 1;
    }
    array.device_type += 100;
    FAILS(t, t->context, cohort_frame_import_device(t->context, &schema, &array, &again), COHORT_UNSUPPORTED,
          "device_type", NULL);
    array.device_type -= 100;
    OK(t, cohort_frame_import_device(t->context, &schema, &array, &again));
    model_of_frame(t, &back, again);
    EQUAL(t, back.rows, 40);
    for (uint32_t c = 0; c < 3; c++)
        for (uint64_t i = 0; i < 40; i++)
            CHECK(t, cell_same(m.column[c].format, back.column[c].cell[i], m.column[c].cell[i * 2]));
    cohort_frame_release(again);
    test_ledger_check(t, &ledger);
    model_close(&back);
    model_close(&m);
    check_alive(t);
}

/* ---- who lives how long -------------------------------------------------------------------------------- */

/* What was exported outlives frame and context. */
static void outlives(struct test *t)
{
    struct ledger ledger = {0};
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL;
    const uint32_t rows[] = {2, 0, 1, UINT32_MAX};
    options.alloc = test_allocator(t, &ledger);
    OK(t, cohort_context_create(&options, &context));
    struct model m, back, part;
    struct model_plan plan = {.rows = 3, .distinct = 3, .wild = 1, .dictionaries = 2};
    struct ArrowSchema schema;
    struct ArrowArray array;
    model_random(t, &m, 4, &plan);
    cohort_frame *frame = model_frame(t, &m, context), *made = NULL;
    cohort_status s = cohort_gather(frame, 4, 4, rows, &made);
    REQUIREF(t, !s, "%s", cohort_message(context));
    s = cohort_frame_export(made, &schema, &array);
    REQUIREF(t, !s, "%s", cohort_message(context));
    cohort_frame_release(frame);
    cohort_frame_release(made);
    cohort_context_destroy(context);
    model_read(t, &back, &schema, &array);
    struct column *numbers = column_new_in(t, TEST_HOST, 4, 4);
    memcpy(numbers->data, rows, sizeof rows);
    gathered_model(&part, &m, 4, numbers);
    model_same(t, &part, &back);
    /* a child moved out lives on when the rest is released */
    struct ArrowArray child = *array.children[1];
    array.children[1]->release = NULL;
    array.release(&array);
    schema.release(&schema);
    child.release(&child);
    model_close(&back);
    model_close(&part);
    model_close(&m);
    test_ledger_check(t, &ledger);
    check_alive(t);
}

/* An allocation fails at the k-th place: nothing is lost and nothing left over. */
static void no_memory(struct test *t)
{
    for (uint64_t limit = 1;; limit += 1 + limit / 4) {
        struct ledger ledger = {.limit = limit};
        cohort_context_options options = test_context_options(t);
        cohort_context *context = NULL;
        cohort_frame *frame = NULL, *made = NULL;
        const uint32_t rows[] = {5, 1, 99, 7, 7};
        struct model m;
        struct model_plan plan = {.rows = 100, .distinct = 3, .nulls = 10, .dictionaries = 2};
        struct ArrowArrayStream stream;
        int whole = 0;
        options.alloc = test_allocator(t, &ledger);
        if (!cohort_context_create(&options, &context)) {
            model_random(t, &m, 3, &plan);
            model_stream(t, &m, &stream);
            cohort_status s = cohort_frame_import_stream(context, &stream, &frame);
            if (!s)
                s = cohort_gather(frame, 5, 4, rows, &made);
            CHECK(t, s == COHORT_OK || s == COHORT_NO_MEMORY);
            whole = s == COHORT_OK;
            cohort_frame_release(frame);
            cohort_frame_release(made);
            cohort_context_destroy(context);
            model_close(&m);
        }
        test_ledger_check(t, &ledger);
        check_alive(t);
        if (whole)
            return;
    }
}

const struct test_case test_cases[] = {
    {"round_trip", round_trip, 0},
    {"every_type", every_type, 0},
    {"streams", streams, 0},
    {"plain_arrays", plain_arrays, 0},
    {"slices", slices, 0},
    {"slice_refuses", slice_refuses, 0},
    {"selections", selections, 0},
    {"names_beside", names_beside, 0},
    {"gathers", gathers, TEST_EACH_MEMORY},
    {"gather_long", gather_long, TEST_ON_CPU},
    {"gather_refuses", gather_refuses, TEST_EACH_MEMORY},
    {"gathers_of_many", gathers_of_many, TEST_ON_CPU},
    {"devices", devices, 0},
    {"outlives", outlives, TEST_NO_CONTEXT},
    {"no_memory", no_memory, TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
