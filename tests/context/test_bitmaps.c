/* test_bitmaps.c: every bitmap of every call, of few entries and many, from any bit of any address on. What
 * is behind the byte of the last bit cannot be read: in host memory a page that is barred begins there, in
 * the simulator's memory an allocation ends. Or the first entry's byte is at a word's address, and what else
 * is in the last word must stay. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

#define MOST 1100u

struct bits {
    struct test *t;
    uint64_t n, offset, bytes, behind; /* bytes of the last word that are somebody else's */
    unsigned char *own, *before;       /* what is looked at; what it was */
    unsigned char *pages, *device;
};

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* At random in all its bytes. */
static struct bits bits_new(struct test *t, uint64_t n, uint64_t offset)
{
    struct bits b = {.t = t, .n = n, .offset = offset};
    const uint64_t page = page_bytes();
    void *device;
    b.bytes = n ? (offset + n + 7) / 8 : 0;
    b.pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(t, b.pages != MAP_FAILED && b.bytes <= page && !mprotect(b.pages + page, page, PROT_NONE));
    b.own = b.pages + page - b.bytes;
    b.behind = t->memory == TEST_HOST && test_below(t, 2) ? (uintptr_t)(b.own + offset / 8) % 4 : 0;
    b.own -= b.behind;
    for (uint64_t i = 0; i < b.bytes + b.behind; i++)
        b.own[i] = (unsigned char)test_random(t);
    b.before = calloc(b.bytes + b.behind + 1, 1);
    REQUIRE(t, b.before);
    memcpy(b.before, b.own, b.bytes + b.behind);
    if (t->memory == TEST_DEVICE) {
        OK(t, cohort_alloc(t->context, b.bytes ? b.bytes : 1, &device));
        b.device = device;
    }
    return b;
}

static uint8_t *bits_send(struct bits *b)
{
    if (!b->device)
        return b->own;
    OK(b->t, cohort_copy(b->t->context, b->device, b->own, b->bytes));
    return b->device;
}

static int bit(const unsigned char *bytes, uint64_t i)
{
    return bytes[i / 8] >> i % 8 & 1;
}

static int bits_get(const struct bits *b, uint64_t i)
{
    return bit(b->own, b->offset + i);
}

static void bits_fetch(struct bits *b)
{
    if (b->device)
        OK(b->t, cohort_copy(b->t->context, b->own, b->device, b->bytes));
}

/* What was written, is: bits before the first one are as they were, those behind the last one are 0. */
static void bits_edges(const struct bits *b)
{
    REQUIREF(b->t, !memcmp(b->own + b->bytes, b->before + b->bytes, b->behind),
             "written behind the last byte");
    for (uint64_t i = 0; i < b->bytes * 8; i++)
        if (i < b->offset || i >= b->offset + b->n)
            REQUIREF(b->t, bit(b->own, i) == (i < b->offset && bit(b->before, i)),
                     "bit %llu of %llu from %llu on", (unsigned long long)i, (unsigned long long)b->n,
                     (unsigned long long)b->offset);
}

static void bits_free(struct bits *b)
{
    REQUIRE(b->t, !munmap(b->pages, 2 * page_bytes()));
    if (b->device)
        OK(b->t, cohort_free(b->t->context, b->device));
    free(b->before);
}

/* ---- the calls ----------------------------------------------------------------------------------------- */

/* One draw of sizes and places. */
struct draw {
    struct test *t;
    uint64_t n;
    struct bits where, first, second; /* to be read; to be written */
    struct column *keys, *values;     /* 0, 1, ...; every third key is one that is in */
};

static int is_in(uint64_t i)
{
    return i % 3 == 0;
}

static struct draw draw_new(struct test *t, uint64_t n, const uint64_t offset[3])
{
    struct draw d = {t,
                     n,
                     bits_new(t, n, offset[0]),
                     bits_new(t, n, offset[1]),
                     bits_new(t, n, offset[2]),
                     column_new(t, n, 4),
                     column_new(t, n, 4)};
    for (uint64_t i = 0; i < n; i++) {
        column_put(d.keys, i, i);
        column_put(d.values, i, 7 * i);
    }
    return d;
}

static void draw_free(struct draw *d)
{
    bits_free(&d->where);
    bits_free(&d->first);
    bits_free(&d->second);
    column_drop(d->t, NULL);
}

/* The keys that are in, in the memory under test: how many. */
static uint64_t those_in(struct draw *d, struct column **keys)
{
    const uint64_t count = (d->n + 2) / 3;
    *keys = column_new(d->t, count, 4);
    for (uint64_t i = 0; i < count; i++)
        column_put(*keys, i, 3 * i);
    return count;
}

static void judge_hits(struct draw *d, int by_where)
{
    bits_fetch(&d->first);
    bits_edges(&d->first);
    for (uint64_t i = 0; i < d->n; i++)
        REQUIREF(d->t, bits_get(&d->first, i) == (is_in(i) && (!by_where || bits_get(&d->where, i))),
                 "hit %llu of %llu is %d", (unsigned long long)i, (unsigned long long)d->n,
                 bits_get(&d->first, i));
}

static void judge_failed(struct draw *d)
{
    bits_fetch(&d->second);
    bits_edges(&d->second);
    for (uint64_t i = 0; i < d->n; i++)
        REQUIRE(d->t, !bits_get(&d->second, i));
}

static cohort_map *map_of(struct draw *d, int fixed)
{
    struct test *t = d->t;
    struct column *keys;
    cohort_map_options options = COHORT_MAP_OPTIONS_INIT;
    cohort_map *map;
    const uint64_t count = those_in(d, &keys);
    options.width = COHORT_WIDTH_32_32;
    options.layout = t->layout;
    options.capacity = 2 * MOST;
    options.fixed = (uint32_t)fixed;
    OK(t, cohort_map_create(t->context, &options, &map));
    OK(t, cohort_map_insert(map, count, column_send(keys), column_send(keys), NULL));
    return map;
}

/* With `where`, `hit` and `failed`, each from a bit of its own on. */
static cohort_batch batch_of(struct draw *d)
{
    cohort_batch batch = COHORT_BATCH_INIT;
    batch.where = bits_send(&d->where);
    batch.where_offset = d->where.offset;
    batch.hit = bits_send(&d->first);
    batch.hit_offset = d->first.offset;
    batch.failed = bits_send(&d->second);
    batch.failed_offset = d->second.offset;
    return batch;
}

static void look_in_map(struct draw *d)
{
    struct test *t = d->t;
    cohort_map *map = map_of(d, 1);
    cohort_batch batch = batch_of(d);
    OK(t, cohort_map_contains(map, d->n, column_send(d->keys), batch.hit, &batch));
    judge_hits(d, 1);
    judge_failed(d);
    cohort_map_destroy(map);
}

/* Into maps that may grow and that may not; both hold all. */
static void change_map(struct draw *d)
{
    struct test *t = d->t;
    cohort_map *map = map_of(d, (int)test_below(t, 2));
    cohort_batch batch = batch_of(d);
    const void *keys = column_send(d->keys), *values = column_send(d->values);
    const uint64_t kind = test_below(t, 4);
    batch.winner = kind == 1 ? COHORT_WINNER_LAST : COHORT_WINNER_ANY;
    OK(t, kind == 0   ? cohort_map_insert(map, d->n, keys, values, &batch)
          : kind == 1 ? cohort_map_assign(map, d->n, keys, values, &batch)
          : kind == 2 ? cohort_map_apply(map, COHORT_OP_ADD, d->n, keys, values, &batch)
                      : cohort_map_erase(map, d->n, keys, &batch));
    judge_hits(d, 1);
    judge_failed(d);
    cohort_map_destroy(map);
}

/* A plain parameter begins with the first bit of a byte, at any address. */
static void look_plainly(struct draw *d)
{
    struct test *t = d->t;
    cohort_map *map = map_of(d, 1);
    if (d->first.offset % 8 == 0 && d->n) {
        uint8_t *hit = bits_send(&d->first) + d->first.offset / 8;
        OK(t, cohort_map_contains(map, d->n, column_send(d->keys), hit, NULL));
        judge_hits(d, 0);
    }
    cohort_map_destroy(map);
}

static void look_in_multimap(struct draw *d)
{
    struct test *t = d->t;
    struct column *in;
    const uint64_t count = those_in(d, &in);
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_multimap *m;
    options.width = COHORT_WIDTH_32_32;
    OK(t, cohort_multimap_build(t->context, &options, count, column_send(in), column_send(in), NULL, &m));
    if (test_below(t, 2)) /* a second level */
        OK(t, cohort_multimap_insert(m, count, column_send(in), column_send(in), NULL));
    cohort_batch batch = batch_of(d);
    OK(t, cohort_multimap_find(m, d->n, column_send(d->keys), column_send(d->values), NULL, &batch));
    judge_hits(d, 1);
    judge_failed(d);
    cohort_multimap_destroy(m);
}

/* Some keys of pairs; which rows have matched. */
static void retrieve(struct draw *d)
{
    struct test *t = d->t;
    cohort_multimap_options options = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    cohort_multimap *m;
    uint64_t keys = 0;
    const uint8_t *where = bits_send(&d->where);
    if (d->where.offset % 8)
        return;
    options.width = COHORT_WIDTH_32_32;
    OK(t, cohort_multimap_build(t->context, &options, d->n, column_send(d->keys), column_send(d->keys),
                                where + d->where.offset / 8, &m));
    r.outer = 1;
    r.capacity = d->n;
    r.matched = bits_send(&d->first);
    r.matched_offset = d->first.offset;
    OK(t, cohort_multimap_retrieve(m, d->n, column_send(d->keys), &r));
    EQUAL(t, r.written, d->n);
    bits_fetch(&d->first);
    bits_edges(&d->first);
    for (uint64_t i = 0; i < d->n; i++)
        REQUIRE(t, bits_get(&d->first, i) == bits_get(&d->where, i));
    for (uint64_t i = 0; i < d->n; i++)
        keys += (uint64_t)bits_get(&d->where, i);
    uint64_t size;
    OK(t, cohort_multimap_size(m, &size, NULL));
    EQUAL(t, size, keys);
    cohort_multimap_destroy(m);
}

/* With a workspace of just what is asked for. */
static void compact(struct draw *d)
{
    struct test *t = d->t;
    struct column *kept = column_new(t, d->n, 4);
    cohort_compact_desc c = COHORT_COMPACT_INIT;
    uint64_t total = 0, bytes, at = 0;
    void *workspace;
    c.n = d->n;
    c.where = bits_send(&d->where);
    c.where_offset = d->where.offset;
    c.keys = column_send(d->keys);
    c.kept = column_send(kept);
    c.total = &total;
    OK(t, cohort_compact_workspace(t->context, &c, &bytes));
    OK(t, cohort_alloc(t->context, bytes ? bytes : 1, &workspace));
    c.workspace = workspace;
    c.workspace_bytes = bytes;
    OK(t, cohort_compact(t->context, &c));
    OK(t, cohort_wait(t->context));
    column_fetch(kept);
    for (uint64_t i = 0; i < d->n; i++)
        if (bits_get(&d->where, i))
            REQUIRE(t, column_get(kept, at++) == i);
    EQUAL(t, total, at);
    OK(t, cohort_free(t->context, workspace));
}

static cohort_sets *set_of(struct draw *d)
{
    struct column *in;
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets;
    source.n = those_in(d, &in);
    source.members = column_send(in);
    source.sets = 1;
    OK(d->t, cohort_sets_build(d->t->context, &source, &sets));
    return sets;
}

static void look_in_sets(struct draw *d)
{
    struct test *t = d->t;
    cohort_sets *sets = set_of(d);
    cohort_sets_look_desc l = COHORT_SETS_LOOK_INIT;
    l.n = d->n;
    l.values = column_send(d->keys);
    l.hit = bits_send(&d->first);
    l.hit_offset = d->first.offset;
    OK(t, cohort_sets_look(sets, &l));
    OK(t, cohort_wait(t->context));
    judge_hits(d, 0);
    cohort_sets_destroy(sets);
}

/* Row i asks for the set, or is empty. */
static void ask_sets(struct draw *d)
{
    struct test *t = d->t;
    cohort_sets *sets = set_of(d);
    cohort_sets_query_desc q = COHORT_SETS_QUERY_INIT;
    struct column *offsets = column_new(t, d->n + 1, 8), *members = column_new(t, (d->n + 2) / 3, 8);
    for (uint64_t i = 0; i <= d->n; i++)
        column_put(offsets, i, (i + 2) / 3);
    for (uint64_t i = 0; i < members->count; i++)
        column_put(members, i, 0);
    q.op = COHORT_SETS_OR;
    q.collections = &sets;
    q.collections_count = 1;
    q.rows = d->n;
    q.members = column_send(members);
    q.offsets = column_send(offsets);
    q.any = bits_send(&d->first);
    q.any_offset = d->first.offset;
    OK(t, cohort_sets_query(t->context, &q));
    OK(t, cohort_wait(t->context));
    judge_hits(d, 0);
    cohort_sets_destroy(sets);
}

/* The bits as sets: the first of them one set, those from a word on another, if there are so many. */
struct rows {
    uint64_t sets, bits, stride;
};

static struct rows rows_of(uint64_t n)
{
    const uint64_t stride = (n / 2 + 31) / 32 * 4;
    return n > 8 * stride && n > 1 ? (struct rows){2, n - 8 * stride, stride} : (struct rows){1, n, 0};
}

static void sets_from_bits(struct draw *d)
{
    struct test *t = d->t;
    const struct rows rows = rows_of(d->n);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    cohort_sets *sets;
    struct column *members = column_new(t, d->n, 4);
    uint64_t at = 0;
    source.form = COHORT_FORM_BITMAPS;
    source.n = rows.sets;
    source.bits = rows.bits;
    source.stride = rows.stride;
    source.members = bits_send(&d->where);
    source.bits_offset = d->where.offset;
    OK(t, cohort_sets_build(t->context, &source, &sets));
    target.members = column_send(members);
    target.capacity = d->n;
    OK(t, cohort_sets_export(sets, &target));
    column_fetch(members);
    for (uint64_t i = 0; i < d->n; i++) {
        const uint64_t member = rows.stride ? i % (8 * rows.stride) : i;
        if (member < rows.bits && bits_get(&d->where, i))
            REQUIREF(t, at < target.total && column_get(members, at++) == member, "bit %llu of %llu",
                     (unsigned long long)i, (unsigned long long)d->n);
    }
    EQUAL(t, target.total, at);
    cohort_sets_destroy(sets);
}

static void sets_to_bits(struct draw *d)
{
    struct test *t = d->t;
    const struct rows rows = rows_of(d->n);
    cohort_sets *sets = set_of(d);
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    struct column *which = column_new(t, rows.sets, 8);
    for (uint64_t i = 0; i < rows.sets; i++)
        column_put(which, i, 0);
    target.form = COHORT_FORM_BITMAPS;
    target.n = rows.sets;
    target.which = column_send(which);
    target.bits = rows.bits;
    target.stride = rows.stride;
    target.members = bits_send(&d->first);
    target.bits_offset = d->first.offset;
    OK(t, cohort_sets_export(sets, &target));
    EQUAL(t, target.total, d->n ? (d->first.offset % 8 + d->n + 7) / 8 : 0);
    bits_fetch(&d->first);
    bits_edges(&d->first);
    for (uint64_t i = 0; i < d->n; i++) {
        const uint64_t member = rows.stride ? i % (8 * rows.stride) : i;
        REQUIREF(t, bits_get(&d->first, i) == (member < rows.bits && is_in(member)), "bit %llu of %llu",
                 (unsigned long long)i, (unsigned long long)d->n);
    }
    cohort_sets_destroy(sets);
}

static const uint64_t sizes[] = {0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 77, 255, 1001, MOST},
                      offsets[] = {0, 0, 1, 3, 7, 8, 16, 24, 31, 32, 33, 40, 61, 64, 129};

static void all(struct test *t, void (*call)(struct draw *))
{
    const uint64_t of = sizeof offsets / sizeof *offsets;
    for (uint64_t times = 0; times < test_scale(t, test_size(t, 4, 2), 4, 8); times++)
        for (uint64_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const uint64_t at[3] = {offsets[test_below(t, of)], offsets[test_below(t, of)],
                                    offsets[test_below(t, of)]};
            struct draw d = draw_new(t, sizes[k], at);
            call(&d);
            draw_free(&d);
        }
}

#define CASE(call)                        \
    static void in_##call(struct test *t) \
    {                                     \
        all(t, call);                     \
    }
CASE(look_in_map)
CASE(change_map)
CASE(look_plainly)
CASE(look_in_multimap)
CASE(retrieve)
CASE(compact)
CASE(look_in_sets)
CASE(ask_sets)
CASE(sets_from_bits)
CASE(sets_to_bits)

#define MAPS (TEST_EACH_MEMORY | TEST_EACH_LAYOUT)
const struct test_case test_cases[] = {{"look_in_map", in_look_in_map, MAPS},
                                       {"change_map", in_change_map, MAPS},
                                       {"look_plainly", in_look_plainly, MAPS},
                                       {"look_in_multimap", in_look_in_multimap, TEST_EACH_MEMORY},
                                       {"retrieve", in_retrieve, TEST_EACH_MEMORY},
                                       {"compact", in_compact, TEST_EACH_MEMORY},
                                       {"look_in_sets", in_look_in_sets, TEST_EACH_MEMORY},
                                       {"ask_sets", in_ask_sets, TEST_EACH_MEMORY},
                                       {"sets_from_bits", in_sets_from_bits, TEST_EACH_MEMORY},
                                       {"sets_to_bits", in_sets_to_bits, TEST_EACH_MEMORY},
                                       {NULL, NULL, 0}};
