/* cohort/sums.h: prefix sums, and the sum, least and greatest of an array. Arrays and waiting:
 * cohort/payload.h. */
#ifndef COHORT_SUMS_H
#define COHORT_SUMS_H

#include "map.h" /* cohort_op */
#include "payload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out[i] = the sum of in[0 .. i) (inclusive: of in[0 .. i]), modulo 2^32 or 2^64. `type`: COHORT_U32, _I32,
 * _U64 or _I64, of both arrays. `out` may be `in`. Decoupled look-back (Merrill and Garland): one read and
 * one write. Waits with host pointers only. COHORT_RANGE: a type that is none, `inclusive` neither 0 nor 1;
 * COHORT_UNSUPPORTED: other types. */
COHORT_API cohort_status cohort_scan(cohort_context *context, uint64_t n, cohort_type type, int inclusive,
                                     const void *in, void *out);

/* *out = the sum, the least or the greatest (COHORT_OP_ADD, _MIN, _MAX) of n numbers. `type`: COHORT_U32 or
 * _U64, and *out is a uint64_t; COHORT_I32 or _I64, and *out is an int64_t; for MIN and MAX also COHORT_F32
 * or _F64, and *out is a double, floats in the order of cohort/sort.h (so a NaN is greatest, or least with
 * its sign set). Sums are modulo 2^64. Of no numbers ADD is 0; MIN is UINT64_MAX, of signed types the type's
 * greatest, of floats a NaN; MAX is 0, of signed types the type's least, of floats a NaN with its sign set.
 * `out` in host memory makes the call wait. COHORT_RANGE: a type or an op that is none; COHORT_UNSUPPORTED:
 * other types, a sum of floats (its bits would hang on the order of additions; cohort/group.h has one that is
 * reproducible). */
COHORT_API cohort_status cohort_reduce(cohort_context *context, cohort_op op, uint64_t n, cohort_type type,
                                       const void *in, void *out);

#ifdef __cplusplus
}
#endif
#endif
