/* test_map_threads.c: the device API (cohort/device/map.h and lines.h) in the host's threads, on a map of the
 * CPU backend: insert, find, assign, apply and erase at once on few keys. What each thread saw must add up:
 * nothing is lost, nothing is there twice, a value belongs to its key, and the history of each key has an
 * order that explains it. */
#include <pthread.h>
#include <sched.h>

#include "subject.h"

#include "cohort/device/lines.h"
#include "sim/history.h"

#define MOST_THREADS 8

/* What a thread has done, by either layout. */
struct any_tally {
    co_map_tally map;
    co_lines_tally lines;
};

/* The functions of one width and layout behind one face: values and keys of 64 bits. */
struct face {
    int (*find)(const cohort_map_view *, uint64_t key, uint64_t *value);
    int (*insert)(const cohort_map_view *, uint64_t key, uint64_t value, struct any_tally *);
    int (*assign)(const cohort_map_view *, uint64_t key, uint64_t value, struct any_tally *);
    int (*erase)(const cohort_map_view *, uint64_t key, struct any_tally *);
    int (*contains)(const cohort_map_view *, uint64_t key);
    int (*apply)(const cohort_map_view *, uint32_t op, uint64_t key, uint64_t value, uint64_t *old,
                 struct any_tally *);
};

#define TO_co_u32(key) ((co_u32)(key))
#define TO_co_u64(key) (key)
static co_u128 TO_co_u128(uint64_t key)
{
    uint64_t words[2];
    key_words(key, words);
    return co_make128(words[0], words[1]);
}

#define DEFINE_FACE(layout, width, KEY, VALUE)                                                             \
    static int layout##_find_##width(const cohort_map_view *v, uint64_t key, uint64_t *value)              \
    {                                                                                                      \
        VALUE found = 0;                                                                                   \
        int r = co_##layout##width##_find(v, TO_##KEY(key), &found);                                       \
        *value = found;                                                                                    \
        return r;                                                                                          \
    }                                                                                                      \
    static int layout##_insert_##width(const cohort_map_view *v, uint64_t key, uint64_t value,             \
                                       struct any_tally *tally)                                            \
    {                                                                                                      \
        return co_##layout##width##_insert(v, TO_##KEY(key), (VALUE)value, &tally->layout);                \
    }                                                                                                      \
    static int layout##_assign_##width(const cohort_map_view *v, uint64_t key, uint64_t value,             \
                                       struct any_tally *tally)                                            \
    {                                                                                                      \
        return co_##layout##width##_assign(v, TO_##KEY(key), (VALUE)value, &tally->layout);                \
    }                                                                                                      \
    static int layout##_erase_##width(const cohort_map_view *v, uint64_t key, struct any_tally *tally)     \
    {                                                                                                      \
        return co_##layout##width##_erase(v, TO_##KEY(key), &tally->layout);                               \
    }                                                                                                      \
    static int layout##_contains_##width(const cohort_map_view *v, uint64_t key)                           \
    {                                                                                                      \
        return co_##layout##width##_contains(v, TO_##KEY(key));                                            \
    }                                                                                                      \
    static int layout##_apply_##width(const cohort_map_view *v, uint32_t op, uint64_t key, uint64_t value, \
                                      uint64_t *old, struct any_tally *tally)                              \
    {                                                                                                      \
        VALUE before = 0;                                                                                  \
        int r = co_##layout##width##_apply(v, op, TO_##KEY(key), (VALUE)value, &before, &tally->layout);   \
        *old = before;                                                                                     \
        return r;                                                                                          \
    }

#define FACE(layout, width)                                                                              \
    {                                                                                                    \
        layout##_find_##width, layout##_insert_##width, layout##_assign_##width, layout##_erase_##width, \
            layout##_contains_##width, layout##_apply_##width                                            \
    }

DEFINE_FACE(map, 32_0, co_u32, co_u32)
DEFINE_FACE(map, 32_32, co_u32, co_u32)
DEFINE_FACE(map, 64_0, co_u64, co_u64)
DEFINE_FACE(map, 64_32, co_u64, co_u32)
DEFINE_FACE(map, 64_64, co_u64, co_u64)
DEFINE_FACE(lines, 32_0, co_u32, co_u32)
DEFINE_FACE(lines, 32_32, co_u32, co_u32)
DEFINE_FACE(lines, 64_0, co_u64, co_u32)
DEFINE_FACE(lines, 64_32, co_u64, co_u32)
DEFINE_FACE(lines, 64_64, co_u64, co_u64)
DEFINE_FACE(lines, 128_64, co_u128, co_u64)

static const struct face faces[][7] = {
    {{0}, FACE(map, 32_0), FACE(map, 32_32), FACE(map, 64_0), FACE(map, 64_32), FACE(map, 64_64), {0}},
    {{0},
     FACE(lines, 32_0),
     FACE(lines, 32_32),
     FACE(lines, 64_0),
     FACE(lines, 64_32),
     FACE(lines, 64_64),
     FACE(lines, 128_64)}};

/* ---- threads ------------------------------------------------------------------------------------------- */

struct crew {
    struct test *t;
    struct subject *s;
    const struct face *face;
    cohort_map_view view;
    uint64_t seed, rounds, keys, threads;
    void *shared;
    co_u32 ready;
};

struct member {
    struct crew *crew;
    unsigned number;
    uint64_t random;
    struct any_tally tally;
    uint64_t counts[8]; /* what the case counts */
    const char *wrong;  /* what the thread saw that cannot be */
};

static uint64_t draw(struct member *m, uint64_t n)
{
    return test_mix(m->random += UINT64_C(0x9e3779b97f4a7c15)) % n;
}

/* Key `i` of the crew's: the two marking ones among them. */
static uint64_t key_of(const struct crew *c, uint64_t i)
{
    return (i < 2 ? UINT64_MAX - i : test_mix(i)) & key_mask(c->s->width);
}

/* A value that only this key has, in its low bits what the caller wants. */
static uint64_t value_of(const struct crew *c, uint64_t key, uint64_t low)
{
    unsigned bits = value_bytes(c->s->width) == 8 ? 40 : 16;
    return ((test_mix(key ^ 5) << bits) | (low & ((UINT64_C(1) << bits) - 1))) & value_mask(c->s->width);
}

static int belongs(const struct crew *c, uint64_t key, uint64_t value)
{
    return !value_bytes(c->s->width) || value == value_of(c, key, value);
}

struct job {
    struct member *member;
    void (*work)(struct member *);
};

static void *begin(void *argument)
{
    struct job *job = argument;
    struct crew *c = job->member->crew;
    co_add32(&c->ready,
             1); /* a barrier would wake them one by one, and the first be done before the last begins */
    while (co_load32(&c->ready) < c->threads)
        sched_yield();
    job->work(job->member);
    co_map_flush(&c->view, &job->member->tally.map);
    co_lines_flush(&c->view, &job->member->tally.lines);
    return NULL;
}

/* Runs the work in all threads at once, and adds up what they have counted. */
static void run_crew(struct crew *c, void (*work)(struct member *), uint64_t sums[8])
{
    struct member members[MOST_THREADS];
    struct job jobs[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    memset(members, 0, sizeof members);
    memset(sums, 0, 8 * sizeof *sums);
    c->ready = 0;
    for (unsigned i = 0; i < c->threads; i++) {
        members[i].crew = c;
        members[i].number = i;
        members[i].random = test_random(c->t);
        jobs[i] = (struct job){&members[i], work};
        REQUIRE(c->t, !pthread_create(&threads[i], NULL, begin, &jobs[i]));
    }
    for (unsigned i = 0; i < c->threads; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < c->threads; i++) {
        for (int j = 0; j < 8; j++)
            sums[j] += members[i].counts[j];
        CHECKF(c->t, !members[i].wrong, "thread %u: %s", i, members[i].wrong);
    }
}

static struct crew crew_new(struct test *t, struct subject *s, uint64_t capacity, uint64_t keys,
                            uint64_t rounds)
{
    cohort_map_options options = subject_options(t);
    options.fixed = 1;
    options.max_load = 1;
    options.capacity = capacity;
    options.probe = subject_probe(t, test_below(t, 2) ? COHORT_PROBE_DOUBLE : COHORT_PROBE_LINEAR);
    *s = subject_new(t, &options);
    struct crew c = {.t = t, .s = s, .face = &faces[t->layout][t->width], .keys = keys, .rounds = rounds};
    c.threads = 2 + test_below(t, MOST_THREADS - 1);
    OK(t, cohort_map_get_view(s->map, &c.view));
    return c;
}

/* What the map must hold in the end, where the threads' answers do not say: any of the keys, with a value of
 * its own. */
static void expect_any(struct crew *c)
{
    for (uint64_t i = 0; i < c->keys; i++) {
        uint64_t key = key_of(c, i), low, *values = malloc(c->rounds * c->threads * sizeof *values);
        for (low = 0; low < c->rounds * c->threads; low++)
            values[low] = value_of(c, key, low);
        oracle_choices(c->s->oracle, key, low, values, 1);
        free(values);
    }
}

/* ---- one key, many who want it ------------------------------------------------------------------------- */

static void claim(struct member *m)
{
    struct crew *c = m->crew;
    for (uint64_t i = 0; i < c->keys; i++) {
        uint64_t key = key_of(c, i), found;
        int r = c->face->insert(&c->view, key, value_of(c, key, m->number), &m->tally);
        m->counts[0] += r == CO_MAP_NEW;
        if (r != CO_MAP_NEW && r != CO_MAP_HIT)
            m->wrong = "an insert neither put its key in nor found it";
        if (c->face->find(&c->view, key, &found) != CO_MAP_HIT || !belongs(c, key, found))
            m->wrong = "a key that was put in is not there, or has another's value";
    }
}

/* All threads put in the same keys: each goes in once. */
static void claims(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 5, 50, 500); round++) {
        struct subject s;
        uint64_t sums[8];
        struct crew c = crew_new(t, &s, 600, 500, 1);
        run_crew(&c, claim, sums);
        EQUAL(t, sums[0], c.keys);
        expect_any(&c);
        subject_observe(&s);
        EQUAL(t, oracle_size(s.oracle), c.keys);
        subject_check_table(&s);
        subject_free(&s);
    }
}

static void count(struct member *m)
{
    struct crew *c = m->crew;
    uint64_t old;
    for (uint64_t i = 0; i < c->rounds; i++) {
        uint32_t op = i % 2 ? CO_OP_COUNT : CO_OP_ADD;
        if (c->face->apply(&c->view, op, key_of(c, i % c->keys), 1, &old, &m->tally) == CO_MAP_FULL)
            m->wrong = "a map that is not full says so";
    }
}

static void counts(struct test *t)
{
    struct subject s;
    uint64_t sums[8];
    struct crew c = crew_new(t, &s, 64, 7, test_scale(t, 7000, 70000, 700000));
    run_crew(&c, count, sums);
    for (uint64_t i = 0; i < c.keys; i++)
        oracle_put(s.oracle, key_of(&c, i), c.rounds / c.keys * c.threads);
    subject_observe(&s);
    subject_check_table(&s);
    subject_free(&s);
}

/* ---- coming and going ---------------------------------------------------------------------------------- */

static void come_and_go(struct member *m)
{
    struct crew *c = m->crew;
    uint64_t old, live = 0;
    for (uint64_t i = 0; i < c->rounds; i++) {
        uint64_t key = key_of(c, draw(m, c->keys)), value = value_of(c, key, m->number * c->rounds + i);
        switch (draw(m, 6)) {
        case 0:
        case 1: {
            int r = c->face->insert(&c->view, key, value, &m->tally);
            m->counts[0] += r == CO_MAP_NEW;
            m->counts[2] += r == CO_MAP_FULL;
            break;
        }
        case 2:
            m->counts[0] += c->face->assign(&c->view, key, value, &m->tally) == CO_MAP_NEW;
            break;
        case 3:
            m->counts[1] += c->face->erase(&c->view, key, &m->tally) == CO_MAP_HIT;
            break;
        case 4:
            if (c->face->apply(&c->view, CO_OP_ERASE, key, 0, &old, &m->tally) == CO_MAP_HIT) {
                m->counts[1]++;
                if (!belongs(c, key, old))
                    m->wrong = "an erased key had another's value";
            }
            break;
        default:
            if (c->face->find(&c->view, key, &old) == CO_MAP_HIT && !belongs(c, key, old))
                m->wrong = "a key has another's value";
            live += (uint64_t)c->face->contains(&c->view, key);
        }
    }
    m->counts[3] = live;
}

/* Keys go in and out, each time into a new slot: the pairs left are those put in less those taken out. */
static void comes_and_goes(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 5, 40, 400); round++) {
        struct subject s;
        uint64_t sums[8], size;
        struct crew c = crew_new(t, &s, test_below(t, 2) ? 20000 : 300, 12, 4000);
        run_crew(&c, come_and_go, sums);
        OK(t, cohort_map_size(s.map, &size));
        EQUAL(t, size, sums[0] - sums[1]);
        expect_any(&c);
        subject_observe(&s);
        subject_check_table(&s);
        subject_free(&s);
    }
}

/* ---- to the last slot ---------------------------------------------------------------------------------- */

static void fill(struct member *m)
{
    struct crew *c = m->crew;
    for (uint64_t i = 2; i < c->keys; i++) {
        uint64_t key = key_of(c, 2 + (i + m->number * 37) % (c->keys - 2));
        int r = c->face->insert(&c->view, key, value_of(c, key, 0), &m->tally);
        m->counts[r == CO_MAP_NEW ? 0 : 1]++;
        /* of LINES FULL may be spurious, and another thread then puts the key in */
        if (r == CO_MAP_FULL && !c->t->layout && c->face->contains(&c->view, key))
            m->wrong = "a key is in a full map that had no slot for it";
    }
}

static void fills_up(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 5, 40, 400); round++) {
        struct subject s;
        uint64_t sums[8];
        cohort_map_stats stats = COHORT_MAP_STATS_INIT;
        struct crew c = crew_new(t, &s, 64, 0, 1);
        OK(t, cohort_map_get_stats(s.map, &stats));
        c.keys = stats.slots + 32;
        run_crew(&c, fill, sums);
        if (t->layout) /* which may refuse a key before the last slot is taken */
            CHECK(t, sums[0] > stats.slots / 2 && sums[0] <= stats.slots);
        else
            EQUAL(t, sums[0], stats.slots);
        expect_any(&c);
        subject_observe(&s);
        EQUAL(t, oracle_size(s.oracle), sums[0]);
        subject_check_table(&s);
        subject_free(&s);
    }
}

/* ---- histories ----------------------------------------------------------------------------------------- */

#define PER_THREAD 30

struct record {
    struct history_op ops[MOST_THREADS * PER_THREAD];
    co_u64 clock; /* drawn from by all, before and after each operation */
};

static void live(struct member *m)
{
    struct crew *c = m->crew;
    struct record *record = c->shared;
    int values = value_bytes(c->s->width) != 0;
    for (unsigned i = 0; i < PER_THREAD; i++) {
        struct history_op *op = &record->ops[m->number * PER_THREAD + i];
        uint64_t result = 0;
        op->key = key_of(c, draw(m, c->keys));
        op->op =
            (uint8_t)(draw(m, 3) ? draw(m, COHORT_OP_ERASE + 1) : draw(m, values ? COHORT_OP_COUNT + 1 : 4));
        op->operand = (m->number * PER_THREAD + i + 1) & value_mask(c->s->width);
        op->lane = m->number;
        op->invoke = __atomic_fetch_add(&record->clock, 1, __ATOMIC_SEQ_CST);
        int r = c->face->apply(&c->view, op->op, op->key, op->operand, &result, &m->tally);
        op->response = __atomic_fetch_add(&record->clock, 1, __ATOMIC_SEQ_CST);
        op->result = result;
        op->hit = r == CO_MAP_HIT;
        op->full = r == CO_MAP_FULL;
    }
}

/* Few operations on few keys, many times, each history with an order that explains it, up to what the map
 * holds in the end; more of them where few operations overlap. */
static void histories(struct test *t)
{
    struct record *record = malloc(sizeof *record);
    struct history_op *ops = malloc((MOST_THREADS * PER_THREAD + 8) * sizeof *ops);
    char text[400] = "";
    uint64_t overlaps = 0;
    uint64_t rounds = test_scale(t, 100, 2000, 20000);
    for (uint64_t round = 0; round < rounds || (overlaps < 500 && round < 3 * rounds); round++) {
        struct subject s;
        uint64_t sums[8];
        struct crew c = crew_new(t, &s, test_below(t, 4) ? 1000 : 1, 3 + test_below(t, 6), 1);
        c.threads = 2 + test_below(t, 2);
        memset(record, 0, sizeof *record);
        c.shared = record;
        run_crew(&c, live, sums);
        size_t n = c.threads * PER_THREAD;
        for (size_t i = 0; i < n; i++)
            overlaps += record->ops[i].response - record->ops[i].invoke > 1;
        memcpy(ops, record->ops, n * sizeof *ops);
        for (uint64_t i = 0; i < c.keys; i++) {
            struct history_op *end = &ops[n++];
            memset(end, 0, sizeof *end);
            end->key = key_of(&c, i);
            end->phase = HISTORY_END;
            end->invoke = end->response = record->clock + i;
            end->hit = c.face->find(&c.view, end->key, &end->result) == CO_MAP_HIT;
        }
        struct history_rules rules = {.value_mask = value_mask(t->width)};
        REQUIREF(t, history_check(ops, n, &rules, text, sizeof text) != HISTORY_ILLEGAL, "round %llu: %s",
                 (unsigned long long)round, text);
        subject_free(&s);
    }
    free(ops);
    free(record);
}

#define HERE (TEST_ON_CPU | TEST_EACH_WIDTH | TEST_EACH_LAYOUT)
const struct test_case test_cases[] = {{"claims", claims, HERE},
                                       {"counts", counts, HERE | TEST_VALUES},
                                       {"comes_and_goes", comes_and_goes, HERE},
                                       {"fills_up", fills_up, HERE},
                                       {"histories", histories, HERE},
                                       {NULL, NULL, 0}};
