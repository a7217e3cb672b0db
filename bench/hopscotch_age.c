/* hopscotch_age.c: a table that grows old: rounds that each erase a share of the keys, at random, and put
 * in as many new ones.
 *
 * LINES are a fixed table. Pages are one that grows, and rebuilds itself when erased slots fill it; that
 * is part of its rounds' time. At some rounds three things are told: the rate of the changes (the median
 * of the rounds since the one told before, eight at most), and lookups of all keys and of as many absent
 * ones. Every answer is checked: each erase hits, each insert is new, lookups have the right values, and
 * the size stays. */
#include "hopscotch.h"

#include <string.h>

enum { ROUNDS_TOLD = 8 };

typedef struct age {
    const hop_plan *plan;
    cohort_layout layout;
    double load;
    const char *experiment;
    cohort_map *map;
    uint64_t pairs, change, next; /* keys in; changed a round; the next new index */
    uint64_t *alive;              /* their indices */
    uint64_t *stamp;              /* the round in which a place of `alive` was drawn, + 1 */
    unsigned char *erase, *insert, *values, *ask, *results;
    uint8_t *hit;
    int refused; /* a round was refused: the table is full */
} age;

static void number_put(unsigned char *column, unsigned bytes, uint64_t i, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    memcpy(column + i * bytes, bytes == 4 ? (void *)&narrow : (void *)&value, bytes);
}

static void key_put(unsigned char *column, unsigned bytes, uint64_t i, uint64_t index)
{
    if (bytes < 16) {
        number_put(column, bytes, i, bench_key(index, bytes));
        return;
    }
    number_put(column, 8, 2 * i, bench_key(index, 8));
    number_put(column, 8, 2 * i + 1, bench_key_high(index));
}

/* The keys of a round: places of `alive` at random, none twice. */
static void round_draw(age *a, uint64_t round)
{
    const unsigned key = a->plan->width->key, value = a->plan->width->value;
    for (uint64_t i = 0, draw = 0; i < a->change; draw++) {
        uint64_t at = (uint64_t)(((bench_wide)bench_mix_64(round << 32 ^ draw) * a->pairs) >> 64);
        if (a->stamp[at] == round + 1)
            continue;
        a->stamp[at] = round + 1;
        key_put(a->erase, key, i, a->alive[at]);
        a->alive[at] = a->next;
        key_put(a->insert, key, i, a->next);
        number_put(a->values, value, i, bench_value(a->next++));
        i++;
    }
}

static const char *counts_wrong(const cohort_counts *erased, const cohort_counts *put, uint64_t change)
{
    return erased->hits != change ? "an erase did not find its key"
           : put->added != change ? "an insert found a key that was not there"
                                  : NULL;
}

/* One round; its seconds. */
static int round_run(age *a, uint64_t round, double *seconds, const bench_row *row, fault *fault)
{
    cohort_batch batch = COHORT_BATCH_INIT;
    cohort_counts erased = {0}, put = {0};
    round_draw(a, round);
    double start = seconds_now();
    batch.counts = &erased;
    cohort_status s = cohort_map_erase(a->map, a->change, a->erase, &batch);
    batch.counts = &put;
    if (!s)
        s = cohort_map_insert(a->map, a->change, a->insert, a->values, &batch);
    *seconds = seconds_now() - start;
    a->refused = s == COHORT_FULL;
    if (a->refused)
        return CLI_OK;
    return s ? bench_fault(a->plan->b, s, "bench hopscotch: a round", fault)
             : hop_wrong(row, counts_wrong(&erased, &put, a->change), fault);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static bench_row row_of(const age *a, const char *name, const char *keys, uint64_t round)
{
    bench_row row = bench_row_make(a->plan->b, a->experiment, name, a->plan->width->name, keys);
    row.n = a->pairs;
    row.load = a->load;
    row.at = (double)round;
    snprintf(row.at_name, sizeof row.at_name, "round");
    snprintf(row.variant, sizeof row.variant, "%s", hop_layout_name(a->layout));
    return row;
}

static cohort_status work_find(void *arg)
{
    const age *a = arg;
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.hit = a->hit;
    return cohort_map_find(a->map, a->pairs, a->ask, a->results, NULL, &batch);
}

static const char *finds_wrong(const age *a, int there)
{
    const mix_answers answers = {a->hit, a->results, NULL, 0, a->plan->width->value};
    for (uint64_t i = 0; i < a->pairs; i++)
        if (mix_bit(a->hit, i) != there ||
            (there &&
             !mix_value_right(&answers, i, a->alive[bench_other(i, a->pairs, bench_step(a->pairs))])))
            return "a find";
    return NULL;
}

static int finds_measure(age *a, uint64_t round, fault *fault)
{
    const unsigned key = a->plan->width->key;
    const uint64_t step = bench_step(a->pairs);
    int status = CLI_OK;
    for (int there = 1; there >= 0 && !status; there--) {
        bench_row row = row_of(a, "age find", there ? "all there" : "none there", round);
        bench_job job = {NULL, work_find, a, (double)a->pairs, 1, 0};
        double seconds[BENCH_RUNS_MOST];
        for (uint64_t i = 0; i < a->pairs; i++)
            key_put(a->ask, key, i, there ? a->alive[bench_other(i, a->pairs, step)] : a->next + i);
        if (bench_time(a->plan->b, &row, &job, seconds, fault) ||
            hop_wrong(&row, finds_wrong(a, there), fault) || hop_row_finish(a->plan, &row, a->map, 0, fault))
            return fault->status;
        status = bench_add_times(a->plan->b, &row, (double)a->pairs, seconds, a->plan->b->runs, fault);
    }
    return status;
}

static int round_told(age *a, uint64_t round, double *seconds, uint64_t count, fault *fault)
{
    bench_row row = row_of(a, "age changes", "erase, insert", round);
    uint64_t size;
    cohort_status s = cohort_map_size(a->map, &size);
    if (s || hop_wrong(&row, size == a->pairs ? NULL : "the size", fault) ||
        hop_row_finish(a->plan, &row, a->map, 2 * (double)a->change * (double)round, fault))
        return s ? bench_fault(a->plan->b, s, "bench hopscotch: the size", fault) : fault->status;
    if (bench_add_times(a->plan->b, &row, 2 * (double)a->change, seconds, count, fault))
        return fault->status;
    return finds_measure(a, round, fault);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static int is_told(uint64_t round, uint64_t rounds)
{
    return round == 10 || round == 100 || round == rounds / 2 || round == rounds;
}

static int rounds_run(age *a, uint64_t rounds, fault *fault)
{
    double seconds[ROUNDS_TOLD];
    uint64_t since = 0;
    for (uint64_t round = 1; round <= rounds; round++) {
        bench_row row = row_of(a, "age changes", "erase, insert", round);
        if (round_run(a, round, &seconds[since++ % ROUNDS_TOLD], &row, fault))
            return fault->status;
        if (a->refused) {
            bench_say(a->plan->b, "%s at load %g: refused in round %llu", hop_layout_name(a->layout), a->load,
                      (unsigned long long)round);
            return CLI_OK;
        }
        if (is_told(round, rounds)) {
            if (round_told(a, round, seconds, since < ROUNDS_TOLD ? since : ROUNDS_TOLD, fault))
                return fault->status;
            since = 0;
        }
    }
    return CLI_OK;
}

static int fill(age *a, fault *fault)
{
    const unsigned key = a->plan->width->key, value = a->plan->width->value;
    for (uint64_t i = 0; i < a->pairs; i++) {
        a->alive[i] = i;
        key_put(a->ask, key, i, i);
        number_put(a->results, value, i, bench_value(i));
    }
    a->next = a->pairs;
    cohort_status s = hop_open(a->plan, a->layout, a->pairs, a->load, &a->map);
    if (!s)
        s = cohort_map_insert(a->map, a->pairs, a->ask, a->results, NULL);
    return s ? bench_fault(a->plan->b, s, "bench hopscotch: a table to grow old", fault) : CLI_OK;
}

static int layout_age(const hop_plan *plan, cohort_layout layout, const age *like, uint64_t rounds,
                      fault *fault)
{
    age a = *like;
    const uint64_t n = a.pairs, change = a.change, key = plan->width->key, value = plan->width->value;
    a.layout = layout;
    a.alive = malloc(n * sizeof *a.alive);
    a.stamp = calloc(n, sizeof *a.stamp);
    a.erase = malloc(change * key);
    a.insert = malloc(change * key);
    a.values = malloc(change * value);
    a.ask = malloc(n * key);
    a.results = malloc(n * value);
    a.hit = malloc((n / 32 + 1) * 4);
    int status = a.alive && a.stamp && a.erase && a.insert && a.values && a.ask && a.results && a.hit
                     ? fill(&a, fault)
                     : fault_set(fault, CLI_FAILED, "no memory for %llu pairs", (unsigned long long)n);
    if (!status)
        status = rounds_run(&a, rounds, fault);
    cohort_map_destroy(a.map);
    void *all[] = {a.alive, a.stamp, a.erase, a.insert, a.values, a.ask, a.results, a.hit};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    return status;
}

int hop_age(const hop_plan *plan, uint64_t pairs, double load, double share, uint64_t rounds, fault *fault)
{
    char experiment[24];
    age a = {.plan = plan, .load = load, .pairs = pairs, .experiment = experiment};
    snprintf(experiment, sizeof experiment, "ageing %g%%", 100 * share);
    a.change = (uint64_t)((double)pairs * share);
    a.change += !a.change;
    int status = plan->lines ? layout_age(plan, COHORT_LAYOUT_LINES, &a, rounds, fault) : CLI_OK;
    return status || !plan->pages ? status : layout_age(plan, COHORT_LAYOUT_PAGES, &a, rounds, fault);
}
