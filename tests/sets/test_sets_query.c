/* test_sets_query.c: queries, against plain sorted arrays, member by member. */
#include "sets.h"

/* ---- queries ------------------------------------------------------------------------------------------- */

struct ask {
    struct test *t;
    cohort_sets_query_desc desc;
    struct plains p[2];
    cohort_sets *sets[2];
    uint64_t count; /* sets in all */
    struct column *members, *offsets, *counts, *any, *first, *first_counts;
    struct plain *answers;
};

static const struct plain *plain_number(const struct ask *a, uint64_t number)
{
    return number < a->p[0].n ? &a->p[0].at[number] : &a->p[1].at[number - a->p[0].n];
}

static void draw_sets(struct ask *a, uint64_t most)
{
    struct test *t = a->t;
    int wide = (int)test_below(t, 2), two = (int)test_below(t, 2);
    a->p[0] = plains_draw(t, 1 + test_below(t, most), wide);
    a->p[1] = plains_draw(t, two ? 1 + test_below(t, 4) : 0, wide);
    a->sets[0] = sets_of(t, &a->p[0], 0);
    a->sets[1] = two ? sets_of(t, &a->p[1], 0) : NULL;
    a->count = a->p[0].n + a->p[1].n;
    a->desc.collections = a->sets;
    a->desc.collections_count = 1 + (uint32_t)two;
}

static void draw_op(struct ask *a)
{
    a->desc.op = (cohort_sets_op)(COHORT_SETS_AND + test_below(a->t, 5));
    a->desc.least = a->desc.op == COHORT_SETS_AT_LEAST ? 1 + test_below(a->t, 4) : 0;
}

/* Rows by offsets, of one length, or one list with each set. */
static void draw_rows(struct ask *a, uint64_t most)
{
    struct test *t = a->t;
    cohort_sets_query_desc *d = &a->desc;
    uint64_t rows = test_below(t, most), kind = test_below(t, 4), n = 0;
    d->rows = rows;
    if (kind == 0) {
        d->each = 1 + (uint32_t)test_below(t, 2);
        d->rows = rows = a->p[0].n;
        d->arity = n = test_below(t, 4);
    } else if (kind == 1) {
        d->arity = 1 + test_below(t, 3);
        n = rows * d->arity;
    } else {
        a->offsets = column_new(t, rows + 1, 8);
        for (uint64_t r = 0; r < rows; r++) {
            column_put(a->offsets, r, n);
            n += test_below(t, test_below(t, 6) ? 4 : 12);
        }
        column_put(a->offsets, rows, n);
    }
    a->members = column_new(t, n, 8);
    for (uint64_t i = 0; i < n; i++)
        column_put(a->members, i, test_below(t, a->count));
    d->members = column_send(a->members);
    d->offsets = column_pointer(a->offsets);
}

static void foresee(struct ask *a)
{
    cohort_sets_query_desc *d = &a->desc;
    const struct plain *operands[16];
    a->answers = calloc(d->rows + 1, sizeof *a->answers);
    REQUIRE(a->t, a->answers);
    for (uint64_t r = 0; r < d->rows; r++) {
        uint64_t first = a->offsets ? column_get(a->offsets, r) : d->each ? 0 : r * d->arity;
        uint64_t n = a->offsets ? column_get(a->offsets, r + 1) - first : d->arity, k = 0;
        if (d->each == 2)
            operands[k++] = &a->p[0].at[r];
        for (uint64_t i = 0; i < n; i++)
            operands[k++] = plain_number(a, column_get(a->members, first + i));
        if (d->each == 1)
            operands[k++] = &a->p[0].at[r];
        a->answers[r] = plain_row(d->op, d->least, operands, k);
    }
}

static void draw_wishes(struct ask *a)
{
    struct test *t = a->t;
    cohort_sets_query_desc *d = &a->desc;
    if (test_below(t, 2))
        a->counts = column_new(t, d->rows, 8);
    if (test_below(t, 2))
        bitmap_soil(a->any = bitmap_new(t, d->rows));
    if (test_below(t, 2)) {
        d->first_most = 1 + test_below(t, test_below(t, 3) ? 5 : 3000);
        a->first = column_new(t, d->rows * d->first_most, a->p[0].wide ? 8 : 4);
        a->first_counts = column_new(t, d->rows, 8);
        memset(a->first->data, 0x5c, a->first->count * a->first->width);
    }
    d->counts = column_pointer(a->counts);
    d->any = column_pointer(a->any);
    d->any_offset = bitmap_offset(a->any);
    d->first = column_pointer(a->first);
    d->first_counts = column_pointer(a->first_counts);
}

static void judge_row(struct ask *a, uint64_t r)
{
    struct test *t = a->t;
    const struct plain *due = &a->answers[r];
    const char *what = a->desc.op == COHORT_SETS_AND      ? "and"
                       : a->desc.op == COHORT_SETS_OR     ? "or"
                       : a->desc.op == COHORT_SETS_ANDNOT ? "andnot"
                       : a->desc.op == COHORT_SETS_XOR    ? "xor"
                                                          : "at least";
    if (a->counts)
        REQUIREF(t, column_get(a->counts, r) == due->n, "%s: row %llu has %llu members, not %llu", what,
                 (unsigned long long)r, (unsigned long long)column_get(a->counts, r),
                 (unsigned long long)due->n);
    if (a->any)
        REQUIREF(t, bitmap_get(a->any, r) == (due->n > 0), "%s: row %llu has a member: %d", what,
                 (unsigned long long)r, bitmap_get(a->any, r));
    if (!a->first)
        return;
    uint64_t most = a->desc.first_most, n = due->n < most ? due->n : most;
    REQUIREF(t, column_get(a->first_counts, r) == n, "%s: row %llu: %llu first members, not %llu", what,
             (unsigned long long)r, (unsigned long long)column_get(a->first_counts, r),
             (unsigned long long)n);
    for (uint64_t i = 0; i < most; i++) {
        uint64_t blank = a->first->width == 8 ? 0x5c5c5c5c5c5c5c5cu : 0x5c5c5c5cu;
        REQUIREF(t, column_get(a->first, r * most + i) == (i < n ? due->at[i] : blank),
                 "%s: first member %llu of row %llu is %llu", what, (unsigned long long)i,
                 (unsigned long long)r, (unsigned long long)column_get(a->first, r * most + i));
    }
}

static void judge(struct ask *a, cohort_sets *result)
{
    struct column *const outs[] = {a->counts, a->any, a->first, a->first_counts};
    struct plains answers = {a->answers, a->desc.rows, a->p[0].wide};
    for (int i = 0; i < 4; i++)
        if (outs[i])
            column_fetch(outs[i]);
    if (a->any)
        bitmap_edges(a->any);
    for (uint64_t r = 0; r < a->desc.rows; r++)
        judge_row(a, r);
    if (result)
        sets_judge(a->t, result, &answers, "the answers");
}

static void end(struct ask *a, cohort_sets *result)
{
    cohort_sets_destroy(result);
    for (uint64_t r = 0; r < a->desc.rows; r++)
        plain_free(&a->answers[r]);
    free(a->answers);
    for (int i = 0; i < 2; i++) {
        cohort_sets_destroy(a->sets[i]);
        plains_free(&a->p[i]);
    }
    column_drop(a->t, NULL);
}

/* With sets, operation, rows and wishes drawn already. */
static void ask_wishes(struct ask *a, int collection)
{
    struct test *t = a->t;
    cohort_sets *result = NULL;
    foresee(a);
    a->desc.result = collection ? &result : NULL;
    OK(t, cohort_sets_query(t->context, &a->desc));
    if (!a->desc.result)
        OK(t, cohort_wait(t->context));
    REQUIRE(t, (result != NULL) == (a->desc.result != NULL));
    judge(a, result);
    end(a, result);
}

static void ask_rows(struct ask *a)
{
    draw_wishes(a);
    ask_wishes(a, (int)test_below(a->t, 2));
}

static void ask(struct test *t, uint64_t sets, uint64_t rows)
{
    struct ask a = {.t = t, .desc = COHORT_SETS_QUERY_INIT};
    draw_sets(&a, sets);
    draw_op(&a);
    draw_rows(&a, rows);
    ask_rows(&a);
}

static void queries(struct test *t)
{
    uint64_t rounds = test_scale(t, 20, test_size(t, 300, 30), test_size(t, 1500, 100));
    for (uint64_t round = 0; round < rounds; round++)
        ask(t, 12, 12);
}

static void batches(struct test *t)
{
    uint64_t rounds = test_scale(t, 2, test_size(t, 15, 3), test_size(t, 60, 6));
    for (uint64_t round = 0; round < rounds; round++)
        if (test_drawn(t, round, 2))
            ask(t, 40, test_size(t, 1200, 120));
}

/* A set that is one chunk: numbers close together or spread, few or many, or in runs; or every second number,
 * of which two fill the chunk, but in some words, which are full or empty. */
static struct plain draw_chunk(struct test *t, uint64_t key)
{
    uint64_t *at = malloc(65536 * sizeof *at), n = 0, kind = test_below(t, 7), step = kind < 2 ? 3 : 40;
    uint64_t most = kind == 0 ? 9 : kind == 1 ? 4096 : 3000, turn = test_below(t, 2), odd = test_below(t, 90);
    REQUIRE(t, at);
    most = 1 + test_below(t, most);
    kind = kind > 4 ? 3 : kind; /* runs */
    for (uint64_t v = test_below(t, 3000); kind < 4 && n < most && v < 65536;) {
        at[n++] = key << 16 | v;
        v += kind < 3 ? 1 + test_below(t, step) : test_below(t, 40) ? 1 : 2 + test_below(t, 200);
    }
    for (uint64_t v = 0; kind == 4 && v < 65536; v++)
        if (v / 64 % 61 == odd ? turn : v % 2 == turn)
            at[n++] = key << 16 | v;
    struct plain p = plain_of(at, n);
    free(at);
    return p;
}

static void draw_chunks(struct ask *a, uint64_t n)
{
    a->p[0] = plains_new(n, (int)test_below(a->t, 2));
    for (uint64_t i = 0; i < n; i++)
        a->p[0].at[i] = draw_chunk(a->t, 7 + test_below(a->t, 16) / 15);
    a->sets[0] = sets_of(a->t, &a->p[0], 0);
    a->count = n;
    a->desc.collections = a->sets;
    a->desc.collections_count = 1;
}

/* Many operands in the same few chunks, which meet in every way. */
static void chunks(struct test *t)
{
    uint64_t rounds = test_scale(t, 4, test_size(t, 80, 16), test_size(t, 400, 50));
    for (uint64_t round = 0; round < rounds; round++) {
        struct ask a = {.t = t, .desc = COHORT_SETS_QUERY_INIT};
        draw_chunks(&a, 4 + test_below(t, 12));
        draw_op(&a);
        draw_rows(&a, 12);
        ask_rows(&a);
    }
}

/* Every two of some, by each operation. */
static void pairs(struct test *t)
{
    uint64_t rounds = test_scale(t, 8, test_size(t, 20, 6), test_size(t, 100, 12)), n = 4;
    for (uint64_t round = 0; round < 4 * rounds; round++) {
        if (!test_drawn(t, round / 4, test_size(t, 1, 4)))
            continue;
        struct ask a = {.t = t, .desc = COHORT_SETS_QUERY_INIT};
        draw_chunks(&a, n);
        a.desc.op = (cohort_sets_op)(COHORT_SETS_AND + round % 4);
        a.desc.rows = n * n;
        a.desc.arity = 2;
        a.members = column_new(t, 2 * n * n, 8);
        for (uint64_t i = 0; i < 2 * n * n; i++)
            column_put(a.members, i, i % 2 ? i / 2 % n : i / 2 / n);
        a.desc.members = column_send(a.members);
        ask_rows(&a);
    }
}

/* So many chunks that threads share a row, each of a few numbers that sets have in common or have not. The
 * first chunk has an array of thousands, or a few dozens of its numbers and as many others. */
static struct plain draw_large(struct test *t, uint64_t set)
{
    uint64_t at[11000], n = 0, most = test_size(t, 3000, 300);
    uint64_t chunks = test_size(t, 180, 12) + test_below(t, test_size(t, 300, 6));
    for (uint64_t v = set % 2 ? 700 : 3; v < 65536 && n < most; n++) {
        at[n] = v;
        v += set % 2 ? 1300 + 7 * test_below(t, 90) : 7 * (1 + test_below(t, 4));
    }
    for (uint64_t key = 1; key < chunks; key++)
        for (uint64_t v = test_below(t, 5) ? 0 : 16; v < 16; v++)
            if (test_below(t, 2))
                at[n++] = key << 16 | v << 2;
    return plain_of(at, n);
}

static void large_rounds(struct test *t)
{
    uint64_t rounds = test_scale(t, test_size(t, 16, 4), test_size(t, 48, 8), test_size(t, 192, 16));
    for (uint64_t round = 0; round < rounds; round++) {
        struct ask a = {.t = t, .desc = COHORT_SETS_QUERY_INIT};
        a.p[0] = plains_new(5, (int)test_below(t, 2));
        for (uint64_t i = 0; i < 5; i++)
            a.p[0].at[i] = i < 4 ? draw_large(t, i) : plain_draw(t, SHAPE_FEW, a.p[0].wide);
        a.sets[0] = sets_of(t, &a.p[0], 0);
        a.count = 5;
        a.desc.collections = a.sets;
        a.desc.collections_count = 1;
        a.desc.op = (cohort_sets_op)(COHORT_SETS_AND + round / 4 % 4);
        a.desc.rows = 4;
        a.desc.arity = 2 + round / 2 % 2;
        a.members = column_new(t, 4 * a.desc.arity, 8);
        for (uint64_t i = 0; i < 4 * a.desc.arity; i++)
            column_put(a.members, i, (i + i / a.desc.arity) % (round % 3 ? 4 : 5));
        a.desc.members = column_send(a.members);
        if (round % 4 > 1) {
            ask_rows(&a);
            continue;
        }
        a.counts = column_new(t, a.desc.rows, 8);
        a.desc.counts = column_pointer(a.counts);
        ask_wishes(&a, round % 4);
    }
}

/* A small set whose members many share, or none, or one with chunks. */
static struct plain draw_small(struct test *t, int wide)
{
    uint64_t at[40], kind = test_below(t, 40), n = kind < 8 ? 0 : 1 + test_below(t, kind == 8 ? 40 : 4);
    uint64_t high = wide && test_below(t, 2) ? 1ull << 40 : 0;
    if (kind == 9)
        return draw_chunk(t, test_below(t, 4));
    for (uint64_t i = 0; i < n; i++)
        at[i] = high | test_below(t, 4) << 16 | (test_below(t, 2) ? test_below(t, 30) : test_below(t, 65536));
    return plain_of(at, n);
}

/* What is asked against them: a list of members that some have, or as many in each of some chunks. */
static struct plain draw_asked(struct test *t, int wide)
{
    uint64_t at[1200], n = 0, kind = test_below(t, 5), each = kind == 3 ? 3 : 100;
    if (kind < 2)
        return kind ? draw_small(t, wide) : plain_draw(t, (enum shape)test_below(t, SHAPES), wide);
    for (uint64_t chunk = 0; chunk < (wide ? 8 : 4); chunk++)
        for (uint64_t i = 0, some = chunk == 3 || test_below(t, 3); i < each && some; i++)
            at[n++] = chunk / 4 << 40 | chunk % 4 << 16 | test_below(t, i % 2 ? 30 : 65536);
    return plain_of(at, n);
}

/* One set with each of many small ones, counted, or asked whether there is a member. */
static void ask_each(struct test *t)
{
    struct ask a = {.t = t, .desc = COHORT_SETS_QUERY_INIT};
    cohort_sets_query_desc *d = &a.desc;
    int wide = (int)test_below(t, 2);
    a.p[0] = plains_new(1 + test_below(t, test_size(t, 2000, 700)), wide);
    a.p[1] = plains_new(1, wide);
    for (uint64_t i = 0; i < a.p[0].n; i++)
        a.p[0].at[i] = draw_small(t, wide);
    a.p[1].at[0] = draw_asked(t, wide);
    for (int i = 0; i < 2; i++)
        a.sets[i] = sets_of(t, &a.p[i], 0);
    a.count = a.p[0].n + 1;
    d->collections = a.sets;
    d->collections_count = 2;
    d->op = (cohort_sets_op)(COHORT_SETS_AND + test_below(t, 4));
    d->each = 1 + (uint32_t)test_below(t, 2);
    d->rows = a.p[0].n;
    d->arity = 1;
    a.members = column_new(t, 1, 8);
    column_put(a.members, 0, test_below(t, 4) ? a.p[0].n : test_below(t, a.count));
    d->members = column_send(a.members);
    if (test_below(t, 3))
        a.counts = column_new(t, d->rows, 8);
    if (!a.counts || test_below(t, 2))
        bitmap_soil(a.any = bitmap_new(t, d->rows));
    d->counts = column_pointer(a.counts);
    d->any = column_pointer(a.any);
    d->any_offset = bitmap_offset(a.any);
    ask_wishes(&a, 0);
}

static void each_rounds(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 24, test_size(t, 60, 20), test_size(t, 300, 50)); round++)
        if (test_drawn(t, round, test_size(t, 1, 3)))
            ask_each(t);
}

/* On a CPU with some threads. */
static void each(struct test *t)
{
    cohort_context *given = t->context;
    cohort_context_options options = test_context_options(t);
    each_rounds(t);
    if (t->kind != TEST_CPU)
        return;
    options.threads = 2 + test_below(t, 3);
    OK(t, cohort_context_create(&options, &t->context));
    each_rounds(t);
    cohort_context_destroy(t->context);
    t->context = given;
}

/* On a CPU with threads enough to share a row. */
static void large(struct test *t)
{
    cohort_context *given = t->context;
    cohort_context_options options = test_context_options(t);
    options.threads = 2 + test_below(t, 3);
    if (t->kind == TEST_CPU)
        OK(t, cohort_context_create(&options, &t->context));
    large_rounds(t);
    if (t->kind == TEST_CPU)
        cohort_context_destroy(t->context);
    t->context = given;
}

/* ---- laws ---------------------------------------------------------------------------------------------- */

static uint64_t count_of(struct test *t, cohort_sets *sets, cohort_sets_op op, uint64_t x, uint64_t y)
{
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    struct column *members = column_new(t, 2, 8), *counts = column_new(t, 1, 8);
    column_put(members, 0, x);
    column_put(members, 1, y);
    d.op = op;
    d.collections = &sets;
    d.collections_count = 1;
    d.rows = 1;
    d.arity = 2;
    d.members = column_send(members);
    d.counts = column_send(counts);
    OK(t, cohort_sets_query(t->context, &d));
    OK(t, cohort_wait(t->context));
    column_fetch(counts);
    return column_get(counts, 0);
}

/* Rows of `arity` sets of one collection or two, as a collection. */
static cohort_sets *answer(struct test *t, cohort_sets *one, cohort_sets *two, cohort_sets_op op,
                           uint64_t rows, uint64_t arity, const uint64_t *members)
{
    cohort_sets *const collections[] = {one, two};
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    struct column *asked = column_new(t, rows * arity, 8);
    cohort_sets *out = NULL;
    for (uint64_t i = 0; i < rows * arity; i++)
        column_put(asked, i, members[i]);
    d.op = op;
    d.collections = collections;
    d.collections_count = two ? 2 : 1;
    d.rows = rows;
    d.arity = arity;
    d.members = column_send(asked);
    d.result = &out;
    OK(t, cohort_sets_query(t->context, &d));
    return out;
}

/* A list of many chunks, and some of its members, the last among them. */
static void draw_lists(struct test *t, struct plain *many, struct plain *few, uint64_t each)
{
    uint64_t at[600], some[600], n = 100 + test_below(t, 500), k = 0;
    for (uint64_t i = 0; i < n; i++) {
        at[i] = i * 70000 + test_below(t, 70000);
        if ((n - 1 - i) % each == 0)
            some[k++] = at[i];
    }
    *many = plain_of(at, n);
    *few = plain_of(some, k);
}

static uint64_t size_of(struct test *t, const cohort_sets *sets)
{
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    OK(t, cohort_sets_get_info(sets, &info));
    return info.members;
}

/* De Morgan's laws within a universe, which is set n, behind those of `sets`: what is in neither
 * is not in their union, and what is not in both is not in their intersection. */
static void de_morgan(struct test *t, cohort_sets *sets, uint64_t n, cohort_sets *universe, uint64_t x,
                      uint64_t y)
{
    static const cohort_sets_op ops[2][2] = {{COHORT_SETS_AND, COHORT_SETS_OR},
                                             {COHORT_SETS_OR, COHORT_SETS_AND}};
    const uint64_t pair[] = {0, 1};
    cohort_sets *without = answer(t, sets, universe, COHORT_SETS_ANDNOT, 2, 2, (uint64_t[]){n, x, n, y});
    for (int i = 0; i < 2; i++) {
        cohort_sets *left = answer(t, without, NULL, ops[i][0], 1, 2, pair);
        cohort_sets *inner = answer(t, sets, NULL, ops[i][1], 1, 2, (uint64_t[]){x, y});
        cohort_sets *right = answer(t, universe, inner, COHORT_SETS_ANDNOT, 1, 2, pair);
        cohort_sets *apart = answer(t, left, right, COHORT_SETS_XOR, 1, 2, pair);
        EQUAL(t, size_of(t, left), size_of(t, universe) - size_of(t, inner));
        EQUAL(t, size_of(t, right), size_of(t, left));
        EQUAL(t, size_of(t, apart), 0);
        cohort_sets_destroy(left);
        cohort_sets_destroy(inner);
        cohort_sets_destroy(right);
        cohort_sets_destroy(apart);
    }
    cohort_sets_destroy(without);
}

/* What must hold of any two sets, whatever they are. */
static void laws(struct test *t)
{
    uint64_t rounds = test_scale(t, test_size(t, 8, 3), test_size(t, 30, 3), test_size(t, 100, 8));
    for (uint64_t round = 0; round < rounds; round++) {
        if (!test_drawn(t, round, test_size(t, 1, 3)))
            continue;
        struct plains p = plains_draw(t, 6, (int)(round / 2 % 2));
        plain_free(&p.at[0]); /* a full chunk, and another set in the same one */
        plain_free(&p.at[1]);
        p.at[0] = plain_draw(t, SHAPE_FULL, p.wide);
        p.at[1] = plain_copy(&p.at[0]);
        p.at[1].n -= 1 + test_below(t, 60000);
        plain_free(&p.at[2]);
        plain_free(&p.at[3]);
        draw_lists(t, &p.at[2], &p.at[3], round % 2 ? 9 + test_below(t, 40) : 1 + test_below(t, 5));
        cohort_sets *sets = sets_of(t, &p, 0);
        cohort_sets *both_of_them = answer(t, sets, NULL, COHORT_SETS_AND, 1, 2, (uint64_t[]){1, 0});
        cohort_sets *universe = answer(t, sets, NULL, COHORT_SETS_OR, 1, 6, (uint64_t[]){0, 1, 2, 3, 4, 5});
        sets_judge(t, both_of_them, &(struct plains){&p.at[1], 1, p.wide}, "a part of a full chunk");
        cohort_sets_destroy(both_of_them);
        EQUAL(t, count_of(t, sets, COHORT_SETS_AND, 2, 3), p.at[3].n);
        for (int i = 0; i < 6; i++) {
            uint64_t x = test_below(t, p.n), y = test_below(t, p.n),
                     both = count_of(t, sets, COHORT_SETS_AND, x, y);
            EQUAL(t, count_of(t, sets, COHORT_SETS_OR, x, y), p.at[x].n + p.at[y].n - both);
            EQUAL(t, count_of(t, sets, COHORT_SETS_ANDNOT, x, y), p.at[x].n - both);
            EQUAL(t, count_of(t, sets, COHORT_SETS_XOR, x, y), p.at[x].n + p.at[y].n - 2 * both);
            EQUAL(t, count_of(t, sets, COHORT_SETS_AND, y, x), both);
            if (!i || t->kind == TEST_CPU)
                de_morgan(t, sets, p.n, universe, x, y);
        }
        cohort_sets_destroy(universe);
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

const struct test_case test_cases[] = {
    {"queries", queries, TEST_EACH_MEMORY}, {"batches", batches, TEST_EACH_MEMORY},
    {"chunks", chunks, TEST_EACH_MEMORY},   {"pairs", pairs, TEST_EACH_MEMORY},
    {"each", each, TEST_EACH_MEMORY},       {"large", large, TEST_EACH_MEMORY},
    {"laws", laws, TEST_EACH_MEMORY},       {NULL, NULL, 0},
};
