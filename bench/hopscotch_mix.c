/* hopscotch_mix.c: streams of mixed operations, and lookups, on one range of keys (mix.h), on LINES and on
 * pages, beside the peers.
 *
 * The table holds the keys of even index when a run begins; a stream is one call of cohort_map_run. After
 * the last run every answer is checked. All rows are held against random reads; those of `ranges` tell how
 * many sectors of its table a GPU touches, too. */
#include "hopscotch.h"
#include "sectors.h"

#include <string.h>

static const struct kind {
    const char *name, *keys;
    uint32_t inserts, erases;
    mix_keys of;
} kinds[] = {{"mix find", "all there", 0, 0, MIX_THERE},
             {"mix find", "none there", 0, 0, MIX_ABSENT},
             {"mix 20/20/60", "half there", 20, 20, MIX_ALL},
             {"mix 40/40/20", "half there", 40, 40, MIX_ALL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int wanted(const hop_setting *s, const struct kind *kind)
{
    return kind->inserts ? s->mixes : s->finds;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

typedef struct stream {
    mix m;
    unsigned key_bytes;
} stream;

/* Keys of 16 bytes have two entries each in their column. */
static uint64_t key_at(const stream *s, uint64_t i)
{
    return s->key_bytes == 16 ? i / 2 : i;
}

static uint64_t key_word(const stream *s, uint64_t index, uint64_t i)
{
    return s->key_bytes == 16 && i % 2 ? bench_key_high(index) : bench_key(index, s->key_bytes);
}

static uint64_t entry_mix_key(const void *arg, uint64_t i)
{
    const stream *s = arg;
    return key_word(s, mix_index(&s->m, key_at(s, i)), i);
}

static uint64_t entry_drawn(const void *arg, uint64_t i)
{
    return mix_index(&((const stream *)arg)->m, i);
}

static uint64_t entry_mix_value(const void *arg, uint64_t i)
{
    return bench_value(mix_index(&((const stream *)arg)->m, i));
}

static uint64_t entry_mix_op(const void *arg, uint64_t i)
{
    static const uint8_t ops[] = {COHORT_OP_FIND, COHORT_OP_INSERT, COHORT_OP_ERASE};
    return ops[mix_op(&((const stream *)arg)->m, i)];
}

static uint64_t entry_in_key(const void *arg, uint64_t i)
{
    const stream *s = arg;
    return key_word(s, 2 * key_at(s, i), i);
}

static uint64_t entry_in_value(const void *arg, uint64_t i)
{
    return (void)arg, bench_value(2 * i);
}

static uint64_t entry_all_key(const void *arg, uint64_t i)
{
    const stream *s = arg;
    return key_word(s, key_at(s, i), i);
}

enum { IN_KEYS, IN_VALUES, ALL_KEYS, OPS, KEYS, VALUES, RESULTS, HIT, AFTER, COLUMNS };

/* What one setting works with. */
typedef struct hop {
    const hop_plan *plan;
    const hop_setting *setting;
    const struct kind *kind;
    stream s;
    void *column[COLUMNS];
    uint32_t *drawn;
    cohort_map *map;
    uint64_t n; /* operations that are done: all of the setting's, or a prefix of them */
} hop;

static void columns_drop(hop *h, int from, int to)
{
    for (int i = from; i < to; i++) {
        cohort_free(h->plan->b->dev.context, h->column[i]);
        h->column[i] = NULL;
    }
}

static cohort_status keys_make(hop *h, int column, uint64_t n, column_entry entry)
{
    const unsigned words = h->s.key_bytes == 16 ? 2 : 1;
    return column_make(&h->plan->b->dev, &h->column[column], n * words, h->s.key_bytes / words, entry, &h->s);
}

/* Those of the range, which serve all streams on it. */
static cohort_status range_make(hop *h)
{
    const bench_device *d = &h->plan->b->dev;
    const unsigned value = h->plan->width->value;
    const uint64_t range = h->setting->range;
    h->s.key_bytes = h->plan->width->key;
    cohort_status s = keys_make(h, IN_KEYS, range / 2, entry_in_key);
    if (!s)
        s = column_make(d, &h->column[IN_VALUES], range / 2, value, entry_in_value, &h->s);
    if (!s)
        s = keys_make(h, ALL_KEYS, range, entry_all_key);
    return s ? s : cohort_alloc(d->context, (range / 32 + 1) * 4, &h->column[AFTER]);
}

/* The keys of the stream's operations, once for its columns and its checks. */
static cohort_status stream_draw(hop *h)
{
    const uint64_t n = h->setting->n;
    free(h->drawn);
    h->drawn = h->s.m.exponent > 0 ? malloc(n * sizeof *h->drawn) : NULL;
    if (!h->drawn)
        return h->s.m.exponent > 0 ? COHORT_NO_MEMORY : COHORT_OK;
    column_fill_host(h->drawn, 0, n, sizeof *h->drawn, entry_drawn, &h->s);
    h->s.m.drawn = h->drawn;
    return COHORT_OK;
}

static cohort_status stream_make(hop *h, const struct kind *kind)
{
    const bench_device *d = &h->plan->b->dev;
    const unsigned value = h->plan->width->value;
    const uint64_t n = h->setting->n;
    h->kind = kind;
    h->n = n;
    h->s.m = mix_make(n, h->setting->range, h->setting->exponent);
    h->s.m.inserts = kind->inserts;
    h->s.m.erases = kind->erases;
    h->s.m.keys = kind->of;
    columns_drop(h, OPS, HIT + 1);
    cohort_status s = stream_draw(h);
    if (!s)
        s = column_make(d, &h->column[OPS], n, 1, entry_mix_op, &h->s);
    if (!s)
        s = keys_make(h, KEYS, n, entry_mix_key);
    if (!s)
        s = column_make(d, &h->column[VALUES], n, value, entry_mix_value, &h->s);
    if (!s)
        s = cohort_alloc(d->context, n * value, &h->column[RESULTS]);
    if (!s)
        s = cohort_copy(d->context, h->column[RESULTS], h->column[VALUES],
                        n * value); /* its pages are there */
    return s ? s : cohort_alloc(d->context, (n / 32 + 1) * 4, &h->column[HIT]);
}

/* ---- the work ------------------------------------------------------------------------------------------ */

static cohort_status work_fill(void *arg)
{
    const hop *h = arg;
    cohort_status s = cohort_map_clear(h->map);
    return s ? s
             : cohort_map_insert(h->map, h->setting->range / 2, h->column[IN_KEYS], h->column[IN_VALUES],
                                 NULL);
}

static cohort_status work_stream(void *arg)
{
    const hop *h = arg;
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.hit = h->column[HIT];
    return cohort_map_run(h->map, h->n, h->column[OPS], h->column[KEYS], h->column[VALUES],
                          h->column[RESULTS], &batch);
}

static cohort_status work_find(void *arg)
{
    const hop *h = arg;
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.hit = h->column[HIT];
    return cohort_map_find(h->map, h->n, h->column[KEYS], h->column[RESULTS], NULL, &batch);
}

/* ---- the check ----------------------------------------------------------------------------------------- */

/* On a CPU where it lies; else a copy in *kept. NULL: no memory, or the copy failed. */
static const void *at_host(const hop *h, int column, uint64_t bytes, void **kept)
{
    *kept = NULL;
    if (h->plan->b->dev.cpu)
        return h->column[column];
    *kept = malloc(bytes);
    if (*kept && cohort_copy(h->plan->b->dev.context, *kept, h->column[column], bytes))
        return NULL;
    return *kept;
}

static int answers_check(const hop *h, const bench_row *row, fault *fault)
{
    const uint64_t n = h->n, range = h->setting->range;
    mix_answers a = {.value_bytes = h->plan->width->value};
    void *kept[3];
    cohort_status s = cohort_map_contains(h->map, range, h->column[ALL_KEYS], h->column[AFTER], NULL);
    if (!s)
        s = cohort_map_size(h->map, &a.size);
    if (!s)
        s = cohort_wait(h->plan->b->dev.context);
    a.hit = at_host(h, HIT, (n / 32 + 1) * 4, &kept[0]);
    a.values = at_host(h, RESULTS, n * a.value_bytes, &kept[1]);
    a.after = at_host(h, AFTER, (range / 32 + 1) * 4, &kept[2]);
    const char *wrong = !a.hit || !a.values || !a.after ? "no memory to check it"
                        : s                             ? NULL
                                                        : mix_check(&h->s.m, &a);
    for (int i = 0; i < 3; i++)
        free(kept[i]);
    return s ? bench_fault(h->plan->b, s, "bench hopscotch: the check", fault) : hop_wrong(row, wrong, fault);
}

int hop_wrong(const bench_row *row, const char *wrong, fault *fault)
{
    char text[256];
    return wrong ? fault_set(fault, CLI_FAILED, "%s: wrong: %s", bench_row_text(text, row), wrong) : CLI_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

const char *hop_layout_name(cohort_layout layout)
{
    return layout == COHORT_LAYOUT_LINES ? "lines" : "pages";
}

cohort_status hop_open(const hop_plan *plan, cohort_layout layout, uint64_t pairs, double load,
                       cohort_map **map)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    o.width = plan->width->width;
    o.layout = layout;
    o.capacity = pairs;
    if (load >= 0)
        o.max_load = load;
    o.fixed = layout == COHORT_LAYOUT_LINES;
    return cohort_map_create(plan->b->dev.context, &o, map);
}

int hop_row_finish(const hop_plan *plan, bench_row *row, cohort_map *map, double operations, fault *fault)
{
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    cohort_status s = cohort_map_get_stats(map, &stats);
    if (s)
        return bench_fault(plan->b, s, "bench hopscotch: statistics", fault);
    bench_row swaps = *row;
    bench_row_limit(&plan->b->dev, row, 'R', stats.table_bytes);
    bench_row_limit(&plan->b->dev, &swaps, 'C', stats.table_bytes);
    if (swaps.limit > 0)
        bench_extra_set(row, "C, M/s", swaps.limit / 1e6);
    bench_extra_set(row, "load after", stats.load);
    if (stats.pairs)
        bench_extra_set(row, "bytes a pair", (double)stats.table_bytes / (double)stats.pairs);
    if (operations > 0 && (stats.displaced || stats.retries)) {
        bench_extra_set(row, "moves an op", (double)stats.displaced / operations);
        bench_extra_set(row, "retries an op", (double)stats.retries / operations);
    }
    return CLI_OK;
}

static bench_row row_of(const hop *h, const char *variant)
{
    const hop_setting *s = h->setting;
    bench_row row =
        bench_row_make(h->plan->b, s->experiment, h->kind->name, h->plan->width->name, h->kind->keys);
    row.n = s->n;
    row.load = s->load;
    row.at = s->at;
    snprintf(row.at_name, sizeof row.at_name, "%s", s->at_name);
    snprintf(row.variant, sizeof row.variant, "%s", variant);
    return row;
}

/* What a stream of `ranges` touches on a GPU, beside its rate. */
static void sectors_set(bench_row *row, const hop *h, const char *variant)
{
    if (strcmp(h->setting->experiment, "ranges") || !h->kind->inserts)
        return;
    for (size_t i = 0; i < sizeof sectors_mixed / sizeof *sectors_mixed; i++) {
        const struct sectors_mixed *m = &sectors_mixed[i];
        if (!strcmp(m->variant, variant) && m->width == h->plan->width->width &&
            m->inserts == h->kind->inserts)
            bench_extra_set(row, BENCH_SECTORS, m->an_operation);
    }
}

/* The median of the first three runs as a rate, beside that of all. */
static void of_three(bench_row *row, const double *seconds, uint64_t runs, double items)
{
    double three[3];
    if (runs < 4)
        return;
    memcpy(three, seconds, sizeof three);
    bench_extra_set(row, "median of 3", items / bench_median(three, 3) * row->scale);
}

/* Where all runs of a stream would take longer than a row may: a prefix of it. It is found by ever longer
 * ones, each on a table that is filled anew, as a table may slow down on its way. */
static cohort_status stream_cut(hop *h)
{
    enum { FIRST = 1 << 16, TIMES = 4 };
    bench *b = h->plan->b;
    const uint64_t n = h->setting->n;
    const double left = (double)h->plan->row_seconds / (double)(b->runs + 1);
    cohort_status s = COHORT_OK;
    h->n = n;
    for (uint64_t part = FIRST; part < n && h->n == n && !s; part *= TIMES) {
        double seconds = 0;
        h->n = part;
        s = work_fill(h);
        if (!s)
            s = cohort_wait(b->dev.context);
        const double start = seconds_now();
        if (!s)
            s = work_stream(h);
        if (!s)
            s = cohort_wait(b->dev.context);
        seconds = seconds_now() - start;
        if (seconds * (n < part * TIMES ? (double)n / (double)part : TIMES) <= left)
            h->n = n;
    }
    h->s.m.n = h->n;
    return s;
}

static int row_measure(hop *h, cohort_layout layout, fault *fault)
{
    bench *b = h->plan->b;
    bench_row row = row_of(h, hop_layout_name(layout));
    const int mixed = h->kind->inserts != 0;
    const double n = (double)h->n;
    bench_job job = {mixed ? work_fill : NULL, mixed ? work_stream : work_find, h, n, 1, 0};
    double seconds[BENCH_RUNS_MOST];
    if (h->n < h->setting->n)
        bench_extra_set(&row, BENCH_PREFIX, n);
    sectors_set(&row, h, row.variant);
    if (bench_time(b, &row, &job, seconds, fault) || answers_check(h, &row, fault) ||
        hop_row_finish(h->plan, &row, h->map, mixed ? n : 0, fault))
        return fault->status;
    of_three(&row, seconds, b->runs, n);
    return bench_add_times(b, &row, n, seconds, b->runs, fault);
}

/* A table that refuses the half that is in beforehand is told of, and left out. */
static int layout_measure(hop *h, cohort_layout layout, fault *fault)
{
    const hop_setting *set = h->setting;
    bench *b = h->plan->b;
    cohort_status s =
        hop_open(h->plan, layout, set->load < 0 ? set->range : set->range / 2, set->load, &h->map);
    if (!s)
        s = work_fill(h);
    int status = CLI_OK;
    if (s == COHORT_FULL || s == COHORT_UNSUPPORTED)
        bench_say(b, "left out: %s, load %g: %s", hop_layout_name(layout), set->load,
                  cohort_message(b->dev.context));
    else if (s || (h->kind->inserts && (s = stream_cut(h)) != COHORT_OK))
        status = bench_fault(b, s, "bench hopscotch", fault);
    else
        status = row_measure(h, layout, fault);
    cohort_map_destroy(h->map);
    h->map = NULL;
    h->n = h->s.m.n = set->n;
    return status;
}

/* ---- peers --------------------------------------------------------------------------------------------- */

static const struct {
    const char *program, *package;
} peers[] = {{"peer_tbb", "libtbb-dev"}, {"peer_cuckoo", "libcuckoo-dev"}, {"peer_urcu", "liburcu-dev"}};

/* Their rows become those of the setting. */
static int peers_measure(const hop_plan *plan, const hop_setting *s, fault *fault)
{
    bench *b = plan->b;
    char n[32], range[32], exponent[32], threads[32], runs[32], room[32], what[8], bound[32];
    const size_t before = b->peers.count;
    int status = CLI_OK;
    if (!plan->peers || !b->dev.cpu)
        return CLI_OK;
    snprintf(n, sizeof n, "%llu", (unsigned long long)s->n);
    snprintf(range, sizeof range, "%llu", (unsigned long long)s->range);
    snprintf(room, sizeof room, "%llu", (unsigned long long)(s->load < 0 ? s->range : s->range / 2));
    snprintf(exponent, sizeof exponent, "%.17g", s->exponent);
    snprintf(threads, sizeof threads, "%llu", (unsigned long long)b->dev.info.threads);
    snprintf(runs, sizeof runs, "%llu", (unsigned long long)(s->n > 1u << 22 && b->runs > 3 ? 3 : b->runs));
    snprintf(bound, sizeof bound, "%llu", (unsigned long long)plan->row_seconds);
    snprintf(what, sizeof what, "%s%s", s->finds ? "f" : "", s->mixes ? "m" : "");
    const char *arguments[] = {"--n",     n,     "--width",    plan->width->name,
                               "--runs",  runs,  "--threads",  threads,
                               "--range", range, "--room",     room,
                               "--rows",  what,  "--exponent", exponent,
                               "--bound", bound, NULL};
    for (size_t i = 0; i < sizeof peers / sizeof *peers && !status; i++) {
        const size_t had = b->peers.count;
        status = bench_peer_run(b, plan->peers, peers[i].program, "mixes", arguments, fault);
        if (!status && b->peers.count == had)
            bench_say(b, "no figures of %s (Debian: %s; scripts/deps.sh --bench, and a new build)",
                      peers[i].program, peers[i].package);
    }
    for (size_t i = before; i < b->peers.count; i++) {
        bench_row *row = &b->peers.row[i];
        snprintf(row->experiment, sizeof row->experiment, "%s", s->experiment);
        snprintf(row->at_name, sizeof row->at_name, "%s", s->at_name);
        row->at = s->at;
        if (bench_extra_get(row, BENCH_PREFIX) > 0)
            bench_say(b, "%s: a prefix of %.0f operations: all would take more than %llu s", row->peer,
                      bench_extra_get(row, BENCH_PREFIX), (unsigned long long)plan->row_seconds);
    }
    return status;
}

int hop_measure(const hop_plan *plan, const hop_setting *setting, fault *fault)
{
    hop h = {.plan = plan, .setting = setting};
    if (peers_measure(plan, setting, fault))
        return fault->status;
    cohort_status s = range_make(&h);
    int status = s ? bench_fault(plan->b, s, "bench hopscotch: columns of keys", fault) : CLI_OK;
    for (size_t k = 0; k < KINDS && !status; k++) {
        if (!wanted(setting, &kinds[k]))
            continue;
        s = stream_make(&h, &kinds[k]);
        status = s ? bench_fault(plan->b, s, "bench hopscotch: columns of operations", fault) : CLI_OK;
        if (!status && plan->lines)
            status = layout_measure(&h, COHORT_LAYOUT_LINES, fault);
        if (!status && plan->pages)
            status = layout_measure(&h, COHORT_LAYOUT_PAGES, fault);
    }
    columns_drop(&h, 0, COLUMNS);
    free(h.drawn);
    return status;
}
