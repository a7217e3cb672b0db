/* sets_look.cu: questions to collections: a lane each. */
#include "sets_warp.h"
#include "shape/bits.h"

CO_KERNEL(sets_look, struct sets_look)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        int hit = i < args->n && sets_look_one(args, i);
        co_u32 word = co_ballot(CO_FULL_WARP, hit);
        if (args->hit && co_lane() == 0)
            bits_put_word(args->hit, base, args->n, word);
    }
}

/* Which keys are members of one set, as ids of a split. */
CO_KERNEL(sets_member_ids, struct sets_member_ids)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        if (i < args->n)
            co_write32(args->ids + i,
                       (co_u32)co_sets_contains(&args->view, args->set, sets_member_key(args, i)));
    }
}
