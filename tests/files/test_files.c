/* test_files.c: maps and multimaps in files: round trips; and how a file is written: in the place of an old
 * one, through links, beside what others have left. */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kinds.h"
#include "subject.h"

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

/* ---- writing ------------------------------------------------------------------------------------------- */

static void writing(struct test *t)
{
    struct folder f = folder_new(t);
    char link[200];
    struct stat info;
    cohort_multimap *m = small_multimap(t, COHORT_WIDTH_64_64, 3, 2);
    FAILS(t, NULL, cohort_multimap_save(NULL, f.file), COHORT_NULL, "multimap", NULL);
    FAILS(t, t->context, cohort_multimap_save(m, NULL), COHORT_NULL, "path", NULL);
    FAILS(t, t->context, cohort_multimap_save(m, "/nonexistent/file"), COHORT_IO, "/nonexistent/file",
          "No such file");
    FAILS(t, t->context, cohort_multimap_save(m, f.path), COHORT_IO, f.path, "directory");
    FAILS(t, t->context, cohort_multimap_save(m, "/dev/null"), COHORT_IO, "/dev/null", "regular");
    OK(t, cohort_multimap_save(m, f.file)); /* a new file */
    struct bytes first = contents(t, f.file);
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
    struct bytes second = contents(t, f.file);
    EQUAL(t, first.count, second.count);
    free(first.data);
    free(second.data);
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
    {"writing", writing, 0},
    {"left_by_others", left_by_others, 0},
    {NULL, NULL, 0},
};
