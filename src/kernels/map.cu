/* map.cu: the map's kernels. One lane an entry; device/map.h is the protocol, shape/map_entry.h what a
 * batch does to one entry; here is how a grid walks a batch and what a warp reports of it. */
#include "shape/map.h"

#include "map_report.h"

/* ---- the instances ------------------------------------------------------------------------------------- */

#define CO_MAP_FILE "kernels/map_width.h"
#include "cohort/device/map_instances.h"

#include "map_group.h"
