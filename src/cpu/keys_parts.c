/* cpu/keys_parts.c: numbering many keys most of which are new.
 *
 * A table that is larger than the caches would be asked for a line by every row. So rows are put in order of
 * the parts of the table that their words have their homes in, each a run of slots that stays in a nearer
 * cache, and each part is done by one thread, without atomic operations. A part's rows stay in their order,
 * so who claims a slot is the first row of its key, and a bitmap of first rows gives the numbers, as in
 * keys_add.c. Rows whose search runs over the end of their part, of which there are few, are done by one
 * thread when all parts are. */
#include "keys_parts.h"

#define AHEAD      4u           /* entries of a line: a part's next line is asked for before its turn */
#define MOST_SLOTS (1ull << 31) /* an entry holds a slot's number and a bit */
#define NULL_ROW   (KEYS_NO_ID - 1)
#define REPEAT_ROW (KEYS_NO_ID - 2) /* its key is there before */
#define REPEATED   0x80000000u      /* in an entry's slot: that of its row is */
#define LATE       0xffffffffu

struct entry {
    uint64_t key;
    uint32_t row, slot;
};

struct parts {
    struct keys_table *table;
    struct keys_batch *batch;
    enum cpu_level level;
    uint64_t begin, rows;
    struct keys_parts by;
    uint64_t *words; /* by row, until all are entries */
    struct entry *entry;
    uint64_t *next;   /* by range and part: the next entry; then where they end */
    uint64_t *late;   /* by part: how many */
    uint64_t *null;   /* by range: the first row that is null */
    uint64_t *is_new; /* a bitmap of rows: first ones */
    uint64_t *rank;   /* by its words: first rows before */
    uint32_t null_id;
    int all_new; /* every row is a first one */
};

/* ---- rows by parts ------------------------------------------------------------------------------------- */

static void load_block(struct parts *p, uint64_t at, uint32_t count, uint64_t *next, uint64_t *null)
{
    uint8_t states[KEYS_BLOCK];
    uint64_t homes[KEYS_BLOCK], *words = p->words + at;
    uint32_t *ids = p->batch->ids + p->begin + at;
    int some = keys_load_rows(p->level, p->batch->words, p->begin + at, count, words, states);
    memset(ids, 0, count * sizeof *ids);
    for (uint32_t i = 0; some && i < count; i++) {
        ids[i] = states[i] == KEYS_NONE ? KEYS_NO_ID : states[i] ? NULL_ROW : 0;
        if (states[i] == KEYS_NULL && *null == ~0ull)
            *null = at + i;
    }
    const uint32_t shift = p->by.shift;
    keys_homes_all(p->table, p->level, count, words, homes);
    for (uint32_t i = 0; i < count; i++)
        next[homes[i] >> shift] += !some || !ids[i];
}

static void load_ranges(void *arg, uint64_t from, uint64_t to, unsigned worker)
{
    struct parts *p = arg;
    uint64_t begin, end;
    (void)worker;
    for (uint64_t range = from; range < to; range++) {
        keys_parts_range(&p->by, range, &begin, &end);
        p->null[range] = ~0ull;
        memset(p->next + range * p->by.parts, 0, p->by.parts * sizeof *p->next);
        for (uint64_t at = begin; at < end; at += KEYS_BLOCK)
            load_block(p, at, end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK,
                       p->next + range * p->by.parts, &p->null[range]);
    }
}

static void move_block(struct parts *p, uint64_t at, uint32_t count, uint64_t *next)
{
    const uint32_t *ids = p->batch->ids + p->begin + at, shift = p->by.shift;
    const uint64_t *words = p->words + at;
    struct entry *entry = p->entry;
    uint64_t homes[KEYS_BLOCK];
    keys_homes_all(p->table, p->level, count, words, homes);
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i])
            continue;
        struct entry *e = &entry[next[homes[i] >> shift]++];
        e->key = words[i];
        e->row = (uint32_t)(at + i);
        __builtin_prefetch(e + AHEAD, 1);
    }
}

static void move_ranges(void *arg, uint64_t from, uint64_t to, unsigned worker)
{
    struct parts *p = arg;
    uint64_t begin, end;
    (void)worker;
    for (uint64_t range = from; range < to; range++) {
        keys_parts_range(&p->by, range, &begin, &end);
        for (uint64_t at = begin; at < end; at += KEYS_BLOCK)
            move_block(p, at, end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK,
                       p->next + range * p->by.parts);
    }
}

/* ---- slots --------------------------------------------------------------------------------------------- */

static struct entry *end_of(const struct parts *p, uint64_t part)
{
    return p->entry + p->next[(p->by.ranges - 1) * p->by.parts + part];
}

static struct entry *begin_of(const struct parts *p, uint64_t part)
{
    return part ? end_of(p, part - 1) : p->entry;
}

/* Where the slots of a part end. */
static uint64_t stop_of(const struct parts *p, uint64_t part)
{
    uint64_t stop = (part + 1) << p->by.shift;
    return stop < p->table->capacity ? stop : p->table->capacity;
}

/* Looks at one slot. 0: another key is in it. A key that claims its slot gets the id that it has if all rows
 * are new, as they often are: then that is all. */
static int try_slot(struct parts *p, struct entry *e, uint64_t at)
{
    struct keys_slot *s = &p->table->slot[at];
    if (s->id == KEYS_NO_ID) {
        *s = (struct keys_slot){e->key, (uint32_t)p->table->count + e->row, e->row};
        e->slot = (uint32_t)at;
        return 1;
    }
    if (s->key != e->key)
        return 0;
    e->slot = (uint32_t)at | REPEATED;
    p->batch->ids[p->begin + e->row] = REPEAT_ROW;
    return 1;
}

static void seek_parts(void *arg, uint64_t from, uint64_t to, unsigned worker)
{
    struct parts *p = arg;
    const struct keys_homes homes = keys_homes_of(p->table);
    (void)worker;
    for (uint64_t part = from; part < to; part++) {
        const uint64_t stop = stop_of(p, part);
        for (uint64_t at = part << p->by.shift; at < stop; at += 4)
            __builtin_prefetch(&p->table->slot[at], 1);
        p->late[part] = 0;
        for (struct entry *e = begin_of(p, part); e < end_of(p, part); e++) {
            uint64_t at = keys_home_in(homes, e->key);
            while (at < stop && !try_slot(p, e, at))
                at++;
            if (at == stop) {
                e->slot = LATE;
                p->late[part]++;
            }
        }
    }
}

static void seek_late(struct parts *p)
{
    for (uint64_t part = 0; part < p->by.parts; part++)
        for (struct entry *e = begin_of(p, part); p->late[part] && e < end_of(p, part); e++) {
            if (e->slot != LATE)
                continue;
            uint64_t at = keys_after(p->table, stop_of(p, part) - 1);
            while (!try_slot(p, e, at))
                at = keys_after(p->table, at);
            p->late[part]--;
        }
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* The first null row of all, or all ones. */
static uint64_t first_null(const struct parts *p)
{
    for (uint64_t range = 0; range < p->by.ranges; range++)
        if (p->null[range] != ~0ull)
            return p->null[range];
    return ~0ull;
}

static void mark_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct parts *p = arg;
    const uint32_t *ids = p->batch->ids + p->begin;
    (void)worker;
    for (uint64_t word = begin; word < end; word++) {
        uint64_t bits = 0, row = word * 64;
        for (uint64_t i = 0; i < 64 && row + i < p->rows; i++)
            bits |= (uint64_t)!ids[row + i] << i;
        p->is_new[word] = bits;
    }
}

static uint32_t id_of(const struct parts *p, uint64_t row)
{
    uint64_t below = p->is_new[row / 64] & ((1ull << (row & 63)) - 1);
    return (uint32_t)(p->table->count + p->rank[row / 64] + (unsigned)__builtin_popcountll(below));
}

/* Ids of first rows, and of null ones. */
static void answer_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct parts *p = arg;
    struct keys_batch *b = p->batch;
    uint32_t *ids = b->ids + p->begin;
    (void)worker;
    for (uint64_t word = begin; word < end; word++) {
        uint64_t next = p->rank[word], row = word * 64;
        for (uint64_t i = 0; i < 64 && row + i < p->rows; i++) {
            if (ids[row + i] == NULL_ROW)
                ids[row + i] = p->null_id;
            if (!(p->is_new[word] >> i & 1))
                continue;
            if (!b->passing)
                b->first[b->firsts + next] = p->begin + row + i;
            ids[row + i] = (uint32_t)(p->table->count + next++);
        }
    }
}

static void number_parts(void *arg, uint64_t from, uint64_t to, unsigned worker)
{
    struct parts *p = arg;
    uint32_t *ids = p->batch->ids + p->begin;
    (void)worker;
    for (uint64_t part = from; part < to; part++)
        for (struct entry *e = begin_of(p, part); e < end_of(p, part); e++) {
            struct keys_slot *s = &p->table->slot[e->slot & ~REPEATED];
            if (e->slot & REPEATED)
                ids[e->row] = s->id;
            else
                s->id = id_of(p, e->row);
        }
}

static void number(cohort_context *context, struct parts *p)
{
    struct keys_table *t = p->table;
    uint64_t sum = 0, words = (p->rows + 63) / 64, null = first_null(p);
    int null_is_new = null != ~0ull && t->null.id == KEYS_NO_ID;
    cpu_parallel(context, words, KEYS_GRAIN / 64, mark_part, p);
    if (null_is_new)
        p->is_new[null / 64] |= 1ull << (null & 63);
    for (uint64_t word = 0; word < words; word++) {
        p->rank[word] = sum;
        sum += (unsigned)__builtin_popcountll(p->is_new[word]);
    }
    p->all_new = sum == p->rows;
    if (null_is_new)
        t->null.id = id_of(p, null);
    p->null_id = t->null.id;
    cpu_parallel(context, words, KEYS_GRAIN / 64, answer_part, p);
    if (!p->all_new)
        cpu_parallel(context, p->by.parts, 1, number_parts, p);
    t->count += sum;
    p->batch->firsts += p->batch->passing ? 0 : sum;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* Memory for all that a step needs, in one piece. Words lie where first rows will be, if those are wanted. */
static cohort_status take(cohort_context *context, struct parts *p, void **memory)
{
    struct keys_batch *b = p->batch;
    const uint64_t words = (p->rows + 63) / 64, own = b->passing ? p->rows : 0;
    cohort_status s =
        pool_take(context,
                  p->rows * sizeof *p->entry +
                      (own + 2 * words + p->by.ranges * p->by.parts + p->by.parts + p->by.ranges) * 8,
                  memory);
    if (s)
        return s;
    p->entry = *memory;
    p->is_new = (uint64_t *)(p->entry + p->rows);
    p->rank = p->is_new + words;
    p->next = p->rank + words;
    p->late = p->next + p->by.ranges * p->by.parts;
    p->null = p->late + p->by.parts;
    p->words = own ? p->null + p->by.ranges : b->first + b->firsts;
    return COHORT_OK;
}

cohort_status keys_parts_add(cohort_context *context, struct keys_table *t, struct keys_batch *b,
                             uint64_t begin, uint64_t rows)
{
    struct parts p = {.table = t,
                      .batch = b,
                      .level = cpu_device(context)->level,
                      .begin = begin,
                      .rows = rows,
                      .by = keys_parts_of(context, t, rows)};
    void *memory = NULL;
    if (t->capacity >= MOST_SLOTS)
        return COHORT_UNSUPPORTED;
    cohort_status s = COHORT_OK;
    /* Most rows behind these bring new keys, too: none of what is long already is copied for them. */
    if (!b->passing && b->firsts + rows > b->first_room)
        s = keys_reserve(context, &b->first, &b->first_room, b->firsts, b->firsts + b->n - begin,
                         sizeof *b->first);
    if (!s)
        s = take(context, &p, &memory);
    if (!s) {
        cpu_parallel(context, p.by.ranges, 1, load_ranges, &p);
        keys_parts_place(p.next, p.by.ranges, p.by.parts);
        cpu_parallel(context, p.by.ranges, 1, move_ranges, &p);
        cpu_parallel(context, p.by.parts, 1, seek_parts, &p);
        seek_late(&p);
        number(context, &p);
    }
    pool_give(context, memory);
    return s;
}
