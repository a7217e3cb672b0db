/* cohort/fn.h: functions of keys, by which a multisplit chooses a bucket, a compaction what it keeps, a
 * histogram its bin.
 *
 * A function gives each of n keys (4 or 8 bytes) an id, a 32-bit number. Most are one of the kinds below,
 * which every backend has built in; an initialiser function for each fills the struct. COHORT_FN_USER is the
 * user's own: a host function over a batch of keys, and the same as C source for the GPU, compiled there by
 * NVRTC when it is first used. COHORT_DEFINE_FN makes both from one text.
 *
 * Calls take a pointer to the struct, and read it before they return.
 *
 * `data` (splitters, a table, a state) may lie in host or in device memory, whatever the keys are in; from
 * host memory it is copied at the call. IDS is the exception: ids go with the keys, in the same kind of
 * memory. The collection of MEMBER is one of the same context; a key beyond what its members can be is in
 * none of its sets. */
#ifndef COHORT_FN_H
#define COHORT_FN_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cohort_fn_kind {
    /* (key >> a) & (2^b - 1), b from 0 to 16 */
    COHORT_FN_BITS = 1,
    /* floor(hash(key ^ a) * m / 2^64): the high bits of the map's hash, m buckets */
    COHORT_FN_HASH = 2,
    /* key mod m */
    COHORT_FN_MODULO = 3,
    /* m equal ranges of [a, b]: floor((key - a) / ceil((b - a + 1) / m)); keys outside count as the
     * nearest of a and b */
    COHORT_FN_RANGES = 4,
    /* how many of data[0 .. count), sorted keys, are <= key: count + 1 ids */
    COHORT_FN_SPLITTERS = 5,
    /* data[key], bytes; a key from `count` on is out of range */
    COHORT_FN_TABLE8 = 6,
    /* data[key], 16-bit words */
    COHORT_FN_TABLE16 = 7,
    /* floor((key - a) / b); beyond the last bucket goes to the last, below a to the first */
    COHORT_FN_DELTA = 8,
    /* predicate: 1 if a <= key <= b, else 0 */
    COHORT_FN_BETWEEN = 9,
    /* predicate: 1 if (key & a) == b, else 0 */
    COHORT_FN_MASKED = 10,
    /* data[i] for the i-th key: ids already computed, n bytes */
    COHORT_FN_IDS8 = 11,
    /* ... n 16-bit words */
    COHORT_FN_IDS16 = 12,
    /* ... n 32-bit words */
    COHORT_FN_IDS32 = 13,
    COHORT_FN_USER = 14,
    /* predicate: 1 if key is a member of set a of the collection `data`, else 0 */
    COHORT_FN_MEMBER = 15
} cohort_fn_kind;

/* ids[i] = the function of keys[i] for i in [0, n); keys are uint32_t or uint64_t as key_bytes says. Called
 * from several threads at once on a CPU context, with parts of the batch. */
typedef void (*cohort_fn_host)(uint64_t n, const void *keys, uint32_t key_bytes, const void *state,
                               uint32_t *ids);

typedef struct cohort_fn {
    /* sizeof(cohort_fn) */
    size_t size;
    cohort_fn_kind kind;
    uint32_t reserved;
    /* numbers, as the kind says */
    uint64_t a, b;
    /* splitters (of the keys' width), table, ids, a cohort_sets; the state of USER, or NULL */
    const void *data;
    /* entries of `data`; bytes of the state of USER. IDS, MEMBER: not used */
    uint64_t count;
    /* USER; NULL: COHORT_UNSUPPORTED on a CPU */
    cohort_fn_host host;
    /* USER: the function's name in `source`, a C identifier */
    const char *name;
    /* USER: C source that defines uint32_t NAME(KEY key, const void *state), KEY being the unsigned
     * integer of the key's width; it may use uint8_t to uint64_t, int8_t to int64_t, co_hash(key,
     * seed), and define what it needs. Marked COHORT_FN_DEVICE. NULL: COHORT_UNSUPPORTED on a GPU */
    const char *source;
} cohort_fn;

/* Of no kind yet. */
#define COHORT_FN_INIT                                                           \
    {                                                                            \
        sizeof(cohort_fn), (cohort_fn_kind)0, 0, 0, 0, NULL, 0, NULL, NULL, NULL \
    }

static inline cohort_fn cohort_fn_make(cohort_fn_kind kind, uint64_t a, uint64_t b, const void *data,
                                       uint64_t count)
{
    cohort_fn f = {sizeof(cohort_fn), kind, 0, a, b, data, count, NULL, NULL, NULL};
    return f;
}
static inline cohort_fn cohort_fn_bits(uint32_t low, uint32_t bits)
{
    return cohort_fn_make(COHORT_FN_BITS, low, bits, NULL, 0);
}
static inline cohort_fn cohort_fn_hash(uint64_t seed)
{
    return cohort_fn_make(COHORT_FN_HASH, seed, 0, NULL, 0);
}
static inline cohort_fn cohort_fn_modulo(void)
{
    return cohort_fn_make(COHORT_FN_MODULO, 0, 0, NULL, 0);
}
static inline cohort_fn cohort_fn_ranges(uint64_t least, uint64_t most)
{
    return cohort_fn_make(COHORT_FN_RANGES, least, most, NULL, 0);
}
static inline cohort_fn cohort_fn_splitters(const void *sorted, uint64_t count)
{
    return cohort_fn_make(COHORT_FN_SPLITTERS, 0, 0, sorted, count);
}
static inline cohort_fn cohort_fn_table8(const uint8_t *table, uint64_t count)
{
    return cohort_fn_make(COHORT_FN_TABLE8, 0, 0, table, count);
}
static inline cohort_fn cohort_fn_table16(const uint16_t *table, uint64_t count)
{
    return cohort_fn_make(COHORT_FN_TABLE16, 0, 0, table, count);
}
static inline cohort_fn cohort_fn_delta(uint64_t base, uint64_t delta)
{
    return cohort_fn_make(COHORT_FN_DELTA, base, delta, NULL, 0);
}
static inline cohort_fn cohort_fn_between(uint64_t least, uint64_t most)
{
    return cohort_fn_make(COHORT_FN_BETWEEN, least, most, NULL, 0);
}
static inline cohort_fn cohort_fn_masked(uint64_t mask, uint64_t value)
{
    return cohort_fn_make(COHORT_FN_MASKED, mask, value, NULL, 0);
}
static inline cohort_fn cohort_fn_ids8(const uint8_t *ids)
{
    return cohort_fn_make(COHORT_FN_IDS8, 0, 0, ids, 0);
}
static inline cohort_fn cohort_fn_ids16(const uint16_t *ids)
{
    return cohort_fn_make(COHORT_FN_IDS16, 0, 0, ids, 0);
}
static inline cohort_fn cohort_fn_ids32(const uint32_t *ids)
{
    return cohort_fn_make(COHORT_FN_IDS32, 0, 0, ids, 0);
}
struct cohort_sets;
static inline cohort_fn cohort_fn_member(const struct cohort_sets *sets, uint64_t set)
{
    return cohort_fn_make(COHORT_FN_MEMBER, set, 0, sets, 0);
}

/* Defines the function `name` of one key for host and GPU from one text:
 *
 *     COHORT_DEFINE_FN(last_digit, uint32_t, { return key % *(const uint32_t *)state; })
 *     ...
 *     uint32_t ten = 10;
 *     cohort_fn f = COHORT_FN(last_digit, &ten, sizeof ten);
 *     desc.fn = &f;
 *
 * KEY is uint32_t or uint64_t and must be the width of the keys it is used on (another width is
 * COHORT_RANGE). The body maps one key; it sees `key` and `state`. */
#define COHORT_DEFINE_FN(NAME, KEY, ...)                                                         \
    static inline uint32_t NAME(KEY key, const void *state)                                      \
    {                                                                                            \
        (void)state;                                                                             \
        __VA_ARGS__                                                                              \
    }                                                                                            \
    static void NAME##_host(uint64_t n, const void *keys, uint32_t key_bytes, const void *state, \
                            uint32_t *ids)                                                       \
    {                                                                                            \
        (void)key_bytes;                                                                         \
        for (uint64_t i = 0; i < n; i++)                                                         \
            ids[i] = NAME(((const KEY *)keys)[i], state);                                        \
    }                                                                                            \
    enum { NAME##_key_bytes = sizeof(KEY) };                                                     \
    static const char NAME##_source[] = "COHORT_FN_DEVICE uint32_t " #NAME "(" #KEY              \
                                        " key, const void *state) { (void)state; " #__VA_ARGS__ " }";

/* b carries the width of the key that the text was written for. */
static inline cohort_fn cohort_fn_user(cohort_fn_host host, const char *name, const char *source,
                                       uint64_t key_bytes, const void *state, uint64_t state_bytes)
{
    cohort_fn f = {sizeof(cohort_fn), COHORT_FN_USER, 0,    0,     key_bytes, state,
                   state_bytes,       host,           name, source};
    return f;
}
#define COHORT_FN(NAME, STATE, STATE_BYTES) \
    cohort_fn_user(NAME##_host, #NAME, NAME##_source, NAME##_key_bytes, (STATE), (STATE_BYTES))

#ifdef __cplusplus
}
#endif
#endif
