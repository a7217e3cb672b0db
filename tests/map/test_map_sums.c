/* test_map_sums.c: applies of which keys come again and again, which a CPU combines in tables of its
 * threads before they go to the map (src/api/map_combine.c, src/cpu/combine.c). Judged by a model: what
 * each key's value must be, and that all entries of a key have one fate. */
#include <stdlib.h>
#include <string.h>

#include "subject.h"

struct sums {
    struct test *t;
    cohort_map *map;
    uint64_t ids, *value; /* of key number i, */
    uint8_t *live;        /* if it is in the map */
};

/* How the numbers of a batch's keys are drawn; those that change do so in its middle. */
enum law {
    ONE,
    FEW_KEYS,
    HUNDRED, /* some of them have one slot in the tables of single slots */
    SOME,
    MANY,
    LAW_SKEWED,
    MANY_THEN_FEW,
    FEW_THEN_MANY,
    FEW_AMONG_ALL,
    FEW_RUNS,
    RUNS,
    LAWS
};

struct entries {
    uint64_t n, *id;
    void *keys, *operands;
    uint8_t *where, *failed;
};

static uint64_t get(const void *array, unsigned bytes, uint64_t i)
{
    return bytes == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

static void put(void *array, unsigned bytes, uint64_t i, uint64_t value)
{
    if (bytes == 4)
        ((uint32_t *)array)[i] = (uint32_t)value;
    else if (bytes == 16)
        key_words(value, (uint64_t *)array + 2 * i);
    else
        ((uint64_t *)array)[i] = value;
}

/* Numbers 0 and 1 are the keys that look like marks, 2 is 0; every sixteenth of the others shares its low
 * bits with others. */
static uint64_t key_of(const struct test *t, uint64_t id)
{
    uint64_t mask = key_bytes(t->width) == 4 ? UINT32_MAX : UINT64_MAX;
    return id < 2 ? mask - id : id == 2 ? 0 : id % 16 == 3 ? (id << 12 & mask) : id * 0x9e3779b1u & mask;
}

static uint64_t applied(cohort_op op, uint64_t old, uint64_t operand)
{
    switch (op) {
    case COHORT_OP_ADD:
        return old + operand;
    case COHORT_OP_COUNT:
        return old + 1;
    case COHORT_OP_MIN:
        return operand < old ? operand : old;
    case COHORT_OP_MAX:
        return operand > old ? operand : old;
    case COHORT_OP_OR:
        return old | operand;
    case COHORT_OP_AND:
        return old & operand;
    default:
        return operand;
    }
}

static uint64_t id_of(struct test *t, enum law law, uint64_t i, uint64_t n, uint64_t ids)
{
    switch (law) {
    case ONE:
        return 5 % ids;
    case FEW_KEYS:
        return test_below(t, 37) % ids;
    case HUNDRED:
        return test_below(t, 110) % ids;
    case SOME:
        return test_below(t, 3000) % ids;
    case MANY:
        return test_below(t, ids);
    case LAW_SKEWED:
        return test_below(t, 1 + test_below(t, 1 + test_below(t, ids)));
    case MANY_THEN_FEW:
        return id_of(t, i < n / 2 ? MANY : FEW_KEYS, i, n, ids);
    case FEW_THEN_MANY:
        return id_of(t, i < n / 2 ? FEW_KEYS : MANY, i, n, ids);
    case FEW_RUNS: /* few keys, one to seven entries in a row of the same */
        return test_mix(i / (1 + i / 64 % 7)) % 37 % ids;
    case FEW_AMONG_ALL: /* worth combining, and more keys than any table has room for, if there are n ids */
        return i % 2 ? i % ids : id_of(t, FEW_KEYS, i, n, ids);
    default:
        return i / 9 % ids;
    }
}

/* Different numbers may have one key where it is 12 bits that are shifted: then the least stands for all. */
static uint64_t id_alone(const struct test *t, uint64_t id)
{
    uint64_t bits = key_bytes(t->width) == 4 ? 20 : 52;
    return id % 16 == 3 && id >> bits ? id & ((1ull << bits) - 1) : id;
}

static struct entries entries_new(struct test *t, enum law law, cohort_op op, uint64_t n, uint64_t ids,
                                  int where)
{
    struct entries e = {.n = n};
    const unsigned value = value_bytes(t->width);
    e.id = calloc(n, sizeof *e.id);
    e.keys = calloc(n, key_bytes(t->width));
    e.operands = calloc(n, 8);
    e.where = where ? calloc(n / 8 + 1, 1) : NULL;
    e.failed = calloc(n / 8 + 2, 1);
    REQUIRE(t, e.id && e.keys && e.operands && e.failed && (e.where || !where));
    memset(e.failed, 0xa5, n / 8 + 2);
    for (uint64_t i = 0; where && i <= n / 8; i++)
        e.where[i] = (uint8_t)(test_random(t) | test_random(t));
    uint64_t salt = test_random(t);
    for (uint64_t i = 0; i < n; i++) {
        e.id[i] = id_alone(t, id_of(t, law, i, n, ids));
        put(e.keys, key_bytes(t->width), i, key_of(t, e.id[i]));
        put(e.operands, value, i, op == COHORT_OP_EXCHANGE ? e.id[i] * salt : test_random(t));
    }
    return e;
}

static void entries_free(struct entries *e)
{
    free(e->id);
    free(e->keys);
    free(e->operands);
    free(e->where);
    free(e->failed);
}

static int bit(const uint8_t *bits, uint64_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}

/* What is in the map now, by number. */
static void look(struct sums *s, uint64_t *value, uint8_t *hit)
{
    struct test *t = s->t;
    const unsigned key = key_bytes(t->width), bytes = value_bytes(t->width);
    void *keys = calloc(s->ids, key), *values = calloc(s->ids, 8);
    cohort_batch b = COHORT_BATCH_INIT;
    REQUIRE(t, keys && values);
    for (uint64_t id = 0; id < s->ids; id++)
        put(keys, key, id, key_of(t, id_alone(t, id)));
    b.hit = hit;
    OK(t, cohort_map_find(s->map, s->ids, keys, values, NULL, &b));
    for (uint64_t id = 0; id < s->ids; id++)
        value[id] = get(values, bytes, id);
    free(keys);
    free(values);
}

/* The model does the entries whose keys are in the map now, and knows which the others are. */
static void judge(struct sums *s, const struct entries *e, cohort_op op, const cohort_counts *c)
{
    struct test *t = s->t;
    const uint64_t mask = value_bytes(t->width) == 4 ? UINT32_MAX : UINT64_MAX;
    cohort_counts due = COHORT_COUNTS_INIT;
    due.first_failed = UINT64_MAX;
    uint64_t *value = calloc(s->ids, 8), wrong = 0, bits = 0;
    uint8_t *hit = calloc(s->ids / 8 + 1, 1);
    REQUIRE(t, value && hit);
    look(s, value, hit);
    for (uint64_t i = 0; i < e->n; i++) {
        uint64_t id = e->id[i], operand = get(e->operands, value_bytes(t->width), i);
        int in = !e->where || bit(e->where, i), fails = in && !bit(hit, id);
        due.taken += (uint64_t)in;
        bits += bit(e->failed, i) != fails;
        if (fails) {
            due.first_failed = due.failed++ ? due.first_failed : i;
            wrong += s->live[id]; /* it was in before */
        } else if (in) {
            due.hits += s->live[id];
            due.added += !s->live[id];
            s->value[id] = (s->live[id]             ? applied(op, s->value[id], operand)
                            : op == COHORT_OP_COUNT ? 1
                                                    : operand) &
                           mask;
            s->live[id] = 1;
        }
    }
    for (uint64_t id = 0; id < s->ids; id++)
        wrong += id == id_alone(t, id) &&
                 (s->live[id] != bit(hit, id) || (s->live[id] && value[id] != s->value[id]));
    EQUAL(t, wrong, 0);
    EQUAL(t, bits, 0);
    EQUAL(t, e->n % 8 ? e->failed[e->n / 8] >> e->n % 8 : 0, 0);
    EQUAL(t, e->failed[(e->n + 7) / 8], 0xa5);
    EQUAL(t, c->taken, due.taken);
    EQUAL(t, c->hits, due.hits);
    EQUAL(t, c->added, due.added);
    EQUAL(t, c->failed, due.failed);
    EQUAL(t, c->first_failed, due.first_failed);
    free(value);
    free(hit);
}

/* A batch; `due`: what it answers if some entries fail. */
static void apply_where(struct sums *s, enum law law, cohort_op op, uint64_t n, uint64_t ids, int where,
                        cohort_status due)
{
    struct test *t = s->t;
    struct entries e = entries_new(t, law, op, n, ids, where);
    cohort_counts counts;
    cohort_batch b = COHORT_BATCH_INIT;
    b.where = e.where;
    b.failed = e.failed;
    b.counts = &counts;
    cohort_status got =
        cohort_map_apply(s->map, op, n, e.keys, op == COHORT_OP_COUNT ? NULL : e.operands, &b);
    CHECKF(t, got == (counts.failed ? due : COHORT_OK), "law %d, op %d: status %d, %llu failed", (int)law,
           (int)op, (int)got, (unsigned long long)counts.failed);
    judge(s, &e, op, &counts);
    entries_free(&e);
}

static void apply(struct sums *s, enum law law, cohort_op op, uint64_t n, uint64_t ids, cohort_status due)
{
    apply_where(s, law, op, n, ids, !test_below(s->t, 3), due);
}

static struct sums sums_new(struct test *t, const cohort_map_options *options, uint64_t ids)
{
    struct sums s = {.t = t, .ids = ids};
    OK(t, cohort_map_create(t->context, options, &s.map));
    s.value = calloc(ids, sizeof *s.value);
    s.live = calloc(ids, 1);
    REQUIRE(t, s.value && s.live);
    return s;
}

static void sums_free(struct sums *s)
{
    cohort_map_destroy(s->map);
    free(s->value);
    free(s->live);
}

static cohort_op an_op(struct test *t)
{
    return (cohort_op)(COHORT_OP_ADD + test_below(t, COHORT_OP_COUNT - COHORT_OP_ADD + 1));
}

/* Instead of the case's context. */
static void open_threads(struct test *t, uint64_t threads)
{
    cohort_context_options options = test_context_options(t);
    cohort_context_destroy(t->context);
    options.threads = threads;
    OK(t, cohort_context_create(&options, &t->context));
}

/* Maps that grow, from nothing and with room; all operations and laws, one after the other on one map. */
static void grows(struct test *t)
{
    const uint64_t n = test_scale(t, 50000, 150000, 400000);
    for (uint64_t threads = 1; threads <= (t->quick ? 2 : 3); threads++) {
        open_threads(t, threads);
        cohort_map_options options = subject_options(t);
        options.capacity = test_below(t, 2) ? 1 : n;
        struct sums s = sums_new(t, &options, n);
        for (int law = 0; law < LAWS; law++)
            apply(&s, (enum law)law, an_op(t), n + test_below(t, 100),
                  law == LAW_SKEWED || law == FEW_AMONG_ALL || test_below(t, 2) ? n : n / 10, COHORT_OK);
        for (int op = COHORT_OP_ADD; op <= COHORT_OP_COUNT; op++)
            apply(&s, (enum law)test_below(t, LAWS), (cohort_op)op, 16384 + test_below(t, 40000), 2000,
                  COHORT_OK);
        sums_free(&s);
    }
}

/* Batches of few keys which take all entries: entries of one key in a row, and keys that share slots. */
static void few(struct test *t)
{
    cohort_map_options options = subject_options(t);
    struct sums s = sums_new(t, &options, 1000);
    for (int op = COHORT_OP_ADD; op <= COHORT_OP_COUNT; op++)
        for (int hundred = 0; hundred < 2; hundred++)
            apply_where(&s, hundred ? HUNDRED : FEW_RUNS, (cohort_op)op, 30000 + test_below(t, 5), 1000, 0,
                        COHORT_OK);
    sums_free(&s);
}

/* Fixed maps with room for part of the keys: of those that find none every entry fails, combined or not. */
static void full(struct test *t)
{
    const int alone = t->width == COHORT_WIDTH_128_64; /* entries are not combined: each looks for room */
    const uint64_t n = test_scale(t, 17000, 100000, 200000) / (alone ? 10 : 1);
    for (uint64_t threads = 1; threads <= 2; threads++)
        for (int law = FEW_KEYS; law < LAWS; law += t->quick ? 3 : 1) {
            if (!test_drawn(t, (uint64_t)law / 3 + threads, 2))
                continue;
            open_threads(t, threads);
            cohort_map_options options = subject_options(t);
            options.capacity = law == FEW_KEYS || law == SOME ? 20 : 200;
            options.fixed = 1;
            options.max_load = t->layout == COHORT_LAYOUT_LINES ? 0 : 1;
            struct sums s = sums_new(t, &options, 8000);
            apply(&s, SOME, an_op(t), 400, 8000, COHORT_FULL);
            apply(&s, (enum law)law, an_op(t), n, 8000, COHORT_FULL);
            apply(&s, (enum law)law, an_op(t), n, 4000, COHORT_FULL);
            sums_free(&s);
        }
}

/* Memory that ends while the map grows: entries are named as in any batch, and those of one key all or
 * none. */
static void no_memory(struct test *t)
{
    const uint64_t n = test_scale(t, 20000, 100000, 200000);
    for (int i = 0; i < 12; i++) {
        cohort_map_options options = subject_options(t);
        struct sums s = sums_new(t, &options, n);
        apply(&s, FEW_KEYS, an_op(t), 1000, n, COHORT_OK);
        t->ledger.limit = t->ledger.bytes + (64ull << 10 << test_below(t, 8));
        apply(&s, (enum law)(i % LAWS), an_op(t), n, n / 2, COHORT_NO_MEMORY);
        apply(&s, (enum law)test_below(t, LAWS), an_op(t), n, n, COHORT_NO_MEMORY);
        t->ledger.limit = 0;
        sums_free(&s);
    }
}

/* Long enough for stretches that go to the map as they are, and for tables again behind them. */
static void changes(struct test *t)
{
    const uint64_t n = 11000000, ids = 3000000;
    cohort_map_options options = subject_options(t);
    options.capacity = ids;
    struct sums s = sums_new(t, &options, ids);
    apply(&s, MANY_THEN_FEW, COHORT_OP_ADD, n, ids, COHORT_OK);
    apply(&s, FEW_THEN_MANY, COHORT_OP_COUNT, n, ids, COHORT_OK);
    sums_free(&s);
}

const struct test_case test_cases[] = {
    {"grows", grows, TEST_ON_CPU | TEST_EACH_WIDTH | TEST_VALUES | TEST_EACH_LAYOUT},
    {"few", few, TEST_ON_CPU | TEST_EACH_WIDTH | TEST_VALUES | TEST_EACH_LAYOUT},
    {"full", full, TEST_ON_CPU | TEST_EACH_WIDTH | TEST_VALUES | TEST_EACH_LAYOUT},
    {"no_memory", no_memory, TEST_ON_CPU | TEST_EACH_WIDTH | TEST_VALUES | TEST_COUNTED},
    {"changes", changes, TEST_ON_CPU | TEST_SLOW},
    {NULL, NULL, 0}};
