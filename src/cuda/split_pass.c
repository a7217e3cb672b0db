/* split_pass.c: the parts of a pass: where ids come from, and which arrays go along. */
#include <string.h>

#include "split.h"

unsigned pass_ids_width(co_u32 kind)
{
    switch (kind) {
    case SPLIT_IDS8:
        return 1;
    case SPLIT_IDS16:
        return 2;
    case SPLIT_IDS32:
        return 4;
    default:
        return 0;
    }
}

int pass_is_cheap(co_u32 kind, unsigned key_bytes)
{
    switch (kind) {
    case SPLIT_BITS:
    case SPLIT_BETWEEN:
    case SPLIT_MASKED:
    case SPLIT_PAGE_ANEW:
        return 1;
    case SPLIT_MODULO:
    case SPLIT_RANGES:
    case SPLIT_DELTA:
        return key_bytes == 4;
    default:
        return pass_ids_width(kind) != 0;
    }
}

void pass_add_part(struct split_step *step, const void *in, void *out, unsigned bytes, unsigned stride)
{
    step->part[step->parts++] = (struct split_part){in, out, bytes, stride};
}

void pass_add_column(struct split_step *step, const void *in, void *out, unsigned bytes)
{
    if (!out)
        return;
    if (bytes < 16) {
        pass_add_part(step, in, out, bytes, bytes);
        return;
    }
    for (int half = 0; half < 2; half++)
        pass_add_part(step, (const char *)in + 8 * half, (char *)out + 8 * half, 8, 16);
}

unsigned pass_widest(const struct split_step *step)
{
    unsigned most = 4;
    for (unsigned p = 0; p < step->parts; p++)
        most = step->part[p].bytes > most ? step->part[p].bytes : most;
    return most;
}

int pass_is_pair(const struct split *s)
{
    unsigned others = s->permutation != NULL, bytes = s->permutation ? s->permutation_bytes : 0;
    for (unsigned c = 0; c < s->columns; c++) {
        others += s->column[c].out != NULL;
        bytes += s->column[c].out ? s->column[c].bytes : 0;
    }
    return s->key_bytes == 4 && others == 1 && bytes == 4;
}

void pass_begin(struct pass *p, const struct split_fn *fn, uint64_t n, const void *keys, unsigned key_bytes,
                void *out, struct arena *arena)
{
    struct split_step *step = &p->step;
    memset(p, 0, sizeof *p);
    step->n = n;
    step->fn = *fn;
    step->by = split_reciprocal_of(fn->by.divisor);
    step->mask = ~0u;
    step->buckets = fn->buckets;
    step->can_fail = (co_u32)split_can_fail(fn);
    unsigned given = pass_ids_width(fn->kind);
    p->source = given ? (struct split_part){fn->data, NULL, given, given}
                      : (struct split_part){keys, NULL, key_bytes, key_bytes};
    if (given || pass_is_cheap(fn->kind, key_bytes)) {
        pass_add_part(step, p->source.in, given ? NULL : out, p->source.bytes, p->source.bytes);
    } else {
        step->ids_bytes = fn->buckets + step->can_fail <= 256 ? 1 : 2;
        step->ids_out = arena_take(arena, n * step->ids_bytes);
        pass_add_part(step, step->ids_out, NULL, step->ids_bytes, step->ids_bytes);
    }
    if (given || step->ids_out)
        pass_add_column(step, keys, out, key_bytes);
}

void pass_begin_split(struct pass *p, const struct split *s, struct arena *arena)
{
    pass_begin(p, &s->fn, s->n, s->keys, s->key_bytes, s->keys_out, arena);
    for (unsigned c = 0; c < s->columns; c++)
        pass_add_column(&p->step, s->column[c].in, s->column[c].out, s->column[c].bytes);
    if (s->permutation)
        pass_add_part(&p->step, NULL, s->permutation, s->permutation_bytes, s->permutation_bytes);
    p->step.n_at = s->n_at;
    p->step.offsets = s->offsets;
    p->step.counts = s->counts;
    p->step.deferred = s->deferred;
}
