/* table.c: CSV to Arrow's arrays, and back.
 *
 * Reading: libcsv takes the file apart, in its strict mode: fields parted by commas, in quotes if they hold a
 * comma, a quote or a line's end; a quote in quotes is doubled (RFC 4180). Then the fields of each column
 * become an ArrowArray, all of them the children of one struct array, and cohort_frame_import takes that
 * over: when the last frame that shares a column lets go, the array's `release` below is called.
 *
 * A text column is a dictionary: its distinct texts once, in order, and for each row an index into them. They
 * are found by sorting the fields. */
#include "table.h"

#include <csv.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    const char *path;
    char **fields; /* row after row, the names first; NULL: an empty field */
    uint64_t count, capacity, columns, rows;
    /* While the file is read: the line, from 1; the one that its row began on; that row's fields so far; and
     * what ended the row before. */
    uint64_t line, begin, here;
    int end;
};

/* ---- the file ------------------------------------------------------------------------------------------ */

/* Ends the program, saying where and why: the column's number, and its name once the first row is read. */
static _Noreturn void fail_at(const struct table *t, uint64_t line, uint64_t column, const char *why)
{
    char where[640];
    const char *name = column < t->columns ? t->fields[column] : NULL;
    snprintf(where, sizeof where, "%.400s, line %" PRIu64 ", column %" PRIu64 "%s%.100s", t->path, line,
             column + 1, name ? " " : "", name ? name : "");
    fail(where, why);
}

/* libcsv calls it at a field's end. The bytes are the parser's, and change; none: an empty field. */
static void add_field(void *text, size_t bytes, void *table)
{
    struct table *t = table;
    if (text && memchr(text, 0, bytes))
        fail_at(t, t->line, t->here, "has a byte of 0 in it");
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 64;
        t->fields = realloc(t->fields, t->capacity * sizeof *t->fields);
        if (!t->fields)
            fail(t->path, "too large for this machine's memory");
    }
    t->fields[t->count++] = text ? memcpy(room(bytes, 1), text, bytes) : NULL; /* room adds a 0 */
    t->here++;
}

/* libcsv calls it at each row's end: CR, LF, or -1 for the end of the file. A line with nothing on it is a
 * row of one empty field. */
static void end_row(int end, void *table)
{
    struct table *t = table;
    int is_second = end == CSV_LF && t->end == CSV_CR && !t->here; /* of CR and LF, which are one end */
    t->end = end;
    if (is_second)
        return;
    if (!t->here)
        add_field(NULL, 0, t);
    if (!t->columns)
        t->columns = t->here;
    if (t->here < t->columns)
        fail_at(t, t->begin, t->here, "the row has fewer fields than the first");
    if (t->here > t->columns)
        fail_at(t, t->begin, t->columns, "the row has more fields than the first");
    t->here = 0;
    t->begin = t->line + 1;
}

/* Spaces and tabs are left where they are. */
static int is_space(unsigned char letter)
{
    (void)letter;
    return 0;
}

/* Part of one line. */
static void parse(struct table *t, struct csv_parser *parser, const char *text, size_t bytes)
{
    if (csv_parse(parser, text, bytes, add_field, end_row, t) == bytes)
        return;
    if (csv_error(parser) != CSV_EPARSE)
        fail(t->path, csv_strerror(csv_error(parser)));
    fail_at(t, t->line, t->here, "a quote in a field without quotes, or more behind the closing quote");
}

static struct table take_apart(const char *path)
{
    struct table t = {.path = path, .line = 1, .begin = 1};
    struct csv_parser parser;
    char block[4096];
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, strerror(errno));
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL | CSV_REPALL_NL))
        fail(path, "the parser does not start");
    csv_set_space_func(&parser, is_space);
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;)
        for (size_t at = 0, bytes; at < got; at += bytes) {
            const char *end = memchr(block + at, '\n', got - at);
            bytes = end ? (size_t)(end - block) + 1 - at : got - at;
            parse(&t, &parser, block + at, bytes);
            t.line += end != NULL;
        }
    if (ferror(file))
        fail(path, strerror(errno));
    fclose(file);
    if (csv_fini(&parser, add_field, end_row, &t))
        fail_at(&t, t.begin, t.here, "a quote is not closed");
    csv_free(&parser);
    if (!t.columns)
        fail(path, "is empty");
    t.rows = t.count / t.columns - 1;
    return t;
}

static void forget(struct table *t)
{
    for (uint64_t i = 0; i < t->count; i++)
        free(t->fields[i]);
    free(t->fields);
}

static const char *field_of(const struct table *t, uint64_t row, uint64_t column)
{
    return t->fields[(row + 1) * t->columns + column];
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
static void set_validity(const struct table *t, uint64_t column, struct ArrowArray *array)
{
    uint8_t *bits = room(t->rows / 8 + 1, 1);
    for (uint64_t i = 0; i < t->rows; i++) {
        bits[i / 8] |= (uint8_t)(!!field_of(t, i, column) << i % 8);
        array->null_count += !field_of(t, i, column);
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
static int64_t *numbers_of(const struct table *t, uint64_t column)
{
    int64_t *numbers = room(t->rows, sizeof *numbers);
    for (uint64_t i = 0; i < t->rows; i++) {
        const char *field = field_of(t, i, column);
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
static void make_dictionary(const struct table *t, uint64_t column, struct ArrowSchema *schema,
                            struct ArrowArray *array, int32_t *indices)
{
    struct place *places = room(t->rows, sizeof *places);
    uint64_t n = 0, bytes = 0, distinct = 0;
    for (uint64_t i = 0; i < t->rows; i++)
        if (field_of(t, i, column))
            bytes += strlen((places[n++] = (struct place){field_of(t, i, column), i}).text);
    qsort(places, n, sizeof *places, by_text);
    if (bytes > INT32_MAX || t->rows > INT32_MAX)
        fail(t->path, "has too much text for 32-bit offsets");
    int32_t *offsets = room(t->rows + 1, sizeof *offsets);
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

static void make_column(const struct table *t, uint64_t column, struct ArrowSchema *schema,
                        struct ArrowArray *array)
{
    const char *name = t->fields[column] ? t->fields[column] : "";
    int64_t *numbers = numbers_of(t, column);
    start(schema, array, numbers ? "l" : "i", name, t->rows, 2, 0);
    set_validity(t, column, array);
    array->buffers[1] = numbers ? (void *)numbers : room(t->rows, sizeof(int32_t));
    if (!numbers)
        make_dictionary(t, column, schema, array, (int32_t *)array->buffers[1]);
}

cohort_frame *table_read(cohort_context *context, const char *path)
{
    struct table t = take_apart(path);
    struct ArrowSchema schema;
    struct ArrowArray array;
    start(&schema, &array, "+s", "", t.rows, 1, (int64_t)t.columns);
    for (uint64_t i = 0; i < t.columns; i++) {
        schema.children[i] = room(1, sizeof *schema.children[i]);
        array.children[i] = room(1, sizeof *array.children[i]);
        make_column(&t, i, schema.children[i], array.children[i]);
    }
    forget(&t);
    cohort_frame *frame;
    must(context, cohort_frame_import(context, &schema, &array, &frame));
    return frame;
}

/* ---- and back ------------------------------------------------------------------------------------------ */

/* In quotes if it must be; without them an empty text would be a null. */
static void print_text(const char *text, size_t bytes)
{
    int quotes = bytes == 0;
    for (size_t i = 0; i < bytes; i++)
        quotes |= strchr("\",\r\n", text[i]) != NULL;
    if (quotes)
        csv_fwrite(stdout, text, bytes);
    else
        fwrite(text, 1, bytes, stdout);
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

void table_print_names(cohort_context *context, cohort_frame *frame)
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

void table_print_rows(cohort_context *context, cohort_frame *frame)
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
