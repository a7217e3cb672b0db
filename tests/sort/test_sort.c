/* test_sort.c: sorts of all orders, bit ranges, columns and segments, against a sequential stable sort. */
#include "split.h"

struct sort_plan {
    uint64_t n;
    cohort_type order;
    enum key_pattern pattern;
    uint64_t range; /* of the keys; 0: all */
    int descending;
    unsigned low_bit, high_bit, columns, permutation_bytes;
    unsigned char width[COHORT_PAYLOADS_MOST];
    uint64_t segments;
    int in_place, workspace;
    int keys_unwanted; /* only columns and the permutation are */
    enum closeness { NOT_CLOSE, BY_THREES, BY_OUTLIERS, BY_PAIRS_FAR_APART, CLOSENESSES } close;
};

struct sort_work {
    struct test *t;
    const struct sort_plan *p;
    unsigned key_bytes;
    struct column *keys, *keys_out, *permutation, *segments;
    struct column *in[COHORT_PAYLOADS_MOST], *out[COHORT_PAYLOADS_MOST];
    void *keys_before, *in_before[COHORT_PAYLOADS_MOST];
    uint64_t *order; /* the entry for each place */
    char text[200];
};

/* Those of 4 bytes first. */
static const cohort_type sorted_types[] = {COHORT_U32, COHORT_I32, COHORT_F32,
                                           COHORT_U64, COHORT_I64, COHORT_F64};

static struct sort_plan sort_plan(uint64_t n, cohort_type order)
{
    struct sort_plan p = {.n = n, .order = order};
    return p;
}

static unsigned order_bytes(cohort_type order)
{
    return order == COHORT_U32 || order == COHORT_I32 || order == COHORT_F32 ? 4 : 8;
}

static const char *describe(struct sort_work *w)
{
    const struct sort_plan *p = w->p;
    snprintf(w->text, sizeof w->text,
             "n %llu, order %d%s, pattern %d, close %d, bits %u to %u, %u columns%s, %llu segments%s%s%s, %s",
             (unsigned long long)p->n, (int)p->order, p->descending ? " descending" : "", (int)p->pattern,
             (int)p->close, p->low_bit, p->high_bit, p->columns, p->permutation_bytes ? ", permutation" : "",
             (unsigned long long)p->segments, p->in_place ? ", in place" : "",
             p->keys_unwanted ? ", without keys_out" : "", p->workspace ? ", own workspace" : "",
             w->t->memory == TEST_HOST ? "host" : "device");
    return w->text;
}

/* ---- the oracle ---------------------------------------------------------------------------------------- */

/* The number by which a key is compared. */
static uint64_t rank_of(const struct sort_plan *p, uint64_t key)
{
    const uint64_t bits = 8 * order_bytes(p->order), sign = 1ull << (bits - 1), all = sign | (sign - 1);
    const unsigned high = p->high_bit ? p->high_bit : (unsigned)bits;
    uint64_t rank = key;
    if (p->order == COHORT_I32 || p->order == COHORT_I64)
        rank = key >= sign ? key - sign : key + sign;
    if (p->order == COHORT_F32 || p->order == COHORT_F64)
        rank = key & sign ? all - key : key + sign;
    rank >>= p->low_bit;
    if (high - p->low_bit < 64)
        rank %= 1ull << (high - p->low_bit);
    return rank;
}

/* In order of the ranks, then, as that keeps it, of the segments. */
static void foresee(struct sort_work *w)
{
    uint64_t n = w->p->n, segment = 0;
    struct test_pair *r = malloc(n * sizeof *r + 1);
    uint64_t *segments = malloc(n * 8 + 1);
    w->order = malloc(n * 8 + 1);
    REQUIRE(w->t, r && segments && w->order);
    for (uint64_t i = 0; i < n; i++) {
        while (w->segments && i >= column_get(w->segments, segment + 1))
            segment++;
        uint64_t rank = rank_of(w->p, column_get(w->keys, i));
        r[i] = (struct test_pair){w->p->descending ? ~rank : rank, i};
        segments[i] = segment;
    }
    test_order(r, n);
    if (w->segments) {
        for (uint64_t i = 0; i < n; i++)
            r[i].rank = segments[r[i].index];
        test_order(r, n);
    }
    for (uint64_t i = 0; i < n; i++)
        w->order[i] = r[i].index;
    free(segments);
    free(r);
}

/* ---- keys and segments --------------------------------------------------------------------------------- */

/* NaNs of either sign and several payloads, infinities, zeros, the least and the greatest numbers, as
 * bits. */
static uint64_t special_float(struct test *t, unsigned bytes)
{
    const uint64_t of4[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                            0xffc00000, 0x7f800001, 0xffffffff, 0x00000001, 0x80000001,
                            0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff};
    uint64_t v = of4[test_below(t, sizeof of4 / sizeof *of4)];
    if (bytes == 4)
        return v;
    uint64_t sign = v >> 31, exponent = v >> 23 & 255, fraction = v & 0x7fffff;
    exponent = exponent == 255 ? 2047 : exponent ? exponent + 896 : 0;
    return sign << 63 | exponent << 52 |
           (fraction == 0x7fffff ? 0xfffffffffffffull : fraction << 29 | (fraction & 1));
}

/* Keys most of which the topmost bits tell apart, and not all: three and three agree in all but the last
 * bits; all but a few lie close together; two and two agree in the upper half and are far from each other. */
static void put_close(struct test *t, const struct sort_plan *p, struct column *keys)
{
    const unsigned bits = 8 * (unsigned)keys->width;
    for (uint64_t i = 0; i < keys->count; i++) {
        uint64_t group = p->close == BY_THREES ? i / 3 : i % (keys->count / 2 + 1);
        uint64_t high = (group + 1) * 0x9e3779b97f4a7c15ull >> (64 - bits), low = test_below(t, 1u << 10);
        if (p->close == BY_OUTLIERS)
            column_put(keys, i, test_below(t, 50) ? low : high);
        else
            column_put(keys, i, high >> 10 << 10 | (test_below(t, 3) ? low : 0));
    }
}

static void put_keys(struct test *t, const struct sort_plan *p, struct column *keys)
{
    if (p->close) {
        put_close(t, p, keys);
        return;
    }
    split_keys(t, keys, p->pattern, p->range);
    if (p->order != COHORT_F32 && p->order != COHORT_F64)
        return;
    for (uint64_t i = 0; i < keys->count; i++)
        if (test_below(t, 4) == 0)
            column_put(keys, i, special_float(t, (unsigned)keys->width));
}

/* Empty ones, tiny ones and a huge one. */
static struct column *put_segments(struct test *t, uint64_t n, uint64_t segments)
{
    enum test_memory memory = t->kind == TEST_CPU ? TEST_HOST : (enum test_memory)test_below(t, 2);
    struct column *c = column_new_in(t, memory, segments + 1, 8);
    uint64_t at = 0, huge = test_below(t, 2) ? test_below(t, segments) : segments;
    for (uint64_t s = 0; s < segments; s++) {
        column_put(c, s, at);
        uint64_t left = n - at,
                 length = test_below(t, 4) ? test_below(t, 2 * n / segments + 2) : test_below(t, 3);
        at += s == huge ? test_below(t, left + 1) : length < left ? length : left;
    }
    column_put(c, segments, n);
    return c;
}

/* ---- one sort ------------------------------------------------------------------------------------------ */

static cohort_status call(struct sort_work *w)
{
    const struct sort_plan *p = w->p;
    cohort_sort_desc d = COHORT_SORT_INIT;
    cohort_payload columns[COHORT_PAYLOADS_MOST];
    void *memory = NULL;
    d.n = p->n;
    d.type = p->order;
    d.descending = (uint32_t)p->descending;
    d.low_bit = p->low_bit;
    d.high_bit = p->high_bit;
    d.keys = column_send(w->keys);
    if (!p->keys_unwanted)
        d.keys_out = w->keys_out == w->keys ? (void *)(uintptr_t)d.keys : column_send(w->keys_out);
    d.payloads = p->columns;
    d.payload = columns;
    for (unsigned c = 0; c < p->columns; c++) {
        columns[c].in = column_send(w->in[c]);
        columns[c].out = w->out[c] == w->in[c] ? (void *)(uintptr_t)columns[c].in : column_send(w->out[c]);
        columns[c].bytes = p->width[c];
        columns[c].reserved = 0;
    }
    d.permutation = column_pointer(w->permutation);
    d.permutation_bytes = p->permutation_bytes;
    d.segments = p->segments;
    d.segment_offsets = column_pointer(w->segments);
    if (p->workspace) {
        OK(w->t, cohort_sort_workspace(w->t->context, &d, &d.workspace_bytes));
        OK(w->t, cohort_alloc(w->t->context, d.workspace_bytes + 512, &memory));
        OK(w->t, cohort_fill(w->t->context, memory, 0xa7, d.workspace_bytes + 512));
        d.workspace = (char *)memory + 256;
    }
    cohort_status status = cohort_sort(w->t->context, &d);
    if (memory) {
        unsigned char around[512];
        OK(w->t, cohort_copy(w->t->context, around, memory, 256));
        OK(w->t, cohort_copy(w->t->context, around + 256, (char *)memory + 256 + d.workspace_bytes, 256));
        for (int i = 0; i < 512; i++)
            REQUIREF(w->t, around[i] == 0xa7, "written beside the workspace: %s", describe(w));
        OK(w->t, cohort_free(w->t->context, memory));
    }
    return status;
}

static void judge(struct sort_work *w)
{
    const struct sort_plan *p = w->p;
    struct test *t = w->t;
    for (uint64_t at = 0; at < p->n; at++) {
        uint64_t i = w->order[at];
        uint64_t key = w->key_bytes == 4 ? ((uint32_t *)w->keys_before)[i] : ((uint64_t *)w->keys_before)[i];
        REQUIREF(t, p->keys_unwanted || column_get(w->keys_out, at) == key,
                 "keys_out[%llu] is 0x%llx, not 0x%llx of entry %llu: %s", (unsigned long long)at,
                 (unsigned long long)column_get(w->keys_out, at), (unsigned long long)key,
                 (unsigned long long)i, describe(w));
        if (w->permutation)
            REQUIREF(t, column_get(w->permutation, at) == i, "permutation[%llu] is %llu, not %llu: %s",
                     (unsigned long long)at, (unsigned long long)column_get(w->permutation, at),
                     (unsigned long long)i, describe(w));
        for (unsigned c = 0; c < p->columns; c++)
            REQUIREF(t, payload_is(w->out[c], at, c, i),
                     "column[%u] of %u bytes at %llu is not that of entry %llu: %s", c, p->width[c],
                     (unsigned long long)at, (unsigned long long)i, describe(w));
    }
    REQUIREF(t, (w->keys == w->keys_out && !p->keys_unwanted) || unharmed(w->keys, w->keys_before, 0),
             "keys have changed: %s", describe(w));
    for (unsigned c = 0; c < p->columns; c++)
        REQUIREF(t, w->in[c] == w->out[c] || unharmed(w->in[c], w->in_before[c], 0),
                 "column[%u].in has changed: %s", c, describe(w));
}

static void sort_do(struct test *t, const struct sort_plan *p)
{
    struct sort_work w = {.t = t, .p = p, .key_bytes = order_bytes(p->order)};
    struct column *mark = t->columns;
    w.keys = column_new(t, p->n, w.key_bytes);
    put_keys(t, p, w.keys);
    w.keys_before = snapshot(t, w.keys);
    w.keys_out = p->in_place ? w.keys : column_new(t, p->n, w.key_bytes);
    for (unsigned c = 0; c < p->columns; c++) {
        w.in[c] = column_new(t, p->n, p->width[c]);
        payload_fill(w.in[c], c);
        w.in_before[c] = snapshot(t, w.in[c]);
        w.out[c] = p->in_place && c % 3 != 1 ? w.in[c] : column_new(t, p->n, p->width[c]);
    }
    if (p->permutation_bytes)
        w.permutation = column_new(t, p->n, p->permutation_bytes);
    if (p->segments)
        w.segments = put_segments(t, p->n, p->segments);
    foresee(&w);
    cohort_status status = call(&w);
    REQUIREF(t, !status, "%s: %s: %s", cohort_status_name(status), cohort_message(t->context), describe(&w));
    OK(t, cohort_wait(t->context));
    column_fetch(w.keys);
    if (!p->keys_unwanted)
        column_fetch(w.keys_out);
    if (w.permutation)
        column_fetch(w.permutation);
    for (unsigned c = 0; c < p->columns; c++) {
        column_fetch(w.in[c]);
        column_fetch(w.out[c]);
    }
    judge(&w);
    free(w.keys_before);
    for (unsigned c = 0; c < p->columns; c++)
        free(w.in_before[c]);
    free(w.order);
    column_drop(t, mark);
}

/* ---- cases --------------------------------------------------------------------------------------------- */

static void orders(struct test *t)
{
    for (unsigned type = 0; type < sizeof sorted_types / sizeof *sorted_types; type++)
        for (int descending = 0; descending <= 1; descending++)
            for (enum key_pattern pattern = KEYS_RANDOM; pattern < KEY_PATTERNS; pattern++) {
                struct sort_plan p = sort_plan(test_size(t, 20011, 701), sorted_types[type]);
                if (!test_take(t, test_size(t, 1, t->quick ? 6 : 3)))
                    continue;
                p.descending = descending;
                p.pattern = pattern;
                p.columns = 1;
                p.width[0] = 4;
                sort_do(t, &p);
            }
}

static void sizes(struct test *t)
{
    for (uint64_t n = 0; n <= test_size(t, 1 << 17, 2100); n = n < 4 ? n + 1 : 2 * n)
        for (uint64_t off = n > 3 ? UINT64_MAX : 0; off + 1 < 3; off++) { /* 2^k - 1, 2^k, 2^k + 1 */
            struct sort_plan p = sort_plan(n + off, test_below(t, 2) ? COHORT_U32 : COHORT_U64);
            p.columns = (unsigned)test_below(t, 3);
            p.width[0] = 4;
            p.width[1] = 8;
            p.in_place = (int)test_below(t, 2);
            sort_do(t, &p);
        }
}

/* More than are few on a GPU, whose tiles are larger. */
static void many(struct test *t)
{
    for (unsigned columns = 0; columns < 2; columns++) {
        struct sort_plan p =
            sort_plan(t->kind == TEST_CPU ? 5003 : test_size(t, (1 << 22) + 1001, 1300), COHORT_U32);
        p.columns = columns;
        p.width[0] = 4;
        sort_do(t, &p);
    }
}

/* Pairs and keys that blocks go on with from tile to tile on a GPU. Runs from none to all of a tile; columns
 * from nowhere; sorts by segments. */
static void far(struct test *t)
{
    const enum key_pattern patterns[] = {KEYS_RANDOM, KEYS_SKEWED, KEYS_EDGES, KEYS_CYCLIC, KEYS_SORTED};
    const unsigned each = t->kind == TEST_CUDA && t->quick ? 2 : 5;
    for (unsigned i = 0; i < each; i++)
        for (unsigned kind = 0; kind < 3; kind++) {
            uint64_t most = i == 0 && kind == 2 && !t->quick ? 1 << 26 : 9 << 20; /* keys alone go so above */
            struct sort_plan p =
                sort_plan(t->kind == TEST_CPU ? 5003 : test_size(t, most + 1001, 1301 + 400 * i),
                          sorted_types[test_below(t, 3)]);
            p.pattern = patterns[i];
            p.descending = (int)test_below(t, 2);
            p.segments = kind == 1 ? 700 : 0;
            p.columns = kind == 0 && i != 1;
            p.width[0] = 4;
            p.permutation_bytes = kind == 0 && i == 1 ? 4 : 0;
            sort_do(t, &p);
        }
}

static void bit_ranges(struct test *t)
{
    for (uint64_t i = test_scale(t, 20, 60, 400); i > 0; i--) {
        struct sort_plan p =
            sort_plan(test_below(t, test_size(t, 9000, 500)), sorted_types[test_below(t, 6)]);
        unsigned bits = 8 * order_bytes(p.order);
        p.high_bit = 1 + (unsigned)test_below(t, bits);
        p.low_bit = (unsigned)test_below(t, p.high_bit);
        p.descending = (int)test_below(t, 2);
        p.columns = 1;
        p.width[0] = 4;
        sort_do(t, &p);
    }
}

static void segments(struct test *t)
{
    for (uint64_t i = test_scale(t, 15, 40, 400); i > 0; i--) {
        struct sort_plan p =
            sort_plan(test_below(t, test_size(t, 30000, 900)), sorted_types[test_below(t, 6)]);
        const uint64_t counts[] = {1, 2, 3, 10, 100, 1 + p.n / 3, 2 * p.n + 1};
        p.segments = counts[test_below(t, 7)];
        p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
        p.descending = (int)test_below(t, 2);
        p.columns = (unsigned)test_below(t, 3);
        p.width[0] = 4;
        p.width[1] = 8;
        p.permutation_bytes = test_below(t, 3) ? 0 : 4;
        p.in_place = (int)test_below(t, 2);
        p.keys_unwanted = (p.columns || p.permutation_bytes) && test_below(t, 2);
        p.workspace = test_below(t, 4) == 0;
        sort_do(t, &p);
    }
}

static void columns(struct test *t)
{
    for (unsigned count = 0; count <= COHORT_PAYLOADS_MOST; count++)
        for (unsigned permutation = 0; permutation <= 8; permutation += 4) {
            if (!test_take(t, t->kind == TEST_SIM && t->quick && count > 3 ? 4 : 1))
                continue;
            struct sort_plan p =
                sort_plan(test_size(t, 5003, 301), test_below(t, 2) ? COHORT_U32 : COHORT_U64);
            p.range = 1 + test_below(t, 1000);
            p.columns = count;
            for (unsigned c = 0; c < count; c++)
                p.width[c] = (unsigned char)(1u << (count <= 5 ? (c + count) % 5 : test_below(t, 5)));
            p.permutation_bytes = permutation;
            p.in_place = (int)test_below(t, 2);
            p.keys_unwanted = (count || permutation) && test_below(t, 3) == 0;
            sort_do(t, &p);
        }
}

static void anything(struct test *t)
{
    for (uint64_t i = test_scale(t, 30, 150, 1000) / (t->kind == TEST_SIM ? 3 : 1); i > 0; i--) {
        struct sort_plan p =
            sort_plan(test_below(t, test_size(t, 1 << 16, 1200)), sorted_types[test_below(t, 6)]);
        p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
        p.range = test_below(t, 2) ? 0 : 1 + test_below(t, 100);
        p.descending = (int)test_below(t, 2);
        p.columns = (unsigned)test_below(t, 4);
        for (unsigned c = 0; c < p.columns; c++)
            p.width[c] = (unsigned char)(1u << test_below(t, 5));
        p.permutation_bytes = test_below(t, 3) ? 0 : test_below(t, 2) ? 4 : 8;
        p.segments = test_below(t, 3) ? 0 : 1 + test_below(t, 50);
        p.in_place = (int)test_below(t, 2);
        p.keys_unwanted = (p.columns || p.permutation_bytes) && test_below(t, 3) == 0;
        p.workspace = test_below(t, 3) == 0;
        if (test_below(t, 3) == 0) {
            p.high_bit = 1 + (unsigned)test_below(t, 8 * order_bytes(p.order));
            p.low_bit = (unsigned)test_below(t, p.high_bit);
        }
        sort_do(t, &p);
    }
}

/* What is sorted by the topmost digits and put right by few moves, or by many and so by all digits. */
static void close_together(struct test *t)
{
    const uint64_t sizes[] = {65, 300, 4095, 5000, 40000};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (enum closeness close = BY_THREES; close < CLOSENESSES; close++) {
            struct sort_plan p = sort_plan(test_size(t, sizes[i], 400), sorted_types[test_below(t, 6)]);
            p.close = close;
            p.descending = (int)test_below(t, 2);
            p.columns = (unsigned)test_below(t, 2);
            p.width[0] = 8;
            p.permutation_bytes = test_below(t, 2) ? 4 : 0;
            p.segments = test_below(t, 2) ? 0 : 1 + test_below(t, 5);
            sort_do(t, &p);
            p.order = test_below(t, 2) ? COHORT_U64 : COHORT_I64;
            p.permutation_bytes = 8;
            p.keys_unwanted = 1;
            sort_do(t, &p);
        }
}

/* ---- few distinct keys --------------------------------------------------------------------------------- */

struct few {
    uint64_t rank, key, count;
};

static int by_rank(const void *a, const void *b)
{
    const struct few *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Keys that have every bit, zeros and NaNs of either sign among them. `rare` of them are one in forty, in
 * all. */
static struct few *few_made(struct test *t, const struct sort_plan *p, uint64_t distinct, uint64_t rare,
                            struct column *keys)
{
    const unsigned bytes = order_bytes(p->order);
    const uint64_t ones = bytes == 8 ? UINT64_MAX : UINT32_MAX, sign = ones / 2 + 1;
    const uint64_t special[] = {ones, sign, sign - 1, 0, ones - sign / 8 + 1};
    struct few *few = malloc((distinct + rare) * sizeof *few);
    REQUIRE(t, few);
    for (uint64_t i = 0; i < distinct + rare; i++) {
        const uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15ull;
        few[i].key = i < 5 ? special[i] : bytes == 8 ? mixed : mixed >> 32;
        few[i].rank = rank_of(p, few[i].key);
        few[i].count = 0;
    }
    for (uint64_t i = 0; i < p->n; i++) {
        const int is_rare = rare && test_below(t, 40) == 0;
        const uint64_t k = is_rare ? distinct + test_below(t, rare) : test_below(t, distinct);
        column_put(keys, i, few[k].key);
        few[k].count++;
    }
    qsort(few, distinct + rare, sizeof *few, by_rank);
    return few;
}

/* As few as are counted, some more, and so many rare ones that some keys do not tell of them. */
static void few_distinct(struct test *t)
{
    const uint64_t of[][2] = {{1, 0}, {2, 0}, {1000, 0}, {1800, 0}, {3000, 0}, {20, 5000}};
    for (unsigned i = 0; i < 12; i++) {
        const uint64_t distinct = of[i % 6][0], rare = of[i % 6][1];
        struct sort_plan p = sort_plan(test_size(t, 1048576 + 11 * i, 2000), sorted_types[(i + i / 6) % 6]);
        struct column *keys = column_new(t, p.n, order_bytes(p.order)), *out = keys;
        struct few *few = few_made(t, &p, distinct, rare, keys);
        cohort_sort_desc d = COHORT_SORT_INIT;
        uint64_t at = 0;
        p.descending = i % 2;
        if (i % 3)
            out = column_new(t, p.n, order_bytes(p.order));
        d.n = p.n;
        d.type = p.order;
        d.descending = i % 2;
        d.keys = column_send(keys);
        d.keys_out = i % 3 ? column_send(out) : (void *)(uintptr_t)d.keys;
        OK(t, cohort_sort(t->context, &d));
        OK(t, cohort_wait(t->context));
        column_fetch(out);
        for (uint64_t k = 0; k < distinct + rare; k++) {
            const struct few *f = &few[d.descending ? distinct + rare - 1 - k : k];
            for (uint64_t j = 0; j < f->count; j++, at++)
                REQUIREF(t, column_get(out, at) == f->key, "place %llu is 0x%llx, not 0x%llx: case %u",
                         (unsigned long long)at, (unsigned long long)column_get(out, at),
                         (unsigned long long)f->key, i);
        }
        EQUAL(t, at, p.n);
        free(few);
        column_drop(t, NULL);
    }
}

/* Somebody must want something. */
static void refusals(struct test *t)
{
    cohort_sort_desc d = COHORT_SORT_INIT;
    d.n = 3;
    d.keys = column_send(column_new(t, 3, 4));
    FAILS(t, t->context, cohort_sort(t->context, &d), COHORT_NULL, "keys_out", NULL);
}

static void large(struct test *t)
{
    for (cohort_type order = COHORT_U32; order <= COHORT_U64; order++)
        for (unsigned columns = 0; columns <= 1; columns++) {
            struct sort_plan p = sort_plan(test_size(t,
                                                     t->kind != TEST_CUDA ? 1000003
                                                     : t->quick           ? 3000017
                                                                          : 20000003,
                                                     t->quick ? 3001 : 9001),
                                           order);
            p.columns = columns;
            p.width[0] = (unsigned char)order_bytes(order);
            sort_do(t, &p);
        }
}

const struct test_case test_cases[] = {
    {"orders", orders, TEST_EACH_MEMORY},
    {"sizes", sizes, TEST_EACH_MEMORY},
    {"bit_ranges", bit_ranges, TEST_EACH_MEMORY},
    {"segments", segments, TEST_EACH_MEMORY},
    {"columns", columns, TEST_EACH_MEMORY},
    {"anything", anything, TEST_EACH_MEMORY},
    {"large", large, TEST_EACH_MEMORY},
    {"close_together", close_together, TEST_EACH_MEMORY},
    {"few_distinct", few_distinct, TEST_EACH_MEMORY},
    {"refusals", refusals, TEST_EACH_MEMORY},
    {"many", many, TEST_EACH_MEMORY},
    {"far", far, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
