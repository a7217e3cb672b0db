/* fuzz_multimap_file.c: cohort_multimap_load of any bytes. What loads must export as many keys and values as
 * it says. */
#include "file_input.h"

static void check(cohort_multimap *m)
{
    uint64_t keys, values, all[512], offsets[513], runs[512], counts[512];
    if (cohort_multimap_size(m, &keys, &values))
        abort();
    if (keys > 512 || values > 512)
        return;
    if (cohort_multimap_export(m, all, offsets, runs) || cohort_multimap_count(m, keys, all, counts))
        abort();
    for (uint64_t i = 0; i < keys; i++)
        if (counts[i] == 0 || counts[i] != offsets[i + 1] - offsets[i])
            abort();
    if (offsets[keys] != values)
        abort();
}

static void load(const char *path)
{
    cohort_multimap *m = NULL;
    cohort_status status = cohort_multimap_load(fuzz_context(), path, &m);
    if (!status != (m != NULL))
        abort();
    if (status && status != COHORT_TRUNCATED && status != COHORT_BAD_VERSION && status != COHORT_CORRUPT &&
        status != COHORT_NO_MEMORY)
        abort();
    if (m)
        check(m);
    cohort_multimap_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_both(data, size, FILE_MULTIMAP, 4, load);
    return 0;
}
