/* model.h: all interleavings of a small concurrent program, on strong or on weak memory, each judged for
 * linearizability.
 *
 * A program is a C function that does one operation of a map and touches memory by the requests below and in
 * no other way. The explorer stops it at each request, goes on with every answer that the memory can give,
 * and every thread that can be next. It never runs a function twice on the same answers: what a thread is
 * about to do is a node in a tree of answers, so a state is a node for each thread, the memory, and what the
 * history so far allows.
 *
 *   model_memory.c    places, messages and views: the memory, its states as bytes
 *   model_tree.c      programs, request by request
 *   model_history.c   which orders of the operations so far explain their results
 *   model_explore.c   all states from a plan on
 *   model_lines.c     the program: docs/hopscotch-protocol.md
 *   model_plans.c     plans and the tables that they begin with
 *
 * Memory. Each place has a list of messages, the newest last; each thread has a view, which says how old a
 * message it may still read. This is the view-based account of weak memory of Kang et al., "A Promising
 * Semantics for Relaxed-Memory Concurrency" (POPL 2017), without promises and with stores in the order in
 * which they are executed. Strong memory keeps the newest message alone. Operations that follow each other in
 * real time are ordered. */
#ifndef LINES_MODEL_H
#define LINES_MODEL_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MODEL_THREADS = 3, MODEL_EACH = 2, MODEL_PLACES = 16, MODEL_MESSAGES = 14, MODEL_KEYS = 5 };

/* ---- operations and plans ------------------------------------------------------------------------------ */

enum model_kind { KIND_FIND, KIND_INSERT, KIND_ERASE, KIND_ASSIGN, KIND_ADD, KINDS };

struct model_op {
    uint8_t kind, key, operand; /* keys from 1; operands and values below MODEL_FULL - 1 */
};

/* What an operation answers: 0: the key was not in; value + 1; or that there was no room: then the
 * key was not in, at some moment, and nothing was done. */
enum { MODEL_FULL = 63 };

struct model_plan {
    unsigned threads, each[MODEL_THREADS];
    struct model_op op[MODEL_THREADS][MODEL_EACH];
    uint32_t memory[MODEL_PLACES]; /* at first */
    uint8_t value[MODEL_KEYS + 1]; /* of each key at first, + 1; 0: it is not in */
};

/* ---- requests ------------------------------------------------------------------------------------------ */

enum model_act {
    ACT_LOAD,   /* a value of the place */
    ACT_GLANCE, /* a value that the place had at any time, whatever the thread has seen */
    ACT_STORE,  /* value */
    ACT_UPDATE, /* atomically, if (the newest & mask) == expect: adds `value` to it. The old value */
    ACT_WAIT,   /* until (the newest & mask) == expect. The value */
    ACT_FENCE,
    /* before the operation begins: `value` places from this one on, as they are all at one time; answers a
     * number */
    ACT_SNAP
};
enum { ORDER_RELAXED = 0, ORDER_ACQUIRE = 1, ORDER_RELEASE = 2, ORDER_BOTH = 3 };

struct model_request {
    uint8_t act, place, order;
    uint32_t mask, expect, value;
};

/* A program under way: the answers so far. */
struct model_run {
    const uint32_t *answer;
    unsigned answers, at;
    struct model_request request;
    uint32_t local;
    jmp_buf stop;
};

uint32_t model_ask(struct model_run *, struct model_request);

/* Begins the operation anew, with nothing kept but `local`. */
_Noreturn void model_again(struct model_run *, uint32_t local);

/* What a number that ACT_SNAP answered stands for: the value of the place. */
uint32_t model_snapped(uint32_t number, unsigned place);

/* What is explored: the program with all its settings. The tree of its answers lasts until model_end. */
struct model {
    const char *name;
    uint32_t (*program)(struct model_run *, const struct model_op *, uint32_t local);
    /* What the memory holds when all is done: 0 with a reason, or value[] as in a plan. */
    int (*final)(const uint32_t *memory, uint8_t *value, char *why, size_t bytes);
    unsigned places;
    int weak;
    int glances; /* no message is forgotten */
};
void model_begin(const struct model *);
void model_end(void);

/* ---- the tree of answers ------------------------------------------------------------------------------- */

enum model_next { NEXT_REQUEST, NEXT_RESULT };
struct model_node {
    enum model_next next;
    struct model_request request;
    uint32_t result;
    uint32_t parent, answer; /* 0: a root */
    struct model_op op;
    uint32_t local;
};
uint32_t tree_root(struct model_op, uint32_t local);
uint32_t tree_child(uint32_t node, uint32_t answer);
const struct model_node *tree_node(uint32_t node);

/* ---- memory and states --------------------------------------------------------------------------------- */

typedef uint8_t model_view[MODEL_PLACES];

struct model_message {
    uint32_t value;
    model_view view;
};

struct model_thread {
    uint32_t node;       /* 0: its next operation has not begun */
    uint8_t at;          /* operations that are done */
    uint8_t begun;       /* the operation under way has been invoked */
    model_view view;     /* what it has seen, */
    model_view acquired; /* what a fence would add, */
    model_view released; /* and what a relaxed store carries */
};

struct model_state {
    struct model_thread thread[MODEL_THREADS];
    uint32_t history;
    model_view ended; /* what operations that have ended had seen */
    uint8_t count[MODEL_PLACES];
    struct model_message message[MODEL_PLACES][MODEL_MESSAGES];
};

void memory_at_first(const struct model *, const struct model_plan *, struct model_state *);
/* How many answers there are: 0: it has to wait. */
unsigned memory_choices(const struct model *, const struct model_state *, unsigned thread,
                        const struct model_request *);
/* Takes one of them: its answer. 0 in *fits: there are more messages than are kept. */
uint32_t memory_do(const struct model *, struct model_state *, unsigned thread, const struct model_request *,
                   unsigned choice, int *fits);
void memory_tidy(const struct model *, const struct model_plan *, struct model_state *);
uint32_t memory_newest(const struct model_state *, unsigned place);

enum { MODEL_STATE_BYTES = sizeof(struct model_state) };
size_t state_write(const struct model *, const struct model_plan *, const struct model_state *,
                   uint8_t *bytes);
void state_read(const struct model *, const struct model_plan *, struct model_state *, const uint8_t *bytes);

/* ---- histories ----------------------------------------------------------------------------------------- */

/* A set of (what the map holds, which operations under way have happened with which result), by number. 0:
 * none is left. */
uint32_t history_first(const struct model_plan *);
uint32_t history_invoke(const struct model_plan *, const struct model_state *, unsigned thread);
uint32_t history_respond(const struct model_plan *, const struct model_state *, unsigned thread,
                         uint32_t result);
int history_holds(uint32_t history, const uint8_t *value); /* this is what the map may hold, all being done */
void history_end(void);

/* ---- exploring ----------------------------------------------------------------------------------------- */

enum model_verdict { MODEL_RIGHT, MODEL_WRONG, MODEL_TOO_LARGE };
struct model_outcome {
    enum model_verdict verdict;
    uint64_t states, ends;
};

/* All interleavings. The story of a wrong one goes to `story` (NULL: nowhere). */
struct model_outcome model_explore(const struct model *, const struct model_plan *, uint64_t most_states,
                                   FILE *story);
void model_print_plan(const struct model_plan *, FILE *);

#endif
