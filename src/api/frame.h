/* api/frame.h: what the files of frames share: taking arrays in, handing them out, flattening. */
#ifndef COHORT_API_FRAME_H
#define COHORT_API_FRAME_H

#include "api/call.h"
#include "backend/context.h"
#include "backend/table.h"
#include "core/column.h"

/* Refuses NULL with "CALL: NAME is NULL". */
cohort_status frame_need(const cohort_context *context, const char *call, const char *name,
                         const void *pointer);

/* ---- frame_import.c: one piece of a column from Arrow's structs ---------------------------------------- */

/* Where an array of an import stands. */
struct intake {
    cohort_context *context;
    const char *name;      /* of the column, for messages */
    enum memory_kind kind; /* where the buffers lie, */
    enum memory_kind
        to; /* and where they are to lie: the context's memory; values of dictionaries: the host's */
    struct holder *holder; /* keeps the array's memory; pieces that use it retain it */
};

/* Arrow's structs before anything they point to is used: the schema of a column. Makes the column that pieces
 * are put into. */
cohort_status intake_schema(cohort_context *context, const struct ArrowSchema *schema, uint32_t pieces,
                            struct table_column **out);

/* Puts `rows` rows from row `skip` of an array into piece `at` of the column. */
cohort_status intake_piece(const struct intake *in, struct table_column *column,
                           const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t skip,
                           uint64_t rows, uint32_t at);

/* ---- column_made.c: columns of results ----------------------------------------------------------------- */

/* Memory that the column holds: any, or of zeros. */
cohort_status table_column_memory(cohort_context *context, struct table_column *column, uint64_t bytes,
                                  void **memory);
cohort_status table_column_zeros(cohort_context *context, struct table_column *column, uint64_t bytes,
                                 void **memory);

/* A column of `rows` elements of this format, whose memory, of so many bytes of zeros, is at piece[0].data.
 * nulls: it has a bitmap, by which all are null. */
cohort_status table_column_room(cohort_context *context, const char *format, uint64_t rows, uint64_t bytes,
                                int nulls, struct table_column **out);

/* Numbers of one piece, of a type of indices, become a dictionary's rows, of these values in the host's
 * memory. */
cohort_status table_column_become(cohort_context *context, struct table_column *rows,
                                  struct table_column *values);

/* A dictionary in which each row has a value of its own: row i value i. */
cohort_status table_column_by_row(cohort_context *context, struct table_column *values,
                                  struct table_column **out);

/* ---- table_column_flat.c ------------------------------------------------------------------------------- */

/* The same column in one piece (of strings: with one heap or a list of them); itself, retained, if it is. */
cohort_status table_column_flat(cohort_context *context, struct table_column *column,
                                struct table_column **out);

/* The same of a column in the host's memory, as the values of dictionaries are, if `host`. */
cohort_status table_column_flat_in(cohort_context *context, struct table_column *column, int host,
                                   struct table_column **out);

/* ---- gather.c ------------------------------------------------------------------------------------------ */

/* Row numbers in the context's memory; `name` for messages. */
cohort_status table_column_gather(cohort_context *context, const char *name, struct table_column *column,
                                  uint64_t n, uint32_t bytes, const void *rows, struct table_column **out);
cohort_status frame_gather(cohort_frame *frame, uint64_t n, uint32_t bytes, const void *rows,
                           cohort_frame **out);

/* The columns of both, which have as many rows, in one frame (cohort_frame_beside). */
cohort_status frame_beside(const cohort_frame *a, const cohort_frame *b, const char *suffix,
                           cohort_frame **out);

/* ---- frame_export.c ------------------------------------------------------------------------------------ */

/* The schema of a frame whose columns are these; its rows, of columns in one piece each. host: they lie in
 * the host's memory. On failure nothing is left to release. */
cohort_status export_schema(cohort_context *context, const cohort_frame *frame,
                            struct table_column *const *columns, struct ArrowSchema *out);
cohort_status export_rows(cohort_context *context, uint64_t rows, uint32_t columns,
                          struct table_column *const *column, int host, struct ArrowArray *out);

#endif
