/* backend/multisplit.h: what a backend does for a multisplit and a histogram: one call each, checked. All
 * arrays are in the context's memory, outputs overlap no input. n may be 0: offsets and bins are still
 * written. */
#ifndef COHORT_BACKEND_MULTISPLIT_H
#define COHORT_BACKEND_MULTISPLIT_H

#include <string.h>

#include "core/arena.h"
#include "backend/context.h"
#include "shape/batch.h"
#include "shape/multisplit.h"

struct split {
    co_u64 n;
    const co_u64 *n_at; /* where it is, if only a GPU knows, and `n` the most that it can be; else NULL */
    co_u32 key_bytes;
    co_u32 method; /* a cohort_split_method */
    co_u32 unordered;
    co_u32 columns;
    struct split_fn fn; /* USER: the data is the state, in the context's memory */
    struct split_source source;
    const void *keys;
    void *keys_out; /* may be NULL, as may what follows unless it says otherwise */
    struct batch_column column[BATCH_COLUMNS_MOST];
    void *permutation;
    co_u32 permutation_bytes, rank_bytes;
    void *rank;
    co_u64 segments; /* 0: none; a histogram has none */
    const co_u64 *segment_offsets;
    co_u64 *offsets;             /* m + 1, with segments segments * m + 1; of a histogram: m bins, not NULL */
    struct batch_counts *counts; /* written, not added to */
    struct batch_deferred *deferred; /* first_bad; never NULL */
};

/* Puts n keys in order of their pages in a table of `pages` with `seed`: 2^after pages are one bucket, and
 * the entries of a bucket come in any order. What is split and where it goes are the caller's to fill in. */
static inline struct split split_by_pages(uint64_t n, uint32_t key_bytes, uint64_t seed, uint64_t pages,
                                          uint32_t after)
{
    struct split s;
    memset(&s, 0, sizeof s);
    s.n = n;
    s.key_bytes = key_bytes;
    s.unordered = 1;
    s.fn.kind = SPLIT_PAGE;
    s.fn.a = seed;
    s.fn.b = UINT32_MAX;
    s.fn.count = pages;
    s.fn.by.divisor = 1;
    s.fn.by.after = after;
    s.fn.buckets = (uint32_t)((pages - 1) >> after) + 1;
    return s;
}

/* A column of values that goes along; none if they have no bytes. */
static inline void split_carry(struct split *s, const void *in, void *out, uint32_t bytes)
{
    if (!bytes)
        return;
    s->column[s->columns].in = in;
    s->column[s->columns].out = out;
    s->column[s->columns].bytes = bytes;
    s->columns++;
}

struct multisplit_backend {
    cohort_status (*split)(cohort_context *, const struct split *, struct arena *);
    cohort_status (*histogram)(cohort_context *, const struct split *, struct arena *);
};

#endif
