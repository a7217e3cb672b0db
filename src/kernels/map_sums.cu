/* map_sums.cu: folding the operands of keys that come again and again (sums by key) in a block's shared
 * memory.
 *
 * One by one, each entry is an atomic operation somewhere in the table, and entries of one key wait for
 * each other. Here a block keeps a small table in shared memory, with linear probing, folds its entries
 * there, and folds what it has into the map at the end: one operation a key and block. Keys that find no
 * place within a few probes go to the map at once.
 *
 * That pays if there are about as many keys as places. If there are more, the ordinary kernel does the
 * batch. Which it is a sample tells, on the device: of so many entries, how many have a key that no other
 * has? (Good and Turing: the share of the batch whose keys a sample has not seen.)
 *
 * A key that finds no slot in the map fails with all its entries, for in this launch no slot becomes free:
 * so after the batch an entry has failed if and only if its key is absent. map_sums_rest looks them up
 * then, behind a gate. */
#include "shape/map.h"

#include "map_report.h"

#define CO_MAP_FILE "kernels/map_sums_width.h"
#include "cohort/device/map_instances.h"
