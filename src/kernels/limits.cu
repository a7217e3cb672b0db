/* limits.cu: what the memory can do at most. Each kernel does one kind of access and nothing else; a lane
 * keeps LIMITS_AT_ONCE of them under way. */
#include "shape/limits.h"

/* Access k of those that lane i makes at once: a warp's follow each other. */
CO_INLINE co_u64 limits_access(co_u64 i, co_u32 k)
{
    return (i & ~31ull) * LIMITS_AT_ONCE + k * 32 + (i & 31);
}

CO_KERNEL(limits_copy, struct limits_step)
{
    CO_EACH_WARP (base, args->items / LIMITS_AT_ONCE) {
        co_u64 i = base + co_lane(), stretch = args->items / LIMITS_AT_ONCE;
        co_u128 v[LIMITS_AT_ONCE];
        if (i >= stretch)
            continue;
        for (co_u32 k = 0; k < LIMITS_AT_ONCE; k++)
            v[k] = co_read_stream128((const co_u128 *)args->from + i + k * stretch);
        for (co_u32 k = 0; k < LIMITS_AT_ONCE; k++)
            co_write_stream128((co_u128 *)args->table + i + k * stretch, v[k]);
    }
}

CO_KERNEL(limits_read_32, struct limits_step)
{
    co_u64 sum = 0;
    CO_EACH_WARP (base, args->accesses / LIMITS_AT_ONCE) {
        co_u64 i = base + co_lane();
        co_sector64 s[LIMITS_AT_ONCE];
        if (i >= args->accesses / LIMITS_AT_ONCE)
            continue;
        for (co_u32 k = 0; k < LIMITS_AT_ONCE; k++)
            s[k] =
                co_read_sector64((const co_sector64 *)args->table + limits_place(args, limits_access(i, k)));
        for (co_u32 k = 0; k < LIMITS_AT_ONCE; k++)
            sum += s[k].w[0] ^ s[k].w[1] ^ s[k].w[2] ^ s[k].w[3];
    }
    if (sum == 1)
        co_add64(args->sink, sum);
}

CO_KERNEL(limits_read_8, struct limits_step)
{
    co_u64 sum = 0;
    CO_EACH_WARP (base, args->accesses / LIMITS_AT_ONCE) {
        co_u64 i = base + co_lane(), v[LIMITS_AT_ONCE];
        if (i >= args->accesses / LIMITS_AT_ONCE)
            continue;
        for (co_u32 k = 0; k < LIMITS_AT_ONCE; k++)
            v[k] = co_read64((const co_u64 *)args->table + limits_place(args, limits_access(i, k)));
        for (co_u32 k = 0; k < LIMITS_AT_ONCE; k++)
            sum += v[k];
    }
    if (sum == 1)
        co_add64(args->sink, sum);
}

/* Every word that is visited changes from one of the two words to the other. Where the accesses go round
 * the table several times a lane may be early, and fail; its round is made good two rounds later. */
CO_KERNEL(limits_cas_8, struct limits_step)
{
    co_u64 failed = 0;
    CO_EACH_WARP (base, args->accesses / LIMITS_AT_ONCE) {
        co_u64 i = base + co_lane();
        if (i >= args->accesses / LIMITS_AT_ONCE)
            continue;
        for (co_u32 k = 0; k < LIMITS_AT_ONCE; k++) {
            co_u64 access = limits_access(i, k), turn = args->turn + access / args->items;
            co_u64 *word = (co_u64 *)args->table + limits_place(args, access & (args->items - 1));
            failed += co_cas64(word, LIMITS_WORD(turn), LIMITS_WORD(turn + 1)) != LIMITS_WORD(turn);
        }
    }
    if (failed)
        co_add64(args->sink, failed);
}
