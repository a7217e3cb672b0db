/* fuzz_multimap_table_file.c: cohort_multimap_map of any bytes. What opens holds as many keys and values as
 * it says, finds each, and gives them to a union that can be changed. */
#include "file_input.h"

#define MOST 4096u /* keys and values that are looked at */

struct arrays {
    uint64_t keys[MOST], values[MOST], offsets[MOST + 1], counts[MOST], rows[MOST], queries[MOST];
};

/* Each key's values are there, by every call that looks up. */
static void check(cohort_multimap *m, uint64_t keys, uint64_t values)
{
    static struct arrays a;
    cohort_batch batch = COHORT_BATCH_INIT;
    cohort_counts counts;
    cohort_retrieve r = COHORT_RETRIEVE_INIT;
    if (cohort_multimap_export(m, a.keys, a.offsets, a.values) ||
        cohort_multimap_count(m, keys, a.keys, a.counts))
        abort();
    for (uint64_t i = 0; i < keys; i++)
        if (!a.counts[i] || a.counts[i] != a.offsets[i + 1] - a.offsets[i])
            abort();
    batch.counts = &counts;
    if (a.offsets[keys] != values || cohort_multimap_find(m, keys, a.keys, a.rows, NULL, &batch) ||
        counts.hits != keys)
        abort();
    r.capacity = values;
    r.values = a.rows;
    r.queries = a.queries;
    if (cohort_multimap_retrieve(m, keys, a.keys, &r) || r.total != values)
        abort();
}

/* It takes no pairs; a union with itself does. */
static void change(cohort_multimap *m)
{
    uint64_t keys[64], n, values, more;
    cohort_multimap *both = NULL;
    for (unsigned i = 0; i < 64; i++)
        keys[i] = i * 0x9e3779b97f4a7c15u;
    if (cohort_multimap_insert(m, 64, keys, keys, NULL) != COHORT_UNSUPPORTED ||
        cohort_multimap_size(m, &n, &values))
        abort();
    if (cohort_multimap_union(m, m, &both))
        return;
    cohort_status status = cohort_multimap_insert(both, 64, keys, keys, NULL);
    if ((status && status != COHORT_NO_MEMORY) || cohort_multimap_size(both, &n, &more) ||
        more != 2 * values + (status ? 0 : 64))
        abort();
    cohort_multimap_destroy(both);
}

static void load(const char *path)
{
    cohort_multimap *m = NULL;
    uint64_t keys, values;
    cohort_status status = cohort_multimap_map(fuzz_context(), path, &m);
    if (!status != (m != NULL) || status == COHORT_IO || status == COHORT_NULL || status == COHORT_BAD_STRUCT)
        abort();
    if (!m)
        return;
    if (cohort_multimap_size(m, &keys, &values) || keys > values)
        abort();
    if (values <= MOST)
        check(m, keys, values);
    change(m);
    cohort_multimap_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_both(data, size, FILE_MULTIMAP_TABLE, 5, load);
    return 0;
}
