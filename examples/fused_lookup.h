/* fused_lookup.h: the work on one row, the same text for a GPU's kernel (fused_lookup.cu) and for the host's
 * threads (fused_lookup_cpu.c).
 *
 * Rows are sales: a product and a quantity. Prices are in a map. Looking all prices up in one call and
 * multiplying after would write every price to memory and read it back; here the lookup is part of the loop
 * that uses it. Products that the price list lacks are counted in a second map, on the way: lookups and
 * updates mix freely. */
#ifndef FUSED_LOOKUP_H
#define FUSED_LOOKUP_H

#include <cohort/device/map.h>

struct sales {
    cohort_map_view prices;  /* 32/32: product -> price */
    cohort_map_view unknown; /* 32/32: product -> sales without a price; of fixed capacity */
    const co_u32 *products, *quantities;
    co_u64 n;
    co_u64 *turnover; /* the sum, from 0 */
    co_u32 *full;     /* becomes 1 if `unknown` had no room */
};

/* What sale i brings in. */
CO_INLINE co_u64 sale(const struct sales *s, co_u64 i, co_map_tally *tally)
{
    co_u32 product = s->products[i], price, old;
    /* No lane changes the prices meanwhile, so the quiet form will do; else it would be co_map32_32_find. */
    if (co_map32_32_find_quiet(&s->prices, product, &price) == CO_MAP_HIT)
        return (co_u64)price * s->quantities[i];
    if (co_map32_32_apply(&s->unknown, CO_OP_COUNT, product, 0, &old, tally) == CO_MAP_FULL)
        co_store32(s->full, 1);
    return 0;
}

/* The example's data: product p costs p % 97 + 1, but every eighth product has no price. */
#define PRODUCTS 100000u
#define SALES    3000000u

static inline int has_price(unsigned product)
{
    return product % 8 != 0;
}
static inline unsigned price_of(unsigned product)
{
    return product % 97 + 1;
}
static inline unsigned product_of(unsigned sale)
{
    return sale * 2654435761u % PRODUCTS;
}
static inline unsigned quantity_of(unsigned sale)
{
    return sale % 5 + 1;
}

#endif
