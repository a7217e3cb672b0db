/* test_files_table.c: tables of maps in files, and maps that are opened where their file is mapped: what they
 * answer, what they refuse, and what altered, cut, foreign and hostile files get. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hostile.h"

/* ---- what is mapped answers as the map that was saved -------------------------------------------------- */

static struct subject filled(struct test *t, const cohort_map_options *options, uint64_t n)
{
    struct subject s = subject_new(t, options);
    subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * n + 1);
    subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n / 4, EDGES, n + 1);
    subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n / 4, RANDOM, 2 * n + 1);
    subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n / 16, EDGES, n + 1); /* of the side slots, too */
    subject_observe(&s);
    return s;
}

static void same_statistics(struct test *t, cohort_map *a, cohort_map *b)
{
    cohort_map_options v = COHORT_MAP_OPTIONS_INIT, w = COHORT_MAP_OPTIONS_INIT;
    cohort_map_stats x = COHORT_MAP_STATS_INIT, y = COHORT_MAP_STATS_INIT;
    OK(t, cohort_map_get_options(a, &v));
    OK(t, cohort_map_get_options(b, &w));
    CHECK(t, !memcmp(&v, &w, sizeof v));
    OK(t, cohort_map_get_stats(a, &x));
    OK(t, cohort_map_get_stats(b, &y));
    CHECK(t, !memcmp(&x, &y, sizeof x));
}

static struct subject mapped(struct test *t, const char *path, const struct subject *like)
{
    cohort_map *map = NULL;
    OK(t, cohort_map_map(t->context, path, &map));
    struct subject s = subject_of(t, map, oracle_copy(like->oracle));
    s.fixed = like->fixed;
    return s;
}

/* Looked up, copied, changed in the copy, and saved again in both ways. */
static void use_mapped(struct test *t, const struct folder *f, struct subject *s, struct subject *back,
                       uint64_t n)
{
    subject_observe(back);
    subject_check_table(back);
    same_statistics(t, s->map, back->map);
    for (int i = 0; i < 2; i++) {
        subject_step(back, TRIAL_FIND, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * n + 1);
        subject_step(back, TRIAL_CONTAINS, 0, COHORT_WINNER_ANY, n, EDGES, n + 1);
    }
    cohort_map *copy = NULL, *reader = NULL;
    OK(t, cohort_map_clone(back->map, &copy));
    struct subject changed = subject_of(t, copy, oracle_copy(back->oracle));
    changed.fixed = s->fixed;
    subject_step(&changed, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n, SEQUENTIAL, 1);
    subject_step(&changed, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * n + 1);
    subject_free(&changed);
    OK(t, cohort_map_reader(back->map, t->context, &reader));
    cohort_map_destroy(reader);
    subject_observe(back);
    OK(t, cohort_map_save_table(back->map, f->other));
    struct bytes a = contents(t, f->file), b = contents(t, f->other);
    CHECK(t, a.count == b.count && !memcmp(a.data, b.data, a.count));
    free(a.data);
    free(b.data);
    OK(t, cohort_map_save(back->map, f->other));
    cohort_map *loaded = NULL;
    OK(t, cohort_map_load(t->context, f->other, &loaded));
    struct subject last = subject_of(t, loaded, oracle_copy(s->oracle));
    subject_observe(&last);
    subject_free(&last);
}

static void round_trip(struct test *t)
{
    for (unsigned i = 0; i < 10; i++) {
        struct folder f = folder_new(t);
        cohort_map_options options = subject_options(t);
        uint64_t simulated = options.layout == COHORT_LAYOUT_LINES ? 2000 : 9000;
        uint64_t n = i == 0   ? 0
                     : i == 1 ? 1
                     : i == 9 ? test_size(t, test_scale(t, 9000, 60000, 200000), simulated)
                              : 50 + test_below(t, 1500);
        options.fixed = i & 1;
        options.probe = subject_probe(t, i & 2 ? COHORT_PROBE_LINEAR : COHORT_PROBE_DOUBLE);
        options.seed = i & 4 ? COHORT_SEED_RANDOM : 0;
        options.max_load = i & 4 ? 0.95 : 0;
        options.capacity = options.fixed ? 2 * n + 2000 : 1;
        struct subject s = filled(t, &options, n);
        OK(t, cohort_map_save_table(s.map, f.file));
        struct subject back = mapped(t, f.file, &s);
        subject_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY, n, RANDOM, 2 * n + 1);
        use_mapped(t, &f, &s, &back, n);
        unlink(f.file); /* which a mapping outlives */
        subject_observe(&back);
        subject_free(&back);
        subject_free(&s);
        folder_end(t, &f);
    }
}

/* Of a table that is full to the last slot but some: what lies far is found, and absent keys are not. */
static void full_table(struct test *t)
{
    const uint64_t n = test_size(t, 4096, test_scale(t, 1024, 2048, 4096));
    struct folder f = folder_new(t);
    cohort_map_options options = subject_options(t);
    options.fixed = 1;
    options.max_load = 1;
    options.capacity = n;
    struct subject s = subject_new(t, &options);
    s.fixed = 1;
    for (int i = 0; i < 4; i++)
        subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, n + 100, RANDOM, 1ull << 31);
    OK(t, cohort_map_save_table(s.map, f.file));
    struct subject back = mapped(t, f.file, &s);
    use_mapped(t, &f, &s, &back, n * 3 / 4);
    subject_free(&back);
    subject_free(&s);
    folder_end(t, &f);
}

/* ---- what would change it ------------------------------------------------------------------------------ */

static void refuses_changes(struct test *t, cohort_map *map)
{
    cohort_context *c = t->context;
    const char *word = "cohort_map_map";
    uint64_t key = 1, value = 2, size, after;
    uint8_t op = COHORT_OP_FIND;
    cohort_map *copy;
    OK(t, cohort_map_size(map, &size));
    FAILS(t, c, cohort_map_insert(map, 1, &key, &value, NULL), COHORT_UNSUPPORTED, word, "cohort_map_insert");
    FAILS(t, c, cohort_map_assign(map, 1, &key, &value, NULL), COHORT_UNSUPPORTED, word, "cohort_map_assign");
    FAILS(t, c, cohort_map_apply(map, COHORT_OP_ADD, 1, &key, &value, NULL), COHORT_UNSUPPORTED, word,
          "cohort_map_apply");
    FAILS(t, c, cohort_map_insert_and_find(map, 1, &key, &value, NULL), COHORT_UNSUPPORTED, word,
          "cohort_map_insert_and_find");
    FAILS(t, c, cohort_map_erase(map, 1, &key, NULL), COHORT_UNSUPPORTED, word, "cohort_map_erase");
    FAILS(t, c, cohort_map_run(map, 1, &op, &key, &value, NULL, NULL), COHORT_UNSUPPORTED, word,
          "cohort_map_run");
    FAILS(t, c, cohort_map_clear(map), COHORT_UNSUPPORTED, word, "cohort_map_clear");
    FAILS(t, c, cohort_map_reserve(map, 1 << 20), COHORT_UNSUPPORTED, word, "cohort_map_reserve");
    FAILS(t, c, cohort_map_rehash(map, 0), COHORT_UNSUPPORTED, word, "cohort_map_rehash");
    OK(t, cohort_map_clone(map, &copy));
    FAILS(t, c, cohort_map_merge(map, copy, COHORT_OP_INSERT), COHORT_UNSUPPORTED, word, "cohort_map_merge");
    OK(t, cohort_map_clear(copy));
    OK(t, cohort_map_merge(copy, map, COHORT_OP_INSERT));
    OK(t, cohort_map_size(copy, &after));
    EQUAL(t, after, size);
    OK(t, cohort_map_size(map, &after));
    EQUAL(t, after, size);
    cohort_map_destroy(copy);
}

static void read_only(struct test *t)
{
    struct folder f = folder_new(t);
    cohort_map_options options = subject_options(t);
    struct subject s = filled(t, &options, 300);
    for (int pairs = 0; pairs < 2; pairs++) {
        OK(t, pairs ? cohort_map_save(s.map, f.file) : cohort_map_save_table(s.map, f.file));
        struct subject back = mapped(t, f.file, &s);
        subject_observe(&back);
        refuses_changes(t, back.map);
        subject_observe(&back);
        subject_free(&back);
    }
    cohort_map *map;
    FAILS(t, t->context, cohort_map_load(t->context, f.path, &map), COHORT_IO, f.path, NULL);
    OK(t, cohort_map_save_table(s.map, f.file));
    FAILS(t, t->context, cohort_map_load(t->context, f.file, &map), COHORT_BAD_VERSION, "kind 5", NULL);
    subject_free(&s);
    folder_end(t, &f);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

static void damaged(struct test *t)
{
    for (uint32_t fixed = 0; fixed < 2; fixed++) {
        struct folder f = folder_new(t);
        struct bytes b = sample(t, &f, fixed);
        CHECK(t, b.count > 256 && b.count < 1000);
        damage_each(t, f.file, &b, FILE_MAP, refuses);
        free(b.data);
        folder_end(t, &f);
    }
}

/* ---- hostile files: what they say is wrong, and their checksums are right ------------------------------ */

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, 8);
    return bits;
}

static void hostile_numbers(struct test *t)
{
    struct folder f = folder_new(t);
    struct bytes b = sample(t, &f, 0);
    const uint64_t slots = file_get(b.data + NUMBERS + 8 * SLOTS);
    const struct {
        unsigned field;
        uint64_t value;
        const char *word;
    } cases[] = {
        {LAYOUT, 1, NULL}, /* homes are not buckets */
        {LAYOUT, 2, "layout"},
        {WIDTH, 0, "width"},
        {WIDTH, 6, "width"},
        {WIDTH, UINT64_MAX, "width"},
        {PROBE, 2, "probe"},
        {PROBE, 1ull << 32, "probe"},
        {SLOTS, 0, "slots"},
        {SLOTS, slots - 1, "slots"},
        {SLOTS, slots + 1, "slots"},
        {SLOTS, slots * 2, "bytes"},
        {SLOTS, UINT64_MAX, "slots"},
        {SLOTS, 1ull << 62, "slots"},
        {MAX_LOAD, 0, "max_load"},
        {MAX_LOAD, UINT64_MAX, "max_load"},
        {MAX_LOAD, bits_of(0.001), "max_load"},
        {MAX_LOAD, bits_of(1.5), "max_load"},
        {MAX_LOAD, bits_of(-0.5), "max_load"},
        {FIXED, 2, "fixed"},
        {FIXED, 1ull << 32, "fixed"},
        {GROUP, 3, "group"},
        {GROUP, 64, "group"},
        {GROUP, 1ull << 32, "group"},
        {FILTER, 2, "filter"},
        {FILTER, 1, "bytes"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        hostile_number(t, &f, &b, cases[i].field, cases[i].value, COHORT_CORRUPT, cases[i].word);
    for (unsigned i = FIELDS; i < 22; i++)
        hostile_number(t, &f, &b, i, 1, COHORT_CORRUPT, "reserved");
    hostile_number(t, &f, &b, VERSION, 0, COHORT_BAD_VERSION, "version");
    hostile_number(t, &f, &b, VERSION, 2, COHORT_BAD_VERSION, "version");
    /* By another width slots are of other sizes, or pairs in other places; but for those of 16 bytes. */
    for (unsigned w = 1; w <= 6; w++)
        if (w != (unsigned)t->width &&
            (w > COHORT_WIDTH_64_64 || !(w >= COHORT_WIDTH_64_32 && t->width >= COHORT_WIDTH_64_32)))
            hostile_number(t, &f, &b, WIDTH, w, COHORT_CORRUPT, NULL);
    hostile_number(t, &f, &b, GROUP, t->width == COHORT_WIDTH_32_32 ? 5 : 2, COHORT_CORRUPT, "group");
    seal(t, f.file, &b, SECTIONS);
    cohort_map *map;
    OK(t, cohort_map_map(t->context, f.file, &map)); /* and as it was it opens */
    cohort_map_destroy(map);
    free(b.data);
    folder_end(t, &f);
}

static uint64_t slot_bytes(cohort_width width)
{
    return width == COHORT_WIDTH_32_0 ? 4 : width <= COHORT_WIDTH_64_0 ? 8 : 16;
}

/* 0: empty; 1: erased; 2: a pair. Of side slots, which follow the table's, a pair's key is 0. */
static int slot_kind(const struct bytes *b, cohort_width width, uint64_t slot)
{
    const uint64_t key = key_read(b->data + TABLE + slot * slot_bytes(width), width) | ~key_mask(width);
    return key == UINT64_MAX ? 0 : key == UINT64_MAX - 1 ? 1 : 2;
}

/* Each slot with what it cannot have; and counters that say something else than the slots. */
static void hostile_slots(struct test *t)
{
    struct folder f = folder_new(t);
    struct bytes b = sample(t, &f, 0);
    const uint64_t slots = file_get(b.data + NUMBERS + 8 * SLOTS), wide = slot_bytes(t->width),
                   counters = TABLE + file_get(b.data + 24 + 16);
    unsigned char pair[16] = {0}, other[16];
    unsigned kinds[3] = {0, 0, 0};
    for (uint64_t i = 0; i < slots; i++)
        if (slot_kind(&b, t->width, i) == 2)
            memcpy(pair, b.data + TABLE + i * wide, wide);
    for (uint64_t i = 0; i < slots + 2; i++) {
        const uint64_t at = TABLE + i * wide;
        const int kind = slot_kind(&b, t->width, i);
        kinds[kind]++;
        if (i >= slots || memcmp(b.data + at, pair, wide)) /* a key twice, or in a side slot */
            hostile_bytes(t, &f, &b, at, pair, wide, NULL);
        memset(other, 0xff, sizeof other);
        other[0] = 0xfe;
        if (kind != 1) /* erased, of which the counters do not know */
            hostile_bytes(t, &f, &b, at, other, wide, "erased");
        other[0] = 0xff;
        other[wide - 1] = 0x7f;
        if (wide > (uint64_t)key_bytes(t->width)) /* empty by the key alone */
            hostile_bytes(t, &f, &b, at, other, wide, "slot");
        other[wide - 1] = 0xff;
        if (kind) /* empty, of which the counters do not know */
            hostile_bytes(t, &f, &b, at, other, wide, NULL);
    }
    CHECK(t, kinds[0] && kinds[1] == 1 && kinds[2] == 4);
    for (uint64_t number = 0; number < 2; number++)
        for (int add = -1; add <= 1; add += 2) {
            unsigned char counter[8];
            file_put(counter, file_get(b.data + counters + 8 * number) + (uint64_t)(int64_t)add);
            hostile_bytes(t, &f, &b, counters + 8 * number, counter, 8, "taken");
        }
    free(b.data);
    folder_end(t, &f);
}

/* A table that is full, with keys that lie far: by chance a GPU may find none that does. */
static struct subject far_table(struct test *t)
{
    cohort_map_options options = subject_options(t);
    options.fixed = 1;
    options.max_load = 1;
    options.capacity = 4096;
    for (int tries = 0; tries < 20; tries++) {
        cohort_map_stats stats = COHORT_MAP_STATS_INIT;
        struct subject s = subject_new(t, &options);
        s.fixed = 1;
        for (int i = 0; i < 4; i++)
            subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, 4200, RANDOM, 1ull << 31);
        OK(t, cohort_map_get_stats(s.map, &stats));
        if (stats.probe_max > 20)
            return s;
        subject_free(&s);
    }
    REQUIRE(t, !"a table with keys that lie far");
    return (struct subject){0};
}

/* A filter that knows nothing of the keys that lie far: they are not where a search finds them. */
static void hostile_filter(struct test *t)
{
    struct folder f = folder_new(t);
    struct subject s = far_table(t);
    OK(t, cohort_map_save_table(s.map, f.file));
    struct bytes b = contents(t, f.file);
    const uint64_t first = file_get(b.data + 24 + 16), second = file_get(b.data + 24 + 32);
    memset(b.data + TABLE + first + 128, 0, second - 128);
    seal(t, f.file, &b, SECTIONS);
    refuses(t, f.file, COHORT_CORRUPT, "slot");
    free(b.data);
    subject_free(&s);
    folder_end(t, &f);
}

/* ---- names, other files, and writing ------------------------------------------------------------------- */

static void names_and_places(struct test *t)
{
    struct folder f = folder_new(t);
    cohort_map_options options = subject_options(t);
    struct subject s = filled(t, &options, 20);
    cohort_map *map = (cohort_map *)t;
    FAILS(t, NULL, cohort_map_save_table(NULL, f.file), COHORT_NULL, "map", "cohort_map_save_table");
    FAILS(t, t->context, cohort_map_save_table(s.map, NULL), COHORT_NULL, "path", "cohort_map_save_table");
    FAILS(t, t->context, cohort_map_save_table(s.map, "/nonexistent/file"), COHORT_IO, "/nonexistent/file",
          "No such file");
    FAILS(t, t->context, cohort_map_save_table(s.map, f.path), COHORT_IO, f.path, "directory");
    FAILS(t, t->context, cohort_map_save_table(s.map, "/dev/null"), COHORT_IO, "/dev/null", "regular");
    FAILS(t, NULL, cohort_map_map(NULL, f.file, &map), COHORT_NULL, "context", "cohort_map_map");
    CHECK(t, !map);
    FAILS(t, t->context, cohort_map_map(t->context, NULL, &map), COHORT_NULL, "path", "cohort_map_map");
    FAILS(t, t->context, cohort_map_map(t->context, f.file, NULL), COHORT_NULL, "out", "cohort_map_map");
    refuses(t, f.file, COHORT_IO, "No such file");
    refuses(t, f.path, COHORT_IO, "directory");
    refuses(t, "/dev/zero", COHORT_BAD_VERSION, NULL);
    REQUIRE(t, mkfifo(f.other, 0600) == 0);
    FILE *both = fopen(f.other, "r+b"); /* so that neither end waits */
    REQUIRE(t, both);
    OK(t, cohort_map_save_table(s.map, f.file));
    struct bytes b = contents(t, f.file);
    REQUIRE(t, fwrite(b.data, 1, 24, both) == 24 && !fflush(both));
    refuses(t, f.other, COHORT_IO, "regular");
    fclose(both);
    unlink(f.other);
    write_file(t, f.file, "ACGT\n", 5);
    refuses(t, f.file, COHORT_BAD_VERSION, NULL);
    cohort_sets *sets = NULL;
    write_file(t, f.file, b.data, b.count);
    STATUS(t, cohort_sets_map(t->context, f.file, 0, &sets), COHORT_BAD_VERSION);
    free(b.data);
    cohort_multimap *multimap;
    cohort_multimap_options other = COHORT_MULTIMAP_OPTIONS_INIT;
    OK(t, cohort_multimap_build(t->context, &other, 0, NULL, NULL, NULL, &multimap));
    OK(t, cohort_multimap_save(multimap, f.file));
    cohort_multimap_destroy(multimap);
    refuses(t, f.file, COHORT_BAD_VERSION, "kind 2");
    subject_free(&s);
    folder_end(t, &f);
}

/* What is mapped stays as it is when another file gets its name, its own table again, too. */
static void saved_over(struct test *t)
{
    struct folder f = folder_new(t);
    cohort_map_options options = subject_options(t);
    struct subject s = filled(t, &options, 500);
    OK(t, cohort_map_save_table(s.map, f.file));
    struct subject back = mapped(t, f.file, &s);
    subject_step(&s, TRIAL_INSERT, 0, COHORT_WINNER_ANY, 700, RANDOM, 5000);
    OK(t, cohort_map_save_table(s.map, f.file));
    subject_observe(&back);
    struct subject second = mapped(t, f.file, &s);
    subject_observe(&second);
    OK(t, cohort_map_save_table(second.map, f.file));
    subject_observe(&second);
    subject_free(&second);
    subject_free(&back);
    subject_free(&s);
    folder_end(t, &f);
}

/* With limits of a file's size up to that of the file: an error, and the old file as it was, alone. */
static void limited_files(struct test *t)
{
    struct folder f = folder_new(t);
    cohort_map_options options = subject_options(t);
    struct rlimit old, less;
    struct subject s = filled(t, &options, 200);
    OK(t, cohort_map_save_table(s.map, f.file));
    struct bytes b = contents(t, f.file);
    subject_step(&s, TRIAL_ASSIGN, 0, COHORT_WINNER_ANY, 10, RANDOM, 50);
    REQUIRE(t, !getrlimit(RLIMIT_FSIZE, &old));
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (uint64_t bytes = 0; bytes < b.count; bytes += 1 + b.count / 37) {
        less = old;
        less.rlim_cur = (rlim_t)bytes;
        REQUIRE(t, !setrlimit(RLIMIT_FSIZE, &less));
        cohort_status status = cohort_map_save_table(s.map, f.file);
        REQUIRE(t, !setrlimit(RLIMIT_FSIZE, &old));
        CHECKF(t, status == COHORT_IO && strstr(cohort_message(t->context), f.file), "%s: %s",
               cohort_status_name(status), cohort_message(t->context));
        struct bytes now = contents(t, f.file);
        CHECK(t, now.count == b.count && !memcmp(now.data, b.data, b.count));
        free(now.data);
    }
    signal(SIGXFSZ, handler);
    free(b.data);
    subject_free(&s);
    folder_end(t, &f);
}

/* On a device of other memory than the host's the table needs some there; elsewhere none is taken. */
static void no_memory(struct test *t)
{
    struct folder f = folder_new(t);
    cohort_map_options options = subject_options(t);
    cohort_map *map = NULL;
    options.capacity = 100000;
    struct subject s = subject_new(t, &options);
    subject_fill(&s, 1, 100);
    OK(t, cohort_map_save_table(s.map, f.file));
    t->ledger.limit = t->ledger.bytes + 1000;
    cohort_status status = cohort_map_map(t->context, f.file, &map);
    EQUAL(t, status, t->kind == TEST_CPU ? COHORT_OK : COHORT_NO_MEMORY);
    CHECK(t, !status == (map != NULL));
    t->ledger.limit = 0;
    cohort_map_destroy(map);
    subject_free(&s);
    folder_end(t, &f);
}

const struct test_case test_cases[] = {
    {"round_trip", round_trip, TEST_EACH_WIDTH | TEST_EACH_MEMORY | TEST_EACH_LAYOUT},
    {"full_table", full_table, TEST_EACH_WIDTH | TEST_EACH_LAYOUT},
    {"read_only", read_only, TEST_EACH_LAYOUT},
    {"damaged", damaged, TEST_EACH_WIDTH | TEST_EACH_LAYOUT},
    {"hostile_numbers", hostile_numbers, TEST_EACH_WIDTH},
    {"hostile_slots", hostile_slots, TEST_EACH_WIDTH},
    {"hostile_filter", hostile_filter, TEST_EACH_WIDTH},
    {"names_and_places", names_and_places, 0},
    {"saved_over", saved_over, TEST_EACH_WIDTH | TEST_EACH_LAYOUT},
    {"limited_files", limited_files, 0},
    {"no_memory", no_memory, TEST_COUNTED | TEST_EACH_LAYOUT},
    {NULL, NULL, 0},
};
