/* kernels/map_sample.h: by which way a large batch goes, pages or one by one, as a sample of it tells: for
 * one width. Included once per instance after kernels/map_page.h.
 *
 * Puts (INSERT and ASSIGN): keys that are there, and found at once, cost the ordinary kernel one access each,
 * and pages cost more. Lookups: a key costs the ordinary kernel as many accesses as its walk has buckets, and
 * pages the same whatever its walk, and more if it is found, since what is found is written somewhere in the
 * results. Keys with a share of the batch are more than their pages take, while the ordinary kernel finds
 * them in the cache.
 *
 * Parameters: those of shape/map_entry.h. */

#define SAMPLE_EACH 4  /* keys that a lane reads at once; the sample is whole turns of the block's lanes */
#define SAMPLE_WALK 10 /* buckets of a walk that are looked at, at most */

/* What became of a sample. */
struct MAP(sample) {
    co_u32 there; /* keys found: of puts in the first bucket of their walks, */
    co_u32 walk;  /* and buckets looked at for that */
    co_u32 again; /* entries whose key came before */
};

/* Has the sample had this key before? `seen` has words of hashes, each in the first place from its own on
 * that was free. */
CO_INLINE int MAP(came_before)(co_u32 *seen, co_u64 hash)
{
    co_u32 word = (co_u32)hash | 1, at = (co_u32)(hash >> 32), old;
    do
        old = co_cas32(seen + (at++ & (MAP_SAMPLE_WORDS - 1)), 0, word);
    while (old && old != word);
    return old == word;
}

/* Entry i of the sample: one of a part of MAP_SAMPLE of the batch, at random, for keys may come again in
 * regular steps. The first few entries are from all over the batch, too: parts follow each other by the
 * golden section. There are less than 2^36 entries. */
CO_INLINE KEY MAP(sample_key)(const struct map_sample *s, co_u32 i)
{
    co_u32 random = (co_u32)(co_hash(i, 0) >> 32) % MAP_SAMPLE_STEPS;
    co_u64 part = i * 2531u % MAP_SAMPLE;
    return MAP(key_at)(s->keys, s->n * (part * MAP_SAMPLE_STEPS + random) / (MAP_SAMPLE * MAP_SAMPLE_STEPS));
}

/* A key's walk, as far as `most` buckets, until it is found or known to be absent. */
CO_INLINE void MAP(sample_walk)(const struct map_sample *s, KEY key, co_u32 most, struct MAP(sample) * sum)
{
    const cohort_map_view *m = &s->view;
    struct co_walk w = co_walk_begin(co_hash(key, m->seed), m->pages, PAGE_BUCKETS - 1, m->linear);
    int settled = 0;
    for (co_u32 looked = 0; !settled && looked < most; looked++) {
        co_u64 first = co_map_walk_bucket(m, &w) * PAGE_BUCKET;
        VALUE value;
        int found = 0, empty = 0;
        CO_EACH_ITEM (j, PAGE_BUCKET) {
            KEY there = MAP(page_slot_read)(m, first + j, &value);
            found |= there == key;
            empty |= there == PAGE_NONE;
        }
        sum->there += (co_u32)found;
        sum->walk++;
        settled = found || empty || !co_walk_next(&w, m->pages, m->mask, m->reach, PAGE_BUCKET);
    }
}

/* A lane's part of the sample. Of puts all keys are looked for at home; of lookups the first of each lane
 * walks, for that takes longer. */
CO_INLINE struct MAP(sample) MAP(sample_part)(const struct map_sample *s, co_u32 *seen)
{
    struct MAP(sample) sum = {0, 0, 0};
    for (co_u32 i = co_thread(); i < MAP_SAMPLE; i += SAMPLE_EACH * co_threads()) {
        KEY keys[SAMPLE_EACH];
        CO_EACH_ITEM (j, SAMPLE_EACH)
            keys[j] = MAP(sample_key)(s, i + j * co_threads());
        if (s->looks && i < co_threads())
            MAP(sample_walk)(s, keys[0], SAMPLE_WALK, &sum);
        CO_EACH_ITEM (j, SAMPLE_EACH)
            if (!s->looks && !s->fresh)
                MAP(sample_walk)(s, keys[j], 1, &sum);
        CO_EACH_ITEM (j, SAMPLE_EACH)
            sum.again += (co_u32)MAP(came_before)(seen, co_hash(keys[j], s->view.seed));
    }
    return sum;
}

/* Does no entry go by pages? */
CO_INLINE int MAP(sample_alone)(const struct map_sample *s, co_u32 there, co_u32 walk, co_u32 again)
{
    if (again >= s->repeats)
        return 1;
    return s->looks ? walk * 8 < s->dear * co_threads() + s->found * there : there >= MAP_SAMPLE / 8 * 7;
}

CO_KERNEL_BOUND(NAME(sample), struct map_sample, 512, 3)
{
    CO_SHARED(co_u32, seen, MAP_SAMPLE_WORDS);
    CO_SHARED(co_u32, sums, 3);
    if (co_block())
        return;
    for (co_u32 i = co_thread(); i < MAP_SAMPLE_WORDS; i += co_threads())
        co_store32(seen + i, 0);
    if (co_thread() < 3)
        co_store32(sums + co_thread(), 0);
    co_block_sync();
    struct MAP(sample) sum = MAP(sample_part)(args, seen);
    co_add32(sums, sum.there);
    co_add32(sums + 1, sum.walk);
    co_add32(sums + 2, sum.again);
    co_block_sync();
    if (co_thread())
        return;
    int alone = MAP(sample_alone)(args, co_load32(sums), co_load32(sums + 1), co_load32(sums + 2));
    co_write64(args->share, alone ? 0 : args->n);
    co_write64(args->gate, (co_u64)alone);
}

#undef SAMPLE_EACH
#undef SAMPLE_WALK
