/* test_batch_errors.c: what bad input to cohort_histogram, cohort_compact, cohort_sort, cohort_scan and
 * cohort_reduce gets: its own status, a message that names the argument and the value, and nothing written.
 * And what they do where there is nothing to do. */
#include "arrays.h"

#define N ARRAYS_N

/* The function of the descriptors, which a call with a bad one changes, and what it is again after that. */
static cohort_fn fn, good_fn;

/* A call with one field of a good descriptor made bad. */
#define BAD(call, change, status, word, value)                           \
    do {                                                                 \
        d = good;                                                        \
        change;                                                          \
        FAILS(t, t->context, call(t->context, &d), status, word, value); \
        fn = good_fn;                                                    \
    } while (0)

/* Of one byte too few, and at a place that is none. */
#define BAD_WORKSPACE(call, ask)                                                                       \
    do {                                                                                               \
        char due[32];                                                                                  \
        void *memory;                                                                                  \
        bytes = 7;                                                                                     \
        d = good;                                                                                      \
        d.size = 1;                                                                                    \
        FAILS(t, t->context, ask(t->context, &d, &bytes), COHORT_BAD_STRUCT, "desc", "1");             \
        EQUAL(t, bytes, 0); /* not left as it was */                                                   \
        OK(t, ask(t->context, &good, &bytes));                                                         \
        OK(t, cohort_alloc(t->context, bytes + 256, &memory));                                         \
        snprintf(due, sizeof due, "needs %llu", (unsigned long long)bytes);                            \
        if (bytes)                                                                                     \
            BAD(call, (d.workspace = memory, d.workspace_bytes = bytes - 1), COHORT_RANGE,             \
                "workspace_bytes", due);                                                               \
        BAD(call, (d.workspace = (char *)memory + 128, d.workspace_bytes = bytes), COHORT_BAD_POINTER, \
            "desc.workspace", "256");                                                                  \
        OK(t, cohort_free(t->context, memory));                                                        \
    } while (0)

static void histograms(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_histogram_desc good = COHORT_HISTOGRAM_INIT, d;
    uint64_t bytes;
    good.n = N;
    good.buckets = 8;
    fn = good_fn = cohort_fn_modulo();
    good.fn = &fn;
    good.keys = column_send(a.keys);
    good.bins = column_send(a.offsets);
    good.counts = column_send(a.counts);
    FAILS(t, NULL, cohort_histogram(NULL, &good), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_histogram(t->context, NULL), COHORT_NULL, "desc", NULL);
    FAILS(t, t->context, cohort_histogram_workspace(t->context, &good, NULL), COHORT_NULL, "bytes", NULL);
    FAILS(t, t->context, cohort_histogram_workspace(t->context, NULL, &bytes), COHORT_NULL, "desc", NULL);
    BAD(cohort_histogram, d.size = 1, COHORT_BAD_STRUCT, "desc", "1");
    BAD(cohort_histogram, d.n = UINT64_MAX, COHORT_OVERFLOW, "n", "18446744073709551615");
    BAD(cohort_histogram, d.buckets = 0, COHORT_RANGE, "buckets", "0");
    BAD(cohort_histogram, d.buckets = 65537, COHORT_RANGE, "buckets", "65537");
    BAD(cohort_histogram, d.type = COHORT_U16, COHORT_UNSUPPORTED, "desc.type", "2");
    BAD(cohort_histogram, fn.kind = (cohort_fn_kind)0, COHORT_RANGE, "desc.fn->kind", "0");
    BAD(cohort_histogram, d.keys = NULL, COHORT_NULL, "desc.keys", "50");
    BAD(cohort_histogram, d.bins = NULL, COHORT_NULL, "desc.bins", "8");
    BAD(cohort_histogram, d.bins = (uint64_t *)(void *)((char *)d.bins + 4), COHORT_BAD_POINTER, "desc.bins",
        "8 bytes");
    BAD(cohort_histogram, d.bins = (uint64_t *)((uintptr_t)d.keys & ~(uintptr_t)7), COHORT_RANGE, "desc.bins",
        "desc.keys");
    BAD(cohort_histogram, d.counts = (cohort_counts *)(void *)d.bins, COHORT_RANGE, "desc.counts",
        "desc.bins");
    BAD(cohort_histogram, d.keys = (const char *)d.keys + 2, COHORT_BAD_POINTER, "desc.keys", "4 bytes");
    BAD(cohort_histogram, d.counts = (cohort_counts *)(void *)((char *)d.counts + 4), COHORT_BAD_POINTER,
        "desc.counts", "8 bytes");
    BAD_WORKSPACE(cohort_histogram, cohort_histogram_workspace);
    arrays_unharmed(t, &a);
}

static void compactions(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_compact_desc good = COHORT_COMPACT_INIT, d;
    const uint64_t falling[4] = {0, 30, 20, N}, late[4] = {1, 2, 3, N}, early[4] = {0, 2, 3, N - 1};
    void *rejected[2] = {a.column[0].out, NULL};
    uint64_t bytes;
    good.n = N;
    fn = good_fn = cohort_fn_between(3, 9);
    good.fn = &fn;
    good.keys = column_send(a.keys);
    good.kept = column_send(a.out);
    good.rejected = column_send(a.permutation);
    good.payloads = 2;
    good.payload = a.column;
    good.total = column_send(a.counts);
    FAILS(t, NULL, cohort_compact(NULL, &good), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_compact(t->context, NULL), COHORT_NULL, "desc", NULL);
    FAILS(t, t->context, cohort_compact_workspace(t->context, &good, NULL), COHORT_NULL, "bytes", NULL);
    FAILS(t, t->context, cohort_compact_workspace(t->context, NULL, &bytes), COHORT_NULL, "desc", NULL);
    BAD(cohort_compact, d.size = 1, COHORT_BAD_STRUCT, "desc", "1");
    BAD(cohort_compact, d.n = UINT64_MAX, COHORT_OVERFLOW, "n", "18446744073709551615");
    BAD(cohort_compact, d.type = COHORT_U8, COHORT_UNSUPPORTED, "desc.type", "1");
    BAD(cohort_compact, d.payloads = 99, COHORT_RANGE, "payloads", "99");
    BAD(cohort_compact, fn = cohort_fn_modulo(), COHORT_RANGE, "desc.fn->kind", "3");
    BAD(cohort_compact, fn = cohort_fn_hash(1), COHORT_RANGE, "desc.fn->kind", "2");
    BAD(cohort_compact, fn = cohort_fn_ranges(1, 2), COHORT_RANGE, "desc.fn->kind", "4");
    BAD(cohort_compact, fn = cohort_fn_delta(1, 2), COHORT_RANGE, "desc.fn->kind", "8");
    BAD(cohort_compact, d.where = d.keys, COHORT_RANGE, "desc.fn", "desc.where");
    BAD(cohort_compact, d.fn = NULL, COHORT_NULL, "desc.fn", NULL);
    BAD(cohort_compact, (fn.kind = (cohort_fn_kind)0), COHORT_RANGE, "desc.fn->kind", "0");
    BAD(cohort_compact, (fn = cohort_fn_splitters(falling, 65536)), COHORT_RANGE, "desc.fn->count", "65536");
    BAD(cohort_compact, d.keys = NULL, COHORT_NULL, "desc.keys", "50");
    BAD(cohort_compact, d.kept = (char *)(uintptr_t)d.keys + 8, COHORT_RANGE, "desc.kept", "desc.keys");
    BAD(cohort_compact, d.rejected = d.kept, COHORT_RANGE, "desc.rejected", "desc.kept");
    BAD(cohort_compact, d.payload_rejected = rejected, COHORT_RANGE, "desc.payload_rejected[0]",
        "desc.payload[0].out");
    BAD(cohort_compact, d.segments = 3, COHORT_NULL, "desc.segment_offsets", "4");
    BAD(cohort_compact, (d.segments = UINT64_MAX, d.segment_offsets = falling), COHORT_OVERFLOW,
        "desc.segments", "18446744073709551615");
    BAD(cohort_compact, (d.segments = 3, d.segment_offsets = falling), COHORT_RANGE,
        "desc.segment_offsets[2]", "20");
    BAD(cohort_compact, (d.segments = 3, d.segment_offsets = late), COHORT_RANGE, "desc.segment_offsets[0]",
        "1");
    BAD(cohort_compact, (d.segments = 3, d.segment_offsets = early), COHORT_RANGE, "desc.segment_offsets[3]",
        "49");
    BAD(cohort_compact, d.segment_kept = (uint64_t *)a.column[0].out, COHORT_RANGE, "desc.segment_kept", "0");
    BAD(cohort_compact, d.total = (uint64_t *)(void *)((char *)d.total + 4), COHORT_BAD_POINTER, "desc.total",
        "8 bytes");
    BAD(cohort_compact, d.keys = (const char *)d.keys + 2, COHORT_BAD_POINTER, "desc.keys", "4 bytes");
    BAD(cohort_compact, d.kept = (char *)d.kept + 1, COHORT_BAD_POINTER, "desc.kept", "4 bytes");
    BAD(cohort_compact, d.rejected = (char *)d.rejected + 2, COHORT_BAD_POINTER, "desc.rejected", "4 bytes");
    BAD(cohort_compact,
        (d.segments = 3, d.segment_offsets = (const uint64_t *)(const void *)((char *)good.total + 4)),
        COHORT_BAD_POINTER, "desc.segment_offsets", "8 bytes");
    good.kept = (void *)(uintptr_t)good.keys; /* in place: surely it takes some */
    BAD_WORKSPACE(cohort_compact, cohort_compact_workspace);
    arrays_unharmed(t, &a);
}

static void sorts(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_sort_desc good = COHORT_SORT_INIT, d;
    const uint64_t falling[4] = {0, 30, 20, N};
    uint64_t bytes;
    good.n = N;
    good.keys = column_send(a.keys);
    good.keys_out = column_send(a.out);
    good.payloads = 2;
    good.payload = a.column;
    good.permutation = column_send(a.permutation);
    FAILS(t, NULL, cohort_sort(NULL, &good), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_sort(t->context, NULL), COHORT_NULL, "desc", NULL);
    FAILS(t, t->context, cohort_sort_workspace(t->context, &good, NULL), COHORT_NULL, "bytes", NULL);
    FAILS(t, t->context, cohort_sort_workspace(t->context, NULL, &bytes), COHORT_NULL, "desc", NULL);
    BAD(cohort_sort, d.size = 1, COHORT_BAD_STRUCT, "desc", "1");
    BAD(cohort_sort, d.n = UINT64_MAX, COHORT_OVERFLOW, "n", "18446744073709551615");
    BAD(cohort_sort, d.type = (cohort_type)0, COHORT_RANGE, "desc.type", "0");
    BAD(cohort_sort, d.type = (cohort_type)11, COHORT_RANGE, "desc.type", "11");
    BAD(cohort_sort, d.type = COHORT_I16, COHORT_UNSUPPORTED, "desc.type", "6");
    BAD(cohort_sort, d.descending = 2, COHORT_RANGE, "descending", "2");
    BAD(cohort_sort, d.high_bit = 33, COHORT_RANGE, "high_bit", "33");
    BAD(cohort_sort, d.low_bit = 32, COHORT_RANGE, "low_bit", "32");
    BAD(cohort_sort, (d.low_bit = 9, d.high_bit = 9), COHORT_RANGE, "low_bit", "9");
    BAD(cohort_sort, d.permutation_bytes = 16, COHORT_RANGE, "permutation_bytes", "16");
    BAD(cohort_sort, d.n = (1ull << 32) + 1, COHORT_RANGE, "permutation_bytes", "4294967297");
    BAD(cohort_sort, d.payloads = 17, COHORT_RANGE, "payloads", "17");
    BAD(cohort_sort, d.payload = NULL, COHORT_NULL, "desc.payload", "2");
    BAD(cohort_sort, d.keys = NULL, COHORT_NULL, "desc.keys", "50");
    BAD(cohort_sort, (d.keys_out = NULL, d.permutation = NULL, d.payloads = 0), COHORT_NULL, "desc.keys_out",
        "50");
    BAD(cohort_sort, d.keys_out = (char *)(uintptr_t)d.keys + 4, COHORT_RANGE, "desc.keys_out", "desc.keys");
    BAD(cohort_sort, d.permutation = d.keys_out, COHORT_RANGE, "desc.permutation", "desc.keys_out");
    BAD(cohort_sort, d.keys = (const char *)d.keys + 2, COHORT_BAD_POINTER, "desc.keys", "4 bytes");
    BAD(cohort_sort, d.keys_out = (char *)d.keys_out + 1, COHORT_BAD_POINTER, "desc.keys_out", "4 bytes");
    BAD(cohort_sort, (d.type = COHORT_F64, d.keys = (char *)a.column[0].out + 4), COHORT_BAD_POINTER,
        "desc.keys", "8 bytes");
    BAD(cohort_sort, d.permutation = (char *)d.permutation + 2, COHORT_BAD_POINTER, "desc.permutation",
        "4 bytes");
    BAD(cohort_sort, d.segments = 3, COHORT_NULL, "desc.segment_offsets", "4");
    BAD(cohort_sort, (d.segments = 3, d.segment_offsets = falling), COHORT_RANGE, "desc.segment_offsets[2]",
        "20");
    BAD_WORKSPACE(cohort_sort, cohort_sort_workspace);
    d = good;
    d.segments = 1ull << 32;
    if (t->kind == TEST_CPU)
        OK(t, cohort_sort_workspace(t->context, &d, &bytes));
    else
        FAILS(t, t->context, cohort_sort_workspace(t->context, &d, &bytes), COHORT_UNSUPPORTED,
              "desc.segments", "4294967296");
    arrays_unharmed(t, &a);
}

static void sums(struct test *t)
{
    struct arrays a = arrays_new(t);
    char *in = column_send(a.in[0]), *out = column_send(a.to[0]);
    cohort_context *c = t->context;
    FAILS(t, NULL, cohort_scan(NULL, N, COHORT_U64, 0, in, out), COHORT_NULL, "context", NULL);
    FAILS(t, c, cohort_scan(c, N, COHORT_U16, 0, in, out), COHORT_UNSUPPORTED, "type", "2");
    FAILS(t, c, cohort_scan(c, UINT64_MAX, COHORT_U64, 0, in, out), COHORT_OVERFLOW, "n",
          "18446744073709551615");
    FAILS(t, c, cohort_scan(c, N, COHORT_U64, 2, in, out), COHORT_RANGE, "inclusive", "2");
    FAILS(t, c, cohort_scan(c, N, COHORT_U64, 0, NULL, out), COHORT_NULL, "in", "50");
    FAILS(t, c, cohort_scan(c, N, COHORT_U64, 0, in, NULL), COHORT_NULL, "out", "50");
    FAILS(t, c, cohort_scan(c, N, COHORT_U64, 0, in + 4, out), COHORT_BAD_POINTER, "in", "8 bytes");
    FAILS(t, c, cohort_scan(c, N, COHORT_U64, 0, in, in + 8), COHORT_RANGE, "out", "overlaps in");
    FAILS(t, NULL, cohort_reduce(NULL, COHORT_OP_ADD, N, COHORT_U64, in, out), COHORT_NULL, "context", NULL);
    FAILS(t, c, cohort_reduce(c, COHORT_OP_OR, N, COHORT_U64, in, out), COHORT_RANGE, "op", "7");
    FAILS(t, c, cohort_reduce(c, COHORT_OP_ADD, N, (cohort_type)16, in, out), COHORT_RANGE, "type", "16");
    FAILS(t, c, cohort_reduce(c, COHORT_OP_MIN, N, COHORT_I8, in, out), COHORT_UNSUPPORTED, "type", "5");
    FAILS(t, c, cohort_reduce(c, COHORT_OP_ADD, N, COHORT_F64, in, out), COHORT_UNSUPPORTED, "type", "10");
    FAILS(t, c, cohort_scan(c, N, COHORT_F32, 0, in, out), COHORT_UNSUPPORTED, "type", "9");
    FAILS(t, c, cohort_reduce(c, COHORT_OP_ADD, UINT64_MAX, COHORT_U64, in, out), COHORT_OVERFLOW, "n",
          "18446744073709551615");
    FAILS(t, c, cohort_reduce(c, COHORT_OP_ADD, N, COHORT_U64, NULL, out), COHORT_NULL, "in", "50");
    FAILS(t, c, cohort_reduce(c, COHORT_OP_ADD, N, COHORT_U64, in, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, c, cohort_reduce(c, COHORT_OP_ADD, N, COHORT_U64, in, in), COHORT_RANGE, "out", "overlaps in");
    arrays_unharmed(t, &a);
}

/* With nothing to do nothing need be there, and what counts is still written. */
static void nothing_to_do(struct test *t)
{
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    cohort_histogram_desc h = COHORT_HISTOGRAM_INIT;
    cohort_compact_desc k = COHORT_COMPACT_INIT;
    cohort_sort_desc s = COHORT_SORT_INIT;
    struct column *offsets = column_new(t, 5, 8), *bins = column_new(t, 5, 8), *counts = column_new(t, 5, 8);
    struct column *total = column_new(t, 1, 8), *least = column_new(t, 1, 8);
    memset(offsets->data, 0x5c, 40);
    memset(bins->data, 0x5c, 40);
    memset(total->data, 0x5c, 8);
    d.buckets = h.buckets = 4;
    const cohort_fn modulo = cohort_fn_modulo(), between = cohort_fn_between(1, 2);
    d.fn = h.fn = &modulo;
    k.fn = &between;
    d.offsets = column_send(offsets);
    d.counts = column_send(counts);
    h.bins = column_send(bins);
    k.total = column_send(total);
    OK(t, cohort_multisplit(t->context, &d));
    OK(t, cohort_histogram(t->context, &h));
    OK(t, cohort_compact(t->context, &k));
    OK(t, cohort_sort(t->context, &s));
    OK(t, cohort_scan(t->context, 0, COHORT_U32, 0, NULL, NULL));
    OK(t, cohort_reduce(t->context, COHORT_OP_MIN, 0, COHORT_U32, NULL, column_send(least)));
    OK(t, cohort_wait(t->context));
    struct column *const all[] = {offsets, bins, counts, total, least};
    for (int i = 0; i < 5; i++)
        column_fetch(all[i]);
    for (uint64_t b = 0; b <= 4; b++)
        EQUAL(t, column_get(offsets, b), 0);
    for (uint64_t b = 0; b < 4; b++)
        EQUAL(t, column_get(bins, b), 0);
    EQUAL(t, column_get(bins, 4), 0x5c5c5c5c5c5c5c5cull);
    const uint64_t due[5] = {0, 0, 0, 0, UINT64_MAX};
    for (uint64_t i = 0; i < 5; i++)
        EQUAL(t, column_get(counts, i), due[i]);
    EQUAL(t, column_get(total, 0), 0);
    EQUAL(t, column_get(least, 0), UINT64_MAX);
}

const struct test_case test_cases[] = {
    {"histograms", histograms, TEST_EACH_MEMORY},
    {"compactions", compactions, TEST_EACH_MEMORY},
    {"sorts", sorts, TEST_EACH_MEMORY},
    {"sums", sums, TEST_EACH_MEMORY},
    {"nothing_to_do", nothing_to_do, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
