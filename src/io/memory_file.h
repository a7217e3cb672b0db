/* memory_file.h: objects in files as they lie in memory (docs/file-format.md): collections of sets, and
 * tables of maps and of multimaps. A file is a header with numbers, and then two parts of the object's
 * memory, or four of a multimap's, which can be mapped. */
#ifndef COHORT_IO_MEMORY_FILE_H
#define COHORT_IO_MEMORY_FILE_H

#include "io/file.h"

#define MEMORY_FILE_NUMBERS 22u /* of two parts: so many that the parts begin at byte 256; of four 18 */
#define MEMORY_FILE_PARTS   4u

struct memory_file {
    uint64_t numbers[MEMORY_FILE_NUMBERS]; /* those that its kind has; the rest are 0 */
    uint64_t bytes[MEMORY_FILE_PARTS];     /* of each part: the first's are a multiple of 128, and of others
                                            * that another follows a multiple of 8 */
    const void *parts[MEMORY_FILE_PARTS];  /* in a mapped file one right behind the other */
    int read;                              /* the parts are malloc's; NULL where there are no bytes */
    void *mapped;                          /* the whole file, or NULL */
    uint64_t mapped_bytes;
};

/* Writes one (file_write). COHORT_IO. */
cohort_status memory_file_write(cohort_context *context, const struct file_stream *to, enum file_kind kind,
                                const struct memory_file *file);

/* Reads one. Of its contents nothing but the checksums is judged. */
cohort_status memory_file_read(cohort_context *context, const struct file_stream *from, enum file_kind kind,
                               struct memory_file *out);

/* Maps one, which is a regular file. The checksums of the parts behind the first are judged if `validate`. */
cohort_status memory_file_map(cohort_context *context, const struct file_stream *from, enum file_kind kind,
                              int validate, struct memory_file *out);

/* Fails with COHORT_CORRUPT: the number, which has the name, is none that a file may have. */
cohort_status memory_file_bad(cohort_context *context, const struct file_stream *from,
                              const struct memory_file *file, unsigned number, const char *name);

/* The numbers from `first` on are 0. */
cohort_status memory_file_reserved(cohort_context *context, const struct file_stream *from,
                                   const struct memory_file *file, unsigned first);

/* From now on whoever is given the mapping ends it, by memory_file_unmap. */
void *memory_file_give(struct memory_file *file);

void memory_file_free(struct memory_file *file);
void memory_file_unmap(void *mapped, uint64_t bytes);

#endif
