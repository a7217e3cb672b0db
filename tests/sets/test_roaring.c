/* test_roaring.c: Roaring's portable format, against a writer of the test's own, and bytes that are wrong.
 * Published files are in test_roaring_files.c. */
#include "sets.h"

#include <unistd.h>

/* ---- a plain writer ------------------------------------------------------------------------------------ */

struct bytes {
    unsigned char *at;
    uint64_t n, room;
};

static void put(struct bytes *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        if (b->n == b->room) {
            b->room = b->room ? 2 * b->room : 256;
            b->at = realloc(b->at, b->room);
            if (!b->at)
                abort();
        }
        b->at[b->n++] = (unsigned char)(v >> 8 * i);
    }
}

enum style {
    BEST,     /* whichever container is smallest */
    NO_RUNS,  /* as before there were runs */
    ALL_RUNS, /* whatever they take */
    STYLES
};

struct part {
    uint64_t first, end; /* members */
    unsigned runs, as_runs;
};

static unsigned runs_of(const struct plain *p, uint64_t first, uint64_t end)
{
    unsigned runs = 0;
    for (uint64_t i = first; i < end; i++)
        runs += i == first || p->at[i] != p->at[i - 1] + 1;
    return runs;
}

static void put_entries(struct bytes *b, const struct plain *p, const struct part *c)
{
    uint64_t n = c->end - c->first;
    if (c->as_runs) {
        put(b, c->runs, 2);
        for (uint64_t i = c->first, j; i < c->end; i = j) {
            for (j = i + 1; j < c->end && p->at[j] == p->at[j - 1] + 1;)
                j++;
            put(b, p->at[i] & 0xffff, 2);
            put(b, j - i - 1, 2);
        }
    } else if (n <= 4096) {
        for (uint64_t i = c->first; i < c->end; i++)
            put(b, p->at[i] & 0xffff, 2);
    } else {
        unsigned char bits[8192] = {0};
        for (uint64_t i = c->first; i < c->end; i++)
            bits[(p->at[i] & 0xffff) / 8] |= (unsigned char)(1 << p->at[i] % 8);
        for (unsigned i = 0; i < 8192; i++)
            put(b, bits[i], 1);
    }
}

/* Members [first, end), which have the same bits above 32. */
static void put_blob(struct bytes *b, const struct plain *p, uint64_t first, uint64_t end, enum style style)
{
    struct part *parts = malloc((end - first + 1) * sizeof *parts);
    uint64_t n = 0, begin = b->n;
    int any = 0;
    if (!parts)
        abort();
    for (uint64_t i = first, j; i < end; i = j) {
        for (j = i; j < end && p->at[j] >> 16 == p->at[i] >> 16;)
            j++;
        struct part c = {i, j, runs_of(p, i, j), 0};
        uint64_t other = j - i <= 4096 ? 2 * (j - i) : 8192;
        c.as_runs = style == ALL_RUNS || (style == BEST && 2 + 4 * (uint64_t)c.runs < other);
        any |= (int)c.as_runs;
        parts[n++] = c;
    }
    if (any) {
        put(b, 12347 | (n - 1) << 16, 4);
        for (uint64_t i = 0; i < n; i += 8) {
            unsigned flags = 0;
            for (uint64_t j = i; j < n && j < i + 8; j++)
                flags |= parts[j].as_runs << (j - i);
            put(b, flags, 1);
        }
    } else {
        put(b, 12346, 4);
        put(b, n, 4);
    }
    for (uint64_t i = 0; i < n; i++) {
        put(b, p->at[parts[i].first] >> 16 & 0xffff, 2);
        put(b, parts[i].end - parts[i].first - 1, 2);
    }
    uint64_t places = b->n;
    if (!any || n >= 4)
        for (uint64_t i = 0; i < n; i++)
            put(b, 0, 4);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = b->n - begin;
        for (int k = 0; (!any || n >= 4) && k < 4; k++)
            b->at[places + 4 * i + (uint64_t)k] = (unsigned char)(at >> 8 * k);
        put_entries(b, p, &parts[i]);
    }
    free(parts);
}

static void put_set(struct bytes *b, const struct plain *p, int wide, enum style style)
{
    uint64_t parts = 0;
    if (!wide) {
        put_blob(b, p, 0, p->n, style);
        return;
    }
    for (uint64_t i = 0; i < p->n; i++)
        parts += !i || p->at[i] >> 32 != p->at[i - 1] >> 32;
    put(b, parts, 8);
    for (uint64_t i = 0, j; i < p->n; i = j) {
        for (j = i; j < p->n && p->at[j] >> 32 == p->at[i] >> 32;)
            j++;
        put(b, p->at[i] >> 32, 4);
        put_blob(b, p, i, j, style);
    }
}

/* ---- both ways ----------------------------------------------------------------------------------------- */

static cohort_status load(struct test *t, const struct bytes *b, const uint64_t *offsets, uint64_t n,
                          cohort_sets_source *source, cohort_sets **out)
{
    struct column *bytes = column_new(t, b->n, 1), *places = column_new(t, n + 1, 8);
    if (b->n)
        memcpy(bytes->data, b->at, b->n);
    memcpy(places->data, offsets, (n + 1) * 8);
    source->form = COHORT_FORM_ROARING;
    source->n = n;
    source->members = column_send(bytes);
    source->offsets = column_send(places);
    return cohort_sets_build(t->context, source, out);
}

/* A file of them is taken as right: so are digests, the index, and what fills arrays up. */
static void judge_file(struct test *t, const cohort_sets *sets)
{
    const char *folder = getenv("TMPDIR");
    char path[128];
    cohort_sets *back = NULL;
    snprintf(path, sizeof path, "%.80s/cohort-roaring.%ld", folder ? folder : "/tmp", (long)getpid());
    OK(t, cohort_sets_save(sets, path));
    cohort_status status = cohort_sets_load(t->context, path, &back);
    unlink(path);
    REQUIREF(t, !status, "%s", cohort_message(t->context));
    cohort_sets_destroy(back);
}

static void interchange(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 3, test_size(t, 40, 6), test_size(t, 200, 20)); round++) {
        struct plains p = plains_draw(t, test_below(t, 10), (int)test_below(t, 2));
        int blob_wide = p.wide ? 1 : (int)test_below(t, 2);
        struct bytes b = {NULL, 0, 0}, best = {NULL, 0, 0};
        uint64_t *offsets = calloc(p.n + 1, 8), *bests = calloc(p.n + 1, 8);
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        cohort_sets_target target = COHORT_SETS_TARGET_INIT;
        cohort_sets *sets = NULL;
        REQUIRE(t, offsets && bests);
        for (uint64_t s = 0; s < p.n; s++) {
            put_set(&b, &p.at[s], blob_wide, (enum style)test_below(t, STYLES));
            put_set(&best, &p.at[s], blob_wide, BEST);
            offsets[s + 1] = b.n;
            bests[s + 1] = best.n;
        }
        source.type = plains_type(&p);
        source.blob_type = blob_wide != p.wide || test_below(t, 2) ? blob_wide ? COHORT_U64 : COHORT_U32 : 0;
        OK(t, load(t, &b, offsets, p.n, &source, &sets));
        sets_judge(t, sets, &p, "blobs");
        judge_file(t, sets);
        struct column *out = column_new(t, best.n, 1), *places = column_new(t, p.n + 1, 8);
        target.form = COHORT_FORM_ROARING;
        target.blob_type = source.blob_type;
        OK(t, cohort_sets_export(sets, &target));
        EQUAL(t, target.total, best.n);
        target.members = column_send(out);
        target.offsets = column_send(places);
        target.capacity = best.n;
        OK(t, cohort_sets_export(sets, &target));
        column_fetch(out);
        column_fetch(places);
        for (uint64_t s = 0; s <= p.n; s++)
            EQUAL(t, column_get(places, s), bests[s]);
        REQUIRE(t, !best.n || !memcmp(out->data, best.at, best.n));
        cohort_sets_destroy(sets);
        free(b.at);
        free(best.at);
        free(offsets);
        free(bests);
        plains_free(&p);
        column_drop(t, NULL);
    }
}

/* Blobs that are moved, and unite. */
static void moved(struct test *t)
{
    for (uint64_t round = 0; round < test_scale(t, 3, test_size(t, 30, 5), test_size(t, 100, 12)); round++) {
        uint64_t n = 1 + test_below(t, 8), sets = 1 + test_below(t, 6);
        struct plains p = plains_draw(t, n, 0), due = plains_new(sets, (int)test_below(t, 2));
        struct bytes b = {NULL, 0, 0};
        uint64_t *offsets = calloc(n + 1, 8), kind = test_below(t, 3);
        struct column *groups = column_new(t, n, 8), *bases = column_new(t, n, 8);
        REQUIRE(t, offsets);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t most = due.wide ? UINT64_MAX : UINT32_MAX;
            uint64_t top = p.at[i].n ? most - p.at[i].at[p.at[i].n - 1] : most;
            uint64_t base = kind == 0 ? 0 : test_below(t, 2) ? test_random(t) : test_below(t, 300000);
            if (kind == 1)
                base &= ~UINT64_C(0xffff);
            base = top == UINT64_MAX ? base : base % (top + 1);
            if (kind == 1)
                base &= ~UINT64_C(0xffff);
            put_set(&b, &p.at[i], 0, BEST);
            offsets[i + 1] = b.n;
            uint64_t group = test_below(t, sets);
            column_put(groups, i, group);
            column_put(bases, i, base);
            uint64_t *all = malloc((due.at[group].n + p.at[i].n + 1) * 8), at = 0;
            REQUIRE(t, all);
            for (uint64_t k = 0; k < due.at[group].n; k++)
                all[at++] = due.at[group].at[k];
            for (uint64_t k = 0; k < p.at[i].n; k++)
                all[at++] = p.at[i].at[k] + base;
            plain_free(&due.at[group]);
            due.at[group] = plain_of(all, at);
            free(all);
        }
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        cohort_sets *out = NULL;
        source.type = plains_type(&due);
        source.blob_type = COHORT_U32;
        source.sets = sets;
        source.groups = column_send(groups);
        source.group_type = COHORT_U64;
        source.bases = kind || test_below(t, 2) ? column_send(bases) : NULL;
        OK(t, load(t, &b, offsets, n, &source, &out));
        sets_judge(t, out, &due, "moved blobs");
        cohort_sets_destroy(out);
        free(b.at);
        free(offsets);
        plains_free(&p);
        plains_free(&due);
        column_drop(t, NULL);
    }
}

/* ---- bytes that are wrong ------------------------------------------------------------------------------ */

static int is_refusal(cohort_status status)
{
    return status == COHORT_TRUNCATED || status == COHORT_CORRUPT;
}

/* Whatever the bytes: refused, or a set that is written and read again as the same. */
static cohort_status feed(struct test *t, const unsigned char *at, uint64_t n, cohort_type type)
{
    struct bytes b = {(unsigned char *)(uintptr_t)at, n, n};
    const uint64_t offsets[2] = {0, n};
    struct column *mark = t->columns;
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    cohort_sets *sets = NULL;
    source.type = type;
    cohort_status status = load(t, &b, offsets, 1, &source, &sets);
    REQUIRE(t, (status == COHORT_OK) == (sets != NULL));
    if (sets) {
        cohort_sets_info info = COHORT_SETS_INFO_INIT;
        OK(t, cohort_sets_get_info(sets, &info));
        REQUIRE(t, info.sets == 1);
    } else {
        REQUIREF(t, is_refusal(status), "%s: %s", cohort_status_name(status), cohort_message(t->context));
    }
    cohort_sets_destroy(sets);
    column_drop(t, mark);
    return status;
}

static void cut_and_altered(struct test *t)
{
    for (int wide = 0; wide < 2; wide++)
        for (uint64_t round = 0; round < test_scale(t, 1, test_size(t, 8, 2), test_size(t, 30, 4)); round++) {
            struct plain p = plain_draw(t, round % 2 ? SHAPE_SPARSE : SHAPE_RUNS, wide);
            struct bytes b = {NULL, 0, 0};
            put_set(&b, &p, wide, BEST);
            cohort_type type = wide ? COHORT_U64 : COHORT_U32;
            OK(t, feed(t, b.at, b.n, type));
            uint64_t step = 1 + b.n / test_size(t, 300, 60);
            for (uint64_t n = 0; n < b.n; n += step)
                REQUIREF(t, is_refusal(feed(t, b.at, n, type)), "cut at byte %llu of %llu",
                         (unsigned long long)n, (unsigned long long)b.n);
            for (uint64_t i = 0; i < b.n; i += step) {
                unsigned char old = b.at[i];
                b.at[i] ^= (unsigned char)(1 + test_below(t, 255));
                feed(t, b.at, b.n, type);
                b.at[i] = old;
            }
            put(&b, 0, 1);
            STATUS(t, feed(t, b.at, b.n, type), COHORT_CORRUPT);
            free(b.at);
            plain_free(&p);
        }
}

/* One thing wrong at a time. */
static void refused(struct test *t)
{
    static const struct {
        const char *what;
        cohort_status status;
        cohort_type type;
        unsigned n;
        unsigned char at[40];
    } cases[] = {
        {"nothing", COHORT_TRUNCATED, COHORT_U32, 0, {0}},
        {"no cookie", COHORT_CORRUPT, COHORT_U32, 8, {0x39, 0x30, 0, 0, 0, 0, 0, 0}},
        {"half a cookie", COHORT_TRUNCATED, COHORT_U32, 3, {0x3a, 0x30, 0}},
        {"no number", COHORT_TRUNCATED, COHORT_U32, 7, {0x3a, 0x30, 0, 0, 0, 0, 0}},
        {"65,537 containers", COHORT_CORRUPT, COHORT_U32, 8, {0x3a, 0x30, 0, 0, 1, 0, 1, 0}},
        {"many containers, no bytes", COHORT_TRUNCATED, COHORT_U32, 8, {0x3a, 0x30, 0, 0, 0, 0, 1, 0}},
        {"keys that fall", COHORT_CORRUPT, COHORT_U32, 28, {0x3a, 0x30, 0, 0, 2, 0, 0,  0, 5, 0,
                                                            0,    0,    4, 0, 0, 0, 24, 0, 0, 0,
                                                            26,   0,    0, 0, 1, 0, 1,  0}},
        {"a wrong place",
         COHORT_CORRUPT,
         COHORT_U32,
         18,
         {0x3a, 0x30, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 17, 0, 0, 0, 1, 0}},
        {"members that are equal", COHORT_CORRUPT, COHORT_U32, 20, {0x3a, 0x30, 0,  0, 1, 0, 0, 0, 5, 0,
                                                                    1,    0,    16, 0, 0, 0, 7, 0, 7, 0}},
        {"no runs", COHORT_CORRUPT, COHORT_U32, 11, {0x3b, 0x30, 0, 0, 1, 5, 0, 0, 0, 0, 0}},
        {"runs that touch",
         COHORT_CORRUPT,
         COHORT_U32,
         19,
         {0x3b, 0x30, 0, 0, 1, 5, 0, 3, 0, 2, 0, 10, 0, 1, 0, 12, 0, 1, 0}},
        {"a run beyond the end",
         COHORT_CORRUPT,
         COHORT_U32,
         15,
         {0x3b, 0x30, 0, 0, 1, 5, 0, 3, 0, 1, 0, 0xff, 0xff, 1, 0}},
        {"half a number of parts", COHORT_TRUNCATED, COHORT_U64, 7, {0, 0, 0, 0, 0, 0, 0}},
        {"too many parts", COHORT_CORRUPT, COHORT_U64, 8, {0, 0, 0, 0, 2, 0, 0, 0}},
        {"a part, and no bytes", COHORT_TRUNCATED, COHORT_U64, 8, {1, 0, 0, 0, 0, 0, 0, 0}},
        {"parts that do not rise", COHORT_CORRUPT, COHORT_U64, 32, {2, 0,    0,    0,    0, 0, 0, 0, 3, 0, 0,
                                                                    0, 0x3a, 0x30, 0,    0, 0, 0, 0, 0, 3, 0,
                                                                    0, 0,    0x3a, 0x30, 0, 0, 0, 0, 0, 0}},
        {"a bitmap that ends",
         COHORT_TRUNCATED,
         COHORT_U32,
         18,
         {0x3a, 0x30, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0x20, 16, 0, 0, 0, 7, 0}},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECKF(t, feed(t, cases[i].at, cases[i].n, cases[i].type) == cases[i].status, "%s: %s", cases[i].what,
               cohort_message(t->context));
    /* told wrong, but known to occur: the cardinality of runs */
    static const unsigned char told[] = {0x3b, 0x30, 0, 0, 1, 5, 0, 99, 0, 1, 0, 10, 0, 1, 0};
    OK(t, feed(t, told, sizeof told, COHORT_U32));
    /* twelve containers of one member each, any of which is told to be elsewhere */
    unsigned char places[8 + 12 * 10] = {0x3a, 0x30, 0, 0, 12};
    for (unsigned k = 0; k < 12; k++) {
        places[8 + 4 * k] = (unsigned char)k;
        places[8 + 12 * 4 + 4 * k] = (unsigned char)(8 + 12 * 8 + 2 * k);
    }
    OK(t, feed(t, places, sizeof places, COHORT_U32));
    for (unsigned k = 0; k < 12; k++) {
        places[8 + 12 * 4 + 4 * k] ^= 2;
        STATUS(t, feed(t, places, sizeof places, COHORT_U32), COHORT_CORRUPT);
        places[8 + 12 * 4 + 4 * k] ^= 2;
    }
    /* a bitmap of 8,192 bytes, and of 4,097 members as told but one */
    unsigned char bitmap[16 + 8192] = {0x3a, 0x30, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0x10, 16, 0, 0, 0};
    for (unsigned k = 0; k < 4097; k++)
        bitmap[16 + 2 * k / 8] |= (unsigned char)(1 << 2 * k % 8);
    OK(t, feed(t, bitmap, sizeof bitmap, COHORT_U32));
    bitmap[16 + 8191] |= 128;
    STATUS(t, feed(t, bitmap, sizeof bitmap, COHORT_U32), COHORT_CORRUPT);
}

/* Arrays of any length, with two equal members at any place, below and above 2^15. */
static void equal_neighbours(struct test *t)
{
    static const unsigned lengths[] = {1, 2, 16, 17, 18, 33, 47, 70};
    unsigned char blob[16 + 2 * 70] = {0x3a, 0x30, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 16, 0, 0, 0};
    for (unsigned l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        unsigned n = lengths[l];
        blob[10] = (unsigned char)(n - 1);
        for (unsigned k = 0; k < n; k++) {
            blob[16 + 2 * k] = (unsigned char)(0x7fc0 + 3 * k);
            blob[17 + 2 * k] = (unsigned char)((0x7fc0 + 3 * k) >> 8);
        }
        OK(t, feed(t, blob, 16 + 2 * n, COHORT_U32));
        for (unsigned k = 1; k < n; k++) {
            unsigned char old[2];
            memcpy(old, blob + 16 + 2 * k, 2);
            memcpy(blob + 16 + 2 * k, blob + 14 + 2 * k, 2);
            REQUIREF(t, feed(t, blob, 16 + 2 * n, COHORT_U32) == COHORT_CORRUPT, "%u of %u", k, n);
            memcpy(blob + 16 + 2 * k, old, 2);
        }
    }
}

/* Runs of any number, two of which touch at any place, or are equal, or the last goes beyond the
 * container. */
static void neighbouring_runs(struct test *t)
{
    static const unsigned counts[] = {1, 2, 3, 8, 9, 16, 17, 32, 33, 50};
    unsigned char blob[11 + 4 * 50] = {0x3b, 0x30, 0, 0, 1, 5, 0, 0, 0};
    for (unsigned l = 0; l < sizeof counts / sizeof counts[0]; l++) {
        unsigned n = counts[l];
        blob[9] = (unsigned char)n;
        for (unsigned k = 0; k < n; k++) {
            unsigned start = 65536 - (n - k) * 1000, length = 998 + (k + 1 == n);
            for (unsigned i = 0; i < 2; i++) {
                blob[11 + 4 * k + i] = (unsigned char)(start >> 8 * i);
                blob[13 + 4 * k + i] = (unsigned char)(length >> 8 * i);
            }
        }
        OK(t, feed(t, blob, 11 + 4 * n, COHORT_U32));
        for (unsigned k = 0; k < n; k++) {
            unsigned char *run = blob + 11 + 4 * k, old[4];
            memcpy(old, run, 4);
            run[2]++; /* one member more: no low byte is 255 */
            REQUIREF(t, feed(t, blob, 11 + 4 * n, COHORT_U32) == COHORT_CORRUPT, "%u of %u", k, n);
            memcpy(run, old, 4);
            if (!k)
                continue;
            memcpy(run, run - 4, 4);
            REQUIREF(t, feed(t, blob, 11 + 4 * n, COHORT_U32) == COHORT_CORRUPT, "%u of %u, equal", k, n);
            memcpy(run, old, 4);
        }
    }
}

/* The same without vectors. */
static void plainly(struct test *t, void (*test)(struct test *))
{
    const char *before = getenv("COHORT_CPU");
    char *level = before ? strdup(before) : NULL;
    REQUIRE(t, !before == !level);
    setenv("COHORT_CPU", "plain", 1);
    test(t);
    if (level)
        setenv("COHORT_CPU", level, 1);
    else
        unsetenv("COHORT_CPU");
    free(level);
}

static void interchange_plain(struct test *t)
{
    plainly(t, interchange);
}

static void refused_plain(struct test *t)
{
    plainly(t, refused);
    plainly(t, equal_neighbours);
    plainly(t, neighbouring_runs);
}

/* A member that its base takes beyond the type. */
static void beyond(struct test *t)
{
    static const unsigned char blob[] = {0x3a, 0x30, 0, 0,  1, 0, 0, 0,    0xff,
                                         0xff, 0,    0, 16, 0, 0, 0, 0xfe, 0xff};
    static const uint64_t bases[] = {1, 2, 65536};
    for (int i = 0; i < 3; i++) {
        struct bytes b = {(unsigned char *)(uintptr_t)blob, sizeof blob, 0};
        const uint64_t offsets[2] = {0, sizeof blob};
        cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
        cohort_sets *sets = NULL;
        struct column *base = column_new(t, 1, 8);
        column_put(base, 0, bases[i]);
        source.bases = column_send(base);
        if (i == 0) {
            struct plains p = plains_new(1, 0);
            const uint64_t member = UINT32_MAX;
            p.at[0] = plain_of(&member, 1);
            OK(t, load(t, &b, offsets, 1, &source, &sets));
            sets_judge(t, sets, &p, "the greatest");
            cohort_sets_destroy(sets);
            plains_free(&p);
        } else {
            FAILS(t, t->context, load(t, &b, offsets, 1, &source, &sets), COHORT_RANGE, "base", "4294967294");
        }
    }
}

/* Sets with members above 32 bits, behind ones below or alone, as blobs of 32 bits: none of such a set. */
static void too_wide(struct test *t)
{
    static const uint64_t high = 1ull << 33;
    struct plains p = plains_new(4, 1);
    p.at[0] = plain_of((const uint64_t[]){5, 70000}, 2);
    p.at[1] = plain_of((const uint64_t[]){5, UINT32_MAX}, 2);
    p.at[2] = plain_of((const uint64_t[]){5, 70000, high}, 3);
    p.at[3] = plain_of((const uint64_t[]){high, high + 70000}, 2);
    cohort_sets *sets = sets_of(t, &p, 0);
    for (uint64_t first = 0; first < 4; first++) {
        struct column *which = column_new(t, 2, 8);
        cohort_sets_target target = COHORT_SETS_TARGET_INIT;
        column_put(which, 0, 0);
        column_put(which, 1, first);
        target.form = COHORT_FORM_ROARING;
        target.blob_type = COHORT_U32;
        target.n = 2;
        target.which = column_send(which);
        if (first < 2)
            OK(t, cohort_sets_export(sets, &target));
        else
            FAILS(t, t->context, cohort_sets_export(sets, &target), COHORT_RANGE, "set 1 of those asked for",
                  "target.blob_type is");
        column_drop(t, NULL);
    }
    cohort_sets_destroy(sets);
    plains_free(&p);
}

const struct test_case test_cases[] = {
    {"interchange", interchange, TEST_EACH_MEMORY},
    {"moved", moved, TEST_EACH_MEMORY},
    {"cut_and_altered", cut_and_altered, 0},
    {"refused", refused, 0},
    {"equal_neighbours", equal_neighbours, 0},
    {"neighbouring_runs", neighbouring_runs, 0},
    {"interchange_plain", interchange_plain, 0},
    {"refused_plain", refused_plain, 0},
    {"beyond", beyond, TEST_EACH_MEMORY},
    {"too wide", too_wide, TEST_EACH_MEMORY},
    {NULL, NULL, 0},
};
