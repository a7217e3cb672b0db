/* subject.c: see subject.h. */
#include <math.h>

#include "subject.h"

cohort_map_options subject_options(const struct test *t)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    options.width = t->width;
    options.layout = t->layout;
    options.capacity = 1;
    return options;
}

cohort_probe subject_probe(const struct test *t, cohort_probe probe)
{
    return t->layout == COHORT_LAYOUT_PAGES ? probe : COHORT_PROBE_DOUBLE;
}

struct subject subject_of(struct test *t, cohort_map *map, struct oracle *oracle)
{
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    OK(t, cohort_map_get_options(map, &options));
    return (struct subject){
        .t = t, .map = map, .oracle = oracle, .width = options.width, .fixed = (int)options.fixed};
}

struct subject subject_new(struct test *t, const cohort_map_options *options)
{
    cohort_map *map;
    OK(t, cohort_map_create(t->context, options, &map));
    return subject_of(t, map, oracle_new(options->width));
}

void subject_free(struct subject *s)
{
    cohort_map_destroy(s->map);
    oracle_free(s->oracle);
}

/* ---- keys and values ----------------------------------------------------------------------------------- */

static uint64_t edge_key(struct test *t)
{
    const uint64_t keys[] = {0,
                             1,
                             UINT64_MAX,
                             UINT64_MAX - 1,
                             UINT64_MAX - 2,
                             UINT32_MAX,
                             UINT32_MAX - 1,
                             UINT64_C(1) << 31,
                             UINT64_C(1) << 32,
                             UINT64_C(1) << 63,
                             (UINT64_C(1) << 63) - 1,
                             UINT64_C(0xfffffffe00000000)};
    return keys[test_below(t, sizeof keys / sizeof *keys)];
}

void fill_keys(struct test *t, struct column *keys, enum pattern pattern, uint64_t range)
{
    uint64_t base = test_below(t, range), one = test_mix(base);
    for (uint64_t i = 0; i < keys->count; i++) {
        double unit = (double)(test_random(t) >> 11) * 0x1p-53;
        uint64_t key = pattern == SEQUENTIAL   ? (base + i) % range
                       : pattern == EQUAL_KEYS ? one
                       : pattern == FEW        ? test_mix(test_below(t, range < 5 ? range : 5) + 77)
                       : pattern == SKEWED     ? test_mix((uint64_t)pow((double)range, unit))
                       : pattern == EDGES      ? edge_key(t)
                                               : test_mix(test_below(t, range));
        if (pattern != SEQUENTIAL && pattern != EQUAL_KEYS && test_below(t, 64) == 0)
            key = edge_key(t);
        column_put(keys, i, key);
    }
}

void fill_values(struct test *t, struct column *values)
{
    for (uint64_t i = 0; i < values->count; i++) {
        uint64_t kind = test_below(t, 16);
        column_put(values, i, kind == 0 ? 0 : kind == 1 ? UINT64_MAX : test_random(t));
    }
}

void fill_bits(struct test *t, struct column *bitmap, uint64_t n)
{
    uint64_t of_16 = (uint64_t[]){8, 1, 15}[test_below(t, 3)];
    memset(bitmap->data, 0xff, bitmap->count * bitmap->width); /* beyond n they say nothing */
    for (uint64_t i = 0; i < n; i++)
        bitmap_set(bitmap, i, test_below(t, 16) < of_16);
}

/* ---- one batch ----------------------------------------------------------------------------------------- */

struct trial subject_trial(struct subject *s, enum trial_kind kind, uint64_t n)
{
    struct test *t = s->t;
    struct trial trial = {.kind = kind, .n = n};
    int has_values = value_bytes(s->width) != 0;
    int reads = kind == TRIAL_FIND || kind == TRIAL_CONTAINS, writes = !reads && kind != TRIAL_ERASE;
    trial.keys = column_new(t, n, key_bytes(s->width));
    if (has_values && writes)
        trial.values = column_new(t, n, value_bytes(s->width));
    if (has_values && (kind == TRIAL_FIND || kind == TRIAL_INSERT_AND_FIND || kind == TRIAL_RUN)) {
        trial.results = column_new(t, n, value_bytes(s->width));
        fill_values(t, trial.results);
    }
    if (kind == TRIAL_RUN)
        trial.ops = column_new(t, n, 1);
    trial.hit = bitmap_new(t, n);
    trial.failed = bitmap_new(t, n);
    trial.counts = column_new(t, 5, 8);
    return trial;
}

/* An array that the call may not change, and what it held. */
struct input {
    struct column *column;
    void *copy;
};

static struct input keep(struct column *c)
{
    struct input in = {c, NULL};
    if (c && c->count) {
        in.copy = malloc(c->count * c->width);
        memcpy(in.copy, c->data, c->count * c->width);
    }
    return in;
}

static void check_kept(struct subject *s, struct input *in, const char *name)
{
    if (!in->copy)
        return;
    column_fetch(in->column);
    int same = !memcmp(in->copy, in->column->data, in->column->count * in->column->width);
    free(in->copy);
    REQUIREF(s->t, same, "the call has changed its %s", name);
}

static struct column *copy_column(struct test *t, const struct column *c)
{
    struct column *copy = column_new_in(t, TEST_HOST, c->count, c->width);
    memcpy(copy->data, c->data, c->count * c->width);
    return copy;
}

static cohort_status call(struct subject *s, struct trial *r)
{
    cohort_batch batch = COHORT_BATCH_INIT;
    const void *keys = column_send(r->keys), *values = column_pointer(r->values);
    void *results = column_pointer(r->results);
    uint64_t fallback8 = r->fallback;
    uint32_t fallback4 = (uint32_t)r->fallback;
    const void *fallback = !r->has_fallback             ? NULL
                           : value_bytes(s->width) == 8 ? (void *)&fallback8
                                                        : (void *)&fallback4;
    batch.where = column_pointer(r->where);
    batch.where_offset = bitmap_offset(r->where);
    batch.hit = column_pointer(r->hit);
    batch.hit_offset = bitmap_offset(r->hit);
    batch.failed = column_pointer(r->failed);
    batch.failed_offset = bitmap_offset(r->failed);
    batch.counts = column_pointer(r->counts);
    batch.winner = r->winner;
    const cohort_batch *b = r->where || r->hit || r->failed || r->counts || r->winner ? &batch : NULL;
    switch (r->kind) {
    case TRIAL_INSERT:
        return cohort_map_insert(s->map, r->n, keys, values, b);
    case TRIAL_ASSIGN:
        return cohort_map_assign(s->map, r->n, keys, values, b);
    case TRIAL_APPLY:
        return cohort_map_apply(s->map, r->op, r->n, keys, values, b);
    case TRIAL_FIND:
        return cohort_map_find(s->map, r->n, keys, results, fallback, b);
    case TRIAL_CONTAINS: {
        uint8_t *hit = batch.hit;
        if (test_below(s->t, 2))
            batch.hit = NULL;
        return cohort_map_contains(s->map, r->n, keys, hit, b);
    }
    case TRIAL_INSERT_AND_FIND:
        return cohort_map_insert_and_find(s->map, r->n, keys, results, b);
    case TRIAL_ERASE:
        return cohort_map_erase(s->map, r->n, keys, b);
    default:
        return cohort_map_run(s->map, r->n, column_send(r->ops), keys, values, results, b);
    }
}

static const char *kind_name(const struct trial *r)
{
    const char *const names[] = {"insert",   "assign",          "apply", "find",
                                 "contains", "insert_and_find", "erase", "run"};
    return names[r->kind];
}

/* The statuses of the call and of the wait after it. */
static void check_statuses(struct subject *s, const struct trial *r, cohort_status called)
{
    struct test *t = s->t;
    char message[300];
    snprintf(message, sizeof message, "%s", called ? cohort_message(t->context) : "");
    int at_once = t->memory == TEST_HOST || !s->fixed || r->kind == TRIAL_FIND || r->kind == TRIAL_CONTAINS;
    cohort_status full = s->fixed || s->refuses ? COHORT_FULL : COHORT_NO_MEMORY;
    cohort_status due = r->full ? full : r->bad ? COHORT_RANGE : COHORT_OK, waited = cohort_wait(t->context);
    cohort_status got = at_once ? called : waited, other = at_once ? waited : called;
    REQUIREF(t, got == due || (r->full && r->bad && got == COHORT_RANGE),
             "%s of %llu entries gives %s%s, due is %s (%s)", kind_name(r), (unsigned long long)r->n,
             cohort_status_name(got), at_once ? "" : " at cohort_wait", cohort_status_name(due), message);
    REQUIREF(t, !other, "%s gives %s%s (%s)", kind_name(r), cohort_status_name(other),
             at_once ? " at cohort_wait" : "", message);
    REQUIRE(t, !cohort_wait(t->context));
}

int subject_runs(struct test *t)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    OK(t, cohort_context_get_info(t->context, &info));
    return (t->layout == COHORT_LAYOUT_LINES ? info.lines_widths : info.map_run_widths) >> t->width & 1;
}

enum trial_kind subject_kind(struct test *t, enum trial_kind kind)
{
    return kind == TRIAL_RUN && !subject_runs(t) ? TRIAL_ASSIGN : kind;
}

/* The call says what it does not do, and what does, and leaves all as it was. */
static void refused(struct subject *s, struct trial *r)
{
    struct test *t = s->t;
    struct input kept[] = {keep(r->results), keep(r->hit), keep(r->failed), keep(r->counts)};
    FAILS(t, t->context, call(s, r), COHORT_UNSUPPORTED, "options.width", "COHORT_LAYOUT_LINES");
    for (int i = 0; i < 4; i++)
        check_kept(s, &kept[i], "results");
}

void subject_do(struct subject *s, struct trial *r)
{
    struct test *t = s->t;
    char message[300] = "";
    if (r->kind == TRIAL_RUN && r->n && !subject_runs(t)) {
        refused(s, r);
        return;
    }
    r->may_fail = s->fixed || s->scarce || s->refuses;
    if (r->kind == TRIAL_INSERT_AND_FIND && r->results)
        memcpy(r->results->data, r->values->data, r->values->count * r->values->width);
    if (r->hit)
        bitmap_soil(r->hit);
    if (r->failed)
        bitmap_soil(r->failed);
    struct input inputs[] = {keep(r->keys), keep(r->values), keep(r->ops), keep(r->where)};
    if (r->results)
        r->before = copy_column(t, r->results);
    cohort_status called = call(s, r);
    REQUIREF(t, !called || called == COHORT_FULL || called == COHORT_RANGE || called == COHORT_NO_MEMORY,
             "%s of %llu entries gives %s: %s", kind_name(r), (unsigned long long)r->n,
             cohort_status_name(called), cohort_message(t->context));
    struct column *const outputs[] = {r->results, r->hit, r->failed, r->counts};
    for (int i = 0; i < 4; i++)
        if (outputs[i])
            column_fetch(outputs[i]);
    for (int i = 1; i < 3; i++)
        if (outputs[i])
            bitmap_edges(outputs[i]);
    const char *const names[] = {"keys", "values", "ops", "where"};
    for (int i = 0; i < 4; i++)
        check_kept(s, &inputs[i], names[i]);
    s->batches++;
    REQUIREF(t, oracle_judge(s->oracle, r, message),
             "batch %llu, %s of %llu entries (op %d, winner %d, %s): %s", (unsigned long long)s->batches,
             kind_name(r), (unsigned long long)r->n, (int)r->op, (int)r->winner, r->where ? "where" : "all",
             message);
    check_statuses(s, r, called);
    if (!s->blind)
        subject_observe(s);
}

void subject_observe(struct subject *s)
{
    struct test *t = s->t;
    struct column *mark = t->columns;
    char message[300];
    uint64_t size = 0, count = 0;
    OK(t, cohort_map_size(s->map, &size));
    struct column *keys = column_new(t, size, key_bytes(s->width));
    struct column *values = value_bytes(s->width) ? column_new(t, size, value_bytes(s->width)) : NULL;
    OK(t, cohort_map_export(s->map, size, column_send(keys), column_pointer(values), &count));
    REQUIREF(t, count == size, "export gives %llu pairs, size is %llu", (unsigned long long)count,
             (unsigned long long)size);
    column_fetch(keys);
    if (values)
        column_fetch(values);
    REQUIREF(t, oracle_observe(s->oracle, size, keys, values, message), "after batch %llu: %s",
             (unsigned long long)s->batches, message);
    column_drop(t, mark);
}

/* Leaves each key in 8 entries at most, few enough for the orders of a stream to be gone through. */
static void thin_out(struct test *t, struct column *keys)
{
    struct oracle *seen = oracle_new(COHORT_WIDTH_64_64);
    for (uint64_t i = 0; i < keys->count; i++) {
        uint64_t times = 0;
        while (oracle_get(seen, column_get(keys, i), &times) && times >= 8)
            column_put(keys, i, test_random(t));
        oracle_put(seen, column_get(keys, i), oracle_get(seen, column_get(keys, i), &times) ? times + 1 : 1);
    }
    oracle_free(seen);
}

void subject_step(struct subject *s, enum trial_kind kind, cohort_op op, cohort_winner winner, uint64_t n,
                  enum pattern pattern, uint64_t range)
{
    struct test *t = s->t;
    struct column *mark = t->columns;
    struct trial r = subject_trial(s, kind, n);
    fill_keys(t, r.keys, pattern, range);
    if (kind == TRIAL_RUN)
        thin_out(t, r.keys);
    if (r.values)
        fill_values(t, r.values);
    r.op = op;
    r.winner = winner;
    if (kind == TRIAL_FIND && r.results && test_below(t, 2)) {
        r.has_fallback = 1;
        r.fallback = test_random(t);
    }
    if (kind == TRIAL_APPLY && op == COHORT_OP_COUNT && test_below(t, 2))
        r.values = NULL;
    for (uint64_t i = 0; r.ops && i < n; i++)
        column_put(r.ops, i,
                   value_bytes(s->width) ? test_below(t, COHORT_OP_COUNT + 1)
                                         : test_below(t, COHORT_OP_ERASE + 1));
    if (test_below(t, 2)) {
        r.where = bitmap_new(t, n);
        fill_bits(t, r.where, n);
    }
    subject_do(s, &r);
    column_drop(t, mark);
}

void subject_fill(struct subject *s, uint64_t first, uint64_t n)
{
    struct column *mark = s->t->columns;
    struct trial r = subject_trial(s, TRIAL_INSERT, n);
    for (uint64_t i = 0; i < n; i++) {
        column_put(r.keys, i, first + i);
        if (r.values)
            column_put(r.values, i, test_mix(first + i));
    }
    subject_do(s, &r);
    column_drop(s->t, mark);
}
