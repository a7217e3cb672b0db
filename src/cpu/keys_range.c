/* cpu/keys_range.c: the least and the greatest value of a column. */
#include "keys.h"

#define MOST_VALUES 1024u /* of a dictionary whose rows are not read for their range */

struct range_job {
    const struct keys_column *column;
    uint64_t low, high; /* with the sign turned, if there is one */
    unsigned any;
    enum cpu_level level;
};

static uint64_t sign_of(const struct keys_column *c)
{
    return c->is_signed ? 1ull << 63 : 0;
}

/* ---- integers without nulls ---------------------------------------------------------------------------- */

#define RANGE(T)                                       \
    do {                                               \
        const T *from = (const T *)c->data;            \
        T least = from[begin], most = least;           \
        for (uint64_t i = begin; i < end; i++) {       \
            least = from[i] < least ? from[i] : least; \
            most = from[i] > most ? from[i] : most;    \
        }                                              \
        *low = (uint64_t)(int64_t)least ^ sign_of(c);  \
        *high = (uint64_t)(int64_t)most ^ sign_of(c);  \
        return;                                        \
    } while (0)

/* As fast as they are read. begin < end. */
static inline __attribute__((always_inline)) void range_of(const struct keys_column *c, uint64_t begin,
                                                           uint64_t end, uint64_t *low, uint64_t *high)
{
    switch (c->bytes + (c->kind == KEYS_SIGNED ? 16 : 0)) {
    case 1:
        RANGE(uint8_t);
    case 2:
        RANGE(uint16_t);
    case 4:
        RANGE(uint32_t);
    case 8:
        RANGE(uint64_t);
    case 16 + 1:
        RANGE(int8_t);
    case 16 + 2:
        RANGE(int16_t);
    case 16 + 4:
        RANGE(int32_t);
    default:
        RANGE(int64_t);
    }
}

static void range_plain(const struct keys_column *c, uint64_t begin, uint64_t end, uint64_t *low,
                        uint64_t *high)
{
    range_of(c, begin, end, low, high);
}

#if CPU_VECTORS
CPU_LOOPS_512 static void range_512(const struct keys_column *c, uint64_t begin, uint64_t end, uint64_t *low,
                                    uint64_t *high)
{
    range_of(c, begin, end, low, high);
}
#else
#    define range_512 range_plain
#endif

static int is_plain(const struct keys_column *c)
{
    return !c->validity && (c->kind == KEYS_SIGNED || c->kind == KEYS_UNSIGNED);
}

/* ---- all columns --------------------------------------------------------------------------------------- */

static void range_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct range_job *j = arg;
    uint64_t words[KEYS_BLOCK], low = ~0ull, high = 0, turn = sign_of(j->column);
    uint8_t states[KEYS_BLOCK];
    int any = is_plain(j->column);
    (void)worker;
    if (any)
        (j->level >= CPU_AVX512 ? range_512 : range_plain)(j->column, begin, end, &low, &high);
    for (uint64_t at = any ? end : begin; at < end; at += KEYS_BLOCK) {
        uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        int some = keys_load(j->column, at, count, words, states);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t v = words[i] ^ turn;
            if (some && states[i])
                continue;
            low = v < low ? v : low;
            high = v > high ? v : high;
            any = 1;
        }
    }
    if (!any)
        return;
    __atomic_store_n(&j->any, 1, __ATOMIC_RELAXED);
    for (uint64_t old = __atomic_load_n(&j->low, __ATOMIC_RELAXED); low < old;)
        if (__atomic_compare_exchange_n(&j->low, &old, low, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
    for (uint64_t old = __atomic_load_n(&j->high, __ATOMIC_RELAXED); high > old;)
        if (__atomic_compare_exchange_n(&j->high, &old, high, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
}

/* Of a dictionary that is much shorter than the rows: what its values may be is close enough. */
static int bound_of(const struct keys_column *c, uint64_t n, struct keys_range *out)
{
    const uint64_t turn = sign_of(c);
    if (!c->values || c->values > MOST_VALUES || c->values > n / 64)
        return 0;
    *out = (struct keys_range){0, c->values - 1, 1};
    if (c->kind != KEYS_DICTIONARY)
        return 1;
    *out = (struct keys_range){~0ull ^ turn, 0 ^ turn, 0};
    for (uint64_t i = 0; i < c->values; i++) {
        const uint64_t word = c->words[i];
        if (c->states[i])
            continue;
        out->low = (word ^ turn) < (out->low ^ turn) ? word : out->low;
        out->high = (word ^ turn) > (out->high ^ turn) ? word : out->high;
        out->any = 1;
    }
    return 1;
}

cohort_status cpu_keys_range(cohort_context *context, const struct keys_column *column, uint64_t n,
                             struct keys_range *out)
{
    if (bound_of(column, n, out))
        return COHORT_OK;
    struct range_job j = {column, ~0ull, 0, 0, cpu_device(context)->level};
    cpu_parallel(context, n, KEYS_GRAIN, range_part, &j);
    *out = (struct keys_range){j.low ^ sign_of(column), j.high ^ sign_of(column), (int)j.any};
    return COHORT_OK;
}
