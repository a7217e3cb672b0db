/* cohort/device/map_instances.h: the widths that there are, in one place. Includes CO_MAP_FILE once for each,
 * with the parameters that device/map_width.h describes; the file undefines them. Define CO_MAP_FILE before,
 * as a string. */

#define CO_MAP_SUFFIX     32_0
#define CO_MAP_KEY        co_u32
#define CO_MAP_VALUE      co_u32
#define CO_MAP_VALUE_BITS 0
#define CO_MAP_SLOT_BITS  32
#include CO_MAP_FILE

#define CO_MAP_SUFFIX     32_32
#define CO_MAP_KEY        co_u32
#define CO_MAP_VALUE      co_u32
#define CO_MAP_VALUE_BITS 32
#define CO_MAP_SLOT_BITS  64
#include CO_MAP_FILE

#define CO_MAP_SUFFIX     64_0
#define CO_MAP_KEY        co_u64
#define CO_MAP_VALUE      co_u64
#define CO_MAP_VALUE_BITS 0
#define CO_MAP_SLOT_BITS  64
#include CO_MAP_FILE

#define CO_MAP_SUFFIX     64_32
#define CO_MAP_KEY        co_u64
#define CO_MAP_VALUE      co_u32
#define CO_MAP_VALUE_BITS 32
#define CO_MAP_SLOT_BITS  128
#include CO_MAP_FILE

#define CO_MAP_SUFFIX     64_64
#define CO_MAP_KEY        co_u64
#define CO_MAP_VALUE      co_u64
#define CO_MAP_VALUE_BITS 64
#define CO_MAP_SLOT_BITS  128
#include CO_MAP_FILE

#undef CO_MAP_FILE
