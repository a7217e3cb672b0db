/* map.c: `cohort bench map`: which experiments, at which sizes, loads and widths. */
#include "map.h"

#include <string.h>

static const struct experiment {
    const char *name;
    map_experiment measure;
    int usual; /* measured when none is named */
} experiments[] = {{"operations", map_operations, 1},
                   {"threads", map_threads, 1},
                   {"headline", map_headline, 1},
                   {"duplicates", map_duplicates, 1},
                   {"multimap", map_multimap, 1},
                   {"groups", map_groups, 0},
                   {"sweep", map_sweep, 0},
                   {"deletes", map_deletes, 0},
                   {"host", map_host, 0},
                   {"readers", map_readers, 0},
                   {"loads", map_loads, 0},
                   {"batches", map_batches, 0},
                   {"sums", map_sums, 0},
                   {"full", map_full, 0}};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };

/* ---- options ------------------------------------------------------------------------------------------- */

static int widths_take(map_plan *plan, const char *list, fault *fault)
{
    char word[32];
    while (bench_list_next(&list, word)) {
        size_t i = 0;
        while (i < WIDTHS && strcmp(word, bench_widths[i].name))
            i++;
        if (i == WIDTHS)
            return fault_set(fault, CLI_BAD_INPUT, "--width %s: must be 32/0, 32/32, 64/0, 64/32 or 64/64",
                             word);
        if (plan->width_count == WIDTHS)
            return fault_set(fault, CLI_BAD_INPUT, "--width %s: more than %d widths", word, WIDTHS);
        plan->width[plan->width_count++] = &bench_widths[i];
    }
    return CLI_OK;
}

static int experiment_check(const char *list, fault *fault)
{
    char word[32];
    while (list && bench_list_next(&list, word)) {
        size_t i = 0;
        while (i < EXPERIMENTS && strcmp(word, experiments[i].name))
            i++;
        if (i == EXPERIMENTS && strcmp(word, "all"))
            return fault_set(fault, CLI_BAD_INPUT,
                             "--experiment %s: must be operations, threads, headline, duplicates, multimap, "
                             "groups, sweep, deletes, host, readers, loads, batches, sums, full or all",
                             word);
    }
    return CLI_OK;
}

static int asked_for(const struct experiment *e, const char *list)
{
    return list ? bench_listed(list, e->name) || bench_listed(list, "all") : e->usual;
}

/* ---- the command --------------------------------------------------------------------------------------- */

typedef struct map_options {
    bench_options common;
    const char *n, *load, *width, *only, *experiment, *peers, *layout;
    int tune;
} map_options;

static int sizes_take(map_plan *plan, const char *list, fault *fault)
{
    return bench_wholes_take("--n", list, 1, 1e12, plan->n, MAP_SIZES, &plan->n_count, fault);
}

static int loads_take(map_plan *plan, const char *list, fault *fault)
{
    return bench_numbers_take("--load", list, 0.01, 1, plan->load, MAP_LOADS, &plan->load_count, fault);
}

static int layout_take(map_plan *plan, const char *name, fault *fault)
{
    if (name && strcmp(name, "pages") && strcmp(name, "lines"))
        return fault_set(fault, CLI_BAD_INPUT, "--layout %s: must be pages or lines", name);
    plan->layout = name && !strcmp(name, "lines") ? COHORT_LAYOUT_LINES : COHORT_LAYOUT_PAGES;
    return CLI_OK;
}

static int lists_take(map_plan *plan, const map_options *o, fault *fault)
{
    plan->n_given = o->n != NULL;
    plan->load_given = o->load != NULL;
    plan->width_given = o->width != NULL;
    if (experiment_check(o->experiment, fault) || layout_take(plan, o->layout, fault) ||
        sizes_take(plan, o->n ? o->n : "", fault) || loads_take(plan, o->load ? o->load : "", fault))
        return fault->status;
    return widths_take(plan, o->width ? o->width : "", fault);
}

/* What is measured without asking: sizes within the last cache and far beyond it, and fewer of everything
 * on a CPU, which is a hundred times slower. Called once the device is known. */
static int defaults_take(map_plan *plan, fault *fault)
{
    int cpu = plan->b->dev.cpu, few = cpu || plan->quick;
    const char *n = plan->quick ? cpu ? "262144" : "67108864"
                    : cpu       ? "4096,1048576,16777216"
                                : "1048576,134217728";
    const char *load = plan->quick ? "0.5,0.8" : cpu ? "0.5,0.8,0.9" : "0.5,0.6,0.7,0.8,0.9,0.95";
    int status = plan->n_given ? CLI_OK : sizes_take(plan, n, fault);
    if (!status && !plan->load_given)
        status = loads_take(plan, load, fault);
    if (!status && !plan->width_given)
        status = widths_take(plan, few ? "32/32,64/64" : "32/0,32/32,64/0,64/32,64/64", fault);
    return status;
}

/* Keys of 4 bytes are distinct below 2^32; a query for absent ones needs as many again. */
static int sizes_check(const map_plan *plan, fault *fault)
{
    for (size_t i = 0; i < plan->n_count; i++)
        for (size_t w = 0; w < plan->width_count; w++)
            if (plan->width[w]->key == 4 && plan->n[i] > UINT64_C(1) << 31)
                return fault_set(fault, CLI_BAD_INPUT, "--n %llu: at most 2147483648 with --width %s",
                                 (unsigned long long)plan->n[i], plan->width[w]->name);
    return CLI_OK;
}

static int measure(map_plan *plan, const map_options *o, fault *fault)
{
    char folder[BENCH_PATH];
    int status = defaults_take(plan, fault) || sizes_check(plan, fault) ? fault->status : CLI_OK;
    if (!status)
        status = bench_peers_find(plan->b, o->peers, plan->b->dev.cpu, folder, &plan->peers, fault);
    if (!status && o->tune)
        return map_tune(plan, fault);
    for (size_t i = 0; i < EXPERIMENTS && !status; i++)
        if (asked_for(&experiments[i], o->experiment))
            status = experiments[i].measure(plan, fault);
    return status;
}

int bench_map_main(int argc, char **argv, fault *fault)
{
    map_options o = {0};
    bench b = {0};
    map_plan plan = {.b = &b};
    arg args[] = {BENCH_ARGS(o.common),
                  {"--n", ARG_TEXT, &o.n, 0, 0, 0},
                  {"--load", ARG_TEXT, &o.load, 0, 0, 0},
                  {"--width", ARG_TEXT, &o.width, 0, 0, 0},
                  {"--only", ARG_TEXT, &o.only, 0, 0, 0},
                  {"--layout", ARG_TEXT, &o.layout, 0, 0, 0},
                  {"--experiment", ARG_TEXT, &o.experiment, 0, 0, 0},
                  {"--peers", ARG_TEXT, &o.peers, 0, 0, 0},
                  {"--tune", ARG_FLAG, &o.tune, 0, 0, 0}};
    size_t rest;
    bench_command_set(&b, "map", argc, argv);
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench map takes no files", argv[0]);
    plan.only = o.only;
    plan.quick = o.common.quick;
    status = lists_take(&plan, &o, fault);
    if (!status)
        status = bench_begin(&b, &o.common, 1, fault);
    if (!status)
        status = measure(&plan, &o, fault);
    if (!status && o.only && !b.rows.count)
        status =
            fault_set(fault, CLI_BAD_INPUT, "--only %s: no row of these experiments has such a name", o.only);
    if (!status)
        status = bench_end(&b, fault);
    bench_close(&b);
    return status;
}
