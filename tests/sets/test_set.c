/* test_set.c: working sets against plain sorted arrays: updates from all forms, pools that run out,
 * queries that have them for operands and for their answer. After each call a set is judged whole:
 * members, chunks, blocks in use. */
#include "cohort/device/set.h"
#include "sets.h"

/* ---- the oracle
 * ------------------------------------------------------------------------------------------------------------ */

static struct plain plain_change(const struct plain *a, cohort_set_op op, const struct plain *b)
{
    const struct plain *operands[2] = {a, b};
    return plain_row(op == COHORT_SET_ADD      ? COHORT_SETS_OR
                     : op == COHORT_SET_REMOVE ? COHORT_SETS_ANDNOT
                                               : COHORT_SETS_XOR,
                     0, operands, 2);
}

struct subject {
    struct test *t;
    cohort_set *set;
    struct plain due;
    int wide;
    uint64_t limit, blocks; /* limit 0: 2^64 */
};

static const char *const op_names[] = {"", "add", "remove", "flip"};

static void open_subject(struct test *t, struct subject *s, int wide, cohort_set_layout layout,
                         uint64_t limit, uint64_t blocks)
{
    cohort_set_options o = COHORT_SET_OPTIONS_INIT;
    cohort_set_info i = COHORT_SET_INFO_INIT;
    memset(s, 0, sizeof *s);
    s->t = t;
    s->wide = wide;
    s->limit = limit ? limit : wide ? 0 : 1ull << 32;
    s->due = plain_of(NULL, 0);
    o.type = wide ? COHORT_U64 : COHORT_U32;
    o.layout = layout;
    o.limit = limit;
    o.blocks = blocks;
    OK(t, cohort_set_create(t->context, &o, &s->set));
    OK(t, cohort_set_get_info(s->set, &i));
    REQUIRE(t,
            i.type == o.type && i.limit == s->limit && i.members == 0 && i.chunks == 0 && i.blocks_used == 0);
    REQUIRE(t, i.layout == layout || layout == COHORT_SET_CHOSEN);
    s->blocks = i.blocks;
}

/* Of any kind. Pools are small where memory is touched when it is taken. */
static void draw_subject(struct test *t, struct subject *s, int wide)
{
    static const uint64_t limits[] = {1, 65536, 65537, 1 << 22, (1 << 22) + 1, 9000000, 1 << 24};
    switch (test_below(t, 4)) {
    case 0:
        open_subject(t, s, wide, COHORT_SET_CHOSEN, limits[test_below(t, 7)], 0);
        break;
    case 1:
        open_subject(t, s, wide, COHORT_SET_CHUNKS, limits[test_below(t, 7)], 0);
        break;
    default:
        open_subject(t, s, wide, COHORT_SET_CHUNKS,
                     wide && test_below(t, 2) ? 1ull << (20 + test_below(t, 44)) : 0, 300);
    }
}

static void close_subject(struct subject *s)
{
    cohort_set_destroy(s->set);
    plain_free(&s->due);
}

/* Chunks, those that are full, and those in between. */
static void count_chunks(const struct plain *p, uint64_t *chunks, uint64_t *full)
{
    *chunks = *full = 0;
    for (uint64_t i = 0, end; i < p->n; i = end) {
        for (end = i + 1; end < p->n && p->at[end] >> 16 == p->at[i] >> 16; end++)
            ;
        *chunks += 1;
        *full += end - i == 65536;
    }
}

static void judge(struct subject *s, const char *what)
{
    struct test *t = s->t;
    cohort_set_info i = COHORT_SET_INFO_INIT;
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    uint64_t chunks, full;
    struct column *mark = t->columns, *members = column_new(t, s->due.n, s->wide ? 8 : 4);
    count_chunks(&s->due, &chunks, &full);
    OK(t, cohort_set_get_info(s->set, &i));
    REQUIREF(t, i.members == s->due.n && i.chunks == chunks && i.full == full,
             "%s: %llu members in %llu chunks, %llu full; not %llu in %llu, %llu", what,
             (unsigned long long)i.members, (unsigned long long)i.chunks, (unsigned long long)i.full,
             (unsigned long long)s->due.n, (unsigned long long)chunks, (unsigned long long)full);
    REQUIREF(t, i.layout == COHORT_SET_FLAT || i.blocks_used == chunks - full,
             "%s: %llu blocks in use, not %llu", what, (unsigned long long)i.blocks_used,
             (unsigned long long)(chunks - full));
    target.members = column_send(members);
    target.capacity = s->due.n;
    OK(t, cohort_set_export(s->set, &target));
    column_fetch(members);
    EQUAL(t, target.total, s->due.n);
    for (uint64_t k = 0; k < s->due.n; k++)
        REQUIREF(t, column_get(members, k) == s->due.at[k], "%s: member %llu is %llu, not %llu", what,
                 (unsigned long long)k, (unsigned long long)column_get(members, k),
                 (unsigned long long)s->due.at[k]);
    column_drop(t, mark);
}

/* ---- what a set is changed by
 * ---------------------------------------------------------------------------------------------- */

static int below(const struct subject *s, uint64_t id)
{
    return !s->limit || id < s->limit;
}

/* Members that the subject may have; where it is small, others are brought in. */
static struct plain draw_change(struct subject *s)
{
    struct test *t = s->t;
    enum shape shape = (enum shape)test_below(t, SHAPES);
    if (t->kind == TEST_SIM && (shape == SHAPE_DENSE || shape == SHAPE_FULL) && test_below(t, 3))
        shape = SHAPE_CLUSTERS;
    struct plain p = plain_draw(t, shape, s->wide);
    for (uint64_t i = 0; i < p.n; i++)
        if (!below(s, p.at[i]))
            p.at[i] %= s->limit;
    struct plain q = plain_of(p.at, p.n);
    plain_free(&p);
    return q;
}

/* In no order, and some twice. */
static void give_members(struct test *t, cohort_sets_source *d, const struct plain *p, int wide)
{
    uint64_t extra = p->n ? test_below(t, 5) : 0;
    struct column *c = column_new(t, p->n + extra, wide ? 8 : 4);
    for (uint64_t i = 0; i < p->n + extra; i++)
        column_put(c, i, p->at[i < p->n ? i : test_below(t, p->n)]);
    for (uint64_t i = p->n + extra; i > 1; i--) {
        uint64_t j = test_below(t, i), v = column_get(c, j);
        column_put(c, j, column_get(c, i - 1));
        column_put(c, i - 1, v);
    }
    d->n = p->n + extra;
    d->members = column_send(c);
}

/* Each run as one range or two that overlap, the last first. */
static void give_ranges(struct test *t, cohort_sets_source *d, const struct plain *p, int wide)
{
    struct column *firsts = column_new(t, 2 * p->n, wide ? 8 : 4),
                  *lasts = column_new(t, 2 * p->n, wide ? 8 : 4);
    uint64_t n = 0;
    for (uint64_t end = p->n, first; end > 0; end = first) {
        for (first = end - 1; first && p->at[first - 1] + 1 == p->at[first]; first--)
            ;
        uint64_t a = p->at[first], b = p->at[end - 1], cut = a + (b > a ? test_below(t, b - a) : 0);
        column_put(firsts, n, a);
        column_put(lasts, n++, test_below(t, 2) ? b : cut);
        column_put(firsts, n, cut);
        column_put(lasts, n++, b);
    }
    d->form = COHORT_FORM_RANGES;
    d->n = n;
    d->members = column_send(firsts);
    d->lasts = column_send(lasts);
}

static void give_bitmap(struct test *t, cohort_sets_source *d, const struct plain *p)
{
    uint64_t bits = p->n ? p->at[p->n - 1] + 1 : 5;
    struct column *c = column_new(t, bitmap_words(bits), 4);
    memset(c->data, 0, bitmap_words(bits) * 4);
    for (uint64_t i = 0; i < p->n; i++)
        column_put(c, p->at[i] / 32, column_get(c, p->at[i] / 32) | 1u << p->at[i] % 32);
    d->form = COHORT_FORM_BITMAPS;
    d->n = 1;
    d->bits = bits;
    d->members = column_send(c);
}

static cohort_status change(struct subject *s, cohort_set_op op, const struct plain *p)
{
    struct test *t = s->t;
    struct column *mark = t->columns;
    cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
    struct subject other = {0};
    d.type = s->wide ? COHORT_U64 : COHORT_U32;
    uint64_t form = test_below(t, 5), runs = p->n > 0;
    for (uint64_t i = 1; i < p->n; i++)
        runs += p->at[i] != p->at[i - 1] + 1;
    if (runs < 3000 && (form == 0 || (p->n > 40000 && (t->kind == TEST_SIM || runs < 50))))
        give_ranges(t, &d, p, s->wide);
    else if (form == 1 && (!p->n || p->at[p->n - 1] < 1 << 23))
        give_bitmap(t, &d, p);
    else
        give_members(t, &d, p, s->wide);
    if (form == 2) { /* by way of another set */
        open_subject(t, &other, s->wide, COHORT_SET_CHUNKS, 0, 300);
        OK(t, cohort_set_update(other.set, COHORT_SET_ADD, &d));
        d = (cohort_sets_source)COHORT_SETS_SOURCE_INIT;
        d.type = s->wide ? COHORT_U64 : COHORT_U32;
        d.form = COHORT_FORM_WORKING;
        d.n = 1;
        d.members = &other.set;
    }
    cohort_status status = cohort_set_update(s->set, op, &d);
    if (form == 2)
        close_subject(&other);
    column_drop(t, mark);
    return status;
}

static void change_due(struct subject *s, cohort_set_op op, const struct plain *p)
{
    struct plain due = plain_change(&s->due, op, p);
    plain_free(&s->due);
    s->due = due;
}

static void updates(struct test *t)
{
    uint64_t rounds = test_scale(t, 8, test_size(t, 60, 10), test_size(t, 300, 40));
    for (uint64_t round = 0; round < rounds; round++) {
        struct subject s;
        draw_subject(t, &s, (int)test_below(t, 2));
        for (int step = 0; step < 8; step++) {
            cohort_set_op op = (cohort_set_op)(COHORT_SET_ADD + test_below(t, 3));
            struct plain p = draw_change(&s);
            if (s.due.n && !test_below(t, 4)) { /* what it has, or a part of it */
                plain_free(&p);
                p = plain_copy(&s.due);
                p.n -= test_below(t, 2) ? test_below(t, p.n) : 0;
            }
            OK(t, change(&s, op, &p));
            change_due(&s, op, &p);
            judge(&s, op_names[op]);
            plain_free(&p);
        }
        if (test_below(t, 2)) {
            OK(t, cohort_set_clear(s.set));
            s.due.n = 0;
            judge(&s, "clear");
        }
        close_subject(&s);
    }
}

/* ---- pools
 * ------------------------------------------------------------------------------------------------------------------ */

/* Members of `chunks` chunks from the first on, some in each, or all. */
static struct plain some_of_chunks(struct test *t, uint64_t first, uint64_t chunks, int all)
{
    uint64_t each = all ? 65536 : 3, *at = malloc(chunks * each * 8 + 1);
    REQUIRE(t, at);
    for (uint64_t i = 0; i < chunks * each; i++)
        at[i] = (first + i / each) << 16 | (all ? i % each : test_below(t, 65536));
    struct plain p = plain_of(at, chunks * each);
    free(at);
    return p;
}

static void step(struct subject *s, cohort_set_op op, uint64_t first, uint64_t chunks, int all,
                 cohort_status due)
{
    struct plain p = some_of_chunks(s->t, first, chunks, all);
    STATUS(s->t, change(s, op, &p), due);
    if (due == COHORT_OK)
        change_due(s, op, &p);
    plain_free(&p);
    judge(s, due ? "refused" : op_names[op]);
}

/* All blocks, no more, and all of them again. */
static void pools(struct test *t)
{
    for (int wide = 0; wide < 2; wide++) {
        uint64_t n = 5 + test_below(t, 4);
        struct subject s;
        open_subject(t, &s, wide, COHORT_SET_CHUNKS, 0, n);
        EQUAL(t, s.blocks, n);
        for (int round = 0; round < 3; round++) {
            step(&s, COHORT_SET_ADD, 60, n, 0, COHORT_OK);
            step(&s, COHORT_SET_ADD, 59, 1, 0, COHORT_FULL);
            step(&s, COHORT_SET_FLIP, 60 + n, 2, 0, COHORT_FULL);
            step(&s, COHORT_SET_ADD, 61, 1, 1, COHORT_OK);    /* full: its block goes back, */
            step(&s, COHORT_SET_REMOVE, 61, 1, 0, COHORT_OK); /* and is needed again */
            step(&s, COHORT_SET_ADD, 61, 2, 1, COHORT_OK);
            step(&s, COHORT_SET_ADD, 100, 2, 0, COHORT_OK);
            step(&s, COHORT_SET_REMOVE, 61, 1, 0, COHORT_FULL);
            step(&s, COHORT_SET_FLIP, 61, 2, 1, COHORT_OK);
            step(&s, COHORT_SET_ADD, 200, 1, 1, COHORT_OK); /* takes none */
            struct plain all = plain_copy(&s.due);
            OK(t, change(&s, COHORT_SET_FLIP, &all));
            change_due(&s, COHORT_SET_FLIP, &all);
            judge(&s, "emptied");
            EQUAL(t, s.due.n, 0);
            plain_free(&all);
        }
        close_subject(&s);
    }
}

/* Leaves of the directory are made and given back at their borders. */
static void borders(struct test *t)
{
    for (int round = 0; round < 3; round++) {
        struct subject s;
        open_subject(t, &s, 1, COHORT_SET_CHUNKS, 0, 200);
        for (uint64_t chunks = 63; chunks <= 65; chunks++) {
            uint64_t first = round == 0 ? 0 : round == 1 ? (1ull << 30) - 1 : (1ull << 48) - chunks;
            step(&s, COHORT_SET_ADD, first, chunks, 0, COHORT_OK);
            struct plain ends = plain_of((const uint64_t[]){0, UINT32_MAX, UINT64_MAX}, 3);
            OK(t, change(&s, COHORT_SET_FLIP, &ends));
            change_due(&s, COHORT_SET_FLIP, &ends);
            judge(&s, "ends");
            plain_free(&ends);
            struct plain all = plain_copy(&s.due);
            OK(t, change(&s, COHORT_SET_REMOVE, &all));
            change_due(&s, COHORT_SET_REMOVE, &all);
            plain_free(&all);
            judge(&s, "emptied");
        }
        close_subject(&s);
    }
}

/* ---- reading
 * --------------------------------------------------------------------------------------------------------------- */

static void contains(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 4, test_size(t, 30, 4), 100); round++) {
        struct subject s;
        draw_subject(t, &s, (int)test_below(t, 2));
        for (int k = 0; k < 3; k++) {
            struct plain p = draw_change(&s);
            OK(t, change(&s, COHORT_SET_ADD, &p));
            change_due(&s, COHORT_SET_ADD, &p);
            plain_free(&p);
        }
        uint64_t n = test_below(t, 500), most = s.wide ? UINT64_MAX : UINT32_MAX;
        struct column *values = column_new(t, n, s.wide ? 8 : 4), *hit = column_new(t, bitmap_words(n), 4);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t near = s.due.n ? s.due.at[test_below(t, s.due.n)] + test_below(t, 3) - 1 : 0;
            column_put(values, i, (test_below(t, 5) ? near : test_random(t)) & most);
        }
        OK(t, cohort_set_contains(s.set, n, column_send(values), column_send(hit)));
        column_fetch(hit);
        cohort_set_view view;
        int seen = t->kind == TEST_CPU;
        if (seen)
            OK(t, cohort_set_get_view(s.set, &view));
        else
            STATUS(t, cohort_set_get_view(s.set, &view), COHORT_UNSUPPORTED);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t v = column_get(values, i);
            REQUIREF(t, bitmap_get(hit, i) == plain_has(&s.due, v), "%llu is in: %d", (unsigned long long)v,
                     bitmap_get(hit, i));
            REQUIRE(t, !seen || co_set_contains(&view, v) == plain_has(&s.due, v));
        }
        close_subject(&s);
        column_drop(t, NULL);
    }
}

static void copies(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 4, test_size(t, 30, 4), 100); round++) {
        int wide = (int)test_below(t, 2);
        struct subject from, to;
        open_subject(t, &from, wide, COHORT_SET_CHUNKS, 0, 300);
        draw_subject(t, &to, wide);
        struct plain p = draw_change(&from), q = draw_change(&to);
        OK(t, change(&from, COHORT_SET_ADD, &p));
        change_due(&from, COHORT_SET_ADD, &p);
        OK(t, change(&to, COHORT_SET_ADD, &q));
        change_due(&to, COHORT_SET_ADD, &q);
        int fits = !p.n || below(&to, p.at[p.n - 1]);
        STATUS(t, cohort_set_copy(to.set, from.set), fits ? COHORT_OK : COHORT_RANGE);
        if (fits) {
            plain_free(&to.due);
            to.due = plain_copy(&from.due);
        }
        judge(&to, "copy");
        judge(&from, "what was copied");
        OK(t, cohort_set_copy(to.set, to.set));
        judge(&to, "copy of itself");
        plain_free(&p);
        plain_free(&q);
        close_subject(&from);
        close_subject(&to);
    }
}

/* ---- queries
 * --------------------------------------------------------------------------------------------------------------- */

/* Rows of working sets and of a collection; `into` is one of the operands as often as not. */
static void queries(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 15, test_size(t, 150, 15), test_size(t, 600, 50));
         round++) {
        int wide = (int)test_below(t, 2);
        struct subject s[3];
        cohort_set *working[3];
        struct plains p = plains_draw(t, test_below(t, 3), wide);
        const struct plain *operands[6];
        cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
        cohort_sets *sets = p.n ? sets_of(t, &p, 0) : NULL, *result = NULL;
        for (int i = 0; i < 3; i++) {
            open_subject(t, &s[i], wide, COHORT_SET_CHUNKS, 0, 300);
            struct plain q = draw_change(&s[i]);
            OK(t, change(&s[i], COHORT_SET_ADD, &q));
            change_due(&s[i], COHORT_SET_ADD, &q);
            plain_free(&q);
            working[i] = s[i].set;
        }
        uint64_t n = test_below(t, 5), into = test_below(t, 3);
        struct column *members = column_new(t, n, 8), *counts = column_new(t, 1, 8);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t k = test_below(t, p.n + 3);
            column_put(members, i, k);
            operands[i] = k < p.n ? &p.at[k] : &s[k - p.n].due;
        }
        d.op = (cohort_sets_op)(COHORT_SETS_AND + test_below(t, 5));
        d.least = d.op == COHORT_SETS_AT_LEAST ? 1 + test_below(t, 3) : 0;
        d.collections = &sets;
        d.collections_count = p.n > 0;
        d.working = working;
        d.working_count = 3;
        d.rows = 1;
        d.arity = n;
        d.members = column_send(members);
        d.counts = column_send(counts);
        d.into = working[into];
        if (test_below(t, 2))
            d.result = &result;
        struct plain due = plain_row(d.op, d.least, operands, n);
        OK(t, cohort_sets_query(t->context, &d));
        OK(t, cohort_wait(t->context));
        column_fetch(counts);
        EQUAL(t, column_get(counts, 0), due.n);
        if (d.result) {
            struct plains one = {&due, 1, wide};
            sets_judge(t, result, &one, "the answer");
        }
        plain_free(&s[into].due);
        s[into].due = due;
        for (int i = 0; i < 3; i++) {
            judge(&s[i], i == (int)into ? "into" : "an operand");
            close_subject(&s[i]);
        }
        cohort_sets_destroy(result);
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* An answer that the set has no room for, or no place. */
static void queries_refused(struct test *t)
{
    struct subject a, b;
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    cohort_set *working[2];
    static const uint64_t both[2] = {0, 1};
    struct column *members = column_new(t, 2, 8);
    open_subject(t, &a, 0, COHORT_SET_CHUNKS, 0, 10);
    open_subject(t, &b, 0, COHORT_SET_CHUNKS, 20 << 16, 4);
    step(&a, COHORT_SET_ADD, 7, 4, 0, COHORT_OK);
    step(&b, COHORT_SET_ADD, 3, 4, 0, COHORT_OK);
    working[0] = a.set;
    working[1] = b.set;
    for (int i = 0; i < 2; i++)
        column_put(members, (uint64_t)i, both[i]);
    d.op = COHORT_SETS_OR;
    d.working = working;
    d.working_count = 2;
    d.rows = 1;
    d.arity = 2;
    d.members = column_send(members);
    d.into = b.set;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_FULL, "cohort_sets_query", "4");
    judge(&b, "refused");
    step(&a, COHORT_SET_ADD, 30, 1, 0, COHORT_OK);
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "limit", "1310720");
    judge(&b, "refused");
    d.into = a.set;
    OK(t, cohort_sets_query(t->context, &d));
    change_due(&a, COHORT_SET_ADD, &b.due);
    judge(&a, "or");
    /* a build of both */
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    struct plain two[2] = {a.due, b.due};
    struct plains due = {two, 2, 0};
    source.form = COHORT_FORM_WORKING;
    source.n = 2;
    source.members = working;
    OK(t, cohort_sets_build(t->context, &source, &sets));
    sets_judge(t, sets, &due, "a build");
    cohort_sets_destroy(sets);
    close_subject(&a);
    close_subject(&b);
}

/* ---- arguments
 * -------------------------------------------------------------------------------------------------------------- */

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
    struct subject s;
    cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
    struct column *c = column_new(t, 2, 4), *groups = column_new(t, 2, 4);
    cohort_set *none[1] = {NULL};
    open_subject(t, &s, 0, COHORT_SET_CHOSEN, 100, 0);
    column_put(c, 0, 99);
    column_put(c, 1, 7);
    column_put(groups, 0, 0);
    column_put(groups, 1, 1);
    d.n = 2;
    d.members = column_send(c);
    OK(t, cohort_set_update(s.set, COHORT_SET_ADD, &d));
    plain_free(&s.due);
    s.due = plain_of((const uint64_t[]){7, 99}, 2);
    judge(&s, "add");
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
    for (cohort_set_op op = COHORT_SET_ADD; op <= COHORT_SET_FLIP; op++)
        FAILS(t, t->context, cohort_set_update(s.set, op, &d), COHORT_RANGE, "limit", "100");
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
    judge(&s, "after errors");
    close_subject(&s);
}

static void query_arguments(struct test *t)
{
    struct subject s, wide;
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    cohort_set *working[2];
    open_subject(t, &s, 0, COHORT_SET_CHOSEN, 100, 0);
    open_subject(t, &wide, 1, COHORT_SET_CHOSEN, 100, 0);
    working[0] = s.set;
    working[1] = NULL;
    d.rows = 1;
    d.working_count = 2;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_NULL, "desc.working", "2");
    d.working = working;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_NULL, "desc.working[1]", NULL);
    working[1] = wide.set;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "desc.working[1]", "64");
    d.working_count = 1;
    d.into = wide.set;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "desc.into", "64");
    d.into = s.set;
    d.rows = 2;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "desc.rows", "2");
    d.rows = 1;
    d.working_count = 9;
    FAILS(t, t->context, cohort_sets_query(t->context, &d), COHORT_RANGE, "desc.working_count", "9");
    close_subject(&s);
    close_subject(&wide);
}

const struct test_case test_cases[] = {
    {"updates", updates, TEST_EACH_MEMORY},
    {"pools", pools, 0},
    {"borders", borders, 0},
    {"contains", contains, TEST_EACH_MEMORY},
    {"copies", copies, 0},
    {"queries", queries, TEST_EACH_MEMORY},
    {"queries_refused", queries_refused, TEST_EACH_MEMORY},
    {"options", options, 0},
    {"arguments", arguments, TEST_EACH_MEMORY},
    {"query_arguments", query_arguments, 0},
    {NULL, NULL, 0},
};
