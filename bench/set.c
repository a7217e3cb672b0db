/* set.c: `cohort bench set`: operations on sets, beside CRoaring on the same sets (bench/peers/peer_croaring.cpp).
 *
 * real      folders of texts (--data): each set and the next one, by each operation, as a collection and as counts; all united;
 *           opened from Roaring's bytes
 * dense     two sets of half of 2^32 (quick: 2^28) integers: and
 * skewed    two sets of arrays, 4,096 members a chunk and as many to a sixty-fourth of that
 * contains  lookups at random, every second a hit
 * build     from integers in no order
 *
 * Each figure of ours is one call on the whole batch, what it makes is given back in it, as a peer does. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "bench.h"
#include "set_inputs.h"

#include <math.h>

enum { EXPERIMENTS = 5 };
static const char *const experiment_names[EXPERIMENTS + 1] = {"real",     "dense", "skewed",
                                                              "contains", "build", "all"};

typedef struct set_options {
    bench_options common;
    const char *experiment, *peers, *data;
} set_options;

typedef struct set_bench {
    bench *b;
    set_sizes sizes;
    const char *data;
} set_bench;

/* What a job works on. */
typedef struct set_work {
    cohort_context *context;
    cohort_sets *sets;
    cohort_sets_query_desc query;
    cohort_sets_look_desc look;
    cohort_sets_source source;
    int makes; /* a collection; else counts */
} set_work;

static const char *const op_names[] = {"", "and", "or", "andnot", "xor"};

static cohort_status work_query(void *arg)
{
    set_work *w = arg;
    cohort_sets *made = NULL;
    w->query.result = w->makes ? &made : NULL;
    cohort_status status = cohort_sets_query(w->context, &w->query);
    cohort_sets_destroy(made);
    return status;
}

static cohort_status work_build(void *arg)
{
    set_work *w = arg;
    cohort_sets *made = NULL;
    cohort_status status = cohort_sets_build(w->context, &w->source, &made);
    cohort_sets_destroy(made);
    return status;
}

static cohort_status work_look(void *arg)
{
    set_work *w = arg;
    return cohort_sets_look(w->sets, &w->look);
}

static bench_row row_of(const set_bench *s, const char *experiment, const char *name, const char *keys,
                        uint64_t n)
{
    bench_row row = bench_row_make(s->b, experiment, name, "32", keys);
    row.n = n;
    return row;
}

static int measure(const set_bench *s, bench_row *row, bench_work work, set_work *w, double items,
                   unsigned repeat, fault *fault)
{
    bench_job job = {NULL, work, w, items, repeat, 1};
    w->context = s->b->dev.context;
    return bench_measure(s->b, row, &job, fault);
}

static int no_memory(fault *fault, uint64_t bytes)
{
    return fault_set(fault, CLI_FAILED, "bench set: no memory for %llu bytes", (unsigned long long)bytes);
}

/* Each set and the next one, or all in one row; as a collection and as counts. */
static int measure_op(const set_bench *s, const char *experiment, const char *keys, cohort_sets *sets,
                      cohort_sets_op op, uint64_t rows, uint64_t arity, double items, const bench_row *like,
                      fault *fault)
{
    uint64_t *members = malloc(rows * arity * sizeof *members), *counts = malloc(rows * sizeof *counts);
    set_work w = {.query = COHORT_SETS_QUERY_INIT};
    int status = members && counts ? CLI_OK : no_memory(fault, rows * arity * 8);
    for (uint64_t i = 0; i < rows * arity && !status; i++)
        members[i] = i / arity + i % arity;
    w.query.op = op;
    w.query.collections = &sets;
    w.query.collections_count = 1;
    w.query.rows = rows;
    w.query.arity = arity;
    w.query.members = members;
    for (w.makes = 0; w.makes < 2 && !status; w.makes++) {
        char name[40];
        snprintf(name, sizeof name, "set %s%s%s", op_names[op], arity > 2 ? " many" : "",
                 w.makes ? "" : " count");
        bench_row row = row_of(s, experiment, name, keys, rows);
        w.query.counts = w.makes ? NULL : counts;
        if (like) {
            row.scale = like->scale;
            snprintf(row.unit, sizeof row.unit, "%s", like->unit);
            row.limit = like->limit / (w.makes ? 1.5 : 1); /* a third more is written */
            snprintf(row.limit_name, sizeof row.limit_name, "B/%s", w.makes ? "0.375" : "0.25");
        }
        status = measure(s, &row, work_query, &w, items, items > 1e6 ? 1 : 5, fault);
    }
    free(members);
    free(counts);
    return status;
}

/* ---- folders of texts ---------------------------------------------------------------------------------------------------- */

/* The sets' Roaring bytes, opened all at once. */
static int measure_open(const set_bench *s, const char *name, cohort_sets *sets, uint64_t n, fault *fault)
{
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    set_work w = {.source = COHORT_SETS_SOURCE_INIT};
    uint64_t *offsets = malloc((n + 1) * sizeof *offsets);
    void *bytes = NULL;
    target.form = COHORT_FORM_ROARING;
    cohort_status status = offsets ? cohort_sets_export(sets, &target) : COHORT_NO_MEMORY;
    target.capacity = target.total;
    target.offsets = offsets;
    target.members = bytes = status ? NULL : malloc(target.total + 1);
    if (!status)
        status = bytes ? cohort_sets_export(sets, &target) : COHORT_NO_MEMORY;
    w.source.form = COHORT_FORM_ROARING;
    w.source.n = n;
    w.source.members = bytes;
    w.source.offsets = offsets;
    bench_row row = row_of(s, "real", "set open", name, n);
    int code = status ? bench_fault(s->b, status, "bench set: Roaring's bytes", fault)
                      : measure(s, &row, work_build, &w, (double)n, 5, fault);
    free(bytes);
    free(offsets);
    return code;
}

static int folder_measure(const set_bench *s, const char *name, fault *fault)
{
    set_texts t;
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    if (!set_texts_read(&t, s->data, name) || t.sets < 2)
        return fault_set(fault, CLI_BAD_INPUT, "--data %s: %s is no folder of two texts of integers or more",
                         s->data, name);
    source.n = t.members;
    source.sets = t.sets;
    source.members = t.member;
    source.offsets = t.offsets;
    cohort_status made = cohort_sets_build(s->b->dev.context, &source, &sets);
    int status = made ? bench_fault(s->b, made, "bench set: a collection", fault) : CLI_OK;
    for (cohort_sets_op op = COHORT_SETS_AND; op <= COHORT_SETS_XOR && !status; op++)
        status = measure_op(s, "real", name, sets, op, t.sets - 1, 2, (double)(t.sets - 1), NULL, fault);
    if (!status)
        status = measure_op(s, "real", name, sets, COHORT_SETS_OR, 1, t.sets, 1, NULL, fault);
    if (!status)
        status = measure_open(s, name, sets, t.sets, fault);
    cohort_sets_destroy(sets);
    set_texts_free(&t);
    return status;
}

/* Beside the peer, of the operations on pairs: the geometric mean of all and the least. */
static void sum_up(const bench *b)
{
    double sum = 0, least = INFINITY;
    uint64_t n = 0;
    for (size_t i = 0; i < b->rows.count; i++) {
        const bench_row *row = &b->rows.row[i], *best = bench_rows_best(&b->peers, row);
        if (strcmp(row->experiment, "real") || !best || strstr(row->name, "many") ||
            strstr(row->name, "open"))
            continue;
        double ratio = row->median / best->median;
        sum += log(ratio);
        least = ratio < least ? ratio : least;
        n++;
    }
    if (n)
        bench_say(b, "pairs of real sets beside the peer: geometric mean %.2f of %llu, least %.2f",
                  exp(sum / (double)n), (unsigned long long)n, least);
}

static int real_measure(const set_bench *s, fault *fault)
{
    struct dirent **names = NULL;
    int status = CLI_OK, found = s->data ? scandir(s->data, &names, set_is_name, alphasort) : 0;
    if (!s->data)
        bench_say(s->b, "left out: real sets; --data DIR tells where folders of texts are");
    if (found < 0)
        return fault_set(fault, CLI_BAD_INPUT, "--data %s: no such folder", s->data);
    for (int i = 0; i < found; i++) {
        if (!status)
            status = folder_measure(s, names[i]->d_name, fault);
        free(names[i]);
    }
    free(names);
    sum_up(s->b);
    return status;
}

/* ---- made sets ---------------------------------------------------------------------------------------------------------- */

static int dense_measure(const set_bench *s, fault *fault)
{
    uint64_t bits = s->sizes.dense_bits, words = bits / 64, *bitmaps = malloc(2 * words * 8);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    bench_row like = {.scale = 1e-9, .unit = "Gb/s", .limit = s->b->dev.limits.copy_bytes / 0.25};
    if (!bitmaps)
        return no_memory(fault, 2 * words * 8);
    for (uint64_t i = 0; i < 2 * words; i++)
        bitmaps[i] = set_dense_word(i / words, i % words);
    source.form = COHORT_FORM_BITMAPS;
    source.n = 2;
    source.bits = bits;
    source.members = bitmaps;
    cohort_status made = cohort_sets_build(s->b->dev.context, &source, &sets);
    free(bitmaps);
    int status =
        made ? bench_fault(s->b, made, "bench set: dense sets", fault)
             : measure_op(s, "dense", "half of all", sets, COHORT_SETS_AND, 1, 2, (double)bits, &like, fault);
    cohort_sets_destroy(sets);
    return status;
}

static int skew_measure(const set_bench *s, uint64_t skew, fault *fault)
{
    uint64_t small = SET_LARGE / skew, n = SET_CHUNKS_SKEWED * (SET_LARGE + small), at = 0;
    uint64_t offsets[3] = {0, SET_CHUNKS_SKEWED * SET_LARGE, n};
    uint32_t *members = malloc(n * sizeof *members);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    char keys[40];
    if (!members)
        return no_memory(fault, n * 4);
    for (uint64_t set = 0; set < 2; set++)
        for (uint64_t i = 0, count = set ? small : SET_LARGE; i < SET_CHUNKS_SKEWED * count; i++)
            members[at++] = set_spread_member(set, i / count, count, i % count);
    source.n = n;
    source.sets = 2;
    source.members = members;
    source.offsets = offsets;
    cohort_status made = cohort_sets_build(s->b->dev.context, &source, &sets);
    int status = made ? bench_fault(s->b, made, "bench set: skewed sets", fault) : CLI_OK;
    snprintf(keys, sizeof keys, "arrays 1:%llu", (unsigned long long)skew);
    if (!status)
        status = measure_op(s, "skewed", keys, sets, COHORT_SETS_AND, 1, 2, (double)n, NULL, fault);
    for (cohort_sets_op op = COHORT_SETS_OR; skew == 1 && op <= COHORT_SETS_XOR && !status; op++)
        status = measure_op(s, "skewed", keys, sets, op, 1, 2, (double)n, NULL, fault);
    cohort_sets_destroy(sets);
    free(members);
    return status;
}

static int contains_measure(const set_bench *s, fault *fault)
{
    uint64_t n = s->sizes.looked_into, lookups = s->sizes.lookups, step = bench_step(n);
    uint32_t *members = malloc(n * sizeof *members), *values = malloc(lookups * sizeof *values);
    uint8_t *hit = malloc((lookups + 31) / 32 * 4);
    set_work w = {.source = COHORT_SETS_SOURCE_INIT, .look = COHORT_SETS_LOOK_INIT};
    int status = members && values && hit ? CLI_OK : no_memory(fault, (n + lookups) * 4);
    for (uint64_t i = 0; i < n && !status; i++)
        members[i] = (uint32_t)bench_key(i, 4);
    for (uint64_t i = 0; i < lookups && !status; i++)
        values[i] = set_lookup(i, n, step);
    w.source.n = n;
    w.source.members = members;
    cohort_status made = status ? COHORT_OK : cohort_sets_build(s->b->dev.context, &w.source, &w.sets);
    if (made)
        status = bench_fault(s->b, made, "bench set: the set that is looked into", fault);
    w.look.n = lookups;
    w.look.values = values;
    w.look.hit = hit;
    bench_row row = row_of(s, "contains", "set contains", "half there", lookups);
    bench_row_limit(&s->b->dev, &row, 'R', n * 2);
    if (!status)
        status = measure(s, &row, work_look, &w, (double)lookups, 1, fault);
    cohort_sets_destroy(w.sets);
    free(members);
    free(values);
    free(hit);
    return status;
}

static int build_measure(const set_bench *s, fault *fault)
{
    uint64_t n = s->sizes.unsorted;
    uint32_t *members = malloc(n * sizeof *members);
    set_work w = {.source = COHORT_SETS_SOURCE_INIT};
    if (!members)
        return no_memory(fault, n * 4);
    for (uint64_t i = 0; i < n; i++)
        members[i] = (uint32_t)bench_key(i, 4);
    w.source.n = n;
    w.source.members = members;
    bench_row row = row_of(s, "build", "set build", "in no order", n);
    int status = measure(s, &row, work_build, &w, (double)n, 1, fault);
    free(members);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------------------------------------- */

static int experiment_measure(const set_bench *s, int which, fault *fault)
{
    int status = CLI_OK;
    switch (which) {
    case 0:
        return real_measure(s, fault);
    case 1:
        return dense_measure(s, fault);
    case 2:
        for (uint64_t skew = 1; skew <= 64 && !status; skew *= skew == 1 ? 8 : 2)
            status = skew_measure(s, skew, fault);
        return status;
    case 3:
        return contains_measure(s, fault);
    default:
        return build_measure(s, fault);
    }
}

/* The peers run before, each experiment by itself. */
static int experiments_run(bench *b, const set_options *o, fault *fault)
{
    set_bench s = {b, set_sizes_of(o->common.quick), o->data};
    char folder[BENCH_PATH], runs[32], experiment[32];
    const char *peers;
    int status = bench_peers_find(b, o->peers, b->dev.cpu, folder, &peers, fault);
    snprintf(runs, sizeof runs, "%llu", (unsigned long long)b->runs);
    for (int i = 0; i < EXPERIMENTS && !status; i++) {
        const char *name = experiment_names[i];
        const char *arguments[] = {
            "--runs", runs, "--quick", o->common.quick ? "1" : "0", o->data ? "--data" : NULL, o->data, NULL};
        size_t before = b->peers.count;
        if (o->experiment && !bench_listed(o->experiment, name) && !bench_listed(o->experiment, "all"))
            continue;
        snprintf(experiment, sizeof experiment, "set %s", name);
        if (peers && (i || o->data))
            status = bench_peers_run(b, peers, experiment, arguments, fault);
        if (peers && !status && b->peers.count == before && (i || o->data))
            bench_say(b, "%s: no CRoaring (scripts/deps.sh --bench, and a new build)", name);
        if (!status)
            status = experiment_measure(&s, i, fault);
    }
    return status;
}

int bench_set_main(int argc, char **argv, fault *fault)
{
    set_options o = {0};
    bench b = {0};
    arg args[] = {BENCH_ARGS(o.common),
                  {"--data", ARG_TEXT, &o.data, 0, 0, 0},
                  {"--experiment", ARG_TEXT, &o.experiment, 0, 0, 0},
                  {"--peers", ARG_TEXT, &o.peers, 0, 0, 0}};
    size_t rest, count;
    unsigned chosen[EXPERIMENTS + 1];
    bench_command_set(&b, "set", argc, argv);
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench set takes no files", argv[0]);
    if (o.experiment && bench_names_take("--experiment", o.experiment, experiment_names, EXPERIMENTS + 1,
                                         chosen, &count, fault))
        return fault->status;
    if (!o.common.threads)
        o.common.threads = 1; /* the peer has no more */
    status = bench_begin(&b, &o.common, 1, fault);
    if (!status)
        status = experiments_run(&b, &o, fault);
    if (!status)
        status = bench_end(&b, fault);
    bench_close(&b);
    return status;
}
