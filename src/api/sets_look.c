/* sets_look.c: questions to collections: their checks, and the one call of the backend. What asks about two
 * sets is a query whose answer is whether there is a member. */
#include "api/sets.h"

#include <string.h>

struct looking {
    cohort_sets_look_desc desc;
    struct batch batch;
    struct sets_look look;
    struct sets_query query; /* of two sets */
    struct batch_deferred *bad;
};

static cohort_status enter(cohort_context *context, const void *step, struct arena *arena)
{
    return arena->asks ? COHORT_OK : context->backend->sets->look(context, step);
}

static int is_of_pairs(cohort_look kind)
{
    return kind == COHORT_LOOK_EQUAL || kind == COHORT_LOOK_SUBSET || kind == COHORT_LOOK_INTERSECTS;
}

static int gives_a_number(cohort_look kind)
{
    return kind == COHORT_LOOK_RANK || kind == COHORT_LOOK_COUNT;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

static cohort_status check_numbers(const struct looking *k)
{
    const cohort_sets_look_desc *d = &k->desc;
    if ((int)d->kind < COHORT_LOOK_CONTAINS || (int)d->kind > COHORT_LOOK_INTERSECTS)
        return batch_fail(&k->batch, COHORT_RANGE, "desc.kind is %d; there are %d to %d", (int)d->kind,
                          COHORT_LOOK_CONTAINS, COHORT_LOOK_INTERSECTS);
    if (d->reserved)
        return batch_fail(&k->batch, COHORT_RANGE, "desc.reserved is %u; it must be 0", d->reserved);
    if (!d->which && d->set >= k->look.view.sets && d->n)
        return batch_fail(&k->batch, COHORT_RANGE, "desc.set is %llu; the collection has %llu %s",
                          (unsigned long long)d->set, COUNTED(k->look.view.sets, "set", "sets"));
    return batch_check_n(&k->batch, d->n);
}

static cohort_status check_unused(const struct looking *k)
{
    const cohort_sets_look_desc *d = &k->desc;
    cohort_look kind = d->kind;
    int of_all = kind == COHORT_LOOK_COUNT && !d->values;
    const struct {
        const char *name;
        int given, used;
    } fields[] = {
        {"others", d->others != NULL, is_of_pairs(kind)},
        {"values", d->values != NULL,
         !is_of_pairs(kind) && kind != COHORT_LOOK_MIN && kind != COHORT_LOOK_MAX},
        {"lasts", d->lasts != NULL, kind == COHORT_LOOK_COUNT && !of_all},
        {"results", d->results != NULL, !is_of_pairs(kind) && kind != COHORT_LOOK_CONTAINS},
        {"hit", d->hit != NULL, !gives_a_number(kind)},
    };
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].given && !fields[i].used)
            return batch_fail(&k->batch, COHORT_RANGE, "desc.%s is given, which kind %d has no use for",
                              fields[i].name, (int)kind);
    return COHORT_OK;
}

static void list_arrays(struct looking *k)
{
    const cohort_sets_look_desc *d = &k->desc;
    struct sets_look *q = &k->look;
    struct batch *b = &k->batch;
    cohort_look kind = d->kind;
    unsigned bytes = q->view.wide ? 8 : 4;
    unsigned optional = kind == COHORT_LOOK_CONTAINS || gives_a_number(kind) ? 0 : BATCH_OPTIONAL;
    if (d->which)
        batch_array(b, "desc.which", BATCH_IN, d->which, d->n, 8, &q->which);
    if (is_of_pairs(kind)) {
        batch_array(b, "desc.others", BATCH_IN, d->others, d->n, 8, NULL);
    } else if (kind != COHORT_LOOK_MIN && kind != COHORT_LOOK_MAX &&
               (kind != COHORT_LOOK_COUNT || d->values)) {
        batch_array(b, "desc.values", BATCH_IN, d->values, d->n, kind == COHORT_LOOK_SELECT ? 8 : bytes,
                    &q->values);
        if (kind == COHORT_LOOK_COUNT)
            batch_array(b, "desc.lasts", BATCH_IN, d->lasts, d->n, bytes, &q->lasts);
    }
    if (kind != COHORT_LOOK_CONTAINS && !is_of_pairs(kind))
        batch_array(b, "desc.results", BATCH_OUT | optional | (gives_a_number(kind) ? 0 : BATCH_IN),
                    d->results, d->n, gives_a_number(kind) ? 8 : bytes, &q->results);
    if (!gives_a_number(kind))
        batch_bitmap(b, "desc.hit", BATCH_OUT | optional, d->hit, d->hit_offset, d->n, &q->hit);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

/* A question about two sets, as rows of two: EQUAL: none is in one of them alone; SUBSET: none of the first
 * is not in the second. */
static cohort_status enter_query(cohort_context *context, const void *step, struct arena *arena)
{
    return context->backend->sets->query(context, step, arena);
}

static cohort_status run_pairs(struct looking *k)
{
    struct sets_query *q = &k->query;
    struct batch *b = &k->batch;
    memset(q, 0, sizeof *q);
    q->op = k->desc.kind == COHORT_LOOK_EQUAL    ? SETS_XOR
            : k->desc.kind == COHORT_LOOK_SUBSET ? SETS_ANDNOT
                                                 : SETS_AND;
    q->negate = k->desc.kind != COHORT_LOOK_INTERSECTS;
    q->collections = 1;
    q->wide = k->look.view.wide;
    q->view[0] = k->look.view;
    for (unsigned i = 1; i <= SETS_OPERANDS_MOST; i++)
        q->first[i] = q->view[0].sets;
    q->rows = k->desc.n;
    q->set = k->desc.set;
    b->enter = enter_query;
    b->step = q;
    for (int i = 0; i < b->count; i++)
        b->array[i].own = i == b->count - 1   ? (void *)&q->any
                          : i == b->count - 2 ? (void *)&q->others
                                              : (void *)&q->which;
    b->array[b->count - 1].bits_flags |= BITS_WHOLE;
    cohort_status status = batch_begin(b);
    if (!status) {
        q->first_bad = &k->bad->first_bad;
        status = b->enter(b->context, q, &b->arena);
    }
    return batch_end(b, status, NULL);
}

static cohort_status run(struct looking *k)
{
    struct batch *b = &k->batch;
    cohort_status status = batch_begin(b);
    if (!status) {
        k->look.first_bad = &k->bad->first_bad;
        status = b->enter(b->context, &k->look, &b->arena);
    }
    return batch_end(b, status, NULL);
}

cohort_status cohort_sets_look(const cohort_sets *sets, const cohort_sets_look_desc *desc)
{
    CALL_ON(sets);
    struct looking k;
    if (!sets)
        return context_fail(NULL, COHORT_NULL, "cohort_sets_look: sets is NULL");
    cohort_status status =
        batch_desc(&k.batch, sets->context, "cohort_sets_look", desc, sizeof k.desc, &k.desc);
    if (status)
        return status;
    memset(&k.look, 0, sizeof k.look);
    k.look.view = sets->view;
    k.look.kind = (co_u32)k.desc.kind;
    k.look.n = k.desc.n;
    k.look.set = k.desc.set;
    k.batch.enter = enter;
    k.batch.step = &k.look;
    k.batch.step_bad = &k.bad;
    status = check_numbers(&k);
    if (!status)
        status = check_unused(&k);
    if (status)
        return status;
    list_arrays(&k);
    status = batch_check(&k.batch);
    if (status)
        return status;
    if (is_of_pairs(k.desc.kind))
        return run_pairs(&k);
    return run(&k);
}
