/* test_files.c: maps and multimaps in files: round trips, and what altered, cut, foreign and hostile files
 * get. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "subject.h"

/* ---- files in a folder of the case's own --------------------------------------------------------------- */

struct folder {
    char path[128], file[160];
};

static struct folder folder_new(struct test *t)
{
    struct folder f;
    const char *base = getenv("TMPDIR");
    snprintf(f.path, sizeof f.path, "%.90s/cohort-test-XXXXXX", base && *base ? base : "/tmp");
    REQUIRE(t, mkdtemp(f.path));
    snprintf(f.file, sizeof f.file, "%s/file", f.path);
    return f;
}

/* Fails the case if anything but the file is in it. */
static void folder_end(struct test *t, struct folder *f)
{
    unlink(f->file);
    CHECKF(t, rmdir(f->path) == 0, "%s: %s", f->path, strerror(errno));
}

static unsigned char *contents(struct test *t, const char *path, uint64_t *bytes)
{
    FILE *file = fopen(path, "rb");
    REQUIRE(t, file);
    REQUIRE(t, fseek(file, 0, SEEK_END) == 0);
    *bytes = (uint64_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*bytes + 1);
    REQUIRE(t, data && fread(data, 1, *bytes, file) == *bytes);
    fclose(file);
    return data;
}

static void write_file(struct test *t, const char *path, const void *data, uint64_t bytes)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(t, file);
    REQUIRE(t, fwrite(data, 1, bytes, file) == bytes);
    REQUIRE(t, fclose(file) == 0);
}

/* ---- the two kinds behind one face --------------------------------------------------------------------- */

struct kind {
    const char *name;
    enum file_kind number;
    unsigned sections;
    cohort_status (*load)(cohort_context *, const char *, void **);
    void (*destroy)(void *);
};

static cohort_status load_map(cohort_context *context, const char *path, void **out)
{
    cohort_map *map = NULL;
    cohort_status status = cohort_map_load(context, path, &map);
    *out = map;
    return status;
}

static cohort_status load_multimap(cohort_context *context, const char *path, void **out)
{
    cohort_multimap *multimap = NULL;
    cohort_status status = cohort_multimap_load(context, path, &multimap);
    *out = multimap;
    return status;
}

static void destroy_map(void *map)
{
    cohort_map_destroy(map);
}

static void destroy_multimap(void *multimap)
{
    cohort_multimap_destroy(multimap);
}

static const struct kind map_kind = {"map", FILE_MAP, 3, load_map, destroy_map};
static const struct kind multimap_kind = {"multimap", FILE_MULTIMAP, 4, load_multimap, destroy_multimap};

/* The load fails so, names the file and, unless NULL, the word. */
static int refuses(struct test *t, const struct kind *kind, const char *path, cohort_status due,
                   const char *word)
{
    void *object = &object;
    cohort_status got = kind->load(t->context, path, &object);
    if (!CHECKF(t, got == due, "%s: %s, not %s (%s)", kind->name, cohort_status_name(got),
                cohort_status_name(due), got ? cohort_message(t->context) : ""))
        return 0;
    const char *message = cohort_message(t->context);
    return CHECK(t, !object) &&
           CHECKF(t, strstr(message, path) && (!word || strstr(message, word)),
                  "the message \"%s\" does not name the file and \"%s\"", message, word ? word : "");
}

/* ---- round trips --------------------------------------------------------------------------------------- */

static void same_map_options(struct test *t, cohort_map *a, cohort_map *b)
{
    cohort_map_options x = COHORT_MAP_OPTIONS_INIT, y = COHORT_MAP_OPTIONS_INIT;
    OK(t, cohort_map_get_options(a, &x));
    OK(t, cohort_map_get_options(b, &y));
    EQUAL(t, x.width, y.width);
    EQUAL(t, x.layout, y.layout);
    EQUAL(t, x.probe, y.probe);
    EQUAL(t, x.seed, y.seed);
    EQUAL(t, x.fixed, y.fixed);
    CHECK(t, x.max_load == y.max_load);
    CHECK(t, !x.fixed || x.capacity == y.capacity);
}

static void map_round_trip(struct test *t)
{
    for (int i = 0; i < 8; i++) {
        struct folder f = folder_new(t);
        cohort_map_options options = subject_options(t);
        uint64_t n = i == 0 ? 0 : i == 1 ? 1 : test_below(t, test_size(t, 5000, 300));
        options.fixed = (uint32_t)i & 1;
        options.probe = subject_probe(t, i & 2 ? COHORT_PROBE_LINEAR : COHORT_PROBE_DOUBLE);
        options.seed = i & 4 ? COHORT_SEED_RANDOM : 0;
        options.max_load = i & 4 ? 0.7 : 0;
        options.capacity = 5000 + n;
        struct subject s = subject_new(t, &options);
        subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * n + 1);
        subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n / 8, EDGES, n + 1);
        subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n / 4, RANDOM, 2 * n + 1);
        subject_observe(&s);
        OK(t, cohort_map_save(s.map, f.file));
        cohort_map *loaded = NULL;
        OK(t, cohort_map_load(t->context, f.file, &loaded));
        same_map_options(t, s.map, loaded);
        struct subject second = subject_of(t, loaded, oracle_copy(s.oracle));
        second.fixed = s.fixed;
        subject_observe(&second);
        subject_step(&second, TRIAL_FIND, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * n + 1);
        subject_free(&second);
        subject_free(&s);
        folder_end(t, &f);
    }
}

/* Pair i of keys * each: the key is i % keys from the top down, the value i. */
static cohort_multimap *small_multimap(struct test *t, cohort_width width, uint64_t keys, uint64_t each)
{
    uint64_t n = keys * each;
    struct column *k = column_new(t, n, key_bytes(width)), *v = column_new(t, n, value_bytes(width));
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = NULL;
    options.width = width;
    options.seed = 42;
    options.max_load = 0.5;
    for (uint64_t i = 0; i < n; i++) {
        column_put(k, i, UINT64_MAX - i % (keys ? keys : 1));
        column_put(v, i, i);
    }
    OK(t, cohort_multimap_build(t->context, &options, n, column_send(k), column_send(v), NULL, &m));
    return m;
}

/* How often each value occurs; it must be one of its key's. */
static uint64_t *tally(struct test *t, cohort_multimap *m, cohort_width width, uint64_t keys, uint64_t each)
{
    uint64_t n = keys * each;
    struct column *mark = t->columns;
    struct column *q = column_new(t, keys, key_bytes(width)), *v = column_new(t, n, value_bytes(width));
    uint64_t *bits = calloc(n + 1, 8);
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    REQUIRE(t, bits);
    for (uint64_t i = 0; i < keys; i++)
        column_put(q, i, UINT64_MAX - i);
    r.capacity = n;
    r.values = column_send(v);
    OK(t, cohort_multimap_retrieve(m, keys, column_send(q), &r));
    column_fetch(v);
    EQUAL(t, r.total, n);
    for (uint64_t i = 0; i < n && r.total == n; i++) {
        uint64_t value = column_get(v, i);
        REQUIRE(t, value < n && value % keys == i / each);
        bits[value]++;
    }
    column_drop(t, mark);
    return bits;
}

static void multimap_round_trip(struct test *t)
{
    static const cohort_width widths[] = {COHORT_WIDTH_32_32, COHORT_WIDTH_64_32, COHORT_WIDTH_64_64};
    for (unsigned w = 0; w < 3; w++)
        for (uint64_t keys = 0; keys < 60; keys = keys * 3 + 1) {
            struct folder f = folder_new(t);
            struct column *mark = t->columns;
            cohort_multimap *m = small_multimap(t, widths[w], keys, 7), *loaded = NULL;
            cohort_multimap_options o = COHORT_MULTIMAP_OPTIONS_INIT;
            uint64_t size[2];
            OK(t, cohort_multimap_save(m, f.file));
            OK(t, cohort_multimap_load(t->context, f.file, &loaded));
            OK(t, cohort_multimap_size(loaded, &size[0], &size[1]));
            EQUAL(t, size[0], keys);
            EQUAL(t, size[1], keys * 7);
            OK(t, cohort_multimap_get_options(loaded, &o));
            CHECK(t, o.width == widths[w] && o.seed == 42 && o.max_load == 0.5);
            uint64_t *seen = tally(t, loaded, widths[w], keys, 7);
            for (uint64_t i = 0; i < keys * 7; i++)
                EQUAL(t, seen[i], 1);
            free(seen);
            cohort_multimap_destroy(loaded);
            cohort_multimap_destroy(m);
            column_drop(t, mark);
            folder_end(t, &f);
        }
}

/* ---- damage -------------------------------------------------------------------------------------------- */

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

static void damage(struct test *t, const struct kind *kind, cohort_width width)
{
    struct folder f = folder_new(t);
    uint64_t bytes;
    save_sample(t, kind, width, f.file);
    unsigned char *whole = contents(t, f.file, &bytes);
    CHECK(t, bytes > 64 && bytes < 1000);
    int file = open(f.file, O_RDWR);
    REQUIRE(t, file >= 0);
    for (uint64_t cut = bytes; cut-- && !t->failures;) {
        REQUIRE(t, ftruncate(file, (off_t)cut) == 0);
        refuses(t, kind, f.file, COHORT_TRUNCATED, "byte");
    }
    REQUIRE(t, pwrite(file, whole, bytes, 0) == (ssize_t)bytes);
    for (uint64_t i = 0; i < bytes && !t->failures; i++) {
        unsigned char other = whole[i] ^ (unsigned char)(1u << test_below(t, 8));
        if (test_below(t, 2))
            other = (unsigned char)(whole[i] + 1 + test_below(t, 255));
        REQUIRE(t, pwrite(file, &other, 1, (off_t)i) == 1);
        refuses(t, kind, f.file, i < 16 ? COHORT_BAD_VERSION : COHORT_CORRUPT, "byte");
        REQUIRE(t, pwrite(file, &whole[i], 1, (off_t)i) == 1);
    }
    REQUIRE(t, pwrite(file, "", 1, (off_t)bytes) == 1);
    refuses(t, kind, f.file, COHORT_CORRUPT, "after its end");
    close(file);
    free(whole);
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
        uint64_t bytes;
        save_large(t, kinds[i], n, f.file);
        unsigned char *whole = contents(t, f.file, &bytes);
        for (uint64_t part = 4; part; part--) {
            whole[bytes * part / 4 - 1] ^= 1;
            write_file(t, f.file, whole, bytes);
            whole[bytes * part / 4 - 1] ^= 1;
            refuses(t, kinds[i], f.file, COHORT_CORRUPT, "byte");
            const uint64_t before = host_bytes();
            for (int again = 0; again < 3; again++)
                refuses(t, kinds[i], f.file, COHORT_CORRUPT, "byte");
            CHECKF(t, host_bytes() < before + 8 * n, "%s, quarter %llu: %llu bytes have leaked",
                   kinds[i]->name, (unsigned long long)part, (unsigned long long)(host_bytes() - before));
        }
        free(whole);
        folder_end(t, &f);
    }
}

static void foreign_files(struct test *t)
{
    struct folder f = folder_new(t);
    const struct kind *kinds[] = {&map_kind, &multimap_kind};
    for (int i = 0; i < 2; i++) {
        void *object = NULL;
        refuses(t, kinds[i], "/nonexistent/file", COHORT_IO, "No such file");
        refuses(t, kinds[i], f.path, COHORT_IO, "directory");
        write_file(t, f.file, "key,value\n1,2\n", 14);
        refuses(t, kinds[i], f.file, COHORT_BAD_VERSION, "byte 0");
        write_file(t, f.file, "", 0);
        refuses(t, kinds[i], f.file, COHORT_TRUNCATED, "byte 0");
        save_sample(t, kinds[1 - i], COHORT_WIDTH_64_64, f.file);
        refuses(t, kinds[i], f.file, COHORT_BAD_VERSION, "kind");
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
        refuses(t, &multimap_kind, f.file, COHORT_CORRUPT, cases[i].word);
    }
    hostile_multimap(t, f.file, 99, 0);
    void *good = NULL;
    OK(t, load_multimap(t->context, f.file, &good));
    destroy_multimap(good);
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
        refuses(t, &map_kind, f.file, COHORT_CORRUPT, cases[i].word);
    }
    hostile_map(t, f.file, 99, 0);
    void *good = NULL;
    OK(t, load_map(t->context, f.file, &good));
    destroy_map(good);
    folder_end(t, &f);
}

/* A fixed map of more pairs than a table can have slots, and of more than there is memory for. */
static void hostile_capacities(struct test *t)
{
    struct folder f = folder_new(t);
    uint64_t options[8] = {COHORT_WIDTH_64_64, 0, UINT64_MAX, 7, bits_of(0.8), 1, 0, 0};
    const struct file_section sections[3] = {{options, sizeof options}, {NULL, 0}, {NULL, 0}};
    OK(t, file_write(t->context, &(struct file_stream){f.file, NULL, NULL}, FILE_MAP, 3, sections));
    refuses(t, &map_kind, f.file, COHORT_CORRUPT, "capacity");
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
        refuses(t, &multimap_kind, f.file, i < 2 ? COHORT_CORRUPT : COHORT_TRUNCATED, NULL);
    }
    folder_end(t, &f);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void writing(struct test *t)
{
    struct folder f = folder_new(t);
    char link[200];
    struct stat info;
    uint64_t bytes, again;
    cohort_multimap *m = small_multimap(t, COHORT_WIDTH_64_64, 3, 2);
    FAILS(t, NULL, cohort_multimap_save(NULL, f.file), COHORT_NULL, "multimap", NULL);
    FAILS(t, t->context, cohort_multimap_save(m, NULL), COHORT_NULL, "path", NULL);
    FAILS(t, t->context, cohort_multimap_save(m, "/nonexistent/file"), COHORT_IO, "/nonexistent/file",
          "No such file");
    FAILS(t, t->context, cohort_multimap_save(m, f.path), COHORT_IO, f.path, "directory");
    FAILS(t, t->context, cohort_multimap_save(m, "/dev/null"), COHORT_IO, "/dev/null", "regular");
    OK(t, cohort_multimap_save(m, f.file)); /* a new file */
    unsigned char *first = contents(t, f.file, &bytes);
    REQUIRE(t, chmod(f.file, 0640) == 0);
    OK(t, cohort_multimap_save(m, f.file)); /* in the place of an old one, whose mode it takes */
    REQUIRE(t, stat(f.file, &info) == 0);
    EQUAL(t, info.st_mode & 0777, 0640);
    snprintf(link, sizeof link, "%s.link", f.file);
    REQUIRE(t, symlink(f.file, link) == 0);
    write_file(t, f.file, "old", 3);
    OK(t, cohort_multimap_save(m, link)); /* the file behind a link, not the link */
    REQUIRE(t, lstat(link, &info) == 0);
    CHECK(t, S_ISLNK(info.st_mode));
    unsigned char *second = contents(t, f.file, &again);
    EQUAL(t, bytes, again);
    free(first);
    free(second);
    unlink(link);
    cohort_multimap_destroy(m);
    folder_end(t, &f);
}

/* A file that is not complete and that nobody has locked was left by a process that was killed. What somebody
 * has locked stays. */
static void left_by_others(struct test *t)
{
    struct folder f = folder_new(t);
    char name[3][200];
    cohort_multimap *m = small_multimap(t, COHORT_WIDTH_64_64, 3, 2);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name[i], sizeof name[i], "%s.cohort-%u.tmp", f.file, i);
        write_file(t, name[i], "left", 4);
    }
    int held = open(name[0], O_WRONLY);
    REQUIRE(t, held >= 0 && flock(held, LOCK_EX | LOCK_NB) == 0);
    OK(t, cohort_multimap_save(m, f.file));
    CHECK(t, access(name[0], F_OK) == 0);
    CHECK(t, access(name[1], F_OK) && access(name[2], F_OK));
    close(held);
    REQUIRE(t, symlink(f.file, name[1]) == 0 && mkdir(name[2], 0700) == 0); /* not of our making */
    OK(t, cohort_multimap_save(m, f.file));
    CHECK(t, access(name[0], F_OK) && unlink(name[1]) == 0 && rmdir(name[2]) == 0);
    cohort_multimap *back;
    OK(t, cohort_multimap_load(t->context, f.file, &back));
    cohort_multimap_destroy(back);
    cohort_multimap_destroy(m);
    folder_end(t, &f);
}

const struct test_case test_cases[] = {
    {"map_round_trip", map_round_trip, TEST_EACH_LAYOUT | TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"multimap_round_trip", multimap_round_trip, TEST_EACH_MEMORY},
    {"damaged_maps", damaged_maps, TEST_EACH_LAYOUT | TEST_EACH_WIDTH},
    {"damaged_multimaps", damaged_multimaps, 0},
    {"keeps_nothing", keeps_nothing, 0},
    {"foreign_files", foreign_files, 0},
    {"hostile_maps", hostile_maps, 0},
    {"hostile_capacities", hostile_capacities, 0},
    {"hostile_multimaps", hostile_multimaps, 0},
    {"announced_lengths", announced_lengths, 0},
    {"writing", writing, 0},
    {"left_by_others", left_by_others, 0},
    {NULL, NULL, 0},
};
