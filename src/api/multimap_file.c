/* multimap_file.c: multimaps to files and back. */
#include "io/multimap_file.h"

#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/multimap.h"
#include "api/stream.h"

static cohort_status save(cohort_multimap *m, const struct file_stream *to)
{
    struct multimap_file file;
    memset(&file, 0, sizeof file);
    file.options = m->options;
    cohort_status status = cohort_multimap_size(m, &file.keys_count, &file.values_count);
    file.keys = malloc(file.keys_count * map_key_bytes(m->view.width) + 1);
    file.offsets = malloc((file.keys_count + 1) * sizeof *file.offsets);
    file.values = malloc(file.values_count * map_value_bytes((co_u32)m->options.width) + 1);
    if (!file.keys || !file.offsets || !file.values)
        status =
            context_fail(m->context, COHORT_NO_MEMORY, "no host memory to save %llu keys and %llu values",
                         (unsigned long long)file.keys_count, (unsigned long long)file.values_count);
    if (!status)
        status = cohort_multimap_export(m, file.keys, file.offsets, file.values);
    if (!status)
        status = multimap_file_write(m->context, to, &file);
    multimap_file_free(&file);
    return status;
}

cohort_status cohort_multimap_save(cohort_multimap *m, const char *path)
{
    CALL_ON(m);
    const struct file_stream to = stream_path(path);
    cohort_status status =
        stream_check_save(m ? m->context : NULL, "cohort_multimap_save", "multimap", m, "path", &to);
    return status ? status : save(m, &to);
}

cohort_status cohort_multimap_save_to(cohort_multimap *m, const cohort_output *output)
{
    CALL_ON(m);
    const struct file_stream to = stream_output(output);
    cohort_status status =
        stream_check_save(m ? m->context : NULL, "cohort_multimap_save_to", "multimap", m, "output", &to);
    return status ? status : save(m, &to);
}

/* For each value its key: what a build takes. NULL: no memory. */
static void *expand_keys(const struct multimap_file *file)
{
    uint64_t bytes = map_key_bytes((co_u32)file->options.width);
    unsigned char *keys = malloc(file->values_count * bytes + 1);
    for (uint64_t i = 0; keys && i < file->keys_count; i++)
        for (uint64_t j = file->offsets[i]; j < file->offsets[i + 1]; j++)
            memcpy(keys + j * bytes, (const unsigned char *)file->keys + i * bytes, bytes);
    return keys;
}

cohort_status multimap_load(cohort_context *context, const struct file_stream *from, cohort_multimap **out)
{
    struct multimap_file file;
    cohort_multimap *m = NULL;
    cohort_status status = multimap_file_read(context, from, &file);
    if (status)
        return status;
    void *keys = expand_keys(&file);
    if (!keys)
        status = file_fail(context, COHORT_NO_MEMORY, from, "no host memory for %llu pairs",
                           (unsigned long long)file.values_count);
    if (!status)
        status =
            cohort_multimap_build(context, &file.options, file.values_count, keys, file.values, NULL, &m);
    if (!status && m->keys != file.keys_count)
        status = file_fail(context, COHORT_CORRUPT, from, "of %llu keys only %llu are distinct",
                           (unsigned long long)file.keys_count, (unsigned long long)m->keys);
    free(keys);
    multimap_file_free(&file);
    if (status)
        cohort_multimap_destroy(m);
    else
        *out = m;
    return status;
}

cohort_status cohort_multimap_load(cohort_context *context, const char *path, cohort_multimap **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    const struct file_stream from = stream_path(path);
    cohort_status status = stream_check_load(context, "cohort_multimap_load", "path", &from, out);
    return status ? status : multimap_load(context, &from, out);
}

cohort_status cohort_multimap_load_from(cohort_context *context, const cohort_input *input,
                                        cohort_multimap **out)
{
    if (out)
        *out = NULL;
    CALL(context);
    const struct file_stream from = stream_input(input);
    cohort_status status = stream_check_load(context, "cohort_multimap_load_from", "input", &from, out);
    return status ? status : multimap_load(context, &from, out);
}
