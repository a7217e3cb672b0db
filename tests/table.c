/* table.c: a map's table, looked at from outside: copied to the host through its view (cohort/device/map.h),
 * where the same functions that kernels use walk over it. A table of LINES is gone through home by home:
 * table_lines.h. */
#include "table_lines.h"

struct probes {
    uint64_t pairs, erased, buckets, most_buckets, slots, most_slots, histogram[COHORT_PROBE_BINS];
};

/* One more key, found in `slot` of a bucket of `words` slots, the `length`th of its walk. */
static void count_key(struct probes *p, uint64_t length, uint64_t passed)
{
    p->pairs++;
    p->buckets += length;
    p->most_buckets = length > p->most_buckets ? length : p->most_buckets;
    p->slots += passed;
    p->most_slots = passed > p->most_slots ? passed : p->most_slots;
    p->histogram[length < COHORT_PROBE_BINS ? length - 1 : COHORT_PROBE_BINS - 1]++;
}

#define DEFINE_TABLE(width, KEY, VALUE, WORDS)                                                           \
    static void walk_##width(struct test *t, const cohort_map_view *v, const struct oracle *o,           \
                             struct probes *p)                                                           \
    {                                                                                                    \
        uint64_t slots = co_map_buckets(v) * WORDS;                                                      \
        for (uint64_t slot = 0; slot < slots + 2; slot++) {                                              \
            KEY key;                                                                                     \
            VALUE value;                                                                                 \
            struct co_map##width##_place at;                                                             \
            p->erased += *((const KEY *)v->slots + slot * (32 / WORDS / sizeof(KEY))) == (KEY) ~(KEY)1;  \
            if (!co_map##width##_pair(v, slot, &key, &value))                                            \
                continue;                                                                                \
            REQUIREF(t, oracle_get(o, key, NULL), "slot %llu holds key 0x%llx, which is not in",         \
                     (unsigned long long)slot, (unsigned long long)key);                                 \
            int r = co_map##width##_seek(v, key, 0, 0, &at);                                             \
            REQUIREF(t, r == CO_MAP_HIT && at.slot == slot,                                              \
                     "the search for key 0x%llx does not end in its slot %llu", (unsigned long long)key, \
                     (unsigned long long)slot);                                                          \
            uint64_t length = 1;                                                                         \
            struct co_walk w = co_map##width##_walk(v, key);                                             \
            while (slot < slots && co_map_walk_bucket(v, &w) != slot / WORDS &&                          \
                   co_walk_next(&w, v->pages, v->mask, v->reach, WORDS))                                 \
                length++;                                                                                \
            count_key(p, length, slot < slots ? (length - 1) * WORDS + slot % WORDS : 0);                \
        }                                                                                                \
    }                                                                                                    \
    static int put_##width(const cohort_map_view *v, uint64_t key)                                       \
    {                                                                                                    \
        co_map_tally tally = {0, 0};                                                                     \
        return co_map##width##_insert(v, (KEY)key, 0, &tally);                                           \
    }

DEFINE_TABLE(32_0, co_u32, co_u32, 8)
DEFINE_TABLE(32_32, co_u32, co_u32, 4)
DEFINE_TABLE(64_0, co_u64, co_u64, 4)
DEFINE_TABLE(64_32, co_u64, co_u32, 2)
DEFINE_TABLE(64_64, co_u64, co_u64, 2)

static void walk_table(struct test *t, cohort_width width, const cohort_map_view *v, const struct oracle *o,
                       struct probes *p)
{
    void (*const walks[])(struct test *, const cohort_map_view *, const struct oracle *,
                          struct probes *) = {NULL, walk_32_0, walk_32_32, walk_64_0, walk_64_32, walk_64_64};
    walks[width](t, v, o, p);
}

static int near(double a, double b)
{
    return a - b < 1e-9 * (1 + b) && b - a < 1e-9 * (1 + b);
}

/* The view with its table copied to host memory, which the caller frees: view.slots. */
static cohort_map_view host_view(struct subject *s)
{
    struct test *t = s->t;
    cohort_map_view v;
    OK(t, cohort_map_get_view(s->map, &v));
    EQUAL(t, v.version, CO_MAP_VIEW_VERSION);
    EQUAL(t, v.width, s->width);
    uint64_t bytes = (co_map_buckets(&v) * 32 + 63) / 32 * 32,
             filter = v.far ? (uint64_t)v.pages * co_map_far_words(v.mask) * 8 : 0;
    char *slots = aligned_alloc(128, (bytes + filter + 127) / 128 * 128);
    OK(t, cohort_copy(t->context, slots, v.slots, bytes));
    OK(t, cohort_copy(t->context, slots + bytes, v.filter, filter));
    v.slots = slots;
    v.filter = (co_u64 *)(void *)(slots + bytes);
    return v;
}

void subject_check_table(struct subject *s)
{
    struct test *t = s->t;
    struct probes p = {0};
    struct co_map_counters all[CO_MAP_SPREAD], counters = {0};
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    if (t->layout == COHORT_LAYOUT_LINES) {
        check_lines(s);
        return;
    }
    cohort_map_view v = host_view(s);
    OK(t, cohort_copy(t->context, all, v.counters, co_map_spread(&v) * sizeof *all));
    for (co_u32 i = 0; i < co_map_spread(&v); i++) {
        counters.taken += all[i].taken;
        counters.erased += all[i].erased;
    }
    walk_table(t, s->width, &v, s->oracle, &p);
    free(v.slots);
    EQUAL(t, p.pairs, oracle_size(s->oracle));
    EQUAL(t, p.erased, counters.erased);
    EQUAL(t, p.pairs + p.erased, counters.taken);
    OK(t, cohort_map_get_stats(s->map, &stats));
    EQUAL(t, stats.pairs, p.pairs);
    EQUAL(t, stats.erased, counters.erased);
    EQUAL(t, stats.pages, v.pages);
    EQUAL(t, stats.seed, v.seed);
    EQUAL(t, stats.page_bytes, ((uint64_t)v.mask + 1) * 32);
    CHECK(t, stats.table_bytes >= stats.pages * stats.page_bytes);
    CHECKF(t, near(stats.load, (double)counters.taken / (double)stats.slots), "load is %g", stats.load);
    uint64_t sum = 0;
    for (int i = 0; i < COHORT_PROBE_BINS; i++) {
        sum += stats.probe_histogram[i];
        CHECKF(t, stats.probe_histogram[i] == p.histogram[i], "histogram[%d] is %llu, due is %llu", i,
               (unsigned long long)stats.probe_histogram[i], (unsigned long long)p.histogram[i]);
    }
    EQUAL(t, sum, p.pairs);
    EQUAL(t, stats.probe_max, p.most_buckets);
    EQUAL(t, stats.slot_max, p.most_slots);
    double pairs = p.pairs ? (double)p.pairs : 1;
    CHECKF(t, near(stats.probe_mean, (double)p.buckets / pairs), "probe_mean is %g, due is %g",
           stats.probe_mean, (double)p.buckets / pairs);
    CHECKF(t, near(stats.slot_mean, (double)p.slots / pairs), "slot_mean is %g, due is %g", stats.slot_mean,
           (double)p.slots / pairs);
}

void subject_check_failed(struct subject *s, const struct trial *r)
{
    int (*const puts[])(const cohort_map_view *, uint64_t) = {NULL,     put_32_0,  put_32_32,
                                                              put_64_0, put_64_32, put_64_64};
    cohort_map_view v = host_view(s);
    for (uint64_t i = 0; i < r->n; i++)
        if (bitmap_get(r->failed, i)) {
            int outcome = puts[s->width](&v, column_get(r->keys, i));
            CHECKF(s->t, outcome == CO_MAP_FULL,
                   "entry %llu failed, and on a copy of the table its key is answered %d",
                   (unsigned long long)i, outcome);
        }
    free(v.slots);
}
