/* test_map_ranges.c: large batches on a CPU, which go by ranges of pages of which each is one thread's
 * (src/cpu/map_pages.c). Judged by a model that is quick enough for them: keys have small numbers, and the
 * values that compete are equal unless the batch's order tells which of them wins. Small batches too, if
 * their order counts; and those in which each thread goes through all and does its own pages'
 * (src/cpu/map_share.c): no others go that way here. Large batches of lookups in a table larger than the
 * caches, which are said to be small for it. */
#include <stdlib.h>
#include <string.h>

#include "cpu/map.h"
#include "subject.h"

#define THREADS 2
#define ENTRIES (THREADS * 40000 + 77) /* enough a thread, */
#define PAGES   17                     /* pages for each, and slots for all */

struct entry_model {
    uint64_t value, parts, hits, fails;
    int live;
};

struct ranges {
    struct test *t;
    cohort_map *map;
    uint64_t ids, batches;
    int fixed;              /* entries may find no slot, so the bitmap must tell which */
    struct entry_model *of; /* by the key's number */
};

/* One batch: its entries' numbers, operands and answers. */
struct batch {
    uint64_t n, *id;
    void *keys, *values;
    uint8_t *where, *hit, *failed;
};

enum what { INSERT, ASSIGN, INSERT_AND_FIND, APPLY, ERASE, WHATS };

/* What is done, by how many entries, on keys below `range`. */
struct plan {
    enum what what;
    cohort_winner winner; /* of APPLY and ERASE not heeded */
    uint64_t n, range;
    uint64_t reach; /* not 0: every other entry has the key of one of so many before it */
};

static uint64_t slots_of_pages(const struct test *t, uint64_t pages)
{
    return pages * 65536 / (const uint64_t[]){0, 4, 8, 8, 16, 16}[t->width];
}

static void put(void *array, unsigned bytes, uint64_t i, uint64_t value)
{
    if (bytes == 4)
        ((uint32_t *)array)[i] = (uint32_t)value;
    else if (bytes == 8)
        ((uint64_t *)array)[i] = value;
}

static uint64_t get(const void *array, unsigned bytes, uint64_t i)
{
    return bytes == 4 ? ((const uint32_t *)array)[i] : bytes == 8 ? ((const uint64_t *)array)[i] : 0;
}

/* Numbers 0 and 1 are the keys that look like marks. */
static uint64_t key_of(const struct test *t, uint64_t id)
{
    uint64_t mask = key_bytes(t->width) == 4 ? UINT32_MAX : UINT64_MAX;
    return id < 2 ? mask - id : id * 0x9e3779b1u & mask;
}

static struct ranges open_ranges(struct test *t, uint64_t threads, uint64_t pages, double load, int fixed,
                                 uint64_t ids)
{
    struct ranges r = {.t = t, .ids = ids, .fixed = fixed};
    cohort_context_options context = test_context_options(t);
    cohort_map_options options = subject_options(t);
    context.threads = threads;
    OK(t, cohort_context_create(&context, &t->context));
    cpu_device(t->context)->most_looks = 0; /* by ranges even if there are few */
    options.fixed = fixed;
    options.max_load = load;
    options.capacity = (uint64_t)((double)slots_of_pages(t, pages) * load);
    OK(t, cohort_map_create(t->context, &options, &r.map));
    r.of = calloc(r.ids, sizeof *r.of);
    REQUIRE(t, r.of);
    return r;
}

/* For small batches, each thread its own pages. */
static struct ranges open_shares(struct test *t, uint64_t threads, uint64_t pages, double load, int fixed,
                                 uint64_t ids)
{
    struct ranges r = open_ranges(t, threads, pages, load, fixed, ids);
    cpu_device(t->context)->most_looks = CPU_MOST_LOOKS;
    return r;
}

static void close_ranges(struct ranges *r)
{
    struct test *t = r->t;
    cohort_map_destroy(r->map);
    free(r->of);
    cohort_context_destroy(t->context);
    t->context = NULL;
}

static struct batch batch_new(struct test *t, uint64_t n, int fails)
{
    struct batch b = {.n = n};
    b.id = calloc(n, 8);
    b.keys = calloc(n, 8);
    b.values = calloc(n, 8);
    b.where = test_below(t, 3) ? NULL : calloc(n / 8 + 1, 1);
    b.hit = test_below(t, 3) ? calloc(n / 8 + 1, 1) : NULL;
    b.failed = fails || test_below(t, 3) ? calloc(n / 8 + 1, 1) : NULL;
    REQUIRE(t, b.id && b.keys && b.values);
    for (uint64_t i = 0; i <= n / 8; i++) {
        if (b.where)
            b.where[i] = (uint8_t)(test_random(t) | test_random(t));
        if (b.hit)
            b.hit[i] = (uint8_t)test_random(t);
        if (b.failed)
            b.failed[i] = (uint8_t)test_random(t);
    }
    return b;
}

static void batch_free(struct batch *b)
{
    free(b->id);
    free(b->keys);
    free(b->values);
    free(b->where);
    free(b->hit);
    free(b->failed);
}

static int bit(const uint8_t *bits, uint64_t i)
{
    return bits && bits[i / 8] >> i % 8 & 1;
}

static uint64_t applied(cohort_op op, uint64_t old, uint64_t operand)
{
    return op == COHORT_OP_ADD     ? old + operand
           : op == COHORT_OP_COUNT ? old + 1
           : old > operand         ? old
                                   : operand;
}

/* What the model makes of an entry; `competing` is the value that all the batch's entries of one key have. */
static void model(struct ranges *r, enum what what, cohort_op op, uint64_t id, uint64_t operand)
{
    struct entry_model *m = &r->of[id];
    uint64_t mask = value_bytes(r->t->width) == 4 ? UINT32_MAX : UINT64_MAX;
    if (what == ERASE)
        m->live = 0;
    else if (!m->live)
        m->value = what == APPLY && op == COHORT_OP_COUNT ? 1 : operand;
    else if (what == ASSIGN)
        m->value = operand;
    else if (what == APPLY)
        m->value = applied(op, m->value, operand) & mask;
    m->live = what != ERASE;
}

static void call(struct ranges *r, enum what what, cohort_op op, cohort_winner winner, struct batch *b,
                 cohort_counts *counts)
{
    struct test *t = r->t;
    cohort_batch options = COHORT_BATCH_INIT;
    options.where = b->where;
    options.hit = b->hit;
    options.failed = b->failed;
    options.counts = counts;
    options.winner = winner;
    cohort_status s = what == INSERT   ? cohort_map_insert(r->map, b->n, b->keys, b->values, &options)
                      : what == ASSIGN ? cohort_map_assign(r->map, b->n, b->keys, b->values, &options)
                      : what == INSERT_AND_FIND
                          ? cohort_map_insert_and_find(r->map, b->n, b->keys, b->values, &options)
                      : what == APPLY ? cohort_map_apply(r->map, op, b->n, b->keys, b->values, &options)
                                      : cohort_map_erase(r->map, b->n, b->keys, &options);
    CHECK(t, s == (counts->failed ? COHORT_FULL : COHORT_OK));
}

/* Bitmaps: zeros for who took no part; all entries of a key fail or none; of those of a new key one was not
 * hit; of those of one that is erased one was. */
static void judge(struct ranges *r, enum what what, const struct batch *b, const cohort_counts *counts)
{
    struct test *t = r->t;
    uint64_t taken = 0, hits = 0, added = 0, failed = 0, first = UINT64_MAX;
    for (uint64_t i = 0; i < r->ids; i++)
        r->of[i].parts = r->of[i].hits = r->of[i].fails = 0;
    for (uint64_t i = 0; i < b->n; i++) {
        struct entry_model *m = &r->of[b->id[i]];
        int part = !b->where || bit(b->where, i);
        REQUIREF(t, part || (!bit(b->hit, i) && !bit(b->failed, i)), "entry %llu takes no part",
                 (unsigned long long)i);
        taken += (uint64_t)part;
        m->parts += (uint64_t)part;
        m->hits += (uint64_t)bit(b->hit, i);
        m->fails += (uint64_t)bit(b->failed, i);
        first = bit(b->failed, i) && !failed ? i : first;
        failed += (uint64_t)bit(b->failed, i);
    }
    for (uint64_t id = 0; id < r->ids; id++) {
        struct entry_model *m = &r->of[id];
        uint64_t due = what == ERASE ? m->live && m->parts : m->live || !m->parts ? m->parts : m->parts - 1;
        if (m->fails) {
            REQUIREF(t, m->fails == m->parts && !m->live, "some entries of key %llu fail",
                     (unsigned long long)id);
            due = 0;
        }
        hits += due;
        added += what != ERASE && !m->live && m->parts && !m->fails;
        REQUIREF(t, !b->hit || m->hits == due, "key %llu: %llu of %llu entries hit, due are %llu",
                 (unsigned long long)id, (unsigned long long)m->hits, (unsigned long long)m->parts,
                 (unsigned long long)due);
    }
    EQUAL(t, counts->taken, taken);
    EQUAL(t, counts->hits, hits);
    EQUAL(t, counts->added, added);
    EQUAL(t, counts->failed, failed);
    EQUAL(t, counts->first_failed, first);
}

/* The whole map, by finding every key that is there and some that are not: each of these may look at all the
 * table. */
static void look(struct ranges *r)
{
    struct test *t = r->t;
    struct batch b = batch_new(t, r->ids, 0);
    uint64_t live = 0, size;
    uint8_t *hit = calloc(r->ids / 8 + 1, 1);
    unsigned bytes = value_bytes(t->width);
    uint8_t *where = calloc(r->ids / 8 + 1, 1);
    for (uint64_t i = 0, absent = 0; i < r->ids; i++) {
        put(b.keys, key_bytes(t->width), i, key_of(t, i));
        if (r->of[i].live || absent++ < 40)
            where[i / 8] |= (uint8_t)(1u << i % 8);
    }
    cohort_batch options = COHORT_BATCH_INIT;
    options.where = where;
    options.hit = hit;
    OK(t, cohort_map_find(r->map, r->ids, b.keys, b.values, NULL, &options));
    for (uint64_t i = 0; i < r->ids; i++) {
        live += (uint64_t)r->of[i].live;
        REQUIREF(t, bit(hit, i) == r->of[i].live, "batch %llu: key %llu is %s",
                 (unsigned long long)r->batches, (unsigned long long)i, bit(hit, i) ? "there" : "lost");
        REQUIREF(t, !bytes || !r->of[i].live || get(b.values, bytes, i) == r->of[i].value,
                 "batch %llu: key %llu has %llx, due is %llx", (unsigned long long)r->batches,
                 (unsigned long long)i, (unsigned long long)get(b.values, bytes, i),
                 (unsigned long long)r->of[i].value);
    }
    OK(t, cohort_map_size(r->map, &size));
    EQUAL(t, size, live);
    free(hit);
    free(where);
    batch_free(&b);
}

/* Key numbers: all of `range` once if there are enough entries; and operands, which are the same for all
 * entries of a key if they compete and none is to win by its place. */
static void draw(struct ranges *r, const struct plan *p, struct batch *b, uint64_t *operand)
{
    struct test *t = r->t;
    const int same = p->what != APPLY && p->winner == COHORT_WINNER_ANY;
    const uint64_t salt = test_random(t);
    for (uint64_t i = 0; i < p->n; i++) {
        b->id[i] = !p->reach && p->n >= p->range && i < p->range ? i : test_below(t, p->range);
        if (i && p->reach && test_below(t, 2))
            b->id[i] = b->id[i - 1 - test_below(t, i < p->reach ? i : p->reach)];
        operand[i] = same ? test_mix(salt + b->id[i]) : test_random(t);
        put(b->keys, key_bytes(t->width), i, key_of(t, b->id[i]));
        put(b->values, value_bytes(t->width), i, operand[i]);
        operand[i] = get(b->values, value_bytes(t->width), i);
    }
}

/* The model after a batch, whose entries come in the order in which the right one decides; who puts in a key
 * of which the first or the last is to decide has not hit. */
static void follow(struct ranges *r, const struct plan *p, cohort_op op, const struct batch *b,
                   const uint64_t *operand)
{
    struct test *t = r->t;
    const int inserts = p->what == INSERT || p->what == INSERT_AND_FIND,
              back = p->winner == (inserts ? COHORT_WINNER_LAST : COHORT_WINNER_FIRST);
    for (uint64_t k = 0; k < p->n; k++) {
        uint64_t i = back ? p->n - 1 - k : k;
        if ((b->where && !bit(b->where, i)) || bit(b->failed, i))
            continue;
        REQUIREF(t, !inserts || !p->winner || !b->hit || bit(b->hit, i) == r->of[b->id[i]].live,
                 "entry %llu of %llu: hit is %d", (unsigned long long)i, (unsigned long long)p->n,
                 bit(b->hit, i));
        model(r, p->what, op, b->id[i], operand[i]);
    }
    for (uint64_t i = 0; i < p->n && p->what == INSERT_AND_FIND; i++)
        if ((!b->where || bit(b->where, i)) && !bit(b->failed, i))
            REQUIREF(t,
                     !value_bytes(t->width) ||
                         get(b->values, value_bytes(t->width), i) == r->of[b->id[i]].value,
                     "entry %llu: the map's value", (unsigned long long)i);
}

static void step(struct ranges *r, struct plan p)
{
    struct test *t = r->t;
    const cohort_op op = (const cohort_op[]){COHORT_OP_ADD, COHORT_OP_COUNT, COHORT_OP_MAX}[test_below(t, 3)];
    struct batch b = batch_new(t, p.n, r->fixed);
    cohort_counts counts;
    uint64_t *operand = calloc(p.n, 8);
    p.winner = p.what == APPLY || p.what == ERASE ? COHORT_WINNER_ANY : p.winner;
    draw(r, &p, &b, operand);
    r->batches++;
    call(r, p.what, op, p.winner, &b, &counts);
    judge(r, p.what, &b, &counts);
    follow(r, &p, op, &b, operand);
    look(r);
    free(operand);
    batch_free(&b);
}

static void every_operation(struct test *t)
{
    struct ranges r = open_ranges(t, THREADS, PAGES, 0.9, 0, slots_of_pages(t, PAGES) / 2);
    uint64_t rounds = test_scale(t, 2, 6, 40);
    for (uint64_t k = 0; k < rounds * WHATS; k++) {
        const enum what what = (enum what)(k % WHATS);
        const uint64_t range = k < WHATS || test_below(t, 2) ? r.ids : 1 + test_below(t, 3000);
        if (what != APPLY || value_bytes(t->width))
            step(&r,
                 (struct plan){what, (cohort_winner)test_below(t, 3), ENTRIES + test_below(t, 70), range, 0});
    }
    close_ranges(&r);
}

/* Pages overflow into the ranges of others, until there is no slot: those that are left out of their range
 * are done all the same, once; those that fail are named. Few keys find none or are erased twice, since each
 * looks at all the table; and in short the table is no larger than a batch by ranges must be, since walks in
 * full pages grow faster than it. */
static void overflow(struct test *t)
{
    const uint64_t least = (1 << 16) / slots_of_pages(t, 1) + 1, pages = test_scale(t, least, PAGES, PAGES);
    const uint64_t most = slots_of_pages(t, pages) + 2, n = most + 20;
    struct ranges r = open_ranges(t, THREADS, pages, 1, 1, most + 20);
    uint64_t size;
    step(&r, (struct plan){INSERT, 0, n, most / 64 * 63, 0});
    step(&r,
         (struct plan){ASSIGN, COHORT_WINNER_FIRST, (1 << 20) + ENTRIES, most / 64 * 63, 0}); /* in slices */
    step(&r, (struct plan){INSERT_AND_FIND, 0, n, most - 20, 0});
    for (int k = 0; k < 3; k++)
        step(&r, (struct plan){k % 2 ? ASSIGN : INSERT, (cohort_winner)k, n, r.ids, 0});
    OK(t, cohort_map_size(r.map, &size));
    CHECK(t, size > most - most / 16);
    if (value_bytes(t->width))
        step(&r, (struct plan){APPLY, 0, n, most - 20, 0});
    step(&r, (struct plan){ERASE, 0, most - 20, most - 20, 0});
    close_ranges(&r);
}

/* A small table: keys that come again soon, or are few. */
static void shares(struct test *t)
{
    const uint64_t rounds = test_scale(t, 2, 6, 40);
    for (uint64_t threads = 2; threads < 5; threads++) {
        struct ranges r = open_shares(t, threads, 2 * threads + 1, 0.9, 0, slots_of_pages(t, threads));
        for (uint64_t k = 0; k < rounds * WHATS; k++) {
            const enum what what = (enum what)(k % WHATS);
            const uint64_t n = 4096 * (threads + test_below(t, 9)) + 1 + test_below(t, 2000),
                           range = k < WHATS || test_below(t, 2) ? r.ids : 1 + test_below(t, 3000);
            if (what != APPLY || value_bytes(t->width))
                step(&r, (struct plan){what, (cohort_winner)test_below(t, 3), n, range,
                                       test_below(t, 2) * (1 + test_below(t, 600))});
        }
        close_ranges(&r);
    }
}

/* The same in pages that overflow, until there is no slot. */
static void shares_overflow(struct test *t)
{
    const uint64_t most = slots_of_pages(t, 4) + 2, n = most + 20;
    struct ranges r = open_shares(t, THREADS, 4, 1, 1, most + 20);
    step(&r, (struct plan){INSERT, 0, n, most / 64 * 63, 0});
    for (unsigned i = 0; i < 4; i++)
        step(&r, (struct plan){i % 2 ? ASSIGN : INSERT, (cohort_winner)(1 + i / 2), n, most / 64 * 63, 300});
    for (int k = 0; k < 3; k++)
        step(&r, (struct plan){k % 2 ? ASSIGN : INSERT, (cohort_winner)k, n, r.ids, 0});
    if (value_bytes(t->width))
        step(&r, (struct plan){APPLY, 0, n, most - 20, 0});
    step(&r, (struct plan){ERASE, 0, most - 20, most - 20, 0});
    close_ranges(&r);
}

/* A map that grows under it, with pairs erased in between. */
static void growth(struct test *t)
{
    struct ranges r = open_ranges(t, THREADS, PAGES, 0.8, 0, slots_of_pages(t, PAGES));
    step(&r, (struct plan){INSERT, 0, ENTRIES, r.ids / 4, 0});
    step(&r, (struct plan){ERASE, 0, ENTRIES, r.ids / 8, 0});
    step(&r,
         (struct plan){INSERT, COHORT_WINNER_LAST, (1 << 20) + 3 * ENTRIES, r.ids, 0}); /* and in slices */
    close_ranges(&r);
}

/* Whoever's order counts: keys that come again after so many entries, up to more than are under way at a
 * time, in tables in which many walks are long; by one thread, by one of several, and by ranges. */
static void order(struct test *t)
{
    static const struct {
        uint64_t threads, pages, n;
    } of[] = {
        {1, 1, 3000}, {1, PAGES, 20000}, {2, 1, 12000}, {2, PAGES, ENTRIES}, {3, PAGES, ENTRIES * 3 / 2}};
    const uint64_t rounds = test_scale(t, 1, 2, 8);
    for (uint64_t k = 0; k < rounds * sizeof of / sizeof *of; k++) {
        const uint64_t which = k % (sizeof of / sizeof *of), slots = slots_of_pages(t, of[which].pages),
                       n = of[which].n + test_below(t, 70);
        struct ranges r = open_ranges(t, of[which].threads, of[which].pages, 1, 1, slots);
        step(&r, (struct plan){INSERT, 0, slots, slots * (50 + test_below(t, 45)) / 100, 0});
        for (unsigned i = 0; i < 6; i++)
            step(&r, (struct plan){(enum what)(i % 3), (cohort_winner)(1 + i / 3), n, slots * 97 / 100,
                                   1 + test_below(t, test_below(t, 2) ? 40 : 600)});
        close_ranges(&r);
    }
}

/* One thread does more entries than it does between two reports, in a table of one page, which it fills. */
static void pieces(struct test *t)
{
    const uint64_t slots = slots_of_pages(t, 1), n = (1 << 20) + ENTRIES;
    for (unsigned back = 0; back < 2; back++) {
        struct ranges r = open_ranges(t, 1, 1, 1, 1, slots + 6);
        step(&r, (struct plan){INSERT, back ? COHORT_WINNER_LAST : COHORT_WINNER_FIRST, n, slots / 2, 0});
        step(&r, (struct plan){ASSIGN, back ? COHORT_WINNER_FIRST : COHORT_WINNER_LAST, n, r.ids, 0});
        close_ranges(&r);
    }
}

/* Lookups: who is there, by bitmap and counts; values of those who are, and else the fallback or what was
 * there before. */
static void look_up(struct ranges *r, uint64_t n, int wants_values, const void *fallback)
{
    struct test *t = r->t;
    const unsigned bytes = value_bytes(t->width);
    struct batch b = batch_new(t, n, 0);
    cohort_batch options = COHORT_BATCH_INIT;
    cohort_counts counts;
    uint64_t taken = 0, hits = 0, *before = calloc(n, 8);
    REQUIRE(t, before);
    for (uint64_t i = 0; i < n; i++) {
        b.id[i] = test_below(t, r->ids);
        put(b.keys, key_bytes(t->width), i, key_of(t, b.id[i]));
        put(b.values, bytes, i, test_random(t));
        before[i] = get(b.values, bytes, i);
    }
    if (!wants_values && !b.hit)
        REQUIRE(t, (b.hit = calloc(n / 8 + 1, 1)));
    options.where = b.where;
    options.hit = b.hit;
    options.failed = b.failed;
    options.counts = &counts;
    OK(t, wants_values ? cohort_map_find(r->map, n, b.keys, b.values, fallback, &options)
                       : cohort_map_contains(r->map, n, b.keys, b.hit, &options));
    for (uint64_t i = 0; i < n; i++) {
        const int part = !b.where || bit(b.where, i), is = part && r->of[b.id[i]].live;
        const uint64_t due = is && wants_values                 ? r->of[b.id[i]].value
                             : part && wants_values && fallback ? get(fallback, bytes, 0)
                                                                : before[i];
        REQUIREF(t, !b.hit || bit(b.hit, i) == is, "entry %llu of %llu: hit is %d", (unsigned long long)i,
                 (unsigned long long)n, bit(b.hit, i));
        REQUIREF(t, !bit(b.failed, i), "entry %llu failed", (unsigned long long)i);
        REQUIREF(t, !bytes || get(b.values, bytes, i) == due, "entry %llu of %llu: %llx, due is %llx",
                 (unsigned long long)i, (unsigned long long)n, (unsigned long long)get(b.values, bytes, i),
                 (unsigned long long)due);
        taken += (uint64_t)part;
        hits += (uint64_t)is;
    }
    EQUAL(t, counts.taken, taken);
    EQUAL(t, counts.hits, hits);
    EQUAL(t, counts.failed, 0);
    free(before);
    batch_free(&b);
}

static void finds(struct test *t)
{
    const uint64_t rounds = test_scale(t, 1, 3, 12), fallback = 0x7a7a7a7a5b5b5b5b;
    for (uint64_t threads = 1; threads < 4; threads++) {
        const double load = threads == 2 ? 0.97 : 0.6;
        struct ranges r = open_ranges(t, threads, PAGES, load, 0, slots_of_pages(t, PAGES) / 2);
        cpu_device(t->context)->cache_bytes = 1 << 15;
        step(&r, (struct plan){INSERT, 0, ENTRIES, r.ids, 0});
        step(&r, (struct plan){ERASE, 0, ENTRIES, r.ids / 3, 0});
        for (uint64_t k = 0; k < rounds * 4; k++)
            look_up(&r, threads * 40000 + test_below(t, 3000), k % 4 > 0, k % 4 > 1 ? &fallback : NULL);
        close_ranges(&r);
    }
}

#define ALONE (TEST_ON_CPU | TEST_EACH_WIDTH | TEST_NO_CONTEXT)
const struct test_case test_cases[] = {{"every_operation", every_operation, ALONE},
                                       {"overflow", overflow, ALONE},
                                       {"shares", shares, ALONE},
                                       {"shares_overflow", shares_overflow, ALONE},
                                       {"growth", growth, ALONE},
                                       {"order", order, ALONE},
                                       {"pieces", pieces, ALONE},
                                       {"finds", finds, ALONE},
                                       {NULL, NULL, 0}};
