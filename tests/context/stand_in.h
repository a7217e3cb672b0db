/* stand_in.h: a driver that stands in for a GPU's, so that the launches of the host code can be looked at
 * without a GPU.
 *
 * It is the simulated one, but named "cuda", so that the rows of the tuning for GPUs hold, with the
 * attributes of the architecture under test. It knows kernels by the names that the preprocessed sources give
 * them. Its launches do nothing. Device memory is reserved and not touched: fills and copies of up to 64 KiB
 * are done, larger ones are not. So n may be as large as is wished; calls are made with pointers to device
 * memory, or to a few thousand entries of the host's, and what they leave is not looked at. */
#ifndef TEST_STAND_IN_H
#define TEST_STAND_IN_H

#include "test.h"

struct stand_in {
    unsigned architecture; /* may be changed before a context is made */
    unsigned launches;
    FILE *log;           /* NULL: none */
    char complaint[200]; /* the first launch that the architecture does not allow; empty: there was none */
};
extern struct stand_in stand_in;

/* Registers it as the device "stand-in". Skips the case where the kernels' sources are not there. */
void stand_in_begin(struct test *);

/* Registers the simulated device again. */
void stand_in_end(void);

#endif
