/* api/sets_check.h: is what a file holds a collection of sets? */
#ifndef COHORT_API_SETS_CHECK_H
#define COHORT_API_SETS_CHECK_H

#include "api/sets.h"
#include "io/memory_file.h"

/* The numbers of a collection's file, and back. Places are in docs/file-format.md. */
void sets_file_numbers(const struct sets_counts *counts, uint64_t numbers[MEMORY_FILE_NUMBERS]);

/* They are a collection's, and the sections have the bytes that follow. COHORT_CORRUPT, with the path. */
cohort_status sets_check_numbers(cohort_context *context, const struct file_stream *from,
                                 const struct memory_file *file, struct sets_counts *out);

/* Every word of the directory is what it must be for the others, so that nothing in it leads outside; what is
 * in the pool is taken on trust. The view is of the host's memory. */
cohort_status sets_check_directory(cohort_context *context, const struct file_stream *from,
                                   const cohort_sets_view *view, const struct sets_counts *counts);

/* Lists and chunks are what the directory says, in order. After sets_check_directory. */
cohort_status sets_check_members(cohort_context *context, const struct file_stream *from,
                                 const cohort_sets_view *view);

#endif
