/* set.c: working sets: made, changed, copied, and looked into.
 *
 * Whatever a set is changed by becomes a collection first, so that there is one way in. And one way out:
 * exports, copies and queries work on a collection that is made from the set. */
#include "api/set.h"

#include <stdlib.h>
#include <string.h>

#include "api/options.h"

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

/* Chunks below the limit; 0 is 2^64. */
static uint64_t chunks_of(uint64_t limit)
{
    return limit ? (limit - 1) / CO_CHUNK_IDS + 1 : 1ull << (64 - CO_CHUNK_BITS);
}

static uint64_t node_bytes(uint64_t nodes)
{
    return nodes * sizeof(struct co_set_node);
}

static void give_memory(cohort_set *set)
{
    struct set_state *s = &set->state;
    if (s->blocks)
        context_release(set->context, s->blocks, set->block_bytes);
    if (set->copy)
        context_release(set->context, set->copy, node_bytes(set->copy_room));
    free(s->spare);
    free(s->nodes);
}

static cohort_status take_memory(cohort_set *set, uint64_t chunks)
{
    struct set_state *s = &set->state;
    void *blocks = NULL;
    set->block_bytes = (s->view.flat ? chunks : s->room) * CO_CHUNK_BYTES;
    s->nodes = calloc(SET_NODES_LEAST, sizeof *s->nodes);
    s->spare = malloc((s->room + 1) * sizeof *s->spare);
    if (!s->nodes || !s->spare)
        return context_fail(set->context, COHORT_NO_MEMORY, "no memory for a working set's directory");
    cohort_status status = system_take(set->context, set->block_bytes, &blocks);
    s->blocks = blocks;
    if (!status && s->view.flat)
        status = context_fill(set->context, blocks, 0, set->block_bytes);
    s->view.blocks = blocks;
    s->view.nodes = s->nodes;
    s->node_room = SET_NODES_LEAST;
    s->nodes_used = 1;
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
    cohort_set *set = calloc(1, sizeof *set);
    if (!set)
        return context_fail(context, COHORT_NO_MEMORY, "no memory for a set's description");
    uint64_t chunks = chunks_of(o.limit);
    struct set_state *s = &set->state;
    set->context = context;
    set->copy_is_old = 1;
    set->layout = o.layout;
    s->view.version = CO_SET_VIEW_VERSION;
    s->view.wide = o.type == COHORT_U64;
    s->view.flat = o.layout == COHORT_SET_FLAT;
    s->view.limit = o.limit;
    for (s->view.levels = 1; (chunks - 1) >> (CO_SET_DIGIT_BITS * s->view.levels);)
        s->view.levels++;
    s->room = s->view.flat ? 0 : o.blocks ? o.blocks : chunks < 65536 ? chunks : 65536;
    status = take_memory(set, chunks);
    if (status) {
        give_memory(set);
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
    give_memory(set);
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
    status = cohort_sets_build(context, &d, &by);
    if (!status && by->counts.sets > 1)
        status = context_fail(context, COHORT_RANGE, "%s: source has %llu sets; it may have one", call,
                              (unsigned long long)by->counts.sets);
    if (!status)
        status = set_change(set, call, (enum set_change_kind)op, by);
    cohort_sets_destroy(by);
    return status;
}

cohort_status cohort_set_clear(cohort_set *set)
{
    CALL_ON(set);
    if (!set)
        return context_fail(NULL, COHORT_NULL, "cohort_set_clear: set is NULL");
    cohort_status status = context_wait(set->context);
    return status ? status : set_empty(set);
}

cohort_status cohort_set_copy(cohort_set *to, const cohort_set *from)
{
    CALL_ON(to);
    static const char call[] = "cohort_set_copy";
    cohort_set *const source = (cohort_set *)(uintptr_t)from;
    cohort_sets *by = NULL;
    if (!to || !from)
        return context_fail(to ? to->context : NULL, COHORT_NULL, "%s: %s is NULL", call, to ? "from" : "to");
    if (to->context != from->context)
        return context_fail(to->context, COHORT_OTHER_CONTEXT, "%s: from is of another context", call);
    if (to->state.view.wide != from->state.view.wide)
        return context_fail(to->context, COHORT_RANGE, "%s: from has members of %u bits, and to of %u", call,
                            from->state.view.wide ? 64u : 32u, to->state.view.wide ? 64u : 32u);
    cohort_status status = to == from ? COHORT_OK : set_collection(to->context, &source, 1, &by);
    if (!status && to != from)
        status = set_change(to, call, SET_ASSIGN, by);
    cohort_sets_destroy(by);
    return status;
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
    cohort_status status = set_collection(set->context, &source, 1, &sets);
    if (!status)
        status = cohort_sets_export(sets, target);
    cohort_sets_destroy(sets);
    return status;
}

static cohort_status enter_look(cohort_context *context, const void *step, struct arena *arena)
{
    return arena->asks ? COHORT_OK : context->backend->set->look(context, step);
}

/* The set for whoever works in the context's memory: a device gets its own copy of the directory. */
static cohort_status view_of(cohort_set *set, cohort_set_view *view)
{
    struct set_state *s = &set->state;
    void *memory = NULL;
    cohort_status status = COHORT_OK;
    *view = s->view;
    if (set->context->backend->own_memory == MEMORY_HOST)
        return COHORT_OK;
    if (set->copy_room < s->nodes_used) {
        status = system_take(set->context, node_bytes(s->node_room), &memory);
        if (status)
            return status;
        if (set->copy)
            context_release(set->context, set->copy, node_bytes(set->copy_room));
        set->copy = memory;
        set->copy_room = s->node_room;
        set->copy_is_old = 1;
    }
    if (set->copy_is_old)
        status = context_copy(set->context, set->copy, s->nodes, node_bytes(s->nodes_used));
    set->copy_is_old = status != COHORT_OK;
    view->nodes = set->copy;
    return status;
}

cohort_status cohort_set_contains(const cohort_set *set, uint64_t n, const void *values, uint8_t *hit)
{
    CALL_ON(set);
    struct batch b;
    struct set_look look;
    if (!set)
        return context_fail(NULL, COHORT_NULL, "cohort_set_contains: set is NULL");
    memset(&look, 0, sizeof look);
    look.view.wide = set->state.view.wide;
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
    status = view_of((cohort_set *)(uintptr_t)set, &look.view);
    if (!status)
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
    cohort_status status = options_check(set->context, "info", info, info->size, sizeof i, sizeof i, &i);
    if (status)
        return status;
    i.type = s->view.wide ? COHORT_U64 : COHORT_U32;
    i.layout = set->layout;
    i.limit = s->view.limit;
    i.members = s->members;
    i.chunks = s->chunks;
    i.full = s->full;
    i.blocks = s->room;
    i.blocks_used = s->fresh - s->spares;
    i.bytes = set->block_bytes + s->room * sizeof *s->spare + node_bytes(s->node_room + set->copy_room);
    options_return(info, info->size, sizeof i, &i);
    return COHORT_OK;
}

cohort_status cohort_set_get_view(const cohort_set *set, struct cohort_set_view *view)
{
    CALL_ON(set);
    if (!set || !view)
        return context_fail(set ? set->context : NULL, COHORT_NULL, "cohort_set_get_view: %s is NULL",
                            set ? "view" : "set");
    return view_of((cohort_set *)(uintptr_t)set, view);
}
