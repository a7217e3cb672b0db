/* split_rivals.c: what a multisplit is held against.
 *
 * Rivals of Ashkiani et al., "GPU Multisplit", over the library's own calls, so that they are at their best
 * on this machine:
 *
 * recursive split    a stable two-way split by each bit of the bucket's number, the lowest first
 * reduced-bit sort   labels computed beforehand (that is not in the time) are sorted by as many bits as name
 *                    m buckets, with keys and payloads along
 *
 * The third, randomised insertion, needs a kernel of its own: bench/peers/peer_insertion.cu. Programs of
 * bench/peers are run for the inputs and numbers of buckets that they have not been run for. */
#include "split.h"

#include <string.h>

typedef struct rival {
    split_data *s;
    unsigned rounds; /* bits that name m buckets */
    void *labels, *labels_out;
    void *spare;
    cohort_payload spare_column[SPLIT_COLUMNS];
} rival;

/* Round r of the recursive split goes from one of two places to the other, such that the last one ends in
 * keys_out. */
static cohort_status split_round(const rival *r, unsigned round)
{
    const split_data *s = r->s;
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    cohort_payload column[SPLIT_COLUMNS];
    int to_spare = (r->rounds - 1 - round) % 2 != 0;
    for (unsigned c = 0; c < s->width->columns; c++) {
        void *end = s->column[c].out, *spare = r->spare_column[c].out;
        const void *from = !round ? s->column[c].in : to_spare ? end : spare;
        column[c] = (cohort_payload){from, to_spare ? spare : end, s->width->column, 0};
    }
    d.n = s->n;
    d.type = s->width->key == 8 ? COHORT_U64 : COHORT_U32;
    d.buckets = 2;
    const cohort_fn fn = cohort_fn_bits(8 * s->width->key - r->rounds + round, 1);
    d.fn = &fn;
    d.keys = !round ? s->keys : to_spare ? s->keys_out : r->spare;
    d.keys_out = to_spare ? r->spare : s->keys_out;
    d.payloads = s->width->columns;
    d.payload = d.payloads ? column : NULL;
    return cohort_multisplit(s->b->dev.context, &d);
}

static cohort_status work_recursive(void *arg)
{
    const rival *r = arg;
    cohort_status status = COHORT_OK;
    for (unsigned round = 0; round < r->rounds && !status; round++)
        status = split_round(r, round);
    return status;
}

static cohort_status work_labels(void *arg)
{
    const rival *r = arg;
    const split_data *s = r->s;
    cohort_sort_desc d = COHORT_SORT_INIT;
    cohort_payload column[SPLIT_COLUMNS + 1] = {{s->keys, s->keys_out, s->width->key, 0}};
    memcpy(column + 1, s->column, sizeof s->column);
    d.n = s->n;
    d.type = COHORT_U32;
    d.high_bit = r->rounds;
    d.keys = r->labels;
    d.keys_out = r->labels_out;
    d.payloads = 1 + s->width->columns;
    d.payload = column;
    return cohort_sort(s->b->dev.context, &d);
}

static uint64_t entry_label(const void *data, uint64_t i)
{
    const split_data *s = data;
    return split_range(s, bench_input_key(&s->input, i));
}

static int measure(rival *r, const char *experiment, const char *name, bench_work work, fault *fault)
{
    split_data *s = r->s;
    char text[256];
    bench_row row = split_row(s, experiment, "multisplit",
                              3.0 * s->width->key + 2.0 * s->width->columns * s->width->column);
    bench_job job = {NULL, work, r, (double)s->n, split_repeat(s->b, s->n), 0};
    split_claim claim = {s->n, s->counted, s->input.buckets, split_range, s, 0, 1, 1};
    snprintf(row.at_name, sizeof row.at_name, "buckets");
    row.at = (double)s->input.buckets;
    snprintf(row.peer, sizeof row.peer, "%s", name);
    snprintf(row.version, sizeof row.version, "over cohort %s", cohort_version());
    snprintf(row.date, sizeof row.date, "%s", s->b->date);
    snprintf(row.machine, sizeof row.machine, "%.79s", s->b->dev.info.device);
    cohort_status status = work(r);
    if (status == COHORT_UNSUPPORTED)
        return CLI_OK;
    if (status)
        return bench_fault(s->b, status, bench_row_text(text, &row), fault);
    if (split_check(s, &claim, &row, fault))
        return fault->status;
    return bench_measure(s->b, &row, &job, fault);
}

static int measure_recursive(rival *r, const char *experiment, fault *fault)
{
    split_data *s = r->s;
    cohort_context *context = s->b->dev.context;
    cohort_status status = cohort_alloc(context, (s->n + 1) * s->width->key, &r->spare);
    for (unsigned c = 0; c < s->width->columns && !status; c++)
        status = cohort_alloc(context, (s->n + 1) * s->width->column, &r->spare_column[c].out);
    int failed = status ? bench_fault(s->b, status, "bench multisplit: recursive split", fault)
                        : measure(r, experiment, "recursive split", work_recursive, fault);
    cohort_free(context, r->spare);
    for (unsigned c = 0; c < s->width->columns; c++)
        cohort_free(context, r->spare_column[c].out);
    return failed;
}

static int measure_reduced(rival *r, const char *experiment, fault *fault)
{
    split_data *s = r->s;
    cohort_context *context = s->b->dev.context;
    cohort_status status = column_make(&s->b->dev, &r->labels, s->n, 4, entry_label, s);
    if (!status)
        status = cohort_alloc(context, (s->n + 1) * 4, &r->labels_out);
    int failed = status ? bench_fault(s->b, status, "bench multisplit: labels", fault)
                        : measure(r, experiment, "reduced-bit sort", work_labels, fault);
    cohort_free(context, r->labels);
    cohort_free(context, r->labels_out);
    return failed;
}

int split_rivals(split_data *s, const char *experiment, fault *fault)
{
    uint64_t m = s->input.buckets;
    rival r = {.s = s};
    int status = CLI_OK;
    if (m < 2)
        return CLI_OK;
    while (UINT64_C(1) << r.rounds < m)
        r.rounds++;
    if (m > 2 &&
        !(m &
          (m - 1))) /* buckets that are not bits of the key would need labels, and a sort of these is next */
        status = measure_recursive(&r, experiment, fault);
    return status ? status : measure_reduced(&r, experiment, fault);
}

/* ---- programs ------------------------------------------------------------------------------------------ */

static int been_run(const bench *b, const split_width *w, uint64_t n, const char *input, double buckets,
                    const char *name)
{
    for (size_t i = 0; i < b->peers.count; i++) {
        const bench_row *r = &b->peers.row[i];
        if (r->here && r->n == n && !strcmp(r->width, w->name) && !strcmp(r->keys, input) &&
            !strcmp(r->name, name) && r->at == buckets && strncmp(r->version, "over", 4))
            return 1;
    }
    return 0;
}

static void append(char *list, size_t room, const char *word)
{
    size_t n = strlen(list);
    snprintf(list + n, room - n, "%s%s", n ? "," : "", word);
}

static int peers_of_input(bench *b, const char *folder, const char *experiment, const split_width *w,
                          uint64_t n, const char *input, const char *buckets, fault *fault)
{
    char n_text[32], runs[32], threads[32];
    snprintf(n_text, sizeof n_text, "%llu", (unsigned long long)n);
    snprintf(runs, sizeof runs, "%llu",
             (unsigned long long)(b->dev.cpu && n >= 1u << 22 ? 1 : b->runs)); /* sorts of seconds */
    snprintf(threads, sizeof threads, "%llu", (unsigned long long)(b->dev.cpu ? b->dev.info.threads : 1));
    const char *arguments[] = {"--device",  b->dev.cpu ? "cpu" : "cuda",
                               "--threads", threads,
                               "--n",       n_text,
                               "--width",   w->name,
                               "--runs",    runs,
                               "--buckets", buckets,
                               "--input",   input,
                               NULL};
    return bench_peers_run(b, folder, experiment, arguments, fault);
}

int split_peers(bench *b, const char *folder, const char *experiment, const split_width *w, uint64_t n,
                const unsigned *inputs, size_t input_count, const uint64_t *buckets, size_t bucket_count,
                fault *fault)
{
    int status = CLI_OK;
    for (size_t i = 0; i < input_count && !status; i++) {
        const char *input = bench_input_names[inputs[i]];
        char list[256] = "", word[32];
        for (size_t k = 0; k < bucket_count; k++) {
            snprintf(word, sizeof word, "%llu", (unsigned long long)buckets[k]);
            if (!been_run(b, w, n, input, (double)buckets[k], experiment))
                append(list, sizeof list, word);
        }
        if (*list)
            status = peers_of_input(b, folder, experiment, w, n, input, list, fault);
    }
    return status;
}
