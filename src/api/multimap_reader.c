/* multimap_reader.c: multimaps that are looked up by way of a context other than their own (map_reader.c). */
#include "api/multimap.h"

#include <stdlib.h>

#include "api/reader.h"

/* What lies aside is brought in by the multimap's own context. */
static cohort_status bring_in(cohort_multimap *m, cohort_context *context, const char *call)
{
    cohort_status s = call_begin(m->context);
    if (!s)
        s = multimap_bring_in(m, call);
    call_end(m->context);
    return s ? context_fail(context, s, "%s: what it is to read: %s", call, cohort_message(m->context)) : s;
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
    cohort_status s = reader_need(call, "multimap", multimap, context, out);
    if (!s)
        s = bring_in(multimap, context, call);
    if (!s)
        s = reader_check(context, multimap->context,
                         multimap->index ? multimap->index->table : multimap->ends, call);
    return s ? s : multimap_reader(multimap, context, out);
}
