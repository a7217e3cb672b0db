/* test_sets_reader.c: collections of sets that several threads read at once, each by a reader on a context of
 * its own: counts of pairs, lookups, and which sets contain a value. */
#include "readers.h"
#include "sets.h"

#include <stdlib.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS  3

struct reading {
    struct test *t;
    cohort_context *context;
    cohort_sets *sets;
    const struct plains *plains;
    uint64_t *due; /* members that each set and the next one have in common */
    uint64_t wrong;
};

/* All pairs of neighbours: the query is of the reader's own context. */
static void ask_pairs(struct reading *r)
{
    const uint64_t n = r->plains->n;
    cohort_sets_query_desc d = COHORT_SETS_QUERY_INIT;
    uint64_t *members = malloc(16 * n), *counts = malloc(8 * n);
    for (uint64_t i = 0; i < n; i++) {
        members[2 * i] = i;
        members[2 * i + 1] = (i + 1) % n;
    }
    d.op = COHORT_SETS_AND;
    d.collections = &r->sets;
    d.collections_count = 1;
    d.rows = n;
    d.members = members;
    d.arity = 2;
    d.counts = counts;
    r->wrong += cohort_sets_query(r->context, &d) != COHORT_OK;
    for (uint64_t i = 0; i < n; i++)
        r->wrong += counts[i] != r->due[i];
    free(members);
    free(counts);
}

/* Each set's last member, which a lookup finds, and the sets that have it. */
static void ask_members(struct reading *r)
{
    const uint64_t n = r->plains->n;
    cohort_sets_look_desc look = COHORT_SETS_LOOK_INIT;
    cohort_sets_containing_desc containing = COHORT_SETS_CONTAINING_INIT;
    uint64_t *which = malloc(8 * n), *counts = malloc(8 * n);
    void *values = malloc(8 * n);
    uint8_t *hit = calloc(1, n / 8 + 8);
    for (uint64_t i = 0; i < n; i++) {
        const struct plain *p = &r->plains->at[i];
        const uint64_t last = p->n ? p->at[p->n - 1] : 5;
        which[i] = i;
        if (r->plains->wide)
            ((uint64_t *)values)[i] = last;
        else
            ((uint32_t *)values)[i] = (uint32_t)last;
    }
    look.n = containing.n = n;
    look.which = which;
    look.values = containing.values = values;
    look.hit = hit;
    containing.counts = counts;
    r->wrong += cohort_sets_look(r->sets, &look) != COHORT_OK;
    r->wrong += cohort_sets_containing(r->sets, &containing) != COHORT_OK;
    for (uint64_t i = 0; i < n; i++) {
        const struct plain *p = &r->plains->at[i];
        uint64_t due = 0, value = p->n ? p->at[p->n - 1] : 5;
        for (uint64_t k = 0; k < n; k++)
            due += (uint64_t)plain_has(&r->plains->at[k], value);
        r->wrong += (hit[i / 8] >> i % 8 & 1) != plain_has(p, value);
        r->wrong += counts[i] != due;
    }
    free(which);
    free(counts);
    free(values);
    free(hit);
}

static void *read_much(void *arg)
{
    struct reading *r = arg;
    for (int i = 0; i < ROUNDS; i++) {
        ask_pairs(r);
        ask_members(r);
    }
    return NULL;
}

static void judge(struct test *t, const struct reading *r)
{
    for (int i = 0; i < THREADS; i++)
        EQUAL(t, r[i].wrong, 0);
}

static void judge_due(const struct plains *p, uint64_t *due)
{
    for (uint64_t i = 0; i < p->n; i++) {
        const struct plain *two[2] = {&p->at[i], &p->at[(i + 1) % p->n]};
        struct plain both = plain_row(COHORT_SETS_AND, 0, two, 2);
        due[i] = both.n;
        plain_free(&both);
    }
}

static void read_sets(struct test *t, int wide)
{
    struct plains p = plains_draw(t, test_scale(t, 20, 60, 200), wide);
    struct reading r[THREADS];
    cohort_sets *sets = sets_of(t, &p, 1), *again;
    uint64_t *due = malloc(8 * p.n);
    judge_due(&p, due);
    for (int i = 0; i < THREADS; i++) {
        r[i] = (struct reading){t, i ? another_context(t, (uint64_t)i) : t->context, sets, &p, due, 0};
        if (i)
            OK(t, cohort_sets_reader(sets, r[i].context, &r[i].sets));
    }
    read_at_once(t, read_much, r, sizeof *r, THREADS);
    judge(t, r);
    OK(t, cohort_sets_reader(r[1].sets, r[2].context, &again)); /* a reader of a reader */
    cohort_sets_destroy(again);
    cohort_sets_destroy(r[1].sets); /* before the collection, */
    cohort_sets_destroy(sets);
    cohort_sets_destroy(r[2].sets); /* and after it */
    for (int i = 1; i < THREADS; i++)
        cohort_context_destroy(r[i].context);
    free(due);
    plains_free(&p);
}

static void narrow(struct test *t)
{
    read_sets(t, 0);
}

static void wide(struct test *t)
{
    read_sets(t, 1);
}

/* A reader on the collection's own context, which ends: the collection has its index still. */
static void own_context(struct test *t)
{
    struct plains p = plains_draw(t, 20, 0), q = plains_draw(t, 40, 0);
    cohort_sets *sets = sets_of(t, &p, 1), *reader;
    uint64_t *due = malloc(8 * p.n);
    judge_due(&p, due);
    struct reading r = {t, t->context, sets, &p, due, 0};
    ask_members(&r);
    OK(t, cohort_sets_reader(sets, t->context, &reader));
    cohort_sets_destroy(reader);
    cohort_sets *other = sets_of(t, &q, 1); /* in memory that was given back */
    struct reading s = {t, t->context, other, &q, NULL, 0};
    ask_members(&s);
    ask_members(&r);
    ask_pairs(&r);
    EQUAL(t, r.wrong + s.wrong, 0);
    cohort_sets_destroy(other);
    cohort_sets_destroy(sets);
    free(due);
    plains_free(&p);
    plains_free(&q);
}

/* A file that is mapped, read by way of another context. */
static void mapped(struct test *t)
{
    struct plains p = plains_draw(t, 10, 0);
    cohort_sets *sets = sets_of(t, &p, 0), *map, *reader;
    char path[] = "/tmp/cohort-readers-XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(t, fd >= 0);
    close(fd);
    OK(t, cohort_sets_save(sets, path));
    OK(t, cohort_sets_map(t->context, path, 1, &map));
    cohort_context *other = another_context(t, 2);
    OK(t, cohort_sets_reader(map, other, &reader));
    sets_judge(t, reader, &p, "a reader of a mapped file");
    cohort_sets_destroy(reader);
    sets_judge(t, map, &p, "the mapped file");
    cohort_sets_destroy(map);
    cohort_sets_destroy(sets);
    cohort_context_destroy(other);
    unlink(path);
    plains_free(&p);
}

static void refuses(struct test *t)
{
    struct plains p = plains_draw(t, 2, 0);
    cohort_sets *sets = sets_of(t, &p, 0), *reader = sets;
    FAILS(t, t->context, cohort_sets_reader(NULL, t->context, &reader), COHORT_NULL, "sets", NULL);
    CHECK(t, !reader);
    FAILS(t, NULL, cohort_sets_reader(sets, NULL, &reader), COHORT_NULL, "context", NULL);
    FAILS(t, t->context, cohort_sets_reader(sets, t->context, NULL), COHORT_NULL, "out", NULL);
    if (t->kind != TEST_CPU) {
        cohort_context_options cpu = COHORT_CONTEXT_OPTIONS_INIT;
        cohort_context *other;
        cpu.device = "cpu";
        OK(t, cohort_context_create(&cpu, &other));
        FAILS(t, other, cohort_sets_reader(sets, other, &reader), COHORT_UNSUPPORTED, "another device", NULL);
        cohort_context_destroy(other);
    }
    cohort_sets_destroy(sets);
    plains_free(&p);
}

const struct test_case test_cases[] = {
    {"narrow", narrow, 0}, {"wide", wide, 0},       {"own context", own_context, 0},
    {"mapped", mapped, 0}, {"refuses", refuses, 0}, {NULL, NULL, 0},
};
