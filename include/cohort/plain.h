/* cohort/plain.h: what is a macro or inline in the other headers, as functions of the library, for languages
 * that have no use for these: the defaults of structs and the makers of cohort_fn. From C the macros and
 * inline functions say the same in fewer words. */
#ifndef COHORT_PLAIN_H
#define COHORT_PLAIN_H

#include "cohort/compact.h"
#include "cohort/context.h"
#include "cohort/fn.h"
#include "cohort/group.h"
#include "cohort/histogram.h"
#include "cohort/join.h"
#include "cohort/kmer.h"
#include "cohort/map.h"
#include "cohort/multimap.h"
#include "cohort/multisplit.h"
#include "cohort/set.h"
#include "cohort/sort.h"
#include "cohort/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* T_init(&struct): the struct as its initialiser leaves it, `size` included. The pointer must not be NULL. */
COHORT_API void cohort_context_options_init(cohort_context_options *out);
COHORT_API void cohort_context_info_init(cohort_context_info *out);
COHORT_API void cohort_limits_init(cohort_limits *out);
COHORT_API void cohort_fn_init(cohort_fn *out);
COHORT_API void cohort_map_options_init(cohort_map_options *out);
COHORT_API void cohort_batch_init(cohort_batch *out);
COHORT_API void cohort_map_stats_init(cohort_map_stats *out);
COHORT_API void cohort_multimap_options_init(cohort_multimap_options *out);
COHORT_API void cohort_retrieve_init(cohort_retrieve *out);
COHORT_API void cohort_multisplit_desc_init(cohort_multisplit_desc *out);
COHORT_API void cohort_compact_desc_init(cohort_compact_desc *out);
COHORT_API void cohort_histogram_desc_init(cohort_histogram_desc *out);
COHORT_API void cohort_sort_desc_init(cohort_sort_desc *out);
COHORT_API void cohort_sets_source_init(cohort_sets_source *out);
COHORT_API void cohort_sets_target_init(cohort_sets_target *out);
COHORT_API void cohort_sets_info_init(cohort_sets_info *out);
COHORT_API void cohort_sets_query_desc_init(cohort_sets_query_desc *out);
COHORT_API void cohort_sets_look_desc_init(cohort_sets_look_desc *out);
COHORT_API void cohort_sets_containing_desc_init(cohort_sets_containing_desc *out);
COHORT_API void cohort_set_options_init(cohort_set_options *out);
COHORT_API void cohort_set_info_init(cohort_set_info *out);
COHORT_API void cohort_column_info_init(cohort_column_info *out);
COHORT_API void cohort_group_options_init(cohort_group_options *out);
COHORT_API void cohort_join_options_init(cohort_join_options *out);
COHORT_API void cohort_join_probe_options_init(cohort_join_probe_options *out);
COHORT_API void cohort_join_page_init(cohort_join_page *out);
COHORT_API void cohort_kmers_options_init(cohort_kmers_options *out);
COHORT_API void cohort_allocator_init(cohort_allocator *out);
COHORT_API void cohort_progress_init(cohort_progress *out);
COHORT_API void cohort_output_init(cohort_output *out);
COHORT_API void cohort_input_init(cohort_input *out);
COHORT_API void cohort_counts_init(cohort_counts *out);
COHORT_API void cohort_payload_init(cohort_payload *out);
COHORT_API void cohort_array_init(cohort_array *out);
COHORT_API void cohort_aggregate_init(cohort_aggregate *out);
COHORT_API void cohort_reads_sink_init(cohort_reads_sink *out);

/* cohort_fn_set_X(&fn, ...): what cohort_fn_X(...) returns. */
COHORT_API void cohort_fn_set_bits(cohort_fn *out, uint32_t low, uint32_t bits);
COHORT_API void cohort_fn_set_hash(cohort_fn *out, uint64_t seed);
COHORT_API void cohort_fn_set_modulo(cohort_fn *out);
COHORT_API void cohort_fn_set_ranges(cohort_fn *out, uint64_t least, uint64_t most);
COHORT_API void cohort_fn_set_splitters(cohort_fn *out, const void *sorted, uint64_t count);
COHORT_API void cohort_fn_set_table8(cohort_fn *out, const uint8_t *table, uint64_t count);
COHORT_API void cohort_fn_set_table16(cohort_fn *out, const uint16_t *table, uint64_t count);
COHORT_API void cohort_fn_set_delta(cohort_fn *out, uint64_t base, uint64_t delta);
COHORT_API void cohort_fn_set_between(cohort_fn *out, uint64_t least, uint64_t most);
COHORT_API void cohort_fn_set_masked(cohort_fn *out, uint64_t mask, uint64_t value);
COHORT_API void cohort_fn_set_ids8(cohort_fn *out, const uint8_t *ids);
COHORT_API void cohort_fn_set_ids16(cohort_fn *out, const uint16_t *ids);
COHORT_API void cohort_fn_set_ids32(cohort_fn *out, const uint32_t *ids);
COHORT_API void cohort_fn_set_member(cohort_fn *out, const cohort_sets *sets, uint64_t set);
COHORT_API void cohort_fn_set_user(cohort_fn *out, cohort_fn_host host, const char *name, const char *source,
                                   uint64_t key_bytes, const void *state, uint64_t state_bytes);

#ifdef __cplusplus
}
#endif
#endif
