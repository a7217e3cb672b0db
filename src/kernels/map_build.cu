/* map_build.cu: building a table page by page in shared memory, which beats the limit of random access.
 *
 * One by one, each pair costs a read and a write of a 32-byte sector somewhere in the table. Here the pairs
 * come in order of their page (a multisplit saw to that), a block takes a page of 64 KiB into shared memory,
 * puts the page's pairs in, and writes it out in one stream. Growth is the same with an old table as the
 * source: page numbers are the high bits of the hash, so a new page's keys lie in one or a few old pages in a
 * row, and each new page is built by scanning those. A batch whose keys are nearly all there, or in which
 * some come again and again, as a sample of it tells, goes one by one all the same: the split gets no pairs
 * then, and the gate below is open.
 *
 * A pair that finds no room in the first stretch of its walk belongs into a later page, which another block
 * has; and a key that an old table keeps outside its page may not be found by the scan. Both are rare. They
 * are left out and the gate is opened: the ordinary kernels, which do nothing while it is shut, then go over
 * all entries again. To insert what is in already changes nothing, and to assign it once more is as good as
 * before; so only what was left out goes in, and entries that fail are named by their own index. */
#include "shape/map.h"

/* This lane's sum, with the other lanes', to a counter. */
CO_INLINE void build_add(co_u64 *to, co_u64 v)
{
    v = co_warp_sum(v);
    if (co_lane() == 0 && v)
        co_add64(to, v);
}

#define CO_MAP_FILE "kernels/map_build_width.h"
#include "cohort/device/map_instances.h"

/* The outcome of a build joins the batch's counts: what was not added and did not fail was there. */
CO_KERNEL(map_build_conclude, struct map_build)
{
    if (co_block() != 0 || co_thread() != 0 || !args->into)
        return;
    co_u64 added = co_load64(&args->counts->added), failed = co_load64(&args->counts->failed);
    co_add64(&args->into->taken, args->n);
    co_add64(&args->into->added, added);
    co_add64(&args->into->failed, failed);
    co_add64(&args->into->hits, args->n - added - failed);
    co_min64(&args->into->first_failed, co_load64(&args->counts->first_failed));
}
