/* set_pieces.c: the chunks that a working set is changed by, listed by the host. The directory of what
 * the set is changed by is read by the host, its members only where they lie. */
#include <stdlib.h>

#include "api/set_change.h"
#include "core/zeroed.h"
#include "shape/sets_chunk.h"

static cohort_status no_list(cohort_context *context, const char *call, uint64_t chunks)
{
    return context_fail(context, COHORT_NO_MEMORY, "%s: no memory for a list of %llu chunks", call,
                        (unsigned long long)chunks);
}

cohort_status set_pieces_room(cohort_context *context, const char *call, uint64_t n, struct set_pieces *p)
{
    p->n = n;
    p->forms = NULL;
    p->piece = zeroed(n + 1, sizeof *p->piece);
    return p->piece ? COHORT_OK : no_list(context, call, n);
}

static void put_piece(struct set_piece *p, co_u64 key, const void *at, co_u32 kind, co_u32 entries)
{
    p->key = key;
    p->at = at;
    p->kind = kind;
    p->entries = entries;
}

static co_u64 list_end(const cohort_sets_view *v, const struct co_sets_set *s, co_u64 at)
{
    co_u64 key = co_sets_listed(v, at) >> CO_CHUNK_BITS;
    do
        at++;
    while (at < s->first + s->n && co_sets_listed(v, at) >> CO_CHUNK_BITS == key);
    return at;
}

static co_u64 count_pieces(const cohort_sets_view *v, const struct co_sets_set *s)
{
    co_u64 n = 0;
    if (s->large)
        return s->n;
    for (co_u64 at = s->first; at < s->first + s->n; n++)
        at = list_end(v, s, at);
    return n;
}

cohort_status set_pieces_of(cohort_context *context, const char *call, const cohort_sets_view *v,
                            const cohort_sets_view *own, uint64_t number, struct set_pieces *p)
{
    struct co_sets_set s = co_sets_open(v, number);
    cohort_status status = set_pieces_room(context, call, count_pieces(v, &s), p);
    const char *lists = own->lists;
    co_u64 end, i = 0;
    for (; s.large && i < s.n && !status; i++) {
        co_u64 place = v->places[s.first + i];
        put_piece(&p->piece[i], co_sets_key(v, s.first + i), co_place_at(own, place), co_place_kind(place),
                  co_place_entries(place));
    }
    for (co_u64 at = s.first; !s.large && at < s.first + s.n && !status; at = end, i++) {
        end = list_end(v, &s, at);
        put_piece(&p->piece[i], co_sets_listed(v, at) >> CO_CHUNK_BITS, lists + at * (v->wide ? 8 : 4),
                  v->wide ? SETS_CHUNK_LIST64 : SETS_CHUNK_LIST32, (co_u32)(end - at));
    }
    return status;
}

cohort_status set_pieces_by(const cohort_set *by, const char *call, struct set_pieces *p)
{
    struct set_words words;
    struct set_chunk *list = NULL;
    cohort_status status = set_read(by, &words);
    if (!status)
        status = set_pieces_room(by->context, call, words.has[1], p);
    if (!status && !(list = malloc((p->n + 1) * sizeof *list)))
        status = no_list(by->context, call, p->n);
    if (!status)
        status = set_list(by, p->n, list);
    const struct set_form *forms = by->state.own.forms;
    for (uint64_t i = 0; i < p->n && !status; i++) {
        const co_u32 *at = by->state.own.blocks + (co_u64)list[i].block * CO_CHUNK_WORDS;
        if (list[i].card == CO_CHUNK_IDS)
            put_piece(&p->piece[i], list[i].key, NULL, CO_CHUNK_FULL, 0);
        else if (forms && forms[list[i].block].entries)
            put_piece(&p->piece[i], list[i].key, set_block_array(forms, by->state.own.blocks, list[i].block),
                      CO_CHUNK_ARRAY, forms[list[i].block].entries);
        else
            put_piece(&p->piece[i], list[i].key, at, CO_CHUNK_BITMAP, list[i].block);
    }
    p->forms = forms;
    free(list);
    return status;
}

int set_pieces_ascend(const struct set_pieces *p)
{
    for (uint64_t i = 1; i < p->n; i++)
        if (p->piece[i].key <= p->piece[i - 1].key)
            return 0;
    return 1;
}
