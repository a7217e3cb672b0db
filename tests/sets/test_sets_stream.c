/* test_sets_stream.c: queries and looks of fixed room on a device's arrays, and changes of a working set by
 * such arrays: they wait for nothing, take no memory once one like them has run, and can be captured into a
 * graph, whose launches answer and change by what is in the arrays then. */
#include "backend/context.h"
#include "cuda/device.h"
#include "working.h"

#define ROWS  40
#define ARITY 3
#define MOST  4 /* first members */

/* Two collections, and all calls on what `members`, `which`, `others` and `values` hold. */
struct works {
    struct plains p;
    cohort_sets *sets;
    struct column *members, *which, *others, *values;
    struct column *counts[6], *any, *first, *first_counts;
    struct column *hit[5], *results[2];
    struct column *in_sets[4]; /* of the sets that contain each value: counts, offsets, total, and they */
};

static const cohort_sets_op ops[] = {COHORT_SETS_AND, COHORT_SETS_OR, COHORT_SETS_ANDNOT, COHORT_SETS_XOR,
                                     COHORT_SETS_AT_LEAST};
static const cohort_look hits[] = {COHORT_LOOK_CONTAINS, COHORT_LOOK_EQUAL, COHORT_LOOK_SUBSET,
                                   COHORT_LOOK_INTERSECTS, COHORT_LOOK_NEXT};

/* The array on the device, where it is already. */
static void *there(struct column *c)
{
    return c->device_block + c->before;
}

static cohort_status query_all(struct test *t, struct works *w)
{
    cohort_status status = COHORT_OK;
    for (int i = 0; i < 6 && !status; i++) {
        cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
        d.op = ops[i % 5];
        d.least = d.op == COHORT_SETS_AT_LEAST ? 2 : 0;
        d.collections = &w->sets;
        d.collections_count = 1;
        d.members = there(w->members);
        d.arity = i < 5 ? ARITY : 1;
        d.each = i == 5;
        d.rows = i < 5 ? ROWS : w->p.n;
        d.counts = there(w->counts[i]);
        if (i == 1) {
            d.any = there(w->any);
            d.any_offset = bitmap_offset(w->any);
            d.first_most = MOST;
            d.first = there(w->first);
            d.first_counts = there(w->first_counts);
        }
        status = cohort_sets_query(t->context, &d);
    }
    return status;
}

static cohort_status look_all(struct works *w)
{
    cohort_status status = COHORT_OK;
    for (int i = 0; i < 6 && !status; i++) {
        cohort_sets_look_desc d = COHORT_SETS_LOOK_INIT;
        int pairs = i && i < 4;
        d.kind = i < 5 ? hits[i] : COHORT_LOOK_RANK;
        d.n = ROWS;
        d.which = there(w->which);
        d.others = pairs ? there(w->others) : NULL;
        d.values = pairs ? NULL : there(w->values);
        d.results = i < 4 ? NULL : there(w->results[i - 4]);
        if (i < 5) {
            d.hit = there(w->hit[i]);
            d.hit_offset = bitmap_offset(w->hit[i]);
        }
        status = cohort_sets_look(w->sets, &d);
    }
    return status;
}

static cohort_status find_all(struct works *w)
{
    cohort_sets_containing_desc d = COHORT_SETS_CONTAINING_INIT;
    d.n = ROWS;
    d.values = there(w->values);
    d.counts = there(w->in_sets[0]);
    d.offsets = there(w->in_sets[1]);
    d.total = there(w->in_sets[2]);
    d.sets = there(w->in_sets[3]);
    d.capacity = w->in_sets[3]->count;
    return cohort_sets_containing(w->sets, &d);
}

static cohort_status do_all(struct test *t, void *of)
{
    struct works *w = of;
    cohort_status status = query_all(t, w);
    if (!status)
        status = look_all(w);
    return status ? status : find_all(w);
}

/* ---- what is asked, and what is due -------------------------------------------------------------------- */

static struct works works_new(struct test *t)
{
    struct works w = {.p = plains_draw(t, 30, 0)};
    w.sets = sets_of(t, &w.p, 0);
    w.members = column_new(t, ROWS * ARITY, 8);
    w.which = column_new(t, ROWS, 8);
    w.others = column_new(t, ROWS, 8);
    w.values = column_new(t, ROWS, 4);
    for (int i = 0; i < 6; i++)
        column_send(w.counts[i] = column_new(t, i < 5 ? ROWS : w.p.n, 8));
    column_send(w.any = bitmap_new(t, ROWS));
    column_send(w.first = column_new(t, ROWS * MOST, 4));
    column_send(w.first_counts = column_new(t, ROWS, 8));
    for (int i = 0; i < 5; i++)
        column_send(w.hit[i] = bitmap_new(t, ROWS));
    column_send(w.results[0] = column_new(t, ROWS, 4));
    column_send(w.results[1] = column_new(t, ROWS, 8));
    const uint64_t entries[] = {ROWS, ROWS + 1, 1, ROWS * w.p.n};
    for (int i = 0; i < 4; i++)
        column_send(w.in_sets[i] = column_new(t, entries[i], 8));
    return w;
}

static void works_end(struct works *w)
{
    cohort_sets_destroy(w->sets);
    plains_free(&w->p);
}

static void new_questions(struct test *t, struct works *w)
{
    for (uint64_t i = 0; i < ROWS * ARITY; i++)
        column_put(w->members, i, test_below(t, w->p.n));
    for (uint64_t i = 0; i < ROWS; i++) {
        uint64_t set = test_below(t, w->p.n);
        const struct plain *p = &w->p.at[set];
        column_put(w->which, i, set);
        column_put(w->others, i, test_below(t, 3) ? test_below(t, w->p.n) : set);
        column_put(w->values, i, p->n && test_below(t, 2) ? p->at[test_below(t, p->n)] : test_random(t));
    }
    struct column *const all[] = {w->members, w->which, w->others, w->values};
    for (int i = 0; i < 4; i++)
        column_send(all[i]);
}

static void judge_row(struct test *t, struct works *w, int i, uint64_t r)
{
    const struct plain *operands[ARITY];
    uint64_t n = i < 5 ? ARITY : 1;
    for (uint64_t k = 0; k < n; k++)
        operands[k] = &w->p.at[column_get(w->members, i < 5 ? r * ARITY + k : k)];
    if (i == 5)
        operands[n++] = &w->p.at[r];
    struct plain due = plain_row(ops[i % 5], 2, operands, n);
    EQUAL(t, column_get(w->counts[i], r), due.n);
    if (i == 1) {
        EQUAL(t, bitmap_get(w->any, r), due.n > 0);
        EQUAL(t, column_get(w->first_counts, r), due.n < MOST ? due.n : MOST);
        for (uint64_t k = 0; k < MOST && k < due.n; k++)
            EQUAL(t, column_get(w->first, r * MOST + k), due.at[k]);
    }
    plain_free(&due);
}

static void judge_question(struct test *t, struct works *w, uint64_t q)
{
    const struct plain *a = &w->p.at[column_get(w->which, q)], *b = &w->p.at[column_get(w->others, q)];
    const struct plain *both[] = {a, b};
    struct plain shared = plain_row(COHORT_SETS_AND, 0, both, 2);
    uint64_t value = column_get(w->values, q), rank = plain_rank(a, value);
    EQUAL(t, bitmap_get(w->hit[0], q), plain_has(a, value));
    EQUAL(t, bitmap_get(w->hit[1], q), plain_same(a, b));
    EQUAL(t, bitmap_get(w->hit[2], q), shared.n == a->n);
    EQUAL(t, bitmap_get(w->hit[3], q), shared.n > 0);
    EQUAL(t, bitmap_get(w->hit[4], q), rank < a->n);
    if (rank < a->n)
        EQUAL(t, column_get(w->results[0], q), a->at[rank]);
    EQUAL(t, column_get(w->results[1], q), rank);
    plain_free(&shared);
}

static void judge_found(struct test *t, struct works *w)
{
    uint64_t at = 0;
    for (int i = 0; i < 4; i++)
        column_fetch(w->in_sets[i]);
    for (uint64_t q = 0; q < ROWS; q++) {
        const uint64_t before = at;
        EQUAL(t, column_get(w->in_sets[1], q), at);
        for (uint64_t set = 0; set < w->p.n; set++)
            if (plain_has(&w->p.at[set], column_get(w->values, q)))
                EQUAL(t, column_get(w->in_sets[3], at++), set);
        EQUAL(t, column_get(w->in_sets[0], q), at - before);
    }
    EQUAL(t, column_get(w->in_sets[1], ROWS), at);
    EQUAL(t, column_get(w->in_sets[2], 0), at);
}

static void judge_all(struct test *t, struct works *w)
{
    judge_found(t, w);
    struct column *const all[] = {w->any,    w->first,  w->first_counts, w->hit[0],     w->hit[1],
                                  w->hit[2], w->hit[3], w->hit[4],       w->results[0], w->results[1]};
    for (int i = 0; i < 10; i++)
        column_fetch(all[i]);
    for (int i = 0; i < 6; i++) {
        column_fetch(w->counts[i]);
        for (uint64_t r = 0; r < w->counts[i]->count; r++)
            judge_row(t, w, i, r);
    }
    for (uint64_t q = 0; q < ROWS; q++)
        judge_question(t, w, q);
}

/* ---- no waiting ---------------------------------------------------------------------------------------- */

/* The driver's functions that a call of fixed room has no use for, counted. */
static const struct cuda_driver *below;
static cohort_context *watched;
static unsigned waits, taken, crossings;

static cuda_result watch_stream(cuda_stream stream)
{
    waits++;
    return below->stream_synchronize(stream);
}

static cuda_result watch_event(cuda_event event)
{
    waits++;
    return below->event_synchronize(event);
}

static cuda_result watch_alloc(cuda_pointer *out, size_t bytes)
{
    taken++;
    return below->mem_alloc(out, bytes);
}

static cuda_result watch_copy(cuda_pointer to, cuda_pointer from, size_t bytes, cuda_stream stream)
{
    crossings += context_memory_kind(watched, (const void *)(uintptr_t)to) != MEMORY_DEVICE ||
                 context_memory_kind(watched, (const void *)(uintptr_t)from) != MEMORY_DEVICE;
    return below->memcpy_async(to, from, bytes, stream);
}

/* The calls, of which one like them has run, with the driver watched. */
static void watch(struct test *t, cohort_status (*calls)(struct test *, void *), void *of)
{
    struct gpu *g = gpu_of(t->context);
    struct cuda_driver counting = *g->driver;
    below = g->driver;
    watched = t->context;
    waits = taken = crossings = 0;
    counting.stream_synchronize = watch_stream;
    counting.event_synchronize = watch_event;
    counting.mem_alloc = watch_alloc;
    counting.memcpy_async = watch_copy;
    g->driver = &counting;
    cohort_status status = calls(t, of);
    const unsigned seen[] = {waits, taken, crossings};
    cohort_status waited = cohort_wait(t->context);
    unsigned after = waits;
    g->driver = below;
    REQUIREF(t, !status && !waited, "%s", cohort_message(t->context));
    REQUIREF(t, !seen[0] && !seen[1] && !seen[2],
             "%u waits, %u pieces of memory, %u copies from or to the host", seen[0], seen[1], seen[2]);
    REQUIRE(t, after); /* they would be seen */
}

static void no_waits(struct test *t)
{
    t->memory = TEST_DEVICE;
    struct works w = works_new(t);
    new_questions(t, &w);
    OK(t, do_all(t, &w)); /* one like it has run */
    OK(t, cohort_wait(t->context));
    judge_all(t, &w);
    new_questions(t, &w);
    OK(t, cohort_wait(t->context));
    watch(t, do_all, &w);
    judge_all(t, &w);
    works_end(&w);
}

/* ---- graphs -------------------------------------------------------------------------------------------- */

static void graphs(struct test *t)
{
    struct test_graph g;
    test_graph_open(t, &g);
    struct works w = works_new(t);
    new_questions(t, &w);
    OK(t, do_all(t, &w)); /* one like it has run */
    OK(t, cohort_wait(t->context));
    judge_all(t, &w);
    OK(t, test_graph_capture(t, &g, do_all, &w));
    for (int i = 0; i < 8; i++) {
        new_questions(t, &w);
        OK(t, cohort_wait(t->context));
        test_graph_launch(t, &g);
        OK(t, cohort_wait(t->context));
        judge_all(t, &w);
    }
    works_end(&w);
    test_graph_close(t, &g);
}

/* ---- changes of a working set -------------------------------------------------------------------------- */

#define CHANGES 3
#define CHUNKS  70

/* A set, the members that it is changed by, and values that are asked for behind the changes. */
struct changes {
    struct working s;
    struct column *members[CHANGES], *values, *hit;
};

static const cohort_set_op changes_ops[CHANGES] = {COHORT_SET_ADD, COHORT_SET_REMOVE, COHORT_SET_FLIP};

static cohort_status change_all(struct test *t, void *of)
{
    struct changes *c = of;
    cohort_status status = COHORT_OK;
    (void)t;
    for (int i = 0; i < CHANGES && !status; i++) {
        cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
        d.type = c->s.wide ? COHORT_U64 : COHORT_U32;
        d.n = c->members[i]->count;
        d.members = there(c->members[i]);
        status = cohort_set_update(c->s.set, changes_ops[i], &d);
    }
    return status ? status : cohort_set_contains(c->s.set, c->values->count, there(c->values), there(c->hit));
}

/* Of few chunks, so that what one change does matters to the next. */
static uint64_t near_member(struct test *t)
{
    return test_below(t, CHUNKS) << 16 | test_below(t, 40);
}

static struct changes changes_new(struct test *t, int wide, cohort_set_layout layout)
{
    struct changes c;
    const uint64_t n = test_size(t, 2000, 150);
    int flat = layout == COHORT_SET_FLAT;
    working_open(t, &c.s, wide, layout, flat ? CHUNKS << 16 : 0, flat ? 0 : CHUNKS);
    for (int i = 0; i < CHANGES; i++)
        c.members[i] = column_new(t, n, wide ? 8 : 4);
    c.values = column_new(t, 100, wide ? 8 : 4);
    column_send(c.hit = bitmap_at_byte(t, 100));
    /* A change that waits makes room for what the directory has above its chunks. */
    working_step(&c.s, COHORT_SET_ADD, 0, CHUNKS, 0, COHORT_OK);
    return c;
}

static void new_changes(struct test *t, struct changes *c)
{
    for (int i = 0; i < CHANGES; i++) {
        for (uint64_t k = 0; k < c->members[i]->count; k++)
            column_put(c->members[i], k, near_member(t));
        column_send(c->members[i]);
    }
    for (uint64_t k = 0; k < c->values->count; k++)
        column_put(c->values, k, near_member(t));
    column_send(c->values);
    OK(t, cohort_wait(t->context));
}

/* So often were the changes made. */
static void judge_changes(struct changes *c, int times)
{
    for (int i = 0; i < CHANGES * times; i++) {
        const struct column *members = c->members[i % CHANGES];
        uint64_t n = members->count, *ids = malloc(n * sizeof *ids);
        REQUIRE(c->s.t, ids);
        for (uint64_t k = 0; k < n; k++)
            ids[k] = column_get(members, k);
        struct plain p = plain_of(ids, n);
        free(ids);
        working_change_due(&c->s, changes_ops[i % CHANGES], &p);
        plain_free(&p);
    }
    working_judge(&c->s, "changes");
    column_fetch(c->hit);
    for (uint64_t k = 0; k < c->values->count; k++)
        EQUAL(c->s.t, bitmap_get(c->hit, k), plain_has(&c->s.due, column_get(c->values, k)));
}

static void changes_no_waits(struct test *t)
{
    t->memory = TEST_DEVICE;
    for (int kind = 0; kind < 3; kind++) {
        struct changes c = changes_new(t, kind == 1, kind == 2 ? COHORT_SET_FLAT : COHORT_SET_CHUNKS);
        new_changes(t, &c);
        OK(t, change_all(t, &c)); /* one like it has run */
        OK(t, cohort_wait(t->context));
        judge_changes(&c, 1);
        new_changes(t, &c);
        watch(t, change_all, &c);
        judge_changes(&c, 1);
        working_close(&c.s);
    }
}

/* Launches follow each other without a wait, too. */
static void changes_graphs(struct test *t)
{
    for (int kind = 0; kind < 3; kind++) {
        struct test_graph g;
        test_graph_open(t, &g);
        struct changes c = changes_new(t, kind == 1, kind == 2 ? COHORT_SET_FLAT : COHORT_SET_CHUNKS);
        new_changes(t, &c);
        OK(t, change_all(t, &c)); /* one like it has run */
        OK(t, cohort_wait(t->context));
        judge_changes(&c, 1);
        OK(t, test_graph_capture(t, &g, change_all, &c));
        for (int i = 0; i < 4; i++) {
            int times = 1 + (int)test_below(t, 2);
            new_changes(t, &c);
            for (int k = 0; k < times; k++)
                test_graph_launch(t, &g);
            OK(t, cohort_wait(t->context));
            judge_changes(&c, times);
        }
        working_close(&c.s);
        test_graph_close(t, &g);
    }
}

#define GPU (TEST_ON_SIM | TEST_ON_CUDA)

const struct test_case test_cases[] = {
    {"no_waits", no_waits, GPU},
    {"graphs", graphs, GPU},
    {"changes_no_waits", changes_no_waits, GPU},
    {"changes_graphs", changes_graphs, GPU},
    {NULL, NULL, 0},
};
