/* cpu/runs.c: where runs of equal keys begin, and how long they are, on the host's threads. */
#include "backend/runs.h"

#include "cpu.h"
#include "shape/bits.h"

#define GRAIN 1024u /* words of the bitmap that a thread takes at a time */

struct job {
    const struct runs_begins *begins;
    const struct runs_lengths *lengths;
    co_u64 total;
};

/* Up to 32 bits from entry `first` on. */
#define BEGINS(T)                                                       \
    static co_u32 begins_##T(const T *keys, co_u64 first, co_u32 count) \
    {                                                                   \
        const T *key = keys + first;                                    \
        co_u32 word = !first || key[0] != key[-1];                      \
        for (co_u32 b = 1; b < count; b++)                              \
            word |= (co_u32)(key[b] != key[b - 1]) << b;                \
        return word;                                                    \
    }
BEGINS(co_u32)
BEGINS(co_u64)

#define WORDS(T)                                                                                  \
    static void words_##T(void *arg, uint64_t begin, uint64_t end, unsigned worker)               \
    {                                                                                             \
        const struct runs_begins *s = ((const struct job *)arg)->begins;                          \
        (void)worker;                                                                             \
        for (co_u64 w = begin; w < end; w++) {                                                    \
            const co_u64 left = s->n - w * 32;                                                    \
            bits_put_word(s->bits, w * 32, s->n,                                                  \
                          begins_##T((const T *)s->keys, w * 32, left < 32 ? (co_u32)left : 32)); \
        }                                                                                         \
    }
WORDS(co_u32)
WORDS(co_u64)

static cohort_status cpu_runs_begins(cohort_context *context, const struct runs_begins *step,
                                     co_u32 key_bytes)
{
    struct job j = {.begins = step};
    cpu_parallel(context, batch_bitmap_words(step->n), GRAIN, key_bytes == 8 ? words_co_u64 : words_co_u32,
                 &j);
    return COHORT_OK;
}

static void write_lengths(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct job *j = arg;
    (void)worker;
    for (co_u64 i = begin; i < end; i++)
        j->lengths->lengths[i] = runs_length(j->lengths, j->total, i);
}

static cohort_status cpu_runs_lengths(cohort_context *context, const struct runs_lengths *step)
{
    struct job j = {.lengths = step, .total = *step->total};
    cpu_parallel(context, j.total, GRAIN * 8, write_lengths, &j);
    return COHORT_OK;
}

const struct runs_backend cpu_runs_backend = {
    .begins = cpu_runs_begins,
    .lengths = cpu_runs_lengths,
};
