/* test_set_pool.c: the pool of a working set. After each change its memory is read as it lies there: every
 * block and every node is in its ring once, or in the directory once. Where blocks run out nothing at all has
 * changed, wherever that is. */
#include <stdlib.h>

#include "inside.h"

/* ---- changes ------------------------------------------------------------------------------------------- */

static void change(struct working *s, cohort_set_op op, const struct plain *p)
{
    OK(s->t, working_change(s, op, p));
    working_change_due(s, op, p);
    inside_judge(s);
}

static void every_number(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 10, test_size(t, 60, 10), test_size(t, 400, 40));
         round++) {
        if (!test_drawn(t, round, test_size(t, 1, 5)))
            continue;
        struct working s;
        working_draw(t, &s, (int)test_below(t, 2));
        inside_judge(&s);
        for (int step = 0; step < 6; step++) {
            struct plain p = working_draw_change(&s);
            change(&s, (cohort_set_op)(COHORT_SET_ADD + test_below(t, 3)), &p);
            plain_free(&p);
        }
        working_judge(&s, "changed");
        struct plain all = plain_copy(&s.due);
        change(&s, COHORT_SET_REMOVE, &all);
        plain_free(&all);
        struct inside in = inside_look(t, s.set);
        EQUAL(t, in.words.blocks.given - in.words.blocks.taken, in.block_room);
        EQUAL(t, in.words.nodes.given - in.words.nodes.taken, in.node_room - 1);
        inside_leave(&in);
        struct plain p = working_draw_change(&s);
        change(&s, COHORT_SET_FLIP, &p);
        plain_free(&p);
        OK(t, cohort_set_clear(s.set));
        s.due.n = 0;
        inside_judge(&s);
        working_close(&s);
    }
}

/* Rings go round many times, with few numbers. */
static void round_and_round(struct test *t)
{
    struct working s;
    working_open(t, &s, 1, COHORT_SET_CHUNKS, 0, 3);
    for (uint64_t round = 0; round < test_scale(t, 20, test_size(t, 100, 20), test_size(t, 1000, 80));
         round++) {
        uint64_t chunk = test_below(t, 2) ? test_below(t, 1ull << 48) : round, at[3];
        for (int i = 0; i < 3; i++)
            at[i] = (chunk << 16) + (test_below(t, 2) ? test_below(t, 65536) : test_below(t, 3) << 16);
        struct plain p = plain_of(at, 3);
        change(&s, test_below(t, 2) ? COHORT_SET_ADD : COHORT_SET_FLIP, &p);
        plain_free(&p);
        struct plain all = plain_copy(&s.due);
        change(&s, COHORT_SET_FLIP, &all);
        plain_free(&all);
        if (test_below(t, 4) == 0) { /* the slots that were written are zeros again */
            OK(t, cohort_set_clear(s.set));
            inside_judge(&s);
        }
    }
    working_close(&s);
}

/* What a change says that it needs: nodes on the way to several chunks once. */
static void needs(struct test *t)
{
    enum { CHUNKS = 150, OWN = 6 }; /* nodes below what leads to other chunks too */
    const uint64_t apart = 1ull << (16 + 6 * OWN);
    for (int last = 0; last < 2; last++) {
        uint64_t at[CHUNKS + 1], n = 0;
        struct working s;
        working_open(t, &s, 1, COHORT_SET_CHUNKS, 0, 300);
        for (uint64_t i = 0; i < CHUNKS; i++)
            at[n++] = i * apart + test_below(t, apart / 2);
        at[n] = at[n - 1] + (1 << 16);
        n += (uint64_t)last;
        struct plain p = plain_of(at, n);
        change(&s, COHORT_SET_ADD, &p);
        struct inside in = inside_look(t, s.set);
        EQUAL(t, in.words.asked[0], n);
        const int same = at[CHUNKS - 1] >> 22 == at[n - 1] >> 22; /* a leaf, or one that is new */
        REQUIRE(t, in.words.asked[1] == CHUNKS * OWN + 3 || (!same && in.words.asked[1] > CHUNKS * OWN + 3));
        inside_leave(&in);
        plain_free(&p);
        working_close(&s);
    }
}

/* ---- exhaustion ---------------------------------------------------------------------------------------- */

/* A change that needs `need` blocks, in a set that has `left`. */
static void run_out(struct test *t, uint64_t need, uint64_t left, cohort_set_op op)
{
    const uint64_t had = 2, blocks = had + left, far = test_below(t, 2) ? 1 : 1ull << 20;
    uint64_t at[16];
    struct working s;
    working_open(t, &s, 1, COHORT_SET_CHUNKS, 0, blocks);
    for (uint64_t i = 0; i < had; i++)
        at[i] = (i * far << 16) + test_below(t, 65536);
    struct plain p = plain_of(at, had);
    change(&s, COHORT_SET_ADD, &p);
    plain_free(&p);
    for (uint64_t i = 0; i < need + 1; i++) /* one of a chunk that is there */
        at[i] = ((had - 1 + i) * far << 16) + test_below(t, 65536);
    p = plain_of(at, need + 1);
    struct inside before = inside_look(t, s.set);
    STATUS(t, working_change(&s, op, &p), need > left ? COHORT_FULL : COHORT_OK);
    if (need > left) {
        struct inside after = inside_look(t, s.set);
        inside_same(t, &before, &after);
        inside_leave(&after);
    } else {
        working_change_due(&s, op, &p);
    }
    inside_judge(&s);
    working_judge(&s, "run out");
    inside_leave(&before);
    plain_free(&p);
    working_close(&s);
}

static void exhaustion(struct test *t)
{
    for (uint64_t need = 1; need < 6; need++)
        for (uint64_t left = 0; left <= need; left++)
            run_out(t, need, left, test_below(t, 2) ? COHORT_SET_ADD : COHORT_SET_FLIP);
}

/* ---- without a wait ------------------------------------------------------------------------------------ */

/* Enqueues an update by members in no order, many of them twice, in the device's memory. */
static void enqueue(struct working *s, cohort_set_op op, const struct plain *p)
{
    struct test *t = s->t;
    cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
    struct column *c = column_new(t, 2 * p->n, s->wide ? 8 : 4);
    for (uint64_t i = 0; i < 2 * p->n; i++)
        column_put(c, i, p->at[i < p->n ? i * 7919 % p->n : test_below(t, p->n)]);
    for (uint64_t i = 0; i < p->n; i++) /* each is there */
        column_put(c, 2 * i + test_below(t, 2), p->at[i]);
    for (uint64_t i = 2 * p->n; i > 1; i--) {
        uint64_t j = test_below(t, i), v = column_get(c, j);
        column_put(c, j, column_get(c, i - 1));
        column_put(c, i - 1, v);
    }
    d.type = s->wide ? COHORT_U64 : COHORT_U32;
    d.n = 2 * p->n;
    d.members = column_send(c);
    OK(t, cohort_set_update(s->set, op, &d));
}

/* Several updates that nobody waits for; one of them may be refused, and changes nothing. */
static void without_a_wait(struct test *t)
{
    if (t->memory != TEST_DEVICE)
        test_skip(t, "where arrays are the host's, updates wait");
    for (uint64_t round = 0; round < test_scale(t, 6, test_size(t, 40, 6), test_size(t, 200, 24)); round++) {
        struct working s;
        const uint64_t limit = test_below(t, 2) ? 40 << 16 | 77 : 0, blocks = 24;
        cohort_status due = COHORT_OK;
        working_open(t, &s, (int)test_below(t, 2), COHORT_SET_CHUNKS, limit, blocks);
        for (int step = 0; step < 5; step++) {
            uint64_t at[64], n = 1 + test_below(t, 60), far = test_below(t, 4) ? 1 : test_below(t, 1 << 10);
            int refused = due == COHORT_OK && step > 1 && !test_below(t, 3);
            for (uint64_t i = 0; i < n; i++)
                at[i] = (test_below(t, 12) * far << 16 | test_below(t, 65536)) % (limit ? limit : 1ull << 32);
            if (refused && limit)
                at[n++] = limit + test_below(t, 1 << 20);
            else if (refused)
                for (n = 0; n < blocks + 1; n++) /* a chunk each, not there before */
                    at[n] = (20000 + n) << 16 | n;
            struct plain p = plain_of(at, n);
            cohort_set_op op = (cohort_set_op)(COHORT_SET_ADD + test_below(t, 3));
            op = refused ? COHORT_SET_ADD : op;
            struct plain after = plain_copy(&s.due);
            if (!refused) {
                struct working next = {.due = after};
                working_change_due(&next, op, &p);
                after = next.due;
            }
            uint64_t chunks = 0;
            for (uint64_t i = 0; i < s.due.n; i++)
                chunks += !i || s.due.at[i] >> 16 != s.due.at[i - 1] >> 16;
            if (refused || chunks + 12 <= blocks) { /* there are blocks left for it */
                enqueue(&s, op, &p);
                plain_free(&s.due);
                s.due = after;
                due = refused ? (limit ? COHORT_RANGE : COHORT_FULL) : due;
            } else {
                plain_free(&after);
            }
            plain_free(&p);
        }
        STATUS(t, cohort_wait(t->context), due);
        inside_judge(&s);
        working_judge(&s, "without a wait");
        OK(t, cohort_wait(t->context));
        working_close(&s);
        column_drop(t, NULL);
    }
}

/* A member that is not below the limit, wherever it is. */
static void beyond(struct test *t)
{
    static const uint64_t limits[] = {1, 77, 65535, 65536, 65537, 1 << 22, (1 << 22) + 1};
    for (int i = 0; i < 28; i++) {
        const uint64_t limit = limits[i % 7];
        struct working s;
        if (t->memory != TEST_DEVICE)
            test_skip(t, "where arrays are the host's, updates wait");
        working_open(t, &s, i / 7 % 2, i < 14 ? COHORT_SET_CHUNKS : COHORT_SET_FLAT, limit, 0);
        struct plain p = plain_of((const uint64_t[]){0, limit - 1, limit / 2}, 3);
        struct plain q = plain_of((const uint64_t[]){0, limit - 1, limit + test_below(t, 2) * 70000}, 3);
        enqueue(&s, COHORT_SET_ADD, &q);
        enqueue(&s, COHORT_SET_FLIP, &p);
        enqueue(&s, COHORT_SET_REMOVE, &q);
        FAILS(t, t->context, cohort_wait(t->context), COHORT_RANGE, "limit", NULL);
        working_change_due(&s, COHORT_SET_ADD, &p);
        inside_judge(&s);
        working_judge(&s, "beyond");
        plain_free(&p);
        plain_free(&q);
        working_close(&s);
    }
}

/* Nodes run out: nothing changes, until an update that waits makes room for more. */
static void nodes_run_out(struct test *t)
{
    enum { CHUNKS = 200 };
    uint64_t at[CHUNKS];
    struct working s;
    if (t->memory != TEST_DEVICE)
        test_skip(t, "where arrays are the host's, updates wait");
    working_open(t, &s, 1, COHORT_SET_CHUNKS, 0, CHUNKS);
    for (uint64_t i = 0; i < CHUNKS; i++)
        at[i] = i << 56 | test_below(t, 1ull << 56);
    struct plain p = plain_of(at, CHUNKS);
    struct inside before = inside_look(t, s.set);
    enqueue(&s, COHORT_SET_ADD, &p);
    FAILS(t, t->context, cohort_wait(t->context), COHORT_FULL, "nodes", NULL);
    struct inside after = inside_look(t, s.set);
    inside_same(t, &before, &after);
    inside_judge(&s);
    change(&s, COHORT_SET_ADD, &p);
    enqueue(&s, COHORT_SET_FLIP, &p);
    OK(t, cohort_wait(t->context));
    s.due.n = 0;
    inside_judge(&s);
    working_judge(&s, "emptied");
    inside_leave(&before);
    inside_leave(&after);
    plain_free(&p);
    working_close(&s);
}

/* ---- in place ------------------------------------------------------------------------------------------ */

/* The answer of two operands, one of which it goes into; the other is a working set, or of a collection. */
static cohort_status query_two(struct working *a, struct working *b, cohort_sets *sets, uint64_t member,
                               cohort_sets_op op, int second)
{
    struct test *t = a->t;
    cohort_set *working[2] = {b ? b->set : a->set, a->set};
    uint64_t before = sets ? sets->counts.sets : 0;
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    struct column *members = column_new(t, 2, 8), *offsets = column_new(t, 2, 8);
    column_put(members, (uint64_t)second, before + 1);
    column_put(members, (uint64_t)!second, sets ? member : b ? 0 : before + 1);
    column_put(offsets, 0, 0);
    column_put(offsets, 1, 2);
    d.op = op;
    d.collections = &sets;
    d.collections_count = sets != NULL;
    d.working = working;
    d.working_count = 2;
    d.rows = 1;
    d.members = column_send(members);
    if (test_below(t, 2))
        d.offsets = column_send(offsets);
    else
        d.arity = 2;
    d.into = a->set;
    return cohort_sets_query(t->context, &d);
}

static cohort_sets_op any_op(struct test *t)
{
    return (cohort_sets_op)(COHORT_SETS_AND + test_below(t, 4));
}

static void judge_two(struct working *a, const struct plain *other, struct working *b, cohort_sets *sets,
                      uint64_t member, cohort_sets_op op)
{
    struct test *t = a->t;
    int second = (int)test_below(t, 2);
    const struct plain *operands[2] = {second ? other : &a->due, second ? &a->due : other};
    struct plain due = plain_row(op, 0, operands, 2);
    int fits = !due.n || working_below(a, due.at[due.n - 1]);
    STATUS(t, query_two(a, b, sets, member, op, second), fits ? COHORT_OK : COHORT_RANGE);
    if (fits) {
        plain_free(&a->due);
        a->due = due;
    } else {
        plain_free(&due);
    }
    working_judge(a, "in place");
    inside_judge(a);
}

static void in_place(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 5, test_size(t, 100, 12), test_size(t, 500, 48));
         round++) {
        if (!test_drawn(t, round, test_size(t, 1, 5)))
            continue;
        struct working a, b;
        working_draw(t, &a, (int)test_below(t, 2));
        working_open(t, &b, a.wide, COHORT_SET_CHUNKS, test_below(t, 2) ? a.limit : 0, 300);
        for (int step = 0; step < 4; step++) {
            struct plain p = working_draw_change(&a), q = working_draw_change(step % 2 ? &a : &b);
            struct plains both = {(struct plain[]){q, p}, 2, a.wide};
            change(&a, COHORT_SET_ADD, &p);
            OK(t, cohort_set_clear(b.set));
            b.due.n = 0;
            change(&b, COHORT_SET_FLIP, &q);
            judge_two(&a, &b.due, &b, NULL, 0, any_op(t));
            working_judge(&b, "an operand");
            cohort_sets *sets = sets_of(t, &both, 0);
            uint64_t member = test_below(t, 2);
            judge_two(&a, &both.at[member], NULL, sets, member, any_op(t));
            struct plain same = plain_copy(&a.due);
            if (step % 2) /* by itself */
                judge_two(&a, &same, NULL, NULL, 0, any_op(t));
            cohort_sets_destroy(sets);
            plain_free(&same);
            plain_free(&p);
            plain_free(&q);
        }
        working_close(&a);
        working_close(&b);
    }
}

/* Chunks that are full, partly filled or absent meet those of all kinds, with every operation, of another
 * working set or of a collection. */
static void in_place_whole(struct test *t)
{
    for (int round = 0; round < 16; round++) {
        cohort_sets_op op = (cohort_sets_op)(COHORT_SETS_AND + round % 4);
        if (!test_drawn(t, (uint64_t)round, test_size(t, 1, 4)))
            continue;
        struct working s[2];
        for (int i = 0; i < 2; i++) {
            working_open(t, &s[i], 0, round / 4 % 2 == 0 || i ? COHORT_SET_CHUNKS : COHORT_SET_FLAT, 9 << 16,
                         0);
            working_step(&s[i], COHORT_SET_ADD, i ? 2 : 0, i ? 1 : 3, 1, COHORT_OK); /* 0 1 2; 2 */
            working_step(&s[i], COHORT_SET_ADD, i ? 1 : 3, i ? 1 : 3, 0, COHORT_OK); /* 3 4 5; 1 */
            working_step(&s[i], COHORT_SET_ADD, i ? 5 : 7, i ? 2 : 1, 1, COHORT_OK); /* 7; 5 6 */
            working_step(&s[i], COHORT_SET_ADD, i ? 4 : 8, 1, 0, COHORT_OK);         /* 8; 4 */
        }
        const struct plains other = {&s[1].due, 1, 0};
        cohort_sets *sets = round < 8 ? NULL : sets_of(t, &other, 0);
        judge_two(&s[0], &s[1].due, sets ? NULL : &s[1], sets, 0, op);
        cohort_sets_destroy(sets);
        working_close(&s[0]);
        working_close(&s[1]);
    }
}

/* A dense chunk meets arrays, whose members it has in part. */
static void in_place_arrays(struct test *t)
{
    static const uint64_t members[] = {1, 5, 40, 60, 300, 2000};
    enum { DENSE = 20000 };
    uint64_t *at = malloc(DENSE * sizeof *at);
    REQUIRE(t, at);
    for (int round = 0; round < 48; round++) {
        const uint64_t n = members[round / 8];
        cohort_sets_op op = (cohort_sets_op)(COHORT_SETS_AND + round % 4);
        if (!test_drawn(t, (uint64_t)round / 8, test_size(t, 1, 3)))
            continue;
        struct working s[2];
        for (int i = 0; i < 2; i++)
            working_open(t, &s[i], 0, COHORT_SET_CHUNKS, 1 << 16, 4);
        for (uint64_t i = 0; i < DENSE; i++)
            at[i] = 3 * i;
        struct plain dense = plain_of(at, DENSE);
        for (uint64_t i = 0; i < n; i++)
            at[i] = i % 2 ? 3 * test_below(t, DENSE) : test_below(t, 1 << 16);
        struct plain few = plain_of(at, n);
        const struct plains other = {&few, 1, 0};
        change(&s[0], COHORT_SET_ADD, &dense);
        change(&s[1], COHORT_SET_ADD, &few);
        cohort_sets *sets = round / 4 % 2 ? sets_of(t, &other, 0) : NULL;
        judge_two(&s[0], &few, sets ? NULL : &s[1], sets, 0, op);
        cohort_sets_destroy(sets);
        plain_free(&dense);
        plain_free(&few);
        working_close(&s[0]);
        working_close(&s[1]);
    }
    free(at);
}

/* A change that needs blocks before it gives others back goes by way of a second set. */
static void in_place_tight(struct test *t)
{
    struct working a, b;
    uint64_t at[4];
    working_open(t, &a, 0, COHORT_SET_CHUNKS, 0, 4);
    working_open(t, &b, 0, COHORT_SET_CHUNKS, 0, 4);
    for (uint64_t i = 0; i < 4; i++)
        at[i] = i << 16 | 7;
    struct plain p = plain_of(at, 4);
    for (uint64_t i = 0; i < 4; i++)
        at[i] = (i + 2) << 16 | 7;
    struct plain q = plain_of(at, 4);
    change(&a, COHORT_SET_ADD, &p);
    change(&b, COHORT_SET_ADD, &q);
    STATUS(t, query_two(&a, &b, NULL, 0, COHORT_SETS_OR, 0), COHORT_FULL);
    working_judge(&a, "refused");
    inside_judge(&a);
    FAILS(t, t->context, cohort_set_create(t->context, NULL, NULL), COHORT_NULL, "options", NULL);
    OK(t, query_two(&a, &b, NULL, 0, COHORT_SETS_XOR, 0));
    CHECK(t, strstr(cohort_message(t->context), "cohort_set_create")); /* that failed last */
    working_change_due(&a, COHORT_SET_FLIP, &q);
    working_judge(&a, "by way of a second set");
    inside_judge(&a);
    plain_free(&p);
    plain_free(&q);
    working_close(&a);
    working_close(&b);
}

/* Rings go round many times, with few numbers; nodes far above the leaves come and go with these. */
static void in_place_round_and_round(struct test *t)
{
    static const uint64_t keys[] = {5, 70, 1 << 20, (1 << 20) + 1, 1ull << 40, (1ull << 47) + 3};
    struct working a, b;
    working_open(t, &a, 1, COHORT_SET_CHUNKS, 0, 6);
    working_open(t, &b, 1, COHORT_SET_CHUNKS, 0, 3);
    for (uint64_t round = 0; round < test_scale(t, 20, test_size(t, 100, 20), test_size(t, 1000, 80));
         round++) {
        uint64_t at[3];
        for (int i = 0; i < 3; i++)
            at[i] = keys[test_below(t, 6)] << 16 | test_below(t, 2);
        struct plain p = plain_of(at, 3), old = plain_copy(&b.due);
        change(&b, COHORT_SET_REMOVE, &old);
        change(&b, COHORT_SET_ADD, &p);
        judge_two(&a, &b.due, &b, NULL, 0, round % 2 ? COHORT_SETS_AND : any_op(t));
        plain_free(&p);
        plain_free(&old);
    }
    working_close(&a);
    working_close(&b);
}

/* Chunks of two sets that have nothing in common, or all, and one more: an answer takes blocks, and nodes
 * above them, in which nothing is left in the end. */
static void in_vain(struct test *t)
{
    enum { CHUNKS = 70 };
    for (int op = COHORT_SETS_AND; op <= COHORT_SETS_XOR; op++) {
        if (!test_drawn(t, (uint64_t)op, test_size(t, 1, 2)))
            continue;
        struct working s[3];
        uint64_t at[2][CHUNKS];
        for (uint64_t i = 0; i < CHUNKS; i++)
            for (int k = 0; k < 2; k++)
                at[k][i] = i << (i % 2 ? 16 : 24) | (uint64_t)(k && (i > 0) == (op == COHORT_SETS_AND));
        struct plain p[2] = {plain_of(at[0], CHUNKS), plain_of(at[1], CHUNKS)};
        for (int k = 0; k < 3; k++)
            working_open(t, &s[k], 1, COHORT_SET_CHUNKS, 0, 100);
        change(&s[0], COHORT_SET_ADD, &p[0]);
        change(&s[1], COHORT_SET_ADD, &p[1]);
        change(&s[2], COHORT_SET_ADD, &p[op % 2]);
        cohort_set *working[2] = {s[0].set, s[1].set};
        struct column *members = column_new(t, 2, 8);
        cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
        column_put(members, 0, 0);
        column_put(members, 1, 1);
        d.op = (cohort_sets_op)op;
        d.working = working;
        d.working_count = 2;
        d.rows = 1;
        d.arity = 2;
        d.members = column_send(members);
        d.into = s[2].set;
        const struct plain *operands[2] = {&p[0], &p[1]};
        OK(t, cohort_sets_query(t->context, &d));
        plain_free(&s[2].due);
        s[2].due = plain_row(d.op, 0, operands, 2);
        working_judge(&s[2], "in vain");
        inside_judge(&s[2]);
        column_drop(t, NULL);
        for (int k = 0; k < 3; k++)
            working_close(&s[k]);
        plain_free(&p[0]);
        plain_free(&p[1]);
    }
}

const struct test_case test_cases[] = {
    {"every number once", every_number, TEST_EACH_MEMORY},
    {"round and round", round_and_round, 0},
    {"needs", needs, 0},
    {"exhaustion", exhaustion, TEST_EACH_MEMORY},
    {"without a wait", without_a_wait, TEST_EACH_MEMORY},
    {"beyond", beyond, TEST_EACH_MEMORY},
    {"nodes run out", nodes_run_out, TEST_EACH_MEMORY},
    {"in place", in_place, TEST_EACH_MEMORY},
    {"in place, whole", in_place_whole, 0},
    {"in place, arrays", in_place_arrays, 0},
    {"in place, tight", in_place_tight, 0},
    {"in place, round and round", in_place_round_and_round, 0},
    {"in vain", in_vain, 0},
    {NULL, NULL, 0},
};
