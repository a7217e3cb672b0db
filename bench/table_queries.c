/* table_queries.c: `cohort bench table`: groups and joins after db-benchmark's questions, beside duckdb and
 * polars (bench/peers/peer_tables.py) on the same rows and threads, every answer compared; and joins by
 * sizes, selectivity and multiplicity (table_sweep.c).
 *
 * groups   q1 sum v1 by id1; q2 the same by id1, id2; q3 sum v1, mean v3 by id3; q4 mean v1, v2, v3 by id4;
 *          q5 sum v1, v2, v3 by id6; q7 max v1, min v2 by id3; q10 sum v3, count by id1 to id6; where they
 *          are named: sd standard deviation and variance of v3 by id4, id5; nunique distinct id6 by id4
 * joins    of x: j1 small, j2 medium, j3 medium left, j4 medium by a string, j5 big; all columns but the
 *          right key come out
 *
 * A figure is rows of x a second, of a whole question: from frames to a frame. What comes out is given back
 * in it. */
#include "table_queries.h"

#include <math.h>
#include <string.h>

enum { EXPERIMENTS = 3, INPUTS_OF = 3, TEXTS = 2, SIZES = 8 };
static const char *const experiment_names[EXPERIMENTS + 1] = {"groups", "joins", "sweep", "all"};
static const char *const input_names[INPUTS_OF] = {"plain", "sorted", "nulls"};
static const char *const text_names[TEXTS] = {"dictionary", "utf8"};

typedef struct table_options {
    bench_options common;
    const char *experiment, *peers, *n, *k, *query, *input, *text, *method;
} table_options;

/* ---- groups -------------------------------------------------------------------------------------------- */

typedef struct group_query {
    const char *name;
    unsigned keys;
    const char *key[6];
    unsigned values;
    cohort_aggregate value[3];
    const char *column[3]; /* of the answer */
    int named;             /* asked only by its name */
} group_query;

static const group_query group_queries[] = {
    {"q1", 1, {"id1"}, 1, {{COHORT_AGGREGATE_SUM, 0, "v1", NULL}}, {"v1_sum"}, 0},
    {"q2", 2, {"id1", "id2"}, 1, {{COHORT_AGGREGATE_SUM, 0, "v1", NULL}}, {"v1_sum"}, 0},
    {"q3",
     1,
     {"id3"},
     2,
     {{COHORT_AGGREGATE_SUM, 0, "v1", NULL}, {COHORT_AGGREGATE_MEAN, 0, "v3", NULL}},
     {"v1_sum", "v3_mean"},
     0},
    {"q4",
     1,
     {"id4"},
     3,
     {{COHORT_AGGREGATE_MEAN, 0, "v1", NULL},
      {COHORT_AGGREGATE_MEAN, 0, "v2", NULL},
      {COHORT_AGGREGATE_MEAN, 0, "v3", NULL}},
     {"v1_mean", "v2_mean", "v3_mean"},
     0},
    {"q5",
     1,
     {"id6"},
     3,
     {{COHORT_AGGREGATE_SUM, 0, "v1", NULL},
      {COHORT_AGGREGATE_SUM, 0, "v2", NULL},
      {COHORT_AGGREGATE_SUM, 0, "v3", NULL}},
     {"v1_sum", "v2_sum", "v3_sum"},
     0},
    {"q7",
     1,
     {"id3"},
     2,
     {{COHORT_AGGREGATE_MAX, 0, "v1", NULL}, {COHORT_AGGREGATE_MIN, 0, "v2", NULL}},
     {"v1_max", "v2_min"},
     0},
    {"q10",
     6,
     {"id1", "id2", "id3", "id4", "id5", "id6"},
     2,
     {{COHORT_AGGREGATE_SUM, 0, "v3", NULL}, {COHORT_AGGREGATE_ROWS, 0, NULL, NULL}},
     {"v3_sum", "rows"},
     0},
    {"sd",
     2,
     {"id4", "id5"},
     2,
     {{COHORT_AGGREGATE_SD, 0, "v3", NULL}, {COHORT_AGGREGATE_VAR, 0, "v3", NULL}},
     {"v3_sd", "v3_var"},
     1},
    {"nunique", 1, {"id4"}, 1, {{COHORT_AGGREGATE_NUNIQUE, 0, "id6", NULL}}, {"id6_nunique"}, 1}};
enum { GROUP_QUERIES = sizeof group_queries / sizeof *group_queries };

/* A question, what it is asked of, and the last answer. */
typedef struct table_work {
    cohort_context *context;
    const group_query *group;
    const join_query *join;
    cohort_frame *x, *right, *answer;
    int keeps; /* the answer */
} table_work;

static cohort_status work_group(void *arg)
{
    table_work *w = arg;
    cohort_group_options o = COHORT_GROUP_OPTIONS_INIT;
    cohort_group *group = NULL;
    cohort_frame *answer = NULL;
    o.keys = w->group->keys;
    o.key = w->group->key;
    o.aggregates = w->group->values;
    o.aggregate = w->group->value;
    cohort_status s = cohort_group_create(w->context, &o, &group);
    if (!s)
        s = cohort_group_add(group, w->x);
    if (!s)
        s = cohort_group_finish(group, 0, &answer);
    cohort_group_destroy(group);
    w->answer = w->keeps ? answer : NULL;
    if (!w->keeps)
        cohort_frame_release(answer);
    return s;
}

static uint64_t group_id(const table_spec *s, uint64_t row)
{
    return table_id(s->shape, row, s->id);
}

static uint64_t group_value(const table_spec *s, uint64_t row)
{
    return table_value(s->shape, row, s->id - 6);
}

static int groups_make(const bench *b, const table_shape *shape, cohort_frame **out, fault *fault)
{
    static const int digits[] = {3, 3, 10, 0, 0, 0};
    table_spec specs[9];
    for (unsigned id = 1; id <= 6; id++) {
        table_spec *s = &specs[id - 1];
        *s = (table_spec){
            "",   id <= 3 ? TABLE_TEXT : TABLE_INT, digits[id - 1], table_values(shape, id), group_id, id, 0,
            shape};
        snprintf(s->name, sizeof s->name, "id%u", id);
    }
    for (unsigned v = 1; v <= 3; v++) {
        table_spec *s = &specs[v + 5];
        *s = (table_spec){"", v == 3 ? TABLE_REAL : TABLE_INT, 0, 0, group_value, v + 6, 0, shape};
        snprintf(s->name, sizeof s->name, "v%u", v);
    }
    return table_frame_make(b, shape->n, specs, 9, out, fault);
}

/* ---- joins --------------------------------------------------------------------------------------------- */

/* own: the right table's key, id1 to id3. */
static const join_query join_queries[] = {{"j1", "id1", "r1", 1, COHORT_JOIN_INNER},
                                          {"j2", "id2", "r2", 2, COHORT_JOIN_INNER},
                                          {"j3", "id2", "r2", 2, COHORT_JOIN_LEFT},
                                          {"j4", "id5", "r5", 2, COHORT_JOIN_INNER},
                                          {"j5", "id3", "r3", 3, COHORT_JOIN_INNER}};
enum { JOIN_QUERIES = sizeof join_queries / sizeof *join_queries };

static cohort_status work_join(void *arg)
{
    table_work *w = arg;
    cohort_frame *answer = NULL;
    cohort_status s = table_join_answer(w->context, w->join, w->x, w->right, &answer);
    w->answer = w->keeps ? answer : NULL;
    if (!w->keeps)
        cohort_frame_release(answer);
    return s;
}

static uint64_t left_id(const table_spec *s, uint64_t row)
{
    return table_left(s->shape, row, s->id > 3 ? s->id - 3 : s->id);
}

static uint64_t right_id(const table_spec *s, uint64_t row)
{
    return table_right(s->shape, row, s->id > 3 ? s->id - 3 : s->id, s->own);
}

static uint64_t join_value(const table_spec *s, uint64_t row)
{
    return table_join_value(s->shape, row, s->own + 1);
}

/* x (own 0), or the table whose key is `own`: its ids up to that one, as numbers and as strings. */
static int side_make(const bench *b, const table_shape *shape, unsigned own, cohort_frame **out, fault *fault)
{
    table_spec specs[7];
    unsigned count = 0;
    uint64_t rows = table_size(shape, own ? own : 3);
    for (unsigned id = 1; id <= 6; id++) {
        unsigned of = id > 3 ? id - 3 : id;
        if (own && of > own)
            continue;
        table_spec *s = &specs[count++];
        *s = (table_spec){"",
                          id > 3 ? TABLE_TEXT : TABLE_INT,
                          0,
                          table_size(shape, of) / 10 * 11,
                          own ? right_id : left_id,
                          id,
                          own,
                          shape};
        snprintf(s->name, sizeof s->name, "%s%u", own ? "r" : "id", id);
    }
    specs[count] = (table_spec){"", TABLE_REAL, 0, 0, join_value, 7, own != 0, shape};
    snprintf(specs[count].name, sizeof specs[count].name, own ? "v2" : "v1");
    return table_frame_make(b, rows, specs, count + 1, out, fault);
}

/* ---- measuring ----------------------------------------------------------------------------------------- */

typedef struct table_bench {
    bench *b;
    const table_options *options;
    table_shape shape;
    const char *input, *text, *peers;
} table_bench;

static bench_row row_of(const table_bench *t, const char *experiment, const char *query)
{
    char name[40], keys[40] = "";
    int group = experiment[0] == 'g';
    snprintf(name, sizeof name, "%s %s", group ? "group" : "join", query);
    if (group)
        snprintf(keys, sizeof keys, "K = %llu%s", (unsigned long long)t->shape.k,
                 strcmp(t->input, "plain") ? ", " : "");
    if (strcmp(t->input, "plain"))
        strcat(keys, t->input);
    bench_row row = bench_row_make(t->b, experiment, name, NULL, keys);
    snprintf(row.variant, sizeof row.variant, "%s", t->text);
    row.n = t->shape.n;
    bench_extra_set(&row, "ms", 0);
    return row;
}

static int near_by(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* The peers' answers against ours. */
static int answers_compare(const table_bench *t, const bench_row *row, const table_answer *ours, fault *fault)
{
    for (size_t i = 0; i < t->b->peers.count; i++) {
        const bench_row *r = &t->b->peers.row[i];
        if (!r->here || !bench_row_same(r, row) || strcmp(r->experiment, row->experiment))
            continue;
        if ((double)ours->rows != bench_extra_get(r, "rows") || ours->valid != bench_extra_get(r, "valid") ||
            !near_by(ours->sum, bench_extra_get(r, "sum")) ||
            !near_by(ours->weighted, bench_extra_get(r, "weighted")))
            return fault_set(fault, CLI_FAILED,
                             "%s: the answers differ: rows %llu, sum %.12g, weighted %.12g, valid %.12g; %s: "
                             "%.12g, %.12g, %.12g, %.12g",
                             row->name, (unsigned long long)ours->rows, ours->sum, ours->weighted,
                             ours->valid, r->peer, bench_extra_get(r, "rows"), bench_extra_get(r, "sum"),
                             bench_extra_get(r, "weighted"), bench_extra_get(r, "valid"));
    }
    return CLI_OK;
}

static int question(const table_bench *t, bench_row *row, table_work *w, const char *const *names,
                    unsigned keys, unsigned count, fault *fault)
{
    bench_job job = {NULL, w->group ? work_group : work_join, w, (double)t->shape.n, 1, 1};
    table_answer answer;
    w->context = t->b->dev.context;
    w->keeps = 1;
    cohort_status s = job.work(w);
    if (s)
        return bench_fault(t->b, s, row->name, fault);
    int status = table_answer_read(t->b, w->answer, names, keys, count, &answer, fault);
    cohort_frame_release(w->answer);
    w->keeps = 0;
    if (!status)
        status = answers_compare(t, row, &answer, fault);
    bench_extra_set(row, "rows", (double)answer.rows);
    return status ? status : bench_measure(t->b, row, &job, fault);
}

static int groups_measure(const table_bench *t, fault *fault)
{
    cohort_frame *x = NULL;
    int status = groups_make(t->b, &t->shape, &x, fault);
    for (unsigned q = 0; q < GROUP_QUERIES && !status; q++) {
        const group_query *g = &group_queries[q];
        table_work w = {.group = g, .x = x};
        bench_row row = row_of(t, "groups", g->name);
        const char *names[9];
        if (t->options->query ? !bench_listed(t->options->query, g->name) : g->named)
            continue;
        memcpy(names, g->key, g->keys * sizeof *names);
        memcpy(names + g->keys, g->column, g->values * sizeof *names);
        status = question(t, &row, &w, names, g->keys, g->keys + g->values, fault);
    }
    cohort_frame_release(x);
    return status;
}

static int joins_measure(const table_bench *t, fault *fault)
{
    static const char *const names[] = {"id1", "id2", "id3", "v1", "v2", "r4"};
    cohort_frame *x = NULL, *right = NULL;
    unsigned own = 0;
    int status = side_make(t->b, &t->shape, 0, &x, fault);
    for (unsigned q = 0; q < JOIN_QUERIES && !status; q++) {
        const join_query *j = &join_queries[q];
        bench_row row = row_of(t, "joins", j->name);
        if (!bench_listed(t->options->query, j->name))
            continue;
        if (own != j->own) {
            cohort_frame_release(right);
            right = NULL;
            status = side_make(t->b, &t->shape, own = j->own, &right, fault);
        }
        table_work w = {.join = j, .x = x, .right = right};
        if (!status)
            status = question(t, &row, &w, names, 3, 6, fault);
    }
    cohort_frame_release(x);
    cohort_frame_release(right);
    return status;
}

/* The geometric mean over the best of others, and the least, of the rows from `first` on. */
static void sum_up(const bench *b, size_t first, const char *what)
{
    double sum = 0, least = INFINITY;
    unsigned n = 0;
    for (size_t i = first; i < b->rows.count; i++) {
        const bench_row *row = &b->rows.row[i], *best = bench_rows_best(&b->peers, row);
        double ratio = best ? row->median / best->median : 0;
        if (!best)
            continue;
        sum += log(ratio);
        least = ratio < least ? ratio : least;
        n++;
    }
    if (n)
        bench_say(b, "%s beside the best of others: geometric mean %.2f of %u, least %.2f", what,
                  exp(sum / n), n, least);
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int peers_run(const table_bench *t, const char *experiment, fault *fault)
{
    char n[24], k[24], runs[16], threads[16], of_table[32];
    const char *arguments[] = {"--n",       n,
                               "--k",       k,
                               "--runs",    runs,
                               "--threads", threads,
                               "--input",   t->input,
                               "--text",    t->text,
                               "--query",   t->options->query ? t->options->query : "all",
                               NULL};
    size_t before = t->b->peers.count;
    if (!t->peers)
        return CLI_OK;
    snprintf(n, sizeof n, "%llu", (unsigned long long)t->shape.n);
    snprintf(k, sizeof k, "%llu", (unsigned long long)t->shape.k);
    snprintf(runs, sizeof runs, "%llu", (unsigned long long)t->b->runs);
    snprintf(threads, sizeof threads, "%llu", (unsigned long long)t->b->dev.info.threads);
    snprintf(of_table, sizeof of_table, "table %s", experiment);
    int status = bench_peer_run(t->b, t->peers, "peer_tables", of_table, arguments, fault);
    for (size_t i = before; i < t->b->peers.count; i++)
        snprintf(t->b->peers.row[i].experiment, sizeof t->b->peers.row[i].experiment, "%s", experiment);
    if (!status && t->b->peers.count == before)
        bench_say(t->b, "%s: neither duckdb nor polars (scripts/deps.sh --bench)", experiment);
    return status;
}

static int experiment_measure(table_bench *t, unsigned which, fault *fault)
{
    size_t first = t->b->rows.count;
    int status = peers_run(t, experiment_names[which], fault);
    if (!status)
        status = which ? joins_measure(t, fault) : groups_measure(t, fault);
    if (!status)
        sum_up(t->b, first, experiment_names[which]);
    return status;
}

/* Of joins K says nothing. */
static int shapes_measure(table_bench *t, unsigned which, const uint64_t *k, size_t ks, fault *fault)
{
    int status = CLI_OK;
    for (int input = 0; input < INPUTS_OF && !status; input++)
        for (int text = 0; text < TEXTS && !status; text++)
            for (size_t i = 0; i < (which ? 1 : ks) && !status; i++) {
                t->input = input_names[input];
                t->text = text_names[text];
                if (!bench_listed(t->options->input ? t->options->input : "plain", t->input) ||
                    !bench_listed(t->options->text ? t->options->text : "dictionary", t->text))
                    continue;
                t->shape.k = k[i];
                t->shape.sorted = input == 1;
                t->shape.nulls = input == 2;
                t->shape.utf8 = text == 1;
                status = experiment_measure(t, which, fault);
            }
    return status;
}

typedef struct table_sizes {
    uint64_t n[SIZES], k[SIZES];
    size_t ns, ks;
} table_sizes;

static int all_measure(bench *b, const table_options *o, const table_sizes *sizes, fault *fault)
{
    table_bench t = {.b = b, .options = o};
    char folder[BENCH_PATH];
    int status = bench_peers_find(b, o->peers, b->dev.cpu, folder, &t.peers, fault);
    for (size_t i = 0; i < sizes->ns && !status; i++)
        for (unsigned which = 0; which < EXPERIMENTS && !status; which++) {
            const char *name = experiment_names[which];
            if (o->experiment ? !bench_listed(o->experiment, name) && !bench_listed(o->experiment, "all")
                              : which == 2)
                continue;
            t.shape.n = sizes->n[i] / 10 * 10;
            status = which == 2 ? table_sweep_measure(b, t.shape.n, o->method, fault)
                                : shapes_measure(&t, which, sizes->k, sizes->ks, fault);
        }
    return status;
}

static int options_check(const table_options *o, table_sizes *sizes, fault *fault)
{
    unsigned chosen[8];
    size_t count;
    *sizes = (table_sizes){{o->common.quick ? 100000 : 10000000}, {100, 10, 2}, 1, o->common.quick ? 1 : 3};
    if (o->n && bench_wholes_take("--n", o->n, 10, 1e9, sizes->n, SIZES, &sizes->ns, fault))
        return fault->status;
    if (o->k && bench_wholes_take("--k", o->k, 1, 1e6, sizes->k, SIZES, &sizes->ks, fault))
        return fault->status;
    if (o->experiment && bench_names_take("--experiment", o->experiment, experiment_names, EXPERIMENTS + 1,
                                          chosen, &count, fault))
        return fault->status;
    if (o->input && bench_names_take("--input", o->input, input_names, INPUTS_OF, chosen, &count, fault))
        return fault->status;
    if (o->method &&
        bench_names_take("--method", o->method, join_method_names, JOIN_METHODS, chosen, &count, fault))
        return fault->status;
    return o->text ? bench_names_take("--text", o->text, text_names, TEXTS, chosen, &count, fault) : CLI_OK;
}

int bench_table_main(int argc, char **argv, fault *fault)
{
    table_options o = {0};
    bench b = {0};
    table_sizes sizes;
    size_t rest;
    arg args[] = {BENCH_ARGS(o.common),
                  {"--experiment", ARG_TEXT, &o.experiment, 0, 0, 0},
                  {"--n", ARG_TEXT, &o.n, 0, 0, 0},
                  {"--k", ARG_TEXT, &o.k, 0, 0, 0},
                  {"--query", ARG_TEXT, &o.query, 0, 0, 0},
                  {"--input", ARG_TEXT, &o.input, 0, 0, 0},
                  {"--text", ARG_TEXT, &o.text, 0, 0, 0},
                  {"--method", ARG_TEXT, &o.method, 0, 0, 0},
                  {"--peers", ARG_TEXT, &o.peers, 0, 0, 0}};
    bench_command_set(&b, "table", argc, argv);
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench table takes no files", argv[0]);
    status = options_check(&o, &sizes, fault);
    if (!status)
        status = bench_begin(&b, &o.common, 0, fault);
    if (!status)
        status = all_measure(&b, &o, &sizes, fault);
    if (!status)
        status = bench_end(&b, fault);
    bench_close(&b);
    return status;
}
