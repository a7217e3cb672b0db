/* arrays.h: the arrays of a call that is to fail, of which nothing may be written. */
#ifndef TEST_MULTISPLIT_ARRAYS_H
#define TEST_MULTISPLIT_ARRAYS_H

#include "split.h"

#define ARRAYS_N 50 /* entries */

/* Arrays of a call, and what they were filled with. */
struct arrays {
    struct column *keys, *out, *in[2], *to[2], *permutation, *offsets, *counts;
    cohort_payload column[2];
};

/* Keys of 4 bytes, two columns of 8; the rest is for results. They live as long as the test's case. */
struct arrays arrays_new(struct test *t);

/* Nothing has been written by all the calls that failed. */
void arrays_unharmed(struct test *t, const struct arrays *a);

#endif
