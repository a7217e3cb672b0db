/* count.c: `cohort bench count`: k-mers of a file of reads counted by `cohort count` and, where they are
 * installed, by jellyfish and kmc: canonical k-mers (kmc knows no others by default), the same threads, every
 * count written as text.
 *
 * Each is a program of its own that reads the file from its beginning; its time is from start to end, and its
 * memory the greatest that was resident. The reads are made up unless --reads names a file that is there. Our
 * first runs find out how many distinct k-mers there are; the later ones, and jellyfish, are told. */
#define _XOPEN_SOURCE 700

#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "beside.h"
#include "child.h"
#include "reads.h"

typedef struct count_bench {
    bench b;
    bench_options common;
    const char *reads;
    uint64_t bytes, k, seed, depth, threads;
    const char *error_text;
    double error;
    char folder[PATH_MAX / 2], input[PATH_MAX], table[PATH_MAX];
    uint64_t distinct; /* of our own count; 0: not known yet */
} count_bench;

/* One way to count: fills argv of each step, which lies in `text`. */
enum { STEP_ARGS = 24, STEPS = 2 };
typedef struct recipe {
    const char *argv[STEPS][STEP_ARGS];
    char text[12][PATH_MAX + 64];
} recipe;

/* ---- the folder for what is made on the way ------------------------------------------------------------ */

static char folder_made[PATH_MAX / 2]; /* for the signal handler */
enum { SIGNALS = 5 };
static const int signals[SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
static struct sigaction actions_before[SIGNALS];

static void folder_remove(void)
{
    if (!*folder_made)
        return;
    pid_t pid = fork();
    if (!pid) {
        execlp("rm", "rm", "-rf", "--", folder_made, (char *)NULL);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
    *folder_made = 0;
}

static void on_signal(int signal)
{
    folder_remove();
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i] == signal && actions_before[i].sa_handler != SIG_DFL &&
            actions_before[i].sa_handler != SIG_IGN)
            actions_before[i].sa_handler(signal);
    _exit(128 + signal);
}

static int folder_make(count_bench *c, fault *fault)
{
    const char *set = getenv("TMPDIR"), *where = set && *set ? set : "/tmp";
    char base[PATH_MAX];
    snprintf(base, sizeof base, "%s/cohort-bench", where);
    mode_t before = umask(077);
    int fd = beside_open(c->folder, sizeof c->folder, base,
                         BESIDE_FOLDER); /* open, and locked, until the program ends */
    umask(before);
    if (fd < 0)
        return fault_set(fault, CLI_FAILED, "TMPDIR: cannot make a folder in %s: %s", where, strerror(errno));
    strcpy(folder_made, c->folder);
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction action = {.sa_handler = on_signal};
        sigfillset(&action.sa_mask);
        if (!sigaction(signals[i], NULL, &actions_before[i]) && actions_before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    snprintf(c->table, sizeof c->table, "%s/counts.tsv", c->folder);
    return CLI_OK;
}

/* The file of reads: --reads if it is there; else made. */
static int reads_take(count_bench *c, fault *fault)
{
    struct stat about;
    if (c->reads)
        snprintf(c->input, sizeof c->input, "%s", c->reads);
    else
        snprintf(c->input, sizeof c->input, "%s/reads.fq", c->folder);
    int there = !stat(c->input, &about);
    if (!there) {
        reads_plan plan = reads_plan_make(c->bytes, (double)c->depth, c->error, c->seed);
        char letters[TEXT_NUMBER_BYTES], reads[TEXT_NUMBER_BYTES];
        bench_say(&c->b, "reads: %s of %d letters, from a genome of %s letters, error rate %g",
                  text_grouped(reads, plan.reads), READ_LETTERS, text_grouped(letters, plan.genome),
                  plan.error);
        if (reads_write(&plan, c->input, fault))
            return fault->status;
    }
    if (stat(c->input, &about) || !S_ISREG(about.st_mode) || !about.st_size)
        return fault_set(fault, CLI_BAD_INPUT, "--reads %s: is no file, or empty", c->input);
    c->bytes = (uint64_t)about.st_size;
    return CLI_OK;
}

/* ---- recipes ------------------------------------------------------------------------------------------- */

static void arg_add(recipe *r, size_t step, const char *text)
{
    size_t i = 0;
    while (r->argv[step][i])
        i++;
    if (i + 1 < STEP_ARGS)
        r->argv[step][i] = text;
}

static void args_add(recipe *r, size_t step, const char *const *list)
{
    while (*list)
        arg_add(r, step, *list++);
}

static void ours(const count_bench *c, recipe *r)
{
    child_own_folder(r->text[0], PATH_MAX);
    strcat(r->text[0], "/cohort");
    snprintf(r->text[1], 32, "%llu", (unsigned long long)c->k);
    snprintf(r->text[2], 32, "%llu", (unsigned long long)c->threads);
    snprintf(r->text[3], 32, "%llu", (unsigned long long)c->distinct);
    const char *list[] = {r->text[0],  "count",    "--kmer", r->text[1], "--canonical", "--stats",
                          "--threads", r->text[2], "--out",  c->table,   "--device",    c->b.dev.info.backend,
                          NULL};
    const char *hint[] = {"--size-hint", r->text[3], NULL}, *input[] = {"--", c->input, NULL};
    args_add(r, 0, list);
    if (c->distinct)
        args_add(r, 0, hint);
    args_add(r, 0, input);
}

static void jellyfish(const count_bench *c, recipe *r)
{
    snprintf(r->text[0], 32, "%llu", (unsigned long long)c->k);
    snprintf(r->text[1], 32, "%llu", (unsigned long long)(c->distinct + c->distinct / 4));
    snprintf(r->text[2], 32, "%llu", (unsigned long long)c->threads);
    snprintf(r->text[3], PATH_MAX, "%s/jellyfish", c->folder);
    const char *count[] = {"jellyfish", "count",    "-C", "-m",       r->text[0], "-s", r->text[1],
                           "-t",        r->text[2], "-o", r->text[3], c->input,   NULL};
    const char *dump[] = {"jellyfish", "dump", "-c", "-t", "-o", c->table, r->text[3], NULL};
    args_add(r, 0, count);
    args_add(r, 1, dump);
}

static void kmc(const count_bench *c, recipe *r)
{
    snprintf(r->text[0], 32, "-k%llu", (unsigned long long)c->k);
    snprintf(r->text[1], 32, "-t%llu", (unsigned long long)c->threads);
    snprintf(r->text[2], PATH_MAX, "%s/kmc", c->folder);
    const char *count[] = {"kmc", r->text[0], r->text[1], "-ci1",    "-cs4294967295",
                           "-fq", c->input,   r->text[2], c->folder, NULL};
    const char *dump[] = {"kmc_dump", r->text[2], c->table, NULL};
    args_add(r, 0, count);
    args_add(r, 1, dump);
}

/* The number after `word` at the beginning of a line, digit groups taken together; 0 if there is none. */
static uint64_t number_after(const char *text, const char *word)
{
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, word, strlen(word)))
            continue;
        uint64_t value = 0;
        for (line += strlen(word); *line == ' '; line++) {
        }
        for (; (*line >= '0' && *line <= '9') || *line == ','; line++)
            value = *line == ',' ? value : value * 10 + (uint64_t)(*line - '0');
        return value;
    }
    return 0;
}

/* The decimal number after `word` at the beginning of a line; 0 if there is none. */
static double seconds_after(const char *text, const char *word)
{
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, word, strlen(word)))
            return strtod(line + strlen(word), NULL);
    return 0;
}

/* ---- measuring ----------------------------------------------------------------------------------------- */

/* What our count tells of its phases, and what the row calls them. */
static const struct phase {
    const char *line, *extra;
} phases[] = {{"  opening ", "opening_ms"},
              {"  reading, counting ", "counting_ms"},
              {"  taking out ", "taking_ms"},
              {"  sorting ", "sorting_ms"},
              {"  writing ", "writing_ms"}};
enum { PHASES = sizeof phases / sizeof *phases };

typedef struct outcome {
    double seconds[BENCH_RUNS_MOST];
    double least, phases[PHASES]; /* of the fastest run */
    uint64_t peak, slots, distinct;
} outcome;

static uint64_t lines_of(const char *path)
{
    static char part[1 << 16];
    uint64_t lines = 0;
    size_t n;
    FILE *file = fopen(path, "r");
    while (file && (n = fread(part, 1, sizeof part, file)))
        for (const char *c = part; (c = memchr(c, '\n', (size_t)(part + n - c))); c++)
            lines++;
    if (file)
        fclose(file);
    return lines;
}

static int recipe_run(const recipe *r, outcome *o, size_t run, fault *fault)
{
    o->seconds[run] = 0;
    for (size_t step = 0; step < STEPS && r->argv[step][0]; step++) {
        child c;
        int status = child_run(&c, r->argv[step], fault);
        o->seconds[run] += c.seconds;
        o->peak = c.peak_bytes > o->peak ? c.peak_bytes : o->peak;
        if (!status && c.err && !step)
            o->slots = number_after(c.err, "  slots");
        int least = !run || o->seconds[run] < o->least;
        o->least = least ? o->seconds[run] : o->least;
        for (size_t i = 0; i < PHASES && !status && c.err && !step && least; i++)
            o->phases[i] = seconds_after(c.err, phases[i].line);
        child_free(&c);
        if (status)
            return status;
    }
    return CLI_OK;
}

static int measure(count_bench *c, void (*make)(const count_bench *, recipe *), outcome *o, fault *fault)
{
    recipe *r = calloc(1, sizeof *r);
    int status = r ? CLI_OK : fault_set(fault, CLI_FAILED, "bench count: no memory");
    if (r)
        make(c, r);
    for (size_t i = 0; i < c->b.runs && !status; i++)
        status = recipe_run(r, o, i, fault);
    free(r);
    if (!status)
        o->distinct = lines_of(c->table);
    unlink(c->table);
    return status;
}

static bench_row row_make(const count_bench *c, const char *name, const outcome *o)
{
    char keys[40];
    snprintf(keys, sizeof keys, "%llu-mers", (unsigned long long)c->k);
    bench_row row = bench_row_make(&c->b, "count", name, NULL, keys);
    row.n = c->bytes;
    row.threads = c->threads;
    row.scale = 1e-9;
    snprintf(row.unit, sizeof row.unit, "GB/s");
    bench_extra_set(&row, "ms", 0);
    bench_extra_set(&row, "peak_MB", (double)o->peak * 1e-6);
    bench_extra_set(&row, "distinct", (double)o->distinct);
    if (o->slots)
        bench_extra_set(&row, "table_bytes_a_kmer", (double)o->slots * 16 / (double)o->distinct);
    for (size_t i = 0; i < PHASES && o->slots; i++)
        bench_extra_set(&row, phases[i].extra, 1e3 * o->phases[i]);
    bench_extra_set(&row, "peak_bytes_a_kmer", (double)o->peak / (double)(o->distinct ? o->distinct : 1));
    return row;
}

static int ours_add(count_bench *c, const char *name, outcome *o, fault *fault)
{
    bench_row row = row_make(c, name, o);
    if (!c->b.dev.cpu)
        row.threads = 0;
    return bench_add_times(&c->b, &row, (double)c->bytes, o->seconds, c->b.runs, fault);
}

/* What a program calls itself: the words after `before` in what it prints when it is called with `option`. */
static void version_of(char to[48], const char *program, const char *option, const char *before)
{
    fault ignored;
    child c;
    const char *argv[] = {program, option, NULL};
    child_run(&c, argv, &ignored);
    const char *found = c.out ? strstr(c.out, before) : NULL;
    if (!found && c.err)
        found = strstr(c.err, before);
    found = found ? found + strlen(before) : "";
    snprintf(to, 48, "%.*s", (int)strcspn(found, " \n"), found);
    child_free(&c);
}

static const struct rival {
    const char *name, *needs, *option, *before;
    void (*make)(const count_bench *, recipe *);
} rivals[] = {{"jellyfish", "jellyfish", "--version", "jellyfish ", jellyfish},
              {"kmc", "kmc_dump", NULL, "ver. ", kmc}};

/* Beside both rows of ours; a rival that fails is told of, and does not end the bench. */
static int rival_measure(count_bench *c, const struct rival *rival, fault *fault)
{
    char path[PATH_MAX];
    outcome o = {.peak = 0};
    if (!child_find(path, sizeof path, rival->name) || !child_find(path, sizeof path, rival->needs)) {
        bench_say(&c->b, "%s is not installed", rival->name);
        return CLI_OK;
    }
    if (measure(c, rival->make, &o, fault)) {
        bench_say(&c->b, "%s left out: %s", rival->name, fault->text);
        return fault->status = CLI_OK;
    }
    bench_row row = row_make(c, "count", &o);
    snprintf(row.peer, sizeof row.peer, "%s", rival->name);
    version_of(row.version, rival->name, rival->option, rival->before);
    snprintf(row.date, sizeof row.date, "%s", c->b.date);
    snprintf(row.machine, sizeof row.machine, "%s",
             c->b.dev.cpu ? c->b.dev.info.device : "the same machine's CPU");
    if (o.distinct != c->distinct)
        bench_say(&c->b, "%s counts %llu distinct k-mers, cohort %llu", rival->name,
                  (unsigned long long)o.distinct, (unsigned long long)c->distinct);
    if (bench_add_times(&c->b, &row, (double)c->bytes, o.seconds, c->b.runs, fault))
        return fault->status;
    row = c->b.peers.row[c->b.peers.count - 1];
    snprintf(row.name, sizeof row.name, "count with size hint");
    return bench_rows_add(&c->b.peers, &row, fault);
}

static int run(count_bench *c, fault *fault)
{
    outcome first = {.peak = 0}, told = {.peak = 0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    c->threads = c->common.threads ? c->common.threads
                 : c->b.dev.cpu    ? c->b.dev.info.threads
                                   : (uint64_t)(cores > 1 ? cores : 1);
    c->b.runs = c->common.runs ? c->common.runs : c->common.quick ? 1 : 3;
    int status = folder_make(c, fault);
    if (!status)
        status = reads_take(c, fault);
    if (!status)
        status = measure(c, ours, &first, fault);
    c->distinct = first.distinct;
    for (size_t i = 0; i < sizeof rivals / sizeof *rivals && !status; i++)
        status = rival_measure(c, &rivals[i], fault);
    if (!status)
        status = ours_add(c, "count", &first, fault);
    if (!status)
        status = measure(c, ours, &told, fault);
    return status ? status : ours_add(c, "count with size hint", &told, fault);
}

int bench_count_main(int argc, char **argv, fault *fault)
{
    static count_bench c;
    size_t rest;
    arg args[] = {BENCH_ARGS(c.common),
                  {"--reads", ARG_TEXT, &c.reads, 0, 0, 0},
                  {"--bytes", ARG_SIZE, &c.bytes, READ_BYTES, UINT64_C(300000000000), 0},
                  {"--kmer", ARG_NUMBER, &c.k, 1, 32, 0},
                  {"--depth", ARG_NUMBER, &c.depth, 1, 10000, 0},
                  {"--error", ARG_TEXT, &c.error_text, 0, 0, 0},
                  {"--seed", ARG_NUMBER, &c.seed, 0, UINT64_MAX, 0}};
    char *end;
    c.k = 21;
    c.depth = 30;
    c.seed = 1;
    c.error = 0.01;
    bench_command_set(&c.b, "count", argc, argv);
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench count takes no files (--reads FILE)", argv[0]);
    if (c.error_text)
        c.error = strtod(c.error_text, &end);
    if (c.error_text && (*end || end == c.error_text || !(c.error >= 0 && c.error <= 1)))
        return fault_set(fault, CLI_BAD_INPUT, "--error %s: must be a number from 0 to 1", c.error_text);
    c.bytes = c.bytes ? c.bytes : c.common.quick ? 30000000 : 1000000000;
    status = bench_begin(&c.b, &c.common, 0, fault);
    if (!status)
        status = run(&c, fault);
    folder_remove();
    if (!status)
        status = bench_end(&c.b, fault);
    bench_close(&c.b);
    return status;
}
