/* test_memory.c: memory of a context and copies, the caller's bound, the pool of workspace. */
#include "test.h"
#include "cpu/cpu.h"

/* ---- memory -------------------------------------------------------------------------------------------- */

static void allocates(struct test *t)
{
    enum { COUNT = 40 };
    void *memory[COUNT];
    for (int i = 0; i < COUNT; i++) {
        uint64_t bytes = 1 + test_below(t, 1ull << (i % 16));
        OK(t, cohort_alloc(t->context, bytes, &memory[i]));
        CHECKF(t, (uintptr_t)memory[i] % 256 == 0, "%p is not aligned to 256 bytes", memory[i]);
        OK(t, cohort_fill(t->context, memory[i], i, bytes));
    }
    for (int i = 0; i < COUNT; i++)
        OK(t, cohort_free(t->context, memory[(i * 7) % COUNT]));
    OK(t, cohort_free(t->context, NULL));
}

static void refuses_bad_allocations(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *other;
    void *memory = t, *foreign;
    int local;
    FAILS(t, NULL, cohort_alloc(NULL, 8, &memory), COHORT_NULL, "context", NULL);
    CHECK(t, !memory);
    FAILS(t, t->context, cohort_alloc(t->context, 8, NULL), COHORT_NULL, "out", NULL);
    FAILS(t, t->context, cohort_alloc(t->context, 0, &memory), COHORT_RANGE, "bytes", "0");
    static const uint64_t sizes[] = {1ull << 50, 1ull << 62, 1ull << 63, UINT64_MAX - 4096, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)sizes[i]);
        memory = t;
        FAILS(t, t->context, cohort_alloc(t->context, sizes[i], &memory), COHORT_NO_MEMORY, "bytes", text);
        CHECK(t, !memory);
    }
    OK(t, cohort_alloc(t->context, 100, &memory));
    OK(t, cohort_free(t->context, memory));
    FAILS(t, t->context, cohort_free(t->context, memory), COHORT_BAD_POINTER, "memory", NULL); /* twice */
    FAILS(t, t->context, cohort_free(t->context, &local), COHORT_BAD_POINTER, "memory", NULL);
    FAILS(t, NULL, cohort_free(NULL, &local), COHORT_NULL, "context", NULL);
    OK(t, cohort_context_create(&options, &other));
    OK(t, cohort_alloc(other, 100, &foreign));
    FAILS(t, t->context, cohort_free(t->context, foreign), COHORT_BAD_POINTER, "memory", NULL);
    OK(t, cohort_free(other, foreign));
    cohort_context_destroy(other);
}

static void pattern(struct test *t, unsigned char *data, uint64_t bytes)
{
    uint64_t seed = test_random(t), i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word = test_mix(seed + i);
        memcpy(data + i, &word, 8);
    }
    memset(data + i, (int)(seed & 0xff), bytes - i);
}

/* Host to the context's memory, from there to another piece of it, and back, at odd places and sizes. */
static void copy_around(struct test *t, uint64_t bytes, uint64_t skew)
{
    unsigned char *from = malloc(bytes + 64), *to = malloc(bytes + 64);
    void *a, *b;
    REQUIRE(t, from && to);
    pattern(t, from, bytes + 64);
    memset(to, 0xee, bytes + 64);
    OK(t, cohort_alloc(t->context, bytes + 64, &a));
    OK(t, cohort_alloc(t->context, bytes + 64, &b));
    OK(t, cohort_fill(t->context, b, 0x5a, bytes + 64));
    OK(t, cohort_copy(t->context, (char *)a + skew, from + 3, bytes));
    OK(t, cohort_copy(t->context, (char *)b + 5, (char *)a + skew, bytes));
    OK(t, cohort_copy(t->context, to, b, bytes + 64));
    CHECKF(t, !memcmp(to + 5, from + 3, bytes), "%llu bytes do not come back", (unsigned long long)bytes);
    for (int i = 0; i < 64; i++) {
        unsigned char beside = i < 5 ? to[i] : to[bytes + (uint64_t)i];
        CHECKF(t, beside == 0x5a, "a byte beside %llu changed", (unsigned long long)bytes);
    }
    OK(t, cohort_copy(t->context, to, from, bytes)); /* host to host */
    CHECK(t, !memcmp(to, from, bytes));
    OK(t, cohort_free(t->context, b));
    OK(t, cohort_free(t->context, a));
    free(from);
    free(to);
}

static void copies(struct test *t)
{
    static const uint64_t sizes[] = {1, 7, 64, 4096, 100003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        copy_around(t, sizes[i], i * 9);
}

/* Sizes that several threads share, first in the caches, then past them. */
static void copies_much(struct test *t)
{
    for (int past = 0; past < 2; past++) {
        copy_around(t, (1ull << 20) - 1, 17);
        copy_around(t, (1ull << 20), 32);
        copy_around(t, (9ull << 20) + 77, 1);
        copy_around(t, test_scale(t, 1ull << 24, 1ull << 25, 1ull << 25) + 12345, 33);
        if (t->kind == TEST_CPU)
            cpu_device(t->context)->cache_bytes = 0;
    }
}

static void fills(struct test *t)
{
    static const uint64_t sizes[] = {1, 255, 1 << 16, (1 << 20) + 3, (17 << 20) + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t bytes = sizes[i];
        unsigned char *host = malloc(bytes + 2);
        void *memory;
        REQUIRE(t, host);
        OK(t, cohort_alloc(t->context, bytes + 2, &memory));
        OK(t, cohort_fill(t->context, memory, 1, bytes + 2));
        OK(t, cohort_fill(t->context, (char *)memory + 1, 0x1c3,
                          bytes)); /* the low byte counts, as with memset */
        OK(t, cohort_copy(t->context, host, memory, bytes + 2));
        CHECK(t, host[0] == 1 && host[bytes + 1] == 1);
        uint64_t right = 0;
        for (uint64_t j = 1; j <= bytes; j++)
            right += host[j] == 0xc3;
        EQUAL(t, right, bytes);
        OK(t, cohort_fill(t->context, host, 9, bytes)); /* host memory */
        CHECK(t, host[0] == 9 && host[bytes - 1] == 9);
        OK(t, cohort_free(t->context, memory));
        free(host);
    }
}

static void refuses_bad_copies(struct test *t)
{
    char host[64], other[64];
    void *memory;
    memset(host, 1, sizeof host);
    memset(other, 2, sizeof other);
    OK(t, cohort_alloc(t->context, 64, &memory));
    OK(t, cohort_fill(t->context, memory, 3, 64));
    FAILS(t, NULL, cohort_copy(NULL, host, other, 8), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_copy(t->context, NULL, other, 8), COHORT_NULL, "to", "NULL");
    FAILS(t, t->context, cohort_copy(t->context, memory, NULL, 8), COHORT_NULL, "from", "NULL");
    FAILS(t, t->context, cohort_copy(t->context, host, host + 4, 8), COHORT_RANGE, "from", "8");
    FAILS(t, t->context, cohort_copy(t->context, host + 4, host, 8), COHORT_RANGE, "from", "8");
    FAILS(t, t->context, cohort_copy(t->context, memory, (char *)memory + 31, 32), COHORT_RANGE, "from",
          "32");
    FAILS(t, t->context, cohort_copy(t->context, host, host, 8), COHORT_RANGE, "from", "8");
    FAILS(t, t->context, cohort_copy(t->context, host, other, UINT64_MAX), COHORT_OVERFLOW, "bytes",
          "18446744073709551615");
    FAILS(t, t->context, cohort_copy(t->context, memory, other, UINT64_MAX - 63), COHORT_OVERFLOW, "bytes",
          NULL);
    FAILS(t, NULL, cohort_fill(NULL, host, 0, 8), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_fill(t->context, NULL, 0, 8), COHORT_NULL, "memory", "NULL");
    FAILS(t, t->context, cohort_fill(t->context, memory, 0, UINT64_MAX), COHORT_OVERFLOW, "bytes", NULL);
    OK(t, cohort_copy(t->context, NULL, NULL, 0));
    OK(t, cohort_copy(t->context, host, host, 0));
    OK(t, cohort_fill(t->context, NULL, 0, 0));
    CHECK(t, host[0] == 1 && host[4] == 1 && other[0] == 2);
    OK(t, cohort_copy(t->context, host, memory, 64));
    CHECK(t, host[0] == 3 && host[63] == 3);
    OK(t, cohort_free(t->context, memory));
    FAILS(t, NULL, cohort_trim(NULL), COHORT_NULL, "context", NULL);
    OK(t, cohort_trim(t->context));
}

/* Where libcuda is in the process, a CPU context knows a GPU's memory when it sees it. */
static void knows_memory_of_a_gpu(struct test *t)
{
    cohort_context_options options = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context *cpu;
    char host[64];
    void *memory;
    options.device = "cpu";
    OK(t, cohort_context_create(&options, &cpu));
    OK(t, cohort_alloc(t->context, 64, &memory));
    FAILS(t, cpu, cohort_copy(cpu, host, memory, 64), COHORT_BAD_POINTER, "from", NULL);
    FAILS(t, cpu, cohort_copy(cpu, memory, host, 64), COHORT_BAD_POINTER, "to", NULL);
    FAILS(t, cpu, cohort_fill(cpu, memory, 0, 64), COHORT_BAD_POINTER, "memory", NULL);
    OK(t, cohort_free(t->context, memory));
    cohort_context_destroy(cpu);
}

/* ---- the caller's bound -------------------------------------------------------------------------------- */

static uint64_t held(struct test *t, cohort_context *context)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    OK(t, cohort_context_get_info(context, &info));
    return info.memory_held;
}

/* What the allocator has given is what is held, and never more than the bound, whoever takes it. */
static void bounds_all_memory(struct test *t)
{
    enum { BOUND = 200000 };
    cohort_context_options options = test_context_options(t);
    struct ledger ledger = {0};
    cohort_context *context;
    void *workspace, *memory;
    options.alloc = test_allocator(t, &ledger);
    options.memory_bytes = BOUND;
    OK(t, cohort_context_create(&options, &context));
    EQUAL(t, held(t, context), ledger.bytes);
    uint64_t left = BOUND - ledger.bytes;
    FAILS(t, context, cohort_alloc(context, left + 1, &memory), COHORT_NO_MEMORY, "memory_bytes is 200000",
          NULL);
    OK(t, cohort_alloc(context, left, &memory)); /* to the last byte */
    EQUAL(t, held(t, context), BOUND);
    FAILS(t, context, pool_take(context, 1, &workspace), COHORT_NO_MEMORY, "memory_bytes", "200000");
    OK(t, cohort_free(context, memory));
    OK(t, pool_take(context, 120000, &workspace));
    pool_give(context, workspace);
    OK(t, cohort_alloc(context, 150000, &memory)); /* idle workspace has gone back */
    EQUAL(t, held(t, context), ledger.bytes);
    OK(t, cohort_free(context, memory));
    CHECK(t, ledger.most_bytes <= BOUND);
    cohort_context_destroy(context);
    test_ledger_check(t, &ledger);
    options.memory_bytes = 1;
    FAILS(t, NULL, cohort_context_create(&options, &context), COHORT_NO_MEMORY, "memory_bytes", "1");
    test_ledger_check(t, &ledger);
}

/* A map that may not grow any further says so, and has lost nothing. */
static void bounds_a_growing_map(struct test *t)
{
    enum { BOUND = 1 << 20, BATCH = 1000 };
    cohort_context_options options = test_context_options(t);
    cohort_map_options wanted = COHORT_MAP_OPTIONS_INIT;
    struct ledger ledger = {0};
    cohort_context *context;
    cohort_map *map;
    uint64_t keys[BATCH], values[BATCH], n = 0, size, fallback = UINT64_MAX;
    cohort_status status = COHORT_OK;
    options.alloc = test_allocator(t, &ledger);
    options.memory_bytes = BOUND;
    OK(t, cohort_context_create(&options, &context));
    wanted.capacity = BATCH;
    OK(t, cohort_map_create(context, &wanted, &map));
    for (int batch = 0; batch < 200 && !status; batch++) {
        for (uint64_t i = 0; i < BATCH; i++)
            keys[i] = test_mix(values[i] = n + i);
        status = cohort_map_insert(map, BATCH, keys, values, NULL);
        n += status ? 0 : BATCH;
    }
    STATUS(t, status, COHORT_NO_MEMORY);
    CHECK(t, strstr(cohort_message(context), "memory") && ledger.most_bytes <= BOUND && n >= 10000);
    OK(t, cohort_map_size(map, &size));
    CHECKF(t, size >= n && size < n + BATCH, "%llu pairs after %llu", (unsigned long long)size,
           (unsigned long long)n);
    for (uint64_t first = 0; first < n; first += BATCH) {
        for (uint64_t i = 0; i < BATCH; i++)
            keys[i] = test_mix(first + i);
        OK(t, cohort_map_find(map, BATCH, keys, values, &fallback, NULL));
        for (uint64_t i = 0; i < BATCH; i++)
            CHECK(t, values[i] == first + i);
    }
    cohort_map_destroy(map);
    cohort_context_destroy(context);
    test_ledger_check(t, &ledger);
}

/* ---- workspace ----------------------------------------------------------------------------------------- */

static void reuses_workspace(struct test *t)
{
    struct pool *pool = &t->context->pool;
    uint64_t before;
    void *a, *b, *c;
    OK(t, cohort_trim(t->context));
    before = pool->bytes;
    OK(t, pool_take(t->context, 100000, &a));
    OK(t, pool_take(t->context, 100000, &b));
    CHECK(t, a != b && (uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0);
    uint64_t two = pool->bytes;
    CHECK(t, two - before >= 200000 && two - before <= 213000); /* a sixteenth at most */
    pool_give(t->context, a);
    OK(t, pool_take(t->context, 99000, &c));
    CHECK(t, c == a);
    EQUAL(t, pool->bytes, two);
    pool_give(t->context, b);
    pool_give(t->context, c);
    pool_give(t->context, NULL);
    OK(t, pool_take(t->context, 10, &a)); /* a small block does not tie up a large one */
    CHECK(t, pool->bytes > two);
    OK(t, cohort_trim(t->context));
    CHECK(t, pool->bytes < two);
    pool_give(t->context, a);
    OK(t, cohort_trim(t->context));
    EQUAL(t, pool->bytes, before);
    FAILS(t, t->context, pool_take(t->context, UINT64_MAX, &a), COHORT_NO_MEMORY, "bytes", NULL);
    FAILS(t, t->context, pool_take(t->context, 1ull << 60, &a), COHORT_NO_MEMORY, "bytes", NULL);
    EQUAL(t, pool->bytes, before);
}

/* What is taken for tables: no more than was asked for, shared by requests that are nearly as large. */
static void reuses_tables(struct test *t)
{
    struct pool *pool = &t->context->pool;
    void *a, *b, *c;
    OK(t, cohort_trim(t->context));
    const uint64_t before = pool->bytes;
    OK(t, pool_take_close(t->context, 100001, &a));
    EQUAL(t, pool->bytes - before, 100096);
    OK(t, pool_take_close(t->context, 100001, &b)); /* a is lent */
    CHECK(t, a != b && (uintptr_t)b % 256 == 0);
    EQUAL(t, pool->bytes - before, 2 * 100096);
    pool_drop(t->context, b);
    pool_drop(t->context, NULL);
    EQUAL(t, pool->bytes - before, 100096);
    pool_give(t->context, a);
    OK(t, pool_take_close(t->context, 96000, &b));
    CHECK(t, a == b);
    OK(t, pool_take_close(t->context, 96000, &c)); /* that one is lent again */
    CHECK(t, c != b);
    pool_drop(t->context, c);
    pool_give(t->context, b);
    OK(t, pool_take_close(t->context, 70000, &a)); /* less than fifteen sixteenths of it */
    EQUAL(t, pool->bytes - before, 100096 + 70144);
    OK(t, pool_take_close(t->context, 104000, &b)); /* the one that is a little too small makes way */
    EQUAL(t, pool->bytes - before, 104192 + 70144);
    pool_give(t->context, a);
    pool_give(t->context, b);
    FAILS(t, t->context, pool_take_close(t->context, UINT64_MAX, &a), COHORT_NO_MEMORY, "bytes", NULL);
    FAILS(t, t->context, pool_take_close(t->context, 1ull << 60, &a), COHORT_NO_MEMORY, "bytes", NULL);
    OK(t, pool_take_close(t->context, 0, &a));
    pool_give(t->context, a);
    OK(t, cohort_trim(t->context));
    EQUAL(t, pool->bytes, before);
}

static void rounds_workspace_little(struct test *t)
{
    for (int i = 0; i < 200; i++) {
        uint64_t bytes = test_below(t, 1ull << (1 + i % 21)), before = t->context->pool.bytes, most;
        void *memory;
        OK(t, pool_take(t->context, bytes, &memory));
        most = bytes < 1024 ? 1024 : bytes + bytes / 16 + 256;
        CHECKF(t, t->context->pool.bytes - before <= most, "%llu bytes take %llu", (unsigned long long)bytes,
               (unsigned long long)(t->context->pool.bytes - before));
        OK(t, cohort_fill(t->context, memory, 0, bytes));
        pool_give(t->context, memory);
        OK(t, cohort_trim(t->context));
    }
}

/* Idle workspace makes way where memory is short. */
static void gives_way(struct test *t)
{
    cohort_context_options options = test_context_options(t);
    struct ledger ledger = {.limit = 100000};
    cohort_context *context;
    void *workspace, *memory;
    options.alloc = test_allocator(t, &ledger);
    OK(t, cohort_context_create(&options, &context));
    REQUIRE(t, !pool_take(context, 60000, &workspace));
    FAILS(t, context, cohort_alloc(context, 60000, &memory), COHORT_NO_MEMORY, "bytes", "60000");
    pool_give(context, workspace);
    STATUS(t, cohort_alloc(context, 60000, &memory), COHORT_OK);
    STATUS(t, pool_take(context, 60000, &workspace), COHORT_NO_MEMORY);
    STATUS(t, cohort_free(context, memory), COHORT_OK);
    STATUS(t, pool_take(context, 60000, &workspace), COHORT_OK);
    cohort_context_destroy(context);
    test_ledger_check(t, &ledger);
}

/* A call on n entries with columns like this one, in place: what it takes is no less than `each` bytes an
 * entry, or more than there can be. */
static void endless_workspace(struct test *t, uint64_t n, uint32_t columns, uint32_t bytes)
{
    static _Alignas(16) uint64_t memory[2]; /* looked at by nobody */
    cohort_payload column[COHORT_PAYLOADS_MOST];
    cohort_multisplit_desc m = COHORT_MULTISPLIT_INIT;
    cohort_sort_desc s = COHORT_SORT_INIT;
    uint64_t each = 4 + (uint64_t)columns * bytes, least = n < (1ull << 62) / each ? n * each : 1ull << 62;
    uint64_t split = 0, sort = 0;
    for (uint32_t c = 0; c < columns; c++)
        column[c] = (cohort_payload){memory, memory, bytes, 0};
    m.n = s.n = n;
    m.payloads = s.payloads = columns;
    m.payload = s.payload = column;
    m.keys = m.keys_out = s.keys_out = memory;
    s.keys = memory;
    m.buckets = 65536;
    const cohort_fn fn = cohort_fn_hash(1);
    m.fn = &fn;
    OK(t, cohort_multisplit_workspace(t->context, &m, &split));
    OK(t, cohort_sort_workspace(t->context, &s, &sort));
    CHECKF(t, split >= least && sort >= least,
           "0x%llx entries of 4 + %u * %u bytes take 0x%llx to split and 0x%llx to sort",
           (unsigned long long)n, columns, bytes, (unsigned long long)split, (unsigned long long)sort);
}

/* For more entries than there can be memory for more than there can be is asked, and not what 64 bits leave
 * of it. */
static void endless_workspaces(struct test *t)
{
    for (uint32_t columns = 0; columns <= COHORT_PAYLOADS_MOST; columns++)
        for (uint32_t bytes = 1; bytes <= 16; bytes *= 2) {
            endless_workspace(t, 1ull << 58, columns, bytes);
            endless_workspace(t, UINT64_MAX / 16, columns, bytes);
        }
}

const struct test_case test_cases[] = {
    {"allocates", allocates, 0},
    {"refuses bad allocations", refuses_bad_allocations, 0},
    {"copies", copies, 0},
    {"copies much", copies_much, TEST_ON_CPU | TEST_ON_CUDA},
    {"fills", fills, 0},
    {"refuses bad copies", refuses_bad_copies, 0},
    {"knows memory of a GPU", knows_memory_of_a_gpu, TEST_ON_CUDA},
    {"bounds all memory", bounds_all_memory, TEST_NO_CONTEXT},
    {"bounds a growing map", bounds_a_growing_map, TEST_NO_CONTEXT},
    {"reuses workspace", reuses_workspace, 0},
    {"reuses tables", reuses_tables, 0},
    {"rounds workspace little", rounds_workspace_little, 0},
    {"endless workspaces", endless_workspaces, 0},
    {"gives way", gives_way, TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
