/* csv.c: CSV to Arrow's arrays, and back.
 *
 * Reading: the whole file's text is taken apart in place (RFC 4180: fields parted by commas, in quotes if
 * they hold a comma, a quote or a line's end; a quote in quotes is doubled). Then the fields of each column
 * become an ArrowArray, all of them the children of one struct array, and cohort_frame_import takes that
 * over: when the last frame that shares a column lets go, the array's `release` below is called.
 *
 * A text column is a dictionary: its distinct texts once, in order, and for each row an index into them. They
 * are found by sorting the fields. */
#include "csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csv {
    const char *path;
    char *text;
    char **fields; /* row after row, the names first; NULL: an empty field */
    uint64_t count, capacity, columns, rows;
};

/* ---- the file ------------------------------------------------------------------------------------------ */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, strerror(errno));
    size_t size = 0, capacity = 4096;
    char *text = room(capacity, 1);
    for (size_t got = 1; got > 0;) {
        got = fread(text + size, 1, capacity - size, file);
        size += got;
        if (size == capacity && !(text = realloc(text, (capacity *= 2) + 1)))
            fail(path, "too large for this machine's memory");
    }
    if (ferror(file))
        fail(path, strerror(errno));
    text[size] = 0;
    if (strlen(text) != size)
        fail(path, "has a byte of 0 in it");
    fclose(file);
    return text;
}

static void add_field(struct csv *csv, char *field)
{
    if (csv->count == csv->capacity) {
        csv->capacity = csv->capacity ? 2 * csv->capacity : 64;
        csv->fields = realloc(csv->fields, csv->capacity * sizeof *csv->fields);
        if (!csv->fields)
            fail(csv->path, "too large for this machine's memory");
    }
    csv->fields[csv->count++] = field;
}

/* Copies what is in quotes to `to`, which is at most where it is now, and goes on behind the closing one. */
static char *unquote(const struct csv *csv, char *from, char **to)
{
    for (int closed = 0; !closed;) {
        if (*from == 0)
            fail(csv->path, "a quote is not closed");
        closed = from[0] == '"' && from[1] != '"';
        from += *from == '"';
        if (!closed)
            *(*to)++ = *from++;
    }
    return from;
}

/* Takes a field off the text. Returns what stood behind it: ',', '\n', or 0 at the text's end. */
static char take_field(struct csv *csv, char **text)
{
    char *field = *text, *from = field, *to = field;
    int quoted = *field == '"';
    if (quoted)
        from = unquote(csv, field + 1, &to);
    else
        to = from += strcspn(from, ",\r\n");
    from += *from == '\r';
    char end = *from;
    if (end && end != ',' && end != '\n')
        fail(csv->path, "a field goes on behind its closing quote, or has a carriage return in it");
    *text = from + (end != 0);
    *to = 0;
    add_field(csv, quoted || to > field ? field : NULL);
    return end;
}

static struct csv take_apart(const char *path)
{
    struct csv csv = {.path = path, .text = read_file(path)};
    for (char *rest = csv.text; *rest;) {
        uint64_t before = csv.count;
        while (take_field(&csv, &rest) == ',')
            continue;
        if (csv.columns == 0)
            csv.columns = csv.count;
        else if (csv.count - before != csv.columns)
            fail(path, "a row has more or fewer fields than the first");
    }
    if (csv.columns == 0)
        fail(path, "is empty");
    csv.rows = csv.count / csv.columns - 1;
    return csv;
}

static const char *field_of(const struct csv *csv, uint64_t row, uint64_t column)
{
    return csv->fields[(row + 1) * csv->columns + column];
}

/* ---- columns as Arrow's arrays ------------------------------------------------------------------------- */

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release) /* NULL: moved elsewhere */
            array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    if (array->dictionary && array->dictionary->release)
        array->dictionary->release(array->dictionary);
    for (int64_t i = 0; i < array->n_buffers; i++)
        free((void *)array->buffers[i]);
    free(array->children);
    free(array->dictionary);
    free(array->buffers);
    array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    if (schema->dictionary && schema->dictionary->release)
        schema->dictionary->release(schema->dictionary);
    free(schema->children);
    free(schema->dictionary);
    free((char *)schema->name);
    schema->release = NULL;
}

/* An array of `length` elements with room for its buffers' addresses and its children. */
static void start(struct ArrowSchema *schema, struct ArrowArray *array, const char *format, const char *name,
                  uint64_t length, int64_t buffers, int64_t children)
{
    memset(schema, 0, sizeof *schema);
    memset(array, 0, sizeof *array);
    schema->format = format;
    schema->name = strcpy(room(strlen(name), 1), name);
    schema->flags = ARROW_FLAG_NULLABLE;
    array->length = (int64_t)length;
    array->n_buffers = buffers;
    array->buffers = room((uint64_t)buffers, sizeof *array->buffers);
    schema->n_children = array->n_children = children;
    schema->children = room((uint64_t)children, sizeof *schema->children);
    array->children = room((uint64_t)children, sizeof *array->children);
    schema->release = release_schema;
    array->release = release_array;
}

/* The bitmap of fields that are not empty. */
static void set_validity(const struct csv *csv, uint64_t column, struct ArrowArray *array)
{
    uint8_t *bits = room(csv->rows / 8 + 1, 1);
    for (uint64_t i = 0; i < csv->rows; i++) {
        bits[i / 8] |= (uint8_t)(!!field_of(csv, i, column) << i % 8);
        array->null_count += !field_of(csv, i, column);
    }
    array->buffers[0] = bits;
}

/* A number, written as printf would: 007 and +7 are texts, so nothing is lost. */
static int is_number(const char *field, int64_t *number)
{
    char written[24];
    *number = strtoll(field, NULL, 10);
    snprintf(written, sizeof written, "%" PRId64, *number);
    return strcmp(field, written) == 0;
}

/* The numbers of a column, or NULL if one of its fields is none. */
static int64_t *numbers_of(const struct csv *csv, uint64_t column)
{
    int64_t *numbers = room(csv->rows, sizeof *numbers);
    for (uint64_t i = 0; i < csv->rows; i++) {
        const char *field = field_of(csv, i, column);
        if (field && !is_number(field, &numbers[i])) {
            free(numbers);
            return NULL;
        }
    }
    return numbers;
}

struct place {
    const char *text;
    uint64_t row;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct place *)a)->text, ((const struct place *)b)->text);
}

/* indices[row] = which of the distinct texts a row has; these become array->dictionary. */
static void make_dictionary(const struct csv *csv, uint64_t column, struct ArrowSchema *schema,
                            struct ArrowArray *array, int32_t *indices)
{
    struct place *places = room(csv->rows, sizeof *places);
    uint64_t n = 0, bytes = 0, distinct = 0;
    for (uint64_t i = 0; i < csv->rows; i++)
        if (field_of(csv, i, column))
            bytes += strlen((places[n++] = (struct place){field_of(csv, i, column), i}).text);
    qsort(places, n, sizeof *places, by_text);
    if (bytes > INT32_MAX || csv->rows > INT32_MAX)
        fail(csv->path, "has too much text for 32-bit offsets");
    int32_t *offsets = room(csv->rows + 1, sizeof *offsets);
    char *texts = room(bytes, 1);
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 || by_text(&places[i - 1], &places[i])) {
            size_t length = strlen(places[i].text);
            memcpy(texts + offsets[distinct], places[i].text, length);
            offsets[distinct + 1] = offsets[distinct] + (int32_t)length;
            distinct++;
        }
        indices[places[i].row] = (int32_t)distinct - 1;
    }
    free(places);
    schema->dictionary = room(1, sizeof *schema->dictionary);
    array->dictionary = room(1, sizeof *array->dictionary);
    start(schema->dictionary, array->dictionary, "u", "", distinct, 3, 0);
    array->dictionary->buffers[1] = offsets;
    array->dictionary->buffers[2] = texts;
}

static void make_column(const struct csv *csv, uint64_t column, struct ArrowSchema *schema,
                        struct ArrowArray *array)
{
    const char *name = csv->fields[column] ? csv->fields[column] : "";
    int64_t *numbers = numbers_of(csv, column);
    start(schema, array, numbers ? "l" : "i", name, csv->rows, 2, 0);
    set_validity(csv, column, array);
    array->buffers[1] = numbers ? (void *)numbers : room(csv->rows, sizeof(int32_t));
    if (!numbers)
        make_dictionary(csv, column, schema, array, (int32_t *)array->buffers[1]);
}

cohort_frame *csv_read(cohort_context *context, const char *path)
{
    struct csv csv = take_apart(path);
    struct ArrowSchema schema;
    struct ArrowArray array;
    start(&schema, &array, "+s", "", csv.rows, 1, (int64_t)csv.columns);
    for (uint64_t i = 0; i < csv.columns; i++) {
        schema.children[i] = room(1, sizeof *schema.children[i]);
        array.children[i] = room(1, sizeof *array.children[i]);
        make_column(&csv, i, schema.children[i], array.children[i]);
    }
    free(csv.fields);
    free(csv.text);
    cohort_frame *frame;
    must(context, cohort_frame_import(context, &schema, &array, &frame));
    return frame;
}

/* ---- and back ------------------------------------------------------------------------------------------ */

static void print_text(const char *text, size_t bytes)
{
    int quotes = bytes == 0;
    for (size_t i = 0; i < bytes; i++)
        quotes |= strchr("\",\r\n", text[i]) != NULL;
    if (quotes)
        putchar('"');
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '"')
            putchar('"');
        putchar(text[i]);
    }
    if (quotes)
        putchar('"');
}

static void print_value(const struct ArrowArray *array, int64_t row)
{
    const uint8_t *validity = array->buffers[0];
    int64_t i = array->offset + row;
    if (validity && !(validity[i / 8] >> i % 8 & 1))
        return;
    if (!array->dictionary) {
        printf("%" PRId64, ((const int64_t *)array->buffers[1])[i]);
        return;
    }
    int64_t text = array->dictionary->offset + ((const int32_t *)array->buffers[1])[i];
    const int32_t *offsets = array->dictionary->buffers[1];
    const char *texts = array->dictionary->buffers[2];
    print_text(texts + offsets[text], (size_t)(offsets[text + 1] - offsets[text]));
}

void csv_print_names(cohort_context *context, cohort_frame *frame)
{
    for (uint32_t i = 0; i < cohort_frame_columns(frame); i++) {
        cohort_column_info column = COHORT_COLUMN_INFO_INIT;
        must(context, cohort_frame_get_column(frame, i, &column));
        if (i)
            putchar(',');
        print_text(column.name, strlen(column.name));
    }
    putchar('\n');
}

void csv_print_rows(cohort_context *context, cohort_frame *frame)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    must(context, cohort_frame_export(frame, &schema, &array));
    for (int64_t row = 0; row < array.length; row++) {
        for (int64_t i = 0; i < array.n_children; i++) {
            if (i)
                putchar(',');
            print_value(array.children[i], array.offset + row);
        }
        putchar('\n');
    }
    schema.release(&schema);
    array.release(&array);
}
