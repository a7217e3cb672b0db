/* flat.h: frames of plain columns whose bytes are told: words and texts of keys that are numbers, for tests
 * of how much memory calls take. */
#ifndef TEST_TABLE_FLAT_H
#define TEST_TABLE_FLAT_H

#include "test.h"

struct flat {
    cohort_frame *frame;
    char *texts; /* what a column of texts points to; else NULL */
    uint32_t *offsets;
};

/* A column `a` of texts of so many bytes, 8 at least, which are different where key[i] is. */
void flat_texts(struct test *, cohort_context *, uint64_t n, const uint64_t *key, uint32_t bytes,
                struct flat *);

/* Columns a, b, ... of 4 or 8 bytes. Words that lie anywhere; of 4 bytes they are different for keys below
 * 2^32. `step`: key[i] times that instead. */
void flat_words(struct test *, cohort_context *, uint64_t n, const uint64_t *key, uint32_t columns,
                uint32_t bytes, uint64_t step, struct flat *);

void flat_close(struct flat *);

#endif
