/* test_texts_resident.c: keys that are dictionaries of strings, binaries, decimals and UUIDs, on a GPU:
 * groups, factors, distinct keys, members and joins, against the same calls on a CPU, which test_group.c,
 * test_keys.c and test_join.c judge. Every frame has dictionaries of its own, in layouts of their own, with
 * values twice and null values. No copy of the rows' size goes to the host, but for an order of fewer rows
 * than a dictionary has values; and what fails changes nothing. */
#include "model.h"
#include "watched.h"

#include "api/frame.h"
#include "api/staged.h"

#define SMALL 512u /* bytes: what the host may ask for */
#define ADDS  3
#define MOST  3 /* key columns */
#define ANY   (TEST_ON_SIM | TEST_ON_CUDA)

/* Keys, then "v" of numbers and "s" of strings. */
struct world {
    uint32_t keys;
    const char *format[MOST];
    uint8_t nulls_equal[MOST];
    uint32_t reproducible;
    struct model model[ADDS];
    cohort_frame *frame[ADDS], *cpu_frame[ADDS];
    cohort_context *context, *cpu;
};

static const char *const texts[] = {"u", "z", "w:16", "w:21", "d:38,10"};
static const char *const numbers[] = {"i", "L", "w:3", "s", "b"};

/* rows: at most; some frames have few, or none. */
static void world_fill(struct test *t, struct world *w, uint64_t rows, uint64_t distinct)
{
    *w =
        (struct world){.keys = 1 + (uint32_t)test_below(t, MOST), .reproducible = (uint32_t)test_below(t, 2)};
    for (uint32_t c = 0; c < w->keys; c++) {
        int is_text = !c || test_below(t, 2);
        w->format[c] = is_text ? texts[test_below(t, 5)] : numbers[test_below(t, 5)];
        w->nulls_equal[c] = test_below(t, 3) != 0;
    }
    for (uint32_t k = 0; k < ADDS; k++) {
        struct model_plan plan = {.rows = rows, .distinct = distinct, .dictionaries = 2};
        static const uint32_t nulls[] = {0, 20, 100};
        plan.rows = test_below(t, 4) ? rows : test_below(t, 30);
        model_open(&w->model[k], plan.rows, w->keys + 2);
        for (uint32_t c = 0; c < w->keys + 2; c++) {
            char name[16];
            const char *format = c < w->keys ? w->format[c] : c == w->keys ? "i" : "u";
            plan.nulls = nulls[test_below(t, 10) ? test_below(t, 2) : 2];
            plan.dictionaries = strchr("uzwd", format[0]) && strcmp(format, "w:3") ? 2 : 1;
            snprintf(name, sizeof name, c < w->keys ? "k%u" : c == w->keys ? "v" : "s", c);
            model_fill(t, &w->model[k], c, name, model_another_layout(t, format), &plan);
        }
    }
}

static void world_open(struct test *t, struct world *w, cohort_context *context)
{
    cohort_context_options o = COHORT_CONTEXT_OPTIONS_INIT;
    o.device = "cpu";
    w->context = context;
    OK(t, cohort_context_create(&o, &w->cpu));
    for (uint32_t k = 0; k < ADDS; k++) {
        w->frame[k] = model_frame(t, &w->model[k], context);
        w->cpu_frame[k] = model_frame(t, &w->model[k], w->cpu);
    }
}

static void world_close(struct world *w)
{
    for (uint32_t k = 0; k < ADDS; k++) {
        cohort_frame_release(w->frame[k]);
        cohort_frame_release(w->cpu_frame[k]);
        model_close(&w->model[k]);
    }
    cohort_context_destroy(w->cpu);
}

static void watched_within(struct test *t, cohort_status s, uint64_t most)
{
    watched_end();
    REQUIREF(t, !s, "%s", cohort_message(t->context));
    CHECKF(t, watched.most <= most, "%llu bytes went to the host", (unsigned long long)watched.most);
}

/* Fails if anything as large as the rows went to the host. */
static void watched_check(struct test *t, cohort_status s)
{
    watched_within(t, s, SMALL);
}

/* What may go there when the rows of `out` are put in order by their first columns: the indices of each into
 * a dictionary that has more values. */
static uint64_t ordered_bytes(const cohort_frame *out, uint32_t keys)
{
    uint64_t most = SMALL;
    for (uint32_t i = 0; out && i < keys; i++) {
        const struct table_column *c = out->field[i].column;
        const struct table_column *values = c->is_dictionary && c->pieces ? c->dictionaries[0] : NULL;
        if (values && values->rows > c->rows && most < c->rows * c->index.bytes)
            most = c->rows * c->index.bytes;
    }
    return most;
}

/* The same rows, of the same types but for layouts and dictionaries. */
static void same_frames(struct test *t, cohort_frame *a, cohort_frame *due)
{
    struct model x, y;
    model_of_frame(t, &x, a);
    model_of_frame(t, &y, due);
    model_same(t, &x, &y);
    for (uint32_t c = 0; c < x.columns && c < y.columns; c++)
        CHECKF(t, !strcmp(x.column[c].name, y.column[c].name), "column %u is %s, not %s", c, x.column[c].name,
               y.column[c].name);
    model_close(&x);
    model_close(&y);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static cohort_status group_open(cohort_context *context, const struct world *w, cohort_group **out)
{
    static const char *const keys[] = {"k0", "k1", "k2"};
    static const cohort_aggregate aggregates[] = {
        {COHORT_AGGREGATE_ROWS, 0, NULL, NULL},   {COHORT_AGGREGATE_COUNT, 0, "s", NULL},
        {COHORT_AGGREGATE_SUM, 0, "v", NULL},     {COHORT_AGGREGATE_MIN, 0, "v", NULL},
        {COHORT_AGGREGATE_FIRST, 0, "v", NULL},   {COHORT_AGGREGATE_LAST, 0, "v", NULL},
        {COHORT_AGGREGATE_NUNIQUE, 0, "v", NULL}, {COHORT_AGGREGATE_NUNIQUE, 0, "s", NULL}};
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    o.keys = w->keys;
    o.key = keys;
    o.nulls_equal = w->nulls_equal;
    o.aggregates = sizeof aggregates / sizeof *aggregates;
    o.aggregate = aggregates;
    o.reproducible = w->reproducible;
    return cohort_group_create(context, &o, out);
}

static void finish_both(struct test *t, uint32_t keys, cohort_group *g, cohort_group *due, uint32_t flags)
{
    cohort_frame *a = NULL, *b = NULL;
    watched_begin(t->context, 0);
    cohort_status s = cohort_group_finish(g, flags, &a);
    watched_within(t, s, flags ? ordered_bytes(a, keys) : SMALL);
    OK(t, cohort_group_finish(due, flags, &b));
    same_frames(t, a, b);
    cohort_frame_release(a);
    cohort_frame_release(b);
}

/* A part's partial result, by Arrow, through the memory of the host. */
static void send(struct test *t, cohort_context *to, cohort_group *from, cohort_group *into)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    cohort_frame *partial = NULL, *back = NULL;
    OK(t, cohort_group_partial(from, &partial));
    OK(t, cohort_frame_export(partial, &schema, &array));
    cohort_frame_release(partial);
    OK(t, cohort_frame_import(to, &schema, &array, &back));
    OK(t, cohort_group_merge_partial(into, back));
    cohort_frame_release(back);
}

/* A group object that begins with all keys of another one, and goes on with a frame of other dictionaries. */
static void goes_on(struct test *t, const struct world *w, cohort_group *whole, cohort_group *whole_due)
{
    cohort_group *g = NULL, *due = NULL;
    OK(t, group_open(t->context, w, &g));
    OK(t, group_open(w->cpu, w, &due));
    watched_begin(t->context, 0);
    cohort_status s = cohort_group_merge(g, whole);
    if (!s)
        s = cohort_group_add(g, w->frame[1]);
    watched_check(t, s);
    OK(t, cohort_group_merge(due, whole_due));
    OK(t, cohort_group_add(due, w->cpu_frame[1]));
    finish_both(t, w->keys, g, due, 0);
    cohort_group_destroy(g);
    cohort_group_destroy(due);
}

/* Whole, merged from parts, and by partial results. The first frame comes once more in the end. */
static void groups(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 12, 30, 100); round++) {
        struct world w;
        cohort_group *whole = NULL, *merged = NULL, *sent = NULL, *due = NULL;
        world_fill(t, &w, round % 3 ? 90 : 1500, round % 4 ? 1 + test_below(t, 50) : 900);
        world_open(t, &w, t->context);
        OK(t, group_open(t->context, &w, &whole));
        OK(t, group_open(t->context, &w, &merged));
        OK(t, group_open(t->context, &w, &sent));
        OK(t, group_open(w.cpu, &w, &due));
        for (uint32_t k = 0; k <= ADDS; k++) {
            cohort_group *part = NULL;
            OK(t, group_open(t->context, &w, &part));
            watched_begin(t->context, 0);
            cohort_status s = cohort_group_add(whole, w.frame[k % ADDS]);
            if (!s)
                s = cohort_group_add(part, w.frame[k % ADDS]);
            if (!s)
                s = cohort_group_merge(merged, part);
            watched_check(t, s);
            send(t, t->context, part, sent);
            OK(t, cohort_group_add(due, w.cpu_frame[k % ADDS]));
            cohort_group_destroy(part);
        }
        finish_both(t, w.keys, whole, due, 0);
        finish_both(t, w.keys, whole, due, COHORT_SORTED);
        finish_both(t, w.keys, merged, due, 0);
        finish_both(t, w.keys, sent, due, 0);
        goes_on(t, &w, whole, due);
        cohort_group_destroy(whole);
        cohort_group_destroy(merged);
        cohort_group_destroy(sent);
        cohort_group_destroy(due);
        world_close(&w);
    }
    EQUAL(t, model_alive, 0);
}

/* Whether a key column is a dictionary of numbers: these have no order to be found, and go to the GPU. */
static int has_number_values(const struct world *w)
{
    int has = 0;
    for (uint32_t c = 0; c < w->keys; c++)
        for (uint32_t i = 0; i < 5; i++)
            has |= !strcmp(w->format[c], numbers[i]) && w->model[0].column[c].index[0];
    return has;
}

/* A few groups in order, whose dictionaries have many values: nothing of their size goes to the GPU. */
static void orders(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 12, 30, 100); round++) {
        struct world w;
        cohort_frame *some = NULL, *cpu_some = NULL;
        cohort_group *g = NULL, *due = NULL;
        world_fill(t, &w, 1500, 900);
        world_open(t, &w, t->context);
        const uint64_t rows = cohort_frame_rows(w.frame[0]), first = test_below(t, rows + 1);
        const uint64_t few = rows - first < 40 ? rows - first : test_below(t, 40);
        OK(t, cohort_frame_slice(w.frame[0], first, few, &some));
        OK(t, cohort_frame_slice(w.cpu_frame[0], first, few, &cpu_some));
        OK(t, group_open(t->context, &w, &g));
        OK(t, group_open(w.cpu, &w, &due));
        OK(t, cohort_group_add(g, some));
        OK(t, cohort_group_add(due, cpu_some));
        finish_both(t, w.keys, g, due, COHORT_SORTED);
        CHECKF(t, watched.most_in <= SMALL || has_number_values(&w), "%llu bytes went to the GPU",
               (unsigned long long)watched.most_in);
        cohort_frame_release(some);
        cohort_frame_release(cpu_some);
        cohort_group_destroy(g);
        cohort_group_destroy(due);
        world_close(&w);
    }
    EQUAL(t, model_alive, 0);
}

/* A partial result of a CPU goes on on a GPU, and one of a GPU's on a CPU. */
static void partials(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 6, 12, 40); round++) {
        struct world w;
        cohort_group *here = NULL, *there = NULL, *back = NULL;
        world_fill(t, &w, 60, 20);
        world_open(t, &w, t->context);
        OK(t, group_open(t->context, &w, &here));
        OK(t, group_open(w.cpu, &w, &there));
        OK(t, group_open(w.cpu, &w, &back));
        for (uint32_t k = 0; k < ADDS; k++) {
            OK(t, cohort_group_add(here, w.frame[k]));
            OK(t, cohort_group_add(there, w.cpu_frame[k]));
        }
        send(t, w.cpu, here, back);
        cohort_frame *a = NULL, *b = NULL;
        OK(t, cohort_group_finish(back, 0, &a));
        OK(t, cohort_group_finish(there, 0, &b));
        same_frames(t, a, b);
        cohort_frame_release(a);
        cohort_frame_release(b);
        cohort_group_destroy(here);
        cohort_group_destroy(there);
        cohort_group_destroy(back);
        world_close(&w);
    }
}

/* Plain values that are no words join a dictionary of such, and the other way round. */
static void mixed(struct test *t)
{
    static const char *const wide[] = {"w:16", "d:38,10", "w:21"};
    for (uint64_t round = 0; round < test_scale(t, 6, 12, 40); round++) {
        struct world w;
        cohort_group *whole = NULL, *part = NULL, *due = NULL;
        world_fill(t, &w, 80, 30);
        w.format[0] = wide[test_below(t, 3)];
        for (uint32_t k = 0; k < ADDS; k++) {
            struct model_plan plan = {.rows = w.model[k].rows, .distinct = 30, .nulls = 20};
            plan.dictionaries = (k + round) & 1 ? 2 : 0;
            model_fill(t, &w.model[k], 0, "k0", w.format[0], &plan);
        }
        world_open(t, &w, t->context);
        OK(t, group_open(t->context, &w, &whole));
        OK(t, group_open(w.cpu, &w, &due));
        for (uint32_t k = 0; k < ADDS; k++) {
            OK(t, group_open(t->context, &w, &part));
            OK(t, cohort_group_add(part, w.frame[k]));
            if (k & 1)
                OK(t, cohort_group_merge(whole, part));
            else
                OK(t, cohort_group_add(whole, w.frame[k]));
            cohort_group_destroy(part);
            OK(t, cohort_group_add(due, w.cpu_frame[k]));
        }
        for (uint32_t flags = 0; flags < 2; flags++) {
            cohort_frame *a = NULL, *b = NULL;
            OK(t, cohort_group_finish(whole, flags ? COHORT_SORTED : 0, &a));
            OK(t, cohort_group_finish(due, flags ? COHORT_SORTED : 0, &b));
            same_frames(t, a, b);
            cohort_frame_release(a);
            cohort_frame_release(b);
        }
        cohort_group_destroy(whole);
        cohort_group_destroy(due);
        world_close(&w);
    }
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static cohort_frame *keys_of(struct test *t, const struct world *w, cohort_frame *frame)
{
    static const uint32_t columns[] = {0, 1, 2};
    cohort_frame *keys = NULL;
    OK(t, cohort_frame_select(frame, w->keys, columns, NULL, &keys));
    return keys;
}

static void same_ids(struct test *t, struct column *ids, const uint32_t *due, uint64_t n)
{
    column_fetch(ids);
    for (uint64_t i = 0; i < n; i++)
        REQUIREF(t, ((uint32_t *)ids->data)[i] == due[i], "row %llu: %u, not %u", (unsigned long long)i,
                 ((uint32_t *)ids->data)[i], due[i]);
}

/* Adds of all frames, then finds; half of the rounds find one frame before its add. */
static void factor_both(struct test *t, const struct world *w, cohort_frame *const *keys,
                        cohort_frame *const *cpu_keys)
{
    cohort_factor *f = NULL, *due = NULL;
    OK(t, cohort_factor_create(t->context, w->keys, w->nulls_equal, &f));
    OK(t, cohort_factor_create(w->cpu, w->keys, w->nulls_equal, &due));
    for (uint32_t step = 0; step < 2 * ADDS; step++) {
        uint32_t k = step % 2 && step < ADDS ? step + 1 : step / 2;
        int adds = !(step % 2);
        uint64_t n = w->model[k % ADDS].rows;
        struct column *ids = column_new(t, n, 4);
        uint32_t *right = malloc(n * 4 + 4);
        void *to = column_send(ids);
        watched_begin(t->context, 0);
        watched_check(t, adds ? cohort_factor_add(f, keys[k % ADDS], to)
                              : cohort_factor_find(f, keys[k % ADDS], to));
        OK(t, adds ? cohort_factor_add(due, cpu_keys[k % ADDS], right)
                   : cohort_factor_find(due, cpu_keys[k % ADDS], right));
        same_ids(t, ids, right, n);
        EQUAL(t, cohort_factor_count(f), cohort_factor_count(due));
        free(right);
    }
    cohort_factor_destroy(f);
    cohort_factor_destroy(due);
}

static void members_both(struct test *t, const struct world *w, cohort_frame *const *keys,
                         cohort_frame *const *cpu_keys)
{
    uint64_t n = w->model[1].rows, bytes = (n + 7) / 8;
    struct column *rows = column_new(t, n, 4), *bits = column_new(t, bytes, 1);
    uint32_t *due_rows = malloc(n * 4 + 4);
    uint8_t *due_bits = malloc(bytes + 1);
    void *rows_to = column_send(rows), *bits_to = column_send(bits);
    watched_begin(t->context, 0);
    cohort_status s = cohort_index_in(keys[1], keys[0], w->nulls_equal, 4, rows_to);
    if (!s)
        s = cohort_is_in(keys[1], keys[0], w->nulls_equal, bits_to);
    watched_check(t, s);
    OK(t, cohort_index_in(cpu_keys[1], cpu_keys[0], w->nulls_equal, 4, due_rows));
    OK(t, cohort_is_in(cpu_keys[1], cpu_keys[0], w->nulls_equal, due_bits));
    same_ids(t, rows, due_rows, n);
    column_fetch(bits);
    CHECK(t, !bytes || !memcmp(bits->data, due_bits, bytes));
    free(due_rows);
    free(due_bits);
}

static void distinct_both(struct test *t, cohort_frame *keys, cohort_frame *cpu_keys)
{
    for (uint32_t way = 0; way < 5; way++) {
        cohort_frame *a = NULL, *b = NULL;
        const uint32_t flags = way & 2 ? COHORT_SORTED : 0;
        void *ids = column_send(column_new(t, cohort_frame_rows(keys), 4));
        uint32_t *cpu_ids = malloc(cohort_frame_rows(keys) * 4 + 4);
        watched_begin(t->context, 0);
        cohort_status s = way == 4  ? cohort_factorize(keys, NULL, ids, &a)
                          : way & 1 ? cohort_value_counts(keys, flags, &a)
                                    : cohort_unique(keys, flags, &a);
        watched_within(t, s, flags ? ordered_bytes(a, cohort_frame_columns(keys)) : SMALL);
        OK(t, way == 4  ? cohort_factorize(cpu_keys, NULL, cpu_ids, &b)
              : way & 1 ? cohort_value_counts(cpu_keys, flags, &b)
                        : cohort_unique(cpu_keys, flags, &b));
        same_frames(t, a, b);
        cohort_frame_release(a);
        cohort_frame_release(b);
        free(cpu_ids);
    }
}

static void keys(struct test *t)
{
    t->memory = TEST_DEVICE;
    for (uint64_t round = 0; round < test_scale(t, 10, 25, 80); round++) {
        struct world w;
        cohort_frame *own[ADDS], *cpu[ADDS];
        world_fill(t, &w, round % 3 ? 90 : 1500, round % 4 ? 1 + test_below(t, 50) : 900);
        world_open(t, &w, t->context);
        for (uint32_t k = 0; k < ADDS; k++) {
            own[k] = keys_of(t, &w, w.frame[k]);
            cpu[k] = keys_of(t, &w, w.cpu_frame[k]);
        }
        factor_both(t, &w, own, cpu);
        members_both(t, &w, own, cpu);
        distinct_both(t, own[0], cpu[0]);
        for (uint32_t k = 0; k < ADDS; k++) {
            cohort_frame_release(own[k]);
            cohort_frame_release(cpu[k]);
        }
        world_close(&w);
        column_drop(t, NULL);
    }
}

/* ---- joins --------------------------------------------------------------------------------------------- */

struct answer {
    uint64_t total, *left, *right;
};

static void read_pairs(struct test *t, cohort_matches *m, struct answer *a)
{
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    a->total = cohort_join_size(m);
    a->left = malloc(a->total * 8 + 8);
    a->right = malloc(a->total * 8 + 8);
    page.left = a->left;
    page.right = a->right;
    page.bytes = 8;
    page.capacity = a->total;
    OK(t, cohort_join_pairs(m, &page));
    EQUAL(t, page.written, a->total);
}

static void joins(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 10, 25, 80); round++) {
        if (!test_drawn(t, round, test_size(t, 1, 3)))
            continue;
        struct world w;
        cohort_frame *own[ADDS], *cpu[ADDS];
        cohort_join *join = NULL, *due = NULL;
        cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
        world_fill(t, &w, round % 3 ? 90 : 1200, round % 4 ? 1 + test_below(t, 50) : 900);
        world_open(t, &w, t->context);
        options.nulls_equal = w.nulls_equal;
        for (uint32_t k = 0; k < ADDS; k++) {
            own[k] = keys_of(t, &w, w.frame[k]);
            cpu[k] = keys_of(t, &w, w.cpu_frame[k]);
        }
        watched_begin(t->context, 0);
        watched_check(t, cohort_join_build(own[0], &options, &join));
        OK(t, cohort_join_build(cpu[0], &options, &due));
        CHECK(t, cohort_join_is_resident(join));
        for (uint32_t k = 0; k < ADDS; k++) {
            cohort_matches *m = NULL, *n = NULL;
            struct answer a, b;
            watched_begin(t->context, 0);
            watched_check(t, cohort_join_probe(join, own[k], NULL, &m));
            OK(t, cohort_join_probe(due, cpu[k], NULL, &n));
            read_pairs(t, m, &a);
            read_pairs(t, n, &b);
            EQUAL(t, a.total, b.total);
            CHECK(t, a.total != b.total ||
                         (!memcmp(a.left, b.left, a.total * 8) && !memcmp(a.right, b.right, a.total * 8)));
            free(a.left), free(a.right), free(b.left), free(b.right);
            cohort_matches_destroy(m);
            cohort_matches_destroy(n);
        }
        cohort_join_destroy(join);
        cohort_join_destroy(due);
        for (uint32_t k = 0; k < ADDS; k++) {
            cohort_frame_release(own[k]);
            cohort_frame_release(cpu[k]);
        }
        world_close(&w);
    }
}

/* ---- what fails ---------------------------------------------------------------------------------------- */

static void due_of(struct test *t, const struct world *w, cohort_frame **out)
{
    cohort_group *due = NULL;
    OK(t, group_open(w->cpu, w, &due));
    for (uint32_t k = 0; k < ADDS; k++)
        OK(t, cohort_group_add(due, w->cpu_frame[k]));
    OK(t, cohort_group_finish(due, COHORT_SORTED, out));
    cohort_group_destroy(due);
}

/* A launch of the second add or of the finish is refused; the same call made again makes good. */
static void launches(struct test *t)
{
    for (uint64_t refused = 1, whole = 0; !whole; refused++) {
        struct world w;
        cohort_group *g = NULL;
        cohort_frame *due = NULL, *out = NULL;
        world_fill(t, &w, 60, 20);
        world_open(t, &w, t->context);
        due_of(t, &w, &due);
        OK(t, group_open(t->context, &w, &g));
        OK(t, cohort_group_add(g, w.frame[0]));
        watched_begin(t->context, refused);
        cohort_status s = cohort_group_add(g, w.frame[1]);
        watched_end();
        whole = watched.launches < refused;
        CHECK(t, (s == COHORT_OK) == (whole || watched_unjoined(g)));
        if (s)
            OK(t, cohort_group_add(g, w.frame[1]));
        OK(t, cohort_group_add(g, w.frame[2]));
        watched_begin(t->context, refused);
        s = cohort_group_finish(g, COHORT_SORTED, &out);
        watched_end();
        CHECK(t, s || watched.launches < refused);
        whole &= watched.launches < refused;
        if (s)
            OK(t, cohort_group_finish(g, COHORT_SORTED, &out));
        same_frames(t, out, due);
        cohort_frame_release(out);
        cohort_frame_release(due);
        cohort_group_destroy(g);
        world_close(&w);
    }
}

/* All calls once; OK or COHORT_NO_MEMORY, and then they are made again. */
static cohort_status everything(const struct world *w, cohort_group *g, uint32_t *done, cohort_frame **out)
{
    cohort_status s = COHORT_OK;
    for (; !s && *done < ADDS; *done += !s)
        s = cohort_group_add(g, w->frame[*done]);
    if (!s)
        s = cohort_group_finish(g, COHORT_SORTED, out);
    cohort_join *join = NULL;
    cohort_matches *m = NULL;
    if (!s)
        s = cohort_join_build(w->frame[0], NULL, &join);
    if (!s)
        s = cohort_join_probe(join, w->frame[0], NULL, &m);
    cohort_matches_destroy(m);
    cohort_join_destroy(join);
    return s;
}

/* Each allocation is refused once. */
static void refused(struct test *t)
{
    for (uint64_t k = 1, whole = 0; !whole; k++) {
        struct ledger ledger = {0};
        struct refuser refuser = {test_allocator(t, &ledger), 0, 0};
        cohort_context_options o = test_context_options(t);
        cohort_context *context = NULL;
        cohort_group *g = NULL;
        cohort_frame *due = NULL, *out = NULL;
        struct world w;
        uint32_t done = 0;
        world_fill(t, &w, 60, 20);
        o.alloc = refuser_of(&refuser);
        OK(t, cohort_context_create(&o, &context));
        world_open(t, &w, context);
        due_of(t, &w, &due);
        OK(t, group_open(context, &w, &g));
        refuser.calls = 0;
        refuser.refused = k;
        cohort_status s = everything(&w, g, &done, &out);
        CHECKF(t, !s || s == COHORT_NO_MEMORY, "allocation %llu: %s", (unsigned long long)k,
               cohort_message(context));
        whole = refuser.calls < k;
        cohort_frame_release(out);
        out = NULL;
        if (s)
            OK(t, everything(&w, g, &done, &out));
        else
            OK(t, cohort_group_finish(g, COHORT_SORTED, &out));
        struct model x, y;
        model_of_frame(t, &x, out);
        model_of_frame(t, &y, due);
        model_same(t, &x, &y);
        model_close(&x);
        model_close(&y);
        cohort_frame_release(out);
        cohort_frame_release(due);
        cohort_group_destroy(g);
        world_close(&w);
        cohort_context_destroy(context);
        test_ledger_check(t, &ledger);
    }
}

/* A column of integers beside one of strings or of integers. */
static cohort_frame *values_frame(struct test *t, const char *format)
{
    const struct model_plan plan = {.rows = 60, .distinct = 20, .dictionaries = 2};
    struct model m;
    model_open(&m, plan.rows, 2);
    model_fill(t, &m, 0, "k0", "i", &plan);
    model_fill(t, &m, 1, "s", format, &plan);
    cohort_frame *frame = model_frame(t, &m, t->context);
    model_close(&m);
    return frame;
}

static uint64_t busy_bytes(const cohort_context *context)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < context->pool.count; i++)
        bytes += context->pool.blocks[i].busy ? context->pool.blocks[i].bytes : 0;
    return bytes;
}

/* Least strings lie in the helper's memory. Where that is too little for a first add the next one may be of
 * integers, which are folded on the GPU: then the helper has nothing of the group any more. */
static void short_of_memory(struct test *t)
{
    static const char *const key = "k0";
    static const cohort_aggregate least = {COHORT_AGGREGATE_MIN, 0, "s", NULL};
    cohort_frame *strings = values_frame(t, "u"), *integers = values_frame(t, "i");
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_context *helper = NULL;
    cohort_status s = COHORT_NO_MEMORY;
    o.keys = o.aggregates = 1;
    o.key = &key;
    o.aggregate = &least;
    OK(t, staged_open(t->context, &helper));
    for (uint64_t room = 0; s; room += 256) {
        cohort_group *g = NULL;
        OK(t, cohort_group_create(t->context, &o, &g));
        pool_trim(helper);
        const uint64_t before = busy_bytes(helper);
        helper->memory.most = helper->memory.held + room;
        s = cohort_group_add(g, strings);
        helper->memory.most = UINT64_MAX;
        CHECKF(t, !s || s == COHORT_NO_MEMORY, "%llu bytes: %s", (unsigned long long)room,
               cohort_message(t->context));
        OK(t, s ? cohort_group_add(g, integers) : COHORT_OK);
        CHECKF(t, !s || busy_bytes(helper) == before, "%llu bytes: %llu are left", (unsigned long long)room,
               (unsigned long long)(busy_bytes(helper) - before));
        cohort_group_destroy(g);
        EQUAL(t, busy_bytes(helper), before);
    }
    cohort_frame_release(strings);
    cohort_frame_release(integers);
}

const struct test_case test_cases[] = {
    {"groups", groups, ANY},
    {"orders", orders, ANY},
    {"partials", partials, ANY},
    {"mixed", mixed, ANY},
    {"keys", keys, ANY},
    {"joins", joins, ANY},
    {"launches", launches, ANY},
    {"refused", refused, ANY | TEST_NO_CONTEXT},
    {"short_of_memory", short_of_memory, ANY},
    {NULL, NULL, 0},
};
