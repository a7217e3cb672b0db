/* cohort/table.h: frames: columns of equal length, as Arrow has them, that joins and groups work on.
 *
 * A frame is immutable and counts its references. Frames share columns, and columns share buffers: select,
 * slice, beside and rename copy no data, and neither does the import of arrays from the context's own memory.
 * Results share what they can: a gathered string is a view of the buffer that it came from, a gathered
 * dictionary column has the dictionary of its source.
 *
 * Types. Integers (c C s S i I l L), floats (e f g), bool (b), date (tdD tdm), time (tts ttm ttu ttn),
 * timestamp (tss: tsm: tsu: tsn: with any time zone), duration (tDs tDm tDu tDn), decimal128 (d:P,S),
 * fixed-size binary (w:N), utf8 and binary (u U vu z Z vz), and dictionaries with integer indices and values
 * of these types. Anything else is COHORT_UNSUPPORTED; the message names column and type. On a GPU context
 * strings and binaries must be dictionaries; their values are kept in the host's memory.
 *
 * Chunks. A column is one or more pieces, cut anywhere; bitmaps begin at any bit. Of a bitmap nothing past
 * its last bit's byte is read. Buffers that are not aligned to their elements are copied.
 *
 * Trust. Lengths, offsets, validity, views and dictionary indices are checked before they are used:
 * COHORT_CORRUPT names column and row. (What a struct points to must be there: no library can check an
 * address.) Text is not checked to be valid UTF-8: it is compared as bytes.
 *
 * Threads. A frame may be read by several threads and contexts of one device at once. retain, release and the
 * release callbacks of what was exported may be called from any thread, after the context was destroyed too.
 * With an allocator of the caller's, what is released after its context was destroyed calls the allocator
 * from the thread that releases.
 *
 * Calls here wait unless they say otherwise. */
#ifndef COHORT_TABLE_H
#define COHORT_TABLE_H

#include "arrow.h"
#include "context.h"
#include "type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cohort_frame cohort_frame;

/* ---- in ------------------------------------------------------------------------------------------------ */

/* Takes an array over, as Arrow says a move is done: afterwards schema->release and array->release are NULL
 * and the frame releases both, on failure too if it says so: on failure nothing was moved, and both are
 * still the caller's. A struct array (+s) becomes a frame of its children; any other becomes a frame of one
 * column. A struct with nulls of its own is COHORT_UNSUPPORTED. On a CPU context buffers are used where they
 * are; on a GPU context they are copied to the device. COHORT_UNSUPPORTED, COHORT_CORRUPT: see Types and
 * Trust above. O(rows / 64) a column; where something must be checked or copied, strings, dictionaries,
 * buffers that are not aligned, all on a GPU, O(rows), and bytes. */
COHORT_API cohort_status cohort_frame_import(cohort_context *context, struct ArrowSchema *schema,
                                             struct ArrowArray *array, cohort_frame **out);

/* All arrays of a stream, each of which becomes a chunk. The stream is taken over, and released on failure
 * too; where an argument is NULL it is still the caller's. COHORT_IO: the stream reports an error; the
 * message carries it. */
COHORT_API cohort_status cohort_frame_import_stream(cohort_context *context, struct ArrowArrayStream *stream,
                                                    cohort_frame **out);

/* The same with arrays that say which memory they are in: ARROW_DEVICE_CPU, CUDA, CUDA_HOST, CUDA_MANAGED.
 * Memory of the context's own device is used where it is; the context's stream waits for sync_event. */
COHORT_API cohort_status cohort_frame_import_device(cohort_context *context, struct ArrowSchema *schema,
                                                    struct ArrowDeviceArray *array, cohort_frame **out);
COHORT_API cohort_status cohort_frame_import_device_stream(cohort_context *context,
                                                           struct ArrowDeviceArrayStream *stream,
                                                           cohort_frame **out);

/* One column of a program's own. */
typedef struct cohort_array {
    /* NULL: "" */
    const char *name;
    cohort_type type;
    /* 0 */
    uint32_t reserved;
    const void *values;
    /* bit i (least significant first) is 0: row i is null; NULL: none is */
    const uint8_t *validity;
} cohort_array;

#define COHORT_ARRAY_INIT                   \
    {                                       \
        NULL, (cohort_type)0, 0, NULL, NULL \
    }

/* A frame of plain arrays in host memory, which are copied. COHORT_RANGE: a type that is none; COHORT_NULL:
 * values that are to be there. O(bytes). */
COHORT_API cohort_status cohort_frame_create(cohort_context *context, uint64_t rows, uint32_t columns,
                                             const cohort_array *arrays, cohort_frame **out);

/* ---- references ---------------------------------------------------------------------------------------- */

/* Returns `frame`. */
COHORT_API cohort_frame *cohort_frame_retain(cohort_frame *frame);
COHORT_API void cohort_frame_release(cohort_frame *frame); /* NULL is allowed */

/* ---- what it is ---------------------------------------------------------------------------------------- */

/* 0 of NULL, like the next. */
COHORT_API uint64_t cohort_frame_rows(const cohort_frame *frame);
COHORT_API uint32_t cohort_frame_columns(const cohort_frame *frame);

typedef struct cohort_column_info {
    /* in: sizeof(cohort_column_info) */
    size_t size;
    /* lives as long as the frame, as does `format` */
    const char *name;
    /* Arrow's; of a dictionary, that of its values */
    const char *format;
    /* rows that are null */
    uint64_t nulls;
    /* 1: rows are indices into a dictionary */
    uint32_t dictionary;
    /* of such an index */
    uint32_t index_bytes;
    uint64_t chunks;
} cohort_column_info;

#define COHORT_COLUMN_INFO_INIT                            \
    {                                                      \
        sizeof(cohort_column_info), NULL, NULL, 0, 0, 0, 0 \
    }

/* What column number `column` is. COHORT_RANGE: there is no such column; COHORT_BAD_STRUCT: `size`. O(1). */
COHORT_API cohort_status cohort_frame_get_column(const cohort_frame *frame, uint32_t column,
                                                 cohort_column_info *info);

/* The first column of this name. COHORT_RANGE: there is none. O(columns). */
COHORT_API cohort_status cohort_frame_find(const cohort_frame *frame, const char *name, uint32_t *column);

/* ---- frames of frames: no data is copied ---------------------------------------------------------------
 *
 * On failure *out is NULL. Results belong to the context of the frame, and live on without the frame. */

/* Columns columns[0 .. count), which may repeat, under names[i] (NULL, or names NULL: their own).
 * COHORT_RANGE: a number that is no column's. O(count). */
COHORT_API cohort_status cohort_frame_select(cohort_frame *frame, uint32_t count, const uint32_t *columns,
                                             const char *const *names, cohort_frame **out);

/* The same by name. COHORT_RANGE: no column is named so; COHORT_NULL: a name is NULL. O(count x columns). */
COHORT_API cohort_status cohort_frame_pick(cohort_frame *frame, uint32_t count, const char *const *names,
                                           cohort_frame **out);

/* Rows first .. first + rows. COHORT_RANGE: they are not all there. O(chunks) a column, and O(rows / 64) to
 * count nulls. */
COHORT_API cohort_status cohort_frame_slice(cohort_frame *frame, uint64_t first, uint64_t rows,
                                            cohort_frame **out);

/* The columns of `a`, then those of `b`, which has as many rows. A name of b's that a has too gets `suffix`
 * (NULL: "_right") behind it. COHORT_RANGE: the numbers of rows differ; COHORT_OTHER_CONTEXT. O(columns of a
 * x columns of b). */
COHORT_API cohort_status cohort_frame_beside(cohort_frame *a, cohort_frame *b, const char *suffix,
                                             cohort_frame **out);

/* The frame as one of `context`, which then does the work of calls on it: so several threads read a frame at
 * once, each on a context of its own. The context is on the same device; called in its thread. On a CPU calls
 * on the frame, and on its context, may be under way meanwhile; on a GPU there must be none, and the call
 * waits for the frame's context. The result lives on without the frame and without the frame's context.
 * COHORT_UNSUPPORTED: another device. O(columns). */
COHORT_API cohort_status cohort_frame_reader(const cohort_frame *frame, cohort_context *context,
                                             cohort_frame **out);

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Row i of the result is row rows[i] of the frame, or null throughout if rows[i] is all ones. Row numbers
 * have 4 or 8 bytes (with 4 bytes none is above 2^32 - 2) and lie in the context's or in host memory; one
 * that is no row is COHORT_RANGE (on a GPU context found by the kernel; nothing comes out). O(n) a column;
 * strings are not copied: they become views (vu, vz) of the frame's buffers. A string of 2^31 bytes and more
 * cannot be a view: COHORT_OVERFLOW. */
COHORT_API cohort_status cohort_gather(cohort_frame *frame, uint64_t n, uint32_t bytes, const void *rows,
                                       cohort_frame **out);

/* ---- out ----------------------------------------------------------------------------------------------- */

/* A struct array of the frame's columns, in the host's memory; schema and array are the caller's to release,
 * and live on without frame and context. Without a copy where a column is one piece in the host's memory;
 * else O(bytes). On failure (COHORT_NO_MEMORY) there is nothing to release. */
COHORT_API cohort_status cohort_frame_export(cohort_frame *frame, struct ArrowSchema *schema,
                                             struct ArrowArray *array);

/* The same chunk by chunk, without copies on a CPU context: a chunk ends where one of some column does.
 * What fails later, get_next says, by an errno value and get_last_error. O(1), and O(columns) a chunk. */
COHORT_API cohort_status cohort_frame_export_stream(cohort_frame *frame, struct ArrowArrayStream *stream);

/* A struct array in the context's own memory. On a GPU context sync_event is an event on the context's stream
 * after all that made the frame, and the call does not wait; dictionaries, whose values are in the host's
 * memory, are COHORT_UNSUPPORTED there. Copies as cohort_frame_export. */
COHORT_API cohort_status cohort_frame_export_device(cohort_frame *frame, struct ArrowSchema *schema,
                                                    struct ArrowDeviceArray *array);

#ifdef __cplusplus
}
#endif
#endif
