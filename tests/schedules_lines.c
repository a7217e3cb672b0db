/* schedules_lines.c: tables of LINES as docs/hopscotch-protocol.md has them, written down a second time:
 * for schedules_table.c, which does the same for tables of pages and calls these where a shape says so. */
#include "schedules_lines.h"

struct sizes {
    uint64_t slots, near, far; /* slots of a home; homes of a window */
    uint64_t bytes;            /* of a home */
};

static struct sizes sizes_of(const struct shape *s)
{
    static const struct sizes all[] = {{0, 0, 0, 0},  {6, 2, 3, 32}, {3, 5, 5, 32}, {3, 5, 5, 32},
                                       {4, 4, 3, 64}, {3, 5, 5, 64}, {2, 7, 8, 64}};
    return all[s->width];
}

uint64_t homes_window(cohort_width width)
{
    const struct shape s = {.width = width};
    return sizes_of(&s).near + sizes_of(&s).far;
}

uint64_t homes_table_slots(const struct shape *s)
{
    return s->pages * sizes_of(s).slots;
}

uint64_t homes_home(const struct shape *s, uint64_t key)
{
    uint64_t words[2] = {key, 0}, high = 0;
    if (key_bytes(s->width) == 16) {
        key_words(key, words);
        high = test_mix(words[1] ^ s->seed);
    }
    return (test_mix(words[0] ^ high ^ s->seed) >> 32) * s->pages >> 32;
}

/* ---- words --------------------------------------------------------------------------------------------- */

static uint64_t word_get(const struct shape *s, const void *table, uint64_t home)
{
    uint64_t w;
    memcpy(&w, (const char *)table + home * sizes_of(s).bytes, 8);
    return w;
}

static void word_set(const struct shape *s, void *table, uint64_t home, uint64_t w)
{
    memcpy((char *)table + home * sizes_of(s).bytes, &w, 8);
}

static uint64_t all_names(const struct shape *s)
{
    return (sizes_of(s).near + sizes_of(s).far) * sizes_of(s).slots;
}

static uint64_t claim_bit(const struct shape *s, uint64_t slot)
{
    return UINT64_C(1) << (all_names(s) + slot % sizes_of(s).slots);
}

static uint64_t version_bit(const struct shape *s)
{
    return UINT64_C(2) << (all_names(s) + sizes_of(s).slots);
}

/* Where a home's first key lies: behind its word; one of 16 bytes at a multiple of these. */
static uint64_t keys_at(const struct shape *s)
{
    return key_bytes(s->width) == 16 ? 16 : 8;
}

/* Where a slot's key lies, and its value: bytes from the table's beginning. */
static uint64_t key_place(const struct shape *s, uint64_t slot)
{
    uint64_t each = sizes_of(s).slots;
    return slot / each * sizes_of(s).bytes + keys_at(s) + slot % each * key_bytes(s->width);
}

static uint64_t value_place(const struct shape *s, uint64_t slot)
{
    uint64_t each = sizes_of(s).slots;
    return slot / each * sizes_of(s).bytes + keys_at(s) + each * key_bytes(s->width) +
           slot % each * value_bytes(s->width);
}

/* ---- windows ------------------------------------------------------------------------------------------- */

/* The slots of a home's window, by their names. */
static uint64_t window_of(const struct shape *s, uint64_t home, uint64_t *slots)
{
    const struct sizes z = sizes_of(s);
    const int partners = s->pages > z.near + z.far;
    uint64_t n = 0, homes = partners ? z.near + z.far : s->pages;
    uint64_t away = (test_mix(home) >> 32) * (s->pages - (partners ? homes - 1 : 0)) >> 32;
    for (uint64_t i = 0; i < homes; i++) {
        uint64_t at = partners && i >= z.near ? home + away + i : home + i;
        for (uint64_t j = 0; j < z.slots; j++)
            slots[n++] = at % s->pages * z.slots + j;
    }
    return n;
}

uint64_t homes_walk(const struct shape *s, uint64_t key, uint64_t *slots)
{
    return window_of(s, homes_home(s, key), slots);
}

enum slot_state homes_get(const struct shape *s, const void *table, uint64_t i, uint64_t *key,
                          uint64_t *value)
{
    *value = 0;
    *key = key_read((const char *)table + key_place(s, i), s->width);
    memcpy(value, (const char *)table + value_place(s, i), value_bytes(s->width));
    return word_get(s, table, i / sizes_of(s).slots) & claim_bit(s, i) ? SLOT_LIVE : SLOT_EMPTY;
}

/* The name of a key, which its home names; -1: it is not in. */
static int name_of(const struct shape *s, const void *table, uint64_t key, uint64_t *slot)
{
    uint64_t slots[PLAN_SLOTS], n = homes_walk(s, key, slots), w = word_get(s, table, homes_home(s, key)), k,
                                v;
    for (uint64_t i = 0; i < n; i++) {
        homes_get(s, table, slots[i], &k, &v);
        *slot = slots[i];
        if (w >> i & 1 && k == key)
            return (int)i;
    }
    return -1;
}

int homes_put(const struct shape *s, void *table, uint64_t key, uint64_t value)
{
    uint64_t slots[PLAN_SLOTS], n = homes_walk(s, key, slots), home = homes_home(s, key), i = 0, at;
    value &= value_mask(s->width);
    if (name_of(s, table, key, &at) < 0) {
        while (i < n && word_get(s, table, slots[i] / sizes_of(s).slots) & claim_bit(s, slots[i]))
            i++;
        if (i == n)
            return 0;
        at = slots[i];
        uint64_t lies_in = at / sizes_of(s).slots;
        word_set(s, table, lies_in, word_get(s, table, lies_in) | claim_bit(s, at));
        word_set(s, table, home, (word_get(s, table, home) | UINT64_C(1) << i) + version_bit(s));
    }
    key_write((char *)table + key_place(s, at), key, s->width);
    memcpy((char *)table + value_place(s, at), &value, value_bytes(s->width));
    return 1;
}

int homes_erase(const struct shape *s, void *table, uint64_t key)
{
    uint64_t home = homes_home(s, key), at;
    int name = name_of(s, table, key, &at);
    if (name < 0)
        return 0;
    word_set(s, table, home, (word_get(s, table, home) & ~(UINT64_C(1) << name)) + version_bit(s));
    uint64_t lies_in = at / sizes_of(s).slots;
    word_set(s, table, lies_in, word_get(s, table, lies_in) & ~claim_bit(s, at));
    return 1;
}

int homes_find(const struct shape *s, const void *table, uint64_t key, uint64_t *value)
{
    uint64_t at, k;
    if (name_of(s, table, key, &at) < 0)
        return 0;
    homes_get(s, table, at, &k, value);
    return 1;
}

/* ---- the whole table ----------------------------------------------------------------------------------- */

/* A slot that is claimed has a key, whose home names it, and no other slot with that key. */
static const char *wrong_slot(const struct shape *s, const void *table, uint64_t slot)
{
    uint64_t key, value, at;
    if (homes_get(s, table, slot, &key, &value) != SLOT_LIVE)
        return NULL;
    if (name_of(s, table, key, &at) < 0)
        return "is claimed, and its key's home names no slot with that key";
    return at == slot ? NULL : "is claimed, and its key's home names another slot with that key";
}

int homes_check(const struct shape *s, const void *table, const struct co_map_counters *counters, char *text,
                size_t bytes)
{
    uint64_t live = 0, named = 0, key, value;
    for (uint64_t i = 0; i < homes_table_slots(s); i++) {
        const char *wrong = wrong_slot(s, table, i);
        homes_get(s, table, i, &key, &value);
        live += word_get(s, table, i / sizes_of(s).slots) & claim_bit(s, i) ? 1 : 0;
        if (!wrong)
            continue;
        snprintf(text, bytes, "slot %llu, with key %#llx, %s", (unsigned long long)i, (unsigned long long)key,
                 wrong);
        return 0;
    }
    for (uint64_t home = 0; home < s->pages; home++) {
        uint64_t w = word_get(s, table, home);
        named += (uint64_t)__builtin_popcountll(w & ((UINT64_C(1) << all_names(s)) - 1));
        if (w >> (all_names(s) + sizes_of(s).slots) & 1) {
            snprintf(text, bytes, "home %llu is locked", (unsigned long long)home);
            return 0;
        }
    }
    if (named == live && counters->taken == live && !counters->erased)
        return 1;
    snprintf(text, bytes, "%llu slots are claimed, %llu named; the counters say %llu taken, %llu erased",
             (unsigned long long)live, (unsigned long long)named, (unsigned long long)counters->taken,
             (unsigned long long)counters->erased);
    return 0;
}

int homes_check_bystanders(const struct plan *p, const void *table, char *text, size_t bytes)
{
    for (uint64_t i = 0; i < homes_table_slots(&p->shape); i++) {
        uint64_t key, value, is = 0;
        int ours = homes_get(&p->shape, p->table, i, &key, &value) != SLOT_LIVE;
        for (unsigned k = 0; k < p->key_count; k++)
            ours |= key == p->keys[k];
        if (ours || (homes_find(&p->shape, table, key, &is) && is == value))
            continue;
        snprintf(text, bytes, "key %#llx was lost or changed, and no operation has that key",
                 (unsigned long long)key);
        return 0;
    }
    return 1;
}
