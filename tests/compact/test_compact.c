/* test_compact.c: compactions, prefix sums and reductions, against a walk in order. */
#include "split.h"

/* ---- compactions --------------------------------------------------------------------------------------- */

struct compact_plan {
    uint64_t n, segments;
    unsigned key_bytes, columns;
    cohort_fn_kind kind; /* 0: a bitmap */
    enum key_pattern pattern;
    unsigned char width[COHORT_PAYLOADS_MOST];
    int kept, rejected, column_kept, column_rejected; /* wanted? */
    int total, segment_kept, exact, in_place, workspace, bad_ids;
};

struct compact_work {
    struct test *t;
    const struct compact_plan *p;
    struct split_model model;
    struct column *keys, *where, *kept, *rejected, *segments, *segment_kept, *total;
    struct column *in[COHORT_PAYLOADS_MOST], *out[COHORT_PAYLOADS_MOST], *out_rejected[COHORT_PAYLOADS_MOST];
    void *keys_before, *in_before[COHORT_PAYLOADS_MOST];
    unsigned char *keep; /* of each entry */
    uint64_t kept_count, first_bad;
    char text[200];
};

static const char *describe(struct compact_work *w)
{
    const struct compact_plan *p = w->p;
    snprintf(w->text, sizeof w->text, "n %llu, %u-byte keys, %s, %u columns, %llu segments%s%s%s%s%s, %s",
             (unsigned long long)p->n, p->key_bytes, p->kind ? split_kind_name(p->kind) : "bitmap",
             p->columns, (unsigned long long)p->segments, p->kept ? ", kept" : "",
             p->rejected ? ", rejected" : "", p->exact ? ", exact room" : "", p->in_place ? ", in place" : "",
             p->workspace ? ", own workspace" : "", w->t->memory == TEST_HOST ? "host" : "device");
    return w->text;
}

static enum test_memory any_memory(struct test *t)
{
    return t->kind == TEST_CPU ? TEST_HOST : (enum test_memory)test_below(t, 2);
}

static void foresee(struct compact_work *w)
{
    const struct compact_plan *p = w->p;
    int table = p->kind == COHORT_FN_TABLE8 || p->kind == COHORT_FN_TABLE16;
    w->keep = malloc(p->n + 1);
    REQUIRE(w->t, w->keep);
    w->first_bad = UINT64_MAX;
    for (uint64_t i = 0; i < p->n; i++) {
        uint64_t id = p->kind ? split_model_id(&w->model, column_get(w->keys, i), i)
                              : (uint64_t)bitmap_get(w->where, i);
        if (table && id == SPLIT_NO_ID) {
            w->first_bad = i < w->first_bad ? i : w->first_bad;
            id = 0;
        }
        w->keep[i] = id != 0;
        w->kept_count += id != 0;
    }
}

static struct column *some_segments(struct test *t, uint64_t n, uint64_t segments)
{
    struct column *c = column_new_in(t, any_memory(t), segments + 1, 8);
    uint64_t at = 0;
    for (uint64_t s = 0; s < segments; s++) {
        column_put(c, s, at);
        uint64_t length = test_below(t, 3) ? test_below(t, 2 * n / segments + 2) : test_below(t, 2);
        at += length < n - at ? length : n - at;
    }
    column_put(c, segments, n);
    return c;
}

/* An output for `count` entries; the place of `in` if it is to be that. */
static struct column *output(struct compact_work *w, int wanted, int in_place, struct column *in,
                             uint64_t count)
{
    if (!wanted)
        return NULL;
    if (in_place)
        return in;
    struct column *c = column_new(w->t, w->p->exact ? count : w->p->n, in->width);
    memset(c->data, 0x5c, c->count * c->width);
    return c;
}

static void make_arrays(struct compact_work *w)
{
    const struct compact_plan *p = w->p;
    struct test *t = w->t;
    uint64_t rest = p->n - w->kept_count;
    int choice = p->in_place ? 1 + (int)test_below(t, 2) : 0; /* which output takes the input's place */
    w->keys_before = snapshot(t, w->keys);
    w->kept = output(w, p->kept, choice == 1, w->keys, w->kept_count);
    w->rejected = output(w, p->rejected, choice == 2, w->keys, rest);
    for (unsigned c = 0; c < p->columns; c++) {
        w->in[c] = column_new(t, p->n, p->width[c]);
        payload_fill(w->in[c], c);
        w->in_before[c] = snapshot(t, w->in[c]);
        choice = p->in_place ? (int)test_below(t, 3) : 0;
        w->out[c] = output(w, p->column_kept, choice == 1, w->in[c], w->kept_count);
        w->out_rejected[c] = output(w, p->column_rejected && test_below(t, 4), choice == 2, w->in[c], rest);
    }
    if (p->total)
        w->total = column_new_in(t, any_memory(t), 1, 8);
    if (p->segments && p->segment_kept)
        w->segment_kept = column_new_in(t, any_memory(t), p->segments + 1, 8);
}

static void *pointer(const struct compact_work *w, struct column *c, struct column *in,
                     const void *in_pointer)
{
    (void)w;
    return c == in ? (void *)(uintptr_t)in_pointer : column_pointer(c);
}

static cohort_status call(struct compact_work *w)
{
    const struct compact_plan *p = w->p;
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    cohort_payload columns[COHORT_PAYLOADS_MOST];
    void *rejected[COHORT_PAYLOADS_MOST], *memory = NULL;
    d.n = p->n;
    d.type = p->key_bytes == 8 ? COHORT_U64 : COHORT_U32;
    d.payloads = p->columns;
    if (p->kind)
        d.fn = &w->model.fn;
    else
        d.where = column_send(w->where), d.where_offset = bitmap_offset(w->where);
    d.keys = column_send(w->keys);
    d.kept = pointer(w, w->kept, w->keys, d.keys);
    d.rejected = pointer(w, w->rejected, w->keys, d.keys);
    for (unsigned c = 0; c < p->columns; c++) {
        columns[c].in = column_send(w->in[c]);
        columns[c].out = pointer(w, w->out[c], w->in[c], columns[c].in);
        columns[c].bytes = p->width[c];
        columns[c].reserved = 0;
        rejected[c] = pointer(w, w->out_rejected[c], w->in[c], columns[c].in);
    }
    d.payload = p->columns ? columns : NULL;
    d.payload_rejected = p->column_rejected ? rejected : NULL;
    d.segments = p->segments;
    d.segment_offsets = column_pointer(w->segments);
    d.segment_kept = column_pointer(w->segment_kept);
    d.total = column_pointer(w->total);
    if (p->workspace) {
        cohort_status status = cohort_compact_workspace(w->t->context, &d, &d.workspace_bytes);
        if (status)
            return status;
        OK(w->t, cohort_alloc(w->t->context, d.workspace_bytes + 512, &memory));
        OK(w->t, cohort_fill(w->t->context, memory, 0xa7, d.workspace_bytes + 512));
        d.workspace = (char *)memory + 256;
    }
    cohort_status status = cohort_compact(w->t->context, &d);
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

/* A keys' output: the entries that `keep` says, and nothing behind them. */
static void judge_keys(struct compact_work *w, const struct column *out, int keep)
{
    uint64_t at = 0;
    for (uint64_t i = 0; out && i < w->p->n; i++) {
        uint64_t key =
            w->p->key_bytes == 4 ? ((uint32_t *)w->keys_before)[i] : ((uint64_t *)w->keys_before)[i];
        if (w->keep[i] != keep)
            continue;
        REQUIREF(w->t, column_get(out, at) == key, "%s[%llu] is 0x%llx, not 0x%llx of entry %llu: %s",
                 keep ? "kept" : "rejected", (unsigned long long)at, (unsigned long long)column_get(out, at),
                 (unsigned long long)key, (unsigned long long)i, describe(w));
        at++;
    }
    void *before = out == w->keys ? w->keys_before : NULL;
    for (uint64_t i = at * w->p->key_bytes; out && i < out->count * out->width; i++)
        REQUIREF(w->t, ((unsigned char *)out->data)[i] == (before ? ((unsigned char *)before)[i] : 0x5c),
                 "%s is written behind its %llu entries: %s", keep ? "kept" : "rejected",
                 (unsigned long long)at, describe(w));
}

static void judge_column(struct compact_work *w, unsigned c, const struct column *out, int keep)
{
    uint64_t at = 0;
    for (uint64_t i = 0; out && i < w->p->n; i++)
        if (w->keep[i] == keep) {
            REQUIREF(w->t, payload_is(out, at, c, i), "column %u, %s, at %llu is not that of entry %llu: %s",
                     c, keep ? "kept" : "rejected", (unsigned long long)at, (unsigned long long)i,
                     describe(w));
            at++;
        }
    void *before = out == w->in[c] ? w->in_before[c] : NULL;
    for (uint64_t i = out ? at * out->width : 0; out && i < out->count * out->width; i++)
        REQUIREF(w->t, ((unsigned char *)out->data)[i] == (before ? ((unsigned char *)before)[i] : 0x5c),
                 "column %u, %s, is written behind its %llu entries: %s", c, keep ? "kept" : "rejected",
                 (unsigned long long)at, describe(w));
}

static void judge(struct compact_work *w)
{
    const struct compact_plan *p = w->p;
    struct test *t = w->t;
    judge_keys(w, w->kept, 1);
    judge_keys(w, w->rejected, 0);
    if (w->kept != w->keys && w->rejected != w->keys)
        REQUIREF(t, unharmed(w->keys, w->keys_before, 0), "keys have changed: %s", describe(w));
    for (unsigned c = 0; c < p->columns; c++) {
        judge_column(w, c, w->out[c], 1);
        judge_column(w, c, w->out_rejected[c], 0);
    }
    if (w->total)
        REQUIREF(t, column_get(w->total, 0) == w->kept_count, "total is %llu, not %llu: %s",
                 (unsigned long long)column_get(w->total, 0), (unsigned long long)w->kept_count, describe(w));
    uint64_t so_far = 0, entry = 0;
    for (uint64_t s = 0; w->segment_kept && s <= p->segments; s++) {
        while (entry < column_get(w->segments, s))
            so_far += w->keep[entry++];
        REQUIREF(t, column_get(w->segment_kept, s) == so_far, "segment_kept[%llu] is %llu, not %llu: %s",
                 (unsigned long long)s, (unsigned long long)column_get(w->segment_kept, s),
                 (unsigned long long)so_far, describe(w));
    }
}

static void fetch(struct compact_work *w)
{
    struct column *all[] = {w->keys, w->kept, w->rejected, w->total, w->segment_kept};
    for (int i = 0; i < 5; i++)
        if (all[i])
            column_fetch(all[i]);
    for (unsigned c = 0; c < w->p->columns; c++) {
        struct column *three[] = {w->in[c], w->out[c], w->out_rejected[c]};
        for (int i = 0; i < 3; i++)
            if (three[i])
                column_fetch(three[i]);
    }
}

static void compact_do(struct test *t, const struct compact_plan *p)
{
    struct compact_work w = {.t = t, .p = p};
    struct column *mark = t->columns;
    w.keys = column_new(t, p->n, p->key_bytes);
    split_keys(t, w.keys, p->pattern, p->kind ? split_key_range(t, p->kind, 0) : 0);
    if (p->kind) {
        w.model = split_model(t, p->kind, 0, w.keys, p->bad_ids);
    } else {
        w.where = bitmap_new(t, p->n);
        uint64_t of = 1 + test_below(t, 20), turned = test_below(t, 2);
        bitmap_soil(w.where);
        for (uint64_t i = 0; i < p->n; i++)
            bitmap_set(w.where, i, (test_below(t, of) == 0) != turned);
    }
    if (p->segments)
        w.segments = some_segments(t, p->n, p->segments);
    foresee(&w);
    make_arrays(&w);
    char message[512], first[40];
    cohort_status status = call(&w), due = w.first_bad == UINT64_MAX ? COHORT_OK : COHORT_RANGE;
    snprintf(message, sizeof message, "%s", cohort_message(t->context));
    cohort_status waited = cohort_wait(t->context);
    const char *said = status ? message : cohort_message(t->context);
    snprintf(first, sizeof first, "entry %llu ", (unsigned long long)w.first_bad);
    REQUIREF(t, (status == due && !waited) || (!status && waited == due && t->memory == TEST_DEVICE),
             "gives %s and %s (%s): %s", cohort_status_name(status), cohort_status_name(waited), said,
             describe(&w));
    REQUIREF(t, !due || strstr(said, first), "\"%s\" does not name %s: %s", said, first, describe(&w));
    fetch(&w);
    judge(&w);
    free(w.keys_before);
    for (unsigned c = 0; c < p->columns; c++)
        free(w.in_before[c]);
    free(w.keep);
    column_drop(t, mark);
}

static struct compact_plan compact_plan(uint64_t n, cohort_fn_kind kind)
{
    struct compact_plan p = {.n = n, .key_bytes = 4, .kind = kind, .kept = 1, .column_kept = 1, .total = 1};
    return p;
}

static const cohort_fn_kind predicates[] = {
    (cohort_fn_kind)0, COHORT_FN_BITS,   COHORT_FN_SPLITTERS, COHORT_FN_TABLE8, COHORT_FN_TABLE16,
    COHORT_FN_BETWEEN, COHORT_FN_MASKED, COHORT_FN_IDS8,      COHORT_FN_IDS16,  COHORT_FN_IDS32};
#define PREDICATES (sizeof predicates / sizeof *predicates)

static void functions(struct test *t)
{
    for (uint64_t k = 0; k < PREDICATES; k++)
        for (unsigned key_bytes = 4; key_bytes <= 8; key_bytes += 4)
            for (int rejected = 0; rejected <= 1; rejected++) {
                struct compact_plan p = compact_plan(test_below(t, test_size(t, 30000, 1500)), predicates[k]);
                p.key_bytes = key_bytes;
                p.rejected = rejected;
                p.exact = (int)test_below(t, 2);
                p.bad_ids = p.kind == COHORT_FN_TABLE8 && rejected;
                p.columns = 1;
                p.width[0] = 4;
                compact_do(t, &p);
            }
}

static void user(struct test *t)
{
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    struct column *mark = t->columns, *keys = column_new(t, 1, 4);
    struct split_model model = split_model(t, COHORT_FN_USER, 0, keys, 0);
    d.n = 1;
    d.fn = &model.fn;
    d.keys = column_send(keys);
    cohort_status status = cohort_compact(t->context, &d);
    column_drop(t, mark);
    if (status == COHORT_UNSUPPORTED)
        test_skip(t, "%s", cohort_message(t->context)); /* there is no compiler */
    for (int i = 0; i < 8; i++) {
        struct compact_plan p = compact_plan(test_below(t, test_size(t, 30000, 1500)), COHORT_FN_USER);
        p.key_bytes = i % 2 ? 8 : 4;
        p.rejected = i / 2 % 2;
        p.workspace = i / 4 % 2;
        p.columns = 1;
        p.width[0] = 4;
        compact_do(t, &p);
    }
}

static void compact_sizes(struct test *t)
{
    for (uint64_t n = 0; n <= test_size(t, 1 << 18, 5000); n = n < 4 ? n + 1 : 2 * n)
        for (uint64_t off = 0; off < 3; off++) {
            struct compact_plan p = compact_plan(n + off, predicates[test_below(t, PREDICATES)]);
            p.rejected = (int)test_below(t, 2);
            p.in_place = (int)test_below(t, 2);
            compact_do(t, &p);
        }
}

static void segments(struct test *t)
{
    for (uint64_t i = test_scale(t, 20, 60, 300); i > 0; i--) {
        struct compact_plan p =
            compact_plan(test_below(t, test_size(t, 20000, 1500)), predicates[test_below(t, PREDICATES)]);
        const uint64_t counts[] = {1, 2, 10, 1 + p.n / 3, 2 * p.n + 1};
        p.segments = counts[test_below(t, 5)];
        p.segment_kept = 1;
        p.rejected = (int)test_below(t, 2);
        p.columns = (unsigned)test_below(t, 2);
        p.width[0] = 8;
        compact_do(t, &p);
    }
}

/* A workspace without a byte to spare: the copies in it, of a bitmap and of arrays that are written in place,
 * are of whole pieces. */
static void filled_workspace(struct test *t)
{
    for (unsigned i = 0; i < test_size(t, 48, 12); i++) {
        struct compact_plan p = compact_plan(2048 * (1 + i % 3), 0);
        p.key_bytes = i / 2 % 2 ? 8 : 4;
        p.rejected = (int)(i & 1);
        p.columns = 2;
        p.width[0] = 8;
        p.width[1] = i & 1 ? 1 : 4;
        p.column_kept = 1;
        p.in_place = 1;
        p.workspace = 1;
        compact_do(t, &p);
    }
}

static void anything(struct test *t)
{
    for (uint64_t i = test_scale(t, 40, 200, 1500); i > 0; i--) {
        struct compact_plan p =
            compact_plan(test_below(t, test_size(t, 1 << 16, 1500)), predicates[test_below(t, PREDICATES)]);
        p.key_bytes = test_below(t, 2) ? 4 : 8;
        p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
        p.columns = test_below(t, 3) ? (unsigned)test_below(t, 3) : (unsigned)test_below(t, 17);
        for (unsigned c = 0; c < p.columns; c++)
            p.width[c] = (unsigned char)(1u << test_below(t, 5));
        p.kept = test_below(t, 4) != 0;
        p.rejected = (int)test_below(t, 2);
        p.column_kept = test_below(t, 4) != 0;
        p.column_rejected = (int)test_below(t, 2);
        p.total = (int)test_below(t, 2);
        p.segments = test_below(t, 4) ? 0 : 1 + test_below(t, 40);
        p.segment_kept = (int)test_below(t, 2);
        p.in_place = test_below(t, 3) == 0;
        p.exact = (int)test_below(t, 2);
        p.workspace = test_below(t, 3) == 0;
        p.bad_ids = (p.kind == COHORT_FN_TABLE8 || p.kind == COHORT_FN_TABLE16) && test_below(t, 2);
        compact_do(t, &p);
    }
}

static void large(struct test *t)
{
    for (unsigned key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
        struct compact_plan p =
            compact_plan(test_size(t, t->kind == TEST_CUDA ? 20000003 : 1000003, 20011), COHORT_FN_BITS);
        p.key_bytes = key_bytes;
        p.rejected = 1;
        p.columns = 1;
        p.width[0] = 4;
        compact_do(t, &p);
    }
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static void fill_numbers(struct test *t, struct column *c)
{
    uint64_t small = test_below(t, 2);
    for (uint64_t i = 0; i < c->count; i++)
        column_put(c, i, small ? test_below(t, 3) : test_random(t));
}

static void scan_do(struct test *t, uint64_t n, unsigned bytes, int inclusive, int in_place)
{
    /* of signed numbers the sums' bits are the same */
    const cohort_type types[2][2] = {{COHORT_U32, COHORT_I32}, {COHORT_U64, COHORT_I64}};
    const cohort_type type = types[bytes == 8][test_below(t, 2)];
    struct column *mark = t->columns, *in = column_new(t, n, bytes);
    struct column *out = in_place ? in : column_new(t, n, bytes);
    fill_numbers(t, in);
    void *before = snapshot(t, in), *from = column_send(in), *to = in_place ? from : column_send(out);
    cohort_status status = cohort_scan(t->context, n, type, inclusive, from, to);
    OK(t, status);
    OK(t, cohort_wait(t->context));
    column_fetch(out);
    uint64_t sum = 0, mask = bytes == 4 ? UINT32_MAX : UINT64_MAX;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = bytes == 4 ? ((uint32_t *)before)[i] : ((uint64_t *)before)[i];
        uint64_t due = (inclusive ? sum + v : sum) & mask;
        REQUIREF(t, column_get(out, i) == due, "%s sum %llu of %llu numbers of %u bytes is %llu, not %llu",
                 inclusive ? "inclusive" : "exclusive", (unsigned long long)i, (unsigned long long)n, bytes,
                 (unsigned long long)column_get(out, i), (unsigned long long)due);
        sum += v;
    }
    if (!in_place) {
        column_fetch(in);
        CHECK(t, unharmed(in, before, 0));
    }
    free(before);
    column_drop(t, mark);
}

static void scans(struct test *t)
{
    const uint64_t most = test_size(t, 1 << 20, 9000);
    for (uint64_t n = 0; n <= most; n = n < 4 ? n + 1 : 2 * n)
        for (uint64_t off = 0; off < 3; off++)
            scan_do(t, n + off, test_below(t, 2) ? 4 : 8, (int)test_below(t, 2), (int)test_below(t, 2));
    for (uint64_t i = test_scale(t, 20, 60, 300); i > 0; i--)
        scan_do(t, test_below(t, most), i % 2 ? 4 : 8, (int)(i / 2 % 2), (int)(i / 4 % 2));
}

/* Bits, as small unsigned numbers, as numbers of both signs with the edges of integers and floats among them,
 * or as ordinary floats. */
static void fill_bits(struct test *t, struct column *c, unsigned pattern)
{
    const uint64_t top = c->width == 4 ? 1ull << 31 : 1ull << 63,
                   infinite = c->width == 4 ? 0x7f800000 : 0x7ffull << 52;
    const uint64_t edges[] = {0,           1,           2, top, top | 1, top - 1, infinite, infinite | top,
                              2 * top - 1, infinite + 7};
    for (uint64_t i = 0; i < c->count; i++) {
        double d = ((double)test_below(t, 2000003) - 1000001) / 977;
        float f = (float)d;
        uint32_t narrow;
        uint64_t wide;
        memcpy(&narrow, &f, 4);
        memcpy(&wide, &d, 8);
        column_put(c, i,
                   pattern == 0    ? test_random(t)
                   : pattern == 1  ? edges[test_below(t, 10)]
                   : pattern == 2  ? edges[test_below(t, 5)]
                   : c->width == 4 ? narrow
                                   : wide);
    }
}

static int is_float(cohort_type type)
{
    return type == COHORT_F32 || type == COHORT_F64;
}

/* A number in an order of signed 64 bits: unsigned ones less 2^63; negative floats by their magnitude,
 * turned. */
static int64_t ranked(cohort_type type, uint64_t bits)
{
    int64_t wide = type == COHORT_I32 || type == COHORT_F32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    if (type == COHORT_U32 || type == COHORT_U64)
        return (int64_t)(bits - (1ull << 63));
    return !is_float(type) || wide >= 0 ? wide
           : type == COHORT_F32         ? INT32_MIN - wide - 1
                                        : INT64_MIN - wide - 1;
}

/* What stands for that number in the answer. */
static uint64_t answer_of(cohort_type type, uint64_t bits)
{
    float f;
    uint32_t narrow = (uint32_t)bits;
    if (type == COHORT_I32)
        return (uint64_t)(int64_t)(int32_t)narrow;
    if (type != COHORT_F32)
        return bits;
    memcpy(&f, &narrow, 4);
    double d = f;
    memcpy(&bits, &d, 8);
    return bits;
}

static uint64_t answer_of_none(cohort_op op, cohort_type type)
{
    const int most = op == COHORT_OP_MAX;
    switch (type) {
    case COHORT_I32:
        return most ? (uint64_t)INT32_MIN : INT32_MAX;
    case COHORT_I64:
        return most ? (uint64_t)INT64_MIN : INT64_MAX;
    case COHORT_F32:
        return (most ? 1ull << 63 : 0) | 0x7ffull << 52 | 0x7fffffull << 29;
    case COHORT_F64:
        return most ? UINT64_MAX : INT64_MAX;
    default:
        return most ? 0 : UINT64_MAX;
    }
}

static uint64_t reduced(cohort_op op, cohort_type type, const struct column *in)
{
    uint64_t sum = 0, best = 0;
    for (uint64_t i = 0; i < in->count; i++) {
        uint64_t v = column_get(in, i);
        sum += type == COHORT_I32 ? (uint64_t)(int64_t)(int32_t)(uint32_t)v : v;
        if (!i || (op == COHORT_OP_MIN ? ranked(type, v) < ranked(type, best)
                                       : ranked(type, v) > ranked(type, best)))
            best = v;
    }
    return op == COHORT_OP_ADD ? sum : in->count ? answer_of(type, best) : answer_of_none(op, type);
}

static void reduce_do(struct test *t, cohort_op op, uint64_t n, cohort_type type, unsigned pattern)
{
    const unsigned bytes = type == COHORT_U32 || type == COHORT_I32 || type == COHORT_F32 ? 4 : 8;
    struct column *mark = t->columns, *in = column_new(t, n, bytes),
                  *out = column_new_in(t, any_memory(t), 1, 8);
    fill_bits(t, in, pattern);
    OK(t, cohort_reduce(t->context, op, n, type, column_send(in), column_send(out)));
    OK(t, cohort_wait(t->context));
    column_fetch(out);
    uint64_t due = reduced(op, type, in), got = column_get(out, 0);
    /* a conversion by the processor may set a bit of a NaN that says that it is a quiet one */
    int both_nan = is_float(type) && (due << 1) > (0x7ffull << 53) && (got << 1) > (0x7ffull << 53);
    REQUIREF(t, got == due || (both_nan && (got >> 63) == (due >> 63)),
             "op %d of %llu numbers of type %d (pattern %u) is %llx, not %llx", (int)op,
             (unsigned long long)n, (int)type, pattern, (unsigned long long)got, (unsigned long long)due);
    column_drop(t, mark);
}

static void reductions(struct test *t)
{
    static const cohort_type types[] = {COHORT_U32, COHORT_U64, COHORT_I32,
                                        COHORT_I64, COHORT_F32, COHORT_F64};
    const uint64_t most = test_size(t, 1 << 18, 5000);
    for (cohort_op op = COHORT_OP_ADD; op <= COHORT_OP_MAX; op++)
        for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
            if (op == COHORT_OP_ADD && is_float(types[i]))
                continue;
            for (uint64_t n = 0; n <= most; n = n < 4 ? n + 1 : 2 * n)
                reduce_do(t, op, n + test_below(t, 3), types[i], (unsigned)test_below(t, 4));
            for (unsigned pattern = 0; pattern < 4; pattern++) {
                reduce_do(t, op, 0, types[i], pattern);
                reduce_do(t, op, 1 + test_below(t, 9), types[i], pattern);
            }
        }
}

const struct test_case test_cases[] = {
    {"functions", functions, TEST_EACH_MEMORY},
    {"sizes", compact_sizes, TEST_EACH_MEMORY},
    {"user", user, TEST_EACH_MEMORY},
    {"segments", segments, TEST_EACH_MEMORY},
    {"filled_workspace", filled_workspace, TEST_EACH_MEMORY},
    {"anything", anything, TEST_EACH_MEMORY},
    {"large", large, TEST_EACH_MEMORY},
    {"scans", scans, TEST_EACH_MEMORY},
    {"reductions", reductions, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
