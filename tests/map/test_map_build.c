/* test_map_build.c: batches that are large against the table, which a GPU puts in and looks up by whole
 * pages, and growth page by page: the answers are those of any other batch, whatever a page has too many
 * of. */
#include "subject.h"

#include "cohort/device/map.h"
#include "cuda/map.h"

#define PAGE 65536ull

static uint64_t slot_bytes(cohort_width width)
{
    return (const uint64_t[]){0, 4, 8, 8, 16, 16}[width];
}

/* Enough pages for the way through pages to be taken, and more of them than a GPU works on at once. In short
 * only the widest slots have so many: the oracle's time goes with the slots. */
static uint64_t page_count(const struct test *t)
{
    if (t->kind != TEST_CUDA || t->memory != TEST_DEVICE)
        return 3;
    return t->quick && t->width != COHORT_WIDTH_64_64 ? 67 : 515;
}

/* The tuning for a GPU wants 512 pages, so that smaller tables are not slower, and batches in which keys come
 * again and again go one by one, as do lookups whose walks are short: here they go by pages too, or from so
 * many repeats in a sample on they do not. With `judged` the sample decides about lookups as ever. */
static void lower_bar(struct test *t, unsigned repeats, int judged)
{
    static struct gpu_tuning lower;
    if (t->kind == TEST_CPU)
        return;
    const struct gpu *g = gpu_of(t->context);
    lower = *gpu_tuning_for(g->driver, g->architecture);
    if (t->kind == TEST_CUDA)
        lower.build_pages = 64;
    lower.build_repeats = repeats;
    if (!judged)
        lower.seek_dear[0] = lower.seek_dear[1] = lower.seek_found = 0;
    gpu_of(t->context)->tuning = &lower;
}

static cohort_map_options options_for(struct test *t, uint64_t pages, double load)
{
    lower_bar(t, ~0u, 0);
    cohort_map_options options = subject_options(t);
    options.fixed = 1;
    options.max_load = load;
    options.capacity = (uint64_t)((double)(pages * PAGE / slot_bytes(t->width)) * load);
    return options;
}

/* A batch that asks nothing of single entries but which of them failed, and that only where `failed` says
 * so. */
static struct trial plain_trial(struct subject *s, enum trial_kind kind, uint64_t n, int failed)
{
    struct trial r = subject_trial(s, kind, n);
    r.hit = NULL;
    r.results = NULL;
    r.failed = failed ? r.failed : NULL;
    r.where = NULL;
    return r;
}

static uint64_t put(struct subject *s, enum trial_kind kind, uint64_t n, enum pattern pattern, uint64_t range,
                    int failed)
{
    struct column *mark = s->t->columns;
    struct trial r = plain_trial(s, kind, n, failed);
    fill_keys(s->t, r.keys, pattern, range);
    for (uint64_t i = 0; i < 2 && n > 2; i++) /* the two keys with slots of their own */
        column_put(r.keys, test_below(s->t, n), key_mask(s->width) - i);
    if (r.values)
        fill_values(s->t, r.values);
    subject_do(s, &r);
    column_drop(s->t, mark);
    return r.full;
}

/* The first key some times, then first + 1, .. */
static void put_range(struct subject *s, uint64_t first, uint64_t n, uint64_t times)
{
    struct column *mark = s->t->columns;
    struct trial r = plain_trial(s, TRIAL_INSERT, times + n, 1);
    for (uint64_t i = 0; i < times + n; i++)
        column_put(r.keys, i, first + (i < times ? 0 : i - times));
    if (r.values)
        fill_values(s->t, r.values);
    subject_do(s, &r);
    column_drop(s->t, mark);
}

/* first, first + 1, .. */
static void erase_range(struct subject *s, uint64_t first, uint64_t n)
{
    struct column *mark = s->t->columns;
    struct trial r = plain_trial(s, TRIAL_ERASE, n, 0);
    for (uint64_t i = 0; i < n; i++)
        column_put(r.keys, i, first + i);
    subject_do(s, &r);
    column_drop(s->t, mark);
}

/* A copy takes the map's place. */
static void become_copy(struct subject *s)
{
    cohort_map *copy = NULL;
    OK(s->t, cohort_map_clone(s->map, &copy));
    cohort_map_destroy(s->map);
    s->map = copy;
}

/* On an empty table; then on a table with pairs and erased slots, insert and assign, the first of them on a
 * copy; after clear; after a view was given. */
static void batches(struct test *t)
{
    cohort_map_options options = options_for(t, page_count(t), 0.7);
    struct subject s = subject_new(t, &options);
    struct cohort_map_view view;
    uint64_t n = options.capacity;
    put(&s, TRIAL_INSERT, n / 2 + 77, RANDOM, n / 2, 1);
    become_copy(&s);
    put(&s, TRIAL_ASSIGN, n / 2 + 1, RANDOM, n / 2, 0);
    subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n / 8, RANDOM, n / 2);
    put(&s, TRIAL_INSERT, n / 2, RANDOM, n / 2, 1);
    subject_check_table(&s);
    OK(t, cohort_map_clear(s.map));
    oracle_clear(s.oracle);
    put(&s, TRIAL_ASSIGN, n - 2, SEQUENTIAL, n, 0);
    OK(t, cohort_map_clear(s.map));
    oracle_clear(s.oracle);
    OK(t, cohort_map_get_view(s.map, &view));
    put(&s, TRIAL_INSERT, n / 2 + 3, SEQUENTIAL, n, 1);
    subject_check_table(&s);
    subject_free(&s);
}

/* Keys that many entries have: more than a page takes. */
static void hot_keys(struct test *t)
{
    cohort_map_options options = options_for(t, page_count(t), 0.8);
    struct subject s = subject_new(t, &options);
    uint64_t n = page_count(t) * PAGE / slot_bytes(t->width) * 2;
    s.blind = 1;
    /* no more than a page's slots, and less than half of them find room at home */
    put_range(&s, 0, n / 6, n / page_count(t) / 16 * 5);
    put(&s, TRIAL_INSERT, n, EQUAL_KEYS, 1, 1);
    put(&s, TRIAL_INSERT, n, SKEWED, n / 4, 0);
    put(&s, TRIAL_ASSIGN, n, FEW, 100, 0);
    subject_observe(&s);
    subject_check_table(&s);
    subject_free(&s);
}

/* The same where a sample sends them one by one: on an empty table, on one with pairs, and until it is nearly
 * full. */
static void skewed(struct test *t)
{
    cohort_map_options options = options_for(t, page_count(t), 1);
    struct subject s = subject_new(t, &options);
    uint64_t slots = page_count(t) * PAGE / slot_bytes(t->width), n = slots / 2;
    lower_bar(t, 40, 0);
    put(&s, TRIAL_INSERT, n, SKEWED, n / 4, 1);
    subject_check_table(&s);
    put(&s, TRIAL_ASSIGN, n, FEW, 100, 0);
    put(&s, TRIAL_INSERT, n, SKEWED, n, 1);
    subject_observe(&s);
    OK(t, cohort_map_clear(s.map));
    oracle_clear(s.oracle);
    put(&s, TRIAL_ASSIGN, n, EQUAL_KEYS, 1, 0);
    put_range(&s, 0, slots - slots / 16, slots / 8);
    subject_check_table(&s);
    subject_free(&s);
}

/* Load 1 and beyond: pages overflow into the next, and entries that find no slot are named by their own
 * index. */
static void overflow(struct test *t)
{
    cohort_map_options options = options_for(t, page_count(t), 1);
    struct subject s = subject_new(t, &options);
    uint64_t slots = page_count(t) * PAGE / slot_bytes(t->width), n = slots / 2,
             left = test_size(t, slots / 64, 40);
    put_range(&s, 0, slots - left, 0);
    struct trial r = plain_trial(&s, TRIAL_INSERT, n, 1);
    for (uint64_t i = 0; i < n; i++) /* a few new ones among many that are in */
        column_put(r.keys, i, i < 2 * left ? slots + i : i);
    if (r.values)
        fill_values(t, r.values);
    subject_do(&s, &r);
    /* A key looks in eight pages: in larger tables the last free slots may be out of reach of the keys that
     * are left over. */
    CHECKF(t, page_count(t) > 8 ? r.full >= left : r.full == left, "%llu failed, %llu had to",
           (unsigned long long)r.full, (unsigned long long)left);
    subject_check_failed(&s, &r);
    subject_check_table(&s);
    subject_free(&s);
}

/* Small batches into a table that is nearly full: to its last slots, over erased ones, and with a view
 * given. */
static void crowded(struct test *t)
{
    cohort_map_options options = options_for(t, page_count(t), 1);
    struct subject s = subject_new(t, &options);
    struct cohort_map_view view;
    uint64_t slots = page_count(t) * PAGE / slot_bytes(t->width), n = slots / 32, at = slots - slots / 8;
    put_range(&s, 0, at, 0);
    for (; at + 2 * n < slots; at += n)
        put_range(&s, at - n / 3, n + n / 3, 0); /* some are in already */
    subject_check_table(&s);
    subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n, SEQUENTIAL, slots);
    put_range(&s, slots + n, n / 2 + 1, 0);
    OK(t, cohort_map_get_view(s.map, &view));
    put(&s, TRIAL_ASSIGN, n, RANDOM, at, 0);
    subject_check_table(&s);
    subject_free(&s);
}

/* More keys of the first page than it has slots, from 0 on: some, mostly the last ones, lie in the next one.
 * The key behind them. */
static uint64_t overfill_page(struct subject *s)
{
    struct cohort_map_view view;
    struct column *mark = s->t->columns;
    struct trial r = plain_trial(s, TRIAL_INSERT, PAGE / slot_bytes(s->width) + 40, 1);
    OK(s->t, cohort_map_get_view(s->map, &view));
    uint64_t key = 0;
    for (uint64_t i = 0; i < r.n; key++)
        if ((co_hash(key, view.seed) >> 32) * view.pages >> 32 == 0)
            column_put(r.keys, i++, key);
    if (r.values)
        fill_values(s->t, r.values);
    subject_do(s, &r);
    column_drop(s->t, mark);
    return key;
}

/* n keys from `first` on, some of which are there: with a fallback, with what was in the results left there,
 * with no results. */
static void look_up(struct subject *s, uint64_t n, enum pattern pattern, uint64_t first, uint64_t range)
{
    struct column *mark = s->t->columns;
    for (int way = 0; way < 3; way++) {
        struct trial r = subject_trial(s, way == 2 ? TRIAL_CONTAINS : TRIAL_FIND, n);
        fill_keys(s->t, r.keys, pattern, range);
        for (uint64_t i = 0; i < n && pattern == SEQUENTIAL; i++)
            column_put(r.keys, i, first + i);
        for (uint64_t i = 0; i < 2 && n > 2; i++) /* the two keys with slots of their own */
            column_put(r.keys, test_below(s->t, n), key_mask(s->width) - i);
        r.has_fallback = way == 1;
        r.fallback = test_random(s->t);
        subject_do(s, &r);
        column_drop(s->t, mark);
    }
}

/* Values that take the place of their keys: random ones below `range`, or all of them `one`, which is
 * there. */
static void look_up_in_place(struct subject *s, uint64_t n, uint64_t range, uint64_t one)
{
    struct test *t = s->t;
    struct column *mark = t->columns, *keys = column_new(t, n, key_bytes(s->width));
    struct trial r = subject_trial(s, TRIAL_FIND, n);
    const uint64_t fallback = test_random(t);
    fill_keys(t, r.keys, RANDOM, range);
    for (uint64_t i = 0; i < n && one; i++)
        column_put(r.keys, i, one);
    memcpy(keys->data, r.keys->data, n * keys->width);
    void *both = column_send(keys);
    OK(t, cohort_map_find(s->map, n, both, both, &fallback, NULL));
    OK(t, cohort_wait(t->context));
    column_fetch(keys);
    r.has_fallback = 1;
    r.fallback = fallback;
    subject_do(s, &r);
    CHECKF(t, !memcmp(keys->data, r.results->data, n * keys->width), "values in place of keys differ");
    column_drop(t, mark);
}

/* Lookups of keys that are there, absent, both, and of one key alone, in a table that is nearly full and has
 * erased slots: walks lead out of a page. Then in one that is empty. */
static void lookups(struct test *t)
{
    const uint64_t pages = t->kind == TEST_CUDA && t->memory == TEST_DEVICE ? 67 : 3;
    cohort_map_options options = options_for(t, pages, 1);
    struct subject s = subject_new(t, &options);
    uint64_t slots = pages * PAGE / slot_bytes(t->width), n = slots / 4;
    s.blind = 1;
    const uint64_t end = overfill_page(&s);
    look_up(&s, n + 7, SEQUENTIAL, end - n, 1);
    put_range(&s, 0, slots - slots / 32, 0);
    erase_range(&s, slots / 3, n);
    look_up(&s, n + 7, SEQUENTIAL, end - n, 1);
    look_up(&s, n, SEQUENTIAL, slots, 1);
    look_up(&s, n + 1, SEQUENTIAL, slots / 2, 1);
    look_up(&s, slots - slots / 3, RANDOM, 0, slots * 2);
    look_up(&s, n + 31, SKEWED, 0, n);
    look_up(&s, n, EQUAL_KEYS, 0, 1);
    look_up(&s, n, RANDOM, 0, slots);
    OK(t, cohort_map_clear(s.map));
    oracle_clear(s.oracle);
    look_up(&s, n, RANDOM, 0, slots);
    subject_free(&s);
}

/* Where results lie where the keys are; of one key alone, of which its page has too many, so that all go one
 * by one in the end, and the next ones from the start. */
static void lookups_in_place(struct test *t)
{
    const uint64_t pages = t->kind == TEST_CUDA && t->memory == TEST_DEVICE ? 67 : 3;
    if (key_bytes(t->width) != value_bytes(t->width))
        test_skip(t, "its values are not as wide as its keys");
    cohort_map_options options = options_for(t, pages, 1);
    struct subject s = subject_new(t, &options);
    uint64_t slots = pages * PAGE / slot_bytes(t->width);
    s.blind = 1;
    put_range(&s, 0, slots / 4 * 3, 0);
    look_up_in_place(&s, slots / 4, slots, 0);
    look_up_in_place(&s, slots * 3 + 5, slots, slots / 2);
    look_up_in_place(&s, slots / 4, slots, 0);
    subject_free(&s);
}

/* What the last sample has advised, where there was one. */
static void check_advice(struct subject *s, int alone)
{
    struct test *t = s->t;
    struct cohort_map_view view;
    OK(t, cohort_map_get_view(s->map, &view));
    OK(t, cohort_wait(t->context));
    EQUAL(t, map_is_advised(gpu_of(t->context), &view), alone);
}

/* As the sample decides: walks that are short are not worth a page, long ones are, and a key that all ask for
 * is not. The way changes some lookups after its reason. */
static void lookups_judged(struct test *t)
{
    const uint64_t pages = t->kind == TEST_CUDA ? 67 : 3;
    t->memory = TEST_DEVICE;
    cohort_map_options options = options_for(t, pages, 1);
    struct subject s = subject_new(t, &options);
    uint64_t slots = pages * PAGE / slot_bytes(t->width), n = slots / 4, most = slots / 4 * 3;
    lower_bar(t, 2048, 1);
    s.blind = 1;
    put_range(&s, 0, most, 0);
    look_up(&s, n, SEQUENTIAL, most / 2, 1);
    check_advice(&s, 1);
    put_range(&s, most, slots - slots / 32 - most, 0);
    look_up(&s, n + 5, SEQUENTIAL, slots, 1);
    check_advice(&s, 0);
    look_up(&s, n, SEQUENTIAL, slots, 1);
    check_advice(&s, 0);
    look_up(&s, n + 64, EQUAL_KEYS, 0, 1);
    check_advice(&s, 1);
    look_up(&s, n, RANDOM, 0, slots * 3);
    subject_free(&s);
}

/* Batch after batch into a growing map, with pairs erased in between. */
static void growth(struct test *t)
{
    cohort_map_options options = options_for(t, page_count(t), 0.8);
    options.fixed = 0;
    struct subject s = subject_new(t, &options);
    uint64_t n = options.capacity;
    put(&s, TRIAL_INSERT, n - n / 16, RANDOM, n, 0);
    subject_step(&s, TRIAL_ERASE, 0, COHORT_WINNER_ANY, n / 8, RANDOM, n);
    put(&s, TRIAL_INSERT, n / 2, RANDOM, n * 4, 1);
    put(&s, TRIAL_ASSIGN, n + n / 2, RANDOM, n * 8, 1);
    subject_check_table(&s);
    OK(t, cohort_map_rehash(s.map, 0)); /* fewer pages than before, or as many */
    subject_observe(&s);
    subject_check_table(&s);
    OK(t, cohort_map_reserve(s.map, n * 5));
    subject_observe(&s);
    subject_check_table(&s);
    subject_free(&s);
}

/* More pages than a multisplit has buckets. */
static void many_pages(struct test *t)
{
    const uint64_t pages = 70001, n = pages * PAGE / 16 / 2, sample = 1 << 20;
    if (t->memory != TEST_DEVICE)
        test_skip(t, "for device memory");
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    OK(t, cohort_context_get_info(t->context, &info));
    if (info.memory_free < (16ull << 30))
        test_skip(t, "needs 16 GiB of device memory, %llu bytes are free",
                  (unsigned long long)info.memory_free);
    cohort_map_options options = options_for(t, pages, 0.8);
    uint64_t *keys = malloc(n * 8), size, at;
    void *device, *values;
    cohort_map *map;
    REQUIRE(t, keys);
    for (uint64_t i = 0; i < n; i++)
        keys[i] = test_mix(i);
    OK(t, cohort_alloc(t->context, n * 8, &device));
    OK(t, cohort_alloc(t->context, n * 8, &values));
    OK(t, cohort_copy(t->context, device, keys, n * 8));
    OK(t, cohort_map_create(t->context, &options, &map));
    OK(t, cohort_map_insert(map, n, device, device, NULL));
    OK(t, cohort_wait(t->context));
    OK(t, cohort_map_size(map, &size));
    EQUAL(t, size, n);
    OK(t, cohort_map_find(map, n, device, values, NULL, NULL));
    for (uint64_t base = 0; base + sample <= n; base += n / 7) {
        uint64_t *got = keys; /* the oracle is test_mix */
        OK(t, cohort_copy(t->context, got, (uint64_t *)values + base, sample * 8));
        for (at = 0; at < sample && got[at] == test_mix(base + at); at++)
            ;
        EQUAL(t, at, sample);
    }
    cohort_map_destroy(map);
    OK(t, cohort_free(t->context, device));
    OK(t, cohort_free(t->context, values));
    free(keys);
}

const struct test_case test_cases[] = {
    {"batches", batches, TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"hot_keys", hot_keys, TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"skewed", skewed, TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"overflow", overflow, TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"crowded", crowded, TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"lookups", lookups, TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"lookups_in_place", lookups_in_place, TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"lookups_judged", lookups_judged, TEST_ON_SIM | TEST_ON_CUDA | TEST_EACH_WIDTH},
    {"growth", growth, TEST_EACH_WIDTH | TEST_EACH_MEMORY},
    {"many_pages", many_pages, TEST_ON_CUDA | TEST_EACH_MEMORY | TEST_SLOW},
    {NULL, NULL, 0},
};
