/* cpu/keys_add.c: numbering distinct keys.
 *
 * Rows are taken in rounds, small enough that what a round touches is still in the caches at its end, and
 * that the table cannot become fuller than three quarters. In a round threads look keys up in blocks, whose
 * slots are asked for before any is used. An absent key claims its slot: BUSY while key and row are written,
 * then PENDING with the least row that had it. After all rows were seen, pending slots are numbered in the
 * order of their first rows, by a bitmap of those rows; then the ids of rows that met pending slots are
 * written. So the numbers are the same for any threads. One thread alone numbers as it goes.
 *
 * Rows of few words, and strings of which few are new, are looked up in a front first (keys_front.c); what it
 * does not know is done in rounds, which leave the other rows out.
 *
 * Words that lie close together have no slots, but a table by word: keys_direct.c. Many new words are put in
 * by parts of the table: keys_parts.c.
 *
 * Bytes of new keys are copied behind the others when the round is over; until then they are compared where
 * they are. */
#include "keys_round.h"

#define ROUND       (1ull << 18) /* rows, */
#define FIRST       (1ull << 15) /* and of the first one */
#define FEW_KEYS    (1ull << 12)
#define SOME_NEW    8            /* one row of so many has a new string: no front */
#define PARTS_LEAST (1ull << 20) /* keys from which on a table is done by parts, */
#define PARTS_ALL   (1ull << 28) /* rows that are at a time, */
#define PARTS_MOST  (1ull << 23) /* and rows that are at a time, where nobody wants their first ones */

/* ---- the table's size ---------------------------------------------------------------------------------- */

struct rehash {
    const struct keys_table *from;
    struct keys_table to;
};

static void rehash_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct rehash *r = arg;
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        const struct keys_slot *s = &r->from->slot[i];
        if (i + 16 < end && r->from->slot[i + 16].id != KEYS_NO_ID)
            __builtin_prefetch(&r->to.slot[keys_home(&r->to, r->from->slot[i + 16].key)], 1);
        if (s->id == KEYS_NO_ID)
            continue;
        for (uint64_t at = keys_home(&r->to, s->key);; at = keys_after(&r->to, at)) {
            uint32_t none = KEYS_NO_ID;
            if (__atomic_load_n(&r->to.slot[at].id, __ATOMIC_RELAXED) != KEYS_NO_ID ||
                !__atomic_compare_exchange_n(&r->to.slot[at].id, &none, s->id, 0, __ATOMIC_RELAXED,
                                             __ATOMIC_RELAXED))
                continue;
            r->to.slot[at].key = s->key;
            break;
        }
    }
}

static void clear_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct keys_slot *slots = arg;
    (void)worker;
    memset(slots + begin, 0xff, (end - begin) * sizeof *slots);
}

static cohort_status resize(cohort_context *context, struct keys_table *t, uint64_t capacity)
{
    struct rehash r = {t, *t};
    void *made = NULL;
    cohort_status s = pool_take_close(context, capacity * sizeof *t->slot, &made);
    if (s)
        return s;
    r.to.capacity = capacity;
    r.to.slot = made;
    cpu_parallel(context, capacity, KEYS_GRAIN, clear_part, r.to.slot);
    if (t->capacity) {
        cpu_parallel(context, t->capacity, KEYS_GRAIN, rehash_part, &r);
        pool_drop(context, t->slot);
    }
    t->slot = r.to.slot;
    t->capacity = capacity;
    return COHORT_OK;
}

/* At most three quarters of them have keys; of few, which stay in the near caches, an eighth: nearly all rows
 * are settled by their first slot. */
static uint64_t slots_for(uint64_t keys)
{
    return keys <= FEW_KEYS ? 8 * keys + 128 : (keys + keys / 3) / 64 * 64 + 128;
}

/* From a table by word to slots. */
static cohort_status leave_direct(cohort_context *context, struct keys_table *t)
{
    struct keys_table made = {.count = t->count, .null = t->null, .seed = t->seed};
    cohort_status s = resize(context, &made, slots_for(t->count));
    if (s)
        return s;
    for (uint64_t code = 0; code <= t->span; code++) {
        uint64_t at = keys_home(&made, t->low + code);
        if (t->direct[code] == KEYS_NO_ID)
            continue;
        while (made.slot[at].id != KEYS_NO_ID)
            at = keys_after(&made, at);
        made.slot[at].key = t->low + code;
        made.slot[at].id = t->direct[code];
    }
    keys_direct_drop(context, t);
    *t = made;
    return COHORT_OK;
}

/* Room for a round of `rows`, whose keys may all be new, and for what all that are `left` are likely to
 * bring: `expected`. */
static cohort_status make_room(cohort_context *context, struct keys_table *t, uint64_t rows,
                               uint64_t expected, uint64_t left)
{
    uint64_t least = slots_for(t->count + rows), wanted = t->capacity + t->capacity / 2;
    if (t->capacity && t->count + rows <= t->capacity / 4 * 3)
        return COHORT_OK;
    /* A sixteenth more than is likely: a table that is short at the end would be made twice. */
    const uint64_t keys = expected + expected / 16 < left ? expected + expected / 16 : left;
    uint64_t likely = slots_for(t->count + keys);
    wanted = likely > wanted ? likely : wanted;
    wanted = least > wanted ? least : wanted;
    cohort_status s = resize(context, t, wanted);
    return s == COHORT_NO_MEMORY && least < wanted ? resize(context, t, least) : s;
}

/* ---- a round ------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void look_part(struct round *r, uint64_t begin, uint64_t end,
                                                            int alone)
{
    uint64_t words[KEYS_BLOCK];
    struct keys_text texts[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    uint64_t homes[KEYS_BLOCK];
    const struct keys_words *w = r->batch->words;
    const enum round_form form = w ? ROUND_WORDS : ROUND_TEXTS;
    const struct keys_slot *slot = r->table->slot;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        if (r->unseen && !r->unseen[at / KEYS_BLOCK])
            continue;
        if (w)
            keys_load_rows(r->level, w, r->begin + at, count, words, states);
        else
            keys_load_text(r->table->seed, r->level, r->batch->bytes, r->begin + at, count, texts, words,
                           states);
        for (uint32_t i = 0; i < count; i++) {
            homes[i] = keys_home(r->table, words[i]);
            __builtin_prefetch(&slot[homes[i]], 1);
        }
        for (uint32_t i = 0; i < count; i++) {
            uint32_t row = (uint32_t)(at + i), id = __atomic_load_n(&slot[homes[i]].id, __ATOMIC_RELAXED);
            const struct round_key key = {.text = w ? (struct keys_text){NULL, 0} : texts[i]};
            if (r->unseen && r->batch->ids[r->begin + row] != KEYS_UNSEEN)
                continue;
            /* Most rows of few keys: a word that an earlier round has numbered, in its home. */
            if (w && !states[i] && id < r->base && slot[homes[i]].key == words[i])
                r->batch->ids[r->begin + row] = id;
            else if (states[i] == KEYS_NONE)
                r->batch->ids[r->begin + row] = KEYS_NO_ID;
            else if (states[i])
                note(r, seek_null(r, row, alone), row, alone);
            else
                note(r, seek(r, words[i], form, &key, row, alone), row, alone);
        }
    }
}

static void look_together(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    (void)worker;
    look_part(arg, begin, end, 0);
}

static struct keys_slot *slot_at(const struct round *r, uint64_t row)
{
    uint64_t at = r->where[row];
    return at == r->table->capacity ? &r->table->null : &r->table->slot[at];
}

/* Rows that are the first ones of their keys. begin is a multiple of 64. */
static void mark_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct round *r = arg;
    (void)worker;
    for (uint64_t word = begin / 64; word * 64 < end; word++) {
        uint64_t bits = 0;
        for (uint64_t row = word * 64; row < end && row < word * 64 + 64; row++)
            if (r->batch->ids[r->begin + row] == PENDING && slot_at(r, row)->row == row)
                bits |= 1ull << (row & 63);
        r->is_first[word] = bits;
    }
}

static void number_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct round *r = arg;
    (void)worker;
    for (uint64_t word = begin / 64; word * 64 < end; word++) {
        uint64_t next = r->rank[word];
        for (uint64_t bits = r->is_first[word]; bits; bits &= bits - 1, next++) {
            uint64_t row = word * 64 + (unsigned)__builtin_ctzll(bits);
            slot_at(r, row)->id = (uint32_t)(r->base + next);
            r->batch->first[r->batch->firsts + next] = r->begin + row;
        }
    }
}

static void answer_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    struct round *r = arg;
    (void)worker;
    for (uint64_t row = begin; row < end; row++)
        if (r->batch->ids[r->begin + row] == PENDING)
            r->batch->ids[r->begin + row] = slot_at(r, row)->id;
}

/* Gives pending slots their numbers: how many there are. */
static uint64_t number(cohort_context *context, struct round *r)
{
    uint64_t sum = 0;
    if (!r->claimed)
        return 0;
    cpu_parallel(context, r->rows, KEYS_GRAIN, mark_part, r);
    for (uint64_t word = 0; word * 64 < r->rows; word++) {
        r->rank[word] = sum;
        sum += (unsigned)__builtin_popcountll(r->is_first[word]);
    }
    cpu_parallel(context, r->rows, KEYS_GRAIN, number_part, r);
    cpu_parallel(context, r->rows, KEYS_GRAIN, answer_part, r);
    return sum;
}

/* ---- bytes of new keys --------------------------------------------------------------------------------- */

/* Where the round's new keys will end, and room for them and for what the rows after it are likely to
 * bring. */
static cohort_status room_for_text(cohort_context *context, const struct round *r, uint64_t added)
{
    struct keys_table *t = r->table;
    const uint64_t *first = r->batch->first + r->batch->firsts, count = r->base + added;
    cohort_status s = keys_grow(context, &t->start, &t->start_room, t->start ? r->base + 1 : 0, count + 1,
                                sizeof *t->start);
    if (s)
        return s;
    t->start[0] = 0;
    for (uint64_t i = 0, id = r->base; i < added; i++, id++)
        t->start[id + 1] =
            t->start[id] + (t->null.id == id ? 0 : keys_text_at(r->batch->bytes, first[i]).length);
    const uint64_t bytes = t->start[count];
    double likely = (double)bytes / (double)count * (double)r->expected * 17 / 16;
    if (bytes <= t->heap_room)
        return COHORT_OK;
    /* The first rows tell little: among many, the same keys come again. */
    likely = likely < 3.0 * (double)bytes ? likely : 3.0 * (double)bytes;
    s = likely < (double)bytes / 2 || likely > (double)(1ull << 62)
            ? COHORT_NO_MEMORY
            : keys_reserve(context, &t->heap, &t->heap_room, t->heap_used, bytes + (uint64_t)likely, 1);
    return s ? keys_grow(context, &t->heap, &t->heap_room, t->heap_used, bytes, 1) : s;
}

struct keep_job {
    const struct round *round;
    const uint64_t *first;
};

static void keep_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct keep_job *j = arg;
    const struct keys_table *t = j->round->table;
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        const uint64_t at = t->start[j->round->base + i], length = t->start[j->round->base + i + 1] - at;
        if (length)
            memcpy(t->heap + at, keys_text_at(j->round->batch->bytes, j->first[i]).at, length);
    }
}

static void keep_text(cohort_context *context, const struct round *r, uint64_t added)
{
    struct keep_job j = {r, r->batch->first + r->batch->firsts};
    cpu_parallel(context, added, KEYS_GRAIN, keep_part, &j);
    r->table->heap_used = r->table->start[r->base + added];
}

/* Takes a round's keys out again: no memory for their bytes. What is left is put in anew, from its bytes. */
static void undo(struct round *r)
{
    struct keys_table *t = r->table;
    memset(t->slot, 0xff, t->capacity * sizeof *t->slot);
    if (t->null.id != KEYS_NO_ID && t->null.id >= r->base)
        t->null.id = KEYS_NO_ID;
    for (uint64_t id = 0; id < r->base; id++) {
        const struct keys_text text = keys_text_in(t->heap, t->start + id);
        uint64_t hash = keys_hash_text(t->seed, text), at = keys_home(t, hash);
        if (t->null.id == id)
            continue;
        while (t->slot[at].id != KEYS_NO_ID)
            at = keys_after(t, at);
        t->slot[at].key = hash;
        t->slot[at].id = (uint32_t)id;
    }
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static cohort_status one_round(cohort_context *context, struct round *r)
{
    struct keys_batch *b = r->batch;
    int alone = b->rows ? !r->own : cpu_is_alone(context, r->rows, KEYS_GRAIN);
    cohort_status s =
        keys_grow(context, &b->first, &b->first_room, b->firsts, b->firsts + r->most, sizeof *b->first);
    if (s)
        return s;
    r->base = r->table->count;
    r->claimed = 0;
    uint64_t added;
    if (b->rows)
        keys_rows_look(context, r, alone);
    else if (alone)
        look_part(r, 0, r->rows, 1);
    else
        cpu_parallel(context, r->rows, KEYS_GRAIN, look_together, r);
    added = alone ? r->claimed : number(context, r);
    if (added && !alone && b->rows)
        keys_rows_keep(context, r, added);
    if (added && b->bytes) {
        s = room_for_text(context, r, added);
        if (s) {
            undo(r);
            return s;
        }
        keep_text(context, r, added);
    }
    b->firsts += b->passing ? 0 : added;
    r->table->count += added;
    return COHORT_OK;
}

/* Numbers rows `at` to `at + rows`, or those of them that are unseen: at most `most`. */
static cohort_status add_rows(cohort_context *context, struct round *r, uint64_t at, uint64_t rows,
                              uint64_t most, uint64_t expected)
{
    if (r->table->count + most > KEYS_MOST_IDS)
        return context_fail(context, COHORT_OVERFLOW, "more than %llu distinct keys",
                            (unsigned long long)KEYS_MOST_IDS);
    r->begin = at;
    r->rows = rows;
    r->most = most;
    r->expected = expected;
    cohort_status s = make_room(context, r->table, most, expected, r->batch->n - at);
    if (!s && r->batch->rows)
        s = keys_rows_room(context, r->table, most, expected);
    return s ? s : one_round(context, r);
}

/* A step behind a front. */
static cohort_status add_unseen(cohort_context *context, struct round *r, struct keys_front *f, uint64_t at,
                                uint64_t rows, uint64_t expected)
{
    cohort_status s = COHORT_OK;
    uint64_t unseen = 0;
    keys_front_look(context, f, r->batch, at, rows);
    for (uint64_t part = 0; !s && part < rows; part += ROUND) {
        uint64_t count = rows - part < ROUND ? rows - part : ROUND;
        uint64_t most = keys_front_unseen(f, part, count);
        r->unseen = f->unseen + part / KEYS_BLOCK;
        if (most)
            s = add_rows(context, r, at + part, count, most, expected);
        unseen += most;
    }
    r->unseen = NULL;
    keys_front_heed(f, rows, unseen);
    return s;
}

/* A quarter of the rows: their memory, while they are done by parts, is less than a third of the table's. */
static uint64_t quarter_of(uint64_t n)
{
    return n / 4 < PARTS_MOST ? n / 4 + 1 : PARTS_MOST;
}

/* How many rows are to be done by parts of the table: 0, unless most of them bring new keys, so many that the
 * table will not stay in the caches. All of them, as each time the whole table comes to the caches and goes;
 * but a quarter where nobody wants first rows: joins say how much they take. */
static uint64_t rows_by_parts(const struct round *r, uint64_t n, uint64_t left, uint64_t expected)
{
    uint64_t rows = r->batch->passing ? quarter_of(n) : PARTS_ALL;
    if (!r->batch->words || expected < left / 8 * 7 || r->table->count + expected < PARTS_LEAST)
        return 0;
    rows = left < rows ? left : rows;
    return rows < PARTS_LEAST / 4 || r->table->count + rows > KEYS_MOST_IDS ? 0 : rows;
}

/* How many were done; 0: by rounds, then. */
static uint64_t add_parts(cohort_context *context, struct round *r, uint64_t at, uint64_t rows,
                          uint64_t expected)
{
    const uint64_t few = quarter_of(r->batch->n);
    if (!rows || make_room(context, r->table, rows, expected, r->batch->n - at))
        return 0;
    if (!keys_parts_add(context, r->table, r->batch, at, rows))
        return rows;
    return few < rows && !keys_parts_add(context, r->table, r->batch, at, few) ? few : 0;
}

/* Of strings a front is for those who meet few new ones: it makes two lookups of each. */
static int has_front(cohort_context *context, const struct round *r, struct keys_front *f, uint64_t added,
                     uint64_t last)
{
    if (r->batch->rows || (r->batch->bytes && added > last / SOME_NEW))
        return 0;
    return keys_front_open(context, f, r->table);
}

static uint64_t round_of(const struct keys_batch *b)
{
    return b->rows ? keys_rows_round(b->rows) : ROUND;
}

static cohort_status rounds(cohort_context *context, struct round *r, uint64_t n)
{
    struct keys_front front = {0};
    cohort_status s = COHORT_OK;
    const uint64_t round = round_of(r->batch);
    uint64_t added = 0, last = 1;
    for (uint64_t at = 0, rows; !s && at < n; at += rows) {
        uint64_t left = n - at, before = r->table->count;
        /* As many as the last step brought, row by row; the first one tells what is to be expected. */
        uint64_t expected = (uint64_t)((double)added / (double)last * (double)left);
        rows = at ? rows_by_parts(r, n, left, expected) : 0;
        const uint64_t by_parts = add_parts(context, r, at, rows, expected);
        int is_known = !by_parts && at && has_front(context, r, &front, added, last);
        rows = by_parts                               ? by_parts
               : is_known                             ? front.step
               : !at && left > round && round > FIRST ? FIRST
                                                      : round;
        rows = left < rows ? left : rows;
        if (!by_parts)
            s = is_known ? add_unseen(context, r, &front, at, rows, expected)
                         : add_rows(context, r, at, rows, rows, expected);
        added = r->table->count - before;
        last = rows;
        if (!s && n > round)
            s = context_progress(context, "keys", at + rows, n);
    }
    keys_front_close(context, &front);
    return s;
}

cohort_status cpu_keys_add(cohort_context *context, struct keys_table *t, struct keys_batch *b)
{
    struct round r = {.table = t, .batch = b, .level = cpu_device(context)->level};
    uint64_t most = b->n < round_of(b) ? b->n : round_of(b), words = most / 64 + 1;
    uint64_t own = b->rows ? keys_rows_own(context, b->rows, most) : 0;
    void *memory = NULL;
    cohort_status s = COHORT_OK;
    t->seed = t->seed ? t->seed : keys_seed();
    t->words = b->rows ? b->rows->words : 0;
    if (keys_direct_open(context, t, b))
        return keys_direct_add(context, t, b);
    if (t->direct)
        s = leave_direct(context, t);
    if (!s)
        s = pool_take(context, (most + 2 * words + own) * 8, &memory);
    if (s)
        return s;
    r.where = memory;
    r.is_first = r.where + most;
    r.rank = r.is_first + words;
    r.own = own ? r.rank + words : NULL;
    s = rounds(context, &r, b->n);
    pool_give(context, memory);
    return s;
}
