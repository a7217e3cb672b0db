/* split.c: entries for multisplits and sorts: made by the host's threads, counted by them too. */
#define _XOPEN_SOURCE 700

#include "split.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cli/parallel.h"

const split_width split_widths[SPLIT_WIDTHS] = {{"32/0", 4, 0, 0},  {"32/32", 4, 1, 4}, {"64/0", 8, 0, 0},
                                                {"64/32", 8, 1, 4}, {"64/64", 8, 1, 8}, {"32/96", 4, 3, 4}};
const char *const split_width_names[SPLIT_WIDTHS] = {"32/0", "32/32", "64/0", "64/32", "64/64", "32/96"};

int split_sizes_check(const split_width *w, uint64_t n, fault *fault)
{
    if (w->column == 4 && n > UINT64_C(1) << 32)
        return fault_set(fault, CLI_BAD_INPUT, "--n %llu: at most 4294967296 with --width %s",
                         (unsigned long long)n, w->name);
    return CLI_OK;
}

unsigned split_entry(const split_width *w)
{
    return w->key + w->columns * w->column;
}

unsigned split_repeat(const bench *b, uint64_t n)
{
    uint64_t enough = b->dev.cpu ? 1u << 18 : 1u << 23;
    return n >= enough ? 1 : n < enough / 64 ? 64 : (unsigned)(enough / n);
}

bench_row split_row(const split_data *s, const char *experiment, const char *name, double bytes)
{
    bench_row row = bench_row_make(s->b, experiment, name, s->width->name, bench_input_names[s->input.input]);
    row.n = s->n;
    row.limit = s->b->dev.limits.copy_bytes / bytes;
    snprintf(row.limit_name, sizeof row.limit_name, "B/%.3g", bytes);
    return row;
}

static cohort_fn split_fn(const split_data *s)
{
    uint64_t m = s->input.buckets, range = bench_range(m);
    unsigned log = 0, bits = 8 * s->width->key;
    while (m >> log > 1)
        log++;
    if (bench_is_pattern(s->input.input))
        return m & (m - 1) ? cohort_fn_modulo() : cohort_fn_bits(0, log);
    if (!(m & (m - 1)))
        return cohort_fn_bits(log ? bits - log : 0, log);
    return cohort_fn_delta(0, s->width->key == 8 ? range << 32 : range);
}

uint32_t split_range(const void *data, uint64_t key)
{
    const split_data *s = data;
    return bench_keys_bucket(&s->input, key);
}

/* ---- entries ------------------------------------------------------------------------------------------- */

static uint64_t entry_index(const void *none, uint64_t i)
{
    (void)none;
    return i;
}

static uint64_t entry_of_input(const void *keys, uint64_t i)
{
    return bench_input_key(keys, i);
}

/* The sum of 0 .. n - 1, modulo 2^64. */
static uint64_t index_sum(uint64_t n)
{
    return n % 2 ? n * ((n - 1) / 2) : n / 2 * (n - 1);
}

int split_open(split_data *s, bench *b, const split_width *w, uint64_t n, fault *fault)
{
    cohort_context *context = b->dev.context;
    memset(s, 0, sizeof *s);
    s->b = b;
    s->width = w;
    s->n = n;
    s->input.input = INPUTS;
    s->column_sum = index_sum(n);
    s->counted = malloc((COHORT_BUCKETS_MOST + 1) * sizeof *s->counted);
    if (!s->counted)
        return fault_set(fault, CLI_FAILED, "bench: no memory for %u counts", COHORT_BUCKETS_MOST);
    cohort_status status = cohort_alloc(context, (n + 1) * w->key, &s->keys);
    if (!status)
        status = cohort_alloc(context, (n + 1) * w->key, &s->keys_out);
    if (!status)
        status = cohort_alloc(context, (COHORT_BUCKETS_MOST + 1) * 8, (void **)&s->offsets);
    for (unsigned c = 0; c < w->columns && !status; c++) {
        void *in = NULL;
        status = column_make(&b->dev, &in, n, w->column, entry_index, NULL);
        s->column[c] = (cohort_payload){in, NULL, w->column, 0};
        if (!status)
            status = cohort_alloc(context, (n + 1) * w->column, &s->column[c].out);
    }
    return status ? bench_fault(b, status, "bench: columns of entries", fault) : CLI_OK;
}

void split_close(split_data *s)
{
    cohort_context *context = s->b ? s->b->dev.context : NULL;
    if (!context)
        return;
    for (unsigned c = 0; c < s->width->columns; c++) {
        cohort_free(context, (void *)s->column[c].in);
        cohort_free(context, s->column[c].out);
    }
    cohort_free(context, s->keys);
    cohort_free(context, s->keys_out);
    cohort_free(context, s->offsets);
    free(s->counted);
    memset(s, 0, sizeof *s);
}

/* ---- counting by the host ------------------------------------------------------------------------------ */

enum { SHARES = 64 };

typedef struct counting {
    const bench_keys *keys;
    uint64_t n, *counts[SHARES], sums[SHARES];
} counting;

static void count_share(void *user, unsigned share, unsigned shares)
{
    counting *c = user;
    uint64_t first = parallel_first(c->n, share, shares), last = parallel_first(c->n, share + 1, shares);
    uint64_t sum = 0;
    for (uint64_t i = first; i < last; i++) {
        uint64_t key = bench_input_key(c->keys, i);
        c->counts[share][bench_keys_bucket(c->keys, key)]++;
        sum += key;
    }
    c->sums[share] = sum;
}

static int count_keys(split_data *s, fault *fault)
{
    uint64_t m = s->input.buckets;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned shares = s->n < 65536 || cores < 1 ? 1 : cores < SHARES ? (unsigned)cores : SHARES;
    uint64_t *all = calloc(shares * m, sizeof *all);
    counting c = {&s->input, s->n, {0}, {0}};
    if (!all)
        return fault_set(fault, CLI_FAILED, "bench: no memory for %llu counts", (unsigned long long)m);
    for (unsigned i = 0; i < shares; i++)
        c.counts[i] = all + i * m;
    parallel_run(shares, count_share, &c);
    s->key_sum = s->counted[m] = 0;
    for (uint64_t b = 0; b < m; b++) {
        s->counted[b] = 0;
        for (unsigned i = 0; i < shares; i++)
            s->counted[b] += c.counts[i][b];
    }
    for (unsigned i = 0; i < shares; i++)
        s->key_sum += c.sums[i];
    free(all);
    uint64_t begin = 0; /* counts to places */
    for (uint64_t b = 0; b <= m; b++) {
        uint64_t here = s->counted[b];
        s->counted[b] = begin;
        begin += here;
    }
    return CLI_OK;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

int split_fill(split_data *s, bench_input input, uint64_t buckets, fault *fault)
{
    int same = s->input.input == input && (input != INPUT_BINOMIAL || s->input.buckets == buckets);
    cohort_context *context = s->b->dev.context;
    if (input == INPUT_BINOMIAL && !same)
        bench_binomial(s->law, buckets);
    s->input = (bench_keys){input, s->width->key, s->n, buckets, s->law};
    s->fn = split_fn(s);
    if (!same) {
        void *made = NULL;
        cohort_free(context, s->keys);
        s->keys = NULL;
        cohort_status status = column_make(&s->b->dev, &made, s->n, s->width->key, entry_of_input, &s->input);
        s->keys = made;
        if (status)
            return bench_fault(s->b, status, "bench: keys", fault);
    }
    return count_keys(s, fault);
}
