/* coroutine.h: stacks that run by turns in one thread. */
#ifndef SIM_COROUTINE_H
#define SIM_COROUTINE_H

#include <stddef.h>

struct coroutine {
    void *resume;     /* where it left off: its stack pointer (or its ucontext) */
    char *stack;      /* NULL for the thread's own stack until it is known */
    size_t bytes;     /* of the stack */
    void *fake_stack; /* the address sanitizer's */
};

/* Maps a stack with a guard page below. 0, or -1 if there is no memory. */
int coroutine_stack(struct coroutine *c);

/* Makes `c` begin with entry() when it is next switched to. `stagger` spreads the first frames over the
 * cache: stacks lie a power of two apart. May be called on a coroutine left anywhere, never on the one that
 * runs. entry must not return. */
void coroutine_begin(struct coroutine *c, void (*entry)(void), size_t stagger);

/* Leaves `from` here and goes on with `to`. */
void coroutine_switch(struct coroutine *from, struct coroutine *to);

/* First thing in entry(): tells the address sanitizer where we are. The first entry of a launch comes from
 * `thread`, the coroutine of the thread's own stack, and fills in where that lies. */
void coroutine_entered(struct coroutine *thread);

#endif
