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

static void view_grow(struct view *v, uint32_t places)
{
    struct entry *from = v->table;
    uint32_t n = v->mask + 1;
    v->table = launch_alloc(places * sizeof *v->table);
    memset(v->table, 0, places * sizeof *v->table);
    v->mask = places - 1;
    for (uint32_t i = 0; i < n; i++) {
        if (!from[i].location)
            continue;
        uint32_t at = from[i].location & v->mask;
        while (v->table[at].location)
            at = (at + 1) & v->mask;
        v->table[at] = from[i];
    }
}

void view_raise(struct view *v, uint32_t location, uint32_t time)
{
    uint32_t i = location & v->mask;
    for (; v->table[i].location; i = (i + 1) & v->mask) {
        if (v->table[i].location == location) {
            if (v->table[i].time < time)
                v->table[i].time = time;
            return;
        }
    }
    if (4 * (v->count + 1) > 3 * (v->mask + 1)) {
        view_grow(v, 2 * (v->mask + 1));
        for (i = location & v->mask; v->table[i].location; i = (i + 1) & v->mask)
            ;
    }
    v->table[i].location = location;
    v->table[i].time = time;
    v->count++;
}

void view_join(struct view *v, const struct view *other)
{
    if (!other->count || other == v)
        return;
    for (uint32_t i = 0; i <= other->mask; i++)
        if (other->table[i].location)
            view_raise(v, other->table[i].location, other->table[i].time);
}

void view_begin(struct view *v)
{
    memset(v->small, 0, sizeof v->small);
    v->table = v->small;
    v->mask = 7;
    v->count = 0;
}

struct view *view_new(void)
{
    struct view *v = launch_alloc(sizeof *v);
    view_begin(v);
    return v;
}
