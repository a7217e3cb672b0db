/* cpu/keys_ranks.c: ranks of rows, by which a column is sorted. shape/keys_step.h has the rank of a value. */
#include "keys.h"

static void rank_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct keys_ranks *r = arg;
    uint8_t states[KEYS_BLOCK];
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        const uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        uint64_t *words = r->words + at;
        if (!r->order)
            keys_load(&r->column, at, count, words, states);
        for (uint32_t i = 0; r->order && i < count; i++)
            keys_load(&r->column, r->order[at + i], 1, words + i, states + i);
        for (uint32_t i = 0; i < count; i++)
            words[i] = states[i] ? 0 : keys_rank_of(r->kind, r->bytes, words[i]);
        for (uint32_t i = 0; r->nulls && i < count; i++)
            r->nulls[at + i] = states[i] != KEYS_VALUE;
    }
}

cohort_status cpu_keys_ranks(cohort_context *context, const struct keys_ranks *r)
{
    struct keys_ranks copy = *r;
    return cpu_parallel_told(context, "keys", r->n, KEYS_GRAIN, rank_part, &copy);
}
