/* columns.c: entries are made by all cores, a chunk at a time: in place where the context's memory is the
 * host's, else in a staging buffer from which they are copied. */
#define _XOPEN_SOURCE 700

#include "columns.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cli/parallel.h"

enum { CHUNK = 8u << 20 };

typedef struct filling {
    char *to;
    uint64_t first, n;
    unsigned bytes;
    column_entry entry;
    const void *arg;
} filling;

static void fill_share(void *user, unsigned share, unsigned shares)
{
    const filling *f = user;
    uint64_t first = parallel_first(f->n, share, shares), last = parallel_first(f->n, share + 1, shares);
    for (uint64_t i = first; i < last; i++) {
        uint64_t value = f->entry(f->arg, f->first + i);
        if (f->bytes == 8)
            ((uint64_t *)(void *)f->to)[i] = value;
        else if (f->bytes == 4)
            ((uint32_t *)(void *)f->to)[i] = (uint32_t)value;
        else
            ((uint8_t *)f->to)[i] = (uint8_t)value;
    }
}

void column_fill_host(void *to, uint64_t first, uint64_t n, unsigned bytes, column_entry entry,
                      const void *arg)
{
    filling f = {to, first, n, bytes, entry, arg};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    parallel_run(n < 65536 || cores < 1 ? 1 : (unsigned)cores, fill_share, &f);
}

cohort_status column_make(const bench_device *d, void **out, uint64_t n, unsigned bytes, column_entry entry,
                          const void *arg)
{
    cohort_status s = cohort_alloc(d->context, (n ? n : 1) * bytes, out);
    if (s)
        return s;
    if (d->cpu) {
        column_fill_host(*out, 0, n, bytes, entry, arg);
        return COHORT_OK;
    }
    char *staging = malloc((size_t)(n < CHUNK ? n + 1 : CHUNK) * bytes);
    if (!staging)
        s = COHORT_NO_MEMORY;
    for (uint64_t first = 0; first < n && !s; first += CHUNK) {
        uint64_t part = n - first < CHUNK ? n - first : CHUNK;
        column_fill_host(staging, first, part, bytes, entry, arg);
        s = cohort_copy(d->context, (char *)*out + first * bytes, staging, part * bytes);
    }
    free(staging);
    if (s) {
        cohort_free(d->context, *out);
        *out = NULL;
    }
    return s;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

column_plan column_plan_make(uint64_t n, unsigned key_bytes)
{
    return (column_plan){n, bench_step(n), key_bytes};
}

uint64_t entry_key(const void *plan, uint64_t i)
{
    return bench_key(i, ((const column_plan *)plan)->key_bytes);
}

uint64_t entry_query(const void *plan, uint64_t i)
{
    const column_plan *p = plan;
    return bench_key(bench_other(i, p->n, p->step), p->key_bytes);
}

uint64_t entry_absent(const void *plan, uint64_t i)
{
    const column_plan *p = plan;
    return bench_key(i + p->n, p->key_bytes);
}

uint64_t entry_half(const void *plan, uint64_t i)
{
    const column_plan *p = plan;
    return bench_key(bench_other(i, p->n, p->step) + (i & 1 ? p->n : 0), p->key_bytes);
}

uint64_t entry_op(const void *plan, uint64_t i)
{
    static const uint8_t mix[10] = {COHORT_OP_FIND,  COHORT_OP_INSERT, COHORT_OP_FIND,   COHORT_OP_FIND,
                                    COHORT_OP_ERASE, COHORT_OP_FIND,   COHORT_OP_INSERT, COHORT_OP_FIND,
                                    COHORT_OP_ERASE, COHORT_OP_FIND};
    (void)plan;
    return mix[bench_mix_64(i) % 10];
}

/* ---- all of one measurement ---------------------------------------------------------------------------- */

cohort_status columns_make(const bench_device *d, columns *c, uint64_t n, unsigned key_bytes)
{
    column_plan plan = column_plan_make(n, key_bytes);
    *c = (columns){.n = n, .key_bytes = key_bytes};
    const struct {
        void **out;
        unsigned bytes;
        column_entry entry;
    } made[] = {{&c->keys, key_bytes, entry_key},
                {&c->queries, key_bytes, entry_query},
                {&c->absent, key_bytes, entry_absent},
                {&c->half, key_bytes, entry_half},
                {&c->ops, 1, entry_op}};
    void **copied[] = {&c->values, &c->results,
                       &c->spare}; /* written over, or values: anything that is not zeros */
    cohort_status s = COHORT_OK;
    for (size_t i = 0; i < sizeof made / sizeof *made && !s; i++)
        s = column_make(d, made[i].out, n, made[i].bytes, made[i].entry, &plan);
    for (size_t i = 0; i < sizeof copied / sizeof *copied && !s; i++) {
        s = cohort_alloc(d->context, n * key_bytes, copied[i]);
        if (!s)
            s = cohort_copy(d->context, *copied[i], c->keys, n * key_bytes);
    }
    return s ? s : cohort_alloc(d->context, (n / 32 + 1) * 4, (void **)&c->hit);
}

void columns_free(const bench_device *d, columns *c)
{
    void *all[] = {c->keys, c->queries, c->absent, c->half, c->values, c->results, c->spare, c->ops, c->hit};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cohort_free(d->context, all[i]);
    memset(c, 0, sizeof *c);
}

const width_name bench_widths[WIDTHS] = {{"32/0", COHORT_WIDTH_32_0, 4, 0, 4},
                                         {"32/32", COHORT_WIDTH_32_32, 4, 4, 8},
                                         {"64/0", COHORT_WIDTH_64_0, 8, 0, 8},
                                         {"64/32", COHORT_WIDTH_64_32, 8, 4, 16},
                                         {"64/64", COHORT_WIDTH_64_64, 8, 8, 16}};

const width_name *bench_width(cohort_width width)
{
    for (size_t i = 0; i < WIDTHS; i++)
        if (bench_widths[i].width == width)
            return &bench_widths[i];
    return NULL;
}
