/* map_seek.cu: finding keys page by page, which for keys that are not there beats the limit of random access.
 *
 * One by one, a key costs a read of a 32-byte sector somewhere in the table for each bucket of its walk, and
 * in a well filled table the walks of absent keys are long. Here keys come in order of their page, each with
 * its index in the batch (a multisplit saw to that), and a block reads a page of 64 KiB in one stream and
 * keeps two things of it in shared memory:
 *
 *   a sieve   two bits in one of some thousand words for each key that is in a slot (a Bloom filter of one
 *             word a key). Of the keys that are not in the page one in a hundred has both bits set
 *   open      of each pair of buckets, whether it has an empty slot
 *
 * A key that the sieve does not know, and in whose walk through the page there is an open pair, is absent:
 * had it found no slot before that pair, it would have taken one there. All others are looked up in the table
 * itself: those that are there, a few that are not, those whose walk leaves the page, and the two keys with
 * slots of their own. They wait until a warp has 32 of them. What is found is written to where the batch
 * wants it. What is absent has been written before, side by side: the fallback everywhere.
 *
 * A sample of the batch (kernels/map_sample.h) may send all of it one by one, and so does a page with so many
 * keys that its block would keep the others waiting: then the gate is open, and the ordinary kernel, which
 * does nothing while it is shut, does the whole batch. Until the gate is settled nothing is written that the
 * ordinary kernel reads: results may lie where the keys are. */
#include "shape/map.h"

/* Opens the gate if a page has too many keys. */
CO_KERNEL(map_seek_judge, struct map_seek)
{
    const co_u64 lanes = (co_u64)co_blocks() * co_threads();
    if (co_load64(args->gate))
        return;
    for (co_u64 p = (co_u64)co_block() * co_threads() + co_thread(); p < args->batch.view.pages; p += lanes)
        if (co_read64(args->offsets + p + 1) - co_read64(args->offsets + p) > args->most)
            co_store64(args->gate, 1);
}

#define CO_MAP_FILE "kernels/map_seek_width.h"
#include "cohort/device/map_instances.h"
