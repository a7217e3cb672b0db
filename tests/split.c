/* split.c: see split.h. A multisplit is judged by what a walk over the entries in order, one after the other,
 * gives. */
#include "split.h"

/* ---- payload ------------------------------------------------------------------------------------------- */

static uint32_t disguise(unsigned c)
{
    return 0x9e3779b9u * (c + 1);
}

void payload_entry(unsigned char *entry, uint64_t width, unsigned c, uint64_t i)
{
    uint32_t low = (uint32_t)i ^ disguise(c);
    if (width < 4)
        low = (uint32_t)test_mix(i ^ disguise(c));
    memcpy(entry, &low, width < 4 ? width : 4);
    for (uint64_t b = 4; b < width; b += 4) {
        uint32_t more = (uint32_t)test_mix(i * 4 + b + c);
        memcpy(entry + b, &more, 4);
    }
}

void payload_fill(struct column *column, unsigned c)
{
    for (uint64_t i = 0; i < column->count; i++)
        payload_entry((unsigned char *)column->data + i * column->width, column->width, c, i);
}

int payload_is(const struct column *column, uint64_t at, unsigned c, uint64_t i)
{
    unsigned char due[16];
    payload_entry(due, column->width, c, i);
    return !memcmp((unsigned char *)column->data + at * column->width, due, column->width);
}

uint64_t payload_index(const struct column *column, uint64_t at, unsigned c)
{
    uint32_t low;
    memcpy(&low, (unsigned char *)column->data + at * column->width, 4);
    return low ^ disguise(c);
}

void *snapshot(struct test *t, const struct column *c)
{
    void *copy = malloc(c->count * c->width + 1);
    REQUIRE(t, copy);
    memcpy(copy, c->data, c->count * c->width);
    return copy;
}

int unharmed(const struct column *now, const void *before, uint64_t from)
{
    uint64_t at = from * now->width;
    return from >= now->count ||
           !memcmp((char *)now->data + at, (const char *)before + at, now->count * now->width - at);
}

/* ---- plans --------------------------------------------------------------------------------------------- */

struct split_plan split_plan(uint64_t n, uint64_t m)
{
    struct split_plan p = {.n = n,
                           .m = m,
                           .key_bytes = 4,
                           .kind = COHORT_FN_HASH,
                           .keys_out = 1,
                           .offsets = SPLIT_HERE,
                           .method = COHORT_SPLIT_AUTO};
    return p;
}

/* Buckets in all: of each segment m. */
static uint64_t split_cells(const struct split_plan *p)
{
    return (p->segments ? p->segments : 1) * p->m;
}

int split_offered(const struct test *t, const struct split_plan *p)
{
    static const uint64_t most[] = {UINT64_MAX, 256, 256, 2048, 256, 2048, UINT64_MAX};
    if (p->method == COHORT_SPLIT_RESERVED && !p->unordered)
        return 0;
    return t->kind == TEST_CPU || split_cells(p) <= most[p->method];
}

static uint64_t some_buckets(struct test *t)
{
    static const uint64_t edges[] = {1,   2,    3,    31,   32,   33,   255,   256,
                                     257, 1000, 2047, 2048, 2049, 4096, 65535, 65536};
    switch (test_below(t, 4)) {
    case 0:
        return edges[test_below(t, sizeof edges / sizeof *edges)];
    case 1:
        return 1 + test_below(t, 300);
    case 2:
        return 1 + test_below(t, 3000);
    default:
        return 1 + test_below(t, 40);
    }
}

static uint64_t some_n(struct test *t, uint64_t most)
{
    uint64_t n = test_below(t, most + 1);
    switch (test_below(t, 4)) {
    case 0: /* about a tile */
        n = (1ull << test_below(t, 15)) * (1 + test_below(t, 3)) + test_below(t, 3) - 1;
        return n < most ? n : most;
    case 1:
        return test_below(t, most < 70 ? most + 1 : 70);
    default:
        return n;
    }
}

/* Sometimes as many as there may be, which the tables of a CPU's threads must hold. A simulated launch that
 * passes over millions of buckets would end by its watchdog. */
static uint64_t some_segments(struct test *t, uint64_t m)
{
    uint64_t ids = t->kind == TEST_SIM ? 1 << 18 : COHORT_SEGMENT_BUCKETS_MOST;
    uint64_t most = m < ids ? ids / m : 1, few = t->kind == TEST_CPU ? 3000 : 70;
    return 1 + test_below(t, most < few ? most : few);
}

struct split_plan split_random_plan(struct test *t, uint64_t most_n)
{
    struct split_plan p = split_plan(some_n(t, most_n), some_buckets(t));
    p.key_bytes = test_below(t, 2) ? 4 : 8;
    p.kind = (cohort_fn_kind)(1 + test_below(t, COHORT_FN_IDS32));
    if ((p.kind == COHORT_FN_BETWEEN || p.kind == COHORT_FN_MASKED) && p.m < 2)
        p.m = 2;
    p.pattern = (enum key_pattern)test_below(t, KEY_PATTERNS);
    p.columns = test_below(t, 3) ? (unsigned)test_below(t, 3) : (unsigned)test_below(t, 17);
    for (unsigned c = 0; c < p.columns; c++)
        p.width[c] = (unsigned char)(1u << test_below(t, 5));
    p.keys_out = test_below(t, 8) != 0;
    p.permutation_bytes = test_below(t, 3) ? 0 : test_below(t, 2) ? 4 : 8;
    p.rank_bytes = test_below(t, 3) ? 0 : test_below(t, 2) ? 4 : 8;
    p.segments = test_below(t, 3) ? 0 : test_below(t, 2) ? 1 + test_below(t, 4) : some_segments(t, p.m);
    p.offsets = (enum split_where)test_below(t, 3);
    p.counts = test_below(t, 2) ? SPLIT_NOT : (enum split_where)test_below(t, 3);
    p.unordered = test_below(t, 3) == 0;
    p.method =
        test_below(t, 2) ? COHORT_SPLIT_AUTO : (cohort_split_method)test_below(t, COHORT_SPLIT_DIGITS + 1);
    p.in_place = test_below(t, 4) == 0;
    p.workspace = test_below(t, 4) == 0;
    int can_be_bad = p.kind == COHORT_FN_BITS || p.kind == COHORT_FN_TABLE8 || p.kind == COHORT_FN_TABLE16 ||
                     p.kind >= COHORT_FN_IDS8;
    p.bad_ids = can_be_bad && test_below(t, 4) == 0;
    return p;
}

/* ---- one split ----------------------------------------------------------------------------------------- */

struct split_work {
    struct test *t;
    const struct split_plan *p;
    const struct split_model *model;
    struct column *keys, *keys_out, *permutation, *rank, *segment_offsets, *offsets, *counts;
    struct column *in[COHORT_PAYLOADS_MOST], *out[COHORT_PAYLOADS_MOST];
    void *keys_before, *in_before[COHORT_PAYLOADS_MOST];
    uint64_t cells;  /* buckets in all, of each segment m */
    uint64_t *ids;   /* of the entries: segment * m + bucket */
    uint64_t *begin; /* cells + 1 */
    uint64_t *order; /* the entry that each place gets if order is kept */
    uint64_t bad, first_bad;
    char text[320];
};

static const char *describe(struct split_work *w)
{
    const struct split_plan *p = w->p;
    snprintf(w->text, sizeof w->text,
             "n %llu, %llu segments, ranks of %u bytes, m %llu, %u-byte keys (pattern %d), %s, method %d, %u "
             "columns%s%s%s%s%s%s%s, offsets %d, counts %d",
             (unsigned long long)p->n, (unsigned long long)p->segments, p->rank_bytes,
             (unsigned long long)p->m, p->key_bytes, (int)p->pattern, split_kind_name(w->model->fn.kind),
             (int)p->method, p->columns, p->keys_out ? "" : ", no keys",
             p->permutation_bytes == 4   ? ", permutation of 4"
             : p->permutation_bytes == 8 ? ", permutation of 8"
                                         : "",
             p->unordered ? ", unordered" : "", p->in_place ? ", in place" : "",
             p->bad_ids ? ", bad ids" : "", p->workspace ? ", own workspace" : "",
             w->t->memory == TEST_HOST ? ", host" : ", device", (int)p->offsets, (int)p->counts);
    return w->text;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Segments that begin anywhere, some of them empty. */
static void make_segments(struct split_work *w)
{
    const struct split_plan *p = w->p;
    struct test *t = w->t;
    w->cells = split_cells(p);
    if (!p->segments)
        return;
    w->segment_offsets = column_new_in(
        t, t->kind == TEST_CPU ? TEST_HOST : (enum test_memory)test_below(t, 2), p->segments + 1, 8);
    uint64_t *offsets = w->segment_offsets->data;
    offsets[0] = 0;
    for (uint64_t s = 1; s < p->segments; s++)
        offsets[s] = test_below(t, p->n + 1);
    qsort(offsets + 1, p->segments - 1, 8, compare);
    offsets[p->segments] = p->n;
}

/* What a walk in order gives. */
static void foresee(struct split_work *w)
{
    uint64_t n = w->p->n, m = w->cells, segment = 0;
    w->ids = malloc(n * 8 + 1);
    w->order = malloc(n * 8 + 1);
    w->begin = calloc(m + 2, 8);
    REQUIRE(w->t, w->ids && w->order && w->begin);
    w->first_bad = UINT64_MAX;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t id = split_model_id(w->model, column_get(w->keys, i), i);
        while (w->segment_offsets && column_get(w->segment_offsets, segment + 1) <= i)
            segment++;
        if (id != SPLIT_NO_ID)
            id += segment * w->p->m;
        w->ids[i] = id;
        if (id != SPLIT_NO_ID) {
            w->begin[id + 1]++;
        } else if (w->bad++ == 0) {
            w->first_bad = i;
        }
    }
    for (uint64_t b = 0; b < m; b++)
        w->begin[b + 1] += w->begin[b];
    uint64_t *next = malloc(m * 8);
    REQUIRE(w->t, next);
    memcpy(next, w->begin, m * 8);
    for (uint64_t i = 0; i < n; i++)
        if (w->ids[i] != SPLIT_NO_ID)
            w->order[next[w->ids[i]]++] = i;
    free(next);
}

static struct column *output(struct test *t, enum split_where where, uint64_t count, uint64_t width)
{
    enum test_memory memory = t->memory;
    if (where == SPLIT_NOT)
        return NULL;
    if (where == SPLIT_THERE && t->kind != TEST_CPU)
        memory = memory == TEST_HOST ? TEST_DEVICE : TEST_HOST;
    struct column *c = column_new_in(t, memory, count, width);
    memset(c->data, 0x5c, count * width);
    return c;
}

static void make_arrays(struct split_work *w)
{
    const struct split_plan *p = w->p;
    struct test *t = w->t;
    w->keys_before = snapshot(t, w->keys);
    w->keys_out = !p->keys_out ? NULL : p->in_place ? w->keys : output(t, SPLIT_HERE, p->n, p->key_bytes);
    for (unsigned c = 0; c < p->columns; c++) {
        w->in[c] = column_new(t, p->n, p->width[c]);
        payload_fill(w->in[c], c);
        w->in_before[c] = snapshot(t, w->in[c]);
        w->out[c] = p->in_place && c % 3 != 1 ? w->in[c] : output(t, SPLIT_HERE, p->n, p->width[c]);
    }
    if (p->permutation_bytes)
        w->permutation = output(t, SPLIT_HERE, p->n, p->permutation_bytes);
    if (p->rank_bytes)
        w->rank = output(t, SPLIT_HERE, p->n, p->rank_bytes);
    w->offsets = output(t, p->offsets, w->cells + 1, 8);
    w->counts = output(t, p->counts, 5, 8);
}

static cohort_status call(struct split_work *w)
{
    const struct split_plan *p = w->p;
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    cohort_payload columns[COHORT_PAYLOADS_MOST];
    d.n = p->n;
    d.type = p->key_bytes == 8 ? COHORT_U64 : COHORT_U32;
    d.buckets = (uint32_t)p->m;
    d.fn = &w->model->fn;
    d.keys = column_send(w->keys);
    d.keys_out = w->keys_out == w->keys ? (void *)(uintptr_t)d.keys : column_pointer(w->keys_out);
    d.payloads = p->columns;
    d.payload = p->columns ? columns : NULL;
    for (unsigned c = 0; c < p->columns; c++) {
        columns[c].in = column_send(w->in[c]);
        columns[c].out = w->out[c] == w->in[c] ? (void *)(uintptr_t)columns[c].in : column_send(w->out[c]);
        columns[c].bytes = p->width[c];
        columns[c].reserved = 0;
    }
    d.permutation = column_pointer(w->permutation);
    d.permutation_bytes = p->permutation_bytes;
    d.rank = column_pointer(w->rank);
    d.rank_bytes = p->rank_bytes;
    d.segments = p->segments;
    d.segment_offsets = w->segment_offsets ? column_send(w->segment_offsets) : NULL;
    d.unordered = (uint32_t)p->unordered;
    d.method = p->method;
    d.offsets = column_pointer(w->offsets);
    d.counts = column_pointer(w->counts);
    uint64_t bytes = 0;
    if (p->workspace) {
        cohort_status status = cohort_multisplit_workspace(w->t->context, &d, &bytes);
        if (status)
            return status;
        void *memory;
        OK(w->t, cohort_alloc(w->t->context, bytes + 512, &memory));
        OK(w->t, cohort_fill(w->t->context, memory, 0xa7, bytes + 512));
        d.workspace = (char *)memory + 256;
        d.workspace_bytes = bytes;
        status = cohort_multisplit(w->t->context, &d);
        unsigned char around[512];
        OK(w->t, cohort_copy(w->t->context, around, memory, 256));
        OK(w->t, cohort_copy(w->t->context, around + 256, (char *)memory + 256 + bytes, 256));
        for (int i = 0; i < 512; i++)
            REQUIREF(w->t, around[i] == 0xa7, "written beside the workspace of %llu bytes: %s",
                     (unsigned long long)bytes, describe(w));
        OK(w->t, cohort_free(w->t->context, memory));
        return status;
    }
    return cohort_multisplit(w->t->context, &d);
}

static void fetch(struct split_work *w)
{
    struct column *all[] = {w->keys, w->keys_out, w->permutation, w->rank, w->offsets, w->counts};
    for (int i = 0; i < 6; i++)
        if (all[i])
            column_fetch(all[i]);
    for (unsigned c = 0; c < w->p->columns; c++) {
        column_fetch(w->in[c]);
        column_fetch(w->out[c]);
    }
}

/* Does place `at` of all outputs hold entry i? */
static void check_place(struct split_work *w, uint64_t at, uint64_t i)
{
    struct test *t = w->t;
    uint64_t key = w->p->key_bytes == 4 ? ((uint32_t *)w->keys_before)[i] : ((uint64_t *)w->keys_before)[i];
    if (w->keys_out)
        REQUIREF(t, column_get(w->keys_out, at) == key,
                 "keys_out[%llu] is 0x%llx, not 0x%llx of entry %llu: %s", (unsigned long long)at,
                 (unsigned long long)column_get(w->keys_out, at), (unsigned long long)key,
                 (unsigned long long)i, describe(w));
    if (w->permutation)
        REQUIREF(t, column_get(w->permutation, at) == i, "permutation[%llu] is %llu, not %llu: %s",
                 (unsigned long long)at, (unsigned long long)column_get(w->permutation, at),
                 (unsigned long long)i, describe(w));
    if (w->rank)
        REQUIREF(t, column_get(w->rank, i) == at, "rank[%llu] is %llu, not %llu: %s", (unsigned long long)i,
                 (unsigned long long)column_get(w->rank, i), (unsigned long long)at, describe(w));
    for (unsigned c = 0; c < w->p->columns; c++)
        REQUIREF(t, payload_is(w->out[c], at, c, i),
                 "column[%u] of %u bytes at %llu is not that of entry %llu: %s", c, w->p->width[c],
                 (unsigned long long)at, (unsigned long long)i, describe(w));
}

static void check_stable(struct split_work *w)
{
    for (uint64_t at = 0; at < w->begin[w->cells]; at++)
        check_place(w, at, w->order[at]);
}

/* Nothing tells the entries but their keys: bucket by bucket they are the same ones. */
static void check_keys_alone(struct split_work *w)
{
    uint64_t total = w->begin[w->cells], *got = malloc(total * 8 + 1), *due = malloc(total * 8 + 1);
    REQUIRE(w->t, got && due);
    for (uint64_t i = 0; i < total; i++) {
        got[i] = column_get(w->keys_out, i);
        due[i] = w->p->key_bytes == 4 ? ((uint32_t *)w->keys_before)[w->order[i]]
                                      : ((uint64_t *)w->keys_before)[w->order[i]];
    }
    for (uint64_t b = 0; b < w->cells; b++) {
        qsort(got + w->begin[b], w->begin[b + 1] - w->begin[b], 8, compare);
        qsort(due + w->begin[b], w->begin[b + 1] - w->begin[b], 8, compare);
    }
    int same = !memcmp(got, due, total * 8);
    free(got);
    free(due);
    REQUIREF(w->t, same, "some bucket has other keys than it should: %s", describe(w));
}

/* Each entry once, in its bucket, with all that is its own. */
static void check_unordered(struct split_work *w)
{
    const struct split_plan *p = w->p;
    unsigned teller = 0;
    while (teller < p->columns && p->width[teller] < 4)
        teller++;
    if (!w->permutation && !w->rank && teller == p->columns) {
        if (w->keys_out)
            check_keys_alone(w);
        return;
    }
    unsigned char *seen = calloc(p->n + 1, 1);
    uint64_t b = 0, *place = calloc(p->n + 1, 8); /* which entry says that it is there */
    REQUIRE(w->t, seen && place);
    for (uint64_t i = 0; w->rank && i < p->n; i++)
        if (column_get(w->rank, i) < p->n)
            place[column_get(w->rank, i)] = i;
    for (uint64_t at = 0; at < w->begin[w->cells]; at++) {
        while (at >= w->begin[b + 1])
            b++;
        uint64_t i = w->permutation ? column_get(w->permutation, at)
                     : w->rank      ? place[at]
                                    : payload_index(w->out[teller], at, teller);
        REQUIREF(w->t, i < p->n && !seen[i] && w->ids[i] == b,
                 "entry %llu is at %llu: wrong bucket, or twice: %s", (unsigned long long)i,
                 (unsigned long long)at, describe(w));
        seen[i] = 1;
        check_place(w, at, i);
    }
    free(place);
    free(seen);
}

/* Entries that are left out have no place. */
static void check_left_out(struct split_work *w)
{
    uint64_t none = w->p->rank_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    for (uint64_t i = 0; w->rank && i < w->p->n; i++)
        if (w->ids[i] == SPLIT_NO_ID)
            REQUIREF(w->t, column_get(w->rank, i) == none,
                     "rank[%llu] is %llu, of an entry that is left out: %s", (unsigned long long)i,
                     (unsigned long long)column_get(w->rank, i), describe(w));
}

/* Inputs are as they were, and so are outputs behind what was due (from 0 if nothing was done). */
static void check_rest(struct split_work *w, uint64_t written)
{
    const struct split_plan *p = w->p;
    struct test *t = w->t;
    unsigned char *pattern = malloc(p->n * 16 + 1);
    REQUIRE(t, pattern);
    memset(pattern, 0x5c, p->n * 16);
    int keys_are = unharmed(w->keys, w->keys_before, w->keys == w->keys_out ? written : 0);
    REQUIREF(t, keys_are, "keys have changed: %s", describe(w));
    if (w->keys_out && w->keys_out != w->keys)
        REQUIREF(t, unharmed(w->keys_out, pattern, written), "keys_out written behind the end: %s",
                 describe(w));
    if (w->permutation)
        REQUIREF(t, unharmed(w->permutation, pattern, written), "permutation written behind the end: %s",
                 describe(w));
    for (unsigned c = 0; c < p->columns; c++) {
        REQUIREF(t, unharmed(w->in[c], w->in_before[c], w->in[c] == w->out[c] ? written : 0),
                 "column[%u].in has changed: %s", c, describe(w));
        if (w->in[c] != w->out[c])
            REQUIREF(t, unharmed(w->out[c], pattern, written), "column[%u].out written behind the end: %s", c,
                     describe(w));
    }
    free(pattern);
}

static void check_offsets(struct split_work *w)
{
    for (uint64_t b = 0; w->offsets && b <= w->cells; b++)
        REQUIREF(w->t, column_get(w->offsets, b) == w->begin[b], "offsets[%llu] is %llu, not %llu: %s",
                 (unsigned long long)b, (unsigned long long)column_get(w->offsets, b),
                 (unsigned long long)w->begin[b], describe(w));
    uint64_t due[] = {w->p->n, 0, w->begin[w->cells], w->bad, w->first_bad};
    for (uint64_t i = 0; w->counts && i < 5; i++)
        REQUIREF(w->t, column_get(w->counts, i) == due[i], "word %llu of counts is %llu, not %llu: %s",
                 (unsigned long long)i, (unsigned long long)column_get(w->counts, i),
                 (unsigned long long)due[i], describe(w));
}

/* Bad ids are told, by a call that waits at once, else by cohort_wait, with the first. */
static void check_status(struct split_work *w, cohort_status called, const char *message)
{
    struct test *t = w->t;
    cohort_status waited = cohort_wait(t->context), due = w->bad ? COHORT_RANGE : COHORT_OK;
    char number[32];
    snprintf(number, sizeof number, "%llu ", (unsigned long long)w->first_bad);
    REQUIREF(t, (called == due && !waited) || (!called && waited == due),
             "gives %s and %s, due is %s (%s): %s", cohort_status_name(called), cohort_status_name(waited),
             cohort_status_name(due), message, describe(w));
    REQUIREF(t, t->memory == TEST_DEVICE || !waited, "with host pointers the status comes at cohort_wait: %s",
             describe(w));
    if (w->bad)
        REQUIREF(t, strstr(called ? message : cohort_message(t->context), number),
                 "\"%s\" does not name %s: %s", called ? message : cohort_message(t->context), number,
                 describe(w));
}

void split_do_with(struct test *t, const struct split_plan *p, struct column *keys,
                   const struct split_model *model)
{
    struct split_work w = {.t = t, .p = p, .model = model, .keys = keys};
    make_segments(&w);
    foresee(&w);
    make_arrays(&w);
    cohort_status called = call(&w);
    char message[512] = "";
    if (called)
        snprintf(message, sizeof message, "%s", cohort_message(t->context));
    if (!split_offered(t, p)) {
        REQUIREF(t, called == COHORT_UNSUPPORTED, "gives %s (%s) for a method that is not offered: %s",
                 cohort_status_name(called), message, describe(&w));
        fetch(&w);
        check_rest(&w, 0);
    } else {
        REQUIREF(t, !called || called == COHORT_RANGE, "gives %s: %s: %s", cohort_status_name(called),
                 message, describe(&w));
        check_status(&w, called, message);
        fetch(&w);
        if (p->unordered)
            check_unordered(&w);
        else
            check_stable(&w);
        check_left_out(&w);
        check_rest(&w, w.begin[w.cells]);
        check_offsets(&w);
    }
    free(w.keys_before);
    for (unsigned c = 0; c < p->columns; c++)
        free(w.in_before[c]);
    free(w.ids);
    free(w.begin);
    free(w.order);
}

void split_do(struct test *t, const struct split_plan *p)
{
    struct column *mark = t->columns, *keys = column_new(t, p->n, p->key_bytes);
    split_keys(t, keys, p->pattern, split_key_range(t, p->kind, p->m));
    struct split_model model = split_model(t, p->kind, p->m, keys, p->bad_ids);
    split_do_with(t, p, keys, &model);
    column_drop(t, mark);
}
