/* test_lines_sectors.c: how many sectors of a table of LINES an operation touches: what the layout predicts
 * (docs/hopscotch-protocol.md, "What an operation costs") against what the simulated GPU counts.
 *
 * The prediction goes through the steps of the page's pseudo code on a copy of the table, and counts a sector
 * each time that the next word lies in another one than the last, as the simulator does. Nobody changes the
 * table during lookups: there both numbers must be the same. Changes come in small batches, whose entries
 * seldom meet: there they must be near each other, and looks be repeated seldom.
 *
 * Then the bench's streams of mixed operations, of LINES and of pages: as many sectors as it tells beside its
 * rates (bench/sectors.h). */
#include "subject.h"

#include "../../bench/sectors.h"
#include "cohort/device/map.h"
#include "sim/sim.h"

enum { EACH = 64 }; /* entries of a batch of changes */

/* Of a width: slots of a home, homes of a window, bytes of a home, where its keys begin. */
struct layout {
    uint64_t slots, near, far, bytes, keys;
};
static const struct layout layouts[] = {{0, 0, 0, 0, 0},  {6, 2, 3, 32, 8}, {3, 5, 5, 32, 8},
                                        {3, 5, 5, 32, 8}, {4, 4, 3, 64, 8}, {3, 5, 5, 64, 8},
                                        {2, 7, 8, 64, 16}};

/* A copy of a table, and a walk on it. */
struct walk {
    struct layout l;
    cohort_width width;
    unsigned char *table;
    uint64_t homes, seed;
    uint64_t last, touched; /* the sector of the last word; sectors so far */
    uint64_t again;         /* looks that are repeated */
    uint64_t unknown;       /* inserts that need more than one move */
};

static void touch(struct walk *w, uint64_t at)
{
    w->touched += at / 32 != w->last;
    w->last = at / 32;
}

static uint64_t window(const struct walk *w)
{
    return w->l.near + w->l.far;
}

static uint64_t word(const struct walk *w, uint64_t home)
{
    uint64_t word;
    memcpy(&word, w->table + home * w->l.bytes, 8);
    return word;
}

static uint64_t names_of(const struct walk *w, uint64_t home)
{
    return word(w, home) & ((UINT64_C(1) << window(w) * w->l.slots) - 1);
}

static uint64_t own_names(const struct walk *w)
{
    return (UINT64_C(1) << w->l.slots) - 1;
}

static uint64_t home_of(const struct walk *w, uint64_t key)
{
    uint64_t words[2] = {key, 0}, high = 0;
    if (key_bytes(w->width) == 16) {
        key_words(key, words);
        high = test_mix(words[1] ^ w->seed);
    }
    return (test_mix(words[0] ^ high ^ w->seed) >> 32) * w->homes >> 32;
}

/* The home that is number `line` of a window, in a table of more homes than one. */
static uint64_t line_of(const struct walk *w, uint64_t home, uint64_t line)
{
    const uint64_t away = (test_mix(home) >> 32) * (w->homes - window(w) + 1) >> 32;
    return (home + line + (line < w->l.near ? 0 : away)) % w->homes;
}

static uint64_t key_place(const struct walk *w, uint64_t home, uint64_t slot)
{
    return home * w->l.bytes + w->l.keys + slot * key_bytes(w->width);
}

static void touch_value(struct walk *w, uint64_t home, uint64_t slot)
{
    if (value_bytes(w->width))
        touch(w, key_place(w, home, w->l.slots) + slot * value_bytes(w->width));
}

/* ---- the steps ----------------------------------------------------------------------------------------- */

/* The name of the key, + 1; 0: it is not in. All keys of a home are looked at that has a name. */
static uint64_t scan(struct walk *w, uint64_t home, uint64_t key)
{
    const uint64_t names = names_of(w, home);
    for (uint64_t line = 0; line < window(w); line++) {
        const uint64_t bits = names >> line * w->l.slots & own_names(w), at = line_of(w, home, line);
        uint64_t found = 0;
        for (uint64_t j = 0; bits && j < w->l.slots; j++) {
            touch(w, key_place(w, at, j));
            if (bits >> j & 1 && key_read(w->table + key_place(w, at, j), w->width) == key && !found)
                found = line * w->l.slots + j + 1;
        }
        if (found)
            return found;
    }
    return 0;
}

/* quiet: nobody changes the table, so the word is not looked at again. */
static void find(struct walk *w, uint64_t key, int quiet)
{
    const uint64_t home = home_of(w, key);
    touch(w, home * w->l.bytes);
    const uint64_t name = scan(w, home, key);
    if (name)
        touch_value(w, line_of(w, home, (name - 1) / w->l.slots), (name - 1) % w->l.slots);
    if (!quiet && names_of(w, home))
        touch(w, home * w->l.bytes);
}

/* The first free slot of a home's window, which is claimed, home by home; 0: there is none. */
static int claim(struct walk *w, uint64_t home, uint64_t *at, uint64_t *slot)
{
    for (uint64_t line = 0; line < window(w); line++) {
        *at = line_of(w, home, line);
        if (line)
            touch(w, *at * w->l.bytes);
        const uint64_t claims = word(w, *at) >> window(w) * w->l.slots & own_names(w);
        if (claims == own_names(w))
            continue;
        *slot = (uint64_t)__builtin_ctzll(~claims);
        touch(w, *at * w->l.bytes);
        return 1;
    }
    return 0;
}

/* A slot's pair goes into another, under the lock of its key's home. */
static void move(struct walk *w, uint64_t home, uint64_t from, uint64_t slot, uint64_t to, uint64_t into)
{
    touch(w, home * w->l.bytes);
    touch(w, key_place(w, from, slot));
    touch_value(w, from, slot);
    touch(w, key_place(w, to, into));
    touch_value(w, to, into);
    touch(w, home * w->l.bytes);
}

/* The first slot of a home's window whose key has a free slot in its own home's window; 0: there is none. */
static int make_room(struct walk *w, uint64_t home, uint64_t *at, uint64_t *slot)
{
    for (uint64_t name = 0; name < window(w) * w->l.slots; name++) {
        *at = line_of(w, home, name / w->l.slots);
        *slot = name % w->l.slots;
        if (names_of(w, home) >> name & 1)
            continue;
        touch(w, key_place(w, *at, *slot));
        const uint64_t owner = home_of(w, key_read(w->table + key_place(w, *at, *slot), w->width));
        uint64_t to, into;
        touch(w, owner * w->l.bytes);
        if (!claim(w, owner, &to, &into))
            continue;
        move(w, owner, *at, *slot, to, into);
        return 1;
    }
    return 0;
}

/* Of a key that is not in. Where there is no free slot it looks once more before it makes room. */
static void insert(struct walk *w, uint64_t key)
{
    const uint64_t home = home_of(w, key);
    uint64_t at, slot;
    touch(w, home * w->l.bytes);
    scan(w, home, key);
    if (!claim(w, home, &at, &slot)) {
        w->again++;
        touch(w, home * w->l.bytes);
        scan(w, home, key);
        claim(w, home, &at, &slot);
        w->unknown += !make_room(w, home, &at, &slot);
    }
    touch(w, key_place(w, at, slot));
    touch_value(w, at, slot);
    touch(w, home * w->l.bytes); /* the commit */
}

static void erase(struct walk *w, uint64_t key)
{
    const uint64_t home = home_of(w, key);
    touch(w, home * w->l.bytes);
    const uint64_t name = scan(w, home, key) - 1;
    touch(w, home * w->l.bytes); /* the commit */
    uint64_t at = line_of(w, home, name / w->l.slots), slot = name % w->l.slots;
    touch_value(w, at, slot);
    touch(w, at * w->l.bytes); /* pull home */
    const uint64_t gone = at == home ? UINT64_C(1) << name : 0,
                   away = names_of(w, at) & ~own_names(w) & ~gone;
    if (away) {
        const uint64_t last = 63 - (uint64_t)__builtin_clzll(away);
        const uint64_t from = line_of(w, at, last / w->l.slots);
        move(w, at, from, last % w->l.slots, at, slot);
        at = from;
    }
    touch(w, at * w->l.bytes); /* the retirement */
}

/* ---- batches ------------------------------------------------------------------------------------------- */

enum kind { FIND, ABSENT, STREAM, INSERT, ERASE, KINDS };
static const char *const kind_names[] = {"find", "find, absent", "find in a stream", "insert", "erase"};

static struct walk walk_new(struct test *t, cohort_map *map)
{
    cohort_map_view v;
    OK(t, cohort_map_get_view(map, &v));
    struct walk w = {.l = layouts[t->width], .width = t->width, .homes = v.pages, .seed = v.seed};
    w.table = malloc(w.homes * w.l.bytes);
    OK(t, cohort_copy(t->context, w.table, v.slots, w.homes * w.l.bytes));
    OK(t, cohort_wait(t->context));
    sim_watch(v.slots, w.homes * w.l.bytes);
    return w;
}

static void predict(struct walk *w, enum kind kind, uint64_t key)
{
    w->last = UINT64_MAX; /* the key was read from elsewhere */
    if (kind == INSERT)
        insert(w, key);
    else if (kind == ERASE)
        erase(w, key);
    else
        find(w, key, kind != STREAM);
}

/* Keys first, first + step, .. */
struct entries {
    uint64_t first, step, n;
};

static void work(struct test *t, cohort_map *map, enum kind kind, struct entries of)
{
    const uint64_t n = of.n;
    struct column *mark = t->columns;
    const uint64_t value = value_bytes(t->width);
    struct column *keys = column_new(t, n, key_bytes(t->width)), *ops = column_new(t, n, 1),
                  *hit = column_new(t, n / 32 + 1, 4), *values = value ? column_new(t, n, value) : NULL,
                  *results = value ? column_new(t, n, value) : NULL;
    const void *in = values ? values->data : NULL;
    void *out = results ? results->data : NULL;
    for (uint64_t i = 0; i < n; i++) {
        column_put(keys, i, of.first + i * of.step);
        column_put(ops, i, COHORT_OP_FIND);
        if (values)
            column_put(values, i, test_mix(of.first + i * of.step));
    }
    if (kind == INSERT)
        OK(t, cohort_map_insert(map, n, keys->data, in, NULL));
    else if (kind == ERASE)
        OK(t, cohort_map_erase(map, n, keys->data, NULL));
    else if (kind == STREAM)
        OK(t, cohort_map_run(map, n, ops->data, keys->data, in, out, NULL));
    else if (!value)
        OK(t, cohort_map_contains(map, n, keys->data, hit->data, NULL));
    else
        OK(t, cohort_map_find(map, n, keys->data, out, NULL, NULL));
    OK(t, cohort_wait(t->context));
    column_drop(t, mark);
}

/* Per operation: sectors, and looks that were repeated, counted and predicted; and the share of inserts whose
 * way to a slot the prediction does not go. */
struct cost {
    double counted, predicted, again, again_predicted, unknown;
};

static uint64_t retries_of(struct test *t, cohort_map *map)
{
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    OK(t, cohort_map_get_stats(map, &stats));
    return stats.retries;
}

/* n entries, `each` a batch, and the table copied before each. What a batch has changed is changed back, so
 * that the load stays. */
static struct cost cost_of(struct test *t, cohort_map *map, enum kind kind, struct entries all, uint64_t each)
{
    uint64_t counted = 0, predicted = 0, again = 0, again_predicted = 0, unknown = 0;
    for (uint64_t done = 0; done < all.n; done += each) {
        const struct entries part = {all.first + done * all.step, all.step, each};
        const uint64_t before = retries_of(t, map);
        struct walk w = walk_new(t, map);
        for (uint64_t i = 0; i < each; i++)
            predict(&w, kind, part.first + i * part.step);
        work(t, map, kind, part);
        counted += sim_watched();
        again += retries_of(t, map) - before;
        predicted += w.touched;
        again_predicted += w.again;
        unknown += w.unknown;
        free(w.table);
        if (kind >= INSERT)
            work(t, map, kind == INSERT ? ERASE : INSERT, part);
    }
    const double n = (double)all.n;
    return (struct cost){(double)counted / n, (double)predicted / n, (double)again / n,
                         (double)again_predicted / n, (double)unknown / n};
}

/* ---- the page's table ---------------------------------------------------------------------------------- */

static const double loads[] = {0.5, 0.8};
enum { LOADS = sizeof loads / sizeof *loads };

/* docs/hopscotch-protocol.md, "What an operation costs": sectors, by width. */
static const double told[][LOADS][KINDS] = {
    {{0}},
    {{1.00, 1.04, 1.00, 1.22, 1.26}, {1.08, 1.35, 1.15, 4.25, 2.35}},  /* 32/0 */
    {{1.03, 1.09, 1.05, 1.65, 1.62}, {1.20, 1.39, 1.35, 6.08, 2.65}},  /* 32/32 */
    {{1.03, 1.09, 1.05, 1.65, 1.62}, {1.20, 1.39, 1.35, 6.03, 2.66}},  /* 64/0 */
    {{2.02, 1.98, 3.02, 4.89, 5.73}, {2.29, 2.73, 3.29, 9.28, 7.45}},  /* 64/32 */
    {{2.03, 1.09, 3.03, 3.42, 4.18}, {2.20, 1.39, 3.20, 7.60, 5.83}},  /* 64/64 */
    {{2.12, 1.83, 3.12, 4.88, 6.38}, {2.51, 2.54, 3.51, 10.31, 7.53}}, /* 128/64 */
};

/* Lookups exactly; changes as near as entries that meet in a batch let them be, and where an insert needs
 * more than one move, by at most 256 ways at random. */
static void judge(struct test *t, enum kind kind, size_t load, const struct cost *c)
{
    const double page = told[t->width][load][kind];
    const char *name = kind_names[kind];
    CHECKF(t,
           kind < INSERT ? c->counted == c->predicted && c->again == 0
                         : c->counted >= 0.97 * c->predicted &&
                               c->counted <= 1.1 * c->predicted + 256 * 16 * c->unknown,
           "%s at load %g: %.4f sectors, predicted %.4f", name, loads[load], c->counted, c->predicted);
    CHECKF(t, c->again >= c->again_predicted - 0.01 && c->again <= c->again_predicted + 0.05,
           "%s at load %g: %.4f looks repeated, predicted %.4f", name, loads[load], c->again,
           c->again_predicted);
    CHECKF(t, c->unknown > 0 || (c->counted >= 0.92 * page - 0.05 && c->counted <= 1.08 * page + 0.05),
           "%s at load %g: %.2f sectors, %.2f in the page's table", name, loads[load], c->counted, page);
}

static void sectors(struct test *t)
{
    const uint64_t slots = 12000, n = test_scale(t, 1024, 2048, 4096);
    for (size_t load = 0; load < LOADS; load++) {
        const uint64_t pairs = (uint64_t)((double)slots * loads[load]);
        cohort_map_options options = subject_options(t);
        cohort_map *map;
        options.layout = t->layout = COHORT_LAYOUT_LINES;
        options.fixed = 1;
        options.max_load = loads[load];
        options.capacity = pairs;
        OK(t, cohort_map_create(t->context, &options, &map));
        work(t, map, INSERT, (struct entries){0, 1, pairs});
        for (enum kind kind = FIND; kind < KINDS; kind++) {
            const uint64_t some = kind >= INSERT ? n / 2 : n;
            const struct entries there = {0, pairs / some, some}, absent = {1u << 30, 1, some};
            const struct cost c = cost_of(t, map, kind, kind == ABSENT || kind == INSERT ? absent : there,
                                          kind >= INSERT ? EACH : n);
            judge(t, kind, load, &c);
        }
        cohort_map_destroy(map);
    }
}

/* ---- streams of the bench ------------------------------------------------------------------------------ */

/* Half of the range is in, at any time. Two operations a key: pages look through the slots of what was erased
 * until they are made anew, so what they touch grows along a stream. */
enum { RANGE = 8192, CALL = 512, CALLS = 2 * RANGE / CALL };

static cohort_map *range_map(struct test *t, cohort_layout layout)
{
    cohort_map_options options = subject_options(t);
    cohort_map *map;
    options.layout = t->layout = layout;
    options.fixed = layout == COHORT_LAYOUT_LINES;
    options.capacity = RANGE;
    OK(t, cohort_map_create(t->context, &options, &map));
    work(t, map, INSERT, (struct entries){0, 2, RANGE / 2});
    return map;
}

/* Sectors of calls of mixed operations. */
static uint64_t mixed_sectors(struct test *t, cohort_map *map, unsigned inserts)
{
    struct column *mark = t->columns;
    const uint64_t value = value_bytes(t->width);
    struct column *keys = column_new(t, CALL, key_bytes(t->width)), *ops = column_new(t, CALL, 1),
                  *values = column_new(t, CALL, value), *results = column_new(t, CALL, value);
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    struct cohort_map_view view;
    uint64_t touched = 0;
    OK(t, cohort_map_get_stats(map, &stats));
    OK(t, cohort_map_get_view(map, &view));
    for (uint64_t call = 0; call < CALLS; call++) {
        for (uint64_t i = 0; i < CALL; i++) {
            const uint64_t key = test_below(t, RANGE), at = test_below(t, 100);
            column_put(keys, i, key);
            column_put(values, i, test_mix(key));
            column_put(ops, i,
                       at < inserts       ? COHORT_OP_INSERT
                       : at < 2 * inserts ? COHORT_OP_ERASE
                                          : COHORT_OP_FIND);
        }
        sim_watch(view.slots, stats.table_bytes);
        OK(t, cohort_map_run(map, CALL, ops->data, keys->data, values->data, results->data, NULL));
        OK(t, cohort_wait(t->context));
        touched += sim_watched();
    }
    column_drop(t, mark);
    return touched;
}

static void mixed(struct test *t)
{
    for (size_t i = 0; i < sizeof sectors_mixed / sizeof *sectors_mixed; i++) {
        const struct sectors_mixed *m = &sectors_mixed[i];
        if (m->width != t->width)
            continue;
        cohort_map *map =
            range_map(t, strcmp(m->variant, "lines") ? COHORT_LAYOUT_PAGES : COHORT_LAYOUT_LINES);
        const double counted = (double)mixed_sectors(t, map, m->inserts) / (2 * RANGE);
        CHECKF(t, counted >= 0.96 * m->an_operation && counted <= 1.04 * m->an_operation,
               "%s, %u %% inserts: %.3f sectors an operation, %.2f are told", m->variant, m->inserts, counted,
               m->an_operation);
        cohort_map_destroy(map);
    }
}

const struct test_case test_cases[] = {{"sectors", sectors, TEST_EACH_WIDTH | TEST_OF_LINES | TEST_ON_SIM},
                                       {"mixed", mixed, TEST_EACH_WIDTH | TEST_OF_LINES | TEST_ON_SIM},
                                       {NULL, NULL, 0}};
