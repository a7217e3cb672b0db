/* cpu/keys_direct.c: numbering keys whose words lie close together: a table by the word itself.
 *
 * An entry is the key's id, or MARK and the first row of the batch that had the key, or NONE. One look at all
 * rows lowers entries to the first rows; ids are less than any mark, so they stay. A bitmap of the marked
 * rows then tells how many first rows lie before each: that is the order of ids. A second look turns words
 * into ids. With few keys the table is only read, so threads do not meet in it.
 *
 * A table whose keys are no longer close together goes over to slots (keys_add.c). */
#include "keys.h"

#define MARK       0x80000000u
#define NONE       0xffffffffu
#define MOST_SPAN  (MARK - 4)
#define MOST_ROWS  (1ull << 30) /* of a round: a mark holds the row */
#define CODE_GRAIN (1u << 14)

struct direct {
    struct keys_table *table;
    struct keys_batch *batch;
    uint64_t begin, rows; /* of the round */
    uint64_t *is_first;   /* a bitmap of rows */
    uint64_t *rank;       /* by its words: first rows before */
};

/* ---- which keys ---------------------------------------------------------------------------------------- */

/* The least word, and how far the greatest is from it; 0: not to be told. */
static int range_of(cohort_context *context, const struct keys_batch *b, uint64_t *low, uint64_t *span)
{
    const struct keys_words *w = b->words;
    struct keys_range r;
    *low = *span = 0;
    if (!w->base) {
        if (w->column->kind == KEYS_FLOAT || cpu_keys_range(context, w->column, b->n, &r))
            return 0;
        *low = r.any ? r.low : 0;
        *span = r.any ? r.high - r.low : 0;
        return 1;
    }
    for (uint32_t c = 0; c < w->columns; c++) {
        uint64_t codes = w->span[c] + 1;
        if (codes > MOST_SPAN || w->shift[c] > 31 || *span + (codes << w->shift[c]) > MOST_SPAN)
            return 0;
        *span += codes << w->shift[c];
    }
    return 1;
}

/* What a table by word may span: twice as many entries as there are rows, and not many more, are worth it. */
static uint64_t most_span(const struct keys_batch *b)
{
    return 2 * b->n + 4096 < MOST_SPAN ? 2 * b->n + 4096 : MOST_SPAN;
}

/* Some rows tell it at once of words that lie all over: the others are not read for it. */
static int is_scattered(const struct keys_batch *b)
{
    uint64_t words[KEYS_BLOCK], turn, low = ~0ull, high = 0;
    uint8_t states[KEYS_BLOCK];
    if (b->words->base || b->n <= KEYS_BLOCK)
        return 0;
    turn = b->words->column->is_signed ? 1ull << 63 : 0;
    keys_load(b->words->column, 0, KEYS_BLOCK, words, states);
    for (uint32_t i = 0; i < KEYS_BLOCK; i++) {
        uint64_t v = words[i] ^ turn;
        low = !states[i] && v < low ? v : low;
        high = !states[i] && v > high ? v : high;
    }
    return low < high && high - low > most_span(b);
}

int keys_direct_open(cohort_context *context, struct keys_table *t, const struct keys_batch *b)
{
    uint64_t low, span;
    if (!b->words || t->capacity || (t->count && !t->direct))
        return 0;
    if ((!t->direct && is_scattered(b)) || !range_of(context, b, &low, &span))
        return 0;
    if (t->direct && low - t->low <= t->span && span <= t->span - (low - t->low))
        return 1;
    if (t->count || span > most_span(b))
        return 0;
    void *made = NULL;
    if (pool_take(context, (span + 2) * sizeof *t->direct, &made))
        return 0;
    keys_direct_drop(context, t);
    t->direct = made;
    t->low = low;
    t->span = span;
    context_fill(context, made, 0xff, (span + 2) * sizeof *t->direct);
    return 1;
}

void keys_direct_drop(cohort_context *context, struct keys_table *t)
{
    pool_give(context, t->direct);
    t->direct = NULL;
    t->low = t->span = 0;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static void look_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct direct *d = arg;
    const struct keys_table *t = d->table;
    uint64_t words[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    const uint32_t null = (uint32_t)t->span + 1;
    int is_far = t->span > 1u << 17;
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        uint32_t *codes = d->batch->ids + d->begin + at;
        int some = keys_load_rows(d->batch->words, d->begin + at, count, words, states);
        for (uint32_t i = 0; i < count; i++)
            codes[i] = (uint32_t)(words[i] - t->low);
        for (uint32_t i = 0; some && i < count; i++) {
            const uint32_t code = codes[i], without = states[i] == KEYS_NULL ? null : KEYS_NO_ID;
            codes[i] = states[i] ? without : code;
        }
        for (uint32_t i = 0; is_far && i < count; i++)
            if (!some || codes[i] != KEYS_NO_ID)
                __builtin_prefetch(&t->direct[codes[i]], 1);
        for (uint32_t i = 0; i < count; i++)
            if (!some || codes[i] != KEYS_NO_ID)
                keys_lower(&t->direct[codes[i]], MARK | (uint32_t)(at + i));
    }
}

static void answer_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct direct *d = arg;
    const uint32_t *direct = d->table->direct;
    uint32_t *ids = d->batch->ids + d->begin;
    (void)worker;
    for (uint64_t i = begin; i < end; i++)
        ids[i] = ids[i] == KEYS_NO_ID ? KEYS_NO_ID : direct[ids[i]];
}

/* ---- new keys ------------------------------------------------------------------------------------------ */

static inline int is_mark(uint32_t entry)
{
    return entry >= MARK && entry != NONE;
}

static void mark_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct direct *d = arg;
    (void)worker;
    for (uint64_t code = begin; code < end; code++) {
        uint32_t entry = d->table->direct[code], row = entry & ~MARK;
        if (is_mark(entry))
            __atomic_fetch_or(&d->is_first[row / 64], 1ull << (row & 63), __ATOMIC_RELAXED);
    }
}

static void number_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct direct *d = arg;
    (void)worker;
    for (uint64_t code = begin; code < end; code++) {
        uint32_t entry = d->table->direct[code], row = entry & ~MARK;
        if (!is_mark(entry))
            continue;
        uint64_t below = d->is_first[row / 64] & ((1ull << (row & 63)) - 1);
        uint64_t next = d->rank[row / 64] + (unsigned)__builtin_popcountll(below);
        d->table->direct[code] = (uint32_t)(d->table->count + next);
        d->batch->first[d->batch->firsts + next] = d->begin + row;
    }
}

static void unmark(struct keys_table *t)
{
    for (uint64_t code = 0; code < t->span + 2; code++)
        if (is_mark(t->direct[code]))
            t->direct[code] = NONE;
}

static cohort_status one_round(cohort_context *context, struct direct *d)
{
    struct keys_table *t = d->table;
    struct keys_batch *b = d->batch;
    uint64_t sum = 0, words = (d->rows + 63) / 64;
    memset(d->is_first, 0, words * 8);
    cohort_status s = cpu_parallel_told(context, "keys", d->rows, KEYS_GRAIN, look_part, d);
    if (!s)
        cpu_parallel(context, t->span + 2, CODE_GRAIN, mark_part, d);
    for (uint64_t word = 0; !s && word < words; word++) {
        d->rank[word] = sum;
        sum += (unsigned)__builtin_popcountll(d->is_first[word]);
    }
    if (!s)
        s = keys_grow(context, &b->first, &b->first_room, b->firsts, b->firsts + sum, sizeof *b->first);
    if (s) {
        unmark(t);
        return s;
    }
    cpu_parallel(context, t->span + 2, CODE_GRAIN, number_part, d);
    cpu_parallel(context, d->rows, KEYS_GRAIN, answer_part, d);
    t->null.id = t->direct[t->span + 1];
    t->count += sum;
    b->firsts += b->passing ? 0 : sum;
    return COHORT_OK;
}

cohort_status keys_direct_add(cohort_context *context, struct keys_table *t, struct keys_batch *b)
{
    struct direct d = {.table = t, .batch = b};
    uint64_t most = b->n < MOST_ROWS ? b->n : MOST_ROWS, words = most / 64 + 1;
    void *memory = NULL;
    cohort_status s = pool_take(context, 2 * words * 8, &memory);
    d.is_first = memory;
    d.rank = d.is_first + words;
    for (; !s && d.begin < b->n; d.begin += d.rows) {
        d.rows = b->n - d.begin < MOST_ROWS ? b->n - d.begin : MOST_ROWS;
        s = one_round(context, &d);
    }
    pool_give(context, memory);
    return s;
}
