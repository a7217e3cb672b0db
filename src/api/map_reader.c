/* map_reader.c: maps and multimaps that are looked up by way of a context other than their own.
 *
 * A reader is a map whose table is another's: the same view on another context of the same device. Lookups
 * never write to a table, so readers and the map itself may look up at once, each context in a thread of its
 * own, while nobody changes the map. */
#include "api/map.h"
#include "api/options.h"

#include <stdlib.h>

#include "api/multimap.h"

cohort_status map_is_reader(const cohort_map *map, const char *call)
{
    return context_fail(map->context, COHORT_UNSUPPORTED,
                        map->reader == MAP_READS_FILE
                            ? "%s: map was opened by cohort_map_map, to be read alone; a copy can be changed"
                            : "%s: map is a reader of another map, which cannot be changed by it",
                        call);
}

/* What lies aside is brought in by the multimap's own context. */
static cohort_status bring_in(cohort_multimap *m, cohort_context *context, const char *call)
{
    cohort_status s = call_begin(m->context);
    if (!s)
        s = multimap_bring_in(m, call);
    call_end(m->context);
    return s ? context_fail(context, s, "%s: what it is to read: %s", call, cohort_message(m->context)) : s;
}

/* For the work on the other context, which a fork may have made useless. */
static cohort_status wait_for(cohort_context *context, cohort_context *other, const char *call)
{
    cohort_status s = call_begin(other);
    if (s)
        s = context_fail(context, s, "%s: what it is to read: %s", call, cohort_message(other));
    else
        s = context_wait(other);
    call_end(other);
    return s;
}

cohort_status map_check_reader(cohort_context *context, cohort_context *other, const void *memory,
                               const char *call)
{
    if (other->backend != context->backend ||
        (memory && context_memory_kind(context, memory) != context->backend->own_memory))
        return context_fail(context, COHORT_UNSUPPORTED,
                            "%s: context is on another device than what it is to read", call);
    return wait_for(context, other, call);
}

cohort_status map_reader(cohort_map *map, cohort_context *context, cohort_map **out)
{
    cohort_map *made = malloc(sizeof *made);
    if (!made)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a reader's description");
    *made = *map;
    made->context = context;
    made->reader = MAP_READS_OTHER;
    made->mapped = NULL;
    *out = made;
    return COHORT_OK;
}

/* What both calls refuse. */
static cohort_status check(const char *call, const char *name, const void *object, cohort_context *context,
                           const void *out)
{
    if (object && context && out)
        return COHORT_OK;
    return context_fail(context, COHORT_NULL, "%s: %s is NULL", call,
                        !object    ? name
                        : !context ? "context"
                                   : "out");
}

cohort_status cohort_map_reader(cohort_map *map, cohort_context *context, cohort_map **out)
{
    static const char call[] = "cohort_map_reader";
    if (out)
        *out = NULL;
    CALL(context);
    cohort_status s = check(call, "map", map, context, out);
    if (!s)
        s = map_check_reader(context, map->context, map->table, call);
    return s ? s : map_reader(map, context, out);
}

/* Readers that nobody has seen own their descriptions alone. */
static void forget(cohort_multimap *m)
{
    for (cohort_multimap *next; m; m = next) {
        next = m->next;
        free(m->index);
        free(m);
    }
}

/* All levels of it. */
static cohort_status multimap_reader(cohort_multimap *m, cohort_context *context, cohort_multimap **out)
{
    cohort_multimap *made = malloc(sizeof *made);
    if (!made)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a reader's description");
    *made = *m;
    made->context = context;
    made->reader = MAP_READS_OTHER;
    made->index = NULL;
    made->next = NULL;
    made->aside = NULL;
    cohort_status s = m->index ? map_reader(m->index, context, &made->index) : COHORT_OK;
    if (!s && m->next)
        s = multimap_reader(m->next, context, &made->next);
    if (s)
        forget(made);
    else
        *out = made;
    return s;
}

cohort_status cohort_multimap_reader(cohort_multimap *multimap, cohort_context *context,
                                     cohort_multimap **out)
{
    static const char call[] = "cohort_multimap_reader";
    if (out)
        *out = NULL;
    CALL(context);
    cohort_status s = check(call, "multimap", multimap, context, out);
    if (!s)
        s = bring_in(multimap, context, call);
    if (!s)
        s = map_check_reader(context, multimap->context,
                             multimap->index ? multimap->index->table : multimap->ends, call);
    return s ? s : multimap_reader(multimap, context, out);
}
