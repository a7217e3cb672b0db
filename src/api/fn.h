/* api/fn.h: functions of keys, as arguments of a call. */
#ifndef COHORT_API_FN_H
#define COHORT_API_FN_H

#include "api/batch.h"
#include "cohort/fn.h"
#include "shape/multisplit.h"

/* Checks the function of a call on n keys, copies it and fills in what the backend takes; its data becomes an
 * array of the call. buckets 0: a predicate (any id but 0 holds). `source` points to what ids are made from
 * where no numbers tell them. */
cohort_status fn_check(struct batch *, const cohort_fn *given, cohort_fn *fn, uint64_t n, uint32_t key_bytes,
                       uint32_t buckets, struct split_fn *out, struct split_source *source);

/* After batch_check: splitters in host memory are sorted. */
cohort_status fn_check_data(const struct batch *, const cohort_fn *fn, uint32_t key_bytes);

#endif
