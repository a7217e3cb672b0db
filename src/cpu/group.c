/* cpu/group.c: rows folded into the states of their groups.
 *
 * A thread takes a range of groups, goes through all rows, and folds those of its groups in their order.
 * So no state has two writers, and results do not depend on the number of threads. */
#include "backend/group.h"
#include "keys.h"

struct job {
    const struct group_batch *batch;
    uint64_t ranges; /* of groups */
};

/* ---- values -------------------------------------------------------------------------------------------------------------- */

static double half_value(uint32_t h)
{
    union {
        uint64_t bits;
        double value;
    } v;
    uint64_t fraction = h & 0x3ff, exponent = h >> 10 & 31, sign = (uint64_t)(h >> 15 & 1) << 63;
    if (exponent == 0) {
        v.value = (double)fraction * 0x1p-24;
        v.bits |= sign;
        return v.value;
    }
    v.bits = sign | (exponent == 31 ? 0x7ffull : exponent - 15 + 1023) << 52 | fraction << 42;
    return v.value;
}

static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static uint64_t bits_of(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

/* Words of a column as the bits of doubles. */
static void make_doubles(const struct keys_column *c, uint64_t *words, uint32_t count)
{
    if (c->kind == KEYS_FLOAT && c->bytes == 8)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t low = (uint32_t)words[i];
        float f;
        memcpy(&f, &low, sizeof f);
        words[i] = bits_of(c->kind == KEYS_FLOAT ? (c->bytes == 4 ? (double)f : half_value(low))
                           : c->is_signed        ? (double)(int64_t)words[i]
                                                 : (double)words[i]);
    }
}

/* Words of a column in the order of its values. NaNs, which are one and positive, come last. */
static void make_ordered(const struct keys_column *c, uint64_t *words, uint32_t count)
{
    uint64_t sign = c->bytes ? 1ull << (8 * c->bytes - 1) : 0;
    for (uint32_t i = 0; c->kind == KEYS_SIGNED && i < count; i++)
        words[i] ^= 1ull << 63;
    for (uint32_t i = 0; c->kind == KEYS_FLOAT && i < count; i++)
        words[i] = words[i] & sign ? sign - 1 - (words[i] & (sign - 1)) : words[i] | sign;
}

/* ---- a block of rows ----------------------------------------------------------------------------------------------------- */

/* For each row of the block that belongs to one of the groups and is not null. */
#define EACH_ROW(T, BODY)                                \
    for (uint32_t i = 0; i < count; i++) {               \
        if (ids[i] - low >= span || (some && states[i])) \
            continue;                                    \
        T *s = (T *)f->states + ids[i];                  \
        BODY;                                            \
    }                                                    \
    break

static void fold_words(const struct group_fold *f, const uint32_t *ids, const uint64_t *words,
                       const uint8_t *states, int some, uint32_t count, uint32_t low, uint32_t span)
{
    uint64_t sign = f->column.kind == KEYS_SIGNED ? ~0ull : 0;
    switch (f->state) {
    case GROUP_COUNT:
        EACH_ROW(uint64_t, ++*s);
    case GROUP_SUM:
        EACH_ROW(struct group_sum, group_sum_add(s, words[i], sign & (0 - (words[i] >> 63))); s->count++);
    case GROUP_FLOATS:
        EACH_ROW(struct group_floats, s->sum += double_of(words[i]); s->count++);
    case GROUP_EXACT:
        EACH_ROW(struct group_exact, group_exact_add(s, words[i]));
    case GROUP_MOMENTS:
        EACH_ROW(struct group_moments, group_moments_add(s, double_of(words[i])));
    case GROUP_MIN:
        EACH_ROW(struct group_word, if (!s->any || words[i] < s->word) s->word = words[i]; s->any = 1);
    case GROUP_MAX:
        EACH_ROW(struct group_word, if (!s->any || words[i] > s->word) s->word = words[i]; s->any = 1);
    case GROUP_FIRST:
        EACH_ROW(struct group_word, if (!s->any) s->word = words[i]; s->any = 1);
    case GROUP_LAST:
        EACH_ROW(struct group_word, s->word = words[i]; s->any = 1);
    default:
        EACH_ROW(uint64_t, *s |= words[i] ? 1 : 2);
    }
}

static void fold_block(const struct group_fold *f, const uint32_t *ids, uint64_t begin, uint32_t count,
                       uint32_t low, uint32_t span)
{
    uint64_t words[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    int some = !f->rows && keys_load(&f->column, begin, count, words, states);
    if (f->state == GROUP_FLOATS || f->state == GROUP_EXACT || f->state == GROUP_MOMENTS)
        make_doubles(&f->column, words, count);
    else if (f->state == GROUP_MIN || f->state == GROUP_MAX)
        make_ordered(&f->column, words, count);
    fold_words(f, ids, words, states, some, count, low, span);
}

static void fold_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *j = arg;
    const struct group_batch *b = j->batch;
    uint32_t low = (uint32_t)(b->groups / j->ranges * begin);
    uint32_t high = (uint32_t)(end == j->ranges ? b->groups : b->groups / j->ranges * end);
    (void)worker;
    for (uint64_t at = 0; at < b->n; at += KEYS_BLOCK) {
        uint32_t count = b->n - at < KEYS_BLOCK ? (uint32_t)(b->n - at) : KEYS_BLOCK;
        for (uint32_t k = 0; k < b->folds; k++)
            fold_block(&b->fold[k], b->ids + at, at, count, low, high - low);
    }
}

static void cpu_group_fold(cohort_context *context, const struct group_batch *b)
{
    uint64_t threads = cpu_device(context)->threads;
    struct job j = {b, b->n <= KEYS_GRAIN || b->groups < threads ? 1 : threads};
    cpu_parallel(context, j.ranges, 1, fold_range, &j);
}

/* ---- states into states --------------------------------------------------------------------------------------------------- */

static void cpu_group_merge(cohort_context *context, uint32_t state, void *to, const void *from,
                            const uint32_t *ids, uint64_t n)
{
    uint32_t bytes = group_state_bytes(state);
    uint64_t own[sizeof(struct group_exact) / 8]; /* what came by Arrow may lie anywhere */
    (void)context;
    for (uint64_t i = 0; i < n; i++) {
        if (ids[i] == KEYS_NO_ID)
            continue;
        memcpy(own, (const char *)from + i * bytes, bytes);
        group_state_merge(state, (char *)to + (uint64_t)ids[i] * bytes, own);
    }
}

const struct group_backend cpu_group_backend = {
    .fold = cpu_group_fold,
    .merge = cpu_group_merge,
};
