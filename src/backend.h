/* backend.h: the border. A backend is this table and nothing else; above it no code asks what the device is.
 *
 * Every entry gets arguments that the API has checked. Memory is the context's unless an entry says otherwise. Entries fail by
 * context_fail; COHORT_UNSUPPORTED where the backend lacks the operation. Entries do not wait unless they say so. */
#ifndef COHORT_BACKEND_H
#define COHORT_BACKEND_H

#include "cohort.h"
#include "context.h"
#include "shape/map.h"
#include "shape/multimap.h"

enum memory_kind { MEMORY_HOST, MEMORY_DEVICE, MEMORY_BAD };

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
    /* One batch. `memory` is the kind of keys, values, results, ops, where, hit, failed, and of batch->counts. HOST on a
     * device that is not the host: streams the columns through, waits, and leaves the counts in batch->counts on the
     * host; everything else is the context's memory. */
    cohort_status (*map_batch)(cohort_context *, const struct map_batch *, enum memory_kind memory);
    cohort_status (*map_sweep)(cohort_context *, const struct map_sweep *, enum map_sweep_kind);

    /* ---- multimap ---- */
    cohort_status (*multimap_step)(cohort_context *, const struct multimap_step *, enum multimap_step_kind);
    /* in place: a[i] = the sum of a[0 .. i - 1]; n entries */
    cohort_status (*scan)(cohort_context *, co_u64 *a, co_u64 n);
};

/* Each fills context->backend and ->device, or fails with a message on the thread. `device` is "cpu", "cuda:N", ... */
cohort_status cpu_backend_open(cohort_context *, const cohort_context_options *);
cohort_status cuda_backend_open(cohort_context *, const cohort_context_options *, const char *device);

/* GPUs that this process can use; if there are none, the thread's message says why. Thread-safe. */
uint64_t cuda_backend_count(void);

#endif
