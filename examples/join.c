/* join [--KIND] LEFT.csv COLUMNS RIGHT.csv COLUMNS: joins two tables on the columns named, and prints CSV.
 *
 *     cd examples/data
 *     join --left flights.csv origin,day,hour weather.csv origin,day,hour
 *
 * gives each flight from New York with the weather at its airport in its hour, as SQL's
 *
 *     SELECT * FROM flights LEFT JOIN weather USING (origin, day, hour)
 *
 * KIND is inner (if none is given), left, right, full, semi or anti. There are as many key columns on either
 * side, parted by commas; numbers and texts; a null (an empty field) equals nothing.
 *
 * The algorithm. The rows of the right table's key columns get numbers, equal rows the same one, in a hash
 * table (cohort_join_build). Each left row is looked up in it (cohort_join_probe): then it is known how many
 * pairs of rows there are. Their columns are made some pairs at a time (cohort_join_frame), so that a result
 * of any size needs little memory. A right or full join ends with the right rows that no left row met, as row
 * numbers (cohort_join_finish), of which cohort_gather makes columns.
 *
 * Files are read and written by join/table.c, with libcsv (Debian: libcsv-dev); it shows how to make frames
 * by Arrow's C interface. Runs on a GPU's context if there is a GPU, else on the CPU's (COHORT_DEVICE
 * decides). */
#include "join/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE     64 /* pairs at a time; a real program would take a million */
#define KEY_MOST 16

struct key {
    const char *columns[KEY_MOST];
    uint32_t count;
};

static const char *const kinds[] = {"--inner", "--left", "--right", "--full", "--semi", "--anti"};

void fail(const char *what, const char *why)
{
    fprintf(stderr, "join: %s: %s\n", what, why);
    exit(1);
}

void must(cohort_context *context, cohort_status status)
{
    if (status)
        fail(cohort_status_name(status), cohort_message(context));
}

void *room(uint64_t entries, size_t bytes)
{
    void *memory = calloc(entries + 1, bytes);
    if (!memory)
        fail("tables", "too large for this machine's memory");
    return memory;
}

static _Noreturn void usage(void)
{
    fprintf(stderr, "usage: join [--inner|--left|--right|--full|--semi|--anti] "
                    "LEFT.csv COLUMN,... RIGHT.csv COLUMN,...\n");
    exit(2);
}

/* The kind that an option names. */
static cohort_join_kind kind_of(const char *option)
{
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++)
        if (strcmp(option, kinds[i]) == 0)
            return (cohort_join_kind)i; /* in the order of the header */
    usage();
}

/* Cuts names at their commas. */
static struct key key_of(char *names)
{
    struct key key = {{NULL}, 0};
    for (char *name = strtok(names, ","); name; name = strtok(NULL, ",")) {
        if (key.count == KEY_MOST)
            fail(name, "is one key column too many");
        key.columns[key.count++] = name;
    }
    return key;
}

/* The frame of a table's key columns: it shares them, nothing is copied. */
static cohort_frame *pick(cohort_context *context, cohort_frame *table, const struct key *key)
{
    cohort_frame *picked;
    must(context, cohort_frame_pick(table, key->count, key->columns, &picked));
    return picked;
}

static void print_part(cohort_context *context, cohort_frame *result, int names)
{
    if (names)
        table_print_names(context, result);
    table_print_rows(context, result);
    cohort_frame_release(result);
}

/* The right rows that no left row met. A left row of all ones is a row of nulls. Returns how many there
 * are. */
static uint64_t print_rest(cohort_context *context, cohort_join *join, cohort_frame *left,
                           cohort_frame *right)
{
    uint64_t left_rows[PAGE], right_rows[PAGE];
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    page.capacity = PAGE;
    page.left = left_rows;
    page.right = right_rows;
    do {
        cohort_frame *some_left, *some_right, *both;
        must(context, cohort_join_finish(join, &page));
        must(context, cohort_gather(left, page.written, 8, page.left, &some_left));
        must(context, cohort_gather(right, page.written, 8, page.right, &some_right));
        must(context, cohort_frame_beside(some_left, some_right, NULL, &both));
        print_part(context, both, 0);
        cohort_frame_release(some_left);
        cohort_frame_release(some_right);
        page.first += page.written;
    } while (page.first < page.total);
    return page.total;
}

/* Prints all rows of the join. Returns how many there are. */
static uint64_t print_join(cohort_context *context, cohort_join *join, cohort_join_kind kind,
                           cohort_frame *left, cohort_frame *left_keys, cohort_frame *right)
{
    cohort_matches *matches;
    cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
    options.kind = kind;
    must(context, cohort_join_probe(join, left_keys, &options, &matches));

    const uint64_t count = cohort_join_size(matches);
    uint64_t first = 0;
    do {
        cohort_frame *some; /* hour, ..., hour_right */
        must(context, cohort_join_frame(matches, first, PAGE, left, right, NULL, &some));
        print_part(context, some, first == 0);
        first += PAGE;
    } while (first < count);
    cohort_matches_destroy(matches);
    return kind == COHORT_JOIN_RIGHT || kind == COHORT_JOIN_FULL
               ? count + print_rest(context, join, left, right)
               : count;
}

int main(int argc, char **argv)
{
    cohort_join_kind kind = COHORT_JOIN_INNER;
    if (argc > 1 && argv[1][0] == '-') {
        kind = kind_of(argv[1]);
        argc--;
        argv++;
    }
    if (argc != 5)
        usage();
    struct key left_key = key_of(argv[2]), right_key = key_of(argv[4]);

    cohort_context *context = NULL;
    must(NULL, cohort_context_create(NULL, &context));
    cohort_frame *left = table_read(context, argv[1]), *left_keys = pick(context, left, &left_key);
    cohort_frame *right = table_read(context, argv[3]), *right_keys = pick(context, right, &right_key);
    cohort_join *join;
    must(context, cohort_join_build(right_keys, NULL, &join));
    int left_alone = kind == COHORT_JOIN_SEMI || kind == COHORT_JOIN_ANTI;
    uint64_t count = print_join(context, join, kind, left, left_keys, left_alone ? NULL : right);
    fprintf(stderr, "%llu rows\n", (unsigned long long)count);

    cohort_join_destroy(join);
    cohort_frame_release(left_keys);
    cohort_frame_release(right_keys);
    cohort_frame_release(left);
    cohort_frame_release(right);
    cohort_context_destroy(context);
    return 0;
}
