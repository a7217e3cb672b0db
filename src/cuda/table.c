/* cuda/table.c: columns on a GPU: which kernel does what, and what it found; and events that others wait
 * for. */
#include "backend/table.h"

#include <stdio.h>
#include <string.h>

#include "device.h"
#include "shape/bits.h"
#include "shape/table_step.h"
#include "table.h"

/* ---- what a kernel finds ------------------------------------------------------------------------------- */

cohort_status gpu_found_begin(cohort_context *context, struct table_found **found)
{
    void *memory;
    cohort_status s = pool_take(context, sizeof **found, &memory);
    *found = s ? NULL : memory;
    if (!s)
        s = context_fill(context, &(*found)->count, 0, sizeof(*found)->count);
    if (!s)
        s = context_fill(context, &(*found)->first, 0xff, sizeof(*found)->first);
    return s;
}

cohort_status gpu_found_end(cohort_context *context, struct table_found *found, cohort_status s,
                            struct table_found *seen)
{
    if (!s)
        s = context_copy(context, seen, found, sizeof *seen);
    pool_give(context, found);
    return s;
}

static cohort_status look(cohort_context *context, const char *kernel, struct table_look *l,
                          struct table_found *seen)
{
    cohort_status s = gpu_found_begin(context, &l->found);
    if (!s)
        s = gpu_launch(context, kernel, l->rows, l);
    return gpu_found_end(context, l->found, s, seen);
}

static cohort_status cuda_table_nulls(cohort_context *context, const struct table_piece *p, co_u64 *out)
{
    struct table_look l = {.validity = p->validity, .validity_bit = p->validity_bit, .rows = p->rows};
    struct table_found seen = {0, 0};
    cohort_status s = p->validity ? look(context, "table_nulls", &l, &seen) : COHORT_OK;
    *out = seen.count;
    return s;
}

static cohort_status cuda_table_check(cohort_context *context, const struct table_column *column,
                                      const struct table_piece *p, co_u64 *first_bad)
{
    struct table_look l = {.validity = p->validity, .validity_bit = p->validity_bit, .rows = p->rows};
    struct table_found seen = {0, ~0ull};
    cohort_status s = COHORT_OK;
    if (column->is_dictionary) {
        l.index = p->data;
        l.index_bytes = column->index.bytes;
        l.values = p->dictionary->rows;
        s = look(context, "table_check_index", &l, &seen);
    }
    *first_bad = seen.first;
    return s;
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/* From the word on that has the first bit. */
static cohort_status launch_bits(cohort_context *context, void *to, co_u64 to_bit, struct table_bits *b)
{
    const uintptr_t at = (uintptr_t)to + to_bit / 8, word = at & ~(uintptr_t)3;
    b->to = (co_u32 *)word;
    b->to_bit = (at - word) * 8 + to_bit % 8;
    return b->n ? gpu_launch(context, "table_copy_bits", (b->to_bit + b->n - 1) / 32 + 1, b) : COHORT_OK;
}

static cohort_status cuda_table_copy_bits(cohort_context *context, void *to, co_u64 to_bit, const void *from,
                                          co_u64 from_bit, co_u64 n)
{
    struct table_bits b = {.from = from, .from_bit = from_bit, .n = n, .fill = ~0u};
    return launch_bits(context, to, to_bit, &b);
}

static cohort_status cuda_table_clear_bits(cohort_context *context, void *to, co_u64 to_bit, co_u64 n)
{
    struct table_bits b = {.n = n};
    if (to_bit % 8 == 0)
        return context_fill(context, (co_u8 *)to + to_bit / 8, 0, bits_bytes(0, n));
    return launch_bits(context, to, to_bit, &b);
}

static cohort_status cuda_table_rebase(cohort_context *context, void *to, co_u32 to_bytes, const void *from,
                                       const struct table_type *index, co_u64 add, co_u64 n)
{
    struct table_rebase r = {to, from, to_bytes, index->bytes, add, n};
    return gpu_launch(context, "table_rebase", n, &r);
}

static cohort_status gather_column(cohort_context *context, struct table_gather *g)
{
    static const struct table_piece none;
    const struct table_piece *p = g->column->pieces ? &g->column->piece[0] : &none;
    int bits = !g->column->is_dictionary && g->column->type.layout == TABLE_BITS;
    struct table_fetch f = {.numbers = g->rows,
                            .number_bytes = g->number_bytes,
                            .bytes = bits ? 0 : table_column_element(g->column),
                            .n = g->n,
                            .rows = table_gather_rows(g),
                            .from = p->data,
                            .from_bit = p->data_bit,
                            .validity = p->validity,
                            .validity_bit = p->validity_bit,
                            .to = g->data,
                            .to_validity = (co_u32 *)(void *)g->validity};
    struct table_found seen;
    char name[24];
    if (f.bytes <= 16 && (f.bytes & (f.bytes - 1)) == 0)
        snprintf(name, sizeof name, "table_fetch_%u", f.bytes);
    else
        strcpy(name, "table_fetch_any");
    cohort_status s = gpu_found_begin(context, &f.found);
    if (!s)
        s = gpu_launch(context, name, g->n, &f);
    s = gpu_found_end(context, f.found, s, &seen);
    g->nulls = seen.count;
    g->first_bad = seen.first;
    g->first_long = ~0ull;
    return s;
}

static cohort_status cuda_table_gather(cohort_context *context, struct table_gather *g, co_u32 columns)
{
    cohort_status s = COHORT_OK;
    for (co_u32 i = 0; !s && i < columns; i++)
        s = gather_column(context, &g[i]);
    return s;
}

/* ---- events -------------------------------------------------------------------------------------------- */

static int64_t cuda_table_device_id(cohort_context *context)
{
    return gpu_of(context)->device;
}

/* Arrow's sync_event is the address of an event. */
static cohort_status cuda_table_await(cohort_context *context, void *sync_event)
{
    struct gpu *g = gpu_of(context);
    cuda_event event;
    memcpy(&event, sync_event, sizeof event);
    cohort_status s = gpu_enter(context);
    if (s)
        return s;
    s = gpu_check(context, g->driver->stream_wait_event(g->stream, event, 0), "cuStreamWaitEvent");
    return gpu_leave(context, s);
}

static cohort_status cuda_table_event(cohort_context *context, void **sync_event)
{
    struct gpu *g = gpu_of(context);
    cuda_event *made = malloc(sizeof(cuda_event));
    cohort_status s =
        made ? gpu_enter(context) : context_fail(context, COHORT_NO_MEMORY, "no host memory for an event");
    if (s) {
        free(made);
        return s;
    }
    cuda_result r = g->driver->event_create(made, CUDA_EVENT_NO_TIMING);
    if (r == CUDA_OK && (r = g->driver->event_record(*made, g->stream)) != CUDA_OK)
        g->driver->event_destroy(*made);
    s = gpu_leave(context, gpu_check(context, r, "an array's event"));
    if (s)
        free(made);
    else
        *sync_event = made;
    return s;
}

static void cuda_table_event_free(cohort_context *context, void *sync_event)
{
    cuda_event *made = sync_event;
    if (!gpu_enter(context)) {
        gpu_of(context)->driver->event_destroy(*made);
        gpu_leave(context, COHORT_OK);
    }
    free(made);
}

const struct table_backend cuda_table_backend = {
    .device_id = cuda_table_device_id,
    .await = cuda_table_await,
    .event = cuda_table_event,
    .event_free = cuda_table_event_free,
    .nulls = cuda_table_nulls,
    .check = cuda_table_check,
    .gather = cuda_table_gather,
    .copy_bits = cuda_table_copy_bits,
    .clear_bits = cuda_table_clear_bits,
    .rebase = cuda_table_rebase,
};
