/* coroutine.c: the switch between stacks. On x86-64 and aarch64 it saves what the calling convention says a
 * function must keep, and nothing else: some ten instructions. Elsewhere ucontext does it, with a system call
 * each time. */
#define _GNU_SOURCE
#include "coroutine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#    define SIM_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define SIM_ASAN 1
#    endif
#endif

#ifdef SIM_ASAN
#    include <sanitizer/asan_interface.h>
#    include <sanitizer/common_interface_defs.h>
enum { STACK_BYTES = 256 << 10 };
#else
enum { STACK_BYTES = 64 << 10 };
#endif
enum { GUARD_BYTES = 16 << 10 };

int coroutine_stack(struct coroutine *c)
{
    size_t bytes = STACK_BYTES + GUARD_BYTES;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return -1;
    mprotect(p, GUARD_BYTES, PROT_NONE);
    c->stack = p + GUARD_BYTES;
    c->bytes = STACK_BYTES;
    return 0;
}

#if defined(__x86_64__)

void sim_switch_stack(void **save, void *to);
__asm__(".text\n"
        ".globl sim_switch_stack\n"
        ".hidden sim_switch_stack\n"
        ".type sim_switch_stack, @function\n"
        "sim_switch_stack:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size sim_switch_stack, . - sim_switch_stack\n");

/* Six registers, the address to return to, and a null return address of entry() itself; at entry() the stack
 * pointer is 8 past a multiple of 16, as after a call. */
static void *first_frame(char *top, void (*entry)(void))
{
    uint64_t *frame = (uint64_t *)(void *)(top - 64);
    memset(frame, 0, 64);
    frame[6] = (uint64_t)(uintptr_t)entry;
    return frame;
}

#elif defined(__aarch64__)

void sim_switch_stack(void **save, void *to);
__asm__(".text\n"
        ".globl sim_switch_stack\n"
        ".hidden sim_switch_stack\n"
        ".type sim_switch_stack, %function\n"
        "sim_switch_stack:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size sim_switch_stack, . - sim_switch_stack\n");

static void *first_frame(char *top, void (*entry)(void))
{
    uint64_t *frame = (uint64_t *)(void *)(top - 160);
    memset(frame, 0, 160);
    frame[11] = (uint64_t)(uintptr_t)entry; /* x30 */
    return frame;
}

#else

#    include <ucontext.h>
#    define SIM_UCONTEXT 1

#endif

void coroutine_begin(struct coroutine *c, void (*entry)(void), size_t stagger)
{
    stagger = stagger * 192 % 4032 / 16 * 16;
#ifdef SIM_ASAN
    __asan_unpoison_memory_region(c->stack, c->bytes); /* a failed launch leaves frames behind */
    c->fake_stack = NULL;
#endif
#ifdef SIM_UCONTEXT
    if (!c->resume)
        c->resume = calloc(1, sizeof(ucontext_t));
    ucontext_t *u = c->resume;
    if (!u || getcontext(u))
        abort();
    u->uc_stack.ss_sp = c->stack;
    u->uc_stack.ss_size = c->bytes - stagger;
    u->uc_link = NULL;
    makecontext(u, entry, 0);
#else
    c->resume = first_frame(c->stack + c->bytes - stagger, entry);
#endif
}

void coroutine_switch(struct coroutine *from, struct coroutine *to)
{
#ifdef SIM_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->bytes);
#endif
#ifdef SIM_UCONTEXT
    if (!from->resume)
        from->resume = calloc(1, sizeof(ucontext_t));
    if (!from->resume || swapcontext(from->resume, to->resume))
        abort();
#else
    sim_switch_stack(&from->resume, to->resume);
#endif
#ifdef SIM_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

void coroutine_entered(struct coroutine *thread)
{
#ifdef SIM_ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &bytes);
    if (!thread->stack) {
        thread->stack = (char *)(uintptr_t)bottom;
        thread->bytes = bytes;
    }
#else
    (void)thread;
#endif
}
