/* kernels/map_winner.h: the winner rule's passes on a GPU, for one width. Included by map_width.h.
 *
 * Most keys are in a batch once, and a word a slot that every entry raises would cost as much as its insert
 * does. So only those that find their key there raise the slot's word; who puts a key in keeps quiet and
 * notes that it was first, in a bit of its own.
 *
 * CLAIM   every entry puts its key in. Who finds it there raises the word, and notes that there was a
 *         contest.
 * RANK    if there was: the first ones look at their slots' words. A greater rank there: the bit is taken
 *         back. A smaller one: the word is set to the first one's.
 * SETTLE  tells what has become of each entry. If there was a contest, those that were not first look whether
 *         the word is theirs: then they have won, and write their values.
 *
 * Slots that were taken before the batch have nobody that was first: all that may change them raise the
 * word. */

/* CLAIM, an entry. */
CO_INLINE int MAP(claim_quietly)(const struct map_batch *b, co_u64 i, int *told, co_map_tally *tally)
{
    struct MAP(place) at;
    KEY key = MAP(key_at)(b->keys, i);
    int r = MAP(seek)(&b->view, key, CO_SEEK_PUT, MAP(value_at)(b->values, i), &at);
    if (r == CO_MAP_NEW)
        MAP(tally)(&at, tally);
    if (r == CO_MAP_HIT && MAP(tell)(b, at.slot, MAP(rank)(b, i)))
        *told = 1;
    return r;
}

/* From the end at which ranks are greatest, so that most find a greater one there and need not raise it. */
CO_INLINE void MAP(claim_batch)(const struct map_batch *b)
{
    co_map_tally tally = {0, 0};
    int told = 0;
    CO_EACH_WARP (place, b->n) {
        co_u64 base = b->rank == MAP_RANK_FIRST ? place : ((b->n - 1) & ~31ull) - place;
        co_u64 i = base + co_lane(), word = (b->rank_before + base) / 32;
        int r = CO_MAP_MISS;
        if (map_takes_part(b, base, i))
            r = MAP(claim_quietly)(b, i, &told, &tally);
        co_warp_sync(CO_FULL_WARP);
        co_u32 first = co_ballot(CO_FULL_WARP, r == CO_MAP_NEW),
               full = co_ballot(CO_FULL_WARP, r == CO_MAP_FULL);
        if (co_lane() == 0) {
            co_write32(&b->claims.first[word], first);
            co_write32(&b->claims.full[word], full);
        }
    }
    if (co_any(CO_FULL_WARP, told) && co_lane() == 0)
        co_store64(b->claims.contested, 1);
    map_flush_warp(&b->view, &tally);
}

/* RANK, an entry that was first: 1 if it still is. Nobody else has this word in this pass. */
CO_INLINE int MAP(still_first)(const struct map_batch *b, co_u64 i)
{
    struct MAP(place) at;
    co_u32 rank = MAP(rank)(b, i);
    MAP(seek)(&b->view, MAP(key_at)(b->keys, i), CO_SEEK_QUIET, 0, &at);
    co_u32 word = co_read32(&b->winners[at.slot]);
    if (word && word < rank)
        co_write32(&b->winners[at.slot], rank);
    return word < rank;
}

CO_INLINE void MAP(rank_batch)(const struct map_batch *b)
{
    if (!co_read64(b->claims.contested))
        return;
    CO_EACH_WARP (base, b->n) {
        co_u64 word = (b->rank_before + base) / 32;
        co_u32 first = co_read32(&b->claims.first[word]);
        int stays = first >> co_lane() & 1;
        if (stays)
            stays = MAP(still_first)(b, base + co_lane());
        co_warp_sync(CO_FULL_WARP);
        first = co_ballot(CO_FULL_WARP, stays);
        if (co_lane() == 0)
            co_write32(&b->claims.first[word], first);
    }
}

CO_INLINE void MAP(settle_batch)(const struct map_batch *b)
{
    struct map_report report = map_report_begin();
    int contested = co_read64(b->claims.contested) != 0;
    CO_EACH_WARP (base, b->n) {
        co_u64 i = base + co_lane(), word = (b->rank_before + base) / 32;
        co_u32 first = co_read32(&b->claims.first[word]), full = co_read32(&b->claims.full[word]);
        int active = map_takes_part(b, base, i), r = CO_MAP_HIT;
        if (first >> co_lane() & 1)
            r = CO_MAP_NEW;
        else if (full >> co_lane() & 1)
            r = CO_MAP_FULL;
        else if (active && contested)
            r = MAP(settle)(b, MAP(key_at)(b->keys, i), MAP(value_at)(b->values, i), i);
        co_warp_sync(CO_FULL_WARP);
        map_report_warp(b, MAP_STEP_SETTLE, base, active, r, &report);
    }
    map_report_end(b, &report);
}
