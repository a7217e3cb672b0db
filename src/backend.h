/* backend.h: the border. A backend is this table and nothing else; above it no code asks what the device is.
 *
 * Every entry gets arguments that the API has checked. Memory is the context's unless an entry says otherwise. Entries fail by
 * context_fail. Every backend has every entry; what it cannot do is COHORT_UNSUPPORTED. Entries do not wait unless they say so. */
#ifndef COHORT_BACKEND_H
#define COHORT_BACKEND_H

#include "cohort.h"
#include "context.h"
#include "shape/map.h"
#include "shape/multimap.h"
#include "shape/multisplit.h"

enum memory_kind { MEMORY_HOST, MEMORY_DEVICE, MEMORY_BAD };

/* ---- multisplit and what stands on it: one call each, checked. All arrays are in the context's memory, outputs overlap no
 * input, `workspace` is aligned to 256 and as large as the entry itself answered when it was asked (`need` not NULL: *need =
 * the bytes of workspace for this call, and nothing is done). n may be 0: offsets, bins and totals are still written. ---- */

struct split {
    co_u64 n;
    const co_u64 *n_at; /* where it is, if only a GPU knows, and `n` the most that it can be; else NULL */
    co_u32 key_bytes;
    co_u32 method; /* a cohort_split_method */
    co_u32 unordered;
    co_u32 columns;
    struct split_fn fn;    /* USER: the data is the state, in the context's memory */
    const cohort_fn *user; /* of USER, else NULL */
    const void *keys;
    void *keys_out; /* may be NULL, as may what follows unless it says otherwise */
    struct split_column column[SPLIT_COLUMNS_MOST];
    void *permutation;
    co_u32 permutation_bytes;
    co_u64 *offsets;               /* m + 1; of a histogram: m bins, not NULL */
    struct map_counts *counts;     /* written, not added to */
    struct map_deferred *deferred; /* first_bad; never NULL */
    void *workspace;
};

struct compact {
    co_u64 n;
    co_u32 key_bytes;
    co_u32 columns;
    struct split_fn fn; /* kept: id not 0; buckets is SPLIT_BAD; kind 0: where */
    const cohort_fn *user;
    const co_u32 *where;
    const void *keys;
    void *kept, *rejected;
    struct split_column column[SPLIT_COLUMNS_MOST]; /* out: of the kept, may be NULL */
    void *column_rejected[SPLIT_COLUMNS_MOST];
    co_u64 segments; /* 0: none */
    const co_u64 *segment_offsets;
    co_u64 *segment_kept;
    co_u64 *total;
    struct map_deferred
        *deferred; /* first_bad: an id of TABLE that is none; the entry is rejected. Never NULL */
    void *workspace;
};

struct sort {
    co_u64 n;
    co_u32 order; /* a cohort_order */
    co_u32 descending;
    co_u32 low_bit, high_bit; /* high_bit not 0 */
    const void *keys;
    void *keys_out; /* never NULL */
    co_u32 columns;
    co_u32 permutation_bytes;
    struct split_column column[SPLIT_COLUMNS_MOST];
    void *permutation;
    co_u64 segments; /* 0: none */
    const co_u64 *segment_offsets;
    void *workspace;
};

/* Sums of numbers of 4 or 8 bytes; out may be in. */
struct prefix {
    co_u64 n;
    co_u32 bytes;
    co_u32 inclusive;
    const void *in;
    void *out;
    void *workspace;
};

struct reduce {
    co_u64 n;
    co_u32 bytes;
    co_u32 op; /* ADD, MIN or MAX */
    const void *in;
    co_u64 *out;
    void *workspace;
};

struct backend {
    const char *name;

    /* ---- context: device state, memory, waiting, time ---- */
    void (*close)(cohort_context *); /* waits; frees context->device */
    cohort_status (*info)(cohort_context *, cohort_context_info *);
    cohort_status (*set_stream)(cohort_context *, void *stream);
    cohort_status (*wait)(cohort_context *); /* for the device alone: the API reads the deferred failures */
    /* HOST: memory that only the host uses (pinned too); DEVICE: what kernels may be given; BAD: neither here. */
    enum memory_kind (*memory_kind)(cohort_context *, const void *);
    enum memory_kind own_memory;                      /* the kind of the context's own memory */
    void *(*alloc)(cohort_context *, uint64_t bytes); /* the system's; NULL: none. Aligned to 256. May wait */
    void (*free)(cohort_context *, void *,
                 uint64_t bytes); /* waits for the stream where the system needs it */
    cohort_status (*copy)(cohort_context *, void *to, const void *from,
                          uint64_t bytes); /* any kinds; waits if a side is host */
    cohort_status (*fill)(cohort_context *, void *, int byte, uint64_t bytes);
    cohort_status (*timer_create)(cohort_context *, void **timer);
    void (*timer_destroy)(cohort_context *, void *timer);
    cohort_status (*timer_start)(cohort_context *, void *timer);
    cohort_status (*timer_stop)(cohort_context *, void *timer, double *seconds); /* waits */
    cohort_status (*limits)(cohort_context *, cohort_limits *);                  /* waits */

    /* ---- map ---- */
    int (*map_offers)(cohort_context *, co_u32 width, co_u32 group);
    int keeps_order; /* 1: map_batch and map_build heed the rank of an INSERT or ASSIGN; 0: the steps CLAIM and SETTLE do */
    /* One batch. `memory` is the kind of keys, values, results, ops, where, hit, failed, and of batch->counts. HOST on a
     * device that is not the host: streams the columns through, waits, and leaves the counts in batch->counts on the
     * host; everything else is the context's memory. */
    cohort_status (*map_batch)(cohort_context *, const struct map_batch *, enum memory_kind memory);
    cohort_status (*map_sweep)(cohort_context *, const struct map_sweep *, enum map_sweep_kind);
    /* A batch of FIND, INSERT or ASSIGN in the context's own memory by whole pages, with `workspace` as of the entries above: *need is
     * 0 if that is not offered for this batch, or would not pay. fresh: the map is known to be empty. */
    cohort_status (*map_build)(cohort_context *, const struct map_batch *, int fresh, void *workspace,
                               uint64_t *need);

    /* ---- multimap ---- */
    cohort_status (*multimap_step)(cohort_context *, const struct multimap_step *, enum multimap_step_kind);
    /* in place: a[i] = the sum of a[0 .. i - 1]; n entries */
    cohort_status (*scan)(cohort_context *, co_u64 *a, co_u64 n);

    /* ---- multisplit ---- */
    int compiles; /* functions of the user's: 1: their source is compiled; 0: the host's is called */
    cohort_status (*split)(cohort_context *, const struct split *, uint64_t *need);
    cohort_status (*histogram)(cohort_context *, const struct split *, uint64_t *need);
    cohort_status (*compact)(cohort_context *, const struct compact *, uint64_t *need);
    cohort_status (*sort)(cohort_context *, const struct sort *, uint64_t *need);
    cohort_status (*prefix)(cohort_context *, const struct prefix *, uint64_t *need);
    cohort_status (*reduce)(cohort_context *, const struct reduce *, uint64_t *need);
};

/* Each fills context->backend and ->device, or fails with a message on the thread. `device` is "cpu", "cuda:N", ... */
cohort_status cpu_backend_open(cohort_context *, const cohort_context_options *);
cohort_status cuda_backend_open(cohort_context *, const cohort_context_options *, const char *device);

/* GPUs that this process can use; if there are none, the thread's message says why. Thread-safe. */
uint64_t cuda_backend_count(void);

#endif
