/* cohort/device/lines_instances.h: the widths that there are, in one place. Includes CO_LINES_FILE once for
 * each, with the parameters that device/lines_width.h describes; the file undefines them. Define
 * CO_LINES_FILE before, as a string. */

#define CO_LINES_SUFFIX     32_0
#define CO_LINES_KEY        co_u32
#define CO_LINES_KEY_BITS   32
#define CO_LINES_VALUE      co_u32
#define CO_LINES_VALUE_BITS 0
#define CO_LINES_SLOTS      6u
#define CO_LINES_NEAR       2u
#define CO_LINES_FAR        3u
#define CO_LINES_HOME       32u
#include CO_LINES_FILE

#define CO_LINES_SUFFIX     32_32
#define CO_LINES_KEY        co_u32
#define CO_LINES_KEY_BITS   32
#define CO_LINES_VALUE      co_u32
#define CO_LINES_VALUE_BITS 32
#define CO_LINES_SLOTS      3u
#define CO_LINES_NEAR       5u
#define CO_LINES_FAR        5u
#define CO_LINES_HOME       32u
#include CO_LINES_FILE

#define CO_LINES_SUFFIX     64_0
#define CO_LINES_KEY        co_u64
#define CO_LINES_KEY_BITS   64
#define CO_LINES_VALUE      co_u32
#define CO_LINES_VALUE_BITS 0
#define CO_LINES_SLOTS      3u
#define CO_LINES_NEAR       5u
#define CO_LINES_FAR        5u
#define CO_LINES_HOME       32u
#include CO_LINES_FILE

#define CO_LINES_SUFFIX     64_32
#define CO_LINES_KEY        co_u64
#define CO_LINES_KEY_BITS   64
#define CO_LINES_VALUE      co_u32
#define CO_LINES_VALUE_BITS 32
#define CO_LINES_SLOTS      4u
#define CO_LINES_NEAR       4u
#define CO_LINES_FAR        3u
#define CO_LINES_HOME       64u
#include CO_LINES_FILE

#define CO_LINES_SUFFIX     64_64
#define CO_LINES_KEY        co_u64
#define CO_LINES_KEY_BITS   64
#define CO_LINES_VALUE      co_u64
#define CO_LINES_VALUE_BITS 64
#define CO_LINES_SLOTS      3u
#define CO_LINES_NEAR       5u
#define CO_LINES_FAR        5u
#define CO_LINES_HOME       64u
#include CO_LINES_FILE

#define CO_LINES_SUFFIX     128_64
#define CO_LINES_KEY        co_u128
#define CO_LINES_KEY_BITS   128
#define CO_LINES_VALUE      co_u64
#define CO_LINES_VALUE_BITS 64
#define CO_LINES_SLOTS      2u
#define CO_LINES_NEAR       7u
#define CO_LINES_FAR        8u
#define CO_LINES_HOME       64u
#include CO_LINES_FILE

#undef CO_LINES_FILE
