/* api/bulk.h: one bulk call on arrays: their checks, where they are worked on, and what becomes of the outcome; shared by
 * multisplit, histogram, compact, sort, scan and reduce.
 *
 * A call lists its arrays with bulk_array, in the order in which they are to be found wanting. bulk_check judges them;
 * bulk_begin makes each one ready in the context's memory and fills in the pointer that the backend gets; after the
 * backend's work bulk_end brings results back, gives all workspace back and says what failed. */
#ifndef COHORT_API_BULK_H
#define COHORT_API_BULK_H

#include "backend.h"

#define BULK_ARRAYS 72

enum {
    BULK_IN = 1,
    BULK_OUT = 2,
    BULK_EITHER = 4,   /* in any kind of memory; else all of the call in one */
    BULK_OPTIONAL = 8, /* may be NULL */
    BULK_PARTLY = 16   /* OUT that may have less room than its entries say, if fewer are written */
};

/* How many entries of an output were written, as known when the work is done. */
enum bulk_written { BULK_ALL, BULK_SOME, BULK_REST, BULK_WRITTEN_KINDS };

struct bulk_array {
    const char *name; /* "desc.keys"; "desc.column[%d].in" with `number` */
    int number;
    unsigned flags;
    const void *at; /* the caller's */
    uint64_t entries, unit;
    uint32_t align;
    int from; /* OUT: the input that it may be; -1: none */
    enum bulk_written written;
    void *own; /* where the pointer for the backend goes: a pointer to a pointer */
    enum memory_kind kind;
    int in_place; /* IN: an output is this very array */
    void *copy;   /* what takes its place */
};

struct bulk {
    cohort_context *context;
    const char *call;
    /* The backend's entry: with `need`, what it takes of workspace; without, the work. */
    cohort_status (*enter)(cohort_context *, const void *step, uint64_t *need);
    void *step;                     /* its struct, */
    void **step_workspace;          /* and where in it workspace goes, */
    struct map_deferred **step_bad; /* and where bad ids are put down; NULL: there are none */
    int kind;                       /* of the arrays that must be of one; -1: not known yet */
    int waits; /* some array is not in the context's memory, or the context is the host */
    int count;
    struct bulk_array array[BULK_ARRAYS];
    const void *workspace; /* the caller's */
    uint64_t workspace_bytes;
    void *taken; /* of the pool */
};

void bulk_open(struct bulk *, cohort_context *context, const char *call);

/* The same for a call with a descriptor, which is copied; `size` is its first member. Fails if one is NULL, or the size none. */
cohort_status bulk_desc(struct bulk *, cohort_context *context, const char *call, const void *desc,
                        size_t known, void *copy);

/* Adds an array; the caller fills in number, from, written and align (else: unit) where they differ. */
struct bulk_array *bulk_array(struct bulk *, const char *name, unsigned flags, const void *at,
                              uint64_t entries, uint64_t unit, void *own);

/* The number of the array added last, to be the `from` of another. */
static inline int bulk_last(const struct bulk *b)
{
    return b->count - 1;
}

/* Fails with "CALL: MESSAGE". */
cohort_status bulk_fail(const struct bulk *, cohort_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* n entries of 16 bytes fit in 64 bits. */
cohort_status bulk_check_n(const struct bulk *, uint64_t n);

/* The bytes of a permutation's entries (0: 4) are enough for n indices. */
cohort_status bulk_check_permutation(const struct bulk *, uint64_t n, const void *permutation,
                                     uint32_t *bytes);

/* A call's columns. */
cohort_status bulk_columns(struct bulk *, uint64_t n, uint32_t columns, const cohort_column *column,
                           struct split_column *own, enum bulk_written written, unsigned flags);

/* segment_offsets: s + 1 of them. After bulk_check, bulk_check_segments looks at them where they lie in host memory. */
cohort_status bulk_segments(struct bulk *, uint64_t segments, const uint64_t *offsets, const co_u64 **own);
cohort_status bulk_check_segments(const struct bulk *, uint64_t n, uint64_t segments,
                                  const uint64_t *offsets);

/* The caller's workspace, as an array too. */
void bulk_workspace(struct bulk *, void *workspace, uint64_t bytes);

/* Where the arrays lie, how they are aligned, whether they overlap. */
cohort_status bulk_check(struct bulk *);

/* What a ..._workspace function answers: for the backend, and for inputs that are copied since outputs take their place. */
cohort_status bulk_need(struct bulk *, uint64_t *bytes);

/* After the checks: takes workspace, stages inputs, fills in the step. On failure bulk_end is due all the same. */
cohort_status bulk_begin(struct bulk *);

/* `written` has the numbers of entries by enum bulk_written, BULK_ALL left out; NULL: all. Gives the status of the whole call. */
cohort_status bulk_end(struct bulk *, cohort_status status, const uint64_t *written);

/* ---- fn.c -------------------------------------------------------------------------------------------------------- */

/* Checks the function of a call on n keys and fills in what the backend takes; its data becomes an array of the call. buckets 0:
 * a predicate (any id but 0 holds). `user` points into the function where it is the user's. */
cohort_status fn_check(struct bulk *, const cohort_fn *fn, uint64_t n, uint32_t key_bytes, uint32_t buckets,
                       struct split_fn *out, const cohort_fn **user);

/* After bulk_check: splitters in host memory are sorted. */
cohort_status fn_check_data(const struct bulk *, const cohort_fn *fn, uint32_t key_bytes);

#endif
