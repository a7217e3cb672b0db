/* set.c: working sets: made, changed, copied, and looked into.
 *
 * Whatever a set is changed by becomes a collection first, or is one, or another working set. Exports and
 * queries work on a collection that is made from the set. */
#include "api/set.h"

#include <stdlib.h>
#include <string.h>

#include "api/options.h"
#include "core/zeroed.h"

/* ---- making -------------------------------------------------------------------------------------------- */

static cohort_status check_options(cohort_context *context, cohort_set_options *o)
{
    static const char call[] = "cohort_set_create";
    cohort_status status = sets_check_type(context, call, "options.type", o->type);
    if (status)
        return status;
    if ((int)o->layout < COHORT_SET_CHOSEN || (int)o->layout > COHORT_SET_CHUNKS)
        return context_fail(context, COHORT_RANGE, "%s: options.layout is %d; there are %d to %d", call,
                            (int)o->layout, COHORT_SET_CHOSEN, COHORT_SET_CHUNKS);
    if (o->type == COHORT_U32 && o->limit > 1ull << 32)
        return context_fail(context, COHORT_RANGE,
                            "%s: options.limit is %llu; of COHORT_U32 it is at most %llu", call,
                            (unsigned long long)o->limit, 1ull << 32);
    if (o->type == COHORT_U32 && !o->limit)
        o->limit = 1ull << 32;
    if (o->layout == COHORT_SET_CHOSEN)
        o->layout = o->limit && o->limit <= 1ull << 24 && !o->blocks ? COHORT_SET_FLAT : COHORT_SET_CHUNKS;
    if (o->layout == COHORT_SET_FLAT && (!o->limit || o->limit > 1ull << 32))
        return context_fail(context, COHORT_RANGE, "%s: options.limit is %llu; of a flat set it is 1 to %llu",
                            call, (unsigned long long)o->limit, 1ull << 32);
    if (o->layout == COHORT_SET_FLAT && o->blocks)
        return context_fail(context, COHORT_RANGE, "%s: options.blocks is %llu; a flat set has no pool", call,
                            (unsigned long long)o->blocks);
    if (o->blocks > SET_BLOCKS_MOST)
        return context_fail(context, COHORT_RANGE, "%s: options.blocks is %llu; there are at most %llu", call,
                            (unsigned long long)o->blocks, (unsigned long long)SET_BLOCKS_MOST);
    return COHORT_OK;
}

/* Blocks of a set that does not say how many: one for each chunk, as far as 32 bits of integers have them;
 * or, if that is more, so many for each chunk that the device can work on at once, a warp or thread each. */
#define BLOCKS_MANY 65536u
#define BLOCKS_EACH 8u
#define WARPS_MOST  64u /* of a multiprocessor */

static cohort_status default_blocks(cohort_context *context, uint64_t chunks, uint64_t *blocks)
{
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_status status = context->backend->context->info(context, &info);
    uint64_t each = context->backend->own_memory == MEMORY_HOST ? BLOCKS_EACH : BLOCKS_EACH * WARPS_MOST;
    uint64_t most = info.threads * each > BLOCKS_MANY ? info.threads * each : BLOCKS_MANY;
    *blocks = chunks < most ? chunks : most;
    return status;
}

cohort_status cohort_set_create(cohort_context *context, const cohort_set_options *options, cohort_set **out)
{
    CALL(context);
    cohort_set_options o;
    if (out)
        *out = NULL;
    if (!context || !options || !out)
        return context_fail(context, COHORT_NULL, "cohort_set_create: %s is NULL",
                            !context   ? "context"
                            : !options ? "options"
                                       : "out");
    cohort_status status = options_check(context, "options", options, options->size, sizeof o, sizeof o, &o);
    if (!status)
        status = check_options(context, &o);
    if (status)
        return status;
    cohort_set *set = zeroed(1, sizeof *set);
    if (!set)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a set's description");
    uint64_t chunks = set_chunks_below(o.limit), blocks = o.blocks;
    cohort_set_view *view = &set->state.view;
    set->context = context;
    set->layout = o.layout;
    view->version = CO_SET_VIEW_VERSION;
    view->wide = o.type == COHORT_U64;
    view->flat = o.layout == COHORT_SET_FLAT;
    view->limit = o.limit;
    for (view->levels = 1; (chunks - 1) >> (CO_SET_DIGIT_BITS * view->levels);)
        view->levels++;
    if (!view->flat && !blocks)
        status = default_blocks(context, chunks, &blocks);
    if (!status)
        status = set_take_memory(set, blocks);
    if (status) {
        set_give_memory(set);
        free(set);
        return status;
    }
    *out = set;
    return COHORT_OK;
}

void cohort_set_destroy(cohort_set *set)
{
    if (!set)
        return;
    CALL_TO_END(set->context);
    set_give_memory(set);
    free(set);
}

/* ---- changing ------------------------------------------------------------------------------------------ */

cohort_status cohort_set_update(cohort_set *set, cohort_set_op op, const cohort_sets_source *source)
{
    CALL_ON(set);
    static const char call[] = "cohort_set_update";
    cohort_sets_source d;
    cohort_sets *by = NULL;
    if (!set || !source)
        return context_fail(set ? set->context : NULL, COHORT_NULL, "%s: %s is NULL", call,
                            set ? "source" : "set");
    cohort_context *context = set->context;
    if ((int)op < COHORT_SET_ADD || (int)op > COHORT_SET_FLIP)
        return context_fail(context, COHORT_RANGE, "%s: op is %d; there are %d to %d", call, (int)op,
                            COHORT_SET_ADD, COHORT_SET_FLIP);
    cohort_status status = options_check(context, "source", source, source->size, sizeof d, sizeof d, &d);
    if (!status)
        status = sets_check_type(context, call, "source.type", d.type);
    if (status)
        return status;
    if ((d.type == COHORT_U64) != set->state.view.wide)
        return context_fail(context, COHORT_RANGE, "%s: source.type is %d, which the set's is not", call,
                            (int)d.type);
    if (set_members_fit(set, &d))
        return set_members(set, (enum set_change_kind)op, &d);
    if (set_few_fit(set, &d))
        return set_few(set, call, (enum set_change_kind)op, &d);
    status = cohort_sets_build(context, &d, &by);
    if (!status && by->counts.sets > 1)
        status = context_fail(context, COHORT_RANGE, "%s: source has %llu sets; it may have one", call,
                              (unsigned long long)by->counts.sets);
    if (!status)
        status = set_change(set, call, (enum set_change_kind)op, 0, by, 0);
    cohort_sets_destroy(by);
    return status;
}

cohort_status cohort_set_clear(cohort_set *set)
{
    CALL_ON(set);
    if (!set)
        return context_fail(NULL, COHORT_NULL, "cohort_set_clear: set is NULL");
    return set_empty(set);
}

cohort_status cohort_set_copy(cohort_set *to, const cohort_set *from)
{
    CALL_ON(to);
    static const char call[] = "cohort_set_copy";
    if (!to || !from)
        return context_fail(to ? to->context : NULL, COHORT_NULL, "%s: %s is NULL", call, to ? "from" : "to");
    if (to->context != from->context)
        return context_fail(to->context, COHORT_OTHER_CONTEXT, "%s: from is of another context", call);
    if (to->state.view.wide != from->state.view.wide)
        return context_fail(to->context, COHORT_RANGE, "%s: from has members of %u bits, and to of %u", call,
                            from->state.view.wide ? 64u : 32u, to->state.view.wide ? 64u : 32u);
    return to == from ? COHORT_OK : set_change_by(to, call, SET_ASSIGN, 0, (cohort_set *)(uintptr_t)from);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

cohort_status cohort_set_export(const cohort_set *set, cohort_sets_target *target)
{
    CALL_ON(set);
    cohort_set *const source = (cohort_set *)(uintptr_t)set;
    cohort_sets *sets = NULL;
    if (!set || !target)
        return context_fail(set ? set->context : NULL, COHORT_NULL, "cohort_set_export: %s is NULL",
                            set ? "target" : "set");
    cohort_status status = set_collection(set->context, &source, 1, set->state.view.wide, &sets);
    if (!status)
        status = cohort_sets_export(sets, target);
    cohort_sets_destroy(sets);
    return status;
}

static cohort_status enter_look(cohort_context *context, const void *step, struct arena *arena)
{
    return arena->asks ? COHORT_OK : context->backend->set->look(context, step);
}

cohort_status cohort_set_contains(const cohort_set *set, uint64_t n, const void *values, uint8_t *hit)
{
    CALL_ON(set);
    struct batch b;
    struct set_look look;
    if (!set)
        return context_fail(NULL, COHORT_NULL, "cohort_set_contains: set is NULL");
    memset(&look, 0, sizeof look);
    look.view = set->state.view;
    look.forms = set->state.own.forms;
    look.n = n;
    batch_open(&b, set->context, "cohort_set_contains");
    b.enter = enter_look;
    b.step = &look;
    cohort_status status = batch_check_n(&b, n);
    if (status)
        return status;
    batch_array(&b, "values", BATCH_IN, values, n, look.view.wide ? 8 : 4, &look.values);
    batch_bitmap(&b, "hit", BATCH_OUT, hit, 0, n, &look.hit);
    status = batch_check(&b);
    if (status)
        return status;
    status = batch_begin(&b);
    if (!status)
        status = b.enter(set->context, &look, &b.arena);
    return batch_end(&b, status, NULL);
}

cohort_status cohort_set_get_info(const cohort_set *set, cohort_set_info *info)
{
    CALL_ON(set);
    cohort_set_info i;
    if (!set || !info)
        return context_fail(set ? set->context : NULL, COHORT_NULL, "cohort_set_get_info: %s is NULL",
                            set ? "info" : "set");
    const struct set_state *s = &set->state;
    struct set_words words;
    cohort_status status = options_check(set->context, "info", info, info->size, sizeof i, sizeof i, &i);
    if (!status)
        status = set_read(set, &words);
    if (status)
        return status;
    i.type = s->view.wide ? COHORT_U64 : COHORT_U32;
    i.layout = set->layout;
    i.limit = s->view.limit;
    i.members = words.has[0];
    i.chunks = words.has[1];
    i.full = words.has[2];
    i.blocks = s->own.block_room;
    i.blocks_used = i.blocks - (words.blocks.given - words.blocks.taken);
    i.bytes = set->block_bytes + set->pool_bytes + set_node_bytes(s->own.node_room);
    options_return(info, info->size, sizeof i, &i);
    return COHORT_OK;
}

cohort_status cohort_set_get_view(const cohort_set *set, struct cohort_set_view *view)
{
    CALL_ON(set);
    if (!set || !view)
        return context_fail(set ? set->context : NULL, COHORT_NULL, "cohort_set_get_view: %s is NULL",
                            set ? "view" : "set");
    *view = set->state.view;
    return set_spread((cohort_set *)(uintptr_t)set);
}
