/* test_keys_text.c: strings of bytes as keys: lengths on both sides of every bound; strings that are filled
 * up with zeros, that begin alike, and that differ in one byte alone; every layout, with and without nulls,
 * for several threads, with vectors and without; buffers that end where memory does. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"
#include "core/context.h"
#include "cpu/keys.h"

#define KINDS 4u /* strings of each length */

#define ROWS 300000u /* more than a round: those behind the first ones are looked up before they are added */

/* Keys that collide take a time that grows with the square of their number. */
#ifdef KEYS_HASH_BITS
#    define MANY 10000u
#else
#    define MANY 400000u
#endif

static const uint32_t lengths[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,  11, 12, 13,  15,  16,  17,
                                   20, 23, 24, 25, 31, 32, 33, 39, 40, 41, 64, 255, 256, 4096};

#define LENGTHS (sizeof lengths / sizeof *lengths)
#define STRINGS (KINDS * LENGTHS)
#define NULL_OF (~0u) /* in the place of a string's number */

/* String i. The first kind is zeros; others begin like those of the same kind that are longer. */
static uint32_t string_of(uint32_t i, char *to)
{
    const uint32_t length = lengths[i / KINDS], kind = i % KINDS;
    for (uint32_t k = 0; k < length; k++)
        to[k] = kind ? (char)(k % 5 ? 'a' + k % 23 : 0) : 0;
    if (kind == 2 && length)
        to[length - 1] ^= 1;
    if (kind == 3 && length)
        to[length / 2] ^= (char)0x80;
    return length;
}

/* The least string that is the same. */
static uint32_t same_as(uint32_t i)
{
    static char a[4096], b[4096];
    const uint32_t length = string_of(i, a);
    for (uint32_t j = i / KINDS * KINDS; j < i; j++)
        if (string_of(j, b) == length && !memcmp(a, b, length))
            return j;
    return i;
}

/* ---- buffers that end where memory does ---------------------------------------------------------------- */

struct guarded {
    char *pages;
    uint64_t bytes, page;
};

static void *guarded_open(struct guarded *g, uint64_t bytes)
{
    g->page = (uint64_t)sysconf(_SC_PAGESIZE);
    g->bytes = (bytes + g->page - 1) / g->page * g->page;
    g->pages = mmap(NULL, g->bytes + 2 * g->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g->pages == MAP_FAILED || mprotect(g->pages, g->page, PROT_NONE) ||
        mprotect(g->pages + g->page + g->bytes, g->page, PROT_NONE))
        abort();
    return g->pages + g->page + g->bytes - bytes;
}

static void guarded_close(struct guarded *g)
{
    munmap(g->pages, g->bytes + 2 * g->page);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Strings by their numbers, in buffers of one layout. */
struct rows {
    uint64_t n;
    uint32_t *string;
    struct guarded heap, index, validity;
    const void *heaps[1];
    struct keys_column column;
};

static void rows_fill(struct rows *r, char *heap, void *index)
{
    static char text[4096];
    const uint32_t kind = r->column.kind;
    uint64_t at = 0;
    for (uint64_t i = 0; i <= r->n; i++) {
        if (kind == KEYS_OFFSETS_32)
            ((uint32_t *)index)[i] = (uint32_t)at;
        else if (kind == KEYS_OFFSETS_64)
            ((uint64_t *)index)[i] = at;
        if (i == r->n)
            break;
        const uint32_t length = r->string[i] == NULL_OF ? 0 : string_of(r->string[i], text);
        struct table_view *v = kind == KEYS_VIEWS ? (struct table_view *)index + i : NULL;
        if (v) {
            *v = (struct table_view){.length = length, .offset = (uint32_t)at};
            memcpy(v->prefix, text, length < 4 ? length : 4);
            if (r->string[i] == NULL_OF) /* anything may be there */
                *v = (struct table_view){4000000000u, {1, 2, 3, 4}, 77, 4000000000u};
        }
        if (v && length <= TABLE_VIEW_INLINE) {
            memcpy(v->prefix, text, length);
            continue;
        }
        memcpy(heap + at, text, length);
        at += length;
    }
}

static void rows_open(struct rows *r, uint32_t kind, int nulls)
{
    const uint64_t width = kind == KEYS_VIEWS ? 16 : kind == KEYS_OFFSETS_64 ? 8 : 4;
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < r->n; i++)
        if (r->string[i] != NULL_OF &&
            (kind != KEYS_VIEWS || lengths[r->string[i] / KINDS] > TABLE_VIEW_INLINE))
            bytes += lengths[r->string[i] / KINDS];
    char *heap = guarded_open(&r->heap, bytes);
    void *index = guarded_open(&r->index, (r->n + (kind != KEYS_VIEWS)) * width);
    uint8_t *valid = guarded_open(&r->validity, (r->n + 7) / 8);
    for (uint64_t i = 0; i < r->n; i++)
        valid[i / 8] |= (uint8_t)((r->string[i] != NULL_OF) << (i & 7));
    r->heaps[0] = heap;
    r->column = (struct keys_column){.kind = kind,
                                     .fill = 4,
                                     .data = kind == KEYS_VIEWS ? index : heap,
                                     .offsets = index,
                                     .heaps = r->heaps,
                                     .validity = nulls ? valid : NULL};
    rows_fill(r, heap, index);
}

static void rows_close(struct rows *r)
{
    guarded_close(&r->heap);
    guarded_close(&r->index);
    guarded_close(&r->validity);
}

/* ---- numbers of first rows ----------------------------------------------------------------------------- */

/* The ids of strings, and of null behind them. */
struct numbers {
    uint32_t of[STRINGS + 1], least[STRINGS], count;
};

static void numbers_open(struct numbers *n)
{
    n->count = 0;
    memset(n->of, 0xff, sizeof n->of);
    for (uint32_t i = 0; i < STRINGS; i++)
        n->least[i] = same_as(i);
}

static uint32_t *number_of(struct numbers *n, uint32_t string)
{
    return &n->of[string == NULL_OF ? STRINGS : n->least[string]];
}

static void numbers_add(struct numbers *n, const struct rows *r, int skips_nulls)
{
    for (uint64_t i = 0; i < r->n; i++) {
        uint32_t *of = number_of(n, r->string[i]);
        if (*of == KEYS_NO_ID && !(skips_nulls && r->string[i] == NULL_OF))
            *of = n->count++;
    }
}

static void check_ids(struct test *t, struct numbers *n, const struct rows *r, const uint32_t *ids)
{
    for (uint64_t i = 0; i < r->n; i++)
        REQUIREF(t, ids[i] == *number_of(n, r->string[i]),
                 "row %llu, string %u of %u bytes, layout %u: id %u in place of %u", (unsigned long long)i,
                 r->string[i], r->string[i] == NULL_OF ? 0 : lengths[r->string[i] / KINDS], r->column.kind,
                 ids[i], *number_of(n, r->string[i]));
}

/* ---- cases --------------------------------------------------------------------------------------------- */

/* Strings below `early` from the first row on, others from three quarters on, and null then too; none but
 * few of them are long. */
static void draw(struct test *t, struct rows *r, uint64_t n, uint32_t early, int nulls)
{
    r->n = n;
    r->string = realloc(r->string, (n + 1) * sizeof *r->string);
    if (!r->string)
        abort();
    for (uint64_t i = 0; i < n; i++) {
        const int is_late = i >= n / 4 * 3;
        uint32_t string = (uint32_t)test_below(t, is_late ? STRINGS : early);
        if (lengths[string / KINDS] > 64 && test_below(t, 200))
            string = (uint32_t)test_below(t, KINDS * 20 < early ? KINDS * 20 : early);
        r->string[i] = nulls && is_late && !test_below(t, 10) ? NULL_OF : string;
    }
}

static void add_and_find(struct test *t, cohort_context *context, struct rows *r, uint32_t kind, int nulls,
                         int skips_nulls)
{
    const struct keys_backend *keys = context->backend->keys;
    struct keys_table table;
    struct numbers numbers;
    const uint64_t most = r->n;
    uint32_t *ids = malloc((most + 1) * 4);
    if (!ids)
        abort();
    numbers_open(&numbers);
    keys_table_open(&table);
    for (int batch = 0; batch < 3; batch++) {
        draw(t, r, batch ? most / 5 : most, batch ? STRINGS : KINDS * 3, nulls);
        rows_open(r, kind, nulls);
        r->column.skips_nulls = skips_nulls;
        struct keys_batch b = {.n = r->n, .bytes = &r->column, .ids = ids, .passing = 1};
        if (batch == 0) /* nothing is known yet */
            OK(t, keys->find(context, &table, &b));
        if (batch == 0)
            check_ids(t, &numbers, r, ids);
        OK(t, batch == 2 ? keys->find(context, &table, &b) : keys->add(context, &table, &b));
        if (batch < 2)
            numbers_add(&numbers, r, skips_nulls);
        check_ids(t, &numbers, r, ids);
        EQUAL(t, table.count, numbers.count);
        pool_give(context, b.first);
        rows_close(r);
    }
    keys->drop(context, &table);
    free(ids);
}

static void layouts(struct test *t)
{
    static const uint32_t threads[] = {1, 2, 3, 7}, kinds[] = {KEYS_OFFSETS_32, KEYS_OFFSETS_64, KEYS_VIEWS};
    struct rows r = {0};
    for (uint32_t i = 0; i < 12; i++) {
        cohort_context_options options = test_context_options(t);
        cohort_context *context = NULL;
        options.threads = threads[i / 3];
        OK(t, cohort_context_create(&options, &context));
        const enum cpu_level most = cpu_device(context)->level;
        const int nulls = test_below(t, 2) != 0, skips_nulls = test_below(t, 2) != 0;
        for (int plain = 0; plain < 2; plain++) {
            cpu_device(context)->level = plain ? CPU_PLAIN : most;
            r.n = test_scale(t, ROWS, ROWS, 3 * ROWS) - test_below(t, 3000);
            add_and_find(t, context, &r, kinds[i % 3], nulls, skips_nulls);
        }
        cohort_context_destroy(context);
    }
    free(r.string);
}

/* Many strings, most of which are new, and which long remain new: a number each, in digits. */
static void many(struct test *t)
{
    const uint64_t n = test_scale(t, MANY / 4, MANY, 2 * MANY);
    uint32_t *number = malloc(n * 4), *id = malloc(2 * n * 4), *ids = malloc(n * 4), next = 0;
    struct guarded heap, offsets;
    char *text = guarded_open(&heap, n * 32);
    uint64_t *at = guarded_open(&offsets, (n + 1) * 8), *first = NULL;
    if (!number || !id || !ids)
        abort();
    memset(id, 0xff, 2 * n * 4);
    for (uint64_t i = 0; i < n; i++) {
        number[i] = (uint32_t)test_below(t, 2 * n);
        at[i + 1] = at[i] + (uint64_t)sprintf(text + at[i], "%0*u", 1 + (int)(number[i] % 25), number[i]);
    }
    const struct keys_column c = {.kind = KEYS_OFFSETS_64, .fill = 4, .data = text, .offsets = at};
    struct keys_batch b = {.n = n, .bytes = &c, .ids = ids};
    struct keys_table table;
    keys_table_open(&table);
    OK(t, t->context->backend->keys->add(t->context, &table, &b));
    first = b.first;
    for (uint64_t i = 0; i < n; i++) {
        if (id[number[i]] == KEYS_NO_ID)
            CHECK(t, first[next] == i);
        id[number[i]] = id[number[i]] == KEYS_NO_ID ? next++ : id[number[i]];
        REQUIREF(t, ids[i] == id[number[i]], "row %llu: id %u in place of %u", (unsigned long long)i, ids[i],
                 id[number[i]]);
    }
    EQUAL(t, b.firsts, next);
    memset(ids, 0, n * 4);
    OK(t, t->context->backend->keys->find(t->context, &table, &b));
    for (uint64_t i = 0; i < n; i++)
        CHECK(t, ids[i] == id[number[i]]);
    pool_give(t->context, first);
    t->context->backend->keys->drop(t->context, &table);
    guarded_close(&heap);
    guarded_close(&offsets);
    free(number);
    free(id);
    free(ids);
}

/* The last string of a heap, of each length, alone and behind others; before it and behind it is no
 * memory. */
static void ends(struct test *t)
{
    struct rows r = {.string = calloc(300, 4)};
    struct numbers numbers;
    const enum cpu_level most = cpu_device(t->context)->level;
    const struct keys_backend *keys = t->context->backend->keys;
    if (!r.string)
        abort();
    for (uint32_t i = 0; i < 6 * STRINGS; i++) {
        struct keys_table table;
        uint32_t ids[300];
        r.n = 1 + (i % 3 ? test_below(t, 299) : 0);
        for (uint64_t row = 0; row < r.n; row++)
            r.string[row] = row + 1 == r.n ? i / 6 : (uint32_t)test_below(t, KINDS * 9);
        rows_open(&r, i & 1 ? KEYS_VIEWS : KEYS_OFFSETS_32, 0);
        cpu_device(t->context)->level = i / 2 % 3 ? most : CPU_PLAIN;
        struct keys_batch b = {.n = r.n, .bytes = &r.column, .ids = ids, .passing = 1};
        numbers_open(&numbers);
        numbers_add(&numbers, &r, 0);
        keys_table_open(&table);
        OK(t, keys->add(t->context, &table, &b));
        check_ids(t, &numbers, &r, ids);
        OK(t, keys->find(t->context, &table, &b));
        check_ids(t, &numbers, &r, ids);
        pool_give(t->context, b.first);
        keys->drop(t->context, &table);
        rows_close(&r);
    }
    cpu_device(t->context)->level = most;
    free(r.string);
}

/* A hash is the same with vectors and without, wherever the string lies; no two strings here have the same
 * one, if all of its bits are there. */
static void hashes(struct test *t)
{
    static char text[4096 + 64], heap[STRINGS][4096 + 64];
    uint64_t plain[STRINGS], vector[STRINGS];
    uint8_t states[KEYS_BLOCK];
    struct keys_text texts[KEYS_BLOCK];
    for (uint32_t i = 0; i < STRINGS; i++) {
        const uint32_t length = string_of(i, text), shift = (uint32_t)test_below(t, 64);
        memcpy(heap[i] + shift, text, length);
        uint64_t offsets[2] = {shift, shift + length};
        const struct keys_column c = {.kind = KEYS_OFFSETS_64, .data = heap[i], .offsets = offsets};
        keys_load_text(keys_seed(), cpu_device(t->context)->level, &c, 0, 1, texts, &vector[i], states);
        plain[i] = keys_hash_text(keys_seed(), (struct keys_text){text, length});
        EQUAL(t, vector[i], plain[i]);
        for (uint32_t j = 0; j < i; j++)
#ifdef KEYS_HASH_BITS
            CHECK(t, plain[i] <= KEYS_HASH_BITS && plain[j] <= KEYS_HASH_BITS);
#else
            CHECK(t, (plain[i] == plain[j]) == (same_as(i) == same_as(j)));
#endif
    }
}

const struct test_case test_cases[] = {{"layouts", layouts, TEST_ON_CPU},
                                       {"many", many, TEST_ON_CPU},
                                       {"ends", ends, TEST_ON_CPU},
                                       {"hashes", hashes, TEST_ON_CPU},
                                       {NULL, NULL, 0}};
