/* inside.h: a working set's memory as it lies there: its directory, its blocks, and the rings of what is
 * free. */
#ifndef TEST_INSIDE_H
#define TEST_INSIDE_H

#include "api/set.h"
#include "working.h"

struct inside {
    struct set_words words;
    struct co_set_node *nodes;
    co_u32 *node_slots, *block_slots;
    uint64_t node_room, block_room;
};

struct inside inside_look(struct test *, const cohort_set *);
void inside_leave(struct inside *);

/* Every block and every node is in its ring once, or in the directory once. By planes, counts and blocks the
 * members are those that are due. */
void inside_judge(struct working *);

/* Nothing has changed from the one to the other. */
void inside_same(struct test *, const struct inside *, const struct inside *);

#endif
