/* table_sweep.c: a join from two frames to one, and joins as the article sweeps them: a right side from a
 * hundredth of the left one's size up to it, every left row with a match or none, right keys once or several
 * times. Keys are 64 bits that look random, so that no table by value serves. */
#include "table_queries.h"

#include <stdlib.h>
#include <string.h>

/* ---- a join -------------------------------------------------------------------------------------------- */

/* What a join has open. */
typedef struct join_work {
    cohort_context *context;
    cohort_frame *left_key, *right_key, *rest;
    cohort_join *join;
    cohort_matches *matches;
    cohort_join_page page;
} join_work;

static void join_close(join_work *w)
{
    cohort_free(w->context, w->page.left);
    cohort_free(w->context, w->page.right);
    cohort_matches_destroy(w->matches);
    cohort_join_destroy(w->join);
    cohort_frame_release(w->left_key);
    cohort_frame_release(w->right_key);
    cohort_frame_release(w->rest);
}

static cohort_status keys_pick(join_work *w, const join_query *q, cohort_frame *x, cohort_frame *right)
{
    uint32_t columns[TABLE_COLUMNS], count = 0, key;
    cohort_status s = cohort_frame_pick(x, 1, &q->left, &w->left_key);
    if (!s)
        s = cohort_frame_pick(right, 1, &q->right, &w->right_key);
    if (!s)
        s = cohort_frame_find(right, q->right, &key);
    for (uint32_t c = 0; !s && c < cohort_frame_columns(right); c++)
        if (c != key)
            columns[count++] = c;
    return s ? s : cohort_frame_select(right, count, columns, NULL, &w->rest);
}

/* Room for `capacity` pairs. */
static cohort_status page_open(join_work *w, uint64_t capacity)
{
    const cohort_join_page page = COHORT_JOIN_PAGE_INIT;
    w->page = page;
    w->page.bytes = 4;
    w->page.capacity = capacity;
    cohort_status s = cohort_alloc(w->context, capacity * 4 + 4, &w->page.left);
    return s ? s : cohort_alloc(w->context, capacity * 4 + 4, &w->page.right);
}

cohort_status table_join_answer(cohort_context *context, const join_query *q, cohort_frame *x,
                                cohort_frame *right, cohort_frame **out)
{
    join_work w = {.context = context};
    cohort_join_probe_options o = COHORT_JOIN_PROBE_OPTIONS_INIT;
    o.kind = q->kind;
    *out = NULL;
    cohort_status s = keys_pick(&w, q, x, right);
    if (!s)
        s = cohort_join_build(w.right_key, NULL, &w.join);
    if (!s)
        s = cohort_join_probe(w.join, w.left_key, &o, &w.matches);
    if (!s)
        s = cohort_join_frame(w.matches, 0, cohort_join_size(w.matches), x, w.rest, NULL, out);
    join_close(&w);
    return s;
}

/* ---- the sweep ----------------------------------------------------------------------------------------- */

enum { PAGE = 1 << 20 };

const char *const join_method_names[JOIN_METHODS] = {"auto", "dense", "partitioned", "factor"};

typedef struct sweep_work {
    cohort_context *context;
    cohort_join_method method;
    cohort_frame *left, *right;
    uint64_t pairs;
} sweep_work;

/* All pairs, in pages of fixed memory. */
static cohort_status work_sweep(void *arg)
{
    sweep_work *sweep = arg;
    join_work w = {.context = sweep->context};
    cohort_join_options options = COHORT_JOIN_OPTIONS_INIT;
    options.method = sweep->method;
    cohort_status s = cohort_join_build(sweep->right, &options, &w.join);
    if (!s)
        s = cohort_join_probe(w.join, sweep->left, NULL, &w.matches);
    if (!s)
        s = page_open(&w, PAGE);
    for (w.page.total = 1; !s && w.page.first < w.page.total; w.page.first += w.page.written)
        s = cohort_join_pairs(w.matches, &w.page);
    sweep->pairs = cohort_join_size(w.matches);
    join_close(&w);
    return s;
}

/* Keys of n rows: key number at(i), those from `distinct` on being on no right side. */
static cohort_status keys_make(const bench *b, uint64_t n, uint64_t distinct, double there,
                               cohort_frame **out)
{
    uint64_t *keys = malloc(n * 8 + 8);
    cohort_array array = {"key", COHORT_U64, 0, keys, NULL};
    if (!keys)
        return COHORT_NO_MEMORY;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t hash = table_hash(i, 30), e = there < 0 ? i : hash % distinct;
        int is_there = there < 0 || (double)(bench_mix_64(hash) >> 11) * 0x1p-53 < there;
        keys[i] = bench_key(is_there ? e % distinct : e + distinct, 8);
    }
    cohort_status s = cohort_frame_create(b->dev.context, n, 1, &array, out);
    free(keys);
    return s;
}

/* A point of the sweep by each method; the frames are made once. */
static int methods_measure(bench *b, const char *methods, sweep_work *w, const bench_row *point, double rows,
                           fault *fault)
{
    const bench_job job = {NULL, work_sweep, w, rows, 1, 1};
    int status = CLI_OK;
    for (int method = 0; method < JOIN_METHODS && !status; method++) {
        bench_row row = *point;
        if (!bench_listed(methods, join_method_names[method]))
            continue;
        w->method = (cohort_join_method)method;
        if (method)
            snprintf(row.variant, sizeof row.variant, "%s", join_method_names[method]);
        cohort_status s = work_sweep(w);
        bench_extra_set(&row, "pairs", (double)w->pairs);
        status = s ? bench_fault(b, s, "bench table: sweep", fault) : bench_measure(b, &row, &job, fault);
    }
    return status;
}

static int point_measure(bench *b, const char *methods, uint64_t n, uint64_t rows, uint64_t times,
                         double there, fault *fault)
{
    sweep_work w = {.context = b->dev.context};
    char keys[40];
    snprintf(keys, sizeof keys, "right 1/%llu, %llu a key", (unsigned long long)(n / rows),
             (unsigned long long)times);
    bench_row row = bench_row_make(b, "sweep", "join pairs", "64", keys);
    row.n = n;
    snprintf(row.at_name, sizeof row.at_name, "share with a match");
    row.at = there;
    bench_extra_set(&row, "ms", 0);
    cohort_status s = keys_make(b, rows, rows / times ? rows / times : 1, -1, &w.right);
    if (!s)
        s = keys_make(b, n, rows / times ? rows / times : 1, there, &w.left);
    int status = s ? bench_fault(b, s, "bench table: sweep", fault)
                   : methods_measure(b, methods, &w, &row, (double)(n + rows), fault);
    cohort_frame_release(w.left);
    cohort_frame_release(w.right);
    return status;
}

int table_sweep_measure(bench *b, uint64_t n, const char *methods, fault *fault)
{
    static const double there[] = {0, 0.1, 0.5, 1};
    static const uint64_t parts[] = {100, 10, 1}, times[] = {1, 4, 16};
    int status = CLI_OK;
    for (int part = 0; part < 3; part++)
        for (int t = 0; t < 3; t++)
            for (int i = 0; i < 4 && !status; i++)
                status = point_measure(b, methods ? methods : "auto", n,
                                       n / parts[part] ? n / parts[part] : 1, times[t], there[i], fault);
    return status;
}
