/* multisplit.c: `cohort bench multisplit`: an experiment is a choice of methods, inputs, sizes and numbers of
 * buckets, and measures all of their combinations.
 *
 * methods    every way to do it against the number of buckets, beside the paper's rivals and the peers
 * inputs     the library's choice on keys that are not spread evenly
 * sizes      the same against n
 * functions  the same with each kind of bucket function
 *
 * What binds is the memory: keys are read twice and written once, payloads read once and written once, 3 K +
 * 2 V bytes an entry; B / (3 K + 2 V) stands beside every row. */
#include "split.h"

#include <string.h>

/* ---- ways to do it ------------------------------------------------------------------------------------- */

static const struct method {
    const char *name;
    cohort_split_method method;
    uint32_t unordered;
} methods[] = {{"auto", COHORT_SPLIT_AUTO, 0},         {"unordered", COHORT_SPLIT_AUTO, 1},
               {"direct", COHORT_SPLIT_DIRECT, 0},     {"warp", COHORT_SPLIT_WARP, 0},
               {"block", COHORT_SPLIT_BLOCK, 0},       {"look-back", COHORT_SPLIT_LOOK_BACK, 0},
               {"reserved", COHORT_SPLIT_RESERVED, 1}, {"digits", COHORT_SPLIT_DIGITS, 0}};
enum { METHODS = sizeof methods / sizeof *methods };
static const char *const method_names[METHODS] = {"auto",  "unordered", "direct",   "warp",
                                                  "block", "look-back", "reserved", "digits"};

static cohort_multisplit_desc desc_of(const split_data *s, const struct method *method)
{
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    d.n = s->n;
    d.type = s->width->key == 8 ? COHORT_U64 : COHORT_U32;
    d.buckets = (uint32_t)s->input.buckets;
    d.fn = &s->fn;
    d.keys = s->keys;
    d.keys_out = s->keys_out;
    d.payloads = s->width->columns;
    d.payload = s->width->columns ? s->column : NULL;
    d.method = method->method;
    d.unordered = method->unordered;
    d.offsets = s->offsets;
    return d;
}

/* ---- one row ------------------------------------------------------------------------------------------- */

typedef struct split_work {
    cohort_context *context;
    cohort_multisplit_desc desc;
} split_work;

static cohort_status work_split(void *arg)
{
    split_work *w = arg;
    return cohort_multisplit(w->context, &w->desc);
}

static double split_bytes(const split_width *w)
{
    return 3.0 * w->key + 2.0 * w->columns * w->column;
}

static bench_row method_row(const split_data *s, const char *experiment, const char *name,
                            const char *variant)
{
    bench_row row = split_row(s, experiment, name, split_bytes(s->width));
    snprintf(row.variant, sizeof row.variant, "%s", variant);
    snprintf(row.at_name, sizeof row.at_name, "buckets");
    row.at = (double)s->input.buckets;
    return row;
}

/* The first call tells whether the method does this at all, and its result is checked. */
static int measure(split_data *s, const bench_row *row, split_work *work,
                   uint32_t (*part)(const void *, uint64_t), const void *arg, fault *fault)
{
    char text[256];
    cohort_status status = work_split(work);
    bench_job job = {NULL, work_split, work, (double)s->n, split_repeat(s->b, s->n), 0};
    split_claim claim = {s->n, s->counted, s->input.buckets, part, arg, 0, !work->desc.unordered, 1};
    if (status == COHORT_UNSUPPORTED) {
        if (work->desc.method == COHORT_SPLIT_AUTO)
            bench_say(s->b, "left out: %s", cohort_message(s->b->dev.context));
        return CLI_OK;
    }
    if (!status)
        status = cohort_wait(s->b->dev.context);
    if (status)
        return bench_fault(s->b, status, bench_row_text(text, row), fault);
    if (split_check_offsets(s, s->offsets, s->counted, s->input.buckets + 1, row, fault) ||
        split_check(s, &claim, row, fault))
        return fault->status;
    return bench_measure(s->b, row, &job, fault);
}

static int measure_method(split_data *s, const char *experiment, const struct method *method, fault *fault)
{
    bench_row row = method_row(s, experiment, "multisplit", method->name);
    split_work work = {s->b->dev.context, desc_of(s, method)};
    return measure(s, &row, &work, split_range, s, fault);
}

/* ---- functions ----------------------------------------------------------------------------------------- */

COHORT_DEFINE_FN(bench_user_32, uint32_t, { return (key >> 16) * *(const uint32_t *)state >> 16; })
COHORT_DEFINE_FN(bench_user_64, uint64_t, { return (uint32_t)(key >> 48) * *(const uint32_t *)state >> 16; })

typedef struct functions {
    split_data *s;
    cohort_fn fn[8];
    const char *name[8];
    size_t count;
    uint32_t m;
    void *splitters, *ids;
} functions;

static void function_add(functions *f, const char *name, cohort_fn fn)
{
    f->name[f->count] = name;
    f->fn[f->count++] = fn;
}

static uint64_t entry_splitter(const void *data, uint64_t i)
{
    const split_data *s = data;
    uint64_t upper = (i + 1) * bench_range(s->input.buckets);
    return s->width->key == 8 ? upper << 32 : upper;
}

static uint64_t entry_id(const void *data, uint64_t i)
{
    const split_data *s = data;
    return split_range(s, bench_input_key(&s->input, i));
}

/* All of these put keys where the ranges do, where m is a power of two up to 65,536; what they cost
 * differs. */
static cohort_status functions_make(functions *f, split_data *s)
{
    uint64_t m = s->input.buckets, range = bench_range(m),
             most = s->width->key == 8 ? UINT64_MAX : UINT32_MAX;
    cohort_status status = column_make(&s->b->dev, &f->splitters, m - 1, s->width->key, entry_splitter, s);
    if (!status)
        status = column_make(&s->b->dev, &f->ids, s->n, 4, entry_id, s);
    f->m = (uint32_t)m;
    function_add(f, "bits", s->fn);
    function_add(f, "ranges", cohort_fn_ranges(0, most));
    function_add(f, "delta", cohort_fn_delta(0, s->width->key == 8 ? range << 32 : range));
    function_add(f, "splitters", cohort_fn_splitters(f->splitters, m - 1));
    function_add(f, "ids", cohort_fn_ids32(f->ids));
    function_add(f, "user's own",
                 s->width->key == 8 ? COHORT_FN(bench_user_64, &f->m, sizeof f->m)
                                    : COHORT_FN(bench_user_32, &f->m, sizeof f->m));
    return status;
}

static int measure_functions(split_data *s, fault *fault)
{
    functions f = {.s = s};
    uint64_t m = s->input.buckets;
    int status = CLI_OK;
    if (m < 2 || (m & (m - 1)))
        return CLI_OK;
    cohort_status made = functions_make(&f, s);
    if (made)
        status = bench_fault(s->b, made, "bench multisplit: functions", fault);
    for (size_t i = 0; i < f.count && !status; i++) {
        bench_row row = method_row(s, "functions", "multisplit by", f.name[i]);
        split_work work = {s->b->dev.context, desc_of(s, &methods[0])};
        work.desc.fn = &f.fn[i];
        status = measure(s, &row, &work, split_range, s, fault);
    }
    cohort_free(s->b->dev.context, f.splitters);
    cohort_free(s->b->dev.context, f.ids);
    return status;
}

/* ---- experiments --------------------------------------------------------------------------------------- */

static const struct experiment {
    const char *name, *n, *cpu_n, *buckets, *width, *input, *method;
    int usual, rivals;
} experiments[] = {
    {"methods", "268435456", "16777216", "2,3,4,8,16,32,64,256,1000,2048,65536", "32/0,32/32,64/64,32/96",
     "uniform", "auto,unordered,direct,warp,block,look-back,reserved,digits", 1, 1},
    {"inputs", "268435456", "16777216", "2,3,4,8,16,32,64,256,1000,2048,65536", "32/0,32/32,64/64,32/96",
     "uniform,skewed,binomial,equal,sorted", "auto", 1, 0},
    {"sizes", "1048576,2097152,4194304,8388608,16777216,33554432,67108864,134217728,268435456,536870912",
     "65536,1048576,16777216", "2,32,256,2048,65536", "32/0,32/32", "uniform", "auto", 1, 0},
    {"patterns", "268435456", "16777216", "2,8,32,256,1000,2048,65536", "32/0,32/32",
     "uniform," BENCH_PATTERNS, "auto", 0, 0},
    {"functions", "268435456", "16777216", "32,256", "32/0,64/0", "uniform", "auto", 0, 0}};
enum { EXPERIMENTS = sizeof experiments / sizeof *experiments };
static const char *const experiment_names[EXPERIMENTS + 1] = {"methods",  "inputs",    "sizes",
                                                              "patterns", "functions", "all"};

typedef struct split_options {
    bench_options common;
    const char *experiment, *n, *buckets, *width, *input, *method, *peers;
} split_options;

static int plan_take(split_plan *p, const split_options *o, const struct experiment *e, int cpu, fault *fault)
{
    const char *n = o->n ? o->n : o->common.quick ? cpu ? "262144" : "16777216" : cpu ? e->cpu_n : e->n;
    const char *buckets = o->buckets ? o->buckets : o->common.quick ? "2,32,256,2048" : e->buckets;
    const char *width = o->width ? o->width : o->common.quick ? "32/0,32/32" : e->width;
    p->experiment = e->name;
    p->rivals = e->rivals && !(o->peers && !strcmp(o->peers, "none"));
    return bench_wholes_take("--n", n, 1, 1e12, p->n, SPLIT_SIZES, &p->n_count, fault) ||
                   bench_wholes_take("--buckets", buckets, 1, COHORT_BUCKETS_MOST, p->buckets, SPLIT_BUCKETS,
                                     &p->bucket_count, fault) ||
                   bench_names_take("--width", width, split_width_names, SPLIT_WIDTHS, p->width,
                                    &p->width_count, fault) ||
                   bench_names_take("--input", o->input ? o->input : e->input, bench_input_names, INPUTS,
                                    p->input, &p->input_count, fault) ||
                   bench_names_take("--method", o->method ? o->method : e->method, method_names, METHODS,
                                    p->method, &p->method_count, fault)
               ? fault->status
               : CLI_OK;
}

static int sizes_check(const split_plan *p, fault *fault)
{
    for (size_t i = 0; i < p->n_count; i++)
        for (size_t w = 0; w < p->width_count; w++)
            if (split_sizes_check(&split_widths[p->width[w]], p->n[i], fault))
                return fault->status;
    return CLI_OK;
}

static int measure_input(const split_plan *p, split_data *s, bench_input input, fault *fault)
{
    int status = CLI_OK;
    for (size_t m = 0; m < p->bucket_count && !status; m++) {
        status = split_fill(s, input, p->buckets[m], fault);
        if (!status && p->rivals)
            status = split_rivals(s, p->experiment, fault);
        if (!status && !strcmp(p->experiment, "functions") && bench_is_pattern(input))
            status = fault_set(fault, CLI_BAD_INPUT, "--input %s: functions takes no patterns",
                               bench_input_names[input]);
        else if (!status && !strcmp(p->experiment, "functions")) {
            status = measure_functions(s, fault);
            continue;
        }
        for (size_t k = 0; k < p->method_count && !status; k++)
            status = measure_method(s, p->experiment, &methods[p->method[k]], fault);
    }
    return status;
}

static int measure_size(const split_plan *p, const split_width *w, uint64_t n, fault *fault)
{
    split_data s;
    int status = CLI_OK;
    if (p->peers)
        status = split_peers(p->b, p->peers, "multisplit", w, n, p->input, p->input_count, p->buckets,
                             p->bucket_count, fault);
    if (status)
        return status;
    status = split_open(&s, p->b, w, n, fault);
    for (size_t i = 0; i < p->input_count && !status; i++)
        status = measure_input(p, &s, (bench_input)p->input[i], fault);
    split_close(&s);
    return status;
}

static int measure_experiment(bench *b, const split_options *o, const struct experiment *e, const char *peers,
                              fault *fault)
{
    split_plan p = {.b = b, .peers = peers};
    int status = plan_take(&p, o, e, b->dev.cpu, fault);
    for (size_t w = 0; w < p.width_count && !status; w++)
        for (size_t i = 0; i < p.n_count && !status; i++)
            status = measure_size(&p, &split_widths[p.width[w]], p.n[i], fault);
    return status;
}

/* Everything is read once before anything is measured, so that a wrong word is told at once. */
static int options_check(const split_options *o, fault *fault)
{
    unsigned chosen[EXPERIMENTS + 1];
    size_t count;
    split_plan p = {0};
    int status = o->experiment ? bench_names_take("--experiment", o->experiment, experiment_names,
                                                  EXPERIMENTS + 1, chosen, &count, fault)
                               : CLI_OK;
    if (!status)
        status = plan_take(&p, o, &experiments[0], 0, fault);
    return status ? status : sizes_check(&p, fault);
}

static int measure_all(bench *b, const split_options *o, fault *fault)
{
    char folder[BENCH_PATH];
    const char *peers;
    int status = bench_peers_find(b, o->peers, 1, folder, &peers, fault);
    for (size_t i = 0; i < EXPERIMENTS && !status; i++) {
        const struct experiment *e = &experiments[i];
        if (o->experiment ? bench_listed(o->experiment, e->name) || bench_listed(o->experiment, "all")
                          : e->usual)
            status = measure_experiment(b, o, e, peers, fault);
    }
    return status;
}

int bench_multisplit_main(int argc, char **argv, fault *fault)
{
    split_options o = {0};
    bench b = {0};
    arg args[] = {BENCH_ARGS(o.common),
                  {"--n", ARG_TEXT, &o.n, 0, 0, 0},
                  {"--buckets", ARG_TEXT, &o.buckets, 0, 0, 0},
                  {"--width", ARG_TEXT, &o.width, 0, 0, 0},
                  {"--input", ARG_TEXT, &o.input, 0, 0, 0},
                  {"--method", ARG_TEXT, &o.method, 0, 0, 0},
                  {"--experiment", ARG_TEXT, &o.experiment, 0, 0, 0},
                  {"--peers", ARG_TEXT, &o.peers, 0, 0, 0}};
    size_t rest;
    bench_command_set(&b, "multisplit", argc, argv);
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench multisplit takes no files", argv[0]);
    status = options_check(&o, fault);
    if (!status)
        status = bench_begin(&b, &o.common, 1, fault);
    if (!status)
        status = measure_all(&b, &o, fault);
    if (!status)
        status = bench_end(&b, fault);
    bench_close(&b);
    return status;
}
