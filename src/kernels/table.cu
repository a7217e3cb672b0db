/* table.cu: columns on a GPU: counting nulls, checking indices, copying bits and indices, fetching rows by
 * their numbers. A lane an entry, a warp on 32, whose bits are one word of a bitmap. */
#include "shape/bits.h"
#include "shape/table_step.h"

CO_INLINE co_u64 table_number(const void *numbers, co_u32 bytes, co_u64 i)
{
    return bytes == 4 ? co_read32((const co_u32 *)numbers + i) : co_read64((const co_u64 *)numbers + i);
}

CO_INLINE co_u64 table_index(const void *index, co_u32 bytes, co_u64 i)
{
    if (bytes == 1)
        return co_read8((const co_u8 *)index + i);
    if (bytes == 2)
        return co_read16((const co_u16 *)index + i);
    return table_number(index, bytes, i);
}

/* One addition a warp. */
CO_INLINE void table_add(struct table_found *found, co_u64 count)
{
    co_u64 sum = co_warp_sum(count);
    if (co_lane() == 0 && sum)
        co_add64(&found->count, sum);
}

CO_KERNEL(table_nulls, struct table_look)
{
    co_u64 nulls = 0;
    CO_EACH_WARP (base, args->rows) {
        co_u64 i = base + co_lane();
        nulls += i < args->rows && !table_bit(args->validity, args->validity_bit + i);
    }
    table_add(args->found, nulls);
}

CO_KERNEL(table_check_index, struct table_look)
{
    CO_EACH_WARP (base, args->rows) {
        co_u64 i = base + co_lane();
        if (i >= args->rows || (args->validity && !table_bit(args->validity, args->validity_bit + i)))
            continue;
        if (table_index(args->index, args->index_bytes, i) >= args->values)
            co_min64(&args->found->first, i);
    }
}

/* A lane a word of `to`, which begins with bit 0 to 31 of the first. */
CO_KERNEL(table_copy_bits, struct table_bits)
{
    const co_u64 end = args->to_bit + args->n, words = (end - 1) / 32 + 1;
    CO_EACH_WARP (base, words) {
        co_u64 w = base + co_lane();
        if (w >= words)
            continue;
        co_u64 first = w ? w * 32 : args->to_bit, last = w * 32 + 32 < end ? w * 32 + 32 : end;
        co_u32 count = (co_u32)(last - first), word = args->fill;
        if (args->from)
            word = bits_get(args->from, args->from_bit + first - args->to_bit, count);
        if (count == 32)
            co_write32(args->to + w, word);
        else
            bits_put((co_u8 *)args->to, first, count, word);
    }
}

CO_KERNEL(table_rebase, struct table_rebase)
{
    CO_EACH_WARP (base, args->n) {
        co_u64 i = base + co_lane();
        if (i >= args->n)
            continue;
        co_u64 v = table_index(args->from, args->from_bytes, i) + args->add;
        if (args->to_bytes == 1)
            co_write8((co_u8 *)args->to + i, (co_u8)v);
        else if (args->to_bytes == 2)
            co_write16((co_u16 *)args->to + i, (co_u16)v);
        else if (args->to_bytes == 4)
            co_write32((co_u32 *)args->to + i, (co_u32)v);
        else
            co_write64((co_u64 *)args->to + i, v);
    }
}

/* ---- rows by their numbers ----------------------------------------------------------------------------- */

CO_INLINE void table_fetch_element(const struct table_fetch *f, co_u64 i, co_u64 row, co_u32 bytes)
{
    int there = row < f->rows;
    if (bytes == 1) {
        co_write8((co_u8 *)f->to + i, there ? co_read8((const co_u8 *)f->from + row) : 0);
    } else if (bytes == 2) {
        co_write16((co_u16 *)f->to + i, there ? co_read16((const co_u16 *)f->from + row) : 0);
    } else if (bytes == 4) {
        co_write32((co_u32 *)f->to + i, there ? co_read32((const co_u32 *)f->from + row) : 0);
    } else if (bytes == 8) {
        co_write64((co_u64 *)f->to + i, there ? co_read64((const co_u64 *)f->from + row) : 0);
    } else if (bytes == 16) {
        co_write64((co_u64 *)f->to + 2 * i, there ? co_read64((const co_u64 *)f->from + 2 * row) : 0);
        co_write64((co_u64 *)f->to + 2 * i + 1, there ? co_read64((const co_u64 *)f->from + 2 * row + 1) : 0);
    } else {
        for (co_u32 k = 0; k < f->bytes; k++)
            co_write8((co_u8 *)f->to + i * f->bytes + k,
                      there ? co_read8((const co_u8 *)f->from + row * f->bytes + k) : 0);
    }
}

CO_INLINE void table_fetch_rows(const struct table_fetch *f, co_u32 bytes)
{
    co_u64 nulls = 0;
    const co_u64 none = f->number_bytes == 4 ? 0xffffffffull : ~0ull;
    CO_EACH_WARP (base, f->n) {
        co_u64 i = base + co_lane(), row = ~0ull;
        int active = i < f->n, there = 0, bit = 0;
        if (active) {
            row = f->numbers ? table_number(f->numbers, f->number_bytes, i) : i;
            there = row < f->rows;
            if (!there && (row != none || !f->to_validity))
                co_min64(&f->found->first, i);
            if (bytes)
                table_fetch_element(f, i, row, bytes);
            else
                bit = there && table_bit((const co_u8 *)f->from, f->from_bit + row);
            there = there && (!f->validity || table_bit(f->validity, f->validity_bit + row));
        }
        co_u32 valid = co_ballot(CO_FULL_WARP, there), bits = co_ballot(CO_FULL_WARP, bit);
        if (co_lane() == 0 && f->to_validity)
            co_write32(f->to_validity + base / 32, valid);
        if (co_lane() == 0 && !bytes)
            co_write32((co_u32 *)f->to + base / 32, bits);
        nulls += active && !there;
    }
    table_add(f->found, nulls);
}

CO_KERNEL(table_fetch_0, struct table_fetch)
{
    table_fetch_rows(args, 0);
}
CO_KERNEL(table_fetch_1, struct table_fetch)
{
    table_fetch_rows(args, 1);
}
CO_KERNEL(table_fetch_2, struct table_fetch)
{
    table_fetch_rows(args, 2);
}
CO_KERNEL(table_fetch_4, struct table_fetch)
{
    table_fetch_rows(args, 4);
}
CO_KERNEL(table_fetch_8, struct table_fetch)
{
    table_fetch_rows(args, 8);
}
CO_KERNEL(table_fetch_16, struct table_fetch)
{
    table_fetch_rows(args, 16);
}
CO_KERNEL(table_fetch_any, struct table_fetch)
{
    table_fetch_rows(args, 3); /* as many as f->bytes says */
}
