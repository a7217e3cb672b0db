/* cpu/keys_range.c: the least and the greatest value of a column. */
#include "keys.h"

struct range_job {
    const struct keys_column *column;
    uint64_t low, high; /* with the sign turned, if there is one */
    unsigned any;
};

static uint64_t sign_of(const struct keys_column *c)
{
    return c->is_signed ? 1ull << 63 : 0;
}

/* Plain integers of 4 bytes without nulls, which dictionaries and ids are: as fast as they are read. */
static int range_32(const struct keys_column *c, uint64_t begin, uint64_t end, uint64_t *low, uint64_t *high)
{
    uint32_t turn = c->kind == KEYS_SIGNED ? 1u << 31 : 0, least = ~0u, most = 0;
    const uint32_t *data = c->data;
    if (c->bytes != 4 || c->validity || (c->kind != KEYS_SIGNED && c->kind != KEYS_UNSIGNED))
        return 0;
    for (uint64_t i = begin; i < end; i++) {
        uint32_t v = data[i] ^ turn;
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    *low = (turn ? (uint64_t)(int64_t)(int32_t)(least ^ turn) : least) ^ sign_of(c);
    *high = (turn ? (uint64_t)(int64_t)(int32_t)(most ^ turn) : most) ^ sign_of(c);
    return 1;
}

static void range_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct range_job *j = arg;
    uint64_t words[KEYS_BLOCK], low = ~0ull, high = 0, turn = sign_of(j->column);
    uint8_t states[KEYS_BLOCK];
    int any = range_32(j->column, begin, end, &low, &high);
    (void)worker;
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

cohort_status cpu_keys_range(cohort_context *context, const struct keys_column *column, uint64_t n,
                             struct keys_range *out)
{
    struct range_job j = {column, ~0ull, 0, 0};
    cpu_parallel(context, n, KEYS_GRAIN, range_part, &j);
    *out = (struct keys_range){j.low ^ sign_of(column), j.high ^ sign_of(column), (int)j.any};
    return COHORT_OK;
}
