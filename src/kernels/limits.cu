/* limits.cu: what the memory can do at most. Each kernel does one kind of access and nothing else. A lane of
 * a random access makes one and ends, with as many lanes as accesses: the memory has the most under way then,
 * and a multiprocessor takes the next block where lanes that make several in turn would wait for their
 * last. */
#include "shape/limits.h"

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

/* The sum keeps the compiler from leaving the reads out. */
CO_INLINE void limits_keep(const struct limits_step *s, co_u64 sum)
{
    if (sum == 1)
        co_add64(s->sink, sum);
}

CO_KERNEL(limits_read_32, struct limits_step)
{
    CO_EACH_WARP (base, args->accesses) {
        co_u64 place = limits_place(args, base + co_lane());
        co_sector64 s = co_read_sector64((const co_sector64 *)args->table + place);
        limits_keep(args, s.w[0] ^ s.w[1] ^ s.w[2] ^ s.w[3]);
    }
}

CO_KERNEL(limits_read_8, struct limits_step)
{
    CO_EACH_WARP (base, args->accesses)
        limits_keep(args, co_read64((const co_u64 *)args->table + limits_place(args, base + co_lane())));
}

/* Every word that is visited changes from one of the two words to the other. Where the accesses go round
 * the table several times a lane may be early, and fail; its round is made good two rounds later. */
CO_KERNEL(limits_cas_8, struct limits_step)
{
    CO_EACH_WARP (base, args->accesses) {
        co_u64 access = base + co_lane(), turn = args->turn + access / args->items;
        co_u64 *word = (co_u64 *)args->table + limits_place(args, access & (args->items - 1));
        if (co_cas64(word, LIMITS_WORD(turn), LIMITS_WORD(turn + 1)) != LIMITS_WORD(turn))
            co_add64(args->sink, 1);
    }
}
