/* test_set_into.c: operations on two sets whose answer goes into a working set: a third one, or one of
 * the two. Chunks of all that a chunk can be meet those of all others. */
#include <stdlib.h>

#include "api/set.h"
#include "working.h"

/* What a chunk is: few members are an array of a CPU's block up to SET_FEW_MOST, which lies near what is
 * known of the block up to SET_NEAR_MOST. */
enum { ABSENT, ONE, NEAR_MOST, FEW, FEW_MOST, ONE_MORE, SPARSE, DENSE, FULL, KINDS };

static uint64_t members_of(int kind)
{
    static const uint64_t members[KINDS] = {0,   1,     SET_NEAR_MOST, 60, SET_FEW_MOST, SET_FEW_MOST + 1,
                                            300, 33000, 65536};
    return members[kind];
}

/* Members of a chunk, to `at`; so many that differ, those of SPARSE close together. */
static uint64_t draw_chunk(struct test *t, int kind, uint64_t key, uint64_t *at)
{
    static unsigned char in[65536];
    const uint64_t n = members_of(kind), span = kind == SPARSE ? 700 : 65536;
    uint64_t had = 0, first = kind == SPARSE ? test_below(t, 65536 - span) : 0;
    memset(in, n == 65536, sizeof in);
    for (; n < 65536 && had < n;) {
        unsigned char *one = &in[first + test_below(t, span)];
        had += !*one;
        *one = 1;
    }
    had = 0;
    for (uint64_t i = 0; i < 65536; i++)
        if (in[i])
            at[had++] = key << 16 | i;
    return had;
}

/* `chunks` chunks from the first key on. Of 81 or more side 0 and side 1 together have every kind beside
 * every other one; a simulated GPU does fewer. */
static struct plain draw_side(struct test *t, int side, uint64_t first, uint64_t chunks)
{
    uint64_t *at = malloc((chunks * 65536 + 1) * sizeof *at), n = 0;
    REQUIRE(t, at);
    for (uint64_t k = 0; k < chunks; k++) {
        const uint64_t other = t->kind == TEST_SIM ? 2 * k + 1 : k / KINDS;
        n += draw_chunk(t, (int)((side ? other : k) % KINDS), first + k, at + n);
    }
    struct plain p = plain_of(at, n);
    free(at);
    return p;
}

/* A set as an operand, made in several ways: what a block holds depends on what it held before. */
static void fill(struct working *s, const struct plain *p)
{
    struct test *t = s->t;
    if (test_below(t, 2)) { /* blocks that others have used */
        struct plain q = working_draw_change(s);
        OK(t, working_change(s, COHORT_SET_ADD, &q));
        OK(t, cohort_set_clear(s->set));
        plain_free(&q);
    }
    if (test_below(t, 3) == 0) { /* bitmaps that have lost most members */
        struct plain most = plain_of(p->at, p->n);
        for (uint64_t i = 0; i < most.n; i++)
            most.at[i] = (most.at[i] & ~65535ull) | (i * 40503 & 65535);
        struct plain more = plain_of(most.at, most.n);
        const struct plain *operands[2] = {&more, p};
        struct plain rest = plain_row(COHORT_SETS_ANDNOT, 0, operands, 2);
        OK(t, working_change(s, COHORT_SET_ADD, p));
        OK(t, working_change(s, COHORT_SET_ADD, &rest));
        OK(t, working_change(s, COHORT_SET_REMOVE, &rest));
        plain_free(&most);
        plain_free(&more);
        plain_free(&rest);
    } else {
        OK(t, working_change(s, COHORT_SET_ADD, p));
    }
    plain_free(&s->due);
    s->due = plain_copy(p);
}

/* Where the answer goes. */
enum { THIRD, THIRD_FLAT, FIRST, SECOND, PLACES };

struct trial {
    struct working side[2], third;
    cohort_sets *sets; /* both sides, as sets 0 and 1 */
};

/* op of operands a and b, sides of the trial as working sets (0) or sets of the collection (1). */
static cohort_status ask(struct test *t, const struct trial *x, cohort_sets_op op, cohort_set *into,
                         const int *side, const int *listed)
{
    cohort_set *const working[3] = {x->side[0].set, x->side[1].set, x->third.set};
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    struct column *members = column_new(t, 2, 8);
    for (int i = 0; i < 2; i++)
        column_put(members, (uint64_t)i, (uint64_t)side[i] + (x->sets && !listed[i] ? 2 : 0));
    d.op = op;
    d.collections = &x->sets;
    d.collections_count = x->sets != NULL;
    d.working = working;
    d.working_count = 3;
    d.rows = 1;
    d.arity = 2;
    d.members = column_send(members);
    d.into = into;
    return cohort_sets_query(t->context, &d);
}

static void trial_end(struct test *t, struct trial *x)
{
    for (int i = 0; i < 2; i++)
        working_close(&x->side[i]);
    working_close(&x->third);
    column_drop(t, NULL);
}

static void try_one(struct test *t, cohort_sets_op op, int place, int wide, uint64_t first, uint64_t chunks)
{
    struct trial x;
    struct plain p[2];
    struct plains both = {p, 2, wide};
    const uint64_t limit = (first + chunks) << 16;
    for (int i = 0; i < 2; i++) {
        p[i] = draw_side(t, i, first, chunks);
        working_open(t, &x.side[i], wide, test_below(t, 4) ? COHORT_SET_CHUNKS : COHORT_SET_FLAT, limit, 0);
        fill(&x.side[i], &p[i]);
    }
    x.sets = sets_of(t, &both, 0);
    working_open(t, &x.third, wide, place == THIRD_FLAT ? COHORT_SET_FLAT : COHORT_SET_CHUNKS, limit, 0);
    struct plain old = working_draw_change(&x.third);
    OK(t, working_change(&x.third, COHORT_SET_ADD, &old));
    struct working *into = place == FIRST ? &x.side[0] : place == SECOND ? &x.side[1] : &x.third;
    const int same = !test_below(t, 6), side[2] = {0, !same};
    const int listed[2] = {place != FIRST && test_below(t, 2), place != SECOND && test_below(t, 2)};
    if (test_below(t, 3) == 0) { /* all blocks become bitmaps */
        cohort_set_view view;
        OK(t, cohort_set_get_view(into->set, &view));
    }
    const struct plain *operands[2] = {&p[side[0]], &p[side[1]]};
    struct plain due = plain_row(op, 0, operands, 2);
    OK(t, ask(t, &x, op, into->set, side, listed));
    plain_free(&into->due);
    into->due = due;
    working_judge(into, "into");
    for (int i = 0; i < 2; i++)
        if (into != &x.side[i])
            working_judge(&x.side[i], "an operand");
    cohort_sets_destroy(x.sets);
    plain_free(&p[0]);
    plain_free(&p[1]);
    plain_free(&old);
    trial_end(t, &x);
}

static void every_kind(struct test *t)
{
    static const uint64_t chunks[] = {81, 63, 82, 81};
    for (uint64_t round = 0; round < test_scale(t, 1, test_size(t, 6, 1), test_size(t, 24, 4)); round++) {
        const int sim = t->kind == TEST_SIM, begin = sim ? (int)test_below(t, 4) : 0;
        for (int op = begin; op < (sim ? begin + 1 : 4); op++)
            try_one(t, (cohort_sets_op)(COHORT_SETS_AND + op), (int)test_below(t, PLACES),
                    (int)test_below(t, 2), test_below(t, 3) * 63,
                    sim ? 9 : chunks[(round + (uint64_t)op) % 4]);
    }
}

/* ---- pools and limits ---------------------------------------------------------------------------------- */

/* Members `low` of chunks from the first one on. */
static struct plain one_each(uint64_t first, uint64_t chunks, uint64_t low)
{
    uint64_t at[64];
    for (uint64_t i = 0; i < chunks; i++)
        at[i] = (first + i) << 16 | low;
    return plain_of(at, chunks);
}

/* Two sets have 40 chunks in common, and members in `shared` of these: the answer needs so many blocks, and
 * the pool has `blocks`. */
static void tight(struct test *t, uint64_t shared, uint64_t blocks)
{
    struct trial x;
    struct plain p[2] = {one_each(0, 40, 5), one_each(0, 40, 6)}, common = one_each(0, shared, 9);
    struct plain had = one_each(30, blocks, 1);
    for (int i = 0; i < 2; i++) {
        working_open(t, &x.side[i], 0, COHORT_SET_CHUNKS, 0, 40);
        OK(t, working_change(&x.side[i], COHORT_SET_ADD, &p[i]));
        OK(t, working_change(&x.side[i], COHORT_SET_ADD, &common));
    }
    x.sets = NULL;
    working_open(t, &x.third, 0, COHORT_SET_CHUNKS, 0, blocks);
    OK(t, working_change(&x.third, COHORT_SET_ADD, &had));
    working_change_due(&x.third, COHORT_SET_ADD, &had);
    static const int side[2] = {0, 1}, listed[2] = {0, 0};
    STATUS(t, ask(t, &x, COHORT_SETS_AND, x.third.set, side, listed),
           shared > blocks ? COHORT_FULL : COHORT_OK);
    if (shared <= blocks) {
        plain_free(&x.third.due);
        x.third.due = plain_copy(&common);
    }
    working_judge(&x.third, "a pool that is tight");
    plain_free(&p[0]);
    plain_free(&p[1]);
    plain_free(&common);
    plain_free(&had);
    trial_end(t, &x);
}

static void pools(struct test *t)
{
    static const uint64_t shared[] = {0, 1, 5, 6, 7, 40};
    for (uint64_t i = 0; i < 6; i++)
        if (test_drawn(t, i, test_size(t, 1, 3)))
            tight(t, shared[i], 6);
}

/* The answer of two sets goes into one with a limit. beyond: bit i: side i has a member there. */
static void into_limit(struct test *t, cohort_sets_op op, int beyond, int wide)
{
    static const uint64_t limit = (3 << 16) + 100;
    static const int side[2] = {0, 1};
    const int from = (int)test_below(t, 3), listed[2] = {from == 1, from == 2};
    struct trial x = {.sets = NULL};
    for (int i = 0; i < 2; i++) {
        const uint64_t at[3] = {7, 70000 + (uint64_t)i, limit - 1 + (uint64_t)(beyond >> i & 1)};
        working_open(t, &x.side[i], wide, COHORT_SET_CHUNKS, 0, 8);
        struct plain p = plain_of(at, 3);
        OK(t, working_change(&x.side[i], COHORT_SET_ADD, &p));
        working_change_due(&x.side[i], COHORT_SET_ADD, &p);
        plain_free(&p);
    }
    struct plain p[2] = {x.side[0].due, x.side[1].due};
    const struct plains both = {p, 2, wide};
    x.sets = from ? sets_of(t, &both, 0) : NULL;
    working_open(t, &x.third, wide, COHORT_SET_CHUNKS, limit, 8);
    working_step(&x.third, COHORT_SET_ADD, 1, 1, 0, COHORT_OK);
    const struct plain *operands[2] = {&p[0], &p[1]};
    struct plain due = plain_row(op, 0, operands, 2);
    const int fits = !due.n || due.at[due.n - 1] < limit;
    STATUS(t, ask(t, &x, op, x.third.set, side, listed), fits ? COHORT_OK : COHORT_RANGE);
    plain_free(fits ? &x.third.due : &due);
    x.third.due = fits ? due : x.third.due;
    working_judge(&x.third, "a limit");
    cohort_sets_destroy(x.sets);
    trial_end(t, &x);
}

/* Sets of 64 bits have no limit of their own. */
static void limits(struct test *t)
{
    for (int op = COHORT_SETS_AND; op <= COHORT_SETS_XOR; op++)
        for (int beyond = 0; beyond < 4; beyond++)
            for (int wide = 0; wide < 2; wide++)
                into_limit(t, (cohort_sets_op)op, beyond, wide);
}

/* ---- chunks of certain kinds --------------------------------------------------------------------------- */

/* Sets of one chunk after the other, of the kinds told, and an empty one for an answer. */
static struct trial trial_of(struct test *t, const int *kinds[2], uint64_t chunks)
{
    struct trial x = {.sets = NULL};
    uint64_t *at = malloc((chunks * 65536 + 1) * sizeof *at);
    REQUIRE(t, at);
    for (int i = 0; i < 2; i++) {
        uint64_t n = 0;
        for (uint64_t k = 0; k < chunks; k++)
            n += draw_chunk(t, kinds[i][k], k, at + n);
        struct plain p = plain_of(at, n);
        working_open(t, &x.side[i], 0, COHORT_SET_CHUNKS, 0, chunks);
        OK(t, working_change(&x.side[i], COHORT_SET_ADD, &p));
        working_change_due(&x.side[i], COHORT_SET_ADD, &p);
        plain_free(&p);
    }
    working_open(t, &x.third, 0, COHORT_SET_CHUNKS, 0, chunks);
    free(at);
    return x;
}

/* Side 0 op side 1, into one of the trial's sets, which is judged. Side 1 is a working set, or where there is
 * a collection the one in it. */
static void go_into(struct test *t, struct trial *x, cohort_sets_op op, struct working *into)
{
    static const int side[2] = {0, 1};
    const int listed[2] = {0, x->sets != NULL};
    const struct plain *operands[2] = {&x->side[0].due, &x->side[1].due};
    struct plain due = plain_row(op, 0, operands, 2);
    OK(t, ask(t, x, op, into->set, side, listed));
    plain_free(&into->due);
    into->due = due;
    working_judge(into, "kinds");
}

/* A full chunk is a word of the directory alone, and no chunk is none: each beside each other, and few. */
static void full_and_none(struct test *t)
{
    static const int kinds[2][9] = {{ABSENT, ABSENT, ABSENT, FEW, FEW, FEW, FULL, FULL, FULL},
                                    {ABSENT, FEW, FULL, ABSENT, FEW, FULL, ABSENT, FEW, FULL}};
    const int *both[2] = {kinds[0], kinds[1]};
    for (uint64_t round = 0; round < 8; round++) {
        if (!test_drawn(t, round, test_size(t, 1, 4)))
            continue;
        struct trial x = trial_of(t, both, 9);
        struct plain p[2] = {x.side[0].due, x.side[1].due};
        struct plains sides = {p, 2, 0};
        x.sets = round < 4 ? NULL : sets_of(t, &sides, 0);
        go_into(t, &x, (cohort_sets_op)(COHORT_SETS_AND + round % 4), &x.third);
        cohort_sets_destroy(x.sets);
        trial_end(t, &x);
    }
}

static void change_by(struct working *s, cohort_set_op op, const uint64_t *at, uint64_t n)
{
    struct plain p = plain_of(at, n);
    OK(s->t, working_change_from_host(s, op, &p));
    working_change_due(s, op, &p);
    plain_free(&p);
    working_judge(s, working_ops[op]);
}

/* Members from `first` on, `step` apart. */
static uint64_t *row_of(struct test *t, uint64_t n, uint64_t first, uint64_t step)
{
    uint64_t *at = malloc((n + 1) * sizeof *at);
    REQUIRE(t, at);
    for (uint64_t i = 0; i < n; i++)
        at[i] = first + i * step;
    return at;
}

/* Lookups read the block itself. */
static void ask_low(struct working *s)
{
    uint64_t *at = row_of(s->t, 4096, 0, 1);
    struct column *hit = bitmap_at_byte(s->t, 4096);
    OK(s->t, cohort_set_contains(s->set, 4096, at, column_send(hit)));
    column_fetch(hit);
    for (uint64_t i = 0; i < 4096; i++)
        EQUAL(s->t, bitmap_get(hit, i), plain_has(&s->due, i));
    free(at);
    column_drop(s->t, NULL);
}

/* An array grows by one member into the next line of its block, of which only the far end was in use
 * before, and becomes a bitmap there. */
static void grows(struct test *t)
{
    static const uint64_t counts[] = {31, 32, 53, 54, 55, 63, 64, 65, 1022, 1023, 1024};
    for (int i = 0; i < 11; i++) {
        const uint64_t last = 65535;
        uint64_t *at = row_of(t, counts[i], 9000, 31), *far = row_of(t, 2000, 60000, 1);
        cohort_set_view view;
        struct working s;
        working_open(t, &s, 1, COHORT_SET_CHUNKS, 0, 1);
        change_by(&s, COHORT_SET_ADD, far, 2000);
        OK(t, cohort_set_clear(s.set));
        s.due.n = 0;
        change_by(&s, COHORT_SET_ADD, at, counts[i]);
        change_by(&s, COHORT_SET_ADD, &last, 1);
        OK(t, cohort_set_get_view(s.set, &view));
        working_judge(&s, "seen");
        ask_low(&s);
        working_close(&s);
        free(at);
        free(far);
    }
}

/* An array goes into its block, and comes back, by some members at a time; another chunk's array is beside
 * it. Changes to and fro begin and end at all places around the border. */
static void to_and_fro(struct test *t)
{
    enum { BEGIN = SET_NEAR_MOST - 6, MOST = 16 };
    uint64_t *own = row_of(t, BEGIN + MOST, 9, 900), *beside = row_of(t, SET_NEAR_MOST, 65536, 700);
    for (uint64_t n = 1; n <= 5; n++)
        for (int flips = 0; flips < 2; flips++) {
            struct working s;
            working_open(t, &s, 1, COHORT_SET_CHUNKS, 2 << 16, 2);
            change_by(&s, COHORT_SET_ADD, beside, SET_NEAR_MOST);
            change_by(&s, COHORT_SET_ADD, own, BEGIN);
            for (uint64_t at = BEGIN; at + n <= BEGIN + MOST; at += n)
                change_by(&s, flips ? COHORT_SET_FLIP : COHORT_SET_ADD, own + at, n);
            ask_low(&s);
            for (uint64_t at = 0; at + n <= MOST; at += n)
                change_by(&s, flips ? COHORT_SET_FLIP : COHORT_SET_REMOVE, own + at, n);
            ask_low(&s);
            working_close(&s);
        }
    free(own);
    free(beside);
}

/* Members come into lines of a bitmap that had none, by each change that brings some; then the set is met
 * with another. */
static void new_lines(struct test *t)
{
    static const int dense[1] = {DENSE}, none[1] = {ABSENT}, *const kinds[2] = {none, dense};
    for (int flips = 0; flips < 2; flips++)
        for (int op = 0; op < 4; op++) {
            struct trial x = trial_of(t, (const int **)kinds, 1);
            uint64_t *at = row_of(t, 2000, 0, 4);
            const uint64_t brought[4] = {3, 30001, 50000, 65535};
            struct plain p = plain_of(at, 2000), q = plain_of(brought, 4);
            OK(t, working_change(&x.side[0], COHORT_SET_ADD, &p));
            working_change_due(&x.side[0], COHORT_SET_ADD, &p);
            OK(t, working_change(&x.side[0], flips ? COHORT_SET_FLIP : COHORT_SET_ADD, &q));
            working_change_due(&x.side[0], flips ? COHORT_SET_FLIP : COHORT_SET_ADD, &q);
            go_into(t, &x, (cohort_sets_op)(COHORT_SETS_AND + op), &x.side[0]);
            plain_free(&p);
            plain_free(&q);
            free(at);
            trial_end(t, &x);
        }
}

/* Blocks that were arrays are taken by chunks of many members: when the set was cleared, when the members of
 * the array went out, and when their chunk became full. */
static void taken_again(struct test *t)
{
    uint64_t *few = row_of(t, 60, 5, 1000), *many = row_of(t, 6000, 65536, 10);
    uint64_t *all = row_of(t, 65536, 0, 1);
    for (int way = 0; way < 3; way++) {
        struct working s;
        working_open(t, &s, 1, COHORT_SET_CHUNKS, 0, 1);
        change_by(&s, COHORT_SET_ADD, few, 60);
        if (way == 0) {
            OK(t, cohort_set_clear(s.set));
            s.due.n = 0;
        } else {
            change_by(&s, way == 1 ? COHORT_SET_REMOVE : COHORT_SET_ADD, way == 1 ? few : all,
                      way == 1 ? 60 : 65536);
        }
        change_by(&s, COHORT_SET_ADD, many, 6000);
        working_close(&s);
    }
    free(few);
    free(many);
    free(all);
}

/* The same by answers. */
static void taken_by_answers(struct test *t)
{
    static const int dense[1] = {DENSE}, *const kinds[2] = {dense, dense};
    uint64_t *few = row_of(t, 60, 5, 1000);
    for (uint64_t op = 0; op < 4; op++) {
        if (!test_drawn(t, op, test_size(t, 1, 4)))
            continue;
        struct trial x = trial_of(t, (const int **)kinds, 1);
        struct plain p = plain_of(few, 60);
        OK(t, working_change(&x.third, COHORT_SET_ADD, &p));
        go_into(t, &x, (cohort_sets_op)(COHORT_SETS_AND + op), &x.third);
        plain_free(&p);
        trial_end(t, &x);
    }
    free(few);
}

/* ---- few members --------------------------------------------------------------------------------------- */

/* Updates by so many members, in no order and with some twice: few are sorted where they are. */
static void few(struct test *t)
{
    static const uint64_t counts[] = {1, 2, 24, 25, 1023, 1024, 1025};
    for (uint64_t round = 0; round < test_scale(t, 1, 2, 8); round++)
        for (int i = 0; i < 7; i++) {
            const int wide = (int)test_below(t, 2);
            struct working s;
            working_open(t, &s, wide, COHORT_SET_CHUNKS, wide ? 0 : 80 << 16, 100);
            for (int op = COHORT_SET_ADD; op <= COHORT_SET_FLIP; op++) {
                struct column *c = column_new(t, counts[i], wide ? 8 : 4);
                uint64_t at[1025];
                for (uint64_t k = 0; k < counts[i]; k++) {
                    at[k] = test_below(t, 4) ? test_below(t, 5 << 16) : test_below(t, 40) * 65536;
                    at[k] = k && !test_below(t, 5) ? at[k - 1] : at[k];
                    at[k] += wide && at[k] & 1 ? 1ull << 60 : 0;
                    column_put(c, k, at[k]);
                }
                cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
                d.type = wide ? COHORT_U64 : COHORT_U32;
                d.n = counts[i];
                d.members = column_send(c);
                struct plain p = plain_of(at, counts[i]);
                OK(t, cohort_set_update(s.set, (cohort_set_op)op, &d));
                OK(t, cohort_wait(t->context));
                working_change_due(&s, (cohort_set_op)op, &p);
                plain_free(&p);
                working_judge(&s, "few");
            }
            working_close(&s);
            column_drop(t, NULL);
        }
}

/* A source that is wrong is told in the same way, however few it has, and one that is beyond the limit
 * too. */
static void few_refused(struct test *t)
{
    const uint32_t beyond[3] = {5, 100, 7};
    struct working s;
    cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
    working_open(t, &s, 0, COHORT_SET_CHUNKS, 100, 0);
    d.n = 3;
    d.members = beyond;
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_REMOVE, &d), COHORT_RANGE, "100", "limit");
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_ADD, &d), COHORT_RANGE, "100", "limit");
    working_judge(&s, "refused");
    d.members = (const char *)beyond + 1;
    d.n = 2;
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_ADD, &d), COHORT_BAD_POINTER, "source.members",
          NULL);
    d.members = beyond;
    d.bits = 7;
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_ADD, &d), COHORT_RANGE, "source.bits", NULL);
    d.bits = 0;
    d.sets = 2;
    FAILS(t, t->context, cohort_set_update(s.set, COHORT_SET_ADD, &d), COHORT_RANGE, "source.sets", "2");
    working_judge(&s, "refused");
    working_close(&s);
}

const struct test_case test_cases[] = {
    {"every kind", every_kind, TEST_EACH_MEMORY},
    {"pools", pools, 0},
    {"limits", limits, 0},
    {"full and none", full_and_none, 0},
    {"grows", grows, TEST_ON_CPU},
    {"to and fro", to_and_fro, TEST_ON_CPU},
    {"new lines", new_lines, TEST_ON_CPU},
    {"taken again", taken_again, TEST_ON_CPU},
    {"taken by answers", taken_by_answers, 0},
    {"few", few, TEST_EACH_MEMORY},
    {"few, refused", few_refused, 0},
    {NULL, NULL, 0},
};
