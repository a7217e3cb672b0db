/* split_model.c: functions of keys, naively: see split.h. */
#include <stdlib.h>
#include <unistd.h>

#include "split.h"

__extension__ typedef unsigned __int128 wide;

const char *split_kind_name(cohort_fn_kind kind)
{
    const char *const names[] = {"none",   "bits",    "hash",  "modulo",  "ranges", "splitters",
                                 "table8", "table16", "delta", "between", "masked", "ids8",
                                 "ids16",  "ids32",   "user",  "member"};
    return (unsigned)kind <= COHORT_FN_MEMBER ? names[kind] : "?";
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void put_sorted(struct test *t, struct column *keys, int falling)
{
    uint64_t n = keys->count, *copy = malloc(n * 8 + 1);
    REQUIRE(t, copy);
    for (uint64_t i = 0; i < n; i++)
        copy[i] = column_get(keys, i);
    qsort(copy, n, 8, compare);
    for (uint64_t i = 0; i < n; i++)
        column_put(keys, i, copy[falling ? n - 1 - i : i]);
    free(copy);
}

void split_keys(struct test *t, struct column *keys, enum key_pattern pattern, uint64_t range)
{
    const uint64_t edges[] = {
        0, 1, UINT64_MAX, UINT64_MAX - 1, UINT32_MAX, UINT32_MAX - 1ull, 1ull << 31, 1ull << 63, 1ull << 32};
    uint64_t few[5], first = test_random(t);
    for (int i = 0; i < 5; i++)
        few[i] = range ? test_below(t, range) : test_random(t);
    for (uint64_t i = 0; i < keys->count; i++) {
        uint64_t key = range ? test_below(t, range) : test_random(t);
        if (pattern == KEYS_EQUAL || (pattern == KEYS_SKEWED && test_below(t, 10)))
            key = few[0];
        else if (pattern == KEYS_FEW)
            key = few[test_below(t, 5)];
        else if (pattern == KEYS_EDGES)
            key = range ? (test_below(t, 2) ? range - 1 : 0)
                        : edges[test_below(t, sizeof edges / sizeof *edges)];
        else if (pattern == KEYS_CYCLIC)
            key = range ? (first % range + i) % range : first + i;
        column_put(keys, i, key);
    }
    if (pattern == KEYS_SORTED || pattern == KEYS_FALLING)
        put_sorted(t, keys, pattern == KEYS_FALLING);
}

uint64_t split_key_range(struct test *t, cohort_fn_kind kind, uint64_t m)
{
    switch (kind) {
    case COHORT_FN_TABLE8:
    case COHORT_FN_TABLE16:
        return 1 + test_below(t, 3000);
    case COHORT_FN_BETWEEN:
    case COHORT_FN_MASKED:
        return test_below(t, 2) ? 0 : 10;
    default:
        return test_below(t, 3) ? 0 : (m ? m : 4) * (1 + test_below(t, 5));
    }
}

/* ---- the user's own ------------------------------------------------------------------------------------ */

/* state: m, a number to multiply by; ids up to m + bad - 1. */
COHORT_DEFINE_FN(narrow_fn, uint32_t, {
    const uint32_t *s = (const uint32_t *)state;
    return (uint32_t)(((uint64_t)(key * s[1]) * (s[0] + s[2])) >> 32);
})
COHORT_DEFINE_FN(wide_fn, uint64_t, {
    const uint32_t *s = (const uint32_t *)state;
    uint32_t folded = (uint32_t)(key ^ key >> 32) * s[1];
    return (uint32_t)(((uint64_t)folded * (s[0] + s[2])) >> 32);
})

static char cache_folder[] = "/tmp/cohort-test-XXXXXX";

static void remove_cache(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", cache_folder);
    if (system(command))
        return;
}

/* What is compiled for tests is kept in a folder of the program's own. */
static void own_cache(void)
{
    static int done;
    if (done++ || !mkdtemp(cache_folder))
        return;
    setenv("XDG_CACHE_HOME", cache_folder, 1);
    atexit(remove_cache);
}

/* ---- models -------------------------------------------------------------------------------------------- */

static uint64_t a_key(struct test *t, const struct column *keys)
{
    uint64_t mask = keys->width == 4 ? UINT32_MAX : UINT64_MAX;
    return keys->count && test_below(t, 8) ? column_get(keys, test_below(t, keys->count))
                                           : test_random(t) & mask;
}

/* A number for a function: mostly a key, now and then beyond all keys of 4 bytes. */
static uint64_t a_number(struct test *t, const struct column *keys)
{
    return a_key(t, keys) | (test_below(t, 8) ? 0 : test_random(t));
}

/* `count` numbers of `width` bytes, in memory of any kind or, for ids, of that of the keys. */
static struct column *data_column(struct test *t, int any, uint64_t count, uint64_t width)
{
    enum test_memory memory = any && t->kind != TEST_CPU ? (enum test_memory)test_below(t, 2) : t->memory;
    return column_new_in(t, memory, count, width);
}

static void put(struct column *c, uint64_t i, uint64_t v)
{
    if (c->width == 2)
        ((uint16_t *)c->data)[i] = (uint16_t)v;
    else
        column_put(c, i, v);
}

/* Ids for a table or for ids; a few that are none, if they may be. */
static struct column *ids_column(struct test *t, int any, uint64_t count, uint64_t width, uint64_t m,
                                 int bad_ids)
{
    struct column *c = data_column(t, any, count, width);
    uint64_t most = width == 1 ? 256 : width == 2 ? 65536 : 1ull << 32, skewed = test_below(t, 3) == 0;
    uint64_t below = m < most ? m : most, often = bad_ids ? 1 + test_below(t, 20) : 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = skewed && test_below(t, 10) ? below / 2 : test_below(t, below);
        if (often && below < most && test_below(t, often) == 0)
            id = test_below(t, 4) ? below + test_below(t, most - below) : test_below(t, 2) ? below : most - 1;
        put(c, i, id);
    }
    return c;
}

static struct column *splitters_column(struct test *t, uint64_t count, const struct column *keys)
{
    struct column *c = data_column(t, 1, count, keys->width);
    for (uint64_t i = 0; i < count; i++)
        column_put(c, i, a_key(t, keys));
    put_sorted(t, c, 0);
    return c;
}

/* So many bits that ids fit in m, or (bad) may not. */
static cohort_fn bits_of(struct test *t, uint64_t m, uint64_t key_bits, int bad_ids)
{
    uint32_t bits = 0;
    while (bits < 16 && 2ull << bits <= m)
        bits++;
    bits = bad_ids ? bits + 1 : (uint32_t)test_below(t, bits + 1);
    return cohort_fn_bits((uint32_t)test_below(t, key_bits), bits > 16 ? 16 : bits);
}

static cohort_fn ranges_of(struct test *t, const struct column *keys)
{
    uint64_t mask = keys->width == 4 ? UINT32_MAX : UINT64_MAX, a = a_number(t, keys), b = a_number(t, keys);
    if (test_below(t, 4) == 0)
        return cohort_fn_ranges(0, test_below(t, 2) ? mask : UINT64_MAX);
    if (test_below(t, 4) == 0)
        return cohort_fn_ranges(a, a);
    return cohort_fn_ranges(a < b ? a : b, a < b ? b : a);
}

static uint64_t delta_of(struct test *t, uint64_t m, unsigned key_bytes)
{
    uint64_t all = key_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    switch (test_below(t, 4)) {
    case 0:
        return 1 + test_below(t, 7);
    case 1:
        return 1 + test_random(t) % (test_below(t, 2) ? all : UINT64_MAX);
    case 2:
        return 1ull << test_below(t, 8 * key_bytes);
    default:
        return m == 1 ? all : all / m + 1;
    }
}

struct split_model split_model(struct test *t, cohort_fn_kind kind, uint64_t m, const struct column *keys,
                               int bad_ids)
{
    struct split_model model = {.m = m, .key_bytes = (unsigned)keys->width};
    uint64_t n = keys->count, m_or_2 = m ? m : 2, key_bits = 8 * keys->width;
    uint64_t table = 1 + test_below(t, 3000), splitters = m ? m - 1 : test_below(t, 4);
    struct column *data = NULL;
    model.can_fail = bad_ids || (m == 1 && (kind == COHORT_FN_BETWEEN || kind == COHORT_FN_MASKED));
    uint64_t greatest = 0;
    for (uint64_t i = 0; i < n; i++)
        greatest = column_get(keys, i) > greatest ? column_get(keys, i) : greatest;
    if (!bad_ids)
        table = greatest < 1u << 20 ? greatest + 1 : 0;
    switch (kind) {
    case COHORT_FN_BITS:
        model.fn = bits_of(t, m_or_2, key_bits, bad_ids);
        break;
    case COHORT_FN_HASH:
        model.fn = cohort_fn_hash(test_below(t, 2) ? 0 : test_random(t));
        break;
    case COHORT_FN_MODULO:
        model.fn = cohort_fn_modulo();
        break;
    case COHORT_FN_RANGES:
        model.fn = ranges_of(t, keys);
        break;
    case COHORT_FN_SPLITTERS:
        data = splitters_column(t, splitters, keys);
        model.fn = cohort_fn_splitters(column_send(data), splitters);
        break;
    case COHORT_FN_TABLE8:
        data = ids_column(t, 1, table, 1, m_or_2, bad_ids);
        model.fn = cohort_fn_table8(column_send(data), table);
        break;
    case COHORT_FN_TABLE16:
        data = ids_column(t, 1, table, 2, m_or_2, bad_ids);
        model.fn = cohort_fn_table16(column_send(data), table);
        break;
    case COHORT_FN_DELTA:
        model.fn =
            cohort_fn_delta(test_below(t, 2) ? 0 : a_number(t, keys), delta_of(t, m_or_2, model.key_bytes));
        break;
    case COHORT_FN_BETWEEN:
        model.fn = cohort_fn_between(a_number(t, keys), a_number(t, keys));
        break;
    case COHORT_FN_MASKED: {
        uint64_t mask = test_below(t, 4) ? 1ull << test_below(t, key_bits) : test_random(t);
        model.fn = cohort_fn_masked(mask, a_number(t, keys) & (test_below(t, 8) ? mask : UINT64_MAX));
        break;
    }
    case COHORT_FN_IDS8:
        data = ids_column(t, 0, n, 1, m_or_2, bad_ids);
        model.fn = cohort_fn_ids8(column_send(data));
        break;
    case COHORT_FN_IDS16:
        data = ids_column(t, 0, n, 2, m_or_2, bad_ids);
        model.fn = cohort_fn_ids16(column_send(data));
        break;
    case COHORT_FN_USER:
        own_cache();
        data = data_column(t, 1, 3, 4);
        column_put(data, 0, m_or_2);
        column_put(data, 1, test_random(t) | 1);
        column_put(data, 2, bad_ids ? 1 + m_or_2 / 10 : 0);
        model.fn = keys->width == 4 ? COHORT_FN(narrow_fn, column_send(data), 12)
                                    : COHORT_FN(wide_fn, column_send(data), 12);
        break;
    default:
        data = ids_column(t, 0, n, 4, m_or_2, bad_ids);
        model.fn = cohort_fn_ids32(column_send(data));
        break;
    }
    model.data = data ? data->data : NULL;
    return model;
}

/* ---- ids, by the words of the header ------------------------------------------------------------------- */

static uint64_t ranges_id(const cohort_fn *f, uint64_t m, uint64_t key)
{
    wide width = ((wide)f->b - f->a + 1 + m - 1) / m;
    key = key < f->a ? f->a : key > f->b ? f->b : key;
    return (uint64_t)((wide)(key - f->a) / width);
}

static uint64_t delta_id(const cohort_fn *f, uint64_t m, uint64_t key)
{
    uint64_t id = key < f->a ? 0 : (key - f->a) / f->b;
    return id < m ? id : m - 1;
}

/* How many splitters are at most the key: of up to 64 by counting, of more, which are sorted, by halving
 * first. */
static uint64_t splitters_id(const struct split_model *model, uint64_t key)
{
    uint64_t from = 0, to = model->fn.count;
#define SPLITTER(i) \
    (model->key_bytes == 4 ? ((const uint32_t *)model->data)[i] : ((const uint64_t *)model->data)[i])
    while (to - from > 64) {
        uint64_t middle = from + (to - from) / 2;
        if (SPLITTER(middle) <= key)
            from = middle;
        else
            to = middle;
    }
    uint64_t id = from;
    for (uint64_t i = from; i < to; i++)
        id += SPLITTER(i) <= key;
#undef SPLITTER
    return id;
}

static uint64_t any_id(const struct split_model *model, uint64_t key, uint64_t i)
{
    const cohort_fn *f = &model->fn;
    switch (f->kind) {
    case COHORT_FN_BITS:
        return (key >> f->a) % (1ull << f->b);
    case COHORT_FN_HASH:
        return (uint64_t)((wide)test_mix(key ^ f->a) * model->m >> 64);
    case COHORT_FN_MODULO:
        return key % model->m;
    case COHORT_FN_RANGES:
        return ranges_id(f, model->m, key);
    case COHORT_FN_SPLITTERS:
        return splitters_id(model, key);
    case COHORT_FN_TABLE8:
        return key < f->count ? ((const uint8_t *)model->data)[key] : SPLIT_NO_ID;
    case COHORT_FN_TABLE16:
        return key < f->count ? ((const uint16_t *)model->data)[key] : SPLIT_NO_ID;
    case COHORT_FN_DELTA:
        return delta_id(f, model->m, key);
    case COHORT_FN_BETWEEN:
        return f->a <= key && key <= f->b;
    case COHORT_FN_MASKED:
        return (key & f->a) == f->b;
    case COHORT_FN_IDS8:
        return ((const uint8_t *)model->data)[i];
    case COHORT_FN_IDS16:
        return ((const uint16_t *)model->data)[i];
    case COHORT_FN_IDS32:
        return ((const uint32_t *)model->data)[i];
    default: {
        uint32_t id = 0;
        uint32_t narrow = (uint32_t)key;
        f->host(1, model->key_bytes == 4 ? (const void *)&narrow : &key, model->key_bytes, model->data, &id);
        return id;
    }
    }
}

uint64_t split_model_id(const struct split_model *model, uint64_t key, uint64_t i)
{
    uint64_t id = any_id(model, key, i);
    return model->m && id >= model->m ? SPLIT_NO_ID : id;
}
