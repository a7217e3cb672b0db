/* test_sets_file.c: collections in files: round trips, and what altered, cut, foreign and hostile files
 * get. */
#include "file.h"
#include "sets.h"

#include "cohort/device/set.h"

#include <unistd.h>

static void same_files(struct test *t, const char *a, const char *b)
{
    struct bytes x = contents(t, a), y = contents(t, b);
    CHECKF(t, x.count == y.count && !memcmp(x.data, y.data, x.count),
           "another file of %llu bytes, not of %llu", (unsigned long long)y.count,
           (unsigned long long)x.count);
    free(x.data);
    free(y.data);
}

/* ---- three ways in ------------------------------------------------------------------------------------- */

enum way { LOAD, MAP, MAP_AND_CHECK, WAYS };

static cohort_status take(struct test *t, enum way way, const char *path, cohort_sets **out)
{
    return way == LOAD ? cohort_sets_load(t->context, path, out)
                       : cohort_sets_map(t->context, path, way == MAP_AND_CHECK, out);
}

/* Saved, taken in each way, the same sets, and the same file when they are saved again. */
static void goes_round(struct test *t, struct folder *f, const cohort_sets *sets, const struct plains *p)
{
    OK(t, cohort_sets_save(sets, f->file));
    for (int way = LOAD; way < WAYS; way++) {
        cohort_sets *back = NULL;
        OK(t, take(t, (enum way)way, f->file, &back));
        sets_judge(t, back, p, "from a file");
        OK(t, cohort_sets_save(back, f->other));
        same_files(t, f->file, f->other);
        cohort_sets_destroy(back);
    }
}

static void round_trips(struct test *t)
{
    struct folder f = folder_new(t);
    for (uint64_t round = 0; round < test_scale(t, 4, 30, test_size(t, 100, 30)); round++) {
        if (!test_drawn(t, round, test_size(t, 1, 2)))
            continue;
        int wide = (int)(round & 1);
        struct plains p = plains_draw(t, round < 2 ? 0 : test_below(t, test_size(t, 30, 8)), wide);
        cohort_sets *sets = sets_of(t, &p, (int)test_below(t, 2));
        goes_round(t, &f, sets, &p);
        cohort_sets_destroy(sets);
        plains_free(&p);
    }
    folder_end(t, &f);
}

/* Arrays whose members come eight by eight, of which some are in the middle one of three 1,024s: what a build
 * says of their digests is what a reader finds. */
static void three_blocks(struct test *t)
{
    static const uint64_t eight[8] = {0, 2, 1024, 1026, 1028, 1030, 2048, 2050};
    struct folder f = folder_new(t);
    struct plains p = plains_new(1, 0);
    uint64_t members[16 * 16 * 8];
    for (unsigned i = 0; i < 16 * 16 * 8; i++)
        members[i] = i / 8 * 4096 + eight[i % 8];
    p.at[0] = plain_of(members, 16 * 16 * 8);
    cohort_sets *sets = sets_of(t, &p, 0);
    goes_round(t, &f, sets, &p);
    cohort_sets_destroy(sets);
    plains_free(&p);
    folder_end(t, &f);
}

/* Answers of queries have their members in places with gaps between them; and operands can be mapped. */
static void answers(struct test *t)
{
    struct folder f = folder_new(t);
    for (uint64_t round = 0; round < test_scale(t, 2, 12, test_size(t, 40, 12)); round++) {
        int wide = (int)(round & 1);
        struct plains p = plains_draw(t, 8, wide), due = plains_new(4, wide);
        cohort_sets *sets = sets_of(t, &p, 0), *mapped = NULL, *answer = NULL;
        OK(t, cohort_sets_save(sets, f.other));
        cohort_sets_destroy(sets);
        OK(t, cohort_sets_map(t->context, f.other, 0, &mapped));
        struct column *members = column_new(t, 8, 8);
        cohort_sets_query_desc query = COHORT_SETS_QUERY_INIT;
        query.op = (cohort_sets_op)(COHORT_SETS_AND + test_below(t, 4));
        for (uint64_t i = 0; i < 8; i++)
            column_put(members, i, test_below(t, 8));
        for (uint64_t r = 0; r < 4; r++) {
            const struct plain *operands[2] = {&p.at[column_get(members, 2 * r)],
                                               &p.at[column_get(members, 2 * r + 1)]};
            due.at[r] = plain_row(query.op, 0, operands, 2);
        }
        query.collections = &mapped;
        query.collections_count = 1;
        query.rows = 4;
        query.arity = 2;
        query.members = column_send(members);
        query.result = &answer;
        OK(t, cohort_sets_query(t->context, &query));
        goes_round(t, &f, answer, &due);
        cohort_sets_destroy(answer);
        cohort_sets_destroy(mapped);
        plains_free(&p);
        plains_free(&due);
    }
    folder_end(t, &f);
}

/* ---- what is wrong ------------------------------------------------------------------------------------- */

/* A collection with every kind of chunk, lists, an index and gaps, and few bytes. */
static cohort_sets *small_of_each(struct test *t, int wide)
{
    struct plains p = plains_new(6, wide);
    uint64_t ids[9000], n = 0;
    p.at[0] = plain_of((const uint64_t[]){5, 7, 70000}, 3);
    for (n = 0; n < 40; n++)
        ids[n] = 3 * n;
    p.at[1] = plain_of(ids, n);
    for (n = 0; n < 200; n++)
        ids[n] = n < 100 ? n : 1000 + n;
    p.at[2] = plain_of(ids, n);
    for (n = 0; n < 8000; n++)
        ids[n] = (wide ? UINT64_C(0xffffffffffff0000) : 0) + 8 * n;
    p.at[3] = plain_of(ids, n);
    struct plain full = {malloc(65540 * 8), 65540};
    for (uint64_t i = 0; i < full.n; i++)
        full.at[i] = 0x20000 + i;
    p.at[4] = full;
    p.at[5] = plain_of(NULL, 0);
    cohort_sets *sets = sets_of(t, &p, 0);
    plains_free(&p);
    return sets;
}

static int is_refusal(cohort_status status)
{
    return status == COHORT_CORRUPT || status == COHORT_TRUNCATED || status == COHORT_BAD_VERSION;
}

/* What a collection of wrong members does is not told, but it stays within itself (the sanitizers watch),
 * and its calls return. */
static void use(struct test *t, cohort_sets *sets)
{
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    cohort_sets *answer = NULL;
    OK(t, cohort_sets_get_info(sets, &info));
    uint64_t *members = malloc(info.members * 8 + 8), *numbers = malloc(2 * info.sets * 8 + 8);
    REQUIRE(t, members && numbers);
    target.members = members;
    target.capacity = info.members;
    cohort_status status = cohort_sets_export(sets, &target);
    REQUIREF(t, !status || status == COHORT_FULL, "%s", cohort_message(t->context));
    for (uint64_t i = 0; i < 2 * info.sets; i++)
        numbers[i] = i % 2 ? test_below(t, info.sets) : i / 2;
    for (cohort_sets_op op = COHORT_SETS_AND; op <= COHORT_SETS_XOR; op++) {
        cohort_sets_query_desc query = COHORT_SETS_QUERY_INIT;
        query.op = op;
        query.collections = &sets;
        query.collections_count = 1;
        query.rows = info.sets;
        query.arity = 2;
        query.members = numbers;
        query.counts = members;
        query.result = &answer;
        query.counts = info.members >= info.sets ? members : NULL;
        cohort_sets_query(t->context, &query);
        cohort_sets_destroy(answer);
    }
    free(members);
    free(numbers);
}

/* Runs of few members, as the directory says; their bytes say that each goes to the chunk's end. Put together
 * they make a bitmap, for which the directory leaves no room. (A GPU does not map what it has not read.) */
static void lying(struct test *t)
{
    struct folder f = folder_new(t);
    struct plains p = plains_new(3, 0);
    uint64_t ids[900], n = 0, lies = 0;
    for (uint64_t s = 0; s < 3; s++) {
        for (n = 0; n < 900; n++)
            ids[n] = 50 * (n / 5) + n % 5 + s + 1;
        p.at[s] = plain_of(ids, n);
    }
    cohort_sets *sets = sets_of(t, &p, 0);
    OK(t, cohort_sets_save(sets, f.file));
    cohort_sets_destroy(sets);
    struct bytes b = contents(t, f.file);
    for (uint64_t at = 256; at + 4 <= b.count; at += 4) {
        const unsigned first = b.data[at] | (unsigned)b.data[at + 1] << 8;
        if (b.data[at + 2] != 4 || b.data[at + 3] || first % 50 - 1 > 2 || first >= 9000)
            continue;
        b.data[at + 2] = (unsigned char)((0xffff - first) & 0xff);
        b.data[at + 3] = (unsigned char)((0xffff - first) >> 8);
        lies++;
    }
    EQUAL(t, lies, 540);
    seal(t, f.file, &b, 3);
    EQUAL(t, cohort_sets_load(t->context, f.file, &sets), COHORT_CORRUPT);
    OK(t, cohort_sets_map(t->context, f.file, 0, &sets));
    for (uint64_t arity = 2; arity <= 3; arity++)
        for (cohort_sets_op op = COHORT_SETS_AND; op <= COHORT_SETS_XOR; op++) {
            cohort_sets_query_desc query = COHORT_SETS_QUERY_INIT;
            cohort_sets_info info = COHORT_SETS_INFO_INIT;
            cohort_sets *answer = NULL;
            const uint64_t which[] = {0, 1, 2};
            query.op = op;
            query.collections = &sets;
            query.collections_count = 1;
            query.rows = 1;
            query.arity = arity;
            query.members = which;
            query.result = &answer;
            OK(t, cohort_sets_query(t->context, &query));
            OK(t, cohort_sets_get_info(answer, &info));
            CHECKF(t, !info.bitmaps, "operation %d of %llu sets: a bitmap", (int)op,
                   (unsigned long long)arity);
            cohort_sets_destroy(answer);
        }
    cohort_sets_destroy(sets);
    free(b.data);
    plains_free(&p);
    folder_end(t, &f);
}

/* A chunk whose runs of one member each take more than its members as an array would. All that is told of it
 * is right, but nobody writes it so, and queries have no room for it. */
static void runs_that_take_more(struct test *t)
{
    struct folder f = folder_new(t);
    struct plains p = plains_new(1, 0);
    uint64_t ids[5000], n = 0, before = 2047;
    for (; n < 5000; n++)
        ids[n] = 13 * n;
    p.at[0] = plain_of(ids, n);
    cohort_sets *sets = sets_of(t, &p, 0);
    OK(t, cohort_sets_save(sets, f.file));
    cohort_sets_destroy(sets);
    struct bytes b = contents(t, f.file);
    /* the parts of the directory, 128 bytes each, and the pool */
    unsigned char *cards = b.data + 256 + 4 * 128, *counts = cards + 2 * 128, *pool = b.data + 256 + 8 * 128;
    co_u64 place = co_place_make(CO_CHUNK_RUNS, (co_u32)before, 0), digest = ~0ull;
    EQUAL(t, b.count, 256 + 8 * 128 + CO_CHUNK_BYTES);
    memcpy(cards, (const co_u16[]){(co_u16)(before - 1)}, 2);
    memcpy(cards + 128, &place, 8);
    memcpy(counts + 8, &before, 8);
    memcpy(counts + 128, &digest, 8);
    for (uint64_t i = 0; i < 2048; i++) {
        const co_u16 run[2] = {(co_u16)(32 * (i < before ? i : before - 1)), 0};
        memcpy(pool + 4 * i, run, sizeof run);
    }
    memcpy(pool + CO_CHUNK_BYTES - 4, (const co_u16[2]){0, 0}, 4);
    seal(t, f.file, &b, 3);
    for (int way = LOAD; way < WAYS; way++) {
        EQUAL(t, take(t, (enum way)way, f.file, &sets), COHORT_CORRUPT);
        CHECK(t, !sets && strstr(cohort_message(t->context), "entry of chunk 0"));
        cohort_sets_destroy(sets);
    }
    free(b.data);
    plains_free(&p);
    folder_end(t, &f);
}

/* A number of 16 bits of the members is another one. */
static void one_wrong(struct test *t, const struct folder *f, struct bytes *b, uint64_t at, unsigned number)
{
    const unsigned char old[2] = {b->data[at], b->data[at + 1]};
    cohort_sets *sets = NULL;
    b->data[at] = (unsigned char)number;
    b->data[at + 1] = (unsigned char)(number >> 8);
    seal(t, f->file, b, 3);
    for (int way = LOAD; way < WAYS; way++) {
        const int checks = way != MAP || t->kind != TEST_CPU; /* where nothing is mapped it is loaded */
        EQUAL(t, take(t, (enum way)way, f->file, &sets), checks ? COHORT_CORRUPT : COHORT_OK);
        cohort_sets_destroy(sets);
    }
    memcpy(b->data + at, old, 2);
}

/* Members that are the same or fall, and each number behind the last one: with checksums that are right. */
static void one_by_one(struct test *t)
{
    struct folder f = folder_new(t);
    struct plains p = plains_new(3, 0);
    uint64_t ids[100];
    p.at[0] = plain_of((const uint64_t[]){5, 7, 9}, 3);
    for (uint64_t i = 0; i < 17; i++)
        ids[i] = 100 * i + 3;
    p.at[1] = plain_of(ids, 17);
    for (uint64_t i = 0; i < 100; i++)
        ids[i] = 40 + i;
    p.at[2] = plain_of(ids, 100);
    cohort_sets *sets = sets_of(t, &p, 0);
    goes_round(t, &f, sets, &p);
    cohort_sets_destroy(sets);
    struct bytes b = contents(t, f.file);
    /* a list, and behind it an array of three units and runs of one, filled up to 128 bytes each */
    const uint64_t list = b.count - 256, array = b.count - 128, runs = array + 48;
    one_wrong(t, &f, &b, list + 4, 5);
    one_wrong(t, &f, &b, list + 4, 4);
    one_wrong(t, &f, &b, list + 4, 9);
    for (uint64_t i = 1; i < 17; i++)
        one_wrong(t, &f, &b, array + 2 * i, (unsigned)(100 * (i - 1) + 3));
    for (uint64_t i = 17; i < 24; i++)
        one_wrong(t, &f, &b, array + 2 * i, 1604);
    for (uint64_t i = 1; i < 8; i++)
        one_wrong(t, &f, &b, runs + 2 * i, 98);
    free(b.data);
    plains_free(&p);
    folder_end(t, &f);
}

/* Every byte altered in one bit: refused by whoever checks all; by who does not, refused or used without
 * harm. */
static void altered(struct test *t)
{
    struct folder f = folder_new(t);
    for (int wide = 0; wide < 2; wide++) {
        uint64_t step = test_scale(t, 97, t->kind == TEST_CPU ? 5 : 211, test_size(t, 1, 53));
        cohort_sets *sets = small_of_each(t, wide), *got = NULL;
        OK(t, cohort_sets_save(sets, f.file));
        cohort_sets_destroy(sets);
        struct bytes b = contents(t, f.file);
        unsigned char *data = b.data;
        const uint64_t bytes = b.count;
        for (uint64_t at = test_below(t, step); at < bytes; at += step) {
            unsigned char bit = (unsigned char)(1u << test_below(t, 8));
            data[at] ^= bit;
            write_file(t, f.file, data, bytes);
            cohort_status loaded = cohort_sets_load(t->context, f.file, &got);
            REQUIREF(t, is_refusal(loaded) && !got && strstr(cohort_message(t->context), f.file),
                     "byte %llu: %s %s", (unsigned long long)at, cohort_status_name(loaded),
                     cohort_message(t->context));
            cohort_status checked = cohort_sets_map(t->context, f.file, 1, &got);
            REQUIREF(t, checked == loaded && !got, "byte %llu: map says %s, load %s", (unsigned long long)at,
                     cohort_status_name(checked), cohort_status_name(loaded));
            cohort_status mapped = cohort_sets_map(t->context, f.file, 0, &got);
            REQUIREF(t, mapped ? is_refusal(mapped) && !got : got != NULL, "byte %llu: %s",
                     (unsigned long long)at, cohort_status_name(mapped));
            if (!mapped && !(at % 16))
                use(t, got);
            cohort_sets_destroy(got);
            data[at] ^= bit;
        }
        free(data);
    }
    folder_end(t, &f);
}

static void cut(struct test *t)
{
    struct folder f = folder_new(t);
    uint64_t step = test_scale(t, 211, t->kind == TEST_CPU ? 7 : 307, test_size(t, 1, 101));
    cohort_sets *sets = small_of_each(t, 1), *got = NULL;
    OK(t, cohort_sets_save(sets, f.file));
    cohort_sets_destroy(sets);
    struct bytes b = contents(t, f.file);
    unsigned char *data = b.data;
    const uint64_t bytes = b.count;
    for (uint64_t n = test_below(t, step); n < bytes; n += step) {
        write_file(t, f.file, data, n);
        for (int way = LOAD; way < WAYS; way++) {
            cohort_status status = take(t, (enum way)way, f.file, &got);
            REQUIREF(t, status == COHORT_TRUNCATED && !got, "%llu bytes: %s", (unsigned long long)n,
                     cohort_status_name(status));
        }
    }
    data = realloc(data, bytes + 8);
    REQUIRE(t, data);
    memset(data + bytes, 0, 8);
    write_file(t, f.file, data, bytes + 1);
    for (int way = LOAD; way < WAYS; way++)
        EQUAL(t, take(t, (enum way)way, f.file, &got), COHORT_CORRUPT);
    free(data);
    folder_end(t, &f);
}

/* ---- hostile files ------------------------------------------------------------------------------------- */

/* Checksums that are right over bytes that are not: refused, or a collection that is what its file says. */
static void hostile(struct test *t)
{
    struct folder f = folder_new(t);
    uint64_t refusals = 0, done = 0,
             rounds = test_scale(t, 200, t->kind == TEST_CPU ? 2000 : 60, test_size(t, 20000, 400));
    for (int wide = 0; wide < 2; wide++) {
        if (!test_drawn(t, (uint64_t)wide, test_size(t, 1, 2)))
            continue;
        cohort_sets *sets = small_of_each(t, wide), *got = NULL;
        OK(t, cohort_sets_save(sets, f.file));
        cohort_sets_destroy(sets);
        struct bytes good = contents(t, f.file), b = {malloc(good.count + 1), good.count};
        REQUIRE(t, b.data);
        for (uint64_t round = 0; round < rounds; round++, done++) {
            memcpy(b.data, good.data, good.count);
            /* half of them in the numbers and the directory */
            for (uint64_t n = 1 + test_below(t, 3); n; n--)
                b.data[80 + test_below(t, test_below(t, 2) ? 1400 : b.count - 80)] ^= 1u << test_below(t, 8);
            seal(t, f.file, &b, 3);
            cohort_status loaded = cohort_sets_load(t->context, f.file, &got);
            REQUIREF(t, loaded ? is_refusal(loaded) && !got : got != NULL, "%s: %s",
                     cohort_status_name(loaded), cohort_message(t->context));
            refusals += loaded != COHORT_OK;
            if (!loaded)
                use(t, got);
            cohort_sets_destroy(got);
            cohort_status mapped = cohort_sets_map(t->context, f.file, 0, &got);
            REQUIREF(t, mapped ? is_refusal(mapped) && loaded : got != NULL, "%s",
                     cohort_status_name(mapped));
            if (!mapped)
                use(t, got);
            cohort_sets_destroy(got);
        }
        free(good.data);
        free(b.data);
    }
    CHECKF(t, 2 * refusals > done, "only %llu of %llu were refused", (unsigned long long)refusals,
           (unsigned long long)done);
    folder_end(t, &f);
}

static void arguments(struct test *t)
{
    struct folder f = folder_new(t);
    cohort_sets *sets = small_of_each(t, 0), *got = sets;
    EQUAL(t, cohort_sets_save(NULL, f.file), COHORT_NULL);
    EQUAL(t, cohort_sets_save(sets, NULL), COHORT_NULL);
    EQUAL(t, cohort_sets_save(sets, f.path), COHORT_IO);
    OK(t, cohort_sets_save(sets, f.file));
    EQUAL(t, cohort_sets_load(NULL, f.file, &got), COHORT_NULL);
    CHECK(t, !got);
    EQUAL(t, cohort_sets_load(t->context, NULL, &got), COHORT_NULL);
    EQUAL(t, cohort_sets_load(t->context, f.file, NULL), COHORT_NULL);
    EQUAL(t, cohort_sets_map(t->context, NULL, 0, &got), COHORT_NULL);
    EQUAL(t, cohort_sets_map(t->context, f.file, 2, &got), COHORT_RANGE);
    CHECK(t, strstr(cohort_message(t->context), "validate is 2"));
    EQUAL(t, cohort_sets_load(t->context, f.other, &got), COHORT_IO);
    EQUAL(t, cohort_sets_map(t->context, f.other, 0, &got), COHORT_IO);
    EQUAL(t, cohort_sets_map(t->context, f.path, 0, &got), COHORT_IO);
    cohort_sets_destroy(sets);
    folder_end(t, &f);
}

const struct test_case test_cases[] = {
    {"round trips", round_trips, TEST_EACH_MEMORY},
    {"three blocks", three_blocks, 0},
    {"answers", answers, 0},
    {"altered", altered, 0},
    {"cut", cut, 0},
    {"hostile", hostile, 0},
    {"lying", lying, TEST_ON_CPU},
    {"runs that take more", runs_that_take_more, 0},
    {"one by one", one_by_one, 0},
    {"arguments", arguments, 0},
    {NULL, NULL, 0},
};
