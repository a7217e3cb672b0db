/* cpu/group_values.c: states of groups as the elements of a column.
 *
 * Groups go in words of 64, as their validity does: a thread writes whole words, and nobody else the elements
 * that they tell of. */
#include "backend/group.h"
#include "keys.h"

#define GRAIN (1u << 13) /* groups; a multiple of 64 */

/* ---- columns ------------------------------------------------------------------------------------------- */

/* Where there is no value the word is 0. Which are there. */
static uint64_t load(struct group_values *v, uint64_t first, uint32_t count, uint64_t *words)
{
    uint64_t bytes = group_state_bytes(v->told.state), there = 0;
    const char *state = (const char *)v->states + first * bytes;
    for (uint32_t i = 0; i < count; i++) {
        co_u64 word = 0;
        int is = group_state_told(&v->told, state + i * bytes, &word);
        if (is < 0)
            co_min64(&v->overflow, first + i);
        words[i] = is > 0 ? word : 0;
        there |= (uint64_t)(is > 0) << i;
    }
    return there;
}

#define STORE(T)                         \
    for (uint32_t i = 0; i < count; i++) \
        ((T *)v->data)[first + i] = (T)words[i];

static void store(const struct group_values *v, uint64_t first, uint32_t count, const uint64_t *words)
{
    uint64_t bits = 0;
    if (v->width == 8)
        memcpy((uint64_t *)v->data + first, words, count * sizeof *words);
    else if (v->width == 4)
        STORE(uint32_t)
    else if (v->width == 2)
        STORE(uint16_t)
    else if (v->width == 1)
        STORE(uint8_t)
    else if (v->width)
        for (uint32_t i = 0; i < count; i++)
            memcpy((char *)v->data + (first + i) * v->width, &words[i], v->width);
    else {
        for (uint32_t i = 0; i < count; i++)
            bits |= (words[i] & 1) << i;
        ((uint64_t *)v->data)[first / 64] = bits;
    }
}

/* Sums of WIDE, whose elements have 16 bytes. */
static uint64_t load_wide(struct group_values *v, uint64_t first, uint32_t count)
{
    const struct group_wide *state = (const struct group_wide *)v->states + first;
    uint64_t there = 0;
    for (uint32_t i = 0; i < count; i++) {
        co_u64 word[2];
        const int is = group_wide_told(&state[i], word);
        if (is < 0)
            co_min64(&v->overflow, first + i);
        if (is <= 0)
            word[0] = word[1] = 0;
        memcpy((char *)v->data + (first + i) * sizeof word, word, sizeof word);
        there |= (uint64_t)(is > 0) << i;
    }
    return there;
}

static void values_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct group_values *v = arg;
    uint64_t words[64], nulls = 0;
    (void)worker;
    for (uint64_t first = begin; first < end; first += 64) {
        uint32_t count = end - first < 64 ? (uint32_t)(end - first) : 64;
        const int wide = v->told.state == GROUP_WIDE && v->told.form != GROUP_AS_MEAN;
        const uint64_t there = wide ? load_wide(v, first, count) : load(v, first, count, words);
        if (!wide)
            store(v, first, count, words);
        v->validity[first / 64] = there;
        nulls += count - (unsigned)__builtin_popcountll(there);
    }
    __atomic_add_fetch(&v->nulls, nulls, __ATOMIC_RELAXED);
}

cohort_status cpu_group_values(cohort_context *context, struct group_values *v)
{
    cpu_parallel(context, v->n, GRAIN, values_part, v);
    return COHORT_OK;
}
