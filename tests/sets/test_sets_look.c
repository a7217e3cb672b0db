/* test_sets_look.c: looks into sets, against plain sorted arrays, member by member. */
#include "sets.h"

static uint64_t some_value(struct test *t, const struct plain *p, int wide)
{
    uint64_t most = wide ? UINT64_MAX : UINT32_MAX;
    if (!p->n || !test_below(t, 4))
        return test_below(t, 3) ? test_random(t) & most : test_below(t, 2) ? 0 : most;
    return (p->at[test_below(t, p->n)] + test_below(t, 3) - 1) & most;
}

struct look {
    struct plains p;
    cohort_sets *sets;
    uint64_t n;
    struct column *which, *values, *lasts, *results, *hit;
};

static uint64_t due_of(const struct look *l, cohort_look kind, uint64_t i, int *hit)
{
    const struct plain *s = &l->p.at[column_get(l->which, i)];
    uint64_t v = l->values ? column_get(l->values, i) : 0, last = l->lasts ? column_get(l->lasts, i) : 0;
    uint64_t rank = plain_rank(s, v);
    *hit = rank < s->n;
    switch (kind) {
    case COHORT_LOOK_CONTAINS:
        *hit = plain_has(s, v);
        return 0;
    case COHORT_LOOK_RANK:
        return rank;
    case COHORT_LOOK_SELECT:
        *hit = v < s->n;
        return *hit ? s->at[v] : 0;
    case COHORT_LOOK_NEXT:
        return *hit ? s->at[rank] : 0;
    case COHORT_LOOK_COUNT:
        if (!l->values)
            return s->n;
        return v > last ? 0 : plain_rank(s, last) + (uint64_t)plain_has(s, last) - rank;
    case COHORT_LOOK_MIN:
        *hit = s->n > 0;
        return *hit ? s->at[0] : 0;
    default:
        *hit = s->n > 0;
        return *hit ? s->at[s->n - 1] : 0;
    }
}

static void look(struct test *t, struct look *l, cohort_look kind)
{
    cohort_sets_look_desc d = COHORT_SETS_LOOK_INIT;
    unsigned bytes = l->p.wide ? 8 : 4;
    int number = kind == COHORT_LOOK_RANK || kind == COHORT_LOOK_COUNT;
    int valued = kind < COHORT_LOOK_MIN && (kind != COHORT_LOOK_COUNT || test_below(t, 3));
    struct column *mark = t->columns;
    l->which = column_new(t, l->n, 8);
    l->values = valued ? column_new(t, l->n, kind == COHORT_LOOK_SELECT ? 8 : bytes) : NULL;
    l->lasts = valued && kind == COHORT_LOOK_COUNT ? column_new(t, l->n, bytes) : NULL;
    l->results = kind == COHORT_LOOK_CONTAINS ? NULL : column_new(t, l->n, number ? 8 : bytes);
    l->hit = number ? NULL : bitmap_new(t, l->n);
    if (l->hit)
        bitmap_soil(l->hit);
    if (l->results && !number)
        memset(l->results->data, 0x5c, l->n * bytes);
    for (uint64_t i = 0; i < l->n; i++) {
        uint64_t s = test_below(t, 2) ? test_below(t, l->p.n) : 0;
        const struct plain *p = &l->p.at[s];
        column_put(l->which, i, s);
        if (valued)
            column_put(l->values, i,
                       kind == COHORT_LOOK_SELECT ? test_below(t, p->n + 3) : some_value(t, p, l->p.wide));
        if (l->lasts)
            column_put(l->lasts, i, some_value(t, p, l->p.wide));
    }
    d.kind = kind;
    d.n = l->n;
    d.which = column_send(l->which);
    d.values = column_pointer(l->values);
    d.lasts = column_pointer(l->lasts);
    d.results = column_pointer(l->results);
    d.hit = column_pointer(l->hit);
    d.hit_offset = bitmap_offset(l->hit);
    OK(t, cohort_sets_look(l->sets, &d));
    OK(t, cohort_wait(t->context));
    if (l->results)
        column_fetch(l->results);
    if (l->hit)
        column_fetch(l->hit);
    for (uint64_t i = 0; i < l->n; i++) {
        int hit;
        uint64_t due = due_of(l, kind, i, &hit), blank = bytes == 8 ? 0x5c5c5c5c5c5c5c5cu : 0x5c5c5c5cu;
        if (l->hit)
            REQUIREF(t, bitmap_get(l->hit, i) == hit, "look %d: hit %llu is %d", (int)kind,
                     (unsigned long long)i, !hit);
        if (l->results)
            REQUIREF(t, column_get(l->results, i) == (number || hit ? due : blank),
                     "look %d: result %llu is %llu, not %llu (value %llu of set %llu)", (int)kind,
                     (unsigned long long)i, (unsigned long long)column_get(l->results, i),
                     (unsigned long long)due, (unsigned long long)(l->values ? column_get(l->values, i) : 0),
                     (unsigned long long)column_get(l->which, i));
    }
    if (l->hit)
        bitmap_edges(l->hit);
    column_drop(t, mark);
}

static void looks(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 2, test_size(t, 20, 3), test_size(t, 100, 10)); round++) {
        struct look l = {.p = plains_draw(t, 1 + test_below(t, 12), (int)test_below(t, 2))};
        do { /* one has a bitmap in any case */
            plain_free(&l.p.at[0]);
            l.p.at[0] = plain_draw(t, SHAPE_DENSE, l.p.wide);
        } while (l.p.at[0].n < 5000);
        l.sets = sets_of(t, &l.p, 0);
        l.n = test_below(t, test_size(t, 3000, 150));
        for (cohort_look kind = COHORT_LOOK_CONTAINS; kind <= COHORT_LOOK_MAX; kind++)
            look(t, &l, kind);
        cohort_sets_destroy(l.sets);
        plains_free(&l.p);
        column_drop(t, NULL);
    }
}

static int due_of_pair(cohort_look kind, const struct plain *a, const struct plain *b)
{
    uint64_t both = 0;
    for (uint64_t i = 0; i < a->n; i++)
        both += (uint64_t)plain_has(b, a->at[i]);
    return kind == COHORT_LOOK_EQUAL    ? both == a->n && both == b->n
           : kind == COHORT_LOOK_SUBSET ? both == a->n
                                        : both > 0;
}

static void look_at_pairs(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 2, test_size(t, 20, 3), test_size(t, 100, 10)); round++) {
        struct plains p = plains_draw(t, 1 + test_below(t, 12), (int)test_below(t, 2));
        cohort_sets *sets = sets_of(t, &p, 0);
        for (cohort_look kind = COHORT_LOOK_EQUAL; kind <= COHORT_LOOK_INTERSECTS; kind++) {
            uint64_t n = test_below(t, 60), set = test_below(t, p.n);
            cohort_sets_look_desc d = COHORT_SETS_LOOK_INIT;
            struct column *which = test_below(t, 3) ? column_new(t, n, 8) : NULL,
                          *others = column_new(t, n, 8);
            struct column *hit = bitmap_new(t, n);
            bitmap_soil(hit);
            for (uint64_t i = 0; i < n; i++) {
                if (which)
                    column_put(which, i, test_below(t, p.n));
                column_put(others, i, test_below(t, p.n));
            }
            d.kind = kind;
            d.n = n;
            d.set = set;
            d.which = column_pointer(which);
            d.others = column_send(others);
            d.hit = column_send(hit);
            d.hit_offset = bitmap_offset(hit);
            OK(t, cohort_sets_look(sets, &d));
            OK(t, cohort_wait(t->context));
            column_fetch(hit);
            for (uint64_t i = 0; i < n; i++) {
                uint64_t a = which ? column_get(which, i) : set, b = column_get(others, i);
                REQUIREF(t, bitmap_get(hit, i) == due_of_pair(kind, &p.at[a], &p.at[b]),
                         "look %d at %llu and %llu is %d", (int)kind, (unsigned long long)a,
                         (unsigned long long)b, bitmap_get(hit, i));
            }
            bitmap_edges(hit);
        }
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

const struct test_case test_cases[] = {
    {"looks", looks, TEST_EACH_MEMORY},
    {"look_at_pairs", look_at_pairs, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
