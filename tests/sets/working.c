/* working.c: see working.h. */
#include "working.h"

const char *const working_ops[] = {"", "add", "remove", "flip"};

void working_open(struct test *t, struct working *s, int wide, cohort_set_layout layout, uint64_t limit,
                  uint64_t blocks)
{
    cohort_set_options o = COHORT_SET_OPTIONS_INIT;
    cohort_set_info i = COHORT_SET_INFO_INIT;
    memset(s, 0, sizeof *s);
    s->t = t;
    s->wide = wide;
    s->limit = limit ? limit : wide ? 0 : 1ull << 32;
    s->due = plain_of(NULL, 0);
    o.type = wide ? COHORT_U64 : COHORT_U32;
    o.layout = layout;
    o.limit = limit;
    o.blocks = blocks;
    OK(t, cohort_set_create(t->context, &o, &s->set));
    OK(t, cohort_set_get_info(s->set, &i));
    REQUIRE(t,
            i.type == o.type && i.limit == s->limit && i.members == 0 && i.chunks == 0 && i.blocks_used == 0);
    REQUIRE(t, i.layout == layout || layout == COHORT_SET_CHOSEN);
    s->blocks = i.blocks;
}

/* Of any kind. Pools are small where memory is touched when it is taken. */
void working_draw(struct test *t, struct working *s, int wide)
{
    static const uint64_t limits[] = {1, 65536, 65537, 1 << 22, (1 << 22) + 1, 9000000, 1 << 24};
    switch (test_below(t, 4)) {
    case 0:
        working_open(t, s, wide, COHORT_SET_CHOSEN, limits[test_below(t, 7)], 0);
        break;
    case 1:
        working_open(t, s, wide, COHORT_SET_CHUNKS, limits[test_below(t, 7)], 0);
        break;
    default:
        working_open(t, s, wide, COHORT_SET_CHUNKS,
                     wide && test_below(t, 2) ? 1ull << (20 + test_below(t, 44)) : 0, 300);
    }
}

void working_close(struct working *s)
{
    cohort_set_destroy(s->set);
    plain_free(&s->due);
}

/* Chunks, those that are full, and those in between. */
static void count_chunks(const struct plain *p, uint64_t *chunks, uint64_t *full)
{
    *chunks = *full = 0;
    for (uint64_t i = 0, end; i < p->n; i = end) {
        for (end = i + 1; end < p->n && p->at[end] >> 16 == p->at[i] >> 16; end++)
            ;
        *chunks += 1;
        *full += end - i == 65536;
    }
}

void working_judge(struct working *s, const char *what)
{
    struct test *t = s->t;
    cohort_set_info i = COHORT_SET_INFO_INIT;
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    uint64_t chunks, full;
    struct column *mark = t->columns, *members = column_new(t, s->due.n, s->wide ? 8 : 4);
    count_chunks(&s->due, &chunks, &full);
    OK(t, cohort_set_get_info(s->set, &i));
    REQUIREF(t, i.members == s->due.n && i.chunks == chunks && i.full == full,
             "%s: %llu members in %llu chunks, %llu full; not %llu in %llu, %llu", what,
             (unsigned long long)i.members, (unsigned long long)i.chunks, (unsigned long long)i.full,
             (unsigned long long)s->due.n, (unsigned long long)chunks, (unsigned long long)full);
    REQUIREF(t, i.layout == COHORT_SET_FLAT || i.blocks_used == chunks - full,
             "%s: %llu blocks in use, not %llu", what, (unsigned long long)i.blocks_used,
             (unsigned long long)(chunks - full));
    target.members = column_send(members);
    target.capacity = s->due.n;
    OK(t, cohort_set_export(s->set, &target));
    column_fetch(members);
    EQUAL(t, target.total, s->due.n);
    for (uint64_t k = 0; k < s->due.n; k++)
        REQUIREF(t, column_get(members, k) == s->due.at[k], "%s: member %llu is %llu, not %llu", what,
                 (unsigned long long)k, (unsigned long long)column_get(members, k),
                 (unsigned long long)s->due.at[k]);
    column_drop(t, mark);
}

/* ---- what a set is changed by -------------------------------------------------------------------------- */

int working_below(const struct working *s, uint64_t id)
{
    return !s->limit || id < s->limit;
}

/* Members that the set may have; where it is small, others are brought in. */
struct plain working_draw_change(struct working *s)
{
    struct test *t = s->t;
    enum shape shape = (enum shape)test_below(t, SHAPES);
    if (t->kind == TEST_SIM && (shape == SHAPE_DENSE || shape == SHAPE_FULL) && test_below(t, 3))
        shape = SHAPE_CLUSTERS;
    struct plain p = plain_draw(t, shape, s->wide);
    for (uint64_t i = 0; i < p.n; i++)
        if (!working_below(s, p.at[i]))
            p.at[i] %= s->limit;
    struct plain q = plain_of(p.at, p.n);
    plain_free(&p);
    return q;
}

/* In no order, and some twice. */
static void give_members(struct test *t, cohort_sets_source *d, const struct plain *p, int wide)
{
    uint64_t extra = p->n ? test_below(t, 5) : 0;
    struct column *c = column_new(t, p->n + extra, wide ? 8 : 4);
    for (uint64_t i = 0; i < p->n + extra; i++)
        column_put(c, i, p->at[i < p->n ? i : test_below(t, p->n)]);
    for (uint64_t i = p->n + extra; i > 1; i--) {
        uint64_t j = test_below(t, i), v = column_get(c, j);
        column_put(c, j, column_get(c, i - 1));
        column_put(c, i - 1, v);
    }
    d->n = p->n + extra;
    d->members = column_send(c);
}

/* Each run as one range or two that overlap, the last first. */
static void give_ranges(struct test *t, cohort_sets_source *d, const struct plain *p, int wide)
{
    struct column *firsts = column_new(t, 2 * p->n, wide ? 8 : 4),
                  *lasts = column_new(t, 2 * p->n, wide ? 8 : 4);
    uint64_t n = 0;
    for (uint64_t end = p->n, first; end > 0; end = first) {
        for (first = end - 1; first && p->at[first - 1] + 1 == p->at[first]; first--)
            ;
        uint64_t a = p->at[first], b = p->at[end - 1], cut = a + (b > a ? test_below(t, b - a) : 0);
        column_put(firsts, n, a);
        column_put(lasts, n++, test_below(t, 2) ? b : cut);
        column_put(firsts, n, cut);
        column_put(lasts, n++, b);
    }
    d->form = COHORT_FORM_RANGES;
    d->n = n;
    d->members = column_send(firsts);
    d->lasts = column_send(lasts);
}

static void give_bitmap(struct test *t, cohort_sets_source *d, const struct plain *p)
{
    uint64_t bits = p->n ? p->at[p->n - 1] + 1 : 5;
    struct column *c = column_new(t, bitmap_words(bits), 4);
    memset(c->data, 0, bitmap_words(bits) * 4);
    for (uint64_t i = 0; i < p->n; i++)
        column_put(c, p->at[i] / 32, column_get(c, p->at[i] / 32) | 1u << p->at[i] % 32);
    d->form = COHORT_FORM_BITMAPS;
    d->n = 1;
    d->bits = bits;
    d->members = column_send(c);
}

cohort_status working_change_from_host(struct working *s, cohort_set_op op, const struct plain *p)
{
    cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
    d.type = COHORT_U64;
    d.n = p->n;
    d.members = p->at;
    return cohort_set_update(s->set, op, &d);
}

cohort_status working_change(struct working *s, cohort_set_op op, const struct plain *p)
{
    struct test *t = s->t;
    struct column *mark = t->columns;
    cohort_sets_source d = COHORT_SETS_SOURCE_INIT;
    struct working other = {0};
    d.type = s->wide ? COHORT_U64 : COHORT_U32;
    uint64_t form = test_below(t, 5), runs = p->n > 0;
    for (uint64_t i = 1; i < p->n; i++)
        runs += p->at[i] != p->at[i - 1] + 1;
    if (runs < 3000 && (form == 0 || (p->n > 40000 && (t->kind == TEST_SIM || runs < 50))))
        give_ranges(t, &d, p, s->wide);
    else if (form == 1 && (!p->n || p->at[p->n - 1] < 1 << 23))
        give_bitmap(t, &d, p);
    else
        give_members(t, &d, p, s->wide);
    if (form == 2) { /* by way of another set */
        working_open(t, &other, s->wide, COHORT_SET_CHUNKS, 0, 300);
        OK(t, cohort_set_update(other.set, COHORT_SET_ADD, &d));
        d = (cohort_sets_source)COHORT_SETS_SOURCE_INIT;
        d.type = s->wide ? COHORT_U64 : COHORT_U32;
        d.form = COHORT_FORM_WORKING;
        d.n = 1;
        d.members = &other.set;
    }
    cohort_status status = cohort_set_update(s->set, op, &d);
    if (!status && t->memory == TEST_DEVICE)
        status = cohort_wait(t->context);
    if (status == COHORT_FULL && t->memory == TEST_DEVICE && s->wide)
        status = working_change_from_host(s, op, p);
    if (form == 2)
        working_close(&other);
    column_drop(t, mark);
    return status;
}

static struct plain plain_change(const struct plain *a, cohort_set_op op, const struct plain *b)
{
    const struct plain *operands[2] = {a, b};
    return plain_row(op == COHORT_SET_ADD      ? COHORT_SETS_OR
                     : op == COHORT_SET_REMOVE ? COHORT_SETS_ANDNOT
                                               : COHORT_SETS_XOR,
                     0, operands, 2);
}

void working_change_due(struct working *s, cohort_set_op op, const struct plain *p)
{
    struct plain due = plain_change(&s->due, op, p);
    plain_free(&s->due);
    s->due = due;
}

/* Members of `chunks` chunks from the first on, some in each, or all. */
static struct plain some_of_chunks(struct test *t, uint64_t first, uint64_t chunks, int all)
{
    uint64_t each = all ? 65536 : 3, *at = malloc(chunks * each * 8 + 1);
    REQUIRE(t, at);
    for (uint64_t i = 0; i < chunks * each; i++)
        at[i] = (first + i / each) << 16 | (all ? i % each : test_below(t, 65536));
    struct plain p = plain_of(at, chunks * each);
    free(at);
    return p;
}

void working_step(struct working *s, cohort_set_op op, uint64_t first, uint64_t chunks, int all,
                  cohort_status due)
{
    struct plain p = some_of_chunks(s->t, first, chunks, all);
    STATUS(s->t, working_change(s, op, &p), due);
    if (due == COHORT_OK)
        working_change_due(s, op, &p);
    plain_free(&p);
    working_judge(s, due ? "refused" : working_ops[op]);
}
