/* group_pairs.c: distinct values of groups: pairs of a group's number and a value, in the order of their
 * first rows. Those of an object's first frame are only told from each other, where the backend can do so by
 * bits (keys_firsts.c); they are numbered like keys when a second one comes.
 *
 * In a partial result a group has a binary of all its values: elements behind each other, strings each with
 * its length in 8 bytes before it. These lie in the host's memory, whatever the context, and are made and
 * read by whoever helps it. */
#include "group.h"

#include <string.h>

#include "staged.h"

static cohort_status no_memory(cohort_context *host)
{
    return context_fail(host, COHORT_NO_MEMORY, "no host memory for distinct values of groups");
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

/* Numbers of groups as a column that lasts as long as they do; KEYS_NO_ID is null. */
static cohort_status number_column(cohort_context *host, const uint32_t *ids, uint64_t n,
                                   struct table_column **out)
{
    struct table_column *c = NULL;
    cohort_status s = table_column_room(host, "I", n, 0, 1, &c);
    if (s)
        return s;
    struct table_piece *p = &c->piece[0];
    p->data = ids;
    s = host->backend->keys->bits(host, ids, n, (uint8_t *)(uintptr_t)p->validity);
    if (!s)
        s = host->backend->table->nulls(host, p, &p->nulls);
    c->nulls = p->nulls;
    if (!s && !p->nulls)
        p->validity = NULL;
    if (s)
        table_column_release(c);
    else
        *out = c;
    return s;
}

/* A frame of two columns, which are taken over. */
static cohort_status pairs_frame(cohort_context *host, struct table_column *numbers, const char *name,
                                 struct table_column *values, cohort_frame **out)
{
    cohort_frame *pairs = frame_new(host, numbers->rows, 2);
    cohort_status s = pairs ? COHORT_OK : COHORT_NO_MEMORY;
    if (!s)
        s = frame_put(pairs, 0, "group", numbers);
    else
        table_column_release(numbers);
    if (!s)
        s = frame_put(pairs, 1, name, values);
    else
        table_column_release(values);
    if (s)
        cohort_frame_release(pairs);
    else
        *out = pairs;
    return s;
}

/* Pairs, which are taken over, among those that a part brings. */
static cohort_status add_pairs(struct group_step *st, uint32_t i, cohort_frame *pairs)
{
    cohort_group *g = st->group;
    struct group_part *p = &st->part[i];
    p->pairs = pairs;
    cohort_status s = pool_take(g->host, pairs->rows * 4, &p->pair_ids);
    return s ? s : group_keys_add_rows(&g->aggregate[i].distinct, st->call, pairs, p->pair_ids, &p->distinct);
}

cohort_status group_pairs_add(struct group_step *st, uint32_t i, struct table_column *values)
{
    cohort_group *g = st->group;
    struct table_column *numbers = NULL;
    cohort_frame *pairs = NULL;
    cohort_status s = number_column(g->host, st->ids, st->rows, &numbers);
    if (s)
        table_column_release(values);
    else
        s = pairs_frame(g->host, numbers, g->aggregate[i].column, values, &pairs);
    return s ? s : add_pairs(st, i, pairs);
}

cohort_status group_pairs_count(cohort_group *g, const char *call, struct group_aggregate *a,
                                uint64_t *counts)
{
    cohort_frame *pairs;
    struct table_column *ids = NULL;
    cohort_status s = group_keys_frame(&a->distinct, call, &pairs);
    if (s)
        return s;
    s = table_column_flat(g->host, pairs->field[0].column, &ids);
    if (!s)
        s = g->host->backend->keys->count(g->host, ids->piece[0].data, ids->rows, g->of.count, counts);
    table_column_release(ids);
    cohort_frame_release(pairs);
    return s;
}

/* ---- those of another object --------------------------------------------------------------------------- */

/* Pairs of `from` with the groups' numbers here: group k of `from` is st->ids[k]. */
static cohort_status renumber(struct group_step *st, cohort_frame *from, const char *name, cohort_frame **out)
{
    cohort_context *host = st->group->host;
    struct table_column *all = NULL, *own = NULL, *numbers = NULL;
    cohort_status s = table_column_flat(host, from->field[0].column, &own);
    if (!s)
        s = number_column(host, st->ids, st->rows, &all);
    if (!s)
        s = table_column_gather(host, "group", all, from->rows, 4, own->piece[0].data, &numbers);
    if (!s)
        s = pairs_frame(host, numbers, name, table_column_retain(from->field[1].column), out);
    table_column_release(all);
    table_column_release(own);
    return s;
}

cohort_status group_pairs_take(struct group_step *st, uint32_t i, cohort_group *from)
{
    cohort_group *g = st->group;
    const char *name = g->aggregate[i].column;
    cohort_frame *kept = NULL, *pairs = NULL, *own = NULL, *made = NULL;
    cohort_status s = group_keys_frame(&from->aggregate[i].distinct, st->call, &kept);
    if (!s) /* a frame that may be changed on its way */
        s = pairs_frame(from->host, table_column_retain(kept->field[0].column), name,
                        table_column_retain(kept->field[1].column), &pairs);
    s = staged_status(g->host, from->host, s);
    if (!s)
        s = staged_status(g->host, g->context, group_bring(g, from, pairs, &own));
    if (!s)
        s = renumber(st, own, name, &made);
    cohort_frame_release(own);
    cohort_frame_release(pairs);
    cohort_frame_release(kept);
    return s ? s : add_pairs(st, i, made);
}

/* ---- as binaries --------------------------------------------------------------------------------------- */

/* The bytes of a value in a group's binary. */
static uint64_t value_bytes(const struct keys_column *k, uint64_t row)
{
    if (k->kind == KEYS_BITS)
        return 1;
    if (k->kind < KEYS_WIDE)
        return k->bytes;
    return keys_text_at(k, row).length + (k->kind == KEYS_WIDE ? 0 : 8);
}

static void put_value(const struct keys_column *k, uint64_t row, char *to)
{
    if (k->kind == KEYS_BITS) {
        to[0] = (char)table_bit(k->data, k->data_bit + row);
    } else if (k->kind < KEYS_WIDE) {
        memcpy(to, (const char *)k->data + row * k->bytes, k->bytes);
    } else {
        struct keys_text t = keys_text_at(k, row);
        if (k->kind != KEYS_WIDE) {
            memcpy(to, &t.length, 8);
            to += 8;
        }
        if (t.length)
            memcpy(to, t.at, t.length);
    }
}

/* Pairs of group and value, by groups. */
static cohort_status gather_values(cohort_context *host, uint64_t n, const uint32_t *ids,
                                   const struct keys_column *k, uint64_t pairs, struct table_column **out)
{
    uint64_t *offset = zeroed(n + 2, 8);
    if (!offset)
        return no_memory(host);
    for (uint64_t i = 0; i < pairs; i++)
        offset[ids[i] + 2] += value_bytes(k, i);
    for (uint64_t i = 2; i < n + 2; i++)
        offset[i] += offset[i - 1];
    cohort_status s = table_column_room(host, "Z", n, offset[n + 1], 1, out);
    struct buffer *b = NULL;
    if (!s)
        s = loan_take(host, (n + 1) * 8, &b);
    if (s) {
        free(offset);
        return s;
    }
    struct table_column *c = *out;
    table_column_hold(c, &b->holder);
    for (uint64_t i = 0; i < pairs; i++) {
        put_value(k, i, (char *)(uintptr_t)c->piece[0].data + offset[ids[i] + 1]);
        offset[ids[i] + 1] += value_bytes(k, i);
    }
    memcpy(b->memory, offset, (n + 1) * 8);
    c->piece[0].offsets = b->memory;
    c->nulls = c->piece[0].nulls = 0;
    c->piece[0].validity = NULL;
    free(offset);
    return COHORT_OK;
}

/* In the host's memory. */
static cohort_status pairs_out(cohort_context *host, uint64_t groups, const char *name, cohort_frame *pairs,
                               struct table_column **out)
{
    struct table_column *ids = NULL, *values = NULL;
    cohort_status s = table_column_flat(host, pairs->field[0].column, &ids);
    if (!s)
        s = group_plain(host, name, pairs->field[1].column, &values);
    if (!s) {
        struct keys_column k = factor_column_of(values);
        s = gather_values(host, groups, ids->piece[0].data, &k, pairs->rows, out);
    }
    table_column_release(values);
    table_column_release(ids);
    return s;
}

cohort_status group_pairs_out(cohort_group *g, const char *call, struct group_aggregate *a,
                              struct table_column **out)
{
    cohort_context *host = NULL;
    cohort_frame *pairs = NULL, *own = NULL;
    struct table_column *binaries = NULL;
    cohort_status s = staged_open(g->host, &host);
    if (!s)
        s = group_keys_frame(&a->distinct, call, &pairs);
    if (!s)
        s = staged_in(g->host, host, pairs, &own);
    if (!s)
        s = staged_status(g->host, host, pairs_out(host, g->of.count, a->column, own, &binaries));
    if (!s && host != g->host)
        s = table_column_by_row(g->host, binaries, out);
    else if (!s)
        *out = table_column_retain(binaries);
    table_column_release(binaries);
    cohort_frame_release(own);
    cohort_frame_release(pairs);
    return s;
}

/* ---- and back ------------------------------------------------------------------------------------------ */

/* The values of a group's binary: how many, and their bytes; ~0: it is not made of whole ones. */
static uint64_t values_in(const struct table_type *type, struct keys_text t, uint64_t *bytes)
{
    uint64_t unit = type->layout == TABLE_BITS ? 1 : type->bytes, n = 0;
    if (unit) {
        *bytes += t.length;
        return t.length % unit ? ~0ull : t.length / unit;
    }
    for (uint64_t at = 0, length; at < t.length; at += length, n++, *bytes += length) {
        if (t.length - at < 8)
            return ~0ull;
        memcpy(&length, t.at + at, 8);
        at += 8;
        if (length > t.length - at)
            return ~0ull;
    }
    return n;
}

/* Values of all groups, one behind the other. */
struct unpacked {
    struct table_column *column;
    char *data;
    uint64_t *offset, count, used;
    uint32_t *ids;
};

static void unpack(struct unpacked *u, const struct table_type *type, struct keys_text t, uint32_t group)
{
    uint64_t unit = type->bytes;
    for (uint64_t at = 0, length; at < t.length; at += length, u->count++) {
        u->ids[u->count] = group;
        if (type->layout == TABLE_BITS) {
            length = 1;
            u->data[u->count / 8] = (char)(u->data[u->count / 8] | (t.at[at] & 1) << (u->count & 7));
            continue;
        }
        length = unit;
        if (!unit) {
            memcpy(&length, t.at + at, 8);
            at += 8;
            u->offset[u->count] = u->used;
        }
        if (length)
            memcpy(u->data + u->used, t.at + at, length);
        u->used += length;
    }
}

static int is_binary(const struct table_column *c)
{
    return c->format[0] == 'z' || c->format[0] == 'Z' || !strcmp(c->format, "vz");
}

/* How many values all rows have, and their bytes. */
static cohort_status count_values(const struct group_step *st, uint32_t i, cohort_context *host,
                                  const struct table_column *c, uint64_t *values, uint64_t *bytes)
{
    const struct group_aggregate *a = &st->group->aggregate[i];
    const struct keys_column k = factor_column_of(c);
    const char *wrong = is_binary(c) && !c->nulls ? NULL : "these are not its distinct values";
    *values = *bytes = 0;
    for (uint64_t row = 0; !wrong && row < st->rows; row++) {
        const uint64_t own = values_in(&a->type, keys_text_at(&k, row), bytes);
        if (own == ~0ull)
            wrong = "distinct values end in the middle";
        *values += own;
    }
    return wrong ? context_fail(host, COHORT_CORRUPT, "%s: column %u of the partial result, '%.100s': %s",
                                st->call, st->group->keys + i, a->column, wrong)
                 : COHORT_OK;
}

/* Room for them and the numbers of their groups, in the host's memory: the column holds it all. */
static cohort_status unpack_open(struct unpacked *u, cohort_context *host, const struct group_aggregate *a,
                                 uint64_t n, uint64_t bytes)
{
    struct buffer *b = NULL;
    const int is_text = !a->type.bytes && a->type.layout != TABLE_BITS;
    const char *format = !is_text ? a->format : strpbrk(a->format, "uU") ? "U" : "Z";
    *u = (struct unpacked){0};
    cohort_status s = table_column_room(host, format, n, bytes + 8, 0, &u->column);
    if (!s)
        s = loan_take(host, (n + 1) * (8 + 4), &b);
    if (s)
        return s;
    table_column_hold(u->column, &b->holder);
    u->offset = b->memory;
    u->ids = (uint32_t *)(u->offset + n + 1);
    u->data = (char *)(uintptr_t)u->column->piece[0].data;
    u->column->piece[0].offsets = is_text ? u->offset : NULL;
    return COHORT_OK;
}

/* Pairs of the groups `ids` and the values of their binaries, in the host's memory. */
static cohort_status unpack_pairs(const struct group_step *st, uint32_t i, cohort_context *host,
                                  struct table_column *binaries, const uint32_t *ids, cohort_frame **out)
{
    const struct group_aggregate *a = &st->group->aggregate[i];
    struct table_column *plain = NULL, *numbers = NULL;
    struct unpacked u = {0};
    uint64_t n = 0, bytes = 0;
    cohort_status s = group_plain(host, a->column, binaries, &plain);
    if (!s)
        s = count_values(st, i, host, plain, &n, &bytes);
    if (!s)
        s = unpack_open(&u, host, a, n, bytes);
    if (!s) {
        const struct keys_column k = factor_column_of(plain);
        for (uint64_t row = 0; row < st->rows; row++)
            if (ids[row] != KEYS_NO_ID)
                unpack(&u, &a->type, keys_text_at(&k, row), ids[row]);
        u.offset[u.count] = u.used;
        u.column->rows = u.column->piece[0].rows = u.count;
        s = number_column(host, u.ids, u.count, &numbers);
    }
    if (!s)
        s = pairs_frame(host, numbers, a->column, table_column_retain(u.column), out);
    table_column_release(u.column);
    table_column_release(plain);
    return s;
}

/* The numbers of a step's groups in the host's memory. */
static cohort_status fetch_ids(const struct group_step *st, uint32_t **ids)
{
    cohort_context *host = st->group->host;
    *ids = malloc(st->rows * 4 + 1);
    if (!*ids)
        return no_memory(host);
    return st->rows ? context_copy(host, *ids, st->ids, st->rows * 4) : COHORT_OK;
}

cohort_status group_pairs_in(struct group_step *st, uint32_t i, struct table_column *binaries)
{
    cohort_group *g = st->group;
    cohort_context *host = NULL;
    struct table_column *own = NULL;
    cohort_frame *made = NULL, *pairs = NULL;
    uint32_t *ids = NULL;
    cohort_status s = staged_open(g->host, &host);
    if (!s)
        s = fetch_ids(st, &ids);
    if (!s)
        s = staged_column_in(g->host, host, g->aggregate[i].column, binaries, &own);
    if (!s)
        s = staged_status(g->host, host, unpack_pairs(st, i, host, own, ids, &made));
    if (!s)
        s = group_out(g->host, host, made, &pairs);
    table_column_release(own);
    free(ids);
    return s ? s : add_pairs(st, i, pairs);
}
