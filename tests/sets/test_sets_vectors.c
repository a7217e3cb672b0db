/* test_sets_vectors.c: the CPU's loops over arrays of 16-bit numbers, bitmaps and runs, at each level that
 * the processor has, against walks from number to number. What lies behind an array changes nothing, and
 * nothing is written behind the room that is due: so each array has numbers behind it, of several kinds. */
#include "cpu/sets_vector.h"
#include "test.h"

#define IDS    65536u
#define MOST   SETS_ARRAY_MOST
#define BEHIND 128u       /* numbers that are looked at behind an array */
#define PAD    32u        /* that stand behind an array in a collection, at the least */
#define SPARE  (4 * MOST) /* and that are there: what is wrong may go far */

struct numbers {
    co_u32 n;
    co_u16 at[2 * MOST + BEHIND + SPARE];
};

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* Zeros, greatest numbers, any, or those of the array itself. */
static void put_behind(struct test *t, struct numbers *a)
{
    const uint64_t kind = test_below(t, 4), seed = test_random(t);
    for (co_u32 i = 0; i < BEHIND + SPARE; i++)
        a->at[a->n + i] = kind == 0   ? 0
                          : kind == 1 ? 0xffff
                          : kind == 2 ? (co_u16)test_mix(seed + i)
                                      : a->at[i % a->n];
}

/* Some numbers anywhere below a limit, or half of them such as `other` has. */
static void draw(struct test *t, struct numbers *a, co_u32 n, const struct numbers *other)
{
    static unsigned char is[IDS];
    const uint64_t below = test_below(t, 4) ? IDS : n + test_below(t, IDS - n + 1);
    memset(is, 0, sizeof is);
    for (co_u32 i = 0; i < n; i++)
        is[other && test_below(t, 2) ? other->at[test_below(t, other->n)] : test_below(t, below)] = 1;
    if (!test_below(t, 8))
        is[0] = is[IDS - 1] = 1;
    a->n = 0;
    for (co_u32 v = 0; v < IDS && a->n < MOST; v++)
        if (is[v])
            a->at[a->n++] = (co_u16)v;
    put_behind(t, a);
}

static co_u32 length(struct test *t, co_u32 most)
{
    static const co_u32 limits[] = {1, 8, 31, 32, 33, 63, 64, 96, 128, 1024, 2048, 4064, 4095, 4096};
    co_u32 n = limits[test_below(t, sizeof limits / sizeof limits[0])];
    if (test_below(t, 2))
        n = 1 + (co_u32)test_below(t, most);
    return n < most ? n : most;
}

/* Two of them: of like lengths, or the one far longer than the other. */
static void draw_two(struct test *t, struct numbers *a, struct numbers *b)
{
    const int far = test_below(t, 3) != 0;
    const co_u32 n = length(t, MOST);
    draw(t, a, n, NULL);
    draw(t, b, far && n > 32 ? 1 + (co_u32)test_below(t, n / 3 + 32) : length(t, MOST), a);
}

/* Room that is soiled. */
static void soil(struct numbers *to)
{
    to->n = 0;
    memset(to->at, 0x5c, sizeof to->at);
}

/* The first numbers are those due; behind `room` of them all is as it was. */
static void judge(struct test *t, const struct numbers *got, const struct numbers *due, co_u32 room,
                  const struct numbers *before, const char *what)
{
    REQUIREF(t, got->n == due->n, "%s: %u numbers, not %u", what, got->n, due->n);
    for (co_u32 i = 0; i < due->n; i++)
        REQUIREF(t, got->at[i] == due->at[i], "%s: number %u is %u, not %u", what, i, got->at[i], due->at[i]);
    for (co_u32 i = room; i < room + BEHIND; i++)
        REQUIREF(t, got->at[i] == before->at[i], "%s: number %u is written, behind %u", what, i, room);
}

/* ---- the loops ----------------------------------------------------------------------------------------- */

static void filter(struct test *t, const struct sets_vectors *v, const struct numbers *a,
                   const struct numbers *b, int keep)
{
    static struct numbers due, got, blank;
    const char *what = keep ? "those in both" : "those in one";
    co_u32 j = 0;
    due.n = 0;
    for (co_u32 i = 0; i < a->n; i++) {
        while (j < b->n && b->at[j] < a->at[i])
            j++;
        if ((j < b->n && b->at[j] == a->at[i]) == keep)
            due.at[due.n++] = a->at[i];
    }
    soil(&blank);
    got = blank;
    got.n = v->filter(a->at, a->n, b->at, b->n, keep, got.at);
    judge(t, &got, &due, a->n, &blank, what);
    got = *a;
    got.n = v->filter(got.at, a->n, b->at, b->n, keep, got.at);
    judge(t, &got, &due, a->n, a, what);
    EQUAL(t, v->filter(a->at, a->n, b->at, b->n, keep, NULL), due.n);
}

static void merge(struct test *t, const struct sets_vectors *v, co_u32 op, const struct numbers *a,
                  const struct numbers *b)
{
    static struct numbers due, got, blank;
    co_u32 i = 0, j = 0;
    due.n = 0;
    while (i < a->n || j < b->n) {
        co_u32 x = i < a->n ? a->at[i] : IDS, y = j < b->n ? b->at[j] : IDS;
        if (op == SETS_OR || x != y)
            due.at[due.n++] = (co_u16)(x < y ? x : y);
        i += x <= y;
        j += y <= x;
    }
    soil(&blank);
    got = blank;
    got.n = v->merge(op, a->at, a->n, b->at, b->n, got.at);
    judge(t, &got, &due, a->n + b->n + SETS_VECTOR_ROOM, &blank, op == SETS_OR ? "or" : "xor");
}

/* And AVX-512 without what newer processors have of it. */
static void at_levels(struct test *t, void (*round)(struct test *, const struct sets_vectors *))
{
    enum cpu_level most;
    REQUIRE(t, cpu_level_find(&most));
    for (uint64_t i = 0; i < test_scale(t, 300, 2000, 10000); i++) {
        for (int level = CPU_PLAIN; level <= (int)most; level++)
            round(t, sets_vectors_of((enum cpu_level)level));
#if CPU_VECTORS
        if (most == CPU_AVX512)
            round(t, sets_avx512_bw());
#endif
    }
}

static void filter_round(struct test *t, const struct sets_vectors *v)
{
    static struct numbers a, b;
    draw_two(t, &a, &b);
    for (int keep = 0; keep < 2; keep++) {
        filter(t, v, &a, &b, keep);
        filter(t, v, &b, &a, keep);
    }
}

static void filters(struct test *t)
{
    at_levels(t, filter_round);
}

/* Arrays of a file that nobody has checked may be in no order: what comes of them is wrong, but nothing is
 * written behind as many as there are, and what lies outside is not read, which the address sanitizer sees.
 * A vector may be read behind an array, as behind each array of a collection. */
static void unordered_round(struct test *t, const struct sets_vectors *v)
{
    static struct numbers got, blank;
    const co_u32 n = length(t, MOST), m = length(t, MOST), mask = test_below(t, 2) ? 0xffff : 0x3ff;
    co_u16 *a = malloc((n + PAD) * sizeof *a), *b = malloc((m + PAD) * sizeof *b);
    for (co_u32 i = 0; i < n + PAD; i++)
        a[i] = (co_u16)(test_random(t) & mask);
    for (co_u32 i = 0; i < m + PAD; i++)
        b[i] = (co_u16)(test_random(t) & mask);
    soil(&blank);
    for (int keep = 0; keep < 2; keep++) {
        got = blank;
        got.n = v->filter(a, n, b, m, keep, got.at);
        REQUIREF(t, got.n <= n, "%u of %u numbers", got.n, n);
        for (co_u32 i = n; i < n + BEHIND; i++)
            REQUIREF(t, got.at[i] == blank.at[i], "number %u is written, behind %u", i, n);
        v->filter(a, n, b, m, keep, NULL);
    }
    free(a);
    free(b);
}

static void unordered(struct test *t)
{
    at_levels(t, unordered_round);
}

static void merge_round(struct test *t, const struct sets_vectors *v)
{
    static struct numbers a, b;
    draw(t, &a, length(t, MOST / 2), NULL);
    draw(t, &b, length(t, MOST / 2), &a);
    merge(t, v, SETS_OR, &a, &b);
    merge(t, v, SETS_XOR, &a, &b);
}

static void merges(struct test *t)
{
    at_levels(t, merge_round);
}

/* ---- bitmaps ------------------------------------------------------------------------------------------- */

/* Words of few bits, of many, of none and of all. */
static void draw_words(struct test *t, co_u64 *words)
{
    const uint64_t none = test_below(t, 4);
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++) {
        const uint64_t kind = test_below(t, 6), w = test_random(t);
        words[i] = kind < none ? 0
                   : kind == 3 ? w & test_random(t) & test_random(t) & test_random(t)
                   : kind == 4 ? ~0ull
                               : w;
    }
}

static co_u64 word_due(co_u32 op, co_u64 a, co_u64 b)
{
    return op == SETS_AND ? a & b : op == SETS_OR ? a | b : op == SETS_ANDNOT ? a & ~b : a ^ b;
}

/* Bit by bit. */
static struct sets_measure words_due(co_u32 op, const co_u64 *a, const co_u64 *b, co_u64 *to)
{
    struct sets_measure m = {0, 0, 0};
    for (co_u32 v = 0; v < IDS; v++) {
        co_u64 bit = word_due(op, a[v / 64], b[v / 64]) >> v % 64 & 1;
        to[v / 64] = (v % 64 ? to[v / 64] : 0) | bit << v % 64;
        m.card += (co_u32)bit;
        m.digest |= bit << v / 1024;
    }
    return m;
}

static void words_round(struct test *t, const struct sets_vectors *v)
{
    static co_u64 a[SETS_CHUNK_WORDS], b[SETS_CHUNK_WORDS], due[SETS_CHUNK_WORDS], got[SETS_CHUNK_WORDS];
    static _Alignas(64) co_u64 past[SETS_CHUNK_WORDS];
    static const co_u32 ops[] = {SETS_AND, SETS_OR, SETS_ANDNOT, SETS_XOR};
    const co_u32 op = ops[test_below(t, 4)];
    draw_words(t, a);
    draw_words(t, b);
    const struct sets_measure want = words_due(op, a, b, due), none = v->words(NULL, a, b, op);
    struct sets_measure have = v->words(got, a, b, op);
    REQUIRE(t, !memcmp(got, due, sizeof due));
    EQUAL(t, have.card, want.card);
    EQUAL(t, have.digest, want.digest);
    EQUAL(t, none.card, want.card);
    EQUAL(t, none.digest, want.digest);
    have = v->words_past(past, a, b, op);
    REQUIRE(t, !memcmp(past, due, sizeof due));
    EQUAL(t, have.card, want.card);
    EQUAL(t, have.digest, want.digest);
    have = v->words(a, a, b, op);
    REQUIRE(t, !memcmp(a, due, sizeof due));
    EQUAL(t, have.card, want.card);
}

static void words(struct test *t)
{
    at_levels(t, words_round);
}

/* In some lines alone: others stay as they are, and are not counted. */
static void lines_round(struct test *t, const struct sets_vectors *v)
{
    static co_u64 a[SETS_CHUNK_WORDS], b[SETS_CHUNK_WORDS], got[SETS_CHUNK_WORDS];
    static const co_u32 ops[] = {SETS_AND, SETS_OR, SETS_ANDNOT, SETS_XOR};
    const co_u32 op = ops[test_below(t, 4)];
    const int own = (int)test_below(t, 2);
    struct set_lines lines = {{test_random(t) & test_random(t), test_below(t, 2) ? test_random(t) : 0}};
    struct set_line_sums due = {0, 0, {{0, 0}}};
    draw_words(t, a);
    draw_words(t, b);
    memcpy(got, a, sizeof got);
    const struct set_line_sums have = v->lines(got, own ? got : a, b, op, &lines);
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++) {
        const int worked = (int)(lines.of[i / 512] >> i / 8 % 64 & 1);
        const co_u64 w = worked ? word_due(op, a[i], b[i]) : a[i];
        REQUIREF(t, got[i] == w, "word %u", i);
        due.before += worked ? (co_u32)__builtin_popcountll(a[i]) : 0;
        due.after += worked ? (co_u32)__builtin_popcountll(w) : 0;
        due.some.of[i / 512] |= (co_u64)(worked && w) << i / 8 % 64;
    }
    EQUAL(t, have.after, due.after);
    REQUIRE(t, op == SETS_AND || have.before == due.before);
    REQUIRE(t, !memcmp(&have.some, &due.some, sizeof due.some));
}

static void lines(struct test *t)
{
    at_levels(t, lines_round);
}

/* Of a bitmap's words, those of a digest: its members, and those of the bitmap's own array, changed back. */
static void members_round(struct test *t, const struct sets_vectors *v)
{
    static co_u64 a[SETS_CHUNK_WORDS];
    static co_u16 got[IDS + SETS_VECTOR_ROOM];
    co_u64 digest = 0;
    co_u32 due = 0;
    draw_words(t, a);
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++)
        digest |= (co_u64)(a[i] != 0) << i / 16;
    const co_u32 n = v->members(a, digest, got);
    for (co_u32 i = 0; i < IDS; i++)
        if (a[i / 64] >> i % 64 & 1) {
            REQUIREF(t, due < n && got[due] == i, "member %u is %u, not %u", due, got[due], i);
            due++;
        }
    EQUAL(t, n, due);
    EQUAL(t, n ? v->digest(got, n) : 0, digest);
    v->change(a, SETS_XOR, got, n);
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++)
        REQUIREF(t, !a[i], "word %u is not empty", i);
}

static void members(struct test *t)
{
    at_levels(t, members_round);
}

/* Of an array whose numbers lie as far apart as to have few in each part, and parts with none. */
static void digest_round(struct test *t, const struct sets_vectors *v)
{
    static co_u16 a[MOST];
    const co_u64 step = 20 + test_below(t, test_below(t, 2) ? 200 : 2000);
    co_u64 digest = 0;
    co_u32 n = 0;
    for (co_u64 at = test_below(t, 1024); at < IDS && n < MOST; at += 1 + test_below(t, step)) {
        a[n++] = (co_u16)at;
        digest |= 1ull << at / 1024;
    }
    EQUAL(t, v->digest(a, n), digest);
}

static void digests(struct test *t)
{
    at_levels(t, digest_round);
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

/* A chunk of runs or of an array, and its bits. */
static void draw_chunk(struct test *t, struct sets_chunk *c, co_u16 *at, co_u64 *bits, co_u32 most)
{
    const int runs = test_below(t, 2) == 0;
    co_u32 n = 0, v = (co_u32)test_below(t, 3) ? (co_u32)test_below(t, 300) : 0, card = 0;
    memset(bits, 0, SETS_CHUNK_WORDS * sizeof *bits);
    while (n < most && v < IDS) {
        co_u32 more = runs ? (co_u32)test_below(t, test_below(t, 4) ? 6 : 400) : 0;
        more = v + more < IDS ? more : IDS - 1 - v;
        at[runs ? 2 * n : n] = (co_u16)v;
        if (runs)
            at[2 * n + 1] = (co_u16)more;
        n++;
        card += more + 1;
        for (co_u32 i = v; i <= v + more; i++)
            bits[i / 64] |= 1ull << i % 64;
        v += more + 1 + (co_u32)(runs ? 1 : 0) + (co_u32)test_below(t, test_below(t, 3) ? 3 : 500);
    }
    *c = (struct sets_chunk){
        .at = at, .kind = runs ? CO_CHUNK_RUNS : CO_CHUNK_ARRAY, .entries = n, .card = card};
}

static void sweep_round(struct test *t, const struct sets_vectors *v)
{
    static co_u16 x[2 * SETS_RUNS_SWEPT + 64], y[2 * SETS_RUNS_SWEPT + 64], got[4 * SETS_RUNS_SWEPT + 64];
    static co_u64 a[SETS_CHUNK_WORDS], b[SETS_CHUNK_WORDS], due[SETS_CHUNK_WORDS], bits[SETS_CHUNK_WORDS];
    static const co_u32 ops[] = {SETS_AND, SETS_OR, SETS_ANDNOT, SETS_XOR};
    const co_u32 op = ops[test_below(t, 4)];
    struct sets_chunk c, d;
    draw_chunk(t, &c, x, a, 1 + (co_u32)test_below(t, SETS_RUNS_SWEPT / 2));
    draw_chunk(t, &d, y, b, 1 + (co_u32)test_below(t, SETS_RUNS_SWEPT / 2));
    const struct sets_measure want = words_due(op, a, b, due), have = v->sweep(op, &c, &d, got);
    EQUAL(t, have.card, want.card);
    EQUAL(t, have.digest, want.digest);
    memset(bits, 0, sizeof bits);
    for (co_u32 i = 0; i < have.runs; i++) {
        REQUIREF(t, !i || got[2 * i] > co_chunk_run_last(got, i - 1) + 1, "run %u touches the one before", i);
        sets_bitmap_set(bits, got[2 * i], co_chunk_run_last(got, i));
    }
    REQUIRE(t, !memcmp(bits, due, sizeof due));
}

static void sweeps(struct test *t)
{
    at_levels(t, sweep_round);
}

const struct test_case test_cases[] = {
    {"filters", filters, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"unordered", unordered, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"merges", merges, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"lines", lines, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"words", words, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"members", members, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"digests", digests, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"sweeps", sweeps, TEST_NO_CONTEXT | TEST_ON_CPU},
    {NULL, NULL, 0},
};
