/* test_keys_seed.c: keys that were chosen so that they meet under one seed, under this one and under others:
 * how far from their homes they come to lie; and that all are found where they lie, in tables of every size
 * that are full but for one slot. */
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "core/context.h"
#include "cpu/keys.h"

#define KEYS    1500u
#define CHOSEN  52u /* of hashes, the bits from here on are zeros: of 4,096 keys one has them */
#define LONGEST 24u
#define FAR     400u /* slots; keys that lie anywhere are not half so far from home */

struct chosen {
    uint64_t word[KEYS], text[2 * KEYS], longer[5 * KEYS]; /* texts are two words, or five */
    uint64_t wide[2][KEYS];                                /* two columns */
};

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide p = (wide)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static void check_same(struct test *t, const struct keys_seed *seed, const uint64_t *text, uint32_t words,
                       uint32_t i)
{
    struct keys_text one = {(const char *)(text + i * words), 8 * words},
                     first = {(const char *)text, 8 * words};
    CHECK(t, keys_hash_text(seed, one) == keys_hash_text(seed, first));
}

/* Words whose hashes begin alike, by trying many; short texts whose hashes are the same, since their first
 * words make a product zero; longer ones, since the second word takes back what the first one did. */
static struct chosen *choose(struct test *t, const struct keys_seed *seed)
{
    struct chosen *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    for (uint32_t i = 0; i < KEYS; i++) {
        do
            c->word[i] = test_random(t);
        while (keys_hash(seed, c->word[i]) >> CHOSEN);
        uint64_t first = test_random(t);
        c->text[2 * i] = 0 - seed->pair[0];
        c->text[2 * i + 1] = test_random(t);
        c->longer[5 * i] = first;
        c->longer[5 * i + 1] = (fold(41 * seed->text[0] ^ first, seed->text[1]) + seed->text[2]) ^ 4711;
        c->wide[0][i] = first;
        c->wide[1][i] = (fold(seed->text[0] ^ first, seed->text[1]) + seed->text[2]) ^ 4711;
        check_same(t, seed, c->text, 2, i);
        check_same(t, seed, c->longer, 5, i);
    }
    return c;
}

/* How far the farthest key is from its home. */
static uint64_t farthest(const struct keys_table *t)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < t->capacity; i++) {
        if (t->slot[i].id == KEYS_NO_ID)
            continue;
        uint64_t home = keys_home(t, t->slot[i].key), far = i < home ? i + t->capacity - home : i - home;
        most = far > most ? far : most;
    }
    return most;
}

static uint64_t farthest_of(struct test *t, const struct keys_seed *seed, const struct keys_words *words,
                            const struct keys_column *bytes, const struct keys_rows *rows)
{
    const struct keys_backend *keys = t->context->backend->keys;
    struct keys_table table;
    uint32_t ids[KEYS];
    struct keys_batch b = {.n = KEYS, .words = words, .bytes = bytes, .rows = rows, .ids = ids, .passing = 1};
    keys_table_open(&table);
    table.seed = seed;
    OK(t, keys->add(t->context, &table, &b));
    uint64_t far = farthest(&table);
    for (uint32_t i = 0; i < KEYS; i++)
        CHECK(t, ids[i] <= i);
    OK(t, keys->find(t->context, &table, &b));
    for (uint32_t i = 0; i < KEYS; i++)
        CHECK(t, ids[i] <= i);
    pool_give(t->context, b.first);
    keys->drop(t->context, &table);
    return far;
}

/* Under the seed they were chosen for they are a single line of slots; under another they are like any. */
static void spreads(struct test *t)
{
    struct keys_seed known, own;
    keys_seed_make(&known, test_random(t));
    struct chosen *c = choose(t, &known);
    const struct keys_column word = {.kind = KEYS_UNSIGNED, .bytes = 8, .data = c->word};
    const struct keys_column text = {.kind = KEYS_WIDE, .bytes = 16, .data = c->text};
    const struct keys_column longer = {.kind = KEYS_WIDE, .bytes = 40, .data = c->longer};
    const struct keys_words words = {.columns = 1, .column = &word};
    const struct keys_column two[2] = {{.kind = KEYS_UNSIGNED, .bytes = 8, .fill = 8, .data = c->wide[0]},
                                       {.kind = KEYS_UNSIGNED, .bytes = 8, .fill = 8, .data = c->wide[1]}};
    const uint32_t at[2] = {0, 64};
    const struct keys_rows rows = {.columns = 2, .words = 3, .column = two, .at = at, .nulls = 128};
    CHECK(t, farthest_of(t, &known, &words, NULL, NULL) > KEYS / 2);
    CHECK(t, farthest_of(t, &known, NULL, &text, NULL) > KEYS / 2);
    CHECK(t, farthest_of(t, &known, NULL, &longer, NULL) > KEYS / 2);
    CHECK(t, farthest_of(t, &known, NULL, NULL, &rows) > KEYS / 2);
    for (int i = 0; i < 20; i++) {
        keys_seed_make(&own, test_random(t));
        uint64_t far = farthest_of(t, &own, &words, NULL, NULL);
        uint64_t far_text = farthest_of(t, &own, NULL, &text, NULL);
        uint64_t far_longer = farthest_of(t, &own, NULL, &longer, NULL);
        uint64_t far_rows = farthest_of(t, &own, NULL, NULL, &rows);
        CHECKF(t, far < FAR && far_text < FAR && far_longer < FAR && far_rows < FAR,
               "words %llu slots from home, texts %llu and %llu, rows %llu", (unsigned long long)far,
               (unsigned long long)far_text, (unsigned long long)far_longer, (unsigned long long)far_rows);
    }
    free(c);
}

/* Keys that differ only where a mix might not carry: whatever the seed, few of them meet. */
static void patterns(struct test *t)
{
    static uint64_t key[KEYS];
    const struct keys_column word = {.kind = KEYS_UNSIGNED, .bytes = 8, .data = key};
    const struct keys_words words = {.columns = 1, .column = &word};
    for (uint32_t shift = 0; shift <= 52; shift += 4)
        for (int folded = 0; folded < 2; folded++) {
            struct keys_seed own;
            keys_seed_make(&own, test_random(t));
            for (uint64_t i = 0; i < KEYS; i++) {
                key[i] = i << shift;
                key[i] ^= folded ? key[i] >> 32 : 0; /* after the first step of the mix: i << shift */
            }
            key[0] = 1ull << 63; /* not close together */
            uint64_t far = farthest_of(t, &own, &words, NULL, NULL);
            CHECKF(t, far < FAR, "i << %u: %llu slots from home", shift, (unsigned long long)far);
        }
}

/* Short texts whose length and bytes make up for each other. */
static void lengths(struct test *t)
{
    for (int again = 0; again < 1000; again++) {
        struct keys_seed own;
        uint64_t hash[8];
        keys_seed_make(&own, test_random(t));
        for (uint64_t length = 1; length < 8; length++) {
            char bytes[8] = {(char)(0x40 ^ length)};
            hash[length] = keys_hash_text(&own, (struct keys_text){bytes, length});
            for (uint64_t i = 1; i < length; i++)
                CHECK(t, hash[i] != hash[length]);
        }
    }
}

/* A table of so many slots and keys, put in one by one; key i has the number i. */
static struct keys_table crowd(struct test *t, const struct keys_seed *seed, uint64_t slots, uint32_t keys,
                               uint64_t *key)
{
    struct keys_table table;
    keys_table_open(&table);
    table.slot = malloc(slots * sizeof *table.slot);
    if (!table.slot)
        abort();
    memset(table.slot, 0xff, slots * sizeof *table.slot);
    table.capacity = slots;
    table.seed = seed;
    for (; table.count < keys; table.count++) {
        /* Of a key that is there twice the first one is found. */
        key[table.count] = test_below(t, 20) ? test_random(t) : ~0ull >> test_below(t, 64);
        uint64_t at = keys_home(&table, key[table.count]);
        while (table.slot[at].id != KEYS_NO_ID)
            at = at + 1 < slots ? at + 1 : 0;
        table.slot[at] = (struct keys_slot){key[table.count], (uint32_t)table.count, 0};
    }
    return table;
}

static uint32_t sought(const uint64_t *key, uint32_t keys, uint64_t word)
{
    for (uint32_t i = 0; i < keys; i++)
        if (key[i] == word)
            return i;
    return KEYS_NO_ID;
}

/* Every search goes from its home on, over the end of the table if it must, to its key or an empty slot. */
static void seeks(struct test *t)
{
    const enum cpu_level levels[] = {CPU_PLAIN, cpu_device(t->context)->level};
    for (uint64_t slots = 2; slots < 80; slots++)
        for (uint32_t round = 0; round < 8; round++) {
            struct keys_seed seed;
            uint64_t key[80], word[KEYS_BLOCK];
            uint32_t ids[KEYS_BLOCK], count = 1 + (uint32_t)test_below(t, KEYS_BLOCK);
            const uint32_t keys = (uint32_t)(round ? slots - 1 : slots * 3 / 4);
            keys_seed_make(&seed, test_random(t));
            struct keys_table table = crowd(t, &seed, slots, keys, key);
            for (uint32_t i = 0; i < count; i++)
                word[i] = keys && test_below(t, 4) ? key[test_below(t, keys)] : test_random(t);
            for (int k = 0; k < 2; k++) {
                keys_seek(&table, levels[k], count, word, ids);
                for (uint32_t i = 0; i < count; i++)
                    REQUIREF(t, ids[i] == sought(key, keys, word[i]), "%llu slots, %u keys: %u, not %u",
                             (unsigned long long)slots, keys, ids[i], sought(key, keys, word[i]));
            }
            free(table.slot);
        }
}

/* A process draws its seed, and draws another one each time. */
static void draws(struct test *t)
{
    struct keys_seed a, b;
    keys_seed_draw(&a);
    keys_seed_draw(&b);
    for (int i = 0; i < 2; i++)
        CHECK(t, a.word[i] != b.word[i] && (a.word[i] & b.word[i] & 1));
    for (int i = 0; i < 4; i++) {
        CHECK(t, a.text[i] != b.text[i] && (a.text[i] & b.text[i] & 1));
        CHECK(t, a.pair[i] != b.pair[i] && a.pair[i] != a.text[i]);
    }
    CHECK(t, a.word[0] != a.word[1] && keys_seed() == keys_seed());
}

const struct test_case test_cases[] = {{"spreads", spreads, TEST_ON_CPU}, {"patterns", patterns, TEST_ON_CPU},
                                       {"lengths", lengths, TEST_ON_CPU}, {"seeks", seeks, TEST_ON_CPU},
                                       {"draws", draws, TEST_ON_CPU},     {NULL, NULL, 0}};
