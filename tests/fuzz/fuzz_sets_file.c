/* fuzz_sets_file.c: cohort_sets_load and cohort_sets_map of any bytes. What loads saves as the same bytes'
 * sets; what is mapped without a check may answer anything, within its memory. */
#include "file_input.h"

static void use(cohort_sets *sets)
{
    cohort_sets_info info = COHORT_SETS_INFO_INIT;
    cohort_sets_target target = COHORT_SETS_TARGET_INIT;
    cohort_sets *answer = NULL;
    if (cohort_sets_get_info(sets, &info))
        abort();
    if (info.members > 1u << 20 || !info.sets || info.sets > 64)
        return;
    uint64_t *members = malloc(info.members * 8 + 8), pairs[128], counts[64];
    target.members = members;
    target.capacity = info.members;
    if (members && cohort_sets_export(sets, &target))
        abort();
    free(members);
    for (uint64_t i = 0; i < 2 * info.sets; i++)
        pairs[i] = i * 7 / 2 % info.sets;
    for (cohort_sets_op op = COHORT_SETS_AND; op <= COHORT_SETS_XOR; op++) {
        cohort_sets_query_desc query = COHORT_SETS_QUERY_INIT;
        query.op = op;
        query.collections = &sets;
        query.collections_count = 1;
        query.rows = info.sets;
        query.arity = 2;
        query.members = pairs;
        query.counts = counts;
        query.result = &answer;
        cohort_sets_query(fuzz_context(), &query);
        cohort_sets_destroy(answer);
    }
}

static void load(const char *path)
{
    for (int way = 0; way < 3; way++) {
        cohort_sets *sets = NULL;
        cohort_status status = way ? cohort_sets_map(fuzz_context(), path, way == 2, &sets)
                                   : cohort_sets_load(fuzz_context(), path, &sets);
        if (!status != (sets != NULL) || status == COHORT_IO || status == COHORT_NULL ||
            status == COHORT_BAD_STRUCT)
            abort();
        if (sets)
            use(sets);
        cohort_sets_destroy(sets);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_both(data, size, FILE_SETS, 3, load);
    return 0;
}
