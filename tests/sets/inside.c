/* inside.c: see inside.h. */
#include "inside.h"

#include <stdlib.h>

static void *fetch(struct test *t, const void *from, uint64_t bytes)
{
    void *copy = malloc(bytes + 1);
    REQUIRE(t, copy);
    OK(t, context_copy(t->context, copy, from, bytes));
    return copy;
}

struct inside inside_look(struct test *t, const cohort_set *set)
{
    const struct set_work *own = &set->state.own;
    struct inside in;
    OK(t, context_copy(t->context, &in.words, own->words, sizeof in.words));
    in.node_room = own->node_room;
    in.block_room = own->block_room;
    in.nodes = fetch(t, own->nodes, own->node_room * sizeof *in.nodes);
    in.node_slots = fetch(t, own->node_slots, own->node_room * 4);
    in.block_slots = fetch(t, own->block_slots, own->block_room * 4);
    return in;
}

void inside_leave(struct inside *in)
{
    free(in->nodes);
    free(in->node_slots);
    free(in->block_slots);
}

/* ---- every number once --------------------------------------------------------------------------------- */

static void meet(struct test *t, const char *what, char *seen, uint64_t room, uint64_t number)
{
    REQUIREF(t, number < room, "%s %llu of %llu", what, (unsigned long long)number, (unsigned long long)room);
    REQUIREF(t, !seen[number], "%s %llu is there twice", what, (unsigned long long)number);
    seen[number] = 1;
}

static void meet_free(struct test *t, const char *what, char *seen, uint64_t room,
                      const struct set_ring *ring, const co_u32 *slots)
{
    REQUIRE(t, ring->taken <= ring->given && ring->given - ring->taken <= room);
    for (uint64_t k = ring->taken; k < ring->given; k++)
        meet(t, what, seen, room, slots[k % room] ^ (co_u32)(k % room));
}

static void meet_used(struct test *t, const struct inside *in, co_u32 number, co_u32 level, char *nodes,
                      char *blocks, int flat)
{
    meet(t, "node", nodes, in->node_room, number);
    const struct co_set_node *node = &in->nodes[number];
    REQUIRE(t, node->some || !number);
    REQUIRE(t, level > 1 || !(node->full & ~node->some));
    for (co_u32 i = 0; i < 64; i++) {
        if (!(node->some >> i & 1))
            continue;
        if (level > 1)
            meet_used(t, in, node->child[i], level - 1, nodes, blocks, flat);
        else if (!flat && !(node->full >> i & 1))
            meet(t, "block", blocks, in->block_room, node->child[i]);
    }
}

static void all_once(struct test *t, const char *what, const char *seen, uint64_t room)
{
    for (uint64_t i = 0; i < room; i++)
        REQUIREF(t, seen[i], "%s %llu is lost", what, (unsigned long long)i);
}

/* What a CPU knows of its blocks: the lines that are zeros, also of those that nobody has; and arrays, which
 * ascend, and end where the directory says. */
static void judge_forms(struct working *s, const struct inside *in, const char *used)
{
    struct test *t = s->t;
    const struct set_work *own = &s->set->state.own;
    if (!own->forms || own->flat)
        return;
    for (uint64_t k = 0; k < in->words.known; k++) {
        const struct set_form *form = &own->forms[k];
        const co_u32 *bits = own->blocks + k * CO_CHUNK_WORDS;
        const co_u16 *at = set_block_array(own->forms, own->blocks, k);
        for (co_u32 w = 0; w < CO_CHUNK_WORDS; w++)
            REQUIREF(t, !bits[w] || form->lines.of[w / 1024] >> w / 16 % 64 & 1,
                     "block %llu, word %u is not 0", (unsigned long long)k, w);
        for (co_u32 i = 1; used[k] && i < form->entries; i++)
            REQUIRE(t, at[i] > at[i - 1]);
        REQUIRE(t, !form->entries || !own->plain || !used[k]);
    }
}

/* ---- the members --------------------------------------------------------------------------------------- */

struct reading {
    struct working *s;
    const struct inside *in;
    uint64_t at; /* the next member that is due */
    uint64_t chunks, full;
};

static void read_block(struct working *s, uint64_t block, co_u32 *bits)
{
    const struct set_work *own = &s->set->state.own;
    const co_u32 entries = own->forms ? own->forms[block].entries : 0;
    if (!entries) {
        OK(s->t, context_copy(s->t->context, bits, own->blocks + block * CO_CHUNK_WORDS, CO_CHUNK_BYTES));
        return;
    }
    memset(bits, 0, CO_CHUNK_BYTES);
    for (co_u32 i = 0; i < entries; i++) {
        const co_u16 v = set_block_array(own->forms, own->blocks, block)[i];
        bits[v / 32] |= 1u << v % 32;
    }
}

/* A full chunk has a block in a flat set alone, of ones then. */
static void judge_chunk(struct reading *r, const struct co_set_node *leaf, co_u32 i, uint64_t key)
{
    struct test *t = r->s->t;
    const int full = (int)(leaf->full >> i & 1);
    const uint64_t first = r->at;
    static co_u32 bits[CO_CHUNK_WORDS];
    memset(bits, 0xff, sizeof bits);
    if (!full || r->s->set->state.own.flat)
        read_block(r->s, leaf->child[i], bits);
    for (uint64_t v = 0; v < CO_CHUNK_IDS; v++)
        if (bits[v / 32] >> v % 32 & 1) {
            REQUIREF(t, r->at < r->s->due.n && r->s->due.at[r->at] == (key << 16 | v),
                     "%llu is in, or another one before it is not", (unsigned long long)(key << 16 | v));
            r->at++;
        }
    REQUIRE(t, r->at - first == (full ? CO_CHUNK_IDS : leaf->card[i]));
    REQUIRE(t, r->at > first && (full || r->at - first < CO_CHUNK_IDS));
    r->chunks++;
    r->full += (uint64_t)full;
}

static void judge_below(struct reading *r, co_u32 number, co_u32 level, uint64_t key)
{
    const struct co_set_node *node = &r->in->nodes[number];
    for (co_u32 i = 0; i < 64; i++) {
        if (!(node->some >> i & 1))
            continue;
        if (level > 1)
            judge_below(r, node->child[i], level - 1, key << CO_SET_DIGIT_BITS | i);
        else
            judge_chunk(r, node, i, key << CO_SET_DIGIT_BITS | i);
    }
}

/* Blocks of a flat set whose chunks have no members are zeros. */
static void judge_zeros(struct working *s)
{
    struct test *t = s->t;
    static co_u32 bits[CO_CHUNK_WORDS];
    uint64_t at = 0;
    for (uint64_t key = 0; key <= (s->limit - 1) >> 16; key++) {
        const uint64_t first = at;
        while (at < s->due.n && s->due.at[at] >> 16 == key)
            at++;
        if (at > first)
            continue;
        read_block(s, key, bits);
        for (co_u32 w = 0; w < CO_CHUNK_WORDS; w++)
            REQUIREF(t, !bits[w], "block %llu, word %u is not 0", (unsigned long long)key, w);
    }
}

static void judge_members(struct working *s, const struct inside *in)
{
    struct test *t = s->t;
    struct reading r = {.s = s, .in = in};
    judge_below(&r, 0, s->set->state.own.levels, 0);
    EQUAL(t, r.at, s->due.n);
    EQUAL(t, in->words.has[0], r.at);
    EQUAL(t, in->words.has[1], r.chunks);
    EQUAL(t, in->words.has[2], r.full);
    if (s->set->state.own.flat)
        judge_zeros(s);
}

void inside_judge(struct working *s)
{
    struct test *t = s->t;
    const struct set_work *own = &s->set->state.own;
    struct inside in = inside_look(t, s->set);
    char *nodes = calloc(in.node_room + in.block_room + 1, 1), *blocks = nodes + in.node_room;
    REQUIRE(t, nodes);
    meet_used(t, &in, 0, own->levels, nodes, blocks, (int)own->flat);
    judge_forms(s, &in, blocks);
    meet_free(t, "node", nodes, in.node_room, &in.words.nodes, in.node_slots);
    if (in.block_room)
        meet_free(t, "block", blocks, in.block_room, &in.words.blocks, in.block_slots);
    all_once(t, "node", nodes, in.node_room);
    all_once(t, "block", blocks, in.block_room);
    EQUAL(t, in.words.need[0] + in.words.need[1], 0);
    judge_members(s, &in);
    free(nodes);
    inside_leave(&in);
}

void inside_same(struct test *t, const struct inside *a, const struct inside *b)
{
    REQUIRE(t, a->node_room == b->node_room && a->block_room == b->block_room);
    REQUIRE(t, !memcmp(a->words.has, b->words.has, sizeof a->words.has));
    REQUIRE(t, !memcmp(&a->words.blocks, &b->words.blocks, sizeof a->words.blocks));
    REQUIRE(t, !memcmp(&a->words.nodes, &b->words.nodes, sizeof a->words.nodes));
    REQUIRE(t, !memcmp(a->block_slots, b->block_slots, a->block_room * 4));
    REQUIRE(t, !memcmp(a->node_slots, b->node_slots, a->node_room * 4));
    for (uint64_t i = 0; i < a->node_room; i++) { /* those in use: others hold what was left there */
        int some = a->nodes[i].some != 0;
        REQUIRE(t, !some || !memcmp(&a->nodes[i], &b->nodes[i], sizeof a->nodes[i]));
    }
}
