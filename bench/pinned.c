/* pinned.c: pageable memory is the C library's; pinned and managed memory come from libcuda.so.1, opened here
 * as a user of the library would do it, in the primary context of device 0, which the library uses too. */
#define _XOPEN_SOURCE 700

#include "pinned.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct driver {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*push)(void *);
    int (*pop)(void **);
    int (*host_alloc)(void **, size_t, unsigned);
    int (*host_free)(void *);
    int (*managed_alloc)(uintptr_t *, size_t, unsigned);
    int (*managed_free)(uintptr_t);
    void *context;
} driver;

static int driver_symbol(void *library, const char *name, void *to)
{
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol); /* ISO C has no cast from an object's to a function's pointer */
    return symbol != NULL;
}

/* Opened once, and kept until the program ends. */
static driver *driver_open(void)
{
    static driver d;
    static int tried;
    void *library = tried++ ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return d.context ? &d : NULL;
    if (!driver_symbol(library, "cuInit", &d.init) ||
        !driver_symbol(library, "cuDevicePrimaryCtxRetain", &d.retain) ||
        !driver_symbol(library, "cuCtxPushCurrent_v2", &d.push) ||
        !driver_symbol(library, "cuCtxPopCurrent_v2", &d.pop) ||
        !driver_symbol(library, "cuMemHostAlloc", &d.host_alloc) ||
        !driver_symbol(library, "cuMemFreeHost", &d.host_free) ||
        !driver_symbol(library, "cuMemAllocManaged", &d.managed_alloc) ||
        !driver_symbol(library, "cuMemFree_v2", &d.managed_free))
        return NULL;
    if (d.init(0) || d.retain(&d.context, 0))
        d.context = NULL;
    return d.context ? &d : NULL;
}

void *memory_take(memory_kind kind, uint64_t bytes)
{
    if (kind == MEMORY_PAGEABLE)
        return malloc(bytes);
    driver *d = driver_open();
    void *memory = NULL, *old;
    uintptr_t address = 0;
    if (!d || d->push(d->context))
        return NULL;
    if (kind == MEMORY_PINNED && d->host_alloc(&memory, bytes, 1)) /* 1: for all contexts */
        memory = NULL;
    if (kind == MEMORY_MANAGED && !d->managed_alloc(&address, bytes, 1)) /* 1: for all streams */
        memory = (void *)address;
    d->pop(&old);
    return memory;
}

void memory_give(memory_kind kind, void *memory)
{
    if (kind == MEMORY_PAGEABLE || !memory) {
        free(memory);
        return;
    }
    driver *d = driver_open();
    void *old;
    if (!d || d->push(d->context))
        return;
    if (kind == MEMORY_PINNED)
        d->host_free(memory);
    else
        d->managed_free((uintptr_t)memory);
    d->pop(&old);
}
