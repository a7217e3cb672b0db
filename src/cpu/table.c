/* cpu/table.c: columns on the host's threads: counting nulls, checking what came from outside, copying bits
 * and indices. */
#include "table.h"

#include "shape/bits.h"
#include "shape/table_check.h"

#define GRAIN (1u << 16) /* rows that a thread takes at a time; a multiple of 64 */

/* ---- bits ---------------------------------------------------------------------------------------------- */

struct nulls_job {
    const struct table_piece *piece;
    uint64_t nulls;
};

static void count_nulls(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct nulls_job *j = arg;
    uint64_t ones = 0;
    (void)worker;
    for (uint64_t i = begin; i < end; i += 64) {
        unsigned count = end - i < 64 ? (unsigned)(end - i) : 64;
        ones +=
            (unsigned)__builtin_popcountll(cpu_bits(j->piece->validity, j->piece->validity_bit + i, count));
    }
    __atomic_add_fetch(&j->nulls, end - begin - ones, __ATOMIC_RELAXED);
}

static cohort_status cpu_table_nulls(cohort_context *context, const struct table_piece *piece, co_u64 *out)
{
    struct nulls_job j = {piece, 0};
    if (piece->validity)
        cpu_parallel(context, piece->rows, GRAIN, count_nulls, &j);
    *out = j.nulls;
    return COHORT_OK;
}

/* Words of 8 bytes of `to`, counted from its address, are written by one thread each. */
struct bits_job {
    uint8_t *to;
    uint64_t to_bit, from_bit, n;
    const uint8_t *from; /* NULL: all are as those of `fill` */
    uint64_t fill;
};

static void put_bits(uint8_t *to, uint64_t at, unsigned count, uint64_t bits)
{
    if (count == 64) {
        memcpy(to + at / 8, &bits, 8);
        return;
    }
    bits_put(to, at, count < 32 ? count : 32, (co_u32)bits);
    if (count > 32)
        bits_put(to, at + 32, count - 32, (co_u32)(bits >> 32));
}

/* Word by word, as far as a word is of the copy. */
static void copy_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct bits_job *j = arg;
    const uint64_t all = j->to_bit + j->n;
    (void)worker;
    for (uint64_t w = begin + j->to_bit / 64; w < end + j->to_bit / 64; w++) {
        uint64_t first = w * 64 < j->to_bit ? j->to_bit : w * 64,
                 last = w * 64 + 64 < all ? w * 64 + 64 : all;
        unsigned count = (unsigned)(last - first);
        put_bits(j->to, first, count,
                 j->from ? cpu_bits(j->from, j->from_bit + first - j->to_bit, count) : j->fill);
    }
}

static void all_bits(cohort_context *context, struct bits_job *j)
{
    if (j->n)
        cpu_parallel(context, (j->to_bit + j->n - 1) / 64 - j->to_bit / 64 + 1, GRAIN / 64, copy_range, j);
}

static cohort_status cpu_table_copy_bits(cohort_context *context, void *to, co_u64 to_bit, const void *from,
                                         co_u64 from_bit, co_u64 n)
{
    struct bits_job j = {to, to_bit, from_bit, n, from, ~0ull};
    all_bits(context, &j);
    return COHORT_OK;
}

static cohort_status cpu_table_clear_bits(cohort_context *context, void *to, co_u64 to_bit, co_u64 n)
{
    struct bits_job j = {to, to_bit, 0, n, NULL, 0};
    all_bits(context, &j);
    return COHORT_OK;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

struct check_job {
    const struct table_column *column;
    const struct table_piece *piece;
    co_u64 first_bad;
};

static void check_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct check_job *j = arg;
    const struct table_column *c = j->column;
    (void)worker;
    uint64_t bad = table_check(j->piece, c->type.layout, c->is_dictionary ? &c->index : NULL,
                               j->piece->dictionary ? j->piece->dictionary->rows : 0, begin, end);
    co_min64(&j->first_bad, bad);
}

static cohort_status cpu_table_check(cohort_context *context, const struct table_column *column,
                                     const struct table_piece *piece, co_u64 *first_bad)
{
    struct check_job j = {column, piece, TABLE_NO_ROW};
    if (column->is_dictionary || column->type.layout >= TABLE_OFFSETS_32)
        cpu_parallel(context, piece->rows, GRAIN, check_range, &j);
    *first_bad = j.first_bad;
    return COHORT_OK;
}

/* ---- indices ------------------------------------------------------------------------------------------- */

struct rebase_job {
    void *to;
    uint32_t to_bytes;
    const void *from;
    const struct table_type *index;
    uint64_t add;
};

static uint64_t index_at(const struct rebase_job *j, uint64_t i)
{
    switch (j->index->bytes) {
    case 1:
        return ((const uint8_t *)j->from)[i];
    case 2:
        return ((const uint16_t *)j->from)[i];
    case 4:
        return ((const uint32_t *)j->from)[i];
    default:
        return ((const uint64_t *)j->from)[i];
    }
}

static void rebase_range(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct rebase_job *j = arg;
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t v = index_at(j, i) + j->add;
        memcpy((char *)j->to + i * j->to_bytes, &v, j->to_bytes);
    }
}

static cohort_status cpu_table_rebase(cohort_context *context, void *to, co_u32 to_bytes, const void *from,
                                      const struct table_type *index, co_u64 add, co_u64 n)
{
    struct rebase_job j = {to, to_bytes, from, index, add};
    cpu_parallel(context, n, GRAIN, rebase_range, &j);
    return COHORT_OK;
}

/* ---- events: a CPU has none ---------------------------------------------------------------------------- */

static int64_t cpu_table_device_id(cohort_context *context)
{
    (void)context;
    return -1;
}

static cohort_status cpu_table_await(cohort_context *context, void *sync_event)
{
    return context_fail(context, COHORT_UNSUPPORTED, "array->sync_event is %p on a CPU context", sync_event);
}

static cohort_status cpu_table_event(cohort_context *context, void **sync_event)
{
    (void)context;
    *sync_event = NULL;
    return COHORT_OK;
}

static void cpu_table_event_free(cohort_context *context, void *sync_event)
{
    (void)context;
    (void)sync_event;
}

const struct table_backend cpu_table_backend = {
    .device_id = cpu_table_device_id,
    .await = cpu_table_await,
    .event = cpu_table_event,
    .event_free = cpu_table_event_free,
    .nulls = cpu_table_nulls,
    .check = cpu_table_check,
    .gather = cpu_table_gather,
    .copy_bits = cpu_table_copy_bits,
    .clear_bits = cpu_table_clear_bits,
    .rebase = cpu_table_rebase,
};
