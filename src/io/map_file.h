/* map_file.h: maps in files (docs/file-format.md). */
#ifndef COHORT_IO_MAP_FILE_H
#define COHORT_IO_MAP_FILE_H

#include "io/file.h"

#include "cohort/map.h"

/* What a file holds of a map, in host memory. `options.capacity` is what the map held without growing. */
struct map_file {
    cohort_map_options options;
    uint64_t pairs;
    void *keys;
    void *values; /* NULL for widths without values */
};

/* Writes one (file_write). COHORT_IO. */
cohort_status map_file_write(cohort_context *context, const struct file_stream *to,
                             const struct map_file *map);

/* Reads one. Everything is checked except whether a key occurs twice, which only a table can tell. On success
 * the caller frees keys and values with free() (NULL if there are none); on failure there is nothing to
 * free. */
cohort_status map_file_read(cohort_context *context, const struct file_stream *from, struct map_file *out);

#endif
