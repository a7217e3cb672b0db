/* worlds.h: tables whose keys are dictionaries of strings, binaries, decimals and UUIDs, once on a GPU and
 * once on a CPU. Every frame has dictionaries of its own, in layouts of their own, with values twice and
 * null values. What calls on the GPU send to the host is looked at (watched.h). */
#ifndef TEST_TABLE_WORLDS_H
#define TEST_TABLE_WORLDS_H

#include "model.h"
#include "watched.h"

#define WORLD_FRAMES 3
#define WORLD_KEYS   3 /* at most */
#define WORLD_ON     (TEST_ON_SIM | TEST_ON_CUDA)

/* Keys, then "v" of numbers and "s" of strings. */
struct world {
    uint32_t keys;
    const char *format[WORLD_KEYS];
    uint8_t nulls_equal[WORLD_KEYS];
    uint32_t reproducible;
    struct model model[WORLD_FRAMES];
    cohort_frame *frame[WORLD_FRAMES], *cpu_frame[WORLD_FRAMES];
    cohort_context *context, *cpu;
};

/* rows: at most; some frames have few, or none. Models first, which a case may alter, and then frames. */
void world_fill(struct test *t, struct world *w, uint64_t rows, uint64_t distinct);
void world_open(struct test *t, struct world *w, cohort_context *context);
void world_close(struct world *w);

/* Whether a key column is a dictionary of numbers: these have no order to be found, and go to the GPU. */
int world_has_numbers(const struct world *w);

/* What may go to the host when the rows of `out` are put in order by their first columns: the indices of each
 * into a dictionary that has more values. */
uint64_t world_ordered_bytes(const cohort_frame *out, uint32_t keys);

/* The same rows, of the same types but for layouts and dictionaries. */
void world_same(struct test *t, cohort_frame *a, cohort_frame *due);

#endif
