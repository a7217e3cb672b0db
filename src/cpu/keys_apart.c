/* cpu/keys_apart.c: lookups of many words in a table that is larger than the caches.
 *
 * Each row would wait for a line of the table. So words are put in order of the parts of the table that have
 * their homes (keys_parts.h), and each part is looked at by one thread: it comes into a nearer cache once,
 * front to back. The words of a part keep the order of their rows, so their ids need no row numbers to find
 * back: rows are gone through once more, and each takes the next id of its part. Rows without a word are of
 * one part more for nulls, and one for those that are no keys. A search that runs over the end of a part goes
 * on in the next one, which is only read.
 *
 * Partitioning before a join so that its table stays in the cache is Shatdal, Kant and Naughton's ("Cache
 * Conscious Algorithms for Relational Query Processing", VLDB 1994). Their partitions are joined; here only
 * words go to the parts, and ids come back, so answers are in the order of rows. */
#include "keys_parts.h"

#define SLOTS_LEAST (1ull << 21) /* of a table: fewer lie in the caches */
#define SLOTS_A_ROW 8            /* at most: else too few rows share what a part costs */
#define STEP_LEAST  (1ull << 16) /* rows at a time, */
#define STEP_MOST   (1ull << 25) /* so that they do not take long */
#define AHEAD       8u           /* words of a line: a part's next line is asked for before its turn */

struct apart {
    const struct keys_table *table;
    const struct keys_batch *batch;
    enum cpu_level level;
    uint64_t begin; /* of a step's rows */
    struct keys_parts by;
    uint64_t parts;  /* with the two of rows without a word */
    uint64_t *words; /* by part */
    uint32_t *found; /* and their ids */
    /* By range and part: where the next word goes, then where they end; where the next id comes from. */
    uint64_t *next, *from;
};

/* ---- words by parts ------------------------------------------------------------------------------------ */

/* The part of each row, in the place of its id. */
static void count_block(const struct apart *a, uint64_t at, uint32_t count, uint64_t *next)
{
    uint64_t words[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    uint64_t home[KEYS_BLOCK];
    uint32_t *part = a->batch->ids + a->begin + at;
    const uint32_t shift = a->by.shift, nulls = (uint32_t)a->by.parts;
    const int some = keys_load_rows(a->level, a->batch->words, a->begin + at, count, words, states);
    keys_homes_all(a->table, a->level, count, words, home);
    for (uint32_t i = 0; i < count; i++)
        part[i] = (uint32_t)(home[i] >> shift);
    for (uint32_t i = 0; some && i < count; i++)
        part[i] = states[i] ? nulls + (states[i] != KEYS_NULL) : part[i];
    for (uint32_t i = 0; i < count; i++)
        next[part[i]]++;
}

static void count_ranges(void *arg, uint64_t first, uint64_t last, unsigned worker)
{
    const struct apart *a = arg;
    uint64_t begin, end;
    (void)worker;
    for (uint64_t range = first; range < last; range++) {
        uint64_t *next = a->next + range * a->parts;
        memset(next, 0, a->parts * sizeof *next);
        keys_parts_range(&a->by, range, &begin, &end);
        for (uint64_t at = begin; at < end; at += KEYS_BLOCK)
            count_block(a, at, end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK, next);
    }
}

static void move_block(const struct apart *a, uint64_t at, uint32_t count, uint64_t *restrict next)
{
    uint64_t words[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    uint64_t *restrict to = a->words;
    const uint32_t *restrict part = a->batch->ids + a->begin + at;
    keys_load_rows(a->level, a->batch->words, a->begin + at, count, words, states);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t place = next[part[i]]++;
        to[place] = words[i];
        __builtin_prefetch(&to[place + AHEAD], 1);
    }
}

static void move_ranges(void *arg, uint64_t first, uint64_t last, unsigned worker)
{
    const struct apart *a = arg;
    uint64_t begin, end;
    (void)worker;
    for (uint64_t range = first; range < last; range++) {
        keys_parts_range(&a->by, range, &begin, &end);
        for (uint64_t at = begin; at < end; at += KEYS_BLOCK)
            move_block(a, at, end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK,
                       a->next + range * a->parts);
    }
}

/* ---- ids ----------------------------------------------------------------------------------------------- */

static void seek_part(const struct apart *a, uint64_t part, uint64_t begin, uint64_t end)
{
    const struct keys_table *t = a->table;
    const uint64_t stop = (part + 1) << a->by.shift;
    if (part >= a->by.parts) {
        for (uint64_t i = begin; i < end; i++)
            a->found[i] = part == a->by.parts ? t->null.id : KEYS_NO_ID;
        return;
    }
    for (uint64_t at = part << a->by.shift; at < stop && at < t->capacity; at += 4)
        __builtin_prefetch(&t->slot[at]);
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK)
        keys_seek(t, a->level, end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK, a->words + at,
                  a->found + at);
}

static void seek_parts(void *arg, uint64_t first, uint64_t last, unsigned worker)
{
    const struct apart *a = arg;
    const uint64_t *end = a->next + (a->by.ranges - 1) * a->parts;
    (void)worker;
    for (uint64_t part = first; part < last; part++)
        seek_part(a, part, part ? end[part - 1] : 0, end[part]);
}

static void answer_ranges(void *arg, uint64_t first, uint64_t last, unsigned worker)
{
    const struct apart *a = arg;
    const uint32_t *restrict found = a->found;
    uint32_t *restrict ids = a->batch->ids + a->begin;
    uint64_t begin, end;
    (void)worker;
    for (uint64_t range = first; range < last; range++) {
        uint64_t *restrict from = a->from + range * a->parts;
        keys_parts_range(&a->by, range, &begin, &end);
        for (uint64_t row = begin; row < end; row++) {
            const uint64_t at = from[ids[row]]++;
            ids[row] = found[at];
            __builtin_prefetch(&found[at + 2 * AHEAD]);
        }
    }
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static void step(cohort_context *context, struct apart *a, uint64_t begin, uint64_t rows)
{
    a->begin = begin;
    a->by = keys_parts_of(context, a->table, rows);
    a->from = a->next + a->by.ranges * a->parts;
    cpu_parallel(context, a->by.ranges, 1, count_ranges, a);
    keys_parts_place(a->next, a->by.ranges, a->parts);
    memcpy(a->from, a->next, a->by.ranges * a->parts * sizeof *a->from);
    cpu_parallel(context, a->by.ranges, 1, move_ranges, a);
    cpu_parallel(context, a->parts, 1, seek_parts, a);
    cpu_parallel(context, a->by.ranges, 1, answer_ranges, a);
}

/* Rows at a time, of steps alike; none: row by row. */
static uint64_t rows_of_step(const struct keys_table *t, const struct keys_batch *b)
{
    uint64_t most = 2 * t->capacity < STEP_LEAST ? STEP_LEAST : 2 * t->capacity;
    most = most < STEP_MOST ? most : STEP_MOST;
    if (!b->words || !t->capacity || !b->n || b->way == KEYS_BY_ROWS)
        return 0;
    if (b->way == KEYS_BY_ANY && (t->capacity < SLOTS_LEAST || b->n < t->capacity / SLOTS_A_ROW))
        return 0;
    const uint64_t steps = (b->n - 1) / most + 1;
    return (b->n - 1) / steps + 1;
}

cohort_status keys_apart_find(cohort_context *context, const struct keys_table *t, const struct keys_batch *b)
{
    struct apart a = {.table = t, .batch = b, .level = cpu_device(context)->level};
    const uint64_t rows = rows_of_step(t, b);
    if (!rows)
        return COHORT_UNSUPPORTED;
    a.by = keys_parts_of(context, t, rows);
    a.parts = a.by.parts + 2;
    cohort_status s = COHORT_OK;
    if (pool_take(context, rows * 12 + 2 * a.by.ranges * a.parts * 8, (void **)&a.words))
        return COHORT_UNSUPPORTED;
    a.next = a.words + rows;
    a.found = (uint32_t *)(a.next + 2 * a.by.ranges * a.parts);
    for (uint64_t at = 0; !s && at < b->n; at += rows) {
        step(context, &a, at, b->n - at < rows ? b->n - at : rows);
        if (b->n > rows)
            s = context_progress(context, "keys", at + rows < b->n ? at + rows : b->n, b->n);
    }
    pool_give(context, a.words);
    return s;
}
