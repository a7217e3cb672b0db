/* view.cu: a kernel of a user's own that looks keys up in a multimap, a key a lane. */
#include "view.h"

CO_KERNEL(multimap_view, struct view_args)
{
    const co_u64 i = (co_u64)co_block() * co_threads() + co_thread();
    if (i < args->n)
        view_look(args, i);
}
