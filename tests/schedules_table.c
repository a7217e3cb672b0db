/* schedules_table.c: tables as docs/map-protocol.md has them, written down a second time: the tests begin
 * with tables that the code under test has not made, and check what it leaves without its help. Tables of
 * LINES: schedules_lines.c. */
#include "schedules_lines.h"

uint64_t table_slot_bytes(const struct shape *s)
{
    return s->width == COHORT_WIDTH_32_0 ? 4 : s->width <= COHORT_WIDTH_64_0 ? 8 : 16;
}

uint64_t table_slots(const struct shape *s)
{
    if (s->lines)
        return homes_table_slots(s);
    return (uint64_t)s->pages * (s->mask + 1) * (32 / table_slot_bytes(s));
}

uint64_t table_side_slots(const struct shape *s)
{
    return s->lines ? 0 : SIDE_SLOTS;
}

/* Where the filter begins, and its words a page. */
static uint64_t filter_at(const struct shape *s)
{
    return (table_slots(s) + SIDE_SLOTS) * table_slot_bytes(s);
}

static uint64_t filter_words(const struct shape *s)
{
    return s->mask < 7 ? 1 : (s->mask + UINT64_C(1)) / 8;
}

uint64_t table_bytes(const struct shape *s)
{
    if (s->lines)
        return s->pages * UINT64_C(64);
    return filter_at(s) + (s->far ? s->pages * filter_words(s) * 8 : 0);
}

uint64_t table_empty_key(const struct shape *s)
{
    return key_mask(s->width);
}

void table_clear(const struct shape *s, void *table)
{
    memset(table, 0, table_bytes(s));
    if (!s->lines)
        memset(table, 0xff, filter_at(s));
}

/* ---- one slot ------------------------------------------------------------------------------------------ */

/* The key field and the value field as they lie there. */
static void read_slot(const struct shape *s, const void *table, uint64_t i, uint64_t *key, uint64_t *value)
{
    const char *at = (const char *)table + i * table_slot_bytes(s);
    uint64_t bytes = key_bytes(s->width) == 4 ? 4 : 8; /* of tables of pages */
    *key = *value = 0;
    memcpy(key, at, bytes);
    if (value_bytes(s->width))
        memcpy(value, at + bytes, bytes); /* a 64/32 slot holds 64/64 */
    *value &= value_mask(s->width);
}

static void write_slot(const struct shape *s, void *table, uint64_t i, uint64_t key, uint64_t value)
{
    char *at = (char *)table + i * table_slot_bytes(s);
    uint64_t bytes = key_bytes(s->width) == 4 ? 4 : 8; /* of tables of pages */
    value &= value_mask(s->width);
    memcpy(at, &key, bytes);
    if (value_bytes(s->width))
        memcpy(at + bytes, &value, bytes);
}

enum slot_state table_get(const struct shape *s, const void *table, uint64_t i, uint64_t *key,
                          uint64_t *value)
{
    if (s->lines)
        return homes_get(s, table, i, key, value);
    uint64_t slots = table_slots(s), empty = table_empty_key(s);
    read_slot(s, table, i, key, value);
    if (*key == empty)
        return SLOT_EMPTY;
    if (*key == empty - 1)
        return SLOT_ERASED;
    if (i >= slots)
        *key = *key == 0 ? empty - (i - slots) : 0x5eed; /* a side slot's key field is 0, nothing else */
    return SLOT_LIVE;
}

/* ---- where a key may be -------------------------------------------------------------------------------- */

uint32_t table_home_page(const struct shape *s, uint64_t key)
{
    if (s->lines)
        return (uint32_t)homes_home(s, key);
    return (uint32_t)((test_mix(key ^ s->seed) >> 32) * s->pages >> 32);
}

uint32_t table_home_bucket(const struct shape *s, uint64_t key)
{
    if (s->lines)
        return (uint32_t)homes_home(s, key);
    return (uint32_t)test_mix(key ^ s->seed) & s->mask;
}

/* The `b`th bucket of a walk through a page by pairs: this one and its partner, then in the next pair the
 * other way round. */
static uint64_t walk_bucket(uint64_t home, uint64_t step, uint64_t b, uint64_t mask)
{
    uint64_t pair = (home / 2 + b / 2 * step) & (mask / 2), other = b % 4 == 1 || b % 4 == 2;
    return pair * 2 + (home % 2 ^ other);
}

uint64_t table_walk(const struct shape *s, uint64_t key, uint64_t *slots)
{
    if (s->lines)
        return homes_walk(s, key, slots);
    uint64_t hash = test_mix(key ^ s->seed), words = 32 / table_slot_bytes(s), n = 0;
    uint64_t buckets = (uint64_t)s->mask + 1, step = hash >> 16 | 1, home = table_home_bucket(s, key);
    uint64_t share = buckets / (words > 2 ? 16 : 8), stretch = share > 1 ? share
                                                               : s->mask ? 2
                                                                         : 1; /* the first round */
    if (key >= table_empty_key(s) - 1) {
        slots[0] = table_slots(s) + (table_empty_key(s) - key);
        return 1;
    }
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t p = 0; p < s->reach; p++)
            for (uint64_t b = round ? stretch : 0; b < (round ? buckets : stretch); b++)
                for (uint64_t j = 0; j < words; j++) {
                    uint64_t page = (table_home_page(s, key) + p) % s->pages;
                    uint64_t bucket =
                        s->linear || !s->mask ? (home + b) & s->mask : walk_bucket(home, step, b, s->mask);
                    slots[n++] = (page * buckets + bucket) * words + j;
                }
    return n;
}

/* ---- the filter ---------------------------------------------------------------------------------------- */

/* A key's word, and its bits in it: four, of which those that are bit 63 do not count, by parts of its hash
 * times an odd number. */
static unsigned char *filter_word(const struct shape *s, const void *table, uint64_t key, uint64_t *bits)
{
    uint64_t x = test_mix(key ^ s->seed) * 0x9e3779b97f4a7c15u;
    *bits = 0;
    for (int i = 0; i < 4; i++)
        *bits |= (UINT64_C(1) << (x >> (58 - 6 * i) & 63)) & INT64_MAX;
    return (unsigned char *)(uintptr_t)table + filter_at(s) +
           8 * (table_home_page(s, key) * filter_words(s) + (x >> 32) % filter_words(s));
}

static void filter_note(const struct shape *s, void *table, uint64_t key)
{
    uint64_t bits, word;
    unsigned char *at = filter_word(s, table, key, &bits);
    memcpy(&word, at, 8);
    word |= bits;
    memcpy(at, &word, 8);
}

static int filter_knows(const struct shape *s, const void *table, uint64_t key)
{
    uint64_t bits, word;
    memcpy(&word, filter_word(s, table, key, &bits), 8);
    return (word & bits) == bits;
}

/* Does a page's filter say that all slots within reach are taken, and is one not? */
static int filter_lies(const struct shape *s, const void *table, uint64_t page)
{
    uint64_t slots = table_slots(s) / s->pages, word, key, value;
    int open = 0, says = 0;
    for (uint64_t i = 0; i < s->reach * slots; i++)
        open |= table_get(s, table, (page * slots + i) % table_slots(s), &key, &value) == SLOT_EMPTY;
    for (uint64_t i = 0; i < filter_words(s) && s->far; i++) {
        memcpy(&word, (const char *)table + filter_at(s) + 8 * (page * filter_words(s) + i), 8);
        says |= word >> 63 != 0;
    }
    return open && says;
}

/* ---- one key ------------------------------------------------------------------------------------------- */

/* Its place in the walk, or the first that is free if `free`; -1: there is none. *far: it is far from
 * home. */
static int64_t seek(const struct shape *s, const void *table, uint64_t key, int free, int *far)
{
    uint64_t slots[PLAN_SLOTS], n = table_walk(s, key, slots), k, v, words = 32 / table_slot_bytes(s);
    for (uint64_t i = 0; i < n; i++) {
        enum slot_state state = table_get(s, table, slots[i], &k, &v);
        *far = s->far && i / words >= s->far;
        if (state == SLOT_LIVE && k == key)
            return (int64_t)slots[i];
        if (state == SLOT_EMPTY || (state == SLOT_ERASED && slots[i] >= table_slots(s)))
            return free ? (int64_t)slots[i] : -1;
    }
    return -1;
}

int table_put(const struct shape *s, void *table, uint64_t key, uint64_t value)
{
    if (s->lines)
        return homes_put(s, table, key, value);
    int far = 0;
    int64_t at = seek(s, table, key, 1, &far);
    if (far && at >= 0)
        filter_note(s, table, key);
    if (at >= 0)
        write_slot(s, table, (uint64_t)at, (uint64_t)at < table_slots(s) ? key : 0, value);
    return at >= 0;
}

int table_erase(const struct shape *s, void *table, uint64_t key)
{
    if (s->lines)
        return homes_erase(s, table, key);
    int far;
    int64_t at = seek(s, table, key, 0, &far);
    if (at >= 0)
        write_slot(s, table, (uint64_t)at, table_empty_key(s) - 1, 0);
    return at >= 0;
}

int table_find(const struct shape *s, const void *table, uint64_t key, uint64_t *value)
{
    if (s->lines)
        return homes_find(s, table, key, value);
    int far;
    int64_t at = seek(s, table, key, 0, &far);
    uint64_t k;
    if (at >= 0)
        table_get(s, table, (uint64_t)at, &k, value);
    return at >= 0;
}

int table_is_full_for(const struct shape *s, const void *table, uint64_t key)
{
    uint64_t slots[PLAN_SLOTS], n = table_walk(s, key, slots), k, v;
    for (uint64_t i = 0; i < n && !s->lines; i++) /* of LINES it may be told while others hold slots */
        if (table_get(s, table, slots[i], &k, &v) == SLOT_EMPTY)
            return 0;
    return s->lines || key < table_empty_key(s) - 1;
}

/* ---- the whole table ----------------------------------------------------------------------------------- */

struct co_map_counters table_count(const struct shape *s, const void *table)
{
    struct co_map_counters c = {0};
    uint64_t key, value;
    for (uint64_t i = 0; i < table_slots(s) + table_side_slots(s); i++) {
        enum slot_state state = table_get(s, table, i, &key, &value);
        c.taken += state != SLOT_EMPTY;
        c.erased += state == SLOT_ERASED;
    }
    return c;
}

int table_check(const struct shape *s, const void *table, const struct co_map_counters *counters, char *text,
                size_t bytes)
{
    if (s->lines)
        return homes_check(s, table, counters, text, bytes);
    struct co_map_counters due = table_count(s, table);
    uint64_t key, value;
    for (uint64_t page = 0; page < s->pages; page++)
        if (filter_lies(s, table, page)) {
            snprintf(text, bytes,
                     "the filter of page %llu says that all within reach is taken, and a slot is not",
                     (unsigned long long)page);
            return 0;
        }
    for (uint64_t i = 0; i < table_slots(s) + table_side_slots(s); i++) {
        int far = 0;
        if (table_get(s, table, i, &key, &value) != SLOT_LIVE)
            continue;
        if (seek(s, table, key, 0, &far) == (int64_t)i && (!far || filter_knows(s, table, key)))
            continue;
        if (far && !filter_knows(s, table, key)) {
            snprintf(text, bytes,
                     "key %#llx lies far from home in slot %llu, and the filter does not know it",
                     (unsigned long long)key, (unsigned long long)i);
            return 0;
        }
        snprintf(
            text, bytes,
            "key %#llx is live in slot %llu, which its search does not come to: it is live twice, or in a "
            "slot after an empty one, or out of its reach",
            (unsigned long long)key, (unsigned long long)i);
        return 0;
    }
    if (counters->taken == due.taken && counters->erased == due.erased)
        return 1;
    snprintf(text, bytes, "the counters say %llu taken, %llu erased; there are %llu and %llu",
             (unsigned long long)counters->taken, (unsigned long long)counters->erased,
             (unsigned long long)due.taken, (unsigned long long)due.erased);
    return 0;
}

cohort_map_view table_view(const struct shape *s, void *table, struct co_map_counters *counters)
{
    cohort_map_view v = {.version = s->lines ? CO_LINES_VIEW_VERSION : CO_MAP_VIEW_VERSION,
                         .width = (co_u32)s->width,
                         .slots = table,
                         .counters = counters,
                         .seed = s->seed,
                         .pages = s->pages,
                         .mask = s->mask,
                         .reach = s->reach,
                         .linear = s->linear,
                         .far = s->far,
                         .filter = s->far ? (co_u64 *)(void *)((char *)table + filter_at(s)) : NULL};
    return v;
}
