/* test_kernels.c: whatever a GPU is asked to do, the kernels that the library launches for it are among those
 * that nvcc compiles, and their blocks and shared memory are no larger than the architecture gives. The
 * simulated GPU has kernels and a tuning of its own, so it does not show that; a driver that stands in for a
 * GPU's does (stand_in.h). test_launches.c makes many more calls at random. */
#include "backend/multisplit.h"
#include "split.h"
#include "stand_in.h"

/* ---- calls --------------------------------------------------------------------------------------------- */

#define N 5000

struct arrays {
    void *in[4], *out[4], *offsets, *table;
};

/* No call may miss a kernel; that it cannot be done otherwise is its own business here. */
static void judge(struct test *t, cohort_status status, const char *what, uint64_t a, uint64_t b, uint64_t c)
{
    const char *message = status ? cohort_message(t->context) : "";
    REQUIREF(t, !strstr(message, "has no kernel"), "%s %llu %llu %llu on sm_%u: %s", what,
             (unsigned long long)a, (unsigned long long)b, (unsigned long long)c, stand_in.architecture,
             message);
    REQUIREF(t, !stand_in.complaint[0], "%s %llu %llu %llu: %s", what, (unsigned long long)a,
             (unsigned long long)b, (unsigned long long)c, stand_in.complaint);
}

static cohort_fn fn_of(struct arrays *a, cohort_fn_kind kind, uint64_t m)
{
    cohort_fn fn = cohort_fn_make(kind, 0, 0, NULL, 0);
    uint64_t bits = 0;
    while (bits < 16 && 2ull << bits <= m)
        bits++;
    if (kind == COHORT_FN_BITS)
        fn.b = bits;
    if (kind == COHORT_FN_RANGES || kind == COHORT_FN_BETWEEN)
        fn.b = UINT32_MAX;
    if (kind == COHORT_FN_DELTA)
        fn.b = 1000;
    if (kind == COHORT_FN_SPLITTERS)
        fn.count = m - 1;
    if (kind == COHORT_FN_TABLE8 || kind == COHORT_FN_TABLE16)
        fn.count = 1000;
    if (kind == COHORT_FN_SPLITTERS || kind == COHORT_FN_TABLE8 || kind == COHORT_FN_TABLE16 ||
        kind >= COHORT_FN_IDS8)
        fn.data = a->table;
    return fn;
}

static const uint32_t widths[] = {0, 1, 4, 8, 16};

static void split_all(struct test *t, struct arrays *a, cohort_multisplit_desc *d, cohort_fn_kind kind)
{
    static const uint32_t buckets[] = {1, 2, 4, 32, 33, 256, 2048, 2049, 65536};
    for (unsigned i = 0; i < sizeof buckets / sizeof *buckets; i++)
        for (int method = 0; method <= COHORT_SPLIT_DIGITS; method++)
            for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
                cohort_payload column = {a->in[1], a->out[1], widths[w], 0};
                const cohort_fn fn = fn_of(a, kind, buckets[i]);
                d->buckets = buckets[i];
                d->fn = &fn;
                d->method = (cohort_split_method)method;
                d->unordered = method == COHORT_SPLIT_RESERVED;
                d->payloads = widths[w] != 0;
                d->payload = widths[w] ? &column : NULL;
                d->permutation = w == 1 ? a->out[2] : NULL;
                judge(t, cohort_multisplit(t->context, d), split_kind_name(kind), buckets[i],
                      (uint64_t)method, widths[w]);
            }
}

static void splits(struct test *t, struct arrays *a)
{
    for (cohort_fn_kind kind = COHORT_FN_BITS; kind <= COHORT_FN_IDS32; kind++)
        for (uint32_t key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
            cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
            cohort_histogram_desc h = COHORT_HISTOGRAM_INIT;
            d.n = h.n = N;
            d.type = h.type = key_bytes == 8 ? COHORT_U64 : COHORT_U32;
            d.keys = h.keys = a->in[0];
            d.keys_out = a->out[0];
            d.offsets = h.bins = a->offsets;
            split_all(t, a, &d, kind);
            for (h.buckets = 1; h.buckets <= 65536; h.buckets *= 4) {
                const cohort_fn fn = fn_of(a, kind, h.buckets);
                h.fn = &fn;
                judge(t, cohort_histogram(t->context, &h), "histogram", (uint64_t)kind, h.buckets, key_bytes);
            }
        }
}

/* Keys and pairs, so many that one launch has them all in tiles or spans side by side; not all architectures
 * have the shared memory for that. */
static void splits_at_once(struct test *t, struct arrays *a)
{
    static const uint64_t sizes[] = {8000, 400000, 2000000, 9000000};
    static const uint32_t buckets[] = {2, 32, 64, 256};
    for (cohort_fn_kind kind = COHORT_FN_BITS; kind <= COHORT_FN_IDS32; kind++)
        for (unsigned i = 0; i < 4 * 4 * 2; i++) {
            cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
            cohort_payload column = {a->in[1], a->out[1], 4, 0};
            const cohort_fn fn = fn_of(a, kind, buckets[i / 4 % 4]);
            d.n = sizes[i % 4];
            d.buckets = buckets[i / 4 % 4];
            d.fn = &fn;
            d.keys = a->in[0];
            d.keys_out = a->out[0];
            d.offsets = a->offsets;
            d.payloads = i / 16;
            d.payload = &column;
            judge(t, cohort_multisplit(t->context, &d), split_kind_name(kind), d.buckets, d.n, d.payloads);
        }
}

/* As a multimap's build puts its pairs in order of pages. */
static void splits_by_page(struct test *t, struct arrays *a)
{
    const uint64_t pages[] = {1, 2, 512, 513, 5120, 65536, 65537, 200000};
    for (unsigned i = 0; i < 2 * (sizeof pages / sizeof *pages); i++) {
        uint64_t count = pages[i / 2];
        struct arena asks = {.asks = 1}, arena = {.memory = a->in[3]};
        uint32_t after = 0;
        while ((count - 1) >> after >= SPLIT_BUCKETS_MOST)
            after++;
        struct split s = split_by_pages(i % 2 ? 600000 : N, 4 + 4 * (i & 1), 0, count, after);
        s.keys = a->in[0];
        s.columns = 1;
        s.column[0].in = a->in[1];
        s.column[0].bytes = 4;
        s.deferred = &t->context->outcome->now;
        judge(t, t->context->backend->multisplit->split(t->context, &s, &asks), "pages", count, s.n, 0);
        REQUIREF(t, asks.used <= 16 << 20, "%llu pages, %llu pairs need %llu bytes",
                 (unsigned long long)count, (unsigned long long)s.n, (unsigned long long)asks.used);
        s.keys_out = a->out[0];
        s.column[0].out = a->out[1];
        judge(t, t->context->backend->multisplit->split(t->context, &s, &arena), "pages", count, s.n, 1);
    }
}

static const cohort_type sorted_types[] = {COHORT_U32, COHORT_I32, COHORT_F32,
                                           COHORT_U64, COHORT_I64, COHORT_F64};

static void sorts(struct test *t, struct arrays *a)
{
    for (int order = 0; order < 6; order++)
        for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
            cohort_sort_desc d = COHORT_SORT_INIT;
            cohort_compact_desc c = COHORT_COMPACT_INIT;
            cohort_payload column = {a->in[1], a->out[1], widths[w], 0};
            d.n = c.n = N;
            d.type = sorted_types[order];
            d.keys = c.keys = a->in[0];
            d.keys_out = c.kept = a->out[0];
            d.payloads = c.payloads = widths[w] != 0;
            d.payload = c.payload = widths[w] ? &column : NULL;
            c.type = order < 3 ? COHORT_U32 : COHORT_U64;
            const cohort_fn fn = fn_of(a, COHORT_FN_BETWEEN, 2);
            c.fn = &fn;
            c.total = a->offsets;
            judge(t, cohort_sort(t->context, &d), "sort", (uint64_t)order, widths[w], 0);
            judge(t, cohort_compact(t->context, &c), "compact", order < 3 ? 4 : 8, widths[w], 0);
            judge(t, cohort_scan(t->context, N, c.type, order & 1, a->in[0], a->out[0]), "scan",
                  order < 3 ? 4 : 8, 0, 0);
            judge(t, cohort_reduce(t->context, COHORT_OP_ADD, N, c.type, a->in[0], a->offsets), "reduce",
                  order < 3 ? 4 : 8, 0, 0);
        }
}

/* A fixed map, and a batch of more than a quarter of its slots: it goes by whole pages. */
static void maps(struct test *t, struct arrays *a)
{
    for (int width = 1; width <= 5; width++)
        for (int large = 0; large <= 1; large++) {
            cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
            cohort_batch batch = COHORT_BATCH_INIT;
            cohort_map *map;
            const uint64_t slot[] = {0, 4, 8, 8, 16, 16}, n = large ? (600ull * 65536 / slot[width]) / 3 : N;
            const void *values = width == COHORT_WIDTH_32_32 || width >= COHORT_WIDTH_64_32 ? a->in[1] : NULL;
            o.width = (cohort_width)width;
            o.fixed = 1;
            o.capacity = large ? 500ull * 65536 / slot[width] : N;
            OK(t, cohort_map_create(t->context, &o, &map));
            for (int winner = 0; winner <= 2; winner++) {
                batch.winner = (cohort_winner)winner;
                judge(t, cohort_map_insert(map, n, a->in[0], values, &batch), "insert", (uint64_t)width, n,
                      (uint64_t)winner);
                judge(t, cohort_map_assign(map, n, a->in[0], values, &batch), "assign", (uint64_t)width, n,
                      (uint64_t)winner);
            }
            judge(t, cohort_map_find(map, n, a->in[0], values ? a->out[0] : NULL, NULL, NULL), "find",
                  (uint64_t)width, n, 0);
            judge(t, cohort_map_contains(map, n, a->in[0], a->out[2], NULL), "contains", (uint64_t)width, n,
                  0);
            judge(t, cohort_map_erase(map, n, a->in[0], NULL), "erase", (uint64_t)width, n, 0);
            if (values)
                judge(t, cohort_map_apply(map, COHORT_OP_ADD, n, a->in[0], values, NULL), "apply",
                      (uint64_t)width, n, 0);
            cohort_map_destroy(map);
        }
}

static void run_on(struct test *t, unsigned architecture)
{
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    struct arrays a;
    stand_in.architecture = architecture;
    options.device = "stand-in";
    OK(t, cohort_context_create(&options, &t->context));
    for (int i = 0; i < 4; i++) {
        OK(t, cohort_alloc(t->context, 64 << 20, &a.in[i]));
        OK(t, cohort_alloc(t->context, 64 << 20, &a.out[i]));
    }
    OK(t, cohort_alloc(t->context, 1 << 20, &a.offsets));
    OK(t, cohort_alloc(t->context, 1 << 20, &a.table));
    splits(t, &a);
    splits_at_once(t, &a);
    splits_by_page(t, &a);
    sorts(t, &a);
    maps(t, &a);
    for (int i = 0; i < 4; i++) {
        OK(t, cohort_free(t->context, a.in[i]));
        OK(t, cohort_free(t->context, a.out[i]));
    }
    OK(t, cohort_free(t->context, a.offsets));
    OK(t, cohort_free(t->context, a.table));
    cohort_context_destroy(t->context);
    t->context = NULL;
}

static void has_what_it_launches(struct test *t)
{
    const unsigned architectures[] = {80, 90, 120};
    stand_in_begin(t);
    for (unsigned i = 0; i < sizeof architectures / sizeof *architectures; i++)
        run_on(t, architectures[i]);
    stand_in_end();
    CHECKF(t, stand_in.launches > 10000, "%u launches", stand_in.launches);
}

const struct test_case test_cases[] = {
    {"has what it launches", has_what_it_launches, TEST_NO_CONTEXT | TEST_ON_SIM},
    {NULL, NULL, 0},
};
