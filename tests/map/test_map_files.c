/* test_map_files.c: maps in files: what save wrote load reads, and of anything else load says what is wrong
 * with it. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "subject.h"

/* A folder of the case's own, and a file in it. */
struct place {
    char folder[64], path[96];
};

static struct place place_new(struct test *t)
{
    struct place p = {P_tmpdir "/cohort-test-XXXXXX", ""};
    const char *folder = getenv("TMPDIR");
    if (folder && strlen(folder) < 40)
        snprintf(p.folder, sizeof p.folder, "%s/cohort-test-XXXXXX", folder);
    REQUIRE(t, mkdtemp(p.folder));
    snprintf(p.path, sizeof p.path, "%s/map", p.folder);
    return p;
}

static unsigned files_in(const struct place *p)
{
    unsigned count = 0;
    DIR *d = opendir(p->folder);
    for (struct dirent *e; d && (e = readdir(d));)
        count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static void place_end(struct place *p)
{
    unlink(p->path);
    rmdir(p->folder);
}

struct bytes {
    unsigned char *data;
    size_t count;
};

static struct bytes read_all(struct test *t, const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    REQUIRE(t, f && !fstat(fileno(f), &st));
    struct bytes b = {malloc((size_t)st.st_size + 1), (size_t)st.st_size};
    REQUIRE(t, fread(b.data, 1, b.count, f) == b.count);
    fclose(f);
    return b;
}

static void write_all(struct test *t, const char *path, const unsigned char *data, size_t count)
{
    unlink(path); /* some file systems wait for the disk where a file is cut and written anew */
    FILE *f = fopen(path, "wb");
    REQUIRE(t, f && fwrite(data, 1, count, f) == count && !fclose(f));
}

/* A map of n pairs and all edge keys, saved. */
static struct subject saved(struct test *t, const struct place *p, uint64_t n)
{
    cohort_map_options options = subject_options(t);
    options.seed = test_random(t) >> 1;
    options.max_load = 0.6;
    options.probe = subject_probe(t, COHORT_PROBE_LINEAR);
    struct subject s = subject_new(t, &options);
    subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * n + 1);
    subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n < 10 ? 0 : 16, EDGES, 1);
    subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n / 4, RANDOM, 2 * n + 1);
    OK(t, cohort_map_save(s.map, p->path));
    return s;
}

/* ---- round trips --------------------------------------------------------------------------------------- */

static void round_trip(struct test *t)
{
    const uint64_t sizes[] = {0, 1, 33, test_size(t, 50000, 2000)};
    for (int i = 0; i < 4; i++) {
        struct place p = place_new(t);
        cohort_map *made;
        cohort_map_options had = COHORT_MAP_OPTIONS_INIT, has = COHORT_MAP_OPTIONS_INIT;
        struct subject s = saved(t, &p, sizes[i]);
        EQUAL(t, files_in(&p), 1);
        OK(t, cohort_map_load(t->context, p.path, &made));
        struct subject loaded = subject_of(t, made, oracle_copy(s.oracle));
        subject_observe(&loaded);
        subject_check_table(&loaded);
        OK(t, cohort_map_get_options(s.map, &had));
        OK(t, cohort_map_get_options(loaded.map, &has));
        EQUAL(t, has.width, had.width);
        EQUAL(t, has.probe, had.probe);
        CHECK(t, has.capacity >= oracle_size(s.oracle));
        EQUAL(t, has.seed, had.seed);
        CHECK(t, has.max_load == had.max_load);
        EQUAL(t, has.fixed, had.fixed);
        subject_step(&loaded, TRIAL_INSERT, 0, COHORT_WINNER_ANY, 500, RANDOM, 700);
        subject_observe(&s);
        OK(t, cohort_map_save(loaded.map, p.path)); /* over the old one */
        EQUAL(t, files_in(&p), 1);
        subject_free(&s);
        OK(t, cohort_map_load(t->context, p.path, &made));
        s = subject_of(t, made, oracle_copy(loaded.oracle));
        subject_observe(&s);
        subject_free(&s);
        subject_free(&loaded);
        place_end(&p);
    }
}

/* A full map with its options; it is as full afterwards. LINES may refuse a key before the last slot is
 * taken, and then take another one, in a table that may be larger. */
static void round_trip_full(struct test *t)
{
    struct place p = place_new(t);
    cohort_map_options options = subject_options(t);
    cohort_map *made;
    options.fixed = 1;
    options.max_load = 1;
    options.capacity = 64;
    struct subject s = subject_new(t, &options);
    subject_fill(&s, 0, 100);
    OK(t, cohort_map_save(s.map, p.path));
    OK(t, cohort_map_load(t->context, p.path, &made));
    struct subject loaded = subject_of(t, made, oracle_copy(s.oracle));
    CHECK(t, loaded.fixed);
    subject_observe(&loaded);
    subject_fill(&loaded, 1000, 10);
    if (!t->layout)
        EQUAL(t, oracle_size(loaded.oracle), oracle_size(s.oracle));
    subject_check_table(&loaded);
    subject_free(&s);
    subject_free(&loaded);
    place_end(&p);
}

/* Of pages: a fixed map of `pages` pages whose slots are all taken, or nearly all: once more than its file's
 * order of pairs can fill. */
static void crowded(struct test *t, uint64_t pages, double max_load, cohort_probe probe, uint64_t extra)
{
    const uint64_t page = 65536 / (const uint64_t[]){0, 4, 8, 8, 16, 16}[t->width];
    struct place p = place_new(t);
    cohort_map_options options = subject_options(t), has = COHORT_MAP_OPTIONS_INIT;
    cohort_map *made;
    options.fixed = 1;
    options.max_load = max_load;
    options.probe = probe;
    options.capacity = (uint64_t)((double)(pages * page) * max_load);
    struct subject s = subject_new(t, &options);
    s.blind = 1;
    subject_fill(&s, 1, pages * page + extra);
    OK(t, cohort_map_save(s.map, p.path));
    FAILS(t, t->context, cohort_map_load(t->context, NULL, &made), COHORT_NULL, "path", NULL);
    OK(t, cohort_map_load(t->context, p.path, &made));
    CHECK(t, strstr(cohort_message(t->context), "path is NULL")); /* this failed last, and no table is FULL */
    struct subject loaded = subject_of(t, made, oracle_copy(s.oracle));
    subject_observe(&loaded);
    subject_check_table(&loaded);
    OK(t, cohort_map_get_options(made, &has));
    EQUAL(t, has.fixed, 1);
    CHECK(t, has.max_load == max_load);
    CHECKF(t, has.capacity >= options.capacity && has.capacity <= options.capacity * 3 / 2,
           "a map of capacity %llu came back with %llu", (unsigned long long)options.capacity,
           (unsigned long long)has.capacity);
    subject_free(&loaded);
    subject_free(&s);
    column_drop(t, NULL);
    place_end(&p);
}

static void round_trip_crowded(struct test *t)
{
    if (t->quick || t->kind == TEST_SIM) {
        /* what has room is told by the host: the simulator has it in the long form alone */
        if (t->width == COHORT_WIDTH_64_64 && !(t->quick && t->kind == TEST_SIM))
            crowded(t, 31, 0.8, COHORT_PROBE_DOUBLE, 0);
        return;
    }
    const uint64_t kind = test_below(t, 3);
    if (kind == 0 || t->ci)
        crowded(t, 9 + test_below(t, 6), 1, COHORT_PROBE_DOUBLE, test_below(t, 20));
    if (kind == 1 || t->ci)
        crowded(t, 9 + test_below(t, 6), 0.8, COHORT_PROBE_LINEAR, 20);
    if (kind == 2 || t->ci)
        crowded(t, 31, 0.3, COHORT_PROBE_DOUBLE, 0);
}

/* The same file, whichever backend reads it: what the CPU saved the device under test loads, and the other
 * way round. */
static void across_backends(struct test *t)
{
    struct place p = place_new(t);
    cohort_context *cpu, *own = t->context;
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    options.device = "cpu";
    REQUIRE(t, !cohort_context_create(&options, &cpu));
    for (int way = 0; way < 2; way++) {
        cohort_map *made;
        t->context = way ? own : cpu;
        struct subject s = saved(t, &p, 1000);
        t->context = way ? cpu : own;
        OK(t, cohort_map_load(t->context, p.path, &made));
        struct subject loaded = subject_of(t, made, oracle_copy(s.oracle));
        subject_observe(&loaded);
        subject_free(&s);
        subject_free(&loaded);
    }
    t->context = own;
    cohort_context_destroy(cpu);
    place_end(&p);
}

/* An empty map that was shrunk to fit holds a pair all the same, however low its load, and comes back from
 * its file. */
static void shrunk(struct test *t)
{
    struct place p = place_new(t);
    cohort_map_options options = subject_options(t), has = COHORT_MAP_OPTIONS_INIT;
    cohort_map *made;
    options.max_load = 0.01;
    struct subject s = subject_new(t, &options);
    OK(t, cohort_map_rehash(s.map, 0));
    OK(t, cohort_map_get_options(s.map, &has));
    CHECK(t, has.capacity >= 1);
    OK(t, cohort_map_save(s.map, p.path));
    OK(t, cohort_map_load(t->context, p.path, &made));
    struct subject loaded = subject_of(t, made, oracle_copy(s.oracle));
    subject_fill(&loaded, 0, 10);
    subject_free(&loaded);
    subject_free(&s);
    place_end(&p);
}

/* What a map with a group of lanes saved, a device without groups loads too. */
static void groups(struct test *t)
{
    struct place p = place_new(t);
    cohort_context *cpu, *own = t->context;
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_map_options grouped = subject_options(t), has = COHORT_MAP_OPTIONS_INIT;
    cohort_map *made;
    options.device = "cpu";
    REQUIRE(t, !cohort_context_create(&options, &cpu));
    grouped.width = COHORT_WIDTH_32_32;
    grouped.probe = COHORT_PROBE_LINEAR;
    grouped.group = t->kind == TEST_CPU ? 0 : 4;
    struct subject s = subject_new(t, &grouped);
    subject_fill(&s, 3, 500);
    OK(t, cohort_map_save(s.map, p.path));
    t->context = cpu;
    OK(t, cohort_map_load(t->context, p.path, &made));
    OK(t, cohort_map_get_options(made, &has));
    EQUAL(t, has.group, 0);
    struct subject loaded = subject_of(t, made, oracle_copy(s.oracle));
    subject_observe(&loaded);
    subject_free(&loaded);
    t->context = own;
    OK(t, cohort_map_load(t->context, p.path, &made));
    OK(t, cohort_map_get_options(made, &has));
    EQUAL(t, has.group, grouped.group);
    cohort_map_destroy(made);
    subject_free(&s);
    cohort_context_destroy(cpu);
    place_end(&p);
}

/* ---- files that are not right -------------------------------------------------------------------------- */

/* load must answer one of the statuses of a bad file, name it, and make nothing. Where a byte was altered,
 * `offset` tells. */
static cohort_status must_fail(struct test *t, const struct place *p, const char *what, size_t offset)
{
    cohort_map *made = (cohort_map *)t;
    cohort_status status = cohort_map_load(t->context, p->path, &made);
    REQUIREF(t, status == COHORT_TRUNCATED || status == COHORT_BAD_VERSION || status == COHORT_CORRUPT,
             "a file %s at %zu gives %s", what, offset, cohort_status_name(status));
    REQUIREF(t, !made, "a file %s at %zu gives a map", what, offset);
    REQUIREF(t, strstr(cohort_message(t->context), p->path), "a file %s at %zu: the message is \"%s\"", what,
             offset, cohort_message(t->context));
    return status;
}

/* Every length shorter than the whole one, of a small file; of a large one a sample. */
static void truncated(struct test *t)
{
    const uint64_t sizes[] = {0, 5, test_size(t, 3000, 300)};
    for (int i = 0; i < 3; i++) {
        struct place p = place_new(t);
        struct subject s = saved(t, &p, sizes[i]);
        struct bytes b = read_all(t, p.path);
        subject_free(&s);
        for (size_t length = 0; length < b.count;
             length += b.count < 2000 ? 1 : 1 + test_below(t, b.count / 200)) {
            write_all(t, p.path, b.data, length);
            EQUAL(t, must_fail(t, &p, "cut off", length), COHORT_TRUNCATED);
        }
        free(b.data);
        place_end(&p);
    }
}

/* Every byte of small files, by several patterns: of 0 to 5 pairs, so that sections end in the middle of a
 * word too. */
static void alter(struct test *t, uint64_t n)
{
    const unsigned char patterns[] = {0x01, 0x80, 0xff};
    struct place p = place_new(t);
    struct subject s = saved(t, &p, 0);
    subject_fill(&s, 7, n);
    OK(t, cohort_map_save(s.map, p.path));
    struct bytes b = read_all(t, p.path);
    for (size_t i = 0; i < b.count; i++)
        for (int j = 0; j < 3; j++) {
            b.data[i] ^= patterns[j];
            write_all(t, p.path, b.data, b.count);
            must_fail(t, &p, "altered", i);
            b.data[i] ^= patterns[j];
        }
    write_all(t, p.path, b.data, b.count);
    cohort_map *made;
    OK(t, cohort_map_load(t->context, p.path, &made)); /* and whole it is read again */
    struct subject loaded = subject_of(t, made, oracle_copy(s.oracle));
    subject_observe(&loaded);
    subject_free(&loaded);
    subject_free(&s);
    free(b.data);
    place_end(&p);
}

static void altered(struct test *t)
{
    for (uint64_t n = 0; n < 6; n++)
        alter(t, n);
}

/* Bytes after the end, two bytes swapped, files of another kind. */
static void other_files(struct test *t)
{
    struct place p = place_new(t);
    struct subject s = saved(t, &p, 40);
    struct bytes b = read_all(t, p.path);
    subject_free(&s);
    b.data[b.count] = 0;
    write_all(t, p.path, b.data, b.count + 1);
    must_fail(t, &p, "made longer", b.count);
    for (size_t i = 0; i < 200; i++) {
        size_t at = test_below(t, b.count), other = test_below(t, b.count);
        unsigned char byte = b.data[at];
        if (byte == b.data[other])
            continue;
        b.data[at] = b.data[other];
        b.data[other] = byte;
        write_all(t, p.path, b.data, b.count);
        must_fail(t, &p, "with bytes swapped", at);
        b.data[other] = b.data[at];
        b.data[at] = byte;
    }
    for (size_t i = 0; i < 100; i++) {
        size_t count = test_below(t, 400);
        for (size_t j = 0; j < count; j++)
            b.data[j % b.count] = (unsigned char)test_random(t);
        write_all(t, p.path, b.data, count < b.count ? count : b.count);
        must_fail(t, &p, "of random bytes", i);
    }
    write_all(t, p.path, (const unsigned char *)"ACGT\n", 5);
    must_fail(t, &p, "of text", 0);
    free(b.data);
    place_end(&p);
}

/* The checksum of a file's section, as docs/file-format.md has it. */
static uint64_t section_sum(const unsigned char *data, uint64_t bytes)
{
    uint64_t sum = bytes ^ 0x636f686f7274u, word;
    for (uint64_t i = 0; i < bytes; i += 8) {
        memcpy(&word, data + i, 8);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 32;
    }
    return sum;
}

/* More pairs than a fixed map of that capacity has slots: none such was ever saved. */
static void more_pairs_than_slots(struct test *t)
{
    enum { SUMS = 24, HEADER = 24 + 3 * 16, OPTIONS = HEADER + 8, CAPACITY = OPTIONS + 2 * 8 };
    struct place p = place_new(t);
    cohort_map_options options = subject_options(t);
    cohort_map *made;
    options.fixed = 1;
    options.max_load = 1;
    options.capacity = 4096;
    struct subject s = subject_new(t, &options);
    subject_fill(&s, 1, 2000);
    OK(t, cohort_map_save(s.map, p.path));
    struct bytes b = read_all(t, p.path);
    for (uint64_t capacity = 1024; capacity <= 2048; capacity *= 2) {
        memcpy(b.data + CAPACITY, &capacity, 8);
        uint64_t sum = section_sum(b.data + OPTIONS, t->layout ? 72 : 64), header;
        memcpy(b.data + SUMS + 8, &sum, 8);
        header = section_sum(b.data, HEADER);
        memcpy(b.data + HEADER, &header, 8);
        write_all(t, p.path, b.data, b.count);
        if (capacity >= 2000) {
            OK(t, cohort_map_load(t->context, p.path, &made));
            cohort_map_destroy(made);
        } else
            FAILS(t, t->context, cohort_map_load(t->context, p.path, &made), COHORT_CORRUPT, p.path, "2000");
    }
    free(b.data);
    subject_free(&s);
    place_end(&p);
}

/* The version's number alone, and a multimap's file. */
static void other_version(struct test *t)
{
    struct place p = place_new(t);
    struct subject s = saved(t, &p, 10);
    struct bytes b = read_all(t, p.path);
    cohort_map *made;
    subject_free(&s);
    b.data[8]++; /* after eight bytes of magic */
    write_all(t, p.path, b.data, b.count);
    FAILS(t, t->context, cohort_map_load(t->context, p.path, &made), COHORT_BAD_VERSION, "version", "2");
    free(b.data);
    cohort_multimap *multimap;
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    OK(t, cohort_multimap_build(t->context, &options, 0, NULL, NULL, NULL, &multimap));
    OK(t, cohort_multimap_save(multimap, p.path));
    cohort_multimap_destroy(multimap);
    FAILS(t, t->context, cohort_map_load(t->context, p.path, &made), COHORT_BAD_VERSION, p.path, NULL);
    CHECK(t, !made);
    place_end(&p);
}

/* ---- folders and names --------------------------------------------------------------------------------- */

static void no_such_file(struct test *t)
{
    struct place p = place_new(t);
    cohort_map *made = (cohort_map *)t;
    char path[200];
    struct subject s = saved(t, &p, 10);
    struct bytes before = read_all(t, p.path);
    snprintf(path, sizeof path, "%s/none", p.folder);
    FAILS(t, t->context, cohort_map_load(t->context, path, &made), COHORT_IO, path, NULL);
    CHECK(t, !made);
    FAILS(t, t->context, cohort_map_load(t->context, p.folder, &made), COHORT_IO, p.folder, NULL);
    FAILS(t, t->context, cohort_map_load(t->context, NULL, &made), COHORT_NULL, "path", NULL);
    FAILS(t, t->context, cohort_map_load(t->context, p.path, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, NULL, cohort_map_load(NULL, p.path, &made), COHORT_NULL, "context", NULL);
    snprintf(path, sizeof path, "%s/none/map", p.folder);
    FAILS(t, t->context, cohort_map_save(s.map, path), COHORT_IO, path, NULL);
    FAILS(t, t->context, cohort_map_save(s.map, p.folder), COHORT_IO, p.folder, NULL);
    FAILS(t, t->context, cohort_map_save(s.map, NULL), COHORT_NULL, "path", NULL);
    FAILS(t, NULL, cohort_map_save(NULL, path), COHORT_NULL, "map", NULL);
    EQUAL(t, files_in(&p), 1);
    struct bytes after = read_all(t, p.path);
    CHECK(t, after.count == before.count && !memcmp(after.data, before.data, after.count));
    free(before.data);
    free(after.data);
    subject_observe(&s);
    subject_free(&s);
    place_end(&p);
}

const struct test_case test_cases[] = {
    {"round_trip", round_trip, TEST_EACH_LAYOUT | TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"round_trip_full", round_trip_full, TEST_EACH_LAYOUT | TEST_EACH_WIDTH},
    {"round_trip_crowded", round_trip_crowded, TEST_EACH_WIDTH},
    {"across_backends", across_backends, TEST_EACH_LAYOUT | TEST_EACH_WIDTH},
    {"shrunk", shrunk, TEST_EACH_LAYOUT | TEST_EACH_WIDTH},
    {"groups", groups, 0},
    {"truncated", truncated, TEST_EACH_LAYOUT | TEST_EACH_WIDTH},
    {"altered", altered, TEST_EACH_LAYOUT | TEST_EACH_WIDTH},
    {"other_files", other_files, TEST_EACH_LAYOUT | TEST_EACH_WIDTH},
    {"more_pairs_than_slots", more_pairs_than_slots, TEST_EACH_LAYOUT | TEST_EACH_WIDTH},
    {"other_version", other_version, 0},
    {"no_such_file", no_such_file, 0},
    {NULL, NULL, 0}};
