/* column.h: what frames and columns are inside. Seen by the API and by both backends.
 *
 * A column is counted and immutable once it is in a frame: its pieces, what they lie in (holders), its type.
 * Several frames may have it, under names of their own. Releasing one needs no context and no lock, so any
 * thread may. */
#ifndef COHORT_COLUMN_H
#define COHORT_COLUMN_H

#include <stdlib.h>

#include "cohort/table.h"
#include "core/context.h"
#include "core/zeroed.h"
#include "shape/table.h"

struct table_column_list {
    struct table_column_list *next;
};

struct table_column {
    unsigned count;
    struct table_type type;  /* of the rows; of a dictionary: of its values */
    struct table_type index; /* of a dictionary: of its indices; else all zero */
    int is_dictionary;
    char *format; /* Arrow's, of `type`: in `own`, or a block of its own */
    char own[8];
    unsigned char *extra; /* Arrow's metadata of the field, or NULL */
    uint64_t extra_bytes;
    uint64_t rows, nulls;
    uint32_t pieces;
    struct table_piece *piece; /* it and the next two lie behind the column, in its block */
    uint32_t holders;
    struct holder **holder;
    unsigned distinct;                  /* atomic, of values of a dictionary: enum table_distinct */
    struct table_column **dictionaries; /* one a piece, retained; several pieces may have the same one */
    struct table_column_list *lists;    /* of heaps' addresses and sizes */
};

/* Whether no value of a column comes twice and none is null; found out when keys are first made of it, and
 * kept. */
enum table_distinct { TABLE_NOT_KNOWN, TABLE_DISTINCT, TABLE_REPEATS };

struct frame_field {
    char *name; /* in `own`, or a block of its own */
    char own[16];
    struct table_column *column;
};

struct cohort_frame {
    unsigned count;
    cohort_context *context;
    uint64_t rows;
    uint32_t columns;
    struct frame_field field[];
};

/* ---- api/column.c -------------------------------------------------------------------------------------- */

/* A column of so many pieces and at most so many holders, all zero. NULL: no memory. */
struct table_column *table_column_new(uint32_t pieces, uint32_t holders);
struct table_column *table_column_retain(struct table_column *column);
void table_column_release(struct table_column *column); /* NULL is allowed */

/* A new column with another's type and what belongs to it. */
struct table_column *table_column_like(const struct table_column *column, uint32_t pieces, uint32_t holders);

/* A copy of the text: in `own`, of `room` bytes, or in a block of its own. NULL: no memory. */
char *table_text_copy(char *own, size_t room, const char *text);
void table_text_free(char *text, const char *own); /* NULL is allowed */

/* Copies Arrow's format, which becomes the column's. 0: no memory, and the column has the one it had. */
int table_column_set_format(struct table_column *column, const char *format);

/* The column of `rows` rows from `first` on. */
cohort_status table_column_slice(cohort_context *context, const struct table_column *column, uint64_t first,
                                 uint64_t rows, struct table_column **out);

/* Takes over the reference. */
void table_column_hold(struct table_column *column, struct holder *holder);

/* Gives the piece room for a list of `count` heaps. 0: no memory. */
int table_column_heaps(struct table_column *column, struct table_piece *p, uint32_t count);

/* Memory of the host's that nobody else counts: *memory, aligned to 16. NULL: none. */
struct holder *holder_block(uint64_t bytes, void **memory);

/* Bytes of an element: of an index, of a fixed type; views 16; else 0. */
static inline uint32_t table_column_element(const struct table_column *column)
{
    const struct table_type *type = column->is_dictionary ? &column->index : &column->type;
    return type->layout == TABLE_VIEWS ? (uint32_t)sizeof(struct table_view) : type->bytes;
}

/* Tells "column 'name' (format)" for messages. */
#define COLUMN_TEXT 200
const char *table_column_text(char text[COLUMN_TEXT], const char *name, const struct table_column *column);

/* ---- api/frame_type.c ---------------------------------------------------------------------------------- */

/* What Arrow's format says; 0: it is none that frames have. */
int table_type_parse(const char *format, struct table_type *type);

/* The name for messages, as Python has it: "int64", "string", "timestamp[us]"; of a format that is none, the
 * format. It may lie in `own`. */
#define TYPE_TEXT 48
const char *table_type_name(const char *format, char own[TYPE_TEXT]);

/* Can the two be compared for equality? The same type; strings in whatever layout; timestamps of whatever
 * time zones. */
int table_types_agree(const char *a, const char *b);

/* ---- api/frame.c --------------------------------------------------------------------------------------- */

/* A frame without columns in its fields yet. NULL: no memory, message left. */
cohort_frame *frame_new(cohort_context *context, uint64_t rows, uint32_t columns);

/* Puts a column in: takes over the reference, copies the name. On failure the column is released. */
cohort_status frame_put(cohort_frame *frame, uint32_t i, const char *name, struct table_column *column);

#endif
