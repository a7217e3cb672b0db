/* test_refusals.c: maps and multimaps that are refused memory, threads, files, launches, copies at every
 * place where they ask (refuse.h). What a batch leaves behind is judged key by key: each has the value that
 * it had or the one that it was to get, and `failed` tells which. */
#include "refuse.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- batches on maps ----------------------------------------------------------------------------------- */

#define IN    200 /* keys of the map before the batch: 1 .. IN */
#define FIRST 101 /* of the batch's keys, which are FIRST .. FIRST + s->n - 1 */
#define LAST  2000
#define NONE  UINT64_MAX

enum column_of_batch { KEYS, VALUES, FAILED, HIT, WHERE, OPS, RESULTS, COUNTS };

enum {
    DO_INSERT,
    DO_ASSIGN,
    DO_ADD,
    DO_RUN,
    DO_INSERT_AND_FIND,
    DO_ERASE,
    DO_FIND,
    DO_CONTAINS,
    KINDS = 16, /* and: */
    FIXED = 16,
    WINNER = 32
};

static uint64_t value_before(uint64_t key)
{
    return key >= 1 && key <= IN ? 3 * key : NONE;
}

static uint64_t value_due(const struct scene *s, uint64_t key)
{
    uint64_t old = value_before(key), given = 7 * key + 1;
    if (key < FIRST || key >= FIRST + s->n)
        return old;
    switch (refuse_deed->what % KINDS) {
    case DO_INSERT:
    case DO_INSERT_AND_FIND:
        return old == NONE ? given : old;
    case DO_ASSIGN:
    case DO_RUN:
        return given;
    case DO_ADD:
        return old == NONE ? given : old + given;
    case DO_ERASE:
        return NONE;
    default:
        return old;
    }
}

static cohort_map *some_map(struct test *t, uint64_t capacity, int fixed)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map = NULL;
    o.width = COHORT_WIDTH_64_64;
    o.capacity = capacity;
    o.fixed = (uint32_t)fixed;
    OK(t, cohort_map_create(t->context, &o, &map));
    return map;
}

/* Puts keys first .. first + n in, by the values before. */
static void put(struct test *t, cohort_map *map, uint64_t first, uint64_t n, uint64_t factor)
{
    uint64_t *keys = malloc(n * 16);
    REQUIRE(t, keys);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = first + i;
        keys[n + i] = factor * keys[i];
    }
    OK(t, cohort_map_insert(map, n, keys, keys + n, NULL));
    free(keys);
}

static void begin_batch(struct test *t, struct scene *s)
{
    int what = refuse_deed->what;
    s->n = t->memory == TEST_HOST ? test_scale(t, 500, 1200, 1200) : 500;
    s->map = some_map(t, what & FIXED ? 4000 : 50, (what & FIXED) != 0);
    put(t, s->map, 1, IN, 3);
    s->c[KEYS] = column_new(t, s->n, 8);
    s->c[VALUES] = column_new(t, s->n, 8);
    s->c[RESULTS] = column_new(t, s->n, 8);
    s->c[OPS] = column_new(t, s->n, 1);
    s->c[FAILED] = bitmap_new(t, s->n);
    s->c[HIT] = bitmap_new(t, s->n);
    s->c[WHERE] = bitmap_new(t, s->n);
    s->c[COUNTS] = column_new(t, 5, 8);
    for (uint64_t i = 0; i < s->n; i++) {
        column_put(s->c[KEYS], i, FIRST + i);
        column_put(s->c[VALUES], i, 7 * (FIRST + i) + 1);
        column_put(s->c[OPS], i, COHORT_OP_ASSIGN);
        bitmap_set(s->c[WHERE], i, 1);
    }
    memset(s->c[FAILED]->data, 0, s->c[FAILED]->count);
    memset(s->c[COUNTS]->data, 0, 40);
}

static cohort_status act_batch(struct test *t, struct scene *s)
{
    static const uint64_t fallback = 99;
    cohort_batch b = COHORT_BATCH_INIT;
    (void)t;
    void *keys = s->at[KEYS], *values = s->at[VALUES], *results = s->at[RESULTS];
    const uint8_t *ops = s->at[OPS];
    b.where = s->at[WHERE];
    b.where_offset = bitmap_offset(s->c[WHERE]);
    b.failed = s->at[FAILED];
    b.failed_offset = bitmap_offset(s->c[FAILED]);
    b.hit_offset = bitmap_offset(s->c[HIT]);
    b.counts = s->at[COUNTS];
    if (refuse_deed->what & WINNER)
        b.winner = COHORT_WINNER_FIRST;
    switch (refuse_deed->what % KINDS) {
    case DO_INSERT:
        return cohort_map_insert(s->map, s->n, keys, values, &b);
    case DO_ASSIGN:
        return cohort_map_assign(s->map, s->n, keys, values, &b);
    case DO_ADD:
        return cohort_map_apply(s->map, COHORT_OP_ADD, s->n, keys, values, &b);
    case DO_RUN:
        return cohort_map_run(s->map, s->n, ops, keys, values, results, &b);
    case DO_INSERT_AND_FIND:
        return cohort_map_insert_and_find(s->map, s->n, keys, values, &b);
    case DO_ERASE:
        return cohort_map_erase(s->map, s->n, keys, &b);
    case DO_FIND:
        return cohort_map_find(s->map, s->n, keys, results, &fallback, &b);
    default:
        return cohort_map_contains(s->map, s->n, keys, s->at[HIT], &b);
    }
}

/* values[k] of keys 0 .. LAST as the map has them now, and that its size is the number of those it has. */
static void look(struct test *t, cohort_map *map, uint64_t values[LAST + 1])
{
    static const uint64_t none = NONE;
    uint64_t keys[LAST + 1], size, in = 0;
    for (uint64_t k = 0; k <= LAST; k++)
        keys[k] = k;
    OK(t, cohort_map_find(map, LAST + 1, keys, values, &none, NULL));
    for (uint64_t k = 0; k <= LAST; k++)
        in += values[k] != NONE;
    OK(t, cohort_map_size(map, &size));
    EQUAL(t, size, in);
}

/* What the results of a batch that succeeded must be. */
static void check_results(struct test *t, struct scene *s)
{
    column_fetch(s->c[RESULTS]);
    column_fetch(s->c[HIT]);
    for (uint64_t i = 0; i < s->n; i++) {
        uint64_t old = value_before(FIRST + i);
        if (refuse_deed->what % KINDS == DO_FIND)
            EQUAL(t, column_get(s->c[RESULTS], i), old == NONE ? 99 : old);
        if (refuse_deed->what % KINDS == DO_CONTAINS)
            EQUAL(t, bitmap_get(s->c[HIT], i), old != NONE);
    }
}

/* Each key has its old value or the new one. Of no memory: the bits tell which entries were not done, or
 * nothing at all was. Those are done when the batch is done again. */
static void check_batch(struct test *t, struct scene *s, cohort_status status)
{
    uint64_t values[LAST + 1], undone = 0, changed = 0, told = 0;
    look(t, s->map, values);
    column_fetch(s->c[FAILED]);
    column_fetch(s->c[COUNTS]);
    for (uint64_t i = 0; i < s->n; i++)
        told += (uint64_t)bitmap_get(s->c[FAILED], i);
    for (uint64_t k = 0; k <= LAST; k++) {
        uint64_t before = value_before(k), due = value_due(s, k);
        REQUIREF(t, values[k] == due || (status && values[k] == before),
                 "%s: key %llu has %llu, not %llu (before: %llu)", cohort_status_name(status),
                 (unsigned long long)k, (unsigned long long)values[k], (unsigned long long)due,
                 (unsigned long long)before);
        if (k < FIRST || k >= FIRST + s->n)
            continue;
        int done = values[k] == due, failed = bitmap_get(s->c[FAILED], k - FIRST);
        undone += !done;
        changed += values[k] != before;
        if (status == COHORT_NO_MEMORY && told) {
            REQUIREF(t, done || failed, "key %llu is not done, and its bit does not say so",
                     (unsigned long long)k);
            REQUIREF(t, !failed || values[k] == before || refuse_deed->what & WINNER,
                     "key %llu is done, and is said to have failed", (unsigned long long)k);
        }
        bitmap_set(s->c[WHERE], k - FIRST, status && (!done || due == before));
    }
    if (!status) {
        EQUAL(t, told, 0);
        check_results(t, s);
    } else if (told)
        EQUAL(t, column_get(s->c[COUNTS], 3), told);
    else if (status == COHORT_NO_MEMORY)
        CHECKF(t, !changed || !undone, "%llu are done, %llu are not, and no bit says so",
               (unsigned long long)changed, (unsigned long long)undone);
}

#define BATCH(name, what)                                            \
    {                                                                \
        name, begin_batch, act_batch, check_batch, NULL, (int)(what) \
    }

static void each(struct test *t, const struct deed *deeds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (refuse_takes(t, i, 3))
            refuse_each(t, &deeds[i]);
}
#define EACH(t, deeds) each(t, deeds, sizeof(deeds) / sizeof *(deeds))

static void growing_batches(struct test *t)
{
    static const struct deed deeds[] = {
        BATCH("insert", DO_INSERT), BATCH("insert, first wins", DO_INSERT | WINNER),
        BATCH("assign", DO_ASSIGN), BATCH("apply", DO_ADD),
        BATCH("run", DO_RUN),       BATCH("insert_and_find", DO_INSERT_AND_FIND)};
    EACH(t, deeds);
}

static void fixed_batches(struct test *t)
{
    static const struct deed deeds[] = {
        BATCH("insert", DO_INSERT | FIXED), BATCH("assign, first wins", DO_ASSIGN | FIXED | WINNER),
        BATCH("apply", DO_ADD | FIXED),     BATCH("run", DO_RUN | FIXED),
        BATCH("erase", DO_ERASE | FIXED),   BATCH("erase of a growing map", DO_ERASE),
        BATCH("find", DO_FIND | FIXED),     BATCH("contains", DO_CONTAINS | FIXED)};
    EACH(t, deeds);
}

/* ---- maps as a whole ----------------------------------------------------------------------------------- */

enum {
    CREATE,
    RESERVE,
    REHASH,
    COPY,
    MERGE,
    CLEAR,
    SIZE,
    STATS,
    EXPORT,
    SAVE,
    SAVE_OVER,
    LOAD,
    SAVE_TABLE,
    MAP_TABLE
};

static void path_of(struct test *t, struct scene *s)
{
    static unsigned number;
    (void)t;
    snprintf(s->path, sizeof s->path, "/tmp/cohort-refuse-%ld-%u", (long)getpid(), number++);
}

static void begin_map(struct test *t, struct scene *s)
{
    if (refuse_deed->what == CREATE)
        return;
    s->map = some_map(t, 50, 0);
    put(t, s->map, 1, IN, 3);
    s->c[0] = column_new(t, LAST, 8);
    s->c[1] = column_new(t, LAST, 8);
    if (refuse_deed->what == MERGE) {
        s->other = some_map(t, 50, 0);
        put(t, s->other, 150, 600, 5);
    }
    if (refuse_deed->what >= SAVE)
        path_of(t, s);
    if (refuse_deed->what >= SAVE_OVER) {
        cohort_map *old = some_map(t, 5, 0);
        const int taken = refuse_deed->what == LOAD || refuse_deed->what == MAP_TABLE;
        put(t, old, 1, taken ? IN : 3, 3);
        OK(t, refuse_deed->what == MAP_TABLE ? cohort_map_save_table(old, s->path)
                                             : cohort_map_save(old, s->path));
        cohort_map_destroy(old);
    }
}

static cohort_status act_map(struct test *t, struct scene *s)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    cohort_status status;
    switch (refuse_deed->what) {
    case CREATE:
        o.capacity = 1000;
        return cohort_map_create(t->context, &o, &s->made);
    case RESERVE:
        return cohort_map_reserve(s->map, 9000);
    case REHASH:
        return cohort_map_rehash(s->map, 3000);
    case COPY:
        return cohort_map_clone(s->map, &s->made);
    case MERGE:
        return cohort_map_merge(s->map, s->other, COHORT_OP_ASSIGN);
    case CLEAR:
        return cohort_map_clear(s->map);
    case SIZE:
        return cohort_map_size(s->map, &s->count);
    case STATS:
        status = cohort_map_get_stats(s->map, &stats);
        s->count = stats.pairs;
        return status;
    case EXPORT:
        return cohort_map_export(s->map, LAST, s->at[0], s->at[1], &s->count);
    case LOAD:
        return cohort_map_load(t->context, s->path, &s->made);
    case SAVE_TABLE:
        return cohort_map_save_table(s->map, s->path);
    case MAP_TABLE:
        return cohort_map_map(t->context, s->path, &s->made);
    default:
        return cohort_map_save(s->map, s->path);
    }
}

/* The map has keys 1 .. n with three times their number. */
static void check_plain(struct test *t, cohort_map *map, uint64_t n)
{
    uint64_t values[LAST + 1];
    look(t, map, values);
    for (uint64_t k = 0; k <= LAST; k++)
        REQUIREF(t, values[k] == (k >= 1 && k <= n ? 3 * k : NONE), "key %llu has %llu",
                 (unsigned long long)k, (unsigned long long)values[k]);
}

static void check_merged(struct test *t, struct scene *s, cohort_status status)
{
    uint64_t values[LAST + 1], theirs[LAST + 1];
    look(t, s->map, values);
    look(t, s->other, theirs);
    for (uint64_t k = 0; k <= LAST; k++) {
        uint64_t due = k >= 150 && k < 750 ? 5 * k : value_before(k);
        REQUIREF(t, values[k] == due || (status && values[k] == value_before(k)), "key %llu has %llu",
                 (unsigned long long)k, (unsigned long long)values[k]);
        REQUIRE(t, theirs[k] == (k >= 150 && k < 750 ? 5 * k : NONE));
    }
}

/* The file is the old one or the whole new one, and no other is left beside it. */
static void check_file(struct test *t, struct scene *s, cohort_status status)
{
    char other[100];
    cohort_map *loaded = NULL;
    snprintf(other, sizeof other, "%s.cohort-0.tmp", s->path);
    CHECKF(t, access(other, F_OK), "%s is left", other);
    if (access(s->path, F_OK)) {
        CHECK(t, status && refuse_deed->what == SAVE);
        return;
    }
    OK(t, refuse_deed->what == SAVE_TABLE ? cohort_map_map(t->context, s->path, &loaded)
                                          : cohort_map_load(t->context, s->path, &loaded));
    check_plain(t, loaded, status && refuse_deed->what != SAVE ? 3 : IN);
    cohort_map_destroy(loaded);
}

static void check_map(struct test *t, struct scene *s, cohort_status status)
{
    int what = refuse_deed->what;
    if (what == MERGE) {
        check_merged(t, s, status);
        return;
    }
    if (what == CLEAR && status)
        return;
    if (what != CREATE)
        check_plain(t, s->map, what == CLEAR && !status ? 0 : IN);
    if (what == CREATE || what == COPY || what == LOAD || what == MAP_TABLE) {
        CHECK(t, !status == (s->made != NULL));
        if (s->made)
            check_plain(t, s->made, what == CREATE ? 0 : IN);
    }
    if (what == SAVE || what == SAVE_OVER || what == SAVE_TABLE)
        check_file(t, s, status);
    if (!status && what >= SIZE && what <= EXPORT)
        EQUAL(t, s->count, IN);
    if (!status && what == EXPORT) {
        column_fetch(s->c[0]);
        column_fetch(s->c[1]);
        for (uint64_t i = 0; i < s->count; i++)
            EQUAL(t, column_get(s->c[1], i), 3 * column_get(s->c[0], i));
    }
}

#define MAP(what)                                         \
    {                                                     \
#        what, begin_map, act_map, check_map, NULL, what, \
    }

static void whole_maps(struct test *t)
{
    static const struct deed deeds[] = {
        MAP(CREATE), MAP(RESERVE), MAP(REHASH), MAP(COPY),      MAP(MERGE), MAP(CLEAR),      MAP(SIZE),
        MAP(STATS),  MAP(EXPORT),  MAP(SAVE),   MAP(SAVE_OVER), MAP(LOAD),  MAP(SAVE_TABLE), MAP(MAP_TABLE)};
    EACH(t, deeds);
}

/* ---- multimaps ----------------------------------------------------------------------------------------- */

enum { BUILD, FIND, COUNT, RETRIEVE, EXPORT_ALL, JOIN, INSERT_ROWS, SAVE_ROWS, LOAD_ROWS };
#define ROWS 600 /* pairs (i / 3, i) */

static cohort_status build(struct test *t, struct scene *s, cohort_multimap **out)
{
    cohort_multimap_options o = COHORT_MULTIMAP_OPTIONS_INIT;
    return cohort_multimap_build(t->context, &o, ROWS, s->at[0], s->at[1], NULL, out);
}

static void begin_rows(struct test *t, struct scene *s)
{
    s->c[0] = column_new(t, ROWS, 8);
    s->c[1] = column_new(t, ROWS, 8);
    s->c[2] = column_new(t, 2 * ROWS, 8);
    s->c[3] = column_new(t, 2 * ROWS, 8);
    s->c[4] = column_new(t, ROWS + 1, 8);
    for (uint64_t i = 0; i < ROWS; i++) {
        column_put(s->c[0], i, i / 3);
        column_put(s->c[1], i, i);
    }
    scene_send(s);
    if (refuse_deed->what != BUILD)
        OK(t, build(t, s, &s->multimap));
    if (refuse_deed->what == JOIN)
        OK(t, build(t, s, &s->second));
    if (refuse_deed->what >= SAVE_ROWS)
        path_of(t, s);
    if (refuse_deed->what == LOAD_ROWS)
        OK(t, cohort_multimap_save(s->multimap, s->path));
}

static cohort_status act_rows(struct test *t, struct scene *s)
{
    static const uint64_t fallback = NONE;
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    cohort_status status;
    switch (refuse_deed->what) {
    case BUILD:
        return build(t, s, &s->third);
    case FIND:
        return cohort_multimap_find(s->multimap, ROWS, s->at[1], s->at[2], &fallback, NULL);
    case COUNT:
        return cohort_multimap_count(s->multimap, ROWS, s->at[1], s->at[2]);
    case RETRIEVE:
        r.capacity = 2 * ROWS;
        r.queries = s->at[2];
        r.values = s->at[3];
        r.offsets = s->at[4];
        status = cohort_multimap_retrieve(s->multimap, ROWS, s->at[1], &r);
        s->count = r.total;
        return status;
    case EXPORT_ALL:
        return cohort_multimap_export(s->multimap, s->at[2], s->at[4], s->at[3]);
    case JOIN:
        return cohort_multimap_union(s->multimap, s->second, &s->third);
    case INSERT_ROWS:
        return cohort_multimap_insert(s->multimap, ROWS, s->at[0], s->at[1], NULL);
    case SAVE_ROWS:
        return cohort_multimap_save(s->multimap, s->path);
    default:
        return cohort_multimap_load(t->context, s->path, &s->third);
    }
}

/* Each key 0 .. ROWS / 3 has `times` times its three values. */
static void check_multimap(struct test *t, cohort_multimap *m, uint64_t times)
{
    uint64_t keys[ROWS / 3], offsets[ROWS / 3 + 1], values[2 * ROWS], size[2];
    unsigned char seen[ROWS] = {0};
    OK(t, cohort_multimap_size(m, &size[0], &size[1]));
    EQUAL(t, size[0], ROWS / 3);
    EQUAL(t, size[1], times * ROWS);
    REQUIRE(t, !t->failures);
    OK(t, cohort_multimap_export(m, keys, offsets, values));
    for (uint64_t i = 0; i < ROWS / 3; i++)
        for (uint64_t j = offsets[i]; j < offsets[i + 1]; j++) {
            REQUIRE(t, j < times * ROWS && values[j] / 3 == keys[i] && values[j] < ROWS);
            seen[values[j]]++;
        }
    for (uint64_t v = 0; v < ROWS; v++)
        EQUAL(t, seen[v], times);
}

static void check_rows(struct test *t, struct scene *s, cohort_status status)
{
    int what = refuse_deed->what, makes = what == BUILD || what == JOIN || what == LOAD_ROWS;
    if (s->multimap)
        check_multimap(t, s->multimap, what == INSERT_ROWS && !status ? 2 : 1);
    CHECK(t, (makes && !status) == (s->third != NULL));
    if (s->third)
        check_multimap(t, s->third, what == JOIN ? 2 : 1);
    if (what == SAVE_ROWS) {
        cohort_multimap *loaded = NULL;
        CHECK(t, !access(s->path, F_OK) == !status);
        if (!status) {
            OK(t, cohort_multimap_load(t->context, s->path, &loaded));
            check_multimap(t, loaded, 1);
            cohort_multimap_destroy(loaded);
        }
    }
    if (what == RETRIEVE)
        CHECKF(t, s->count == ROWS || (status && !s->count), "the total is told to be %llu",
               (unsigned long long)s->count);
    if (status)
        return;
    for (int i = 2; i <= 4; i++)
        column_fetch(s->c[i]);
    for (uint64_t i = 0; i < ROWS && (what == FIND || what == COUNT); i++) {
        uint64_t got = column_get(s->c[2], i);
        CHECK(t, what == COUNT ? got == (i < ROWS / 3 ? 3 : 0) : i < ROWS / 3 ? got / 3 == i : got == NONE);
    }
    for (uint64_t i = 0; i < ROWS && what == RETRIEVE; i++)
        CHECK(t, column_get(s->c[2], i) == i / 3 && column_get(s->c[3], i) / 3 == i / 3);
}

#define MULTIMAP(what)                                       \
    {                                                        \
#        what, begin_rows, act_rows, check_rows, NULL, what, \
    }

static void multimaps(struct test *t)
{
    static const struct deed deeds[] = {MULTIMAP(BUILD),       MULTIMAP(FIND),       MULTIMAP(COUNT),
                                        MULTIMAP(RETRIEVE),    MULTIMAP(EXPORT_ALL), MULTIMAP(JOIN),
                                        MULTIMAP(INSERT_ROWS), MULTIMAP(SAVE_ROWS),  MULTIMAP(LOAD_ROWS)};
    EACH(t, deeds);
}

/* ---- files that may not grow --------------------------------------------------------------------------- */

/* With every limit of a file's size up to that of the file: an error, the old file as it was, nothing beside
 * it. */
static void limited_files(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct scene s = {0};
    struct stat whole;
    struct rlimit old, less;
    OK(t, cohort_context_create(&options, &t->context));
    static const struct deed over = {"save", NULL, NULL, NULL, NULL, SAVE_OVER};
    refuse_deed = &over;
    begin_map(t, &s);
    OK(t, cohort_map_save(s.map, s.path));
    REQUIRE(t, !stat(s.path, &whole) && !getrlimit(RLIMIT_FSIZE, &old));
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (off_t bytes = 0; bytes < whole.st_size; bytes += 1 + whole.st_size / 37) {
        less = old;
        less.rlim_cur = (rlim_t)bytes;
        cohort_map *three = some_map(t, 5, 0);
        put(t, three, 1, 3, 3);
        OK(t, cohort_map_save(three, s.path));
        cohort_map_destroy(three);
        REQUIRE(t, !setrlimit(RLIMIT_FSIZE, &less));
        cohort_status status = cohort_map_save(s.map, s.path);
        REQUIRE(t, !setrlimit(RLIMIT_FSIZE, &old));
        CHECKF(t, status == COHORT_IO && strstr(cohort_message(t->context), s.path), "%s: %s",
               cohort_status_name(status), cohort_message(t->context));
        check_file(t, &s, status);
    }
    signal(SIGXFSZ, handler);
    unlink(s.path);
    cohort_map_destroy(s.map);
    column_drop(t, NULL);
    cohort_context_destroy(t->context);
    t->context = NULL;
}

const struct test_case test_cases[] = {
    {"growing_batches", growing_batches, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {"fixed_batches", fixed_batches, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {"whole_maps", whole_maps, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {"multimaps", multimaps, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {"limited_files", limited_files, TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
