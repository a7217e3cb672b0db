/* cpu/keys.h: what the files of keys share: rows as words and as bytes. */
#ifndef COHORT_CPU_KEYS_H
#define COHORT_CPU_KEYS_H

#include <string.h>

#include "backend/keys.h"
#include "cpu.h"

#define KEYS_BLOCK 256u       /* rows that a thread does together */
#define KEYS_GRAIN (1u << 13) /* a multiple of KEYS_BLOCK: rows that it takes at a time */

/* Words and states of rows begin .. begin + count; 1: some state is not KEYS_VALUE. count is at most KEYS_BLOCK. */
int keys_load(const struct keys_column *, uint64_t begin, uint32_t count, uint64_t *words, uint8_t *states);
int keys_load_rows(const struct keys_words *, uint64_t begin, uint32_t count, uint64_t *words,
                   uint8_t *states);

/* The same of columns of bytes: where they are and their hashes. Where the state is not KEYS_VALUE there is nothing. */
int keys_load_text(const struct keys_column *, uint64_t begin, uint32_t count, struct keys_text *texts,
                   uint64_t *hashes, uint8_t *states);
uint64_t keys_hash_text(struct keys_text);

cohort_status cpu_keys_add(cohort_context *, struct keys_table *, struct keys_batch *);

static inline uint64_t keys_hash(uint64_t key)
{
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93ull;
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93ull;
    return key ^ key >> 32;
}

static inline uint64_t keys_home(const struct keys_table *t, uint64_t key)
{
    return keys_hash(key) & (t->capacity - 1);
}

#endif
