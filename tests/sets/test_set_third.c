/* test_set_third.c: operations on two working sets whose answer goes into a third one, without collections.
 * Each kind of chunk of the one meets each of the other, and comes where each kind was before. The third
 * set's directory and rings are read as they lie there. */
#include <stdlib.h>

#include "inside.h"

/* What a chunk is; SAME and REST: as the other one, and all that the other one has not. */
enum { ABSENT, FEW, MANY, FULL, SAME, REST };

enum { CHUNKS = 20 };

/* More is not taken of the context's memory where no collection is made of these. */
#define LITTLE (16u << 10)

static const int kinds[2][CHUNKS] = {{ABSENT, ABSENT, ABSENT, ABSENT, FEW,  FEW,  FEW, FEW,  MANY, MANY,
                                      MANY,   MANY,   FULL,   FULL,   FULL, FULL, FEW, MANY, FEW,  MANY},
                                     {ABSENT, FEW,  MANY,   FULL, ABSENT, FEW,  MANY, FULL, ABSENT, FEW,
                                      MANY,   FULL, ABSENT, FEW,  MANY,   FULL, SAME, SAME, REST,   REST}};

static void draw_chunk(struct test *t, int kind, const unsigned char *other, unsigned char *in)
{
    memset(in, kind == FULL, 65536);
    for (uint64_t i = 0; (kind == SAME || kind == REST) && i < 65536; i++)
        in[i] = kind == SAME ? other[i] : !other[i];
    for (uint64_t i = 0; kind == MANY && i < 60; i++) { /* runs, and some alone */
        const uint64_t first = test_below(t, 65536), last = first + (i % 2 ? 0 : test_below(t, 3000));
        memset(in + first, 1, (last < 65535 ? last : 65535) - first + 1);
    }
    for (uint64_t i = 0; kind == FEW && i < 3; i++)
        in[test_below(t, 4) ? test_below(t, 65536) : 65535 * test_below(t, 2)] = 1;
}

/* Where the chunks lie: key `first` and every step-th one from there on. */
struct keys {
    uint64_t first, step;
};

static uint64_t key_of(const struct keys *k, uint64_t chunk)
{
    return k->first + chunk * k->step;
}

/* In one leaf of the directory, in a few, or each in another. */
static struct keys draw_keys(struct test *t, int wide, int flat)
{
    static const uint64_t first[] = {0, 3, 55}, step[] = {1, 2, 64, 97, 1ull << 18, (1ull << 43) + 1};
    return (struct keys){first[test_below(t, 3)], flat ? 1 : step[test_below(t, wide ? 6 : 4)]};
}

/* The sets that are met, and what is there before. */
static void draw_sides(struct test *t, const struct keys *keys, struct plain p[2])
{
    static unsigned char in[2][65536];
    uint64_t *at[2], n[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        REQUIRE(t, at[i] = malloc(CHUNKS * 65536 * sizeof *at[i]));
    for (uint64_t c = 0; c < CHUNKS; c++)
        for (int i = 0; i < 2; i++) {
            draw_chunk(t, kinds[i][c], in[0], in[i]);
            for (uint64_t v = 0; v < 65536; v++)
                if (in[i][v])
                    at[i][n[i]++] = key_of(keys, c) << 16 | v;
        }
    for (int i = 0; i < 2; i++) {
        p[i] = plain_of(at[i], n[i]);
        free(at[i]);
    }
}

/* Turn 0, 1, 2: no chunk, few members, and a full one by turns; 3: nothing. */
static struct plain draw_old(struct test *t, const struct keys *keys, uint64_t turn)
{
    static unsigned char in[65536];
    uint64_t *at = malloc(CHUNKS * 65536 * sizeof *at), n = 0;
    REQUIRE(t, at);
    for (uint64_t c = 0; turn < 3 && c < CHUNKS; c++) {
        static const int old[] = {ABSENT, FEW, FULL};
        draw_chunk(t, old[(c + turn) % 3], NULL, in);
        for (uint64_t v = 0; v < 65536; v++)
            if (in[v])
                at[n++] = key_of(keys, c) << 16 | v;
    }
    struct plain p = plain_of(at, n);
    free(at);
    return p;
}

struct three {
    struct working side[2], into;
};

static void fill(struct working *s, const struct plain *p)
{
    OK(s->t, working_change(s, COHORT_SET_ADD, p));
    plain_free(&s->due);
    s->due = plain_copy(p);
}

static void close_all(struct test *t, struct three *x)
{
    working_close(&x->side[0]);
    working_close(&x->side[1]);
    working_close(&x->into);
    column_drop(t, NULL);
}

/* The operands of numbers first and second: n of them, the second one again and again. */
static cohort_status ask(struct test *t, struct three *x, cohort_sets_op op, uint64_t first, uint64_t second,
                         uint64_t n)
{
    cohort_set *const working[3] = {x->side[0].set, x->side[1].set, x->into.set};
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    struct column *members = column_new(t, n, 8);
    for (uint64_t i = 0; i < n; i++)
        column_put(members, i, i ? second : first);
    d.op = op;
    d.working = working;
    d.working_count = 3;
    d.rows = 1;
    d.arity = n;
    d.members = column_send(members);
    d.into = x->into.set;
    return cohort_sets_query(t->context, &d);
}

/* What a query takes of the context's memory. */
static uint64_t taken_by(struct test *t, struct three *x, cohort_sets_op op, uint64_t first, uint64_t second,
                         uint64_t n)
{
    OK(t, cohort_trim(t->context));
    const uint64_t before = t->ledger.bytes;
    t->ledger.most_bytes = before;
    OK(t, ask(t, x, op, first, second, n));
    return t->ledger.most_bytes - before;
}

static void judge(struct three *x, cohort_sets_op op, int first, int second)
{
    const struct plain *operands[2] = {&x->side[first].due, &x->side[second].due};
    struct plain due = plain_row(op, 0, operands, 2);
    plain_free(&x->into.due);
    x->into.due = due;
    inside_judge(&x->into);
    inside_judge(&x->side[0]);
    inside_judge(&x->side[1]);
}

/* ---- every kind ---------------------------------------------------------------------------------------- */

static void open_three(struct test *t, struct three *x, const struct keys *keys, int wide, int flat)
{
    const uint64_t end = (key_of(keys, CHUNKS - 1) + 1) << 16;
    for (int i = 0; i < 2; i++)
        working_open(t, &x->side[i], wide, flat && test_below(t, 2) ? COHORT_SET_FLAT : COHORT_SET_CHUNKS,
                     flat || test_below(t, 2) ? end : 0, flat ? 0 : CHUNKS);
    working_open(t, &x->into, wide, flat ? COHORT_SET_FLAT : COHORT_SET_CHUNKS,
                 flat || test_below(t, 2) ? end : 0, flat ? 0 : CHUNKS);
}

static void meet(struct test *t, cohort_sets_op op, uint64_t turn, int flat)
{
    const int wide = (int)test_below(t, 2);
    const struct keys keys = draw_keys(t, wide, flat);
    struct plain p[2], old = draw_old(t, &keys, turn);
    struct three x;
    open_three(t, &x, &keys, wide, flat);
    draw_sides(t, &keys, p);
    fill(&x.side[0], &p[0]);
    fill(&x.side[1], &p[1]);
    fill(&x.into, &old);
    const uint64_t taken = taken_by(t, &x, op, 0, 1, 2);
    CHECKF(t, taken <= LITTLE, "%llu bytes taken", (unsigned long long)taken);
    judge(&x, op, 0, 1);
    /* what blocks hold that the directory alone tells of, and what is free, counts now */
    OK(t, working_change(&x.into, COHORT_SET_FLIP, &old));
    working_change_due(&x.into, COHORT_SET_FLIP, &old);
    inside_judge(&x.into);
    plain_free(&p[0]);
    plain_free(&p[1]);
    plain_free(&old);
    close_all(t, &x);
}

static void every_kind(struct test *t)
{
    const uint64_t rounds = test_scale(t, test_size(t, 8, 4), 16, 48), flat = test_below(t, 3);
    for (uint64_t round = 0; round < rounds; round++)
        if (test_drawn(t, round, 4))
            meet(t, (cohort_sets_op)(COHORT_SETS_AND + round % 4),
                 rounds < 16 ? test_below(t, 4) : round / 4 % 4, (round + flat) % 3 == 0);
}

/* Three operands go by collections, and these are seen by what they take. */
static void is_seen(struct test *t)
{
    const struct keys keys = {0, 1};
    struct plain p[2];
    struct three x;
    open_three(t, &x, &keys, 0, 0);
    draw_sides(t, &keys, p);
    fill(&x.side[0], &p[0]);
    fill(&x.side[1], &p[1]);
    CHECK(t, taken_by(t, &x, COHORT_SETS_AND, 0, 1, 3) > LITTLE);
    judge(&x, COHORT_SETS_AND, 0, 1);
    plain_free(&p[0]);
    plain_free(&p[1]);
    close_all(t, &x);
}

/* ---- pools --------------------------------------------------------------------------------------------- */

/* One member in each of some chunks; of the first `other` it is another one. */
static void fill_ones(struct working *s, uint64_t first, uint64_t chunks, uint64_t other)
{
    uint64_t at[32];
    for (uint64_t i = 0; i < chunks; i++)
        at[i] = (first + i) << 16 | (i < other ? 6 : 5);
    struct plain p = plain_of(at, chunks);
    fill(s, &p);
    plain_free(&p);
}

/* Side 0 has chunks 0 to 11, side 1 has 6 to 17; in 6 to 8 they have nothing in common. `most`: blocks that
 * are needed while the answer is made, if it is made at once; `least`: that it has. */
static void tight(struct test *t, cohort_sets_op op, uint64_t blocks, uint64_t most, uint64_t least)
{
    struct three x;
    for (int i = 0; i < 2; i++)
        working_open(t, &x.side[i], 0, COHORT_SET_CHUNKS, 0, 12);
    working_open(t, &x.into, 0, COHORT_SET_CHUNKS, 0, blocks);
    fill_ones(&x.side[0], 0, 12, 0);
    fill_ones(&x.side[1], 6, 12, 3);
    fill_ones(&x.into, 4, 3, 1);
    struct inside before = inside_look(t, x.into.set);
    STATUS(t, ask(t, &x, op, 0, 1, 2), blocks < least ? COHORT_FULL : COHORT_OK);
    if (blocks < least) {
        struct inside after = inside_look(t, x.into.set);
        inside_same(t, &before, &after);
        inside_leave(&after);
        inside_judge(&x.into);
    } else {
        judge(&x, op, 0, 1);
        struct inside after = inside_look(t, x.into.set);
        EQUAL(t, after.words.blocks.given - after.words.blocks.taken, blocks - least);
        EQUAL(t, after.words.blocks.taken, blocks >= most ? most : least);
        inside_leave(&after);
    }
    inside_leave(&before);
    close_all(t, &x);
}

static void pools(struct test *t)
{
    static const uint64_t most[] = {6, 18, 12, 18}, least[] = {3, 18, 9, 15};
    for (uint64_t op = 0; op < 4; op++) {
        const uint64_t blocks[] = {most[op], most[op] - 1, least[op], least[op] - 1};
        for (int i = 0; i < 4; i++)
            if (blocks[i] >= 3)
                tight(t, (cohort_sets_op)(COHORT_SETS_AND + op), blocks[i], most[op], least[op]);
    }
}

/* The directory lacks nodes, and there is no memory for more, and then there is. */
static void nodes(struct test *t)
{
    enum { EACH = 100 };
    uint64_t at[2][EACH];
    struct three x;
    struct plain p[2];
    for (int i = 0; i < 2; i++) {
        working_open(t, &x.side[i], 1, COHORT_SET_CHUNKS, 0, EACH);
        for (uint64_t k = 0; k < EACH; k++)
            at[i][k] = (2 * k + (uint64_t)i) << 55 | test_below(t, 1ull << 55);
        p[i] = plain_of(at[i], EACH);
        fill(&x.side[i], &p[i]);
    }
    working_open(t, &x.into, 1, COHORT_SET_CHUNKS, 0, 2 * EACH);
    fill(&x.into, &p[0]);
    struct inside before = inside_look(t, x.into.set);
    OK(t, cohort_trim(t->context));
    t->ledger.limit = t->ledger.bytes + 50000;
    STATUS(t, ask(t, &x, COHORT_SETS_OR, 0, 1, 2), COHORT_NO_MEMORY);
    t->ledger.limit = 0;
    struct inside after = inside_look(t, x.into.set);
    inside_same(t, &before, &after);
    inside_judge(&x.into);
    OK(t, ask(t, &x, COHORT_SETS_XOR, 0, 1, 2));
    judge(&x, COHORT_SETS_XOR, 0, 1);
    inside_leave(&before);
    inside_leave(&after);
    plain_free(&p[0]);
    plain_free(&p[1]);
    close_all(t, &x);
}

/* ---- what is there ------------------------------------------------------------------------------------- */

/* One set is both operands; or there is nothing in them. */
static void alike(struct test *t)
{
    const int flat = (int)test_below(t, 2);
    const struct keys keys = draw_keys(t, 0, flat);
    struct plain p[2];
    draw_sides(t, &keys, p);
    for (int round = 0; round < 8; round++) {
        const cohort_sets_op op = (cohort_sets_op)(COHORT_SETS_AND + round % 4);
        const int same = round < 4;
        struct three x;
        if (!test_drawn(t, (uint64_t)round, 4))
            continue;
        open_three(t, &x, &keys, 0, flat);
        fill(&x.into, &p[1]);
        if (same)
            fill(&x.side[1], &p[0]);
        OK(t, ask(t, &x, op, 1, (uint64_t)same, 2));
        judge(&x, op, 1, same);
        close_all(t, &x);
    }
    plain_free(&p[0]);
    plain_free(&p[1]);
}

static void enqueue(struct working *s, cohort_set_op op, const uint64_t *at, uint64_t n)
{
    cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
    struct column *c = column_new(s->t, n, 4);
    for (uint64_t i = 0; i < n; i++)
        column_put(c, i, at[i]);
    d.n = n;
    d.members = column_send(c);
    OK(s->t, cohort_set_update(s->set, op, &d));
}

/* Updates of all three are under way, one of which may be refused, which the wait behind the query tells. */
static void under_way(struct test *t)
{
    if (t->memory != TEST_DEVICE)
        test_skip(t, "where arrays are the host's, updates wait");
    for (int round = 0; round < 16; round++) {
        const cohort_sets_op op = (cohort_sets_op)(COHORT_SETS_AND + round % 4);
        const int refused = round / 4 - 1; /* a side, or `into`, or none */
        struct three x;
        struct working *all[3] = {&x.side[0], &x.side[1], &x.into};
        for (int i = 0; i < 3; i++) {
            uint64_t at[12];
            working_open(t, all[i], 0, COHORT_SET_CHUNKS, 0, 12);
            for (int k = 0; k < 12; k++)
                at[k] = test_below(t, 12) << 16 | test_below(t, 3);
            enqueue(all[i], COHORT_SET_ADD, at, 12);
            struct plain p = plain_of(at, 12);
            working_change_due(all[i], COHORT_SET_ADD, &p);
            plain_free(&p);
            for (uint64_t k = 0; k < 12; k++) /* more than there are blocks left for */
                at[k] = (100 + k) << 16;
            if (i == refused)
                enqueue(all[i], COHORT_SET_FLIP, at, 12);
        }
        OK(t, ask(t, &x, op, 0, 1, 2));
        STATUS(t, cohort_wait(t->context), refused < 0 ? COHORT_OK : COHORT_FULL);
        judge(&x, op, 0, 1);
        close_all(t, &x);
    }
}

const struct test_case test_cases[] = {
    {"every kind", every_kind, TEST_EACH_MEMORY | TEST_COUNTED},
    {"collections are seen", is_seen, TEST_COUNTED},
    {"pools", pools, 0},
    {"nodes", nodes, TEST_COUNTED},
    {"alike", alike, 0},
    {"under way", under_way, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
