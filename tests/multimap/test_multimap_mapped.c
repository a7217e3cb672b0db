/* test_multimap_mapped.c: multimaps in files as they lie in memory, opened where the file is mapped: what
 * they answer, what they refuse, and what altered, cut, foreign and hostile files get. */
#include <unistd.h>

#include "file.h"
#include "pairs.h"
#include "view.h"

static int refuses(struct test *t, const char *path, cohort_status due, const char *word)
{
    cohort_multimap *m = (cohort_multimap *)t;
    cohort_status got = cohort_multimap_map(t->context, path, &m);
    if (!CHECKF(t, got == due, "%s, not %s (%s)", cohort_status_name(got), cohort_status_name(due),
                got ? cohort_message(t->context) : word))
        return 0;
    const char *message = cohort_message(t->context);
    return CHECK(t, !m) &&
           CHECKF(t, strstr(message, path) && (!word || strstr(message, word)),
                  "the message \"%s\" does not name the file and \"%s\"", message, word ? word : "");
}

/* ---- what is mapped answers as what was saved ---------------------------------------------------------- */

static void same_file(struct test *t, const char *path, const char *other)
{
    struct bytes a = contents(t, path), b = contents(t, other);
    CHECK(t, a.count == b.count && !memcmp(a.data, b.data, a.count));
    free(a.data);
    free(b.data);
}

static void refuses_insert(struct test *t, cohort_multimap *m, const struct data *d)
{
    struct column *one = column_new(t, 1, 8);
    const void *sent = column_send(one);
    FAILS(t, t->context, cohort_multimap_insert(m, 1, sent, sent, NULL), COHORT_UNSUPPORTED,
          "cohort_multimap_map", "cohort_multimap_insert");
    check_sizes(t, m, d);
}

/* By a reader and a view, in a union that is inserted into, and saved again in both ways. */
static void use_mapped(struct test *t, const struct folder *f, cohort_multimap *m, const struct data *d)
{
    cohort_multimap *other = NULL, *reader = NULL;
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap_view view;
    OK(t, cohort_multimap_reader(m, t->context, &reader));
    check_lookups(t, reader, d, 50);
    cohort_multimap_destroy(reader);
    OK(t, cohort_multimap_get_view(m, &view));
    refuses_insert(t, m, d);
    OK(t, cohort_multimap_save_table(m, f->other));
    same_file(t, f->file, f->other);
    OK(t, cohort_multimap_save(m, f->other));
    OK(t, cohort_multimap_load(t->context, f->other, &other));
    check_all(t, other, d, 50);
    cohort_multimap_destroy(other);
    options.width = d->width;
    OK(t, cohort_multimap_build(t->context, &options, 0, NULL, NULL, NULL, &other));
    OK(t, cohort_multimap_union(other, m, &reader));
    cohort_multimap_destroy(other);
    struct data more = data_new(t, d->width, 40, FEW, 30), both = joined(t, d, &more);
    OK(t, cohort_multimap_insert(reader, more.n, column_send(more.keys), column_send(more.values),
                                 column_pointer(more.where)));
    check_all(t, reader, &both, 50);
    cohort_multimap_destroy(reader);
    free(more.pairs);
    free(both.pairs);
}

/* Saves, maps, and asks; `m` stays as it was. */
static void save_and_map(struct test *t, cohort_multimap *m, const struct data *d)
{
    struct folder f = folder_new(t);
    cohort_multimap *mapped = NULL;
    struct cohort_multimap_options a = COHORT_MULTIMAP_OPTIONS_INIT, b = a;
    OK(t, cohort_multimap_save_table(m, f.file));
    OK(t, cohort_multimap_map(t->context, f.file, &mapped));
    OK(t, cohort_multimap_get_options(m, &a));
    OK(t, cohort_multimap_get_options(mapped, &b));
    CHECK(t, a.width == b.width && a.max_load == b.max_load);
    check_all(t, mapped, d, 300);
    use_mapped(t, &f, mapped, d);
    unlink(f.file); /* which a mapping outlives */
    check_all(t, mapped, d, 100);
    check_lookups(t, m, d, 100);
    cohort_multimap_destroy(mapped);
    folder_end(t, &f);
}

static void round_trip(struct test *t)
{
    static const uint64_t ranges[] = {1, 7, 300, UINT64_MAX};
    for (unsigned i = 0; i < 9; i++) {
        struct column *mark = t->columns;
        const uint64_t n = i < 2    ? i
                           : i == 8 ? test_size(t, test_scale(t, 9000, 60000, 200000), 9000)
                                    : 1 + test_below(t, 1500);
        struct data d = data_new(t, t->width, n, i & 1 ? RANDOM : EDGES, ranges[i % 4]);
        cohort_multimap *m = build_of(t, &d);
        save_and_map(t, m, &d);
        cohort_multimap_destroy(m);
        free(d.pairs);
        column_drop(t, mark);
    }
}

/* Of all keys distinct, which a CPU has without runs; and of several levels. */
static void built_for_the_file(struct test *t)
{
    struct data d = data_new(t, t->width, 3000, SEQUENTIAL, UINT64_MAX);
    cohort_multimap *m = build_of(t, &d);
    save_and_map(t, m, &d);
    for (unsigned i = 0; i < 3; i++) {
        struct data more = data_new(t, t->width, 900 >> 2 * i, FEW, 2000), both = joined(t, &d, &more);
        OK(t, cohort_multimap_insert(m, more.n, column_send(more.keys), column_send(more.values),
                                     column_pointer(more.where)));
        save_and_map(t, m, &both);
        free(d.pairs);
        free(more.pairs);
        d = both;
    }
    cohort_multimap_destroy(m);
    free(d.pairs);
}

/* A file of pairs is loaded, and is to be read alone, too. */
static void file_of_pairs(struct test *t)
{
    for (unsigned distinct = 0; distinct < 2; distinct++) {
        struct folder f = folder_new(t);
        struct data d = data_new(t, t->width, 400, distinct ? SEQUENTIAL : FEW, distinct ? UINT64_MAX : 90);
        cohort_multimap *m = build_of(t, &d), *back = NULL;
        cohort_multimap_view view;
        OK(t, cohort_multimap_save(m, f.file));
        OK(t, cohort_multimap_map(t->context, f.file, &back));
        refuses_insert(t, back, &d);
        check_all(t, back, &d, 100);
        OK(t, cohort_multimap_get_view(back, &view)); /* which may build it anew */
        refuses_insert(t, back, &d);
        check_all(t, back, &d, 100);
        cohort_multimap_destroy(back);
        OK(t, cohort_multimap_save_table(m, f.file));
        FAILS(t, t->context, cohort_multimap_load(t->context, f.file, &back), COHORT_BAD_VERSION, "kind 6",
              NULL);
        cohort_multimap_destroy(m);
        free(d.pairs);
        folder_end(t, &f);
    }
}

/* What is mapped stays as it is when another file gets its name. */
static void saved_over(struct test *t)
{
    struct folder f = folder_new(t);
    struct data d = data_new(t, t->width, 500, FEW, 60), e = data_new(t, t->width, 700, FEW, 50);
    cohort_multimap *m = build_of(t, &d), *other = build_of(t, &e), *first = NULL, *second = NULL;
    OK(t, cohort_multimap_save_table(m, f.file));
    OK(t, cohort_multimap_map(t->context, f.file, &first));
    OK(t, cohort_multimap_save_table(other, f.file));
    OK(t, cohort_multimap_map(t->context, f.file, &second));
    OK(t, cohort_multimap_save_table(second, f.file));
    check_all(t, first, &d, 100);
    check_all(t, second, &e, 100);
    cohort_multimap_destroy(first);
    cohort_multimap_destroy(second);
    cohort_multimap_destroy(m);
    cohort_multimap_destroy(other);
    free(d.pairs);
    free(e.pairs);
    folder_end(t, &f);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

#define KEYS 5u

/* Key i has i + 1 values; two keys look like marks, and are in the side slots. */
static struct bytes sample(struct test *t, const struct folder *f)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = NULL;
    struct column *mark = t->columns;
    const uint64_t n = KEYS * (KEYS + 1) / 2;
    struct column *keys = column_new(t, n, key_bytes(t->width)),
                  *values = column_new(t, n, value_bytes(t->width));
    for (uint64_t key = 0, i = 0; key < KEYS; key++)
        for (uint64_t j = 0; j <= key; j++, i++) {
            column_put(keys, i, UINT64_MAX - key);
            column_put(values, i, i);
        }
    options.width = t->width;
    OK(t, cohort_multimap_build(t->context, &options, n, column_send(keys), column_send(values), NULL, &m));
    OK(t, cohort_multimap_save_table(m, f->file));
    cohort_multimap_destroy(m);
    column_drop(t, mark);
    return contents(t, f->file);
}

static void damaged(struct test *t)
{
    struct folder f = folder_new(t);
    struct bytes b = sample(t, &f);
    CHECK(t, b.count > 256 && b.count < 2000);
    damage_each(t, f.file, &b, FILE_MULTIMAP, refuses);
    free(b.data);
    folder_end(t, &f);
}

/* ---- hostile files: what they say is wrong, and their checksums are right ------------------------------ */

enum { SECTIONS = 5, HEADER = 24 + 16 * SECTIONS, NUMBERS = HEADER + 8, PARTS = 256 };
enum { VERSION, LAYOUT, TABLE_WIDTH, PROBE, SLOTS, SEED, MAX_LOAD, FIXED, GROUP, FILTER, WIDTH, VALUES };
enum { FIELDS = VALUES + 1, RESERVED = (PARTS - NUMBERS) / 8 };

/* The file with another word at a place. */
static void hostile_word(struct test *t, const struct folder *f, struct bytes *b, uint64_t at, uint64_t value,
                         cohort_status due, const char *word)
{
    const uint64_t was = file_get(b->data + at);
    file_put(b->data + at, value);
    seal(t, f->file, b, SECTIONS);
    refuses(t, f->file, due, word);
    file_put(b->data + at, was);
}

static void opens(struct test *t, const struct folder *f, struct bytes *b)
{
    cohort_multimap *m = NULL;
    uint64_t keys, values;
    seal(t, f->file, b, SECTIONS);
    OK(t, cohort_multimap_map(t->context, f->file, &m));
    OK(t, cohort_multimap_size(m, &keys, &values));
    EQUAL(t, keys, KEYS);
    EQUAL(t, values, KEYS * (KEYS + 1) / 2);
    cohort_multimap_destroy(m);
}

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, 8);
    return bits;
}

static void hostile_numbers(struct test *t)
{
    struct folder f = folder_new(t);
    struct bytes b = sample(t, &f);
    const uint64_t values = file_get(b.data + NUMBERS + 8 * VALUES),
                   slots = file_get(b.data + NUMBERS + 8 * SLOTS);
    const struct {
        unsigned field;
        uint64_t value;
        const char *word;
    } cases[] = {
        {LAYOUT, 1, NULL},
        {LAYOUT, 2, "layout"},
        {TABLE_WIDTH, 6, "width"},
        {TABLE_WIDTH, (uint64_t)t->width, NULL},
        {TABLE_WIDTH, t->width == COHORT_WIDTH_32_32 ? COHORT_WIDTH_64_0 : COHORT_WIDTH_32_0, NULL},
        {PROBE, COHORT_PROBE_LINEAR, "keys"},
        {PROBE, 2, "probe"},
        {SLOTS, slots + 1, "slots"},
        {SLOTS, 1ull << 62, "slots"},
        {SEED, 1, "slot"},
        {MAX_LOAD, bits_of(0.05), "keys"},
        {MAX_LOAD, bits_of(0.96), "keys"},
        {MAX_LOAD, UINT64_MAX, "max_load"},
        {FIXED, 1, "keys"},
        {GROUP, 2, "group"},
        {FILTER, 1, "bytes"},
        {WIDTH, 0, "width"},
        {WIDTH, COHORT_WIDTH_32_0, "width"},
        {WIDTH, COHORT_WIDTH_64_0, "width"},
        {WIDTH, 6, "width"},
        {WIDTH, 1ull << 32 | COHORT_WIDTH_64_64, "width"},
        {WIDTH, t->width == COHORT_WIDTH_32_32 ? COHORT_WIDTH_64_32 : COHORT_WIDTH_32_32, "keys"},
        {VALUES, values - 1, "bytes"},
        {VALUES, values + 1, "bytes"},
        {VALUES, values + (1ull << 62), NULL}, /* as many bytes, modulo 2^64 */
        {VALUES, values + (1ull << 61), NULL},
        {VALUES, UINT64_MAX, "values"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        hostile_word(t, &f, &b, NUMBERS + 8 * cases[i].field, cases[i].value, COHORT_CORRUPT, cases[i].word);
    if (t->width != COHORT_WIDTH_32_32) /* the other width of values: other bytes */
        hostile_word(t, &f, &b, NUMBERS + 8 * WIDTH,
                     t->width == COHORT_WIDTH_64_64 ? COHORT_WIDTH_64_32 : COHORT_WIDTH_64_64, COHORT_CORRUPT,
                     "bytes");
    for (unsigned i = FIELDS; i < RESERVED; i++)
        hostile_word(t, &f, &b, NUMBERS + 8 * i, 1, COHORT_CORRUPT, "reserved");
    hostile_word(t, &f, &b, NUMBERS + 8 * VERSION, 2, COHORT_BAD_VERSION, "version");
    opens(t, &f, &b);
    free(b.data);
    folder_end(t, &f);
}

/* The slot's run is empty, or not. */
static int has_run(const unsigned char *ends, uint64_t slot)
{
    return file_get(ends + 8 * slot) != file_get(ends + 8 * (slot + 1));
}

/* Does a word of the ends with this value leave the runs on both sides of it what they must be? */
static int may_be(const unsigned char *ends, uint64_t word, uint64_t words, uint64_t value)
{
    return word && word + 2 < words && has_run(ends, word - 1) && has_run(ends, word) &&
           value > file_get(ends + 8 * (word - 1)) && value < file_get(ends + 8 * (word + 1));
}

/* Each word of the ends, larger and smaller by one, and far off; and the table's first counters. */
static void hostile_ends(struct test *t)
{
    struct folder f = folder_new(t);
    struct bytes b = sample(t, &f);
    const uint64_t counters = PARTS + file_get(b.data + 24 + 16),
                   ends = counters + file_get(b.data + 24 + 32), words = file_get(b.data + 24 + 48) / 8;
    CHECK(t, words == file_get(b.data + NUMBERS + 8 * SLOTS) + 4); /* side slots, and two words more */
    for (uint64_t i = 0; i < words; i++) {
        const uint64_t at = ends + 8 * i, was = file_get(b.data + at);
        const uint64_t values[3] = {was + 1, was - 1, was ^ 1ull << 63};
        for (int k = 0; k < 3; k++) {
            const int good = may_be(b.data + ends, i, words, values[k]);
            if (!good)
                hostile_word(t, &f, &b, at, values[k], COHORT_CORRUPT, "run");
            file_put(b.data + at, values[k]);
            if (good) /* a value has gone to the key beside */
                opens(t, &f, &b);
            file_put(b.data + at, was);
        }
    }
    hostile_word(t, &f, &b, counters, file_get(b.data + counters) + 1, COHORT_CORRUPT, "taken");
    opens(t, &f, &b);
    free(b.data);
    folder_end(t, &f);
}

/* A key whose values all are the next key's, and runs that go on behind the last value: all else fits. */
static void moved_ends(struct test *t)
{
    struct folder f = folder_new(t);
    struct bytes b = sample(t, &f);
    unsigned char *ends = b.data + PARTS + file_get(b.data + 24 + 16) + file_get(b.data + 24 + 32);
    const uint64_t bytes = file_get(b.data + 24 + 48), slots = bytes / 8 - 2;
    unsigned char *was = malloc(bytes);
    unsigned moved = 0;
    REQUIRE(t, was);
    memcpy(was, ends, bytes);
    for (uint64_t slot = 0; slot < slots; slot++) {
        uint64_t next = slot + 1;
        while (next < slots && !has_run(was, next))
            next++;
        if (!has_run(was, slot))
            continue;
        const uint64_t to = next < slots ? file_get(was + 8 * slot) : file_get(was + 8 * slots) + 1;
        for (uint64_t i = slot + 1; i <= (next < slots ? next : slots + 1); i++)
            file_put(ends + 8 * i, to);
        seal(t, f.file, &b, SECTIONS);
        refuses(t, f.file, COHORT_CORRUPT, "run");
        memcpy(ends, was, bytes);
        moved++;
    }
    EQUAL(t, moved, KEYS);
    free(was);
    opens(t, &f, &b);
    free(b.data);
    folder_end(t, &f);
}

/* A table of LINES, which is one of a map's and none of a multimap's. */
static void table_of_lines(struct test *t)
{
    struct folder f = folder_new(t);
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map = NULL;
    options.width = t->width == COHORT_WIDTH_32_32 ? COHORT_WIDTH_32_0 : COHORT_WIDTH_64_0;
    options.layout = COHORT_LAYOUT_LINES;
    options.capacity = 5;
    OK(t, cohort_map_create(t->context, &options, &map));
    OK(t, cohort_map_save_table(map, f.file));
    cohort_map_destroy(map);
    const struct bytes from = contents(t, f.file);
    struct bytes b = {calloc(1, from.count + 64), from.count + 8};
    REQUIRE(t, b.data);
    memcpy(b.data, from.data, 24 + 16 * 3);
    memcpy(b.data + NUMBERS, from.data + 24 + 16 * 3 + 8, 8 * WIDTH);
    memcpy(b.data + PARTS, from.data + PARTS, from.count - PARTS);
    file_put(b.data + 8, 1 | (uint64_t)FILE_MULTIMAP_TABLE << 32);
    file_put(b.data + 16, SECTIONS);
    file_put(b.data + 24, 8 * RESERVED);
    file_put(b.data + 24 + 16 * 3, 8);
    file_put(b.data + 24 + 16 * 4, 0);
    file_put(b.data + NUMBERS + 8 * WIDTH, (uint64_t)t->width);
    seal(t, f.file, &b, SECTIONS);
    refuses(t, f.file, COHORT_CORRUPT, "keys");
    free(from.data);
    free(b.data);
    folder_end(t, &f);
}

/* ---- names, other files, and memory -------------------------------------------------------------------- */

static void names_and_places(struct test *t)
{
    struct folder f = folder_new(t);
    struct data d = data_new(t, COHORT_WIDTH_64_64, 40, FEW, 9);
    cohort_multimap *m = build_of(t, &d), *made = (cohort_multimap *)t;
    cohort_context *c = t->context;
    static const char save[] = "cohort_multimap_save_table", map[] = "cohort_multimap_map";
    FAILS(t, NULL, cohort_multimap_save_table(NULL, f.file), COHORT_NULL, "multimap", save);
    FAILS(t, c, cohort_multimap_save_table(m, NULL), COHORT_NULL, "path", save);
    FAILS(t, c, cohort_multimap_save_table(m, "/nonexistent/file"), COHORT_IO, "/nonexistent/file", NULL);
    FAILS(t, c, cohort_multimap_save_table(m, f.path), COHORT_IO, f.path, "directory");
    FAILS(t, NULL, cohort_multimap_map(NULL, f.file, &made), COHORT_NULL, "context", map);
    CHECK(t, !made);
    FAILS(t, c, cohort_multimap_map(c, NULL, &made), COHORT_NULL, "path", map);
    FAILS(t, c, cohort_multimap_map(c, f.file, NULL), COHORT_NULL, "out", map);
    refuses(t, f.file, COHORT_IO, "No such file");
    refuses(t, f.path, COHORT_IO, "directory");
    write_file(t, f.file, "ACGT\n", 5);
    refuses(t, f.file, COHORT_BAD_VERSION, NULL);
    cohort_map *table = NULL;
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    options.capacity = 10;
    OK(t, cohort_map_create(c, &options, &table));
    OK(t, cohort_map_save_table(table, f.file));
    refuses(t, f.file, COHORT_BAD_VERSION, "kind 5");
    OK(t, cohort_map_save(table, f.file));
    refuses(t, f.file, COHORT_BAD_VERSION, "kind 1");
    cohort_map_destroy(table);
    OK(t, cohort_multimap_save_table(m, f.file));
    FAILS(t, c, cohort_map_map(c, f.file, &table), COHORT_BAD_VERSION, "kind 6", NULL);
    cohort_multimap_destroy(m);
    free(d.pairs);
    folder_end(t, &f);
}

/* On a device of other memory than the host's each of index, ends and runs needs some there; elsewhere none
 * is taken. Nothing is left of what was. */
static void no_memory(struct test *t)
{
    struct folder f = folder_new(t);
    struct data d = data_new(t, t->width, 3000, FEW, 900);
    cohort_multimap *m = build_of(t, &d), *back = NULL;
    unsigned failed = 0;
    OK(t, cohort_multimap_save_table(m, f.file));
    cohort_trim(t->context);
    const uint64_t before = t->ledger.bytes;
    for (uint64_t room = 100; !back && room < 1 << 22; room += room / 2) {
        t->ledger.limit = before + room;
        cohort_status status = cohort_multimap_map(t->context, f.file, &back);
        CHECK(t, status == COHORT_OK || status == COHORT_NO_MEMORY);
        CHECK(t, !status == (back != NULL));
        CHECK(t, back || t->ledger.bytes == before);
        failed += !back;
    }
    t->ledger.limit = 0;
    REQUIRE(t, back);
    CHECK(t, t->kind == TEST_CPU ? !failed && t->ledger.bytes == before : failed > 3);
    check_lookups(t, back, &d, 50);
    cohort_multimap_destroy(back);
    cohort_multimap_destroy(m);
    free(d.pairs);
    folder_end(t, &f);
}

#define WIDTHS (TEST_EACH_WIDTH | TEST_VALUES)

const struct test_case test_cases[] = {
    {"round_trip", round_trip, WIDTHS | TEST_EACH_MEMORY},
    {"built_for_the_file", built_for_the_file, WIDTHS},
    {"file_of_pairs", file_of_pairs, WIDTHS},
    {"saved_over", saved_over, WIDTHS},
    {"damaged", damaged, WIDTHS},
    {"hostile_numbers", hostile_numbers, WIDTHS},
    {"hostile_ends", hostile_ends, WIDTHS},
    {"moved_ends", moved_ends, WIDTHS},
    {"table_of_lines", table_of_lines, WIDTHS},
    {"names_and_places", names_and_places, 0},
    {"no_memory", no_memory, WIDTHS | TEST_COUNTED},
    {NULL, NULL, 0},
};
