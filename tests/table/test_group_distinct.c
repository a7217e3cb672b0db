/* test_group_distinct.c: counts of distinct values of frames that are long enough for several threads,
 * against a sort of all pairs: after each of several adds, of an object that others are merged into, and as
 * a partial result, which has a group's values in the order of their first rows. */
#include "model.h"

#include "cohort/group.h"
#include "ended.h"

#define ADDS   3
#define GROUPS 400 /* at most */

struct pair {
    uint32_t key, value;
    uint64_t row;
};

struct input {
    uint64_t n, groups, values; /* rows of a frame; keys and values there are */
    uint32_t *key, *value;      /* of all frames, one behind the other */
    uint8_t *key_valid, *value_valid;
    int skips; /* a null is no key */
};

static int compare(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_row(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int bit_of(const uint8_t *bits, uint64_t i)
{
    return bits[i / 8] >> (i & 7) & 1;
}

static void input_open(struct test *t, struct input *in)
{
    static const uint64_t groups[] = {1, 7, 60, GROUPS - 1}, values[] = {5, 300, 3000, 100000, 4000000000};
    const uint64_t most = t->kind == TEST_CPU ? 60000 : 1500;
    *in = (struct input){.n = (most / 2 + test_below(t, most / 2)) / 8 * 8,
                         .groups = groups[test_below(t, 4)],
                         .values = values[test_below(t, 5)],
                         .skips = test_below(t, 2) != 0};
    const uint64_t all = ADDS * in->n, wide = test_below(t, 2) ? 8 : 60;
    in->key = malloc(all * 4);
    in->value = malloc(all * 4);
    in->key_valid = calloc(all / 8, 1);
    in->value_valid = calloc(all / 8, 1);
    REQUIRE(t, in->key && in->value && in->key_valid && in->value_valid);
    for (uint64_t i = 0; i < all; i++) {
        in->key[i] = (uint32_t)test_below(t, in->groups);
        /* Later frames may have values below and above those of the first one. */
        in->value[i] = 1000 + (uint32_t)test_below(t, in->values) - (uint32_t)(i / in->n * 2);
        in->key_valid[i / 8] = (uint8_t)(in->key_valid[i / 8] | (test_below(t, wide) != 0) << (i & 7));
        in->value_valid[i / 8] = (uint8_t)(in->value_valid[i / 8] | (test_below(t, wide) != 0) << (i & 7));
    }
}

static void input_close(struct input *in)
{
    free(in->key);
    free(in->value);
    free(in->key_valid);
    free(in->value_valid);
}

/* Distinct pairs of rows begin .. end, null keys as GROUPS, in the order of their first rows. */
static struct pair *due_of(struct test *t, const struct input *in, uint64_t begin, uint64_t end,
                           uint64_t *count)
{
    struct pair *pair = malloc((end - begin + 1) * sizeof *pair);
    uint64_t n = 0, kept = 0;
    REQUIRE(t, pair);
    for (uint64_t i = begin; i < end; i++)
        if (bit_of(in->value_valid, i) && (bit_of(in->key_valid, i) || !in->skips))
            pair[n++] = (struct pair){bit_of(in->key_valid, i) ? in->key[i] : GROUPS, in->value[i], i};
    qsort(pair, n, sizeof *pair, compare);
    for (uint64_t i = 0; i < n; i++)
        if (!i || pair[i].key != pair[kept - 1].key || pair[i].value != pair[kept - 1].value)
            pair[kept++] = pair[i];
    qsort(pair, kept, sizeof *pair, by_row);
    *count = kept;
    return pair;
}

static cohort_frame *frame_of(struct test *t, const struct input *in, uint64_t k)
{
    const uint64_t at = k * in->n;
    const cohort_array arrays[] = {{"k", COHORT_U32, 0, in->key + at, in->key_valid + at / 8},
                                   {"v", COHORT_U32, 0, in->value + at, in->value_valid + at / 8}};
    cohort_frame *frame = NULL;
    OK(t, cohort_frame_create(t->context, in->n, 2, arrays, &frame));
    return frame;
}

static cohort_group *group_of(struct test *t, const struct input *in)
{
    static const char *const key = "k";
    static const cohort_aggregate aggregate = {COHORT_AGGREGATE_NUNIQUE, 0, "v", NULL};
    const uint8_t nulls_equal = !in->skips;
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_group *g = NULL;
    o.keys = o.aggregates = 1;
    o.key = &key;
    o.nulls_equal = &nulls_equal;
    o.aggregate = &aggregate;
    OK(t, cohort_group_create(t->context, &o, &g));
    return g;
}

static void add(struct test *t, cohort_group *g, const struct input *in, uint64_t k)
{
    cohort_frame *frame = frame_of(t, in, k);
    OK(t, cohort_group_add(g, frame));
    cohort_frame_release(frame);
}

/* A result's key of each row. */
static uint32_t key_at(const struct model *m, uint64_t row)
{
    uint32_t key = GROUPS;
    if (m->column[0].cell[row].bytes)
        memcpy(&key, m->column[0].cell[row].bytes, 4);
    return key;
}

/* As the object has it, of rows 0 .. end. */
static void check(struct test *t, cohort_group *g, const struct input *in, uint64_t end)
{
    uint64_t count, counts[GROUPS + 1] = {0}, told, taken[GROUPS + 1], place[GROUPS + 1];
    struct pair *due = due_of(t, in, 0, end, &count);
    cohort_frame *out = NULL, *partial = NULL;
    struct model m, p;
    for (uint64_t i = 0; i < count; i++)
        counts[due[i].key]++;
    OK(t, cohort_group_finish(g, 0, &out));
    OK(t, cohort_group_partial(g, &partial));
    model_of_frame(t, &m, out);
    model_of_frame(t, &p, partial);
    EQUAL(t, p.rows, m.rows);
    for (uint64_t row = 0; row < m.rows; row++) {
        const uint32_t key = key_at(&m, row);
        memcpy(&told, m.column[1].cell[row].bytes, 8);
        REQUIREF(t, told == counts[key], "group %u: %llu of %llu distinct values", key,
                 (unsigned long long)told, (unsigned long long)counts[key]);
        REQUIRE(t, key_at(&p, row) == key && p.column[1].cell[row].length == 4 * told);
        taken[key] = 0;
        place[key] = row;
    }
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t key = due[i].key;
        uint32_t value;
        memcpy(&value, (const char *)p.column[1].cell[place[key]].bytes + 4 * taken[key]++, 4);
        REQUIREF(t, value == due[i].value, "group %u: value %u, not %u", key, value, due[i].value);
    }
    model_close(&m);
    model_close(&p);
    cohort_frame_release(partial);
    cohort_frame_release(out);
    free(due);
}

/* Into one that has the first frame, or nothing, goes one that has the others. */
static void merged(struct test *t, const struct input *in)
{
    const uint64_t own = test_below(t, 2);
    cohort_group *g = group_of(t, in), *other = group_of(t, in);
    for (uint64_t k = 0; k < ADDS; k++)
        add(t, k < own ? g : other, in, k);
    OK(t, cohort_group_merge(g, other));
    check(t, g, in, ADDS * in->n);
    check(t, own ? g : other, in, ADDS * in->n);
    cohort_group_destroy(other);
    cohort_group_destroy(g);
}

static void distinct(struct test *t)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    for (uint64_t round = 0; round < test_scale(t, 12, 60, 200); round++) {
        cohort_context_options options = test_context_options(t);
        struct input in;
        options.threads = threads[test_below(t, 4)];
        OK(t, cohort_context_create(&options, &t->context));
        input_open(t, &in);
        cohort_group *g = group_of(t, &in);
        for (uint64_t k = 0; k < ADDS; k++) {
            add(t, g, &in, k);
            if (test_below(t, 2) || k + 1 == ADDS)
                check(t, g, &in, (k + 1) * in.n);
        }
        cohort_group_destroy(g);
        merged(t, &in);
        input_close(&in);
        cohort_context_destroy(t->context);
        t->context = NULL;
    }
}

/* ---- adds that end in the middle ----------------------------------------------------------------------- */

struct world {
    struct test *t;
    struct ending ending;
    struct input in;
};

/* Each add that is ended is done again; what it has left changes nothing. */
static cohort_status add_once(void *world)
{
    struct world *w = world;
    cohort_group *g = group_of(w->t, &w->in);
    cohort_status ended = COHORT_OK;
    for (uint64_t k = 0; k < ADDS; k++) {
        cohort_frame *frame = frame_of(w->t, &w->in, k);
        const cohort_status s = cohort_group_add(g, frame);
        const uint64_t stop = ending_pause(&w->ending);
        if (s) {
            ended = s;
            if (k)
                check(w->t, g, &w->in, k * w->in.n);
            OK(w->t, cohort_group_add(g, frame));
        }
        check(w->t, g, &w->in, (k + 1) * w->in.n);
        w->ending.stop = stop;
        cohort_frame_release(frame);
    }
    cohort_group_destroy(g);
    return ended;
}

static void ended(struct test *t)
{
    for (uint64_t threads = 1; threads < 4; threads += 2) {
        struct world w = {.t = t};
        ending_open(&w.ending, t, threads);
        t->context = w.ending.context;
        input_open(t, &w.in);
        end_everywhere(&w.ending, &w, add_once);
        input_close(&w.in);
        cohort_context_destroy(t->context);
        t->context = NULL;
    }
}

/* Memory ends at some place of an add: the object goes on from where it was. */
static void no_memory(struct test *t)
{
    for (uint64_t limit = 1u << 16; limit < 1u << 25; limit += limit / 5) {
        struct ledger ledger = {0};
        cohort_context_options options = test_context_options(t);
        struct input in;
        options.alloc = test_allocator(t, &ledger);
        options.threads = 1 + (unsigned)test_below(t, 5);
        OK(t, cohort_context_create(&options, &t->context));
        input_open(t, &in);
        cohort_group *g = group_of(t, &in);
        for (uint64_t k = 0; k < ADDS; k++) {
            cohort_frame *frame = frame_of(t, &in, k);
            ledger.limit = limit;
            const cohort_status s = cohort_group_add(g, frame);
            ledger.limit = 0;
            CHECK(t, !s || s == COHORT_NO_MEMORY);
            if (s && k)
                check(t, g, &in, k * in.n);
            if (s)
                OK(t, cohort_group_add(g, frame));
            check(t, g, &in, (k + 1) * in.n);
            cohort_frame_release(frame);
        }
        cohort_group_destroy(g);
        input_close(&in);
        cohort_context_destroy(t->context);
        t->context = NULL;
        test_ledger_check(t, &ledger);
    }
}

const struct test_case test_cases[] = {{"distinct", distinct, TEST_NO_CONTEXT},
                                       {"ended", ended, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {"no memory", no_memory, TEST_ON_CPU | TEST_NO_CONTEXT},
                                       {NULL, NULL, 0}};
