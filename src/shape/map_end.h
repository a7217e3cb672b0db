/* shape/map_end.h: forgets the words of shape/map_entry.h and the parameters of the instance. */
#undef CO_PASTE3_
#undef CO_PASTE3
#undef MAP
#undef KEY
#undef VALUE
#undef CO_MAP_SUFFIX
#undef CO_MAP_KEY
#undef CO_MAP_VALUE
#undef CO_MAP_VALUE_BITS
#undef CO_MAP_SLOT_BITS
