/* kernels/lines_winner.h: the winner rule's passes on a GPU for maps of LINES, for one width. Included by
 * lines_width.h.
 *
 * Keys move while others are put in, so slots get their words when all are in.
 *
 * CLAIM every entry puts its key in. Who did is noted in a bit, who found no slot in another; and whether
 * somebody found a key there, or no
 *         slot: else all is settled, since every entry has a key of its own.
 * RANK if there was: each entry raises the word of its key's slot to its rank. Who put the key in marks the
 * word as new. Entries that found no
 *         slot look, too: another one with that key may have found one.
 * SETTLE tells what has become of each entry. Whose rank the word has has won, and writes its value, but for
 * an insert of a key that was in
 *         before the batch. */

#define LINES_WINNER_NEW 0x80000000u /* the key came in with this batch */

CO_INLINE void LINES(claim_batch)(const struct map_batch *b)
{
    co_lines_tally tally = {0, 0, 0, 0, 0};
    int contest = 0;
    CO_EACH_WARP (base, b->n) {
        const co_u64 i = base + co_lane(), word = (b->rank_before + base) / 32;
        int r = CO_MAP_MISS;
        if (map_takes_part(b, base, i)) {
            const KEY key = LINES(key_at)(b->keys, i);
            VALUE old;
            r = LINES(do)(&b->view, LINES(home)(&b->view, key), CO_OP_INSERT, key,
                          LINES(value_at)(b->values, i), &old, &tally, 0);
            contest |= r != CO_MAP_NEW;
        }
        co_warp_sync(CO_FULL_WARP);
        const co_u32 first = co_ballot(CO_FULL_WARP, r == CO_MAP_NEW),
                     full = co_ballot(CO_FULL_WARP, r == CO_MAP_FULL);
        if (co_lane() == 0) {
            co_write32(&b->claims.first[word], first);
            co_write32(&b->claims.full[word], full);
        }
    }
    if (co_any(CO_FULL_WARP, contest) && co_lane() == 0)
        co_store64(b->claims.contested, 1);
    lines_flush_warp(&b->view, &tally);
}

/* The slot of entry i's key, and its word; NULL: the key is not in. Names do not change in this launch,
 * values may. */
CO_INLINE co_u32 *LINES(seat)(const struct map_batch *b, co_u64 i, struct LINES(slot) * s)
{
    const KEY key = LINES(key_at)(b->keys, i);
    const co_u64 home = LINES(home)(&b->view, key), w = co_load64(LINES(word)(&b->view, home));
    if (!LINES(scan)(&b->view, home, w, key, s, 0))
        return (co_u32 *)0;
    return &b->winners[s->home * CO_LINES_SLOTS + s->at];
}

/* The rank of entry i among all that are ranked together: the greatest decides. */
CO_INLINE co_u32 LINES(rank)(const struct map_batch *b, co_u64 i)
{
    return (co_u32)(b->rank == MAP_RANK_FIRST ? b->n - i + b->rank_after : b->rank_before + i + 1);
}

/* Rank and mark are one word, so that they are raised by compare-and-swap; a rank that is no more than the
 * word's adds nothing. */
CO_INLINE void LINES(raise)(co_u32 *word, co_u32 rank, co_u32 mark)
{
    co_u32 seen = co_load32(word);
    for (;;) {
        const co_u32 had = seen & ~LINES_WINNER_NEW,
                     wanted = (seen & LINES_WINNER_NEW) | mark | (rank > had ? rank : had);
        if (wanted == seen)
            return;
        const co_u32 now = co_cas32(word, seen, wanted);
        if (now == seen)
            return;
        seen = now;
    }
}

CO_INLINE void LINES(rank_batch)(const struct map_batch *b)
{
    if (!co_read64(b->claims.contested))
        return;
    CO_EACH_WARP (base, b->n) {
        const co_u64 i = base + co_lane(), at = (b->rank_before + base) / 32;
        const co_u32 first = co_read32(&b->claims.first[at]);
        struct LINES(slot) s;
        co_u32 *word = map_takes_part(b, base, i) ? LINES(seat)(b, i, &s) : (co_u32 *)0;
        if (word)
            LINES(raise)(word, LINES(rank)(b, i), first >> co_lane() & 1 ? LINES_WINNER_NEW : 0);
    }
}

/* SETTLE, an entry of a batch in which there was a contest. */
CO_INLINE int LINES(settle)(const struct map_batch *b, co_u64 i)
{
    struct LINES(slot) s;
    const co_u32 *at = LINES(seat)(b, i, &s);
    if (!at)
        return CO_MAP_FULL;
    const co_u32 word = co_read32(at);
    if ((word & ~LINES_WINNER_NEW) != LINES(rank)(b, i))
        return CO_MAP_HIT;
    if (word & LINES_WINNER_NEW || b->op == CO_OP_ASSIGN)
        LINES(set_value)(&b->view, s, LINES(value_at)(b->values, i), 0);
    return word & LINES_WINNER_NEW ? CO_MAP_NEW : CO_MAP_HIT;
}

CO_INLINE void LINES(settle_batch)(const struct map_batch *b)
{
    struct map_report report = map_report_begin();
    const int contested = co_read64(b->claims.contested) != 0;
    CO_EACH_WARP (base, b->n) {
        const co_u64 i = base + co_lane();
        const int active = map_takes_part(b, base, i);
        int r = CO_MAP_NEW;
        if (active && contested)
            r = LINES(settle)(b, i);
        co_warp_sync(CO_FULL_WARP);
        map_report_warp(b, MAP_STEP_SETTLE, base, active, r, &report);
    }
    map_report_end(b, &report);
}

#undef LINES_WINNER_NEW
