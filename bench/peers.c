/* peers.c: the programs of bench/peers, run beside ours on the same keys: those found in a folder whose name
 * begins with peer_. Each prints rows in our JSON. They run before our own rows, which are then printed with
 * the ratio to them. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "child.h"
#include "map.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_peer(const struct dirent *entry)
{
    return !strncmp(entry->d_name, "peer_", 5) && !strchr(entry->d_name, '.');
}

static int rows_take(bench *b, const child *c, const char *path, const char *experiment, fault *fault)
{
    bench_results results = {0};
    int status = bench_results_parse(&results, c->out, c->out_bytes, path, fault);
    for (size_t i = 0; i < results.rows.count && !status; i++) {
        bench_row *r = &results.rows.row[i];
        if (!*r->peer)
            continue;
        snprintf(r->experiment, sizeof r->experiment, "%s", experiment);
        snprintf(r->date, sizeof r->date, "%s", b->date);
        snprintf(r->machine, sizeof r->machine, "%.79s",
                 b->dev.cpu || !r->threads ? b->dev.info.device : "the same machine's CPU");
        r->here = 1;
        status = bench_rows_add(&b->peers, r, fault);
    }
    bench_rows_free(&results.rows);
    return status;
}

static int peer_run(bench *b, const char *path, const char *experiment, const char *const *arguments,
                    fault *fault)
{
    const char *argv[32] = {path, "--experiment", experiment};
    size_t n = 3;
    child c;
    while (*arguments && n < 31)
        argv[n++] = *arguments++;
    fault->status = CLI_OK;
    int status = child_run(&c, argv, fault);
    if (!status)
        status = rows_take(b, &c, path, experiment, fault);
    if (status)
        bench_say(b, "peer left out: %s", fault->text);
    child_free(&c);
    return CLI_OK;
}

int bench_peers_run(bench *b, const char *folder, const char *experiment, const char *const *arguments,
                    fault *fault)
{
    struct dirent **names;
    int found = scandir(folder, &names, is_peer, alphasort), status = CLI_OK;
    for (int i = 0; i < found; i++) {
        char path[PATH_MAX];
        int fits = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name) < (int)sizeof path;
        if (fits && !status && !access(path, X_OK))
            status = peer_run(b, path, experiment, arguments, fault);
        free(names[i]);
    }
    if (found >= 0)
        free(names);
    return status;
}

int bench_peer_run(bench *b, const char *folder, const char *name, const char *experiment,
                   const char *const *arguments, fault *fault)
{
    char path[PATH_MAX];
    int fits = snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path;
    return fits && !access(path, X_OK) ? peer_run(b, path, experiment, arguments, fault) : CLI_OK;
}

int bench_peers_find(const bench *b, const char *given, int usual, char folder[BENCH_PATH],
                     const char **found, fault *fault)
{
    char own[BENCH_PATH - 8];
    *found = given;
    if (given && !strcmp(given, "none"))
        *found = NULL;
    else if (given && access(given, R_OK | X_OK))
        return fault_set(fault, CLI_BAD_INPUT, "--peers %s: no such folder", given);
    else if (!given && usual && child_own_folder(own, sizeof own)) {
        snprintf(folder, BENCH_PATH, "%s/peers", own);
        *found = access(folder, R_OK | X_OK) ? NULL : folder;
        if (!*found)
            bench_say(b, "peers: none beside this program (--peers DIR says where they are)");
    }
    if (*found && !bench_results_possible()) {
        bench_say(b, "peers: this build reads no JSON: libjansson was not there");
        *found = NULL;
    }
    return CLI_OK;
}

/* ---- those of `bench map` ------------------------------------------------------------------------------ */

static int been_run(const bench *b, const width_name *width, uint64_t n, const char *experiment)
{
    for (size_t i = 0; i < b->peers.count; i++) {
        const bench_row *r = &b->peers.row[i];
        if (r->here && r->n == n && !strcmp(r->width, width->name) && !strcmp(r->experiment, experiment))
            return 1;
    }
    return 0;
}

/* A table of them: a line for each peer and number of threads. */

static const char *const shown[][2] = {{"map insert", "any wins"},  {"map find", "all there"},
                                       {"map find", "half there"},  {"map find", "none there"},
                                       {"map assign", "all there"}, {"map apply add", "all there"},
                                       {"map erase", "all there"},  {"deletes: end to end", "distinct"}};
enum { COLUMNS = sizeof shown / sizeof *shown };

static const bench_row *cell(const bench *b, const bench_row *like, size_t column)
{
    for (size_t i = 0; i < b->peers.count; i++) {
        const bench_row *r = &b->peers.row[i];
        if (r->here && r->n == like->n && r->threads == like->threads && !strcmp(r->width, like->width) &&
            !strcmp(r->peer, like->peer) && !strcmp(r->name, shown[column][0]) &&
            !strcmp(r->keys, shown[column][1]))
            return r;
    }
    return NULL;
}

static void line_print(const bench *b, const bench_row *like)
{
    char cells[COLUMNS][16];
    for (size_t i = 0; i < COLUMNS; i++) {
        const bench_row *r = cell(b, like, i);
        snprintf(cells[i], sizeof cells[i], "%.4g", r ? r->median * 1e-6 : 0.0);
        if (!r)
            strcpy(cells[i], "-");
    }
    bench_say(b, "  %-30s %3llu %9s %9s %9s %9s %9s %9s %9s %10s", like->peer,
              (unsigned long long)like->threads, cells[0], cells[1], cells[2], cells[3], cells[4], cells[5],
              cells[6], cells[7]);
}

/* The rows from `first` on, which are those of one size and width. */
static void peers_print(const bench *b, size_t first)
{
    char n[TEXT_NUMBER_BYTES];
    if (first == b->peers.count)
        return;
    bench_say(b, "\npeers, %s, n = %s, M/s", b->peers.row[first].width,
              text_grouped(n, b->peers.row[first].n));
    bench_say(b, "  %-30s %3s %9s %9s %9s %9s %9s %9s %9s %10s", "", "thr", "insert", "find", "half", "none",
              "assign", "add", "erase", "end to end");
    for (size_t i = first; i < b->peers.count; i++)
        if (i == first || b->peers.row[i].threads != b->peers.row[i - 1].threads ||
            strcmp(b->peers.row[i].peer, b->peers.row[i - 1].peer))
            line_print(b, &b->peers.row[i]);
}

/* One run where runs are long: some peers take half a minute. */
int map_peers(const map_plan *plan, const width_name *width, uint64_t n, const char *experiment, fault *fault)
{
    bench *b = plan->b;
    size_t first = b->peers.count;
    char n_text[32], runs[32], threads[32];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t most = b->dev.cpu  ? b->dev.info.threads
                    : cores > 1 ? (uint64_t)cores
                                : 1,
             few = plan->quick || n >= 1u << 22 ? 1
                   : b->runs < 3                ? b->runs
                                                : 3;
    if (!plan->peers || !width->value || been_run(b, width, n, experiment))
        return CLI_OK;
    snprintf(n_text, sizeof n_text, "%llu", (unsigned long long)n);
    snprintf(runs, sizeof runs, "%llu", (unsigned long long)few);
    snprintf(threads, sizeof threads, "%llu", (unsigned long long)most);
    const char *arguments[] = {"--n", n_text,      "--width", width->name, "--runs",
                               runs,  "--threads", threads,   NULL};
    int status = bench_peers_run(b, plan->peers, experiment, arguments, fault);
    peers_print(b, first);
    b->headed = 0;
    return status;
}
