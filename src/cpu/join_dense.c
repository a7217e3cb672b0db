/* cpu/join_dense.c: groups of keys that lie close together: the key itself, counted from the least. */
#include "join.h"
#include "keys.h"

struct dense_job {
    const struct keys_column *column;
    const struct join_range *range;
    uint32_t *groups;
};

static void dense_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct dense_job *j = arg;
    const uint64_t low = j->range->low, span = j->range->span;
    uint64_t words[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        int some = keys_load(j->column, at, count, words, states);
        for (uint32_t i = 0; i < count; i++)
            j->groups[at + i] = words[i] - low <= span ? (uint32_t)(words[i] - low) : JOIN_NONE;
        for (uint32_t i = 0; some && i < count; i++)
            if (states[i])
                j->groups[at + i] = states[i] == KEYS_NULL ? j->range->null : JOIN_NONE;
    }
}

cohort_status cpu_join_dense(cohort_context *context, const struct keys_column *column, uint64_t n,
                             const struct join_range *range, uint32_t *groups)
{
    struct dense_job j = {column, range, groups};
    return cpu_parallel_told(context, "join", n, KEYS_GRAIN, dense_part, &j);
}
