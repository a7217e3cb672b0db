/* sets_query.cu: queries. shape/sets_ask.h says what units are, and how one launch plans and works;
 * sets_answer.h has what is done for one key. */
#include "look_back.h"
#include "sets_answer.h"

/* ---- units --------------------------------------------------------------------------------------------- */

/* Which operand's chunks make the row's units: of AND the one that has the fewest. */
CO_INLINE co_u64 sets_driver(const struct sets_query *q, co_u64 row, co_u64 n, co_u64 *units)
{
    co_u64 best = ~0ull, driver = 0;
    for (co_u64 k = 0; k < n && (!k || q->op == SETS_AND); k++) {
        co_u64 u = sets_operand_units(q, sets_row_member(q, row, k));
        if (u < best) {
            best = u;
            driver = k;
        }
    }
    *units = n ? best : 0;
    return driver;
}

/* The units of a row, by one lane. */
CO_INLINE co_u64 sets_row_units(const struct sets_query *q, co_u64 row)
{
    co_u64 n = sets_row_arity(q, row), units = 0, all = 0;
    for (co_u64 k = 0; k < n; k++)
        if (sets_row_member(q, row, k) >= q->first[SETS_OPERANDS_MOST])
            co_min64(q->first_bad, row);
    if (q->op == SETS_AND || q->op == SETS_ANDNOT) {
        sets_driver(q, row, n, &units);
        return units;
    }
    for (co_u64 k = 0; k < n; k++)
        all += sets_operand_units(q, sets_row_member(q, row, k));
    return all;
}

/* The key of an operand's unit: 0 if it is none, as the member of a list that has the same key as the one
 * before. */
CO_INLINE int sets_unit_key(const struct sets_query *q, co_u64 number, co_u64 unit, co_u64 *key)
{
    co_u32 c = 0;
    while (c + 1 < q->collections && number >= q->first[c + 1])
        c++;
    const cohort_sets_view *v = &q->view[c];
    struct co_sets_set s = co_sets_open(v, number - q->first[c]);
    if (s.large) {
        *key = co_sets_key(v, s.first + unit);
        return 1;
    }
    *key = co_sets_listed(v, s.first + unit) >> CO_CHUNK_BITS;
    return !unit || co_sets_listed(v, s.first + unit - 1) >> CO_CHUNK_BITS != *key;
}

/* A unit of the row: its operand, of which *unit becomes the number, and its key; 0 if it is none. By a
 * warp. */
CO_INLINE int sets_find_unit(const struct sets_query *q, co_u64 row, co_u64 *unit, co_u64 *operand,
                             co_u64 *key)
{
    co_u64 n = sets_row_arity(q, row), units;
    if (q->op == SETS_AND || q->op == SETS_ANDNOT) {
        *operand = sets_driver(q, row, n, &units);
        return sets_unit_key(q, sets_row_member(q, row, *operand), *unit, key);
    }
    for (co_u64 base = 0;; base += 32) {
        co_u64 k = base + co_lane(), own = k < n ? sets_operand_units(q, sets_row_member(q, row, k)) : 0;
        co_u64 before = co_warp_before(own), all = co_warp_sum(own);
        if (*unit >= all) {
            *unit -= all;
            continue;
        }
        co_u32 mine = co_ballot(CO_FULL_WARP, before <= *unit && *unit < before + own);
        co_u32 lane = co_ones32((mine & (0u - mine)) - 1);
        *operand = base + lane;
        *unit -= co_shuffle64(CO_FULL_WARP, before, lane);
        return sets_unit_key(q, sets_row_member(q, row, *operand), *unit, key);
    }
}

/* Has an operand before this one the key? By a warp, which keeps what it finds of the row's first operands.
 * */
CO_INLINE int sets_is_found_before(struct sets_row *r, co_u64 operand)
{
    for (co_u64 g = 0; g * 32 < operand; g++) {
        sets_row_turn(r, g);
        if (co_any(CO_FULL_WARP, g * 32 + co_lane() < operand && r->mine.kind != SETS_OP_NONE))
            return 1;
    }
    return 0;
}

CO_INLINE void sets_row_open(struct sets_row *r, const struct sets_query *q, co_u64 row, co_u64 key)
{
    r->q = q;
    r->row = row;
    r->key = key;
    r->n = sets_row_arity(q, row);
    sets_row_group(r, 0);
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

CO_INLINE void sets_plan_tile(const struct sets_query_step *s, co_u64 tile)
{
    const struct sets_query *q = &s->q;
    co_u64 row = tile * 32 + co_lane(), units = row < q->rows ? sets_row_units(q, row) : 0;
    co_u64 all = co_warp_sum(units), before = co_warp_before(units);
    if (co_lane() == 0)
        look_back_publish(s->words, tile, tile, all, 0, 0);
    before += look_back_warp(s->words, tile, all, 0, 0);
    if (row < q->rows) {
        co_store64(s->prefix + row, before);
        if (q->counts)
            co_store64(q->counts + row, 0);
        if (q->first_counts)
            co_store64(q->first_counts + row, 0);
    }
    if (row + 1 == q->rows)
        co_store64(s->prefix + q->rows, before + units);
    if (q->any && co_lane() == 0) {
        co_u64 left = q->rows - tile * 32;
        co_store32(q->any + tile, !q->negate ? 0 : left < 32 ? (1u << left) - 1 : ~0u);
    }
    co_warp_sync(CO_FULL_WARP);
    co_fence();
    if (co_lane() == 0)
        co_add32(s->planned, 1);
}

CO_INLINE void sets_plan(const struct sets_query_step *s)
{
    co_u64 tiles = (s->q.rows + 31) / 32;
    co_u32 tile = 0;
    while (tile < tiles) {
        if (co_lane() == 0)
            tile = look_back_ticket(s->tickets);
        tile = co_shuffle32(CO_FULL_WARP, tile, 0);
        if (tile < tiles)
            sets_plan_tile(s, tile);
    }
}

CO_INLINE void sets_await_plan(const struct sets_query_step *s)
{
    co_u32 tiles = (co_u32)((s->q.rows + 31) / 32);
    if (co_lane() == 0)
        while (co_load_acquire32(s->planned) < tiles)
            co_pause();
    co_warp_sync(CO_FULL_WARP);
}

/* ---- what becomes of an answer ---- */

CO_INLINE void sets_tell_row(const struct sets_query *q, co_u64 row, co_u32 card)
{
    if (co_lane() || !card)
        return;
    if (q->counts)
        co_add64(q->counts + row, card);
    if (!q->any)
        return;
    if (q->negate)
        co_and32(q->any + row / 32, ~(1u << row % 32));
    else
        co_or32(q->any + row / 32, 1u << row % 32);
}

/* A row whose answer is known by its first member needs no other. Lanes may see different words, so one looks
 * for all. */
CO_INLINE int sets_is_known(const struct sets_query *q, co_u64 row)
{
    if (q->counts || !q->any)
        return 0;
    co_u32 word = co_lane() == 0 ? co_load32(q->any + row / 32) >> row % 32 & 1 : 0;
    return co_shuffle32(CO_FULL_WARP, word, 0) != q->negate;
}

/* Members of an answer as numbers; how many. `bits` has what the answer says is there. */
CO_INLINE co_u32 sets_answer_numbers(const struct sets_answer *a, const co_u32 *bits,
                                     const struct sets_out *o)
{
    co_u32 n = 0;
    if (a->form == SETS_ANSWER_BITS) {
        SETS_EACH_TURN(j)
        {
            co_u32 word = co_load32(bits + j * 32 + co_lane()), ones = co_ones32(word);
            co_u32 at = n + (co_u32)co_warp_before(ones);
            for (co_u32 rest = word; rest; rest &= rest - 1)
                sets_out_put(o, at++, (j * 32 + co_lane()) * 32 + co_ones32((rest & (0u - rest)) - 1));
            n += (co_u32)co_warp_sum(ones);
        }
        return n;
    }
    if (a->form == SETS_ANSWER_ENTRIES || sets_op_is_array(&a->op)) {
        for (co_u32 base = 0; base < a->op.entries; base += 32) {
            co_u32 left = a->op.entries - base;
            co_u32 kept = a->form == SETS_ANSWER_ENTRIES ? co_load32(bits + base / 32)
                          : left < 32                    ? (1u << left) - 1
                                                         : ~0u;
            if (kept >> co_lane() & 1)
                sets_out_put(o, n + co_ones32(kept & sets_lanes_before()),
                             sets_op_entry(&a->op, base + co_lane()));
            n += co_ones32(kept);
        }
        return n;
    }
    if (a->op.kind == CO_CHUNK_BITMAP) {
        SETS_EACH_TURN(j)
        { /* 64 bits a lane every other turn */
            if (j % 2)
                continue;
            co_u64 word = sets_op_bits(&a->op, j * 16 + co_lane());
            co_u32 ones = co_ones64(word), at = n + (co_u32)co_warp_before(ones);
            for (co_u64 rest = word; rest; rest &= rest - 1)
                sets_out_put(o, at++, (j * 16 + co_lane()) * 64 + co_low64(rest));
            n += (co_u32)co_warp_sum(ones);
        }
        return n;
    }
    struct sets_warp_chunk c = {(const co_u16 *)a->op.at, a->op.kind, a->op.entries};
    return sets_warp_members(&c, o);
}

/* ---- a collection -------------------------------------------------------------------------------------- */

/* Room in the pool, for all of the warp. */
CO_INLINE co_u64 sets_pool_take(const struct sets_query_step *s, co_u32 units)
{
    co_u64 unit = co_lane() == 0 ? co_add64(s->cursor, units) : 0;
    return co_shuffle64(CO_FULL_WARP, unit, 0);
}

CO_INLINE void sets_found_put(const struct sets_query_step *s, co_u64 u, co_u32 kind, co_u32 entries,
                              co_u64 unit, co_u32 card, co_u64 digest)
{
    if (co_lane())
        return;
    co_write64(s->cards + u, card);
    co_write64(s->places + u,
               co_place_make(kind, kind == CO_CHUNK_BITMAP || kind == CO_CHUNK_FULL ? 0 : entries, unit));
    co_write64(s->digests + u, digest);
}

/* Numbers, as an array; its digest. */
CO_INLINE void sets_found_array(const struct sets_query_step *s, co_u64 u, const struct sets_answer *a,
                                const co_u32 *bits)
{
    co_u64 unit = sets_pool_take(s, (a->card + 7) / 8), digest = 0;
    struct sets_out o;
    if (unit + (a->card + 7) / 8 > s->pool_units)
        return; /* bytes that are not what they should be */
    o.to = (char *)s->pool + unit * CO_PLACE_UNIT_BYTES;
    o.at = o.key = 0;
    o.room = a->card;
    o.bytes = 2;
    sets_answer_numbers(a, bits, &o);
    sets_warp_pad((co_u16 *)o.to, a->card);
    co_warp_sync(CO_FULL_WARP);
    for (co_u32 i = co_lane(); i < a->card; i += 32)
        digest |= 1ull << (co_read16((const co_u16 *)o.to + i) >> 10);
    sets_found_put(s, u, CO_CHUNK_ARRAY, a->card, unit, a->card, sets_warp_unite64(digest));
}

/* A bitmap: of shared memory, or of an operand. */
CO_INLINE void sets_found_bitmap(const struct sets_query_step *s, co_u64 u, const struct sets_answer *a,
                                 const co_u32 *bits)
{
    co_u64 unit = sets_pool_take(s, CO_CHUNK_WORDS / 4), digest = 0;
    if (unit + CO_CHUNK_WORDS / 4 > s->pool_units)
        return;
    co_u128 *to = (co_u128 *)s->pool + unit;
    for (co_u32 i = co_lane(); i < CO_CHUNK_WORDS / 4; i += 32) {
        co_u128 v;
        if (a->form == SETS_ANSWER_PASSED) {
            v = co_read128((const co_u128 *)a->op.at + i);
        } else if (a->wide) { /* the lane's own */
            v = co_read128((const co_u128 *)(const void *)bits + i);
        } else {
            v.lo = co_load32(bits + 4 * i) | (co_u64)co_load32(bits + 4 * i + 1) << 32;
            v.hi = co_load32(bits + 4 * i + 2) | (co_u64)co_load32(bits + 4 * i + 3) << 32;
        }
        co_write128(to + i, v);
        digest |= v.lo | v.hi ? 1ull << i / 8 : 0;
    }
    sets_found_put(s, u, CO_CHUNK_BITMAP, 0, unit, a->card, sets_warp_unite64(digest));
}

CO_INLINE void sets_found_runs(const struct sets_query_step *s, co_u64 u, const struct sets_answer *a)
{
    co_u32 numbers = 2 * a->op.entries, units = (numbers + 7) / 8;
    co_u64 unit = sets_pool_take(s, units), digest = 0;
    if (unit + units > s->pool_units)
        return;
    const co_u16 *from = (const co_u16 *)a->op.at;
    co_u16 *to = (co_u16 *)s->pool + unit * 8;
    for (co_u32 i = co_lane(); i < numbers; i += 32)
        co_write16(to + i, co_read16(from + i));
    sets_warp_pad(to, numbers);
    for (co_u32 r = co_lane(); r < a->op.entries; r += 32) {
        co_u32 first = co_read16(from + 2 * r), last = co_chunk_run_last(from, r);
        digest |= (~0ull << (first >> 10)) & (~0ull >> (63 - (last >> 10)));
    }
    sets_found_put(s, u, CO_CHUNK_RUNS, a->op.entries, unit, a->card, sets_warp_unite64(digest));
}

CO_INLINE void sets_found(const struct sets_query_step *s, co_u64 u, struct sets_answer *a, co_u32 *bits)
{
    if (a->card <= SETS_ARRAY_MOST)
        sets_answer_narrow(a, bits);
    if (!a->card)
        sets_found_put(s, u, CO_CHUNK_FULL, 0, 0, 0, 0);
    else if (a->card == CO_CHUNK_IDS)
        sets_found_put(s, u, CO_CHUNK_FULL, 0, 0, a->card, ~0ull);
    else if (a->form == SETS_ANSWER_PASSED && a->op.kind == CO_CHUNK_RUNS)
        sets_found_runs(s, u, a);
    else if (a->card <= SETS_ARRAY_MOST && !(a->form == SETS_ANSWER_PASSED && a->op.kind == CO_CHUNK_BITMAP))
        sets_found_array(s, u, a, bits);
    else
        sets_found_bitmap(s, u, a, bits);
}

/* ---- work ---------------------------------------------------------------------------------------------- */

/* A unit of the rows: its answer, to where it is wanted. */
CO_INLINE void sets_do_unit(const struct sets_query_step *s, co_u64 row, co_u64 unit, co_u32 *bits)
{
    const struct sets_query *q = &s->q;
    struct sets_row r;
    co_u64 operand, key;
    if (sets_is_known(q, row) || !sets_find_unit(q, row, &unit, &operand, &key))
        return;
    sets_row_open(&r, q, row, key);
    if (q->op != SETS_AND && q->op != SETS_ANDNOT && sets_is_found_before(&r, operand))
        return;
    struct sets_answer a = sets_row_answer(&r, bits, 1);
    sets_tell_row(q, row, a.card);
}

CO_INLINE void sets_work(const struct sets_query_step *s, co_u32 *bits)
{
    const struct sets_query *q = &s->q;
    co_u64 all = co_read64(s->prefix + q->rows), warps = (co_u64)co_blocks() * (co_threads() / 32);
    co_u64 piece = all / (warps * 4);
    piece = piece < 1 ? 1 : piece > 32 ? 32 : piece;
    for (;;) {
        co_u64 unit = co_lane() == 0 ? co_add64(s->next, piece) : 0;
        unit = co_shuffle64(CO_FULL_WARP, unit, 0);
        if (unit >= all)
            break;
        co_u64 end = all - unit < piece ? all : unit + piece, row = run_at(s->prefix, 0, q->rows, unit);
        for (; unit < end; unit++) {
            while (co_read64(s->prefix + row + 1) <= unit)
                row++;
            sets_do_unit(s, row, unit - co_read64(s->prefix + row), bits);
        }
    }
}

/* The least key of an operand that is not below; 0 if there is none. By one lane. */
CO_INLINE int sets_next_key(const struct sets_query *q, co_u64 number, co_u64 from, co_u64 *key)
{
    co_u32 c = 0, present;
    while (c + 1 < q->collections && number >= q->first[c + 1])
        c++;
    const cohort_sets_view *v = &q->view[c];
    struct co_sets_set s = co_sets_open(v, number - q->first[c]);
    co_u64 at =
        s.large ? co_sets_lower(v, &s, from, &present) : co_sets_list_lower(v, &s, from << CO_CHUNK_BITS);
    if (at >= s.n)
        return 0;
    *key = s.large ? co_sets_key(v, s.first + at) : co_sets_listed(v, s.first + at) >> CO_CHUNK_BITS;
    return 1;
}

/* A row in order of its keys, up to its first members. */
CO_INLINE void sets_first_members(const struct sets_query *q, co_u64 row, co_u32 *bits)
{
    co_u64 n = sets_row_arity(q, row), from = 0, told = 0;
    co_u64 enumerated = q->op == SETS_AND || q->op == SETS_ANDNOT ? n ? 1 : 0 : n;
    while (told < q->first_most && from <= ~0ull >> CO_CHUNK_BITS) {
        co_u64 least = ~0ull, key;
        for (co_u64 k = co_lane(); k < enumerated; k += 32)
            if (sets_next_key(q, sets_row_member(q, row, k), from, &key) && key < least)
                least = key;
        least = co_warp_min(least);
        if (least == ~0ull)
            break;
        struct sets_row r;
        sets_row_open(&r, q, row, least);
        struct sets_answer a = sets_row_answer(&r, bits, 0);
        sets_answer_narrow(&a, bits);
        struct sets_out o;
        o.to = q->first_out;
        o.at = row * q->first_most + told;
        o.room = q->first_most - told;
        o.key = least;
        o.bytes = q->wide ? 8 : 4;
        if (a.card && q->first_out)
            sets_answer_numbers(&a, bits, &o);
        co_warp_sync(CO_FULL_WARP);
        told += a.card < o.room ? a.card : o.room;
        from = least + 1;
    }
    if (q->first_counts && co_lane() == 0)
        co_write64(q->first_counts + row, told);
}

CO_INLINE co_u32 *sets_room_of_warp(const struct sets_query *q, co_u32 *room)
{
    return room + (co_u64)co_warp() * (q->op == SETS_AT_LEAST ? 2 : 1) * CO_CHUNK_WORDS;
}

CO_KERNEL(sets_query, struct sets_query_step)
{
    CO_SHARED_DYNAMIC(co_u32, room);
    co_u32 *bits = sets_room_of_warp(&args->q, room);
    sets_plan(args);
    if (!(args->phases & SETS_WORK))
        return;
    sets_await_plan(args);
    sets_work(args, bits);
}

CO_KERNEL(sets_query_first, struct sets_query_step)
{
    CO_SHARED_DYNAMIC(co_u32, room);
    SETS_EACH_WARP(row, args->q.rows)
    sets_first_members(&args->q, row, sets_room_of_warp(&args->q, room));
}

/* ---- a collection for an answer: bounds, keys, chunks ---- */

/* Of all rows' answers the chunks, the units of the pool and the members of lists there may be; and their
 * units of work. By lanes. */
CO_KERNEL(sets_query_bounds, struct sets_query_step)
{
    co_u64 chunks = 0, units = 0, listed = 0, work = 0;
    SETS_EACH_LANE(row, args->q.rows)
    {
        struct sets_bound b = sets_row_bound(&args->q, row);
        chunks += b.chunks;
        units += sets_units_most(&b);
        listed += b.members < SETS_LIST_MOST ? b.members : SETS_LIST_MOST;
        work += sets_row_units(&args->q, row);
    }
    chunks = co_warp_sum(chunks);
    units = co_warp_sum(units);
    listed = co_warp_sum(listed);
    work = co_warp_sum(work);
    if (co_lane() == 0 && work) {
        co_add64(args->bounds, chunks);
        co_add64(args->bounds + 1, units);
        co_add64(args->bounds + 2, listed);
        co_add64(args->bounds + 3, work);
    }
}

/* Of an operand the units below the key, and those with it. */
CO_INLINE void sets_units_below(const struct sets_query *q, co_u64 number, co_u64 key, co_u64 *below,
                                co_u64 *with)
{
    co_u32 c = 0, present;
    while (c + 1 < q->collections && number >= q->first[c + 1])
        c++;
    const cohort_sets_view *v = &q->view[c];
    struct co_sets_set s = co_sets_open(v, number - q->first[c]);
    if (s.large) {
        *below = co_sets_lower(v, &s, key, &present);
        *with = present;
        return;
    }
    co_u64 end, last = (key << CO_CHUNK_BITS) + (CO_CHUNK_IDS - 1);
    *below = co_sets_list_lower(v, &s, key << CO_CHUNK_BITS);
    end = co_sets_list_lower(v, &s, last);
    if (end < s.n && co_sets_listed(v, s.first + end) == last)
        end++;
    *with = end - *below;
}

/* The place of a unit among those of its row, which have their order by key and then by operand: those of all
 * operands that are below, those of operands before that have the key, and of its own those before. The unit
 * counts for its key if no operand before has it. By a warp. */
CO_INLINE co_u64 sets_unit_place(const struct sets_query *q, co_u64 row, co_u64 operand, co_u64 own,
                                 co_u64 key, int *is_first)
{
    co_u64 n = sets_row_arity(q, row), before = 0, same = 0;
    for (co_u64 k = co_lane(); k < n; k += 32) {
        co_u64 below, with;
        sets_units_below(q, sets_row_member(q, row, k), key, &below, &with);
        before += k == operand ? own : below;
        same += k < operand ? with : 0;
    }
    same = co_warp_sum(same);
    *is_first = !same;
    return co_warp_sum(before) + same;
}

/* The rows and keys of units, in the order of the answer's chunks. Of AND and ANDNOT that is the driver's;
 * else each unit finds its place. Of one that is none, or whose key another one has, the key is none. */
CO_INLINE void sets_driver_keys(const struct sets_query_step *s)
{
    const struct sets_query *q = &s->q;
    SETS_EACH_LANE(u, s->units)
    {
        co_u64 row = run_at(s->prefix, 0, q->rows, u), unit = u - co_read64(s->prefix + row), units, key = 0;
        co_u64 driver = sets_driver(q, row, sets_row_arity(q, row), &units);
        int is_one = sets_unit_key(q, sets_row_member(q, row, driver), unit, &key);
        co_write64(s->unit_rows + u, row);
        co_write64(s->unit_keys + u, is_one ? key : SETS_NO_KEY);
    }
}

CO_KERNEL(sets_query_keys, struct sets_query_step)
{
    const struct sets_query *q = &args->q;
    if (q->op == SETS_AND || q->op == SETS_ANDNOT) {
        sets_driver_keys(args);
        return;
    }
    SETS_EACH_WARP(u, args->units)
    {
        co_u64 row = run_at(args->prefix, 0, q->rows, u), first = co_read64(args->prefix + row);
        co_u64 unit = u - first, operand, key = 0;
        int is_one = sets_find_unit(q, row, &unit, &operand, &key), is_first;
        co_u64 place = first + sets_unit_place(q, row, operand, unit, key, &is_first);
        if (co_lane() == 0) {
            co_write64(args->unit_rows + u, row);
            if (place < args->units)
                co_write64(args->unit_keys + place, is_one && is_first ? key : SETS_NO_KEY);
        }
    }
}

CO_KERNEL(sets_query_found, struct sets_query_step)
{
    CO_SHARED_DYNAMIC(co_u32, room);
    co_u32 *bits = sets_room_of_warp(&args->q, room);
    SETS_EACH_WARP(u, args->units)
    {
        co_u64 row = co_read64(args->unit_rows + u);
        struct sets_row r;
        co_u64 key = co_read64(args->unit_keys + u);
        struct sets_answer a = sets_no_answer();
        if (key != SETS_NO_KEY) {
            sets_row_open(&r, &args->q, row, key);
            a = sets_row_answer(&r, bits, 0);
        }
        sets_found(args, u, &a, bits);
        sets_tell_row(&args->q, row, a.card);
        sets_answer_narrow(&a, bits);
        co_warp_sync(CO_FULL_WARP);
    }
}

/* Flags of the units that have found something; and one more. */
CO_KERNEL(sets_query_flags, struct sets_query_step)
{
    SETS_EACH_LANE(u, args->units + 1)
    co_write64(args->prefix + u, u < args->units && co_read64(args->cards + u) ? 1 : 0);
}

/* What was found, one after the other; and where each row's begins. */
CO_KERNEL(sets_query_gather, struct sets_gather_step)
{
    SETS_EACH_LANE(u, args->units)
    sets_gather_unit(args, u);
    SETS_EACH_LANE(row, args->rows + 1)
    sets_gather_row(args, row);
}
