/* bulk.c: the arrays of a bulk call.
 *
 * An input that lies in another memory than the context's is copied to workspace first; an output likewise gets room there
 * and goes back when the work is done, as far as it was written. An input that an output will overwrite in place is
 * copied aside in the context's memory, and the work reads the copy: so what is not written of the output stays as it was. */
#include "bulk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/options.h"

#define ALIGNMENT 256ull

void bulk_open(struct bulk *b, cohort_context *context, const char *call)
{
    memset(b, 0, sizeof *b);
    b->context = context;
    b->call = call;
    b->kind = -1;
    b->waits = context->backend->own_memory == MEMORY_HOST;
}

struct bulk_array *bulk_array(struct bulk *b, const char *name, unsigned flags, const void *at,
                              uint64_t entries, uint64_t unit, void *own)
{
    struct bulk_array *a = &b->array[b->count++];
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

cohort_status bulk_fail(const struct bulk *b, cohort_status status, const char *format, ...)
{
    char text[480];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return context_fail(b->context, status, "%s: %s", b->call, text);
}

/* ---- what all calls have ----------------------------------------------------------------------------------------------- */

cohort_status bulk_check_n(const struct bulk *b, uint64_t n)
{
    if (n <= UINT64_MAX / 16)
        return COHORT_OK;
    return bulk_fail(b, COHORT_OVERFLOW, "n is %llu; so many entries do not fit in 64 bits of bytes",
                     (unsigned long long)n);
}

cohort_status bulk_desc(struct bulk *b, cohort_context *context, const char *call, const void *desc,
                        size_t known, void *copy)
{
    size_t size;
    if (!context || !desc)
        return context_fail(context, COHORT_NULL, "%s: %s is NULL", call, context ? "desc" : "context");
    bulk_open(b, context, call);
    memcpy(&size, desc, sizeof size);
    return options_check(context, "desc", desc, size, known, known, copy);
}

cohort_status bulk_check_permutation(const struct bulk *b, uint64_t n, const void *permutation,
                                     uint32_t *bytes)
{
    if (!*bytes)
        *bytes = 4;
    if (*bytes != 4 && *bytes != 8)
        return bulk_fail(b, COHORT_RANGE, "desc.permutation_bytes is %u; it must be 4 or 8", *bytes);
    if (permutation && *bytes == 4 && n > 1ull << 32)
        return bulk_fail(b, COHORT_RANGE, "desc.permutation_bytes is 4; indices of n = %llu entries need 8",
                         (unsigned long long)n);
    return COHORT_OK;
}

void bulk_workspace(struct bulk *b, void *workspace, uint64_t bytes)
{
    struct bulk_array *a =
        bulk_array(b, "desc.workspace", BULK_OUT | BULK_OPTIONAL | BULK_EITHER, workspace, bytes, 1, NULL);
    a->align = ALIGNMENT;
    b->workspace = workspace;
    b->workspace_bytes = workspace ? bytes : 0;
}

cohort_status bulk_columns(struct bulk *b, uint64_t n, uint32_t columns, const cohort_column *column,
                           struct split_column *own, enum bulk_written written, unsigned flags)
{
    if (columns > COHORT_COLUMNS_MOST)
        return bulk_fail(b, COHORT_RANGE, "desc.columns is %u; there are at most %u", columns,
                         COHORT_COLUMNS_MOST);
    if (columns && !column)
        return bulk_fail(b, COHORT_NULL, "desc.column is NULL with desc.columns = %u", columns);
    for (uint32_t i = 0; i < columns; i++) {
        uint32_t bytes = column[i].bytes;
        if (!bytes || bytes > 16 || (bytes & (bytes - 1)))
            return bulk_fail(b, COHORT_RANGE, "desc.column[%u].bytes is %u; it must be 1, 2, 4, 8 or 16", i,
                             bytes);
        own[i].bytes = bytes;
        struct bulk_array *in =
            bulk_array(b, "desc.column[%d].in", BULK_IN, column[i].in, n, bytes, &own[i].in);
        in->number = (int)i;
        int from = bulk_last(b);
        struct bulk_array *out =
            bulk_array(b, "desc.column[%d].out", BULK_OUT | flags, column[i].out, n, bytes, &own[i].out);
        out->number = (int)i;
        out->from = from;
        out->written = written;
    }
    return COHORT_OK;
}

cohort_status bulk_segments(struct bulk *b, uint64_t segments, const uint64_t *offsets, const co_u64 **own)
{
    if (segments > UINT64_MAX / 16)
        return bulk_fail(b, COHORT_OVERFLOW,
                         "desc.segments is %llu; so many offsets do not fit in 64 bits of bytes",
                         (unsigned long long)segments);
    if (segments)
        bulk_array(b, "desc.segment_offsets", BULK_IN | BULK_EITHER, offsets, segments + 1, 8, own);
    return COHORT_OK;
}

cohort_status bulk_check_segments(const struct bulk *b, uint64_t n, uint64_t segments,
                                  const uint64_t *offsets)
{
    if (!segments || b->context->backend->memory_kind(b->context, offsets) != MEMORY_HOST)
        return COHORT_OK;
    if (offsets[0])
        return bulk_fail(b, COHORT_RANGE, "desc.segment_offsets[0] is %llu; it must be 0",
                         (unsigned long long)offsets[0]);
    for (uint64_t i = 0; i < segments; i++)
        if (offsets[i + 1] < offsets[i])
            return bulk_fail(b, COHORT_RANGE,
                             "desc.segment_offsets[%llu] is %llu, less than the one before, %llu",
                             (unsigned long long)i + 1, (unsigned long long)offsets[i + 1],
                             (unsigned long long)offsets[i]);
    if (offsets[segments] != n)
        return bulk_fail(b, COHORT_RANGE, "desc.segment_offsets[%llu], the last, is %llu; it must be n, %llu",
                         (unsigned long long)segments, (unsigned long long)offsets[segments],
                         (unsigned long long)n);
    return COHORT_OK;
}

/* ---- checks ------------------------------------------------------------------------------------------------------------ */

struct name {
    char text[48];
};

static struct name name_of(const struct bulk_array *a)
{
    struct name name;
    snprintf(name.text, sizeof name.text, a->name, a->number);
    return name;
}

static uint64_t bytes_of(const struct bulk_array *a)
{
    return a->at ? a->entries * a->unit : 0;
}

static cohort_status check_pointer(struct bulk *b, struct bulk_array *a)
{
    const struct backend *backend = b->context->backend;
    uintptr_t at = (uintptr_t)a->at;
    struct name name = name_of(a);
    if (!a->at) {
        if (a->entries && !(a->flags & BULK_OPTIONAL))
            return bulk_fail(b, COHORT_NULL, "%s is NULL with %llu entries", name.text,
                             (unsigned long long)a->entries);
        return COHORT_OK;
    }
    if (a->align && at % a->align)
        return bulk_fail(b, COHORT_BAD_POINTER, "%s is %p, which is not aligned to %u bytes", name.text,
                         a->at, a->align);
    if (!a->entries)
        return COHORT_OK;
    if (bytes_of(a) > UINTPTR_MAX - at)
        return bulk_fail(b, COHORT_OVERFLOW, "%s is %p; the end of its %llu bytes does not fit in 64 bits",
                         name.text, a->at, (unsigned long long)bytes_of(a));
    a->kind = backend->memory_kind(b->context, a->at);
    if (a->kind == MEMORY_BAD || (a->kind == MEMORY_DEVICE && backend->own_memory == MEMORY_HOST))
        return bulk_fail(b, COHORT_BAD_POINTER, "%s is %p, which is memory of another device", name.text,
                         a->at);
    if (a->kind != backend->own_memory && a->at == b->workspace)
        return bulk_fail(b, COHORT_BAD_POINTER, "%s is %p, which is not memory of the context", name.text,
                         a->at);
    if (a->kind != backend->own_memory)
        b->waits = 1;
    if (a->flags & BULK_EITHER)
        return COHORT_OK;
    if (b->kind >= 0 && (int)a->kind != b->kind)
        return bulk_fail(b, COHORT_BAD_POINTER,
                         "%s is %p, %s memory, and arrays before it are not; all must be of one kind",
                         name.text, a->at, a->kind == MEMORY_HOST ? "host" : "device");
    b->kind = (int)a->kind;
    return COHORT_OK;
}

/* Of an output that may be short it is known that its first entry is its own. */
static uint64_t certain_bytes(const struct bulk_array *a)
{
    return a->flags & BULK_PARTLY && bytes_of(a) ? a->unit : bytes_of(a);
}

static int overlap(const struct bulk_array *a, const struct bulk_array *b)
{
    uintptr_t x = (uintptr_t)a->at, y = (uintptr_t)b->at;
    uint64_t a_bytes = certain_bytes(a), b_bytes = certain_bytes(b);
    return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

static int is_in_place(const struct bulk *b, const struct bulk_array *out)
{
    return out->from >= 0 && out->at && out->entries && b->array[out->from].at == out->at;
}

static cohort_status check_overlap(const struct bulk *b)
{
    for (int i = 0; i < b->count; i++) {
        const struct bulk_array *out = &b->array[i];
        if (!(out->flags & BULK_OUT))
            continue;
        for (int j = 0; j < b->count; j++) {
            const struct bulk_array *other = &b->array[j];
            if (i == j || (other->flags & BULK_OUT && j > i) || (j == out->from && is_in_place(b, out)) ||
                !overlap(out, other))
                continue;
            return bulk_fail(b, COHORT_RANGE, "%s, %p, overlaps %s, %p", name_of(out).text, out->at,
                             name_of(other).text, other->at);
        }
    }
    return COHORT_OK;
}

cohort_status bulk_check(struct bulk *b)
{
    cohort_status status = COHORT_OK;
    for (int i = 0; i < b->count && !status; i++)
        status = check_pointer(b, &b->array[i]);
    return status ? status : check_overlap(b);
}

/* ---- staging ----------------------------------------------------------------------------------------------------------- */

/* Marks the inputs that outputs take the place of, and says how many bytes they are. */
static uint64_t find_in_place(struct bulk *b)
{
    uint64_t sum = 0;
    for (int i = 0; i < b->count; i++) {
        struct bulk_array *from = &b->array[b->array[i].from < 0 ? i : b->array[i].from];
        if (!is_in_place(b, &b->array[i]) || from->in_place)
            continue;
        from->in_place = 1;
        sum = workspace_with(sum, bytes_of(from));
    }
    return sum;
}

/* The backend decides by the pointers that the caller gave, so that the answer does not depend on where arrays are staged. */
static cohort_status ask(struct bulk *b, uint64_t *need, uint64_t *in_place)
{
    for (int i = 0; i < b->count; i++)
        if (b->array[i].own)
            memcpy(b->array[i].own, &b->array[i].at, sizeof b->array[i].at);
    *need = 0;
    *in_place = find_in_place(b);
    cohort_status status = b->enter(b->context, b->step, need);
    *need = workspace_with(0, *need);
    return status;
}

cohort_status bulk_need(struct bulk *b, uint64_t *bytes)
{
    uint64_t need, in_place;
    cohort_status status = ask(b, &need, &in_place);
    *bytes = status ? 0 : workspace_with(need, in_place);
    return status;
}

/* Makes an array ready in the context's memory; *workspace is what is left of it for copies in place. */
static cohort_status stage(struct bulk *b, struct bulk_array *a, char **workspace)
{
    const struct backend *backend = b->context->backend;
    const void *own = a->at;
    cohort_status status = COHORT_OK;
    uint64_t bytes = bytes_of(a);
    if (bytes && a->kind != backend->own_memory) {
        status = pool_take(b->context, bytes, &a->copy);
        own = a->copy;
    } else if (bytes && a->in_place) {
        own = *workspace;
        *workspace += workspace_with(0, bytes);
    }
    if (!status && own != a->at && a->flags & BULK_IN)
        status = backend->copy(b->context, (void *)(uintptr_t)own, a->at, bytes);
    if (a->own)
        memcpy(a->own, &own, sizeof own);
    return status;
}

static cohort_status take_workspace(struct bulk *b, uint64_t bytes, char **out)
{
    void *memory = (void *)(uintptr_t)b->workspace;
    if (memory && b->workspace_bytes < bytes)
        return bulk_fail(b, COHORT_RANGE, "desc.workspace_bytes is %llu; this call needs %llu",
                         (unsigned long long)b->workspace_bytes, (unsigned long long)bytes);
    if (!memory && bytes) {
        cohort_status status = pool_take(b->context, bytes, &b->taken);
        if (status)
            return status;
        memory = b->taken;
    }
    *b->step_workspace = *out = memory;
    return COHORT_OK;
}

cohort_status bulk_begin(struct bulk *b)
{
    struct outcome *outcome = b->context->outcome;
    uint64_t need, in_place;
    char *rest = NULL;
    cohort_status status = ask(b, &need, &in_place);
    if (!status)
        status = take_workspace(b, need + in_place, &rest);
    if (status)
        return status;
    rest = rest ? rest + need : NULL;
    for (int i = 0; i < b->count && !status; i++)
        status = stage(b, &b->array[i], &rest);
    if (!status && b->step_bad) {
        *b->step_bad = b->waits ? &outcome->now : &outcome->ids;
        if (b->waits)
            status = b->context->backend->fill(b->context, &outcome->now, 0xff, sizeof outcome->now);
    }
    return status;
}

static cohort_status bring_back(const struct bulk *b, const struct bulk_array *a, const uint64_t *written)
{
    if (!a->copy || !(a->flags & BULK_OUT))
        return COHORT_OK;
    uint64_t entries = a->written == BULK_ALL || !written ? a->entries : written[a->written];
    return b->context->backend->copy(b->context, (void *)(uintptr_t)a->at, a->copy, entries * a->unit);
}

/* The first bad id, of a call that waits; ~0 if there is none. */
static cohort_status first_bad(const struct bulk *b, co_u64 *first)
{
    struct map_deferred seen = {~0ull, ~0ull};
    cohort_status status = COHORT_OK;
    if (b->step_bad)
        status = b->context->backend->copy(b->context, &seen, &b->context->outcome->now, sizeof seen);
    else
        status = b->context->backend->wait(b->context);
    *first = seen.first_bad;
    return status;
}

cohort_status bulk_end(struct bulk *b, cohort_status status, const uint64_t *written)
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
        return bulk_fail(b, COHORT_RANGE, "entry %llu is the first whose id is out of range",
                         (unsigned long long)first);
    return status;
}
