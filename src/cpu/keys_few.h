/* cpu/keys_few.h: few strings, laid out for many rows to be looked up among them. */
#ifndef COHORT_CPU_KEYS_FEW_H
#define COHORT_CPU_KEYS_FEW_H

#include "keys.h"

struct keys_few {
    const struct keys_table *table;
    const struct keys_seed *seed;
    char *first;      /* by id: the first 32 bytes, filled up with zeros */
    int8_t *length;   /* by id: of a short string; -1: it is long, or none */
    uint32_t *bitmap; /* a bit is where the hash's upper bits tell, */
    uint16_t *slot;   /* and so is a slot: an id, or vacant */
    uint32_t bit_shift, slot_shift, mask;
    uint16_t vacant; /* the id behind the last, of a string that no row is */
    void *memory;    /* NULL: there is none */
};

/* Lays out a table's strings, if it pays for so many rows. */
void keys_few_open(cohort_context *, struct keys_few *, const struct keys_table *, uint64_t rows);
void keys_few_close(cohort_context *, struct keys_few *);

/* Ids of rows begin .. begin + count, as keys_find_text has them with KEYS_NO_ID for absent ones, and states;
 * 1: some state is not KEYS_VALUE, and its id is still to be told. count is at most KEYS_BLOCK. */
int keys_few_find(const struct keys_few *, const struct keys_column *, uint64_t begin, uint32_t count,
                  uint32_t *ids, uint8_t *states);

#endif
