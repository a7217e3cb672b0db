/* cpu/sets_plain.c: the inner loops of sets for any processor (sets_vector.h). */
#include "sets_change.h"
#include "sets_sweep.h"

static co_u32 filter_plain(const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, int keep, co_u16 *to)
{
    co_u32 kept = 0, j = 0;
    for (co_u32 i = 0; i < n; i++) {
        co_u16 v = a[i];
        while (j + 32 < m && b[j + 31] < v)
            j += 32;
        while (j < m && b[j] < v)
            j++;
        if (to)
            to[kept] = v;
        kept += (j < m && b[j] == v) == keep;
    }
    return kept;
}

CO_INLINE co_u64 word_of(co_u64 a, co_u64 b, co_u32 op)
{
    return op == SETS_AND ? a & b : op == SETS_OR ? a | b : op == SETS_ANDNOT ? a & ~b : a ^ b;
}

static struct sets_measure words_plain(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op)
{
    struct sets_measure m = {0, 0, 0};
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++) {
        co_u64 w = word_of(a[i], b[i], op);
        if (to)
            to[i] = w;
        m.card += (co_u32)__builtin_popcountll(w);
        m.digest |= (co_u64)(w != 0) << i / 16;
    }
    return m;
}

static struct set_line_sums lines_plain(co_u64 *to, const co_u64 *a, const co_u64 *b, co_u32 op,
                                        const struct set_lines *lines)
{
    struct set_line_sums sums = {0, 0, {{0, 0}}};
    for (co_u32 i = 0; i < SETS_CHUNK_WORDS; i++) {
        const co_u32 line = i / 8;
        if (!(lines->of[line / 64] >> line % 64 & 1))
            continue;
        co_u64 x = a[i], w = word_of(x, b[i], op);
        to[i] = w;
        sums.some.of[line / 64] |= (co_u64)(w != 0) << line % 64;
        sums.before += (co_u32)__builtin_popcountll(x);
        sums.after += (co_u32)__builtin_popcountll(w);
    }
    return sums;
}

static co_u32 members_plain(const co_u64 *words, co_u64 digest, co_u16 *to)
{
    (void)digest;
    return sets_bitmap_array(words, to, CO_CHUNK_IDS);
}

co_u32 sets_merge_plain(co_u32 op, const co_u16 *a, co_u32 n, const co_u16 *b, co_u32 m, co_u16 *to)
{
    co_u32 i = 0, j = 0, k = 0, both = op == SETS_OR;
    while (i < n && j < m) {
        co_u16 x = a[i], y = b[j];
        to[k] = x < y ? x : y;
        i += x <= y;
        j += y <= x;
        k += both | (x != y);
    }
    while (i < n)
        to[k++] = a[i++];
    while (j < m)
        to[k++] = b[j++];
    return k;
}

/* Of sixteen numbers that lie in one part of the chunk, or two parts side by side, the ends tell. */
co_u64 sets_digest_plain(const co_u16 *a, co_u32 n)
{
    co_u64 digest = 0;
    for (co_u32 i = 0, many; i < n; i += many) {
        many = n - i < 16 ? n - i : 16;
        const co_u32 first = a[i] >> 10, last = a[i + many - 1] >> 10;
        digest |= 1ull << first | 1ull << last;
        for (co_u32 k = 1; k + 1 < many && last > first + 1; k++)
            digest |= 1ull << (a[i + k] >> 10);
    }
    return digest;
}

static void change_plain(co_u64 *words, co_u32 op, const co_u16 *a, co_u32 n)
{
    sets_change(words, op, a, n);
}

const struct sets_vectors *sets_plain(void)
{
    static const struct sets_vectors vectors = {filter_plain,
                                                words_plain,
                                                words_plain,
                                                members_plain,
                                                sets_merge_plain,
                                                sets_digest_plain,
                                                change_plain,
                                                NULL,
                                                sets_sweep_plain,
                                                256,
                                                NULL,
                                                lines_plain};
    return &vectors;
}
