/* cpu/keys.c: lookups in tables of keys, and what else is done once over all rows. */
#include "keys_few.h"
#include "keys_vector.h"

/* ---- words --------------------------------------------------------------------------------------------- */

struct load_job {
    const struct keys_column *column;
    uint64_t *words;
    uint8_t *states;
};

static void load_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct load_job *j = arg;
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        keys_load(j->column, at, count, j->words + at, j->states + at);
    }
}

static cohort_status cpu_keys_load(cohort_context *context, const struct keys_column *column, uint64_t n,
                                   uint64_t *words, uint8_t *states)
{
    struct load_job j = {column, words, states};
    cpu_parallel(context, n, KEYS_GRAIN, load_part, &j);
    return COHORT_OK;
}

static cohort_status cpu_keys_list(cohort_context *context, const struct keys_table *t, uint64_t *words)
{
    (void)context;
    for (uint64_t code = 0; t->direct && code <= t->span; code++)
        if (t->direct[code] != KEYS_NO_ID)
            words[t->direct[code]] = t->low + code;
    for (uint64_t i = 0; i < t->capacity; i++)
        if (t->slot[i].id != KEYS_NO_ID)
            words[t->slot[i].id] = t->slot[i].key;
    if (t->null.id != KEYS_NO_ID)
        words[t->null.id] = 0;
    return COHORT_OK;
}

static cohort_status cpu_keys_unpack(cohort_context *context, const struct keys_unpack *u)
{
    const uint64_t mask = u->bits >= 64 ? ~0ull : (1ull << u->bits) - 1;
    (void)context;
    memset(u->valid, 0, (u->n + 31) / 32 * 4);
    for (uint64_t i = 0; i < u->n; i++) {
        uint64_t code = u->words[i] >> u->shift & mask;
        u->value[i] = code ? code - 1 + u->base : 0;
        if (code)
            u->valid[i / 8] |= (uint8_t)(1u << (i & 7));
    }
    return COHORT_OK;
}

static void cpu_keys_drop(cohort_context *context, struct keys_table *t)
{
    keys_direct_drop(context, t);
    pool_give(context, t->slot);
    pool_give(context, t->heap);
    pool_give(context, t->start);
    pool_give(context, t->row);
    keys_table_open(t);
}

/* ---- lookups ------------------------------------------------------------------------------------------- */

struct find_job {
    const struct keys_table *table;
    const struct keys_batch *batch;
    enum cpu_level level;
    struct keys_few few; /* no memory: the table is not one of few strings */
};

static uint32_t find_state(const struct keys_table *t, uint8_t state)
{
    return state == KEYS_NULL ? t->null.id : KEYS_NO_ID;
}

/* No slots: in a table by word. */
static void find_direct(const struct keys_table *t, uint32_t count, const uint64_t *words,
                        const uint8_t *states, uint32_t *ids)
{
    for (uint32_t i = 0; i < count; i++)
        ids[i] = !states[i] && t->direct ? keys_direct_find(t, words[i]) : find_state(t, states[i]);
}

static void find_words(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct find_job *j = arg;
    const struct keys_table *t = j->table;
    uint64_t words[KEYS_BLOCK];
    uint8_t states[KEYS_BLOCK];
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        uint32_t *ids = j->batch->ids + at;
        const int some = keys_load_rows(j->level, j->batch->words, at, count, words, states);
        if (!t->capacity) {
            find_direct(t, count, words, states, ids);
            continue;
        }
        keys_seek(t, j->level, count, words, ids);
        for (uint32_t i = 0; some && i < count; i++)
            ids[i] = states[i] ? find_state(t, states[i]) : ids[i];
    }
}

#if CPU_VECTORS
AVX512 static void tell_bits_512(const uint32_t *ids, uint64_t count, uint8_t *bits)
{
    const __m512i none = _mm512_set1_epi32(-1);
    for (uint64_t i = 0; i < count; i += 16) {
        const __mmask16 hit = _mm512_cmpneq_epi32_mask(_mm512_loadu_si512(ids + i), none);
        memcpy(bits + i / 8, &hit, 2);
    }
}
#endif

/* A bit for each row that has an id, in whole bytes. */
static void tell_bits(enum cpu_level level, const uint32_t *ids, uint64_t count, uint8_t *bits)
{
    uint64_t i = 0;
    (void)level;
#if CPU_VECTORS
    if (level >= CPU_AVX512) {
        i = count / 16 * 16;
        tell_bits_512(ids, i, bits);
    }
#endif
    for (; i < count; i += 8) {
        unsigned byte = 0;
        for (uint64_t k = 0; k < 8 && i + k < count; k++)
            byte |= (unsigned)(ids[i + k] != KEYS_NO_ID) << k;
        bits[i / 8] = (uint8_t)byte;
    }
}

/* Ids of a block of strings, of which there are few or any number. */
static void find_block(const struct find_job *j, uint64_t at, uint32_t count, uint32_t *ids)
{
    uint8_t states[KEYS_BLOCK];
    if (!j->few.memory)
        keys_find_text(j->table, j->level, j->batch->bytes, at, count, KEYS_NO_ID, ids);
    else if (keys_few_find(&j->few, j->batch->bytes, at, count, ids, states))
        for (uint32_t i = 0; i < count; i++)
            ids[i] = states[i] ? find_state(j->table, states[i]) : ids[i];
}

static void find_texts(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct find_job *j = arg;
    uint32_t own[KEYS_BLOCK];
    (void)worker;
    for (uint64_t at = begin; at < end; at += KEYS_BLOCK) {
        const uint32_t count = end - at < KEYS_BLOCK ? (uint32_t)(end - at) : KEYS_BLOCK;
        find_block(j, at, count, j->batch->bits ? own : j->batch->ids + at);
        if (j->batch->bits)
            tell_bits(j->level, own, count, j->batch->bits + at / 8);
    }
}

static cohort_status cpu_keys_find(cohort_context *context, const struct keys_table *t, struct keys_batch *b)
{
    struct find_job j = {t, b, cpu_device(context)->level, {0}};
    if (b->rows)
        return keys_rows_find(context, t, b);
    cohort_status s = keys_apart_find(context, t, b);
    if (s != COHORT_UNSUPPORTED)
        return s;
    if (b->bytes)
        keys_few_open(context, &j.few, t, b->n);
    s = cpu_parallel_told(context, "keys", b->n, KEYS_GRAIN, b->words ? find_words : find_texts, &j);
    keys_few_close(context, &j.few);
    return s;
}

/* ---- what is done with ids ----------------------------------------------------------------------------- */

struct rows_job {
    const uint32_t *ids;
    const uint64_t *rows;
    uint32_t bytes;
    void *at;
};

static void rows_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct rows_job *j = arg;
    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t row = j->ids[i] == KEYS_NO_ID ? ~0ull : j->rows[j->ids[i]];
        if (j->bytes == 4)
            ((uint32_t *)j->at)[i] = (uint32_t)row;
        else
            ((uint64_t *)j->at)[i] = row;
    }
}

static cohort_status cpu_keys_rows(cohort_context *context, const uint32_t *ids, uint64_t n,
                                   const uint64_t *rows, uint32_t bytes, void *at)
{
    struct rows_job j = {ids, rows, bytes, at};
    cpu_parallel(context, n, KEYS_GRAIN, rows_part, &j);
    return COHORT_OK;
}

struct bits_job {
    const uint32_t *ids;
    uint8_t *bits;
    enum cpu_level level;
};

static void bits_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct bits_job *j = arg;
    (void)worker;
    tell_bits(j->level, j->ids + begin, end - begin, j->bits + begin / 8);
}

static cohort_status cpu_keys_bits(cohort_context *context, const uint32_t *ids, uint64_t n, uint8_t *bits)
{
    struct bits_job j = {ids, bits, cpu_device(context)->level};
    cpu_parallel(context, n, KEYS_GRAIN, bits_part, &j);
    return COHORT_OK;
}

/* A worker has counts of its own while they stay in the nearest caches. */
#define OWN_COUNTS (1u << 14)

struct count_job {
    const uint32_t *ids;
    uint64_t *counts, groups;
    uint64_t *own; /* groups a worker, or NULL */
};

static void count_part(void *arg, uint64_t begin, uint64_t end, unsigned worker)
{
    const struct count_job *j = arg;
    uint64_t *own = j->own ? j->own + worker * j->groups : NULL;
    for (uint64_t i = begin; i < end; i++)
        if (j->ids[i] == KEYS_NO_ID)
            continue;
        else if (own)
            own[j->ids[i]]++;
        else
            __atomic_add_fetch(&j->counts[j->ids[i]], 1, __ATOMIC_RELAXED);
}

static cohort_status cpu_keys_count(cohort_context *context, const uint32_t *ids, uint64_t n, uint64_t groups,
                                    uint64_t *counts)
{
    struct count_job j = {ids, counts, groups, NULL};
    unsigned workers = cpu_device(context)->threads;
    void *own = NULL;
    if (cpu_is_alone(context, n, KEYS_GRAIN)) {
        j.own = counts;
        count_part(&j, 0, n, 0);
        return COHORT_OK;
    }
    if (groups <= OWN_COUNTS) {
        cohort_status s = pool_take(context, workers * groups * 8, &own);
        if (s)
            return s;
        memset(own, 0, workers * groups * 8);
        j.own = own;
    }
    cpu_parallel(context, n, KEYS_GRAIN, count_part, &j);
    for (unsigned w = 0; own && w < workers; w++)
        for (uint64_t i = 0; i < groups; i++)
            counts[i] += j.own[w * groups + i];
    pool_give(context, own);
    return COHORT_OK;
}

cohort_status cpu_keys_members(cohort_context *context, const struct keys_members *ask)
{
    cohort_status s = keys_members_turned(context, ask);
    return s == COHORT_UNSUPPORTED ? keys_members_among(context, ask, NULL) : s;
}

const struct keys_backend cpu_keys_backend = {
    .has_rows = 1,
    .range = cpu_keys_range,
    .add = cpu_keys_add,
    .firsts = cpu_keys_firsts,
    .find = cpu_keys_find,
    .load = cpu_keys_load,
    .list = cpu_keys_list,
    .unpack = cpu_keys_unpack,
    .ranks = cpu_keys_ranks,
    .decode = cpu_keys_decode,
    .rows = cpu_keys_rows,
    .bits = cpu_keys_bits,
    .count = cpu_keys_count,
    .members = cpu_keys_members,
    .drop = cpu_keys_drop,
};
