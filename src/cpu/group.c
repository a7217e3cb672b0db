/* cpu/group.c: rows folded into the states of their groups.
 *
 * Rows go in blocks. The groups of a block's rows are picked once, and for each fold those whose value is not
 * null; what is left is a loop without questions. Two ways for threads:
 *
 * - Few groups: each thread takes a range of rows and has a record a group of its own, in which the folds'
 *   sums stand side by side; small integers need a word where their state has three, and where no value is
 *   null all folds count together. A row of few groups would often wait for the one before it, whose sum is
 *   the same; so a group has several records, its lanes, which rows take in turn. (Rows whose order counts go
 *   all to the first one.) Of very few groups most folds are done by masks instead: group_masks.c. In the end
 *   the records go into the states, in the order of the ranges, each thread taking a range of groups.
 *   Folds of one column that are kept alike, as variances and deviations are, have one part of the records.
 * - Many groups: a thread takes a range of groups and goes through all rows. Where groups come in the order
 *   of their first rows most blocks have none of its groups, and are passed by. Where a group has two rows or
 *   more, and there are several folds, these too have records, one a group: a row touches one line of memory,
 *   not one a fold.
 *
 * States of groups that are new are nobody's before: whoever sets them makes them zero.
 *
 * No state has two writers. But for variances, deviations and sums of floats that are not reproducible,
 * results do not depend on the number of threads. */
#include "group.h"

#define FEW_GROUPS     (1u << 15) /* whose states stay in the nearer caches */
#define MERGE_GRAIN    (1u << 12) /* groups */
#define MOST_LANE_BITS 3u         /* a group has 8 lanes at most, */
#define LANES_WORDS    256u       /* and fewer where records would have twice as many words */
#define LINE           16u        /* words: two cache lines, which are fetched together */
#define FAR_BYTES      (1u << 18) /* records that do not stay in the nearer caches */

struct job {
    const struct group_batch *batch;
    uint64_t ranges; /* of groups */
    enum cpu_level level;
};

/* ---- a block of rows ----------------------------------------------------------------------------------- */

/* The values of the picked rows, of decimals their numbers, and their states; 0: none is null, and there
 * are no states. */
static int load_picked(const struct group_picked *p, const struct group_fold *f, enum cpu_level level,
                       uint64_t begin, uint32_t count, uint64_t *words, uint8_t *states)
{
    const int some = !f->rows && group_load(&f->column, level, begin, count, words, states);
    for (uint32_t i = 0; f->decimal && i < count; i++)
        words[i] = begin + i;
    for (uint32_t i = 0; !p->whole && i < p->count; i++)
        words[i] = words[p->at[i]];
    for (uint32_t i = 0; some && !p->whole && i < p->count; i++)
        states[i] = states[p->at[i]];
    return some;
}

/* Values become words as states take them: variances of decimals are of doubles; their sums are by row. */
static void make_words(const struct group_fold *f, uint32_t state, uint64_t *words, uint32_t n)
{
    if (!f->decimal) {
        group_make_words(state, &f->column, words, n);
        return;
    }
    for (uint32_t i = 0; f->state == GROUP_MOMENTS && i < n; i++) {
        uint64_t value[2];
        memcpy(value, (const char *)f->column.data + 16 * words[i], 16);
        words[i] = group_bits(group_decimal(value[0], value[1], f->scale));
    }
}

/* Leaves those that are not null, with their groups in `to`: how many there are. */
static uint32_t drop_nulls(const struct group_picked *p, const uint8_t *states, uint64_t *words, uint32_t *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        to[n] = p->group[i];
        words[n] = words[i];
        n += !states[i];
    }
    return n;
}

static void fold_wide(struct group_wide *s, const void *column, uint64_t row)
{
    uint64_t value[2];
    memcpy(value, (const char *)column + 16 * row, 16);
    group_wide_add(s, value[0], value[1], 0 - (value[1] >> 63));
    s->count++;
}

/* For each value: s is the state at `PLACE`. */
#define EACH_AT(T, PLACE, BODY)                                          \
    for (uint32_t i = 0; i < n; i++) {                                   \
        T *s = (T *)(void *)((char *)states + (uint64_t)(PLACE)*stride); \
        BODY;                                                            \
    }                                                                    \
    break

/* That of its group's lane; of its group's first lane, where rows are to come in their order. */
#define EACH(T, BODY)          EACH_AT(T, groups[i], BODY)
#define EACH_IN_ORDER(T, BODY) EACH_AT(T, groups[i] & ~lanes, BODY)

/* The same, with `word` 0 and `there` 0 for a null. */
#define EACH_MARKED(T, BODY)                                                 \
    for (uint32_t i = 0; i < n; i++) {                                       \
        T *s = (T *)(void *)((char *)states + (uint64_t)groups[i] * stride); \
        const uint64_t there = !nulls[i];                                    \
        uint64_t word = words[i] & (0 - there);                              \
        BODY;                                                                \
    }                                                                        \
    break

static inline void add_moment(double *s, double x)
{
    s[0] = group_bits(s[0]) == ~0ull ? x : s[0];
    const double d = x - s[0];
    s[1] += d;
    s[2] += d * d;
}

/* lanes: the bits of a place in `groups` that tell a lane. */
static void fold_values(uint32_t state, const struct keys_column *column, void *states, uint64_t stride,
                        uint32_t lanes, const uint32_t *groups, const uint64_t *words, uint32_t n)
{
    uint64_t sign = column->kind == KEYS_SIGNED ? ~0ull : 0;
    switch (state) {
    case GROUP_COUNT:
        EACH(uint64_t, ++*s);
    case GROUP_SUM:
        EACH(struct group_sum, group_sum_add(s, words[i], sign & (0 - (words[i] >> 63))); s->count++);
    case GROUP_WIDE:
        EACH(struct group_wide, fold_wide(s, column->data, words[i]));
    case GROUP_FLOATS:
        EACH(struct group_floats, s->sum += group_real(words[i]); s->count++);
    case GROUP_EXACT:
        EACH(struct group_exact, group_exact_add(s, words[i]));
    case GROUP_MOMENTS:
        EACH(struct group_moments, group_moments_add(s, group_real(words[i])));
    case GROUP_MIN:
        EACH(struct group_word, if (!s->any || words[i] < s->word) s->word = words[i]; s->any = 1);
    case GROUP_MAX:
        EACH(struct group_word, if (!s->any || words[i] > s->word) s->word = words[i]; s->any = 1);
    case GROUP_FIRST:
        EACH_IN_ORDER(struct group_word, if (!s->any) s->word = words[i]; s->any = 1);
    case GROUP_LAST:
        EACH_IN_ORDER(struct group_word, s->word = words[i]; s->any = 1);
    case GROUP_SHORT_SUM:
        EACH(uint64_t, *s += words[i]);
    case GROUP_SHORT_FLOATS:
        EACH(double, *s += group_real(words[i]));
    case GROUP_SHORT_MOMENTS:
        EACH(double, add_moment(s, group_real(words[i])));
    case GROUP_SHORT_MIN:
        EACH(uint64_t, *s = words[i] < *s ? words[i] : *s);
    case GROUP_SHORT_MAX:
        EACH(uint64_t, *s = words[i] > *s ? words[i] : *s);
    default:
        EACH(uint64_t, *s |= words[i] ? 1 : 2);
    }
}

/* ---- many groups: a range of them a thread ------------------------------------------------------------- */

/* Of groups low .. high those that are new. */
static void clear_states(const struct group_batch *b, uint64_t low, uint64_t high)
{
    const uint64_t from = low > b->known ? low : b->known;
    for (uint32_t k = 0; from < high && k < b->folds; k++) {
        const uint64_t bytes = group_state_bytes(b->fold[k].state);
        memset((char *)b->fold[k].states + from * bytes, 0, (high - from) * bytes);
    }
}

static void fold_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *j = arg;
    const struct group_batch *b = j->batch;
    uint32_t low = (uint32_t)(b->groups / j->ranges * begin);
    uint32_t high = (uint32_t)(end == j->ranges ? b->groups : b->groups / j->ranges * end);
    struct group_picked p;
    uint64_t words[KEYS_BLOCK];
    uint32_t own[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    (void)worker;
    clear_states(b, low, high);
    for (uint64_t at = 0; at < b->n; at += KEYS_BLOCK) {
        uint32_t count = b->n - at < KEYS_BLOCK ? (uint32_t)(b->n - at) : KEYS_BLOCK;
        group_pick(&p, j->level, b->ids + at, count, low, high - low, 0);
        for (uint32_t k = 0; p.count && k < b->folds; k++) {
            const struct group_fold *f = &b->fold[k];
            uint64_t bytes = group_state_bytes(f->state);
            const int some = load_picked(&p, f, j->level, at, count, words, states);
            const uint32_t n = some ? drop_nulls(&p, states, words, own) : p.count;
            const uint32_t *groups = some ? own : p.group;
            for (uint32_t i = 0; b->groups > FEW_GROUPS && i < n; i++)
                __builtin_prefetch((char *)f->states + groups[i] * bytes, 1);
            make_words(f, f->state, words, n);
            fold_values(f->state, &f->column, f->states, bytes, 0, groups, words, n);
        }
    }
}

/* ---- records ------------------------------------------------------------------------------------------- */

struct records {
    const struct group_batch *batch;
    struct group_share *share;
    uint64_t parts;         /* of groups, a thread each, where these share records; 0: each has its own */
    uint64_t ranges, words; /* of rows; of a record, whose word 0 is the group's rows */
    uint64_t each;          /* words from a range's records to the next one's: they share no line */
    uint64_t *record;
    uint32_t lane_bits; /* a group has 1 << lane_bits records a range, its lanes */
    enum cpu_level level;
    int masked, placed; /* how rows are picked: for shares that are, for those that are not */
    int is_far;
};

/* Place 0 is the first lane of group 0. */
static uint64_t *record_of(const struct records *r, uint64_t range, uint64_t place)
{
    return r->record + range * r->each + place * r->words;
}

/* What a fold needs, from word `at` on. */
static struct group_share share_of(const struct group_fold *f, uint64_t rows, uint32_t at, uint32_t *words)
{
    struct group_share p = {f->state, at, ~0u, 0, 0};
    /* Are its rows counted apart? Decimals are never folded by masks, which count rows in the first lane. */
    int apart = f->column.validity != NULL || f->column.kind == KEYS_DICTIONARY || f->decimal;
    if (f->state == GROUP_SUM && f->column.bytes <= 4 && f->column.kind != KEYS_DICTIONARY && rows < 1u << 31)
        p.state = GROUP_SHORT_SUM;
    else if (f->state == GROUP_FLOATS)
        p.state = GROUP_SHORT_FLOATS;
    else if (f->state == GROUP_MIN || f->state == GROUP_MAX)
        p.state = f->state == GROUP_MIN ? GROUP_SHORT_MIN : GROUP_SHORT_MAX;
    else if (f->state == GROUP_MOMENTS)
        p.state = GROUP_SHORT_MOMENTS;
    if (f->state == GROUP_COUNT) {
        p.count = f->rows || !apart ? 0 : at;
        *words = p.count ? 1 : 0;
        return p;
    }
    *words = p.state < GROUP_STATES ? group_state_bytes(p.state) / 8 : p.state == GROUP_SHORT_MOMENTS ? 3 : 1;
    if (p.state >= GROUP_STATES) {
        p.count = apart ? at + *words : 0;
        *words += apart;
    }
    return p;
}

/* What the rows of a block are picked by: masks, places, or both. */
struct block {
    struct group_masks masks;
    struct group_picked picked;
    uint64_t begin;
    uint32_t count;
};

/* Values of which some are null, into a sum and a count side by side: a null is one that changes neither. 0:
 * the state is another one. */
static int fold_marked(const struct group_share *share, const struct keys_column *column, uint64_t *record,
                       uint64_t stride, const uint32_t *groups, const uint64_t *words, const uint8_t *nulls,
                       uint32_t n)
{
    const uint64_t sign = column->kind == KEYS_SIGNED ? ~0ull : 0;
    void *states = record + share->at;
    switch (share->state) {
    case GROUP_COUNT:
        EACH_MARKED(uint64_t, (void)word; s[0] += there);
    case GROUP_SUM:
        EACH_MARKED(struct group_sum, group_sum_add(s, word, sign & (0 - (word >> 63))); s->count += there);
    case GROUP_SHORT_SUM:
        EACH_MARKED(uint64_t, s[0] += word; s[1] += there);
    case GROUP_SHORT_FLOATS:
        EACH_MARKED(double, s[0] += group_real(word); ((uint64_t *)(void *)s)[1] += there);
    case GROUP_SHORT_MIN:
        EACH_MARKED(uint64_t, word |= there - 1; s[0] = word < s[0] ? word : s[0]; s[1] += there);
    case GROUP_SHORT_MAX:
        EACH_MARKED(uint64_t, s[0] = word > s[0] ? word : s[0]; s[1] += there);
    default:
        return 0;
    }
    return 1;
}

static void fold_share(const struct records *r, uint64_t *record, const struct block *block, uint32_t k)
{
    const struct group_fold *f = &r->batch->fold[k];
    const struct group_share *share = &r->share[k];
    const struct group_picked *p = &block->picked;
    uint64_t words[KEYS_BLOCK], stride = r->words * 8;
    uint32_t own[KEYS_BLOCK], n = p->count, lanes = (1u << r->lane_bits) - 1;
    uint8_t states[KEYS_BLOCK];
    const int some = load_picked(p, f, r->level, block->begin, block->count, words, states);
    const uint32_t *places = some ? own : p->group;
    make_words(f, share->state, words, n);
    if (some && fold_marked(share, &f->column, record, stride, p->group, words, states, n))
        return;
    if (some)
        n = drop_nulls(p, states, words, own);
    if (share->count && share->count != ~0u)
        fold_values(GROUP_COUNT, &f->column, record + share->count, stride, lanes, places, NULL, n);
    if (f->state != GROUP_COUNT)
        fold_values(share->state, &f->column, record + share->at, stride, lanes, places, words, n);
}

static void ask_for_records(const struct records *r, const uint64_t *record, const struct group_picked *p)
{
    for (uint64_t word = 0; word < r->words; word += LINE / 2)
        for (uint32_t i = 0; i < p->count; i++)
            __builtin_prefetch(record + p->group[i] * r->words + word, 1);
}

/* Rows of groups low .. low + groups. */
static void fold_record_block(const struct records *r, uint64_t *record, struct block *block, uint32_t low,
                              uint32_t groups)
{
    const struct group_batch *b = r->batch;
    const uint64_t lane_stride = r->words * 8, stride = r->words << r->lane_bits;
    const uint32_t *ids = b->ids + block->begin;
    if (r->masked)
        group_masks_make(&block->masks, ids, block->count, groups);
    if (r->placed)
        group_pick(&block->picked, r->level, ids, block->count, low, groups, r->lane_bits);
    if (r->placed && !r->masked && !block->picked.count)
        return;
    if (r->is_far)
        ask_for_records(r, record, &block->picked);
    if (r->masked)
        group_masks_count(&block->masks, record, stride, groups);
    else
        fold_values(GROUP_COUNT, &b->fold[0].column, record, lane_stride, 0, block->picked.group, NULL,
                    block->picked.count);
    for (uint32_t k = 0; k < b->folds; k++) {
        const struct group_share *share = &r->share[k];
        if (share->same || (b->fold[k].state == GROUP_COUNT && !share->count))
            continue;
        if (share->masked)
            group_masks_fold(&block->masks, &b->fold[k], share, block->begin, block->count, record, stride,
                             groups);
        else
            fold_share(r, record, block, k);
    }
}

/* Is its first word all ones before any value? */
static int has_mark(uint32_t state)
{
    return state == GROUP_SHORT_MIN || state == GROUP_SHORT_MOMENTS;
}

/* Of groups low .. high. */
static void open_records(const struct records *r, uint64_t *record, uint64_t low, uint64_t high)
{
    const struct group_batch *b = r->batch;
    const uint64_t from = low << r->lane_bits, end = high << r->lane_bits;
    memset(record + from * r->words, 0, (end - from) * r->words * 8);
    for (uint32_t k = 0; k < b->folds; k++)
        for (uint64_t g = from; has_mark(r->share[k].state) && g < end; g++)
            record[g * r->words + r->share[k].at] = ~0ull;
}

static void fold_record_rows(const struct records *r, uint64_t *record, uint64_t from, uint64_t end,
                             uint64_t low, uint64_t high)
{
    struct block block;
    open_records(r, record, low, high);
    for (uint64_t at = from; at < end; at += KEYS_BLOCK) {
        block.begin = at;
        block.count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        fold_record_block(r, record, &block, (uint32_t)low, (uint32_t)(high - low));
    }
}

/* All rows, a range of groups. */
static void fold_groups(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct records *r = arg;
    const uint64_t groups = r->batch->groups, each = groups / r->parts;
    (void)worker;
    fold_record_rows(r, r->record, 0, r->batch->n, each * begin, end == r->parts ? groups : each * end);
}

/* All groups, a range of rows. */
static void fold_rows(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct records *r = arg;
    const struct group_batch *b = r->batch;
    (void)worker;
    for (uint64_t range = begin; range < end; range++) {
        uint64_t each = (b->n / r->ranges + KEYS_BLOCK - 1) / KEYS_BLOCK * KEYS_BLOCK;
        uint64_t from = range * each < b->n ? range * each : b->n;
        uint64_t stop = range + 1 == r->ranges || b->n - from < each ? b->n : from + each;
        fold_record_rows(r, record_of(r, range, 0), from, stop, 0, b->groups);
    }
}

/* A record's part as the state that it stands for. */
static const void *state_of(const struct group_share *p, const struct keys_column *column,
                            const uint64_t *record, uint64_t *own)
{
    const uint64_t *at = record + p->at;
    uint64_t count = p->count != ~0u ? record[p->count] : 0;
    (void)column;
    switch (p->state) {
    case GROUP_COUNT:
        return record + p->count;
    case GROUP_SHORT_SUM: {
        uint64_t high = column->kind == KEYS_SIGNED ? 0 - (*at >> 63) : 0;
        struct group_sum sum = {*at, high, count};
        memcpy(own, &sum, sizeof sum);
        return own;
    }
    case GROUP_SHORT_FLOATS: /* sum, count */
    case GROUP_SHORT_MIN:    /* word, any */
    case GROUP_SHORT_MAX:
        own[0] = *at;
        own[1] = p->state == GROUP_SHORT_FLOATS ? count : count != 0;
        return own;
    case GROUP_SHORT_MOMENTS: {
        struct group_moments moments = {0, group_real(at[1]), group_real(at[2]), count};
        moments.shift = count ? group_real(at[0]) : 0;
        memcpy(own, &moments, sizeof moments);
        return own;
    }
    default:
        return at;
    }
}

static void merge_records(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct records *r = arg;
    const struct group_batch *b = r->batch;
    uint64_t own[4];
    (void)worker;
    clear_states(b, begin, end);
    for (uint64_t range = 0; range < r->ranges; range++)
        for (uint64_t at = begin << r->lane_bits; at < end << r->lane_bits; at++)
            for (uint32_t k = 0; k < b->folds; k++) {
                const struct group_fold *f = &b->fold[k];
                const uint64_t group = at >> r->lane_bits;
                group_state_merge(f->state, (char *)f->states + group * group_state_bytes(f->state),
                                  state_of(&r->share[k], &f->column, record_of(r, range, at), own));
            }
}

/* The part of an earlier fold that is alike. 0: there is none. */
static int take_part(struct records *r, uint32_t k)
{
    for (uint32_t i = 0; i < k && i < GROUP_MOST_ALIKE; i++)
        if (!r->share[i].same && group_folds_alike(&r->batch->fold[i], &r->batch->fold[k])) {
            r->share[k] = r->share[i];
            r->share[k].same = 1;
            return 1;
        }
    return 0;
}

/* How records look. */
static void lay_out(struct records *r, int can_mask)
{
    const struct group_batch *b = r->batch;
    r->words = 1;
    r->masked = can_mask;
    r->placed = !can_mask;
    for (uint32_t k = 0; k < b->folds; k++) {
        struct group_share *share = &r->share[k];
        uint32_t words;
        if (take_part(r, k))
            continue;
        *share = share_of(&b->fold[k], b->n, (uint32_t)r->words, &words);
        share->masked = can_mask && !b->fold[k].decimal && group_masks_take(share);
        r->placed |= !share->masked;
        r->words += words;
    }
    while (r->placed && r->lane_bits < MOST_LANE_BITS && (b->groups * r->words << r->lane_bits) < LANES_WORDS)
        r->lane_bits++;
    r->is_far = r->placed && b->groups * r->words * 8 > FAR_BYTES;
    while (r->is_far && r->words < LINE / 2 && (r->words & (r->words - 1)))
        r->words++; /* no record lies in two lines */
    r->each = ((b->groups * r->words << r->lane_bits) + LINE - 1) / LINE * LINE + LINE;
}

/* 0: records are of no use, or there is no memory for them. */
static int fold_by_records(cohort_context *context, const struct group_batch *b, uint64_t threads)
{
    /* Merging more records than there are rows would cost more than the rows do. */
    const uint64_t most = b->n / (threads > 8 ? threads : 8);
    const int by_rows = b->groups <= most + 1, by_groups = b->folds > 1 && b->groups <= b->n / 2;
    struct records r = {.batch = b, .ranges = by_rows ? threads : 1, .level = cpu_device(context)->level};
    void *memory, *shares;
    if ((!by_rows && !by_groups) || pool_take(context, b->folds * sizeof *r.share, &shares))
        return 0;
    r.parts = by_rows ? 0 : threads;
    r.share = shares;
    lay_out(&r, by_rows && group_masks_can(r.level, b->groups));
    if (pool_take(context, r.ranges * r.each * 8, &memory)) {
        pool_give(context, shares);
        return 0;
    }
    r.record = memory;
    if (by_rows)
        cpu_parallel(context, r.ranges, 1, fold_rows, &r);
    else
        cpu_parallel(context, r.parts, 1, fold_groups, &r);
    cpu_parallel(context, b->groups, MERGE_GRAIN, merge_records, &r);
    pool_give(context, memory);
    pool_give(context, shares);
    return 1;
}

static cohort_status cpu_group_fold(cohort_context *context, const struct group_batch *b)
{
    uint64_t threads = cpu_device(context)->threads;
    struct job j = {b, b->n <= KEYS_GRAIN || b->groups < threads ? 1 : threads, cpu_device(context)->level};
    if (!b->folds || (b->n > KEYS_GRAIN && fold_by_records(context, b, threads)))
        return COHORT_OK;
    cpu_parallel(context, j.ranges, 1, fold_range, &j);
    return COHORT_OK;
}

/* ---- states into states -------------------------------------------------------------------------------- */

static cohort_status cpu_group_merge(cohort_context *context, uint32_t state, void *to, const void *from,
                                     const uint32_t *ids, uint64_t n, uint64_t groups)
{
    uint32_t bytes = group_state_bytes(state);
    uint64_t own[sizeof(struct group_exact) / 8]; /* what came by Arrow may lie anywhere */
    (void)context, (void)groups;
    for (uint64_t i = 0; i < n; i++) {
        if (ids[i] == KEYS_NO_ID)
            continue;
        memcpy(own, (const char *)from + i * bytes, bytes);
        group_state_merge(state, (char *)to + (uint64_t)ids[i] * bytes, own);
    }
    return COHORT_OK;
}

static cohort_status cpu_group_out(cohort_context *context, uint32_t state, void *to, const void *from,
                                   uint64_t n)
{
    (void)context;
    if (n)
        memcpy(to, from, n * group_state_bytes(state));
    return COHORT_OK;
}

/* Anything may be in states, but for what is an address or a power. */
static cohort_status cpu_group_check(cohort_context *context, uint32_t state, const void *from, uint64_t n,
                                     int *good)
{
    struct group_exact exact;
    (void)context;
    *good = 1;
    for (uint64_t i = 0; state == GROUP_EXACT && i < n; i++) {
        memcpy(&exact, (const char *)from + i * sizeof exact, sizeof exact);
        *good &= group_exact_is_good(&exact);
    }
    return COHORT_OK;
}

const struct group_backend cpu_group_backend = {
    .out = cpu_group_out,
    .check = cpu_group_check,
    .fold = cpu_group_fold,
    .merge = cpu_group_merge,
    .sets_new = 1,
    .values = cpu_group_values,
};
