/* test_files_lines.c: tables of LINES in files: what hostile ones get. What they answer where they are mapped
 * is in test_files_table.c. */
#include "hostile.h"

/* How a home lies: a word, in whose bits the names come first, then the claims of its slots, then the lock;
 * and the slots' keys. */
struct home {
    uint64_t bytes;
    unsigned slots, names;
};

static struct home home_of(cohort_width width)
{
    static const struct home homes[] = {{0, 0, 0},   {32, 6, 30}, {32, 3, 30}, {32, 3, 30},
                                        {64, 4, 28}, {64, 3, 30}, {64, 2, 30}};
    return homes[width];
}

static void opens(struct test *t, const struct folder *f, struct bytes *b)
{
    cohort_map *map = NULL;
    uint64_t size = 0;
    seal(t, f->file, b, SECTIONS);
    OK(t, cohort_map_map(t->context, f->file, &map));
    OK(t, cohort_map_size(map, &size));
    EQUAL(t, size, 4);
    cohort_map_destroy(map);
}

static void hostile_word(struct test *t, const struct folder *f, struct bytes *b, uint64_t at, uint64_t word)
{
    unsigned char bytes[8];
    file_put(bytes, word);
    hostile_bytes(t, f, b, at, bytes, 8, NULL);
}

/* A home's word with each bit altered up to the lock, behind which the version begins; and with a claim of
 * another slot than that of a pair. */
static void hostile_home(struct test *t, const struct folder *f, struct bytes *b, uint64_t at)
{
    const struct home h = home_of(t->width);
    const uint64_t was = file_get(b->data + at);
    for (unsigned bit = 0; bit <= h.names + h.slots; bit++)
        hostile_word(t, f, b, at, was ^ 1ull << bit);
    for (unsigned j = 0; j < h.slots * h.slots; j++) {
        const uint64_t had = 1ull << (h.names + j / h.slots), more = 1ull << (h.names + j % h.slots);
        if (was & had && !(was & more))
            hostile_word(t, f, b, at, (was & ~had) | more);
    }
    file_put(b->data + at, was + (1ull << 62));
    opens(t, f, b);
    file_put(b->data + at, was);
}

/* A slot's pair with the key of another: it has another home, or is there twice. */
static void hostile_key(struct test *t, const struct folder *f, struct bytes *b, uint64_t at)
{
    const unsigned wide = (unsigned)key_bytes(t->width);
    for (uint64_t i = 0; i < 5; i++) {
        unsigned char key[16];
        key_write(key, UINT64_MAX - i, t->width);
        if (i != 3 && memcmp(b->data + at, key, wide))
            hostile_bytes(t, f, b, at, key, wide, "home");
    }
}

static void homes(struct test *t)
{
    struct folder f = folder_new(t);
    t->layout = COHORT_LAYOUT_LINES;
    struct bytes b = sample(t, &f, 0);
    const struct home h = home_of(t->width);
    const uint64_t wide = key_bytes(t->width);
    const uint64_t count = file_get(b.data + NUMBERS + 8 * SLOTS) / h.slots,
                   counters = TABLE + file_get(b.data + 24 + 16);
    unsigned pairs = 0;
    for (uint64_t home = 0; home < count; home++) {
        const uint64_t at = TABLE + home * h.bytes, word = file_get(b.data + at);
        hostile_home(t, &f, &b, at);
        for (unsigned j = 0; j < h.slots; j++)
            if (word >> (h.names + j) & 1 && ++pairs)
                hostile_key(t, &f, &b, at + (wide == 16 ? 16 : 8) + j * wide);
    }
    EQUAL(t, pairs, 4);
    for (uint64_t number = 0; number < 2; number++) {
        unsigned char counter[8];
        file_put(counter, file_get(b.data + counters + 8 * number) + 1);
        hostile_bytes(t, &f, &b, counters + 8 * number, counter, 8, "taken");
    }
    opens(t, &f, &b);
    free(b.data);
    folder_end(t, &f);
}

static void numbers(struct test *t)
{
    struct folder f = folder_new(t);
    t->layout = COHORT_LAYOUT_LINES;
    struct bytes b = sample(t, &f, 0);
    const uint64_t slots = file_get(b.data + NUMBERS + 8 * SLOTS);
    const struct {
        unsigned field;
        uint64_t value;
        const char *word;
    } cases[] = {{LAYOUT, 0, NULL},         {LAYOUT, 2, "layout"},        {PROBE, 1, "probe"},
                 {SLOTS, slots + 1, NULL},  {SLOTS, slots * 2, NULL},     {SLOTS, 0, "slots"},
                 {SLOTS, 1ull << 62, NULL}, {SLOTS, UINT64_MAX, "slots"}, {GROUP, 1, "group"},
                 {FILTER, 1, "filter"},     {FIELDS, 1, "reserved"}};
    EQUAL(t, file_get(b.data + NUMBERS + 8 * LAYOUT), COHORT_LAYOUT_LINES);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        hostile_number(t, &f, &b, cases[i].field, cases[i].value, COHORT_CORRUPT, cases[i].word);
    for (unsigned w = 1; w <= 6; w++)
        if (w != (unsigned)t->width)
            hostile_number(t, &f, &b, WIDTH, w, COHORT_CORRUPT, NULL);
    opens(t, &f, &b);
    free(b.data);
    folder_end(t, &f);
}

const struct test_case test_cases[] = {
    {"homes", homes, TEST_EACH_WIDTH | TEST_OF_LINES},
    {"numbers", numbers, TEST_EACH_WIDTH | TEST_OF_LINES},
    {NULL, NULL, 0},
};
