/* test_map_full.c: maps that run out of room: fixed ones filled to the last slot, keys that all fall into
 * one page, memory that is not to be had. What went in stays, the `failed` bitmap names the rest, and
 * nothing loops. */
#include "subject.h"

#include "cohort/device/map.h"
#include "core/seed.h"
#include "sim/sim.h"

static uint64_t slot_bytes(cohort_width width)
{
    return (const uint64_t[]){0, 4, 8, 8, 16, 16, 24}[width];
}

/* Of LINES: how many keys of one home there can be. */
static uint64_t names_of(cohort_width width)
{
    return width == COHORT_WIDTH_64_32 ? 28 : 30;
}

static cohort_map_stats stats_of(struct subject *s)
{
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    OK(s->t, cohort_map_get_stats(s->map, &stats));
    return stats;
}

static uint64_t slots_in(struct subject *s)
{
    return stats_of(s).slots;
}

/* A batch of keys first, first + 1, ..; `each` entries a key. Returns how many of them failed. */
static uint64_t put_in(struct subject *s, enum trial_kind kind, cohort_winner winner, uint64_t first,
                       uint64_t n, uint64_t each)
{
    struct column *mark = s->t->columns;
    struct trial r = subject_trial(s, kind, n);
    r.winner = winner;
    r.op = COHORT_OP_ADD;
    for (uint64_t i = 0; i < n; i++) {
        column_put(r.keys, i, first + i / each);
        if (r.ops)
            column_put(r.ops, i, COHORT_OP_ASSIGN);
    }
    if (r.values)
        fill_values(s->t, r.values);
    subject_do(s, &r);
    column_drop(s->t, mark);
    return r.full;
}

static cohort_map_options full_options(const struct test *t, uint64_t slots)
{
    cohort_map_options options = subject_options(t);
    options.fixed = 1;
    options.max_load = 1;
    options.capacity = slots;
    return options;
}

/* ---- the last slot ------------------------------------------------------------------------------------- */

/* Fills a table of one page by operations of one kind; every slot is taken, then nothing new goes in, all
 * else goes on. */
static void fill_up(struct test *t, enum trial_kind kind, cohort_winner winner, uint64_t each,
                    cohort_probe probe)
{
    cohort_map_options options = full_options(t, test_size(t, 1024, 256));
    options.probe = probe;
    struct subject s = subject_new(t, &options);
    uint64_t slots = slots_in(&s), n = slots + 77;
    EQUAL(t, put_in(&s, kind, winner, 0, slots / 2, 1), 0);
    EQUAL(t, put_in(&s, kind, winner, slots / 4, (n - slots / 4) * each, each), 77 * each);
    EQUAL(t, oracle_size(s.oracle), slots);
    EQUAL(t, put_in(&s, kind, winner, 5000000, 33, 1), 33);
    subject_step(&s, TRIAL_FIND, 0, COHORT_WINNER_ANY, n, SEQUENTIAL, n);
    subject_step(&s, TRIAL_ASSIGN, 0, winner, n, SEQUENTIAL, n);
    put_in(&s, kind, winner, key_mask(s.width) - 1, 2, 1); /* these two have slots of their own */
    EQUAL(t, oracle_size(s.oracle), slots + 2);
    put_in(&s, TRIAL_ERASE, COHORT_WINNER_ANY, 0, 50, 1);
    EQUAL(t, put_in(&s, kind, winner, 6000000, 40, 1), 40); /* erased slots wait for a rehash */
    subject_check_table(&s);
    OK(t, cohort_map_rehash(s.map, slots));
    EQUAL(t, put_in(&s, kind, winner, 6000000, 40, 1), 0);
    subject_check_table(&s);
    subject_free(&s);
}

/* Long walks cost time: less of them on the simulator, and with --quick. */
static uint64_t length(const struct test *t, uint64_t whole, uint64_t less)
{
    return t->quick ? less : test_size(t, whole, less);
}

static void to_the_last_slot(struct test *t)
{
    for (cohort_probe probe = COHORT_PROBE_DOUBLE; probe <= COHORT_PROBE_LINEAR; probe++) {
        for (cohort_winner winner = COHORT_WINNER_ANY; winner <= COHORT_WINNER_LAST; winner++) {
            if (!test_take(t, length(t, 1, 3)))
                continue;
            fill_up(t, TRIAL_INSERT, winner, 1, probe);
            fill_up(t, TRIAL_INSERT, winner, 3, probe);
            fill_up(t, TRIAL_ASSIGN, winner, 2, probe);
            fill_up(t, TRIAL_INSERT_AND_FIND, winner, 2, probe);
        }
        if (value_bytes(t->width))
            fill_up(t, TRIAL_APPLY, COHORT_WINNER_ANY, 2, probe);
    }
}

/* Streams on a full map: what erases goes on, what puts in fails. */
static void run_on_full(struct test *t)
{
    if (!subject_runs(t))
        test_skip(t, "this device does not run streams on maps of this width");
    cohort_map_options options = full_options(t, 128);
    struct subject s = subject_new(t, &options);
    uint64_t slots = slots_in(&s);
    put_in(&s, TRIAL_RUN, COHORT_WINNER_ANY, 0, slots - 20, 1);
    for (int i = 0; i < 12; i++) /* what is erased in between leaves less and less */
        subject_step(&s, TRIAL_RUN, 0, COHORT_WINNER_ANY, 150, SEQUENTIAL, slots + 100);
    subject_check_table(&s);
    subject_free(&s);
}

/* All that the options promise to fit does fit. */
static void capacity_is_kept(struct test *t)
{
    const double loads[] = {0, 0.3, 0.9, 0.97};
    const uint64_t capacities[] = {1, 2, 7, 100, 999, 3000};
    for (int load = 0; load < 4; load++)
        for (int i = 0; i < 6; i++) {
            cohort_map_options options = full_options(t, capacities[i]);
            options.max_load = loads[load];
            struct subject s = subject_new(t, &options);
            EQUAL(t, put_in(&s, TRIAL_INSERT, COHORT_WINNER_ANY, 10, capacities[i], 1), 0);
            subject_free(&s);
        }
}

/* Failures of calls that do not wait are kept until someone asks, and told once. */
static void deferred(struct test *t)
{
    cohort_map_options options = full_options(t, 64);
    struct subject s = subject_new(t, &options);
    uint64_t slots = slots_in(&s), n = slots + 5;
    struct column *keys = column_new(t, n, key_bytes(t->width)), *hit = column_new(t, bitmap_words(n), 4);
    struct column *values = value_bytes(t->width) ? column_new(t, n, value_bytes(t->width)) : NULL;
    for (uint64_t i = 0; i < n; i++)
        column_put(keys, i, i);
    cohort_status waits = t->memory == TEST_HOST ? COHORT_FULL : COHORT_OK;
    const void *k = column_send(keys), *v = column_pointer(values);
    STATUS(t, cohort_map_insert(s.map, n, k, v, NULL), waits);
    OK(t, cohort_map_contains(s.map, n, k, column_send(hit), NULL));
    STATUS(t, cohort_map_insert(s.map, n, k, v, NULL), waits);
    if (t->memory == TEST_DEVICE)
        FAILS(t, t->context, cohort_wait(t->context), COHORT_FULL, "full", NULL);
    OK(t, cohort_wait(t->context));
    OK(t, cohort_map_insert(s.map, 0, k, v, NULL));
    OK(t, cohort_wait(t->context));
    column_fetch(hit);
    uint64_t in = 0;
    for (uint64_t i = 0; i < n; i++)
        in += (uint64_t)bitmap_get(hit, i);
    if (t->layout) /* which may refuse a key before the last slot is taken */
        CHECKF(t, in <= slots && in >= slots / 2, "%llu keys in %llu slots", (unsigned long long)in,
               (unsigned long long)slots);
    else
        EQUAL(t, in, slots);
    subject_free(&s);
}

/* ---- what goes in vain --------------------------------------------------------------------------------- */

/* Sectors that the simulated GPU touches a key, of n keys from `first` on which are not there and are looked
 * for, or put in,of which `due` are refused. */
static double sectors(struct subject *s, enum trial_kind kind, uint64_t first, uint64_t n, uint64_t due)
{
    const uint64_t before = sim_sectors();
    if (kind == TRIAL_INSERT)
        EQUAL(s->t, put_in(s, kind, COHORT_WINNER_ANY, first, n, 1), due);
    else {
        struct column *mark = s->t->columns;
        struct trial r = subject_trial(s, kind, n);
        for (uint64_t i = 0; i < n; i++)
            column_put(r.keys, i, first + i);
        subject_do(s, &r);
        column_drop(s->t, mark);
    }
    return (double)(sim_sectors() - before) / (double)n;
}

/* Up to the last slot keys that are not there cost at most ten times the sectors of load 0.8, and so do
 * refused inserts. */
static void cheap_in_vain(struct test *t)
{
    const double loads[] = {0.8, 0.97, 0.99, 1};
    const uint64_t absent = 5000000, n = 2000;
    cohort_map_options options = full_options(t, length(t, 12000, 4096));
    struct subject s = subject_new(t, &options);
    const uint64_t slots = slots_in(&s);
    uint64_t in = 0;
    double usual = 0;
    for (int i = 0; i < 4; i++) {
        const uint64_t more = (uint64_t)((double)slots * loads[i]) - in;
        EQUAL(t, put_in(&s, TRIAL_INSERT, COHORT_WINNER_ANY, in, more, 1), 0);
        in += more;
        const double now = sectors(&s, TRIAL_CONTAINS, absent, n, 0);
        usual = i ? usual : now;
        CHECKF(t, now <= 10 * usual, "%.1f sectors an absent key at load %.2f, %.1f at 0.80", now, loads[i],
               usual);
    }
    put_in(&s, TRIAL_INSERT, COHORT_WINNER_ANY, absent - 400, 400, 1); /* each page has refused one */
    const double refused = sectors(&s, TRIAL_INSERT, absent, n, n);
    CHECKF(t, refused <= 10 * usual, "%.1f sectors a refused insert, %.1f an absent key at load 0.80",
           refused, usual);
    subject_free(&s);
}

/* ---- keys made to fall together ------------------------------------------------------------------------ */

/* The inverse of co_hash: each step undone, from the last to the first. */
static uint64_t unhash(uint64_t h, uint64_t seed)
{
    h = h ^ h >> 31 ^ h >> 62;
    h *= UINT64_C(0x319642b2d24d8ec3);
    h = h ^ h >> 27 ^ h >> 54;
    h *= UINT64_C(0x96de1b173f119089);
    h = h ^ h >> 30 ^ h >> 60;
    return h ^ seed;
}

static uint64_t seed_of(struct subject *s)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    OK(s->t, cohort_map_get_options(s->map, &options));
    return options.seed;
}

/* Keys of 64 bits whose hashes have the same high half, so that they all start in one page; and, with
 * `together`, the same low 16 bits, so that they start in one bucket of it. */
static void fill_colliding(struct column *keys, uint64_t high, uint64_t seed, int together)
{
    for (uint64_t i = 0; i < keys->count; i++) {
        uint64_t low = together ? (i + 1) << 16 | 0x1234 : (i * UINT32_C(0x9e3779b1)) & UINT32_MAX;
        column_put(keys, i, unhash(high << 32 | low, seed));
    }
}

static void hash_is_inverted(struct test *t)
{
    for (int i = 0; i < 1000; i++) {
        uint64_t key = test_random(t), seed = test_random(t);
        EQUAL(t, unhash(co_hash(key, seed), seed), key);
        EQUAL(t, co_hash(unhash(key, seed), seed), key);
    }
}

static struct trial colliding(struct subject *s, enum trial_kind kind, uint64_t n, uint64_t high,
                              int together)
{
    struct trial r = subject_trial(s, kind, n);
    fill_colliding(r.keys, high, seed_of(s), together);
    if (r.values)
        fill_values(s->t, r.values);
    return r;
}

/* A growing map takes them all, in whatever way, in as many slots as before: another seed parts them. */
static void hostile_keys_growing(struct test *t)
{
    for (cohort_winner winner = COHORT_WINNER_ANY; winner <= COHORT_WINNER_LAST; winner++) {
        if (!test_drawn(t, winner, test_size(t, 1, 3)))
            continue;
        cohort_map_options options = subject_options(t);
        options.capacity = length(t, 16000, 5000);
        struct subject s = subject_new(t, &options);
        uint64_t n = length(t, 9000, 1200), slots = slots_in(&s), seed = seed_of(&s);
        struct trial r = colliding(&s, TRIAL_INSERT, n, UINT32_MAX, 1);
        r.winner = winner;
        subject_do(&s, &r);
        subject_check_table(&s);
        EQUAL(t, slots_in(&s), slots);
        CHECK(t, seed_of(&s) != seed || !t->layout); /* the pages in their reach have room for them */
        struct trial again = subject_trial(&s, TRIAL_FIND, n);
        memcpy(again.keys->data, r.keys->data, n * 8);
        subject_do(&s, &again);
        subject_free(&s);
    }
}

/* Of a fixed map of LINES a home takes as many as it has names, wherever it lies; other homes stay open. */
static void hostile_keys_one_home(struct test *t)
{
    const uint64_t n = 500, names = names_of(t->width);
    for (int last = 0; last <= 1; last++) {
        cohort_map_options options = full_options(t, 3000);
        struct subject s = subject_new(t, &options);
        s.blind = 1;
        struct trial r = colliding(&s, TRIAL_INSERT, n, last ? UINT32_MAX : UINT32_MAX / 2, 0);
        subject_do(&s, &r);
        EQUAL(t, r.full, n - names);
        r = colliding(&s, TRIAL_INSERT, 20, UINT32_MAX / 4, 0);
        subject_do(&s, &r);
        EQUAL(t, r.full, 0);
        subject_observe(&s);
        subject_check_table(&s);
        subject_free(&s);
    }
}

/* Of a fixed one they fill the pages in their reach, over the last page's end to the first; other pages
 * stay open. */
static void hostile_keys_fixed(struct test *t)
{
    if (t->layout) {
        hostile_keys_one_home(t);
        return;
    }
    cohort_map_options options = full_options(t, 1);
    uint64_t page = 65536 / slot_bytes(t->width),
             pages = t->width == COHORT_WIDTH_64_64 ? length(t, 11, 2) : 2;
    uint64_t reach = pages < 8 ? pages : 8;
    options.capacity = pages * page;
    struct subject s = subject_new(t, &options);
    EQUAL(t, slots_in(&s), pages * page);
    s.blind = 1;
    uint64_t spread = length(t, 0, pages * page * 95 / 100), extra = length(t, 100, 20);
    subject_fill(&s, 1, spread);
    struct trial r = colliding(&s, TRIAL_INSERT, reach * page - spread + extra, UINT32_MAX, 0);
    subject_do(&s, &r);
    EQUAL(t, r.full, extra);
    EQUAL(t, oracle_size(s.oracle), reach * page);
    if (pages > reach) {
        r = colliding(&s, TRIAL_INSERT, 3000, UINT32_MAX / 4 * 3, 0);
        subject_do(&s, &r);
        EQUAL(t, r.full, 0);
    }
    subject_observe(&s);
    subject_check_table(&s);
    subject_free(&s);
}

/* A growing map well filled, then hostile keys until the eight pages in their reach are full while others
 * are not: those left over are tried again in a new table. Some keys come twice and some are in already;
 * their hits are told all the same. */
static void overflow(struct test *t, enum trial_kind kind, cohort_winner winner)
{
    uint64_t page = 65536 / slot_bytes(t->width), n = 8 * page * 27 / 128;
    cohort_map_options options = subject_options(t);
    options.capacity = 10 * page;
    options.max_load = 1;
    struct subject s = subject_new(t, &options);
    s.blind = 1;
    subject_fill(&s, 1, 8 * page);
    struct trial r = colliding(&s, TRIAL_INSERT, 100, UINT32_MAX, 0);
    subject_do(&s, &r);
    uint64_t slots = slots_in(&s), seed = seed_of(&s);
    r = colliding(&s, kind, n + n / 8, UINT32_MAX, 0);
    r.winner = winner;
    for (uint64_t i = 0; i < n / 8; i++)
        column_put(r.keys, n + i, column_get(r.keys, i * 8));
    subject_do(&s, &r);
    EQUAL(t, r.full, 0);
    CHECK(t, slots_in(&s) > slots || seed_of(&s) != seed);
    subject_observe(&s);
    subject_check_table(&s);
    subject_free(&s);
    column_drop(t, NULL);
}

static void hostile_keys_overflow(struct test *t)
{
    const enum trial_kind kinds[] = {TRIAL_INSERT, TRIAL_ASSIGN, TRIAL_INSERT_AND_FIND};
    uint64_t one = test_below(t, 9);
    overflow(t, TRIAL_INSERT, COHORT_WINNER_ANY);
    for (uint64_t i = 0; i < 9; i++)
        if (t->ci || (i == one && !t->quick))
            overflow(t, kinds[i / 3], (cohort_winner)(i % 3));
}

/* ---- keys of one home, whatever the seed --------------------------------------------------------------- */

/* The home of a key's number in a table of LINES. */
static uint64_t home_of(const struct test *t, uint64_t number, uint64_t seed, uint64_t homes)
{
    uint64_t words[2];
    key_words(number, words);
    const uint64_t hash =
        key_bytes(t->width) == 16 ? co_hash128(co_make128(words[0], words[1]), seed) : co_hash(number, seed);
    return (hash >> 32) * homes >> 32;
}

/* Keys of one home by both seeds; or, not `together`, of others by the second one. From a number on. */
static void fill_for_both(struct test *t, struct column *keys, const uint64_t seeds[2], uint64_t homes,
                          int together)
{
    const uint64_t home[2] = {homes / 3, homes / 2};
    uint64_t number = together ? 1 : 100000000;
    for (uint64_t i = 0; i < keys->count; number++) {
        const int second = home_of(t, number, seeds[1], homes) == home[1];
        if (together ? second && home_of(t, number, seeds[0], homes) == home[0] : !second)
            column_put(keys, i++, number);
    }
}

/* Keys that have one home by the map's seed, and by the one that it draws when they are refused: the map
 * takes that one, once, and as many of them as a home has names. Then it answers COHORT_FULL, and has as many
 * slots as before. Nothing is lost, other keys go in, and the same again ends in the same way. */
static void refused_for_good(struct test *t)
{
    const uint64_t seeds[2] = {1 + test_below(t, 1000000), test_random(t) >> 1}, n = 60,
                   names = names_of(t->width);
    cohort_map_options options = subject_options(t);
    options.layout = t->layout = COHORT_LAYOUT_LINES;
    options.capacity = 200;
    options.seed = seeds[0];
    struct subject s = subject_new(t, &options);
    const uint64_t slots = slots_in(&s), homes = stats_of(&s).pages;
    struct trial r = subject_trial(&s, TRIAL_INSERT, n), others = subject_trial(&s, TRIAL_INSERT, 40);
    fill_for_both(t, r.keys, seeds, homes, 1);
    fill_for_both(t, others.keys, seeds, homes, 0);
    if (r.values) {
        fill_values(t, r.values);
        fill_values(t, others.values);
    }
    s.refuses = 1;
    seed_draw_fix(&seeds[1]);
    for (int again = 0; again < 2; again++) {
        subject_do(&s, &r);
        EQUAL(t, r.full, n - names);
        EQUAL(t, slots_in(&s), slots);
        EQUAL(t, seed_of(&s), seeds[1]);
        subject_check_table(&s);
    }
    FAILS(t, t->context, cohort_map_insert(s.map, n, column_send(r.keys), column_pointer(r.values), NULL),
          COHORT_FULL, "too many keys have one home", "half empty");
    seed_draw_fix(NULL);
    s.refuses = 0;
    subject_do(&s, &others);
    EQUAL(t, slots_in(&s), slots);
    EQUAL(t, oracle_size(s.oracle), names + others.n);
    subject_check_table(&s);
    subject_free(&s);
}

/* ---- no memory ----------------------------------------------------------------------------------------- */

/* Room for workspace, not for a larger table. */
static void forbid_growth(struct test *t, struct subject *s)
{
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    OK(t, cohort_map_get_stats(s->map, &stats));
    OK(t, cohort_trim(t->context));
    t->ledger.limit = t->ledger.bytes + stats.table_bytes * 3 / 4;
}

static void grow_without_memory(struct test *t, enum trial_kind kind, cohort_winner winner)
{
    cohort_map_options options = subject_options(t);
    const uint64_t page = 65536 / slot_bytes(t->width), lanes = t->kind == TEST_SIM ? 4 : 1;
    options.capacity = (t->layout ? page / lanes : page) / 5 * 4;
    struct subject s = subject_new(t, &options);
    uint64_t slots = slots_in(&s), n = slots + 100;
    s.blind = s.scarce = 1;
    EQUAL(t, put_in(&s, kind, winner, 0, slots / 4, 1), 0);
    struct trial r = subject_trial(&s, kind, n);
    r.winner = winner;
    r.op = COHORT_OP_ADD;
    for (uint64_t i = 0; i < n; i++) {
        column_put(r.keys, i, i * 5 / 4);
        if (r.ops)
            column_put(r.ops, i, COHORT_OP_ASSIGN);
    }
    if (r.values)
        fill_values(t, r.values);
    forbid_growth(t, &s);
    subject_do(&s, &r);
    t->ledger.limit = 0;
    CHECK(t, r.full >= 100);
    CHECK(t, oracle_size(s.oracle) > slots * 9 / 10);
    subject_observe(&s);
    subject_check_table(&s);
    s.scarce = 0;
    subject_do(&s, &r); /* now there is */
    EQUAL(t, r.full, 0);
    subject_observe(&s);
    subject_free(&s);
    column_drop(t, NULL);
}

static void no_memory_to_grow(struct test *t)
{
    const enum trial_kind kinds[] = {TRIAL_INSERT, TRIAL_ASSIGN, TRIAL_INSERT_AND_FIND, TRIAL_RUN,
                                     TRIAL_APPLY};
    uint64_t count = value_bytes(t->width) ? 5 : 4, only = test_below(t, count);
    if (t->kind == TEST_CUDA && t->memory == TEST_HOST)
        test_skip(t, "what streams host memory to a GPU needs more workspace than the table has slots");
    for (uint64_t i = 0; i < count; i++)
        if (length(t, 1, 0) || i == only)
            grow_without_memory(t, subject_kind(t, kinds[i]), COHORT_WINNER_ANY);
}

/* Hostile keys fill the pages in their reach while the table has room: the table that would part them gets no
 * memory. The entries left over are named, the others are in, and with memory the same call takes all. */
static void no_memory_to_part(struct test *t)
{
    if (t->kind == TEST_CUDA && t->memory == TEST_HOST)
        test_skip(t, "what streams host memory to a GPU needs more workspace than the table has slots");
    uint64_t page = 65536 / slot_bytes(t->width), n = 8 * page * 27 / 128;
    cohort_map_options options = subject_options(t);
    options.capacity = 10 * page;
    options.max_load = 1;
    struct subject s = subject_new(t, &options);
    s.blind = s.scarce = 1;
    subject_fill(&s, 1, 8 * page);
    uint64_t slots = slots_in(&s);
    struct trial r = colliding(&s, TRIAL_INSERT, n, UINT32_MAX, 0);
    forbid_growth(t, &s);
    subject_do(&s, &r);
    t->ledger.limit = 0;
    CHECKF(t, r.full > 0 && r.full < n, "%llu of %llu entries were refused", (unsigned long long)r.full,
           (unsigned long long)n);
    EQUAL(t, slots_in(&s), slots);
    subject_observe(&s);
    subject_check_table(&s);
    s.scarce = 0;
    subject_do(&s, &r);
    EQUAL(t, r.full, 0);
    subject_observe(&s);
    subject_free(&s);
}

/* Calls that need a second table, or none at all. */
static void no_memory_to_copy(struct test *t)
{
    uint64_t n = 5000;
    cohort_map_options options = subject_options(t);
    options.capacity = 4 * n;
    cohort_map *made = (cohort_map *)&options;
    t->ledger.limit = 5000;
    FAILS(t, t->context, cohort_map_create(t->context, &options, &made), COHORT_NO_MEMORY, "memory", NULL);
    CHECK(t, !made);
    t->ledger.limit = 0;
    struct subject s = subject_new(t, &options);
    subject_fill(&s, 0, n);
    forbid_growth(t, &s);
    STATUS(t, cohort_map_clone(s.map, &made), COHORT_NO_MEMORY);
    CHECK(t, !made);
    STATUS(t, cohort_map_reserve(s.map, 100 * n), COHORT_NO_MEMORY);
    STATUS(t, cohort_map_rehash(s.map, 8 * n), COHORT_NO_MEMORY);
    t->ledger.limit = 0;
    subject_observe(&s);
    subject_check_table(&s);
    subject_free(&s);
}

/* Cases without TEST_EACH_LAYOUT are about pages: every slot of a table can be taken, whatever its size; a
 * filter bounds what goes in vain; keys made to fall together fill the pages in their reach. */
#define ALL (TEST_EACH_WIDTH | TEST_EACH_MEMORY)
const struct test_case test_cases[] = {
    {"to_the_last_slot", to_the_last_slot, ALL},
    {"run_on_full", run_on_full, TEST_EACH_LAYOUT | ALL},
    {"capacity_is_kept", capacity_is_kept, ALL},
    {"deferred", deferred, TEST_EACH_LAYOUT | ALL},
    {"cheap_in_vain", cheap_in_vain, TEST_EACH_WIDTH | TEST_ON_SIM},
    {"hash_is_inverted", hash_is_inverted, 0},
    {"hostile_keys_growing", hostile_keys_growing, TEST_EACH_LAYOUT | ALL | TEST_WIDE_KEYS},
    {"hostile_keys_fixed", hostile_keys_fixed, TEST_EACH_LAYOUT | ALL | TEST_WIDE_KEYS},
    {"hostile_keys_overflow", hostile_keys_overflow, ALL | TEST_WIDE_KEYS | TEST_ON_CPU | TEST_ON_CUDA},
    {"refused_for_good", refused_for_good, ALL | TEST_OF_LINES},
    {"no_memory_to_grow", no_memory_to_grow, TEST_EACH_LAYOUT | ALL | TEST_COUNTED},
    {"no_memory_to_part", no_memory_to_part,
     ALL | TEST_WIDE_KEYS | TEST_COUNTED | TEST_ON_CPU | TEST_ON_CUDA},
    {"no_memory_to_copy", no_memory_to_copy, TEST_EACH_LAYOUT | TEST_EACH_WIDTH | TEST_COUNTED},
    {NULL, NULL, 0}};
