/* api/set.h: what a working set is inside, and what the files of the API do with it that work on
 * collections. */
#ifndef COHORT_API_SET_H
#define COHORT_API_SET_H

#include "api/sets.h"
#include "backend/set.h"

struct cohort_set {
    cohort_context *context;
    cohort_context *host; /* in whose memory it lies (api/staged.h) */
    cohort_set_layout layout;
    struct set_state state; /* host->backend->set works on it */
    uint64_t block_bytes, spare_bytes;
};

/* Working sets of one context and type as a collection, a set each. Waits. */
cohort_status set_collection(cohort_context *context, cohort_set *const *sets, uint64_t n, cohort_sets **out);

/* The set, changed by set 0 of a collection of its context and type (shape/set.h). Waits. */
cohort_status set_change(cohort_set *set, const char *call, enum set_change_kind kind, const cohort_sets *by);

/* cohort_sets_build of COHORT_FORM_WORKING: what the form has no use for is checked already. */
cohort_status set_build(cohort_context *context, const cohort_sets_source *source, cohort_sets **out);

#endif
