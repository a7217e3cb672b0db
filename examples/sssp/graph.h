/* graph.h: directed graphs with weights, as lists of the edges that leave a node; made up or read from a
 * file; and the shortest distances found the slow way, to compare with. */
#ifndef SSSP_GRAPH_H
#define SSSP_GRAPH_H

#include <stdint.h>

#define GRAPH_FAR UINT32_MAX /* the distance of a node that cannot be reached */

typedef struct graph {
    uint32_t nodes, edges;
    uint32_t *first;   /* nodes + 1: edges of node v are [first[v], first[v + 1]) */
    uint64_t *edge;    /* target, and the weight, 1 and more, in the upper half */
    uint32_t heaviest; /* the greatest weight */
} graph;

/* These return 0, or -1 with a line in `why`. */

/* R-MAT (Chakrabarti, Zhan, Faloutsos, 2004) with the quarters 0.57, 0.19, 0.19, 0.05: 2^log_edges edges, a
 * 16th of that nodes, numbered in random order; weights from 1 to `heaviest`, random. */
int graph_rmat(graph *g, unsigned log_edges, uint32_t heaviest, unsigned threads, char why[256]);
/* side x side nodes, each with edges to and from its neighbours above, below, left and right. */
int graph_grid(graph *g, uint32_t side, uint32_t heaviest, unsigned threads, char why[256]);
/* Lines "FROM TO [WEIGHT]" of numbers, or of DIMACS "a FROM TO WEIGHT"; lines that begin with another letter,
 * # or % are comments. Without a weight it is 1. */
int graph_read(graph *g, const char *path, char why[256]);
void graph_free(graph *g);

/* Nodes that many edges lead to get the first numbers, those with twice as many before the others, so that
 * their distances are side by side and stay in caches. *node is renumbered too. -1: no memory, and nothing
 * was done. */
int graph_renumber(graph *g, uint32_t *node, unsigned threads);

/* The node with the most edges. */
uint32_t graph_hub(const graph *g);

/* Distances from `source`, one node after the other by a heap. -1: no memory, or a distance does not fit in
 * 32 bits. */
int graph_dijkstra(const graph *g, uint32_t source, uint32_t *distance, char why[256]);
/* Whether these are the distances from `source`: no edge makes one less, and every node that is reached has
 * an edge into it that explains its distance. As weights are above zero that is proof. */
int graph_prove(const graph *g, uint32_t source, const uint32_t *distance, unsigned threads, char why[256]);

/* work(arg, share, shares) for each share on a thread of its own, as far as threads can be had. */
void team_run(unsigned shares, void (*work)(void *arg, unsigned share, unsigned shares), void *arg);

#endif
