/* set_made.c: made sets: dense and skewed ones, lookups, builds. */
#include "set.h"

#include <stdlib.h>
#include <string.h>

/* A collection of what `source` says, whose arrays are taken to the context's memory and given back. */
static int collect(const set_bench *s, cohort_sets_source *source, uint64_t bytes, void *members,
                   uint64_t *offsets, cohort_sets **sets, fault *fault)
{
    int there = set_placed(s, &members, bytes);
    if (offsets && !set_placed(s, &offsets, (source->sets + 1) * sizeof *offsets))
        there = 0;
    source->members = members;
    source->offsets = offsets;
    cohort_status made = there ? cohort_sets_build(s->b->dev.context, source, sets) : COHORT_OK;
    int status = !there ? set_no_memory(fault, bytes)
                 : made ? bench_fault(s->b, made, "bench set: a collection", fault)
                        : CLI_OK;
    set_give(s, members);
    set_give(s, offsets);
    return status;
}

/* ---- dense --------------------------------------------------------------------------------------------- */

static uint64_t dense_entry(const void *arg, uint64_t i)
{
    uint64_t words = *(const uint64_t *)arg;
    return set_dense_word(i / words, i % words);
}

/* So many sets of half of all integers. */
static int dense_sets(const set_bench *s, uint64_t n, cohort_sets **sets, fault *fault)
{
    uint64_t bits = s->sizes.dense_bits, words = bits / 64, *bitmaps = malloc(n * words * 8);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    if (bitmaps)
        column_fill_host(bitmaps, 0, n * words, 8, dense_entry, &words);
    source.form = COHORT_FORM_BITMAPS;
    source.n = n;
    source.bits = bits;
    return collect(s, &source, n * words * 8, bitmaps, NULL, sets, fault);
}

/* The answer again, held against a plain loop. Results of this size come from the context's pool, which
 * malloc's settings do not touch; the peer's row is the one without trimming. */
static int dense_beside_loop(const set_bench *s, cohort_sets *sets, fault *fault)
{
    bench_row like = {.scale = 1e-9, .unit = "Gb/s", .limit_name = "plain loop"};
    set_asked a = {.experiment = s->experiment,
                   .keys = "half of all, trimming off",
                   .sets = sets,
                   .op = COHORT_SETS_AND,
                   .rows = 1,
                   .arity = 2,
                   .items = (double)s->sizes.dense_bits,
                   .repeat = 1,
                   .makes = 1,
                   .like = &like};
    int status = set_loop_rate(s, &like.limit, fault);
    if (status)
        return status;
    a.members = malloc(2 * sizeof *a.members);
    for (uint64_t i = 0; i < 2 && a.members; i++)
        a.members[i] = i;
    return set_measure_query(s, &a, fault);
}

int set_dense(const set_bench *s, fault *fault)
{
    bench_row like = {.scale = 1e-9, .unit = "Gb/s", .limit = s->b->dev.limits.copy_bytes / 0.25};
    cohort_sets *sets = NULL;
    int status = dense_sets(s, 2, &sets, fault);
    if (!status)
        status = set_measure_neighbours(s, s->experiment, "half of all", sets, COHORT_SETS_AND, 1,
                                        (double)s->sizes.dense_bits, &like, fault);
    if (!status && s->b->dev.cpu && !strcmp(s->experiment, "dense"))
        status = dense_beside_loop(s, sets, fault);
    cohort_sets_destroy(sets);
    return status;
}

/* ---- skewed -------------------------------------------------------------------------------------------- */

static int skew_measure(const set_bench *s, uint64_t skew, int drawn, fault *fault)
{
    uint64_t small = SET_LARGE / skew, n = SET_CHUNKS_SKEWED * (SET_LARGE + small);
    uint64_t *offsets = malloc(3 * sizeof *offsets);
    uint32_t *members = malloc(n * sizeof *members);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    char keys[40];
    for (uint64_t chunk = 0; chunk < SET_CHUNKS_SKEWED && members; chunk++) {
        set_chunk_members(drawn, 0, chunk, SET_LARGE, members + chunk * SET_LARGE);
        set_chunk_members(drawn, 1, chunk, small, members + SET_CHUNKS_SKEWED * SET_LARGE + chunk * small);
    }
    if (offsets) {
        offsets[0] = 0;
        offsets[1] = SET_CHUNKS_SKEWED * SET_LARGE;
        offsets[2] = n;
    }
    source.n = n;
    source.sets = 2;
    int status = collect(s, &source, n * sizeof *members, members, offsets, &sets, fault);
    snprintf(keys, sizeof keys, "arrays 1:%llu%s", (unsigned long long)skew, drawn ? ", drawn" : "");
    for (cohort_sets_op op = COHORT_SETS_AND; op <= COHORT_SETS_XOR && !status; op++)
        if (skew == 1 || op == COHORT_SETS_AND)
            status = set_measure_neighbours(s, "skewed", keys, sets, op, 1, (double)n, NULL, fault);
    cohort_sets_destroy(sets);
    return status;
}

int set_skewed(const set_bench *s, fault *fault)
{
    int status = CLI_OK;
    for (int drawn = 0; drawn < 2; drawn++)
        for (uint64_t skew = 1; skew <= 64 && !status; skew *= skew == 1 ? 8 : 2)
            status = skew_measure(s, skew, drawn, fault);
    return status;
}

/* ---- lookups ------------------------------------------------------------------------------------------- */

static uint64_t key_entry(const void *arg, uint64_t i)
{
    (void)arg;
    return bench_key(i, 4);
}

static uint64_t lookup_entry(const void *arg, uint64_t i)
{
    const uint64_t *n_and_step = arg;
    return set_lookup(i, n_and_step[0], n_and_step[1]);
}

static uint64_t dense_lookup_entry(const void *arg, uint64_t i)
{
    return set_dense_lookup(i, *(const uint64_t *)arg);
}

static uint64_t many_member_entry(const void *arg, uint64_t i)
{
    (void)arg;
    return set_many_member(i / SET_MANY_EACH, i % SET_MANY_EACH);
}

static uint64_t many_which_entry(const void *arg, uint64_t i)
{
    (void)arg;
    return set_many_which(i);
}

static uint64_t many_lookup_entry(const void *arg, uint64_t i)
{
    (void)arg;
    return set_many_lookup(i);
}

/* So many lookups; `bytes` of memory are looked into at random. Gives the collection back. */
static int measure_lookups(const set_bench *s, const char *keys, cohort_sets *sets, uint64_t lookups,
                           uint64_t bytes, column_entry value, const void *arg, int many, fault *fault)
{
    const bench_device *d = &s->b->dev;
    set_work w = {.sets = sets, .look = COHORT_SETS_LOOK_INIT};
    void *values = NULL, *which = NULL, *hit = set_room(s, (lookups + 31) / 32 * 4);
    cohort_status made = hit ? column_make(d, &values, lookups, 4, value, arg) : COHORT_NO_MEMORY;
    if (!made && many)
        made = column_make(d, &which, lookups, 8, many_which_entry, NULL);
    w.look.n = lookups;
    w.look.values = values;
    w.look.which = which;
    w.look.hit = hit;
    bench_row row = set_row(s, s->experiment, "set contains", keys, lookups);
    bench_row_limit(d, &row, 'R', bytes);
    int status = made ? bench_fault(s->b, made, "bench set: lookups", fault)
                      : set_measure(s, &row, set_work_look, &w, (double)lookups, 1, 0, fault);
    cohort_free(d->context, values);
    cohort_free(d->context, which);
    set_give(s, hit);
    cohort_sets_destroy(sets);
    return status;
}

static int measure_dense(const set_bench *s, uint64_t lookups, fault *fault)
{
    uint64_t bits = s->sizes.dense_bits;
    cohort_sets *sets = NULL;
    int status = dense_sets(s, 1, &sets, fault);
    return status ? status
                  : measure_lookups(s, "half of all", sets, lookups, bits / 8, dense_lookup_entry, &bits, 0,
                                    fault);
}

int set_dense_lookups(const set_bench *s, fault *fault)
{
    return measure_dense(s, s->sizes.lookups, fault);
}

/* The lookups of a batch: a GPU has a larger one too. */
static int measure_sizes(const set_bench *s, uint64_t lookups, fault *fault)
{
    uint64_t n = s->sizes.looked_into, of_arrays[2] = {n, bench_step(n)};
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    uint32_t *members = malloc(n * sizeof *members);
    if (members)
        column_fill_host(members, 0, n, 4, key_entry, NULL);
    source.n = n;
    int status = collect(s, &source, n * sizeof *members, members, NULL, &sets, fault);
    if (!status)
        status = measure_lookups(s, "half there", sets, lookups, n * 2, lookup_entry, of_arrays, 0, fault);
    return status ? status : measure_dense(s, lookups, fault);
}

static int measure_many_sets(const set_bench *s, uint64_t lookups, fault *fault)
{
    uint64_t n = (uint64_t)SET_MANY * SET_MANY_EACH, *offsets = malloc((SET_MANY + 1) * sizeof *offsets);
    uint32_t *members = malloc(n * sizeof *members);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    for (uint64_t i = 0; i <= SET_MANY && offsets; i++)
        offsets[i] = i * SET_MANY_EACH;
    if (members)
        column_fill_host(members, 0, n, 4, many_member_entry, NULL);
    source.n = n;
    source.sets = SET_MANY;
    int status = collect(s, &source, n * sizeof *members, members, offsets, &sets, fault);
    return status
               ? status
               : measure_lookups(s, "100,000 sets", sets, lookups, n * 4, many_lookup_entry, NULL, 1, fault);
}

int set_contains(const set_bench *s, fault *fault)
{
    int larger = !s->b->dev.cpu && s->sizes.lookups == 10000000;
    int status = measure_sizes(s, s->sizes.lookups, fault);
    if (!status && larger)
        status = measure_sizes(s, 10 * s->sizes.lookups, fault);
    return status ? status : measure_many_sets(s, (larger ? 10 : 1) * s->sizes.lookups, fault);
}

/* ---- builds -------------------------------------------------------------------------------------------- */

int set_built(const set_bench *s, fault *fault)
{
    uint64_t n = s->sizes.unsorted;
    void *members = NULL;
    set_work w = {.source = COHORT_SETS_SOURCE_INIT};
    cohort_status made = column_make(&s->b->dev, &members, n, 4, key_entry, NULL);
    w.source.n = n;
    w.source.members = members;
    bench_row row = set_row(s, "build", "set build", "in no order", n);
    int status = made ? bench_fault(s->b, made, "bench set: integers", fault)
                      : set_measure(s, &row, set_work_build, &w, (double)n, 1, 1, fault);
    cohort_free(s->b->dev.context, members);
    return status;
}
