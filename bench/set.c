/* set.c: `cohort bench set`: operations on sets, beside CRoaring on the same sets
 * (bench/peers/peer_croaring.cpp), and on a GPU beside a plain kernel (bench/peers/peer_words.cu).
 *
 * - real: of folders of texts (--data), each set and the next one, by each operation, as a collection and as
 *   counts; all united; all pairs, as counts; opened from Roaring's bytes
 * - dense: two sets of half of 2^32 (quick: 2^28) integers: and; on a CPU once more beside a plain loop over
 *   bitmaps as the limit (set_loop.c), and CRoaring without malloc's trimming
 * - skewed: two sets of arrays, 4,096 members a chunk and as many to a sixty-fourth of that: one in each of
 *   as many equal parts of the chunk, or drawn, every value alike
 * - contains: lookups at random, every second a hit: in one set of arrays, in one of bitmaps, in 100,000 sets
 * - build: from integers in no order
 * - small: one batch of 1 to 100,000 pairs of small sets
 * - density: two sets drawn evenly from 10 million, 1/2 to 1/1,000,000 of them: and; and with its members
 *   written out
 * - containing: which sets contain each of many values, of small, tiny and real sets (--data)
 * - working: working sets, in chunks and flat: updated from integers in no order, and AND into one
 * - threads: dense sets and lookups in them by 1, 2, 4, ... threads, each held against the limits of as many
 *
 * Each figure of ours is one call on the whole batch, what it makes is given back in it, as a peer does.
 * Arrays are in the context's memory, but Roaring's bytes. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "set.h"
#include "set_texts.h"

#include <math.h>

enum { EXPERIMENTS = 10 };
static const char *const experiment_names[EXPERIMENTS + 1] = {"real",    "dense",   "skewed",  "contains",
                                                              "build",   "small",   "density", "containing",
                                                              "threads", "working", "all"};

typedef struct set_options {
    bench_options common;
    const char *experiment, *peers, *data;
} set_options;

static const char *const op_names[] = {"", "and", "or", "andnot", "xor"};

/* ---- jobs ---------------------------------------------------------------------------------------------- */

cohort_status set_work_query(void *arg)
{
    set_work *w = arg;
    cohort_sets *made = NULL;
    w->query.result = w->makes ? &made : NULL;
    cohort_status status = cohort_sets_query(w->context, &w->query);
    cohort_sets_destroy(made);
    return status;
}

cohort_status set_work_export(void *arg)
{
    set_work *w = arg;
    cohort_sets *made = NULL;
    w->query.result = &made;
    cohort_status status = cohort_sets_query(w->context, &w->query);
    if (!status)
        status = cohort_sets_export(made, &w->target);
    cohort_sets_destroy(made);
    return status;
}

cohort_status set_work_build(void *arg)
{
    set_work *w = arg;
    cohort_sets *made = NULL;
    cohort_status status = cohort_sets_build(w->context, &w->source, &made);
    cohort_sets_destroy(made);
    return status;
}

cohort_status set_work_look(void *arg)
{
    set_work *w = arg;
    return cohort_sets_look(w->sets, &w->look);
}

bench_row set_row(const set_bench *s, const char *experiment, const char *name, const char *keys, uint64_t n)
{
    bench_row row = bench_row_make(s->b, experiment, name, "32", keys);
    row.n = n;
    return row;
}

int set_measure(const set_bench *s, bench_row *row, bench_work work, set_work *w, double items,
                unsigned repeat, int wall, fault *fault)
{
    bench_job job = {NULL, work, w, items, repeat, wall};
    w->context = s->b->dev.context;
    return bench_measure(s->b, row, &job, fault);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

int set_no_memory(fault *fault, uint64_t bytes)
{
    return fault_set(fault, CLI_FAILED, "bench set: no memory for %llu bytes", (unsigned long long)bytes);
}

void *set_room(const set_bench *s, uint64_t bytes)
{
    void *room = NULL;
    if (s->b->dev.cpu)
        return malloc(bytes ? bytes : 1);
    return cohort_alloc(s->b->dev.context, bytes ? bytes : 1, &room) ? NULL : room;
}

void set_give(const set_bench *s, void *array)
{
    if (s->b->dev.cpu)
        free(array);
    else
        cohort_free(s->b->dev.context, array);
}

int set_placed(const set_bench *s, void *array, uint64_t bytes)
{
    void *host, *own = NULL;
    memcpy(&host, array, sizeof host);
    if (s->b->dev.cpu || !host)
        return host != NULL;
    own = set_room(s, bytes);
    if (own && cohort_copy(s->b->dev.context, own, host, bytes)) {
        set_give(s, own);
        own = NULL;
    }
    free(host);
    memcpy(array, &own, sizeof own);
    return own != NULL;
}

/* ---- queries ------------------------------------------------------------------------------------------- */

int set_measure_query(const set_bench *s, set_asked *a, fault *fault)
{
    set_work w = {.query = COHORT_SETS_QUERY_INIT};
    uint64_t *counts = set_room(s, a->rows * sizeof *counts), bytes = (a->each ? 1 : a->rows) * a->arity * 8;
    int status =
        a->members && counts && set_placed(s, &a->members, bytes) ? CLI_OK : set_no_memory(fault, bytes);
    w.query.op = a->op;
    w.query.collections = &a->sets;
    w.query.collections_count = 1;
    w.query.rows = a->rows;
    w.query.each = a->each;
    w.query.arity = a->arity;
    w.query.members = a->members;
    for (w.makes = !a->counts; w.makes <= a->makes && !status; w.makes++) {
        char name[40];
        snprintf(name, sizeof name, "set %s%s%s", op_names[a->op], a->suffix ? a->suffix : "",
                 w.makes ? "" : " count");
        bench_row row = set_row(s, a->experiment, name, a->keys, a->rows);
        w.query.counts = w.makes ? NULL : counts;
        if (a->like) {
            row.scale = a->like->scale;
            snprintf(row.unit, sizeof row.unit, "%s", a->like->unit);
            row.limit = a->like->limit;
            snprintf(row.limit_name, sizeof row.limit_name, "%s", a->like->limit_name);
            if (w.makes && !*row.limit_name)
                row.limit /= 1.5; /* half as much again is written */
            if (row.limit > 0 && !*row.limit_name)
                snprintf(row.limit_name, sizeof row.limit_name, "B/%s", w.makes ? "0.375" : "0.25");
        }
        status = set_measure(s, &row, set_work_query, &w, a->items, a->repeat, w.makes, fault);
    }
    set_give(s, a->members);
    set_give(s, counts);
    return status;
}

int set_measure_neighbours(const set_bench *s, const char *experiment, const char *keys, cohort_sets *sets,
                           cohort_sets_op op, uint64_t rows, double items, const bench_row *like,
                           fault *fault)
{
    set_asked a = {.experiment = experiment,
                   .keys = keys,
                   .sets = sets,
                   .op = op,
                   .rows = rows,
                   .arity = 2,
                   .items = items,
                   .repeat = items > 1e6 && s->b->dev.cpu ? 1 : 5,
                   .counts = 1,
                   .makes = 1,
                   .like = like};
    a.members = malloc(rows * 2 * sizeof *a.members);
    for (uint64_t i = 0; i < 2 * rows && a.members; i++)
        a.members[i] = i / 2 + i % 2;
    return set_measure_query(s, &a, fault);
}

/* All in one row. */
static int measure_many(const set_bench *s, const char *keys, cohort_sets *sets, uint64_t n, fault *fault)
{
    set_asked a = {.experiment = "real",
                   .keys = keys,
                   .suffix = " many",
                   .sets = sets,
                   .op = COHORT_SETS_OR,
                   .rows = 1,
                   .arity = n,
                   .items = 1,
                   .repeat = 5,
                   .counts = 1,
                   .makes = 1};
    a.members = malloc(n * sizeof *a.members);
    for (uint64_t i = 0; i < n && a.members; i++)
        a.members[i] = i;
    return set_measure_query(s, &a, fault);
}

/* All pairs of the sets, as counts. */
static int measure_all_pairs(const set_bench *s, const char *keys, cohort_sets *sets, uint64_t n,
                             fault *fault)
{
    set_asked a = {.experiment = "real",
                   .keys = keys,
                   .suffix = " all pairs",
                   .sets = sets,
                   .op = COHORT_SETS_AND,
                   .rows = n * (n - 1) / 2,
                   .arity = 2,
                   .items = (double)(n * (n - 1) / 2),
                   .repeat = 1,
                   .counts = 1};
    uint64_t at = 0;
    a.members = malloc(n * (n - 1) * sizeof *a.members);
    for (uint64_t i = 0; i < n && a.members; i++)
        for (uint64_t k = i + 1; k < n; k++, at += 2) {
            a.members[at] = i;
            a.members[at + 1] = k;
        }
    return set_measure_query(s, &a, fault);
}

/* ---- folders of texts ---------------------------------------------------------------------------------- */

/* The sets' Roaring bytes, opened all at once. */
static int measure_open(const set_bench *s, const char *name, cohort_sets *sets, uint64_t n, fault *fault)
{
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    set_work w = {.source = COHORT_SETS_SOURCE_INIT};
    uint64_t *offsets = malloc((n + 1) * sizeof *offsets); /* the host reads the bytes */
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
    bench_row row = set_row(s, "real", "set open", name, n);
    int code = status ? bench_fault(s->b, status, "bench set: Roaring's bytes", fault)
                      : set_measure(s, &row, set_work_build, &w, (double)n, 5, 1, fault);
    free(bytes);
    free(offsets);
    return code;
}

int set_folder_sets(const set_bench *s, const char *name, set_texts *t, cohort_sets **sets, fault *fault)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    if (!set_texts_read(t, s->data, name) || t->sets < 2)
        return fault_set(fault, CLI_BAD_INPUT, "--data %s: %s is no folder of two texts of integers or more",
                         s->data, name);
    source.n = t->members;
    source.sets = t->sets;
    source.members = t->member;
    source.offsets = t->offsets;
    cohort_status made = cohort_sets_build(s->b->dev.context, &source, sets);
    return made ? bench_fault(s->b, made, "bench set: a collection", fault) : CLI_OK;
}

static int folder_measure(const set_bench *s, const char *name, fault *fault)
{
    set_texts t = {.sets = 0};
    cohort_sets *sets = NULL;
    int status = set_folder_sets(s, name, &t, &sets, fault);
    for (cohort_sets_op op = COHORT_SETS_AND; op <= COHORT_SETS_XOR && !status; op++)
        status =
            set_measure_neighbours(s, "real", name, sets, op, t.sets - 1, (double)(t.sets - 1), NULL, fault);
    if (!status)
        status = measure_many(s, name, sets, t.sets, fault);
    if (!status)
        status = measure_all_pairs(s, name, sets, t.sets, fault);
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
            strstr(row->name, "all pairs") || strstr(row->name, "open"))
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

int set_folders(const set_bench *s, set_folder measure, fault *fault)
{
    struct dirent **names = NULL;
    int status = CLI_OK, found = s->data ? scandir(s->data, &names, set_is_name, alphasort) : 0;
    if (!s->data)
        bench_say(s->b, "left out: real sets; --data DIR tells where folders of texts are");
    if (found < 0)
        return fault_set(fault, CLI_BAD_INPUT, "--data %s: no such folder", s->data);
    for (int i = 0; i < found; i++) {
        if (!status)
            status = measure(s, names[i]->d_name, fault);
        free(names[i]);
    }
    free(names);
    return status;
}

static int real_measure(const set_bench *s, fault *fault)
{
    int status = set_folders(s, folder_measure, fault);
    sum_up(s->b);
    return status;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int experiment_measure(const set_bench *s, int which, fault *fault)
{
    static const set_experiment experiments[EXPERIMENTS] = {
        real_measure, set_dense,     set_skewed,     set_contains, set_built,
        set_small,    set_densities, set_containing, set_threads,  set_working};
    return experiments[which](s, fault);
}

/* The peers run before, each experiment by itself. */
static int experiments_run(bench *b, const set_options *o, fault *fault)
{
    set_bench s = {b, set_sizes_of(o->common.quick), o->data, NULL};
    char folder[BENCH_PATH], runs[32], experiment[32];
    const char *peers;
    int status = bench_peers_find(b, o->peers, b->dev.cpu, folder, &peers, fault);
    snprintf(runs, sizeof runs, "%llu", (unsigned long long)b->runs);
    for (int i = 0; i < EXPERIMENTS && !status; i++) {
        const char *name = experiment_names[i];
        const char *arguments[] = {"--device",
                                   b->dev.cpu ? "cpu" : "cuda",
                                   "--runs",
                                   runs,
                                   "--quick",
                                   o->common.quick ? "1" : "0",
                                   o->data ? "--data" : NULL,
                                   o->data,
                                   NULL};
        size_t before = b->peers.count;
        if (o->experiment && !bench_listed(o->experiment, name) && !bench_listed(o->experiment, "all"))
            continue;
        s.experiment = name;
        snprintf(experiment, sizeof experiment, "set %s", name);
        if (peers && (i || o->data))
            status = bench_peers_run(b, peers, experiment, arguments, fault);
        if (peers && !status && b->peers.count == before && (i || o->data) && strcmp(name, "threads"))
            bench_say(b, "%s: no peer (CRoaring: scripts/deps.sh --bench, and a new build)", name);
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
