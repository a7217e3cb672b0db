/* chunk_width.h: arrays of one width, 16 bytes a lane. Parameter: WIDE, 1 for entries of 8 bytes, 0 for 4.
 * Gives WORD, EACH (entries in 16 bytes) and names that end in the width; chunk_end.h forgets them.
 *
 * Places. 16-byte reads want addresses that are multiples of 16, and an array is aligned to its entries only.
 * So entries are counted in places from the last such address on: the array begins at place `lead`, and what
 * is before is none. */
#define CHUNK_PASTE_(a, b) a##_##b
#define CHUNK_PASTE(a, b)  CHUNK_PASTE_(a, b)
#if WIDE
#    define WORD    co_u64
#    define WIDTH   64
#    define EACH    2u
#    define SHUFFLE co_shuffle64
#    define READ    co_read64
#    define WRITE   co_write64
#else
#    define WORD    co_u32
#    define WIDTH   32
#    define EACH    4u
#    define SHUFFLE co_shuffle32
#    define READ    co_read32
#    define WRITE   co_write32
#endif
#define NAME(name) CHUNK_PASTE(name, WIDTH)

/* The EACH entries from `place` on, 0 where there is none. whole: all are there, and place is a multiple of
 * EACH. */
CO_INLINE co_u128 NAME(chunk_read)(const WORD *array, co_u64 n, co_u64 lead, co_u64 place, int whole)
{
    co_u64 half[2] = {0, 0};
    if (whole)
        return co_read_stream128((const co_u128 *)(const void *)(array + place - lead));
    CO_EACH_ITEM (k, EACH) {
        if (place + k - lead < n)
            half[k / (EACH / 2)] |= (co_u64)READ(array + (place + k - lead)) << (k % (EACH / 2) * 32);
    }
    return co_make128(half[0], half[1]);
}

CO_INLINE void NAME(chunk_entries)(co_u128 word, WORD *v)
{
    CO_EACH_ITEM (k, EACH)
        v[k] = (WORD)((k < EACH / 2 ? word.lo : word.hi) >> (k % (EACH / 2) * 32));
}

CO_INLINE void NAME(chunk_write)(WORD *array, co_u64 n, co_u64 lead, co_u64 place, int whole, const WORD *v)
{
    if (whole) {
        co_u64 half[2] = {0, 0};
        CO_EACH_ITEM (k, EACH)
            half[k / (EACH / 2)] |= (co_u64)v[k] << (k % (EACH / 2) * 32);
        co_write_stream128((co_u128 *)(void *)(array + place - lead), co_make128(half[0], half[1]));
        return;
    }
    CO_EACH_ITEM (k, EACH) {
        if (place + k - lead < n)
            WRITE(array + (place + k - lead), v[k]);
    }
}
