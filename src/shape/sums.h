/* shape/sums.h: what the kernels of sums are told. Plain C, seen by the CUDA backend and by the kernels.
 *
 * A tile is SUMS_CHUNKS chunks a warp, a chunk 16 bytes a lane. Tiles begin at addresses that are multiples
 * of 16, so the first one may begin before the array: its first `lead` entries are none. */
#ifndef COHORT_SHAPE_SUMS_H
#define COHORT_SHAPE_SUMS_H

#include "cohort/device/lane.h"

#define SUMS_CHUNKS_GPU 4u
#define SUMS_CHUNKS_SIM 1u
#define SUMS_WARPS      8u /* of a block, at most */

/* Of a reduction: chunks that a lane asks for at a time, and blocks a multiprocessor, at most. */
#define REDUCE_CHUNKS_GPU 4u
#define REDUCE_CHUNKS_SIM 2u
#define REDUCE_BLOCKS_GPU 64u
#define REDUCE_BLOCKS_SIM 2u

struct prefix_step {
    const void *in;
    void *out;
    co_u64 n, tiles;
    co_u64 lead;      /* entries of the first tile that lie before the array */
    co_u32 inclusive; /* 1: out[i] has in[i] in it */
    co_u32 vectors;   /* 1: `out` is aligned as `in` is */
    void *words;      /* of the look-back, cleared; and */
    co_u32 *tickets;  /* its counter. NULL: there is one tile */
};

struct reduce_step {
    const void *in;
    co_u64 n;
    co_u64 lead; /* entries of the first 16 bytes that lie before the array */
    co_u32 op, kind;
    co_u32 wide; /* 1: numbers of 8 bytes */
    co_u32 reserved;
    co_u64 *out; /* holds the operation's neutral element */
};

enum { REDUCE_ADD = 0, REDUCE_MIN = 1, REDUCE_MAX = 2 };

/* What the numbers are. The least and the greatest are found among unsigned numbers in the same order: of
 * signed ones the sign is turned, of floats with a sign all other bits, too. */
enum { REDUCE_UNSIGNED = 0, REDUCE_SIGNED = 1, REDUCE_FLOAT = 2 };

CO_INLINE co_u32 reduce_key32(co_u32 kind, co_u32 v)
{
    co_u32 sign = 1u << 31;
    return kind == REDUCE_UNSIGNED ? v : kind == REDUCE_FLOAT && v & sign ? ~v : v ^ sign;
}

CO_INLINE co_u64 reduce_key64(co_u32 kind, co_u64 v)
{
    co_u64 sign = 1ull << 63;
    return kind == REDUCE_UNSIGNED ? v : kind == REDUCE_FLOAT && v & sign ? ~v : v ^ sign;
}

/* What a number counts as: in a sum as 64 bits, the sign extended, else as its key. */
CO_INLINE co_u64 reduce_entry32(co_u32 op, co_u32 kind, co_u32 v)
{
    if (op != REDUCE_ADD)
        return reduce_key32(kind, v);
    return kind == REDUCE_SIGNED ? (co_u64)(long long)(int)v : v;
}

CO_INLINE co_u64 reduce_entry64(co_u32 op, co_u32 kind, co_u64 v)
{
    return op == REDUCE_ADD ? v : reduce_key64(kind, v);
}

/* The bits of the double that a float of these bits is; a NaN keeps its sign and its payload. */
CO_INLINE co_u64 reduce_widened(co_u32 v)
{
    co_u64 sign = (co_u64)(v >> 31) << 63;
    co_u32 exponent = v >> 23 & 0xff, rest = v & 0x7fffff;
    if (exponent == 0xff)
        return sign | 0x7ffull << 52 | (co_u64)rest << 29;
    if (!exponent && !rest)
        return sign;
    co_u32 up = 0; /* of a subnormal number: places until its first bit is the hidden one */
    while (!exponent && !(rest >> 23)) {
        rest <<= 1;
        up++;
    }
    return sign | (co_u64)(exponent + (up ? 1 - up : 0) + 896) << 52 | (co_u64)(rest & 0x7fffff) << 29;
}

/* What the caller gets for the least or greatest key: a uint64_t, an int64_t, a double. */
CO_INLINE co_u64 reduce_result(co_u32 kind, co_u32 wide, co_u64 key)
{
    co_u64 sign = wide ? 1ull << 63 : 1ull << 31;
    if (kind == REDUCE_UNSIGNED)
        return key;
    if (!wide)
        key &= 0xffffffff;
    key = kind == REDUCE_FLOAT && !(key & sign) ? ~key : key ^ sign;
    if (wide)
        return key;
    return kind == REDUCE_FLOAT ? reduce_widened((co_u32)key) : (co_u64)(long long)(int)(co_u32)key;
}

#endif
