/* backend/backend.h: the border. A backend is a table of functions for each structure and nothing else; above
 * the border no code asks what the device is.
 *
 * A structure X has its table in backend/X.h, `struct X_backend`, and each backend exports its own:
 * cpu_X_backend from cpu/X.c, cuda_X_backend from cuda/X.c. The entry E of that table is the function
 * cpu_X_E, in cpu/X.c or cpu/X_E.c, and so for the other backend. A new structure is one line here.
 *
 * Every entry gets arguments that the API has checked. Memory is the context's unless an entry says
 * otherwise. Entries fail by context_fail. Every backend has every entry; what it cannot do is
 * COHORT_UNSUPPORTED. Entries do not wait unless they say so.
 *
 * Workspace. An entry that needs some takes it from an arena (arena.h). Where the arena only asks, the entry
 * adds up what the work takes and does nothing; it may be asked before there are pointers to results. What it
 * takes later, for the same struct, is no more. */
#ifndef COHORT_BACKEND_H
#define COHORT_BACKEND_H

#include "cohort.h"
#include "core/context.h"

#define BACKEND_STRUCTURES(X) \
    X(context)                \
    X(group)                  \
    X(join)                   \
    X(keys)                   \
    X(limits)                 \
    X(lines)                  \
    X(map)                    \
    X(multimap)               \
    X(multisplit)             \
    X(compact)                \
    X(set)                    \
    X(sets)                   \
    X(sort)                   \
    X(sums)                   \
    X(table)

#define BACKEND_DECLARE(structure) \
    struct structure##_backend;    \
    extern const struct structure##_backend cpu_##structure##_backend, cuda_##structure##_backend;
BACKEND_STRUCTURES(BACKEND_DECLARE)

enum memory_kind { MEMORY_HOST, MEMORY_DEVICE, MEMORY_BAD };

#define BACKEND_FIELD(structure) const struct structure##_backend *structure;
struct backend {
    const char *name;
    enum memory_kind own_memory; /* the kind of the context's own memory */
    int compiles; /* functions of the user's: 1: their source is compiled; 0: the host's is called */
    BACKEND_STRUCTURES(BACKEND_FIELD)
};

/* Each fills context->backend and ->device, or fails with a message on the thread. `device` is "cpu",
 * "cuda:N", ... */
cohort_status cpu_backend_open(cohort_context *, const cohort_context_options *);
cohort_status cuda_backend_open(cohort_context *, const cohort_context_options *, const char *device);

/* GPUs that this process can use; if there are none, the thread's message says why. Thread-safe. */
uint64_t cuda_backend_count(void);

#endif
