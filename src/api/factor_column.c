/* factor_column.c: a column of one piece as keys: which words, or which bytes, it has. */
#include "factor.h"

static uint32_t kind_of(const struct table_type *type)
{
    switch (type->layout) {
    case TABLE_BITS:
        return KEYS_BITS;
    case TABLE_OFFSETS_32:
        return KEYS_OFFSETS_32;
    case TABLE_OFFSETS_64:
        return KEYS_OFFSETS_64;
    case TABLE_VIEWS:
        return KEYS_VIEWS;
    default:
        break;
    }
    if (type->bytes > 8)
        return KEYS_WIDE;
    return type->number == TABLE_BYTES    ? KEYS_RAW
           : type->number == TABLE_FLOAT  ? KEYS_FLOAT
           : type->number == TABLE_SIGNED ? KEYS_SIGNED
                                          : KEYS_UNSIGNED;
}

/* The numbers of strings and wide values fill four bytes. */
static uint32_t fill_of(const struct table_type *type)
{
    if (kind_of(type) >= KEYS_WIDE)
        return 4;
    return type->bytes > 4 ? 8 : type->bytes > 2 ? 4 : type->bytes > 1 ? 2 : 1;
}

struct keys_column factor_column_of(const struct table_column *c)
{
    static const struct table_piece none;
    const struct table_piece *p = c->pieces ? &c->piece[0] : &none;
    return (struct keys_column){.kind = kind_of(&c->type),
                                .bytes = c->type.bytes,
                                .fill = fill_of(&c->type),
                                .is_signed = kind_of(&c->type) == KEYS_SIGNED,
                                .data = p->data,
                                .data_bit = p->data_bit,
                                .offsets = p->offsets,
                                .heaps = p->heaps,
                                .validity = p->nulls ? p->validity : NULL,
                                .validity_bit = p->validity_bit};
}
