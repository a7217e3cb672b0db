/* cpu/sets.c: collections of sets on the host's threads: the table of entries. */
#include "sets.h"

const struct sets_backend cpu_sets_backend = {
    .step = cpu_sets_step,
    .take = cpu_sets_take,
    .look = cpu_sets_look,
    .query = cpu_sets_query,
    .index = cpu_sets_index,
    .containing = cpu_sets_containing,
};
