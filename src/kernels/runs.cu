/* runs.cu: where runs of equal keys begin, and how long they are.
 *
 * A warp compares 128 keys with those before them, RUNS_WORDS words of the bitmap, all reads on their way at
 * once. A lane gets the key before its own from its neighbour; the first lane reads it. */
#include "shape/bits.h"
#include "shape/runs.h"

#define WIDE 0
#include "runs_width.h"
#define WIDE 1
#include "runs_width.h"

CO_KERNEL(runs_lengths, struct runs_lengths)
{
    const co_u64 total = co_read64(args->total), step = (co_u64)co_blocks() * co_threads();
    for (co_u64 i = (co_u64)co_block() * co_threads() + co_thread(); i < total; i += step)
        co_write64(args->lengths + i, runs_length(args, total, i));
}
