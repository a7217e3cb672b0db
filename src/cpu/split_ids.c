/* split_ids.c: ids of keys, a block at a time.
 *
 * The kind is looked at once a block; the loops inside are plain enough for the compiler to make vectors of
 * them, once with what every processor has, once for AVX2, and what a pass asks for once for AVX-512.
 * Division by the same 32-bit number is a multiplication, as in shape/multisplit.h but with halves of the
 * width, which vectors have. The search among splitters goes level by level for sixteen keys at once and
 * takes no branch that depends on a key. */
#include "sets.h"
#include "split.h"
#include "shape/sort.h"

#if defined(__x86_64__)
#    define AVX2   __attribute__((target("avx2")))
#    define AVX512 CPU_LOOPS_512
#endif

#define TOGETHER 16u /* keys that search among splitters side by side */

/* As split_divide, for 32-bit numbers. */
struct divisor32 {
    co_u32 magic, before, after;
};

static struct divisor32 divisor32_of(co_u64 divisor)
{
    struct divisor32 d;
    co_u32 log = 0;
    while ((1ull << log) < divisor)
        log++;
    d.magic = (co_u32)((((1ull << log) - divisor) << 32) / divisor + 1);
    d.before = log < 1 ? log : 1;
    d.after = log > 1 ? log - 1 : 0;
    return d;
}

CO_INLINE co_u32 divide32(co_u32 n, const struct divisor32 *d)
{
    co_u32 t = (co_u32)(((co_u64)d->magic * n) >> 32);
    return (t + ((n - t) >> d->before)) >> d->after;
}

/* ---- one loop a kind: `wide` is a constant in each of its two uses ------------------------------------- */

CO_INLINE co_u64 key_at(const void *keys, co_u32 i, int wide)
{
    return wide ? ((const co_u64 *)keys)[i] : ((const co_u32 *)keys)[i];
}

CO_INLINE void bits(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *restrict ids, int wide)
{
    const co_u32 *restrict k32 = keys, shift = (co_u32)f->a, mask = shift < 32 ? (co_u32)f->b : 0;
    const co_u64 *restrict k64 = keys;
    if (wide)
        for (co_u32 i = 0; i < n; i++)
            ids[i] = (co_u32)(k64[i] >> shift) & (co_u32)f->b;
    else
        for (co_u32 i = 0; i < n; i++)
            ids[i] = (k32[i] >> (shift & 31)) & mask;
}

CO_INLINE void hash(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *restrict ids, int wide)
{
    for (co_u32 i = 0; i < n; i++)
        ids[i] = (co_u32)split_high(co_hash(key_at(keys, i, wide), f->a), f->buckets);
}

CO_INLINE void modulo(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *restrict ids, int wide)
{
    const co_u32 *restrict k32 = keys, m = (co_u32)f->by.divisor;
    const struct divisor32 by = divisor32_of(f->by.divisor);
    if (!(f->by.divisor & (f->by.divisor - 1)))
        for (co_u32 i = 0; i < n; i++)
            ids[i] = (co_u32)key_at(keys, i, wide) & (m - 1);
    else if (wide)
        for (co_u32 i = 0; i < n; i++) {
            co_u64 key = key_at(keys, i, wide);
            ids[i] = (co_u32)(key - split_divide(key, &f->by) * f->by.divisor);
        }
    else
        for (co_u32 i = 0; i < n; i++)
            ids[i] = k32[i] - divide32(k32[i], &by) * m;
}

/* RANGES and DELTA. */
CO_INLINE void slices(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *restrict ids, int wide)
{
    const co_u32 *restrict k32 = keys, most = f->buckets - 1, least = (co_u32)f->a;
    const co_u32 last = f->b < 0xffffffffu ? (co_u32)f->b : 0xffffffffu;
    if (wide || f->a >> 32 || f->by.divisor >> 32) {
        for (co_u32 i = 0; i < n; i++)
            ids[i] = split_clamp(f, key_at(keys, i, wide));
        return;
    }
    const struct divisor32 by = divisor32_of(f->by.divisor);
    for (co_u32 i = 0; i < n; i++) {
        co_u32 inside = k32[i] < last ? k32[i] : last,
               at = divide32(inside < least ? 0 : inside - least, &by);
        ids[i] = at < most ? at : most;
    }
}

/* How many splitters are <= key. Every key takes the same number of steps. */
CO_INLINE void search(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *restrict ids, int wide)
{
    for (co_u32 i = 0; i < n; i += TOGETHER) {
        co_u32 many = n - i < TOGETHER ? n - i : TOGETHER, at[TOGETHER] = {0};
        for (co_u64 left = f->count; left;) {
            co_u64 half = (left + 1) / 2;
            for (co_u32 j = 0; j < many; j++) {
                co_u32 next = at[j] + (co_u32)half;
                at[j] = key_at(f->data, next - 1, wide) <= key_at(keys, i + j, wide) ? next : at[j];
            }
            left -= half;
        }
        for (co_u32 j = 0; j < many; j++)
            ids[i + j] = at[j];
    }
}

CO_INLINE void table(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *restrict ids, int wide)
{
    const co_u8 *t8 = f->data;
    const co_u16 *t16 = f->data;
    if (f->kind == SPLIT_TABLE8)
        for (co_u32 i = 0; i < n; i++)
            ids[i] = key_at(keys, i, wide) < f->count ? t8[key_at(keys, i, wide)] : SPLIT_BAD;
    else
        for (co_u32 i = 0; i < n; i++)
            ids[i] = key_at(keys, i, wide) < f->count ? t16[key_at(keys, i, wide)] : SPLIT_BAD;
}

CO_INLINE void between(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *restrict ids, int wide)
{
    const co_u32 *restrict k32 = keys, span = (co_u32)(f->b - f->a), least = (co_u32)f->a;
    if (wide || f->a >> 32 || f->b >> 32 || f->a > f->b)
        for (co_u32 i = 0; i < n; i++)
            ids[i] = key_at(keys, i, wide) >= f->a && key_at(keys, i, wide) <= f->b;
    else
        for (co_u32 i = 0; i < n; i++)
            ids[i] = k32[i] - least <= span;
}

CO_INLINE void masked(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *restrict ids, int wide)
{
    const co_u32 *restrict k32 = keys, mask = (co_u32)f->a, value = (co_u32)f->b;
    if (wide || f->b >> 32)
        for (co_u32 i = 0; i < n; i++)
            ids[i] = (key_at(keys, i, wide) & f->a) == f->b;
    else
        for (co_u32 i = 0; i < n; i++)
            ids[i] = (k32[i] & mask) == value;
}

/* IDS8 to IDS32: of entries from `first` on. */
CO_INLINE void given(const struct split_fn *f, co_u64 first, co_u32 n, co_u32 *restrict ids)
{
    const co_u8 *restrict i8 = (const co_u8 *)f->data + first;
    const co_u16 *restrict i16 = (const co_u16 *)f->data + first;
    const co_u32 *restrict i32 = (const co_u32 *)f->data + first;
    for (co_u32 i = 0; f->kind == SPLIT_IDS8 && i < n; i++)
        ids[i] = i8[i];
    for (co_u32 i = 0; f->kind == SPLIT_IDS16 && i < n; i++)
        ids[i] = i16[i];
    for (co_u32 i = 0; f->kind == SPLIT_IDS32 && i < n; i++)
        ids[i] = i32[i];
}

/* SPLIT_PAGE. */
CO_INLINE void page(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *restrict ids, int wide)
{
    struct split_fn known = *f;
    known.kind = SPLIT_PAGE;
    for (co_u32 i = 0; i < n; i++)
        ids[i] = split_id(&known, key_at(keys, i, wide), 0, wide);
}

CO_INLINE void of_kind(const struct split_fn *f, const void *keys, co_u32 n, co_u32 *ids, int wide)
{
    switch (f->kind) {
    case SPLIT_BITS:
        bits(f, keys, n, ids, wide);
        return;
    case SPLIT_HASH:
        hash(f, keys, n, ids, wide);
        return;
    case SPLIT_MODULO:
        modulo(f, keys, n, ids, wide);
        return;
    case SPLIT_RANGES:
    case SPLIT_DELTA:
        slices(f, keys, n, ids, wide);
        return;
    case SPLIT_SPLITTERS:
        search(f, keys, n, ids, wide);
        return;
    case SPLIT_TABLE8:
    case SPLIT_TABLE16:
        table(f, keys, n, ids, wide);
        return;
    case SPLIT_BETWEEN:
        between(f, keys, n, ids, wide);
        return;
    case SPLIT_PAGE:
        page(f, keys, n, ids, wide);
        return;
    default:
        masked(f, keys, n, ids, wide);
    }
}

CO_INLINE void ids_of(const struct cpu_ids *f, co_u64 first, co_u32 count, co_u32 *ids)
{
    if (f->fn->kind >= SPLIT_IDS8 && f->fn->kind <= SPLIT_IDS32)
        given(f->fn, first, count, ids);
    else if (f->key_bytes == 8)
        of_kind(f->fn, (const co_u64 *)f->keys + first, count, ids, 1);
    else
        of_kind(f->fn, (const co_u32 *)f->keys + first, count, ids, 0);
}

/* ---- orders -------------------------------------------------------------------------------------------- */

co_u32 cpu_order_bytes(co_u32 order)
{
    return order < SORT_U64 ? 4 : 8;
}

/* A float's order is that of its bits: of a negative one all are turned, of the others the sign. */
CO_INLINE co_u64 order64(co_u64 key, co_u32 order, co_u64 turn)
{
    co_u64 sign = 1ull << 63, negative = (co_u64)((long long)key >> 63);
    key ^= order == SORT_F64 ? negative | sign : order == SORT_I64 ? sign : 0;
    return key ^ turn;
}

CO_INLINE co_u32 order32(co_u32 key, co_u32 order, co_u32 turn)
{
    co_u32 sign = 1u << 31, negative = (co_u32)((int)key >> 31);
    key ^= order == SORT_F32 ? negative | sign : order == SORT_I32 ? sign : 0;
    return key ^ turn;
}

CO_INLINE void digits_in(const struct cpu_digit *d, co_u32 order, const void *keys, co_u32 n,
                         co_u16 *restrict to)
{
    const co_u32 *restrict k32 = keys, turn = d->descending ? ~0u : 0, shift = d->shift & 31;
    const co_u64 *restrict k64 = keys;
    co_u64 turn64 = d->descending ? ~0ull : 0;
    if (order >= SORT_U64)
        for (co_u32 i = 0; i < n; i++)
            to[i] = (co_u16)((co_u32)(order64(k64[i], order, turn64) >> d->shift) & d->mask);
    else
        for (co_u32 i = 0; i < n; i++)
            to[i] = (co_u16)((order32(k32[i], order, turn) >> shift) & d->mask);
}

CO_INLINE void digits_of(const struct cpu_digit *d, const void *keys, co_u32 n, co_u16 *to)
{
    switch (d->order) {
    case SORT_U32:
        digits_in(d, SORT_U32, keys, n, to);
        return;
    case SORT_I32:
        digits_in(d, SORT_I32, keys, n, to);
        return;
    case SORT_F32:
        digits_in(d, SORT_F32, keys, n, to);
        return;
    case SORT_U64:
        digits_in(d, SORT_U64, keys, n, to);
        return;
    case SORT_I64:
        digits_in(d, SORT_I64, keys, n, to);
        return;
    default:
        digits_in(d, SORT_F64, keys, n, to);
    }
}

void cpu_order_keys(const struct cpu_digit *d, const void *keys, co_u64 first, co_u32 count, co_u64 *to)
{
    const co_u32 *k32 = (const co_u32 *)keys + first;
    const co_u64 *k64 = (const co_u64 *)keys + first;
    if (d->order >= SORT_U64)
        for (co_u32 i = 0; i < count; i++)
            to[i] = order64(k64[i], d->order, d->descending ? ~0ull : 0);
    else
        for (co_u32 i = 0; i < count; i++)
            to[i] = order32(k32[i], d->order, d->descending ? ~0u : 0);
}

void cpu_order_back(const struct cpu_digit *d, const co_u64 *numbers, co_u32 count, void *to)
{
    co_u32 *restrict k32 = to, turn = d->descending ? ~0u : 0, sign = 1u << 31;
    co_u64 *restrict k64 = to, turn64 = d->descending ? ~0ull : 0, sign64 = 1ull << 63;
    int is_float = d->order == SORT_F32 || d->order == SORT_F64;
    int is_signed = d->order == SORT_I32 || d->order == SORT_I64;
    for (co_u32 i = 0; d->order >= SORT_U64 && i < count; i++) {
        co_u64 x = numbers[i] ^ turn64;
        k64[i] = is_signed || (is_float && x & sign64) ? x ^ sign64 : is_float ? ~x : x;
    }
    for (co_u32 i = 0; d->order < SORT_U64 && i < count; i++) {
        co_u32 x = (co_u32)numbers[i] ^ turn;
        k32[i] = is_signed || (is_float && x & sign) ? x ^ sign : is_float ? ~x : x;
    }
}

/* ---- for this processor -------------------------------------------------------------------------------- */

CO_INLINE void narrow(const co_u32 *restrict ids, co_u32 n, co_u32 buckets, co_u16 *restrict to)
{
    for (co_u32 i = 0; i < n; i++)
        to[i] = (co_u16)(ids[i] < buckets ? ids[i] : buckets);
}

/* BITS whose ids are all good, and digits in the order of the keys' bits. */
struct cpu_bits cpu_pass_bits(const struct cpu_pass *p)
{
    const struct split_fn *fn = p->ids.fn;
    const struct cpu_digit *d = &p->digit;
    if (p->source == CPU_FROM_FN && fn->kind == SPLIT_BITS && fn->b < p->buckets &&
        fn->a < 8 * p->ids.key_bytes)
        return (struct cpu_bits){p->ids.keys, p->ids.key_bytes, (co_u32)fn->a, (co_u32)fn->b};
    if (p->source == CPU_FROM_DIGIT && !d->descending && d->mask < p->buckets &&
        (d->order == SORT_U32 || d->order == SORT_U64))
        return (struct cpu_bits){p->ids.keys, cpu_order_bytes(d->order), d->shift, d->mask};
    return (struct cpu_bits){NULL, 0, 0, 0};
}

CO_INLINE void bits_of(const struct cpu_bits *bits, co_u64 first, co_u32 count, co_u16 *restrict to)
{
    const co_u32 shift = bits->shift, mask = bits->mask;
    const char *restrict keys = bits->keys + first * bits->bytes;
    for (co_u32 i = 0; bits->bytes == 8 && i < count; i++)
        to[i] = (co_u16)cpu_bits_at(keys, i, 8, shift, mask);
    for (co_u32 i = 0; bits->bytes == 4 && i < count; i++)
        to[i] = (co_u16)cpu_bits_at(keys, i, 4, shift, mask);
}

CO_INLINE void pass_digits(const struct cpu_pass *p, co_u64 first, co_u32 count, co_u16 *to)
{
    const struct cpu_bits bits = cpu_pass_bits(p);
    co_u32 ids[CPU_IDS];
    if (bits.keys) {
        bits_of(&bits, first, count, to);
        return;
    }
    if (p->source == CPU_FROM_DIGIT) {
        digits_of(&p->digit, (const char *)p->ids.keys + first * p->ids.key_bytes, count, to);
        return;
    }
    for (co_u32 i = 0, part; i < count; i += part) {
        part = count - i < CPU_IDS ? count - i : CPU_IDS;
        ids_of(&p->ids, first + i, part, ids);
        narrow(ids, part, p->buckets, to + i);
    }
}

#ifdef AVX2
AVX2 static void ids_avx2(const struct cpu_ids *f, co_u64 first, co_u32 count, co_u32 *ids)
{
    ids_of(f, first, count, ids);
}

AVX2 static void pass_digits_avx2(const struct cpu_pass *p, co_u64 first, co_u32 count, co_u16 *to)
{
    pass_digits(p, first, count, to);
}

AVX512 static void pass_digits_avx512(const struct cpu_pass *p, co_u64 first, co_u32 count, co_u16 *to)
{
    pass_digits(p, first, count, to);
}
#else
#    define ids_avx2           ids_plain
#    define pass_digits_avx2   pass_digits_plain
#    define pass_digits_avx512 pass_digits_plain
#endif

static void ids_plain(const struct cpu_ids *f, co_u64 first, co_u32 count, co_u32 *ids)
{
    ids_of(f, first, count, ids);
}

static void pass_digits_plain(const struct cpu_pass *p, co_u64 first, co_u32 count, co_u16 *to)
{
    pass_digits(p, first, count, to);
}

int cpu_ids_are_dear(const struct split_fn *fn)
{
    return split_is_made(fn) || fn->kind == SPLIT_SPLITTERS || fn->kind == SPLIT_HASH;
}

void cpu_ids(const struct cpu_ids *f, co_u64 first, co_u32 count, co_u32 *ids)
{
    const char *keys = (const char *)f->keys + first * f->key_bytes;
    if (f->fn->kind == SPLIT_USER)
        f->source->user->host(count, keys, f->key_bytes, f->fn->data, ids);
    else if (f->fn->kind == SPLIT_MEMBER)
        cpu_sets_member_ids(f->source->sets, f->fn->a, count, keys, f->key_bytes, ids);
    else
        (f->level >= CPU_AVX2 ? ids_avx2 : ids_plain)(f, first, count, ids);
}

void cpu_pass_digits(const struct cpu_pass *p, co_u64 first, co_u32 count, co_u16 *to)
{
    (p->level == CPU_AVX512 ? pass_digits_avx512
     : p->level == CPU_AVX2 ? pass_digits_avx2
                            : pass_digits_plain)(p, first, count, to);
}
