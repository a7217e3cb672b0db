/* set_containing.c: which sets contain each of many values: by a collection's index, which is made
 * before, and on a CPU by a look into every set. */
#include "set.h"

#include <stdlib.h>
#include <string.h>

/* The values of one row, and what is asked of them. */
typedef struct asking {
    const set_bench *s;
    const char *keys;
    cohort_sets *sets;
    uint64_t sets_count, sets_bytes, index_bytes, n, repeat;
    uint32_t *values; /* the host's */
    cohort_sets_containing_desc desc;
    cohort_sets_look_desc look; /* of one value in all sets */
    uint32_t *same;
} asking;

static cohort_status work_containing(void *arg)
{
    asking *a = arg;
    return cohort_sets_containing(a->sets, &a->desc);
}

/* Value by value, each set is asked. */
static cohort_status work_loop(void *arg)
{
    asking *a = arg;
    cohort_status status = COHORT_OK;
    for (uint64_t i = 0; i < a->n && !status; i++) {
        for (uint64_t k = 0; k < a->sets_count; k++)
            a->same[k] = a->values[i];
        status = cohort_sets_look(a->sets, &a->look);
    }
    return status;
}

static cohort_status work_index(void *arg)
{
    static const cohort_sets_containing_desc none = COHORT_SETS_CONTAINING_INIT;
    asking *a = arg;
    return cohort_sets_containing(a->sets, &none);
}

static int measure(asking *a, const char *name, bench_work work, unsigned repeat, fault *fault)
{
    const set_bench *s = a->s;
    bench_row row = set_row(s, "containing", name, a->keys, a->n);
    bench_job job = {NULL, work, a, (double)a->n * (double)a->sets_count, repeat, s->b->dev.cpu};
    /* of each value a span of the index and what is there are read; of each set its word and an entry */
    const int turned = work == work_containing;
    bench_row_limit(&s->b->dev, &row, 'R', turned ? a->index_bytes : a->sets_bytes);
    row.limit *= turned ? (double)a->sets_count / 2 : 0.5;
    strncat(row.limit_name, "/2", sizeof row.limit_name - strlen(row.limit_name) - 1);
    return bench_measure(s->b, &row, &job, fault);
}

static int measure_loop(asking *a, fault *fault)
{
    uint64_t n = a->sets_count, *which = malloc((n + 1) * sizeof *which);
    uint8_t *hit = malloc(n / 8 + 8);
    a->same = malloc((n + 1) * sizeof *a->same);
    int status = which && hit && a->same ? CLI_OK : set_no_memory(fault, 12 * n);
    for (uint64_t k = 0; k < n && !status; k++)
        which[k] = k;
    a->look = (cohort_sets_look_desc)COHORT_SETS_LOOK_INIT;
    a->look.n = n;
    a->look.which = which;
    a->look.values = a->same;
    a->look.hit = hit;
    if (!status)
        status = measure(a, "set containing loop", work_loop, 1, fault);
    free(which);
    free(hit);
    free(a->same);
    return status;
}

/* How many sets contain each value; and which they are, in room for all. */
static int measure_asked(asking *a, fault *fault)
{
    cohort_context *context = a->s->b->dev.context;
    uint32_t *values = malloc((a->n + 1) * sizeof *values);
    uint64_t total = 0;
    for (uint64_t i = 0; i < a->n && values; i++)
        values[i] = a->values[i];
    uint64_t *counts = set_room(a->s, a->n * sizeof *counts);
    uint64_t *offsets = set_room(a->s, (a->n + 1) * sizeof *offsets), *sets = NULL;
    int status = values && counts && offsets && set_placed(a->s, &values, a->n * sizeof *values)
                     ? CLI_OK
                     : set_no_memory(fault, a->n * 20);
    a->desc = (cohort_sets_containing_desc)COHORT_SETS_CONTAINING_INIT;
    a->desc.n = a->n;
    a->desc.values = values;
    a->desc.total = &total;
    cohort_status asked = status ? COHORT_OK : cohort_sets_containing(a->sets, &a->desc);
    if (!status && (asked || (asked = cohort_wait(context))))
        status = bench_fault(a->s->b, asked, "bench set: which sets contain values", fault);
    a->desc.total = NULL;
    a->desc.counts = counts;
    if (!status)
        status = measure(a, "set containing count", work_containing, (unsigned)a->repeat, fault);
    a->desc.counts = NULL;
    a->desc.offsets = offsets;
    a->desc.capacity = total;
    a->desc.sets = sets = status ? NULL : set_room(a->s, total * sizeof *sets);
    if (!status)
        status = sets ? measure(a, "set containing", work_containing, (unsigned)a->repeat, fault)
                      : set_no_memory(fault, total * 8);
    set_give(a->s, values);
    set_give(a->s, counts);
    set_give(a->s, offsets);
    set_give(a->s, sets);
    return status;
}

/* `sets` of the collection are asked; the index is made, and how long that took is told. */
static int begin(asking *a, fault *fault)
{
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    cohort_status status = cohort_sets_get_info(a->sets, &info);
    uint64_t before = info.bytes;
    a->sets_count = info.sets;
    cohort_timer *timer = NULL;
    double seconds = 0;
    if (!status)
        status = cohort_timer_create(a->s->b->dev.context, &timer);
    if (!status)
        status = cohort_timer_start(timer);
    if (!status)
        status = work_index(a);
    if (!status)
        status = cohort_timer_stop(timer, &seconds);
    cohort_timer_destroy(timer);
    if (!status)
        status = cohort_sets_get_info(a->sets, &info);
    if (status)
        return bench_fault(a->s->b, status, "bench set: an index", fault);
    a->sets_bytes = before;
    a->index_bytes = info.bytes - before;
    bench_say(a->s->b,
              "%s: %llu sets of %llu members; the index is made in %.3g ms, and takes %.3g MB beside %.3g",
              a->keys, (unsigned long long)info.sets, (unsigned long long)info.members, seconds * 1e3,
              (double)(info.bytes - before) * 1e-6, (double)before * 1e-6);
    return CLI_OK;
}

/* The values are drawn below `most`, or from an array of so many. */
static void draw(asking *a, uint64_t n, const uint32_t *from, uint64_t most)
{
    free(a->values);
    a->n = n;
    a->values = malloc((n + 1) * sizeof *a->values);
    for (uint64_t i = 0; i < n && a->values; i++) {
        uint64_t v = set_asked_value(i, most);
        a->values[i] = from ? from[v] : (uint32_t)v;
    }
}

static int measure_values(asking *a, uint64_t n, const uint32_t *from, uint64_t most, int loop, fault *fault)
{
    draw(a, n, from, most);
    if (!a->values)
        return set_no_memory(fault, n * 4);
    a->repeat = n < 100 ? 1000 : n < 1000 ? 100 : n < 10000 ? 5 : 1;
    int status = loop && a->s->b->dev.cpu ? measure_loop(a, fault) : CLI_OK;
    return status ? status : measure_asked(a, fault);
}

static int measure_folder(const set_bench *s, const char *name, fault *fault)
{
    asking a = {.s = s, .keys = name};
    set_texts t = {.sets = 0};
    int status = set_folder_sets(s, name, &t, &a.sets, fault);
    if (!status)
        status = begin(&a, fault);
    if (!status)
        status = measure_values(&a, SET_VALUES_REAL, t.member, t.members, 1, fault);
    free(a.values);
    cohort_sets_destroy(a.sets);
    set_texts_free(&t);
    return status;
}

static int measure_made(const set_bench *s, const char *keys, int tiny, fault *fault)
{
    asking a = {.s = s, .keys = keys};
    uint64_t most = tiny ? SET_TINY_UNIVERSE : 1 << 20;
    int status = tiny ? set_tiny_sets(s, &a.sets, fault) : set_small_sets(s, &a.sets, fault);
    if (!status)
        status = begin(&a, fault);
    if (!status)
        status = measure_values(&a, tiny ? SET_VALUES_TINY : SET_VALUES_SMALL, NULL, most, 1, fault);
    if (!status)
        status =
            measure_values(&a, tiny ? SET_VALUES_TINY_MANY : SET_VALUES_SMALL_MANY, NULL, most, 0, fault);
    free(a.values);
    cohort_sets_destroy(a.sets);
    return status;
}

int set_containing(const set_bench *s, fault *fault)
{
    int status = measure_made(s, "small sets", 0, fault);
    if (!status)
        status = measure_made(s, "sets of 2.3 members", 1, fault);
    return status ? status : set_folders(s, measure_folder, fault);
}
