/* Files that hold sets of integers: Roaring's portable format, 32 or 64 bits, or text. Which it is, is seen
 * by the content.
 *
 * Text is decimal integers with commas, spaces or ends of lines between them, in any order, duplicates
 * allowed. gzip is undone. */
#ifndef COHORT_CLI_IDS_H
#define COHORT_CLI_IDS_H

#include "cli.h"

typedef enum ids_format { IDS_TEXT, IDS_ROARING32, IDS_ROARING64, IDS_FORMATS } ids_format;

typedef struct ids_file {
    const char *name; /* what messages call it */
    ids_format format;
    uint64_t bytes;
    uint64_t index; /* among the files of its format */
} ids_file;

/* All files of one format, one after the other; an entry is a member of a text or a byte of Roaring. */
typedef struct ids_heap {
    void *at;
    uint64_t n, room;
    uint64_t *offsets; /* files + 1 */
    uint64_t files;
} ids_heap;

typedef struct ids {
    ids_file *files;
    size_t n;
    cohort_type
        type; /* COHORT_U64 if a file is Roaring of 64 bits or has a greater member than 32 bits hold */
    ids_heap heaps[IDS_FORMATS];
    cohort_sets *collections[IDS_FORMATS]; /* those that there are, without gaps */
    uint32_t collections_count;
    uint64_t first[IDS_FORMATS]; /* number of the first set of each format, as queries count */
} ids;

/* Reads n files, n at least 1; "-" is standard input. What is in no order or damaged as text is
 * CLI_BAD_INPUT; Roaring is judged by ids_build. */
int ids_read(ids *ids, char **paths, size_t n, fault *fault);

/* Makes collections of them, a set a file. */
int ids_build(ids *ids, cohort_context *context, fault *fault);

/* The number of a file's set. */
uint64_t ids_set(const ids *ids, size_t file);

void ids_free(ids *ids); /* also one that is all zeros, and before its context */

#endif
