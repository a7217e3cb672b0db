/* plain.c: the initialisers of structs and the makers of cohort_fn, as functions. */
#include "cohort/plain.h"

#define INIT(type, initialiser)               \
    void type##_init(type *out)               \
    {                                         \
        static const type made = initialiser; \
        *out = made;                          \
    }

INIT(cohort_context_options, COHORT_CONTEXT_OPTIONS_INIT)
INIT(cohort_context_info, COHORT_CONTEXT_INFO_INIT)
INIT(cohort_limits, COHORT_LIMITS_INIT)
INIT(cohort_fn, COHORT_FN_INIT)
INIT(cohort_map_options, COHORT_MAP_OPTIONS_INIT)
INIT(cohort_batch, COHORT_BATCH_INIT)
INIT(cohort_map_stats, COHORT_MAP_STATS_INIT)
INIT(cohort_multimap_options, COHORT_MULTIMAP_OPTIONS_INIT)
INIT(cohort_retrieve, COHORT_RETRIEVE_INIT)
INIT(cohort_multisplit_desc, COHORT_MULTISPLIT_INIT)
INIT(cohort_compact_desc, COHORT_COMPACT_INIT)
INIT(cohort_histogram_desc, COHORT_HISTOGRAM_INIT)
INIT(cohort_sort_desc, COHORT_SORT_INIT)
INIT(cohort_sets_source, COHORT_SETS_SOURCE_INIT)
INIT(cohort_sets_target, COHORT_SETS_TARGET_INIT)
INIT(cohort_sets_info, COHORT_SETS_INFO_INIT)
INIT(cohort_sets_query_desc, COHORT_SETS_QUERY_INIT)
INIT(cohort_sets_look_desc, COHORT_SETS_LOOK_INIT)
INIT(cohort_sets_containing_desc, COHORT_SETS_CONTAINING_INIT)
INIT(cohort_set_options, COHORT_SET_OPTIONS_INIT)
INIT(cohort_set_info, COHORT_SET_INFO_INIT)
INIT(cohort_column_info, COHORT_COLUMN_INFO_INIT)
INIT(cohort_group_options, COHORT_GROUP_OPTIONS_INIT)
INIT(cohort_join_options, COHORT_JOIN_OPTIONS_INIT)
INIT(cohort_join_probe_options, COHORT_JOIN_PROBE_OPTIONS_INIT)
INIT(cohort_join_page, COHORT_JOIN_PAGE_INIT)
INIT(cohort_kmers_options, COHORT_KMERS_OPTIONS_INIT)
INIT(cohort_allocator, COHORT_ALLOCATOR_INIT)
INIT(cohort_progress, COHORT_PROGRESS_INIT)
INIT(cohort_output, COHORT_OUTPUT_INIT)
INIT(cohort_input, COHORT_INPUT_INIT)
INIT(cohort_counts, COHORT_COUNTS_INIT)
INIT(cohort_payload, COHORT_PAYLOAD_INIT)
INIT(cohort_array, COHORT_ARRAY_INIT)
INIT(cohort_aggregate, COHORT_AGGREGATE_INIT)
INIT(cohort_reads_sink, COHORT_READS_SINK_INIT)

void cohort_fn_set_bits(cohort_fn *out, uint32_t low, uint32_t bits)
{
    *out = cohort_fn_bits(low, bits);
}

void cohort_fn_set_hash(cohort_fn *out, uint64_t seed)
{
    *out = cohort_fn_hash(seed);
}

void cohort_fn_set_modulo(cohort_fn *out)
{
    *out = cohort_fn_modulo();
}

void cohort_fn_set_ranges(cohort_fn *out, uint64_t least, uint64_t most)
{
    *out = cohort_fn_ranges(least, most);
}

void cohort_fn_set_splitters(cohort_fn *out, const void *sorted, uint64_t count)
{
    *out = cohort_fn_splitters(sorted, count);
}

void cohort_fn_set_table8(cohort_fn *out, const uint8_t *table, uint64_t count)
{
    *out = cohort_fn_table8(table, count);
}

void cohort_fn_set_table16(cohort_fn *out, const uint16_t *table, uint64_t count)
{
    *out = cohort_fn_table16(table, count);
}

void cohort_fn_set_delta(cohort_fn *out, uint64_t base, uint64_t delta)
{
    *out = cohort_fn_delta(base, delta);
}

void cohort_fn_set_between(cohort_fn *out, uint64_t least, uint64_t most)
{
    *out = cohort_fn_between(least, most);
}

void cohort_fn_set_masked(cohort_fn *out, uint64_t mask, uint64_t value)
{
    *out = cohort_fn_masked(mask, value);
}

void cohort_fn_set_ids8(cohort_fn *out, const uint8_t *ids)
{
    *out = cohort_fn_ids8(ids);
}

void cohort_fn_set_ids16(cohort_fn *out, const uint16_t *ids)
{
    *out = cohort_fn_ids16(ids);
}

void cohort_fn_set_ids32(cohort_fn *out, const uint32_t *ids)
{
    *out = cohort_fn_ids32(ids);
}

void cohort_fn_set_member(cohort_fn *out, const cohort_sets *sets, uint64_t set)
{
    *out = cohort_fn_member(sets, set);
}

void cohort_fn_set_user(cohort_fn *out, cohort_fn_host host, const char *name, const char *source,
                        uint64_t key_bytes, const void *state, uint64_t state_bytes)
{
    *out = cohort_fn_user(host, name, source, key_bytes, state, state_bytes);
}
