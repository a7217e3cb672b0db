/* cuda/keys.c: keys that are words, on a GPU: rows made words, ranges, tables that number them, counts and
 * ranks (kernels/keys.cu). Keys that are bytes are worked on in the host's memory: api/staged.c sees to
 * it. */
#include "backend/keys.h"

#include "core/seed.h"
#include "device.h"
#include "keys.h"
#include "shape/bits.h"

static cohort_status none(cohort_context *context)
{
    return context_fail(context, COHORT_UNSUPPORTED, "such keys are worked on in the host's memory");
}

static cohort_status take(cohort_context *context, uint64_t entries, uint64_t unit, void *out)
{
    void *memory;
    cohort_status s = pool_take(context, entries * unit, &memory);
    if (!s)
        memcpy(out, &memory, sizeof memory);
    return s;
}

/* ---- few groups: tables in shared memory --------------------------------------------------------------- */

/* Rows of a block for each group, at least. */
#define FEW_ROWS 8u

unsigned gpu_few_blocks(const struct gpu *g, uint64_t rows, uint64_t groups)
{
    uint64_t least = FEW_ROWS * groups > g->tuning->block ? FEW_ROWS * groups : g->tuning->block;
    uint64_t blocks = rows / least, most = (uint64_t)g->multiprocessors * g->tuning->group_blocks;
    if (!groups) /* no row has one */
        return 0;
    return (unsigned)(blocks < most ? blocks : most);
}

co_u32 gpu_few_places(const struct gpu *g, uint64_t bytes)
{
    co_u32 places = 32;
    while (places > 1 && places * bytes > g->tuning->group_bytes)
        places /= 2;
    return places;
}

/* ---- rows as words ------------------------------------------------------------------------------------- */

struct keys_look gpu_keys_look(const struct keys_column *c)
{
    return (struct keys_look){.kind = c->kind,
                              .bytes = c->bytes,
                              .data = c->data,
                              .data_bit = c->data_bit,
                              .validity = c->validity,
                              .validity_bit = c->validity_bit,
                              .words = (const co_u64 *)(const void *)c->words,
                              .states = c->states,
                              .null = c->skips_nulls ? KEYS_NONE : KEYS_NULL};
}

/* Words and states of a round of rows. */
struct rows {
    uint64_t begin, n;
    co_u64 *words;
    co_u8 *states; /* NULL: all are values */
    void *taken[2];
};

static void rows_close(cohort_context *context, struct rows *r)
{
    pool_give(context, r->taken[0]);
    pool_give(context, r->taken[1]);
}

static cohort_status add_column(cohort_context *context, const struct rows *r, const struct keys_column *c,
                                struct keys_words_step step)
{
    step.column = gpu_keys_look(c);
    step.column.begin = r->begin;
    step.n = r->n;
    step.words = r->words;
    step.states = r->states;
    return gpu_launch(context, "keys_words", r->n, &step);
}

static int all_values(const struct keys_column *c)
{
    return !c->validity && c->kind != KEYS_DICTIONARY && c->kind != KEYS_IDS;
}

static cohort_status rows_alone(cohort_context *context, const struct keys_column *c, struct rows *r)
{
    struct keys_words_step step = {.how = KEYS_ALONE, .first = 1};
    int is_word = c->bytes == 8 && (c->kind == KEYS_UNSIGNED || c->kind == KEYS_SIGNED);
    cohort_status s = COHORT_OK;
    if (is_word && all_values(c)) {
        r->words = (co_u64 *)(uintptr_t)c->data + r->begin; /* read where they are */
        return COHORT_OK;
    }
    s = take(context, r->n, 8, &r->taken[0]);
    if (!s && !all_values(c))
        s = take(context, r->n, 1, &r->taken[1]);
    r->words = r->taken[0];
    r->states = r->taken[1];
    return s ? s : add_column(context, r, c, step);
}

/* Fails or not, rows_close is due. */
static cohort_status rows_open(cohort_context *context, const struct keys_words *w, uint64_t begin,
                               uint64_t n, struct rows *r)
{
    *r = (struct rows){.begin = begin, .n = n};
    if (!w->base)
        return rows_alone(context, w->column, r);
    cohort_status s = take(context, n, 8, &r->taken[0]);
    if (!s)
        s = take(context, n, 1, &r->taken[1]);
    r->words = r->taken[0];
    r->states = r->taken[1];
    for (uint32_t i = 0; !s && i < w->columns; i++) {
        struct keys_words_step step = {
            .how = KEYS_CODE, .first = !i, .base = w->base[i], .span = w->span[i], .shift = w->shift[i]};
        s = add_column(context, r, &w->column[i], step);
    }
    for (uint32_t i = 0; !s && i < w->skips; i++)
        s = add_column(context, r, &w->skip[i], (struct keys_words_step){.how = KEYS_SKIP});
    return s;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* Blocks a multiprocessor: few, as every warp of them ends in three additions to the same words. */
#define RANGE_BLOCKS 8u

static cohort_status cuda_keys_range(cohort_context *context, const struct keys_column *column, uint64_t n,
                                     struct keys_range *out)
{
    const struct gpu *g = gpu_of(context);
    struct keys_range_step step = {.column = gpu_keys_look(column), .n = n};
    struct keys_found found = {~0ull, 0, 0};
    uint64_t blocks = n / g->tuning->block + 1, most = (uint64_t)g->multiprocessors * RANGE_BLOCKS;
    void *memory;
    step.turn = column->is_signed ? 1ull << 63 : 0;
    cohort_status s = pool_take(context, sizeof found, &memory);
    if (s)
        return s;
    step.found = memory;
    s = context_copy(context, memory, &found, sizeof found);
    if (!s && n)
        s = gpu_launch_grid(context, "keys_range", (unsigned)(blocks < most ? blocks : most),
                            g->tuning->block, 0, &step);
    if (!s)
        s = context_copy(context, &found, memory, sizeof found);
    pool_give(context, memory);
    *out = (struct keys_range){found.low ^ step.turn, found.high ^ step.turn, found.any != 0};
    return s;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

#define MOST_CELLS (UINT32_MAX - 2ull)

static uint64_t cells_bytes(uint64_t capacity)
{
    return (capacity + KEYS_ODD) * sizeof(struct keys_cell);
}

static void cuda_keys_drop(cohort_context *context, struct keys_table *t)
{
    if (t->slot)
        context_release(context, t->slot, cells_bytes(t->capacity));
    keys_table_open(t);
}

static cohort_status resize(cohort_context *context, struct keys_table *t, uint64_t capacity)
{
    void *made;
    cohort_status s = system_take(context, cells_bytes(capacity), &made);
    if (s)
        return s;
    struct keys_rehash_step step = {(void *)t->slot,   made,    t->capacity, capacity,
                                    seed_of_process(), t->count};
    s = context_fill(context, made, 0xff, cells_bytes(capacity));
    if (!s && t->slot)
        s = gpu_launch(context, "keys_rehash", t->capacity + KEYS_ODD, &step);
    if (s) {
        context_release(context, made, cells_bytes(capacity));
        return s;
    }
    if (t->slot)
        context_release(context, t->slot, cells_bytes(t->capacity));
    t->slot = made;
    t->capacity = capacity;
    t->unsettled = 0;
    return COHORT_OK;
}

/* Slots for a round of rows, all of which may be new: at most three quarters have keys. What a round that was
 * broken off has left there stays behind. */
static cohort_status make_room(cohort_context *context, struct keys_table *t, uint64_t rows)
{
    uint64_t keys = t->count + rows, least = keys + keys / 3 + 32, wanted = t->capacity + t->capacity / 2;
    if (keys + 1 > MOST_CELLS)
        return context_fail(context, COHORT_OVERFLOW, "more than %llu keys", MOST_CELLS - 1);
    if (t->slot && t->capacity >= least)
        return t->unsettled ? resize(context, t, t->capacity) : COHORT_OK;
    least = least < MOST_CELLS ? least : MOST_CELLS;
    wanted = wanted > least ? wanted : least;
    return resize(context, t, wanted < MOST_CELLS ? wanted : MOST_CELLS);
}

/* What a round works with: from the pool. */
struct round {
    struct keys_round step;
    void *bits, *before, *scan;
    uint64_t bites;
};

static void round_close(cohort_context *context, struct round *r)
{
    pool_give(context, r->bits);
    pool_give(context, r->before);
    pool_give(context, r->scan);
}

static cohort_status round_open(cohort_context *context, struct round *r, const struct keys_table *t,
                                const struct rows *rows, uint32_t *ids)
{
    *r = (struct round){.step = {.cell = (void *)t->slot,
                                 .capacity = t->capacity,
                                 .seed = seed_of_process(),
                                 .n = rows->n,
                                 .words = rows->words,
                                 .states = rows->states,
                                 .ids = ids,
                                 .count = t->count,
                                 .begin = rows->begin}};
    r->bites = (rows->n + KEYS_BITE - 1) / KEYS_BITE;
    cohort_status s = take(context, r->bites, KEYS_BITE / 8, &r->bits);
    if (!s)
        s = take(context, r->bites + 1, 8, &r->before);
    if (!s)
        s = pool_take(context, gpu_scan_bytes(context, r->bites + 1), &r->scan);
    r->step.bits = r->bits;
    r->step.before = r->before;
    return s;
}

/* Rows get the numbers of their slots, and first rows are counted: `made` of them. */
static cohort_status claim(cohort_context *context, struct round *r, uint64_t *made)
{
    const struct gpu *g = gpu_of(context);
    cohort_status s = gpu_launch_walks(context, "keys_claim_rows", r->step.n, g->maps.change_block,
                                       g->maps.change_blocks, &r->step);
    if (!s)
        s = gpu_launch_warps(context, "keys_first_rows", r->bites, 0, &r->step);
    if (!s)
        s = context_fill(context, r->step.before + r->bites, 0, 8);
    if (!s)
        s = gpu_scan(context, r->step.before, r->bites + 1, r->scan);
    if (!s)
        s = context_copy(context, made, r->step.before + r->bites, 8);
    return s;
}

static cohort_status add_round(cohort_context *context, struct keys_table *t, struct keys_batch *b,
                               uint64_t begin, uint64_t n)
{
    struct rows rows;
    struct round r = {.bites = 0};
    uint64_t made = 0;
    cohort_status s = rows_open(context, b->words, begin, n, &rows);
    if (!s)
        s = round_open(context, &r, t, &rows, b->ids + begin);
    t->unsettled = 1;
    if (!s)
        s = claim(context, &r, &made);
    if (!s && t->count + made > KEYS_MOST_IDS)
        s = context_fail(context, COHORT_OVERFLOW, "more than %llu keys", KEYS_MOST_IDS);
    if (b->first)
        r.step.first = (co_u64 *)(void *)(b->first + b->firsts);
    if (!s)
        s = gpu_launch_warps(context, "keys_number_rows", r.bites, 0, &r.step);
    if (!s)
        s = gpu_launch(context, "keys_give_ids", n, &r.step);
    if (!s) {
        t->count += made;
        t->unsettled = 0;
        b->firsts += b->first ? made : 0;
    }
    round_close(context, &r);
    rows_close(context, &rows);
    return s;
}

static cohort_status cuda_keys_add(cohort_context *context, struct keys_table *t, struct keys_batch *b)
{
    const uint64_t most = gpu_of(context)->tuning->keys_round;
    void *first = NULL;
    cohort_status s = COHORT_OK;
    if (!b->words)
        return none(context);
    if (!b->passing && b->n) {
        s = pool_take(context, b->n * sizeof *b->first, &first);
        b->first = first;
        b->first_room = s ? 0 : b->n;
    }
    for (uint64_t at = 0; !s && at < b->n; at += most) {
        uint64_t rows = b->n - at < most ? b->n - at : most;
        s = make_room(context, t, rows);
        if (!s)
            s = add_round(context, t, b, at, rows);
    }
    return s;
}

/* By a table, always. */
static cohort_status cuda_keys_firsts(cohort_context *context, const struct keys_words *words, uint64_t n,
                                      uint32_t *rows, uint64_t *count)
{
    (void)context, (void)words, (void)n, (void)rows, (void)count;
    return COHORT_UNSUPPORTED;
}

static cohort_status cuda_keys_find(cohort_context *context, const struct keys_table *t, struct keys_batch *b)
{
    const struct gpu *g = gpu_of(context);
    struct rows rows;
    if (!b->words)
        return none(context);
    if (!t->slot)
        return context_fill(context, b->ids, 0xff, b->n * sizeof *b->ids);
    cohort_status s = rows_open(context, b->words, 0, b->n, &rows);
    struct keys_round step = {.cell = (void *)t->slot,
                              .capacity = t->capacity,
                              .seed = seed_of_process(),
                              .n = b->n,
                              .words = rows.words,
                              .states = rows.states,
                              .ids = b->ids,
                              .count = t->count};
    if (!s)
        s = gpu_launch_walks(context, "keys_find_rows", b->n, g->maps.look_block, g->maps.look_blocks, &step);
    rows_close(context, &rows);
    return s;
}

/* ---- values of dictionaries ---------------------------------------------------------------------------- */

/* Brings a buffer of the host's to the device. */
static cohort_status bring(cohort_context *context, const void *from, uint64_t bytes, void **to)
{
    cohort_status s = pool_take(context, bytes, to);
    return s || !bytes ? s : context_copy(context, *to, from, bytes);
}

static cohort_status cuda_keys_load(cohort_context *context, const struct keys_column *column, uint64_t n,
                                    uint64_t *words, uint8_t *states)
{
    struct keys_column own = *column;
    struct rows rows = {.n = n, .words = (co_u64 *)(void *)words, .states = states};
    void *data = NULL, *validity = NULL;
    uint64_t bytes = column->kind == KEYS_BITS ? bits_bytes(own.data_bit % 8, n) : n * own.bytes;
    if (column->kind == KEYS_DICTIONARY || column->kind >= KEYS_WIDE)
        return none(context);
    cohort_status s = bring(context, (const char *)own.data + own.data_bit / 8, bytes, &data);
    if (!s && own.validity)
        s = bring(context, own.validity + own.validity_bit / 8, bits_bytes(own.validity_bit % 8, n),
                  &validity);
    own.data = data;
    own.data_bit %= 8;
    own.validity = validity;
    own.validity_bit %= 8;
    if (!s)
        s = add_column(context, &rows, &own, (struct keys_words_step){.how = KEYS_ALONE, .first = 1});
    pool_give(context, data);
    pool_give(context, validity);
    return s;
}

static cohort_status cuda_keys_decode(cohort_context *context, const struct keys_column *column, uint64_t n,
                                      uint32_t width, void *to, void *validity, uint64_t *nulls)
{
    struct keys_decode_step step = {
        .column = gpu_keys_look(column), .n = n, .width = width, .to = to, .validity = validity};
    void *count;
    cohort_status s = pool_take(context, sizeof *nulls, &count);
    if (s)
        return s;
    step.nulls = count;
    s = context_fill(context, count, 0, sizeof *nulls);
    if (!s)
        s = gpu_launch(context, "keys_decode", n, &step);
    if (!s)
        s = context_copy(context, nulls, count, sizeof *nulls);
    pool_give(context, count);
    return s;
}

/* ---- what is told of ids ------------------------------------------------------------------------------- */

static cohort_status cuda_keys_rows(cohort_context *context, const uint32_t *ids, uint64_t n,
                                    const uint64_t *rows, uint32_t bytes, void *at)
{
    struct keys_tell_step step = {
        .ids = ids, .n = n, .rows = (const co_u64 *)(const void *)rows, .bytes = bytes, .at = at};
    return gpu_launch(context, "keys_tell_rows", n, &step);
}

static cohort_status cuda_keys_bits(cohort_context *context, const uint32_t *ids, uint64_t n, uint8_t *bits)
{
    struct keys_tell_step step = {.ids = ids, .n = n, .bits = bits};
    return gpu_launch(context, "keys_tell_bits", n / 8 + (n % 8 != 0), &step);
}

/* Ids of the values, and of the keys among them, into one array after the other. */
static cohort_status member_ids(cohort_context *context, const struct keys_members *ask, struct keys_table *t,
                                struct keys_batch *values, uint32_t *ids)
{
    struct keys_words among = {.columns = 1, .column = ask->values};
    struct keys_words words = {.columns = 1, .column = ask->keys};
    struct keys_batch keys = {.n = ask->n, .words = &words, .ids = ids};
    *values = (struct keys_batch){.n = ask->m, .words = &among, .ids = ids, .passing = !ask->rows};
    cohort_status s = cuda_keys_add(context, t, values);
    return s ? s : cuda_keys_find(context, t, &keys);
}

static cohort_status cuda_keys_members(cohort_context *context, const struct keys_members *ask)
{
    struct keys_table table;
    struct keys_batch values;
    uint32_t *ids;
    keys_table_open(&table);
    cohort_status s = take(context, ask->n > ask->m ? ask->n : ask->m, sizeof *ids, &ids);
    if (s)
        return s;
    s = member_ids(context, ask, &table, &values, ids);
    if (!s && ask->rows)
        s = cuda_keys_rows(context, ids, ask->n, values.first, ask->bytes, ask->rows);
    else if (!s)
        s = cuda_keys_bits(context, ids, ask->n, ask->bits);
    pool_give(context, values.first);
    cuda_keys_drop(context, &table);
    pool_give(context, ids);
    return s;
}

/* ---- keys of a table, counts, ranks -------------------------------------------------------------------- */

static cohort_status cuda_keys_list(cohort_context *context, const struct keys_table *t, uint64_t *words)
{
    struct keys_list_step step = {(const void *)t->slot, t->capacity, t->count, (co_u64 *)(void *)words};
    return t->slot ? gpu_launch(context, "keys_list", t->capacity + KEYS_ODD, &step) : COHORT_OK;
}

static cohort_status cuda_keys_unpack(cohort_context *context, const struct keys_unpack *u)
{
    struct keys_unpack_step step = {.words = (const co_u64 *)(const void *)u->words,
                                    .n = u->n,
                                    .base = u->base,
                                    .mask = u->bits >= 64 ? ~0ull : (1ull << u->bits) - 1,
                                    .shift = u->shift,
                                    .value = (co_u64 *)(void *)u->value,
                                    .valid = (co_u32 *)(void *)u->valid};
    return gpu_launch(context, "keys_unpack", u->n, &step);
}

static cohort_status cuda_keys_count(cohort_context *context, const uint32_t *ids, uint64_t n,
                                     uint64_t groups, uint64_t *counts)
{
    const struct gpu *g = gpu_of(context);
    struct keys_count_step step = {ids, n, groups, (co_u64 *)(void *)counts, 0, 0};
    unsigned blocks = gpu_few_blocks(g, n, groups);
    if (!blocks || groups * 4 > g->tuning->group_bytes)
        return gpu_launch(context, "keys_count", n, &step);
    step.places = gpu_few_places(g, groups * 4);
    return gpu_launch_grid(context, "keys_count_few", blocks, g->tuning->block,
                           (unsigned)groups * step.places * 4, &step);
}

static cohort_status cuda_keys_ranks(cohort_context *context, const struct keys_ranks *r)
{
    struct keys_rank_step step = {.column = gpu_keys_look(&r->column),
                                  .kind = r->kind,
                                  .bytes = r->bytes,
                                  .order = r->order,
                                  .n = r->n,
                                  .words = (co_u64 *)(void *)r->words,
                                  .nulls = r->nulls};
    return gpu_launch(context, "keys_ranks", r->n, &step);
}

const struct keys_backend cuda_keys_backend = {
    .range = cuda_keys_range,
    .add = cuda_keys_add,
    .firsts = cuda_keys_firsts,
    .find = cuda_keys_find,
    .load = cuda_keys_load,
    .list = cuda_keys_list,
    .unpack = cuda_keys_unpack,
    .ranks = cuda_keys_ranks,
    .decode = cuda_keys_decode,
    .rows = cuda_keys_rows,
    .bits = cuda_keys_bits,
    .count = cuda_keys_count,
    .members = cuda_keys_members,
    .drop = cuda_keys_drop,
};
