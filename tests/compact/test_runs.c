/* test_runs.c: runs of equal keys, against a walk in order. */
#include "cohort/runs.h"
#include "split.h"

struct runs_plan {
    uint64_t n, longest; /* runs of 1 to `longest` entries */
    unsigned key_bytes;
    int distinct, starts, lengths, total; /* wanted? */
    int exact, in_place, workspace;
};

struct runs_work {
    struct test *t;
    const struct runs_plan *p;
    struct column *keys, *distinct, *starts, *lengths, *total;
    struct column *due_distinct, *due_starts; /* due_starts has n behind its last one */
    uint64_t runs;
    void *before;
    char text[200];
};

static const char *describe(struct runs_work *w)
{
    const struct runs_plan *p = w->p;
    snprintf(w->text, sizeof w->text, "n %llu, %u-byte keys, runs of at most %llu%s%s%s%s%s%s%s, %s",
             (unsigned long long)p->n, p->key_bytes, (unsigned long long)p->longest,
             p->distinct ? ", distinct" : "", p->starts ? ", starts" : "", p->lengths ? ", lengths" : "",
             p->total ? ", total" : "", p->exact ? ", exact room" : "", p->in_place ? ", in place" : "",
             p->workspace ? ", own workspace" : "", w->t->memory == TEST_HOST ? "host" : "device");
    return w->text;
}

static enum test_memory any_memory(struct test *t)
{
    return t->kind == TEST_CPU ? TEST_HOST : (enum test_memory)test_below(t, 2);
}

/* Keys that differ in one bit, wherever it is; the first key may be 0. */
static void make_keys(struct runs_work *w)
{
    const struct runs_plan *p = w->p;
    struct test *t = w->t;
    w->keys = column_new(t, p->n, p->key_bytes);
    w->due_distinct = column_new_in(t, TEST_HOST, p->n, p->key_bytes);
    w->due_starts = column_new_in(t, TEST_HOST, p->n + 1, 8);
    uint64_t key = test_below(t, 2) ? 0 : ~0ull;
    for (uint64_t at = 0; at < p->n; w->runs++) {
        uint64_t length = 1 + test_below(t, p->longest);
        column_put(w->due_distinct, w->runs, key);
        column_put(w->due_starts, w->runs, at);
        for (uint64_t end = length < p->n - at ? at + length : p->n; at < end; at++)
            column_put(w->keys, at, key);
        key ^= 1ull << test_below(t, 8 * p->key_bytes);
    }
    column_put(w->due_starts, w->runs, p->n);
    w->before = snapshot(t, w->keys);
}

static struct column *output(struct runs_work *w, int wanted, uint64_t width)
{
    if (!wanted)
        return NULL;
    struct column *c = column_new(w->t, w->p->exact ? w->runs : w->p->n, width);
    memset(c->data, 0x5c, c->count * c->width);
    return c;
}

static cohort_status call(struct runs_work *w)
{
    const struct runs_plan *p = w->p;
    cohort_runs_desc d = COHORT_RUNS_INIT;
    void *memory = NULL;
    d.n = p->n;
    d.type = p->key_bytes == 8 ? COHORT_U64 : COHORT_U32;
    d.keys = column_send(w->keys);
    d.distinct = p->in_place ? (void *)(uintptr_t)d.keys : column_pointer(w->distinct);
    d.starts = column_pointer(w->starts);
    d.lengths = column_pointer(w->lengths);
    d.total = column_pointer(w->total);
    if (p->workspace) {
        OK(w->t, cohort_runs_workspace(w->t->context, &d, &d.workspace_bytes));
        OK(w->t, cohort_alloc(w->t->context, d.workspace_bytes + 512, &memory));
        OK(w->t, cohort_fill(w->t->context, memory, 0xa7, d.workspace_bytes + 512));
        d.workspace = (char *)memory + 256;
    }
    cohort_status status = cohort_runs(w->t->context, &d);
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

static void same(struct runs_work *w, const char *name, struct column *c, uint64_t i, uint64_t due)
{
    if (c)
        REQUIREF(w->t, column_get(c, i) == due, "%s[%llu] is %llu, not %llu: %s", name, (unsigned long long)i,
                 (unsigned long long)column_get(c, i), (unsigned long long)due, describe(w));
}

/* Behind the runs everything is as it was. */
static void untouched(struct runs_work *w, const char *name, struct column *c)
{
    for (uint64_t i = c ? w->runs * c->width : 0; c && i < c->count * c->width; i++) {
        unsigned char was = c == w->keys ? ((unsigned char *)w->before)[i] : 0x5c;
        REQUIREF(w->t, ((unsigned char *)c->data)[i] == was, "%s is written behind its runs: %s", name,
                 describe(w));
    }
}

static void judge(struct runs_work *w)
{
    struct column *all[] = {w->keys, w->distinct, w->starts, w->lengths, w->total};
    struct column *distinct = w->p->in_place ? w->keys : w->distinct;
    for (int i = 0; i < 5; i++)
        if (all[i])
            column_fetch(all[i]);
    if (w->total)
        same(w, "total", w->total, 0, w->runs);
    for (uint64_t i = 0; i < w->runs; i++) {
        uint64_t begin = column_get(w->due_starts, i);
        same(w, "distinct", distinct, i, column_get(w->due_distinct, i));
        same(w, "starts", w->starts, i, begin);
        same(w, "lengths", w->lengths, i, column_get(w->due_starts, i + 1) - begin);
    }
    untouched(w, "distinct", distinct);
    untouched(w, "starts", w->starts);
    untouched(w, "lengths", w->lengths);
    if (!w->p->in_place)
        REQUIREF(w->t, unharmed(w->keys, w->before, 0), "keys have changed: %s", describe(w));
}

static void runs_do(struct test *t, const struct runs_plan *p)
{
    struct runs_work w = {.t = t, .p = p};
    struct column *mark = t->columns;
    make_keys(&w);
    w.distinct = output(&w, p->distinct && !p->in_place, p->key_bytes);
    w.starts = output(&w, p->starts, 8);
    w.lengths = output(&w, p->lengths, 8);
    w.total = p->total ? column_new_in(t, any_memory(t), 1, 8) : NULL;
    OK(t, call(&w));
    OK(t, cohort_wait(t->context));
    judge(&w);
    free(w.before);
    column_drop(t, mark);
}

static void runs_any(struct test *t, uint64_t n, uint64_t longest)
{
    struct runs_plan p = {.n = n, .longest = longest, .key_bytes = test_below(t, 2) ? 8 : 4};
    const uint64_t wanted = test_below(t, 16);
    p.distinct = (int)(wanted & 1);
    p.starts = (int)(wanted >> 1 & 1);
    p.lengths = (int)(wanted >> 2 & 1);
    p.total = (int)(wanted >> 3 & 1);
    p.exact = (int)test_below(t, 2);
    p.in_place = p.distinct && !test_below(t, 4);
    p.workspace = !test_below(t, 4);
    runs_do(t, &p);
}

/* Sizes about those of words, warps and tiles. */
static void sizes(struct test *t)
{
    const uint64_t most = test_size(t, 1 << 17, 1 << 12);
    for (uint64_t n = 0; n <= 130; n++)
        runs_any(t, n, 1 + test_below(t, 4));
    for (uint64_t n = 256; n <= most; n *= 2)
        for (int off = -1; off <= 1; off++)
            runs_any(t, n + (uint64_t)off, 1 + test_below(t, 40));
}

/* Every entry a run, all of them one run, and between. */
static void run_lengths(struct test *t)
{
    const uint64_t most = test_size(t, 1 << 16, 1 << 11);
    for (uint64_t longest = 1; longest <= 2 * most; longest *= 2)
        for (int wanted = 1; wanted < 16; wanted++) {
            struct runs_plan p = {.n = most + test_below(t, 70),
                                  .longest = longest,
                                  .key_bytes = wanted & 1 ? 8 : 4,
                                  .distinct = wanted & 1,
                                  .starts = wanted >> 1 & 1,
                                  .lengths = wanted >> 2 & 1,
                                  .total = wanted >> 3 & 1,
                                  .exact = (int)test_below(t, 2)};
            runs_do(t, &p);
        }
}

/* All keys the same but one, which is the first, the last or between; and zeros and ones in turn, so that
 * every entry is a run. */
static void edges(struct test *t)
{
    const uint64_t most = test_size(t, 70000, 3000);
    for (unsigned bytes = 4; bytes <= 8; bytes += 4)
        for (unsigned round = 0; round < 12; round++) {
            const uint64_t n = round < 4 ? most : 1 + test_below(t, most);
            const uint64_t odd = round % 4 == 0 ? 0 : round % 4 == 1 ? n - 1 : test_below(t, n);
            struct column *mark = t->columns, *keys = column_new(t, n, bytes),
                          *seen = column_new(t, n, bytes);
            struct column *starts = column_new(t, n, 8), *lengths = column_new(t, n, 8);
            struct column *total = column_new_in(t, any_memory(t), 1, 8);
            cohort_runs_desc d = COHORT_RUNS_INIT;
            uint64_t at = 0, runs = 0;
            for (uint64_t i = 0; i < n; i++)
                column_put(keys, i, round % 4 == 3 ? (i & 1 ? UINT64_MAX : 0) : i == odd ? 0 : UINT64_MAX);
            d.n = n;
            d.type = bytes == 8 ? COHORT_U64 : COHORT_U32;
            d.keys = column_send(keys);
            d.distinct = column_send(seen);
            d.starts = column_send(starts);
            d.lengths = column_send(lengths);
            d.total = column_send(total);
            OK(t, cohort_runs(t->context, &d));
            OK(t, cohort_wait(t->context));
            column_fetch(seen);
            column_fetch(starts);
            column_fetch(lengths);
            column_fetch(total);
            for (; at < n; runs++) {
                uint64_t end = at + 1;
                while (end < n && column_get(keys, end) == column_get(keys, at))
                    end++;
                REQUIREF(t,
                         column_get(seen, runs) == column_get(keys, at) && column_get(starts, runs) == at &&
                             column_get(lengths, runs) == end - at,
                         "run %llu of %llu entries, the odd one is %llu", (unsigned long long)runs,
                         (unsigned long long)n, (unsigned long long)odd);
                at = end;
            }
            EQUAL(t, column_get(total, 0), runs);
            column_drop(t, mark);
        }
}

/* Of sorted keys the runs are the distinct keys, without a wait between the calls. */
static void after_a_sort(struct test *t)
{
    const uint64_t n = test_size(t, 40000, 3000), distinct = 1 + test_below(t, n);
    struct column *mark = t->columns, *keys = column_new(t, n, 8), *seen = column_new(t, n, 8);
    struct column *each = column_new(t, n, 8), *total = column_new_in(t, any_memory(t), 1, 8);
    uint64_t *count = calloc(distinct, sizeof *count), at = 0;
    REQUIRE(t, count);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = test_below(t, distinct);
        column_put(keys, i, key);
        count[key]++;
    }
    cohort_sort_desc s = COHORT_SORT_INIT;
    s.n = n;
    s.type = COHORT_U64;
    s.keys = column_send(keys);
    s.keys_out = column_send(keys);
    OK(t, cohort_sort(t->context, &s));
    cohort_runs_desc d = COHORT_RUNS_INIT;
    d.n = n;
    d.type = COHORT_U64;
    d.keys = s.keys_out;
    d.distinct = column_send(seen);
    d.lengths = column_send(each);
    d.total = column_send(total);
    OK(t, cohort_runs(t->context, &d));
    OK(t, cohort_wait(t->context));
    column_fetch(seen);
    column_fetch(each);
    column_fetch(total);
    for (uint64_t key = 0; key < distinct; key++) {
        if (!count[key])
            continue;
        REQUIREF(t, column_get(seen, at) == key && column_get(each, at) == count[key],
                 "key %llu is there %llu times, not %llu times %llu", (unsigned long long)key,
                 (unsigned long long)count[key], (unsigned long long)column_get(each, at),
                 (unsigned long long)column_get(seen, at));
        at++;
    }
    REQUIREF(t, column_get(total, 0) == at, "total is %llu, not %llu",
             (unsigned long long)column_get(total, 0), (unsigned long long)at);
    free(count);
    column_drop(t, mark);
}

static void bad_input(struct test *t)
{
    cohort_context *c = t->context;
    struct column *mark = t->columns, *keys = column_new(t, 50, 8), *out = column_new(t, 50, 8);
    cohort_runs_desc good = COHORT_RUNS_INIT, d;
    uint64_t bytes;
    good.n = 50;
    good.type = COHORT_U64;
    good.keys = column_send(keys);
    good.starts = column_send(out);
    FAILS(t, c, cohort_runs(c, NULL), COHORT_NULL, "desc", NULL);
    FAILS(t, NULL, cohort_runs(NULL, &good), COHORT_NULL, "context", NULL);
    d = good, d.size = 3;
    FAILS(t, c, cohort_runs(c, &d), COHORT_BAD_STRUCT, "desc", "3");
    d = good, d.type = COHORT_I32;
    FAILS(t, c, cohort_runs(c, &d), COHORT_UNSUPPORTED, "desc.type", "COHORT_U32");
    d = good, d.type = (cohort_type)99;
    FAILS(t, c, cohort_runs(c, &d), COHORT_RANGE, "desc.type", "99");
    d = good, d.reserved = 7;
    FAILS(t, c, cohort_runs(c, &d), COHORT_RANGE, "desc.reserved", "7");
    d = good, d.keys = NULL;
    FAILS(t, c, cohort_runs(c, &d), COHORT_NULL, "desc.keys", "50");
    d = good, d.n = UINT64_MAX;
    FAILS(t, c, cohort_runs(c, &d), COHORT_OVERFLOW, "n", NULL);
    d = good, d.starts = (uint64_t *)((char *)good.starts + 4);
    FAILS(t, c, cohort_runs(c, &d), COHORT_BAD_POINTER, "desc.starts", "8 bytes");
    d = good, d.lengths = good.starts;
    FAILS(t, c, cohort_runs(c, &d), COHORT_RANGE, "desc.lengths", "overlaps desc.starts");
    d = good, d.starts = (uint64_t *)(uintptr_t)good.keys;
    FAILS(t, c, cohort_runs(c, &d), COHORT_RANGE, "desc.starts", "overlaps desc.keys");
    FAILS(t, c, cohort_runs_workspace(c, &good, NULL), COHORT_NULL, "bytes", NULL);
    bytes = 7;
    d = good, d.reserved = 7;
    FAILS(t, c, cohort_runs_workspace(c, &d, &bytes), COHORT_RANGE, "desc.reserved", "7");
    EQUAL(t, bytes, 0);
    OK(t, cohort_runs_workspace(c, &good, &bytes));
    column_drop(t, mark);
}

const struct test_case test_cases[] = {
    {"sizes", sizes, TEST_EACH_MEMORY},         {"run lengths", run_lengths, TEST_EACH_MEMORY},
    {"edges", edges, TEST_EACH_MEMORY},         {"after a sort", after_a_sort, TEST_EACH_MEMORY},
    {"bad input", bad_input, TEST_EACH_MEMORY}, {NULL, NULL, 0},
};
