/* lines.cu: the kernels of maps with the layout COHORT_LAYOUT_LINES. One lane an entry;
 * device/lines_width.h is the protocol, shape/lines_entry.h what a batch does to one entry; here is how a
 * grid walks a batch, and all homes of a table.
 *
 * Batches that only look load plainly and look once: nobody changes the table in their launch. */
#include "shape/lines.h"

#include "map_report.h"

CO_INLINE void lines_flush_warp(const cohort_map_view *m, const co_lines_tally *tally)
{
    map_add_warp(&m->counters->taken, (co_u64)tally->added - tally->erased);
    map_add_warp(&m->counters->displaced, tally->displaced);
    map_add_warp(&m->counters->pulled, tally->pulled);
    map_add_warp(&m->counters->retried, tally->retried);
}

/* Blocks of a stream of mixed operations on one multiprocessor: more lanes that wait outweigh what they keep
 * in memory for want of registers. Keys of 16 bytes want more of these: one block less. */
#define LINES_RUN_BLOCKS 5

#define CO_LINES_FILE "kernels/lines_width.h"
#include "cohort/device/lines_instances.h"
