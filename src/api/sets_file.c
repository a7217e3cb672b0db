/* sets_file.c: collections of sets to files and back: saved, loaded, and mapped. */
#include "io/memory_file.h"

#include <stdlib.h>
#include <string.h>

#include "api/sets_check.h"
#include "api/stream.h"
#include "shape/sets_chunk.h"

/* ---- saving -------------------------------------------------------------------------------------------- */

/* All parts in memory of zeros, so that what lies between them, and where no chunk lies, is the same in every
 * file. */
static void put_parts(const cohort_sets_view *from, const struct sets_counts *n, const cohort_sets_view *to)
{
    size_t key = n->wide ? 8 : 2, member = n->wide ? 8 : 4;
    memcpy((void *)to->words, from->words, n->sets * 8);
    memcpy((void *)to->large, from->large, n->large * sizeof *from->large);
    memcpy((void *)to->index, from->index, n->pairs * 16);
    memcpy((void *)to->keys, from->keys, n->chunks * key);
    memcpy((void *)to->cards, from->cards, n->chunks * 2);
    memcpy((void *)to->places, from->places, n->chunks * 8);
    memcpy((void *)to->before, from->before, (n->chunks + 1) * 8);
    memcpy((void *)to->digests, from->digests, n->chunks * 8);
    memcpy((void *)to->lists, from->lists, n->listed * member);
    for (co_u64 c = 0; c < n->chunks; c++) {
        struct sets_chunk chunk = sets_chunk_of(from, c);
        co_u32 numbers = chunk.kind == CO_CHUNK_RUNS ? 2 * chunk.entries : chunk.entries;
        co_u16 *at = (co_u16 *)(void *)co_place_at(to, from->places[c]);
        if (chunk.kind == CO_CHUNK_BITMAP)
            numbers = CO_CHUNK_BYTES / 2;
        memcpy(at, chunk.at, numbers * sizeof *at);
        sets_pad(at, numbers);
    }
}

static cohort_status save(const cohort_sets *sets, const char *call, const struct file_stream *stream)
{
    cohort_sets_view from, to;
    struct memory_file file;
    void *copy = NULL, *memory = NULL;
    cohort_status status = sets_host_view(sets, &from, &copy);
    if (status)
        return status;
    memory = from.bytes <= SIZE_MAX ? calloc(1, (size_t)from.bytes + 1) : NULL;
    if (memory) {
        memset(&file, 0, sizeof file);
        sets_file_numbers(&sets->counts, file.numbers);
        sets_view(&sets->counts, memory, NULL, &to);
        put_parts(&from, &sets->counts, &to);
        file.parts[0] = memory;
        file.parts[1] = to.lists;
        file.bytes[0] = (uint64_t)((const char *)to.lists - (const char *)memory);
        file.bytes[1] = from.bytes - file.bytes[0];
        status = memory_file_write(sets->context, stream, FILE_SETS, &file);
    } else {
        status = context_fail(sets->context, COHORT_NO_MEMORY, "%s: no memory of the host for %llu bytes",
                              call, (unsigned long long)from.bytes);
    }
    free(memory);
    free(copy);
    return status;
}

cohort_status cohort_sets_save(const cohort_sets *sets, const char *path)
{
    static const char call[] = "cohort_sets_save";
    CALL_ON(sets);
    const struct file_stream to = stream_path(path);
    cohort_status status = stream_check_save(sets ? sets->context : NULL, call, "sets", sets, "path", &to);
    return status ? status : save(sets, call, &to);
}

cohort_status cohort_sets_save_to(const cohort_sets *sets, const cohort_output *output)
{
    static const char call[] = "cohort_sets_save_to";
    CALL_ON(sets);
    const struct file_stream to = stream_output(output);
    cohort_status status = stream_check_save(sets ? sets->context : NULL, call, "sets", sets, "output", &to);
    return status ? status : save(sets, call, &to);
}

/* ---- loading and mapping ------------------------------------------------------------------------------- */

/* The view of what a file holds: directory and members may lie apart. */
static void view_of(const struct memory_file *file, const struct sets_counts *counts, cohort_sets_view *view)
{
    co_u64 offset[SETS_PARTS + 1];
    sets_layout(counts, offset);
    sets_view(counts, (void *)file->parts[0], NULL, view);
    const char *lists = file->parts[1] ? file->parts[1] : file->parts[0];
    view->lists = lists;
    view->pool = file->parts[1] ? lists + offset[SETS_PART_POOL] - offset[SETS_PART_LISTS] : lists;
}

static cohort_status check_all(cohort_context *context, const struct file_stream *from,
                               const struct memory_file *file, int members, struct sets_counts *counts,
                               cohort_sets_view *view)
{
    cohort_status status = sets_check_numbers(context, from, file, counts);
    if (status)
        return status;
    view_of(file, counts, view);
    status = sets_check_directory(context, from, view, counts);
    return status || !members ? status : sets_check_members(context, from, view);
}

static cohort_status load(cohort_context *context, const struct file_stream *from, cohort_sets **out)
{
    struct memory_file file;
    struct sets_counts counts;
    cohort_sets_view view;
    cohort_sets *sets = NULL;
    cohort_status status = memory_file_read(context, from, FILE_SETS, &file);
    if (status)
        return status;
    status = check_all(context, from, &file, 1, &counts, &view);
    if (!status)
        status = sets_new(context, &counts, &sets);
    if (!status)
        status = context_copy(context, sets->memory, file.parts[0], file.bytes[0]);
    if (!status && file.bytes[1])
        status = context_copy(context, (char *)sets->memory + file.bytes[0], file.parts[1], file.bytes[1]);
    memory_file_free(&file);
    if (status)
        cohort_sets_destroy(sets);
    else
        *out = sets;
    return status;
}

cohort_status cohort_sets_load(cohort_context *context, const char *path, cohort_sets **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    const struct file_stream from = stream_path(path);
    cohort_status status = stream_check_load(context, "cohort_sets_load", "path", &from, out);
    return status ? status : load(context, &from, out);
}

cohort_status cohort_sets_load_from(cohort_context *context, const cohort_input *input, cohort_sets **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    const struct file_stream from = stream_input(input);
    cohort_status status = stream_check_load(context, "cohort_sets_load_from", "input", &from, out);
    return status ? status : load(context, &from, out);
}

static cohort_status map(cohort_context *context, const struct file_stream *from, int validate,
                         cohort_sets **out)
{
    struct memory_file file;
    struct sets_counts counts;
    cohort_sets_view view;
    cohort_status status = memory_file_map(context, from, FILE_SETS, validate, &file);
    if (status)
        return status;
    status = check_all(context, from, &file, validate, &counts, &view);
    cohort_sets *sets = status ? NULL : calloc(1, sizeof *sets);
    if (!status && !sets)
        status = context_fail(context, COHORT_NO_MEMORY, "no memory for a collection's description");
    if (status) {
        memory_file_free(&file);
        return status;
    }
    sets->context = context;
    sets->counts = counts;
    sets->view = view;
    sets->pool = (void *)view.pool;
    sets->mapped = file.mapped;
    sets->mapped_bytes = file.mapped_bytes;
    *out = sets;
    return COHORT_OK;
}

cohort_status cohort_sets_map(cohort_context *context, const char *path, uint32_t validate, cohort_sets **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    const struct file_stream from = stream_path(path);
    cohort_status status = stream_check_load(context, "cohort_sets_map", "path", &from, out);
    if (!status && validate > 1)
        status = context_fail(context, COHORT_RANGE, "cohort_sets_map: validate is %u; it must be 0 or 1",
                              validate);
    if (status)
        return status;
    return context->backend->own_memory == MEMORY_HOST ? map(context, &from, (int)validate, out)
                                                       : load(context, &from, out);
}
