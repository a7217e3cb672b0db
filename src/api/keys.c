/* keys.c: the public calls on keys: factors, and columns as ids, distinct keys, counts and members. */
#include "cohort/keys.h"

#include <string.h>

#include "factor.h"
#include "keys_order.h"
#include "staged.h"

#define MOST_COLUMNS 4096u

/* Where it lies is known with the first add. */
struct cohort_factor {
    cohort_context *context;
    struct factor inner;
};

static cohort_status check_columns(cohort_context *context, const char *call, const char *what,
                                   uint32_t columns)
{
    if (columns && columns <= MOST_COLUMNS)
        return COHORT_OK;
    return context_fail(context, COHORT_RANGE, "%s: %s is %u; it must be 1 to %u", call, what, columns,
                        MOST_COLUMNS);
}

/* ---- factors ------------------------------------------------------------------------------------------- */

cohort_status cohort_factor_create(cohort_context *context, uint32_t columns, const uint8_t *nulls_equal,
                                   cohort_factor **out)
{
    const char *call = "cohort_factor_create";
    CALL(context);
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "context", context);
    if (!s)
        s = frame_need(context, call, "out", out);
    if (!s)
        s = check_columns(context, call, "columns", columns);
    if (s)
        return s;
    cohort_factor *f = zeroed(1, sizeof *f);
    if (!f)
        return context_fail(context, COHORT_NO_MEMORY, "no host memory for a factor");
    f->context = context;
    s = factor_open(&f->inner, context, columns, nulls_equal);
    if (s)
        free(f);
    else
        *out = f;
    return s;
}

void cohort_factor_destroy(cohort_factor *factor)
{
    if (!factor)
        return;
    CALL_TO_END(factor->context);
    factor_close(&factor->inner);
    free(factor);
}

uint64_t cohort_factor_count(const cohort_factor *factor)
{
    return factor ? factor->inner.count : 0;
}

static cohort_status factor_call(cohort_factor *factor, const char *call, cohort_frame *keys, uint32_t *ids,
                                 int adds)
{
    struct staged_array to;
    cohort_frame *own = NULL;
    cohort_status s = frame_need(NULL, call, "factor", factor);
    if (!s)
        s = frame_need(factor->context, call, "keys", keys);
    if (s)
        return s;
    cohort_context *context = factor->context, *host = factor->inner.context;
    s = staged_status(context, host, factor_check(&factor->inner, call, "keys", keys));
    if (!s && factor_is_fresh(&factor->inner))
        s = staged_keys(context, keys, &host);
    if (s)
        return s;
    factor->inner.context = host;
    s = staged_array_open(&to, context, host, call, "ids", ids, keys->rows, 4, adds);
    if (!s)
        s = staged_in(context, host, keys, &own);
    if (!s)
        s = staged_status(context, host,
                          adds ? factor_add(&factor->inner, own, to.own, NULL)
                               : factor_find(&factor->inner, own, to.own));
    cohort_frame_release(own);
    return staged_array_close(&to, s);
}

cohort_status cohort_factor_add(cohort_factor *factor, cohort_frame *keys, uint32_t *ids)
{
    CALL_ON(factor);
    return factor_call(factor, "cohort_factor_add", keys, ids, 1);
}

cohort_status cohort_factor_find(cohort_factor *factor, cohort_frame *keys, uint32_t *ids)
{
    CALL_ON(factor);
    return factor_call(factor, "cohort_factor_find", keys, ids, 0);
}

/* ---- the keys of a frame ------------------------------------------------------------------------------- */

/* A factor of one call, in the memory of `host`. */
struct keyed {
    const char *call;
    cohort_context *context, *host;
    struct factor factor;
    struct factor_rows first;
    cohort_frame *keys;
    struct staged_array ids;
};

static void keyed_close(struct keyed *k)
{
    factor_give(&k->factor, &k->first);
    if (k->factor.context)
        factor_close(&k->factor);
    cohort_frame_release(k->keys);
    if (k->host)
        pool_give(k->host, k->ids.taken);
}

/* Adds all rows of `keys`. */
static cohort_status keyed_open(struct keyed *k, const char *call, cohort_frame *keys, const char *name,
                                const uint8_t *nulls_equal, uint32_t *ids, int ids_wanted)
{
    *k = (struct keyed){.call = call, .context = keys->context};
    cohort_status s = check_columns(k->context, call, name, keys->columns);
    if (!s)
        s = staged_keys(k->context, keys, &k->host);
    if (!s)
        s = staged_array_open(&k->ids, k->context, k->host, call, "ids", ids, keys->rows, 4, !ids_wanted);
    if (!s)
        s = staged_in(k->context, k->host, keys, &k->keys);
    if (!s)
        s = staged_status(k->context, k->host, factor_open(&k->factor, k->host, keys->columns, nulls_equal));
    if (!s)
        s = staged_status(k->context, k->host, factor_add(&k->factor, k->keys, k->ids.own, &k->first));
    return s;
}

static cohort_status keyed_values(struct keyed *k, const uint64_t *rows, cohort_frame **out)
{
    return staged_status(k->context, k->host, frame_gather(k->keys, k->first.count, 8, rows, out));
}

cohort_status cohort_factorize(cohort_frame *keys, const uint8_t *nulls_equal, uint32_t *ids,
                               cohort_frame **values)
{
    CALL_ON(keys);
    struct keyed k;
    cohort_frame *made = NULL;
    if (values)
        *values = NULL;
    cohort_status s = frame_need(NULL, "cohort_factorize", "keys", keys);
    if (s)
        return s;
    s = keyed_open(&k, "cohort_factorize", keys, "columns of keys", nulls_equal, ids, 1);
    if (!s && values)
        s = keyed_values(&k, k.first.at, &made);
    if (!s)
        s = staged_array_close(&k.ids, s);
    if (!s && values)
        s = staged_out(k.context, k.host, made, values);
    else
        cohort_frame_release(made);
    keyed_close(&k);
    return s;
}

/* ---- distinct keys ------------------------------------------------------------------------------------- */

/* How often each id is there, and the order in which they are to come: of the pool of k->host. */
struct ranking {
    void *counts, *rows, *order; /* 8, 8 and 4 bytes; by id; in the order asked for */
};

static cohort_status rank(struct keyed *k, uint32_t flags, int counted, struct ranking *r)
{
    const struct keys_backend *keys = k->host->backend->keys;
    uint64_t groups = k->first.count;
    cohort_status s = pool_take(k->host, groups * 8, &r->counts);
    if (!s)
        s = pool_take(k->host, groups * 8, &r->rows);
    if (!s)
        s = pool_take(k->host, groups * 4, &r->order);
    if (!s && counted)
        s = context_fill(k->host, r->counts, 0, groups * 8);
    if (!s && counted)
        s = keys->count(k->host, k->ids.own, k->keys->rows, groups, r->counts);
    if (!s && flags & COHORT_SORTED) {
        cohort_frame *distinct = NULL;
        s = frame_gather(k->keys, groups, 8, k->first.at, &distinct);
        if (!s)
            s = keys_order(distinct, r->order);
        cohort_frame_release(distinct);
    } else if (!s && counted) {
        s = keys_order_counts(k->host, groups, r->counts, r->order);
    }
    if (!s)
        s = keys->rows(k->host, r->order, groups, k->first.at, 8, r->rows);
    return staged_status(k->context, k->host, s);
}

/* The keys, and beside them the column of counts. */
static cohort_status with_counts(struct keyed *k, const struct ranking *r, cohort_frame **made)
{
    uint64_t groups = k->first.count;
    cohort_frame *keys = *made, *counts = NULL;
    struct table_column *c = NULL;
    cohort_status s = table_column_room(k->host, "L", groups, groups * 8, 0, &c);
    if (!s)
        s = k->host->backend->keys->rows(k->host, r->order, groups, r->counts, 8,
                                         (void *)(uintptr_t)c->piece[0].data);
    if (!s && !(counts = frame_new(k->host, groups, 1)))
        s = COHORT_NO_MEMORY;
    if (s)
        table_column_release(c);
    else
        s = frame_put(counts, 0, "count", c);
    *made = NULL;
    if (!s)
        s = cohort_frame_beside(keys, counts, "_rows", made);
    cohort_frame_release(keys);
    cohort_frame_release(counts);
    return staged_status(k->context, k->host, s);
}

static cohort_status distinct(const char *call, cohort_frame *keys, uint32_t flags, int counted,
                              cohort_frame **out)
{
    struct keyed k;
    struct ranking r = {NULL, NULL, NULL};
    cohort_frame *made = NULL;
    if (out)
        *out = NULL;
    cohort_status s = frame_need(NULL, call, "keys", keys);
    if (!s)
        s = frame_need(keys->context, call, "out", out);
    if (s)
        return s;
    if (flags & ~(uint32_t)COHORT_SORTED)
        return context_fail(keys->context, COHORT_RANGE, "%s: flags is %u; only COHORT_SORTED (1) is known",
                            call, flags);
    int as_they_come = !counted && !flags;
    s = keyed_open(&k, call, keys, "columns of keys", NULL, NULL, 0);
    if (!s && !as_they_come)
        s = rank(&k, flags, counted, &r);
    if (!s)
        s = keyed_values(&k, as_they_come ? k.first.at : r.rows, &made);
    if (!s && counted)
        s = with_counts(&k, &r, &made);
    if (!s)
        s = staged_out(k.context, k.host, made, out);
    else
        cohort_frame_release(made);
    if (k.host) {
        pool_give(k.host, r.counts);
        pool_give(k.host, r.rows);
        pool_give(k.host, r.order);
    }
    keyed_close(&k);
    return s;
}

cohort_status cohort_unique(cohort_frame *keys, uint32_t flags, cohort_frame **out)
{
    CALL_ON(keys);
    return distinct("cohort_unique", keys, flags, 0, out);
}

cohort_status cohort_value_counts(cohort_frame *keys, uint32_t flags, cohort_frame **out)
{
    CALL_ON(keys);
    return distinct("cohort_value_counts", keys, flags, 1, out);
}

/* ---- members ------------------------------------------------------------------------------------------- */

/* Ids of rows of `keys` among those of `values`, into memory of the pool's. */
static cohort_status member_ids(struct keyed *k, cohort_frame *own, void **ids)
{
    cohort_status s = pool_take(k->host, own->rows * 4, ids);
    return s ? s : factor_find(&k->factor, own, *ids);
}

/* Bits of rows of `keys`, by their ids where strings alone are not found without. */
static cohort_status member_bits(struct keyed *k, cohort_frame *own, uint8_t *bits)
{
    void *ids = NULL;
    cohort_status s = factor_find_bits(&k->factor, own, bits);
    if (s != COHORT_UNSUPPORTED)
        return s;
    s = member_ids(k, own, &ids);
    if (!s)
        s = k->host->backend->keys->bits(k->host, ids, own->rows, bits);
    pool_give(k->host, ids);
    return s;
}

/* The first rows of those of `keys`. */
static cohort_status member_rows(struct keyed *k, cohort_frame *own, uint32_t bytes, void *rows)
{
    void *ids = NULL;
    cohort_status s = member_ids(k, own, &ids);
    if (!s)
        s = k->host->backend->keys->rows(k->host, ids, own->rows, k->first.at, bytes, rows);
    pool_give(k->host, ids);
    return s;
}

/* bytes 0: a bit a key. */
static cohort_status keyed_members(struct keyed *k, cohort_frame *keys, uint32_t bytes, void *to)
{
    cohort_frame *own = NULL;
    cohort_status s = staged_status(k->context, k->host, factor_check(&k->factor, k->call, "keys", keys));
    if (!s)
        s = staged_in(k->context, k->host, keys, &own);
    if (!s)
        s = staged_status(k->context, k->host,
                          bytes ? member_rows(k, own, bytes, to) : member_bits(k, own, to));
    cohort_frame_release(own);
    return s;
}

/* ---- members among plain numbers: without ids ---------------------------------------------------------- */

/* A column of numbers of at most 8 bytes, or of bits, without nulls. */
static int is_plain(const struct table_column *c)
{
    const int fixed = c->type.layout == TABLE_FIXED && c->type.bytes && c->type.bytes <= 8;
    return !c->is_dictionary && !c->nulls && (fixed || c->type.layout == TABLE_BITS);
}

static int are_plain(const cohort_frame *keys, const cohort_frame *values)
{
    return keys->columns == 1 && values->columns == 1 && is_plain(keys->field[0].column) &&
           is_plain(values->field[0].column) && values->rows < UINT32_MAX &&
           table_types_agree(keys->field[0].column->format, values->field[0].column->format);
}

/* A frame's column in the memory of `host` and in one piece; to be released. */
static cohort_status plain_column(cohort_context *context, cohort_context *host, cohort_frame *frame,
                                  struct table_column **out)
{
    cohort_frame *own = NULL;
    *out = NULL;
    cohort_status s = staged_in(context, host, frame, &own);
    if (!s)
        s = staged_status(context, host, table_column_flat(host, own->field[0].column, out));
    cohort_frame_release(own);
    return s;
}

static cohort_status members_of(cohort_context *context, cohort_context *host, cohort_frame *keys,
                                cohort_frame *values, struct keys_members *ask)
{
    struct table_column *column = NULL, *among = NULL;
    struct keys_column k, v;
    cohort_status s = plain_column(context, host, keys, &column);
    if (!s)
        s = plain_column(context, host, values, &among);
    if (!s) {
        k = factor_column_of(column);
        v = factor_column_of(among);
        ask->keys = &k;
        ask->values = &v;
        ask->n = keys->rows;
        ask->m = values->rows;
        s = staged_status(context, host, host->backend->keys->members(host, ask));
    }
    table_column_release(column);
    table_column_release(among);
    return s;
}

/* bytes 0: a bit a key. */
static cohort_status members(const char *call, cohort_frame *keys, cohort_frame *values, uint32_t bytes,
                             void *out)
{
    cohort_context *context = keys->context, *host = NULL;
    struct staged_array to = {0};
    uint64_t n = bytes ? keys->rows : (keys->rows + 7) / 8;
    cohort_status s = staged_keys(context, keys, &host);
    if (!s)
        s = staged_array_open(&to, context, host, call, bytes ? "rows" : "bits", out, n, bytes ? bytes : 1,
                              0);
    if (!s) {
        struct keys_members ask = {.bits = to.own, .rows = bytes ? to.own : NULL, .bytes = bytes};
        s = members_of(context, host, keys, values, &ask);
    }
    return to.host ? staged_array_close(&to, s) : s;
}

static cohort_status check_members(const char *call, const cohort_frame *keys, const cohort_frame *values)
{
    cohort_status s = frame_need(NULL, call, "keys", keys);
    if (!s)
        s = frame_need(keys->context, call, "values", values);
    if (!s && values->context != keys->context)
        s = context_fail(keys->context, COHORT_OTHER_CONTEXT,
                         "%s: values belongs to another context than keys", call);
    return s;
}

cohort_status cohort_index_in(cohort_frame *keys, cohort_frame *values, const uint8_t *nulls_equal,
                              uint32_t bytes, void *rows)
{
    CALL_ON(keys);
    const char *call = "cohort_index_in";
    struct keyed k;
    struct staged_array to = {0};
    cohort_status s = check_members(call, keys, values);
    if (s)
        return s;
    if ((bytes != 4 && bytes != 8) || (bytes == 4 && values->rows >= UINT32_MAX))
        return context_fail(keys->context, COHORT_RANGE,
                            "%s: bytes is %u; it must be 8, or 4 where values has less than 2^32 - 1 rows",
                            call, bytes);
    if (are_plain(keys, values))
        return members(call, keys, values, bytes, rows);
    s = keyed_open(&k, call, values, "columns of values", nulls_equal, NULL, 0);
    if (!s)
        s = staged_array_open(&to, k.context, k.host, call, "rows", rows, keys->rows, bytes, 0);
    if (!s)
        s = keyed_members(&k, keys, bytes, to.own);
    if (to.host)
        s = staged_array_close(&to, s);
    keyed_close(&k);
    return s;
}

cohort_status cohort_is_in(cohort_frame *keys, cohort_frame *values, const uint8_t *nulls_equal,
                           uint8_t *bits)
{
    CALL_ON(keys);
    const char *call = "cohort_is_in";
    struct keyed k;
    struct staged_array to = {0};
    cohort_status s = check_members(call, keys, values);
    if (s)
        return s;
    if (are_plain(keys, values))
        return members(call, keys, values, 0, bits);
    s = keyed_open(&k, call, values, "columns of values", nulls_equal, NULL, 0);
    if (!s)
        s = staged_array_open(&to, k.context, k.host, call, "bits", bits, (keys->rows + 7) / 8, 1, 0);
    if (!s)
        s = keyed_members(&k, keys, 0, to.own);
    if (to.host)
        s = staged_array_close(&to, s);
    keyed_close(&k);
    return s;
}
