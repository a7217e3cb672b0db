/* test_sets_pairs.c: two sets and few, whose chunks have so many runs or members as a limit of some loop, one
 * less and one more; and chunks that one set alone has. Answers are looked at member by member, and saved and
 * loaded again, which judges digests and what fills arrays up. */
#include "file.h"
#include "sets.h"

#define IDS 65536u

/* The members of a chunk, a byte each. */
struct bits {
    unsigned char is[IDS];
};

/* ---- chunks -------------------------------------------------------------------------------------------- */

enum form { RUNS, ARRAY, NEIGHBOURS, FORMS };

/* So many runs, of three numbers or more; the first may begin with 0, and the last end with 65,535. */
static void draw_runs(struct test *t, struct bits *b, uint64_t n)
{
    const uint64_t room = IDS / n, longest = room - 4 < 14 ? room - 4 : test_below(t, 8) ? 14 : room - 4;
    const int from = (int)test_below(t, 2), to = (int)test_below(t, 2);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = 3 + test_below(t, longest - 2), most = room - 1 - length;
        uint64_t first = room * i + 1 + (most > 1 ? test_below(t, most - 1) : 0);
        if (i == 0 && from)
            first = 0;
        if (i + 1 == n && to) {
            length = IDS - first;
            length = length > 3 * room ? 3 : length;
            first = IDS - length;
        }
        memset(b->is + first, 1, length);
    }
}

/* So many members anywhere, or many of them side by side. */
static void draw_members(struct test *t, struct bits *b, uint64_t n, int neighbours)
{
    const uint64_t room = IDS / n;
    for (uint64_t i = 0; i < n; i++)
        b->is[neighbours ? i * room + (i % 2 ? 0 : room - 1) : i * room + test_below(t, room)] = 1;
    if (test_below(t, 2)) {
        b->is[0] = 1;
        b->is[IDS - 1] = 1;
    }
}

static void draw_form(struct test *t, struct bits *b, enum form form, uint64_t n)
{
    memset(b, 0, sizeof *b);
    if (form == RUNS)
        draw_runs(t, b, n < 2046 ? n : 2046);
    else
        draw_members(t, b, n < 4096 ? n : 4096, form == NEIGHBOURS);
}

/* From another chunk: what it lacks, or a part of that, the same, the same with ends of runs moved, the same
 * one number on. */
static void derive(struct test *t, const struct bits *from, struct bits *b)
{
    const uint64_t way = test_below(t, 6), first = way < 3 ? test_below(t, 20000) : 0;
    const uint64_t last = way && way < 3 ? first + test_below(t, 40000) : IDS;
    for (uint64_t v = 0; v < IDS; v++)
        b->is[v] = way < 3    ? v >= first && v < last && !from->is[v]
                   : way == 5 ? v && from->is[v - 1]
                              : from->is[v];
    for (uint64_t v = 1; v < IDS && way == 4; v++)
        if (from->is[v] != from->is[v - 1] && !test_below(t, 3))
            b->is[v - test_below(t, 2)] ^= 1;
}

/* Both have about so many entries together as some limit, or just one. */
static void draw_two(struct test *t, struct bits *a, struct bits *b)
{
    static const uint64_t sums[] = {2, 31, 32, 33, 63, 64, 65, 96, 256, 1024, 1025, 4096};
    const enum form x = (enum form)test_below(t, FORMS), y = (enum form)test_below(t, FORMS);
    const uint64_t sizes = test_size(t, sizeof sums / sizeof sums[0], 8);
    uint64_t sum = sums[test_below(t, sizes)] + test_below(t, 3), n = 1 + test_below(t, sum - 1);
    draw_form(t, a, x, test_below(t, 4) ? n : sum);
    if (test_below(t, 2))
        derive(t, a, b);
    else if (test_below(t, 8))
        draw_form(t, b, y, sum - n);
    else
        draw_form(t, b, y, test_below(t, 2) ? 1 : 4096); /* the one or the other is longer by far */
}

static struct plain plain_of_bits(const struct bits *b, uint64_t key)
{
    struct plain p = {malloc(IDS * sizeof *p.at), 0};
    if (!p.at)
        abort();
    for (uint64_t v = 0; v < IDS; v++)
        if (b->is[v])
            p.at[p.n++] = key << 16 | v;
    return p;
}

/* ---- questions ----------------------------------------------------------------------------------------- */

/* Digests, and what fills arrays up, are as a reader finds them. */
static void judge_saved(struct test *t, const cohort_sets *sets, const struct plains *due)
{
    struct folder f = folder_new(t);
    cohort_sets *back = NULL;
    OK(t, cohort_sets_save(sets, f.file));
    OK(t, cohort_sets_load(t->context, f.file, &back));
    sets_judge(t, back, due, "saved and loaded");
    cohort_sets_destroy(back);
    folder_end(t, &f);
}

/* Rows of `arity` sets each; their answers are due, as counts, and as a collection. */
static void ask_rows(struct test *t, cohort_sets *sets, cohort_sets_op op, const uint64_t *members,
                     uint64_t arity, const struct plains *due)
{
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    struct column *mark = t->columns, *which = column_new(t, due->n * arity, 8);
    struct column *counts = column_new(t, due->n, 8);
    cohort_sets *result = NULL;
    for (uint64_t i = 0; i < due->n * arity; i++)
        column_put(which, i, members[i]);
    d.op = op;
    d.collections = &sets;
    d.collections_count = 1;
    d.rows = due->n;
    d.arity = arity;
    d.members = column_send(which);
    d.counts = column_pointer(counts);
    OK(t, cohort_sets_query(t->context, &d));
    OK(t, cohort_wait(t->context));
    column_fetch(counts);
    for (uint64_t r = 0; r < due->n; r++)
        REQUIREF(t, column_get(counts, r) == due->at[r].n,
                 "operation %d: row %llu has %llu members, not %llu", (int)op, (unsigned long long)r,
                 (unsigned long long)column_get(counts, r), (unsigned long long)due->at[r].n);
    d.counts = test_below(t, 2) ? d.counts : NULL;
    d.result = &result;
    OK(t, cohort_sets_query(t->context, &d));
    sets_judge(t, result, due, "the answers");
    if (t->kind == TEST_CPU)
        judge_saved(t, result, due);
    cohort_sets_destroy(result);
    column_drop(t, mark);
}

/* The answers of rows, and the question. */
static void ask_plains(struct test *t, const struct plains *p, cohort_sets *sets, cohort_sets_op op,
                       const uint64_t *members, uint64_t rows, uint64_t arity)
{
    struct plains due = plains_new(rows, p->wide);
    const struct plain *operands[16];
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t k = 0; k < arity; k++)
            operands[k] = &p->at[members[r * arity + k]];
        due.at[r] = plain_row(op, 0, operands, arity);
    }
    ask_rows(t, sets, op, members, arity, &due);
    plains_free(&due);
}

static int holds(cohort_sets_op op, int a, int b)
{
    return op == COHORT_SETS_AND   ? a & b
           : op == COHORT_SETS_OR  ? a | b
           : op == COHORT_SETS_XOR ? a ^ b
                                   : a & !b;
}

#define TWOS 4u

/* Each two sets in both orders, by all operations. */
static void ask_twos(struct test *t, const struct bits *chunks, int wide)
{
    struct plains p = plains_new(2 * TWOS, wide), due = plains_new(2 * TWOS, wide);
    uint64_t members[4 * TWOS];
    for (uint64_t i = 0; i < 2 * TWOS; i++) {
        p.at[i] = plain_of_bits(&chunks[i], 5 + i / 2);
        members[2 * i] = i;
        members[2 * i + 1] = i ^ 1;
    }
    cohort_sets *sets = sets_of(t, &p, 0);
    for (cohort_sets_op op = COHORT_SETS_AND; op <= COHORT_SETS_XOR; op++) {
        for (uint64_t i = 0; i < 2 * TWOS; i++) {
            struct bits answer;
            for (uint64_t v = 0; v < IDS; v++)
                answer.is[v] = (unsigned char)holds(op, chunks[i].is[v], chunks[i ^ 1].is[v]);
            plain_free(&due.at[i]);
            due.at[i] = plain_of_bits(&answer, 5 + i / 2);
        }
        ask_rows(t, sets, op, members, 2, &due);
    }
    cohort_sets_destroy(sets);
    plains_free(&p);
    plains_free(&due);
    column_drop(t, NULL);
}

/* ---- cases --------------------------------------------------------------------------------------------- */

static void twos_rounds(struct test *t)
{
    const uint64_t rounds = test_scale(t, test_size(t, 120, 1), test_size(t, 160, 3), test_size(t, 360, 10));
    struct bits *chunks = malloc(2 * TWOS * sizeof *chunks);
    REQUIRE(t, chunks);
    for (uint64_t round = 0; round < rounds; round++) {
        for (uint64_t i = 0; i < TWOS; i++)
            draw_two(t, &chunks[2 * i], &chunks[2 * i + 1]);
        ask_twos(t, chunks, (int)test_below(t, 2));
    }
    free(chunks);
}

/* Runs whose ends are about those of words, united, many at a time. */
static void words_rounds(struct test *t)
{
    static const uint64_t lengths[] = {1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 1000};
    const uint64_t rounds = test_scale(t, test_size(t, 20, 1), test_size(t, 100, 2), test_size(t, 250, 5));
    for (uint64_t round = 0; round < rounds; round++) {
        struct plains p = plains_new(3 + test_below(t, 6), 0);
        uint64_t members[9];
        for (uint64_t i = 0; i < p.n; i++) {
            static struct bits b;
            memset(&b, 0, sizeof b);
            for (uint64_t v = test_below(t, 3) ? test_below(t, 500) : 0; v < IDS;) {
                uint64_t length = lengths[test_below(t, 11)], left = IDS - v;
                memset(b.is + v, 1, length < left ? length : left);
                v += length + 1;
                v = test_below(t, 2) ? (v + 63) / 64 * 64 + test_below(t, 3) : v + test_below(t, 4000);
            }
            p.at[i] = plain_of_bits(&b, 1);
            members[i] = i;
        }
        cohort_sets *sets = sets_of(t, &p, 0);
        ask_plains(t, &p, sets, test_below(t, 4) ? COHORT_SETS_OR : COHORT_SETS_XOR, members, 1, p.n);
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* A few members of a chunk, or runs; seldom what makes a bitmap, or all. */
static uint64_t draw_chunk(struct test *t, uint64_t key, uint64_t *at)
{
    const uint64_t kind = test_below(t, test_size(t, 60, 200)),
                   first = test_below(t, 3) ? test_below(t, 4000) : 0;
    uint64_t n = 0, step = kind == 0 ? 1 : kind == 1 ? 2 : kind < 30 ? 1 + test_below(t, 900) : 1;
    uint64_t most = kind == 0 ? IDS : kind == 1 ? 6000 : 1 + test_below(t, test_below(t, 4) ? 12 : 90);
    for (uint64_t v = kind == 0 ? 0 : first; n < most && v < IDS; n++) {
        at[n] = key << 16 | v;
        v += step + (kind >= 30 && n % 7 == 6);
    }
    return n;
}

/* Chunks side by side, then as many that it has not, again and again. */
static struct plain draw_stretches(struct test *t, uint64_t chunks, int wide)
{
    uint64_t *at = NULL, n = 0, room = 0;
    for (uint64_t key = 0; key < chunks;) {
        uint64_t some = 1 + test_below(t, test_below(t, 3) ? 3 : 20), is = test_below(t, 2);
        for (; some && key < chunks; some--, key++) {
            if (room - n < IDS) {
                room = 2 * room + IDS;
                at = realloc(at, room * sizeof *at);
                REQUIRE(t, at);
            }
            n += is ? draw_chunk(t, key << (wide && key > 20 ? 20 : 0), at + n) : 0;
        }
    }
    struct plain p = plain_of(at, n);
    free(at);
    return p;
}

/* The same sets, as a query writes them: bitmaps lie between arrays and runs, and what threads have found
 * lies apart. */
static cohort_sets *written_again(struct test *t, cohort_sets *sets, uint64_t n)
{
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    struct column *which = column_new(t, n, 8);
    cohort_sets *result = NULL;
    for (uint64_t i = 0; i < n; i++)
        column_put(which, i, i);
    d.op = COHORT_SETS_OR;
    d.collections = &sets;
    d.collections_count = 1;
    d.rows = n;
    d.arity = 1;
    d.members = column_send(which);
    d.result = &result;
    OK(t, cohort_sets_query(t->context, &d));
    cohort_sets_destroy(sets);
    return result;
}

static void ask_stretches(struct test *t, uint64_t chunks, cohort_sets_op op, int again)
{
    struct plains p = plains_new(4, (int)test_below(t, 2));
    uint64_t members[12], arity = 1 + test_below(t, 3);
    for (uint64_t i = 0; i < p.n; i++)
        p.at[i] = i < 3 ? draw_stretches(t, chunks, p.wide) : plain_draw(t, SHAPE_FEW, p.wide);
    for (uint64_t i = 0; i < 4 * arity; i++)
        members[i] = (i + i / arity) % 4;
    cohort_sets *sets = sets_of(t, &p, 0);
    if (again)
        sets = written_again(t, sets, p.n);
    ask_plains(t, &p, sets, op, members, 4, arity);
    cohort_sets_destroy(sets);
    plains_free(&p);
    column_drop(t, NULL);
}

static void stretches_rounds(struct test *t)
{
    const uint64_t rounds = test_scale(t, test_size(t, 12, 2), test_size(t, 60, 5), test_size(t, 160, 20));
    for (uint64_t round = 0; round < rounds; round++)
        ask_stretches(t, test_size(t, 60, 12), (cohort_sets_op)(COHORT_SETS_AND + round % 4),
                      (int)test_below(t, 2));
}

/* So many chunks that threads share a row. */
static void shared_rounds(struct test *t)
{
    const uint64_t rounds = test_scale(t, 12, 20, 50);
    for (uint64_t round = 0; round < rounds; round++)
        if (test_drawn(t, round, 4))
            ask_stretches(t, 400 + test_below(t, 300), (cohort_sets_op)(COHORT_SETS_OR + round % 3), 1);
}

/* A list of about so many members as one vector has, or two; or chunks side by side, or far apart. */
static struct plain draw_list(struct test *t, uint64_t number)
{
    static const uint64_t sizes[] = {0, 1, 8, 9, 15, 16, 17, 31, 32, 33};
    uint64_t at[1100], n = 0, base = test_below(t, 2) ? 0 : UINT32_MAX - 70 * 65536ull;
    if (number % 3 == 2) {
        const uint64_t apart = test_below(t, 2) ? 1 : 65, most = apart == 1 ? 70 : 14;
        for (uint64_t key = 0; key < most; key++)
            for (uint64_t i = 0, many = test_below(t, 2) * 15; i < many; i++)
                at[n++] = (key * apart << 16) + (i < 5 ? i : 16 * i + test_below(t, 3));
        return plain_of(at, n);
    }
    for (uint64_t i = 0, many = sizes[test_below(t, 10)]; i < many; i++)
        at[n++] =
            base + (test_below(t, 3) ? test_below(t, 90) : test_below(t, 70) << 16 | test_below(t, 300));
    if (n && !test_below(t, 4))
        at[0] = test_below(t, 2) ? 0 : UINT32_MAX;
    return plain_of(at, n);
}

/* Lists and sets with chunks, each with each. */
static void lists_rounds(struct test *t)
{
    const uint64_t rounds = test_scale(t, test_size(t, 10, 1), test_size(t, 40, 2), test_size(t, 120, 8));
    enum { SETS = 14 };
    uint64_t members[2 * SETS * SETS];
    for (uint64_t i = 0; i < 2 * SETS * SETS; i++)
        members[i] = i % 2 ? i / 2 % SETS : i / 2 / SETS;
    for (uint64_t round = 0; round < rounds; round++) {
        struct plains p = plains_new(SETS, round % 4 == 3);
        for (uint64_t i = 0; i < p.n; i++)
            p.at[i] = draw_list(t, i);
        cohort_sets *sets = sets_of(t, &p, 0);
        ask_plains(t, &p, sets, (cohort_sets_op)(COHORT_SETS_AND + test_below(t, 4)), members, SETS * SETS,
                   2);
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* In another context of the CPU. */
static void in_context(struct test *t, const char *level, uint64_t threads, void (*rounds)(struct test *))
{
    cohort_context *given = t->context;
    cohort_context_options options = test_context_options(t);
    const char *before = getenv("COHORT_CPU");
    char *kept = before ? strdup(before) : NULL;
    options.threads = threads ? threads : options.threads;
    if (level)
        setenv("COHORT_CPU", level, 1);
    cohort_status status = cohort_context_create(&options, &t->context);
    if (kept)
        setenv("COHORT_CPU", kept, 1);
    else
        unsetenv("COHORT_CPU");
    free(kept);
    OK(t, status);
    rounds(t);
    cohort_context_destroy(t->context);
    t->context = given;
}

/* On a CPU also without vectors, and with those of AVX2 alone. */
static void at_levels(struct test *t, void (*rounds)(struct test *))
{
    static const char *const levels[] = {"plain", "avx2"};
    if (t->kind != TEST_CPU) {
        rounds(t);
        return;
    }
    if (test_drawn(t, 0, 3))
        rounds(t);
    for (uint64_t i = 0; i < 2; i++)
        if (test_drawn(t, 1 + i, 3))
            in_context(t, levels[i], 0, rounds);
}

static void twos(struct test *t)
{
    at_levels(t, twos_rounds);
}

static void words(struct test *t)
{
    at_levels(t, words_rounds);
}

static void stretches(struct test *t)
{
    at_levels(t, stretches_rounds);
}

static void shared(struct test *t)
{
    if (t->kind == TEST_CPU)
        in_context(t, NULL, 2 + test_below(t, 3), shared_rounds);
}

static void lists(struct test *t)
{
    at_levels(t, lists_rounds);
}

static uint32_t word_due(cohort_sets_op op, uint32_t x, uint32_t y)
{
    return op == COHORT_SETS_AND      ? x & y
           : op == COHORT_SETS_OR     ? x | y
           : op == COHORT_SETS_ANDNOT ? x & ~y
                                      : x ^ y;
}

/* Chunks of half of all, whose answers are bitmaps, and between them such as become arrays, full or empty, or
 * are an array of one operand. */
static void draw_large(struct test *t, uint32_t *x, uint32_t *y, uint64_t words)
{
    uint64_t draw = test_random(t) | 1;
    for (uint64_t i = 0; i < 2 * words; i++)
        x[i] = (uint32_t)((draw = draw * 6364136223846793005u + 1442695040888963407u) >> 32);
    for (uint64_t i = 0; i < words; i++) {
        const uint64_t kind = i / 2048 % 16;
        y[i] = kind == 5 ? ~x[i] : kind == 9 ? x[i] : y[i];
        y[i] = (kind == 7 || kind == 8) && i % 6 ? 0 : kind == 12 && i % 20 ? 0 : y[i];
    }
}

/* An answer of more than 32 MiB, whose bitmaps go past the caches: word by word. */
static void large_answer(struct test *t)
{
    static const cohort_sets_op ops[] = {COHORT_SETS_AND, COHORT_SETS_OR, COHORT_SETS_ANDNOT, COHORT_SETS_XOR,
                                         COHORT_SETS_AND};
    const uint64_t words = 4400 * 2048;
    struct column *in = column_new(t, 2 * words, 4), *out = column_new(t, words, 4),
                  *which = column_new(t, 2, 8);
    uint32_t *x = in->data, *y = x + words, *seen = out->data;
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    cohort_sets *sets = NULL, *result = NULL;
    draw_large(t, x, y, words);
    source.form = COHORT_FORM_BITMAPS;
    source.n = 2;
    source.bits = 32 * words;
    source.stride = 4 * words;
    source.members = column_send(in);
    OK(t, cohort_sets_build(t->context, &source, &sets));
    column_put(which, 0, 0);
    column_put(which, 1, 1);
    d.collections = &sets;
    d.collections_count = 1;
    d.rows = 1;
    d.arity = 2;
    d.members = column_send(which);
    d.result = &result;
    target.form = COHORT_FORM_BITMAPS;
    target.bits = 32 * words;
    target.members = column_send(out);
    for (uint64_t turn = 0; turn < sizeof ops / sizeof *ops; turn++) { /* in memory that was used before */
        d.op = ops[turn];
        OK(t, cohort_sets_query(t->context, &d));
        OK(t, cohort_sets_export(result, &target));
        column_fetch(out);
        cohort_sets_destroy(result);
        for (uint64_t i = 0; i < words; i++)
            REQUIREF(t, seen[i] == word_due(d.op, x[i], y[i]), "turn %llu: word %llu is %x",
                     (unsigned long long)turn, (unsigned long long)i, seen[i]);
        memset(seen, 0, 4 * words);
    }
    cohort_sets_destroy(sets);
    column_drop(t, NULL);
}

static void large(struct test *t)
{
    in_context(t, NULL, 1, large_answer);
    in_context(t, NULL, 3, large_answer);
}

const struct test_case test_cases[] = {
    {"large", large, TEST_ON_CPU},
    {"twos", twos, TEST_EACH_MEMORY},
    {"words", words, TEST_EACH_MEMORY},
    {"stretches", stretches, TEST_EACH_MEMORY},
    {"shared", shared, TEST_EACH_MEMORY},
    {"lists", lists, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
