/* join [--outer] LEFT.csv COLUMN RIGHT.csv COLUMN: joins two tables on a column of numbers in each.
 *
 * A hash join in three calls. The right table's keys, with the numbers of their rows, become a multimap (build); each row of
 * the left table asks it for all rows with its key (retrieve), in pieces, so that a result of any size needs little memory.
 * With --outer, left rows without a match are given too, with nothing beside them. A row is a line; its columns are parted
 * by commas, the first line names them. Runs on a GPU if there is one, else on the CPU (COHORT_DEVICE decides). */
#include <cohort.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 4 /* rows of the result at a time; a real program would take a million */

struct table {
    const char *path;
    char *text;
    char *header;
    char **rows; /* lines, ended by 0 */
    uint64_t *keys;
    uint64_t count;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "join: %s: %s\n", what, why);
    exit(1);
}

static void must(cohort_context *context, cohort_status status)
{
    if (status)
        fail(cohort_status_name(status), cohort_message(context));
}

static void *room(uint64_t entries, size_t bytes)
{
    void *memory = calloc(entries + 1, bytes);
    if (!memory)
        fail("table", "too large for this machine's memory");
    return memory;
}

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
        if (size == capacity) {
            text = realloc(text, (capacity *= 2) + 1);
            if (!text)
                fail(path, "too large for this machine's memory");
        }
    }
    if (ferror(file))
        fail(path, strerror(errno));
    text[size] = 0;
    fclose(file);
    return text;
}

/* Where column `index` of a row begins; NULL if the row has fewer. */
static const char *column_of(const char *row, uint64_t index)
{
    for (; index > 0 && row; index--)
        row = (row = strchr(row, ',')) ? row + 1 : NULL;
    return row;
}

static uint64_t column_named(const struct table *table, const char *name)
{
    size_t length = strlen(name);
    const char *at;
    for (uint64_t i = 0; (at = column_of(table->header, i)); i++)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0))
            return i;
    fail(table->path, "has no such column");
    return 0;
}

/* Takes the next line off the text: NULL at its end. */
static char *next_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');
    if (*line == 0)
        return NULL;
    *text = end ? end + 1 : line + strlen(line);
    if (end)
        *end = 0;
    return line;
}

static struct table read_table(const char *path, const char *key)
{
    struct table table = {path, read_file(path), NULL, NULL, NULL, 0};
    uint64_t lines = 0;
    for (const char *c = table.text; *c; c++)
        lines += *c == '\n';
    char *rest = table.text, *row;
    table.header = next_line(&rest);
    if (!table.header)
        fail(path, "is empty");
    uint64_t column = column_named(&table, key);
    table.rows = room(lines, sizeof *table.rows);
    table.keys = room(lines, sizeof *table.keys);
    while ((row = next_line(&rest))) {
        const char *field = column_of(row, column);
        char *end = NULL;
        errno = 0;
        if (field)
            table.keys[table.count] = strtoull(field, &end, 10);
        if (!field || end == field || (*end != 0 && *end != ',') || errno)
            fail(path, "a row has no number in the column");
        table.rows[table.count++] = row;
    }
    return table;
}

/* A row of empty columns. */
static char *blank_row(const struct table *table)
{
    char *row = room(strlen(table->header), 1), *end = row;
    for (const char *c = table->header; *c; c++)
        if (*c == ',')
            *end++ = ',';
    return row;
}

static void free_table(struct table *table)
{
    free(table->text);
    free(table->rows);
    free(table->keys);
}

static cohort_multimap *index_of(cohort_context *context, const struct table *table)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT; /* 64-bit keys and values */
    cohort_multimap *multimap = NULL;
    uint64_t *numbers = room(table->count, sizeof *numbers);
    for (uint64_t i = 0; i < table->count; i++)
        numbers[i] = i;
    must(context,
         cohort_multimap_build(context, &options, table->count, table->keys, numbers, NULL, &multimap));
    free(numbers);
    return multimap;
}

/* Prints the rows of the result, a piece at a time. Returns how many there are. */
static uint64_t print_rows(cohort_context *context, cohort_multimap *multimap, const struct table *left,
                           const struct table *right, int outer)
{
    uint64_t queries[PIECE], values[PIECE];
    uint32_t matched[(PIECE + 31) / 32];
    cohort_retrieve rows = COHORT_RETRIEVE_INIT;
    rows.outer = outer ? 1 : 0;
    rows.capacity = PIECE;
    rows.queries = queries;
    rows.values = values;
    rows.matched = matched;
    char *nothing = blank_row(right);
    do {
        must(context, cohort_multimap_retrieve(multimap, left->count, left->keys, &rows));
        for (uint64_t i = 0; i < rows.written; i++) {
            int match = matched[i / 32] >> i % 32 & 1;
            printf("%s,%s\n", left->rows[queries[i]], match ? right->rows[values[i]] : nothing);
        }
        rows.first += rows.written;
    } while (rows.first < rows.total);
    free(nothing);
    return rows.total;
}

int main(int argc, char **argv)
{
    int outer = argc > 1 && strcmp(argv[1], "--outer") == 0;
    if (argc != 5 + outer) {
        fprintf(stderr, "usage: join [--outer] LEFT.csv COLUMN RIGHT.csv COLUMN\n");
        return 2;
    }
    argv += outer;
    struct table left = read_table(argv[1], argv[2]), right = read_table(argv[3], argv[4]);

    cohort_context *context = NULL;
    must(NULL, cohort_context_create(NULL, &context));
    cohort_multimap *multimap = index_of(context, &right);
    printf("%s,%s\n", left.header, right.header);
    uint64_t count = print_rows(context, multimap, &left, &right, outer);
    fprintf(stderr, "%llu rows\n", (unsigned long long)count);

    cohort_multimap_destroy(multimap);
    cohort_context_destroy(context);
    free_table(&left);
    free_table(&right);
    return 0;
}
