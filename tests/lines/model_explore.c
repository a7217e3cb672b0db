/* model_explore.c: all states of a plan, depth first. A state that was met before is left; it is known by 128
 * bits of hash. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct step {
    uint32_t before;
    uint8_t thread, choice;
};

struct seen {
    uint64_t a, b;
};

static struct {
    const struct model *m;
    const struct model_plan *p;
    struct seen *table;
    uint32_t *number; /* of the state at a place of the table */
    uint32_t table_size;
    struct step *steps; /* how each state was come to */
    uint32_t count, capacity;
    uint8_t *stack;
    size_t used, room;
} walk;

static void *grown(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    if (!p)
        abort();
    return p;
}

static struct seen hash_of(const uint8_t *bytes, size_t count)
{
    struct seen h = {0x243f6a8885a308d3ull ^ count, 0x13198a2e03707344ull};
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, count - i < 8 ? count - i : 8);
        h.a = (h.a ^ word) * 0x9e3779b97f4a7c15ull;
        h.a ^= h.a >> 32;
        h.b = (h.b + word) * 0xd6e8feb86659fd93ull;
        h.b ^= h.b >> 29;
    }
    h.a = (h.a ^ h.b >> 7) * 0xbf58476d1ce4e5b9ull;
    h.a ^= h.a >> 31;
    return h;
}

static void table_grow(void)
{
    struct seen *old = walk.table;
    uint32_t *numbers = walk.number, size = walk.table_size;
    walk.table_size = size ? size * 2 : 1u << 12;
    walk.table = grown(NULL, walk.table_size * sizeof *walk.table);
    walk.number = grown(NULL, walk.table_size * sizeof *walk.number);
    memset(walk.number, 0xff, walk.table_size * sizeof *walk.number);
    for (uint32_t i = 0; i < size; i++) {
        if (numbers[i] == UINT32_MAX)
            continue;
        uint32_t at = (uint32_t)old[i].a & (walk.table_size - 1);
        while (walk.number[at] != UINT32_MAX)
            at = (at + 1) & (walk.table_size - 1);
        walk.table[at] = old[i];
        walk.number[at] = numbers[i];
    }
    free(old);
    free(numbers);
}

/* Puts a state on the stack unless it was met before. */
static void meet(struct model_state *s, struct step step)
{
    uint8_t bytes[MODEL_STATE_BYTES];
    memory_tidy(walk.m, walk.p, s);
    const size_t size = state_write(walk.m, walk.p, s, bytes);
    const struct seen h = hash_of(bytes, size);
    if (walk.count * 2 >= walk.table_size)
        table_grow();
    uint32_t at = (uint32_t)h.a & (walk.table_size - 1);
    for (; walk.number[at] != UINT32_MAX; at = (at + 1) & (walk.table_size - 1))
        if (walk.table[at].a == h.a && walk.table[at].b == h.b)
            return;
    walk.table[at] = h;
    walk.number[at] = walk.count;
    if (walk.count == walk.capacity) {
        walk.capacity = walk.capacity ? walk.capacity * 2 : 1u << 12;
        walk.steps = grown(walk.steps, walk.capacity * sizeof *walk.steps);
    }
    walk.steps[walk.count] = step;
    const uint32_t tail[2] = {walk.count++, (uint32_t)size};
    while (walk.used + size + sizeof tail > walk.room) {
        walk.room = walk.room ? walk.room * 2 : 1u << 16;
        walk.stack = grown(walk.stack, walk.room);
    }
    memcpy(walk.stack + walk.used, bytes, size);
    memcpy(walk.stack + walk.used + size, tail, sizeof tail);
    walk.used += size + sizeof tail;
}

static uint32_t take_off(struct model_state *s)
{
    uint32_t tail[2];
    walk.used -= sizeof tail;
    memcpy(tail, walk.stack + walk.used, sizeof tail);
    walk.used -= tail[1];
    state_read(walk.m, walk.p, s, walk.stack + walk.used);
    return tail[0];
}

/* ---- one step ------------------------------------------------------------------------------------------ */

static int is_done(const struct model_state *s, unsigned thread)
{
    return s->thread[thread].at == walk.p->each[thread];
}

/* The request that comes next; NULL: the thread is done. */
static const struct model_request *request_of(const struct model_state *s, unsigned thread)
{
    if (is_done(s, thread))
        return NULL;
    uint32_t node = s->thread[thread].node;
    if (!node)
        node = tree_root(walk.p->op[thread][s->thread[thread].at], 0);
    return &tree_node(node)->request;
}

/* The operation has its result: 0: no order explains it. */
static int respond(struct model_state *s, unsigned thread, uint32_t result)
{
    struct model_thread *t = &s->thread[thread];
    s->history = history_respond(walk.p, s, thread, result);
    for (unsigned i = 0; i < MODEL_PLACES; i++)
        s->ended[i] = t->view[i] > s->ended[i] ? t->view[i] : s->ended[i];
    t->node = 0;
    t->begun = 0;
    t->at++;
    return s->history != 0;
}

/* Takes a step, and with it the fences that follow: they change nothing but the thread's own view. 0:
 * illegal; -1: too many messages. */
static int advance(struct model_state *s, unsigned thread, unsigned choice, struct model_request *asked,
                   uint32_t *answer, uint32_t *result)
{
    struct model_thread *t = &s->thread[thread];
    uint32_t node = t->node ? t->node : tree_root(walk.p->op[thread][t->at], 0);
    *asked = tree_node(node)->request;
    *result = UINT32_MAX;
    if (!t->begun && asked->act != ACT_SNAP) {
        t->begun = 1;
        for (unsigned i = 0; i < MODEL_PLACES; i++)
            t->view[i] = s->ended[i] > t->view[i] ? s->ended[i] : t->view[i];
        s->history = history_invoke(walk.p, s, thread);
    }
    for (struct model_request q = *asked;; choice = 0) {
        int fits;
        uint32_t got = memory_do(walk.m, s, thread, &q, choice, &fits);
        if (!fits)
            return -1;
        if (q.act != ACT_FENCE)
            *answer = got;
        node = tree_child(node, got);
        const struct model_node *n = tree_node(node);
        if (n->next == NEXT_RESULT) {
            *result = n->result;
            return respond(s, thread, n->result);
        }
        t->node = node;
        if (n->request.act != ACT_FENCE)
            return 1;
        q = n->request;
    }
}

/* ---- stories ------------------------------------------------------------------------------------------- */

static const char *const kinds[KINDS] = {"find", "insert", "erase", "assign", "add"};
static const char *const acts[] = {"load", "glance", "store", "update", "wait", "fence", "snap"};

void model_print_plan(const struct model_plan *p, FILE *out)
{
    fprintf(out, "at first:");
    for (unsigned key = 1; key <= MODEL_KEYS; key++)
        if (p->value[key])
            fprintf(out, " %u = %u", key, p->value[key] - 1);
    fprintf(out, "; memory");
    for (unsigned i = 0; i < walk.m->places; i++)
        fprintf(out, " %x", p->memory[i]);
    for (unsigned t = 0; t < p->threads; t++) {
        fprintf(out, "\n  thread %u:", t);
        for (unsigned i = 0; i < p->each[t]; i++)
            fprintf(out, " %s(%u, %u)", kinds[p->op[t][i].kind], p->op[t][i].key, p->op[t][i].operand);
    }
    fprintf(out, "\n");
}

/* The steps that lead to the state `number`, and then one more. */
static void tell(uint32_t number, const struct step *last, const char *why, FILE *out)
{
    struct step path[1000];
    unsigned count = 0;
    struct model_state s;
    if (!out)
        return;
    model_print_plan(walk.p, out);
    if (last)
        path[count++] = *last;
    for (uint32_t at = number; at && count < 1000; at = walk.steps[at].before)
        path[count++] = walk.steps[at];
    memory_at_first(walk.m, walk.p, &s);
    while (count--) {
        struct model_request q;
        uint32_t answer = 0, result;
        unsigned t = path[count].thread, at = s.thread[t].at;
        advance(&s, t, path[count].choice, &q, &answer, &result);
        fprintf(out, "    %u %-6s %-6s place %u", t, kinds[walk.p->op[t][at].kind], acts[q.act], q.place);
        if (q.act == ACT_UPDATE)
            fprintf(out, " if & %x == %x add %x", q.mask, q.expect, q.value);
        if (q.act == ACT_STORE)
            fprintf(out, " value %x", q.value);
        else
            fprintf(out, " -> %x%s", answer, path[count].choice ? " (old)" : "");
        if (result != UINT32_MAX)
            fprintf(out, ", answers %d", result == MODEL_FULL ? -2 : (int)result - 1);
        fprintf(out, "\n");
        memory_tidy(walk.m, walk.p, &s);
    }
    fprintf(out, "  %s\n", why);
}

/* ---- all states ---------------------------------------------------------------------------------------- */

static int end_is_right(const struct model_state *s, char *why, size_t bytes)
{
    uint32_t memory[MODEL_PLACES];
    uint8_t value[MODEL_KEYS + 1] = {0};
    for (unsigned i = 0; i < walk.m->places; i++)
        memory[i] = memory_newest(s, i);
    if (!walk.m->final(memory, value, why, bytes))
        return 0;
    snprintf(why, bytes, "the table holds something else than the map");
    return history_holds(s->history, value);
}

/* All that can come after a state: 0: something illegal. */
static int go_on(const struct model_state *s, uint32_t number, struct model_outcome *out, FILE *story)
{
    char why[200];
    int ready = 0, left = 0;
    for (unsigned t = 0; t < walk.p->threads; t++) {
        const struct model_request *q = request_of(s, t);
        left += q != NULL;
        unsigned choices = q ? memory_choices(walk.m, s, t, q) : 0;
        ready += choices != 0;
        for (unsigned c = 0; c < choices; c++) {
            struct model_state next = *s;
            struct model_request asked;
            struct step step = {number, (uint8_t)t, (uint8_t)c};
            uint32_t answer, result;
            int r = advance(&next, t, c, &asked, &answer, &result);
            if (r < 0)
                out->verdict = MODEL_TOO_LARGE;
            if (!r) {
                tell(number, &step, "no order of the operations explains that", story);
                return 0;
            }
            if (r > 0)
                meet(&next, step);
        }
    }
    if (left && !ready) {
        tell(number, NULL, "nobody can go on", story);
        return 0;
    }
    if (left)
        return 1;
    out->ends++;
    if (end_is_right(s, why, sizeof why))
        return 1;
    tell(number, NULL, why, story);
    return 0;
}

struct model_outcome model_explore(const struct model *m, const struct model_plan *p, uint64_t most_states,
                                   FILE *story)
{
    struct model_outcome out = {MODEL_RIGHT, 0, 0};
    struct model_state s;
    walk.m = m;
    walk.p = p;
    walk.count = 0;
    walk.used = 0;
    if (walk.table_size)
        memset(walk.number, 0xff, walk.table_size * sizeof *walk.number);
    memory_at_first(m, p, &s);
    meet(&s, (struct step){0, 0, 0});
    while (walk.used && out.verdict == MODEL_RIGHT) {
        uint32_t number = take_off(&s);
        if (!go_on(&s, number, &out, story))
            out.verdict = MODEL_WRONG;
        else if (walk.count > most_states)
            out.verdict = MODEL_TOO_LARGE;
    }
    out.states = walk.count;
    if (walk.table_size > 1u << 16) { /* the next plan is small again, as a rule */
        free(walk.table);
        free(walk.number);
        walk.table = NULL;
        walk.number = NULL;
        walk.table_size = 0;
    }
    return out;
}
