/* model_arrow.c: models to Arrow structs and back. */
#include "model.h"

int model_alive;

void model_let_go_schema(struct ArrowSchema *s)
{
    s->release = NULL;
}

void model_let_go_array(struct ArrowArray *a)
{
    a->release = NULL;
}

/* ---- memory: every buffer is its own allocation of exactly its size ------------------------------------ */

struct made {
    int64_t buffers, children;
    void **buffer;
    struct ArrowArray **child;
    struct ArrowArray *dictionary;
};

static void *room(uint64_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        abort();
    memset(p, 0xa5, bytes);
    return p;
}

static void release_made(struct ArrowArray *a)
{
    struct made *m = a->private_data;
    for (int64_t i = 0; i < m->buffers; i++)
        free(m->buffer[i]);
    for (int64_t i = 0; i < m->children; i++) {
        if (m->child[i]->release)
            m->child[i]->release(m->child[i]);
        free(m->child[i]);
    }
    if (m->dictionary && m->dictionary->release)
        m->dictionary->release(m->dictionary);
    free(m->dictionary);
    free(m->buffer);
    free(m->child);
    free(m);
    a->release = NULL;
    model_alive--;
}

static struct made *begin(struct ArrowArray *a, int64_t buffers, int64_t children)
{
    struct made *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    memset(a, 0, sizeof *a);
    m->buffers = buffers;
    m->children = children;
    m->buffer = calloc((size_t)buffers + 1, sizeof(void *));
    m->child = calloc((size_t)children + 1, sizeof(struct ArrowArray *));
    if (!m->buffer || !m->child)
        abort();
    a->n_buffers = buffers;
    a->buffers = (const void **)m->buffer;
    a->n_children = children;
    a->children = m->child;
    a->private_data = m;
    a->release = release_made;
    model_alive++;
    return m;
}

static void put_bit(void *bits, uint64_t i, int v)
{
    unsigned char *b = (unsigned char *)bits + i / 8;
    *b = (unsigned char)(v ? *b | 1u << (i & 7) : *b & ~(1u << (i & 7)));
}

/* ---- one column ---------------------------------------------------------------------------------------- */

static uint64_t fixed(const char *format)
{
    static const char *const same[] = {"c1", "C1", "s2", "S2", "e2", "i4", "I4", "f4", "l8", "L8", "g8"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (format[0] == same[i][0] && !format[1])
            return (uint64_t)(same[i][1] - '0');
    if (format[0] == 'd')
        return 16;
    if (format[0] == 'w')
        return strtoull(format + 2, NULL, 10);
    if (format[0] == 't')
        return !strcmp(format, "tdD") || !strcmp(format, "tts") || !strcmp(format, "ttm") ? 4 : 8;
    return 0;
}

static int is_wide(const char *format)
{
    return format[0] == 'U' || format[0] == 'Z';
}

/* Views: strings go to one of some heaps of random sizes. */
static void put_views(struct test *t, struct ArrowArray *a, const struct cell *cell, uint64_t n,
                      uint64_t offset)
{
    uint64_t heaps = 1 + test_below(t, 3);
    struct made *m = a->private_data;
    int64_t *sizes = room(heaps * sizeof *sizes);
    m->buffer = realloc(m->buffer, (heaps + 4) * sizeof(void *));
    if (!m->buffer)
        abort();
    a->buffers = (const void **)m->buffer;
    a->n_buffers = m->buffers = (int64_t)heaps + 3;
    unsigned char *views = room((offset + n) * 16);
    m->buffer[1] = views;
    memset(sizes, 0, heaps * sizeof *sizes);
    for (uint64_t h = 0; h < heaps; h++)
        m->buffer[2 + h] = NULL;
    uint32_t *which = room((n + 1) * 4);
    for (uint64_t i = 0; i < n; i++) {
        which[i] = (uint32_t)test_below(t, heaps);
        sizes[which[i]] += cell[i].length > 12 ? (int64_t)cell[i].length : 0;
    }
    for (uint64_t h = 0; h < heaps; h++) {
        m->buffer[2 + h] = room((uint64_t)sizes[h]);
        sizes[h] = 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        unsigned char *v = views + (offset + i) * 16;
        uint32_t length = (uint32_t)cell[i].length, at = (uint32_t)sizes[which[i]];
        if (!cell[i].bytes)
            continue; /* of a null anything may be there */
        memset(v, 0, 16);
        memcpy(v, &length, 4);
        memcpy(v + 4, cell[i].bytes, length <= 12 ? length : 4);
        if (length <= 12)
            continue;
        memcpy(v + 8, &which[i], 4);
        memcpy(v + 12, &at, 4);
        memcpy((unsigned char *)m->buffer[2 + which[i]] + at, cell[i].bytes, length);
        sizes[which[i]] += length;
    }
    m->buffer[2 + heaps] = sizes;
    free(which);
}

static void put_strings(struct ArrowArray *a, const char *format, const struct cell *cell, uint64_t n,
                        uint64_t offset)
{
    struct made *m = a->private_data;
    uint64_t width = is_wide(format) ? 8 : 4, total = 0;
    for (uint64_t i = 0; i < n; i++)
        total += cell[i].length;
    unsigned char *offsets = room((offset + n + 1) * width), *heap = room(total + 5);
    memset(offsets, 0, offset * width);
    uint64_t at = 5;
    for (uint64_t i = 0; i <= n; i++) {
        memcpy(offsets + (offset + i) * width, &at, width);
        if (i < n && cell[i].length)
            memcpy(heap + at, cell[i].bytes, cell[i].length);
        at += i < n ? cell[i].length : 0;
    }
    m->buffer[1] = offsets;
    m->buffer[2] = heap;
}

static void put_values(struct test *t, struct ArrowArray *a, const char *format, const struct cell *cell,
                       uint64_t n, uint64_t offset)
{
    struct made *m = a->private_data;
    uint64_t width = fixed(format);
    if (format[0] == 'b') {
        m->buffer[1] = room((offset + n + 7) / 8);
        for (uint64_t i = 0; i < n; i++)
            put_bit(m->buffer[1], offset + i, cell[i].bytes && cell[i].bytes[0]);
    } else if (width) {
        m->buffer[1] = room((offset + n) * width);
        for (uint64_t i = 0; i < n; i++)
            if (cell[i].bytes)
                memcpy((char *)m->buffer[1] + (offset + i) * width, cell[i].bytes, width);
    } else if (format[0] == 'v') {
        put_views(t, a, cell, n, offset);
    } else {
        put_strings(a, format, cell, n, offset);
    }
}

static void make_values(struct test *t, struct ArrowArray *a, const char *format, const struct cell *cell,
                        uint64_t n, uint64_t offset)
{
    int64_t nulls = 0;
    for (uint64_t i = 0; i < n; i++)
        nulls += !cell[i].bytes;
    struct made *m = begin(a, fixed(format) || format[0] == 'b' ? 2 : 3, 0);
    a->length = (int64_t)n;
    a->offset = (int64_t)offset;
    put_values(t, a, format, cell, n, offset);
    if (nulls || test_below(t, 3) == 0) {
        m->buffer[0] = room((offset + n + 7) / 8);
        for (uint64_t i = 0; i < n; i++)
            put_bit(m->buffer[0], offset + i, cell[i].bytes != NULL);
    }
    a->null_count = test_below(t, 2) ? -1 : nulls;
}

static int same_bytes(struct cell a, struct cell b)
{
    return a.bytes && a.length == b.length && !memcmp(a.bytes, b.bytes, b.length);
}

/* The place of a value among the last ones of a dictionary, or a new place: now and then it is there
 * twice. */
static uint64_t place(struct test *t, struct cell *value, uint64_t *values, struct cell cell)
{
    for (uint64_t back = 1; back <= 40 && back <= *values; back++)
        if (same_bytes(value[*values - back], cell) && test_below(t, 20))
            return *values - back;
    value[*values] = cell;
    return (*values)++;
}

/* A dictionary with some values twice, and perhaps a null; and indices into it. */
static void make_dictionary(struct test *t, struct ArrowArray *a, const struct model_column *c,
                            const struct cell *cell, uint64_t n, uint64_t offset)
{
    uint64_t width = fixed(c->index), values = 0;
    struct cell *value = calloc(n + 4, sizeof *value), *shown = calloc(n + 1, sizeof *shown);
    uint64_t *index = calloc(n + 1, sizeof *index);
    const int all = c->value_nulls, with_null = all || test_below(t, 3) == 0;
    if (!value || !index || !shown)
        abort();
    values += (uint64_t)with_null; /* the null value is the first */
    for (uint64_t i = 0; i < n; i++) {
        index[i] = cell[i].bytes ? place(t, value, &values, cell[i]) : 0;
        /* a null row: by its validity, or by an index to the null value */
        if (cell[i].bytes || all || (with_null && test_below(t, 2)))
            shown[i] = (struct cell){(const unsigned char *)&index[i], width};
    }
    make_values(t, a, c->index, shown, n, offset);
    struct made *m = a->private_data;
    m->dictionary = calloc(1, sizeof *m->dictionary);
    if (!m->dictionary)
        abort();
    make_values(t, m->dictionary, c->format, value, values, test_below(t, 4));
    a->dictionary = m->dictionary;
    free(value);
    free(index);
    free(shown);
}

/* ---- tables -------------------------------------------------------------------------------------------- */

struct made_schema {
    char *format, *name;
    struct ArrowSchema **child;
    struct ArrowSchema *dictionary;
    int64_t children;
};

static void release_schema(struct ArrowSchema *s)
{
    struct made_schema *m = s->private_data;
    for (int64_t i = 0; i < m->children; i++) {
        if (m->child[i]->release)
            m->child[i]->release(m->child[i]);
        free(m->child[i]);
    }
    if (m->dictionary)
        m->dictionary->release(m->dictionary);
    free(m->dictionary);
    free(m->child);
    free(m->format);
    free(m->name);
    free(m);
    s->release = NULL;
    model_alive--;
}

static struct made_schema *begin_schema(struct ArrowSchema *s, const char *format, const char *name,
                                        int64_t children)
{
    struct made_schema *m = calloc(1, sizeof *m);
    memset(s, 0, sizeof *s);
    if (!m)
        abort();
    m->format = strdup(format);
    m->name = strdup(name);
    m->child = calloc((size_t)children + 1, sizeof(struct ArrowSchema *));
    m->children = children;
    s->format = m->format;
    s->name = m->name;
    s->flags = ARROW_FLAG_NULLABLE;
    s->n_children = children;
    s->children = m->child;
    s->private_data = m;
    s->release = release_schema;
    model_alive++;
    return m;
}

void model_schema(const struct model *m, struct ArrowSchema *out)
{
    struct made_schema *top = begin_schema(out, "+s", "", m->columns);
    for (uint32_t i = 0; i < m->columns; i++) {
        const struct model_column *c = &m->column[i];
        top->child[i] = calloc(1, sizeof(struct ArrowSchema));
        if (!top->child[i])
            abort();
        struct made_schema *own = begin_schema(top->child[i], c->index[0] ? c->index : c->format, c->name, 0);
        if (!c->index[0])
            continue;
        own->dictionary = calloc(1, sizeof(struct ArrowSchema));
        if (!own->dictionary)
            abort();
        begin_schema(own->dictionary, c->format, "", 0);
        top->child[i]->dictionary = own->dictionary;
    }
}

void model_array(struct test *t, const struct model *m, uint64_t first, uint64_t rows, struct ArrowArray *out)
{
    uint64_t outer = test_below(t, 2) ? test_below(t, 20) : 0;
    struct made *top = begin(out, 1, m->columns);
    out->length = (int64_t)rows;
    out->offset = (int64_t)outer;
    for (uint32_t i = 0; i < m->columns; i++) {
        const struct model_column *c = &m->column[i];
        /* a struct's offset is its children's too: they have rows before those that count */
        struct cell *cell = calloc(rows + outer + 1, sizeof *cell);
        if (!cell)
            abort();
        memcpy(cell + outer, c->cell + first, rows * sizeof *cell);
        top->child[i] = calloc(1, sizeof(struct ArrowArray));
        if (!top->child[i])
            abort();
        if (c->index[0])
            make_dictionary(t, top->child[i], c, cell, rows + outer, test_below(t, 11));
        else
            make_values(t, top->child[i], c->format, cell, rows + outer, test_below(t, 11));
        free(cell);
    }
}

struct made_stream {
    struct test *t;
    const struct model *m;
    uint64_t at, chunks;
};

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    model_schema(((struct made_stream *)stream->private_data)->m, out);
    return 0;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct made_stream *s = stream->private_data;
    memset(out, 0, sizeof *out);
    if (!s->chunks)
        return 0;
    uint64_t left = s->m->rows - s->at, rows = s->chunks == 1 ? left : test_below(s->t, left + 1);
    s->chunks--;
    model_array(s->t, s->m, s->at, rows, out);
    s->at += rows;
    return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    free(stream->private_data);
    stream->release = NULL;
    model_alive--;
}

void model_stream(struct test *t, const struct model *m, struct ArrowArrayStream *out)
{
    struct made_stream *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    *s = (struct made_stream){t, m, 0, 1 + test_below(t, 5)};
    *out = (struct ArrowArrayStream){stream_schema, stream_next, stream_error, stream_release, s};
    model_alive++;
}

cohort_frame *model_frame(struct test *t, const struct model *m, cohort_context *context)
{
    cohort_frame *frame = NULL;
    if (test_below(t, 2)) {
        struct ArrowArrayStream stream;
        model_stream(t, m, &stream);
        cohort_status s = cohort_frame_import_stream(context, &stream, &frame);
        REQUIREF(t, !s, "import: %s", cohort_message(context));
    } else {
        struct ArrowSchema schema;
        struct ArrowArray array;
        model_schema(m, &schema);
        model_array(t, m, 0, m->rows, &array);
        cohort_status s = cohort_frame_import(context, &schema, &array, &frame);
        REQUIREF(t, !s, "import: %s", cohort_message(context));
        CHECK(t, !schema.release && !array.release);
    }
    return frame;
}

/* ---- back ---------------------------------------------------------------------------------------------- */

static int bit_at(const void *bits, uint64_t i)
{
    return ((const unsigned char *)bits)[i / 8] >> (i & 7) & 1;
}

static struct cell read_string(struct model *m, const char *format, const struct ArrowArray *a, uint64_t at)
{
    if (format[0] == 'v') {
        const unsigned char *v = (const unsigned char *)a->buffers[1] + at * 16;
        uint32_t length, heap, offset;
        memcpy(&length, v, 4);
        memcpy(&heap, v + 8, 4);
        memcpy(&offset, v + 12, 4);
        if (length <= 12)
            return (struct cell){model_bytes(m, v + 4, length), length};
        return (struct cell){model_bytes(m, (const unsigned char *)a->buffers[2 + heap] + offset, length),
                             length};
    }
    uint64_t from = 0, to = 0, width = is_wide(format) ? 8 : 4;
    memcpy(&from, (const char *)a->buffers[1] + at * width, width);
    memcpy(&to, (const char *)a->buffers[1] + (at + 1) * width, width);
    return (struct cell){model_bytes(m, (const char *)a->buffers[2] + from, to - from), to - from};
}

static struct cell read_cell(struct model *m, const struct ArrowSchema *s, const struct ArrowArray *a,
                             uint64_t row)
{
    uint64_t at = (uint64_t)a->offset + row, width = fixed(s->format);
    if (a->buffers[0] && !bit_at(a->buffers[0], at))
        return (struct cell){NULL, 0};
    if (s->dictionary) {
        uint64_t index = 0;
        memcpy(&index, (const char *)a->buffers[1] + at * width, width);
        return read_cell(m, s->dictionary, a->dictionary, index);
    }
    if (s->format[0] == 'b') {
        unsigned char bit = (unsigned char)bit_at(a->buffers[1], at);
        return (struct cell){model_bytes(m, &bit, 1), 1};
    }
    if (width)
        return (struct cell){model_bytes(m, (const char *)a->buffers[1] + at * width, width), width};
    return read_string(m, s->format, a, at);
}

void model_read(struct test *t, struct model *m, const struct ArrowSchema *schema,
                const struct ArrowArray *array)
{
    REQUIRE(t, !strcmp(schema->format, "+s") && schema->n_children == array->n_children);
    model_open(m, (uint64_t)array->length, (uint32_t)schema->n_children);
    for (uint32_t c = 0; c < m->columns; c++) {
        const struct ArrowSchema *s = schema->children[c];
        const struct ArrowArray *a = array->children[c];
        uint64_t nulls = 0;
        snprintf(m->column[c].name, sizeof m->column[c].name, "%s", s->name);
        snprintf(m->column[c].format, sizeof m->column[c].format, "%s",
                 s->dictionary ? s->dictionary->format : s->format);
        if (s->dictionary)
            snprintf(m->column[c].index, 2, "%s", s->format);
        REQUIRE(t, a->length >= array->offset + array->length);
        for (uint64_t i = 0; i < m->rows; i++) {
            uint64_t row = (uint64_t)array->offset + i;
            m->column[c].cell[i] = read_cell(m, s, a, row);
            nulls += a->buffers[0] && !bit_at(a->buffers[0], (uint64_t)a->offset + row);
        }
        if (!array->offset && a->length == array->length)
            CHECK(t, a->null_count < 0 || (uint64_t)a->null_count == nulls);
    }
}

void model_of_frame(struct test *t, struct model *m, cohort_frame *frame)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_status s = cohort_frame_export(frame, &schema, &array);
    REQUIREF(t, !s, "export: %s", cohort_message(t->context));
    model_read(t, m, &schema, &array);
    schema.release(&schema);
    array.release(&array);
}
