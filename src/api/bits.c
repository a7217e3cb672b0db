/* bits.c: callers' bitmaps as words, and copies of them. In the context's memory the backend copies. Host
 * memory of a GPU context is copied here, before it goes through the device and when it has come back. */
#include "api/bits.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/table.h"

/* ---- on the host --------------------------------------------------------------------------------------- */

/* From NULL: zeros. */
static void host_copy(co_u8 *to, uint64_t to_bit, const co_u8 *from, uint64_t from_bit, uint64_t n)
{
    uint64_t done = 0;
    if (to_bit % 8 == 0 && from_bit % 8 == 0) {
        done = n & ~7ull;
        if (from)
            memcpy(to + to_bit / 8, from + from_bit / 8, done / 8);
        else
            memset(to + to_bit / 8, 0, done / 8);
    }
    for (unsigned count; done < n; done += count) {
        count = n - done < 32 ? (unsigned)(n - done) : 32;
        bits_put(to, to_bit + done, count, from ? bits_get(from, from_bit + done, count) : 0);
    }
}

static int by_backend(const struct bits *b)
{
    return b->memory == b->context->backend->own_memory;
}

static cohort_status copy(const struct bits *b, co_u8 *to, uint64_t to_bit, const co_u8 *from,
                          uint64_t from_bit)
{
    if (by_backend(b) && b->words != b->few)
        return b->context->backend->table->copy_bits(b->context, to, to_bit, from, from_bit, b->n);
    host_copy(to, to_bit, from, from_bit, b->n);
    return COHORT_OK;
}

/* ---- begin and end ------------------------------------------------------------------------------------- */

unsigned bits_of_maps(const cohort_context *context)
{
    return context->backend->own_memory == MEMORY_HOST ? BITS_WHOLE : 0;
}

uint64_t bits_room(const void *at, uint64_t offset, uint64_t n, unsigned flags)
{
    const int words = ((uintptr_t)at + offset / 8) % 4 == 0 && offset % 8 == 0;
    if (!at || !n || (words && (n % 32 == 0 || !(flags & BITS_WHOLE))))
        return 0;
    return batch_bitmap_words(n) * 4;
}

static cohort_status take(struct bits *b, uint64_t bytes, void *room)
{
    cohort_status s = COHORT_OK;
    if (!room && b->memory == MEMORY_HOST && bytes <= sizeof b->few) {
        room = b->few;
    } else if (!room && by_backend(b)) {
        s = pool_take(b->context, bytes, &b->pooled);
        room = b->pooled;
    } else if (!room) {
        room = b->own = malloc(bytes);
        if (!room)
            s = context_fail(b->context, COHORT_NO_MEMORY, "no host memory for a bitmap of %llu entries",
                             (unsigned long long)b->n);
    }
    b->words = room;
    return s;
}

/* What the copy does not write of the last word. */
static cohort_status clear_last(const struct bits *b)
{
    co_u32 *last = b->words + batch_bitmap_words(b->n) - 1;
    if (by_backend(b))
        return context_fill(b->context, last, 0, sizeof *last);
    *last = 0;
    return COHORT_OK;
}

cohort_status bits_open(struct bits *b, cohort_context *context, enum memory_kind memory, const void *at,
                        uint64_t offset, uint64_t n, unsigned flags, void *room)
{
    const uint64_t bytes = bits_room(at, offset, n, flags);
    memset(b, 0, offsetof(struct bits, few));
    b->context = context;
    b->memory = memory;
    b->flags = flags;
    if (!at || !n)
        return COHORT_OK;
    b->at = (co_u8 *)(uintptr_t)at + offset / 8;
    b->bit = offset % 8;
    b->n = n;
    b->words = (co_u32 *)(void *)b->at;
    if (!bytes)
        return COHORT_OK;
    cohort_status s = take(b, bytes, room);
    if (!s && flags & BITS_WHOLE && !(flags & BITS_OUT) && n % 32)
        s = clear_last(b);
    return s || flags & BITS_OUT ? s : copy(b, (co_u8 *)b->words, 0, b->at, b->bit);
}

cohort_status bits_close(struct bits *b, cohort_status status, int written)
{
    cohort_status s = COHORT_OK;
    if (!b->context)
        return status;
    if (written && b->n && b->flags & BITS_OUT && (void *)b->words != (void *)b->at)
        s = copy(b, b->at, b->bit, (const co_u8 *)b->words, 0);
    pool_give(b->context, b->pooled);
    free(b->own);
    memset(b, 0, offsetof(struct bits, few));
    return status ? status : s;
}

cohort_status bits_clear(cohort_context *context, enum memory_kind memory, void *at, uint64_t offset,
                         uint64_t n)
{
    if (memory == context->backend->own_memory)
        return context->backend->table->clear_bits(context, at, offset, n);
    host_copy(at, offset, NULL, 0, n);
    return COHORT_OK;
}
