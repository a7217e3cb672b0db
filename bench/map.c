/* map.c: `cohort bench map`: the map's operations, on data that lies in the context's memory.
 *
 * Keys are a bijection of their index, so they are distinct and look random; indices from n on give keys that are not in the
 * table. Queries visit the keys in another order than the inserts did. What binds: reads of single sectors (R) for find,
 * compare-and-swaps (C) for what changes the table. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

typedef struct map_bench {
    bench *b;
    cohort_width width;
    const char *width_name;
    unsigned key_bytes, value_bytes;
    uint64_t n;
    double load;
    const char *only;
    cohort_map *map;
    void *keys, *queries, *absent, *half, *values, *results, *ops; /* in the context's memory */
    const void *ask;                                             /* what a find asks for */
    uint32_t *hit;
    cohort_batch batch;
} map_bench;

static uint64_t key_of(const map_bench *m, uint64_t i)
{
    uint64_t x = i + 0x51ed270b;
    if (m->key_bytes == 4) { /* the finaliser of MurmurHash3's 32 bits */
        uint32_t h = (uint32_t)x;
        h = (h ^ (h >> 16)) * 0x85ebca6bu;
        h = (h ^ (h >> 13)) * 0xc2b2ae35u;
        return h ^ (h >> 16);
    }
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

/* Entry i of a visit of all n in another order: i times an odd number near the golden section of n, modulo n. */
static uint64_t other_order(uint64_t i, uint64_t n)
{
    uint64_t step = (uint64_t)((double)n * 0.6180339887) | 1;
    return (uint64_t)(((wide)i * step + n / 3) % n);
}

typedef uint64_t (*index_of)(const map_bench *m, uint64_t i);
static uint64_t in_order(const map_bench *m, uint64_t i) { return (void)m, i; }
static uint64_t shuffled(const map_bench *m, uint64_t i) { return other_order(i, m->n); }
static uint64_t beyond(const map_bench *m, uint64_t i) { return i + m->n; }
static uint64_t every_other(const map_bench *m, uint64_t i)
{
    return other_order(i, m->n) + (i & 1 ? m->n : 0);
}

/* A column of n keys in the context's memory. */
static cohort_status keys_make(map_bench *m, void **out, index_of index)
{
    uint64_t bytes = m->n * m->key_bytes;
    void *host = malloc(bytes);
    cohort_status s = host ? cohort_alloc(m->b->context, bytes, out) : COHORT_NO_MEMORY;
    for (uint64_t i = 0; !s && i < m->n; i++) {
        uint64_t key = key_of(m, index(m, i));
        if (m->key_bytes == 4)
            ((uint32_t *)host)[i] = (uint32_t)key;
        else
            ((uint64_t *)host)[i] = key;
    }
    if (!s)
        s = cohort_copy(m->b->context, *out, host, bytes);
    free(host);
    return s;
}

/* Operations of a mixed stream: 20 % insert, 20 % erase, 60 % find, and values that are not zeros. */
static cohort_status ops_make(map_bench *m)
{
    static const uint8_t mix[10] = {COHORT_OP_FIND, COHORT_OP_INSERT, COHORT_OP_FIND, COHORT_OP_FIND, COHORT_OP_ERASE,
                                    COHORT_OP_FIND, COHORT_OP_INSERT, COHORT_OP_FIND, COHORT_OP_ERASE, COHORT_OP_FIND};
    uint8_t *host = malloc(m->n);
    cohort_status s = host ? cohort_alloc(m->b->context, m->n, &m->ops) : COHORT_NO_MEMORY;
    for (uint64_t i = 0; !s && i < m->n; i++)
        host[i] = mix[(i * 0x9e3779b97f4a7c15ull >> 40) % 10];
    if (!s)
        s = cohort_copy(m->b->context, m->ops, host, m->n);
    free(host);
    return s;
}

static cohort_status columns_make(map_bench *m)
{
    cohort_context *c = m->b->context;
    uint64_t value_bytes = m->n * (m->value_bytes ? m->value_bytes : 1);
    cohort_status s = keys_make(m, &m->keys, in_order);
    if (!s)
        s = keys_make(m, &m->queries, shuffled);
    if (!s)
        s = keys_make(m, &m->absent, beyond);
    if (!s)
        s = keys_make(m, &m->half, every_other);
    if (!s)
        s = ops_make(m);
    if (!s)
        s = cohort_alloc(c, value_bytes, &m->values);
    if (!s && m->value_bytes)
        s = cohort_copy(c, m->values, m->keys, m->n * m->value_bytes);
    if (!s)
        s = cohort_alloc(c, value_bytes, &m->results);
    if (!s)
        s = cohort_fill(c, m->results, 0x5a, value_bytes);
    if (!s)
        s = cohort_alloc(c, (m->n / 32 + 1) * 4, (void **)&m->hit);
    return s;
}

static void columns_free(map_bench *m)
{
    void *all[] = {m->keys, m->queries, m->absent, m->half, m->values, m->results, m->ops, m->hit};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cohort_free(m->b->context, all[i]);
    cohort_map_destroy(m->map);
}

/* ---- the work ------------------------------------------------------------------------------------------------------- */

static cohort_status work_clear(void *arg) { return cohort_map_clear(((map_bench *)arg)->map); }

static cohort_status work_insert(void *arg)
{
    map_bench *m = arg;
    return cohort_map_insert(m->map, m->n, m->keys, m->values, &m->batch);
}

static cohort_status work_fill(void *arg)
{
    map_bench *m = arg;
    cohort_status s = work_clear(m);
    return s ? s : cohort_map_insert(m->map, m->n, m->keys, m->values, NULL);
}

static cohort_status work_find(void *arg)
{
    map_bench *m = arg;
    return cohort_map_find(m->map, m->n, m->ask, m->results, NULL, NULL);
}

static cohort_status work_contains(void *arg)
{
    map_bench *m = arg;
    return cohort_map_contains(m->map, m->n, m->ask, m->hit, NULL);
}

static cohort_status work_assign(void *arg)
{
    map_bench *m = arg;
    return cohort_map_assign(m->map, m->n, m->queries, m->values, NULL);
}

static cohort_status work_add(void *arg)
{
    map_bench *m = arg;
    return cohort_map_apply(m->map, COHORT_OP_ADD, m->n, m->queries, m->values, NULL);
}

static cohort_status work_erase(void *arg)
{
    map_bench *m = arg;
    return cohort_map_erase(m->map, m->n, m->queries, NULL);
}

static cohort_status work_run(void *arg)
{
    map_bench *m = arg;
    return cohort_map_run(m->map, m->n, m->ops, m->half, m->values, m->results, NULL);
}

static cohort_status work_export(void *arg)
{
    map_bench *m = arg;
    uint64_t count;
    return cohort_map_export(m->map, m->n, m->results == NULL ? NULL : m->absent, m->results, &count);
}

typedef struct measurement {
    const char *name, *keys;
    bench_work prepare, work;
    size_t ask; /* offset of the column that is asked for; 0: none */
    cohort_winner winner;
    char bound; /* 'R': random reads, 'C': compare-and-swaps, 'B': copy */
} measurement;

static const measurement measurements[] = {
    {"map insert", "distinct", work_clear, work_insert, 0, COHORT_WINNER_ANY, 'C'},
    {"map find", "all there", work_fill, work_find, offsetof(map_bench, queries), COHORT_WINNER_ANY, 'R'},
    {"map find", "half there", NULL, work_find, offsetof(map_bench, half), COHORT_WINNER_ANY, 'R'},
    {"map find", "none there", NULL, work_find, offsetof(map_bench, absent), COHORT_WINNER_ANY, 'R'},
    {"map contains", "all there", NULL, work_contains, offsetof(map_bench, queries), COHORT_WINNER_ANY, 'R'},
    {"map assign", "all there", NULL, work_assign, 0, COHORT_WINNER_ANY, 'C'},
    {"map apply add", "all there", NULL, work_add, 0, COHORT_WINNER_ANY, 'C'},
    {"map erase", "all there", work_fill, work_erase, 0, COHORT_WINNER_ANY, 'C'},
    {"map insert first", "distinct", work_clear, work_insert, 0, COHORT_WINNER_FIRST, 'C'},
    {"map run 20,20,60", "half there", work_fill, work_run, 0, COHORT_WINNER_ANY, 'C'},
    {"map export", "", work_fill, work_export, 0, COHORT_WINNER_ANY, 'B'},
};

static int offered(const map_bench *m, const measurement *t)
{
    if (!m->value_bytes && (t->work == work_add || t->work == work_assign))
        return 0;
    if (t->work == work_run && m->load > 0.7)
        return 0; /* a tenth of the entries put in a key that was not there */
    return !m->only || strstr(t->name, m->only) != NULL;
}

static void row_limit(const map_bench *m, const measurement *t, bench_row *row)
{
    const cohort_limits *l = &m->b->limits;
    uint64_t table = (uint64_t)((double)m->n / m->load) * (m->key_bytes + (m->value_bytes ? m->key_bytes : 0u));
    int cached = table <= m->b->info.l2_bytes / 2;
    if (t->bound == 'R') {
        row->limit = cached ? l->cached_reads_32 : l->random_reads_32;
        row->limit_name = cached ? "R cached" : "R";
    } else if (t->bound == 'C') {
        row->limit = cached ? l->cached_cas_8 : l->random_cas_8;
        row->limit_name = cached ? "C cached" : "C";
    }
}

/* All measurements at one width, size and load. */
static int measure_all(map_bench *m, fault *fault)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    o.width = m->width;
    o.capacity = m->n;
    o.max_load = m->load;
    o.fixed = 1;
    cohort_status s = columns_make(m);
    if (!s)
        s = cohort_map_create(m->b->context, &o, &m->map);
    if (!s)
        s = work_fill(m);
    int status = s ? bench_fault(m->b, s, "bench map", fault) : CLI_OK;
    for (size_t i = 0; i < sizeof measurements / sizeof *measurements && !status; i++) {
        const measurement *t = &measurements[i];
        bench_row row = {.n = m->n, .load = m->load, .scale = 1e-9, .unit = "G/s"};
        if (!offered(m, t))
            continue;
        snprintf(row.name, sizeof row.name, "%s", t->name);
        snprintf(row.width, sizeof row.width, "%s", m->width_name);
        snprintf(row.keys, sizeof row.keys, "%s", t->keys);
        row_limit(m, t, &row);
        m->batch.winner = t->winner;
        if (t->ask)
            memcpy(&m->ask, (char *)m + t->ask, sizeof m->ask);
        status = bench_measure(m->b, &row, (double)m->n, t->prepare, t->work, m, fault);
    }
    columns_free(m);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------------------------------- */

/* The next word of a comma-separated list: 0 at its end. */
static int list_next(const char **list, char word[32])
{
    size_t n = strcspn(*list, ",");
    if (!**list)
        return 0;
    snprintf(word, 32, "%.*s", (int)(n < 31 ? n : 31), *list);
    *list += n + ((*list)[n] == ',');
    return 1;
}

static const struct width_name {
    const char *name;
    cohort_width width;
    unsigned key, value;
} widths[] = {{"32/0", COHORT_WIDTH_32_0, 4, 0},
              {"32/32", COHORT_WIDTH_32_32, 4, 4},
              {"64/0", COHORT_WIDTH_64_0, 8, 0},
              {"64/32", COHORT_WIDTH_64_32, 8, 4},
              {"64/64", COHORT_WIDTH_64_64, 8, 8}};

static int width_take(map_bench *m, const char *word, fault *fault)
{
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (!strcmp(word, widths[i].name)) {
            m->width = widths[i].width;
            m->width_name = widths[i].name;
            m->key_bytes = widths[i].key;
            m->value_bytes = widths[i].value;
            return CLI_OK;
        }
    return fault_set(fault, CLI_BAD_INPUT, "--width %s: must be 32/0, 32/32, 64/0, 64/32 or 64/64", word);
}

static int number_take(const char *option, const char *word, double least, double most, double *out, fault *fault)
{
    char *end;
    *out = strtod(word, &end);
    if (end == word || *end || !(*out >= least && *out <= most))
        return fault_set(fault, CLI_BAD_INPUT, "%s %s: must be a number from %g to %g", option, word, least, most);
    return CLI_OK;
}

static int sweep(bench *b, const char *ns, const char *loads, const char *names, const char *only, fault *fault)
{
    char n[32], load[32], width[32];
    double value;
    for (const char *i = names; list_next(&i, width);)
        for (const char *j = ns; list_next(&j, n);)
            for (const char *k = loads; list_next(&k, load);) {
                map_bench m = {.b = b, .only = only, .batch = COHORT_BATCH_INIT};
                if (width_take(&m, width, fault) || number_take("--n", n, 1, 1e12, &value, fault) ||
                    number_take("--load", load, 0.01, 1, &m.load, fault))
                    return fault->status;
                m.n = (uint64_t)value;
                if (measure_all(&m, fault))
                    return fault->status;
            }
    return CLI_OK;
}

int bench_map_main(int argc, char **argv, fault *fault)
{
    const char *device = NULL, *json = NULL, *n = NULL, *load = NULL, *width = NULL, *only = NULL;
    uint64_t threads = 0, runs = 5;
    int quick = 0;
    arg args[] = {{"--device", ARG_TEXT, &device, 0, 0, 0}, {"--threads", ARG_NUMBER, &threads, 1, 1024, 0},
                  {"--quick", ARG_FLAG, &quick, 0, 0, 0},   {"--runs", ARG_NUMBER, &runs, 1, BENCH_RUNS_MOST, 0},
                  {"--n", ARG_TEXT, &n, 0, 0, 0},           {"--load", ARG_TEXT, &load, 0, 0, 0},
                  {"--width", ARG_TEXT, &width, 0, 0, 0},   {"--only", ARG_TEXT, &only, 0, 0, 0},
                  {"--json", ARG_TEXT, &json, 0, 0, 0}};
    size_t rest;
    output *file = NULL;
    char command[256];
    int status = args_read(args, sizeof args / sizeof args[0], argc, argv, &rest, fault);
    if (status)
        return status;
    if (rest)
        return fault_set(fault, CLI_BAD_INPUT, "%s: bench map takes no files", argv[0]);
    outputs_guard_signals();
    n = n ? n : quick ? "1048576" : "134217728";
    load = load ? load : quick ? "0.5" : "0.5,0.8,0.9";
    width = width ? width : "32/32,64/64";
    snprintf(command, sizeof command, "cohort bench map --n %s --load %s --width %s --runs %llu", n, load, width,
             (unsigned long long)runs);
    bench b = {.command = command, .runs = quick ? 3 : runs, .print = !json || strcmp(json, "-")};
    if (json && output_open(&file, json, "--json", fault))
        return fault->status;
    status = bench_open(&b, device, threads, 1, 0, fault);
    if (!status && b.print)
        bench_print_machine(&b);
    if (!status)
        status = sweep(&b, n, load, width, only, fault);
    if (!status && file)
        status = bench_write_json(&b, file, fault) ? fault->status : output_close(file, fault);
    bench_close(&b);
    return status;
}
