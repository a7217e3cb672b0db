/* test_set.c: working sets against plain sorted arrays: updates from all forms, pools that run out, copies,
 * lookups, wrong arguments. After each call a set is judged whole: members, chunks, blocks in use. */
#include "cohort/device/set.h"
#include "working.h"

static void updates(struct test *t)
{
    uint64_t rounds = test_scale(t, 8, test_size(t, 60, 10), test_size(t, 300, 40));
    for (uint64_t round = 0; round < rounds; round++) {
        if (!test_drawn(t, round, test_size(t, 1, 4)))
            continue;
        struct working s;
        working_draw(t, &s, (int)test_below(t, 2));
        for (int step = 0; step < 8; step++) {
            cohort_set_op op = (cohort_set_op)(COHORT_SET_ADD + test_below(t, 3));
            struct plain p = working_draw_change(&s);
            if (s.due.n && !test_below(t, 4)) { /* what it has, or a part of it */
                plain_free(&p);
                p = plain_copy(&s.due);
                p.n -= test_below(t, 2) ? test_below(t, p.n) : 0;
            }
            OK(t, working_change(&s, op, &p));
            working_change_due(&s, op, &p);
            working_judge(&s, working_ops[op]);
            plain_free(&p);
        }
        if (test_below(t, 2)) {
            OK(t, cohort_set_clear(s.set));
            s.due.n = 0;
            working_judge(&s, "clear");
        }
        working_close(&s);
    }
}

/* ---- pools --------------------------------------------------------------------------------------------- */

/* All blocks, no more, and all of them again. */
static void pools(struct test *t)
{
    for (int wide = 0; wide < 2; wide++) {
        if (!test_drawn(t, (uint64_t)wide, test_size(t, 1, 2)))
            continue;
        uint64_t n = 5 + test_below(t, 4);
        struct working s;
        working_open(t, &s, wide, COHORT_SET_CHUNKS, 0, n);
        EQUAL(t, s.blocks, n);
        for (int round = 0; round < 3; round++) {
            working_step(&s, COHORT_SET_ADD, 60, n, 0, COHORT_OK);
            working_step(&s, COHORT_SET_ADD, 59, 1, 0, COHORT_FULL);
            working_step(&s, COHORT_SET_FLIP, 60 + n, 2, 0, COHORT_FULL);
            working_step(&s, COHORT_SET_ADD, 61, 1, 1, COHORT_OK);    /* full: its block goes back, */
            working_step(&s, COHORT_SET_REMOVE, 61, 1, 0, COHORT_OK); /* and is needed again */
            working_step(&s, COHORT_SET_ADD, 61, 2, 1, COHORT_OK);
            working_step(&s, COHORT_SET_ADD, 100, 2, 0, COHORT_OK);
            working_step(&s, COHORT_SET_REMOVE, 61, 1, 0, COHORT_FULL);
            working_step(&s, COHORT_SET_FLIP, 61, 2, 1, COHORT_OK);
            working_step(&s, COHORT_SET_ADD, 200, 1, 1, COHORT_OK); /* takes none */
            struct plain all = plain_copy(&s.due);
            OK(t, working_change(&s, COHORT_SET_FLIP, &all));
            working_change_due(&s, COHORT_SET_FLIP, &all);
            working_judge(&s, "emptied");
            EQUAL(t, s.due.n, 0);
            plain_free(&all);
        }
        working_close(&s);
    }
}

/* Leaves of the directory are made and given back at their borders. */
static void borders(struct test *t)
{
    for (int round = 0; round < 3; round++) {
        if (!test_drawn(t, (uint64_t)round, test_size(t, 1, 3)))
            continue;
        struct working s;
        working_open(t, &s, 1, COHORT_SET_CHUNKS, 0, 200);
        for (uint64_t chunks = 63; chunks <= 65; chunks++) {
            uint64_t first = round == 0 ? 0 : round == 1 ? (1ull << 30) - 1 : (1ull << 48) - chunks;
            working_step(&s, COHORT_SET_ADD, first, chunks, 0, COHORT_OK);
            struct plain ends = plain_of((const uint64_t[]){0, UINT32_MAX, UINT64_MAX}, 3);
            OK(t, working_change(&s, COHORT_SET_FLIP, &ends));
            working_change_due(&s, COHORT_SET_FLIP, &ends);
            working_judge(&s, "ends");
            plain_free(&ends);
            struct plain all = plain_copy(&s.due);
            OK(t, working_change(&s, COHORT_SET_REMOVE, &all));
            working_change_due(&s, COHORT_SET_REMOVE, &all);
            plain_free(&all);
            working_judge(&s, "emptied");
        }
        working_close(&s);
    }
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static void add_some(struct working *s, int times)
{
    for (int k = 0; k < times; k++) {
        struct plain p = working_draw_change(s);
        OK(s->t, working_change(s, COHORT_SET_ADD, &p));
        working_change_due(s, COHORT_SET_ADD, &p);
        plain_free(&p);
    }
}

/* A device's view is for its kernels; cohort_set_contains asks by it. Many values differ from a member in one
 * bit: beyond the limit too, where the directory has a chunk of the same digits. */
static void ask_contains(struct working *s)
{
    struct test *t = s->t;
    uint64_t n = test_below(t, 500), most = s->wide ? UINT64_MAX : UINT32_MAX;
    struct column *values = column_new(t, n, s->wide ? 8 : 4), *hit = bitmap_at_byte(t, n);
    cohort_set_view view;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t near = s->due.n ? s->due.at[test_below(t, s->due.n)] + test_below(t, 3) - 1 : 0;
        near ^= test_below(t, 2) ? 1ull << test_below(t, s->wide ? 64 : 32) : 0;
        column_put(values, i, (test_below(t, 5) ? near : test_random(t)) & most);
    }
    bitmap_soil(hit);
    OK(t, cohort_set_contains(s->set, n, column_send(values), column_send(hit)));
    column_fetch(hit);
    bitmap_edges(hit);
    if (test_below(t, 2)) { /* a CPU's blocks may be arrays until somebody asks for a view */
        for (uint64_t i = 0; i < n; i++)
            REQUIRE(t, bitmap_get(hit, i) == plain_has(&s->due, column_get(values, i)));
        column_drop(t, NULL);
        return;
    }
    OK(t, cohort_set_get_view(s->set, &view));
    REQUIRE(t, view.wide == (co_u32)s->wide && view.limit == s->limit && view.nodes && view.blocks);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = column_get(values, i);
        REQUIREF(t, bitmap_get(hit, i) == plain_has(&s->due, v), "%llu is in: %d", (unsigned long long)v,
                 bitmap_get(hit, i));
        REQUIRE(t, t->kind != TEST_CPU || co_set_contains(&view, v) == plain_has(&s->due, v));
    }
    column_drop(t, NULL);
}

/* After each change: the directory grows meanwhile, and at last shrinks. */
static void contains(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 4, test_size(t, 30, 4), 100); round++) {
        struct working s;
        if (round)
            working_draw(t, &s, (int)test_below(t, 2));
        else
            working_open(t, &s, (int)test_below(t, 2), COHORT_SET_CHUNKS, 9000000, 0);
        add_some(&s, 1);
        ask_contains(&s);
        add_some(&s, 2);
        ask_contains(&s);
        struct plain p = plain_copy(&s.due);
        p.n -= p.n ? test_below(t, p.n) : 0;
        OK(t, working_change(&s, COHORT_SET_REMOVE, &p));
        working_change_due(&s, COHORT_SET_REMOVE, &p);
        plain_free(&p);
        ask_contains(&s);
        OK(t, cohort_set_clear(s.set));
        s.due.n = 0;
        ask_contains(&s);
        working_close(&s);
    }
}

static void copies(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 4, test_size(t, 30, 4), 100); round++) {
        int wide = (int)test_below(t, 2);
        struct working from, to;
        working_open(t, &from, wide, COHORT_SET_CHUNKS, 0, 300);
        working_draw(t, &to, wide);
        struct plain p = working_draw_change(&from), q = working_draw_change(&to);
        OK(t, working_change(&from, COHORT_SET_ADD, &p));
        working_change_due(&from, COHORT_SET_ADD, &p);
        OK(t, working_change(&to, COHORT_SET_ADD, &q));
        working_change_due(&to, COHORT_SET_ADD, &q);
        int fits = !p.n || working_below(&to, p.at[p.n - 1]);
        STATUS(t, cohort_set_copy(to.set, from.set), fits ? COHORT_OK : COHORT_RANGE);
        if (fits) {
            plain_free(&to.due);
            to.due = plain_copy(&from.due);
        }
        working_judge(&to, "copy");
        working_judge(&from, "what was copied");
        OK(t, cohort_set_copy(to.set, to.set));
        working_judge(&to, "copy of itself");
        plain_free(&p);
        plain_free(&q);
        working_close(&from);
        working_close(&to);
    }
}

/* A change makes room for the nodes of the directory that it needs: those that the way to one chunk shares
 * with the way to another one count once. */
static void directory(struct test *t)
{
    enum { CHUNKS = 250, BLOCKS = 300, OWN = 6 }; /* nodes below what leads to other chunks too */
    const uint64_t first = 1024 + BLOCKS / 16, apart = 1ull << (16 + 6 * OWN);
    uint64_t at[CHUNKS], nodes = CHUNKS * OWN + (CHUNKS + 63) / 64 + 1, node = sizeof(struct co_set_node) + 4;
    cohort_set_info info = COHORT_SET_INFO_INIT;
    struct working s;
    working_open(t, &s, 1, COHORT_SET_CHUNKS, 0, BLOCKS);
    const uint64_t fixed = 256 + BLOCKS * (CO_CHUNK_BYTES + (t->kind == TEST_CPU ? 132 : 4));
    for (uint64_t i = 0; i < CHUNKS; i++)
        at[i] = i * apart + test_below(t, apart);
    OK(t, cohort_set_get_info(s.set, &info));
    EQUAL(t, info.bytes, fixed + first * node);
    for (int round = 0; round < 2; round++) { /* the second finds them */
        struct plain p = plain_of(at, CHUNKS);
        OK(t, working_change(&s, COHORT_SET_ADD, &p));
        working_change_due(&s, COHORT_SET_ADD, &p);
        OK(t, cohort_set_get_info(s.set, &info));
        REQUIRE(t, nodes > first && nodes < 2 * first);
        EQUAL(t, info.bytes, fixed + 2 * first * node);
        working_judge(&s, "far apart");
        ask_contains(&s);
        OK(t, working_change(&s, COHORT_SET_REMOVE, &p));
        working_change_due(&s, COHORT_SET_REMOVE, &p);
        working_judge(&s, "gone");
        plain_free(&p);
    }
    working_close(&s);
}

/* Sets below 2^32 have all nodes that there can be, however few blocks: where the directory lies stays. */
static void all_nodes(struct test *t)
{
    static const uint64_t most = (1 << 10) + (1 << 4) + 1, node = sizeof(struct co_set_node) + 4;
    const uint64_t first = 0, last = UINT32_MAX,
                   fixed = 256 + CO_CHUNK_BYTES + (t->kind == TEST_CPU ? 132 : 4);
    for (int wide = 0; wide < 2; wide++) {
        struct working s;
        cohort_set_info info = COHORT_SET_INFO_INIT;
        cohort_set_view before, after;
        cohort_sets_source all = COHORT_SETS_SOURCE_INIT;
        working_open(t, &s, wide, COHORT_SET_CHUNKS, 1ull << 32, 1);
        OK(t, cohort_set_get_view(s.set, &before));
        all.form = COHORT_FORM_RANGES;
        all.type = wide ? COHORT_U64 : COHORT_U32;
        all.n = 1;
        all.members = &first;
        all.lasts = &last;
        if (t->kind != TEST_SIM) /* where 2^16 chunks take long */
            OK(t, cohort_set_update(s.set, COHORT_SET_ADD, &all));
        OK(t, cohort_set_get_view(s.set, &after));
        OK(t, cohort_set_get_info(s.set, &info));
        CHECK(t, before.nodes == after.nodes);
        EQUAL(t, info.bytes, fixed + most * node);
        EQUAL(t, info.full, t->kind != TEST_SIM ? 1 << 16 : 0);
        working_close(&s);
    }
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static void options(struct test *t)
{
    cohort_set_options o = COHORT_SET_OPTIONS_INIT;
    cohort_set *set = (cohort_set *)&o;
    STATUS(t, cohort_set_create(NULL, &o, &set), COHORT_NULL);
    FAILS(t, t->context, cohort_set_create(t->context, NULL, &set), COHORT_NULL, "options", NULL);
    FAILS(t, t->context, cohort_set_create(t->context, &o, NULL), COHORT_NULL, "out", NULL);
    o.type = COHORT_I32;
    FAILS(t, t->context, cohort_set_create(t->context, &o, &set), COHORT_RANGE, "options.type", NULL);
    REQUIRE(t, !set);
    o.type = COHORT_U32;
    o.layout = (cohort_set_layout)3;
    FAILS(t, t->context, cohort_set_create(t->context, &o, &set), COHORT_RANGE, "options.layout", "3");
    o.layout = COHORT_SET_CHOSEN;
    o.limit = (1ull << 32) + 1;
    FAILS(t, t->context, cohort_set_create(t->context, &o, &set), COHORT_RANGE, "options.limit",
          "4294967297");
    o.type = COHORT_U64;
    o.layout = COHORT_SET_FLAT;
    FAILS(t, t->context, cohort_set_create(t->context, &o, &set), COHORT_RANGE, "options.limit",
          "4294967297");
    o.limit = 0;
    FAILS(t, t->context, cohort_set_create(t->context, &o, &set), COHORT_RANGE, "options.limit", "0");
    o.limit = 100;
    o.blocks = 7;
    FAILS(t, t->context, cohort_set_create(t->context, &o, &set), COHORT_RANGE, "options.blocks", "7");
    o.layout = COHORT_SET_CHUNKS;
    o.blocks = UINT32_MAX;
    FAILS(t, t->context, cohort_set_create(t->context, &o, &set), COHORT_RANGE, "options.blocks",
          "4294967295");
    o.size = 4;
    STATUS(t, cohort_set_create(t->context, &o, &set), COHORT_BAD_STRUCT);
    cohort_set_destroy(NULL);
}

static void arguments(struct test *t)
{
    struct working s;
    cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
    struct column *c = column_new(t, 2, 4), *groups = column_new(t, 2, 4);
    cohort_set *none[1] = {NULL};
    working_open(t, &s, 0, COHORT_SET_CHOSEN, 100, 0);
    column_put(c, 0, 99);
    column_put(c, 1, 7);
    column_put(groups, 0, 0);
    column_put(groups, 1, 1);
    d.n = 2;
    d.members = column_send(c);
    OK(t, cohort_set_update(s.set, COHORT_SET_ADD, &d));
    plain_free(&s.due);
    s.due = plain_of((const uint64_t[]){7, 99}, 2);
    working_judge(&s, "add");
    STATUS(t, cohort_set_update(NULL, COHORT_SET_ADD, &d), COHORT_NULL);
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_ADD, NULL), COHORT_NULL, "source", NULL);
    FAILS(t, t->context, cohort_set_update(s.set, (cohort_set_op)4, &d), COHORT_RANGE, "op", "4");
    d.type = COHORT_U64;
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_ADD, &d), COHORT_RANGE, "source.type", NULL);
    d.type = COHORT_U32;
    d.groups = column_send(groups);
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_FLIP, &d), COHORT_RANGE, "source", "2");
    d.groups = NULL;
    column_put(c, 0, 100);
    d.members = column_send(c);
    for (cohort_set_op op = COHORT_SET_ADD; op <= COHORT_SET_FLIP; op++) {
        if (t->memory == TEST_HOST) {
            FAILS(t, t->context, cohort_set_update(s.set, op, &d), COHORT_RANGE, "limit", "100");
        } else {
            OK(t, cohort_set_update(s.set, op, &d));
            FAILS(t, t->context, cohort_wait(t->context), COHORT_RANGE, "limit", NULL);
        }
        OK(t, cohort_wait(t->context));
    }
    d.form = COHORT_FORM_WORKING;
    d.n = 1;
    d.members = none;
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_ADD, &d), COHORT_NULL, "source.members[0]",
          NULL);
    d.members = NULL;
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_ADD, &d), COHORT_NULL, "source.members", NULL);
    STATUS(t, cohort_set_clear(NULL), COHORT_NULL);
    STATUS(t, cohort_set_copy(NULL, s.set), COHORT_NULL);
    FAILS(t, t->context, cohort_set_copy(s.set, NULL), COHORT_NULL, "from", NULL);
    FAILS(t, t->context, cohort_set_export(s.set, NULL), COHORT_NULL, "target", NULL);
    STATUS(t, cohort_set_export(NULL, NULL), COHORT_NULL);
    FAILS(t, t->context, cohort_set_get_info(s.set, NULL), COHORT_NULL, "info", NULL);
    FAILS(t, t->context, cohort_set_get_view(s.set, NULL), COHORT_NULL, "view", NULL);
    FAILS(t, t->context, cohort_set_contains(s.set, 1, NULL, NULL), COHORT_NULL, "values", NULL);
    STATUS(t, cohort_set_contains(NULL, 0, NULL, NULL), COHORT_NULL);
    OK(t, cohort_set_contains(s.set, 0, NULL, NULL));
    FAILS(t, t->context, cohort_set_contains(s.set, UINT64_MAX / 8, column_send(c), NULL), COHORT_OVERFLOW,
          "n", NULL);
    working_judge(&s, "after errors");
    working_close(&s);
}

const struct test_case test_cases[] = {
    {"updates", updates, TEST_EACH_MEMORY},
    {"pools", pools, 0},
    {"borders", borders, 0},
    {"contains", contains, TEST_EACH_MEMORY},
    {"copies", copies, 0},
    {"directory", directory, 0},
    {"all nodes", all_nodes, 0},
    {"options", options, 0},
    {"arguments", arguments, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
