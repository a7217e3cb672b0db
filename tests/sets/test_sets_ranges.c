/* test_sets_ranges.c: collections built from ranges, and given out as such: cut anywhere, some of them twice,
 * whole universes, and ranges within others. */
#include "sets.h"

#include "api/sets.h"
#include "cpu/sets.h"

/* Runs of a plain set: firsts and lasts, its number of them. */
static uint64_t runs_of(const struct plain *p, uint64_t *firsts, uint64_t *lasts)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < p->n; i++) {
        if (!i || p->at[i] != p->at[i - 1] + 1)
            firsts[n++] = p->at[i];
        lasts[n - 1] = p->at[i];
    }
    return n;
}

/* Ranges that cover a set, cut anywhere, some of them twice. */
static void ranges(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 3, test_size(t, 40, 6), test_size(t, 200, 20)); round++) {
        struct plains p = plains_draw(t, 1 + test_below(t, 8), (int)test_below(t, 2));
        uint64_t n = plains_members(&p), at = 0, room = 3 * n + 8;
        uint64_t *firsts = malloc((n + 1) * 8), *lasts = malloc((n + 1) * 8);
        REQUIRE(t, firsts && lasts);
        struct column *first = column_new(t, room, p.wide ? 8 : 4),
                      *last = column_new(t, room, p.wide ? 8 : 4);
        struct column *groups = column_new(t, room, 4);
        for (uint64_t s = 0; s < p.n; s++) {
            uint64_t runs = runs_of(&p.at[s], firsts, lasts);
            for (uint64_t i = 0; i < runs; i++) {
                uint64_t length = lasts[i] - firsts[i], cut = length ? test_below(t, length) : 0;
                int pieces = length && test_below(t, 2) ? 2 : 1;
                for (int k = 0; k < pieces + (test_below(t, 5) == 0); k++, at++) {
                    column_put(first, at,
                               k == 1 && pieces == 2 ? firsts[i] + cut + test_below(t, 2) : firsts[i]);
                    column_put(last, at, k == 0 && pieces == 2 ? firsts[i] + cut : lasts[i]);
                    column_put(groups, at, s);
                }
            }
        }
        for (uint64_t i = 1; i < at; i++) {
            uint64_t j = test_below(t, i + 1);
            struct column *const all[] = {first, last, groups};
            for (int c = 0; c < 3; c++) {
                uint64_t v = column_get(all[c], i);
                column_put(all[c], i, column_get(all[c], j));
                column_put(all[c], j, v);
            }
        }
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        source.form = COHORT_FORM_RANGES;
        source.type = plains_type(&p);
        source.n = at;
        source.sets = p.n;
        source.members = column_send(first);
        source.lasts = column_send(last);
        source.groups = column_send(groups);
        cohort_sets *sets = NULL;
        OK(t, cohort_sets_build(t->context, &source, &sets));
        sets_judge(t, sets, &p, "ranges");

        /* and out again */
        cohort_sets_target target = COHORT_SETS_TARGET_INIT;
        target.form = COHORT_FORM_RANGES;
        target.capacity = room;
        target.members = column_send(first);
        target.lasts = column_send(last);
        target.groups = column_send(groups);
        OK(t, cohort_sets_export(sets, &target));
        column_fetch(first);
        column_fetch(last);
        column_fetch(groups);
        uint64_t e = 0;
        for (uint64_t s = 0; s < p.n; s++) {
            uint64_t runs = runs_of(&p.at[s], firsts, lasts);
            for (uint64_t i = 0; i < runs; i++, e++)
                REQUIREF(t,
                         column_get(first, e) == firsts[i] && column_get(last, e) == lasts[i] &&
                             column_get(groups, e) == s,
                         "range %llu of set %llu: %llu to %llu, not %llu to %llu", (unsigned long long)i,
                         (unsigned long long)s, (unsigned long long)column_get(first, e),
                         (unsigned long long)column_get(last, e), (unsigned long long)firsts[i],
                         (unsigned long long)lasts[i]);
        }
        EQUAL(t, target.total, e);
        cohort_sets_destroy(sets);
        free(firsts);
        free(lasts);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* Whole universes, which no array of members would hold. */
static void endless(struct test *t)
{
    for (int wide = 0; wide < 2; wide++) {
        uint64_t most = t->kind == TEST_SIM ? (1u << 23) - 1 : wide ? (1ull << 34) - 1 : UINT32_MAX;
        struct column *first = column_new(t, 3, wide ? 8 : 4), *last = column_new(t, 3, wide ? 8 : 4);
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        const uint64_t firsts[] = {5, 1000000, 0}, lasts[] = {most - 5, most, 6};
        for (unsigned i = 0; i < 3; i++) {
            column_put(first, i, firsts[i]);
            column_put(last, i, lasts[i]);
        }
        source.form = COHORT_FORM_RANGES;
        source.type = wide ? COHORT_U64 : COHORT_U32;
        source.n = 3;
        source.members = column_send(first);
        source.lasts = column_send(last);
        cohort_sets *sets = NULL;
        cohort_sets_info info = COHORT_SETS_INFO_INIT;
        OK(t, cohort_sets_build(t->context, &source, &sets));
        OK(t, cohort_sets_get_info(sets, &info));
        EQUAL(t, info.members, most + 1);
        EQUAL(t, info.full, (most + 1) >> 16);
        EQUAL(t, info.chunks, info.full);
        cohort_sets_target target = COHORT_SETS_TARGET_INIT;
        target.form = COHORT_FORM_RANGES;
        target.members = column_send(first);
        target.lasts = column_send(last);
        target.capacity = 3;
        OK(t, cohort_sets_export(sets, &target));
        column_fetch(first);
        column_fetch(last);
        EQUAL(t, target.total, 1);
        EQUAL(t, column_get(first, 0), 0);
        EQUAL(t, column_get(last, 0), most);
        cohort_sets_destroy(sets);
        column_drop(t, NULL);
    }
}

/* ---- ranges within others ------------------------------------------------------------------------------ */

/* Many ranges within the first one: it reaches over all of them, whatever they are cut into for threads and
 * warps. On a CPU by threads that are started for it. */
static void within(struct test *t)
{
    const uint64_t n = test_size(t, 100000, 5000), low = 10, most = low + (1u << 24) - 1;
    struct column *first = column_new(t, n, 4), *last = column_new(t, n, 4);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = i ? low + test_below(t, most - low) : low;
        column_put(first, i, at);
        column_put(last, i, i ? at : most);
    }
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    source.form = COHORT_FORM_RANGES;
    source.type = COHORT_U32;
    source.n = n;
    source.members = column_send(first);
    source.lasts = column_send(last);
    for (uint64_t round = 0; round < test_scale(t, 2, 10, test_size(t, 100, 10)); round++) {
        cohort_context_options options = test_context_options(t);
        cohort_context *context = NULL;
        cohort_sets *sets = NULL;
        cohort_sets_info info = COHORT_SETS_INFO_INIT;
        options.threads = t->kind == TEST_CPU ? 2 + test_below(t, 3) : options.threads;
        OK(t, cohort_context_create(&options, &context));
        OK(t, cohort_sets_build(context, &source, &sets));
        OK(t, cohort_sets_get_info(sets, &info));
        EQUAL(t, info.members, most - low + 1);
        EQUAL(t, info.chunks, 257);
        cohort_sets_destroy(sets);
        cohort_context_destroy(context);
    }
}

/* How far ranges reach is told in their order, however many threads there are: again and again, as threads
 * meet now and then. */
static void reaches(struct test *t)
{
    const uint64_t n = 200000;
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL;
    struct sets_step step;
    co_u64 *lasts = malloc(n * 8), *reach = malloc(n * 8);
    REQUIRE(t, lasts && reach);
    options.threads = 2 + test_below(t, 3);
    OK(t, cohort_context_create(&options, &context));
    for (uint64_t i = 0; i < n; i++)
        lasts[i] = i ? i : n;
    memset(&step, 0, sizeof step);
    step.n = step.items = n;
    step.item = SETS_RANGES;
    step.lasts = lasts;
    step.reach = reach;
    for (uint64_t round = 0; round < test_scale(t, 200, 500, 2000); round++) {
        uint64_t right = 0;
        memset(reach, 0, n * 8);
        OK(t, cpu_sets_step(context, &step, SETS_REACH));
        for (uint64_t i = 0; i < n; i++)
            right += reach[i] == n;
        REQUIREF(t, right == n, "%llu of %llu ranges reach far enough", (unsigned long long)right,
                 (unsigned long long)n);
    }
    cohort_context_destroy(context);
    free(lasts);
    free(reach);
}

const struct test_case test_cases[] = {
    {"ranges", ranges, TEST_EACH_MEMORY},
    {"endless", endless, TEST_EACH_MEMORY},
    {"within", within, 0},
    {"reaches", reaches, TEST_ON_CPU | TEST_NO_CONTEXT},
    {NULL, NULL, 0},
};
