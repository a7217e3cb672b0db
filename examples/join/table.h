/* table.h: CSV files as frames, and frames as CSV. What fails ends the program with a line that says why. */
#ifndef JOIN_TABLE_H
#define JOIN_TABLE_H

#include <cohort.h>

/* The file's first row names the columns. A column of whole numbers becomes integers (Arrow's l), any other
 * one text, as a dictionary with int32 indices (i), which contexts of CPUs and GPUs both take. An empty field
 * is null, "" in quotes is an empty text. */
cohort_frame *table_read(cohort_context *context, const char *path);

/* Its columns' names, or its rows, to stdout: what table_read made comes out as it was in the file. */
void table_print_names(cohort_context *context, cohort_frame *frame);
void table_print_rows(cohort_context *context, cohort_frame *frame);

/* In join.c: print a line and exit. must: unless the call went well. */
_Noreturn void fail(const char *what, const char *why);
void must(cohort_context *context, cohort_status status);
void *room(uint64_t entries, size_t bytes);

#endif
