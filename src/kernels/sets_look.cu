/* sets_look.cu: questions to collections: a lane each. */
#include "sets_warp.h"

CO_KERNEL(sets_look, struct sets_look)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        int hit = i < args->n && sets_look_one(args, i);
        co_u32 word = co_ballot(CO_FULL_WARP, hit);
        if (args->hit && co_lane() == 0)
            co_write32(args->hit + base / 32, word);
    }
}
