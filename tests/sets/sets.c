/* sets.c: sets as plain sorted arrays. */
#include "sets.h"

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct plain plain_of(const uint64_t *members, uint64_t n)
{
    struct plain p = {malloc(n * sizeof *p.at + 1), 0};
    if (!p.at)
        abort();
    if (n)
        memcpy(p.at, members, n * sizeof *p.at);
    qsort(p.at, n, sizeof *p.at, by_value);
    for (uint64_t i = 0; i < n; i++)
        if (!p.n || p.at[i] != p.at[p.n - 1])
            p.at[p.n++] = p.at[i];
    return p;
}

struct plain plain_copy(const struct plain *p)
{
    return plain_of(p->at, p->n);
}

void plain_free(struct plain *p)
{
    free(p->at);
    p->at = NULL;
    p->n = 0;
}

uint64_t plain_rank(const struct plain *p, uint64_t id)
{
    uint64_t low = 0, high = p->n;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (p->at[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int plain_has(const struct plain *p, uint64_t id)
{
    uint64_t i = plain_rank(p, id);
    return i < p->n && p->at[i] == id;
}

int plain_same(const struct plain *a, const struct plain *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->at, b->at, a->n * sizeof *a->at));
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

struct bag {
    uint64_t *at;
    uint64_t n, room, most;
};

static void put(struct bag *b, uint64_t id)
{
    if (b->n == b->room) {
        b->room = b->room ? 2 * b->room : 64;
        b->at = realloc(b->at, b->room * sizeof *b->at);
        if (!b->at)
            abort();
    }
    b->at[b->n++] = id & b->most;
}

/* One of a few dozen chunks that all sets of a test share, close together and far apart. */
static uint64_t some_chunk(struct test *t, int wide)
{
    static const uint64_t narrow[] = {0, 1, 2, 3, 62, 63, 64, 65, 127, 128, 1000, 32767, 32768, 65534, 65535};
    uint64_t chunk = narrow[test_below(t, sizeof narrow / sizeof narrow[0])];
    if (wide && test_below(t, 2))
        chunk += (test_below(t, 3) ? test_below(t, 3) : 0xffffffffu) << 16;
    return chunk << 16;
}

static uint64_t some_low(struct test *t)
{
    return test_below(t, 4)   ? test_below(t, 65536)
           : test_below(t, 2) ? test_below(t, 3)
                              : 65535 - test_below(t, 3);
}

static void put_run(struct test *t, struct bag *b, uint64_t first, uint64_t most)
{
    uint64_t n = 1 + test_below(t, most);
    for (uint64_t i = 0; i < n && first + i >= first && first + i <= b->most; i++)
        put(b, first + i);
}

static void draw_dense(struct test *t, struct bag *b, int wide)
{
    uint64_t chunk = some_chunk(t, wide), each = 2 + test_below(t, 6), low = test_below(t, 40000);
    for (uint64_t i = low; i < 65536 && i < low + test_size(t, 30000, 12000); i++)
        if (test_below(t, each) == 0)
            put(b, chunk | i);
}

/* Around the 4,096 members up to which a chunk is an array. */
static void draw_edge_of_array(struct test *t, struct bag *b, int wide)
{
    uint64_t chunk = some_chunk(t, wide), n = 4094 + test_below(t, 5), step = 2 + test_below(t, 14);
    for (uint64_t i = 0; i < n; i++)
        put(b, chunk | (i * step & 65535) | (i * step > 65535));
}

struct plain plain_draw(struct test *t, enum shape shape, int wide)
{
    struct bag b = {NULL, 0, 0, wide ? UINT64_MAX : UINT32_MAX};
    static const uint64_t edges[] = {0, 1, 65535, 65536, 131071, 131072, 0x7fffffff, 0x80000000};
    uint64_t chunk = some_chunk(t, wide), n;
    switch (shape) {
    case SHAPE_ONE:
        put(&b, test_below(t, 3) ? edges[test_below(t, 8)] : b.most);
        break;
    case SHAPE_FEW:
        for (n = 1 + test_below(t, 40); n; n--)
            put(&b, test_random(t));
        break;
    case SHAPE_SPARSE:
        for (n = 1 + test_below(t, 12); n; n--)
            for (uint64_t m = 1 + test_below(t, 40), c = some_chunk(t, wide); m; m--)
                put(&b, c | some_low(t));
        break;
    case SHAPE_CLUSTERS:
        for (n = 1 + test_below(t, 6); n; n--)
            for (uint64_t m = 1 + test_below(t, 300), at = some_chunk(t, wide) | test_below(t, 65000); m; m--)
                put(&b, at + test_below(t, 1000));
        break;
    case SHAPE_RUNS:
        for (n = 1 + test_below(t, 5); n; n--)
            put_run(t, &b, some_chunk(t, wide) + some_low(t),
                    test_below(t, 2) ? 700 : test_size(t, 30000, 4000));
        break;
    case SHAPE_DENSE:
        if (test_below(t, 3))
            draw_dense(t, &b, wide);
        else
            draw_edge_of_array(t, &b, wide);
        break;
    case SHAPE_FULL:
        for (uint64_t i = 0; i < 65536; i++)
            put(&b, chunk | i);
        for (uint64_t i = 0; i < test_below(t, 4) && chunk >= i; i++)
            put(&b, chunk - i);
        break;
    case SHAPE_EDGES:
        for (unsigned i = 0; i < 8; i++)
            if (test_below(t, 2))
                put(&b, edges[i]);
        if (test_below(t, 2))
            put(&b, b.most);
        if (test_below(t, 2))
            put(&b, b.most - 1);
        break;
    case SHAPE_CHUNKS:
        n = 63 + test_below(t, 3);
        for (uint64_t c = test_below(t, 70); n; n--, c++)
            for (uint64_t m = 1 + test_below(t, 8); m; m--)
                put(&b, c << 16 | some_low(t));
        break;
    default:
        break;
    }
    struct plain p = plain_of(b.at, b.n);
    free(b.at);
    return p;
}

struct plains plains_new(uint64_t n, int wide)
{
    struct plains p = {calloc(n + 1, sizeof *p.at), n, wide};
    if (!p.at)
        abort();
    return p;
}

/* Large ones are rare. */
struct plains plains_draw(struct test *t, uint64_t n, int wide)
{
    struct plains p = plains_new(n, wide);
    for (uint64_t i = 0; i < n; i++) {
        enum shape shape = (enum shape)test_below(t, SHAPES);
        int large = shape == SHAPE_DENSE || shape == SHAPE_FULL || shape == SHAPE_RUNS;
        if (large && (n > 12 || t->kind == TEST_SIM) && test_below(t, 4))
            shape = SHAPE_SPARSE;
        p.at[i] = plain_draw(t, shape, wide);
        if (i && !test_below(t, 8)) { /* another set again, or a part of it */
            plain_free(&p.at[i]);
            p.at[i] = plain_copy(&p.at[test_below(t, i)]);
            if (p.at[i].n && test_below(t, 2))
                p.at[i].n -= 1 + test_below(t, p.at[i].n);
        }
    }
    return p;
}

void plains_free(struct plains *p)
{
    for (uint64_t i = 0; i < p->n; i++)
        plain_free(&p->at[i]);
    free(p->at);
    p->at = NULL;
    p->n = 0;
}

uint64_t plains_members(const struct plains *p)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < p->n; i++)
        sum += p->at[i].n;
    return sum;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static int is_in(cohort_sets_op op, uint64_t least, const struct plain **operands, uint64_t n, uint64_t id)
{
    uint64_t in = 0;
    for (uint64_t k = 0; k < n; k++)
        in += (uint64_t)plain_has(operands[k], id);
    switch (op) {
    case COHORT_SETS_AND:
        return in == n;
    case COHORT_SETS_OR:
        return in > 0;
    case COHORT_SETS_XOR:
        return in & 1;
    default:
        return in >= least;
    }
}

/* Of ANDNOT the first may be an operand again. */
static int is_left(const struct plain **operands, uint64_t n, uint64_t id)
{
    for (uint64_t k = 1; k < n; k++)
        if (plain_has(operands[k], id))
            return 0;
    return plain_has(operands[0], id);
}

struct plain plain_row(cohort_sets_op op, uint64_t least, const struct plain **operands, uint64_t n)
{
    uint64_t sum = 0, count = 0;
    for (uint64_t k = 0; k < n; k++)
        sum += operands[k]->n;
    uint64_t *all = malloc(sum * sizeof *all + 1);
    if (!all)
        abort();
    for (uint64_t k = 0; k < n; k++)
        for (uint64_t i = 0; i < operands[k]->n; i++)
            all[count++] = operands[k]->at[i];
    struct plain p = plain_of(all, count);
    free(all);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < p.n; i++) {
        int in =
            op == COHORT_SETS_ANDNOT ? is_left(operands, n, p.at[i]) : is_in(op, least, operands, n, p.at[i]);
        if (in)
            p.at[kept++] = p.at[i];
    }
    p.n = kept;
    return p;
}

/* ---- collections --------------------------------------------------------------------------------------- */

struct column *members_column(struct test *t, const struct plains *p, uint64_t extra)
{
    return column_new(t, plains_members(p) + extra, p->wide ? 8 : 4);
}

static void swap(struct column *c, uint64_t i, uint64_t j)
{
    uint64_t v = column_get(c, i);
    column_put(c, i, column_get(c, j));
    column_put(c, j, v);
}

cohort_sets *sets_of(struct test *t, const struct plains *p, int shuffled)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    struct column *members = members_column(t, p, shuffled ? 2 * p->n : 0);
    struct column *offsets =
        column_new_in(t, t->kind == TEST_CPU || test_below(t, 2) ? TEST_HOST : TEST_DEVICE, p->n + 1, 8);
    uint64_t at = 0;
    cohort_sets *sets = NULL;
    for (uint64_t s = 0; s < p->n; s++) {
        uint64_t first = at;
        column_put(offsets, s, at);
        for (uint64_t i = 0; i < p->at[s].n; i++)
            column_put(members, at++, p->at[s].at[i]);
        for (unsigned i = 0; shuffled && i < 2 && at > first; i++, at++)
            column_put(members, at, column_get(members, first + test_below(t, at - first)));
        for (uint64_t i = first; shuffled && i < at; i++)
            swap(members, i, first + test_below(t, at - first));
    }
    column_put(offsets, p->n, at);
    source.type = plains_type(p);
    source.n = at;
    source.sets = p->n;
    source.members = column_send(members);
    source.offsets = column_send(offsets);
    OK(t, cohort_sets_build(t->context, &source, &sets));
    return sets;
}

void sets_judge(struct test *t, const cohort_sets *sets, const struct plains *p, const char *what)
{
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    uint64_t all = plains_members(p);
    OK(t, cohort_sets_get_info(sets, &info));
    REQUIREF(t, info.sets == p->n && info.members == all && info.type == plains_type(p),
             "%s: %llu sets of %llu members, not %llu of %llu", what, (unsigned long long)info.sets,
             (unsigned long long)info.members, (unsigned long long)p->n, (unsigned long long)all);
    REQUIREF(t, info.arrays + info.bitmaps + info.runs + info.full == info.chunks, "%s: chunks", what);
    OK(t, cohort_sets_export(sets, &target));
    REQUIREF(t, target.total == all, "%s: %llu members, not %llu", what, (unsigned long long)target.total,
             (unsigned long long)all);
    struct column *mark = t->columns, *members = members_column(t, p, 0);
    struct column *offsets = column_new(t, p->n + 1, 8), *groups = column_new(t, all, 4);
    target.members = column_send(members);
    target.offsets = column_send(offsets);
    target.groups = column_send(groups);
    target.capacity = all;
    OK(t, cohort_sets_export(sets, &target));
    column_fetch(members);
    column_fetch(offsets);
    column_fetch(groups);
    uint64_t at = 0;
    for (uint64_t s = 0; s < p->n; s++) {
        REQUIREF(t, column_get(offsets, s) == at, "%s: set %llu begins at %llu, not %llu", what,
                 (unsigned long long)s, (unsigned long long)column_get(offsets, s), (unsigned long long)at);
        for (uint64_t i = 0; i < p->at[s].n; i++, at++)
            REQUIREF(t, column_get(members, at) == p->at[s].at[i] && column_get(groups, at) == s,
                     "%s: member %llu of set %llu is %llu of %llu, not %llu", what, (unsigned long long)i,
                     (unsigned long long)s, (unsigned long long)column_get(members, at),
                     (unsigned long long)column_get(groups, at), (unsigned long long)p->at[s].at[i]);
    }
    EQUAL(t, column_get(offsets, p->n), at);
    column_drop(t, mark);
}
