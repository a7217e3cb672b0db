/* test_members.c: membership in a set as a function of keys (COHORT_FN_MEMBER): what a compaction keeps,
 * where a multisplit puts, what a histogram counts, against looking each key up in a sorted array. */
#include <stdlib.h>
#include <string.h>

#include "cohort/compact.h"
#include "cohort/histogram.h"
#include "cohort/multisplit.h"
#include "sets.h"

/* Keys, and a set of a collection that they may be in. */
struct scene {
    struct plains p;
    cohort_sets *sets;
    cohort_fn fn;
    struct column *keys;
    uint64_t n, members;
    cohort_type type;
};

static int is_member(const struct scene *s, uint64_t i)
{
    return plain_has(&s->p.at[s->fn.a], column_get(s->keys, i));
}

/* Members, their neighbours, edges, and keys with more bits than members of a narrow collection have, of
 * which the lower ones are a member's. */
static uint64_t some_key(struct test *t, const struct plain *p, uint64_t bytes)
{
    uint64_t key = test_random(t), edge = test_below(t, 2) ? 0 : UINT64_MAX;
    if (p->n && test_below(t, 4))
        key = p->at[test_below(t, p->n)] + test_below(t, 3) - 1;
    if (test_below(t, 8) == 0)
        key = edge;
    if (bytes == 8 && test_below(t, 3) == 0)
        key ^= (1 + test_below(t, 3)) << (32 + test_below(t, 30));
    return bytes == 8 ? key : (uint32_t)key;
}

/* Every width of keys with every width of members in turn. */
static struct scene scene_new(struct test *t, uint64_t round, uint64_t n)
{
    uint64_t bytes = round & 1 ? 8 : 4, set;
    struct scene s = {.p = plains_draw(t, 1 + test_below(t, 12), round >> 1 & 1), .n = n};
    s.type = bytes == 8 ? COHORT_U64 : COHORT_U32;
    if (test_below(t, 2)) { /* a bitmap, or full chunks */
        plain_free(&s.p.at[0]);
        s.p.at[0] = plain_draw(t, test_below(t, 2) ? SHAPE_DENSE : SHAPE_FULL, s.p.wide);
        set = 0;
    } else {
        set = test_below(t, s.p.n);
    }
    s.sets = sets_of(t, &s.p, 0);
    s.fn = cohort_fn_member(s.sets, set);
    s.keys = column_new(t, n, bytes);
    for (uint64_t i = 0; i < n; i++)
        column_put(s.keys, i, some_key(t, &s.p.at[set], bytes));
    for (uint64_t i = 0; i < n; i++)
        s.members += (uint64_t)is_member(&s, i);
    column_send(s.keys);
    return s;
}

static void scene_end(struct test *t, struct scene *s)
{
    cohort_sets_destroy(s->sets);
    plains_free(&s->p);
    column_drop(t, NULL);
}

static uint64_t some_n(struct test *t)
{
    static const uint64_t edges[] = {0, 1, 31, 32, 33, 1023, 1024, 1025};
    return test_below(t, 3) ? test_below(t, test_size(t, 20000, 1500)) : edges[test_below(t, 8)];
}

static uint64_t rounds(struct test *t)
{
    return test_scale(t, 8, test_size(t, 32, 8), test_size(t, 200, 40));
}

/* Kept and rejected, in order. The collection is destroyed behind the call, without a wait. */
static void compactions(struct test *t)
{
    for (uint64_t round = 0; round < rounds(t); round++) {
        struct scene s = scene_new(t, round, some_n(t));
        struct column *kept = column_new(t, s.n, s.keys->width),
                      *rejected = column_new(t, s.n, s.keys->width);
        struct column *total = column_new(t, 1, 8);
        cohort_compact_desc d = COHORT_COMPACT_INIT;
        d.n = s.n;
        d.type = s.type;
        d.fn = &s.fn;
        d.keys = column_pointer(s.keys);
        d.kept = column_send(kept);
        d.rejected = column_send(rejected);
        d.total = column_send(total);
        OK(t, cohort_compact(t->context, &d));
        if (test_below(t, 2)) {
            cohort_sets_destroy(s.sets);
            s.sets = NULL;
        }
        OK(t, cohort_wait(t->context));
        column_fetch(kept);
        column_fetch(rejected);
        column_fetch(total);
        EQUAL(t, column_get(total, 0), s.members);
        for (uint64_t i = 0, in = 0, out = 0; i < s.n; i++) {
            uint64_t key = column_get(s.keys, i), got;
            int member = is_member(&s, i);
            got = member ? column_get(kept, in++) : column_get(rejected, out++);
            REQUIREF(t, got == key,
                     "entry %llu, 0x%llx, %s member of set %llu of %llu, is not where it belongs",
                     (unsigned long long)i, (unsigned long long)key, member ? "a" : "no",
                     (unsigned long long)s.fn.a, (unsigned long long)s.p.n);
        }
        scene_end(t, &s);
    }
}

/* What a split of a scene writes. */
struct split {
    struct column *out, *rank, *begin, *offsets;
    uint64_t segments, buckets, cells;
};

static struct split split_new(struct test *t, const struct scene *s)
{
    struct split p = {.segments = test_below(t, 2) ? 1 + test_below(t, 5) : 0,
                      .buckets = 1 + test_below(t, 2)};
    p.cells = p.buckets * (p.segments ? p.segments : 1);
    p.out = column_new(t, s->n, s->keys->width);
    p.rank = column_new(t, s->n, 4);
    p.begin = column_new(t, p.segments + 1, 8);
    p.offsets = column_new(t, p.cells + 1, 8);
    memset(p.out->data, 0x5c, s->n * s->keys->width);
    for (uint64_t k = 0; k <= p.segments; k++)
        column_put(p.begin, k, p.segments ? s->n * k / p.segments : 0);
    return p;
}

static cohort_status split_do(struct test *t, const struct scene *s, struct split *p)
{
    cohort_multisplit_desc d = COHORT_MULTISPLIT_INIT;
    d.n = s->n;
    d.type = s->type;
    d.buckets = (uint32_t)p->buckets;
    d.fn = &s->fn;
    d.keys = column_pointer(s->keys);
    d.keys_out = column_send(p->out);
    d.rank = column_send(p->rank);
    d.segments = p->segments;
    d.segment_offsets = p->segments ? column_send(p->begin) : NULL;
    d.offsets = column_send(p->offsets);
    cohort_status status = cohort_multisplit(t->context, &d), waited = cohort_wait(t->context);
    column_fetch(p->out);
    column_fetch(p->rank);
    column_fetch(p->offsets);
    return status ? status : waited;
}

static void split_judge(struct test *t, const struct scene *s, const struct split *p)
{
    uint64_t *next = malloc(p->cells * sizeof *next), segment = 0;
    REQUIRE(t, next);
    for (uint64_t c = 0; c < p->cells; c++)
        next[c] = column_get(p->offsets, c);
    for (uint64_t i = 0; i < s->n; i++) {
        while (p->segments && i >= column_get(p->begin, segment + 1))
            segment++;
        uint64_t bucket = (uint64_t)is_member(s, i);
        uint64_t at = bucket < p->buckets ? next[p->buckets * segment + bucket]++ : UINT32_MAX;
        REQUIREF(t,
                 column_get(p->rank, i) == at &&
                     (at == UINT32_MAX || (at < s->n && column_get(p->out, at) == column_get(s->keys, i))),
                 "entry %llu belongs at %llu, its rank is %llu", (unsigned long long)i,
                 (unsigned long long)at, (unsigned long long)column_get(p->rank, i));
    }
    for (uint64_t c = 0; c < p->cells; c++)
        EQUAL(t, next[c], column_get(p->offsets, c + 1));
    for (uint64_t i = next[p->cells - 1] * s->keys->width; i < s->n * s->keys->width; i++)
        REQUIRE(t, ((unsigned char *)p->out->data)[i] == 0x5c);
    free(next);
}

/* Two buckets, those that are no members first, or one, in which members have no place; by segments or
 * not. */
static void splits(struct test *t)
{
    for (uint64_t round = 0; round < rounds(t); round++) {
        struct scene s = scene_new(t, round, some_n(t));
        struct split p = split_new(t, &s);
        cohort_status due = p.buckets == 1 && s.members ? COHORT_RANGE : COHORT_OK;
        EQUAL(t, split_do(t, &s, &p), due);
        split_judge(t, &s, &p);
        scene_end(t, &s);
    }
}

/* With one bucket members have no place. */
static void histograms(struct test *t)
{
    for (uint64_t round = 0; round < rounds(t); round++) {
        struct scene s = scene_new(t, round, some_n(t));
        uint32_t buckets = 1 + (uint32_t)(round % 3);
        struct column *bins = column_new(t, buckets, 8);
        cohort_histogram_desc d = COHORT_HISTOGRAM_INIT;
        d.n = s.n;
        d.type = s.type;
        d.buckets = buckets;
        d.fn = &s.fn;
        d.keys = column_pointer(s.keys);
        d.bins = column_send(bins);
        cohort_status status = cohort_histogram(t->context, &d), waited = cohort_wait(t->context);
        EQUAL(t, status ? status : waited, buckets == 1 && s.members ? COHORT_RANGE : COHORT_OK);
        column_fetch(bins);
        EQUAL(t, column_get(bins, 0), s.n - s.members);
        for (uint32_t b = 1; b < buckets; b++)
            EQUAL(t, column_get(bins, b), b == 1 ? s.members : 0);
        scene_end(t, &s);
    }
}

static void errors(struct test *t)
{
    struct scene s = scene_new(t, test_below(t, 4), 100), other = s;
    struct column *kept = column_new(t, s.n, s.keys->width);
    cohort_context_options options = test_context_options(t);
    cohort_context *context = NULL, *own = t->context;
    struct column *mark = t->columns;
    OK(t, cohort_context_create(&options, &context));
    t->context = context;
    other.sets = sets_of(t, &s.p, 0);
    column_drop(t, mark);
    t->context = own;
    memset(kept->data, 0x5c, s.n * kept->width);
    cohort_compact_desc d = COHORT_COMPACT_INIT;
    d.n = s.n;
    d.type = s.type;
    d.keys = column_pointer(s.keys);
    d.kept = column_send(kept);
    d.fn = &s.fn;
    const uint64_t set = s.fn.a;
    s.fn.data = NULL;
    FAILS(t, own, cohort_compact(own, &d), COHORT_NULL, "desc.fn->data", NULL);
    s.fn.data = other.sets;
    FAILS(t, own, cohort_compact(own, &d), COHORT_OTHER_CONTEXT, "desc.fn->data", NULL);
    s.fn.data = s.sets;
    s.fn.a = s.p.n;
    FAILS(t, own, cohort_compact(own, &d), COHORT_RANGE, "desc.fn->a", "sets");
    s.fn.a = UINT64_MAX;
    FAILS(t, own, cohort_compact(own, &d), COHORT_RANGE, "desc.fn->a", "18446744073709551615");
    s.fn.a = set;
    OK(t, cohort_wait(own));
    column_fetch(kept);
    for (uint64_t i = 0; i < s.n * kept->width; i++)
        REQUIRE(t, ((unsigned char *)kept->data)[i] == 0x5c);
    cohort_sets_destroy(other.sets);
    cohort_context_destroy(context);
    scene_end(t, &s);
}

const struct test_case test_cases[] = {
    {"compactions", compactions, TEST_EACH_MEMORY},
    {"splits", splits, TEST_EACH_MEMORY},
    {"histograms", histograms, TEST_EACH_MEMORY},
    {"errors", errors, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
