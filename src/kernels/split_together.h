/* split_together.h: how the blocks of one launch publish to each other where their entries go, if there are
 * no more of them than run at a time (SPLIT_TOGETHER). A block has a tile (split_together.cu), or a span of
 * some (split_spans.h).
 *
 * Published. A block has a word for each bucket: how many entries it has, and the launch's serial, so that
 * nothing need be cleared between launches. It stores the words once it has counted. Every block then reads
 * all words: the sums over all blocks say where buckets begin, those over the blocks before where in the
 * bucket it writes. Number and serial are one word, and nothing else is read because of it: no fence is
 * needed.
 *
 * Why it ends. A block publishes before it waits, but nothing says that all blocks have begun: others' work
 * may have the multiprocessors. So a block waits for a while; then it counts itself what the blocks have that
 * have published nothing yet, publishes that in their place, and looks again. The words of a block are the
 * same whoever publishes them, so two may. Only a block itself writes what it has, whenever it begins: the
 * input is still there, since nobody writes it. */
#ifndef COHORT_KERNELS_SPLIT_TOGETHER_H
#define COHORT_KERNELS_SPLIT_TOGETHER_H

#include "kernels/split_load.h"

/* Looks, of about a microsecond each, for each tile of a block's, before it counts for others. */
#ifdef COHORT_SIM
#    define SPLIT_TOGETHER_TURNS 3
#else
#    define SPLIT_TOGETHER_TURNS 32
#endif
#define SPLIT_TOGETHER_FEW  5  /* words that a lane has under way; */
#define SPLIT_TOGETHER_EACH 11 /* of more than 64 buckets, of which it has more */

CO_INLINE void split_publish_word(const struct split_step *s, co_u32 span, co_u32 b, co_u32 entries)
{
    co_store32(s->published + span * s->buckets + b, entries | s->serial << SPLIT_SERIAL_SHIFT);
}

/* The block's own; of a span the first tile publishes, with what the others have. */
CO_INLINE void split_publish_sum(const struct split_step *s, const struct split_tile *r, co_u32 b,
                                 co_u32 entries, struct split_shape shape)
{
    if (shape.way == SPLIT_TOGETHER)
        split_publish_word(s, r->tile, b, entries);
    else if (r->tile % s->tiles == 0)
        split_publish_word(s, (co_u32)co_block(), b,
                           s->tiles > 1 ? entries + (co_u32)co_read64(r->starts + b) : entries);
}

/* Entries of a block. */
CO_INLINE co_u64 split_each(const struct split_step *s, struct split_shape shape)
{
    return shape.way == SPLIT_TOGETHER ? shape.items * shape.threads
                                       : (co_u64)s->tiles * s->rows * shape.threads;
}

CO_INLINE int split_has_published(const struct split_step *s, co_u32 word)
{
    return word >> SPLIT_SERIAL_SHIFT == s->serial;
}

/* In place of the block that has the span. */
CO_INLINE void split_count_for(const struct split_step *s, const struct split_tile *r, co_u32 span,
                               struct split_shape shape)
{
    const co_u32 *keys = (const co_u32 *)s->part[0].in;
    co_u64 n = split_entries(s), each = split_each(s, shape), first = span * each,
           end = n - first < each ? n : first + each;
    for (co_u32 b = co_thread(); b < s->buckets; b += shape.threads)
        co_write32(r->begins + b, 0);
    co_block_sync();
    for (co_u64 i = first + co_thread(); i < end; i += shape.threads)
        co_add32(r->begins + split_number_of(&s->number, co_read32(keys + i), shape.form, 0), 1);
    co_block_sync();
    for (co_u32 b = co_thread(); b < s->buckets; b += shape.threads)
        split_publish_word(s, span, b, co_load32(r->begins + b));
    co_block_sync();
}

/* Publishes for all that have not begun to. */
CO_INLINE void split_help(const struct split_step *s, const struct split_tile *r, struct split_shape shape)
{
    for (co_u32 span = 0; span < s->spans; span++) {
        if (co_thread() == 0)
            co_write32(r->groups, split_has_published(s, co_load32(s->published + span * s->buckets)));
        co_block_sync();
        co_u32 published = co_read32(r->groups);
        co_block_sync();
        if (!published)
            split_count_for(s, r, span, shape);
    }
}

/* The lane's share of bucket b's words: from span `first` on, one of `step`; `each` of them, a literal, are
 * under way at a time. 0: it has waited for one in vain. */
CO_INLINE int split_sum_share(const struct split_step *s, const struct split_tile *r, co_u32 b, co_u32 first,
                              co_u32 step, co_u32 each)
{
    const co_u32 none = s->serial << SPLIT_SERIAL_SHIFT, spans = (co_u32)s->spans, own = (co_u32)co_block();
    co_u32 all = 0, before = 0, turns = 0;
    for (co_u32 span = first; span < spans; span += each * step) {
        co_u32 word[SPLIT_TOGETHER_EACH];
        CO_EACH_ITEM (j, each) {
            co_u32 t = span + j * step;
            word[j] = t < spans ? co_load32(s->published + t * s->buckets + b) : none;
        }
        CO_EACH_ITEM (j, each) {
            co_u32 t = span + j * step;
            for (; !split_has_published(s, word[j]); turns++) {
                if (turns == SPLIT_TOGETHER_TURNS * s->tiles)
                    return 0;
                co_pause();
                word[j] = co_load32(s->published + t * s->buckets + b);
            }
            all += word[j] - none;
            before += t < own ? word[j] - none : 0;
        }
    }
    co_add32(r->begins + b, all);
    co_add32(r->all + b, before);
    return 1;
}

/* begins[b] = the entries of bucket b; all[b] = those in the blocks before this one. The first warp's
 * counters are `all`, of which nobody needs anything by now. */
CO_INLINE void split_sum_all(const struct split_step *s, const struct split_tile *r, struct split_shape shape)
{
    co_u32 lanes = 32, late;
    while (lanes < s->buckets)
        lanes *= 2;
    co_u32 shares = lanes < shape.threads ? shape.threads / lanes : 1;
    do {
        for (co_u32 b = co_thread(); b < s->buckets; b += shape.threads) {
            co_write32(r->begins + b, 0);
            co_write32(r->all + b, 0);
        }
        if (co_thread() == 0)
            co_write32(r->groups + 1, 0);
        co_block_sync();
        for (co_u32 b = co_thread() % lanes, first = co_thread() / lanes; b < s->buckets && first < shares;
             b += shape.threads) {
            int published = shape.way == SPLIT_TOGETHER && shape.bits > 6 && s->buckets > 64
                                ? split_sum_share(s, r, b, first, shares, SPLIT_TOGETHER_EACH)
                                : split_sum_share(s, r, b, first, shares, SPLIT_TOGETHER_FEW);
            if (!published)
                co_store32(r->groups + 1, 1);
        }
        co_block_sync();
        late = co_load32(r->groups + 1);
        if (late)
            split_help(s, r, shape);
    } while (late);
}

#endif
