/* fuzz_roaring.c: any bytes as Roaring's portable format, of 32 and of 64 bits. What is taken is written as
 * bytes that are taken as the same set. */
#include "file_input.h"

static cohort_sets *build(const void *bytes, uint64_t n, cohort_type type)
{
    cohort_sets_source source = COHORT_SETS_SOURCE_INIT;
    const uint64_t offsets[2] = {0, n};
    cohort_sets *sets = NULL;
    source.form = COHORT_FORM_ROARING;
    source.type = type;
    source.n = 1;
    source.members = bytes;
    source.offsets = offsets;
    cohort_status status = cohort_sets_build(fuzz_context(), &source, &sets);
    if (!status != (sets != NULL) ||
        (status && status != COHORT_CORRUPT && status != COHORT_TRUNCATED && status != COHORT_NO_MEMORY))
        abort();
    return sets;
}

static unsigned char *written(const cohort_sets *sets, cohort_type type, uint64_t *n)
{
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    target.form = COHORT_FORM_ROARING;
    target.blob_type = type;
    if (cohort_sets_export(sets, &target))
        abort();
    unsigned char *bytes = malloc(target.total + 1);
    target.capacity = *n = target.total;
    target.members = bytes;
    if (!bytes || cohort_sets_export(sets, &target))
        abort();
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (cohort_type type = COHORT_U32;; type = COHORT_U64) {
        cohort_sets *sets = build(data, size, type);
        if (sets) {
            uint64_t n, m;
            unsigned char *once = written(sets, type, &n);
            cohort_sets *again = build(once, n, type);
            unsigned char *twice = again ? written(again, type, &m) : NULL;
            if (!twice || n != m || memcmp(once, twice, n))
                abort();
            cohort_sets_destroy(again);
            free(once);
            free(twice);
        }
        cohort_sets_destroy(sets);
        if (type == COHORT_U64)
            break;
    }
    cohort_trim(fuzz_context());
    return 0;
}
