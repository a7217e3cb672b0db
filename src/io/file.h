/* file.h: the library's own files: a container of sections, each with its checksum. docs/file-format.md is
 * the format.
 *
 * A reader treats what it reads as hostile: nothing is believed before its checksum and its lengths have been
 * judged, sums are of 64 bits and watched, and memory is taken as bytes arrive, so that no announced length
 * sizes an allocation beyond what the file really holds. */
#ifndef COHORT_IO_FILE_H
#define COHORT_IO_FILE_H

#include "cohort/context.h"

enum file_kind {
    FILE_MAP = 1,
    FILE_MULTIMAP = 2,
    FILE_FUNCTION = 3,
    FILE_SETS = 4,
    FILE_TABLE = 5,
    FILE_MULTIMAP_TABLE = 6
};

#define FILE_SECTIONS 5 /* at most */

struct file_section {
    const void *data;
    uint64_t bytes;
};

/* Where a file is written to or read from: a path, or the caller's functions. All reading and all writing
 * goes through it. */
struct file_stream {
    const char *path;            /* NULL: by the functions */
    const cohort_output *output; /* of writing */
    const cohort_input *input;   /* of reading */
};

/* At a path: writes a new file beside it, then gives it that name: there is never half a file at `path`. By a
 * function: from the first byte to the last, until it fails. */
cohort_status file_write(cohort_context *context, const struct file_stream *to, enum file_kind kind,
                         unsigned count, const struct file_section *sections);

struct file_reader {
    cohort_context *context;
    const struct file_stream *from;
    int descriptor;       /* -1: by the function */
    unsigned count, next; /* sections; the next one to be read */
    uint64_t place;       /* in the file */
    uint64_t size;        /* the file's; UINT64_MAX where that is not known (a pipe, a function) */
    uint64_t bytes[FILE_SECTIONS];
    uint64_t checksums[FILE_SECTIONS];
};

/* Opens a file of this kind that has `count` sections, and reads all their lengths. `from` must stay. */
cohort_status file_open(struct file_reader *, cohort_context *context, const struct file_stream *from,
                        enum file_kind kind, unsigned count);

/* The kind of a regular file, which need be none of file_kind. Nothing but the head is judged. */
cohort_status file_kind_of(cohort_context *context, const struct file_stream *from, uint32_t *kind);

/* Section 0, read first: the options, so many numbers. */
cohort_status file_read_options(struct file_reader *, unsigned count, uint64_t *numbers);

/* The next section, into memory that the caller frees; NULL if it has no bytes. */
cohort_status file_read(struct file_reader *, void **out);

/* The whole file in memory, to be read alone; it ends with its last section. The caller ends it with munmap,
 * f->size bytes. */
cohort_status file_map(struct file_reader *f, void **out);

/* Of a file that is mapped: where a section begins; and its padding and, if `sum`, its checksum. */
uint64_t file_place(const struct file_reader *f, unsigned section);
cohort_status file_check_mapped(struct file_reader *f, unsigned section, const void *data, int sum);

/* After the last section: nothing may follow. A function is not asked: what follows there is the caller's. */
cohort_status file_end(struct file_reader *);
void file_close(struct file_reader *);

/* Fails with COHORT_CORRUPT, the path and the place where section `section` begins. */
cohort_status file_corrupt(struct file_reader *, unsigned section, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fails with the name of the stream before the message: "path '...': " or "input: ". */
cohort_status file_fail(cohort_context *context, cohort_status status, const struct file_stream *,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Numbers as files have them: 8 bytes, the least first. */
void file_put(unsigned char *to, uint64_t v);
uint64_t file_get(const unsigned char *from);

#endif
