/* Files that hold nothing but little-endian integers of 4 or 8 bytes. */
#ifndef COHORT_CLI_NUMBERS_H
#define COHORT_CLI_NUMBERS_H

#include "cli.h"

/* A source: a regular file, which can be read anywhere and whose length is known, or a stream. */
typedef struct numbers {
    int fd;
    int file;         /* regular */
    uint64_t n;       /* of a file; of a stream, what was read so far */
    size_t width;     /* bytes of a number */
    const char *name; /* what messages call it */
} numbers;

/* `path` "-" is standard input, a stream. A directory, or a file that is no whole number of numbers, is
 * CLI_BAD_INPUT. */
int numbers_open(numbers *numbers, const char *path, size_t width, fault *fault);
void numbers_close(numbers *numbers); /* what is not open is let alone */

/* CLI_BAD_INPUT if `path`, which `argument` names, is the file that is read. */
int numbers_differ(const numbers *numbers, const char *path, const char *argument, fault *fault);

/* Up to `room` numbers from where the last call ended; fewer only at the end. */
int numbers_read(numbers *numbers, void *to, uint64_t room, uint64_t *got, fault *fault);

/* n numbers of a file from number `first` on. */
int numbers_read_at(const numbers *numbers, uint64_t first, uint64_t n, void *to, fault *fault);

/* ---- what sort and split have in common ---------------------------------------------------------------- */

/* How many numbers fit in `memory` bytes (0: half of what the device and the machine have free) with `copies`
 * arrays of them. */
uint64_t numbers_capacity(cohort_context *context, uint64_t memory, size_t width, unsigned copies);

/* Two arrays for `capacity` numbers each, where there is memory for `copies` such arrays; where there is not,
 * and the capacity is a guess, for fewer. Returns how many; 0: there is no memory. */
uint64_t numbers_rooms(void **a, void **b, uint64_t capacity, size_t width, unsigned copies, int guessed);

/* 4 or 8, as --u32 and --u64 say. */
int numbers_width(int u32, int u64, size_t *width, fault *fault);

#endif
