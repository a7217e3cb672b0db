/* test_sets.c: collections built from members and bitmaps, and taken apart again, whole or by some of their
 * sets, against plain sorted arrays; and where their bytes go. Ranges are in test_sets_ranges.c. */
#include "sets.h"

#include "api/sets.h"
#include "cohort/device/set.h"

/* ---- members ------------------------------------------------------------------------------------------- */

static uint64_t rounds(struct test *t)
{
    return test_scale(t, 3, test_size(t, 40, 6), test_size(t, 200, 20));
}

static void rows(struct test *t)
{
    for (uint64_t round = 0; round < rounds(t); round++) {
        struct plains p = plains_draw(t, test_below(t, 14), (int)test_below(t, 2));
        cohort_sets *sets = sets_of(t, &p, (int)test_below(t, 2));
        sets_judge(t, sets, &p, "rows");
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* Pairs of group and member, all mixed up. */
static void pairs(struct test *t)
{
    for (uint64_t round = 0; round < rounds(t); round++) {
        struct plains p = plains_draw(t, 1 + test_below(t, 10), (int)test_below(t, 2));
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        uint64_t n = plains_members(&p), at = 0, greatest = 0;
        unsigned bytes = test_below(t, 2) ? 8 : 4;
        struct column *members = members_column(t, &p, 5), *groups = column_new(t, n + 5, bytes);
        for (uint64_t s = 0; s < p.n; s++)
            for (uint64_t i = 0; i < p.at[s].n; i++, at++) {
                column_put(members, at, p.at[s].at[i]);
                column_put(groups, at, s);
                greatest = s;
            }
        for (unsigned i = 0; i < 5 && at; i++, at++) {
            uint64_t again = test_below(t, at);
            column_put(members, at, column_get(members, again));
            column_put(groups, at, column_get(groups, again));
        }
        for (uint64_t i = 1; i < at; i++) {
            uint64_t j = test_below(t, i + 1), m = column_get(members, i), g = column_get(groups, i);
            column_put(members, i, column_get(members, j));
            column_put(groups, i, column_get(groups, j));
            column_put(members, j, m);
            column_put(groups, j, g);
        }
        source.type = plains_type(&p);
        source.n = at;
        source.members = column_send(members);
        source.groups = column_send(groups);
        source.group_type = bytes == 8 ? COHORT_U64 : COHORT_U32;
        source.sets = test_below(t, 2) ? p.n : 0;
        struct plains seen = p;
        if (!source.sets)
            seen.n = at ? greatest + 1 : 0;
        cohort_sets *sets = NULL;
        OK(t, cohort_sets_build(t->context, &source, &sets));
        sets_judge(t, sets, &seen, "pairs");
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* One set, of which nothing is told but its members. */
static void one(struct test *t)
{
    for (uint64_t round = 0; round < rounds(t); round++)
        for (int shape = 0; shape < SHAPES; shape++) {
            if (!test_drawn(t, round + (uint64_t)shape, test_size(t, 1, 3)))
                continue;
            struct plains p = plains_new(1, (int)test_below(t, 2));
            p.at[0] = plain_draw(t, (enum shape)shape, p.wide);
            cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
            struct column *members = members_column(t, &p, 0);
            for (uint64_t i = 0; i < p.at[0].n; i++)
                column_put(members, i, p.at[0].at[round % 2 ? i : p.at[0].n - 1 - i]);
            source.type = plains_type(&p);
            source.n = p.at[0].n;
            source.members = column_send(members);
            cohort_sets *sets = NULL;
            OK(t, cohort_sets_build(t->context, &source, &sets));
            sets_judge(t, sets, &p, "one");
            cohort_sets_destroy(sets);
            plains_free(&p);
            column_drop(t, NULL);
        }
}

/* ---- bitmaps ------------------------------------------------------------------------------------------- */

static void bitmaps(struct test *t)
{
    for (uint64_t round = 0; round < rounds(t); round++) {
        static const uint64_t sizes[] = {0, 1, 31, 32, 33, 65535, 65536, 65537, 100000, 196608};
        uint64_t bits = sizes[test_below(t, 10)], n = 1 + test_below(t, 4), words = bitmap_words(bits);
        uint64_t stride = words + test_below(t, 3);
        struct plains p = plains_new(n, (int)test_below(t, 2));
        struct column *in = column_new(t, n * stride + 1, 4);
        memset(in->data, 0, in->count * 4);
        for (uint64_t i = 0; i < n * stride; i++) /* what lies between rows is no one's */
            if (i % (stride ? stride : 1) >= words)
                ((uint32_t *)in->data)[i] = 0xffffffff;
        for (uint64_t s = 0; s < n; s++) {
            struct plain drawn = plain_draw(t, (enum shape)test_below(t, SHAPES), 0);
            uint64_t kept = 0;
            for (uint64_t i = 0; i < drawn.n; i++)
                if (drawn.at[i] < bits)
                    drawn.at[kept++] = drawn.at[i];
            drawn.n = kept;
            for (uint64_t i = 0; i < drawn.n; i++)
                ((uint32_t *)in->data)[s * stride + drawn.at[i] / 32] |= UINT32_C(1) << drawn.at[i] % 32;
            if (bits % 32) /* nor is what lies behind the last bit */
                ((uint32_t *)in->data)[s * stride + words - 1] |= ~UINT32_C(0) << bits % 32;
            p.at[s] = drawn;
        }
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        source.form = COHORT_FORM_BITMAPS;
        source.type = plains_type(&p);
        source.n = n;
        source.bits = bits;
        source.stride = stride * 4;
        source.members = column_send(in);
        cohort_sets *sets = NULL;
        OK(t, cohort_sets_build(t->context, &source, &sets));
        sets_judge(t, sets, &p, "bitmaps");

        cohort_sets_target target = COHORT_SETS_TARGET_INIT;
        uint64_t seen = bits ? 1 + test_below(t, bits) : 0;
        struct column *out = column_new(t, n * bitmap_words(seen), 4);
        target.form = COHORT_FORM_BITMAPS;
        target.bits = seen;
        target.members = column_send(out);
        OK(t, cohort_sets_export(sets, &target));
        column_fetch(out);
        for (uint64_t s = 0; s < n; s++)
            for (uint64_t i = 0; i < (s + 1 < n ? 32 * bitmap_words(seen) : (seen + 7) / 8 * 8); i++) {
                int due = i < seen && plain_has(&p.at[s], i);
                REQUIREF(t, bitmap_get(out, s * bitmap_words(seen) * 32 + i) == due,
                         "bit %llu of set %llu is %d", (unsigned long long)i, (unsigned long long)s, !due);
            }
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* ---- some of the sets ---------------------------------------------------------------------------------- */

static void chosen(struct test *t)
{
    for (uint64_t round = 0; round < rounds(t); round++) {
        struct plains p = plains_draw(t, 1 + test_below(t, 10), (int)test_below(t, 2));
        cohort_sets *sets = sets_of(t, &p, 0);
        uint64_t n = test_below(t, 12), total = 0;
        struct column *which =
            column_new_in(t, t->kind == TEST_CPU || test_below(t, 2) ? TEST_HOST : TEST_DEVICE, n, 8);
        struct column *offsets =
            column_new_in(t, t->kind == TEST_CPU || test_below(t, 2) ? TEST_HOST : TEST_DEVICE, n + 1, 8);
        for (uint64_t i = 0; i < n; i++) {
            column_put(which, i, test_below(t, p.n));
            total += p.at[column_get(which, i)].n;
        }
        cohort_sets_target target = COHORT_SETS_TARGET_INIT;
        struct column *members = column_new(t, total + 3, p.wide ? 8 : 4);
        memset(members->data, 0x5c, members->count * members->width);
        target.n = n;
        target.which = n ? column_send(which) : NULL;
        if (!n) { /* all of none */
            cohort_sets_destroy(sets);
            plains_free(&p);
            column_drop(t, NULL);
            continue;
        }
        target.members = column_send(members);
        target.offsets = column_send(offsets);
        target.capacity = total ? total - 1 : 0;
        if (total) {
            STATUS(t, cohort_sets_export(sets, &target), COHORT_FULL);
            EQUAL(t, target.total, total);
            column_fetch(members);
            column_fetch(offsets);
            EQUAL(t, column_get(offsets, n), total);
            REQUIRE(t, ((unsigned char *)members->data)[0] == 0x5c);
        }
        target.capacity = total + 3;
        target.members = column_send(members);
        OK(t, cohort_sets_export(sets, &target));
        column_fetch(members);
        column_fetch(offsets);
        uint64_t at = 0;
        for (uint64_t k = 0; k < n; k++) {
            const struct plain *s = &p.at[column_get(which, k)];
            EQUAL(t, column_get(offsets, k), at);
            for (uint64_t i = 0; i < s->n; i++, at++)
                REQUIRE(t, column_get(members, at) == s->at[i]);
        }
        for (uint64_t i = at * members->width; i < members->count * members->width; i++)
            REQUIRE(t, ((unsigned char *)members->data)[i] == 0x5c);
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* All sets as Roaring bytes; their places go to offsets, of one more than there are sets. */
static struct column *blobs_of(struct test *t, const cohort_sets *sets, struct column *offsets)
{
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    target.form = COHORT_FORM_ROARING;
    OK(t, cohort_sets_export(sets, &target));
    struct column *bytes = column_new(t, target.total, 1);
    target.members = column_send(bytes);
    target.offsets = column_send(offsets);
    target.capacity = target.total;
    OK(t, cohort_sets_export(sets, &target));
    column_fetch(bytes);
    column_fetch(offsets);
    return bytes;
}

/* Blobs of sets in any order, some of them twice, are those that all sets give in order. */
static void chosen_blobs(struct test *t)
{
    for (uint64_t round = 0; round < rounds(t); round++) {
        struct plains p = plains_draw(t, 1 + test_below(t, 8), (int)test_below(t, 2));
        cohort_sets *sets = sets_of(t, &p, 0);
        cohort_sets_target target = COHORT_SETS_TARGET_INIT;
        const uint64_t n = 1 + test_below(t, 2 * p.n);
        uint64_t total = 0, at = 0;
        struct column *all_offsets = column_new(t, p.n + 1, 8), *which = column_new(t, n, 8),
                      *offsets = column_new(t, n + 1, 8);
        target.form = COHORT_FORM_ROARING;
        struct column *all = blobs_of(t, sets, all_offsets);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t s = test_below(t, p.n);
            column_put(which, i, s);
            total += column_get(all_offsets, s + 1) - column_get(all_offsets, s);
        }
        struct column *some = column_new(t, total, 1);
        target.n = n;
        target.which = column_send(which);
        target.members = column_send(some);
        target.offsets = column_send(offsets);
        target.capacity = total;
        OK(t, cohort_sets_export(sets, &target));
        EQUAL(t, target.total, total);
        column_fetch(some);
        column_fetch(offsets);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t s = column_get(which, i), from = column_get(all_offsets, s),
                           bytes = column_get(all_offsets, s + 1) - from;
            EQUAL(t, column_get(offsets, i), at);
            REQUIRE(t, !memcmp((char *)some->data + at, (char *)all->data + from, bytes));
            at += bytes;
        }
        cohort_sets_destroy(sets);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* ---- where bytes go ------------------------------------------------------------------------------------ */

/* Sets of 2.3 members on average take less than twice what their members take alone. */
static void small(struct test *t)
{
    uint64_t n = test_scale(t, 2000, test_size(t, 200000, 2000), test_size(t, 1925630, 5000));
    struct column *offsets = column_new(t, n + 1, 8);
    uint64_t all = 0;
    for (uint64_t i = 0; i <= n; i++) {
        column_put(offsets, i, all);
        all += i % 10 < 7 ? 2 : 3;
    }
    all = column_get(offsets, n);
    struct column *members = column_new(t, all, 4);
    for (uint64_t i = 0; i < all; i++)
        column_put(members, i, test_mix(i) & 0xffffffff);
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    source.n = all;
    source.sets = n;
    source.members = column_send(members);
    source.offsets = column_send(offsets);
    cohort_sets *sets = NULL;
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    OK(t, cohort_sets_build(t->context, &source, &sets));
    OK(t, cohort_sets_get_info(sets, &info));
    CHECKF(t, info.bytes < 8 * all, "%llu bytes for %llu members of 4", (unsigned long long)info.bytes,
           (unsigned long long)all);
    EQUAL(t, info.lists, n);
    cohort_sets_destroy(sets);
}

/* The same sets from their Roaring bytes. */
static cohort_sets *from_blobs(struct test *t, const cohort_sets *sets, uint64_t n)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *again = NULL;
    struct column *offsets = column_new(t, n + 1, 8);
    source.form = COHORT_FORM_ROARING;
    source.n = n;
    source.members = column_pointer(blobs_of(t, sets, offsets));
    source.offsets = column_pointer(offsets);
    OK(t, cohort_sets_build(t->context, &source, &again));
    return again;
}

/* The units of the pool from the last chunk of a set to that of the next one; all have as many chunks. */
static uint64_t units_between(struct test *t, const cohort_sets *sets, uint64_t set, uint64_t chunks)
{
    cohort_sets_view view;
    co_u64 places[2];
    OK(t, cohort_sets_get_view(sets, &view));
    for (uint64_t i = 0; i < 2; i++)
        OK(t, cohort_copy(t->context, &places[i], view.places + (set + 1 + i) * chunks - 1, 8));
    OK(t, cohort_wait(t->context));
    return co_place_unit(places[1]) - co_place_unit(places[0]);
}

/* Some chunks of one member, and a last one of more. */
static struct plain many_chunks(struct test *t, uint64_t chunks, uint64_t last)
{
    const uint64_t n = chunks - 1 + last;
    uint64_t *at = malloc(n * sizeof *at);
    REQUIRE(t, at);
    for (uint64_t k = 0; k < n; k++)
        at[k] = k < chunks ? k << 16 : (chunks - 1) << 16 | (k + 1 - chunks) * 65535 / last;
    struct plain p = plain_of(at, n);
    free(at);
    return p;
}

/* Behind a set of very many chunks, of which the last is a bitmap, 40 KiB of the pool are left free: five
 * blocks, after that of the bitmap itself. */
static void apart(struct test *t)
{
    static const struct {
        uint64_t chunks, last, blocks;
    } cases[] = {{4096, 5000, 6}, {4095, 5000, 1}, {4096, 4000, 0}, {4097, 30000, 6}};
    for (uint64_t i = 0; i < test_size(t, 4, test_scale(t, 2, 4, 4)); i++) {
        if (!test_drawn(t, i, test_size(t, 1, 2)))
            continue;
        const uint64_t chunks = cases[i].chunks, last = cases[i].last;
        const uint64_t pool = cases[i].blocks ? cases[i].blocks * 8192 : 2 * last,
                       apart = cases[i].blocks ? pool / 16 : chunks - 1 + last / 8,
                       directory = chunks * 28 + (chunks + 63) / 64 * 16 + 48;
        struct plains p = plains_new(3, 0);
        for (uint64_t s = 0; s < p.n; s++)
            p.at[s] = many_chunks(t, chunks, last);
        cohort_sets *sets = sets_of(t, &p, 0), *again = from_blobs(t, sets, p.n);
        cohort_sets_info info = COHORT_SETS_INFO_INIT, other = COHORT_SETS_INFO_INIT;
        OK(t, cohort_sets_get_info(sets, &info));
        OK(t, cohort_sets_get_info(again, &other));
        const uint64_t least = p.n * (directory + (chunks - 1) * 16 + pool);
        CHECKF(t, info.bytes >= least && info.bytes < least + 8192, "%llu chunks: %llu bytes, not about %llu",
               (unsigned long long)chunks, (unsigned long long)info.bytes, (unsigned long long)least);
        EQUAL(t, other.bytes, info.bytes);
        for (uint64_t s = 0; s + 1 < p.n; s++) {
            EQUAL(t, units_between(t, sets, s, chunks), apart);
            EQUAL(t, units_between(t, again, s, chunks), apart);
        }
        sets_judge(t, sets, &p, "apart");
        sets_judge(t, again, &p, "apart, from Roaring bytes");
        cohort_sets_destroy(sets);
        cohort_sets_destroy(again);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* Small rooms of workspace share a block: what goes back before its time takes no other room with it. */
static void rooms(struct test *t)
{
    struct sets_rooms r = sets_rooms_begin(t->context);
    char *small[20], *large[8];
    for (int i = 0; i < 20; i++)
        OK(t, sets_room(&r, test_below(t, 60), 8, &small[i]));
    for (int i = 0; i < 20; i += 2)
        sets_room_back(&r, small[i]);
    for (int k = 0; k < 8; k++) {
        const uint64_t bytes = 1000ull << k % 4;
        OK(t, sets_room(&r, bytes, 1, &large[k]));
        for (int i = 1; i < 20; i += 2)
            REQUIREF(t, small[i] + 480 <= large[k] || large[k] + bytes <= small[i],
                     "the room of %llu bytes lies on another", (unsigned long long)bytes);
    }
    sets_rooms_end(&r);
}

const struct test_case test_cases[] = {
    {"rows", rows, TEST_EACH_MEMORY},
    {"pairs", pairs, TEST_EACH_MEMORY},
    {"one", one, TEST_EACH_MEMORY},
    {"bitmaps", bitmaps, TEST_EACH_MEMORY},
    {"chosen", chosen, TEST_EACH_MEMORY},
    {"chosen_blobs", chosen_blobs, TEST_EACH_MEMORY},
    {"small", small, TEST_EACH_MEMORY},
    {"apart", apart, TEST_EACH_MEMORY},
    {"rooms", rooms, 0},
    {NULL, NULL, 0},
};
