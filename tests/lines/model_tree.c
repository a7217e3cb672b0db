/* model_tree.c: a program's requests, by the answers that it got. A node is made once: the program is run on
 * the answers that lead to it, and what it asks then, or answers, is kept. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { DEPTH = 400, STOP_REQUEST = 1, STOP_AGAIN = 2 };

static struct {
    const struct model *model;
    struct model_node *nodes;
    uint32_t count, capacity;
    uint32_t *table; /* of children and roots: open addressing, a power of two */
    uint32_t table_size;
    uint32_t *target; /* where a place of the table leads: a program that begins anew is at a root again */
} tree;

static void *grown(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    if (!p) {
        fprintf(stderr, "model: no memory for %zu bytes\n", bytes);
        abort();
    }
    return p;
}

void model_begin(const struct model *m)
{
    memset(&tree, 0, sizeof tree);
    tree.model = m;
    tree.count = 1; /* 0 is none */
    tree.capacity = 1u << 12;
    tree.nodes = grown(NULL, tree.capacity * sizeof *tree.nodes);
    tree.table_size = 1u << 14;
    tree.table = grown(NULL, tree.table_size * sizeof *tree.table);
    tree.target = grown(NULL, tree.table_size * sizeof *tree.target);
    memset(tree.table, 0, tree.table_size * sizeof *tree.table);
}

void model_end(void)
{
    free(tree.nodes);
    free(tree.table);
    free(tree.target);
    memset(&tree, 0, sizeof tree);
    history_end();
}

const struct model_node *tree_node(uint32_t node)
{
    return &tree.nodes[node];
}

/* ---- running a program --------------------------------------------------------------------------------- */

uint32_t model_ask(struct model_run *r, struct model_request request)
{
    if (r->at < r->answers)
        return r->answer[r->at++];
    r->request = request;
    longjmp(r->stop, STOP_REQUEST);
}

void model_again(struct model_run *r, uint32_t local)
{
    r->local = local;
    longjmp(r->stop, STOP_AGAIN);
}

/* Fills in what the node is about to do. 0: it begins anew, with *local. */
static int node_run(struct model_node *n, uint32_t *local)
{
    uint32_t answers[DEPTH];
    struct model_run run = {.answers = 0};
    unsigned depth = 0;
    for (const struct model_node *at = n; at->parent; at = &tree.nodes[at->parent])
        depth++;
    if (depth > DEPTH)
        abort();
    for (const struct model_node *at = n; at->parent; at = &tree.nodes[at->parent])
        answers[--depth] = at->answer;
    for (const struct model_node *at = n; at->parent; at = &tree.nodes[at->parent])
        run.answers++;
    run.answer = answers;
    switch (setjmp(run.stop)) {
    case 0:
        n->result = tree.model->program(&run, &n->op, n->local);
        n->next = NEXT_RESULT;
        return 1;
    case STOP_REQUEST:
        n->request = run.request;
        n->next = NEXT_REQUEST;
        return 1;
    default:
        *local = run.local;
        return 0;
    }
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static int same_node(const struct model_node *a, const struct model_node *b)
{
    return a->parent == b->parent && a->answer == b->answer && a->local == b->local &&
           a->op.kind == b->op.kind && a->op.key == b->op.key && a->op.operand == b->op.operand;
}

static uint32_t hash_of(const struct model_node *n)
{
    uint64_t h = n->parent * 0x9e3779b97f4a7c15ull ^ n->answer * 0xbf58476d1ce4e5b9ull ^
                 n->local * 0x94d049bb133111ebull ^
                 (n->op.kind + 8u * n->op.key + 64u * n->op.operand) * 0xd6e8feb86659fd93ull;
    h ^= h >> 29;
    h *= 0x2545f4914f6cdd1dull;
    return (uint32_t)(h >> 32);
}

static uint32_t table_place(const struct model_node *n)
{
    uint32_t at = hash_of(n) & (tree.table_size - 1);
    while (tree.table[at] && !same_node(&tree.nodes[tree.table[at]], n))
        at = (at + 1) & (tree.table_size - 1);
    return at;
}

static void table_grow(void)
{
    uint32_t *old = tree.table, *targets = tree.target, size = tree.table_size;
    tree.table_size *= 2;
    tree.table = grown(NULL, tree.table_size * sizeof *tree.table);
    tree.target = grown(NULL, tree.table_size * sizeof *tree.target);
    memset(tree.table, 0, tree.table_size * sizeof *tree.table);
    for (uint32_t i = 0; i < size; i++) {
        if (!old[i])
            continue;
        uint32_t at = table_place(&tree.nodes[old[i]]);
        tree.table[at] = old[i];
        tree.target[at] = targets[i];
    }
    free(old);
    free(targets);
}

static uint32_t node_of(struct model_node n)
{
    uint32_t at = table_place(&n), local;
    if (tree.table[at])
        return tree.target[at];
    if (tree.count == tree.capacity) {
        tree.capacity *= 2;
        tree.nodes = grown(tree.nodes, tree.capacity * sizeof *tree.nodes);
    }
    uint32_t number = tree.count++;
    int goes_on = node_run(&n, &local);
    tree.nodes[number] = n;
    tree.table[at] = number;
    tree.target[at] = number;
    if (!goes_on) {
        uint32_t root = tree_root(n.op, local);
        tree.target[table_place(&n)] = root; /* the table may have grown */
    }
    if (tree.count * 2 > tree.table_size)
        table_grow();
    return tree.target[table_place(&n)];
}

uint32_t tree_root(struct model_op op, uint32_t local)
{
    struct model_node n = {.op = op, .local = local};
    return node_of(n);
}

uint32_t tree_child(uint32_t node, uint32_t answer)
{
    struct model_node n = {
        .parent = node, .answer = answer, .op = tree.nodes[node].op, .local = tree.nodes[node].local};
    return node_of(n);
}
