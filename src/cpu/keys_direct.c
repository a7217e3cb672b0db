/* cpu/keys_direct.c: numbering keys whose words lie close together: a table by the word itself.
 *
 * An entry is the key's id, or MARK and the first row of the round that had the key, or NONE. Rows go in
 * rounds. A row whose entry is an id has its number at once. The others hold MARK and their place, and lower
 * entries to the first rows; ids are less than any mark, so they stay. A bitmap of the marked rows then tells
 * how many first rows lie before each: that is the order of ids. A second look, at those blocks alone that
 * have such rows, turns places into ids. With few keys the table is only read, so threads do not meet in it.
 *
 * The first round is as short as the table allows, and each of the next ones is longer, so that most rows
 * come when most keys are known. A table that is large for its rows has one round for all of them.
 *
 * A table whose keys are no longer close together goes over to slots (keys_add.c). */
#include "keys_vector.h"

#define MARK       0x80000000u
#define NONE       0xffffffffu
#define MOST_SPAN  (MARK - 4)
#define MOST_ROWS  (1ull << 30) /* of a round: a mark holds the row */
#define CODE_GRAIN (1u << 14)
#define FIRST      (1u << 15) /* rows of a first round at least; a multiple of KEYS_GRAIN */
#define ROWS_CODE  4u         /* and so many a place of the table */
#define LONGER     8u         /* times as long as the one before is a round */
#define MOST_MAPS  16u        /* threads that have a bitmap each */
#define FAR        (1u << 17) /* places of a table that is not in the nearest caches */

struct direct {
    struct keys_table *table;
    struct keys_batch *batch;
    struct keys_codes codes;
    uint64_t begin, rows; /* of the round */
    uint64_t *is_first;   /* bitmaps of rows, `maps` of them, and then the first one is all of theirs */
    uint64_t *rank;       /* by its words: first rows before */
    uint8_t *is_new;      /* by blocks of KEYS_BLOCK rows: there are keys without an id */
    uint64_t words;       /* of a bitmap */
    uint32_t maps;        /* one a thread; 1: threads share it */
    int any_new;          /* atomic: in some block */
    int is_512;
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

/* Null is all that is known, which is beside the words: they may be any. */
static int has_null_alone(const struct keys_table *t)
{
    return t->direct && t->count == 1 && t->null.id == 0;
}

int keys_direct_open(cohort_context *context, struct keys_table *t, const struct keys_batch *b)
{
    const int has_none = has_null_alone(t);
    uint64_t low, span;
    if (!b->words || t->capacity || (t->count && !t->direct))
        return 0;
    if (((!t->direct || has_none) && is_scattered(b)) || !range_of(context, b, &low, &span))
        return 0;
    if (t->direct && low - t->low <= t->span && span <= t->span - (low - t->low))
        return 1;
    if ((t->count && !has_none) || span > most_span(b))
        return 0;
    void *made = NULL;
    if (pool_take(context, (span + 2) * sizeof *t->direct, &made))
        return 0;
    keys_direct_drop(context, t);
    t->direct = made;
    t->low = low;
    t->span = span;
    context_fill(context, made, 0xff, (span + 2) * sizeof *t->direct);
    t->direct[span + 1] = t->null.id;
    return 1;
}

void keys_direct_drop(cohort_context *context, struct keys_table *t)
{
    pool_give(context, t->direct);
    t->direct = NULL;
    t->low = t->span = 0;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* A row whose key has no id yet. */
static inline void note(const struct direct *d, uint32_t code, uint64_t row)
{
    keys_lower(&d->table->direct[code], MARK | (uint32_t)row);
}

/* Turns places into ids, of those that have one; 1: some have none. `at`: the first row. */
static int look_plain(const struct direct *d, uint64_t at, uint32_t count, uint32_t *codes)
{
    int some = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t code = codes[i];
        if (code == KEYS_NO_ID)
            continue;
        const uint32_t entry = __atomic_load_n(&d->table->direct[code], __ATOMIC_RELAXED);
        codes[i] = entry < MARK ? entry : MARK | code;
        if (entry < MARK)
            continue;
        note(d, code, at + i);
        some = 1;
    }
    return some;
}

/* Turns places into ids. */
static void answer_plain(const struct direct *d, uint32_t count, uint32_t *ids)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] >= MARK && ids[i] != KEYS_NO_ID)
            ids[i] = d->table->direct[ids[i] & ~MARK];
}

#if CPU_VECTORS
AVX512 static int look_512(const struct direct *d, uint64_t at, uint32_t count, uint32_t *codes)
{
    const __m512i none = _mm512_set1_epi32(-1), mark = _mm512_set1_epi32((int)MARK);
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int some = 0;
    for (uint32_t i = 0; i < count; i += 16) {
        const __mmask16 rows = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
        const __m512i code = _mm512_maskz_loadu_epi32(rows, codes + i);
        const __mmask16 there = _mm512_mask_cmpneq_epi32_mask(rows, code, none);
        const __m512i entry = _mm512_mask_i32gather_epi32(none, there, code, d->table->direct, 4);
        const __mmask16 fresh = _mm512_mask_cmpge_epu32_mask(there, entry, mark);
        _mm512_mask_storeu_epi32(codes + i, rows, _mm512_mask_or_epi32(entry, fresh, code, mark));
        if (!fresh)
            continue;
        const __m512i row = _mm512_add_epi32(_mm512_set1_epi32((int)(MARK + (uint32_t)at + i)), lane);
        some = 1;
        for (uint32_t lower = _mm512_mask_cmplt_epu32_mask(fresh, row, entry); lower; lower &= lower - 1) {
            const uint32_t j = i + (uint32_t)__builtin_ctz(lower);
            note(d, codes[j] & ~MARK, at + j);
        }
    }
    return some;
}

AVX512 static void answer_512(const struct direct *d, uint32_t count, uint32_t *ids)
{
    const __m512i none = _mm512_set1_epi32(-1), mark = _mm512_set1_epi32((int)MARK);
    for (uint32_t i = 0; i < count; i += 16) {
        const __mmask16 rows = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : 0xffff;
        const __m512i id = _mm512_maskz_loadu_epi32(rows, ids + i);
        const __mmask16 fresh = _mm512_mask_cmpge_epu32_mask(_mm512_cmpneq_epi32_mask(id, none), id, mark);
        if (!fresh)
            continue;
        const __m512i code = _mm512_andnot_si512(mark, id);
        _mm512_mask_storeu_epi32(ids + i, rows,
                                 _mm512_mask_i32gather_epi32(id, fresh, code, d->table->direct, 4));
    }
}
#else
#    define look_512   look_plain
#    define answer_512 answer_plain
#endif

static void look_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct direct *d = arg;
    const int is_far = d->table->span > FAR;
    int any = 0;
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        const uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        uint32_t *codes = d->batch->ids + d->begin + at;
        const int some = keys_codes_load(&d->codes, d->begin + at, count, codes);
        for (uint32_t i = 0; is_far && i < count; i++)
            if (!some || codes[i] != KEYS_NO_ID)
                __builtin_prefetch(&d->table->direct[codes[i]], 1);
        const int fresh = (d->is_512 ? look_512 : look_plain)(d, at, count, codes);
        d->is_new[at / KEYS_BLOCK] = (uint8_t)fresh;
        any |= fresh;
    }
    if (any)
        __atomic_store_n(&d->any_new, 1, __ATOMIC_RELAXED);
}

static void answer_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct direct *d = arg;
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        const uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        if (d->is_new[at / KEYS_BLOCK])
            (d->is_512 ? answer_512 : answer_plain)(d, count, d->batch->ids + d->begin + at);
    }
}

/* ---- new keys ------------------------------------------------------------------------------------------ */

static inline int is_mark(uint32_t entry)
{
    return entry >= MARK && entry != NONE;
}

static void mark_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct direct *d = arg;
    uint64_t *map = d->is_first + (d->maps > 1 ? worker : 0) * d->words;
    for (uint64_t code = begin; code < end; code++) {
        uint32_t entry = d->table->direct[code], row = entry & ~MARK;
        if (!is_mark(entry))
            continue;
        if (d->maps > 1)
            map[row / 64] |= 1ull << (row & 63);
        else
            __atomic_fetch_or(&map[row / 64], 1ull << (row & 63), __ATOMIC_RELAXED);
    }
}

/* Makes one of all bitmaps. */
static void join_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct direct *d = arg;
    (void)worker;
    for (uint32_t m = 1; m < d->maps; m++)
        for (uint64_t word = begin; word < end; word++)
            d->is_first[word] |= d->is_first[m * d->words + word];
}

static inline __attribute__((always_inline)) void number_codes(const struct direct *d, uint64_t begin,
                                                               uint64_t end)
{
    for (uint64_t code = begin; code < end; code++) {
        uint32_t entry = d->table->direct[code], row = entry & ~MARK;
        if (!is_mark(entry))
            continue;
        uint64_t below = d->is_first[row / 64] & ((1ull << (row & 63)) - 1);
        uint64_t next = d->rank[row / 64] + (unsigned)__builtin_popcountll(below);
        d->table->direct[code] = (uint32_t)(d->table->count + next);
    }
}

#if CPU_VECTORS
AVX512 static void number_512(const struct direct *d, uint64_t begin, uint64_t end)
{
    number_codes(d, begin, end);
}
#else
#    define number_512 number_codes
#endif

static void number_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct direct *d = arg;
    (void)worker;
    if (d->is_512)
        number_512(d, begin, end);
    else
        number_codes(d, begin, end);
}

static void list_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct direct *d = arg;
    (void)worker;
    for (uint64_t word = begin; word < end; word++) {
        uint64_t *first = d->batch->first + d->batch->firsts + d->rank[word];
        for (uint64_t bits = d->is_first[word]; bits; bits &= bits - 1)
            *first++ = d->begin + word * 64 + (unsigned)__builtin_ctzll(bits);
    }
}

static void unmark(struct keys_table *t)
{
    for (uint64_t code = 0; code < t->span + 2; code++)
        if (is_mark(t->direct[code]))
            t->direct[code] = NONE;
}

/* Numbers the keys that were met. */
static cohort_status number(cohort_context *context, struct direct *d)
{
    struct keys_table *t = d->table;
    struct keys_batch *b = d->batch;
    uint64_t sum = 0;
    d->words = (d->rows + 63) / 64;
    memset(d->is_first, 0, d->maps * d->words * 8);
    cpu_parallel(context, t->span + 2, CODE_GRAIN, mark_part, d);
    if (d->maps > 1)
        cpu_parallel(context, d->words, CODE_GRAIN, join_part, d);
    for (uint64_t word = 0; word < d->words; word++) {
        d->rank[word] = sum;
        sum += (unsigned)__builtin_popcountll(d->is_first[word]);
    }
    cohort_status s =
        keys_grow(context, &b->first, &b->first_room, b->firsts, b->firsts + sum, sizeof *b->first);
    if (s)
        return s;
    cpu_parallel(context, t->span + 2, CODE_GRAIN, number_part, d);
    cpu_parallel(context, d->words, KEYS_GRAIN / 64, list_part, d);
    cpu_parallel(context, d->rows, KEYS_GRAIN, answer_part, d);
    t->null.id = t->direct[t->span + 1];
    t->count += sum;
    b->firsts += b->passing ? 0 : sum;
    return COHORT_OK;
}

static cohort_status one_round(cohort_context *context, struct direct *d)
{
    d->any_new = 0;
    cohort_status s = cpu_parallel_told(context, "keys", d->rows, KEYS_GRAIN, look_part, d);
    if (!s && d->any_new)
        s = number(context, d);
    if (s)
        unmark(d->table);
    return s;
}

/* Rows of the round after one of `last` rows; last 0: of the first one. */
static uint64_t round_rows(const struct direct *d, uint64_t last)
{
    const uint64_t left = d->batch->n - d->begin, least = ROWS_CODE * (d->table->span + 2);
    uint64_t rows = last ? LONGER * last : least < FIRST ? FIRST : least;
    rows = (rows + KEYS_GRAIN - 1) / KEYS_GRAIN * KEYS_GRAIN;
    rows = rows < left / 2 ? rows : left; /* a rest that is no longer is not worth a round */
    return rows < MOST_ROWS ? rows : MOST_ROWS;
}

cohort_status keys_direct_add(cohort_context *context, struct keys_table *t, struct keys_batch *b)
{
    const enum cpu_level level = cpu_device(context)->level;
    const unsigned threads = cpu_device(context)->threads;
    struct direct d = {.table = t, .batch = b, .maps = threads <= MOST_MAPS ? threads : 1};
    uint64_t most = b->n < MOST_ROWS ? b->n : MOST_ROWS, words = most / 64 + 1;
    void *memory = NULL;
    cohort_status s = pool_take(context, (d.maps + 1) * words * 8 + most / KEYS_BLOCK + 1, &memory);
    d.codes = keys_codes_of(b->words, level, t->low, (uint32_t)t->span + 1);
#if CPU_VECTORS
    d.is_512 = level >= CPU_AVX512;
#endif
    d.is_first = memory;
    d.rank = d.is_first + d.maps * words;
    d.is_new = (uint8_t *)(d.rank + words);
    for (; !s && d.begin < b->n; d.begin += d.rows) {
        d.rows = round_rows(&d, d.begin ? d.rows : 0);
        s = one_round(context, &d);
    }
    pool_give(context, memory);
    return s;
}
