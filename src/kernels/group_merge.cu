/* group_merge.cu: states of groups into states. A lane a state, or a group.
 *
 * What states do to each other is additions, maxima and bits that are set, as with rows (group.cu). A launch
 * before finds what is to be known of all that come to a group; one behind fetches its first and last
 * values. */
#include "group_words.h"

CO_INLINE void group_merge_exact(co_u64 *to, const co_u64 *from)
{
    const co_u32 top = co_read32((co_u32 *)to + GROUP_EXACT_TOP);
    const co_u32 own = co_read32((const co_u32 *)from + GROUP_EXACT_TOP);
    const co_u32 special = co_read32((const co_u32 *)from + GROUP_EXACT_TOP + 1);
    co_add64(to + GROUP_EXACT_COUNT, co_read64(from + GROUP_EXACT_COUNT));
    if (special)
        co_or32((co_u32 *)to + GROUP_EXACT_TOP + 1, special);
    for (co_u32 k = 0; own && k < GROUP_BINS; k++)
        if (k + own >= top)
            group_add128(to + k + own - top, to + GROUP_BINS + k + own - top, co_read64(from + k),
                         co_read64(from + GROUP_BINS + k));
}

/* As group_moments_merge has it; the shift is there. */
CO_INLINE void group_merge_moments(co_u64 *to, const co_u64 *from)
{
    const co_u64 count = co_read64(from + GROUP_MOMENTS_COUNT);
    const double n = (double)count, sum = group_real(co_read64(from + 1));
    const double by = group_real(co_read64(from)) - group_real(co_read64(to));
    if (!count)
        return;
    co_add_real64(to + 1, group_bits(sum + n * by));
    co_add_real64(to + 2, group_bits(group_real(co_read64(from + 2)) + 2 * by * sum + n * by * by));
    co_add64(to + GROUP_MOMENTS_COUNT, count);
}

CO_INLINE void group_merge_state(const struct group_merge_step *s, co_u32 group, co_u64 i)
{
    const co_u64 *from = s->from + i * (group_state_bytes(s->state) / 8);
    co_u64 *to = group_at(s->to, s->state, group);
    co_u64 word = co_read64(from);
    switch (s->state) {
    case GROUP_COUNT:
        co_add64(to, word);
        return;
    case GROUP_SUM:
        group_add128(to, to + 1, word, co_read64(from + 1));
        co_add64(to + 2, co_read64(from + 2));
        return;
    case GROUP_WIDE:
        group_add192(to, word, co_read64(from + 1), co_read64(from + 2));
        co_add64(to + GROUP_WIDE_COUNT, co_read64(from + GROUP_WIDE_COUNT));
        return;
    case GROUP_FLOATS:
        co_add_real64(to, word);
        co_add64(to + 1, co_read64(from + 1));
        return;
    case GROUP_EXACT:
        group_merge_exact(to, from);
        return;
    case GROUP_MOMENTS:
        group_merge_moments(to, from);
        return;
    case GROUP_MIN:
    case GROUP_MAX:
        if (!co_read64(from + 1))
            return;
        group_raise64(to, s->state == GROUP_MIN ? ~word : word);
        group_mark64(to + 1, 1);
        return;
    case GROUP_FIRST:
    case GROUP_LAST:
        if (co_read64(from + 1))
            group_raise64(s->best + group, s->state == GROUP_FIRST ? ~i : i + 1);
        return;
    default:
        group_mark64(to, word);
        return;
    }
}

CO_KERNEL(group_merge, struct group_merge_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u32 group = group_of(args->ids, args->n, i);
        if (group != KEYS_NO_ID)
            group_merge_state(args, group, i);
    }
}

/* The highest digit of what comes to a group; of MOMENTS the first that has a value. */
CO_KERNEL(group_merge_tops, struct group_merge_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        co_u32 group = group_of(args->ids, args->n, i);
        if (group == KEYS_NO_ID)
            continue;
        const co_u64 *from = args->from + i * (group_state_bytes(args->state) / 8);
        if (args->state == GROUP_EXACT)
            group_raise64(args->best + group, co_read32((const co_u32 *)from + GROUP_EXACT_TOP));
        else if (co_read64(from + GROUP_MOMENTS_COUNT))
            group_raise64(args->best + group, ~i);
    }
}

CO_KERNEL(group_merge_shift, struct group_merge_step)
{
    const co_u64 words = group_state_bytes(GROUP_MOMENTS) / 8;
    CO_EACH_WARP (base, args->groups) {
        co_u64 group = base + co_lane(), best = group < args->groups ? co_read64(args->best + group) : 0;
        co_u64 *to = group_at(args->to, GROUP_MOMENTS, group);
        if (best && !co_read64(to + GROUP_MOMENTS_COUNT))
            co_write64(to, co_read64(args->from + ~best * words));
    }
}

CO_KERNEL(group_merge_ends, struct group_merge_step)
{
    CO_EACH_WARP (base, args->groups) {
        co_u64 group = base + co_lane(), best = group < args->groups ? co_read64(args->best + group) : 0;
        co_u64 *to = group_at(args->to, args->state, group);
        if (!best || (args->state == GROUP_FIRST && co_read64(to + 1)))
            continue;
        co_u64 i = args->state == GROUP_FIRST ? ~best : best - 1;
        co_write64(to, co_read64(args->from + 2 * i));
        co_write64(to + 1, 1);
    }
}
