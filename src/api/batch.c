/* batch.c: the arrays of a call on a batch.
 *
 * An input that lies in another memory than the context's is copied to workspace first. An output likewise
 * gets room there, and goes back when the work is done, as far as it was written. An input that an output
 * will overwrite in place is copied aside in the context's memory, and the work reads the copy: so what is
 * not written of the output stays as it was. Bitmaps go to the backend as words (api/bits.h); where a
 * bitmap is not made of aligned words, workspace is taken for a copy that is. */
#include "api/batch.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/options.h"

#define ALIGNMENT 256ull

void batch_open(struct batch *b, cohort_context *context, const char *call)
{
    memset(b, 0, offsetof(struct batch, array));
    b->context = context;
    b->call = call;
    b->kind = -1;
    b->waits = context->backend->own_memory == MEMORY_HOST;
}

struct batch_array *batch_array(struct batch *b, const char *name, unsigned flags, const void *at,
                                uint64_t entries, uint64_t unit, void *own)
{
    struct batch_array *a = &b->array[b->count++];
    memset(a, 0, sizeof *a);
    a->name = name;
    a->flags = flags;
    a->at = at;
    a->entries = entries;
    a->unit = unit;
    a->align = (uint32_t)unit;
    a->from = -1;
    a->own = own;
    return a;
}

struct batch_array *batch_bitmap(struct batch *b, const char *name, unsigned flags, const void *at,
                                 uint64_t offset, uint64_t n, void *own)
{
    const char *first = at ? (const char *)at + offset / 8 : NULL;
    struct batch_array *a = batch_array(b, name, flags, first, bits_bytes(offset % 8, n), 1, own);
    a->n = n;
    a->bit = offset % 8;
    a->bits_flags = flags & BATCH_OUT ? BITS_OUT : 0;
    return a;
}

cohort_status batch_fail(const struct batch *b, cohort_status status, const char *format, ...)
{
    char text[480];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return context_fail(b->context, status, "%s: %s", b->call, text);
}

/* ---- what all calls have ------------------------------------------------------------------------------- */

cohort_status batch_check_n(const struct batch *b, uint64_t n)
{
    if (n <= UINT64_MAX / 16)
        return COHORT_OK;
    return batch_fail(b, COHORT_OVERFLOW, "n is %llu; so many entries do not fit in 64 bits of bytes",
                      (unsigned long long)n);
}

cohort_status batch_named(struct batch *b, cohort_context *context, const char *call, const char *name,
                          const void *desc, size_t known, void *copy)
{
    size_t size;
    if (!context || !desc)
        return context_fail(context, COHORT_NULL, "%s: %s is NULL", call, context ? name : "context");
    batch_open(b, context, call);
    memcpy(&size, desc, sizeof size);
    return options_check(context, name, desc, size, known, known, copy);
}

cohort_status batch_desc(struct batch *b, cohort_context *context, const char *call, const void *desc,
                         size_t known, void *copy)
{
    return batch_named(b, context, call, "desc", desc, known, copy);
}

cohort_status batch_check_permutation(const struct batch *b, uint64_t n, const void *permutation,
                                      uint32_t *bytes)
{
    if (!*bytes)
        *bytes = 4;
    if (*bytes != 4 && *bytes != 8)
        return batch_fail(b, COHORT_RANGE, "desc.permutation_bytes is %u; it must be 4 or 8", *bytes);
    if (permutation && *bytes == 4 && n > 1ull << 32)
        return batch_fail(b, COHORT_RANGE, "desc.permutation_bytes is 4; indices of n = %llu entries need 8",
                          (unsigned long long)n);
    return COHORT_OK;
}

void batch_workspace(struct batch *b, void *workspace, uint64_t bytes)
{
    struct batch_array *a = batch_array(b, "desc.workspace", BATCH_OUT | BATCH_OPTIONAL | BATCH_EITHER,
                                        workspace, bytes, 1, NULL);
    a->align = ALIGNMENT;
    b->workspace = workspace;
    b->workspace_bytes = workspace ? bytes : 0;
}

cohort_status batch_check_type(const struct batch *b, const char *name, cohort_type type, uint32_t types,
                               const char *allowed, uint32_t *bytes)
{
    static const unsigned char each[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
    if ((int)type < COHORT_U8 || (int)type > COHORT_F64)
        return batch_fail(b, COHORT_RANGE, "%s is %d; there are %d (COHORT_U8) to %d (COHORT_F64)", name,
                          (int)type, COHORT_U8, COHORT_F64);
    if (!(types & BATCH_TYPE(type)))
        return batch_fail(b, COHORT_UNSUPPORTED, "%s is %d; it must be %s", name, (int)type, allowed);
    *bytes = each[type];
    return COHORT_OK;
}

cohort_status batch_columns(struct batch *b, uint64_t n, uint32_t columns, const cohort_payload *column,
                            struct batch_column *own, enum batch_written written, unsigned flags)
{
    if (columns > COHORT_PAYLOADS_MOST)
        return batch_fail(b, COHORT_RANGE, "desc.payloads is %u; there are at most %u", columns,
                          COHORT_PAYLOADS_MOST);
    if (columns && !column)
        return batch_fail(b, COHORT_NULL, "desc.payload is NULL with desc.payloads = %u", columns);
    for (uint32_t i = 0; i < columns; i++) {
        uint32_t bytes = column[i].bytes;
        if (!bytes || bytes > 16 || (bytes & (bytes - 1)))
            return batch_fail(b, COHORT_RANGE, "desc.payload[%u].bytes is %u; it must be 1, 2, 4, 8 or 16", i,
                              bytes);
        if (column[i].reserved)
            return batch_fail(b, COHORT_RANGE, "desc.payload[%u].reserved is %u; it must be 0", i,
                              column[i].reserved);
        own[i].bytes = bytes;
        struct batch_array *in =
            batch_array(b, "desc.payload[%d].in", BATCH_IN, column[i].in, n, bytes, &own[i].in);
        in->number = (int)i;
        int from = batch_last(b);
        struct batch_array *out =
            batch_array(b, "desc.payload[%d].out", BATCH_OUT | flags, column[i].out, n, bytes, &own[i].out);
        out->number = (int)i;
        out->from = from;
        out->written = written;
    }
    return COHORT_OK;
}

cohort_status batch_segments(struct batch *b, uint64_t segments, const uint64_t *offsets, const co_u64 **own)
{
    if (segments > UINT64_MAX / 16)
        return batch_fail(b, COHORT_OVERFLOW,
                          "desc.segments is %llu; so many offsets do not fit in 64 bits of bytes",
                          (unsigned long long)segments);
    if (segments)
        batch_array(b, "desc.segment_offsets", BATCH_IN | BATCH_EITHER, offsets, segments + 1, 8, own);
    return COHORT_OK;
}

cohort_status batch_check_segments(const struct batch *b, uint64_t n, uint64_t segments,
                                   const uint64_t *offsets)
{
    if (!segments || context_memory_kind(b->context, offsets) != MEMORY_HOST)
        return COHORT_OK;
    if (offsets[0])
        return batch_fail(b, COHORT_RANGE, "desc.segment_offsets[0] is %llu; it must be 0",
                          (unsigned long long)offsets[0]);
    for (uint64_t i = 0; i < segments; i++)
        if (offsets[i + 1] < offsets[i])
            return batch_fail(b, COHORT_RANGE,
                              "desc.segment_offsets[%llu] is %llu, less than the one before, %llu",
                              (unsigned long long)i + 1, (unsigned long long)offsets[i + 1],
                              (unsigned long long)offsets[i]);
    if (offsets[segments] != n)
        return batch_fail(
            b, COHORT_RANGE, "desc.segment_offsets[%llu], the last, is %llu; it must be n, %llu",
            (unsigned long long)segments, (unsigned long long)offsets[segments], (unsigned long long)n);
    return COHORT_OK;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

struct name {
    char text[48];
};

static struct name name_of(const struct batch_array *a)
{
    struct name name;
    snprintf(name.text, sizeof name.text, a->name, a->number);
    return name;
}

static uint64_t bytes_of(const struct batch_array *a)
{
    return a->at ? a->entries * a->unit : 0;
}

static cohort_status check_pointer(struct batch *b, struct batch_array *a)
{
    const struct backend *backend = b->context->backend;
    uintptr_t at = (uintptr_t)a->at;
    if (!a->at) {
        if (a->entries && !(a->flags & BATCH_OPTIONAL))
            return batch_fail(b, COHORT_NULL, "%s is NULL with %llu entries", name_of(a).text,
                              (unsigned long long)(a->n ? a->n : a->entries));
        return COHORT_OK;
    }
    if (a->align && at % a->align)
        return batch_fail(b, COHORT_BAD_POINTER, "%s is %p, which is not aligned to %u bytes",
                          name_of(a).text, a->at, a->align);
    if (!a->entries)
        return COHORT_OK;
    if (bytes_of(a) > UINTPTR_MAX - at)
        return batch_fail(b, COHORT_OVERFLOW, "%s is %p; the end of its %llu bytes does not fit in 64 bits",
                          name_of(a).text, a->at, (unsigned long long)bytes_of(a));
    a->kind = context_memory_kind(b->context, a->at);
    if (a->kind == MEMORY_BAD || (a->kind == MEMORY_DEVICE && backend->own_memory == MEMORY_HOST))
        return batch_fail(b, COHORT_BAD_POINTER, "%s is %p, which is memory of another device",
                          name_of(a).text, a->at);
    if (a->kind != backend->own_memory && a->at == b->workspace)
        return batch_fail(b, COHORT_BAD_POINTER, "%s is %p, which is not memory of the context",
                          name_of(a).text, a->at);
    if (a->kind != backend->own_memory)
        b->waits = 1;
    if (a->flags & BATCH_EITHER)
        return COHORT_OK;
    if (b->kind >= 0 && (int)a->kind != b->kind)
        return batch_fail(b, COHORT_BAD_POINTER,
                          "%s is %p, %s memory, and arrays before it are not; all must be of one kind",
                          name_of(a).text, a->at, a->kind == MEMORY_HOST ? "host" : "device");
    b->kind = (int)a->kind;
    return COHORT_OK;
}

/* Of an output that may be short it is known that its first entry is its own. */
static uint64_t certain_bytes(const struct batch_array *a)
{
    return a->flags & BATCH_PARTLY && bytes_of(a) ? a->unit : bytes_of(a);
}

static int overlap(const struct batch_array *a, const struct batch_array *b)
{
    uintptr_t x = (uintptr_t)a->at, y = (uintptr_t)b->at;
    uint64_t a_bytes = certain_bytes(a), b_bytes = certain_bytes(b);
    return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

static int is_in_place(const struct batch *b, const struct batch_array *out)
{
    return out->from >= 0 && out->at && out->entries && b->array[out->from].at == out->at;
}

static cohort_status check_overlap(const struct batch *b)
{
    for (int i = 0; i < b->count; i++) {
        const struct batch_array *out = &b->array[i];
        if (!(out->flags & BATCH_OUT) || !certain_bytes(out))
            continue;
        for (int j = 0; j < b->count; j++) {
            const struct batch_array *other = &b->array[j];
            if (i == j || (other->flags & BATCH_OUT && j > i) || (j == out->from && is_in_place(b, out)) ||
                !overlap(out, other))
                continue;
            return batch_fail(b, COHORT_RANGE, "%s, %p, overlaps %s, %p", name_of(out).text, out->at,
                              name_of(other).text, other->at);
        }
    }
    return COHORT_OK;
}

cohort_status batch_check_memory(struct batch *b)
{
    cohort_status status = COHORT_OK;
    for (int i = 0; i < b->count && !status; i++)
        status = check_pointer(b, &b->array[i]);
    return status;
}

cohort_status batch_check(struct batch *b)
{
    cohort_status status = batch_check_memory(b);
    return status ? status : check_overlap(b);
}

/* ---- staging ------------------------------------------------------------------------------------------- */

/* The bytes of the words that a bitmap goes to the backend as; 0: its own, or it is no bitmap. */
static uint64_t words_of(const struct batch_array *a)
{
    return a->own && a->n ? bits_room(a->at, a->bit, a->n, a->bits_flags) : 0;
}

/* Marks the inputs that outputs take the place of, and says how many bytes they and the words of bitmaps
 * are. */
static uint64_t find_copies(struct batch *b)
{
    uint64_t sum = 0;
    for (int i = 0; i < b->count; i++)
        sum = arena_with(sum, words_of(&b->array[i]));
    for (int i = 0; i < b->count; i++) {
        struct batch_array *from = &b->array[b->array[i].from < 0 ? i : b->array[i].from];
        if (!is_in_place(b, &b->array[i]) || from->in_place)
            continue;
        from->in_place = 1;
        sum = arena_with(sum, bytes_of(from));
    }
    return sum;
}

/* The backend decides by the pointers that the caller gave, so that the answer does not depend on where
 * arrays are staged. */
static cohort_status ask(struct batch *b, uint64_t *need, uint64_t *copies)
{
    for (int i = 0; i < b->count; i++)
        if (b->array[i].own)
            memcpy(b->array[i].own, &b->array[i].at, sizeof b->array[i].at);
    struct arena arena = {.asks = 1};
    *copies = find_copies(b);
    cohort_status status = b->enter ? b->enter(b->context, b->step, &arena) : COHORT_OK;
    *need = arena.used;
    return status;
}

cohort_status batch_need(struct batch *b, uint64_t *bytes)
{
    uint64_t need, copies;
    cohort_status status = ask(b, &need, &copies);
    *bytes = status ? 0 : arena_with(need, copies);
    return status;
}

/* Of a bitmap that lies elsewhere and is written, the bits before its first one, in the same byte, are
 * fetched. */
static cohort_status stage_bits(struct batch *b, struct batch_array *a, char **workspace)
{
    const enum memory_kind memory = b->context->backend->own_memory;
    const uint64_t bytes = words_of(a);
    const void *at = a->at;
    cohort_status status = COHORT_OK;
    if (a->kind != memory) {
        const uint64_t come = a->flags & BATCH_IN ? bytes_of(a) : a->bit != 0;
        status = pool_take(b->context, bytes_of(a), &a->copy);
        at = a->copy;
        if (!status && come)
            status = context_copy(b->context, a->copy, a->at, come);
    }
    if (status)
        return status;
    status =
        bits_open(&a->bits, b->context, memory, at, a->bit, a->n, a->bits_flags, bytes ? *workspace : NULL);
    if (bytes)
        *workspace += arena_with(0, bytes);
    memcpy(a->own, &a->bits.words, sizeof a->bits.words);
    return status;
}

/* Makes an array ready in the context's memory; *workspace is what is left of it for copies in it. */
static cohort_status stage(struct batch *b, struct batch_array *a, char **workspace)
{
    if (a->own && a->at && a->n)
        return stage_bits(b, a, workspace);
    const struct backend *backend = b->context->backend;
    const void *own = a->at;
    cohort_status status = COHORT_OK;
    uint64_t bytes = bytes_of(a);
    if (bytes && a->own && a->kind != backend->own_memory) {
        status = pool_take(b->context, bytes, &a->copy);
        own = a->copy;
    } else if (bytes && a->in_place) {
        own = *workspace;
        *workspace += arena_with(0, bytes);
    }
    if (!status && own != a->at && a->flags & BATCH_IN)
        status = context_copy(b->context, (void *)(uintptr_t)own, a->at, bytes);
    if (a->own)
        memcpy(a->own, &own, sizeof own);
    return status;
}

static cohort_status take_workspace(struct batch *b, uint64_t bytes)
{
    void *memory = (void *)(uintptr_t)b->workspace;
    if (memory && b->workspace_bytes < bytes)
        return batch_fail(b, COHORT_RANGE, "desc.workspace_bytes is %llu; this call needs %llu",
                          (unsigned long long)b->workspace_bytes, (unsigned long long)bytes);
    if (!memory && bytes) {
        cohort_status status = pool_take(b->context, bytes, &b->taken);
        if (status)
            return status;
        memory = b->taken;
    }
    b->arena.memory = memory;
    return COHORT_OK;
}

cohort_status batch_begin(struct batch *b)
{
    struct outcome *outcome = b->context->outcome;
    uint64_t need, copies;
    cohort_status status = ask(b, &need, &copies);
    if (!status)
        status = take_workspace(b, need + copies);
    if (status)
        return status;
    char *rest = b->arena.memory ? b->arena.memory + need : NULL;
    for (int i = 0; i < b->count && !status; i++)
        status = stage(b, &b->array[i], &rest);
    if (!status && b->step_bad) {
        *b->step_bad = b->waits ? &outcome->now : &outcome->ids;
        if (b->waits)
            status = context_fill(b->context, &outcome->now, 0xff, sizeof outcome->now);
    }
    return status;
}

static cohort_status bring_back(const struct batch *b, struct batch_array *a, const uint64_t *written)
{
    cohort_status status = bits_close(&a->bits, COHORT_OK, 1);
    if (status)
        return status;
    if (!a->copy || !(a->flags & BATCH_OUT))
        return COHORT_OK;
    uint64_t entries = a->written == BATCH_ALL || !written ? a->entries : written[a->written];
    return context_copy(b->context, (void *)(uintptr_t)a->at, a->copy, entries * a->unit);
}

/* The first bad id, of a call that waits; ~0 if there is none. */
static cohort_status first_bad(const struct batch *b, co_u64 *first)
{
    struct batch_deferred seen = {~0ull, ~0ull};
    cohort_status status = COHORT_OK;
    if (b->step_bad)
        status = context_copy(b->context, &seen, &b->context->outcome->now, sizeof seen);
    else
        status = context_wait(b->context);
    *first = seen.first_bad;
    return status;
}

cohort_status batch_end(struct batch *b, cohort_status status, const uint64_t *written)
{
    co_u64 first = ~0ull;
    for (int i = 0; i < b->count && !status; i++)
        status = bring_back(b, &b->array[i], written);
    if (!status && b->waits)
        status = first_bad(b, &first);
    for (int i = 0; i < b->count; i++)
        pool_give(b->context, b->array[i].copy);
    pool_give(b->context, b->taken);
    if (!status && first != ~0ull)
        return batch_fail(b, COHORT_RANGE, "entry %llu is the first whose id is out of range",
                          (unsigned long long)first);
    return status;
}
