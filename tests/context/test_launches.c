/* test_launches.c: thousands of calls at random on a driver that stands in for a GPU's (stand_in.h). Every
 * kernel that they launch is there, no launch is larger than the architecture allows, and no call fails for
 * another reason than those that it may have.
 *
 * With COHORT_LAUNCH_LOG=FILE in the environment the calls are written down, each with its workspace,
 * launches and fills. The calls depend on --seed alone, so the logs of two versions of the library tell
 * whether they do the same (scripts/same-kernels.sh). */
#include "split.h"
#include "stand_in.h"

#include <stdarg.h>

#define CALLS     6000 /* an architecture */
#define HOST_MOST 3000 /* entries in host memory */
#define ARRAY     (1ull << 20)
#define PLACE     (512ull << 30) /* bytes from one place in device memory to the next */

struct calls {
    struct test *t;
    char *device[20];    /* places in device memory, and */
    char *host[20];      /* in host memory */
    int on_host;         /* of this call's arrays */
    cohort_context *cpu; /* it is asked for workspace, too */
};

/* ---- dice ---------------------------------------------------------------------------------------------- */

static uint64_t below(struct calls *c, uint64_t n)
{
    return test_below(c->t, n);
}

static int one_in(struct calls *c, uint64_t n)
{
    return below(c, n) == 0;
}

/* Of every size: as many of 17 bits as of 16. Powers of two and their neighbours come often. */
static uint64_t size_up_to(struct calls *c, uint64_t most)
{
    unsigned bits = 0;
    while (bits < 63 && most >> bits > 1)
        bits++;
    uint64_t power = 1ull << below(c, bits + 1), n = power + below(c, power);
    if (one_in(c, 4))
        n = power + below(c, 3) - 1;
    if (one_in(c, 50))
        n = 0;
    return n < most ? n : most;
}

static uint64_t entries(struct calls *c)
{
    return size_up_to(c, c->on_host ? HOST_MOST : one_in(c, 8) ? 1ull << 34 : 1ull << 27);
}

/* The i-th array of a call. What a call writes nobody writes here, so how much it has written is not asked
 * for where it matters: of arrays in host memory. */
static void *array(struct calls *c, unsigned i)
{
    return c->on_host ? c->host[i] : c->device[i];
}

static void *maybe(struct calls *c, unsigned i)
{
    return one_in(c, 2) ? array(c, i) : NULL;
}

/* ---- the log ------------------------------------------------------------------------------------------- */

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    va_list arguments;
    if (!stand_in.log)
        return;
    va_start(arguments, format);
    vfprintf(stand_in.log, format, arguments);
    va_end(arguments);
}

static void judge(struct calls *c, cohort_status status)
{
    const char *message = status ? cohort_message(c->t->context) : "";
    note("    %s\n", cohort_status_name(status));
    REQUIREF(c->t,
             status == COHORT_OK || status == COHORT_UNSUPPORTED || status == COHORT_NO_MEMORY ||
                 status == COHORT_FULL,
             "sm_%u: %s", stand_in.architecture, message);
    REQUIREF(c->t, !strstr(message, "has no kernel"), "sm_%u: %s", stand_in.architecture, message);
    REQUIREF(c->t, !stand_in.complaint[0], "%s", stand_in.complaint);
}

/* ---- multisplit and what stands on it ------------------------------------------------------------------ */

static cohort_fn draw_fn(struct calls *c, uint64_t m, unsigned key_bytes)
{
    cohort_fn_kind kind = (cohort_fn_kind)(COHORT_FN_BITS + below(c, COHORT_FN_IDS32));
    if (!m)
        while (kind == COHORT_FN_HASH || kind == COHORT_FN_MODULO || kind == COHORT_FN_RANGES ||
               kind == COHORT_FN_DELTA)
            kind = (cohort_fn_kind)(COHORT_FN_BITS + below(c, COHORT_FN_IDS32));
    cohort_fn fn = cohort_fn_make(kind, 0, 0, NULL, 0);
    uint64_t bits = 0;
    while (bits < 16 && 2ull << bits <= m)
        bits++;
    if (kind == COHORT_FN_BITS) {
        fn.b = one_in(c, 4) ? below(c, 17) : bits;
        fn.a = below(c, 8 * key_bytes);
    }
    if (kind == COHORT_FN_RANGES || kind == COHORT_FN_BETWEEN) {
        fn.a = one_in(c, 2) ? 0 : below(c, 1000);
        fn.b = fn.a + size_up_to(c, UINT32_MAX);
    }
    if (kind == COHORT_FN_DELTA)
        fn.b = 1 + size_up_to(c, UINT32_MAX - 1);
    if (kind == COHORT_FN_MASKED)
        fn.a = fn.b = below(c, 256);
    if (kind == COHORT_FN_SPLITTERS)
        fn.count = m ? m - 1 : below(c, 100);
    if (kind == COHORT_FN_TABLE8 || kind == COHORT_FN_TABLE16)
        fn.count = 1000;
    if (kind == COHORT_FN_SPLITTERS || kind == COHORT_FN_TABLE8 || kind == COHORT_FN_TABLE16 ||
        kind >= COHORT_FN_IDS8)
        fn.data = array(c, 15);
    return fn;
}

static uint32_t draw_columns(struct calls *c, cohort_payload *column)
{
    uint32_t columns = (uint32_t)(one_in(c, 2) ? 0 : one_in(c, 2) ? 1 : below(c, 5));
    for (uint32_t i = 0; i < columns; i++) {
        column[i].in = array(c, 4 + 2 * i);
        column[i].out = array(c, 5 + 2 * i);
        column[i].bytes = one_in(c, 2) ? 4 : 1u << below(c, 5);
        column[i].reserved = 0;
    }
    return columns;
}

/* What the call says that it needs, and would need on a CPU; half of the calls bring it along. */
#define WORKSPACE(c, call, d)                                                                 \
    do {                                                                                      \
        uint64_t gpu_bytes = 0, cpu_bytes = 0;                                                \
        cohort_status s = call##_workspace((c)->t->context, &(d), &gpu_bytes);                \
        note("    %s: %llu bytes", cohort_status_name(s), (unsigned long long)gpu_bytes);     \
        s = call##_workspace((c)->cpu, &(d), &cpu_bytes);                                     \
        note(", cpu %s: %llu bytes\n", cohort_status_name(s), (unsigned long long)cpu_bytes); \
        if (!(c)->on_host && one_in(c, 2)) {                                                  \
            (d).workspace = (c)->device[16];                                                  \
            (d).workspace_bytes = gpu_bytes;                                                  \
        }                                                                                     \
    } while (0)

static const cohort_type sorted_types[] = {COHORT_U32, COHORT_I32, COHORT_F32,
                                           COHORT_U64, COHORT_I64, COHORT_F64};

static uint32_t bytes_of(cohort_type type)
{
    return type == COHORT_U64 || type == COHORT_I64 || type == COHORT_F64 ? 8 : 4;
}

static void call_multisplit(struct calls *c)
{
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    cohort_payload column[4];
    d.n = entries(c);
    d.type = one_in(c, 3) ? COHORT_U64 : COHORT_U32;
    d.buckets = (uint32_t)size_up_to(c, one_in(c, 4) ? COHORT_BUCKETS_MOST : 300);
    d.buckets += !d.buckets;
    const cohort_fn fn = draw_fn(c, d.buckets, bytes_of(d.type));
    d.fn = &fn;
    d.keys = array(c, 0);
    d.keys_out = one_in(c, 8) ? NULL : one_in(c, 8) ? array(c, 0) : array(c, 1);
    d.payloads = draw_columns(c, column);
    d.payload = column;
    d.unordered = one_in(c, 3);
    d.permutation = one_in(c, 4) ? array(c, 2) : NULL;
    d.permutation_bytes = d.n >> 32 || one_in(c, 4) ? 8 : 4;
    d.method = one_in(c, 2) ? COHORT_SPLIT_AUTO : (cohort_split_method)below(c, COHORT_SPLIT_DIGITS + 1);
    if (d.method == COHORT_SPLIT_RESERVED)
        d.unordered = 1;
    d.offsets = maybe(c, 3);
    d.counts = one_in(c, 4) && !c->on_host ? array(c, 14) : NULL;
    note(
        "multisplit n %llu, %u bytes, m %u, kind %d, method %d%s, keys %d, columns %u (%u), permutation %u\n",
        (unsigned long long)d.n, bytes_of(d.type), d.buckets, (int)fn.kind, (int)d.method,
        d.unordered ? ", unordered" : "", d.keys_out ? 1 + (d.keys_out == d.keys) : 0, d.payloads,
        d.payloads ? column[0].bytes : 0, d.permutation ? d.permutation_bytes : 0);
    WORKSPACE(c, cohort_multisplit, d);
    judge(c, cohort_multisplit(c->t->context, &d));
}

static void call_histogram(struct calls *c)
{
    cohort_histogram_desc d = COHORT_HISTOGRAM_INIT;
    d.n = entries(c);
    d.type = one_in(c, 2) ? COHORT_U64 : COHORT_U32;
    d.buckets = (uint32_t)size_up_to(c, COHORT_BUCKETS_MOST);
    d.buckets += !d.buckets;
    const cohort_fn fn = draw_fn(c, d.buckets, bytes_of(d.type));
    d.fn = &fn;
    d.keys = array(c, 0);
    d.bins = array(c, 1);
    d.counts = c->on_host ? NULL : maybe(c, 2);
    note("histogram n %llu, %u bytes, m %u, kind %d\n", (unsigned long long)d.n, bytes_of(d.type), d.buckets,
         (int)fn.kind);
    WORKSPACE(c, cohort_histogram, d);
    judge(c, cohort_histogram(c->t->context, &d));
}

static void call_sort(struct calls *c)
{
    cohort_sort_desc d = COHORT_SORT_INIT;
    cohort_payload column[4];
    d.n = entries(c);
    d.type = sorted_types[below(c, 6)];
    d.descending = one_in(c, 3);
    unsigned bits = 8 * bytes_of(d.type);
    if (one_in(c, 3)) {
        d.low_bit = (uint32_t)below(c, bits);
        d.high_bit = d.low_bit + 1 + (uint32_t)below(c, bits - d.low_bit);
    }
    d.keys = array(c, 0);
    d.keys_out = one_in(c, 6) ? array(c, 0) : array(c, 1);
    d.payloads = draw_columns(c, column);
    d.payload = column;
    d.permutation = one_in(c, 4) ? array(c, 2) : NULL;
    d.permutation_bytes = d.n >> 32 || one_in(c, 4) ? 8 : 4;
    if (one_in(c, 4) && !c->on_host) {
        d.segments = size_up_to(c, 1ull << 33);
        d.segment_offsets = array(c, 3);
    }
    note("sort n %llu, order %d, bits %u to %u, columns %u (%u), permutation %u, segments %llu\n",
         (unsigned long long)d.n, (int)d.type, d.low_bit, d.high_bit, d.payloads,
         d.payloads ? column[0].bytes : 0, d.permutation ? d.permutation_bytes : 0,
         (unsigned long long)d.segments);
    WORKSPACE(c, cohort_sort, d);
    judge(c, cohort_sort(c->t->context, &d));
}

static void call_compact(struct calls *c)
{
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    cohort_payload column[4];
    void *rejected[4] = {NULL, NULL, NULL, NULL};
    cohort_fn fn = COHORT_FN_INIT;
    d.n = entries(c);
    d.type = one_in(c, 2) ? COHORT_U64 : COHORT_U32;
    d.keys = array(c, 0);
    d.kept = maybe(c, 1);
    d.rejected = maybe(c, 2);
    if (one_in(c, 3))
        d.where = array(c, 3);
    else
        fn = draw_fn(c, 0, bytes_of(d.type));
    d.fn = d.where ? NULL : &fn;
    d.payloads = draw_columns(c, column);
    d.payload = column;
    if (one_in(c, 4))
        d.payload_rejected = rejected;
    if (one_in(c, 4) && !c->on_host) {
        d.segments = size_up_to(c, 1ull << 24);
        d.segment_offsets = array(c, 13);
        d.segment_kept = d.segments ? maybe(c, 14) : NULL;
    }
    d.total = one_in(c, 2) && !c->on_host ? array(c, 17) : NULL;
    note("compact n %llu, %u bytes, kind %d, kept %d, rejected %d, columns %u (%u), segments %llu\n",
         (unsigned long long)d.n, bytes_of(d.type), (int)fn.kind, d.kept != NULL, d.rejected != NULL,
         d.payloads, d.payloads ? column[0].bytes : 0, (unsigned long long)d.segments);
    WORKSPACE(c, cohort_compact, d);
    judge(c, cohort_compact(c->t->context, &d));
}

static void call_sums(struct calls *c)
{
    static const cohort_op ops[] = {COHORT_OP_ADD, COHORT_OP_MIN, COHORT_OP_MAX};
    uint64_t n = entries(c);
    cohort_type type = one_in(c, 2) ? COHORT_U64 : COHORT_U32;
    int inclusive = one_in(c, 2);
    note("scan n %llu, %u bytes%s\n", (unsigned long long)n, bytes_of(type), inclusive ? ", inclusive" : "");
    judge(c, cohort_scan(c->t->context, n, type, inclusive, array(c, 0), array(c, (unsigned)below(c, 2))));
    cohort_op op = ops[below(c, 3)];
    type = op == COHORT_OP_ADD ? type : sorted_types[below(c, 6)];
    note("reduce n %llu, type %d, op %d\n", (unsigned long long)n, (int)type, (int)op);
    judge(c, cohort_reduce(c->t->context, op, n, type, array(c, 0), array(c, 1)));
}

/* ---- maps ---------------------------------------------------------------------------------------------- */

/* A growing map takes parts of a batch, which are the smaller the smaller it is, and here it never grows. */
static void map_batch(struct calls *c, cohort_map *map, int width, uint64_t most)
{
    cohort_batch batch = COHORT_BATCH_INIT;
    const int has_values = width != COHORT_WIDTH_32_0 && width != COHORT_WIDTH_64_0;
    c->on_host = one_in(c, 5);
    uint64_t n = entries(c) % most, fallback = 7;
    void *keys = array(c, 0), *values = has_values ? array(c, 1) : NULL,
         *results = has_values ? array(c, 2) : NULL;
    if (one_in(c, 3)) {
        batch.where = maybe(c, 3);
        batch.hit = maybe(c, 4);
        batch.failed = maybe(c, 5);
        batch.counts = maybe(c, 6);
    }
    batch.one_by_one = one_in(c, 10);
    unsigned what = (unsigned)below(c, 8);
    cohort_op op = (cohort_op)(COHORT_OP_ADD + below(c, COHORT_OP_COUNT - COHORT_OP_ADD + 1));
    if (what <= 2)
        batch.winner = one_in(c, 2) ? COHORT_WINNER_ANY : (cohort_winner)below(c, 3);
    note("map width %d, call %u, op %d, n %llu, where %d, hit %d, winner %d%s\n", width, what, (int)op,
         (unsigned long long)n, batch.where != NULL, batch.hit != NULL, (int)batch.winner,
         c->on_host ? ", host" : "");
    if (what == 0)
        judge(c, cohort_map_insert(map, n, keys, values, &batch));
    else if (what == 1)
        judge(c, cohort_map_assign(map, n, keys, values, &batch));
    else if (what == 2)
        judge(c, cohort_map_insert_and_find(map, n, keys, values, &batch));
    else if (what == 3)
        judge(c, cohort_map_find(map, n, keys, results, one_in(c, 2) ? &fallback : NULL, &batch));
    else if (what == 4) {
        batch.hit = NULL;
        judge(c, cohort_map_contains(map, n, keys, array(c, 7), &batch));
    } else if (what == 5)
        judge(c, cohort_map_erase(map, n, keys, &batch));
    else if (what == 6 && has_values)
        judge(c, cohort_map_apply(map, op, n, keys, values, &batch));
    else
        judge(c, cohort_map_run(map, n, array(c, 8), keys, values, results, &batch));
}

static void call_map(struct calls *c)
{
    cohort_map_options o = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map;
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    uint64_t count;
    o.width = (cohort_width)(1 + below(c, 5));
    o.capacity = 1 + size_up_to(c, 1ull << 27);
    o.fixed = one_in(c, 2);
    if (o.width == COHORT_WIDTH_32_32 && one_in(c, 4)) {
        o.probe = COHORT_PROBE_LINEAR;
        o.group = 1u << below(c, 6);
    }
    note("a map of width %d for %llu%s, group %u\n", (int)o.width, (unsigned long long)o.capacity,
         o.fixed ? ", fixed" : "", o.group);
    cohort_status s = cohort_map_create(c->t->context, &o, &map);
    judge(c, s);
    if (s)
        return;
    for (uint64_t k = below(c, 8); k; k--)
        map_batch(c, map, (int)o.width, o.fixed ? UINT64_MAX : 64 * o.capacity + 1000);
    c->on_host = 0;
    if (one_in(c, 3)) {
        uint64_t capacity = size_up_to(c, 1ull << 27);
        note("rehash to %llu\n", (unsigned long long)capacity);
        judge(c, cohort_map_rehash(map, capacity));
    }
    if (one_in(c, 4)) {
        note("statistics and pairs\n");
        judge(c, cohort_map_get_stats(map, &stats));
        judge(c, cohort_map_export(map, 0, NULL, NULL, &count));
    }
    cohort_map_destroy(map);
}

static void query(struct calls *c, cohort_multimap *m)
{
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    uint64_t fallback = 3, n;
    c->on_host = one_in(c, 4);
    n = entries(c);
    note("multimap find, count, retrieve n %llu%s\n", (unsigned long long)n, c->on_host ? ", host" : "");
    judge(c, cohort_multimap_find(m, n, array(c, 0), array(c, 1), one_in(c, 2) ? &fallback : NULL, NULL));
    judge(c, cohort_multimap_count(m, n, array(c, 0), array(c, 2)));
    r.capacity = size_up_to(c, 1000);
    r.queries = maybe(c, 3);
    r.values = maybe(c, 4);
    r.offsets = maybe(c, 5);
    r.outer = one_in(c, 2);
    judge(c, cohort_multimap_retrieve(m, n, array(c, 0), &r));
}

static void call_multimap(struct calls *c)
{
    static const cohort_width widths[] = {COHORT_WIDTH_32_32, COHORT_WIDTH_64_32, COHORT_WIDTH_64_64};
    cohort_multimap_options o = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m = NULL, *both = NULL;
    o.width = widths[below(c, 3)];
    c->on_host = one_in(c, 4);
    uint64_t n = entries(c) % (1 << 22);
    note("a multimap of width %d of %llu pairs%s\n", (int)o.width, (unsigned long long)n,
         c->on_host ? ", host" : "");
    cohort_status s = cohort_multimap_build(c->t->context, &o, n, array(c, 0), array(c, 1),
                                            one_in(c, 3) ? array(c, 2) : NULL, &m);
    judge(c, s);
    if (s)
        return;
    for (uint64_t k = below(c, 3); k; k--)
        query(c, m);
    c->on_host = one_in(c, 4);
    if (one_in(c, 3))
        judge(c, cohort_multimap_export(m, array(c, 0), array(c, 1), array(c, 2)));
    if (one_in(c, 4))
        judge(c, cohort_multimap_union(m, m, &both));
    cohort_multimap_destroy(both);
    cohort_multimap_destroy(m);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static void run_on(struct test *t, unsigned architecture)
{
    static void (*const calls[])(struct calls *) = {call_multisplit, call_multisplit, call_multisplit,
                                                    call_histogram,  call_sort,       call_compact,
                                                    call_sums,       call_map,        call_multimap};
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    struct calls c = {.t = t};
    stand_in.architecture = architecture;
    options.device = "stand-in";
    OK(t, cohort_context_create(&options, &t->context));
    options.device = "cpu";
    options.threads = architecture % 3 + 1;
    OK(t, cohort_context_create(&options, &c.cpu));
    for (int i = 0; i < 20; i++) {
        void *device;
        OK(t, cohort_alloc(t->context, PLACE, &device));
        c.device[i] = device;
        c.host[i] = calloc(1, ARRAY);
        REQUIRE(t, c.host[i]);
    }
    note("==== sm_%u\n", architecture);
    for (uint64_t i = 0; i < test_scale(t, CALLS / 10, CALLS, 4 * CALLS); i++) {
        c.on_host = one_in(&c, 10);
        calls[below(&c, sizeof calls / sizeof *calls)](&c);
        if (one_in(&c, 20)) {
            note("wait: %s\n", cohort_status_name(cohort_wait(t->context)));
            OK(t, cohort_trim(t->context));
        }
    }
    for (int i = 0; i < 20; i++) {
        OK(t, cohort_free(t->context, c.device[i]));
        free(c.host[i]);
    }
    cohort_context_destroy(c.cpu);
    cohort_context_destroy(t->context);
    t->context = NULL;
}

static void random_calls(struct test *t)
{
    const unsigned architectures[] = {80, 90, 120};
    const char *path = getenv("COHORT_LAUNCH_LOG");
    stand_in_begin(t);
    stand_in.log = path ? fopen(path, "w") : NULL;
    REQUIREF(t, !path || stand_in.log, "COHORT_LAUNCH_LOG: %s cannot be written", path);
    for (unsigned i = 0; i < sizeof architectures / sizeof *architectures; i++)
        run_on(t, architectures[i]);
    if (stand_in.log)
        fclose(stand_in.log);
    stand_in.log = NULL;
    stand_in_end();
}

const struct test_case test_cases[] = {
    {"random calls", random_calls, TEST_NO_CONTEXT | TEST_ON_SIM},
    {NULL, NULL, 0},
};
