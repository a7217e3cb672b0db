/* rows.c: lists of rows, and which rows are of the same thing. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int bench_rows_add(bench_rows *rows, const bench_row *row, fault *fault)
{
    if (rows->count == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 64;
        bench_row *more = realloc(rows->row, room * sizeof *more);
        if (!more)
            return fault_set(fault, CLI_FAILED, "bench: no memory for %zu rows", room);
        rows->row = more;
        rows->room = room;
    }
    rows->row[rows->count++] = *row;
    return CLI_OK;
}

void bench_rows_free(bench_rows *rows)
{
    free(rows->row);
    memset(rows, 0, sizeof *rows);
}

/* JSON holds loads to four digits. */
static int near_by(double a, double b)
{
    return fabs(a - b) <= 1e-3 * fmax(fabs(a), fabs(b)) + 1e-9;
}

/* A GPU has no threads of ours, and stands beside any number of the CPU's. */
static int same_threads(uint64_t a, uint64_t b)
{
    return a == b || !a || !b;
}

static int same_load(double a, double b)
{
    return a < 0 || b < 0 || near_by(a, b);
}

static int same_variant(const char *a, const char *b)
{
    return !*a || !*b || !strcmp(a, b);
}

int bench_row_same(const bench_row *a, const bench_row *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->width, b->width) && !strcmp(a->keys, b->keys) &&
           !strcmp(a->at_name, b->at_name) && near_by(a->at, b->at) && a->n == b->n &&
           same_threads(a->threads, b->threads) && same_load(a->load, b->load) &&
           same_variant(a->variant, b->variant);
}

const bench_row *bench_rows_best(const bench_rows *peers, const bench_row *row)
{
    const bench_row *best = NULL;
    for (size_t i = 0; i < peers->count; i++)
        if (bench_row_same(&peers->row[i], row) && (!best || peers->row[i].median > best->median))
            best = &peers->row[i];
    return best;
}

const char *bench_row_text(char to[256], const bench_row *row)
{
    char n[TEXT_NUMBER_BYTES], load[32] = "", at[48] = "", threads[32] = "", variant[32] = "";
    if (row->load >= 0)
        snprintf(load, sizeof load, ", load %.3g", row->load);
    if (*row->at_name)
        snprintf(at, sizeof at, ", %s %g", row->at_name, row->at);
    if (row->threads)
        snprintf(threads, sizeof threads, ", threads %llu", (unsigned long long)row->threads);
    if (*row->variant)
        snprintf(variant, sizeof variant, " %s", row->variant);
    snprintf(to, 256, "%s%s%s%s%s%s, n = %s%s%s%s", row->name, variant, *row->width ? " " : "", row->width,
             *row->keys ? ", " : "", row->keys, text_grouped(n, row->n), load, at, threads);
    return to;
}
