/* map.c: `cohort bench map`: which experiments, at which sizes, loads and widths. */
#define _XOPEN_SOURCE 700

#include "child.h"
#include "map.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct experiment {
    const char *name;
    map_experiment measure;
    int usual; /* measured when none is named */
} experiments[] = {
    {"operations", map_operations, 1}, {"threads", map_threads, 1},   {"headline", map_headline, 1},
    {"duplicates", map_duplicates, 1}, {"multimap", map_multimap, 1}, {"groups", map_groups, 0},
    {"sweep", map_sweep, 0},           {"deletes", map_deletes, 0},   {"host", map_host, 0}};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };

/* ---- lists: words with commas between --------------------------------------------------------------------------------- */

/* The next word: 0 at the end. */
static int list_next(const char **list, char word[32])
{
    size_t n = strcspn(*list, ",");
    if (!**list)
        return 0;
    snprintf(word, 32, "%.*s", (int)(n < 31 ? n : 31), *list);
    *list += n + ((*list)[n] == ',');
    return 1;
}

static int number_take(const char *option, const char *word, double least, double most, double *out,
                       fault *fault)
{
    char *end;
    *out = strtod(word, &end);
    if (end == word || *end || !(*out >= least && *out <= most))
        return fault_set(fault, CLI_BAD_INPUT, "%s %s: must be a number from %.12g to %.12g", option, word,
                         least, most);
    return CLI_OK;
}

static int numbers_take(const char *option, const char *list, double least, double most, double *out,
                        size_t room, size_t *count, fault *fault)
{
    char word[32];
    for (*count = 0; list_next(&list, word); (*count)++) {
        if (*count == room)
            return fault_set(fault, CLI_BAD_INPUT, "%s %s: more than %zu numbers", option, word, room);
        if (number_take(option, word, least, most, &out[*count], fault))
            return fault->status;
    }
    return CLI_OK;
}

static int widths_take(map_plan *plan, const char *list, fault *fault)
{
    char word[32];
    while (list_next(&list, word)) {
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
    while (list && list_next(&list, word)) {
        size_t i = 0;
        while (i < EXPERIMENTS && strcmp(word, experiments[i].name))
            i++;
        if (i == EXPERIMENTS && strcmp(word, "all"))
            return fault_set(fault, CLI_BAD_INPUT,
                             "--experiment %s: must be operations, threads, headline, duplicates, multimap, "
                             "groups, sweep, "
                             "deletes, host or all",
                             word);
    }
    return CLI_OK;
}

static int asked_for(const struct experiment *e, const char *list)
{
    char word[32];
    if (!list)
        return e->usual;
    while (list_next(&list, word))
        if (!strcmp(word, e->name) || !strcmp(word, "all"))
            return 1;
    return 0;
}

/* ---- the command -------------------------------------------------------------------------------------------------------- */

typedef struct map_options {
    bench_options common;
    const char *n, *load, *width, *only, *experiment, *peers;
} map_options;

static int sizes_take(map_plan *plan, const char *list, fault *fault)
{
    double n[MAP_SIZES];
    if (numbers_take("--n", list, 1, 1e12, n, MAP_SIZES, &plan->n_count, fault))
        return fault->status;
    for (size_t i = 0; i < plan->n_count; i++)
        plan->n[i] = (uint64_t)n[i];
    return CLI_OK;
}

static int loads_take(map_plan *plan, const char *list, fault *fault)
{
    return numbers_take("--load", list, 0.01, 1, plan->load, MAP_LOADS, &plan->load_count, fault);
}

static int lists_take(map_plan *plan, const map_options *o, fault *fault)
{
    plan->n_given = o->n != NULL;
    plan->load_given = o->load != NULL;
    plan->width_given = o->width != NULL;
    if (experiment_check(o->experiment, fault) || sizes_take(plan, o->n ? o->n : "", fault) ||
        loads_take(plan, o->load ? o->load : "", fault))
        return fault->status;
    return widths_take(plan, o->width ? o->width : "", fault);
}

/* What is measured without asking: sizes within the last cache and far beyond it, and fewer of everything on a CPU, which is
 * a hundred times slower. Called once the device is known. */
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

/* Where the peers' programs are: --peers DIR, or beside this program if it measures the CPU. */
static int peers_find(map_plan *plan, const map_options *o, char folder[PATH_MAX], fault *fault)
{
    char own[PATH_MAX - 8];
    plan->peers = o->peers;
    if (o->peers && !strcmp(o->peers, "none"))
        plan->peers = NULL;
    else if (o->peers && access(o->peers, R_OK | X_OK))
        return fault_set(fault, CLI_BAD_INPUT, "--peers %s: no such folder", o->peers);
    else if (!o->peers && plan->b->dev.cpu && child_own_folder(own, sizeof own)) {
        snprintf(folder, PATH_MAX, "%s/peers", own);
        plan->peers = access(folder, R_OK | X_OK) ? NULL : folder;
        if (!plan->peers)
            bench_say(plan->b, "peers: none beside this program (--peers DIR says where they are)");
    }
    if (plan->peers && !bench_results_possible()) {
        bench_say(plan->b, "peers: this build reads no JSON: libjansson was not there");
        plan->peers = NULL;
    }
    return CLI_OK;
}

static int measure(map_plan *plan, const map_options *o, fault *fault)
{
    char folder[PATH_MAX];
    int status = defaults_take(plan, fault) || sizes_check(plan, fault) ? fault->status
                                                                        : peers_find(plan, o, folder, fault);
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
                  {"--experiment", ARG_TEXT, &o.experiment, 0, 0, 0},
                  {"--peers", ARG_TEXT, &o.peers, 0, 0, 0}};
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
    if (!status)
        status = bench_end(&b, fault);
    bench_close(&b);
    return status;
}
