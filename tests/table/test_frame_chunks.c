/* test_frame_chunks.c: dictionaries of several chunks, which a frame makes one: values that chunks share, as
 * some do in any places, and indices that are as wide as all values together ask for. */
#include "model.h"

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
    c->values = (struct ArrowSchema){.format = format, .name = "", .release = model_let_go_schema};
    c->schema = (struct ArrowSchema){
        .format = "i", .name = "a", .release = model_let_go_schema, .dictionary = &c->values};
    for (int i = 0; i < count; i++) {
        c->buffers[i][1] = chunk_indices;
        c->dictionary_buffers[i][1] = values;
        c->dictionary[i] = (struct ArrowArray){.length = 3,
                                               .n_buffers = buffers,
                                               .buffers = c->dictionary_buffers[i],
                                               .release = model_let_go_array};
        c->array[i] = (struct ArrowArray){.length = 4,
                                          .n_buffers = 2,
                                          .buffers = c->buffers[i],
                                          .dictionary = &c->dictionary[i],
                                          .release = model_let_go_array};
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

const struct test_case test_cases[] = {
    {"shared_values", shared_values, 0},
    {"some_share_values", some_share_values, 0},
    {"index_width", index_width, 0},
    {NULL, NULL, 0},
};
