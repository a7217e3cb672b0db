/* model_history.c: which orders of the operations so far explain their results.
 *
 * A configuration is what the map holds, and of each operation under way whether it has happened and with
 * what result. Of one that has not, it tells whether it may be refused: FULL changes nothing, but it may
 * only be told if there was a moment in which the key was not in. A history is the set of configurations
 * that are possible still: an operation that ends leaves those in which it has happened with the result
 * that it had. It is linearizable as long as one is left (Wing and Gong, "Testing and Verifying Concurrent
 * Objects", 1993). Sets are kept once each, by number. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* A configuration in a word: 6 bits a key for its value, 8 bits a thread. */
enum {
    VALUE_BITS = 6,
    STATUS_BITS = 8,
    STATUS_AT = VALUE_BITS * MODEL_KEYS,
    PENDING = 1,
    REFUSABLE = 2, /* pending, and its key was not in at some moment since it began */
    DONE = 3,
    MOST = 4096
};

struct set {
    uint32_t first, count;
    uint64_t hash;
};

static struct {
    struct set *sets;
    uint64_t *words;
    uint32_t set_count, set_capacity, word_count, word_capacity;
    uint32_t *table, table_size;
} all;

void history_end(void)
{
    free(all.sets);
    free(all.words);
    free(all.table);
    memset(&all, 0, sizeof all);
}

static unsigned value_of(uint64_t c, unsigned key)
{
    return (unsigned)(c >> (key - 1) * VALUE_BITS) & 63;
}
static uint64_t with_value(uint64_t c, unsigned key, unsigned value)
{
    unsigned at = (key - 1) * VALUE_BITS;
    return (c & ~((uint64_t)63 << at)) | (uint64_t)value << at;
}
static unsigned status_of(uint64_t c, unsigned thread)
{
    return (unsigned)(c >> (STATUS_AT + thread * STATUS_BITS)) & 255;
}
static uint64_t with_status(uint64_t c, unsigned thread, unsigned status)
{
    unsigned at = STATUS_AT + thread * STATUS_BITS;
    return (c & ~((uint64_t)255 << at)) | (uint64_t)status << at;
}

/* ---- sets by number ------------------------------------------------------------------------------------ */

static int by_word(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void *grown(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    if (!p)
        abort();
    return p;
}

static void table_put(uint32_t number)
{
    uint32_t at = (uint32_t)all.sets[number].hash & (all.table_size - 1);
    while (all.table[at])
        at = (at + 1) & (all.table_size - 1);
    all.table[at] = number;
}

static void make_room(uint32_t count)
{
    if (all.set_count + 1 >= all.set_capacity) {
        all.set_capacity = all.set_capacity ? all.set_capacity * 2 : 1024;
        all.sets = grown(all.sets, all.set_capacity * sizeof *all.sets);
        all.table_size = all.set_capacity * 2;
        all.table = grown(all.table, all.table_size * sizeof *all.table);
        memset(all.table, 0, all.table_size * sizeof *all.table);
        all.set_count = all.set_count ? all.set_count : 1; /* 0 is the empty set */
        for (uint32_t i = 1; i < all.set_count; i++)
            table_put(i);
    }
    while (all.word_count + count > all.word_capacity) {
        all.word_capacity = all.word_capacity ? all.word_capacity * 2 : 1u << 14;
        all.words = grown(all.words, all.word_capacity * sizeof *all.words);
    }
}

/* The number of a set; words come in any order, some twice. */
static uint32_t set_of(uint64_t *words, uint32_t count)
{
    uint32_t n = 0;
    uint64_t hash = 0;
    if (!count)
        return 0;
    qsort(words, count, sizeof *words, by_word);
    for (uint32_t i = 0; i < count; i++)
        if (!i || words[i] != words[i - 1])
            words[n++] = words[i];
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 31;
    make_room(n);
    for (uint32_t at = (uint32_t)hash & (all.table_size - 1); all.table[at];
         at = (at + 1) & (all.table_size - 1)) {
        const struct set *s = &all.sets[all.table[at]];
        if (s->hash == hash && s->count == n && !memcmp(all.words + s->first, words, n * sizeof *words))
            return all.table[at];
    }
    uint32_t number = all.set_count++;
    all.sets[number] = (struct set){all.word_count, n, hash};
    memcpy(all.words + all.word_count, words, n * sizeof *words);
    all.word_count += n;
    table_put(number);
    return number;
}

/* ---- what happens -------------------------------------------------------------------------------------- */

uint32_t history_first(const struct model_plan *p)
{
    uint64_t c = 0;
    for (unsigned key = 1; key <= MODEL_KEYS; key++)
        c = with_value(c, key, p->value[key]);
    return set_of(&c, 1);
}

static const struct model_op *op_of(const struct model_plan *p, const struct model_state *state,
                                    unsigned thread)
{
    return &p->op[thread][state->thread[thread].at];
}

/* Marks the operations under way that may be refused now: those that would put in a key that is not in. */
static uint64_t mark_refusable(uint64_t c, const struct model_plan *p, const struct model_state *state)
{
    for (unsigned t = 0; t < p->threads; t++) {
        if (status_of(c, t) != PENDING)
            continue;
        const struct model_op *op = op_of(p, state, t);
        if (op->kind != KIND_FIND && op->kind != KIND_ERASE && !value_of(c, op->key))
            c = with_status(c, t, REFUSABLE);
    }
    return c;
}

uint32_t history_invoke(const struct model_plan *p, const struct model_state *state, unsigned thread)
{
    uint64_t words[MOST];
    const struct set s = all.sets[state->history];
    for (uint32_t i = 0; i < s.count; i++)
        words[i] = mark_refusable(with_status(all.words[s.first + i], thread, PENDING), p, state);
    return set_of(words, s.count);
}

/* The operation happens: the result is what the key had. */
static uint64_t happen(uint64_t c, unsigned thread, const struct model_op *op)
{
    unsigned before = value_of(c, op->key), after = before;
    if (op->kind == KIND_INSERT)
        after = before ? before : op->operand + 1u;
    else if (op->kind == KIND_ERASE)
        after = 0;
    else if (op->kind == KIND_ASSIGN)
        after = op->operand + 1u;
    else if (op->kind == KIND_ADD)
        after = (before ? before - 1 : 0) + op->operand + 1;
    return with_status(with_value(c, op->key, after), thread, DONE + before);
}

uint32_t history_respond(const struct model_plan *p, const struct model_state *state, unsigned thread,
                         uint32_t result)
{
    uint64_t words[MOST], kept[MOST];
    const struct set s = all.sets[state->history];
    uint32_t count = s.count, left = 0;
    memcpy(words, all.words + s.first, count * sizeof *words);
    for (uint32_t i = 0; i < count; i++)
        for (unsigned t = 0; t < p->threads; t++) {
            const unsigned status = status_of(words[i], t);
            if (status != PENDING && status != REFUSABLE)
                continue;
            const uint64_t c = mark_refusable(happen(words[i], t, op_of(p, state, t)), p, state);
            uint32_t j = 0;
            while (j < count && words[j] != c)
                j++;
            if (j == MOST)
                abort();
            words[j] = c;
            count += j == count;
        }
    for (uint32_t i = 0; i < count; i++)
        if (status_of(words[i], thread) == (result == MODEL_FULL ? REFUSABLE : DONE + result))
            kept[left++] = with_status(words[i], thread, 0);
    return set_of(kept, left);
}

int history_holds(uint32_t history, const uint8_t *value)
{
    const struct set s = all.sets[history];
    for (uint32_t i = 0; i < s.count; i++) {
        int same = 1;
        for (unsigned key = 1; key <= MODEL_KEYS; key++)
            same &= value_of(all.words[s.first + i], key) == value[key];
        if (same)
            return 1;
    }
    return 0;
}
