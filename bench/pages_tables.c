/* pages_tables.c: the table of a block: a line a row, or a column for each value of what `--columns` names,
 * or one for each of those beside ours. Figures of others stand beside ours, as ratios; below the table
 * stands who they are, and what was measured on a part of its stream. */
#include "pages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 16 };

/* ---- tables -------------------------------------------------------------------------------------------- */

static const char *const column_names[] = {"load", "at", "n", "threads", "peer", "none"};

static double column_value(const bench_block *b, const bench_row *r)
{
    return !strcmp(b->columns, "load") ? r->load
           : !strcmp(b->columns, "at") ? r->at
           : !strcmp(b->columns, "n")  ? (double)r->n
                                       : (double)r->threads;
}

static int same_value(double x, double y)
{
    return fabs(x - y) <= 1e-9 * fabs(x) + 1e-12;
}

/* Three digits, as many as a reader compares. */
static const char *rate_text(char to[32], double rate)
{
    snprintf(to, 32, rate < 10 ? "%.2f" : rate < 100 ? "%.1f" : "%.0f", rate);
    return to;
}

static const char *named_text(char to[128], const bench_row *r)
{
    snprintf(to, 128, "%s%s%s", r->name, *r->variant ? ", " : "", r->variant);
    return to;
}

/* Whether two rows stand in one line of a table with columns. */
static int same_line(const bench_block *b, const bench_row *x, const bench_row *y)
{
    return !strcmp(x->name, y->name) && !strcmp(x->width, y->width) && !strcmp(x->keys, y->keys) &&
           !strcmp(x->variant, y->variant) && !strcmp(x->at_name, y->at_name) &&
           (!strcmp(b->columns, "at") || same_value(x->at, y->at)) &&
           (!strcmp(b->columns, "n") || x->n == y->n) &&
           (!strcmp(b->columns, "load") || same_value(x->load, y->load)) &&
           (!strcmp(b->columns, "threads") || x->threads == y->threads);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t columns_find(const bench_block *b, double value[COLUMNS])
{
    size_t count = 0;
    for (size_t i = 0; i < b->rows.count; i++) {
        double x = column_value(b, &b->rows.row[i]);
        size_t k = 0;
        while (k < count && !same_value(value[k], x))
            k++;
        if (k == count && count < COLUMNS)
            value[count++] = x;
    }
    qsort(value, count, sizeof *value, by_value);
    return count;
}

static void column_heading(FILE *out, const bench_block *b, double value)
{
    char number[TEXT_NUMBER_BYTES];
    const char *what = !strcmp(b->columns, "at") ? b->rows.row[0].at_name : b->columns;
    if (value >= 1000)
        fprintf(out, " %s %s |", what, text_grouped(number, (uint64_t)(value + 0.5)));
    else
        fprintf(out, " %s %g |", what, value);
}

/* The line that begins with `like`: ours, and the best of others at each place. */
static void columns_line(FILE *out, const bench_block *b, const bench_row *like, const double *value,
                         size_t count)
{
    char text[128], best[32 * COLUMNS + 8] = "", rate[32];
    size_t n = 0;
    int others = 0;
    fprintf(out, "| %s | %s | %s |", named_text(text, like), like->width, like->keys);
    for (size_t k = 0; k < count; k++) {
        const bench_row *row = NULL, *peer;
        for (size_t i = 0; i < b->rows.count && !row; i++)
            if (same_line(b, &b->rows.row[i], like) && same_value(column_value(b, &b->rows.row[i]), value[k]))
                row = &b->rows.row[i];
        peer = row ? bench_rows_best(&b->peers, row) : NULL;
        others += peer != NULL;
        fprintf(out, " %s |", row ? rate_text(rate, row->median * row->scale) : "");
        n += (size_t)snprintf(best + n, sizeof best - n, "%s%s", k ? " / " : "",
                              peer ? rate_text(rate, peer->median * row->scale) : "-");
    }
    fprintf(out, " %s |", like->unit);
    if (b->peers.count)
        fprintf(out, " %s |", others ? best : "");
    fputc('\n', out);
}

static void columns_print(FILE *out, const bench_block *b)
{
    double value[COLUMNS];
    size_t count = columns_find(b, value);
    fputs("| | width | keys |", out);
    for (size_t k = 0; k < count; k++)
        column_heading(out, b, value[k]);
    fprintf(out, " unit |%s\n|---|---|---|", b->peers.count ? " best of others |" : "");
    for (size_t k = 0; k < count + 1 + (b->peers.count > 0); k++)
        fputs("---|", out);
    fputc('\n', out);
    for (size_t i = 0; i < b->rows.count; i++) {
        size_t before = 0;
        while (before < i && !same_line(b, &b->rows.row[before], &b->rows.row[i]))
            before++;
        if (before == i)
            columns_line(out, b, &b->rows.row[i], value, count);
    }
}

/* ---- others' figures beside ours: a column for each of them -------------------------------------------- */

/* One row of each of the others that stand beside a row of the block, as they come in the files. */
static size_t others_find(const bench_block *b, const bench_row *other[COLUMNS])
{
    size_t count = 0;
    for (size_t i = 0; i < b->peers.count; i++) {
        const bench_row *peer = &b->peers.row[i];
        size_t k = 0, beside = 0;
        while (k < count && strcmp(other[k]->peer, peer->peer) != 0)
            k++;
        while (beside < b->rows.count && !bench_row_same(peer, &b->rows.row[beside]))
            beside++;
        if (k == count && count < COLUMNS && beside < b->rows.count)
            other[count++] = peer;
    }
    return count;
}

/* The best row that `who` has beside one of ours, or NULL. */
static const bench_row *others_best(const bench_block *b, const char *who, const bench_row *row)
{
    const bench_row *best = NULL;
    for (size_t i = 0; i < b->peers.count; i++) {
        const bench_row *peer = &b->peers.row[i];
        if (!strcmp(peer->peer, who) && bench_row_same(peer, row) && (!best || peer->median > best->median))
            best = peer;
    }
    return best;
}

static void peers_print(FILE *out, const bench_block *b)
{
    const bench_row *other[COLUMNS];
    char text[128], rate[32];
    size_t count = others_find(b, other);
    fputs("| | width | keys | ours |", out);
    for (size_t k = 0; k < count; k++)
        fprintf(out, " %s |", other[k]->peer);
    fputs(" unit |\n|---|---|---|---|", out);
    for (size_t k = 0; k < count + 1; k++)
        fputs("---|", out);
    fputc('\n', out);
    for (size_t i = 0; i < b->rows.count; i++) {
        const bench_row *row = &b->rows.row[i];
        fprintf(out, "| %s | %s | %s | %s |", named_text(text, row), row->width, row->keys,
                rate_text(rate, row->median * row->scale));
        for (size_t k = 0; k < count; k++) {
            const bench_row *best = others_best(b, other[k]->peer, row);
            fprintf(out, " %s |", best ? rate_text(rate, best->median * row->scale) : "");
        }
        fprintf(out, " %s |\n", row->unit);
    }
    for (size_t k = 0; k < count; k++)
        fprintf(out, "%s%s%s%s", k ? ", " : "\nOthers: ", other[k]->peer, *other[k]->version ? " " : "",
                other[k]->version);
    fputs(count ? ".\n" : "", out);
}

/* ---- a line a row -------------------------------------------------------------------------------------- */

static void list_line(FILE *out, const bench_block *b, const bench_row *r)
{
    char text[128], number[TEXT_NUMBER_BYTES], load[16] = "", at[64] = "", threads[24] = "", limit[48] = "";
    const bench_row *best = bench_rows_best(&b->peers, r);
    if (r->load >= 0)
        snprintf(load, sizeof load, "%.2f", r->load);
    if (*r->at_name)
        snprintf(at, sizeof at, ", %s %g", r->at_name, r->at);
    if (r->threads)
        snprintf(threads, sizeof threads, "%llu", (unsigned long long)r->threads);
    if (r->limit > 0)
        snprintf(limit, sizeof limit, "%.2f %s", r->median / r->limit, r->limit_name);
    fprintf(out, "| %s | %s | %s%s | %s | %s | %s | %.4g (%.4g - %.4g) %s | %s |", named_text(text, r),
            r->width, r->keys, at, text_grouped(number, r->n), load, threads, r->median * r->scale,
            r->least * r->scale, r->most * r->scale, r->unit, limit);
    if (best)
        fprintf(out, " %.4g (%s) | %.2f |\n", best->median * r->scale, best->peer, r->median / best->median);
    else
        fputs(" | |\n", out);
}

static void list_print(FILE *out, const bench_block *b)
{
    fputs("| | width | keys | n | load | threads | median (least - most) | of the limit | best of others "
          "| ours / theirs |\n|---|---|---|---|---|---|---|---|---|---|\n",
          out);
    for (size_t i = 0; i < b->rows.count; i++)
        list_line(out, b, &b->rows.row[i]);
}

/* Who the best of others in the table are, each once. */
static void others_print(FILE *out, const bench_block *b)
{
    const bench_row *told[BENCH_BLOCK_WORDS];
    size_t count = 0;
    for (size_t i = 0; i < b->rows.count; i++) {
        const bench_row *best = bench_rows_best(&b->peers, &b->rows.row[i]);
        size_t k = 0;
        while (best && k < count && (strcmp(told[k]->peer, best->peer) || strcmp(told[k]->date, best->date)))
            k++;
        if (!best || k < count || count == BENCH_BLOCK_WORDS)
            continue;
        fprintf(out, "%s%s%s%s", count ? "; " : "\nOthers, the best at each place: ", best->peer,
                *best->version ? " " : "", best->version);
        if (*best->date && (!count || strcmp(told[count - 1]->date, best->date) ||
                            strcmp(told[count - 1]->machine, best->machine)))
            fprintf(out, " (%s, %s)", best->machine, best->date);
        told[count++] = best;
    }
    fputs(count ? ".\n" : "", out);
}

/* Row i of ours, or the best of the others beside it, if no row before it has shown that one. */
static const bench_row *shown_first(const bench_block *b, size_t i, int others)
{
    const bench_row *row = others ? bench_rows_best(&b->peers, &b->rows.row[i]) : &b->rows.row[i];
    for (size_t before = 0; others && before < i; before++)
        if (bench_rows_best(&b->peers, &b->rows.row[before]) == row)
            return NULL;
    return row;
}

/* Which of the rows shown were measured on a part of the stream. */
static void prefixes_print(FILE *out, const bench_block *b)
{
    char number[TEXT_NUMBER_BYTES];
    size_t count = 0;
    for (size_t i = 0; i < 2 * b->rows.count; i++) {
        const bench_row *best = shown_first(b, i / 2, i % 2);
        const double of = best ? bench_extra_get(best, BENCH_PREFIX) : 0;
        if (!(of > 0))
            continue;
        fprintf(out, "%s%s, %s, %s", count++ ? "; " : "\nBy a prefix, as all would take too long: ",
                *best->peer ? best->peer : best->variant, best->name, best->keys);
        if (*best->at_name)
            fprintf(out, ", %s %g", best->at_name, best->at);
        fprintf(out, " (%s)", text_grouped(number, (uint64_t)(of + 0.5)));
    }
    fputs(count ? ".\n" : "", out);
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

int bench_block_known(const bench_block *b, const char *path, fault *fault)
{
    for (size_t i = 0; b->columns && i < sizeof column_names / sizeof *column_names; i++)
        if (!strcmp(b->columns, column_names[i]))
            return CLI_OK;
    return b->columns
               ? fault_set(fault, CLI_BAD_INPUT,
                           "%s: --columns %s: must be load, at, n, threads, peer or none", path, b->columns)
               : CLI_OK;
}

void bench_block_print(FILE *out, const bench_block *b)
{
    fputc('\n', out);
    if (b->columns && !strcmp(b->columns, "peer")) {
        peers_print(out, b);
        return;
    }
    if (b->columns)
        columns_print(out, b);
    else
        list_print(out, b);
    others_print(out, b);
    prefixes_print(out, b);
}
