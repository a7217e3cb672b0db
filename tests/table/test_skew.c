/* test_skew.c: joins and groups of rows that are not spread evenly: one key with a hundredth of both sides,
 * keys by Zipf's law, all rows of one key. Many more pairs come out than memory holds, so they are held
 * against the arithmetic of the keys: pair p is of the last left row before which there are at most p
 * pairs. */
#include <math.h>

#include "groups.h"
#include "joins.h"

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* n numbers below `distinct`, each drawn by 1 / (k + 1)^exponent. */
static uint64_t *zipf(struct test *t, uint64_t n, uint64_t distinct, double exponent)
{
    double *below = malloc(distinct * sizeof *below), sum = 0;
    uint64_t *out = malloc((n + 1) * sizeof *out);
    if (!below || !out)
        abort();
    for (uint64_t k = 0; k < distinct; k++)
        below[k] = sum += pow((double)(k + 1), -exponent);
    for (uint64_t i = 0; i < n; i++) {
        const double at = (double)(test_random(t) >> 11) * 0x1p-53 * sum;
        uint64_t low = 0, high = distinct - 1;
        while (low < high) {
            const uint64_t middle = (low + high) / 2;
            if (below[middle] > at)
                high = middle;
            else
                low = middle + 1;
        }
        out[i] = low;
    }
    free(below);
    return out;
}

/* Key k in the form `how`: integers close together, words that lie anywhere, integers at the ends of their
 * range; 3: two columns of words that lie anywhere. */
enum { FORMS = 4 };

static cohort_frame *frame_of(struct test *t, uint64_t n, const uint64_t *key, int how)
{
    uint64_t *first = malloc((n + 1) * 8), *second = malloc((n + 1) * 8);
    cohort_array array[2] = {{"a", COHORT_U64, 0, first, NULL}, {"b", COHORT_U64, 0, second, NULL}};
    cohort_frame *frame = NULL;
    if (!first || !second)
        abort();
    for (uint64_t i = 0; i < n; i++) {
        first[i] = how < 3 ? spread(key[i], how) : test_mix(key[i] / 3);
        second[i] = test_mix(key[i] + n);
    }
    OK(t, cohort_frame_create(t->context, n, how < 3 ? 1 : 2, array, &frame));
    free(first);
    free(second);
    return frame;
}

/* ---- joins --------------------------------------------------------------------------------------------- */

/* What is due: the pairs before each left row. */
struct expected {
    uint64_t n, total, *before;
    const uint64_t *left;
    struct known right;
    int kind;
};

static uint64_t pairs_of(const struct expected *e, uint64_t row)
{
    const uint64_t k = e->left[row], count = e->right.start[k + 1] - e->right.start[k];
    if (e->kind == COHORT_JOIN_ANTI)
        return !count;
    return e->kind == COHORT_JOIN_SEMI ? count > 0 : count + (e->kind == COHORT_JOIN_LEFT && !count);
}

static void expect(struct expected *e, int kind)
{
    e->kind = kind;
    e->total = 0;
    for (uint64_t i = 0; i < e->n; i++) {
        e->before[i] = e->total;
        e->total += pairs_of(e, i);
    }
}

/* Pair p. */
static void pair_at(const struct expected *e, uint64_t p, uint64_t *left, uint64_t *right)
{
    uint64_t low = 0, high = e->n - 1; /* the last row before which there are at most p */
    while (low < high) {
        const uint64_t middle = (low + high + 1) / 2;
        if (e->before[middle] <= p)
            low = middle;
        else
            high = middle - 1;
    }
    const uint64_t k = e->left[low], at = e->right.start[k] + p - e->before[low];
    *left = low;
    *right = at < e->right.start[k + 1] ? e->right.row[at] : COHORT_NO_ROW;
}

#define PAGE 4096u

static void check_page(struct test *t, const struct expected *e, cohort_matches *m, uint64_t first)
{
    static uint64_t left[PAGE], right[PAGE];
    cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    page.first = first;
    page.capacity = PAGE;
    page.left = left;
    page.right = right;
    OK(t, cohort_join_pairs(m, &page));
    EQUAL(t, page.written, e->total - first < PAGE ? e->total - first : PAGE);
    for (uint64_t i = 0; i < page.written; i++) {
        uint64_t l, r;
        pair_at(e, first + i, &l, &r);
        REQUIREF(t, left[i] == l && right[i] == r, "pair %llu of %llu: (%llu, %llu), not (%llu, %llu)",
                 (unsigned long long)(first + i), (unsigned long long)e->total, (unsigned long long)left[i],
                 (unsigned long long)right[i], (unsigned long long)l, (unsigned long long)r);
    }
}

/* The first and the last pairs, and pages here and there. Pages take no memory of the context's. */
static void check_pages(struct test *t, const struct expected *e, cohort_matches *m)
{
    REQUIREF(t, cohort_join_size(m) == e->total, "%llu pairs, not %llu",
             (unsigned long long)cohort_join_size(m), (unsigned long long)e->total);
    if (!e->total)
        return;
    t->ledger.most_bytes = t->ledger.bytes;
    const uint64_t before = t->ledger.bytes, rest = e->total % PAGE ? e->total % PAGE : PAGE;
    check_page(t, e, m, 0);
    check_page(t, e, m, e->total < PAGE ? 0 : e->total - rest);
    for (uint64_t i = 0; i < test_size(t, 30, 4); i++)
        check_page(t, e, m, test_below(t, e->total));
    CHECK(t, t->kind != TEST_CPU || t->ledger.most_bytes == before);
}

/* Both sides' keys are numbers below `distinct`. */
static void check_join(struct test *t, uint64_t n, const uint64_t *left, const uint64_t *right,
                       uint64_t distinct, int how)
{
    static const int kinds[] = {COHORT_JOIN_INNER, COHORT_JOIN_LEFT, COHORT_JOIN_SEMI, COHORT_JOIN_ANTI};
    struct expected e = {.n = n, .left = left, .before = malloc((n + 1) * 8)};
    cohort_frame *a = frame_of(t, n, left, how), *b = frame_of(t, n, right, how);
    cohort_join *join = NULL;
    if (!e.before)
        abort();
    known_open(&e.right, n, right, distinct);
    OK(t, cohort_join_build(b, NULL, &join));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cohort_join_probe_options options = COHORT_JOIN_PROBE_OPTIONS_INIT;
        cohort_matches *m = NULL;
        options.kind = (cohort_join_kind)kinds[i];
        expect(&e, kinds[i]);
        OK(t, cohort_join_probe(join, a, &options, &m));
        check_pages(t, &e, m);
        cohort_matches_destroy(m);
    }
    cohort_join_destroy(join);
    cohort_frame_release(a);
    cohort_frame_release(b);
    known_close(&e.right);
    free(e.before);
}

/* One key in every hundredth row of both sides: 10^10 pairs, told at once, and read in pages of fixed
 * size. */
static void often(struct test *t)
{
    const uint64_t n = test_size(t, 10000000, 20000);
    uint64_t *key = malloc(n * 8);
    if (!key)
        abort();
    for (uint64_t i = 0; i < n; i++)
        key[i] = i % 100 == 99 ? 99 : i;
    struct expected e = {.n = n, .left = key, .before = malloc(n * 8)};
    cohort_frame *frame = frame_of(t, n, key, 1);
    cohort_join *join = NULL;
    cohort_matches *m = NULL;
    if (!e.before)
        abort();
    known_open(&e.right, n, key, n);
    expect(&e, COHORT_JOIN_INNER);
    REQUIRE(t, e.total > n / 100 * (n / 100));
    REQUIRE(t, t->kind == TEST_SIM || e.total > 10000000000u);
    OK(t, cohort_join_build(frame, NULL, &join));
    OK(t, cohort_join_probe(join, frame, NULL, &m));
    check_pages(t, &e, m);
    cohort_matches_destroy(m);
    cohort_join_destroy(join);
    cohort_frame_release(frame);
    known_close(&e.right);
    free(e.before);
    free(key);
}

static void joins_by_zipf(struct test *t)
{
    const uint64_t n = test_size(t, test_scale(t, 50000, 200000, 500000), 1000);
    for (uint64_t distinct = 100; distinct <= 2 * n; distinct = distinct < n ? n : 2 * n + 1) {
        uint64_t *left = zipf(t, n, distinct, 1.2), *right = zipf(t, n, distinct, 1.2);
        for (int how = 0; how < FORMS; how++)
            check_join(t, n, left, right, distinct, how);
        free(left);
        free(right);
    }
}

/* All rows of both sides have one key, or those of the left another one, but for a few. */
static void joins_of_equal(struct test *t)
{
    const uint64_t n = test_size(t, test_scale(t, 70001, 150001, 300001), 1001);
    uint64_t *left = calloc(n, 8), *right = calloc(n, 8);
    if (!left || !right)
        abort();
    for (int way = 0; way < 3; way++) {
        for (int how = 0; how < FORMS; how++)
            check_join(t, n, left, right, 3, how);
        for (uint64_t i = 0; i < n; i++)
            left[i] = way ? 1 : test_below(t, 1000) == 0;
    }
    free(left);
    free(right);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

enum { AGGREGATES = 7 };

/* What is due of the rows' groups, in the order of their first rows; the rows and the aggregates of `v`, by
 * seven. */
static uint32_t walk_rows(uint64_t n, const uint32_t *key, const int64_t *v, uint64_t distinct, int64_t *due)
{
    uint32_t *place = malloc(distinct * 4), groups = 0;
    if (!place)
        abort();
    memset(place, 0xff, distinct * 4);
    for (uint64_t i = 0; i < n; i++) {
        if (place[key[i]] == ~0u)
            place[key[i]] = groups++;
        int64_t *g = due + AGGREGATES * (uint64_t)place[key[i]];
        g[2] = !g[0] || v[i] < g[2] ? v[i] : g[2];
        g[3] = !g[0] || v[i] > g[3] ? v[i] : g[3];
        g[4] = g[0] ? g[4] : v[i];
        g[5] = v[i];
        g[6] = ++g[0];
        g[1] += v[i];
    }
    free(place);
    return groups;
}

static void check_groups(struct test *t, uint64_t n, const uint64_t *number, uint64_t distinct)
{
    static const cohort_aggregate a[AGGREGATES] = {
        {COHORT_AGGREGATE_ROWS, 0, NULL, NULL}, {COHORT_AGGREGATE_SUM, 0, "v", NULL},
        {COHORT_AGGREGATE_MIN, 0, "v", NULL},   {COHORT_AGGREGATE_MAX, 0, "v", NULL},
        {COHORT_AGGREGATE_FIRST, 0, "v", NULL}, {COHORT_AGGREGATE_LAST, 0, "v", NULL},
        {COHORT_AGGREGATE_COUNT, 0, "v", NULL}};
    uint32_t *key = malloc(n * 4);
    int64_t *v = malloc(n * 8), *due = calloc(AGGREGATES * distinct, 8), *got = calloc(n + 1, 8);
    cohort_frame *out = NULL;
    if (!key || !v || !due || !got)
        abort();
    for (uint64_t i = 0; i < n; i++) {
        key[i] = (uint32_t)number[i];
        v[i] = (int64_t)(test_random(t) >> 24) - (1ll << 39);
    }
    const uint32_t groups = walk_rows(n, key, v, distinct, due);
    cohort_frame *frame = two_columns(t, t->context, n, key, COHORT_I64, v);
    cohort_group *g = simple(t, t->context, AGGREGATES, a, 0);
    for (uint64_t at = 0, step; at < n; at += step) { /* in one or several frames */
        cohort_frame *some = NULL;
        step = test_below(t, 2) ? n - at : 1 + test_below(t, n - at);
        OK(t, cohort_frame_slice(frame, at, step, &some));
        OK(t, cohort_group_add(g, some));
        cohort_frame_release(some);
    }
    OK(t, cohort_group_finish(g, 0, &out));
    EQUAL(t, cohort_frame_rows(out), groups);
    for (uint32_t c = 0; c < AGGREGATES; c++) {
        column_at(t, out, 1 + c, 8, got);
        for (uint64_t i = 0; i < groups; i++)
            REQUIREF(t, got[i] == due[AGGREGATES * i + c], "column %u of group %llu: %lld, not %lld", c,
                     (unsigned long long)i, (long long)got[i], (long long)due[AGGREGATES * i + c]);
    }
    cohort_frame_release(out);
    cohort_frame_release(frame);
    cohort_group_destroy(g);
    free(key), free(v), free(due), free(got);
}

static void groups_by_zipf(struct test *t)
{
    const uint64_t n = test_size(t, test_scale(t, 300000, 1000000, 3000000), 20000);
    const uint64_t distinct[] = {1, 129, 5000, n};
    for (size_t i = 0; i < sizeof distinct / sizeof *distinct; i++) {
        uint64_t *number = zipf(t, n, distinct[i], 1.2);
        check_groups(t, n, number, distinct[i]);
        free(number);
    }
}

const struct test_case test_cases[] = {{"often", often, TEST_SLOW | TEST_COUNTED},
                                       {"joins by zipf", joins_by_zipf, TEST_COUNTED},
                                       {"joins of equal keys", joins_of_equal, TEST_COUNTED},
                                       {"groups by zipf", groups_by_zipf, 0},
                                       {NULL, NULL, 0}};
