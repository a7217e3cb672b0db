/* sets_file.h: collections of sets in files (docs/file-format.md). A file is a header, and then the memory of the
 * collection as it is. */
#ifndef COHORT_IO_SETS_FILE_H
#define COHORT_IO_SETS_FILE_H

#include "io/file.h"

#define SETS_FILE_NUMBERS 22u /* so many that the sections behind them begin at byte 256 */

struct sets_file {
    uint64_t numbers[SETS_FILE_NUMBERS];
    uint64_t directory_bytes, members_bytes;
    const void *directory, *members; /* behind the directory; NULL if they have no bytes */
    void *mapped;                    /* the whole file, or NULL: they are malloc's */
    uint64_t mapped_bytes;
};

/* Writes one (file_write). COHORT_IO. */
cohort_status sets_file_write(cohort_context *context, const struct file_stream *to,
                              const struct sets_file *file);

/* Reads one. Of its contents nothing but the checksums is judged. */
cohort_status sets_file_read(cohort_context *context, const struct file_stream *from, struct sets_file *out);

/* Maps one, which is a regular file. The checksum of the members is judged if `validate`. */
cohort_status sets_file_map(cohort_context *context, const struct file_stream *from, int validate,
                            struct sets_file *out);

void sets_file_free(struct sets_file *file);
void sets_file_unmap(void *mapped, uint64_t bytes);

#endif
