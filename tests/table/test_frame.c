/* test_frame.c: frames from Arrow and back: every type, chunk, offset and layout; views of frames; gathers;
 * what must be refused. */
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

/* ---- gathers ------------------------------------------------------------------------------------------- */

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

/* ---- what is refused ----------------------------------------------------------------------------------- */

struct bad {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

/* A table of one column of six rows, whose structs a case then spoils. */
static struct bad good(struct test *t, const char *format, int dictionary)
{
    struct bad b;
    struct model m;
    struct model_plan plan = {.rows = 6, .distinct = 3, .nulls = 0, .dictionaries = 2 * dictionary};
    model_open(&m, 6, 1);
    model_fill(t, &m, 0, "spoiled", format, &plan);
    model_schema(&m, &b.schema);
    do { /* without offsets, which the cases put in themselves, and nulls of a dictionary */
        model_array(t, &m, 0, 6, &b.array);
        const struct ArrowArray *a = b.array.children[0];
        if (!b.array.offset && !a->offset && !(dictionary && a->dictionary->null_count))
            break;
        b.array.release(&b.array);
    } while (1);
    model_close(&m);
    return b;
}

static void expect(struct test *t, struct bad *b, cohort_status status, const char *word)
{
    cohort_frame *frame = NULL;
    FAILS(t, t->context, cohort_frame_import(t->context, &b->schema, &b->array, &frame), status, word, NULL);
    CHECK(t, !frame);
    CHECK(t, b->schema.release && b->array.release);
}

/* Spoils a field for one import. */
#define SPOILED(b, field, value, status, word) \
    do {                                       \
        __typeof__(field) kept = field;        \
        field = value;                         \
        expect(t, &b, status, word);           \
        field = kept;                          \
    } while (0)

static void end_bad(struct bad *b)
{
    b->schema.release(&b->schema);
    b->array.release(&b->array);
}

static void refuses_structs(struct test *t)
{
    struct bad b = good(t, "l", 0);
    struct ArrowArray *a = b.array.children[0];
    struct ArrowSchema *s = b.schema.children[0];
    SPOILED(b, s->format, "n", COHORT_UNSUPPORTED, "spoiled");
    SPOILED(b, s->format, "+l", COHORT_UNSUPPORTED, "+l");
    SPOILED(b, s->format, "d:76,2,256", COHORT_UNSUPPORTED, "256");
    SPOILED(b, s->format, "w:0", COHORT_UNSUPPORTED, "w:0");
    SPOILED(b, s->format, "d:39,2", COHORT_UNSUPPORTED, "d:39,2");
    SPOILED(b, s->format, "d:0,0", COHORT_UNSUPPORTED, "d:0,0");
    SPOILED(b, s->format, "", COHORT_UNSUPPORTED, "spoiled");
    SPOILED(b, s->format, NULL, COHORT_CORRUPT, "spoiled");
    SPOILED(b, a->length, -1, COHORT_CORRUPT, "length");
    SPOILED(b, a->length, 5, COHORT_CORRUPT, "length");
    SPOILED(b, a->length, INT64_MAX, COHORT_CORRUPT, "length");
    SPOILED(b, a->offset, -2, COHORT_CORRUPT, "offset");
    SPOILED(b, a->offset, INT64_MAX, COHORT_CORRUPT, "offset");
    SPOILED(b, a->null_count, 7, COHORT_CORRUPT, "null_count");
    SPOILED(b, a->null_count, -2, COHORT_CORRUPT, "null_count");
    SPOILED(b, a->null_count, 2, COHORT_CORRUPT, "null_count");
    SPOILED(b, a->n_buffers, 1, COHORT_CORRUPT, "n_buffers");
    SPOILED(b, a->n_buffers, 3, COHORT_CORRUPT, "n_buffers");
    SPOILED(b, a->buffers, NULL, COHORT_CORRUPT, "buffers");
    SPOILED(b, a->buffers[1], NULL, COHORT_CORRUPT, "buffers[1]");
    SPOILED(b, a->n_children, 1, COHORT_CORRUPT, "n_children");
    SPOILED(b, a->release, NULL, COHORT_CORRUPT, "released");
    SPOILED(b, b.array.n_children, 0, COHORT_CORRUPT, "n_children");
    SPOILED(b, b.array.children, NULL, COHORT_CORRUPT, "children");
    SPOILED(b, b.array.length, -5, COHORT_CORRUPT, "length");
    SPOILED(b, b.array.offset, 1, COHORT_CORRUPT, "length");
    SPOILED(b, b.schema.n_children, -1, COHORT_CORRUPT, "n_children");
    SPOILED(b, b.schema.children, NULL, COHORT_CORRUPT, "children");
    SPOILED(b, s->metadata, "\xff\xff\xff\xff", COHORT_CORRUPT, "metadata");
    const unsigned char none = 0;
    SPOILED(b, b.array.buffers[0], (const void *)&none, COHORT_UNSUPPORTED, "null");
    end_bad(&b);
    check_alive(t);
}

static void release_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    a->release = NULL;
}

/* Rows of the struct that are null as a whole are looked for where it begins, and not before. */
static void whole_rows(struct test *t)
{
    static const int32_t values[] = {1, 2, 3, 4, 5};
    for (unsigned bits = 0; bits < 32; bits++)
        for (int64_t offset = 0; offset < 4; offset++) {
            const uint8_t validity = (uint8_t)bits;
            const void *buffers[] = {NULL, values}, *own[] = {&validity};
            struct ArrowSchema child = {.format = "i", .name = "a", .release = release_schema},
                               *children[] = {&child};
            struct ArrowSchema schema = {
                .format = "+s", .name = "", .n_children = 1, .children = children, .release = release_schema};
            struct ArrowArray column = {.length = 5,
                                        .n_buffers = 2,
                                        .buffers = buffers,
                                        .release = release_array},
                              *columns[] = {&column};
            struct ArrowArray array = {.length = 5 - offset,
                                       .offset = offset,
                                       .n_buffers = 1,
                                       .buffers = own,
                                       .n_children = 1,
                                       .children = columns,
                                       .release = release_array};
            const cohort_status due = bits >> offset == 31u >> offset ? COHORT_OK : COHORT_UNSUPPORTED;
            cohort_frame *frame = NULL;
            CHECKF(t, cohort_frame_import(t->context, &schema, &array, &frame) == due, "bits %u from %d",
                   bits, (int)offset);
            cohort_frame_release(frame);
        }
}

static void refuses_strings(struct test *t)
{
    struct bad b = good(t, "u", 0);
    int32_t *offsets = (int32_t *)(uintptr_t)b.array.children[0]->buffers[1];
    SPOILED(b, offsets[0], -1, COHORT_CORRUPT, "row 0");
    SPOILED(b, offsets[3], offsets[6] + 1, COHORT_CORRUPT, "row 3");
    SPOILED(b, offsets[3], INT32_MIN, COHORT_CORRUPT, "row");
    SPOILED(b, offsets[6], -9, COHORT_CORRUPT, "offset");
    SPOILED(b, b.array.children[0]->buffers[2], NULL, COHORT_CORRUPT, "row 0");
    end_bad(&b);
    b = good(t, "Z", 0);
    int64_t *wide = (int64_t *)(uintptr_t)b.array.children[0]->buffers[1];
    SPOILED(b, wide[2], INT64_MAX, COHORT_CORRUPT, "row 2");
    end_bad(&b);
    b = good(t, "vu", 0);
    struct ArrowArray *a = b.array.children[0];
    int32_t *view = (int32_t *)(uintptr_t)a->buffers[1] + 4 * 2;
    int32_t before[4];
    memcpy(before, view, sizeof before);
    view[0] = 13;
    view[1] = 0;
    view[2] = 1000;
    view[3] = 0;
    expect(t, &b, COHORT_CORRUPT, "row 2"); /* no such buffer */
    view[2] = 0;
    expect(t, &b, COHORT_CORRUPT, "row 2"); /* the buffer is empty: short strings need none */
    view[2] = -1;
    expect(t, &b, COHORT_CORRUPT, "row 2");
    view[0] = -1;
    expect(t, &b, COHORT_CORRUPT, "row 2");
    memcpy(view, before, sizeof before);
    SPOILED(b, a->n_buffers, 2, COHORT_CORRUPT, "n_buffers");
    SPOILED(b, a->buffers[a->n_buffers - 1], NULL, COHORT_CORRUPT, "sizes");
    int64_t *sizes = (int64_t *)(uintptr_t)a->buffers[a->n_buffers - 1];
    SPOILED(b, sizes[0], -1, COHORT_CORRUPT, "size");
    end_bad(&b);
    check_alive(t);
}

static void refuses_dictionaries(struct test *t)
{
    struct bad b = good(t, "u", 1);
    struct ArrowArray *a = b.array.children[0];
    struct ArrowSchema *s = b.schema.children[0];
    SPOILED(b, a->dictionary, NULL, COHORT_CORRUPT, "dictionary");
    SPOILED(b, s->format, "g", COHORT_UNSUPPORTED, "index");
    SPOILED(b, s->dictionary->format, "+s", COHORT_UNSUPPORTED, "+s");
    SPOILED(b, s->dictionary->dictionary, s->dictionary, COHORT_UNSUPPORTED, "dictionary");
    SPOILED(b, a->dictionary->length, 0, COHORT_CORRUPT, "row");
    SPOILED(b, a->dictionary->length, -1, COHORT_CORRUPT, "length");
    SPOILED(b, a->dictionary->release, NULL, COHORT_CORRUPT, "released");
    int32_t *offsets = (int32_t *)(uintptr_t)a->dictionary->buffers[1];
    SPOILED(b, offsets[a->dictionary->offset], -3, COHORT_CORRUPT, "row 0");
    end_bad(&b);
    check_alive(t);
}

/* ---- dictionaries of several chunks -------------------------------------------------------------------- */

#define CHUNKS 4

/* A stream of arrays, whose dictionaries' values lie in the same place. */
struct chunks {
    struct ArrowSchema schema, values;
    struct ArrowArray array[CHUNKS], dictionary[CHUNKS];
    const void *buffers[CHUNKS][2], *dictionary_buffers[CHUNKS][4];
    int count, given;
};

static const int32_t chunk_indices[] = {0, 1, 2, 1};

static int chunks_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    *out = ((struct chunks *)stream->private_data)->schema;
    return 0;
}

static int chunks_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct chunks *c = stream->private_data;
    *out = c->given < c->count ? c->array[c->given++] : (struct ArrowArray){0};
    return 0;
}

static const char *chunks_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void chunks_release(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

static void chunks_open(struct chunks *c, int count, const char *format, const void *values, int64_t buffers)
{
    *c = (struct chunks){.count = count};
    c->values = (struct ArrowSchema){.format = format, .name = "", .release = release_schema};
    c->schema =
        (struct ArrowSchema){.format = "i", .name = "a", .release = release_schema, .dictionary = &c->values};
    for (int i = 0; i < count; i++) {
        c->buffers[i][1] = chunk_indices;
        c->dictionary_buffers[i][1] = values;
        c->dictionary[i] = (struct ArrowArray){
            .length = 3, .n_buffers = buffers, .buffers = c->dictionary_buffers[i], .release = release_array};
        c->array[i] = (struct ArrowArray){.length = 4,
                                          .n_buffers = 2,
                                          .buffers = c->buffers[i],
                                          .dictionary = &c->dictionary[i],
                                          .release = release_array};
    }
}

static void chunks_read(struct test *t, struct chunks *c, struct model *m)
{
    struct ArrowArrayStream stream = {chunks_schema, chunks_next, chunks_error, chunks_release, c};
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_frame *frame = NULL, *back = NULL;
    OK(t, cohort_frame_import_stream(t->context, &stream, &frame));
    OK(t, cohort_frame_export(frame, &schema, &array));
    OK(t, cohort_frame_import(t->context, &schema, &array, &back)); /* indices are in its dictionary */
    model_of_frame(t, m, back);
    cohort_frame_release(frame);
    cohort_frame_release(back);
    REQUIRE(t, m->rows == 4 * (uint64_t)c->count);
}

/* The same values, of which the second array's are null here and there; the same views of other buffers. */
static void shared_values(struct test *t)
{
    const int64_t numbers[] = {10, 20, 30};
    const uint8_t valid = 5;
    const int32_t views[] = {20, 0, 0, 0, 20, 0, 0, 20, 3, 0, 0, 0};
    const int64_t size = 40;
    char heap[2][41];
    struct chunks c;
    struct model m;
    for (int64_t nulls = -1; nulls < 2; nulls += 2) {
        chunks_open(&c, 2, "l", numbers, 2);
        c.dictionary_buffers[1][0] = &valid;
        c.dictionary[1].null_count = nulls;
        chunks_read(t, &c, &m);
        for (uint64_t i = 0; i < 8; i++) {
            const unsigned char *at = m.column[0].cell[i].bytes;
            const int is_null = i > 4 && chunk_indices[i % 4] == 1;
            CHECK(t, is_null ? !at : at && !memcmp(at, &numbers[chunk_indices[i % 4]], 8));
        }
        model_close(&m);
    }
    chunks_open(&c, 2, "vz", views, 4);
    for (int i = 0; i < 2; i++) {
        memset(heap[i], 'a' + i, sizeof heap[i]);
        c.dictionary_buffers[i][2] = heap[i];
        c.dictionary_buffers[i][3] = &size;
    }
    chunks_read(t, &c, &m);
    for (uint64_t i = 0; i < 8; i++)
        if (chunk_indices[i % 4] < 2)
            CHECK(t, m.column[0].cell[i].bytes[0] == (i < 4 ? 'a' : 'b'));
    model_close(&m);
}

/* Some chunks have the dictionary of the one before, others have other ones: each in each place. */
static void some_share_values(struct test *t)
{
    const int64_t numbers[CHUNKS][3] = {{10, 20, 30}, {11, 21, 31}, {12, 22, 32}, {13, 23, 33}};
    for (unsigned places = 0; places < 1u << CHUNKS; places++) {
        unsigned of[CHUNKS];
        struct chunks c;
        struct model m;
        chunks_open(&c, CHUNKS, "l", NULL, 2);
        for (unsigned i = 0; i < CHUNKS; i++) {
            of[i] = i && places >> i & 1 ? of[i - 1] : i;
            c.dictionary_buffers[i][1] = numbers[of[i]];
        }
        chunks_read(t, &c, &m);
        for (unsigned i = 0; i < 4 * CHUNKS; i++)
            CHECK(t, !memcmp(m.column[0].cell[i].bytes, &numbers[of[i / 4]][chunk_indices[i % 4]], 8));
        model_close(&m);
    }
}

/* Dictionaries of two chunks have as many values together as indices of a byte tell, or some more. */
static void index_width(struct test *t)
{
    static const char *const formats[] = {"c", "C"};
    static const int8_t indices[] = {0, 26, 99, 5};
    int64_t values[100];
    for (int64_t i = 0; i < 100; i++)
        values[i] = i;
    for (unsigned i = 0; i < 2 * 8; i++) {
        const int64_t more = 27 + i / 2;
        const int8_t last[] = {0, 26, (int8_t)(more - 1), 5};
        struct chunks c;
        struct model m;
        chunks_open(&c, 2, "l", values, 2);
        c.schema.format = formats[i % 2];
        c.buffers[0][1] = indices;
        c.buffers[1][1] = last;
        c.dictionary[0].length = 100;
        c.dictionary[1].length = more;
        chunks_read(t, &c, &m);
        for (unsigned k = 0; k < 8; k++)
            CHECK(t, m.column[0].cell[k].bytes[0] == (k < 4 ? indices[k] : last[k - 4]));
        model_close(&m);
    }
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
    struct ArrowSchema schema = {.format = "U", .name = "u", .release = release_schema};
    struct ArrowArray array = {.length = 4, .n_buffers = 3, .buffers = buffers, .release = release_array};
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

/* ---- plain arrays, and calls that are refused ---------------------------------------------------------- */

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

static int broken(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    (void)stream;
    (void)out;
    return 5;
}

static const char *broken_text(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the cable was cut";
}

static void broken_stream(struct test *t)
{
    struct model m;
    struct model_plan plan = {.rows = 10, .distinct = 3};
    struct ArrowArrayStream stream;
    cohort_frame *frame = NULL;
    model_open(&m, 10, 1);
    model_fill(t, &m, 0, "a", "l", &plan);
    model_stream(t, &m, &stream);
    stream.get_next = broken;
    stream.get_last_error = broken_text;
    FAILS(t, t->context, cohort_frame_import_stream(t->context, &stream, &frame), COHORT_IO, "cable", "5");
    CHECK(t, !stream.release && !frame);
    FAILS(t, t->context, cohort_frame_import_stream(t->context, &stream, &frame), COHORT_CORRUPT, "released",
          NULL);
    model_close(&m);
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

const struct test_case test_cases[] = {{"round_trip", round_trip, 0},
                                       {"every_type", every_type, 0},
                                       {"streams", streams, 0},
                                       {"slices", slices, 0},
                                       {"slice_refuses", slice_refuses, 0},
                                       {"selections", selections, 0},
                                       {"names_beside", names_beside, 0},
                                       {"gathers", gathers, TEST_EACH_MEMORY},
                                       {"gather_refuses", gather_refuses, TEST_EACH_MEMORY},
                                       {"gathers_of_many", gathers_of_many, TEST_ON_CPU},
                                       {"devices", devices, 0},
                                       {"outlives", outlives, TEST_NO_CONTEXT},
                                       {"refuses_structs", refuses_structs, 0},
                                       {"whole_rows", whole_rows, 0},
                                       {"refuses_strings", refuses_strings, TEST_ON_CPU},
                                       {"refuses_dictionaries", refuses_dictionaries, 0},
                                       {"shared_values", shared_values, 0},
                                       {"some_share_values", some_share_values, 0},
                                       {"index_width", index_width, 0},
                                       {"gather_long", gather_long, TEST_ON_CPU},
                                       {"plain_arrays", plain_arrays, 0},
                                       {"broken_stream", broken_stream, 0},
                                       {"no_memory", no_memory, TEST_NO_CONTEXT},
                                       {NULL, NULL, 0}};
