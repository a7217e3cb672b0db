/* cpu/sets_combine.h: one chunk of an answer, from the chunks of the operands that have one with its key. */
#ifndef COHORT_CPU_SETS_COMBINE_H
#define COHORT_CPU_SETS_COMBINE_H

#include "sets_vector.h"

/* What a thread works in. */
struct cpu_scratch {
    const struct sets_vectors *vectors;
    _Alignas(64) co_u64 words[SETS_CHUNK_WORDS], other[SETS_CHUNK_WORDS];
    _Alignas(64) co_u16 array[CO_CHUNK_IDS + 64];
    _Alignas(64) co_u16 listed[SETS_LIST_MOST + 64];
    co_u16 runs[2 * SETS_RUNS_SWEPT + 64]; /* of `sweep` */
    co_u32 counters[CO_CHUNK_IDS];
    co_u64 *past; /* where a bitmap made of two is to go at once, past the caches; NULL: nowhere else */
};

/* The answer: a chunk, which lies with an operand, in the scratch or at `past`; card 0: it is empty. */
struct cpu_answer {
    struct sets_chunk chunk;
    int own; /* in the scratch, or at its `past` */
};

/* `chunks` of the operands that have one, in their order, `count` of them, out of `all`; of ANDNOT the first
 * is the first operand's. What cannot be an answer has been left out before: of AND count is all. Changes the
 * array. */
struct cpu_answer cpu_combine(const struct sets_query *q, struct sets_chunk *chunks, co_u32 count, co_u64 all,
                              struct cpu_scratch *scratch);

#endif
