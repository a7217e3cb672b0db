/* test_multisplit_errors.c: what bad input to cohort_multisplit gets: its own status, a message that names
 * the argument and the value, and nothing written. Of the other calls it is in test_batch_errors.c. */
#include "arrays.h"

#define N ARRAYS_N

/* The function of the descriptors, which a call with a bad one changes, and what it is again after that. */
static cohort_fn fn, good_fn;

static cohort_multisplit_desc split_desc(struct arrays *a)
{
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    fn = good_fn = cohort_fn_modulo();
    d.n = N;
    d.buckets = 8;
    d.fn = &fn;
    d.keys = column_send(a->keys);
    d.keys_out = column_send(a->out);
    d.payloads = 2;
    d.payload = a->column;
    d.permutation = column_send(a->permutation);
    d.offsets = column_send(a->offsets);
    d.counts = column_send(a->counts);
    return d;
}

/* A call with one field of a good descriptor made bad. */
#define BAD(change, status, word, value)                                              \
    do {                                                                              \
        d = good;                                                                     \
        change;                                                                       \
        FAILS(t, t->context, cohort_multisplit(t->context, &d), status, word, value); \
        fn = good_fn;                                                                 \
    } while (0)

static void multisplit_numbers(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_multisplit_desc good = split_desc(&a), d;
    cohort_payload column[2] = {a.column[0], a.column[1]};
    uint64_t bytes = 7;
    FAILS(t, NULL, cohort_multisplit(NULL, &good), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_multisplit(t->context, NULL), COHORT_NULL, "desc", NULL);
    BAD(d.size = 8, COHORT_BAD_STRUCT, "desc", "8");
    BAD(d.size = 0, COHORT_BAD_STRUCT, "desc", "0");
    BAD(d.n = UINT64_MAX, COHORT_OVERFLOW, "n", "18446744073709551615");
    BAD(d.n = UINT64_MAX / 16 + 1, COHORT_OVERFLOW, "n", "1152921504606846976");
    BAD(d.buckets = 0, COHORT_RANGE, "buckets", "0");
    BAD(d.buckets = 65537, COHORT_RANGE, "buckets", "65537");
    BAD(d.buckets = UINT32_MAX, COHORT_RANGE, "buckets", "4294967295");
    BAD(d.type = (cohort_type)0, COHORT_RANGE, "desc.type", "0");
    BAD(d.type = COHORT_I32, COHORT_UNSUPPORTED, "desc.type", "7");
    BAD(d.type = (cohort_type)11, COHORT_RANGE, "desc.type", "11");
    BAD(d.unordered = 2, COHORT_RANGE, "unordered", "2");
    BAD(d.method = (cohort_split_method)7, COHORT_RANGE, "method", "7");
    BAD(d.method = (cohort_split_method)-1, COHORT_RANGE, "method", "-1");
    BAD(d.permutation_bytes = 2, COHORT_RANGE, "permutation_bytes", "2");
    BAD(d.method = COHORT_SPLIT_RESERVED, COHORT_UNSUPPORTED, "RESERVED", "desc.unordered is 0");
    BAD(d.n = (1ull << 32) + 1, COHORT_RANGE, "permutation_bytes", "4294967297");
    BAD(d.payloads = 17, COHORT_RANGE, "payloads", "17");
    BAD(d.payload = NULL, COHORT_NULL, "desc.payload", "2");
    d = good;
    d.payload = column;
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t wrong[] = {0, 3, 5, 12, 32, UINT32_MAX};
        char number[16];
        column[1].bytes = wrong[i];
        snprintf(number, sizeof number, "%u", wrong[i]);
        FAILS(t, t->context, cohort_multisplit(t->context, &d), COHORT_RANGE, "payload[1].bytes", number);
    }
    FAILS(t, t->context, cohort_multisplit_workspace(t->context, &good, NULL), COHORT_NULL, "bytes", NULL);
    FAILS(t, NULL, cohort_multisplit_workspace(NULL, &good, &bytes), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_multisplit_workspace(t->context, NULL, &bytes), COHORT_NULL, "desc", NULL);
    d = good;
    d.buckets = 0;
    FAILS(t, t->context, cohort_multisplit_workspace(t->context, &d, &bytes), COHORT_RANGE, "buckets", "0");
    EQUAL(t, bytes, 0);
    arrays_unharmed(t, &a);
}

static void multisplit_pointers(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_multisplit_desc good = split_desc(&a), d;
    cohort_payload column[2] = {a.column[0], a.column[1]};
    BAD(d.keys = NULL, COHORT_NULL, "desc.keys", "50");
    BAD(d.keys = (const char *)d.keys + 2, COHORT_BAD_POINTER, "desc.keys", "4 bytes");
    BAD(d.keys_out = (char *)d.keys_out + 1, COHORT_BAD_POINTER, "desc.keys_out", "4 bytes");
    BAD(d.permutation = (char *)d.permutation + 2, COHORT_BAD_POINTER, "desc.permutation", "4 bytes");
    BAD(d.offsets = (uint64_t *)(void *)((char *)d.offsets + 4), COHORT_BAD_POINTER, "desc.offsets",
        "8 bytes");
    BAD(d.counts = (cohort_counts *)(void *)((char *)d.counts + 4), COHORT_BAD_POINTER, "desc.counts",
        "8 bytes");
    d = good;
    d.payload = column;
    column[1].in = NULL;
    FAILS(t, t->context, cohort_multisplit(t->context, &d), COHORT_NULL, "desc.payload[1].in", "50");
    column[1] = a.column[1];
    column[1].reserved = 3;
    FAILS(t, t->context, cohort_multisplit(t->context, &d), COHORT_RANGE, "desc.payload[1].reserved", "3");
    column[1].reserved = 0;
    column[1].out = NULL;
    FAILS(t, t->context, cohort_multisplit(t->context, &d), COHORT_NULL, "desc.payload[1].out", "50");
    column[1].out = (char *)a.column[1].out + 4;
    FAILS(t, t->context, cohort_multisplit(t->context, &d), COHORT_BAD_POINTER, "desc.payload[1].out",
          "8 bytes");
    BAD(d.keys = (const void *)(UINTPTR_MAX - 63), COHORT_OVERFLOW, "desc.keys", "200");
    arrays_unharmed(t, &a);
}

static void multisplit_overlaps(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_multisplit_desc good = split_desc(&a), d;
    cohort_payload column[2] = {a.column[0], a.column[1]};
    char *keys = (char *)(uintptr_t)good.keys;
    BAD(d.keys_out = keys + 4, COHORT_RANGE, "desc.keys_out", "desc.keys");
    BAD(d.keys_out = keys - 4, COHORT_RANGE, "desc.keys_out", "desc.keys");
    BAD(d.keys_out = keys + 4 * (N - 1), COHORT_RANGE, "desc.keys_out", "desc.keys");
    BAD(d.permutation = keys, COHORT_RANGE, "desc.permutation", "desc.keys");
    BAD(d.permutation = d.keys_out, COHORT_RANGE, "desc.permutation", "desc.keys_out");
    BAD(d.offsets = column[0].out, COHORT_RANGE, "desc.offsets", "desc.payload[0].out");
    BAD(d.counts = (cohort_counts *)(void *)d.offsets, COHORT_RANGE, "desc.counts", "desc.offsets");
    d = good;
    d.payload = column;
    column[1].out = column[0].out;
    FAILS(t, t->context, cohort_multisplit(t->context, &d), COHORT_RANGE, "desc.payload[1].out",
          "desc.payload[0].out");
    column[1].out = (void *)(uintptr_t)column[0].in;
    FAILS(t, t->context, cohort_multisplit(t->context, &d), COHORT_RANGE, "desc.payload[1].out",
          "desc.payload[0].in");
    column[1] =
        (cohort_payload){column[0].in, (void *)(uintptr_t)column[0].in, 8, 0}; /* its own, and another's */
    FAILS(t, t->context, cohort_multisplit(t->context, &d), COHORT_RANGE, "desc.payload[1].out",
          "desc.payload[0].in");
    BAD((fn = cohort_fn_ids32(d.keys_out)), COHORT_RANGE, "desc.keys_out", "desc.fn->data");
    BAD((fn = cohort_fn_ids32(d.keys), d.keys_out = keys), COHORT_RANGE, "desc.keys_out", "desc.fn->data");
    arrays_unharmed(t, &a);
}

static void workspaces(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_multisplit_desc good = split_desc(&a), d;
    uint64_t bytes;
    void *memory;
    char due[32], *misplaced;
    good.keys_out = (void *)(uintptr_t)good.keys; /* in place: surely it takes some */
    OK(t, cohort_multisplit_workspace(t->context, &good, &bytes));
    CHECK(t, bytes >= N * 4);
    OK(t, cohort_alloc(t->context, bytes + 256, &memory));
    misplaced = (char *)memory + 128;
    snprintf(due, sizeof due, "%llu", (unsigned long long)bytes);
    BAD((d.workspace = memory, d.workspace_bytes = bytes - 1), COHORT_RANGE, "workspace_bytes", due);
    BAD((d.workspace = memory, d.workspace_bytes = 0), COHORT_RANGE, "workspace_bytes", "is 0");
    BAD((d.workspace = misplaced, d.workspace_bytes = bytes), COHORT_BAD_POINTER, "desc.workspace", "256");
    if (t->kind == TEST_CPU || t->memory == TEST_DEVICE) /* else they are not of one kind either */
        BAD((d.workspace = memory, d.workspace_bytes = bytes, d.keys_out = memory), COHORT_RANGE,
            "desc.workspace", "desc.keys_out");
    if (t->kind != TEST_CPU) {
        void *host = aligned_alloc(256, (bytes + 255) / 256 * 256);
        REQUIRE(t, host);
        BAD((d.workspace = host, d.workspace_bytes = bytes), COHORT_BAD_POINTER, "desc.workspace", NULL);
        free(host);
    }
    OK(t, cohort_free(t->context, memory));
    arrays_unharmed(t, &a);
}

/* Arrays of two kinds of memory in one call. */
static void mixed_memory(struct test *t)
{
    if (t->memory == TEST_HOST)
        return;
    struct arrays a = arrays_new(t);
    cohort_multisplit_desc good = split_desc(&a), d;
    cohort_payload column[2] = {a.column[0], a.column[1]};
    uint8_t ids[N] = {0};
    BAD(d.keys_out = a.out->data, COHORT_BAD_POINTER, "desc.keys_out", "host");
    BAD(d.keys = a.keys->data, COHORT_BAD_POINTER, "desc.keys_out", "device");
    BAD(d.permutation = a.permutation->data, COHORT_BAD_POINTER, "desc.permutation", "host");
    BAD(fn = cohort_fn_ids8(ids), COHORT_BAD_POINTER, "desc.fn->data", "host");
    d = good;
    d.payload = column;
    column[1].in = a.in[1]->data;
    FAILS(t, t->context, cohort_multisplit(t->context, &d), COHORT_BAD_POINTER, "desc.payload[1].in", "host");
    arrays_unharmed(t, &a);
}

/* ---- segments and ranks -------------------------------------------------------------------------------- */

static void segments_and_ranks(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_multisplit_desc good = split_desc(&a), d;
    struct column *rank = column_new(t, N, 8);
    const uint64_t offsets[] = {0, 20, N}, falling[] = {0, 30, 20, N}, late[] = {1, 20, N},
                   short_of_n[] = {0, 20, N - 1};
    good.rank = column_send(rank);
    good.rank_bytes = 8;
    good.segments = 2;
    good.segment_offsets = offsets;
    BAD(d.rank_bytes = 3, COHORT_RANGE, "desc.rank_bytes", "3");
    BAD(d.reserved = 7, COHORT_RANGE, "desc.reserved", "7");
    BAD(d.rank = (char *)d.rank + 4, COHORT_BAD_POINTER, "desc.rank", "8 bytes");
    BAD((d.rank = (void *)(uintptr_t)d.keys, d.rank_bytes = 4), COHORT_RANGE, "desc.rank", "desc.keys");
    BAD((d.rank = d.permutation, d.rank_bytes = 4), COHORT_RANGE, "desc.rank", "desc.permutation");
    BAD((d.rank_bytes = 4, d.n = 1ull << 32), COHORT_RANGE, "desc.rank_bytes", "4294967296");
    BAD(d.segments = COHORT_SEGMENT_BUCKETS_MOST, COHORT_UNSUPPORTED, "desc.segments", "4194304");
    BAD(d.segments = UINT64_MAX, COHORT_UNSUPPORTED, "desc.segments", "18446744073709551615");
    BAD(d.segment_offsets = NULL, COHORT_NULL, "desc.segment_offsets", NULL);
    BAD(d.segment_offsets = late, COHORT_RANGE, "desc.segment_offsets[0]", "1");
    BAD((d.segment_offsets = falling, d.segments = 3), COHORT_RANGE, "desc.segment_offsets[2]", "20");
    BAD(d.segment_offsets = short_of_n, COHORT_RANGE, "desc.segment_offsets[2]", "49");
    arrays_unharmed(t, &a);
}

/* ---- functions ----------------------------------------------------------------------------------------- */

static void nothing(uint64_t n, const void *keys, uint32_t key_bytes, const void *state, uint32_t *ids)
{
    (void)keys, (void)key_bytes, (void)state;
    for (uint64_t i = 0; i < n; i++)
        ids[i] = 0;
}

static void functions(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_multisplit_desc good = split_desc(&a), d;
    const uint32_t unsorted[7] = {1, 2, 3, 9, 8, 10, 11}, sorted[7] = {1, 2, 2, 3, 4, 5, 6};
    const uint64_t wide[7] = {1, 2, 1ull << 40, 4, 5, 6, 7};
    const uint16_t table[9] = {0};
    BAD(d.fn = NULL, COHORT_NULL, "desc.fn", NULL);
    BAD(fn.size = 0, COHORT_BAD_STRUCT, "desc.fn", "0");
    BAD(fn.size = sizeof fn - 8, COHORT_BAD_STRUCT, "desc.fn", NULL);
    BAD(fn.kind = (cohort_fn_kind)0, COHORT_RANGE, "desc.fn->kind", "0");
    BAD(fn.kind = (cohort_fn_kind)16, COHORT_RANGE, "desc.fn->kind", "16");
    BAD(fn.reserved = 5, COHORT_RANGE, "desc.fn->reserved", "5");
    BAD(fn = cohort_fn_bits(32, 3), COHORT_RANGE, "desc.fn->a", "32");
    BAD(fn = cohort_fn_bits(0, 17), COHORT_RANGE, "desc.fn->b", "17");
    BAD(fn = cohort_fn_ranges(9, 8), COHORT_RANGE, "desc.fn->a", "9");
    BAD(fn = cohort_fn_delta(3, 0), COHORT_RANGE, "desc.fn->b", "0");
    BAD(fn = cohort_fn_splitters(sorted, 6), COHORT_RANGE, "desc.fn->count", "6");
    BAD(fn = cohort_fn_splitters(sorted, 8), COHORT_RANGE, "desc.fn->count", "8");
    BAD(fn = cohort_fn_splitters(unsorted, 7), COHORT_RANGE, "desc.fn->data[4]", "8");
    BAD(fn = cohort_fn_splitters(NULL, 7), COHORT_NULL, "desc.fn->data", "7");
    BAD(fn = cohort_fn_splitters((const char *)sorted + 1, 7), COHORT_BAD_POINTER, "desc.fn->data",
        "4 bytes");
    BAD((fn = cohort_fn_splitters(wide, 7), d.type = COHORT_U64, d.keys = a.column[0].in,
         d.keys_out = a.column[0].out, d.payloads = 0),
        COHORT_RANGE, "desc.fn->data[3]", "4");
    BAD(fn = cohort_fn_table8(NULL, 3), COHORT_NULL, "desc.fn->data", "3");
    BAD(fn = cohort_fn_table8((const uint8_t *)table, UINT64_MAX), COHORT_OVERFLOW, "desc.fn->count",
        "18446744073709551615");
    BAD(fn = cohort_fn_table16((const uint16_t *)(const void *)((const char *)table + 1), 3),
        COHORT_BAD_POINTER, "desc.fn->data", "2 bytes");
    BAD(fn = cohort_fn_ids8(NULL), COHORT_NULL, "desc.fn->data", "50");
    BAD(fn = cohort_fn_ids16(NULL), COHORT_NULL, "desc.fn->data", "50");
    BAD(fn = cohort_fn_ids32(NULL), COHORT_NULL, "desc.fn->data", "50");
    arrays_unharmed(t, &a);
}

static void user_functions(struct test *t)
{
    struct arrays a = arrays_new(t);
    cohort_multisplit_desc good = split_desc(&a), d;
    good_fn = (cohort_fn){.size = sizeof fn, .kind = COHORT_FN_USER, .host = nothing, .name = "nothing"};
    good_fn.source = "COHORT_FN_DEVICE uint32_t nothing(uint32_t key, const void *state) { return 0; }";
    fn = good_fn;
    BAD(fn.b = 8, COHORT_RANGE, "desc.fn->b", "8");
    BAD((fn.host = NULL, fn.source = NULL), COHORT_NULL, "desc.fn->host", "desc.fn->source");
    BAD(fn.name = NULL, COHORT_NULL, "desc.fn->name", NULL);
    BAD(fn.name = "", COHORT_RANGE, "desc.fn->name", NULL);
    BAD(fn.name = "two words", COHORT_RANGE, "desc.fn->name", "two words");
    BAD(fn.name = "9lives", COHORT_RANGE, "desc.fn->name", "9lives");
    BAD(fn.count = 4, COHORT_NULL, "desc.fn->data", "4");
    BAD(fn.count = UINT64_MAX, COHORT_OVERFLOW, "desc.fn->count", "18446744073709551615");
    if (t->kind == TEST_CPU)
        BAD(fn.host = NULL, COHORT_UNSUPPORTED, "host", NULL);
    else
        BAD(fn.source = NULL, COHORT_UNSUPPORTED, "source", NULL);
    arrays_unharmed(t, &a);
}

/* ---- memory that runs out ------------------------------------------------------------------------------ */

/* At each allocation in turn: an error, nothing kept; with enough, the right answer. */
static void out_of_memory(struct test *t)
{
    struct ledger ledger = {.test = t};
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL;
    options.alloc = test_allocator(t, &ledger);
    OK(t, cohort_context_create(&options, &context));
    uint64_t n = 3000, base = ledger.bytes, failures = 0, offsets[10];
    const cohort_fn ninths = cohort_fn_modulo();
    uint32_t *keys = malloc(n * 4);
    REQUIRE(t, keys);
    for (uint64_t limit = base + 1; limit < base + 400000; limit += limit / 6) {
        cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
        d.n = n;
        d.buckets = 9;
        d.fn = &ninths;
        d.keys = d.keys_out = keys;
        d.offsets = offsets;
        for (uint64_t i = 0; i < n; i++)
            keys[i] = (uint32_t)(n - i);
        ledger.limit = limit;
        cohort_status status = cohort_multisplit(context, &d);
        CHECK(t, status == COHORT_NO_MEMORY || status == COHORT_OK);
        failures += status == COHORT_NO_MEMORY;
        for (uint64_t i = 0; i < n; i++)
            if (status)
                EQUAL(t, keys[i], n - i);
            else if (i)
                CHECK(t, keys[i] % 9 > keys[i - 1] % 9 ||
                             (keys[i] % 9 == keys[i - 1] % 9 && keys[i] < keys[i - 1]));
        ledger.limit = 0;
        cohort_trim(context);
        EQUAL(t, ledger.bytes, base);
    }
    CHECK(t, failures);
    free(keys);
    cohort_context_destroy(context);
    test_ledger_check(t, &ledger);
}

const struct test_case test_cases[] = {
    {"segments_and_ranks", segments_and_ranks, TEST_EACH_MEMORY},
    {"multisplit_numbers", multisplit_numbers, TEST_EACH_MEMORY},
    {"multisplit_pointers", multisplit_pointers, TEST_EACH_MEMORY},
    {"multisplit_overlaps", multisplit_overlaps, TEST_EACH_MEMORY},
    {"workspaces", workspaces, TEST_EACH_MEMORY},
    {"mixed_memory", mixed_memory, TEST_EACH_MEMORY},
    {"functions", functions, TEST_EACH_MEMORY},
    {"user_functions", user_functions, TEST_EACH_MEMORY},
    {"out_of_memory", out_of_memory, 0},
    {NULL, NULL, 0},
};
