/* test_frame_refuses.c: Arrow structs, strings, dictionaries and streams that are wrong: the import says in
 * what, and structs stay their maker's. */
#include "model.h"

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

/* ---- structs ------------------------------------------------------------------------------------------- */

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
    EQUAL(t, model_alive, 0);
}

/* Rows of the struct that are null as a whole are looked for where it begins, and not before. */
static void whole_rows(struct test *t)
{
    static const int32_t values[] = {1, 2, 3, 4, 5};
    for (unsigned bits = 0; bits < 32; bits++)
        for (int64_t offset = 0; offset < 4; offset++) {
            const uint8_t validity = (uint8_t)bits;
            const void *buffers[] = {NULL, values}, *own[] = {&validity};
            struct ArrowSchema child = {.format = "i", .name = "a", .release = model_let_go_schema},
                               *children[] = {&child};
            struct ArrowSchema schema = {.format = "+s",
                                         .name = "",
                                         .n_children = 1,
                                         .children = children,
                                         .release = model_let_go_schema};
            struct ArrowArray column = {.length = 5,
                                        .n_buffers = 2,
                                        .buffers = buffers,
                                        .release = model_let_go_array},
                              *columns[] = {&column};
            struct ArrowArray array = {.length = 5 - offset,
                                       .offset = offset,
                                       .n_buffers = 1,
                                       .buffers = own,
                                       .n_children = 1,
                                       .children = columns,
                                       .release = model_let_go_array};
            const cohort_status due = bits >> offset == 31u >> offset ? COHORT_OK : COHORT_UNSUPPORTED;
            cohort_frame *frame = NULL;
            CHECKF(t, cohort_frame_import(t->context, &schema, &array, &frame) == due, "bits %u from %d",
                   bits, (int)offset);
            cohort_frame_release(frame);
        }
}

/* ---- strings and dictionaries -------------------------------------------------------------------------- */

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
    EQUAL(t, model_alive, 0);
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
    EQUAL(t, model_alive, 0);
}

/* ---- streams ------------------------------------------------------------------------------------------- */

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
    EQUAL(t, model_alive, 0);
}

const struct test_case test_cases[] = {
    {"refuses_structs", refuses_structs, 0},
    {"whole_rows", whole_rows, 0},
    {"refuses_strings", refuses_strings, TEST_ON_CPU},
    {"refuses_dictionaries", refuses_dictionaries, 0},
    {"broken_stream", broken_stream, 0},
    {NULL, NULL, 0},
};
