/* test_group_resident.c: groups that stay in a GPU's memory: keys and values that are numbers, against the
 * same calls on a CPU, whose groups test_group.c judges, or against a walk over the rows. No column goes to
 * the host, and what fails changes nothing. And, anywhere, an object that is merged with itself. */
#include "groups.h"
#include "watched.h"

#define SMALL 512u /* bytes: what the host may ask for */
#define ADDS  3
#define ANY   (TEST_ON_SIM | TEST_ON_CUDA)

struct input {
    uint64_t n;
    uint32_t *a[ADDS];
    int64_t *b[ADDS];
    int32_t *v[ADDS];
    int16_t *w[ADDS];
    double *x[ADDS];
    uint8_t *valid;
    uint32_t reproducible;
    uint32_t left_out; /* aggregates, of the last ones */
};

static void *room(uint64_t bytes)
{
    void *memory = calloc(bytes + 8, 1);
    if (!memory)
        abort();
    return memory;
}

/* Floats are whole numbers, so that their sums are the same in any order; and near each other, as `w` are, so
 * that the sums of the squares of what they differ by are, too. */
static struct input input_open(struct test *t, uint64_t n, uint64_t distinct)
{
    struct input w = {.n = n, .reproducible = (uint32_t)test_below(t, 2)};
    w.valid = room(n / 8);
    for (uint64_t i = 0; i < n; i++)
        w.valid[i / 8] |= (uint8_t)((test_below(t, 9) != 0) << (i & 7));
    for (uint32_t k = 0; k < ADDS; k++) {
        w.a[k] = room(n * 4);
        w.b[k] = room(n * 8);
        w.v[k] = room(n * 4);
        w.w[k] = room(n * 2);
        w.x[k] = room(n * 8);
        for (uint64_t i = 0; i < n; i++) {
            w.a[k][i] = (uint32_t)test_below(t, distinct) << 9;
            w.b[k][i] = -(int64_t)test_below(t, 2);
            w.v[k][i] = (int32_t)test_random(t);
            w.w[k][i] = (int16_t)(test_below(t, 600) - 50);
            w.x[k][i] = (double)test_below(t, 2001) - 0x1p40;
        }
    }
    return w;
}

static void input_close(struct input *w)
{
    for (uint32_t k = 0; k < ADDS; k++) {
        free(w->a[k]);
        free(w->b[k]);
        free(w->v[k]);
        free(w->w[k]);
        free(w->x[k]);
    }
    free(w->valid);
}

static cohort_status frame_of(cohort_context *context, const struct input *w, uint32_t k, cohort_frame **out)
{
    cohort_array arrays[5] = {{"a", COHORT_U32, 0, w->a[k], w->valid},
                              {"b", COHORT_I64, 0, w->b[k], NULL},
                              {"v", COHORT_I32, 0, w->v[k], w->valid},
                              {"w", COHORT_I16, 0, w->w[k], w->valid},
                              {"x", COHORT_F64, 0, w->x[k], w->valid}};
    return cohort_frame_create(context, w->n, 5, arrays, out);
}

static cohort_status group_open(cohort_context *context, const struct input *w, cohort_group **out)
{
    static const char *const keys[] = {"a", "b"};
    static const cohort_aggregate aggregates[] = {
        {COHORT_AGGREGATE_ROWS, 0, NULL, NULL},    {COHORT_AGGREGATE_COUNT, 0, "v", NULL},
        {COHORT_AGGREGATE_SUM, 0, "v", NULL},      {COHORT_AGGREGATE_MEAN, 0, "v", NULL},
        {COHORT_AGGREGATE_MIN, 0, "v", NULL},      {COHORT_AGGREGATE_MAX, 0, "x", NULL},
        {COHORT_AGGREGATE_SUM, 0, "x", NULL},      {COHORT_AGGREGATE_MEAN, 0, "x", "x_mean"},
        {COHORT_AGGREGATE_FIRST, 0, "v", NULL},    {COHORT_AGGREGATE_LAST, 0, "x", NULL},
        {COHORT_AGGREGATE_MIN, 0, "x", "x_least"}, {COHORT_AGGREGATE_VAR, 0, "w", NULL},
        {COHORT_AGGREGATE_SD, 0, "x", NULL},       {COHORT_AGGREGATE_NUNIQUE, 0, "w", NULL},
        {COHORT_AGGREGATE_NUNIQUE, 0, "x", NULL}};
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    o.keys = 2;
    o.key = keys;
    o.aggregates = sizeof aggregates / sizeof *aggregates - w->left_out;
    o.aggregate = aggregates;
    o.reproducible = w->reproducible;
    return cohort_group_create(context, &o, out);
}

static cohort_status add(cohort_context *context, const struct input *w, uint32_t k, cohort_group *g)
{
    cohort_frame *frame = NULL;
    cohort_status s = frame_of(context, w, k, &frame);
    if (!s)
        s = cohort_group_add(g, frame);
    cohort_frame_release(frame);
    return s;
}

/* What a CPU makes of all. */
static void due_of(struct test *t, const struct input *w, struct model *due)
{
    cohort_context_options o = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context *context = NULL;
    cohort_group *g = NULL;
    cohort_frame *out = NULL;
    o.device = "cpu";
    OK(t, cohort_context_create(&o, &context));
    OK(t, group_open(context, w, &g));
    for (uint32_t k = 0; k < ADDS; k++)
        OK(t, add(context, w, k, g));
    OK(t, cohort_group_finish(g, 0, &out));
    model_of_frame(t, due, out);
    cohort_frame_release(out);
    cohort_group_destroy(g);
    cohort_context_destroy(context);
}

static void check(struct test *t, cohort_group *g, const struct model *due)
{
    cohort_frame *out = NULL;
    struct model m;
    OK(t, cohort_group_finish(g, 0, &out));
    model_of_frame(t, &m, out);
    model_same(t, &m, due);
    model_close(&m);
    cohort_frame_release(out);
}

/* Few groups, which blocks count in shared memory, and many; whole, and merged from parts. */
static void stays(struct test *t)
{
    for (uint64_t distinct = 1; distinct < 5000; distinct *= 40) {
        struct input w = input_open(t, test_size(t, 3000, 900), distinct);
        struct model due;
        cohort_group *whole = NULL, *merged = NULL, *part = NULL;
        due_of(t, &w, &due);
        OK(t, group_open(t->context, &w, &whole));
        OK(t, group_open(t->context, &w, &merged));
        for (uint32_t k = 0; k < ADDS; k++) {
            cohort_frame *frame = NULL;
            OK(t, frame_of(t->context, &w, k, &frame));
            OK(t, group_open(t->context, &w, &part));
            watched_begin(t->context, 0);
            cohort_status s = cohort_group_add(whole, frame);
            if (!s)
                s = cohort_group_add(part, frame);
            if (!s)
                s = cohort_group_merge(merged, part);
            watched_end();
            REQUIREF(t, !s, "%s", cohort_message(t->context));
            CHECKF(t, watched.most <= SMALL, "%llu bytes went to the host", (unsigned long long)watched.most);
            cohort_group_destroy(part);
            cohort_frame_release(frame);
        }
        cohort_frame *out = NULL;
        watched_begin(t->context, 0);
        cohort_status s = cohort_group_finish(whole, 0, &out);
        watched_end();
        REQUIREF(t, !s, "%s", cohort_message(t->context));
        CHECKF(t, watched.most <= SMALL, "%llu bytes went to the host", (unsigned long long)watched.most);
        cohort_frame_release(out);
        check(t, whole, &due);
        check(t, merged, &due);
        cohort_group_destroy(whole);
        cohort_group_destroy(merged);
        model_close(&due);
        input_close(&w);
    }
}

/* What a partial result has goes to an object of another context, by Arrow. */
static void send(struct test *t, cohort_context *to, cohort_group *from, cohort_group *into)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_frame *partial = NULL, *there = NULL;
    OK(t, cohort_group_partial(from, &partial));
    OK(t, cohort_frame_export(partial, &schema, &array));
    cohort_frame_release(partial);
    OK(t, cohort_frame_import(to, &schema, &array, &there));
    OK(t, cohort_group_merge_partial(into, there));
    cohort_frame_release(there);
}

/* An object on a CPU takes what one on the GPU has, or the other way round; there without distinct values,
 * which a CPU tells as plain binaries, and a GPU's frames have none. */
static void elsewhere(struct test *t)
{
    for (uint64_t round = 0; round < 6; round++) {
        struct input w = input_open(t, test_size(t, 1000, 300), round % 3 ? 40 : 3);
        cohort_context_options o = COHORT_CONTEXT_OPTIONS_INIT;
        cohort_context *cpu = NULL;
        cohort_group *here = NULL, *there = NULL;
        struct model due;
        const int to_cpu = round % 2;
        o.device = "cpu";
        w.left_out = to_cpu ? 0 : 2;
        due_of(t, &w, &due);
        OK(t, cohort_context_create(&o, &cpu));
        OK(t, group_open(t->context, &w, &here));
        OK(t, group_open(cpu, &w, &there));
        for (uint32_t k = 0; k < ADDS; k++)
            if ((k == 0) == to_cpu)
                OK(t, add(cpu, &w, k, there));
            else
                OK(t, add(t->context, &w, k, here));
        send(t, to_cpu ? cpu : t->context, to_cpu ? here : there, to_cpu ? there : here);
        struct test own = *t;
        own.context = to_cpu ? cpu : t->context;
        check(&own, to_cpu ? there : here, &due);
        cohort_group_destroy(here);
        cohort_group_destroy(there);
        cohort_context_destroy(cpu);
        model_close(&due);
        input_close(&w);
    }
}

/* ---- against a walk over the rows ---------------------------------------------------------------------- */

static const char *decimal_format(struct test *t)
{
    static const char *const formats[] = {"d:38,10", "d:9,-2", "d:30,4"};
    return formats[test_below(t, 3)];
}

/* Aggregates at random, but those that the host works on. */
static void add_numbers(struct test *t, struct plan *p)
{
    uint32_t n = 0;
    add_aggregates(t, p);
    for (uint32_t i = 0; i < p->aggregates; i++) {
        const cohort_aggregate_op op = p->aggregate[i].op;
        const int is_decimal = op != COHORT_AGGREGATE_ROWS && p->format[p->column[i]][0] == 'd';
        const int is_whole = op == COHORT_AGGREGATE_NUNIQUE || op == COHORT_AGGREGATE_MIN ||
                             op == COHORT_AGGREGATE_MAX || op == COHORT_AGGREGATE_FIRST ||
                             op == COHORT_AGGREGATE_LAST;
        if (is_decimal && is_whole)
            continue;
        p->column[n] = p->column[i];
        p->aggregate[n++] = p->aggregate[i];
    }
    p->aggregates = n;
}

/* Decimals of so many bits that lower words often run over, and the sum of many has 38 digits. */
static void fill_decimals(struct test *t, struct model *m, uint32_t column)
{
    for (uint64_t i = 0; i < m->rows; i++) {
        struct cell *c = &m->column[column].cell[i];
        wide v = (wide)((wide_bits)test_random(t) << 64 | test_random(t)) >> (15 + test_below(t, 70));
        if (c->bytes)
            c->bytes = model_bytes(m, &v, sizeof v);
    }
}

/* Keys and values of any types that are numbers, in any layout; values may be decimals, but no dictionaries
 * of them, whose values the host fetches. */
static void plan_numbers(struct test *t, struct plan *p, uint64_t rows, uint64_t distinct)
{
    memset(p, 0, sizeof *p);
    p->keys = 1 + (uint32_t)test_below(t, 2), p->values = 1 + (uint32_t)test_below(t, 4);
    p->frames = 1 + (uint32_t)test_below(t, FRAMES);
    p->reproducible = (int)test_below(t, 2);
    p->skips = 1;
    for (uint32_t c = 0; c < p->keys + p->values; c++) {
        snprintf(p->name[c], sizeof p->name[c], "%c%u", c < p->keys ? 'k' : 'v', c);
        p->format[c] = c < p->keys || test_below(t, 4) ? model_formats[test_below(t, 12)] : decimal_format(t);
        p->nulls_equal[c] = test_below(t, 2) != 0;
        p->key[c] = p->name[c];
    }
    add_numbers(t, p);
    for (uint32_t i = 0; i < p->frames; i++) {
        struct model_plan plan = {.rows = test_below(t, rows)};
        model_open(&p->model[i], plan.rows, p->keys + p->values);
        for (uint32_t c = 0; c < p->keys + p->values; c++) {
            plan.dictionaries = p->format[c][0] != 'd';
            plan.distinct = c < p->keys ? distinct : 1 + test_below(t, 90);
            plan.nulls = test_below(t, 3) ? (uint32_t)test_below(t, 100) : 0;
            plan.wild = test_below(t, 8) == 0;
            model_fill(t, &p->model[i], c, p->name[c], p->format[c], &plan);
            if (p->format[c][0] == 'd')
                fill_decimals(t, &p->model[i], c);
        }
        p->frame[i] = model_frame(t, &p->model[i], t->context);
    }
}

/* Whether a partial result has distinct values, which go through the host. */
static int has_distinct(const struct plan *p)
{
    int has = 0;
    for (uint32_t i = 0; i < p->aggregates; i++)
        has |= p->aggregate[i].op == COHORT_AGGREGATE_NUNIQUE;
    return has;
}

/* A group object of all frames: added; or taken from parts, of which each second one comes by its partial
 * result. Nothing as large as the rows goes to the host. */
static cohort_group *gather(struct test *t, const struct plan *p, int by_parts)
{
    cohort_group *g = group_of(t, t->context, p);
    for (uint32_t i = 0; i < p->frames; i++) {
        cohort_group *part = by_parts ? group_of(t, t->context, p) : NULL;
        cohort_frame *partial = NULL;
        watched_begin(t->context, 0);
        cohort_status s = cohort_group_add(by_parts ? part : g, p->frame[i]);
        if (!s && by_parts && i % 2)
            s = cohort_group_partial(part, &partial);
        if (!s && by_parts)
            s = partial ? cohort_group_merge_partial(g, partial) : cohort_group_merge(g, part);
        watched_end();
        REQUIREF(t, !s, "%s", cohort_message(t->context));
        CHECKF(t, watched.most <= SMALL || (partial && has_distinct(p)), "%llu bytes went to the host",
               (unsigned long long)watched.most);
        cohort_frame_release(partial);
        cohort_group_destroy(part);
    }
    return g;
}

static void numbers(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 60, 200, 600); round++) {
        struct plan p;
        struct due d;
        struct model m;
        cohort_frame *out = NULL;
        plan_numbers(t, &p, round % 4 ? 300 : 1500, round % 3 ? 1 + test_below(t, 9) : 200);
        walk(&p, &d);
        cohort_group *g = gather(t, &p, round % 2);
        watched_begin(t->context, 0);
        cohort_status s = cohort_group_finish(g, 0, &out);
        watched_end();
        CHECKF(t, s == (overflows(&p, &d) ? COHORT_OVERFLOW : COHORT_OK), "%d: %s", s,
               cohort_message(t->context));
        CHECKF(t, watched.most <= SMALL, "%llu bytes went to the host", (unsigned long long)watched.most);
        if (out) {
            model_of_frame(t, &m, out);
            check_result(t, &p, &d, &m);
            model_close(&m);
        }
        cohort_frame_release(out);
        cohort_group_destroy(g);
        due_close(&d);
        plan_close(&p);
    }
    EQUAL(t, model_alive, 0);
}

/* ---- what fails ---------------------------------------------------------------------------------------- */

/* A frame goes into the object: it is added, or, the third one, taken from a part; packed: by its partial
 * result. */
static cohort_status step(cohort_context *context, const struct input *w, uint32_t k, cohort_group *g,
                          cohort_group *part, int packed)
{
    cohort_frame *partial = NULL;
    if (k < 2)
        return add(context, w, k, g);
    if (!packed)
        return cohort_group_merge(g, part);
    cohort_status s = cohort_group_partial(part, &partial);
    if (!s)
        s = cohort_group_merge_partial(g, partial);
    cohort_frame_release(partial);
    return s;
}

/* A launch of the second add fails, and one of a merge; the same call made again makes good, and nothing
 * counts twice. */
static void refuse_launches(struct test *t, int packed)
{
    for (uint64_t refused = 1, whole = 0; !whole; refused++) {
        struct input w = input_open(t, 150, refused % 2 ? 3 : 200);
        struct model due;
        cohort_group *g = NULL, *part = NULL;
        due_of(t, &w, &due);
        OK(t, group_open(t->context, &w, &g));
        OK(t, group_open(t->context, &w, &part));
        OK(t, add(t->context, &w, 2, part));
        whole = 1;
        for (uint32_t k = 0; k < ADDS; k++) {
            if (k) {
                watched_begin(t->context, refused);
                cohort_status s = step(t->context, &w, k, g, part, packed);
                watched_end();
                whole &= watched.launches < refused;
                CHECKF(t, s ? watched.launches >= refused : watched.launches < refused || watched_unjoined(g),
                       "launch %llu of %llu: %d", (unsigned long long)refused,
                       (unsigned long long)watched.launches, s);
                if (!s)
                    continue;
            }
            OK(t, step(t->context, &w, k, g, part, packed));
        }
        check(t, g, &due);
        cohort_group_destroy(g);
        cohort_group_destroy(part);
        model_close(&due);
        input_close(&w);
    }
}

static void launches(struct test *t)
{
    refuse_launches(t, 0);
    refuse_launches(t, 1);
}

/* Each allocation is refused once; the calls after it are made again. */
static void refuse_memory(struct test *t, int packed)
{
    for (uint64_t k = 0, whole = 0; !whole; k++) {
        struct input w = input_open(t, 150, k % 2 ? 3 : 200);
        struct ledger ledger = {0};
        struct refuser refuser = {test_allocator(t, &ledger), 0, 0};
        cohort_context_options o = test_context_options(t);
        cohort_context *context = NULL;
        cohort_group *g = NULL, *part = NULL;
        struct model due;
        due_of(t, &w, &due);
        o.alloc = refuser_of(&refuser);
        OK(t, cohort_context_create(&o, &context));
        OK(t, group_open(context, &w, &g));
        OK(t, group_open(context, &w, &part));
        OK(t, add(context, &w, 2, part));
        refuser.calls = 0;
        refuser.refused = k + 1;
        for (uint32_t i = 0; i < ADDS; i++) {
            cohort_status s = step(context, &w, i, g, part, packed);
            CHECKF(t, !s || s == COHORT_NO_MEMORY, "allocation %llu: %s", (unsigned long long)k,
                   cohort_message(context));
            if (s)
                OK(t, step(context, &w, i, g, part, packed));
        }
        whole = refuser.calls <= k;
        check(t, g, &due);
        cohort_group_destroy(g);
        cohort_group_destroy(part);
        model_close(&due);
        cohort_context_destroy(context);
        test_ledger_check(t, &ledger);
        input_close(&w);
    }
}

static void refused(struct test *t)
{
    refuse_memory(t, 0);
    refuse_memory(t, 1);
}

/* ---- an object merged with itself ---------------------------------------------------------------------- */

static uint64_t cell_word(const struct model *m, uint32_t column, uint64_t row)
{
    uint64_t word = 0;
    memcpy(&word, m->column[column].cell[row].bytes, 8);
    return word;
}

/* Sums and rows are twice as many, distinct values as many as before. Key k has the values k, k + 1, ... up
 * to 2 k, in turn. */
static void itself(struct test *t)
{
    enum { KEYS_OF = 50, ROWS_OF = 4000 };
    static const cohort_aggregate all[] = {{COHORT_AGGREGATE_SUM, 0, "v", NULL},
                                           {COHORT_AGGREGATE_NUNIQUE, 0, "v", NULL},
                                           {COHORT_AGGREGATE_ROWS, 0, NULL, "rows"}};
    uint32_t key[ROWS_OF];
    int64_t value[ROWS_OF], sum[KEYS_OF] = {0};
    for (uint32_t i = 0; i < ROWS_OF; i++) {
        key[i] = i % KEYS_OF;
        value[i] = key[i] + i / KEYS_OF % (key[i] + 1);
        sum[key[i]] += value[i];
    }
    cohort_group *g = simple(t, t->context, 3, all, 0);
    cohort_frame *frame = two_columns(t, t->context, ROWS_OF, key, COHORT_I64, value), *result = NULL;
    struct model m;
    OK(t, cohort_group_add(g, frame));
    OK(t, cohort_group_merge(g, g));
    OK(t, cohort_group_merge(g, g)); /* and once more: four times */
    OK(t, cohort_group_finish(g, COHORT_SORTED, &result));
    model_of_frame(t, &m, result);
    EQUAL(t, m.rows, KEYS_OF);
    for (uint64_t k = 0; k < m.rows && m.columns == 4; k++) {
        EQUAL(t, cell_word(&m, 1, k), 4 * sum[k]);
        EQUAL(t, cell_word(&m, 2, k), k + 1);
        EQUAL(t, cell_word(&m, 3, k), 4 * ROWS_OF / KEYS_OF);
    }
    EQUAL(t, m.columns, 4);
    model_close(&m);
    cohort_frame_release(result);
    cohort_frame_release(frame);
    cohort_group_destroy(g);
}

const struct test_case test_cases[] = {
    {"stays", stays, ANY},
    {"elsewhere", elsewhere, ANY},
    {"numbers", numbers, ANY},
    {"launches", launches, ANY},
    {"refused", refused, ANY | TEST_NO_CONTEXT},
    {"itself", itself, 0},
    {NULL, NULL, 0},
};
