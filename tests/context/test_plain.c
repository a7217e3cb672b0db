/* test_plain.c: the initialisers of structs and the makers of cohort_fn as functions say what the macros and
 * inline functions say. */
#include "test.h"

#include "cohort/plain.h"

#define SAME(type, initialiser)                                                            \
    do {                                                                                   \
        static const type due = initialiser;                                               \
        type got;                                                                          \
        memset(&got, 0, sizeof got);                                                       \
        type##_init(&got);                                                                 \
        CHECKF(t, !memcmp(&got, &due, sizeof got), "%s is another struct", #type "_init"); \
    } while (0)

static void structs(struct test *t)
{
    SAME(cohort_context_options, COHORT_CONTEXT_OPTIONS_INIT);
    SAME(cohort_context_info, COHORT_CONTEXT_INFO_INIT);
    SAME(cohort_limits, COHORT_LIMITS_INIT);
    SAME(cohort_fn, COHORT_FN_INIT);
    SAME(cohort_map_options, COHORT_MAP_OPTIONS_INIT);
    SAME(cohort_batch, COHORT_BATCH_INIT);
    SAME(cohort_map_stats, COHORT_MAP_STATS_INIT);
    SAME(cohort_multimap_options, COHORT_MULTIMAP_OPTIONS_INIT);
    SAME(cohort_retrieve, COHORT_RETRIEVE_INIT);
    SAME(cohort_multisplit_desc, COHORT_MULTISPLIT_INIT);
    SAME(cohort_compact_desc, COHORT_COMPACT_INIT);
    SAME(cohort_histogram_desc, COHORT_HISTOGRAM_INIT);
    SAME(cohort_sort_desc, COHORT_SORT_INIT);
    SAME(cohort_sets_source, COHORT_SETS_SOURCE_INIT);
    SAME(cohort_sets_target, COHORT_SETS_TARGET_INIT);
    SAME(cohort_sets_info, COHORT_SETS_INFO_INIT);
    SAME(cohort_sets_query_desc, COHORT_SETS_QUERY_INIT);
    SAME(cohort_sets_look_desc, COHORT_SETS_LOOK_INIT);
    SAME(cohort_sets_containing_desc, COHORT_SETS_CONTAINING_INIT);
    SAME(cohort_set_options, COHORT_SET_OPTIONS_INIT);
    SAME(cohort_set_info, COHORT_SET_INFO_INIT);
    SAME(cohort_column_info, COHORT_COLUMN_INFO_INIT);
    SAME(cohort_group_options, COHORT_GROUP_OPTIONS_INIT);
    SAME(cohort_join_options, COHORT_JOIN_OPTIONS_INIT);
    SAME(cohort_join_probe_options, COHORT_JOIN_PROBE_OPTIONS_INIT);
    SAME(cohort_join_page, COHORT_JOIN_PAGE_INIT);
    SAME(cohort_kmers_options, COHORT_KMERS_OPTIONS_INIT);
    SAME(cohort_allocator, COHORT_ALLOCATOR_INIT);
    SAME(cohort_progress, COHORT_PROGRESS_INIT);
    SAME(cohort_output, COHORT_OUTPUT_INIT);
    SAME(cohort_input, COHORT_INPUT_INIT);
    SAME(cohort_counts, COHORT_COUNTS_INIT);
    SAME(cohort_payload, COHORT_PAYLOAD_INIT);
    SAME(cohort_array, COHORT_ARRAY_INIT);
    SAME(cohort_aggregate, COHORT_AGGREGATE_INIT);
    SAME(cohort_reads_sink, COHORT_READS_SINK_INIT);
}

static void host(uint64_t n, const void *keys, uint32_t key_bytes, const void *state, uint32_t *ids)
{
    (void)n;
    (void)keys;
    (void)key_bytes;
    (void)state;
    (void)ids;
}

static void functions(struct test *t)
{
    static const uint64_t state[2] = {1, 2};
    static const uint8_t bytes[4];
    static const uint16_t shorts[3];
    static const uint32_t words[2];
    cohort_fn due, got;
    due = cohort_fn_bits(3, 7);
    cohort_fn_set_bits(&got, 3, 7);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_hash(9);
    cohort_fn_set_hash(&got, 9);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_modulo();
    cohort_fn_set_modulo(&got);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_ranges(4, 1000);
    cohort_fn_set_ranges(&got, 4, 1000);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_splitters(state, 2);
    cohort_fn_set_splitters(&got, state, 2);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_table8(bytes, 4);
    cohort_fn_set_table8(&got, bytes, 4);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_table16(shorts, 3);
    cohort_fn_set_table16(&got, shorts, 3);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_delta(5, 6);
    cohort_fn_set_delta(&got, 5, 6);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_between(7, 8);
    cohort_fn_set_between(&got, 7, 8);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_member((const cohort_sets *)(const void *)state, 3);
    cohort_fn_set_member(&got, (const cohort_sets *)(const void *)state, 3);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_masked(255, 17);
    cohort_fn_set_masked(&got, 255, 17);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_ids8(bytes);
    cohort_fn_set_ids8(&got, bytes);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_ids16(shorts);
    cohort_fn_set_ids16(&got, shorts);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_ids32(words);
    cohort_fn_set_ids32(&got, words);
    CHECK(t, !memcmp(&due, &got, sizeof due));
    due = cohort_fn_user(host, "f", "source", 8, state, 16);
    cohort_fn_set_user(&got, host, "f", "source", 8, state, 16);
    CHECK(t, !memcmp(&due, &got, sizeof due));
}

const struct test_case test_cases[] = {
    {"structs", structs, TEST_NO_CONTEXT | TEST_ON_CPU},
    {"functions", functions, TEST_NO_CONTEXT | TEST_ON_CPU},
    {NULL, NULL, 0},
};
