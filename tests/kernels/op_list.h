/* op_list.h: lists of map operations, each lane its own, done through the device API (cohort/device/map.h)
 * and recorded: what came of it, and when it began and ended. Read by the kernels (history.cu), by the host's
 * threads and by the tests that fill the lists and judge the records.
 *
 * A launch does `cases` cases at once, each on a table of its own, all of one shape: `lanes` lanes work on a
 * case, each on `each` operations. An operation is one word; keys and operands are few and come by number, so
 * that the lists cost a simulated lane hardly a step. */
#ifndef TEST_OP_LIST_H
#define TEST_OP_LIST_H

#include "cohort/device/map.h"

enum { LIST_KEYS = 8, LIST_OPERANDS = 32 };

/* Operations: a CO_OP_.. goes through apply; these through the calls named so. END ends the lane's list. */
enum list_kind {
    LIST_FIND = 16,
    LIST_CONTAINS = 17,
    LIST_INSERT = 18,
    LIST_ASSIGN = 19,
    LIST_ERASE = 20,
    LIST_END = 255
};

#define LIST_OP(kind, key, operand) ((co_u64)(kind) | (co_u64)(key) << 8 | (co_u64)(operand) << 16)

enum { LIST_INVOKE, LIST_RESPONSE, LIST_RESULT, LIST_OLD, LIST_RECORD_WORDS };

struct list_args {
    cohort_map_view view;             /* of case 0 */
    co_u64 table_step, counters_step; /* bytes from a case's to the next */
    co_u64 keys[LIST_KEYS];
    co_u64 operands[LIST_OPERANDS];
    const co_u64 *ops; /* case x lanes x each */
    co_u64 *records;   /* LIST_RECORD_WORDS for each of them */
    co_u64 *notes;     /* of the kernels that publish: a word a key */
    co_u32 cases, lanes, each;
    co_u32 apart; /* 1: the lanes of one case lie as far apart as they can, 0: side by side */
};

#endif
