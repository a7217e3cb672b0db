/* multimap_file.h: multimaps in files (docs/file-format.md). */
#ifndef COHORT_IO_MULTIMAP_FILE_H
#define COHORT_IO_MULTIMAP_FILE_H

#include "io/file.h"

#include "cohort/multimap.h"

/* What a file holds of a multimap, in host memory: the values of keys[i] are values[offsets[i] .. offsets[i +
 * 1]). */
struct multimap_file {
    cohort_multimap_options options;
    uint64_t keys_count, values_count;
    void *keys;
    uint64_t *offsets; /* keys_count + 1 */
    void *values;
};

/* Writes one (file_write). COHORT_IO. */
cohort_status multimap_file_write(cohort_context *context, const struct file_stream *to,
                                  const struct multimap_file *multimap);

/* Reads one. Checked: everything, apart from whether a key occurs twice. Offsets rise strictly from 0 to
 * values_count. On success the caller frees the arrays with multimap_file_free; on failure there is nothing
 * to free. */
cohort_status multimap_file_read(cohort_context *context, const struct file_stream *from,
                                 struct multimap_file *out);
void multimap_file_free(struct multimap_file *multimap);

#endif
