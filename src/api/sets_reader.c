/* sets_reader.c: collections of sets that are read by way of a context other than their own. A
 * collection does not change, but for its index of chunks: a reader makes one of its own. */
#include "api/reader.h"
#include "api/sets.h"

#include <stdlib.h>

cohort_status cohort_sets_reader(const cohort_sets *sets, cohort_context *context, cohort_sets **out)
{
    static const char call[] = "cohort_sets_reader";
    if (out)
        *out = NULL;
    CALL(context);
    cohort_status s = reader_need(call, "sets", sets, context, out);
    if (!s)
        s = reader_check(context, sets->context, sets->memory, call);
    if (s)
        return s;
    cohort_sets *made = malloc(sizeof *made);
    if (!made)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a reader's description");
    *made = (cohort_sets){.context = context, .view = sets->view, .counts = sets->counts};
    *out = made;
    return COHORT_OK;
}
