/* view.c: what a lane has seen. A view is a small hash table from locations to times. Its memory is the
 * launch's: tables that were outgrown are simply left. */
#include "inside.h"

#include <string.h>

void view_clear(struct view *v)
{
    if (!v->count)
        return;
    memset(v->table, 0, (v->mask + 1) * sizeof *v->table);
    v->count = 0;
}

/* An empty table of so many places. */
static void view_room(struct view *v, uint32_t places)
{
    v->table = launch_alloc(places * sizeof *v->table);
    memset(v->table, 0, places * sizeof *v->table);
    v->mask = places - 1;
    v->shift = 32 - (uint32_t)__builtin_ctz(places);
}

/* Where the location is, or the free place that it takes. */
static inline struct entry *view_find(const struct view *v, uint32_t location)
{
    uint32_t i = view_place(v, location);
    while (v->table[i].location && v->table[i].location != location)
        i = (i + 1) & v->mask;
    return &v->table[i];
}

static void view_grow(struct view *v, uint32_t places)
{
    struct entry *from = v->table;
    uint32_t n = v->mask + 1;
    view_room(v, places);
    for (uint32_t i = 0; i < n; i++)
        if (from[i].location)
            *view_find(v, from[i].location) = from[i];
}

void view_raise(struct view *v, uint32_t location, uint32_t time)
{
    struct entry *e = view_find(v, location);
    if (e->location) {
        if (e->time < time)
            e->time = time;
        return;
    }
    if (4 * (v->count + 1) > 3 * (v->mask + 1)) {
        view_grow(v, 2 * (v->mask + 1));
        e = view_find(v, location);
    }
    *e = (struct entry){location, time};
    v->count++;
}

/* A table that is smaller than the other one grows to its size first: what comes in the order of places would
 * fill the first places of a smaller table without a gap. */
void view_join(struct view *v, const struct view *other)
{
    if (!other->count || other == v)
        return;
    if (!v->count) {
        if (v->mask != other->mask)
            view_room(v, other->mask + 1);
        memcpy(v->table, other->table, (other->mask + 1) * sizeof *v->table);
        v->count = other->count;
        return;
    }
    if (v->mask < other->mask)
        view_grow(v, other->mask + 1);
    for (uint32_t i = 0; i <= other->mask; i++)
        if (other->table[i].location)
            view_raise(v, other->table[i].location, other->table[i].time);
}

void view_begin(struct view *v)
{
    memset(v->small, 0, sizeof v->small);
    v->table = v->small;
    v->mask = 7;
    v->shift = 29;
    v->count = 0;
}

struct view *view_new(void)
{
    struct view *v = launch_alloc(sizeof *v);
    view_begin(v);
    return v;
}
