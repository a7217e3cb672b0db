/* test_multisplit.c: multisplits and histograms, of all functions, methods, shapes and kinds of memory,
 * against a walk in order. */
#include "split.h"

#define METHODS (COHORT_SPLIT_DIGITS + 1)

static void histogram_do(struct test *, cohort_fn_kind, uint64_t n, uint64_t m, unsigned key_bytes, int bad);

static const uint64_t edge_buckets[] = {1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 2048, 2049, 65535, 65536};
#define EDGE_BUCKETS (sizeof edge_buckets / sizeof *edge_buckets)

/* Each function, with both widths of keys. */
static void functions(struct test *t)
{
    for (cohort_fn_kind kind = COHORT_FN_BITS; kind <= COHORT_FN_IDS32; kind++)
        for (unsigned key_bytes = 4; key_bytes <= 8; key_bytes += 4)
            for (uint64_t round = test_scale(t, 3, 8, 30); round > 0; round--) {
                struct split_plan p =
                    split_plan(test_below(t, test_size(t, 20000, 700)), 2 + test_below(t, 300));
                p.kind = kind;
                p.key_bytes = key_bytes;
                p.columns = 1;
                p.width[0] = 4;
                p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
                split_do(t, &p);
            }
}

/* Each method, for all numbers of buckets about which something changes, in order and in any. */
static void methods(struct test *t)
{
    for (int method = 0; method < METHODS; method++)
        for (uint64_t i = 0; i < EDGE_BUCKETS; i++)
            for (int unordered = 0; unordered <= 1; unordered++)
                for (unsigned key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
                    struct split_plan p = split_plan(test_size(t, 30011, 1009), edge_buckets[i]);
                    if (t->kind == TEST_SIM && p.m > 5000 && (unordered || key_bytes == 8) && t->quick)
                        continue;
                    if (!test_drawn(t, (uint64_t)method + i + (unsigned)unordered * 2 + key_bytes / 4,
                                    test_size(t, 1, 4)))
                        continue;
                    p.method = (cohort_split_method)method;
                    p.unordered = unordered;
                    p.key_bytes = key_bytes;
                    p.columns = 1;
                    p.width[0] = (unsigned char)key_bytes;
                    p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
                    split_do(t, &p);
                }
}

/* Numbers of entries about the edges of warps, blocks and tiles. */
static void sizes(struct test *t)
{
    const uint64_t most = test_size(t, 1 << 17, 2500);
    for (int method = 0; method < METHODS; method++)
        for (uint64_t n = 0; n <= most; n = n < 4 ? n + 1 : 2 * n)
            for (int off = -1; off <= 1; off++) {
                struct split_plan p = split_plan(n + (uint64_t)off + 1, 5 + test_below(t, 28));
                p.method = (cohort_split_method)method;
                p.unordered = method == COHORT_SPLIT_RESERVED;
                p.columns = (unsigned)test_below(t, 2);
                p.width[0] = 4;
                p.counts = SPLIT_HERE;
                split_do(t, &p);
            }
}

/* Keys that make trouble: all in one bucket, in order, few of each. */
static void patterns(struct test *t)
{
    for (int method = 0; method < METHODS; method++)
        for (enum key_pattern pattern = KEYS_RANDOM; pattern < KEY_PATTERNS; pattern++)
            for (int m = 0; m < 3; m++) {
                if (!test_drawn(t, (uint64_t)pattern + (unsigned)m, test_size(t, 1, 3)))
                    continue;
                struct split_plan p = split_plan(test_size(t, 50021, 1511), (uint64_t[]){2, 32, 256}[m]);
                p.method = (cohort_split_method)method;
                p.unordered = method == COHORT_SPLIT_RESERVED;
                p.pattern = pattern;
                p.kind = COHORT_FN_MODULO;
                p.columns = 1;
                p.width[0] = 8;
                split_do(t, &p);
            }
}

/* 0 to 16 columns of all widths, and the permutation. */
static void columns(struct test *t)
{
    for (unsigned count = 0; count <= COHORT_PAYLOADS_MOST; count++)
        for (unsigned permutation = 0; permutation <= 8; permutation += 4) {
            struct split_plan p = split_plan(test_size(t, 5003, 401), 1 + test_below(t, 80));
            p.key_bytes = test_below(t, 2) ? 4 : 8;
            p.columns = count;
            for (unsigned c = 0; c < count; c++)
                p.width[c] = (unsigned char)(1u << (count <= 5 ? (c + count) % 5 : test_below(t, 5)));
            p.permutation_bytes = permutation;
            p.keys_out = count == 0 || test_below(t, 4) != 0;
            p.in_place = (int)test_below(t, 2);
            split_do(t, &p);
        }
}

/* One column of each width beside each width of keys, by each method. */
static void widths(struct test *t)
{
    for (int method = 0; method < METHODS; method++)
        for (unsigned width = 1; width <= 16; width *= 2)
            for (unsigned key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
                struct split_plan p = split_plan(test_size(t, 9001, 601), 1 + test_below(t, 32));
                p.method = (cohort_split_method)method;
                p.unordered = method == COHORT_SPLIT_RESERVED;
                p.key_bytes = key_bytes;
                p.columns = 1 + (unsigned)test_below(t, 2);
                p.width[0] = (unsigned char)width;
                p.width[1] = 4;
                p.permutation_bytes = p.unordered ? 4 : 0;
                split_do(t, &p);
            }
}

/* Functions of the user's, the GPU's compiled on the way. */
static void user(struct test *t)
{
    struct column *mark = t->columns, *keys = column_new(t, 1, 4);
    struct split_model model = split_model(t, COHORT_FN_USER, 4, keys, 0);
    cohort_histogram_desc h = COHORT_HISTOGRAM_INIT;
    uint64_t bins[4];
    h.n = 1;
    h.buckets = 4;
    h.fn = &model.fn;
    h.keys = column_send(keys);
    h.bins = bins;
    if (cohort_histogram(t->context, &h) == COHORT_UNSUPPORTED) {
        column_drop(t, mark);
        test_skip(t, "%s", cohort_message(t->context)); /* there is no compiler */
    }
    column_drop(t, mark);
    for (int method = 0; method < METHODS; method++)
        for (int bad = 0; bad <= 1; bad++)
            for (unsigned key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
                struct split_plan p =
                    split_plan(test_below(t, test_size(t, 30000, 1000)), 2 + test_below(t, 30));
                p.method = (cohort_split_method)method;
                p.unordered = method == COHORT_SPLIT_RESERVED;
                p.kind = COHORT_FN_USER;
                p.key_bytes = key_bytes;
                p.bad_ids = bad;
                p.columns = 1;
                p.width[0] = 4;
                p.in_place = (int)test_below(t, 2);
                p.workspace = (int)test_below(t, 2);
                split_do(t, &p);
            }
    for (int m = 0; m < 3; m++)
        histogram_do(t, COHORT_FN_USER, test_below(t, test_size(t, 30000, 1000)),
                     (uint64_t[]){1, 300, 65536}[m], 4, m == 1);
}

/* Ids that are none: left out, told, and nothing is written where they would have gone. */
static void bad_ids(struct test *t)
{
    const cohort_fn_kind kinds[] = {COHORT_FN_BITS, COHORT_FN_TABLE8, COHORT_FN_TABLE16,
                                    COHORT_FN_IDS8, COHORT_FN_IDS16,  COHORT_FN_IDS32};
    for (int method = 0; method < METHODS; method++)
        for (int kind = 0; kind < 6; kind++)
            for (int m = 0; m < 4; m++) {
                struct split_plan p = split_plan(1 + test_below(t, test_size(t, 20000, 900)),
                                                 (uint64_t[]){1, 13, 200, 3000}[m]);
                p.method = (cohort_split_method)method;
                p.unordered = method == COHORT_SPLIT_RESERVED;
                p.kind = kinds[kind];
                p.bad_ids = 1;
                p.columns = 1;
                p.width[0] = 4;
                p.permutation_bytes = m == 1 ? 4 : 0;
                p.counts = (enum split_where)test_below(t, 3);
                p.in_place = (int)test_below(t, 2);
                if (split_offered(t, &p))
                    split_do(t, &p);
            }
}

/* Keys at and beside all edges of ranges and of multiples, few and many, from the first key on or not, up to
 * the last or not. */
static void range_edges(struct test *t)
{
    const uint64_t m[] = {2, 3, 7, 31, 32, 33, 200, 255, 257, 1000, 3001};
    for (int i = 0; i < 11; i++)
        for (int kind = 0; kind < 3; kind++)
            for (int low = 0; low < 2; low++) {
                uint64_t a = low ? test_random(t) >> 36 : 0,
                         b = UINT32_MAX - (low ? test_random(t) >> 38 : 0);
                uint64_t d = kind == 1 ? (b - a) / m[i] - test_below(t, 3) : (b - a) / m[i] + 1;
                struct column *mark = t->columns, *keys = column_new(t, 3 * m[i] + 5, 4);
                struct split_plan p = split_plan(keys->count, m[i]);
                cohort_fn fn = kind == 0   ? cohort_fn_ranges(a, b)
                               : kind == 1 ? cohort_fn_delta(a, d)
                                           : cohort_fn_modulo();
                struct split_model model = {fn, NULL, m[i], 4, 0};
                for (uint64_t j = 0; j < keys->count; j++)
                    column_put(keys, j, (uint32_t)(a + j / 3 * d + j % 3 - 1));
                column_put(keys, 0, 0);
                column_put(keys, keys->count - 1, UINT32_MAX);
                p.kind = fn.kind;
                p.columns = (unsigned)test_below(t, 2);
                p.width[0] = 4;
                split_do_with(t, &p, keys, &model);
                column_drop(t, mark);
            }
}

/* Digits of ids: numbers of buckets and of entries about the edges of digits, tiles and counts, with ids that
 * are none. */
static void digits(struct test *t)
{
    const uint64_t m[] = {257, 511, 513, 2047, 2049, 65535, 65536};
    const cohort_fn_kind kinds[] = {COHORT_FN_BITS, COHORT_FN_HASH, COHORT_FN_MODULO, COHORT_FN_RANGES,
                                    COHORT_FN_IDS32};
    const uint64_t tiles[] = {192, 256, 384, 5760, 6144, 12288}; /* of the simulated GPU, and of others */
    for (int round = 0; round < (t->quick ? 1 : 3); round++)
        for (int i = 0; i < 7; i++)
            for (int kind = 0; kind < 5; kind++) {
                uint64_t tile = tiles[t->kind == TEST_SIM ? test_below(t, 3) : test_below(t, 6)];
                struct split_plan p = split_plan(tile * (1 + test_below(t, 3)) + test_below(t, 3) - 1, m[i]);
                if (!test_take(t, t->kind == TEST_SIM && t->quick && m[i] > 3000 ? 2 : 1))
                    continue;
                p.kind = kinds[kind];
                p.method = test_below(t, 2) ? COHORT_SPLIT_AUTO : COHORT_SPLIT_DIGITS;
                p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
                p.bad_ids = (p.kind == COHORT_FN_BITS || p.kind == COHORT_FN_IDS32) && test_below(t, 2);
                p.columns = (unsigned)test_below(t, 2);
                p.width[0] = test_below(t, 2) ? 4 : 8;
                p.keys_out = test_below(t, 4) != 0;
                p.permutation_bytes = p.keys_out ? 0 : 4;
                p.counts = SPLIT_HERE;
                split_do(t, &p);
            }
}

/* Many keys and pairs: whole tiles and not, aligned or not, with short runs and with long. */
static void many_entries(struct test *t)
{
    const uint64_t m[] = {128, 256, 100, 65, 255, 64, 33, 16, 5, 2},
                   least = t->kind == TEST_CUDA ? 132 * 4 * 24576 : 2 * 4 * 320;
    const cohort_fn_kind kinds[] = {COHORT_FN_RANGES, COHORT_FN_MODULO,    COHORT_FN_DELTA,
                                    COHORT_FN_HASH,   COHORT_FN_SPLITTERS, COHORT_FN_BITS};
    const enum key_pattern patterns[] = {KEYS_RANDOM, KEYS_SKEWED, KEYS_EQUAL, KEYS_SORTED};
    for (int i = 0; i < (t->kind == TEST_CUDA && t->quick ? 6 : 30); i++) {
        struct split_plan p = split_plan(least + (i % 3 ? test_below(t, 1000) : 0), m[test_below(t, 10)]);
        if (i == 4) { /* keys alone into few buckets: they must be more */
            p.n *= 4;
            p.m = 64;
        }
        p.pattern = patterns[i % 4];
        p.kind = i == 4 ? COHORT_FN_MODULO : kinds[test_below(t, p.m & (p.m - 1) ? 5 : 6)];
        p.columns = i % 5 < 3;
        p.width[0] = 4;
        p.permutation_bytes = i % 5 == 3 ? 4 : 0;
        p.keys_out = i % 6 != 5;
        p.unordered = i % 3 == 2;
        p.method = p.unordered ? COHORT_SPLIT_RESERVED : COHORT_SPLIT_AUTO;
        split_do(t, &p);
    }
}

/* Every sequence of ids of up to 4 entries and 3 buckets, one of which may be none. */
static void tiny(struct test *t)
{
    for (int method = 0; method < METHODS; method++)
        for (uint64_t m = 1; m <= 3; m++)
            for (uint64_t n = 0, all = 1; n <= test_scale(t, 3, 4, 4); n++, all *= m + 1) {
                struct split_plan p = split_plan(n, m);
                p.method = (cohort_split_method)method;
                p.unordered = method == COHORT_SPLIT_RESERVED;
                p.kind = COHORT_FN_IDS8;
                p.permutation_bytes = 4;
                if (!split_offered(t, &p))
                    continue;
                for (uint64_t code = 0; code < all; code++) {
                    struct column *mark = t->columns;
                    struct column *keys = column_new(t, n, 4), *ids = column_new(t, n, 1);
                    for (uint64_t i = 0, rest = code; i < n; i++, rest /= m + 1) {
                        column_put(keys, i, 100 + i % 2);
                        column_put(ids, i, rest % (m + 1));
                    }
                    struct split_model model = {cohort_fn_ids8(column_send(ids)), ids->data, m, 4, 1};
                    split_do_with(t, &p, keys, &model);
                    column_drop(t, mark);
                }
            }
}

/* Fields of which a part lies beyond the key's end, in tiles that are not whole. */
static void end_bits(struct test *t)
{
    for (int method = 0; method < METHODS; method++)
        for (unsigned key_bytes = 4; key_bytes <= 8; key_bytes += 4)
            for (uint32_t inside = 1; inside <= 4; inside++) {
                struct split_plan p = split_plan(test_size(t, 30011, 409), 9 + 2 * test_below(t, 4));
                struct column *mark = t->columns, *keys = column_new(t, p.n, key_bytes);
                cohort_fn fn = cohort_fn_bits(8 * key_bytes - inside, 4);
                struct split_model model = {fn, NULL, p.m, key_bytes, 1};
                p.method = (cohort_split_method)method;
                p.unordered = method == COHORT_SPLIT_RESERVED;
                p.key_bytes = key_bytes;
                p.kind = COHORT_FN_BITS;
                p.permutation_bytes = 4 + 4 * (unsigned)test_below(t, 2);
                split_keys(t, keys, KEYS_RANDOM, 0);
                split_do_with(t, &p, keys, &model);
                column_drop(t, mark);
            }
}

static void anything(struct test *t)
{
    for (uint64_t i = test_scale(t, 60, 400, 3000) / (t->kind == TEST_SIM ? 2 : 1); i > 0; i--) {
        struct split_plan p = split_random_plan(t, test_size(t, 1 << 16, 1500));
        if (t->kind == TEST_SIM && p.m > 3000 && test_below(t, 4))
            p.m = 1 + p.m % 3000;
        if ((p.kind == COHORT_FN_BETWEEN || p.kind == COHORT_FN_MASKED) && p.m < 2)
            p.m = 2;
        split_do(t, &p);
    }
}

/* More entries than a launch holds at once, and not a multiple of anything. The oracle takes most of the
 * time: in short, host memory has the one half of the shapes and device memory the other. */
static void large(struct test *t)
{
    const uint64_t m[] = {2, 32, 256, 2048, 65536};
    const uint64_t n = t->kind == TEST_CUDA ? test_scale(t, 6000011, 20000003, 20000003) : 1000003;
    for (int i = 0; i < 5; i++)
        for (unsigned key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
            struct split_plan p = split_plan(test_size(t, n, 20011), m[i]);
            if (!test_drawn(t, (uint64_t)i + key_bytes / 4, test_size(t, 1, 2)))
                continue;
            if (t->kind == TEST_CUDA && t->quick && (i + key_bytes / 4 + t->memory) % 2)
                continue;
            p.key_bytes = key_bytes;
            p.columns = 1;
            p.width[0] = (unsigned char)key_bytes;
            split_do(t, &p);
        }
}

/* ---- segments and ranks -------------------------------------------------------------------------------- */

/* Few and many segments, so that the buckets of all are some, more than one pass does, and as many as there
 * may be. */
static void segments(struct test *t)
{
    static const struct {
        uint64_t n, segments, m;
    } cases[] = {{0, 3, 5},       {1, 1, 1},       {1, 4, 2},          {2, 7, 65536},    {999, 5, 3},
                 {4097, 64, 32},  {5000, 683, 3},  {3000, 1, 65536},   {3001, 2, 65536}, {20011, 5000, 17},
                 {777, 65536, 2}, {3000, 2048, 2}, {1500, 4194304, 1}, {2500, 64, 65536}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned form = 0; form < 4; form++) {
            struct split_plan p = split_plan(cases[i].n, cases[i].m);
            uint64_t cells = cases[i].segments * cases[i].m;
            if (t->kind == TEST_SIM && cells > (form ? 1u << 18 : 1u << 20)) /* the simulator's watchdog */
                continue;
            if (!test_drawn(t, i + form, test_size(t, 2, 4)))
                continue;
            p.segments = cases[i].segments;
            p.kind = form == 0   ? COHORT_FN_HASH
                     : form == 1 ? COHORT_FN_IDS16
                     : form == 2 ? COHORT_FN_USER
                                 : COHORT_FN_MODULO;
            p.bad_ids = form == 1 || form == 2;
            p.key_bytes = form % 2 ? 8 : 4;
            p.rank_bytes = form == 3 ? 8 : 4;
            p.columns = form % 2;
            p.width[0] = 8;
            p.permutation_bytes = form == 2 ? 8 : 0;
            p.offsets = form == 3 ? SPLIT_NOT : SPLIT_HERE;
            p.workspace = form == 1;
            split_do(t, &p);
        }
}

/* Ranks without anything else: neither keys nor a permutation nor offsets are asked for. */
static void ranks_alone(struct test *t)
{
    static const uint64_t n[] = {0, 1, 2, 31, 33, 4095, 4097, 20011};
    for (unsigned i = 0; i < sizeof n / sizeof *n; i++)
        for (unsigned form = 0; form < 4; form++) {
            struct split_plan p = split_plan(n[i], form == 3 ? 3000 : 13);
            p.kind = form % 2 ? COHORT_FN_IDS32 : COHORT_FN_MODULO;
            p.bad_ids = form % 2;
            p.keys_out = 0;
            p.offsets = SPLIT_NOT;
            p.rank_bytes = form < 2 ? 4 : 8;
            p.unordered = form == 2;
            split_do(t, &p);
        }
}

/* ---- histograms ---------------------------------------------------------------------------------------- */

static void histogram_of(struct test *t, enum key_pattern pattern, cohort_fn_kind kind, uint64_t n,
                         uint64_t m, unsigned key_bytes, int bad)
{
    struct column *mark = t->columns, *keys = column_new(t, n, key_bytes);
    split_keys(t, keys, pattern, split_key_range(t, kind, m));
    struct split_model model = split_model(t, kind, m, keys, bad);
    struct column *bins =
        column_new_in(t, t->kind == TEST_CPU ? TEST_HOST : (enum test_memory)test_below(t, 2), m, 8);
    struct column *counts = column_new(t, 5, 8);
    uint64_t *due = calloc(m, 8), failed = 0, first = UINT64_MAX;
    REQUIRE(t, due);
    cohort_histogram_desc d = COHORT_HISTOGRAM_INIT;
    d.n = n;
    d.type = key_bytes == 8 ? COHORT_U64 : COHORT_U32;
    d.buckets = (uint32_t)m;
    d.fn = &model.fn;
    d.keys = column_send(keys);
    d.bins = column_send(bins);
    d.counts = column_send(counts);
    cohort_status status = cohort_histogram(t->context, &d), waited = cohort_wait(t->context);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t id = split_model_id(&model, column_get(keys, i), i);
        if (id != SPLIT_NO_ID)
            due[id]++;
        else if (!failed++)
            first = i;
    }
    REQUIREF(t, (status ? status : waited) == (failed ? COHORT_RANGE : COHORT_OK), "%s of %llu: %s (%s)",
             split_kind_name(kind), (unsigned long long)n, cohort_status_name(status),
             cohort_message(t->context));
    column_fetch(bins);
    column_fetch(counts);
    for (uint64_t b = 0; b < m; b++)
        REQUIREF(t, column_get(bins, b) == due[b], "bin %llu of %llu is %llu, not %llu: %s of %llu keys",
                 (unsigned long long)b, (unsigned long long)m, (unsigned long long)column_get(bins, b),
                 (unsigned long long)due[b], split_kind_name(kind), (unsigned long long)n);
    const uint64_t words[] = {n, 0, n - failed, failed, first};
    for (uint64_t i = 0; i < 5; i++)
        EQUAL(t, column_get(counts, i), words[i]);
    free(due);
    column_drop(t, mark);
}

static void histogram_do(struct test *t, cohort_fn_kind kind, uint64_t n, uint64_t m, unsigned key_bytes,
                         int bad)
{
    histogram_of(t, (enum key_pattern)test_below(t, KEY_PATTERNS), kind, n, m, key_bytes, bad);
}

/* Bins with more entries than half of a word can count, and more than all blocks of a GPU count before they
 * look. */
static void hot_bins(struct test *t)
{
    const uint64_t n = t->kind == TEST_CUDA ? 5000017 : 3000017;
    const uint64_t m[] = {1, 49151, 49152, 65535, 65536};
    for (int i = 0; i < 5; i++)
        for (enum key_pattern pattern = t->kind == TEST_SIM && m[i] % 2 ? KEYS_FEW : KEYS_EQUAL;
             pattern <= KEYS_FEW; pattern++) {
            if (t->kind == TEST_CUDA && t->quick && (i + (int)pattern + (int)t->memory) % 2)
                continue;
            histogram_of(t, pattern, COHORT_FN_MODULO, test_size(t, n, 150011), m[i], i % 2 ? 8 : 4, 0);
        }
}

static void histograms(struct test *t)
{
    for (uint64_t i = test_scale(t, 1, 2, 10); i > 0; i--)
        for (cohort_fn_kind kind = COHORT_FN_BITS; kind <= COHORT_FN_IDS32; kind++)
            for (uint64_t m = 0; m < EDGE_BUCKETS; m++) {
                if (edge_buckets[m] < 2 && (kind == COHORT_FN_BETWEEN || kind == COHORT_FN_MASKED))
                    continue;
                int can_be_bad =
                    kind == COHORT_FN_BITS || kind == COHORT_FN_TABLE16 || kind >= COHORT_FN_IDS8;
                histogram_do(t, kind, test_below(t, test_size(t, 20000, 700)), edge_buckets[m],
                             test_below(t, 2) ? 4 : 8, can_be_bad && test_below(t, 3) == 0);
            }
    histogram_do(t, COHORT_FN_HASH, 0, 7, 4, 0);
    histogram_do(t, COHORT_FN_HASH, test_size(t, 3000017, 20011), 256, 4, 0);
}

const struct test_case test_cases[] = {
    {"segments", segments, TEST_EACH_MEMORY},
    {"ranks_alone", ranks_alone, TEST_EACH_MEMORY},
    {"functions", functions, TEST_EACH_MEMORY},
    {"methods", methods, TEST_EACH_MEMORY},
    {"sizes", sizes, TEST_EACH_MEMORY},
    {"patterns", patterns, TEST_EACH_MEMORY},
    {"columns", columns, TEST_EACH_MEMORY},
    {"widths", widths, TEST_EACH_MEMORY},
    {"bad_ids", bad_ids, TEST_EACH_MEMORY},
    {"range_edges", range_edges, 0},
    {"digits", digits, 0},
    {"many_entries", many_entries, TEST_EACH_MEMORY},
    {"tiny", tiny, TEST_EACH_MEMORY},
    {"anything", anything, TEST_EACH_MEMORY},
    {"large", large, TEST_EACH_MEMORY},
    {"user", user, TEST_EACH_MEMORY},
    {"histograms", histograms, TEST_EACH_MEMORY},
    {"hot_bins", hot_bins, TEST_EACH_MEMORY},
    {"end_bits", end_bits, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
