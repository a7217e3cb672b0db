/* group.cu: rows folded into the states of their groups, and states as columns. A lane a row, or a group.
 *
 * Many lanes have rows of one group. What they do to its state are additions, maxima and bits that are set,
 * by atomic operations, whose order does not matter, but for sums of floats that are not to be reproducible.
 * Sums of integers have 128 bits, of decimals 192: who makes a word run over adds one to the next. The first
 * and last of a group are found as numbers of rows, by a maximum, and fetched by a lane a group in a launch
 * behind. Reproducible sums go by three launches: the highest digit of each group; bins are moved up to it;
 * then the digits of all rows go to bins that do not move. Variances first look for the first row of each
 * group, whose value all others are compared with.
 *
 * Where groups are few a block has a table of them in shared memory, each group in several places, so that
 * lanes side by side do not wait for each other: words of 4 bytes, which have atomic additions of their own
 * there. At its end it goes into the states. */
#include "group_words.h"
#include "keys_value.h"

/* ---- a row's value ------------------------------------------------------------------------------------- */

/* A word of the decimal of row i: 0 the low one, 1 the high one. */
CO_INLINE co_u64 group_decimal_word(const struct group_fold_step *s, co_u64 i, co_u32 which)
{
    return co_read64((const co_u64 *)s->column.data + 2 * i + which);
}

/* The decimal as the bits of a double. */
CO_INLINE co_u64 group_decimal_at(const struct group_fold_step *s, co_u64 i)
{
    const co_u64 low = group_decimal_word(s, i, 0), high = group_decimal_word(s, i, 1);
    return group_bits(group_decimal(low, high, s->scale));
}

/* The word of row i as its state wants it; of WIDE, whose values have two, the row. 0: it is no value. */
CO_INLINE int group_word_of(const struct group_fold_step *s, co_u64 i, co_u64 *word)
{
    const co_u32 kind = s->column.kind, bytes = s->column.bytes;
    co_u32 state;
    *word = 0;
    if (s->rows)
        return 1;
    co_u64 own = keys_value(&s->column, i, &state);
    if (state)
        return 0;
    switch (s->state) {
    case GROUP_FLOATS:
    case GROUP_EXACT:
        *word = group_double(kind, bytes, own);
        return 1;
    case GROUP_MOMENTS:
        *word = s->decimal ? group_decimal_at(s, i) : group_double(kind, bytes, own);
        return 1;
    case GROUP_MIN:
        *word = ~group_ordered(kind, bytes, own);
        return 1;
    case GROUP_MAX:
        *word = group_ordered(kind, bytes, own);
        return 1;
    case GROUP_WIDE:
        *word = i;
        return 1;
    case GROUP_FIRST:
        *word = ~i;
        return 1;
    case GROUP_LAST:
        *word = i + 1;
        return 1;
    default:
        *word = own;
        return 1;
    }
}

/* ---- a row into its group's state ---------------------------------------------------------------------- */

CO_INLINE void group_fold_exact(co_u64 *to, co_u64 bits)
{
    struct group_digits d;
    const co_u32 top = co_read32((co_u32 *)to + GROUP_EXACT_TOP);
    co_u32 bin;
    group_digits_of(bits, &d);
    co_add64(to + GROUP_EXACT_COUNT, 1);
    if (d.special)
        co_or32((co_u32 *)to + GROUP_EXACT_TOP + 1, d.special);
    for (co_u32 k = 0; k < 3; k++)
        if (group_digit_kept(&d, k, top, &bin))
            group_add128(to + bin, to + GROUP_BINS + bin, d.negative ? 0 - d.digit[k] : d.digit[k],
                         d.negative ? ~0ull : 0);
}

CO_INLINE void group_fold_moments(co_u64 *to, co_u64 bits)
{
    const double d = group_real(bits) - group_real(co_read64(to));
    co_add_real64(to + 1, group_bits(d));
    co_add_real64(to + 2, group_bits(d * d));
    co_add64(to + GROUP_MOMENTS_COUNT, 1);
}

CO_INLINE void group_fold_wide(const struct group_fold_step *s, co_u64 *to, co_u64 row)
{
    const co_u64 high = group_decimal_word(s, row, 1);
    group_add192(to, group_decimal_word(s, row, 0), high, 0 - (high >> 63));
    co_add64(to + GROUP_WIDE_COUNT, 1);
}

CO_INLINE void group_fold_row(const struct group_fold_step *s, co_u32 group, co_u64 word)
{
    co_u64 *to = group_at(s->states, s->state, group);
    switch (s->state) {
    case GROUP_COUNT:
        co_add64(to, 1);
        return;
    case GROUP_SUM:
        group_add128(to, to + 1, word, s->column.kind == KEYS_SIGNED ? 0 - (word >> 63) : 0);
        co_add64(to + 2, 1);
        return;
    case GROUP_FLOATS:
        co_add_real64(to, word);
        co_add64(to + 1, 1);
        return;
    case GROUP_EXACT:
        group_fold_exact(to, word);
        return;
    case GROUP_MOMENTS:
        group_fold_moments(to, word);
        return;
    case GROUP_WIDE:
        group_fold_wide(s, to, word);
        return;
    case GROUP_MIN:
    case GROUP_MAX:
        group_raise64(to, word);
        group_mark64(to + 1, 1);
        return;
    case GROUP_FIRST:
    case GROUP_LAST:
        group_raise64(s->best + group, word);
        return;
    default:
        group_mark64(to, word ? 1 : 2);
        return;
    }
}

CO_KERNEL(group_fold, struct group_fold_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane(), word;
        co_u32 group = group_of(args->ids, args->n, i);
        if (group != KEYS_NO_ID && group_word_of(args, i, &word))
            group_fold_row(args, group, word);
    }
}

/* ---- few groups: a block's table ----------------------------------------------------------------------- */

struct group_table {
    co_u64 *word; /* fields of `all`: one of each place of each group */
    co_u32 *half; /* the same */
    co_u32 all;
};

/* A sum of two words of 4 bytes, the high one `all` behind the low one. */
CO_INLINE void group_few_add(co_u32 *low, co_u32 all, co_u64 v)
{
    const co_u32 add = (co_u32)v, old = co_add32(low, add);
    const co_u32 above = (co_u32)(v >> 32) + (old + add < old);
    if (above)
        co_add32(low + all, above);
}

CO_INLINE void group_few_exact(const struct group_fold_step *s, co_u32 *half, co_u32 all, co_u32 group,
                               co_u64 bits)
{
    struct group_digits d;
    const co_u32 top = co_read32((co_u32 *)group_at(s->states, GROUP_EXACT, group) + GROUP_EXACT_TOP);
    co_u32 bin;
    group_digits_of(bits, &d);
    if (d.special)
        co_or32(half + all, d.special);
    for (co_u32 k = 0; k < 3; k++)
        if (group_digit_kept(&d, k, top, &bin))
            group_few_add(half + (2 + 2 * bin) * all, all, d.negative ? 0 - d.digit[k] : d.digit[k]);
}

/* Of the four quarters of 4 bytes each has a sum, the last one with its sign. */
CO_INLINE void group_few_wide(const struct group_fold_step *s, co_u32 *half, co_u32 all, co_u64 row)
{
    for (co_u32 k = 0; k < 4; k++) {
        const co_u64 word = group_decimal_word(s, row, k / 2);
        const co_u64 quarter = k == 3   ? (co_u64)((long long)word >> 32)
                               : k == 1 ? word >> 32
                                        : word & 0xffffffffu;
        group_few_add(half + 2 * k * all, all, quarter);
    }
}

CO_INLINE void group_few_moments(const struct group_fold_step *s, co_u64 *word, co_u32 all, co_u32 group,
                                 co_u64 bits)
{
    const double shift = group_real(co_read64(group_at(s->states, GROUP_MOMENTS, group)));
    const double d = group_real(bits) - shift;
    co_add_real64(word, group_bits(d));
    co_add_real64(word + all, group_bits(d * d));
}

CO_INLINE void group_few_row(const struct group_fold_step *s, const struct group_table *t, co_u32 group,
                             co_u64 word)
{
    const co_u32 at = group * s->places + (co_lane() & (s->places - 1)), all = t->all;
    co_u32 *half = t->half + at;
    switch (s->state) {
    case GROUP_MIN:
    case GROUP_MAX:
        co_max64(t->word + at, word);
        break;
    case GROUP_FIRST:
    case GROUP_LAST:
        co_max64(t->word + at, word);
        return;
    case GROUP_FLOATS:
        co_add_real64(t->word + at, word);
        break;
    case GROUP_SUM:
        if (s->column.bytes == 8) {
            const co_u64 above = s->column.kind == KEYS_SIGNED ? (co_u64)((long long)word >> 32) : word >> 32;
            group_few_add(half + all, all, word & 0xffffffffu);
            group_few_add(half + 3 * all, all, above);
        } else {
            group_few_add(half + all, all, word);
        }
        break;
    case GROUP_EXACT:
        group_few_exact(s, half, all, group, word);
        break;
    case GROUP_MOMENTS:
        group_few_moments(s, t->word + at, all, group, word);
        break;
    case GROUP_WIDE:
        group_few_wide(s, half + all, all, word);
        break;
    default:
        break;
    }
    co_add32(half, 1);
}

/* What a group has in field k and the one behind it, of all places, as one signed sum. */
CO_INLINE co_u64 group_few_sum(const struct group_fold_step *s, const struct group_table *t, co_u32 group,
                               co_u32 k)
{
    co_u64 sum = 0;
    for (co_u32 at = group * s->places; at < (group + 1) * s->places; at++)
        sum += co_read32(t->half + k * t->all + at) | (co_u64)co_read32(t->half + (k + 1) * t->all + at)
                                                          << 32;
    return sum;
}

/* The sums of the quarters, each where it belongs. */
CO_INLINE void group_few_quarters(const struct group_fold_step *s, const struct group_table *t, co_u32 group,
                                  co_u64 *to)
{
    for (co_u32 k = 0; k < 4; k++) {
        const co_u64 sum = group_few_sum(s, t, group, 1 + 2 * k), sign = 0 - (sum >> 63);
        const co_u64 low = k & 1 ? sum << 32 : sum, high = k & 1 ? (co_u64)((long long)sum >> 32) : sign;
        group_add192(to, k < 2 ? low : 0, k < 2 ? high : low, k < 2 ? sign : high);
    }
}

/* What a group has in word k, of all places, as a sum of doubles. */
CO_INLINE co_u64 group_few_reals(const struct group_fold_step *s, const struct group_table *t, co_u32 group,
                                 co_u32 k)
{
    double sum = 0;
    for (co_u32 at = group * s->places; at < (group + 1) * s->places; at++)
        sum += group_real(co_read64(t->word + k * t->all + at));
    return group_bits(sum);
}

/* What a group has in a block's table goes to its state: of words the greatest, or their sum. */
CO_INLINE void group_few_end(const struct group_fold_step *s, const struct group_table *t, co_u32 group)
{
    co_u64 *to = group_at(s->states, s->state, group), count = 0, word = 0;
    co_u32 special = 0;
    for (co_u32 at = group * s->places; at < (group + 1) * s->places; at++) {
        co_u64 own = t->word ? co_read64(t->word + at) : 0;
        word = own > word ? own : word;
        count += t->half ? co_read32(t->half + at) : 0;
        special |= s->state == GROUP_EXACT ? co_read32(t->half + t->all + at) : 0;
    }
    if (s->state == GROUP_FIRST || s->state == GROUP_LAST) {
        if (word)
            group_raise64(s->best + group, word);
        return;
    }
    if (!count)
        return;
    if (s->state == GROUP_MIN || s->state == GROUP_MAX) {
        group_raise64(to, word);
        group_mark64(to + 1, 1);
        return;
    }
    if (s->state == GROUP_FLOATS)
        co_add_real64(to, group_few_reals(s, t, group, 0));
    for (co_u32 k = 0; s->state == GROUP_MOMENTS && k < 2; k++)
        co_add_real64(to + 1 + k, group_few_reals(s, t, group, k));
    if (s->state == GROUP_SUM) {
        word = group_few_sum(s, t, group, 1);
        group_add128(to, to + 1, word, 0 - (word >> 63));
    }
    if (s->state == GROUP_SUM && s->column.bytes == 8) {
        word = group_few_sum(s, t, group, 3);
        group_add128(to, to + 1, word << 32, (co_u64)((long long)word >> 32));
    }
    if (s->state == GROUP_WIDE)
        group_few_quarters(s, t, group, to);
    for (co_u32 bin = 0; s->state == GROUP_EXACT && bin < GROUP_BINS; bin++) {
        word = group_few_sum(s, t, group, 2 + 2 * bin);
        group_add128(to + bin, to + GROUP_BINS + bin, word, 0 - (word >> 63));
    }
    if (special)
        co_or32((co_u32 *)to + GROUP_EXACT_TOP + 1, special);
    co_add64(to + group_state_bytes(s->state) / 8 - 1, count);
}

CO_KERNEL(group_fold_few, struct group_fold_step)
{
    CO_SHARED_DYNAMIC(co_u64, memory);
    const co_u32 words = group_few_words(args->state), halves = group_few_halves(&args->column, args->state);
    struct group_table t;
    t.all = (co_u32)args->groups * args->places;
    t.word = words ? memory : (co_u64 *)0;
    t.half = halves ? (co_u32 *)(memory + words * t.all) : (co_u32 *)0;
    for (co_u32 k = co_thread(); k < words * t.all; k += co_threads())
        co_write64(t.word + k, 0);
    for (co_u32 k = co_thread(); k < halves * t.all; k += co_threads())
        co_write32(t.half + k, 0);
    co_block_sync();
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane(), word;
        co_u32 group = group_of(args->ids, args->n, i);
        if (group != KEYS_NO_ID && group_word_of(args, i, &word))
            group_few_row(args, &t, group, word);
    }
    co_block_sync();
    for (co_u32 group = co_thread(); group < args->groups; group += co_threads())
        group_few_end(args, &t, group);
}

/* ---- before and behind --------------------------------------------------------------------------------- */

/* The highest digit of each group's rows. */
CO_KERNEL(group_tops, struct group_fold_step)
{
    struct group_digits d;
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane(), word;
        co_u32 group = group_of(args->ids, args->n, i);
        if (group == KEYS_NO_ID || !group_word_of(args, i, &word))
            continue;
        group_digits_of(word, &d);
        if (d.top)
            group_raise64(args->best + group, d.top);
    }
}

/* Bins move up to it. */
CO_KERNEL(group_lift, struct group_fold_step)
{
    CO_EACH_WARP (base, args->groups) {
        co_u64 group = base + co_lane();
        co_u32 top = group < args->groups ? (co_u32)co_read64(args->best + group) : 0;
        co_u64 *to = group_at(args->states, GROUP_EXACT, group);
        co_u32 own = top ? co_read32((co_u32 *)to + GROUP_EXACT_TOP) : 0, by = own ? top - own : GROUP_BINS;
        if (top <= own)
            continue;
        for (co_u32 k = 0; k < GROUP_BINS; k++) {
            int there = by < GROUP_BINS - k;
            co_write64(to + k, there ? co_read64(to + k + by) : 0);
            co_write64(to + GROUP_BINS + k, there ? co_read64(to + GROUP_BINS + k + by) : 0);
        }
        co_write32((co_u32 *)to + GROUP_EXACT_TOP, top);
    }
}

/* The first value of a group that had none is its shift. */
CO_KERNEL(group_shift, struct group_fold_step)
{
    CO_EACH_WARP (base, args->groups) {
        co_u64 group = base + co_lane(), best = group < args->groups ? co_read64(args->best + group) : 0;
        co_u64 *to = group_at(args->states, GROUP_MOMENTS, group), word;
        if (!best || co_read64(to + GROUP_MOMENTS_COUNT))
            continue;
        group_word_of(args, ~best, &word);
        co_write64(to, word);
    }
}

/* The values of first and last rows. */
CO_KERNEL(group_ends, struct group_fold_step)
{
    CO_EACH_WARP (base, args->groups) {
        co_u64 group = base + co_lane(), best = group < args->groups ? co_read64(args->best + group) : 0;
        co_u64 *to = group_at(args->states, args->state, group);
        co_u32 state;
        if (!best || (args->state == GROUP_FIRST && co_read64(to + 1)))
            continue;
        co_write64(to, keys_value(&args->column, args->state == GROUP_FIRST ? ~best : best - 1, &state));
        co_write64(to + 1, 1);
    }
}

/* ---- states out ---------------------------------------------------------------------------------------- */

/* Of MIN: as it is known elsewhere. */
CO_KERNEL(group_out, struct group_out_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane(), any = i < args->n ? co_read64(args->from + 2 * i + 1) : 0;
        if (i >= args->n)
            continue;
        co_write64(args->to + 2 * i, any ? ~co_read64(args->from + 2 * i) : 0);
        co_write64(args->to + 2 * i + 1, any);
    }
}

CO_KERNEL(group_check, struct group_out_step)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        const co_u32 *own = (const co_u32 *)(args->from + i * (group_state_bytes(GROUP_EXACT) / 8));
        struct group_exact x;
        if (i >= args->n)
            continue;
        x.top = co_read32(own + GROUP_EXACT_TOP);
        x.special = co_read32(own + GROUP_EXACT_TOP + 1);
        if (!group_exact_is_good(&x))
            co_min64(&args->found->first, i);
    }
}

/* A state in memory of the lane's own. */
union group_state_words {
    co_u64 word[sizeof(struct group_exact) / 8];
    struct group_exact exact;
    struct group_wide wide;
};

CO_INLINE void group_read_state(const struct group_values_step *s, co_u64 i, union group_state_words *own)
{
    const co_u32 words = group_state_bytes(s->told.state) / 8;
    for (co_u32 k = 0; k < sizeof *own / 8; k++)
        own->word[k] = k < words ? co_read64(s->states + i * words + k) : 0;
    if (s->told.state == GROUP_MIN)
        own->word[0] = ~own->word[0];
}

CO_INLINE int group_told_at(const struct group_values_step *s, co_u64 i, co_u64 *word)
{
    union group_state_words own;
    group_read_state(s, i, &own);
    return group_state_told(&s->told, &own, word);
}

CO_INLINE int group_wide_told_at(const struct group_values_step *s, co_u64 i, co_u64 word[2])
{
    union group_state_words own;
    group_read_state(s, i, &own);
    return group_wide_told(&own.wide, word);
}

CO_KERNEL(group_values, struct group_values_step)
{
    co_u64 nulls = 0;
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane(), word = 0;
        int active = i < args->n, is = active ? group_told_at(args, i, &word) : 0;
        if (is < 0)
            co_min64(&args->found->first, i);
        word = is > 0 ? word : 0;
        keys_put(args->to, args->width, args->validity, base, active, is > 0, word);
        nulls += active && is <= 0;
    }
    nulls = co_warp_sum(nulls);
    if (co_lane() == 0 && nulls)
        co_add64(&args->found->count, nulls);
}

/* Sums of WIDE, elements of 16 bytes. */
CO_KERNEL(group_values_wide, struct group_values_step)
{
    co_u64 nulls = 0;
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane(), word[2] = {0, 0};
        const int active = i < args->n, is = active ? group_wide_told_at(args, i, word) : 0;
        const co_u32 there = co_ballot(CO_FULL_WARP, is > 0);
        if (is < 0)
            co_min64(&args->found->first, i);
        if (co_lane() == 0)
            co_write32(args->validity + base / 32, there);
        for (co_u32 k = 0; active && k < 2; k++)
            co_write64((co_u64 *)args->to + 2 * i + k, is > 0 ? word[k] : 0);
        nulls += active && is <= 0;
    }
    nulls = co_warp_sum(nulls);
    if (co_lane() == 0 && nulls)
        co_add64(&args->found->count, nulls);
}
