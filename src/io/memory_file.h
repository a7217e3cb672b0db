/* memory_file.h: objects in files as they lie in memory (docs/file-format.md): collections of sets, and
 * tables of maps. A file is a header with numbers, and then two parts of the object's memory, which can be
 * mapped. */
#ifndef COHORT_IO_MEMORY_FILE_H
#define COHORT_IO_MEMORY_FILE_H

#include "io/file.h"

#define MEMORY_FILE_NUMBERS 22u /* so many that the parts behind them begin at byte 256 */

struct memory_file {
    uint64_t numbers[MEMORY_FILE_NUMBERS];
    uint64_t bytes[2]; /* of each part; the first's are a multiple of 128 */
    const void
        *parts[2]; /* in a mapped file the second lies right behind the first; NULL if it has no bytes */
    void *mapped;  /* the whole file, or NULL: the parts are malloc's */
    uint64_t mapped_bytes;
};

/* Writes one (file_write). COHORT_IO. */
cohort_status memory_file_write(cohort_context *context, const struct file_stream *to, enum file_kind kind,
                                const struct memory_file *file);

/* Reads one. Of its contents nothing but the checksums is judged. */
cohort_status memory_file_read(cohort_context *context, const struct file_stream *from, enum file_kind kind,
                               struct memory_file *out);

/* Maps one, which is a regular file. The checksum of the second part is judged if `validate`. */
cohort_status memory_file_map(cohort_context *context, const struct file_stream *from, enum file_kind kind,
                              int validate, struct memory_file *out);

void memory_file_free(struct memory_file *file);
void memory_file_unmap(void *mapped, uint64_t bytes);

#endif
