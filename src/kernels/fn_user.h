/* kernels/fn_user.h: the ids of keys by a function of the user's. Compiled when it is first needed, behind
 * the user's source (src/cuda/jit.c), which stands behind cohort/device/fn.h.
 *
 * Parameters: USER_FN, the function; USER_KEY, the type of its keys; USER_BITS, theirs; USER_KERNEL, the
 * kernel's name. */

struct fn_user_args {
    co_u64 n;
    const USER_KEY *keys;
    const void *state;
    co_u32 *ids;
};

#define USER_READ_(bits) co_read##bits
#define USER_READ(bits)  USER_READ_(bits)
#define USER_TOGETHER    4 /* keys of a lane that are under way at once */

CO_KERNEL(USER_KERNEL, struct fn_user_args)
{
    const co_u64 step = (co_u64)co_blocks() * co_threads();
    for (co_u64 i = (co_u64)co_block() * co_threads() + co_thread(); i < args->n; i += USER_TOGETHER * step) {
        USER_KEY key[USER_TOGETHER];
        for (int j = 0; j < USER_TOGETHER; j++)
            key[j] = i + j * step < args->n ? USER_READ(USER_BITS)(args->keys + i + j * step) : 0;
        for (int j = 0; j < USER_TOGETHER; j++)
            if (i + j * step < args->n)
                co_write32(args->ids + i + j * step, USER_FN(key[j], args->state));
    }
}
