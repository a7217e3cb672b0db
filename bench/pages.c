/* pages.c: `cohort bench pages [--check] PAGE...`: the figures in pages of text, written from recorded ones.
 *
 * A page says what it wants to show in a comment, and what stands from there to the closing comment is
 * written by this command:
 *
 *     <!-- figures: FILE.json... [OPTION]... -->
 *     <!-- end of figures -->
 *
 * Files are named as seen from the page; words with blanks stand in double quotes. Rows are chosen by
 * --experiment, --name, --width, --keys, --variant, --n and --threads, each a list; --against FILE sets the
 * best of others beside them. There is a line a row, or, with --columns load|at|n|threads, a column for each
 * value there is of that, or, with --columns peer, one for ours and one for each of the others. --plot
 * FILE.svg draws the rows into that file, and shows it, with --columns none without a table; --limits adds
 * what the machine could do at most in the same run. Before the table stands what was measured where, by
 * which command and at which commit; after it, who the others are. --check writes nothing: a page or drawing
 * that would be changed is a failure. */
#define _POSIX_C_SOURCE 200809L

#include "pages.h"

#include <stdlib.h>
#include <string.h>

static const char opening[] = "<!-- figures:", closing[] = "<!-- end of figures -->";

typedef struct page {
    const char *path;
    char folder[BENCH_PATH];
    char *text, *made; /* as it is, as it should be */
    size_t made_bytes;
    size_t blocks;
    int check;
} page;

/* ---- text of a page ------------------------------------------------------------------------------------ */

static char *file_text(const char *path, size_t *bytes)
{
    char *text = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    if (!fseek(file, 0, SEEK_END)) {
        long size = ftell(file);
        text = size < 0 || fseek(file, 0, SEEK_SET) ? NULL : malloc((size_t)size + 1);
        if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
            free(text);
            text = NULL;
        }
        if (text)
            text[ *bytes = (size_t)size] = 0;
    }
    fclose(file);
    return text;
}

/* The comment's words, in place. */
static int words_cut(bench_block *b, const char *from, size_t bytes, const page *p, fault *fault)
{
    char *at = b->text;
    if (bytes >= sizeof b->text)
        return fault_set(fault, CLI_BAD_INPUT, "%s: a comment of %zu letters is too long", p->path, bytes);
    memcpy(b->text, from, bytes);
    b->text[bytes] = 0;
    while (*(at += strspn(at, " \t\n"))) {
        int quoted = *at == '"';
        size_t n = strcspn(at += quoted, quoted ? "\"" : " \t\n");
        if (b->count == BENCH_BLOCK_WORDS || (quoted && !at[n]))
            return fault_set(fault, CLI_BAD_INPUT, "%s: '%s%.40s': %s", p->path, opening, from,
                             b->count == BENCH_BLOCK_WORDS ? "more than 64 words"
                                                           : "a quotation mark is missing");
        b->words[b->count++] = at;
        at += n;
        if (*at)
            *at++ = 0;
    }
    return CLI_OK;
}

static void path_of(char to[BENCH_PATH], const page *p, const char *name)
{
    snprintf(to, BENCH_PATH, "%s%s", *name == '/' ? "" : p->folder, name);
}

/* ---- the rows of a block ------------------------------------------------------------------------------- */

static int number_listed(const char *list, uint64_t number)
{
    char word[32];
    snprintf(word, sizeof word, "%llu", (unsigned long long)number);
    return bench_listed(list, word);
}

static int wanted(const bench_block *b, const bench_row *r)
{
    return bench_listed(b->experiment, r->experiment) && bench_listed(b->name, r->name) &&
           bench_listed(b->width, r->width) && bench_listed(b->keys, r->keys) &&
           bench_listed(b->variant, r->variant) && number_listed(b->n, r->n) &&
           (!r->threads || number_listed(b->threads, r->threads));
}

static void limits_print(FILE *out, const bench_results *results)
{
    const cohort_limits none = COHORT_LIMITS_INIT;
    bench_limit list[BENCH_LIMITS];
    const char *word = "Limits in the same run:";
    bench_limits_list(list, &none);
    for (size_t i = 0; i < BENCH_LIMITS; i++)
        if (results->limits[i] > 0) {
            fprintf(out, "%s %s %.4g %s", word, list[i].name, results->limits[i] * list[i].scale,
                    list[i].unit);
            word = ";";
        }
    if (*word == ';')
        fputs(".\n", out);
}

/* What was measured where. */
static void caption_print(FILE *out, const bench_block *b, const bench_results *results, const char *name)
{
    fprintf(out, "%s, %s, commit %s: `%s` ([figures](%s)).\n", results->device, results->date,
            results->commit, results->command, name);
    if (b->limits)
        limits_print(out, results);
}

/* Ours into rows, others' into peers; of a file --against everything into peers. `out`: where to tell what it
 * is, or NULL. */
static int rows_take(bench_block *b, const page *p, const char *name, int against, FILE *out, fault *fault)
{
    char path[BENCH_PATH];
    bench_results results = {0};
    path_of(path, p, name);
    int status = bench_results_read(&results, path, p->path, fault);
    for (size_t i = 0; i < results.rows.count && !status; i++) {
        bench_row *r = &results.rows.row[i];
        if (against && !*r->peer)
            snprintf(r->peer, sizeof r->peer, "cohort %.32s", results.commit);
        if (*r->peer || wanted(b, r))
            status = bench_rows_add(*r->peer ? &b->peers : &b->rows, r, fault);
    }
    if (!status && !against)
        snprintf(b->under, sizeof b->under, "%s, %s, commit %s", results.device, results.date,
                 results.commit);
    if (!status && out)
        caption_print(out, b, &results, name);
    bench_rows_free(&results.rows);
    return status;
}

/* ---- drawings ------------------------------------------------------------------------------------------ */

/* Draws into `path`, or only tells if the drawing there is another. */
static int plot_make(bench_block *b, const page *p, const char *path, fault *fault)
{
    char fresh[BENCH_PATH + 8];
    output *file;
    size_t old_bytes = 0, new_bytes = 0;
    snprintf(fresh, sizeof fresh, "%s%s", path, p->check ? ".new" : "");
    if (output_open(&file, fresh, p->path, fault) ||
        bench_plot_write(&b->rows, &b->peers, b->under, file, fault) || output_close(file, fault))
        return fault->status;
    if (!p->check)
        return CLI_OK;
    char *old = file_text(path, &old_bytes), *made = file_text(fresh, &new_bytes);
    int same = old && made && old_bytes == new_bytes && !memcmp(old, made, old_bytes);
    free(old);
    free(made);
    remove(fresh);
    return same
               ? CLI_OK
               : fault_set(fault, CLI_FAILED, "%s: not what the recorded figures make; `make figures`", path);
}

/* ---- a block, a page ----------------------------------------------------------------------------------- */

static int block_write(bench_block *b, const page *p, FILE *out, fault *fault)
{
    char path[BENCH_PATH];
    int table = !b->columns || strcmp(b->columns, "none") != 0;
    fputc('\n', out);
    for (size_t i = 0; i < b->files; i++)
        if (rows_take(b, p, b->words[i], 0, table ? out : NULL, fault))
            return fault->status;
    for (size_t i = 0; i < b->against.n; i++)
        if (rows_take(b, p, b->against.text[i], 1, NULL, fault))
            return fault->status;
    if (!b->rows.count)
        return fault_set(fault, CLI_BAD_INPUT, "%s: the block of %s shows no row", p->path,
                         b->files ? b->words[0] : "no file");
    if (table)
        bench_block_print(out, b);
    if (b->plot) {
        path_of(path, p, b->plot);
        fprintf(out, "%s![Drawn](%s)\n", table ? "\n" : "", b->plot);
        if (plot_make(b, p, path, fault))
            return fault->status;
    }
    fputc('\n', out);
    return CLI_OK;
}

static int block_make(const page *p, const char *words, size_t bytes, FILE *out, fault *fault)
{
    bench_block b = {0};
    arg args[] = {{"--experiment", ARG_TEXT, &b.experiment, 0, 0, 0},
                  {"--name", ARG_TEXT, &b.name, 0, 0, 0},
                  {"--width", ARG_TEXT, &b.width, 0, 0, 0},
                  {"--keys", ARG_TEXT, &b.keys, 0, 0, 0},
                  {"--variant", ARG_TEXT, &b.variant, 0, 0, 0},
                  {"--n", ARG_TEXT, &b.n, 0, 0, 0},
                  {"--threads", ARG_TEXT, &b.threads, 0, 0, 0},
                  {"--columns", ARG_TEXT, &b.columns, 0, 0, 0},
                  {"--plot", ARG_TEXT, &b.plot, 0, 0, 0},
                  {"--limits", ARG_FLAG, &b.limits, 0, 0, 0},
                  {"--against", ARG_TEXTS, &b.against, 0, 0, 0}};
    int status = words_cut(&b, words, bytes, p, fault);
    if (!status)
        status = args_read(args, sizeof args / sizeof *args, b.count, b.words, &b.files, fault);
    if (!status)
        status = bench_block_known(&b, p->path, fault);
    if (!status)
        status = block_write(&b, p, out, fault);
    bench_rows_free(&b.rows);
    bench_rows_free(&b.peers);
    return status;
}

static int block_folded(const page *p, const char *words, size_t bytes, FILE *out, fault *fault)
{
    char *text = NULL;
    size_t made = 0;
    FILE *memory = open_memstream(&text, &made);
    if (!memory)
        return fault_set(fault, CLI_FAILED, "%s: no memory for a block", p->path);
    int status = block_make(p, words, bytes, memory, fault);
    if (fclose(memory) && !status)
        status = fault_set(fault, CLI_FAILED, "%s: no memory for a block", p->path);
    if (!status)
        bench_fold(text, out);
    free(text);
    return status;
}

/* The next block's comment: it begins a line. */
static const char *next_block(const page *p, const char *at)
{
    while ((at = strstr(at, opening)) && at != p->text && at[-1] != '\n')
        at++;
    return at;
}

/* The page as it should be. */
static int page_write(page *p, FILE *out, fault *fault)
{
    const char *at = p->text, *begin;
    while ((begin = next_block(p, at))) {
        const char *words = begin + strlen(opening), *end = strstr(words, "-->");
        const char *last = end ? strstr(end, closing) : NULL;
        if (!last)
            return fault_set(fault, CLI_BAD_INPUT, "%s: '%.50s' has no '%s' behind it", p->path, begin,
                             closing);
        fwrite(at, 1, (size_t)(end + 3 - at), out);
        fputc('\n', out);
        if (block_folded(p, words, (size_t)(end - words), out, fault))
            return fault->status;
        at = last;
        p->blocks++;
    }
    fputs(at, out);
    return p->blocks ? CLI_OK : fault_set(fault, CLI_BAD_INPUT, "%s: has no '%s' in it", p->path, opening);
}

static int page_put(const page *p, size_t bytes, fault *fault)
{
    output *file;
    if (bytes == p->made_bytes && !memcmp(p->text, p->made, bytes)) {
        printf("%s: %zu block%s, as they should be\n", p->path, p->blocks, p->blocks > 1 ? "s" : "");
        return CLI_OK;
    }
    if (p->check)
        return fault_set(fault, CLI_FAILED, "%s: not what the recorded figures make; `make figures`",
                         p->path);
    if (output_open(&file, p->path, "PAGE", fault) || output_write(file, p->made, p->made_bytes, fault) ||
        output_close(file, fault))
        return fault->status;
    printf("%s: %zu block%s, written\n", p->path, p->blocks, p->blocks > 1 ? "s" : "");
    return CLI_OK;
}

static int page_do(page *p, fault *fault)
{
    const char *slash = strrchr(p->path, '/');
    size_t bytes = 0;
    snprintf(p->folder, sizeof p->folder, "%.*s", slash ? (int)(slash + 1 - p->path) : 0, p->path);
    p->text = file_text(p->path, &bytes);
    if (!p->text)
        return fault_set(fault, CLI_BAD_INPUT, "PAGE %s: cannot be read", p->path);
    FILE *out = open_memstream(&p->made, &p->made_bytes);
    int status = out ? page_write(p, out, fault) : fault_set(fault, CLI_FAILED, "%s: no memory", p->path);
    if (out && fclose(out) && !status)
        status = fault_set(fault, CLI_FAILED, "%s: no memory", p->path);
    if (!status)
        status = page_put(p, bytes, fault);
    free(p->text);
    free(p->made);
    return status;
}

int bench_pages_main(int argc, char **argv, fault *fault)
{
    int check = 0;
    arg args[] = {{"--check", ARG_FLAG, &check, 0, 0, 0}};
    size_t rest;
    int status = args_read(args, 1, argc, argv, &rest, fault);
    if (!status && !rest)
        status = fault_set(fault, CLI_BAD_INPUT, "bench pages needs a PAGE");
    outputs_guard_signals();
    for (size_t i = 0; i < rest && !status; i++) {
        page p = {.path = argv[i], .check = check};
        status = page_do(&p, fault);
    }
    return status;
}
