/* test_multisplit_gpu.c: multisplit and what stands on it where lanes stand still, and splits by pages. */
#include <setjmp.h>

#include "backend/multisplit.h"
#include "cuda/device.h"
#include "split.h"

/* ---- schedules ----------------------------------------------------------------------------------------- */

/* One split of a few tiles. */
static void few_tiles(struct test *t, cohort_split_method method)
{
    struct split_plan p = split_random_plan(t, 1200);
    const uint64_t most[] = {300, 256, 256, 300, 256, 300, 700};
    p.m = method == COHORT_SPLIT_DIGITS && !test_below(t, 4) ? 2049 + test_below(t, 3000)
                                                             : 1 + p.m % most[method];
    if ((p.kind == COHORT_FN_BETWEEN || p.kind == COHORT_FN_MASKED) && p.m < 2)
        p.m = 2;
    p.method = method;
    p.unordered = method == COHORT_SPLIT_RESERVED;
    p.columns = p.columns > 2 ? 2 : p.columns;
    p.workspace = 0;
    if (p.unordered && !p.permutation_bytes)
        p.permutation_bytes = 4;
    split_do(t, &p);
}

/* Numbers of a few tiles, small ones. */
static struct column *few_numbers(struct test *t, unsigned bytes)
{
    struct column *in = column_new(t, test_below(t, 2000), bytes);
    for (uint64_t i = 0; i < in->count; i++)
        column_put(in, i, test_below(t, 1000));
    return in;
}

static void few_tiles_of_sums(struct test *t)
{
    const unsigned bytes = test_below(t, 2) ? 4 : 8;
    struct column *mark = t->columns, *in = few_numbers(t, bytes), *out = column_new(t, in->count, bytes);
    uint64_t sum = 0;
    OK(t, cohort_scan(t->context, in->count, bytes == 8 ? COHORT_U64 : COHORT_U32, 1, column_send(in),
                      column_send(out)));
    OK(t, cohort_wait(t->context));
    column_fetch(out);
    for (uint64_t i = 0; i < in->count; i++) {
        sum += column_get(in, i);
        REQUIREF(t, column_get(out, i) == sum, "sum %llu of %llu of %u bytes is %llu, not %llu",
                 (unsigned long long)i, (unsigned long long)in->count, bytes,
                 (unsigned long long)column_get(out, i), (unsigned long long)sum);
    }
    column_drop(t, mark);
}

static void few_tiles_of_compaction(struct test *t)
{
    struct column *mark = t->columns, *in = few_numbers(t, 4), *total = column_new(t, 1, 8);
    struct column *out = column_new(t, in->count, 4), *rejected = column_new(t, in->count, 4);
    struct column *beside = column_new(t, in->count, 4);
    uint64_t kept = 0, rest = 0, bound = test_below(t, 1000);
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    cohort_payload column = {column_send(in), column_send(beside), 4, 0};
    d.payloads = (uint32_t)test_below(t, 2); /* the keys once more */
    d.payload = d.payloads ? &column : NULL;
    d.n = in->count;
    const cohort_fn fn = cohort_fn_between(0, bound);
    d.fn = &fn;
    d.keys = column.in;
    d.kept = column_send(out);
    d.rejected = column_send(rejected);
    d.total = column_send(total);
    OK(t, cohort_compact(t->context, &d));
    OK(t, cohort_wait(t->context));
    column_fetch(out);
    column_fetch(rejected);
    column_fetch(beside);
    column_fetch(total);
    for (uint64_t i = 0; i < in->count; i++) {
        int keep = column_get(in, i) <= bound;
        REQUIREF(t, !keep || !d.payloads || column_get(beside, kept) == column_get(in, i),
                 "column[%llu] is not of entry %llu", (unsigned long long)kept, (unsigned long long)i);
        uint64_t at = keep ? kept++ : rest++;
        REQUIREF(t, column_get(keep ? out : rejected, at) == column_get(in, i),
                 "%s[%llu] is not entry %llu of %llu", keep ? "kept" : "rejected", (unsigned long long)at,
                 (unsigned long long)i, (unsigned long long)in->count);
    }
    EQUAL(t, column_get(total, 0), kept);
    column_drop(t, mark);
}

/* Stable: of equal keys the places tell the order. Of two passes, or of four, the third of which finds the
 * first one's words. */
static void few_tiles_of_sort(struct test *t)
{
    struct column *mark = t->columns, *in = few_numbers(t, 4), *out = column_new(t, in->count, 4);
    struct column *places = column_new(t, in->count, 4);
    cohort_sort_desc d = COHORT_SORT_INIT;
    d.n = in->count;
    d.high_bit = test_below(t, 2) ? 16 : 32;
    for (uint64_t i = 0; d.high_bit == 32 && i < in->count; i++)
        column_put(in, i, (uint32_t)column_get(in, i) * 0x9e3779b1u);
    d.keys = column_send(in);
    d.keys_out = column_send(out);
    d.permutation = column_send(places);
    OK(t, cohort_sort(t->context, &d));
    OK(t, cohort_wait(t->context));
    column_fetch(out);
    column_fetch(places);
    for (uint64_t i = 0; i < in->count; i++) {
        uint64_t key = column_get(out, i), place = column_get(places, i);
        REQUIREF(t, place < in->count && column_get(in, place) == key, "place %llu of %llu has entry %llu",
                 (unsigned long long)i, (unsigned long long)in->count, (unsigned long long)place);
        REQUIREF(t,
                 !i || column_get(out, i - 1) < key ||
                     (column_get(out, i - 1) == key && column_get(places, i - 1) < place),
                 "place %llu of %llu is out of order", (unsigned long long)i, (unsigned long long)in->count);
    }
    column_drop(t, mark);
}

/* Some work in a new context with schedules of its own; the seed replays it. */
static void one_context(struct test *t, uint64_t seed, void (*work)(struct test *))
{
    uint64_t x = seed;
    for (int i = 0; i < 4; i++)
        t->random[i] = test_mix(x += 0x9e3779b97f4a7c15u);
    cohort_context_options options = test_context_options(t);
    cohort_status status = cohort_context_create(&options, &t->context);
    REQUIREF(t, !status, "cohort_context_create: %s", cohort_message(NULL));
    t->memory = TEST_DEVICE;
    work(t);
    column_drop(t, NULL);
    cohort_context_destroy(t->context);
    t->context = NULL;
}

/* What fails leaves by longjmp; it is caught here to tell the seed. */
static void caught(struct test *t, uint64_t seed, void (*work)(struct test *))
{
    jmp_buf leave;
    void *outer = t->exit;
    t->exit = &leave;
    if (!setjmp(leave))
        one_context(t, seed, work);
    t->exit = outer;
    if (t->failures)
        printf("  replay: --device sim:1 --filter %s --seed %llu\n", t->name, (unsigned long long)seed);
}

static void in_schedules(struct test *t, uint64_t count, void (*work)(struct test *))
{
    static const char *const schedules[] = {"any", "warp", "lane", "pct", "random"};
    const char *device = t->device;
    for (uint64_t i = 0; i < count && !t->failures && !t->skipped[0]; i++) {
        uint64_t seed = t->seed + i;
        char text[80];
        if (!test_drawn(t, i, 3))
            continue;
        snprintf(text, sizeof text, "sim:%llu,memory=weak,live=%llu,schedule=%s", (unsigned long long)seed,
                 (unsigned long long)(2 + seed % 7), schedules[seed % 5]);
        t->device = text;
        caught(t, seed, work);
    }
    t->device = device;
}

static void split_work(struct test *t)
{
    for (int method = COHORT_SPLIT_AUTO; method <= COHORT_SPLIT_DIGITS; method++)
        few_tiles(t, (cohort_split_method)method);
}

static void stalled_splits(struct test *t)
{
    in_schedules(t, test_scale(t, 40, 300, 1500), split_work);
}

/* So many that several blocks count, the last of which sums up. */
static void counted_work(struct test *t)
{
    struct split_plan p = split_plan(4097 + test_below(t, 9000), 2 + test_below(t, 255));
    p.unordered = (int)test_below(t, 2);
    p.method = p.unordered ? COHORT_SPLIT_RESERVED : COHORT_SPLIT_LOOK_BACK;
    p.kind = COHORT_FN_MODULO;
    p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
    split_do(t, &p);
}

static void stalled_counts(struct test *t)
{
    in_schedules(t, test_scale(t, 40, 150, 800), counted_work);
}

/* Pairs of 4 + 4 bytes, whose keys and payload go through a tile in turn; and of so many that words of
 * look-back are long. */
static void pairs_work(struct test *t)
{
    const cohort_fn_kind kinds[] = {COHORT_FN_MODULO, COHORT_FN_RANGES, COHORT_FN_DELTA, COHORT_FN_BITS};
    for (int method = COHORT_SPLIT_BLOCK; method <= COHORT_SPLIT_RESERVED; method++) {
        struct split_plan p = split_plan(1 + test_below(t, 1100), 33 + test_below(t, 224));
        p.kind = kinds[test_below(t, 4)];
        p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
        p.method = (cohort_split_method)method;
        p.unordered = method == COHORT_SPLIT_RESERVED;
        p.keys_out = p.unordered || test_below(t, 8) != 0;
        if (p.unordered || test_below(t, 4) == 0)
            p.permutation_bytes = 4;
        else
            p.columns = 1;
        p.width[0] = 4;
        split_do(t, &p);
    }
}

/* So many that blocks go on from tile to tile, and the copy engine fetches their columns. */
static void fetched_split(struct test *t, cohort_fn_kind kind)
{
    struct split_plan p = split_plan(2560 + test_below(t, 800), 2 + test_below(t, 255));
    p.kind = kind;
    while (p.kind == COHORT_FN_BITS && p.m & (p.m - 1))
        p.m &= p.m - 1;
    p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
    p.unordered = test_below(t, 3) == 0;
    p.method = p.unordered ? COHORT_SPLIT_RESERVED : COHORT_SPLIT_BLOCK;
    p.columns = (unsigned)test_below(t, 2);
    p.width[0] = 4;
    p.keys_out = test_below(t, 4) != 0;
    p.permutation_bytes = p.columns && p.keys_out ? 0 : 4 * (unsigned)test_below(t, 2);
    split_do(t, &p);
}

static void fetched_work(struct test *t)
{
    const cohort_fn_kind kinds[] = {COHORT_FN_MODULO, COHORT_FN_RANGES, COHORT_FN_DELTA, COHORT_FN_BITS};
    fetched_split(t, kinds[test_below(t, 4)]);
}

/* Numbers that are not kept, but fetched where the count has left them. */
static void left_work(struct test *t)
{
    fetched_split(t, test_below(t, 2) ? COHORT_FN_HASH : COHORT_FN_SPLITTERS);
}

static void stalled_fetches(struct test *t)
{
    in_schedules(t, test_scale(t, 20, 150, 800), fetched_work);
}

static void stalled_left(struct test *t)
{
    in_schedules(t, test_scale(t, 20, 150, 800), left_work);
}

static void stalled_pairs(struct test *t)
{
    in_schedules(t, test_scale(t, 40, 300, 1500), pairs_work);
}

static void stalled_sums(struct test *t)
{
    in_schedules(t, test_scale(t, 150, 1000, 10000), few_tiles_of_sums);
}

static void stalled_compactions(struct test *t)
{
    in_schedules(t, test_scale(t, 150, 1000, 10000), few_tiles_of_compaction);
}

static void stalled_sorts(struct test *t)
{
    in_schedules(t, test_scale(t, 20, 120, 1200), few_tiles_of_sort);
}

/* Two splits, of which the second gathers tiles from runs that the first has left: many short ones, and empty
 * ones between. */
static void short_runs(struct test *t)
{
    const enum key_pattern patterns[] = {KEYS_SKEWED, KEYS_EQUAL,  KEYS_SKEWED,
                                         KEYS_SORTED, KEYS_SKEWED, KEYS_EDGES};
    for (unsigned i = 0; i < 6; i++)
        for (unsigned columns = 0; columns < 2; columns++) {
            struct split_plan p = split_plan(15000 + test_below(t, 1000), 1000 + test_below(t, 25));
            p.kind = test_below(t, 2) ? COHORT_FN_RANGES : COHORT_FN_MODULO;
            p.method = COHORT_SPLIT_DIGITS;
            p.pattern = patterns[i];
            p.columns = columns;
            p.width[0] = 4;
            p.counts = SPLIT_HERE;
            split_do(t, &p);
        }
}

/* Splits that one block has all of, in tiles that are nearly never full. */
static void one_tile(struct test *t)
{
    const cohort_fn_kind kinds[] = {COHORT_FN_MODULO, COHORT_FN_RANGES, COHORT_FN_BITS, COHORT_FN_DELTA,
                                    COHORT_FN_SPLITTERS};
    const uint64_t most = t->kind == TEST_SIM ? 192 : 8192;
    for (unsigned i = 0; i < 30; i++) {
        struct split_plan p = split_plan(i ? test_below(t, most + 1) : most, 1 + test_below(t, 256));
        p.kind = kinds[i % 5];
        p.columns = i % 3 == 2;
        p.width[0] = 4;
        split_do(t, &p);
    }
}

/* Splits whose tiles are all at work at a time, one after the other: what an earlier one's tiles have told is
 * still there. */
static void tiles_together(struct test *t)
{
    const cohort_fn_kind kinds[] = {COHORT_FN_MODULO, COHORT_FN_RANGES, COHORT_FN_BITS, COHORT_FN_DELTA,
                                    COHORT_FN_SPLITTERS};
    const uint64_t most = t->kind == TEST_SIM ? 1500 : 1 << (15 + test_below(t, 7));
    for (unsigned i = 0; i < 5; i++) {
        struct split_plan p = split_plan(1 + test_below(t, most), 1 + test_below(t, i % 2 ? 256 : 64));
        p.kind = kinds[test_below(t, 5)];
        p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
        p.columns = (unsigned)test_below(t, 2);
        p.width[0] = 4;
        p.permutation_bytes = p.columns ? 0 : 4 * (unsigned)test_below(t, 2);
        p.counts = test_below(t, 2) ? SPLIT_HERE : SPLIT_NOT;
        split_do(t, &p);
    }
}

static void stalled_tiles_together(struct test *t)
{
    in_schedules(t, test_scale(t, 60, 500, 3000), tiles_together);
}

/* Splits of more, whose blocks have spans of up to three such tiles, of as few rows as reach. A row of all
 * blocks of the simulated GPU has 256 entries: about its multiples the last tile is full, short by one entry,
 * or has one alone, and so has the last span. */
static void spans_together(struct test *t)
{
    const cohort_fn_kind kinds[] = {COHORT_FN_MODULO,    COHORT_FN_RANGES,  COHORT_FN_BITS,  COHORT_FN_DELTA,
                                    COHORT_FN_SPLITTERS, COHORT_FN_BETWEEN, COHORT_FN_MASKED};
    const unsigned most[] = {16, 64, 256};
    for (unsigned i = 0; i < 3; i++) {
        uint64_t n = 257 + test_below(t, 4351), edge = 256 * (1 + test_below(t, 18)) + test_below(t, 3) - 1;
        if (t->kind != TEST_SIM)
            n = edge = (1 << 21) + test_below(t, 3 << 22);
        struct split_plan p = split_plan(test_below(t, 2) ? n : edge, 1 + test_below(t, most[i]));
        p.kind = kinds[test_below(t, 7)];
        if (p.kind == COHORT_FN_BETWEEN || p.kind == COHORT_FN_MASKED)
            p.m = 2 + test_below(t, 3); /* more have ids left behind */
        p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
        p.columns = (unsigned)test_below(t, 2);
        p.width[0] = 4;
        p.keys_out = test_below(t, 4) != 0;
        p.permutation_bytes = p.columns && p.keys_out ? 0 : 4 * (unsigned)test_below(t, 2);
        p.counts = test_below(t, 2) ? SPLIT_HERE : SPLIT_NOT;
        split_do(t, &p);
    }
}

static void stalled_spans_together(struct test *t)
{
    in_schedules(t, test_scale(t, 40, 300, 2000), spans_together);
}

/* More bins than shared memory has room for, with bad ids among the keys. */
static void many_bins(struct test *t)
{
    const uint32_t m[] = {25343, 25344, 41727, 41728, 65536};
    for (int i = 0; i < 5; i++) {
        struct column *mark = t->columns, *in = few_numbers(t, 4), *bins = column_new(t, m[i], 8);
        uint64_t *due = calloc(m[i] + 1, 8);
        REQUIRE(t, due);
        cohort_histogram_desc d = COHORT_HISTOGRAM_INIT;
        for (uint64_t j = 0; j < in->count; j++) {
            uint64_t id = column_get(in, j) % (m[i] + 1);
            column_put(in, j, id);
            due[id]++;
        }
        d.n = in->count;
        d.buckets = m[i];
        const cohort_fn fn = cohort_fn_ids32(column_send(in));
        d.fn = &fn;
        d.keys = fn.data;
        d.bins = column_send(bins);
        cohort_status status = cohort_histogram(t->context, &d), waited = cohort_wait(t->context);
        cohort_status right = due[m[i]] ? COHORT_RANGE : COHORT_OK;
        REQUIREF(t, (status ? status : waited) == right, "%u bins: %s, due is %s: %s", m[i],
                 cohort_status_name(status ? status : waited), cohort_status_name(right),
                 cohort_message(t->context));
        column_fetch(bins);
        for (uint64_t b = 0; b < m[i]; b++)
            REQUIREF(t, column_get(bins, b) == due[b], "bin %llu of %u is %llu, not %llu",
                     (unsigned long long)b, m[i], (unsigned long long)column_get(bins, b),
                     (unsigned long long)due[b]);
        free(due);
        column_drop(t, mark);
    }
}

/* On GPUs whose blocks have 99, 163 and 227 KiB. */
static void little_shared(struct test *t)
{
    static const char *const architectures[] = {"86", "80", "90"};
    const char *device = t->device;
    for (int i = 0; i < 3 && !t->failures; i++) {
        char text[80];
        snprintf(text, sizeof text, "sim:%llu,arch=%s", (unsigned long long)t->seed, architectures[i]);
        t->device = text;
        caught(t, t->seed, many_bins);
    }
    t->device = device;
}

/* ---- pages --------------------------------------------------------------------------------------------- */

/* In order of pages, those of a page as they were, or in any order, with the pages' offsets. */
static void judge_pages(struct test *t, const struct split *s, const struct column *keys,
                        const struct column *out, const struct column *places, const struct column *offsets)
{
    const struct split_fn *fn = &s->fn;
    uint64_t end = 0, before = 0;
    for (uint64_t i = 0; i < out->count; i++) {
        uint64_t key = column_get(out, i), place = column_get(places, i);
        uint64_t page = split_id(fn, key, 0, keys->width == 8);
        REQUIREF(t, place < keys->count && column_get(keys, place) == key, "place %llu of %u pages has %llu",
                 (unsigned long long)i, fn->buckets, (unsigned long long)key);
        REQUIRE(t, !i || before < page ||
                       (before == page && (s->unordered || column_get(places, i - 1) < place)));
        for (before = page; end <= page; end++)
            EQUAL(t, column_get(offsets, end), i);
    }
    for (; end <= fn->buckets; end++)
        EQUAL(t, column_get(offsets, end), out->count);
}

/* The split of a map's build, with up to three digits. */
static void split_pages(struct test *t, unsigned bytes, uint32_t pages, uint64_t n)
{
    struct column *mark = t->columns, *keys = column_new(t, n, bytes);
    struct column *out = column_new(t, keys->count, bytes), *places = column_new(t, keys->count, 4);
    struct column *offsets = column_new(t, pages + 1ull, 8);
    struct arena arena = {.asks = 1};
    void *memory;
    split_keys(t, keys, (enum key_pattern)test_below(t, KEY_PATTERNS), 0);
    struct split s = split_by_pages(keys->count, bytes, test_random(t), pages, 0);
    s.unordered = test_below(t, 2) == 0;
    s.keys = column_send(keys);
    s.keys_out = column_send(out);
    s.permutation = column_send(places);
    s.permutation_bytes = 4;
    s.offsets = column_send(offsets);
    OK(t, cohort_alloc(t->context, sizeof *s.deferred, (void **)&s.deferred));
    OK(t, cuda_multisplit_backend.split(t->context, &s, &arena));
    OK(t, cohort_alloc(t->context, arena.used, &memory));
    arena = (struct arena){.memory = memory};
    OK(t, cuda_multisplit_backend.split(t->context, &s, &arena));
    OK(t, cohort_wait(t->context));
    column_fetch(out);
    column_fetch(places);
    column_fetch(offsets);
    judge_pages(t, &s, keys, out, places, offsets);
    OK(t, cohort_free(t->context, memory));
    OK(t, cohort_free(t->context, s.deferred));
    column_drop(t, mark);
}

static void pages(struct test *t)
{
    const uint32_t many[] = {2, 257, 2049, 65536, 65537, 131072, 1000000};
    t->memory = TEST_DEVICE;
    for (int i = 0; i < (t->quick ? 6 : 7); i++)
        for (unsigned bytes = 4; bytes <= 8; bytes += 4)
            split_pages(t, bytes, many[i], 100 + test_below(t, 2000));
    if (t->kind == TEST_CUDA) /* so many that they are fetched */
        split_pages(t, 4, 20480, 20000000 + test_below(t, 20000));
}

/* Pairs of 4 + 4 bytes, so many that blocks go on from tile to tile and find the pages of keys anew. */
static void pages_work(struct test *t)
{
    split_pages(t, 4, 10000 + test_below(t, 50000), 2560 + test_below(t, 2000));
}

static void stalled_pages(struct test *t)
{
    in_schedules(t, test_scale(t, 20, 100, 500), pages_work);
}

const struct test_case test_cases[] = {
    {"stalled_splits", stalled_splits, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"stalled_counts", stalled_counts, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"stalled_pairs", stalled_pairs, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"stalled_fetches", stalled_fetches, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"stalled_left", stalled_left, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"short_runs", short_runs, 0},
    {"one_tile", one_tile, 0},
    {"tiles_together", tiles_together, 0},
    {"stalled_tiles_together", stalled_tiles_together, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"spans_together", spans_together, 0},
    {"stalled_spans_together", stalled_spans_together, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"little_shared", little_shared, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"stalled_sums", stalled_sums, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"stalled_compactions", stalled_compactions, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"stalled_sorts", stalled_sorts, TEST_ON_SIM | TEST_NO_CONTEXT},
    {"pages", pages, TEST_ON_SIM | TEST_ON_CUDA},
    {"stalled_pages", stalled_pages, TEST_ON_SIM | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
