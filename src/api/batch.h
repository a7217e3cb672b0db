/* api/batch.h: the arrays of one call on a batch: their checks, where they are worked on, and what becomes of
 * the outcome; shared by all structures.
 *
 * A call lists its arrays with batch_array, in the order in which they are to be found wanting. batch_check
 * judges them. A call whose backend takes arrays in any memory (maps) goes on with the caller's pointers from
 * there. For the others batch_begin makes each array ready in the context's memory and fills in the pointer
 * that the backend gets; after the backend's work batch_end brings results back, gives all workspace back and
 * says what failed. */
#ifndef COHORT_API_BATCH_H
#define COHORT_API_BATCH_H

#include "api/bits.h"
#include "api/call.h"
#include "core/arena.h"
#include "backend/context.h"
#include "shape/batch.h"

#define BATCH_ARRAYS 72

enum {
    BATCH_IN = 1,
    BATCH_OUT = 2,
    BATCH_EITHER = 4,   /* in any kind of memory; else all of the call in one */
    BATCH_OPTIONAL = 8, /* may be NULL */
    BATCH_PARTLY = 16   /* OUT that may have less room than its entries say, if fewer are written */
};

/* How many entries of an output were written, as known when the work is done. */
enum batch_written { BATCH_ALL, BATCH_SOME, BATCH_REST, BATCH_WRITTEN_KINDS };

struct batch_array {
    const char *name; /* "desc.keys"; "desc.column[%d].in" with `number` */
    int number;
    unsigned flags;
    const void *at; /* the caller's */
    uint64_t entries, unit;
    uint32_t align;
    int from; /* OUT: the input that it may be; -1: none */
    enum batch_written written;
    /* Where the pointer for the backend goes: a pointer to a pointer. NULL: the array is left where it is. */
    void *own;
    enum memory_kind kind;
    int in_place; /* IN: an output is this very array */
    void *copy;   /* what takes its place */
    /* Of a bitmap: its entries, 0 for other arrays, and as what it goes to the backend; `at` is the first
     * byte. */
    uint64_t n;
    unsigned bit, bits_flags;
    struct bits bits;
};

struct batch {
    cohort_context *context;
    const char *call;
    /* The backend's entry, if it takes workspace, */
    cohort_status (*enter)(cohort_context *, const void *step, struct arena *);
    void *step;                       /* its struct, */
    struct batch_deferred **step_bad; /* and where in it bad ids are put down; NULL: there are none */
    struct arena arena;               /* its workspace */
    int kind;                         /* of the arrays that must be of one; -1: not known yet */
    int waits;             /* some array is not in the context's memory, or the context is the host */
    const void *workspace; /* the caller's */
    uint64_t workspace_bytes;
    void *taken; /* of the pool */
    int count;
    struct batch_array array[BATCH_ARRAYS]; /* the last member: only what is used of it is touched */
};

void batch_open(struct batch *, cohort_context *context, const char *call);

/* The same for a call with a descriptor, which is copied; `size` is its first member. Fails if one is NULL,
 * or the size none. The descriptor is the argument `desc`, or that of another name. */
cohort_status batch_desc(struct batch *, cohort_context *context, const char *call, const void *desc,
                         size_t known, void *copy);
cohort_status batch_named(struct batch *, cohort_context *context, const char *call, const char *name,
                          const void *desc, size_t known, void *copy);

/* Adds an array; the caller fills in number, from, written and align (else: unit) where they differ. */
struct batch_array *batch_array(struct batch *, const char *name, unsigned flags, const void *at,
                                uint64_t entries, uint64_t unit, void *own);

/* The number of the array added last, to be the `from` of another. */
static inline int batch_last(const struct batch *b)
{
    return b->count - 1;
}

/* Fails with "CALL: MESSAGE". */
cohort_status batch_fail(const struct batch *, cohort_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A bitmap with a bit for each of n entries, from bit `offset` on. `own` gets a pointer to words that are
 * aligned; the caller fills in bits_flags if whole ones are needed. */
struct batch_array *batch_bitmap(struct batch *, const char *name, unsigned flags, const void *at,
                                 uint64_t offset, uint64_t n, void *own);

/* n entries of 16 bytes fit in 64 bits. */
cohort_status batch_check_n(const struct batch *, uint64_t n);

/* The bytes of a permutation's entries (0: 4) are enough for n indices. */
cohort_status batch_check_permutation(const struct batch *, uint64_t n, const void *permutation,
                                      uint32_t *bytes);

/* The bytes of a type. A type that is none is COHORT_RANGE, one that is not in the set `types`
 * COHORT_UNSUPPORTED; `allowed` names those of the set. */
#define BATCH_TYPE(type) (1u << (type))
#define BATCH_TYPE_KEYS  (BATCH_TYPE(COHORT_U32) | BATCH_TYPE(COHORT_U64))
#define BATCH_TYPE_WHOLE (BATCH_TYPE_KEYS | BATCH_TYPE(COHORT_I32) | BATCH_TYPE(COHORT_I64))
#define BATCH_TYPE_ALL   (BATCH_TYPE_WHOLE | BATCH_TYPE(COHORT_F32) | BATCH_TYPE(COHORT_F64))
cohort_status batch_check_type(const struct batch *, const char *name, cohort_type type, uint32_t types,
                               const char *allowed, uint32_t *bytes);

/* A call's payloads. */
cohort_status batch_columns(struct batch *, uint64_t n, uint32_t columns, const cohort_payload *column,
                            struct batch_column *own, enum batch_written written, unsigned flags);

/* segment_offsets: s + 1 of them. After batch_check, batch_check_segments looks at them where they lie in
 * host memory. */
cohort_status batch_segments(struct batch *, uint64_t segments, const uint64_t *offsets, const co_u64 **own);
cohort_status batch_check_segments(const struct batch *, uint64_t n, uint64_t segments,
                                   const uint64_t *offsets);

/* The caller's workspace, as an array too. */
void batch_workspace(struct batch *, void *workspace, uint64_t bytes);

/* Where the arrays lie and how they are aligned. */
cohort_status batch_check_memory(struct batch *);

/* The same, and whether they overlap. */
cohort_status batch_check(struct batch *);

/* What a ..._workspace function answers: for the backend, and for inputs that are copied since outputs take
 * their place. */
cohort_status batch_need(struct batch *, uint64_t *bytes);

/* After the checks: takes workspace, stages inputs, fills in the step. On failure batch_end is due all the
 * same. */
cohort_status batch_begin(struct batch *);

/* `written` has the numbers of entries by enum batch_written, BATCH_ALL left out; NULL: all. Gives the status
 * of the whole call. */
cohort_status batch_end(struct batch *, cohort_status status, const uint64_t *written);

#endif
