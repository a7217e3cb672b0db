/* cpu/table_gather.c: rows of a column by their numbers.
 *
 * A thread takes ranges of the result, and goes through them in blocks whose row numbers stay in the
 * nearest cache while one column after the other is fetched by them. A first look at a block tells whether
 * all its numbers are rows: then the elements are fetched without any question, and the processor has dozens
 * of loads under way at a time. Only a block with rows that are to be null, or numbers that are none, is gone
 * through with care. Strings take two looks, offsets and then bytes: the bytes of a block are asked for
 * before any is used. Validity is fetched for sixteen rows at once where there is AVX-512.
 *
 * Several columns of a large table may be put side by side first, so that a row is one line of memory. */
#include "table.h"

#if CPU_VECTORS
#    include <immintrin.h>
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2")))
#endif

#define GRAIN   (1u << 16) /* rows of the result that a thread takes at a time, */
#define BLOCK   512u       /* and that it does together; multiples of 64 */
#define COLUMNS 16u        /* that are fetched block by block */
#define NONE    (~0ull)

#define ROWS_LEAST (1u << 20) /* of a table whose elements are put side by side, */
#define ROW_BYTES  64u        /* at most so many bytes of them */

struct job {
    struct table_gather *g;
    const struct table_piece *piece;
    uint32_t bytes;
    uint64_t total; /* rows of the column, */
    uint64_t most;  /* and so many of them have numbers */
    int by_vectors; /* validity is fetched so */
    co_u64 nulls, first_bad, first_long;
};

/* Columns of as many rows that are fetched together. Of the first one's job are numbers that are no rows. */
struct together {
    struct job job[COLUMNS];
    uint32_t columns;
    int needs; /* some column needs the block's numbers in 64 bits */
};

/* A block of row numbers, made 64 bits wide: at[i], which is 0 where there is no row. `there`: a bit for each
 * that is one. Where all are rows and lie there in 32 bits, `narrow` says where, and `at` may be left out. */
struct block {
    uint64_t begin;
    uint32_t count;
    int whole; /* all are rows */
    const uint32_t *narrow;
    uint64_t at[BLOCK];
    uint64_t there[BLOCK / 64];
};

static void note_bad(struct job *j, uint64_t entry)
{
    co_min64(&j->first_bad, entry);
}

/* The block's numbers that are no rows. */
static void sort_out(struct job *j, struct block *b)
{
    uint64_t none = j->g->number_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    memset(b->there, 0, sizeof b->there);
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->at[i] < j->most) {
            b->there[i / 64] |= 1ull << (i & 63);
            continue;
        }
        if (b->at[i] != none)
            note_bad(j, b->begin + i);
        b->at[i] = 0;
    }
}

/* Four at a time, or each comparison would wait for the one before. */
static uint32_t greatest(const uint32_t *rows, uint32_t count)
{
    uint32_t most[4] = {0, 0, 0, 0}, i = 0;
    for (; i + 4 <= count; i += 4)
        for (uint32_t k = 0; k < 4; k++)
            most[k] = rows[i + k] > most[k] ? rows[i + k] : most[k];
    for (; i < count; i++)
        most[0] = rows[i] > most[0] ? rows[i] : most[0];
    most[0] = most[1] > most[0] ? most[1] : most[0];
    most[2] = most[3] > most[2] ? most[3] : most[2];
    return most[2] > most[0] ? most[2] : most[0];
}

static void widen(struct block *b, const uint32_t *rows)
{
    for (uint32_t i = 0; i < b->count; i++)
        b->at[i] = rows[i];
}

/* needs: `at` is needed even if all are rows. */
static void read_block(struct job *j, struct block *b, uint64_t begin, uint64_t end, int needs)
{
    b->begin = begin;
    b->count = end - begin < BLOCK ? (uint32_t)(end - begin) : BLOCK;
    b->narrow = NULL;
    if (!j->g->rows) {
        b->whole = 1;
        for (uint32_t i = 0; needs && i < b->count; i++)
            b->at[i] = begin + i;
        return;
    }
    if (j->g->number_bytes == 4) {
        const uint32_t *rows = (const uint32_t *)j->g->rows + begin;
        b->whole = greatest(rows, b->count) < j->most;
        b->narrow = b->whole ? rows : NULL;
        if (needs || !b->whole)
            widen(b, rows);
    } else {
        const uint64_t *rows = (const uint64_t *)j->g->rows + begin;
        uint64_t most = 0;
        for (uint32_t i = 0; i < b->count; i++) {
            b->at[i] = rows[i];
            most = rows[i] > most ? rows[i] : most;
        }
        b->whole = most < j->most;
    }
    if (!b->whole)
        sort_out(j, b);
}

/* ---- validity ------------------------------------------------------------------------------------------ */

#define VALID_BY(NUMBERS)                \
    for (uint32_t i = 0; i < count; i++) \
    bits |= (uint64_t)table_bit(p->validity, p->validity_bit + (NUMBERS)[word * 64 + i]) << i

#if CPU_VECTORS
/* Each bit comes in four bytes, of which none is behind the bitmap's last one. */
AVX512 static uint64_t valid_word_512(const struct job *j, const struct block *b, uint32_t word,
                                      uint32_t count)
{
    const uint64_t first = j->piece->validity_bit, bytes = (first + j->total + 7) / 8;
    const __m512i begin = _mm512_set1_epi32((int)first), last = _mm512_set1_epi32((int)(bytes - 4));
    uint64_t bits = 0;
    for (uint32_t i = 0; i < count; i += 16) {
        const __mmask16 some = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : (__mmask16)~0u;
        const uint64_t *at = b->at + word * 64 + i;
        const __m512i rows =
            b->narrow
                ? _mm512_maskz_loadu_epi32(some, b->narrow + word * 64 + i)
                : _mm512_inserti64x4(
                      _mm512_castsi256_si512(
                          _mm512_cvtepi64_epi32(_mm512_maskz_loadu_epi64((__mmask8)some, at))),
                      _mm512_cvtepi64_epi32(_mm512_maskz_loadu_epi64((__mmask8)(some >> 8), at + 8)), 1);
        const __m512i bit = _mm512_add_epi32(rows, begin);
        const __m512i byte = _mm512_min_epu32(_mm512_srli_epi32(bit, 3), last);
        const __m512i four = _mm512_i32gather_epi32(byte, j->piece->validity, 1);
        const __m512i own = _mm512_srlv_epi32(four, _mm512_sub_epi32(bit, _mm512_slli_epi32(byte, 3)));
        bits |= (uint64_t)_mm512_test_epi32_mask(own, _mm512_set1_epi32(1)) << i;
    }
    return bits;
}

/* Bits of a bitmap that has four bytes at least, and whose bits have numbers of 31 bits. */
static int can_vectors(cohort_context *context, const struct table_piece *p, uint64_t total)
{
    return cpu_device(context)->level >= CPU_AVX512 && p->validity && total >= 32 &&
           p->validity_bit < 1ull << 30 && total < 1ull << 30;
}
#else
#    define valid_word_512(j, b, word, count) 0
#    define can_vectors(context, p, total)    0
#endif

static uint64_t valid_word(const struct job *j, const struct block *b, uint32_t word, uint32_t count)
{
    const struct table_piece *p = j->piece;
    uint64_t there = b->whole ? ~0ull : b->there[word], bits = 0;
    if (!p->validity)
        bits = ~0ull;
    else if (j->by_vectors)
        bits = valid_word_512(j, b, word, count);
    else if (b->narrow)
        VALID_BY(b->narrow);
    else
        VALID_BY(b->at);
    bits &= there;
    return count < 64 ? bits & ((1ull << count) - 1) : bits;
}

static uint64_t put_validity(const struct job *j, const struct block *b)
{
    uint64_t ones = 0;
    for (uint32_t word = 0; word * 64 < b->count; word++) {
        uint32_t count = b->count - word * 64 < 64 ? b->count - word * 64 : 64;
        uint64_t bits = valid_word(j, b, word, count);
        ones += (unsigned)__builtin_popcountll(bits);
        memcpy(j->g->validity + (b->begin / 64 + word) * 8, &bits, 8);
    }
    return b->count - ones;
}

/* ---- elements ------------------------------------------------------------------------------------------ */

#define FETCH_BY(T, NUMBERS)                \
    for (uint32_t i = 0; i < b->count; i++) \
        to[i] = from[(NUMBERS)[i]];

#define FETCH(T)                            \
    do {                                    \
        const T *from = j->piece->data;     \
        T *to = (T *)j->g->data + b->begin; \
        if (b->narrow)                      \
            FETCH_BY(T, b->narrow)          \
        else                                \
            FETCH_BY(T, b->at)              \
    } while (0)

struct pair {
    uint64_t half[2];
};

static void put_elements(const struct job *j, const struct block *b)
{
    uint64_t first = b->begin * j->bytes;
    if (!j->g->rows) {
        memcpy((char *)j->g->data + first, (const char *)j->piece->data + first,
               (uint64_t)b->count * j->bytes);
        return;
    }
    switch (j->bytes) {
    case 1:
        FETCH(uint8_t);
        return;
    case 2:
        FETCH(uint16_t);
        return;
    case 4:
        FETCH(uint32_t);
        return;
    case 8:
        FETCH(uint64_t);
        return;
    case 16:
        FETCH(struct pair);
        return;
    default:
        for (uint32_t i = 0; i < b->count; i++)
            memcpy((char *)j->g->data + (b->begin + i) * j->bytes,
                   (const char *)j->piece->data + (b->narrow ? b->narrow[i] : b->at[i]) * j->bytes, j->bytes);
    }
}

static void put_bits(const struct job *j, const struct block *b)
{
    for (uint32_t word = 0; word * 64 < b->count; word++) {
        uint32_t count = b->count - word * 64 < 64 ? b->count - word * 64 : 64;
        uint64_t bits = 0;
        for (uint32_t i = 0; i < count; i++)
            bits |= (uint64_t)table_bit(j->piece->data, j->piece->data_bit + b->at[word * 64 + i]) << i;
        memcpy((char *)j->g->data + (b->begin / 64 + word) * 8, &bits, 8);
    }
}

/* ---- strings ------------------------------------------------------------------------------------------- */

static void put_views(const struct job *j, const struct block *b)
{
    const struct table_view *from = j->piece->data;
    struct table_view *to = (struct table_view *)j->g->data + b->begin;
    const struct table_view empty = {0, {0}, 0, 0};
    for (uint32_t i = 0; i < b->count; i++)
        to[i] = b->whole || (b->there[i / 64] >> (i & 63) & 1) ? from[b->at[i]] : empty;
}

/* The view of a short string, as two words: what lies behind the string is read too, and taken out again. A
 * copy of just its bytes would be read back, by the copy of the view, before it is in the cache. */
static inline void put_short(struct table_view *to, const char *from, uint64_t length)
{
    uint32_t head;
    uint64_t tail;
    memcpy(&head, from, sizeof head);
    memcpy(&tail, from + sizeof head, sizeof tail);
    head &= length < 4 ? (1u << 8 * length) - 1 : ~0u;
    tail &= length <= 4 ? 0 : ~0ull >> 8 * (TABLE_VIEW_INLINE - length);
    const uint64_t words[2] = {length | (uint64_t)head << 32, tail};
    memcpy(to, words, sizeof words);
}

/* A heap by offsets is one of windows of 2^30 bytes, as an offset in a view has 31 bits. `end`: of the
 * heap. */
static inline void put_view(struct job *j, uint64_t entry, struct table_view *to, const char *heap,
                            uint64_t from, uint64_t length, uint64_t end)
{
    uint32_t head = 0;
    if (length <= TABLE_VIEW_INLINE && end >= TABLE_VIEW_INLINE && from <= end - TABLE_VIEW_INLINE) {
        put_short(to, heap + from, length);
        return;
    }
    if (length <= TABLE_VIEW_INLINE) {
        char bytes[TABLE_VIEW_INLINE] = {0};
        if (length) /* else the heap may be NULL */
            memcpy(bytes, heap + from, length);
        put_short(to, bytes, length);
        return;
    }
    if (length > INT32_MAX) {
        co_min64(&j->first_long, entry);
        from = length = 0;
    } else {
        memcpy(&head, heap + from, sizeof head);
    }
    const uint64_t words[2] = {length | (uint64_t)head << 32, from >> 30 | (from & ((1ull << 30) - 1)) << 32};
    memcpy(to, words, sizeof words);
}

/* So many strings' bytes are asked for before any is used: more would drive each other out. */
#define ASKED 64u

static void put_strings(struct job *j, const struct block *b)
{
    const struct table_piece *p = j->piece;
    struct table_view *to = (struct table_view *)j->g->data + b->begin;
    const uint64_t *offsets_64 = p->offsets;
    const uint32_t *offsets_32 = p->offsets;
    const int wide = j->g->column->type.layout == TABLE_OFFSETS_64;
    const uint64_t end = wide ? offsets_64[j->total] : offsets_32[j->total];
    uint64_t from[ASKED], length[ASKED];
    for (uint32_t first = 0; first < b->count; first += ASKED) {
        const uint32_t count = b->count - first < ASKED ? b->count - first : ASKED;
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t at = b->at[first + i];
            from[i] = wide ? offsets_64[at] : offsets_32[at];
            length[i] = (wide ? offsets_64[at + 1] : offsets_32[at + 1]) - from[i];
            if (!b->whole && !(b->there[first / 64] >> i & 1))
                length[i] = 0;
            __builtin_prefetch((const char *)p->data + from[i]);
        }
        for (uint32_t i = 0; i < count; i++)
            put_view(j, b->begin + first + i, &to[first + i], p->data, from[i], length[i], end);
    }
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static void put_nothing(const struct job *j, const struct block *b)
{
    if (!j->g->column->is_dictionary && j->g->column->type.layout == TABLE_BITS)
        memset((char *)j->g->data + b->begin / 8, 0, (b->count + 63) / 64 * 8);
    else
        memset((char *)j->g->data + b->begin * j->bytes, 0, (uint64_t)b->count * j->bytes);
}

static int has_elements(const struct table_column *c)
{
    return c->is_dictionary || c->type.layout == TABLE_FIXED;
}

static void put_block(struct job *j, const struct block *b)
{
    const struct table_column *c = j->g->column;
    if (!j->total)
        put_nothing(j, b);
    else if (has_elements(c))
        put_elements(j, b);
    else if (c->type.layout == TABLE_BITS)
        put_bits(j, b);
    else if (c->type.layout == TABLE_VIEWS)
        put_views(j, b);
    else
        put_strings(j, b);
}

static void gather_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct together *t = arg;
    uint64_t nulls[COLUMNS] = {0};
    struct block b;
    (void)worker;
    for (uint64_t i = begin; i < end; i += BLOCK) {
        read_block(&t->job[0], &b, i, end, t->needs);
        for (uint32_t c = 0; c < t->columns; c++) {
            put_block(&t->job[c], &b);
            if (t->job[c].g->validity)
                nulls[c] += put_validity(&t->job[c], &b);
        }
    }
    for (uint32_t c = 0; c < t->columns; c++)
        __atomic_add_fetch(&t->job[c].nulls, nulls[c], __ATOMIC_RELAXED);
}

static struct job job_of(cohort_context *context, struct table_gather *g)
{
    static const struct table_piece none;
    const struct table_column *c = g->column;
    struct job j = {.g = g,
                    .piece = c->pieces ? &c->piece[0] : &none,
                    .total = c->rows,
                    .most = table_gather_rows(g),
                    .first_bad = NONE,
                    .first_long = NONE};
    j.bytes = c->is_dictionary || c->type.layout <= TABLE_FIXED ? table_column_element(c)
                                                                : (uint32_t)sizeof(struct table_view);
    j.by_vectors = can_vectors(context, j.piece, j.total);
    return j;
}

static void tell(struct table_gather *g, const struct job *j)
{
    g->nulls = j->nulls;
    g->first_bad = j->first_bad;
    g->first_long = j->first_long;
}

/* The columns that are not done, from *next on, as many as go together. */
static cohort_status gather_columns(cohort_context *context, struct table_gather *g, uint32_t columns,
                                    const uint8_t *done, uint32_t *next)
{
    struct together t;
    t.columns = 0;
    t.needs = 0;
    for (; *next < columns && t.columns < COLUMNS; ++*next) {
        if (done[*next])
            continue;
        const struct job j = job_of(context, &g[*next]);
        t.needs |= !has_elements(g[*next].column) || (!g->rows && j.piece->validity);
        t.job[t.columns++] = j;
    }
    if (!t.columns)
        return COHORT_OK;
    cohort_status s = cpu_parallel_told(context, "gather", g->n, GRAIN, gather_range, &t);
    for (uint32_t c = 0; c < t.columns; c++)
        tell(t.job[c].g, &t.job[c]);
    return s;
}

static uint64_t row_at(const struct table_gather *g, uint64_t i)
{
    return g->number_bytes == 4 ? ((const uint32_t *)g->rows)[i] : ((const uint64_t *)g->rows)[i];
}

/* ---- several columns as rows --------------------------------------------------------------------------- */

/* Rows of a large table in an order without sense: each column would miss the caches for each of them. So the
 * elements are put side by side first, and fetched together. */
struct side_by_side {
    struct job job[COLUMNS];
    uint32_t at[COLUMNS];    /* in a row */
    uint32_t columns, bytes; /* of a row: a power of two */
    char *rows;
};

#define PUT(T)                                                              \
    for (uint64_t i = begin; i < end; i++)                                  \
        *(T *)(void *)(to + i * r->bytes) = ((const T *)j->piece->data)[i]; \
    break

static void put_column(const struct side_by_side *r, uint32_t c, uint64_t begin, uint64_t end)
{
    const struct job *j = &r->job[c];
    char *to = r->rows + r->at[c];
    switch (j->bytes) {
    case 8:
        PUT(uint64_t);
    case 4:
        PUT(uint32_t);
    case 2:
        PUT(uint16_t);
    default:
        PUT(uint8_t);
    }
}

static void put_rows(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct side_by_side *r = arg;
    (void)worker;
    for (uint64_t at = begin; at < end; at += BLOCK)
        for (uint32_t c = 0; c < r->columns; c++)
            put_column(r, c, at, end - at < BLOCK ? end : at + BLOCK);
}

#define TAKE(T)                                                             \
    for (uint32_t i = 0; i < b->count; i++)                                 \
        to.T##_at[i] = *(const T *)(const void *)(from + b->at[i] * bytes); \
    break

static void take_column(const struct side_by_side *r, uint32_t c, const struct block *b)
{
    const struct job *j = &r->job[c];
    const char *from = r->rows + r->at[c];
    const uint64_t bytes = r->bytes;
    union {
        void *any;
        uint64_t *uint64_t_at;
        uint32_t *uint32_t_at;
        uint16_t *uint16_t_at;
        uint8_t *uint8_t_at;
    } to = {(char *)j->g->data + b->begin * j->bytes};
    switch (j->bytes) {
    case 8:
        TAKE(uint64_t);
    case 4:
        TAKE(uint32_t);
    case 2:
        TAKE(uint16_t);
    default:
        TAKE(uint8_t);
    }
}

static void take_rows(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct side_by_side *r = arg;
    uint64_t nulls[COLUMNS] = {0};
    struct block b;
    (void)worker;
    for (uint64_t i = begin; i < end; i += BLOCK) {
        read_block(&r->job[0], &b, i, end, 1);
        for (uint32_t c = 0; c < r->columns; c++) {
            take_column(r, c, &b);
            if (r->job[c].g->validity)
                nulls[c] += put_validity(&r->job[c], &b);
        }
    }
    for (uint32_t c = 0; c < r->columns; c++)
        __atomic_add_fetch(&r->job[c].nulls, nulls[c], __ATOMIC_RELAXED);
}

/* Do most rows lie far from the one before? */
static int are_scattered(const struct table_gather *g)
{
    uint64_t far = 0, step = g->n / 256;
    for (uint64_t k = 0; k < 255; k++) {
        uint64_t a = row_at(g, k * step), b = row_at(g, k * step + 1);
        far += a < b ? b - a > 64 : a - b > 64;
    }
    return far > 128;
}

/* Columns that are worth it, in order of their widths. 0: not enough of them. */
static int choose(cohort_context *context, struct side_by_side *r, struct table_gather *g, uint32_t columns)
{
    uint32_t used = 0;
    r->columns = 0;
    for (uint32_t width = 8; width; width /= 2)
        for (uint32_t i = 0; i < columns && r->columns < COLUMNS; i++) {
            struct job j = job_of(context, &g[i]);
            if (j.bytes != width || used + width > ROW_BYTES || !has_elements(g[i].column))
                continue;
            r->at[r->columns] = used;
            r->job[r->columns++] = j;
            used += width;
        }
    for (r->bytes = 8; r->bytes < used; r->bytes *= 2)
        continue;
    return r->columns > 2;
}

/* Tells which columns it has done: none, if that does not pay. */
static cohort_status gather_rows(cohort_context *context, struct table_gather *g, uint32_t columns,
                                 uint8_t *done)
{
    struct side_by_side r;
    void *memory;
    uint64_t rows = columns ? g->column->rows : 0;
    if (rows < ROWS_LEAST || g->n < rows / 2 || !g->rows || !are_scattered(g) ||
        !choose(context, &r, g, columns) || pool_take(context, rows * r.bytes, &memory))
        return COHORT_OK;
    r.rows = memory;
    cohort_status s = cpu_parallel_told(context, "gather", rows, GRAIN, put_rows, &r);
    if (!s)
        s = cpu_parallel_told(context, "gather", g->n, GRAIN, take_rows, &r);
    pool_give(context, memory);
    for (uint32_t c = 0; c < r.columns; c++) {
        tell(r.job[c].g, &r.job[c]);
        done[r.job[c].g - g] = 1;
    }
    return s;
}

cohort_status cpu_table_gather(cohort_context *context, struct table_gather *g, co_u32 columns)
{
    uint8_t *done = zeroed(columns + 1u, 1);
    if (!done)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for %u columns", columns);
    cohort_status s = gather_rows(context, g, columns, done);
    for (uint32_t next = 0; !s && next < columns;)
        s = gather_columns(context, g, columns, done, &next);
    free(done);
    return s;
}
