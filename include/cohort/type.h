/* cohort/type.h: what the numbers of an array are. */
#ifndef COHORT_TYPE_H
#define COHORT_TYPE_H

#ifdef __cplusplus
extern "C" {
#endif

/* 0 is no type. The numbers are fixed: they stand in files and in bindings. */
typedef enum cohort_type {
    COHORT_U8 = 1,
    COHORT_U16 = 2,
    COHORT_U32 = 3,
    COHORT_U64 = 4,
    COHORT_I8 = 5,
    COHORT_I16 = 6,
    COHORT_I32 = 7,
    COHORT_I64 = 8,
    COHORT_F32 = 9,
    COHORT_F64 = 10
} cohort_type;

#ifdef __cplusplus
}
#endif
#endif
