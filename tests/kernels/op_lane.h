/* op_lane.h: what a lane does with its list of operations (op_list.h): read by the kernels and by the
 * host's threads, whose co_clock and LIST_SETTLE are the includer's. */
#ifndef TEST_OP_LANE_H
#define TEST_OP_LANE_H

#include "op_list.h"

/* What gives up sooner than usual keeps schedules short. Host's threads do as usual. */
#ifndef COHORT_DEVICE_LINES_H
#    define CO_LINES_TRIES 8u
#    define CO_LINES_WAITS 4u
#endif
#include "cohort/device/lines.h"

/* On a GPU a clock may be read while a load is still under way; all must have been done. Simulated words
 * end in order, and a fence would hide what it orders: there a search is told what the operation came to. */
#if defined(__CUDACC__)
#    define LIST_SETTLE(result, old) co_fence_sc()
#elif defined(COHORT_SIM)
void sim_outcome(co_u64 result, co_u64 old); /* a search: sim/merge.c */
#    define LIST_SETTLE(result, old) sim_outcome((co_u64)(result), old)
#endif

CO_INLINE cohort_map_view list_view(const struct list_args *a, co_u32 number)
{
    cohort_map_view v = a->view;
    v.slots = (char *)v.slots + number * a->table_step;
    if (v.far)
        v.filter = (co_u64 *)(void *)((char *)v.filter + number * a->table_step);
    v.counters = (struct co_map_counters *)(void *)((char *)v.counters + number * a->counters_step);
    return v;
}

/* Keys by their numbers: test.h says how one of 16 bytes comes of its number. */
#define LIST_co_u32(key) ((co_u32)(key))
#define LIST_co_u64(key) (key)
CO_INLINE co_u128 LIST_co_u128(co_u64 number)
{
    const co_u64 even = number & 0x5555555555555555ull, odd = number & ~0x5555555555555555ull;
    return co_make128(even | even << 1, odd | odd >> 1);
}

/* list_do_NAME: one operation; *old is its old value where it tells one. list_lane_NAME: lane `lane` of
 * case `number`. */
#define LIST_WIDTH(NAME, LAYOUT, W, KEY, VALUE)                                                         \
    CO_INLINE int list_do_##NAME(const cohort_map_view *m, co_u32 kind, co_u64 key, co_u64 operand,     \
                                 co_u64 *old, co_##LAYOUT##_tally *tally)                               \
    {                                                                                                   \
        VALUE value = 0;                                                                                \
        int r;                                                                                          \
        switch (kind) {                                                                                 \
        case LIST_FIND:                                                                                 \
            r = co_##LAYOUT##W##_find(m, LIST_##KEY(key), &value);                                      \
            break;                                                                                      \
        case LIST_CONTAINS:                                                                             \
            return co_##LAYOUT##W##_contains(m, LIST_##KEY(key));                                       \
        case LIST_INSERT:                                                                               \
            return co_##LAYOUT##W##_insert(m, LIST_##KEY(key), (VALUE)operand, tally);                  \
        case LIST_ASSIGN:                                                                               \
            return co_##LAYOUT##W##_assign(m, LIST_##KEY(key), (VALUE)operand, tally);                  \
        case LIST_ERASE:                                                                                \
            return co_##LAYOUT##W##_erase(m, LIST_##KEY(key), tally);                                   \
        default:                                                                                        \
            r = co_##LAYOUT##W##_apply(m, kind, LIST_##KEY(key), (VALUE)operand, &value, tally);        \
        }                                                                                               \
        *old = value;                                                                                   \
        return r;                                                                                       \
    }                                                                                                   \
    CO_INLINE void list_lane_##NAME(const struct list_args *a, co_u32 number, co_u32 lane)              \
    {                                                                                                   \
        cohort_map_view m = list_view(a, number);                                                       \
        co_##LAYOUT##_tally tally = {0};                                                                \
        co_u64 at = ((co_u64)number * a->lanes + lane) * a->each;                                       \
        for (co_u32 k = 0; k < a->each; k++, at++) {                                                    \
            co_u64 op = co_read64(a->ops + at), old = 0, *record = a->records + LIST_RECORD_WORDS * at; \
            if ((op & 255) == LIST_END)                                                                 \
                break;                                                                                  \
            co_u64 begin = co_clock();                                                                  \
            int r = list_do_##NAME(&m, (co_u32)(op & 255), a->keys[op >> 8 & 255],                      \
                                   a->operands[op >> 16 & 255], &old, &tally);                          \
            LIST_SETTLE(r, old);                                                                        \
            co_u64 end = co_clock();                                                                    \
            co_write64(record + LIST_INVOKE, begin);                                                    \
            co_write64(record + LIST_RESPONSE, end);                                                    \
            co_write64(record + LIST_RESULT, (co_u64)r);                                                \
            co_write64(record + LIST_OLD, old);                                                         \
        }                                                                                               \
        co_##LAYOUT##_flush(&m, &tally);                                                                \
    }

LIST_WIDTH(32_0, map, 32_0, co_u32, co_u32)
LIST_WIDTH(32_32, map, 32_32, co_u32, co_u32)
LIST_WIDTH(64_0, map, 64_0, co_u64, co_u64)
LIST_WIDTH(64_32, map, 64_32, co_u64, co_u32)
LIST_WIDTH(64_64, map, 64_64, co_u64, co_u64)

LIST_WIDTH(lines_32_0, lines, 32_0, co_u32, co_u32)
LIST_WIDTH(lines_32_32, lines, 32_32, co_u32, co_u32)
LIST_WIDTH(lines_64_0, lines, 64_0, co_u64, co_u32)
LIST_WIDTH(lines_64_32, lines, 64_32, co_u64, co_u32)
LIST_WIDTH(lines_64_64, lines, 64_64, co_u64, co_u64)
LIST_WIDTH(lines_128_64, lines, 128_64, co_u128, co_u64)

#endif
