/* tables.c: frames for `bench table`. All that a frame's Arrow arrays point to is one list of blocks, which
 * the root's release frees. */
#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8 * TABLE_COLUMNS };

typedef struct arrow_tree {
    void *block[BLOCKS];
    unsigned blocks;
    int failed;
    struct ArrowSchema schemas[2 * TABLE_COLUMNS], *schema_of[TABLE_COLUMNS];
    struct ArrowArray arrays[2 * TABLE_COLUMNS], *array_of[TABLE_COLUMNS];
    unsigned used;
    char names[TABLE_COLUMNS][8];
    const void *none[1];
    unsigned holders; /* schema and array */
} arrow_tree;

static void *room(arrow_tree *t, uint64_t bytes)
{
    void *block = t->blocks < BLOCKS ? calloc(bytes / 8 + 2, 8) : NULL;
    if (block)
        t->block[t->blocks++] = block;
    t->failed |= !block;
    return block;
}

static void tree_release(arrow_tree *t)
{
    if (--t->holders)
        return;
    for (unsigned i = 0; i < t->blocks; i++)
        free(t->block[i]);
    free(t);
}

static void schema_release(struct ArrowSchema *schema)
{
    arrow_tree *t = schema->private_data;
    schema->release = NULL;
    if (t)
        tree_release(t);
}

static void array_release(struct ArrowArray *array)
{
    arrow_tree *t = array->private_data;
    array->release = NULL;
    if (t)
        tree_release(t);
}

static unsigned node_add(arrow_tree *t, const char *format, const char *name, uint64_t rows, int64_t buffers,
                         uint64_t nulls)
{
    unsigned i = t->used++;
    struct ArrowSchema *s = &t->schemas[i];
    struct ArrowArray *a = &t->arrays[i];
    s->format = format;
    s->name = name;
    s->flags = ARROW_FLAG_NULLABLE;
    s->release = schema_release;
    a->length = (int64_t)rows;
    a->null_count = (int64_t)nulls;
    a->n_buffers = buffers;
    a->buffers = room(t, 3 * sizeof(void *));
    a->release = array_release;
    return i;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static int text_write(char to[24], const table_spec *s, uint64_t value)
{
    return snprintf(to, 24, "id%0*llu", s->digits, (unsigned long long)value);
}

/* Strings of the values from(i) of n rows: offsets and bytes into buffers 1 and 2. */
static void texts_fill(arrow_tree *t, struct ArrowArray *a, const table_spec *s, uint64_t n, int of_rows)
{
    uint32_t *offsets = room(t, (n + 1) * 4);
    char text[24], *bytes = room(t, n * 16), *at = bytes;
    for (uint64_t i = 0; i < n && bytes && offsets; i++) {
        uint64_t value = of_rows ? s->value(s, i) : i + 1;
        int length = value ? text_write(text, s, value) : 0;
        memcpy(at, text, (size_t)length);
        at += length;
        offsets[i + 1] = (uint32_t)(at - bytes);
    }
    if (t->failed)
        return;
    a->buffers[1] = offsets;
    a->buffers[2] = bytes;
}

static uint64_t validity_fill(arrow_tree *t, const table_spec *s, uint64_t rows, uint8_t **out)
{
    uint64_t nulls = 0;
    uint8_t *bits = room(t, rows / 8 + 1);
    for (uint64_t i = 0; i < rows && bits; i++) {
        int there = s->value(s, i) != 0;
        bits[i / 8] |= (uint8_t)(there << (i & 7));
        nulls += !there;
    }
    *out = nulls ? bits : NULL;
    return nulls;
}

static void column_add(arrow_tree *t, unsigned c, const table_spec *s, uint64_t rows)
{
    uint8_t *valid = NULL;
    uint64_t nulls = s->shape->nulls ? validity_fill(t, s, rows, &valid) : 0;
    int is_dictionary = s->form == TABLE_TEXT && !s->shape->utf8;
    const char *format = s->form == TABLE_REAL ? "g" : s->form == TABLE_TEXT && !is_dictionary ? "u" : "i";
    snprintf(t->names[c], sizeof t->names[c], "%s", s->name);
    unsigned node = node_add(t, format, t->names[c], rows, format[0] == 'u' ? 3 : 2, nulls);
    t->schema_of[c] = &t->schemas[node];
    struct ArrowArray *a = t->array_of[c] = &t->arrays[node];
    if (t->failed)
        return;
    a->buffers[0] = valid;
    if (format[0] == 'u') {
        texts_fill(t, a, s, rows, 1);
        return;
    }
    void *data = room(t, rows * (s->form == TABLE_REAL ? 8 : 4));
    for (uint64_t i = 0; i < rows && data; i++) {
        uint64_t value = s->value(s, i), minus = is_dictionary || s->id > 6;
        if (s->form == TABLE_REAL)
            ((double *)data)[i] = value ? (double)(value - 1) / 1e6 : 0;
        else
            ((int32_t *)data)[i] = (int32_t)(value ? value - minus : 0);
    }
    a->buffers[1] = data;
    if (!is_dictionary)
        return;
    node = node_add(t, "u", "", s->values, 3, 0);
    t->schema_of[c]->dictionary = &t->schemas[node];
    a->dictionary = &t->arrays[node];
    if (!t->failed)
        texts_fill(t, a->dictionary, s, s->values, 0);
}

int table_frame_make(const bench *b, uint64_t rows, const table_spec *specs, unsigned count,
                     cohort_frame **out, fault *fault)
{
    struct ArrowSchema schema = {.format = "+s", .name = "", .release = schema_release};
    struct ArrowArray array = {.length = (int64_t)rows, .n_buffers = 1, .release = array_release};
    arrow_tree *t = calloc(1, sizeof *t);
    if (!t)
        return fault_set(fault, CLI_FAILED, "bench table: no memory");
    t->holders = 2;
    schema.n_children = array.n_children = count;
    schema.children = t->schema_of;
    array.children = t->array_of;
    array.buffers = t->none;
    schema.private_data = array.private_data = t;
    for (unsigned c = 0; c < count && !t->failed; c++)
        column_add(t, c, &specs[c], rows);
    int failed = t->failed;
    cohort_status s = failed ? COHORT_OK : cohort_frame_import(b->dev.context, &schema, &array, out);
    if (schema.release)
        schema.release(&schema);
    if (array.release)
        array.release(&array);
    if (failed)
        return fault_set(fault, CLI_FAILED, "bench table: no memory for %llu rows", (unsigned long long)rows);
    return s ? bench_fault(b, s, "bench table: a frame", fault) : CLI_OK;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static double text_number(const char *text, uint64_t length)
{
    double number = 0;
    for (uint64_t i = 2; i < length; i++)
        number = number * 10 + (text[i] - '0');
    return number;
}

/* The view's text; `buffers` are those of the array. */
static double view_number(const struct ArrowArray *a, uint64_t row)
{
    const struct view {
        uint32_t length;
        char prefix[4];
        uint32_t heap, offset;
    } *v = (const struct view *)a->buffers[1] + row;
    return v->length <= 12 ? text_number(v->prefix, v->length)
                           : text_number((const char *)a->buffers[2 + v->heap] + v->offset, v->length);
}

static double number_at(const struct ArrowSchema *s, const struct ArrowArray *a, uint64_t row)
{
    row += (uint64_t)a->offset;
    const void *data = a->buffers[1];
    if (s->dictionary)
        return number_at(s->dictionary, a->dictionary, (uint64_t)((const int32_t *)data)[row]);
    switch (s->format[0]) {
    case 'i':
        return ((const int32_t *)data)[row];
    case 'l':
        return (double)((const int64_t *)data)[row];
    case 'L':
        return (double)((const uint64_t *)data)[row];
    case 'g':
        return ((const double *)data)[row];
    case 'u': {
        const uint32_t *at = (const uint32_t *)data + row;
        return text_number((const char *)a->buffers[2] + at[0], at[1] - at[0]);
    }
    default:
        return view_number(a, row);
    }
}

static int is_there(const struct ArrowArray *a, uint64_t row)
{
    const uint8_t *bits = a->buffers[0];
    row += (uint64_t)a->offset;
    return !bits || bits[row / 8] >> (row & 7) & 1;
}

static void answer_sum(const struct ArrowSchema *schema, const struct ArrowArray *array, unsigned keys,
                       unsigned count, table_answer *out)
{
    for (uint64_t row = 0; row < out->rows; row++) {
        double weight = 0;
        for (unsigned k = 0; k < keys; k++)
            if (is_there(array->children[k], row))
                weight += (k + 1) * number_at(schema->children[k], array->children[k], row);
        weight = 1 + fmod(weight, 1009);
        for (unsigned c = keys; c < count; c++)
            if (is_there(array->children[c], row)) {
                double value = (c - keys + 1) * number_at(schema->children[c], array->children[c], row);
                out->sum += value;
                out->weighted += value * weight;
                out->valid += c - keys + 1;
            }
    }
}

int table_answer_read(const bench *b, cohort_frame *frame, const char *const *names, unsigned keys,
                      unsigned count, table_answer *out, fault *fault)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_frame *picked = NULL;
    *out = (table_answer){.rows = cohort_frame_rows(frame)};
    cohort_status s = cohort_frame_pick(frame, count, names, &picked);
    if (!s)
        s = cohort_frame_export(picked, &schema, &array);
    cohort_frame_release(picked);
    if (s)
        return bench_fault(b, s, "bench table: the answer", fault);
    answer_sum(&schema, &array, keys, count, out);
    schema.release(&schema);
    array.release(&array);
    return CLI_OK;
}
