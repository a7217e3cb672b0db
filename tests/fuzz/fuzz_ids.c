/* fuzz_ids.c: any bytes as a file of the tool's `set`: text or Roaring, compressed or not. */
#include "file_input.h"

#include "ids.h"

static void load(const char *path)
{
    static fault fault;
    char name[64], *paths[2] = {name, name};
    ids ids;
    uint64_t count = 0, numbers[2];
    snprintf(name, sizeof name, "%s", path);
    memset(&ids, 0, sizeof ids);
    memset(&fault, 0, sizeof fault);
    int status = ids_read(&ids, paths, 2, &fault);
    if (!status)
        status = ids_build(&ids, fuzz_context(), &fault);
    if (status && (!*fault.text || fault.status != status))
        abort();
    if (!status) {
        cohort_sets_query_desc query = COHORT_SETS_QUERY_INIT;
        query.op = COHORT_SETS_XOR;
        query.collections = ids.collections;
        query.collections_count = ids.collections_count;
        query.rows = 1;
        query.arity = 2;
        query.members = numbers;
        query.counts = &count;
        numbers[0] = ids_set(&ids, 0);
        numbers[1] = ids_set(&ids, 1);
        if (cohort_sets_query(fuzz_context(), &query) || count)
            abort(); /* a set has nothing that it has not */
    }
    ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file(data, size, load);
    cohort_trim(fuzz_context());
    return 0;
}
