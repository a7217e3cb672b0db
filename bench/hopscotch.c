/* hopscotch.c: `cohort bench hopscotch`: maps of LINES beside pages and beside concurrent maps of others,
 * in which experiments, at which sizes, loads and numbers of threads. */
#include "hopscotch.h"

#include <string.h>

typedef int (*hop_experiment)(const hop_plan *plan, fault *fault);

/* ---- the experiments ----------------------------------------------------------------------------------- */

/* 100,000 operations on few keys and on many, by 30 runs. */
static int ranges(const hop_plan *plan, fault *fault)
{
    static const uint64_t range[] = {100, 1000, 10000, 100000};
    const uint64_t runs = plan->b->runs;
    int status = CLI_OK;
    if (!plan->runs_given && !plan->quick)
        plan->b->runs = 30;
    for (size_t i = 0; i < sizeof range / sizeof *range && !status; i++) {
        hop_setting s = {"ranges", "key range", (double)range[i], 100000, range[i], BENCH_NO_LOAD, 0, 0, 1};
        status = hop_measure(plan, &s, fault);
    }
    plan->b->runs = runs;
    return status;
}

/* As many operations as keys in the range. */
static int sizes(const hop_plan *plan, fault *fault)
{
    static const uint64_t usual[] = {20, 22, 24, 26};
    int status = CLI_OK;
    for (size_t i = 0; i < (plan->n_count ? plan->n_count : 4) && !status; i++) {
        const uint64_t n = plan->n_count ? plan->n[i] : plan->quick ? 1000u << i : UINT64_C(1) << usual[i];
        hop_setting s = {"sizes", "", 0, n, 2 * ((n + 1) / 2), BENCH_NO_LOAD, 0, 0, 1};
        status = hop_measure(plan, &s, fault);
    }
    return status;
}

/* n pairs, of the other experiments. */
static uint64_t pairs_of(const hop_plan *plan)
{
    return plan->n_count ? plan->n[0] : plan->quick ? 10000 : 1u << 22;
}

static int loads(const hop_plan *plan, fault *fault)
{
    static const double usual[] = {0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95};
    const uint64_t n = pairs_of(plan);
    int status = CLI_OK;
    for (size_t i = 0; i < (plan->load_count ? plan->load_count : 7) && !status; i++) {
        hop_setting s = {"loads", "", 0, n, 2 * n, plan->load_count ? plan->load[i] : usual[i], 0, 1, 1};
        status = hop_measure(plan, &s, fault);
    }
    return status;
}

static double load_of(const hop_plan *plan)
{
    return plan->load_count ? plan->load[0] : 0.8;
}

static int zipf(const hop_plan *plan, fault *fault)
{
    static const double usual[] = {0, 0.4, 0.8, 0.99, 1.2};
    const uint64_t n = pairs_of(plan);
    int status = CLI_OK;
    for (size_t i = 0; i < (plan->exponent_count ? plan->exponent_count : 5) && !status; i++) {
        const double exponent = plan->exponent_count ? plan->exponent[i] : usual[i];
        hop_setting s = {"zipf", "exponent", exponent, n, 2 * n, load_of(plan), exponent, 1, 1};
        status = hop_measure(plan, &s, fault);
    }
    return status;
}

static int threads_measure(const hop_plan *plan, uint64_t threads, fault *fault)
{
    bench *b = plan->b;
    const bench_device all = b->dev;
    const uint64_t n = pairs_of(plan);
    int status = bench_device_open(&b->dev, "cpu", threads, 1, all.limits.table_bytes, fault);
    hop_setting s = {"threads", "", 0, n, 2 * n, load_of(plan), 0, 1, 1};
    if (!status)
        status = hop_measure(plan, &s, fault);
    bench_device_close(&b->dev);
    b->dev = all;
    return status;
}

/* Each number of threads beside limits of as many. */
static int threads(const hop_plan *plan, fault *fault)
{
    const uint64_t most = plan->b->dev.info.threads;
    int status = CLI_OK;
    if (!plan->b->dev.cpu)
        bench_say(plan->b, "threads: this experiment is the CPU's (--device cpu)");
    for (uint64_t t = 1; plan->b->dev.cpu && t <= most && !status;
         t = t < most && 2 * t > most ? most : 2 * t)
        status = threads_measure(plan, t, fault);
    return status;
}

/* Few keys change in many rounds, and many in fewer. */
static int ageing(const hop_plan *plan, fault *fault)
{
    const uint64_t n = plan->n_count ? plan->n[0] : plan->quick ? 10000 : 1u << 20;
    if (!plan->b->dev.cpu) {
        bench_say(plan->b, "ageing: this experiment is the CPU's (--device cpu)");
        return CLI_OK;
    }
    int status =
        hop_age(plan, n, plan->load_count ? plan->load[0] : 0.85, 0.01, plan->quick ? 100 : 1000, fault);
    return status
               ? status
               : hop_age(plan, n, plan->load_count ? plan->load[0] : 0.8, 0.1, plan->quick ? 40 : 400, fault);
}

static const hop_experiment experiments[] = {hop_static, ranges, sizes, loads, zipf, threads, ageing};
static const char *const names[] = {"static", "ranges", "sizes", "loads", "zipf", "threads", "ageing", "all"};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments, USUAL = 2 };

/* ---- the command --------------------------------------------------------------------------------------- */

typedef struct hop_options {
    bench_options common;
    const char *n, *load, *exponent, *width, *experiment, *peers, *layout;
    uint64_t row_seconds;
} hop_options;

static const width_name widths[] = {{"64/64", COHORT_WIDTH_64_64, 8, 8, 16}, /* the usual one */
                                    {"32/32", COHORT_WIDTH_32_32, 4, 4, 8},
                                    {"128/64", COHORT_WIDTH_128_64, 16, 8, 24}};
enum { WIDTHS_KNOWN = sizeof widths / sizeof *widths };

static int width_take(hop_plan *plan, const char *name, fault *fault)
{
    plan->width = name ? NULL : &widths[0];
    for (size_t i = 0; i < WIDTHS_KNOWN && name; i++)
        if (!strcmp(name, widths[i].name))
            plan->width = &widths[i];
    return plan->width ? CLI_OK
                       : fault_set(fault, CLI_BAD_INPUT, "--width %s: must be 32/32, 64/64 or 128/64", name);
}

/* What cannot be of a width: maps of pages, and tables whose pairs are one word. What was asked for by name
 * is refused, else left out; `static` is of 32/32 where no width is given. */
static int width_fit(hop_plan *plan, const hop_options *o, fault *fault)
{
    const char *name = plan->width->name;
    plan->statics = !o->width || plan->width->value == 4;
    if (!plan->statics && o->experiment && bench_listed(o->experiment, "static"))
        return fault_set(fault, CLI_BAD_INPUT,
                         "--width %s: the tables of static hold a pair in one word: 32/32 alone", name);
    if (plan->width->key < 16)
        return CLI_OK;
    if (!plan->lines)
        return fault_set(fault, CLI_BAD_INPUT,
                         "--width %s: maps of pages have no keys of 16 bytes (--layout lines)", name);
    plan->pages = 0;
    return CLI_OK;
}

static int options_take(hop_plan *plan, const hop_options *o, fault *fault)
{
    unsigned chosen[EXPERIMENTS + 1];
    size_t count;
    if (o->layout && strcmp(o->layout, "lines") && strcmp(o->layout, "pages"))
        return fault_set(fault, CLI_BAD_INPUT, "--layout %s: must be lines or pages", o->layout);
    plan->lines = !o->layout || !strcmp(o->layout, "lines");
    plan->pages = !o->layout || !strcmp(o->layout, "pages");
    plan->quick = o->common.quick;
    plan->runs_given = o->common.runs != 0;
    plan->row_seconds = o->row_seconds ? o->row_seconds : 10;
    if (o->experiment &&
        bench_names_take("--experiment", o->experiment, names, EXPERIMENTS + 1, chosen, &count, fault))
        return fault->status;
    if (bench_wholes_take("--n", o->n ? o->n : "", 1, 1u << 30, plan->n, HOP_SIZES, &plan->n_count, fault) ||
        bench_numbers_take("--load", o->load ? o->load : "", 0.01, 1, plan->load, HOP_LOADS,
                           &plan->load_count, fault) ||
        bench_numbers_take("--exponent", o->exponent ? o->exponent : "", 0, 4, plan->exponent, HOP_EXPONENTS,
                           &plan->exponent_count, fault))
        return fault->status;
    return width_take(plan, o->width, fault) ? fault->status : width_fit(plan, o, fault);
}

static int experiments_run(hop_plan *plan, const hop_options *o, fault *fault)
{
    char folder[BENCH_PATH];
    int status = bench_peers_find(plan->b, o->peers, 1, folder, &plan->peers, fault);
    for (int i = 0; i < EXPERIMENTS && !status; i++)
        if (o->experiment ? bench_listed(o->experiment, names[i]) || bench_listed(o->experiment, "all")
                          : i < USUAL)
            status = experiments[i](plan, fault);
    return status;
}

int bench_hopscotch_main(int argc, char **argv, fault *fault)
{
    hop_options o = {0};
    bench b = {0};
    hop_plan plan = {.b = &b};
    arg args[] = {BENCH_ARGS(o.common),
                  {"--n", ARG_TEXT, &o.n, 0, 0, 0},
                  {"--load", ARG_TEXT, &o.load, 0, 0, 0},
                  {"--exponent", ARG_TEXT, &o.exponent, 0, 0, 0},
                  {"--width", ARG_TEXT, &o.width, 0, 0, 0},
                  {"--layout", ARG_TEXT, &o.layout, 0, 0, 0},
                  {"--experiment", ARG_TEXT, &o.experiment, 0, 0, 0},
                  {"--peers", ARG_TEXT, &o.peers, 0, 0, 0},
                  {"--row-seconds", ARG_NUMBER, &o.row_seconds, 1, 86400, 0}};
    size_t rest;
    bench_command_set(&b, "hopscotch", argc, argv);
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench hopscotch takes no files", argv[0]);
    status = options_take(&plan, &o, fault);
    if (!status)
        status = bench_begin(&b, &o.common, 1, fault);
    if (!status)
        status = experiments_run(&plan, &o, fault);
    if (!status)
        status = bench_end(&b, fault);
    bench_close(&b);
    return status;
}
