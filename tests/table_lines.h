/* table_lines.h: a table of LINES, looked at from outside (docs/hopscotch-protocol.md): each key once, in a
 * slot that its home names; each slot claimed if, and only if, it is named; no lock. Part of table.c. */
#ifndef TEST_TABLE_LINES_H
#define TEST_TABLE_LINES_H

#include "subject.h"

#include "cohort/device/lines.h"

struct lines_seen {
    uint64_t pairs, claims, locks, homes, most_homes, histogram[COHORT_PROBE_BINS];
    unsigned char *named; /* a byte a slot */
};

/* One key, in the slot of name `name` of a home whose names are `names`. */
static void count_homes(struct lines_seen *p, uint32_t names, uint32_t name, uint32_t slots)
{
    uint64_t length = 1;
    for (uint32_t line = 1; line <= name / slots; line++) {
        int leads = line == name / slots;
        for (uint32_t i = line * slots; i < (line + 1) * slots && i < name; i++)
            leads |= (int)(names >> i & 1);
        length += (uint64_t)leads;
    }
    p->pairs++;
    p->homes += length;
    p->most_homes = length > p->most_homes ? length : p->most_homes;
    p->histogram[length < COHORT_PROBE_BINS ? length - 1 : COHORT_PROBE_BINS - 1]++;
}

#define NUMBER_co_u32(key)  (key)
#define NUMBER_co_u64(key)  (key)
#define NUMBER_co_u128(key) key_number((key).lo, (key).hi)

#define DEFINE_LINES(width, KEY, VALUE, SLOTS, WINDOW, HOME)                                                 \
    static void lines_##width(struct test *t, const cohort_map_view *v, const struct oracle *o,              \
                              struct lines_seen *p)                                                          \
    {                                                                                                        \
        for (uint64_t home = 0; home < v->pages; home++) {                                                   \
            uint64_t w = *(const uint64_t *)(const void *)((const char *)v->slots + HOME * home);            \
            p->claims += (uint64_t)__builtin_popcountll(w >> (SLOTS * WINDOW) & ((1u << SLOTS) - 1));        \
            p->locks += w >> (SLOTS * WINDOW + SLOTS) & 1;                                                   \
            uint32_t names = co_lines##width##_names(v, home);                                               \
            for (uint32_t i = 0; i < SLOTS * WINDOW; i++) {                                                  \
                KEY key;                                                                                     \
                VALUE value, found;                                                                          \
                if (!(names >> i & 1))                                                                       \
                    continue;                                                                                \
                co_lines##width##_pair(v, home, i, &key, &value);                                            \
                struct co_lines##width##_slot s = co_lines##width##_slot_of(v, home, i);                     \
                uint64_t at = s.home * SLOTS + s.at;                                                         \
                const unsigned long long number = NUMBER_##KEY(key);                                         \
                REQUIREF(t, oracle_get(o, number, NULL),                                                     \
                         "name %u of home %llu: key 0x%llx, which is not in", i, (unsigned long long)home,   \
                         number);                                                                            \
                REQUIREF(t, co_lines##width##_home(v, key) == home, "key 0x%llx is named by home %llu",      \
                         number, (unsigned long long)home);                                                  \
                REQUIREF(t, !p->named[at], "slot %llu is named twice", (unsigned long long)at);              \
                REQUIREF(t, co_lines##width##_name_of(v, home, s) == i + 1, "name %u of home %llu", i,       \
                         (unsigned long long)home);                                                          \
                p->named[at] = 1;                                                                            \
                REQUIREF(t, co_lines##width##_find(v, key, &found) == CO_MAP_HIT, "key 0x%llx is not found", \
                         number);                                                                            \
                count_homes(p, names, i, SLOTS);                                                             \
            }                                                                                                \
        }                                                                                                    \
    }

DEFINE_LINES(32_0, co_u32, co_u32, 6, 5, 32)
DEFINE_LINES(32_32, co_u32, co_u32, 3, 10, 32)
DEFINE_LINES(64_0, co_u64, co_u32, 3, 10, 32)
DEFINE_LINES(64_32, co_u64, co_u32, 4, 7, 64)
DEFINE_LINES(64_64, co_u64, co_u64, 3, 10, 64)
DEFINE_LINES(128_64, co_u128, co_u64, 2, 15, 64)

static void check_lines(struct subject *s)
{
    struct test *t = s->t;
    void (*const walks[])(struct test *, const cohort_map_view *, const struct oracle *,
                          struct lines_seen *) = {NULL,        lines_32_0,  lines_32_32, lines_64_0,
                                                  lines_64_32, lines_64_64, lines_128_64};
    struct lines_seen p = {0};
    struct co_map_counters counters;
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    cohort_map_view v;
    OK(t, cohort_map_get_view(s->map, &v));
    EQUAL(t, v.version, CO_LINES_VIEW_VERSION);
    EQUAL(t, v.width, s->width);
    OK(t, cohort_copy(t->context, &counters, v.counters, sizeof counters));
    const uint64_t home_bytes = s->width <= COHORT_WIDTH_64_0 ? 32 : 64;
    void *homes = aligned_alloc(128, (home_bytes * v.pages + 127) / 128 * 128);
    OK(t, cohort_copy(t->context, homes, v.slots, home_bytes * v.pages));
    v.slots = homes;
    p.named = calloc(v.pages, 7);
    walks[s->width](t, &v, s->oracle, &p);
    free(p.named);
    free(homes);
    EQUAL(t, p.locks, 0);
    EQUAL(t, p.pairs, oracle_size(s->oracle));
    EQUAL(t, p.claims, p.pairs);
    EQUAL(t, counters.taken, p.pairs);
    EQUAL(t, counters.erased, 0);
    OK(t, cohort_map_get_stats(s->map, &stats));
    EQUAL(t, stats.pairs, p.pairs);
    EQUAL(t, stats.erased, 0);
    EQUAL(t, stats.pages, v.pages);
    EQUAL(t, stats.page_bytes, home_bytes);
    EQUAL(t, stats.seed, v.seed);
    CHECK(t, stats.load == (double)p.pairs / (double)stats.slots);
    CHECK(t, stats.table_bytes >= home_bytes * stats.pages);
    for (int i = 0; i < COHORT_PROBE_BINS; i++)
        EQUAL(t, stats.probe_histogram[i], p.histogram[i]);
    EQUAL(t, stats.probe_max, p.most_homes);
    CHECK(t, stats.probe_mean == (p.pairs ? (double)p.homes / (double)p.pairs : 0.0));
    EQUAL(t, stats.displaced, counters.displaced);
    EQUAL(t, stats.pulled_home, counters.pulled);
    EQUAL(t, stats.retries, counters.retried);
}

#endif
