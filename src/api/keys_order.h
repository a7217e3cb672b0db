/* api/keys_order.h: distinct keys in ascending order. */
#ifndef COHORT_API_KEYS_ORDER_H
#define COHORT_API_KEYS_ORDER_H

#include "api/frame.h"

/* The numbers of a frame's rows, fewer than 2^32, in ascending order of the rows, column by column. `order`
 * is the context's memory. */
cohort_status keys_order(cohort_frame *frame, uint32_t *order);

/* The same in descending order of counts; equal ones stay as they are. */
cohort_status keys_order_counts(cohort_context *context, uint64_t n, const uint64_t *counts, uint32_t *order);

/* How values of a column of one piece, or of its dictionary, compare: ranks of words, or bytes. */
struct keys_rank;
cohort_status keys_rank_open(cohort_context *context, const struct table_column *column,
                             struct keys_rank **out);
void keys_rank_close(struct keys_rank *);
int keys_rank_null(const struct keys_rank *, uint64_t row);
int keys_rank_compare(const struct keys_rank *, uint64_t a, uint64_t b); /* nulls last */

#endif
