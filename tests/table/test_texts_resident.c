/* test_texts_resident.c: groups by keys that are dictionaries of texts (worlds.h), on a GPU, against the same
 * calls on a CPU, which test_group.c judges. No copy of the rows' size goes to the host, but for an order of
 * fewer rows than a dictionary has values; and what fails changes nothing. */
#include "worlds.h"

#include "api/staged.h"

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
    watched_within(t, s, flags ? world_ordered_bytes(a, keys) : WATCHED_SMALL);
    OK(t, cohort_group_finish(due, flags, &b));
    world_same(t, a, b);
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
        for (uint32_t k = 0; k <= WORLD_FRAMES; k++) {
            cohort_group *part = NULL;
            OK(t, group_open(t->context, &w, &part));
            watched_begin(t->context, 0);
            cohort_status s = cohort_group_add(whole, w.frame[k % WORLD_FRAMES]);
            if (!s)
                s = cohort_group_add(part, w.frame[k % WORLD_FRAMES]);
            if (!s)
                s = cohort_group_merge(merged, part);
            watched_check(t, s);
            send(t, t->context, part, sent);
            OK(t, cohort_group_add(due, w.cpu_frame[k % WORLD_FRAMES]));
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
        CHECKF(t, watched.most_in <= WATCHED_SMALL || world_has_numbers(&w), "%llu bytes went to the GPU",
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
        for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
            OK(t, cohort_group_add(here, w.frame[k]));
            OK(t, cohort_group_add(there, w.cpu_frame[k]));
        }
        send(t, w.cpu, here, back);
        cohort_frame *a = NULL, *b = NULL;
        OK(t, cohort_group_finish(back, 0, &a));
        OK(t, cohort_group_finish(there, 0, &b));
        world_same(t, a, b);
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
        for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
            struct model_plan plan = {.rows = w.model[k].rows, .distinct = 30, .nulls = 20};
            plan.dictionaries = (k + round) & 1 ? 2 : 0;
            model_fill(t, &w.model[k], 0, "k0", w.format[0], &plan);
        }
        world_open(t, &w, t->context);
        OK(t, group_open(t->context, &w, &whole));
        OK(t, group_open(w.cpu, &w, &due));
        for (uint32_t k = 0; k < WORLD_FRAMES; k++) {
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
            world_same(t, a, b);
            cohort_frame_release(a);
            cohort_frame_release(b);
        }
        cohort_group_destroy(whole);
        cohort_group_destroy(due);
        world_close(&w);
    }
}

/* ---- what fails ---------------------------------------------------------------------------------------- */

static void due_of(struct test *t, const struct world *w, cohort_frame **out)
{
    cohort_group *due = NULL;
    OK(t, group_open(w->cpu, w, &due));
    for (uint32_t k = 0; k < WORLD_FRAMES; k++)
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
        world_same(t, out, due);
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
    for (; !s && *done < WORLD_FRAMES; *done += !s)
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
    {"groups", groups, WORLD_ON},
    {"orders", orders, WORLD_ON},
    {"partials", partials, WORLD_ON},
    {"mixed", mixed, WORLD_ON},
    {"launches", launches, WORLD_ON},
    {"refused", refused, WORLD_ON | TEST_NO_CONTEXT},
    {"short_of_memory", short_of_memory, WORLD_ON},
    {NULL, NULL, 0},
};
