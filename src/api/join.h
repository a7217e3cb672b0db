/* api/join.h: what a join is inside; shared by the files of the API that work on joins. */
#ifndef COHORT_API_JOIN_H
#define COHORT_API_JOIN_H

#include "api/factor.h"
#include "api/staged.h"
#include "backend/join.h"
#include "cohort/join.h"

struct cohort_join {
    cohort_context *context;
    cohort_context *host;      /* in whose memory it lies: `context` itself, or its helper */
    cohort_join_method method; /* as chosen */
    struct factor factor;      /* DENSE: empty but for types and rules */
    struct join_range range;   /* of DENSE */
    struct join_index index;   /* its arrays are of the pool of `host` */
    unsigned changed;          /* atomic: probes have marked groups since `rest` was made */
    struct join_rest rest;
};

struct cohort_matches {
    cohort_context *context, *host;
    const cohort_join *join;
    struct join_probe probe; /* its arrays are of the pool of `host` */
};

/* A page under way: what the caller asks for, and where its rows are written in the memory of `host`. */
struct join_window {
    cohort_context *context, *host;
    cohort_join_page page;
    struct staged_array left, right; /* own: NULL where nothing is wanted */
};

/* Reads the page for a sequence of `total` pairs, of so many left and right rows. */
cohort_status join_window_open(struct join_window *, cohort_context *context, cohort_context *host,
                               const char *call, const cohort_join_page *given, uint64_t total,
                               uint64_t left_rows, uint64_t right_rows);

/* Brings the rows to their places, tells what was written, and gives all back. */
cohort_status join_window_close(struct join_window *, cohort_join_page *given, cohort_status s);

/* Groups of rows of a frame of `host`, on a context of the caller's; adds: the factor learns
 * new keys. */
cohort_status join_groups(cohort_join *, cohort_context *host, cohort_frame *keys, int adds,
                          uint32_t *groups);

/* Entries from the pool. */
cohort_status join_take(cohort_context *, uint64_t entries, uint64_t unit, void *out);

#endif
