/* group_texts.c: a string of bytes for each group: the least, the greatest, the first or the last one.
 *
 * Rows are compared where they are. When all of a call's rows were seen, the bytes of the groups' new
 * texts are copied behind those that are there; a heap that is full is made anew with what is still
 * somebody's text. */
#include "group.h"

#include <string.h>

void group_texts_close(cohort_context *host, struct group_texts *t)
{
    pool_give(host, t->text);
    pool_give(host, t->best);
    pool_give(host, t->heap);
    *t = (struct group_texts){0};
}

cohort_status group_texts_reserve(cohort_context *host, struct group_texts *t, uint64_t groups,
                                  uint64_t known)
{
    uint64_t more = groups + groups / 2 + 64;
    void *text = NULL, *best = NULL;
    if (groups <= t->room)
        return COHORT_OK;
    if (pool_take(host, more * sizeof *t->text, &text) || pool_take(host, more * sizeof *t->best, &best)) {
        pool_give(host, text);
        return context_fail(host, COHORT_NO_MEMORY, "no host memory for the texts of %llu groups",
                            (unsigned long long)groups);
    }
    memset(text, 0xff, more * sizeof *t->text);
    memset(best, 0xff, more * sizeof *t->best);
    if (known)
        memcpy(text, t->text, known * sizeof *t->text);
    pool_give(host, t->text);
    pool_give(host, t->best);
    t->text = text;
    t->best = best;
    t->room = more;
    return COHORT_OK;
}

/* ---- which row ----------------------------------------------------------------------------------------- */

/* Numbers of 16 bytes, the most significant byte last. */
static int compare_decimals(const char *a, const char *b)
{
    uint64_t low[2];
    int64_t high[2];
    memcpy(&low[0], a, 8);
    memcpy(&low[1], b, 8);
    memcpy(&high[0], a + 8, 8);
    memcpy(&high[1], b + 8, 8);
    if (high[0] != high[1])
        return high[0] < high[1] ? -1 : 1;
    return (low[0] > low[1]) - (low[0] < low[1]);
}

static int compare(struct keys_text a, struct keys_text b, int is_decimal)
{
    if (is_decimal)
        return compare_decimals(a.at, b.at);
    uint64_t both = a.length < b.length ? a.length : b.length;
    int order = both ? memcmp(a.at, b.at, both) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

struct look {
    struct group_texts *texts;
    const struct keys_column *column;
    cohort_aggregate_op op;
    int is_decimal;
};

static int has_text(const struct look *l, uint32_t group)
{
    return l->texts->best[group] != ~0ull || l->texts->text[group].length != GROUP_NO_TEXT;
}

static struct keys_text text_of(const struct look *l, uint32_t group)
{
    const struct group_text *t = &l->texts->text[group];
    if (l->texts->best[group] != ~0ull)
        return keys_text_at(l->column, l->texts->best[group]);
    return (struct keys_text){l->texts->heap + t->at, t->length};
}

/* Is the row the group's text from now on? */
static int takes(const struct look *l, uint32_t group, uint64_t row)
{
    if (!has_text(l, group) || l->op == COHORT_AGGREGATE_LAST)
        return 1;
    if (l->op == COHORT_AGGREGATE_FIRST)
        return 0;
    int order = compare(keys_text_at(l->column, row), text_of(l, group), l->is_decimal);
    return l->op == COHORT_AGGREGATE_MIN ? order < 0 : order > 0;
}

static uint64_t live_bytes(const struct group_texts *t, uint64_t known)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < known; i++)
        bytes += t->text[i].length == GROUP_NO_TEXT ? 0 : t->text[i].length;
    return bytes;
}

/* Room behind the texts. */
static cohort_status make_room(cohort_context *host, struct group_texts *t, uint64_t known, uint64_t need)
{
    if (need <= t->heap_room - t->used)
        return COHORT_OK;
    uint64_t live = live_bytes(t, known), room = 2 * (live + need) + 64, used = 0;
    void *made = NULL;
    if (pool_take(host, room, &made))
        return context_fail(host, COHORT_NO_MEMORY, "no host memory for %llu bytes of texts",
                            (unsigned long long)room);
    char *heap = made;
    for (uint64_t i = 0; i < known; i++) {
        struct group_text *text = &t->text[i];
        if (text->length == GROUP_NO_TEXT)
            continue;
        if (text->length)
            memcpy(heap + used, t->heap + text->at, text->length);
        text->at = used;
        used += text->length;
    }
    pool_give(host, t->heap);
    t->heap = heap;
    t->heap_room = room;
    t->used = used;
    return COHORT_OK;
}

cohort_status group_texts_look(cohort_context *host, struct group_texts *t, cohort_aggregate_op op,
                               int is_decimal, const struct keys_column *column, uint64_t n,
                               const uint32_t *ids, uint64_t known, struct group_texts_step *step)
{
    struct look l = {t, column, op, is_decimal};
    uint64_t need = 0;
    *step = (struct group_texts_step){0};
    cohort_status s = pool_take(host, (n < t->room ? n : t->room) * 4, &step->touched);
    if (s)
        return s;
    uint32_t *touched = step->touched;
    for (uint64_t row = 0; row < n; row++) {
        uint32_t group = ids[row];
        if (group == KEYS_NO_ID ||
            (column->validity && !table_bit(column->validity, column->validity_bit + row)))
            continue;
        if (!takes(&l, group, row))
            continue;
        if (t->best[group] == ~0ull)
            touched[step->count++] = group;
        t->best[group] = row;
    }
    for (uint64_t i = 0; i < step->count; i++)
        need += keys_text_at(column, t->best[touched[i]]).length;
    return make_room(host, t, known, need);
}

void group_texts_keep(struct group_texts *t, const struct keys_column *column, struct group_texts_step *step)
{
    const uint32_t *touched = step->touched;
    for (uint64_t i = 0; i < step->count; i++) {
        struct keys_text from = keys_text_at(column, t->best[touched[i]]);
        t->text[touched[i]] = (struct group_text){t->used, from.length};
        if (from.length)
            memcpy(t->heap + t->used, from.at, from.length);
        t->used += from.length;
    }
}

void group_texts_forget(cohort_context *host, struct group_texts *t, struct group_texts_step *step)
{
    const uint32_t *touched = step->touched;
    for (uint64_t i = 0; i < step->count; i++)
        t->best[touched[i]] = ~0ull;
    pool_give(host, step->touched);
    *step = (struct group_texts_step){0};
}
