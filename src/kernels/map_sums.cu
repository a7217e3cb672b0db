/* map_sums.cu: folding the operands of keys that come again and again (sums by key) in a block's shared
 * memory.
 *
 * One by one, each entry is an atomic operation somewhere in the table, and entries of one key wait
 * for each other. Here a block keeps a small table in shared memory, with linear probing, folds its
 * entries there, and folds what it has into the map at the end: one operation a key and block. Keys that
 * find no place within a few probes go to the map at once. A lane looks at the homes of some entries at
 * once, and folds those whose keys are there; the others walk, all lanes together.
 *
 * That pays if there are about as many keys as places. If there are more, the batch comes in order of
 * parts (a multisplit saw to that): ranges of hashes with about as many keys as places each. A block
 * takes a stretch of entries, and has a table for each part in it. Of a part with many entries several
 * blocks have tables, so a key that most entries have keeps nobody waiting. Parts lie in order of the
 * map's pages, so what goes to the map at one time goes to pages that are in the cache.
 *
 * Which it is a sample tells, on the device: of so many entries, how many have a key that no other
 * has? (Good and Turing: the share of the batch whose keys a sample has not seen.) A batch that is small
 * beside its table has no parts: then the ordinary kernel does it one by one, if its keys are many.
 *
 * A key that finds no slot in the map fails with all its entries, for in this launch no slot becomes
 * free: so after the batch an entry has failed if and only if its key is absent. map_sums_rest looks
 * them up then, behind a gate. */
#include "shape/map.h"
#include "shape/search.h"

#include "map_report.h"

#define CO_MAP_FILE "kernels/map_sums_width.h"
#include "cohort/device/map_instances.h"
