/* split.h: what `cohort bench multisplit` and `cohort bench sort` share: entries made of an input, and checks
 * of results.
 *
 * Every row's result is checked once, before it is timed. Payload columns hold the entry's index in the
 * input, so that an entry's key can be told from it. Small results are checked entry by entry, large ones at
 * 64 places, and by the sums of their columns; all offsets, histograms and totals are compared with what the
 * host counts. */
#ifndef COHORT_BENCH_SPLIT_H
#define COHORT_BENCH_SPLIT_H

#include "columns.h"
#include "inputs.h"

enum { SPLIT_WIDTHS = 6, SPLIT_COLUMNS = 3, SPLIT_SIZES = 16, SPLIT_BUCKETS = 24 };

typedef struct split_width {
    const char *name;
    unsigned key, columns, column; /* bytes of the key, payload columns, bytes of each */
} split_width;
extern const split_width split_widths[SPLIT_WIDTHS];
extern const char *const split_width_names[SPLIT_WIDTHS];

/* Whether n entries can be told apart by their payloads. */
int split_sizes_check(const split_width *w, uint64_t n, fault *fault);
/* Bytes of an entry. */
unsigned split_entry(const split_width *w);

/* The entries of one width and size, and room for as many out. */
typedef struct split_data {
    bench *b;
    const split_width *width;
    uint64_t n;
    bench_keys input; /* what `keys` hold now */
    /* Of the buckets of inputs.h: ranges of keys, the topmost bits where their number is a power of two; of
     * patterns the key modulo that number. */
    cohort_fn fn;
    uint16_t law[BENCH_LAW];
    void *keys, *keys_out;
    cohort_payload column[SPLIT_COLUMNS];
    uint64_t *offsets; /* device: COHORT_BUCKETS_MOST + 1 */
    uint64_t
        *counted; /* host: the keys in each of input.buckets, by the host's count; then where they begin */
    uint64_t key_sum;    /* of all keys, modulo 2^(8 * key) */
    uint64_t column_sum; /* of one payload column */
} split_data;

int split_open(split_data *s, bench *b, const split_width *w, uint64_t n, fault *fault);
void split_close(split_data *s);
/* Makes the keys of this input, unless they are there, and counts them in `buckets` ranges. */
int split_fill(split_data *s, bench_input input, uint64_t buckets, fault *fault);

/* The function of the buckets on the host: the bucket of a key. `data` is a split_data. */
uint32_t split_range(const void *data, uint64_t key);

/* ---- checks (split_check.c) ---------------------------------------------------------------------------- */

/* What must hold of keys_out and column[].out. */
typedef struct split_claim {
    uint64_t n; /* entries that came out */
    const uint64_t
        *offsets; /* `parts` + 1 of them: part p is [offsets[p], offsets[p + 1]); NULL: not in parts */
    uint64_t parts;
    uint32_t (*part)(const void *arg, uint64_t key); /* `parts` and beyond: is not among what came out */
    const void *arg;
    int sorted; /* keys rise; equal keys keep their order */
    int stable; /* entries of a part keep their order */
    int sums;   /* all n of the input are there */
} split_claim;

/* CLI_FAILED with the row's name if it does not hold. */
int split_check(const split_data *s, const split_claim *claim, const bench_row *row, fault *fault);
int split_check_offsets(const split_data *s, const uint64_t *device, const uint64_t *expected, uint64_t count,
                        const bench_row *row, fault *fault);

/* ---- multisplit ---------------------------------------------------------------------------------------- */

typedef struct split_plan {
    bench *b;
    const char *experiment; /* of the rows */
    const char *peers;      /* folder of the programs; NULL: none are run */
    uint64_t n[SPLIT_SIZES], buckets[SPLIT_BUCKETS];
    size_t n_count, bucket_count, width_count, input_count, method_count;
    unsigned width[SPLIT_WIDTHS], input[INPUTS], method[16];
    int rivals;
} split_plan;

/* The paper's rivals, over the library's own calls, on the entries of `s`. */
int split_rivals(split_data *s, const char *experiment, fault *fault);
/* The peers' programs for this width, size and these inputs, unless they have been run. */
int split_peers(bench *b, const char *folder, const char *experiment, const split_width *w, uint64_t n,
                const unsigned *inputs, size_t input_count, const uint64_t *buckets, size_t bucket_count,
                fault *fault);
/* How often to repeat what changes nothing, so that it takes some time. */
unsigned split_repeat(const bench *b, uint64_t n);
/* A row about the entries of `s`, held against B / bytes. */
bench_row split_row(const split_data *s, const char *experiment, const char *name, double bytes);

#endif
