/* multimap_file.c: multimaps to files and back. */
#include "io/multimap_file.h"

#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/multimap.h"

cohort_status cohort_multimap_save(cohort_multimap *m, const char *path)
{
    CALL_ON(m);
    struct multimap_file file;
    if (!m || !path)
        return context_fail(m ? m->context : NULL, COHORT_NULL, "cohort_multimap_save: %s is NULL",
                            m ? "path" : "multimap");
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
        status = multimap_file_write(m->context, path, &file);
    multimap_file_free(&file);
    return status;
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

cohort_status cohort_multimap_load(cohort_context *context, const char *path, cohort_multimap **out)
{
    struct multimap_file file;
    cohort_multimap *m = NULL;
    if (out)
        *out = NULL;
    CALL(context);
    if (!context || !path || !out)
        return context_fail(context, COHORT_NULL, "cohort_multimap_load: %s is NULL",
                            !context ? "context"
                            : !path  ? "path"
                                     : "out");
    cohort_status status = multimap_file_read(context, path, &file);
    if (status)
        return status;
    void *keys = expand_keys(&file);
    if (!keys)
        status = context_fail(context, COHORT_NO_MEMORY, "path '%.256s': no host memory for %llu pairs", path,
                              (unsigned long long)file.values_count);
    if (!status)
        status =
            cohort_multimap_build(context, &file.options, file.values_count, keys, file.values, NULL, &m);
    if (!status && m->keys != file.keys_count)
        status = context_fail(context, COHORT_CORRUPT, "path '%.256s': of %llu keys only %llu are distinct",
                              path, (unsigned long long)file.keys_count, (unsigned long long)m->keys);
    free(keys);
    multimap_file_free(&file);
    if (status)
        cohort_multimap_destroy(m);
    else
        *out = m;
    return status;
}
