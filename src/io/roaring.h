/* roaring.h: Roaring's portable format, 32 and 64 bit, read and written. docs/set.md names the specification.
 *
 * A blob has containers, one for each 2^16 integers, by rising key (the bits from 16 on). Reading judges all
 * that says where things are, and runs, and tells of each container where its entries lie in the blob;
 * nothing is copied. Arrays and bitmaps, most of the bytes, are judged one by one, by whoever reads them
 * next. */
#ifndef COHORT_IO_ROARING_H
#define COHORT_IO_ROARING_H

#include "cohort/context.h"

enum roaring_kind { ROARING_ARRAY, ROARING_BITMAP, ROARING_RUNS };

struct roaring_container {
    uint64_t key;
    uint32_t kind, entries, card; /* entries: of an array, or runs. card: 1 to 65,536 */
    const unsigned char *
        /* entries, the low byte first: 16-bit numbers, pairs of start and length less one, or 64-bit words */
        at;
};

struct roaring_list {
    struct roaring_container *at; /* malloc */
    uint64_t count, room;
    int fixed;   /* `at` is somebody else's memory, and has room for as many as the blobs have told */
    int vectors; /* roaring_vectors() */
};

/* May AVX-512 be used? 0 also where COHORT_CPU in the environment asks for less. */
int roaring_vectors(void);

/* Adds the containers of a blob to the list. wide: it is of the 64-bit format. Fails with "NAME NUMBER:
 * byte B: ...", COHORT_TRUNCATED or COHORT_CORRUPT, or COHORT_NO_MEMORY. */
cohort_status roaring_read(cohort_context *context, const char *name, uint64_t number, const void *bytes,
                           uint64_t n, int wide, struct roaring_list *list);

/* How many containers a blob of 32 bits may have, by its first bytes. */
uint64_t roaring_containers(const void *bytes, uint64_t n);

/* Judges an array or a bitmap of the blob that begins at `bytes`. Fails as roaring_read does. */
cohort_status roaring_judge(cohort_context *context, const char *name, uint64_t number, const void *bytes,
                            const struct roaring_container *container);

/* Of which kind a container is, whichever takes least, and a run's only if it takes less. */
enum roaring_kind roaring_choose(uint32_t card, uint32_t runs);

/* The bytes of a blob with these containers, whose kind and entries are as chosen. */
uint64_t roaring_bytes(const struct roaring_container *containers, uint64_t count, int wide);

/* Writes it. `fill` writes the entries of container i: 2 bytes each, of a run 4, of a bitmap 8,192 bytes. */
void roaring_write(const struct roaring_container *containers, uint64_t count, int wide, unsigned char *to,
                   void (*fill)(void *user, uint64_t i, unsigned char *at), void *user);

#endif
