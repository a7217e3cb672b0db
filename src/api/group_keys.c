/* group_keys.c: distinct rows, numbered by a factor, with the rows themselves, in frames that hold no
 * memory of who brought them, but dictionaries. */
#include "group.h"

#include <string.h>

static cohort_status no_memory(cohort_context *host)
{
    return context_fail(host, COHORT_NO_MEMORY, "no host memory for the keys of groups");
}

cohort_status group_keys_open(struct group_keys *k, cohort_context *host, uint32_t columns,
                              const uint8_t *nulls_equal)
{
    *k = (struct group_keys){.host = host, .columns = columns, .nulls_equal = nulls_equal};
    return factor_open(&k->factor, host, columns, nulls_equal);
}

void group_keys_close(struct group_keys *k)
{
    if (k->factor.context)
        factor_close(&k->factor);
    for (uint32_t i = 0; i < k->pieces; i++)
        cohort_frame_release(k->piece[i]);
    free(k->piece);
    *k = (struct group_keys){0};
}

/* ---- adding -------------------------------------------------------------------------------------------- */

static cohort_status rebuild(struct group_keys *k)
{
    struct factor made;
    cohort_status s = factor_open(&made, k->host, k->columns, k->nulls_equal);
    if (s)
        return s;
    for (uint32_t i = 0; !s && i < k->pieces; i++) {
        void *ids;
        s = pool_take(k->host, k->piece[i]->rows * 4, &ids);
        if (s)
            break;
        s = factor_add(&made, k->piece[i], ids, NULL);
        pool_give(k->host, ids);
    }
    if (s) {
        factor_close(&made);
        return s;
    }
    factor_close(&k->factor);
    k->factor = made;
    k->stale = 0;
    return COHORT_OK;
}

static cohort_status new_rows(struct group_keys *k, cohort_frame *frame, const struct factor_rows *first,
                              struct group_keys_step *step)
{
    int are_all = first->count == frame->rows;
    const void *at = first->near ? (const void *)first->near : first->at;
    cohort_status s =
        frame_gather(frame, first->count, first->near ? 4 : 8, are_all ? NULL : at, &step->made);
    for (uint32_t i = 0; !s && i < k->columns; i++) {
        struct table_column **c = &step->made->field[i].column;
        if (!(*c)->is_dictionary && (*c)->type.layout == TABLE_VIEWS)
            s = group_own_texts(k->host, c);
    }
    return s;
}

static cohort_status add(struct group_keys *k, const char *call, cohort_frame *frame, uint32_t *ids,
                         int rows_alone, struct group_keys_step *step)
{
    struct factor_rows first = {0};
    *step = (struct group_keys_step){0};
    if (k->pieces == k->room) {
        uint32_t more = 2 * k->room + 8;
        cohort_frame **piece = realloc(k->piece, more * sizeof(cohort_frame *));
        if (!piece)
            return no_memory(k->host);
        k->piece = piece;
        k->room = more;
    }
    cohort_status s = k->stale ? rebuild(k) : COHORT_OK;
    if (!s)
        s = factor_check(&k->factor, call, "frame", frame);
    if (s)
        return s;
    s = (rows_alone && !k->pieces ? factor_add_rows : factor_add)(&k->factor, frame, ids, &first);
    if (!s && (first.count || !k->pieces))
        s = new_rows(k, frame, &first, step);
    step->count = first.near ? first.count : k->factor.count;
    step->unnumbered = first.near != NULL;
    factor_give(&k->factor, &first);
    k->stale = 1; /* until it is kept */
    return s;
}

cohort_status group_keys_add(struct group_keys *k, const char *call, cohort_frame *frame, uint32_t *ids,
                             struct group_keys_step *step)
{
    return add(k, call, frame, ids, 0, step);
}

cohort_status group_keys_add_rows(struct group_keys *k, const char *call, cohort_frame *frame, uint32_t *room,
                                  struct group_keys_step *step)
{
    return add(k, call, frame, room, 1, step);
}

void group_keys_forget(struct group_keys *k, struct group_keys_step *step)
{
    (void)k;
    cohort_frame_release(step->made);
    *step = (struct group_keys_step){0};
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

static cohort_status one_frame(struct group_keys *k, uint32_t from, cohort_frame **out)
{
    uint64_t rows = 0;
    for (uint32_t i = from; i < k->pieces; i++)
        rows += k->piece[i]->rows;
    cohort_frame *made = frame_new(k->host, rows, k->columns);
    cohort_status s = made ? COHORT_OK : COHORT_NO_MEMORY;
    for (uint32_t c = 0; !s && c < k->columns; c++) {
        struct table_column *column = NULL;
        s = group_one_column(k->host, k->piece + from, k->pieces - from, c, &column);
        if (!s)
            s = frame_put(made, c, k->piece[0]->field[c].name, column);
    }
    if (s)
        cohort_frame_release(made);
    else
        *out = made;
    return s;
}

/* Pieces from `from` on become one. If there is no memory for that, they stay. */
static void join_pieces(struct group_keys *k, uint32_t from)
{
    cohort_frame *made = NULL;
    if (one_frame(k, from, &made))
        return;
    for (uint32_t i = from; i < k->pieces; i++)
        cohort_frame_release(k->piece[i]);
    k->piece[from] = made;
    k->pieces = from + 1;
}

/* A piece is more than twice as long as the next one, so there are few of them. */
void group_keys_keep(struct group_keys *k, struct group_keys_step *step)
{
    if (step->made)
        k->piece[k->pieces++] = step->made;
    k->count = step->count;
    k->stale = step->unnumbered;
    uint32_t from = k->pieces;
    uint64_t rows = from ? k->piece[from - 1]->rows : 0;
    while (from > 1 && k->piece[from - 2]->rows <= 2 * rows)
        rows += k->piece[--from - 1]->rows;
    if (from && from < k->pieces)
        join_pieces(k, from - 1);
    *step = (struct group_keys_step){0};
}

cohort_status group_keys_frame(struct group_keys *k, const char *call, cohort_frame **out)
{
    *out = NULL;
    if (!k->pieces)
        return context_fail(k->host, COHORT_RANGE,
                            "%s: no frame was added, so the types of the %llu %s are not known", call,
                            COUNTED(k->columns, "key column", "key columns"));
    if (k->pieces == 1) {
        *out = cohort_frame_retain(k->piece[0]);
        return COHORT_OK;
    }
    return one_frame(k, 0, out);
}
