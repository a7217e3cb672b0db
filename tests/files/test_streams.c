/* test_streams.c: maps, multimaps and collections saved to and loaded from functions: round trips in pieces
 * of every size, functions that fail or end at every byte, and several objects in one stream. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define KEYS 9u

/* ---- a stream in memory -------------------------------------------------------------------------------- */

struct memory {
    unsigned char data[8192];
    size_t bytes, place;
    size_t most;    /* bytes that a read gives at a time */
    size_t fails;   /* from this byte on reads and writes fail; SIZE_MAX: they do not */
    size_t too_far; /* a read says that it gave so many more than it was asked for */
    unsigned calls;
};

static int put(void *user, const void *bytes, size_t n)
{
    struct memory *m = user;
    m->calls++;
    if (!n || n > sizeof m->data - m->bytes || m->bytes + n > m->fails)
        return 7;
    memcpy(m->data + m->bytes, bytes, n);
    m->bytes += n;
    return 0;
}

static int get(void *user, void *into, size_t room, size_t *got)
{
    struct memory *m = user;
    size_t n = room < m->most ? room : m->most;
    m->calls++;
    if (n > m->bytes - m->place)
        n = m->bytes - m->place;
    if (n > m->fails - m->place)
        n = m->fails - m->place;
    if (!room || m->place >= m->fails)
        return -1;
    memcpy(into, m->data + m->place, n);
    m->place += n;
    *got = m->too_far ? room + m->too_far : n;
    return 0;
}

static struct memory memory_new(void)
{
    return (struct memory){.most = SIZE_MAX, .fails = SIZE_MAX};
}

/* ---- the three kinds behind one face ------------------------------------------------------------------- */

struct kind {
    const char *name;
    void *(*make)(struct test *);
    void (*check)(struct test *, void *); /* it is what make made */
    cohort_status (*save)(void *, const char *);
    cohort_status (*save_to)(void *, const cohort_output *);
    cohort_status (*load)(cohort_context *, const char *, void **);
    cohort_status (*load_from)(cohort_context *, const cohort_input *, void **);
    void (*destroy)(void *);
};

#define KIND(kind)                                                                                     \
    static cohort_status kind##_save(void *object, const char *path)                                   \
    {                                                                                                  \
        return cohort_##kind##_save(object, path);                                                     \
    }                                                                                                  \
    static cohort_status kind##_save_to(void *object, const cohort_output *output)                     \
    {                                                                                                  \
        return cohort_##kind##_save_to(object, output);                                                \
    }                                                                                                  \
    static cohort_status kind##_load(cohort_context *context, const char *path, void **out)            \
    {                                                                                                  \
        return cohort_##kind##_load(context, path, (cohort_##kind **)out);                             \
    }                                                                                                  \
    static cohort_status kind##_load_from(cohort_context *context, const cohort_input *in, void **out) \
    {                                                                                                  \
        return cohort_##kind##_load_from(context, in, (cohort_##kind **)out);                          \
    }                                                                                                  \
    static void kind##_destroy(void *object)                                                           \
    {                                                                                                  \
        cohort_##kind##_destroy(object);                                                               \
    }

KIND(map)
KIND(multimap)
KIND(sets)

/* Key i + 1 has the value 10 i. */
static void *map_make(struct test *t)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map = NULL;
    uint64_t keys[KEYS], values[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i + 1;
        values[i] = 10 * i;
    }
    options.seed = 3;
    options.capacity = KEYS;
    OK(t, cohort_map_create(t->context, &options, &map));
    OK(t, cohort_map_insert(map, KEYS, keys, values, NULL));
    return map;
}

static void map_check(struct test *t, void *map)
{
    uint64_t size, keys[KEYS], values[KEYS];
    const uint64_t absent = 77;
    OK(t, cohort_map_size(map, &size));
    EQUAL(t, size, KEYS);
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = i + 1;
    OK(t, cohort_map_find(map, KEYS, keys, values, &absent, NULL));
    OK(t, cohort_wait(t->context));
    for (uint64_t i = 0; i < KEYS; i++)
        EQUAL(t, values[i], 10 * i);
}

/* Key i % 4 has the values i. */
static void *multimap_make(struct test *t)
{
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = NULL;
    uint64_t keys[KEYS], values[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i % 4;
        values[i] = i;
    }
    options.seed = 3;
    OK(t, cohort_multimap_build(t->context, &options, KEYS, keys, values, NULL, &m));
    return m;
}

static void multimap_check(struct test *t, void *m)
{
    uint64_t sizes[2], keys[4], offsets[5], values[KEYS], seen = 0;
    OK(t, cohort_multimap_size(m, &sizes[0], &sizes[1]));
    REQUIRE(t, sizes[0] == 4 && sizes[1] == KEYS);
    OK(t, cohort_multimap_export(m, keys, offsets, values));
    for (unsigned k = 0; k < 4; k++)
        for (uint64_t i = offsets[k]; i < offsets[k + 1]; i++) {
            EQUAL(t, values[i] % 4, keys[k]);
            seen |= UINT64_C(1) << values[i];
        }
    EQUAL(t, seen, (1u << KEYS) - 1);
}

/* Two sets: every third number below 300, and some far ones. */
static uint32_t member(unsigned i)
{
    return i < 100 ? 3 * i : 1u << (i - 80);
}

static void *sets_make(struct test *t)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    uint32_t members[110];
    const uint64_t offsets[3] = {0, 100, 110};
    for (unsigned i = 0; i < 110; i++)
        members[i] = member(i);
    source.n = 110;
    source.sets = 2;
    source.members = members;
    source.offsets = offsets;
    OK(t, cohort_sets_build(t->context, &source, &sets));
    return sets;
}

static void sets_check(struct test *t, void *sets)
{
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    uint32_t members[110];
    uint64_t offsets[3];
    target.capacity = 110;
    target.members = members;
    target.offsets = offsets;
    OK(t, cohort_sets_export(sets, &target));
    CHECK(t, target.total == 110 && offsets[1] == 100);
    for (unsigned i = 0; i < 110; i++)
        EQUAL(t, members[i], member(i));
}

#define FACE(kind)                                                                                    \
    {                                                                                                 \
#        kind, kind##_make, kind##_check, kind##_save, kind##_save_to, kind##_load, kind##_load_from, \
            kind##_destroy                                                                            \
    }

static const struct kind kinds[] = {FACE(map), FACE(multimap), FACE(sets)};
#define KINDS (sizeof kinds / sizeof *kinds)

/* The stream of one of them. */
static struct memory saved(struct test *t, const struct kind *kind)
{
    struct memory m = memory_new();
    const cohort_output output = {put, &m};
    void *object = kind->make(t);
    OK(t, kind->save_to(object, &output));
    kind->destroy(object);
    return m;
}

static cohort_status load(struct test *t, const struct kind *kind, struct memory *m, void **out)
{
    const cohort_input input = {get, m};
    *out = m;
    return kind->load_from(t->context, &input, out);
}

/* ---- cases --------------------------------------------------------------------------------------------- */

static void pieces(struct test *t)
{
    for (unsigned k = 0; k < KINDS; k++) {
        struct memory m = saved(t, &kinds[k]);
        const size_t most[] = {1, 2, 7, 8, 13, 4096, SIZE_MAX};
        for (unsigned i = 0; i < sizeof most / sizeof *most; i++) {
            void *object;
            m.most = most[i];
            m.place = 0;
            OK(t, load(t, &kinds[k], &m, &object));
            EQUAL(t, m.place, m.bytes);
            kinds[k].check(t, object);
            kinds[k].destroy(object);
        }
    }
}

/* What a function has taken is a file, and what is in a file can be given by a function. */
static void files(struct test *t)
{
    const char *base = getenv("TMPDIR");
    char path[128];
    snprintf(path, sizeof path, "%.90s/cohort-test-XXXXXX", base && *base ? base : "/tmp");
    int made = mkstemp(path);
    REQUIRE(t, made >= 0);
    close(made);
    for (unsigned k = 0; k < KINDS; k++) {
        struct memory m = saved(t, &kinds[k]), n = memory_new();
        void *object;
        FILE *file = fopen(path, "wb");
        REQUIRE(t, file && fwrite(m.data, 1, m.bytes, file) == m.bytes && !fclose(file));
        OK(t, kinds[k].load(t->context, path, &object));
        kinds[k].check(t, object);
        OK(t, kinds[k].save(object, path));
        kinds[k].destroy(object);
        file = fopen(path, "rb");
        REQUIRE(t, file);
        n.bytes = fread(n.data, 1, sizeof n.data, file);
        fclose(file);
        EQUAL(t, n.bytes, m.bytes);
        OK(t, load(t, &kinds[k], &n, &object));
        kinds[k].check(t, object);
        kinds[k].destroy(object);
    }
    unlink(path);
}

static void writes_that_fail(struct test *t)
{
    for (unsigned k = 0; k < KINDS; k++) {
        void *object = kinds[k].make(t);
        const size_t bytes = saved(t, &kinds[k]).bytes;
        for (size_t fails = 0; fails < bytes; fails++) {
            struct memory m = memory_new();
            const cohort_output output = {put, &m};
            char place[32];
            m.fails = fails;
            cohort_status status = kinds[k].save_to(object, &output);
            snprintf(place, sizeof place, "byte %zu:", m.bytes);
            FAILS(t, t->context, status, COHORT_IO, "output", place);
            unsigned calls = m.calls;
            CHECK(t, m.bytes <= fails && calls <= 16);
        }
        kinds[k].check(t, object); /* as it was */
        kinds[k].destroy(object);
    }
}

static void reads_that_fail_or_end(struct test *t)
{
    for (unsigned k = 0; k < KINDS; k++) {
        struct memory m = saved(t, &kinds[k]);
        const size_t bytes = m.bytes;
        for (size_t i = 0; i < 2 * bytes; i++) {
            void *object;
            char place[32];
            snprintf(place, sizeof place, "byte %zu:", i / 2);
            m.place = 0;
            m.most = 1 + test_below(t, 100);
            m.fails = i & 1 ? i / 2 : SIZE_MAX;
            m.bytes = i & 1 ? bytes : i / 2;
            FAILS(t, t->context, load(t, &kinds[k], &m, &object), i & 1 ? COHORT_IO : COHORT_TRUNCATED,
                  "input", place);
            CHECK(t, !object);
        }
    }
}

static void altered(struct test *t)
{
    for (unsigned k = 0; k < KINDS; k++) {
        struct memory m = saved(t, &kinds[k]);
        for (size_t i = 0; i < m.bytes; i++) {
            void *object;
            unsigned char was = m.data[i];
            m.data[i] ^= (unsigned char)(1u << test_below(t, 8));
            m.place = 0;
            FAILS(t, t->context, load(t, &kinds[k], &m, &object),
                  i < 16 ? COHORT_BAD_VERSION : COHORT_CORRUPT, "input", "byte");
            CHECK(t, !object);
            m.data[i] = was;
        }
    }
}

/* A function that gives more than there is room for is not believed. */
static void reads_too_far(struct test *t)
{
    for (unsigned k = 0; k < KINDS; k++) {
        struct memory m = saved(t, &kinds[k]);
        void *object;
        m.too_far = 1;
        FAILS(t, t->context, load(t, &kinds[k], &m, &object), COHORT_IO, "more than was asked for",
              "byte 0:");
        CHECK(t, !object && m.calls < 100);
    }
}

/* One of each behind the other, and bytes of somebody else's at the end, of which none is asked for. */
static void one_after_another(struct test *t)
{
    struct memory m = memory_new();
    const cohort_output output = {put, &m};
    for (unsigned k = 0; k < KINDS; k++) {
        void *object = kinds[k].make(t);
        OK(t, kinds[k].save_to(object, &output));
        kinds[k].destroy(object);
    }
    size_t end = m.bytes;
    m.bytes += 5;
    for (unsigned k = 0; k < KINDS; k++) {
        void *object;
        OK(t, load(t, &kinds[k], &m, &object));
        kinds[k].check(t, object);
        kinds[k].destroy(object);
    }
    EQUAL(t, m.place, end);
}

static void refusals(struct test *t)
{
    struct memory m = memory_new();
    const cohort_output output = {put, &m}, no_write = {NULL, &m};
    const cohort_input input = {get, &m}, no_read = {NULL, &m};
    for (unsigned k = 0; k < KINDS; k++) {
        const struct kind *kind = &kinds[k];
        void *object = kind->make(t), *out = &m;
        FAILS(t, NULL, kind->save_to(NULL, &output), COHORT_NULL, kind->name, "NULL");
        FAILS(t, t->context, kind->save_to(object, NULL), COHORT_NULL, "output", "NULL");
        FAILS(t, t->context, kind->save_to(object, &no_write), COHORT_NULL, "output->write", "NULL");
        FAILS(t, NULL, kind->load_from(NULL, &input, &out), COHORT_NULL, "context", "NULL");
        CHECK(t, !out);
        FAILS(t, t->context, kind->load_from(t->context, NULL, &out), COHORT_NULL, "input", "NULL");
        FAILS(t, t->context, kind->load_from(t->context, &no_read, &out), COHORT_NULL, "input->read", "NULL");
        FAILS(t, t->context, kind->load_from(t->context, &input, NULL), COHORT_NULL, "out", "NULL");
        EQUAL(t, m.calls, 0);
        kind->destroy(object);
    }
}

const struct test_case test_cases[] = {
    {"pieces", pieces, 0},
    {"files", files, 0},
    {"writes_that_fail", writes_that_fail, 0},
    {"reads_that_fail_or_end", reads_that_fail_or_end, 0},
    {"altered", altered, 0},
    {"reads_too_far", reads_too_far, 0},
    {"one_after_another", one_after_another, 0},
    {"refusals", refusals, 0},
    {NULL, NULL, 0},
};
