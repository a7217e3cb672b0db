/* test_files_damaged.c: files of maps and multimaps that are altered, cut, foreign or hostile: all are
 * refused, and keep no memory. */
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include "kinds.h"

/* A file with a few pairs, saved by the library. */
static void save_sample(struct test *t, const struct kind *kind, cohort_width width, const char *path)
{
    struct column *mark = t->columns;
    if (kind->number == FILE_MULTIMAP) {
        cohort_multimap *m = small_multimap(t, width, 3, 3);
        OK(t, cohort_multimap_save(m, path));
        cohort_multimap_destroy(m);
    } else {
        cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
        cohort_map *map = NULL;
        options.width = width;
        options.layout = t->layout;
        options.capacity = 5;
        OK(t, cohort_map_create(t->context, &options, &map));
        struct column *keys = column_new(t, 5, key_bytes(width)), *values = column_new(t, 5, 8);
        for (uint64_t i = 0; i < 5; i++)
            column_put(keys, i, UINT64_MAX - i);
        OK(t, cohort_map_insert(map, 5, column_send(keys), value_bytes(width) ? column_send(values) : NULL,
                                NULL));
        OK(t, cohort_map_save(map, path));
        cohort_map_destroy(map);
    }
    column_drop(t, mark);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

static void damage(struct test *t, const struct kind *kind, cohort_width width)
{
    struct folder f = folder_new(t);
    save_sample(t, kind, width, f.file);
    struct bytes whole = contents(t, f.file);
    CHECK(t, whole.count > 64 && whole.count < 1000);
    int file = open(f.file, O_RDWR);
    REQUIRE(t, file >= 0);
    for (uint64_t cut = whole.count; cut-- && !t->failures;) {
        REQUIRE(t, ftruncate(file, (off_t)cut) == 0);
        kind_refuses(t, kind, f.file, COHORT_TRUNCATED, "byte");
    }
    REQUIRE(t, pwrite(file, whole.data, whole.count, 0) == (ssize_t)whole.count);
    for (uint64_t i = 0; i < whole.count && !t->failures; i++) {
        unsigned char other = whole.data[i] ^ (unsigned char)(1u << test_below(t, 8));
        if (test_below(t, 2))
            other = (unsigned char)(whole.data[i] + 1 + test_below(t, 255));
        REQUIRE(t, pwrite(file, &other, 1, (off_t)i) == 1);
        kind_refuses(t, kind, f.file, i < 16 ? COHORT_BAD_VERSION : COHORT_CORRUPT, "byte");
        REQUIRE(t, pwrite(file, &whole.data[i], 1, (off_t)i) == 1);
    }
    REQUIRE(t, pwrite(file, "", 1, (off_t)whole.count) == 1);
    kind_refuses(t, kind, f.file, COHORT_CORRUPT, "after its end");
    close(file);
    free(whole.data);
    folder_end(t, &f);
}

static void damaged_maps(struct test *t)
{
    damage(t, &map_kind, t->width);
}

static void damaged_multimaps(struct test *t)
{
    damage(t, &multimap_kind, COHORT_WIDTH_32_32);
    damage(t, &multimap_kind, COHORT_WIDTH_64_32);
    damage(t, &multimap_kind, COHORT_WIDTH_64_64);
}

/* What malloc has given out; 0 where nobody tells. */
static uint64_t host_bytes(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else
    return 0;
#endif
}

static void save_large(struct test *t, const struct kind *kind, uint64_t n, const char *path)
{
    struct column *mark = t->columns, *keys = column_new(t, n, 8), *values = column_new(t, n, 8);
    for (uint64_t i = 0; i < n; i++)
        column_put(keys, i, i * 0x9e3779b97f4a7c15u);
    if (kind->number == FILE_MULTIMAP) {
        cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
        cohort_multimap *m;
        options.width = COHORT_WIDTH_64_64;
        OK(t,
           cohort_multimap_build(t->context, &options, n, column_send(keys), column_send(values), NULL, &m));
        OK(t, cohort_multimap_save(m, path));
        cohort_multimap_destroy(m);
    } else {
        cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
        cohort_map *m;
        options.width = COHORT_WIDTH_64_64;
        options.capacity = n;
        OK(t, cohort_map_create(t->context, &options, &m));
        OK(t, cohort_map_insert(m, n, column_send(keys), column_send(values), NULL));
        OK(t, cohort_map_save(m, path));
        cohort_map_destroy(m);
    }
    column_drop(t, mark);
}

/* What was read before the place that is altered goes back. */
static void keeps_nothing(struct test *t)
{
    const uint64_t n = test_size(t, 40000, 20000);
    const struct kind *kinds[] = {&map_kind, &multimap_kind};
    for (int i = 0; i < 2; i++) {
        struct folder f = folder_new(t);
        save_large(t, kinds[i], n, f.file);
        struct bytes whole = contents(t, f.file);
        for (uint64_t part = 4; part; part--) {
            whole.data[whole.count * part / 4 - 1] ^= 1;
            write_file(t, f.file, whole.data, whole.count);
            whole.data[whole.count * part / 4 - 1] ^= 1;
            kind_refuses(t, kinds[i], f.file, COHORT_CORRUPT, "byte");
            const uint64_t before = host_bytes();
            for (int again = 0; again < 3; again++)
                kind_refuses(t, kinds[i], f.file, COHORT_CORRUPT, "byte");
            CHECKF(t, host_bytes() < before + 8 * n, "%s, quarter %llu: %llu bytes have leaked",
                   kinds[i]->name, (unsigned long long)part, (unsigned long long)(host_bytes() - before));
        }
        free(whole.data);
        folder_end(t, &f);
    }
}

static void foreign_files(struct test *t)
{
    struct folder f = folder_new(t);
    const struct kind *kinds[] = {&map_kind, &multimap_kind};
    for (int i = 0; i < 2; i++) {
        void *object = NULL;
        kind_refuses(t, kinds[i], "/nonexistent/file", COHORT_IO, "No such file");
        kind_refuses(t, kinds[i], f.path, COHORT_IO, "directory");
        write_file(t, f.file, "key,value\n1,2\n", 14);
        kind_refuses(t, kinds[i], f.file, COHORT_BAD_VERSION, "byte 0");
        write_file(t, f.file, "", 0);
        kind_refuses(t, kinds[i], f.file, COHORT_TRUNCATED, "byte 0");
        save_sample(t, kinds[1 - i], COHORT_WIDTH_64_64, f.file);
        kind_refuses(t, kinds[i], f.file, COHORT_BAD_VERSION, "kind");
        FAILS(t, t->context, kinds[i]->load(t->context, NULL, &object), COHORT_NULL, "path", NULL);
        FAILS(t, NULL, kinds[i]->load(NULL, f.file, &object), COHORT_NULL, "context", NULL);
    }
    FAILS(t, t->context, cohort_map_load(t->context, f.file, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, t->context, cohort_multimap_load(t->context, f.file, NULL), COHORT_NULL, "out", NULL);
    folder_end(t, &f);
}

/* ---- files with right checksums and wrong contents ----------------------------------------------------- */

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, 8);
    return bits;
}

/* Two keys, 1 and 2, with one and two values; field i of the options set to `value`. */
static void hostile_multimap(struct test *t, const char *path, unsigned field, uint64_t value)
{
    uint64_t options[5] = {COHORT_WIDTH_64_64, 7, bits_of(0.8), 2, 3}, keys[2] = {1, 2};
    uint64_t offsets[3] = {0, 1, 3}, values[3] = {10, 20, 21};
    if (field < 5)
        options[field] = value;
    else if (field < 7)
        keys[field - 5] = value;
    else if (field < 10)
        offsets[field - 7] = value;
    const struct file_section sections[4] = {
        {options, sizeof options}, {keys, sizeof keys}, {offsets, sizeof offsets}, {values, sizeof values}};
    OK(t, file_write(t->context, &(struct file_stream){path, NULL, NULL}, FILE_MULTIMAP, 4, sections));
}

static void hostile_multimaps(struct test *t)
{
    struct folder f = folder_new(t);
    static const struct {
        unsigned field;
        uint64_t value;
        const char *word;
    } cases[] = {
        {0, 0, "width"},
        {0, 3, "width"},
        {0, 99, "width"},
        {0, UINT64_C(1) << 32 | 5, "width"},
        {0, COHORT_WIDTH_64_32, "values"},
        {0, COHORT_WIDTH_32_32, "keys"},
        {2, UINT64_MAX, "max_load"},
        {3, 3, "keys"},
        {3, 1, "keys"},
        {3, 4, "keys"},
        {3, UINT64_MAX, "keys"},
        {3, UINT64_C(1) << 61, "keys"},
        {4, UINT64_MAX, "values"},
        {4, UINT64_C(1) << 61, "values"},
        {4, 2, "values"},
        {6, 1, "distinct"},
        {7, 1, "offset 0"},
        {8, 0, "offset 1"},
        {8, 3, "offset 2"},
        {8, UINT64_MAX, "offset"},
        {9, 2, "last offset"},
        {9, UINT64_MAX, "last offset"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        hostile_multimap(t, f.file, cases[i].field, cases[i].value);
        kind_refuses(t, &multimap_kind, f.file, COHORT_CORRUPT, cases[i].word);
    }
    hostile_multimap(t, f.file, 99, 0);
    void *good = NULL;
    OK(t, multimap_kind.load(t->context, f.file, &good));
    multimap_kind.destroy(good);
    folder_end(t, &f);
}

static void hostile_map(struct test *t, const char *path, unsigned field, uint64_t value)
{
    uint64_t options[8] = {COHORT_WIDTH_64_64, 0, 9, 7, bits_of(0.8), 0, 0, 2}, keys[2] = {1, 2},
             values[2] = {10, 20};
    if (field < 8)
        options[field] = value;
    else if (field < 10)
        keys[field - 8] = value;
    const struct file_section sections[3] = {
        {options, sizeof options}, {keys, sizeof keys}, {values, sizeof values}};
    OK(t, file_write(t->context, &(struct file_stream){path, NULL, NULL}, FILE_MAP, 3, sections));
}

static void hostile_maps(struct test *t)
{
    struct folder f = folder_new(t);
    static const struct {
        unsigned field;
        uint64_t value;
        const char *word;
    } cases[] = {
        {0, 0, "width"},
        {0, 6, "width"},
        {0, COHORT_WIDTH_64_0, "values"},
        {0, COHORT_WIDTH_32_32, "keys"},
        {1, 2, "probe"},
        {2, 0, "capacity"},
        {4, UINT64_MAX, "max_load"},
        {5, 2, "fixed"},
        {6, 3, "group"},
        {6, 64, "group"},
        {7, 3, "keys"},
        {7, UINT64_C(1) << 61, "pairs"},
        {7, UINT64_MAX, "pairs"},
        {8, 2, "keys"},
        {6, UINT64_C(1) << 63, "group"},
        {6, 2, "group"},                     /* of another width than 32/32 */
        {4, 0x3f747ae147ae147b, "max_load"}, /* 0.005 */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        hostile_map(t, f.file, cases[i].field, cases[i].value);
        kind_refuses(t, &map_kind, f.file, COHORT_CORRUPT, cases[i].word);
    }
    hostile_map(t, f.file, 99, 0);
    void *good = NULL;
    OK(t, map_kind.load(t->context, f.file, &good));
    map_kind.destroy(good);
    folder_end(t, &f);
}

/* A fixed map of more pairs than a table can have slots, and of more than there is memory for. */
static void hostile_capacities(struct test *t)
{
    struct folder f = folder_new(t);
    uint64_t options[8] = {COHORT_WIDTH_64_64, 0, UINT64_MAX, 7, bits_of(0.8), 1, 0, 0};
    const struct file_section sections[3] = {{options, sizeof options}, {NULL, 0}, {NULL, 0}};
    OK(t, file_write(t->context, &(struct file_stream){f.file, NULL, NULL}, FILE_MAP, 3, sections));
    kind_refuses(t, &map_kind, f.file, COHORT_CORRUPT, "capacity");
    options[2] = UINT64_C(1) << 42;
    OK(t, file_write(t->context, &(struct file_stream){f.file, NULL, NULL}, FILE_MAP, 3, sections));
    cohort_map *map = (cohort_map *)t;
    FAILS(t, t->context, cohort_map_load(t->context, f.file, &map), COHORT_NO_MEMORY, "slots", NULL);
    CHECK(t, !map);
    options[5] = 0; /* of a growing one it is no matter */
    OK(t, file_write(t->context, &(struct file_stream){f.file, NULL, NULL}, FILE_MAP, 3, sections));
    OK(t, cohort_map_load(t->context, f.file, &map));
    cohort_map_destroy(map);
    folder_end(t, &f);
}

/* A section that announces more bytes than there are, with the header's checksum right: by a file made right
 * and cut, then by lengths near the end of 64 bits. */
static void announced_lengths(struct test *t)
{
    static const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, UINT64_C(1) << 40, 17};
    struct folder f = folder_new(t);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        /* The sum of the header by its definition: docs/file-format.md. */
        unsigned char head[24 + 4 * 16 + 8] = {0x89, 'c', 'o', 'h', 'o', 'r',          't',
                                               '\n', 1,   0,   0,   0,   FILE_MULTIMAP};
        uint64_t length = sizeof head - 8, sum = length ^ 0x636f686f7274u;
        head[16] = 4;
        for (unsigned s = 0; s < 4; s++)
            file_put(head + 24 + 16 * s, s == i % 4 ? lengths[i] : 8);
        for (uint64_t w = 0; w < length; w += 8) {
            sum = (sum ^ file_get(head + w)) * 0x9e3779b97f4a7c15u;
            sum ^= sum >> 32;
        }
        file_put(head + length, sum);
        write_file(t, f.file, head, sizeof head);
        kind_refuses(t, &multimap_kind, f.file, i < 2 ? COHORT_CORRUPT : COHORT_TRUNCATED, NULL);
    }
    folder_end(t, &f);
}

const struct test_case test_cases[] = {
    {"damaged_maps", damaged_maps, TEST_EACH_LAYOUT | TEST_EACH_WIDTH},
    {"damaged_multimaps", damaged_multimaps, 0},
    {"keeps_nothing", keeps_nothing, 0},
    {"foreign_files", foreign_files, 0},
    {"hostile_maps", hostile_maps, 0},
    {"hostile_capacities", hostile_capacities, 0},
    {"hostile_multimaps", hostile_multimaps, 0},
    {"announced_lengths", announced_lengths, 0},
    {NULL, NULL, 0},
};
