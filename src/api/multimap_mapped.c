/* multimap_mapped.c: multimaps in files as they lie in memory, and multimaps that are read where their file
 * is mapped.
 *
 * Such a file has the table of the index, as that of a map has (map_mapped.c), and behind it `ends` and the
 * runs (shape/multimap.h). It is of one level, with runs: what has several levels, or no runs, is built so
 * for the file. What is opened is judged whole before anybody looks into it. */
#include <stdlib.h>

#include "api/call.h"
#include "api/map_table.h"
#include "api/multimap.h"
#include "api/stream.h"

/* Numbers behind those of the table; parts behind its two. */
enum { WIDTH = MAP_TABLE_NUMBERS, VALUES, NUMBERS };
enum { ENDS = 2, RUNS };

/* ---- saving -------------------------------------------------------------------------------------------- */

static uint64_t ends_bytes(const cohort_multimap *m)
{
    return (m->slots + 2) * sizeof *m->ends;
}

static uint64_t runs_bytes(const cohort_multimap *m)
{
    return m->values * map_value_bytes((co_u32)m->options.width);
}

/* Of one level, with runs. */
static cohort_status write_level(const cohort_multimap *m, const char *call, const struct file_stream *to)
{
    struct memory_file file = {{0}, {0}, {NULL}, 0, NULL, 0};
    void *copies[3] = {NULL, NULL, NULL};
    file.numbers[WIDTH] = m->options.width;
    file.numbers[VALUES] = m->values;
    file.bytes[ENDS] = ends_bytes(m);
    file.bytes[RUNS] = runs_bytes(m);
    cohort_status s = map_table_to_file(m->index, call, &file, &copies[0]);
    if (!s)
        s = map_on_host(m->context, call, m->ends, file.bytes[ENDS], &file.parts[ENDS], &copies[1]);
    if (!s && file.bytes[RUNS])
        s = map_on_host(m->context, call, m->runs, file.bytes[RUNS], &file.parts[RUNS], &copies[2]);
    if (!s)
        s = memory_file_write(m->context, to, FILE_MULTIMAP_TABLE, &file);
    for (int i = 0; i < 3; i++)
        free(copies[i]);
    return s;
}

cohort_status cohort_multimap_save_table(cohort_multimap *m, const char *path)
{
    static const char call[] = "cohort_multimap_save_table";
    CALL_ON(m);
    const struct file_stream to = stream_path(path);
    cohort_multimap *level = NULL;
    cohort_status s = stream_check_save(m ? m->context : NULL, call, "multimap", m, "path", &to);
    if (s)
        return s;
    s = multimap_bring_in(m, call);
    if (!s)
        s = multimap_with_runs(m, call, &level);
    if (!s)
        s = context_wait(m->context);
    if (!s)
        s = write_level(level, call, &to);
    if (level != m)
        multimap_end(level);
    return s;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* The index has the options that multimaps give theirs. What looks keys up relies on the layout and on the
 * order of probing. */
static cohort_status check_index(cohort_multimap *m, const struct file_stream *from,
                                 const struct memory_file *file)
{
    const cohort_map_options *o = &m->index->options;
    const uint64_t width = file->numbers[WIDTH];
    if (width != COHORT_WIDTH_32_32 && width != COHORT_WIDTH_64_32 && width != COHORT_WIDTH_64_64)
        return memory_file_bad(m->context, from, file, WIDTH, "width");
    m->options.width = (cohort_width)width;
    const cohort_width due = width == COHORT_WIDTH_32_32 ? COHORT_WIDTH_32_0 : COHORT_WIDTH_64_0;
    if (o->width == due && o->layout == COHORT_LAYOUT_PAGES && o->probe == COHORT_PROBE_DOUBLE && !o->fixed &&
        multimap_is_load(o->max_load))
        return COHORT_OK;
    return file_fail(m->context, COHORT_CORRUPT, from, "a table such as no multimap's keys have");
}

/* As many bytes as the table's slots and the number of values say. */
static cohort_status check_sizes(cohort_multimap *m, const struct file_stream *from,
                                 const struct memory_file *file)
{
    m->values = file->numbers[VALUES];
    if (m->values > UINT64_MAX / 8)
        return memory_file_bad(m->context, from, file, VALUES, "values");
    m->ends_bytes = ends_bytes(m);
    m->runs_bytes = runs_bytes(m);
    if (file->bytes[ENDS] == m->ends_bytes && file->bytes[RUNS] == m->runs_bytes)
        return COHORT_OK;
    return file_fail(m->context, COHORT_CORRUPT, from,
                     "%llu and %llu bytes of runs' ends and of values, not %llu and %llu",
                     (unsigned long long)file->bytes[ENDS], (unsigned long long)file->bytes[RUNS],
                     (unsigned long long)m->ends_bytes, (unsigned long long)m->runs_bytes);
}

/* The runs of the slots follow each other from 0 to the number of values, and those of keys alone have any.
 * So no run leads outside. */
static cohort_status check_ends(cohort_multimap *m, const struct file_stream *from,
                                const struct memory_file *file)
{
    const co_u64 *ends = file->parts[ENDS];
    const int wide = m->options.width != COHORT_WIDTH_32_32;
    cohort_map host = *m->index;
    host.table = (void *)file->parts[0];
    map_table_place(&host);
    const struct multimap_step step = {.index = host.view};
    for (uint64_t slot = 0; slot < m->slots; slot++) {
        co_u64 key;
        const int live = multimap_key(&step, slot, &key, wide);
        m->keys += (uint64_t)live;
        if (live ? ends[slot + 1] <= ends[slot] : ends[slot + 1] != ends[slot])
            return file_fail(m->context, COHORT_CORRUPT, from, "the run of slot %llu goes from %llu to %llu",
                             (unsigned long long)slot, (unsigned long long)ends[slot],
                             (unsigned long long)ends[slot + 1]);
    }
    if (ends[0] == 0 && ends[m->slots] == m->values && ends[m->slots + 1] == m->values)
        return COHORT_OK;
    return file_fail(m->context, COHORT_CORRUPT, from, "the runs go from %llu to %llu and %llu, not %llu",
                     (unsigned long long)ends[0], (unsigned long long)ends[m->slots],
                     (unsigned long long)ends[m->slots + 1], (unsigned long long)m->values);
}

/* Ends and runs where they are mapped, or copies of them on a device of other memory. */
static cohort_status take_runs(cohort_multimap *m, const struct memory_file *file)
{
    void *ends = NULL;
    if (m->index->mapped) {
        m->ends = (co_u64 *)file->parts[ENDS];
        m->runs = (void *)file->parts[RUNS];
        return COHORT_OK;
    }
    cohort_status s = multimap_take_memory(m->context, m->ends_bytes, "table of runs", &ends);
    m->ends = ends;
    if (!s)
        s = context_copy(m->context, ends, file->parts[ENDS], m->ends_bytes);
    if (!s && m->runs_bytes)
        s = multimap_take_memory(m->context, m->runs_bytes, "values", &m->runs);
    if (!s && m->runs_bytes)
        s = context_copy(m->context, m->runs, file->parts[RUNS], m->runs_bytes);
    return s;
}

static cohort_status read_level(cohort_multimap *m, const struct file_stream *from, struct memory_file *file)
{
    cohort_status s = map_table_from_file(m->context, from, file, NUMBERS, &m->index);
    if (s)
        return s;
    multimap_take_index(m);
    s = check_index(m, from, file);
    if (!s)
        s = check_sizes(m, from, file);
    if (!s)
        s = check_ends(m, from, file);
    m->all_keys = m->keys;
    m->all_values = m->values;
    return s ? s : take_runs(m, file);
}

static cohort_status open_table(cohort_context *context, const struct file_stream *from,
                                cohort_multimap **out)
{
    struct memory_file file;
    cohort_multimap *m = NULL;
    cohort_status s = memory_file_map(context, from, FILE_MULTIMAP_TABLE, 1, &file);
    if (s)
        return s;
    m = calloc(1, sizeof *m);
    if (m) {
        m->context = context;
        m->options.size = sizeof m->options;
        s = read_level(m, from, &file);
    } else {
        s = context_fail(context, COHORT_NO_MEMORY, "no memory for a multimap's description");
    }
    memory_file_free(&file);
    if (s)
        multimap_end(m);
    else
        *out = m;
    return s;
}

cohort_status cohort_multimap_map(cohort_context *context, const char *path, cohort_multimap **out)
{
    uint32_t kind = 0;
    if (out)
        *out = NULL;
    CALL(context);
    const struct file_stream from = stream_path(path);
    cohort_status s = stream_check_load(context, "cohort_multimap_map", "path", &from, out);
    if (!s)
        s = file_kind_of(context, &from, &kind);
    if (!s)
        s = kind == FILE_MULTIMAP ? multimap_load(context, &from, out) : open_table(context, &from, out);
    if (!s)
        (*out)->reader = MAP_READS_FILE;
    return s;
}
