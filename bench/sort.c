/* sort.c: `cohort bench sort`: the radix sort, on random keys and on the patterns that tables have; and with
 * --experiment primitives the calls that it and others are made of: compaction, runs, histogram, prefix sums,
 * sums. What binds all of them is the memory: B over the bytes that must be read and written. */
#include "split.h"

#include <stdlib.h>
#include <string.h>

typedef struct sort_work {
    split_data *s;
    cohort_sort_desc sort;
    cohort_compact_desc compact;
    cohort_runs_desc runs;
    cohort_histogram_desc histogram;
} sort_work;

/* The first call shows whether there is such a thing on this device; its result has been checked by
 * `check`. */
typedef int (*sort_check)(const sort_work *w, const bench_row *row, fault *fault);

static int measure(sort_work *w, const bench_row *row, bench_work work, sort_check check, fault *fault)
{
    char text[256];
    split_data *s = w->s;
    bench_job job = {NULL, work, w, (double)s->n, split_repeat(s->b, s->n), 0};
    cohort_status status = work(w);
    if (status == COHORT_UNSUPPORTED) {
        bench_say(s->b, "left out: %s", cohort_message(s->b->dev.context));
        return CLI_OK;
    }
    if (!status)
        status = cohort_wait(s->b->dev.context);
    if (status)
        return bench_fault(s->b, status, bench_row_text(text, row), fault);
    return check(w, row, fault) ? fault->status : bench_measure(s->b, row, &job, fault);
}

static int wrong(const bench_row *row, fault *fault, const char *what, uint64_t got, uint64_t expected)
{
    char text[256];
    return fault_set(fault, CLI_FAILED, "%s: wrong result: %s is %llu, must be %llu",
                     bench_row_text(text, row), what, (unsigned long long)got, (unsigned long long)expected);
}

/* One number of the context's memory, kept where offsets go. */
static int number_take(const sort_work *w, const bench_row *row, uint64_t *out, fault *fault)
{
    char text[256];
    cohort_status status = cohort_copy(w->s->b->dev.context, out, w->s->offsets, sizeof *out);
    return status ? bench_fault(w->s->b, status, bench_row_text(text, row), fault) : CLI_OK;
}

/* ---- sort ---------------------------------------------------------------------------------------------- */

static cohort_status work_sort(void *arg)
{
    const sort_work *w = arg;
    return cohort_sort(w->s->b->dev.context, &w->sort);
}

static int check_sort(const sort_work *w, const bench_row *row, fault *fault)
{
    split_claim claim = {.n = w->s->n, .sorted = 1, .sums = 1};
    return split_check(w->s, &claim, row, fault);
}

static int measure_sort(split_data *s, fault *fault)
{
    unsigned key = s->width->key, entry = split_entry(s->width);
    bench_row row = split_row(s, "sort", "sort", key + 2.0 * key * entry);
    cohort_sort_desc d = COHORT_SORT_INIT;
    d.n = s->n;
    d.type = key == 8 ? COHORT_U64 : COHORT_U32;
    d.keys = s->keys;
    d.keys_out = s->keys_out;
    d.payloads = s->width->columns;
    d.payload = d.payloads ? s->column : NULL;
    sort_work w = {.s = s, .sort = d};
    return measure(&w, &row, work_sort, check_sort, fault);
}

/* ---- compaction: a percentage of uniform keys is kept -------------------------------------------------- */

static cohort_status work_compact(void *arg)
{
    const sort_work *w = arg;
    return cohort_compact(w->s->b->dev.context, &w->compact);
}

static uint32_t is_dropped(const void *desc, uint64_t key)
{
    return key > ((const cohort_compact_desc *)desc)->fn->b;
}

static int check_compact(const sort_work *w, const bench_row *row, fault *fault)
{
    uint64_t total = 0, expected = w->s->counted[(uint64_t)row->at], offsets[2] = {0, expected};
    split_claim claim = {expected, offsets, 1, is_dropped, &w->compact, 0, 1, 0};
    if (number_take(w, row, &total, fault))
        return fault->status;
    if (total != expected)
        return wrong(row, fault, "the number of kept entries", total, expected);
    return split_check(w->s, &claim, row, fault);
}

static int measure_compact(split_data *s, unsigned percent, fault *fault)
{
    unsigned entry = split_entry(s->width);
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    int status = split_fill(s, INPUT_UNIFORM, 100, fault);
    if (status)
        return status;
    uint64_t end = bench_range(100) * percent;
    bench_row row = split_row(s, "primitives", "compact", entry + entry * percent / 100.0);
    snprintf(row.at_name, sizeof row.at_name, "percent kept");
    row.at = percent;
    d.n = s->n;
    d.type = s->width->key == 8 ? COHORT_U64 : COHORT_U32;
    const cohort_fn fn = cohort_fn_between(0, (s->width->key == 8 ? end << 32 : end) - 1);
    d.fn = &fn;
    d.keys = s->keys;
    d.kept = s->keys_out;
    d.payloads = s->width->columns;
    d.payload = d.payloads ? s->column : NULL;
    d.total = s->offsets;
    sort_work w = {.s = s, .compact = d};
    return measure(&w, &row, work_compact, check_compact, fault);
}

/* ---- runs: every key another one, and 64 alike --------------------------------------------------------- */

static cohort_status work_runs(void *arg)
{
    const sort_work *w = arg;
    return cohort_runs(w->s->b->dev.context, &w->runs);
}

static int check_runs(const sort_work *w, const bench_row *row, fault *fault)
{
    uint64_t total = 0, each = (uint64_t)row->at, expected = (w->s->n + each - 1) / each;
    if (number_take(w, row, &total, fault))
        return fault->status;
    return total == expected ? CLI_OK : wrong(row, fault, "the number of runs", total, expected);
}

/* The distinct keys alone: what a unique does after a sort. */
static int measure_runs(split_data *s, bench_input input, unsigned each, fault *fault)
{
    int status = split_fill(s, input, 1, fault);
    if (status)
        return status;
    bench_row row = split_row(s, "primitives", "runs", s->width->key * (1 + 1.0 / each));
    cohort_runs_desc d = COHORT_RUNS_INIT;
    snprintf(row.at_name, sizeof row.at_name, "length");
    row.at = each;
    d.n = s->n;
    d.type = s->width->key == 8 ? COHORT_U64 : COHORT_U32;
    d.keys = s->keys;
    d.distinct = s->keys_out;
    d.total = s->offsets;
    sort_work w = {.s = s, .runs = d};
    return measure(&w, &row, work_runs, check_runs, fault);
}

/* ---- histogram ----------------------------------------------------------------------------------------- */

static cohort_status work_histogram(void *arg)
{
    const sort_work *w = arg;
    return cohort_histogram(w->s->b->dev.context, &w->histogram);
}

static int check_histogram(const sort_work *w, const bench_row *row, fault *fault)
{
    uint64_t m = w->s->input.buckets, *expected = malloc(m * sizeof *expected);
    if (!expected)
        return fault_set(fault, CLI_FAILED, "bench sort: no memory for %llu counts", (unsigned long long)m);
    for (uint64_t b = 0; b < m; b++)
        expected[b] = w->s->counted[b + 1] - w->s->counted[b];
    int status = split_check_offsets(w->s, w->s->offsets, expected, m, row, fault);
    free(expected);
    return status;
}

static int measure_histogram(split_data *s, bench_input input, uint64_t buckets, fault *fault)
{
    cohort_histogram_desc d = COHORT_HISTOGRAM_INIT;
    int status = split_fill(s, input, buckets, fault);
    if (status)
        return status;
    bench_row row = split_row(s, "primitives", "histogram", s->width->key);
    snprintf(row.at_name, sizeof row.at_name, "buckets");
    row.at = (double)buckets;
    d.n = s->n;
    d.type = s->width->key == 8 ? COHORT_U64 : COHORT_U32;
    d.buckets = (uint32_t)buckets;
    d.fn = &s->fn;
    d.keys = s->keys;
    d.bins = s->offsets;
    sort_work w = {.s = s, .histogram = d};
    return measure(&w, &row, work_histogram, check_histogram, fault);
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static cohort_status work_scan(void *arg)
{
    const split_data *s = ((const sort_work *)arg)->s;
    return cohort_scan(s->b->dev.context, s->n, s->width->key == 8 ? COHORT_U64 : COHORT_U32, 0, s->keys,
                       s->keys_out);
}

static cohort_status work_reduce(void *arg)
{
    const split_data *s = ((const sort_work *)arg)->s;
    return cohort_reduce(s->b->dev.context, COHORT_OP_ADD, s->n, s->width->key == 8 ? COHORT_U64 : COHORT_U32,
                         s->keys, s->offsets);
}

static int check_reduce(const sort_work *w, const bench_row *row, fault *fault)
{
    uint64_t sum = 0;
    if (number_take(w, row, &sum, fault))
        return fault->status;
    return sum == w->s->key_sum ? CLI_OK : wrong(row, fault, "the sum", sum, w->s->key_sum);
}

enum { PART = 4096 };

/* Each of `n` sums follows from the one before, the first of all from nothing; *sum becomes the one after
 * them. */
static int scan_part(const sort_work *w, const bench_row *row, uint64_t first, uint64_t n, uint64_t *sum,
                     fault *fault)
{
    const split_data *s = w->s;
    uint64_t room[PART];
    char text[256];
    cohort_status status =
        cohort_copy(s->b->dev.context, room, (char *)s->keys_out + first * s->width->key, n * s->width->key);
    if (status)
        return bench_fault(s->b, status, bench_row_text(text, row), fault);
    *sum = first ? *sum : 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t got = s->width->key == 8 ? room[i] : ((const uint32_t *)room)[i];
        uint64_t expected = !i && first ? got : s->width->key == 8 ? *sum : (uint32_t)*sum;
        if (got != expected)
            return wrong(row, fault, "a sum", got, expected);
        *sum = got + bench_input_key(&s->input, first + i);
    }
    return CLI_OK;
}

/* At 64 places each sum must follow from the one before; at the beginning from nothing, and at the end it
 * must be that of all. */
static int check_scan(const sort_work *w, const bench_row *row, fault *fault)
{
    uint64_t n = w->s->n, size = n < PART ? n : PART, sum = 0, all = w->s->key_sum;
    for (unsigned k = 0; k < 64 && n; k++)
        if (scan_part(w, row, (n - size) / 63 * k, size, &sum, fault))
            return fault->status;
    if (n > size && scan_part(w, row, n - size, size, &sum, fault))
        return fault->status;
    if (w->s->width->key == 4 ? (uint32_t)sum != (uint32_t)all : sum != all)
        return wrong(row, fault, "the last sum", sum, all);
    return CLI_OK;
}

static int measure_sums(split_data *s, fault *fault)
{
    int status = split_fill(s, INPUT_UNIFORM, 256, fault);
    if (status)
        return status;
    bench_row scan = split_row(s, "primitives", "scan", 2.0 * s->width->key),
              reduce = split_row(s, "primitives", "reduce", s->width->key);
    sort_work w = {.s = s};
    status = measure(&w, &scan, work_scan, check_scan, fault);
    return status ? status : measure(&w, &reduce, work_reduce, check_reduce, fault);
}

/* ---- the command --------------------------------------------------------------------------------------- */

typedef struct sort_options {
    bench_options common;
    const char *experiment, *n, *buckets, *width, *input, *peers;
} sort_options;

typedef struct sort_plan {
    bench *b;
    const char *peers;
    uint64_t n[SPLIT_SIZES], buckets[SPLIT_BUCKETS];
    size_t n_count, bucket_count, width_count, input_count;
    unsigned width[SPLIT_WIDTHS], input[INPUTS];
} sort_plan;

enum { SORT, PRIMITIVES, PATTERNS, EXPERIMENTS };
static const char *const experiment_names[] = {"sort", "primitives", "patterns", "all"};

static int plan_take(sort_plan *p, const sort_options *o, int experiment, int cpu, fault *fault)
{
    const char *many = cpu ? "65536,1048576,16777216"
                           : "1048576,2097152,4194304,8388608,16777216,33554432,67108864,134217728,"
                             "268435456,536870912";
    const char *few = cpu ? "16777216" : "1048576,16777216,134217728";
    const char *one = cpu ? "16777216" : "268435456", *quick = cpu ? "262144" : "16777216";
    const char *sizes[EXPERIMENTS] = {many, one, few};
    const char *n = o->n ? o->n : o->common.quick ? quick : sizes[experiment];
    const char *width = experiment == PRIMITIVES ? "32/0,64/0,32/32"
                        : experiment == PATTERNS ? "32/0,32/32,64/0,64/32"
                                                 : "32/0,32/32,64/0,64/64";
    const char *input = experiment == PATTERNS ? "uniform," BENCH_PATTERNS : "uniform";
    return bench_wholes_take("--n", n, 1, 1e12, p->n, SPLIT_SIZES, &p->n_count, fault) ||
                   bench_wholes_take("--buckets", o->buckets ? o->buckets : "2,256,2048,65536", 1,
                                     COHORT_BUCKETS_MOST, p->buckets, SPLIT_BUCKETS, &p->bucket_count,
                                     fault) ||
                   bench_names_take("--width", o->width ? o->width : width, split_width_names, SPLIT_WIDTHS,
                                    p->width, &p->width_count, fault) ||
                   bench_names_take("--input", o->input ? o->input : input, bench_input_names, INPUTS,
                                    p->input, &p->input_count, fault)
               ? fault->status
               : CLI_OK;
}

static int primitives_measure(const sort_plan *p, split_data *s, fault *fault)
{
    int status = CLI_OK, keys_alone = !s->width->columns;
    for (unsigned percent = 10; percent <= 90 && !status; percent += 40)
        status = measure_compact(s, percent, fault);
    if (keys_alone && !status)
        status = measure_runs(s, INPUT_ASCENDING, 1, fault);
    if (keys_alone && !status)
        status = measure_runs(s, INPUT_STEPS_64, 64, fault);
    if (keys_alone && !status)
        status = measure_sums(s, fault);
    for (unsigned i = 0; keys_alone && i < 2; i++)
        for (size_t m = 0; m < p->bucket_count && !status; m++)
            status = measure_histogram(s, i ? INPUT_SKEWED : INPUT_UNIFORM, p->buckets[m], fault);
    return status;
}

static int size_measure(const sort_plan *p, const split_width *w, uint64_t n, int primitives, fault *fault)
{
    split_data s;
    static const uint64_t none = 0;
    const unsigned uniform = INPUT_UNIFORM;
    int status = CLI_OK;
    if (p->peers && primitives)
        status =
            split_peers(p->b, p->peers, "primitives", w, n, &uniform, 1, p->buckets, p->bucket_count, fault);
    else if (p->peers)
        status = split_peers(p->b, p->peers, "sort", w, n, p->input, p->input_count, &none, 1, fault);
    if (status)
        return status;
    status = split_open(&s, p->b, w, n, fault);
    if (primitives && !status)
        status = primitives_measure(p, &s, fault);
    for (size_t i = 0; !primitives && i < p->input_count && !status; i++) {
        status = split_fill(&s, (bench_input)p->input[i], 256, fault);
        if (!status)
            status = measure_sort(&s, fault);
    }
    split_close(&s);
    return status;
}

static int experiment_measure(bench *b, const sort_options *o, int experiment, fault *fault)
{
    char folder[BENCH_PATH];
    sort_plan p = {.b = b};
    int status = bench_peers_find(b, o->peers, 1, folder, &p.peers, fault);
    if (!status)
        status = plan_take(&p, o, experiment, b->dev.cpu, fault);
    for (size_t w = 0; w < p.width_count && !status; w++)
        for (size_t i = 0; i < p.n_count && !status; i++)
            status = size_measure(&p, &split_widths[p.width[w]], p.n[i], experiment == PRIMITIVES, fault);
    return status;
}

/* A wrong word is told before anything is measured. */
static int options_check(const sort_options *o, fault *fault)
{
    sort_plan p = {0};
    unsigned chosen[EXPERIMENTS + 1];
    size_t count;
    if (o->experiment && bench_names_take("--experiment", o->experiment, experiment_names, EXPERIMENTS + 1,
                                          chosen, &count, fault))
        return fault->status;
    if (plan_take(&p, o, 0, 0, fault))
        return fault->status;
    for (size_t i = 0; i < p.n_count; i++)
        for (size_t w = 0; w < p.width_count; w++)
            if (split_sizes_check(&split_widths[p.width[w]], p.n[i], fault))
                return fault->status;
    return CLI_OK;
}

int bench_sort_main(int argc, char **argv, fault *fault)
{
    sort_options o = {0};
    bench b = {0};
    arg args[] = {BENCH_ARGS(o.common),
                  {"--n", ARG_TEXT, &o.n, 0, 0, 0},
                  {"--buckets", ARG_TEXT, &o.buckets, 0, 0, 0},
                  {"--width", ARG_TEXT, &o.width, 0, 0, 0},
                  {"--input", ARG_TEXT, &o.input, 0, 0, 0},
                  {"--experiment", ARG_TEXT, &o.experiment, 0, 0, 0},
                  {"--peers", ARG_TEXT, &o.peers, 0, 0, 0}};
    size_t rest;
    bench_command_set(&b, "sort", argc, argv);
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench sort takes no files", argv[0]);
    status = options_check(&o, fault);
    if (!status)
        status = bench_begin(&b, &o.common, 1, fault);
    for (int e = 0; e < EXPERIMENTS && !status; e++)
        if (o.experiment
                ? bench_listed(o.experiment, experiment_names[e]) || bench_listed(o.experiment, "all")
                : e == SORT)
            status = experiment_measure(&b, &o, e, fault);
    if (!status)
        status = bench_end(&b, fault);
    bench_close(&b);
    return status;
}
