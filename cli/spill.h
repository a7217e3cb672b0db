/* A file without a name for what does not fit in memory, and the regions of it.
 *
 * A region is a list of numbers in a file, to which numbers are appended. It lies in extents, each twice as
 * large as the one before: so what must be remembered of a region grows with the logarithm of its length. An
 * extent's place that is not written is a hole of the file, and takes no room where the file system has
 * holes. */
#ifndef COHORT_CLI_SPILL_H
#define COHORT_CLI_SPILL_H

#include "numbers.h"

/* In the directory of `path` if that is a file's, else in TMPDIR or /tmp. It is gone when it is closed, or
 * the program ends. */
int spill_open(numbers *spill, const char *path, size_t width, fault *fault);

/* At the end, which is spill->n. */
int spill_write(numbers *spill, const void *from, uint64_t n, fault *fault);

/* Forgets all from number n on. */
int spill_cut(numbers *spill, uint64_t n, fault *fault);

typedef struct region {
    numbers *file;
    uint64_t n;
    uint64_t unit;   /* numbers of the first extent */
    uint64_t *start; /* of each extent */
} region;

/* What is one after the other: the first n numbers of a file. *start is 0. */
region region_whole(numbers *file, uint64_t n, uint64_t *start);

/* `count` empty regions of `spill`, of up to `most` numbers each, of which `unit` (> 0) are a good piece;
 * free() them. NULL: no memory. */
region *regions_make(numbers *spill, uint64_t count, uint64_t unit, uint64_t most);

int region_append(region *region, const void *from, uint64_t n, fault *fault);

/* n numbers from number `first` on; there must be so many. */
int region_read(const region *region, uint64_t first, uint64_t n, void *to, fault *fault);

#endif
