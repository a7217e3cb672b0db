/* test_refusals_bulk.c: as test_refusals.c, what stands on arrays: contexts and their memory, splits, sorts,
 * compactions, sums, sets, frames. What fails leaves its input alone, makes nothing, and keeps nothing. */
#include "refuse.h"

#define N 700

/* Four arrays of N entries: keys, and rooms for what comes out. */
enum { IN, OUT, ROOM, BINS };

static uint64_t key(uint64_t i)
{
    return test_mix(i) % 5000;
}

static void begin_arrays(struct test *t, struct scene *s)
{
    for (int i = IN; i <= BINS; i++)
        s->c[i] = column_new(t, N, i == BINS ? 8 : 4);
    for (uint64_t i = 0; i < N; i++)
        column_put(s->c[IN], i, key(i));
}

static void fetch(struct scene *s)
{
    for (int i = 0; i < SCENE_COLUMNS; i++)
        if (s->c[i])
            column_fetch(s->c[i]);
}

static void input_is_whole(struct test *t, struct scene *s)
{
    fetch(s);
    for (uint64_t i = 0; i < N; i++)
        REQUIRE(t, column_get(s->c[IN], i) == key(i));
}

/* ---- multisplit and its kin ---------------------------------------------------------------------------- */

static cohort_status act_split(struct test *t, struct scene *s)
{
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    d.n = N;
    d.buckets = (uint32_t)refuse_deed->what;
    const cohort_fn fn = cohort_fn_modulo();
    d.fn = &fn;
    d.keys = s->at[IN];
    d.keys_out = s->at[OUT];
    d.permutation = s->at[ROOM];
    return cohort_multisplit(t->context, &d);
}

/* Entries of one rank are in the order of the input. */
static void check_stable(struct test *t, struct scene *s, uint64_t m)
{
    for (uint64_t i = 0; i < N; i++) {
        uint64_t from = column_get(s->c[ROOM], i), k = column_get(s->c[OUT], i), j = i ? i - 1 : 0;
        uint64_t last = column_get(s->c[OUT], j);
        REQUIRE(t, from < N && key(from) == k && last % m <= k % m);
        REQUIRE(t, !i || last % m != k % m || column_get(s->c[ROOM], j) < from);
    }
}

static void check_split(struct test *t, struct scene *s, cohort_status status)
{
    input_is_whole(t, s);
    if (!status)
        check_stable(t, s, (uint64_t)refuse_deed->what);
}

static cohort_status act_histogram(struct test *t, struct scene *s)
{
    cohort_histogram_desc d = COHORT_HISTOGRAM_INIT;
    d.n = N;
    d.buckets = (uint32_t)refuse_deed->what;
    const cohort_fn fn = cohort_fn_modulo();
    d.fn = &fn;
    d.keys = s->at[IN];
    d.bins = s->at[BINS];
    return cohort_histogram(t->context, &d);
}

static void check_histogram(struct test *t, struct scene *s, cohort_status status)
{
    uint64_t due[N] = {0}, m = (uint64_t)refuse_deed->what;
    input_is_whole(t, s);
    for (uint64_t i = 0; i < N; i++)
        due[key(i) % m]++;
    for (uint64_t b = 0; b < m && !status; b++)
        EQUAL(t, column_get(s->c[BINS], b), due[b]);
}

static cohort_status act_sort(struct test *t, struct scene *s)
{
    cohort_sort_desc d = COHORT_SORT_INIT;
    static const uint64_t offsets[] = {0, 300, 300, N};
    d.n = N;
    d.keys = s->at[IN];
    d.keys_out = s->at[OUT];
    d.permutation = s->at[ROOM];
    if (refuse_deed->what) {
        d.segments = 3;
        d.segment_offsets = offsets;
        if (t->memory == TEST_DEVICE)
            d.segment_offsets = s->at[BINS];
    }
    return cohort_sort(t->context, &d);
}

static void begin_sort(struct test *t, struct scene *s)
{
    begin_arrays(t, s);
    static const uint64_t offsets[] = {0, 300, 300, N};
    for (uint64_t i = 0; i < 4; i++)
        column_put(s->c[BINS], i, offsets[i]);
}

static void check_sort(struct test *t, struct scene *s, cohort_status status)
{
    input_is_whole(t, s);
    for (uint64_t i = 0; i < N && !status; i++) {
        uint64_t from = column_get(s->c[ROOM], i), k = column_get(s->c[OUT], i);
        REQUIRE(t, from < N && key(from) == k && (!refuse_deed->what || (from < 300) == (i < 300)));
        if (i && !(refuse_deed->what && i == 300)) {
            uint64_t last = column_get(s->c[OUT], i - 1);
            REQUIRE(t, last < k || (last == k && column_get(s->c[ROOM], i - 1) < from));
        }
    }
}

static cohort_status act_compact(struct test *t, struct scene *s)
{
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    d.n = N;
    const cohort_fn fn = cohort_fn_between(1000, 3000);
    d.fn = &fn;
    d.keys = s->at[IN];
    d.kept = s->at[OUT];
    d.rejected = s->at[ROOM];
    d.total = s->at[BINS];
    return cohort_compact(t->context, &d);
}

static void check_compact(struct test *t, struct scene *s, cohort_status status)
{
    uint64_t kept = 0, rejected = 0;
    input_is_whole(t, s);
    if (status)
        return;
    for (uint64_t i = 0; i < N; i++) {
        int keeps = key(i) >= 1000 && key(i) <= 3000;
        EQUAL(t, column_get(s->c[keeps ? OUT : ROOM], keeps ? kept : rejected), key(i));
        kept += (uint64_t)keeps;
        rejected += !keeps;
    }
    EQUAL(t, column_get(s->c[BINS], 0), kept);
}

/* Keys in pairs, so that there are half as many runs; lengths, and starts in workspace. */
static void begin_runs(struct test *t, struct scene *s)
{
    begin_arrays(t, s);
    s->c[ROOM] = column_new(t, N / 2, 8);
    for (uint64_t i = 0; i < N; i++)
        column_put(s->c[IN], i, i / 2);
}

static cohort_status act_runs(struct test *t, struct scene *s)
{
    cohort_runs_desc d = COHORT_RUNS_INIT;
    d.n = N;
    d.keys = s->at[IN];
    d.distinct = s->at[OUT];
    d.lengths = s->at[ROOM];
    d.total = s->at[BINS];
    return cohort_runs(t->context, &d);
}

static void check_runs(struct test *t, struct scene *s, cohort_status status)
{
    fetch(s);
    for (uint64_t i = 0; i < N; i++)
        EQUAL(t, column_get(s->c[IN], i), i / 2);
    for (uint64_t i = 0; i < N / 2 && !status; i++) {
        EQUAL(t, column_get(s->c[OUT], i), i);
        EQUAL(t, column_get(s->c[ROOM], i), 2);
    }
    if (!status)
        EQUAL(t, column_get(s->c[BINS], 0), N / 2);
}

static cohort_status act_scan(struct test *t, struct scene *s)
{
    return cohort_scan(t->context, N, COHORT_U32, 0, s->at[IN], s->at[OUT]);
}

static void check_scan(struct test *t, struct scene *s, cohort_status status)
{
    uint64_t sum = 0;
    input_is_whole(t, s);
    for (uint64_t i = 0; i < N && !status; sum += key(i), i++)
        EQUAL(t, column_get(s->c[OUT], i), sum);
}

static cohort_status act_reduce(struct test *t, struct scene *s)
{
    return cohort_reduce(t->context, COHORT_OP_MAX, N, COHORT_U32, s->at[IN], s->at[BINS]);
}

static void check_reduce(struct test *t, struct scene *s, cohort_status status)
{
    uint64_t most = 0;
    input_is_whole(t, s);
    for (uint64_t i = 0; i < N; i++)
        most = key(i) > most ? key(i) : most;
    if (!status)
        EQUAL(t, column_get(s->c[BINS], 0), most);
}

static void each(struct test *t, const struct deed *deeds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (refuse_takes(t, i, 1))
            refuse_each(t, &deeds[i]);
}
#define EACH(t, deeds) each(t, deeds, sizeof(deeds) / sizeof *(deeds))

static void arrays(struct test *t)
{
    static const struct deed deeds[] = {
        {"multisplit, 5 buckets", begin_arrays, act_split, check_split, NULL, 5},
        {"multisplit, 300 buckets", begin_arrays, act_split, check_split, NULL, 300},
        {"multisplit, 3,000 buckets", begin_arrays, act_split, check_split, NULL, 3000},
        {"histogram, 7 buckets", begin_arrays, act_histogram, check_histogram, NULL, 7},
        {"histogram, 600 buckets", begin_arrays, act_histogram, check_histogram, NULL, 600},
        {"sort", begin_sort, act_sort, check_sort, NULL, 0},
        {"sort by segments", begin_sort, act_sort, check_sort, NULL, 1},
        {"compact", begin_arrays, act_compact, check_compact, NULL, 0},
        {"runs", begin_runs, act_runs, check_runs, NULL, 0},
        {"scan", begin_arrays, act_scan, check_scan, NULL, 0},
        {"reduce", begin_arrays, act_reduce, check_reduce, NULL, 0}};
    EACH(t, deeds);
}

/* ---- contexts ------------------------------------------------------------------------------------------ */

enum { ALLOC, COPY_IN, COPY_OUT, FILL, TRIM, TIMER };

static void begin_memory(struct test *t, struct scene *s)
{
    begin_arrays(t, s);
    if (refuse_deed->what == TIMER)
        OK(t, cohort_timer_create(t->context, &s->timer));
    if (refuse_deed->what != ALLOC)
        OK(t, cohort_alloc(t->context, N * 4, &s->own));
    if (refuse_deed->what == COPY_OUT)
        OK(t, cohort_copy(t->context, s->own, s->c[IN]->data, N * 4));
}

static cohort_status act_memory(struct test *t, struct scene *s)
{
    double seconds;
    switch (refuse_deed->what) {
    case ALLOC:
        return cohort_alloc(t->context, N * 4, &s->own);
    case COPY_IN:
        return cohort_copy(t->context, s->own, s->c[IN]->data, N * 4);
    case COPY_OUT:
        return cohort_copy(t->context, s->c[OUT]->data, s->own, N * 4);
    case FILL:
        return cohort_fill(t->context, s->own, 7, N * 4);
    case TRIM:
        return cohort_trim(t->context);
    default: {
        cohort_status status = cohort_timer_start(s->timer);
        return status ? status : cohort_timer_stop(s->timer, &seconds);
    }
    }
}

static void check_memory(struct test *t, struct scene *s, cohort_status status)
{
    CHECK(t, !(status && refuse_deed->what == ALLOC && s->own));
    if (status || refuse_deed->what > FILL || refuse_deed->what == ALLOC)
        return;
    if (refuse_deed->what != COPY_OUT)
        OK(t, cohort_copy(t->context, s->c[OUT]->data, s->own, N * 4));
    for (uint64_t i = 0; i < N; i++)
        EQUAL(t, ((uint32_t *)s->c[OUT]->data)[i], refuse_deed->what == FILL ? 0x07070707 : key(i));
}

static void end_memory(struct test *t, struct scene *s)
{
    OK(t, cohort_free(t->context, s->own));
}

/* Another context, made while one is there. */
static cohort_status act_context(struct test *t, struct scene *s)
{
    cohort_context_options options = test_context_options(t);
    cohort_context *made = NULL;
    (void)s;
    cohort_status status = cohort_context_create(&options, &made);
    CHECK(t, !status == (made != NULL));
    CHECK(t, !status || cohort_message(NULL)[0]);
    cohort_context_destroy(made);
    return status;
}

static void begin_nothing(struct test *t, struct scene *s)
{
    (void)t;
    (void)s;
}

static void check_nothing(struct test *t, struct scene *s, cohort_status status)
{
    (void)t;
    (void)s;
    (void)status;
}

#define MEMORY(what)                                                    \
    {                                                                   \
#        what, begin_memory, act_memory, check_memory, end_memory, what \
    }

static void memory(struct test *t)
{
    static const struct deed deeds[] = {MEMORY(ALLOC), MEMORY(COPY_IN), MEMORY(COPY_OUT),
                                        MEMORY(FILL),  MEMORY(TRIM),    MEMORY(TIMER)};
    EACH(t, deeds);
}

static void contexts(struct test *t)
{
    static const struct deed deed = {"cohort_context_create", begin_nothing, act_context,
                                     check_nothing,           NULL,          0};
    refuse_each(t, &deed);
}

/* ---- sets ---------------------------------------------------------------------------------------------- */

enum { BUILD, EXPORT, ROARING, QUERY, RESULT, LOOK };
#define SETS    20
#define ENTRIES 100

/* Set s of entries s, s + SETS, ..: runs, lists and a dense one. */
static uint64_t member(uint64_t i)
{
    return i % SETS == 3 ? 3 * i : i % SETS == 4 ? 100000000 + i / SETS : 70001 * (i / SETS) + i;
}

static cohort_status build_sets(struct test *t, struct scene *s, cohort_sets **out)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    source.n = ENTRIES;
    source.sets = SETS;
    source.members = s->at[0];
    source.groups = s->at[1];
    return cohort_sets_build(t->context, &source, out);
}

static void begin_sets(struct test *t, struct scene *s)
{
    s->c[0] = column_new(t, ENTRIES, 4);
    s->c[1] = column_new(t, ENTRIES, 4);
    s->c[2] = column_new(t, 20 * ENTRIES, 4); /* out */
    s->c[3] = column_new(t, ENTRIES, 8);
    s->c[4] = column_new(t, ENTRIES, 8); /* sets asked */
    s->c[5] = bitmap_at_byte(t, ENTRIES);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        column_put(s->c[0], i, member(i));
        column_put(s->c[1], i, i % SETS);
        column_put(s->c[4], i, i % SETS);
    }
    scene_send(s);
    if (refuse_deed->what != BUILD)
        OK(t, build_sets(t, s, &s->sets));
}

static cohort_status act_sets(struct test *t, struct scene *s)
{
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    cohort_sets_query_desc q = COHORT_SETS_QUERY_INIT;
    cohort_sets_look_desc look = COHORT_SETS_LOOK_INIT;
    cohort_status status;
    switch (refuse_deed->what) {
    case BUILD:
        return build_sets(t, s, &s->sets_made);
    case EXPORT:
    case ROARING:
        target.form = refuse_deed->what == EXPORT ? COHORT_FORM_MEMBERS : COHORT_FORM_ROARING;
        target.capacity = refuse_deed->what == EXPORT ? 20 * ENTRIES : 80 * ENTRIES;
        target.members = s->at[2];
        target.offsets = s->at[3];
        status = cohort_sets_export(s->sets, &target);
        s->count = target.total;
        return status;
    case QUERY:
    case RESULT:
        q.op = COHORT_SETS_OR;
        q.collections = &s->sets;
        q.collections_count = 1;
        q.rows = SETS / 2;
        q.arity = 2;
        q.members = s->at[4];
        if (refuse_deed->what == QUERY)
            q.counts = s->at[3];
        else
            q.result = &s->sets_made;
        return cohort_sets_query(t->context, &q);
    default:
        look.n = ENTRIES;
        look.which = s->at[4];
        look.values = s->at[0];
        look.hit = s->at[5];
        return cohort_sets_look(s->sets, &look);
    }
}

/* The collection has its members; with `pairs`, two sets are one. */
static void check_collection(struct test *t, cohort_sets *sets, int pairs)
{
    uint32_t members[ENTRIES];
    uint64_t offsets[SETS + 1], m = pairs ? SETS / 2 : SETS;
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    unsigned char seen[ENTRIES] = {0};
    target.capacity = ENTRIES;
    target.members = members;
    target.offsets = offsets;
    OK(t, cohort_sets_export(sets, &target));
    EQUAL(t, offsets[m], ENTRIES);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        uint64_t set = pairs ? i % SETS / 2 : i % SETS, at = offsets[set];
        while (at < offsets[set + 1] && members[at] != member(i))
            at++;
        REQUIREF(t, at < offsets[set + 1] && !seen[at], "entry %llu is lost", (unsigned long long)i);
        seen[at] = 1;
    }
}

static void check_sets(struct test *t, struct scene *s, cohort_status status)
{
    int what = refuse_deed->what, makes = what == BUILD || what == RESULT;
    if (s->sets)
        check_collection(t, s->sets, 0);
    CHECK(t, (makes && !status) == (s->sets_made != NULL));
    if (s->sets_made)
        check_collection(t, s->sets_made, what == RESULT);
    fetch(s);
    for (uint64_t i = 0; i < ENTRIES; i++)
        CHECK(t, column_get(s->c[0], i) == member(i) && column_get(s->c[1], i) == i % SETS);
    if (status)
        return;
    if (what == EXPORT)
        EQUAL(t, s->count, ENTRIES);
    for (uint64_t r = 0; r < SETS / 2 && what == QUERY; r++)
        EQUAL(t, column_get(s->c[3], r), 2 * ENTRIES / SETS);
    for (uint64_t i = 0; i < ENTRIES && what == LOOK; i++)
        CHECK(t, bitmap_get(s->c[5], i));
}

#define SETS_DEED(what)                                     \
    {                                                       \
#        what, begin_sets, act_sets, check_sets, NULL, what \
    }

static void sets(struct test *t)
{
    static const struct deed deeds[] = {SETS_DEED(BUILD), SETS_DEED(EXPORT), SETS_DEED(ROARING),
                                        SETS_DEED(QUERY), SETS_DEED(RESULT), SETS_DEED(LOOK)};
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (refuse_takes(t, i, 1) && test_take(t, test_size(t, 1, 3))) /* each launches dozens of kernels */
            refuse_each(t, &deeds[i]);
}

/* ---- frames -------------------------------------------------------------------------------------------- */

enum { FRAME, SELECT, SLICE, BESIDE, GATHER, GIVE, GIVE_STREAM };
#define FRAME_ROWS 300

static cohort_status create(struct test *t, cohort_frame **out)
{
    uint64_t wide[FRAME_ROWS];
    uint32_t narrow[FRAME_ROWS];
    uint8_t validity[FRAME_ROWS / 8 + 1];
    for (uint64_t i = 0; i < FRAME_ROWS; i++) {
        wide[i] = 11 * i;
        narrow[i] = (uint32_t)i ^ 5;
    }
    memset(validity, 0x7f, sizeof validity);
    cohort_array arrays[] = {{"wide", COHORT_U64, 0, wide, NULL},
                             {"narrow", COHORT_U32, 0, narrow, validity}};
    return cohort_frame_create(t->context, FRAME_ROWS, 2, arrays, out);
}

static void begin_frame(struct test *t, struct scene *s)
{
    if (refuse_deed->what != FRAME)
        OK(t, create(t, &s->frame));
    s->c[0] = column_new(t, FRAME_ROWS, 4);
    for (uint64_t i = 0; i < FRAME_ROWS; i++)
        column_put(s->c[0], i, FRAME_ROWS - 1 - i);
    s->own =
        calloc(1, sizeof(struct ArrowSchema) + sizeof(struct ArrowArray) + sizeof(struct ArrowArrayStream));
    REQUIRE(t, s->own);
}

static struct ArrowArrayStream *stream_of(struct scene *s)
{
    return s->own;
}

static struct ArrowSchema *schema_of(struct scene *s)
{
    return (struct ArrowSchema *)(void *)(stream_of(s) + 1);
}

static struct ArrowArray *array_of(struct scene *s)
{
    return (struct ArrowArray *)(void *)(schema_of(s) + 1);
}

static cohort_status act_frame(struct test *t, struct scene *s)
{
    const uint32_t columns[] = {1, 0, 1};
    switch (refuse_deed->what) {
    case FRAME:
        return create(t, &s->frame_made);
    case SELECT:
        return cohort_frame_select(s->frame, 3, columns, NULL, &s->frame_made);
    case SLICE:
        return cohort_frame_slice(s->frame, 5, 100, &s->frame_made);
    case BESIDE:
        return cohort_frame_beside(s->frame, s->frame, NULL, &s->frame_made);
    case GATHER:
        return cohort_gather(s->frame, FRAME_ROWS, 4, s->at[0], &s->frame_made);
    case GIVE:
        return cohort_frame_export(s->frame, schema_of(s), array_of(s));
    default:
        return cohort_frame_export_stream(s->frame, stream_of(s));
    }
}

static void check_frame(struct test *t, struct scene *s, cohort_status status)
{
    int what = refuse_deed->what;
    struct ArrowSchema schema;
    struct ArrowArray array;
    if (s->frame)
        EQUAL(t, cohort_frame_rows(s->frame), FRAME_ROWS);
    CHECK(t, (what < GIVE && !status) == (s->frame_made != NULL));
    CHECK(t, !(status && (stream_of(s)->release || schema_of(s)->release || array_of(s)->release)));
    if (status || what >= GIVE)
        return;
    uint64_t rows = what == SLICE ? 100 : FRAME_ROWS;
    EQUAL(t, cohort_frame_rows(s->frame_made), rows);
    OK(t, cohort_frame_export(s->frame_made, &schema, &array));
    const struct ArrowArray *wide = array.children[what == SELECT];
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t row = what == SLICE ? i + 5 : what == GATHER ? FRAME_ROWS - 1 - i : i;
        EQUAL(t, ((const uint64_t *)wide->buffers[1])[(uint64_t)wide->offset + i], 11 * row);
    }
    array.release(&array);
    schema.release(&schema);
}

static void end_frame(struct test *t, struct scene *s)
{
    (void)t;
    if (stream_of(s)->release)
        stream_of(s)->release(stream_of(s));
    if (schema_of(s)->release)
        schema_of(s)->release(schema_of(s));
    if (array_of(s)->release)
        array_of(s)->release(array_of(s));
    free(s->own);
}

#define FRAME_DEED(what)                                            \
    {                                                               \
#        what, begin_frame, act_frame, check_frame, end_frame, what \
    }

static void frames(struct test *t)
{
    static const struct deed deeds[] = {FRAME_DEED(FRAME),      FRAME_DEED(SELECT), FRAME_DEED(SLICE),
                                        FRAME_DEED(BESIDE),     FRAME_DEED(GATHER), FRAME_DEED(GIVE),
                                        FRAME_DEED(GIVE_STREAM)};
    EACH(t, deeds);
}

const struct test_case test_cases[] = {
    {"arrays", arrays, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {"memory", memory, TEST_NO_CONTEXT},
    {"contexts", contexts, TEST_NO_CONTEXT},
    {"sets", sets, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {"frames", frames, TEST_EACH_MEMORY | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
