/* history.h: what concurrent operations on a map saw, and whether any order of them explains it.
 *
 * A history is legal if for each key there is an order of its operations such that each has the result that a
 * map would give if they happened one after the other, and such that an operation that came before another
 * stands before it. What "came before" means is the caller's to say:
 *
 *   history_in_time   a's response was earlier than b's invocation, by one clock. Right for the host's
 *                     threads, for a GPU's clock, and for strong simulated memory: linearizability in the
 *                     sense of Herlihy and Wing.
 *   history_in_sim    a happened before b: same lane, or synchronised (barriers, release and acquire), as the
 *                     simulator kept with schedule.clocks. Right for weak memory, where the order in which
 *                     the simulator does things is more than relaxed operations promise to each other.
 *
 * Keys are independent of each other (linearizability is local), so each is decided alone: a depth-first
 * search over which operations have happened, remembering (operations done, value) that led nowhere; an
 * operation that changes nothing and fits is taken at once, as it can only get in the way later. Wing and
 * Gong, "Testing and Verifying Concurrent Objects", 1993; the memory is Lowe's, "Testing for
 * Linearizability", 2017. */
#ifndef COHORT_HISTORY_H
#define COHORT_HISTORY_H

#include <stddef.h>
#include <stdint.h>

enum history_phase { HISTORY_START = -1, HISTORY_RUN = 0, HISTORY_END = 1 };

struct history_op {
    uint64_t key;
    uint64_t operand;          /* of insert to exchange */
    uint64_t result;           /* the value before; counts only with `hit` */
    uint64_t invoke, response; /* co_clock() before and after */
    uint32_t lane;
    uint8_t op;    /* a cohort_op */
    uint8_t hit;   /* the key was there before */
    uint8_t full;  /* it found no slot and did nothing: right for any operation that would add its key */
    uint8_t blind; /* the value before is not known */
    int8_t phase;  /* operations of the start come before all others, those of the end after all: pairs put in
                                  before, finds that stand for the map's contents afterwards */
};

/* Whether a came before b. */
typedef int (*history_before)(const void *user, const struct history_op *a, const struct history_op *b);
int history_in_time(const void *user, const struct history_op *a, const struct history_op *b);
int history_in_sim(const void *user, const struct history_op *a, const struct history_op *b);

enum history_verdict { HISTORY_LEGAL = 0, HISTORY_ILLEGAL = 1, HISTORY_UNDECIDED = 2 };

struct history_rules {
    uint64_t value_mask; /* of the width: values count modulo it; 0: keys only */
    /* INSERT's result is the value held afterwards (the device API), not the value before */
    int insert_result;
    history_before before; /* NULL: history_in_time */
    const void *user;
    uint64_t states; /* to look at for one key before it is left undecided; 0: 4,000,000 */
};

/* Decides n operations; at most 64 of one key. They come back sorted by key. The reason, with the key's
 * operations, is left in text (NULL: not). */
enum history_verdict history_check(struct history_op *ops, size_t n, const struct history_rules *rules,
                                   char *text, size_t bytes);

#endif
