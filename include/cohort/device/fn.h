/* cohort/device/fn.h: what the source of a user's function (COHORT_FN_USER of cohort/fn.h) may use on a GPU:
 * integers by their usual names, co_hash, COHORT_FN_DEVICE. It stands before the source when that is
 * compiled. */
#ifndef COHORT_DEVICE_FN_H
#define COHORT_DEVICE_FN_H

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#    define UINT32_MAX 0xffffffffu
#    define UINT64_MAX 0xffffffffffffffffull
#    define INT32_MAX  0x7fffffff
#    define INT64_MAX  0x7fffffffffffffffll
#else
#    include <stdint.h>
#endif

#include "hash.h"

#define COHORT_FN_DEVICE CO_INLINE

#endif
