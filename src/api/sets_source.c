/* sets_source.c: collections from what the caller gives: its numbers are checked here, and its form says who
 * builds: from arrays sets_build.c, from Roaring blobs sets_build_roaring.c, from sets that change
 * set_collection.c. */
#include "api/set.h"

static cohort_status check_numbers(const struct batch *b, cohort_sets_source *d)
{
    if ((int)d->form < COHORT_FORM_MEMBERS || (int)d->form > COHORT_FORM_WORKING)
        return batch_fail(b, COHORT_RANGE, "source.form is %d; there are %d to %d", (int)d->form,
                          COHORT_FORM_MEMBERS, COHORT_FORM_WORKING);
    cohort_status status = sets_check_type(b->context, b->call, "source.type", d->type);
    if (!status && !d->group_type)
        d->group_type = COHORT_U32;
    if (!status && d->groups)
        status = sets_check_type(b->context, b->call, "source.group_type", d->group_type);
    if (!status && d->sets > SETS_MOST)
        status = batch_fail(b, COHORT_OVERFLOW, "source.sets is %llu; a collection has at most %llu",
                            (unsigned long long)d->sets, (unsigned long long)SETS_MOST);
    return status ? status : batch_check_n(b, d->n);
}

/* What a form has no use for must not be given. */
static cohort_status check_unused(const struct batch *b, const cohort_sets_source *d)
{
    const struct {
        const char *name;
        int given, used;
    } fields[] = {
        {"lasts", d->lasts != NULL, d->form == COHORT_FORM_RANGES},
        {"offsets", d->offsets != NULL, d->form != COHORT_FORM_BITMAPS && d->form != COHORT_FORM_WORKING},
        {"groups", d->groups != NULL, d->form != COHORT_FORM_BITMAPS && d->form != COHORT_FORM_WORKING},
        {"bases", d->bases != NULL, d->form == COHORT_FORM_ROARING},
        {"blob_type", d->blob_type != 0, d->form == COHORT_FORM_ROARING},
        {"bits", d->bits != 0, d->form == COHORT_FORM_BITMAPS},
        {"stride", d->stride != 0, d->form == COHORT_FORM_BITMAPS},
        {"bits_offset", d->bits_offset != 0, d->form == COHORT_FORM_BITMAPS},
    };
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].given && !fields[i].used)
            return batch_fail(b, COHORT_RANGE, "source.%s is given, which form %d has no use for",
                              fields[i].name, (int)d->form);
    if (d->groups && d->offsets && d->form != COHORT_FORM_ROARING)
        return batch_fail(b, COHORT_RANGE, "source.groups and source.offsets are both given");
    return COHORT_OK;
}

cohort_status cohort_sets_build(cohort_context *context, const cohort_sets_source *source, cohort_sets **out)
{
    CALL(context);
    struct batch b;
    cohort_sets_source copy;
    if (out)
        *out = NULL;
    if (!context || !source || !out)
        return context_fail(context, COHORT_NULL, "cohort_sets_build: %s is NULL",
                            !context  ? "context"
                            : !source ? "source"
                                      : "out");
    cohort_status status =
        batch_named(&b, context, "cohort_sets_build", "source", source, sizeof copy, &copy);
    if (!status)
        status = check_numbers(&b, &copy);
    if (!status)
        status = check_unused(&b, &copy);
    if (status)
        return status;
    if (copy.form == COHORT_FORM_ROARING)
        return sets_build_roaring(context, &copy, out);
    return copy.form == COHORT_FORM_WORKING ? set_build(context, &copy, out)
                                            : sets_build_arrays(context, &copy, out);
}
