/* fn.c: functions of keys: what of a cohort_fn is wrong, and what backends get of it. */
#include <string.h>

#include "api/fn.h"
#include "api/options.h"
#include "api/sets.h"

#define BITS_MOST      16u    /* of BITS */
#define SPLITTERS_MOST 65535u /* of a predicate */

/* The numbers of a kind. */
static cohort_status check_bits(const struct batch *b, const cohort_fn *fn, uint32_t key_bytes)
{
    if (fn->a >= 8 * key_bytes)
        return batch_fail(b, COHORT_RANGE, "desc.fn->a, the lowest bit, is %llu; keys have %u bits",
                          (unsigned long long)fn->a, 8 * key_bytes);
    if (fn->b > BITS_MOST)
        return batch_fail(b, COHORT_RANGE, "desc.fn->b, the number of bits, is %llu; there are at most %u",
                          (unsigned long long)fn->b, BITS_MOST);
    return COHORT_OK;
}

static cohort_status check_numbers(const struct batch *b, const cohort_fn *fn, uint32_t key_bytes,
                                   uint32_t buckets)
{
    switch (fn->kind) {
    case COHORT_FN_BITS:
        return check_bits(b, fn, key_bytes);
    case COHORT_FN_RANGES:
        if (fn->a > fn->b)
            return batch_fail(b, COHORT_RANGE,
                              "desc.fn->a, the least key, is %llu, and desc.fn->b, the greatest, %llu",
                              (unsigned long long)fn->a, (unsigned long long)fn->b);
        return COHORT_OK;
    case COHORT_FN_SPLITTERS:
        if (buckets && fn->count != buckets - 1)
            return batch_fail(b, COHORT_RANGE, "desc.fn->count is %llu; %u buckets have %llu %s between them",
                              (unsigned long long)fn->count, buckets,
                              COUNTED(buckets - 1, "splitter", "splitters"));
        if (fn->count > SPLITTERS_MOST)
            return batch_fail(b, COHORT_RANGE, "desc.fn->count is %llu; there are at most %u splitters",
                              (unsigned long long)fn->count, SPLITTERS_MOST);
        return COHORT_OK;
    case COHORT_FN_DELTA:
        if (!fn->b)
            return batch_fail(b, COHORT_RANGE, "desc.fn->b, the width of a bucket, is 0");
        return COHORT_OK;
    case COHORT_FN_TABLE8:
    case COHORT_FN_TABLE16:
    case COHORT_FN_USER:
        if (fn->count > UINT64_MAX / 16)
            return batch_fail(b, COHORT_OVERFLOW,
                              "desc.fn->count is %llu; so much does not fit in 64 bits of bytes",
                              (unsigned long long)fn->count);
        return COHORT_OK;
    default:
        return COHORT_OK;
    }
}

static int is_identifier(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return *name && strchr(first, *name) && strlen(name) <= 255 && strspn(name, rest) == strlen(name);
}

static cohort_status check_user(const struct batch *b, const cohort_fn *fn, uint32_t key_bytes)
{
    if (fn->b && fn->b != key_bytes)
        return batch_fail(b, COHORT_RANGE,
                          "desc.fn->b is %llu, the bytes of the keys that this function is for; "
                          "desc.key_bytes is %u",
                          (unsigned long long)fn->b, key_bytes);
    if (!fn->host && !fn->source)
        return batch_fail(b, COHORT_NULL, "desc.fn->host and desc.fn->source are NULL");
    if (b->context->backend->compiles ? !fn->source : !fn->host)
        return batch_fail(b, COHORT_UNSUPPORTED, "desc.fn->%s is NULL, and the %s backend needs it",
                          fn->source ? "host" : "source", b->context->backend->name);
    if (fn->source && !fn->name)
        return batch_fail(b, COHORT_NULL, "desc.fn->name is NULL with a source");
    if (fn->source && !is_identifier(fn->name))
        return batch_fail(b, COHORT_RANGE, "desc.fn->name is \"%.100s\", which is no identifier of C",
                          fn->name);
    return COHORT_OK;
}

static cohort_status check_member(const struct batch *b, const cohort_fn *fn)
{
    const cohort_sets *sets = fn->data;
    if (!sets)
        return batch_fail(b, COHORT_NULL, "desc.fn->data is NULL; it must be a collection of sets");
    if (sets->context != b->context)
        return batch_fail(b, COHORT_OTHER_CONTEXT, "desc.fn->data is a collection of another context");
    if (fn->a >= sets->view.sets)
        return batch_fail(b, COHORT_RANGE, "desc.fn->a, the set, is %llu; the collection has %llu %s",
                          (unsigned long long)fn->a, COUNTED(sets->view.sets, "set", "sets"));
    return COHORT_OK;
}

static cohort_status check_kind(const struct batch *b, const cohort_fn *fn, uint32_t buckets)
{
    if ((int)fn->kind < COHORT_FN_BITS || (int)fn->kind > COHORT_FN_MEMBER)
        return batch_fail(b, COHORT_RANGE, "desc.fn->kind is %d; there are %d to %d", (int)fn->kind,
                          COHORT_FN_BITS, COHORT_FN_MEMBER);
    if (fn->reserved)
        return batch_fail(b, COHORT_RANGE, "desc.fn->reserved is %u; it must be 0", fn->reserved);
    int needs_buckets = fn->kind == COHORT_FN_HASH || fn->kind == COHORT_FN_MODULO ||
                        fn->kind == COHORT_FN_RANGES || fn->kind == COHORT_FN_DELTA;
    if (!buckets && needs_buckets)
        return batch_fail(b, COHORT_RANGE, "desc.fn->kind is %d, which needs a number of buckets",
                          (int)fn->kind);
    return COHORT_OK;
}

/* The function's data, as an array of the call. */
static void add_data(struct batch *b, const cohort_fn *fn, uint64_t n, uint32_t key_bytes, const void **own)
{
    unsigned any = BATCH_IN | BATCH_EITHER;
    switch (fn->kind) {
    case COHORT_FN_SPLITTERS:
        batch_array(b, "desc.fn->data", any, fn->data, fn->count, key_bytes, own);
        break;
    case COHORT_FN_TABLE8:
        batch_array(b, "desc.fn->data", any, fn->data, fn->count, 1, own);
        break;
    case COHORT_FN_TABLE16:
        batch_array(b, "desc.fn->data", any, fn->data, fn->count, 2, own);
        break;
    case COHORT_FN_IDS8:
        batch_array(b, "desc.fn->data", BATCH_IN, fn->data, n, 1, own);
        break;
    case COHORT_FN_IDS16:
        batch_array(b, "desc.fn->data", BATCH_IN, fn->data, n, 2, own);
        break;
    case COHORT_FN_IDS32:
        batch_array(b, "desc.fn->data", BATCH_IN, fn->data, n, 4, own);
        break;
    case COHORT_FN_USER:
        batch_array(b, "desc.fn->data", any, fn->data, fn->count, 1, own);
        break;
    default:
        break;
    }
}

/* The least width of m equal ranges that cover [a, b]; one that would be 2^64 is one less, which the last
 * range makes up for. */
static co_u64 range_width(const cohort_fn *fn, uint32_t buckets)
{
    co_u64 width = (fn->b - fn->a) / buckets;
    return width == UINT64_MAX ? width : width + 1;
}

static void fill(const cohort_fn *fn, uint32_t buckets, struct split_fn *out)
{
    memset(out, 0, sizeof *out);
    out->kind = (co_u32)fn->kind;
    out->buckets = buckets ? buckets : SPLIT_BAD;
    out->a = fn->a;
    out->b = fn->kind == COHORT_FN_BITS    ? ((co_u64)1 << fn->b) - 1
             : fn->kind == COHORT_FN_DELTA ? UINT64_MAX
                                           : fn->b;
    out->count = fn->count;
    out->by = split_divisor_of(fn->kind == COHORT_FN_MODULO   ? buckets
                               : fn->kind == COHORT_FN_RANGES ? range_width(fn, buckets)
                               : fn->kind == COHORT_FN_DELTA  ? fn->b
                                                              : 1);
}

/* Brings numbers into the width of the keys, all ids as they were: so a backend may compare with 32 bits
 * alone. */
static void narrow(struct split_fn *f, uint32_t key_bytes)
{
    const co_u64 most = key_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    int never = 0;
    if (f->kind == SPLIT_RANGES || f->kind == SPLIT_DELTA || f->kind == SPLIT_BETWEEN) {
        never = f->kind == SPLIT_BETWEEN && (f->a > most || f->a > f->b);
        f->a = f->a < most ? f->a : most;
        f->b = f->b < most ? f->b : most;
    } else if (f->kind == SPLIT_MASKED) {
        never = (f->b & ~f->a) || f->b > most;
        f->a &= most;
    }
    if (never) { /* 1 <= key <= 0; (key & 0) == 1 */
        f->a = f->kind == SPLIT_BETWEEN;
        f->b = f->kind == SPLIT_MASKED;
    }
}

cohort_status fn_check(struct batch *b, const cohort_fn *given, cohort_fn *fn, uint64_t n, uint32_t key_bytes,
                       uint32_t buckets, struct split_fn *out, struct split_source *source)
{
    cohort_status status =
        given ? options_check(b->context, "desc.fn", given, given->size, sizeof *fn, sizeof *fn, fn)
              : batch_fail(b, COHORT_NULL, "desc.fn is NULL");
    if (!status)
        status = check_kind(b, fn, buckets);
    if (!status)
        status = check_numbers(b, fn, key_bytes, buckets);
    if (!status && fn->kind == COHORT_FN_USER)
        status = check_user(b, fn, key_bytes);
    if (!status && fn->kind == COHORT_FN_MEMBER)
        status = check_member(b, fn);
    if (status)
        return status;
    fill(fn, buckets, out);
    narrow(out, key_bytes);
    source->user = fn->kind == COHORT_FN_USER ? fn : NULL;
    source->sets = fn->kind == COHORT_FN_MEMBER ? &((const cohort_sets *)fn->data)->view : NULL;
    add_data(b, fn, n, key_bytes, &out->data);
    return COHORT_OK;
}

cohort_status fn_check_data(const struct batch *b, const cohort_fn *fn, uint32_t key_bytes)
{
    if (fn->kind != COHORT_FN_SPLITTERS || !fn->count ||
        context_memory_kind(b->context, fn->data) != MEMORY_HOST)
        return COHORT_OK;
    for (uint64_t i = 1; i < fn->count; i++) {
        co_u64 one =
            key_bytes == 4 ? ((const uint32_t *)fn->data)[i - 1] : ((const uint64_t *)fn->data)[i - 1];
        co_u64 next = key_bytes == 4 ? ((const uint32_t *)fn->data)[i] : ((const uint64_t *)fn->data)[i];
        if (next < one)
            return batch_fail(b, COHORT_RANGE,
                              "desc.fn->data[%llu] is %llu, less than the splitter before it, %llu",
                              (unsigned long long)i, (unsigned long long)next, (unsigned long long)one);
    }
    return COHORT_OK;
}

const char *cohort_fn_log(const cohort_context *context)
{
    return context && context->log ? context->log : "";
}
